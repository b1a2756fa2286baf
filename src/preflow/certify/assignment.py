"""Check that an assignment is one, and prove it optimal by prices of rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import VerificationError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.point_costs import PointCosts

#: Entries of a dense matrix that are looked at together.
CHUNK = 1 << 20
#: Rounding errors of float costs that each search may add to a price.
ROUNDINGS = 8.0


def check_assignment(
    costs: DenseCosts | SparseCosts | PointCosts,
    item: int,
    rows: NDArray[Any],
    columns: NDArray[Any],
    u: NDArray[Any],
    v: NDArray[Any],
    total: Any,
    partial: bool,
) -> None:
    """Check that pairs are an assignment of the least cost (the largest, where that is wanted).

    Prices ``u`` and ``v`` that exceed no cost bound the cost of any k pairs from below by the k smallest
    prices of rows and of columns; the assignment meets that bound where its pairs cost exactly their prices
    and nobody who is left over has a smaller price than somebody assigned.

    Raises
    ------
    VerificationError
        Names what is at fault.
    """
    _, n, m = costs.shape
    _check_pairs(rows, columns, n, m)
    size = len(rows)
    if size < min(n, m):
        if not partial:
            raise VerificationError(f"{size} pairs are assigned, not {min(n, m)}")
        if isinstance(costs, PointCosts):
            raise VerificationError(f"{size} pairs are assigned, and all are allowed")
        _check_cardinality(costs.one(item).to_sparse(), rows, columns)
    sign = -1 if costs.maximize else 1
    at_pairs = _wide(costs.at(item, rows, columns))
    if not np.isfinite(at_pairs).all():
        raise VerificationError(
            f"row {_first(~np.isfinite(at_pairs), rows)} has a column that is not allowed to it"
        )
    tolerance = _tolerance(at_pairs, u, v)
    u, v, at_pairs = sign * u, sign * v, sign * at_pairs
    _check_prices(costs, item, u, v, tolerance)
    off = np.abs(at_pairs - u[rows] - v[columns]) > tolerance
    if off.any():
        raise VerificationError(
            f"the prices of row {_first(off, rows)} and its column are not the cost of the pair"
        )
    for side, price, used in (("row", u, rows), ("column", v, columns)):
        left = np.ones(len(price), dtype=bool)
        left[used] = False
        if size and left.any() and price[used].max() > price[left].min() + tolerance:
            place = int(np.argmin(np.where(left, price, price.max())))
            raise VerificationError(
                f"{side} {place} is left over and has a smaller price than one that is not"
            )
    if at_pairs.dtype.kind == "i":
        right = sum(at_pairs.tolist()) == sign * int(total)
    else:
        right = abs(float(at_pairs.sum()) - sign * float(total)) <= tolerance * max(size, 1)
    if not right:
        raise VerificationError(f"the costs of the pairs do not add up to {total}")


def check_bound(
    costs: DenseCosts | SparseCosts | PointCosts, item: int, u: NDArray[Any], v: NDArray[Any], bound: Any
) -> None:
    """Check that no assignment of all rows, or of all columns if there are fewer, is better than a bound.

    Raises
    ------
    VerificationError
        The prices do not prove it.
    """
    _, n, m = costs.shape
    sign = -1 if costs.maximize else 1
    if sign * bound == -np.inf:
        return
    tolerance = _tolerance(np.zeros(0), u, v)
    u, v = sign * u, sign * v
    _check_prices(costs, item, u, v, tolerance)
    for side, price in (("row", u if n > m else u[:0]), ("column", v if m > n else v[:0])):
        if (price > tolerance).any():
            raise VerificationError(f"{side} {int(price.argmax())} may be left over and has a positive price")
    proved = sum(u.tolist()) + sum(v.tolist())
    if sign * bound > proved + tolerance * (n + m):
        raise VerificationError(f"the prices do not prove the bound {bound}")


def _check_pairs(rows: NDArray[Any], columns: NDArray[Any], n: int, m: int) -> None:
    if rows.shape != columns.shape or rows.ndim != 1:
        raise VerificationError(f"{rows.shape} rows for {columns.shape} columns")
    if len(rows) == 0:
        return
    if (np.diff(rows) <= 0).any() or rows[0] < 0 or rows[-1] >= n:
        raise VerificationError("the rows are not distinct, ascending and of the matrix")
    if columns.min() < 0 or columns.max() >= m:
        raise VerificationError("a column is not of the matrix")
    times = np.bincount(columns, minlength=m)
    if times.max() > 1:
        raise VerificationError(f"column {int(times.argmax())} has two rows")


def _check_prices(
    costs: DenseCosts | SparseCosts | PointCosts,
    item: int,
    u: NDArray[Any],
    v: NDArray[Any],
    tolerance: float,
) -> None:
    """Check that the prices of every pair, of costs to minimise, are at most its cost."""
    sign = -1 if costs.maximize else 1
    if isinstance(costs, SparseCosts):
        row = costs.row
        over = u[row] + v[costs.column] - sign * costs.values > tolerance
        if over.any():
            place = int(over.argmax())
            _fail(int(row[place]), int(costs.column[place]))
        return
    _, n, m = costs.shape
    step = max(1, CHUNK // max(m, 1))
    for begin in range(0, n, step):
        stop = begin + step
        if isinstance(costs, PointCosts):
            part = costs.block(begin, stop)
        else:
            part = _wide(costs.values[item, begin:stop])
        over = u[begin : begin + step, None] + v - sign * part > tolerance
        if over.any():
            i, j = divmod(int(over.argmax()), m)
            _fail(begin + i, j)


def _check_cardinality(costs: SparseCosts, rows: NDArray[Any], columns: NDArray[Any]) -> None:
    """Check that there cannot be more pairs: as many rows and columns as pairs cover all that are allowed."""
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
    covered = ~reached[costs.row] | entered[costs.column]
    if not covered.all() or int((~reached).sum() + entered.sum()) != len(rows):
        raise VerificationError(f"more than {len(rows)} pairs could be assigned")


def _tolerance(at_pairs: NDArray[Any], u: NDArray[Any], v: NDArray[Any]) -> float:
    """Return the rounding error that prices may have; 0 for integers."""
    if u.dtype.kind == "i":
        return 0
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        raise VerificationError("a price is not finite")
    scale = max(float(np.abs(part).max(initial=0.0)) for part in (at_pairs, u, v))
    return ROUNDINGS * float(np.finfo(np.float64).eps) * scale * max(min(len(u), len(v)), 1)


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.float64) if values.dtype == np.float32 else values


def _first(faulty: NDArray[np.bool_], names: NDArray[Any]) -> int:
    return int(names[faulty.argmax()])


def _fail(row: int, column: int) -> None:
    raise VerificationError(f"the prices of row {row} and column {column} exceed the cost of the pair")
