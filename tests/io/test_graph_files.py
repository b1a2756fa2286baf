"""Graphs in the formats of other tools: METIS, DIMACS graphs to colour and for shortest paths."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError, ParseError
from preflow.io.bipartite import read_bipartite_graph
from preflow.io.undirected import read_undirected_graph
from tests.cli.test_matching import run, succeed

pytestmark = pytest.mark.fast

#: The graph of the METIS manual, Figure 2, and the same with weights of edges and of vertices.
METIS = "% manual\n7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n"
WEIGHTED = """7 11 011
4 5 1 3 2 2 1
2 1 1 3 2 4 1
5 5 3 4 2 2 2 1 2
3 2 1 3 2 6 2 7 5
1 1 1 3 3 6 2
6 5 2 4 2 7 6
2 6 6 4 5
"""
#: The triangle with a tail of the DIMACS challenge on colouring.
COLOURING = "c triangle\np edge 5 4\ne 1 2\ne 2 3\ne 3 1\ne 3 4\n"
ROADS = "c roads\np sp 4 4\na 1 2 3\na 2 4 4\na 1 3 1\na 3 4 9\n"
TRACKS = "p min 4 3\na 1 2 -5\na 2 3 -7.5\na 3 4 2\n"
PAIRS = "p asn 4 4\nn 1\nn 3\na 1 2 5\na 1 4 6\na 3 2 1\na 3 4 9\n"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


class TestMetis:
    @pytest.mark.parametrize("name", ["a.graph", "a.graph.gz", "a.metis"])
    def test_graphs_of_the_manual(self, tmp_path: Path, name: str) -> None:
        graph, first = read_undirected_graph(written(tmp_path, name, METIS))
        assert (graph.num_vertices, graph.num_edges, graph.weight, first) == (7, 11, None, 1)
        again, _ = read_undirected_graph(written(tmp_path, name, WEIGHTED))
        assert again.weight is not None
        pairs = [sorted(pair) for pair in zip(graph.tail.tolist(), graph.head.tolist(), strict=True)]
        others = zip(again.tail.tolist(), again.head.tolist(), again.weight.tolist(), strict=True)
        assert sorted((*pair, 1) for pair in pairs)[0] == (0, 1, 1)
        assert {(u, v): w for u, v, w in others}[5, 6] == 6

    def test_vertices_without_edges_count(self, tmp_path: Path) -> None:
        path = str(written(tmp_path, "a.graph", "3 1\r\n2\r\n1\r\n\r\n"))
        assert "3 vertices, 1 edge" in succeed("match", path, "--general")
        assert run("match", path, "--general", "--perfect").exit_code == 2

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "expected 'VERTICES EDGES'"),
            ("3 2\n2 3\n1\n", "a.graph:1: 3 lines of neighbours were announced, there are 2"),
            ("3 2\n2 3\n1 4\n1\n", "a.graph:3: expected neighbours from 1 to 3"),
            ("3 2\n2 x\n1\n1\n", "a.graph:2: expected integers"),
            ("3 2 1\n2 3\n1 3\n1\n", "a.graph:4: expected neighbours from 1 to 3, each with a weight"),
            ("3 2\n2 3\n3\n1\n", "a.graph:1: 2 edges were announced, and 4 neighbours are listed, 3 of"),
            ("3 1\n2 3\n1\n1\n", "1 edges were announced, and 4 neighbours are listed"),
        ],
    )
    def test_errors(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(ParseError, match=message):
            read_undirected_graph(written(tmp_path, "a.graph", text))


def test_graphs_to_colour(tmp_path: Path) -> None:
    path = written(tmp_path, "a.col", COLOURING)
    graph, first = read_undirected_graph(path)
    assert (graph.num_vertices, graph.num_edges, first) == (5, 4, 1)
    assert "matched   2 pairs" in succeed("match", str(path), "--general", "-o", str(tmp_path / "pairs.txt"))
    assert sorted((tmp_path / "pairs.txt").read_text().split()) == ["1", "2", "3", "4"]
    assert preflow.global_min_cut(graph).value == 0
    message = "expected .* not problem 'edge', a graph to colour, which `preflow match --general` reads"
    with pytest.raises(ParseError, match=message):
        preflow.read_dimacs(path)
    with pytest.raises(ParseError, match=r"a\.col: an undirected graph, whose .*--general"):
        read_bipartite_graph(path)
    for read in (read_bipartite_graph, read_undirected_graph):
        with pytest.raises(ParseError, match=r"a DIMACS file, 'p asn', which `preflow assign` reads"):
            read(written(tmp_path, "b.txt", PAIRS))
    with pytest.raises(ParseError, match=r"a\.col:3: expected 'e TAIL HEAD', got 4 fields"):
        read_undirected_graph(written(tmp_path, "a.col", "c\np col 2 1\ne 1 2 5\n"))


def test_shortest_paths_have_lengths_as_costs(tmp_path: Path) -> None:
    network = preflow.read_dimacs(written(tmp_path, "a.gr.gz", ROADS))
    assert preflow.min_cost_flow(network, [1, 0, 0, -1]).cost == 7
    assert preflow.reductions.shortest_path(network, 0, 3).cost == 7
    error = run("solve", str(tmp_path / "a.gr.gz")).stderr
    assert "a network without supplies; preflow.reductions.shortest_path finds" in error


def test_arcs_with_a_cost_alone(tmp_path: Path) -> None:
    message = "2: expected 'a TAIL HEAD LOWER CAPACITY COST', got 4 fields; .* 'a TAIL HEAD 0 1 COST'"
    with pytest.raises(ParseError, match=message):
        preflow.read_dimacs(written(tmp_path, "a.min", TRACKS))


def test_an_assignment_that_was_read_has_costs(tmp_path: Path) -> None:
    network = preflow.read_dimacs(written(tmp_path, "a.asn", PAIRS))
    result = preflow.linear_assignment(network)
    assert (result.cost, result.pairs()) == (7, [(0, 3), (2, 1)])
    assert preflow.transport(network, [1, 1], [1, 1]).cost == 7
    result.verify()
    twice = preflow.read_dimacs(written(tmp_path, "a.asn", PAIRS.replace("4 4", "4 5") + "a 3 4 0\n"))
    assert preflow.linear_assignment(twice).cost == preflow.min_cost_flow(twice).cost == 5
    other = preflow.CostNetwork.from_arrays([0], [1], cost=[3], supply=[2, -2])
    with pytest.raises(InvalidInputError, match=r"each vertex has a supply of 1 or -1.* min_cost_flow takes"):
        preflow.linear_assignment(other)
    flow = preflow.read_dimacs(written(tmp_path, "a.max", "p max 2 1\nn 1 s\nn 2 t\na 1 2 5\n"))
    for solve in (preflow.linear_assignment, lambda given: preflow.transport(given, [1], [1])):
        with pytest.raises(InvalidInputError, match=r"costs are a matrix, .* not MaxFlowProblem"):
            solve(flow)
    with pytest.raises(
        InvalidInputError, match=r"what read_dimacs returns for a \.max file, .* not CostNetwork"
    ):
        preflow.max_flow(network)
    with pytest.raises(ParseError, match=r"preflow\.io\.costs\.read_costs\(path\)\.costs"):
        preflow.read_dimacs(written(tmp_path, "a.asn", "p asn 3 1\nn 1\na 1 2 5\n"))


class TestLists:
    """Lists of arcs for `preflow solve`."""

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("a.txt", "# roads\ns a 3\ns b 2\n\na t 2 # narrow\nb t 4\n"),
            ("a.edges.gz", "s,a,3\r\ns,b,2\r\na,t,2\r\nb,t,4\r\n"),
            ("a.txt", "4 4\ns a 3\ns b 2\na t 2\nb t 4\n"),
            ("a.txt", "source target capacity\ns a 3\ns b 2\na t 2\nb t 4\n"),
            ("a.txt", "from to km capacity\ns a 9 3\ns b 9 2\na t 9 2\nb t 9 4\n"),
            ("a.ncol", "s\ta\t3.0\ns\tb\t2\na\tt\t2\nb\tt\t4\n"),
        ],
    )
    def test_arcs_with_capacities(self, tmp_path: Path, name: str, text: str) -> None:
        path, flow = str(written(tmp_path, name, text)), tmp_path / "flow.csv"
        terminals = "--source", "s", "--sink", "t"
        report = succeed("solve", path, *terminals, "--verify", "-o", str(flow))
        assert re.search(r"value +4(\.0)? ", report)
        assert flow.read_text().startswith("source,target,capacity,flow,cut\ns,a,3")
        assert "verified: a maximum flow" in succeed("verify", path, str(flow), *terminals)
        assert json.loads(succeed("info", path, "--json"))["vertices"] == 4

    def test_arcs_without_capacities_have_capacity_1(self, tmp_path: Path) -> None:
        path = str(written(tmp_path, "a.txt", "1 2\n1 3\n2 4\n3 4\n"))
        assert "value     2 " in succeed("solve", path, "--source", "1", "--sink", "4")
        assert "value     2 " in succeed("solve", path, "--source", "4", "--sink", "1", "--undirected")

    def test_other_names_lead_to_lists_and_tables(self, tmp_path: Path) -> None:
        numbers = "1,2,5\n2,3,6\n"
        error = run("solve", str(written(tmp_path, "a.csv", numbers)), "--source", "1", "--sink", "3").stderr
        assert "it has the number 1; a list without names of columns is read if the name" in error
        assert "value     5 " in succeed(
            "solve", str(written(tmp_path, "a.txt", numbers)), "--source", "1", "--sink", "3"
        )
        error = run("solve", str(written(tmp_path, "a.graph", METIS))).stderr
        assert "unknown line type '%': expected 'c', 'p', 'n' or 'a'; lists of arcs are .txt" in error
        error = run("match", str(written(tmp_path, "a.txt", "ada sew\nbob cook\n"))).stderr
        assert "'ada' in field 1 is not an integer; vertices with names are read from a table" in error

    def test_dimacs_under_the_name_of_a_list(self, tmp_path: Path) -> None:
        path = str(written(tmp_path, "a.txt", "c x\np max 2 1\nn 1 s\nn 2 t\na 1 2 5\n"))
        assert "value     5 " in succeed("solve", path)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "a.txt: the file is empty"),
            ("4 4 3\n1 2 5\n1 3 6\n1 4 7\n", "a.txt:1: the first line, '4 4 3', has the number of vertices"),
            ("a b 1\nb c\n", "a.txt:2: expected 3 fields, as above, got 2"),
            ("a b 1 2\nb c 3 4\n", "a.txt:1: expected 'TAIL HEAD CAPACITY' or 'TAIL HEAD'; of more columns"),
            ("a b {'capacity': 3}\n", "in place of networkx.write_edgelist take networkx.write_graphml"),
            ("a b 1\nb c x\n", "a.txt:2: 'x' in column 'capacity' is not a number"),
        ],
    )
    def test_errors(self, tmp_path: Path, text: str, message: str) -> None:
        path = str(written(tmp_path, "a.txt", text))
        assert message in run("solve", path, "--source", "a", "--sink", "c").stderr


#: The beginning of a network of TransportationNetworks, as it is there.
TRAFFIC = (
    "<NUMBER OF ZONES> 3\t\n<NUMBER OF NODES> 4\n<FIRST THRU NODE> 1\n<NUMBER OF LINKS> 4\n"
    "<END OF METADATA>\t\n\n\n~ \tInit node \tTerm node \tCapacity \tLength \tFree Flow Time \tB\tPower"
    "\tSpeed limit \tToll \tType\t;\n"
    "\t1\t2\t25900.5\t6\t6\t0.15\t4\t0\t0\t1\t;\n\t1\t3\t23403\t4\t4\t0.15\t4\t0\t0\t1\t;\n"
    "\t2\t4\t4958\t5\t5\t0.15\t4\t0\t0\t1\t;\n\t3\t4\t17110\t2\t2\t0.15\t4\t0\t0\t1\t;\n"
)


def test_traffic_networks(tmp_path: Path) -> None:
    path = str(written(tmp_path, "x_net.tntp", TRAFFIC))
    arguments = "solve", path, "--source", "1", "--sink", "4"
    assert re.search(r"value +22,?068(\.0)? ", succeed(*arguments))
    supply = str(written(tmp_path, "supply.csv", "node,supply\n1,5\n4,-5\n"))
    text = succeed("solve", path, "--supply", supply, "--cost", "Free_Flow_Time")
    assert re.search(r"cost +30(\.0)? ", text)
    written(tmp_path, "x_net.tntp", TRAFFIC.replace("NODE> 1", "NODE> 3"))
    assert f"warning: {path}: traffic does not pass nodes before 3; here" in run(*arguments).stderr
    written(tmp_path, "x_net.tntp", TRAFFIC.replace("<END OF METADATA>", ""))
    assert "no network in the format TNTP: it has no line <END OF METADATA>" in run(*arguments).stderr


def test_matchings_of_preflib(tmp_path: Path) -> None:
    text = "# NUMBER ALTERNATIVES: 4\n# NUMBER EDGES: 3\n# ALTERNATIVE NAME 1: Pair 1\n"
    text += "1, 2, 1.0\n2, 3, 2.5\n3, 4, 1.0\n"
    path = str(written(tmp_path, "a.wmd", text))
    assert "weight    2.5" in succeed("match", path, "--general")
    assert "matched   2 pairs" in succeed("match", path, "--general", "--maximum-cardinality")


class TestByNetworkX:
    @staticmethod
    def graph() -> networkx.DiGraph:
        graph = networkx.DiGraph()
        arcs = [("s", "a", 3, 2), ("s", "b", 2, 1), ("a", "t", 2, 1), ("b", "t", 4, 1)]
        graph.add_weighted_edges_from([(u, v, capacity) for u, v, capacity, _ in arcs], weight="capacity")
        graph.add_weighted_edges_from([(u, v, cost) for u, v, _, cost in arcs])
        graph.add_node("alone")
        return graph

    @pytest.mark.parametrize("name", ["a.graphml", "a.gml", "a.gexf", "a.graphml.gz"])
    def test_flows(self, tmp_path: Path, name: str) -> None:
        graph, path = self.graph(), tmp_path / name
        getattr(networkx, f"write_{name.split('.')[1]}")(graph, path)
        text = succeed("solve", str(path), "--source", "s", "--sink", "t", "--verify")
        assert re.search(rf"value +{networkx.maximum_flow_value(graph, 's', 't')}(\.0)? ", text)
        assert "5 vertices, 4 arcs" in text
        graph.add_node("s", demand=-3)
        graph.add_node("t", demand=3)
        getattr(networkx, f"write_{name.split('.')[1]}")(graph, path)
        assert re.search(rf"cost +{networkx.min_cost_flow_cost(graph)}(\.0)? ", succeed("solve", str(path)))

    def test_numbers_and_undirected_graphs(self, tmp_path: Path) -> None:
        path = str(tmp_path / "a.graphml")
        graph = networkx.Graph([(10, 20, {"capacity": 3}), (30, 20, {"capacity": 2})])
        networkx.write_graphml(graph, path)
        assert "value     2 " in succeed("solve", path, "--source", "10", "--sink", "30")
        assert "vertex '1' is not in the file" in run("solve", path, "--source", "1", "--sink", "30").stderr
        assert "matched   1 (structural rank)" in succeed("match", path)
        assert "is XML; that of GraphML is read by" in run("assign", path).stderr
        assert "matched   1 pair" in succeed("match", path, "--general", "--unweighted")
        graph.add_edge(10, 30, capacity=1)
        networkx.write_graphml(graph, path)
        assert "`preflow match --general` takes such graphs" in run("match", path).stderr

    def test_pajek_and_igraph(self, tmp_path: Path) -> None:
        text = '*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Arcs\n1 2 5\n2 3 4\n'
        path = str(written(tmp_path, "a.net", text))
        arguments = "--source", "a", "--sink", "c"
        assert re.search(r"value +4(\.0)? ", succeed("solve", path, *arguments, "--capacity", "weight"))
        assert "--capacity weight" in run("solve", path, *arguments).stderr
        assert re.search(r"weight +5(\.0)?", succeed("match", path, "--general", "--weight", "weight"))
        nodes = "".join(f"  node\n  [\n    id {number}\n  ]\n" for number in range(2))
        edge = "  edge\n  [\n    source 0\n    target 1\n    capacity 7\n  ]\n"
        path = str(
            written(
                tmp_path, "a.gml", f'Creator "igraph"\nVersion 1\ngraph\n[\n  directed 1\n{nodes}{edge}]\n'
            )
        )
        assert "value     7 " in succeed("solve", path, "--source", "0", "--sink", "1")

    @pytest.mark.parametrize("name", ["a.graphml", "a.gml", "a.net", "a.gexf"])
    @pytest.mark.parametrize(
        "text", ["", "<graphml>", "graph [ node [ id 1 label", "*vertices 2\n*arcs\n1 5\n", "\0"]
    )
    def test_damaged_files(self, tmp_path: Path, name: str, text: str) -> None:
        path = str(written(tmp_path, name, text))
        result = run("solve", path, "--source", "a", "--sink", "b")
        assert (result.exit_code, path in result.stderr) == (2, True)


ARCS = [(0, 1, 3), (0, 2, 2), (1, 3, 2), (2, 3, 4)]


class TestWhatToolsWrite:
    """Files that NumPy, NetworkX and igraph write."""

    FLOW = "--source", "0", "--sink", "3", "--verify", "--json"

    @pytest.mark.parametrize(
        ("name", "way"),
        [
            ("a.txt", {}),
            ("a.txt", {"fmt": "%d", "header": "tail head capacity"}),
            ("a.csv", {"delimiter": ",", "header": "tail,head,capacity"}),
            ("a.csv", {"delimiter": ",", "header": "tail,head,capacity", "comments": ""}),
            ("a.csv", {"delimiter": ";", "header": "tail;head;capacity", "encoding": "utf-16"}),
            ("a.txt", {"encoding": "utf-16", "fmt": "%d"}),
        ],
    )
    def test_arcs_of_savetxt(self, tmp_path: Path, name: str, way: dict[str, Any]) -> None:
        np.savetxt(tmp_path / name, ARCS, **way)
        assert json.loads(succeed("solve", str(tmp_path / name), *self.FLOW))["value"] == 4

    def test_a_header_in_another_order(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        np.savetxt(path, np.roll(ARCS, 1, axis=1), fmt="%d", header="capacity tail head")
        assert json.loads(succeed("solve", str(path), *self.FLOW))["value"] == 4
        with pytest.raises(ParseError, match=r"the comment says 'capacity tail head', and the first two"):
            read_undirected_graph(path)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_edges_of_savetxt(self, tmp_path: Path, encoding: str) -> None:
        path = tmp_path / "a.txt"
        np.savetxt(path, ARCS, encoding=encoding)
        graph = read_undirected_graph(path).graph
        assert (graph.tail.tolist(), graph.head.tolist()) == ([0, 0, 1, 2], [1, 2, 3, 3])
        assert graph.weight is not None
        assert graph.weight.tolist() == [3, 2, 2, 4]
        assert read_bipartite_graph(path).graph.num_edges == 4

    @pytest.mark.parametrize("size", [3, 4, 7])
    def test_a_matrix_is_no_list_of_edges(self, tmp_path: Path, size: int) -> None:
        path = tmp_path / "a.txt"
        np.savetxt(path, np.eye(size), fmt="%d")
        for read in (read_bipartite_graph, read_undirected_graph):
            with pytest.raises(ParseError, match=r"a matrix is read from a Matrix Market file, scipy\.io"):
                read(path)

    def test_dimacs_and_metis_in_utf_16(self, tmp_path: Path) -> None:
        path = tmp_path / "a.max"
        path.write_text("p max 2 1\nn 1 s\nn 2 t\na 1 2 5\n", encoding="utf-16")
        assert preflow.max_flow(preflow.read_dimacs(path)).value == 5
        assert "value     5 " in succeed("solve", str(path))
        path = tmp_path / "a.graph"
        path.write_text(METIS, encoding="utf-16")
        assert read_undirected_graph(path).graph.num_edges == 11

    def test_another_encoding_of_a_list(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_text("Köln Aachen 3\nAachen Düren 2\n", encoding="latin-1")
        command = "solve", str(path), "--source", "Köln", "--sink", "Düren"
        assert "a.txt:1: the text is not in UTF-8; --encoding latin-1" in run(*command).stderr
        assert "value     2 " in succeed(*command, "--encoding", "latin-1")

    def test_lists_of_networkx(self, tmp_path: Path) -> None:
        path, graph = tmp_path / "a.edgelist", networkx.DiGraph()
        graph.add_edges_from((tail, head, {"capacity": size, "cost": 1}) for tail, head, size in ARCS)
        networkx.write_edgelist(graph, path)
        for command in (("info", str(path)), ("solve", str(path), *self.FLOW)):
            assert "in place of networkx.write_edgelist take networkx.write_graphml" in run(*command).stderr
        networkx.write_edgelist(graph, path, data=["capacity"])
        assert json.loads(succeed("solve", str(path), *self.FLOW))["value"] == 4
        circulant = networkx.circulant_graph(9, [1, 2], networkx.DiGraph)
        for write in (networkx.write_adjlist, networkx.write_multiline_adjlist):
            write(circulant, tmp_path / "a.txt")
            with pytest.raises(ParseError, match=r"take networkx\.write_edgelist\(graph, path, data=False\)"):
                read_bipartite_graph(tmp_path / "a.txt")
            assert "lists of neighbours" in run("info", str(tmp_path / "a.txt")).stderr

    def test_names_of_igraph(self, tmp_path: Path) -> None:
        """It numbers vertices itself, n0, n1, ..., and has their names beside."""
        graph = networkx.DiGraph()
        for at, name in enumerate(("depot", "north", "south", "shop")):
            graph.add_node(f"n{at}", name=name)
        graph.add_edges_from((f"n{tail}", f"n{head}", {"capacity": size}) for tail, head, size in ARCS)
        text = "\n".join(networkx.generate_graphml(graph))
        path = str(written(tmp_path, "a.graphml", text))
        assert "value     4 " in succeed("solve", path, "--source", "n0", "--sink", "n3")
        written(tmp_path, "a.graphml", text.replace("<key", "<!-- Created by igraph -->\n<key", 1))
        assert "value     4 " in succeed("solve", path, "--source", "depot", "--sink", "shop")
