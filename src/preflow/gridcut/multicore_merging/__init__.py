"""Adaptive bottom-up merging: blocks solved alone, then merged with their neighbours, on many cores.

Liu and Sun, "Parallel graph-cuts by adaptive bottom-up merging", CVPR 2010. The grid is cut into blocks with
the arcs between them closed; each is solved alone. Then two neighbouring regions that nobody works on are
made one: the arcs between them are opened, and the search goes on from there with the flow and the trees that
both have, until one region is left. What is left to do is at the borders, so merges of many pixels are short.

Departures. The search is the incremental breadth-first one of growth.py. A closed arc has no residual
capacity, so that the search need not know its region. It leaves the sink's tree complete, so that in the end
that is the sink's side, without a search. Small regions are merged first, where the authors count arcs only:
more threads are busy for longer. Even so the last merges have one thread, and took half the time of a volume.
So all threads go to another partition before, of larger blocks which stand across the faces of the first
ones, and search these with the flow and the trees that are there (borders.py); then to one of larger blocks
still. The few blocks of the last one are merged: a few hundredths of the pushes, where flow goes far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.integer_grid import IntegerGrid
from ...kernels.atomics import PADDING, fetch_add, relaxed_load, relaxed_store
from ...kernels.clock import now
from ...kernels.kernel import kernel
from ...parallel.barrier import PATIENCE, make_barrier, wait
from ...parallel.delays import delay
from ...parallel.pieces import run_pieces
from ...parallel.thread_pool import run_solver, share_of
from ...solving.options import check_flag, check_positive_integer
from ...solving.run import Control
from ...stats import PUSHES, RELABELS
from ..incremental_search import (
    DEPTH,
    HEAD,
    LENGTH,
    ORPHANS_AN_ARC,
    SINK,
    SOURCE,
    Forests,
    be_patient,
    check_patience,
    dequeue,
    hands_over,
    make_forests,
    plant,
    push_on,
    search,
    share,
    sweep,
    with_levels,
)
from ..pixel_major import GridState, deficits_reach, grid_solution, grid_state, interior, padding
from ..solution import GridFlow, GridSolution
from .blocks import (
    Blocks,
    Faces,
    block_box,
    close_face,
    coarser_blocks,
    make_faces,
    open_face,
    plan_blocks,
    row_of,
    rows_of,
)
from .borders import change_partition, go_on_in_block, wake_border
from .regions import BLOCKS_TAKEN, CLOSED, GROWN, IDLE, Regions, make_regions, next_region

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Blocks for each thread, at least; where their number is not given.
BLOCKS_PER_THREAD = 8
#: Pixels of a block: at most, since what a search reads of so many stays in a core's cache, and at least.
BLOCK, LEAST_BLOCK = 1 << 16, 1 << 12
#: So many blocks, or fewer, are merged two by two.
FEW_BLOCKS = 16
#: Positions in a row of Control.thread_counts: nanoseconds for blocks alone, and for merges.
BLOCK_NANOSECONDS, MERGE_NANOSECONDS = 10, 11


@dataclass(frozen=True)
class MergingOptions:
    """Options of the search by blocks.

    Attributes
    ----------
    blocks : int or None
        About how many blocks the grid is cut into; None: as many as suit the threads.
    repartition : bool
        Search larger blocks that stand across the faces of the last ones until there are few, which are then
        merged.
    patience : float or None
        As for "serial-incremental-bfs"; each of several threads may take half of it.
    """

    blocks: int | None = None
    repartition: bool = True
    patience: float | None = ORPHANS_AN_ARC

    def __post_init__(self) -> None:
        check_patience(self.patience)
        check_flag("repartition", self.repartition)
        if self.blocks is not None:
            check_positive_integer("blocks", self.blocks)


class Merging(NamedTuple):
    """What the threads share.

    Attributes
    ----------
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    state: GridState
    blocks: Blocks
    faces: Faces
    regions: Regions
    barrier: NDArray[np.int64]
    stop: NDArray[np.int64]
    counts: NDArray[np.uint64]
    delays: Any = None


@kernel
def go_on(merging: Merging, thread: Any, forests: Forests, region: Any) -> bool:
    """Search a region from what is in the queues, and empty these; whether there was room for the levels."""
    cursor = forests.cursor
    if max(cursor[DEPTH + SOURCE], cursor[DEPTH + SINK]) + ONE >= np.uint64(len(forests.first_orphan)):
        return False
    if not search(merging.state, forests, merging.stop, merging.counts[thread]):
        return False
    for forest in (SOURCE, SINK):
        merging.regions.depth[region, forest] = cursor[DEPTH + forest]
        while cursor[LENGTH + forest] > ZERO:
            dequeue(forests, forest)
        cursor[HEAD + forest] = ZERO
    return True


@kernel
def begin_block(merging: Merging, thread: Any, forests: Forests, box: Any, block: Any) -> None:
    """Plant the forests of a block, or make those that it has from another partition ready to grow."""
    block_box(merging.blocks, block, box)
    if merging.regions.shared[GROWN] != ZERO:
        depth = merging.regions.depth[block]
        orphans = go_on_in_block(merging.state, forests, merging.blocks, box, depth, merging.stop)
        merging.counts[thread, RELABELS] += orphans
        return
    for row in range(rows_of(box)):
        first, last = row_of(merging.blocks, box, row)
        forests.label[first:last] = 0
        forests.queued[first:last] = 0
        merging.counts[thread, PUSHES] += sweep(merging.state, first, last)
    for row in range(rows_of(box)):
        first, last = row_of(merging.blocks, box, row)
        plant(merging.state, forests, first, last)
    forests.cursor[DEPTH + SOURCE] = ONE
    forests.cursor[DEPTH + SINK] = ONE


@kernel
def begin_merged(merging: Merging, forests: Forests, region: Any, begin: Any, end: Any) -> None:
    """Open the faces within a region that stand in ``closed[begin:end]``."""
    closed = merging.regions.closed
    k = begin
    while k < end:
        open_face(merging.state, merging.faces, np.uint64(closed[k]))
        k += ONE
    k = begin
    while k < end:
        wake_border(merging.state, forests, merging.faces, np.uint64(closed[k]))
        k += ONE
    for forest in (SOURCE, SINK):
        forests.cursor[DEPTH + forest] = merging.regions.depth[region, forest]


@kernel
def close_faces(merging: Merging, thread: Any, num_threads: Any) -> bool:
    """Close a thread's share of the faces and wait for the others."""
    face, end = share_of(np.uint64(len(merging.faces.direction)), thread, num_threads)
    while face < end:
        merging.regions.weight[face] = close_face(merging.state, merging.blocks, merging.faces, face)
        face += ONE
    return wait(merging.barrier, num_threads)


@kernel
def solve_blocks(merging: Merging, thread: Any, forests: Forests, box: Any, region: Any) -> Any:
    """Solve blocks alone, one thread's share; returns as :func:`work` does."""
    regions = merging.regions
    none = np.uint64(len(regions.state))
    if region != none and not go_on(merging, thread, forests, region):
        return region
    region = np.uint64(fetch_add(regions.shared, BLOCKS_TAKEN, 1))
    while region < none and relaxed_load(merging.stop, ZERO) == 0:
        started = now()
        begin_block(merging, thread, forests, box, region)
        if not go_on(merging, thread, forests, region):
            return region
        relaxed_store(regions.state, region, IDLE)
        merging.counts[thread, BLOCK_NANOSECONDS] += now() - started
        region = np.uint64(fetch_add(regions.shared, BLOCKS_TAKEN, 1))
    return none


@kernel
def open_faces(merging: Merging, thread: Any, num_threads: Any) -> None:
    """Wait for all threads, and open what is still closed: the solve was stopped."""
    if not wait(merging.barrier, num_threads):
        return
    k, end = share_of(merging.regions.shared[CLOSED], thread, num_threads)
    while k < end:
        open_face(merging.state, merging.faces, np.uint64(merging.regions.closed[k]))
        k += ONE


@kernel
def work(merging: Merging, thread: Any, forests: Forests, box: Any, region: Any) -> Any:
    """Solve blocks and merge regions until one is left; one thread's share.

    Returns the number of blocks, or a region whose search lacks room for levels: the `region` to go on
    with, at first the number of blocks.
    """
    regions, counts = merging.regions, merging.counts
    none = np.uint64(len(regions.state))
    if region != none and not go_on(merging, thread, forests, region):
        return region
    while True:
        delay(merging.delays, thread)
        region, begin, end, fresh = next_region(regions, region, merging.barrier[PATIENCE], merging.stop)
        if region == none:
            return none
        started = now()
        if fresh:
            begin_block(merging, thread, forests, box, region)
        else:
            begin_merged(merging, forests, region, begin, end)
        if not go_on(merging, thread, forests, region):
            return region
        counts[thread, BLOCK_NANOSECONDS if fresh else MERGE_NANOSECONDS] += now() - started


def blocks_wanted(pixels: int, threads: int, asked: int | None) -> int:
    """Return into how many blocks a grid is to be cut."""
    if asked is not None:
        return asked
    return max(1, min(max(BLOCKS_PER_THREAD * threads, pixels // BLOCK), pixels // LEAST_BLOCK))


def merge(
    partitions: list[Merging],
    forests: Forests,
    pixels: int,
    patience: float | None,
    control: Control,
) -> None:
    """Make the flow maximal and the sink's forest complete, unless the solve is stopped.

    It is also stopped when a thread's searches have used up their patience.
    """
    num_threads = np.uint64(control.threads)
    axes = len(partitions[0].blocks.shape)
    barrier = partitions[0].barrier

    def share_of_thread(number: int) -> None:
        thread = np.uint64(number)
        # What a thread never uses of its queues takes no memory, only addresses. What it counts is apart from
        # what others do.
        own = share(forests, pixels)
        own = own._replace(cursor=np.concatenate([own.cursor, np.zeros(2 * PADDING, dtype=np.uint64)]))
        be_patient(own, patience, pixels, len(partitions[0].state.step), control.threads)
        scratch = np.empty(2 * int(PADDING) * axes, dtype=np.int64)
        box = scratch[: 2 * axes].reshape(2, axes)

        def run(kernel: Any, merging: Merging) -> None:
            nonlocal own
            none = np.uint64(len(merging.regions.state))
            region = none
            while (region := np.uint64(kernel(merging, thread, own, box, region))) != none:
                own = with_levels(own)

        last = partitions[0]
        if not close_faces(last, thread, num_threads):
            return
        for following in partitions[1:]:
            run(solve_blocks, last)
            if not change_partition(last, following, own, thread, num_threads):
                return
            last = following
            while len(own.first_orphan) <= int(last.regions.depth.max()) + 1:
                own = with_levels(own)
        run(work, last)
        open_faces(last, thread, num_threads)

    run_solver(share_of_thread, control, barrier)


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: MergingOptions, control: Control
) -> GridSolution:
    """Find a minimum cut of a grid.

    Notes
    -----
    Memory beside the state: 10 bytes a pixel, those of closed arcs, and for each thread up to 8 for each
    pixel of its region.
    """
    state = grid_state(grid, start, control.threads)
    first, last = map(int, interior(grid))
    wanted = blocks_wanted(last - first, control.threads, options.blocks)
    barrier = make_barrier(control.threads)

    def partition(blocks: Blocks) -> Merging:
        faces = make_faces(blocks, grid.offsets, state.residual.dtype)
        regions = make_regions(math.prod(blocks.counts.tolist()), faces.ends)
        return Merging(
            state, blocks, faces, regions, barrier, control.stop, control.thread_counts, control.delays
        )

    blocks = plan_blocks(grid.shape, padding(grid), wanted)
    partitions = [partition(blocks)]
    while options.repartition and blocks.counts.prod() > FEW_BLOCKS:
        blocks = coarser_blocks(blocks)
        partitions.append(partition(blocks))
    forests = make_forests(state, 0)
    merge(partitions, forests, last - first, options.patience, control)
    if hands_over(control):
        return push_on(grid, state, control)
    if control.stopped:
        control.check_wanted()
        sink_side = deficits_reach(grid, state)
        settled = not bool((state.terminal[first:last][sink_side] > 0).any())
        return grid_solution(grid, state, sink_side, settled)
    label = forests.label[first:last]
    sink_side = np.empty(last - first, dtype=np.bool_)

    def mark(begin: int, end: int) -> None:
        np.less(label[begin:end], 0, out=sink_side[begin:end])

    run_pieces(mark, last - first, control.threads)
    return grid_solution(grid, state, sink_side, True)
