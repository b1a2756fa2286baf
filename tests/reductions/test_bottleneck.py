"""The assignment whose dearest pair is cheapest: against all assignments, one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InfeasibleError, InvalidInputError, NotOptimalError
from preflow.reductions import bottleneck_assignment
from tests.assignment.test_alternatives import all_assignments


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, bool]:
    """Draw costs, some of them not allowed, and whether to maximise."""
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    largest, maximize = draw(st.sampled_from([2, 4, 30])), draw(st.booleans())
    cost = rng.integers(-largest, largest, shape).astype(float)
    cost[rng.random(shape) < draw(st.sampled_from([0, 0, 0.4]))] = -math.inf if maximize else math.inf
    whole = draw(st.booleans()) and np.isfinite(cost).all()
    return cost.astype(int) if whole else cost, maximize


@given(problem=problems())
@settings(max_examples=200, deadline=None)
def test_small_problems(problem: Any) -> None:
    cost, maximize = problem
    sign = -1 if maximize else 1
    found = bottleneck_assignment(cost, maximize=maximize, partial=True)
    found.verify()
    ranked = [
        (max((sign * cost[pair] for pair in pairs), default=-math.inf), sign * total)
        for total, pairs in all_assignments(cost)
    ]
    assert (sign * found.bottleneck, sign * found.cost) == min(ranked)
    assert cost[found.row, found.column].sum() == found.cost
    if len(found.row) < min(cost.shape):
        with pytest.raises(InfeasibleError):
            bottleneck_assignment(cost, maximize=maximize)


@pytest.mark.parametrize("shape", [(80, 80), (50, 120), (120, 50)])
@pytest.mark.parametrize("maximize", [False, True])
def test_forms_of_costs(shape: tuple[int, int], maximize: bool) -> None:
    rng = np.random.default_rng(1)
    points = preflow.PointCosts(*(rng.random((size, 2)) for size in shape))
    cost = points.block(0, shape[0])
    row, column = (part.ravel() for part in np.indices(shape))
    forms = [points, cost, scipy.sparse.csr_array(cost), (row, column, cost.ravel()), cost.tolist()]
    results = [bottleneck_assignment(form, maximize=maximize) for form in forms]
    for found in results:
        found.verify()
        assert found.bottleneck == results[0].bottleneck
        assert found.cost == pytest.approx(results[0].cost, rel=1e-12)
    ordinary = preflow.linear_assignment(cost, maximize=maximize)
    worst = cost[ordinary.row, ordinary.column]
    if maximize:
        assert results[0].bottleneck >= worst.min()
    else:
        assert results[0].bottleneck <= worst.max()


def test_labels_and_large_numbers() -> None:
    found = bottleneck_assignment({"ada": {"north": 8, "south": 20}, "bob": {"north": 12, "south": 25}})
    assert found.to_columns()["cost"].tolist() == [20, 12]
    assert found.pairs() == [("ada", "south"), ("bob", "north")]
    huge = bottleneck_assignment(np.array([[1.0, 3.0], [2.0, 5.0]]) * 2.0**1020)
    huge.verify()
    assert huge.bottleneck == 3 * 2.0**1020
    large = bottleneck_assignment([[2**59, 1], [3, 2**59]])
    large.verify()
    assert (large.bottleneck, large.cost) == (3, 4)
    empty = bottleneck_assignment(np.zeros((0, 3)))
    empty.verify()
    assert (empty.bottleneck, empty.cost) == (-math.inf, 0)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.zeros((2, 2, 2)), "one matrix"),
        ([[1, math.nan]], "NaN"),
        ([[1, 2**70]], "integer costs"),
        ("abc", "cost"),
    ],
)
def test_bad_costs(cost: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        bottleneck_assignment(cost)


def test_a_time_limit_ends_the_search() -> None:
    cost = np.random.default_rng(2).random((600, 600))
    with pytest.raises(NotOptimalError):
        bottleneck_assignment(cost, time_limit=1e-6)
