"""A refine by several threads without locks: Łupińska 2011, Algorithm 5.4, for capacities above one.

Definitions. The *length* of a residual arc is its cost times `2**shift`, plus the potential of its tail,
minus that of its head. Epsilon is `2**level`. An arc is *admissible* if it is residual and its length is
negative. A vertex is *active* if its excess is positive. An active vertex is in the list or inbox of one
thread, which *works on* it. The thread whose addition makes an excess positive lists the vertex; the work
ends when the excess is zero again. The *rank* of a vertex is that of :mod:`..price_update`. A *round* is the
work between two price updates.

Invariants:

- Only the thread that works on a vertex lowers its excess, its potential and the residual capacities of its
  arcs. So what it has read of them is still there when it pushes.
- A push adds to the residual capacity of the opposite arc, then to the excess of the head. A thread reads the
  excess of a vertex first, then its arcs. So a vertex with excess that it received has a residual arc.
- Potentials only fall in a round, so an outdated potential is too high. A thread that reads one may lower its
  vertex less than it could: its arcs keep lengths of at least minus epsilon. Or it may push along an arc
  whose length is not negative any more; then the opposite arc may be shorter than minus epsilon.
- After a round all such arcs are filled, before prices are updated. If this makes no vertex active, the flow
  is optimal for epsilon, whatever the order of the steps was.
- Ranks only fall during a price update, and each fall lists the vertex again, unless it is listed. So at the
  end each rank is the least.

Pseudo-code::

    fill all arcs of negative length
    until no vertex is active:                                        refine_share
        update prices:                                                fall_by_ranks
            the rank of deficits is 0, of other vertices infinite
            until all active vertices are reached; the refine is blocked if no rank is left:     find_ranks
                list the vertices whose ranks are among the next WINDOW
                until no thread has a vertex:
                    take a vertex from the list or the inbox
                    lower the ranks of the tails of residual arcs into it, and list those that fell
            lower potentials by rank times epsilon, or by the end of the window if that is less
        each thread, until none has a vertex or `period` relabels were made:    push_and_relabel
            take an active vertex from the list or the inbox
            until its excess is gone:                                           discharge
                push along admissible arcs; if there are none, relabel it
        fill the arcs of length below minus epsilon                   fill_arcs

Departures: the paper's threads own vertices for good and look at all that they own. A thread here pushes
along all admissible arcs in turn, not only along the arc of least length. If REPAIRS rounds in a row were
needed only for filled arcs, one thread works alone, and so without outdated potentials: the number of rounds
is finite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...kernels.atomics import (
    PADDING,
    exchange,
    fetch_add,
    fetch_min,
    load,
    relaxed_load,
    relaxed_store,
)
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel import inboxes
from ...parallel.barrier import wait
from ...parallel.delays import delay
from ...parallel.thread_pool import share_of
from ...parallel.totals import add_up
from ...solving.monitor import Monitor
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS, WAITS
from ..price_update import FAR
from ..residual import COST, FIELDS, LEFT, MATE, Residual
from .refine import BLOCKED, COMPLETE, ENDLESS, STOPPED

#: After this many rounds in a row that ended with all excess gone, one thread works alone.
REPAIRS = 8
#: A thread adds its relabels to the total of all threads when it has more than this many, or than an eighth
#: of its share of the period.
UNREPORTED = 64
#: Positions in LockFreeScalingState.signals: whether the round is over; the relabels of the round.
OVER, RELABELED = np.uint64(0), PADDING
#: Positions in a thread's row of LockFreeScalingState.found: how many active vertices of its share have ranks
#: below the end of the window, and its least rank past the window.
REACHED, FOLLOWING = ZERO, ONE
#: Ranks that a price update settles at a time. Few vertices have one rank, and each window takes three
#: barriers; in a wide one ranks fall several times. The number is a guess.
WINDOW = np.int64(4)


class LockFreeScalingState(NamedTuple):
    """The state that the threads share besides the residual network."""

    #: shape (n,)
    potential: NDArray[np.int64]
    excess: NDArray[np.int64]
    rank: NDArray[np.int64]  #: shape (n,)
    #: shape (n,): the place of the arc at which the next scan of a vertex begins
    next_arc: NDArray[np.uint64]
    listed: NDArray[np.uint32]  #: shape (n,): whether a price update has the vertex in a list
    lists: inboxes.Inboxes  #: the vertices of each thread
    signals: NDArray[np.uint64]  #: OVER and RELABELED
    found: NDArray[np.int64]  #: shape (threads * PADDING,): REACHED and FOLLOWING of each thread
    barrier: NDArray[np.int64]
    totals: NDArray[np.uint64]
    num_threads: NDArray[np.uint64]  #: shape (1,)
    #: a block of ``2**block_bits`` consecutive vertices has one owner, to which threads send its vertices
    block_bits: np.uint64
    period: np.uint64  #: a price update is due after this many relabels of all threads together
    delays: NDArray[np.uint64] | None = None  #: for stress tests, see parallel/delays.py


@kernel
def over(state: LockFreeScalingState, monitor: Monitor) -> bool:
    """Return whether the round is over or the solve is to stop."""
    return bool(relaxed_load(state.signals, OVER) != ZERO or relaxed_load(monitor.stop, ZERO) != 0)


@kernel
def list_vertex(state: LockFreeScalingState, thread: np.uint64, workers: np.uint64, v: np.uint64) -> None:
    """Give a vertex to its owner, or keep it if the list of this thread is empty."""
    delay(state.delays, thread)
    owner = (v >> state.block_bits) % workers
    if owner == thread or inboxes.is_empty(state.lists, thread):
        inboxes.append(state.lists, thread, v)
    else:
        inboxes.send(state.lists, thread, owner, v)


@kernel
def fill_arcs(
    net: Residual, state: LockFreeScalingState, thread: np.uint64, shift: Int64, bound: Int64
) -> None:
    """Fill the live arcs of the thread's share of vertices that are shorter than `bound`."""
    arcs, potential = net.arcs, state.potential
    u, last = share_of(np.uint64(len(potential)), thread, state.num_threads[0])
    while u < last:
        arc, end = net.first[u], net.live[u]
        while arc < end:
            v = np.uint64(arcs[arc])
            length = (np.int64(arcs[arc + COST]) << shift) + potential[u] - potential[v]
            if length < bound:
                amount = relaxed_load(arcs, arc + LEFT)
                if amount > 0:
                    fetch_add(arcs, arc + LEFT, -amount)
                    fetch_add(arcs, np.uint64(arcs[arc + MATE]) + LEFT, amount)
                    fetch_add(state.excess, u, -np.int64(amount))
                    fetch_add(state.excess, v, np.int64(amount))
            arc += FIELDS
        u += ONE


@kernel
def begin_update(state: LockFreeScalingState, thread: np.uint64) -> np.uint64:
    """Reset the ranks of the thread's vertices; return how many of them are active."""
    n, workers = np.uint64(len(state.rank)), state.num_threads[0]
    active = ZERO
    block = thread
    while block << state.block_bits < n:
        v = block << state.block_bits
        while v < min(n, (block + ONE) << state.block_bits):
            state.rank[v] = 0 if state.excess[v] < 0 else FAR
            state.listed[v] = 0
            if state.excess[v] > 0:
                active += ONE
            v += ONE
        block += workers
    if thread == ZERO:
        relaxed_store(state.signals, OVER, ZERO)
        relaxed_store(state.signals, RELABELED, ZERO)
    return active


@kernel
def list_window(state: LockFreeScalingState, thread: np.uint64, begin: Int64) -> None:
    """List the thread's vertices with ranks in the window from `begin` on."""
    n, workers = np.uint64(len(state.rank)), state.num_threads[0]
    inboxes.clear(state.lists, thread)
    block = thread
    while block << state.block_bits < n:
        v = block << state.block_bits
        while v < min(n, (block + ONE) << state.block_bits):
            if begin <= state.rank[v] < begin + WINDOW:
                state.listed[v] = 1
                inboxes.append(state.lists, thread, v)
            v += ONE
        block += workers


@kernel
def look_past_window(state: LockFreeScalingState, thread: np.uint64, end: Int64) -> None:
    """Count the active vertices of the share with ranks below `end`, and find its least other rank."""
    v, last = share_of(np.uint64(len(state.rank)), thread, state.num_threads[0])
    reached, following = np.int64(0), FAR
    while v < last:
        if state.rank[v] >= end:
            following = min(following, state.rank[v])
        elif state.excess[v] > 0:
            reached += 1
        v += ONE
    state.found[thread * PADDING + REACHED] = reached
    state.found[thread * PADDING + FOLLOWING] = following


@kernel
def lower_ranks(
    net: Residual,
    state: LockFreeScalingState,
    thread: np.uint64,
    begin: Int64,
    levels: tuple[Int64, Int64],
    monitor: Monitor,
) -> None:
    """Lower ranks by arcs from the window that starts at `begin`: one thread's share."""
    shift, level = levels
    end = begin + WINDOW
    arcs, potential, rank, workers = net.arcs, state.potential, state.rank, state.num_threads[0]
    while not over(state, monitor):
        inboxes.receive(state.lists, thread)
        if inboxes.is_empty(state.lists, thread):
            monitor.counts[WAITS] += ONE
            if not inboxes.wait_for_items(state.lists, thread, workers, state.signals, monitor.stop):
                break
            continue
        u = inboxes.pop(state.lists, thread)
        exchange(state.listed, u, np.uint32(0))  # before the rank is read  # mutant: is-listed-for-good
        delay(state.delays, thread)
        own = load(rank, u)
        arc, last = net.first[u], net.live[u]
        monitor.counts[ARC_SCANS] += (last - arc) // FIELDS
        while arc < last:
            v = np.uint64(arcs[arc])
            known = relaxed_load(rank, v)
            if known > own:
                length = potential[v] - potential[u] - (np.int64(arcs[arc + COST]) << shift)
                new = max(own + (length >> level) + 1, own)
                if (
                    new < known
                    and arcs[np.uint64(arcs[arc + MATE]) + LEFT] > 0
                    and fetch_min(rank, v, new) > new
                ):
                    delay(state.delays, thread)
                    if new < end and exchange(state.listed, v, np.uint32(1)) == 0:
                        list_vertex(state, thread, workers, v)
            arc += FIELDS


@kernel
def find_ranks(
    net: Residual,
    state: LockFreeScalingState,
    thread: np.uint64,
    active: np.uint64,
    levels: tuple[Int64, Int64],
    monitor: Monitor,
) -> tuple[int, Int64]:
    """Find the ranks of all `active` vertices, window after window; all threads call it.

    Return COMPLETE, BLOCKED or STOPPED, and a bound: all ranks below it are the least; all others are at
    least the bound.
    """
    num_threads = state.num_threads[0]
    begin = np.int64(0)
    while True:
        list_window(state, thread, begin)
        if not wait(state.barrier, num_threads):
            return STOPPED, begin
        lower_ranks(net, state, thread, begin, levels, monitor)
        if not wait(state.barrier, num_threads):
            return STOPPED, begin
        look_past_window(state, thread, begin + WINDOW)
        # A thread that sees the stop flag says so to all, so that all leave together.
        stop = ONE if relaxed_load(monitor.stop, ZERO) != 0 else ZERO
        holds, stop, _ = add_up(state.barrier, state.totals, thread, num_threads, stop, ZERO)
        if not holds or stop > ZERO:
            return STOPPED, begin
        reached, following, row = np.int64(0), FAR, ZERO
        while row < num_threads * PADDING:
            reached += state.found[row + REACHED]
            following = min(following, state.found[row + FOLLOWING])
            row += PADDING
        if np.uint64(reached) == active:
            return COMPLETE, begin + WINDOW
        if following == FAR:
            return BLOCKED, begin
        begin = following


@kernel
def fall_by_ranks(
    net: Residual,
    state: LockFreeScalingState,
    thread: np.uint64,
    workers: np.uint64,
    largest: Int64,
    level: Int64,
) -> None:
    """Lower the potentials of the thread's share by their ranks, and list the active vertices it owns."""
    n = np.uint64(len(state.rank))
    v, last = share_of(n, thread, state.num_threads[0])
    while v < last:
        state.potential[v] -= min(state.rank[v], largest) << level
        state.next_arc[v] = net.first[v]
        v += ONE
    inboxes.clear(state.lists, thread)
    block = thread if thread < workers else n
    while block << state.block_bits < n:
        v = block << state.block_bits
        while v < min(n, (block + ONE) << state.block_bits):
            if state.excess[v] > 0:
                inboxes.append(state.lists, thread, v)
            v += ONE
        block += workers


@kernel
def discharge(
    net: Residual,
    state: LockFreeScalingState,
    thread: np.uint64,
    workers: np.uint64,
    u: np.uint64,
    levels: tuple[Int64, Int64],
    monitor: Monitor,
) -> np.uint64:
    """Push from `u` and relabel it until its excess is gone or the round is over; return the relabels.

    `levels` are the shift of costs and the level of epsilon.
    """
    arcs, potential, excess = net.arcs, state.potential, state.excess
    shift, level = levels
    first, end = net.first[u], net.live[u]
    by = potential[u]
    pushes, relabels, scans = ZERO, ZERO, ZERO
    while not over(state, monitor):
        amount = load(excess, u)  # reads the excess before the arcs
        left = amount
        # Scan the arcs once around; push along admissible ones.
        begin = state.next_arc[u]
        arc, least, best = begin, ENDLESS, begin
        remaining = end - first
        scans += remaining // FIELDS
        while remaining > ZERO:
            if arc == end:
                arc = first
            capacity = np.int64(relaxed_load(arcs, arc + LEFT))
            if capacity > 0:
                v = np.uint64(arcs[arc])
                length = (np.int64(arcs[arc + COST]) << shift) + by - relaxed_load(potential, v)
                if length < 0:
                    moved = min(left, capacity)
                    delay(state.delays, thread)
                    fetch_add(arcs, arc + LEFT, -moved)
                    fetch_add(arcs, np.uint64(arcs[arc + MATE]) + LEFT, moved)
                    # mutant: lists-a-vertex-that-is-listed
                    before = fetch_add(excess, v, moved)
                    if before <= 0 and before + moved > 0:
                        list_vertex(state, thread, workers, v)
                    left -= moved
                    pushes += ONE
                    if left == 0:
                        break
                elif length < least:
                    least, best = length, arc
            arc += FIELDS
            remaining -= FIELDS
        state.next_arc[u] = arc if arc < end else first
        delay(state.delays, thread)
        if left < amount and fetch_add(excess, u, left - amount) == amount - left:
            break
        if left == 0:
            continue
        if least == ENDLESS:
            # Nothing has come to the vertex and no arc is left: it reaches no deficit.
            if left == amount:
                relaxed_store(state.signals, OVER, ONE)
            continue
        # Relabel; no arc that was residual before the scan is admissible.
        by -= least + (np.int64(1) << level)  # mutant: falls-too-far
        relaxed_store(potential, u, by)
        state.next_arc[u] = best
        relabels += ONE
    monitor.counts[PUSHES] += pushes
    monitor.counts[RELABELS] += relabels
    monitor.counts[ARC_SCANS] += scans
    return relabels


@kernel
def push_and_relabel(
    net: Residual,
    state: LockFreeScalingState,
    thread: np.uint64,
    workers: np.uint64,
    levels: tuple[Int64, Int64],
    monitor: Monitor,
) -> None:
    """Discharge vertices until no thread has one, a price update is due, or the solve is to stop."""
    report = min(np.uint64(UNREPORTED), state.period // (np.uint64(8) * workers))
    relabels = ZERO
    while not over(state, monitor):
        inboxes.receive(state.lists, thread)
        if inboxes.is_empty(state.lists, thread):
            monitor.counts[WAITS] += ONE
            if not inboxes.wait_for_items(state.lists, thread, workers, state.signals, monitor.stop):
                break
            continue
        u = inboxes.pop(state.lists, thread)
        relabels += discharge(net, state, thread, workers, u, levels, monitor)
        if relabels > report:
            if fetch_add(state.signals, RELABELED, relabels) + relabels >= state.period:
                relaxed_store(state.signals, OVER, ONE)
            relabels = ZERO


@kernel
def refine_share(
    net: Residual,
    state: LockFreeScalingState,
    thread: np.uint64,
    shift: Int64,
    level: Int64,
    monitor: Monitor,
) -> int:
    """Move all excess to deficits; all threads run this together, and each returns how it ended."""
    num_threads = state.num_threads[0]
    bound, settled = np.int64(0), 0
    while True:
        fill_arcs(net, state, thread, shift, bound)
        if not wait(state.barrier, num_threads):
            return STOPPED
        active = begin_update(state, thread)
        # A thread that sees the stop flag says so to all, so that all leave together.
        stop = ONE if relaxed_load(monitor.stop, ZERO) != 0 else ZERO
        holds, active, stop = add_up(state.barrier, state.totals, thread, num_threads, active, stop)
        if not holds or stop > ZERO:
            return STOPPED
        if active == ZERO:
            return COMPLETE
        # Update prices.
        ending, largest = find_ranks(net, state, thread, active, (shift, level), monitor)
        if ending != COMPLETE:
            return ending
        workers = num_threads if settled < REPAIRS else ONE
        fall_by_ranks(net, state, thread, workers, largest, level)
        if thread == ZERO:
            monitor.counts[GLOBAL_RELABELS] += ONE
        if not wait(state.barrier, num_threads):
            return STOPPED
        # Push and relabel.
        if thread < workers:
            push_and_relabel(net, state, thread, workers, (shift, level), monitor)
        if not wait(state.barrier, num_threads):
            return STOPPED
        settled = settled + 1 if relaxed_load(state.signals, OVER) == ZERO else 0
        bound = -(np.int64(1) << level)
