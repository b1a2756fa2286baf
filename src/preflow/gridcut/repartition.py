"""From one partition of a grid into blocks to another, half a block off, with flow and forests kept.

When the blocks of one partition were solved alone, all that is left to do is near the faces between them,
and merging would do it with ever fewer threads. A partition whose blocks stand across these faces does most
of it with all threads: its own faces cut through the middle of solved blocks, where little happens any more.
What is left for merges is where flow goes farther than half a block.

All threads open the faces of the old partition, then close those of the new one, which cuts off the parts of
trees behind them. A pixel that can grow, or that lost its parent, is marked where the queue of its forest
would mark it: whoever has its new block looks for such marks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import relaxed_store
from ..kernels.kernel import kernel
from .blocks import Blocks, Faces, row_of, rows_of
from .forests import DEPTH, SINK, SOURCE, Forests, adopt, enqueue
from .state import GridState

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Marks in Forests.queued, which has none while no queue has any pixel.
CAN_GROW, CUT_OFF = np.uint8(4), np.uint8(8)


@kernel
def mark_border(state: GridState, forests: Forests, blocks: Blocks, faces: Faces, face: Any) -> None:
    """Mark those that can grow over a face that was opened; other threads may mark the same ones."""
    label, queued = forests.label, forests.queued
    residual, step = state.residual, state.step
    degree = np.uint64(len(step))
    d = faces.direction[face]
    for row in range(rows_of(faces.box[face])):
        p, end = row_of(blocks, faces.box[face], row)
        while p < end:
            q = p + step[d]
            here, there = label[p], label[q]
            ahead = residual[p * degree + d] > 0
            back = residual[q * degree + (d ^ ONE)] > 0
            if (ahead and here > 0 and there <= 0) or (back and here < 0 and there >= 0):
                relaxed_store(queued, p, CAN_GROW)
            if (ahead and there < 0 and here >= 0) or (back and there > 0 and here <= 0):
                relaxed_store(queued, q, CAN_GROW)
            p += ONE


@kernel
def cut_trees(state: GridState, forests: Forests, blocks: Blocks, faces: Faces, face: Any) -> None:
    """Cut off what hangs on an arc of a face that was closed, and mark it."""
    label, parent = forests.label, forests.parent
    orphan = np.uint64(len(state.step)) + ONE
    d = faces.direction[face]
    for row in range(rows_of(faces.box[face])):
        p, end = row_of(blocks, faces.box[face], row)
        while p < end:
            q = p + state.step[d]
            if label[p] != 0 and np.uint64(parent[p]) == d:
                parent[p] = orphan
                forests.queued[p] |= CUT_OFF
            if label[q] != 0 and np.uint64(parent[q]) == d ^ ONE:
                parent[q] = orphan
                forests.queued[q] |= CUT_OFF
            p += ONE


@kernel
def go_on_in_block(
    state: GridState, forests: Forests, blocks: Blocks, box: NDArray[np.int64], depth: Any
) -> Any:
    """Put into the queues what can grow in a block, and let what was cut off find parents there.

    `depth` has the levels of both forests. Returns the number of orphans.
    """
    none = np.uint64(len(forests.label))
    source, sink = none, none
    for forest in (SOURCE, SINK):
        forests.cursor[DEPTH + forest] = depth[forest]
    for row in range(rows_of(box)):
        p, end = row_of(blocks, box, row)
        while p < end:
            marks = forests.queued[p]
            if marks != 0:
                forests.queued[p] = 0
                in_source = forests.label[p] > 0
                if marks & CAN_GROW != 0:
                    enqueue(forests, p, SOURCE if in_source else SINK)
                if marks & CUT_OFF != 0:
                    forests.next_orphan[p] = source if in_source else sink
                    source, sink = (p, sink) if in_source else (source, p)
            p += ONE
    orphans = ZERO
    if source != none:
        orphans += adopt(state, forests, True, np.int64(depth[SOURCE]), source)
    if sink != none:
        orphans += adopt(state, forests, False, np.int64(depth[SINK]), sink)
    return orphans
