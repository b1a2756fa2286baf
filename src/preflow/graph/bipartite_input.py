"""Checks of the input of bipartite graphs: ends of edges, and index arrays of sparse matrices.

Arguments named `values`, `row`, `column` or `matrix` may be on a GPU; results are then, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..arrays import AnyArray, Array, ArrayModule
from ..errors import InvalidInputError
from .network import MOST_VERTICES, as_array, check_memory
from .sparse_input import SparseEntries, check_integers, check_lines, check_range

#: Indices of 32 bits number at most this many edges, rows or columns; the largest value means "none".
MOST_NARROW = 2**32 - 2


def index_dtype(num_rows: int, num_columns: int, num_edges: int) -> DTypeLike:
    """Return the dtype of the index arrays of a graph."""
    return np.uint32 if max(num_rows, num_columns, num_edges) <= MOST_NARROW else np.uint64


def kept_entries(data: AnyArray, explicit_zeros: bool) -> AnyArray:
    """Return an index of the entries of a matrix that are edges; refuse a matrix of NaN only."""
    if len(data) and data.dtype.kind in "fc" and np.isnan(data[0]) and np.isnan(data).all():
        raise InvalidInputError("every entry of the matrix is NaN: its pattern is hardly meant")
    return slice(None) if explicit_zeros else data != 0


def read_lines(xp: ArrayModule, entries: SparseEntries, explicit_zeros: bool) -> tuple[AnyArray, AnyArray]:
    """Return where the lines of a compressed matrix begin, and the other ends of its edges, as unsigned.

    The entries have the form "csr" or "csc"; with `explicit_zeros` stored zeros are edges.
    """
    kept = kept_entries(entries.data, explicit_zeros)
    dtype = index_dtype(*entries.shape, len(entries.minor))
    first, neighbour = as_index(entries.major, dtype), as_index(entries.minor, dtype)
    if not explicit_zeros and len(neighbour):
        before = xp.zeros(len(kept) + 1, dtype=first.dtype)
        before[1:] = xp.cumsum(kept, dtype=first.dtype)
        first, neighbour = before[first], neighbour[kept]
    return first, neighbour


def checked_lines(
    first: AnyArray, neighbour: AnyArray, num_lines: int, across: int
) -> tuple[AnyArray, AnyArray]:
    """Return the arrays of one side of a graph as unsigned, checked against each other."""
    arrays = numbers_of(first, "first"), numbers_of(neighbour, "neighbour")
    first, neighbour = check_lines(*arrays, num_lines, across)
    dtype = index_dtype(num_lines, across, len(neighbour))
    return as_index(first, dtype), as_index(neighbour, dtype)


def checked_ends(row: AnyArray, column: AnyArray, shape: Any) -> tuple[int, int]:
    """Check the ends of edges, arrays of integers, against each other and the shape; return the shape."""
    if len(row) != len(column):
        raise InvalidInputError(f"row has {len(row)} entries, column has {len(column)}")
    if shape is None:
        shape = (_least_size(row), _least_size(column))
        for size, side in zip(shape, ("row", "column"), strict=True):
            check_memory(size, side, f"{side}s")
    num_rows, num_columns = check_shape(shape)
    check_range(row, "row", num_rows)
    check_range(column, "column", num_columns)
    return num_rows, num_columns


def ascends(values: AnyArray) -> bool:
    """Whether numbers are in ascending order."""
    beginning = values[:1000]
    return bool((beginning[1:] >= beginning[:-1]).all()) and bool((values[1:] >= values[:-1]).all())


def as_index(values: AnyArray, dtype: DTypeLike) -> AnyArray:
    """Return numbers that are not negative in another dtype, without a copy where the width is the same."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == np.dtype(dtype).itemsize:
        values = values.view(dtype)
    return values.astype(dtype, order="C", copy=False)


def check_shape(shape: Any) -> tuple[int, int]:
    """Return the numbers of rows and columns, checked."""
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise InvalidInputError(f"a shape must be (rows, columns), got {shape!r}")
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise InvalidInputError(f"a shape must be two integers that are not negative, got {shape!r}")
        if size > MOST_VERTICES:
            raise InvalidInputError(f"{size} rows or columns do not fit any memory; are the numbers right?")
    return int(shape[0]), int(shape[1])


def _least_size(values: AnyArray) -> int:
    return int(values.max()) + 1 if len(values) else 0


def numbers_of(values: ArrayLike, name: str) -> Array:
    """Return a one-dimensional array-like of integers as an array."""
    # Kernels take arrays that may be written to.
    return np.require(check_integers(as_array(values, name), name), requirements="W")
