"""matching_batch: many small graphs with weights, against brute force, NetworkX and single calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest

import preflow
from preflow.errors import CostOverflowError, InfeasibleMatchingError, InvalidInputError
from preflow.general_matching.batch import api
from preflow.general_matching.batch.graphs import read_graphs
from preflow.general_matching.result import GeneralMatchingResult, Wanted
from preflow.solving.call import Request
from tests.support.damage import damaged

#: What can be asked for.
GOALS: tuple[dict[str, bool], ...] = (
    {},
    {"maximize": False},
    {"maximum_cardinality": True},
    {"maximum_cardinality": True, "maximize": False},
    {"perfect": True, "maximize": False},
)


def stack(items: int, n: int, low: int, high: int, seed: int = 0) -> Any:
    """Return symmetric matrices of integers."""
    upper = np.triu(np.random.default_rng(seed).integers(low, high, (items, n, n)), 1)
    return upper + upper.transpose(0, 2, 1)


def lists(items: int, n: int, edges: int, high: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return lists of up to `edges` edges, with loops and parallel edges."""
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(rng.integers(0, edges + 1, items)))
    return rng.integers(0, n, (offsets[-1], 2)), rng.integers(-2, high, offsets[-1]), offsets


def best_by_brute_force(graph: preflow.UndirectedGraph, wanted: Wanted) -> int | float:
    """Return the weight of a best matching, by all matchings."""
    sign = 1 if wanted.maximize else -1
    edges = list(
        zip(graph.tail.tolist(), graph.head.tolist(), np.asarray(graph.weight).tolist(), strict=True)
    )

    def matchings(at: int, used: int) -> Iterator[tuple[int, int | float]]:
        if at == len(edges):
            yield 0, 0
            return
        yield from matchings(at + 1, used)
        u, v, weight = edges[at]
        if u != v and not used & (1 << u | 1 << v):
            for pairs, total in matchings(at + 1, used | 1 << u | 1 << v):
                yield pairs + 1, total + sign * weight

    found = list(matchings(0, 0))
    most = max(pairs for pairs, _ in found)
    return sign * max(total for pairs, total in found if pairs == most or not wanted.most_edges)


def check(
    graphs: Any, *, brute: bool = False, goals: tuple[dict[str, bool], ...] = GOALS, **given: Any
) -> None:
    """Solve a batch for all goals, prove it, and compare it with single solves or with brute force."""
    for goal in goals:
        result = preflow.matching_batch(graphs, **goal, **given)
        assert result.status == "optimal"
        result.verify()
        for item, one in enumerate(result):
            if brute:
                expected = best_by_brute_force(
                    one.graph, Wanted(one.maximize, one.perfect, one.maximum_cardinality)
                )
                assert one.weight == pytest.approx(expected)
            else:
                single = preflow.matching(one.graph, **goal)
                assert abs(single.weight - one.weight) <= single.gap + one.gap
            assert result.value[item] == one.weight


@pytest.mark.parametrize("factor", [1, 1.0, 0.5, 0.37, 2**40])
@pytest.mark.parametrize("high", [3, 50])
def test_matrices(factor: float, high: int) -> None:
    check(stack(12, 6, -2, high) * factor, brute=True)
    check(stack(6, 20, -2, high, 1) * factor)


def test_entries_that_are_no_edges() -> None:
    check(stack(20, 7, 0, 4), brute=True, goals=GOALS[:4], no_edge=0)
    floats = stack(20, 6, 0, 4) * 0.1
    for absent in (np.nan, np.inf, -np.inf):
        check(np.where(floats == 0, absent, floats), brute=True, goals=GOALS[:4])
    check(floats, brute=True, goals=GOALS[:4], no_edge=0)


@pytest.mark.parametrize("factor", [1, 0.37])
def test_lists_of_edges(factor: float) -> None:
    pairs, weights, offsets = lists(30, 6, 12, 5)
    check((pairs, weights * factor, offsets), brute=True, goals=GOALS[:4], num_vertices=6)
    pairs, weights, offsets = lists(20, 60, 180, 9, 1)
    check((pairs, weights * factor, offsets), goals=GOALS[:4])


def test_graphs_in_a_list_keep_their_labels() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("ada", "bob", 5), ("bob", "cyd", 6)])
    result = preflow.matching_batch([graph, ([0, 1], [1, 2], [3, 4])])
    assert result[0].pairs() == [("bob", "cyd")]
    assert result.value.tolist() == [6, 4]
    assert result.mate.tolist() == [-1, 2, 1, -1, 2, 1]
    result.verify()


@pytest.mark.parametrize("size", [3, 10, 33, 64])
def test_agrees_with_networkx(size: int) -> None:
    """Equal weights make nested blossoms; triangles with pendant edges make them in every search."""
    for number, weights in enumerate((stack(4, size, 1, 3), stack(4, size, 1, 100), pendant(4, size))):
        for most_pairs in (False, True):
            result = preflow.matching_batch(weights, maximum_cardinality=most_pairs, no_edge=0)
            result.verify()
            for item, one in enumerate(result):
                pairs = nx.max_weight_matching(nx.from_numpy_array(weights[item]), maxcardinality=most_pairs)
                assert one.weight == sum(weights[item][u, v] for u, v in pairs), (number, item)
                assert one.cardinality == len(pairs) or not most_pairs


def pendant(items: int, size: int) -> Any:
    """Return rows of triangles, each joined to the next one, with an edge that hangs from some corners."""
    rng = np.random.default_rng(size)
    weights = np.zeros((items, size, size), dtype=np.int64)
    for corner in range(0, size - 3, 4):
        for u, v in ((0, 1), (1, 2), (2, 0), (2, 3), (3, 4)):
            if corner + v < size:
                weights[:, corner + u, corner + v] = rng.integers(1, 4, items)
    return np.maximum(weights, weights.transpose(0, 2, 1))


def test_threads_find_the_same() -> None:
    weights = stack(40, 30, 1, 9)
    one, several = (preflow.matching_batch(weights, threads=threads) for threads in (1, 3))
    assert several.stats.threads == 3
    np.testing.assert_array_equal(one.mate, several.mate)
    assert several.stats.phases == one.stats.phases > 0


def test_items_that_are_solved_alone() -> None:
    """Integers whose sums may not fit, and floats that one rounding loses."""
    check(stack(3, 6, 2**57, 2**59), brute=True, goals=GOALS[:1])
    floats = stack(3, 6, 1, 50) * 0.1
    check(np.concatenate([floats, floats * 1e-300, floats * 1e290]), brute=True)
    floats[0, 0, 1] = floats[0, 1, 0] = 1e30
    check(floats)
    with pytest.raises(CostOverflowError, match="item 1"):
        preflow.matching_batch(np.stack([np.ones((3, 3), int), np.full((3, 3), 2**61)]))


def test_nothing() -> None:
    for graphs in (np.zeros((0, 3, 3)), np.zeros((4, 0, 0), int), np.zeros((2, 1, 1)), []):
        result = preflow.matching_batch(graphs)
        result.verify()
        assert (result.value == 0).all()
    result = preflow.matching_batch((np.zeros((0, 2), int), [], [0, 0, 0]), num_vertices=[2, 3])
    assert result.mate.tolist() == [-1] * 5
    result.verify()


def test_no_perfect_matching() -> None:
    weights = np.stack([np.ones((4, 4)), np.diag([1.0] * 4), np.ones((4, 4))])
    with pytest.raises(InfeasibleMatchingError, match="item 1: no perfect") as error:
        preflow.matching_batch(weights, perfect=True, no_edge=0)
    assert error.value.item == (1,)
    assert len(error.value.components) == 4


def test_no_time_to_prove_that_there_is_no_perfect_matching(monkeypatch: pytest.MonkeyPatch) -> None:
    """No item counts as solved then."""
    alone = api.BatchCall.solve_alone

    def too_late(call: api.BatchCall, item: int) -> GeneralMatchingResult:
        call.control.stop[0] = 1
        return alone(call, item)

    monkeypatch.setattr(api.BatchCall, "solve_alone", too_late)
    result = preflow.matching_batch(np.ones((5, 5, 5)), perfect=True)
    assert result.status == "time-limit"
    assert not result.optimal.any()
    result.verify()


def test_weights_that_underflow() -> None:
    weights = np.full((1, 4, 4), np.nan)
    for u, v, weight in ((0, 1, 3e247), (2, 3, 3e-289)):
        weights[0, u, v] = weights[0, v, u] = weight
    check(weights)


def test_a_marker_is_rounded_as_the_weights() -> None:
    weights = np.full((1, 2, 2), 0.1, np.float32)
    assert preflow.matching_batch(weights, no_edge=0.1).mate.tolist() == [[-1, -1]]
    assert preflow.matching_batch(np.full((1, 2, 2), -(2**63)), no_edge=-(2**63)).value.tolist() == [0]


@pytest.mark.parametrize(
    ("graphs", "given", "message"),
    [
        (np.arange(18).reshape(2, 3, 3), {}, "item 0: the matrix is not symmetric: it has 1"),
        ([[0, np.nan], [1, 0]] * np.ones((2, 1, 1)), {}, "not symmetric"),
        (np.zeros((3, 3)), {}, "shape"),
        (np.zeros((2, 3, 4)), {}, "shape"),
        (np.zeros((2, 3, 3), complex), {}, "complex"),
        (np.zeros((2, 3, 3)), {"num_vertices": 3}, "num_vertices is for"),
        (np.zeros((2, 3, 3), int), {"no_edge": 0.5}, "must be an integer"),
        (np.zeros((2, 3, 3), int), {"no_edge": np.nan}, "must be an integer"),
        (np.zeros((2, 3, 3)), {"no_edge": 10**400}, "must be a number that fits float64"),
        (np.zeros((2, 3, 3)), {"no_edge": "0"}, "must be a number"),
        (np.zeros((2, 3, 3)), {"maximize": 1}, "must be True or False"),
        (([[0, 1]], [1]), {}, "got 2 arrays"),
        (([[0, 1, 2]], [1], [0, 1]), {}, "pairs must have"),
        (([[0, 1]], [1, 2], [0, 1]), {}, "weights must have"),
        (([[0, 1]], [1], [0, 2]), {}, "offsets must rise"),
        (([[0, 1]], [1], [0, 1]), {"no_edge": 0}, "no_edge is for"),
        (([[0, 5]], [1], [0, 0, 1]), {"num_vertices": 3}, "item 1: vertex 5 is out of range"),
        (([[0, 5]], [np.inf], [0, 0, 1]), {}, "item 1"),
        ([([0], [1])], {}, "item 0: the graph has no weights"),
        ([([0], [1], [0.5]), ([0], [1], [2**60])], {}, "item 1: weights past"),
        (5, {}, "graphs must be"),
    ],
)
def test_malformed_graphs(graphs: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.matching_batch(graphs, **given)


@pytest.mark.parametrize("factor", [1, 0.37])
@pytest.mark.parametrize("goal", GOALS)
def test_stopping(goal: dict[str, bool], factor: float) -> None:
    batch, wanted = (
        read_graphs(stack(4, 6, -9, 10) * factor),
        Wanted(**{**dict.fromkeys(Wanted._fields, False), "maximize": True, **goal}),
    )
    call = api.BatchCall.prepare(batch, wanted, Request(api.METHODS))
    call.control.stop[0] = 1
    result = call.find()
    assert result.status == "time-limit"
    assert not result.optimal.any()
    result.verify()


def test_proof_finds_damage() -> None:
    result = preflow.matching_batch(stack(3, 6, 1, 9))
    for field in ("lower_bound", "mate", "optimal"):
        other = getattr(result, field).copy()
        other.flat[0] = not other.flat[0] if field == "optimal" else -1
        with pytest.raises(preflow.errors.VerificationError):
            damaged(result, field, other).verify()
    duals = result._duals
    with pytest.raises(preflow.errors.VerificationError, match="item 0"):
        damaged(result, "_duals", duals._replace(vertex=duals.vertex + 1)).verify()
