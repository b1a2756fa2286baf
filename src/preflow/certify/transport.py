"""The proof that a transport plan costs the least: what it moves, and a bound that prices of columns prove.

For any prices of the columns, each unit of a row goes to some column and costs at least the least cost less
price of the row, plus the price of the column where it arrives. All masses of the columns arrive, so no plan
costs less than :func:`price_bound`. Prices of the rows follow from those of the columns.

Integers are proved exactly. For floats the difference of the cost and the bound is a sum of what each pair
costs above its prices, times its mass. All terms are small where the plan is optimal, whatever the size of
costs that the plan does not use. Float masses are rounded, so a plan leaves a *rest* of them. What it costs
to move the rest is part of the gap.

Where this is not close (:func:`..graph.scaling.is_close`), the proof is repeated in rational arithmetic
(:func:`exact_proof`). The pairs of the plan are a forest, and a forest carries given masses in one way only:
so the exact plan follows from its pairs.

Sums of float masses may differ by rounding. The largest mass of the side with the smaller sum is then taken
to be larger by the difference.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Number
from ..errors import CostOverflowError, VerificationError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.network import INT64_MAX, exact_sum, largest_size
from ..graph.point_costs import PointCosts
from ..graph.scaling import is_close
from ..parallel.pieces import run_pieces
from .exact import (
    as_floats,
    as_integers,
    exact_dot,
    float_near,
    rounded_down,
    rounded_up,
    scaled_exactly,
    two_sum,
)
from .fields import check_array, check_bounds, check_status, checked_number

#: What a transport problem takes as costs.
TransportCosts = DenseCosts | SparseCosts | PointCosts | DeviceCosts
#: Costs that are read together.
CHUNK = 1 << 20
#: Float masses are rounded to integers whose sum has this number of bits.
MASS_BITS = 60
#: Bits of the sum of all rests where they are int64. What is taken back may be added to both sides.
INTEGER_BITS = 58
#: More than the relative rounding error of a sum or difference of two floats.
UNIT = 2.0**-52
#: More than the relative rounding error of sums of up to 2**40 numbers of one sign, and of products.
MARGIN = 1 + 2.0**-12
#: Numbers below this one lose bits in products with small numbers.
TINY = 1e-280
#: Relative error of prices of rows: they may have been computed on another machine.
PRICE_ERROR = 2.0**-44

TransportPlan = tuple[Array, Array, Array]


class PlanProof(NamedTuple):
    """The cost of a plan, and the bounds that are proved for it."""

    cost: int | float  #: the sum over the pairs of the plan; of floats rounded correctly
    bound: int | float  #: no plan costs less
    gap: int | float  #: how far `cost` may be from the least cost; 0 for integers
    size: float  #: the sum of the absolute values of the terms of `cost`
    close: bool  #: whether the gap is that of an optimal answer


def least_less_price(costs: TransportCosts, item: int, v: Array, threads: int = 1) -> Array:
    """Return, per row, the least cost less the price of its column; infinite for a row without pairs.

    VerificationError: an integer does not fit int64.
    """
    _, n, m = costs.shape
    _check_range(costs, item, v)
    if isinstance(costs, SparseCosts):
        least: Array = np.full(n, np.inf) if costs.dtype.kind == "f" else np.full(n, INT64_MAX)
        with np.errstate(over="ignore"):
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
            with np.errstate(over="ignore"):
                found = (block - prices).min(axis=1)
            least[begin:end] = costs.device.to_host(found) if isinstance(costs, DeviceCosts) else found

    run_pieces(look, n, 1 if isinstance(costs, DeviceCosts) else threads)
    return least


def prices_of_rows(costs: TransportCosts, least: Array) -> Array:
    """Return the prices of rows that follow from :func:`least_less_price`; 0 for rows without pairs."""
    some = np.isfinite(least) if costs.dtype.kind == "f" else least != INT64_MAX
    found: Array = np.where(some, -least, 0)
    return found


def price_bound(
    costs: TransportCosts, item: int, a: Array, b: Array, v: Array, threads: int = 1
) -> int | float:
    """Return the least cost of plans that prices of the columns prove; exact for integers, else rounded down.

    VerificationError: an integer does not fit int64.
    """
    if costs.dtype.kind == a.dtype.kind == "i":
        least = least_less_price(costs, item, v, threads)
        return exact_dot(least[a > 0], a[a > 0]) + exact_dot(v, b)
    bound = _exact_bound(on_host(costs, item), a, b, v, threads)
    return math.inf if bound is None else rounded_down(bound)


def plan_cost(costs: TransportCosts, item: int, row: Array, column: Array, mass: Array) -> int | float:
    """Return the cost of a plan: exact for integers, of floats rounded correctly."""
    return exact_dot(costs_of_pairs(costs, item, row, column), mass)


def costs_of_pairs(costs: TransportCosts, item: int, row: Array, column: Array) -> Array:
    """Return the costs of pairs, on the host."""
    if isinstance(costs, DeviceCosts):
        there = costs.values[item][costs.xp.asarray(row), costs.xp.asarray(column)]
        return np.asarray(costs.device.to_host(there))
    return costs.at(item, row, column)


def on_host(costs: TransportCosts, item: int) -> DenseCosts | SparseCosts | PointCosts:
    """Return the costs of an item in the memory of the host."""
    return costs.one_on_host(item) if isinstance(costs, DeviceCosts) else costs.one(item)


def prove_plan(
    costs: TransportCosts,
    a: Array,
    b: Array,
    plan: TransportPlan,
    v: Array,
    threads: int = 1,
    *,
    exact: bool | None = None,
    least: Array | None = None,
) -> PlanProof:
    """Prove what a plan of one item costs beyond the least cost of the masses.

    The arguments are as :func:`check_plan` wants them. `exact` proves in rational arithmetic; None: where
    floats do not prove that the plan is close. `least` is the result of :func:`least_less_price`.
    CostOverflowError if the cost is more than float64 can represent.
    """
    price = costs_of_pairs(costs, 0, plan[0], plan[1])
    cost = exact_dot(price, plan[2])
    if least is None:
        least = least_less_price(costs, 0, v, threads)
    if costs.dtype.kind == a.dtype.kind == "i":
        bound = exact_dot(least[a > 0], a[a > 0]) + exact_dot(v, b)
        return PlanProof(cost, bound, cost - bound, 0.0, cost == bound)
    with np.errstate(all="ignore"):
        above, beyond, size = _float_gap(costs, a, b, plan, v, least, price)
        terms = len(a) + len(b)
        gap = above + beyond
        if math.isfinite(gap) and math.isfinite(cost):
            close = is_close(gap, size, terms)
            if not exact and (close or exact is False):
                return PlanProof(cost, rounded_down(Fraction(cost) - Fraction(above)), gap, size, close)
    if exact is False:
        return PlanProof(cost, -math.inf, math.inf, size, False)
    return exact_proof(costs, a, b, plan, v, threads, (cost, beyond))


def _float_gap(
    costs: TransportCosts, a: Array, b: Array, plan: TransportPlan, v: Array, least: Array, price: Array
) -> tuple[float, float, float]:
    """Return how far the cost of a plan may be above the least cost, how far below; and its size."""
    row, column, mass = plan
    rest = rests(a, b, plan)
    if rest is None:
        return math.inf, math.inf, math.inf
    amount = mass.astype(np.float64)
    net = price - v[column]
    above = (net - least[row]).astype(np.float64)
    if costs.dtype.kind == "f":
        error = np.abs(net) + np.abs(least[row])
        if isinstance(costs, PointCosts):  # blocks of distances are computed in another order
            error = (costs.rows.shape[1] + 4) * (error + np.abs(v).max(initial=0))
        above = np.maximum(above, 0) + UNIT * error
    total = float(amount @ above)
    sizes = np.abs(price.astype(np.float64))
    size = float(amount @ sizes)
    unsent = 0.0
    for left, prices in ((rest.rows, least), (rest.columns, v)):
        some = np.flatnonzero(left)
        unsent += float(np.abs(rest.floats(left[some])) @ np.abs(prices[some].astype(np.float64)))
    beyond = cost_of_rest(costs, rest, plan, sizes)
    if rest.rows.any() or rest.columns.any():
        beyond += len(v) * 5e-324  # what products lose at most
    if size < TINY and (sizes.any() or above.any() or beyond):
        return math.inf, beyond * MARGIN, size  # products lose bits
    value = UNIT * size
    return (total + unsent) * MARGIN + value, beyond * MARGIN + value, size


class Rests(NamedTuple):
    """The masses that a plan leaves, less those moved too much, exactly: integers over a power of two."""

    #: int64, or Python integers: in sum equal
    rows: Array
    columns: Array
    exponent: int  #: of the power of two

    def floats(self, whole: Array) -> NDArray[np.float64]:
        """Return integers over the power of two as floats."""
        if whole.dtype == object:
            return as_floats(whole, self.exponent)
        found: NDArray[np.float64] = np.ldexp(whole.astype(np.float64), -self.exponent)
        return found


def rests(a: Array, b: Array, plan: TransportPlan) -> Rests | None:
    """Return what a plan leaves of the masses; None if its masses are no multiples of the solver's unit."""
    row, column, mass = plan
    if a.dtype.kind == "i":
        sides = a.copy(), b.copy()
        np.subtract.at(sides[0], row, mass)
        np.subtract.at(sides[1], column, mass)
        return Rests(*sides, 0)
    unit = mass_exponent(max(float(a.sum()), float(b.sum())))
    moved = None if unit is None else scaled_exactly(mass, unit)
    if unit is None or moved is None:
        return None
    whole, parts = [], []
    for values, ends in ((a, row), (b, column)):
        scaled = np.ldexp(values, unit)
        if not np.array_equal(np.ldexp(scaled, -unit), values):
            return None
        nearest = np.rint(scaled)
        left = nearest.astype(np.int64)
        np.subtract.at(left, ends, moved)
        whole.append(left)
        parts.append(scaled - nearest)
    # Most rests and their sums are multiples of a number that int64 has room for.
    most = sum(float(np.abs(each).sum()) for each in (*whole, *parts))
    exponent = INTEGER_BITS - math.frexp(most)[1]
    small = [scaled_exactly(part, exponent) for part in parts]
    if exponent >= 0 and small[0] is not None and small[1] is not None:
        found: list[Array] = [(whole[0] << exponent) + small[0], (whole[1] << exponent) + small[1]]
    else:
        large, exponent = as_integers(*parts)
        found = [(left.astype(object) << exponent) + part for left, part in zip(whole, large, strict=True)]
    surplus = int(found[0].sum()) - int(found[1].sum())
    raised, values = (found[1], b) if surplus > 0 else (found[0], a)
    raised[int(values.argmax())] += abs(surplus)
    return Rests(found[0], found[1], unit + exponent)


def mass_exponent(total: float) -> int | None:
    """Return the power of two by which float masses of this sum are multiplied to become integers.

    None if the sum is infinite.
    """
    return MASS_BITS - math.frexp(total)[1] if math.isfinite(total) else None


def cost_of_rest(costs: TransportCosts, rest: Rests, plan: TransportPlan, used: NDArray[np.float64]) -> float:
    """Return what it costs, at most, to move what rounding left out of a plan, or moved too much.

    Rows and columns are served in turn. What would need a pair that is not allowed takes a path instead, on
    which no pair costs more than the largest cost. If no path leads to where masses are wanted, no plan moves
    them exactly, and they stay where they are. `used` has the sizes of the costs of the plan's pairs.
    """
    row, column, mass = plan
    left, right = rest.rows.copy(), rest.columns.copy()
    if not left.any() and not right.any():
        return 0.0
    # What was moved too much is taken back from the pair with the most mass.
    order, taken, total = np.argsort(mass), np.zeros(len(mass), dtype=left.dtype), 0.0
    for side, ends, others, other_ends in ((left, row, right, column), (right, column, left, row)):
        of_vertex = np.zeros(len(side), dtype=np.int64)
        of_vertex[ends[order]] = order
        over = np.flatnonzero(side < 0)
        pairs, amount = of_vertex[over], -side[over]
        np.add.at(taken, pairs, amount)
        total += float(used[pairs] @ rest.floats(amount))
        np.add.at(others, other_ends[pairs], amount)
        side[over] = 0
    touched = np.flatnonzero(taken)
    if not (rest.floats(taken[touched]) <= mass[touched]).all():
        return math.inf
    path, rows, columns = len(left) + len(right), np.flatnonzero(left), np.flatnonzero(right)
    sums = np.cumsum(left[rows]), np.cumsum(right[columns])
    detour = 0.0
    if len(rows) and len(columns):
        meet = np.union1d(*sums)
        first, second = (np.minimum(np.searchsorted(part, meet), len(part) - 1) for part in sums)
        price = np.abs(costs_of_pairs(costs, 0, rows[first], columns[second]).astype(np.float64))
        amount = rest.floats(np.diff(meet, prepend=0))
        direct = np.isfinite(price)
        total += float(price[direct] @ amount[direct])
        detour = float(amount[~direct].sum())
    if detour > 0 and not _is_stuck(costs, rest, plan):
        total += path * _largest_cost(costs) * detour
    return total


def _is_stuck(costs: TransportCosts, rest: Rests, plan: TransportPlan) -> bool:
    """Return whether what a plan leaves reaches nothing that it lacks, by allowed pairs and back by its."""
    left, right = rest.rows, rest.columns
    row, column, _ = plan
    host = on_host(costs, 0)
    rows, columns = left > 0, right < 0
    new = rows
    while True:
        if isinstance(host, PointCosts):
            return False
        if isinstance(host, SparseCosts):
            columns[host.column[new[host.row]]] = True
        else:
            columns |= np.isfinite(host.values[0, new]).any(axis=0)
        new = np.zeros_like(rows)
        new[row[columns[column]]] = True
        new &= ~rows
        if not new.any():
            break
        rows |= new
    return not ((left < 0) & rows).any() and not ((right > 0) & columns).any()


def _largest_cost(costs: TransportCosts) -> float:
    """Return a number that the size of no finite cost exceeds."""
    if isinstance(costs, PointCosts):
        _, n, m = costs.shape
        # By the triangle inequality; of squares, twice as much.
        row, column = costs.at(0, np.zeros(m, dtype=np.int64), np.arange(m)), costs.at(0, np.arange(n), 0)
        return 4 * float(np.abs(row).max() + np.abs(column).max() + abs(row[0]))
    values, xp, largest = costs.values.reshape(-1), costs.xp, 0.0
    for begin in range(0, len(values), CHUNK):
        sizes = xp.abs(values[begin : begin + CHUNK])
        largest = max(largest, float(xp.where(xp.isfinite(sizes), sizes, 0).max()))
    return largest


def exact_proof(
    costs: TransportCosts,
    a: Array,
    b: Array,
    plan: TransportPlan,
    v: Array,
    threads: int,
    rough: tuple[int | float, float],
) -> PlanProof:
    """Prove a plan in rational arithmetic, as :func:`prove_plan`.

    `rough` is the cost of the plan, and how far below the least cost it may be where its pairs carry no exact
    plan.
    """
    host = on_host(costs, 0)
    row, column, mass = plan
    cost, beyond = rough
    if not math.isfinite(cost):
        raise CostOverflowError("costs times masses are more than float64 can represent")
    bound = _exact_bound(host, a, b, v, threads)
    (first, second, moved), unit = as_integers(a, b, mass)
    carried = carried_by_forest(row, column, moved, balanced(first, second))
    (price,), power = as_integers(host.at(0, row, column))
    most: Fraction | float = Fraction(cost) + Fraction(beyond) if math.isfinite(beyond) else math.inf
    if carried is not None:
        most = Fraction(int((price * carried).sum()), 2 ** (unit + power))
    gap = math.inf
    if isinstance(most, Fraction) and bound is not None:
        gap = rounded_up(max(most - Fraction(cost), Fraction(cost) - bound))
    size = float_near(Fraction(int((np.abs(price) * moved).sum()), 2 ** (unit + power)))
    close = is_close(gap, size, len(a) + len(b), rounding_of(cost, len(a) + len(b)))
    return PlanProof(cost, math.inf if bound is None else rounded_down(bound), gap, size, close)


def rounding_of(cost: float, terms: int) -> float:
    """Return what the rounding of a cost, and near 0 of each of its terms, may hide."""
    return math.ulp(cost) + terms * math.ulp(0.0)


def balanced(a: NDArray[np.object_], b: NDArray[np.object_]) -> tuple[list[int], list[int]]:
    """Return integer masses with equal sums: the largest of the smaller side takes the difference."""
    sides = a.tolist(), b.tolist()
    surplus = sum(sides[0]) - sum(sides[1])
    if surplus:
        raised = sides[surplus > 0]
        raised[raised.index(max(raised))] += abs(surplus)
    return sides


def carried_by_forest(
    row: Array, column: Array, mass: NDArray[np.object_], masses: tuple[list[int], list[int]]
) -> NDArray[np.object_] | None:
    """Return how much each pair carries if the pairs move exactly the masses; None if they cannot.

    Pairs that close a cycle with earlier ones carry what they do. Leaves of the forest of the others are
    served one after the other.
    """
    n = len(masses[0])
    left = [*masses[0], *masses[1]]
    carried: list[int | float] = mass.tolist()
    ends = list(zip(row.tolist(), (column + n).tolist(), strict=True))
    root, degree, joined = list(range(len(left))), [0] * len(left), [0] * len(left)

    def top(vertex: int) -> int:
        while root[vertex] != vertex:
            root[vertex] = root[root[vertex]]
            vertex = root[vertex]
        return vertex

    for pair, (i, j) in enumerate(ends):
        x, y = top(i), top(j)
        if x == y:
            left[i] -= carried[pair]
            left[j] -= carried[pair]
            continue
        root[x] = y
        for vertex in (i, j):
            degree[vertex] += 1
            joined[vertex] ^= pair
    leaves = [vertex for vertex, number in enumerate(degree) if number == 1]
    for leaf in leaves:
        if degree[leaf] != 1:
            continue
        pair = joined[leaf]
        i, j = ends[pair]
        other = i + j - leaf
        carried[pair] = left[leaf]
        left[other] -= left[leaf]
        left[leaf] = 0
        degree[leaf] = 0
        degree[other] -= 1
        joined[other] ^= pair
        if degree[other] == 1:
            leaves.append(other)
    if any(left) or min(carried, default=0) < 0:
        return None
    found = np.empty(len(carried), dtype=object)
    found[:] = carried
    return found


def _exact_bound(
    costs: DenseCosts | SparseCosts | PointCosts, a: Array, b: Array, v: Array, threads: int
) -> Fraction | None:
    """Return the bound that prices prove, exactly; None if it is infinite: a row with mass has no pairs."""
    (first, second), unit = as_integers(a, b)
    masses = balanced(first, second)
    rows = np.flatnonzero(np.array(masses[0], dtype=object) > 0)
    high, low = exact_least(costs, v, threads)
    if not np.isfinite(high[rows].astype(np.float64)).all() or not np.isfinite(low[rows]).all():
        return None
    (least, rounding, price), power = as_integers(high[rows], low[rows], v)
    total = sum(map(int.__mul__, (least + rounding).tolist(), [masses[0][i] for i in rows.tolist()]))
    total += sum(map(int.__mul__, price.tolist(), masses[1]))
    return Fraction(total, 2 ** (unit + power))


def exact_least(
    costs: DenseCosts | SparseCosts | PointCosts, v: Array, threads: int = 1
) -> tuple[Array, NDArray[np.float64]]:
    """Return :func:`least_less_price` without rounding, each number as the sum of two.

    Rounding keeps the order of numbers. So the exact minimum of a row is among the pairs whose rounded
    differences are the least.
    """
    high = least_less_price(costs, 0, v, threads)
    low = np.zeros(len(high))
    if costs.dtype.kind == "i":
        return high, low
    _, n, m = costs.shape
    found = np.full(n, np.inf)
    if isinstance(costs, SparseCosts):
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.flatnonzero(costs.values - v[costs.column] == high[costs.row])
            rows, columns = costs.row[places], costs.column[places].astype(np.int64)
            np.minimum.at(found, rows, two_sum(costs.values[places], -v[columns])[1])
        return high, np.where(np.isfinite(high), found, 0.0)
    step = max(1, CHUNK // max(m, 1))
    spread = 0.0
    if isinstance(costs, PointCosts):
        # A block of distances is computed in another order than single ones.
        spread = (costs.rows.shape[1] + 4) * UNIT
        high = high.copy()

    def look(begin: int, end: int) -> None:
        rows = slice(begin, end)
        if isinstance(costs, PointCosts):
            block = costs.block(begin, end)
            error = spread * np.abs(block)
            place = np.nonzero(block - error - v <= (block + error - v).min(axis=1)[:, None])
            price = costs.at(0, place[0] + begin, place[1])
            net = price - v[place[1]]
            high[rows] = np.inf
            np.minimum.at(high, place[0] + begin, net)
            tied = net == high[place[0] + begin]
            place, price = (place[0][tied], place[1][tied]), price[tied]
        else:
            block = costs.values[0, rows]
            place = np.nonzero(block - v == high[rows, None])
            price = block[place]
        lost = two_sum(price.astype(np.float64), -v[place[1]])[1]
        np.minimum.at(found, place[0] + begin, lost)

    def look_at_blocks(first: int, last: int) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(first, last, step):
                look(begin, min(begin + step, last))

    run_pieces(look_at_blocks, n, threads)
    return high, np.where(np.isfinite(high), found, 0.0)


def check_plan(
    costs: TransportCosts, item: int, a: Array, b: Array, row: AnyArray, column: AnyArray, mass: AnyArray
) -> None:
    """Check that a plan sends the masses of the rows to the columns, floats up to rounding.

    VerificationError: names the first pair, row or column at fault.
    """
    _, n, m = costs.shape
    check_array(np, mass, "mass", (-1,), a.dtype)
    for values, size, name in ((row, n, "row"), (column, m, "column")):
        check_array(np, values, name, mass.shape, np.int64)
        if len(values) and (int(values.min()) < 0 or int(values.max()) >= size):
            raise VerificationError(f"{name} has a number outside 0 .. {size - 1}")
    if not (np.isfinite(mass) & (mass > 0)).all():
        raise VerificationError("a mass is not positive")
    if len(np.unique(row * m + column)) < len(row):
        raise VerificationError("a pair appears twice")
    sums = [exact_sum(part) for part in (mass, a, b) if part.dtype.kind == "i"]
    if len(set(sums)) > 1:
        raise VerificationError(f"the plan moves {sums[0]} of masses that sum to {sums[1]} and {sums[2]}")
    with np.errstate(over="ignore", invalid="ignore"):
        total = max(float(a.sum(dtype=np.float64)), float(b.sum(dtype=np.float64)))
    for ends, wanted, name in ((row, a, "row"), (column, b, "column")):
        left = wanted.copy()
        np.subtract.at(left, ends, mass)
        slack: Number = 0
        if a.dtype.kind == "f":
            # By so much sums of masses may differ. The gap of the result says what it may cost.
            slack = (n + m + 2) * 2.0**-50 * total
        broken = ~(np.abs(left) <= slack)
        if broken.any():
            worst = int(broken.argmax())
            raise VerificationError(f"{name} {worst} has {left[worst]} that the plan does not move")


def check_transport(
    costs: TransportCosts,
    masses: tuple[AnyArray, AnyArray],
    plan: tuple[AnyArray, AnyArray, AnyArray],
    prices: tuple[AnyArray, AnyArray],
    status: object,
    bounds: tuple[object, object],
    gap: object,
) -> None:
    """Prove the bounds of a result of one item, and if it is optimal that they meet within the gap.

    `masses` and `prices` are those of rows and of columns; `plan` has the rows, columns and masses of pairs.
    All are on the host. VerificationError if the proof fails.
    """
    _, n, m = costs.shape
    (a, b), (u, v) = masses, prices
    check_array(np, a, "a", (n,), np.int64, np.float64)
    check_array(np, b, "b", (m,), a.dtype)
    for side, name in ((a, "a"), (b, "b")):
        if not (np.isfinite(side) & (side >= 0)).all():
            raise VerificationError(f"{name} has a mass that is negative or not finite")
    kind = np.int64 if costs.dtype.kind == "i" else np.float64
    for side, name, size in ((u, "u", n), (v, "v", m)):
        check_array(np, side, name, (size,), kind)
        if not np.isfinite(side).all():
            raise VerificationError(f"{name} has a price that is not finite")
    lower, upper, distance = (
        checked_number(value, name)
        for value, name in zip((*bounds, gap), ("lower_bound", "upper_bound", "gap"), strict=True)
    )
    check_status(status)
    least = least_less_price(costs, 0, v)
    if status != "optimal" and upper == math.inf:
        bound = price_bound(costs, 0, a, b, v)
        if not lower <= bound:
            raise VerificationError(f"the prices prove {bound}, less than lower_bound, {lower}")
        if distance != math.inf:
            raise VerificationError(f"the gap is {distance}, and there is no upper bound")
        check_bounds(status, *bounds)
        _check_prices_of_rows(costs, plan, u, v, least, has_plan=False)
        return
    check_plan(costs, 0, a, b, *plan)
    try:
        proof = prove_plan(costs, a, b, plan, v, exact=False, least=least)
        if not (proof.gap <= distance and (status == "optimal" or lower <= proof.bound)):
            proof = prove_plan(costs, a, b, plan, v, exact=True, least=least)
    except CostOverflowError as error:
        raise VerificationError(str(error)) from None
    # A sum in the order of a GPU is not rounded correctly.
    summed = (n + m + 2) * UNIT * proof.size if isinstance(costs, DeviceCosts) else 0
    if not proof.cost - summed <= upper <= proof.cost + summed:
        raise VerificationError(f"the plan costs {proof.cost}, not {upper}")
    if not proof.gap <= distance:
        raise VerificationError(
            f"the prices prove {proof.bound}, and the plan may be off by {proof.gap}, more than {distance}"
        )
    is_integer = costs.dtype.kind == a.dtype.kind == "i"
    is_small = not is_integer and is_close(distance, proof.size, n + m, rounding_of(proof.cost, n + m))
    if status == "optimal" and not (distance == 0 or is_small):
        raise VerificationError(f"the gap {distance} is too large for an optimal plan")
    if not (lower == upper if status == "optimal" else lower <= proof.bound):
        raise VerificationError(f"the prices prove {proof.bound}, and lower_bound is {lower}")
    check_bounds(status, *bounds)
    _check_prices_of_rows(costs, plan, u, v, least, has_plan=True)


def _check_prices_of_rows(
    costs: TransportCosts,
    plan: tuple[AnyArray, AnyArray, AnyArray],
    u: Array,
    v: Array,
    least: Array,
    *,
    has_plan: bool,
) -> None:
    """Check that prices of rows are those that follow from the prices of columns; larger without mass."""
    some = np.isfinite(least) if costs.dtype.kind == "f" else least != INT64_MAX
    least = -prices_of_rows(costs, least)
    used, near = np.zeros(len(u), dtype=bool), np.full(len(u), np.abs(v).max(initial=0))
    if has_plan:
        used[plan[0]], near[plan[0]] = True, 0
        np.maximum.at(near, plan[0], np.abs(v[plan[1]]))
    slack: AnyArray = PRICE_ERROR * (np.abs(least) + near) if costs.dtype.kind == "f" else 0
    wrong = some & ~(u >= -least - slack) | used & ~(u <= -least + slack)
    if wrong.any():
        row = int(wrong.argmax())
        raise VerificationError(f"u[{row}] is {u[row]}, and {-least[row]} follows from v")


def _check_range(costs: TransportCosts, item: int, v: Array) -> None:
    if isinstance(costs, PointCosts) or costs.dtype.kind != "i" or v.dtype.kind != "i" or not len(v):
        return
    values = costs.values if isinstance(costs, SparseCosts) else costs.values[item]
    if values.size and largest_size(values) + largest_size(v) > INT64_MAX:
        raise VerificationError("prices are too large for int64")
