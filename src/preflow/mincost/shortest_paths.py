"""Send flow along shortest paths of the residual network: Dijkstra's method with potentials.

Two methods are no more than that, :mod:`.serial_shortest_path` and :mod:`.serial_capacity_scaling`; cost
scaling ends with it where prices prove too little, or an instance infeasible.

The excess of a vertex is its supply, plus the flow into it, minus the flow out of it. The length of a
residual arc is its reduced cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Int64
from ..graph.standard_form import StandardForm
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.heap import move_up, take_first
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .arc_lists import ArcLists, arc_lists, tight_flow
from .infeasible import excesses
from .solution import Ending, FlowState

#: How a run of the kernel ends.
ENDINGS: tuple[Ending, ...] = ("optimal", "infeasible", "stopped")


class Search(NamedTuple):
    """The state of a search; between two searches only `reached` says what is to be cleared."""

    distance: NDArray[np.int64]  #: shape (n,): -1 where the search has not come
    #: shape (n,): the residual arc by which a vertex is reached, 2m for where the search began
    parent: NDArray[np.uint64]
    heap: NDArray[np.uint64]  #: shape (n,): a binary heap of vertices by distance
    position: NDArray[np.uint64]  #: shape (n,): the position of a vertex in the heap
    reached: NDArray[np.uint64]  #: shape (n,): the vertices that the search has reached


@kernel
def nearest_deficit(
    net: ArcLists,
    potential: NDArray[np.int64],
    excess: NDArray[np.int64],
    sources: NDArray[np.uint64],
    least: np.int64,
    search: Search,
    monitor: Monitor,
) -> tuple[np.uint64, np.uint64, Int64]:
    """Search from `sources`, by arcs that can carry `least`, to the nearest vertex that lacks as much.

    Return the vertex, n if there is none, the number of vertices in ``search.reached``, and the distance.
    """
    n, none = np.uint64(len(excess)), np.uint64(len(net.head))
    size, reached = ZERO, ZERO
    for i in range(len(sources)):
        v = sources[i]
        search.distance[v] = 0
        search.parent[v] = none
        search.reached[reached] = v
        reached += ONE
        search.heap[size] = v
        search.position[v] = size
        size += ONE
    while size > ZERO:
        u = search.heap[ZERO]
        if excess[u] <= -least:
            return u, reached, search.distance[u]
        take_first(search.heap, search.position, search.distance, size)
        size -= ONE
        if relaxed_load(monitor.stop, 0):
            break
        monitor.counts[ARC_SCANS] += net.first[u + ONE] - net.first[u]
        for arc in range(net.first[u], net.first[u + ONE]):
            if net.residual[arc] < least:
                continue
            v = np.uint64(net.head[arc])
            length = search.distance[u] + net.cost[arc] + potential[u] - potential[v]
            known = search.distance[v]
            if known < 0:
                search.reached[reached] = v
                reached += ONE
                search.position[v] = size
                search.heap[size] = v
                size += ONE
            elif length >= known:
                continue
            search.distance[v] = length
            search.parent[v] = np.uint64(arc)
            move_up(search.heap, search.position, search.distance, search.position[v], v)
    return n, reached, 0


@kernel
def send_along_paths(
    net: ArcLists,
    tail: Indices,
    potential: NDArray[np.int64],
    excess: NDArray[np.int64],
    sources: NDArray[np.uint64],
    least: np.int64,
    search: Search,
    monitor: Monitor,
) -> np.uint64:
    """Send flow along shortest paths until no path can carry `least`; return the position in `ENDINGS`.

    `sources` are the vertices with an excess of at least `least`. The length of residual arcs that can carry
    `least` is not negative, before and after.
    """
    n, none = np.uint64(len(excess)), np.uint64(len(net.head))
    left = np.uint64(len(sources))
    while left > ZERO:
        sink, reached, length = nearest_deficit(
            net, potential, excess, sources[:left], least, search, monitor
        )
        amount = np.int64(0)
        if sink < n:
            # Update the potentials: the path gets length zero. Vertices still in the heap are no nearer.
            amount = -excess[sink]
            for i in range(reached):
                v = search.reached[i]
                if search.distance[v] < length:
                    potential[v] += search.distance[v] - length
            # Send as much flow as the path carries.
            v = sink
            while search.parent[v] < none:
                arc = search.parent[v]
                amount = min(amount, net.residual[arc])
                v = np.uint64(tail[arc])
            amount = min(amount, excess[v])
            excess[sink] += amount
            excess[v] -= amount
            monitor.progress[0] -= amount
            monitor.counts[AUGMENTATIONS] += ONE
            v = sink
            while search.parent[v] < none:
                arc = search.parent[v]
                net.residual[arc] -= amount
                net.residual[net.mate[arc]] += amount
                v = np.uint64(tail[arc])
        for i in range(reached):
            search.distance[search.reached[i]] = -1
        if relaxed_load(monitor.stop, 0):
            return TWO
        if sink == n:
            return ONE
        # Keep the sources that still have excess.
        kept = ZERO
        for i in range(left):
            if excess[sources[i]] >= least:
                sources[kept] = sources[i]
                kept += ONE
        left = kept
    return ZERO


@kernel
def fill_short_arcs(
    net: ArcLists,
    tail: Indices,
    potential: NDArray[np.int64],
    excess: NDArray[np.int64],
    delta: np.int64,
) -> None:
    """Fill the residual arcs of negative length that can carry `delta`."""
    for arc in range(len(net.head)):
        u, v = tail[arc], net.head[arc]
        if net.residual[arc] >= delta and net.cost[arc] + potential[u] - potential[v] < 0:
            excess[u] -= net.residual[arc]
            excess[v] += net.residual[arc]
            net.residual[net.mate[arc]] += net.residual[arc]
            net.residual[arc] = 0


def new_search(num_vertices: int) -> Search:
    """Return the state for searches in a network."""
    return Search(
        np.full(num_vertices, -1, dtype=np.int64),
        *(np.zeros(num_vertices, dtype=np.uint64) for _ in range(4)),
    )


def send(form: StandardForm, start: FlowState | None, control: Control, *, scaled: bool) -> FlowState:
    """Send all supplies along shortest paths, from a start if there is one.

    `scaled`: in the phases of capacity scaling, by paths that carry a large amount first. Otherwise in one
    phase, that of an amount of one.
    """
    n = len(form.supply)
    potential = np.zeros(n, dtype=np.int64) if start is None else start.potential.copy()
    if scaled and start is None:
        flow = np.zeros(len(form.tail), dtype=np.int64)
    else:
        flow = tight_flow(form, start, potential)
    net = arc_lists(form, flow)
    tail = net.head[net.mate]
    excess = excesses(form, flow)
    control.progress[:] = excess[excess > 0].sum(dtype=np.float64)
    search, monitor = new_search(n), control.monitor()
    largest = max(int(form.capacity.max(initial=0)), int(np.abs(excess).max(initial=0)), 1)
    ending = 0
    for bit in reversed(range(largest.bit_length() if scaled else 1)):
        delta = np.int64(1 << bit)
        fill_short_arcs(net, tail, potential, excess, delta)
        sources = np.flatnonzero(excess >= delta).astype(np.uint64)
        ending = int(send_along_paths(net, tail, potential, excess, sources, delta, search, monitor))
        control.counts[PHASES] += np.uint64(scaled)
        if control.stopped and bit > 0:
            # A phase that ends without a path to its amount says nothing of smaller amounts.
            return FlowState(net.flow(form.capacity), potential, "stopped")
    return FlowState(net.flow(form.capacity), potential, ENDINGS[ending])
