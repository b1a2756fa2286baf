"""Costs that are distances of points: what is accepted, the tree, the solver, its proof and its memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import preflow
from preflow.assignment import serial_shortest_path
from preflow.assignment.result import AssignmentResult
from preflow.assignment.serial_shortest_path import points as point_solver
from preflow.errors import InvalidInputError, NotOptimalError, VerificationError
from preflow.graph.kd_tree import LEAF_POINTS, NONE, find_best, lower_price, make_tree, set_prices, tree_order
from preflow.graph.point_costs import KINDS, PointCosts
from preflow.progress import ProgressReport

METRICS = sorted(KINDS)
LAYOUTS = ["uniform", "lattice", "clusters", "same", "line", "heavy"]


def points(layout: str, n: int, dimension: int, seed: int) -> NDArray[Any]:
    """Return points none of which is 0."""
    rng = np.random.default_rng(seed)
    if layout == "lattice":
        return rng.integers(1, 4, (n, dimension))
    if layout == "clusters":
        return rng.random((n, dimension)) * 1e-3 + rng.integers(1, 3, (n, 1)).astype(float)
    if layout == "same":
        return np.ones((n, dimension), dtype=np.float32)
    if layout == "line":
        return np.repeat(rng.random((n, 1)) + 1, dimension, axis=1)
    if layout == "heavy":
        return rng.standard_cauchy((n, dimension))
    return rng.random((n, dimension))


def check(costs: PointCosts, maximize: bool = False, **arguments: Any) -> AssignmentResult:
    """Solve and verify; the cost is SciPy's."""
    result = preflow.linear_assignment(costs, maximize=maximize, **arguments)
    result.verify()
    matrix = cdist(costs.rows, costs.columns, costs.metric)
    expected = matrix[linear_sum_assignment(matrix, maximize)].sum()
    assert result.cost == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert len(result.row) == min(matrix.shape)
    assert costs.at(0, result.row, result.column) == pytest.approx(
        matrix[result.row, result.column], rel=1e-9, abs=1e-15
    )
    return result


@given(
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 3)),
    layout=st.sampled_from(LAYOUTS),
    metric=st.sampled_from(METRICS),
    maximize=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60)
def test_small_ones_agree_with_scipy(
    shape: tuple[int, int, int], layout: str, metric: str, maximize: bool, seed: int
) -> None:
    n, m, dimension = shape
    costs = PointCosts(
        points(layout, n, dimension, seed), points(layout, m, dimension, seed + 1), metric=metric
    )
    check(costs, maximize)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("maximize", [False, True])
def test_larger_ones_agree_with_scipy(metric: str, maximize: bool) -> None:
    for shape in ((300, 300), (150, 210), (210, 150)):
        n, m = shape
        check(PointCosts(points("uniform", n, 3, 0), points("uniform", m, 3, 1), metric=metric), maximize)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("auction", [True, False])
def test_layouts(layout: str, auction: bool) -> None:
    """Ties, clusters, lines and outliers; with and without the auction before the searches."""
    options = {"auction": auction, "row_reduction": 5.0 if auction else 0}
    for n, m in ((160, 160), (120, 130)):
        costs = PointCosts(points(layout, n, 2, 2), points(layout, m, 2, 3))
        result = check(costs, method="serial-shortest-path", options=options)
        if not auction:
            assert result.stats.augmentations >= (
                0 if layout in {"same", "lattice"} else 60
            )  # those are at few places


@pytest.mark.parametrize("dimension", [1, 5, 12])
def test_dimensions(dimension: int) -> None:
    costs = PointCosts(points("uniform", 200, dimension, 4), points("uniform", 200, dimension, 5))
    check(costs)


def test_short_lists_and_phases_that_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches go beyond lists, time and again; phases end early, and the auction goes on to rounding."""
    for name, value in (("ROOM", 2), ("WINDOW", 3), ("FIRST_BIDS", 1), ("MOST_BIDS", 1), ("SHARE_LEFT", 0.0)):
        monkeypatch.setattr(point_solver, name, value)
    for layout in ("uniform", "lattice", "line"):
        costs = PointCosts(points(layout, 90, 2, 6), points(layout, 90, 2, 7))
        check(costs)
        check(costs, True)


def test_integers_are_exact() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(-(2**20), 2**20, (2, 80, 2))
    for metric, power in (("sqeuclidean", 2), ("cityblock", 1)):
        matrix = (np.abs(x[:, None] - y) ** power).sum(axis=2)
        result = check(PointCosts(x, y, metric=metric))
        assert result.cost == matrix[linear_sum_assignment(matrix)].sum()


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f2", "f4", ">f8", "?"])
def test_dtypes(dtype: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 2 if dtype == "?" else 100, (2, 9, 2)).astype(dtype)
    check(PointCosts(x, np.asfortranarray(y)))
    assert preflow.linear_assignment(PointCosts(x.tolist(), y[::-1])).cost == pytest.approx(
        preflow.linear_assignment(PointCosts(x, y)).cost
    )


@pytest.mark.parametrize(
    ("x", "y", "metric", "message"),
    [
        ([[0, 0]], [[1, 1]], "minkowski", "metric must be one of"),
        ([[0, 0]], [[1, 1]], None, "metric must be one of"),
        ([0, 0], [[1, 1]], "euclidean", r"rows must be points, shape \(n, d\)"),
        ([[0, 0]], [[1, 1, 1]], "euclidean", "rows of 2 coordinates and columns of 3"),
        ([[0, 0], [1]], [[1, 1]], "euclidean", "rows is not an array"),
        ([[0, 0]], [["a", "b"]], "euclidean", "integers or floats"),
        ([[0, 1j]], [[1, 1]], "euclidean", "integers or floats"),
        (np.zeros((2, 0)), np.zeros((2, 0)), "euclidean", "one coordinate or more"),
        (
            [[0, np.nan]],
            [[1, 1]],
            "euclidean",
            r"the array of rows has values that are not finite: nan at \(0, 1\)",
        ),
        (
            [[0, 1]],
            [[1, np.inf]],
            "euclidean",
            r"the array of columns has values that are not finite: inf at \(0, 1\)",
        ),
        ([[2**53 + 1]], [[0]], "cityblock", r"2\*\*53"),
        ([[1e200, 0]], [[0, 0]], "euclidean", "too large"),
        ([[1, 2], [0, 0]], [[1, 2], [2, 1]], "cosine", r"rows\[1\] is 0"),
    ],
)
def test_bad_points(x: Any, y: Any, metric: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PointCosts(x, y, metric=metric)


def test_bad_arguments() -> None:
    costs = PointCosts([[0.0]], [[1.0]])
    with pytest.raises(InvalidInputError, match="sizes"):
        preflow.linear_assignment(costs, sizes=[1, 1])
    with pytest.raises(InvalidInputError, match="option auction"):
        preflow.linear_assignment(costs, method="JV", options={"auction": 1})
    others = [each.name for each in preflow.methods("linear_assignment") if not each.points]
    for name in others[:1]:
        with pytest.raises(InvalidInputError, match="takes no PointCosts"):
            preflow.linear_assignment(costs, method=name)


def test_no_points() -> None:
    nobody = np.zeros((0, 2))
    for x, y in ((nobody, nobody), (nobody, [[1, 2]]), ([[1, 2]], nobody)):
        result = preflow.linear_assignment(PointCosts(x, y))
        result.verify()
        assert result.cost == 0.0
        assert len(result.row) == 0


def test_faults_are_found() -> None:
    costs = PointCosts(points("uniform", 40, 2, 8), points("uniform", 50, 2, 9))
    for maximize in (False, True):
        result = preflow.linear_assignment(costs, maximize=maximize, partial=True)
        result.verify()
        sign = -1 if maximize else 1
        v = result.v.copy()
        v[result.column[0]] += sign * 0.1
        swapped = result.column[[1, 0, *range(2, 40)]]
        for change in (
            {"column": swapped},
            {"v": v},
            {"u": result.u + sign * 1e-6},
            {"row": result.row[:-1], "column": result.column[:-1]},
            {"lower_bound": result.cost - 1e-6, "upper_bound": result.cost - 1e-6},
        ):
            with pytest.raises(VerificationError):
                replace(result, **change).verify()


def test_result_says_what_it_is() -> None:
    costs = PointCosts([[0, 0], [3, 4]], [[3, 3], [0, 1]])
    assert repr(costs) == "<PointCosts: 2 x 2 points, dimension 2, euclidean>"
    result = preflow.linear_assignment(costs)
    assert "points" in result.stats.reason
    assert not result.column.flags.writeable
    assert result.u.dtype == result.v.dtype == np.float64
    assert isinstance(result.cost, float)


def test_time_limit_gives_a_proved_bound() -> None:
    x, y = np.random.default_rng(2).random((2, 4000, 2))
    costs = PointCosts(x, y)
    preflow.linear_assignment(PointCosts(x[:70], y[:70]))
    optimum = preflow.linear_assignment(costs).cost
    for maximize in (False, True):
        result = preflow.linear_assignment(costs, time_limit=0.06, maximize=maximize)
        assert result.status == "time-limit"
        result.verify()
        if not maximize:
            assert result.lower_bound <= optimum * (1 + 1e-9)
        with pytest.raises(NotOptimalError):
            _ = result.cost


def test_memory_is_linear() -> None:
    """20,000 x 20,000 costs would take 3.2 GB."""
    n = 20_000
    x, y = np.random.default_rng(3).random((2, n, 2))
    reports: list[ProgressReport] = []
    tracemalloc.start()
    try:
        result = preflow.linear_assignment(PointCosts(x, y), time_limit=1.0, progress=reports.append)
        assert tracemalloc.get_traced_memory()[1] < 1000 * 2 * n
    finally:
        tracemalloc.stop()
    assert np.isfinite(result.lower_bound)
    assert reports


def circle(size: int) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, size, endpoint=False)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


@pytest.mark.parametrize("few", [0.5, 0.0])
@pytest.mark.parametrize("swap", [False, True])
def test_many_equal_points(few: float, swap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All distances tie but for rounding, or many do: searches may pass each once, not again and again."""
    monkeypatch.setattr(serial_shortest_path, "FEW_PLACES", few)
    n = 300
    rng = np.random.default_rng(0)
    places = rng.random((7, 2))
    for x, y, looks in (
        (np.zeros((n, 2)), circle(n), 20),
        (places[rng.integers(0, 7, n)], rng.random((n, 2)), 60),
        (places[rng.integers(0, 7, n)], places[rng.integers(0, 7, n)], 20),
        (places[rng.integers(0, 7, n // 2)], rng.random((n, 2)), 20),
    ):
        costs = PointCosts(y, x) if swap else PointCosts(x, y)
        distances = cdist(costs.rows, costs.columns)
        result = preflow.linear_assignment(costs)
        result.verify()
        assert result.cost == pytest.approx(distances[linear_sum_assignment(distances)].sum(), rel=1e-12)
        assert ("places" in result.stats.reason) == (few > 0)
        assert result.stats.arc_scans < (n * n if few else looks * n * n)


@pytest.mark.parametrize("swap", [False, True])
def test_a_stopped_solve_between_places_bounds_the_cost(swap: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((7, 2))[rng.integers(0, 7, 300)], rng.random((300, 2))
    costs = PointCosts(y, x) if swap else PointCosts(x, y)
    best = preflow.linear_assignment(costs).cost
    result = preflow.linear_assignment(costs, time_limit=1e-9)
    assert result.status in {"optimal", "time-limit"}
    assert 0 <= result.lower_bound <= best * (1 + 1e-12)


class TestTree:
    @pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "chebyshev"])
    @pytest.mark.parametrize("factor", [1.0, -0.5])
    def test_finds_the_best_in_order(self, metric: str, factor: float) -> None:
        """Also where many tie, in pieces of any size, and after prices fell."""
        rng = np.random.default_rng(4)
        size, room = 5 * LEAF_POINTS + 3, 10
        given_points = rng.integers(0, 6, (size, 2)).astype(float)
        ordered = given_points[tree_order(given_points)]
        tree = make_tree(ordered, KINDS[metric], factor)
        price = -rng.integers(0, 3, size).astype(float)
        set_prices(tree, price)
        for j in rng.permutation(size)[:60].tolist():
            lower_price(tree, price, np.uint64(j), price[j] - rng.integers(0, 2))
        tree.query[:] = [2.0, 3.0]
        costs = factor * cdist([tree.query], ordered, metric)[0]
        column, cost, reduced = np.zeros(room, np.uint32), np.zeros(room), np.zeros(room)
        expected = np.lexsort((np.arange(size), costs - price))
        first = int(find_best(tree, price, np.uint64(room), column, cost, reduced, -np.inf, NONE))
        assert first == room
        assert np.array_equal(reduced, (costs - price)[expected[:room]])
        assert np.array_equal(cost, costs[column])
        found: list[int] = []
        after, last = (costs - price).min(), NONE
        while count := int(find_best(tree, price, np.uint64(room), column, cost, reduced, after, last)):
            found += column[:count].tolist()
            after, last = reduced[count - 1], np.uint64(column[count - 1])
        assert found == expected.tolist()

    @pytest.mark.parametrize("size", [1, 2, LEAF_POINTS, LEAF_POINTS + 1, 1000])
    def test_boxes_hold_their_points(self, size: int) -> None:
        given_points = np.random.default_rng(5).random((size, 3))
        order = tree_order(given_points)
        assert sorted(order.tolist()) == list(range(size))
        tree = make_tree(given_points[order], 0, 1.0)
        leaves = len(tree.first) - 1
        for j in range(size):
            node = int(tree.leaf[j])
            assert tree.first[node - leaves] <= j < tree.first[node - leaves + 1]
            while node:
                assert (tree.box[node, :3] <= tree.point[:, j]).all()
                assert (tree.point[:, j] <= tree.box[node, 3:6]).all()
                node //= 2
