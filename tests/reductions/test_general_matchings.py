"""Edge covers, b-matchings, T-joins and the postman against all sets of edges of small graphs."""

from __future__ import annotations

import itertools
import math
import sys
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import reductions
from preflow.certify.exact import float_near
from preflow.errors import CostOverflowError, InvalidInputError, VerificationError

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
        (lambda: reductions.t_join(([0], [1], [2**59]), [0, 1]), "too large"),
        (lambda: reductions.chinese_postman(([0], [1], [-1])), "negative weight"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


HUGE = [1e7, 1e13, 1e17, 1e32, 1e200, 1e308, sys.float_info.max, 5e-324, 1e-310]


@st.composite
def far_apart(draw: st.DrawFn, signs: tuple[int, ...] = (1, 1, 1, -1)) -> preflow.UndirectedGraph:
    """Draw a small graph with floats, of which some are huge or tiny."""
    n = draw(st.integers(2, 5))
    ends = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1, max_size=7))
    small = st.floats(0, 2, width=32) | st.sampled_from([0.1, 0.3, 1 / 3])
    one = st.tuples(small | small | st.sampled_from(HUGE), st.sampled_from(signs))
    weights = [size * sign for size, sign in draw(st.lists(one, min_size=len(ends), max_size=len(ends)))]
    tail, head = zip(*ends, strict=True)
    return preflow.UndirectedGraph.from_arrays(tail, head, np.array(weights), num_vertices=n)


def exact_best(graph: preflow.UndirectedGraph, fits: Any, sign: int) -> Fraction | None:
    """Return what `best` does, exactly."""
    assert graph.weight is not None
    weights = list(map(Fraction, graph.weight.tolist()))
    found = [
        sum((weights[i] for i in chosen), Fraction(0))
        for k in range(graph.num_edges + 1)
        for chosen in itertools.combinations(range(graph.num_edges), k)
        if fits(degrees(graph, chosen))
    ]
    return min(found, key=lambda total: sign * total, default=None)


def check_exactly(solve: Any, right: Fraction) -> None:
    if math.isinf(float_near(right)):
        with pytest.raises(CostOverflowError):
            solve()
        return
    found = solve()
    found.verify()
    sizes = [abs(Fraction(weight)) for weight in found.graph.weight[found.edges].tolist()]
    assert abs(Fraction(found.weight) - right) <= Fraction(found.gap)
    assert Fraction(found.gap) <= sum(sizes) * (Fraction(1, 2**40) + Fraction(len(sizes), 2**53))


@settings(max_examples=60)
@given(far_apart(), st.data())
def test_weights_that_are_far_apart(graph: preflow.UndirectedGraph, data: st.DataObject) -> None:
    n = graph.num_vertices
    odd = data.draw(st.sets(st.integers(0, n - 1)))
    wanted = np.isin(np.arange(n), list(odd))
    least = exact_best(graph, lambda degree: np.array_equal(degree % 2 == 1, wanted), 1)
    if least is not None:
        check_exactly(lambda: reductions.t_join(graph, odd), least)
    cover = exact_best(graph, lambda degree: (degree > 0).all(), 1)
    if cover is not None:
        check_exactly(lambda: reductions.minimum_weight_edge_cover(graph), cover)
    limit = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    plain = graph.with_weights(np.where(graph.tail == graph.head, -1.0, graph.weight))
    most = exact_best(plain, lambda degree: (degree <= limit).all(), -1)
    assert most is not None
    check_exactly(lambda: reductions.general_b_matching(graph, limit), most)


@settings(max_examples=40)
@given(far_apart(signs=(1,)))
def test_walks_of_weights_that_are_far_apart(graph: preflow.UndirectedGraph) -> None:
    assert graph.weight is not None
    degree = degrees(graph, range(graph.num_edges))
    twice = exact_best(graph, lambda more: ((degree + more) % 2 == 0).all(), 1)
    assert twice is not None
    try:
        check_exactly(
            lambda: reductions.chinese_postman(graph), twice + sum(map(Fraction, graph.weight.tolist()))
        )
    except InvalidInputError as error:
        if "connected" not in str(error):
            raise


@pytest.mark.parametrize("leaves", [6, 7, 40])
def test_joins_at_vertices_of_many_edges(leaves: int) -> None:
    """A hub with many leaves, each also joined with the next one at a price."""
    rng = np.random.default_rng(leaves)
    spokes, rim = np.arange(1, leaves + 1), np.arange(1, leaves)
    tail, head = np.append(np.zeros(leaves, dtype=np.int64), rim), np.append(spokes, rim + 1)
    weight = rng.integers(1, 9, len(tail))
    for odd in (range(1, leaves + 1 - leaves % 2), [1, leaves], [0, leaves // 2]):
        join = reductions.t_join((tail, head, weight), odd)
        join.verify()
        plain = nx.Graph()
        plain.add_weighted_edges_from(zip(tail.tolist(), head.tolist(), weight.tolist(), strict=True))
        lengths = dict(nx.all_pairs_dijkstra_path_length(plain))
        pairs = nx.Graph()
        for u, v in itertools.combinations(odd, 2):
            pairs.add_edge(u, v, weight=lengths[u][v])
        chosen = nx.min_weight_matching(pairs)
        assert join.weight == sum(pairs.edges[pair]["weight"] for pair in chosen)


def test_joins_of_many_vertices_take_little_memory() -> None:
    """All pairs of the vertices would take 12 bytes each: 100 MB."""
    side = 60
    number = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    head = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    weight = np.random.default_rng(0).random(len(tail))
    tracemalloc.start()
    join = reductions.t_join((tail, head, weight), range(0, side * side - 1, 2))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2_000 * len(tail)
    join.verify()


def test_time_limits_and_methods_are_passed_on() -> None:
    graph = ([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [3, 2, 4, 1, 2])
    for solve in (
        lambda **given: reductions.t_join(graph, [0, 1], **given),
        lambda **given: reductions.chinese_postman(graph, **given),
        lambda **given: reductions.minimum_weight_edge_cover(graph, **given),
        lambda **given: reductions.general_b_matching(graph, 2, **given),
    ):
        assert solve(time_limit=60, options=None).matching.status == "optimal"
        with pytest.raises(InvalidInputError, match="time_limit"):
            solve(time_limit=-1)
        with pytest.raises(InvalidInputError, match="unknown method"):
            solve(method="fastest")


def test_an_edge_without_weight_counts_once() -> None:
    """Adding it twice changes neither degrees of a join nor the weight of a cover."""
    graph = ([0, 1, 1], [1, 2, 2], [1, 2, 0])
    for result in (reductions.minimum_weight_edge_cover(graph), reductions.t_join(graph, [0, 2])):
        edges = np.sort(np.append(result.edges, [2, 2]))
        with pytest.raises(VerificationError, match="ascending"):
            replace(result, edges=edges).verify()


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
