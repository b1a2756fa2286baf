"""max_flow_min_cost against a linear program, and every way in which it can fail."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import (
    CapacityOverflowError,
    InfeasibleFlowError,
    InvalidInputError,
    UnboundedCostError,
    UnboundedFlowError,
    VerificationError,
)
from preflow.reductions import most_for_least
from tests.support.min_cost import SmallCosts, cheapest, check_cycle, small_costs

pytestmark = pytest.mark.fast


def with_amount(case: SmallCosts, amount: int) -> SmallCosts:
    """Return the case with an amount sent from vertex 0 to the last one."""
    supply = list(case.supply)
    supply[0] += amount
    supply[-1] -= amount
    return case._replace(supply=supply)


@settings(max_examples=150, deadline=None)
@given(small_costs(), st.booleans())
def test_no_flow_is_larger_or_cheaper(case: SmallCosts, plain: bool) -> None:
    if case.num_vertices < 2:
        return
    if plain:
        zero = [0] * case.num_vertices
        case = case._replace(lower=[0] * len(case.lower), supply=zero)
    sink = case.num_vertices - 1
    try:
        result = preflow.max_flow_min_cost(case.network(), 0, sink)
    except UnboundedFlowError:
        assert cheapest(with_amount(case, 10_000)) != "infeasible"
        return
    except InfeasibleFlowError:
        assert all(cheapest(with_amount(case, amount)) == "infeasible" for amount in range(0, 40))
        return
    except UnboundedCostError as error:
        check_cycle(case, error)
        return
    result.verify()
    sent = int(result.supply[0]) - case.supply[0]
    assert cheapest(with_amount(case, sent)) == result.cost
    assert cheapest(with_amount(case, sent + 1)) == "infeasible"
    if plain:
        assert result.amount == sent


def test_undirected_arcs_and_lower_bounds() -> None:
    network = preflow.CostNetwork.from_arrays(
        [0, 0, 1, 2],
        [1, 2, 2, 3],
        capacity=[4, 1, 5, 6],
        cost=[1, 1, 1, 1],
        lower=[0, 1, 0, 2],
        undirected=[False, False, True, False],
    )
    result = preflow.max_flow_min_cost(network, 0, 3)
    result.verify()
    assert (result.amount, result.cost) == (5, 14)
    assert "amount" in result.stats.seconds


@pytest.mark.parametrize("seed", range(10))
def test_floats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(0, 6, (2, 15))
    lower = np.where(np.arange(15) < 3, 0.01, 0.0) if seed % 2 else None
    network = preflow.CostNetwork.from_arrays(
        tail, head, capacity=0.02 + rng.random(15), cost=rng.random(15), lower=lower, num_vertices=6
    )
    try:
        result = preflow.max_flow_min_cost(network, 0, 5)
    except InfeasibleFlowError:
        return
    result.verify()
    if lower is None:
        assert result.amount == pytest.approx(preflow.max_flow((tail, head, network.capacity), 0, 5).value)


@pytest.mark.parametrize("unit", [5e-324, 2.0**-1050, 2.0**-1030, 2.0**-1000])
@pytest.mark.parametrize("share", [1, 0.1])
def test_costs_below_the_smallest_normal_float(unit: float, share: float) -> None:
    """They are multiples of a power of two, so that integers have the same cheapest flows."""
    rng = np.random.default_rng(6)
    for _ in range(25):
        n, m = 7, 18
        tail, head = rng.integers(0, n, (2, m))
        capacity, cost = rng.integers(0, 6, m), rng.integers(0, 30, m)
        ends = [0, 1], [5, 6]
        whole = preflow.CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, num_vertices=n)
        network = replace(whole, capacity=capacity * share, cost=cost * unit)
        result, right = (preflow.max_flow_min_cost(each, *ends) for each in (network, whole))
        result.verify()
        assert result.amount == pytest.approx(right.amount * share, rel=1e-12)
        assert abs(result.cost - right.cost * share * unit) <= 1e-12 * result.cost + 5e-324


def test_labels_and_arguments() -> None:
    frame = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "capacity": [2, 3], "cost": 1})
    table = preflow.CostNetwork.from_pandas(frame)
    assert preflow.max_flow_min_cost(table, "a", "c").amount == 2
    assert preflow.max_flow_min_cost(table, "a", "c", method="ssp", threads=1).cost == 4
    with pytest.raises(InvalidInputError, match="'a' is both source and sink"):
        preflow.max_flow_min_cost(table, "a", "a")
    with pytest.raises(InvalidInputError, match="time_limit"):
        preflow.max_flow_min_cost(table, "a", "c", time_limit=-1)


@pytest.mark.parametrize(("with_lower", "stopped"), [(False, 1), (True, 1), (True, 2)])
def test_a_time_limit_leaves_a_flow(with_lower: bool, stopped: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The n-th maximum flow of the call stops early."""
    rng = np.random.default_rng(1)
    n, m = 10, 60
    tail, head = rng.integers(0, n, (2, m))
    lower = np.zeros(m, dtype=np.int64)
    if with_lower:
        lower[:8] = 1
    network = preflow.CostNetwork.from_arrays(
        tail, head, capacity=rng.integers(2, 99, m), cost=rng.integers(-3, 9, m), lower=lower, num_vertices=n
    )
    best = preflow.max_flow_min_cost(network, 0, n - 1)
    calls: list[preflow.MaxFlowResult] = []

    def stopping(*arguments: Any, **options: Any) -> preflow.MaxFlowResult:
        calls.append(preflow.max_flow(*arguments, **options))
        if len(calls) < stopped:
            return calls[-1]
        return replace(calls[-1], status="time-limit", upper_bound=calls[-1].value + 5)

    monkeypatch.setattr(most_for_least, "max_flow", stopping)
    result = preflow.max_flow_min_cost(network, 0, n - 1, time_limit=10)
    assert len(calls) == stopped
    assert result.status == "time-limit"
    assert math.isinf(result.upper_bound)
    result.verify()
    assert result.lower_bound <= best.cost
    assert result.amount <= best.amount


@settings(max_examples=100, deadline=None)
@given(small_costs(), st.integers(1, 3), st.integers(1, 3))
def test_several_sources_and_sinks(case: SmallCosts, sources: int, sinks: int) -> None:
    """The same as with one more vertex at each end, whose arcs can carry everything."""
    n = case.num_vertices
    if n < sources + sinks:
        return
    network = case.network()
    ends = list(range(sources)), list(range(n - sinks, n))
    merged = preflow.CostNetwork(
        n + 2,
        np.concatenate([network.tail, [n] * sources, ends[1]]),
        np.concatenate([network.head, ends[0], [n + 1] * sinks]),
        capacity=np.append(network.capacity, np.full(sources + sinks, 10_000)),
        cost=np.append(network.cost, np.zeros(sources + sinks, dtype=np.int64)),
        lower=None if network.lower is None else np.append(network.lower, [0] * (sources + sinks)),
        supply=None if network.supply is None else np.append(network.supply, [0, 0]),
        undirected=None
        if network.undirected is None
        else np.append(network.undirected, [False] * (sources + sinks)),
    )
    try:
        result = preflow.max_flow_min_cost(network, *ends)
    except (UnboundedFlowError, InfeasibleFlowError, UnboundedCostError) as error:
        if not isinstance(error, UnboundedFlowError):
            with pytest.raises(type(error)):
                preflow.max_flow_min_cost(merged, n, n + 1)
        return
    result.verify()
    expected = preflow.max_flow_min_cost(merged, n, n + 1)
    expected.verify()
    assert (result.amount, result.cost) == (expected.amount, expected.cost)


def diamond() -> preflow.MaxFlowMinCostResult:
    network = preflow.CostNetwork.from_arrays(
        [0, 1, 2, 2], [2, 2, 3, 4], capacity=[3, 3, 4, 1], cost=[1, 2, 1, 1]
    )
    return preflow.max_flow_min_cost(network, [0, 1], [3, 4])


def test_the_cut_and_the_shares_are_proved() -> None:
    result = diamond()
    result.verify()
    assert (result.amount, result.cost, result.amount_gap) == (5, 12, 0)
    assert result.sink_side is not None
    assert result.sink_side.tolist() == [False, False, False, True, True]
    less = preflow.min_cost_flow(result.network, [2, 2, 0, -4, 0])
    smaller = replace(
        result, flow=less.flow, supply=less.supply, _amount=4, lower_bound=less.cost, upper_bound=less.cost
    )
    for wrong, message in (
        (smaller, "the cut allows an amount of 5, more than 4|other shares|prove"),
        (replace(result, sink_side=np.array([False, False, True, True, True])), "allows an amount of 6"),
        (replace(result, sink_side=np.array([True, False, False, True, True])), "sink_side has a source"),
        (replace(result, sink_side=None), "no cut proves"),
        (replace(result, _amount=6), "send or receive 5, not 6"),
        (replace(result, sources=np.array([0])), "send or receive"),
        (replace(result, sources=np.array([0, 3])), "both source and sink|negative|send or receive"),
    ):
        with pytest.raises(VerificationError, match=message):
            wrong.verify()


def test_shares_that_cost_more_are_refused() -> None:
    """A flow that is cheapest for the shares of its sources, which are not the best."""
    result = diamond()
    worse = preflow.min_cost_flow(result.network, [2, 3, 0, -4, -1])
    changed = replace(
        result,
        flow=worse.flow,
        potentials=worse.potentials,
        supply=worse.supply,
        lower_bound=worse.cost,
        upper_bound=worse.cost,
    )
    with pytest.raises(VerificationError, match="other shares"):
        changed.verify()


def test_an_empty_end() -> None:
    with pytest.raises(InvalidInputError, match="sink is empty"):
        preflow.max_flow_min_cost(diamond().network, 0, [])


@pytest.mark.parametrize("own", [2**63 - 1, 2**63 - 5])
def test_shares_that_sum_past_int64_with_the_supply_of_a_terminal(own: int) -> None:
    arcs = {"capacity": [9, own], "cost": 0, "supply": [0, 0, -own, own]}
    network = preflow.CostNetwork.from_arrays([3, 3], [1, 2], **arcs)
    with pytest.raises(CapacityOverflowError, match="past int64"):
        preflow.max_flow_min_cost(network, [0, 3], [1])
