"""The row and the label of a column in one word, which a compare-and-swap changes together.

For :mod:`.multicore_push_relabel`, which says why. Here is what its threads do between pushes, while no word
changes but by its owner: pack a matching and unpack it, close gaps, and relabel globally.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency
from ..kernels.atomics import compare_exchange, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from ..kernels.worklist import appended, flush, forget
from ..parallel.barrier import wait
from ..parallel.delays import delay
from ..parallel.team import share_of
from .rounds import TOLD, Rounds, end_round, keep, set_of, should_stop, start_round, take
from .state import NONE, Matching, prefetch_queued

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: A label stands in the upper half of a word, a row or NOBODY in the lower one.
HALF = np.uint64(32)
NOBODY = np.uint64(2**32 - 1)
#: More rows or columns than this do not fit halves of words.
MOST = 2**32 - 3
#: Levels whose columns are counted, each by itself but the last, which stands for all above. From a cheap
#: matching labels end below 50, and where they climb on there is a gap among the first levels.
LEVELS = np.uint64(256)
#: A level of fewer columns for each thread is searched by one thread, until one has twice as many.
FEW_COLUMNS = np.uint64(64)


class Packed(NamedTuple):
    """What the threads share beside the graph and the matching.

    Attributes
    ----------
    words : ndarray of uint64, shape (num_columns,)
        Label and row of every column. A label is a lower bound on how many columns are left on the way to a
        free one, 0 for a free one; dead, more than there are columns: none can be reached.
    population : ndarray of int64, shape (threads, LEVELS)
        By how much each thread has changed the number of columns of each level; dead ones do not count.
    active : ndarray, shape (2 * num_rows,)
        Active rows of this round in one half, of the next in the other.
    order : ndarray, shape (num_columns,)
        Columns in the order in which a global relabel finds them.
    """

    words: NDArray[Any]
    population: NDArray[Any]
    active: NDArray[Any]
    order: NDArray[Any]


@kernel
def dead_label(packed: Packed) -> Any:
    """Return the label of columns from which no free one can be reached."""
    return np.uint64(len(packed.words)) + ONE


@kernel
def level_of(label: Any) -> Any:
    """Return where the columns of a label are counted."""
    return min(label, LEVELS - ONE)


@kernel
def pack(rows: Adjacency, matching: Matching, packed: Packed, rounds: Rounds, thread: Any) -> Any:
    """Give free columns label 0 and matched ones label 1, list active rows in round 0; one thread's share.

    Returns how many rows wait to be listed.
    """
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    free = ZERO
    c, end = share_of(num_columns, thread, rounds.num_threads)
    packed.population[thread, ONE] = end - c
    while c < end:
        mate = np.uint64(matching.column_match[c])
        if mate < num_rows:
            packed.words[c] = ONE << HALF | mate
        else:
            packed.words[c] = NOBODY
            free += ONE
        c += ONE
    packed.population[thread, ZERO] = free
    packed.population[thread, ONE] -= free
    waiting = ZERO
    r, end = share_of(num_rows, thread, rounds.num_threads)
    while r < end:
        if np.uint64(matching.row_match[r]) >= num_columns and rows.first[r] < rows.first[r + ONE]:
            waiting = keep(rounds, thread, ZERO, packed.active, ZERO, waiting, r)
        r += ONE
    return waiting


@kernel
def unpack(matching: Matching, packed: Packed, rounds: Rounds, thread: Any) -> None:
    """Write the matching that the words hold, one thread's share; ends with a barrier."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    r, end = share_of(num_rows, thread, rounds.num_threads)
    while r < end:
        matching.row_match[r] = NONE
        r += ONE
    wait(rounds.barrier, rounds.num_threads)
    c, end = share_of(num_columns, thread, rounds.num_threads)
    while c < end:
        mate = packed.words[c] & NOBODY
        matching.column_match[c] = NONE
        if mate != NOBODY:
            matching.column_match[c] = mate
            matching.row_match[mate] = c
        c += ONE
    wait(rounds.barrier, rounds.num_threads)


@kernel
def lowest_gap(packed: Packed) -> tuple[Any, Any]:
    """Return the lowest empty level, and how many columns there are below; the last level is never empty."""
    level, below = ZERO, np.int64(0)
    while level < LEVELS - ONE:
        size = np.int64(0)
        for thread in range(np.uint64(len(packed.population))):
            size += packed.population[thread, level]
        if size == 0:
            break
        below += size
        level += ONE
    return level, np.uint64(below)


@kernel
def close_gap(packed: Packed, rounds: Rounds, thread: Any, level: Any) -> Any:
    """Declare all columns above an empty level dead, one thread's share; return how many that were.

    Others may still look for the gap: the counts of levels up to it stay.
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
    packed.population[thread, level + ONE :] = 0
    return closed


@kernel
def label_before(
    columns: Adjacency,
    matching: Matching,
    packed: Packed,
    rounds: Rounds,
    thread: Any,
    number: Any,
    base: Any,
    waiting: Any,
    c: Any,
) -> Any:
    """Label the columns from which `c` is next on the way, and list them; return how many wait."""
    num_columns, dead = np.uint64(len(packed.words)), dead_label(packed)
    h = (np.uint64(relaxed_load(packed.words, c)) >> HALF) + ONE
    e, end = np.uint64(columns.first[c]), np.uint64(columns.first[c + ONE])
    while e < end:
        other = np.uint64(matching.row_match[columns.neighbour[e]])
        e += ONE
        if other < num_columns:
            word = np.uint64(relaxed_load(packed.words, other))
            delay(rounds.delays, thread)
            if word >> HALF == dead and compare_exchange(
                packed.words, other, word, h << HALF | word & NOBODY
            ):
                packed.population[thread, level_of(h)] += 1
                waiting = keep(rounds, thread, number, packed.order, base, waiting, other)
    return waiting


@kernel
def search_alone(
    columns: Adjacency,
    matching: Matching,
    packed: Packed,
    rounds: Rounds,
    thread: Any,
    number: Any,
    begin: Any,
    size: Any,
    many: Any,
) -> Any:
    """Search level by level until one has `many` columns, or none; return how many were found.

    Tells the others where the last level is listed.
    """
    found = ZERO
    while True:
        waiting, k = ZERO, begin
        while k < begin + size:
            c = np.uint64(packed.order[k])
            waiting = label_before(
                columns, matching, packed, rounds, thread, number, begin + size, waiting, c
            )
            k += ONE
        flush(rounds.worklist, number, packed.order, begin + size, thread, waiting)
        begin += size
        size = appended(rounds.worklist, number)
        found += size
        if size == ZERO or size >= many or should_stop(rounds):
            break
        forget(rounds.worklist, number)
    relaxed_store(rounds.shared, set_of(number) + TOLD, begin)
    return found


@kernel
def start_search(matching: Matching, packed: Packed, rounds: Rounds, thread: Any, number: Any) -> Any:
    """List the free columns and declare all others dead, one thread's share; return how many wait."""
    dead = dead_label(packed)
    packed.population[thread, :] = 0
    waiting, free = ZERO, ZERO
    c, end = share_of(np.uint64(len(packed.words)), thread, rounds.num_threads)
    while c < end:
        mate = packed.words[c] & NOBODY
        if mate == NOBODY:
            waiting = keep(rounds, thread, number, packed.order, ZERO, waiting, c)
            free += ONE
        else:
            packed.words[c] = dead << HALF | mate
        c += ONE
    packed.population[thread, ZERO] = free
    return waiting


@kernel
def global_relabel(
    columns: Adjacency, matching: Matching, packed: Packed, rounds: Rounds, thread: Any, number: Any
) -> tuple[bool, Any, Any]:
    """Set all labels to exact distances by a search from the free columns, together.

    Returns
    -------
    go_on, number, alive
        False if the solve is to stop; the last round's number; how many columns reach a free one.
    """
    few = FEW_COLUMNS * rounds.num_threads if rounds.num_threads > ONE else ZERO
    unpack(matching, packed, rounds, thread)
    number += ONE
    start_round(rounds, thread, number)
    waiting = start_search(matching, packed, rounds, thread, number)
    go_on, size, _ = end_round(rounds, thread, number, packed.order, ZERO, waiting, ZERO)
    begin, alive = ZERO, size
    while go_on and size > ZERO:
        number += ONE
        start_round(rounds, thread, number)
        waiting, found, base = ZERO, ZERO, begin + size
        alone = size < few
        if alone:
            if thread == ZERO:
                found = search_alone(
                    columns, matching, packed, rounds, thread, number, begin, size, TWO * few
                )
        else:
            k, end = take(rounds, number, size)
            while k < end:
                prefetch_queued(columns, matching.row_match, packed.order, begin + k, base)
                c = np.uint64(packed.order[begin + k])
                waiting = label_before(columns, matching, packed, rounds, thread, number, base, waiting, c)
                k += ONE
                if k == end:
                    k, end = take(rounds, number, size)
        go_on, size, found = end_round(rounds, thread, number, packed.order, base, waiting, found)
        begin = np.uint64(relaxed_load(rounds.shared, set_of(number) + TOLD)) if alone else base
        alive += found if alone else size
    return go_on, number, alive
