"""The forests at the borders of blocks: growth over opened faces, orphans at closed faces.

All threads go from one partition of the grid to the next one, and keep flow and forests. When the blocks of
the first partition have been searched alone, the rest of the work is near the faces between them. Merging
would do it with ever fewer threads. The blocks of the next partition are larger and lie across these faces,
so they do most of it with all threads. The new faces go through the middle of old blocks, where little work
is left. After that only flow that goes farther than half a block remains, and the larger the blocks become,
the less of it there is.

Threads first open the old faces, then close the new ones. They mark in `Forests.queued` each pixel that can
grow and each pixel that has lost its parent. The thread that takes the new block finds the marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...forests.incremental_search import DEPTH, SINK, SOURCE, Forests, adopt
from ...kernels.atomics import relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...kernels.two_queues import enqueue
from ...network.arcs import capacity, head, opposite
from ...parallel.barrier import wait
from ...parallel.thread_pool import share_of
from ...solving.monitor import Monitor
from ..pixel_major import GridState
from .blocks import Blocks, Faces, arcs_of, close_face, open_face, row_of, rows_of
from .regions import GROWN

if TYPE_CHECKING:
    from . import Merging

#: Marks in Forests.queued; it is 0 for all pixels before, because the queues are empty.
CAN_GROW, CUT_OFF = np.uint8(4), np.uint8(8)


@kernel
def forest_of(forests: Forests, p: np.uint64) -> Int64:
    """Return the forest that a pixel is in; it must be in one."""
    return SOURCE if forests.label[p] > 0 else SINK


@kernel
def can_grow(state: GridState, forests: Forests, p: np.uint64, d: np.uint64) -> tuple[bool, bool]:
    """Return whether the forest of a pixel can grow over an arc, and that of the arc's head the other way."""
    q = head(state, p, d)
    here, there = forests.label[p], forests.label[q]
    ahead = bool(capacity(state, p, q, d, False) > 0)
    back = bool(capacity(state, p, q, d, True) > 0)
    return (
        (ahead and here > 0 and there <= 0) or (back and here < 0 and there >= 0),
        (ahead and there < 0 and here >= 0) or (back and there > 0 and here <= 0),
    )


@kernel
def enqueue_border(state: GridState, forests: Forests, faces: Faces, face: np.uint64) -> None:
    """Queue the pixels whose forest can grow over a face that was opened."""
    d = faces.direction[face]
    k, end = arcs_of(faces, face)
    while k < end:
        p = np.uint64(faces.tail[k])
        here, there = can_grow(state, forests, p, d)
        if here:
            enqueue(forests, p, forest_of(forests, p))
        if there:
            q = head(state, p, d)
            enqueue(forests, q, forest_of(forests, q))
        k += ONE


@kernel
def mark_border(state: GridState, forests: Forests, faces: Faces, face: np.uint64) -> None:
    """Mark the pixels whose forest can grow over an opened face; other threads may mark the same pixels."""
    d = faces.direction[face]
    k, end = arcs_of(faces, face)
    while k < end:
        p = np.uint64(faces.tail[k])
        here, there = can_grow(state, forests, p, d)
        if here:
            relaxed_store(forests.queued, p, CAN_GROW)  # mutant: marks-plainly-what-others-mark
        if there:
            relaxed_store(forests.queued, head(state, p, d), CAN_GROW)
        k += ONE


@kernel
def cut_off(forests: Forests, p: np.uint64, d: np.uint64, degree: np.uint64) -> None:
    """Make a pixel an orphan, and mark it, if its parent is in direction `d`.

    Other threads call this for the same pixel and other directions at the same time.
    """
    # mutant: looks-plainly-at-a-parent-that-another-thread-takes-away
    if forests.label[p] != 0 and np.uint64(relaxed_load(forests.parent, p)) == d:
        relaxed_store(forests.parent, p, degree + ONE)
        forests.queued[p] |= CUT_OFF


@kernel
def cut_trees(state: GridState, forests: Forests, faces: Faces, face: np.uint64) -> None:
    """Make orphans of the pixels whose tree arc is in a face that was closed."""
    degree = np.uint64(len(state.step))
    d = faces.direction[face]
    k, end = arcs_of(faces, face)
    while k < end:
        p = np.uint64(faces.tail[k])
        cut_off(forests, p, d, degree)
        cut_off(forests, head(state, p, d), opposite(state, d), degree)
        k += ONE


@kernel
def change_partition(
    first: Merging, second: Merging, forests: Forests, thread: np.uint64, num_threads: np.uint64
) -> bool:
    """Wait for all threads, then open a share of one partition's faces and close a share of another's.

    `first` and `second` are of class ``Merging``. Return False if the barrier is broken.
    """
    state, faces = first.state, first.faces
    if not wait(first.barrier, num_threads):
        return False
    face, end = share_of(np.uint64(len(faces.direction)), thread, num_threads)
    while face < end:
        open_face(state, faces, face)
        mark_border(state, forests, faces, face)
        face += ONE
    if not wait(first.barrier, num_threads):  # mutant: closes-faces-while-others-open-some
        return False
    faces = second.faces
    face, end = share_of(np.uint64(len(faces.direction)), thread, num_threads)
    while face < end:
        second.regions.weight[face] = close_face(state, second.blocks, faces, face)
        cut_trees(state, forests, faces, face)
        face += ONE
    if thread == ZERO:
        second.regions.shared[GROWN] = ONE
        for forest in (SOURCE, SINK):
            deepest = ZERO
            for block in range(len(first.regions.depth)):
                deepest = max(deepest, first.regions.depth[block, forest])
            for block in range(len(second.regions.depth)):
                second.regions.depth[block, forest] = deepest
    return wait(first.barrier, num_threads)


@kernel
def resume_block(
    state: GridState,
    forests: Forests,
    blocks: Blocks,
    box: NDArray[np.int64],
    depth: NDArray[np.uint64],
    monitor: Monitor,
) -> np.uint64:
    """Queue the marked pixels of a block that can grow, and find parents for its orphans.

    `depth` has the depths of both forests. Return the number of orphans.
    """
    none = np.uint64(len(forests.label))
    source, sink = none, none
    for row in range(rows_of(box)):
        p, end = row_of(blocks, box, row)
        while p < end:
            marks = forests.queued[p]
            if marks != 0:
                forests.queued[p] = 0
                if marks & CAN_GROW != 0:
                    enqueue(forests, p, forest_of(forests, p))
                if marks & CUT_OFF != 0:
                    if forests.label[p] > 0:
                        forests.next_orphan[p] = source
                        source = p
                    else:
                        forests.next_orphan[p] = sink
                        sink = p
            p += ONE
    for forest in (SOURCE, SINK):
        forests.cursor[DEPTH + forest] = depth[forest]
    orphans = ZERO
    if source != none:
        orphans += adopt(state, forests, True, np.int64(depth[SOURCE]), source, monitor)
    if sink != none:
        orphans += adopt(state, forests, False, np.int64(depth[SINK]), sink, monitor)
    return orphans
