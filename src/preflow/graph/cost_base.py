"""Integer costs of any size: int64 values around zero, and a base that was subtracted.

An assignment has one pair in each row (in each column, if there are fewer). So subtracting a number from all
costs of a row changes the total, and the price of the row, by that number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, SideLabels
from ..errors import InvalidInputError
from .placement import HostArrays

#: Costs in a range of this size become int64 costs that solvers can add up.
LARGEST_RANGE = 2**60


class HostCosts(HostArrays):
    """Base class of costs on the host: the costs are `values` plus `base`."""

    #: Broadcasts to the values as a batch of matrices; None for zero.
    base: Array | None = None
    #: The caller's labels of rows and of columns.
    labels: SideLabels = None
    #: Whether some float is past :func:`preflow.graph.costs.largest_cost`.
    huge: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of matrices, rows, columns."""
        raise NotImplementedError

    def base_at(self, item: Any, rows: AnyArray, columns: AnyArray) -> AnyArray:
        """Return the base of pairs, to be added to their values."""
        return 0 if self.base is None else np.broadcast_to(self.base, self.shape)[item, rows, columns]

    def with_base(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Return prices of rows and columns for the costs of one matrix, from those for its values."""
        if self.base is None or 0 in self.shape:
            return u, v
        if self.shape[1] <= self.shape[2]:
            return u.astype(object) + self.base[0, :, 0], v
        return u, v.astype(object) + self.base[0, 0]

    def without_base(self, item: int, u: Array, v: Array) -> tuple[Array, Array]:
        """Return prices of an item's rows and columns for its values."""
        if self.base is None or 0 in self.shape:
            return u, v
        base = self.base[item]
        if base.shape[0] == 1 < base.shape[1]:
            return u, v.astype(object) - base[0]
        return u.astype(object) - base[:, 0], v


def subtract_base(values: Array, inside: NDArray[np.bool_] | None) -> tuple[NDArray[np.int64], Array]:
    """Return a batch of integer costs, shape (items, n, m), minus a base, and the base of Python integers.

    Entries outside of `inside` do not count. The base has shape (items, n, 1), or (items, 1, m) where n > m,
    or (items, 1, 1) where not all entries count. InvalidInputError if the costs that share a base range over
    more than 2**60.
    """
    _, n, m = values.shape
    if inside is None:
        axis: Any = 2 if n <= m else 1
        least, most = (end(axis=axis, keepdims=True).astype(object) for end in (values.min, values.max))
    else:
        parts = [part[counts].tolist() for part, counts in zip(values, inside, strict=True)]
        least, most = (
            np.array([end(part, default=0) for part in parts], dtype=object)[:, None, None]
            for end in (min, max)
        )
    base = _middle(least, most)
    counting = values if inside is None else np.where(inside, values, base)
    return _difference(counting, base), base


def centred_by_row(first: Array, values: Array) -> tuple[NDArray[np.int64], Array]:
    """Return integer costs of pairs, those of row `i` beginning at ``first[i]``, minus a base; and the base.

    Like :func:`subtract_base`, with a base of shape (n,).
    """
    size = np.diff(first).astype(np.int64)
    rows = np.flatnonzero(size)
    base = np.zeros(len(size), dtype=object)
    if len(rows):
        begins = first[rows].astype(np.int64)
        least, most = (end.reduceat(values, begins).astype(object) for end in (np.minimum, np.maximum))
        base[rows] = _middle(least, most)
    return _difference(values, np.repeat(base, size)), base


def _middle(least: Array, most: Array) -> Array:
    """Return the middle of each range; raise if one is too large."""
    ranges = most - least
    if ranges.size and ranges.max() > LARGEST_RANGE:
        raise InvalidInputError(
            f"integer costs that compete range over at most 2**60, got a range of {ranges.max()}"
        )
    middle: Array = least + ranges // 2
    return middle


def _difference(values: Array, base: Array) -> NDArray[np.int64]:
    """Return values minus numbers that differ from them by less than 2**63."""
    found: NDArray[np.int64]
    if values.dtype == object:
        found = (values - base).astype(np.int64)
        return found
    wrapped = (base % 2**64).astype(np.uint64)  # differences modulo 2**64 are right
    found = (values.view(np.uint64) - wrapped).view(np.int64)
    return found
