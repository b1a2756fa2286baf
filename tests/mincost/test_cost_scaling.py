"""Cost scaling: what only these methods promise."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.errors import InvalidInputError
from preflow.graph.standard_form import StandardForm, standardise
from preflow.mincost import multicore_cost_scaling, serial_cost_scaling, serial_shortest_path
from preflow.mincost.cost_scaling import CostScaling, CostScalingOptions
from preflow.mincost.cost_scaling.arc_fixing import fix_arcs, release_arcs
from preflow.mincost.price_refinement import CYCLE, REFINED, new_refinement, refine_prices
from preflow.mincost.price_update import new_ranks
from preflow.mincost.residual import (
    COST,
    FIELDS,
    LEFT,
    MATE,
    Residual,
    build_residual,
    flow_from,
    flow_in_place,
    swap_arcs,
)
from preflow.mincost.serial_shortest_path import NoOptions
from preflow.mincost.solution import FlowState
from preflow.parallel.delays import make_delays
from preflow.solving.monitor import Monitor
from preflow.solving.run import Control
from tests.support.min_cost import SmallCosts, small_costs
from tests.support.paths import SHARED

DIMACS = SHARED / "dimacs"
OPTIMA: dict[str, Any] = json.loads((DIMACS / "optima.json").read_text()) if DIMACS.exists() else {}
FILES = [name for name in OPTIMA if name.endswith((".min.gz", ".asn.gz"))]


def form_of(case: SmallCosts) -> StandardForm:
    network = case.network()
    return standardise(network, np.array(case.supply)).form


def check_lists(net: Residual) -> None:
    """Assert that the places, mates and tails of all arcs agree."""
    arcs = net.arcs.astype(np.int64)
    for u in range(len(net.live)):
        for arc in range(int(net.first[u]), int(net.first[u + 1]), int(FIELDS)):
            mate = int(arcs[arc + int(MATE)])
            assert arcs[mate] == u
            assert arcs[mate + int(MATE)] == arc
            assert arcs[mate + int(COST)] == -arcs[arc + int(COST)]
            v = int(arcs[arc])
            assert (arc < net.live[u]) == (mate < net.live[v])


def lengths(net: Residual, potential: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """Return the length of each residual arc, and 0 for arcs that are full."""
    arcs = net.arcs.astype(np.int64).reshape(-1, 4)
    tail = arcs[arcs[:, 1] // 4, 0]
    length = (arcs[:, 2] << shift) + potential[tail] - potential[arcs[:, 0]]
    return np.where(arcs[:, int(LEFT)] > 0, length, 0)


@given(case=small_costs(endless=False), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_lists_of_arcs(case: SmallCosts, seed: int) -> None:
    """Exchanges within lists keep arcs and mates together."""
    rng = np.random.default_rng(seed)
    form = form_of(case)
    flow = rng.integers(0, form.capacity + 1)
    net = build_residual(form, flow)
    check_lists(net)
    before = lengths(net, np.zeros(len(form.supply), dtype=np.int64), 0)
    for _ in range(20):
        u = rng.integers(len(form.supply))
        places = np.arange(net.first[u], net.first[u + 1], 4, dtype=np.uint64)
        if len(places):
            swap_arcs(net, rng.choice(places), rng.choice(places))
            check_lists(net)
    best = np.where(form.cost < 0, form.capacity, 0)
    assert sorted(before) == sorted(lengths(net, np.zeros(len(form.supply), dtype=np.int64), 0))
    found = flow_from(flow_in_place(net, 1), form, 1)
    assert (found == np.where(form.tail == form.head, best, flow)).all()


@given(case=small_costs(endless=False), alpha=st.sampled_from([1.5, 2, 4, 10, 16]), fixing=st.booleans())
@settings(max_examples=150, deadline=None)
def test_epsilon_optimality(case: SmallCosts, alpha: float, fixing: bool) -> None:
    """After each refine no residual arc has a length below minus epsilon, and all excess is gone."""
    form = form_of(case)
    run = CostScaling(form, None, CostScalingOptions(alpha=alpha), Control())
    for level in range(run.violation.bit_length(), -1, -1):
        if not run.refine(level):
            return
        check_lists(run.net)
        assert lengths(run.net, run.work.potential, int(run.shift)).min(initial=0) >= -(1 << level)
        assert not run.work.excess.any()
        if fixing:
            # So small a bound makes wrong guesses, which the next refine must find.
            fix_arcs(run.net, run.work, run.shift, np.int64(2 << level))
            check_lists(run.net)
            release_arcs(run.net, run.work, run.shift)
            check_lists(run.net)
    state = run.proved(np.uint64(1000))
    assert state is not None
    assert (np.dot(state.flow, form.cost)) == cheapest_cost(form)


def cheapest_cost(form: StandardForm) -> int:
    state = serial_shortest_path.solve(form, None, NoOptions(), Control())
    return int(np.dot(state.flow, form.cost))


@given(case=small_costs(endless=False), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_any_start(case: SmallCosts, seed: int) -> None:
    """Any flow and any potentials may be the start."""
    rng = np.random.default_rng(seed)
    form = form_of(case)
    start = FlowState(rng.integers(0, form.capacity + 1), rng.integers(-40, 40, len(form.supply)), "stopped")
    state = serial_cost_scaling.solve(form, start, CostScalingOptions(), Control())
    cold = serial_shortest_path.solve(form, None, NoOptions(), Control())
    assert state.ending == cold.ending
    if state.ending == "optimal":
        assert np.dot(state.flow, form.cost) == np.dot(cold.flow, form.cost)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("delayed", [False, pytest.param(True, marks=pytest.mark.jit)])
def test_many_threads(threads: int, delayed: bool) -> None:
    """Any number of threads, with and without random delays, finds what shortest paths find."""
    rng = np.random.default_rng(threads)
    endings = []
    for trial in range(40):
        n, m = int(rng.integers(2, 60)), int(rng.integers(1, 400))
        tail, head = rng.integers(0, n, (2, m)).astype(np.uint32)
        capacity, cost = rng.integers(0, 9, m), rng.integers(-20, 90, m)
        half = rng.integers(0, capacity + 1)
        supply = np.bincount(tail, half, n) - np.bincount(head, half, n)
        supply = supply.astype(np.int64)
        if trial % 5 == 0:
            supply[0] += 30
            supply[1] -= 30
        form = StandardForm(tail, head, capacity, cost, supply)
        control = Control(threads=threads, delays=make_delays(threads, trial) if delayed else None)
        state = multicore_cost_scaling.solve(form, None, CostScalingOptions(), control)
        other = serial_shortest_path.solve(form, None, NoOptions(), Control())
        assert state.ending == other.ending
        endings.append(state.ending)
        if state.ending == "optimal":
            assert np.dot(state.flow, cost) == np.dot(other.flow, cost)
            length = cost + state.potential[tail] - state.potential[head]
            assert not (state.flow[length > 0] > 0).any()
            assert (state.flow[length < 0] == capacity[length < 0]).all()
    assert {"optimal", "infeasible"} == set(endings)


@given(case=small_costs(endless=False), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_price_refinement(case: SmallCosts, seed: int) -> None:
    """It finds potentials if and only if no cycle of residual arcs has negative length."""
    rng = np.random.default_rng(seed)
    form = form_of(case)
    n = len(form.supply)
    net = build_residual(form, rng.integers(0, form.capacity + 1))
    potential = rng.integers(-20, 20, n)
    stop, counts = np.zeros(1, dtype=np.int64), np.zeros(16, dtype=np.uint64)
    epsilon = np.int64(rng.integers(0, 3))
    ending = refine_prices(
        net,
        potential,
        new_refinement(
            new_ranks(n),
            np.zeros(n, dtype=np.uint64),
            np.zeros(n, dtype=np.uint32),
            np.ones(n, dtype=np.uint8),
        ),
        np.int64(0),
        epsilon,
        np.uint64(10**9),
        Monitor(stop, counts, np.zeros(2)),
    )
    assert ending in (REFINED, CYCLE)
    assert (ending == CYCLE) == has_negative_cycle(net, n, int(epsilon))
    if ending == REFINED:
        assert lengths(net, potential, 0).min(initial=0) >= -epsilon


def has_negative_cycle(net: Residual, n: int, epsilon: int) -> bool:
    arcs = net.arcs.astype(np.int64).reshape(-1, 4)
    tail, head, left = arcs[arcs[:, 1] // 4, 0], arcs[:, 0], arcs[:, 3] > 0
    distance = np.zeros(n, dtype=np.int64)
    for _ in range(n):
        before = distance.copy()
        np.minimum.at(distance, head[left], (distance[tail] + arcs[:, 2] + epsilon)[left])
        if (before == distance).all():
            return False
    return True


def test_costs_that_leave_no_room() -> None:
    """Costs so large that they cannot be scaled by n: shortest paths finish the flow where needed."""
    rng = np.random.default_rng(8)
    for trial in range(60):
        n, m = 9, 40
        tail, head = rng.integers(0, n, (2, m)).astype(np.uint32)
        cost = rng.integers(-3, 4, m) + (2**57 if trial % 2 else 2**50) * rng.integers(-1, 2, m)
        form = StandardForm(tail, head, rng.integers(0, 9, m), cost, np.zeros(n, dtype=np.int64))
        assert int(CostScaling(form, None, CostScalingOptions(), Control()).shift) < (5 if trial % 2 else 9)
        state = serial_cost_scaling.solve(form, None, CostScalingOptions(), Control())
        assert state.ending == "optimal"
        exact = sum(int(c) * int(f) for c, f in zip(cost, state.flow, strict=True))
        other = serial_shortest_path.solve(form, None, NoOptions(), Control()).flow
        assert exact == sum(int(c) * int(f) for c, f in zip(cost, other, strict=True))


def test_amounts_beyond_int32() -> None:
    network = preflow.CostNetwork.from_arrays(
        [0, 0, 1], [1, 2, 2], capacity=2**40, cost=[1, 5, 2], supply=[2**41, 0, -(2**41)]
    )
    result = preflow.min_cost_flow(network, method="serial-cost-scaling")
    assert result.flow.tolist() == [2**40] * 3
    result.verify()


@pytest.mark.parametrize(
    "method", ["serial-cost-scaling", "multicore-cost-scaling", "serial-network-simplex"]
)
@pytest.mark.parametrize("capacity", [[2e9, 1.5e9], [np.inf, 1.0], [2**40, 3]])
@pytest.mark.parametrize("cost", [[1, 5], [2**40, 2**41]])
def test_widths_of_capacities_and_costs(method: str, capacity: list[float], cost: list[int]) -> None:
    """Capacities have 32 or 64 bits, whatever the costs and the sums of supplies have."""
    for sent in (3, 3_000_000_000):
        if sum(capacity) >= sent:
            network = preflow.CostNetwork.from_arrays(
                [0, 0], [1, 1], capacity=capacity, cost=cost, supply=[sent, -sent]
            )
            result = preflow.min_cost_flow(network, method=method)
            cheap = min(sent, capacity[0])
            assert result.flow.tolist() == [cheap, sent - cheap]
            result.verify()


@pytest.mark.parametrize(("method", "threads"), [("serial-cost-scaling", 1), ("multicore-cost-scaling", 2)])
def test_any_divisor(method: str, threads: int) -> None:
    rng = np.random.default_rng(5)
    tail, head = rng.integers(0, 40, (2, 300))
    network = (tail, head, rng.integers(1, 20, 300), rng.integers(0, 10**6, 300))
    most = preflow.max_flow_min_cost(network, 0, 39).cost
    phases = []
    for alpha in (1.5, 4, 10, 64.0):
        how: dict[str, Any] = {"method": method, "options": {"alpha": alpha}, "threads": threads}
        result = preflow.max_flow_min_cost(network, 0, 39, **how)
        result.verify()
        assert result.cost == most
        phases.append(result.stats.phases)
    assert phases == sorted(phases, reverse=True)


@pytest.mark.parametrize("alpha", [0, 1, 1.25, True, np.nan])
def test_bad_options(alpha: float) -> None:
    with pytest.raises(InvalidInputError, match="alpha"):
        CostScalingOptions(alpha=alpha)


@pytest.mark.parametrize("method", ["serial-cost-scaling", "multicore-cost-scaling"])
@pytest.mark.parametrize("name", FILES)
def test_reference_optima(name: str, method: str) -> None:
    problem = preflow.read_dimacs(DIMACS / name)
    result = preflow.min_cost_flow(problem, method=method)
    assert result.cost == OPTIMA[name]["optimum"]
    result.verify()
