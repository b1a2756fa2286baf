"""Shortest augmenting paths: one search a row that is still free, over lists of the cheapest columns.

Jonker and Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
Computing 38 (1987): column reduction, augmenting row reduction, then Dijkstra's algorithm on reduced costs.

Departures for dense costs: each row lists its cheapest columns and a bound on the others, which stays true
since prices only fall. A search looks at lists alone until it gets as far as some row's bound; then that row
is listed afresh, the next time a longer list, and where the lists have no more room the search goes on over
whole rows, as vector instructions like it. Where listing takes more than a share of the work that whole rows
would be, as with Machol and Wien's costs, the lists are given up. Reduction transfer is left out: row
reduction finds the same prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.costs import DenseCosts, SparseCosts
from ...graph.point_costs import PointCosts
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.options import MOST, check_flag, check_number_between
from ...solving.run import Control
from ...stats import ARC_SCANS
from ..augmenting_paths import augment_rows, list_free_rows
from ..dense_rows import ROOM, WANTED, list_row, reduce_columns
from ..row_reduction import reduce_rows, reduce_whole_rows
from ..search_state import NONE, Lists, State, clear, lists_of, make_lists, make_state
from ..solution import INFEASIBLE, OVERFLOW, STOPPED, Solution, unsolved, with_violation
from .places import group, solve_places
from .points import solve_points

#: Where the points of one side are at no more places than this share of them, paths lead between places, if
#: all distances from there are no more than this many: docs/notebook has the measurements.
FEW_PLACES = 0.33
MOST_DISTANCES = 1 << 24
#: Up to so many columns the search over whole rows is faster than lists.
FEW_COLUMNS = 128
#: Passes over the free rows in row reduction.
PASSES = 2
#: A pass over whole rows, of which there are few and short, looks at this share of what lists would be.
WHOLE_SHARE = 0.2


@dataclass(frozen=True)
class ShortestPathOptions:
    """Options of the shortest augmenting paths.

    Attributes
    ----------
    column_reduction : bool
        Start from the cheapest row of every column, where there are as many rows as columns.
    row_reduction : float
        Work of each of the two passes of row reduction: at most so many lists a row; 0 for none.
    lists : bool
        Search over lists of the cheapest columns of dense costs; else over whole rows.
    auction : bool
        Start from the prices of an auction, where costs are distances of points, as many as there are others.
    """

    column_reduction: bool = True
    row_reduction: float = 5.0
    lists: bool = True
    auction: bool = True

    def __post_init__(self) -> None:
        check_flag("column_reduction", self.column_reduction)
        check_flag("lists", self.lists)
        check_flag("auction", self.auction)
        check_number_between("row_reduction", self.row_reduction, 0, MOST)


class Work(NamedTuple):
    """How much of what to do.

    Attributes
    ----------
    reduce_columns, lists : bool
    wanted : uint64
        How many columns a row should list at first.
    budget : uint64
        Edges that one pass of row reduction may look at.
    """

    reduce_columns: bool
    lists: bool
    wanted: Any
    budget: Any


class Start(NamedTuple):
    """What one thread solves matrices of a shape with."""

    lists: Lists
    state: State
    work: Work


class Output(NamedTuple):
    """Arrays that receive the solution of all items: see :class:`..solution.Solution`."""

    match: NDArray[np.int64]
    u: NDArray[Any]
    v: NDArray[Any]
    ending: NDArray[np.int64]


@kernel
def reduce_listed_columns(lists: Lists, state: State) -> None:
    """Set prices to the minima of columns over the lists; give rows columns that have their minimum there."""
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
def solve_matrix(cost: Any, start: Start, monitor: Monitor) -> tuple[Any, Any, Any]:
    """Assign all rows of one matrix; return the ending and, if infeasible, the root and how many are done."""
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
def assign_free_rows(cost: Any, start: Start, monitor: Monitor) -> tuple[Any, Any, Any]:
    """Assign the rows that have no column, from prices at which the others' columns are the best for them.

    Returns
    -------
    ending, root, done
        As :func:`solve_matrix` has them.
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
def write_solution(state: State, match: Any, u: Any, v: Any) -> None:
    """Write what was found for one matrix."""
    for i in range(np.uint64(len(match))):
        j = state.row_match[i]
        matched = j != NONE
        match[i] = np.int64(j) if matched else np.int64(-1)
        u[i] = state.matched_cost[i] - state.price[j] if matched else state.limits.beyond
    for j in range(np.uint64(len(v))):
        v[j] = state.price[j]


@kernel
def solve_items(cost: Any, start: Start, output: Output, go_on: bool, monitor: Monitor) -> tuple[Any, Any]:
    """Solve one matrix after the other; return the root and the size of the last search without a path."""
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


def solve(
    costs: DenseCosts | SparseCosts | PointCosts,
    options: ShortestPathOptions,
    control: Control,
    go_on: bool = False,
) -> Solution:
    """Assign a column to every row at the least cost.

    Parameters
    ----------
    costs : DenseCosts, SparseCosts or PointCosts
        To minimise, with at least as many columns as rows.
    options : ShortestPathOptions
    control : Control
    go_on : bool
        Whether to solve the items after one that is infeasible.

    Notes
    -----
    O(n**2 m) time for dense costs, O(n e log m) for e sparse ones. Memory beside the costs: about 100 bytes a
    column, 60 a row, and 3 KiB a row for the lists of dense costs.
    """
    if isinstance(costs, PointCosts):
        return _solve_points(costs, options, control)
    items, n, m = costs.shape
    solution = unsolved(items, n, m, number_dtype(costs))
    start = make_start(costs, options)
    control.excess[:] = items * n
    flat = costs.values.reshape(-1) if isinstance(costs, DenseCosts) else costs.values[:0]
    root, done = solve_items(flat, start, Output(*solution[:4]), go_on, control.monitor())
    if INFEASIBLE not in solution.ending:
        return solution
    return with_violation(solution, start.state, root, done)


def number_dtype(costs: DenseCosts | SparseCosts) -> Any:
    """Return the type of prices."""
    return np.int64 if costs.values.dtype.kind == "i" else np.float64


def make_start(costs: DenseCosts | SparseCosts, options: ShortestPathOptions) -> Start:
    """Return what to solve matrices of the shape of `costs` with."""
    _, n, m = costs.shape
    dtype = number_dtype(costs)
    use_lists = isinstance(costs, SparseCosts) or (options.lists and m > FEW_COLUMNS)
    if isinstance(costs, DenseCosts):
        lists = make_lists(n if use_lists else 0, min(ROOM, m), WANTED, dtype)
        listed: float = n * WANTED if use_lists else WHOLE_SHARE * n * min(m, WANTED)
    else:
        lists = lists_of(costs)
        listed = len(costs.values)
    budget = np.uint64(min(options.row_reduction * listed, 2.0**60))
    work = Work(options.column_reduction and n == m, use_lists, np.uint64(WANTED), budget)
    return Start(lists, make_state(n, m, dtype), work)


def _solve_points(costs: PointCosts, options: ShortestPathOptions, control: Control) -> Solution:
    m = costs.shape[2]
    places = [group(points) for points in costs.embedded]
    of_rows = len(places[0].first) <= len(places[1].first)
    fewer = places[0 if of_rows else 1]
    few = len(fewer.first) <= FEW_PLACES * len(fewer.order)
    if few and len(fewer.first) * m <= MOST_DISTANCES:
        control.remarks.append(f"points of one side are at {len(fewer.first):,} places: paths between these")
        match, u, v, ending = solve_places(costs, fewer, of_rows, control)
    else:
        match, u, v, ending = solve_points(costs, options.auction, options.row_reduction, control)
    nobody = np.empty(0, dtype=np.int64)
    return Solution(match[None], u[None], v[None], np.array([ending]), nobody, nobody)
