"""Transport by cost scaling on several threads: the start of its simplex, and costs as by one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.generators import squared_distances, transport_masses, transport_points
from preflow.graph.costs import DenseCosts
from preflow.mincost.serial_network_simplex import check_invariants
from preflow.solving.run import Control
from preflow.transportation import multicore_cost_scaling
from preflow.transportation.forest import spanning_forest
from preflow.transportation.multicore_cost_scaling import (
    ScaledColumnGeneration,
    ScaledTransportOptions,
    hung_by_rows,
)

METHOD = "multicore-cost-scaling"


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Draw costs of a few or of many sizes, and masses, many of which are zero or tie."""
    n, m = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cost = rng.integers(draw(st.sampled_from([-40, 0])), draw(st.sampled_from([1, 9, 2**40])), (n, m))
    a = rng.integers(0, draw(st.sampled_from([2, 9, 2**50])), n)
    return cost, a, rng.multinomial(a.sum(), np.ones(m) / m)


@given(problem=problems(), threads=st.sampled_from([1, 6, 7]), listed=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_simplex_starts_from_a_feasible_tree(problem: Any, threads: int, listed: int) -> None:
    """Invariant 1, whatever was rounded; and the start is optimal for the listed pairs if nothing was."""
    cost, a, b = problem
    options = ScaledTransportOptions(listed=listed)
    generation = ScaledColumnGeneration(DenseCosts(cost[None]), (a, b), options, Control(threads=threads))
    generation.begin()
    simplex = generation.simplex
    check_invariants(simplex)
    assert simplex.unsent == 0
    row, column = generation.lists[0]
    np.testing.assert_array_equal(np.bincount(row, simplex.flow, len(a)), a.astype(float))
    if cost.max() < 2**multicore_cost_scaling.ROUNDED_BITS:
        reduced = cost[row, column] + simplex.potential[row] - simplex.potential[len(a) + column]
        assert (reduced >= 0).all()


@given(problem=problems(), threads=st.sampled_from([1, 2, 7]), floats=st.booleans())
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
    found = multicore_cost_scaling.solve(
        DenseCosts(problem.cost[None]), problem.a[None], problem.b[None], ScaledTransportOptions(), control
    )[0]
    assert found.ending == "stopped"
    assert len(found.v) == 300
