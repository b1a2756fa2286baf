"""A phase of Hopcroft and Karp: layers by breadth-first search, then a maximal set of shortest paths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency
from ..kernels.kernel import kernel
from .state import NONE, Matching, prefetch_queued

ZERO = np.uint64(0)
ONE = np.uint64(1)


class Layers(NamedTuple):
    """The state of a phase.

    Attributes
    ----------
    level : ndarray, shape (num_rows,)
        How many columns lie between a free row and this one; NONE where it was not reached or leads nowhere.
    queue : ndarray, shape (num_rows,)
        Rows in the order in which they were reached, the free ones first.
    next_edge, path : ndarray, shape (num_rows,)
        The next edge that each row tries, and the rows on the stack of the depth-first search.
    """

    level: NDArray[Any]
    queue: NDArray[Any]
    next_edge: NDArray[Any]
    path: NDArray[Any]


def make_layers(num_rows: int, dtype: Any) -> Layers:
    """Return room for the layers; `queue` is to begin with the free rows."""
    level, queue, next_edge, path = (np.empty(num_rows, dtype=dtype) for _ in range(4))
    return Layers(level, queue, next_edge, path)


@kernel
def find_layers(rows: Adjacency, matching: Matching, layers: Layers, size: Any) -> tuple[Any, Any]:
    """Layer the rows from the `size` free ones that begin the queue, up to where a free column is found.

    Returns the level of the rows that have free columns, NONE if there are none, and how many edges were
    looked at.
    """
    num_rows = np.uint64(len(matching.row_match))
    level, queue = layers.level, layers.queue
    level[:] = NONE
    for i in range(size):
        level[queue[i]] = 0
    last = NONE
    end = size
    k = ZERO
    scans = ZERO
    while k < end:
        prefetch_queued(rows, matching.column_match, queue, k, end)
        r = np.uint64(queue[k])
        k += ONE
        h = np.uint64(level[r])
        if h > last:
            break
        first = np.uint64(rows.first[r])
        layers.next_edge[r] = first
        for e in range(first, np.uint64(rows.first[r + ONE])):
            other = np.uint64(matching.column_match[rows.neighbour[e]])
            if other >= num_rows:
                last = h
                break
            if last == NONE and np.uint64(level[other]) >= num_rows:
                level[other] = h + ONE
                queue[end] = other
                end += ONE
        scans += np.uint64(rows.first[r + ONE]) - first
    return last, scans


@kernel
def augment_layered(
    rows: Adjacency, matching: Matching, layers: Layers, root: Any, last: Any
) -> tuple[bool, Any]:
    """Augment along a shortest path from a free row, if one is left; return that, and edges looked at.

    No row is entered twice in a phase: neither one that leads nowhere nor one of a path that augmented.
    """
    num_rows = np.uint64(len(matching.row_match))
    level, next_edge, path = layers.level, layers.next_edge, layers.path
    row_match, column_match = matching.row_match, matching.column_match
    path[ZERO] = root
    depth = ZERO
    scans = ZERO
    while True:
        r = np.uint64(path[depth])
        end = np.uint64(rows.first[r + ONE])
        e = np.uint64(next_edge[r])
        start = e
        entered = False
        while e < end:
            other = np.uint64(column_match[rows.neighbour[e]])
            if other >= num_rows:
                c = np.uint64(rows.neighbour[e])
                while True:
                    r = np.uint64(path[depth])
                    previous = np.uint64(row_match[r])
                    row_match[r] = c
                    column_match[c] = r
                    level[r] = NONE
                    if depth == ZERO:
                        return True, scans + e - start
                    depth -= ONE
                    c = previous
            e += ONE
            if depth < last and np.uint64(level[other]) == depth + ONE:
                next_edge[r] = e
                depth += ONE
                path[depth] = other
                entered = True
                break
        scans += e - start
        if not entered:
            level[r] = NONE
            if depth == ZERO:
                return False, scans
            depth -= ONE


@kernel
def keep_free(matching: Matching, queue: Any, size: Any) -> Any:
    """Let the queue begin with those of its first `size` rows that are free still; return their number."""
    num_columns = np.uint64(len(matching.column_match))
    left = ZERO
    for k in range(size):
        if np.uint64(matching.row_match[queue[k]]) >= num_columns:
            queue[left] = queue[k]
            left += ONE
    return left
