"""Cost scaling on many cores: pushes and relabels without locks.

Łupińska (2011), section 5: the pushes and relabels of Algorithm 5.4 in the refine of Algorithm 5.2, and arc
fixing between refines. ``assignment/lockfree_scaling.py`` defines arcs, flow, reduced costs and prices.

Definitions
-----------
- A row is *active* while it has its unit. A column is active while it has more than one unit.
- The *partially reduced cost* of an arc leaves out the price of the vertex that it starts from.
- An arc is *admissible* if its reduced cost is negative.
- Each vertex has an *owner*: the thread to which others give the vertex when they make it active. An active
  vertex is in the list or inbox of one thread, which *works on* it: usually the owner (:func:`activate`).

Invariants
----------
- One word of ``flow.at`` says where a row's unit is: it holds an arc and its column, or NOWHERE while the row
  has the unit. While the row has it, only the thread that works on the row writes the word; while a column
  has it, only the thread that works on that column.
- Only the thread that works on a vertex writes the vertex's price. So the price of a row does not change
  while a column has the row's unit.
- During a refine, prices only fall, so an outdated price is too high. There are two consequences. A thread
  may lower a row less than it could; all arcs of the row keep reduced costs of at least -epsilon. Or a thread
  may push the unit of a row to a column that was relabelled in the meantime; the reduced cost of the reverse
  arc may then be below -epsilon. A column with such an arc had excess when it was relabelled, and still has a
  unit from then. So it has at least one unit of excess for each such arc. It sends back the unit with the
  least reduced cost first. So no such arc is left when no column has excess.
- A thread stores a unit at a column before it counts the unit in the column's excess. A thread that works on
  the column reads the excess first and then looks for units. So it finds all units that are counted, and
  perhaps others. If it sends back a unit that is not yet counted, the excess is one too small until the unit
  is counted; if that raises the excess from 0, the column becomes active again.
- A column never loses its last unit, since it sends units back only while it has excess. There are as many
  units as columns. So once every column has a unit, each has exactly one, and the refine is over.

These are the lemmas of section 5.4 as the code relies on them. An active vertex can push or be relabelled
(5.1), so none is stuck. Prices only fall (5.2). Two steps on common data have the effect of one after the
other, or of both having read before either wrote (5.3), and so have more steps (5.4): this is why an outdated
price has only the two consequences above. Arcs below -epsilon are transient (5.5), and there are none when a
refine ends (5.6). The paper proves 5.4 and the case of many steps in 5.5 by analogy only;
``tests/assignment/test_interleavings.py`` tries all interleavings of small cases.

Pseudo-code
-----------
::

    for each epsilon:                                                      refine_all
        each thread:                                                       refine_share
            take back the units of its share of rows, set their prices     start_refine
            list the rows that it owns, all of which are active            list_rows
            until every column has a unit, or the threads are to meet:     push_and_relabel
                take an active vertex from its list or its inbox
                row: find the arc of the least partially reduced cost      discharge_row
                     if it is not admissible: relabel the row
                     push the unit; activate the column if it has excess now
                column: until it has no excess                             discharge_column
                     find the unit with the least partially reduced cost
                     if the arc back is not admissible: relabel the column
                     send the unit back; activate its row
            after a meeting: update prices (Algorithm 5.3), go on          PriceUpdate, list_active
            fix arcs                                                       fix_arcs

Departures
----------
- A relabel and the push that it allows are one step. A second scan would find the same arc, unless a price
  has fallen in the meantime.
- Each thread has a list of active vertices, and does not scan all vertices that it owns. A thread that makes
  a vertex active gives it to the owner, or keeps it if its own list is empty.
- If some pairs are not allowed, the solver first looks for a matching of all rows, since a refine without a
  solution never ends.
- Arcs are fixed after a refine, not during it.
- The paper interrupts its kernel after CYCLE = 500,000 steps of each vertex, and then updates prices, once a
  refine. No refine of its sizes takes that long, so the update never runs. Here the threads meet after
  `cycles` discharges of one of them, and the number of updates in a refine is an option.
- A price update (Algorithm 5.3, `PriceUpdate` in ``assignment/lockfree_scaling.py``) is made by one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...assignment.lockfree_scaling import (
    COLUMN,
    HALF,
    NOWHERE,
    Arcs,
    Flow,
    PriceUpdate,
    Scaled,
    fix_arcs,
    make_flow,
    refine_all,
    solve_items,
    start_refine,
)
from ...assignment.search_state import NONE
from ...assignment.solution import Solution
from ...graph.costs import DenseCosts, SparseCosts
from ...kernels.atomics import (
    PADDING,
    compare_exchange,
    fetch_add,
    load,
    relaxed_load,
    relaxed_store,
    store,
)
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.kernel import kernel
from ...parallel import inboxes
from ...parallel.barrier import make_barrier, wait
from ...parallel.delays import delay
from ...parallel.thread_pool import run_solver, share_of
from ...solving.options import Alpha, CheckedOptions, NonNegativeInteger, PositiveInteger
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS, WAITS

#: A thread owns at least this number of blocks of consecutive rows, if there are enough rows.
BLOCKS = 2
#: Positions in State.signals: whether the refine is over (ONE) or the threads are to meet (TWO); the number
#: of columns with a unit.
OVER, FILLED = np.uint64(0), PADDING


@dataclass(frozen=True)
class LockFreeOptions(CheckedOptions):
    """Options of lock-free cost scaling.

    Attributes
    ----------
    alpha : float
        The divisor of epsilon before each refine.
    arc_fixing : bool
        Leave out arcs whose flow cannot change in later refines.
    price_updates : int
        The number of meetings, at the start of each refine, after which prices are updated.
    cycles : int
        While there are price updates to come, the threads meet when one of them has made this many
        discharges: the paper's CYCLE of 500,000 steps of each vertex. At its sizes no refine takes that long.
    """

    alpha: Alpha = 10.0
    arc_fixing: bool = True
    price_updates: NonNegativeInteger = 0
    cycles: PositiveInteger = 500_000


class State(NamedTuple):
    """State that the threads share, besides arcs and flow. Row x is vertex x, column y is vertex n + y."""

    lists: inboxes.Inboxes  #: the active vertices of each thread
    #: whether the refine is over; the number of columns with a unit: see OVER and FILLED
    signals: NDArray[np.uint64]
    cycles: np.uint64  #: the threads meet after this many discharges of one of them; 0 for never
    barrier: NDArray[np.int64]
    stop: NDArray[np.int64]
    counts: NDArray[np.uint64]
    block_bits: np.uint64  #: a block of ``2 ** block_bits`` consecutive vertices has one owner
    delays: NDArray[np.uint64] | None = None  #: for stress tests, see parallel/delays.py


def make_state(size: int, control: Control) -> State:
    """Return the state that the threads share, for `size` rows and as many columns."""
    threads = control.threads
    return State(
        lists=inboxes.make_inboxes(threads, 2 * size, np.uint32),
        signals=np.zeros(2 * int(PADDING), dtype=np.uint64),
        cycles=ZERO,
        barrier=make_barrier(threads),
        stop=control.stop,
        counts=control.thread_counts,
        block_bits=np.uint64(max(1, size // (BLOCKS * threads)).bit_length() - 1),
        delays=control.delays,
    )


@kernel
def over(state: State) -> bool:
    """Return whether the refine is over, the threads are to meet, or the solve is to stop."""
    return bool(relaxed_load(state.signals, OVER) != ZERO or relaxed_load(state.stop, ZERO) != 0)


@kernel
def owner_of(state: State, vertex: np.uint64, num_threads: np.uint64) -> np.uint64:
    """Return the thread that owns a vertex."""
    return (vertex >> state.block_bits) % num_threads


@kernel
def activate(state: State, thread: np.uint64, num_threads: np.uint64, vertex: np.uint64) -> None:
    """Give an active vertex to its owner, or keep it if the list of this thread is empty."""
    delay(state.delays, thread)
    owner = owner_of(state, vertex, num_threads)
    if owner == thread or inboxes.is_empty(state.lists, thread):
        inboxes.append(state.lists, thread, vertex)
    else:
        inboxes.send(state.lists, thread, owner, vertex)


@kernel
def discharge_row(
    arcs: Arcs,
    flow: Flow,
    state: State,
    thread: np.uint64,
    num_threads: np.uint64,
    x: np.uint64,
    epsilon: Int64,
) -> None:
    """Push the unit of row `x`."""
    # Find the arc of the least partially reduced cost.
    least, best = np.int64(2**63 - 1), NONE
    k = arcs.first[x]
    last = k + arcs.size[x]
    while k < last:
        partial = arcs.cost[k] - relaxed_load(flow.column_price, arcs.column[k])
        if partial < least:
            least, best = partial, k
        k += ONE
    # Relabel the row if the arc is not admissible.
    if least >= -flow.row_price[x]:
        # mutant: rises-above-the-price-that-its-arcs-allow
        relaxed_store(flow.row_price, x, -(least + epsilon))
        state.counts[thread, RELABELS] += ONE
    # Push; activate the column if it has excess now.
    y = np.uint64(arcs.column[best])
    delay(state.delays, thread)
    store(flow.at, x, best << HALF | y)
    delay(state.delays, thread)
    before = fetch_add(flow.excess, y, 1)
    if before == 0:
        activate(state, thread, num_threads, np.uint64(len(flow.at)) + y)
    elif before < 0 and np.uint64(fetch_add(state.signals, FILLED, ONE)) + ONE == np.uint64(len(flow.at)):
        relaxed_store(state.signals, OVER, ONE)
    state.counts[thread, PUSHES] += ONE
    state.counts[thread, ARC_SCANS] += arcs.size[x]


@kernel
def discharge_column(
    arcs: Arcs,
    flow: Flow,
    state: State,
    thread: np.uint64,
    num_threads: np.uint64,
    y: np.uint64,
    epsilon: Int64,
) -> None:
    """Send units of column `y` back until it has no excess, or the threads meet."""
    size = np.uint64(len(flow.at))
    while not over(state):
        if load(flow.excess, y) <= 0:  # reads the excess before the units
            break
        # Find the unit with the least partially reduced cost.
        least, back = np.int64(2**63 - 1), NONE
        x = ZERO
        while x < size:
            word = np.uint64(load(flow.at, x))
            if word & COLUMN == y and word != NOWHERE:
                partial = -arcs.cost[word >> HALF] - relaxed_load(flow.row_price, x)
                if partial < least:
                    least, back = partial, x
            x += ONE
        delay(state.delays, thread)
        # Relabel the column if the arc back is not admissible.
        if least >= -flow.column_price[y]:
            # mutant: falls-below-the-price-that-its-arcs-allow
            relaxed_store(flow.column_price, y, -(least + epsilon))
            state.counts[thread, RELABELS] += ONE
        # Send the unit back; activate its row.
        store(flow.at, back, NOWHERE)
        activate(state, thread, num_threads, back)
        state.counts[thread, PUSHES] += ONE
        state.counts[thread, ARC_SCANS] += size
        if fetch_add(flow.excess, y, -1) == 1:
            break


@kernel
def push_and_relabel(
    arcs: Arcs, flow: Flow, state: State, thread: np.uint64, num_threads: np.uint64, epsilon: Int64
) -> None:
    """Discharge active vertices until every column has one unit or the threads meet; one thread's share."""
    size = np.uint64(len(flow.at))
    discharges = ZERO
    while not over(state):
        inboxes.receive(state.lists, thread)
        if inboxes.is_empty(state.lists, thread):
            state.counts[thread, WAITS] += ONE
            if not inboxes.wait_for_items(state.lists, thread, num_threads, state.signals, state.stop):
                break
            continue
        vertex = inboxes.pop(state.lists, thread)
        if vertex < size:
            discharge_row(arcs, flow, state, thread, num_threads, vertex, epsilon)
        else:
            discharge_column(arcs, flow, state, thread, num_threads, vertex - size, epsilon)
        discharges += ONE
        if discharges == state.cycles:
            compare_exchange(state.signals, OVER, ZERO, TWO)  # mutant: hides-that-the-refine-is-over


@kernel
def list_active(flow: Flow, state: State, thread: np.uint64, num_threads: np.uint64) -> None:
    """List the active vertices that the thread owns, after a meeting; thread 0 resets the signal."""
    inboxes.clear(state.lists, thread)
    size = np.uint64(len(flow.at))
    v = ZERO
    while v < TWO * size:
        if owner_of(state, v, num_threads) == thread:
            is_active = flow.at[v] == NOWHERE if v < size else flow.excess[v - size] > 0
            if is_active:
                inboxes.append(state.lists, thread, v)
        v += ONE
    if thread == ZERO:
        relaxed_store(state.signals, OVER, ZERO)


@kernel
def list_rows(flow: Flow, state: State, thread: np.uint64, num_threads: np.uint64) -> None:
    """List the rows that the thread owns, all of which are active; thread 0 resets the signals."""
    inboxes.clear(state.lists, thread)
    size = np.uint64(len(flow.at))
    block = thread
    while block << state.block_bits < size:
        x = block << state.block_bits
        while x < min(size, (block + ONE) << state.block_bits):
            inboxes.append(state.lists, thread, x)
            x += ONE
        block += num_threads
    if thread == ZERO:
        relaxed_store(state.signals, OVER, ZERO)
        relaxed_store(state.signals, FILLED, ZERO)


@kernel
def refine_share(
    arcs: Arcs,
    flow: Flow,
    state: State,
    thread: np.uint64,
    num_threads: np.uint64,
    epsilon: Int64,
    threshold: Int64,
    goes_on: bool,
) -> None:
    """Do one thread's share of a refine, to its end or a meeting: see `Refine` in lockfree_scaling.py.

    `goes_on` says that the threads have met before in this refine.
    """
    begin, end = share_of(np.uint64(len(flow.at)), thread, num_threads)
    if goes_on:
        list_active(flow, state, thread, num_threads)
    else:
        start_refine(arcs, flow, epsilon, begin, end)
        list_rows(flow, state, thread, num_threads)
    if not wait(state.barrier, num_threads):
        return
    push_and_relabel(arcs, flow, state, thread, num_threads, epsilon)
    if not wait(state.barrier, num_threads) or relaxed_load(state.stop, ZERO) != 0:
        return
    if threshold > 0 and relaxed_load(state.signals, OVER) == ONE:
        fix_arcs(arcs, flow, threshold, begin, end)


def cost_scaling(scaled_costs: Scaled, options: LockFreeOptions, control: Control) -> Flow | None:
    """Return an optimal flow; None if stopped."""
    arcs = scaled_costs.arcs
    size, threads = len(arcs.size), control.threads
    flow = make_flow(size)
    state = make_state(size, control)
    price_update = PriceUpdate(arcs) if options.price_updates > 0 else None

    def until_meeting(epsilon: int, threshold: int, meetings: int) -> None:
        """Start a refine, or go on after a number of meetings, until it is over or the threads meet."""
        cycles = np.uint64(options.cycles if meetings < options.price_updates else 0)

        def share(thread: int) -> None:
            refine_share(
                arcs,
                flow,
                state._replace(cycles=cycles),
                np.uint64(thread),
                np.uint64(threads),
                np.int64(epsilon),
                np.int64(threshold),
                meetings > 0,
            )

        run_solver(share, control, state.barrier)

    def refine(epsilon: int, threshold: int) -> bool:
        meetings = 0
        until_meeting(epsilon, threshold, meetings)
        while not control.stopped and price_update is not None and state.signals[OVER] == TWO:
            price_update.saturate(flow, epsilon)
            price_update.update(flow, epsilon)
            control.counts[GLOBAL_RELABELS] += 1
            meetings += 1
            until_meeting(epsilon, threshold, meetings)
        return not control.stopped

    largest, fixing = scaled_costs.largest, options.arc_fixing
    return flow if refine_all(largest, size, options.alpha, fixing, control, refine) else None


def solve(
    costs: DenseCosts | SparseCosts, options: LockFreeOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost, one matrix after the other on all threads.

    O(n**2 e min(log(n C), e log n)) operations for n columns, e arcs and integer costs up to C. Memory
    besides the costs: 28 bytes per arc, 85 with price updates. Floats are rounded to 32 bits or fewer;
    shortest augmenting paths then make the assignment exact. UnsuitableMethodError above 2**32 - 2 arcs,
    including those of rows added to make the matrix square.
    """

    def run(scaled_costs: Scaled) -> Flow | None:
        return cost_scaling(scaled_costs, options, control)

    return solve_items(costs, control, go_on, run)
