"""Shortest augmenting paths for stacks of matrices, on many cores: each thread solves matrices by itself.

A matrix is solved by one thread, as :mod:`.serial_shortest_path` does, and to the same prices. Threads take
runs of matrices one after the other, since some take longer than others. All that there is to do for a matrix
is done by one kernel while it is in the thread's cache: its costs are checked, it is solved, pairs and prices
are written and the costs of the pairs added up. Passes over the stack before and after, each with threads
that Python starts, would take longer than solving does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.costs import DenseCosts, SparseCosts, largest_cost
from ..kernels.atomics import fetch_add, relaxed_load, relaxed_store
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.private import private, private_memory
from ..parallel.thread_pool import NativePool, address_of, entry_of, run_in_pool, run_natively
from ..solving.monitor import Monitor
from ..solving.run import Control
from . import serial_shortest_path
from .serial_shortest_path import (
    Output,
    ShortestPathOptions,
    Start,
    make_start,
    number_dtype,
    solve_items,
    solve_matrix,
    write_solution,
)
from .solution import INFEASIBLE, REFUSED, SOLVED, STOPPED, UNSEEN, Solution, with_violation

#: Runs of matrices for each thread.
RUNS = 64
#: Integers whose sum is no larger than this can be added.
LARGEST_SUM = 2**62


class Own(NamedTuple):
    """What one thread solves matrices with.

    Attributes
    ----------
    start : Start
    progress : ndarray of float64, shape (2,)
    """

    start: Start
    progress: NDArray[np.float64]


class Stack(NamedTuple):
    """What all threads share.

    Attributes
    ----------
    cost : ndarray, shape (items * n * m,)
    largest, forbidden : int64 or float64
        No cost is larger, but for that of pairs that are not allowed.
    go_on : bool
        Whether to solve the items after one that is infeasible.
    row, match : ndarray of int64, shape (items, n)
    u, v : ndarray, shapes (items, n) and (items, m)
    total : ndarray, shape (items,)
    most : int64 or float64
        So many costs as there are rows, none of them larger, can be added up.
    inexact : ndarray of int64, shape (1,)
        Not zero where costs of pairs are larger.
    ending : ndarray of int64, shape (items,)
    own : Own
        What threads begin with copies of, ...
    memory : ndarray of uint8, shape (threads, room)
        ... which they make there.
    turns : ndarray of uint64, shape (1,)
        Runs that were taken, ...
    num_runs : uint64
        ... of so many.
    stop, progress
        See :class:`preflow.solving.run.Control`; its `excess`.
    counts : ndarray of uint64, shape (threads, counters)
    """

    cost: NDArray[Any]
    largest: Any
    forbidden: Any
    go_on: bool
    row: NDArray[np.int64]
    match: NDArray[np.int64]
    u: NDArray[Any]
    v: NDArray[Any]
    total: NDArray[Any]
    most: Any
    inexact: NDArray[np.int64]
    ending: NDArray[np.int64]
    own: Own
    memory: NDArray[np.uint8]
    turns: NDArray[np.uint64]
    num_runs: np.uint64
    stop: NDArray[np.int64]
    progress: NDArray[np.float64]
    counts: NDArray[np.uint64]


@kernel
def may_be_solved(cost: Any, largest: Any, forbidden: Any) -> bool:
    """Return whether no cost is NaN or too large, but for the cost of pairs that are not allowed."""
    refused = ZERO
    for k in range(np.uint64(len(cost))):
        fits = (cost[k] >= -largest) & (cost[k] <= largest)
        refused += np.uint64(not (fits | (cost[k] == forbidden)))
    return bool(refused == ZERO)


@kernel
def add_up(stack: Stack, item: Any, start: Start) -> None:
    """Write the rows of an item, of which none is left over, and the sum of the costs of its pairs."""
    total = start.state.limits.zero
    fits = True
    for i in range(np.uint64(stack.row.shape[1])):
        cost = start.state.matched_cost[i]
        stack.row[item, i] = np.int64(i)
        fits &= (cost >= -stack.most) & (cost <= stack.most)
        total += cost
    stack.total[item] = total
    if not fits:
        relaxed_store(stack.inexact, 0, 1)


@kernel
def solve_share(thread: Any, stack: Stack) -> None:
    """Solve runs of matrices while there are any that nobody has taken, and none was in vain."""
    own = private(stack.own, stack.memory[thread])
    start = own.start
    progress = stack.progress if thread == ZERO else own.progress
    items = np.uint64(len(stack.ending))
    each = np.uint64(len(start.state.row_match)) * np.uint64(len(start.state.price))
    while relaxed_load(stack.stop, 0) == 0:
        run = np.uint64(fetch_add(stack.turns, ZERO, ONE))
        if run >= stack.num_runs:
            break
        for item in range(items * run // stack.num_runs, items * (run + ONE) // stack.num_runs):
            cost = stack.cost[item * each : (item + ONE) * each]
            ending = REFUSED
            if may_be_solved(cost, stack.largest, stack.forbidden):
                ending, _, _ = solve_matrix(cost, start, Monitor(stack.stop, stack.counts[thread], progress))
                write_solution(start.state, stack.match[item], stack.u[item], stack.v[item])
            stack.ending[item] = ending
            if ending == SOLVED:
                add_up(stack, item, start)
            elif ending != INFEASIBLE or not stack.go_on:
                relaxed_store(stack.turns, 0, stack.num_runs)  # nobody begins another run
                return


@kernel
def solve_together(pool: NativePool, num_threads: Any, stack: Stack) -> None:
    """Solve a stack on so many threads."""
    run_in_pool(pool, num_threads, entry_of(solve_share, stack), address_of(stack))


def solve(
    costs: DenseCosts | SparseCosts, options: ShortestPathOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row of each matrix at the least cost; dense costs need not be checked.

    Parameters
    ----------
    costs : DenseCosts or SparseCosts
        To minimise, with at least as many columns as rows.
    options : ShortestPathOptions
    control : Control
    go_on : bool
        Whether to solve the items after one that is infeasible.

    Notes
    -----
    As :func:`.serial_shortest_path.solve`, and on each thread its memory beside the costs.
    """
    if not isinstance(costs, DenseCosts):
        return serial_shortest_path.solve(costs, options, control, go_on)
    threads = min(control.threads, costs.shape[0])
    start = make_start(costs, options)
    stack = make_stack(costs, start, control, threads, go_on)
    control.excess[:] = costs.shape[0] * costs.shape[1] / threads  # of the first thread's share
    run_natively(solve_together, solve_share, stack, threads)
    nobody = np.empty(0, dtype=np.int64)
    solution = Solution(stack.match, stack.u, stack.v, stack.ending, nobody, nobody)
    if not stack.ending.any():
        return solution._replace(row=stack.row, total=None if stack.inexact[0] else stack.total)
    forget_unseen(solution)
    infeasible = np.flatnonzero(solution.ending == INFEASIBLE)
    if go_on or len(infeasible) == 0 or REFUSED in solution.ending:
        return solution
    # The first one: whatever comes before it was begun earlier, and solved.
    first = slice(int(infeasible[0]), int(infeasible[0]) + 1)
    root, done = solve_items(
        costs.values[first].reshape(-1), start, Output(*(part[first] for part in solution[:4])), go_on,
        control.monitor()._replace(progress=np.zeros(2)),
    )  # fmt: skip
    return with_violation(solution, start.state, root, done)


def make_stack(costs: DenseCosts, start: Start, control: Control, threads: int, go_on: bool) -> Stack:
    """Return what so many threads share, and room for what they will find."""
    items, n, m = costs.shape
    dtype = number_dtype(costs)
    own = Own(start, np.zeros(2))
    largest = largest_cost(costs.dtype, n)
    integer = costs.dtype.kind == "i"
    return Stack(
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
        turns=np.zeros(1, np.uint64),
        num_runs=np.uint64(min(items, RUNS * threads)),
        stop=control.stop,
        progress=control.excess,
        counts=control.thread_counts,
    )


def forget_unseen(solution: Solution) -> None:
    """Write what is known of items that nobody has looked at: nothing."""
    unseen = solution.ending >= UNSEEN
    solution.match[unseen] = -1
    solution.u[unseen] = 0
    solution.v[unseen] = 0
    solution.ending[solution.ending == UNSEEN] = STOPPED
