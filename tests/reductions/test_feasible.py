"""Feasible flows by maximum flow, against minimum-cost flow with costs of zero."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import preflow
from preflow import reductions
from preflow.errors import InfeasibleFlowError, InvalidInputError, VerificationError
from tests.support.min_cost import SmallCosts, cheapest, check_violated, small_costs

pytestmark = pytest.mark.fast


@settings(max_examples=150, deadline=None)
@given(small_costs())
def test_against_a_linear_program(case: SmallCosts) -> None:
    expected = cheapest(case._replace(cost=[0] * len(case.cost)))
    try:
        found = reductions.feasible_flow(case.network())
    except InfeasibleFlowError as error:
        assert expected == "infeasible"
        check_violated(case, error)
        return
    assert expected == 0
    found.verify()


def test_undirected() -> None:
    network = preflow.CostNetwork.from_arrays([1], [0], capacity=4, undirected=True)
    found = reductions.feasible_flow(network, {0: 3, 1: -3})
    assert found.flow.tolist() == [-3]
    found.verify()


def test_floats() -> None:
    network = preflow.CostNetwork.from_arrays([0, 0], [1, 1], capacity=[0.4, 0.7], lower=[0.3, 0.1])
    found = reductions.feasible_flow(network, [1.1, -1.1])
    found.verify()
    with pytest.raises(InfeasibleFlowError) as error:
        reductions.feasible_flow(network, [1.2, -1.2])
    assert error.value.vertices == (0,)
    assert error.value.excess == pytest.approx(0.1)


def test_refusals() -> None:
    network = preflow.CostNetwork.from_arrays([0], [1], capacity=4)
    with pytest.raises(InvalidInputError, match="sum to 1"):
        reductions.feasible_flow(network, [3, -2])
    reduction = reductions.CirculationAsMaxFlow.of(network, [3, -3])
    with pytest.raises(InvalidInputError, match="does not belong"):
        reduction.solution(preflow.max_flow(([0, 0], [1, 1], [1, 1]), 0, 1))
    found = reduction.solve()
    with pytest.raises(VerificationError):
        reductions.FeasibleFlow(np.array([2]), network, found.supply).verify()


def test_supplies_whose_sum_wraps() -> None:
    with pytest.raises(InvalidInputError, match="sum to 18,446,744,073,709,551,616"):
        reductions.feasible_flow(([0], [3], [1], [0]), [2**62] * 4)
    arcs = [0, 1], [2, 3], [1, 1], [0, 0]
    with pytest.raises(InfeasibleFlowError) as caught:
        reductions.feasible_flow(arcs, [2**62, 2**62, -(2**62), -(2**62)])
    assert caught.value.vertices == (0, 1)
    assert caught.value.excess == 2**63 - 2


def beside(amount: float, room: float) -> preflow.CostNetwork:
    """Return a network that sends `amount` over one arc, and 0.5 over arcs with `room` in another part."""
    return preflow.CostNetwork.from_arrays(
        [0, 2, 3, 5],
        [1, 3, 4, 5],
        capacity=[np.inf, room, 2.0, amount],
        lower=[0, 0, 0.25, amount / 2],
        supply=[amount, -amount, 0.5, 0, -0.5, 0],
    )


@pytest.mark.parametrize("amount", [1e12, 1e18, 1e100, 1e308, 1e-318, 1e-310])
@pytest.mark.parametrize("solve", [preflow.min_cost_flow, reductions.feasible_flow])
@pytest.mark.filterwarnings("error")
def test_small_amounts_beside_large_ones(amount: float, solve: Any) -> None:
    found = solve(beside(amount, 0.75))
    found.verify()
    assert found.flow[:3].tolist() == pytest.approx([amount, 0.5, 0.5], rel=1e-9, abs=0)
    with pytest.raises(InfeasibleFlowError) as error:
        solve(beside(amount, 0.25))
    assert 2 in error.value.vertices
    assert error.value.excess == pytest.approx(0.25)


@pytest.mark.parametrize("amount", [1e12, 1e18, 1e100])
def test_what_a_vertex_lacks_is_found_beside_large_amounts(amount: float) -> None:
    found = reductions.feasible_flow(beside(amount, 0.75))
    with pytest.raises(VerificationError, match="not conserved at vertex 3"):
        replace(found, flow=found.flow * [1, 1, 0.9, 1]).verify()


def test_a_largest_flow_beside_a_large_supply() -> None:
    """Each vertex sends its supply as precisely as the amounts at that vertex allow."""
    network = preflow.CostNetwork.from_arrays(
        [0, 2, 2, 3],
        [1, 3, 3, 4],
        capacity=[np.inf, 0.5, 0.75, 3.0],
        cost=[1, 2, 3, 1],
        lower=[0, 0.25, 0, 0],
    )
    for amount in (0.0, 1e18, 1e100):
        supplied = replace(network, supply=np.array([amount, -amount, 0.5, 0.0, -0.5]))
        result = preflow.max_flow_min_cost(supplied, 2, 4)
        result.verify()
        assert result.amount == pytest.approx(0.75)
        assert result.flow[1:].tolist() == pytest.approx([0.5, 0.75, 1.25])
