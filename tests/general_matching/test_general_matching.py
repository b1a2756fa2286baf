"""Matching in general graphs: every method against oracles, with proofs, on all kinds of input."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.certify.blossoms import odd_components
from preflow.errors import (
    CostOverflowError,
    InfeasibleMatchingError,
    InvalidInputError,
    VerificationError,
)
from preflow.general_matching import serial_blossom
from preflow.general_matching.initial import first_matching
from preflow.graph.undirected import UndirectedGraph, neighbours_of
from preflow.solving.run import Control
from tests.invariants.serial_blossom import check_invariants as check_serial_blossom

EXACT = [method for method in preflow.methods("matching") if not method.approximate]
PLAIN = [method.name for method in EXACT if not method.weighted]
WEIGHTED = [method.name for method in EXACT if method.weighted]

pytestmark = pytest.mark.fast


def best_matchings(graph: UndirectedGraph) -> dict[int, list[Any]]:
    """Return the weights of all matchings of a small graph, by their number of pairs."""
    found: dict[int, list[Any]] = {}
    edges = list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    weights = [1] * len(edges) if graph.weight is None else graph.weight.tolist()

    def extend(first: int, used: set[int], pairs: int, total: Any) -> None:
        found.setdefault(pairs, []).append(total)
        for i in range(first, len(edges)):
            u, v = edges[i]
            if u != v and u not in used and v not in used:
                extend(i + 1, used | {u, v}, pairs + 1, total + weights[i])

    extend(0, set(), 0, 0)
    return found


@st.composite
def small_graphs(draw: st.DrawFn, weights: st.SearchStrategy[Any]) -> UndirectedGraph:
    """Draw a graph with up to 7 vertices, loops and parallel edges."""
    n = draw(st.integers(1, 7))
    ends = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=10))
    weight = draw(st.lists(weights, min_size=len(ends), max_size=len(ends)))
    tail, head = (np.array([pair[i] for pair in ends], dtype=np.int64) for i in (0, 1))
    return UndirectedGraph.from_arrays(tail, head, weight, num_vertices=n)


INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**55), 2**55))
FLOATS = st.one_of(st.floats(-10, 10), st.floats(-1e300, 1e300), st.sampled_from([5e-324, 0.5, 0.1, 0.0]))


@pytest.mark.parametrize("method", WEIGHTED)
@given(small_graphs(INTEGERS), st.booleans())
def test_weights_against_all_matchings(method: str, graph: UndirectedGraph, maximize: bool) -> None:
    best, matchings = max if maximize else min, best_matchings(graph)
    result = preflow.matching(graph, maximize=maximize, method=method)
    result.verify()
    assert result.weight == result.value == best(itertools.chain(*matchings.values()))
    most = max(matchings)
    result = preflow.matching(graph, maximize=maximize, maximum_cardinality=True, method=method)
    result.verify()
    assert (result.cardinality, result.weight) == (most, best(matchings[most]))
    if 2 * most == graph.num_vertices:
        result = preflow.matching(graph, maximize=maximize, perfect=True, method=method)
        result.verify()
        assert result.value == best(matchings[most])
    else:
        with pytest.raises(InfeasibleMatchingError) as caught:
            preflow.matching(graph, maximize=maximize, perfect=True, method=method)
        barrier = np.zeros(graph.num_vertices, dtype=bool)
        barrier[list(caught.value.barrier)] = True
        components = [tuple(part.tolist()) for part in odd_components(graph, barrier)]
        assert sorted(caught.value.components) == sorted(components)
        assert len(components) > len(caught.value.barrier)


@pytest.mark.parametrize("method", WEIGHTED)
@given(small_graphs(FLOATS), st.booleans())
def test_floats_against_all_matchings(method: str, graph: UndirectedGraph, maximize: bool) -> None:
    best, matchings = max if maximize else min, best_matchings(graph)
    for most_edges in (False, True):
        result = preflow.matching(graph, maximize=maximize, maximum_cardinality=most_edges, method=method)
        result.verify()
        weights = matchings[max(matchings)] if most_edges else list(itertools.chain(*matchings.values()))
        assert abs(result.weight - best(weights)) <= result.gap + 1e-9 * abs(best(weights))


@pytest.mark.parametrize("method", PLAIN)
@given(small_graphs(st.just(1)))
def test_cardinality_against_all_matchings(method: str, graph: UndirectedGraph) -> None:
    result = preflow.matching(graph, weight=False, method=method)
    result.verify()
    assert result.value == result.cardinality == max(best_matchings(graph))


@st.composite
def larger_graphs(draw: st.DrawFn) -> UndirectedGraph:
    """Draw a graph with up to 40 vertices."""
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m = int(n * draw(st.sampled_from([0.6, 1, 1.5, 3, 8])))
    most = draw(st.sampled_from([1, 3, 1000]))
    return UndirectedGraph.from_arrays(
        *rng.integers(0, n, (2, m)), rng.integers(1, most + 1, m), num_vertices=n
    )


@settings(max_examples=50)
@given(larger_graphs(), st.booleans())
def test_agrees_with_networkx(graph: UndirectedGraph, most_edges: bool) -> None:
    plain = nx.Graph()
    assert graph.weight is not None
    for u, v, w in zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True):
        if u != v:
            plain.add_edge(u, v, weight=max(w, plain.edges[u, v]["weight"] if plain.has_edge(u, v) else 0))
    pairs = nx.max_weight_matching(plain, maxcardinality=most_edges)
    result = preflow.matching(graph, maximum_cardinality=most_edges)
    result.verify()
    assert result.weight == sum(plain.edges[pair]["weight"] for pair in pairs)
    size = preflow.matching(graph, weight=False)
    size.verify()
    assert size.cardinality == len(nx.max_weight_matching(plain, maxcardinality=True, weight="none"))


@pytest.mark.parametrize("method", PLAIN)
def test_all_graphs_of_up_to_seven_vertices(method: str) -> None:
    """The atlas has each of them once, but for the names of its vertices."""
    rng = np.random.default_rng(0)
    for plain in nx.graph_atlas_g():
        n = len(plain)
        name = rng.permutation(n)
        ends = np.array(list(plain.edges), dtype=np.int64).reshape(-1, 2)
        graph = UndirectedGraph.from_arrays(name[ends[:, 0]], name[ends[:, 1]], num_vertices=n)
        result = preflow.matching(graph, method=method)
        result.verify()
        weighted = preflow.matching(
            graph.with_weights(rng.integers(1, 4, len(ends))), maximum_cardinality=True
        )
        weighted.verify()
        assert weighted.cardinality == result.cardinality


@given(st.integers(0, 2**32), st.sampled_from(["none", "karp-sipser"]))
def test_trees_keep_their_invariants(seed: int, initial: Literal["none", "karp-sipser"]) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    ends = rng.integers(0, n, (2, int(n * rng.choice([0.7, 1.2, 2])))).astype(np.uint32)
    graph = neighbours_of(n, *ends, None)
    control, options = Control(1), serial_blossom.InitialOptions(initial=initial)
    trees = serial_blossom.new_trees(first_matching(graph, None, options, control))
    serial_blossom.plant(trees)
    check_serial_blossom(trees, graph)
    serial_blossom.run(trees, graph, control.monitor())
    check_serial_blossom(trees, graph)


def test_the_last_tree_is_not_grown() -> None:
    """A path with an odd number of vertices has one free vertex: nothing is scanned."""
    n = 10_001
    mate = np.arange(n) ^ 1
    mate[-1] = -1
    result = preflow.matching((np.arange(n - 1), np.arange(1, n)), warm_start=mate, method="serial-blossom")
    result.verify()
    assert result.stats.arc_scans < 10
    assert result.cardinality == n // 2


def test_settled_vertices_are_in_no_tree() -> None:
    tree = ([0, 0, 0, 3, 3, 5], [1, 2, 3, 4, 5, 6])
    for method in ("serial-blossom", "multicore-blossom"):
        result = preflow.matching(tree, method=method)
        result.verify()
        assert (result.cardinality, result.stats.arc_scans) == (3, 0)


def test_every_kind_of_input() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    pandas = pytest.importorskip("pandas")
    labels = "abcd"
    edges = [("a", "b", 3), ("b", "c", 5), ("c", "d", 4)]
    plain = nx.Graph()
    plain.add_weighted_edges_from(edges)
    matrix = scipy_sparse.coo_array(([3, 5, 4], ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    frame = pandas.DataFrame(edges, columns=["source", "target", "w"])
    graphs: list[tuple[Any, Any]] = [
        (([0, 1, 2], [1, 2, 3], [3, 5, 4]), None),
        (([0, 1, 2], [1, 2, 3]), [3, 5, 4]),
        (matrix, None),
        (matrix + matrix.T, None),
        (plain, "weight"),
        (plain, [3, 5, 4]),
        (UndirectedGraph.from_edges(edges), None),
        (UndirectedGraph.from_pandas(frame, weight="w"), None),
    ]
    for graph, weight in graphs:
        result = preflow.matching(graph, weight=weight)
        assert result.weight == 7
        named = [
            tuple(labels[end] if isinstance(end, int) else end for end in pair) for pair in result.pairs()
        ]
        assert named == [("a", "b"), ("c", "d")]
    assert preflow.matching(plain).cardinality == 2
    assert preflow.matching(matrix, weight=False).upper_bound == 2


@pytest.mark.parametrize(
    ("graph", "given", "message"),
    [
        (([0], [1], [math.nan]), {}, "NaN"),
        (([0], [1], [math.inf]), {}, "finite"),
        (([0], [1, 2]), {}, "entries"),
        (([0], [-1]), {}, "negative vertex"),
        (([0], [1], [1], [1]), {}, "a tuple must be"),
        (([0], [1]), {"weight": "weight"}, "names an attribute"),
        (([0], [1]), {"maximize": "yes"}, "True or False"),
        (([0], [1]), {"method": "serial-weighted-blossom"}, "with weights"),
        (([0], [1], [2]), {"method": "serial-blossom"}, "without weights"),
        (([0], [1]), {"warm_start": [0, 1]}, "no matching"),
        (([0], [1], [2]), {"warm_start": [-1, -1]}, "no duals"),
        ("graph", {}, "a graph is"),
        (nx.DiGraph([(0, 1)]), {}, "directed"),
        (nx.Graph([(0, 1)]), {"weight": "w"}, "no edge has"),
    ],
)
def test_bad_input(graph: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.matching(graph, **given)


def test_large_weights() -> None:
    most = 2**60 - 1
    result = preflow.matching(([0, 1, 2], [1, 2, 0], [most, most - 1, most - 2]))
    result.verify()
    assert result.weight == most
    result = preflow.matching(([0, 1, 2], [1, 2, 3], [most, most, most]))
    result.verify()
    assert result.weight == 2 * most
    with pytest.raises(CostOverflowError, match="too large"):
        preflow.matching(([0], [1], [2**60]))
    with pytest.raises(CostOverflowError, match="divided by the number of vertices"):
        preflow.matching(([0, 1, 2], [1, 2, 3], [2**59, 1, 2]), perfect=True)
    with pytest.raises(CostOverflowError, match="more than float64 can represent"):
        preflow.matching(([0, 2], [1, 3], [1.7e308, 1.7e308]))


def test_an_earlier_matching_is_a_start() -> None:
    graph = ([0, 1, 2, 3], [1, 2, 3, 4])
    first = preflow.matching(graph)
    again = preflow.matching(graph, warm_start=first)
    again.verify()
    assert again.stats.augmentations == 0
    assert preflow.matching(graph, warm_start=[-1, 2, 1, -1, -1]).cardinality == 2


def test_an_empty_graph() -> None:
    for weight in ([], None):
        result = preflow.matching(UndirectedGraph.from_arrays([], [], weight, num_vertices=3))
        result.verify()
        assert result.cardinality == result.weight == 0
    with pytest.raises(InfeasibleMatchingError, match="3 components"):
        preflow.matching(UndirectedGraph.from_arrays([], [], num_vertices=3), perfect=True)
    preflow.matching(UndirectedGraph.from_arrays([], [], num_vertices=0), perfect=True).verify()


def odd_cycles(rng: np.random.Generator) -> UndirectedGraph:
    """Return triangles in a ring, with weights that make blossoms."""
    base = np.arange(0, 30, 3)
    tail = np.concatenate([base, base + 1, base, base + 2])
    head = np.concatenate([base + 1, base + 2, base + 2, (base + 3) % 30])
    return UndirectedGraph.from_arrays(tail, head, rng.integers(8, 12, len(tail)))


def test_corrupted_results_are_refused() -> None:
    rng = np.random.default_rng(5)
    for weighted, maximize in ((True, True), (True, False), (False, True)):
        graph = odd_cycles(rng)
        wanted = {"maximize": maximize, "maximum_cardinality": not maximize}
        result = preflow.matching(graph if weighted else graph.without_weights(), **wanted)
        if not weighted:
            fields = ["mate", "lower_bound", "upper_bound", "barrier", "status"]
        elif maximize:
            fields = ["mate", "lower_bound", "upper_bound", "vertex", "parent", "blossom", "status"]
        else:
            fields = ["mate", "lower_bound", "upper_bound", "vertex"]
        for field in fields:
            corrupt = preflow.matching(result.graph, **wanted)
            if field in ("vertex", "parent", "blossom"):
                assert corrupt.duals is not None
                values = getattr(corrupt.duals, field).copy()
                if not len(values):
                    continue
                values[0] = {"vertex": values[0] - 1, "parent": 3, "blossom": -1}[field]
                change: Any = corrupt.duals._replace(**{field: values})
                object.__setattr__(corrupt, "duals", change)
            else:
                change = {
                    "mate": np.roll(corrupt.mate, 1),
                    "lower_bound": corrupt.lower_bound + 1,
                    "upper_bound": corrupt.upper_bound - 1,
                    "barrier": np.ones(graph.num_vertices, dtype=bool),
                    "status": "best",
                }[field]
                object.__setattr__(corrupt, field, change)
            with pytest.raises(VerificationError):
                corrupt.verify()


def test_blossoms_have_vertices_and_duals() -> None:
    result = preflow.matching(([0, 1, 2, 2], [1, 2, 0, 3], [5, 6, 7, 4]))
    (blossom,) = result.blossoms
    assert blossom.vertices.tolist() == [0, 1, 2]
    assert result.vertex_duals is not None
    assert result.vertex_duals.sum() + blossom.dual == result.weight


def test_neighbours_of_a_graph_with_loops_and_parallel_edges() -> None:
    tail, head = np.array([0, 0, 1, 2, 2], np.uint32), np.array([0, 1, 0, 0, 0], np.uint32)
    graph = neighbours_of(3, tail, head, np.array([9, 3, 5, 2, 1]))
    assert graph.first.tolist() == [0, 2, 3, 4]
    rows = [
        sorted(zip(graph.neighbour[a:b].tolist(), graph.weight[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(graph.first.tolist())
    ]
    assert rows == [[(1, 5), (2, 2)], [(0, 5)], [(0, 2)]]


@pytest.mark.parametrize("weight", [2**53 - 1, 2**53, 2**53 + 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_beside_the_largest_that_floats_hold(weight: int, sign: int) -> None:
    """The kernel of small graphs compares weights as floats, which round 2**53 + 1 to 2**53."""
    for goal in ({}, {"perfect": True}, {"maximum_cardinality": True}, {"maximize": False, "perfect": True}):
        result = preflow.matching(([0, 1, 2], [1, 2, 3], [sign * weight, 0, 1 - sign * weight]), **goal)
        result.verify()
        if "perfect" in goal:
            assert result.weight == 1
