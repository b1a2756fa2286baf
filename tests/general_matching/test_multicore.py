"""Matching in general graphs on many threads: any number of them gives a maximum matching, proved."""

from __future__ import annotations

from typing import Any

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
from preflow.errors import InfeasibleMatchingError
from preflow.general_matching import multicore_blossom, serial_blossom
from preflow.general_matching.initial import InitialOptions, multicore_karp_sipser
from preflow.general_matching.links import NONE
from preflow.general_matching.policy import FEWEST_EDGES, FEWEST_THREADS, choose
from preflow.graph.parallel_neighbours import build_neighbours, weights_of_neighbours
from preflow.graph.undirected import UndirectedGraph, neighbours_of
from preflow.solving.run import Control
from tests.general_matching.families import FAMILIES, GRAPHS, HANGS, delay

THREADS = [1, 2, 3, 7]


def solved(graph: UndirectedGraph, threads: int, **given: Any) -> preflow.GeneralMatchingResult:
    result = preflow.matching(graph, method="multicore-blossom", threads=threads, **given)
    result.verify()
    return result


def random_ends(seed: int) -> UndirectedGraph:
    """Return a sparse random graph, or triangles and short cycles side by side."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 60))
    if seed % 3:
        tail, head = random.integers(0, n, (2, int(n * random.choice([0.7, 1, 1.4, 2.5]))))
    else:
        tail = np.repeat(np.arange(n), 2)
        head = np.clip(tail + random.integers(-2, 4, 2 * n), 0, n - 1)
    name = random.permutation(n)
    return UndirectedGraph.from_arrays(name[tail], name[head], num_vertices=n)


@given(st.integers(0, 2**32), st.sampled_from(THREADS), st.sampled_from(["none", "karp-sipser"]))
@settings(max_examples=150)
def test_agrees_with_serial_and_networkx(seed: int, threads: int, initial: str) -> None:
    graph = random_ends(seed)
    plain = nx.Graph(list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True)))
    plain.remove_edges_from(list(nx.selfloop_edges(plain)))
    result = solved(graph, threads, options={"initial": initial})
    assert result.cardinality == len(nx.max_weight_matching(plain, maxcardinality=True))
    assert result.cardinality == preflow.matching(graph, method="serial-blossom").cardinality


@pytest.mark.parametrize("threads", [2, 16])
def test_all_graphs_of_up_to_seven_vertices(threads: int) -> None:
    for plain in nx.graph_atlas_g()[:: 1 if threads == 2 else 9]:
        ends = np.array(list(plain.edges), dtype=np.int64).reshape(-1, 2)
        graph = UndirectedGraph.from_arrays(ends[:, 0], ends[:, 1], num_vertices=len(plain))
        for initial in ("none", "karp-sipser"):
            result = solved(graph, threads, options={"initial": initial})
            assert result.cardinality == len(nx.max_weight_matching(plain, maxcardinality=True))


@pytest.mark.parametrize("graph", FAMILIES.values(), ids=FAMILIES)
def test_families(graph: UndirectedGraph) -> None:
    plain = graph.without_weights()
    right = preflow.matching(plain, method="serial-blossom").cardinality
    for threads in (*THREADS, 40):
        for initial in ("none", "karp-sipser"):
            result = solved(plain, threads, options={"initial": initial})
            assert result.cardinality == right
            assert result.stats.threads == len(result.stats.per_thread) == threads


@pytest.mark.jit
def test_random_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(GRAPHS):
        graph = random_ends(seed)
        with monkeypatch.context() as patch:
            threads = delay(patch, graph.num_vertices, seed)
            initial = ("none", "karp-sipser")[seed % 2]
            result = solved(graph, threads, options={"initial": initial}, time_limit=HANGS)
        assert result.value == preflow.matching(graph, method="serial-blossom").cardinality, seed


def test_a_start_that_is_far_from_maximum() -> None:
    graph = random_graph(400, 3).without_weights()
    tail, head = graph.tail.tolist(), graph.head.tolist()
    mate = [-1] * 400
    for u, v in zip(tail[:40], head[:40], strict=True):
        if mate[u] == mate[v] == -1 and u != v:
            mate[u], mate[v] = v, u
    right = preflow.matching(graph, method="serial-blossom").cardinality
    assert solved(graph, 3, warm_start=mate).cardinality == right


def test_no_perfect_matching() -> None:
    with pytest.raises(InfeasibleMatchingError) as caught:
        solved(UndirectedGraph.from_arrays([0, 0, 0], [1, 2, 3]), 2, perfect=True)
    assert caught.value.barrier == (0,)


def test_empty_graphs() -> None:
    for n in (0, 1, 3):
        assert solved(UndirectedGraph.from_arrays([], [], num_vertices=n), 4).cardinality == 0


def test_stops() -> None:
    graph = triangulated_points(2000).without_weights()
    neighbours = neighbours_of(2000, graph.tail, graph.head, None)
    for initial in ("none", "karp-sipser"):
        control = Control(threads=3)
        control.stop[0] = 1
        options = InitialOptions(initial=initial)
        state = multicore_blossom.solve(neighbours, None, options, control)
        assert not state.finished
        free = state.mate == -1
        assert (state.mate[state.mate[~free]] == np.flatnonzero(~free)).all()
    result = preflow.matching(graph, method="multicore-blossom", threads=2, time_limit=1e-9)
    result.verify()
    assert result.lower_bound <= 1000 <= result.upper_bound


def test_one_thread_takes_over_where_an_edge_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(300, 3).without_weights()
    calls = []
    real = serial_blossom.solve

    def noted(*given: Any) -> Any:
        calls.append(given)
        return real(*given)

    monkeypatch.setattr(multicore_blossom, "check_even", lambda *_: False)
    monkeypatch.setattr(serial_blossom, "solve", noted)
    result = solved(graph, 2)
    assert len(calls) == 1
    assert result.barrier is not None


@pytest.mark.parametrize("threads", [2, 5])
def test_karp_sipser_leaves_few_vertices_free(threads: int) -> None:
    graph = random_graph(5000, 6)
    neighbours = neighbours_of(5000, graph.tail, graph.head, None)
    mate = np.empty(5000, dtype=np.uint32)
    label = np.empty(5000, dtype=np.uint8)
    multicore_karp_sipser.start(neighbours, mate, label, Control(threads=threads))
    matched = np.flatnonzero(mate != NONE)
    assert (mate[mate[matched]] == matched).all()
    most = preflow.matching(graph, weight=False, method="serial-blossom").cardinality
    assert len(matched) // 2 > 0.98 * most


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("n", [2, 5, 70, 3000, 2**22])
def test_rows_built_by_several_threads(threads: int, n: int) -> None:
    """A row of many neighbours, parallel edges and loops."""
    random = np.random.default_rng(n)
    ends = random.integers(0, n, (2, 6000)).astype(np.uint32)
    ends[0, :1500] = n // 2
    ends[:, 3000:3400] = ends[::-1, :400]
    first, neighbour = build_neighbours(n, *ends, threads)
    right = neighbours_of(n, *ends, None)
    assert first.dtype == right.first.dtype
    assert np.array_equal(first, right.first)
    row = np.repeat(np.arange(n), np.diff(right.first.astype(np.int64)))
    order = np.lexsort((right.neighbour, row))
    assert np.array_equal(neighbour, right.neighbour[order])
    weight = random.integers(-5, 1000, 6000)
    found = weights_of_neighbours(first, neighbour, *ends, weight, threads)
    assert np.array_equal(found, neighbours_of(n, *ends, weight).weight[order])


def test_auto_takes_many_threads_for_large_graphs() -> None:
    large = UndirectedGraph.from_arrays(np.zeros(FEWEST_EDGES, int), np.arange(FEWEST_EDGES))
    assert choose(large, threads=FEWEST_THREADS).method == "multicore-blossom"
    assert choose(large, threads=FEWEST_THREADS - 1).method == "serial-blossom"
    assert choose(random_graph(1000).without_weights(), threads=16).method == "serial-blossom"
