"""Distances of the pixels of a grid in blocks: how many faces are on a way to a deficit.

For waves.py, which lets excess flow by them. A pixel that reaches a deficit within its block has distance 0;
one that reaches arcs to distance k has k + 1. Blocks are searched by all threads, distance after distance.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, fetch_add, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from ..parallel.barrier import wait
from ..parallel.delays import delay
from ..solving.run import Control
from .blocks import Blocks, Faces, arcs_of, block_box, row_of, rows_of
from .state import GridState

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
#: The distance of a pixel that reaches no deficit.
FAR = np.uint16(2**16 - 1)
#: Positions in Waves.shared: the next block, of two turns; what was found, of three turns.
NEXT, FOUND = np.uint64(0), np.uint64(2) * PADDING


class Waves(NamedTuple):
    """What the threads share in waves.

    Attributes
    ----------
    distance : ndarray of uint16, shape (size,)
    first_at, faces_at : ndarrays of uint64
        The faces at a block: ``faces_at[first_at[b]:first_at[b + 1]]``, twice the number of a face, plus one
        where the block has the heads.
    levels_at : ndarray of uint64, shape (blocks,)
        The distances at which a block has excess, as bits; the last one stands for all from there on.
    moved : ndarray, shape (arcs between blocks,)
        What flows over an arc and has not arrived; negative from head to tail.
    shared : ndarray of uint64
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    state: GridState
    blocks: Blocks
    faces: Faces
    distance: NDArray[np.uint16]
    first_at: NDArray[np.uint64]
    faces_at: NDArray[np.uint64]
    levels_at: NDArray[np.uint64]
    moved: NDArray[Any]
    shared: NDArray[np.uint64]
    barrier: NDArray[np.int64]
    stop: NDArray[np.int64]
    counts: NDArray[np.uint64]
    delays: Any = None


def make_waves(
    state: GridState, blocks: Blocks, faces: Faces, barrier: NDArray[np.int64], control: Control
) -> Waves:
    """Return what waves need, before the first one."""
    num_blocks = math.prod(blocks.counts.tolist())
    ends = faces.ends.ravel().astype(np.int64)
    first_at = np.zeros(num_blocks + 1, dtype=np.uint64)
    first_at[1:] = np.bincount(ends, minlength=num_blocks).cumsum()
    return Waves(
        state=state,
        blocks=blocks,
        faces=faces,
        distance=np.empty(len(state.terminal), dtype=np.uint16),
        first_at=first_at,
        faces_at=np.argsort(ends, kind="stable").astype(np.uint64),
        levels_at=np.zeros(num_blocks, dtype=np.uint64),
        moved=np.zeros(len(faces.kept), dtype=state.terminal.dtype),
        shared=np.zeros(5 * int(PADDING), dtype=np.uint64),
        barrier=barrier,
        stop=control.stop,
        counts=control.thread_counts,
        delays=control.delays,
    )


@kernel
def next_block(waves: Waves, turn: Any) -> Any:
    """Take the next block of a turn."""
    return np.uint64(fetch_add(waves.shared, NEXT + (turn % TWO) * PADDING, 1))


@kernel
def end_turn(waves: Waves, turn: Any, thread: Any, found: Any) -> Any:
    """Wait for all threads; return what they found together, less than 0 if the barrier is broken.

    What the turn used is cleared for a later one after this barrier, and used after the next.
    """
    place = FOUND + (turn % THREE) * PADDING
    if found > ZERO:
        fetch_add(waves.shared, place, found)
    if not wait(waves.barrier, np.uint64(len(waves.counts))):
        return np.int64(-1)
    if thread == ZERO:
        relaxed_store(waves.shared, NEXT + (turn % TWO) * PADDING, ZERO)
        relaxed_store(waves.shared, FOUND + ((turn + TWO) % THREE) * PADDING, ZERO)
    return np.int64(relaxed_load(waves.shared, place))


@kernel
def face_at(waves: Waves, at: Any) -> tuple[Any, Any]:
    """Return a face from a block's list, and which end of it the block has: 0 for the tails, 1 for heads."""
    return waves.faces_at[at] // TWO, waves.faces_at[at] % TWO


@kernel
def ends_of(waves: Waves, face: Any, side: Any, k: Any) -> tuple[Any, Any]:
    """Return the pixel of an arc of a face on a side, and the one on the other side."""
    p = np.uint64(waves.faces.tail[k])
    q = p + waves.state.step[waves.faces.direction[face]]
    return (q, p) if side == ONE else (p, q)


@kernel
def flood(state: GridState, distance: Any, level: Any, queue: Any, end: Any) -> None:
    """Give a distance to all pixels of a block that reach those in a queue."""
    residual, step = state.residual, state.step
    degree = np.uint64(len(step))
    k = ZERO
    while k < end:
        p = np.uint64(queue[k])
        for direction in range(degree):
            d = np.uint64(direction)
            q = p + step[d]
            if residual[q * degree + (d ^ ONE)] > 0 and distance[q] == FAR:
                distance[q] = level
                queue[end] = q
                end += ONE
        k += ONE


@kernel
def find_near(waves: Waves, queue: Any, box: Any, block: Any) -> None:
    """Find the pixels of a block that reach a deficit in it."""
    state, blocks = waves.state, waves.blocks
    distance = waves.distance
    block_box(blocks, block, box)
    end = ZERO
    for row in range(rows_of(box)):
        p, last = row_of(blocks, box, row)
        while p < last:
            distance[p] = FAR
            if state.terminal[p] < 0:
                distance[p] = 0
                queue[end] = p
                end += ONE
            p += ONE
    flood(state, distance, ZERO, queue, end)


@kernel
def find_farther(waves: Waves, queue: Any, block: Any, level: Any) -> Any:
    """Find the pixels of a block at a distance, those nearer being known; return how many lead there."""
    faces, distance = waves.faces, waves.distance
    end = ZERO
    at = waves.first_at[block]
    while at < waves.first_at[block + ONE]:
        face, side = face_at(waves, at)
        k, last = arcs_of(faces, face)
        while k < last:
            here, there = ends_of(waves, face, side, k)
            if (
                faces.kept[k, side] > 0
                and distance[here] == FAR
                and relaxed_load(distance, there) == level - ONE
            ):
                relaxed_store(distance, here, level)
                queue[end] = here
                end += ONE
            k += ONE
        at += ONE
    flood(waves.state, distance, level, queue, end)
    return end


@kernel
def find_distances(waves: Waves, thread: Any, queue: Any, box: Any, turn: Any) -> Any:
    """Find all distances, one thread's share; return how many turns it took, 0 if the barrier is broken."""
    num_blocks = np.uint64(len(waves.levels_at))
    level = ZERO
    while level < np.uint64(FAR):
        found = ZERO
        block = next_block(waves, turn + level)
        while block < num_blocks:
            delay(waves.delays, thread)
            if level == ZERO:
                find_near(waves, queue, box, block)
                found = ONE
            else:
                found += find_farther(waves, queue, block, level)
            block = next_block(waves, turn + level)
        total = end_turn(waves, turn + level, thread, found)
        if total < 0:
            return ZERO
        level += ONE
        if total == 0:
            break
    return level
