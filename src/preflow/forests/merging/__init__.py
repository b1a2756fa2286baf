"""Adaptive bottom-up merging: blocks are searched alone, then merged with their neighbours, on many cores.

Liu and Sun, "Parallel graph-cuts by adaptive bottom-up merging", CVPR 2010. A grid or another network is
divided into blocks, and the arcs between blocks are closed: their residual capacity is stored elsewhere and
is 0 in the network. Threads search the blocks independently. Then a thread merges two neighbouring idle
regions: it opens the arcs between them and continues the search with the flow and the forests that both have,
until one region is left. The work of a merge is near the border, so merges of many vertices are short.

Definitions
-----------
- A *partition* divides the vertices into *blocks*. There are several partitions, each coarser than the last
  one. A *face* is a set of arcs between two blocks (:mod:`.parts`).
- A *region* is a block of the last partition, or a set of them that were merged (:mod:`.regions`). One thread
  works on a region at a time.

Invariants
----------
- An arc between two regions has residual capacity 0, and so has its opposite. So a search never leaves its
  region.
- When a block or region has been searched, its sink's forest cannot grow, and no vertices are queued. The
  forests satisfy the invariants of :mod:`preflow.forests.incremental_search` within the region.
- While regions are searched, only the thread that works on a region changes `label`, `parent`, `queued` and
  `next_orphan` of its vertices.

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
    if a search may do no more work: give up
    the sink's forest is the sink side of the cut

The budget is that of :mod:`preflow.forests.incremental_search`; each of several threads has half of it. A
method may also limit the operations of all threads together.

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

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...arrays import ResidualNetwork
from ...kernels.atomics import PADDING, fetch_add, relaxed_load, relaxed_store
from ...kernels.clock import now
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...kernels.two_queues import HEAD, LENGTH, dequeue
from ...parallel.barrier import PATIENCE, make_barrier, wait
from ...parallel.delays import delay
from ...parallel.thread_pool import run_solver, share_of
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import PUSHES, RELABELS
from ..incremental_search import (
    DEPTH,
    SINK,
    SOURCE,
    Forests,
    forests_of_part,
    make_forests,
    plant,
    request_push_relabel,
    search,
    set_work_limit,
    with_more_levels,
)
from ..paths import sweep
from .borders import change_partition, enqueue_border, resume_block
from .parts import Blocks, Faces, close_face, open_face, runs_of
from .regions import BLOCKS_TAKEN, CLOSED, GROWN, IDLE, Merging, make_regions, next_region

#: Least number of blocks per thread, unless the option `blocks` of a method is given.
BLOCKS_PER_THREAD = 8
#: Most and fewest vertices of a block. The state of this many pixels stays in a core's cache.
BLOCK, LEAST_BLOCK = 1 << 16, 1 << 12
#: A partition of at most this many blocks is the last one: its blocks are merged.
FEW_BLOCKS = 16
#: Positions in a row of Control.thread_counts: nanoseconds spent on single blocks, and on merges.
BLOCK_NANOSECONDS, MERGE_NANOSECONDS = 10, 11


@kernel
def is_deep(forests: Forests) -> bool:
    """Whether there is no room for more levels."""
    deepest = max(forests.cursor[DEPTH + SOURCE], forests.cursor[DEPTH + SINK])
    return bool(deepest + ONE >= np.uint64(len(forests.first_orphan)))


@kernel
def search_region(merging: Merging, forests: Forests, region: np.uint64, monitor: Monitor) -> bool:
    """Search a region from the queued vertices, then empty the queues.

    Return False if there is no room for more levels, or the thread has made the operations that it may.
    """
    cursor = forests.cursor
    if is_deep(forests) or not search(merging.net, forests, monitor, False):
        return False
    if cursor[LENGTH + SINK] > ZERO and relaxed_load(monitor.stop, ZERO) == 0:
        return False
    for forest in (SOURCE, SINK):
        merging.regions.depth[region, forest] = cursor[DEPTH + forest]
        while cursor[LENGTH + forest] > ZERO:
            dequeue(forests, forest)
        cursor[HEAD + forest] = ZERO
    return True


@kernel
def start_block(merging: Merging, forests: Forests, block: np.uint64, monitor: Monitor) -> None:
    """Make the roots of a block, or prepare the forests that it has from the last partition."""
    net, blocks = merging.net, merging.blocks
    if merging.regions.shared[GROWN] != ZERO:
        depth = merging.regions.depth[block]
        orphans = resume_block(net, forests, blocks, block, depth, monitor)
        monitor.counts[RELABELS] += orphans
        return
    begin, end = runs_of(blocks, block)
    run = begin
    while run < end:
        monitor.counts[PUSHES] += sweep(net, np.uint64(blocks.begin[run]), np.uint64(blocks.end[run]))
        run += ONE
    run = begin
    while run < end:
        plant(net, forests, np.uint64(blocks.begin[run]), np.uint64(blocks.end[run]))
        run += ONE
    forests.cursor[DEPTH + SOURCE] = ONE
    forests.cursor[DEPTH + SINK] = ONE


@kernel
def start_merged(
    merging: Merging, forests: Forests, region: np.uint64, begin: np.uint64, end: np.uint64
) -> None:
    """Open the faces ``closed[begin:end]`` within a region, and queue vertices that can grow over them."""
    closed = merging.regions.closed
    k = begin
    while k < end:
        open_face(merging.net, merging.faces, np.uint64(closed[k]))
        k += ONE
    k = begin
    while k < end:
        enqueue_border(merging.net, forests, merging.faces, np.uint64(closed[k]))
        k += ONE
    for forest in (SOURCE, SINK):
        forests.cursor[DEPTH + forest] = merging.regions.depth[region, forest]


@kernel
def close_faces(merging: Merging, thread: np.uint64, num_threads: np.uint64) -> bool:
    """Close a thread's share of the faces and wait for the others."""
    face, end = share_of(np.uint64(len(merging.faces.ends)), thread, num_threads)
    while face < end:
        merging.regions.weight[face] = close_face(merging.net, merging.faces, face)
        face += ONE
    return wait(merging.barrier, num_threads)


@kernel
def solve_blocks(
    merging: Merging,
    thread: np.uint64,
    forests: Forests,
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
        start_block(merging, forests, region, monitor)
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
        open_face(merging.net, merging.faces, np.uint64(merging.regions.closed[k]))
        k += ONE


@kernel
def work(
    merging: Merging,
    thread: np.uint64,
    forests: Forests,
    region: np.uint64,
    monitor: Monitor,
) -> np.uint64:
    """Search blocks and merge regions until one is left.

    Return the number of blocks when the thread is done. If a search runs out of levels or operations, return
    its region; the caller makes room and passes it back as `region`, which is the number of blocks at first.
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
            start_block(merging, forests, region, monitor)
        else:
            start_merged(merging, forests, region, begin, end)
        if not search_region(merging, forests, region, monitor):
            return region
        monitor.counts[BLOCK_NANOSECONDS if fresh else MERGE_NANOSECONDS] += now() - started


def blocks_wanted(vertices: int, threads: int, asked: int | None) -> int:
    """Return the number of blocks of the first partition."""
    if asked is not None:
        return asked
    return max(1, min(max(BLOCKS_PER_THREAD * threads, vertices // BLOCK), vertices // LEAST_BLOCK))


def search_in_parts(
    net: ResidualNetwork,
    parts: Sequence[tuple[Blocks, Faces]],
    vertices: int,
    degree: int,
    control: Control,
    allow: Callable[[int], bool] = lambda thread: True,
) -> Forests:
    """Make the flow maximum; return the forests, with empty queues of no length.

    `parts` are the partitions, with open faces. Each thread calls ``allow(thread)`` before it begins, and
    when it has made the operations that its counts allow; the answer is whether it may go on. The sink's
    forest is complete, unless the solve is stopped, or a search may do no more, which stops the solve, too.
    """
    num_threads = np.uint64(control.threads)
    barrier = make_barrier(control.threads)
    partitions = [
        Merging(net, blocks, faces, make_regions(len(blocks.first) - 1, faces.ends), barrier, control.delays)
        for blocks, faces in parts
    ]
    forests = make_forests(net, 0)

    def share_of_thread(number: int) -> None:
        thread, monitor = np.uint64(number), control.monitor(number)
        # Entries of the queues that a thread never writes take no memory, only addresses. The padding keeps
        # the cursors of two threads in different cache lines.
        own = forests_of_part(forests, vertices)
        own = own._replace(cursor=np.concatenate([own.cursor, np.zeros(2 * PADDING, dtype=np.uint64)]))
        set_work_limit(own, control.budget, vertices, degree, control.threads)
        if not allow(number):
            request_push_relabel(monitor)

        def run(kernel: Any, merging: Merging) -> None:
            nonlocal own
            none = np.uint64(len(merging.regions.state))
            region = none
            while (region := np.uint64(kernel(merging, thread, own, region, monitor))) != none:
                if is_deep(own):
                    own = with_more_levels(own)
                elif not allow(number):
                    request_push_relabel(monitor)

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
    return forests
