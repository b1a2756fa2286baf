"""Depth-first searches with lookahead, disjoint in a phase: see :mod:`.serial_pothen_fan`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays import Indices, Number
from ...bipartite.match_arrays import NONE, Matching
from ...graph.bipartite import Adjacency
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.options import CheckedOptions
from ...stats import ARC_SCANS, AUGMENTATIONS


@dataclass(frozen=True)
class PothenFanOptions(CheckedOptions):
    """Options of Pothen and Fan's algorithm.

    Attributes
    ----------
    fairness : bool
        Read the edges of each row backwards in every other phase.
    """

    fairness: bool = True


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
def search_from_all(
    rows: Adjacency,
    matching: Matching,
    search: PothenFanSearch,
    free: Indices,
    size: np.uint64,
    number: np.uint64,
    backwards: bool,
    monitor: Monitor,
) -> tuple[bool, np.uint64, np.uint64]:
    """Search from the `size` rows in `free`, each search without columns of the others.

    `number` is that of the last search before. Return whether to go on, how many rows are left in `free` from
    which paths may exist, and the number of the last search.
    """
    counts = monitor.counts
    # Search numbers must stay below the stamp of closed columns.
    if number + size >= closed(search):
        restart_stamps(search)
        number = ZERO
    before = number
    left = ZERO
    for k in range(size):
        if relaxed_load(monitor.stop, 0) != 0:
            return False, left, number
        number += ONE
        root = np.uint64(free[k])
        found, clean, scans = augment_from(rows, matching, search, root, number, before, backwards)
        counts[ARC_SCANS] += scans
        if found:
            counts[AUGMENTATIONS] += ONE
        elif not clean:
            free[left] = root
            left += ONE
    monitor.progress[0] = left
    return True, left, number
