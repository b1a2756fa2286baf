"""Small dense assignments, checked and solved by one kernel: see :mod:`preflow.solving.quick`.

It copies the costs, to be minimised, with no more rows than columns, and solves them by shortest augmenting
paths, as :mod:`..serial_shortest_path` does. Costs that rows and columns without partners have are subtracted
before, and prices are moved back, as :mod:`.singles` does. It leaves to the full road large numbers, NaN,
assignments that do not exist, and floats of very different size.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array, Int64, Number, Numbers, Untyped
from ...kernels.kernel import kernel
from ...solving.call import Request
from ...solving.monitor import Monitor
from ...solving.quick import Memory, Watch, stats_of
from ...solving.run import COUNTER_ROW
from ...stats import AssignmentStats
from ..dense_rows import WANTED
from ..problem import METHODS
from ..result import AssignmentResult
from ..search_state import BLOCK, Lists, SearchState, make_lists, make_state
from ..shortest_paths import (
    FEW_COLUMNS,
    ShortestPathOptions,
    Start,
    Work,
    budget_of_whole_rows,
    solve_matrix,
    write_solution,
)
from ..solution import SOLVED
from .call import AssignmentCall
from .float_proof import ROUNDING, SMALL_GAP, is_suspect

#: Larger numbers are left to the full road: sums of these fit.
LARGEST_INTEGER, LARGEST_FLOAT = 2**50, 1e296


class SmallMemory(NamedTuple):
    """Memory for FEW_COLUMNS rows and columns; numbers are int64 or float64."""

    cost: Numbers
    state: SearchState
    lists: Lists  #: empty: searches read whole rows
    match: NDArray[np.int64]
    u: Numbers
    v: Numbers
    stop: NDArray[np.int64]
    progress: NDArray[np.float64]


class Singles(NamedTuple):
    """The costs of a row and of a column without a partner, if they may have none."""

    allowed: bool
    row: Number
    column: Number


class Answer(NamedTuple):
    """The arrays that the kernel writes."""

    pairs: NDArray[np.int64]  #: shape (2, pairs)
    prices: Numbers  #: of the rows, then of the columns
    chosen: Numbers  #: the costs of the pairs, then of the single rows and columns


_memory = Memory()
#: The default of the method.
ROW_REDUCTION = ShortestPathOptions().row_reduction
_INTEGER, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)
#: The types in which costs are solved, by those in which they are given.
_WIDE: dict[Untyped, Untyped] = {
    **{np.dtype(f"{kind}{size}"): _INTEGER for kind in "iu" for size in (1, 2, 4)},
    **{_INTEGER: _INTEGER, np.dtype(np.float32): _FLOAT, _FLOAT: _FLOAT},
}


def _make_memory(dtype: Untyped) -> SmallMemory:
    most = FEW_COLUMNS
    return SmallMemory(
        np.zeros(most * most, dtype),
        make_state(most, most, dtype),
        make_lists(0, 1, 0, dtype),
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype),
        np.zeros(most, dtype),
        np.zeros(1, dtype=np.int64),
        np.ones(2),
    )


@kernel
def copy_costs(
    given: Array,
    largest: float,
    forbidden: float,
    maximize: bool,
    singles: Singles,
    transposed: bool,
    cost: Numbers,
) -> bool:
    """Copy costs, to be minimised, with no more rows than columns.

    Return whether all are `forbidden`, the cost of pairs that are not allowed, or small enough.
    """
    n, m = given.shape
    fit = True
    for i in range(n):
        for j in range(m):
            value = given[i, j]
            fit &= (abs(value) <= largest) | (value == forbidden)
            if singles.allowed:
                value = value - singles.row - singles.column
            if maximize:
                value = -value
            if singles.allowed:
                value = min(value, singles.row - singles.row)
            cost[j * n + i if transposed else i * m + j] = value
    return fit


@kernel
def part_of_state(state: SearchState, n: Int64, m: Int64, blocks: Int64) -> SearchState:
    """Return the part of a state that n rows and m columns need."""
    return SearchState(
        state.price[:m],
        state.matched_cost[:n],
        state.row_match[:n],
        state.column_match[:m],
        state.free[:n],
        state.distance[: m + n],
        state.parent[:m],
        state.parent_cost[:m],
        state.via[:m],
        state.heap[: m + n],
        state.place[: m + n],
        state.touched[: m + n],
        state.done[:m],
        state.done_distance[:m],
        state.done_price[:m],
        state.reduced[:m],
        state.least[:blocks],
        state.left[:blocks],
        state.near[:m],
        state.limits,
    )


@kernel
def keep_better_pairs(
    given: Array, maximize: bool, singles: Singles, pairs: NDArray[np.int64], u: Numbers, v: Numbers
) -> tuple[Int64, float]:
    """Keep the pairs that are better than two singles, and set the prices: see :mod:`.singles`.

    Return the number of pairs, and the largest price.
    """
    n, m = given.shape
    count = 0
    for k in range(pairs.shape[1]):
        change = given[pairs[0, k], pairs[1, k]] - singles.row - singles.column
        if (change > 0) if maximize else (change < 0):
            pairs[0, count], pairs[1, count] = pairs[0, k], pairs[1, k]
            count += 1
    of_side = v if n <= m else u
    shift = of_side[0]
    for price in of_side:
        shift = max(shift, price)
    shift = shift if n <= m else -shift
    most = 0.0
    for i in range(n):
        price = min(u[i] + shift, singles.row - singles.row)
        u[i] = singles.row - price if maximize else singles.row + price
        most = max(most, abs(u[i]))
    for j in range(m):
        price = min(v[j] - shift, singles.row - singles.row)
        v[j] = singles.column - price if maximize else singles.column + price
        most = max(most, abs(v[j]))
    return count, most


@kernel
def solve_small(
    given: Array,
    exact: bool,
    maximize: bool,
    singles: Singles,
    budget: Int64,
    memory: SmallMemory,
    counts: NDArray[np.uint64],
    answer: Answer,
) -> Int64:
    """Solve one matrix, of integers if `exact`; return the number of pairs, -1 in case of doubt."""
    pairs, prices, chosen = answer
    n, m = given.shape
    transposed = n > m
    rows, columns = (m, n) if transposed else (n, m)
    cost = memory.cost[: n * m]
    largest = np.float64(LARGEST_INTEGER) if exact else LARGEST_FLOAT
    forbidden = largest if exact else np.float64(-np.inf if maximize else np.inf)
    if not copy_costs(given, largest, forbidden, maximize, singles, transposed, cost):
        return -1
    state = part_of_state(memory.state, rows, columns, (columns + np.int64(BLOCK) - 1) // np.int64(BLOCK))
    work = Work(rows == columns, False, np.uint64(WANTED), np.uint64(budget))
    monitor = Monitor(memory.stop, counts, memory.progress)
    ending, _, _ = solve_matrix(cost, Start(memory.lists, state, work), monitor)
    match, u, v = memory.match[:rows], memory.u[:rows], memory.v[:columns]
    write_solution(state, match, u, v)
    if ending != SOLVED or (not exact and is_suspect(match, u, v, 0.0)):
        return -1
    count: Int64 = 0
    for i in range(n):
        j = np.int64(state.column_match[i]) if transposed else match[i]
        if j >= 0:
            pairs[0, count], pairs[1, count] = i, j
            count += 1
    of_rows, of_columns = prices[:n], prices[n:]
    turned = maximize and not singles.allowed
    for i in range(n):
        price = v[i] if transposed else u[i]
        of_rows[i] = -price if turned else price
    for j in range(m):
        price = u[j] if transposed else v[j]
        of_columns[j] = -price if turned else price
    most = 0.0
    if singles.allowed:
        count, most = keep_better_pairs(given, maximize, singles, pairs, of_rows, of_columns)
    size = 0.0
    for k in range(count):
        chosen[k] = given[pairs[0, k], pairs[1, k]]
        size += abs(chosen[k])
    if not singles.allowed:
        return count
    chosen[count:n] = singles.row
    chosen[n : n + m - count] = singles.column
    if not size > 0.0:
        size = np.float64((n - count) * abs(singles.row) + (m - count) * abs(singles.column))
    most = max(most, np.float64(max(abs(singles.row), abs(singles.column))))
    if not exact and not most * (2 * (n + m) * ROUNDING) <= SMALL_GAP * size:
        return -1
    return count


def assign(cost: AnyArray, maximize: bool, unmatched_cost: AnyArray) -> AssignmentResult | None:
    """Solve a small matrix as :func:`preflow.linear_assignment` does; None: take the full road."""
    watch = Watch()
    if type(cost) is not np.ndarray or cost.ndim != 2 or type(maximize) is not bool:
        return None
    n, m = cost.shape
    if not (0 < n <= FEW_COLUMNS and 0 < m <= FEW_COLUMNS):
        return None
    given, dtype = cost, _WIDE.get(cost.dtype)
    if dtype is None:
        return None
    exact = dtype is _INTEGER
    if cost.dtype != dtype:
        cost = cost.astype(dtype)
    singles = Singles(False, 0, 0) if exact else Singles(False, 0.0, 0.0)
    if unmatched_cost is not None:
        both = unmatched_cost if type(unmatched_cost) is tuple else (unmatched_cost, unmatched_cost)
        if len(both) != 2 or not all(type(each) is int or type(each) is float for each in both):
            return None
        if exact and float in map(type, both):
            return None
        row, column = both if exact else map(float, both)
        largest = LARGEST_INTEGER if exact else LARGEST_FLOAT
        if not (abs(row) <= largest and abs(column) <= largest):
            return None
        singles = Singles(True, row, column)
    flags = cost.flags
    if not (flags.c_contiguous and flags.aligned):
        cost = np.require(cost, requirements=["C", "A"])
    memory = _memory.kept.get(exact)
    if memory is None:
        memory = _memory.kept[exact] = _make_memory(cost.dtype)
    few, many = (n, m) if n <= m else (m, n)
    budget = budget_of_whole_rows(ROW_REDUCTION, few, many)
    counts = np.zeros(COUNTER_ROW, dtype=np.uint64)
    pairs = np.empty((2, few), dtype=np.int64)
    prices, chosen = np.empty(n + m, dtype=cost.dtype), np.empty(n + m, dtype=cost.dtype)
    count = solve_small(cost, exact, maximize, singles, budget, memory, counts, Answer(pairs, prices, chosen))
    if count < 0:
        return None
    pairs.setflags(write=False)
    prices.setflags(write=False)
    rows, columns = pairs
    if count < few:
        rows, columns = rows[:count], columns[:count]
    values = chosen[: n + m - count if singles.allowed else count].tolist()
    total = sum(values) if exact else math.fsum(values)
    watch.end()
    fields = {
        "status": "optimal",
        "lower_bound": total,
        "upper_bound": total,
        "row": rows,
        "column": columns,
        "u": prices[:n],
        "v": prices[n:],
        "partial": singles.allowed,
    }
    if not singles.allowed:
        return AssignmentResult._made_later(fields, partial(_later, given, maximize, counts, watch))
    from ..singles_result import AssignmentWithSinglesResult

    return AssignmentWithSinglesResult._made_later(
        fields, partial(_later_with_singles, given, maximize, singles, counts, watch)
    )


def _later(cost: Array, maximize: bool, counts: Array, watch: Watch) -> dict[str, object]:
    """Return the fields of a result that few callers read."""
    call = AssignmentCall.prepare(cost, maximize, None, False, Request(METHODS))
    return {"costs": call.instance, "stats": stats_of(call, AssignmentStats, counts, watch)}


def _later_with_singles(
    cost: Array, maximize: bool, singles: Singles, counts: Array, watch: Watch
) -> dict[str, object]:
    """Return the fields of a result with singles that few callers read."""
    from .singles import read_problem

    costs, problem = read_problem(cost, maximize, None, singles[1:], Request(METHODS))
    call = problem.call(problem.limit)
    rows, columns = problem.alone
    for part in (rows, columns):
        part.setflags(write=False)
    return {
        "costs": costs,
        "stats": stats_of(call, AssignmentStats, counts, watch),
        "unmatched_cost": (rows, columns),
    }
