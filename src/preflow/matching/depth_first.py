"""Depth-first search for one augmenting path, with lookahead, on a stack of its own.

Before a row's edges are followed, they are looked through for a free column (lookahead, Duff 1981). Columns
once matched stay matched, so each row's lookahead goes on where it stopped: O(m) over a whole solve.

A column is searched once a phase. A search that fails without having met a column that another search of the
phase has taken has seen all that its root can reach: no augmenting path will ever enter that, so its columns
are closed for good (the "Hungarian tree" of the textbooks), and so is the root.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency
from ..kernels.kernel import kernel
from .state import NONE, Matching

ZERO = np.uint64(0)
ONE = np.uint64(1)


class Search(NamedTuple):
    """What the searches of a solve keep.

    Attributes
    ----------
    look : ndarray, shape (num_rows,)
        Where the lookahead of every row goes on.
    position, path : ndarray, shape (num_rows + 1,)
        The rows on the stack, and for each how many edges it has tried, or the edge to a free column.
    stamp : ndarray, shape (num_columns,)
        Number of the last search that took a column, the largest number if it is closed.
    tree : ndarray, shape (num_columns,)
        Columns that the current search took.
    """

    look: NDArray[Any]
    position: NDArray[Any]
    path: NDArray[Any]
    stamp: NDArray[Any]
    tree: NDArray[Any]


def make_search(rows: Adjacency, num_columns: int) -> Search:
    """Return the state before the first search, which is number 1."""
    num_rows, dtype = len(rows.first) - 1, rows.first.dtype
    return Search(
        look=rows.first[:-1].copy(),
        position=np.empty(num_rows + 1, dtype=dtype),
        path=np.empty(num_rows + 1, dtype=dtype),
        stamp=np.zeros(num_columns, dtype=dtype),
        tree=np.empty(num_columns, dtype=dtype),
    )


@kernel
def closed(search: Search) -> Any:
    """Return the stamp of closed columns: the largest number of its dtype."""
    return NONE >> np.uint64(64 - 8 * search.stamp.itemsize)


@kernel
def restart_stamps(search: Search) -> None:
    """Forget all searches, but not which columns are closed: before their numbers run out."""
    never = closed(search)
    for c in range(np.uint64(len(search.stamp))):
        if np.uint64(search.stamp[c]) != never:
            search.stamp[c] = 0


@kernel
def augment_from(
    rows: Adjacency, matching: Matching, search: Search, root: Any, number: Any, before: Any, backwards: bool
) -> tuple[bool, bool, Any]:
    """Search an augmenting path from `root` and augment along it.

    Parameters
    ----------
    rows, matching, search
    root : free row
    number : number of this search
    before : number of the last search before this phase
    backwards : try the edges of each row from the last to the first

    Returns
    -------
    found, clean, scans
        `clean` says that a search that failed met no column of another search of its phase.
    """
    num_rows = np.uint64(len(matching.row_match))
    row_match, column_match = matching.row_match, matching.column_match
    look, position, path, stamp = search.look, search.position, search.path, search.stamp
    never = closed(search)
    clean = True
    found = False
    taken = ZERO
    scans = ZERO
    depth = ZERO
    path[ZERO] = root
    entered = True
    while True:
        r = np.uint64(path[depth])
        first, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
        if entered:
            e = np.uint64(look[r])
            while e < end and np.uint64(column_match[rows.neighbour[e]]) < num_rows:
                e += ONE
            scans += e - np.uint64(look[r])
            look[r] = e
            if e < end:
                position[depth] = e
                found = True
                break
            position[depth] = 0
        tried = np.uint64(position[depth])
        start = tried
        entered = False
        while tried < end - first:
            c = np.uint64(rows.neighbour[end - ONE - tried if backwards else first + tried])
            tried += ONE
            mark = np.uint64(stamp[c])
            if mark <= before:
                stamp[c] = number
                search.tree[taken] = c
                taken += ONE
                position[depth] = tried
                depth += ONE
                path[depth] = column_match[c]
                entered = True
                break
            if mark != number and mark != never:
                clean = False
        scans += tried - start
        if not entered:
            if depth == ZERO:
                break
            depth -= ONE
    if found:
        c = np.uint64(rows.neighbour[position[depth]])
        while True:
            r = np.uint64(path[depth])
            previous = np.uint64(row_match[r])
            row_match[r] = c
            column_match[c] = r
            if depth == ZERO:
                break
            depth -= ONE
            c = previous
    elif clean:
        for k in range(taken):
            stamp[search.tree[k]] = never
    return found, clean, scans
