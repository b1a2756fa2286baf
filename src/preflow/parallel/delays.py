"""Random delays where threads may come between one another, for stress tests.

Solvers call :func:`delay` where the order of what threads do matters most. In a user's solve there are no
delays: the argument is None, and nothing is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, pause
from ..kernels.kernel import kernel
from .barrier import nap

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Shifts of Marsaglia's generator xorshift64.
LEFT, RIGHT, LEFT_AGAIN = np.uint64(13), np.uint64(7), np.uint64(17)
#: The bits of a random number that decide whether a thread waits at all, whether it naps, and how long it
#: spins else: it waits one time in 4, and naps one time in 64.
WAITS, NAPS, SPINS, SPINS_FROM = np.uint64(3), np.uint64(63), np.uint64(255), np.uint64(32)


def make_delays(num_threads: int, seed: int) -> NDArray[np.uint64]:
    """Return the generators of a team's delays, one a thread, on cache lines of their own."""
    random = np.random.default_rng(seed)
    return random.integers(1, 2**63, num_threads * int(PADDING), dtype=np.uint64)


@kernel
def delay(delays: Any, thread: Any) -> None:
    """Hold the thread up for a moment, at random; not at all where `delays` is None."""
    if delays is not None:
        x = delays[thread * PADDING]
        x ^= x << LEFT
        x ^= x >> RIGHT
        x ^= x << LEFT_AGAIN
        delays[thread * PADDING] = x
        if x & NAPS == ZERO:
            nap()
        elif x & WAITS == ZERO:
            spins = x >> SPINS_FROM & SPINS
            while spins > ZERO:
                pause()
                spins -= ONE
