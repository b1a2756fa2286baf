"""Lock-free push-relabel on CPU threads: Hong's algorithm, and the same with asynchronous global relabeling.

Hong, "A Lock-free Multi-threaded Algorithm for the Maximum Flow Problem", IPDPS 2008, as given by Łupińska,
section 4.4 (Algorithm 4.5), the baseline cpu-async of Wu, He and Hong, section 5.5; and with
``concurrent_relabel`` Hong and He, "An Asynchronous Multithreaded Algorithm for the Maximum Flow Problem
with Nonblocking Global Relabeling Heuristic", IEEE TPDS 22 (2011), Łupińska section 4.6 (ARG).

Every vertex belongs to one thread. The owner of an active vertex x reads its excess, scans its residual arcs
for the lowest neighbour y, and pushes to y if that is lower than x, else lifts x to just above y. There are
no locks, and no barriers between operations.

Why labels are valid but for transients. A push from x to y opens the arc (y, x). It was prepared when y was
lower than x, but y may have been lifted since, without knowing of (y, x), to above height(x) + 1: a steep
arc. It never outlives the excess that came with it: whoever reads that excess before it scans sees the arc
too, as the residual of (y, x) is published before the excess of y, and sends the excess back, since the
lowest neighbour comes first; what arrives after the excess was read is not sent before the next scan. So once
no vertex is active the labels are valid. This needs acquire and release, in the order: residual of (y, x),
excess of y, excess of x. The receiver is credited before the sender is debited: no excess is ever invisible.

The concurrent search can break this. It lifts labels to distances in a network that never existed as a whole:
x, already searched from, may push to y, y may send that on, and is then reached by a longer way, or not at
all. So labels are hints, which no answer depends on. What a concurrent search does not reach it lifts to the
dead label, which sets it aside; only an exact search while nothing moves declares vertices dead. That comes
when no vertex below the dead label is active, or when a concurrent search reaches one that was set aside. If
it finds excess that can reach the sink, another epoch begins, from exact labels. Where several epochs bring
nothing to the sink, one thread works through the next: so their number is finite.

Departures: terminals are not vertices; labels start exact instead of 0; excess cut off from the sink climbs
to the dead label, not back to the source; owners queue the vertices that got excess instead of looking at all
they have; one scan serves all pushes to the lowest level; the end is found by counting vertices that became
active and ceased to be, instead of comparing e(s) + e(t) with ExcessTotal, in which a dead vertex that gets
more excess is missing; ARG has no thread of its own, the first that finds enough relabels done searches; few
active vertices are left to one thread, without which tails took a hundred times as long on busy cores, and
whose searches are exact.
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
from ..kernels.bfs import distances_to_sink
from ..kernels.buckets import active_excess
from ..kernels.kernel import kernel
from ..parallel.barrier import PADDING as BARRIER_PADDING
from ..parallel.barrier import PATIENCE, break_barrier, nap, wait
from ..parallel.bfs import Team, distances_to_sink_together, make_team
from ..parallel.team import run_team
from ..solving.run import COUNTER_ROW, Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS, WAITS
from .options import UNLIMITED, check_flag, check_relabel_rule, relabel_limits

ZERO = np.uint64(0)
ONE = np.uint64(1)
PADDING = np.uint64(BARRIER_PADDING)
#: Blocks of consecutive vertices that each thread owns, at least: neighbours in number tend to be neighbours
#: in the network, which is for long blocks, but active ones tend to gather in a stretch.
BLOCKS = 16
#: Vertices a thread discharges before it looks for those that others made active.
BATCH = 32
#: Active vertices a thread, below which one thread works alone, and how many times as many make it call for
#: the others again.
FEW, MANY_TIMES = 64, 4
#: Times an idle thread looks for work before it suggests so.
IDLE_LOOKS = 100
#: Exact searches in a row between which nothing arrived, after which one thread works alone in any case.
FRUITLESS = 3
#: More than there are vertices.
ANY_NUMBER = np.int64(2**60)
#: Vertices from which a concurrent search goes on between two looks at whether it is still wanted.
SEARCH_BATCH = np.uint64(256)

#: Positions in a thread's row of State.tally: vertices it made active and was done with in this epoch; and
#: as the epoch begins, how many of its vertices are active, and the excess on all and on the active ones.
ACTIVATED, FINISHED, COUNT, REMAINING, ACTIVE = (np.uint64(k) for k in range(5))
#: Positions in State.signals: somebody searches, relabels since the last search, the solve is to stop. Why
#: an epoch is over stands at 0 and PADDING by turns: there it is read while the next epoch's is reset.
SEARCHING, RELABELED, STOPPING = (np.uint64(k) * PADDING for k in (2, 3, 4))
#: Why an epoch is over: an exact search is due, or too few or too many vertices are active for its owners.
SEARCH_DUE, OWNERS_CHANGE = 1, 2
#: How a concurrent search ended.
ABORTED, COMPLETE, CONTRADICTED = 0, 1, 2
#: Position in a row of Control.thread_counts: pushes of batches that began while another thread searched.
CONCURRENT_PUSHES = COUNTER_ROW - 1


@dataclass(frozen=True)
class LockFreeOptions:
    """Options of the lock-free solvers.

    Parameters
    ----------
    concurrent_relabel : bool
        Relabel globally while others push and relabel.
    relabel_period : float
        Such a relabel is due after ``relabel_period * n`` relabels.
    alone_when_few : bool
        Let one thread work alone while few vertices are active.
    """

    concurrent_relabel: bool = True
    relabel_period: float = 1.0
    alone_when_few: bool = True

    def __post_init__(self) -> None:
        check_flag("concurrent_relabel", self.concurrent_relabel)
        check_relabel_rule("relabels", self.relabel_period)
        check_flag("alone_when_few", self.alone_when_few)


class Part(NamedTuple):
    """Which vertices a thread owns: every block whose number is its own modulo the number of owners.

    A block has two to the power of `block_bits` vertices; all three are uint64.
    """

    thread: Any
    owners: Any
    block_bits: Any


class State(NamedTuple):
    """What the threads share beside the residual network.

    Attributes
    ----------
    team : Team
    stop, progress : ndarray
        As in Control.
    height, order : ndarray, shape (n,)
        Distance labels, and the order of the last search.
    level : ndarray, shape (n,)
        Distances as of the concurrent search.
    queue : ndarray, shape (threads * (1 + the most vertices that one may own),)
        The active vertices that each thread knows of, each at most once, in a ring of its own: one entry
        stays free, so that a full ring does not look empty.
    inbox : ndarray of uint64
        Of each owner the vertex, plus one, that another thread made active last; padded.
    next_in_box : ndarray, shape (n,)
        The vertex, plus one, that is next in the inbox of the same owner; 0 ends the chain.
    tally : ndarray of int64
        Rows of PADDING numbers, each written by one thread.
    signals : ndarray of int64
    """

    team: Team
    stop: NDArray[Any]
    progress: NDArray[Any]
    height: NDArray[Any]
    order: NDArray[Any]
    level: NDArray[Any]
    queue: NDArray[Any]
    inbox: NDArray[Any]
    next_in_box: NDArray[Any]
    tally: NDArray[Any]
    signals: NDArray[Any]


def make_state(num_vertices: int, control: Control, block_bits: int, dtype: Any) -> State:
    """Return the state before the first epoch."""
    most_owned = (num_vertices // (control.threads << block_bits) + 1) << block_bits
    padded = control.threads * int(PADDING)
    return State(
        team=make_team(control.threads, dtype),
        stop=control.stop,
        progress=control.excess,
        height=np.empty(num_vertices, dtype=dtype),
        order=np.empty(num_vertices, dtype=dtype),
        level=np.empty(num_vertices, dtype=dtype),
        queue=np.empty(control.threads * (most_owned + 1), dtype=dtype),
        inbox=np.zeros(padded, dtype=np.uint64),
        next_in_box=np.zeros(num_vertices, dtype=dtype),
        tally=np.zeros(padded, dtype=np.int64),
        signals=np.zeros(5 * int(PADDING), dtype=np.int64),
    )


@kernel
def total(tally: Any, position: Any, num_threads: Any) -> Any:
    """Return the sum of what each thread has published."""
    thread = ONE
    result = load(tally, position)
    while thread < num_threads:
        result += load(tally, thread * PADDING + position)
        thread += ONE
    return result


@kernel
def count_on(tally: Any, thread: Any, position: Any, number: Any) -> None:
    """Add to a number that this thread alone writes."""
    own = thread * PADDING + position
    store(tally, own, relaxed_load(tally, own) + number)


@kernel
def ring_of(state: State, part: Part) -> tuple[Any, Any]:
    """Return where the thread's queue begins among all, and its size."""
    size = np.uint64(len(state.queue)) // part.owners
    return part.thread * size, size


@kernel
def enqueue(state: State, part: Part, v: Any, back: Any) -> Any:
    """Append `v` to the thread's own queue and return its new end."""
    ring, size = ring_of(state, part)
    state.queue[ring + back] = v
    return back + ONE if back + ONE < size else ZERO


@kernel
def activate(state: State, part: Part, v: Any, back: Any) -> Any:
    """Hand `v`, which had no excess before, to its owner; return the end of the thread's own queue.

    It is counted before its owner can see it, so that never more vertices seem finished than activated.
    """
    count_on(state.tally, part.thread, ACTIVATED, 1)
    owner = (v >> part.block_bits) % part.owners
    if owner == part.thread:
        return enqueue(state, part, v, back)
    box = owner * PADDING
    while True:
        first = relaxed_load(state.inbox, box)
        state.next_in_box[v] = first
        if compare_exchange(state.inbox, box, first, v + ONE):
            return back


@kernel
def empty_inbox(state: State, part: Part, back: Any) -> Any:
    """Move the vertices of the inbox, which is newest first, to the own queue, oldest first.

    All are taken at once, so it does not matter that an entry may leave and come back meanwhile.
    """
    box = part.thread * PADDING
    if relaxed_load(state.inbox, box) == ZERO:
        return back
    newest = np.uint64(exchange(state.inbox, box, ZERO))
    ring, size = ring_of(state, part)
    v = newest
    while v != ZERO:
        back = back + ONE if back + ONE < size else ZERO
        v = np.uint64(state.next_in_box[v - ONE])
    position = back
    v = newest
    while v != ZERO:
        position = position - ONE if position > ZERO else size - ONE
        state.queue[ring + position] = v - ONE
        v = np.uint64(state.next_in_box[v - ONE])
    return back


@kernel
def lowest_neighbour(net: ResidualArrays, height: Any, x: Any, ceiling: Any) -> tuple[Any, Any]:
    """Return the least height below `ceiling` among residual neighbours of `x`, and the first arc to it."""
    low = ceiling
    a = np.uint64(net.first_out[x])
    last = np.uint64(net.first_out[x + ONE])
    arc = last
    while a < last:
        if relaxed_load(net.residual, a) > 0:
            neighbour = np.uint64(relaxed_load(height, net.head[a]))
            if neighbour < low:
                low = neighbour
                arc = a
        a += ONE
    return low, arc


@kernel
def discharge(
    net: ResidualArrays, state: State, part: Part, x: Any, back: Any, counts: Any
) -> tuple[Any, Any]:
    """Push and relabel until `x` has no excess or the dead label; return the relabels and the queue's end."""
    height = state.height
    dead = np.uint64(len(height)) + ONE
    last = np.uint64(net.first_out[x + ONE])
    degree = last - np.uint64(net.first_out[x])
    relabels = ZERO
    while relaxed_load(state.stop, 0) == 0:
        h = np.uint64(relaxed_load(height, x))
        if h >= dead:
            break
        excess = load(net.excess, x)
        left = excess
        capacity = net.sink_residual[x]
        if capacity > 0:
            amount = min(left, capacity)
            relaxed_store(net.sink_residual, x, capacity - amount)
            left -= amount
            counts[PUSHES] += ONE
        if left > 0:
            low, a = lowest_neighbour(net, height, x, dead - ONE)
            counts[ARC_SCANS] += degree
            if h <= low:
                if not compare_exchange(height, x, h, low + ONE):
                    continue
                relabels += ONE
            first = a
            while a < last and left > 0:
                capacity = np.int64(relaxed_load(net.residual, a))
                if capacity > 0:
                    y = np.uint64(net.head[a])
                    if np.uint64(relaxed_load(height, y)) <= low:
                        amount = min(left, capacity)
                        fetch_add(net.residual, a, -amount)
                        fetch_add(net.residual, net.reverse[a], amount)
                        if fetch_add(net.excess, y, amount) == 0:
                            back = activate(state, part, y, back)
                        left -= amount
                        counts[PUSHES] += ONE
                a += ONE
            counts[ARC_SCANS] += a - first
        sent = excess - left
        if sent > 0 and fetch_add(net.excess, x, -sent) == sent:
            break
    return relabels, back


@kernel
def lift(height: Any, v: Any, least: Any) -> Any:
    """Raise the label of `v` to at least `least`, whoever else raises it; return what it was."""
    h = np.uint64(relaxed_load(height, v))
    while h < least and not compare_exchange(height, v, h, least):
        h = np.uint64(relaxed_load(height, v))
    return h


@kernel
def leads_to_reached(net: ResidualArrays, level: Any, v: Any) -> bool:
    """Return whether a residual arc leads from `v` to a vertex that the search has reached."""
    dead = np.uint64(len(level)) + ONE
    a = np.uint64(net.first_out[v])
    last = np.uint64(net.first_out[v + ONE])
    while a < last:
        if relaxed_load(net.residual, a) > 0 and np.uint64(level[net.head[a]]) < dead:
            return True
        a += ONE
    return False


@kernel
def search_concurrently(net: ResidualArrays, state: State, over: Any) -> Any:
    """Lift labels to distances to the sink while others push.

    Returns ABORTED if it was no longer wanted, and CONTRADICTED if it reached vertices of the dead label:
    only a search while nothing moves can free what they hold back.
    """
    height, level, order = state.height, state.level, state.order
    n = np.uint64(len(height))
    dead = n + ONE
    outcome = COMPLETE
    end = ZERO
    v = ZERO
    while v < n:
        level[v] = dead
        if relaxed_load(net.sink_residual, v) > 0:
            level[v] = ONE
            order[end] = v
            end += ONE
        v += ONE
    begin = ZERO
    while begin < end:
        if relaxed_load(state.stop, 0) != 0 or relaxed_load(state.signals, over) != 0:
            return ABORTED
        batch_end = min(end, begin + SEARCH_BATCH)
        while begin < batch_end:
            v = np.uint64(order[begin])
            begin += ONE
            next_level = np.uint64(level[v]) + ONE
            a = np.uint64(net.first_out[v])
            last = np.uint64(net.first_out[v + ONE])
            while a < last:
                w = np.uint64(net.head[a])
                if np.uint64(level[w]) == dead and relaxed_load(net.residual, net.reverse[a]) > 0:
                    level[w] = next_level
                    if lift(height, w, next_level) == dead:
                        outcome = CONTRADICTED
                    order[end] = w
                    end += ONE
                a += ONE
    active = 0.0
    v = ZERO
    while v < n:
        if np.uint64(level[v]) < dead:
            active += relaxed_load(net.excess, v)
        elif not leads_to_reached(net, level, v):
            lift(height, v, dead)
        v += ONE
    state.progress[0] = active
    return outcome


@kernel
def search_alone(net: ResidualArrays, state: State) -> Any:
    """Make every height exact while nobody else moves."""
    state.height[:] = len(state.height) + 1
    reached, _ = distances_to_sink(net, state.height, state.order, ZERO, ZERO, ZERO, False)
    state.progress[0] = active_excess(state.order, reached, net.excess)
    return COMPLETE


@kernel
def begin_epoch(net: ResidualArrays, state: State, part: Part) -> tuple[Any, Any, Any, Any]:
    """Queue the thread's active vertices while nothing moves.

    Returns
    -------
    back : end of the queue
    count : number of active vertices
    remaining : excess of all the thread's vertices
    active : excess of the active ones
    """
    n = np.uint64(len(state.height))
    block = ONE << part.block_bits
    count = 0
    remaining = np.int64(0)
    active = np.int64(0)
    back = ZERO
    begin = part.thread * block
    while begin < n:
        v = begin
        while v < min(begin + block, n):
            excess = net.excess[v]
            remaining += excess
            if excess > 0 and np.uint64(state.height[v]) <= n:
                count += 1
                active += excess
                back = enqueue(state, part, v, back)
            v += ONE
        begin += part.owners * block
    state.inbox[part.thread * PADDING] = ZERO
    state.tally[part.thread * PADDING + ACTIVATED] = count
    state.tally[part.thread * PADDING + FINISHED] = 0
    return back, count, remaining, active


@kernel
def work_through_epoch(
    net: ResidualArrays, state: State, part: Part, back: Any, over: Any, limit: Any, few: Any, counts: Any
) -> None:
    """Discharge the thread's vertices until no vertex is active, or too few or too many for the owners."""
    signals, tally, team = state.signals, state.tally, state.team
    ring, size = ring_of(state, part)
    patience = relaxed_load(team.barrier, PATIENCE)
    idle_looks = min(patience, IDLE_LOOKS)
    looks = 0
    idle = False
    front = ZERO
    while relaxed_load(state.stop, 0) == 0 and relaxed_load(signals, over) == 0:
        back = empty_inbox(state, part, back)
        if front == back:
            finished = total(tally, FINISHED, part.owners)  # first: never too few can seem active
            active = total(tally, ACTIVATED, part.owners) - finished
            if active == 0:
                relaxed_store(signals, over, SEARCH_DUE)
            elif active < few and idle and looks >= idle_looks and relaxed_load(signals, SEARCHING) == 0:
                compare_exchange(signals, over, 0, OWNERS_CHANGE)
            if not idle:
                idle = True
                looks = 0
                counts[WAITS] += ONE
            if looks < patience:
                looks += 1
                pause()
            else:
                nap()
            continue
        idle = False
        searching = relaxed_load(signals, SEARCHING) != 0
        pushes = counts[PUSHES]
        relabels = ZERO
        batch = 0
        while batch < BATCH and front != back:
            x = np.uint64(state.queue[ring + front])
            front = front + ONE if front + ONE < size else ZERO
            lifted, back = discharge(net, state, part, x, back, counts)
            relabels += lifted
            batch += 1
        count_on(tally, part.thread, FINISHED, batch)
        counts[RELABELS] += relabels
        if searching:
            counts[CONCURRENT_PUSHES] += counts[PUSHES] - pushes
        if (
            relabels > ZERO
            and np.uint64(fetch_add(signals, RELABELED, relabels)) + relabels >= limit
            and compare_exchange(signals, SEARCHING, 0, 1)
        ):
            if part.owners == ONE:
                outcome = search_alone(net, state)
            else:
                outcome = search_concurrently(net, state, over)
            if outcome != ABORTED:
                counts[GLOBAL_RELABELS] += ONE
                relaxed_store(signals, RELABELED, 0)
            if outcome == CONTRADICTED:
                relaxed_store(signals, over, SEARCH_DUE)
            store(signals, SEARCHING, 0)
        waiting = back - front if back >= front else back + size - front
        if part.owners < team.num_threads[0] and np.int64(waiting) > MANY_TIMES * few:
            relaxed_store(signals, over, OWNERS_CHANGE)


@kernel
def first_stage(
    net: ResidualArrays, state: State, part: Part, relabel_limit: Any, few_active: Any, counts: Any
) -> None:
    """Push excess until none can reach the sink: one thread's share.

    On return the heights are exact, also when the stop flag was raised.
    """
    thread, num_threads, block_bits = part
    barrier, signals, tally = state.team.barrier, state.signals, state.tally
    own = thread * PADDING
    before = np.int64(-1)
    fruitless = 0
    due = True
    over = ZERO
    while wait(barrier, num_threads):
        exact = due or relaxed_load(signals, over) == SEARCH_DUE
        due = False
        over = PADDING - over
        if thread == ZERO:
            relaxed_store(signals, over, 0)
            relaxed_store(signals, STOPPING, relaxed_load(state.stop, 0))
        if exact:
            distances_to_sink_together(state.team, thread, net, state.height, state.order)
            if thread == ZERO:
                relaxed_store(signals, RELABELED, 0)
                counts[GLOBAL_RELABELS] += ONE
        back, tally[own + COUNT], tally[own + REMAINING], tally[own + ACTIVE] = begin_epoch(net, state, part)
        if not wait(barrier, num_threads):
            return
        count = total(tally, COUNT, num_threads)
        if count == 0 or relaxed_load(signals, STOPPING) != 0:
            if exact:
                return
            due = True
            continue
        if exact:
            remaining = total(tally, REMAINING, num_threads)
            fruitless = fruitless + 1 if remaining == before else 0
            before = remaining
            if thread == ZERO:
                state.progress[0] = total(tally, ACTIVE, num_threads)
        few = few_active if fruitless < FRUITLESS else ANY_NUMBER
        mine = part
        if count < few:
            if thread != ZERO:
                continue
            mine = Part(thread, ONE, block_bits)
            back, _, _, _ = begin_epoch(net, state, mine)
        work_through_epoch(net, state, mine, back, over, relabel_limit, few, counts)


def solve(net: ResidualArrays, options: LockFreeOptions, control: Control) -> NDArray[Any]:
    """Run the first stage in place.

    Returns
    -------
    height : ndarray, shape (n,)
        Exact residual distances to the sink; ``n + 1`` where the sink cannot be reached.

    Notes
    -----
    O(n^2 m) operations; memory of five indices a vertex.
    """
    n, m = len(net.excess), len(net.head)
    limit = relabel_limits("relabels", options.relabel_period, n, m)[0]
    few = FEW * control.threads if options.alone_when_few else 0
    block_bits = max(1, n // (BLOCKS * control.threads)).bit_length() - 1
    state = make_state(n, control, block_bits, net.head.dtype)
    control.excess[:] = net.excess.sum(dtype=np.float64)

    def share(thread: int) -> None:
        first_stage(
            net,
            state,
            Part(np.uint64(thread), np.uint64(control.threads), np.uint64(block_bits)),
            limit if options.concurrent_relabel else UNLIMITED,
            np.int64(few),
            control.thread_counts[thread],
        )

    def on_failure() -> None:
        control.stop[0] = 1
        break_barrier(state.team.barrier)

    run_team(share, control.threads, on_failure)
    return state.height
