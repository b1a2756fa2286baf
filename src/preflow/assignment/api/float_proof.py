"""Float costs of any size: solve, check that prices prove the assignment, otherwise solve as integers.

A solver of floats has rounding errors relative to the largest numbers that it adds. These may be costs that
no optimal assignment uses, such as a large number for pairs that are to be avoided. The rounding errors may
then exceed the differences of all other costs.

Definitions. An item is *suspect* if a price exceeds LARGE times the costs of its pairs. *K* is what the pairs
found cost in total beyond the least costs of their rows.

::

    solve all items; of huge costs, those cut off at a limit                solve_proved
    for each suspect item that its prices do not prove optimal:            unproved, _mend
        subtract from each row its least cost                              solve_rounded
        repeat:
            cut costs off above K: no better assignment has a larger one
            round them to multiples of 2**-52 K, and solve these exactly   _solve_relative
            compute K again
        until K has hardly fallen
        if the prices leave a gap:                                         solve_exactly
            repeat the same with integers of any size, until K is 0
    if an item uses a cost that was cut off: solve_exactly

Rounding loses multiples of 2**-52 K. K is large if the least cost of some row is far below any cost that the
row can have, for example a large reward that another row needs. So the costs are then reduced by the prices,
in exact arithmetic: K is what the last rounding lost, and each repetition takes 40 bits or more from it.
The final prices are rounded to floats and may prove slightly less; the gap of the result says how much. No
integer sum overflows: see :func:`solve_rounded`.

The distances of many points are never stored. They are solved again by shortest paths from prices 0, without
row reduction, so that no price exceeds the cost of the assignment.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array, Number, Numbers
from ...certify.assignment import (
    StoppedError,
    check_assignment,
    excess,
    gap_is_close,
    price_error,
    proved_gap,
)
from ...certify.assignment_batch import unproved_items
from ...certify.exact import ExactPrices, accurate_sum, as_floats, as_integers
from ...errors import CostOverflowError, VerificationError
from ...graph.costs import DenseCosts, SparseCosts, cut_off, largest_cost
from ...graph.point_costs import PointCosts
from ...kernels.kernel import kernel
from ...solving.method import Method
from ...solving.run import Control
from ..lockfree_scaling import make_square
from ..serial_shortest_path import MOST_DISTANCES
from ..serial_shortest_path.points import row_minima, solve_points
from ..shortest_paths import ShortestPathOptions, solve_costs
from ..solution import OVERFLOW, SOLVED, STOPPED, Solution

#: Prices up to this many times the sum of the costs of all pairs need no check.
LARGE = 4
#: Items of up to this number of costs are checked together.
SMALL = 1 << 16
#: Bits of the rounded costs: their sums, the prices, are exact as floats.
BITS = 52
#: The rounding is fine enough if the pairs cost at least this share of the number that it is relative to.
SHARE = 1 / 16
#: A proof suffices if its gap is at most this share of the costs of the pairs.
SMALL_GAP = 2.0**-42
#: The rounding errors of a cost less those of two singles, and of prices, relative to these numbers.
ROUNDING = 8 * float(np.finfo(np.float64).eps)
#: Costs with more pairs, including those of rows added to make a square, are not solved exactly.
MOST_PAIRS = 1 << 22
#: Number of roundings in a least reduced cost; distances between points have the most.
FEW_ROUNDINGS = 8.0
#: The remark on items that were solved again, with other costs: that is no attempt of a plan.
SOLVED_AGAIN = "costs of very different size: solved again without those that cannot matter"

Costs = DenseCosts | SparseCosts | PointCosts


def solve_proved(
    method: Method,
    costs: Costs,
    options: Any,
    control: Control,
    go_on: bool = False,
    huge: bool = False,
) -> Solution:
    """Solve costs to minimise, with at least as many columns as rows, so that prices prove the result.

    Parameters and result are those of a solver: see :func:`..serial_shortest_path.solve`. `huge`: whether
    some cost may be past :func:`preflow.graph.costs.largest_cost`.
    """
    given = costs
    if huge and not isinstance(costs, PointCosts):
        given = replace(costs, huge=True)
        limit = largest_cost(costs.dtype, costs.shape[1])
        costs = replace(costs, values=cut_off(costs.values, limit))
    found: Solution = method.solve(costs, options, control, go_on)
    if costs.dtype.kind == "i" or 0 in costs.shape:
        return found
    suspect = np.zeros(len(found.ending), dtype=np.bool_)
    largest = np.zeros(len(suspect)) if found.largest is None else found.largest
    find_large_numbers(found.match, found.u, found.v, found.ending, largest, suspect)
    lost = [] if not huge else _using_cut_off(given, costs, found)
    if not lost and not suspect.any():
        return found
    found = found._replace(total=None, gaps={}, exact={})
    suspect[lost] = False
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            _mend(method, costs, options, control, found, np.flatnonzero(suspect))
            suspect[lost] = True
            for item in lost:
                _finish(given.one(item), control, found, item)
    except StoppedError:
        found.ending[suspect] = STOPPED
    return found


def _using_cut_off(given: Costs, costs: Costs, found: Solution) -> list[int]:
    """Return the solved items that use a cost which was cut off, or do not use one below zero that was.

    Other items are optimal for the costs as given: to raise costs that they do not use leaves them optimal.
    """
    rows = np.arange(given.shape[1])
    items = []
    for item in np.flatnonzero(found.ending == SOLVED).tolist():
        one, cut = given.one(item), costs.one(item)
        assert not isinstance(one, PointCosts)
        assert not isinstance(cut, PointCosts)
        used = one.at(0, rows, found.match[item]) != cut.at(0, rows, found.match[item])
        if used.any() or (one.values < cut.values).any():
            items.append(item)
    return items


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
        else:
            solve_rounded(method, again, options, control, found, item)
        if found.ending[item] == SOLVED and not is_proved(costs, found, item, control.stop):
            _finish(again, control, found, item)


def _finish(costs: Costs, control: Control, found: Solution, item: int) -> None:
    """Solve one matrix exactly, and note prices or a gap where rounded prices do not prove the solution."""
    exact = None if isinstance(costs, PointCosts) else solve_exactly(costs, control, found, item)
    rows, match = np.arange(costs.shape[1]), found.match[item]
    at_pairs = costs.at(0, rows, match).astype(np.float64)
    total = accurate_sum(at_pairs)
    if not math.isfinite(total):
        return  # the caller refuses it
    u, v = found.u[item], found.v[item]
    gap = proved_gap(costs, 0, rows, match, u, v, total, partial=False, stop=control.stop)
    assert found.gaps is not None
    assert found.exact is not None
    if gap_is_close(gap, at_pairs, sum(costs.shape[1:])):
        return
    if exact is None:
        found.gaps[item] = gap
    else:
        found.exact[item] = exact


@kernel
def is_suspect(match: NDArray[np.int64], u: Numbers, v: Numbers, largest: float) -> bool:
    """Whether a price of one item, or `largest`, is above LARGE times the costs of the pairs."""
    size, most = 0.0, largest
    for i in range(len(match)):
        size += abs(u[i] + v[match[i]])
        most = max(most, abs(u[i]))
    for j in range(len(v)):
        most = max(most, abs(v[j]))
    return bool(most > LARGE * size)


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
        suspect[item] = is_suspect(match[item], u[item], v[item], largest[item])
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


def solve_exactly(
    costs: DenseCosts | SparseCosts, control: Control, found: Solution, item: int
) -> ExactPrices | None:
    """Solve one matrix again in exact arithmetic, from an assignment and its prices; write the solution.

    Returns the prices before rounding; None where the matrix is too large.

    Rows that may have any column at cost 0 make the matrix square. The reduced costs of a square matrix have
    the same optimal assignments as its costs.
    """
    _, n, m = costs.shape
    if costs.values.size + (m - n) * m > MOST_PAIRS:
        return None
    square = make_square(costs.to_sparse())
    square = replace(square, values=_wide(square.values))
    match = np.concatenate([found.match[item], np.setdiff1d(np.arange(m), found.match[item])])
    v = found.v[item]
    u = np.concatenate([found.u[item], np.full(m - n, -v.max())])
    optimal = optimal_prices(square, match, u, v, control)
    if optimal is None:
        raise StoppedError
    match, exact = optimal
    shift = exact.v.max() if m > n else 0  # columns that are left over have the largest price: 0
    exact = ExactPrices(exact.u[:n] + shift, exact.v - shift, exact.exponent)
    u, v = (as_floats(part, exact.exponent) for part in exact[:2])
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        raise CostOverflowError("the costs are so large that prices, sums of costs, pass float64")
    found.match[item], found.u[item], found.v[item] = match[:n], u, v
    return exact


def optimal_prices(
    costs: SparseCosts,
    match: NDArray[np.int64],
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    control: Control,
) -> tuple[NDArray[np.int64], ExactPrices] | None:
    """Return an optimal assignment of a square matrix of finite floats, and prices that prove it exactly.

    The closer the assignment `match` and the prices are to the best, the faster. Every row has an allowed
    pair. None if stopped.
    """
    n = len(match)
    costs = _near(costs, match, u, v)
    first, row, column = costs.first[:-1].astype(np.int64), costs.row, costs.column
    keys = row * n + column
    (values, of_rows, of_columns), exponent = as_integers(costs.values, u, v)
    while not control.stopped:
        beyond = values - of_rows[row] - of_columns[column]
        least = np.minimum.reduceat(beyond, first)
        beyond = beyond - least[row]
        of_rows = of_rows + least
        most = int(beyond[np.searchsorted(keys, np.arange(n) * n + match)].sum())
        if most == 0:
            return match, ExactPrices(of_rows, of_columns, exponent)
        power = max(most.bit_length() - BITS, 0)
        whole = np.minimum(beyond >> power, (most >> power) + n + 1).astype(np.int64)
        again = solve_costs(replace(costs, values=whole), ShortestPathOptions(row_reduction=0), control)
        if again.ending[0] != SOLVED:
            return None
        match = again.match[0]
        of_rows = of_rows + (again.u[0].astype(object) << power)
        of_columns = of_columns + (again.v[0].astype(object) << power)
    return None


def _near(
    costs: SparseCosts, match: NDArray[np.int64], u: NDArray[np.float64], v: NDArray[np.float64]
) -> SparseCosts:
    """Return the pairs that a better assignment may have, and those of the given one.

    No better assignment has a pair whose reduced cost exceeds that of the given assignment. Prices, too,
    change by no more than that: so pairs of four times as much stay below the prices.
    """
    row, column = costs.row, costs.column
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = -excess(u[row], v[column], costs.values)
        beyond = beyond - np.minimum.reduceat(beyond, costs.first[:-1].astype(np.int64))[row]
        used = match[row] == column
        lost = 2.0**-98 * (np.abs(u).max() + np.abs(v).max())
        most = 4 * beyond[used].sum() + len(match) * lost
        return costs.keep(used | ~(beyond > most))


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
        again = solve_costs(whole, ShortestPathOptions(row_reduction=0), control)
    if again.ending[0] != SOLVED:
        return int(again.ending[0]), np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(m)
    return SOLVED, again.match[0], again.u[0] * unit, again.v[0] * unit


def bound_of_prices(own: Array, other: Array) -> Number:
    """Return a lower bound on the cost of every assignment of all rows, for costs to minimise.

    `own` and `other` are prices of rows and columns. Those of rows are their least reduced costs, up to
    rounding errors.
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
