"""Prefix sums by several threads together.

Each thread adds up a share of the array. When all have, it adds up the sums of the shares before its own
and writes the prefix sums of its entries. That is two passes over the array; one of them only reads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Integers
from ..kernels.atomics import PADDING
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .barrier import wait
from .thread_pool import share_of


def make_sums(num_threads: int) -> NDArray[np.uint64]:
    """Return scratch for the prefix sums of `num_threads` threads: the sum of each thread's share."""
    return np.zeros(num_threads * PADDING, dtype=np.uint64)


@kernel
def exclusive_scan_together(
    barrier: NDArray[np.int64], sums: NDArray[np.uint64], thread: np.uint64, array: Integers
) -> np.uint64:
    """Replace every entry by the sum of the entries before it; return the sum of all.

    That has to fit uint64. All threads call it at the same time, after a barrier if others wrote to the
    thread's share (see :func:`preflow.parallel.thread_pool.share_of`); it ends with a barrier. `barrier` and
    `sums` come from :func:`preflow.parallel.barrier.make_barrier` and :func:`make_sums`. O(n / threads +
    threads) time; two barriers.
    """
    num_threads = np.uint64(len(sums)) // PADDING
    begin, end = share_of(np.uint64(len(array)), thread, num_threads)
    total = ZERO
    k = begin
    while k < end:
        total += np.uint64(array[k])
        k += ONE
    sums[thread * PADDING] = total
    if not wait(barrier, num_threads):  # mutant: no-barrier-before-the-sums-are-read
        return ZERO
    before = ZERO
    total = ZERO
    other = ZERO
    while other < num_threads:
        if other == thread:
            before = total
        total += sums[other * PADDING]
        other += ONE
    k = begin
    while k < end:
        amount = np.uint64(array[k])
        array[k] = before
        before += amount
        k += ONE
    wait(barrier, num_threads)  # mutant: no-barrier-at-the-end
    return total
