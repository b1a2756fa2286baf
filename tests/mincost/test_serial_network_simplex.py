"""Network simplex: the invariants of the tree after every pivot, arcs that are appended, degenerate cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import preflow
from preflow.generators import netgen
from preflow.graph.standard_form import StandardForm, standardise
from preflow.mincost.network_simplex import Simplex, find_entering, pivot, run_pivots
from preflow.mincost.serial_network_simplex import SimplexOptions, solve, start_from_state
from preflow.solving.run import Control
from preflow.stats import PIVOTS
from tests.invariants.network_simplex import check_invariants
from tests.support.min_cost import SmallCosts, cheapest, small_costs


def pivot_to_the_end(simplex: Simplex, block: int) -> int:
    """Pivot until no arc is eligible, and check the invariants after every pivot; return how many."""
    first = np.uint64(0)
    for count in range(10_000):
        check_invariants(simplex)
        entering, first = find_entering(
            simplex.arcs, simplex.tree.potential, np.uint64(simplex.end), first, np.uint64(block)
        )
        if entering == simplex.end:
            return count
        pivot(simplex.tree, simplex.arcs, entering)
    raise AssertionError("the pivots come back to a tree")


@given(case=small_costs(endless=False))
@settings(max_examples=100, deadline=None)
def test_invariants_after_every_pivot(case: SmallCosts) -> None:
    network = case.network()
    if network.supply is None:
        return
    form = standardise(network, network.supply).form
    for block in (1, 3, 100):
        simplex = Simplex(form, 9, 1.0)
        pivot_to_the_end(simplex, block)
        assert (simplex.unsent > 0) == (cheapest(case) == "infeasible")


def test_a_larger_network() -> None:
    network = netgen(40, seed=3)
    assert network.supply is not None
    form = standardise(network, network.supply).form
    simplex = Simplex(form, int(form.cost.max()), 1.0)
    assert pivot_to_the_end(simplex, 10) > 40


@pytest.mark.parametrize("largest", [0, 1, 3])
def test_degenerate_networks_end(largest: int) -> None:
    """Assignments have trees of which half the arcs are empty."""
    rng = np.random.default_rng(1)
    n = 40
    tail, head = np.divmod(np.arange(n * n), n)
    cost = rng.integers(0, largest + 1, n * n)
    supply = np.r_[np.ones(n, dtype=int), -np.ones(n, dtype=int)]
    result = preflow.min_cost_flow((tail, head + n, 1, cost), supply, method="serial-network-simplex")
    result.verify()
    assert result.cost == preflow.linear_assignment(cost.reshape(n, n)).cost


def test_appended_arcs() -> None:
    rng = np.random.default_rng(2)
    n, m = 30, 300
    tail, head = rng.integers(0, n, (2, m)).astype(np.uint32)
    cost = rng.integers(0, 100, m)
    supply = np.zeros(n, dtype=np.int64)
    supply[:5], supply[-5:] = 3, -3
    whole = StandardForm(tail, head, np.full(m, 20), cost, supply)
    simplex = Simplex(StandardForm(*(part[:50] for part in whole[:4]), supply), 100, 1.0)
    control = Control()
    for begin in range(50, m, 50):
        simplex.run(control.monitor())
        simplex.append(*(part[begin : begin + 50] for part in whole[:4]))
        check_invariants(simplex)
    assert simplex.run(control.monitor()) == "optimal"
    expected = preflow.min_cost_flow((tail, head, 20, cost), supply, method="serial-shortest-path").cost
    assert int(simplex.flow @ cost) == expected


def test_the_stop_flag() -> None:
    network = netgen(500, seed=3)
    assert network.supply is not None
    form = standardise(network, network.supply).form
    simplex = Simplex(form, int(form.cost.max()), 1.0)
    control = Control()
    control.stop[0] = 1
    done, _ = run_pivots(
        simplex.tree,
        simplex.arcs,
        np.uint64(simplex.end),
        np.uint64(0),
        np.uint64(9),
        control.monitor(),
    )
    assert not done
    assert control.counts[PIVOTS] == 64
    check_invariants(simplex)


@pytest.mark.parametrize("first", ["serial-network-simplex", "serial-cost-scaling"])
def test_warm_starts(first: str) -> None:
    """Random edits of costs, capacities and supplies: the warm solve has the cost of a cold one."""
    rng = np.random.default_rng(5)
    for n, m in ((8, 30), (60, 240), (60, 600)):
        tail, head = rng.integers(0, n, (2, m))
        capacity, cost = rng.integers(0, 30, m), rng.integers(-10, 100, m)
        half = capacity // 2
        supply = np.bincount(tail, half, n).astype(int) - np.bincount(head, half, n).astype(int)
        network = preflow.CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, supply=supply)
        warm = preflow.min_cost_flow(network, method=first)
        for _ in range(40):
            arcs = rng.choice(m, 3, replace=False)
            cost[arcs] = rng.integers(-20, 120, 3)
            other = rng.choice(m, 3, replace=False)
            capacity[other] += rng.integers(0, 9, 3)
            # Each of these arcs can carry one more unit, so a flow still exists.
            capacity[other] += 1
            np.add.at(supply, tail[other], 1)
            np.subtract.at(supply, head[other], 1)
            network = preflow.CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, supply=supply)
            cold = preflow.min_cost_flow(network, method="serial-shortest-path")
            warm = preflow.min_cost_flow(network, method="serial-network-simplex", warm_start=warm)
            warm.verify()
            assert warm.cost == cold.cost


def test_a_start_that_is_optimal_makes_no_pivots() -> None:
    network = netgen(500, seed=3)
    method = "serial-network-simplex"
    first = preflow.min_cost_flow(network, method=method)
    again = preflow.min_cost_flow(network, method=method, warm_start=first)
    assert again.cost == first.cost
    assert again.stats.pivots == 0


def test_a_start_below_smaller_capacities_and_other_supplies() -> None:
    """Tree arcs that no longer carry the flow leave the tree of the start."""
    rng = np.random.default_rng(6)
    network = netgen(200, seed=3)
    assert network.supply is not None
    form = standardise(network, network.supply).form
    control = Control()
    state = solve(form, None, SimplexOptions(), control)
    for _ in range(20):
        changed = form._replace(
            capacity=rng.integers(form.capacity // 2, form.capacity + 1), supply=rng.permutation(form.supply)
        )
        largest = int(form.cost.max())
        simplex = Simplex(changed, largest, 1.0)
        start = state._replace(flow=np.minimum(state.flow, changed.capacity))
        start_from_state(simplex, start, np.zeros(0, dtype=np.uint32))
        check_invariants(simplex)
        warm = simplex.run(control.monitor())
        cold = Simplex(changed, largest, 1.0)
        assert cold.run(control.monitor()) == warm
        assert int(cold.flow @ form.cost) == int(simplex.flow @ form.cost) or warm == "infeasible"
