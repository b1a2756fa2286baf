"""Assignments in which rows and columns may stay single at a cost, against trying everything and lap."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError, VerificationError
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.tensors import Tensor

NUMBERS = {
    "integers": st.integers(-9, 9),
    "large": st.integers(-(2**55), 2**55),
    "floats": st.floats(-9, 9),
    "with inf": st.floats(-9, 9) | st.just(np.inf),
}


def best(cost: np.ndarray, rows: np.ndarray, columns: np.ndarray, sign: int = 1) -> Any:
    """Return the least total over all choices of pairs, in Python's numbers."""
    n, m = cost.shape
    values, rows, columns = cost.tolist(), rows.tolist(), columns.tolist()
    found = sum(rows) + sum(columns)
    for size in range(1, min(n, m) + 1):
        for chosen in itertools.combinations(range(n), size):
            for partners in itertools.permutations(range(m), size):
                pairs = list(zip(chosen, partners, strict=True))
                if any(abs(values[i][j]) == np.inf for i, j in pairs):
                    continue
                total = sum(values[i][j] for i, j in pairs)
                total += sum(rows[i] for i in range(n) if i not in chosen)
                total += sum(columns[j] for j in range(m) if j not in partners)
                found = min(found, total) if sign == 1 else max(found, total)
    return found


@st.composite
def problems(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    number = NUMBERS[draw(st.sampled_from(sorted(NUMBERS)))]
    n, m, maximize = draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.booleans())
    cost = np.array([[draw(number) for _ in range(m)] for _ in range(n)]).reshape(n, m)
    if cost.dtype.kind == "f" and maximize:
        cost = np.where(np.isinf(cost), -np.inf, cost)
    alone = NUMBERS["integers"] if cost.dtype.kind == "i" else NUMBERS["floats"]
    singles = [np.array([draw(alone) for _ in range(size)]) for size in (n, m)]
    return cost, *singles, maximize


@given(problem=problems())
@settings(max_examples=150, deadline=None)
def test_against_trying_everything(problem: tuple[np.ndarray, np.ndarray, np.ndarray, bool]) -> None:
    cost, rows, columns, maximize = problem
    n, m = cost.shape
    expected = best(cost, rows, columns, -1 if maximize else 1)
    given_costs: list[Any] = [cost]
    if np.isfinite(cost).all():
        stored = np.nonzero(np.ones((n, m)))
        given_costs.append(scipy.sparse.coo_array((cost.ravel(), stored), shape=(n, m)))
    if n and m:
        given_costs.append(np.stack([cost, cost]))
    for each in given_costs:
        result = preflow.linear_assignment(each, unmatched_cost=(rows, columns), maximize=maximize)
        result.verify()
        assert isinstance(result, preflow.AssignmentWithSinglesResult)
        exact = result.costs.dtype.kind == "i"
        slack = 0 if exact else 1e-12 * max(1, np.abs(cost[np.isfinite(cost)]).max(initial=0))
        assert np.all(np.abs(result.cost - expected) <= slack + result.gap)
        assert np.all(result.gap <= (0 if exact else 1e-10 * (1 + n + m)))
        if not result.costs.leading:
            assert result.unmatched_rows.sum() == n - len(result.row)
            assert not result.unmatched_rows[result.row].any()
            assert not result.unmatched_columns[result.column].any()
            assert len(result.pairs()) == len(result.row)


@given(
    cost=st.lists(st.lists(st.integers(0, 9), min_size=6, max_size=6), min_size=5, max_size=5),
    limit=st.integers(0, 9),
)
@settings(max_examples=50, deadline=None)
def test_limits_of_lap(cost: list[list[int]], limit: int) -> None:
    lap = pytest.importorskip("lap")
    matrix = np.array(cost, dtype=np.float64)
    _, partner, _ = lap.lapjv(matrix, extend_cost=True, cost_limit=float(limit))
    theirs = sum(matrix[i, j] - limit for i, j in enumerate(partner) if j >= 0)
    for unmatched in ((limit, 0), (0, limit), limit / 2):
        result = preflow.linear_assignment(np.array(cost), unmatched_cost=unmatched)
        result.verify()
        assert (matrix[result.row, result.column] - limit).sum() == pytest.approx(theirs)
        assert (matrix[result.row, result.column] < limit).all()


def test_batches_of_different_sizes() -> None:
    rng = np.random.default_rng(0)
    cost = rng.integers(-5, 9, (6, 4, 5))
    sizes = np.array([[4, 5], [2, 3], [0, 4], [3, 0], [4, 2], [1, 1]])
    result = preflow.linear_assignment(cost, sizes=sizes, unmatched_cost=(2, np.arange(5)))
    result.verify()
    for item, (n, m) in enumerate(sizes.tolist()):
        alone = preflow.linear_assignment(cost[item, :n, :m], unmatched_cost=(2, np.arange(m)))
        assert result.cost[item] == alone.cost
        assert result.unmatched_rows[item].sum() == n - np.count_nonzero(result.row[item] >= 0)
    each = preflow.linear_assignment(cost, unmatched_cost=(rng.integers(0, 4, (6, 4)), 1))
    each.verify()
    assert each.u.shape == (6, 4)


def test_matching_of_largest_weight() -> None:
    """Any number of pairs, and zero for what is unmatched; missing pairs are not allowed."""
    weight = scipy.sparse.csr_array([[5, 0, -3], [4, 0, 0]])
    result = preflow.linear_assignment(weight, maximize=True, unmatched_cost=0)
    assert (result.pairs(), result.cost) == ([(0, 0)], 5)
    result.verify()
    labelled = {"ann": {"sew": 3.5}, "bob": {"sew": 4.0, "cook": 9.0}}
    result = preflow.linear_assignment(labelled, unmatched_cost=(3, 1))
    assert (result.pairs(), result.cost) == ([("ann", "sew")], 3.5 + 3 + 1)
    result.verify()


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_larger_costs_on_all_methods(form: Any) -> None:
    rng = np.random.default_rng(1)
    cost = form(rng.integers(1, 1000, (60, 80)))
    totals = set()
    for record in preflow.methods("linear_assignment"):
        if record.device == "cpu":
            result = preflow.linear_assignment(cost, unmatched_cost=(9, 5), method=record.name, threads=1)
            result.verify()
            totals.add(result.cost)
    assert len(totals) == 1
    assert 0 < len(result.row) < 60


def test_time_limit() -> None:
    cost = np.random.default_rng(2).random((300, 300))
    result = preflow.linear_assignment(
        cost, unmatched_cost=0.01, time_limit=1e-9, method="serial-cost-scaling"
    )
    result.verify()
    assert result.lower_bound <= result.upper_bound <= 6.0 + 1e-9
    assert "AssignmentResult" in repr(result)


def test_wrong_results_are_refused() -> None:
    cost = np.array([[1, 5], [7, 2]])
    result = preflow.linear_assignment(cost, unmatched_cost=2)
    assert result.pairs() == [(0, 0), (1, 1)]
    assert result.cost == 3
    for wrong in (
        replace(result, u=result.u + 1),
        replace(result, u=result.u - 1),
        replace(result, lower_bound=2, upper_bound=2),
        replace(result, row=result.row[:1], column=result.column[:1]),
        replace(result, column=result.column[::-1].copy()),
        replace(result, column=np.zeros(2, dtype=np.int64)),
        replace(result, unmatched_cost=(np.zeros(3), np.zeros(2))),
        replace(result, unmatched_cost=(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64))),
    ):
        with pytest.raises(VerificationError):
            wrong.verify()


@pytest.mark.parametrize(
    ("unmatched", "message"),
    [
        ((1, 2, 3), "tuple of 3"),
        ("a", "must be numbers"),
        ([[1, 2], [3]], "is not an array"),
        (np.nan, "finite"),
        (np.inf, "finite"),
        (2**60, "past 2"),
        (([1, 2, 3], 0), r"shape \(3,\), expected one number or \(2,\)"),
        (2**59, "add up to more than 2"),
    ],
)
def test_bad_input(unmatched: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.linear_assignment(np.array([[1, 2], [3, 4]]), unmatched_cost=unmatched)


def test_what_is_not_taken() -> None:
    with pytest.raises(InvalidInputError, match="give partial or unmatched_cost"):
        preflow.linear_assignment([[1]], unmatched_cost=1, partial=True)
    with pytest.raises(InvalidInputError, match="at most 2"):
        preflow.linear_assignment([[2**70, 1], [1, 2]], unmatched_cost=1)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine"])
@pytest.mark.parametrize("maximize", [False, True])
def test_points(metric: str, maximize: bool) -> None:
    rng = np.random.default_rng(1)
    for n, m in ((3, 4), (4, 2), (1, 1), (0, 3), (3, 0)):
        points = preflow.PointCosts(rng.normal(size=(n, 2)), rng.normal(size=(m, 2)), metric=metric)
        cost = points.block(0, n) if n and m else np.zeros((n, m))
        rows, columns = rng.normal(0.5, 0.3, n), rng.normal(0.5, 0.3, m)
        result = preflow.linear_assignment(points, unmatched_cost=(rows, columns), maximize=maximize)
        result.verify()
        assert abs(result.cost - best(cost, rows, columns, -1 if maximize else 1)) < 1e-9
        assert result.gap < 1e-9
        dense = preflow.linear_assignment(cost, unmatched_cost=(rows, columns), maximize=maximize)
        assert result.pairs() == dense.pairs()
        assert (result.unmatched_rows == dense.unmatched_rows).all()


def test_many_points() -> None:
    """More than fit one block; pairs that pay are few."""
    rng = np.random.default_rng(2)
    here, there = rng.uniform(size=(2, 2500, 2))
    points = preflow.PointCosts(here, there)
    result = preflow.linear_assignment(points, unmatched_cost=0.01)
    result.verify()
    dense = preflow.linear_assignment(points.block(0, 2500), unmatched_cost=0.01)
    assert abs(result.cost - dense.cost) < 1e-9
    wrong = replace(result, u=result.u + 0.1, v=result.v - 0.1)
    with pytest.raises(VerificationError):
        wrong.verify()
    tensors = preflow.linear_assignment(
        preflow.PointCosts(Tensor(here[:9]), Tensor(there[:9])), unmatched_cost=(Tensor(np.full(9, 0.3)), 0)
    )
    tensors.verify()
    assert isinstance(tensors.unmatched_rows, Tensor)


@pytest.mark.usefixtures("cpu_device")
@pytest.mark.parametrize("kind", [np.int64, np.float64, np.float32])
def test_costs_on_a_gpu(kind: Any) -> None:
    rng = np.random.default_rng(3)
    for shape in ((4, 5), (3, 4, 4)):
        cost = rng.integers(0, 20, shape).astype(kind)
        expected = preflow.linear_assignment(cost, unmatched_cost=(7, 3))
        result = preflow.linear_assignment(OnGpu(cost), unmatched_cost=(OnGpu(np.full(shape[-2], 7)), 3))
        result.verify()
        assert isinstance(result.row, OnGpu)
        assert isinstance(result.unmatched_columns, OnGpu)
        for name in ("row", "column", "unmatched_rows", "unmatched_columns"):
            assert (getattr(result, name).values == getattr(expected, name)).all()
        halves = preflow.linear_assignment(OnGpu(cost), unmatched_cost=2.5)
        halves.verify()
        assert np.all(result.gap == expected.gap)


@pytest.mark.usefixtures("cpu_device")
@pytest.mark.parametrize("how", [{"device": "cuda"}, {"method": "cuda-shortest-path"}])
def test_points_by_a_gpu(how: Any) -> None:
    rng = np.random.default_rng(4)
    points = preflow.PointCosts(rng.random((7, 2)), rng.random((9, 2)))
    expected = preflow.linear_assignment(points, unmatched_cost=(0.2, 0.05))
    result = preflow.linear_assignment(points, unmatched_cost=(0.2, 0.05), **how)
    result.verify()
    assert result.stats.method.startswith("cuda-")
    assert result.pairs() == expected.pairs()
    assert result.cost == pytest.approx(expected.cost)


def test_one_infinite_price_proves_nothing() -> None:
    result = preflow.linear_assignment([[0.25, 3.0], [3.0, 3.0]], unmatched_cost=1.5)
    for u, v in (([-np.inf, 1.5], [1.5, 1.5]), ([np.nan, 1.5], [1.5, 1.5]), ([np.inf, 1.5], [-np.inf, 1.5])):
        wrong = replace(
            result,
            row=np.array([0, 1]),
            column=np.array([1, 0]),
            lower_bound=6.0,
            upper_bound=6.0,
            u=np.array(u),
            v=np.array(v),
        )
        with pytest.raises(VerificationError):
            wrong.verify()
