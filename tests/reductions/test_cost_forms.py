"""Minimum-cost flows without lower bounds and without undirected arcs have the same cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import reductions
from preflow.errors import CapacityOverflowError, PreflowError
from tests.support.min_cost import SmallCosts, small_costs

pytestmark = pytest.mark.fast


def outcome(solve: object) -> object:
    """Return the cost, or the kind of error and its excess."""
    try:
        result = solve()  # type: ignore[operator]
    except PreflowError as error:
        return type(error), getattr(error, "excess", None)
    result.verify()
    return result.cost


@settings(max_examples=80, deadline=None)
@given(small_costs())
def test_without_lower_bounds(case: SmallCosts) -> None:
    network = case.network()
    reduction = reductions.LowerBoundsRemoved.of(network)
    assert reduction.network.lower is None
    assert outcome(reduction.solve) == outcome(lambda: preflow.min_cost_flow(network))


@settings(max_examples=80, deadline=None)
@given(small_costs(), st.data())
def test_without_undirected_arcs(case: SmallCosts, data: st.DataObject) -> None:
    m = len(case.tail)
    marks = np.array(data.draw(st.lists(st.booleans(), min_size=m, max_size=m)), dtype=bool)
    network = preflow.CostNetwork.from_arrays(
        case.tail,
        case.head,
        capacity=case.capacity,
        cost=np.where(marks, np.abs(case.cost), case.cost) if m else [],
        lower=np.where(marks, 0, case.lower) if m else [],
        supply=case.supply,
        undirected=marks,
    )
    reduction = reductions.UndirectedCostsAsDirected.of(network)
    assert reduction.network.undirected is None
    assert outcome(reduction.solve) == outcome(lambda: preflow.min_cost_flow(network))


def test_floats() -> None:
    network = preflow.CostNetwork.from_arrays(
        [0, 0, 1], [1, 2, 2], capacity=[0.5, 1.5, 1.1], cost=[0.1, 0.5, 0.2], lower=[0.25, 0, 0.1]
    )
    result = reductions.LowerBoundsRemoved.of(network, [1.2, 0, -1.2]).solve()
    result.verify()
    assert result.cost == pytest.approx(preflow.min_cost_flow(network, [1.2, 0, -1.2]).cost)


def test_too_large() -> None:
    network = preflow.CostNetwork.from_arrays([0], [1], capacity=2**62, lower=-(2**62))
    with pytest.raises(CapacityOverflowError):
        reductions.LowerBoundsRemoved.of(network)
