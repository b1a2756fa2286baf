"""Commands on minimum-cost flow: solve, info, verify, generate and transport."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

import preflow
from preflow.generators import MIN_COST_FAMILIES
from preflow.graph.cost_network import CostNetwork
from preflow.io.dimacs import write_dimacs
from tests.cli.test_cli import fail, run, succeed

#: Three units over two paths of costs 2 and 5, of which the cheap one carries two.
TWO_PATHS = "c small\np min 4 4\nn 1 3\nn 4 -3\na 1 2 0 3 1\na 2 4 0 2 1\na 1 3 0 3 2\na 3 4 1 5 3\n"
PAIRS = "p asn 4 3\nn 1\nn 3\na 1 2 5\na 1 4 -2\na 3 2 7\n"


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.min"
    path.write_text(TWO_PATHS)
    return str(path)


def test_solve_reports_the_cost(small: str) -> None:
    text = succeed("solve", small)
    assert "small: 4 vertices, 4 arcs" in text
    assert "9 (minimum)" in text
    assert "3 sent, over 4 arcs" in text
    assert "not asked for" in text
    assert "the cost is proved" in succeed("solve", small, "--verify")


def test_solve_as_json(small: str) -> None:
    facts = json.loads(succeed("solve", small, "--json", "--verify", "--method", "serial-capacity-scaling"))
    assert (facts["problem"], facts["cost"], facts["gap"], facts["supply"]) == ("min_cost_flow", 9, 0, 3)
    assert (facts["method"], facts["verified"]) == ("serial-capacity-scaling", True)


def test_solve_writes_the_flow(small: str, tmp_path: Path) -> None:
    solution = tmp_path / "small.sol"
    assert f"wrote the flow to {solution}" in succeed("solve", small, "--output", str(solution))
    lines = ["c minimum-cost flow of small", "s 9", "f 1 2 2", "f 2 4 2", "f 1 3 1", "f 3 4 1"]
    assert solution.read_text().splitlines() == lines
    assert run("solve", small, "--output", "-").stdout == solution.read_text()
    text = succeed("verify", small, str(solution))
    assert "verified: a minimum-cost flow" in text
    assert "no residual cycle" in text


def test_solve_an_assignment(tmp_path: Path) -> None:
    path = tmp_path / "pairs.asn.gz"
    path.write_bytes(gzip.compress(PAIRS.encode()))
    assert "5 (minimum)" in succeed("solve", str(path), "--output", str(tmp_path / "pairs.sol"))
    assert (tmp_path / "pairs.sol").read_text().endswith("s 5\nf 1 4 1\nf 3 2 1\n")
    assert "verified" in succeed("verify", str(path), str(tmp_path / "pairs.sol"))


@pytest.mark.parametrize(
    ("solution", "violation"),
    [
        (
            "s 9\nf 1 2 2\nf 2 4 2\nf 1 3 1\nf 3 4 2\n",
            "counted from 0); flows of solve --partial are proved by its own --verify",
        ),
        ("s 9\nf 1 2 3\nf 2 4 3\nf 3 4 1\n", "sends 3 from vertex 2 to vertex 4, the capacity is 2"),
        ("s 9\nf 1 2 2\nf 2 4 2\nf 1 3 1\n", "less from vertex 3 to vertex 4 than arcs must carry"),
        ("s 8\nf 1 2 2\nf 2 4 2\nf 1 3 1\nf 3 4 1\n", "the flow costs 9, the file states 8"),
        ("s 12\nf 1 2 1\nf 2 4 1\nf 1 3 2\nf 3 4 2\n", "a cycle of 4 residual arcs costs less"),
    ],
)
def test_verify_names_the_violation(small: str, tmp_path: Path, solution: str, violation: str) -> None:
    path = tmp_path / "x.sol"
    path.write_text(solution)
    result = run("verify", small, str(path))
    assert result.exit_code == 1
    assert result.stdout.startswith("not verified: ")
    assert violation in result.stdout


def test_verify_of_undirected_arcs(tmp_path: Path) -> None:
    """A file has two arcs for each undirected one; flow on both at once could be cancelled."""
    network = CostNetwork.from_arrays([0], [1], capacity=4, cost=3, supply=[-2, 2], undirected=True)
    write_dimacs(tmp_path / "x.min", network)
    succeed("solve", str(tmp_path / "x.min"), "--output", str(tmp_path / "x.sol"))
    assert "verified" in succeed("verify", str(tmp_path / "x.min"), str(tmp_path / "x.sol"))
    (tmp_path / "x.sol").write_text("s 12\nf 2 1 3\nf 1 2 1\n")
    result = run("verify", str(tmp_path / "x.min"), str(tmp_path / "x.sol"))
    assert "a cycle of 2 residual arcs costs less" in result.stdout


def test_errors_number_vertices_and_arcs_as_the_file_does(tmp_path: Path) -> None:
    (tmp_path / "x.min").write_text("p min 3 2\nn 1 3\nn 3 -3\na 1 2 0 5 1\na 2 3 0 1 1\n")
    assert "can carry: 1, 2; --partial sends" in fail("solve", str(tmp_path / "x.min"))
    (tmp_path / "y.min").write_text("p min 2 3\na 1 2 0 1 5\na 1 2 0 inf -1\na 2 1 0 inf 0\n")
    assert re.search(
        r"a cycle of cost -1: [23] \([12] to [12]\), [23] \([12] to [12]\)$",
        fail("solve", str(tmp_path / "y.min")),
    )


def test_what_is_for_maximum_flow_only(small: str, tmp_path: Path) -> None:
    assert "--min-cut is for maximum flow" in fail("solve", small, "--min-cut")
    other = tmp_path / "no-suffix"
    other.write_text(TWO_PATHS)
    assert "--min-cut is for maximum flow" in fail("solve", str(other), "--min-cut")
    assert "unknown method 'serial-fifo'; there are: auto, serial-" in fail(
        "solve", small, "--method", "serial-fifo"
    )
    assert "9 (minimum)" in succeed("solve", str(other), "--method", "serial-shortest-path")


def test_info(small: str, tmp_path: Path) -> None:
    text = succeed("info", small)
    assert re.search(r"^cost +1 to 3 \(int64\)$", text, re.MULTILINE)
    assert re.search(r"^lower bound +1 arc with one$", text, re.MULTILINE)
    assert re.search(r"^supply +3 at 1 source$", text, re.MULTILINE)
    facts = json.loads(succeed("info", small, "--json"))
    assert (facts["least_cost"], facts["sources"], facts["demand"]) == (1, 1, 3)
    (tmp_path / "none.min").write_text("p min 2 0\n")
    assert re.search(r"^cost +none$", succeed("info", str(tmp_path / "none.min")), re.MULTILINE)


def test_generate_lists_families() -> None:
    text = succeed("generate", "--list")
    assert all(re.search(rf"^{name} ", text, re.MULTILINE) for name in MIN_COST_FAMILIES)
    assert "--max-cost" in succeed("generate", "goto", "--list")


def test_generate_is_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "wrote netgen-100x5-max-cost-9-seed-3.min.gz: 100 vertices, 500 arcs" in succeed(
        "generate", "netgen", "100x5", "--max-cost", "9", "--seed", "3"
    )
    network = preflow.read_dimacs("netgen-100x5-max-cost-9-seed-3.min.gz")
    expected = MIN_COST_FAMILIES["netgen"].generate("100x5", max_cost=9, seed=3)
    assert isinstance(network, CostNetwork)
    for name in ("tail", "head", "capacity", "cost", "supply"):
        assert (getattr(network, name) == getattr(expected, name)).all()
    succeed("generate", "goto", "20", "-o", "x.npz")
    assert "x: 20 vertices, 120 arcs" in succeed("solve", "x.npz", "--verify")
    assert "cost " in succeed("info", "x.npz")
    assert run("generate", "goto", "20", "-o", "-").stdout.startswith("c goto 20\np min 20 120\n")
    assert "for goto the name ends in .min.gz, .min, .asn.gz, .asn or .npz" in fail(
        "generate", "goto", "20", "-o", "x.max"
    )
