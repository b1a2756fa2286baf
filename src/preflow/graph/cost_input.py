"""Costs of assignments from what the caller gives: read, checked, on the host or on a GPU.

This is the one place that decides between :class:`.DenseCosts`, :class:`.SparseCosts`, :class:`.PointCosts`
on the host and :class:`.DeviceCosts` on a GPU.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import AnyArray, Array, SideLabels, Untyped
from ..cuda import runtime
from ..cuda.runtime import is_on_gpu
from ..errors import CostOverflowError, InvalidInputError
from ..parallel.pieces import run_pieces
from .cost_base import centred_by_row
from .cost_edges import CostEdges
from .costs import (
    LARGEST_INTEGER,
    LEAST_SHARE,
    DenseCosts,
    SparseCosts,
    batch_shape,
    check_costs,
    checked_sizes,
    fit,
    refuse_missing,
    wide,
)
from .device.costs import DeviceCosts, costs_on_device
from .edge_tables import (
    NOT_ALLOWED,
    is_frame,
    is_table,
    is_unnamed,
    matrix_labels,
    refuse_pairs,
    table_columns,
)
from .network import EXACT_FLOAT, RENUMBER
from .placement import as_device_array, exact_array, is_tensor, restorer, restorer_of, without_gradient
from .point_costs import PointCosts
from .sparse_input import read_sparse


def as_costs(
    cost: AnyArray,
    maximize: bool,
    sizes: AnyArray = None,
    threads: int = 1,
    check: bool = True,
) -> DenseCosts | SparseCosts | PointCosts | DeviceCosts:
    """Return the costs that linear_assignment accepts, checked by `threads` threads.

    The result is on a GPU if the input is. With ``check=False`` the sizes of dense costs on the host are left
    for :meth:`DenseCosts.fitted` to check.
    InvalidInputError: no numbers, NaN, infinitely good costs, integers that compete over a range of more than
    2**60 (on a GPU, integers beyond 2**59), a shape without two dimensions, or sizes that its matrices cannot
    have.
    """
    if not isinstance(maximize, bool | np.bool_):
        raise InvalidInputError(f"maximize must be True or False, got {maximize!r}")
    maximize = bool(maximize)
    if isinstance(cost, PointCosts | CostEdges) or hasattr(cost, "tocsr"):
        if sizes is not None:
            raise InvalidInputError("sizes are those of a batch of dense matrices, which cost is not")
        if isinstance(cost, PointCosts):
            return replace(cost, maximize=maximize)
        if isinstance(cost, CostEdges):
            return _from_edges(cost, maximize)
        if is_on_gpu(getattr(cost, "data", None)):
            raise InvalidInputError("a sparse matrix of costs is on a GPU: cost.get() copies it to the host")
        return _from_scipy(cost, maximize)
    labels: SideLabels = None
    kind = table = cost
    if is_frame(cost):
        cost, labels = _matrix_of_frame(cost, maximize)
    elif isinstance(cost, list) and cost and _dimensions(cost[0]) == 2:
        kind, cost, sizes = cost[0], *_stacked(cost, sizes)
    cost = without_gradient(cost)
    if is_on_gpu(cost):
        found = costs_on_device(cost, maximize, sizes)
        return found if kind is cost else replace(found, restore=restorer(found.device, kind))
    if np.ma.is_masked(cost):
        raise InvalidInputError("cost is masked: a pair that is not allowed costs inf (-inf with maximize)")
    values = exact_array(cost, "cost")
    if values.dtype.kind == "O" and (labels is not None or is_table(cost)):
        rows, columns = (range(len(values)), table_columns(cost)) if labels is None else labels
        _refuse_text(rows, columns, values)
    if is_unnamed(table):
        refuse_pairs(table_columns(table), values)
    leading, items, n, m = batch_shape(values)
    values = _as_numbers(values, threads)
    checked = checked_sizes(sizes, leading, n, m)
    restore = restorer_of(kind)
    if values.dtype.kind in "uO":
        large = DenseCosts(values.reshape(items, n, m), leading, maximize, checked, restore, labels=labels)
        return large.fitted(threads)
    stack = _for_kernels(values).reshape(items, n, m)
    costs = DenseCosts(stack, leading, maximize, checked, restore, labels=labels)
    return costs.fitted(threads) if check else costs


def _dimensions(values: AnyArray) -> int:
    """Return the number of dimensions of an array, or of a list as far as its first entries say."""
    depth = 0
    while isinstance(values, list) and depth < 3:
        depth, values = depth + 1, values[0] if values else None
    return depth + int(getattr(values, "ndim", 2 if is_tensor(values) else 0))


def _stacked(matrices: list[Any], sizes: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return matrices as one array, on a GPU if the first one is, and their sizes if they differ.

    InvalidInputError: they are not all matrices, or they have sizes of their own and others are given.
    """
    device = runtime.find_device() if is_on_gpu(without_gradient(matrices[0])) else None
    names = [f"cost[{item}]" for item in range(len(matrices))]
    if device is None:
        xp, parts = np, [exact_array(each, name) for each, name in zip(matrices, names, strict=True)]
    else:
        xp = device.xp
        parts = [
            as_device_array(device, each, name, "problem") for each, name in zip(matrices, names, strict=True)
        ]
    for part, name in zip(parts, names, strict=True):
        if part.ndim != 2:
            raise InvalidInputError(f"cost is a list of matrices, and {name} has shape {tuple(part.shape)}")
    shapes = np.array([part.shape for part in parts])
    most = shapes.max(axis=0).tolist()
    if (shapes != most).any():
        if sizes is not None:
            raise InvalidInputError("sizes are those of matrices of one shape, and these have their own")
        sizes = shapes
    dtype = np.result_type(*(part.dtype for part in parts))
    integers = [part for part in parts if part.dtype.kind in "iu"]
    if dtype.kind == "f" and len(integers) == len(parts):
        dtype = np.dtype(object)  # int64 and uint64
    elif dtype.kind == "f" and any((abs(part) > int(EXACT_FLOAT)).any() for part in integers):
        raise InvalidInputError("cost mixes floats with integers past 2**53, which float64 cannot represent")
    stack = xp.zeros((len(parts), *most), dtype=dtype)
    for item, (part, (n, m)) in enumerate(zip(parts, shapes.tolist(), strict=True)):
        stack[item, :n, :m] = part
    return stack, sizes


def _matrix_of_frame(
    frame: Untyped, maximize: bool
) -> tuple[Array, tuple[tuple[Hashable, ...], tuple[Hashable, ...]]]:
    """Return the matrix of a DataFrame of pandas, and its labels."""
    labels = matrix_labels(frame)
    missing = frame.isna().to_numpy()
    if missing.any():
        i, j = (int(place[0]) for place in np.nonzero(missing))
        refuse_missing(labels[0][i], labels[1][j], maximize=maximize)
    frame = frame.infer_objects()
    kinds = {dtype.kind for dtype in frame.dtypes}
    values: Array = frame.to_numpy()
    if values.dtype.kind == "O" and kinds <= set("biuf"):  # columns of dtypes that NumPy lacks
        values = frame.to_numpy(dtype=np.float64 if "f" in kinds else np.int64)
    if values.dtype.kind == "f" and kinds & set("iu"):
        whole = frame.select_dtypes("integer")
        if ((whole > int(EXACT_FLOAT)) | (whole < -int(EXACT_FLOAT))).to_numpy().any():
            raise InvalidInputError(
                "the costs mix columns of floats with integers past 2**53, which float64 cannot represent"
            )
    return values, labels


def _refuse_text(rows: Sequence[Hashable], columns: Sequence[Hashable], values: Array) -> None:
    """Raise InvalidInputError if a table of costs has text; one with columns of text may be one of pairs."""
    for name, column in zip(columns, values.T, strict=True):
        text = [row for row, entry in enumerate(column) if isinstance(entry, str)]
        if 0 < len(text) < len(column):
            cell = f"row {rows[text[0]]!r}: {column[text[0]]!r} in column {name!r}"
            raise InvalidInputError(f"{cell} is not a number{NOT_ALLOWED['cost']}")
        if text:
            error = InvalidInputError(
                f"column {name!r} of the costs has text: in a matrix the names of rows are the index of a "
                "DataFrame of pandas, and a table of pairs has the columns 'row', 'column' and 'cost'"
            )
            error.advising("ends", ("FIRST", "SECOND"), "names other ends of pairs")
            raise error.advising("weight", "NAME", "names their cost")


def _from_scipy(matrix: AnyArray, maximize: bool) -> SparseCosts:
    """Return costs of a sparse matrix; an entry that is stored several times is the sum, as in SciPy."""
    entries = read_sparse(matrix)
    n, m = entries.shape
    _check_columns(m)
    values = wide(_as_numbers(entries.data))

    def place(where: int) -> tuple[int, int]:
        row, column = entries.ends()
        return int(row[where]), int(column[where])

    huge = check_costs(values, maximize, min(n, m), place)
    if entries.form == "csr" and _rise(entries.major, entries.minor):
        first, column = entries.major, entries.minor
    else:
        row, column = entries.ends()
        with np.errstate(over="ignore"):
            first, column, values = _by_rows(row, column, values, entries.shape, np.add)
        if huge and np.isinf(values).sum() > np.isinf(entries.data).sum():
            raise CostOverflowError("the costs of one pair add up to more than float64 can represent")
        huge = check_costs(values, maximize, min(n, m), place)
    pairs = _allowed_pairs(first, column, values, m, maximize)
    return replace(pairs, huge=True) if huge else pairs


def _from_edges(edges: CostEdges, maximize: bool) -> SparseCosts:
    """Return costs of edges; the best of parallel edges counts."""
    n, m = edges.shape
    _check_columns(m)
    values = wide(_as_numbers(edges.cost))
    rows, columns = edges.labels or (range(n), range(m))

    def place(edge: int) -> tuple[Hashable, Hashable]:
        return rows[int(edges.row[edge])], columns[int(edges.column[edge])]

    huge = check_costs(values, maximize, min(n, m), place)
    best = np.maximum if maximize else np.minimum
    first, column, values = _by_rows(edges.row, edges.column, values, edges.shape, best)
    pairs = _allowed_pairs(first, column, values, m, maximize)
    return replace(pairs, labels=edges.labels, restore=edges.restore, huge=huge)


def _with_base(costs: SparseCosts) -> SparseCosts:
    """Return large integer costs as int64 costs with a base by rows, by columns if there are fewer."""
    _, n, m = costs.shape
    part = costs if n <= m else costs.transposed()
    values, base = centred_by_row(part.first, part.values)
    part = replace(part, values=values, base=base[None, :, None])
    return part if n <= m else part.transposed()


def _check_columns(m: int) -> None:
    if m > 2**32 - 2:
        raise InvalidInputError(f"at most {2**32 - 2} columns, got {m}; {RENUMBER}")


def _rise(first: Array, column: Array) -> bool:
    """Return whether the columns of each row ascend strictly."""
    rises = np.ones(len(column) + 1, dtype=np.bool_)
    np.greater(column[1:], column[:-1], out=rises[1:-1])
    rises[first] = True
    return bool(rises.all())


def _by_rows(
    row: Array, column: Array, values: Array, shape: tuple[int, int], merge: np.ufunc
) -> tuple[Array, Array, Array]:
    """Return pairs by rows and ascending columns: the beginning of each row, columns, and costs.

    `merge` combines the costs of a pair that is given several times.
    """
    from scipy.sparse import csr_array

    if values.dtype != object:
        grouped = csr_array((values, (row, column)), shape=shape)
        if len(grouped.data) == len(values):
            return grouped.indptr, grouped.indices, grouped.data
    order = np.lexsort((column, row))
    row, column, values = row[order], column[order], values[order]
    is_new = np.append(True, (row[1:] != row[:-1]) | (column[1:] != column[:-1]))
    begins = np.flatnonzero(is_new)
    if merge is np.add and values.dtype.kind in "iu":
        rough = np.add.reduceat(np.abs(values.astype(np.float64)), begins)
        several = np.diff(begins, append=len(values)) > 1
        if (rough[several] > 2.0**62).any():
            raise InvalidInputError("integer costs of one pair add up to more than 2**62")
    first = np.zeros(shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(row[begins], minlength=shape[0]), out=first[1:])
    return first, column[begins], merge.reduceat(values, begins)


def _allowed_pairs(first: Array, column: Array, values: Array, m: int, maximize: bool) -> SparseCosts:
    """Return costs given by rows without pairs that are not allowed; large integers get a base."""
    if values.dtype.kind != "f" and not fit(values):
        return _with_base(SparseCosts(first.astype(np.uint64), column.astype(np.uint32), values, m, maximize))
    if values.dtype.kind == "f":
        allowed = np.isfinite(values)
        if not allowed.all():
            first = np.append(0, np.cumsum(allowed))[first]
            column, values = column[allowed], values[allowed]
    column = np.ascontiguousarray(column, dtype=np.uint32)
    return SparseCosts(first.astype(np.uint64), column, _for_kernels(values), m, maximize)


def _as_numbers(values: Array, threads: int = 1) -> Array:
    """Return numbers as int64, float64 or float32; larger integers as uint64 or Python integers."""
    dtype = values.dtype.newbyteorder("=")
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize <= 8):
        return _converted(values, np.int64, threads)
    if dtype.kind == "u":
        large = values.size and int(values.max()) > LARGEST_INTEGER
        return _converted(values, np.uint64 if large else np.int64, threads)
    if dtype.kind == "O" and all(isinstance(value, int | np.integer) for value in values.flat):
        numbers = [int(value) for value in values.flat]
        fits = min(numbers, default=0) >= -(2**63) and max(numbers, default=0) < 2**63
        return np.array(numbers, dtype=np.int64 if fits else object).reshape(values.shape)
    if dtype in (np.float64, np.float32):
        return _converted(values, dtype, threads)
    if dtype == np.float16:
        return _converted(values, np.float32, threads)
    raise InvalidInputError(f"costs must be integers or floats of up to 64 bits, got dtype {dtype}")


def _converted(values: Array, dtype: DTypeLike, threads: int) -> Array:
    """Return values of another dtype; several threads, since first touching memory is what takes time."""
    threads = min(threads, values.size // LEAST_SHARE)
    if threads < 2 or values.dtype == dtype or not values.flags.c_contiguous:
        return values.astype(dtype, copy=False)
    converted = np.empty(values.shape, dtype)
    target, source = converted.reshape(-1), values.reshape(-1)

    def convert(begin: int, end: int) -> None:
        target[begin:end] = source[begin:end]

    run_pieces(convert, len(source), threads, each=1)
    return converted


class _Writable:
    """A read-only array that claims to be writable: kernels are compiled for writable arrays only."""

    def __init__(self, values: Array) -> None:
        self.values = values
        interface = values.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _for_kernels(values: Array) -> Array:
    """Return contiguous, aligned values of a kind that kernels are compiled for; they are only read."""
    values = values if values.flags.carray else np.require(values, requirements=["C", "A"])
    return values if values.flags.writeable or not values.size else np.asarray(_Writable(values))
