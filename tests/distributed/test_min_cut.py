"""Minimum cuts of networks by regions: against min_cut."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError, VerificationError


@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from(("memory", "files")))
@settings(max_examples=40, deadline=None)
def test_the_answer_is_that_of_min_cut(seed: int, regions: int, exchange: str) -> None:
    """Networks with parallel, antiparallel and loop arcs, and any partition."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    arcs = int(rng.integers(0, 5 * n))
    network = preflow.FlowNetwork.from_arrays(
        rng.integers(0, n, arcs),
        rng.integers(0, n, arcs),
        rng.integers(0, int(rng.choice([2, 20, 2**40])), arcs),
        reverse_capacity=rng.integers(0, 9, arcs) if seed % 2 else None,
        num_vertices=n,
    )
    source, sink = rng.choice(n, 2, replace=False).tolist()
    expected = preflow.min_cut(network, source, sink)
    result = preflow.distributed.min_cut(
        network, source, sink, partition=rng.integers(-3, regions - 3, n), exchange=exchange
    )
    result.verify()
    assert result.value == expected.value
    assert np.array_equal(result.sink_side, expected.sink_side)


@given(
    st.integers(0, 2**32),
    st.integers(1, 12),
    st.sampled_from(("memory", "files")),
    st.sampled_from(("thirds", "quarters", "wide", "infinite")),
)
@settings(max_examples=40, deadline=None)
def test_fractional_capacities(seed: int, regions: int, exchange: str, kind: str) -> None:
    """They are rounded as in min_cut, and the cut is the same."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    arcs = int(rng.integers(0, 5 * n))
    capacity = rng.integers(0, 50, arcs) / {"thirds": 3, "quarters": 4}.get(kind, 7)
    if kind == "wide":
        capacity *= 10.0 ** rng.integers(-30, 30, arcs)
    tail, head = rng.integers(0, n, (2, arcs))
    source, sink = rng.choice(n, 2, replace=False).tolist()
    if kind == "infinite":
        capacity[(rng.random(arcs) < 0.2) & (head != sink)] = np.inf
    network = preflow.FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n)
    expected = preflow.min_cut(network, source, sink)
    result = preflow.distributed.min_cut(
        network, source, sink, partition=rng.integers(0, regions, n), exchange=exchange
    )
    result.verify()
    assert result.value == pytest.approx(expected.value, rel=1e-12)
    assert np.array_equal(result.sink_side, expected.sink_side)
    assert result.gap == pytest.approx(expected.gap, rel=0.1)  # flows that differ prove bounds that differ


def layers(width: int = 12, depth: int = 12) -> tuple[Any, int, int, Any]:
    """A network of layers, a region for each three of them."""
    rng = np.random.default_rng(1)
    size = width * depth
    tail = np.repeat(np.arange(size - width), 3)
    head = (tail // width + 1) * width + rng.integers(0, width, len(tail))
    capacity = rng.integers(1, 20, len(tail))
    tail = np.concatenate([np.full(width, size), tail, np.arange(size - width, size)])
    head = np.concatenate([np.arange(width), head, np.full(width, size + 1)])
    capacity = np.concatenate([np.full(width, 30), capacity, np.full(width, 30)])
    partition = np.append(np.arange(size) // (3 * width), [0, 0])
    return (tail, head, capacity), size, size + 1, partition


def test_a_network_of_layers_goes_on_from_its_folder(tmp_path: Path) -> None:
    network, source, sink, partition = layers()
    expected = preflow.min_cut(network, source, sink)
    for _ in range(2):
        result = preflow.distributed.min_cut(
            network, source, sink, partition=partition, exchange="files", folder=tmp_path
        )
        result.verify()
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)
    with pytest.raises(InvalidInputError, match="another problem"):
        preflow.distributed.min_cut(
            network, source, sink, partition=partition // 2, exchange="files", folder=tmp_path
        )


def test_a_wrong_flow_is_found() -> None:
    network, source, sink, partition = layers()
    result = preflow.distributed.min_cut(network, source, sink, partition=partition)
    workers: Any = result._exchange
    region = workers.workers[1].region
    region._net.excess[0] += 1
    with pytest.raises(VerificationError, match="not conserved"):
        result.verify()
    region._net.excess[0] -= 1
    region._net.residual[region._arcs[0]] += 1
    with pytest.raises(VerificationError):
        result.verify()


def test_a_time_limit_leaves_valid_bounds() -> None:
    network, source, sink, partition = layers(200, 60)
    expected = preflow.min_cut(network, source, sink).value
    result = preflow.distributed.min_cut(network, source, sink, partition=partition, time_limit=1e-4)
    assert result.lower_bound <= expected <= result.upper_bound
    result.verify()


@pytest.mark.parametrize(
    ("partition", "message"),
    [([0, 1], "an integer for each of 4 vertices"), ([0.5] * 4, "an integer for each of 4 vertices")],
)
def test_wrong_partitions(partition: list[float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.distributed.min_cut(([0, 1, 2], [1, 2, 3], [1, 1, 1]), 0, 3, partition=partition)


def test_sums_past_int64_are_refused() -> None:
    network = [0, 0, 1, 2], [1, 2, 3, 3], [2**62, 2**62, 2**62, 2**62]
    with pytest.raises(CapacityOverflowError, match="sum past int64"):
        preflow.distributed.min_cut(network, 0, 3, partition=[0, 0, 1, 1])


def test_fractions_on_files_go_on_from_their_folders(tmp_path: Path) -> None:
    """Each rounding has a folder of its own."""
    (tail, head, capacity), source, sink, partition = layers()
    scale = 10.0 ** np.random.default_rng(2).integers(-20, 20, len(capacity))
    network = tail, head, capacity * scale / 3
    expected = preflow.min_cut(network, source, sink)
    for _ in range(2):
        result = preflow.distributed.min_cut(
            network, source, sink, partition=partition, exchange="files", folder=tmp_path
        )
        result.verify()
        assert np.array_equal(result.sink_side, expected.sink_side)
    assert list(tmp_path.glob("rounded-*"))


def test_one_huge_capacity_spoils_no_other() -> None:
    """Regions of networks are as right as the whole network, by the exact sums of all cuts."""
    rng = np.random.default_rng(3)
    for huge in (1e7, 1e17, 1e100, sys.float_info.max, 5e-324, np.inf):
        for _ in range(8):
            tail, head = np.array([(u, v) for u in range(5) for v in range(5) if u != v]).T
            capacity = rng.random(len(tail)) * (rng.random(len(tail)) < 0.6)
            capacity[rng.choice(np.flatnonzero((tail != 0) | (head != 4)), 2)] = huge
            try:
                result = preflow.distributed.min_cut((tail, head, capacity), 0, 4, partition=[0, 0, 1, 2, 1])
            except UnboundedFlowError:
                with pytest.raises(UnboundedFlowError):
                    preflow.min_cut((tail, head, capacity), 0, 4)
                continue
            result.verify()
            assert result.status == "optimal"
            best = min(
                sum(Fraction(float(c)) for c in capacity[~side[tail] & side[head]])
                for side in (np.array([0, *sides, 1], dtype=bool) for sides in np.ndindex(2, 2, 2))
                if np.isfinite(capacity[~side[tail] & side[head]]).all()
            )
            assert abs(Fraction(result.value) - best) <= Fraction(result.gap) <= Fraction(2.0**-38) * best


def test_many_arcs_that_are_larger_than_the_cut() -> None:
    """One rounding leaves them few bits; the gap is as small as that of the whole network."""
    rng = np.random.default_rng(61)
    n, more = 500, 20_000
    tail = np.concatenate([np.full(n, n), np.arange(n), rng.integers(0, n, more)])
    head = np.concatenate([np.arange(n), np.full(n, n + 1), rng.integers(0, n, more)])
    capacity = np.concatenate([rng.random(n), 1 + rng.random(n), 5 * n * (1 + rng.random(more))])
    result = preflow.distributed.min_cut((tail, head, capacity), n, n + 1, partition=np.arange(n + 2) % 4)
    result.verify()
    assert result.status == "optimal"
    assert result.gap <= 2.0**-40 * result.value == pytest.approx(2.0**-40 * capacity[:n].sum(), rel=1e-12)
