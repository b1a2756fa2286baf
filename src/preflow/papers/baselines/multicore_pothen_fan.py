"""Pothen and Fan's algorithm on many cores: phases of disjoint depth-first searches, with fairness.

Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen, "Multithreaded algorithms for maximum matching in
bipartite graphs", IPDPS 2012. :mod:`.disjoint_searches` has the definitions and the invariants that keep the
searches apart, :mod:`.serial_pothen_fan` explains lookahead and fairness.

Departures:

- A clean search that fails closes its columns and drops its root.
- The stack is a list linked through the rows, each of which belongs to one search of the phase. So memory
  does not grow with the number of threads.

Pseudo-code, of each thread::

    list the free rows as roots
    while there are roots:
        while the thread can take a root:
            r = root
            repeat:
                when r was just reached: look ahead for a free column; augment if one can be claimed
                r = the row of the next column next to r that can be claimed
                if there is none: r = the row that r was reached from
            if it failed: close its columns if it was clean, else keep the root for the next phase
        barrier; if no search of the phase augmented: the matching is maximum
        turn the direction of reading edges (fairness)
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ...bipartite.match_arrays import Matching
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.atomics import relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.delays import delay
from ...parallel.rounds import should_stop
from ...parallel.thread_pool import run_solver
from ...solving.run import Control
from ...stats import ARC_SCANS
from .depth_first import PothenFanOptions
from .disjoint_searches import (
    Disjoint,
    DisjointSearch,
    claim,
    close,
    is_foreign,
    make_disjoint,
    phases_of,
)

#: The fields of a row, in one cache line: the number of edges that its lookahead has read, that of edges
#: tried, the row from which it was reached, and the row that the search took before it.
LOOK, TRIED, PARENT, EARLIER = ZERO, ONE, np.uint64(2), np.uint64(3)
FIELDS = np.uint64(4)


@kernel
def look_ahead(
    rows: Adjacency,
    matching: Matching,
    state: Disjoint,
    visits: Indices,
    r: np.uint64,
    search: DisjointSearch,
) -> tuple[bool, np.uint64, np.uint64]:
    """Claim a free column next to a row; return whether there was one, which, and the number of edges read.

    A free column that another search has claimed counts as matched: it will be when the phase ends.
    """
    num_rows = np.uint64(len(matching.row_match))
    first, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
    start, c = first + np.uint64(visits[FIELDS * r + LOOK]), ZERO
    e = start
    while e < end:
        c = np.uint64(rows.neighbour[e])
        if np.uint64(relaxed_load(matching.column_match, c)) >= num_rows and claim(state, c, search):
            break
        e += ONE
    visits[FIELDS * r + LOOK] = e - first
    return bool(e < end), c, e - start


@kernel
def augment(
    matching: Matching, state: Disjoint, visits: Indices, search: DisjointSearch, r: np.uint64, c: np.uint64
) -> None:
    """Augment along the path from the root of a search to the row `r` and the free column `c`."""
    while True:
        previous = np.uint64(matching.row_match[r])
        matching.row_match[r] = c
        delay(state.rounds.delays, search.thread)
        relaxed_store(matching.column_match, c, r)  # mutant: a-matched-column-is-written-plainly
        if r == search.root:
            return
        c = previous
        r = np.uint64(visits[FIELDS * r + PARENT])


@kernel
def augment_from(
    rows: Adjacency,
    matching: Matching,
    state: Disjoint,
    visits: Indices,
    search: DisjointSearch,
    backwards: bool,
) -> tuple[bool, bool]:
    """Search an augmenting path from the root of a search and augment along it.

    Return whether there is one; and of a search that failed, whether it met no foreign column.
    """
    thread, root = search.thread, search.root
    clean, entered = True, True
    scans, taken, r = ZERO, root, root
    while True:
        at = FIELDS * r
        if entered:
            # Look ahead from a row that was just reached.
            found, c, looked = look_ahead(rows, matching, state, visits, r, search)
            scans += looked
            if found:
                augment(matching, state, visits, search, r, c)
                state.rounds.counts[thread, ARC_SCANS] += scans
                return True, False
            visits[at + TRIED] = 0
            if should_stop(state.rounds):
                return False, False
            delay(state.rounds.delays, thread)
        # Follow the next edge to a column that can be claimed.
        first, degree = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE]) - np.uint64(rows.first[r])
        tried = np.uint64(visits[at + TRIED])
        scans -= tried
        entered = False
        while tried < degree and not entered:
            c = np.uint64(rows.neighbour[first + (degree - ONE - tried if backwards else tried)])
            tried += ONE
            if claim(state, c, search):
                entered = True
                below = np.uint64(matching.column_match[c])
                visits[at + TRIED] = tried
                visits[FIELDS * below + PARENT] = r
                visits[FIELDS * below + EARLIER] = taken
                taken = below
                r = below
            elif is_foreign(state, c, search):
                clean = False
        scans += tried
        # No edge is left: go back to the row from which this one was reached.
        if not entered:
            if r == root:
                break
            r = np.uint64(visits[at + PARENT])
    state.rounds.counts[thread, ARC_SCANS] += scans
    # A clean search that failed: close its columns.
    while clean and taken != root:
        close(state, np.uint64(matching.row_match[taken]))
        taken = np.uint64(visits[FIELDS * taken + EARLIER])
    return False, clean


run_phases = phases_of(augment_from)


def solve(graph: BipartiteGraph, matching: Matching, options: PothenFanOptions, control: Control) -> bool:
    """Make a matching maximum, in place, on all threads; return False where the solve was asked to stop.

    O(n m) work, memory of six indices a row and one a column.
    """
    state = make_disjoint(graph, control)
    visits: Array = np.zeros(int(FIELDS) * graph.num_rows, dtype=state.roots.dtype)
    finished = [False] * control.threads

    def share(thread: int) -> None:
        me = np.uint64(thread)
        finished[thread] = run_phases(graph.rows, matching, state, visits, me, options.fairness)

    run_solver(share, control, state.rounds.barrier)
    return all(finished)
