"""Drop-in replacements of functions of lap and lapx: the same arguments and results.

Of several optimal results they may return another one. :doc:`/problems/coming_from` lists what else differs
on purpose.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Array
from ..assignment.api import linear_assignment
from ..assignment.result import AssignmentResult
from ..eager import eager
from ..errors import CostOverflowError, InfeasibleError, InvalidInputError, InvalidTypeError

#: The kinds of floats that lap's ``fp_version`` names. They change nothing here.
FP_1, FP_2, FP_DYNAMIC = 1, 2, 3


@eager
def lapjv(
    cost: ArrayLike, extend_cost: bool = False, cost_limit: float = np.inf, return_cost: bool = True
) -> tuple[float, NDArray[np.int32], NDArray[np.int32]] | tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pair rows with columns at the least total cost, as ``lap.lapjv`` does.

    Parameters
    ----------
    cost : array_like, shape (n, m)
        Infinity is a pair that is not allowed.
    extend_cost : bool, default False
        Accepted for compatibility: as in lapx, a matrix may have more rows than columns, or fewer.
    cost_limit : float, default inf
        A pair is made only if it costs less than leaving both single, which costs this much together. It is
        ``unmatched_cost=(cost_limit / 2, cost_limit / 2)`` of :func:`preflow.linear_assignment`.
    return_cost : bool, default True
        Return the total cost of the pairs as the first value.

    Returns
    -------
    cost : float
        If `return_cost` is true.
    x : ndarray of int32, shape (n,)
        The column of each row; -1 for none.
    y : ndarray of int32, shape (m,)
        The row of each column; -1 for none.

    Raises
    ------
    InvalidInputError
        A ValueError: not a matrix of numbers, a cost is NaN or minus infinity, or the limit is NaN or minus
        infinity.
    InvalidTypeError
        A TypeError: the entries are not real numbers.
    InfeasibleError
        A ValueError: without a limit, no assignment has a finite cost.
    NotOptimalError
        The answer is not proved optimal: see the status "approximate" of :doc:`/problems/assignment`.

    Notes
    -----
    The worst case takes O(n**2 m) time for n rows and m >= n columns.

    Examples
    --------
    >>> total, x, y = lapjv([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> total, x.tolist(), y.tolist()
    (5.0, [1, 0, 2], [1, 0, 2])
    >>> lapjv([[1, 9], [9, 8]], cost_limit=5, return_cost=False)[0].tolist()
    [0, -1]
    """
    total, row, column, shape = _solve(cost, cost_limit)
    x, y = _maps(row, column, shape)
    return (total, x, y) if return_cost else (x, y)


@eager
def lapjvx(
    cost: ArrayLike, extend_cost: bool = False, cost_limit: float = np.inf, return_cost: bool = True
) -> tuple[float, Array, Array] | tuple[Array, Array]:
    """Pair rows with columns and return the pairs, as ``lap.lapjvx`` does.

    Parameters
    ----------
    cost, extend_cost, cost_limit, return_cost
        As in :func:`lapjv`.

    Returns
    -------
    cost : float
        If `return_cost` is true.
    row_indices, col_indices : ndarray of int64 and int32
        The pairs, in the order of the rows. If there are more rows than columns, in the order of the columns,
        and the dtypes are exchanged.

    Raises
    ------
    InvalidInputError, InvalidTypeError, InfeasibleError
        As in :func:`lapjv`.

    Examples
    --------
    >>> total, row, column = lapjvx([[4, 1], [2, 0], [3, 2]])
    >>> total, row.tolist(), column.tolist()  # in the order of the columns, which are fewer
    (3.0, [1, 0], [0, 1])
    """
    total, row, column, (n, m) = _solve(cost, cost_limit)
    row, column = (
        row.astype(np.int64 if n <= m else np.int32),
        column.astype(np.int32 if n <= m else np.int64),
    )
    return (total, row, column) if return_cost else (row, column)


@eager
def lapjvxa(
    cost: ArrayLike, extend_cost: bool = False, cost_limit: float = np.inf, return_cost: bool = True
) -> tuple[float, NDArray[np.int32]] | NDArray[np.int32]:
    """Pair rows with columns and return the pairs as one array, as ``lap.lapjvxa`` does.

    Parameters
    ----------
    cost, extend_cost, cost_limit, return_cost
        As in :func:`lapjv`.

    Returns
    -------
    cost : float
        If `return_cost` is true.
    assignments : ndarray of int32, shape (k, 2)
        A row and its column in each line, in the order of :func:`lapjvx`.

    Raises
    ------
    InvalidInputError, InvalidTypeError, InfeasibleError
        As in :func:`lapjv`.

    Examples
    --------
    >>> lapjvxa([[1, 9], [9, 8]], cost_limit=5)
    (1.0, array([[0, 0]], dtype=int32))
    """
    total, row, column, _ = _solve(cost, cost_limit)
    pairs = np.stack([row, column], axis=1).astype(np.int32)
    return (total, pairs) if return_cost else pairs


@eager
def lapmod(
    n: int,
    cc: ArrayLike,
    ii: ArrayLike,
    kk: ArrayLike,
    fast: bool = True,
    return_cost: bool = True,
    fp_version: int = FP_DYNAMIC,
) -> tuple[float, NDArray[np.int32], NDArray[np.int32]] | tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pair all rows of a sparse square matrix with columns at the least cost, as ``lap.lapmod`` does.

    Parameters
    ----------
    n : int
        The number of rows and of columns.
    cc : array_like of numbers, shape (k,)
        The stored costs, row by row. Unlike lapx, they may be negative or large. An infinite one is a pair
        that is not allowed.
    ii : array_like of integers, shape (n + 1,)
        Row i has the entries ``ii[i]`` to ``ii[i + 1]``, the last one excluded.
    kk : array_like of integers, shape (k,)
        The column of each entry, ascending within a row.
    fast : bool
        Accepted for compatibility.
    return_cost : bool, default True
        Return the total cost as the first value.
    fp_version : int
        Accepted for compatibility.

    Returns
    -------
    cost : float
        If `return_cost` is true.
    x, y : ndarray of int32, shape (n,)
        The column of each row and the row of each column.

    Raises
    ------
    InvalidInputError
        A ValueError: the arrays do not fit each other, or a cost is NaN or minus infinity.
    InvalidTypeError
        A TypeError: `ii` or `kk` has no integers.
    InfeasibleError
        A ValueError: no assignment has a finite cost.
    NotOptimalError
        The answer is not proved optimal: see the status "approximate" of :doc:`/problems/assignment`.

    Notes
    -----
    O(n k log n) time for k entries in the worst case.

    Examples
    --------
    >>> total, x, y = lapmod(2, [4, 1, 2], [0, 2, 3], [0, 1, 0])
    >>> total, x.tolist(), y.tolist()
    (3.0, [1, 0], [1, 0])
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise InvalidInputError(f"n must be a number of rows, got {n!r}")
    values, begins, column = _numbers(cc, "cc", 1), _integers(ii, "ii"), _integers(kk, "kk")
    if len(values) != len(column):
        raise InvalidInputError(f"cc and kk must have one length, got {len(values)} and {len(column)}")
    if len(begins) != n + 1 or begins[0] != 0 or begins[-1] != len(values) or (np.diff(begins) < 0).any():
        raise InvalidInputError(f"ii must have n + 1 = {n + 1} ascending numbers from 0 to {len(values)}")
    if column.size and (column.min() < 0 or column.max() >= n):
        raise InvalidInputError(f"kk must have columns from 0 to {n - 1}")
    row = np.repeat(np.arange(n), np.diff(begins))
    if ((np.diff(column) <= 0) & (np.diff(row) == 0)).any():
        raise InvalidInputError("the columns of a row in kk must ascend")
    found = _assigned((row, column, values), shape=(int(n), int(n)))
    x, y = _maps(found.row, found.column, (int(n), int(n)))
    return (float(found.cost), x, y) if return_cost else (x, y)


def _solve(
    cost: ArrayLike, cost_limit: float
) -> tuple[float, NDArray[np.int64], NDArray[np.int64], tuple[int, int]]:
    """Return the cost of the pairs, their rows and columns in the order of lapx, and the matrix's shape."""
    matrix = _numbers(cost, "cost", 2)
    limit = float(cost_limit)
    if np.isnan(limit) or limit == -np.inf:
        raise InvalidInputError(f"cost_limit must be finite or infinity, got {cost_limit!r}")
    n, m = matrix.shape
    try:
        found = _assigned(matrix, unmatched_cost=None if limit == np.inf else (limit / 2, limit / 2))
    except CostOverflowError:
        # Any limit past all costs together asks for as many pairs as there can be.
        most = 2 * (n + m) * float(np.abs(matrix).max(where=np.isfinite(matrix), initial=0.0))
        if not most < limit:
            raise
        found = _assigned(matrix, unmatched_cost=(most, most))
    order = np.argsort(found.row if n <= m else found.column, kind="stable")
    row, column = found.row[order], found.column[order]
    return math.fsum(matrix[row, column].tolist()), row, column, (n, m)


def _assigned(cost: AnyArray, **arguments: Any) -> AssignmentResult:
    """Solve an assignment problem; lap's functions have no place for bounds, and no `partial`."""
    try:
        found = linear_assignment(cost, **arguments)
    except InfeasibleError as error:
        error.advice = ()
        raise
    found.check_optimal()
    return found


def _maps(
    row: NDArray[np.int64], column: NDArray[np.int64], shape: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    x, y = (np.full(size, -1, dtype=np.int32) for size in shape)
    x[row], y[column] = column, row
    return x, y


def _numbers(values: ArrayLike, name: str, ndim: int) -> Array:
    """Return an array of integers or float64."""
    try:
        numbers: Array = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name}: {error}") from None
    if not numbers.size and numbers.dtype == object:
        numbers = numbers.astype(np.float64)
    if numbers.dtype.kind not in "biuf":
        raise InvalidTypeError(f"{name} must have real numbers, got dtype {numbers.dtype}")
    if numbers.ndim != ndim:
        raise InvalidInputError(f"{name} must have {ndim} dimensions, got shape {numbers.shape}")
    return numbers.astype(np.float64) if numbers.dtype.kind in "bf" else numbers


def _integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    numbers = _numbers(values, name, 1)
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise InvalidTypeError(f"{name} must have integers, got dtype {numbers.dtype}")
    return numbers.astype(np.int64)
