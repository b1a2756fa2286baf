"""The sample of minimum-cost flow for the tests of all problems: see tests/support/sample.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflow import CostNetwork
from preflow.graph.standard_form import StandardForm
from preflow.mincost.infeasible import excesses
from preflow.mincost.solution import FlowState
from preflow.solving.method import Method
from preflow.solving.run import Control
from tests.support.sample import Sample


def solve(method: Method, control: Control) -> bool:
    rng = np.random.default_rng(4)
    tail, head = rng.integers(0, 12, (2, 60))
    capacity, cost, potential = rng.integers(0, 9, 60), rng.integers(-9, 30, 60), rng.integers(0, 20, 12)
    supply = np.zeros(12, dtype=np.int64)
    np.add.at(supply, tail, capacity // 2)
    np.subtract.at(supply, head, capacity // 2)
    form = StandardForm(tail.astype(np.uint32), head.astype(np.uint32), capacity, cost, supply)
    for start in (None, FlowState(capacity // 2, potential, "stopped")):
        state = method.solve(form, start, method.make_options(None), control)
        assert (state.flow >= 0).all()
        assert (state.flow <= capacity).all()
        if control.stopped:
            assert state.ending in ("stopped", "optimal")
        else:
            assert state.ending == "optimal"
            assert not excesses(form, state.flow).any()
            reduced = cost + state.potential[tail] - state.potential[head]
            assert not state.flow[reduced > 0].any()
            assert (state.flow == capacity)[reduced < 0].all()
    return state.ending == "optimal"


def random_network(n: int) -> CostNetwork:
    """Return a network of n vertices whose supplies are those of a random flow."""
    rng = np.random.default_rng(n)
    tail, head = rng.integers(0, n, (2, 6 * n))
    capacity, cost = rng.integers(0, 50, 6 * n), rng.integers(-100, 1000, 6 * n)
    flow = rng.integers(0, capacity + 1)
    supply = np.bincount(tail, flow, n) - np.bincount(head, flow, n)
    return CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, supply=supply)


def counted(method: Method) -> dict[str, tuple[Any, ...]]:
    return {f"random {n}": (random_network(n),) for n in (30, 200)}


def rounds(method: Method) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return a network with the supplies of the flow that uses half of every capacity."""
    rng = np.random.default_rng(1)
    tail, head = rng.integers(0, 300, (2, 2000))
    capacity, cost = rng.integers(0, 50, 2000), rng.integers(-100, 1000, 2000)
    supply = np.bincount(tail, capacity // 2, 300) - np.bincount(head, capacity // 2, 300)
    return {"min_cost_flow": (((tail, head, capacity, cost),), {"supply": supply})}


SAMPLE = Sample(
    arguments=([(0, 1, 3, 1)], {0: 1, 1: -1}),
    modules={"min_cost_flow": 65},  # supplies may stay; what torch.compile does not enter
    solve=solve,
    counted=counted,
    answer=("flow", "potentials"),
    rounds=rounds,
    fuzz="costflows",
)
