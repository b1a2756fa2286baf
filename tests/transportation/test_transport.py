"""transport: against a linear program, in all forms of input, with its errors and its proof."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import preflow
from preflow.errors import (
    CostOverflowError,
    InfeasibleError,
    InfeasibleFlowError,
    InvalidInputError,
    VerificationError,
)
from preflow.generators import transport_masses
from preflow.transportation.column_generation import north_west

METHODS = [method.name for method in preflow.methods("transport") if method.device == "cpu"]


def cheapest(cost: Any, a: Any, b: Any) -> float | None:
    """Return the least cost by HiGHS, None if there is no plan."""
    n, m = cost.shape
    rows, columns = sp.kron(sp.eye_array(n), np.ones((1, m))), sp.kron(np.ones((1, n)), sp.eye_array(m))
    allowed = np.isfinite(cost).ravel()
    found = linprog(
        np.where(allowed, cost.ravel(), 0),
        A_eq=sp.vstack([rows, columns]),
        b_eq=np.concatenate([a, b]),
        bounds=[(0, None if each else 0) for each in allowed],
    )
    return float(found.fun) if found.status == 0 else None


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Draw integer costs, some of them infinite, and masses with equal sums, some of them zero."""
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cost = rng.integers(-5, draw(st.sampled_from([-4, 2, 40])), (n, m)).astype(float)
    cost[rng.random((n, m)) < draw(st.sampled_from([0, 0, 0.3]))] = np.inf
    a = rng.integers(0, 9, n)
    return cost, a, rng.multinomial(a.sum(), np.ones(m) / m)


@pytest.mark.parametrize("method", METHODS)
@given(problem=problems(), unit=st.sampled_from([1, 0.1, 1e-5]), price=st.sampled_from([1, 0.3]))
@settings(max_examples=150, deadline=None)
def test_small_problems(method: str, problem: Any, unit: float, price: float) -> None:
    cost, a, b = problem
    given_cost: Any = cost * price
    if price == 1 and np.isfinite(cost).all():
        given_cost = cost.astype(int)
    expected = cheapest(cost, a, b)
    if expected is None:
        with pytest.raises(InfeasibleError) as caught:
            preflow.transport(given_cost, a * unit, b * unit, method=method)
        check_stuck(cost, a * unit, b * unit, caught.value.vertices)  # type: ignore[attr-defined]
        return
    result = preflow.transport(given_cost, a * unit, b * unit, method=method)
    result.verify()
    assert result.cost == pytest.approx(round(expected) * unit * price, abs=1e-9 * unit)
    assert 0 <= result.gap <= 1e-9 * unit
    assert len(result.row) <= sum(cost.shape)
    np.testing.assert_allclose(result.matrix().sum(axis=1), a * unit)
    if price == unit == 1 and given_cost.dtype.kind == "i":
        assert isinstance(result.cost, int)
        assert result.gap == 0


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_multiples_of_a_power_of_two_are_exact(kind: Any, problem: Any) -> None:
    """Pairs that are not allowed are no exception."""
    cost, a, b = problem
    expected = cheapest(cost, a, b)
    if expected is None:
        return
    result = preflow.transport((cost / 16).astype(kind), a / 8, b / 8)
    result.verify()
    assert result.cost == round(expected) / 128
    assert result.gap == 0


def check_stuck(cost: Any, a: Any, b: Any, vertices: Any) -> None:
    """Check that the rows of an error have no partners but its columns, which take less."""
    rows = [i for side, i in vertices if side == "row"]
    columns = [j for side, j in vertices if side == "column"]
    others = np.setdiff1d(np.arange(len(b)), columns)
    assert np.isinf(cost[np.ix_(rows, others)]).all()
    assert a[rows].sum() > b[columns].sum()


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock"])
def test_points(metric: str) -> None:
    rng = np.random.default_rng(1)
    points, others = rng.random((200, 2)), rng.random((150, 2))
    a, b = rng.random(200), rng.random(150)
    b *= a.sum() / b.sum()
    lazy = preflow.transport(preflow.PointCosts(points, others, metric=metric), a, b)
    dense = preflow.transport(cdist(points, others, metric), a, b)
    for result in (lazy, dense):
        result.verify()
    assert lazy.cost == pytest.approx(dense.cost, rel=1e-11)


def test_sparse_costs() -> None:
    rng = np.random.default_rng(2)
    cost = np.where(rng.random((30, 20)) < 0.5, rng.integers(1, 50, (30, 20)), 0)
    cost[:, 0] = 60
    a = rng.integers(1, 9, 30)
    b = rng.multinomial(a.sum(), np.ones(20) / 20)
    result = preflow.transport(sp.csr_array(cost), a, b)
    result.verify()
    allowed = np.where(cost == 0, np.inf, cost)
    assert result.cost == round(cheapest(allowed, a, b) or 0)
    assert result.sparse().sum() == a.sum()


def test_a_batch() -> None:
    problems = [transport_masses(12, 9, seed=seed) for seed in range(3)]
    cost, a = np.stack([p.cost for p in problems]), np.stack([p.a for p in problems])
    results = preflow.transport(cost, a, np.stack([p.b for p in problems]))
    assert len(results) == 3
    for result, problem in zip(results, problems, strict=True):
        result.verify()
        assert result.cost == preflow.transport(*problem).cost


def test_more_rounds_than_one_block() -> None:
    """Several blocks of columns, and several rounds of new pairs."""
    problem = transport_masses(150, 200, seed=4)
    for options in ({"listed": 1, "added": 1}, {"listed": 300, "added": 2}):
        result = preflow.transport(*problem, method="serial-network-simplex", options=options)
        result.verify()
        assert result.cost == preflow.transport(*problem).cost


@given(problem=problems())
@settings(max_examples=50, deadline=None)
def test_the_north_west_corner_rule(problem: Any) -> None:
    """The pairs support a plan: a path of rows and columns with cumulated masses that meet."""
    cost, a, b = problem
    row, column = north_west(a, b)
    assert len(row) <= sum(cost.shape)
    only = np.full(cost.shape, np.inf)
    only[row, column] = 1
    assert cheapest(only, a, b) == pytest.approx(a.sum())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2]], [1], [1]), r"b has shape \(1,\), expected \(2,\)"),
        (([[1, 2]], [3], [1, 1]), "the masses have different sums: 3 and 2"),
        (([[1, 2]], [0.5], [0.1, 0.1]), "the masses have different sums"),
        (([[1, 2]], [-1], [-1, 0]), r"a\[0\] is -1: a mass is negative"),
        (([[1, 2]], [np.nan], [1, 1]), r"a\[0\] is nan: a mass is not finite"),
        (([[1, np.nan]], [2], [1, 1]), "column 1 is NaN"),
        (([[1, 2]], ["x"], [1, 1]), "a must hold integers or floats"),
        ((np.zeros((0, 2)), [], [0, 0]), "there is nothing to move"),
    ],
)
def test_bad_input(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.transport(*arguments)


def test_large_costs() -> None:
    with pytest.raises(CostOverflowError):
        preflow.transport([[2**59, 1], [1, 1]], [1, 1], [1, 1])


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("mass", [3, 3, 2], "that the plan does not move"),
        ("mass", [3, 4, 0], "a mass is not positive"),
        ("row", [0, 1, 2], "row has a number outside"),
        ("v", [0, 0], "the prices prove"),
        ("lower_bound", 13, "the prices prove"),
    ],
)
def test_a_wrong_field(field: str, value: Any, message: str) -> None:
    result = preflow.transport([[4, 1], [2, 3]], [3, 5], [4, 4])
    result.verify()
    order = np.lexsort((result.column, result.row))
    for name in ("row", "column", "mass"):
        object.__setattr__(result, name, getattr(result, name)[order])
    object.__setattr__(result, field, np.array(value) if isinstance(value, list) else value)
    with pytest.raises(VerificationError, match=message):
        result.verify()


@pytest.mark.parametrize("method", METHODS)
def test_a_stopped_solve(method: str) -> None:
    problem = transport_masses(400, 400, seed=5)
    whole = preflow.transport(*problem)
    result = preflow.transport(*problem, method=method, time_limit=1e-5)
    result.verify()
    if result.status == "time-limit":
        assert result.lower_bound <= whole.cost
        assert math.isinf(result.upper_bound)


@pytest.mark.parametrize("method", METHODS)
def test_a_stuck_row_that_may_send_to_a_column_without_mass(method: str) -> None:
    """All of the row fits into the pair, whatever the column takes: no other pair of the two is listed."""
    cost = np.array([[-5.0, np.inf], [-5.0, 2.0]])
    with pytest.raises(InfeasibleError):
        preflow.transport(cost, [2**40, 1], [0, 2**40 + 1], method=method)


@pytest.mark.parametrize("n", [1, 7, 500])
def test_normalised_float32(n: int) -> None:
    """Masses of float32 are scaled where only rounding makes their sums differ."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        a, b = (rng.random(size).astype(np.float32) for size in (n, n + 3))
        a, b = a / a.sum(), b / b.sum()
        result = preflow.transport(rng.random((n, n + 3)), a, b)
        result.verify()
        plan = result.matrix()
        np.testing.assert_allclose(plan.sum(axis=0), b, rtol=1e-6)
        np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-12)
    with pytest.raises(InvalidInputError, match="different sums"):
        preflow.transport(np.zeros((n, n + 3)), a, b * np.float32(1.0001))
    with pytest.raises(InvalidInputError, match="different sums"):
        preflow.transport(np.zeros((n, n + 3)), a.astype(float), b.astype(float) * (1 + 2e-6))


def test_whole_numbers_of_float32_are_never_scaled() -> None:
    masses = np.array([2**24, 1], dtype=np.float32)
    preflow.transport(np.eye(2), masses, masses[::-1]).verify()
    with pytest.raises(InvalidInputError, match="different sums: 16,777,217 and 16,777,216"):
        preflow.transport(np.eye(2), masses, np.array([2**24, 0], dtype=np.float32))


def test_masses_that_are_numbers() -> None:
    with pytest.raises(InvalidInputError, match="a has shape"):
        preflow.transport(([0], [0], [1]), 1, [1])  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["i8", "f8", "points"])
def test_few_rows_and_many_columns(method: str, kind: str) -> None:
    """Both orientations have one cost; each row serves more columns than it lists at first."""
    rng = np.random.default_rng(7)
    for n, m in ((1, 60), (3, 200), (7, 300), (30, 700)):
        first, second = rng.integers(0, 30, (n, 2)), rng.integers(0, 30, (m, 2))
        cost = np.abs(first[:, None] - second).sum(axis=2).astype("i8" if kind == "i8" else "f8")
        b = rng.integers(0, 4, m)
        a = rng.multinomial(b.sum(), np.ones(n) / n)
        given: Any = (cost, cost.T.copy())
        if kind == "points":
            given = tuple(
                preflow.PointCosts(*sides, metric="cityblock") for sides in ((first, second), (second, first))
            )
        wide = preflow.transport(given[0], a, b, method=method)
        tall = preflow.transport(given[1], b, a, method=method)
        for result in (wide, tall):
            result.verify()
        assert wide.cost == tall.cost
        assert kind == "points" or wide.gap == tall.gap == 0


def test_the_work_of_few_rows() -> None:
    """Four times as many columns take about four times the pivots: lists are as long as a row needs."""
    rng = np.random.default_rng(8)
    pivots = []
    for m in (1000, 4000):
        cost = rng.integers(0, 1000, (10, m))
        result = preflow.transport(cost, [m // 10] * 10, [1] * m, method="serial-network-simplex")
        result.verify()
        pivots.append(result.stats.pivots)
    assert pivots[1] < 8 * pivots[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_stuck_row_among_many_columns(method: str) -> None:
    """The columns that lack mass are those of the other side of the cut."""
    cost = np.full((2, 90), np.inf)
    cost[0, :10] = 1
    cost[1] = 2
    a, b = np.array([30, 60]), np.ones(90, dtype=int)
    with pytest.raises(InfeasibleError) as caught:
        preflow.transport(cost, a, b, method=method)
    check_stuck(cost, a, b, caught.value.vertices)  # type: ignore[attr-defined]


def test_masses_of_all_items_of_a_batch() -> None:
    costs = np.random.default_rng(0).random((3, 4, 2))
    a, b = np.full(4, 0.25), np.array([[0.5, 0.5], [0.25, 0.75], [1, 0]])
    for found, cost, each in zip(preflow.transport(costs, a, b), costs, b, strict=True):
        found.verify()
        assert found.cost == pytest.approx(preflow.transport(cost, a, each).cost)
        assert found.a.tolist() == a.tolist()
    assert len(preflow.transport(costs, a, b[0])) == 3
    with pytest.raises(InvalidInputError, match=r"a has shape \(2,\), expected \(3, 4\)"):
        preflow.transport(costs, b[0], b)


def test_errors_of_a_batch_name_the_item_or_the_way_out() -> None:
    costs, ones = np.zeros((2, 3, 4, 4)), np.ones(4)
    costs[1, 2] = np.inf
    for staying in ({}, {"amount": 2}):
        with pytest.raises(InfeasibleFlowError, match=r"^matrix \(1, 2\): no transport plan") as caught:
            preflow.transport(costs, ones, ones, **staying)
        assert caught.value.item == (1, 2)
    with pytest.raises(InfeasibleFlowError, match=r"^no transport plan") as caught:
        preflow.transport(costs[1, 2], ones, ones)
    assert caught.value.item is None
    many = np.ones((5, 4))
    with pytest.raises(InvalidInputError, match=r"numpy.broadcast_to\(cost, \(5, n, m\)\)"):
        preflow.transport(np.eye(4), many, ones)
    assert len(preflow.transport(np.broadcast_to(np.eye(4), (5, 4, 4)), many, ones)) == 5
    with pytest.raises(InvalidInputError, match=r"the order is transport\(cost, a, b\)"):
        preflow.transport(ones, ones, np.eye(4))


@given(problem=problems(), dimension=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_barycentric_projection(problem: Any, dimension: int) -> None:
    cost, a, b = problem
    points = np.random.default_rng(1).random((len(b), dimension) if dimension else len(b))
    for partial in (False, True):
        try:
            result = preflow.transport(cost, a, b, partial=partial)
        except InfeasibleFlowError:
            continue
        plan = result.matrix()
        mass = plan.sum(axis=1)
        found = result.barycentric(points.tolist())
        assert np.isnan(found[mass == 0]).all()
        expected = (plan[mass > 0] @ points).T / mass[mass > 0]
        np.testing.assert_allclose(found[mass > 0], expected.T, rtol=1e-12)


def test_barycentric_projection_of_points() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.random((2, 50, 2))
    result = preflow.transport(preflow.PointCosts(first, second), np.ones(50), np.ones(50))
    np.testing.assert_array_equal(result.barycentric(), second[result.column[np.argsort(result.row)]])
    # Masses and points near the ends of float64
    large = preflow.transport([[1, 2]], [2.0**1000], [2.0**999, 2.0**999]).barycentric([1e308, 1e308])
    assert large.tolist() == [1e308]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (None, "give points"),
        ([1, 2, 3], "each of 2 columns"),
        (3, "each of 2 columns"),
        (np.zeros((2, 2, 2)), "each of 2 columns"),
        ([1, np.nan], "not finite"),
        (["a", "b"], "integers or floats"),
        ([1j, 0], "integers or floats"),
        ([[1], [1, 2]], "different lengths"),
    ],
)
def test_barycentric_projections_refuse(points: Any, message: str) -> None:
    result = preflow.transport([[4, 1], [2, 3]], [4, 6], [5, 5])
    with pytest.raises(InvalidInputError, match=message):
        result.barycentric(points)
