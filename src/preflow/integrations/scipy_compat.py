"""Drop-in replacements of SciPy's functions: the same arguments, results and kinds of errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..assignment.api import linear_assignment
from ..errors import CapacityOverflowError, InvalidInputError, InvalidTypeError
from ..graph.costs import LARGEST_INTEGER

#: Floats beyond this are taken times the second number: their sums would overflow.
HUGE, SMALLER = 1e200, 2.0**-400


def linear_sum_assignment(
    cost_matrix: ArrayLike, maximize: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair rows with columns at the least total cost, as :func:`scipy.optimize.linear_sum_assignment` does.

    Among assignments of equal cost the choice may differ. Integers are solved exactly, where SciPy turns
    them into floats; those past 2**59 become floats here, too.

    Parameters
    ----------
    cost_matrix : array_like, shape (n, m)
        Of everything that SciPy accepts: an array is safely cast to float64, other sequences are converted. A
        sparse matrix, which SciPy refuses, is accepted too: pairs that it does not store are not allowed.
    maximize : bool

    Returns
    -------
    row_ind, col_ind : ndarray of int64
        Rows in ascending order and the column of each.

    Raises
    ------
    InvalidInputError
        A ValueError: not a matrix of numbers, or one is NaN or infinitely good.
    CapacityOverflowError
        An OverflowError: a Python integer past float64.
    InvalidTypeError
        A TypeError: an array of a dtype that does not safely become float64, or entries that are no numbers.
    InfeasibleError
        A ValueError: no assignment has a finite cost.

    Examples
    --------
    >>> row, column = linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> column.tolist()
    [1, 0, 2]
    """
    matrix: Any = cost_matrix if hasattr(cost_matrix, "tocsr") else _as_matrix(cost_matrix)
    result = linear_assignment(_within_range(matrix), maximize=bool(maximize))
    return result.row.copy(), result.column.copy()


def _as_matrix(values: Any) -> Array:
    """Return bools, integers or floats of up to 64 bits; convert and refuse what SciPy does."""
    try:
        matrix = np.asarray(values)
        if matrix.dtype.kind not in "biuf" or matrix.dtype.itemsize > 8:
            if hasattr(values, "dtype") and not np.can_cast(matrix.dtype, np.float64):
                raise TypeError(f"cannot cast a matrix of dtype {matrix.dtype} safely to float64")
            matrix = np.array(values, dtype=np.float64)
    except TypeError as error:
        raise InvalidTypeError(str(error)) from None
    except OverflowError as error:
        raise CapacityOverflowError(str(error)) from None
    except ValueError as error:
        raise InvalidInputError(str(error)) from None
    if matrix.ndim != 2:
        raise InvalidInputError(f"expected a matrix (2-D array), got a {matrix.ndim}-D array")
    return matrix


def _within_range(matrix: Any) -> Any:
    """Return costs that SciPy takes as costs that can be added up: floats, and smaller by a power of two."""
    if hasattr(matrix, "tocsr") or not matrix.size:
        return matrix
    if matrix.dtype.kind in "iu" and max(int(matrix.max()), -int(matrix.min())) > LARGEST_INTEGER:
        return matrix.astype(np.float64)
    if matrix.dtype == np.float64:
        finite = matrix[np.isfinite(matrix)]
        if np.abs(finite).max(initial=0.0) > HUGE:
            return matrix * SMALLER
    return matrix
