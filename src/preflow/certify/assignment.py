"""Check that pairs are an assignment, and prove it optimal by prices of rows and columns.

The proof: every allowed pair costs at least the price of its row plus that of its column. If all rows are
assigned, the prices of all rows plus the smallest prices of as many columns bound the cost of any assignment
from below. If only some rows can be assigned, a cover with as many rows and columns as there are pairs
(König) splits the problem: every assignment with the most pairs uses each row and column of the cover once,
and never two of them in one pair. The bound then holds on both sides: for covered rows with uncovered
columns, and for covered columns with uncovered rows.

Integers are compared in arithmetic that cannot wrap. For floats the prices may have a rounding error relative
to the assignment found: relative to its costs, and to the difference from the sum of the least costs of its
rows. No single cost or price outside the assignment makes the proof looser. What the prices then prove must
be as close to the total as :func:`gap_is_close` says.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Number
from ..errors import VerificationError
from ..graph.costs import DenseCosts, SparseCosts, cut_off, largest_cost
from ..graph.point_costs import PointCosts
from ..graph.scaling import is_close
from .exact import ExactPrices, accurate_sum, as_integers, two_sum
from .fields import checked_number

#: Entries of a dense matrix that are processed together.
CHUNK = 1 << 20
#: Prices of floats may be off by this many rounding errors of the assignment's size: see :func:`price_error`.
ROUNDINGS = 32.0
EPSILON = float(np.finfo(np.float64).eps)
#: The terms of :func:`preflow.graph.scaling.is_close` for each row and column: roundings of its price.
TERMS = 8
#: Costs, prices and totals past the range of sums are proved times this.
SMALLER = 2.0**-80
#: The sum of a cost and two integers of at most this size fits int64.
LARGEST_PRICE = 2**61
#: No price of floats that can be added up is larger: see :data:`preflow.graph.costs.LARGEST_FLOAT`.
LARGEST_FLOAT_PRICE = 2.0**1010

Costs = DenseCosts | SparseCosts | PointCosts


class Cover(NamedTuple):
    """Rows and columns such that every allowed pair has one of them."""

    rows: NDArray[np.bool_]  #: shape (n,)
    columns: NDArray[np.bool_]  #: shape (m,)


class StoppedError(Exception):
    """A proof was asked to stop before its end."""


class Side(NamedTuple):
    """Covered rows with uncovered columns; or covered columns, its rows then, with uncovered rows."""

    #: DenseCosts, SparseCosts or PointCosts: to minimise; each of the `own` rows is assigned an uncovered
    #: column
    costs: Costs
    #: its covered rows, and its covered columns
    own: NDArray[np.bool_]
    other: NDArray[np.bool_]
    swapped: bool  #: whether its rows are the columns of the given costs
    stop: NDArray[np.int64] | None  #: shape (1,): not 0 once the proof is to stop


class Block(NamedTuple):
    """Some rows of a side with their costs in 64 bits."""

    rows: slice
    values: Array  #: shape (rows, m) or (pairs,)
    #: for sparse costs: where each row's pairs begin, and the column of each pair
    first: NDArray[np.int64] | None = None
    column: Array | None = None

    def of_rows(self, price: Array) -> Array:
        """Return numbers of these rows in a shape that broadcasts to `values`."""
        return price[:, None] if self.first is None else np.repeat(price, np.diff(self.first))

    def of_columns(self, price: Array) -> Array:
        """Return numbers of all columns in a shape that broadcasts to `values`."""
        return price if self.column is None else price[self.column]

    def least(self, numbers: Array) -> Array:
        """Return the smallest of each row's numbers, in the shape of `values`; 0 where it has none."""
        if self.first is None:
            return numbers.min(axis=1) if numbers.shape[1] else np.zeros(len(numbers), numbers.dtype)
        found = np.zeros(len(self.first) - 1, dtype=numbers.dtype)
        rows = np.flatnonzero(np.diff(self.first))
        if len(rows):
            found[rows] = np.minimum.reduceat(numbers, self.first[rows])
        return found

    def place(self, where: int) -> tuple[int, int]:
        """Return the row and the column of an entry of `values`."""
        if self.first is None or self.column is None:
            row, column = divmod(where, self.values.shape[1])
            return self.rows.start + row, column
        return int(np.searchsorted(self.first, where, side="right")) - 1, int(self.column[where])


def check_assignment(
    costs: Costs,
    item: int,
    rows: Array,
    columns: Array,
    u: Array,
    v: Array,
    total: AnyArray,
    partial: bool,
    stop: NDArray[np.int64] | None = None,
    gap: float | None = None,
    exact: ExactPrices | None = None,
) -> None:
    """Check that pairs are an assignment of the least cost, or of the largest where that is to be found.

    For floats the gap that the prices prove must be `gap` at most; if that is None, the gap of an optimal
    answer. `exact` are prices that the given ones are rounded from. StoppedError: `stop` became 1.
    VerificationError: names the row, column or price at fault.
    """
    _, n, m = costs.shape
    _check_pairs(rows, columns, n, m)
    sign = -1 if costs.maximize else 1
    at_pairs = _wide(costs.at(item, rows, columns))
    if at_pairs.dtype != object and not np.isfinite(at_pairs).all():
        raise VerificationError(
            f"row {_first(~np.isfinite(at_pairs), rows)} has a column that is not allowed to it"
        )
    if exact is not None:
        _check_exactly(costs, item, rows, columns, u, v, at_pairs, total, partial, exact)
        return
    given, by = (costs, item, rows, columns, u, v, total, partial, stop), 1.0
    if costs.huge:
        costs, u, v, total, by = within_range(costs, item, at_pairs, u, v, total)
        at_pairs, item = at_pairs * by, 0
    at_pairs = sign * at_pairs
    cover = cover_of(costs, item, rows, columns, partial)
    sides = sides_of(costs, item, cover, stop)
    of_values = for_values(costs, item, u, v, sign)
    u, v = checked_prices(u, sign), checked_prices(v, sign)
    tolerance: Any = 0
    if at_pairs.dtype.kind == "f":
        least = sum(_least_costs(side) for side in sides)
        tolerance = price_error(float(np.abs(at_pairs).sum()), float(at_pairs.sum()) - least)
    for side in sides:
        _check_prices(side, *(of_values[::-1] if side.swapped else of_values), tolerance)
    off = np.abs(excess(of_values[0][rows], of_values[1][columns], at_pairs)) > tolerance
    if off.any():
        raise VerificationError(
            f"the prices of row {_first(off, rows)} and its column are not the cost of the pair"
        )
    for name, price, used, covered in (("row", u, rows, cover.rows), ("column", v, columns, cover.columns)):
        assigned = np.zeros(len(price), dtype=bool)
        assigned[used] = True
        left, others = np.flatnonzero(~assigned), np.flatnonzero(assigned & ~covered)
        if len(left) and len(others) and price[others].max() > price[left].min() + tolerance:
            raise VerificationError(
                f"{name} {left[price[left].argmin()]} is left over "
                "and has a smaller price than an assigned one"
            )
    if at_pairs.dtype.kind != "f":
        base = 0 if costs.base is None else sum(costs.base_at(item, rows, columns).tolist())
        right = sign * sum(at_pairs.tolist()) + base == checked_number(total, "the total")
    else:
        off_by = abs(accurate_sum(np.append(at_pairs, -sign * float(total))))
        right = gap_is_close(off_by, at_pairs, n + m)
    if not right:
        raise VerificationError(f"the costs of the pairs do not add up to {total}")
    if at_pairs.dtype.kind == "f":
        proved = proved_gap(*given)
        if not (gap_is_close(proved * by, at_pairs, n + m) if gap is None else proved <= gap):
            raise VerificationError(f"the prices leave a gap of {proved}")


def _check_exactly(
    costs: Costs,
    item: int,
    rows: Array,
    columns: Array,
    u: Array,
    v: Array,
    at_pairs: Array,
    total: AnyArray,
    partial: bool,
    exact: ExactPrices,
) -> None:
    """Check an assignment of floats in integers."""
    if not exact.are_rounded(u, v):
        raise VerificationError("the prices are not the exact ones, rounded")
    off_by = abs(accurate_sum(np.append(at_pairs, -float(total))))
    if not gap_is_close(off_by, at_pairs, sum(costs.shape[1:])):
        raise VerificationError(f"the costs of the pairs do not add up to {total}")
    part = costs.one(item)
    assert not isinstance(part, PointCosts)
    sparse = part.to_sparse()
    (values,), exponent = as_integers(sparse.values)
    prices = exact.scaled_to(max(exponent, exact.exponent))
    whole = replace(sparse, values=values << (prices.exponent - exponent), huge=False)
    sums = whole.at(0, rows, columns).sum() if len(rows) else 0
    check_assignment(whole, 0, rows, columns, prices.u, prices.v, int(sums), partial)


def check_bound(costs: Costs, item: int, u: Array, v: Array, bound: Number) -> None:
    """Check that no assignment of all rows, or of all columns if there are fewer, is better than a bound.

    VerificationError: the prices do not prove it.
    """
    sign = -1 if costs.maximize else 1
    if sign * bound == -np.inf:
        return
    if sign * bound > sign * proved_bound(costs, item, u, v):
        raise VerificationError(f"the prices do not prove the bound {bound}")
    u, v = for_values(costs, item, u, v, sign)
    tolerance: Any = 0
    if costs.dtype.kind == "f":
        tolerance = price_error(max(float(np.abs(price).max(initial=0.0)) for price in (u, v)), 0.0)
    for side in sides_of(costs, item, _one_side(costs)):
        _check_prices(side, *((v, u) if side.swapped else (u, v)), tolerance)


def proved_bound(costs: Costs, item: int, u: Array, v: Array) -> Number:
    """Return the bound that the prices prove on every assignment of all rows, or of all columns if fewer.

    For floats it is rounded so that it holds exactly for the given costs.
    """
    sign = -1 if costs.maximize else 1
    terms = _dual_terms(
        sides_of(costs, item, _one_side(costs)), checked_prices(u, sign), checked_prices(v, sign)
    )
    if costs.dtype.kind == "i":
        _, n, m = costs.shape
        size = np.arange(min(n, m))  # one pair in each row, or column, has the base of all
        base = 0 if costs.base is None else sum(costs.base_at(item, size, size).tolist())
        return sign * int(sum(terms)) + base
    total = math.fsum(terms)
    return sign * (total if math.fsum([*terms, -total]) >= 0 else math.nextafter(total, -math.inf))


def proved_gap(
    costs: Costs,
    item: int,
    rows: Array,
    columns: Array,
    u: Array,
    v: Array,
    total: AnyArray,
    partial: bool,
    stop: NDArray[np.int64] | None = None,
    exact: ExactPrices | None = None,
) -> float:
    """Return how far a total of float costs may be from the best; its pairs pass :func:`check_assignment`.

    It is the exact difference between the total and the bound that the prices prove in spite of their
    rounding errors, rounded up; the bound is the cost of the pairs if there are `exact` prices. StoppedError:
    `stop` became 1.
    """
    by = 1.0
    if exact is not None:
        gap = abs(accurate_sum(np.append(_wide(costs.at(item, rows, columns)), -float(total))))
        return math.nextafter(gap, math.inf) if gap > 0 else 0.0
    if costs.huge:
        costs, u, v, total, by = within_range(costs, item, costs.at(item, rows, columns), u, v, total)
        item = 0
    sign = -1 if costs.maximize else 1
    u, v = checked_prices(u, sign), checked_prices(v, sign)
    terms = _dual_terms(sides_of(costs, item, cover_of(costs, item, rows, columns, partial), stop), u, v)
    at_pairs = sign * _wide(costs.at(item, rows, columns))
    total = sign * float(total)
    gap = max(
        accurate_sum(np.append(-np.array(terms, dtype=np.float64), total)),
        accurate_sum(np.append(at_pairs, -total)),
    )
    return math.nextafter(gap, math.inf) / by if gap > 0 else 0.0


def gap_is_close(gap: float, chosen: Array, prices: int) -> bool:
    """Return whether a gap is that of an optimal answer with these costs, proved by a number of prices."""
    size = min(accurate_sum(np.abs(chosen)), sys.float_info.max)
    return is_close(gap, size, TERMS * prices)


def within_range(
    costs: Costs, item: int, at_pairs: Array, u: Array, v: Array, total: AnyArray
) -> tuple[Costs, Array, Array, float, float]:
    """Return one matrix of huge costs, prices and a total that can be added up, and the factor of all.

    If no pair is huge, costs that are cut off prove no less than the given ones. Otherwise all are
    multiplied by `SMALLER`, which rounds only what is too small to count.
    """
    one = costs.one(item)
    assert not isinstance(one, PointCosts)
    limit = float(largest_cost(np.dtype(np.float64), sum(one.shape[1:])))
    numbers = (at_pairs, u, v, np.array([total], dtype=np.float64))
    most = max(float(np.abs(part).max(initial=0.0)) for part in numbers)
    if most <= limit / 8:
        return replace(one, values=cut_off(one.values, limit), huge=False), u, v, float(total), 1.0
    smaller = replace(one, values=one.values * SMALLER, huge=False)
    return smaller, u * SMALLER, v * SMALLER, float(total) * SMALLER, SMALLER


def excess(first: AnyArray, second: AnyArray, cost: AnyArray) -> Number:
    """Return by how much the sum of two prices exceeds a cost, correct except for the last bits."""
    if "f" not in first.dtype.kind + second.dtype.kind:
        return first + second - cost
    prices, lost = two_sum(first, second)
    return (prices - cost) + lost


def price_error(size: Any, excess: AnyArray) -> Number:
    """Return the rounding error that prices of floats may have.

    `size` is the sum of the absolute costs of the pairs. `excess` is the difference of their sum and that of
    the least costs of all rows (columns, if there are fewer): no better assignment has a pair whose cost
    exceeds the least cost of its row by more than this.
    """
    return ROUNDINGS * EPSILON * (size + excess)


def alternating_cover(costs: SparseCosts, rows: Array, columns: Array) -> Cover:
    """Return the rows that no alternating path from an unassigned row reaches, and the columns that one does.

    If there are as many pairs as possible this is a cover, by König's theorem.
    """
    _, n, m = costs.shape
    row_of = np.full(m, -1, dtype=np.int64)
    row_of[columns] = rows
    reached, entered = np.ones(n, dtype=bool), np.zeros(m, dtype=bool)
    reached[rows] = False
    frontier = np.flatnonzero(reached)
    first = costs.first.astype(np.int64)
    while len(frontier):
        degree = first[frontier + 1] - first[frontier]
        before = np.repeat(np.cumsum(degree) - degree - first[frontier], degree)
        there = np.unique(costs.column[np.arange(degree.sum()) - before])
        there = there[~entered[there]]
        entered[there] = True
        frontier = row_of[there]
        frontier = frontier[frontier >= 0]
        reached[frontier] = True
    return Cover(~reached, entered)


def _check_pairs(rows: Array, columns: Array, n: int, m: int) -> None:
    if rows.shape != columns.shape or rows.ndim != 1:
        raise VerificationError(f"{rows.shape} rows for {columns.shape} columns")
    if len(rows) == 0:
        return
    if (rows[1:] <= rows[:-1]).any() or rows[0] < 0 or rows[-1] >= n:
        raise VerificationError("the rows are not distinct, ascending and of the matrix")
    if columns.min() < 0 or columns.max() >= m:
        raise VerificationError("a column is not of the matrix")
    times = np.bincount(columns, minlength=m)
    if times.max() > 1:
        raise VerificationError(f"column {int(times.argmax())} has two rows")


def _one_side(costs: Costs) -> Cover:
    """Return the smaller side of a matrix, as a cover."""
    _, n, m = costs.shape
    return Cover(np.full(n, n <= m), np.full(m, n > m))


def cover_of(costs: Costs, item: int, rows: Array, columns: Array, partial: bool) -> Cover:
    """Return a cover with as many rows and columns as pairs, or raise that more pairs are possible."""
    _, n, m = costs.shape
    size = len(rows)
    if size == min(n, m):
        return _one_side(costs)
    if not partial:
        raise VerificationError(f"{size} pairs are assigned, not {min(n, m)}")
    if isinstance(costs, PointCosts):
        raise VerificationError(f"{size} pairs are assigned, and all are allowed")
    sparse = costs.one(item).to_sparse()
    if n <= m:
        cover = alternating_cover(sparse, rows, columns)
    else:
        cover = Cover(*reversed(alternating_cover(sparse.transposed(), columns, rows)))
    uncovered = ~cover.rows[sparse.row] & ~cover.columns[sparse.column]
    if uncovered.any() or int(cover.rows.sum() + cover.columns.sum()) != size:
        raise VerificationError(f"more than {size} pairs could be assigned")
    return cover


def sides_of(costs: Costs, item: int, cover: Cover, stop: NDArray[np.int64] | None = None) -> list[Side]:
    """Return both sides of a cover, without empty ones."""
    found = []
    for swapped, own, other in ((False, cover.rows, cover.columns), (True, cover.columns, cover.rows)):
        if not own.any():
            continue
        part: Costs = costs.one(item)
        if isinstance(part, DenseCosts) and not (own.all() and not other.any()):
            part = part.to_sparse()
        if swapped:
            part = part.transposed()
        if isinstance(part, SparseCosts):
            part = part.keep(own[part.row] & ~other[part.column])
        found.append(Side(part, own, other, swapped, stop))
    return found


def _blocks(side: Side) -> Iterator[Block]:
    """Yield the costs of a side as costs to minimise in 64 bits, some rows at a time."""
    costs = side.costs
    sign = -1 if costs.maximize else 1
    _, n, m = costs.shape
    if isinstance(costs, SparseCosts):
        yield Block(slice(0, n), sign * costs.values, costs.first.astype(np.int64), costs.column)
        return
    step = max(1, CHUNK // max(m, 1))
    for begin in range(0, n, step):
        if side.stop is not None and side.stop[0]:
            raise StoppedError
        rows = slice(begin, min(begin + step, n))
        yield Block(rows, sign * _wide(costs.block(rows.start, rows.stop)))


def _check_prices(side: Side, own: Array, other: Array, tolerance: Number) -> None:
    """Check that the prices of every pair of a side sum to at most its cost."""
    for block in _blocks(side):
        at_rows, at_columns = block.of_rows(own[block.rows]), block.of_columns(other)
        prices = at_rows + at_columns
        over = prices - block.values
        if over.dtype.kind == "f" and over.size:
            # Entries that rounding may have hidden are computed again.
            unsure = np.nonzero(over > tolerance - EPSILON * float(np.abs(prices).max()))
            first, second = (np.broadcast_to(part, over.shape)[unsure] for part in (at_rows, at_columns))
            over[unsure] = excess(first, second, block.values[unsure])
        if over.size and not over.max() <= tolerance:
            row, column = block.place(int((~(over <= tolerance)).argmax()))
            if side.swapped:
                row, column = column, row
            raise VerificationError(
                f"the prices of row {row} and column {column} exceed the cost of the pair"
            )


def _least_costs(side: Side) -> float:
    """Return the sum of the least costs of the rows that must be assigned."""
    return sum(float(block.least(block.values)[side.own[block.rows]].sum()) for block in _blocks(side))


def _dual_terms(sides: list[Side], u: Array, v: Array) -> list[Any]:
    """Return numbers whose exact sum is at most the cost of every assignment with the most pairs.

    These are, for each covered row, the smallest difference of cost and price of the column, over uncovered
    columns; and the smallest prices of as many columns. For floats each difference is two numbers.
    """
    terms: list[Any] = []
    for side in sides:
        price = u if side.swapped else v
        terms += np.sort(price[~side.other])[: int(side.own.sum())].tolist()
        for block in _blocks(side):
            at_columns = block.of_columns(price)
            reduced = block.values - at_columns
            least = block.least(reduced)
            rows = side.own[block.rows].copy()
            if reduced.dtype.kind != "f":
                terms += least[rows].tolist()
                continue
            lost = np.full(reduced.shape, np.inf)
            tied = np.nonzero((reduced == block.of_rows(least)) & np.isfinite(reduced))
            lost[tied] = two_sum(block.values[tied], -np.broadcast_to(at_columns, reduced.shape)[tied])[1]
            rows &= np.isfinite(least)  # where nothing is allowed, any bound holds
            terms += least[rows].tolist() + block.least(lost)[rows].tolist()
    return terms


def for_values(costs: Costs, item: int, u: Array, v: Array, sign: int) -> tuple[Array, Array]:
    """Return prices for the values of costs, to be minimised, without their base."""
    u, v = costs.without_base(item, u, v)
    return checked_prices(u, sign), checked_prices(v, sign)


def checked_prices(price: Array, sign: int) -> Array:
    """Return prices for costs to minimise; Python integers where a sum of two and a cost may wrap."""
    if price.dtype.kind == "f":
        if not (np.abs(price) <= LARGEST_FLOAT_PRICE).all():
            raise VerificationError("a price is not finite, or too large to be added up")
        return sign * price
    largest = max(-int(price.min()), int(price.max())) if len(price) else 0
    return sign * (price.astype(np.int64) if largest <= LARGEST_PRICE else price.astype(object))


def _wide(values: Array) -> Array:
    return values.astype(np.float64) if values.dtype == np.float32 else values


def _first(faulty: NDArray[np.bool_], names: Array) -> int:
    return int(names[faulty.argmax()])
