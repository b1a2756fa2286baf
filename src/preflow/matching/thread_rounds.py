"""Rounds of a team: each takes items from one list and makes another, and ends at a barrier.

A thread takes a few items at once by a fetch-and-add, and appends through a buffer of its own
(parallel/worklist.py). Counters are three sets that take turns, since a thread that is late may still read
those of the last round while others count this one; each round resets the set of the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, fetch_add, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from ..parallel.barrier import make_barrier, wait
from ..parallel.worklist import Worklist, append, appended, begin_phase, flush, make_worklist
from ..solving.run import Control

ZERO = np.uint64(0)
ONE = np.uint64(1)
THREE = np.uint64(3)
#: Items that a thread takes at once, at most, and about how many times each thread comes for some: the work
#: that an item makes varies much.
MOST_ITEMS = np.uint64(64)
TURNS = np.uint64(64)
#: Positions in a round's set of ``shared``: items taken, what the threads count together, whether to stop,
#: and what one thread tells the others.
TAKEN, AMOUNT, STOPPED, TOLD = ZERO, PADDING, PADDING + ONE, PADDING + np.uint64(2)
#: Entries of a set.
SET = np.uint64(2) * PADDING


class Rounds(NamedTuple):
    """What the threads of a team share to work in rounds.

    Attributes
    ----------
    num_threads : uint64
    worklist : Worklist
    shared : ndarray of int64
        The counters of three rounds.
    barrier, stop, counts, progress : ndarray
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    num_threads: Any
    worklist: Worklist
    shared: NDArray[Any]
    barrier: NDArray[Any]
    stop: NDArray[Any]
    counts: NDArray[Any]
    progress: NDArray[Any]
    delays: Any = None


def make_rounds(control: Control, dtype: Any) -> Rounds:
    """Return the state before round 0, for lists of `dtype`."""
    return Rounds(
        num_threads=np.uint64(control.threads),
        worklist=make_worklist(control.threads, dtype),
        shared=np.zeros(int(THREE * SET), dtype=np.int64),
        barrier=make_barrier(control.threads),
        stop=control.stop,
        counts=control.thread_counts,
        progress=control.excess,
        delays=control.delays,
    )


@kernel
def should_stop(rounds: Rounds) -> bool:
    """Whether the solve was asked to stop."""
    return bool(relaxed_load(rounds.stop, ZERO) != 0)


@kernel
def set_of(number: Any) -> Any:
    """Return where the counters of a round are."""
    return (number % THREE) * SET


@kernel
def start_round(rounds: Rounds, thread: Any, number: Any) -> None:
    """Reset the counters that the next round will use."""
    if thread == ZERO:
        begin_phase(rounds.worklist, number)
        following = set_of(number + ONE)
        relaxed_store(rounds.shared, following + TAKEN, 0)
        relaxed_store(rounds.shared, following + AMOUNT, 0)
        relaxed_store(rounds.shared, following + STOPPED, 0)


@kernel
def take(rounds: Rounds, number: Any, size: Any) -> tuple[Any, Any]:
    """Return the begin and end of some of a round's `size` items that no other thread takes.

    None are left if the solve is to stop.
    """
    if should_stop(rounds):
        return size, size
    count = min(MOST_ITEMS, size // (TURNS * rounds.num_threads) + ONE)
    begin = np.uint64(fetch_add(rounds.shared, set_of(number) + TAKEN, count))
    if begin >= size:
        return size, size
    return begin, min(begin + count, size)


@kernel
def keep(rounds: Rounds, thread: Any, number: Any, items: Any, base: Any, waiting: Any, item: Any) -> Any:
    """Append to the list that begins at ``items[base]``; return how many items wait in the buffer."""
    return append(rounds.worklist, number, items, base, thread, waiting, item)


@kernel
def end_round(
    rounds: Rounds, thread: Any, number: Any, items: Any, base: Any, waiting: Any, amount: Any
) -> tuple[bool, Any, Any]:
    """Meet the others.

    Returns
    -------
    go_on, size, total
        False if the solve is to stop, the same for all threads; how many items the round appended, and the
        sum of all amounts.
    """
    flush(rounds.worklist, number, items, base, thread, waiting)
    at = set_of(number)
    if amount > ZERO:
        fetch_add(rounds.shared, at + AMOUNT, amount)
    if should_stop(rounds):
        relaxed_store(rounds.shared, at + STOPPED, 1)
    if not wait(rounds.barrier, rounds.num_threads) or relaxed_load(rounds.shared, at + STOPPED) != 0:
        return False, ZERO, ZERO
    total = np.uint64(relaxed_load(rounds.shared, at + AMOUNT))
    return True, appended(rounds.worklist, number), total
