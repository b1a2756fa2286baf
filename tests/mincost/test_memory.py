"""The memory that a minimum-cost flow takes beside its network: a bound per arc and per vertex."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import preflow

#: Bytes an arc and a vertex, a little more than measured: see docs/problems/min_cost_flow.md. The capacities
#: here exceed all supplies together, which costs 8 bytes an arc in some phases.
MOST = {
    "serial-network-simplex": (47, 80),
    "serial-cost-scaling": (50, 60),
    "multicore-cost-scaling": (52, 66),
    "serial-capacity-scaling": (136, 72),
    "serial-shortest-path": (136, 72),
}


def network(n: int, m: int) -> preflow.CostNetwork:
    """Return random arcs and a ring, with a few supplies."""
    rng = np.random.default_rng(1)
    tail, head = rng.integers(0, n, (2, m), dtype=np.uint32)
    tail[:n], head[:n] = np.arange(n), np.roll(np.arange(n), -1)
    supply = np.zeros(n, dtype=np.int64)
    supply[:10], supply[-10:] = 50, -50
    capacity, cost = rng.integers(1000, 2000, m), rng.integers(1, 10_000, m)
    return preflow.CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, supply=supply)


@pytest.mark.parametrize("method", list(MOST))
def test_memory_of_a_solve(method: str) -> None:
    preflow.min_cost_flow(network(100, 1000), method=method, threads=1)  # loads what it needs
    n, m = 2_000, 60_000
    given = network(n, m)
    tracemalloc.start()
    preflow.min_cost_flow(given, method=method, threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    arc, vertex = MOST[method]
    assert peak < arc * m + vertex * n + 200_000, f"{(peak - vertex * n) / m:.1f} bytes an arc"
