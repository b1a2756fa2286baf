"""Passes over a large array by several threads: fill a new array, count in one.

One thread takes a millisecond for a million numbers if their memory is new or was last written by other
cores. In a solve of twenty milliseconds that matters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Array, Indices
from ..kernels.atomics import PADDING
from ..kernels.kernel import kernel
from .thread_pool import in_pool, run_natively, share_of

#: Number of entries from which on several threads are worth starting; one thread takes some 0.05 ms for them.
MANY = 2**17


class Filling(NamedTuple):
    """An array, the value to fill it with, and the number of threads."""

    array: Indices
    value: np.uint32
    num_threads: np.uint64


class Counting(NamedTuple):
    """An array, a limit for its entries, the count of each thread, and the number of threads."""

    array: Indices
    limit: np.uint32
    counts: NDArray[np.int64]
    num_threads: np.uint64


@kernel
def fill_share(thread: np.uint64, filling: Filling) -> None:
    """Fill the thread's share of an array."""
    k, end = share_of(np.uint64(len(filling.array)), thread, filling.num_threads)
    while k < end:
        filling.array[k] = filling.value
        k += np.uint64(1)


fill_together = in_pool("fill_together", fill_share)


@kernel
def count_share(thread: np.uint64, counting: Counting) -> None:
    """Count in the thread's share of an array."""
    k, end = share_of(np.uint64(len(counting.array)), thread, counting.num_threads)
    found = np.int64(0)
    while k < end:
        found += np.int64(counting.array[k] < counting.limit)
        k += np.uint64(1)
    counting.counts[thread * PADDING] = found


count_together = in_pool("count_together", count_share)


def filled(size: int, value: int, dtype: DTypeLike, threads: int) -> Array:
    """Return a new array filled with a number, by up to `threads` threads."""
    if threads == 1 or size < MANY:
        return np.full(size, value, dtype=dtype)
    array = np.empty(size, dtype=dtype)
    filling = Filling(array, array.dtype.type(value), np.uint64(threads))
    run_natively(fill_together, filling, threads)
    return array


def count_below(array: Array, limit: int, threads: int) -> int:
    """Return how many unsigned numbers of an array are below a limit, counted by up to `threads` threads."""
    if threads == 1 or len(array) < MANY:
        return int(np.count_nonzero(array < limit))
    counts = np.zeros(threads * int(PADDING), dtype=np.int64)
    run_natively(
        count_together,
        Counting(array, array.dtype.type(limit), counts, np.uint64(threads)),
        threads,
    )
    return int(counts.sum())
