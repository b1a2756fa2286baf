"""Vertices with scattered numbers get breadth-first numbers inside a residual network; answers stay."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import generators
from preflow.graph import residual
from preflow.graph.network import MaxFlowProblem
from preflow.graph.residual import ResidualNetwork, build_residual
from preflow.kernels.breadth_first_numbers import WINDOW, WINDOWS, lines_of_heads


@pytest.fixture(autouse=True)
def small_networks_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residual, "FEWEST_RENUMBERED", 1)
        yield


def built(problem: MaxFlowProblem, *, renumber: bool, threads: int = 1) -> ResidualNetwork:
    sources, sinks = np.atleast_1d(problem.source), np.atleast_1d(problem.sink)
    return build_residual(problem.network, sources, sinks, threads=threads, renumber=renumber)


def shuffled_mesh(seed: int, side: int = 70) -> MaxFlowProblem:
    return generators.shuffled(generators.grid_2d(side, side, seed=seed), seed=seed)


def capacities(net: ResidualNetwork, name: np.ndarray[Any, Any]) -> list[list[tuple[int, int]]]:
    """Return head and capacity of the arcs of each vertex of the input, in their order."""
    first, head, amount = net.arrays.first_out.astype(int), net.arrays.head, net.arrays.residual
    rows = [
        list(zip(name[head[a:b]].tolist(), amount[a:b].tolist(), strict=True)) for a, b in pairwise(first)
    ]
    ordered: list[list[tuple[int, int]]] = [[] for _ in range(int(name.max(initial=-1)) + 1)]
    for v, row in zip(name.tolist(), rows, strict=True):
        ordered[v] = row
    return ordered


def names(net: ResidualNetwork) -> np.ndarray[Any, Any]:
    """Return the vertex of the input for each vertex."""
    name = np.empty(net.num_vertices + 2, dtype=np.int64)
    name[net.inner] = np.arange(len(net.inner))
    return name[: net.num_vertices]


def problems() -> list[MaxFlowProblem]:
    made = [shuffled_mesh(seed) for seed in range(3)]
    made.append(generators.shuffled(generators.rmf(10, 80, seed=1), seed=2))
    made.append(generators.shuffled(generators.roads(3000, seed=1), seed=3))
    # Isolated vertices, parallel and opposite arcs, and two components.
    rng = np.random.default_rng(0)
    number = rng.permutation(12_000)
    u = np.concatenate([np.arange(3999), np.arange(5000, 8999)])
    tail, head = number[np.concatenate([u, u + 1, u])], number[np.concatenate([u + 1, u, u + 1])]
    network = preflow.FlowNetwork.from_arrays(tail, head, rng.integers(0, 9, len(tail)), num_vertices=12_000)
    made.append(MaxFlowProblem(network, int(number[0]), int(number[3999])))
    return made


@pytest.mark.parametrize("index", range(6))
def test_the_same_network_in_another_order(index: int) -> None:
    problem = problems()[index]
    one, other = built(problem, renumber=False), built(problem, renumber=True)
    assert not np.array_equal(one.inner, other.inner)
    assert capacities(one, names(one)) == capacities(other, names(other))
    for which in ("excess", "sink_residual"):
        mine, theirs = np.zeros((2, problem.network.num_vertices), dtype=np.int64)
        mine[names(one)], theirs[names(other)] = getattr(one.arrays, which), getattr(other.arrays, which)
        np.testing.assert_array_equal(mine, theirs)
    network, n = problem.network, one.num_vertices
    ends = one.inner[network.tail], one.inner[network.head]
    inside = (np.maximum(*ends) < n) & (ends[0] != ends[1])
    np.testing.assert_array_equal(one.rank[inside], other.rank[inside])
    net = other.arrays
    tail = np.repeat(np.arange(other.num_vertices), np.diff(net.first_out.astype(int)))
    np.testing.assert_array_equal(net.reverse[net.reverse], np.arange(other.num_arcs))
    np.testing.assert_array_equal(net.head[net.reverse], tail)
    np.testing.assert_array_equal(other.initial_residual(problem.network), net.residual)
    again = built(problem, renumber=True, threads=3)
    for mine, theirs in zip(again.arrays, net, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_neighbours_come_close() -> None:
    problem = shuffled_mesh(1)
    one, other = built(problem, renumber=False).arrays, built(problem, renumber=True).arrays
    before, after = (residual._scatter_of_heads(net.first_out, net.head) for net in (one, other))
    assert before > 0.5
    assert after < 0.15


@pytest.mark.parametrize(
    "problem",
    [
        generators.grid_2d(70, 70, seed=1),
        generators.roads(3000, seed=1),
        generators.shuffled(generators.power_law_flow(20_000, 10, seed=1), seed=1),
        generators.rmat_flow(14, 8, 10, seed=1),
    ],
    ids=lambda problem: problem.name,
)
def test_numbers_stay(problem: MaxFlowProblem) -> None:
    """They are local already, or no order makes them local."""
    one, other = built(problem, renumber=False), built(problem, renumber=True)
    np.testing.assert_array_equal(one.inner, other.inner)
    for mine, theirs in zip(one.arrays, other.arrays, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_lines_of_heads_are_counted() -> None:
    net = built(shuffled_mesh(2), renumber=False).arrays
    n = len(net.excess)
    lines = heads = 0
    for i in range(int(WINDOWS)):
        begin = (n - int(WINDOW)) * i // int(WINDOWS)
        part = net.head[net.first_out[begin] : net.first_out[begin + int(WINDOW)]]
        lines, heads = lines + len(np.unique(part // 16)), heads + len(part)
    seen = np.zeros(n // 16 + 1, dtype=np.uint32)
    assert lines_of_heads(net.first_out, net.head, seen) == (lines, heads)


@pytest.mark.parametrize("method", ["auto", "serial-fifo", "serial-boykov-kolmogorov", "serial-pseudoflow"])
def test_answers(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(2):
        problem = shuffled_mesh(seed)
        cut = preflow.min_cut(problem, method=method, threads=1)
        flow = preflow.max_flow(problem, method=method, threads=1)
        cut.verify()
        flow.verify()
        with monkeypatch.context() as patch:
            patch.setattr(residual, "FEWEST_RENUMBERED", 2**40)
            expected = preflow.min_cut(problem, method=method, threads=1)
        assert flow.value == cut.value == expected.value
        np.testing.assert_array_equal(cut.sink_side, expected.sink_side)


def test_answers_after_edits() -> None:
    problem = shuffled_mesh(3)
    rng = np.random.default_rng(3)
    warm = preflow.MaxFlow(problem.network, problem.source, problem.sink)
    capacity = problem.network.capacity.copy()
    for _ in range(4):
        arcs = rng.choice(len(capacity), 200, replace=False)
        capacity[arcs] = rng.integers(0, 50, len(arcs))
        warm.set_capacity(arcs, capacity[arcs])
        result = warm.solve()
        result.verify()
        network = preflow.FlowNetwork.from_arrays(
            problem.network.tail,
            problem.network.head,
            capacity,
            reverse_capacity=problem.network.reverse_capacity,
            num_vertices=problem.network.num_vertices,
        )
        fresh = preflow.min_cut(network, problem.source, problem.sink)
        assert result.value == fresh.value
        np.testing.assert_array_equal(result.sink_side, fresh.sink_side)
