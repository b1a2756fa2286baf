"""Karzanov's blocking flows by preflows: waves down the levels, with excess sent back where it is stuck.

Karzanov, "Determining the maximal flow in a network by the method of preflows", Soviet Mathematics Doklady 15
(1974), in the form of Tarjan, "A simple version of Karzanov's blocking flow algorithm", Operations Research
Letters 2 (1984). Wu, He and Hong name it as the origin of preflows.

Definitions
-----------
- An arc is *admissible* if it has residual capacity and leads down by one level of the distances to the sink.
- A vertex is *blocked* if it could not push all of its excess: no path goes down from it.

Invariants in a phase: no excess is negative; a blocked vertex has no admissible arc to one that is not
blocked; `sent` is what an arc got in this phase and has not given back.

::

    repeat:                                                                    run
        find all distances to the sink                                         distances_to_sink
        if no vertex with excess reaches the sink: stop
        repeat until only blocked vertices have excess:
            from the highest level down: push over admissible arcs;            push_down
                a vertex that keeps excess becomes blocked
            from the lowest level up: send excess of blocked vertices back     send_back

Every wave but the last blocks a vertex. After a phase each vertex that had excess and keeps some is farther
from the sink. Departure: terminals are not vertices. The excess that a vertex had from the source stays with
it where it is blocked.

Time: O(n**3). Memory beside the network: four indices a vertex and a capacity an arc.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices
from ...graph.residual import ResidualArrays
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...network import distances_to_sink
from ...network.arcs import arcs_of, end, first, head, opposite, push_along
from ...solving.monitor import Monitor
from ...solving.options import NoOptions
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES


class Phase(NamedTuple):
    """The state of a phase beside the residual network."""

    height: Indices  #: shape (n,): distances to the sink
    order: Indices  #: shape (n,): the vertices that reach the sink, by distance
    current: Indices  #: shape (n,): the first arc that may be admissible and lead to a vertex not blocked
    blocked: Indices  #: shape (n,): 1 at blocked vertices, else 0
    sent: NDArray[np.int64]  #: shape (m,)


@kernel
def begin_phase(net: ResidualArrays, phase: Phase, reached: np.uint64) -> bool:
    """Forget the last phase; return whether a vertex with excess reaches the sink."""
    active = False
    phase.sent[:] = 0
    k = ZERO
    while k < reached:
        v = np.uint64(phase.order[k])
        phase.current[v] = first(net, v)
        phase.blocked[v] = 0
        active = active or net.excess[v] > 0
        k += ONE
    return active


@kernel
def push_down(net: ResidualArrays, phase: Phase, reached: np.uint64, monitor: Monitor) -> bool:
    """Push all excess down, farthest vertices first; return whether a vertex became blocked."""
    stuck = False
    k = reached
    while k > ZERO:
        k -= ONE
        v = np.uint64(phase.order[k])
        if net.excess[v] == 0 or phase.blocked[v] != ZERO:
            continue
        h = np.uint64(phase.height[v])
        if h == ONE and net.sink_residual[v] > 0:
            amount = min(net.excess[v], net.sink_residual[v])
            net.excess[v] -= amount
            net.sink_residual[v] -= amount
            monitor.progress[0] -= amount
            monitor.counts[PUSHES] += ONE
        a, last = np.uint64(phase.current[v]), end(net, v)
        begin = a
        while h > ONE and net.excess[v] > 0 and a < last:
            w = head(net, v, a)
            open_below = np.uint64(phase.height[w]) + ONE == h and phase.blocked[w] == ZERO
            if open_below and net.residual[a] > 0:
                amount = min(net.excess[v], np.int64(net.residual[a]))
                push_along(net, v, w, a, amount)
                phase.sent[a] += amount
                net.excess[v] -= amount
                net.excess[w] += amount
                monitor.counts[PUSHES] += ONE
            if net.excess[v] > 0:
                a += ONE
        monitor.counts[ARC_SCANS] += a - begin
        phase.current[v] = a
        if net.excess[v] > 0:
            phase.blocked[v] = 1
            stuck = True
    return stuck


@kernel
def send_back(net: ResidualArrays, phase: Phase, reached: np.uint64, monitor: Monitor) -> bool:
    """Send excess of blocked vertices back, nearest ones first; return whether others have excess now."""
    active = False
    k = ZERO
    while k < reached:
        v = np.uint64(phase.order[k])
        k += ONE
        if net.excess[v] == 0 or phase.blocked[v] == ZERO:
            continue
        a, last = arcs_of(net, v)
        monitor.counts[ARC_SCANS] += last - a
        while net.excess[v] > 0 and a < last:
            u, back = head(net, v, a), opposite(net, a)
            if phase.sent[back] > 0:
                amount = min(net.excess[v], phase.sent[back])
                push_along(net, v, u, a, amount)
                phase.sent[back] -= amount
                net.excess[v] -= amount
                net.excess[u] += amount
                monitor.counts[PUSHES] += ONE
                active = active or phase.blocked[u] == ZERO
            a += ONE
    return active


@kernel
def run(net: ResidualArrays, phase: Phase, monitor: Monitor) -> None:
    """Make the flow of each phase blocking until no excess reaches the sink, or the solve is stopped."""
    reached, _ = distances_to_sink(net, phase.height, phase.order, ZERO, ZERO, ZERO, False)
    while begin_phase(net, phase, reached) and relaxed_load(monitor.stop, 0) == 0:
        monitor.counts[GLOBAL_RELABELS] += ONE
        active = True
        while active and relaxed_load(monitor.stop, 0) == 0:
            active = push_down(net, phase, reached, monitor) and send_back(net, phase, reached, monitor)
        reached, _ = distances_to_sink(net, phase.height, phase.order, reached, ZERO, ZERO, False)


def solve(net: ResidualArrays, options: NoOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    control.progress[:] = net.excess.sum(dtype=np.float64)
    n, dtype = len(net.excess), net.head.dtype
    phase = Phase(
        height=np.full(n, n + 1, dtype=dtype),
        order=np.empty(n, dtype=dtype),
        current=np.empty(n, dtype=dtype),
        blocked=np.empty(n, dtype=dtype),
        sent=np.zeros(len(net.head), dtype=np.int64),
    )
    run(net, phase, control.monitor())
    return phase.height
