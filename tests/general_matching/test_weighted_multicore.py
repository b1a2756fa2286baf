"""Weighted matching in general graphs on many threads: any number of them gives a best matching, proved."""

from __future__ import annotations

from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from benchmarks.instances.undirected import (
    random_graph,
    triangulated_points,
)
from preflow.general_matching.weighted_blossom import together
from preflow.general_matching.weighted_blossom.start import Initial
from preflow.graph.undirected import UndirectedGraph
from tests.general_matching.families import FAMILIES, GRAPHS, HANGS, delay

THREADS = [2, 3, 7]


@pytest.fixture(autouse=True)
def _one_root_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads search together down to the last root."""
    monkeypatch.setattr(together, "FEWEST_ROOTS", 0)


def solved(graph: UndirectedGraph, threads: int, **given: Any) -> preflow.GeneralMatchingResult:
    result = preflow.matching(graph, method="multicore-weighted-blossom", threads=threads, **given)
    result.verify()
    return result


def weights(graph: UndirectedGraph, seed: int, most: int = 1000) -> UndirectedGraph:
    """Return a graph with random weights."""
    weight = np.random.default_rng(seed).integers(1, most + 1, graph.num_edges)
    return UndirectedGraph.from_arrays(graph.tail, graph.head, weight, num_vertices=graph.num_vertices)


def random_weighted(seed: int) -> UndirectedGraph:
    """Return a sparse random graph, short cycles side by side, or one with hubs; weights often tie."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 60))
    tail = np.repeat(np.arange(n), 2)
    if seed % 3 == 0:
        head = np.clip(tail + random.integers(-3, 4, 2 * n), 0, n - 1)
    elif seed % 3 == 1:
        head = random.integers(0, n, 2 * n)
    else:
        head = np.where(
            random.random(2 * n) < 0.5, random.integers(0, 2, 2 * n), random.integers(0, n, 2 * n)
        )
    name = random.permutation(n)
    graph = UndirectedGraph.from_arrays(name[tail], name[head], num_vertices=n)
    return weights(graph, seed, int(random.choice([1, 4, 10**6])))


@given(st.integers(0, 2**32), st.sampled_from(THREADS), st.sampled_from(get_args(Initial)), st.booleans())
@settings(max_examples=100)
def test_agrees_with_networkx(seed: int, threads: int, initial: Initial, most_edges: bool) -> None:
    graph = random_weighted(seed)
    plain = nx.Graph()
    assert graph.weight is not None
    for u, v, w in zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True):
        if u != v and w > plain.get_edge_data(u, v, {"weight": 0})["weight"]:
            plain.add_edge(u, v, weight=w)
    options = {"initial": initial, "budget": 2}
    result = solved(graph, threads, options=options, maximum_cardinality=most_edges)
    best = nx.max_weight_matching(plain, maxcardinality=most_edges)
    assert result.weight == sum(plain.edges[pair]["weight"] for pair in best)


@pytest.mark.parametrize("graph", FAMILIES.values(), ids=FAMILIES)
def test_families(graph: UndirectedGraph) -> None:
    weighted = graph if graph.weight is not None else weights(graph, 1)
    right = preflow.matching(weighted, method="serial-weighted-blossom").weight
    for threads in (*THREADS, 40):
        result = solved(weighted, threads)
        assert result.weight == right
        assert result.stats.threads == len(result.stats.per_thread) == threads


def test_perfect_matchings() -> None:
    graph = weights(triangulated_points(2000), 3)
    right = preflow.matching(graph, perfect=True, maximize=False, method="serial-weighted-blossom").weight
    for threads in THREADS:
        assert solved(graph, threads, perfect=True, maximize=False).weight == right


@pytest.mark.jit
def test_random_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(GRAPHS):
        graph = random_weighted(seed)
        with monkeypatch.context() as patch:
            threads = delay(patch, graph.num_vertices, seed)
            most_edges = bool(seed % 2)
            result = solved(graph, threads, maximum_cardinality=most_edges, time_limit=HANGS)
        right = preflow.matching(graph, method="serial-weighted-blossom", maximum_cardinality=most_edges)
        assert result.weight == right.weight, seed


def test_floats() -> None:
    graph = random_graph(2000, 6)
    weight = np.random.default_rng(1).random(graph.num_edges)
    floats = UndirectedGraph.from_arrays(graph.tail, graph.head, weight, num_vertices=2000)
    right = preflow.matching(floats, method="serial-weighted-blossom").weight
    assert solved(floats, 3).weight == pytest.approx(right, rel=1e-12)


def test_empty_graphs() -> None:
    for n in (0, 1, 3):
        none = np.zeros(0, dtype=np.int64)
        assert solved(UndirectedGraph.from_arrays(none, none, none, num_vertices=n), 4).weight == 0


def test_stops() -> None:
    graph = weights(triangulated_points(3000), 2)
    method = "multicore-weighted-blossom"
    result = preflow.matching(graph, method=method, threads=3, time_limit=1e-9)
    result.verify()
    assert result.lower_bound <= preflow.matching(graph).weight <= result.upper_bound
