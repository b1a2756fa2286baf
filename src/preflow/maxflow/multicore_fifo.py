"""First-in-first-out push-relabel on many cores: Cihan's solver.

Cihan, "Parallel Maximum Flow Solver for Multi-Core Machines" (2010), sections 4.5 to 4.7. Each thread has a
queue of active vertices of its own and gives its oldest ones to threads that have none; a vertex is in at
most one queue, so its thread alone lowers its excess and the residuals of its arcs. Nothing is locked:
excess, heights and residuals are atomic. After n relabels the threads meet at a barrier and search the exact
heights together.

Departures:

- Terminals are not vertices. It starts with a global relabel and ends on one that finds no excess which can
  reach the sink: Figure 4.9 deadlocks when all threads are idle before n relabels.
- Whether a vertex is finished is decided by what the fetch-and-add that debits it returns: Figure 4.10 reads
  its excess again, when it may be in another thread's queue already. A vertex's excess is read before its
  arcs and debited once, after all its pushes, when the receivers have theirs: fewer atomics, same order.
- Current arcs are used, as in F_PRF. A vertex may meet a neighbour more than one level below, which pushed to
  it while it was relabelled: it pushes there, and labels only grow (in Figure 4.11 they may fall).
- Gap relabeling, the thesis's further work: vertices of each height are counted by atomics, and one above an
  empty level is taken out when its turn comes. Levels above the lowest gap stay closed until the next search.
  So a vertex that is taken out, or that a stale height made dead, may have been able to reach the sink: only
  that search, made while nothing moves, decides.
- One thread alone does without atomic additions, which would cost it up to half as much again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.residual import ResidualArrays
from ..kernels.atomics import fetch_add, fetch_min, load, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from ..kernels.relabel import lowest_neighbour_now
from ..parallel.barrier import wait
from ..parallel.bfs import Team, distances_to_sink_together, make_team, share_of
from ..parallel.queues import Queues, append, clear, give, make_queues, pop, size, wait_for_gift
from ..parallel.team import run_solver
from ..solving.run import Control
from ..stats import ARC_SCANS, GAP_VERTICES, GLOBAL_RELABELS, PUSHES, RELABELS, STEALS, WAITS
from .options import check_flag, check_relabel_rule, relabel_limits

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Vertices in a row of the search's order that go to one thread: neighbours in it are likely neighbours.
BLOCK = np.uint64(64)
#: Relabels that a thread counts for itself before it adds them to the total, at most.
UNREPORTED = 64

#: Entries between what is written at different times: two cache lines.
PADDING = 16
#: Positions in State.signals.
OVER, TOP, TOTAL_RELABELS, STOPPING = 0, 1, PADDING, 2 * PADDING


@dataclass(frozen=True)
class MulticoreFifoOptions:
    """Options of multicore first-in-first-out push-relabel.

    Attributes
    ----------
    gap : bool
        Take out vertices above an empty level.
    relabel_period : float
        A global relabel is due after ``relabel_period * n`` relabels of all threads together.
    """

    gap: bool = False
    relabel_period: float = 1.0

    def __post_init__(self) -> None:
        check_flag("gap", self.gap)
        check_relabel_rule("relabels", self.relabel_period)


class State(NamedTuple):
    """What the threads share beside the residual network and their queues.

    Attributes
    ----------
    height, current, order : ndarray, shape (n,)
        Distance labels, current arcs, and the order of the last global relabel.
    population : ndarray of int64, shape (n + 2,)
        Number of vertices of a height; kept only for the gap heuristic.
    signals : ndarray of uint64
        OVER: the next global relabel is due; TOP: the highest level that is not cut off by a gap, n while
        there is none; TOTAL_RELABELS since the last global relabel; STOPPING: the solve ends here.
    active : ndarray of float64, shape (threads * PADDING,)
        Excess that each thread found on active vertices after the last global relabel.
    """

    height: NDArray[Any]
    current: NDArray[Any]
    order: NDArray[Any]
    population: NDArray[Any]
    signals: NDArray[Any]
    active: NDArray[Any]


@kernel
def add(alone: bool, array: Any, index: Any, amount: Any) -> Any:
    """Add to an entry that other threads may change, unless this one is alone; return what was there."""
    if alone:
        old = array[index]
        array[index] = old + amount
        return old
    return fetch_add(array, index, amount)


@kernel
def work_until_relabel(
    net: ResidualArrays,
    state: State,
    queues: Queues,
    thread: Any,
    alone: bool,
    gap: bool,
    relabel_limit: Any,
    report_limit: Any,
    stop: Any,
    counts: Any,
) -> None:
    """Discharge vertices until a global relabel is due, no thread has any left, or `stop` is raised.

    To discharge is to push excess to lower vertices and relabel until it is gone or cannot reach the sink.
    The thread owns the vertex until its excess is zero: before that nobody puts it into a queue. Vertices
    whose excess is left when the relabel is due, or that a full queue refused, are found by the next search.
    """
    height, signals = state.height, state.signals
    dead = np.uint64(len(height)) + ONE
    pushes = ZERO
    scans = ZERO
    relabels = ZERO
    while relaxed_load(signals, OVER) == ZERO and relaxed_load(stop, ZERO) == 0:
        if size(queues, thread) == ZERO:
            if alone:
                break
            counts[WAITS] += ONE
            if not wait_for_gift(queues, thread, signals, stop):
                break
            counts[STEALS] += ONE
            continue
        if not alone:
            give(queues, thread)
        v = pop(queues, thread)
        h = np.uint64(height[v])
        if h > relaxed_load(signals, TOP):
            relaxed_store(height, v, dead)
            counts[GAP_VERTICES] += ONE
            continue
        excess = load(net.excess, v)
        pushed = np.int64(0)
        last = np.uint64(net.first_out[v + ONE])
        a = np.uint64(state.current[v])
        while True:
            capacity_to_sink = net.sink_residual[v]
            if capacity_to_sink > 0:
                amount = min(excess, capacity_to_sink)
                net.sink_residual[v] = capacity_to_sink - amount
                excess -= amount
                pushed += amount
                pushes += ONE
            begin = a
            while excess > 0 and a < last:
                capacity = relaxed_load(net.residual, a)
                if capacity > 0:
                    w = np.uint64(net.head[a])
                    if np.uint64(relaxed_load(height, w)) < h:
                        amount = min(excess, np.int64(capacity))
                        add(alone, net.residual, a, -amount)
                        add(alone, net.residual, net.reverse[a], amount)
                        if add(alone, net.excess, w, amount) == 0:
                            append(queues, thread, w)
                        excess -= amount
                        pushed += amount
                        pushes += ONE
                        if excess == 0:
                            break
                a += ONE
            scans += a - begin
            if excess == 0:
                state.current[v] = a
                excess = add(alone, net.excess, v, -pushed) - pushed
                if excess == 0:
                    break
                pushed = np.int64(0)
                continue
            if gap and add(alone, state.population, h, -1) == 1:
                fetch_min(signals, TOP, h)
                h = dead
            else:
                top = relaxed_load(signals, TOP)
                low, a = lowest_neighbour_now(net, height, v, top)
                scans += last - np.uint64(net.first_out[v])
                if low < min(h, top):
                    if gap:
                        add(alone, state.population, h, 1)
                    continue
                relabels += ONE
                h = low + ONE if low < top else dead
                if gap and h < dead:
                    add(alone, state.population, h, 1)
            relaxed_store(height, v, h)
            if h == dead or relaxed_load(signals, OVER) != ZERO:
                state.current[v] = a
                add(alone, net.excess, v, -pushed)
                break
        if relabels >= report_limit:
            counts[RELABELS] += relabels
            if fetch_add(signals, TOTAL_RELABELS, relabels) + relabels >= relabel_limit:
                relaxed_store(signals, OVER, ONE)
            relabels = ZERO
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += scans


@kernel
def start_phase(
    net: ResidualArrays, state: State, queues: Queues, thread: Any, num_threads: Any, gap: bool, reached: Any
) -> None:
    """Reset a thread's share of what a global relabel resets; queue its active vertices farthest first."""
    clear(queues, thread)
    if thread == ZERO:
        relaxed_store(state.signals, OVER, ZERO)
        relaxed_store(state.signals, TOP, np.uint64(len(state.height)))
        relaxed_store(state.signals, TOTAL_RELABELS, ZERO)
    active = 0.0
    block = thread
    while block * BLOCK < reached:
        k = reached - block * BLOCK
        last = k - min(k, BLOCK)
        while k > last:
            k -= ONE
            v = np.uint64(state.order[k])
            state.current[v] = net.first_out[v]
            if gap:
                add(num_threads == ONE, state.population, state.height[v], 1)
            if net.excess[v] > 0:
                active += net.excess[v]
                append(queues, thread, v)
        block += num_threads
    state.active[thread * np.uint64(PADDING)] = active


@kernel
def first_stage(
    net: ResidualArrays,
    state: State,
    queues: Queues,
    team: Team,
    thread: Any,
    gap: bool,
    relabel_limit: Any,
    report_limit: Any,
    stop: Any,
    counts: Any,
    progress: Any,
) -> None:
    """Push excess until none can reach the sink; one thread's share.

    On return the heights are exact, also when `stop` was raised, unless the barrier is broken.
    """
    num_threads = team.num_threads[0]
    while True:
        if gap:
            h, end = share_of(np.uint64(len(state.population)), thread, num_threads)
            state.population[h:end] = 0
        reached = distances_to_sink_together(team, thread, net, state.height, state.order)
        start_phase(net, state, queues, thread, num_threads, gap, reached)
        if thread == ZERO:
            counts[GLOBAL_RELABELS] += ONE
            relaxed_store(state.signals, STOPPING, relaxed_load(stop, ZERO))
        if not wait(team.barrier, num_threads):
            return
        active = 0.0
        for other in range(num_threads):
            active += state.active[np.uint64(other) * np.uint64(PADDING)]
        if thread == ZERO:
            progress[0] = active
        if active == 0.0 or relaxed_load(state.signals, STOPPING) != ZERO:
            return
        work_until_relabel(
            net,
            state,
            queues,
            thread,
            num_threads == ONE,
            gap,
            relabel_limit,
            report_limit,
            stop,
            counts,
        )
        if not wait(team.barrier, num_threads):
            return


def solve(net: ResidualArrays, options: MulticoreFifoOptions, control: Control) -> NDArray[Any]:
    """Run the first stage in place.

    Returns
    -------
    height : ndarray, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.

    Notes
    -----
    O(n^3) work; memory of at most five indices a vertex on one thread and eleven on any number of them,
    with `gap` two more.
    """
    n, m = len(net.excess), len(net.head)
    num_threads = control.threads
    relabel_limit, _ = relabel_limits("relabels", options.relabel_period, n, m)
    report_limit = np.uint64(max(1, min(UNREPORTED, int(relabel_limit) // (8 * num_threads))))
    if num_threads == 1:
        report_limit = ONE
    dtype = net.head.dtype
    state = State(
        height=np.full(n, n + 1, dtype=dtype),
        current=np.empty(n, dtype=dtype),
        order=np.empty(n, dtype=dtype),
        population=np.zeros(n + 2 if options.gap else 0, dtype=np.int64),
        signals=np.zeros(3 * PADDING, dtype=np.uint64),
        active=np.zeros(num_threads * PADDING, dtype=np.float64),
    )
    queues = make_queues(num_threads, n, dtype)
    team = make_team(num_threads, dtype)
    control.excess[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(
            net,
            state,
            queues,
            team,
            np.uint64(thread),
            options.gap,
            relabel_limit,
            report_limit,
            control.stop,
            control.thread_counts[thread],
            control.excess,
        )

    run_solver(share, control, team.barrier)
    return state.height
