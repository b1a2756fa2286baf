"""Tables and containers as people have them: names of columns, and the same rules as on the command line."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import preflow
from preflow.errors import InvalidInputError
from preflow.graph.convert import as_flow_network
from preflow.reductions import assign_jobs
from tests.graph.test_edge_tables import KINDS, ROADS, table_of

try:
    import polars
except ImportError:
    polars = None  # type: ignore[assignment]

pytestmark = pytest.mark.fast

LINKS = pd.DataFrame(
    {
        "LINK": [1, 2, 3, 4],
        "A": [1, 2, 1, 3],
        "B": [2, 3, 3, 4],
        "Trucks/day": [10, 10, 5, 7],
        "km": [1, 2, 9, 1],
    }
)
NAMED = {"ends": ("A", "b"), "capacity": "trucks/day"}
SUPPLY = {1: 6, 4: -6}
PRICES = pd.DataFrame(
    {"source": ["a", "a", "b"], "target": ["b", "c", "c"], "capacity": [4, 4, 4], "cost": [1, 5, 2]}
)


class TestNames:
    def test_of_flows(self) -> None:
        assert preflow.max_flow(LINKS, 1, 4, **NAMED).value == 7
        assert preflow.min_cut(LINKS, 1, 4, **NAMED).value == 7
        assert preflow.MaxFlow(LINKS, 1, 4, **NAMED).solve().value == 7
        assert preflow.min_cost_flow(LINKS, SUPPLY, **NAMED, cost="km").cost == 6 * 4
        assert preflow.MinCostFlow(LINKS, SUPPLY, **NAMED, cost="km").solve().cost == 6 * 4
        assert preflow.max_flow_min_cost(LINKS, 1, 4, **NAMED, cost="km").amount == 7
        least = preflow.min_cost_flow(LINKS, SUPPLY, **NAMED, cost="km", lower="LINK").flow
        assert least.tolist() == [3, 3, 3, 6]

    def test_of_graphs_and_costs(self) -> None:
        assert preflow.matching(LINKS, ends=("A", "B"), weight="km").weight == 9
        assert preflow.global_min_cut(LINKS, ends=("A", "B"), weight="km").value == 1
        assert preflow.gomory_hu_tree(LINKS, ends=("A", "B"), weight="km").min_cut_value(1, 2) == 3
        assert preflow.bipartite_matching(LINKS, ends=("A", "B")).cardinality == 3
        pairs = pd.DataFrame({"id": [1, 2, 3], "who": [7, 7, 8], "what": [1, 2, 1], "hours": [3, 1, 2]})
        names: dict[str, Any] = {"ends": ("who", "what"), "weight": "hours"}
        assert preflow.linear_assignment(pairs, **names).pairs() == [(7, 2), (8, 1)]
        assert preflow.transport(pairs, {7: 1, 8: 1}, {1: 1, 2: 1}, **names).cost == 3

    @pytest.mark.parametrize(
        ("solve", "advice"),
        [
            (lambda table: preflow.max_flow(table, 1, 4), "ends=('FIRST', 'SECOND') names them"),
            (lambda table: preflow.min_cost_flow(table, SUPPLY), "ends=('FIRST', 'SECOND') names them"),
            (preflow.matching, "ends=('FIRST', 'SECOND') names them"),
            (preflow.edge_connectivity, "(UndirectedGraph.from_pandas takes other names)"),
            (
                lambda table: preflow.parametric_max_flow(table, [0] * 4, 1, 4),
                "(FlowNetwork.from_pandas takes other names)",
            ),
        ],
    )
    def test_a_column_that_numbers_the_rows(self, solve: Callable[[Any], Any], advice: str) -> None:
        """It is never taken for an end; the error says what the function has."""
        with pytest.raises(InvalidInputError) as caught:
            solve(LINKS)
        assert "there are 'LINK', 'A', 'B', 'Trucks/day', 'km'" in str(caught.value)
        assert str(caught.value).endswith(advice)

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            ({"ends": ("A", "B")}, "no column 'capacity'; there are: .*; capacity='NAME' names another one"),
            ({"ends": ("A", "C")}, "there is no column 'C'; there are: 'LINK', 'A'"),
            ({"ends": ("A", "a")}, "both ends of edges are in column 'A'"),
            ({"ends": "A"}, "ends are two names of columns, got 'A'"),
            ({"ends": ("A", "B"), "capacity": "Truck/day"}, "no column .*; did you mean 'Trucks/day'"),
        ],
    )
    def test_errors(self, names: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            preflow.max_flow(LINKS, 1, 4, **names)

    def test_names_for_what_has_none(self) -> None:
        arrays = ([0], [1], [3])
        for network in (arrays, preflow.FlowNetwork.from_arrays(*arrays), np.eye(2)):
            with pytest.raises(InvalidInputError, match="capacity='x' names columns of a table"):
                preflow.max_flow(network, 0, 1, capacity="x")
        with pytest.raises(InvalidInputError, match=r"ends=\('a', 'b'\) names columns .* this is a list"):
            preflow.max_flow(ROADS, "depot", "shop", ends=("a", "b"))
        grid = preflow.GridNetwork.from_arrays(np.ones((2, 2), int), np.ones((2, 2), int), 1)
        for solve in (preflow.max_flow, preflow.min_cut):
            with pytest.raises(InvalidInputError, match="capacity='x' names"):
                solve(grid, capacity="x")

    def test_attributes(self) -> None:
        graph = nx.DiGraph()
        graph.add_weighted_edges_from(ROADS, "lorries")
        for network in (graph, nx.to_dict_of_dicts(graph), list(graph.edges(data=True))):
            assert preflow.max_flow(network, "depot", "shop", capacity="lorries").value == 5
        supply = {"depot": 1, "shop": -1}
        assert preflow.min_cost_flow(graph, supply, capacity="lorries", cost="lorries").cost == 6

    @pytest.mark.parametrize("argument", ["capacity", "lower"])
    def test_attributes_that_no_edge_has(self, argument: str) -> None:
        """A name that is misspelt is not a network without limits, or without lower bounds."""
        graph = nx.DiGraph()
        graph.add_edge("a", "b", lorries=3, weight=1)
        named: dict[str, Any] = {argument: "lorrys"}
        for network in (graph, nx.to_dict_of_dicts(graph), list(graph.edges(data=True))):
            with pytest.raises(InvalidInputError, match=f"no edge has the attribute 'lorrys'.*{argument}="):
                preflow.min_cost_flow(network, {"a": 5, "b": -5}, **named)

    def test_numbers_that_may_be_capacities(self) -> None:
        """A table with numbers that nobody reads, and without capacities, is not one without limits."""
        table = pd.DataFrame({"from": ["a"], "to": ["b"], "lorries": [3], "cost": [1]})
        supply = {"a": 5, "b": -5}
        advice = "capacity='lorries' names another one; capacity=inf says that no arc has a limit"
        for given in (table, table.to_dict("records")):
            with pytest.raises(InvalidInputError, match=advice):
                preflow.min_cost_flow(given, supply)
            assert preflow.min_cost_flow(given, supply, capacity=np.inf).cost == 5
            with pytest.raises(preflow.errors.InfeasibleFlowError):
                preflow.min_cost_flow(given, supply, capacity="lorries")
        with pytest.raises(InvalidInputError, match=advice):
            preflow.MinCostFlow(table, supply)

    def test_lower_bounds_are_not_left_out(self) -> None:
        table = PRICES.assign(lower=[0, 1, 0])
        with pytest.raises(InvalidInputError, match="row 1, from 0: column 'lower' has a lower bound"):
            preflow.max_flow(table, "a", "c")
        assert preflow.max_flow(PRICES.assign(lower=0), "a", "c").value == 8
        assert preflow.max_flow_min_cost(table, "a", "c").amount == 8

    @pytest.mark.parametrize(
        "header", ["Source,Target,Weight", "u,v,weight", "FROM , to,weight", "a,b,weight"]
    )
    def test_usual_names(self, header: str) -> None:
        """The same names, in any case, as on the command line."""
        table = pd.DataFrame([("x", "y", 1), ("y", "z", 5)], columns=header.split(","))
        assert preflow.matching(table).weight == 5
        capacities = table.set_axis([*table.columns[:2], "Capacity"], axis=1)
        assert preflow.max_flow(capacities, "x", "z").value == 1
        assert preflow.bipartite_matching(table, ends=tuple(table.columns[:2])).cardinality == 2


class TestContainers:
    PAIRS = {(u, v): c for u, v, c in ROADS}  # noqa: RUF012

    @pytest.mark.parametrize(
        "make",
        [
            lambda: TestContainers.PAIRS,
            lambda: pd.Series(TestContainers.PAIRS),
            lambda: table_of("pandas", ROADS, ("from", "to", "n")).groupby(["from", "to"])["n"].sum(),
            lambda: table_of("pandas", ROADS, ("A", "B", "capacity")).set_index(["A", "B"]),
            lambda: table_of("pandas", ROADS, ("A", "B", "cap")).groupby(["A", "B"]).sum(),
            lambda: zip(*zip(*ROADS, strict=True), strict=True),
            lambda: (list(edge) for edge in ROADS),
            lambda: dict(enumerate(ROADS)).values(),
            lambda: [dict(zip(("source", "target", "capacity"), edge, strict=True)) for edge in ROADS],
            lambda: tuple(map(list, zip(*ROADS, strict=True))),
            lambda: tuple(pd.Series(part) for part in zip(*ROADS, strict=True)),
            lambda: tuple(map(np.array, zip(*ROADS, strict=True))),
        ],
    )
    def test_flows(self, make: Callable[[], Any]) -> None:
        network = as_flow_network(make())
        assert sorted(network.labels) == ["depot", "north", "shop", "south"]
        assert preflow.max_flow(make(), "depot", "shop").value == 5

    def test_two_levels_of_labels(self) -> None:
        """They are the ends of edges, whatever other columns there are; a matrix may have them, too."""
        table = table_of("pandas", ROADS, ("A", "B", "capacity")).set_index(["A", "B"])
        two = table.assign(capacity=list(zip(*ROADS, strict=True))[2], source=7)
        assert preflow.max_flow(two, "depot", "shop").value == 5
        assert preflow.min_cost_flow(two.assign(cost=1), {"depot": 2, "shop": -2}).cost == 4
        rows = pd.MultiIndex.from_tuples([("day", "ada"), ("night", "bob")])
        matrix = pd.DataFrame([[4, 1], [2, 3]], index=rows, columns=["sew", "cook"])
        assert preflow.linear_assignment(matrix).pairs() == [
            (("day", "ada"), "cook"),
            (("night", "bob"), "sew"),
        ]
        assert preflow.bipartite_matching(matrix > 1).cardinality == 2

    def test_lists_that_could_be_arrays(self) -> None:
        """Those of rustworkx have `__array__`."""

        class WeightedEdgeList(list[Any]):
            def __array__(self, *arguments: Any, **keywords: Any) -> Any:
                return np.array(list(self))

        class EdgeList:
            def __init__(self, edges: list[Any]) -> None:
                self.edges = edges

            def __iter__(self) -> Any:
                return iter(self.edges)

            def __array__(self, *arguments: Any, **keywords: Any) -> Any:
                return np.array(self.edges)

        assert preflow.max_flow(EdgeList([(0, 1, 3), (1, 2, 2)]), 0, 2).value == 2
        assert preflow.max_flow(WeightedEdgeList([(0, 1, 3), (1, 2, 2)]), 0, 2).value == 2
        assert preflow.max_flow(EdgeList([[0, 3], [0, 0]]), 0, 1).value == 3  # rows of a matrix

    def test_numbers_as_text_in_one_column(self) -> None:
        table = pd.DataFrame({"source": [1, 2], "target": ["2", "3"], "capacity": [1, 2]})
        with pytest.raises(
            InvalidInputError, match="'source' has the number 2, and column 'target' has it as text"
        ):
            preflow.max_flow(table, 1, "3")
        assert preflow.max_flow(table.astype({"source": str}), "1", "3").value == 1
        assert preflow.max_flow(table.assign(target=["a", "b"]), 1, "a").value == 1
        assert preflow.bipartite_matching(table, ends=("source", "target")).cardinality == 2

    def test_records_are_no_matrix(self) -> None:
        with pytest.raises(
            InvalidInputError, match=r"it is not clear which they are: there are 'sew', 'cook', 'dig'"
        ):
            preflow.linear_assignment([{"sew": 1, "cook": 2, "dig": 3}])

    def test_unit_capacities(self) -> None:
        graph = {"a": ["b", "c"], "b": ["d"], "c": {"d"}}
        assert preflow.max_flow(graph, "a", "d").value == 2
        assert preflow.max_flow(graph, "a", "d").flow.dtype == np.int64

    def test_costs(self) -> None:
        pairs = {(u, v): (k, c) for u, v, k, c in PRICES.itertuples(index=False)}
        costs = {pair: cost for pair, (_, cost) in pairs.items()}
        supply = {"a": 6, "c": -6}
        indexed = PRICES.set_index(["source", "target"])
        for network in (pairs, indexed, [dict(row) for _, row in PRICES.iterrows()]):
            assert preflow.min_cost_flow(network, supply).cost == 22
        assert preflow.min_cost_flow(tuple(PRICES[name].tolist() for name in PRICES), supply).cost == 22
        for network in (costs, indexed["cost"]):  # a number alone is the cost
            assert preflow.min_cost_flow(network, supply).cost == 18
        hours = {("ada", "sew"): 4, ("ada", "cook"): 1, ("bob", "sew"): 2}
        labelled = tuple(map(list, zip(*[(*pair, c) for pair, c in hours.items()], strict=True)))
        for cost in (hours, pd.Series(hours), labelled):
            assert preflow.linear_assignment(cost).pairs() == [("ada", "cook"), ("bob", "sew")]
            assert preflow.transport(cost, {"ada": 1, "bob": 1}, {"sew": 1, "cook": 1}).cost == 3

    def test_graphs(self) -> None:
        friends = {("ada", "bob"): 3, ("bob", "cyd"): 4}
        for graph in (friends, pd.Series(friends), (["ada", "bob"], ["bob", "cyd"], [3, 4])):
            assert preflow.matching(graph).weight == 4
        assert preflow.matching(zip(["a", "b"], ["b", "c"], strict=True)).cardinality == 1
        for graph in (friends, (["ada", "bob"], ["bob", "cyd"]), {edge: None for edge in friends}):
            assert preflow.bipartite_matching(graph).cardinality == 2

    def test_labels_that_are_tuples_stay_vertices(self) -> None:
        network = as_flow_network({(0, 0): {(0, 1): 3}, (0, 1): {(1, 1): 2}})
        assert network.labels == ((0, 0), (0, 1), (1, 1))
        assert preflow.bipartite_matching({("a", 1): ["x"], ("b", 2): ["x"]}).cardinality == 1

    @pytest.mark.parametrize(
        ("network", "message"),
        [
            ((["a", "b"], ["b"], [1, 2]), "2 first ends of edges, and 1 of the second ends"),
            ((["a", "b"], ["b", "c"], [1]), "2 first ends of edges, and 1 of capacity"),
            ({("a", "b"): "x"}, "capacity is not a number: 'x' at 0"),
            (
                [{"source": "a", "target": "b", "capacity": 3}, {"source": "b", "capacity": 3}],
                "row 1, from 0: no",
            ),
            (iter([3, 4]), "edges are tuples"),
            (iter("ab"), "edges are tuples"),
        ],
    )
    def test_errors(self, network: Any, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            preflow.max_flow(network, "a", "b")


class TestAmounts:
    @pytest.mark.parametrize(
        "supply",
        [
            pd.DataFrame({"town": ["a", "c"], "supply": [6, -6]}),
            pd.DataFrame({"supply": [6, -6], "town": ["a", "c"]}),
            pd.DataFrame({"x": ["a", "c"], "y": [6, -6]}),
            pd.DataFrame({"id": [1, 2], "Node": ["a", "c"], "Supply": [6, -6]}),
            pd.DataFrame({"supply": [6, -6]}, index=["a", "c"]),
            pd.Series({"c": -6, "a": 6}),
            [{"town": "a", "supply": 6}, {"town": "c", "supply": -6}],
            np.array([("a", 6), ("c", -6)], dtype=[("town", "U1"), ("supply", int)]),
        ],
    )
    def test_supplies(self, supply: Any) -> None:
        assert preflow.min_cost_flow(PRICES, supply).cost == 22
        assert preflow.CostNetwork.from_pandas(PRICES, supply=supply).supply.tolist() == [6, 0, -6]
        masses = pd.DataFrame({"shop": ["x", "y"], "mass": [4, 2]})
        costs = pd.DataFrame([[1, 2], [3, 4]], index=["a", "c"], columns=["x", "y"])
        assert preflow.transport(costs, {"a": 6}, masses).cost == 8

    @pytest.mark.parametrize(
        ("supply", "message"),
        [
            ({"town": ["a", "c"], "demand": [6, -6]}, "a supply is what a vertex sends"),
            ({"town": ["a", "a"], "supply": [6, -6]}, "row 1, from 0: supply has two entries for 'a'"),
            (
                {"town": ["a", "c"], "supply": [6, "x"]},
                "'x' in column 'supply' is not a number",
            ),
            ({"town": ["a", "c"], "supply": [6, None]}, "row 1, from 0: no value in column 'supply'"),
            (
                {"id": [1, 2], "town": ["a", "c"], "supply": [6, -6]},
                "expected two columns, names and amounts",
            ),
            ({"town": ["a", "d"], "supply": [6, -6]}, "vertex 'd' is not in the graph"),
        ],
    )
    def test_errors(self, supply: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            preflow.min_cost_flow(PRICES, pd.DataFrame(supply))


class TestCells:
    """Text in a cell has the words of the command line."""

    def test_columns(self) -> None:
        table = pd.DataFrame({"row": ["ada", "bob"], "column": ["sew", "sew"], "cost": [1, "x"]})
        message = "row 1, from 0: 'x' in column 'cost' is not a number; a pair that is not allowed costs inf"
        with pytest.raises(InvalidInputError, match=message):
            preflow.linear_assignment(table)
        with pytest.raises(
            InvalidInputError, match=r"'many' in column 'capacity' is not a number; .* is inf"
        ):
            preflow.max_flow(PRICES.assign(capacity=[1, "many", 2]), "a", "c")

    def test_matrices(self) -> None:
        costs = pd.DataFrame({"Mon-N": [4, "x"], "Tue-N": [1, 2]}, index=["ada", "bob"])
        message = "row 'bob': 'x' in column 'Mon-N' is not a number; a pair that is not allowed costs inf"
        with pytest.raises(InvalidInputError, match=message):
            preflow.linear_assignment(costs)


class TestVertices:
    @pytest.mark.parametrize(
        ("name", "hint"),
        [
            ("Achen", "; did you mean 'Aachen'?"),
            ("aachen", "; did you mean 'Aachen'?"),
            ("Koeln", "; did you mean 'Köln'?"),
            (" Aachen", "; did you mean 'Aachen'?"),
            (10, ": its label is '10'"),
            ("7", ": its label is 7"),
            ("Moon", ""),
            (11, ""),
        ],
    )
    def test_a_name_that_is_like_a_label(self, name: Any, hint: str) -> None:
        edges = [("Aachen", "Köln", 3), ("Köln", "10", 2), ("10", 7, 2)]
        with pytest.raises(InvalidInputError) as caught:
            preflow.max_flow(edges, "Köln", name)
        assert str(caught.value) == f"vertex {name!r} is not in the graph{hint}"
        shipments = [(u, v, c, 1) for u, v, c in edges]
        with pytest.raises(InvalidInputError) as caught:
            preflow.min_cost_flow(shipments, {"Köln": 1, name: -1})
        assert str(caught.value).endswith(f"is not in the graph{hint}")

    def test_masses(self) -> None:
        costs = pd.DataFrame([[1, 2]], index=["Aachen"], columns=["x", "y"])
        with pytest.raises(InvalidInputError, match=r"'Achen', which the problem .*; did you mean 'Aachen'"):
            preflow.transport(costs, {"Achen": 2}, {"x": 1, "y": 1})

    def test_labels_twice(self) -> None:
        names = ["a", "b", "a"]
        matrix = pd.DataFrame(np.eye(3, k=1), index=names, columns=names)
        with pytest.raises(InvalidInputError, match="two rows of the matrix have the label 'a'"):
            preflow.max_flow(matrix, "a", "b")
        with pytest.raises(InvalidInputError, match="two vertices have the label 'a'"):
            preflow.FlowNetwork(3, [0], [1], [2], labels=("a", "b", "a"))


class TestMatricesThatAreNone:
    """A DataFrame of numbers is read as a matrix of costs: one that is likely to be none is refused."""

    MATRIX = ((1, 4, 1, 7), (2, 2, 3, 9), (3, 8, 7, 1))

    @pytest.mark.parametrize("name", ["Nr", "Unnamed: 0"])
    def test_a_column_that_numbers_the_rows(self, name: str) -> None:
        table = pd.DataFrame(self.MATRIX, columns=[name, "sew", "cook", "sweep"])
        frames = [table, table.assign(**{name: [0, 1, 2]})]
        if polars is not None:
            frames.append(polars.DataFrame(table))
        for frame in frames:
            with pytest.raises(InvalidInputError, match=f"column '{name}' of the costs numbers the rows"):
                preflow.linear_assignment(frame)
        with pytest.raises(InvalidInputError, match="numbers the rows"):
            preflow.transport(table, [1, 1, 1], [1, 1, 1, 0])
        with pytest.raises(InvalidInputError, match="numbers the rows"):
            assign_jobs(table, limit=2)
        assert preflow.linear_assignment(table.set_index(name)).cost == 4
        assert preflow.linear_assignment(table.to_numpy()).cost == 4

    def test_pairs_of_numbers(self) -> None:
        table = pd.DataFrame({"worker": [7, 7, 8, 8], "order": [1, 2, 1, 2], "hours": [5, 6, 7, 1]})
        advice = r"ends=\('worker', 'order'\) reads pairs; weight='hours' is their cost"
        with pytest.raises(InvalidInputError, match=advice):
            preflow.linear_assignment(table)
        names: dict[str, Any] = {"ends": ("worker", "order"), "weight": "hours"}
        assert preflow.linear_assignment(table, **names).pairs() == [(7, 1), (8, 2)]
        assert assign_jobs(table, **names).cost == 6

    def test_pairs_with_names(self) -> None:
        table = pd.DataFrame({"who": ["a", "b"], "what": ["x", "y"], "hours": [5, 6]})
        with pytest.raises(InvalidInputError, match=r"ends=\('FIRST', 'SECOND'\) .* weight='NAME'"):
            preflow.linear_assignment(table)
        assert assign_jobs(table, ends=("who", "what"), weight="hours").cost == 11
        assert preflow.bipartite_matching(table[["who", "what"]]).cardinality == 2
        with pytest.raises(InvalidInputError, match=r"ends=\('FIRST', 'SECOND'\) names them"):
            preflow.bipartite_matching(table)


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_that_is_blank(kind: str) -> None:
    """All of them would be one vertex, over which flow passes."""
    table = table_of(kind, [("a", "b", 3), ("", "c", 4)], ("from", "to", "capacity"))
    with pytest.raises(InvalidInputError, match="row 1, from 0: no value in column 'from'"):
        preflow.max_flow(table, "a", "c")


class TestLabelsThatLookAlike:
    @pytest.mark.parametrize("other", ["Köln ", " Köln", "K\u00f6ln\u00a0", "Ko\u0308ln"])
    def test_a_warning(self, other: str) -> None:
        rows = [(other, "b", 3), ("Köln", "c", 4), ("b", "c", 9)]
        table = pd.DataFrame(rows, columns=["from", "to", "cap"])
        for given in (table, rows):
            with pytest.warns(UserWarning, match="are two labels, which look alike"):
                assert preflow.max_flow(given, "Köln", "c").value == 4


def test_decimals_of_databases() -> None:
    table = pd.DataFrame({"from": ["a"], "to": ["b"], "cap": [Decimal("1.50")], "cost": [Decimal(2)]})
    assert preflow.max_flow(table, "a", "b").value == 1.5
    assert preflow.min_cost_flow(table, {"a": 1, "b": -1}).cost == 2
    assert preflow.max_flow([("a", "b", Decimal("0.25"))], "a", "b").value == 0.25
    costs = pd.DataFrame([[Decimal("1.5"), Decimal(2)]])
    assert preflow.linear_assignment(costs).cost == 1.5
    with pytest.raises(InvalidInputError, match="NaN"):
        preflow.max_flow([("a", "b", Decimal("NaN"))], "a", "b")
