"""Highest-label push-relabel along paths, on many cores: each thread works on the vertices that it owns.

The method is preflow's own. It combines partial augment-relabel (Goldberg, "The Partial Augment-Relabel
Algorithm for the Maximum Flow Problem", ESA 2008) with the ownership of vertices and the donations of work of
Cihan (2010, sections 4.5 to 4.7) and with the admissible arcs of Hong (2008).

Definitions
-----------
- A vertex is *active* if it has excess and its height is at most n. A thread *owns* the active vertices whose
  excess it raised from zero by a push. So a thread follows the excess that it pushes, and the order of
  operations stays close to the serial one; most of the speed comes from that order.
- A residual arc is *admissible* if it leads to any lower vertex. If it leads down by more than one level it
  is *steep*.
- A *path* has up to `path_length` admissible arcs and starts at an active vertex. Its inner vertices have no
  excess. The thread *marks* an inner vertex: it adds one unit of excess, so that the thread owns the vertex
  and no other thread can.
- A *phase* lies between two global relabels. It ends when no thread has work, or when the threads have done
  ``relabel_period * (6 n + m)`` units of work. This limit is lower if the last global relabel had few
  vertices to find, since such a global relabel is cheap.
- A *gap* is a height that no vertex has. Vertices above it probably cannot reach the sink.
- A thread whose active vertices are all below the *minimum working level* of the phase does not discharge
  them at once. It first waits for higher vertices, which another thread may donate.

Invariants
----------
- Only the owner of a vertex pushes from it, relabels it and lowers its excess. All other accesses to excess,
  heights and residual capacities add atomically or only read.
- A push credits the receiver before it debits the sender: no excess is ever missing.
- A vertex with residual capacity to the sink has height 1. A search gives it that height, and its owner
  relabels it only when the capacity is used up.
- The thread takes a mark back when it abandons the path or has pushed along it. If other threads added
  excess to the vertex meanwhile, the vertex becomes active and the thread owns it.
- Heights are not valid at every moment: w may be relabelled past v just before v's push opens the arc (w, v).
  That arc is then steep. It is admissible, so w may push over it. A relabel of w may lower the height of w,
  so that the arc is no longer steep. Heights are exact after a global relabel, which all threads do together
  while no thread pushes.
- All heights below ``exact_below`` are exact distances: since the last search, no vertex with such a height
  was relabelled, and the last arc over which it pushed in each discharge kept residual capacity.
- For each height, the counts of all threads add up to the number of vertices with this height.

Pseudo-code
-----------
::

    if it may give up, and no level near the sink is wide: give up
    repeat:                                                          first_stage
        all threads search exact heights above exact_below,
            a quarter farther than the last vertex with excess
        each thread counts its vertices by height and lists          start_phase
            the active ones
        if the search was complete and found no excess: stop
        each thread, until the phase is over:                        run_phase
            level = height of its highest active vertex below all gaps
            if it has none, or level < minimum working level:        wait_for_higher
                wait for a donation or for a lower minimum level
            if another thread waits: donate vertices to it           donate_highest
            extend a path from the vertex until its excess is sent:
                admissible arc to a vertex without excess, and the
                    path may be longer: mark this vertex, continue from it
                any other admissible arc: push along the path        push_along_path
                no admissible arc: relabel the last vertex, take     change_level
                    its mark back, continue from the one before

A search is *complete* if it reaches every vertex that can reach the sink; it need not be. It starts above
the heights that are still exact, and it may stop at some level. Vertices beyond this level keep their old
heights, which are lower bounds of their distances. In networks with long distances, most levels lie beyond
it. Only a complete search may end the solve. The threads make one when all remaining excess lies above a gap.

A thread adds up the counts of a height only after it has moved its share of the vertices away, so it may
find a gap late. It may also see a gap that exists only for a moment. Both cost time, but no correctness:
vertices above a gap are not declared dead, but left alone until the next global relabel.

Where levels are narrow, few vertices are active at a time. A serial method is faster on such networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Int64, Number
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
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..kernels.work_limit import operations_left, operations_of
from ..network.arcs import arcs_of, fetch_first, first, head, opposite
from ..parallel.barrier import back_off, wait
from ..parallel.delays import delay
from ..parallel.idle import (
    EMPTY,
    NOT_EMPTY,
    all_empty,
    announce_donation,
    become_idle,
    claim,
    claim_idle,
    has_donation,
)
from ..parallel.queues import Queues, append, clear, make_queues, pop, size
from ..parallel.search import (
    ParallelSearch,
    end_of_block,
    first_own,
    has_wide_level,
    height_not_reached,
    make_search,
    next_block,
    search_again,
)
from ..parallel.thread_pool import run_solver
from ..solving.monitor import Monitor
from ..solving.options import CheckedOptions, PositiveInteger, PositiveNumber
from ..solving.run import Control, GaveUp
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS, STEALS, WAITS
from .relabel_rule import RELABEL_WORK, relabel_limits

#: Vertices that a thread donates at once, at most.
MOST_DONATED = 16
#: A waiting thread lowers the minimum working level L to L - L // LOWER_BY - 1 after every LOWER_AFTER
#: nanoseconds, and at every look once it sleeps between looks.
LOWER_AFTER, LOWER_BY = np.uint64(2000), np.uint64(64)
#: Positions in State.shared.
WORK, GAP, STOPPING, MIN_LEVEL = (np.uint64(k) * PADDING for k in range(4))
#: Work that a thread counts for itself before it adds it to the common count.
WORK_QUANTUM = np.uint64(4096)
#: The work limit of a phase is proportional to the number of vertices that the last global relabel found. It
#: reaches the full limit when these are the share WHOLE of all vertices, and is at least LEAST of it.
WHOLE, LEAST = 0.5, 0.3
#: A level with this many vertices is wide. Wide levels are looked for among this share of the vertices, those
#: nearest to the sink. Those of roads with 200,000 vertices have up to 1,017; these roads took 33 ms on 16
#: threads of a Xeon, serial-hi-pr 183.
WIDE, PROBED = 512, 1 / 16


@dataclass(frozen=True)
class PathsOptions(CheckedOptions):
    """Options of multicore push-relabel along paths.

    Attributes
    ----------
    relabel_period : float
        A global relabel is due after ``relabel_period * (6 n + m)`` units of work, or after as little as
        three tenths of that if the last one found less than half of the vertices.
    path_length : int
        Greatest number of arcs of a path, along which a thread pushes at once.
    """

    relabel_period: PositiveNumber = 1.0
    path_length: PositiveInteger = 4


class State(NamedTuple):
    """The state that the threads share besides the residual network."""

    search: ParallelSearch  #: for global relabels by all threads together
    queues: Queues  #: the vertices that were donated to each thread
    #: shape (n,): distance labels and current arcs
    height: Indices
    current: Indices
    #: shape (threads, n + 2): the first active vertex of each thread and height; n where there is none
    active_first: Indices
    active_next: Indices  #: shape (n,): the next active vertex in the same list
    #: shape (threads * (n + 2),): number of vertices that each thread has moved to a height, minus the number
    #: that it has moved away
    population: NDArray[np.int64]
    #: shape (threads, n + 2): how many vertices a thread may move away from a height before it adds up the
    #: counts of all threads
    until_recount: NDArray[np.int64]
    #: uint32, shape (n + 2,): whether a height has so few vertices that a thread adds up the counts at every
    #: move away from it
    is_scarce: Indices
    path: Indices  #: shape (threads, at least path_length): the vertices of each thread's path
    #: shape (threads * PADDING,): excess that each thread found on active vertices after the last global
    #: relabel
    active: NDArray[np.float64]
    #: shape (threads * PADDING,): the greatest height of an active vertex that each thread owned then
    highest: NDArray[np.uint64]
    #: shape (threads * PADDING,): how many vertices each thread found in the last global relabel
    searched: NDArray[np.uint64]
    #: shape (threads * PADDING,): how many operations each thread had made by then
    made: NDArray[np.uint64]
    #: shape (threads * PADDING,): the least height at which each thread has changed a distance since the last
    #: global relabel
    exact_below: NDArray[np.uint64]
    #: WORK since the last global relabel; GAP: the lowest height found empty; STOPPING: the solve ends;
    #: MIN_LEVEL: the minimum working level
    shared: NDArray[np.int64]
    over: NDArray[np.int64]  #: whether the phase is over
    delays: NDArray[np.uint64] | None = None  #: for stress tests, see parallel/delays.py


class Rules(NamedTuple):
    """The options that the kernels follow."""

    path_length: np.uint64  #: greatest number of arcs of a path
    work_limit: np.uint64  #: the phase is over after this much work


class ActiveLists(NamedTuple):
    """The extent of a thread's lists of active vertices; there is one list for each height."""

    opened: np.uint64  #: the greatest height whose list is initialised
    count: Number  #: the number of vertices in all lists
    top: np.uint64  #: the greatest height whose list may have a vertex


@kernel
def list_active(
    state: State, thread: np.uint64, v: np.uint64, h: np.uint64, lists: ActiveLists
) -> ActiveLists:
    """Add an active vertex of height `h`, which the thread owns, to its list."""
    first = state.active_first
    opened = lists.opened
    while opened < h:
        opened += ONE
        first[thread, opened] = len(state.height)
    state.active_next[v] = first[thread, h]
    first[thread, h] = v
    return ActiveLists(opened, lists.count + ONE, max(lists.top, h))  # mutant: their-top-does-not-rise


@kernel
def release(
    net: ResidualArrays, state: State, thread: np.uint64, v: np.uint64, amount: Int64, lists: ActiveLists
) -> ActiveLists:
    """Add `amount` to the excess of a vertex that the thread owns; list the vertex if it then has excess."""
    delay(state.delays, thread)
    if fetch_add(net.excess, v, amount) + amount > 0:
        h = np.uint64(state.height[v])
        if h <= np.uint64(len(state.height)):
            # mutant: an-inner-vertex-that-others-pushed-to-is-not-kept
            return list_active(state, thread, v, h, lists)
    return lists


@kernel
def change_level(
    state: State, thread: np.uint64, num_threads: np.uint64, previous: np.uint64, h: np.uint64
) -> None:
    """Count a vertex at its new height `h`; note a gap if no vertex is left at its previous height."""
    n = np.uint64(len(state.height))
    stride = n + TWO
    row = thread * stride
    if h <= n:  # mutant: a-vertex-is-not-counted-at-its-new-height
        relaxed_store(state.population, row + h, state.population[row + h] + 1)
    relaxed_store(state.population, row + previous, state.population[row + previous] - 1)
    state.until_recount[thread, previous] -= 1
    if previous >= np.uint64(relaxed_load(state.shared, GAP)):
        return
    is_scarce = relaxed_load(state.is_scarce, previous) != 0
    if is_scarce or state.until_recount[thread, previous] <= 0:
        left = np.int64(0)
        place = previous
        for _ in range(num_threads):
            left += relaxed_load(state.population, place)
            place += stride
        if left <= 0:
            fetch_min(state.shared, GAP, previous)
        few = left <= np.int64(num_threads)
        if is_scarce != few:
            relaxed_store(state.is_scarce, previous, few)
        state.until_recount[thread, previous] = left // np.int64(num_threads)


@kernel
def donate_highest(state: State, thread: np.uint64, level: np.uint64, lists: ActiveLists) -> ActiveLists:
    """Donate active vertices to a waiting thread.

    The thread keeps its k highest vertices and donates the next k; k is at most half of all its vertices.
    These are consecutive in their lists, because neighbours in a list are often neighbours in the network and
    should stay together. Vertices below the minimum working level are not donated.
    """
    queues = state.queues
    n = np.uint64(len(state.height))
    min_level = max(np.uint64(relaxed_load(state.shared, MIN_LEVEL)), ONE)
    other = thread
    most = min(lists.count // TWO, np.uint64(MOST_DONATED))
    donated = ZERO
    seen = ZERO
    while level >= min_level and donated < most:
        v = np.uint64(state.active_first[thread, level])
        kept = n
        while v != n and donated < most:
            following = np.uint64(state.active_next[v])
            if seen < most:
                kept = v
            else:
                if other == thread:
                    other = claim_idle(queues.idle, thread)
                    if other == thread:
                        return lists
                append(queues, other, v)
                donated += ONE
                if kept == n:
                    state.active_first[thread, level] = following
                else:
                    state.active_next[kept] = following  # mutant: a-vertex-is-donated-and-kept
            seen += ONE
            v = following
        level -= ONE
    if other != thread:
        announce_donation(queues.idle, other)
    return ActiveLists(lists.opened, lists.count - donated, lists.top)


@kernel
def wait_for_higher(state: State, thread: np.uint64, level: np.uint64, monitor: Monitor) -> bool:
    """Wait for a donation, or until the minimum working level falls to `level`.

    `level` is the height of the thread's highest active vertex, 0 if it has none. Return False if no thread
    has work left, or the phase is over, or the solve is to stop.
    """
    idle, stop = state.queues.idle, monitor.stop
    # mutant: who-waits-below-it-counts-as-empty
    become_idle(idle, thread, EMPTY if level == ZERO else NOT_EMPTY)
    looks = 0
    until = now() + LOWER_AFTER
    while not has_donation(idle, thread):
        if all_empty(idle) or relaxed_load(state.over, ZERO) != 0 or relaxed_load(stop, ZERO) != 0:
            return False
        min_level = np.uint64(relaxed_load(state.shared, MIN_LEVEL))
        if level > ZERO and level >= min_level:
            if claim(idle, thread):  # mutant: who-waits-goes-on-without-its-flag
                return True
        elif min_level > ONE and (looks >= idle.patience[0] or now() >= until):
            fetch_min(state.shared, MIN_LEVEL, max(level, min_level - min_level // LOWER_BY - ONE, ONE))
            until = now() + LOWER_AFTER
        looks = back_off(looks, idle.patience[0])
    return True


@kernel
def take_donation(state: State, thread: np.uint64, lists: ActiveLists) -> ActiveLists:
    """List the vertices that another thread has donated."""
    queues = state.queues
    while size(queues, thread) > ZERO:  # mutant: is-not-taken
        v = pop(queues, thread)
        lists = list_active(state, thread, v, np.uint64(relaxed_load(state.height, v)), lists)
    return lists


@kernel
def push_along_path(
    net: ResidualArrays,
    state: State,
    thread: np.uint64,
    depth: np.uint64,
    carried: Int64,
    exact_below: np.uint64,
    lists: ActiveLists,
) -> tuple[Int64, np.uint64, ActiveLists]:
    """Push up to `carried` units along the thread's path; each arc takes as much as its capacity allows.

    The thread takes back the marks of the inner vertices. No other thread changes an arc between two vertices
    of the path. Return the amount that the first vertex has sent, the height below which all heights stay
    exact, and the thread's lists of active vertices.
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
            b = opposite(net, a)
            capacity = np.int64(relaxed_load(net.residual, a))
            amount = min(carried, capacity)
            delay(state.delays, thread)
            if i < depth:  # mutant: pushes-plainly-over-its-last-arc-too
                relaxed_store(net.residual, a, capacity - amount)
                back = relaxed_load(net.residual, b)
                relaxed_store(net.residual, b, back + amount)
            else:
                fetch_add(net.residual, a, -amount)
                fetch_add(net.residual, b, amount)
        # An active vertex that keeps excess does not count here: another push or a relabel follows.
        # mutant: an-arc-saturated-on-the-way-is-not-seen
        if amount == capacity and (i > ZERO or amount == carried):
            exact_below = min(exact_below, h)
        if i == ZERO:
            sent = amount
        else:
            # mutant: the-mark-is-not-taken-back-after-a-push
            lists = release(net, state, thread, v, carried - amount - 1, lists)
        carried = amount
        if to_sink:
            break
        if i == depth:
            w = head(net, v, a)
            delay(state.delays, thread)
            if fetch_add(net.excess, w, carried) == 0:  # mutant: who-pushes-last-holds-the-vertex-too
                h = np.uint64(relaxed_load(state.height, w))
                if h <= np.uint64(len(state.height)):
                    lists = list_active(state, thread, w, h, lists)
            break
        i += ONE
    return sent, exact_below, lists


@kernel
def prefetch_vertex(net: ResidualArrays, state: State, v: np.uint64) -> None:
    """Prefetch what the discharge of a vertex reads first; `v` may be n."""
    if v < np.uint64(len(state.height)):
        a = first(net, v)
        prefetch(state.active_next, v)
        prefetch(net.excess, v)
        prefetch(state.current, v)
        prefetch(state.height, v)
        prefetch(net.head, a)
        prefetch(net.residual, a)


@kernel
def prefetch_end(net: ResidualArrays, state: State, v: np.uint64, a: np.uint64) -> None:
    """Prefetch the data of the head of arc `a`, from which the path may continue."""
    w, b = head(net, v, a), opposite(net, a)
    prefetch_to_write(net.excess, w)
    fetch_first(net, w)
    prefetch(state.current, w)
    prefetch(net.head, b)
    prefetch(net.residual, b)


@kernel
def run_phase(
    net: ResidualArrays,
    state: State,
    thread: np.uint64,
    rules: Rules,
    lists: ActiveLists,
    greatest_seen: np.uint64,
    min_level: np.uint64,
    monitor: Monitor,
) -> np.uint64:
    """Discharge the thread's active vertices until the phase is over; return the greatest height seen.

    All threads begin with the same `min_level`.
    """
    queues, longest, work_limit = state.queues, rules.path_length, rules.work_limit
    stop, counts = monitor.stop, monitor.counts
    num_threads = state.search.num_threads[0]
    n = np.uint64(len(net.excess))
    dead = n + ONE
    height, current, path, shared, over = state.height, state.current, state.path, state.shared, state.over
    pushes = ZERO
    relabels = ZERO
    scans = ZERO
    work = ZERO
    exact_below = dead
    relaxed_store(shared, MIN_LEVEL, min_level)
    while relaxed_load(over, 0) == 0:
        # Find the highest level with an active vertex, below all gaps.
        level = min(lists.top, np.uint64(relaxed_load(shared, GAP)))
        while level > ZERO and np.uint64(state.active_first[thread, level]) == n:
            level -= ONE
        # Report work; the thread that reaches the limit ends the phase.
        if work >= WORK_QUANTUM or level == ZERO:
            total = np.uint64(fetch_add(shared, WORK, work)) + work
            work = ZERO
            if total >= work_limit or relaxed_load(stop, 0) != 0:
                relaxed_store(over, 0, 1)
        # Without work above the minimum working level, wait for a donation or for a lower level.
        if level == ZERO or level < np.uint64(relaxed_load(shared, MIN_LEVEL)):
            if level == ZERO:
                lists = ActiveLists(lists.opened, ZERO, ZERO)
            counts[WAITS] += ONE
            delay(state.delays, thread)
            if not wait_for_higher(state, thread, level, monitor):
                relaxed_store(over, 0, 1)
                break
            if size(queues, thread) > ZERO:
                counts[STEALS] += ONE
            lists = take_donation(state, thread, lists)
            continue
        # Donate work if a thread waits.
        if lists.count >= TWO and relaxed_load(queues.idle.num_idle, ZERO) > 0:
            lists = donate_highest(state, thread, level, lists)
        # Take the vertex. Excess that other threads add meanwhile waits for a later discharge.
        active = np.uint64(state.active_first[thread, level])
        state.active_first[thread, level] = state.active_next[active]
        lists = ActiveLists(lists.opened, lists.count - ONE, level)
        prefetch_vertex(net, state, np.uint64(state.active_first[thread, level]))
        available = load(net.excess, active)
        delay(state.delays, thread)
        sent = np.int64(0)
        # Discharge it: v is the end of the path, `depth` the number of arcs before it.
        path[thread, ZERO] = active
        depth = ZERO
        v = active
        h = np.uint64(height[v])
        highest = h
        while True:
            first, last = arcs_of(net, v)
            a = np.uint64(current[v])
            begin = a
            admissible = h == ONE and net.sink_residual[v] > 0
            extends = False
            # Look for an admissible arc; mark its end if the path may go on there.
            if not admissible:
                while a < last:
                    if relaxed_load(net.residual, a) > 0:
                        w = head(net, v, a)
                        height_w = np.uint64(relaxed_load(height, w))
                        if height_w < h:
                            admissible = True
                            current[v] = a
                            if depth + ONE < longest:
                                prefetch_end(net, state, v, a)
                                extends = relaxed_load(net.excess, w) == 0 and compare_exchange(
                                    net.excess, w, 0, 1
                                )
                            break
                    a += ONE
                scans += a - begin
            # Extend the path.
            if extends:
                v = w
                h = np.uint64(relaxed_load(height, v))
                depth += ONE
                path[thread, depth] = v
                continue
            # Push along the path, then start again from the active vertex with the excess that is left.
            if admissible:
                amount, exact_below, lists = push_along_path(
                    net, state, thread, depth, available - sent, exact_below, lists
                )
                sent += amount
                pushes += depth + ONE
                depth = ZERO
                if sent == available:
                    break
                v = active
                h = highest
                continue
            # Relabel v. lowest_neighbour_now is inlined here: a call makes one thread 5 to 9 % slower.
            low = n
            arc = last
            a = first
            while a < last:
                if relaxed_load(net.residual, a) > 0:
                    height_w = np.uint64(relaxed_load(height, head(net, v, a)))
                    if height_w < low:
                        low = height_w
                        arc = a
                a += ONE
            scans += last - first
            work += RELABEL_WORK + (last - first)
            relabels += ONE
            previous = h
            exact_below = min(exact_below, previous)  # mutant: a-relabel-is-not-seen
            h = low + ONE
            delay(state.delays, thread)
            relaxed_store(height, v, h)
            current[v] = arc
            change_level(state, thread, num_threads, previous, h)
            greatest_seen = max(greatest_seen, previous)  # mutant: the-height-before-is-not-remembered
            if h <= n:
                greatest_seen = max(greatest_seen, h)
            # The active vertex goes on while it can reach the sink; an inner vertex leaves the path.
            if depth == ZERO:
                highest = h
                if h == dead or h > np.uint64(relaxed_load(shared, GAP)):
                    break
            else:
                # mutant: the-mark-is-not-taken-back-on-retreat
                lists = release(net, state, thread, v, np.int64(-1), lists)
                depth -= ONE
                v = np.uint64(path[thread, depth])
                h = np.uint64(height[v])
            if work >= WORK_QUANTUM and (relaxed_load(over, 0) != 0 or relaxed_load(stop, 0) != 0):
                break
        # Abandon what is left of the path and debit the active vertex.
        while depth > ZERO:
            lists = release(net, state, thread, np.uint64(path[thread, depth]), np.int64(-1), lists)
            depth -= ONE
        if highest == dead:
            fetch_add(net.excess, active, -sent)
        else:
            lists = release(net, state, thread, active, -sent, lists)
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += scans
    state.exact_below[thread * PADDING] = exact_below
    return greatest_seen


@kernel
def start_phase(
    net: ResidualArrays,
    state: State,
    thread: np.uint64,
    ceiling: np.uint64,
    trusted: np.uint64,
    greatest_seen: np.uint64,
) -> tuple[ActiveLists, np.uint64]:
    """Reset a thread's share of the state after a global relabel and list its share of the active vertices.

    Vertices are listed in the order of their numbers, which is their order in memory. Return the lists, and
    the greatest height of the thread's vertices.
    """
    search = state.search
    clear(state.queues, thread)
    n = np.uint64(len(net.excess))
    if thread == ZERO:
        relaxed_store(state.shared, WORK, 0)
        relaxed_store(state.shared, GAP, n + ONE)
        relaxed_store(state.over, 0, 0)
    row = thread * (n + TWO)
    h = ZERO
    while h <= greatest_seen:
        state.population[row + h] = 0
        state.until_recount[thread, h] = 0
        relaxed_store(state.is_scarce, h, 0)
        h += ONE
    greatest_seen = ZERO
    lists = ActiveLists(ZERO, ZERO, ZERO)
    active = 0.0
    block: np.uint64 = first_own(search, thread)
    while block < n:
        last = end_of_block(search, block, n)
        v = block
        while v < last:
            state.current[v] = first(net, v)
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
                greatest_seen = max(greatest_seen, h)
                if reached and net.excess[v] > 0:
                    active += net.excess[v]
                    lists = list_active(state, thread, v, h, lists)
            v += ONE
        block = next_block(search, block)
    state.active[thread * PADDING] = active
    state.highest[thread * PADDING] = lists.top
    return lists, greatest_seen


@kernel
def work_until_search(work_limit: np.uint64, found: np.uint64, num_vertices: np.uint64) -> np.uint64:
    """Return the work limit of a phase, given how many vertices the last search found; at least 1."""
    share = np.float64(found) / (WHOLE * np.float64(num_vertices))
    return np.uint64(max(1.0, np.float64(work_limit) * min(max(share, LEAST), 1.0)))


@kernel
def first_stage(net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, monitor: Monitor) -> None:
    """Push excess until none can reach the sink; all threads run this together.

    On return the heights are exact, even if the solve was stopped, unless the barrier was broken.
    """
    search, counts = state.search, monitor.counts
    num_threads = search.num_threads[0]
    n = np.uint64(len(net.excess))
    greatest_seen = ZERO
    exact_below = ZERO
    trusted = ZERO
    while True:
        # Global relabel: make heights exact from `exact_below` to `ceiling`.
        started = now()
        begin, end, ceiling, pushes = search_again(
            search, thread, net, state.height, exact_below, trusted, True
        )
        counts[PUSHES] += pushes
        own = thread * PADDING
        state.searched[own] = end - begin - search.kept[own]
        made = operations_of(counts)
        state.made[own] = made
        lists, greatest_seen = start_phase(net, state, thread, ceiling, trusted, greatest_seen)
        if thread == ZERO:
            counts[RELABEL_NANOSECONDS] += now() - started
            counts[GLOBAL_RELABELS] += ONE
            relaxed_store(state.shared, STOPPING, relaxed_load(monitor.stop, 0))
        if not wait(search.barrier, num_threads):
            return
        # Add up what the threads found; the minimum working level starts at the highest active vertex.
        active = 0.0
        min_level = ZERO
        searched = ZERO
        made = ZERO
        for other in range(num_threads):
            place = np.uint64(other) * PADDING
            active += state.active[place]
            searched += state.searched[place]
            made += state.made[place]
            if num_threads > ONE:
                min_level = max(min_level, state.highest[place])
        if thread == ZERO:
            monitor.progress[0] = active
        left = operations_left(counts, made)
        stopping = relaxed_load(state.shared, STOPPING) != 0 or left == ZERO
        # Stop only after a complete search.
        if ceiling > n and (active == 0.0 or stopping):
            return
        if not stopping:
            limit = min(work_until_search(rules.work_limit, searched, n), left)
            phase_rules = Rules(rules.path_length, limit)
            greatest_seen = run_phase(
                net, state, thread, phase_rules, lists, greatest_seen, min_level, monitor
            )
        if not wait(search.barrier, num_threads):
            return
        # The next search starts above the heights that no thread has changed.
        exact_below = ceiling
        for other in range(num_threads):
            exact_below = min(exact_below, state.exact_below[np.uint64(other) * PADDING])
        trusted = ZERO if stopping else min(np.uint64(relaxed_load(state.shared, GAP)), n)


def solve(net: ResidualArrays, options: PathsOptions, control: Control) -> Array:
    """Run the first stage in place, on all threads; return exact heights.

    Memory: four indices per vertex, and for each thread five indices per height that occurs.
    """
    n, m = len(net.excess), len(net.head)
    dtype = net.head.dtype
    threads = control.threads
    height = np.empty(n, dtype=dtype)
    search = make_search(threads, n, m, dtype)
    enough = np.uint64(n * PROBED)
    if control.budget is not None and not has_wide_level(search, net, height, np.uint64(WIDE), enough):
        raise GaveUp("few vertices a level")
    _, work_limit = relabel_limits("work", options.relabel_period, n, m)
    queues = make_queues(threads, threads * MOST_DONATED, dtype)
    state = State(
        search=search,
        queues=queues,
        height=height,
        current=np.empty(n, dtype=dtype),
        active_first=np.empty((threads, n + 2), dtype=dtype),
        active_next=np.empty(n, dtype=dtype),
        population=np.zeros(threads * (n + 2), dtype=np.int64),
        until_recount=np.zeros((threads, n + 2), dtype=np.int64),
        is_scarce=np.zeros(n + 2, dtype=np.uint32),
        path=np.empty((threads, max(options.path_length, 2 * int(PADDING))), dtype=dtype),
        active=np.zeros(threads * PADDING, dtype=np.float64),
        highest=np.zeros(threads * PADDING, dtype=np.uint64),
        searched=np.zeros(threads * PADDING, dtype=np.uint64),
        made=np.zeros(threads * PADDING, dtype=np.uint64),
        exact_below=np.zeros(threads * PADDING, dtype=np.uint64),
        shared=np.zeros(4 * PADDING, dtype=np.int64),
        over=np.zeros(PADDING, dtype=np.int64),
        delays=control.delays,
    )
    rules = Rules(np.uint64(options.path_length), work_limit)
    control.progress[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(net, state, np.uint64(thread), rules, control.monitor(thread))

    run_solver(share, control, search.barrier)
    return state.height
