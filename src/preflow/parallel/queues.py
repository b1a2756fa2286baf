"""First-in-first-out queues, one a thread, whose owners give work to threads that have none.

Cihan (2010), section 4.7. A thread whose queue is empty raises its idle flag and waits. A thread with work
looks for such a flag; who lowers it by fetch-and-store is the only one that may fill the idle thread's
queue, and hands over its own oldest items. So a queue always has one writer and needs no lock.

An idle thread is counted before its flag is up, and uncounted by its giver before that one can be idle
itself: when all are counted, all queues are empty and stay so.

Departures: a gift is up to half of the giver's queue, since a thread that gets one vertex is soon idle again
(measured: rmf-long 12x128 on 4 threads, 650 waits with gifts of one vertex, 100 with these). A ring holds a
few times a thread's fair share and not every item, so that memory does not grow with the threads; who appends
to a full one is told so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import exchange, fetch_add, load, relaxed_load, relaxed_store, store
from ..kernels.kernel import kernel
from ..solving.dispatch import usable_cpus
from .barrier import SPINS, rest

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: Entries between what different threads write: two cache lines.
PADDING = np.uint64(16)
#: Items that are given at once, at most.
GIFT = np.uint64(64)
#: How many times its fair share of all items a ring holds.
ROOM = 4

#: Positions in a thread's row of ``ends`` and of ``flags``.
FRONT, BACK = np.uint64(0), np.uint64(1)
IDLE, GIVEN = np.uint64(0), np.uint64(1)


class Queues(NamedTuple):
    """The queues of a team.

    Attributes
    ----------
    items : ndarray, shape (threads, a power of two)
        One ring a thread.
    ends : ndarray of uint64, shape (threads, PADDING)
        How many items were ever taken from a ring and ever appended to it.
    flags : ndarray of int64, shape (threads * PADDING,)
        Whether a thread is idle, and whether it was given items since.
    num_idle : ndarray of int64, shape (PADDING,)
    patience : ndarray of int64, shape (1,)
        Looks of an idle thread before it sleeps.
    """

    items: NDArray[Any]
    ends: NDArray[Any]
    flags: NDArray[Any]
    num_idle: NDArray[Any]
    patience: NDArray[Any]


def make_queues(num_threads: int, num_items: int, dtype: Any) -> Queues:
    """Return empty queues that share `num_items` distinct items of `dtype`."""
    room = min(num_items, ROOM * (num_items // num_threads) + int(GIFT))
    capacity = 1 << max(0, room - 1).bit_length()
    return Queues(
        np.empty((num_threads, capacity), dtype=dtype),
        np.zeros((num_threads, int(PADDING)), dtype=np.uint64),
        np.zeros(num_threads * int(PADDING), dtype=np.int64),
        np.zeros(int(PADDING), dtype=np.int64),
        np.array([SPINS if num_threads <= usable_cpus() else 0], dtype=np.int64),
    )


@kernel
def clear(queues: Queues, thread: Any) -> None:
    """Empty a thread's queue and make the thread busy; all threads do so between two barriers."""
    queues.ends[thread, FRONT] = ZERO
    queues.ends[thread, BACK] = ZERO
    relaxed_store(queues.flags, thread * PADDING + IDLE, 0)
    relaxed_store(queues.flags, thread * PADDING + GIVEN, 0)
    if thread == ZERO:
        relaxed_store(queues.num_idle, ZERO, 0)


@kernel
def size(queues: Queues, thread: Any) -> Any:
    """Return how many items the thread's queue holds."""
    return queues.ends[thread, BACK] - queues.ends[thread, FRONT]


@kernel
def append(queues: Queues, thread: Any, item: Any) -> bool:
    """Put `item` at the end of the thread's queue; False if the ring is full."""
    capacity = np.uint64(queues.items.shape[1])
    back = queues.ends[thread, BACK]
    if back - queues.ends[thread, FRONT] == capacity:
        return False
    queues.items[thread, back & (capacity - ONE)] = item
    queues.ends[thread, BACK] = back + ONE
    return True


@kernel
def pop(queues: Queues, thread: Any) -> Any:
    """Take the oldest item of the thread's queue, which is not empty."""
    front = queues.ends[thread, FRONT]
    queues.ends[thread, FRONT] = front + ONE
    return np.uint64(queues.items[thread, front & (np.uint64(queues.items.shape[1]) - ONE)])


@kernel
def give(queues: Queues, thread: Any) -> None:
    """Hand the oldest items to an idle thread, if there is one and the queue has more than one item."""
    if relaxed_load(queues.num_idle, ZERO) == 0 or size(queues, thread) < TWO:
        return
    num_threads = np.uint64(len(queues.items))
    step = ONE
    while step < num_threads:
        other = (thread + step) % num_threads
        flag = other * PADDING + IDLE
        if relaxed_load(queues.flags, flag) == 1 and exchange(queues.flags, flag, 0) == 1:
            fetch_add(queues.num_idle, ZERO, -1)
            count = min(size(queues, thread) // TWO, GIFT)
            while count > ZERO:
                append(queues, other, pop(queues, thread))
                count -= ONE
            store(queues.flags, other * PADDING + GIVEN, 1)
            return
        step += ONE


@kernel
def wait_for_gift(queues: Queues, thread: Any, over: Any, stop: Any) -> bool:
    """Wait, with an empty queue, until another thread gives items.

    Returns
    -------
    given : bool
        False if all threads are idle, or ``over[0]`` or ``stop[0]`` is not zero. Then a gift may still
        arrive: nobody uses the queues until they are cleared after the next barrier.
    """
    num_threads = np.int64(len(queues.items))
    given = thread * PADDING + GIVEN
    relaxed_store(queues.flags, given, 0)
    fetch_add(queues.num_idle, ZERO, 1)
    store(queues.flags, thread * PADDING + IDLE, 1)
    looks = 0
    while load(queues.flags, given) == 0:
        if load(queues.num_idle, ZERO) == num_threads:
            return False
        if relaxed_load(over, ZERO) != 0 or relaxed_load(stop, ZERO) != 0:
            return False
        looks = rest(looks, queues.patience[0])
    return True
