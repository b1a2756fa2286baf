"""Flow along the path between a vertex and the root of its tree, for methods that search from both sides.

Trees of the source have their roots at vertices with excess, and flow runs from the root down. Trees of the
sink have their roots at vertices with residual capacity to the sink, and flow runs up to the root. A vertex
stores the arc to its parent by its name, see :mod:`preflow.network.arcs`: ``no_arc`` means that it is a root,
the number after it that it is an orphan, whose parent is lost.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Indices, Int64, ResidualNetwork
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..network.arcs import (
    arcs_of,
    capacity,
    head,
    no_arc,
    num_vertices,
    opposite,
    place,
    push_along,
    take,
    terminal,
)
from ..solving.monitor import Monitor
from ..stats import PUSHES


@kernel
def serve_at_vertices(net: ResidualNetwork, monitor: Monitor) -> None:
    """Send excess to the sink where a vertex has both excess and residual capacity to the sink."""
    v = ZERO
    while v < num_vertices(net):
        amount = min(terminal(net, v, True), terminal(net, v, False))
        if amount > 0:
            take(net, v, True, amount)
            take(net, v, False, amount)
            monitor.counts[PUSHES] += ONE
            monitor.progress[0] -= amount
        v += ONE


@kernel
def sweep(net: ResidualNetwork, begin: np.uint64, end: np.uint64) -> np.uint64:
    """Push excess of a run of vertices to the sink, or to neighbours that can send there; count pushes."""
    pushes = ZERO
    v = begin
    while v < end:
        excess = terminal(net, v, True)
        if excess > 0:
            amount = min(excess, terminal(net, v, False))
            if amount > 0:
                take(net, v, True, amount)
                take(net, v, False, amount)
                excess -= amount
                pushes += ONE
            a, last = arcs_of(net, v)
            while a < last and excess > 0:
                w = head(net, v, a)
                there = terminal(net, w, False)
                if there > 0:
                    amount = min(min(capacity(net, v, w, a, False), there), excess)
                    if amount > 0:
                        push_along(net, v, w, a, amount)
                        take(net, v, True, amount)
                        take(net, w, False, amount)
                        excess -= amount
                        pushes += ONE
                a += ONE
        v += ONE
    return pushes


@kernel
def path_capacity(net: ResidualNetwork, parent: Indices, v: np.uint64, source: bool, amount: Int64) -> Int64:
    """Return the part of an amount that the path between a vertex and its root can carry."""
    root = no_arc(net)
    a = np.uint64(parent[v])
    while a != root:
        w = head(net, v, a)
        amount = min(amount, capacity(net, v, w, a, source))
        v = w
        a = np.uint64(parent[v])
    return min(amount, terminal(net, v, source))


@kernel
def push_path(
    net: ResidualNetwork, parent: Indices, next_orphan: Indices, v: np.uint64, source: bool, amount: Int64
) -> tuple[np.uint64, np.uint64]:
    """Push along the path between a vertex and its root; vertices whose tree arc is saturated become orphans.

    Return the orphan nearest to the root, first of a list linked by `next_orphan` that ends with n, and the
    number of arcs of the path, with that to the terminal.
    """
    root = no_arc(net)
    first = num_vertices(net)
    pushes = ONE
    a = np.uint64(parent[v])
    while a != root:
        w = head(net, v, a)
        used, back = place(net, v, a), place(net, w, opposite(net, a))
        if source:
            used, back = back, used
        left = net.residual[used] - amount
        net.residual[used] = left
        net.residual[back] += amount
        if left == 0:
            parent[v] = root + ONE
            next_orphan[v] = first
            first = v
        v = w
        a = np.uint64(parent[v])
        pushes += ONE
    if take(net, v, source, amount) == 0:
        parent[v] = root + ONE
        next_orphan[v] = first
        first = v
    return first, pushes
