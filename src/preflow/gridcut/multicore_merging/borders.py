"""Forests at the borders of blocks: what grows over an opened face, what a closed one cuts off.

From one partition of a grid into blocks all threads go to another one, with flow and forests kept. When the
blocks of the first were solved alone, what is left to do is near the faces between them, and merging would do
it with ever fewer threads. Larger blocks that stand across these faces do most of it with all threads: the
new faces cut through the middle of solved blocks, where little happens any more. What is left is where flow
goes farther than half a block, and the less the larger the blocks become.

Threads open the old faces, then close the new ones. A pixel that can grow, or that lost its parent, is marked
where the queue of its forest would mark it; whoever has its new block looks for such marks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.atomics import relaxed_load, relaxed_store
from ...kernels.kernel import kernel
from ...parallel.barrier import wait
from ...parallel.thread_pool import share_of
from ..incremental_search import DEPTH, SINK, SOURCE, Forests, adopt, enqueue
from ..pixel_major import GridState
from .blocks import Blocks, Faces, arcs_of, close_face, open_face, row_of, rows_of
from .regions import GROWN

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Marks in Forests.queued, which is 0 while no queue has any pixel.
CAN_GROW, CUT_OFF = np.uint8(4), np.uint8(8)


@kernel
def forest_of(forests: Forests, p: Any) -> Any:
    """Return the forest of a pixel that is in one."""
    return SOURCE if forests.label[p] > 0 else SINK


@kernel
def can_grow(state: GridState, forests: Forests, p: Any, d: Any) -> tuple[Any, Any]:
    """Return whether the forest of a pixel can grow to the neighbour in a direction, and from there to it."""
    residual = state.residual
    degree = np.uint64(len(state.step))
    q = p + state.step[d]
    here, there = forests.label[p], forests.label[q]
    ahead, back = residual[p * degree + d] > 0, residual[q * degree + (d ^ ONE)] > 0
    return (
        (ahead and here > 0 and there <= 0) or (back and here < 0 and there >= 0),
        (ahead and there < 0 and here >= 0) or (back and there > 0 and here <= 0),
    )


@kernel
def wake_border(state: GridState, forests: Forests, faces: Faces, face: Any) -> None:
    """Put those into the queues that can grow over a face that was opened."""
    d = faces.direction[face]
    k, end = arcs_of(faces, face)
    while k < end:
        p = np.uint64(faces.tail[k])
        tail, head = can_grow(state, forests, p, d)
        if tail:
            enqueue(forests, p, forest_of(forests, p))
        if head:
            q = p + state.step[d]
            enqueue(forests, q, forest_of(forests, q))
        k += ONE


@kernel
def mark_border(state: GridState, forests: Forests, faces: Faces, face: Any) -> None:
    """Mark those that can grow over a face that was opened; other threads may mark the same ones."""
    d = faces.direction[face]
    k, end = arcs_of(faces, face)
    while k < end:
        p = np.uint64(faces.tail[k])
        tail, head = can_grow(state, forests, p, d)
        if tail:
            relaxed_store(forests.queued, p, CAN_GROW)
        if head:
            relaxed_store(forests.queued, p + state.step[d], CAN_GROW)
        k += ONE


@kernel
def cut_off(forests: Forests, p: Any, d: Any, degree: Any) -> None:
    """Make a pixel an orphan, and mark it, if its parent is in a direction.

    Other threads look at it meanwhile, for other directions.
    """
    if forests.label[p] != 0 and np.uint64(relaxed_load(forests.parent, p)) == d:
        relaxed_store(forests.parent, p, degree + ONE)
        forests.queued[p] |= CUT_OFF


@kernel
def cut_trees(state: GridState, forests: Forests, faces: Faces, face: Any) -> None:
    """Cut off what hangs on an arc of a face that was closed."""
    degree = np.uint64(len(state.step))
    d = faces.direction[face]
    k, end = arcs_of(faces, face)
    while k < end:
        p = np.uint64(faces.tail[k])
        cut_off(forests, p, d, degree)
        cut_off(forests, p + state.step[d], d ^ ONE, degree)
        k += ONE


@kernel
def change_partition(first: Any, second: Any, forests: Forests, thread: Any, num_threads: Any) -> bool:
    """Open the faces of one partition and close those of another, a thread's share, when all are there.

    `first` and `second` are a solver's: they have state, blocks, faces, regions and a barrier. Returns False
    if that is broken.
    """
    state, faces = first.state, first.faces
    if not wait(first.barrier, num_threads):
        return False
    face, end = share_of(np.uint64(len(faces.direction)), thread, num_threads)
    while face < end:
        open_face(state, faces, face)
        mark_border(state, forests, faces, face)
        face += ONE
    if not wait(first.barrier, num_threads):
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
def go_on_in_block(
    state: GridState, forests: Forests, blocks: Blocks, box: Any, depth: Any, stop: Any
) -> Any:
    """Put into the queues what can grow in a block, and let what was cut off find parents there.

    `depth` has the levels of both forests. Returns the number of orphans.
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
        orphans += adopt(state, forests, True, np.int64(depth[SOURCE]), source, stop)
    if sink != none:
        orphans += adopt(state, forests, False, np.int64(depth[SINK]), sink, stop)
    return orphans
