"""Every solver reads an instance from every container that modellers have, and answers in its labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError
from tests.graph.test_edge_tables import Stream

pytestmark = pytest.mark.fast


class Case(NamedTuple):
    """A problem with a small instance."""

    edges: list[tuple[Any, ...]]
    ends: tuple[str, str]
    numbers: tuple[str, ...]
    solve: Callable[[Any], Any]  #: returns an answer in labels; called with the container
    directed: bool = True

    def rows(self) -> list[tuple[Any, ...]]:
        return [edge[: 2 + len(self.numbers)] for edge in self.edges]

    def attributes(self, edge: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self.numbers, edge[2:], strict=False))

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip((*self.ends, *self.numbers), row, strict=True)) for row in self.rows()]

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.records())


def max_flow(network: Any) -> Any:
    result = preflow.max_flow(network, "s", "t")
    result.verify()
    return result.value, result.partition()


def min_cut(network: Any) -> Any:
    result = preflow.min_cut(network, "s", "t")
    result.verify()
    return result.value, sorted(result.cut_edges())


def min_cost_flow(network: Any) -> Any:
    result = preflow.min_cost_flow(network, {"s": 5, "t": -5})
    result.verify()
    return result.cost, result.flow_dict()["s"]


def pairs(solve: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def answer(given: Any) -> Any:
        result = solve(given)
        result.verify()
        return sorted(map(sorted, result.pairs()))

    return answer


def transport(cost: Any) -> Any:
    result = preflow.transport(cost, {"r1": 3, "r2": 5}, {"c1": 4, "c2": 4})
    result.verify()
    return result.cost, result.flow_dict()


ARCS = [("s", "a", 4, 1), ("s", "b", 3, 2), ("a", "t", 2, 1), ("b", "t", 5, 1)]
PAIRS = [("r1", "c1", 4), ("r1", "c2", 1), ("r2", "c1", 2), ("r2", "c2", 3)]
CASES = {
    "max_flow": Case(ARCS, ("source", "target"), ("capacity",), max_flow),
    "min_cut": Case(ARCS, ("from", "to"), ("capacity",), min_cut),
    "min_cost_flow": Case(ARCS, ("tail", "head"), ("capacity", "cost"), min_cost_flow),
    "bipartite_matching": Case(PAIRS, ("row", "column"), (), pairs(preflow.bipartite_matching), False),
    "matching": Case(ARCS, ("source", "target"), ("weight",), pairs(preflow.matching), False),
    "linear_assignment": Case(PAIRS, ("row", "column"), ("cost",), pairs(preflow.linear_assignment), False),
    "transport": Case(PAIRS, ("row", "column"), ("cost",), transport, False),
}


def by_pairs(case: Case, value: Callable[[tuple[Any, ...]], Any]) -> dict[Any, Any]:
    return {edge[:2]: value(edge) for edge in case.rows()}


def numbers_by_pair(case: Case) -> Any:
    if not case.numbers:
        return by_pairs(case, lambda edge: 1).keys()
    return by_pairs(case, lambda edge: edge[2] if len(edge) == 3 else edge[2:])


def attributes_by_pair(case: Case) -> Any:
    if not case.numbers:
        return by_pairs(case, lambda edge: {"cost": 1})
    return by_pairs(case, case.attributes)


def arrow(case: Case) -> Any:
    return pytest.importorskip("pyarrow").table(case.frame().to_dict("list"))


def lazy(case: Case) -> Any:
    return pytest.importorskip("polars").LazyFrame(case.records())


def relation(case: Case) -> Any:
    return pytest.importorskip("duckdb").from_arrow(arrow(case))


def narwhals(case: Case, native: Callable[[Case], Any]) -> Any:
    return pytest.importorskip("narwhals").from_native(native(case))


def networkx(case: Case) -> Any:
    graph = nx.DiGraph() if case.directed else nx.Graph()
    graph.add_edges_from((*edge[:2], case.attributes(edge)) for edge in case.rows())
    return graph


def igraph(case: Case) -> Any:
    library = pytest.importorskip("igraph")
    return library.Graph.TupleList(case.rows(), directed=case.directed, edge_attrs=list(case.numbers))


CONTAINERS: dict[str, Callable[[Case], Any]] = {
    "numbers by pair": numbers_by_pair,
    "attributes by pair": attributes_by_pair,
    "table with two indices": lambda case: case.frame().set_index(list(case.ends)),
    "zip": lambda case: zip(*zip(*case.rows(), strict=True), strict=True),
    "generator": lambda case: (list(row) for row in case.rows()),
    "records": lambda case: case.records(),
    "generator of records": lambda case: iter(case.records()),
    "dictionary of columns": lambda case: case.frame().to_dict("list"),
    "dictionary of arrays": lambda case: {name: column.to_numpy() for name, column in case.frame().items()},
    "structured array": lambda case: case.frame().to_records(index=False),
    "pandas": lambda case: case.frame(),
    "polars": lambda case: lazy(case).collect(),
    "polars, lazy": lazy,
    "Arrow": arrow,
    "stream": lambda case: Stream(arrow(case)),
    "stream that is read once": lambda case: arrow(case).to_reader(),
    "DuckDB": relation,
    "narwhals of pandas": lambda case: narwhals(case, Case.frame),
    "narwhals of polars, lazy": lambda case: narwhals(case, lazy),
    "narwhals of DuckDB": lambda case: narwhals(case, relation),
    "NetworkX": networkx,
    "edges of NetworkX": lambda case: networkx(case._replace(directed=True)).edges(data=True),
    "igraph": igraph,
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("problem", CASES)
def test_answers_are_those_of_tuples(problem: str, container: str) -> None:
    case = CASES[problem]
    assert case.solve(CONTAINERS[container](case)) == case.solve(case.rows())


@pytest.mark.parametrize("n", [2, 3])
def test_a_labelled_matrix_is_no_table_of_edges(n: int) -> None:
    labels = list("abc"[:n])
    matrix = pd.DataFrame(7 * (1 - np.eye(n, dtype=int)), index=labels, columns=labels)
    for solve in (preflow.matching, preflow.global_min_cut):
        with pytest.raises(InvalidInputError, match="is a matrix, not a table of edges"):
            solve(matrix)
    assert preflow.matching(nx.from_pandas_adjacency(matrix)).weight == 7
    assert preflow.global_min_cut(nx.from_pandas_adjacency(matrix)).value == 7 * (n - 1)


def test_the_caller_names_attributes_of_pairs() -> None:
    lorries = {("a", "b"): {"lorries": 3}, ("b", "c"): {"lorries": 1}}
    assert preflow.max_flow(lorries, "a", "c", capacity="lorries").value == 1
    assert preflow.min_cost_flow(lorries, {"a": 1, "c": -1}, cost="lorries").cost == 4
    assert preflow.matching(lorries, weight="lorries").pairs() == [("a", "b")]
    assert preflow.linear_assignment(lorries, weight="lorries").cost == 4


@pytest.mark.parametrize("problem", ["max_flow", "min_cut", "matching", "linear_assignment", "transport"])
def test_series_with_two_indices(problem: str) -> None:
    case = CASES[problem]
    indexed = case.frame().set_index(list(case.ends))[case.numbers[0]]
    for series in (indexed, indexed.rename_axis([None, None]).rename(None)):
        assert case.solve(series) == case.solve(case.rows())


def rustworkx_graphs(case: Case) -> Iterator[Any]:
    """Yield graphs with attributes and, of one number, with numbers, whose vertex 0 was removed."""
    library = pytest.importorskip("rustworkx")
    for plain in (False, True)[: 1 + (len(case.numbers) == 1)]:
        graph = library.PyDiGraph() if case.directed else library.PyGraph()
        gone, index = graph.add_node(None), {}
        for edge in case.rows():
            for label in edge[:2]:
                index[label] = index.get(label) or graph.add_node({"name": label})
            graph.add_edge(index[edge[0]], index[edge[1]], edge[2] if plain else case.attributes(edge))
        graph.remove_node(gone)
        yield graph, index


def test_graphs_of_rustworkx() -> None:
    """Vertices are called by their indices."""
    case = CASES["max_flow"]
    for graph, index in rustworkx_graphs(case):
        result = preflow.max_flow(graph, index["s"], index["t"])
        assert result.cut_edges() == [(index[u], index[v]) for u, v in [("s", "b"), ("a", "t")]]
    for problem in ("linear_assignment", "matching", "bipartite_matching"):
        case = CASES[problem]
        for graph, index in rustworkx_graphs(case):
            expected = [sorted(index[label] for label in pair) for pair in case.solve(case.rows())]
            assert case.solve(graph) == sorted(expected)
    case = CASES["min_cost_flow"]
    for graph, index in rustworkx_graphs(case):
        assert preflow.min_cost_flow(graph, {index["s"]: 5, index["t"]: -5}).cost == 13
    graph = next(rustworkx_graphs(CASES["max_flow"]))[0]
    doubled = preflow.FlowNetwork.from_networkx(graph, capacity=lambda u, v, data: 2 * data["capacity"])
    assert doubled.capacity.tolist() == [8, 6, 4, 10]


@given(
    edges=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=12
    ),
    directed=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_graphs_of_libraries_are_alike(edges: list[tuple[int, int, int]], directed: bool) -> None:
    """Vertices without edges stay, parallel edges add up, and undirected edges carry flow either way."""
    igraph, rustworkx = map(pytest.importorskip, ("igraph", "rustworkx"))
    graph = nx.MultiDiGraph() if directed else nx.MultiGraph()
    graph.add_nodes_from(range(7))
    graph.add_edges_from((u, v, {"capacity": c}) for u, v, c in edges)
    first = igraph.Graph(7, [edge[:2] for edge in edges], directed=directed)
    first.es["capacity"] = [edge[2] for edge in edges]
    second = rustworkx.PyDiGraph() if directed else rustworkx.PyGraph()
    second.add_nodes_from([None] * 7)
    second.add_edges_from(edges)
    expected = preflow.min_cut(graph, 0, 5)
    for other in (first, second):
        network = preflow.FlowNetwork.from_networkx(other)
        assert (
            sorted(zip(network.tail, network.head, network.capacity, strict=True)) == sorted(edges)
            or not directed
        )
        result = preflow.max_flow(network, 0, 5)
        result.verify()
        assert (result.value, result.partition()) == (expected.value, expected.partition())


def test_vertices_of_igraph() -> None:
    """They have names, attributes such as demands, and sides, which need not begin with a row."""
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([(0, 1), (1, 2)], directed=True)
    graph.es["cost"] = [2, 3]
    assert preflow.min_cost_flow(graph, {0: 1, 2: -1}).cost == 5
    graph.vs["demand"] = [-4, None, 4]
    assert preflow.min_cost_flow(graph).cost == 20
    graph.vs["name"] = ["a", "b", "a"]
    with pytest.raises(InvalidInputError, match="two vertices have the name 'a'"):
        preflow.min_cost_flow(graph)
    sides = igraph.Graph.Bipartite([1, 0, 0], [(0, 1), (0, 2)])
    assert preflow.bipartite_matching(sides).graph.row_labels == (1, 2)
    triangle = igraph.Graph([(0, 1), (1, 2), (2, 0)])
    with pytest.raises(InvalidInputError, match="cycle of 3 vertices"):
        preflow.bipartite_matching(triangle)
    assert preflow.vertex_connectivity(triangle).value == preflow.edge_connectivity(triangle).value == 2


def test_dictionaries_of_vertices_with_names_of_columns() -> None:
    """A name among the neighbours, or another length, says that the keys are vertices."""
    graph = {"source": ["a", "b"], "a": ["target", "b"], "target": ["a", "b"]}
    assert preflow.max_flow(graph, "source", "target").value == 1
    rows = {"row": ["x", "y"], "column": ["x"]}
    assert preflow.bipartite_matching(rows).graph.row_labels == ("row", "column")
    assert preflow.bipartite_matching({"u": ["x"], "v": ["x"]}).cardinality == 1
    table = {"source": ["source", "a"], "target": ["a", "target"], "capacity": [3, 2]}
    assert preflow.max_flow(table, "source", "target").value == 2
    with pytest.raises(InvalidInputError, match=r"different lengths: .*'weight': 1"):
        preflow.matching({"source": ["a", "b"], "target": ["b", "c"], "weight": [1]})
    square = np.zeros((2, 2))
    for odd in ({"source": square, "target": square, "capacity": square}, {"a": np.array(1)}, nx.Graph):
        with pytest.raises(InvalidInputError):
            preflow.max_flow(odd, "a", "b")


def test_supplies_from_tables() -> None:
    polars, duckdb = map(pytest.importorskip, ("polars", "duckdb"))
    table = {"vertex": ["s", "t"], "supply": [5, -5]}
    supplies = polars.DataFrame(table)
    for supply in (supplies, supplies.lazy(), duckdb.from_arrow(supplies.to_arrow())):
        assert preflow.min_cost_flow(ARCS, supply).cost == 13
    grid = {(0, 0): {(0, 1): 3}, (0, 1): {(1, 1): 2}}  # vertices that are pairs
    assert preflow.max_flow(grid, (0, 0), (1, 1)).value == 2
    assert np.array_equal(preflow.linear_assignment({("ada", 1): {"sew": 4}}).cost, 4)
