"""Rounds of several threads: each takes items from one list, appends to the next, and ends at a barrier.

A thread takes a few items at a time by one fetch-and-add, and appends through its own buffer
(parallel/worklist.py). Each round has a set of shared counters. There are three sets, used in turn: a late
thread may still read the set of the last round while others count in this one, and the third is reset for the
next round.

Two phrases in the docstrings of solvers: a *collective* function is called by all threads at the same
point and contains a barrier; a function for *one thread's share* is called by all threads, does its part of
the work, and has no barrier.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Index, Indices
from ..kernels.atomics import PADDING, fetch_add, relaxed_load, relaxed_store
from ..kernels.constants import ONE, THREE, ZERO
from ..kernels.kernel import kernel
from ..solving.run import Control
from .barrier import make_barrier, wait
from .worklist import Worklist, append, appended, begin_phase, flush, make_worklist

#: A thread takes at most MOST_ITEMS items at a time, and so few that it comes about TURNS times a round: the
#: work of an item varies much.
MOST_ITEMS = np.uint64(64)
TURNS = np.uint64(64)
#: Positions in a round's set of ``shared``: number of items taken; sum of the threads' amounts; whether to
#: stop; a value that one thread publishes to the others.
TAKEN, AMOUNT, STOPPED, BROADCAST = ZERO, PADDING, PADDING + ONE, PADDING + np.uint64(2)
#: Entries of a set.
SET = np.uint64(2) * PADDING


class Rounds(NamedTuple):
    """The state that the threads of a solve share to work in rounds."""

    num_threads: np.uint64
    worklist: Worklist
    shared: NDArray[np.int64]  #: the counters of three rounds
    barrier: NDArray[np.int64]
    stop: NDArray[np.int64]
    counts: NDArray[np.uint64]
    progress: NDArray[np.float64]
    #: random delays for stress tests, see parallel/delays.py
    delays: NDArray[np.uint64] | None = None


class Round(NamedTuple):
    """One thread's part in a round."""

    thread: np.uint64
    number: np.uint64  #: the number of the round
    base: np.uint64  #: where the list begins to which the round appends


def make_rounds(control: Control, dtype: DTypeLike) -> Rounds:
    """Return the state before round 0, for lists of dtype `dtype`."""
    return Rounds(
        num_threads=np.uint64(control.threads),
        worklist=make_worklist(control.threads, dtype),
        shared=np.zeros(int(THREE * SET), dtype=np.int64),
        barrier=make_barrier(control.threads),
        stop=control.stop,
        counts=control.thread_counts,
        progress=control.progress,
        delays=control.delays,
    )


@kernel
def should_stop(rounds: Rounds) -> bool:
    """Whether the solve was asked to stop."""
    return bool(relaxed_load(rounds.stop, ZERO) != 0)


@kernel
def counters_of(number: np.uint64) -> np.uint64:
    """Return the position of a round's set of counters."""
    return (number % THREE) * SET


@kernel
def start_round(rounds: Rounds, thread: Index, number: np.uint64, base: np.uint64) -> Round:
    """Return the thread's part in a round that appends from `base` on; reset the counters of the next one."""
    if thread == ZERO:
        begin_phase(rounds.worklist, number)
        following = counters_of(number + ONE)
        relaxed_store(rounds.shared, following + TAKEN, 0)
        relaxed_store(rounds.shared, following + AMOUNT, 0)
        relaxed_store(rounds.shared, following + STOPPED, 0)
    return Round(np.uint64(thread), number, base)


@kernel
def take_items(rounds: Rounds, current: Round, size: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the begin and the end of a range of a round's `size` items that belongs to this thread alone.

    The range is empty when all items are taken, or when the solve is to stop.
    """
    if should_stop(rounds):
        return size, size
    count = min(MOST_ITEMS, size // (TURNS * rounds.num_threads) + ONE)
    begin = np.uint64(fetch_add(rounds.shared, counters_of(current.number) + TAKEN, count))
    if begin >= size:
        return size, size
    return begin, min(begin + count, size)


@kernel
def append_item(
    rounds: Rounds, current: Round, items: Indices, waiting: np.uint64, item: np.uint64
) -> np.uint64:
    """Append to the round's list, which is a part of `items`; return the number of items in the buffer."""
    return append(rounds.worklist, current.number, items, current.base, current.thread, waiting, item)


@kernel
def end_round(
    rounds: Rounds, current: Round, items: Indices, waiting: np.uint64, amount: np.uint64
) -> tuple[bool, np.uint64, np.uint64]:
    """Write out the buffer and wait for the other threads. Collective.

    Return False if the solve is to stop, the same for all threads; the number of items that the round
    appended; and the sum of the `amount` of all threads.
    """
    number = current.number
    flush(rounds.worklist, number, items, current.base, current.thread, waiting)
    at = counters_of(number)
    if amount > ZERO:
        fetch_add(rounds.shared, at + AMOUNT, amount)
    if should_stop(rounds):
        relaxed_store(rounds.shared, at + STOPPED, 1)
    if not wait(rounds.barrier, rounds.num_threads) or relaxed_load(rounds.shared, at + STOPPED) != 0:
        return False, ZERO, ZERO
    total = np.uint64(relaxed_load(rounds.shared, at + AMOUNT))
    return True, appended(rounds.worklist, number), total
