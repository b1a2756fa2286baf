"""The smallest cut of a directed network: against all cuts, one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import directed_min_cut
from preflow.errors import CapacityOverflowError, InvalidInputError


def smallest(n: int, tail: Any, head: Any, capacity: Any, reverse: Any) -> Any:
    """Return the capacity of the smallest cut."""
    best = math.inf
    for number in range(1, 2**n - 1):
        sink_side = (number >> np.arange(n)) & 1 > 0
        over, back = ~sink_side[tail] & sink_side[head], sink_side[tail] & ~sink_side[head]
        best = min(best, capacity[over].sum() + reverse[back].sum())
    return best


@given(
    n=st.integers(2, 7),
    density=st.sampled_from([1, 2, 4]),
    kind=st.sampled_from(["integers", "floats", "endless", "two ways"]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=200, deadline=None)
def test_small_networks(n: int, density: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(0, n, (2, density * n))
    capacity: Any = rng.integers(0, 9, len(tail))
    reverse: Any = rng.integers(0, 3, len(tail)) if kind == "two ways" else np.zeros(len(tail), int)
    if kind == "floats":
        capacity = rng.random(len(tail)) * 10.0 ** rng.integers(-6, 6, len(tail))
    elif kind == "endless":
        capacity = np.where(rng.random(len(tail)) < 0.5, math.inf, capacity)
    network = preflow.FlowNetwork.from_arrays(
        tail, head, capacity, reverse_capacity=reverse if kind == "two ways" else None, num_vertices=n
    )
    cut = directed_min_cut(network)
    cut.verify()
    assert cut.value == pytest.approx(smallest(n, tail, head, capacity, reverse), rel=1e-12)
    assert cut.status == "optimal"
    over = ~cut.sink_side[tail] & cut.sink_side[head]
    if kind != "two ways":
        assert cut.cut_arcs.tolist() == np.flatnonzero(over).tolist()


def test_larger_networks_agree_with_flows_between_pairs() -> None:
    rng = np.random.default_rng(1)
    n = 60
    tail = np.append(np.arange(n), rng.integers(0, n, 200))
    head = np.append((np.arange(n) + 1) % n, rng.integers(0, n, 200))
    network = preflow.FlowNetwork.from_arrays(tail, head, rng.integers(1, 50, len(tail)), num_vertices=n)
    pairs = [(0, v) for v in range(1, n)] + [(v, 0) for v in range(1, n)]
    cut = directed_min_cut(network)
    assert cut.value == preflow.pair_flows(network, pairs).value.min()
    cut.verify()


def test_undirected_networks_agree_with_global_min_cut() -> None:
    rng = np.random.default_rng(3)
    tail, head = rng.integers(0, 100, (2, 600))
    weight = rng.integers(1, 100, len(tail))
    network = preflow.FlowNetwork.from_arrays(tail, head, weight, reverse_capacity=weight)
    assert directed_min_cut(network).value == preflow.global_min_cut((tail, head, weight)).value


def test_labels_and_parts() -> None:
    cut = directed_min_cut({"a": {"b": 3}, "b": {"c": 2}, "c": {"a": 5}})
    assert cut.value == 2
    sources, sinks = cut.partition()
    assert "b" in sources
    assert "c" in sinks
    assert sources | sinks == {"a", "b", "c"}
    apart = directed_min_cut(([0, 2], [1, 3], [5, 5]))
    assert apart.value == 0
    apart.verify()


def test_bad_networks() -> None:
    with pytest.raises(InvalidInputError, match="two vertices"):
        directed_min_cut(preflow.FlowNetwork.from_arrays([0], [0], [1]))
    largest = np.finfo(float).max
    with pytest.raises(CapacityOverflowError, match="float64"):
        directed_min_cut(([0, 0, 1, 1], [1, 1, 0, 0], [largest] * 4))
    with pytest.raises(CapacityOverflowError, match="float64"):
        directed_min_cut(([0, 0, 1, 1], [1, 1, 0, 0], [largest, largest, math.inf, 1]))
    with pytest.raises(CapacityOverflowError, match="divide"):
        directed_min_cut(([0, 1, 0], [1, 0, 1], [2**61, 2**61, 2**61]))
