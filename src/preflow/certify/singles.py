"""Prove by prices that pairs, and a charge for each row and column without a partner, cost the least.

Let a single row cost ``r[i]``, a single column ``k[j]`` and a pair ``c[i, j]``. Any choice of pairs costs at
least the sum of all prices ``u[i]`` and ``v[j]`` if ``u <= r``, ``v <= k`` and ``u[i] + v[j] <= c[i, j]``:
each row and each column is single or in one pair. Where prices exceed these limits, as rounding of floats may
make them, the bound is lower by the largest excess of each row, and the excess of each single column.

Only what is chosen is added up: no large cost of a pair or of a single that is not chosen makes the proof
looser.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Number
from ..errors import VerificationError
from ..graph.costs import DenseCosts, SparseCosts, cut_off, largest_cost
from ..graph.network import exact_sum
from ..graph.point_costs import PointCosts
from .assignment import SMALLER, checked_prices, excess, gap_is_close
from .exact import ExactPrices, accurate_sum, as_integers

#: Entries of a dense matrix that are looked at together.
CHUNK = 1 << 20
#: An excess of floats is larger by this factor than computed, at most.
ROUNDED = 1 + 2.0**-50


#: Costs on the host, of all kinds.
HostCostsOfPairs: TypeAlias = DenseCosts | SparseCosts | PointCosts


class Singles(NamedTuple):
    """The costs of rows and of columns without a partner, of one matrix."""

    rows: Array
    columns: Array


def chosen_costs(
    costs: HostCostsOfPairs, singles: Singles, row: NDArray[np.int64], column: NDArray[np.int64]
) -> Array:
    """Return the costs of pairs, and of all other rows and columns."""
    left = np.delete(singles.rows, row), np.delete(singles.columns, column)
    return np.concatenate([costs.at(0, row, column), *left])


def total_cost(
    costs: HostCostsOfPairs, singles: Singles, row: NDArray[np.int64], column: NDArray[np.int64]
) -> Number:
    """Return the cost of pairs and of all other rows and columns."""
    return _sum(chosen_costs(costs, singles, row, column))


def proved_bound(costs: HostCostsOfPairs, singles: Singles, u: Array, v: Array) -> Number:
    """Return the bound on the cost of any pairs and singles of one matrix that prices prove."""
    sign = -1 if costs.maximize else 1
    terms = np.concatenate([sign * u, sign * v, *(-part for part in excesses(costs, singles, u, v))])
    return sign * _sum(terms)


def proved_gap(costs: HostCostsOfPairs, singles: Singles, result: tuple[Array, ...], total: Number) -> float:
    """Return how far a total of float costs may be from the best, rounded up.

    By no less do prices exceed costs. `result` has the rows and columns of the pairs, and the prices of rows
    and columns.
    """
    costs, singles, result, total, by = within_range(costs, singles, result, total)
    row, column, u, v = result
    sign = -1 if costs.maximize else 1
    chosen, prices = sign * chosen_costs(costs, singles, row, column), np.concatenate([u, v])
    above = np.concatenate(excesses(costs, singles, u, v))
    gap = max(
        accurate_sum(np.concatenate([[sign * total], -sign * prices, above])),
        accurate_sum(np.append(chosen, -sign * total)),
        accurate_sum(above),
    )
    return math.nextafter(gap * ROUNDED, math.inf) / by if gap > 0 else 0.0


def excesses(costs: HostCostsOfPairs, singles: Singles, u: Array, v: Array) -> tuple[Array, Array]:
    """Return by how much prices exceed costs: the most of each row, and of each column alone."""
    sign = -1 if costs.maximize else 1
    u, v = sign * u, sign * v
    of_rows = np.maximum(u - sign * singles.rows, _pair_excess(costs, sign, u, v))
    return np.maximum(of_rows, 0), np.maximum(v - sign * singles.columns, 0)


def _pair_excess(costs: HostCostsOfPairs, sign: int, u: Array, v: Array) -> Array:
    """Return by how much, at most, the prices of a row and a column exceed the cost of their pair."""
    _, n, m = costs.shape
    found = np.zeros(n, dtype=np.result_type(u, v))
    if isinstance(costs, SparseCosts):
        row = costs.row
        np.maximum.at(found, row, _excess(u[row], v[costs.column], sign * costs.values))
        return found
    step = max(1, CHUNK // max(m, 1))
    for begin in range(0, n if m else 0, step):
        rows = slice(begin, begin + step)
        given = costs.block(begin, begin + step)
        values = sign * given.astype(np.int64 if given.dtype.kind == "i" else np.float64)
        found[rows] = _excess(u[rows, None], v, values).max(axis=1)
    return found


def _excess(u: Array, v: Array, cost: Array) -> Array:
    """Return by how much prices exceed costs: none where no pair is allowed, infinitely past float64."""
    found: Array = excess(u, v, cost)
    if found.dtype.kind != "f":
        return found
    return np.where(cost == np.inf, -np.inf, np.where(np.isnan(found), np.inf, found))


def within_range(
    costs: HostCostsOfPairs, singles: Singles, result: tuple[Array, ...], total: Number
) -> tuple[HostCostsOfPairs, Singles, tuple[Array, ...], Number, float]:
    """Return numbers that can be added up, and the factor of all, as for assignments without singles."""
    row, column, u, v = result
    limit = float(largest_cost(np.dtype(np.float64), sum(costs.shape[1:])))
    most = max(float(np.abs(part).max(initial=0.0)) for part in singles)
    if not costs.huge and most <= limit:
        return costs, singles, result, total, 1.0
    numbers = (chosen_costs(costs, singles, row, column), u, v, np.array([total], dtype=np.float64))
    if max(float(np.abs(part).max(initial=0.0)) for part in numbers) <= limit / 8:
        singles = Singles(*(cut_off(part, limit) for part in singles))
        if costs.huge:
            assert not isinstance(costs, PointCosts)
            costs = replace(costs, values=cut_off(costs.values, limit), huge=False)
        return costs, singles, result, total, 1.0
    if isinstance(costs, PointCosts):
        costs = DenseCosts(costs.block(0, costs.shape[1])[None], maximize=costs.maximize)
    costs = replace(costs, values=costs.values * SMALLER, huge=False)
    singles = Singles(*(part * SMALLER for part in singles))
    return costs, singles, (row, column, u * SMALLER, v * SMALLER), total * SMALLER, SMALLER


def check_singles(
    costs: HostCostsOfPairs,
    singles: Singles,
    result: tuple[Any, ...],
    total: Number,
    *,
    gap: float | None = None,
    exact: ExactPrices | None = None,
) -> None:
    """Prove the pairs, their total cost with the singles, and that nothing costs less.

    `result` has the rows and columns of the pairs, and the prices of rows and columns. For floats the gap
    that the prices prove must be `gap` at most; if that is None, the gap of an optimal answer. `exact` are
    prices that the given ones are rounded from. VerificationError: the proof fails.
    """
    row, column, u, v = result
    _, n, m = costs.shape
    for names, size, what in ((row, n, "row"), (column, m, "column")):
        if len(names) and not 0 <= int(names.min()) <= int(names.max()) < size:
            raise VerificationError(f"a pair has a {what} out of range")
        if len(np.unique(names)) < len(names):
            raise VerificationError(f"a {what} is in two pairs")
    if (row[1:] <= row[:-1]).any():
        raise VerificationError("the rows are not ascending")
    chosen = chosen_costs(costs, singles, row, column)
    if chosen.dtype != object and not np.isfinite(chosen).all():
        raise VerificationError("a pair is not allowed")
    if costs.dtype.kind != "f":
        _check_whole(costs, singles, (row, column, checked_prices(u, 1), checked_prices(v, 1)), total)
        return
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        raise VerificationError("a price is not finite")
    off_by = abs(accurate_sum(np.append(chosen, -float(total))))
    if not gap_is_close(off_by, chosen, len(chosen)):
        raise VerificationError(f"pairs and singles cost {accurate_sum(chosen)}, not {total}")
    if exact is not None:
        if not exact.are_rounded(u, v):
            raise VerificationError("the prices are not the exact ones, rounded")
        part, alone, prices = in_integers(costs, singles, exact)
        whole = (row, column, prices.u, prices.v)
        _check_whole(part, alone, whole, total_cost(part, alone, row, column))
        return
    proved = proved_gap(costs, singles, (row, column, u, v), total)
    if not (gap_is_close(proved, chosen, len(chosen)) if gap is None else proved <= gap):
        raise VerificationError(f"the prices leave a gap of {proved}")


def _check_whole(costs: HostCostsOfPairs, singles: Singles, result: tuple[Array, ...], total: Number) -> None:
    """Prove what integers cost, and that nothing costs less."""
    row, column, u, v = result
    found = total_cost(costs, singles, row, column)
    if found != total:
        raise VerificationError(f"pairs and singles cost {found}, not {total}")
    if any(part.max(initial=0) > 0 for part in excesses(costs, singles, u, v)):
        raise VerificationError("the prices exceed the costs")
    bound = proved_bound(costs, singles, u, v)
    if bound != found:
        raise VerificationError(f"the prices prove a cost of {bound}, not {found}")


def in_integers(
    costs: HostCostsOfPairs, singles: Singles, exact: ExactPrices
) -> tuple[SparseCosts, Singles, ExactPrices]:
    """Return costs of one matrix, those of singles, and prices, all as integers times one power of two."""
    if isinstance(costs, PointCosts):
        costs = DenseCosts(costs.block(0, costs.shape[1])[None], maximize=costs.maximize)
    sparse = costs.to_sparse()
    parts, exponent = as_integers(sparse.values, *singles)
    prices = exact.scaled_to(max(exponent, exact.exponent))
    values, *alone = (part << (prices.exponent - exponent) for part in parts)
    return replace(sparse, values=values, huge=False), Singles(*alone), prices


def _sum(values: Array) -> Number:
    if values.dtype == object:
        return sum(values.tolist())
    return accurate_sum(values) if values.dtype.kind == "f" else exact_sum(values)
