"""Functions in the place of POT's: the same arguments, and its results where POT is installed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import preflow
from preflow.errors import InvalidInputError
from preflow.integrations import pot

SEEDS = range(6)


def problem(seed: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    n, m = random.integers(2, 9, 2)
    a, b = random.random(n) + 0.1, random.random(m) + 0.1
    return a / a.sum(), b / b.sum(), random.random((n, m))


@pytest.fixture
def ot() -> ModuleType:
    return pytest.importorskip("ot")


def assert_same(found: Any, expected: Any) -> None:
    """Compare costs or plans, and what dictionaries have of them; prices by the bound that they prove."""
    if isinstance(found, tuple):
        for key in ("cost", "warning", "result_code", "partial_w_dist", "G"):
            assert key in found[1] or key not in expected[1]
            if expected[1].get(key) is not None:
                assert_same(found[1][key], expected[1][key])
        found, expected = found[0], expected[0]
    if scipy.sparse.issparse(found):
        found, expected = found.toarray(), expected.toarray()
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.allclose(found, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_as_pot(ot: ModuleType, seed: int) -> None:
    a, b, M = problem(seed)
    for options in ({}, {"log": True}, {"log": True, "center_dual": False}):
        assert_same(pot.emd(a, b, M, **options), ot.emd(a, b, M, **options))
        assert_same(
            pot.emd2(a, b, M, return_matrix=True, **options), ot.emd2(a, b, M, return_matrix=True, **options)
        )
    assert_same(pot.emd2(a, b, M), ot.emd2(a, b, M))
    assert_same(pot.emd([], [], M), ot.emd([], [], M))
    assert_same(pot.emd(a, 1.5 * b, M, check_marginals=False), ot.emd(a, 1.5 * b, M, check_marginals=False))
    several = np.stack([b, b[::-1]], axis=1)
    assert_same(pot.emd2(a, several, M), ot.emd2(a, several, M))
    sparse = scipy.sparse.coo_array(M)
    assert_same(pot.emd(a, b, sparse), ot.emd(a, b, sparse))
    for m in (None, 0.4):
        for log in (False, True):
            assert_same(
                pot.partial_wasserstein(0.6 * a, b, M, m=m, log=log),
                ot.partial.partial_wasserstein(0.6 * a, b, M, m=m, log=log),
            )
    first, second = np.random.default_rng(seed).random((2, 7, 3))
    for metric in ("sqeuclidean", "euclidean", "cityblock"):
        # Sums of differences of coordinates have several cheapest plans.
        options = {"metric": metric, "return_matrix": metric != "cityblock"}
        for log in (False, True):
            found, expected = (
                solve(first, second, log=log, **options) for solve in (pot.emd2_lazy, ot.lp.emd2_lazy)
            )
            assert_same(found, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_prices(seed: int) -> None:
    a, b, M = problem(seed)
    for center in (False, True):
        cost, log = pot.emd2(a, b, M, log=True, center_dual=center)
        assert (log["u"][:, None] + log["v"] <= M + 1e-12).all()
        assert log["u"] @ a + log["v"] @ b == pytest.approx(cost)
        if center:
            assert log["u"] @ a == pytest.approx(log["v"] @ b)
    assert cost == pytest.approx(preflow.transport(M, a, b).cost)


def test_lists_and_dtypes() -> None:
    M = [[0.0, 1.0], [1.0, 0.0]]
    plan = pot.emd([1, 3], [2, 2], M)
    assert plan.tolist() == [[1, 0], [1, 2]]
    assert plan.dtype == np.int64
    a = np.array([0.5, 0.5], np.float32)
    assert pot.emd(a, a, M).dtype == np.float32
    assert pot.emd2([], [], M) == 0


def test_what_is_refused() -> None:
    M = np.eye(2)
    for error in (AssertionError, InvalidInputError, ValueError):
        with pytest.raises(error, match="different sums"):
            pot.emd([0.5, 0.5], [0.5, 0.6], M)
        with pytest.raises(error, match="there are 3 and 2 masses"):
            pot.emd2([0.5, 0.25, 0.25], [0.5, 0.5], M)
    for m in (-1, 1.5):
        with pytest.raises(ValueError, match=r"amount|no more than 1"):
            pot.partial_wasserstein([0.5, 0.5], [0.5, 0.5], M, m=m)
    with pytest.warns(DeprecationWarning, match="numThreads"):
        assert pot.emd2([0.5, 0.5], [0.5, 0.5], M, numThreads=4) == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_gradients(sparse: bool) -> None:
    torch = pytest.importorskip("torch")
    a, b, M = (torch.from_numpy(part).requires_grad_() for part in problem(1))
    costs = M.to_sparse() if sparse else M
    total, log = pot.emd2(a, b, costs, log=True, return_matrix=True)
    total.backward()
    plan = log["G"].to_dense()
    assert torch.allclose(M.grad, plan)
    assert torch.allclose(a.grad, log["u"] - log["u"].mean())
    assert torch.allclose(b.grad, log["v"] - log["v"].mean())
    assert torch.allclose(pot.emd(a, b, costs).to_dense(), plan)
    half = pot.partial_wasserstein(a, b, M, m=0.5)
    assert half.sum().item() == pytest.approx(0.5)


def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        a, b, M = map(jax.numpy.array, problem(2))
        plan, log = pot.emd(a, b, M, log=True)
        assert isinstance(plan, jax.Array)
        assert np.allclose(plan, preflow.transport(*(np.asarray(part) for part in (M, a, b))).matrix())
        assert float(log["cost"]) == pytest.approx(float((plan * M).sum()))
