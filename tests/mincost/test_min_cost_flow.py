"""min_cost_flow: every method against a linear program, reference optima, all forms of input."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pandas
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.certify.exact import exact_dot
from preflow.certify.min_cost_flow import check_flow_of_network, dual_bound, flow_cost
from preflow.errors import (
    CapacityOverflowError,
    CostOverflowError,
    InfeasibleError,
    InfeasibleFlowError,
    InvalidInputError,
    NotOptimalError,
    UnboundedCostError,
    VerificationError,
)
from preflow.mincost import shortest_paths
from tests.fuzz.oracles import cheapest_flow
from tests.support.min_cost import SmallCosts, cheapest, check_against_oracle, small_costs

METHODS = [method for method in preflow.methods("min_cost_flow") if method.device == "cpu"]
NAMES = [method.name for method in METHODS]
DIAMOND = ([0, 0, 1, 1, 2], [1, 2, 2, 3, 3], [4, 2, 2, 3, 5], [1, 5, 1, 7, 2])


@pytest.mark.parametrize("method", NAMES)
@given(case=small_costs())
@settings(max_examples=150, deadline=None)
def test_small_networks(method: str, case: SmallCosts) -> None:
    check_against_oracle(case, method=method)


def solved_as_floats(case: SmallCosts, by_cost: float, by_amount: float) -> preflow.MinCostFlowResult:
    """Solve a case whose costs and amounts are multiplied, and prove the result."""
    network = preflow.CostNetwork.from_arrays(
        case.tail,
        case.head,
        capacity=np.array(case.capacity, dtype=float) * by_amount,
        cost=np.array(case.cost) * by_cost,
        lower=np.array(case.lower) * by_amount,
        supply=np.array(case.supply) * by_amount,
        num_vertices=case.num_vertices,
    )
    result = preflow.min_cost_flow(network)
    result.verify()
    return result


@given(case=small_costs(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_undirected_arcs(case: SmallCosts, seed: int) -> None:
    """An undirected arc is two opposite ones, of which an optimal flow uses one."""
    rng = np.random.default_rng(seed)
    m = len(case.tail)
    marks = rng.random(m) < 0.5
    cost, lower = np.where(marks, np.abs(case.cost), case.cost), np.where(marks, 0, case.lower)
    network = preflow.CostNetwork(
        *(case.num_vertices, np.array(case.tail, dtype=int), np.array(case.head, dtype=int)),
        capacity=np.array(case.capacity, dtype=float),
        cost=cost.astype(int),
        lower=lower.astype(int),
        supply=np.array(case.supply),
        undirected=marks,
    )
    extra = np.flatnonzero(marks)
    double = SmallCosts(
        case.num_vertices,
        [*case.tail, *(case.head[a] for a in extra)],
        [*case.head, *(case.tail[a] for a in extra)],
        [*case.capacity, *(case.capacity[a] for a in extra)],
        [int(c) for c in [*cost, *cost[extra]]],
        [*(int(c) for c in lower), *(0 for _ in extra)],
        case.supply,
    )
    expected = cheapest(double)
    if isinstance(expected, str):
        kind = InfeasibleError if expected == "infeasible" else UnboundedCostError
        with pytest.raises(kind):
            preflow.min_cost_flow(network)
        return
    result = preflow.min_cost_flow(network)
    result.verify()
    assert result.cost == expected


@given(case=small_costs(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_floats(case: SmallCosts, seed: int) -> None:
    """Costs and amounts that are no integers: within the stated gap of the same data scaled."""
    expected = cheapest(case)
    if isinstance(expected, str):
        return
    rng = np.random.default_rng(seed)
    by_cost, by_amount = rng.random(2) * [1e6, 1e-3] + 1e-4
    result = solved_as_floats(case, by_cost, by_amount)
    scale = 1 + sum(abs(c) * min(u, 30) for c, u in zip(case.cost, case.capacity, strict=True))
    assert abs(result.cost - expected * by_cost * by_amount) <= 1e-9 * scale * by_cost * by_amount
    assert 0 <= result.gap <= 1e-9 * scale * by_cost * by_amount


@given(case=small_costs(), by_cost=st.sampled_from([1, 1 / 16]), by_amount=st.sampled_from([1 / 8, 2.0**-30]))
@settings(max_examples=60, deadline=None)
def test_multiples_of_a_power_of_two_are_exact(case: SmallCosts, by_cost: float, by_amount: float) -> None:
    expected = cheapest(case)
    if isinstance(expected, str):
        return
    result = solved_as_floats(case, by_cost, by_amount)
    assert result.cost == expected * by_cost * by_amount
    assert result.gap == 0


def test_a_cost_that_float64_rounds_has_a_gap() -> None:
    """The amounts and the costs are exact, but not their product."""
    amounts, cost = np.array([2.0**45 + 2.0**-6, 0.5]), 1 + 2.0**-20
    network = [0, 0], [1, 2], amounts, [cost, 1.0]
    result = preflow.min_cost_flow(network, [amounts.sum(), -amounts[0], -amounts[1]])
    result.verify()
    exact = Fraction(cost) * Fraction(amounts[0]) + Fraction(1, 2)
    assert Fraction(result.cost) != exact
    assert abs(Fraction(result.cost) - exact) <= Fraction(result.gap) < Fraction(1, 100)


def test_amount() -> None:
    network = preflow.CostNetwork.from_arrays([0, 1], [1, 2], cost=1)
    assert preflow.min_cost_flow(network, [2, 3, -5]).amount == 5
    assert preflow.min_cost_flow(network, [0.5, 0, -0.5]).amount == 0.5
    assert preflow.min_cost_flow(network).amount == 0


class TestInput:
    def test_forms(self) -> None:
        tail, head, capacity, cost = DIAMOND
        supply = [5, 0, 0, -5]
        graph = nx.DiGraph()
        graph.add_nodes_from((v, {"demand": -amount}) for v, amount in enumerate(supply))
        for u, v, c, w in zip(*DIAMOND, strict=True):
            graph.add_edge(u, v, capacity=c, weight=w)
        frame = pd.DataFrame({"source": tail, "target": head, "capacity": capacity, "cost": cost})
        costs, limits = (sp.csr_array((v, (tail, head)), shape=(4, 4)) for v in (cost, capacity))
        expected = nx.min_cost_flow_cost(graph)
        networks: list[Any] = [
            preflow.CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, supply=supply),
            preflow.CostNetwork.from_scipy(costs, capacity=limits, supply=supply),
            preflow.CostNetwork.from_pandas(frame, supply={0: 5, 3: -5}),
            graph,
        ]
        for network in networks:
            assert preflow.min_cost_flow(network).cost == expected
        for given_supply in (supply, np.array(supply, dtype=float), {0: 5, 3: -5}):
            assert preflow.min_cost_flow(DIAMOND, given_supply).cost == expected
        assert preflow.min_cost_flow(DIAMOND, source=0, sink=3, amount=5).cost == expected
        assert preflow.min_cost_flow(networks[0], source=3, sink=0, amount=5).cost == 0

    def test_labels(self) -> None:
        graph = nx.MultiDiGraph()
        graph.add_node("a", demand=-3)
        graph.add_node("b", demand=3)
        graph.add_edge("a", "b", weight=2, capacity=2)
        graph.add_edge("a", "b", weight=5)
        result = preflow.min_cost_flow(graph)
        assert result.flow.tolist() == [2, 1]
        assert result.flow_dict() == {"a": {"b": 3}, "b": {}}
        assert result.reduced_costs.tolist() == [-3, 0]

    def test_undirected_graph(self) -> None:
        graph = nx.Graph()
        graph.add_edge("a", "b", weight=2, capacity=2)
        result = preflow.min_cost_flow(graph, {"b": 1, "a": -1})
        assert result.cost == 2
        assert result.flow_dict() == {"a": {"b": 0}, "b": {"a": 1}}

    def test_nothing(self) -> None:
        for network in (([], [], [], []), preflow.CostNetwork.from_arrays([], [], num_vertices=3)):
            result = preflow.min_cost_flow(network)
            assert result.cost == 0
            result.verify()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"cost": [1, np.nan]}, "cost is NaN at 1"),
            ({"cost": [1, np.inf]}, "cost has values that are not finite: inf at 1"),
            ({"cost": [1]}, r"cost has shape \(1,\)"),
            ({"capacity": [-1, 2]}, "capacity is negative"),
            ({"capacity": 2, "lower": [0, 3]}, "the lower bound 3 is above the capacity 2 at 1"),
            ({"supply": [1, 2]}, r"supply has shape \(2,\)|vertex 2 is out of range"),
            ({"undirected": [True, False], "cost": [-1, 0]}, "undirected arcs have no negative cost.* at 0"),
            ({"undirected": [1, 0]}, "undirected must be a bool"),
        ],
    )
    def test_bad_networks(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            preflow.CostNetwork.from_arrays([0, 1], [1, 2], **arguments)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"supply": [1, 0, 0, 0]}, "the supplies sum to 1, not to zero"),
            ({"supply": 3}, "supply must have one entry for each of 4 vertices"),
            ({"supply": {9: 1}}, "vertex 9 is out of range"),
            ({"source": 0, "sink": 3}, "source and sink given: source, sink and amount go together"),
            ({"source": 0, "sink": 3, "amount": -1}, "amount must be at least 0"),
            ({"source": 0, "sink": 3, "amount": "5"}, "amount must be a number"),
            ({"source": 0, "sink": 7, "amount": 1}, "vertex 7 is out of range"),
            ({"method": "simplex"}, "unknown method 'simplex'"),
        ],
    )
    def test_bad_calls(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            preflow.min_cost_flow(DIAMOND, **arguments)
        with pytest.raises(InvalidInputError, match="a network with costs is"):
            preflow.min_cost_flow(object())

    @pytest.mark.parametrize("method", NAMES)
    def test_largest_costs(self, method: str) -> None:
        for n in (2, 3, 6):
            most = (2**61 - 1) // (n + 1)
            path = range(n - 1), range(1, n), [3] * (n - 1)
            supply = [2, *[0] * (n - 2), -2]
            for sign in (1, -1):
                result = preflow.min_cost_flow((*path, [sign * most] * (n - 1)), supply, method=method)
                assert result.cost == 2 * sign * most * (n - 1)
                result.verify()
                with pytest.raises(CostOverflowError, match=f"is {most + 1:,} in size.* at most {most:,}"):
                    preflow.min_cost_flow((*path, [sign * (most + 1)] * (n - 1)), supply, method=method)

    @pytest.mark.parametrize("method", NAMES)
    def test_sums_past_int64(self, method: str) -> None:
        random, kinds = Random(3), set()
        for _ in range(25):
            n, m = random.randint(2, 5), random.randint(2, 12)
            large = [2**61, 2**62, 2**63 - 1, 2**62 + 12345, 2**60 + 1, 7]
            tail, head = ([random.randrange(n) for _ in range(m)] for _ in range(2))
            lower = [random.choice([0, 0, 0, -(2**61), 3]) for _ in range(m)]
            capacity, cost = ([random.choice(of) for _ in range(m)] for of in (large, [-3, -1, 0, 1, 2, 5]))
            supply = [random.choice([0, 5, 2**61, 2**62]) for _ in range(n - 1)]
            if sum(supply) >= 2**63:
                continue
            supply.append(-sum(supply))
            network = preflow.CostNetwork.from_arrays(
                tail, head, capacity=capacity, cost=cost, lower=lower, supply=supply, num_vertices=n
            )
            exact = cheapest_flow(n, list(zip(tail, head, lower, capacity, cost, strict=True)), supply)
            kinds.add(exact.ending)
            if exact.ending == "infeasible":
                with pytest.raises(InfeasibleFlowError):
                    preflow.min_cost_flow(network, method=method)
                continue
            result = preflow.min_cost_flow(network, method=method)
            result.verify()
            assert (result.status, result.cost, result.gap) == ("optimal", exact.cost, 0)
            assert result.flow.dtype == result.potentials.dtype == np.int64
        assert kinds == {"optimal", "infeasible"}

    def test_a_flow_past_int64(self) -> None:
        arcs = [0, 1, 2], [2, 2, 3], [np.inf] * 3, [1] * 3
        result = preflow.min_cost_flow(arcs, [2**62, 2**62 - 1, 0, 1 - 2**63])
        result.verify()
        assert result.flow.tolist() == [2**62, 2**62 - 1, 2**63 - 1]
        more = [0, 1, 2, 3], [2, 2, 3, 4], [np.inf] * 4, [1] * 4
        with pytest.raises(CapacityOverflowError, match="past int64"):
            preflow.min_cost_flow(more, [2**62, 2**62, 0, 1 - 2**63, -1])

    @pytest.mark.parametrize("method", NAMES)
    def test_numbers_near_the_limits(self, method: str) -> None:
        huge = 2**62
        with pytest.raises(CostOverflowError):
            preflow.min_cost_flow(([0, 1], [1, 2], [1, 1], [huge, huge]), [1, 0, -1], method=method)
        # A large capacity that no optimal flow uses does no harm.
        result = preflow.min_cost_flow(([0], [1], [huge], [2**50]), [2**30, -(2**30)], method=method)
        assert result.cost == 2**80
        result.verify()


class TestErrors:
    def test_nodes_with_another_name_for_demand(self) -> None:
        graph = nx.DiGraph()
        graph.add_node("a", supply=3)
        graph.add_node("b", supply=-3)
        graph.add_edge("a", "b", weight=2, capacity=5)
        with pytest.raises(InvalidInputError, match="no node has the attribute 'demand'"):
            preflow.min_cost_flow(graph)
        assert preflow.min_cost_flow(graph, {"a": 3, "b": -3}).cost == 6
        table = pandas.DataFrame({"amount": [3, -3]}, index=["a", "b"])
        assert preflow.min_cost_flow(graph, table).cost == 6

    def test_labels_that_look_alike(self) -> None:
        with pytest.raises(InvalidInputError, match="vertex 1 is not in the graph: its label is '1'"):
            preflow.min_cost_flow([("1", "2", 4, 7)], {1: 3, 2: -3})

    def test_infeasible(self) -> None:
        graph = nx.DiGraph()
        graph.add_edge("a", "b", capacity=2, weight=1)
        graph.add_edge("b", "c", capacity=5, weight=1)
        with pytest.raises(
            InfeasibleError, match=r"vertex .* supplies 2 more than the arcs out of it"
        ) as caught:
            preflow.min_cost_flow(graph, {"a": 4, "c": -4})
        assert caught.value.vertices == ("a",)  # type: ignore[attr-defined]

    def test_unbounded(self) -> None:
        with pytest.raises(UnboundedCostError) as caught:
            preflow.min_cost_flow(([0, 1, 2, 1], [1, 2, 1, 0], np.inf, [0, 3, -5, 9]))
        assert sorted(caught.value.arcs) == [1, 2]
        assert caught.value.cost == -2
        assert sorted(caught.value.ends) == [(1, 2), (2, 1)]
        with pytest.raises(
            UnboundedCostError, match=r"form a cycle of cost -3: (0 \(a to b\)|1 \(b to a\)), "
        ):
            preflow.min_cost_flow([("a", "b", np.inf, -5), ("b", "a", np.inf, 2)])
        with pytest.raises(
            UnboundedCostError, match=r"an arc of infinite capacity is a cycle of cost -1: 0 \("
        ):
            preflow.min_cost_flow(([0], [0], np.inf, -1))

    def test_infeasible_and_unbounded(self) -> None:
        network = preflow.CostNetwork.from_arrays([0], [0], cost=-1, supply=[1, -1])
        with pytest.raises(InfeasibleError):
            preflow.min_cost_flow(network)


class TestProof:
    def result(self) -> preflow.MinCostFlowResult:
        return preflow.min_cost_flow(DIAMOND, [5, 0, 0, -5])

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("flow", [4, 1, 2, 3, 3], "not conserved at vertex 1"),
            ("flow", [5, 0, 2, 3, 2], r"arc 0 \(0 -> 1\) carries 5, more than its capacity"),
            ("flow", [-1, 0, 0, 0, 0], "less than its lower bound"),
            ("potentials", [0, 0, 0, 0], "the potentials prove"),
            ("potentials", [0, 2**62, 0, 0], "too large for int64"),
            ("lower_bound", 1, "the bounds 1 and"),
            ("status", "fine", "status must be one of"),
        ],
    )
    def test_a_wrong_field(self, field: str, value: Any, message: str) -> None:
        result = self.result()
        result.verify()
        object.__setattr__(result, field, np.array(value) if isinstance(value, list) else value)
        with pytest.raises(VerificationError, match=message):
            result.verify()

    def test_a_dearer_flow(self) -> None:
        result = self.result()
        object.__setattr__(result, "flow", np.array([3, 2, 0, 3, 2]))
        dear = flow_cost(result.network, result.flow)
        assert dear > result.cost
        for name in ("lower_bound", "upper_bound"):
            object.__setattr__(result, name, dear)
        with pytest.raises(VerificationError, match="the potentials prove"):
            result.verify()

    def test_no_potentials_prove_more_than_the_optimum(self) -> None:
        result = self.result()
        rng = np.random.default_rng(0)
        for _ in range(200):
            prices = rng.integers(-20, 20, 4)
            assert dual_bound(result.network, result.supply, prices) <= result.cost

    def test_sums_that_int64_cannot_hold(self) -> None:
        rng = np.random.default_rng(1)
        first, second = rng.integers(-(2**62), 2**62, (2, 1000))
        assert exact_dot(first, second) == sum(
            a * b for a, b in zip(first.tolist(), second.tolist(), strict=True)
        )

    def test_balances_that_int64_cannot_hold(self) -> None:
        big = 2**62
        network = preflow.CostNetwork.from_arrays([0] * 8, [1] * 8, capacity=big, supply=[0, 0])
        with pytest.raises(VerificationError, match=f"not conserved at vertex 0: it differs by {-8 * big}"):
            check_flow_of_network(network, np.zeros(2, dtype=np.int64), np.full(8, big))
        with pytest.raises(VerificationError, match=r"it differs by -1$"):
            check_flow_of_network(network, np.zeros(2, dtype=np.int64), np.array([1] + [0] * 7))


@pytest.mark.parametrize("method", NAMES)
def test_a_stopped_solve(method: str) -> None:
    rng = np.random.default_rng(5)
    tail, head = rng.integers(0, 2000, (2, 20000))
    capacity, cost = rng.integers(0, 50, 20000), rng.integers(-100, 1000, 20000)
    half = capacity // 2
    supply = np.bincount(tail, half, 2000) - np.bincount(head, half, 2000)
    preflow.min_cost_flow(([0], [1], [1], [1]), [1, -1], method=method)
    result = preflow.min_cost_flow((tail, head, capacity, cost), supply, method=method, time_limit=1e-4)
    result.verify()
    if result.status == "time-limit":
        assert result.lower_bound <= result.upper_bound <= math.inf
        with pytest.raises(NotOptimalError):
            _ = result.cost


@pytest.mark.parametrize("direct", [3, 2])
def test_a_stop_between_phases_is_no_answer(direct: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first phase finds no path, of an instance that has a flow or not."""
    send = shortest_paths.send_along_paths

    def send_and_stop(*arguments: Any) -> Any:
        ending = send(*arguments)
        arguments[-1].stop[0] = 1
        return ending

    monkeypatch.setattr(shortest_paths, "send_along_paths", send_and_stop)
    arcs = [0, 1, 0], [1, 2, 2], [7, 3, direct], [5, 6, 20]
    result = preflow.min_cost_flow(arcs, [6, 0, -6], method="serial-capacity-scaling", time_limit=1000)
    assert result.status == "time-limit"
    assert result.lower_bound <= 93
    assert result.upper_bound == math.inf
    result.verify()


@pytest.mark.parametrize("method", [m.name for m in preflow.methods("min_cost_flow") if m.device == "cpu"])
def test_many_endless_arcs_at_a_vertex(method: str) -> None:
    """Float amounts get fewer bits, so that the capacities at the vertex still fit int64."""
    rng = np.random.default_rng(4)
    degree = 3000
    supply, cost = np.append(rng.random(degree), 0), rng.random(degree)
    supply[-1] = -supply.sum()
    network = preflow.CostNetwork.from_arrays(
        np.arange(degree), np.full(degree, degree), cost=cost, supply=supply
    )
    result = preflow.min_cost_flow(network, method=method)
    result.verify()
    assert result.cost == pytest.approx(float(supply[:-1] @ cost), rel=1e-12)


@pytest.mark.parametrize("method", NAMES)
def test_capacities_of_32_bits_and_supplies_past_them(method: str) -> None:
    arcs = [0] * 4, [1] * 4, [2.0**30] * 4, [1, 2, 3, 4]
    result = preflow.min_cost_flow(arcs, [2**32, -(2**32)], method=method)
    result.verify()
    assert result.cost == 10 * 2**30


@pytest.mark.parametrize("costs", [(-1.7e308, -1.1e308), (-1.7e308, 1.1e308), (-3e300, 1e-300)])
def test_cycles_whose_costs_sum_past_float64(costs: tuple[float, float]) -> None:
    network = preflow.CostNetwork.from_arrays([0, 1], [1, 0], cost=costs, num_vertices=4)
    with pytest.raises(UnboundedCostError) as caught:
        preflow.min_cost_flow(network)
    total = sum(map(Fraction, costs))
    assert caught.value.cost == (-np.inf if total < -Fraction(np.finfo(float).max) else float(total))
