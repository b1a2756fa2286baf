"""Disjoint breadth-first searches on many cores: P-DBFS.

Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen, "Multithreaded algorithms for maximum matching in
bipartite graphs", IPDPS 2012. :mod:`.disjoint_searches` has the definitions and the invariants that keep the
searches apart.

A search grows one alternating tree from one free row, breadth-first, until it takes a free column.

Departure: a clean search that fails closes its columns and drops its root.

Pseudo-code, of each thread::

    list the free rows as roots
    while there are roots:
        while the thread can take a root:
            queue = [root]
            for each row r of the queue, for each column c next to r that can be claimed:
                parent of c = r
                if c is free: augment along the parents; end the search
                queue the row that c is matched with
            if it failed: close its columns if it was clean, else keep the root for the next phase
        barrier; if no search of the phase augmented: the matching is maximum
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Indices
from ...bipartite.match_arrays import Matching
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.delays import delay
from ...parallel.rounds import should_stop
from ...parallel.thread_pool import run_solver
from ...solving.options import NoOptions
from ...solving.run import Control
from ...stats import ARC_SCANS
from .disjoint_searches import (
    Disjoint,
    DisjointSearch,
    claim,
    close,
    is_foreign,
    make_disjoint,
    phases_of,
)


class Trees(NamedTuple):
    """The trees of all searches."""

    parent: Indices  #: shape (num_columns,): the row from which a column was reached
    queue: Indices  #: shape (threads, most rows of a tree + 1): the rows of the tree that each thread grows


@kernel
def augment(
    matching: Matching, state: Disjoint, parent: Indices, thread: np.uint64, root: np.uint64, c: np.uint64
) -> None:
    """Augment along the path from `root` to the free column `c`."""
    while True:
        r = np.uint64(parent[c])
        previous = np.uint64(matching.row_match[r])
        matching.row_match[r] = c
        delay(state.rounds.delays, thread)
        matching.column_match[c] = r
        if r == root:
            return
        c = previous


@kernel
def augment_from(
    rows: Adjacency,
    matching: Matching,
    state: Disjoint,
    trees: Trees,
    search: DisjointSearch,
    backwards: bool,
) -> tuple[bool, bool]:
    """Search an augmenting path from the root of a search and augment along it.

    Return whether there is one; and of a search that failed, whether it met no foreign column.
    """
    num_rows = np.uint64(len(matching.row_match))
    parent, queue = trees
    thread, root = search.thread, search.root
    clean = True
    queue[thread, ZERO] = root
    begin, size, scans = ZERO, ONE, ZERO
    while begin < size:
        if should_stop(state.rounds):
            return False, False
        r = np.uint64(queue[thread, begin])
        begin += ONE
        e, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
        scans -= e
        while e < end:
            c = np.uint64(rows.neighbour[e])
            e += ONE
            # Take the column, and augment if it is free.
            if claim(state, c, search):
                parent[c] = r
                delay(state.rounds.delays, thread)
                mate = np.uint64(matching.column_match[c])
                if mate >= num_rows:
                    augment(matching, state, parent, thread, root, c)
                    state.rounds.counts[thread, ARC_SCANS] += scans + e
                    return True, False
                queue[thread, size] = mate
                size += ONE
            elif is_foreign(state, c, search):
                clean = False
        scans += e
    state.rounds.counts[thread, ARC_SCANS] += scans
    # A clean search that failed: close its columns.
    while clean and size > ONE:
        size -= ONE
        close(state, np.uint64(matching.row_match[queue[thread, size]]))
    return False, clean


run_phases = phases_of(augment_from)


def solve(graph: BipartiteGraph, matching: Matching, options: NoOptions, control: Control) -> bool:
    """Make a matching maximum, in place, on all threads; return False where the solve was asked to stop.

    O(n m) work. Memory of two indices a row and two a column, and of an index for each row of the largest
    tree of each thread: room for all rows is reserved, but pages that are not used take no memory.
    """
    state = make_disjoint(graph, control)
    dtype = state.roots.dtype
    queue = np.empty((control.threads, min(graph.shape) + 1), dtype=dtype)
    trees = Trees(np.empty(graph.num_columns, dtype=dtype), queue)
    finished = [False] * control.threads

    def share(thread: int) -> None:
        finished[thread] = run_phases(graph.rows, matching, state, trees, np.uint64(thread), False)

    run_solver(share, control, state.rounds.barrier)
    return all(finished)
