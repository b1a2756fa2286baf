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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.residual import ResidualArrays
from ..kernels.atomics import (
    PADDING,
    compare_exchange,
    fetch_add,
    fetch_min,
    load,
    prefetch,
    prefetch_to_write,
    relaxed_load,
    relaxed_store,
)
from ..kernels.clock import now
from ..kernels.kernel import kernel
from ..kernels.relabel import RELABEL_WORK
from ..parallel.barrier import rest, wait
from ..parallel.delays import delay
from ..parallel.idle import (
    EMPTY,
    HOLDING,
    Idle,
    all_empty,
    become_idle,
    claim,
    claim_idle,
    say_given,
    was_given,
)
from ..parallel.queues import Queues, append, clear, make_queues, pop, size
from ..parallel.search import (
    Search,
    end_of_block,
    first_own,
    has_wide_level,
    height_not_reached,
    make_search,
    next_block,
    search_again,
)
from ..parallel.thread_pool import run_solver
from ..solving.options import check_count, check_positive_integer
from ..solving.run import Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS, STEALS, WAITS
from . import serial_highest_label
from .relabel_rule import check_relabel_rule, relabel_limits

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: Vertices that are given at once, at most.
GIFT = 16
#: A thread that waits lowers the floor after so many nanoseconds, by one and by this share of it.
FLOOR_WAIT, FLOOR_STEP = np.uint64(2000), np.uint64(64)
#: Positions in State.shared.
WORK, GAP, STOPPING, FLOOR = (np.uint64(k) * PADDING for k in range(4))
#: Work that a thread keeps to itself before it adds it to the common count.
WORK_QUANTUM = np.uint64(4096)
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


class State(NamedTuple):
    """What the threads share beside the residual network and their team.

    Attributes
    ----------
    height, current : ndarray, shape (n,)
        Distance labels and current arcs.
    active_first : ndarray, shape (threads, n + 2)
        For each thread the top of its stack of active vertices of a height; n where empty.
    active_next : ndarray, shape (n,)
    population : ndarray of int64, shape (threads * (n + 2),)
        How many vertices each thread has counted at a height, less those it has moved away from there.
    spare : ndarray of int64, shape (threads, n + 2)
        How many vertices a thread may move away from a height before the counts are added up.
    scarce : ndarray of uint32, shape (n + 2,)
        Whether the counts of a height are added up every time.
    path : ndarray, shape (threads, at least path_length)
    active : ndarray of float64, shape (threads * PADDING,)
        Excess that each thread found on active vertices after the last global relabel.
    highest : ndarray of uint64, shape (threads * PADDING,)
        The greatest height of an active vertex that each thread held then.
    searched : ndarray of uint64, shape (threads * PADDING,)
        How many vertices of each thread it found anew.
    exact_below : ndarray of uint64, shape (threads * PADDING,)
        The least height, of the last global relabel, at which a thread has since changed a distance.
    shared : ndarray of int64
        WORK since the last global relabel; GAP: the lowest height found empty; STOPPING: the solve ends;
        FLOOR: the height below which vertices wait while there are higher ones.
    over : ndarray of int64
        Whether the phase is over.
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    height: NDArray[Any]
    current: NDArray[Any]
    active_first: NDArray[Any]
    active_next: NDArray[Any]
    population: NDArray[Any]
    spare: NDArray[Any]
    scarce: NDArray[Any]
    path: NDArray[Any]
    active: NDArray[Any]
    highest: NDArray[Any]
    searched: NDArray[Any]
    exact_below: NDArray[Any]
    shared: NDArray[Any]
    over: NDArray[Any]
    delays: Any = None


class Stacks(NamedTuple):
    """Where a thread's stacks of active vertices stand.

    Attributes
    ----------
    opened : the greatest height whose stack is valid
    held : the number of vertices on the stacks
    top : the greatest height whose stack may hold a vertex
    """

    opened: Any
    held: Any
    top: Any


@kernel
def put_on_stack(state: State, thread: Any, v: Any, h: Any, stacks: Stacks) -> Stacks:
    """Put a vertex that the thread holds, of height `h`, on its stack."""
    first = state.active_first
    opened = stacks.opened
    while opened < h:
        opened += ONE
        first[thread, opened] = len(state.height)
    state.active_next[v] = first[thread, h]
    first[thread, h] = v
    return Stacks(opened, stacks.held + ONE, max(stacks.top, h))


@kernel
def release(net: ResidualArrays, state: State, thread: Any, v: Any, amount: Any, stacks: Stacks) -> Stacks:
    """Add to the excess of a vertex that the thread holds; keep it on a stack if it then has any."""
    delay(state.delays, thread)
    if fetch_add(net.excess, v, amount) + amount > 0:
        h = np.uint64(state.height[v])
        if h <= np.uint64(len(state.height)):
            return put_on_stack(state, thread, v, h, stacks)
    return stacks


@kernel
def change_level(state: State, thread: Any, num_threads: Any, previous: Any, h: Any) -> None:
    """Count a vertex at its new height; where it was the last one of the previous, lower the gap to there."""
    n = np.uint64(len(state.height))
    stride = n + TWO
    row = thread * stride
    if h <= n:
        relaxed_store(state.population, row + h, state.population[row + h] + 1)
    relaxed_store(state.population, row + previous, state.population[row + previous] - 1)
    state.spare[thread, previous] -= 1
    if previous >= np.uint64(relaxed_load(state.shared, GAP)):
        return
    scarce = relaxed_load(state.scarce, previous) != 0
    if scarce or state.spare[thread, previous] <= 0:
        left = np.int64(0)
        place = previous
        for _ in range(num_threads):
            left += relaxed_load(state.population, place)
            place += stride
        if left <= 0:
            fetch_min(state.shared, GAP, previous)
        few = left <= np.int64(num_threads)
        if scarce != few:
            relaxed_store(state.scarce, previous, few)
        state.spare[thread, previous] = left // np.int64(num_threads)


@kernel
def give_highest(state: State, queues: Queues, thread: Any, level: Any, stacks: Stacks) -> Stacks:
    """Hand active vertices to an idle thread: keep as many of the highest, up to half, and give what follows.

    Neighbours on a stack are often neighbours in the network, so they stay together. What is below the floor
    is not given.
    """
    n = np.uint64(len(state.height))
    floor = max(np.uint64(relaxed_load(state.shared, FLOOR)), ONE)
    other = thread
    most = min(stacks.held // TWO, np.uint64(GIFT))
    given = ZERO
    seen = ZERO
    while level >= floor and given < most:
        v = np.uint64(state.active_first[thread, level])
        kept = n
        while v != n and given < most:
            following = np.uint64(state.active_next[v])
            if seen < most:
                kept = v
            else:
                if other == thread:
                    other = claim_idle(queues.idle, thread)
                    if other == thread:
                        return stacks
                append(queues, other, v)
                given += ONE
                if kept == n:
                    state.active_first[thread, level] = following
                else:
                    state.active_next[kept] = following
            seen += ONE
            v = following
        level -= ONE
    if other != thread:
        say_given(queues.idle, other)
    return Stacks(stacks.opened, stacks.held - given, stacks.top)


@kernel
def wait_for_higher(state: State, idle: Idle, thread: Any, level: Any, stop: Any) -> bool:
    """Wait for a gift, or until the floor comes down to `level`.

    That is the height of the thread's highest vertex; 0 where it has none.

    Returns
    -------
    goes_on : bool
        False if no thread has anything left, or the phase is over or stopped.
    """
    become_idle(idle, thread, EMPTY if level == ZERO else HOLDING)
    looks = 0
    until = now() + FLOOR_WAIT
    while not was_given(idle, thread):
        if all_empty(idle) or relaxed_load(state.over, ZERO) != 0 or relaxed_load(stop, ZERO) != 0:
            return False
        floor = np.uint64(relaxed_load(state.shared, FLOOR))
        if level > ZERO and level >= floor:
            if claim(idle, thread):
                return True
        elif floor > ONE and (looks >= idle.patience[0] or now() >= until):
            fetch_min(state.shared, FLOOR, max(level, floor - floor // FLOOR_STEP - ONE, ONE))
            until = now() + FLOOR_WAIT
        looks = rest(looks, idle.patience[0])
    return True


@kernel
def take_gift(state: State, queues: Queues, thread: Any, stacks: Stacks) -> Stacks:
    """Put what was given to the thread on its stacks."""
    while size(queues, thread) > ZERO:
        v = pop(queues, thread)
        stacks = put_on_stack(state, thread, v, np.uint64(relaxed_load(state.height, v)), stacks)
    return stacks


@kernel
def push_along_path(
    net: ResidualArrays,
    state: State,
    thread: Any,
    depth: Any,
    carried: Any,
    exact_below: Any,
    stacks: Stacks,
) -> tuple[Any, Any, Stacks]:
    """Push as much of what is carried as each arc on its way along the thread's path takes.

    The inner vertices of the path are released. Nobody else changes an arc between two vertices of it.

    Returns
    -------
    what the first vertex sent, the height below which all heights stay exact, and where the stacks stand
    """
    sent = carried
    i = ZERO
    while True:
        v = np.uint64(state.path[thread, i])
        h = np.uint64(state.height[v])
        to_sink = h == ONE and net.sink_residual[v] > 0
        if to_sink:
            capacity = net.sink_residual[v]
            amount = min(carried, capacity)
            net.sink_residual[v] = capacity - amount
        else:
            a = np.uint64(state.current[v])
            b = np.uint64(net.reverse[a])
            capacity = np.int64(relaxed_load(net.residual, a))
            amount = min(carried, capacity)
            delay(state.delays, thread)
            if i < depth:
                relaxed_store(net.residual, a, capacity - amount)
                back = relaxed_load(net.residual, b)
                relaxed_store(net.residual, b, back + amount)
            else:
                fetch_add(net.residual, a, -amount)
                fetch_add(net.residual, b, amount)
        if amount == capacity and (i > ZERO or amount == carried):
            exact_below = min(exact_below, h)
        if i == ZERO:
            sent = amount
        else:
            stacks = release(net, state, thread, v, carried - amount - 1, stacks)
        carried = amount
        if to_sink:
            break
        if i == depth:
            w = np.uint64(net.head[a])
            delay(state.delays, thread)
            if fetch_add(net.excess, w, carried) == 0:
                h = np.uint64(relaxed_load(state.height, w))
                if h <= np.uint64(len(state.height)):
                    stacks = put_on_stack(state, thread, w, h, stacks)
            break
        i += ONE
    return sent, exact_below, stacks


@kernel
def prefetch_vertex(net: ResidualArrays, state: State, v: Any) -> None:
    """Ask for what the discharge of a vertex reads first; `v` may be n."""
    if v < np.uint64(len(state.height)):
        a = np.uint64(net.first_out[v])
        prefetch(state.active_next, v)
        prefetch(net.excess, v)
        prefetch(state.current, v)
        prefetch(state.height, v)
        prefetch(net.head, a)
        prefetch(net.residual, a)


@kernel
def prefetch_end(net: ResidualArrays, state: State, a: Any) -> None:
    """Ask for what a path that goes on over an arc reads of its end, before it waits for the mark there."""
    w = np.uint64(net.head[a])
    b = np.uint64(net.reverse[a])
    prefetch_to_write(net.excess, w)
    prefetch(net.first_out, w)
    prefetch(state.current, w)
    prefetch(net.head, b)
    prefetch(net.residual, b)


@kernel
def run_phase(
    search: Search,
    queues: Queues,
    thread: Any,
    net: ResidualArrays,
    state: State,
    longest: Any,
    work_limit: Any,
    stop: Any,
    counts: Any,
    stacks: Stacks,
    touched: Any,
    floor: Any,
) -> Any:
    """Discharge what the thread holds until the phase is over; return the greatest height seen.

    All threads begin with the same `floor`.
    """
    num_threads = search.num_threads[0]
    n = np.uint64(len(net.excess))
    dead = n + ONE
    height, current, path, shared, over = state.height, state.current, state.path, state.shared, state.over
    pushes = ZERO
    relabels = ZERO
    scans = ZERO
    work = ZERO
    exact_below = dead
    relaxed_store(shared, FLOOR, floor)
    while relaxed_load(over, 0) == 0:
        level = min(stacks.top, np.uint64(relaxed_load(shared, GAP)))
        while level > ZERO and np.uint64(state.active_first[thread, level]) == n:
            level -= ONE
        if work >= WORK_QUANTUM or level == ZERO:
            total = np.uint64(fetch_add(shared, WORK, work)) + work
            work = ZERO
            if total >= work_limit or relaxed_load(stop, 0) != 0:
                relaxed_store(over, 0, 1)
        if level == ZERO or level < np.uint64(relaxed_load(shared, FLOOR)):
            if level == ZERO:
                stacks = Stacks(stacks.opened, ZERO, ZERO)
            counts[WAITS] += ONE
            delay(state.delays, thread)
            if not wait_for_higher(state, queues.idle, thread, level, stop):
                relaxed_store(over, 0, 1)
                break
            if size(queues, thread) > ZERO:
                counts[STEALS] += ONE
            stacks = take_gift(state, queues, thread, stacks)
            continue
        if stacks.held >= TWO and relaxed_load(queues.idle.num_idle, ZERO) > 0:
            stacks = give_highest(state, queues, thread, level, stacks)
        active = np.uint64(state.active_first[thread, level])
        state.active_first[thread, level] = state.active_next[active]
        stacks = Stacks(stacks.opened, stacks.held - ONE, level)
        prefetch_vertex(net, state, np.uint64(state.active_first[thread, level]))
        available = load(net.excess, active)
        delay(state.delays, thread)
        sent = np.int64(0)
        path[thread, ZERO] = active
        depth = ZERO
        v = active
        h = np.uint64(height[v])
        highest = h
        while True:
            first = np.uint64(net.first_out[v])
            last = np.uint64(net.first_out[v + ONE])
            a = np.uint64(current[v])
            begin = a
            admissible = h == ONE and net.sink_residual[v] > 0
            extends = False
            if not admissible:
                while a < last:
                    if relaxed_load(net.residual, a) > 0:
                        w = np.uint64(net.head[a])
                        height_w = np.uint64(relaxed_load(height, w))
                        if height_w < h:
                            admissible = True
                            current[v] = a
                            if depth + ONE < longest:
                                prefetch_end(net, state, a)
                                extends = relaxed_load(net.excess, w) == 0 and compare_exchange(
                                    net.excess, w, 0, 1
                                )
                            break
                    a += ONE
                scans += a - begin
            if extends:
                v = w
                h = np.uint64(relaxed_load(height, v))
                depth += ONE
                path[thread, depth] = v
                continue
            if admissible:
                amount, exact_below, stacks = push_along_path(
                    net, state, thread, depth, available - sent, exact_below, stacks
                )
                sent += amount
                pushes += depth + ONE
                depth = ZERO
                if sent == available:
                    break
                v = active
                h = highest
                continue
            # As lowest_neighbour_now does; calling that, with all arrays, costs one thread 5 to 9 %.
            low = n
            arc = last
            a = first
            while a < last:
                if relaxed_load(net.residual, a) > 0:
                    height_w = np.uint64(relaxed_load(height, net.head[a]))
                    if height_w < low:
                        low = height_w
                        arc = a
                a += ONE
            scans += last - first
            work += RELABEL_WORK + (last - first)
            relabels += ONE
            previous = h
            exact_below = min(exact_below, previous)
            h = low + ONE
            delay(state.delays, thread)
            relaxed_store(height, v, h)
            current[v] = arc
            change_level(state, thread, num_threads, previous, h)
            touched = max(touched, previous)
            if h <= n:
                touched = max(touched, h)
            if depth == ZERO:
                highest = h
                if h == dead or h > np.uint64(relaxed_load(shared, GAP)):
                    break
            else:
                stacks = release(net, state, thread, v, np.int64(-1), stacks)
                depth -= ONE
                v = np.uint64(path[thread, depth])
                h = np.uint64(height[v])
            if work >= WORK_QUANTUM and (relaxed_load(over, 0) != 0 or relaxed_load(stop, 0) != 0):
                break
        while depth > ZERO:
            stacks = release(net, state, thread, np.uint64(path[thread, depth]), np.int64(-1), stacks)
            depth -= ONE
        if highest == dead:
            fetch_add(net.excess, active, -sent)
        else:
            stacks = release(net, state, thread, active, -sent, stacks)
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += scans
    state.exact_below[thread * PADDING] = exact_below
    return touched


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
