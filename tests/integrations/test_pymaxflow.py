"""The drop-in for PyMaxflow: the same values and segments as the package itself, and as all cuts tried."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflow.errors import CapacityOverflowError, InvalidInputError, InvalidTypeError
from preflow.integrations import pymaxflow
from preflow.integrations.pymaxflow import fastmin
from preflow.integrations.pymaxflow import graph as graphs

EDGE = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9), st.integers(0, 9))
TERMINAL = st.tuples(st.integers(0, 4), st.integers(-9, 9), st.integers(-9, 9))


def cost(side: tuple[int, ...], edges: Any, terminal: Any) -> int:
    """Return what a division costs; 1 is the sink's side."""
    total = sum(a if side[i] else b for i, a, b in terminal)
    return int(total + sum(a * (side[i] < side[j]) + b * (side[j] < side[i]) for i, j, a, b in edges))


@given(st.lists(EDGE, max_size=8), st.lists(TERMINAL, max_size=8))
def test_against_all_cuts(edges: Any, terminal: Any) -> None:
    g = pymaxflow.Graph[int]()
    nodes = g.add_nodes(5)
    for edge in edges:
        g.add_edge(*edge)
    for i, a, b in terminal:
        g.add_tedge(i, a, b)
    value = g.maxflow()
    assert value == min(cost(side, edges, terminal) for side in itertools.product((0, 1), repeat=5))
    segments = tuple(g.get_segment(i) for i in nodes)
    assert cost(segments, edges, terminal) == value
    assert (g.get_node_count(), g.get_edge_count()) == (5, 2 * len(edges))


STRUCTURES: list[Any] = [
    None,
    [[0, 0, 0], [0, 0, 1], [0, 1, 0]],
    [[0, 1, 0], [4, 0, 2], [0, 3, 0]],
    [[1, 0, 2, 0, 0], [0, 0, 0, 0, 3], [0, 0, 7, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]],
]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("periodic", [False, True, [True, False]])
@pytest.mark.parametrize("kind", [int, float])
def test_same_as_pymaxflow(structure: Any, symmetric: bool, periodic: Any, kind: type) -> None:
    peer = pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    rng = np.random.default_rng(5)
    source, sink, weights = rng.integers(0, 20, (3, 7, 6))
    given = None if structure is None else np.array(structure)
    found = []
    for package in (pymaxflow, peer):
        g = package.Graph[kind]()
        nodes = g.add_grid_nodes((7, 6))
        g.add_grid_edges(nodes, weights, structure=given, symmetric=symmetric, periodic=periodic)
        g.add_grid_tedges(nodes, source, sink)
        first = g.maxflow()
        segments = g.get_grid_segments(nodes).tolist()
        g.add_grid_tedges(nodes, sink, 0)  # a second solve of the changed graph
        found.append((first, segments, g.maxflow(), g.get_edge_count(), g.get_node_count()))
    assert found[0] == found[1]


def test_structures() -> None:
    assert pymaxflow.vonNeumann_structure().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert pymaxflow.moore_structure().tolist() == [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
    assert pymaxflow.vonNeumann_structure(1, True).tolist() == [0, 0, 1]
    assert pymaxflow.moore_structure(3, True).sum() == 13


def test_copies_and_reset() -> None:
    g = pymaxflow.Graph[float]()
    g.add_nodes(1)
    g.add_tedge(0, np.inf, 2.5)
    other = g.copy()
    assert other.maxflow() == g.maxflow() == 2.5
    assert g.maxflow(reuse_trees=True) == 2.5
    g.mark_node(0)
    g.mark_grid_nodes([0])
    g.reset()
    assert g.get_node_num() == 0
    assert g.maxflow() == 0


def test_shallow_copies_have_edges_of_their_own() -> None:
    g = pymaxflow.Graph[int]()
    first, second = g.add_nodes(2)
    g.add_tedge(first, 3, 0)
    g.add_tedge(second, 0, 3)
    assert g.maxflow() == 0
    other = copy.copy(g)
    other.add_edge(first, second, 2, 0)
    other.add_tedge(second, 0, 1)
    assert (g.maxflow(), other.maxflow()) == (0, 2)


def test_an_interruption_adds_no_part_of_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges that are added once more would count twice."""

    def interrupted(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return neighbours(*arguments)

    calls: list[Any] = []
    neighbours = graphs.ring_boxes
    g = pymaxflow.Graph[int]()
    nodes = g.add_grid_nodes((3, 3))
    with monkeypatch.context() as patch:
        patch.setattr(graphs, "ring_boxes", interrupted)
        with pytest.raises(KeyboardInterrupt):
            g.add_grid_edges(nodes, 5)
    assert g.get_edge_count() == 0
    g.add_grid_edges(nodes, 5)
    assert g.get_edge_count() == 2 * 24


def test_networkx_graph() -> None:
    pytest.importorskip("networkx")
    g = pymaxflow.Graph[int]()
    nodes = g.add_nodes(2)
    g.add_edges(nodes[:1], nodes[1:], 3, [4])
    g.add_edge(0, 1, 2, 0)
    g.add_tedge(0, 5, 0)
    edges = g.get_nx_graph().edges(data="weight")
    assert sorted(map(str, edges)) == ["('s', 0, 5)", "(0, 1, 5)", "(1, 0, 4)"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda g: g.add_edge(0, 9, 1, 1), InvalidInputError, "not in the graph"),
        (lambda g: g.add_edge(0, 1, -1, 1), InvalidInputError, "negative"),
        (lambda g: g.add_edge(0, 1, 1.5, 1), InvalidInputError, "integers"),
        (lambda g: g.add_edge(0.5, 1, 1, 1), InvalidTypeError, "nodes"),
        (lambda g: g.add_edge(0, 1, "a", 1), InvalidTypeError, "numbers"),
        (lambda g: g.add_edges([0, 1], [1, 0], [1, 2, 3], 0), InvalidInputError, "one length"),
        (lambda g: g.add_tedge(0, np.nan, 1), InvalidInputError, "finite"),
        (lambda g: g.add_grid_tedges([0, 1], [1, 2, 3], 0), InvalidInputError, "broadcast"),
        (lambda g: g.add_grid_edges([0, 1], structure=[1, 1]), InvalidInputError, "odd"),
        (lambda g: g.add_grid_edges([0, 1], periodic=[True, True]), InvalidInputError, "periodic"),
        (lambda g: g.add_grid_edges([0, 1], [1, 2, 3]), InvalidInputError, "broadcast"),
        (lambda g: g.get_segment(0), InvalidInputError, "maxflow"),
        (lambda g: g.add_nodes(0), InvalidInputError, "num_nodes"),
        (lambda g: g.add_grid_nodes((2.5, 3)), InvalidInputError, "shape"),
        (lambda g: g.add_grid_edges([0, 1], 2**62, [0, 0, 2]), CapacityOverflowError, "past int64"),
        (lambda g: [g.add_tedge(0, 2**62, 1), g.maxflow()], CapacityOverflowError, "sum to 2"),
    ],
)
def test_errors(call: Any, error: type[Exception], words: str) -> None:
    g = pymaxflow.Graph[int]()
    g.add_nodes(2)
    with pytest.raises(error, match=words):
        call(g)


def test_terminals_without_a_side() -> None:
    g = pymaxflow.GraphFloat()
    g.add_nodes(1)
    g.add_tedge(0, np.inf, np.inf)
    with pytest.raises(InvalidInputError, match="infinite"):
        g.maxflow()


def test_weights_of_small_dtypes_do_not_wrap() -> None:
    g = pymaxflow.GraphInt()
    nodes = g.add_grid_nodes((1, 2))
    structure = np.array([[0, 0, 2]], np.uint8)
    g.add_grid_edges(nodes, np.full((1, 2), 200, np.uint8), structure=structure)
    g.add_grid_tedges(nodes, [[1000, 0]], [[0, 1000]])
    assert g.maxflow() == 400


def test_sums_at_terminals_past_float64() -> None:
    """Differences past float64 are infinite beside what is left; a flow past float64 is an error."""
    largest = sys.float_info.max
    for low, high in ((-largest, 1e300), (-1e308, largest), (-largest, 0.5)):
        g = pymaxflow.GraphFloat()
        g.add_nodes(3)
        g.add_tedge(0, low, high)
        g.add_tedge(1, 0.25, 1.5)
        g.add_tedge(2, 1.0, 0.5)
        g.add_edge(1, 2, 0.125, 2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert g.maxflow() == low
        assert [g.get_segment(i) for i in range(3)] == [1, 1, 1]
    g.add_tedge(1, -largest, 1.0)
    with pytest.raises(CapacityOverflowError, match="past float64"):
        g.maxflow()


@pytest.mark.parametrize("kind", [int, float])
def test_edges_one_by_one(kind: type) -> None:
    """They are kept as numbers, and count like those of arrays, also in copies."""
    random = np.random.default_rng(3)
    n, m = 9, 40
    edges = random.integers(0, n, (m, 2)), random.integers(0, 9, (m, 2))
    terminal = random.integers(-9, 9, (n, 2))
    whole, single = pymaxflow.Graph[kind](), pymaxflow.Graph[kind]()
    for graph in (whole, single):
        graph.add_nodes(n)
    whole.add_edges(*edges[0].T, *edges[1].T)
    whole.add_grid_tedges(np.arange(n), *terminal.T)
    for ends, capacities in zip(*edges, strict=True):
        single.add_edge(int(ends[0]), ends[1], int(capacities[0]), kind(capacities[1]))
    for node in range(n):
        single.add_tedge(node, *terminal[node].tolist())
    kept = copy.copy(single)
    single.add_edge(0, 1, 100, 100)
    for graph in (kept, pickle.loads(pickle.dumps(kept)), kept.copy()):
        assert graph.get_edge_count() == whole.get_edge_count()
        assert graph.maxflow() == whole.maxflow()
        assert (graph.get_grid_segments(np.arange(n)) == whole.get_grid_segments(np.arange(n))).all()
    for wrong in (
        (0, n, 1, 1),
        (-1, 0, 1, 1),
        (0, 1, -1, 1),
        (0, 1, np.nan, 1),
        (True, 1, "a", 1),
        (0, 1, 2**70, 1),
    ):
        with pytest.raises(InvalidInputError):
            single.add_edge(*wrong)
    single.reset()
    assert single.get_edge_count() == 0


@pytest.mark.parametrize("periodic", [False, True])
def test_holes_in_a_grid(periodic: bool) -> None:
    """As in PyMaxflow: a node -1 is one that there is not."""
    random = np.random.default_rng(5)
    weights = random.integers(1, 9, (5, 5))
    graph, by_hand = pymaxflow.Graph[int](), pymaxflow.Graph[int]()
    nodes = graph.add_grid_nodes((5, 5))
    by_hand.add_nodes(25)
    nodes[1, 1] = nodes[3, 2] = -1
    graph.add_grid_edges(nodes, weights, symmetric=True, periodic=periodic)
    for (row, column), node in np.ndenumerate(nodes):
        for down, right in ((1, 0), (0, 1)):
            at = row + down, column + right
            if periodic or max(at) < 5:
                other = nodes[at[0] % 5, at[1] % 5]
                if node >= 0 <= other:
                    by_hand.add_edge(node, other, int(weights[row, column]), int(weights[row, column]))
    assert graph.get_edge_count() == by_hand.get_edge_count()
    terminal = random.integers(0, 20, (2, 25))
    for each in (graph, by_hand):
        each.add_grid_tedges(np.arange(25), *terminal)
    assert graph.maxflow() == by_hand.maxflow()
    before = graph.maxflow()
    graph.add_grid_tedges(nodes, 9, 1)
    by_hand.add_grid_tedges(nodes[nodes >= 0], 9, 1)
    assert before < graph.maxflow() == by_hand.maxflow()
    with pytest.raises(InvalidInputError):
        graph.get_grid_segments(nodes)


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("seed", range(12))
def test_grids_are_solved_as_grids(kind: type, seed: int) -> None:
    """An edge without capacity makes the same graph one that is no grid; values and segments are the same."""
    random = np.random.default_rng(seed)
    shape = [(5, 4), (1, 6), (7,), (3, 2, 4)][seed % 4]
    unit = 1 if kind is int else 0.37
    graphs = pymaxflow.Graph[kind](), pymaxflow.Graph[kind]()
    all_nodes, _ = (graph.add_grid_nodes(shape) for graph in graphs)
    graphs[1].add_edge(0, all_nodes.size - 1, 0, 0)
    for _ in range(random.integers(1, 4)):
        nodes = np.where(random.random(shape) < 0.2, -1, all_nodes) if seed % 3 else all_nodes
        structure = random.integers(0, 3, (3,) * len(shape))
        symmetric, periodic = (
            bool(random.integers(2)),
            [bool(ring) for ring in random.integers(0, 2, len(shape))],
        )
        weights = unit * random.integers(0, 9, shape)
        for graph in graphs:
            graph.add_grid_edges(nodes, weights, structure, symmetric, periodic)
    for chosen in (all_nodes, all_nodes[:1], np.where(all_nodes % 3, all_nodes, -1)):
        sides = unit * random.integers(-9, 20, (2, *chosen.shape))
        for graph in graphs:
            graph.add_grid_tedges(chosen, *sides)
        assert graphs[0].maxflow() == pytest.approx(graphs[1].maxflow(), rel=1e-12)
        segments = [graph.get_grid_segments(all_nodes).tolist() for graph in graphs]
        assert segments[0] == segments[1]
    assert graphs[0].get_edge_count() == graphs[1].get_edge_count() - 2
    assert graphs[0].copy().maxflow() == pytest.approx(graphs[0].maxflow(), rel=1e-12)
    assert graphs[0].get_nx_graph().size("weight") == pytest.approx(graphs[1].get_nx_graph().size("weight"))


@pytest.mark.parametrize("kind", [int, float])
def test_no_edge_of_a_grid_is_stored(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture of floats took 18 times as long as with PyMaxflow, since its edges were listed."""
    graph = pymaxflow.Graph[kind]()
    nodes = graph.add_grid_nodes((4, 5))
    graph.add_grid_edges(nodes, kind(3), symmetric=True)
    graph.add_grid_edges(nodes, kind(1), structure=[[0, 0, 0], [0, 0, 1], [0, 1, 1]])
    graph.add_grid_tedges(nodes, np.arange(20).reshape(4, 5), 7)
    monkeypatch.setattr(graphs, "min_cut", None)
    first = graph.maxflow()
    graph.add_tedge(3, 5, 0)
    assert graph.maxflow() >= first
    assert graph._last is not None
    assert graph._last.stats.seconds.keys() >= {"solve"}
    graph.add_edge(0, 9, 1, 1)
    with pytest.raises(TypeError):
        graph.maxflow()


@pytest.mark.parametrize("edges", [dict(weights=np.inf), dict(weights=2.0**60, structure=[[0, 0, 1]])])
def test_capacities_that_no_grid_takes(edges: Any) -> None:
    graph = pymaxflow.Graph[float if np.isinf(edges["weights"]) else int]()
    nodes = graph.add_grid_nodes((1, 3))
    graph.add_grid_edges(nodes, symmetric=True, **edges)
    graph.add_grid_tedges(nodes, [[5, 0, 0]], [[0, 0, 3]])
    assert graph.maxflow() == 3
    assert graph.get_grid_segments(nodes).tolist() == [[False, False, False]]


UNARY = np.array([[[0, 8, 9], [5, 4, 9], [0, 8, 2]], [[7, 1, 9], [9, 9, 0], [1, 1, 1]]])
BINARY = np.array([[0, 3, 3], [3, 0, 3], [3, 3, 0]])


def labelling_cost(labels: Any, binary: Any) -> int:
    """Return the energy of labels, added up pixel by pixel."""
    total = 0
    for (y, x), label in np.ndenumerate(labels):
        total += UNARY[y, x, label]
        total += binary[label, labels[y + 1, x]] if y + 1 < 2 else 0
        total += binary[label, labels[y, x + 1]] if x + 1 < 3 else 0
    return int(total)


@pytest.mark.parametrize("search", [pymaxflow.aexpansion_grid, fastmin.abswap_grid])
def test_labels(search: Any) -> None:
    labels = search(UNARY, BINARY)
    assert labels.dtype == np.int64
    assert fastmin.energy_of_grid_labeling(UNARY, BINARY, labels) == labelling_cost(labels, BINARY)
    least = min(
        labelling_cost(np.reshape(choice, (2, 3)), BINARY) for choice in itertools.product(range(3), repeat=6)
    )
    assert least <= labelling_cost(labels, BINARY) <= labelling_cost(UNARY.argmin(axis=-1), BINARY)
    given = np.ones((2, 3), dtype=np.int32)
    assert search(UNARY, BINARY, 0, given) is given
    assert (given == 1).all()
    assert search(UNARY * 0.5, BINARY * 0.5, labels=given) is given
    assert labelling_cost(given, BINARY) < labelling_cost(np.ones((2, 3), dtype=int), BINARY)
    with pytest.raises(InvalidTypeError, match="overwritten"):
        search(UNARY, BINARY, labels=[[0, 0, 0], [0, 0, 0]])


SQUARES = np.array([[0, 1, 4], [1, 0, 1], [4, 1, 0]])
STEPS: list[tuple[str, tuple[int, ...]]] = [
    *(("aexpansion_grid_step", (alpha,)) for alpha in range(3)),
    *(("abswap_grid_step", pair) for pair in itertools.permutations(range(3), 2)),
]


def least_of_step(alphas: tuple[int, ...], labels: Any, binary: Any) -> int:
    """Return the least energy of all choices of a step, each of which is tried."""
    free = np.flatnonzero(np.isin(labels, alphas) | (len(alphas) == 1))
    found = []
    for choice in itertools.product((False, True), repeat=len(free)):
        after = labels.copy()
        for place, taken in zip(free, choice, strict=True):
            after.flat[place] = alphas[0] if taken else (*alphas, labels.flat[place])[1]
        found.append(labelling_cost(after, binary))
    return min(found)


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize(("name", "alphas"), STEPS)
def test_a_step_is_the_best_of_all_choices(name: str, alphas: tuple[int, ...], kind: type) -> None:
    random = np.random.default_rng(4)
    unit = 1 if kind is int else 0.37
    binaries = (BINARY, SQUARES) if "swap" in name else (BINARY, np.minimum(SQUARES, 2))
    for binary, _ in itertools.product(binaries, range(5)):
        labels = random.integers(0, 3, (2, 3))
        least = least_of_step(alphas, labels, binary)
        before = labels.copy()
        value, graph = getattr(fastmin, name)(*alphas, UNARY * unit, binary * unit, labels)
        assert value == pytest.approx(unit * least)
        assert labelling_cost(labels, binary) == least <= labelling_cost(before, binary)
        assert type(graph) is pymaxflow.Graph[kind]
        assert graph.get_node_count() == labels.size
        assert graph.maxflow() == value


@pytest.mark.parametrize("name", ["aexpansion_grid", "abswap_grid"])
def test_no_step_improves_the_labels_of_a_search(name: str) -> None:
    random = np.random.default_rng(2)
    for seed in range(4):
        unary = random.integers(-9, 30, (*(3, 4, 5)[: seed % 3 + 1], 4))
        binary = 4 * np.minimum(np.abs(np.arange(4) - np.arange(4)[:, None]), 2)
        labels = getattr(fastmin, name)(unary, binary)
        energy = fastmin.energy_of_grid_labeling(unary, binary, labels)
        for alphas in itertools.combinations(range(4), 1 if name == "aexpansion_grid" else 2):
            moved = labels.astype(np.int32)
            assert getattr(fastmin, f"{name}_step")(*alphas, unary, binary, moved)[0] == energy
            assert fastmin.energy_of_grid_labeling(unary, binary, moved) == energy


def test_labels_that_cannot_be_overwritten() -> None:
    fixed = np.zeros((1, 2), np.int64)
    fixed.flags.writeable = False
    many = np.zeros((1, 2, 200), np.int64)
    distance = 1 - np.eye(200, dtype=np.int64)
    for unary, binary, labels in (
        (many[..., :2], distance[:2, :2], fixed),
        (many, distance, np.zeros((1, 2), np.int8)),
    ):
        with pytest.raises(InvalidTypeError, match="must be writeable"):
            fastmin.aexpansion_grid(unary, binary, labels=labels)
        with pytest.raises(InvalidTypeError, match="must be writeable"):
            fastmin.aexpansion_grid_step(1, unary, binary, labels)


def test_steps_refuse_what_is_no_label() -> None:
    labels = np.zeros((2, 3), dtype=int)
    for alpha in (3, -1, 0.5):
        with pytest.raises(InvalidInputError, match="labels"):
            fastmin.aexpansion_grid_step(alpha, UNARY, BINARY, labels)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="labels"):
        fastmin.abswap_grid_step(0, 7, UNARY, BINARY, labels)
    with pytest.raises(InvalidInputError, match="metric"):
        fastmin.aexpansion_grid_step(0, UNARY, SQUARES, labels)
    with pytest.raises(InvalidTypeError, match="overwritten"):
        fastmin.aexpansion_grid_step(0, UNARY, BINARY, labels.tolist())
    assert (labels == 0).all()


def test_swaps_need_no_metric() -> None:
    labels = fastmin.abswap_grid(UNARY, SQUARES)
    assert fastmin.energy_of_grid_labeling(UNARY, SQUARES, labels) == labelling_cost(labels, SQUARES)
    with pytest.raises(InvalidInputError, match="metric"):
        fastmin.aexpansion_grid(UNARY, SQUARES)


@pytest.mark.parametrize("name", ["aexpansion_grid", "abswap_grid"])
def test_labels_as_good_as_those_of_pymaxflow(name: str) -> None:
    peer = pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    random = np.random.default_rng(8)
    unary = random.integers(0, 40, (9, 8, 4)).astype(float)
    binary = 5.0 * np.minimum(np.abs(np.arange(4) - np.arange(4)[:, None]), 2)
    ours, theirs = (
        fastmin.energy_of_grid_labeling(unary, binary, getattr(package, name)(unary, binary))
        for package in (pymaxflow, peer)
    )
    assert ours == pytest.approx(theirs, rel=0.01)
    assert ours == peer.fastmin.energy_of_grid_labeling(
        unary, binary, getattr(pymaxflow, name)(unary, binary)
    )


@pytest.mark.parametrize(("name", "alphas"), STEPS)
def test_steps_reach_the_energies_of_pymaxflow(name: str, alphas: tuple[int, ...]) -> None:
    peer = pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    random = np.random.default_rng(6)
    unary, binary = random.integers(0, 40, (6, 5, 3)).astype(float), 5.0 * np.minimum(SQUARES, 2)
    start = random.integers(0, 3, (6, 5))
    energies = []
    for package in (fastmin, peer.fastmin):
        labels = start.copy()
        value, graph = getattr(package, name)(*alphas, unary, binary, labels)
        energies.append(fastmin.energy_of_grid_labeling(unary, binary, labels))
        assert "Float" in type(graph).__name__
        if len(alphas) == 1:
            assert value == energies[-1]
    assert energies[0] == energies[1]


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("periodic", [False, True, [False, True]])
def test_holes_are_those_of_pymaxflow(kind: type, periodic: Any) -> None:
    peer = pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    found = []
    for package in (pymaxflow, peer):
        random = np.random.default_rng(7)
        graph = package.Graph[kind]()
        nodes = graph.add_grid_nodes((6, 5))
        holes = np.where(random.random((6, 5)) < 0.3, -1, nodes)
        for structure in STRUCTURES:
            given = None if structure is None else np.array(structure)
            weights = random.integers(0, 9, (6, 5))
            graph.add_grid_edges(holes, weights, given, bool(random.integers(2)), periodic)
        graph.add_grid_tedges(holes, *random.integers(0, 40, (2, 6, 5)))
        value = graph.maxflow()
        segments = graph.get_grid_segments(holes[holes >= 0]).tolist()
        found.append((value, segments, graph.get_edge_count()))
        with pytest.raises((InvalidInputError, RuntimeError)):
            graph.get_grid_segments(holes)
    assert found[0] == found[1]


def test_names_and_parameters_are_those_of_pymaxflow() -> None:
    peer = pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    assert {name for name in dir(peer) if not name.startswith(("_", "version", "np"))} <= set(dir(pymaxflow))
    methods = {name for name in dir(peer.GraphInt) if not name.startswith("_")}
    assert methods <= set(dir(pymaxflow.GraphInt))
    for name in ("aexpansion_grid", "abswap_grid", "energy_of_grid_labeling"):
        wanted, found = (inspect.signature(getattr(each, name)) for each in (peer.fastmin, fastmin))
        assert list(wanted.parameters) == list(found.parameters)
    assert {name for name in dir(peer.fastmin) if "grid" in name} <= set(dir(fastmin))
