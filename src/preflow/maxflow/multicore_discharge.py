"""Push-relabel by threads that own their active vertices, without locks.

What Cihan's solver (multicore_fifo.py) and the one after Bader and Sachdeva (multicore_highest_label.py)
share: all but the order in which a thread takes its vertices. A vertex is held by at most one thread, the one
whose push made it active, so that thread alone lowers its excess and the residuals of its arcs. Excess,
heights and residuals are atomic. When a global relabel is due the threads meet at a barrier and search the
exact heights together.

What a thread holds stands in its queue or in its buckets: of the arguments `queues` and `buckets` one is
None, and what is for the other is not compiled.

- Whether a vertex is finished is decided by what the fetch-and-add that debits it returns. Its excess is read
  before its arcs and debited once, after all its pushes, when the receivers have theirs.
- A vertex may meet a neighbour more than one level below, which pushed to it while it was relabelled: it
  pushes there, and labels only grow.
- Gap relabeling: vertices of each height are counted by atomics, and one above an empty level is taken out
  when its turn comes. Levels above the lowest gap stay closed until the next search. So a vertex that is
  taken out, or that a stale height made dead, may have been able to reach the sink: only that search, made
  while nothing moves, decides. A relabelled vertex is counted on its new level before it is uncounted on the
  old one: the other way round, a vertex between the two makes others see a gap that there is not.
- One thread alone does without atomic additions, which would cost it up to half as much again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.residual import ResidualArrays
from ..kernels.atomics import PADDING, add, fetch_add, fetch_min, load, relaxed_load, relaxed_store
from ..kernels.clock import now
from ..kernels.kernel import kernel
from ..kernels.relabel import lowest_neighbour_now
from ..parallel import buckets as in_buckets
from ..parallel import queues as in_queues
from ..parallel.barrier import wait
from ..parallel.buckets import Buckets
from ..parallel.delays import delay
from ..parallel.idle import wait_for_donation
from ..parallel.queues import Queues
from ..parallel.search import Search, make_search, search_together
from ..parallel.thread_pool import run_solver, share_of
from ..solving.run import Control
from ..stats import (
    ARC_SCANS,
    GAP_VERTICES,
    GLOBAL_RELABELS,
    PUSHES,
    RELABEL_NANOSECONDS,
    RELABELS,
    STEALS,
    WAITS,
)
from .relabel_rule import relabel_limits

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Relabels that a thread counts for itself before it adds them to the total, at most.
UNREPORTED = 64

#: Positions in State.signals.
OVER, TOP, TOTAL_RELABELS, STOPPING = 0, 1, PADDING, 2 * PADDING


class State(NamedTuple):
    """What the threads share beside the residual network and what they hold.

    Attributes
    ----------
    height, current : ndarray, shape (n,)
        Distance labels and current arcs.
    population : ndarray of int64, shape (n + 2,)
        Number of vertices of a height; kept only for the gap heuristic.
    signals : ndarray of uint64
        OVER: the next global relabel is due; TOP: the highest level that is not cut off by a gap, n while
        there is none; TOTAL_RELABELS since the last global relabel; STOPPING: the solve ends here.
    active : ndarray of float64, shape (threads * PADDING,)
        Excess that each thread found on active vertices after the last global relabel.
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    height: NDArray[Any]
    current: NDArray[Any]
    population: NDArray[Any]
    signals: NDArray[Any]
    active: NDArray[Any]
    delays: Any = None


def make_state(num_threads: int, num_vertices: int, gap: bool, dtype: Any, delays: Any = None) -> State:
    """Return the state before the first search, with all vertices dead."""
    return State(
        height=np.full(num_vertices, num_vertices + 1, dtype=dtype),
        current=np.empty(num_vertices, dtype=dtype),
        population=np.zeros(num_vertices + 2 if gap else 0, dtype=np.int64),
        signals=np.zeros(3 * PADDING, dtype=np.uint64),
        active=np.zeros(num_threads * PADDING, dtype=np.float64),
        delays=delays,
    )


@kernel
def disown_all(queues: Any, buckets: Any, thread: Any) -> None:
    """Take from the thread all vertices that it holds."""
    if queues is not None:
        in_queues.clear(queues, thread)
    if buckets is not None:
        in_buckets.clear(buckets, thread)


@kernel
def num_owned(queues: Any, buckets: Any, thread: Any) -> Any:
    """Return how many vertices the thread holds."""
    num = ZERO
    if queues is not None:
        num = in_queues.size(queues, thread)
    if buckets is not None:
        num = in_buckets.size(buckets, thread)
    return num


@kernel
def own(queues: Any, buckets: Any, thread: Any, v: Any, height: Any) -> None:
    """Let the thread hold `v`, which no thread does; where its queue is full, nobody will."""
    if queues is not None:
        in_queues.append(queues, thread, v)
    if buckets is not None:
        in_buckets.put(buckets, thread, v, height)


@kernel
def next_owned(queues: Any, buckets: Any, thread: Any) -> Any:
    """Take the vertex that the thread discharges next from those that it holds."""
    v = ZERO
    if queues is not None:
        v = in_queues.pop(queues, thread)
    if buckets is not None:
        v = in_buckets.take_highest(buckets, thread)
    return v


@kernel
def donate_owned(queues: Any, buckets: Any, thread: Any) -> None:
    """Give vertices that the thread holds to one that holds none, if there is one."""
    if queues is not None:
        in_queues.donate(queues, thread)
    if buckets is not None:
        in_buckets.donate(buckets, thread)


@kernel
def wait_for_vertices(queues: Any, buckets: Any, thread: Any, over: Any, stop: Any) -> bool:
    """Wait until another thread gives vertices; False if none will (parallel/idle.py)."""
    given = False
    if queues is not None:
        given = wait_for_donation(queues.idle, thread, over, stop)
    if buckets is not None:
        given = wait_for_donation(buckets.idle, thread, over, stop)
    return given


@kernel
def work_until_relabel(
    net: ResidualArrays,
    state: State,
    queues: Any,
    buckets: Any,
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
    The thread owns the vertex until its excess is zero: before that nobody else holds it. Vertices whose
    excess is left when the relabel is due, or that a full queue refused, are found by the next search.
    """
    height, signals = state.height, state.signals
    dead = np.uint64(len(height)) + ONE
    pushes = ZERO
    scans = ZERO
    relabels = ZERO
    while relaxed_load(signals, OVER) == ZERO and relaxed_load(stop, ZERO) == 0:
        if num_owned(queues, buckets, thread) == ZERO:
            if alone:
                break
            counts[WAITS] += ONE
            delay(state.delays, thread)
            if not wait_for_vertices(queues, buckets, thread, signals, stop):
                break
            counts[STEALS] += ONE
            continue
        if not alone:
            donate_owned(queues, buckets, thread)
        v = next_owned(queues, buckets, thread)
        h = np.uint64(height[v])
        if h > relaxed_load(signals, TOP):
            relaxed_store(height, v, dead)
            counts[GAP_VERTICES] += ONE
            continue
        excess = load(net.excess, v)
        delay(state.delays, thread)
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
                    height_w = np.uint64(relaxed_load(height, w))
                    if height_w < h:
                        amount = min(excess, np.int64(capacity))
                        delay(state.delays, thread)
                        add(alone, net.residual, a, -amount)
                        add(alone, net.residual, net.reverse[a], amount)
                        delay(state.delays, thread)
                        if add(alone, net.excess, w, amount) == 0:
                            own(queues, buckets, thread, w, height_w)
                        excess -= amount
                        pushed += amount
                        pushes += ONE
                        if excess == 0:
                            break
                a += ONE
            scans += a - begin
            if excess == 0:
                state.current[v] = a
                delay(state.delays, thread)
                excess = add(alone, net.excess, v, -pushed) - pushed
                if excess == 0:
                    break
                pushed = np.int64(0)
                continue
            top = relaxed_load(signals, TOP)
            low, a = lowest_neighbour_now(net, height, v, top)
            scans += last - np.uint64(net.first_out[v])
            if low < min(h, top):
                continue
            delay(state.delays, thread)
            relabels += ONE
            old_height = h
            h = low + ONE if low < top else dead
            if gap:
                if h < dead:
                    add(alone, state.population, h, 1)
                if add(alone, state.population, old_height, -1) == 1:
                    fetch_min(signals, TOP, old_height)
                    counts[GAP_VERTICES] += ONE
                    h = dead
            delay(state.delays, thread)
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
    search: Search,
    net: ResidualArrays,
    state: State,
    queues: Any,
    buckets: Any,
    thread: Any,
    gap: bool,
    begin: Any,
    end: Any,
) -> None:
    """Reset a thread's share of what a global relabel resets; hold its active vertices, farthest first."""
    disown_all(queues, buckets, thread)
    if thread == ZERO:
        relaxed_store(state.signals, OVER, ZERO)
        relaxed_store(state.signals, TOP, np.uint64(len(state.height)))
        relaxed_store(state.signals, TOTAL_RELABELS, ZERO)
    active = 0.0
    k = end
    while k > begin:
        k -= ONE
        v = np.uint64(search.order[k])
        h = np.uint64(state.height[v])
        state.current[v] = net.first_out[v]
        if gap:
            add(search.num_threads[0] == ONE, state.population, h, 1)
        if net.excess[v] > 0:
            active += net.excess[v]
            own(queues, buckets, thread, v, h)
    state.active[thread * PADDING] = active


@kernel
def first_stage(
    search: Search,
    net: ResidualArrays,
    state: State,
    queues: Any,
    buckets: Any,
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
    num_threads = search.num_threads[0]
    while True:
        if gap:
            h, end = share_of(np.uint64(len(state.population)), thread, num_threads)
            state.population[h:end] = 0
        started = now()
        begin, end, _ = search_together(search, thread, net, state.height, False)
        start_phase(search, net, state, queues, buckets, thread, gap, begin, end)
        if thread == ZERO:
            counts[RELABEL_NANOSECONDS] += now() - started
            counts[GLOBAL_RELABELS] += ONE
            relaxed_store(state.signals, STOPPING, relaxed_load(stop, ZERO))
        if not wait(search.barrier, num_threads):
            return
        active = 0.0
        for other in range(num_threads):
            active += state.active[np.uint64(other) * PADDING]
        if thread == ZERO:
            progress[0] = active
        if active == 0.0 or relaxed_load(state.signals, STOPPING) != ZERO:
            return
        work_until_relabel(
            net,
            state,
            queues,
            buckets,
            thread,
            num_threads == ONE,
            gap,
            relabel_limit,
            report_limit,
            stop,
            counts,
        )
        if not wait(search.barrier, num_threads):
            return


def run_first_stage(
    net: ResidualArrays,
    control: Control,
    queues: Queues | None,
    buckets: Buckets | None,
    gap: bool,
    relabel_period: float,
) -> NDArray[Any]:
    """Run the first stage in place; one of `queues` and `buckets`, both empty, is None.

    Returns
    -------
    height : ndarray, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.
    """
    n, m = len(net.excess), len(net.head)
    num_threads = control.threads
    relabel_limit, _ = relabel_limits("relabels", relabel_period, n, m)
    report_limit = np.uint64(max(1, min(UNREPORTED, int(relabel_limit) // (8 * num_threads))))
    if num_threads == 1:
        report_limit = ONE
    state = make_state(num_threads, n, gap, net.head.dtype, control.delays)
    search = make_search(num_threads, n, m, net.head.dtype)
    control.excess[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(
            search,
            net,
            state,
            queues,
            buckets,
            np.uint64(thread),
            gap,
            relabel_limit,
            report_limit,
            control.stop,
            control.thread_counts[thread],
            control.excess,
        )

    run_solver(share, control, search.barrier)
    return state.height
