"""Alternating trees from all free rows at once on many cores, with one augmenting path a tree.

The algorithm of :mod:`.cuda_multi_source_bfs`, on threads: a phase grows disjoint trees, level by level, from
all free rows; a tree ends with the first free column that it finds; then all paths are augmented at once.
:mod:`.packed_search` has the search, with which :mod:`.multicore_push_relabel` matches its last rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.kernel import kernel
from ..parallel.team import run_solver
from ..solving.run import Control
from .packed import Packed, make_packed, pack
from .packed_search import match_few
from .rounds import Rounds, end_round, make_rounds
from .state import Matching

ZERO = np.uint64(0)


@dataclass(frozen=True)
class MulticoreMultiSourceBfsOptions:
    """It has no options."""


@kernel
def run_phases(rows: Adjacency, matching: Matching, packed: Packed, rounds: Rounds, thread: Any) -> bool:
    """Match free rows until the matching is maximum, one thread's share; False if stopped before."""
    waiting = pack(rows, matching, packed, rounds, thread)
    go_on, size, _ = end_round(rounds, thread, ZERO, packed.active, ZERO, waiting, ZERO)
    if thread == ZERO:
        rounds.progress[1] = size
    return bool(go_on and match_few(rows, matching, packed, rounds, thread, ZERO, ZERO, size))


def solve(
    graph: BipartiteGraph, matching: Matching, options: MulticoreMultiSourceBfsOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, on ``control.threads`` threads.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Raises
    ------
    UnsuitableMethodError
        There are 2**32 - 2 rows or columns, or more.

    Notes
    -----
    O(m) work a phase, at most one phase for each edge of the matching, a dozen or two in practice; memory of
    two indices and 16 bytes a row and 8 bytes a column.
    """
    threads = control.threads
    packed = make_packed(graph, threads, "multicore-multi-source-bfs", graph.num_rows, False)
    rounds = make_rounds(control, np.uint64)
    finished = [False] * threads

    def share(thread: int) -> None:
        finished[thread] = run_phases(graph.rows, matching, packed, rounds, np.uint64(thread))

    run_solver(share, control, rounds.barrier)
    return all(finished)
