"""Strongly connected components (Tarjan 1972), without recursion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from .constants import ONE, ZERO
from .kernel import kernel


class Components(NamedTuple):
    """The state of the search; all arrays have an entry for each vertex."""

    #: the result; the order of discovery (from 1; 0: not discovered); the earliest vertex that can be
    #: reached. All are 0 at the start.
    component: Indices
    found_at: Indices
    low: Indices
    #: the next arc of each vertex; the vertices on the path; the vertices that have no component yet
    next_arc: Indices
    path: Indices
    waiting: Indices


def new_components(size: int, dtype: np.dtype[np.unsignedinteger]) -> Components:
    """Return the state before a search."""
    return Components(
        *(np.zeros(size, dtype=dtype) for _ in range(3)), *(np.empty(size, dtype=dtype) for _ in range(3))
    )


@kernel
def find_components(
    first: Indices, neighbour: Indices, through: Indices, chosen: NDArray[np.bool_], state: Components
) -> np.uint64:
    """Find the strongly connected components of the chosen vertices, each before those that lead to it.

    The arcs of vertex v are those from ``first[v]`` to ``first[v + 1] - 1``. Arc `e` leads to
    ``neighbour[e]``, or to ``through[neighbour[e]]`` unless `through` is empty. Where that is no vertex, or
    none that is chosen, the arc leads nowhere. `state` is as :func:`new_components` returns it. Components
    are numbered from 1; return how many there are. O(n + m).
    """
    n = np.uint64(len(chosen))
    indirect = len(through) > 0
    found, discovered, height = ZERO, ZERO, ZERO
    for root in range(n):
        if not chosen[root] or state.found_at[root] != 0:
            continue
        depth = ZERO
        state.path[ZERO] = root
        while True:
            v = np.uint64(state.path[depth])
            # Discover the vertex.
            if state.found_at[v] == 0:
                discovered += ONE
                state.found_at[v] = discovered
                state.low[v] = discovered
                state.next_arc[v] = first[v]
                state.waiting[height] = v
                height += ONE
            e, end = np.uint64(state.next_arc[v]), np.uint64(first[v + ONE])
            entered = False
            # Follow its arcs to the next vertex that is not discovered yet.
            while e < end:
                other = np.uint64(through[neighbour[e]]) if indirect else np.uint64(neighbour[e])
                e += ONE
                if other >= n or not chosen[other]:
                    continue
                if state.found_at[other] == 0:
                    depth += ONE
                    state.path[depth] = other
                    entered = True
                    break
                if state.component[other] == 0:
                    state.low[v] = min(np.uint64(state.low[v]), np.uint64(state.found_at[other]))
            state.next_arc[v] = e
            if entered:
                continue
            # The vertex is the first of its component: take the component from the waiting vertices.
            if state.low[v] == state.found_at[v]:
                found += ONE
                while True:
                    height -= ONE
                    member = np.uint64(state.waiting[height])
                    state.component[member] = found
                    if member == v:
                        break
            if depth == ZERO:
                break
            # Go back to the vertex before.
            depth -= ONE
            parent = np.uint64(state.path[depth])
            state.low[parent] = min(np.uint64(state.low[parent]), np.uint64(state.low[v]))
    return found
