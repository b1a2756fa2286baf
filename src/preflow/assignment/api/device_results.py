"""Complete the solution of a batch that a GPU solved: items solved on the host, sums of costs, bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import AnyArray, Array, ArrayModule
from ...certify.assignment_batch import unproved_items
from ...errors import SolverError
from ...graph.costs import DenseCosts, SparseCosts
from ...graph.device.costs import DeviceCosts
from ...graph.device.points import DevicePoints
from ...graph.point_costs import PointCosts
from ..device_solution import DeviceSolution
from ..solution import INFEASIBLE, SOLVED
from .float_proof import LARGE, bound_of_prices

Costs = DenseCosts | SparseCosts | PointCosts
Arrays = tuple[Array, Array, Array, Array]
#: Solves one item; returns its pairs and the prices of its rows and columns.
SolveOne = Callable[[Costs, int], Arrays]


def infeasible_items(solution: DeviceSolution, costs: DeviceCosts | DevicePoints) -> list[int]:
    """Return the items in which not all rows, and not all columns, can be paired."""
    if solution.num_infeasible == 0:
        return []
    found: list[int] = np.flatnonzero(
        costs.device.to_host(solution.ending)[: solution.done] == INFEASIBLE
    ).tolist()
    if len(found) != solution.num_infeasible:
        raise SolverError(f"{solution.num_infeasible} items were infeasible, {len(found)} say so")
    return found


def large_and_unproved(solution: DeviceSolution, costs: DeviceCosts) -> list[int]:
    """Return solved items of floats whose prices exceed the costs of the pairs and do not prove them best."""
    if costs.values.dtype.kind == "i" or 0 in costs.shape or solution.done == 0 or solution.num_large == 0:
        return []
    xp, done = costs.xp, slice(0, solution.done)
    row, column, u, v, total, ending = (part[done] for part in solution[:6])
    paired = (row >= 0) & (ending == SOLVED)[:, None]
    rows, columns = (xp.where(paired, ends, 0) for ends in (row, column))
    at_pairs = costs.values[xp.arange(len(row))[:, None], rows, columns]
    size = xp.where(paired, xp.abs(at_pairs), 0).sum(axis=1, dtype=np.float64)
    largest = xp.maximum(xp.abs(u).max(axis=1), xp.abs(v).max(axis=1))
    suspect = np.flatnonzero(costs.device.to_host((largest > LARGE * size) & (ending == SOLVED)))
    if not len(suspect):
        return []
    sizes = None if costs.sizes is None else costs.sizes[suspect]
    chosen = xp.asarray(suspect)
    part = replace(costs, values=costs.values[chosen], leading=(len(suspect),), sizes=sizes)
    failed = unproved_items(part, *(values[chosen] for values in (row, column, u, v, total)))
    return [int(suspect[k]) for k in failed]


def finish_on_host(
    solution: DeviceSolution,
    xp: ArrayModule,
    items: list[int],
    on_host: Callable[[int], Costs],
    solve_one: SolveOne,
) -> DeviceSolution:
    """Solve items on the host, which may leave rows unpaired; return the solution completed with them.

    `on_host` returns the costs of an item on the host.
    """
    for item in items:
        one = on_host(item)
        row, column, u, v = solve_one(one, item)
        for on_device, found, rest in (
            (solution.row, row, -1),
            (solution.column, column, -1),
            (solution.u, u, 0),
            (solution.v, v, 0),
        ):
            on_device[item, : len(found)] = xp.asarray(found)
            on_device[item, len(found) :] = rest
        solution.total[item] = one.at(0, row, column).sum(dtype=solution.total.dtype)
    if items:
        most = int((solution.row >= 0).sum(axis=1).max())
        return solution._replace(row=solution.row[:, :most], column=solution.column[:, :most])
    return solution


def forget_rest(solution: DeviceSolution) -> None:
    """Clear the pairs of items whose solve did not end, and the prices of those that have none."""
    for values in solution[:2]:
        values[solution.done :] = -1
    solution.total[solution.done :] = 0
    for values in solution[2:4]:
        values[solution.done + solution.num_priced :] = 0


def totals(solution: DeviceSolution, costs: DeviceCosts | DevicePoints) -> AnyArray:
    """Return the sum of the costs of every item's pairs, as Python integers if 64 bits may not suffice."""
    if isinstance(costs, DevicePoints):
        return solution.total
    extent = costs.extent
    most = max(-int(extent.least), int(extent.most)) if costs.values.dtype.kind == "i" else 0
    if most * solution.row.shape[1] < 2**63:
        return solution.total
    rows, columns = (costs.device.to_host(part) for part in (solution.row, solution.column))
    values, found = costs.on_host().values, np.zeros(len(rows), dtype=object)
    for item, (row, column) in enumerate(zip(rows, columns, strict=True)):
        found[item] = sum(values[item, row[row >= 0], column[row >= 0]].tolist())
    return found


def bounds(
    sums: Any, solution: DeviceSolution, costs: DeviceCosts | DevicePoints, partial: bool
) -> tuple[AnyArray, AnyArray]:
    """Return lower and upper bounds of every item's optimum, after a solve that stopped early."""
    host = sums if sums.dtype == object else costs.device.to_host(sums).astype(object)
    lower, upper = host.copy(), host
    lower[solution.done :], upper[solution.done :] = -np.inf, np.inf
    if partial:
        return lower, upper
    sign = -1 if costs.maximize else 1
    for item in range(solution.done, solution.done + solution.num_priced):
        sizes = None if isinstance(costs, DevicePoints) else costs.sizes
        n, m = costs.shape[1:] if sizes is None else sizes[item].tolist()
        u, v = (sign * costs.device.to_host(prices[item]) for prices in (solution.u, solution.v))
        sides = (u[:n], v[:m]) if n <= m else (v[:m], u[:n])
        (upper if costs.maximize else lower)[item] = sign * bound_of_prices(*sides)
    return lower, upper
