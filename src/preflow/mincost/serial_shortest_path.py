"""Successive shortest paths: the method of Edmonds and Karp (1972) and Tomizawa (1971), with several sources.

For small instances, and for those in which few units move: a path sends at least one unit.

Definitions. The *excess* of a vertex is its supply, plus the flow into it, minus the flow out of it. Its
*deficit* is the opposite. The *length* of a residual arc is its reduced cost.

Invariants, before every search:

1. No residual arc has negative length.
2. The flow of every arc is between zero and its capacity.

Pseudo-code::

    make every arc of negative length full, and every arc of positive length empty
    while a vertex has excess:
        search by Dijkstra from all vertices with excess, until a vertex with a deficit is settled
        if there is none: the instance is infeasible
        subtract what is missing to the last distance from the potentials of the settled vertices
        send flow along the path: as much as excess, deficit and residual capacities allow

The arcs of the path then have length zero, so invariant 1 holds. A search costs O(m log n), and each sends at
least one unit: O(U m log n) in all for supplies of U units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Int64
from ..graph.standard_form import StandardForm
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS
from .arc_lists import ArcLists, arc_lists
from .infeasible import excesses
from .solution import Ending, FlowState

#: How a run of the kernel ends.
ENDINGS: tuple[Ending, ...] = ("optimal", "infeasible", "stopped")
#: Positions of a vertex that is not in the heap: not reached, or settled.
ABSENT = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class ShortestPathOptions:
    """Successive shortest paths have no options."""


class Search(NamedTuple):
    """The state of a search; between two searches only `reached` says what is to be cleared.

    Attributes
    ----------
    distance : ndarray of int64, shape (n,)
        -1 where the search has not come.
    parent : ndarray of uint64, shape (n,)
        The residual arc by which a vertex is reached, 2m for where the search began.
    heap : ndarray of uint64, shape (n,)
        A binary heap of vertices by distance.
    position : ndarray of uint64, shape (n,)
        The position of a vertex in the heap.
    reached : ndarray of uint64, shape (n,)
        The vertices that the search has reached.
    """

    distance: NDArray[np.int64]
    parent: NDArray[np.uint64]
    heap: NDArray[np.uint64]
    position: NDArray[np.uint64]
    reached: NDArray[np.uint64]


@kernel
def move_up(search: Search, position: np.uint64) -> None:
    """Move a vertex of the heap towards the root until its parent is no farther."""
    heap, distance = search.heap, search.distance
    v = heap[position]
    while position > ZERO:
        above = (position - ONE) // TWO
        if distance[heap[above]] <= distance[v]:
            break
        heap[position] = heap[above]
        search.position[heap[position]] = position
        position = above
    heap[position] = v
    search.position[v] = position


@kernel
def move_down(search: Search, size: np.uint64) -> None:
    """Move the root of the heap down until no child is nearer."""
    heap, distance = search.heap, search.distance
    v = heap[ZERO]
    position = ZERO
    while True:
        below = position * TWO + ONE
        if below >= size:
            break
        if below + ONE < size and distance[heap[below + ONE]] < distance[heap[below]]:
            below += ONE
        if distance[v] <= distance[heap[below]]:
            break
        heap[position] = heap[below]
        search.position[heap[position]] = position
        position = below
    heap[position] = v
    search.position[v] = position


@kernel
def nearest_deficit(
    net: ArcLists,
    tail: Indices,
    potential: NDArray[np.int64],
    excess: NDArray[np.int64],
    sources: NDArray[np.uint64],
    search: Search,
    monitor: Monitor,
) -> tuple[np.uint64, np.uint64, Int64]:
    """Search from `sources` to the nearest vertex with a deficit.

    Returns
    -------
    vertex : n if there is none
    reached : number of vertices in ``search.reached``
    distance : of the vertex
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
        if excess[u] < 0:
            return u, reached, search.distance[u]
        search.position[u] = ABSENT
        size -= ONE
        if size > ZERO:
            search.heap[ZERO] = search.heap[size]
            move_down(search, size)
        if relaxed_load(monitor.stop, 0):
            break
        monitor.counts[ARC_SCANS] += net.first[u + ONE] - net.first[u]
        for arc in range(net.first[u], net.first[u + ONE]):
            if net.residual[arc] <= 0:
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
            move_up(search, search.position[v])
    return n, reached, 0


@kernel
def send_along_paths(
    net: ArcLists,
    tail: Indices,
    potential: NDArray[np.int64],
    excess: NDArray[np.int64],
    sources: NDArray[np.uint64],
    search: Search,
    monitor: Monitor,
) -> np.uint64:
    """Send flow along shortest paths until no excess is left; return the position in `ENDINGS`."""
    n, none = np.uint64(len(excess)), np.uint64(len(net.head))
    left = np.uint64(len(sources))
    while left > ZERO:
        sink, reached, length = nearest_deficit(net, tail, potential, excess, sources[:left], search, monitor)
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
            if excess[sources[i]] > 0:
                sources[kept] = sources[i]
                kept += ONE
        left = kept
    return ZERO


def solve(
    instance: StandardForm, start: FlowState | None, options: ShortestPathOptions, control: Control
) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    n = len(instance.supply)
    potential = np.zeros(n, dtype=np.int64) if start is None else start.potential.copy()
    length = instance.cost + potential[instance.tail] - potential[instance.head]
    flow = np.zeros(len(length), dtype=np.int64) if start is None else start.flow
    flow = np.where(length < 0, instance.capacity, np.where(length > 0, 0, flow))
    net = arc_lists(instance, flow)
    tail = net.head[net.mate]
    excess = excesses(instance, flow)
    sources = np.flatnonzero(excess > 0).astype(np.uint64)
    control.excess[:] = excess[excess > 0].sum(dtype=np.float64)
    search = Search(
        np.full(n, -1, dtype=np.int64),
        *(np.zeros(n, dtype=np.uint64) for _ in range(4)),
    )
    ending = send_along_paths(net, tail, potential, excess, sources, search, control.monitor())
    return FlowState(net.flow(instance.capacity), potential, ENDINGS[int(ending)])
