"""Random delays between the steps of threads, for stress tests.

Solvers call :func:`delay` at places where the order in which threads act matters most. A user's solve has
no delays: the argument is None, and nothing is compiled for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, pause
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .barrier import sleep

#: Shifts of Marsaglia's generator xorshift64.
LEFT, RIGHT, LEFT_AGAIN = np.uint64(13), np.uint64(7), np.uint64(17)
#: Bits of a random number: they decide whether a thread waits at all (one time in 4), whether it sleeps
#: (one time in 64), and for how long it spins otherwise.
WAITS, SLEEPS, SPINS, SPINS_FROM = np.uint64(3), np.uint64(63), np.uint64(255), np.uint64(32)


def make_delays(num_threads: int, seed: int) -> NDArray[np.uint64]:
    """Return a random generator for each thread, on cache lines of their own."""
    random = np.random.default_rng(seed)
    return random.integers(1, 2**63, num_threads * int(PADDING), dtype=np.uint64)


@kernel
def delay(delays: NDArray[np.uint64] | None, thread: np.uint64) -> None:
    """Delay the thread for a random moment; do nothing where `delays` is None."""
    if delays is not None:
        x = delays[thread * PADDING]
        x ^= x << LEFT
        x ^= x >> RIGHT
        x ^= x << LEFT_AGAIN
        delays[thread * PADDING] = x
        if x & SLEEPS == ZERO:
            sleep()
        elif x & WAITS == ZERO:
            spins = x >> SPINS_FROM & SPINS
            while spins > ZERO:
                pause()
                spins -= ONE
