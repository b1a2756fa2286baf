"""Read sparse matrices of SciPy and CuPy; check every array before anything uses it.

In a damaged matrix the arrays do not fit each other. Methods such as ``tocsr`` may then read out of bounds,
so this module does not call them: it takes the arrays (of a DOK matrix, the dictionary) and converts them
itself. The checks take time linear in the stored entries and the shape. They are vectorised, except for LIL
and DOK, which consist of Python objects. Entries of formats other than COO, CSR and CSC are sorted as well.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import AnyArray, ArrayModule
from ..errors import InvalidInputError

#: A function that takes an array of a matrix and its name (for messages), and returns the array on the device
#: on which it will be checked; raises InvalidInputError if it is no array of the expected kind.
Take = Callable[[Any, str], Any]


class SparseEntries(NamedTuple):
    """The stored entries of a sparse matrix, checked."""

    form: str  #: {"coo", "csr", "csc"}
    shape: tuple[int, int]
    #: integers: "coo": the row of every entry. "csr" or "csc": row or column `i` has the entries ``major[i]``
    #: to ``major[i + 1] - 1``
    major: AnyArray
    minor: AnyArray  #: integers: the column ("csc": row) of every entry
    data: AnyArray  #: the value of every entry

    def ends(self) -> tuple[AnyArray, AnyArray]:
        """Return the row and the column of every entry; for entries in NumPy arrays."""
        if self.form == "coo":
            return self.major, self.minor
        line = np.repeat(np.arange(len(self.major) - 1), np.diff(self.major).astype(np.int64))
        return (line, self.minor) if self.form == "csr" else (self.minor, line)


def read_sparse(matrix: AnyArray) -> SparseEntries:
    """Return the entries of a two-dimensional SciPy sparse matrix or array in any format.

    COO, CSR and CSC matrices keep their form. The entries of other formats are sorted by rows and returned as
    "coo". The result shares an array with a COO, CSR or CSC matrix if the array is in native byte order,
    aligned and contiguous. InvalidInputError: the argument is not a sparse matrix, does not have two
    dimensions, or has arrays that do not fit each other.
    """
    import scipy.sparse

    if not scipy.sparse.issparse(matrix):
        raise InvalidInputError(f"expected a scipy sparse matrix, got {type(matrix).__name__}")
    readers = {"bsr": _read_blocks, "lil": _read_lists, "dok": _read_keys}
    if matrix.format in readers:
        return readers[matrix.format](matrix, _checked_shape(matrix.shape))
    return read_entries(np, matrix, _take_host)


def read_entries(xp: ArrayModule, matrix: AnyArray, take: Take) -> SparseEntries:
    """Return the entries of a COO, CSR, CSC or DIA matrix whose arrays belong to the module `xp`.

    CuPy has these formats only. The forms of the entries are those of :func:`read_sparse`.
    """
    shape = _checked_shape(matrix.shape)
    readers = {"coo": _read_coordinates, "csr": _read_lines, "csc": _read_lines, "dia": _read_diagonals}
    form = getattr(matrix, "format", None)
    if form not in readers:
        raise InvalidInputError(
            f"a sparse matrix must have one of the formats {', '.join(readers)}, got {form!r}"
        )
    return readers[form](xp, matrix, shape, take)


def check_lines(
    starts: AnyArray, indices: AnyArray, num_lines: int, across: int
) -> tuple[AnyArray, AnyArray]:
    """Check the index arrays of a compressed matrix, whose lines are the rows (CSR) or the columns (CSC).

    There are `num_lines`, and all indices are below `across`. `indices` may be longer than `starts` says.
    Return the arrays as :func:`plain` returns them; `indices` then ends with the last entry of the last line.
    """
    starts, indices = check_integers(starts, "indptr"), check_integers(indices, "indices")
    if starts.shape != (num_lines + 1,):
        raise InvalidInputError(f"indptr has shape {starts.shape}, expected ({num_lines + 1},)")
    num_entries = int(starts[-1])
    if int(starts[0]) != 0 or bool((starts[1:] < starts[:-1]).any()):
        raise InvalidInputError("indptr does not start at 0 and ascend")
    if num_entries > len(indices):
        raise InvalidInputError(f"indptr ends at {num_entries}, there are {len(indices)} indices")
    indices = indices[:num_entries]
    check_range(indices, "index", across)
    return starts, indices


def check_integers(numbers: AnyArray, name: str) -> AnyArray:
    """Check that an array holds integers in one dimension; return it as :func:`plain` does.

    An empty array may have any dtype and is returned as int64.
    """
    if numbers.ndim != 1:
        raise InvalidInputError(f"{name} must have one dimension, got shape {numbers.shape}")
    if numbers.size == 0:
        return numbers.astype(np.int64)
    if numbers.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must hold integers, got dtype {numbers.dtype}")
    return plain(numbers)


def check_range(values: AnyArray, name: str, size: int) -> None:
    """Raise InvalidInputError unless all `values`, which are integers, are from 0 to ``size - 1``."""
    if len(values) == 0:
        return
    signed = values.dtype.kind == "i"
    # Read as unsigned, negative numbers are large, so one maximum finds both errors.
    if int((values.view(f"u{values.dtype.itemsize}") if signed else values).max()) < size:
        return
    if signed and int(values.min()) < 0:
        raise InvalidInputError(f"{name} is negative: {int(values.min())}")
    raise InvalidInputError(f"{name} {int(values.max())} is out of range: there are {size}, numbered from 0")


def plain(values: AnyArray) -> Any:
    """Return the array if it is in native byte order, contiguous and aligned, otherwise such a copy."""
    values = values.astype(values.dtype.newbyteorder("="), order="C", copy=False)
    if isinstance(values, np.ndarray) and not values.flags.aligned:
        return values.copy()
    return values


def _take_host(values: AnyArray, name: str) -> AnyArray:
    if not isinstance(values, np.ndarray):
        raise InvalidInputError(
            f"{name} of a sparse matrix must be a NumPy array, got {type(values).__name__}"
        )
    if hasattr(values, "mask"):
        raise InvalidInputError(f"{name} of a sparse matrix is a masked array")
    return values


def _checked_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise InvalidInputError(f"a sparse matrix must have two dimensions, got shape {shape}")
    if any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0 for n in shape):
        raise InvalidInputError(f"a shape must be two integers that are not negative, got {shape}")
    return int(shape[0]), int(shape[1])


def _read_coordinates(
    _xp: ArrayModule, matrix: AnyArray, shape: tuple[int, int], take: Take
) -> SparseEntries:
    row = check_integers(take(matrix.row, "row"), "row")
    column = check_integers(take(matrix.col, "col"), "col")
    data = take(matrix.data, "data")
    if not len(row) == len(column) == len(_values(data, 1)):
        raise InvalidInputError(f"row has {len(row)} entries, col {len(column)}, data {len(data)}")
    check_range(row, "row", shape[0])
    check_range(column, "column", shape[1])
    return SparseEntries("coo", shape, row, column, plain(data))


def _read_lines(_xp: ArrayModule, matrix: AnyArray, shape: tuple[int, int], take: Take) -> SparseEntries:
    """Read a CSR or CSC matrix."""
    num_lines, across = shape if matrix.format == "csr" else shape[::-1]
    starts, indices, data = (take(getattr(matrix, name), name) for name in ("indptr", "indices", "data"))
    _check_one_each(indices, _values(data, 1))
    starts, indices = check_lines(starts, indices, num_lines, across)
    return SparseEntries(matrix.format, shape, starts, indices, plain(data[: len(indices)]))


def _read_blocks(matrix: AnyArray, shape: tuple[int, int]) -> SparseEntries:
    """Read a BSR matrix: every number of a stored block is an entry, even if it is zero."""
    names = ("indptr", "indices", "data")
    starts, indices, data = (_take_host(getattr(matrix, name), name) for name in names)
    _check_one_each(indices, _values(data, 3))
    height, width = data.shape[1:]
    if 0 in (height, width) or shape[0] % height or shape[1] % width:
        raise InvalidInputError(f"blocks of shape {(height, width)} do not divide a matrix of shape {shape}")
    starts, indices = check_lines(starts, indices, shape[0] // height, shape[1] // width)
    block_row = np.repeat(np.arange(len(starts) - 1), np.diff(starts).astype(np.int64))
    block = (len(indices), height, width)
    row = np.broadcast_to(block_row[:, None, None] * height + np.arange(height)[:, None], block)
    column = np.broadcast_to(indices.astype(np.int64)[:, None, None] * width + np.arange(width), block)
    return _by_rows(np, shape, row.reshape(-1), column.reshape(-1), data[: len(indices)].reshape(-1))


def _read_diagonals(xp: ArrayModule, matrix: AnyArray, shape: tuple[int, int], take: Take) -> SparseEntries:
    """Read a DIA matrix: its entries are the numbers on its diagonals that are not zero."""
    offsets = check_integers(take(matrix.offsets, "offsets"), "offsets").astype(np.int64)
    data = _values(take(matrix.data, "data"), 2)
    if len(offsets) != len(data):
        raise InvalidInputError(f"offsets has {len(offsets)} entries, data has {len(data)} diagonals")
    if len(xp.unique(offsets)) < len(offsets):
        raise InvalidInputError("offsets has a diagonal twice")
    within = (offsets > -shape[0]) & (offsets < shape[1])
    offsets, data = offsets[within], data[within, : shape[1]]
    columns = xp.broadcast_to(xp.arange(data.shape[1]), data.shape)
    rows = columns - offsets[:, None]
    kept = (rows >= 0) & (rows < shape[0]) & (data != 0)
    return _by_rows(xp, shape, rows[kept], columns[kept], data[kept])


def _read_lists(matrix: AnyArray, shape: tuple[int, int]) -> SparseEntries:
    """Read a LIL matrix."""
    columns, data = (_values(_take_host(getattr(matrix, name), name), 1) for name in ("rows", "data"))
    if not len(columns) == len(data) == shape[0]:
        raise InvalidInputError(f"rows has {len(columns)} lists, data {len(data)}, expected {shape[0]} each")
    for i, lists in enumerate(zip(columns, data, strict=True)):
        if not all(isinstance(values, list) for values in lists) or len(lists[0]) != len(lists[1]):
            raise InvalidInputError(f"row {i} of a sparse matrix is not two lists of one length")
    row = np.repeat(np.arange(shape[0]), np.array([len(values) for values in columns], dtype=np.int64))
    column = _as_integers(list(chain.from_iterable(columns)), "column")
    check_range(column, "column", shape[1])
    return _by_rows(np, shape, row, column, _as_data(list(chain.from_iterable(data)), matrix.dtype))


def _read_keys(matrix: AnyArray, shape: tuple[int, int]) -> SparseEntries:
    """Read a DOK matrix."""
    keys = list(matrix.keys())
    if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        raise InvalidInputError("a key of a sparse matrix is not a pair (row, column)")
    row, column = (
        _as_integers([key[side] for key in keys], name) for side, name in enumerate(("row", "column"))
    )
    check_range(row, "row", shape[0])
    check_range(column, "column", shape[1])
    return _by_rows(np, shape, row, column, _as_data(list(matrix.values()), matrix.dtype))


def _by_rows(
    xp: ArrayModule, shape: tuple[int, int], row: AnyArray, column: AnyArray, data: AnyArray
) -> SparseEntries:
    order = xp.lexsort(xp.stack([column, row]))
    return SparseEntries("coo", shape, row[order], column[order], plain(data[order]))


def _values(data: AnyArray, ndim: int) -> AnyArray:
    if data.ndim != ndim:
        raise InvalidInputError(
            f"data of this sparse matrix must have {ndim} dimensions, got shape {data.shape}"
        )
    return data


def _check_one_each(indices: AnyArray, data: AnyArray) -> None:
    if indices.ndim != 1 or len(indices) != len(data):
        raise InvalidInputError(f"indices has shape {indices.shape}, data has shape {data.shape}")


def _as_integers(numbers: list[Any], name: str) -> AnyArray:
    if not all(isinstance(i, int | np.integer) for i in numbers):
        raise InvalidInputError(f"a {name} of a sparse matrix is not an integer")
    try:
        return np.array(numbers, dtype=np.int64)
    except OverflowError:
        raise InvalidInputError(f"a {name} of a sparse matrix is out of range") from None


def _as_data(values: list[Any], dtype: DTypeLike) -> AnyArray:
    try:
        data = np.array(values, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInputError(f"data of a sparse matrix is not numbers: {error}") from None
    return _values(data, 1)
