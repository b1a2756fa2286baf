"""Networks from edges with labels: tuples, dictionaries and tables of pandas, polars, Arrow and NumPy."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import CapacityOverflowError, InvalidInputError, MissingDependencyError
from preflow.graph import edge_tables
from preflow.graph.convert import as_flow_network
from tests.support.oracles import edmonds_karp

pytestmark = pytest.mark.fast

ROADS = [("depot", "north", 4), ("depot", "south", 3), ("north", "shop", 2), ("south", "shop", 5)]
LABELS = st.sampled_from([0, 1, 7, -3, "a", "b", "", (1, 2), ("a",), 2.5, frozenset({1}), date(2026, 11, 27)])
EDGES = st.lists(st.tuples(LABELS, LABELS, st.integers(0, 9)), max_size=14)


def table_of(kind: str, edges: list[tuple[Any, ...]], names: tuple[str, ...]) -> Any:
    """Return a table of some library with a row for each edge."""
    columns = {name: [edge[i] for edge in edges] for i, name in enumerate(names)}
    if kind == "numpy":
        dtype = [(name, np.asarray(values).dtype) for name, values in columns.items()]
        return np.array(edges, dtype=dtype)
    if kind == "pandas":
        return pd.DataFrame(columns)
    if kind == "pandas-category":
        return pd.DataFrame(columns).astype({names[0]: "category", names[1]: "category"})
    if kind == "pandas-nullable":
        return pd.DataFrame(columns).convert_dtypes()
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(columns)
    arrow = pytest.importorskip("pyarrow")
    if kind == "pandas-arrow":
        return pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow")
    if kind == "stream":
        return Stream(arrow.table(columns))
    table = arrow.table(columns)
    return table.to_batches()[0] if kind == "batch" else table


class Stream:
    """A table of a library that preflow does not know."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


PANDAS = ["pandas", "pandas-category", "pandas-nullable", "pandas-arrow"]
KINDS = ["numpy", *PANDAS, "polars", "arrow", "batch", "stream"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "edges",
    [
        ROADS,
        [(20, 10, 4), (10, 30, 2), (20, 30, 1)],
        [("a", "b", 2**62), ("b", "c", 2**53 + 1)],
        [("a", "b", 0.5), ("b", "c", np.inf)],
    ],
)
def test_tables_are_the_same_network_as_tuples(kind: str, edges: list[tuple[Any, ...]]) -> None:
    table = table_of(kind, edges, ("source", "target", "capacity"))
    expected = preflow.FlowNetwork.from_edges(edges)
    for network in (preflow.FlowNetwork.from_pandas(table), as_flow_network(table)):
        assert network.labels == expected.labels
        assert [type(label) for label in network.labels] == [type(label) for label in expected.labels]
        for name in ("tail", "head", "capacity"):
            got, wanted = getattr(network, name), getattr(expected, name)
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)
    source, sink = edges[0][0], edges[-1][1]
    result = preflow.max_flow(table, source, sink)
    result.verify()
    assert result.value == preflow.max_flow(edges, source, sink).value


@given(edges=EDGES, undirected=st.booleans())
@settings(max_examples=150, deadline=None)
def test_tuples_and_dictionaries_against_oracle(edges: list[tuple[Any, ...]], undirected: bool) -> None:
    network = preflow.FlowNetwork.from_edges(edges, undirected=undirected)
    assert network.labels == tuple(dict.fromkeys(end for edge in edges for end in edge[:2]))
    number = {label: i for i, label in enumerate(network.labels)}
    if len(number) < 2:
        return
    arcs = [(number[u], number[v], c) for u, v, c in edges]
    both = arcs + [(v, u, c) for u, v, c in arcs] if undirected else arcs
    source, sink = network.labels[0], network.labels[-1]
    value, sink_side, _ = edmonds_karp(len(number), both, [0], [len(number) - 1])

    result = preflow.max_flow(network, [source], [sink])
    result.verify()
    assert result.value == value
    on_source_side, on_sink_side = result.partition()
    assert on_sink_side == {network.labels[v] for v in sink_side}
    assert on_source_side == set(network.labels) - on_sink_side
    assert all(u in on_source_side and v in on_sink_side for u, v in result.cut_edges())
    assert len(result.cut_edges()) == len(result.cut_arcs)

    table = result.to_pandas()
    assert list(table["source"]) == [edge[0] for edge in edges]
    assert list(table["target"]) == [edge[1] for edge in edges]
    assert list(table["flow"]) == result.flow.tolist()
    assert np.flatnonzero(table["cut"]).tolist() == result.cut_arcs.tolist()
    assert list(preflow.min_cut(network, [source], [sink]).to_pandas().columns) == [
        name for name in table.columns if name != "flow"
    ]

    merged: dict[Any, dict[Any, int]] = {label: {} for label in network.labels}
    for u, v, c in edges:
        if undirected and u in merged[v]:
            u, v = v, u
        merged[u][v] = merged[u].get(v, 0) + c
    for adjacency in (
        merged,
        {u: {v: {"capacity": c} for v, c in near.items()} for u, near in merged.items()},
    ):
        from_dict = preflow.FlowNetwork.from_dict(adjacency, undirected=undirected)
        assert from_dict.labels == network.labels
        assert preflow.max_flow(from_dict, [source], [sink]).value == value


def test_the_cut_of_an_undirected_edge_leads_to_the_sink_side() -> None:
    network = preflow.FlowNetwork.from_edges([("t", "s", 2)], undirected=True)
    result = preflow.max_flow(network, "s", "t")
    assert result.cut_edges() == [("s", "t")]
    assert result.to_pandas()["flow"].tolist() == [-2]
    assert result.to_pandas()["reverse_capacity"].tolist() == [2]


def test_vertices_without_labels_are_numbers() -> None:
    result = preflow.min_cut(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), 0, 3)
    assert result.partition() == ({0, 1}, {2, 3})
    assert result.cut_edges() == [(0, 2), (1, 3)]
    assert result.to_pandas()["source"].tolist() == [0, 0, 1, 2]
    empty = preflow.max_flow(preflow.FlowNetwork(2, [], [], []), 0, 1)
    assert empty.partition() == ({0}, {1})
    assert empty.cut_edges() == []
    assert len(empty.to_pandas()) == 0


def test_edges_of_networkx() -> None:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(ROADS)
    for edges in (graph.edges(data=True), graph.edges.data("weight")):
        network = preflow.FlowNetwork.from_edges(edges, capacity="weight")
        assert preflow.max_flow(network, "depot", "shop").value == 5
    adjacency = nx.to_dict_of_dicts(graph)
    network = preflow.FlowNetwork.from_dict(adjacency, capacity="weight")
    assert preflow.max_flow(network, "depot", "shop").value == 5
    source_side, sink_side = preflow.min_cut(network, "depot", "shop").partition()
    unlimited = preflow.FlowNetwork.from_edges([("a", "b", {"capacity": 3}), ("b", "c", {})])
    assert unlimited.capacity.tolist() == [3, np.inf]
    assert (source_side, sink_side) == nx.minimum_cut(graph, "depot", "shop", capacity="weight")[1]


def test_a_dataframe_with_equal_rows_and_columns_is_a_matrix() -> None:
    names = ["a", "b", "c"]
    matrix = pd.DataFrame([[0, 3, 1], [0, 0, 2], [0, 0, 0]], index=names, columns=names)
    assert preflow.max_flow(matrix, "a", "c").flow_dict()["a"] == {"b": 2, "c": 1}
    assert preflow.max_flow(matrix.to_numpy(), 0, 2).value == 3
    assert preflow.max_flow(pd.DataFrame(matrix.to_numpy()), 0, 2).value == 3
    with pytest.raises(InvalidInputError, match=r"such as source and target, .*: there are 'a', 'b', 'd'"):
        preflow.max_flow(matrix.rename(columns={"c": "d"}), "a", "c")


def test_large_and_exact_capacities() -> None:
    edges = [("a", "b", 2**70), ("b", "c", Fraction(6, 2))]
    network = preflow.FlowNetwork.from_edges(edges)
    assert network.saturated
    assert preflow.max_flow(network, "a", "c").value == 3
    with pytest.raises(CapacityOverflowError, match="mixes floats"):
        preflow.FlowNetwork.from_edges([("a", "b", 2**53 + 1), ("b", "c", 0.5)])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b")], "the capacity is missing"),
        ([("a", "b", 1), ("b", "c")], "edge 1 is"),
        ([("a", "b", 1, 2)], "edge 0 is"),
        ([3], "edges are tuples (tail, head) or (tail, head, capacity): object"),
        ([(["a"], "b", 1)], "an end of edge 0 is a list"),
        ([("a", None, 1)], "None is not a label"),
        ([("a", float("nan"), 1)], "nan is not a label"),
        ([("a", "b", "3")], "capacity is not a number: '3' at 0, from 'a' to 'b'"),
        ([("a", "b", -3)], "negative"),
        (
            [("a", "b", {"weight": 3, "name": "x"})],
            "no edge has the attribute 'capacity'; capacity='weight'?",
        ),
    ],
)
def test_bad_tuples(edges: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        preflow.FlowNetwork.from_edges(edges)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        ({"a": {"b": "x"}}, "is not a number"),
        ({"a": [["b"]]}, "labels must be hashable"),
        ({"a": 3}, "the value of 'a' is 3"),
        ({"a": "b"}, "the value of 'a' is 'b'"),
        ({"a": {"b": {"cost": 1, "weight": 2}}}, "they have 'cost', 'weight': name one as capacity="),
    ],
)
def test_bad_dictionaries(adjacency: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        preflow.max_flow(adjacency, "a", "b")
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", ["pandas", "pandas-nullable", "pandas-arrow", "polars", "arrow"])
def test_missing_values_are_named(kind: str) -> None:
    names = ("source", "target", "capacity")
    for column, edges in (
        ("target", [("a", "b", 1), ("b", None, 2)]),
        ("capacity", [("a", "b", 1), ("b", "c", None)]),
    ):
        with pytest.raises(InvalidInputError, match=f"row 1, from 0: no value in column '{column}'"):
            preflow.FlowNetwork.from_pandas(table_of(kind, edges, names))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_of_columns_in_any_case(library: str) -> None:
    """Gephi writes Source, Target and Weight; two names that differ by case only are not guessed."""
    frame = pytest.importorskip(library).DataFrame
    table = frame({"Source": ["a", "b", "c"], "Target": ["b", "c", "d"], "Weight": [1, 5, 2]})
    assert preflow.matching(table).weight == 5
    with_lower = frame({"Source": ["a"], "Target": ["b"], "Capacity": [3], "Cost": [2], "Lower": [1]})
    assert preflow.min_cost_flow(with_lower, {"a": 2, "b": -2}).network.lower.tolist() == [1]
    assert preflow.bipartite_matching(frame({"Row": ["a"], "Column": ["b"]})).pairs() == [("a", "b")]
    assert preflow.linear_assignment(frame({"Row": ["a"], "Column": ["b"], "Cost": [2]})).cost == 2
    assert preflow.max_flow(frame({"SOURCE": ["a"], "Target": ["b"], "Capacity": [3]}), "a", "b").value == 3
    with pytest.raises(InvalidInputError, match="several columns 'weight'"):
        preflow.matching(frame({"source": [0], "target": [1], "Weight": [1], "WEIGHT": [2]}), weight="weight")


def test_bad_tables() -> None:
    table = pd.DataFrame({"source": ["a"], "target": ["b"], "Capacitie": [3]})
    with pytest.raises(InvalidInputError, match="capacity='Capacitie' names another one"):
        preflow.max_flow(table, "a", "b")
    assert preflow.max_flow(preflow.FlowNetwork.from_pandas(table, capacity="Capacitie"), "a", "b").value == 3
    twice = pd.DataFrame([["a", "b", 3, 4]], columns=["source", "target", "capacity", "capacity"])
    with pytest.raises(InvalidInputError, match="several columns 'capacity'"):
        preflow.max_flow(twice, "a", "b")
    with pytest.raises(InvalidInputError, match="a table is a DataFrame"):
        preflow.FlowNetwork.from_pandas([("a", "b", 3)])
    words = pd.DataFrame({"source": ["a"], "target": ["b"], "capacity": ["three"]})
    with pytest.raises(InvalidInputError, match="capacity"):
        preflow.max_flow(words, "a", "b")


def test_integers_of_128_bits() -> None:
    polars = pytest.importorskip("polars")
    columns = {"source": [2**70, 1], "target": [1, 5], "capacity": [2**70, 3]}
    assert preflow.max_flow(polars.DataFrame(columns, strict=False), 2**70, 5).value == 3


def test_labels_that_cannot_be_compared() -> None:
    class Odd:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            raise TypeError("odd")

    with pytest.raises(InvalidInputError, match="cannot be compared with each other: odd"):
        preflow.FlowNetwork.from_edges([(Odd(), 1, 3)])


class Tensor:
    """An array of a library of which NumPy knows nothing but the protocol of DLPack."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def test_arrays_with_dlpack_only() -> None:
    tail, head, capacity = Tensor([0, 1]), Tensor([1, 2]), Tensor([3, 2])
    assert preflow.max_flow((tail, head, capacity), 0, 2).value == 2
    assert preflow.bipartite_matching((tail, head)).cardinality == 2
    assert preflow.matching((tail, head, capacity)).weight == 3
    with pytest.raises(InvalidInputError, match="must hold integers"):
        preflow.max_flow((Tensor([0.5]), Tensor([1]), 3), 0, 1)


def test_an_attribute_that_no_edge_has() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=3)
    with pytest.raises(
        InvalidInputError, match=r"'weight'\? \(FlowNetwork.from_networkx takes other names\)$"
    ):
        preflow.parametric_max_flow(graph, [0], "a", "b")
    assert preflow.max_flow(graph, "a", "b", capacity="weight").value == 3
    with pytest.raises(InvalidInputError, match="no edge has the attribute 'capacity'; capacity='weight'"):
        preflow.max_flow(graph, "a", "b")
    graph.add_edge("b", "c", capacity=1)
    assert preflow.max_flow(graph, "a", "c").value == 1
    unlimited = preflow.FlowNetwork.from_networkx(graph, capacity=None)
    assert np.isinf(unlimited.capacity).all()
    assert preflow.FlowNetwork.from_networkx(nx.path_graph(0)).num_vertices == 0


def test_pandas_is_not_imported_for_tuples() -> None:
    code = (
        "import sys, preflow; preflow.FlowNetwork.from_edges([('a', 'b', 1)]); "
        "preflow.FlowNetwork.from_dict({'a': {'b': 1}}); "
        "print([name for name in ('pandas', 'polars', 'pyarrow', 'networkx') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    result = preflow.max_flow(ROADS, "depot", "shop")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"preflow\[tables\]"):
        result.to_pandas()
    assert preflow.FlowNetwork.from_edges([(5, 3, 1), (3, 9, 1)]).labels == (5, 3, 9)
    integers = np.array([(5, 3, 1), (3, 9, 1)], dtype=[("source", int), ("target", int), ("capacity", int)])
    assert preflow.FlowNetwork.from_pandas(integers).labels == (5, 3, 9)


@given(values=st.lists(st.integers(-5, 5), max_size=30))
def test_numbers_by_first_appearance(values: list[int]) -> None:
    distinct = tuple(dict.fromkeys(values))
    pandas = sys.modules.pop("pandas")
    try:
        found = edge_tables._factorized(np.array(values, dtype=np.int64))
    finally:
        sys.modules["pandas"] = pandas
    assert found is not None
    labels, numbers = found
    assert labels == distinct
    assert [labels[i] for i in numbers] == values


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["worker", "job", "cost"], None),
        (["row", "column", "cost"], None),
        (["id", "row", "cost"], "it is not clear which they are: there are 'id', 'row', 'cost'"),
        (["column", "job", "cost"], "it is not clear which they are"),
        (["from", "to", "hours"], "there is no column 'cost'; there are: 'from', 'to', 'hours'"),
    ],
)
def test_pairs_are_never_taken_for_a_matrix(names: list[str], message: str | None) -> None:
    table = pd.DataFrame([[1, 1, 4], [1, 2, 1], [2, 1, 2]], columns=names)
    for solve in (preflow.linear_assignment, lambda costs: preflow.transport(costs, [1, 1], [1, 1])):
        if message is None:
            assert solve(table).cost == 3
            continue
        with pytest.raises(InvalidInputError, match=message):
            solve(table)
