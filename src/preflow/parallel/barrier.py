"""A barrier for kernels: no thread of a team leaves before the last has come.

Sense-reversing: the sense is a generation number that the last thread advances, so a fast thread that comes
again cannot slip through the old one. A thread spins briefly, then offers its core to others: there may be
fewer cores than threads, or others who want them. How briefly is learnt: where a wait is far from over when
it takes a nap, somebody else has a core; where it was nearly over, it should have gone on spinning. A broken
barrier holds nobody: a thread that fails breaks it, and the kernels of the others return.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, fetch_add, load, pause, relaxed_load, relaxed_store, store
from ..kernels.clock import now
from ..kernels.kernel import kernel, numba_overloads
from ..solving.dispatch import usable_cpus

#: Looks before a waiting thread offers its core to others, where each thread has one.
SPINS = 2000
#: The same at a barrier: at least, and at most and at first.
FEWEST_SPINS, MOST_SPINS = 200, 20000
#: Nanoseconds: shorter naps were a mistake, longer ones were not. A nap takes 50,000 and more; where another
#: process had the core of a thread, 9 of 10 waits on a busy EPYC went on for 200,000 to 800,000.
SHORT_NAPS, LONG_NAPS = 120_000, 200_000
#: Microseconds that a thread sleeps between two looks then; the operating system adds some 50.
NAP = np.uint32(1)

ARRIVED = 0
GENERATION = PADDING
BROKEN = 2 * PADDING
PATIENCE = BROKEN + 1

numba_overloads(__name__)


def nap() -> None:
    """Offer this thread's core to others."""
    time.sleep(float(NAP) * 1e-6)


def make_barrier(num_threads: int) -> NDArray[np.int64]:
    """Return a new barrier for so many threads."""
    barrier = np.zeros(3 * PADDING, dtype=np.int64)
    barrier[PATIENCE] = MOST_SPINS if num_threads <= usable_cpus() else 0
    return barrier


@kernel
def rest(looks: Any, patience: Any) -> Any:
    """Wait a moment before the next look at what another thread may change; return how many there were.

    After `patience` looks the thread offers its core to others each time.
    """
    if looks < patience:
        pause()
        return looks + 1
    nap()
    return looks


@kernel
def rest_in_time(looks: Any, patience: Any, naps_from: Any) -> tuple[Any, Any]:
    """Do what :func:`rest` does, and remember when the first nap began; `naps_from` is 0 before it."""
    if looks == patience and patience > 0 and naps_from == 0:
        naps_from = np.int64(now())
    return rest(looks, patience), naps_from


@kernel
def learn(barrier: Any, patience: Any, napped: Any) -> None:
    """Set the patience of the next waits after one that went on for `napped` nanoseconds after `patience`."""
    if napped < SHORT_NAPS:
        relaxed_store(barrier, PATIENCE, min(2 * patience, MOST_SPINS))
    elif napped > LONG_NAPS:
        relaxed_store(barrier, PATIENCE, max(patience // 2, FEWEST_SPINS))


@kernel
def wait(barrier: Any, num_threads: Any) -> bool:
    """Wait for all `num_threads` threads; what they wrote before is seen after. False if broken.

    Every thread may read what another wrote before the barrier, and may overwrite after the next one what
    others read before it.
    """
    generation = load(barrier, GENERATION)
    if fetch_add(barrier, ARRIVED, 1) == num_threads - 1:
        relaxed_store(barrier, ARRIVED, 0)
        store(barrier, GENERATION, generation + 1)
        return bool(load(barrier, BROKEN) == 0)
    patience = relaxed_load(barrier, PATIENCE)
    looks = 0
    naps_from = np.int64(0)
    while load(barrier, GENERATION) == generation:
        if relaxed_load(barrier, BROKEN) != 0:
            return False
        looks, naps_from = rest_in_time(looks, patience, naps_from)
    if naps_from != 0:
        learn(barrier, patience, np.int64(now()) - naps_from)
    return bool(load(barrier, BROKEN) == 0)


def break_barrier(barrier: NDArray[np.int64]) -> None:
    """Let everybody through, now and from now on."""
    barrier[BROKEN] = 1
