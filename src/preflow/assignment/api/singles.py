"""Assignments in which rows and columns may stay single at a cost.

Let a single row cost ``r[i]``, a single column ``k[j]`` and a pair ``c[i, j]``. A pair instead of two
singles changes the total by ``d[i, j] = c[i, j] - r[i] - k[j]``. So the best choice has only pairs with
``d < 0``, and of these the best matching of any size.

- Dense costs: an assignment of all rows (columns, if there are fewer) with the costs ``min(d, 0)`` costs as
  much. Pairs of cost 0 in it are two singles; conversely, any pairs can be completed with pairs that cost at
  most 0. The size stays the same.
- Sparse costs, distances of points on the CPU, and a dense matrix with few pairs of ``d < 0``: each row gets
  a column of its own, which costs 0 and means that the row is single.

Prices of the assignment, moved so that the largest price of a side that may be left over is 0, are at most 0
on both sides. A pair of cost 0 then has two prices of 0. So ``r`` and ``k`` plus these prices are at most the
costs of singles and pairs, and equal to those chosen: see :mod:`preflow.certify.singles`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array
from ...certify.assignment import excess, gap_is_close
from ...certify.exact import ExactPrices, accurate_sum, as_floats, as_integers
from ...certify.singles import (
    CHUNK,
    HostCostsOfPairs,
    Singles,
    chosen_costs,
    excesses,
    proved_bound,
    proved_gap,
)
from ...errors import CostOverflowError, InvalidInputError
from ...graph.cost_edges import CostEdges
from ...graph.cost_input import as_costs
from ...graph.costs import DenseCosts, SparseCosts, cut_off, largest_cost
from ...graph.device.costs import DeviceCosts
from ...graph.point_costs import PointCosts
from ...graph.scaling import solve_costs
from ...graph.unmatched_cost import read_unmatched_cost
from ...solving.call import Request
from ...solving.dispatch import find_method
from ...solving.run import Control
from ..problem import METHODS
from ..result import AssignmentResult
from ..shortest_paths import FEW_COLUMNS
from ..singles_result import AssignmentWithSinglesResult
from .call import AssignmentCall
from .float_proof import MOST_PAIRS, ROUNDING, SMALL_GAP, SOLVED_AGAIN, optimal_prices

AnyCosts = TypeVar("AnyCosts", bound=DenseCosts | SparseCosts | PointCosts | DeviceCosts)
#: Up to this part of useful pairs, a dense matrix of more than FEW_COLUMNS rows or columns is solved as a
#: sparse one: its many equal costs are hard.
#: With about two useful pairs in each of 2,000 rows, that took 0.03 s instead of 2.9 s.
MOST_USEFUL = 0.1


class Reduced(NamedTuple):
    """The costs of pairs less those of two singles, to minimise."""

    cost: Array | CostEdges  #: shape (..., n, m), or CostEdges: as the assignment problem
    sizes: NDArray[np.int64] | None


def assign_with_singles(
    cost: AnyArray, maximize: bool, sizes: AnyArray, unmatched_cost: AnyArray, request: Request
) -> AssignmentWithSinglesResult:
    """Find the best pairs where singles have a cost: see :func:`preflow.linear_assignment`."""
    given, problem = read_problem(cost, maximize, sizes, unmatched_cost, request)
    call = problem.call(problem.limit)

    def solve() -> AssignmentWithSinglesResult:
        found = call.assignment()
        with given.current(), np.errstate(over="ignore", invalid="ignore"):
            return _result(problem, given, found, call)

    return call.run(solve, request)


def read_problem(
    cost: AnyArray, maximize: bool, sizes: AnyArray, unmatched_cost: AnyArray, request: Request
) -> tuple[HostCostsOfPairs | DeviceCosts, Problem]:
    """Return the costs of pairs where the caller has them, and the problem, checked."""
    given = as_costs(cost, maximize, sizes, request.most_threads)
    costs: HostCostsOfPairs = given.on_host() if isinstance(given, DeviceCosts) else given
    if costs.base is not None:
        raise InvalidInputError("with unmatched_cost, integer costs are at most 2**59 in size")
    singles = Singles(*read_unmatched_cost(costs, unmatched_cost))
    if singles.rows.dtype.kind == "f" and costs.dtype.kind == "i":
        costs, given = _as_floats(costs), _as_floats(given)
    _check_sums(costs, singles)
    return given, Problem(costs, singles, request)


@dataclass(frozen=True)
class Problem:
    """Costs of pairs and of singles, and how to solve them."""

    costs: HostCostsOfPairs
    singles: Singles
    request: Request

    @cached_property
    def limit(self) -> float:
        """The size at which floats are cut off so that they can be added up; infinite if all can be."""
        if self.costs.dtype.kind == "i":
            return np.inf
        limit = float(largest_cost(self.singles.rows.dtype, 4 * sum(self.costs.shape[1:])))
        most = max(float(np.abs(part).max(initial=0.0)) for part in self.singles)
        return limit if self.costs.huge or most > limit else np.inf

    def call(self, limit: float) -> AssignmentCall:
        """Return a call that solves the assignment problem with costs cut off at a limit."""
        may_choose = self.request.method == "auto" and self.request.device != "cuda"
        reduced = _reduced(self.costs, self.singles, may_choose, _on_gpu(self.request), limit)
        return AssignmentCall.prepare(reduced.cost, False, reduced.sizes, False, self.request)

    def one(self, item: int) -> Problem:
        """Return the problem of one item."""
        one = self.costs.one(item)
        if isinstance(one, DenseCosts):
            one = replace(one, restore=None, labels=None)
        _, n, m = one.shape
        own = Singles(self.singles.rows[item : item + 1, :n], self.singles.columns[item : item + 1, :m])
        return Problem(one, own, self.request)

    @property
    def alone(self) -> Singles:
        """The costs of singles of the first item."""
        return Singles(self.singles.rows[0], self.singles.columns[0])


def _as_floats(costs: AnyCosts) -> AnyCosts:
    if isinstance(costs, PointCosts):
        return costs
    with costs.current():
        return replace(costs, values=costs.values.astype(np.float64))


def _check_sums(costs: HostCostsOfPairs, singles: Singles) -> None:
    """Refuse integers whose sums might wrap."""
    if costs.dtype.kind != "i" or isinstance(costs, PointCosts):
        return
    _, n, m = costs.shape
    parts = (costs.values, *singles)
    largest = max((max(int(part.max()), -int(part.min())) for part in parts if part.size), default=0)
    if largest * 3 * (n + m) >= 2**62:
        raise InvalidInputError("integer costs and unmatched_cost could add up to more than 2**62")


def _on_gpu(request: Request) -> bool:
    """Return whether the caller asks for a GPU, by the device or by a method."""
    if request.device == "cuda" or request.method == "auto":
        return request.device == "cuda"
    return find_method(METHODS, request.method).device == "cuda"


def _reduced(
    costs: HostCostsOfPairs, singles: Singles, may_choose: bool, on_gpu: bool, limit: float
) -> Reduced:
    """Return the assignment problem, with all costs cut off at a limit in size.

    `may_choose` says whether dense costs may become sparse. Methods on a GPU take no sparse costs, so the
    distances of points become dense ones for them.
    """
    sign = -1 if costs.maximize else 1
    _, n, m = costs.shape
    singles = Singles(*(cut_off(part, limit) for part in singles))
    if isinstance(costs, SparseCosts):
        row, column = costs.row, costs.column.astype(np.int64)
        change = sign * (cut_off(costs.values, limit) - singles.rows[0][row] - singles.columns[0][column])
        useful = change < 0
        return Reduced(_with_columns_of_singles(row[useful], column[useful], change[useful], n, m), None)
    if isinstance(costs, PointCosts) and on_gpu:
        change = cut_off(costs.block(0, n), limit) - singles.rows[0, :, None]
        change -= singles.columns[0]
        change *= sign
        return Reduced(np.minimum(change, 0, out=change)[None], None)
    if isinstance(costs, PointCosts):
        return Reduced(_with_columns_of_singles(*_useful_points(costs, singles, limit), n, m), None)
    change = cut_off(costs.values, limit) - singles.rows[:, :, None]
    change -= singles.columns[:, None, :]
    change *= sign
    if may_choose and not costs.leading and max(n, m) > FEW_COLUMNS:
        useful = change[0] < 0
        if np.count_nonzero(useful) <= MOST_USEFUL * useful.size:
            row, column = np.nonzero(useful)
            return Reduced(_with_columns_of_singles(row, column, change[0][useful], n, m), None)
    np.minimum(change, 0, out=change)
    sizes = None if costs.sizes is None else costs.sizes.reshape(*costs.leading, 2)
    return Reduced(change.reshape(*costs.leading, *change.shape[1:]), sizes)


def _size(values: Array) -> float:
    """Return the size of the largest finite number."""
    return float(np.abs(values).max(where=np.isfinite(values), initial=0.0))


def _useful_points(
    costs: PointCosts, singles: Singles, limit: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs of points that are better than two singles: rows, columns, and what they change.

    Distances are computed some rows at a time: O(n m) time, memory for the pairs only.
    """
    sign = -1 if costs.maximize else 1
    _, n, m = costs.shape
    step = max(1, CHUNK // max(m, 1))
    parts: list[tuple[Array, ...]] = []
    for begin in range(0, n if m else 0, step):
        change = cut_off(costs.block(begin, begin + step), limit)
        change -= singles.rows[0, begin : begin + step, None]
        change -= singles.columns[0]
        change *= sign
        row, column = np.nonzero(change < 0)
        parts.append((row + begin, column, change[row, column]))
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    row, column, change = (np.concatenate(part) for part in zip(*parts, strict=True))
    return row, column, change


def _with_columns_of_singles(
    row: NDArray[np.int64], column: NDArray[np.int64], change: Array, n: int, m: int
) -> CostEdges:
    """Return pairs with their costs, and a column of cost 0 for each row."""
    alone = np.arange(n)
    values = np.concatenate([change, np.zeros(n, dtype=change.dtype)])
    return CostEdges(np.concatenate([row, alone]), np.concatenate([column, m + alone]), values, (n, m + n))


def _result(
    problem: Problem, of_caller: HostCostsOfPairs | DeviceCosts, found: AssignmentResult, call: AssignmentCall
) -> AssignmentWithSinglesResult:
    """Return the pairs that are better than two singles, the total cost, and the prices that prove it.

    `of_caller` are the same costs where the caller has them: there go the arrays of the result.
    """
    costs, singles = problem.costs, problem.singles
    items, n, m = costs.shape
    leading = costs.leading
    choices = _choices(problem, found, problem.limit)
    ended = found.status != "time-limit"
    gaps: dict[int, float] = {}
    exact: dict[int, ExactPrices] = {}
    chosen = choices.chosen(problem)
    if ended and costs.dtype.kind == "f":
        suspects = choices.suspects(problem, *chosen)
        for item in suspects:
            answer, gap, prices = _proved(problem.one(item), choices.answer(item), call)
            choices = choices.with_answer(item, answer)
            if prices is not None:
                exact[item] = prices
            elif gap > 0:
                gaps[item] = gap
        chosen = choices.chosen(problem) if suspects else chosen
    total = _totals(np.concatenate(chosen, axis=1))
    if total.dtype.kind == "f" and not np.isfinite(total).all():
        raise CostOverflowError("the costs of pairs and singles add up to more than float64 can hold")
    bound = total.copy()
    for item in gaps if ended else range(items):
        one, answer = problem.one(item), choices.answer(item)
        if total.dtype.kind == "i":
            bound[item] = proved_bound(one.costs, one.alone, *answer[2:])
        else:
            sign = -1 if costs.maximize else 1
            gap = proved_gap(one.costs, one.alone, answer, float(total[item]))
            bound[item] = np.nextafter(total[item] - sign * gap, -sign * np.inf)
    lower, upper = (total, bound) if costs.maximize else (bound, total)

    def to_caller_array(values: Array, each: tuple[int, ...] = ()) -> Any:
        """Return values of all items as the caller's kind of array; a number for a single value."""
        shape = (*leading, *each)
        if not shape:
            return values.tolist()[0]
        return of_caller.to_caller(of_caller.xp.asarray(values.reshape(shape)))

    row, column, u, v = (to_caller_array(part, part.shape[1:]) for part in choices[:4])
    return AssignmentWithSinglesResult(
        status=call.control.status(
            call.method, ended and not (gaps and call.control.stopped), close=not gaps
        ),
        lower_bound=to_caller_array(lower),
        upper_bound=to_caller_array(upper),
        stats=found.stats,
        row=row,
        column=column,
        u=u,
        v=v,
        costs=of_caller,
        partial=True,
        unmatched_cost=(to_caller_array(singles.rows, (n,)), to_caller_array(singles.columns, (m,))),
        _exact=exact or None,
    )


class Answer(NamedTuple):
    """The pairs of one item by ascending rows, and the prices of its rows and columns."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    u: Array
    v: Array


class Choices(NamedTuple):
    """The answers for all items: pairs, -1 behind those of each item, prices, and how many of each side."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    u: Array
    v: Array
    counts: NDArray[np.int64]

    def answer(self, item: int) -> Answer:
        """Return the answer for one item."""
        paired = self.row[item] >= 0
        (n, m), row, column = self.counts[item].tolist(), self.row[item], self.column[item]
        return Answer(row[paired], column[paired], self.u[item, :n], self.v[item, :m])

    def with_answer(self, item: int, answer: Answer) -> Choices:
        """Return choices with the answer for one item exchanged."""
        more = max(len(answer.row) - self.row.shape[1], 0)
        row, column = (
            np.pad(part, ((0, 0), (0, more)), constant_values=-1) for part in (self.row, self.column)
        )
        for part, pairs in ((row, answer.row), (column, answer.column)):
            part[item] = -1
            part[item, : len(pairs)] = pairs
        u, v = self.u.copy(), self.v.copy()
        u[item, : len(answer.u)], v[item, : len(answer.v)] = answer.u, answer.v
        most = int((row >= 0).sum(axis=1).max(initial=0))
        return Choices(row[:, :most].copy(), column[:, :most].copy(), u, v, self.counts)

    def chosen(self, problem: Problem) -> tuple[Array, Array]:
        """Return the costs of the pairs of each item, and those of its singles; 0 elsewhere."""
        costs, paired = problem.costs, self.row >= 0
        item = np.nonzero(paired)[0]
        row, column = self.row[paired], self.column[paired]
        pairs = np.zeros(self.row.shape, dtype=self.u.dtype)
        pairs[paired] = costs.at(item if isinstance(costs, DenseCosts) else 0, row, column)
        alone = np.concatenate(problem.singles, axis=1)
        n, m = costs.shape[1:]
        if isinstance(costs, DenseCosts) and costs.sizes is not None:
            alone[:, :n][np.arange(n) >= self.counts[:, :1]] = 0
            alone[:, n:][np.arange(m) >= self.counts[:, 1:]] = 0
        alone[item, row] = 0
        alone[item, n + column] = 0
        return pairs, alone

    def suspects(self, problem: Problem, pairs: Array, alone: Array) -> list[int]:
        """Return the items in which rounding may have changed the choice, or prices may prove too little.

        They are those in which as many numbers as there are, each as large as the largest, times their
        rounding errors, are not small beside the costs of the pairs: what singles cost may be large, and the
        same for every choice.
        """
        if problem.limit < np.inf:
            return list(range(len(pairs)))
        size = np.abs(pairs).sum(axis=1)
        if not size.all():
            size = np.where(size > 0, size, np.abs(alone).sum(axis=1))
        numbers = np.concatenate([*problem.singles, self.u, self.v], axis=1)
        most = np.abs(numbers).max(axis=1, initial=0)
        found: list[int] = np.flatnonzero(
            ~(most * (numbers.shape[1] * ROUNDING) <= SMALL_GAP * size)
        ).tolist()
        return found


def _totals(chosen: Array) -> Array:
    """Return the sum of the costs that each item chose."""
    if chosen.dtype.kind == "i":
        sums: Array = chosen.sum(axis=1)
        return sums
    return np.array([accurate_sum(part) for part in chosen], dtype=np.float64)


def _choices(problem: Problem, found: AssignmentResult, limit: float) -> Choices:
    """Return the pairs that are better than two singles, with the prices, of an assignment of `_reduced`."""
    costs, singles = problem.costs, problem.singles
    items, n, m = costs.shape
    row, column, u, v = (
        np.array(found._by_item(part)) for part in (found.row, found.column, found.u, found.v)
    )
    sizes = costs.sizes if isinstance(costs, DenseCosts) else None
    counts = np.tile(np.array([n, m]), (items, 1)) if sizes is None else sizes
    cut = Singles(*(cut_off(part, limit) for part in singles))
    row, column = _better_pairs(costs, cut, row, column, limit)
    inside = np.arange(n) < counts[:, :1], np.arange(m) < counts[:, 1:]
    u, v = _prices(u.astype(cut.rows.dtype), v.astype(cut.rows.dtype), inside, counts, m)
    sign = -1 if costs.maximize else 1
    u = np.where(inside[0], cut.rows + sign * u, 0)
    v = np.where(inside[1], cut.columns + sign * v, 0)
    return Choices(row, column, u, v, counts)


@dataclass(frozen=True)
class Attempt:
    """A solve of one item with costs cut off at a limit: see :func:`preflow.graph.scaling.solve_costs`."""

    problem: Problem
    answer: Answer
    limit: float
    finished: bool

    @classmethod
    def of(cls, problem: Problem, answer: Answer, limit: float, finished: bool = True) -> Attempt:
        """Return an attempt whose prices exceed no cost as given."""
        row, column, u, v = answer
        sign = -1 if problem.costs.maximize else 1
        above = excesses(problem.costs, problem.alone, u, v)
        most = np.finfo(np.float64).max
        u, v = (np.clip(p - sign * e, -most, most) for p, e in zip((u, v), above, strict=True))
        return cls(problem, Answer(row, column, u, v), limit, finished)

    @cached_property
    def chosen(self) -> Array:
        """The costs of the pairs and of the singles, as given."""
        return chosen_costs(self.problem.costs, self.problem.alone, self.answer.row, self.answer.column)

    @cached_property
    def cost(self) -> float:
        """The sum of the chosen costs, rounded once."""
        return accurate_sum(self.chosen)

    @cached_property
    def gap(self) -> float:
        """By how much they may exceed an optimum; infinite where float64 cannot hold the cost."""
        if not np.isfinite(self.cost):
            return np.inf
        return proved_gap(self.problem.costs, self.problem.alone, self.answer, self.cost)

    @property
    def close(self) -> bool:
        """Whether the gap is small beside the pairs; where these cost nothing, beside all that is chosen."""
        pairs = self.chosen[: len(self.answer.row)]
        chosen = pairs if pairs.any() else self.chosen
        return gap_is_close(self.gap, chosen, len(chosen))

    @property
    def largest(self) -> float:
        """The largest size of a cost that is chosen."""
        return _size(self.chosen)

    @property
    def used_cut_off(self) -> bool:
        """Whether a cost is chosen that was cut off, or one below zero that was is not."""
        costs, alone = self.problem.costs, self.problem.singles
        sign = -1 if costs.maximize else 1
        chosen = sign * self.chosen
        below = sum(int((sign * part < -self.limit).sum()) for part in alone)
        if not isinstance(costs, PointCosts):
            values = sign * costs.values
            below += int(((values < -self.limit) & np.isfinite(values)).sum())
        elif sign < 0:
            return True  # of the largest distances, nothing is known without a look at all of them
        return bool((chosen > self.limit).any() or int((chosen < -self.limit).sum()) != below)


def _proved(
    problem: Problem, answer: Answer, call: AssignmentCall
) -> tuple[Answer, float, ExactPrices | None]:
    """Return an answer for one item that is proved; or by how much it may exceed an optimum.

    Where rounded prices do not prove it, the third value has the exact ones.
    """
    largest = max(_size(part) for part in (*problem.singles, _values(problem.costs)))
    first = Attempt.of(problem, answer, min(problem.limit, largest))

    def solve(limit: float) -> Attempt:
        if limit == first.limit:
            return first
        again = problem.call(limit)
        again.control = call.control
        found = again.assignment()
        call.control.remarks[:] = [*dict.fromkeys([*call.control.remarks, SOLVED_AGAIN])]
        choices = _choices(problem, found, limit)
        return Attempt.of(problem, choices.answer(0), limit, found.status != "time-limit")

    best = solve_costs(solve, first.limit)
    exact = None
    if not best.close and not call.control.stopped:
        exact = _solved_exactly(best, call.control)
        if exact is not None:
            best = Attempt.of(problem, exact[0], best.limit)
    if gap_is_close(best.gap, best.chosen, len(best.chosen)):
        return best.answer, 0.0, None
    return (best.answer, best.gap, None) if exact is None else (exact[0], 0.0, exact[1])


def _values(costs: HostCostsOfPairs) -> Array:
    """Return costs of pairs, all of them or, of points, one that none exceeds."""
    return np.array([costs.largest()]) if isinstance(costs, PointCosts) else costs.values


def _solved_exactly(attempt: Attempt, control: Control) -> tuple[Answer, ExactPrices] | None:
    """Solve one item in exact arithmetic, from an answer; None if stopped, or too large.

    It is an assignment without differences of costs: each row gets a column of its own, each column a row of
    its own, in which they are single. If row and column are a pair, their own column and row are one, too, of
    cost 0.
    """
    problem, (row, column, u, v) = attempt.problem, attempt.answer
    sign = -1 if problem.costs.maximize else 1
    _, n, m = problem.costs.shape
    u, v = sign * u, sign * v
    i, j, values = _useful_pairs(problem, u, v, row, column, attempt.gap)
    if 2 * len(i) + n + m > MOST_PAIRS:
        return None
    of_rows, of_columns = np.arange(n), np.arange(m)
    rows = np.concatenate([i, of_rows, n + of_columns, n + j])
    columns = np.concatenate([j, m + of_rows, of_columns, m + i])
    numbers = np.concatenate([values, *(sign * part for part in problem.alone), np.zeros(len(i))])
    order = np.lexsort((columns, rows))
    first = np.zeros(n + m + 1, dtype=np.uint64)
    np.cumsum(np.bincount(rows, minlength=n + m), out=first[1:])
    square = SparseCosts(first, columns[order].astype(np.uint32), numbers[order], n + m)
    match = np.concatenate([m + of_rows, of_columns])
    match[row], match[n + column] = column, m + row
    found = optimal_prices(
        square, match, np.concatenate([u, np.zeros(m)]), np.concatenate([v, np.zeros(n)]), control
    )
    if found is None:
        return None
    match, prices = found
    exact = ExactPrices(
        sign * (prices.u[:n] + prices.v[m:]), sign * (prices.v[:m] + prices.u[n:]), prices.exponent
    )
    row = np.flatnonzero(match[:n] < m)
    column = match[row]
    (cost, first_alone, second_alone), _ = as_integers(
        *(sign * part for part in (problem.costs.at(0, row, column), problem.alone.rows[row])),
        sign * problem.alone.columns[column],
    )
    better = (cost < first_alone + second_alone).astype(bool)
    rounded = [as_floats(part, exact.exponent) for part in exact[:2]]
    if not all(np.isfinite(part).all() for part in rounded):
        raise CostOverflowError("the costs are so large that prices, sums of costs, pass float64")
    return Answer(row[better], column[better], *rounded), exact


def _useful_pairs(
    problem: Problem, u: Array, v: Array, row: Array, column: Array, gap: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs of a better answer, and those of the given one, with their costs to minimise.

    No better answer has a pair whose cost exceeds its prices by more than the gap; and prices change by no
    more than that: pairs of eight times as much stay above the prices.
    """
    costs = problem.costs
    sign = -1 if costs.maximize else 1
    _, n, m = costs.shape
    partner = np.full(n, -1)
    partner[row] = column
    parts = []
    step = n if isinstance(costs, SparseCosts) else max(1, CHUNK // max(m, 1))
    for begin in range(0, n, max(step, 1)):
        if isinstance(costs, SparseCosts):
            i, j, values = costs.row, costs.column.astype(np.int64), costs.values
        else:
            block = costs.block(begin, begin + step)
            i, j = np.nonzero(np.isfinite(block))
            values, i = block[i, j], i + begin
        values = sign * values.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = -excess(u[i], v[j], values)
            lost = 2.0**-98 * (n + m) * (np.abs(u).max(initial=0) + np.abs(v).max(initial=0))
            kept = (partner[i] == j) | ~(beyond > 8 * gap + lost)
        parts.append((i[kept], j[kept], values[kept]))
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    i, j, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return i, j, values


def _better_pairs(
    costs: HostCostsOfPairs, singles: Singles, row: Array, column: Array, limit: float
) -> tuple[Array, Array]:
    """Return the pairs that cost less than two singles, with -1 behind those of each item.

    The costs of singles are cut off at the limit, and those of pairs will be.
    """
    items, _, m = costs.shape
    where = np.arange(items)[:, None]
    pair = (row >= 0) & (column < m)
    places = where, np.where(pair, row, 0), np.where(pair, column, 0)
    if pair.any():
        value = (
            costs.at(0, row[pair], column[pair])
            if isinstance(costs, SparseCosts | PointCosts)
            else costs.values[places][pair]
        )
        change = cut_off(value, limit) - singles.rows[places[0], places[1]][pair]
        change = change - singles.columns[places[0], places[2]][pair]
        pair[pair] = (-change if costs.maximize else change) < 0
    order = np.argsort(~pair, axis=1, kind="stable")
    row, column, pair = (np.take_along_axis(part, order, axis=1) for part in (row, column, pair))
    row[~pair], column[~pair] = -1, -1
    most = int(pair.sum(axis=1).max(initial=0))
    return np.ascontiguousarray(row[:, :most]), np.ascontiguousarray(column[:, :most])


def _prices(
    u: Array, v: Array, inside: tuple[Any, Any], counts: NDArray[np.int64], m: int
) -> tuple[Array, Array]:
    """Return prices of at most 0: see the module."""
    lowest = np.iinfo(np.int64).min if u.dtype.kind == "i" else -np.inf
    extra = np.ones((len(v), v.shape[1] - m), dtype=bool)  # the columns of single rows
    counted = np.concatenate([np.broadcast_to(inside[1], (len(v), m)), extra], axis=1)
    of_rows = np.where(inside[0], u, lowest).max(axis=1, initial=lowest)
    of_columns = np.where(counted, v, lowest).max(axis=1, initial=lowest)
    wide = counts[:, 0] <= counts[:, 1] + extra.shape[1]
    shift = np.where(wide, of_columns, -np.where(of_rows == lowest, 0, of_rows))
    shift = np.where((of_columns == lowest) & wide, 0, shift)[:, None]
    return np.minimum(u + shift, 0), np.minimum(v[:, :m] - shift, 0)
