"""Adaptive bottom-up merging: blocks are searched alone, then merged with their neighbours, on many cores.

Liu and Sun, "Parallel graph-cuts by adaptive bottom-up merging", CVPR 2010. The grid is divided into blocks,
and the arcs between blocks are closed: their residual capacity is stored elsewhere and is 0 in the grid.
Threads search the blocks independently. Then a thread merges two neighbouring idle regions: it opens the arcs
between them and continues the search with the flow and the forests that both have, until one region is left.
The work of a merge is near the border, so merges of many pixels are short.

Definitions
-----------
- A *block* is a box of the grid (:mod:`.blocks`). A *face* is the set of arcs of one direction between two
  blocks.
- A *partition* is a set of blocks that cover the grid. There are several, each coarser than the last one.
- A *region* is a block of the last partition, or a set of them that were merged (:mod:`.regions`). One thread
  works on a region at a time.

Invariants
----------
- An arc between two regions has residual capacity 0, and so has its opposite. So a search never leaves its
  region.
- When a block or region has been searched, its sink's forest cannot grow, and there are no queued pixels. The
  forests satisfy the invariants of :mod:`preflow.forests.incremental_search` within the region.
- While regions are searched, only the thread that works on a region changes `label`, `parent`, `queued` and
  `next_orphan` of its pixels.

Pseudo-code
-----------
::

    each thread:
        close its share of the faces of the first partition; wait
        for each following partition:
            while there are blocks nobody has searched: take one, search it             solve_blocks
            wait; open the faces of the old partition; wait; close those of the new one change_partition
        repeat:                                                                         work
            take a block nobody has searched, and search it;
            else take two neighbouring idle regions, open the faces between them, and search both as one
        until one region is left
    if a search reached its work limit: give up
    the sink's forest is the sink side of the cut

The budget is that of :mod:`preflow.gridcut.serial_incremental_bfs`; each of several threads has half of it.

Departures from the paper
-------------------------
- The search is incremental breadth-first search. It leaves the sink's forest complete, so that forest is the
  sink side in the end, without another search.
- Small regions are merged first; the paper compares the number of arcs only. More threads have work for
  longer.
- Even so one thread did the last merges, and they took half the time of a volume. Therefore all threads first
  go to another partition. Its blocks are larger and lie across the faces of the last one; the threads search
  them starting from the flow and the forests that exist (:mod:`.borders`). This repeats until there are few
  blocks. Merging these takes a few hundredths of all pushes, where flow goes far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forests.incremental_search import (
    DEPTH,
    SINK,
    SOURCE,
    Forests,
    check_work_limit,
    forests_of_part,
    make_forests,
    plant,
    search,
    set_work_limit,
    with_more_levels,
)
from ...graph.integer_grid import IntegerGrid
from ...kernels.atomics import PADDING, fetch_add, relaxed_load, relaxed_store
from ...kernels.clock import now
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...kernels.two_queues import HEAD, LENGTH, dequeue
from ...parallel.barrier import PATIENCE, make_barrier, wait
from ...parallel.delays import delay
from ...parallel.pieces import run_pieces
from ...parallel.thread_pool import run_solver, share_of
from ...solving.monitor import Monitor
from ...solving.options import CheckedOptions, PositiveInteger
from ...solving.run import Control
from ...stats import PUSHES, RELABELS
from ..pixel_major import GridState, deficits_reach, grid_solution, grid_state, interior, sweep
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
from .borders import change_partition, enqueue_border, resume_block
from .regions import BLOCKS_TAKEN, CLOSED, GROWN, IDLE, Regions, make_regions, next_region

#: Least number of blocks per thread, unless the option `blocks` is given.
BLOCKS_PER_THREAD = 8
#: Most and fewest pixels of a block. The state of this many pixels stays in a core's cache.
BLOCK, LEAST_BLOCK = 1 << 16, 1 << 12
#: A partition of at most this many blocks is the last one: its blocks are merged.
FEW_BLOCKS = 16
#: Positions in a row of Control.thread_counts: nanoseconds spent on single blocks, and on merges.
BLOCK_NANOSECONDS, MERGE_NANOSECONDS = 10, 11


@dataclass(frozen=True)
class MergingOptions(CheckedOptions):
    """Options of adaptive bottom-up merging.

    Attributes
    ----------
    blocks : int or None
        Approximate number of blocks of the first partition; None chooses it from the grid and the threads.
    repartition : bool
        Search coarser partitions, each across the faces of the last one, until there are few blocks; then
        merge. False merges the blocks of the first partition.
    """

    blocks: PositiveInteger | None = None
    repartition: bool = True


class Merging(NamedTuple):
    """The state of one partition; all threads share it."""

    state: GridState
    blocks: Blocks
    faces: Faces
    regions: Regions
    barrier: NDArray[np.int64]
    delays: NDArray[np.uint64] | None = None  #: delays for stress tests, see parallel/delays.py


@kernel
def search_region(merging: Merging, forests: Forests, region: np.uint64, monitor: Monitor) -> bool:
    """Search a region from the queued pixels, then empty the queues; return False if levels ran out."""
    cursor = forests.cursor
    if max(cursor[DEPTH + SOURCE], cursor[DEPTH + SINK]) + ONE >= np.uint64(len(forests.first_orphan)):
        return False
    if not search(merging.state, forests, monitor, False):
        return False
    for forest in (SOURCE, SINK):
        merging.regions.depth[region, forest] = cursor[DEPTH + forest]
        while cursor[LENGTH + forest] > ZERO:
            dequeue(forests, forest)
        cursor[HEAD + forest] = ZERO
    return True


@kernel
def start_block(
    merging: Merging, forests: Forests, box: NDArray[np.int64], block: np.uint64, monitor: Monitor
) -> None:
    """Make the roots of a block, or prepare the forests that it has from the last partition."""
    block_box(merging.blocks, block, box)
    if merging.regions.shared[GROWN] != ZERO:
        depth = merging.regions.depth[block]
        orphans = resume_block(merging.state, forests, merging.blocks, box, depth, monitor)
        monitor.counts[RELABELS] += orphans
        return
    for row in range(rows_of(box)):
        first, last = row_of(merging.blocks, box, row)
        forests.label[first:last] = 0
        forests.queued[first:last] = 0
        monitor.counts[PUSHES] += sweep(merging.state, first, last)
    for row in range(rows_of(box)):
        first, last = row_of(merging.blocks, box, row)
        plant(merging.state, forests, first, last)
    forests.cursor[DEPTH + SOURCE] = ONE
    forests.cursor[DEPTH + SINK] = ONE


@kernel
def start_merged(
    merging: Merging, forests: Forests, region: np.uint64, begin: np.uint64, end: np.uint64
) -> None:
    """Open the faces ``closed[begin:end]`` within a region, and queue the pixels that can grow over them."""
    closed = merging.regions.closed
    k = begin
    while k < end:
        open_face(merging.state, merging.faces, np.uint64(closed[k]))
        k += ONE
    k = begin
    while k < end:
        enqueue_border(merging.state, forests, merging.faces, np.uint64(closed[k]))
        k += ONE
    for forest in (SOURCE, SINK):
        forests.cursor[DEPTH + forest] = merging.regions.depth[region, forest]


@kernel
def close_faces(merging: Merging, thread: np.uint64, num_threads: np.uint64) -> bool:
    """Close a thread's share of the faces and wait for the others."""
    face, end = share_of(np.uint64(len(merging.faces.direction)), thread, num_threads)
    while face < end:
        merging.regions.weight[face] = close_face(merging.state, merging.blocks, merging.faces, face)
        face += ONE
    return wait(merging.barrier, num_threads)


@kernel
def solve_blocks(
    merging: Merging,
    thread: np.uint64,
    forests: Forests,
    box: NDArray[np.int64],
    region: np.uint64,
    monitor: Monitor,
) -> np.uint64:
    """Search blocks that nobody has searched; take the arguments of :func:`work` and return as it does."""
    regions = merging.regions
    none = np.uint64(len(regions.state))
    if region != none and not search_region(merging, forests, region, monitor):
        return region
    region = np.uint64(fetch_add(regions.shared, BLOCKS_TAKEN, 1))
    while region < none and relaxed_load(monitor.stop, ZERO) == 0:
        started = now()
        start_block(merging, forests, box, region, monitor)
        if not search_region(merging, forests, region, monitor):
            return region
        relaxed_store(regions.state, region, IDLE)
        monitor.counts[BLOCK_NANOSECONDS] += now() - started
        region = np.uint64(fetch_add(regions.shared, BLOCKS_TAKEN, 1))
    return none


@kernel
def open_faces(merging: Merging, thread: np.uint64, num_threads: np.uint64) -> None:
    """Wait for all threads, then open a share of the faces that a stopped solve has left closed."""
    if not wait(merging.barrier, num_threads):
        return
    k, end = share_of(merging.regions.shared[CLOSED], thread, num_threads)
    while k < end:
        open_face(merging.state, merging.faces, np.uint64(merging.regions.closed[k]))
        k += ONE


@kernel
def work(
    merging: Merging,
    thread: np.uint64,
    forests: Forests,
    box: NDArray[np.int64],
    region: np.uint64,
    monitor: Monitor,
) -> np.uint64:
    """Search blocks and merge regions until one is left.

    Return the number of blocks when the thread is done. If a search runs out of levels, return its region;
    the caller makes room and passes it back as `region`, which is the number of blocks at first.
    """
    regions = merging.regions
    none = np.uint64(len(regions.state))
    if region != none and not search_region(merging, forests, region, monitor):
        return region
    while True:
        delay(merging.delays, thread)
        region, begin, end, fresh = next_region(regions, region, merging.barrier[PATIENCE], monitor)
        if region == none:
            return none
        started = now()
        if fresh:
            start_block(merging, forests, box, region, monitor)
        else:
            start_merged(merging, forests, region, begin, end)
        if not search_region(merging, forests, region, monitor):
            return region
        monitor.counts[BLOCK_NANOSECONDS if fresh else MERGE_NANOSECONDS] += now() - started


def blocks_wanted(pixels: int, threads: int, asked: int | None) -> int:
    """Return the number of blocks of the first partition."""
    if asked is not None:
        return asked
    return max(1, min(max(BLOCKS_PER_THREAD * threads, pixels // BLOCK), pixels // LEAST_BLOCK))


def merge(
    partitions: list[Merging],
    forests: Forests,
    pixels: int,
    control: Control,
) -> None:
    """Make the flow maximum and the sink's forest complete, unless the solve is stopped.

    A search that reaches its work limit stops the solve, too.
    """
    num_threads = np.uint64(control.threads)
    axes = len(partitions[0].blocks.shape)
    barrier = partitions[0].barrier

    def share_of_thread(number: int) -> None:
        thread, monitor = np.uint64(number), control.monitor(number)
        # Entries of the queues that a thread never writes take no memory, only addresses. The padding keeps
        # the cursors of two threads in different cache lines.
        own = forests_of_part(forests, pixels)
        own = own._replace(cursor=np.concatenate([own.cursor, np.zeros(2 * PADDING, dtype=np.uint64)]))
        set_work_limit(own, control.budget, pixels, len(partitions[0].state.step), control.threads)
        scratch = np.empty(2 * int(PADDING) * axes, dtype=np.int64)
        box = scratch[: 2 * axes].reshape(2, axes)

        def run(kernel: Any, merging: Merging) -> None:
            nonlocal own
            none = np.uint64(len(merging.regions.state))
            region = none
            while (region := np.uint64(kernel(merging, thread, own, box, region, monitor))) != none:
                own = with_more_levels(own)

        last = partitions[0]
        if not close_faces(last, thread, num_threads):
            return
        for following in partitions[1:]:
            run(solve_blocks, last)
            if not change_partition(last, following, own, thread, num_threads):
                return
            last = following
            while len(own.first_orphan) <= int(last.regions.depth.max()) + 1:
                own = with_more_levels(own)
        run(work, last)
        open_faces(last, thread, num_threads)

    run_solver(share_of_thread, control, barrier)


def search_in_blocks(
    state: GridState,
    shape: tuple[int, ...],
    offsets: NDArray[np.int64],
    options: MergingOptions,
    control: Control,
) -> Forests:
    """Make the flow of a state maximum; return the forests, with empty queues of no length.

    The sink's forest is complete, unless the solve is stopped, or its work limit is reached.
    """
    pixels = math.prod(shape)
    barrier = make_barrier(control.threads)

    def partition(blocks: Blocks) -> Merging:
        faces = make_faces(blocks, offsets, state.residual.dtype)
        regions = make_regions(math.prod(blocks.counts.tolist()), faces.ends)
        return Merging(state, blocks, faces, regions, barrier, control.delays)

    pad = (len(state.terminal) - pixels) // 2
    blocks = plan_blocks(shape, pad, blocks_wanted(pixels, control.threads, options.blocks))
    partitions = [partition(blocks)]
    while options.repartition and blocks.counts.prod() > FEW_BLOCKS:
        blocks = coarser_blocks(blocks)
        partitions.append(partition(blocks))
    forests = make_forests(state, 0)
    merge(partitions, forests, pixels, control)
    return forests


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: MergingOptions, control: Control
) -> GridSolution:
    """Find a minimum cut of a grid.

    Memory beside the state: 10 bytes per pixel, the capacities of closed arcs, and for each thread up to 8
    bytes per pixel of its region.
    """
    state = grid_state(grid, start, control.threads)
    first, last = map(int, interior(grid))
    forests = search_in_blocks(state, tuple(grid.shape), grid.offsets, options, control)
    check_work_limit(control, state)
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
