"""Pothen and Fan's algorithm with fairness: phases of depth-first searches.

Pothen and Fan, "Computing the block triangular form of a sparse matrix", ACM TOMS 16 (1990); fairness: Duff,
Kaya and Uçar, "Design, implementation, and analysis of maximum transversal algorithms", ACM TOMS 38 (2011).
A phase searches from every free row; the searches of a phase share no column. With fairness every other phase
tries the edges of each row backwards, since long runs in one direction are where depth-first search is slow.

Departure: a search that saw all that its root can reach closes that for good (:mod:`.depth_first`), so
rows that cannot be matched cost O(m) together, not O(m) a phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..solving.options import check_flag
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .match_arrays import NONE, Matching, list_free_rows

ZERO = np.uint64(0)
ONE = np.uint64(1)


@dataclass(frozen=True)
class PothenFanOptions:
    """Options of Pothen and Fan's algorithm.

    Attributes
    ----------
    fairness : bool
        Let every other phase try the edges of each row backwards.
    """

    fairness: bool = True

    def __post_init__(self) -> None:
        check_flag("fairness", self.fairness)


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


@kernel
def run_phases(
    rows: Adjacency,
    matching: Matching,
    search: Search,
    free: Any,
    size: Any,
    fairness: bool,
    stop: Any,
    counts: Any,
    progress: Any,
) -> bool:
    """Match the `size` rows in `free`; return whether it was not stopped before the matching was maximum."""
    number = ZERO
    backwards = False
    while size > ZERO:
        if number + size >= closed(search):
            restart_stamps(search)
            number = ZERO
        before = number
        left = ZERO
        for k in range(size):
            if relaxed_load(stop, 0) != 0:
                return False
            number += ONE
            found, clean, scans = augment_from(rows, matching, search, free[k], number, before, backwards)
            counts[ARC_SCANS] += scans
            if found:
                counts[AUGMENTATIONS] += ONE
            elif not clean:
                free[left] = free[k]
                left += ONE
        size = left
        counts[PHASES] += ONE
        progress[0] = size
        backwards = fairness and not backwards
    return True


def solve(graph: BipartiteGraph, matching: Matching, options: PothenFanOptions, control: Control) -> bool:
    """Make a matching maximum, in place.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Notes
    -----
    O(n m) time, memory of five indices a row and two a column.
    """
    free = np.empty(graph.num_rows, dtype=graph.rows.first.dtype)
    size = list_free_rows(graph.rows, matching, free)
    control.excess[:] = size
    search = make_search(graph.rows, graph.num_columns)
    return run_phases(
        graph.rows,
        matching,
        search,
        free,
        np.uint64(size),
        options.fairness,
        control.stop,
        control.counts,
        control.excess,
    )
