"""Reductions and shortest augmenting paths for whole matrices: see :mod:`.serial_shortest_path`.

Other methods end with these steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Int64, Numbers
from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.options import MOST, CheckedOptions, between
from ..solving.run import Control
from ..stats import ARC_SCANS
from .augmenting_paths import augment_rows, list_free_rows
from .dense_rows import ROOM, WANTED, list_row, reduce_columns
from .row_reduction import reduce_rows, reduce_whole_rows
from .search_state import NONE, Lists, SearchState, clear, lists_of, make_lists, make_state
from .solution import INFEASIBLE, OVERFLOW, STOPPED, Solution, unsolved, with_violation

#: Up to this number of columns, searches over whole rows are faster than lists.
FEW_COLUMNS = 128
#: Passes over the free rows in row reduction.
PASSES = 2
#: Without lists, the budget of row reduction is this share of the budget with lists.
WHOLE_SHARE = 0.2


@dataclass(frozen=True)
class ShortestPathOptions(CheckedOptions):
    """Options of the shortest augmenting paths.

    Attributes
    ----------
    column_reduction : bool
        Start from the cheapest row of each column, if there are as many rows as columns.
    row_reduction : float
        The most work of each of the two passes of row reduction, in lists read per row; 0 for no reduction.
    lists : bool
        Search over lists of the cheapest columns of dense costs, instead of whole rows.
    auction : bool
        For points, as many rows as columns: start from the prices of an auction.
    """

    column_reduction: bool = True
    row_reduction: Annotated[float, between(0, MOST)] = 5.0
    lists: bool = True
    auction: bool = True


class Work(NamedTuple):
    """Which steps to do, and limits of their work."""

    reduce_columns: bool  #: do column reduction
    lists: bool  #: use lists of rows
    wanted: np.uint64  #: the number of columns that a row should list at first
    budget: np.uint64  #: the number of costs that one pass of row reduction may read


class Start(NamedTuple):
    """Lists, state and work of one thread, for matrices of one shape."""

    lists: Lists
    state: SearchState
    work: Work


class Output(NamedTuple):
    """Arrays that receive the solution of all items: see :class:`..solution.Solution`."""

    match: NDArray[np.int64]
    u: Numbers
    v: Numbers
    ending: NDArray[np.int64]


def number_dtype(costs: DenseCosts | SparseCosts) -> DTypeLike:
    """Return the dtype of prices."""
    return np.int64 if costs.values.dtype.kind == "i" else np.float64


def _as_budget(reads: float) -> int:
    return int(min(reads, 2.0**60))


def budget_of_whole_rows(row_reduction: float, n: int, m: int) -> int:
    """Return how many costs one pass of row reduction may read without lists."""
    return _as_budget(row_reduction * (WHOLE_SHARE * n * min(m, WANTED)))


def make_start(costs: DenseCosts | SparseCosts, options: ShortestPathOptions) -> Start:
    """Return lists, state and work for matrices of the shape of `costs`."""
    _, n, m = costs.shape
    dtype = number_dtype(costs)
    use_lists = isinstance(costs, SparseCosts) or (options.lists and m > FEW_COLUMNS)
    if isinstance(costs, DenseCosts):
        lists = make_lists(n if use_lists else 0, min(ROOM, m), WANTED, dtype)
    else:
        lists = lists_of(costs)
    if not use_lists:
        budget = budget_of_whole_rows(options.row_reduction, n, m)
    else:
        listed = n * WANTED if isinstance(costs, DenseCosts) else len(costs.values)
        budget = _as_budget(options.row_reduction * listed)
    work = Work(options.column_reduction and n == m, use_lists, np.uint64(WANTED), np.uint64(budget))
    return Start(lists, make_state(n, m, dtype), work)


@kernel
def reduce_listed_columns(lists: Lists, state: SearchState) -> None:
    """Column reduction over lists, which hold all pairs of a sparse matrix."""
    price, parent, distance = state.price, state.parent, state.distance
    for i in range(np.uint64(len(state.row_match))):
        for k in range(lists.first[i], lists.first[i] + lists.size[i]):
            column = np.uint64(lists.column[k])
            if lists.cost[k] < distance[column]:
                distance[column] = lists.cost[k]
                parent[column] = i
    for j in range(np.uint64(len(price))):
        if distance[j] < state.limits.beyond:
            row = parent[j]
            price[j] = distance[j]
            if state.row_match[row] == NONE:
                state.row_match[row] = j
                state.matched_cost[row] = price[j]
                state.column_match[j] = row
        distance[j] = state.limits.beyond


@kernel
def solve_matrix(cost: Numbers, start: Start, monitor: Monitor) -> tuple[Int64, np.uint64, np.uint64]:
    """Assign all rows of one matrix; results as of :func:`..augmenting_paths.augment_rows`."""
    lists, state, work = start
    clear(state)
    if work.reduce_columns:
        if len(cost) > 0:
            reduce_columns(cost, state)
        else:
            reduce_listed_columns(lists, state)
    if len(cost) > 0 and work.lists:
        for i in range(np.uint64(len(state.row_match))):
            lists.wanted[i] = work.wanted
            list_row(cost, lists, state, i, ZERO)
    return assign_free_rows(cost, start, monitor)


@kernel
def assign_free_rows(cost: Numbers, start: Start, monitor: Monitor) -> tuple[Int64, np.uint64, np.uint64]:
    """Assign the free rows, given prices at which the column of every other row is its best.

    Return as :func:`..augmenting_paths.augment_rows`.
    """
    lists, state, work = start
    size = list_free_rows(state)
    if work.budget > ZERO:
        for _ in range(PASSES):
            if work.lists:
                size, scans, fits = reduce_rows(cost, lists, state, size, work.budget)
            else:
                size, scans, fits = reduce_whole_rows(cost, state, size, work.budget)
            monitor.counts[ARC_SCANS] += scans
            if not fits:
                return OVERFLOW, ZERO, ZERO
    return augment_rows(cost, lists, state, work.lists, size, monitor)


@kernel
def write_solution(state: SearchState, match: NDArray[np.int64], u: Numbers, v: Numbers) -> None:
    """Write the columns and the prices of one matrix."""
    for i in range(np.uint64(len(match))):
        j = state.row_match[i]
        matched = j != NONE
        match[i] = np.int64(j) if matched else np.int64(-1)
        u[i] = state.matched_cost[i] - state.price[j] if matched else state.limits.beyond
    for j in range(np.uint64(len(v))):
        v[j] = state.price[j]


@kernel
def solve_items(
    cost: Numbers, start: Start, output: Output, go_on: bool, monitor: Monitor
) -> tuple[np.uint64, np.uint64]:
    """Solve one matrix after the other; return `root` and `done` of the last one."""
    state = start.state
    root, done = ZERO, ZERO
    num_rows, num_columns = np.uint64(len(state.row_match)), np.uint64(len(state.price))
    each = num_rows * num_columns
    for item in range(np.uint64(len(output.ending))):
        one = cost[item * each : (item + ONE) * each] if len(cost) > 0 else cost
        ending, root, done = solve_matrix(one, start, monitor)
        output.ending[item] = ending
        write_solution(state, output.match[item], output.u[item], output.v[item])
        if ending in (STOPPED, OVERFLOW) or (ending == INFEASIBLE and not go_on):
            break
    return root, done


def solve_costs(
    costs: DenseCosts | SparseCosts, options: ShortestPathOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row of each matrix at the least cost, on one thread.

    `go_on`: whether to continue after an item that has no assignment.
    """
    items, n, m = costs.shape
    solution = unsolved(items, n, m, number_dtype(costs))
    start = make_start(costs, options)
    control.progress[:] = items * n
    flat = costs.values.reshape(-1) if isinstance(costs, DenseCosts) else costs.values[:0]
    root, done = solve_items(flat, start, Output(*solution[:4]), go_on, control.monitor())
    if INFEASIBLE not in solution.ending:
        return solution
    return with_violation(solution, start.state, root, done)
