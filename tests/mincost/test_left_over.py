"""min_cost_flow(partial=True): against linear programs, with its proofs and its errors."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import preflow
from preflow.errors import InfeasibleFlowError, UnboundedCostError, UnequalSumsError, VerificationError

METHODS = [method.name for method in preflow.methods("min_cost_flow") if method.device == "cpu"]


def least(tail: Any, head: Any, capacity: Any, cost: Any, lower: Any, supply: Any) -> Any:
    """Return the largest amount and its least cost by HiGHS; None: no flow respects the bounds."""
    n, m = len(supply), len(tail)
    matrix = np.zeros((n, m))
    np.add.at(matrix, (tail, np.arange(m)), 1)
    np.subtract.at(matrix, (head, np.arange(m)), 1)
    sends = (supply > 0).astype(float)
    sent = [(min(s, 0), max(s, 0)) for s in supply]
    program = {"A_eq": np.hstack([matrix, -np.eye(n)]), "b_eq": np.zeros(n)}
    program["bounds"] = [*zip(lower, capacity, strict=True), *sent]
    most = linprog(np.append(np.zeros(m), -sends), **program)
    if most.status != 0:
        return None
    program["A_eq"] = np.vstack([program["A_eq"], np.append(np.zeros(m), sends)])
    program["b_eq"] = np.append(np.zeros(n), round(-most.fun))
    return round(-most.fun), linprog(np.concatenate([cost, np.zeros(n)]), **program).fun


@pytest.mark.parametrize("method", METHODS)
@given(
    seed=st.integers(0, 2**32 - 1),
    unit=st.sampled_from([1, 0.1]),
    price=st.sampled_from([1, 0.3]),
    bounded=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_small_networks(method: str, seed: int, unit: float, price: float, bounded: bool) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 6), rng.integers(1, 12)
    tail, head = rng.integers(0, n, (2, m))
    capacity, cost = rng.integers(0, 9, m), rng.integers(-3, 9, m)
    lower = rng.integers(0, 2, m) * bounded
    capacity = np.maximum(capacity, lower)
    supply = rng.integers(-9, 10, n)
    expected = least(tail, head, capacity, cost, lower, supply)
    network = preflow.CostNetwork.from_arrays(
        tail, head, capacity=capacity * unit, cost=cost * price, lower=lower * unit, num_vertices=n
    )
    if expected is None:
        with pytest.raises(InfeasibleFlowError):
            preflow.min_cost_flow(network, supply * unit, partial=True, method=method)
        return
    result = preflow.min_cost_flow(network, supply * unit, partial=True, method=method)
    result.verify()
    assert result.amount == pytest.approx(expected[0] * unit, abs=1e-12)
    assert result.cost == pytest.approx(round(expected[1]) * unit * price, abs=1e-9)
    np.testing.assert_allclose(result.left_over, supply * unit - result.supply, atol=1e-12)
    again = preflow.min_cost_flow(network, supply * unit, partial=True, method=method, warm_start=result)
    again.verify()
    assert again.cost == pytest.approx(result.cost, abs=1e-9)


ROADS = [("depot", "north", 4, 2), ("depot", "south", 9, 5), ("store", "north", 3, 1)]


def test_stock_is_left_over_and_demand_unmet() -> None:
    stock = {"depot": 9, "store": 3, "north": -4, "south": -3}
    with pytest.raises(UnequalSumsError, match="sum to 5, not to zero; partial=True sends as much as"):
        preflow.min_cost_flow(ROADS, stock)
    found = preflow.min_cost_flow(ROADS, stock, partial=True)
    found.verify()
    assert (found.cost, found.amount, found.left_over.tolist()) == (20, 7, [5, 0, 0, 0])
    assert found.flow_dict()["store"] == {"north": 3}
    assert "7 of 12 supply, 7 of 7 demand" in repr(found)
    more = preflow.min_cost_flow(ROADS, {**stock, "north": -40}, partial=True)
    more.verify()
    assert (more.amount, dict(zip(more.network.labels, more.left_over.tolist(), strict=True))["north"]) == (
        10,
        -33,
    )
    with pytest.raises(InfeasibleFlowError, match="partial=True sends as much as possible"):
        preflow.min_cost_flow(ROADS, {"depot": 1, "store": 9, "north": -7, "south": -3})
    for name in ("_whole", "_most"):
        with pytest.raises(VerificationError):
            replace(more, **{name: found._whole}).verify()


def test_a_network_that_changes() -> None:
    solver = preflow.MinCostFlow(ROADS, {"depot": 9, "store": 3, "north": -4, "south": -3})
    assert solver.solve(partial=True).cost == 20
    solver.set_capacity(("depot", "south"), 1)
    found = solver.solve(partial=True)
    found.verify()
    assert (found.amount, found.cost) == (5, 10)


def test_errors_name_the_network_of_the_caller() -> None:
    network = preflow.CostNetwork.from_edges(
        [("a", "b", 5, 1), ("b", "c", float("inf"), -1), ("c", "b", float("inf"), 0)]
    )
    with pytest.raises(UnboundedCostError) as caught:
        preflow.min_cost_flow(network, {"a": 9, "c": -3}, partial=True)
    assert set(caught.value.ends) == {("b", "c"), ("c", "b")}
    bounds = preflow.CostNetwork.from_arrays([0], [1], capacity=5, cost=1, lower=3)
    with pytest.raises(InfeasibleFlowError) as bounded:
        preflow.min_cost_flow(bounds, [2, -9], partial=True)
    assert "partial" not in str(bounded.value)


@pytest.mark.parametrize("method", METHODS)
def test_a_large_supply_that_cannot_be_sent_spoils_no_small_one(method: str) -> None:
    network = preflow.CostNetwork.from_arrays([2, 1], [0, 0], capacity=[1.0, np.inf], cost=[1.0, 3.0])
    found = preflow.min_cost_flow(network, [-1e18, 0.5, 2.0], partial=True, method=method)
    found.verify()
    assert (found.amount, found.cost) == (pytest.approx(1.5, abs=1e-12), pytest.approx(2.5, abs=1e-11))
    alone = preflow.min_cost_flow(([1], [2], [1.0], [1]), [0, 1.0, -1.4e-74], partial=True, method=method)
    alone.verify()
    assert alone.cost == pytest.approx(1.4e-74, rel=1e-12, abs=0)
    whole = preflow.min_cost_flow(([0], [1], [1.0], [7]), [1.0, -8.0], partial=True, method=method)
    whole.verify()
    assert (whole.amount, whole.cost) == (1, 7)


def test_capacities_past_the_integers_of_floats() -> None:
    network = ([2, 0], [0, 0], [1.0, 14219489948131834.0], [1, 16])
    found = preflow.min_cost_flow(network, [2207937044, 107938954057712, -2207937044, -242][:3], partial=True)
    found.verify()
    sent = preflow.min_cost_flow(([0, 1], [2, 2], [1.0, 2.0**60], [1, 0]), [5, 0, -3], partial=True)
    sent.verify()
    assert sent.cost == pytest.approx(1)
    assert found.amount == 0


def test_a_time_limit() -> None:
    """A stopped solve is a result with bounds that hold, also before the largest amount is known."""
    rng = np.random.default_rng(0)
    tail, head = rng.integers(0, 300, (2, 5000))
    network = preflow.CostNetwork.from_arrays(tail, head + 300, capacity=0.4, cost=rng.random(5000) - 0.2)
    supply = np.concatenate([rng.random(300) * 10, -rng.random(300) * 7])
    best = preflow.min_cost_flow(network, supply, partial=True)
    assert best._most is not None
    for limit in (1e-9, 1e-3, 3e-3, 1e-2, 1):
        found = preflow.min_cost_flow(network, supply, partial=True, time_limit=limit)
        found.verify()
        pickle.loads(pickle.dumps(found)).verify()
        assert found.lower_bound <= best.cost + 1e-9
        assert found.upper_bound >= best.cost - 1e-9
    for wrong in ({"status": "time-limit"}, {"_whole": best._most}):
        with pytest.raises(VerificationError):
            replace(best, **wrong).verify()
