"""What a thread of multicore_paths.py does between two global relabels: pushes along paths and relabels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.residual import ResidualArrays
from ..kernels.atomics import (
    PADDING,
    compare_exchange,
    fetch_add,
    load,
    prefetch,
    prefetch_to_write,
    relaxed_load,
    relaxed_store,
)
from ..kernels.kernel import kernel
from ..kernels.relabel import RELABEL_WORK
from ..parallel.delays import delay
from ..parallel.queues import Queues, size
from ..parallel.search_state import Search
from ..stats import ARC_SCANS, PUSHES, RELABELS, STEALS, WAITS
from .held_vertices import (
    FLOOR,
    GAP,
    WORK,
    Stacks,
    State,
    change_level,
    give_highest,
    put_on_stack,
    release,
    take_gift,
    wait_for_higher,
)

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: Work that a thread keeps to itself before it adds it to the common count.
WORK_QUANTUM = np.uint64(4096)


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
