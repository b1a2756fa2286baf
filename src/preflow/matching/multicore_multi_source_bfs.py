"""Alternating trees from all free rows at once on many cores, with one augmenting path a tree.

The algorithm of :mod:`.cuda_multi_source_bfs`, on threads: a phase grows disjoint trees, level by level, from
all free rows; a tree ends with the first free column that it finds; then all paths are augmented at once.
:mod:`.packed_search` has the search, with which :mod:`.multicore_push_relabel` matches its last rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.kernel import kernel
from ..parallel.native_team import Crew, address_of, entry_of, lead, run_natively
from ..solving.run import Control
from .packed import Packed, make_packed, pack
from .packed_search import match_few
from .rounds import Rounds, end_round, make_rounds
from .state import Matching

ZERO = np.uint64(0)


@dataclass(frozen=True)
class MulticoreMultiSourceBfsOptions:
    """It has no options."""


class Phases(NamedTuple):
    """What threads share that match free rows.

    Attributes
    ----------
    rows : Adjacency
    matching : Matching
    packed : Packed
    rounds : Rounds
    finished : ndarray of bool, shape (1,)
        Whether the matching is maximum.
    """

    rows: Adjacency
    matching: Matching
    packed: Packed
    rounds: Rounds
    finished: NDArray[np.bool_]


@kernel
def phases_share(thread: Any, phases: Phases) -> None:
    """Match free rows until the matching is maximum, or the solve is to stop; one thread's share."""
    rows, matching, packed, rounds = phases.rows, phases.matching, phases.packed, phases.rounds
    waiting = pack(rows, matching, packed, rounds, thread)
    go_on, size, _ = end_round(rounds, thread, ZERO, packed.active, ZERO, waiting, ZERO)
    if thread == ZERO:
        rounds.progress[1] = size
    finished = go_on and match_few(rows, matching, packed, rounds, thread, ZERO, ZERO, size)
    if thread == ZERO:
        phases.finished[0] = finished


@kernel
def phases_together(crew: Crew, num_threads: Any, phases: Phases) -> None:
    """Match free rows on so many threads."""
    lead(crew, num_threads, entry_of(phases_share, phases), address_of(phases))


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
    phases = Phases(graph.rows, matching, packed, rounds, np.zeros(1, dtype=np.bool_))
    run_natively(phases_together, phases_share, phases, threads)
    return bool(phases.finished[0])
