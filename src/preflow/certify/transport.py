"""The proof that a transport plan costs the least: its marginals, and a bound that prices of columns prove.

For any prices of the columns, each unit of a row goes to some column and costs at least the least cost less
price of the row, plus the price of the column where it arrives. All masses of the columns arrive, so no plan
costs less than :func:`price_bound`. Prices of the rows follow from those of the columns.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array
from ..errors import CostOverflowError, VerificationError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.point_costs import PointCosts
from ..parallel.pieces import run_pieces
from .exact import exact_dot

#: What a transport problem takes as costs.
TransportCosts = DenseCosts | SparseCosts | PointCosts | DeviceCosts
#: Costs that are read together.
CHUNK = 1 << 20
INT64_MAX = 2**63 - 1


def least_less_price(costs: TransportCosts, item: int, v: Array, threads: int = 1) -> Array:
    """Return, per row, the least cost less the price of its column; infinite for a row without pairs.

    Raises
    ------
    VerificationError
        An integer does not fit int64.
    """
    _, n, m = costs.shape
    _check_range(costs, item, v)
    if isinstance(costs, SparseCosts):
        least: Array = np.full(n, np.inf) if costs.dtype.kind == "f" else np.full(n, INT64_MAX)
        np.minimum.at(least, costs.row, costs.values - v[costs.column])
        return least
    least = np.empty(n, dtype=np.result_type(v.dtype, np.float64 if costs.dtype.kind == "f" else np.int64))
    step = max(1, CHUNK // max(m, 1))
    prices = costs.xp.asarray(v)

    def look(first: int, last: int) -> None:
        for begin in range(first, last, step):
            end = min(begin + step, last)
            if isinstance(costs, PointCosts):
                block: AnyArray = costs.block(begin, end)
            else:
                block = costs.values[item, begin:end]
            found = (block - prices).min(axis=1)
            least[begin:end] = costs.device.to_host(found) if isinstance(costs, DeviceCosts) else found

    run_pieces(look, n, 1 if isinstance(costs, DeviceCosts) else threads)
    return least


def price_bound(
    costs: TransportCosts, item: int, a: Array, b: Array, v: Array, threads: int = 1
) -> int | float:
    """Return the least cost of plans that prices of the columns prove; exact for integers."""
    v = _from_largest(v, b)
    least = least_less_price(costs, item, v, threads)
    sends = a > 0
    if costs.dtype.kind == "f" and np.isinf(least[sends]).any():
        return float("inf")
    return exact_dot(least[sends], a[sends]) + exact_dot(v, b)


def _from_largest(v: Array, b: Array) -> Array:
    """Return prices less that of the column of the largest mass: they prove the same, by smaller products."""
    return v - v[int(b.argmax())] if len(v) else v


def plan_cost(costs: TransportCosts, item: int, row: Array, column: Array, mass: Array) -> int | float:
    """Return the cost of a plan; exact for integers."""
    return exact_dot(_costs_of_pairs(costs, item, row, column), mass)


def _costs_of_pairs(costs: TransportCosts, item: int, row: Array, column: Array) -> Array:
    if isinstance(costs, DeviceCosts):
        there = costs.values[item][costs.xp.asarray(row), costs.xp.asarray(column)]
        return np.asarray(costs.device.to_host(there))
    return costs.at(item, row, column)


def _largest_cost(costs: TransportCosts) -> tuple[float, bool]:
    """Return a number that the size of no finite cost exceeds, and whether all pairs are allowed."""
    if isinstance(costs, PointCosts):
        _, n, m = costs.shape
        # By the triangle inequality; of squares, twice as much.
        row, column = costs.at(0, np.zeros(m, dtype=np.int64), np.arange(m)), costs.at(0, np.arange(n), 0)
        return 4 * float(np.abs(row).max() + np.abs(column).max() + abs(row[0])), True
    values, xp, largest = costs.values.reshape(-1), costs.xp, 0.0
    complete = not isinstance(costs, SparseCosts)
    for begin in range(0, len(values), CHUNK):
        sizes = xp.abs(values[begin : begin + CHUNK])
        finite = xp.isfinite(sizes)
        complete = complete and bool(finite.all())
        largest = max(largest, float(xp.where(finite, sizes, 0).max()))
    return largest, complete


def cost_of_rest(costs: TransportCosts, a: Array, b: Array, row: Array, column: Array, mass: Array) -> float:
    """Return what it costs, at most, to move what rounding left out of a plan, or moved too much.

    Rows and columns are served in turn. What would need a pair that is not allowed takes a path instead, on
    which no pair costs more than the largest cost.
    """
    left, right = a.astype(np.float64), b.astype(np.float64)
    np.subtract.at(left, row, mass)
    np.subtract.at(right, column, mass)
    # Sums that differ by rounding: the largest mass is what it is to be.
    surplus = float(left.sum() - right.sum())
    if surplus > 0:
        right[int(b.argmax())] += surplus
    else:
        left[int(a.argmax())] -= surplus
    if not left.any() and not right.any():
        return 0.0
    most, path = 0.0, len(a) + len(b)
    largest, complete = _largest_cost(costs)
    if len(row):
        used = np.abs(_costs_of_pairs(costs, 0, row, column).astype(np.float64))
        most = float(used.max()) * float(np.abs(left).sum() + np.abs(right).sum())
    rows, columns = np.flatnonzero(left > 0), np.flatnonzero(right > 0)
    sums = np.cumsum(left[rows]), np.cumsum(right[columns])
    sent, arriving = (float(total[-1]) if len(total) else 0.0 for total in sums)
    # What was moved too much is sent elsewhere: over a pair, or a path if not all pairs are allowed.
    again = abs(sent - arriving) - float(left[left < 0].sum() + right[right < 0].sum())
    most += again * largest * (1 if complete else path)
    if not len(rows) or not len(columns):
        return most
    most += path * 2.0**-50 * sent * largest
    meet = np.union1d(*sums)
    first, second = (np.minimum(np.searchsorted(total, meet), len(total) - 1) for total in sums)
    price = np.abs(_costs_of_pairs(costs, 0, rows[first], columns[second]).astype(np.float64))
    with np.errstate(over="ignore"):
        price = np.where(np.isfinite(price), price, path * largest)
        return most + float(price @ np.diff(meet, prepend=0.0))


def plan_gap(
    costs: TransportCosts,
    a: Array,
    b: Array,
    plan: tuple[Array, Array, Array],
    v: Array,
    threads: int = 1,
) -> float:
    """Return by how much the cost of a plan may differ from the least cost of the masses.

    Raises
    ------
    CostOverflowError
        Floats are so large that a cost or a bound is infinite.
    """
    cost = plan_cost(costs, 0, *plan)
    with np.errstate(over="ignore", invalid="ignore"):
        bound = price_bound(costs, 0, a, b, v, threads)
        gap = max(0.0, float(cost - bound)) + rounding_slack(costs, 0, a, b, v, threads)
        gap += cost_of_rest(costs, a, b, *plan)
    if not (math.isfinite(cost) and math.isfinite(gap)) or math.isnan(bound):
        raise CostOverflowError("costs times masses are more than float64 can represent")
    return gap


def rounding_slack(costs: TransportCosts, item: int, a: Array, b: Array, v: Array, threads: int = 1) -> float:
    """Return by how much rounding may change a cost or a bound: 0 for integers."""
    if costs.dtype.kind == "i" and a.dtype.kind == "i":
        return 0
    total, v = float(a.sum()), _from_largest(v, b)
    least = np.abs(least_less_price(costs, item, v, threads)[a > 0])
    largest = float(np.abs(v[b > 0]).max(initial=0)) + float(least.max(initial=0, where=np.isfinite(least)))
    # The larger number first: nothing underflows that counts.
    return (len(a) + len(b) + 2) * 2.0**-50 * max(total, largest) * min(total, largest)


def check_plan(
    costs: TransportCosts, item: int, a: Array, b: Array, row: Any, column: Any, mass: Any
) -> None:
    """Check that a plan sends the masses of the rows to the columns.

    Raises
    ------
    VerificationError
        Names the first pair, row or column at fault.
    """
    _, n, m = costs.shape
    for values, size, name in ((row, n, "row"), (column, m, "column")):
        if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.shape != np.shape(mass):
            raise VerificationError(f"{name} must be int64, one entry for each mass")
        if len(values) and (int(values.min()) < 0 or int(values.max()) >= size):
            raise VerificationError(f"{name} has a number outside 0 .. {size - 1}")
    if not isinstance(mass, np.ndarray) or mass.dtype != a.dtype or mass.ndim != 1:
        raise VerificationError(f"mass must be one dimension of {a.dtype}")
    if not (np.isfinite(mass) & (mass > 0)).all():
        raise VerificationError("a mass is not positive")
    slack = 0.0 if a.dtype.kind == "i" else (n + m + 2) * 2.0**-50 * float(a.sum())
    if a.dtype.kind == "i" and float(mass.sum(dtype=np.float64)) >= 2.0**62:
        raise VerificationError("the masses of the plan sum to 2**62 or more")
    for ends, wanted, name in ((row, a, "row"), (column, b, "column")):
        left = wanted.copy()
        np.subtract.at(left, ends, mass)
        broken = np.abs(left) > slack
        if broken.any():
            worst = int(broken.argmax())
            raise VerificationError(f"{name} {worst} has {left[worst]} that the plan does not move")


def check_transport(
    costs: TransportCosts,
    a: Array,
    b: Array,
    plan: tuple[Any, Any, Any],
    u: Any,
    v: Any,
    status: object,
    lower: int | float,
    upper: int | float,
    gap: int | float,
) -> None:
    """Prove the bounds of a result of one item, and if it is optimal that they meet within the gap.

    Raises
    ------
    VerificationError
        The proof fails.
    """
    kind = np.int64 if costs.dtype.kind == "i" else np.float64
    if not isinstance(v, np.ndarray) or v.dtype != kind or v.shape != b.shape or not np.isfinite(v).all():
        raise VerificationError(f"v must be {len(b)} finite numbers of {np.dtype(kind)}")
    if not isinstance(u, np.ndarray) or u.dtype != kind or u.shape != a.shape or not np.isfinite(u).all():
        raise VerificationError(f"u must be {len(a)} finite numbers of {np.dtype(kind)}")
    slack = rounding_slack(costs, 0, a, b, v)
    bound = price_bound(costs, 0, a, b, v)
    if status != "optimal":
        if not lower <= bound + slack:
            raise VerificationError(f"the prices prove {bound}, less than lower_bound, {lower}")
        if np.isinf(upper):
            return
    check_plan(costs, 0, a, b, *plan)
    cost = plan_cost(costs, 0, *plan)
    if not abs(cost - upper) <= slack:
        raise VerificationError(f"the plan costs {cost}, not {upper}")
    if status == "optimal" and not (cost - bound <= gap + slack and lower == upper):
        raise VerificationError(f"the prices prove {bound}, more than the gap {gap} below {cost}")
    if status == "optimal" and kind == np.int64:
        least = least_less_price(costs, 0, v)
        wrong = u < -least
        wrong[plan[0]] |= (u != -least)[plan[0]]
        if wrong.any():
            row = int(wrong.argmax())
            raise VerificationError(f"u[{row}] is {u[row]}, and {-least[row]} follows from v")


def _check_range(costs: TransportCosts, item: int, v: Array) -> None:
    if isinstance(costs, PointCosts) or costs.dtype.kind != "i" or v.dtype.kind != "i" or not len(v):
        return
    values = costs.values if isinstance(costs, SparseCosts) else costs.values[item]
    if values.size:
        largest = max(abs(int(values.max())), abs(int(values.min())))
        if largest + max(abs(int(v.max())), abs(int(v.min()))) > INT64_MAX:
            raise VerificationError("prices are too large for int64")
