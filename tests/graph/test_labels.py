"""Labels in minimum-cost flow, matching, assignment and transport: names go in, and the same come out."""

from __future__ import annotations

from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InfeasibleError, InfeasibleFlowError, InvalidInputError
from tests.graph.test_edge_tables import KINDS, table_of

pytestmark = pytest.mark.fast

SHIPMENTS = [("a", "b", 4, 1), ("a", "c", 4, 5), ("b", "c", 4, 2)]
SUPPLY = {"a": 6, "c": -6}
WORKERS, JOBS = ["ada", "bob", "cyd"], ["sew", "cook", "dig", "sing"]
COSTS = pd.DataFrame([[4, 1, 3, 9], [2, 0, 5, 9], [3, 2, 2, 9]], index=WORKERS, columns=JOBS)
NAMES = st.sampled_from(["a", "b", 3, (1, 2), "c", 7])


class TestMinCostFlow:
    def test_a_supply_that_is_missing_is_named(self) -> None:
        with pytest.raises(InvalidInputError, match="the supply of 'c' is nan"):
            preflow.min_cost_flow(SHIPMENTS, pd.Series({"a": 6, "c": np.nan}))

    def check(self, network: Any, supply: Any = None) -> None:
        result = preflow.min_cost_flow(network, supply)
        result.verify()
        assert result.cost == 22
        assert result.flow_dict() == {"a": {"b": 4, "c": 2}, "b": {"c": 4}, "c": {}}
        table = result.to_pandas()
        assert table["flow"].tolist() == result.flow.tolist()
        assert table["target"].tolist() == ["b", "c", "c"]
        assert table["cost"].tolist() == [1, 5, 2]

    def test_tuples_and_dictionaries(self) -> None:
        self.check(SHIPMENTS, SUPPLY)
        self.check(preflow.CostNetwork.from_edges(SHIPMENTS, supply=SUPPLY))
        self.check(preflow.CostNetwork.from_edges(SHIPMENTS, supply=pd.Series(SUPPLY)))
        self.check(SHIPMENTS, pd.Series(SUPPLY))
        self.check(SHIPMENTS, pd.Series({"c": -6, "a": 6, "b": 0}))
        adjacency = {"a": {"b": (4, 1), "c": (4, 5)}, "b": {"c": (4, 2)}}
        self.check(adjacency, SUPPLY)
        attributes = {
            u: {v: {"capacity": k, "weight": c} for v, (k, c) in heads.items()}
            for u, heads in adjacency.items()
        }
        self.check(attributes, SUPPLY)
        graph = nx.from_dict_of_dicts(attributes, create_using=nx.DiGraph)
        self.check(preflow.CostNetwork.from_edges(graph.edges(data=True), supply=SUPPLY))
        self.check(graph, SUPPLY)

    @pytest.mark.parametrize("kind", KINDS)
    def test_tables(self, kind: str) -> None:
        self.check(table_of(kind, SHIPMENTS, ("source", "target", "capacity", "cost")), SUPPLY)
        renamed = table_of(kind, SHIPMENTS, ("from", "to", "most", "euros"))
        names = {"source": "from", "target": "to", "capacity": "most", "cost": "euros"}
        self.check(preflow.CostNetwork.from_pandas(renamed, supply=SUPPLY, **names))

    def test_without_capacities_and_with_lower_bounds(self) -> None:
        table = pd.DataFrame({"source": ["a", "a"], "target": ["b", "c"], "cost": [1, 2], "least": [0, 1]})
        unlimited = preflow.min_cost_flow(table, {"a": 2, "b": -2}, capacity=np.inf)
        assert np.isinf(unlimited.network.capacity).all()
        network = preflow.CostNetwork.from_pandas(
            table, capacity=None, lower="least", supply={"a": 3, "c": -1}
        )
        assert network.lower is not None
        assert preflow.min_cost_flow(network, {"a": 3, "b": -2, "c": -1}).to_pandas()["lower"].tolist() == [
            0,
            1,
        ]
        isolated = preflow.CostNetwork.from_edges(SHIPMENTS, supply={**SUPPLY, "z": 0})
        assert isolated.labels == ("a", "b", "c", "z")

    @pytest.mark.parametrize(
        ("network", "message"),
        [
            ([("a", "b")], "two numbers are missing"),
            ([("a", "b", 3)], "edge 0 is"),
            ([("a", "b", "x", 1)], "capacity is not a number: 'x' at 0, from 'a' to 'b'"),
            ([("a", "b", 1, 2**70)], "does not fit int64"),
            ({"a": {"b": 3}}, "has (capacity, cost) or (capacity, cost, lower) or attributes"),
        ],
    )
    def test_bad_edges(self, network: Any, message: str) -> None:
        with pytest.raises(InvalidInputError) as caught:
            preflow.min_cost_flow(network, SUPPLY)
        assert message in str(caught.value)

    def test_supplies_by_position_are_refused(self) -> None:
        with pytest.raises(InvalidInputError, match="mapping of labels to numbers"):
            preflow.CostNetwork.from_edges(SHIPMENTS, supply=[6, 0, -6])
        with pytest.raises(InvalidInputError, match="'z' is not in the graph"):
            preflow.min_cost_flow(SHIPMENTS, {"a": 1, "z": -1})
        assert preflow.min_cost_flow(SHIPMENTS, [6, 0, -6]).cost == 22

    def test_completion_offers_what_callers_use(self) -> None:
        network = preflow.CostNetwork.from_edges(SHIPMENTS)
        assert {"tail", "head", "cost", "labels", "vertex"} <= set(dir(network))
        assert not {"xp", "current", "to_caller"} & set(dir(network))

    def test_an_attribute_that_no_edge_has(self) -> None:
        graph = nx.DiGraph()
        graph.add_edge("a", "b", price=3, capacity=7)
        with pytest.raises(InvalidInputError, match=r"no edge has the attribute 'weight'; .*cost="):
            preflow.min_cost_flow(graph)
        assert preflow.min_cost_flow(graph, cost="price").cost == 0
        with pytest.raises(
            InvalidInputError, match=r"weight=.*\(CostNetwork.from_networkx takes other names"
        ):
            preflow.reductions.shortest_path(graph, "a", "b")
        assert preflow.CostNetwork.from_networkx(graph, weight=None).cost.tolist() == [0]
        assert preflow.CostNetwork.from_networkx(graph, weight="price").cost.tolist() == [3]
        graph = nx.DiGraph([("a", "b", {"capacity": 7})])
        assert preflow.min_cost_flow(graph, {"a": 2, "b": -2}).cost == 0


class TestMatching:
    FRIENDS = (("ada", "bob", 3), ("bob", "cyd", 4), ("cyd", "dan", 3))

    def test_weighted(self) -> None:
        edges = list(self.FRIENDS)
        both = {u: {} for edge in edges for u in edge[:2]}
        for u, v, w in edges:
            both[u][v] = both[v][u] = w
        graphs = [edges, both, table_of("pandas", edges, ("source", "target", "weight"))]
        for graph in graphs:
            result = preflow.matching(graph)
            result.verify()
            assert sorted(map(sorted, result.pairs())) == [["ada", "bob"], ["cyd", "dan"]]
            assert result.weight == 6
            table = result.to_pandas()
            assert list(map(tuple, table[["source", "target"]].to_numpy().tolist())) == result.pairs()
            assert table["weight"].tolist() == [3, 3]
            assert preflow.matching(graph, weight=False).cardinality == 2
            assert preflow.matching(graph, weight=False).graph.weight is None
            assert preflow.matching(graph, weight=[1, 9, 1]).weight == 9

    def test_without_weights(self) -> None:
        pairs = [edge[:2] for edge in self.FRIENDS]
        neighbours = {"ada": ["bob"], "bob": {"ada", "cyd"}, "dan": ("cyd",)}
        for graph in (pairs, neighbours, pd.DataFrame(pairs, columns=["source", "target"])):
            result = preflow.matching(graph)
            assert result.cardinality == 2
            assert list(result.to_pandas().columns) == ["source", "target"]
        assert preflow.UndirectedGraph.from_dict(neighbours).num_edges == 3

    def test_names_of_weights(self) -> None:
        edges = [(u, v, {"metres": w}) for u, v, w in self.FRIENDS]
        assert preflow.matching(edges, weight="metres").weight == 6
        with pytest.raises(InvalidInputError, match="attribute 'weight'; weight='metres'"):
            preflow.matching(edges)
        table = pd.DataFrame(self.FRIENDS, columns=["source", "target", "metres"])
        assert preflow.matching(table, weight="metres").weight == 6
        assert preflow.matching(table, weight=False).cardinality == 2
        for graph in (table, nx.Graph(edges)):
            with pytest.raises(InvalidInputError, match=r"'metres'.* weight=False counts each edge as 1"):
                preflow.matching(graph)
        with pytest.raises(InvalidInputError, match="names an attribute"):
            preflow.matching(([0], [1]), weight="metres")
        with pytest.raises(InvalidInputError, match="weight='metres'"):
            preflow.matching(nx.Graph(edges), weight="length")

    def test_ends_with_other_names(self) -> None:
        table = pd.DataFrame(self.FRIENDS, columns=["who", "whom", "weight"])
        assert preflow.matching(table).weight == 6
        for names in (["who", "whom", "since"], ["LINK", "A", "B"]):
            with pytest.raises(
                InvalidInputError, match=f"which they are: there are '{names[0]}', '{names[1]}'"
            ):
                preflow.matching(table.set_axis(names, axis=1))

    def test_weights_by_default(self) -> None:
        """A graph of NetworkX, its dictionaries and its edges have the same weights."""
        graph = nx.Graph([(u, v, {"weight": w, "colour": "red"}) for u, v, w in self.FRIENDS])
        for what in (graph, nx.to_dict_of_dicts(graph), list(graph.edges(data=True))):
            assert preflow.matching(what).weight == preflow.matching(list(self.FRIENDS)).weight == 6
        plain = nx.Graph([(u, v, {"colour": "red", "open": True}) for u, v, _ in self.FRIENDS])
        for what in (plain, nx.to_dict_of_dicts(plain), list(plain.edges(data=True))):
            assert preflow.matching(what).graph.weight is None

    def test_a_dictionary_that_contradicts_itself(self) -> None:
        with pytest.raises(InvalidInputError, match="between 'b' and 'a' has weight 1 from one end and 2"):
            preflow.matching({"a": {"b": 1}, "b": {"a": 2}})
        with pytest.raises(InvalidInputError, match="a neighbour of 'a' is a list"):
            preflow.matching({"a": [["b"]]})

    def test_cuts_of_whole_graphs(self) -> None:
        ring = [("a", "b", 2), ("b", "c", 3), ("c", "a", 1)]
        both = {"a": {"b": 2, "c": 1}, "b": {"a": 2, "c": 3}, "c": {"b": 3, "a": 1}}
        for graph in (ring, both, pd.DataFrame(ring, columns=["source", "target", "weight"])):
            found = preflow.global_min_cut(graph)
            found.verify()
            assert found.value == 3


class TestBipartite:
    EDGES = (("ada", "sew"), ("bob", "sew"), ("ada", "cook"), ("cyd", "sew"))

    @given(edges=st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=12))
    @settings(max_examples=60, deadline=None)
    def test_against_networkx(self, edges: list[tuple[Any, Any]]) -> None:
        graph = nx.Graph([(("row", u), ("column", v)) for u, v in edges])
        rows = {("row", u) for u, _ in edges}
        expected = len(nx.bipartite.hopcroft_karp_matching(graph, rows)) // 2
        for given_graph in (
            edges,
            {u: [w for x, w in edges if x == u] for u, _ in edges},
            pd.DataFrame({"row": [u for u, _ in edges], "column": [v for _, v in edges]}),
        ):
            result = preflow.bipartite_matching(given_graph)
            result.verify()
            assert result.cardinality == expected
            assert set(result.pairs()) <= set(edges)
            table = result.to_pandas()
            assert list(zip(table["row"], table["column"], strict=True)) == result.pairs()

    @pytest.mark.parametrize("kind", KINDS)
    def test_tables(self, kind: str) -> None:
        table = table_of(kind, list(self.EDGES), ("row", "column"))
        assert preflow.bipartite_matching(table).graph.row_labels == ("ada", "bob", "cyd")
        renamed = table_of(kind, list(self.EDGES), ("worker", "job"))
        graph = preflow.BipartiteGraph.from_pandas(renamed, row="worker", column="job")
        assert graph.column_labels == ("sew", "cook")

    def test_a_dataframe_is_a_matrix(self) -> None:
        able = COSTS < 2
        assert preflow.bipartite_matching(able[["cook"]]).pairs()[0][1] == "cook"
        pairs = pd.DataFrame({"worker": ["ada"], "job": ["sew"]})  # text, so no matrix
        assert preflow.bipartite_matching(pairs).pairs() == [("ada", "sew")]

    def test_numbers_without_labels(self) -> None:
        result = preflow.bipartite_matching(([0, 1], [1, 0]))
        assert result.to_pandas().to_dict("list") == {"row": [0, 1], "column": [1, 0]}
        rows = preflow.BipartiteGraph.from_dict({"ada": [], "bob": ["x"]})
        assert rows.shape == (2, 1)


class TestAssignment:
    @pytest.mark.parametrize("maximize", [False, True])
    @pytest.mark.parametrize("turned", [False, True])
    def test_a_dataframe_keeps_its_labels(self, maximize: bool, turned: bool) -> None:
        costs = COSTS.T if turned else COSTS
        result = preflow.linear_assignment(costs, maximize=maximize)
        result.verify()
        assert result.cost == preflow.linear_assignment(costs.to_numpy(), maximize=maximize).cost
        assert result.cost == sum(costs.loc[pair] for pair in result.pairs())
        table = result.to_pandas()
        assert list(zip(table["row"], table["column"], strict=True)) == result.pairs()
        assert table["cost"].sum() == result.cost

    def test_dtypes(self) -> None:
        pairs = preflow.linear_assignment(COSTS).pairs()
        for costs in (
            COSTS.astype(object),
            COSTS.astype("Int64"),
            COSTS.astype({"sew": "Float64"}),
            COSTS.astype({"sew": float}),
            COSTS.astype("float32"),
            COSTS.astype(bool) * COSTS,
            COSTS.astype(object) + 2**70,
        ):
            result = preflow.linear_assignment(costs)
            assert result.pairs() == pairs
            assert result.to_pandas()["cost"].tolist() == [costs.loc[pair] for pair in pairs]

    def test_missing_costs(self) -> None:
        costs = COSTS.astype(float)
        costs.loc["bob", "dig"] = np.nan
        with pytest.raises(InvalidInputError, match=r"row 'bob' and column 'dig' is NaN: .* costs inf"):
            preflow.linear_assignment(costs)
        with pytest.raises(InvalidInputError, match="costs -inf"):
            preflow.linear_assignment(costs, maximize=True)
        with pytest.raises(InvalidInputError, match="is NaN: a pair that is not allowed costs inf"):
            preflow.linear_assignment(costs.to_numpy())
        with pytest.raises(InvalidInputError, match="is NaN: a pair that is not allowed costs -inf"):
            preflow.linear_assignment(costs.to_numpy(), maximize=True)
        assert preflow.linear_assignment(costs.fillna(np.inf)).cost == 5

    def test_infeasible_rows_are_named(self) -> None:
        costs = COSTS.astype(float)
        costs.loc[["ada", "bob"], ["sew", "dig", "sing"]] = np.inf
        with pytest.raises(InfeasibleError, match="ada, bob") as caught:
            preflow.linear_assignment(costs)
        assert set(caught.value.violating) == {"ada", "bob"}
        assert caught.value.allowed == ("cook",)
        assert len(preflow.linear_assignment(costs, partial=True).pairs()) == 2

    def test_rounding_is_refused(self) -> None:
        costs = pd.DataFrame({"x": [2**53 + 1, 1], "y": [0.5, 1.0]})
        with pytest.raises(InvalidInputError, match="past 2"):
            preflow.linear_assignment(costs)

    def test_edges(self) -> None:
        edges = [(row, column, int(COSTS.loc[row, column])) for row in WORKERS for column in JOBS[:3]]
        expected = preflow.linear_assignment(COSTS[JOBS[:3]])
        adjacency = {row: {v: c for u, v, c in edges if u == row} for row in WORKERS}
        attributes = {u: {v: {"weight": c} for v, c in heads.items()} for u, heads in adjacency.items()}
        table = pd.DataFrame(edges, columns=["row", "column", "cost"])
        for costs in (edges, adjacency, attributes, table):
            result = preflow.linear_assignment(costs)
            result.verify()
            assert result.cost == expected.cost
            assert sorted(result.pairs()) == sorted(expected.pairs())

    def test_a_missing_cost_is_named(self) -> None:
        table = pd.DataFrame(
            [("ada", "sew", 1.0), ("bob", "cook", np.nan)], columns=["row", "column", "cost"]
        )
        for costs in ({"ada": {"sew": 1.0}, "bob": {"cook": np.nan}}, table):
            with pytest.raises(
                InvalidInputError, match=r"row 'bob' and column 'cook' is NaN: .* costs inf|row 1"
            ):
                preflow.linear_assignment(costs)
        with pytest.raises(InvalidInputError, match=r"row 1 and column 0 is NaN: .* costs -inf"):
            preflow.linear_assignment(([0, 1], [1, 0], [1.0, np.nan]), maximize=True)

    def test_a_table_of_pairs_with_other_names(self) -> None:
        table = pd.DataFrame({"worker": ["ada", "bob"], "job": ["sew", "cook"], "hours": [1, 2]})
        for costs in (table, pytest.importorskip("polars").from_pandas(table)):
            with pytest.raises(
                InvalidInputError, match=r"'worker' of the costs has text: .* 'row', 'column'"
            ):
                preflow.linear_assignment(costs)

    def test_a_list_of_tuples_of_numbers_is_refused(self) -> None:
        with pytest.raises(InvalidInputError, match="edges as three arrays"):
            preflow.linear_assignment([(0, 0, 3), (1, 1, 5)])
        assert preflow.linear_assignment([(1, 2), (3, 5)]).cost == 5
        assert preflow.linear_assignment(tuple(zip(*[(0, 0, 3), (1, 1, 5)], strict=True))).cost == 8

    def test_networkx(self) -> None:
        graph = nx.Graph([("ada", "sew", {"hours": 3})])
        with pytest.raises(InvalidInputError, match="no edge has the attribute 'weight'; weight='hours'"):
            preflow.linear_assignment(graph)
        assert preflow.linear_assignment(graph, weight="hours", rows=["ada"]).pairs() == [("ada", "sew")]

    def test_batches_have_no_table(self) -> None:
        result = preflow.linear_assignment(np.ones((2, 2, 2)))
        with pytest.raises(InvalidInputError, match="batch"):
            result.to_pandas()
        table = preflow.linear_assignment([[1]]).to_pandas()
        assert table.to_dict("list") == {"row": [0], "column": [0], "cost": [1]}

    @pytest.mark.parametrize(
        ("edges", "message"),
        [
            ([("ada", "sew", None)], "edge 0 has no cost"),
            ([("ada", "sew", "x")], "cost"),
            ({"ada": ["sew"]}, "the cost is missing"),
            ([("ada", ["sew"], 3)], "an end of edge 0 is a list"),
        ],
    )
    def test_bad_edges(self, edges: Any, message: str) -> None:
        with pytest.raises(InvalidInputError) as caught:
            preflow.linear_assignment(edges)
        assert message in str(caught.value)


class TestTransport:
    COST = pd.DataFrame({"shop": [4, 2], "port": [1, 3]}, index=["north", "south"])
    PLAN = {"north": {"port": 3}, "south": {"shop": 4, "port": 1}}  # noqa: RUF012

    def test_labels(self) -> None:
        a, b = {"north": 3, "south": 5}, {"port": 4, "shop": 4}
        edges = [(u, v, int(self.COST.loc[u, v])) for u in self.COST.index for v in self.COST.columns]
        for cost in (self.COST, edges, self.COST.T.to_dict()):
            for masses in ((a, b), (pd.Series(a), pd.Series(b)), ([3, 5], [4, 4])):
                result = preflow.transport(cost, *masses)
                result.verify()
                assert result.cost == 14
                assert result.flow_dict() == self.PLAN
                table = result.to_pandas().sort_values(["row", "column"])
                assert table["mass"].tolist() == [3, 1, 4]
                assert (table["mass"] * table["cost"]).sum() == 14

    def test_numbers(self) -> None:
        result = preflow.transport(self.COST.to_numpy(), [3, 5], [4, 4])
        assert result.flow_dict() == {0: {1: 3}, 1: {0: 4, 1: 1}}
        assert preflow.transport(([0, 0, 1, 1], [0, 1, 0, 1], [4, 1, 2, 3]), [3, 5], [4, 4]).cost == 14

    def test_bad_masses(self) -> None:
        with pytest.raises(InvalidInputError, match="a has an entry for 'east'"):
            preflow.transport(self.COST, {"east": 3}, [4, 4])
        with pytest.raises(InvalidInputError, match="no labels"):
            preflow.transport(self.COST.to_numpy(), {0: 3, 1: 5}, [4, 4])
        twice = pd.DataFrame([[1, 2], [3, 4]], index=["x", "x"])
        with pytest.raises(InvalidInputError, match="two rows of the matrix have the label 'x'"):
            preflow.transport(twice, {"x": 3}, [4, 4])

    def test_infeasible_masses_are_named(self) -> None:
        cost = self.COST.astype(float)
        cost.loc["north", "port"] = np.inf
        with pytest.raises(InfeasibleFlowError) as caught:
            preflow.transport(cost, [5, 1], [2, 4])
        assert ("row", "north") in caught.value.vertices

    @pytest.mark.parametrize(
        ("second", "message"),
        [
            ([np.inf, np.inf], "row w2 has 2, and no column may take from it"),
            ([2, np.inf], "rows w1, w2 have 1 more than column a can take, and no other column may take"),
        ],
    )
    def test_infeasible_masses_are_told_in_words(self, second: list[float], message: str) -> None:
        costs = pd.DataFrame([[1, np.inf], second], index=["w1", "w2"], columns=["a", "b"])
        with pytest.raises(InfeasibleFlowError, match=message):
            preflow.transport(costs, [3, 2], [4, 1])


class TestOtherResults:
    """Results of problems that have no folder of labels of their own."""

    RING: ClassVar = [("a", "b", 3), ("b", "c", 2), ("c", "d", 4), ("d", "a", 1)]

    def test_transport(self) -> None:
        result = preflow.transport(COSTS, [2, 1, 1], [1, 1, 1, 1])
        assert result.pairs() == list(
            zip(*(result.to_pandas()[side] for side in ("row", "column")), strict=True)
        )
        assert {row for row, _ in result.pairs()} == set(WORKERS)
        plain = preflow.transport(COSTS.to_numpy(), [2, 1, 1], [1, 1, 1, 1])
        assert plain.pairs() == list(zip(plain.row.tolist(), plain.column.tolist(), strict=True))

    def test_singles(self) -> None:
        result = preflow.linear_assignment(COSTS, unmatched_cost=0.75)
        paired = {name for pair in result.pairs() for name in pair}
        rows, columns = result.singles()
        assert set(rows) == set(WORKERS) - paired
        assert set(columns) == set(JOBS) - paired
        assert preflow.linear_assignment([[9]], unmatched_cost=1).singles() == ([0], [0])
        with pytest.raises(InvalidInputError, match="batch"):
            preflow.linear_assignment([[[9]]], unmatched_cost=1).singles()

    def test_cuts_of_graphs(self) -> None:
        smallest = preflow.global_min_cut(self.RING)
        assert smallest.value == 3
        assert sorted(smallest.cut_edges()) == [("b", "c"), ("d", "a")]
        assert [self.RING[edge][:2] for edge in smallest.edges] == smallest.cut_edges()
        tree = preflow.gomory_hu_tree(self.RING)
        one, other = tree.partition("b", "c")
        assert "b" in one
        assert "c" in other
        assert one | other == set("abcd")
        assert {name for name, side in zip("abcd", tree.side("b", "c"), strict=True) if side} == other
        table = nx.from_pandas_edgelist(tree.to_pandas(), edge_attr="weight")
        assert nx.is_tree(table)
        assert min(weight for _, _, weight in table.edges(data="weight")) == 3
        edges = preflow.edge_connectivity(self.RING, source="a", sink="c")
        assert len(edges.cut_edges()) == 2
        assert "a" in edges.partition()[0]
        assert "c" in edges.partition()[1]
        assert sorted(preflow.vertex_connectivity(self.RING, source="a", sink="c").cut_vertices()) == [
            "b",
            "d",
        ]
        cuts = preflow.minimum_cuts(self.RING, "a", "d")
        for side in cuts:
            on_source_side, on_sink_side = cuts.partition(side)
            assert set(cuts.cut_edges(side)) == {
                (u, v) for u, v, _ in self.RING if u in on_source_side and v in on_sink_side
            }

    def test_flows_of_reductions(self) -> None:
        network = preflow.CostNetwork.from_edges([("a", "b", 4, 1), ("a", "c", 4, 5), ("b", "c", 4, 2)])
        assert preflow.reductions.feasible_flow(network, {"a": 2, "b": -2}).flow_dict()["a"]["b"] >= 2
        roads = preflow.FlowNetwork.from_edges([("s", "v", 5), ("v", "t", 5), ("s", "t", 1)])
        found = preflow.reductions.VertexCapacities.of(roads, {"v": 2}, "s", "t").solve()
        assert found.flow_dict() == {"s": {"v": 2, "t": 1}, "v": {"t": 2}, "t": {}}
        assert found.cut() == ([("s", "t")], ["v"])

    def test_blocks(self) -> None:
        pattern = pd.DataFrame([[1, 1, 0], [0, 1, 0], [0, 1, 1]], index=list("pqr"), columns=list("xyz"))
        parts = preflow.dulmage_mendelsohn(pattern)
        blocks = parts.blocks()
        assert sorted(map(str, blocks)) == ["(['p'], ['x'])", "(['q'], ['y'])", "(['r'], ['z'])"]
        assert blocks[-1] == (["q"], ["y"])  # the others need its column
        assert preflow.dulmage_mendelsohn(np.ones((2, 2))).blocks()[0][0] in ([0, 1], [1, 0])
        assert all(part == ([], []) for part in preflow.dulmage_mendelsohn(np.zeros((0, 0))).blocks())

    @pytest.mark.parametrize("solve", [preflow.gomory_hu_tree, preflow.global_min_cut])
    def test_a_capacity_that_is_missing(self, solve: Any) -> None:
        """A capacity that is missing is infinite in NetworkX; a weight that is missing is 1."""
        graph = nx.Graph([("a", "b", {"capacity": 3}), ("b", "c")])
        for edges in (graph, list(graph.edges(data=True)), nx.to_dict_of_dicts(graph)):
            with pytest.raises(
                InvalidInputError, match=r"edge (\('b', 'c'\)|\d) has no attribute 'capacity'"
            ):
                solve(edges)
            assert solve(edges, weight=False).graph.weight.tolist() == [1, 1]
        weights = nx.Graph([("a", "b", {"weight": 3}), ("b", "c")])
        for edges in (weights, list(weights.edges(data=True)), nx.to_dict_of_dicts(weights)):
            assert solve(edges).graph.weight.tolist() == [3, 1]


def test_costs_of_singles_by_label() -> None:
    cost = pd.DataFrame([[4, 1], [2, 0]], index=["ada", "bob"], columns=["sew", "cook"])
    for alone in (pd.Series({"bob": 0, "ada": 100}), {"bob": 0, "ada": 100}):
        result = preflow.linear_assignment(cost, unmatched_cost=(alone, 0))
        result.verify()
        assert result.pairs() == [("ada", "cook")]
    with pytest.raises(InvalidInputError, match="unmatched_cost of rows has no entry for 'bob'"):
        preflow.linear_assignment(cost, unmatched_cost=({"ada": 1}, 0))
    with pytest.raises(InvalidInputError, match="has no labels"):
        preflow.linear_assignment([[1]], unmatched_cost=({0: 1}, 0))


def test_a_series_with_a_label_twice() -> None:
    twice = pd.Series([1, 2, -3], index=["a", "a", "b"])
    edges = [("a", "b", 4, 1)]
    for solve in (
        lambda: preflow.CostNetwork.from_edges(edges, supply=twice),
        lambda: preflow.min_cost_flow(edges, twice),
        lambda: preflow.reductions.select_projects(twice, []),
        lambda: preflow.transport({"a": {"b": 1}}, twice, [3]),
    ):
        with pytest.raises(InvalidInputError, match="two entries for 'a'"):
            solve()


def test_structured_arrays_of_foreign_byte_order() -> None:
    table = np.array([(0, 1, 2), (0, 1, 3)], [("source", ">i4"), ("target", ">i4"), ("capacity", ">f4")])
    assert preflow.max_flow(table, 0, 1).value == 5


class TestLabelsTwice:
    """One label for two rows, as pandas.concat leaves it, would name two pairs alike."""

    DOORS = (
        preflow.bipartite_matching,
        preflow.linear_assignment,
        lambda cost: preflow.linear_assignment(cost, unmatched_cost=3),
        lambda cost: preflow.linear_assignment(cost, partial=True),
        lambda cost: preflow.transport(cost, [1] * len(cost), [1] * len(cost)),
        preflow.reductions.assign_jobs,
        preflow.reductions.AssignmentAsTransport.of,
        preflow.reductions.AssignmentAsMinCostFlow.of,
        lambda cost: preflow.reductions.TransportAsMinCostFlow.of(cost, [1] * len(cost), [1] * len(cost)),
    )

    @pytest.mark.parametrize("door", DOORS)
    @pytest.mark.parametrize(
        ("index", "columns", "message"),
        [
            (["ada", "ada"], ["sew", "dig"], "two rows .* 'ada'"),
            (["ada", "bob"], ["dig", "dig"], "two columns .* 'dig'"),
            ([0, 0], [0, 1], "two rows .* 0"),
        ],
    )
    def test_labels_twice(self, door: Any, index: Any, columns: Any, message: str) -> None:
        costs = pd.DataFrame([[4, 1], [2, 3]], index=index, columns=columns)
        with pytest.raises(InvalidInputError, match=message):
            door(costs)

    def test_concat(self) -> None:
        halves = [COSTS.iloc[:1], COSTS.iloc[:1]]
        with pytest.raises(InvalidInputError, match="two rows of the matrix have the label"):
            preflow.linear_assignment(pd.concat(halves))
        assert len(preflow.linear_assignment(pd.concat(halves, ignore_index=True)).pairs()) == 2

    def test_pairs_given_twice_are_choices(self) -> None:
        table = pd.DataFrame({"row": ["a", "a"], "column": ["x", "x"], "cost": [3, 2]})
        assert preflow.linear_assignment(table).cost == 2


class TestMissingCosts:
    @pytest.mark.parametrize(
        ("cost", "arguments", "place"),
        [
            ([[1, 2.5], [np.nan, 3]], {}, "row 1 and column 0"),
            (np.array([np.eye(2), [[1, np.nan], [2, 3]]]), {}, r"row 0 and column 1 of matrix \(1,\)"),
            (np.array([[[1, 2], [3, np.nan]]] * 2), {"threads": 2}, r"row 1 and column 1 of matrix \(0,\)"),
            (
                np.array([[[np.nan, 2], [3, 4.0]]]),
                {"sizes": [[2, 1]]},
                r"row 0 and column 0 of matrix \(0,\)",
            ),
            (scipy.sparse.csr_array([[1, 0], [2, np.nan]]), {}, "row 1 and column 1"),
            (([0, 1], [1, 0], [1.5, np.nan]), {}, "row 1 and column 0"),
            ([("a", "x", np.nan)], {}, "row 'a' and column 'x'"),
        ],
    )
    def test_place(self, cost: Any, arguments: Any, place: str) -> None:
        with pytest.raises(InvalidInputError, match=f"the cost of {place} is NaN"):
            preflow.linear_assignment(cost, **arguments)
