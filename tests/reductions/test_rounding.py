"""Matrix rounding: entries, sums of rows and columns, and the total are rounded up or down."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow import reductions
from preflow.errors import InvalidInputError, VerificationError

pytestmark = pytest.mark.fast


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([1, 2, 4, 10, 97]), st.integers(0, 2**32))
def test_random_matrices(n: int, m: int, unit: int, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(-3 * unit, 9 * unit, (n, m))
    found = reductions.round_matrix(counts / unit)
    found.verify()
    exact = [[Fraction(int(k), unit) for k in row] for row in counts]
    lines = [(found.values[i].sum(), sum(exact[i])) for i in range(n)]
    lines += [(found.values[:, j].sum(), sum(row[j] for row in exact)) for j in range(m)]
    lines += [(found.values.sum(), sum(map(sum, exact)))]
    lines += [(found.values[i, j], exact[i][j]) for i in range(n) for j in range(m)]
    for rounded, value in lines:
        assert math.floor(value) <= rounded <= math.ceil(value)


def test_integers_stay() -> None:
    matrix = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(reductions.round_matrix(matrix).values, matrix)
    assert reductions.round_matrix(np.zeros((0, 3))).values.shape == (0, 3)


def test_sums_that_are_integers_up_to_rounding() -> None:
    matrix = np.full((100, 100), 0.1)
    found = reductions.round_matrix(matrix)
    found.verify()
    assert (found.values.sum(axis=0) == 10).all()
    assert (found.values.sum(axis=1) == 10).all()


def test_large_entries() -> None:
    found = reductions.round_matrix([[2.0**51 + 0.5, 0.5], [1.25, -0.75]])
    found.verify()
    assert found.values.sum() in (2**51 + 1, 2**51 + 2)


def test_refusals() -> None:
    for matrix in ([0.5, 1], [["a"]], [[np.nan]], [[1e17]]):
        with pytest.raises(InvalidInputError):
            reductions.round_matrix(matrix)
    wrong = reductions.RoundedMatrix(np.array([[1, 1]]), np.array([[0.5, 0.5]]))
    with pytest.raises(VerificationError, match="sum of a row"):
        wrong.verify()


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, np.longdouble])
def test_dtypes(dtype: type) -> None:
    """Sums of float32 would be rounded: those of rows and of columns then contradict each other."""
    matrix = (np.random.default_rng(1).random((40, 30)) * 3).astype(dtype)
    reductions.round_matrix(matrix).verify()


@pytest.mark.filterwarnings("error")
def test_numbers_far_apart() -> None:
    rng = np.random.default_rng(3)
    numbers = [
        0.25,
        0.7,
        1.5,
        5e-324,
        1e-310,
        -1e-310,
        1e-9,
        2.0**52 + 0.5,
        2.0**53 - 1,
        1e15 + 0.125,
        -1e7 - 0.3,
    ]
    for _ in range(60):
        matrix = rng.choice(numbers, rng.integers(1, 6, 2))
        found = reductions.round_matrix(matrix)
        found.verify()
        assert (np.abs(found.values - matrix) <= 1).all()
