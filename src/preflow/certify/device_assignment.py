"""Prove many assignments optimal on a GPU at once, as :mod:`.assignment` proves one on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.costs import within
from ..graph.device_costs import DeviceCosts
from .assignment import ROUNDINGS

#: Costs that are looked at together.
CHUNK = 1 << 24


def unproved_items(costs: DeviceCosts, row: Any, column: Any, u: Any, v: Any, totals: Any) -> list[int]:
    """Return the items whose pairs, as many as there can be, are not proved the best by their prices.

    Parameters
    ----------
    costs : DeviceCosts
    row, column : CuPy array of int64, shape (items, k)
        The pairs, by ascending rows; -1 where an item has fewer.
    u, v : CuPy array of int64 or float64, shapes (items, n) and (items, m)
    totals : CuPy array of int64 or float64, shape (items,)
    """
    items, n, m = costs.shape
    step = max(1, CHUNK // max(n * m, 1))
    found: list[int] = []
    for begin in range(0, items, step):
        part = slice(begin, begin + step)
        proved = _proved(costs, part, row[part], column[part], u[part], v[part], totals[part])
        found += (begin + np.flatnonzero(~costs.device.to_host(proved))).tolist()
    return found


def _proved(costs: DeviceCosts, part: slice, row: Any, column: Any, u: Any, v: Any, totals: Any) -> Any:
    xp, sign = costs.xp, -1 if costs.maximize else 1
    values = costs.values[part]
    items, n, m = values.shape
    integer = values.dtype.kind == "i"
    values = sign * values.astype(np.int64 if integer else np.float64)
    u, v, totals = sign * u, sign * v, sign * totals
    given = np.full((items, 2), [n, m]) if costs.sizes is None else costs.sizes[part]
    sizes = xp.asarray(given)
    paired = row >= 0
    good = paired.sum(axis=1) == sizes.min(axis=1)
    good &= ((row[:, 1:] > row[:, :-1]) | ~paired[:, 1:]).all(axis=1)
    good &= ((row < sizes[:, :1]) & (column < sizes[:, 1:]) & ((column >= 0) == paired)).all(axis=1)
    rows, columns = (xp.where(paired & good[:, None], ends, 0) for ends in (row, column))
    index = xp.arange(items)[:, None]
    at_pairs = xp.where(paired, values[index, rows, columns] if rows.size else rows, 0)
    scale = _largest(xp, at_pairs, u, v)
    tolerance: Any = 0
    if not integer:
        good &= xp.isfinite(scale)
        tolerance = ROUNDINGS * float(np.finfo(np.float64).eps) * scale * xp.maximum(sizes.min(axis=1), 1)
    of_pairs = xp.take_along_axis(u, rows, 1) + xp.take_along_axis(v, columns, 1)
    good &= ~((xp.abs(at_pairs - of_pairs) > _each(tolerance, 1)) & paired).any(axis=1)
    over = u[:, :, None] + v[:, None, :] - values > _each(tolerance, 2)
    if costs.sizes is not None:
        over &= within(xp, sizes, n, m)
    good &= ~over.any(axis=(1, 2))
    for price, ends, side in ((u, rows, 0), (v, columns, 1)):
        good &= _leaves_the_dearer(xp, price, ends, paired, sizes[:, side], tolerance)
    return good & (xp.abs(at_pairs.sum(axis=1) - totals) <= tolerance * xp.maximum(sizes.min(axis=1), 1))


def _leaves_the_dearer(xp: Any, price: Any, ends: Any, paired: Any, size: Any, tolerance: Any) -> Any:
    """Return where ends are distinct and nothing left over has a smaller price than what is not."""
    if price.shape[1] == 0:
        return xp.ones(len(price), dtype=bool)
    used = xp.zeros(price.shape, dtype=bool)
    item, place = xp.nonzero(paired)
    used[item, ends[item, place]] = True
    left = ~used & (xp.arange(price.shape[1]) < size[:, None])
    low = np.iinfo(np.int64).min // 2 if price.dtype.kind == "i" else -np.inf
    dearest = xp.where(used, price, low).max(axis=1)
    cheapest = xp.where(left, price, -low).min(axis=1)
    return (used.sum(axis=1) == paired.sum(axis=1)) & (dearest <= cheapest + tolerance)


def _largest(xp: Any, *parts: Any) -> Any:
    """Return the largest absolute value of each item."""
    sizes = [xp.abs(part).max(axis=1) if part.shape[1] else xp.zeros(len(part)) for part in parts]
    return xp.maximum(xp.maximum(sizes[0], sizes[1]), sizes[2])


def _each(tolerance: Any, dimensions: int) -> Any:
    """Return the tolerances of items so that they go with arrays of so many further dimensions."""
    return tolerance if isinstance(tolerance, int) else tolerance.reshape(-1, *(1,) * dimensions)
