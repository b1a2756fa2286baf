"""How well graphs are connected, by preflow as a backend of NetworkX: NetworkX is the oracle."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

nx = pytest.importorskip("networkx")

from networkx.algorithms import connectivity  # noqa: E402

from preflow.errors import MissingDependencyError  # noqa: E402
from preflow.integrations.networkx import backend, residual  # noqa: E402
from tests.integrations.test_networkx import outcome  # noqa: E402

LABELS = ["s", "t", ("a", 1), 3.5, 2, 7, "b"]
KINDS = [nx.Graph, nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@st.composite
def graphs(draw: Any, kinds: Any = KINDS) -> Any:
    """Return a graph, often dense, with loops and parallel edges."""
    labels = draw(st.permutations(LABELS))[: draw(st.integers(0, len(LABELS)))]
    graph = draw(st.sampled_from(kinds))()
    graph.add_nodes_from(labels)
    if not labels:
        return graph
    pairs = list(
        itertools.product(labels, labels) if draw(st.booleans()) else itertools.permutations(labels, 2)
    )
    if draw(st.booleans()):
        graph.add_edges_from(pair for pair in pairs if draw(st.integers(0, 9)))
    else:
        graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), max_size=16)) if pairs else [])
    for _, _, data in graph.edges(data=True):
        if draw(st.booleans()):
            data["capacity"] = data["weight"] = draw(st.integers(0, 9) | st.floats(0, 9))
    return graph


def falls_apart(graph: Any, nodes: Any) -> bool:
    """Return whether what is left without some nodes is not connected, for a directed graph strongly."""
    rest = graph.copy()
    rest.remove_nodes_from(nodes)
    return len(rest) > 1 and not (nx.is_strongly_connected if graph.is_directed() else nx.is_connected)(rest)


def fewest_nodes(graph: Any) -> int:
    """Return the node connectivity, by trying all sets of nodes: the same whatever NetworkX is installed."""
    sizes = (
        size
        for size in range(len(graph) - 1)
        if any(falls_apart(graph, nodes) for nodes in itertools.combinations(graph, size))
    )
    return next(sizes, len(graph) - 1)


def reaches(graph: Any, s: Any, t: Any, edges: Any = (), nodes: Any = ()) -> bool:
    """Return whether t can still be reached from s."""
    rest = nx.Graph(graph) if not graph.is_directed() else nx.DiGraph(graph)
    rest.remove_edges_from(edges)
    rest.remove_nodes_from(nodes)
    return bool(nx.has_path(rest, s, t))


def peers(name: str, graph: Any) -> Any:
    """Return the graph for which NetworkX is right: its global edge cuts start from degrees with loops."""
    if name not in {"edge_connectivity", "minimum_edge_cut"} or graph.is_multigraph():
        return graph
    loopless = graph.copy()
    loopless.remove_edges_from(list(nx.selfloop_edges(graph)))
    return loopless


@given(graph=graphs(), cutoff=st.sampled_from([None, None, 0, 1, 2, 2.5, -1]))
@settings(max_examples=100, deadline=None)
def test_numbers(graph: Any, cutoff: Any) -> None:
    """All values are NetworkX's, of the same type, or its error is; but for faults before NetworkX 3.7."""
    if len(graph):
        assert backend.node_connectivity(graph) == fewest_nodes(graph)
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("edge_connectivity", (), {"cutoff": cutoff}),
        ("average_node_connectivity", (), {}),
        ("all_pairs_node_connectivity", (), {}),
        ("all_pairs_node_connectivity", (["t", "s", 2, 2],), {}),
    ]
    for s, t in (("s", "t"), ("t", "s"), ("s", "s"), ("s", None), (2, 3.5)):
        calls += [
            ("node_connectivity", (s, t), {}),
            ("edge_connectivity", (s, t), {"cutoff": cutoff}),
            ("local_node_connectivity", (s, t), {"cutoff": cutoff}),
            ("local_edge_connectivity", (s, t), {"cutoff": cutoff}),
        ]
    for name, args, keywords in calls:
        # A cutoff that is no integer is passed on.
        other = graph if cutoff == 2.5 else peers(name, graph)
        expected = outcome(lambda: getattr(connectivity, name)(other, *args, **keywords))  # noqa: B023
        found = outcome(lambda: getattr(backend, name)(graph, *args, **keywords))  # noqa: B023
        assert found == expected, (name, args, keywords)
        assert type(found) is type(expected), (name, args, keywords)


def assert_fewest_between(graph: Any, s: Any, t: Any, found: set[Any]) -> None:
    """Check a cut between two nodes by trying all smaller ones; an edge from the first has an empty one."""
    if not found:
        assert graph.has_edge(s, t) or not reaches(graph, s, t)
        return
    for nodes in itertools.combinations(set(graph) - {s, t}, len(found) - 1):
        assert reaches(graph, s, t, nodes=nodes)


@given(graph=graphs())
@settings(max_examples=100, deadline=None)
def test_cuts(graph: Any) -> None:
    """Cuts have NetworkX's size, and cut."""
    for name in ("minimum_st_edge_cut", "minimum_edge_cut", "minimum_st_node_cut", "minimum_node_cut"):
        for ends in (("s", "t"), (2, "b"), ("s", "s"), ("s", None), ()):
            other = peers(name, graph)
            expected = outcome(lambda: getattr(connectivity, name)(other, *ends))  # noqa: B023
            found = outcome(lambda: getattr(backend, name)(graph, *ends))  # noqa: B023
            if isinstance(expected, type):
                assert found is expected
                continue
            assert type(found) is set
            if name == "minimum_node_cut" and not ends:
                assert len(found) == fewest_nodes(graph)
                assert len(found) == len(graph) - 1 or falls_apart(graph, found)
            elif "node" not in name or not graph.has_edge(*ends[::-1]):
                assert len(found) == len(expected), (name, ends)
            else:
                assert_fewest_between(graph, *ends, found)
            if ends and found and ends != ("s", "s"):
                removed = {"edges": found} if "edge" in name else {"nodes": found}
                assert not reaches(graph, *ends, **removed)
            if not ends and "edge" in name:
                assert all(graph.has_edge(u, v) for u, v in found)


@given(graph=graphs(), cutoff=st.sampled_from([None, None, 0, 1, 2, 2.5, -1]))
@settings(max_examples=100, deadline=None)
def test_disjoint_paths(graph: Any, cutoff: Any) -> None:
    """There are as many paths as NetworkX finds, and they share nothing."""
    for name, (s, t) in itertools.product(
        ("edge_disjoint_paths", "node_disjoint_paths"), (("s", "t"), (2, "b"), ("s", "s"))
    ):
        expected = outcome(lambda: list(getattr(connectivity, name)(graph, s, t, cutoff=cutoff)))  # noqa: B023
        found = outcome(lambda: list(getattr(backend, name)(graph, s, t, cutoff=cutoff)))  # noqa: B023
        if isinstance(expected, type):
            assert found is expected
            continue
        assert len(found) == len(expected)
        if s == t:
            continue
        used: list[Any] = []
        for path in found:
            assert (path[0], path[-1]) == (s, t)
            steps = list(itertools.pairwise(path))
            assert all(graph.has_edge(u, v) for u, v in steps)
            assert len(set(path)) == len(path)
            used += steps if name == "edge_disjoint_paths" else path[1:-1]
        assert len(set(used)) == len(used)
        if name == "edge_disjoint_paths" and not graph.is_directed():
            assert len({frozenset(step) for step in used}) == len(used)


@given(graph=graphs(kinds=[nx.Graph, nx.Graph, nx.DiGraph, nx.MultiGraph]))
@settings(max_examples=150, deadline=None)
def test_cut_tree(graph: Any) -> None:
    """The lightest edge on a path of the tree is a minimum cut, and so are the sides of the tree."""
    expected = outcome(lambda: nx.gomory_hu_tree(graph))
    tree = outcome(lambda: backend.gomory_hu_tree(graph))
    if isinstance(expected, type):
        assert tree is expected
        return
    assert list(tree) == list(graph)
    assert nx.is_tree(tree)
    for u, v in itertools.combinations(graph, 2):
        path = list(itertools.pairwise(nx.shortest_path(tree, u, v)))
        a, b = min(path, key=lambda edge: tree.edges[edge]["weight"])
        value = nx.minimum_cut_value(graph, u, v)
        assert tree.edges[a, b]["weight"] == pytest.approx(value, rel=1e-12, abs=1e-12)
        parts = tree.copy()
        parts.remove_edge(a, b)
        side = nx.node_connected_component(parts, u)
        total = sum(data["capacity"] for x, y, data in graph.edges(data=True) if (x in side) != (y in side))
        assert total == pytest.approx(value, rel=1e-12, abs=1e-12)


@given(graph=graphs(kinds=[nx.Graph, nx.Graph, nx.DiGraph, nx.MultiGraph]))
@settings(max_examples=150, deadline=None)
def test_stoer_wagner(graph: Any) -> None:
    expected = outcome(lambda: nx.stoer_wagner(graph))
    found = outcome(lambda: backend.stoer_wagner(graph))
    if isinstance(expected, type):
        assert found is expected
        return
    value, sides = found
    assert value == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
    assert all(type(side) is list and side for side in sides)
    assert sorted(map(str, sides[0] + sides[1])) == sorted(map(str, graph))
    total = sum(
        data.get("weight", 1) for u, v, data in graph.edges(data=True) if (u in sides[0]) != (v in sides[0])
    )
    assert total == pytest.approx(value, rel=1e-12, abs=1e-12)


def test_reasons() -> None:
    """They are for calls where NetworkX may choose. Named by the caller, preflow passes such calls on."""
    graph = nx.path_graph(30)
    multigraph = nx.MultiGraph(graph)
    for name, args, keywords, word in (
        ("local_edge_connectivity", (graph, 0, 3), {"flow_func": residual}, "another algorithm"),
        ("local_edge_connectivity", (graph, 0, 3), {"auxiliary": nx.DiGraph()}, "network of NetworkX"),
        ("local_edge_connectivity", (graph, 0, 3), {"residual": nx.DiGraph()}, "network of NetworkX"),
        ("node_connectivity", (graph, 0, 3, residual), {}, "another algorithm"),
        ("gomory_hu_tree", (multigraph,), {}, "multigraphs"),
    ):
        assert word in str(backend.should_run(name, args, keywords))
        assert backend.can_run(name, args, keywords) is True
    assert backend.should_run("node_connectivity", (), {"G": graph}) is True
    assert backend.should_run("minimum_node_cut", (nx.DiGraph(graph),), {}) is True


def test_loops_parallel_edges_and_directions() -> None:
    """Where NetworkX before 3.7 is wrong, preflow is right whatever is installed."""
    reachable = nx.DiGraph([(0, 3), (1, 2), (2, 1), (3, 0), (3, 1), (3, 2)])
    assert backend.node_connectivity(reachable) == len(backend.minimum_node_cut(reachable)) == 0
    for n in (1, 2, 5):
        for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
            looped = kind(nx.complete_graph(n))
            looped.add_edges_from((v, v) for v in range(n))
            looped.add_edges_from(looped.edges if looped.is_multigraph() else [])
            assert backend.node_connectivity(looped) == len(backend.minimum_node_cut(looped)) == n - 1
            if not looped.is_multigraph() and n > 1:
                assert backend.edge_connectivity(looped) == len(backend.minimum_edge_cut(looped)) == n - 1
    back = nx.DiGraph([("t", "s"), ("s", "a"), ("a", "t")])
    assert backend.minimum_st_node_cut(back, "s", "t") == {"a"}


def test_auxiliary_networks_go_to_networkx() -> None:
    """NetworkX converts the auxiliary network, too."""
    graph = nx.petersen_graph()
    auxiliary = connectivity.build_auxiliary_node_connectivity(graph)
    kept = backend.convert_from_nx(graph), backend.convert_from_nx(auxiliary)
    assert backend.local_node_connectivity(kept[0], 0, 7, auxiliary=kept[1]) == 3
    assert len(backend.minimum_st_node_cut(kept[0], 0, 7, auxiliary=kept[1])) == 3
    assert len(list(backend.node_disjoint_paths(kept[0], 0, 7, auxiliary=kept[1]))) == 3


def test_paths_are_found_when_the_first_one_is_asked_for() -> None:
    """As in NetworkX, errors come with the first path."""
    paths = backend.edge_disjoint_paths(nx.path_graph(3), 0, 9)
    with pytest.raises(nx.NetworkXError, match="node 9 not in graph"):
        next(paths)


def test_iterators_are_read_once() -> None:
    """NetworkX gets the same nodes where preflow leaves a call to it."""
    graph = nx.complete_graph(4)
    assert backend.all_pairs_node_connectivity(graph, iter([0, 2])) == {0: {2: 3}, 2: {0: 3}}
    with pytest.raises(KeyError):
        backend.all_pairs_node_connectivity(graph, iter([0, 9]))
    with pytest.raises(KeyError):
        nx.all_pairs_node_connectivity(graph, iter([0, 9]))


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MissingDependencyError("a kernel", "numba", "jit")

    monkeypatch.setattr("preflow.integrations.networkx.connectivity.flow_of_pair", fail)
    with pytest.raises(MissingDependencyError):
        backend.local_edge_connectivity(nx.path_graph(3), 0, 2)


def test_large_graphs() -> None:
    graph = nx.random_regular_graph(5, 60, seed=1)
    assert backend.node_connectivity(graph) == 5
    assert backend.average_node_connectivity(graph) == 5.0
    torus = nx.grid_2d_graph(12, 12, periodic=True)
    assert len(backend.minimum_edge_cut(torus)) == len(backend.minimum_node_cut(torus)) == 4
    pairs = backend.all_pairs_node_connectivity(torus)
    assert {value for row in pairs.values() for value in row.values()} == {4}
