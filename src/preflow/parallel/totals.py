"""A barrier that adds up: every thread contributes two numbers and leaves with the sums over all threads.

Each thread writes its numbers and then a generation number into a cache line of its own, and reads the
lines of all others. So nobody counts arrivals. At :func:`.barrier.wait` all threads add to one counter, one
after the other, before the last one releases them, and a sum would need another look at every thread's
line. Measured on 16 cores: 1.05 us for this barrier with the sum, 1.76 us for the other barrier and then
the sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, load, relaxed_load, relaxed_store, store
from ..kernels.clock import now
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from .barrier import BROKEN, PATIENCE, adapt_patience, back_off_timed

#: Positions in a thread's line: its generation, then two numbers for even and two for odd generations.
GENERATION, NUMBERS = ZERO, TWO


def make_totals(num_threads: int) -> NDArray[np.uint64]:
    """Return one line for each thread."""
    return np.zeros(num_threads * PADDING, dtype=np.uint64)


@kernel
def add_up(
    barrier: NDArray[np.int64],
    totals: NDArray[np.uint64],
    thread: np.uint64,
    num_threads: np.uint64,
    first: np.uint64,
    second: np.uint64,
) -> tuple[bool, np.uint64, np.uint64]:
    """Wait for all threads and add up two numbers of each; what they wrote before is seen after.

    `barrier` has the patience and says whether it is broken; the same threads may also meet there. Return
    False if it is broken, and the sums.
    """
    own = thread * PADDING
    generation = totals[own + GENERATION] + ONE
    # A thread may be one generation ahead of another that still reads, but not two.
    place = NUMBERS + TWO * (generation % TWO)  # mutant: a-generation-s-numbers-go-where-the-last-one-s-are
    relaxed_store(totals, own + place, first)
    relaxed_store(totals, own + place + ONE, second)
    store(totals, own + GENERATION, generation)  # mutant: a-generation-that-is-not-atomic
    patience = relaxed_load(barrier, PATIENCE)
    looks = 0
    asleep_since = np.int64(0)
    other = own
    for _ in range(1, num_threads):  # mutant: waits-for-the-next-thread-only
        other += PADDING
        if other == num_threads * PADDING:
            other = ZERO
        while load(totals, other + GENERATION) < generation:  # mutant: does-not-wait
            if relaxed_load(barrier, BROKEN) != 0:  # mutant: does-not-look-whether-the-barrier-is-broken
                return False, ZERO, ZERO
            looks, asleep_since = back_off_timed(looks, patience, asleep_since)
        first += relaxed_load(totals, other + place)
        second += relaxed_load(totals, other + place + ONE)
    if asleep_since != 0:
        adapt_patience(barrier, patience, np.int64(now()) - asleep_since)
    return load(barrier, BROKEN) == 0, first, second
