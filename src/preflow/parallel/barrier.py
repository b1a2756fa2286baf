"""A barrier for kernels: no thread leaves before the last one has arrived.

The barrier is sense-reversing. Its sense is a generation number that the last thread advances, so a fast
thread that arrives again cannot slip through the previous generation.

A waiting thread spins first and then sleeps, since there may be fewer cores than threads, or other programs
that need the core. The barrier adapts how long a thread spins, its *patience*. If a wait went on long after
the thread fell asleep, another program had a core and spinning was wasted. If the wait was nearly over, the
thread should have gone on spinning.

A thread that fails breaks the barrier. A broken barrier stops nobody: the kernels of the other threads see
it and return.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ..arrays import Int64
from ..kernels.atomics import PADDING, fetch_add, load, pause, relaxed_load, relaxed_store, store
from ..kernels.clock import now
from ..kernels.kernel import kernel
from ..kernels.overloads import numba_overloads
from ..solving.dispatch import usable_cpus

#: Looks before an idle thread sleeps, if every thread has a core; see idle.py.
SPINS = 2000
#: Least and greatest patience, in looks; it starts at the greatest.
FEWEST_SPINS, MOST_SPINS = 200, 20000
#: Nanoseconds. A shorter sleep was a mistake, a longer one was not. A sleep takes at least 50,000. Where
#: another process had the core of a thread, 9 of 10 waits on a busy EPYC went on for 200,000 to 800,000.
SHORT_SLEEP, LONG_SLEEP = 120_000, 200_000
#: Microseconds that a thread sleeps between two looks; the operating system adds some 50.
SLEEP_MICROSECONDS = np.uint32(1)

ARRIVED = 0
GENERATION = PADDING
BROKEN = 2 * PADDING
PATIENCE = BROKEN + 1

numba_overloads(__name__)


def sleep() -> None:
    """Sleep for a moment, so that another thread can have the core."""
    time.sleep(float(SLEEP_MICROSECONDS) * 1e-6)


def make_barrier(num_threads: int) -> NDArray[np.int64]:
    """Return a new barrier for `num_threads` threads."""
    barrier = np.zeros(3 * PADDING, dtype=np.int64)
    barrier[PATIENCE] = MOST_SPINS if num_threads <= usable_cpus() else 0
    return barrier


@kernel
def back_off(looks: int, patience: Int64) -> int:
    """Wait a moment before the next look at what another thread may change; return the number of looks.

    The thread spins for the first `patience` looks and sleeps between later ones.
    """
    if looks < patience:
        pause()
        return looks + 1
    sleep()
    return looks


@kernel
def back_off_timed(looks: int, patience: Int64, asleep_since: np.int64) -> tuple[int, np.int64]:
    """Back off, and return when the first sleep began; `asleep_since` is 0 before it."""
    if looks == patience and patience > 0 and asleep_since == 0:
        asleep_since = np.int64(now())
    return back_off(looks, patience), asleep_since


@kernel
def adapt_patience(barrier: NDArray[np.int64], patience: Int64, slept: Int64) -> None:
    """Set the patience of later waits after a wait that went on for `slept` nanoseconds of sleep."""
    if slept < SHORT_SLEEP:
        relaxed_store(barrier, PATIENCE, min(2 * patience, MOST_SPINS))
    elif slept > LONG_SLEEP:
        relaxed_store(barrier, PATIENCE, max(patience // 2, FEWEST_SPINS))


@kernel
def wait(barrier: NDArray[np.int64], num_threads: np.uint64) -> bool:
    """Wait for all `num_threads` threads; return False if the barrier is broken.

    After the barrier every thread sees what all have written before it. After the next barrier a thread may
    overwrite what others read before that one.
    """
    generation = load(barrier, GENERATION)
    if fetch_add(barrier, ARRIVED, 1) == num_threads - 1:
        relaxed_store(barrier, ARRIVED, 0)
        store(barrier, GENERATION, generation + 1)
        return bool(load(barrier, BROKEN) == 0)
    patience = relaxed_load(barrier, PATIENCE)
    looks = 0
    asleep_since = np.int64(0)
    # mutant: does-not-wait-for-a-generation, waits-for-the-count-which-the-next-round-changes
    while load(barrier, GENERATION) == generation:
        if relaxed_load(barrier, BROKEN) != 0:  # mutant: does-not-look-whether-it-is-broken
            return False
        looks, asleep_since = back_off_timed(looks, patience, asleep_since)
    if asleep_since != 0:
        adapt_patience(barrier, patience, np.int64(now()) - asleep_since)
    return bool(load(barrier, BROKEN) == 0)


def break_barrier(barrier: NDArray[np.int64]) -> None:
    """Let all threads through, now and from now on."""
    barrier[BROKEN] = 1
