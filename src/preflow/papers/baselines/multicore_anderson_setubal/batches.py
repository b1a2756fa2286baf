"""A shared queue from which threads fetch batches of items, and to which they flush what they append.

Anderson and Setubal (1992), as described in Cihan (2010), chapter 3. A thread takes items one by one from
its own in-queue and appends them to its own out-queue. When its in-queue is empty it fetches a batch from
the shared queue; when its out-queue is full it flushes it to the shared queue. The shared queue has a lock,
which is taken once a batch. Each item is in at most one queue at a time, so a ring with room for all items
suffices.

A thread that finds the shared queue empty counts itself as idle under the same lock, when both its own
queues are empty. When all threads are counted, there is no item left and nobody who could append one.

Departures: a thread flushes before it fetches, so that one thread alone keeps the order of the items and
nothing waits in the out-queue of an idle thread; a batch is at most the thread's fair share of the shared
queue. Where few items are active, a fair share is one item, and threads wait for the lock most of the time.
So a thread keeps its out-queue as its next batch if that is at least a fair share and no thread is idle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ....arrays import Indices, Int64, Number
from ....kernels.atomics import PADDING, compare_exchange, relaxed_load, relaxed_store, store
from ....kernels.constants import ONE, ZERO
from ....kernels.kernel import kernel
from ....parallel.barrier import back_off
from ....solving.monitor import Monitor
from ....stats import WAITS

#: Positions in ``shared``.
LOCK, FRONT, SIZE, IDLE = 0, PADDING, PADDING + 1, PADDING + 2
#: Positions in a thread's row of ``ends``: the next item of the in-queue, its end, and the size of the
#: out-queue.
NEXT, END, OUT = np.uint64(0), np.uint64(1), np.uint64(2)


class Batches(NamedTuple):
    """A shared queue and the in- and out-queues of the threads."""

    ring: Indices  #: shape (number of distinct items,): the shared queue
    #: the LOCK of the shared queue; FRONT, where it begins; its SIZE; the number of threads that are IDLE
    shared: NDArray[np.uint64]
    #: shape (threads, size of a batch): the in-queue and the out-queue of each thread
    incoming: Indices
    outgoing: Indices
    ends: NDArray[np.uint64]  #: shape (threads, PADDING): NEXT, END and OUT of each thread


def make_batches(num_threads: int, num_items: int, batch: int, dtype: DTypeLike) -> Batches:
    """Return empty queues for `num_items` distinct items of `dtype`."""
    return Batches(
        np.zeros(max(1, num_items), dtype=dtype),
        np.zeros(2 * PADDING, dtype=np.uint64),
        np.zeros((num_threads, batch), dtype=dtype),
        np.zeros((num_threads, batch), dtype=dtype),
        np.zeros((num_threads, PADDING), dtype=np.uint64),
    )


@kernel
def clear(batches: Batches) -> None:
    """Empty all queues; one thread does so between two barriers."""
    batches.shared[:] = ZERO
    batches.ends[:, :] = ZERO


@kernel
def put(batches: Batches, item: Number) -> None:
    """Append an item to the shared queue, whose lock the caller holds or which nobody else uses."""
    size = batches.shared[SIZE]
    position = batches.shared[FRONT] + size
    num_items = np.uint64(len(batches.ring))
    batches.ring[position - num_items if position >= num_items else position] = item
    relaxed_store(batches.shared, SIZE, size + ONE)


@kernel
def acquire(batches: Batches, patience: Int64, monitor: Monitor) -> bool:
    """Take the lock of the shared queue; return False if the stop flag was raised before."""
    looks = 0
    while not compare_exchange(batches.shared, LOCK, ZERO, ONE):
        if relaxed_load(monitor.stop, ZERO) != 0:
            return False
        looks = back_off(looks, patience)
    return True


@kernel
def release(batches: Batches) -> None:
    """Release the lock of the shared queue."""
    store(batches.shared, LOCK, ZERO)


@kernel
def flush_locked(batches: Batches, thread: np.uint64) -> None:
    """Move the thread's out-queue to the shared queue, whose lock the thread holds."""
    k = ZERO
    while k < batches.ends[thread, OUT]:
        put(batches, batches.outgoing[thread, k])
        k += ONE
    batches.ends[thread, OUT] = ZERO


@kernel
def flush(batches: Batches, thread: np.uint64, patience: Int64, monitor: Monitor) -> bool:
    """Move the thread's out-queue to the shared queue; return False if the stop flag was raised before."""
    if not acquire(batches, patience, monitor):
        return False
    flush_locked(batches, thread)
    release(batches)
    return True


@kernel
def append(batches: Batches, thread: np.uint64, item: np.uint64, patience: Int64, monitor: Monitor) -> None:
    """Append an item that is in no queue to the thread's out-queue.

    The item is lost if the stop flag was raised.
    """
    if batches.ends[thread, OUT] == np.uint64(batches.outgoing.shape[1]) and not flush(
        batches, thread, patience, monitor
    ):
        return
    out = batches.ends[thread, OUT]
    batches.outgoing[thread, out] = item
    batches.ends[thread, OUT] = out + ONE


@kernel
def pop(batches: Batches, thread: np.uint64) -> np.uint64:
    """Take the oldest item of the thread's in-queue, which is not empty."""
    k = batches.ends[thread, NEXT]
    batches.ends[thread, NEXT] = k + ONE
    return np.uint64(batches.incoming[thread, k])


@kernel
def waiting(batches: Batches, thread: np.uint64) -> Number:
    """Return how many items the thread's in-queue has."""
    return batches.ends[thread, END] - batches.ends[thread, NEXT]


@kernel
def keeps(batches: Batches, thread: np.uint64, num_threads: np.uint64) -> bool:
    """Return whether a thread's out-queue becomes its next batch: it is a fair share, and nobody is idle."""
    out = batches.ends[thread, OUT]
    return bool(
        num_threads > ONE
        and out > ZERO
        and relaxed_load(batches.shared, IDLE) == ZERO
        and out * num_threads >= relaxed_load(batches.shared, SIZE)
    )


@kernel
def fetch(batches: Batches, thread: np.uint64, patience: Int64, monitor: Monitor) -> bool:
    """Fill the thread's empty in-queue: keep its out-queue, or flush it and fetch a batch; wait until it can.

    Return False if all threads are idle, so that no items are left, or the stop flag was raised.
    """
    num_threads = np.uint64(len(batches.incoming))
    shared, stop = batches.shared, monitor.stop
    if keeps(batches, thread, num_threads):
        k = ZERO
        while k < batches.ends[thread, OUT]:
            batches.incoming[thread, k] = batches.outgoing[thread, k]
            k += ONE
        batches.ends[thread, NEXT] = ZERO
        batches.ends[thread, END] = k
        batches.ends[thread, OUT] = ZERO
        return True
    idle = False
    looks = 0
    while relaxed_load(stop, ZERO) == 0 and acquire(batches, patience, monitor):
        flush_locked(batches, thread)  # mutant: the-out-queue-is-not-flushed-when-another-batch-is-fetched
        size = shared[SIZE]
        if size > ZERO:
            if idle:
                relaxed_store(shared, IDLE, shared[IDLE] - ONE)
            amount = min(np.uint64(batches.incoming.shape[1]), max(ONE, size // num_threads))
            front = shared[FRONT]
            k = ZERO
            while k < amount:
                batches.incoming[thread, k] = batches.ring[front]
                front = front + ONE if front + ONE < np.uint64(len(batches.ring)) else ZERO
                k += ONE
            shared[FRONT] = front
            relaxed_store(shared, SIZE, size - amount)
            release(batches)
            batches.ends[thread, NEXT] = ZERO
            batches.ends[thread, END] = amount
            return True
        if not idle:
            idle = True
            relaxed_store(shared, IDLE, shared[IDLE] + ONE)
            monitor.counts[WAITS] += ONE
        all_idle = shared[IDLE] == num_threads
        release(batches)
        if all_idle:
            return False
        while relaxed_load(shared, SIZE) == ZERO and relaxed_load(shared, IDLE) < num_threads:
            if relaxed_load(stop, ZERO) != 0:
                return False
            looks = back_off(looks, patience)
    return False
