"""Lock-free push-relabel on many cores: Hong's algorithm, also with asynchronous global relabeling.

Hong, "A Lock-free Multi-threaded Algorithm for the Maximum Flow Problem" (2008), as in Łupińska, sections 4.4
and 4.5: the lowest residual neighbour gets the excess if it is lower, else the vertex is lifted to just above
it, without locks and without barriers between operations. It is cpu-async of Wu, He and Hong, section 5.5. With
``concurrent_relabel`` it is ARG: Hong and He, "An Asynchronous Multithreaded Algorithm for the Maximum Flow
Problem with Nonblocking Global Relabeling Heuristic" (2011), in which one thread searches while others push.

Why no flow is lost. Everything follows from who holds a vertex:

- Only its holder lowers a vertex's excess and the residuals of its arcs; all others add to them. So what the
  holder has read is still there when it takes it, and nothing gets negative.
- A vertex is put into a list by the fetch-and-add that raises its excess from zero. It leaves its holder by
  the one that lowers its excess to zero, or for good until the next exact search. So nobody puts it into a
  list while it is in one or held, and a taken list is read before its vertices can be in another.
- A push credits the receiver before it debits the sender: excess may show twice, but is never out of sight.
- Each look at a vertex ends on the debit of all that it pushed, whether or not its relabel succeeded.

Labels are hints, which no flow depends on. A push that was prepared before its receiver was lifted leaves a
steep arc; the receiver, which reads its excess before its arcs, sends that back. A concurrent search lifts
labels to distances in a network that never was: flow moves behind its back, so a label may get too high, or
dead where the sink can be reached. It never lowers one. Only an exact search while nothing moves decides which
vertices are dead; where it finds excess that can reach the sink, another epoch begins. After some that brought
nothing to the sink one thread works alone, so their number is finite.

Departures: terminals are not vertices. Labels start exact. Excess that is cut off climbs to the dead label, not
back to the source. After ``relabel_period * n`` relabels the threads search together at a barrier, without which
cut-off excess climbs one level at a time; with None they do so only at the end, as Hong prints it. A thread has
a list of active vertices instead of looking at all. A vertex goes to its owner's list, but stays with a thread
that has nothing else to do: a last few would wander between threads that sleep. One scan serves all pushes to
the lowest level. The end of an epoch is found by counting what was handed over and what is settled, since dead
vertices may still get excess, which the sum e(s) + e(t) misses. The thread that finds a concurrent search
due makes it.
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
    load,
    pause,
    relaxed_load,
    relaxed_store,
    store,
)
from ..kernels.kernel import kernel
from ..kernels.relabel import lowest_neighbour_now
from ..parallel.barrier import PATIENCE, nap, wait
from ..parallel.bfs import Team, distances_to_sink_together, make_team
from ..parallel.team import run_solver
from ..solving.run import COUNTER_ROW, Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS, WAITS
from .options import UNLIMITED, check_flag, check_relabel_rule, relabel_limits

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Blocks of consecutive vertices that each thread owns, at least: neighbours in number tend to be neighbours
#: in the network, which is for long blocks, but active ones tend to gather in a stretch.
BLOCKS = 16
#: Relabels that a thread counts for itself before it adds them to the total, at most.
UNREPORTED = 64
#: Epochs in a row that bring nothing to the sink, after which one thread works alone.
FRUITLESS = 8
#: Vertices from which a concurrent search goes on between two looks at whether it is still wanted.
SEARCH_BATCH = np.uint64(256)

#: Entries between what is written by different threads: two cache lines.
PADDING = np.uint64(16)
#: Positions in a thread's row of State.lists: first and last of its own list, and of State.tally: how many
#: parts of the work it handed out and how many it settled, the excess it found on all and on active vertices.
FRONT, BACK, TAKEN = (np.uint64(k) for k in range(3))
HANDED_OUT, SETTLED, REMAINING, ACTIVE = (np.uint64(k) for k in range(4))
#: Positions in State.signals: the epoch is over, relabels since the last search, somebody searches, the solve
#: ends here.
OVER, TOTAL_RELABELS, SEARCHING, STOPPING = (np.uint64(k) * PADDING for k in range(4))
#: Position in a row of Control.thread_counts: pushes by discharges that began while another thread searched.
CONCURRENT_PUSHES = COUNTER_ROW - 1


@dataclass(frozen=True)
class LockFreeOptions:
    """Options of the lock-free solvers.

    Attributes
    ----------
    concurrent_relabel : bool
        Relabel globally while others push and relabel.
    relabel_period : float or None
        A global relabel is due after ``relabel_period * n`` relabels of all threads together; None: never.
    """

    concurrent_relabel: bool = False
    relabel_period: float | None = 1.0

    def __post_init__(self) -> None:
        check_flag("concurrent_relabel", self.concurrent_relabel)
        if self.relabel_period is not None:
            check_relabel_rule("relabels", self.relabel_period)


class State(NamedTuple):
    """What the threads share beside the residual network.

    Attributes
    ----------
    height, order : ndarray, shape (n,)
        Distance labels, and the order of the last search.
    seen : ndarray of uint8, shape (n,)
        What a concurrent search has reached; empty where there is none.
    after : ndarray, shape (n,)
        Which vertex, plus one, comes after this one in its list; 0 ends the list.
    lists : ndarray of uint64
        A row a thread: its own list of active vertices, and how many parts of the work it took.
    inbox : ndarray of uint64
        The vertex, plus one, that another thread put into this thread's inbox last; 0 if empty. Padded.
    tally : ndarray of int64
        A row a thread.
    signals : ndarray of uint64
    """

    height: NDArray[Any]
    order: NDArray[Any]
    seen: NDArray[Any]
    after: NDArray[Any]
    lists: NDArray[Any]
    inbox: NDArray[Any]
    tally: NDArray[Any]
    signals: NDArray[Any]


class Part(NamedTuple):
    """Which vertices a thread owns: every block whose number is its own modulo the number of owners.

    A block has two to the power of `block_bits` vertices; all three are uint64.
    """

    thread: Any
    owners: Any
    block_bits: Any


def make_state(num_vertices: int, num_threads: int, concurrent_relabel: bool, dtype: Any) -> State:
    """Return the state before the first epoch."""
    padded = num_threads * int(PADDING)
    return State(
        height=np.full(num_vertices, num_vertices + 1, dtype=dtype),
        order=np.empty(num_vertices, dtype=dtype),
        seen=np.zeros(num_vertices if concurrent_relabel else 0, dtype=np.uint8),
        after=np.zeros(num_vertices, dtype=dtype),
        lists=np.zeros(padded, dtype=np.uint64),
        inbox=np.zeros(padded, dtype=np.uint64),
        tally=np.zeros(padded, dtype=np.int64),
        signals=np.zeros(4 * int(PADDING), dtype=np.uint64),
    )


@kernel
def append(state: State, row: Any, v: Any) -> None:
    """Put `v` at the end of the thread's own list."""
    if state.lists[row + FRONT] == ZERO:
        state.lists[row + FRONT] = v + ONE
    else:
        state.after[state.lists[row + BACK] - ONE] = v + ONE
    state.lists[row + BACK] = v + ONE
    state.after[v] = ZERO


@kernel
def pop(state: State, row: Any) -> Any:
    """Take the first vertex of the thread's own list, which is not empty."""
    v = state.lists[row + FRONT] - ONE
    state.lists[row + FRONT] = np.uint64(state.after[v])
    return v


@kernel
def empty_inbox(state: State, row: Any) -> None:
    """Move all that is in the thread's inbox to its own list."""
    v = np.uint64(exchange(state.inbox, row, ZERO))
    while v != ZERO:
        following = np.uint64(state.after[v - ONE])
        append(state, row, v - ONE)
        state.lists[row + TAKEN] += ONE
        v = following


@kernel
def activate(state: State, part: Part, v: Any) -> None:
    """List `v`, which had no excess before: here if this list is empty or its own one, else with its owner.

    It is counted before its owner can see it, so that never more seems settled than was handed out.
    """
    row = part.thread * PADDING
    owner = (v >> part.block_bits) % part.owners
    if owner == part.thread or state.lists[row + FRONT] == ZERO:
        append(state, row, v)
        return
    store(state.tally, row + HANDED_OUT, relaxed_load(state.tally, row + HANDED_OUT) + 1)
    while True:
        first = relaxed_load(state.inbox, owner * PADDING)
        state.after[v] = first
        if compare_exchange(state.inbox, owner * PADDING, first, v + ONE):
            return


@kernel
def all_settled(state: State, part: Part) -> bool:
    """Return whether nobody has an active vertex; one that has counts less settled than was handed out.

    What is settled is read first: if all that had been handed out later was settled then, nothing is left.
    """
    open_parts = np.int64(0)
    row = ZERO
    while row < part.owners * PADDING:
        open_parts -= load(state.tally, row + SETTLED)
        row += PADDING
    while row > ZERO:
        row -= PADDING
        open_parts += load(state.tally, row + HANDED_OUT)
    return bool(open_parts == 0)


@kernel
def discharge(net: ResidualArrays, state: State, part: Part, v: Any, stop: Any, counts: Any) -> Any:
    """Push and relabel until `v` has no excess or the dead label, or the epoch is over; return the relabels."""
    height = state.height
    n = np.uint64(len(height))
    last = np.uint64(net.first_out[v + ONE])
    pushes = ZERO
    relabels = ZERO
    scans = ZERO
    while relaxed_load(state.signals, OVER) == ZERO and relaxed_load(stop, ZERO) == 0:
        h = np.uint64(relaxed_load(height, v))
        if h > n:
            break
        excess = load(net.excess, v)
        left = excess
        capacity_to_sink = relaxed_load(net.sink_residual, v)
        if capacity_to_sink > 0:
            amount = min(left, capacity_to_sink)
            relaxed_store(net.sink_residual, v, capacity_to_sink - amount)
            left -= amount
            pushes += ONE
        if left > 0:
            low, a = lowest_neighbour_now(net, height, v, n)
            scans += last - np.uint64(net.first_out[v])
            if h <= low and compare_exchange(height, v, h, low + ONE):
                relabels += ONE
                h = low + ONE
            while low < h and left > 0 and a < last:
                capacity = np.int64(relaxed_load(net.residual, a))
                if capacity > 0:
                    w = np.uint64(net.head[a])
                    if np.uint64(relaxed_load(height, w)) <= low:
                        amount = min(left, capacity)
                        fetch_add(net.residual, a, -amount)
                        fetch_add(net.residual, net.reverse[a], amount)
                        if fetch_add(net.excess, w, amount) == 0:
                            activate(state, part, w)
                        left -= amount
                        pushes += ONE
                scans += ONE
                a += ONE
        if left < excess and fetch_add(net.excess, v, left - excess) == excess - left:
            break
    counts[PUSHES] += pushes
    counts[RELABELS] += relabels
    counts[ARC_SCANS] += scans
    return relabels


@kernel
def lift(height: Any, v: Any, least: Any) -> None:
    """Raise the label of `v` to at least `least`, whoever else raises it."""
    h = np.uint64(relaxed_load(height, v))
    while h < least and not compare_exchange(height, v, h, least):
        h = np.uint64(relaxed_load(height, v))


@kernel
def leads_to_seen(net: ResidualArrays, seen: Any, v: Any) -> bool:
    """Return whether a residual arc leads from `v` to a vertex that the search has reached."""
    a = np.uint64(net.first_out[v])
    last = np.uint64(net.first_out[v + ONE])
    while a < last:
        if seen[net.head[a]] != 0 and relaxed_load(net.residual, a) > 0:
            return True
        a += ONE
    return False


@kernel
def search_concurrently(net: ResidualArrays, state: State, stop: Any, progress: Any) -> bool:
    """Lift labels to distances to the sink while others push; False if that is no longer wanted."""
    order, seen = state.order, state.seen
    n = np.uint64(len(seen))
    end = ZERO
    v = ZERO
    while v < n:
        seen[v] = 0
        if relaxed_load(net.sink_residual, v) > 0:
            seen[v] = 1
            order[end] = v
            end += ONE
        v += ONE
    begin = ZERO
    level_end = end
    next_height = np.uint64(2)
    while begin < end:
        if relaxed_load(state.signals, OVER) != ZERO or relaxed_load(stop, ZERO) != 0:
            return False
        batch_end = min(level_end, begin + SEARCH_BATCH)
        while begin < batch_end:
            v = np.uint64(order[begin])
            begin += ONE
            a = np.uint64(net.first_out[v])
            last = np.uint64(net.first_out[v + ONE])
            while a < last:
                w = np.uint64(net.head[a])
                if seen[w] == 0 and relaxed_load(net.residual, net.reverse[a]) > 0:
                    seen[w] = 1
                    lift(state.height, w, next_height)
                    order[end] = w
                    end += ONE
                a += ONE
        if begin == level_end:
            level_end = end
            next_height += ONE
    active = 0.0
    v = ZERO
    while v < n:
        if seen[v] != 0:
            active += relaxed_load(net.excess, v)
        elif not leads_to_seen(net, seen, v):
            lift(state.height, v, n + ONE)
        v += ONE
    progress[0] = active
    return True


@kernel
def work_through_epoch(
    net: ResidualArrays,
    state: State,
    part: Part,
    concurrent: bool,
    relabel_limit: Any,
    report_limit: Any,
    patience: Any,
    stop: Any,
    counts: Any,
    progress: Any,
) -> None:
    """Discharge vertices until none is active, a relabel at a barrier is due, or `stop` is raised."""
    signals = state.signals
    row = part.thread * PADDING
    looks = 0
    relabels = ZERO
    while relaxed_load(signals, OVER) == ZERO and relaxed_load(stop, ZERO) == 0:
        if relaxed_load(state.inbox, row) != ZERO:
            empty_inbox(state, row)
        if state.lists[row + FRONT] == ZERO:
            if looks == 0:
                store(state.tally, row + SETTLED, np.int64(state.lists[row + TAKEN]))
                counts[WAITS] += ONE
            if all_settled(state, part):
                relaxed_store(signals, OVER, ONE)
            elif looks < patience:
                looks += 1
                pause()
            else:
                nap()
            continue
        looks = 0
        searching = concurrent and relaxed_load(signals, SEARCHING) != ZERO
        pushes = counts[PUSHES]
        relabels += discharge(net, state, part, pop(state, row), stop, counts)
        if searching:
            counts[CONCURRENT_PUSHES] += counts[PUSHES] - pushes
        if relabels < report_limit:
            continue
        if fetch_add(signals, TOTAL_RELABELS, relabels) + relabels >= relabel_limit:
            if not concurrent:
                relaxed_store(signals, OVER, ONE)
            elif compare_exchange(signals, SEARCHING, ZERO, ONE):
                if search_concurrently(net, state, stop, progress):
                    counts[GLOBAL_RELABELS] += ONE
                relaxed_store(signals, TOTAL_RELABELS, ZERO)
                store(signals, SEARCHING, ZERO)
        relabels = ZERO


@kernel
def begin_epoch(net: ResidualArrays, state: State, part: Part) -> None:
    """List the thread's active vertices, and sum up excess, while nothing moves."""
    n = np.uint64(len(state.height))
    block = ONE << part.block_bits
    row = part.thread * PADDING
    state.lists[row + FRONT] = ZERO
    state.lists[row + TAKEN] = ONE
    state.inbox[row] = ZERO
    remaining = np.int64(0)
    active = np.int64(0)
    begin = part.thread * block if part.thread < part.owners else n
    while begin < n:
        v = begin
        while v < min(begin + block, n):
            excess = net.excess[v]
            remaining += excess
            if excess > 0 and np.uint64(state.height[v]) <= n:
                active += excess
                append(state, row, v)
            v += ONE
        begin += part.owners * block
    state.tally[row + HANDED_OUT] = 1
    state.tally[row + SETTLED] = 0
    state.tally[row + REMAINING] = remaining
    state.tally[row + ACTIVE] = active


@kernel
def first_stage(
    net: ResidualArrays,
    state: State,
    team: Team,
    thread: Any,
    block_bits: Any,
    concurrent: bool,
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
    before = np.int64(-1)
    fruitless = 0
    while True:
        distances_to_sink_together(team, thread, net, state.height, state.order)
        part = Part(thread, num_threads if fruitless < FRUITLESS else ONE, block_bits)
        begin_epoch(net, state, part)
        if thread == ZERO:
            counts[GLOBAL_RELABELS] += ONE
            relaxed_store(state.signals, OVER, ZERO)
            relaxed_store(state.signals, TOTAL_RELABELS, ZERO)
            relaxed_store(state.signals, STOPPING, np.uint64(relaxed_load(stop, ZERO)))
        if not wait(team.barrier, num_threads):
            return
        remaining = np.int64(0)
        active = np.int64(0)
        row = ZERO
        while row < num_threads * PADDING:
            remaining += state.tally[row + REMAINING]
            active += state.tally[row + ACTIVE]
            row += PADDING
        if thread == ZERO:
            progress[0] = active
        if active == 0 or relaxed_load(state.signals, STOPPING) != ZERO:
            return
        fruitless = fruitless + 1 if remaining == before else 0
        before = remaining
        if thread < part.owners:
            work_through_epoch(
                net,
                state,
                part,
                concurrent,
                relabel_limit,
                report_limit,
                relaxed_load(team.barrier, PATIENCE),
                stop,
                counts,
                progress,
            )
        if not wait(team.barrier, num_threads):
            return


def solve(net: ResidualArrays, options: LockFreeOptions, control: Control) -> NDArray[Any]:
    """Run the first stage in place.

    Returns
    -------
    height : ndarray, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.

    Notes
    -----
    O(n^2 m) operations; memory of three indices a vertex, and a byte for concurrent searches.
    """
    n, m = len(net.excess), len(net.head)
    num_threads = control.threads
    relabel_limit = UNLIMITED
    if options.relabel_period is not None:
        relabel_limit, _ = relabel_limits("relabels", options.relabel_period, n, m)
    report_limit = np.uint64(max(1, min(UNREPORTED, int(relabel_limit) // (8 * num_threads))))
    block_bits = np.uint64(max(1, n // (BLOCKS * num_threads)).bit_length() - 1)
    state = make_state(n, num_threads, options.concurrent_relabel, net.head.dtype)
    team = make_team(num_threads, net.head.dtype)
    control.excess[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(
            net,
            state,
            team,
            np.uint64(thread),
            block_bits,
            options.concurrent_relabel,
            relabel_limit,
            report_limit,
            control.stop,
            control.thread_counts[thread],
            control.excess,
        )

    run_solver(share, control, team.barrier)
    return state.height
