"""Push-relabel with vertex locks, batches and a concurrent global relabel: Anderson and Setubal's solver.

Anderson and Setubal, "On the Parallel Implementation of Goldberg's Maximum Flow Algorithm" (SPAA 1992),
described and compared with in Cihan (2010), chapter 3. Active vertices wait in a shared queue, from which
threads fetch batches (batches.py). After n relabels the threads make a global relabel together, while they
push and relabel.

Definitions
-----------
- A thread *locks* a vertex for its discharge, and the receiver for a push.
- The *wave* of a vertex is the number of global relabels that have visited it (the paper's word).
- A vertex is *buried* when no later search will visit it; it belongs to no wave.
- The *pieces* of a global relabel are what the threads take from it one at a time: some vertices to look at
  for capacity to the sink, some vertices of a level to search from, or some vertices to bury if the search
  did not visit them. The pieces of a level are on offer when those of the level before are done.

Invariants
----------
- Flow is pushed only between vertices of one wave, labels only grow, and a relabel takes all neighbours
  into account, whatever their wave.
- So the arcs between vertices that the search has visited and the others do not change: the search reads
  them without a lock, and the vertices that it has not visited at its end cannot reach the sink.
- A thread visits a vertex only if it sees the old wave while it has locked it. So one thread visits it.
- The search visits vertices by distance, so the labels of vertices of one wave are valid at every moment. A
  residual arc that leads down more than one level leads to an older wave and carries nothing.
- There is no deadlock. A thread that has locked a vertex waits for no other vertex. The search waits while it
  has locked no vertex. The lock of the shared queue is taken last.

Pseudo-code
-----------
::

    repeat:                                                          first_stage
        all threads search exact heights, while nothing moves
        one thread queues the active vertices                        start_phase
        if there is none: stop
        each thread, while it can fetch a batch:                     work
            do pieces of the global relabel, while there are any     help_search
            for each vertex of the batch: lock it,                   discharge_batch
                push to lower vertices of its wave, relabel it,
                until its excess is gone or it is dead
            if its relabels make a global relabel due: begin it      start_search

A vertex whose only lower neighbours are of another wave, or locked, goes back to the queue. It must not wait
for the lock: if two locked neighbours did so, each would be relabelled above the other again and again.

Departures: terminals are not vertices. A vertex is locked for its whole discharge, not for each push. The
first and the last labels come from a search by all threads while nothing moves; if it finds excess that can
reach the sink, another phase follows. One thread alone takes no vertex locks.

The thesis says only that each thread takes part in a global relabel. Here a thread that has finished a batch
first does all pieces that are on offer: labels far from the search are stale, and relabels there are wasted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array, Indices, Int64
from ....graph.residual import ResidualArrays
from ....kernels.atomics import (
    PADDING,
    compare_exchange,
    fetch_add,
    load,
    relaxed_load,
    relaxed_store,
    store,
)
from ....kernels.clock import now
from ....kernels.constants import ONE, TWO, ZERO
from ....kernels.kernel import kernel
from ....maxflow.relabel_rule import relabel_limits
from ....network import lowest_neighbour_now
from ....network.arcs import arcs_of, first, head, opposite
from ....parallel.barrier import PATIENCE, back_off, wait
from ....parallel.delays import delay
from ....parallel.search import ParallelSearch, make_search, search_together, slot
from ....parallel.thread_pool import run_solver
from ....solving.monitor import Monitor
from ....solving.options import CheckedOptions, PositiveInteger, PositiveNumber
from ....solving.run import Control
from ....stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS
from .batches import OUT, SIZE, Batches, append, clear, fetch, flush, make_batches, pop, put, waiting

#: This bit of a vertex's entry of State.wave is set while the vertex is locked; the other bits are its wave.
LOCKED = np.uint32(1)
#: The entry of a buried vertex.
BURIED = np.uint32(2**32 - 2)

#: Positions in State.signals.
SEARCHING, WAVES, TOTAL_RELABELS, STOPPING = 0, 1, PADDING, 2 * PADDING
#: Positions in State.pieces. Pieces are rows of numbers that only grow: the first that is NEXT, the LIMIT of
#: those on offer, how many are DONE. TAIL is the end of `search.order`. The rows of a search begin at FIRST
#: with all vertices; those of the vertices that it visits follow, in the order of `search.order`; then from
#: BURY on those of all vertices again, to bury them. A vertex that is found now gets the label LEVEL.
NEXT, LIMIT, DONE, TAIL = 0, PADDING, 2 * PADDING, 3 * PADDING
FIRST, BURY, LEVEL = 4 * PADDING, 4 * PADDING + 1, 4 * PADDING + 2
#: BURY before it is known.
NEVER = np.uint64(2**64 - 1)
#: How many numbers a piece has at most.
PIECE = 64


@dataclass(frozen=True)
class AndersonSetubalOptions(CheckedOptions):
    """Options of Anderson and Setubal's push-relabel.

    Attributes
    ----------
    batch : int
        Number of vertices in a full in-queue or out-queue of a thread.
    relabel_period : float
        A global relabel is due after ``relabel_period * n`` relabels of all threads together.
    """

    batch: PositiveInteger = 64
    relabel_period: PositiveNumber = 1.0


class State(NamedTuple):
    """The state that the threads share beside the residual network."""

    #: for global relabels while nothing moves; a concurrent global relabel uses its ``order``
    search: ParallelSearch
    #: the pieces of the concurrent global relabel: see NEXT and the other positions
    pieces: NDArray[np.uint64]
    #: shape (threads * PADDING,): the excess on the vertices that each thread visited in the concurrent
    #: global relabel
    found: NDArray[np.float64]
    #: shape (n,): distance labels and current arcs
    height: Indices
    current: Indices
    #: uint32, shape (n,): twice the number of global relabels that have visited the vertex, plus one while it
    #: is locked
    wave: Indices
    active: Batches  #: the queues of active vertices
    #: SEARCHING: the wave of the concurrent global relabel, 0 while there is none; WAVES: the number of the
    #: last one; TOTAL_RELABELS since then; STOPPING: the solve ends here
    signals: NDArray[np.uint64]
    #: shape (threads * PADDING,): pushes that each thread certainly made during a concurrent global relabel
    pushes_while_searching: NDArray[np.uint64]
    delays: None = None  #: ndarray of uint64: for stress tests, see parallel/delays.py


class Rules(NamedTuple):
    """The options that the kernels follow."""

    alone: bool  #: whether there is one thread only, which locks no vertices
    patience: np.int64  #: looks at a lock that another thread has before the thread sleeps
    #: a global relabel is due after this many relabels of all threads together
    relabel_limit: np.uint64
    piece: np.uint64 = np.uint64(PIECE)  #: how many numbers a piece of a global relabel has at most


def make_state(num_threads: int, net: ResidualArrays, batch: int, delays: Any = None) -> State:
    """Allocate the state of a solve."""
    num_vertices, num_arcs, dtype = len(net.excess), len(net.head), net.head.dtype
    return State(
        search=make_search(num_threads, num_vertices, num_arcs, dtype),
        pieces=np.zeros(5 * PADDING, dtype=np.uint64),
        found=np.zeros(num_threads * PADDING, dtype=np.float64),
        height=np.full(num_vertices, num_vertices + 1, dtype=dtype),
        current=np.zeros(num_vertices, dtype=dtype),
        wave=np.zeros(num_vertices, dtype=np.uint32),
        active=make_batches(num_threads, num_vertices, batch, dtype),
        signals=np.zeros(3 * PADDING, dtype=np.uint64),
        pushes_while_searching=np.zeros(num_threads * PADDING, dtype=np.uint64),
        delays=delays,
    )


@kernel
def lock(wave: Indices, v: np.uint64, rules: Rules, monitor: Monitor) -> np.uint32:
    """Lock `v` and return its entry of ``wave``; return LOCKED if the stop flag was raised before."""
    seen = np.uint32(relaxed_load(wave, v))
    if rules.alone:
        return seen
    looks = 0
    while seen & LOCKED != 0 or not compare_exchange(wave, v, seen, seen | LOCKED):
        if relaxed_load(monitor.stop, ZERO) != 0:
            return LOCKED
        looks = back_off(looks, rules.patience)
        seen = np.uint32(relaxed_load(wave, v))
    return seen


@kernel
def lock_below(
    wave: Indices, height: Indices, w: np.uint64, h: np.uint64, entry: np.uint32, alone: bool
) -> bool:
    """Lock `w` if it is free, one level below `h` and of the wave of `entry`; return whether it is locked."""
    if alone:
        return True
    if not compare_exchange(wave, w, entry, entry | LOCKED):  # mutant: the-receiver-is-not-locked
        return False
    if np.uint64(relaxed_load(height, w)) + ONE != h:  # mutant: the-receiver-s-height-is-not-looked-at-again
        store(wave, w, entry)
        return False
    return True


@kernel
def unlock(wave: Indices, v: np.uint64, entry: np.uint32, alone: bool) -> None:
    """Unlock `v` and set its entry of ``wave``."""
    if not alone:
        store(wave, v, entry)


@kernel
def discharge_batch(
    net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, monitor: Monitor
) -> tuple[np.uint64, np.uint64]:
    """Discharge the vertices of the thread's in-queue; return the numbers of pushes and relabels.

    A discharge pushes excess to lower vertices of the same wave and relabels, until the excess is gone or
    the vertex is dead. A vertex whose lower neighbours are locked or of another wave goes back to the queue.
    """
    height, wave = state.height, state.wave
    alone, patience, counts = rules.alone, rules.patience, monitor.counts
    n = np.uint64(len(height))
    dead = n + ONE
    pushes = ZERO
    relabels = ZERO
    scans = ZERO
    while waiting(state.active, thread) > ZERO and relaxed_load(monitor.stop, ZERO) == 0:
        v = pop(state.active, thread)
        entry = lock(wave, v, rules, monitor)
        if entry == LOCKED:
            break
        delay(state.delays, thread)
        h = np.uint64(relaxed_load(height, v))
        excess = np.int64(0) if h == dead else net.excess[v]
        # Push to the sink.
        capacity_to_sink = net.sink_residual[v]
        if excess > 0 and capacity_to_sink > 0:
            amount = min(excess, capacity_to_sink)
            relaxed_store(net.sink_residual, v, capacity_to_sink - amount)
            excess -= amount
            net.excess[v] = excess
            pushes += ONE
        first, last = arcs_of(net, v)
        a = np.uint64(state.current[v])
        refused = False
        while excess > 0:
            # Push to lower vertices of the same wave.
            begin = a
            while a < last:
                capacity = net.residual[a]
                if capacity > 0:
                    w = head(net, v, a)
                    if np.uint64(relaxed_load(height, w)) + ONE == h and lock_below(
                        wave, height, w, h, entry, alone
                    ):
                        amount = min(excess, np.int64(capacity))
                        delay(state.delays, thread)
                        net.residual[a] = capacity - amount
                        net.residual[opposite(net, a)] += amount
                        before = net.excess[w]
                        net.excess[w] = before + amount
                        unlock(wave, w, entry, alone)
                        delay(state.delays, thread)
                        if before == 0:  # mutant: the-receiver-is-always-queued
                            append(state.active, thread, w, patience, monitor)
                        excess -= amount
                        pushes += ONE
                        if excess == 0:
                            break
                a += ONE
            scans += a - begin
            net.excess[v] = excess
            if excess == 0:
                break
            # Relabel, unless a lower neighbour is left: then the vertex waits in the queue.
            low, a = lowest_neighbour_now(net, height, v, n)
            scans += last - first
            if low < h:
                a = first
                refused = True
                break
            relabels += ONE
            h = low + ONE
            delay(state.delays, thread)
            relaxed_store(height, v, h)
            if h == dead:
                break
        state.current[v] = a
        unlock(wave, v, entry, alone)
        delay(state.delays, thread)
        if refused:  # mutant: a-refused-vertex-is-forgotten
            append(state.active, thread, v, patience, monitor)
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += scans
    return pushes, relabels


@kernel
def visit(
    net: ResidualArrays,
    state: State,
    v: np.uint64,
    level: np.uint64,
    old: np.uint32,
    entry: np.uint32,
    rules: Rules,
    monitor: Monitor,
) -> Int64:
    """Raise `v` to `level` in a global relabel, change its entry of ``wave`` from `old` to `entry`.

    Returns its excess; -1 if the entry was not `old`, or the stop flag was raised before.
    """
    seen = lock(state.wave, v, rules, monitor)  # mutant: without-locks
    if seen != old:  # mutant: visits-a-vertex-twice
        if seen != LOCKED:
            unlock(state.wave, v, seen, rules.alone)
        return np.int64(-1)
    if np.uint64(relaxed_load(state.height, v)) < level:
        relaxed_store(state.height, v, level)
        state.current[v] = first(net, v)
    excess = np.int64(net.excess[v])
    store(state.wave, v, entry)
    return excess


@kernel
def start_search(state: State, wave: np.uint64) -> None:
    """Offer the first pieces of global relabel number `wave`; no other one is going on."""
    pieces = state.pieces
    thread = ZERO
    while thread < np.uint64(len(state.found)):
        state.found[thread] = 0.0
        thread += PADDING
    first = np.uint64(relaxed_load(pieces, NEXT))
    pieces[FIRST] = first
    pieces[BURY] = NEVER
    pieces[LEVEL] = ONE
    relaxed_store(pieces, TAIL, ZERO)
    relaxed_store(state.signals, SEARCHING, wave)
    store(pieces, LIMIT, first + np.uint64(len(state.height)))


@kernel
def find(
    net: ResidualArrays,
    state: State,
    thread: np.uint64,
    v: np.uint64,
    level: np.uint64,
    wave: np.uint64,
    rules: Rules,
    monitor: Monitor,
) -> None:
    """Visit `v` unless another thread does; append it to the next level."""
    excess = visit(net, state, v, level, np.uint32(wave * TWO - TWO), np.uint32(wave * TWO), rules, monitor)
    if excess >= 0:
        state.found[thread * PADDING] += excess
        place = np.uint64(fetch_add(state.pieces, TAIL, ONE))
        state.search.order[place] = v


@kernel
def help_search(net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, monitor: Monitor) -> bool:
    """Do a piece of the global relabel; return whether there was one on offer.

    After a stop a global relabel may end before all vertices are visited.
    """
    pieces = state.pieces
    limit = np.uint64(load(pieces, LIMIT))
    begin = np.uint64(relaxed_load(pieces, NEXT))
    if begin >= limit:
        return False
    end = min(begin + rules.piece, limit)
    if not compare_exchange(pieces, NEXT, begin, end):
        return True
    # The fields of the search stay as they are until this piece is done.
    n = np.uint64(len(state.height))
    first, bury, level = pieces[FIRST], pieces[BURY], pieces[LEVEL]
    wave = np.uint64(relaxed_load(state.signals, SEARCHING))
    old = np.uint32(wave * TWO - TWO)
    k = begin
    while k < end and relaxed_load(monitor.stop, ZERO) == 0:
        if k >= bury:
            v = k - bury
            if np.uint32(relaxed_load(state.wave, v)) & ~LOCKED == old:
                visit(net, state, v, n + ONE, old, BURIED, rules, monitor)
        elif k - first < n:
            v = k - first
            if relaxed_load(net.sink_residual, v) > 0:
                find(net, state, thread, v, level, wave, rules, monitor)
        else:
            delay(state.delays, thread)
            v = np.uint64(state.search.order[k - first - n])
            a, last = arcs_of(net, v)
            while a < last:
                w = head(net, v, a)
                if (
                    np.uint32(relaxed_load(state.wave, w)) & ~LOCKED == old
                    and net.residual[opposite(net, a)] > 0
                ):
                    find(net, state, thread, w, level, wave, rules, monitor)
                a += ONE
        k += ONE
    # The thread that does the last piece of a level opens the next one.
    done = np.uint64(fetch_add(pieces, DONE, end - begin)) + (end - begin)
    if done == np.uint64(load(pieces, LIMIT)):  # mutant: opens-a-level-too-early
        open_level(state, monitor)
    return True


@kernel
def open_level(state: State, monitor: Monitor) -> None:
    """Offer the pieces of the next level, or those of the vertices to bury, or end the global relabel."""
    pieces, signals = state.pieces, state.signals
    n = np.uint64(len(state.height))
    limit = np.uint64(relaxed_load(pieces, LIMIT))
    if pieces[BURY] != NEVER:
        active = 0.0
        thread = ZERO
        while thread < np.uint64(len(state.found)):
            active += state.found[thread]
            thread += PADDING
        monitor.progress[0] = active
        relaxed_store(signals, SEARCHING, ZERO)
        store(signals, TOTAL_RELABELS, ZERO)
        return
    pieces[LEVEL] += ONE
    found = pieces[FIRST] + n + np.uint64(relaxed_load(pieces, TAIL))
    if found == limit:
        pieces[BURY] = limit
        found += n
    store(pieces, LIMIT, found)


@kernel
def work(net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, monitor: Monitor) -> None:
    """Discharge vertices, batch by batch, until there are none left or the stop flag is raised.

    The thread whose relabels make a global relabel due begins it, and all do its pieces before they go on. If
    another one would be due before its end, a thread only waits for pieces: relabels far from the search are
    wasted.
    """
    signals, active = state.signals, state.active
    relabel_limit, patience = rules.relabel_limit, rules.patience
    enough = relabel_limit + relabel_limit
    looks = 0
    while relaxed_load(monitor.stop, ZERO) == 0:
        # Do pieces of the global relabel.
        if help_search(net, state, thread, rules, monitor):
            looks = 0
            continue
        searching = relaxed_load(signals, SEARCHING)
        if searching != ZERO:
            is_empty = active.ends[thread, OUT] == ZERO and relaxed_load(active.shared, SIZE) == ZERO
            if is_empty or relaxed_load(signals, TOTAL_RELABELS) >= enough:
                looks = back_off(looks, patience)
                continue
        # Discharge a batch.
        if not fetch(active, thread, patience, monitor):
            return
        pushes, relabels = discharge_batch(net, state, thread, rules, monitor)
        looks = 0 if pushes + relabels > ZERO else back_off(looks, patience)
        if searching != ZERO and searching == relaxed_load(signals, SEARCHING):
            state.pushes_while_searching[thread * PADDING] += pushes
        # Begin a global relabel if it is due.
        if relabels > ZERO:
            before = fetch_add(signals, TOTAL_RELABELS, relabels)
            if before < relabel_limit and before + relabels >= relabel_limit:
                if not flush(active, thread, patience, monitor):
                    return
                monitor.counts[GLOBAL_RELABELS] += ONE
                wave = signals[WAVES] + ONE
                signals[WAVES] = wave
                start_search(state, wave)


@kernel
def start_phase(net: ResidualArrays, state: State) -> float:
    """Reset the state after an exact search, queue the active vertices and return their excess.

    The vertices of each thread's part of the search are queued farthest first.
    """
    search = state.search
    clear(state.active)
    state.signals[:] = ZERO
    state.pieces[:] = ZERO
    state.wave[:] = BURIED
    total = 0.0
    for thread in range(search.num_threads[0]):
        begin = np.uint64(thread) * search.room[0]
        k = begin + search.end[slot(thread)]
        while k > begin:
            k -= ONE
            v = np.uint64(search.order[k])
            state.current[v] = first(net, v)
            state.wave[v] = 0
            if net.excess[v] > 0:
                total += net.excess[v]
                put(state.active, v)
    return total


@kernel
def first_stage(net: ResidualArrays, state: State, thread: np.uint64, rules: Rules, monitor: Monitor) -> None:
    """Push excess until none can reach the sink; all threads run this together.

    On return the heights are exact, also after the stop flag was raised, unless the barrier is broken.
    """
    search, counts, progress = state.search, monitor.counts, monitor.progress
    num_threads = search.num_threads[0]
    while True:
        started = now()
        search_together(search, thread, net, state.height, False)
        if thread == ZERO:
            counts[RELABEL_NANOSECONDS] += now() - started
            counts[GLOBAL_RELABELS] += ONE
            progress[0] = start_phase(net, state)
            over = progress[0] == 0.0 or relaxed_load(monitor.stop, ZERO) != 0
            state.signals[STOPPING] = ONE if over else ZERO
        if not wait(search.barrier, num_threads) or state.signals[STOPPING] != ZERO:
            return
        work(net, state, thread, rules, monitor)
        if not wait(search.barrier, num_threads):
            return


def solve(net: ResidualArrays, options: AndersonSetubalOptions, control: Control) -> Array:
    """Run the first stage in place; return exact heights.

    O(n^2 m) work. Memory: five indices a vertex.
    """
    relabel_limit, _ = relabel_limits("relabels", options.relabel_period, len(net.excess), len(net.head))
    state = make_state(control.threads, net, options.batch, control.delays)
    rules = Rules(control.threads == 1, state.search.barrier[PATIENCE], relabel_limit)
    control.progress[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(net, state, np.uint64(thread), rules, control.monitor(thread))

    run_solver(share, control, state.search.barrier)
    return state.height
