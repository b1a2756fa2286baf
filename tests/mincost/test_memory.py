"""The memory that a minimum-cost flow takes beside its network: a bound per arc and per vertex."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import preflow

#: Most bytes an arc and a vertex beside the network, for networks of each kind: see
#: docs/problems/min_cost_flow.md.
MOST = {
    "serial-network-simplex": {"plain": (38, 64), "endless": (42, 64), "bounded": (42, 72), "dear": (38, 64)},
    "serial-cost-scaling": {"plain": (41, 64), "endless": (45, 64), "bounded": (45, 72), "dear": (73, 64)},
    "multicore-cost-scaling": {"plain": (43, 64), "endless": (47, 64), "bounded": (47, 72), "dear": (75, 64)},
    "serial-capacity-scaling": {"plain": (132, 72)},
    "serial-shortest-path": {"plain": (132, 72)},
}
#: Vertices and arcs: the arcs take most of the memory, or the vertices as much.
DENSE, SPARSE = (2_000, 60_000), (20_000, 30_000)
#: Bytes that the calls take whatever the size.
FIXED = 60_000


def network(n: int, m: int, kind: str) -> preflow.CostNetwork:
    """Return random arcs and a ring, with supplies at one half of the vertices for the other.

    "plain": the ring can carry all supplies, and no arc more. "endless": all capacities are infinite.
    "bounded": there are lower bounds. "dear": costs do not fit 32 bits.
    """
    rng = np.random.default_rng(1)
    tail, head = rng.integers(0, n, (2, m), dtype=np.uint32)
    tail[:n], head[:n] = np.arange(n), np.roll(np.arange(n), -1)
    supply = np.repeat([50, -50], n // 2)
    capacity, cost = rng.integers(1000, 2000, m), rng.integers(1, 10_000, m)
    capacity[:n] = 25 * n
    return preflow.CostNetwork.from_arrays(
        tail,
        head,
        capacity=np.inf if kind == "endless" else capacity,
        cost=cost << 20 if kind == "dear" else cost,
        lower=rng.integers(0, 2, m) if kind == "bounded" else None,
        supply=supply,
    )


@pytest.mark.parametrize(("method", "kind"), [(method, kind) for method in MOST for kind in MOST[method]])
def test_memory_of_a_solve(method: str, kind: str) -> None:
    arc, vertex = MOST[method][kind]
    slow = method in ("serial-capacity-scaling", "serial-shortest-path")
    preflow.min_cost_flow(network(100, 1000, kind), method=method, threads=1)  # loads what it needs
    for n, m in [DENSE] if slow else [DENSE, SPARSE]:
        given = network(n, m, kind)
        tracemalloc.start()
        preflow.min_cost_flow(given, method=method, threads=1)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < arc * m + vertex * n + FIXED, f"{(peak - vertex * n) / m:.1f} bytes an arc"
