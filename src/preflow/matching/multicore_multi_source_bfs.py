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
from ..parallel.team import share_of
from ..solving.run import Control
from ..stats import AUGMENTATIONS, PHASES
from .match_arrays import Matching
from .packed_columns import HALF, NOBODY, Packed, dead_label, make_packed, pack
from .packed_search import CLOSED, UNSEEN, search
from .thread_rounds import Rounds, append_item, end_round, make_rounds, start_round

ZERO = np.uint64(0)
ONE = np.uint64(1)


@dataclass(frozen=True)
class MulticoreMultiSourceBfsOptions:
    """It has no options."""


@kernel
def forget_labels(packed: Packed, rounds: Rounds, thread: Any) -> None:
    """Say that no column is reached, and that dead ones need not be; one thread's share."""
    dead = dead_label(packed)
    c, end = share_of(np.uint64(len(packed.words)), thread, rounds.num_threads)
    while c < end:
        word = packed.words[c]
        packed.words[c] = (CLOSED if word >> HALF == dead else UNSEEN) << HALF | word & NOBODY
        c += ONE


@kernel
def start_trees(packed: Packed, rounds: Rounds, thread: Any, base: Any, size: Any) -> None:
    """Take all trees apart and start one at each of `size` active rows, one thread's share."""
    c, end = share_of(np.uint64(len(packed.words)), thread, rounds.num_threads)
    while c < end:
        word = packed.words[c]
        if word >> HALF != CLOSED:
            packed.words[c] = UNSEEN << HALF | word & NOBODY
        c += ONE
    k, end = share_of(size, thread, rounds.num_threads)
    while k < end:
        packed.order[k] = k << HALF | np.uint64(packed.active[base + k])
        packed.leaf[k] = NOBODY
        k += ONE


@kernel
def augment(matching: Matching, packed: Packed, c: Any) -> None:
    """Match along the path that leads from the root of a tree to the free column `c`."""
    num_columns = np.uint64(len(packed.words))
    while c < num_columns:
        r = packed.words[c] >> HALF
        previous = np.uint64(matching.row_match[r])
        packed.words[c] = UNSEEN << HALF | r
        matching.row_match[r] = c
        matching.column_match[c] = r
        c = previous


@kernel
def match_few(
    rows: Adjacency,
    matching: Matching,
    packed: Packed,
    rounds: Rounds,
    thread: Any,
    number: Any,
    base: Any,
    size: Any,
) -> bool:
    """Match what can be of the `size` active rows from `base` on; False if stopped before.

    The matching is unpacked; labels are gone afterwards.
    """
    num_rows = np.uint64(len(matching.row_match))
    forget_labels(packed, rounds, thread)
    go_on, augmented = True, ONE
    while go_on and size > ZERO and augmented > ZERO:
        if thread == ZERO:
            rounds.counts[thread, PHASES] += ONE
            rounds.progress[0] = size
        number += ONE
        start_round(rounds, thread, number)
        start_trees(packed, rounds, thread, base, size)
        go_on, _, _ = end_round(rounds, thread, number, packed.order, ZERO, ZERO, ZERO)
        if go_on:
            go_on, number, _ = search(
                rows, packed.words, matching, packed, rounds, thread, number, size, size, True
            )
        if not go_on:
            break
        number += ONE
        start_round(rounds, thread, number)
        other = num_rows - base
        waiting, augmented = ZERO, ZERO
        k, end = share_of(size, thread, rounds.num_threads)
        while k < end:
            c = packed.leaf[k]
            if c != NOBODY:
                augment(matching, packed, c)
                augmented += ONE
            else:
                r = np.uint64(packed.active[base + k])
                waiting = append_item(rounds, thread, number, packed.active, other, waiting, r)
            k += ONE
        rounds.counts[thread, AUGMENTATIONS] += augmented
        go_on, size, augmented = end_round(rounds, thread, number, packed.active, other, waiting, augmented)
        base = other
    return go_on


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
