"""Partitioned push-relabel: every thread runs the serial highest-label method on vertices of its own.

The serial solver gains most from order and locality: it follows excess down, while the methods of the papers
take active vertices from all over the network. Here the vertices are dealt out to the threads in blocks. A
thread discharges its own active vertices, highest label first, along paths of its own vertices (partial
augment-relabel, Goldberg 2008), with plain reads and writes; only arcs between threads need atomics, and a
push over one leaves the receiver in its owner's inbox. The regions of Delong and Boykov, "A Scalable
Graph-Cut Algorithm for N-D Grids" (CVPR 2008), without their rounds: labels of other threads' vertices are
read as they are, as in Hong's lock-free method (2008).

Labels are therefore not valid at every moment: w may be relabelled past v just before v's push opens (w, v),
and then (w, v) is steep. Any residual arc to a lower vertex counts as admissible, and a relabel may lower
a label, so that steep arcs are used or mended; a global relabel, which all threads do together while nothing
moves, makes labels exact. Only such a search may end the solve, when it finds no excess that can reach the
sink. A phase between two of them ends after ``relabel_period * (6 n + m)`` work or when all are idle.

Where levels are narrow, as in networks with long distances, one thread owns all vertices until the next
global relabel: excess would only be handed from thread to thread.

Gaps: every thread counts its own vertices of each height. Where all counts of a height are zero, vertices
above it likely cannot reach the sink; since labels may be invalid for a moment, they are not declared
dead but left alone until the next global relabel.

A vertex with excess is in exactly one place, the stacks or the inbox of its owner, or in the owner's hands:
who raises the excess from zero puts it there, and the owner takes what it has sent from the excess last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.residual import ResidualArrays
from ..kernels.atomics import (
    compare_exchange,
    exchange,
    fetch_add,
    fetch_min,
    load,
    pause,
    relaxed_load,
    relaxed_store,
)
from ..kernels.kernel import kernel
from ..kernels.relabel import RELABEL_WORK
from ..parallel.barrier import nap, wait
from ..parallel.bfs import Team, distances_to_sink_together, make_team
from ..parallel.team import run_solver
from ..solving.run import Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS, WAITS
from .options import check_positive, check_relabel_rule, relabel_limits

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Work that a thread keeps to itself before it adds it to the common count.
WORK_QUANTUM = np.uint64(4096)
#: Looks at its inbox before a thread without work counts as idle, and begins to nap.
PATIENCE = 500
#: Two cache lines of int64.
PADDING = 16
#: Positions in State.shared.
WORK, IDLE, OVER, ANY_EXCESS, GAP = (k * PADDING for k in range(5))


@dataclass(frozen=True)
class PartitionedOptions:
    """Options of partitioned push-relabel.

    Attributes
    ----------
    relabel_period : float
        A global relabel is due after ``relabel_period * (6 n + m)`` units of work.
    path_length : int
        Number of arcs, at most, over which excess is pushed at once.
    blocks : int
        Blocks of consecutive vertices that each thread owns: more of them balance the work and make more
        arcs lead from thread to thread.
    narrow : int
        Vertices a level, on average, below which one thread owns all of them until the next global relabel.
    """

    relabel_period: float = 1.0
    path_length: int = 4
    blocks: int = 4
    narrow: int = 1024

    def __post_init__(self) -> None:
        check_relabel_rule("work", self.relabel_period)
        check_positive("path_length", self.path_length)
        check_positive("blocks", self.blocks)
        check_positive("narrow", self.narrow)


class State(NamedTuple):
    """What the threads share beside the residual network and their team.

    Attributes
    ----------
    height, current, order : ndarray, shape (n,)
        Distance labels, current arcs, and the order of the last global relabel.
    owner : ndarray of uint8, shape (n,)
    active_first : ndarray, shape (threads, n + 2)
        For each thread the top of its stack of active vertices of a height; n where empty.
    active_next : ndarray, shape (n,)
    population : ndarray, shape (threads * (n + 2),)
        Number of each thread's own vertices of a height, for heights up to the greatest it has seen.
    inbox_first : ndarray of int64
        Latest vertex that others activated, for each thread; n where there is none. Padded.
    inbox_next : ndarray, shape (n,)
    path : ndarray, shape (threads, at least path_length)
    shared : ndarray of int64
    """

    height: NDArray[Any]
    current: NDArray[Any]
    order: NDArray[Any]
    owner: NDArray[Any]
    active_first: NDArray[Any]
    active_next: NDArray[Any]
    population: NDArray[Any]
    inbox_first: NDArray[Any]
    inbox_next: NDArray[Any]
    path: NDArray[Any]
    shared: NDArray[Any]


@kernel
def put_in_inbox(state: State, owner: Any, v: Any) -> None:
    """Hand an active vertex to its owner."""
    slot = owner * PADDING
    while True:
        first = load(state.inbox_first, slot)
        relaxed_store(state.inbox_next, v, first)
        if compare_exchange(state.inbox_first, slot, first, v):
            return


@kernel
def put_on_stack(state: State, thread: Any, v: Any, h: Any, opened: Any) -> Any:
    """Put an own active vertex of height `h` on its stack; return up to where stacks are valid."""
    while opened < h:
        opened += ONE
        state.active_first[thread, opened] = len(state.height)
    state.active_next[v] = state.active_first[thread, h]
    state.active_first[thread, h] = v
    return opened


@kernel
def empty_inbox(state: State, thread: Any, top: Any, opened: Any) -> tuple[Any, Any]:
    """Put what others activated on the stacks; return the highest stack in use, and the valid ones."""
    n = np.uint64(len(state.height))
    v = np.uint64(exchange(state.inbox_first, thread * np.uint64(PADDING), n))
    while v != n:
        following = np.uint64(relaxed_load(state.inbox_next, v))
        h = np.uint64(state.height[v])
        if h <= n:
            opened = put_on_stack(state, thread, v, h, opened)
            top = max(top, h)
        v = following
    return top, opened


@kernel
def credit(net: ResidualArrays, state: State, thread: Any, v: Any, amount: Any, opened: Any) -> Any:
    """Add to the excess of `v`, and give it to its owner if that activates it."""
    if fetch_add(net.excess, v, amount) == 0:
        owner = np.uint64(state.owner[v])
        if owner == thread:
            h = np.uint64(state.height[v])
            if h <= np.uint64(len(state.height)):
                opened = put_on_stack(state, thread, v, h, opened)
        else:
            put_in_inbox(state, owner, v)
    return opened


@kernel
def push_along_path(
    net: ResidualArrays, state: State, thread: Any, depth: Any, carried: Any, opened: Any
) -> tuple[Any, Any]:
    """Push as much of what is carried as each arc on its way along the thread's path takes.

    Returns
    -------
    what the first vertex sent, and up to where stacks are valid
    """
    sent = carried
    i = ZERO
    while True:
        v = np.uint64(state.path[thread, i])
        capacity = net.sink_residual[v]
        if capacity > 0:
            amount = min(carried, capacity)
            net.sink_residual[v] = capacity - amount
            w = v
        else:
            a = np.uint64(state.current[v])
            w = np.uint64(net.head[a])
            capacity = np.int64(relaxed_load(net.residual, a))
            amount = min(carried, capacity)
            if np.uint64(state.owner[w]) == thread:
                net.residual[a] -= amount
                net.residual[net.reverse[a]] += amount
            else:
                fetch_add(net.residual, a, -amount)
                fetch_add(net.residual, net.reverse[a], amount)
        if i == ZERO:
            sent = amount
        elif amount < carried:
            opened = credit(net, state, thread, v, carried - amount, opened)
        carried = amount
        if w == v:
            break
        if i == depth:
            opened = credit(net, state, thread, w, carried, opened)
            break
        i += ONE
    return sent, opened


@kernel
def move_level(state: State, thread: Any, num_threads: Any, previous: Any, h: Any, touched: Any) -> Any:
    """Count an own vertex at its new height; where it was the last of its height, lower the gap to there.

    Returns the greatest height at which this thread has counted.
    """
    n = np.uint64(len(state.height))
    stride = n + np.uint64(2)
    row = thread * stride
    if h <= n:
        relaxed_store(state.population, row + h, state.population[row + h] + 1)
        touched = max(touched, h)
    left = state.population[row + previous] - 1
    relaxed_store(state.population, row + previous, left)
    below = previous < np.uint64(relaxed_load(state.shared, GAP))
    if left == 0 and below:
        other = ZERO
        while other < num_threads and relaxed_load(state.population, other * stride + previous) == 0:
            other += ONE
        if other == num_threads:
            fetch_min(state.shared, GAP, previous)
    return touched


@kernel
def all_idle(state: State, num_threads: Any) -> bool:
    """Return whether no thread has anything to do; a thread that wakes up just now may be missed."""
    if np.uint64(load(state.shared, IDLE)) != num_threads:
        return False
    n = np.uint64(len(state.height))
    thread = ZERO
    while thread < num_threads:
        if np.uint64(load(state.inbox_first, thread * np.uint64(PADDING))) != n:
            return False
        thread += ONE
    return True


@kernel
def run_phase(
    team: Team,
    thread: Any,
    net: ResidualArrays,
    state: State,
    longest: Any,
    work_limit: Any,
    stop: Any,
    counts: Any,
    level: Any,
    opened: Any,
    touched: Any,
) -> Any:
    """Discharge the thread's own vertices until the phase is over; return the greatest height seen."""
    num_threads = team.num_threads[0]
    n = np.uint64(len(net.excess))
    dead = n + ONE
    height, current, owner, shared = state.height, state.current, state.owner, state.shared
    inbox = thread * np.uint64(PADDING)
    pushes = ZERO
    relabels = ZERO
    scans = ZERO
    work = ZERO
    while relaxed_load(shared, OVER) == 0:
        if np.uint64(relaxed_load(state.inbox_first, inbox)) != n:
            level, opened = empty_inbox(state, thread, level, opened)
        level = min(level, np.uint64(relaxed_load(shared, GAP)))
        while level > ZERO and np.uint64(state.active_first[thread, level]) == n:
            level -= ONE
        if work >= WORK_QUANTUM or level == ZERO:
            total = np.uint64(fetch_add(shared, WORK, work)) + work
            work = ZERO
            if total >= work_limit or relaxed_load(stop, 0) != 0:
                relaxed_store(shared, OVER, 1)
        if level == ZERO:
            looks = 0
            while looks < PATIENCE and np.uint64(relaxed_load(state.inbox_first, inbox)) == n:
                looks += 1
                pause()
            if looks < PATIENCE:
                continue
            counts[WAITS] += ONE
            fetch_add(shared, IDLE, 1)
            while relaxed_load(shared, OVER) == 0:
                if np.uint64(relaxed_load(state.inbox_first, inbox)) != n:
                    break
                if all_idle(state, num_threads) or relaxed_load(stop, 0) != 0:
                    relaxed_store(shared, OVER, 1)
                nap()
            fetch_add(shared, IDLE, -1)
            continue
        active = np.uint64(state.active_first[thread, level])
        state.active_first[thread, level] = state.active_next[active]
        available = load(net.excess, active)
        sent = available - available
        state.path[thread, ZERO] = active
        depth = ZERO
        v = active
        h = np.uint64(height[v])
        highest = h
        reach = h
        while True:
            first = np.uint64(net.first_out[v])
            last = np.uint64(net.first_out[v + ONE])
            a = np.uint64(current[v])
            begin = a
            admissible = net.sink_residual[v] > 0
            extends = False
            if not admissible:
                while a < last:
                    if relaxed_load(net.residual, a) > 0:
                        w = np.uint64(net.head[a])
                        height_w = np.uint64(relaxed_load(height, w))
                        if height_w < h:
                            admissible = True
                            current[v] = a
                            extends = (
                                depth + ONE < longest
                                and np.uint64(owner[w]) == thread
                                and relaxed_load(net.excess, w) == 0
                            )
                            break
                    a += ONE
                scans += a - begin
            if extends:
                v = w
                h = height_w
                depth += ONE
                state.path[thread, depth] = v
                continue
            if admissible:
                amount, opened = push_along_path(net, state, thread, depth, available - sent, opened)
                sent += amount
                pushes += depth + ONE
                if sent == available:
                    break
                v = active
                h = highest
                depth = ZERO
                continue
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
            h = low + ONE
            relaxed_store(height, v, h)
            current[v] = arc
            touched = move_level(state, thread, num_threads, previous, h, touched)
            if depth == ZERO:
                highest = h
                if h == dead or h > np.uint64(relaxed_load(shared, GAP)):
                    break
                reach = max(reach, h)
            else:
                depth -= ONE
                v = np.uint64(state.path[thread, depth])
                h = np.uint64(height[v])
            if work >= WORK_QUANTUM and (relaxed_load(shared, OVER) | relaxed_load(stop, 0)) != 0:
                break
        level = max(level, reach)
        if fetch_add(net.excess, active, -sent) > sent and highest < dead:
            opened = put_on_stack(state, thread, active, highest, opened)
        while opened < level:
            opened += ONE
            state.active_first[thread, opened] = n
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += scans
    return touched


@kernel
def first_stage(
    team: Team,
    thread: Any,
    net: ResidualArrays,
    state: State,
    block_size: Any,
    narrow: Any,
    longest: Any,
    work_limit: Any,
    stop: Any,
    counts: Any,
    progress: Any,
) -> None:
    """Push excess until none can reach the sink; every thread of the team runs this.

    On return the heights are exact, also when `stop` was raised; but not if the barrier broke.
    """
    num_threads = team.num_threads[0]
    n = np.uint64(len(net.excess))
    shared = state.shared
    touched = ZERO
    while True:
        reached = distances_to_sink_together(team, thread, net, state.height, state.order)
        if thread == ZERO:
            counts[GLOBAL_RELABELS] += ONE
            relaxed_store(shared, WORK, 0)
            relaxed_store(shared, IDLE, 0)
            relaxed_store(shared, OVER, relaxed_load(stop, 0))
            relaxed_store(shared, ANY_EXCESS, 0)
            relaxed_store(shared, GAP, n + ONE)
            total = 0.0
            k = ZERO
            while k < reached:
                total += net.excess[state.order[k]]
                k += ONE
            progress[0] = total
        relaxed_store(state.inbox_first, thread * np.uint64(PADDING), n)
        if not wait(team.barrier, num_threads):
            return
        row = thread * (n + np.uint64(2))
        h = ZERO
        while h <= touched:
            state.population[row + h] = 0
            h += ONE
        touched = ZERO
        top = ZERO
        opened = ZERO
        block = block_size
        if reached > ZERO and reached < narrow * np.uint64(state.height[state.order[reached - ONE]]):
            block = n
        begin = thread * block
        while begin < n:
            v = begin
            end = min(begin + block, n)
            while v < end:
                state.owner[v] = thread
                state.current[v] = net.first_out[v]
                h = np.uint64(state.height[v])
                if h <= n:
                    state.population[row + h] += 1
                    touched = max(touched, h)
                    if net.excess[v] > 0:
                        opened = put_on_stack(state, thread, v, h, opened)
                        top = max(top, h)
                v += ONE
            begin += block * num_threads
        if top > ZERO:
            relaxed_store(shared, ANY_EXCESS, 1)
        if not wait(team.barrier, num_threads):
            return
        if relaxed_load(shared, ANY_EXCESS) == 0 or relaxed_load(shared, OVER) != 0:
            return
        if not wait(team.barrier, num_threads):
            return
        touched = run_phase(team, thread, net, state, longest, work_limit, stop, counts, top, opened, touched)
        if not wait(team.barrier, num_threads):
            return


def solve(net: ResidualArrays, options: PartitionedOptions, control: Control) -> NDArray[Any]:
    """Run the first stage in place, on ``control.threads`` threads.

    Returns
    -------
    height : ndarray, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.

    Notes
    -----
    Memory of five indices a vertex, and for each thread one index for every height that occurs.
    """
    n, m = len(net.excess), len(net.head)
    dtype = net.head.dtype
    threads = control.threads
    _, work_limit = relabel_limits("work", options.relabel_period, n, m)
    block_size = np.uint64(max(1, -(-n // (threads * options.blocks))))
    team = make_team(threads, dtype)
    state = State(
        height=np.empty(n, dtype=dtype),
        current=np.empty(n, dtype=dtype),
        order=np.empty(n, dtype=dtype),
        owner=np.empty(n, dtype=np.uint8),
        active_first=np.empty((threads, n + 2), dtype=dtype),
        active_next=np.empty(n, dtype=dtype),
        population=np.zeros(threads * (n + 2), dtype=dtype),
        inbox_first=np.full(threads * PADDING, n, dtype=np.int64),
        inbox_next=np.empty(n, dtype=dtype),
        path=np.empty((threads, max(options.path_length, 2 * PADDING)), dtype=dtype),
        shared=np.zeros(5 * PADDING, dtype=np.int64),
    )
    control.excess[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(
            team,
            np.uint64(thread),
            net,
            state,
            block_size,
            np.uint64(options.narrow),
            np.uint64(options.path_length),
            work_limit,
            control.stop,
            control.thread_counts[thread],
            control.excess,
        )

    run_solver(share, control, team.barrier)
    return state.height
