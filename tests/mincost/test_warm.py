"""Solving again: warm results equal cold ones over random sequences of edits."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import CapacityOverflowError, InfeasibleError, InvalidInputError
from tests.support.processes import run_at_once

#: Threads that wait for each other in every solve lose their turns to a test beside them.
METHODS = [
    pytest.param(method.name, marks=pytest.mark.alone if method.parallel else ())
    for method in preflow.methods("min_cost_flow")
    if method.device == "cpu"
]


def random_network(rng: np.random.Generator, floats: bool) -> preflow.CostNetwork:
    n, m = 12, 50
    tail, head = rng.integers(0, n, (2, m))
    capacity, cost = rng.integers(0, 9, m), rng.integers(-5, 30, m)
    half = capacity // 2
    supply = np.bincount(tail, half, n) - np.bincount(head, half, n)
    unit: Any = 0.1 if floats else 1
    return preflow.CostNetwork.from_arrays(
        tail, head, capacity=capacity * unit, cost=cost * unit, supply=supply.astype(int) * unit
    )


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_warm_equals_cold(method: str, floats: bool) -> None:
    rng = np.random.default_rng(3)
    unit: Any = 0.1 if floats else 1
    solved = 0
    for _ in range(10):
        solver = preflow.MinCostFlow(random_network(rng, floats), method=method)
        for _ in range(12):
            arcs = rng.choice(50, rng.integers(1, 4), replace=False)
            kind = rng.integers(5)
            if kind == 0:
                solver.set_cost(arcs, rng.integers(-9, 40, len(arcs)) * unit)
            elif kind == 1:
                solver.set_capacity(arcs, rng.integers(3, 12, len(arcs)) * unit)
            elif kind == 2:
                solver.set_lower(arcs[0], -rng.integers(0, 3) * unit)
            elif kind == 3:
                tail, head = rng.integers(0, 12, (2, len(arcs)))
                added = solver.add_arcs(
                    tail, head, capacity=rng.integers(2, 12, len(arcs)) * unit, cost=3 * unit, lower=unit
                )
                assert added[-1] + 1 == solver.network.num_arcs
            else:
                u, v = rng.choice(12, 2, replace=False)
                assert solver.network.supply is not None
                amount = rng.integers(1, 4) * unit
                solver.set_supply([u, v], solver.network.supply[[u, v]] + [amount, -amount])
            try:
                cold = preflow.min_cost_flow(solver.network, method=method)
            except InfeasibleError:
                with pytest.raises(InfeasibleError):
                    solver.solve()
                continue
            warm = solver.solve()
            warm.verify()
            assert warm.cost == (pytest.approx(cold.cost, abs=1e-9) if floats else cold.cost)
            solved += 1
    assert solved > 30


def test_a_road_is_built() -> None:
    solver = preflow.MinCostFlow([("a", "b", 4, 5)], {"a": 6, "b": -6})
    assert solver.solve(partial=True).cost == 20
    assert solver.add_arcs("a", "b", capacity=3, cost=7).tolist() == [1]
    assert solver.solve().cost == 34
    assert solver.add_arcs(["a", "b"], ["b", "a"], cost=1).tolist() == [2, 3]  # without a limit
    result = solver.solve()
    assert result.cost == 6
    result.verify()
    for change in ({"capacity": -1}, {"cost": np.nan}, {"capacity": 1, "lower": 2}):
        with pytest.raises(InvalidInputError):
            solver.add_arcs("a", "b", **change)
    with pytest.raises(InvalidInputError, match="'c' is not in the graph"):
        solver.add_arcs("a", "c")
    assert solver.solve().cost == 6


def test_labels() -> None:
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_edge(("a", 1), "b", weight=3, capacity=4)
    solver = preflow.MinCostFlow(graph)
    solver.set_supply(("a", 1), 2)
    with pytest.raises(InvalidInputError, match="the supplies sum to 2"):
        solver.solve()
    solver.set_supply(["b"], -2)
    assert solver.solve().cost == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda solver: solver.set_cost(5, 1), "there is no arc 5: there are 1"),
        (lambda solver: solver.set_cost(0.5, 1), "the number of each arc"),
        (lambda solver: solver.set_cost([0], [1, 2]), "values has shape"),
        (lambda solver: solver.set_capacity(0, -1), "capacity is negative"),
        (lambda solver: solver.set_supply(7, 1), "there is no vertex 7"),
        (lambda solver: solver.set_cost((0, 1), 1), r"write \[\(0, 1\)\] for the ends, \[0, 1\] for"),
        (lambda solver: solver.set_cost([(1, 0)], 1), "no arc from 1 to 0; there is one from 0 to 1"),
    ],
)
def test_bad_changes(change: Any, message: str) -> None:
    solver = preflow.MinCostFlow(([0], [1], [3], [2]), [1, -1])
    with pytest.raises(InvalidInputError, match=message):
        change(solver)
    assert solver.solve().cost == 2


def test_a_start_of_another_network() -> None:
    result = preflow.min_cost_flow(([0], [1], [3], [2]), [1, -1])
    with pytest.raises(InvalidInputError, match="warm_start belongs to a network with other arcs"):
        preflow.min_cost_flow(([1], [0], [3], [2]), [-1, 1], warm_start=result)
    with pytest.raises(InvalidInputError, match="warm_start is a MinCostFlowResult"):
        preflow.min_cost_flow(([1], [0], [3], [2]), [-1, 1], warm_start=result.flow)  # type: ignore[arg-type]


def test_changes_are_exact() -> None:
    solver = preflow.MinCostFlow(([0, 0], [1, 1], [3, 3], [2**55 + 1, 4]), [1, -1])
    for change in (
        lambda: solver.set_cost(1, 1.5),  # would round the other cost
        lambda: solver.set_cost(1, np.uint64(2**63 + 5)),
        lambda: solver.set_capacity(1, np.array(2**63 + 5, dtype=np.uint64)),
        lambda: solver.set_cost([1], [-(2**63)]),
    ):
        with pytest.raises(CapacityOverflowError):
            change()
    solver.set_cost([], [])
    solver.set_supply([], [])
    solver.set_cost([[1]], [[Fraction(6, 2)]])
    assert solver.network.cost.tolist() == [2**55 + 1, 3]
    assert solver.solve().cost == 3


def test_threads_share_a_solver() -> None:
    arcs, threads = 400, 4
    tail = np.zeros(arcs, dtype=np.int64)
    solver = preflow.MinCostFlow((tail, tail + 1, [1] * arcs, [0] * arcs), [arcs, -arcs])

    def change(first: int) -> None:
        for arc in range(first, arcs, threads):
            solver.set_cost(arc, arc)
            solver.set_lower(arc, 1)
            if arc % 40 == first:
                solver.solve().verify()
                copy.copy(solver).set_cost(arc, 0)

    run_at_once(change, threads)
    assert solver.solve().cost == sum(range(arcs))
    assert solver.network.lower is not None
    assert solver.network.lower.tolist() == [1] * arcs
    for other in (copy.deepcopy(solver), pickle.loads(pickle.dumps(solver, 0))):
        other.set_cost(0, 5)
        assert (other.solve().cost, solver.solve().cost) == (sum(range(arcs)) + 5, sum(range(arcs)))
