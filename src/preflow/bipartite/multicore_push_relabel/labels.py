"""Global relabels and gaps of packed columns, between rounds of pushes."""

from __future__ import annotations

import numpy as np

from ...graph.bipartite import Adjacency
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.barrier import wait
from ...parallel.rounds import Rounds, append_item, end_round, start_round
from ...parallel.thread_pool import share_of
from ...stats import GAP_VERTICES
from ..match_arrays import Matching
from ..packed_columns import HALF, NOBODY, Packed, dead_label, last_level, unpack
from ..packed_search import Searching, search


@kernel
def global_relabel(
    columns: Adjacency,
    matching: Matching,
    packed: Packed,
    rounds: Rounds,
    thread: np.uint64,
    number: np.uint64,
) -> tuple[bool, np.uint64, np.uint64]:
    """Set all labels to exact distances by a search from the free columns. Collective.

    Return False if the solve is to stop, the number of the last round, and the number of columns that the
    search has reached, free ones included. All others are dead.
    """
    # Fill in `row_match`, which the search reads.
    unpack(matching, packed, rounds, thread)
    number += ONE
    current = start_round(rounds, thread, number, ZERO)
    dead = dead_label(packed)
    h = last_level(packed)
    while h > ZERO:
        packed.population[thread, h] = 0
        h -= ONE
    # Free columns start the search; all others are dead until they are reached.
    waiting, free = ZERO, ZERO
    c, end = share_of(np.uint64(len(packed.words)), thread, rounds.num_threads)
    while c < end:
        mate = packed.words[c] & NOBODY
        if mate == NOBODY:
            waiting = append_item(rounds, current, packed.order, waiting, c)
            free += ONE
        else:
            packed.words[c] = dead << HALF | mate
        c += ONE
    packed.population[thread, ZERO] = free
    go_on, size, _ = end_round(rounds, current, packed.order, waiting, ZERO)
    if not go_on:
        return False, number, ZERO
    searching = Searching(columns, matching.row_match, matching, packed, rounds, False)
    return search(searching, thread, number, size, ZERO)


@kernel
def lowest_gap(packed: Packed) -> tuple[np.uint64, np.uint64]:
    """Return the lowest empty level (if none, the last level) and the number of columns below it."""
    level, below = ZERO, np.int64(0)
    while level < last_level(packed):
        size, thread = np.int64(0), ZERO
        while thread < np.uint64(len(packed.population)):
            size += packed.population[thread, level]
            thread += ONE
        if size == 0:
            break
        below += size
        level += ONE
    return level, np.uint64(below)


@kernel
def close_gap(packed: Packed, rounds: Rounds, thread: np.uint64, level: np.uint64) -> np.uint64:
    """Declare all columns above the empty `level` dead; return how many. One thread's share.

    The thread clears its counts of the levels above `level` only: other threads may still be reading those of
    `level` and below in :func:`lowest_gap`.
    """
    dead = dead_label(packed)
    closed = ZERO
    c, end = share_of(np.uint64(len(packed.words)), thread, rounds.num_threads)
    while c < end:
        word = packed.words[c]
        if level < word >> HALF < dead:
            packed.words[c] = dead << HALF | word & NOBODY
            closed += ONE
        c += ONE
    while level < last_level(packed):
        level += ONE
        packed.population[thread, level] = 0
    return closed


@kernel
def gap_closed(
    packed: Packed, rounds: Rounds, thread: np.uint64, alive: np.uint64
) -> tuple[bool, np.uint64, bool]:
    """Close the lowest gap, if columns above it may be alive (not dead). Collective.

    At most `alive` columns are alive before. Return False if the barrier is broken, the greatest number of
    columns that may be alive now, and whether there is a free column.
    """
    level, below = lowest_gap(packed)
    if below < alive and ZERO < level < last_level(packed):
        alive = below
        rounds.counts[thread, GAP_VERTICES] += close_gap(packed, rounds, thread, level)
    # mutant: a-gap-is-closed-while-others-push
    return wait(rounds.barrier, rounds.num_threads), alive, bool(level > ZERO)
