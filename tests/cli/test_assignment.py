"""The command `preflow assign`, and the files it reads."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from preflow.errors import ParseError
from preflow.generators import machol_wien_costs
from preflow.io.costs import read_costs
from tests.cli.test_cli import run, succeed

#: Vertices 4 and 2 are rows; the arc from 2 to 1 is there twice.
DIMACS = "c small\np asn 5 5\nn 4\nn 2\na 4 1 3\na 4 3 5\na 2 1 9\na 2 1 1\na 2 5 7\n"
COSTS = [[4, 1, 3], [2, 0, 5], [3, 2, 2]]


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    path = tmp_path / "costs.npy"
    np.save(path, np.array(COSTS))
    return str(path)


def test_report(matrix: str) -> None:
    text = succeed("assign", matrix, "--verify")
    assert "costs.npy: 3 x 3" in text
    assert re.search(r"^cost +5 \(least\)$", text, re.MULTILINE)
    assert "serial-shortest-path (cpu, 1 thread): dense costs" in text
    assert "yes, the cost is proved" in text
    text = succeed("assign", matrix, "--maximize", "--method", "JV", "--option", "row_reduction=1")
    assert re.search(r"^cost +11 \(largest\)$", text, re.MULTILINE)
    assert "not asked for" in text


def test_json(matrix: str) -> None:
    facts = json.loads(succeed("assign", matrix, "--json"))
    assert facts["cost"] == facts["lower_bound"] == 5
    assert facts["pairs"] == 3
    assert facts["seconds"]["read"] >= 0


def test_dimacs_and_pairs_by_vertex(tmp_path: Path) -> None:
    path = tmp_path / "small.asn.gz"
    path.write_bytes(gzip.compress(DIMACS.encode()))
    problem = read_costs(path)
    assert problem.costs.toarray().tolist() == [[1, 0, 7], [3, 5, 0]]
    assert problem.rows.tolist() == [2, 4]
    assert problem.columns.tolist() == [1, 3, 5]
    assert succeed("assign", str(path), "--output", "-") == "2 1\n4 3\n"
    pairs = tmp_path / "pairs.txt"
    assert f"wrote {pairs}" in succeed("assign", str(path), "--output", str(pairs))
    assert pairs.read_text() == "2 1\n4 3\n"


def test_or_library(tmp_path: Path) -> None:
    path = tmp_path / "assign3.txt"
    path.write_text(" 3\n 4 1 3 2\n 0 5 3\n 2 2\n")
    assert read_costs(path).costs.tolist() == COSTS
    path.write_text("1\n2.5")
    assert read_costs(path).costs.tolist() == [[2.5]]


def test_infeasible_costs(tmp_path: Path) -> None:
    path = tmp_path / "one.asn"
    path.write_text("p asn 4 2\nn 1\nn 2\na 1 3 -5\na 2 3 4\n")
    result = run("assign", str(path))
    assert result.exit_code == 2
    assert "rows 1, 2 are allowed 1 column together: 3" in re.sub(r"\s+", " ", result.output)
    assert succeed("assign", str(path), "--partial", "--output", "-") == "1 3\n"


def test_time_limit(tmp_path: Path) -> None:
    path = tmp_path / "costs.npy"
    np.save(path, machol_wien_costs(1500))
    result = run("assign", str(path), "--method", "JV", "--time-limit", "0.05", "--verify")
    assert result.exit_code == 3
    assert "time limit reached: between" in result.output
    assert "both bounds are proved" in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("2\n1 2 3", "expected 2 x 2 costs"),
        ("2\n1 2 3 x", "numbers"),
        ("3 1 2 3 x", "costs:1: 'x' in field 5 is not a number"),
        ("1 2\n\n3\n", "costs:3: expected 2 fields, as in line 1, got 1"),
        ("p max 2 1\n", "expected 'p asn"),
        ("p asn 2 1\np asn 2 1\n", "a second p line"),
        ("n 1\np asn 2 1\n", "before the p line"),
        ("c nothing\n", "no line 'p asn"),
        ("p asn 2 1\nn 1\n", "1 arcs were announced"),
        ("p asn 2 1\nn 1 2\na 1 2 3\n", "expected 'n VERTEX'"),
        ("p asn 2 1\nn 3\na 1 2 3\n", "out of range"),
        ("p asn 2 1\nn 1\nn 1\na 1 2 3\n", "two n lines"),
        ("p asn 2 1\nn 1\na 2 1 3\n", "from 2 to 1 does not lead"),
        ("p asn 2 1\nn 1\na 1 2 many\n", "not a number"),
        ("p asn 2 1\nx 1\n", "unknown line type"),
        ("\u0093NUMPY", "expected the number of rows"),
    ],
)
def test_malformed_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "costs"
    path.write_text(text)
    with pytest.raises(ParseError, match=message):
        read_costs(path)


def test_numpy_files_hold_one_matrix(tmp_path: Path) -> None:
    path = tmp_path / "costs.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(ParseError, match="expected a matrix"):
        read_costs(path)
    path.write_bytes(b"\x93NUMPY broken")
    with pytest.raises(ParseError, match="no NumPy array"):
        read_costs(path)


def test_sparse_matrices(tmp_path: Path) -> None:
    path = tmp_path / "costs.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(np.array([[0, 2, 1], [9, 0, 3]])))
    assert succeed("assign", str(path), "--verify", "--output", "-") == "1 2\n2 3\n"
    np.savez(path, costs=np.eye(2))
    assert "no sparse matrix" in run("assign", str(path)).output
    path.write_bytes(b"PK\x03\x04")
    assert "no NumPy archive" in run("assign", str(path)).output


def test_singles_have_a_cost(tmp_path: Path) -> None:
    table = tmp_path / "hours.csv"
    table.write_text("name,x,y\np,1,9\nq,2,8\n")
    assert (
        succeed("assign", str(table), "--unmatched-cost", "3", "--output", "-") == "row,column,cost\np,x,1\n"
    )
    assert json.loads(succeed("assign", str(table), "--unmatched-cost", "3,2.5", "--json"))["cost"] == 6.5
    for wrong in ("a", "1,2,3", ""):
        result = run("assign", str(table), "--unmatched-cost", wrong)
        assert result.exit_code == 2
        assert "--unmatched-cost is COST or ROWS,COLUMNS" in result.stderr
