"""Lock-free push-relabel by several threads: Hong's algorithm, on any residual network.

The methods `multicore-lockfree` for networks and for grid cuts share these kernels. Papers: Hong, "A
lock-free multi-threaded algorithm for the maximum flow problem" (IPDPS 2008); Hong and He, "An asynchronous
multithreaded algorithm for the maximum network flow problem with nonblocking global relabeling heuristic"
(IEEE TPDS 2011).

Definitions
-----------
- The *operation*: a vertex with excess pushes to its lowest residual neighbour if that is lower; otherwise
  the vertex is lifted to just above it. There are no locks, and no barriers between operations.
- The *owner* of an active vertex is the thread whose list has the vertex or that discharges it. The thread
  whose fetch-and-add raises the excess from zero puts the vertex into a list, its own or that of another
  thread. The ownership ends when a fetch-and-add of the owner lowers the excess to zero, the vertex is dead,
  or the epoch ends.
- The vertices are divided into *blocks* of consecutive ones, and each block is assigned to a thread.
- An *exact search* is a global relabel by all threads together, while nothing is pushed.
- An *epoch* is the work between two exact searches.
- A *concurrent search* is a global relabel by one thread while the others push and relabel.

Invariants
----------
- Only the owner of a vertex lowers its excess and the residual capacities of its arcs. So the excess and the
  capacities that the owner has read are still available when it pushes.
- A push credits the receiver before the sender is debited. Each pass over the arcs of a vertex ends with a
  debit of all that it pushed, whether or not the vertex could be relabelled. So no flow is lost.
- Labels are hints: the flow is a valid preflow whatever they are. If the receiver of a push was lifted just
  before the push, its arc back to the sender is steep. The receiver reads its excess before its arcs, so
  when it sees the excess, it also sees this arc and can send the excess back.
- Flow changes behind a concurrent search while it runs. So its distances may belong to no network that
  existed at any one time: a label may become too high, or dead although the vertex can reach the sink. Only
  an exact search declares vertices dead for good.

Pseudo-code
-----------
::

    repeat:                                                          first_stage
        all threads make an exact search, unless the first labels are 0
        each thread lists the active vertices of its blocks          begin_epoch
        if no vertex is active: stop
        each thread, until the epoch is over:                        work_through_epoch
            receive vertices from other threads, or wait for some
            discharge one vertex                                     discharge
            after relabel_period * n relabels of all threads:
                end the epoch, or search concurrently                search_concurrently

An epoch also ends when no thread has an active vertex left, or when a concurrent search reaches a dead
vertex. If the exact search then finds excess that can reach the sink, another epoch begins. After FRUITLESS
epochs in a row that brought nothing to the sink, one thread works alone until excess reaches the sink. So the
number of epochs is finite.

Departures from Hong: threads keep lists of active vertices, where Hong's threads look at all their vertices.
A vertex that becomes active is sent to the thread to which its block is assigned. But a thread whose list is
empty keeps the vertex: otherwise the last few vertices would move from one sleeping thread to the next. After
one scan for the lowest neighbour, a vertex pushes to all neighbours on that level. inboxes.py describes how
the threads detect that no active vertex is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Array, Indices, ResidualNetwork
from ..kernels.atomics import PADDING, compare_exchange, fetch_add, load, relaxed_load, relaxed_store, store
from ..kernels.clock import now
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..network import lowest_neighbour_now
from ..network.arcs import arcs_of, head, opposite, place
from ..solving.monitor import Monitor
from ..solving.options import UNLIMITED, InitialLabels, limit
from ..solving.run import COUNTER_ROW, Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_NANOSECONDS, RELABELS, WAITS
from . import inboxes
from .barrier import wait
from .delays import delay
from .search import ParallelSearch, make_search, search_together
from .thread_pool import run_solver

#: Least number of blocks of consecutive vertices for each thread. Arcs tend to join vertices with close
#: numbers, so with few blocks fewer pushes cross from one thread's vertices to another's: with 16 blocks, two
#: threads took 1.2 to 1.6 times as long. With too few, all active vertices may lie in the blocks of one
#: thread.
BLOCKS = 2
#: A thread adds its relabels to the total of all threads when it has more than this many, or than an eighth
#: of its share of `relabel_limit`.
UNREPORTED = 64
#: After this many epochs in a row that bring nothing to the sink, one thread works alone.
FRUITLESS = 8
#: A concurrent search checks whether the epoch is over once per this many vertices.
SEARCH_BATCH = np.uint64(256)
#: Positions in LockFreeState.signals: whether the epoch is over; the relabels since the last global relabel
#: of either kind; whether a thread searches concurrently; whether the solve is to stop; how many threads work
#: in this epoch.
OVER, RELABELED, SEARCHING, STOPPING, OWNERS = (np.uint64(k) * PADDING for k in range(5))
#: Positions in a thread's row of LockFreeState.found: the excess of all vertices in its blocks, and of the
#: active ones.
REMAINING, ACTIVE = ZERO, ONE
#: Position in a thread's counters: its pushes in discharges that began while another thread searched.
CONCURRENT_PUSHES = COUNTER_ROW - 1


class LockFreeState(NamedTuple):
    """The state that the threads share beside the residual network."""

    search: ParallelSearch  #: the state of the exact search
    lists: inboxes.Inboxes  #: the active vertices of each thread
    #: a global relabel is due after this many relabels of all threads together
    relabel_limit: np.uint64
    #: a block has ``2**block_bits`` vertices; vertex ``v`` is in block ``v >> block_bits``
    block_bits: np.uint64
    from_zero: bool  #: labels are 0 at first, and the first search is left out
    height: Indices  #: shape (n,): distance labels
    #: shape (n,): whether the last concurrent search has reached the vertex; empty if there are no such
    #: searches
    seen: NDArray[np.uint8]
    #: shape (threads * PADDING,): REMAINING and ACTIVE excess in the blocks of each thread at the start of
    #: the epoch
    found: NDArray[np.int64]
    #: shape (5 * PADDING,): OVER, RELABELED, SEARCHING, STOPPING and OWNERS
    signals: NDArray[np.uint64]
    delays: NDArray[np.uint64] | None = None  #: for stress tests, see parallel/delays.py


@kernel
def over(state: LockFreeState, monitor: Monitor) -> bool:
    """Return whether the epoch is over or the solve is to stop."""
    return bool(relaxed_load(state.signals, OVER) != ZERO or relaxed_load(monitor.stop, ZERO) != 0)


@kernel
def activate(state: LockFreeState, thread: np.uint64, v: np.uint64) -> None:
    """List `v`, which had no excess before: here if this thread's list is empty, else by its block."""
    delay(state.delays, thread)
    owner = (v >> state.block_bits) % state.signals[OWNERS]
    if owner == thread or inboxes.is_empty(state.lists, thread):
        inboxes.append(state.lists, thread, v)
    else:
        inboxes.send(state.lists, thread, owner, v)


@kernel
def discharge(
    net: ResidualNetwork, state: LockFreeState, thread: np.uint64, v: np.uint64, monitor: Monitor
) -> np.uint64:
    """Push from `v` and relabel it until its excess is gone, it is dead, or the epoch is over.

    Return the number of relabels.
    """
    height = state.height
    n = np.uint64(len(height))
    first, last = arcs_of(net, v)
    pushes, relabels, scans = ZERO, ZERO, ZERO
    while not over(state, monitor):
        h = np.uint64(relaxed_load(height, v))
        if h > n:
            break
        # Read the excess before the arcs: excess that arrives later is left to the next pass of this loop.
        excess = load(net.excess, v)
        delay(state.delays, thread)
        left = excess
        capacity_to_sink = relaxed_load(net.sink_residual, v)
        if capacity_to_sink > 0:
            amount = min(left, capacity_to_sink)
            relaxed_store(net.sink_residual, v, capacity_to_sink - amount)
            left -= amount
            pushes += ONE
        if left > 0:
            # Find the lowest neighbour; lift the vertex above it unless it is higher already.
            low, a = lowest_neighbour_now(net, height, v, n)
            scans += last - first
            delay(state.delays, thread)
            if h <= low and compare_exchange(height, v, h, low + ONE):  # mutant: one-level-too-high
                relabels += ONE
                h = low + ONE
            # Push to all neighbours on the lowest level.
            while low < h and left > 0 and a < last:
                used = place(net, v, a)
                capacity = np.int64(relaxed_load(net.residual, used))
                if capacity > 0:
                    w = head(net, v, a)
                    if np.uint64(relaxed_load(height, w)) <= low:
                        amount = min(left, capacity)
                        delay(state.delays, thread)
                        fetch_add(net.residual, used, -amount)
                        fetch_add(net.residual, place(net, w, opposite(net, a)), amount)
                        # mutant: lists-a-vertex-that-has-excess-already
                        if fetch_add(net.excess, w, amount) == 0:
                            activate(state, thread, w)
                        left -= amount
                        pushes += ONE
                a += ONE
        # Debit everything that was pushed; the vertex is done if nothing is left.
        delay(state.delays, thread)
        if left < excess and fetch_add(net.excess, v, left - excess) == excess - left:
            break
    monitor.counts[PUSHES] += pushes
    monitor.counts[RELABELS] += relabels
    monitor.counts[ARC_SCANS] += scans
    return relabels


@kernel
def lift(height: Indices, v: np.uint64, least: np.uint64) -> np.uint64:
    """Raise the label of `v` to at least `least`, while others may raise it too; return the label before."""
    h = np.uint64(relaxed_load(height, v))
    while h < least and not compare_exchange(height, v, h, least):
        h = np.uint64(relaxed_load(height, v))
    return h


@kernel
def search_concurrently(
    net: ResidualNetwork, state: LockFreeState, thread: np.uint64, monitor: Monitor
) -> None:
    """Raise labels to distances to the sink while other threads push; give up if the epoch ends."""
    order, seen = state.search.order, state.seen
    n = np.uint64(len(seen))
    # The first level: vertices with capacity to the sink.
    begin, end, v = ZERO, ZERO, ZERO
    while v < n:
        capacity_to_sink = relaxed_load(net.sink_residual, v)
        seen[v] = capacity_to_sink > 0
        if capacity_to_sink > 0:
            order[end] = v
            end += ONE
        v += ONE
    # Level by level. If the search reaches a dead vertex, it ends the epoch: only an exact search may give
    # the vertex a lower label.
    level, level_end = ONE, end
    while begin < end:
        if over(state, monitor):
            return
        batch_end = min(level_end, begin + SEARCH_BATCH)
        while begin < batch_end:
            delay(state.delays, thread)
            v = np.uint64(order[begin])
            a, last = arcs_of(net, v)
            while a < last:
                w = head(net, v, a)
                if seen[w] == 0 and relaxed_load(net.residual, place(net, w, opposite(net, a))) > 0:
                    seen[w] = 1
                    if lift(state.height, w, level + ONE) > n:
                        relaxed_store(state.signals, OVER, ONE)
                    order[end] = w
                    end += ONE
                a += ONE
            begin += ONE
        if begin == level_end:
            level, level_end = level + ONE, end
    # Vertices that the search did not reach are dead until the next exact search.
    v = ZERO
    while v < n:
        if seen[v] == 0:
            lift(state.height, v, n + ONE)
        v += ONE


@kernel
def work_through_epoch(
    net: ResidualNetwork, state: LockFreeState, thread: np.uint64, monitor: Monitor
) -> None:
    """Discharge vertices until no thread has one, an exact search is due, or the solve is to stop."""
    signals, counts = state.signals, monitor.counts
    owners = signals[OWNERS]
    report_limit = min(np.uint64(UNREPORTED), state.relabel_limit // (np.uint64(8) * owners))
    relabels = ZERO
    while not over(state, monitor):
        inboxes.receive(state.lists, thread)
        if inboxes.is_empty(state.lists, thread):
            counts[WAITS] += ONE
            delay(state.delays, thread)
            if not inboxes.wait_for_items(state.lists, thread, owners, signals, monitor.stop):
                relaxed_store(signals, OVER, ONE)
            continue
        searching = relaxed_load(signals, SEARCHING) != ZERO
        pushes = counts[PUSHES]
        relabels += discharge(net, state, thread, inboxes.pop(state.lists, thread), monitor)
        if searching:
            counts[CONCURRENT_PUSHES] += counts[PUSHES] - pushes
        if relabels <= report_limit:
            continue
        due = fetch_add(signals, RELABELED, relabels) + relabels >= state.relabel_limit
        relabels = ZERO
        if due and len(state.seen) == 0:
            relaxed_store(signals, OVER, ONE)
        elif due and compare_exchange(signals, SEARCHING, ZERO, ONE):  # mutant: two-at-a-time
            search_concurrently(net, state, thread, monitor)
            counts[GLOBAL_RELABELS] += ONE
            relaxed_store(signals, RELABELED, ZERO)
            store(signals, SEARCHING, ZERO)


@kernel
def begin_epoch(
    net: ResidualNetwork, state: LockFreeState, thread: np.uint64, owners: np.uint64, monitor: Monitor
) -> None:
    """List the active vertices of the thread's blocks and add up their excess, while nothing is pushed.

    The blocks are assigned to threads 0 to ``owners - 1`` in turn.
    """
    n = np.uint64(len(state.height))
    inboxes.clear(state.lists, thread)
    remaining, active = np.int64(0), np.int64(0)
    block = thread if thread < owners else n
    while block << state.block_bits < n:
        v = block << state.block_bits
        while v < min(n, (block + ONE) << state.block_bits):
            remaining += net.excess[v]
            if net.excess[v] > 0 and np.uint64(state.height[v]) <= n:
                active += net.excess[v]
                inboxes.append(state.lists, thread, v)
            v += ONE
        block += owners
    state.found[thread * PADDING + REMAINING] = remaining
    state.found[thread * PADDING + ACTIVE] = active
    if thread == ZERO:
        relaxed_store(state.signals, OVER, ZERO)
        relaxed_store(state.signals, RELABELED, ZERO)
        relaxed_store(state.signals, STOPPING, np.uint64(relaxed_load(monitor.stop, ZERO)))
        state.signals[OWNERS] = owners


@kernel
def first_stage(net: ResidualNetwork, state: LockFreeState, thread: np.uint64, monitor: Monitor) -> None:
    """Push excess until none can reach the sink; all threads run this together.

    On return the heights are exact, even if the stop flag was set, unless a thread failed and so broke the
    barrier.
    """
    num_threads, before, fruitless = state.search.num_threads[0], np.int64(-1), 0
    searches = not state.from_zero
    while True:
        if searches:
            started = now()
            search_together(state.search, thread, net, state.height, False)
            if thread == ZERO:
                monitor.counts[RELABEL_NANOSECONDS] += now() - started
                monitor.counts[GLOBAL_RELABELS] += ONE
        begin_epoch(net, state, thread, num_threads if fruitless < FRUITLESS else ONE, monitor)
        if not wait(state.search.barrier, num_threads):
            return
        remaining, active, row = np.int64(0), np.int64(0), ZERO
        while row < num_threads * PADDING:
            remaining += state.found[row + REMAINING]
            active += state.found[row + ACTIVE]
            row += PADDING
        if thread == ZERO:
            monitor.progress[0] = active
        if searches and (active == 0 or relaxed_load(state.signals, STOPPING) != ZERO):
            return
        searches = True
        fruitless = fruitless + 1 if remaining == before else 0
        before = remaining
        if thread < state.signals[OWNERS]:
            work_through_epoch(net, state, thread, monitor)
        if not wait(state.search.barrier, num_threads):
            return


def push_relabel(
    net: Any,
    dtype: DTypeLike,
    relabel_period: float | None,
    concurrent_relabel: bool,
    control: Control,
    initial_labels: InitialLabels = "exact",
) -> Array:
    """Run the first stage in place; return exact heights, in a dtype in which vertices and heights fit.

    `net` may also be a tuple with the same array-like members. A global relabel is due after
    ``relabel_period * n`` relabels of all threads together. None means that an epoch ends only when no active
    vertex is left. Labels start with exact distances or with 0. With `concurrent_relabel` one thread relabels
    globally while the others push and relabel.
    O(n^2 m) operations. Memory per vertex: three indices, and one byte more for concurrent searches.
    """
    n, num_threads = len(net.excess), control.threads
    state = LockFreeState(
        search=make_search(num_threads, n, len(net.residual), dtype),
        lists=inboxes.make_inboxes(num_threads, n, dtype),
        relabel_limit=UNLIMITED if relabel_period is None else limit(relabel_period * n),
        block_bits=np.uint64(max(1, n // (BLOCKS * num_threads)).bit_length() - 1),
        from_zero=initial_labels == "zero",
        height=np.full(n, 0 if initial_labels == "zero" else n + 1, dtype=dtype),
        seen=np.zeros(n if concurrent_relabel else 0, dtype=np.uint8),
        found=np.zeros(num_threads * PADDING, dtype=np.int64),
        signals=np.zeros(5 * PADDING, dtype=np.uint64),
        delays=control.delays,
    )
    control.progress[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(net, state, np.uint64(thread), control.monitor(thread))

    run_solver(share, control, state.search.barrier)
    return state.height
