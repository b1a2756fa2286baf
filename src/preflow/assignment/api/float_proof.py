"""Float costs of any size: solve, check that prices prove the assignment, otherwise solve as integers.

A solver of floats has rounding errors relative to the largest numbers that it adds. These may be costs that
no optimal assignment uses, such as a large number for pairs that are to be avoided. The rounding errors may
then exceed the differences of all other costs.

Definitions. An item is *suspect* if a price exceeds LARGE times the costs of its pairs. *K* is what the pairs
found cost in total beyond the least costs of their rows.

::

    solve all items                                                        solve_proved
    for each suspect item that its prices do not prove optimal:            unproved, _mend
        subtract from each row its least cost                              solve_rounded
        repeat:
            cut costs off above K: no better assignment has a larger one
            round them to multiples of 2**-52 K, and solve these exactly   _solve_relative
            compute K again
        until K has hardly fallen
        if the prices leave a gap: reduce the costs by the prices, and solve again, while K falls much
                                                                           solve_reduced

Rounding loses multiples of 2**-52 K. K is large if the least cost of some row is far below any cost that the
row can have, for example a large reward that another row needs. So the costs are reduced by the prices: K is
then what the last rounding lost. The final prices are floats and may prove slightly less; the gap of the
result says how much. No integer sum overflows: see :func:`solve_rounded`.

The distances of many points are never stored. They are solved again by shortest paths from prices 0, without
row reduction, so that no price exceeds the cost of the assignment.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array, Number
from ...certify.assignment import StoppedError, check_assignment, excess, price_error, proved_gap
from ...certify.assignment_batch import unproved_items
from ...errors import VerificationError
from ...graph.costs import DenseCosts, SparseCosts
from ...graph.point_costs import PointCosts
from ...kernels.kernel import kernel
from ...solving.method import Method
from ...solving.run import Control
from ..lockfree_scaling import squared
from ..serial_shortest_path import MOST_DISTANCES, ShortestPathOptions
from ..serial_shortest_path import solve as solve_by_paths
from ..serial_shortest_path.points import row_minima, solve_points
from ..solution import OVERFLOW, SOLVED, STOPPED, Solution

#: Prices up to this many times the sum of the costs of all pairs need no check.
LARGE = 4.0
#: Items of up to this number of costs are checked together.
SMALL = 1 << 16
#: Bits of the rounded costs: their sums, the prices, are exact as floats.
BITS = 52
#: The rounding is fine enough if the pairs cost at least this share of the number that it is relative to.
SHARE = 1 / 16
#: A proof suffices if its gap is at most this share of the costs of the pairs.
SMALL_GAP = 2.0**-42
#: Costs with more pairs, including those of rows added to make a square, are not reduced by prices.
MOST_PAIRS = 1 << 24
#: Number of roundings in a least reduced cost; distances between points have the most.
FEW_ROUNDINGS = 8.0
#: The remark on items that were solved again.
SOLVED_AGAIN = "costs of very different size: solved again without those that cannot matter"

Costs = DenseCosts | SparseCosts | PointCosts


def solve_proved(
    method: Method, costs: Costs, options: Any, control: Control, go_on: bool = False
) -> Solution:
    """Solve costs to minimise, with at least as many columns as rows, so that prices prove the result.

    Parameters and result are those of a solver: see :func:`..serial_shortest_path.solve`.
    """
    found: Solution = method.solve(costs, options, control, go_on)
    if costs.dtype.kind == "i" or 0 in costs.shape:
        return found
    suspect = np.zeros(len(found.ending), dtype=np.bool_)
    largest = np.zeros(len(suspect)) if found.largest is None else found.largest
    if not find_large_numbers(found.match, found.u, found.v, found.ending, largest, suspect):
        return found
    try:
        _mend(method, costs, options, control, found, np.flatnonzero(suspect))
    except StoppedError:
        found.ending[suspect] = STOPPED
    return found._replace(total=None)


def _mend(
    method: Method,
    costs: Costs,
    options: Any,
    control: Control,
    found: Solution,
    suspect: NDArray[np.int64],
) -> None:
    """Solve the suspect items again that their prices do not prove, or raise StoppedError."""
    items = unproved(costs, found, suspect, control.stop)
    if items and SOLVED_AGAIN not in control.remarks:
        control.remarks.append(SOLVED_AGAIN)
    for item in items:
        again = _stored(costs.one(item))
        if isinstance(again, PointCosts):
            match, u, v, ending = solve_points(again, use_auction=False, reduction=0, control=control)
            found.match[item], found.u[item], found.v[item], found.ending[item] = match, u, v, ending
            continue
        solve_rounded(method, again, options, control, found, item)
        if found.ending[item] != SOLVED:
            continue
        rows = np.arange(found.match.shape[1])
        if not _gap_is_small(again, rows, found.match[item], found.u[item], found.v[item], control.stop):
            solve_reduced(method, again, options, control, found, item)


@kernel
def find_large_numbers(
    match: NDArray[np.int64],
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    ending: NDArray[np.int64],
    largest: NDArray[np.float64],
    suspect: NDArray[np.bool_],
) -> bool:
    """Mark solved items with prices, or `largest`, above LARGE times the costs of their pairs; return if any.

    Prices show how large the numbers in a solve were, since solvers start from the least costs of rows or
    columns and only lower prices.
    """
    some = False
    for item in range(len(ending)):
        if ending[item] != SOLVED:
            continue
        size, most = 0.0, largest[item]
        for i in range(match.shape[1]):
            size += abs(u[item, i] + v[item, match[item, i]])
            most = max(most, abs(u[item, i]))
        for j in range(v.shape[1]):
            most = max(most, abs(v[item, j]))
        suspect[item] = most > LARGE * size
        some = some or suspect[item]
    return some


def unproved(costs: Costs, found: Solution, items: NDArray[np.int64], stop: NDArray[np.int64]) -> list[int]:
    """Return the items whose prices do not prove their assignment optimal."""
    _, n, m = costs.shape
    if isinstance(costs, DenseCosts) and len(items) > 1 and n * m <= SMALL:
        part = DenseCosts(costs.values[items], (len(items),))
        match = found.match[items]
        rows = np.broadcast_to(np.arange(n), match.shape)
        total = part.at(np.arange(len(items))[:, None], rows, match).sum(axis=1, dtype=np.float64)
        failed = unproved_items(part, rows, match, found.u[items], found.v[items], total, stop)
        return [int(items[k]) for k in failed]
    return [item for item in items.tolist() if not is_proved(costs, found, item, stop)]


def is_proved(costs: Costs, found: Solution, item: int, stop: NDArray[np.int64]) -> bool:
    """Return whether the prices of an item prove its assignment optimal."""
    one = _stored(costs.one(item))
    rows, match, u, v = np.arange(costs.shape[1]), found.match[item], found.u[item], found.v[item]
    at_pairs = one.at(0, rows, match).astype(np.float64)
    if isinstance(one, PointCosts):
        least = row_minima(one, np.zeros(one.shape[2]))
        tolerance = price_error(np.abs(at_pairs).sum(), at_pairs.sum() - least.sum())
        off = np.abs(excess(u, v[match], at_pairs))
        return bool((off <= tolerance).all() and (u - row_minima(one, v) <= tolerance).all())
    return proves(one, rows, match, u, v, at_pairs.sum(), stop)


def proves(
    costs: Costs,
    rows: Array,
    columns: Array,
    u: Array,
    v: Array,
    total: AnyArray,
    stop: NDArray[np.int64],
) -> bool:
    """Return whether prices prove the assignment of one matrix optimal, up to a small share of its cost."""
    try:
        check_assignment(costs, 0, rows, columns, u, v, total, partial=False, stop=stop)
    except VerificationError:
        return False
    return _gap_is_small(costs, rows, columns, u, v, stop)


def _stored(costs: Costs) -> Costs:
    """Return distances between points as a matrix if that is small; other costs unchanged."""
    if not isinstance(costs, PointCosts) or costs.shape[1] * costs.shape[2] > MOST_DISTANCES:
        return costs
    return DenseCosts(costs.block(0, costs.shape[1])[None])


def _gap_is_small(
    costs: Costs,
    rows: Array,
    columns: Array,
    u: Array,
    v: Array,
    stop: NDArray[np.int64],
) -> bool:
    """Return whether the gap that the prices leave is a small share of the costs of the pairs."""
    at_pairs = costs.at(0, rows, columns).astype(np.float64)
    gap = proved_gap(costs, 0, rows, columns, u, v, at_pairs.sum(), partial=False, stop=stop)
    return bool(gap <= SMALL_GAP * np.abs(at_pairs).sum())


def solve_rounded(
    method: Method,
    costs: DenseCosts | SparseCosts,
    options: Any,
    control: Control,
    found: Solution,
    item: int,
) -> None:
    """Solve one matrix again, with costs rounded relative to the assignment found; write the solution.

    No sum overflows. Shortest paths start from prices that prove a bound of 0 or more. Each search raises the
    bound by the length of its path, and the last bound is the total of the optimal assignment, at most K.
    Only row reduction may lower prices further; if row reduction or another method gives up, shortest paths
    without row reduction solve the matrix.
    """
    rows = np.arange(costs.shape[1])
    least = _least(costs)
    beyond = replace(costs, values=_wide(costs.values) - _by_row(costs, least))
    match = found.match[item]
    beyond_least = math.fsum(beyond.at(0, rows, match).tolist())
    u, v = np.zeros(len(rows)), np.zeros(costs.shape[2])
    while beyond_least > 0:
        ending, match, u, v = _solve_relative(method, beyond, beyond_least, options, control)
        if ending != SOLVED:
            found.ending[item] = ending
            found.v[item] = 0
            return
        before, beyond_least = beyond_least, math.fsum(beyond.at(0, rows, match).tolist())
        if beyond_least >= SHARE * before:
            break
        u, v = (u, v) if beyond_least > 0 else (np.zeros_like(u), np.zeros_like(v))
    found.match[item], found.u[item], found.v[item] = match, least + u, v


def solve_reduced(
    method: Method,
    costs: DenseCosts | SparseCosts,
    options: Any,
    control: Control,
    found: Solution,
    item: int,
) -> None:
    """Solve one matrix again, reduced by its prices, while that makes K much smaller; write the best.

    Rows that may have any column at cost 0 make the matrix square. The reduced costs of a square matrix have
    the same optimal assignments as its costs.
    """
    _, n, m = costs.shape
    if costs.values.size + (m - n) * m > MOST_PAIRS:
        return
    square = squared(costs.to_sparse())
    square = replace(square, values=_wide(square.values))
    match = np.concatenate([found.match[item], np.setdiff1d(np.arange(m), found.match[item])])
    v = found.v[item].copy()
    u = np.concatenate([found.u[item], np.full(m - n, -v.max())])
    before = math.inf
    while not control.stopped:
        reduced = -excess(u[square.row], v[square.column], square.values)
        least = np.minimum.reduceat(reduced, square.first[:-1].astype(np.int64))
        beyond = replace(square, values=reduced - _by_row(square, least))
        beyond_least = math.fsum(beyond.at(0, np.arange(m), match).tolist())
        if not 0 < beyond_least < SHARE * before:
            return
        ending, match, u_more, v_more = _solve_relative(method, beyond, beyond_least, options, control)
        if ending != SOLVED:
            return
        before, u, v = beyond_least, u + (least + u_more), v + v_more
        _write_better(costs, found, item, match[:n], u[:n], v)


def _write_better(
    costs: DenseCosts | SparseCosts,
    found: Solution,
    item: int,
    match: NDArray[np.int64],
    u: NDArray[np.float64],
    v: NDArray[np.float64],
) -> None:
    """Write an assignment if it costs no more than the present one, and prices if they prove more."""
    rows = np.arange(costs.shape[1])
    sums = [costs.at(0, rows, pairs).astype(np.float64).tolist() for pairs in (match, found.match[item])]
    if math.fsum([*sums[0], *(-cost for cost in sums[1])]) <= 0:
        found.match[item] = match

    def gap(u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        return proved_gap(costs, 0, rows, found.match[item], u, v, 0.0, partial=False)

    if gap(u, v) <= gap(found.u[item], found.v[item]):
        found.u[item], found.v[item] = u, v


def _solve_relative(
    method: Method, costs: DenseCosts | SparseCosts, most: float, options: Any, control: Control
) -> tuple[int, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Solve float costs of zero or more that have an assignment which costs `most`, above 0.

    Returns the ending, the columns of all rows, and the prices of rows and columns. They are exact for costs
    rounded to multiples of a unit, about 2**-52 of `most`.
    """
    _, n, m = costs.shape
    unit = max(math.ldexp(1.0, math.frexp(most)[1] - BITS), 5e-324)
    cut = math.ceil(most / unit) + n + 1
    with np.errstate(over="ignore"):
        values = np.rint(np.minimum(costs.values / unit, cut)).astype(np.int64)
    whole = replace(costs, values=values)
    again: Solution = method.solve(whole, options, control)
    if again.ending[0] == OVERFLOW:
        again = solve_by_paths(whole, ShortestPathOptions(row_reduction=0), control)
    if again.ending[0] != SOLVED:
        return int(again.ending[0]), np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(m)
    return SOLVED, again.match[0], again.u[0] * unit, again.v[0] * unit


def bound_of_prices(own: Array, other: Array) -> Number:
    """Return a lower bound on the cost of every assignment of all rows, for costs to minimise.

    Parameters
    ----------
    own, other : ndarray of int64 or float64
        Prices of rows and columns. Those of rows are their least reduced costs, up to rounding errors.
    """
    least = np.sort(other)[: len(own)]
    if own.dtype.kind == "i":
        return sum(own.tolist()) + sum(least.tolist())
    size = max(float(np.abs(price).max(initial=0.0)) for price in (own, other))
    error = len(own) * FEW_ROUNDINGS * float(np.finfo(np.float64).eps) * size
    return math.nextafter(math.fsum([*own.tolist(), *least.tolist(), -error]), -math.inf)


def _least(costs: DenseCosts | SparseCosts) -> NDArray[np.float64]:
    """Return the least cost of every row; every row has an allowed pair."""
    if isinstance(costs, DenseCosts):
        return _wide(costs.values[0].min(axis=1))
    found: NDArray[np.float64] = np.minimum.reduceat(costs.values, costs.first[:-1].astype(np.int64))
    return found


def _by_row(costs: DenseCosts | SparseCosts, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one number per row in a shape that broadcasts to the costs."""
    if isinstance(costs, DenseCosts):
        return numbers[None, :, None]
    return np.repeat(numbers, np.diff(costs.first).astype(np.int64))


def _wide(values: Array) -> NDArray[np.float64]:
    """Return values as float64."""
    wide: NDArray[np.float64] = values.astype(np.float64, copy=False)
    return wide
