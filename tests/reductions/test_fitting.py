"""Total variation and isotonic regression: against SciPy, and by their proofs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from preflow.errors import CapacityOverflowError, InvalidInputError, VerificationError
from preflow.reductions import isotonic_regression, total_variation


def best(tail: Any, head: Any, penalty: Any, y: Any, weights: Any) -> Any:
    """Return the answer from the dual problem, bounded least squares; None: an arc carries anything."""
    if not len(tail):
        return y
    sent = np.zeros((len(y), len(tail)))
    np.add.at(sent, (tail, np.arange(len(tail))), 1)
    np.subtract.at(sent, (head, np.arange(len(tail))), 1)
    root = np.sqrt(weights)
    if penalty is None:
        return y - sent @ optimize.nnls(sent / root[:, None], root * y)[0] / weights
    limits = -penalty - 1e-12, penalty + 1e-12
    return y - sent @ optimize.lsq_linear(sent / root[:, None], root * y, limits, tol=1e-14).x / weights


@given(
    n=st.integers(2, 9),
    density=st.sampled_from([0, 1, 3]),
    strength=st.sampled_from([0.01, 0.3, 3]),
    whole=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=150, deadline=None)
def test_small_graphs(n: int, density: int, strength: float, whole: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(0, n, (2, density * n))
    tail, head = tail[tail != head], head[tail != head]
    y, weights, penalty = rng.normal(size=n), rng.random(n) + 0.1, rng.random(len(tail)) * strength
    if whole:
        y, weights, penalty = np.rint(4 * y), np.ones(n), np.rint(3 * penalty)
    found = total_variation((tail, head, penalty), y, weights=weights)
    found.verify()
    # SciPy comes near to the answer only, so its value is the larger one.
    other = best(tail, head, penalty, y, weights)
    value = (weights * (other - y) ** 2).sum() / 2 + (penalty * np.abs(other[tail] - other[head])).sum()
    assert found.value <= value + 1e-12 * (1 + value)
    np.testing.assert_allclose(found.x, other, atol=1e-3)
    ordered = isotonic_regression((tail, head), y, weights=weights)
    ordered.verify()
    assert (ordered.x[tail] <= ordered.x[head]).all()
    np.testing.assert_allclose(ordered.x, best(tail, head, None, y, weights), atol=1e-7)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e9])
def test_chains_agree_with_scipy(size: float) -> None:
    rng = np.random.default_rng(1)
    y, weights = (rng.normal(size=500) + np.arange(500) / 100) * size, rng.random(500) + 0.1
    found = isotonic_regression((np.arange(499), np.arange(1, 500)), y, weights=weights)
    found.verify()
    assert (np.diff(found.x) >= 0).all()
    np.testing.assert_allclose(found.x, optimize.isotonic_regression(y, weights=weights).x, atol=1e-9 * size)


def test_a_picture() -> None:
    rng = np.random.default_rng(2)
    place = np.arange(900).reshape(30, 30)
    tail = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
    head = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
    y = (place // 30 > 14).ravel() + 0.1 * rng.normal(size=900)
    found = total_variation((tail, head, np.full(len(tail), 0.1)), y)
    found.verify()
    assert found.gap <= 1e-12
    assert found.x.reshape(30, 30)[:14].max() < found.x.reshape(30, 30)[16:].min()
    with pytest.raises(VerificationError, match="gap"):
        replace(found, x=found.x + 1e-3).verify()


def test_labels_and_mappings() -> None:
    path = {"a": {"b": 2}, "b": {"c": 2}}
    found = total_variation(path, {"a": 0, "b": 9, "c": 0}, weights={"a": 1, "b": 2, "c": 1})
    found.verify()
    assert found.x.tolist() == [2, 7, 2]
    assert total_variation(([0], [1], [5]), [0, 2, 7]).x.tolist() == [1, 1, 7]
    assert isotonic_regression(([], []), []).x.tolist() == []
    assert isotonic_regression(([0, 1], [1, 0]), [1, 4]).x.tolist() == [2.5, 2.5]


EDGE: Any = ([0], [1], [1])
PAIRS: Any = [[0], [1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: total_variation(EDGE, [1]), "numbers for 2 vertices"),
        (lambda: total_variation(EDGE, [1, math.nan]), "not finite"),
        (lambda: total_variation(EDGE, [[1, 2]]), "shape"),
        (lambda: total_variation(EDGE, 3), "shape"),
        (lambda: isotonic_regression((0, 1), [1, 2]), "one for each pair"),
        (lambda: total_variation(EDGE, ["a", "b"]), "numbers"),
        (lambda: total_variation(EDGE, [1, 2], weights=[1]), "weights has shape"),
        (lambda: total_variation(EDGE, [1, 2], weights=[1, 0]), "positive"),
        (lambda: total_variation(([0], [1], [-1]), [1, 2]), "negative"),
        (lambda: total_variation(([0], [1], [math.inf]), [1, 2]), "finite"),
        (lambda: isotonic_regression(PAIRS, [1, 2]), "tuple"),
        (lambda: isotonic_regression(([0], [2]), [1, 2]), "upper has an item"),
        (lambda: isotonic_regression(([0.5], [1]), [1, 2]), "integers"),
        (lambda: isotonic_regression(([0, 1], [1]), [1, 2]), "one for each pair"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_numbers_past_float64_are_refused() -> None:
    with pytest.raises(CapacityOverflowError, match="divide"):
        total_variation(EDGE, [1e200, 2])
