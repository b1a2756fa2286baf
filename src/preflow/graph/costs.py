"""Costs of assignments: dense matrices, one or many, and sparse ones; checked, and as solvers want them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError

#: Integer costs beyond this could not be added without overflow.
LARGEST_INTEGER = 2**59
#: Sums of n costs up to this over n stay finite.
LARGEST_FLOAT = 1e300
#: Values that a further thread is worth, and that one looks at twice while they are in its cache.
LEAST_SHARE, CHUNK = 1 << 18, 1 << 15


@dataclass(frozen=True, eq=False)
class DenseCosts:
    """Dense cost matrices of one shape.

    Attributes
    ----------
    values : ndarray of int64, float64 or float32, shape (items, n, m)
        Contiguous; an infinite cost means that the pair is not allowed.
    leading : tuple of int
        The leading dimensions of the array that was given; empty for one matrix.
    maximize : bool
    """

    values: NDArray[Any]
    leading: tuple[int, ...] = ()
    maximize: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of items, rows, columns."""
        items, n, m = self.values.shape
        return items, n, m

    def to_minimize(self) -> DenseCosts:
        """Return costs to minimise, with no more rows than columns, that have the same best assignments."""
        values = self.values
        if self.shape[1] > self.shape[2]:
            values = values.swapaxes(1, 2)
        if self.maximize:
            values = -values
        return DenseCosts(np.ascontiguousarray(values), self.leading)

    def one(self, item: int) -> DenseCosts:
        """Return one of the items."""
        return DenseCosts(self.values[item : item + 1], (), self.maximize)

    def at(self, item: Any, rows: Any, columns: Any) -> NDArray[Any]:
        """Return the costs of pairs; infinite where they are not allowed."""
        _, n, m = self.values.shape
        place = (np.asarray(item) * n + rows) * m + columns
        return self.values.reshape(-1)[place]  # one index is several times as fast as three

    def to_sparse(self) -> SparseCosts:
        """Return the pairs of the first item that are allowed."""
        values = self.values[0]
        allowed = np.isfinite(values)
        first = np.zeros(len(values) + 1, dtype=np.uint64)
        np.cumsum(allowed.sum(axis=1), out=first[1:])
        column = np.nonzero(allowed)[1].astype(np.uint32)
        return SparseCosts(first, column, _wide(values[allowed]), self.shape[2], self.maximize)


@dataclass(frozen=True, eq=False)
class SparseCosts:
    """The allowed pairs of one matrix, by rows, with their costs.

    Attributes
    ----------
    first : ndarray of uint64, shape (n + 1,)
        The pairs of row `i` stand at ``first[i] .. first[i + 1] - 1``, by ascending columns.
    column : ndarray of uint32
    values : ndarray of int64 or float64
    num_columns : int
    maximize : bool
    """

    first: NDArray[np.uint64]
    column: NDArray[np.uint32]
    values: NDArray[Any]
    num_columns: int
    maximize: bool = False

    #: As a stack of matrices has them.
    leading: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, int, int]:
        """1, number of rows, number of columns."""
        return 1, len(self.first) - 1, self.num_columns

    @property
    def row(self) -> NDArray[np.int64]:
        """The row of every pair."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first).astype(np.int64))

    def to_minimize(self) -> SparseCosts:
        """Return costs to minimise, with no more rows than columns, that have the same best assignments."""
        found = replace(self, values=-self.values, maximize=False) if self.maximize else self
        return found._transposed() if self.shape[1] > self.shape[2] else found

    def _transposed(self) -> SparseCosts:
        order = np.argsort(self.column, kind="stable")
        first = np.zeros(self.num_columns + 1, dtype=np.uint64)
        np.cumsum(np.bincount(self.column, minlength=self.num_columns), out=first[1:])
        rows = self.row[order].astype(np.uint32)
        return SparseCosts(first, rows, self.values[order], len(self.first) - 1, self.maximize)

    def one(self, item: int) -> SparseCosts:
        """Return itself, the one item."""
        return self

    def at(self, item: Any, rows: Any, columns: Any) -> NDArray[Any]:
        """Return the costs of pairs; infinite where they are not allowed."""
        keys = self.row * self.num_columns + self.column
        wanted = np.asarray(rows) * self.num_columns + np.asarray(columns)
        if len(keys) == 0:
            return np.full(len(wanted), np.inf)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[place] == wanted
        return self.values[place] if found.all() else np.where(found, self.values[place], np.inf)

    def to_sparse(self) -> SparseCosts:
        """Return itself."""
        return self


def as_costs(cost: Any, maximize: bool, threads: int = 1) -> DenseCosts | SparseCosts:
    """Return what linear_assignment accepts as costs, checked by so many threads.

    Raises
    ------
    InvalidInputError
        No numbers, NaN, infinitely good costs, integers beyond 2**59, or a shape without two dimensions.
    """
    if not isinstance(maximize, bool | np.bool_):
        raise InvalidInputError(f"maximize is True or False, got {maximize!r}")
    if hasattr(cost, "tocsr"):
        return _from_scipy(cost, bool(maximize))
    try:
        values = np.asarray(cost)
    except ValueError as error:
        raise InvalidInputError(f"cost is not an array: {error}") from None
    if values.ndim < 2:
        raise InvalidInputError(f"cost has two dimensions or more, got shape {values.shape}")
    *leading, n, m = values.shape
    values = _checked(_as_numbers(values), bool(maximize), min(n, m), threads)
    items = int(np.prod(leading, dtype=np.int64))
    stack = _for_kernels(values).reshape(items, n, m)
    return DenseCosts(stack, tuple(leading), bool(maximize))


def _from_scipy(matrix: Any, maximize: bool) -> SparseCosts:
    if getattr(matrix, "ndim", 2) != 2:
        raise InvalidInputError(f"cost has two dimensions, got shape {matrix.shape}")
    stored = matrix.tocsr()
    if not stored.has_canonical_format:
        stored = stored.copy()
        stored.sum_duplicates()
    n, m = map(int, stored.shape)
    if m > 2**32 - 2:
        raise InvalidInputError(f"at most {2**32 - 2} columns, got {m}")
    values = _checked(_wide(_as_numbers(stored.data)), maximize, min(n, m))
    row = np.repeat(np.arange(n), np.diff(stored.indptr))
    column = stored.indices
    if values.dtype.kind == "f":
        allowed = np.isfinite(values)
        if not allowed.all():
            row, column, values = row[allowed], column[allowed], values[allowed]
    first = np.zeros(n + 1, dtype=np.uint64)
    np.cumsum(np.bincount(row, minlength=n), out=first[1:])
    return SparseCosts(first, column.astype(np.uint32), _for_kernels(values), m, maximize)


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as int64, float64 or float32."""
    dtype = values.dtype.newbyteorder("=")
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize <= 8):
        return values.astype(np.int64, copy=False)
    if dtype.kind == "u":
        if values.size and int(values.max()) > LARGEST_INTEGER:
            raise InvalidInputError(f"integer costs are at most 2**59, got {int(values.max())}")
        return values.astype(np.int64)
    if dtype in (np.float64, np.float32):
        return values.astype(dtype, copy=False)
    if dtype == np.float16:
        return values.astype(np.float32)
    raise InvalidInputError(f"costs are integers or floats of up to 64 bits, got dtype {dtype}")


class _Writable:
    """The memory of an array that cannot be written to, as if it could: kernels tell these kinds apart."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values
        interface = values.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _for_kernels(values: NDArray[Any]) -> NDArray[Any]:
    """Return contiguous, aligned values of a kind that kernels are compiled for; they are only read."""
    values = np.require(values, requirements=["C", "A"])
    return values if values.flags.writeable or not values.size else np.asarray(_Writable(values))


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.float64) if values.dtype == np.float32 else values


def _extent(values: NDArray[Any], threads: int) -> tuple[Any, Any]:
    """Return the least and the greatest value; NaN where one is."""
    threads = min(threads, values.size // LEAST_SHARE)
    if threads < 2 or not values.flags.c_contiguous:
        return values.min(), values.max()
    from ..parallel.team import run_together  # loads Numba

    flat = values.reshape(-1)

    def extent(thread: int) -> tuple[Any, Any]:
        share = flat[flat.size * thread // threads : flat.size * (thread + 1) // threads]
        least, most = share[0], share[0]
        for begin in range(0, len(share), CHUNK):
            part = share[begin : begin + CHUNK]
            least, most = np.minimum(least, part.min()), np.maximum(most, part.max())
        return least, most

    least, most = zip(*run_together(extent, threads, lambda: None), strict=True)
    return np.min(least), np.max(most)


def _checked(values: NDArray[Any], maximize: bool, size: int, threads: int = 1) -> NDArray[Any]:
    """Return the costs if solvers can add them up."""
    if values.size == 0:
        return values
    least, most = _extent(values, threads)
    if values.dtype.kind == "i":
        largest = max(-int(least), int(most))
        if largest > LARGEST_INTEGER:
            raise InvalidInputError(f"integer costs are at most 2**59 in size, got one of size {largest}")
        return values
    if np.isnan(least):
        raise InvalidInputError("a cost is NaN")
    if (most if maximize else -least) == np.inf:
        good, bad = ("inf", "-inf") if maximize else ("-inf", "inf")
        raise InvalidInputError(f"a cost is {good}; what is not allowed costs {bad}")
    if not np.isfinite(most if not maximize else least):
        finite = values[np.isfinite(values)]
        least, most = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    largest_float = max(-float(least), float(most))
    if largest_float > LARGEST_FLOAT / max(size, 1):
        raise InvalidInputError(f"costs are too large to be added up: one of size {largest_float:g}")
    return values
