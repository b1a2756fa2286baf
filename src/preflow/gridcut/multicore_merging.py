"""Adaptive bottom-up merging: blocks solved alone, then merged with their neighbours, on many cores.

Liu and Sun, "Parallel graph-cuts by adaptive bottom-up merging", CVPR 2010. The grid is cut into blocks with
the arcs between them closed; each is solved alone. Then two neighbouring regions that nobody works on are
made one: the arcs between them are opened, and the search goes on from there with the flow and the trees that
both have, until one region is left. What is left to do is at the borders, so merges of many pixels are short.

Departures. The search is the incremental breadth-first one of serial_incremental_bfs.py. Where most arcs per
block lead from one region to another is merged first; the authors count arcs only, but small regions first
keeps all threads busy for longer. A closed arc has no residual capacity, so that the search need not know its
region. It leaves the sink's tree complete, so that in the end that is the sink's side, without a search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.integer_grid import IntegerGrid
from ..kernels.atomics import PADDING
from ..kernels.clock import now
from ..kernels.kernel import kernel
from ..parallel.barrier import PATIENCE, make_barrier, wait
from ..parallel.delays import delay
from ..parallel.pieces import run_pieces
from ..parallel.team import run_solver, share_of
from ..solving.options import check_positive
from ..solving.run import Control
from .blocks import Blocks, Faces, block_box, close_face, make_faces, open_face, plan_blocks, row_of, rows_of
from .regions import CLOSED, Regions, make_regions, next_region
from .serial_incremental_bfs import (
    CURSORS,
    DEPTH,
    LENGTH,
    LOWEST,
    SINK,
    SOURCE,
    Trees,
    dequeue,
    enqueue,
    plant,
    push_direct,
    search,
)
from .solution import GridFlow, GridSolution
from .state import GridState, grid_state, index_dtype, padding, reach_sink, solution_of

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Blocks for each thread, at least; where their number is not given.
BLOCKS_PER_THREAD = 8
#: Pixels of a block: at most, since what a search reads of so many stays in a core's cache, and at least.
BLOCK, LEAST_BLOCK = 1 << 16, 1 << 12
#: Positions in a row of Control.thread_counts: nanoseconds for blocks alone, and for merges.
BLOCK_NANOSECONDS, MERGE_NANOSECONDS = 10, 11


@dataclass(frozen=True)
class MergingOptions:
    """Options of the search by blocks.

    Attributes
    ----------
    blocks : int or None
        About how many blocks the grid is cut into; None: as many as suit the threads.
    """

    blocks: int | None = None

    def __post_init__(self) -> None:
        if self.blocks is not None:
            check_positive("blocks", self.blocks)


class Merging(NamedTuple):
    """What the threads share; of `trees` each has its own queues.

    Attributes
    ----------
    boxes : ndarray of int64, shape (threads, 2, ndim)
        Scratch.
    queue, first_orphan, cursor : ndarrays whose first axis is that of the threads
        What each has of its own.
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    state: GridState
    trees: Trees
    blocks: Blocks
    faces: Faces
    regions: Regions
    barrier: NDArray[np.int64]
    stop: NDArray[np.int64]
    counts: NDArray[np.uint64]
    boxes: NDArray[np.int64]
    queue: NDArray[Any]
    first_orphan: NDArray[Any]
    cursor: NDArray[np.uint64]
    delays: Any = None


@kernel
def own_trees(merging: Merging, thread: Any) -> Trees:
    """Return the trees with a thread's own queues."""
    trees = merging.trees
    return Trees(
        trees.label,
        trees.parent,
        trees.queued,
        merging.queue[thread],
        trees.next_orphan,
        merging.first_orphan[thread],
        merging.cursor[thread],
    )


@kernel
def go_on(merging: Merging, thread: Any, trees: Trees, region: Any) -> None:
    """Search in a region from what is in the thread's queues, and empty them."""
    depth = max(trees.cursor[DEPTH + SOURCE], trees.cursor[DEPTH + SINK])
    level = ZERO
    while level <= depth + ONE:
        trees.first_orphan[level] = len(trees.label)
        level += ONE
    search(merging.state, trees, merging.stop, merging.counts[thread])
    for tree in (SOURCE, SINK):
        merging.regions.depth[region, tree] = trees.cursor[DEPTH + tree]
        while trees.cursor[LENGTH + tree] > ZERO:
            dequeue(trees, tree)
        trees.cursor[tree] = ZERO


@kernel
def search_block(merging: Merging, thread: Any, trees: Trees, block: Any) -> None:
    """Solve a block alone."""
    box = merging.boxes[thread]
    block_box(merging.blocks, block, box)
    for row in range(rows_of(box)):
        first, last = row_of(merging.blocks, box, row)
        push_direct(merging.state, first, last)
    for row in range(rows_of(box)):
        first, last = row_of(merging.blocks, box, row)
        plant(merging.state, trees, first, last)
    trees.cursor[DEPTH + SOURCE] = ONE
    trees.cursor[DEPTH + SINK] = ONE
    go_on(merging, thread, trees, block)


@kernel
def wake_border(merging: Merging, trees: Trees, face: Any) -> None:
    """Put those into the queues that can grow over a face that was opened."""
    label, residual, step = trees.label, merging.state.residual, merging.state.step
    degree = np.uint64(len(merging.state.directions))
    d = merging.faces.direction[face]
    for row in range(rows_of(merging.faces.box[face])):
        p, end = row_of(merging.blocks, merging.faces.box[face], row)
        while p < end:
            q = p + step[d]
            here, there = label[p], label[q]
            if residual[p * degree + d] > 0:
                if here > 0 and there <= 0:
                    enqueue(trees, p, SOURCE)
                if there < 0 and here >= 0:
                    enqueue(trees, q, SINK)
            if residual[q * degree + (d ^ ONE)] > 0:
                if there > 0 and here <= 0:
                    enqueue(trees, q, SOURCE)
                if here < 0 and there >= 0:
                    enqueue(trees, p, SINK)
            p += ONE


@kernel
def search_merged(merging: Merging, thread: Any, trees: Trees, region: Any, begin: Any, end: Any) -> None:
    """Open the faces within a region and go on with the search."""
    closed = merging.regions.closed
    k = begin
    while k < end:
        open_face(merging.state, merging.blocks, merging.faces, np.uint64(closed[k]))
        k += ONE
    k = begin
    while k < end:
        wake_border(merging, trees, np.uint64(closed[k]))
        k += ONE
    for tree in (SOURCE, SINK):
        trees.cursor[DEPTH + tree] = merging.regions.depth[region, tree]
    go_on(merging, thread, trees, region)


@kernel
def work(merging: Merging, thread: Any) -> None:
    """Close the faces, solve blocks and merge regions until one is left; one thread's share.

    Where the solve is to stop, the faces that are still closed are opened in the end: then the residual
    capacities belong to a flow.
    """
    num_threads = np.uint64(len(merging.cursor))
    num_faces = np.uint64(len(merging.faces.direction))
    regions, counts = merging.regions, merging.counts
    begin, end = share_of(num_faces, thread, num_threads)
    face = begin
    while face < end:
        regions.weight[face] = close_face(merging.state, merging.blocks, merging.faces, face)
        face += ONE
    if not wait(merging.barrier, num_threads):
        return
    trees = own_trees(merging, thread)
    none = np.uint64(len(regions.state))
    region = none
    while True:
        delay(merging.delays, thread)
        region, begin, end, fresh = next_region(regions, region, merging.barrier[PATIENCE], merging.stop)
        if region == none:
            break
        started = now()
        if fresh:
            search_block(merging, thread, trees, region)
            counts[thread, BLOCK_NANOSECONDS] += now() - started
        else:
            search_merged(merging, thread, trees, region, begin, end)
            counts[thread, MERGE_NANOSECONDS] += now() - started
    if not wait(merging.barrier, num_threads):
        return
    begin, end = share_of(regions.shared[CLOSED], thread, num_threads)
    while begin < end:
        open_face(merging.state, merging.blocks, merging.faces, np.uint64(regions.closed[begin]))
        begin += ONE


def blocks_wanted(pixels: int, threads: int, asked: int | None) -> int:
    """Return into how many blocks a grid is to be cut."""
    if asked is not None:
        return asked
    return max(1, min(max(BLOCKS_PER_THREAD * threads, pixels // BLOCK), pixels // LEAST_BLOCK))


def make_merging(state: GridState, grid: IntegerGrid, options: MergingOptions, control: Control) -> Merging:
    """Return what the threads share before they begin."""
    pixels, size, threads = math.prod(grid.shape), len(state.terminal), control.threads
    blocks = plan_blocks(grid.shape, padding(grid), blocks_wanted(pixels, threads, options.blocks))
    faces = make_faces(blocks, grid.offsets, state.residual.dtype)
    index = index_dtype(size + 1)
    code = np.uint8 if len(state.directions) < 254 else np.uint16
    cursor = np.zeros((threads, max(CURSORS, int(PADDING))), dtype=np.uint64)
    cursor[:, LOWEST] = size
    trees = Trees(
        np.zeros(size, dtype=np.int32),
        np.zeros(size, dtype=code),
        np.zeros(size, dtype=np.uint8),
        np.empty((2, 0), dtype=index),
        np.empty(size, dtype=index),
        np.empty(0, dtype=index),
        cursor[0],
    )
    return Merging(
        state,
        trees,
        blocks,
        faces,
        make_regions(math.prod(blocks.counts.tolist()), faces.ends),
        make_barrier(threads),
        control.stop,
        control.thread_counts,
        np.empty((threads, 2, len(grid.shape)), dtype=np.int64),
        # What a thread never uses of its queues takes no memory, only addresses.
        np.empty((threads, 2, pixels), dtype=index),
        np.empty((threads, 4 * pixels + 3), dtype=index),
        cursor,
        control.delays,
    )


def solve(grid: IntegerGrid, start: GridFlow | None, options: MergingOptions, control: Control) -> GridSolution:
    """Find a minimum cut of a grid.

    Notes
    -----
    Memory beside the state: 14 bytes a pixel, and for each thread up to 8 for the pixels of its region.
    """
    state = grid_state(grid, start, control.threads)
    merging = make_merging(state, grid, options, control)
    run_solver(lambda thread: work(merging, np.uint64(thread)), control, merging.barrier)
    label, terminal = merging.trees.label, state.terminal
    sink_side = np.empty(len(label), dtype=np.bool_)
    if control.stopped:
        reach_sink(state, sink_side, merging.trees.next_orphan)
    else:
        run_pieces(lambda begin, end: np.less(label[begin:end], 0, out=sink_side[begin:end]), len(label), control.threads)

    def is_settled(begin: int, end: int) -> bool:
        return not bool((terminal[begin:end] > 0)[sink_side[begin:end]].any())

    finished = all(run_pieces(is_settled, len(label), control.threads))
    return solution_of(grid, state, sink_side, finished)
