"""The regions of a network while blocks are searched and merged, and which thread works on which region.

A region is a block, or several blocks that were merged. It is not searched yet, idle, or busy: one thread
works on it. A thread without a region takes a block that nobody has searched; else it takes two idle regions
that border on each other, and opens the faces between them. One lock guards these choices, which are few.

Invariants while nobody has the lock
------------------------------------
- ``region_of[b]`` is the region of block b. A region has the number of one of its blocks.
- ``closed[: shared[CLOSED]]`` are the faces between different regions, the rest are faces within a region.
- ``shared[AT_WORK]`` is the number of busy regions. A thread may leave when it finds no work and this is 0:
  nobody can make more work.
- ``shared[CHANGES]`` grows whenever a region becomes idle. A thread that finds no work waits for it to
  change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64, ResidualNetwork
from ...kernels.atomics import PADDING, compare_exchange, relaxed_load, relaxed_store, store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.barrier import back_off
from ...solving.monitor import Monitor
from .parts import Blocks, Faces

#: Positions in Regions.shared.
LOCK, BLOCKS_TAKEN, CLOSED, AT_WORK, CHANGES, GROWN = (np.uint64(k) * PADDING for k in range(6))
#: States of a region.
NOT_SEARCHED, IDLE, BUSY = np.uint64(0), np.uint64(1), np.uint64(2)


class Regions(NamedTuple):
    """The regions; a region has the number of one of its blocks."""

    ends: NDArray[np.uint32]  #: shape (faces, 2): as in :class:`.parts.Faces`
    #: shape (faces,): number of arcs of a face that were not saturated when it was closed
    weight: NDArray[np.uint64]
    region_of: NDArray[np.uint32]  #: shape (blocks,): region of each block
    state: NDArray[np.uint64]  #: shape (blocks,): NOT_SEARCHED, IDLE or BUSY, of each region
    size: NDArray[np.uint64]  #: shape (blocks,): number of blocks of each region
    #: shape (blocks, 2): depths of the source's and the sink's forest of each region
    depth: NDArray[np.uint64]
    #: shape (faces,): numbers of the closed faces, then of the open ones
    closed: NDArray[np.uint32]
    #: LOCK: 1 while a thread has it. BLOCKS_TAKEN: number of blocks that threads have taken. CLOSED: number
    #: of closed faces. AT_WORK: number of threads that work on a region. CHANGES: how often a region became
    #: idle. GROWN: 1 if the blocks have forests from an earlier partition.
    shared: NDArray[np.uint64]


class Merging(NamedTuple):
    """The state of one partition; all threads share it."""

    net: ResidualNetwork
    blocks: Blocks
    faces: Faces
    regions: Regions
    barrier: NDArray[np.int64]
    delays: NDArray[np.uint64] | None = None  #: delays for stress tests, see parallel/delays.py


def make_regions(num_blocks: int, ends: NDArray[np.uint32]) -> Regions:
    """Return the regions at the start: each is a block that nobody has searched, all faces are closed."""
    shared = np.zeros(6 * int(PADDING), dtype=np.uint64)
    shared[CLOSED] = len(ends)
    return Regions(
        ends,
        np.zeros(len(ends), dtype=np.uint64),
        np.arange(num_blocks, dtype=np.uint32),
        np.zeros(num_blocks, dtype=np.uint64),
        np.ones(num_blocks, dtype=np.uint64),
        np.zeros((num_blocks, 2), dtype=np.uint64),
        np.arange(len(ends), dtype=np.uint32),
        shared,
    )


@kernel
def best_face(regions: Regions, num_closed: np.uint64) -> np.uint64:
    """Return a closed face between two idle regions, or the number of faces; the caller has the lock.

    The smallest pair of regions is taken, so that many threads find work until the end; among equal pairs,
    the face with the most unsaturated arcs.
    """
    best = np.uint64(len(regions.closed))
    least, most = np.uint64(2 * len(regions.state)), ZERO
    k = ZERO
    while k < num_closed:
        face = np.uint64(regions.closed[k])
        a = np.uint64(regions.region_of[regions.ends[face, ZERO]])
        b = np.uint64(regions.region_of[regions.ends[face, ONE]])
        # mutant: merges-with-a-region-that-somebody-has
        if regions.state[a] == IDLE and regions.state[b] == IDLE:
            size, weight = regions.size[a] + regions.size[b], regions.weight[face]
            if size < least or (size == least and weight > most):
                best, least, most = face, size, weight
        k += ONE
    return best


@kernel
def unite(regions: Regions, a: np.uint64, b: np.uint64, num_closed: np.uint64) -> np.uint64:
    """Merge two regions, move the faces between them behind the closed ones, and return how many stay."""
    k = ZERO
    while k < num_closed:
        face = np.uint64(regions.closed[k])
        tails = np.uint64(regions.region_of[regions.ends[face, ZERO]])
        heads = np.uint64(regions.region_of[regions.ends[face, ONE]])
        if (tails == a and heads == b) or (tails == b and heads == a):
            num_closed -= ONE
            regions.closed[k] = regions.closed[num_closed]
            regions.closed[num_closed] = face
        else:
            k += ONE
    block = ZERO
    while block < np.uint64(len(regions.region_of)):
        if np.uint64(regions.region_of[block]) == b:
            regions.region_of[block] = a
        block += ONE
    regions.size[a] += regions.size[b]
    regions.depth[a, ZERO] = max(regions.depth[a, ZERO], regions.depth[b, ZERO])
    regions.depth[a, ONE] = max(regions.depth[a, ONE], regions.depth[b, ONE])
    return num_closed


@kernel
def take(regions: Regions) -> tuple[np.uint64, np.uint64, np.uint64, bool]:
    """Take a region; the caller has the lock.

    Return a region, or the number of blocks if none can be taken now; the range of the faces to open in
    ``closed``; and whether the region is a block that nobody has searched.
    """
    shared = regions.shared
    none = np.uint64(len(regions.state))
    block = shared[BLOCKS_TAKEN]
    if block < none:
        shared[BLOCKS_TAKEN] = block + ONE
        regions.state[block] = BUSY
        return block, ZERO, ZERO, True
    num_closed = shared[CLOSED]
    face = best_face(regions, num_closed)
    if face == np.uint64(len(regions.closed)):
        return none, ZERO, ZERO, False
    a = np.uint64(regions.region_of[regions.ends[face, ZERO]])
    b = np.uint64(regions.region_of[regions.ends[face, ONE]])
    left = unite(regions, a, b, num_closed)
    shared[CLOSED] = left
    regions.state[a] = BUSY
    return a, left, num_closed, False


@kernel
def acquire(regions: Regions, patience: Int64) -> None:
    """Take the lock."""
    looks = 0
    while not compare_exchange(regions.shared, LOCK, ZERO, ONE):
        looks = back_off(looks, patience)


@kernel
def next_region(
    regions: Regions, had: np.uint64, patience: Int64, monitor: Monitor
) -> tuple[np.uint64, np.uint64, np.uint64, bool]:
    """Make the thread's region `had` idle, if there is one, and wait for another region.

    Return as :func:`take` does; the region is the number of blocks when all work is done or the stop flag
    is raised.
    """
    shared, stop = regions.shared, monitor.stop
    none = np.uint64(len(regions.state))
    looks = 0
    while relaxed_load(stop, ZERO) == 0:
        acquire(regions, patience)
        if had != none:
            regions.state[had] = IDLE  # mutant: keeps-a-region
            relaxed_store(shared, AT_WORK, shared[AT_WORK] - ONE)
            relaxed_store(shared, CHANGES, shared[CHANGES] + ONE)
            had = none
        region, begin, end, fresh = take(regions)
        if region != none:
            relaxed_store(shared, AT_WORK, shared[AT_WORK] + ONE)
        changes, at_work = shared[CHANGES], shared[AT_WORK]
        store(shared, LOCK, ZERO)
        if region != none:
            return region, begin, end, fresh
        if at_work == ZERO:  # mutant: leaves-while-another-thread-is-at-work
            break
        while relaxed_load(shared, CHANGES) == changes and relaxed_load(stop, ZERO) == 0:
            looks = back_off(looks, patience)
    return none, ZERO, ZERO, False
