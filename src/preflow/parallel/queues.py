"""First-in-first-out queues, one a thread, whose owners give work to threads that have none.

Cihan (2010), section 4.7; see idle.py for how a thread without work is found.

Departures: a gift is up to half of the giver's queue, its oldest items, since a thread that gets one vertex
is soon idle again (measured: rmf-long 12x128 on 4 threads, 650 waits with gifts of one vertex, 100 with
these). A ring holds a few times a thread's fair share and not every item, so that memory does not grow with
the threads; who appends to a full one is told so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING
from ..kernels.kernel import kernel
from .idle import Idle, claim_idle, make_busy, make_idle, say_given

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: Items that are given at once, at most.
GIFT = np.uint64(64)
#: How many times its fair share of all items a ring holds.
ROOM = 4

#: Positions in a thread's row of ``ends``.
FRONT, BACK = np.uint64(0), np.uint64(1)


class Queues(NamedTuple):
    """The queues of a team.

    Attributes
    ----------
    items : ndarray, shape (threads, a power of two)
        One ring a thread.
    ends : ndarray of uint64, shape (threads, PADDING)
        How many items were ever taken from a ring and ever appended to it.
    idle : Idle
    """

    items: NDArray[Any]
    ends: NDArray[Any]
    idle: Idle


def make_queues(num_threads: int, num_items: int, dtype: Any) -> Queues:
    """Return empty queues that share `num_items` distinct items of `dtype`."""
    room = min(num_items, ROOM * (num_items // num_threads) + int(GIFT))
    capacity = 1 << max(0, room - 1).bit_length()
    return Queues(
        np.empty((num_threads, capacity), dtype=dtype),
        np.zeros((num_threads, PADDING), dtype=np.uint64),
        make_idle(num_threads),
    )


@kernel
def clear(queues: Queues, thread: Any) -> None:
    """Empty a thread's queue and make the thread busy; all threads do so between two barriers."""
    queues.ends[thread, FRONT] = ZERO
    queues.ends[thread, BACK] = ZERO
    make_busy(queues.idle, thread)


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
    count = min(size(queues, thread) // TWO, GIFT)
    if count == ZERO:
        return
    other = claim_idle(queues.idle, thread)
    if other == thread:
        return
    while count > ZERO:
        append(queues, other, pop(queues, thread))
        count -= ONE
    say_given(queues.idle, other)
