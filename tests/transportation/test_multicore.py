"""Network simplex from a start by several threads: the start, and costs as by one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import preflow
from preflow.generators import squared_distances, transport_masses, transport_points
from preflow.graph.costs import DenseCosts
from preflow.solving.run import Control
from preflow.transportation import multicore_network_simplex, smoothing
from preflow.transportation.forest import spanning_forest
from preflow.transportation.multicore_network_simplex import (
    MulticoreSimplexOptions,
    ScaledColumnGeneration,
    hung_by_rows,
)
from preflow.transportation.smoothing import COLDEST, HOTTEST, smooth_prices
from tests.invariants.network_simplex import check_invariants

METHOD = "multicore-network-simplex"


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Draw costs of a few or of many sizes, and masses, many of which are zero or tie."""
    n, m = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cost = rng.integers(draw(st.sampled_from([-40, 0])), draw(st.sampled_from([1, 9, 2**40])), (n, m))
    a = rng.integers(0, draw(st.sampled_from([2, 9, 2**50])), n)
    return cost, a, rng.multinomial(a.sum(), np.ones(m) / m)


@given(problem=problems(), threads=st.sampled_from([1, 4, 7]), listed=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_simplex_starts_from_a_feasible_tree(problem: Any, threads: int, listed: int) -> None:
    """Invariant 1, whatever the smoothed prices are."""
    cost, a, b = problem
    options = MulticoreSimplexOptions(listed=listed, temperatures=listed, steps=1)
    generation = ScaledColumnGeneration(DenseCosts(cost[None]), (a, b), options, Control(threads=threads))
    generation.begin()
    simplex = generation.simplex
    check_invariants(simplex)
    assert simplex.unsent == 0
    row, column = generation.lists[0]
    np.testing.assert_array_equal(np.bincount(row, simplex.flow, len(a)), a.astype(float))
    assert len(np.unique(row * len(b) + column)) == len(row), "each pair is listed once"


def reference_smoothing(cost: Any, a: Any, b: Any, shape: tuple[int, int]) -> Any:
    """Sinkhorn's iteration as the paper has it, in double precision, with prices of rows."""
    a, b = a / a.sum(), b / b.sum()
    unit = (cost - cost.min()) / (cost.max() - cost.min())
    price = np.zeros(len(b))
    for temperature in np.repeat(np.geomspace(HOTTEST, COLDEST / max(cost.shape), shape[0]), shape[1]):
        row = np.log(a) - logsumexp((price - unit) / temperature, axis=1)
        price = temperature * (np.log(b) - logsumexp(row[:, None] - unit / temperature, axis=0))
        price -= price.max()
    return price * (cost.max() - cost.min())


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", [np.int64, np.float32, np.float64])
def test_smoothed_prices_are_those_of_sinkhorn(kind: Any, threads: int, stored: bool) -> None:
    """Up to the rough exponential function, wherever the costs begin."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(1, 9, (2, 20))
    b[0] += a.sum() - b.sum() + 100
    a[0] += 100
    cost = (rng.integers(0, 1000, (20, 20)) + 5000).astype(kind)
    blocks = lambda begin, end, stride: iter([(begin, cost[begin:end:stride])])  # noqa: E731
    dense = cost if stored else None
    found = smooth_prices(
        blocks, dense, (float(cost.min()), float(cost.max())), (a, b), (6, 20), Control(threads=threads)
    )
    expected = reference_smoothing(cost.astype(float), a, b, (6, 20))
    np.testing.assert_allclose(found.price, expected, atol=30)
    assert found.temperature == pytest.approx(COLDEST / 20 * (cost.max() - cost.min()))


@pytest.mark.parametrize("stored", [True, False])
def test_lists_leave_smoothed_prices_as_they_are(stored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs that leave the lists have no weight, however many threads share the rows."""
    problem = squared_distances(transport_points(300, 200))
    cost, masses = problem.cost, (problem.a, problem.b)
    extremes = float(cost.min()), float(cost.max())
    blocks = lambda *rows: iter([(rows[0], cost[slice(*rows)].astype(np.float64))])  # noqa: E731
    prices = []
    for share, threads in ((5, 1), (5, 4), (10**6, 4)):
        monkeypatch.setattr(smoothing, "SHARE", share)
        found = smooth_prices(
            blocks, cost if stored else None, extremes, masses, (8, 4), Control(threads=threads)
        )
        prices.append(found.price)
    for price in prices[:2]:
        np.testing.assert_allclose(price, prices[2], atol=found.temperature / 2)


def test_a_stopped_smoothing_ends() -> None:
    """All threads leave together, with the prices so far."""
    cost = np.arange(1200.0).reshape(30, 40)
    control = Control(threads=3)
    control.stop[0] = 1
    masses = np.full(30, 4), np.full(40, 3)
    found = smooth_prices(lambda *rows: iter([]), cost, (0.0, 1199.0), masses, (4, 2), control)
    assert (found.price == 0).all()


def test_smoothed_prices_leave_few_pivots() -> None:
    """Also where costs are far from zero, some are infinite, and some rows and columns have no mass."""
    problem = squared_distances(transport_points(300, 250))
    far = problem.cost + 10**9
    forbidden = problem.cost.astype(float)
    forbidden[np.random.default_rng(0).random(forbidden.shape) < 0.05] = np.inf
    a, b = problem.a.copy(), problem.b.copy()
    a[1] += a[0]
    b[2] += b[5]
    a[0] = b[5] = 0
    for cost, *masses in (
        (problem.cost, problem.a, problem.b),
        (far, problem.a, problem.b),
        (forbidden, a, b),
    ):
        result = preflow.transport(cost, *masses, method=METHOD, threads=4)
        result.verify()
        expected = preflow.transport(cost, *masses, method="serial-network-simplex")
        assert result.cost == pytest.approx(expected.cost, rel=1e-12)
        assert result.stats.pivots < expected.stats.pivots / 4


@given(problem=problems(), threads=st.sampled_from([1, 4, 7]), floats=st.booleans())
@settings(max_examples=60, deadline=None)
def test_costs_as_by_one_thread(problem: Any, threads: int, floats: bool) -> None:
    cost, a, b = problem
    if floats:
        cost, a, b = cost * 0.1, a * 0.01, b * 0.01
    result = preflow.transport(cost, a, b, method=METHOD, threads=threads)
    result.verify()
    expected = preflow.transport(cost, a, b, method="serial-network-simplex")
    assert result.cost == pytest.approx(expected.cost, rel=1e-12, abs=result.gap + expected.gap)
    assert len(result.row) <= sum(cost.shape)


@pytest.mark.parametrize("threads", [2, 16])
def test_more_threads_than_cores(threads: int) -> None:
    for problem in (transport_masses(150, 120), squared_distances(transport_points(90, 140))):
        result = preflow.transport(*problem, method=METHOD, threads=threads)
        result.verify()
        assert result.cost == preflow.transport(*problem, method="serial-network-simplex").cost


def test_points_on_threads() -> None:
    problem = transport_points(200, 300, floats=True)
    costs = preflow.PointCosts(problem.points, problem.others, metric="sqeuclidean")
    result = preflow.transport(costs, problem.a, problem.b, method=METHOD, threads=6)
    result.verify()
    expected = preflow.transport(costs, problem.a, problem.b, method="serial-network-simplex")
    assert result.cost == pytest.approx(expected.cost, rel=1e-11)


def test_trees_are_hung_by_rows() -> None:
    """A column that was a root, a pair that lost its mass, and a column without pairs."""
    row, column, mass = np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([3, 4, 5])
    forest = spanning_forest(row, column, mass, 2, 3)
    parent, by = hung_by_rows(forest.parent, forest.by, np.array([3, 4, 0]), 2)
    assert (parent >= 0).sum() == 2
    assert (parent[[2, 3, 4]] < 0).tolist() == [False, True, True]
    assert sorted(by[by >= 0].tolist()) == [0, 1]


def test_a_stopped_solve_has_a_bound() -> None:
    problem = transport_masses(300)
    control = Control(threads=2)
    control.stop[0] = 1
    found = multicore_network_simplex.solve(
        DenseCosts(problem.cost[None]), problem.a[None], problem.b[None], MulticoreSimplexOptions(), control
    )[0]
    assert found.ending == "stopped"
    assert len(found.v) == 300
