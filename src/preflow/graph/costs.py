"""Costs of assignments on the host: dense matrices, one or a batch of them, and sparse ones.

:mod:`.cost_input` makes them from what the caller gives; their form on a GPU is in :mod:`.device.costs`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, ArrayModule, DType, Number, Restorer, SideLabels
from ..cuda import runtime
from ..cuda.runtime import is_on_gpu
from ..errors import InvalidInputError
from ..parallel.pieces import run_pieces
from .cost_base import HostCosts, centred_by_row, subtract_base
from .placement import as_device_array, host_array

if TYPE_CHECKING:
    from .point_costs import PointCosts

#: Sums of larger integer costs could overflow.
LARGEST_INTEGER = 2**59
#: Sums of n costs of at most LARGEST_FLOAT / n stay finite, and so do sums of their prices.
LARGEST_FLOAT = 1e300
#: Values per thread, at least; and values that one thread reads twice while they are in a cache. With several
#: threads the chunks are larger, since Python makes threads wait for each other between two chunks.
LEAST_SHARE, CHUNK, CHUNK_ALONE = 1 << 18, 1 << 20, 1 << 16


@dataclass(frozen=True, eq=False)
class DenseCosts(HostCosts):
    """Dense cost matrices of one shape.

    Attributes
    ----------
    values : ndarray of int64, float64 or float32, shape (items, n, m)
        Contiguous; an infinite cost means that the pair is not allowed.
    leading : tuple of int
        The leading dimensions of the caller's array; empty for one matrix.
    maximize : bool
    sizes : ndarray of int64, shape (items, 2), or None
        The numbers of rows and columns that each item uses; the others do not count.
    restore : function or None
        Converts NumPy arrays to the caller's kind of array; None where the caller uses NumPy.
    base : ndarray of Python integers, shape (items, n, 1), (items, 1, m) or (items, 1, 1), or None
        What to add to the values of large integer costs: see :mod:`.cost_base`.
    labels : (tuple, tuple) or None
        The labels of rows and of columns of one matrix.
    huge : bool
        Whether some float is past :func:`largest_cost`.
    """

    values: Array
    leading: tuple[int, ...] = ()
    maximize: bool = False
    sizes: NDArray[np.int64] | None = None
    restore: Restorer = None
    base: Array | None = None
    labels: SideLabels = None
    huge: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of matrices, rows, columns."""
        items, n, m = self.values.shape
        return items, n, m

    @property
    def dtype(self) -> DType:
        """The dtype of the costs."""
        return self.values.dtype

    def fitted(self, threads: int) -> DenseCosts:
        """Return checked costs: integers that solvers can add up, and whether floats are `huge`."""
        _, n, m = self.shape
        inside = None if self.sizes is None else within(np, self.sizes, n, m)
        counts = self.values if inside is None else self.values[inside]
        if counts.dtype.kind == "f":

            def place(where: int) -> tuple[Hashable, ...]:
                flat = where if inside is None else int(np.flatnonzero(inside)[where])
                item, row, column = (int(i) for i in np.unravel_index(flat, self.values.shape))
                names = (
                    (row, column) if self.labels is None else (self.labels[0][row], self.labels[1][column])
                )
                index = tuple(int(i) for i in np.unravel_index(item, self.leading)) if self.leading else None
                return (*names, index)

            if check_costs(counts, self.maximize, min(n, m), place, threads):
                return replace(self, huge=True)
        elif self.base is None and not fit(counts, threads):
            values, base = subtract_base(self.values, inside)
            return replace(self, values=values, base=base)
        return self

    def by_size(self) -> Iterator[tuple[NDArray[np.int64], DenseCosts]]:
        """Yield the numbers of the items of one size and their costs, for every size."""
        assert self.sizes is not None
        sizes, which = np.unique(self.sizes, axis=0, return_inverse=True)
        for k, (n, m) in enumerate(sizes.tolist()):
            items = np.flatnonzero(which.reshape(-1) == k)
            base = None if self.base is None else self.base[items]
            values = self.values[items, :n, :m]
            yield items, DenseCosts(values, (len(items),), self.maximize, base=base, huge=self.huge)

    def to_minimize(self) -> DenseCosts:
        """Return costs to minimise, with no more rows than columns, that have the same best assignments."""
        values, base = self.values, self.base
        if self.shape[1] > self.shape[2]:
            values = values.swapaxes(1, 2)
            base = None if base is None else base.swapaxes(1, 2)
        if self.maximize:
            values = -values
            base = None if base is None else -base
        return DenseCosts(np.ascontiguousarray(values), self.leading, base=base)

    def transposed(self) -> DenseCosts:
        """Return a view with rows and columns exchanged."""
        sizes = None if self.sizes is None else self.sizes[:, ::-1]
        base = None if self.base is None else self.base.swapaxes(1, 2)
        labels = None if self.labels is None else self.labels[::-1]
        return replace(self, values=self.values.swapaxes(1, 2), sizes=sizes, base=base, labels=labels)

    def one(self, item: int) -> DenseCosts:
        """Return one of the items, with the rows and columns that it uses."""
        n, m = self.shape[1:] if self.sizes is None else self.sizes[item].tolist()
        base = None if self.base is None else self.base[item : item + 1, :n, :m]
        values = self.values[item : item + 1, :n, :m]
        return DenseCosts(values, (), self.maximize, None, self.restore, base, self.labels, self.huge)

    def items(self, numbers: NDArray[np.int64]) -> DenseCosts:
        """Return the items with these numbers, as a batch of their shape; one item for a single number."""
        if not numbers.ndim:
            return self.one(int(numbers))
        chosen = numbers.reshape(-1)
        sizes, base = (None if part is None else part[chosen] for part in (self.sizes, self.base))
        return replace(self, values=self.values[chosen], leading=numbers.shape, sizes=sizes, base=base)

    def at(self, item: Any, rows: AnyArray, columns: AnyArray) -> Array:
        """Return the costs of pairs; infinite where they are not allowed."""
        _, n, m = self.values.shape
        place = (np.asarray(item) * n + rows) * m + columns
        picked: Array = self.values.reshape(-1)[
            place
        ]  # indexing with three arrays takes several times as long
        return picked

    def block(self, begin: int, end: int, *, stride: int = 1) -> Array:
        """Return the costs of some rows of the first item: see :meth:`PointCosts.block`."""
        return self.values[0, begin:end:stride]

    def to_sparse(self) -> SparseCosts:
        """Return the pairs of the first item that are allowed."""
        values = self.values[0]
        n, m = values.shape
        allowed = np.isfinite(values)
        if allowed.all():
            every = np.arange(n + 1, dtype=np.uint64) * np.uint64(m)
            column = (np.zeros((n, 1), dtype=np.uint32) + np.arange(m, dtype=np.uint32)).reshape(-1)
            return SparseCosts(every, column, wide(values.flatten()), m, self.maximize, base=self.base)
        first = np.zeros(len(values) + 1, dtype=np.uint64)
        np.cumsum(allowed.sum(axis=1), out=first[1:])
        column = np.nonzero(allowed)[1].astype(np.uint32)
        return SparseCosts(first, column, wide(values[allowed]), m, self.maximize)


@dataclass(frozen=True, eq=False)
class SparseCosts(HostCosts):
    """The allowed pairs of one matrix, by rows, with their costs."""

    #: shape (n + 1,): the pairs of row `i` are ``first[i] .. first[i + 1] - 1``, by ascending columns
    first: NDArray[np.uint64]
    column: NDArray[np.uint32]
    values: Array  #: int64 or float64
    num_columns: int
    maximize: bool = False
    #: Python integers, shape (1, n, 1) or (1, 1, m): what to add to the values of large integer costs: see
    #: :mod:`.cost_base`
    base: Array | None = None

    #: The leading dimensions of one matrix.
    leading: tuple[int, ...] = ()
    #: The labels of rows and of columns, where they are no numbers.
    labels: SideLabels = None
    #: Converts NumPy arrays to the caller's kind of array; None where the caller uses NumPy.
    restore: Restorer = None
    #: Whether some float is past :func:`largest_cost`.
    huge: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """1, number of rows, number of columns."""
        return 1, len(self.first) - 1, self.num_columns

    @property
    def dtype(self) -> DType:
        """The dtype of the costs."""
        return self.values.dtype

    @property
    def row(self) -> NDArray[np.int64]:
        """The row of every pair."""
        return np.repeat(np.arange(len(self.first) - 1), (self.first[1:] - self.first[:-1]).astype(np.int64))

    def to_minimize(self) -> SparseCosts:
        """Return costs to minimise, with no more rows than columns, that have the same best assignments."""
        found = self
        if self.maximize:
            base = None if self.base is None else -self.base
            found = replace(self, values=-self.values, maximize=False, base=base)
        return found.transposed() if self.shape[1] > self.shape[2] else found

    def keep(self, kept: NDArray[np.bool_]) -> SparseCosts:
        """Return the costs with only some of the allowed pairs."""
        first = np.append(0, np.cumsum(kept))[self.first.astype(np.int64)].astype(np.uint64)
        return replace(self, first=first, column=self.column[kept], values=self.values[kept])

    def submatrix(self, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> SparseCosts:
        """Return the costs of some rows with some columns, numbered from 0."""
        part = self.keep(rows[self.row] & columns[self.column])
        number = np.cumsum(columns, dtype=np.uint32) - np.uint32(1)
        first = np.append(part.first[:-1][rows], part.first[-1])
        base = self.base
        if base is not None:
            base = base[:, rows if base.shape[1] > 1 else slice(None)]
            base = base[:, :, columns if base.shape[2] > 1 else slice(None)]
        size, column = int(columns.sum()), number[part.column]
        return replace(part, first=first, column=column, num_columns=size, base=base, labels=None)

    def with_base_of_rows(self) -> SparseCosts:
        """Return the same costs with a base by rows, if they have a base."""
        if self.base is None or self.base.shape[2] == 1:
            return self
        values = self.values.astype(object) + self.base_at(0, self.row, self.column)
        reduced, base = centred_by_row(self.first, values)
        return replace(self, values=reduced, base=base[None, :, None])

    def transposed(self) -> SparseCosts:
        """Return the costs with rows and columns exchanged."""
        order = np.argsort(self.column, kind="stable")
        first = np.zeros(self.num_columns + 1, dtype=np.uint64)
        np.cumsum(np.bincount(self.column, minlength=self.num_columns), out=first[1:])
        rows = self.row[order].astype(np.uint32)
        base = None if self.base is None else self.base.swapaxes(1, 2)
        return SparseCosts(first, rows, self.values[order], len(self.first) - 1, self.maximize, base)

    def one(self, item: int) -> SparseCosts:
        """Return itself, the only item."""
        return self

    def at(self, item: Any, rows: AnyArray, columns: AnyArray) -> Array:
        """Return the costs of pairs; infinite where they are not allowed."""
        rows, wanted = np.asarray(rows), np.asarray(columns)
        if len(self.column) == 0 < len(wanted):
            return np.full(len(wanted), np.inf)
        # Bisect the columns of all rows together: `place` is before the pair that is wanted, or at it.
        first = self.first.astype(np.int64)
        place, last = first[rows], first[rows + 1]
        step = 1 << int((last - place).max(initial=0)).bit_length()
        while step > 1:
            step //= 2
            there = place + step
            further = (there < last) & (self.column.take(there, mode="clip") <= wanted)
            place = np.where(further, there, place)
        found = (place < last) & (self.column.take(place, mode="clip") == wanted)
        picked: Array = self.values.take(place, mode="clip")
        return picked if found.all() else np.where(found, picked, np.inf)

    def to_sparse(self) -> SparseCosts:
        """Return itself."""
        return self


def shown_matrix(costs: DenseCosts | SparseCosts | PointCosts) -> NDArray[np.float64]:
    """Return the costs of a single matrix as given, NaN for pairs that are not allowed."""
    shape = costs.shape[1:]
    if isinstance(costs, SparseCosts):
        found = np.full(shape, np.nan)
        row, column = costs.row, costs.column.astype(np.int64)
        found[row, column] = costs.values + costs.base_at(0, row, column)
        return found
    row, column = (place.ravel() for place in np.indices(shape))
    values = (costs.at(0, row, column) + costs.base_at(0, row, column)).astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan).reshape(shape)


def batch_shape(values: AnyArray) -> tuple[tuple[int, ...], int, int, int]:
    """Return the leading dimensions of a batch of matrices, their number, and that of rows and columns."""
    if values.ndim < 2:
        raise InvalidInputError(f"cost must have two dimensions or more, got shape {tuple(values.shape)}")
    *leading, n, m = map(int, values.shape)
    return tuple(leading), math.prod(leading), n, m


def checked_sizes(sizes: AnyArray, leading: tuple[int, ...], n: int, m: int) -> NDArray[np.int64] | None:
    """Return the sizes of all matrices of a batch, by item; None where they use all rows and columns."""
    if sizes is None:
        return None
    if is_on_gpu(sizes):
        device = runtime.find_device()
        sizes = device.to_host(as_device_array(device, sizes, "sizes", "problem"))
    given = host_array(sizes, "sizes")
    if given.shape != (*leading, 2):
        raise InvalidInputError(
            f"sizes must have the rows and columns of each matrix: shape {(*leading, 2)}, got {given.shape}"
        )
    if given.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if given.dtype.kind not in "iu" or (given < 0).any() or (given > [n, m]).any():
        raise InvalidInputError(f"sizes are integers from 0 to {n} rows and {m} columns")
    return given.reshape(-1, 2).astype(np.int64)


def within(xp: ArrayModule, sizes: AnyArray, n: int, m: int) -> AnyArray:
    """Return which entries of a batch of n x m matrices are in rows and columns that the items use."""
    rows, columns = sizes[:, 0, None, None], sizes[:, 1, None, None]
    return (xp.arange(n)[:, None] < rows) & (xp.arange(m) < columns)


def fit(values: Array, threads: int = 1) -> bool:
    """Return whether integers are small enough for solvers to add up."""
    if values.size == 0:
        return values.dtype == np.int64
    least, most = (values.min(), values.max()) if values.dtype.kind in "uO" else ends_of(values, threads)
    return values.dtype == np.int64 and max(-int(least), int(most)) <= LARGEST_INTEGER


def wide(values: Array) -> Array:
    """Return values with float32 widened to float64."""
    return values.astype(np.float64) if values.dtype == np.float32 else values


def ends_of(values: Array, threads: int) -> tuple[Number, Number]:
    """Return the smallest and the largest value; NaN if one is NaN."""
    if not values.flags.c_contiguous or values.size <= CHUNK_ALONE:
        return values.min(), values.max()
    flat = values.reshape(-1)
    threads = max(1, min(threads, len(flat) // LEAST_SHARE))
    chunk = CHUNK if threads > 1 else CHUNK_ALONE

    def extent(begin: int, end: int) -> tuple[Number, Number]:
        least, most = flat[begin], flat[begin]
        for start in range(begin, end, chunk):
            part = flat[start : min(start + chunk, end)]
            least, most = np.minimum(least, part.min()), np.maximum(most, part.max())
        return least, most

    least, most = zip(*run_pieces(extent, len(flat), threads, each=1), strict=True)
    return np.min(least), np.max(most)


def check_costs(
    values: Array,
    maximize: bool,
    size: int,
    place: Callable[[int], tuple[Any, ...]],
    threads: int = 1,
) -> bool:
    """Return whether floats are too large for solvers to add up the costs of `size` pairs.

    `place` returns the row, the column and perhaps the index of the matrix of the k-th value.
    InvalidInputError if a cost is NaN, or infinitely good.
    """
    if values.size == 0 or values.dtype.kind != "f":
        return False
    least, most = ends_of(values, threads)
    if np.isfinite(least) and np.isfinite(most):
        return check_extent(least, most, maximize, size)
    if np.isnan(least):
        refuse_missing(*place(int(np.isnan(values).argmax())), maximize=maximize)
    best = most if maximize else least
    if np.isinf(best) and (best > 0) == maximize:
        refuse_missing(*place(int((values == best).argmax())), maximize=maximize, value=str(best))
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return check_extent(low, high, maximize, size)


def refuse_missing(
    row: Hashable,
    column: Hashable,
    item: tuple[int, ...] | None = None,
    *,
    maximize: bool,
    value: str = "NaN",
) -> NoReturn:
    """Raise the error for a cost that is NaN, or infinitely good."""
    where = "" if item is None else f" of matrix {item}"
    raise InvalidInputError(
        f"the cost of row {row!r} and column {column!r}{where} is {value}: a pair that is not allowed costs "
        f"{'-inf' if maximize else 'inf'}"
    )


def cut_off(values: Array, limit: float) -> Array:
    """Return numbers cut off at a limit in size; infinite ones, which mean no pair, stay."""
    if limit == np.inf:
        return values
    return np.where(np.isfinite(values), np.clip(values, -limit, limit), values)


def largest_cost(dtype: DType, size: int) -> Number:
    """Return the largest size of finite costs of which `size` can be added up, as int64 or float64."""
    return np.int64(LARGEST_INTEGER) if dtype.kind == "i" else np.float64(LARGEST_FLOAT / max(size, 1))


def check_extent(
    least: Number, most: Number, maximize: bool, size: int, *, infinite: tuple[bool, bool] = (False, False)
) -> bool:
    """Return whether floats are too large for solvers to add up; for integers raise InvalidInputError.

    The finite costs are from `least` to `most`, and an assignment has at most `size` pairs. `infinite` says
    whether there is a cost of minus and of plus infinity.
    """
    if np.asarray(least).dtype.kind == "i":
        largest = max(-int(least), int(most))
        if largest > largest_cost(np.dtype(np.int64), size):
            raise InvalidInputError(f"integer costs must be at most 2**59 in size, got one of size {largest}")
        return False
    if infinite[maximize]:
        good, bad = ("inf", "-inf") if maximize else ("-inf", "inf")
        raise InvalidInputError(f"a cost is {good}; pairs that are not allowed cost {bad}")
    return bool(max(-float(least), float(most)) > largest_cost(np.dtype(np.float64), size))
