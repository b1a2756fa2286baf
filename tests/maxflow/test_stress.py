"""Solves of small networks by many threads, with random delays where threads may come between one another.

``PREFLOW_STRESS=5000 pytest tests/maxflow/test_stress.py`` solves 5,000 networks with each method.
"""

from __future__ import annotations

import os
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import FlowNetwork
from preflow.parallel.delays import make_delays
from preflow.solving.run import Control
from tests.support.oracles import edmonds_karp

NETWORKS = int(os.environ.get("PREFLOW_STRESS", "250"))
#: Seconds after which a solve is taken to hang; it then has no value.
HANGS = 30
#: Multicore methods and the options under which several threads work even on small networks.
SOLVERS: list[tuple[str, dict[str, Any]]] = [
    ("multicore-fifo", {}),
    ("multicore-fifo", {"gap": True}),
    ("multicore-highest-label-gap", {}),
    ("multicore-anderson-setubal", {"batch": 2}),
    ("multicore-synchronous", {"few_active": 1}),
    ("multicore-synchronous", {"pulses": True}),
    ("multicore-lockfree", {}),
    ("multicore-lockfree", {"initial_labels": "zero"}),
    ("multicore-lockfree-arg", {}),
    ("multicore-paths", {"budget": None}),
    ("multicore-merging", {"blocks": 6, "repartition": False, "budget": None}),
    ("multicore-merging", {"blocks": 20, "budget": None}),
    ("multicore-merging", {"blocks": 12, "budget": 3.0}),
]


@cache
def random_network(seed: int) -> tuple[FlowNetwork, int | float, set[int], set[int]]:
    """Return a network from its last vertex but one to its last, the flow's value and the smallest sides.

    Half of them are dense with few vertices, half are bands of more, where excess goes long ways. The source
    sends to a third of the vertices more than the sink takes, so most are relabelled again and again.
    """
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 12) if seed % 2 else random.integers(12, 50))
    m = int(random.integers(2 * n, 4 * n))
    tail = random.integers(0, n, m)
    head = (tail + random.integers(1, n if seed % 2 else 4, m) * random.choice([-1, 1], m)) % n
    entries = random.permutation(n)[: 1 + n // 3]
    exits = random.permutation(n)[: 1 + n // 8]
    tail = np.concatenate([tail, np.full(len(entries), n), exits])
    head = np.concatenate([head, entries, np.full(len(exits), n + 1)])
    capacity = random.integers(0, 9, len(tail))
    network = FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n + 2)
    arcs = zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True)
    return network, *edmonds_karp(n + 2, [arc for arc in arcs if arc[0] != arc[1]], [n], [n + 1])


@pytest.mark.jit
@pytest.mark.parametrize(("method", "options"), SOLVERS)
def test_random_delays(method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(11)
    for seed in range(NETWORKS):
        network, value, sink_side, source_side = random_network(seed)
        threads = int(random.integers(2, 5) if seed % 4 else random.integers(5, 33))
        delays = make_delays(threads, seed)
        monkeypatch.setattr("preflow.solving.call.Control", partial(Control, delays=delays))
        result = preflow.max_flow(
            network,
            network.num_vertices - 2,
            network.num_vertices - 1,
            method=method,
            threads=threads,
            time_limit=HANGS,
            options=options
            if "blocks" in options
            else {"relabel_period": (0.5, 1.0, 8.0)[seed % 3], **options},
        )
        result.verify()
        assert result.value == value, seed
        assert set(np.flatnonzero(result.sink_side)) == sink_side, seed
        assert set(np.flatnonzero(result.source_side())) == source_side, seed
