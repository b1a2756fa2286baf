"""The command `preflow match`, and bipartite families of `preflow generate`."""

from __future__ import annotations

import builtins
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from preflow.generators import bipartite_family
from preflow.io.matrix_market import read_matrix_market, write_matrix_market
from tests.cli.test_cli import run, succeed

#: Rows 1 and 2 share column 1; row 3 has columns 1 and 2; an entry is zero.
SMALL = "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n2 1 1\n3 1 1\n3 2 1\n2 3 0\n"


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.mtx.gz"
    path.write_bytes(gzip.compress(SMALL.encode()))
    return str(path)


def test_report(small: str) -> None:
    text = succeed("match", small, "--verify")
    assert "small.mtx.gz: 3 x 3, 5 edges" in text
    assert re.search(r"^matched +3 \(structural rank\)$", text, re.MULTILINE)
    assert "serial-push-relabel from cheap" in text
    assert "horizontal 0 x 0, square 3 x 3, vertical 0 x 0" in text
    assert "the cardinality is proved" in text
    text = succeed("match", small, "--nonzeros-only", "--method", "serial-hybrid", "--option", "budget=1")
    assert re.search(r"^matched +2 ", text, re.MULTILINE)
    assert "not asked for" in text


def test_json(small: str) -> None:
    facts = json.loads(succeed("match", small, "--json", "--nonzeros-only", "--initial", "karp-sipser"))
    assert facts["cardinality"] == facts["structural_rank"] == facts["upper_bound"] == 2
    assert facts["initial"] == "karp-sipser"
    assert facts["blocks"]["horizontal"] == [0, 1]
    assert facts["blocks"]["vertical"] == [2, 1]
    assert facts["counts"]["phases"] >= 0
    assert facts["seconds"]["solve"] >= 0


def test_written_files(small: str, tmp_path: Path) -> None:
    pairs, orders, picture = (str(tmp_path / name) for name in ("pairs.txt", "orders.txt", "spy.png"))
    text = succeed("match", small, "-o", pairs, "--permutation", orders, "--spy", picture)
    assert f"wrote {pairs}, {orders}, {picture}" in text
    assert sorted(Path(pairs).read_text().split("\n")[:-1]) == ["1 1", "2 3", "3 2"]
    rows, columns = (np.array(line.split(), dtype=int) - 1 for line in Path(orders).read_text().splitlines())
    dense = np.zeros((3, 3))
    dense[[0, 1, 2, 2, 1], [0, 0, 0, 1, 2]] = 1
    permuted = dense[rows][:, columns]
    assert (np.diag(permuted) == 1).all()
    assert not np.tril(permuted, -1).any()
    assert Path(picture).read_bytes().startswith(b"\x89PNG")
    assert sorted(succeed("match", small, "--output", "-").split("\n")[:-1]) == ["1 1", "2 3", "3 2"]


def test_picture_of_a_large_or_empty_matrix(tmp_path: Path) -> None:
    for name, graph in [
        ("large", bipartite_family("erdos-renyi").generate("3000x3")),
        ("empty", bipartite_family("erdos-renyi").generate(n=4, degree=0.0)),
    ]:
        path, picture = tmp_path / f"{name}.mtx", tmp_path / f"{name}.png"
        write_matrix_market(path, graph)
        succeed("match", str(path), "--spy", str(picture))
        assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "--output", "-"], "both write"),
        (["--method", "simplex"], "unknown method"),
        (["--initial", "best"], "unknown initial"),
        (["--option", "alpha"], "NAME=VALUE"),
        (["--output", "/nowhere/pairs.txt"], "cannot be written"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, small: str) -> None:
    result = run("match", small, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert run("match", small + ".missing").exit_code == 2


def test_picture_without_matplotlib(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fake(name: str, *rest: object, **more: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", fake)
    result = run("match", small, "--spy", "spy.png")
    assert result.exit_code == 4
    assert "preflow[plot]" in result.stderr


def test_generated_families(tmp_path: Path) -> None:
    path = tmp_path / "roads.mtx.gz"
    assert "edges" in succeed("generate", "road-like", "1000", "--seed", "2", "-o", str(path))
    assert read_matrix_market(path).shape == bipartite_family("road-like").generate("1000", seed=2).shape
    assert "--symmetric" in succeed("generate", "rmat", "--list")
    result = run("generate", "road-like", "1000", "-o", str(tmp_path / "roads.max"))
    assert result.exit_code == 2
    assert ".mtx" in result.stderr
    shown = run("generate", "road-like", "1000", "--seed", "2", "-o", "-").stdout
    assert shown == gzip.decompress(path.read_bytes()).decode()
