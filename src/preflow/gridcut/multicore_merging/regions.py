"""Which parts of a grid are whose while blocks are searched and merged: who may go on with what.

A region is a block, or what was merged of several. It is idle, or one thread has it. A thread that has
nothing takes a block that nobody has searched yet, else two idle regions that border on each other, whose
faces it opens. One lock guards these choices, which are few.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.atomics import PADDING, compare_exchange, relaxed_load, relaxed_store, store
from ...kernels.kernel import kernel
from ...parallel.barrier import back_off

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Positions in Regions.shared.
LOCK, BLOCKS_TAKEN, CLOSED, AT_WORK, CHANGES, GROWN = (np.uint64(k) * PADDING for k in range(6))
#: States of a region.
NOT_SEARCHED, IDLE, BUSY = np.uint64(0), np.uint64(1), np.uint64(2)


class Regions(NamedTuple):
    """The regions of a grid; a region has the number of one of its blocks.

    Attributes
    ----------
    ends : ndarray of uint32, shape (faces, 2)
        As in :class:`preflow.gridcut.blocks.Faces`.
    weight : ndarray of uint64, shape (faces,)
        How many arcs of a face were not saturated when it was closed.
    region_of : ndarray of uint32, shape (blocks,)
    state : ndarray of uint64, shape (blocks,)
    size : ndarray of uint64, shape (blocks,)
        Blocks of a region.
    depth : ndarray of uint64, shape (blocks, 2)
        Levels of the trees of a region.
    closed : ndarray of uint32, shape (faces,)
        The closed faces, then the open ones.
    shared : ndarray of uint64
        LOCK; how many blocks were taken; how many faces are closed; how many threads are at work; how often
        the choice became larger; whether blocks that nobody has searched have forests of an earlier search.
    """

    ends: NDArray[np.uint32]
    weight: NDArray[np.uint64]
    region_of: NDArray[np.uint32]
    state: NDArray[np.uint64]
    size: NDArray[np.uint64]
    depth: NDArray[np.uint64]
    closed: NDArray[np.uint32]
    shared: NDArray[np.uint64]


def make_regions(num_blocks: int, ends: NDArray[np.uint32]) -> Regions:
    """Return the regions before the first one was searched: each is a block, all faces are closed."""
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
def best_face(regions: Regions, num_closed: Any) -> Any:
    """Return a closed face between two idle regions, or the number of faces; for who has the lock.

    Small regions come first, so that many threads find some until the end; of such pairs one with many arcs
    from one to the other.
    """
    best = np.uint64(len(regions.closed))
    least, most = np.uint64(2 * len(regions.state)), ZERO
    k = ZERO
    while k < num_closed:
        face = np.uint64(regions.closed[k])
        a = np.uint64(regions.region_of[regions.ends[face, ZERO]])
        b = np.uint64(regions.region_of[regions.ends[face, ONE]])
        if regions.state[a] == IDLE and regions.state[b] == IDLE:
            size, weight = regions.size[a] + regions.size[b], regions.weight[face]
            if size < least or (size == least and weight > most):
                best, least, most = face, size, weight
        k += ONE
    return best


@kernel
def unite(regions: Regions, a: Any, b: Any, num_closed: Any) -> Any:
    """Make one region of two and move the faces between them behind the closed ones; return how many stay."""
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
def take(regions: Regions) -> tuple[Any, Any, Any, bool]:
    """Take a region to go on with; for who has the lock.

    Returns
    -------
    region : the number of blocks if there is none now
    begin, end : its faces to be opened stand in ``closed[begin:end]``
    fresh : whether it is a block that nobody has searched
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
def acquire(regions: Regions, patience: Any) -> None:
    """Take the lock."""
    looks = 0
    while not compare_exchange(regions.shared, LOCK, ZERO, ONE):
        looks = back_off(looks, patience)


@kernel
def next_region(regions: Regions, had: Any, patience: Any, stop: Any) -> tuple[Any, Any, Any, bool]:
    """Give back the region that the thread had, if any, and take another as soon as there is one.

    Returns what :func:`take` does; the number of blocks when all is done or `stop` was raised.
    """
    shared = regions.shared
    none = np.uint64(len(regions.state))
    looks = 0
    while relaxed_load(stop, ZERO) == 0:
        acquire(regions, patience)
        if had != none:
            regions.state[had] = IDLE
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
        if at_work == ZERO:
            break
        while relaxed_load(shared, CHANGES) == changes and relaxed_load(stop, ZERO) == 0:
            looks = back_off(looks, patience)
    return none, ZERO, ZERO, False
