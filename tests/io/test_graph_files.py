"""Graphs in the formats of other tools: METIS, DIMACS graphs to colour and for shortest paths."""

from __future__ import annotations

import gzip
from pathlib import Path

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
    with pytest.raises(ParseError, match=r"preflow\.io\.costs\.read_costs\(path\)\.costs"):
        preflow.read_dimacs(written(tmp_path, "a.asn", "p asn 3 1\nn 1\na 1 2 5\n"))
