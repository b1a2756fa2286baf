"""Terminals behind one arc in no minimum cut are moved, with the answers of the network as given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.generators import grid_2d, with_terminals_apart
from preflow.graph.network import FlowNetwork, MaxFlowProblem
from preflow.maxflow import policy, small

MOVED = "behind an arc in no minimum cut"


@pytest.fixture(autouse=True)
def small_networks_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "worth_moving_terminals", lambda network: True)
    monkeypatch.setattr(small, "FEW_ARCS", 0)


def apart(seed: int) -> MaxFlowProblem:
    """Return a random network with terminals apart; some of their arcs may be in a minimum cut."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 12)), int(rng.integers(2, 40))
    tail, head = rng.integers(0, n, (2, m))
    capacity = rng.random(m) * 10 if rng.random() < 0.3 else rng.integers(0, 20, m)
    reverse = rng.permutation(capacity) if rng.random() < 0.5 else None
    network = FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=n)
    made = with_terminals_apart(MaxFlowProblem(network, 0, n - 1), two_way=bool(rng.random() < 0.3))
    if rng.random() < 0.7:
        return made
    network = made.network
    capacity = network.capacity.copy()
    capacity[:2] = rng.integers(0, 60, 2) if rng.random() < 0.8 or capacity.dtype.kind == "i" else np.inf
    network = FlowNetwork.from_arrays(
        network.tail,
        network.head,
        capacity,
        reverse_capacity=network.reverse_capacity,
        num_vertices=network.num_vertices,
    )
    return MaxFlowProblem(network, made.source, made.sink)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None)
def test_the_answer_is_that_of_the_network_as_given(seed: int) -> None:
    problem = apart(seed)
    expected = preflow.max_flow(problem, method="serial-hi-pr")
    for found in (preflow.max_flow(problem), preflow.min_cut(problem)):
        assert found.value == pytest.approx(expected.value, rel=1e-12)
        assert (found.sink_side == expected.sink_side).all()
        assert (found.source_side() == expected.source_side()).all()
        assert (found.bottleneck_arcs() == expected.bottleneck_arcs()).all()
        found.verify()
    limited = preflow.max_flow(problem, flow_limit=3)
    limited.verify()
    assert limited.lower_bound == pytest.approx(min(3, expected.value))


def test_most_are_moved() -> None:
    reasons = [preflow.max_flow(apart(seed)).stats.reason for seed in range(100)]
    assert sum(MOVED in reason for reason in reasons) > 50
    assert any("source and sink" in reason for reason in reasons)


def test_the_method_is_that_of_the_network_without() -> None:
    result = preflow.min_cut(with_terminals_apart(grid_2d(60, 60, seed=1)), threads=1)
    assert result.stats.reason.startswith("source and sink behind an arc in no minimum cut; ")
    assert result.stats.method == preflow.min_cut(grid_2d(60, 60, seed=1), threads=1).stats.method
    result.verify()


@pytest.mark.parametrize(
    "arcs",
    [
        ([0], [1], [5]),  # the only arc joins both terminals
        ([0, 2], [2, 1], [5, 5]),  # one vertex is behind both
        ([0, 2, 3], [2, 3, 1], [9, 1, 9]),
        ([0, 2, 1], [2, 1, 3], [9, 1, 1]),  # an arc leaves the sink
    ],
)
def test_short_networks(arcs: tuple[list[int], list[int], list[int]]) -> None:
    result = preflow.max_flow(arcs, 0, 1)
    assert result.value == preflow.max_flow(arcs, 0, 1, method="serial-hi-pr").value
    result.verify()
