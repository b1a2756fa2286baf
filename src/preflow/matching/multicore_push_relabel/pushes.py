"""A round of pushes of :mod:`.multicore_push_relabel`: threads push rows that they hold, until it is over."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.bipartite import Adjacency
from ...kernels.atomics import PADDING, compare_exchange, fetch_add, relaxed_load, relaxed_store
from ...kernels.kernel import kernel
from ...parallel.delays import delay
from ...parallel.team import share_of
from ...stats import ARC_SCANS, AUGMENTATIONS, PUSHES, WAITS
from ..packed_columns import HALF, NOBODY, Packed, dead_label, level_of
from ..serial_push_relabel import place, prefetch_active
from ..thread_rounds import Rounds, append_item, should_stop

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO, THREE = np.uint64(2), np.uint64(3)
#: A round also ends when one in so many threads has no row left.
IDLE_SHARE = np.uint64(4)
#: Positions in a round's set of signals: the round is over, pushes, threads without rows.
OVER, PUSHED, IDLE = ZERO, PADDING, TWO * PADDING
SET = THREE * PADDING
#: Entries of all sets: three take turns, as in rounds.py.
SIGNALS = int(THREE * SET)


class Limits(NamedTuple):
    """After how many pushes what is due.

    Attributes
    ----------
    relabel, round : uint64
        A global relabel, and the end of a round; of all threads.
    report : uint64
        Adding pushes, or rows without one, to the total; of one thread.
    search, few : uint64
        Searches, of all threads, with fewer than `few` active rows.
    """

    relabel: Any
    round: Any
    report: Any
    search: Any
    few: Any


class State(NamedTuple):
    """What the threads share beside the graph and the matching.

    Attributes
    ----------
    packed : Packed
    rounds : Rounds
        A round is one of pushes, or a level of a global relabel.
    signals : ndarray of uint64
        Of three rounds: it is over; pushes in it; threads whose rows have run out.
    limits : Limits
    """

    packed: Packed
    rounds: Rounds
    signals: NDArray[Any]
    limits: Limits


@kernel
def signal(number: Any, which: Any) -> Any:
    """Return where a signal of a round is: three sets take turns, as in rounds.py."""
    return (number % THREE) * SET + which


@kernel
def clear_signals(signals: Any, number: Any) -> None:
    """Reset the signals of a round that nobody is in."""
    relaxed_store(signals, signal(number, OVER), ZERO)
    relaxed_store(signals, signal(number, PUSHED), ZERO)
    relaxed_store(signals, signal(number, IDLE), ZERO)


@kernel
def push(rows: Adjacency, packed: Packed, rounds: Rounds, thread: Any, r: Any) -> tuple[Any, Any]:
    """Push an active row that the thread holds to its lowest column.

    Returns
    -------
    displaced, pushes
        The row that had the column, which the thread holds now, or NOBODY; 0 pushes if all columns are dead.
    """
    words, dead = packed.words, dead_label(packed)
    first, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
    while True:
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
                    second = ZERO  # the others may not have been looked at
                    break
            elif h < second:
                second = h
        rounds.counts[thread, ARC_SCANS] += e - first
        if lowest == dead:
            return NOBODY, ZERO
        raised = min(second + ONE, dead)
        delay(rounds.delays, thread)
        if compare_exchange(words, chosen, before, raised << HALF | r):
            packed.population[thread, level_of(packed, lowest)] -= 1
            packed.population[thread, level_of(packed, raised)] += 1
            return before & NOBODY, ONE


@kernel
def push_share(
    rows: Adjacency, state: State, thread: Any, number: Any, base: Any, size: Any, most: Any
) -> tuple[Any, Any]:
    """Push the thread's share of the active rows until the round is over; list those that are left.

    It is after `most` pushes of all threads, or where some of them have no row left.

    The share is a ring, since there are never more of them.

    Returns
    -------
    waiting, pushes
        How many rows wait to be listed, in the other half; the pushes that the thread made.
    """
    packed, rounds, limits, signals = state.packed, state.rounds, state.limits, state.signals
    active, counts = packed.active, rounds.counts
    begin, end = share_of(size, thread, rounds.num_threads)
    size = end - begin
    capacity, front, end = size, base + begin, base + end
    over = signal(number, OVER)
    pushes, reported, taken, augmented = ZERO, ZERO, ZERO, ZERO
    while size > ZERO and relaxed_load(signals, over) == ZERO:
        if size > ONE:
            prefetch_active(rows, packed.words, active, front, size, end, capacity, True)
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
    if size == ZERO and capacity > ZERO:
        idle = np.uint64(fetch_add(signals, signal(number, IDLE), ONE)) + ONE
        if idle * IDLE_SHARE >= rounds.num_threads:
            relaxed_store(signals, over, ONE)
    counts[thread, PUSHES] += pushes
    counts[thread, AUGMENTATIONS] += augmented
    waiting, other = ZERO, np.uint64(len(active)) // TWO - base
    while size > ZERO:
        waiting = append_item(rounds, thread, number, active, other, waiting, np.uint64(active[front]))
        front = place(front + ONE, end, capacity)
        size -= ONE
    return waiting, pushes
