"""Feasible flows by maximum flow, against minimum-cost flow with costs of zero."""

from __future__ import annotations

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
