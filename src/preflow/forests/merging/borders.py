"""The forests at the borders of blocks: growth over opened faces, orphans at closed faces.

All threads go from one partition to the next one, and keep flow and forests. When the blocks of
the first partition have been searched alone, the rest of the work is near the faces between them. Merging
would do it with ever fewer threads. The blocks of the next partition are larger and lie across these faces,
so they do most of it with all threads. The new faces go through the middle of old blocks, where little work
is left. After that only flow that goes farther than half a block remains, and the larger the blocks become,
the less of it there is.

Threads first open the old faces, then close the new ones. They mark in `Forests.queued` each vertex that
can grow and each vertex that has lost its parent. The thread that takes the new block finds the marks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64, ResidualNetwork
from ...kernels.atomics import relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...kernels.two_queues import enqueue
from ...network.arcs import capacity, head, no_arc, opposite
from ...parallel.barrier import wait
from ...parallel.thread_pool import share_of
from ...solving.monitor import Monitor
from ..incremental_search import DEPTH, SINK, SOURCE, Forests, adopt
from .parts import Blocks, Faces, arcs_of, close_face, open_face, runs_of
from .regions import GROWN, Merging

#: Marks in Forests.queued; it is 0 for all vertices before, because the queues are empty.
CAN_GROW, CUT_OFF = np.uint8(4), np.uint8(8)


@kernel
def forest_of(forests: Forests, v: np.uint64) -> Int64:
    """Return the forest that a vertex is in; it must be in one."""
    return SOURCE if forests.label[v] > 0 else SINK


@kernel
def can_grow(net: ResidualNetwork, forests: Forests, v: np.uint64, a: np.uint64) -> tuple[bool, bool]:
    """Return whether the forest of a vertex can grow over an arc, and that of its head the other way."""
    w = head(net, v, a)
    here, there = forests.label[v], forests.label[w]
    ahead = bool(capacity(net, v, w, a, False) > 0)
    back = bool(capacity(net, v, w, a, True) > 0)
    return (
        (ahead and here > 0 and there <= 0) or (back and here < 0 and there >= 0),
        (ahead and there < 0 and here >= 0) or (back and there > 0 and here <= 0),
    )


@kernel
def enqueue_border(net: ResidualNetwork, forests: Forests, faces: Faces, face: np.uint64) -> None:
    """Queue the vertices whose forest can grow over a face that was opened."""
    k, end = arcs_of(faces, face)
    while k < end:
        v, a = np.uint64(faces.tail[k]), np.uint64(faces.name[k])
        here, there = can_grow(net, forests, v, a)
        if here:
            enqueue(forests, v, forest_of(forests, v))
        if there:
            w = head(net, v, a)
            enqueue(forests, w, forest_of(forests, w))
        k += ONE


@kernel
def mark_border(net: ResidualNetwork, forests: Forests, faces: Faces, face: np.uint64) -> None:
    """Mark the vertices whose forest can grow over an opened face; other threads may mark the same ones."""
    k, end = arcs_of(faces, face)
    while k < end:
        v, a = np.uint64(faces.tail[k]), np.uint64(faces.name[k])
        here, there = can_grow(net, forests, v, a)
        if here:
            relaxed_store(forests.queued, v, CAN_GROW)  # mutant: marks-plainly-what-others-mark
        if there:
            relaxed_store(forests.queued, head(net, v, a), CAN_GROW)
        k += ONE


@kernel
def cut_off(forests: Forests, v: np.uint64, a: np.uint64, orphan: np.uint64) -> None:
    """Make a vertex an orphan, and mark it, if arc `a` leads to its parent; `orphan` is the mark.

    Other threads call this for the same vertex and other arcs at the same time.
    """
    # mutant: looks-plainly-at-a-parent-that-another-thread-takes-away
    if forests.label[v] != 0 and np.uint64(relaxed_load(forests.parent, v)) == a:
        relaxed_store(forests.parent, v, orphan)
        forests.queued[v] |= CUT_OFF


@kernel
def cut_trees(net: ResidualNetwork, forests: Forests, faces: Faces, face: np.uint64) -> None:
    """Make orphans of the vertices whose tree arc is in a face that was closed."""
    orphan = no_arc(net) + ONE
    k, end = arcs_of(faces, face)
    while k < end:
        v, a = np.uint64(faces.tail[k]), np.uint64(faces.name[k])
        cut_off(forests, v, a, orphan)
        cut_off(forests, head(net, v, a), opposite(net, a), orphan)
        k += ONE


@kernel
def change_partition(
    first: Merging, second: Merging, forests: Forests, thread: np.uint64, num_threads: np.uint64
) -> bool:
    """Wait for all threads, then open a share of one partition's faces and close a share of another's.

    Return False if the barrier is broken.
    """
    net, faces = first.net, first.faces
    if not wait(first.barrier, num_threads):
        return False
    face, end = share_of(np.uint64(len(faces.ends)), thread, num_threads)
    while face < end:
        open_face(net, faces, face)
        mark_border(net, forests, faces, face)
        face += ONE
    if not wait(first.barrier, num_threads):  # mutant: closes-faces-while-others-open-some
        return False
    faces = second.faces
    face, end = share_of(np.uint64(len(faces.ends)), thread, num_threads)
    while face < end:
        second.regions.weight[face] = close_face(net, faces, face)
        cut_trees(net, forests, faces, face)
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
    net: ResidualNetwork,
    forests: Forests,
    blocks: Blocks,
    block: np.uint64,
    depth: NDArray[np.uint64],
    monitor: Monitor,
) -> np.uint64:
    """Queue the marked vertices of a block that can grow, and find parents for its orphans.

    `depth` has the depths of both forests. Return the number of orphans.
    """
    none = np.uint64(len(forests.label))
    source, sink = none, none
    run, last = runs_of(blocks, block)
    while run < last:
        v, end = np.uint64(blocks.begin[run]), np.uint64(blocks.end[run])
        while v < end:
            marks = forests.queued[v]
            if marks != 0:
                forests.queued[v] = 0
                if marks & CAN_GROW != 0:
                    enqueue(forests, v, forest_of(forests, v))
                if marks & CUT_OFF != 0:
                    if forests.label[v] > 0:
                        forests.next_orphan[v] = source
                        source = v
                    else:
                        forests.next_orphan[v] = sink
                        sink = v
            v += ONE
        run += ONE
    for forest in (SOURCE, SINK):
        forests.cursor[DEPTH + forest] = depth[forest]
    orphans = ZERO
    if source != none:
        orphans += adopt(net, forests, True, np.int64(depth[SOURCE]), source, monitor)
    if sink != none:
        orphans += adopt(net, forests, False, np.int64(depth[SINK]), sink, monitor)
    return orphans
