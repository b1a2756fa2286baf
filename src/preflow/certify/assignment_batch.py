"""Prove a batch of dense assignments optimal at once, on the host or on a GPU, like :mod:`.assignment`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, ArrayModule, Number
from ..graph.costs import DenseCosts, within
from ..graph.device.costs import DeviceCosts
from ..graph.scaling import accepted_gap
from .assignment import LARGEST_FLOAT_PRICE, LARGEST_PRICE, StoppedError, excess, price_error

#: Costs that are processed together.
CHUNK = 1 << 24
#: An item stays unproved where its cost exceeds the least costs of its rows by more than this factor times
#: the absolute costs of its pairs: the tolerance is relative to that, and may be coarse.
MOST_BEYOND = 1024.0


def unproved_items(
    costs: DenseCosts | DeviceCosts,
    row: AnyArray,
    column: AnyArray,
    u: AnyArray,
    v: AnyArray,
    totals: Any,
    stop: NDArray[np.int64] | None = None,
) -> list[int]:
    """Return the items whose prices do not prove their pairs optimal; each has as many pairs as possible.

    `row` and `column`, shape (items, k), are the pairs by ascending rows, -1 where an item has fewer. All
    arrays are NumPy or CuPy arrays, like those of the costs. StoppedError if `stop` became 1.
    """
    items, n, m = costs.shape
    step = max(1, CHUNK // max(n * m, 1))
    found: list[int] = []
    for begin in range(0, items, step):
        if stop is not None and stop[0]:
            raise StoppedError
        part = slice(begin, begin + step)
        proved = _proved(costs, part, row[part], column[part], u[part], v[part], totals[part])
        found += (begin + np.flatnonzero(~costs.to_host(proved))).tolist()
    return found


def _proved(
    costs: DenseCosts | DeviceCosts,
    part: slice,
    row: AnyArray,
    column: AnyArray,
    u: AnyArray,
    v: AnyArray,
    totals: Any,
) -> AnyArray:
    xp, sign = costs.xp, -1 if costs.maximize else 1
    values = costs.values[part]
    items, n, m = values.shape
    integer = values.dtype.kind == "i"
    values = sign * values.astype(np.int64 if integer else np.float64)
    given = np.full((items, 2), [n, m]) if costs.sizes is None else costs.sizes[part]
    sizes = xp.asarray(given)
    inside = None if costs.sizes is None else within(xp, sizes, n, m)
    paired = row >= 0
    good = paired.sum(axis=1) == sizes.min(axis=1)
    good &= ((row[:, 1:] > row[:, :-1]) | ~paired[:, 1:]).all(axis=1)
    good &= ((row < sizes[:, :1]) & (column < sizes[:, 1:]) & ((column >= 0) == paired)).all(axis=1)
    for price in (u, v):
        if integer:
            good &= ((price >= -LARGEST_PRICE) & (price <= LARGEST_PRICE)).all(axis=1)
        else:
            good &= (xp.abs(price) <= LARGEST_FLOAT_PRICE).all(axis=1)
    u, v = (xp.where(good[:, None], sign * price, 0) for price in (u, v))
    totals = sign * totals  # -2**63 is its own negative, but no sum has that value
    rows, columns = (xp.where(paired & good[:, None], ends, 0) for ends in (row, column))
    index = xp.arange(items)[:, None]
    at_pairs = xp.where(paired, values[index, rows, columns] if rows.size else rows, 0)
    tolerance: Any = 0
    if integer:
        most = (2**63 - 1) // max(rows.shape[1], 1)
        good &= ((at_pairs >= -most) & (at_pairs <= most)).all(axis=1)  # otherwise their sum may wrap
    else:
        good &= xp.isfinite(at_pairs).all(axis=1)
        at_pairs = xp.where(good[:, None], at_pairs, 0)
        size = xp.abs(at_pairs).sum(axis=1)
        beyond = at_pairs.sum(axis=1) - _least_sums(xp, values, inside, sizes)
        good &= beyond <= MOST_BEYOND * size
        tolerance = price_error(size, beyond)
    of_pairs = xp.take_along_axis(u, rows, 1), xp.take_along_axis(v, columns, 1)
    off = xp.where(paired, xp.abs(excess(*of_pairs, at_pairs)), 0)
    good &= (off <= _each(tolerance, 1)).all(axis=1)
    over = excess(u[:, :, None], v[:, None, :], values)
    if inside is not None:
        over = xp.where(inside, over, 0)
    over = xp.maximum(over, 0).max(axis=2) if m else xp.zeros((items, n))
    good &= (over <= _each(tolerance, 1)).all(axis=1)
    gaps = off.sum(axis=1) + over.sum(axis=1)
    for price, ends, side in ((u, rows, 0), (v, columns, 1)):
        distinct, dearer = _leaves_the_dearer(xp, price, ends, paired, sizes[:, side])
        good &= distinct & (dearer <= tolerance)
        gaps = gaps + dearer * paired.sum(axis=1)
    sums = at_pairs.sum(axis=1)
    if integer:
        return good & (sums == totals)
    # Sums of floats may be off by this share of the size themselves.
    accepted = accepted_gap(0) / 2 * size
    return good & (gaps <= accepted) & (xp.abs(sums - totals) <= accepted)


def _least_sums(xp: ArrayModule, values: AnyArray, inside: AnyArray, sizes: AnyArray) -> AnyArray:
    """Return, for every item, the sum of the least costs of its rows, of its columns if there are fewer.

    It is infinite where a row has no allowed pair; such an item has no provable pairs.
    """
    if 0 in values.shape:
        return xp.zeros(len(values))
    if inside is not None:
        values = xp.where(inside, values, np.inf)
    by_side = []
    for axis, count in ((2, sizes[:, 0]), (1, sizes[:, 1])):
        least = values.min(axis=axis)
        counted = xp.arange(least.shape[1]) < count[:, None]
        by_side.append(xp.where(counted, least, 0).sum(axis=1))
    return xp.where(sizes[:, 0] <= sizes[:, 1], *by_side)


def _leaves_the_dearer(
    xp: ArrayModule, price: AnyArray, ends: AnyArray, paired: AnyArray, size: Any
) -> tuple[AnyArray, AnyArray]:
    """Return where ends are distinct; and by how much an assigned price exceeds one that is left over."""
    if price.shape[1] == 0:
        return xp.ones(len(price), dtype=bool), xp.zeros(len(price), dtype=price.dtype)
    used = xp.zeros(price.shape, dtype=bool)
    item, place = xp.nonzero(paired)
    used[item, ends[item, place]] = True
    left = ~used & (xp.arange(price.shape[1]) < size[:, None])
    low = np.iinfo(np.int64).min // 4 if price.dtype.kind == "i" else -np.inf
    dearest = xp.where(used, price, low).max(axis=1)
    cheapest = xp.where(left, price, -low).min(axis=1)
    dearer = xp.where((dearest > cheapest), dearest - cheapest, 0)
    return used.sum(axis=1) == paired.sum(axis=1), dearer


def _each(tolerance: Number, dimensions: int) -> AnyArray:
    """Return the tolerances of items in a shape that broadcasts to `dimensions` further dimensions."""
    return tolerance if isinstance(tolerance, int) else tolerance.reshape(-1, *(1,) * dimensions)
