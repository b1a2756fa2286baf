"""A worklist that threads fill together and take from in chunks, phase by phase.

The items appended in one phase are those taken in the next: the in-queue and the out-queue of Cihan (2010),
section 4.6.3. They are stretches of arrays that the solver owns, so flipping them copies nothing. A thread
appends through a buffer of its own and reserves room for a whole buffer by one fetch-and-add. It takes
items in chunks, by one fetch-and-add a chunk.

Three sets of counters take turns. With one barrier between phases, a thread that is late may still read the
counters of the last phase while others count the next one; meanwhile :func:`begin_phase` resets the third
set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Indices
from ..kernels.atomics import PADDING, fetch_add, relaxed_load, relaxed_store
from ..kernels.constants import ONE, THREE, ZERO
from ..kernels.kernel import kernel

#: Items in a thread's buffer.
BUFFER = np.uint64(1024)
#: Items that are taken at once.
CHUNK = np.uint64(128)


class Worklist(NamedTuple):
    """The shared state of a worklist; the items themselves are in arrays of the solver."""

    #: counters of three phases, padded
    taken: NDArray[np.int64]
    appended: NDArray[np.int64]
    buffer: Indices  #: shape (threads, BUFFER)


def make_worklist(num_threads: int, dtype: DTypeLike) -> Worklist:
    """Return the state of an empty worklist, before phase 0."""
    counters = int(THREE * PADDING)
    return Worklist(
        np.zeros(counters, dtype=np.int64),
        np.zeros(counters, dtype=np.int64),
        np.empty((num_threads, int(BUFFER)), dtype=dtype),
    )


@kernel
def _slot(phase: np.uint64) -> np.uint64:
    return (np.uint64(phase) % THREE) * PADDING  # mutant: two-sets-of-counters


@kernel
def begin_phase(worklist: Worklist, phase: np.uint64) -> None:
    """Reset the counters of phase ``phase + 1``; one thread does so at the start of `phase`."""
    slot = _slot(np.uint64(phase) + ONE)  # mutant: resets-the-counters-in-use
    relaxed_store(worklist.taken, slot, 0)
    relaxed_store(worklist.appended, slot, 0)


@kernel
def take_chunk(worklist: Worklist, phase: np.uint64, size: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Take a chunk of ``0 .. size - 1``; return its begin and end, equal if none is left."""
    begin = np.uint64(fetch_add(worklist.taken, _slot(phase), CHUNK))  # mutant: chunks-overlap
    if begin >= size:
        return size, size
    return begin, min(begin + CHUNK, np.uint64(size))


@kernel
def append(
    worklist: Worklist,
    phase: np.uint64,
    items: Indices,
    base: np.uint64,
    thread: np.uint64,
    waiting: np.uint64,
    vertex: np.uint64,
) -> np.uint64:
    """Append `vertex` through the thread's buffer, which has `waiting` items; return how many it has now.

    The items of the phase start at ``items[base]``.
    """
    worklist.buffer[thread, waiting] = vertex
    waiting += ONE
    if waiting == BUFFER:  # mutant: does-not-flush-a-full-buffer
        waiting = flush(worklist, phase, items, base, thread, waiting)
    return waiting


@kernel
def flush(
    worklist: Worklist,
    phase: np.uint64,
    items: Indices,
    base: np.uint64,
    thread: np.uint64,
    waiting: np.uint64,
) -> np.uint64:
    """Move the items of the thread's buffer to the worklist; return 0."""
    if waiting > ZERO:
        position = base + np.uint64(fetch_add(worklist.appended, _slot(phase), waiting))
        k = ZERO
        while k < waiting:
            items[position + k] = worklist.buffer[thread, k]
            k += ONE
    return ZERO


@kernel
def appended(worklist: Worklist, phase: np.uint64) -> np.uint64:
    """Return how many items the phase appended; to be called after the barrier that ends the phase."""
    return np.uint64(relaxed_load(worklist.appended, _slot(phase)))


@kernel
def forget(worklist: Worklist, phase: np.uint64) -> None:
    """Reset what the phase appended; for a thread that works on the list alone."""
    relaxed_store(worklist.appended, _slot(phase), 0)
