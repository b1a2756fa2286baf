"""First-in-first-out queues, one for each thread, whose owners donate work to idle threads.

Cihan (2010), section 4.7; idle.py describes how a donor finds an idle thread.

Departures: a thread donates up to half of its queue, the oldest items, since a thread that gets one vertex
is soon idle again (measured: rmf-long 12x128 on 4 threads, 650 waits with donations of one vertex, 100 with
these); the caller may set a lower limit. A thread keeps its only item. A ring has room for a few times a
thread's fair share of the items and not for all of them, so that memory does not grow with the number of
threads. A thread that appends to a full ring learns of it from the return value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Indices, Number
from ..kernels.atomics import PADDING
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from .idle import Idle, announce_donation, claim_idle, make_busy, make_idle

#: Greatest number of items that are donated at once.
MOST_DONATED = np.uint64(64)
#: Room of a ring, as a multiple of a thread's fair share of all items.
ROOM = 4

#: Positions in a thread's row of ``ends``.
FRONT, BACK = np.uint64(0), np.uint64(1)


class Queues(NamedTuple):
    """The queues of all threads."""

    items: Indices  #: shape (threads, a power of two): one ring for each thread
    #: shape (threads, PADDING): how many items were ever taken from a ring and how many were ever appended to
    #: it
    ends: NDArray[np.uint64]
    idle: Idle


def make_queues(num_threads: int, num_items: int, dtype: DTypeLike) -> Queues:
    """Return empty queues that share `num_items` distinct items of `dtype`."""
    room = min(num_items, ROOM * (num_items // num_threads) + int(MOST_DONATED))
    capacity = 1 << max(0, room - 1).bit_length()
    return Queues(
        np.empty((num_threads, capacity), dtype=dtype),
        np.zeros((num_threads, PADDING), dtype=np.uint64),
        make_idle(num_threads),
    )


@kernel
def clear(queues: Queues, thread: np.uint64) -> None:
    """Empty the thread's queue and mark the thread as busy; all threads do so between two barriers."""
    queues.ends[thread, FRONT] = ZERO
    queues.ends[thread, BACK] = ZERO
    make_busy(queues.idle, thread)


@kernel
def size(queues: Queues, thread: np.uint64) -> Number:
    """Return how many items the thread's queue has."""
    return queues.ends[thread, BACK] - queues.ends[thread, FRONT]


@kernel
def append(queues: Queues, thread: np.uint64, item: np.uint64) -> bool:
    """Append `item` to the thread's queue; return False if the ring is full."""
    capacity = np.uint64(queues.items.shape[1])
    back = queues.ends[thread, BACK]
    if back - queues.ends[thread, FRONT] == capacity:
        return False
    queues.items[thread, back & (capacity - ONE)] = item
    queues.ends[thread, BACK] = back + ONE
    return True


@kernel
def pop(queues: Queues, thread: np.uint64) -> np.uint64:
    """Take the oldest item of the thread's queue, which is not empty."""
    front = queues.ends[thread, FRONT]
    queues.ends[thread, FRONT] = front + ONE
    return np.uint64(queues.items[thread, front & (np.uint64(queues.items.shape[1]) - ONE)])


@kernel
def donate(queues: Queues, thread: np.uint64, most: np.uint64) -> None:
    """Donate up to `most` of the oldest items to an idle thread, if there is one; keep half of the queue."""
    count = min(size(queues, thread) // TWO, most)
    if count == ZERO:
        return
    other = claim_idle(queues.idle, thread)
    if other == thread:
        return
    while count > ZERO:
        append(queues, other, pop(queues, thread))
        count -= ONE
    announce_donation(queues.idle, other)
