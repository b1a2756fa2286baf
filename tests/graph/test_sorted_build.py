"""Residual networks of arcs that come sorted by their pairs equal those of the general build."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import preflow
from preflow import generators
from preflow.graph import residual
from preflow.graph.residual import build_residual
from preflow.kernels import csr_build

SOURCES, SINKS = np.array([0, 5]), np.array([3])


def built(network: Any, monkeypatch: pytest.MonkeyPatch, *, in_order: bool) -> residual.ResidualNetwork:
    with monkeypatch.context() as patch:
        if not in_order:
            patch.setattr(csr_build, "count_sorted_pairs", lambda *_: False)
        return build_residual(network, SOURCES, SINKS)


def sorted_network(rng: np.random.Generator, n: int, m: int, most: Any) -> Any:
    """Return arcs of distinct pairs in order, either way round, with self loops between them."""
    pairs = np.sort(rng.choice(n * n, min(m, n * n // 2), replace=False))
    low, high = np.divmod(pairs, n)
    upper = low <= high
    tail, head = low[upper], high[upper]
    turned = rng.random(len(tail)) < 0.3
    tail, head = np.where(turned, head, tail), np.where(turned, tail, head)
    capacity = rng.integers(0, most, len(tail))
    return preflow.FlowNetwork.from_arrays(
        tail, head, capacity.astype(float) if rng.random() < 0.3 else capacity, num_vertices=n
    )


@pytest.mark.parametrize("most", [9, 2**31, 2**40])
def test_sorted_arcs(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(most)
    for _ in range(25):
        n = int(rng.integers(7, 40))
        network = sorted_network(rng, n, int(rng.integers(0, n * n)), most)
        one, other = (built(network, monkeypatch, in_order=which) for which in (True, False))
        for name in one.arrays._fields:
            mine, theirs = getattr(one.arrays, name), getattr(other.arrays, name)
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs, name)
        tail, head = one.inner[network.tail], one.inner[network.head]
        inside = (tail < one.num_vertices) & (head < one.num_vertices) & (tail != head)
        np.testing.assert_array_equal(one.rank[inside], other.rank[inside])
        assert one.rank.dtype == other.rank.dtype
        assert one.has_shared_arcs == other.has_shared_arcs
        assert one.constant_flow == other.constant_flow


def test_arcs_out_of_order() -> None:
    """One arc out of order, or one pair twice, is noticed."""
    tail, head = np.array([1, 1, 2, 2, 4]), np.array([2, 4, 4, 6, 6])
    for swapped in ([0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [0, 1, 3, 2, 4], [0, 1, 4, 2, 3], [0, 1, 1, 2, 3]):
        network = preflow.FlowNetwork.from_arrays(tail[swapped], head[swapped], 3, num_vertices=7)
        found = build_residual(network, SOURCES, SINKS)
        arcs = found.input_arcs(network)
        first_out = np.zeros(found.num_vertices + 1, dtype=found.inner.dtype)
        assert csr_build.count_sorted_pairs(arcs, first_out) == (swapped == [0, 1, 2, 3, 4])
        assert int(found.arrays.residual.sum()) == 3 * len(tail)


def test_a_solve_of_sorted_arcs() -> None:
    problem = generators.ac_dense(60, seed=1)
    result = preflow.max_flow(problem.network, problem.source, problem.sink, threads=1)
    result.verify()
    order = np.random.default_rng(1).permutation(problem.network.num_arcs)
    shuffled = preflow.FlowNetwork.from_arrays(
        problem.network.tail[order], problem.network.head[order], problem.network.capacity[order]
    )
    assert preflow.max_flow(shuffled, problem.source, problem.sink, threads=1).value == result.value
