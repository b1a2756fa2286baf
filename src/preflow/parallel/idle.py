"""Idle threads and the donation of work to them, for containers that one thread owns each.

Cihan (2010), section 4.7. A thread whose container is empty raises its idle flag and waits for a donation.
A thread with work looks for a raised flag. The thread that lowers the flag, by fetch-and-store, has
*claimed* the idle thread: only it may fill that thread's container. So a container always has one writer
and needs no lock.

An idle thread is counted before it raises its flag. Its donor takes it out of the count before the donor
itself can be idle. So when all threads are counted as empty, all containers are empty and stay so. A thread
may also wait for better items than it has (NOT_EMPTY). It is not counted as empty, and may lower its own
flag and go on with what it has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Int64, Number
from ..kernels.atomics import PADDING, exchange, fetch_add, load, relaxed_load, relaxed_store, store
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.dispatch import usable_cpus
from .barrier import SPINS, back_off

#: Positions in a thread's row of ``flags``.
IDLE, DONATED = np.uint64(0), np.uint64(1)
#: Values of an idle flag. NOT_EMPTY: the thread waits, but its container is not empty.
BUSY, EMPTY, NOT_EMPTY = 0, 1, 2
#: Positions in ``num_idle``.
ALL_IDLE, ALL_EMPTY = np.uint64(0), np.uint64(1)


class Idle(NamedTuple):
    """Which threads wait for work."""

    #: shape (threads * PADDING,): whether a thread is idle, and whether it has received a donation since
    flags: NDArray[np.int64]
    #: shape (PADDING,): how many threads are idle, and how many of them are empty
    num_idle: NDArray[np.int64]
    num_threads: NDArray[np.uint64]  #: shape (1,)
    patience: NDArray[np.int64]  #: shape (1,): looks of an idle thread before it sleeps


def make_idle(num_threads: int) -> Idle:
    """Return the state in which all `num_threads` threads are busy."""
    return Idle(
        np.zeros(num_threads * PADDING, dtype=np.int64),
        np.zeros(PADDING, dtype=np.int64),
        np.array([num_threads], dtype=np.uint64),
        np.array([SPINS if num_threads <= usable_cpus() else 0], dtype=np.int64),
    )


@kernel
def make_busy(idle: Idle, thread: np.uint64) -> None:
    """Mark the thread as busy; all threads do so between two barriers."""
    relaxed_store(idle.flags, thread * PADDING + IDLE, 0)
    relaxed_store(idle.flags, thread * PADDING + DONATED, 0)
    if thread == ZERO:
        relaxed_store(idle.num_idle, ALL_IDLE, 0)
        relaxed_store(idle.num_idle, ALL_EMPTY, 0)


@kernel
def become_idle(idle: Idle, thread: np.uint64, kind: Int64) -> None:
    """Raise the thread's flag: it waits for a donation and is EMPTY or NOT_EMPTY."""
    relaxed_store(idle.flags, thread * PADDING + DONATED, 0)
    fetch_add(idle.num_idle, ALL_IDLE, 1)
    if kind == EMPTY:
        fetch_add(idle.num_idle, ALL_EMPTY, 1)
    store(idle.flags, thread * PADDING + IDLE, kind)


@kernel
def claim(idle: Idle, thread: Index) -> bool:
    """Lower the flag of a thread, which may be the caller itself; return False if another thread did."""
    kind = exchange(idle.flags, thread * PADDING + IDLE, BUSY)
    if kind == BUSY:
        return False
    fetch_add(idle.num_idle, ALL_IDLE, -1)
    if kind == EMPTY:
        fetch_add(idle.num_idle, ALL_EMPTY, -1)  # mutant: the-idle-thread-is-not-uncounted
    return True


@kernel
def claim_idle(idle: Idle, thread: np.uint64) -> Number:
    """Claim an idle thread and return its number; return `thread` itself if no thread is idle."""
    if relaxed_load(idle.num_idle, ALL_IDLE) == 0:
        return thread
    num_threads = idle.num_threads[0]
    step = ONE
    while step < num_threads:
        other = (thread + step) % num_threads
        if relaxed_load(idle.flags, other * PADDING + IDLE) != BUSY and claim(idle, other):
            return other
        step += ONE
    return thread


@kernel
def announce_donation(idle: Idle, other: np.uint64) -> None:
    """Tell thread `other`, which the caller has claimed, that its container is filled."""
    store(idle.flags, other * PADDING + DONATED, 1)


@kernel
def has_donation(idle: Idle, thread: np.uint64) -> bool:
    """Return whether the thread has received a donation since it became idle."""
    return bool(load(idle.flags, thread * PADDING + DONATED) != 0)


@kernel
def all_empty(idle: Idle) -> bool:
    """Return whether no thread has anything left, so that no donation will come."""
    return bool(load(idle.num_idle, ALL_EMPTY) == np.int64(idle.num_threads[0]))


@kernel
def wait_for_donation(
    idle: Idle, thread: np.uint64, over: NDArray[np.uint64], stop: NDArray[np.int64]
) -> bool:
    """Wait, with an empty container, until another thread donates items.

    Return False if all threads are idle, or ``over[0]`` or ``stop[0]`` is not zero. A donation may still
    arrive then: the containers must not be used until they are cleared after the next barrier.
    """
    become_idle(idle, thread, EMPTY)
    looks = 0
    while not has_donation(idle, thread):
        if all_empty(idle):
            return False
        if relaxed_load(over, ZERO) != 0 or relaxed_load(stop, ZERO) != 0:
            return False
        looks = back_off(looks, idle.patience[0])
    return True
