"""Lock-free push-relabel in which each active vertex has one thread as its owner, shared by two methods.

multicore_fifo.py (Cihan) and multicore_highest_label_gap.py (after Bader and Sachdeva) differ only in the
order in which a thread takes its vertices: from a queue, or from buckets by height. One of the arguments
`queues` and `buckets` is always None, and Numba leaves out the branches for it.

Definitions
-----------
- The thread whose push raises a vertex's excess from zero *owns* the vertex until its excess is zero again,
  the vertex is dead, or the phase ends. A thread may donate a vertex, which makes the recipient its owner.
- A residual arc is *admissible* if its head is lower than its tail, by one level or more. A drop of several
  levels (a steep arc) arises if a neighbour pushes to a vertex while the vertex is relabelled: this push
  opens an arc that the relabel did not see.
- A *phase* is the work between two global relabels. At its end the threads meet at a barrier; then all of
  them together compute exact heights.

Invariants
----------
- A vertex is owned by at most one thread, and only its owner lowers its excess and the residual capacities
  of its arcs. Threads read and write excess, heights and residual capacities by atomic operations wherever
  another thread may change them.
- The owner reads the excess before the arcs. Each of its pushes credits the receiver at once. The owner is
  debited later, by one fetch-and-add for all pushes of the excess that it read. The value that this
  fetch-and-add returns decides whether the vertex is finished.
- Heights only grow during a phase.
- A relabel adds the vertex to the count of its new level before it subtracts it from that of the old one.
  In the opposite order the vertex would be counted nowhere for a moment, and other threads could see a gap
  that does not exist.
- Only a global relabel, while nothing is pushed, declares vertices dead for good. During a phase, a vertex
  may become dead although it can still reach the sink: because it lies above a gap, or because the heights
  from which it was relabelled have changed since. Its excess waits for the next global relabel.

Pseudo-code
-----------
::

    repeat:                                                          first_stage
        all threads compute exact heights together                   search_together, search_by_levels
        each thread owns the active vertices that it found           start_phase
        if no thread found any: stop
        each thread, until a global relabel is due:                  work_until_relabel
            if it owns no vertex: wait for a donation
            donate vertices if another thread waits
            take the next vertex; drop it if it lies above a gap
            repeat until the vertex has no excess or is dead, or a global relabel is due:
                push to the sink and over admissible arcs
                if nothing is left: debit the vertex, and read its excess again
                else relabel it, unless a lower neighbour has appeared

Gap relabeling counts the vertices of each height by atomic additions. The vertex that leaves a level empty
becomes dead. From then on until the next global relabel, a thread that takes a vertex above this level makes
it dead instead of discharging it.

The search for exact heights is that of parallel/search.py, or that of Cihan's thesis: figure 4.4, with the
queues of jump_queues.py. In the latter a thread labels any vertex that it finds first, by
fetch-and-store, and there are two barriers after each level, between which one thread distributes the level.

A single thread uses plain additions: with atomic ones it takes up to 1.5 times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Int64
from ...graph.residual import ResidualArrays
from ...kernels.activity import Activity, make_activity, note, records, taken
from ...kernels.atomics import (
    PADDING,
    add,
    exchange,
    fetch_add,
    fetch_min,
    load,
    relaxed_load,
    relaxed_store,
)
from ...kernels.clock import now
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...maxflow.relabel_rule import relabel_limits
from ...network import lowest_neighbour_now
from ...network.arcs import arcs_of, end, first, head, opposite
from ...parallel import queues as in_queues
from ...parallel.barrier import wait
from ...parallel.delays import delay
from ...parallel.idle import wait_for_donation
from ...parallel.queues import MOST_DONATED, Queues
from ...parallel.search import ParallelSearch, make_search, search_together
from ...parallel.thread_pool import run_solver, share_of
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import (
    ARC_SCANS,
    GAP_VERTICES,
    GLOBAL_RELABELS,
    PUSHES,
    RELABEL_NANOSECONDS,
    RELABELS,
    STEALS,
    WAITS,
)
from . import buckets as in_buckets
from . import jump_queues
from .buckets import Buckets
from .jump_queues import JumpQueues, make_jump_queues

#: A thread adds its relabels to the total of all threads after a discharge by which it has this many, or
#: fewer if a global relabel is due soon (see `report_limit`).
UNREPORTED = 64

#: Positions in State.signals.
OVER, TOP, TOTAL_RELABELS, STOPPING = 0, 1, PADDING, 2 * PADDING


class State(NamedTuple):
    """The state that the threads share beside the residual network."""

    search: ParallelSearch  #: the state of the parallel search, which computes exact heights
    #: the queues of the thesis's search; they have no places if `search` searches
    levels: JumpQueues
    queues: Queues | None
    #: the active vertices that each thread owns; one of the two members is None
    buckets: Buckets | None
    #: shape (n,): distance labels and current arcs
    height: Indices
    current: Indices
    #: shape (n + 2,): number of vertices of each height up to TOP; empty without gap relabeling
    population: NDArray[np.int64]
    #: shape (3 * PADDING,): OVER is 1 if a global relabel is due. TOP is the lowest level that has become
    #: empty in this phase, n if none has; vertices above it count as dead. TOTAL_RELABELS is the number of
    #: relabels in this phase that the threads have reported. STOPPING is the stop flag as thread 0 read it
    #: before a barrier, so that all threads agree on whether to stop.
    signals: NDArray[np.uint64]
    #: shape (threads * PADDING,): total excess of the active vertices that each thread found in the last
    #: global relabel
    active: NDArray[np.float64]
    #: samples that thread 0 takes, if the numbers of active vertices are recorded
    activity: Activity
    num_active: NDArray[np.int64]  #: shape (1,): the number of active vertices, if it is recorded
    delays: NDArray[np.uint64] | None = None  #: for stress tests, see parallel/delays.py


class Rules(NamedTuple):
    """Options of the kernels, and how they decide that a global relabel is due."""

    alone: bool  #: whether there is one thread only, which needs no atomic additions
    gap: bool  #: whether to use gap relabeling
    #: a global relabel is due after this many relabels of all threads together
    relabel_limit: np.uint64
    #: a thread adds its relabels to the total after a discharge by which it has at least this many
    report_limit: np.uint64
    by_levels: bool  #: whether to search as the thesis does
    #: how many vertices a thread donates at most at once; buckets have a limit of their own
    most_donated: np.uint64


def make_state(
    search: ParallelSearch,
    queues: Queues | None,
    buckets: Buckets | None,
    num_vertices: int,
    gap: bool,
    delays: NDArray[np.uint64] | None = None,
    by_levels: bool = False,
    record_active: bool = False,
) -> State:
    """Return the state before the first global relabel, with all vertices dead."""
    num_threads, dtype = int(search.num_threads[0]), search.order.dtype
    return State(
        search=search,
        levels=make_jump_queues(num_threads if by_levels else 0, num_vertices),
        queues=queues,
        buckets=buckets,
        height=np.full(num_vertices, num_vertices + 1, dtype=dtype),
        current=np.empty(num_vertices, dtype=dtype),
        population=np.zeros(num_vertices + 2 if gap else 0, dtype=np.int64),
        signals=np.zeros(3 * PADDING, dtype=np.uint64),
        active=np.zeros(num_threads * PADDING, dtype=np.float64),
        activity=make_activity(record_active),
        num_active=np.zeros(1, dtype=np.int64),
        delays=delays,
    )


@kernel
def disown_all(queues: Queues | None, buckets: Buckets | None, thread: np.uint64) -> None:
    """Take from the thread all vertices that it owns."""
    if queues is not None:
        in_queues.clear(queues, thread)
    if buckets is not None:
        in_buckets.clear(buckets, thread)


@kernel
def num_owned(queues: Queues | None, buckets: Buckets | None, thread: np.uint64) -> np.uint64:
    """Return how many vertices the thread owns."""
    num = ZERO
    if queues is not None:
        num = in_queues.size(queues, thread)
    if buckets is not None:
        num = in_buckets.size(buckets, thread)
    return num


@kernel
def own(
    queues: Queues | None, buckets: Buckets | None, thread: np.uint64, v: np.uint64, height: np.uint64
) -> None:
    """Make the thread the owner of `v`, which no thread owns; if the thread's queue is full, do nothing."""
    if queues is not None:
        in_queues.append(queues, thread, v)
    if buckets is not None:
        in_buckets.put(buckets, thread, v, height)


@kernel
def count_active(state: State, amount: Int64) -> None:
    """Add to the number of active vertices, if it is recorded."""
    if records(state.activity):
        fetch_add(state.num_active, ZERO, amount)


@kernel
def next_owned(queues: Queues | None, buckets: Buckets | None, thread: np.uint64) -> np.uint64:
    """Remove and return the vertex that the thread discharges next, from those that it owns."""
    v = ZERO
    if queues is not None:
        v = in_queues.pop(queues, thread)
    if buckets is not None:
        v = in_buckets.take_highest(buckets, thread)
    return v


@kernel
def donate_owned(queues: Queues | None, buckets: Buckets | None, thread: np.uint64, most: np.uint64) -> None:
    """Donate some of the thread's vertices to a thread that waits for a donation, if there is one."""
    if queues is not None:
        in_queues.donate(queues, thread, most)
    if buckets is not None:
        in_buckets.donate(buckets, thread)


@kernel
def wait_for_vertices(
    queues: Queues | None,
    buckets: Buckets | None,
    thread: np.uint64,
    over: NDArray[np.uint64],
    monitor: Monitor,
) -> bool:
    """Wait until another thread donates vertices; return whether one did (parallel/idle.py).

    The thread stops waiting if no thread owns any vertex, a global relabel is due, or the stop flag is set.
    """
    given = False
    if queues is not None:
        given = wait_for_donation(queues.idle, thread, over, monitor.stop)
    if buckets is not None:
        given = wait_for_donation(buckets.idle, thread, over, monitor.stop)
    return given


@kernel
def work_until_relabel(
    net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, monitor: Monitor
) -> None:
    """Discharge vertices until a global relabel is due, no thread has any left, or the stop flag is set.

    The next global relabel finds the vertices that still have excess by then, and those for which a queue
    had no room.
    """
    queues, buckets, height, signals = state.queues, state.buckets, state.height, state.signals
    alone, gap, report_limit = rules.alone, rules.gap, rules.report_limit
    stop, counts = monitor.stop, monitor.counts
    dead = np.uint64(len(height)) + ONE
    pushes = ZERO
    scans = ZERO
    relabels = ZERO
    recording = thread == ZERO and records(state.activity)
    while relaxed_load(signals, OVER) == ZERO and relaxed_load(stop, ZERO) == 0:
        if recording:
            note(state.activity, relaxed_load(state.num_active, ZERO))
        # A thread without vertices waits for a donation; the others donate to threads that wait.
        if num_owned(queues, buckets, thread) == ZERO:
            if alone:
                break
            counts[WAITS] += ONE
            delay(state.delays, thread)
            if not wait_for_vertices(queues, buckets, thread, signals, monitor):
                break
            counts[STEALS] += ONE
            continue
        if not alone:
            donate_owned(queues, buckets, thread, rules.most_donated)
        # Take the next vertex; one above a gap is dead until the next global relabel.
        v = next_owned(queues, buckets, thread)
        h = np.uint64(height[v])
        if h > relaxed_load(signals, TOP):
            relaxed_store(height, v, dead)
            counts[GAP_VERTICES] += ONE
            count_active(state, -1)
            continue
        # Discharge it: `excess` is the part of the excess that is not pushed yet, `pushed` the part that is
        # pushed but not yet debited.
        excess = load(net.excess, v)
        delay(state.delays, thread)
        pushed = np.int64(0)
        last = end(net, v)
        a = np.uint64(state.current[v])
        while True:
            # Push to the sink.
            capacity_to_sink = net.sink_residual[v]
            if capacity_to_sink > 0:
                amount = min(excess, capacity_to_sink)
                net.sink_residual[v] = capacity_to_sink - amount
                excess -= amount
                pushed += amount
                pushes += ONE
            # Push over admissible arcs.
            begin = a
            while excess > 0 and a < last:
                capacity = relaxed_load(net.residual, a)
                if capacity > 0:
                    w = head(net, v, a)
                    height_w = np.uint64(relaxed_load(height, w))
                    if height_w < h:
                        amount = min(excess, np.int64(capacity))
                        delay(state.delays, thread)
                        add(alone, net.residual, a, -amount)
                        add(alone, net.residual, opposite(net, a), amount)
                        delay(state.delays, thread)
                        # mutant: both-pushers-hold-the-vertex, no-pusher-holds-the-vertex
                        if add(alone, net.excess, w, amount) == 0:
                            own(queues, buckets, thread, w, height_w)
                            count_active(state, 1)
                        excess -= amount
                        pushed += amount
                        pushes += ONE
                        if excess == 0:
                            break
                a += ONE
            scans += a - begin
            # Debit all pushes; go on if other threads have added excess meanwhile.
            if excess == 0:
                state.current[v] = a
                delay(state.delays, thread)
                excess = add(alone, net.excess, v, -pushed) - pushed
                if excess == 0:
                    count_active(state, -1)
                    break
                pushed = np.int64(0)
                continue
            # Relabel, unless a lower neighbour has appeared.
            top = relaxed_load(signals, TOP)
            low, a = lowest_neighbour_now(net, height, v, top)
            scans += last - first(net, v)
            if low < min(h, top):
                continue
            delay(state.delays, thread)
            relabels += ONE
            old_height = h
            h = low + ONE if low < top else dead
            # Count the vertex on its new level, then uncount it on the old one; an empty level is a gap.
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
                # mutant: does-not-debit-what-it-pushed-before-the-relabel-was-due
                add(alone, net.excess, v, -pushed)
                if h == dead:
                    count_active(state, -1)
                break
        # Report relabels; the thread that reaches the limit ends the phase.
        if relabels >= report_limit:
            counts[RELABELS] += relabels
            if fetch_add(signals, TOTAL_RELABELS, relabels) + relabels >= rules.relabel_limit:
                relaxed_store(signals, OVER, ONE)
            relabels = ZERO
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += scans


@kernel
def start_phase(
    net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, begin: np.uint64, end: np.uint64
) -> None:
    """Reset the thread's share of the state; make it the owner of its active vertices, farthest first.

    Its vertices are those that it found in the global relabel: ``search.order[begin .. end - 1]``.
    """
    disown_all(state.queues, state.buckets, thread)
    active = 0.0
    k = end
    while k > begin:
        k -= ONE
        v = np.uint64(state.search.order[k])
        h = np.uint64(state.height[v])
        state.current[v] = first(net, v)
        if rules.gap:
            add(rules.alone, state.population, h, 1)
        if net.excess[v] > 0:
            active += net.excess[v]
            own(state.queues, state.buckets, thread, v, h)
            count_active(state, 1)
    open_phase(state, thread, active)


@kernel
def open_phase(state: State, thread: np.uint64, active: float) -> None:
    """Reset the signals, and note the total excess of the active vertices that the thread found."""
    if thread == ZERO:
        relaxed_store(state.signals, OVER, ZERO)
        relaxed_store(state.signals, TOP, np.uint64(len(state.height)))
        relaxed_store(state.signals, TOTAL_RELABELS, ZERO)
    state.active[thread * PADDING] = active


@kernel
def forget_population(state: State, thread: np.uint64) -> None:
    """Reset the thread's share of the numbers of vertices of each height, which gaps need."""
    h, end = share_of(np.uint64(len(state.population)), thread, state.search.num_threads[0])
    while h < end:
        state.population[h] = 0
        h += ONE


@kernel
def found(
    net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, v: np.uint64, h: np.uint64
) -> float:
    """Append a vertex that the thread has labelled `h` to the next level, own it if it is active.

    Return its excess.
    """
    jump_queues.push(state.levels, thread, v)
    if rules.gap:
        add(rules.alone, state.population, h, 1)
    excess = net.excess[v]
    if excess > 0:
        own(state.queues, state.buckets, thread, v, h)
        count_active(state, 1)
    return float(excess)


@kernel
def search_by_levels(net: ResidualArrays, state: State, thread: np.uint64, rules: Rules) -> bool:
    """Make heights exact and own active vertices as the thesis does (figure 4.4), nearest first.

    All threads call it at the same time; return False if a thread failed and so broke the barrier.
    """
    height, levels, barrier = state.height, state.levels, state.search.barrier
    num_threads = state.search.num_threads[0]
    n = np.uint64(len(height))
    dead = n + ONE
    # Forget all heights.
    forget_population(state, thread)
    disown_all(state.queues, state.buckets, thread)
    jump_queues.reset(levels, thread)
    begin, end = share_of(n, thread, num_threads)
    v = begin
    while v < end:
        height[v] = dead
        state.current[v] = first(net, v)
        v += ONE
    if not wait(barrier, num_threads):  # mutant: no-barrier-before-the-first-level
        return False
    # The first level: the vertices with capacity to the sink.
    active = 0.0
    level = ONE
    v = begin
    while v < end:
        if net.sink_residual[v] > 0:
            relaxed_store(height, v, level)
            active += found(net, state, thread, rules, v, level)
        v += ONE
    while True:
        # One thread distributes the level that the threads have found.
        if not wait(barrier, num_threads):  # mutant: no-barrier-before-a-level-is-distributed
            return False
        if thread == ZERO:
            jump_queues.revert(levels)
        if not wait(barrier, num_threads):  # mutant: no-barrier-after-a-level-is-distributed
            return False
        if levels.total[0] == 0:
            break
        level += ONE
        item = jump_queues.pop(levels, thread)
        while item >= 0:
            v = np.uint64(item)
            a, last = arcs_of(net, v)
            while a < last:
                w = head(net, v, a)
                is_new = net.residual[opposite(net, a)] > 0 and np.uint64(relaxed_load(height, w)) > level
                # The thread that labels a vertex first appends it.
                # mutant: both-finders-append-the-vertex
                if is_new and np.uint64(exchange(height, w, level)) > level:
                    active += found(net, state, thread, rules, w, level)
                a += ONE
            item = jump_queues.pop(levels, thread)
    open_phase(state, thread, active)
    return True


@kernel
def first_stage(net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, monitor: Monitor) -> None:
    """Push excess until none can reach the sink; all threads run this together.

    On return the heights are exact, even if the stop flag was set, unless a thread failed and so broke the
    barrier.
    """
    search, counts = state.search, monitor.counts
    num_threads = search.num_threads[0]
    while True:
        started = now()
        if thread == ZERO:
            state.num_active[0] = 0  # before the first barrier of the search, after which threads count
        if rules.by_levels:
            if not search_by_levels(net, state, thread, rules):
                return
        else:
            forget_population(state, thread)
            begin, end, _ = search_together(search, thread, net, state.height, False)
            start_phase(net, state, thread, rules, begin, end)
        if thread == ZERO:
            counts[RELABEL_NANOSECONDS] += now() - started
            counts[GLOBAL_RELABELS] += ONE
            relaxed_store(state.signals, STOPPING, relaxed_load(monitor.stop, ZERO))
        if not wait(search.barrier, num_threads):
            return
        active = 0.0
        for other in range(num_threads):
            active += state.active[np.uint64(other) * PADDING]
        if thread == ZERO:
            monitor.progress[0] = active
        if active == 0.0 or relaxed_load(state.signals, STOPPING) != ZERO:
            return
        work_until_relabel(net, state, thread, rules, monitor)
        if not wait(search.barrier, num_threads):
            return


def run_first_stage(
    net: ResidualArrays,
    control: Control,
    queues: Queues | None,
    buckets: Buckets | None,
    gap: bool,
    relabel_period: float,
    by_levels: bool = False,
    most_donated: int = int(MOST_DONATED),
    record_active: bool = False,
) -> Array:
    """Run the first stage in place; return exact heights.

    One of `queues` and `buckets` has no vertices yet, the other is None.
    """
    n, m = len(net.excess), len(net.head)
    num_threads = control.threads
    relabel_limit, _ = relabel_limits("relabels", relabel_period, n, m)
    report_limit = np.uint64(max(1, min(UNREPORTED, int(relabel_limit) // (8 * num_threads))))
    if num_threads == 1:
        report_limit = ONE
    search = make_search(num_threads, n, m, net.head.dtype)
    state = make_state(search, queues, buckets, n, gap, control.delays, by_levels, record_active)
    rules = Rules(num_threads == 1, gap, relabel_limit, report_limit, by_levels, np.uint64(most_donated))
    control.progress[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(net, state, np.uint64(thread), rules, control.monitor(thread))

    run_solver(share, control, search.barrier)
    control.active.extend(taken(state.activity))
    return state.height
