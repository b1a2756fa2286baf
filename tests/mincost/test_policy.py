"""The choice of method="auto" for minimum-cost flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from preflow.graph.cost_network import CostNetwork
from preflow.mincost import policy


def network(n: int, m: int) -> CostNetwork:
    ends = np.zeros(m, dtype=int)
    return CostNetwork.from_arrays(ends, ends, num_vertices=n)


@pytest.mark.parametrize(
    ("n", "m", "threads", "expected"),
    [
        (100, 1000, 16, "serial-network-simplex"),
        (100_000, 1000, 16, "serial-cost-scaling"),
        (100, 600_000, 2, "serial-network-simplex"),
        (100_000, 600_000, 2, "serial-cost-scaling"),
        (100_000, 600_000, 16, "multicore-cost-scaling"),
        (100_000, 100_000, 4, "serial-cost-scaling"),
        (100_000, 100_000, 16, "multicore-cost-scaling"),
    ],
)
def test_the_choice_of_auto(n: int, m: int, threads: int, expected: str) -> None:
    assert policy.choose(network(n, m), threads=threads).method == expected


def test_a_gpu() -> None:
    assert policy.choose(network(10, 10), device="cuda").method == "cuda-cost-scaling"
    assert policy.worth_a_gpu(network(10, 300_000), 16, in_use=True)
    assert not policy.worth_a_gpu(network(10, 300_000), 16, in_use=False)


def test_integer_costs_that_a_gpu_has_no_room_for() -> None:
    gpu: Any = object()
    for n in (2, 10, 1000):
        most = (2**62 - 1) // (7 * (n + 1) ** 2)
        for cost, expected in ((most, "cuda-cost-scaling"), (-most - 1, "serial-network-simplex")):
            given = CostNetwork.from_arrays([0], [1], cost=[cost], num_vertices=n)
            assert policy.choose(given, gpu=gpu).method == expected
        floats = CostNetwork.from_arrays([0], [1], cost=[most * 3.3e5 + 0.3], num_vertices=n)
        assert policy.choose(floats, gpu=gpu).method == "cuda-cost-scaling"


def test_an_earlier_flow() -> None:
    assert policy.choose_for_start(network(10_000, 10), 300) is None
    chosen = policy.choose_for_start(network(10_000, 10), 90)
    assert chosen is not None
    assert chosen.method == "serial-shortest-path"


def test_several_sources() -> None:
    supply = np.zeros(30_000, dtype=np.int64)
    supply[:2], supply[2] = 3, -6
    ends = np.zeros(10, dtype=int)
    for capacity, sources, expected in ((5, 2, "simplex"), (6, 2, "scaling"), (5, 1, "scaling")):
        given = CostNetwork.from_arrays(ends, ends, capacity=np.full(10, capacity), num_vertices=30_000)
        one = (
            supply
            if sources == 2
            else np.where(supply == 3, 0, supply) + np.eye(1, 30_000, 0, dtype=int)[0] * 6
        )
        assert policy.choose(given, supply=one).method.endswith(expected)
