"""Synchronous push-relabel: in each round all active vertices are discharged against frozen heights.

Goldberg and Tarjan's pulses (1988) in the form of Baumstark, Blelloch and Shun, "Efficient Implementation
of a Synchronous Parallel Push-Relabel Algorithm", ESA 2015.

Definitions
-----------
- In a *round* each active vertex is discharged and relabelled repeatedly against the *frozen* heights,
  those of the start of the round.
- Of two active neighbours a rule on (height, number) says which may push over their arcs in this round
  (:func:`may_push`). The other one leaves its height until then: it is *blocked*.

Invariants
----------
- Excess arrives by atomic additions to ``gained`` and counts from the next round on.
- Heights are valid between rounds. A vertex ends a round with a height of at most one more than the frozen
  height of any residual neighbour, and heights only grow. A push over (v, w) opens (w, v): v pushes at a
  height one above the frozen height of w, so v ends at least that high, and if w is active too, w has not
  been relabelled past v, since v had the right to push.
- A vertex is at most once in the list of the next round (``round_listed``).

Pseudo-code
-----------
::

    repeat:                                                          first_stage
        all threads search exact heights together
        list the active vertices                                     list_active
        if there is none: stop
        until none is left or a global relabel is due:
            if there are few: one thread discharges them             discharge_alone
                first in, first out, until there are many
            else in each round:
                each thread takes chunks of the list                 discharge_frozen
                barrier; make new heights and excess valid           commit

With ``pulses`` a round is a pulse of Goldberg and Tarjan, in three stages with barriers between them: active
vertices push (push_frozen), those that still have excess are relabelled once (relabel_pushed), and what was
pushed becomes excess (commit). Heights are frozen until then, so no two neighbours push to each other, and
nobody is blocked. There are no rounds of one thread. Cihan's thesis describes them so in chapter 3, without
global relabels, which ``relabel_period=None`` leaves out.

Departures: terminals are not vertices; the work rule of the HI_PR codes decides when a global relabel is
due, which all threads make together (parallel/search.py); rounds with few active vertices go to one thread,
without barriers. The flow comes from the second stage, which the published code lacks. The solve ends on an
exact search that finds no excess which can reach the sink.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices
from ...graph.residual import ResidualArrays
from ...kernels.atomics import exchange, fetch_add, relaxed_load, relaxed_store
from ...kernels.clock import now
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...maxflow.relabel_rule import RELABEL_WORK, relabel_limits
from ...network import lowest_neighbour
from ...network.arcs import arcs_of, first, head, opposite, push_along
from ...parallel.barrier import wait
from ...parallel.delays import delay
from ...parallel.search import ParallelSearch, make_search, search_together
from ...parallel.thread_pool import run_solver, share_of
from ...parallel.worklist import Worklist, append, appended, begin_phase, flush, make_worklist, take_chunk
from ...solving.monitor import Monitor
from ...solving.options import UNLIMITED, CheckedOptions, PositiveInteger, PositiveNumber
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS, WAITS

#: The other threads join again when there are this many times `few_active` vertices.
MANY_AGAIN = np.uint64(4)

#: The `next_height` of a vertex that the second stage of a pulse relabels; heights are larger.
MUST_RISE = ZERO

#: Positions in State.shared, two cache lines apart. There is one stop signal after a search and another
#: after a round: one thread may begin a round while others still read the signal of the search.
WORK, STOPPING, WAITING, STOPPING_AFTER_ROUND = 0, 16, 32, 48


@dataclass(frozen=True)
class SynchronousOptions(CheckedOptions):
    """Options of synchronous push-relabel.

    Attributes
    ----------
    relabel_period : float or None
        A global relabel is due after ``relabel_period * (6 n + m)`` units of work; None means never, as
        Goldberg and Tarjan have it, between the first search and the last.
    few_active : int
        With fewer active vertices for each thread than this, one thread goes on alone.
    pulses : bool
        Push, relabel and receive in three stages, as Goldberg and Tarjan (1988) do; `few_active` is unused.
    """

    relabel_period: PositiveNumber | None = 1.0
    few_active: PositiveInteger = 128
    pulses: bool = False


class State(NamedTuple):
    """The state that the threads share beside the residual network."""

    search: ParallelSearch  #: for global relabels by all threads together
    height: Indices  #: shape (n,): distance labels; frozen during a round
    #: shape (n,): labels at the end of the round, of vertices that were not dead at its start
    next_height: Indices
    #: shape (n,): change of the excess in this round so far; negative if a vertex has pushed more than it
    #: received
    gained: NDArray[np.int64]
    #: uint32, shape (n,): the last round that put the vertex on the list of the next one
    round_listed: Indices
    worklist: Worklist  #: how the threads fill and take the lists of rounds
    #: shape (2 n,): the list of this round in one half, that of the next round in the other
    active: Indices
    shared: NDArray[np.int64]  #: numbers that one thread writes and all read after a barrier
    delays: NDArray[np.uint64] | None = None  #: for stress tests, see parallel/delays.py


class Rules(NamedTuple):
    """The options that the kernels follow."""

    few_active: np.uint64  #: as in :class:`SynchronousOptions`
    work_limit: np.uint64  #: a global relabel is due after this much work
    pulses: bool


class Round(NamedTuple):
    """A round, and where it lists the vertices of the next one."""

    number: np.uint32  #: the number of the round, for ``State.round_listed``
    phase: np.uint64  #: the phase of ``State.worklist``
    out: np.uint64  #: where the list of the next round begins in ``State.active``


@kernel
def may_push(v: np.uint64, height_v: np.uint64, w: np.uint64, height_w: np.uint64) -> bool:
    """Return whether `v` may push to its active neighbour `w` in this round; if not, `w` may push to `v`."""
    if height_v == height_w:
        return bool(v < w)  # mutant: both-may-push-at-one-height
    # mutant: also-who-is-two-levels-above-may-push
    return bool(height_v == height_w + ONE or height_v + ONE < height_w)


@kernel
def push_over(
    net: ResidualArrays,
    state: State,
    thread: np.uint64,
    v: np.uint64,
    a: np.uint64,
    amount: np.int64,
    this_round: Round,
    waiting: np.uint64,
) -> np.uint64:
    """Push over an arc in a round, and list its head for the next one; see :func:`list_once`."""
    w = head(net, v, a)
    delay(state.delays, thread)
    push_along(net, v, w, a, amount)
    # mutant: credits-plainly, credits-the-excess-of-this-round
    fetch_add(state.gained, w, amount)
    delay(state.delays, thread)
    waiting = list_once(state, thread, w, this_round, waiting)  # mutant: the-receiver-is-lost
    return waiting


@kernel
def end_visit(
    net: ResidualArrays,
    state: State,
    thread: np.uint64,
    v: np.uint64,
    left: np.int64,
    this_round: Round,
    waiting: np.uint64,
) -> np.uint64:
    """Take from `v` what it has pushed in a round, and list it for the next one; see :func:`list_once`."""
    delay(state.delays, thread)
    if left < net.excess[v]:
        fetch_add(state.gained, v, left - net.excess[v])  # mutant: debits-plainly
    waiting = list_once(state, thread, v, this_round, waiting)  # mutant: who-was-discharged-is-lost
    return waiting


@kernel
def list_once(
    state: State, thread: np.uint64, v: np.uint64, this_round: Round, waiting: np.uint64
) -> np.uint64:
    """List `v` for the next round unless somebody has; return how many are in the thread's buffer."""
    phase, out = this_round.phase, this_round.out
    # mutant: everybody-lists
    if exchange(state.round_listed, v, this_round.number) != this_round.number:
        waiting = append(state.worklist, phase, state.active, out, thread, waiting, v)
    return waiting


@kernel
def discharge_frozen(
    net: ResidualArrays,
    state: State,
    thread: np.uint64,
    v: np.uint64,
    this_round: Round,
    waiting: np.uint64,
    monitor: Monitor,
) -> tuple[np.uint64, np.uint64]:
    """Discharge `v` against the frozen heights.

    Takes and returns the number of vertices in the thread's buffer, and returns the work.
    """
    counts = monitor.counts
    height, excess, residual = state.height, net.excess, net.residual
    n = np.uint64(len(excess))
    dead = n + ONE
    frozen_height = np.uint64(height[v])
    h = frozen_height
    left = excess[v]
    delay(state.delays, thread)
    first, last = arcs_of(net, v)
    work = ZERO
    pushes = ZERO
    relabels = ZERO
    while True:
        # Push to the sink.
        low = n
        blocked = False
        if net.sink_residual[v] > 0:
            if h == ONE:
                amount = min(left, net.sink_residual[v])
                net.sink_residual[v] -= amount
                left -= amount
                pushes += ONE
            if net.sink_residual[v] > 0:
                low = ZERO
        # Push over admissible arcs and find the lowest neighbour; an active neighbour may block the vertex.
        a = first
        while a < last and left > 0:
            w = head(net, v, a)
            height_w = np.uint64(height[w])
            # mutant: none
            if not may_push(v, frozen_height, w, height_w) and height_w < dead and excess[w] > 0:
                blocked = True
            else:
                capacity = residual[a]
                if capacity > 0:
                    if height_w + ONE == h:
                        amount = min(left, np.int64(capacity))
                        waiting = push_over(net, state, thread, v, a, amount, this_round, waiting)
                        left -= amount
                        pushes += ONE
                    elif height_w < low:
                        low = height_w
            a += ONE
        work += a - first
        if left == 0 or blocked:  # mutant: who-is-blocked-is-relabelled
            break
        # Relabel and go on.
        relabels += ONE
        h = low + ONE
        if h == dead:
            break
    state.next_height[v] = h  # mutant: relabels-at-once
    waiting = end_visit(net, state, thread, v, left, this_round, waiting)
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += work
    return waiting, work + relabels * RELABEL_WORK


@kernel
def push_frozen(
    net: ResidualArrays,
    state: State,
    thread: np.uint64,
    v: np.uint64,
    this_round: Round,
    waiting: np.uint64,
    monitor: Monitor,
) -> tuple[np.uint64, np.uint64]:
    """Push from `v` over arcs that are admissible at the frozen heights, the first stage of a pulse.

    Takes and returns the number of vertices in the thread's buffer, and returns the work.
    """
    height, residual = state.height, net.residual
    h = np.uint64(height[v])
    left = net.excess[v]
    delay(state.delays, thread)
    first, last = arcs_of(net, v)
    pushes = ZERO
    if h == ONE and net.sink_residual[v] > 0:
        amount = min(left, net.sink_residual[v])
        net.sink_residual[v] -= amount
        left -= amount
        pushes += ONE
    a = first
    while a < last and left > 0:
        w = head(net, v, a)
        # The capacity of another arc may change: its head may push to `v`.
        if np.uint64(height[w]) + ONE == h:  # mutant: reads-capacities-first
            capacity = residual[a]
            if capacity > 0:
                amount = min(left, np.int64(capacity))
                waiting = push_over(net, state, thread, v, a, amount, this_round, waiting)
                left -= amount
                pushes += ONE
        a += ONE
    state.next_height[v] = MUST_RISE if left > 0 else h
    waiting = end_visit(net, state, thread, v, left, this_round, waiting)
    monitor.counts[PUSHES] += pushes
    monitor.counts[ARC_SCANS] += a - first
    return waiting, a - first


@kernel
def relabel_pushed(
    net: ResidualArrays, state: State, thread: np.uint64, begin: np.uint64, size: np.uint64, monitor: Monitor
) -> np.uint64:
    """Relabel the thread's share of the vertices with excess left, the second stage; return the work."""
    dead = np.uint64(len(net.excess)) + ONE
    relabels = ZERO
    scans = ZERO
    k, end = share_of(size, thread, state.search.num_threads[0])
    while k < end:
        v = np.uint64(state.active[begin + k])
        k += ONE
        if state.next_height[v] == MUST_RISE:
            low = ZERO
            if net.sink_residual[v] == 0:
                low, _ = lowest_neighbour(net, state.height, v, dead - ONE)
                base, last = arcs_of(net, v)
                scans += last - base
            state.next_height[v] = low + ONE
            relabels += ONE
    monitor.counts[RELABELS] += relabels
    monitor.counts[ARC_SCANS] += scans
    return scans + relabels * RELABEL_WORK


@kernel
def commit(net: ResidualArrays, state: State, thread: np.uint64, begin: np.uint64, size: np.uint64) -> None:
    """Make the heights and excesses of the thread's share of the next round's list valid."""
    k, end = share_of(size, thread, state.search.num_threads[0])
    while k < end:  # mutant: forgets-the-last-vertex-of-a-share
        v = np.uint64(state.active[begin + k])
        state.height[v] = state.next_height[v]
        net.excess[v] += state.gained[v]
        state.gained[v] = 0  # mutant: keeps-what-was-gained
        k += ONE


@kernel
def list_active(
    net: ResidualArrays, state: State, thread: np.uint64, k: np.uint64, end: np.uint64, phase: np.uint64
) -> None:
    """List the thread's active vertices after a global relabel, and set their `next_height`."""
    waiting = ZERO
    while k < end:
        v = np.uint64(state.search.order[k])
        state.next_height[v] = state.height[v]  # mutant: heights-of-the-last-period-are-kept
        if net.excess[v] > 0:
            waiting = append(state.worklist, phase, state.active, ZERO, thread, waiting, v)
        k += ONE
    flush(state.worklist, phase, state.active, ZERO, thread, waiting)


@kernel
def discharge_alone(
    net: ResidualArrays,
    state: State,
    begin: np.uint64,
    size: np.uint64,
    enough: np.uint64,
    work_limit: np.uint64,
    monitor: Monitor,
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Discharge the listed vertices in one thread, first in, first out, until there are `enough` or none.

    Returns where the list begins now, its size, and the work done.
    """
    stop, counts = monitor.stop, monitor.counts
    n = np.uint64(len(net.excess))
    dead = n + ONE
    height, active = state.height, state.active
    # A round also lists those without excess. Here they would be listed again when they get some.
    front, waiting = ZERO, ZERO
    k = ZERO
    while k < size:
        if net.excess[active[begin + k]] > 0:
            active[begin + waiting] = active[begin + k]
            waiting += ONE
        k += ONE
    back = waiting if waiting < n else ZERO
    work = ZERO
    pushes = ZERO
    relabels = ZERO
    scans = ZERO
    while waiting > ZERO and waiting < enough and work < work_limit and relaxed_load(stop, 0) == 0:
        v = np.uint64(active[begin + front])
        front = front + ONE if front + ONE < n else ZERO
        waiting -= ONE
        h = np.uint64(height[v])
        excess = net.excess[v]
        if excess == 0 or h == dead:
            continue
        capacity = net.sink_residual[v]
        if capacity > 0 and h == ONE:
            amount = min(excess, capacity)
            net.sink_residual[v] = capacity - amount
            excess -= amount
            pushes += ONE
        a, last = arcs_of(net, v)
        while excess > 0:
            start = a
            while a < last:
                capacity = np.int64(net.residual[a])
                if capacity > 0:
                    w = head(net, v, a)
                    if np.uint64(height[w]) + ONE == h:
                        amount = min(excess, capacity)
                        net.residual[a] = capacity - amount
                        net.residual[opposite(net, a)] += amount
                        if net.excess[w] == 0:
                            active[begin + back] = w
                            back = back + ONE if back + ONE < n else ZERO
                            waiting += ONE
                        net.excess[w] += amount
                        excess -= amount
                        pushes += ONE
                        if excess == 0:
                            break
                a += ONE
            scans += a - start
            if excess == 0:
                break
            relabels += ONE
            degree = last - first(net, v)
            work += RELABEL_WORK + degree
            scans += degree
            if net.sink_residual[v] > 0:
                h = ONE
                amount = min(excess, net.sink_residual[v])
                net.sink_residual[v] -= amount
                excess -= amount
                pushes += ONE
                a = first(net, v)
                continue
            low, a = lowest_neighbour(net, height, v, dead - ONE)
            h = low + ONE
            if h == dead:
                break
        net.excess[v] = excess
        height[v] = h
        state.next_height[v] = h  # mutant: the-new-height-is-forgotten
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += scans
    other = n - begin
    k = ZERO
    while k < waiting:  # mutant: the-list-is-not-handed-over
        active[other + k] = active[begin + front]
        front = front + ONE if front + ONE < n else ZERO
        k += ONE
    return other, waiting, work


@kernel
def first_stage(net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, monitor: Monitor) -> None:
    """Push excess until none can reach the sink; all threads run this together.

    On return the heights are exact, also after the stop flag was raised, unless the barrier broke.
    """
    search, work_limit, stop, counts = state.search, rules.work_limit, monitor.stop, monitor.counts
    num_threads = search.num_threads[0]
    n = np.uint64(len(net.excess))
    dead = n + ONE
    few = rules.few_active * num_threads if num_threads > ONE else n + ONE
    if rules.pulses:
        few = ZERO
    shared = state.shared
    current = ZERO
    phase = ZERO
    stopping = False
    while True:
        # Global relabel.
        started = now()
        begin, end, _ = search_together(search, thread, net, state.height, False)
        if thread == ZERO:
            counts[RELABEL_NANOSECONDS] += now() - started
            counts[GLOBAL_RELABELS] += ONE
            begin_phase(state.worklist, phase)
            relaxed_store(shared, WORK, 0)
            relaxed_store(shared, STOPPING, relaxed_load(stop, 0))
        list_active(net, state, thread, begin, end, phase)
        if not wait(search.barrier, num_threads):
            return
        begin = ZERO
        # Stop if no vertex is active.
        size = appended(state.worklist, phase)
        # mutant: who-comes-from-a-search-is-told-to-stop-in-the-same-place
        stopping = relaxed_load(shared, STOPPING) != 0
        if thread == ZERO:
            total = 0.0
            k = ZERO
            while k < size:
                total += net.excess[state.active[k]]
                k += ONE
            monitor.progress[0] = total
        if size == ZERO or stopping:
            return
        total_work = ZERO
        while size > ZERO and total_work < work_limit and not stopping:
            phase += ONE
            if thread == ZERO:
                begin_phase(state.worklist, phase)  # mutant: its-counters-are-not-reset
                relaxed_store(shared, STOPPING_AFTER_ROUND, relaxed_load(stop, 0))
            # Few vertices: one thread discharges them, the others wait.
            if size < few:
                counts[WAITS] += ONE if thread > ZERO else ZERO
                if thread == ZERO:
                    begin, size, work = discharge_alone(
                        net, state, begin, size, few * MANY_AGAIN, work_limit - total_work, monitor
                    )
                    relaxed_store(shared, WAITING, begin)
                    relaxed_store(shared, WAITING + 1, size)
                    fetch_add(shared, WORK, work)
                if not wait(search.barrier, num_threads):
                    return
                begin = np.uint64(relaxed_load(shared, WAITING))
                size = np.uint64(relaxed_load(shared, WAITING + 1))
            # A round: take chunks, discharge, meet, commit.
            else:
                current += ONE  # mutant: rounds-have-one-number
                out = n - begin  # mutant: overwrites-that-of-this-round
                this_round = Round(np.uint32(current), phase, out)
                waiting = ZERO
                work = ZERO
                while True:
                    k, end = take_chunk(state.worklist, phase, size)
                    if k == end:
                        break
                    while k < end:
                        v = np.uint64(state.active[begin + k])
                        k += ONE
                        if net.excess[v] > 0 and np.uint64(state.height[v]) < dead:
                            if rules.pulses:
                                waiting, more = push_frozen(
                                    net, state, thread, v, this_round, waiting, monitor
                                )
                            else:
                                waiting, more = discharge_frozen(
                                    net, state, thread, v, this_round, waiting, monitor
                                )
                            work += more
                # mutant: what-is-in-a-buffer-is-lost
                flush(state.worklist, phase, state.active, out, thread, waiting)
                fetch_add(shared, WORK, work)
                if not wait(search.barrier, num_threads):
                    return
                if rules.pulses:
                    fetch_add(shared, WORK, relabel_pushed(net, state, thread, begin, size, monitor))
                    if not wait(search.barrier, num_threads):  # mutant: heights-change-while-others-relabel
                        return
                begin = out
                size = appended(state.worklist, phase)
                commit(net, state, thread, begin, size)
            total_work = np.uint64(relaxed_load(shared, WORK))
            stopping = relaxed_load(shared, STOPPING_AFTER_ROUND) != 0
            if not wait(search.barrier, num_threads):
                return
        phase += ONE  # mutant: that-of-a-period-has-the-number-of-the-last-round


def solve(net: ResidualArrays, options: SynchronousOptions, control: Control) -> Array:
    """Run the first stage in place, on all threads; return exact heights.

    O(n^2) rounds, hence O(n^2 m) work. Memory: eight indices a vertex.
    """
    n, m = len(net.excess), len(net.head)
    dtype = net.head.dtype
    period = options.relabel_period
    work_limit = UNLIMITED if period is None else relabel_limits("work", period, n, m)[1]
    search = make_search(control.threads, n, m, dtype)
    state = State(
        search=search,
        height=np.empty(n, dtype=dtype),
        next_height=np.empty(n, dtype=dtype),
        gained=np.zeros(n, dtype=np.int64),
        round_listed=np.zeros(n, dtype=np.uint32),
        worklist=make_worklist(control.threads, dtype),
        active=np.empty(2 * n, dtype=dtype),
        shared=np.zeros(64, dtype=np.int64),
        delays=control.delays,
    )
    rules = Rules(np.uint64(options.few_active), work_limit, options.pulses)
    control.progress[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(net, state, np.uint64(thread), rules, control.monitor(thread))

    run_solver(share, control, search.barrier)
    return state.height
