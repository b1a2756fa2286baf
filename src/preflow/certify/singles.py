"""Prove by prices that pairs, and a charge for each row and column without a partner, cost the least.

Let a single row cost ``r[i]``, a single column ``k[j]`` and a pair ``c[i, j]``. Any choice of pairs costs at
least the sum of all prices ``u[i]`` and ``v[j]`` if ``u <= r``, ``v <= k`` and ``u[i] + v[j] <= c[i, j]``:
each row and each column is single or in one pair. Where prices exceed these limits, as rounding of floats may
make them, the bound is lower by the largest excess of each row, and the excess of each single column.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Number
from ..errors import VerificationError
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.network import exact_sum
from ..graph.point_costs import PointCosts
from ..graph.scaling import float_sum

#: Entries of a dense matrix that are looked at together.
CHUNK = 1 << 20
#: Rounding errors that a proof may have, relative to the sum of the sizes of all numbers in it.
ROUNDINGS = 64 * float(np.finfo(np.float64).eps)


#: Costs on the host, of all kinds.
HostCostsOfPairs: TypeAlias = DenseCosts | SparseCosts | PointCosts


class Singles(NamedTuple):
    """The costs of rows and of columns without a partner, of one matrix."""

    rows: Array
    columns: Array


def total_cost(
    costs: HostCostsOfPairs, singles: Singles, row: NDArray[np.int64], column: NDArray[np.int64]
) -> Number:
    """Return the cost of pairs and of all other rows and columns."""
    left = np.delete(singles.rows, row), np.delete(singles.columns, column)
    parts = (costs.at(0, row, column), *left)
    return sum(_sum(part) for part in parts)


def proved_bound(costs: HostCostsOfPairs, singles: Singles, u: Array, v: Array) -> Number:
    """Return the bound on the cost of any pairs and singles of one matrix that prices prove."""
    sign = -1 if costs.maximize else 1
    return _sum(u) + _sum(v) - sign * _excess(costs, singles, u, v)


def _excess(costs: HostCostsOfPairs, singles: Singles, u: Array, v: Array) -> Number:
    """Return by how much prices exceed costs: the most of each row, and of each column alone."""
    sign = -1 if costs.maximize else 1
    u, v = sign * u, sign * v
    of_rows = np.maximum(u - sign * singles.rows, _pair_excess(costs, sign, u, v))
    return _sum(np.maximum(of_rows, 0)) + _sum(np.maximum(v - sign * singles.columns, 0))


def _pair_excess(costs: HostCostsOfPairs, sign: int, u: Array, v: Array) -> Array:
    """Return by how much, at most, the prices of a row and a column exceed the cost of their pair."""
    _, n, m = costs.shape
    excess = np.zeros(n, dtype=u.dtype)
    if isinstance(costs, SparseCosts):
        row = costs.row
        np.maximum.at(excess, row, u[row] + v[costs.column] - sign * costs.values.astype(u.dtype))
        return excess
    step = max(1, CHUNK // max(m, 1))
    for begin in range(0, n if m else 0, step):
        rows = slice(begin, begin + step)
        found = costs.block(begin, begin + step) if isinstance(costs, PointCosts) else costs.values[0, rows]
        values = sign * found.astype(u.dtype)
        excess[rows] = (u[rows, None] + v - values).max(axis=1)
    return excess


def rounding_of(costs: HostCostsOfPairs, singles: Singles, result: tuple[Array, ...]) -> float:
    """Return the rounding error that a proof with floats may have."""
    row, column, u, v = result
    parts = (costs.at(0, row, column), *singles, u, v)
    return ROUNDINGS * sum(float(np.abs(part).sum(dtype=np.float64)) for part in parts)


def check_singles(costs: HostCostsOfPairs, singles: Singles, result: tuple[Any, ...], total: Number) -> None:
    """Prove the pairs, their total cost with the singles, and that nothing costs less.

    `result` has the rows and columns of the pairs, and the prices of rows and columns.

    Raises
    ------
    VerificationError
        The proof fails.
    """
    row, column, u, v = result
    _, n, m = costs.shape
    for names, size, what in ((row, n, "row"), (column, m, "column")):
        if len(names) and not 0 <= int(names.min()) <= int(names.max()) < size:
            raise VerificationError(f"a pair has a {what} out of range")
        if len(np.unique(names)) < len(names):
            raise VerificationError(f"a {what} is in two pairs")
    if not np.isfinite(costs.at(0, row, column)).all():
        raise VerificationError("a pair is not allowed")
    slack = rounding_of(costs, singles, result) if costs.dtype.kind == "f" else 0.0
    found = total_cost(costs, singles, row, column)
    if not abs(found - total) <= slack:
        raise VerificationError(f"pairs and singles cost {found}, not {total}")
    bound = proved_bound(costs, singles, u, v)
    short = bound - found if costs.maximize else found - bound
    if not short <= slack:
        raise VerificationError(f"the prices prove a cost of {bound}, not {found}")
    excess = _excess(costs, singles, u, v)
    if not excess <= slack:
        raise VerificationError(f"the prices exceed the costs by {excess}")


def _sum(values: Array) -> Number:
    return float_sum(values) if values.dtype.kind == "f" else exact_sum(values)
