"""One huge or tiny float among small ones: the answers are those of exact numbers."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import preflow
from preflow.certify.exact import as_integers, rounded_dots
from preflow.errors import InfeasibleFlowError, VerificationError
from preflow.mincost.api import MinCostCall
from preflow.mincost.exact_paths import ExactPaths
from tests.fuzz.costflows import exact_problem
from tests.fuzz.oracles import cheapest_flow
from tests.support.cuda_min_cost import use

METHODS = [
    pytest.param(method.name, marks=pytest.mark.alone if method.parallel else ())
    for method in preflow.methods("min_cost_flow")
    if method.device == "cpu"
]
HUGE = [1e7, 1e13, 1e18, 1e32, 1e200, 1e308, sys.float_info.max, 2.0**53 + 2, 5e-324, 1e-310]


def network_of(rng: np.random.Generator, huge: float, where: str) -> preflow.CostNetwork:
    """Return a small feasible network with one number in ten of one kind replaced by `huge`."""
    n, m = 6, 18
    tail, head = rng.integers(0, n, (2, m))
    numbers: dict[str, Any] = {
        "capacity": rng.integers(1, 40, m) / 10,
        "cost": rng.integers(-5, 40, m) / 10,
        "lower": np.zeros(m),
    }
    wild = rng.random(m) < 0.1
    if where == "cost":
        numbers["cost"] = np.where(wild, huge * rng.choice([1, 1, -1], m), numbers["cost"])
        numbers["capacity"] = np.rint(numbers["capacity"] * 3)
    elif where == "capacity":
        numbers["capacity"] = np.where(wild, huge, numbers["capacity"])
    flow = np.where(wild, 0, np.minimum(numbers["capacity"], 1) * rng.integers(0, 2, m))
    supply = np.bincount(tail, flow, n) - np.bincount(head, flow, n)
    undirected = (rng.random(m) < 0.1) & (numbers["cost"] >= 0)
    return preflow.CostNetwork.from_arrays(tail, head, supply=supply, undirected=undirected, **numbers)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("where", ["cost", "capacity", "supply"])
@pytest.mark.filterwarnings("error")
def test_answers_are_those_of_exact_numbers(method: str, where: str) -> None:
    rng = np.random.default_rng(7)
    for huge in HUGE:
        for _ in range(2):
            network = network_of(rng, huge, where)
            amounts, shift, arcs, supply = exact_problem(network)
            exact = cheapest_flow(network.num_vertices, arcs, supply)
            if exact.ending != "optimal":
                continue
            unit = Fraction(2) ** (amounts + shift)
            terms = sum(abs(arc[4] * f) for arc, f in zip(arcs, exact.flow, strict=True)) / unit
            if terms > sys.float_info.max:
                continue
            result = preflow.min_cost_flow(network, method=method)
            result.verify()
            assert abs(Fraction(result.cost) - exact.cost / unit) <= terms / 2**40 + Fraction(5e-323)
            assert result.gap <= float(terms) * 2.0**-39 + 1e-322


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("big", [1e13, 1e18, 1e100, sys.float_info.max])
def test_a_huge_cost_that_nothing_needs(method: str, big: float) -> None:
    arcs = [0, 0, 1, 2, 0], [1, 2, 3, 3, 3], [5] * 5, [0.3, 0.1, 0.2, 0.35, big]
    result = preflow.min_cost_flow(arcs, [8, 0, 0, -8], method=method)
    result.verify()
    assert result.cost == 3.75
    assert result.gap < 1e-11


def test_a_cost_below_zero_that_no_flow_reaches() -> None:
    arcs = [0, 0, 1, 2, 3, 4, 5], [1, 2, 3, 3, 4, 5, 4], [5] * 7, [0.3, 0.1, 0.2, 0.35, -1e18, 0.1, 0.2]
    result = preflow.min_cost_flow(arcs, [8, 0, 0, -8, 0, 0])
    result.verify()
    assert result.cost == 3.75


def test_nothing_to_send_costs_nothing() -> None:
    arcs = [0, 1, 2, 0], [1, 2, 0, 2], [1e18] * 4, [0.1, 0.2, -0.3, 1e18]
    result = preflow.min_cost_flow(arcs, [0, 0, 0])
    result.verify()
    assert (result.cost, result.gap, result.status) == (0, 0, "optimal")


def test_a_huge_flow_beside_a_small_one() -> None:
    """The supply of 0.25 has no room but on the dear arc, whatever flows around the cycle."""
    arcs = [1, 1, 1, 1], [0, 0, 1, 1], [1.75, 0.5, 1e16, 1.0], [2.5, 9e15, -2.5, 3.5]
    result = preflow.min_cost_flow(arcs, [-2.0, 2.0])
    result.verify()
    assert result.cost == pytest.approx(-2.5e16 + 0.25 * 9e15 + 1.75 * 2.5, rel=1e-12)
    assert result.flow[1] == 0.25


def test_infeasible_beside_a_huge_amount() -> None:
    with pytest.raises(InfeasibleFlowError):
        preflow.min_cost_flow(([0, 2], [1, 2], [0.25, 1e18], [1.0, -0.5]), [0.5, -0.5, 0.0])


def test_the_largest_cost_is_the_same_for_all_methods() -> None:
    for method in METHODS:
        name: Any = method.values[0]
        result = preflow.min_cost_flow(([0], [1], [5], [2**61 // 3]), [3, -3], method=name)
        result.verify()
        assert result.cost == 2**61 // 3 * 3


@pytest.mark.parametrize("power", [100, 150])
def test_sums_of_products_are_rounded_once(power: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        first, second = rng.standard_normal((2, 20)) * 10.0 ** rng.integers(-power, power, (2, 20))
        first[10:], second[10:15] = -first[:10], second[:5]
        (one, other), exponent = as_integers(first, second)
        expected = Fraction(int((one * other).sum())) / 4**exponent
        total, rest = rounded_dots((first, second))
        assert total == float(expected)
        assert abs(Fraction(total) + Fraction(rest) - expected) <= abs(expected) * Fraction(2) ** -100


class TestProof:
    def result(self) -> preflow.MinCostFlowResult:
        arcs = [0, 0, 1, 2], [1, 2, 3, 3], [5] * 4, [1.5, 0.1, 0.2, 0.35]
        return preflow.min_cost_flow(arcs, [8, 0, 0, -8])

    @pytest.mark.parametrize("shift", [1e18, -1e18])
    def test_shifted_potentials_prove_no_dearer_flow(self, shift: float) -> None:
        result = self.result()
        object.__setattr__(result, "potentials", result.potentials + shift)
        with pytest.raises(VerificationError, match="potentials prove"):
            result.verify()

    @pytest.mark.parametrize("gap", [-1.0, np.nan, 1e-3, np.inf])
    def test_gaps(self, gap: float) -> None:
        result = self.result()
        object.__setattr__(result, "_gap", gap)
        with pytest.raises(VerificationError, match="gap"):
            result.verify()


@pytest.mark.parametrize("n", [40, 120])
def test_floats_on_a_gpu(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs get the bits that fit; the CPU refines what they leave."""
    use(monkeypatch)
    check_floats_on_a_gpu(n, {"pushing": 20_000, "searching": 8_000})


@pytest.mark.gpu
@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_floats_on_a_real_gpu(n: int, device: Any) -> None:
    assert device is not None
    check_floats_on_a_gpu(n, None)


def check_floats_on_a_gpu(n: int, options: dict[str, Any] | None) -> None:
    rng = np.random.default_rng(n)
    tail = np.append(np.arange(n), rng.integers(0, n, 4 * n))
    head = np.append(np.roll(np.arange(n), 1), rng.integers(0, n, 4 * n))
    capacity = np.append(np.full(n, n), rng.integers(1, 9, 4 * n))
    supply = np.zeros(n, dtype=np.int64)
    supply[: n // 4] += 2
    supply[-(n // 4) :] -= 2
    network = preflow.CostNetwork.from_arrays(
        tail, head, capacity=capacity, cost=rng.random(5 * n), supply=supply
    )
    result = preflow.min_cost_flow(network, method="cuda-cost-scaling", options=options)
    result.verify()
    expected = preflow.min_cost_flow(network, device="cpu")
    assert result.status == "optimal"
    assert result.cost == pytest.approx(expected.cost, rel=1e-12)
    full = preflow.CostNetwork.from_arrays(tail, head, capacity=0, cost=rng.random(5 * n), supply=supply)
    with pytest.raises(InfeasibleFlowError):
        preflow.min_cost_flow(full, method="cuda-cost-scaling", options=options)


@pytest.mark.parametrize("wide", [20.0, 1e9])
def test_refinement_needs_no_exact_numbers(wide: float) -> None:
    rng = np.random.default_rng(7)
    n, m = 300, 1800
    tail = np.append(rng.integers(0, n, m), np.arange(n))
    head = np.append((tail[:m] + rng.integers(1, n, m)) % n, (np.arange(n) + 1) % n)
    cost, capacity = np.append(rng.random(m) * 10, np.full(n, 50.0)), np.append(rng.random(m) * 20, [1e5] * n)
    negative = np.flatnonzero(rng.random(m) < 0.2)
    cost[negative] *= -1
    capacity[negative] = wide
    amounts = rng.random(15) * 30
    supply = np.concatenate([amounts, np.zeros(n - 30), -rng.permutation(amounts)])
    with patch.object(ExactPaths, "solve", side_effect=AssertionError):
        result = preflow.min_cost_flow((tail, head, capacity, cost), supply)
    result.verify()
    assert result.status == "optimal"


@pytest.mark.parametrize("least", [0, -3])
def test_ordinary_floats_are_solved_once(least: int) -> None:
    """The proof of the flow, and of what rounding of amounts may cost, is precise enough."""
    rng = np.random.default_rng(5)
    n = 200
    for lowers in (0, 0.01) * 5:
        tail = np.append(rng.integers(0, n, 5 * n), np.arange(n))
        head = np.append(rng.integers(0, n, 5 * n), (np.arange(n) + 1) % n)
        capacity = np.append(10 * rng.random(5 * n), np.full(n, 2.0 * n))
        cost = np.append(least + 10 * rng.random(5 * n), np.full(n, 50.0))
        supply = rng.standard_normal(n) / 10
        supply -= supply.mean()
        network = preflow.CostNetwork.from_arrays(
            tail, head, capacity=capacity, cost=cost, lower=lowers * capacity * (rng.random(6 * n) < 0.2)
        )
        with patch.object(MinCostCall, "_refined", side_effect=AssertionError("refined")):
            result = preflow.min_cost_flow(network, supply)
        result.verify()
        assert result.gap <= 2.0**-40 * (abs(result.cost) + 1)


def test_potentials_are_prices_beside_a_cost_of_no_use() -> None:
    """Reduced costs are positive only on arcs without flow, and negative only on full ones."""
    rng = np.random.default_rng(11)
    for huge in (1e15, 1.3e55, 1e300, -1e18):
        for _ in range(5):
            n = 6
            tail, head = np.append(rng.integers(0, n, (2, 8)), [range(n - 1), range(1, n)], axis=1)
            capacity = np.where(rng.random(len(tail)) < 0.3, rng.integers(1, 4, len(tail)), np.inf)
            network = preflow.CostNetwork.from_arrays(
                np.append(tail, 0),
                np.append(head, n),
                capacity=np.append(capacity, np.inf),
                cost=np.append(rng.integers(1, 9, len(tail)) / 10, huge),
                supply=[3, *[0] * (n - 2), -3, 0],
            )
            try:
                result = preflow.min_cost_flow(network)
            except InfeasibleFlowError:
                continue
            result.verify()
            small = 1e-11 * result.cost
            assert (result.reduced_costs[result.flow > 0] <= small).all()
            assert (result.reduced_costs[result.flow < network.capacity] >= -small).all()


def test_whole_floats_that_sum_to_zero_past_their_precision() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        supply = rng.permutation([1.0, -1e9, 999999989.0, 0.0, -(2.0**53 - 4), -1.0, 2.0**53 - 4, 11.0])
        n = len(supply)
        arcs = np.arange(n), (np.arange(n) + 1) % n, np.full(n, np.inf), np.ones(n)
        result = preflow.min_cost_flow(arcs, supply)
        result.verify()
        assert sum(int(flow) for flow in result.flow) == result.cost


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("huge", [1e88, 1e300])
def test_answers_of_which_floats_lose_parts(method: str, huge: float) -> None:
    """Integers past 2**53, a loop that saves far less than another arc costs, flow both ways over an arc."""
    amount = 2**56 + 8
    arcs = [2, 0], [1, 3], [np.inf, np.inf], [0.0, -huge]
    result = preflow.min_cost_flow(arcs, [0, -amount, amount, 0], method=method)
    result.verify()
    assert result.flow.tolist() == [amount, 0]
    arcs = [1, 0, 2], [3, 0, 2], [1, 0, 1], [0.0, huge, -1e-300]
    result = preflow.min_cost_flow(arcs, [0, 1, 0, -1], method=method)
    result.verify()
    assert abs(result.cost + 1e-300) <= result.gap + 1e-312
    network = preflow.CostNetwork.from_arrays(
        [0, 0, 2], [1, 2, 1], capacity=[huge, 1.0, np.inf], cost=[0, 0, -0.5], undirected=[True, True, False]
    )
    result = preflow.min_cost_flow(network, [0.0, 0.0, 0.0], method=method)
    result.verify()
    assert (result.flow.tolist(), result.cost) == ([-1, 1, 1], -0.5)


@pytest.mark.parametrize("method", METHODS)
def test_a_supply_that_rounding_of_huge_capacities_would_hide(method: str) -> None:
    """Supplies need not sum to zero beside a capacity of 5.2e65, but no arc leads out of the vertex."""
    arcs = [3, 4], [4, 3], [5.2e65, 1], [-1, 0]
    with pytest.raises(InfeasibleFlowError) as caught:
        preflow.min_cost_flow(arcs, [1.0, 0, 0, 0, 0], method=method)
    assert caught.value.vertices == (0,)
    assert caught.value.excess == 1
