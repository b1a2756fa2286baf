"""Pothen and Fan's algorithm with fairness: phases of depth-first searches with lookahead.

Pothen and Fan, "Computing the block triangular form of a sparse matrix", ACM TOMS 16 (1990). Fairness: Duff,
Kaya and Uçar, "Design, implementation, and analysis of maximum transversal algorithms", ACM TOMS 38 (2011).

Definitions. A *phase* searches from every free row; the searches of a phase have no column in common.
*Lookahead* reads the edges of a row for a free column before any edge is followed. *Fairness* reads the edges
of each row backwards in every other phase: depth-first search is slow on long runs in one direction. A column
is *closed* when no augmenting path can enter it any more.

Invariants:

- The stamp of a column is the number of the last search that took it, so a column is searched once a phase.
- Matched columns stay matched, so the lookahead of a row continues where it stopped: O(m) over the whole
  solve.
- A search that fails without meeting a column of another search of its phase (it is *clean*) has seen
  everything that its root can reach. That is the "Hungarian tree" of the textbooks: no augmenting path ever
  enters it.

Departure: the columns of a clean search that fails are closed, and its root is dropped. So rows that cannot
be matched cost O(m) together, and not O(m) a phase.

Pseudo-code::

    while there are free rows:
        for each free row:
            depth-first from the row r on top of the stack:
                look ahead for a free column of r; if there is one: augment along the stack
                else follow the next edge of r to a column not taken in this phase
                if there is none: remove r from the stack
            if it failed: close its columns and drop its root if it was clean, else keep the root
        turn the direction of reading edges (fairness)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays import Indices, Number
from ...bipartite.match_arrays import NONE, Matching, list_free_rows
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.options import check_flag
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS, PHASES


@dataclass(frozen=True)
class PothenFanOptions:
    """Options of Pothen and Fan's algorithm.

    Attributes
    ----------
    fairness : bool
        Read the edges of each row backwards in every other phase.
    """

    fairness: bool = True

    def __post_init__(self) -> None:
        check_flag("fairness", self.fairness)


class PothenFanSearch(NamedTuple):
    """The state of the searches of a solve."""

    look: Indices  #: shape (num_rows,): the edge at which the lookahead of every row continues
    #: shape (num_rows + 1,): the rows on the stack, and for each the number of edges it has tried, or the
    #: edge to a free column
    position: Indices
    path: Indices
    #: shape (num_columns,): number of the last search that took a column; the largest number if it is closed
    stamp: Indices
    tree: Indices  #: shape (num_columns,): columns that the current search has taken


def make_search(rows: Adjacency, num_columns: int) -> PothenFanSearch:
    """Return the state before the first search, which has number 1."""
    num_rows, dtype = len(rows.first) - 1, rows.first.dtype
    return PothenFanSearch(
        look=rows.first[:-1].copy(),
        position=np.empty(num_rows + 1, dtype=dtype),
        path=np.empty(num_rows + 1, dtype=dtype),
        stamp=np.zeros(num_columns, dtype=dtype),
        tree=np.empty(num_columns, dtype=dtype),
    )


@kernel
def closed(search: PothenFanSearch) -> np.uint64:
    """Return the stamp of closed columns: the largest number of its dtype."""
    return NONE >> np.uint64(64 - 8 * search.stamp.itemsize)


@kernel
def restart_stamps(search: PothenFanSearch) -> None:
    """Clear the stamps of all columns that are not closed, before the numbers of searches run out."""
    never = closed(search)
    for c in range(np.uint64(len(search.stamp))):
        if np.uint64(search.stamp[c]) != never:
            search.stamp[c] = 0


@kernel
def augment_from(
    rows: Adjacency,
    matching: Matching,
    search: PothenFanSearch,
    root: Number,
    number: np.uint64,
    before: np.uint64,
    backwards: bool,
) -> tuple[bool, bool, np.uint64]:
    """Search an augmenting path from the free row `root` and augment along it.

    This search has the number `number`, the last one before this phase `before`. If `backwards`, the edges of
    each row are read from the last to the first. Return whether there is a path; of a search that failed,
    whether it met no column of another search of its phase; and the number of edges read.
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
            # Look ahead for a free column of a row that was just reached.
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
        # Follow the next edge to a column that no search of this phase has taken.
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
        # No edge is left: remove the row from the stack.
        if not entered:
            if depth == ZERO:
                break
            depth -= ONE
    if found:
        # Augment along the stack, from the free column up to the root.
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
        # A clean search that failed: close its columns.
        for k in range(taken):
            stamp[search.tree[k]] = never
    return found, clean, scans


@kernel
def run_phases(
    rows: Adjacency,
    matching: Matching,
    search: PothenFanSearch,
    free: Indices,
    size: np.uint64,
    fairness: bool,
    monitor: Monitor,
) -> bool:
    """Match the `size` rows in `free`; return whether the matching is maximum (False: stopped before)."""
    counts = monitor.counts
    number = ZERO
    backwards = False
    while size > ZERO:
        # Search numbers must stay below the stamp of closed columns.
        if number + size >= closed(search):
            restart_stamps(search)
            number = ZERO
        before = number
        left = ZERO
        for k in range(size):
            if relaxed_load(monitor.stop, 0) != 0:
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
        monitor.progress[0] = size
        backwards = fairness and not backwards
    return True


def solve(graph: BipartiteGraph, matching: Matching, options: PothenFanOptions, control: Control) -> bool:
    """Make a matching maximum, in place; return False where the solve was asked to stop.

    O(n m) time, memory of five indices a row and two a column.
    """
    free = np.empty(graph.num_rows, dtype=graph.rows.first.dtype)
    size = list_free_rows(graph.rows, matching, free)
    control.progress[:] = size
    search = make_search(graph.rows, graph.num_columns)
    return run_phases(
        graph.rows, matching, search, free, np.uint64(size), options.fairness, control.monitor()
    )
