"""Edge covers, b-matchings, T-joins and the postman against all sets of edges of small graphs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preflow
from preflow import reductions
from preflow.errors import InvalidInputError, VerificationError

pytestmark = pytest.mark.fast


@st.composite
def graphs(draw: st.DrawFn, least: int = -3) -> preflow.UndirectedGraph:
    """Draw a graph with up to 6 vertices and 9 edges, loops and parallel edges among them."""
    n = draw(st.integers(1, 6))
    ends = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1, max_size=9))
    weights = draw(st.lists(st.integers(least, 6), min_size=len(ends), max_size=len(ends)))
    tail, head = zip(*ends, strict=True)
    return preflow.UndirectedGraph.from_arrays(tail, head, weights, num_vertices=n)


def best(graph: preflow.UndirectedGraph, fits: Any, sign: int) -> int | None:
    """Return the least (sign 1) or largest (-1) weight of the sets of edges whose degrees fit."""
    assert graph.weight is not None
    weights = [
        sum(graph.weight[list(chosen)].tolist())
        for k in range(graph.num_edges + 1)
        for chosen in itertools.combinations(range(graph.num_edges), k)
        if fits(degrees(graph, chosen))
    ]
    return min(weights, key=lambda total: sign * total, default=None)


def degrees(graph: preflow.UndirectedGraph, edges: Any) -> Any:
    ends = np.concatenate([graph.tail[list(edges)], graph.head[list(edges)]]).astype(np.int64)
    return np.bincount(ends, minlength=graph.num_vertices)


@given(graphs())
def test_edge_cover(graph: preflow.UndirectedGraph) -> None:
    if (degrees(graph, range(graph.num_edges)) == 0).any():
        with pytest.raises(InvalidInputError, match="no edge"):
            reductions.minimum_weight_edge_cover(graph)
        return
    cover = reductions.minimum_weight_edge_cover(graph)
    cover.verify()
    assert cover.weight == best(graph, lambda degree: (degree > 0).all(), 1)


@given(graphs(), st.data())
def test_general_b_matching(graph: preflow.UndirectedGraph, data: st.DataObject) -> None:
    limit = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=graph.num_vertices, max_size=graph.num_vertices))
    )
    found = reductions.general_b_matching(graph, limit)
    found.verify()
    loops = graph.tail == graph.head
    plain = preflow.UndirectedGraph.from_arrays(
        graph.tail[~loops], graph.head[~loops], graph.weight[~loops], num_vertices=graph.num_vertices
    )
    assert found.weight == best(plain, lambda degree: (degree <= limit).all(), -1)


@given(graphs(), st.data())
def test_t_join(graph: preflow.UndirectedGraph, data: st.DataObject) -> None:
    odd = data.draw(st.sets(st.integers(0, graph.num_vertices - 1)))
    wanted = np.isin(np.arange(graph.num_vertices), list(odd))
    least = best(graph, lambda degree: np.array_equal(degree % 2 == 1, wanted), 1)
    if least is None:
        with pytest.raises(InvalidInputError, match="no T-join"):
            reductions.t_join(graph, odd)
        return
    join = reductions.t_join(graph, odd)
    join.verify()
    assert join.weight == least


@given(graphs(least=0))
def test_chinese_postman(graph: preflow.UndirectedGraph) -> None:
    plain = nx.MultiGraph()
    plain.add_edges_from(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    if not nx.is_connected(plain):
        with pytest.raises(InvalidInputError, match="connected"):
            reductions.chinese_postman(graph)
        return
    walk = reductions.chinese_postman(graph)
    walk.verify()
    degree = degrees(graph, range(graph.num_edges))
    twice = best(graph, lambda more: ((degree + more) % 2 == 0).all(), 1)
    assert graph.weight is not None
    assert walk.weight == graph.weight.sum() + twice


def test_without_weights() -> None:
    path = ([0, 1, 2, 3], [1, 2, 3, 4])
    assert reductions.minimum_weight_edge_cover(path).weight == 3
    assert reductions.general_b_matching(path, 2).weight == 4
    assert reductions.t_join(path, [0, 4]).weight == 4
    assert reductions.chinese_postman(path).weight == 8
    assert reductions.chinese_postman(([], [])).weight == 0


def test_labels() -> None:
    graph = preflow.UndirectedGraph.from_edges([("a", "b", 1), ("b", "c", 2)])
    assert reductions.t_join(graph, ["a", "c"]).pairs() == [("a", "b"), ("b", "c")]
    assert reductions.general_b_matching(graph, {"b": 2}).weight == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reductions.general_b_matching(([0], [1]), -1), "negative"),
        (lambda: reductions.general_b_matching(([0], [1]), [1]), "limit has shape"),
        (lambda: reductions.general_b_matching(([0], [1]), 1.5), "must hold integers"),
        (lambda: reductions.t_join(([0], [1]), [0]), "no T-join"),
        (lambda: reductions.t_join(([0], [1]), [5]), "out of range"),
        (lambda: reductions.t_join(([0], [1], [2**53]), [0, 1]), "too large"),
        (lambda: reductions.chinese_postman(([0], [1], [-1])), "negative weight"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_corrupted_results_are_refused() -> None:
    graph = ([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [3, 2, 4, 1, 2])
    results = [
        reductions.minimum_weight_edge_cover(graph),
        reductions.general_b_matching(graph, 2),
        reductions.t_join(graph, [0, 1]),
        reductions.chinese_postman(graph),
    ]
    for result in results:
        result.verify()
        for field, value in (("weight", result.weight + 1), ("edges", result.edges[:-1])):
            kept = getattr(result, field)
            object.__setattr__(result, field, value)
            with pytest.raises(VerificationError):
                result.verify()
            object.__setattr__(result, field, kept)


def test_limits() -> None:
    pandas = pytest.importorskip("pandas")
    edges = [("hub", "a", 5), ("hub", "b", 6), ("hub", "c", 7)]
    for limit in ({"hub": 2}, pandas.Series({"c": 1, "b": 1, "a": 1, "hub": 2})):
        found = reductions.general_b_matching(edges, limit)
        found.verify()
        assert found.weight == 13
    for large in (2**70, np.array([2**64 - 1, 1, 1, 1], dtype=np.uint64)):
        assert reductions.general_b_matching(([0, 0, 0], [1, 2, 3], [5, 6, 7]), large).weight == 18
    for limit in ({"hub": 1.5}, [0.5, 1, 1, 1], {"hub": -1}, {"x": 1}):
        with pytest.raises(InvalidInputError):
            reductions.general_b_matching(edges, limit)
    with pytest.raises(InvalidInputError, match="limit has two entries for 'a'"):
        reductions.general_b_matching(edges, pandas.Series([1, 2], index=["a", "a"]))


def test_floats_that_cancel() -> None:
    """The weight is zero but for rounding, so an error relative to it would be none."""
    cover = reductions.minimum_weight_edge_cover(([1, 2, 3], [0, 0, 0], [6 * 0.37, -4 * 0.37, -2 * 0.37]))
    assert cover.weight == pytest.approx(0, abs=1e-12)
    cover.verify()


def test_large_integers_are_proved_exactly() -> None:
    cover = reductions.minimum_weight_edge_cover(([0, 1, 2], [1, 2, 3], [2**40, 1, 2**40]))
    cover.verify()
    with pytest.raises(VerificationError, match="the edges weigh"):
        replace(cover, weight=cover.weight + 1).verify()
