"""One round of pushes: every thread pushes the active rows that it owns, until the round is over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.bipartite import Adjacency
from ...kernels.atomics import PADDING, compare_exchange, fetch_add, relaxed_load, relaxed_store
from ...kernels.constants import ONE, THREE, TWO, ZERO
from ...kernels.kernel import kernel
from ...parallel.delays import delay
from ...parallel.rounds import Round, Rounds, append_item, should_stop
from ...parallel.thread_pool import share_of
from ...stats import ARC_SCANS, AUGMENTATIONS, PUSHES, WAITS
from ..packed_columns import HALF, NOBODY, Packed, dead_label, level_of
from ..push_relabel import place, prefetch_active

#: A round also ends when one in IDLE_SHARE threads has no row left.
IDLE_SHARE = np.uint64(4)
#: Positions in a round's set of signals: whether the round is over; pushes; threads without rows.
OVER, PUSHED, IDLE = ZERO, PADDING, TWO * PADDING
SET = THREE * PADDING
#: Entries of all sets: three are used in turn, as in rounds.py.
SIGNALS = int(THREE * SET)


class Limits(NamedTuple):
    """Numbers of pushes after which something happens."""

    #: pushes of all threads until a global relabel, and until the end of a round
    relabel: np.uint64
    round: np.uint64
    report: np.uint64  #: rows that a thread takes before it adds its pushes to the total
    #: pushes of all threads, with fewer than `few` active rows, until searches replace them
    search: np.uint64
    few: np.uint64


class PushState(NamedTuple):
    """The state that the threads share, besides the graph and the matching."""

    packed: Packed
    rounds: Rounds  #: a round is one of pushes, or a level of a global relabel
    #: of three rounds: whether it is over; the number of pushes; the number of threads without rows
    signals: NDArray[np.uint64]
    limits: Limits


@kernel
def signal(number: np.uint64, which: np.uint64) -> np.uint64:
    """Return the position of a signal of a round; three sets are used in turn, as in rounds.py."""
    return (number % THREE) * SET + which


@kernel
def clear_signals(signals: NDArray[np.uint64], number: np.uint64) -> None:
    """Reset the signals of a round that no thread is in."""
    relaxed_store(signals, signal(number, OVER), ZERO)
    relaxed_store(signals, signal(number, PUSHED), ZERO)
    relaxed_store(signals, signal(number, IDLE), ZERO)


@kernel
def push(
    rows: Adjacency, packed: Packed, rounds: Rounds, thread: np.uint64, r: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Push an active row that the thread owns to its lowest column.

    Return the row that had the column, which the thread owns now, or NOBODY; and the number of pushes, 0 if
    all columns are dead.
    """
    words, dead = packed.words, dead_label(packed)
    first, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
    while True:
        # Find the columns with the lowest and the second lowest label.
        lowest, second, chosen, before = dead, dead, ZERO, ZERO
        e = first
        while e < end:
            c = np.uint64(rows.neighbour[e])
            word = np.uint64(relaxed_load(words, c))
            e += ONE
            h = word >> HALF
            if h < lowest:
                second = lowest
                lowest, chosen, before = h, c, word
                if h == ZERO:
                    second = ZERO  # the other columns may not have been read
                    break
            elif h < second:
                second = h
        rounds.counts[thread, ARC_SCANS] += e - first
        if lowest == dead:
            return NOBODY, ZERO
        # Take the column and raise its label in one step; try again if it has changed since.
        raised = min(second + ONE, dead)  # mutant: a-label-one-too-high
        delay(rounds.delays, thread)
        # mutant: who-had-the-column-is-looked-up-before
        if compare_exchange(words, chosen, before, raised << HALF | r):
            packed.population[thread, level_of(packed, lowest)] -= 1
            packed.population[thread, level_of(packed, raised)] += 1
            return before & NOBODY, ONE


@kernel
def push_share(
    rows: Adjacency, state: PushState, current: Round, base: np.uint64, size: np.uint64, most: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Push the thread's share of the active rows until the round is over; list the rows that are left.

    The `size` active rows begin at `base`. A round is over after `most` pushes of all threads, or when some
    of them have no row left. The share is a ring buffer in the list of active rows: its rows never become
    more. Return the number of rows in the buffer of the next list, and the number of pushes that the thread
    made.
    """
    packed, rounds, limits, signals = state.packed, state.rounds, state.limits, state.signals
    active, counts = packed.active, rounds.counts
    thread, number = current.thread, current.number
    begin, end = share_of(size, thread, rounds.num_threads)
    size = end - begin
    capacity, front, end = size, base + begin, base + end
    over = signal(number, OVER)
    pushes, reported, taken, augmented = ZERO, ZERO, ZERO, ZERO
    while size > ZERO and relaxed_load(signals, over) == ZERO:
        if size > ONE:
            prefetch_active(rows, packed.words, active, front, size, end, capacity, True)
        # Push the first row of the ring; a row that is displaced goes to its end.
        r = np.uint64(active[front])
        front = place(front + ONE, end, capacity)
        size -= ONE
        displaced, made = push(rows, packed, rounds, thread, r)
        pushes += made
        if displaced != NOBODY:
            active[place(front + size, end, capacity)] = displaced
            size += ONE
        else:
            augmented += made
        # Report pushes now and then, and end the round after enough.
        taken += ONE
        if taken >= limits.report:
            taken = ZERO
            made = pushes - reported
            reported = pushes
            before = np.uint64(fetch_add(signals, signal(number, PUSHED), made))
            if should_stop(rounds) or before + made >= most:
                relaxed_store(signals, over, ONE)
    if size == ZERO:
        counts[thread, WAITS] += ONE
    # Without rows: the round ends when enough threads are idle.
    if size == ZERO and capacity > ZERO:
        idle = np.uint64(fetch_add(signals, signal(number, IDLE), ONE)) + ONE
        if idle * IDLE_SHARE >= rounds.num_threads:
            relaxed_store(signals, over, ONE)
    counts[thread, PUSHES] += pushes
    counts[thread, AUGMENTATIONS] += augmented
    # List the rows that are left for the next round.
    waiting = ZERO
    while size > ZERO:  # mutant: a-row-that-is-left-at-the-end-of-a-round-is-forgotten
        waiting = append_item(rounds, current, active, waiting, np.uint64(active[front]))
        front = place(front + ONE, end, capacity)
        size -= ONE
    return waiting, pushes
