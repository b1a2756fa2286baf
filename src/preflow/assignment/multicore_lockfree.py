"""Lock-free cost scaling on many cores: pushes and relabels without locks.

Łupińska, section 5, Algorithm 5.4, in the refine of Algorithm 5.2, with arc fixing between refines. Each
vertex is worked on by one thread at a time. A row that has its unit pushes it along the arc of the least
partially reduced cost, after a relabel if that arc is not admissible; a column that has more than one unit
does the same with the units it has, each of which it can only send back.

Why nothing goes wrong, whatever the interleaving:

- A row's unit is in one place, a word: the arc it is on and its column, or nowhere while the row has it. In
  turn only the thread of the row writes that word, and only the thread of the column. The price of a vertex
  is written by its thread alone, and a row's not while its unit is elsewhere.
- Prices only fall, so one that is stale is too high at worst. A row is then lowered less than it might be,
  and its arcs keep reduced costs of at least minus epsilon. Or it pushes to a column that was relabelled
  since: the arc back has too low a reduced cost. Such a column has excess then, one unit for each such arc at
  least, since no column is relabelled before it has had excess, and it sends back the unit of the least
  reduced cost first. So no such arc is left when no column has excess.
- The excess of a column is read before its units are looked for, and a unit is put there before it is
  counted: so who reads the excess sees all units that are in it, maybe more. A unit sent back before it was
  counted makes the excess too small by one for a moment; its count then activates the column again.
- It is over when every column has a unit. A column never loses its last, and the sum of all excess is at
  most what has been counted: then no excess is left.

Departures: a relabel and the push that it allows are one step, since the scan would find the same arc, or one
that is as good but for a stale price. Threads list active vertices instead of looking at all they own; a
vertex goes to its owner, but stays with a thread that has nothing else. Where not all pairs are allowed, a
matching comes first, since an infeasible refine never ends. Arcs are fixed after a refine, never within one.
The price update (5.3) belongs to an interruption of the kernel, which here never comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

#: Blocks of consecutive vertices that a thread owns, at least.
BLOCKS = 2
#: Positions in State.signals: all columns have a unit, or it is to stop; how many have one.
OVER, FILLED = np.uint64(0), PADDING


@dataclass(frozen=True)
class LockFreeOptions:
    """Options of lock-free cost scaling.

    Attributes
    ----------
    alpha : float
        By what epsilon is divided before each refine.
    arc_fixing : bool
        Leave out arcs whose flow can never change again.
    """

    alpha: float = 10.0
    arc_fixing: bool = True

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        check_flag("arc_fixing", self.arc_fixing)


class State(NamedTuple):
    """What the threads share beside arcs and flow; rows come before columns where both are vertices.

    Attributes
    ----------
    lists : Inboxes
        Active vertices.
    signals, barrier, stop, counts : ndarray
    block_bits : uint64
        Blocks of two to the power of this many vertices have one owner.
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    lists: inboxes.Inboxes
    signals: NDArray[Any]
    barrier: NDArray[Any]
    stop: NDArray[Any]
    counts: NDArray[Any]
    block_bits: Any
    delays: Any = None


@kernel
def over(state: State) -> bool:
    """Return whether the refine is over, or the solve is to stop."""
    return bool(relaxed_load(state.signals, OVER) != ZERO or relaxed_load(state.stop, ZERO) != 0)


@kernel
def owner_of(state: State, vertex: Any, num_threads: Any) -> Any:
    """Return the thread that works on a vertex."""
    return (vertex >> state.block_bits) % num_threads


@kernel
def activate(state: State, thread: Any, num_threads: Any, vertex: Any) -> None:
    """List a vertex that has become active: with its owner, or here if there is nothing else."""
    delay(state.delays, thread)
    owner = owner_of(state, vertex, num_threads)
    if owner == thread or inboxes.is_empty(state.lists, thread):
        inboxes.append(state.lists, thread, vertex)
    else:
        inboxes.send(state.lists, thread, owner, vertex)


@kernel
def discharge_row(
    arcs: Arcs, flow: Flow, state: State, thread: Any, num_threads: Any, x: Any, epsilon: Any
) -> None:
    """Push the unit that row `x` has."""
    least, best = np.int64(2**63 - 1), NONE
    k = arcs.first[x]
    last = k + arcs.size[x]
    while k < last:
        partial = arcs.cost[k] - relaxed_load(flow.column_price, arcs.column[k])
        if partial < least:
            least, best = partial, k
        k += ONE
    if least >= -flow.row_price[x]:
        # mutant: rises-above-the-price-that-its-arcs-allow
        relaxed_store(flow.row_price, x, -(least + epsilon))
        state.counts[thread, RELABELS] += ONE
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
    arcs: Arcs, flow: Flow, state: State, thread: Any, num_threads: Any, y: Any, epsilon: Any
) -> None:
    """Send units of column `y` back, which has excess, until it has none, or the refine is over."""
    size = np.uint64(len(flow.at))
    while not over(state):
        if load(flow.excess, y) <= 0:  # a unit was sent back before it was counted
            break
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
        if least >= -flow.column_price[y]:
            # mutant: falls-below-the-price-that-its-arcs-allow
            relaxed_store(flow.column_price, y, -(least + epsilon))
            state.counts[thread, RELABELS] += ONE
        store(flow.at, back, NOWHERE)
        activate(state, thread, num_threads, back)
        state.counts[thread, PUSHES] += ONE
        state.counts[thread, ARC_SCANS] += size
        if fetch_add(flow.excess, y, -1) == 1:
            break


@kernel
def push_and_relabel(
    arcs: Arcs, flow: Flow, state: State, thread: Any, num_threads: Any, epsilon: Any
) -> None:
    """Discharge vertices until every column has a unit and no more; one thread's share, listed already."""
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
def list_rows(flow: Flow, state: State, thread: Any, num_threads: Any) -> None:
    """List the rows that the thread owns, all of which are active."""
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
    arcs: Arcs, flow: Flow, state: State, thread: Any, num_threads: Any, epsilon: Any, threshold: Any
) -> None:
    """Make the flow epsilon-optimal and then fix arcs beyond a threshold, if not zero; one thread's share."""
    begin, end = share_of(np.uint64(len(flow.at)), thread, num_threads)
    start_refine(arcs, flow, epsilon, begin, end)
    list_rows(flow, state, thread, num_threads)
    if not wait(state.barrier, num_threads):
        return
    push_and_relabel(arcs, flow, state, thread, num_threads, epsilon)
    if wait(state.barrier, num_threads) and threshold > 0 and relaxed_load(state.stop, ZERO) == 0:
        fix_arcs(arcs, flow, threshold, begin, end)


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
        Whether to solve the items after one that is infeasible.

    Raises
    ------
    UnsuitableMethodError
        There are 2**32 - 2 arcs or more, with those of rows added to make a square.

    Notes
    -----
    O(n**2 e min(log(n C), e log n)) operations for n columns, e arcs and integer costs up to C; memory of 28
    bytes an arc beside the costs. Floats are rounded to 32 bits, and the assignment is made exact by shortest
    augmenting paths.
    """

    def run(scaled_costs: Scaled) -> Flow | None:
        return cost_scaling(scaled_costs, options, control)

    return solve_items(costs, control, go_on, run)


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


def make_state(size: int, control: Control) -> State:
    """Return what a team shares, for so many rows and as many columns."""
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
