"""Float costs of any size: solve, see whether the prices prove the assignment, else solve integers instead.

A solver of floats rounds relative to the largest numbers that it adds up. These may be costs that no best
assignment has, such as a large number for pairs that are hardly allowed; the rounding errors may then exceed
the differences of all other costs. So an item whose prices are larger than the costs of its pairs is checked
(:mod:`..certify.assignment`). If that fails, its costs become integers, relative to the assignment found:

- From each row its least cost is taken. Let the pairs found cost K more than that, together. No better
  assignment has a pair that costs more than K beyond the least of its row: larger costs are cut off there.
- They are rounded to multiples of 2**-52 K and solved exactly; no sum overflows, see :func:`solve_rounded`.
- Where the assignment found then costs much less than K beyond the least of its rows, this is done again.

What is left to rounding is relative to the costs of the last assignment.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certify.assignment import check_assignment, price_error
from ..certify.assignment_stacks import unproved_items
from ..errors import VerificationError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.point_costs import PointCosts
from ..kernels.kernel import kernel
from ..solving.method import Method
from ..solving.run import Control
from .point_solver import row_minima
from .serial_shortest_path import MOST_DISTANCES, ShortestPathOptions
from .serial_shortest_path import solve as solve_by_paths
from .state import OVERFLOW, SOLVED, Solution

#: Prices up to this many times the sum of the costs of all pairs are no reason for a check.
LARGE = 4.0
#: Items of up to this many costs are checked together.
SMALL = 1 << 16
#: Bits of the rounded costs: prices, their sums, are floats exactly.
BITS = 52
#: The rounding is fine enough where the pairs cost at least this share of what it is relative to.
SHARE = 1 / 16
#: Rounding errors of a least reduced cost, which distances between points have most of.
FEW_ROUNDINGS = 8.0
#: What the reason for a choice says of items that were solved again.
SOLVED_AGAIN = "costs of very different size: solved again without those that cannot matter"

Costs = DenseCosts | SparseCosts | PointCosts


def solve_proved(
    method: Method, costs: Costs, options: Any, control: Control, go_on: bool = False
) -> Solution:
    """Solve costs to minimise, with at least as many columns as rows; prices of floats are a proof.

    Parameters and result are those of a solver, for which see :func:`.serial_shortest_path.solve`.
    """
    found: Solution = method.solve(costs, options, control, go_on)
    if costs.dtype.kind == "i" or 0 in costs.shape:
        return found
    suspect = np.zeros(len(found.ending), dtype=np.bool_)
    largest = np.zeros(len(suspect)) if found.largest is None else found.largest
    if not find_large_numbers(found.match, found.u, found.v, found.ending, largest, suspect):
        return found
    items = unproved(costs, found, np.flatnonzero(suspect))
    if not items:
        return found
    control.remarks.append(SOLVED_AGAIN)
    for item in items:
        again = costs.one(item)
        if isinstance(again, PointCosts):
            if found.match.size * again.shape[2] > MOST_DISTANCES:
                continue
            again = DenseCosts(again.block(0, again.shape[1])[None])
        solve_rounded(method, again, options, control, found, item)
    return found._replace(total=None)


@kernel
def find_large_numbers(match: Any, u: Any, v: Any, ending: Any, largest: Any, suspect: Any) -> bool:
    """Note solved items that have prices, or a given number, large beside their pairs' costs; return if any.

    It is prices that tell where solvers begin with the least costs of rows or columns and only lower these.
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


def unproved(costs: Costs, found: Solution, items: NDArray[np.int64]) -> list[int]:
    """Return which of the items are not proved the best by their prices."""
    _, n, m = costs.shape
    if isinstance(costs, DenseCosts) and len(items) > 1 and n * m <= SMALL:
        part = DenseCosts(costs.values[items], (len(items),))
        match = found.match[items]
        rows = np.broadcast_to(np.arange(n), match.shape)
        total = part.at(np.arange(len(items))[:, None], rows, match).sum(axis=1, dtype=np.float64)
        failed = unproved_items(part, rows, match, found.u[items], found.v[items], total)
        return [int(items[k]) for k in failed]
    return [item for item in items.tolist() if not is_proved(costs, found, item)]


def is_proved(costs: Costs, found: Solution, item: int) -> bool:
    """Return whether an item's prices prove its assignment."""
    rows, match = np.arange(costs.shape[1]), found.match[item]
    at_pairs = costs.at(item, rows, match).astype(np.float64)
    if isinstance(costs, PointCosts):
        least = row_minima(costs, np.zeros(costs.shape[2]))
        tolerance = price_error(np.abs(at_pairs).sum(), at_pairs.sum() - least.sum())
        return bool((found.u[item] - row_minima(costs, found.v[item]) <= tolerance).all())
    try:
        check_assignment(
            costs, item, rows, match, found.u[item], found.v[item], at_pairs.sum(), partial=False
        )
    except VerificationError:
        return False
    return True


def solve_rounded(
    method: Method,
    costs: DenseCosts | SparseCosts,
    options: Any,
    control: Control,
    found: Solution,
    item: int,
) -> None:
    """Solve one matrix again, with costs rounded relative to the assignment found; write what is found.

    No sum overflows: shortest paths start from prices that prove zero or more, each search adds the length of
    its path to that, and it ends at the total of the best assignment, below K. Row reduction alone may lower
    prices further; where that or another method gives up, it is left out.
    """
    rows = np.arange(costs.shape[1])
    least = _least(costs)
    beyond = replace(costs, values=_wide(costs.values) - _by_row(costs, least))
    match = found.match[item]
    excess = math.fsum(beyond.at(0, rows, match).tolist())
    u, v = np.zeros(len(rows)), np.zeros(costs.shape[2])
    while excess > 0:
        unit = max(math.ldexp(1.0, math.frexp(excess)[1] - BITS), 5e-324)
        cut = math.ceil(excess / unit) + len(rows) + 1
        with np.errstate(over="ignore"):
            values = np.rint(np.minimum(beyond.values / unit, cut)).astype(np.int64)
        whole = replace(beyond, values=values)
        again: Solution = method.solve(whole, options, control)
        if again.ending[0] == OVERFLOW:
            again = solve_by_paths(whole, ShortestPathOptions(row_reduction=0), control)
        if again.ending[0] != SOLVED:
            found.ending[item] = again.ending[0]
            found.v[item] = v
            return
        match = again.match[0]
        u, v = again.u[0] * unit, again.v[0] * unit
        before, excess = excess, math.fsum(beyond.at(0, rows, match).tolist())
        if excess >= SHARE * before:
            break
        u, v = (u, v) if excess > 0 else (np.zeros_like(u), np.zeros_like(v))
    found.match[item], found.u[item], found.v[item] = match, least + u, v


def bound_of_prices(own: NDArray[Any], other: NDArray[Any]) -> Any:
    """Return what no assignment of all rows costs less than, for costs to minimise.

    Parameters
    ----------
    own, other : ndarray of int64 or float64
        Prices of rows and columns; those of rows are their least reduced costs, but for rounding errors.
    """
    least = np.sort(other)[: len(own)]
    if own.dtype.kind == "i":
        return sum(own.tolist()) + sum(least.tolist())
    size = max(float(np.abs(price).max(initial=0.0)) for price in (own, other))
    error = len(own) * FEW_ROUNDINGS * float(np.finfo(np.float64).eps) * size
    return math.nextafter(math.fsum([*own.tolist(), *least.tolist(), -error]), -math.inf)


def _least(costs: DenseCosts | SparseCosts) -> NDArray[np.float64]:
    """Return the least cost of every row, each of which has an allowed pair."""
    if isinstance(costs, DenseCosts):
        return _wide(costs.values[0].min(axis=1))
    found: NDArray[np.float64] = np.minimum.reduceat(costs.values, costs.first[:-1].astype(np.int64))
    return found


def _by_row(costs: DenseCosts | SparseCosts, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of all rows so that they broadcast to the costs."""
    if isinstance(costs, DenseCosts):
        return numbers[None, :, None]
    return np.repeat(numbers, np.diff(costs.first).astype(np.int64))


def _wide(values: NDArray[Any]) -> NDArray[np.float64]:
    wide: NDArray[np.float64] = values.astype(np.float64, copy=False)
    return wide
