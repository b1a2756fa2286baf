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
from typing import Any

import numpy as np

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..solving.options import check_flag
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .depth_first import Search, augment_from, closed, make_search, restart_stamps
from .state import Matching, list_free_rows

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
