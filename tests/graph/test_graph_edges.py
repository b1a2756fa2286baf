"""Reading NetworkX graphs in one pass: the same vertices and edges as graph.edges, whatever the kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError
from preflow.graph.graph_edges import edges_of_graph
from preflow.graph.network import column_values

nx = pytest.importorskip("networkx")
pytestmark = pytest.mark.fast

LABELS = st.sampled_from([0, 1, 2, 3, "a", "b", (1, 2), 2.5, None.__class__])


def check_same(graph: Any) -> None:
    read = edges_of_graph(graph)
    assert list(read.labels) == list(graph.adj)
    expected = list(graph.edges(data=True))
    assert [(read.labels[u], read.labels[v]) for u, v in zip(read.tail, read.head, strict=True)] == [
        (u, v) for u, v, _ in expected
    ]
    assert all(mine is data for mine, (_, _, data) in zip(read.data, expected, strict=True))


@given(
    kind=st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]),
    nodes=st.lists(LABELS, max_size=6, unique=True),
    ends=st.lists(st.tuples(LABELS, LABELS), max_size=20),
)
@settings(max_examples=300)
def test_any_graph(kind: Any, nodes: list[Any], ends: list[tuple[Any, Any]]) -> None:
    graph = kind()
    graph.add_nodes_from(nodes)
    for i, (u, v) in enumerate(ends):
        graph.add_edge(u, v, capacity=i)
    check_same(graph)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_integer_labels_and_views(kind: Any) -> None:
    graph = nx.gnp_random_graph(30, 0.3, seed=1, directed=kind().is_directed())
    graph = kind(graph)
    check_same(graph)
    check_same(graph.subgraph(range(5, 20)))
    check_same(graph.subgraph([3]))
    check_same(nx.restricted_view(graph, [1, 4], []))
    check_same(nx.freeze(graph))
    if kind().is_directed():
        check_same(graph.reverse(copy=False))
        check_same(graph.to_undirected(as_view=True))
    else:
        check_same(graph.to_directed(as_view=True))


def test_no_graph() -> None:
    with pytest.raises(InvalidInputError, match=r"expected a graph of .*, got list"):
        edges_of_graph([])


@given(
    st.lists(
        st.integers(-(2**64), 2**64) | st.integers(0, 9) | st.floats(allow_nan=False) | st.booleans(),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=300)
def test_plain_numbers_are_read_like_objects(values: list[Any]) -> None:
    """Plain numbers have a short cut; NumPy's own scalar types, which have none, must give the same."""

    class Whole(int):
        """An integer without the short cut."""

    def outcome(numbers: list[Any]) -> Any:
        try:
            array, larger = column_values(numbers, "weight", signed=True)
        except Exception as error:
            return type(error)
        return array.dtype, array.tolist(), larger

    slow = [Whole(v) if type(v) is int else np.float64(v) if type(v) is float else v for v in values]
    assert outcome(values) == outcome(slow)


@pytest.mark.parametrize("function", [lambda edge: 1, lambda: 1, lambda u, v, data, more: 1])
def test_functions_that_take_no_edges(function: Any) -> None:
    graph = nx.DiGraph([("a", "b", {"capacity": 3})])
    with pytest.raises(InvalidInputError, match="called with tail, head and attributes"):
        preflow.FlowNetwork.from_networkx(graph, capacity=function)
    for name in ("capacity", "weight"):
        with pytest.raises(InvalidInputError, match="called with tail, head and attributes"):
            preflow.CostNetwork.from_networkx(graph, **{name: function})
