"""Cut trees, the smallest cut, edge and vertex connectivity, against NetworkX and by trying everything."""

from __future__ import annotations

import itertools
import math
import pickle
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.connectivity import global_cut, many_pairs, reading
from preflow.errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError, VerificationError
from preflow.maxflow.pair_flows import flow_of_pair, make_network, values_of_pairs, values_until

Edges = list[tuple[int, int, int]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    """Return a number of vertices and edges (u, v, weight) between different ones."""
    n = draw(st.integers(2, 8))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    pairs = draw(st.lists(ends, max_size=24))
    return n, [(u, v, draw(st.integers(0, 9))) for u, v in pairs]


def graph_of(n: int, edges: Edges, factor: float = 1) -> preflow.UndirectedGraph:
    tail, head, weight = (np.array([edge[i] for edge in edges], dtype=np.int64) for i in range(3))
    return preflow.UndirectedGraph.from_arrays(
        tail, head, weight if factor == 1 else weight * factor, num_vertices=n
    )


def networkx_of(n: int, edges: Edges, kind: Any = nx.Graph) -> Any:
    """Return a simple graph in which the weights of parallel edges add up."""
    graph = kind()
    graph.add_nodes_from(range(n))
    for u, v, weight in edges:
        total = weight + (graph[u][v]["weight"] if graph.has_edge(u, v) else 0)
        graph.add_edge(u, v, weight=total)
    return graph


def torus(side: int) -> tuple[np.ndarray, np.ndarray]:
    place = np.arange(side**2).reshape(side, side)
    right, down = np.roll(place, -1, axis=1), np.roll(place, -1, axis=0)
    return np.concatenate([place, place]).ravel(), np.concatenate([right, down]).ravel()


@given(graphs(), st.sampled_from([1, 0.37]))
@settings(max_examples=60, deadline=None)
def test_cut_trees(given_graph: tuple[int, Edges], factor: float) -> None:
    n, edges = given_graph
    graph, other = graph_of(n, edges, factor), networkx_of(n, edges)
    tree = preflow.gomory_hu_tree(graph)
    tree.verify()
    assert (tree.gap == 0) == (factor == 1 or not edges or not any(edge[2] for edge in edges)) or factor != 1
    expected = nx.gomory_hu_tree(other, capacity="weight")
    for u, v in itertools.permutations(range(n), 2):
        path = nx.shortest_path(expected, u, v)
        least = min(expected[a][b]["weight"] for a, b in itertools.pairwise(path))
        value, side = tree.min_cut_value(u, v), tree.side(u, v)
        assert value == pytest.approx(least * factor, rel=1e-12)
        assert side[v]
        assert not side[u]
        assert graph.weight is not None
        crossing = side[graph.tail] != side[graph.head]
        assert graph.weight[crossing].sum() == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("productive", [0.0, 0.8, 1.0])
@given(graphs(), st.sampled_from([1, 0.37]))
@settings(max_examples=60, deadline=None)
def test_smallest_cuts(productive: float, given_graph: tuple[int, Edges], factor: float) -> None:
    n, edges = given_graph
    usual, global_cut.PRODUCTIVE = global_cut.PRODUCTIVE, productive
    try:
        cut = preflow.global_min_cut(graph_of(n, edges, factor))
    finally:
        global_cut.PRODUCTIVE = usual
    cut.verify()
    positive = networkx_of(n, [edge for edge in edges if edge[2] > 0])
    expected = nx.stoer_wagner(positive)[0] if nx.is_connected(positive) else 0
    assert cut.value == pytest.approx(expected * factor, rel=1e-12)
    assert cut.graph.weight is not None
    assert cut.graph.weight[cut.edges].sum() == pytest.approx(cut.value, rel=1e-12)


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_connectivity_of_undirected_graphs(given_graph: tuple[int, Edges]) -> None:
    n, edges = given_graph
    graph = networkx_of(n, edges)
    found, vertices = preflow.edge_connectivity(graph), preflow.vertex_connectivity(graph)
    found.verify()
    vertices.verify()
    assert found.value == nx.edge_connectivity(graph)
    assert vertices.value == nx.node_connectivity(graph)
    between, cut = preflow.edge_connectivity(graph, 0, n - 1), None
    between.verify()
    assert between.value == nx.edge_connectivity(graph, 0, n - 1)
    if not graph.has_edge(0, n - 1):
        cut = preflow.vertex_connectivity(graph, 0, n - 1)
        cut.verify()
        assert cut.value == nx.node_connectivity(graph, 0, n - 1)
    multigraph = preflow.edge_connectivity(graph_of(n, edges))
    multigraph.verify()
    assert multigraph.value == preflow.global_min_cut(graph_of(n, [(u, v, 1) for u, v, _ in edges])).value


def directed_vertex_connectivity(graph: nx.DiGraph) -> int:
    """Return the smallest number of vertices to remove, by trying all sets."""
    for size in range(len(graph) - 1):
        for removed in itertools.combinations(graph.nodes, size):
            rest = graph.copy()
            rest.remove_nodes_from(removed)
            if not nx.is_strongly_connected(rest):
                return size
    return len(graph) - 1


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_connectivity_of_directed_graphs(given_graph: tuple[int, Edges]) -> None:
    n, edges = given_graph
    graph = networkx_of(n, edges, nx.DiGraph)
    found, vertices = preflow.edge_connectivity(graph), preflow.vertex_connectivity(graph)
    found.verify()
    vertices.verify()
    assert found.value == nx.edge_connectivity(graph)
    assert vertices.value == directed_vertex_connectivity(graph)
    between = preflow.edge_connectivity(graph, 0, n - 1)
    between.verify()
    assert between.value == nx.edge_connectivity(graph, 0, n - 1)
    if not graph.has_edge(0, n - 1):
        cut = preflow.vertex_connectivity(graph, 0, n - 1)
        cut.verify()
        assert cut.value == nx.node_connectivity(graph, 0, n - 1)


def test_a_torus() -> None:
    """Rounds of contractions join two or three vertices each: the flows have to do the rest."""
    tail, head = torus(30)
    cut = preflow.global_min_cut((tail, head))
    cut.verify()
    assert cut.value == 4
    assert len(cut._order) > 500
    assert preflow.vertex_connectivity((tail, head)).value == 4
    directed = preflow.FlowNetwork.from_arrays(tail, head, 1)
    found = preflow.edge_connectivity(directed)
    found.verify()
    assert found.value == 2
    assert preflow.vertex_connectivity(directed).value == 2


def test_inputs() -> None:
    matrix = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    graph = nx.from_numpy_array(matrix)
    tail, head, weight = [0, 0, 1], [1, 2, 2], [3, 1, 2]
    network = preflow.FlowNetwork.from_arrays(tail, head, weight, reverse_capacity=weight)
    for what in (
        (tail, head, weight),
        sp.csr_array(matrix),
        sp.csr_array(np.triu(matrix)),
        network,
        preflow.UndirectedGraph.from_arrays(tail, head, weight),
    ):
        assert preflow.global_min_cut(what).value == 3
        assert preflow.gomory_hu_tree(what).min_cut_value(0, 1) == 4
        assert preflow.edge_connectivity(what).value == 2
        assert preflow.vertex_connectivity(what).value == 2
    assert preflow.global_min_cut(graph).value == 3
    assert preflow.global_min_cut(graph, weight="weight").value == 3
    assert preflow.global_min_cut(graph, weight=False).value == 2
    assert preflow.global_min_cut((tail, head), weight=[5, 5, 1]).value == 6
    both = nx.Graph([("a", "b", {"weight": 2, "capacity": 7})])
    assert preflow.global_min_cut(both).value == nx.stoer_wagner(both)[0] == 2
    assert preflow.gomory_hu_tree(both).min_cut_value("a", "b") == 7
    assert nx.gomory_hu_tree(both)["a"]["b"]["weight"] == 7
    lengths = nx.Graph([("a", "b", {"length": 7})])
    with pytest.raises(InvalidInputError, match=r"'capacity'; weight='length'\? weight=False"):
        preflow.gomory_hu_tree(lengths)
    table = pd.DataFrame({"source": ["a"], "target": ["b"], "capacity": [7], "name": ["A1"]})
    assert preflow.global_min_cut(table).value == preflow.gomory_hu_tree(table).min_cut_value("a", "b") == 7
    labelled = nx.relabel_nodes(graph, {0: "a", 1: "b", 2: "c"})
    tree = preflow.gomory_hu_tree(labelled, weight="weight")
    assert tree.min_cut_value("a", "c") == 3
    assert tree.side("a", "c").tolist() == [False, False, True]
    assert tree.partition("a", "c") == ({"a", "b"}, {"c"})
    assert preflow.edge_connectivity(labelled, "a", "b").value == 2


def test_complete_graphs_and_two_vertices() -> None:
    for n in (2, 3, 6):
        found = preflow.vertex_connectivity(nx.complete_graph(n))
        found.verify()
        assert (found.value, found.vertices.tolist()) == (n - 1, [])
    apart = preflow.UndirectedGraph.from_arrays([], [], num_vertices=2)
    for function in (preflow.edge_connectivity, preflow.vertex_connectivity, preflow.global_min_cut):
        result = function(apart)
        result.verify()
        assert result.value == 0
    assert preflow.gomory_hu_tree(apart).weight.tolist() == [0, 0]


def test_large_and_small_weights() -> None:
    large = preflow.global_min_cut(([0, 1, 2], [1, 2, 0], [2**59, 2**59, 2**58]))
    large.verify()
    assert large.value == 2**59 + 2**58
    with pytest.raises(CapacityOverflowError):
        preflow.global_min_cut(([0, 1, 2], [1, 2, 0], [2**60, 2**60, 1]))
    small = preflow.gomory_hu_tree(([0, 1], [1, 2], [1e-300, 3e-300]))
    small.verify()
    assert small.min_cut_value(0, 2) == 1e-300
    wide = preflow.global_min_cut(([0, 1], [1, 2], [1e300, 0.5]))
    wide.verify()
    assert wide.value == 0.5


FLOAT_MAX = sys.float_info.max
HUGE = [1e7, 1e10, 1e15, float(2**53 + 2), 1e18, 1e100, 1e300, 5e-324, 1e-310]


def check_floats(n: int, edges: list[tuple[int, int, float]]) -> None:
    """Compare with all cuts, computed exactly: every cut is right beside its own weight."""
    tail, head, weight = ([edge[i] for edge in edges] for i in range(3))
    graph = preflow.UndirectedGraph.from_arrays(tail, head, np.array(weight, dtype=float), num_vertices=n)
    cuts = {
        side: sum(Fraction(w) for u, v, w in edges if (u in side) != (v in side))
        for size in range(1, n)
        for side in itertools.combinations(range(1, n), size)
    }
    cut, tree = preflow.global_min_cut(graph), preflow.gomory_hu_tree(graph)
    assert cut.status == tree.status == "optimal"
    cut.verify()
    assert math.isclose(cut.value, min(cuts.values()), rel_tol=2**-40)
    assert cut.value - min(cuts.values()) <= cut.gap
    for u, v in itertools.combinations(range(n), 2):
        least = min(weight for side, weight in cuts.items() if (u in side) != (v in side))
        assert math.isclose(tree.min_cut_value(u, v), least, rel_tol=2**-40)
        side = tree.side(u, v) ^ tree.side(u, v)[0]
        assert math.isclose(cuts[tuple(np.flatnonzero(side).tolist())], least, rel_tol=2**-40)
    tree.verify()


def test_a_huge_weight_spoils_no_other_cut() -> None:
    weights = [0.5, 0.9, 0.25, 0.3, 1e18, 0.125]
    cut = preflow.global_min_cut(([0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 2, 3], weights))
    assert cut.value == 0.675
    assert cut.gap < 1e-12
    tree = preflow.gomory_hu_tree(([0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 2, 3], weights))
    assert tree.min_cut_value(1, 3) == 0.675
    assert tree.min_cut_value(0, 2) == pytest.approx(1e18)
    random = np.random.default_rng(1)
    for _ in range(60):
        n = int(random.integers(2, 7))
        ends = random.integers(0, n, (int(random.integers(0, 3 * n)), 2)).tolist()
        check_floats(
            n,
            [
                (u, v, float(random.choice(HUGE)) if random.random() < 0.1 else random.random())
                for u, v in ends
            ],
        )


@pytest.mark.parametrize("bits", [46, 50])
def test_light_edges_of_a_tree_are_found_in_finer_units(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few bits for sums, weights of all sizes take many levels, with groups and branches around them."""
    random = np.random.default_rng(bits)
    for _ in range(12):
        n = int(random.integers(4, 30))
        tail, head = random.integers(0, n, (2, 3 * n))
        weight = np.floor(2 ** random.uniform(0, 50, 3 * n)).astype(np.int64) | 1
        graph = preflow.UndirectedGraph.from_arrays(tail, head, weight, num_vertices=n)
        exact = preflow.gomory_hu_tree(graph)
        with monkeypatch.context() as patch:
            patch.setattr(reading, "BITS_OF_SUM", bits)
            tree = preflow.gomory_hu_tree(graph.with_weights(weight / 2))
            assert tree.status == "optimal"
        tree.verify()
        for u, v in itertools.combinations(range(n), 2):
            assert math.isclose(2 * tree.min_cut_value(u, v), exact.min_cut_value(u, v), rel_tol=2**-40)


def test_largest_floats() -> None:
    ends = [0, 1, 2, 3, 4], [1, 2, 3, 4, 0]
    for huge in (1e308, FLOAT_MAX):
        edges = (*ends, [huge, 0.5, huge, huge, 0.25])
        assert preflow.global_min_cut(edges).value == 0.75
        assert preflow.gomory_hu_tree(edges).min_cut_value(1, 2) == 0.75
    with pytest.raises(CapacityOverflowError, match="past"):
        preflow.global_min_cut((*ends, [FLOAT_MAX] * 5))
    with pytest.raises(CapacityOverflowError, match="a cut of the tree may use sum past"):
        preflow.gomory_hu_tree(([0, 0, 1], [1, 1, 2], [FLOAT_MAX, FLOAT_MAX, 1.5]))


def test_what_is_not_optimal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10 bits for sums no gap is small enough."""
    monkeypatch.setattr(reading, "BITS_OF_SUM", 10)
    edges = ([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [0.3, 0.7, 0.55, 0.9, 0.35])
    for found in (preflow.global_min_cut(edges), preflow.gomory_hu_tree(edges)):
        assert found.status == "approximate"
        assert "approximate within" in repr(found)
        assert found.plot().get_title() == "approximate"
        found.verify()


def test_integers_that_no_smallest_cut_uses() -> None:
    edges = ([0, 1, 2, 3], [1, 2, 3, 0], [2**62, 3, 2**62, 4])
    cut, tree = (
        preflow.global_min_cut(edges),
        preflow.gomory_hu_tree(([0, 1, 2], [1, 2, 2], [7, 2**60, 2**62])),
    )
    assert (cut.value, cut.gap) == (7, 0)
    cut.verify()
    assert tree.weight.tolist() == [0, 7, 2**60]
    tree.verify()


def test_bad_input() -> None:
    for function in (preflow.gomory_hu_tree, preflow.global_min_cut):
        with pytest.raises(InvalidInputError, match="negative"):
            function(([0], [1], [-1]))
        with pytest.raises(InvalidInputError, match="two vertices"):
            function(([0], [0], [1]))
        with pytest.raises(InvalidInputError, match="directed"):
            function(preflow.FlowNetwork.from_arrays([0], [1], [1]))
        with pytest.raises(InvalidInputError, match="directed"):
            function(nx.DiGraph([(0, 1)]))
        with pytest.raises(InvalidInputError, match="finite"):
            function(([0], [1], [np.inf]))
    for function in (preflow.edge_connectivity, preflow.vertex_connectivity):
        with pytest.raises(InvalidInputError, match="two vertices"):
            function(([0], [0]))
        with pytest.raises(InvalidInputError, match="both or neither"):
            function(([0], [1]), 0)
        with pytest.raises(InvalidInputError, match="both source and sink"):
            function(([0], [1]), 0, 0)
        with pytest.raises(InvalidInputError):
            function(([0], [1]), 0, 5)
    with pytest.raises(InvalidInputError, match="neighbours"):
        preflow.vertex_connectivity(([0], [1]), 0, 1)
    tree = preflow.gomory_hu_tree(([0], [1], [3]))
    with pytest.raises(InvalidInputError, match="twice"):
        tree.min_cut_value(1, 1)


def test_wrong_results_are_refused() -> None:
    arcs = ([0, 0, 1, 2, 3, 3], [1, 2, 2, 3, 4, 5], [3, 1, 4, 2, 5, 6])
    tree = preflow.gomory_hu_tree(arcs)
    cut = preflow.global_min_cut(arcs)
    edges, vertices = preflow.edge_connectivity(arcs), preflow.vertex_connectivity(arcs)
    side = np.array([False, True, True, True, True, True])
    for wrong in (
        replace(tree, weight=tree.weight + 1),
        replace(tree, parent=np.array([0, 0, 0, 0, 0, 4]), weight=np.array([0, 7, 7, 13, 11, 6])),
        replace(tree, parent=np.array([0, 2, 1, 2, 3, 3])),
        replace(cut, value=cut.value + 1),
        replace(cut, side=side, value=4),
        replace(cut, side=~np.zeros(6, dtype=bool)),
        replace(cut, _rounds=()),
        replace(edges, value=2),
        replace(edges, side=side, edges=np.array([0, 1]), value=2),
        replace(vertices, vertices=np.array([1, 2]), value=2, side=np.arange(6) > 2),
        replace(vertices, vertices=np.array([1])),
        replace(vertices, value=0, vertices=np.array([], dtype=np.int64)),
    ):
        with pytest.raises(VerificationError):
            wrong.verify()


def test_smallest_floats() -> None:
    """The unit to which they are scaled is below all floats."""
    graph = preflow.UndirectedGraph.from_arrays([0, 1], [1, 2], [5e-324, 1.5e-323])
    tree = preflow.gomory_hu_tree(graph)
    assert sorted(tree.weight.tolist()) == [0, 5e-324, 1.5e-323]
    assert tree.gap > 0
    tree.verify()


@given(graphs(), st.booleans(), st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_flows_of_pairs(given_graph: tuple[int, Edges], directed: bool, limit: int) -> None:
    """Searches from both ends find the values of flows from one end, and the network is as before."""
    n, edges = given_graph
    tail, head, weight = (np.array([edge[i] for edge in edges], dtype=np.int64) for i in range(3))
    network = make_network(n, tail, head, weight, np.zeros_like(weight) if directed else weight)
    pairs = np.array(list(itertools.permutations(range(n), 2))).T
    found = values_of_pairs(network, pairs, np.full(pairs.shape[1], limit))
    assert np.array_equal(network.residual, network.capacity)
    for (u, v), value in zip(pairs.T.tolist(), found.tolist(), strict=True):
        network.residual[:] = network.capacity
        whole, side = flow_of_pair(network, u, v, 2**62)
        assert value == min(whole, limit)
        assert side[v]
        assert not side[u]
        kept = ~side[np.repeat(np.arange(n), np.diff(network.first))] & side[network.head]
        assert network.capacity[kept].sum() == whole


def largest_flow(n: int, arcs: list[tuple[int, int, float]], u: int, v: int) -> float:
    """Return the capacity of the smallest cut, by trying all."""
    least = math.inf
    for members in itertools.product([False, True], repeat=n):
        if members[u] and not members[v]:
            least = min(least, sum(c for tail, head, c in arcs if members[tail] and not members[head]))
    return least


@given(
    graphs().filter(lambda graph: graph[0] <= 6),
    st.booleans(),
    st.sampled_from([1, 0.37, 1e-300, 2.0**40]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_pair_flows(
    given_graph: tuple[int, Edges], directed: bool, factor: float, endless: bool, random: Any
) -> None:
    """Values against all cuts: of integers, floats and infinite capacities, with pairs several times."""
    n, edges = given_graph
    capacity = [math.inf if endless and not random.randrange(4) else c * factor for _, _, c in edges]
    tail, head = ([edge[i] for edge in edges] for i in range(2))
    reverse = None if directed else capacity
    network = preflow.FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=n)
    pairs = list(itertools.permutations(range(n), 2))
    pairs += random.choices(pairs, k=5)
    found = preflow.pair_flows(network, pairs)
    found.verify()
    arcs = list(zip(tail, head, capacity, strict=True))
    arcs += [] if directed else zip(head, tail, capacity, strict=True)
    for (u, v), value in zip(pairs, found.value.tolist(), strict=True):
        assert value == pytest.approx(largest_flow(n, arcs, u, v), rel=1e-12)
    assert not found.gap.any() or factor == 0.37 or endless or factor == 1e-300
    assert found.solved.all()
    assert found.status == "optimal"
    copied = pickle.loads(pickle.dumps(found))
    for k in range(0, len(found), 3):
        if found.value[k] == math.inf:
            with pytest.raises(UnboundedFlowError):
                copied[k]
            continue
        result, cut = copied[k], preflow.min_cut(network, *pairs[k])
        result.verify()
        assert result.value == pytest.approx(found.value[k], rel=1e-11)
        np.testing.assert_array_equal(result.sink_side, cut.sink_side)


@given(graphs(), st.sampled_from([1, 0.37, 1e-300]), st.booleans(), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_pair_flows_that_are_stopped(
    given_graph: tuple[int, Edges], factor: float, endless: bool, turn: int, seed: int
) -> None:
    """Pairs that are left have a value and a gap that are proved as well."""
    n, edges = given_graph
    rng = np.random.default_rng(seed)
    capacity = [math.inf if endless and rng.random() < 0.2 else c * factor for _, _, c in edges]
    tail, head = ([edge[i] for edge in edges] for i in range(2))
    network = preflow.FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n)
    pairs = list(itertools.permutations(range(n), 2))
    whole = preflow.pair_flows(network, pairs)
    turns = []

    def stopped(made: Any, ends: Any, limits: Any, control: Any, threads: Any) -> Any:
        values = values_until(made, ends, limits, control, threads)
        turns.append(turn)
        if len(turns) == turn:
            values[rng.random(len(values)) < 0.5] = -1
            control.stop[0] = 1
        return values

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many_pairs, "values_until", stopped)
        found = preflow.pair_flows(network, pairs)
    found.verify()
    assert (found.status == "optimal") == found.solved.all()
    solved = found.solved
    assert found.value[solved].tolist() == pytest.approx(whole.value[solved].tolist(), rel=1e-11)
    # The gaps of both, and no NaN where both are infinite.
    assert (whole.value <= found.value + found.gap + whole.gap).all()


def test_pair_flows_with_a_time_limit() -> None:
    problem = preflow.generators.grid_2d(60, 60, seed=1)
    pairs = np.random.default_rng(0).permutation(3600).reshape(-1, 2)
    reports: list[preflow.ProgressReport] = []
    found = preflow.pair_flows(problem.network, pairs, time_limit=1e-4, progress=reports.append, threads=1)
    assert found.status == "time-limit"
    assert f"{int((~found.solved).sum()):,} not solved in time" in repr(found)
    assert (found.gap[~found.solved] > 0).all()
    assert not found.value[~found.solved].any()
    assert 0 <= reports[-1].settled <= 1
    with pytest.raises(InvalidInputError, match="time_limit"):
        preflow.pair_flows(problem.network, pairs, time_limit=0)


def test_pair_flows_of_graphs_with_labels() -> None:
    graph = nx.barabasi_albert_graph(60, 3, seed=1)
    names = nx.relabel_nodes(graph, str)
    nx.set_edge_attributes(names, 1, "capacity")
    pairs = [("3", "41"), ("41", "3"), ("0", "59"), ("3", "41")]
    found = preflow.pair_flows(names, pairs)
    found.verify()
    expected = [nx.edge_connectivity(names, u, v) for u, v in pairs]
    assert found.value.tolist() == expected
    edges = preflow.UndirectedGraph.from_edges(names.edges)
    assert preflow.pair_flows(edges, pairs, threads=1).value.tolist() == expected
    assert repr(found) == "<PairFlows: 4 pairs>"
    assert [flow.value for flow in found] == expected
    assert len(found[-1].cut_edges()) == expected[-1]
    with pytest.raises(IndexError):
        found[4]
    assert preflow.pair_flows(names, []).value.tolist() == []


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 0)], "both of pair 0 are the same"),
        ([(0, 7)], "does not exist"),
        ([(-1, 0)], "does not exist"),
        ([0, 1], "expected .k, 2."),
        ([(0.5, 1)], "integers"),
    ],
)
def test_pairs_that_are_none(pairs: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.pair_flows(([0, 1], [1, 2], [1, 1]), pairs)
    with pytest.raises(CapacityOverflowError, match="divide"):
        preflow.pair_flows(([0, 0], [1, 2], [2**61, 2**61]), [(0, 1)])
    with pytest.raises(CapacityOverflowError, match="float64"):
        preflow.pair_flows(([0, 0, 1], [1, 2, 2], [1e308, 1e308, math.inf]), [(0, 1)])


def test_pair_flows_of_extreme_capacities() -> None:
    for capacity in (1e308, 5e-324, 2.0**53 + 2):
        found = preflow.pair_flows(
            ([0, 1, 0], [1, 2, 2], [capacity, capacity, 1.5]), [(0, 1), (0, 2), (2, 0)]
        )
        found.verify()
        assert found.value.tolist() == pytest.approx([capacity, capacity + 1.5, 0])


@given(st.integers(0, 10**6), st.sampled_from([1e15, 1e200, math.inf]), st.sampled_from([1.0, 1e-30]))
def test_large_capacities_leave_small_flows_exact(seed: int, large: float, unit: float) -> None:
    """Each value is as exact as that of max_flow, whatever other pairs carry."""
    rng = np.random.default_rng(seed)
    n, m = 7, 20
    capacity = rng.integers(0, 9, m) * unit / 7
    capacity[rng.random(m) < 0.2] = large
    network = preflow.FlowNetwork.from_arrays(*rng.integers(0, n, (2, m)), capacity, num_vertices=n)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    found = preflow.pair_flows(network, pairs)
    found.verify()
    for (source, sink), value, gap in zip(pairs, found.value.tolist(), found.gap.tolist(), strict=True):
        try:
            least = preflow.max_flow(network, source, sink).value
        except preflow.errors.UnboundedFlowError:
            least = math.inf
        assert value == pytest.approx(least, rel=1e-11, abs=0)
        assert gap <= 1e-11 * value


@pytest.mark.parametrize("edges_a_vertex", [1, 2, 5])
@pytest.mark.parametrize("heaviest", [1, 3, 1000])
def test_cut_trees_of_graphs_with_hubs(edges_a_vertex: int, heaviest: int) -> None:
    """Most cuts are those around one vertex, of either end; some are not."""
    rng = np.random.default_rng(heaviest)
    graph = nx.barabasi_albert_graph(120, edges_a_vertex, seed=heaviest)
    tail, head = rng.permutation(120)[np.array(graph.edges)].T
    tree = preflow.gomory_hu_tree((tail, head, rng.integers(1, heaviest + 1, len(tail))))
    tree.verify()


@pytest.mark.parametrize("heaviest", [1, 1000])
def test_cut_trees_of_grids(heaviest: int) -> None:
    rng = np.random.default_rng(heaviest)
    tail, head = rng.permutation(100)[np.array(torus(10))]
    tree = preflow.gomory_hu_tree((tail, head, rng.integers(1, heaviest + 1, len(tail))))
    tree.verify()


def test_many_pairs_on_threads() -> None:
    tail, head = torus(8)
    ones = np.ones(len(tail), dtype=np.int64)
    pairs = np.array(list(itertools.combinations(range(64), 2))).T
    network = make_network(64, tail, head, ones, ones)
    assert (values_of_pairs(network, pairs, np.full(pairs.shape[1], 9)) == 4).all()
    graph = preflow.UndirectedGraph.from_arrays(tail, head)
    assert (preflow.pair_flows(graph, pairs.T, threads=5).value == 4).all()


def test_sides_of_the_global_cut_by_label() -> None:
    cut = preflow.global_min_cut([("a", "b", 3), ("b", "c", 2)])
    assert sorted(map(sorted, cut.partition())) == [["a", "b"], ["c"]]
    assert sorted(map(sorted, preflow.global_min_cut(([0, 1], [1, 2], [3, 2])).partition())) == [[0, 1], [2]]


def test_a_flow_past_float64_is_no_infinite_one() -> None:
    with pytest.raises(CapacityOverflowError, match="the flow of a pair is past float64"):
        preflow.pair_flows(([0, 0], [1, 1], [1e308, 1e308]), [(0, 1)])
    preflow.pair_flows(([0, 0], [1, 1], [1e308, 5e307]), [(0, 1), (1, 0)]).verify()
    endless = preflow.pair_flows(([0, 1], [1, 2], [float("inf"), 1.0]), [(0, 1), (0, 2)])
    assert endless.value.tolist() == [float("inf"), 1.0]
