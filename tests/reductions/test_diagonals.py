"""scale_to_diagonal against all permutations: products, sums, smallest entries, scales, pivots, bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.errors import CapacityOverflowError, InvalidInputError, NotOptimalError, VerificationError
from preflow.reductions.diagonals import GOALS, pair_pivots

pytestmark = pytest.mark.fast

#: Each makes a square matrix of one kind from a generator and a number of rows.
KINDS = {
    "float": lambda rng, n: rng.normal(size=(n, n)) * 10.0 ** rng.integers(-5, 6, (n, n)),
    "huge": lambda rng, n: rng.choice([-1, 1], (n, n)) * 10.0 ** rng.integers(-300, 301, (n, n)),
    "int": lambda rng, n: rng.integers(-4, 5, (n, n)),
    "large int": lambda rng, n: rng.choice([-(2**63), 2**63 - 1, 2**62, 3], (n, n)),
    "unsigned": lambda rng, n: rng.integers(0, 2**64 - 1, (n, n), dtype=np.uint64),
    "bool": lambda rng, n: rng.random((n, n)) < 0.5,
    "complex": lambda rng, n: rng.normal(size=(n, n)) + 1j * rng.integers(-3, 4, (n, n)),
    "float32": lambda rng, n: rng.normal(size=(n, n)).astype(np.float32),
}
FORMS = {
    "dense": lambda a: a,
    "list": lambda a: a.tolist(),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": lambda a: sp.coo_array(a),
    "stored zeros": lambda a: sp.csr_array((a.ravel(), np.indices(a.shape).reshape(2, -1)), shape=a.shape),
}


def sizes_of(dense: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute values as Python integers, or floats."""
    if dense.dtype.kind in "biu":
        return np.abs(dense.astype(object))
    return np.abs(dense.astype(np.complex128))


def best_of_all(dense: NDArray[Any], goal: str) -> tuple[int, float]:
    """Return the number of entries and the value of the best permutation."""
    sizes, found = sizes_of(dense), []
    for order in permutations(range(len(dense))):
        entries = [size for size in sizes[range(len(dense)), order] if size]
        value = {
            "product": lambda e: math.fsum(math.log2(size) for size in e),
            "sum": sum,
            "smallest": lambda e: min(e, default=math.inf),
        }[goal](entries)
        found.append((len(entries), value))
    return max(found)


def check_scales(found: preflow.DiagonalScaling) -> None:
    """Check that scaled entries are at most 1, and 1 on the diagonal."""
    scaled = np.abs(found.scaled().toarray())
    assert (scaled <= 1 + 1e-9).all()
    rows = np.flatnonzero(found.matched)
    columns = found.permutation[rows] if found.symmetric else rows
    np.testing.assert_allclose(scaled[rows, columns], 1, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("goal", GOALS)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**31), n=st.integers(0, 5), share=st.sampled_from([0.3, 0.5, 0.8]))
def test_no_permutation_is_better(goal: Any, kind: str, seed: int, n: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    dense = KINDS[kind](rng, n) * (rng.random((n, n)) < share)
    if goal == "sum" and kind in ("large int", "unsigned"):
        dense = dense // 128  # larger integers of a sum are refused
    form = FORMS[rng.choice([name for name in FORMS if n or name != "list"])]
    found = preflow.scale_to_diagonal(form(dense), goal=goal)
    found.verify()
    rank, value = best_of_all(dense, goal)
    assert found.structural_rank == rank
    assert math.isclose(found.value, value, rel_tol=1e-9, abs_tol=1e-9)
    assert sorted(found.permutation) == list(range(n))
    rows = np.flatnonzero(found.matched)
    np.testing.assert_array_equal(found.diagonal[rows], dense[rows, found.permutation[rows]])
    if goal != "product":
        assert (found.row_scale == 1).all()
        np.testing.assert_array_equal(
            found.scaled().toarray(), dense[:, found.permutation].astype(found.scaled().dtype)
        )
        return
    check_scales(found)
    other = preflow.scale_to_diagonal(dense.T, goal=goal)
    assert math.isclose(other.value, value, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("kind", ["float", "huge", "int", "complex"])
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31), n=st.integers(0, 7), share=st.sampled_from([0.2, 0.4, 0.8]))
def test_symmetric_scales_and_pivots(kind: str, seed: int, n: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    dense = np.tril(KINDS[kind](rng, n) * (rng.random((n, n)) < share))
    dense = dense + np.tril(dense, -1).conj().T
    found = preflow.scale_to_diagonal(dense, symmetric=True)
    found.verify()
    check_scales(found)
    scaled = np.abs(found.scaled().toarray())
    np.testing.assert_allclose(scaled, scaled.T)
    alone = np.setdiff1d(np.arange(n), found.pivot_pairs)
    assert len(alone) + found.pivot_pairs.size == n
    assert all(scaled[i, j] != 0 for i, j in found.pivot_pairs)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 9), is_cycle=st.booleans())
def test_paths_and_cycles_are_cut_best(seed: int, n: int, is_cycle: bool) -> None:
    rng = np.random.default_rng(seed)
    chain = rng.permutation(n)
    following, preceding = np.full(n, -1), np.full(n, -1)
    following[chain[:-1]], preceding[chain[1:]] = chain[1:], chain[:-1]
    if is_cycle:
        following[chain[-1]], preceding[chain[0]] = chain[0], chain[-1]
    gain, single = rng.integers(-9, 9, (2, n)).astype(float)
    pairs = np.zeros((n // 2, 2), dtype=np.int64)
    count = pair_pivots(following, preceding, gain, single, np.zeros(n, np.int64), np.zeros(n, bool), pairs)
    assert count == n // 2
    assert (following[pairs[:, 0]] == pairs[:, 1]).all()
    alone = np.setdiff1d(np.arange(n), pairs)
    assert len(alone) == n % 2
    starts = range(n) if is_cycle else range(0, n, 2) if n % 2 else [n - 1]
    worth = []
    for last in starts:  # an even chain ends here; of an odd one this vertex is alone
        order = np.roll(chain, -1 - last)
        worth.append(gain[order[0 : n - n % 2 : 2]].sum() + (single[order[-1]] if n % 2 else 0))
    assert gain[pairs[:, 0]].sum() + single[alone].sum() == max(worth)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 6))
def test_a_warm_start_finds_the_same_value(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    found = None
    dense = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-9, 9, (n, n)) * (rng.random((n, n)) < 0.7)
    for _ in range(3):
        found = preflow.scale_to_diagonal(dense, warm_start=found)
        found.verify()
        check_scales(found)
        assert math.isclose(found.value, best_of_all(dense, "product")[1], abs_tol=1e-9)
        dense = dense * rng.uniform(0.7, 1.4, dense.shape)


@pytest.mark.parametrize("goal", GOALS)
def test_sparse_matrices_of_thousands_of_rows(goal: Any) -> None:
    rng = np.random.default_rng(1)
    n = 3000
    place = np.concatenate([rng.integers(0, n, (2, 5 * n)), [np.arange(n), rng.permutation(n)]], axis=1)
    values = rng.normal(size=6 * n) * 10.0 ** rng.integers(-9, 9, 6 * n)
    for kept in (6 * n, 3 * n):  # the second is singular
        matrix = sp.csr_array((values[-kept:], place[:, -kept:]), shape=(n, n))
        if kept < 6 * n:
            matrix = sp.diags_array((np.arange(n) % 10 > 0).astype(float)) @ matrix
        found = preflow.scale_to_diagonal(matrix, goal=goal)
        found.verify()
        assert found.structural_rank == preflow.structural_rank(found.matrix)
        assert (found.structural_rank == n) == (kept == 6 * n)
        if goal == "product":
            assert np.abs(found.scaled()).max() <= 1 + 1e-9
        again = preflow.scale_to_diagonal(matrix, goal=goal, threads=1)
        assert math.isclose(again.value, found.value, rel_tol=1e-9)


def test_a_system_is_solved_by_the_scaled_matrix() -> None:
    rng = np.random.default_rng(3)
    dense = rng.normal(size=(30, 30)) * 10.0 ** rng.integers(-40, 40, (30, 1))
    found = preflow.scale_to_diagonal(dense)
    x, p = np.empty(30), found.permutation
    right = dense @ np.arange(30.0)
    x[p] = found.column_scale[p] * np.linalg.solve(found.scaled().toarray(), found.row_scale * right)
    np.testing.assert_allclose(x, np.arange(30.0), atol=1e-6)


def test_scales_past_float64_are_refused_by_name() -> None:
    n = 6  # the scales of consecutive columns differ by 1e400
    dense = np.diag(np.full(n, 1e-200)) + np.diag(np.full(n - 1, 1e200), 1)
    found = preflow.scale_to_diagonal(dense)
    found.verify()
    check_scales(found)
    with pytest.raises(CapacityOverflowError, match="log2_column_scale"):
        _ = found.column_scale
    with pytest.raises(CapacityOverflowError, match="log2_row_scale"):
        _ = found.row_scale


def test_prices_that_overflow_are_solved_more_coarsely() -> None:
    n = 20_000
    dense = sp.diags_array([np.full(n, 1e-300), np.full(n - 1, 1e300)], offsets=[0, 1], format="csr")
    found = preflow.scale_to_diagonal(dense)
    found.verify()
    assert found.tolerance > preflow.scale_to_diagonal(dense[:5, :5]).tolerance
    assert (found.permutation == np.arange(n)).all()


@pytest.mark.parametrize("dense", [[[5e-324, 0], [0, 1.7e308]], [[0, 5e-324], [1e-310, 0]]])
def test_subnormal_numbers(dense: Any) -> None:
    found = preflow.scale_to_diagonal(dense)
    found.verify()
    check_scales(found)


@pytest.mark.parametrize("size", [5e-324, 1e-320, 1e-310, 1.0, 1e308])
def test_complex_numbers_whose_absolute_value_has_few_bits(size: float) -> None:
    """The parts 5e-324 and 5e-324 have the absolute value 7e-324, which float64 rounds to 5e-324."""
    found = preflow.scale_to_diagonal([[size * (1 + 1j), 0], [0, 1.0]])
    found.verify()
    assert found.value == pytest.approx(np.log2(size) + 0.5)
    assert np.abs(found.scaled()).diagonal() == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(
    ("matrix", "match"),
    [
        ([[1, math.nan], [1, 1]], r"matrix has nan at \(0, 1\)"),
        (sp.coo_array(([1, math.inf], ([0, 1], [0, 0])), shape=(2, 2)), r"matrix has inf at \(1, 0\)"),
        (np.ones((2, 3)), "square"),
        (sp.csr_array((3, 2)), "square"),
        (np.ones(3), "two dimensions"),
        (np.ones((1, 1, 1)), "two dimensions"),
        ([[1.7e308 + 1.7e308j]], "past float64"),
        (np.array([["a"]]), "matrix"),
        (np.array([[None]]), "matrix"),
        ("matrix", "matrix"),
        (None, "matrix"),
    ],
)
def test_bad_matrices(matrix: Any, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        preflow.scale_to_diagonal(matrix)


def test_bad_arguments() -> None:
    one = preflow.scale_to_diagonal([[1]])
    for wrong in (
        {"goal": "median"},
        {"goal": 3},
        {"symmetric": 1},
        {"goal": "sum", "symmetric": True},
        {"goal": "sum", "warm_start": one},
        {"warm_start": one},
        {"warm_start": [1, 0]},
        {"warm_start": preflow.scale_to_diagonal(np.eye(2), goal="sum")},
        {"symmetric": True},
    ):
        with pytest.raises(InvalidInputError):
            preflow.scale_to_diagonal([[1, 2], [3, 4]], **wrong)
    with pytest.raises(InvalidInputError, match="both"):
        preflow.scale_to_diagonal(sp.csr_array([[1, 0], [3, 4]]), symmetric=True)


@pytest.mark.parametrize("goal", GOALS)
def test_no_time(goal: Any) -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(0, 50_000, (2, 400_000))
    matrix = sp.csr_array((rng.random(400_000), place), shape=(50_000, 50_000))
    with pytest.raises(NotOptimalError):
        preflow.scale_to_diagonal(matrix, goal=goal, time_limit=1e-6)


def test_entries_are_added_and_the_matrix_is_copied() -> None:
    data = np.array([1.0, 2.0, -2.0, 5.0])
    matrix = sp.coo_array((data, ([0, 0, 0, 1], [0, 1, 1, 0])), shape=(2, 2))
    found = preflow.scale_to_diagonal(matrix)
    assert found.matrix.nnz == 2  # 2 - 2 is no entry
    assert found.permutation.tolist() == [1, 0]
    assert found.matched.tolist() == [False, True]
    compressed = sp.csr_array([[1.0, 2.0], [3.0, 4.0]])
    found = preflow.scale_to_diagonal(compressed)
    compressed.data[:] = 0
    found.verify()


def test_damage_is_found() -> None:
    found = preflow.scale_to_diagonal([[4.0, 3.0], [2.0, 1.0]])
    for changes in (
        {"permutation": np.array([0, 1])},
        {"matched": np.array([True, False])},
        {"log2_row_scale": found.log2_row_scale + 1},
        {"log2_column_scale": found.log2_column_scale - 1e-6},
        {"pivot_pairs": np.array([[0, 1]])},
        {"tolerance": 2 * found.tolerance},
        {"goal": "sum"},
    ):
        with pytest.raises(VerificationError):
            replace(found, **changes).verify()


def test_repr() -> None:
    assert repr(preflow.scale_to_diagonal([[1, 8], [2, 1]])) == (
        "<DiagonalScaling: 2 x 2, 2 on the diagonal, log2 of the product 4>"
    )
    assert "1 pivot pairs" in repr(preflow.scale_to_diagonal([[0, 8], [8, 0]], symmetric=True))
    assert "smallest entry 2" in repr(preflow.scale_to_diagonal([[1, 8], [2, 1]], goal="smallest"))


@pytest.mark.parametrize("drift", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("rank", [2000, 1900])
def test_a_warm_start_of_thousands_of_rows(rank: int, drift: float) -> None:
    rng = np.random.default_rng(7)
    n = 2000
    place = np.concatenate([rng.integers(0, n, (2, 4 * n)), [np.arange(n), rng.permutation(n)]], axis=1)
    place = place[:, place[0] < rank]
    values = np.exp(rng.normal(scale=4, size=place.shape[1]))
    before = preflow.scale_to_diagonal(sp.csr_array((values, place), shape=(n, n)))
    drifted = sp.csr_array((values * np.exp(drift * rng.normal(size=len(values))), place), shape=(n, n))
    cold = preflow.scale_to_diagonal(drifted)
    warm = preflow.scale_to_diagonal(drifted, warm_start=before)
    warm.verify()
    check_scales(warm)
    assert warm.structural_rank == cold.structural_rank == rank
    assert math.isclose(warm.value, cold.value, rel_tol=1e-9)
    if rank == n and drift < 1:
        assert isinstance(warm.proof, preflow.AssignmentResult)
        assert isinstance(cold.proof, preflow.AssignmentResult)
        assert warm.proof.stats.pushes < cold.proof.stats.pushes / 2


def test_rows_and_columns_in_any_units_take_paths() -> None:
    rng = np.random.default_rng(2)
    n = 2500
    matrix = sp.diags_array([-1.0, -1.0, 4.0, -1.0, -1.0], offsets=[-50, -1, 0, 1, 50], shape=(n, n))
    units = (sp.diags_array(10.0 ** rng.integers(-9, 9, n)) for _ in range(2))
    scaled = next(units) @ matrix @ next(units)
    found = preflow.scale_to_diagonal(scaled.tocsr()[rng.permutation(n)])
    found.verify()
    assert isinstance(found.proof, preflow.AssignmentResult)
    assert found.proof.stats.method == "serial-shortest-path"
