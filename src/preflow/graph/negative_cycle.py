"""Find a cycle of negative cost: Bellman-Ford from all vertices at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Indices
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel


class Search(NamedTuple):
    """The state of a search."""

    distance: NDArray[np.int64]  #: shape (n,)
    #: shape (n,): the arc that gave a vertex its distance, and the number of arcs if none did
    parent: NDArray[np.uint64]
    queue: NDArray[np.uint64]  #: shape (n,): a ring of the vertices whose arcs are to be relaxed
    queued: NDArray[np.bool_]  #: shape (n,)
    #: shape (n,): the vertex from which the last walk along parents came here
    mark: NDArray[np.uint64]


def negative_cycle(tail: Indices, head: Indices, cost: NDArray[np.int64], num_vertices: int) -> list[int]:
    """Return the arcs of a cycle of negative cost in order, or none.

    O(nm). Sums of `cost` along a path of n arcs must fit int64.
    """
    order = np.argsort(tail, kind="stable").astype(np.uint64)
    first = np.zeros(num_vertices + 1, dtype=np.uint64)
    first[1:] = np.cumsum(np.bincount(tail, minlength=num_vertices))
    n, m = num_vertices, len(tail)
    search = Search(
        np.zeros(n, dtype=np.int64),
        np.full(n, m, dtype=np.uint64),
        np.arange(n, dtype=np.uint64),
        np.ones(n, dtype=bool),
        np.full(n, n, dtype=np.uint64),
    )
    ends = tail.astype(np.uint64), head.astype(np.uint64)
    vertex = int(find_vertex_on_cycle(*ends, cost, first, order, search))
    if vertex == n:
        return []
    cycle: list[int] = []
    at = vertex
    while not cycle or at != vertex:
        cycle.append(int(search.parent[at]))
        at = int(tail[cycle[-1]])
    return cycle[::-1]


@kernel
def find_vertex_on_cycle(
    tail: NDArray[np.uint64],
    head: NDArray[np.uint64],
    cost: NDArray[np.int64],
    first: NDArray[np.uint64],
    order: NDArray[np.uint64],
    search: Search,
) -> np.uint64:
    """Relax arcs until no distance changes or parents form a cycle; return a vertex on it, n if none."""
    n = np.uint64(len(search.distance))
    if n == ZERO:
        return n
    taken, waiting, relaxed = ZERO, n, ZERO
    while waiting > ZERO:
        u = search.queue[taken]
        taken = taken + ONE if taken + ONE < n else ZERO
        waiting -= ONE
        search.queued[u] = False
        for i in range(first[u], first[u + ONE]):
            arc = order[i]
            v = head[arc]
            shorter = search.distance[u] + cost[arc]
            if shorter < search.distance[v]:
                search.distance[v] = shorter
                search.parent[v] = arc
                relaxed += ONE
                if not search.queued[v]:
                    search.queued[v] = True
                    place = taken + waiting
                    search.queue[place if place < n else place - n] = v
                    waiting += ONE
        # After n changes of a distance the walk along all parents costs no more than these changes did.
        if relaxed >= n:
            relaxed = ZERO
            found = vertex_on_cycle_of_parents(tail, search)
            if found < n:
                return found
    # A self loop of negative cost is a cycle of one arc: it lowers its vertex until the check above finds it.
    return n


@kernel
def vertex_on_cycle_of_parents(tail: NDArray[np.uint64], search: Search) -> np.uint64:
    """Return a vertex on a cycle of parents, n if there is none: each vertex is walked over once."""
    n, m = np.uint64(len(search.distance)), np.uint64(len(tail))
    search.mark[:] = n
    for start in range(n):
        v: Index = np.uint64(start)
        while search.mark[v] == n and search.parent[v] < m:
            search.mark[v] = np.uint64(start)
            v = tail[search.parent[v]]
        if search.mark[v] == np.uint64(start) and search.parent[v] < m:
            return np.uint64(v)
    return n
