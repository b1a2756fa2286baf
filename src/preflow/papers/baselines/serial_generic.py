"""The generic push-relabel method, as the textbook has it.

Goldberg and Tarjan, "A New Approach to the Maximum-Flow Problem", JACM 35 (1988); Cihan (2010), figure 2.3.
All heights start at 0 and any active vertex may be treated; this solver takes the latest that became
active. It has no current arcs, no global relabels and no gap heuristic: it is the slow method that the
others improve on.

Invariants: heights are valid (a residual arc leads down by at most one level), no excess is negative, and
every vertex with excess and a height of at most n is on the stack.

::

    put every vertex with excess on the stack
    while the stack has a vertex v:
        push to the sink if v has height 1, then over admissible arcs
        if v still has excess: relabel it to one above its lowest neighbour
            and put it back, below the vertices that it has activated

As everywhere in preflow, terminals are not vertices and the first stage ends at the dead label n + 1. The
second stage returns excess to the source.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ...graph.residual import ResidualArrays
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...network import distances_to_sink, lowest_neighbour
from ...network.arcs import arcs_of, head, push_along
from ...solving.monitor import Monitor
from ...solving.options import NoOptions
from ...solving.run import Control
from ...stats import ARC_SCANS, PUSHES, RELABELS


@kernel
def first_stage(net: ResidualArrays, height: Indices, stack: Indices, monitor: Monitor) -> None:
    """Push and relabel in any order until no vertex is active."""
    counts = monitor.counts
    dead = np.uint64(len(net.excess)) + ONE
    size = ZERO
    for vertex in range(len(net.excess)):
        if net.excess[vertex] > 0:
            stack[size] = vertex
            size += ONE
    while size > ZERO and relaxed_load(monitor.stop, 0) == 0:
        # Push to the sink.
        size -= ONE
        v = np.uint64(stack[size])
        h = np.uint64(height[v])
        if net.sink_residual[v] > 0 and h == ONE:
            amount = min(net.excess[v], net.sink_residual[v])
            net.excess[v] -= amount
            net.sink_residual[v] -= amount
            counts[PUSHES] += ONE
        # Push over admissible arcs; `base` is where the vertices that v activates begin on the stack.
        a, last = arcs_of(net, v)
        counts[ARC_SCANS] += last - a
        base = size
        while net.excess[v] > 0 and a < last:
            w = head(net, v, a)
            if net.residual[a] > 0 and h == np.uint64(height[w]) + ONE:
                amount = min(net.excess[v], net.residual[a])
                if net.excess[w] == 0:
                    stack[size] = w
                    size += ONE
                net.excess[v] -= amount
                net.excess[w] += amount
                push_along(net, v, w, a, amount)
                counts[PUSHES] += ONE
            a += ONE
        if net.excess[v] == 0:
            continue
        # Relabel.
        low, _ = lowest_neighbour(net, height, v, dead - ONE)
        if net.sink_residual[v] > 0:
            low = ZERO
        height[v] = low + ONE
        counts[RELABELS] += ONE
        if low + ONE < dead:
            if size > base:
                stack[size] = stack[base]
                stack[base] = v
            else:
                stack[size] = v
            size += ONE


def solve(net: ResidualArrays, options: NoOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    n = len(net.excess)
    height = np.zeros(n, dtype=net.head.dtype)
    stack = np.empty(n, dtype=net.head.dtype)
    first_stage(net, height, stack, control.monitor())
    height[:] = n + 1
    distances_to_sink(net, height, stack, ZERO, ZERO, ZERO, False)
    return height
