"""Lock-free cost scaling on many cores: pushes and relabels without locks.

Łupińska (2011), section 5, Algorithm 5.4, in the refine of Algorithm 5.2, with arc fixing between refines.
:mod:`.lockfree_scaling` defines arcs, flow and prices.

Definitions
-----------
- A row is *active* while it has its unit. A column is active while it has more than one unit.
- The *partially reduced cost* of an arc leaves out the price of the vertex that it starts from.
- An arc is *admissible* if its reduced cost is negative.
- Each vertex has an *owner* thread. A thread works on one active vertex at a time.

Invariants
----------
- One word says where a row's unit is: on an arc, with its column, or nowhere while the row has it. Only the
  thread that works on the row writes it then; while a column has the unit, only the column's thread does.
- Only the thread that works on a vertex writes its price, and a row's price not while its unit is elsewhere.
- Prices only fall, so a price that was read earlier is too high at worst. A row is then lowered less than it
  could be, and its arcs keep reduced costs of at least -epsilon. Or the row pushes to a column that was
  relabelled since, and the reverse arc has a reduced cost that is too low. Such a column has one unit of
  excess for each such arc at least, since no column is relabelled before it has excess, and it sends back the
  unit with the least reduced cost first. So no such arc is left when no column has excess.
- A unit is stored at a column before the column's excess counts it, and a thread reads the excess before it
  looks for units. So the thread finds all units that the excess counts, and maybe more. If a unit is sent
  back before it is counted, the excess is too small by one for a moment; when it is counted, the column
  becomes active again.
- A column never loses its last unit, and the sum of all excess is at most what has been counted. So once
  every column has a unit, no excess is left and the refine is over.

Pseudo-code
-----------
::

    for each epsilon:                                                      refine_all
        each thread:                                                       refine_share
            take back the units of its share of the rows                   start_refine
            list the rows that it owns, all of which are active            list_rows
            until every column has a unit:                                 push_and_relabel
                take an active vertex from its list or its inbox
                row: find the arc of the least partially reduced cost      discharge_row
                     if it is not admissible: relabel the row
                     push the unit; activate the column if it has excess now
                column: until it has no excess                             discharge_column
                     find the unit with the least partially reduced cost
                     if the arc back is not admissible: relabel the column
                     send the unit back; activate its row
            fix arcs                                                       fix_arcs

Departures: a relabel and the push that it allows are one step; another scan would find the same arc, or one
as good up to an old price. Threads list active vertices instead of scanning all vertices that they own. An
active vertex goes to its owner, or stays with the thread that activated it if that thread has no other. If
some pairs are not allowed, a matching comes first, since a refine without a solution never ends. Arcs are
fixed after a refine, not during it. The price update (5.3) belongs to an interruption of the kernel, which
does not occur here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Int64
from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.atomics import PADDING, fetch_add, load, relaxed_load, relaxed_store, store
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel import inboxes
from ..parallel.barrier import make_barrier, wait
from ..parallel.delays import delay
from ..parallel.thread_pool import run_solver, share_of
from ..solving.options import check_alpha, check_flag
from ..solving.run import Control
from ..stats import ARC_SCANS, PUSHES, RELABELS, WAITS
from .lockfree_scaling import (
    COLUMN,
    HALF,
    NOWHERE,
    Arcs,
    Flow,
    Scaled,
    fix_arcs,
    make_flow,
    refine_all,
    solve_items,
    start_refine,
)
from .search_state import NONE
from .solution import Solution

#: Least number of blocks of consecutive vertices per thread.
BLOCKS = 2
#: Positions in State.signals: a flag that the refine is over; the number of columns with a unit.
OVER, FILLED = np.uint64(0), PADDING


@dataclass(frozen=True)
class LockFreeOptions:
    """Options of lock-free cost scaling.

    Attributes
    ----------
    alpha : float
        The divisor of epsilon before each refine.
    arc_fixing : bool
        Leave out arcs whose flow cannot change in later refines.
    """

    alpha: float = 10.0
    arc_fixing: bool = True

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        check_flag("arc_fixing", self.arc_fixing)


class State(NamedTuple):
    """State that the threads share, besides arcs and flow; vertices are the rows, then the columns.

    Attributes
    ----------
    lists : Inboxes
        The active vertices of each thread.
    signals, barrier, stop, counts : ndarray
    block_bits : uint64
        All vertices of a block have one owner; a block has ``2 ** block_bits`` vertices.
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    lists: inboxes.Inboxes
    signals: NDArray[np.uint64]
    barrier: NDArray[np.int64]
    stop: NDArray[np.int64]
    counts: NDArray[np.uint64]
    block_bits: np.uint64
    delays: NDArray[np.uint64] | None = None


def make_state(size: int, control: Control) -> State:
    """Return the state that the threads share, for `size` rows and as many columns."""
    threads = control.threads
    return State(
        lists=inboxes.make_inboxes(threads, 2 * size, np.uint32),
        signals=np.zeros(2 * int(PADDING), dtype=np.uint64),
        barrier=make_barrier(threads),
        stop=control.stop,
        counts=control.thread_counts,
        block_bits=np.uint64(max(1, size // (BLOCKS * threads)).bit_length() - 1),
        delays=control.delays,
    )


@kernel
def over(state: State) -> bool:
    """Return whether the refine is over, or the solve is to stop."""
    return bool(relaxed_load(state.signals, OVER) != ZERO or relaxed_load(state.stop, ZERO) != 0)


@kernel
def owner_of(state: State, vertex: np.uint64, num_threads: np.uint64) -> np.uint64:
    """Return the thread that owns a vertex."""
    return (vertex >> state.block_bits) % num_threads


@kernel
def activate(state: State, thread: np.uint64, num_threads: np.uint64, vertex: np.uint64) -> None:
    """Give an active vertex to its owner, or keep it if this thread has no other."""
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
    """Send units of column `y` back until it has no excess, or the refine is over."""
    size = np.uint64(len(flow.at))
    while not over(state):
        if load(flow.excess, y) <= 0:  # a unit was sent back before it was counted
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
    """Discharge active vertices until every column has exactly one unit; one thread's share."""
    size = np.uint64(len(flow.at))
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


@kernel
def list_rows(flow: Flow, state: State, thread: np.uint64, num_threads: np.uint64) -> None:
    """List the rows that the thread owns; all of them are active."""
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
) -> None:
    """Make the flow epsilon-optimal, then fix arcs above the threshold unless it is 0; one thread's share."""
    begin, end = share_of(np.uint64(len(flow.at)), thread, num_threads)
    start_refine(arcs, flow, epsilon, begin, end)
    list_rows(flow, state, thread, num_threads)
    if not wait(state.barrier, num_threads):
        return
    push_and_relabel(arcs, flow, state, thread, num_threads, epsilon)
    if wait(state.barrier, num_threads) and threshold > 0 and relaxed_load(state.stop, ZERO) == 0:
        fix_arcs(arcs, flow, threshold, begin, end)


def cost_scaling(scaled_costs: Scaled, options: LockFreeOptions, control: Control) -> Flow | None:
    """Return an optimal flow; None if stopped."""
    arcs = scaled_costs.arcs
    size, threads = len(arcs.size), control.threads
    flow = make_flow(size)
    state = make_state(size, control)

    def refine(epsilon: int, threshold: int) -> bool:
        def share(thread: int) -> None:
            refine_share(
                arcs,
                flow,
                state,
                np.uint64(thread),
                np.uint64(threads),
                np.int64(epsilon),
                np.int64(threshold),
            )

        run_solver(share, control, state.barrier)
        return not control.stopped

    largest, fixing = scaled_costs.largest, options.arc_fixing
    return flow if refine_all(largest, size, options.alpha, fixing, control, refine) else None


def solve(
    costs: DenseCosts | SparseCosts, options: LockFreeOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost, one matrix after the other on all threads.

    Parameters
    ----------
    costs : DenseCosts or SparseCosts
        To minimise, with at least as many columns as rows.
    options : LockFreeOptions
    control : Control
    go_on : bool
        Whether to continue after an infeasible item.

    Raises
    ------
    UnsuitableMethodError
        There are 2**32 - 2 arcs or more, including those of rows added to make the matrix square.

    Notes ----- O(n**2 e min(log(n C), e log n)) operations for n columns, e arcs and integer costs up to C.
    Memory besides the costs: 28 bytes per arc. Floats are rounded to 32 bits; shortest augmenting paths then
    make the assignment exact.
    """

    def run(scaled_costs: Scaled) -> Flow | None:
        return cost_scaling(scaled_costs, options, control)

    return solve_items(costs, control, go_on, run)
