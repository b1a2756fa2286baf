"""Highest-label push-relabel on many cores, along paths; who activates a vertex holds it.

Every thread runs the serial method on the vertices that it holds, highest label first, along paths of up to
`path_length` arcs (partial augment-relabel, Goldberg 2008). A vertex with excess is held by the thread whose
push raised its excess from zero, so excess is followed, not handed over, and the order of operations stays
close to the serial one, where most of the speed comes from. A thread without work is given half of another's
vertices (Cihan 2010, section 4.7; here of the highest labels). A thread whose vertices all lie below a floor
asks for higher ones, too, before it goes on: it would work near the sink, change distances there, and the
next search would have to find everything beyond anew. The floor begins at the highest vertex of a phase, and
threads that wait in vain lower it.

Only its holder pushes from a vertex, relabels it, and lowers its excess. A vertex that can push to the sink
has height 1: searches give it that, and nobody relabels it before its arc to the sink is saturated. An inner
vertex of a path has no excess; it is held by one unit that is put there by compare-and-exchange, a mark that
the holder takes back. If others have added excess meanwhile, the vertex stays with the holder as an active
one.

Labels are therefore not valid at every moment: w may be relabelled past v just before v's push opens (w, v),
and then (w, v) is steep. Any residual arc to a lower vertex counts as admissible, as in Hong's lock-free
method (2008), and a relabel may lower a label, so that steep arcs are used or mended; a global relabel,
which all threads do together while nothing moves, makes labels exact. A phase between two of them ends when
all threads are idle, or after ``relabel_period * (6 n + m)`` work, less where the last one was cheaper than
that, as it had few vertices to find.

A global relabel starts above the heights that are still exact and ends a quarter farther than the last vertex
with excess; what lies beyond keeps its labels, which are lower bounds. In networks with long distances most
levels lie there. Only a search to the end may end the solve, when it finds no excess that can reach the sink;
one is made when all excess left lies above a gap.

Where levels are narrow, few vertices are active at a time: such networks are left to the serial method.

Gaps: each thread counts how many vertices it has moved to and from every height; the counts of all threads
add up to the vertices of a height. A thread adds them up when it has moved away its share of what was there
the last time, and every time where few are left. So a gap may be found late, or be one for a moment only:
that costs time, no correctness. What stands above an empty height likely cannot reach the sink; since labels
may be invalid for a moment, it is not declared dead but left alone until the next global relabel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.residual import ResidualArrays
from ..kernels.atomics import PADDING, relaxed_load, relaxed_store
from ..kernels.clock import now
from ..kernels.kernel import kernel
from ..parallel.barrier import wait
from ..parallel.queues import Queues, clear, make_queues
from ..parallel.search import has_wide_level, height_not_reached, search_again
from ..parallel.search_state import Search, end_of_block, first_own, make_search, next_block
from ..parallel.team import run_solver
from ..solving.options import check_count, check_positive_integer
from ..solving.run import Control
from ..stats import GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS
from . import serial_highest_label
from .held_vertices import GAP, GIFT, STOPPING, WORK, Stacks, State, put_on_stack
from .options import check_relabel_rule, relabel_limits
from .path_phase import run_phase

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: A global relabel that finds this share of the vertices counts as a whole one, one that finds fewer in
#: proportion, but as this share of a whole one at least.
WHOLE, LEAST = 0.5, 0.3
#: The share of all vertices among which a level must be wide.
PROBED = 1 / 16


@dataclass(frozen=True)
class PathsOptions:
    """Options of multicore push-relabel along paths.

    Attributes
    ----------
    relabel_period : float
        A global relabel is due after ``relabel_period * (6 n + m)`` units of work, or as little as three
        tenths of that where the last one found less than half of the vertices.
    path_length : int
        Number of arcs, at most, over which excess is pushed at once.
    narrow : int
        Where no level near the sink has as many vertices, `serial-hi-pr` solves it; 0 for never.
    """

    relabel_period: float = 1.0
    path_length: int = 4
    narrow: int = 1024

    def __post_init__(self) -> None:
        check_relabel_rule("work", self.relabel_period)
        check_positive_integer("path_length", self.path_length)
        check_count("narrow", self.narrow)


@kernel
def start_phase(
    search: Search,
    net: ResidualArrays,
    state: State,
    queues: Queues,
    thread: Any,
    ceiling: Any,
    trusted: Any,
    touched: Any,
) -> tuple[Stacks, Any]:
    """Reset a thread's share of what a global relabel resets, and give it its share of the active vertices.

    Its vertices come in the order of their numbers, as they lie in memory.

    Returns
    -------
    where the stacks stand, and the greatest height seen
    """
    clear(queues, thread)
    n = np.uint64(len(net.excess))
    if thread == ZERO:
        relaxed_store(state.shared, WORK, 0)
        relaxed_store(state.shared, GAP, n + ONE)
        relaxed_store(state.over, 0, 0)
    row = thread * (n + TWO)
    h = ZERO
    while h <= touched:
        state.population[row + h] = 0
        state.spare[thread, h] = 0
        relaxed_store(state.scarce, h, 0)
        h += ONE
    touched = ZERO
    stacks = Stacks(ZERO, ZERO, ZERO)
    active = 0.0
    block = first_own(search, thread)
    while block < n:
        last = end_of_block(search, block, n)
        v = block
        while v < last:
            state.current[v] = net.first_out[v]
            v += ONE
        v = block
        while v < last:
            h = np.uint64(state.height[v])
            reached = h <= n
            if not reached and trusted > ZERO:
                h = height_not_reached(h, ceiling, n)
                state.height[v] = h
            if h <= n:
                state.population[row + h] += 1
                touched = max(touched, h)
                if reached and net.excess[v] > 0:
                    active += net.excess[v]
                    stacks = put_on_stack(state, thread, v, h, stacks)
            v += ONE
        block = next_block(search, block)
    state.active[thread * PADDING] = active
    state.highest[thread * PADDING] = stacks.top
    return stacks, touched


@kernel
def work_until_search(work_limit: Any, found: Any, num_vertices: Any) -> Any:
    """Return how much work, at least one unit, goes before a search after one that found so many vertices."""
    share = np.float64(found) / (WHOLE * np.float64(num_vertices))
    return np.uint64(max(1.0, np.float64(work_limit) * min(max(share, LEAST), 1.0)))


@kernel
def first_stage(
    search: Search,
    queues: Queues,
    thread: Any,
    net: ResidualArrays,
    state: State,
    longest: Any,
    work_limit: Any,
    stop: Any,
    counts: Any,
    progress: Any,
) -> None:
    """Push excess until none can reach the sink; every thread of the team runs this.

    On return the heights are exact, also when `stop` was raised; but not if the barrier broke.
    """
    num_threads = search.num_threads[0]
    n = np.uint64(len(net.excess))
    touched = ZERO
    exact_below = ZERO
    trusted = ZERO
    while True:
        started = now()
        begin, end, ceiling, pushes = search_again(
            search, thread, net, state.height, exact_below, trusted, True
        )
        counts[PUSHES] += pushes
        own = thread * PADDING
        state.searched[own] = end - begin - search.kept[own]
        stacks, touched = start_phase(search, net, state, queues, thread, ceiling, trusted, touched)
        if thread == ZERO:
            counts[RELABEL_NANOSECONDS] += now() - started
            counts[GLOBAL_RELABELS] += ONE
            relaxed_store(state.shared, STOPPING, relaxed_load(stop, 0))
        if not wait(search.barrier, num_threads):
            return
        active = 0.0
        floor = ZERO
        searched = ZERO
        for other in range(num_threads):
            place = np.uint64(other) * PADDING
            active += state.active[place]
            searched += state.searched[place]
            if num_threads > ONE:
                floor = max(floor, state.highest[place])
        if thread == ZERO:
            progress[0] = active
        stopping = relaxed_load(state.shared, STOPPING) != 0
        if ceiling > n and (active == 0.0 or stopping):
            return
        if not stopping:
            limit = work_until_search(work_limit, searched, n)
            touched = run_phase(
                search, queues, thread, net, state, longest, limit, stop, counts, stacks, touched, floor
            )
        if not wait(search.barrier, num_threads):
            return
        exact_below = ceiling
        for other in range(num_threads):
            exact_below = min(exact_below, state.exact_below[np.uint64(other) * PADDING])
        trusted = ZERO if stopping else min(np.uint64(relaxed_load(state.shared, GAP)), n)


def solve(net: ResidualArrays, options: PathsOptions, control: Control) -> NDArray[Any]:
    """Run the first stage in place, on ``control.threads`` threads.

    Returns
    -------
    height : ndarray, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.

    Notes
    -----
    Memory of four indices a vertex, and for each thread five for every height that occurs.
    """
    n, m = len(net.excess), len(net.head)
    dtype = net.head.dtype
    threads = control.threads
    height = np.empty(n, dtype=dtype)
    search = make_search(threads, n, m, dtype)
    if not has_wide_level(search, net, height, np.uint64(options.narrow), np.uint64(n * PROBED)):
        control.remarks.append("few vertices a level, so serial-hi-pr solved it on one thread")
        return serial_highest_label.solve(net, serial_highest_label.HighestLabelOptions(), control)
    _, work_limit = relabel_limits("work", options.relabel_period, n, m)
    queues = make_queues(threads, threads * GIFT, dtype)
    state = State(
        height=height,
        current=np.empty(n, dtype=dtype),
        active_first=np.empty((threads, n + 2), dtype=dtype),
        active_next=np.empty(n, dtype=dtype),
        population=np.zeros(threads * (n + 2), dtype=np.int64),
        spare=np.zeros((threads, n + 2), dtype=np.int64),
        scarce=np.zeros(n + 2, dtype=np.uint32),
        path=np.empty((threads, max(options.path_length, 2 * int(PADDING))), dtype=dtype),
        active=np.zeros(threads * PADDING, dtype=np.float64),
        highest=np.zeros(threads * PADDING, dtype=np.uint64),
        searched=np.zeros(threads * PADDING, dtype=np.uint64),
        exact_below=np.zeros(threads * PADDING, dtype=np.uint64),
        shared=np.zeros(4 * PADDING, dtype=np.int64),
        over=np.zeros(PADDING, dtype=np.int64),
        delays=control.delays,
    )
    control.excess[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(
            search,
            queues,
            np.uint64(thread),
            net,
            state,
            np.uint64(options.path_length),
            work_limit,
            control.stop,
            control.thread_counts[thread],
            control.excess,
        )

    run_solver(share, control, search.barrier)
    return state.height
