"""The command `preflow match --general`, and the files that it reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from preflow.errors import ParseError
from preflow.io.undirected import read_undirected_graph
from tests.cli.test_cli import run

#: A triangle with a tail, whose best matching weighs 9, as lines and as the triangle of a matrix.
LINES = "# a comment\n0 1 5\n1 2 6\n2 0 7\n2 3 4\n"
MATRIX = "%%MatrixMarket matrix coordinate integer symmetric\n4 4 4\n2 1 5\n3 2 6\n3 1 7\n4 3 4\n"


def written(folder: Path, name: str, content: str) -> str:
    path = folder / name
    path.write_text(content)
    return str(path)


def test_report(tmp_path: Path) -> None:
    for name, content in (("a.txt", LINES), ("a.mtx", MATRIX)):
        result = run("match", written(tmp_path, name, content), "--general", "--verify")
        assert result.exit_code == 0, result.output
        assert f"{name}: 4 vertices, 4 edges" in result.stdout
        assert re.search(r"^matched +2 pairs$", result.stdout, re.MULTILINE)
        assert re.search(r"^weight +9$", result.stdout, re.MULTILINE)
        assert "the value is proved" in result.stdout


def test_approximate_method(tmp_path: Path) -> None:
    file = written(tmp_path, "a.txt", "0 1 3\n1 2 4\n2 3 3\n")
    result = run("match", file, "--general", "--method", "greedy", "--verify")
    assert result.exit_code == 0
    assert "approximate, not proved optimal: between 4 and 6" in result.stdout
    assert "both bounds are proved" in result.stdout


def test_options_and_output(tmp_path: Path) -> None:
    file, pairs = written(tmp_path, "a.mtx", MATRIX), str(tmp_path / "pairs.txt")
    result = run("match", file, "--general", "--minimize", "--perfect", "--json", "-o", pairs)
    facts = json.loads(result.stdout)
    assert (facts["weight"], facts["cardinality"], facts["gap"]) == (9, 2, 0)
    assert Path(pairs).read_text() == "1 2\n3 4\n"
    facts = json.loads(run("match", file, "--general", "--unweighted", "--json").stdout)
    assert (facts["weight"], facts["method"]) == (None, "serial-blossom")
    result = run("match", written(tmp_path, "b.txt", "0 1\n0 2\n0 3\n"), "--general", "--perfect")
    assert result.exit_code == 2
    assert "no perfect matching" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--perfect"], "need --general"),
        (["--general", "--spy", "a.png"], "do not go with --general"),
        (["--general", "--method", "serial-hkdw"], "unknown method"),
    ],
)
def test_wrong_options(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run("match", written(tmp_path, "a.txt", LINES), *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_files(tmp_path: Path) -> None:
    graph, first = read_undirected_graph(written(tmp_path, "a.txt", "0 1\n1 2\n"))
    assert (graph.weight, graph.num_vertices, first) == (None, 3, 0)
    graph, first = read_undirected_graph(written(tmp_path, "b.txt", "0 1 0.5\n1 2 2\n"))
    assert graph.weight is not None
    assert graph.weight.tolist() == [0.5, 2]
    pattern = MATRIX.replace("integer", "pattern").replace(" 5\n", "\n").replace(" 6\n", "\n")
    pattern = pattern.replace(" 7\n", "\n").replace("4 3 4\n", "4 3\n")
    graph, first = read_undirected_graph(written(tmp_path, "c.mtx", pattern))
    assert (graph.weight, first) == (None, 1)
    for name, content in (
        ("d.txt", "0 1 x\n"),
        ("e.txt", "0 -1 3\n"),
        ("f.txt", "0 1 nan\n"),
        ("g.mtx", "%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 1 5\n"),
    ):
        with pytest.raises(ParseError):
            read_undirected_graph(written(tmp_path, name, content))
