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

import numpy as np

from ...arrays import Indices
from ...bipartite.match_arrays import Matching, list_free_rows
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.constants import ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import PHASES
from .depth_first import PothenFanOptions, PothenFanSearch, make_search, search_from_all


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
    go_on, number, backwards = True, ZERO, False
    while go_on and size > ZERO:
        go_on, size, number = search_from_all(rows, matching, search, free, size, number, backwards, monitor)
        monitor.counts[PHASES] += np.uint64(go_on)
        backwards = fairness and not backwards
    return go_on


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
