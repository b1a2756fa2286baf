"""The drop-in for SciPy's linear_sum_assignment: the same results, kinds of errors and warnings."""

from __future__ import annotations

import decimal
import fractions
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from preflow.errors import PreflowError
from preflow.integrations.scipy_compat import linear_sum_assignment

pytestmark = pytest.mark.fast

SQUARE = [[4, 1], [2, 0]]


class ArrayLike:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.eye(2)


def read_only() -> Any:
    values = np.array(SQUARE, dtype=float)
    values.flags.writeable = False
    return values


MATRICES: dict[str, Any] = {
    "list": [[4, 1, 3], [2, 0, 5], [3, 2, 2]],
    "tuples": ((4, 1, 3), (2, 0, 5), (3, 2, 2)),
    "ranges": [range(2), range(2)],
    "list of arrays": [np.array([1, 2]), np.array([3, 1])],
    "array-like": ArrayLike(),
    **{dtype: np.array(SQUARE, dtype) for dtype in ("f8", "f4", "f2", "g", "i1", "u1", "i4", "i8", "u8")},
    **{dtype: np.array(SQUARE, dtype) for dtype in (">f8", ">i4", "M8[s]", "m8[s]", "O", "c16", "S1", "U1")},
    "void": np.zeros((2, 2), "V4"),
    "structured": np.zeros((2, 2), [("a", "i4")]),
    "bools": np.eye(2, dtype=bool),
    "list of bools": [[True, False], [False, True]],
    "complex list": [[1j, 2], [3, 1]],
    "imaginary part 0": np.eye(2) + 0j,
    "words": [["a", "b"], ["c", "d"]],
    "numbers as text": [["1", "2"], ["3", "4"]],
    "a word among numbers": [["1", "x"], ["3", "4"]],
    "objects": np.array([["a", 1], [2, 0]], dtype=object),
    "None in a list": [[None, 1], [2, 0]],
    "fractions": [[fractions.Fraction(1, 2), 1], [2, 0]],
    "decimals": [[decimal.Decimal("1.5"), 1], [2, 0]],
    "large integers": [[2**70, 1], [2, 0]],
    "larger integers": [[10**400, 1], [2, 0]],
    "integers near 2**62": [[2**62, 1], [2, 2**62]],
    "largest uint64": np.array([[2**64 - 1, 1], [2, 0]], dtype="u8"),
    "ragged": [[1, 2], [3]],
    "number": 5,
    "None": None,
    "word": "abc",
    "dict": {},
    "set": {1, 2},
    "function": len,
    "one dimension": [1, 2, 3],
    "three dimensions": np.zeros((2, 2, 2)),
    "empty": [],
    "empty row": [[]],
    "0 x 3": np.zeros((0, 3)),
    "3 x 0": np.zeros((3, 0)),
    "0 x 0": np.zeros((0, 0)),
    "NaN": [[np.nan, 1], [2, 0]],
    "NaN of 32 bits": np.array([[np.nan, 1], [2, 0]], dtype="f4"),
    "inf": [[np.inf, 1], [2, 0]],
    "-inf": [[-np.inf, 1], [2, 0]],
    "all inf": np.full((2, 2), np.inf),
    "all -inf": np.full((2, 2), -np.inf),
    "infeasible": [[np.inf, 1], [np.inf, 2]],
    "wide": np.arange(6).reshape(2, 3),
    "tall": np.arange(6).reshape(3, 2),
    "Fortran order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(24.0).reshape(4, 6)[::2, ::3],
    "read-only": read_only(),
    "np.matrix": np.asmatrix(SQUARE),
    "masked": np.ma.masked_array([[4.0, 1], [2, 0]], mask=[[0, 1], [0, 0]]),
    "huge": [[1e300, 1], [2, 1e300]],
    "largest float32": np.array([[3e38, 1], [2, 3e38]], dtype="f4"),
    "sums past float64": [[1e308, 1e308], [1e308, 1e308]],
    "denormal": [[5e-324, 0], [0, 5e-324]],
}


def outcome(solve: Any, matrix: Any, maximize: Any) -> Any:
    """Return the pairs, or the error; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return solve(matrix, maximize)
        except Exception as error:
            return error


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_same_as_scipy(matrix: Any, maximize: bool) -> None:
    expected = outcome(scipy.optimize.linear_sum_assignment, matrix, maximize)
    got = outcome(linear_sum_assignment, matrix, maximize)
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected))
        assert isinstance(got, PreflowError)
        return
    assert isinstance(got, tuple)
    costs = np.array(matrix, dtype=np.float64)
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.flags.writeable == other.flags.writeable
    np.testing.assert_array_equal(got[0], np.sort(got[0]))
    with np.errstate(over="ignore"):
        assert costs[got].sum() == costs[expected].sum()


@pytest.mark.parametrize("maximize", [1, 0, 2, "yes", None, np.True_, [], [1], 1.0, np.array([1, 2])])
def test_maximize_is_what_python_finds_true(maximize: Any) -> None:
    expected = outcome(scipy.optimize.linear_sum_assignment, SQUARE, maximize)
    got = outcome(linear_sum_assignment, SQUARE, maximize)
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected))
    else:
        np.testing.assert_array_equal(got, expected)


def test_sparse_matrices_are_accepted() -> None:
    """SciPy refuses them, and has another function for them."""
    _, column = linear_sum_assignment(scipy.sparse.csr_array([[0, 3], [1, 9]]))
    assert column.tolist() == [1, 0]
