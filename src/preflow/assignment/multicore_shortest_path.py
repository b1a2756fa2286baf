"""Shortest augmenting paths for batches of matrices on many cores: each thread solves whole matrices.

One thread solves a matrix as :mod:`.serial_shortest_path` does, with the same prices.

Definitions. A *run* is a series of consecutive matrices, the unit of work that a thread takes.

Invariants:

- One thread takes a run, by an atomic addition, and only that thread writes its part of the solution.
- Runs are taken in order: every matrix before one that is reached has been taken.

::

    each thread, while there are runs and the solve continues:             solve_share
        take the next run
        for each matrix of the run:
            check that the costs are numbers that can be added             may_be_solved
            solve it, write columns and prices                             solve_matrix, write_solution
            add up the costs of its pairs                                  add_up

Threads take many short runs, since some matrices take longer than others. One kernel does everything for a
matrix while the matrix is in the thread's cache. Separate passes over the batch before and after the solve,
each on threads started from Python, would take longer than the solve.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Int64, Number, Numbers
from ..graph.costs import DenseCosts, SparseCosts, largest_cost
from ..kernels.atomics import relaxed_load, relaxed_store
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.private import private, private_memory
from ..parallel.thread_pool import in_pool, run_natively
from ..parallel.turns import Turns, make_turns, take_run
from ..solving.monitor import Monitor
from ..solving.run import Control
from .shortest_paths import (
    Output,
    ShortestPathOptions,
    Start,
    make_start,
    number_dtype,
    solve_costs,
    solve_items,
    solve_matrix,
    write_solution,
)
from .solution import INFEASIBLE, REFUSED, SOLVED, STOPPED, UNSEEN, Solution, with_violation

#: Sums of integers up to this fit 64 bits.
LARGEST_SUM = 2**62


class ThreadMemory(NamedTuple):
    """State of one thread."""

    start: Start
    #: shape (2,): the progress of threads other than the first, which no caller reads
    progress: NDArray[np.float64]


class Batch(NamedTuple):
    """The batch and the solution, which all threads share."""

    cost: Numbers  #: shape (items * n * m,)
    #: int64 or float64: the largest valid cost, and the cost of pairs that are not allowed
    largest: Number
    forbidden: Number
    go_on: bool  #: whether to continue after an infeasible item
    #: shape (items, n)
    row: NDArray[np.int64]
    match: NDArray[np.int64]
    #: shapes (items, n) and (items, m)
    u: Numbers
    v: Numbers
    total: Numbers  #: shape (items,)
    #: int64 or float64: the costs of an item's pairs can be added in 64 bits if none is larger
    most: Number
    inexact: NDArray[np.int64]  #: shape (1,): non-zero if some item has a pair with a larger cost
    ending: NDArray[np.int64]  #: shape (items,)
    own: ThreadMemory  #: the initial state of a thread; each thread makes a copy
    memory: NDArray[np.uint8]  #: shape (threads, room): memory for these copies
    turns: Turns


def make_batch(costs: DenseCosts, start: Start, control: Control, threads: int, go_on: bool) -> Batch:
    """Return the batch for a number of threads, with arrays for the solution."""
    items, n, m = costs.shape
    dtype = number_dtype(costs)
    own = ThreadMemory(start, np.zeros(2))
    largest = largest_cost(costs.dtype, n)
    integer = costs.dtype.kind == "i"
    return Batch(
        cost=costs.values.reshape(-1),
        largest=largest,
        forbidden=largest if integer else np.inf,
        go_on=go_on,
        row=np.empty((items, n), np.int64),
        match=np.empty((items, n), np.int64),
        u=np.empty((items, n), dtype),
        v=np.empty((items, m), dtype),
        total=np.empty(items, dtype),
        most=LARGEST_SUM // n if integer else np.inf,
        inexact=np.zeros(1, np.int64),
        ending=np.full(items, UNSEEN),
        own=own,
        memory=private_memory(own, threads),
        turns=make_turns(items, control)[0],
    )


@kernel
def may_be_solved(cost: Numbers, largest: Number, forbidden: Number) -> bool:
    """Return whether each cost is at most `largest` in size, or marks a pair that is not allowed."""
    refused = ZERO
    for k in range(np.uint64(len(cost))):
        fits = (cost[k] >= -largest) & (cost[k] <= largest)
        refused += np.uint64(not (fits | (cost[k] == forbidden)))
    return bool(refused == ZERO)


@kernel
def add_up(batch: Batch, item: Index, start: Start) -> None:
    """Write the rows of a solved item and the sum of the costs of its pairs."""
    total = start.state.limits.zero
    fits = True
    for i in range(np.uint64(batch.row.shape[1])):
        cost = start.state.matched_cost[i]
        batch.row[item, i] = np.int64(i)
        fits &= (cost >= -batch.most) & (cost <= batch.most)
        total += cost
    batch.total[item] = total
    if not fits:
        relaxed_store(batch.inexact, 0, 1)


@kernel
def solve_share(thread: np.uint64, batch: Batch) -> None:
    """Solve runs of matrices until none is left, or the solve of one matrix failed."""
    own = private(batch.own, batch.memory[thread])
    start = own.start
    turns = batch.turns
    progress = turns.progress if thread == ZERO else own.progress
    items = np.uint64(len(batch.ending))
    each = np.uint64(len(start.state.row_match)) * np.uint64(len(start.state.price))
    while relaxed_load(turns.stop, 0) == 0:
        begin, end = take_run(turns, items)
        if begin == end:
            break
        for item in range(begin, end):
            cost = batch.cost[item * each : (item + ONE) * each]
            ending: Int64 = REFUSED
            if may_be_solved(cost, batch.largest, batch.forbidden):
                ending, _, _ = solve_matrix(cost, start, Monitor(turns.stop, turns.counts[thread], progress))
                write_solution(start.state, batch.match[item], batch.u[item], batch.v[item])
            batch.ending[item] = ending
            if ending == SOLVED:
                add_up(batch, item, start)
            elif ending != INFEASIBLE or not batch.go_on:
                relaxed_store(turns.taken, 0, turns.num_runs)  # no thread takes another run
                return


solve_together = in_pool("solve_together", solve_share)


def forget_unseen(solution: Solution) -> None:
    """Clear the solution of items that no thread has solved."""
    unseen = solution.ending >= UNSEEN
    solution.match[unseen] = -1
    solution.u[unseen] = 0
    solution.v[unseen] = 0
    solution.ending[solution.ending == UNSEEN] = STOPPED


def solve(
    costs: DenseCosts | SparseCosts, options: ShortestPathOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row of each matrix at the least cost; dense costs need not be checked.

    Time and memory as of :func:`.serial_shortest_path.solve`, its memory besides the costs for each thread.
    """
    if not isinstance(costs, DenseCosts):
        return solve_costs(costs, options, control, go_on)
    threads = min(control.threads, costs.shape[0])
    start = make_start(costs, options)
    batch = make_batch(costs, start, control, threads, go_on)
    control.progress[:] = costs.shape[0] * costs.shape[1] / threads  # only the first thread reports
    run_natively(solve_together, batch, threads)
    nobody = np.empty(0, dtype=np.int64)
    solution = Solution(batch.match, batch.u, batch.v, batch.ending, nobody, nobody)
    if not batch.ending.any():
        return solution._replace(row=batch.row, total=None if batch.inexact[0] else batch.total)
    forget_unseen(solution)
    infeasible = np.flatnonzero(solution.ending == INFEASIBLE)
    if go_on or len(infeasible) == 0 or REFUSED in solution.ending:
        return solution
    # The error names the first infeasible item. All items before it were taken earlier, and are solved.
    first = slice(int(infeasible[0]), int(infeasible[0]) + 1)
    root, done = solve_items(
        costs.values[first].reshape(-1), start, Output(*(part[first] for part in solution[:4])), go_on,
        control.monitor()._replace(progress=np.zeros(2)),
    )  # fmt: skip
    return with_violation(solution, start.state, root, done)
