"""Lists of items, one for each thread, with inboxes into which other threads put items without locks.

A thread's own list is first in, first out, and only that thread touches it. Items from other threads are
chained in the thread's inbox by compare-and-swap, and the thread takes the whole chain by one exchange. No
item is ever taken out of a chain singly, so it does no harm if an item leaves a chain and returns (the ABA
problem). Callers must see to it that an item is in one list at a time; so its link is free to use.

All work is settled when every list and inbox is empty and no thread works on an item. To detect this, each
thread counts the items it hands out, before others can see them, and publishes how many it has taken
whenever it has nothing left. :func:`all_settled` reads the settled counts first: if they equal the counts
handed out, which it reads later, nothing is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Indices, Number
from ..kernels.atomics import (
    PADDING,
    compare_exchange,
    exchange,
    fetch_add,
    load,
    relaxed_load,
    relaxed_store,
    store,
)
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..solving.dispatch import usable_cpus
from .barrier import SPINS, back_off

#: Positions in a thread's row of ``lists`` and of ``tally``.
FRONT, BACK, TAKEN = ZERO, ONE, TWO
HANDED_OUT, SETTLED = ZERO, ONE


class Inboxes(NamedTuple):
    """The lists of all threads. Items are numbers from 0 on, stored plus one, since 0 ends a list."""

    after: Indices  #: shape (items,): the item that comes after each item
    #: shape (threads * PADDING,): first and last item of each thread's own list, and how much the thread has
    #: taken: one for all it had at the start, and one for each item from its inbox
    lists: NDArray[np.uint64]
    #: shape (threads * PADDING,): the item that was put into each thread's inbox last
    boxes: NDArray[np.uint64]
    #: shape (threads * PADDING,): how much each thread has handed out, including the start, and how much it
    #: had taken when it last had nothing left
    tally: NDArray[np.int64]
    patience: NDArray[np.int64]  #: shape (1,): looks of an idle thread before it sleeps


def make_inboxes(num_threads: int, num_items: int, dtype: DTypeLike) -> Inboxes:
    """Return empty lists for items of `dtype`."""
    size = num_threads * PADDING
    return Inboxes(
        np.zeros(num_items, dtype=dtype),
        np.zeros(size, dtype=np.uint64),
        np.zeros(size, dtype=np.uint64),
        np.zeros(size, dtype=np.int64),
        np.array([SPINS if num_threads <= usable_cpus() else 0], dtype=np.int64),
    )


@kernel
def clear(inboxes: Inboxes, thread: np.uint64) -> None:
    """Empty the thread's list and inbox and reset its counts; all threads do so between two barriers."""
    row = thread * PADDING
    inboxes.lists[row + FRONT] = ZERO
    inboxes.lists[row + TAKEN] = ONE
    relaxed_store(inboxes.boxes, row, ZERO)
    relaxed_store(inboxes.tally, row + HANDED_OUT, 1)
    relaxed_store(inboxes.tally, row + SETTLED, 0)


@kernel
def is_empty(inboxes: Inboxes, thread: np.uint64) -> bool:
    """Return whether the thread's own list is empty."""
    return bool(inboxes.lists[thread * PADDING + FRONT] == ZERO)


@kernel
def append(inboxes: Inboxes, thread: np.uint64, item: np.uint64) -> None:
    """Append `item` to the thread's own list."""
    row = thread * PADDING
    if inboxes.lists[row + FRONT] == ZERO:
        inboxes.lists[row + FRONT] = item + ONE
    else:
        inboxes.after[inboxes.lists[row + BACK] - ONE] = item + ONE
    inboxes.lists[row + BACK] = item + ONE
    inboxes.after[item] = ZERO


@kernel
def pop(inboxes: Inboxes, thread: np.uint64) -> Number:
    """Take the first item of the thread's own list, which is not empty."""
    item = inboxes.lists[thread * PADDING + FRONT] - ONE
    inboxes.lists[thread * PADDING + FRONT] = np.uint64(inboxes.after[item])
    return item


@kernel
def send(inboxes: Inboxes, thread: np.uint64, other: np.uint64, item: np.uint64) -> None:
    """Put `item` into the inbox of another thread."""
    fetch_add(inboxes.tally, thread * PADDING + HANDED_OUT, 1)  # mutant: counts-what-others-can-see-already
    while True:
        first = np.uint64(relaxed_load(inboxes.boxes, other * PADDING))
        inboxes.after[item] = first
        if compare_exchange(inboxes.boxes, other * PADDING, first, item + ONE):
            return


@kernel
def receive(inboxes: Inboxes, thread: np.uint64) -> None:
    """Append the items of the thread's inbox to its own list."""
    row = thread * PADDING
    if relaxed_load(inboxes.boxes, row) == ZERO:
        return
    entry = np.uint64(exchange(inboxes.boxes, row, ZERO))
    while entry != ZERO:
        following = np.uint64(inboxes.after[entry - ONE])
        append(inboxes, thread, entry - ONE)
        inboxes.lists[row + TAKEN] += ONE
        entry = following


@kernel
def all_settled(inboxes: Inboxes, num_threads: np.uint64) -> bool:
    """Return whether none of the first `num_threads` threads has an item or may get one."""
    unsettled = np.int64(0)
    row = ZERO
    while row < num_threads * PADDING:
        unsettled -= load(inboxes.tally, row + SETTLED)
        row += PADDING
    while row > ZERO:
        row -= PADDING
        unsettled += load(inboxes.tally, row + HANDED_OUT)
    return bool(unsettled == 0)


@kernel
def wait_for_items(
    inboxes: Inboxes,
    thread: np.uint64,
    num_threads: np.uint64,
    over: NDArray[np.uint64],
    stop: NDArray[np.int64],
) -> bool:
    """Wait, with an empty list, until another thread sends items, and receive them.

    Returns False if all work is settled, or ``over[0]`` or ``stop[0]`` is not zero.
    """
    row = thread * PADDING
    store(inboxes.tally, row + SETTLED, np.int64(inboxes.lists[row + TAKEN]))
    looks = 0
    while relaxed_load(inboxes.boxes, row) == ZERO:
        if relaxed_load(over, ZERO) != 0 or relaxed_load(stop, ZERO) != 0:
            return False
        if all_settled(inboxes, num_threads):
            return False
        looks = back_off(looks, inboxes.patience[0])
    receive(inboxes, thread)
    return True
