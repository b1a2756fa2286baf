"""The command transport."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_cli import fail, run, succeed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("cost.npy", np.array([[4, 1, 3], [2, 0, 5]]))
    np.save("a.npy", np.array([5, 2]))
    np.save("b.npy", np.array([3, 2, 2]))
    return tmp_path


MASSES = ("--a", "a.npy", "--b", "b.npy")


def test_report(folder: Path) -> None:
    text = succeed("transport", "cost.npy", *MASSES, "--verify")
    assert "cost.npy: 2 x 3" in text
    assert "mass 7 over 4 pairs" in text
    assert "16 (least)" in text
    assert "the cost is proved" in text
    facts = json.loads(
        succeed("transport", "cost.npy", *MASSES, "--json", "--method", "serial-network-simplex")
    )
    assert (facts["cost"], facts["mass"], facts["gap"], facts["status"]) == (16, 7, 0, "optimal")


def test_the_plan_is_written(folder: Path) -> None:
    assert "wrote the plan to plan.npz" in succeed("transport", "cost.npy", *MASSES, "--out", "plan.npz")
    with np.load("plan.npz") as plan:
        cost = np.load("cost.npy")
        assert (cost[plan["row"], plan["column"]] * plan["mass"]).sum() == 16
        assert (np.bincount(plan["row"], plan["mass"]) == [5, 2]).all()
        reduced = cost + plan["u"][:, None] - plan["v"]
        assert (reduced >= 0).all()
        assert not reduced[plan["row"], plan["column"]].any()
    lines = run("transport", "cost.npy", *MASSES, "--out", "-").stdout.splitlines()
    assert sorted(lines) == ["1 1 1", "1 2 2", "1 3 2", "2 1 2"]


def test_floats(folder: Path) -> None:
    np.save("a.npy", np.array([0.25, 0.75]))
    np.save("b.npy", np.array([0.5, 0.25, 0.25]))
    assert "1.75 (least" in succeed("transport", "cost.npy", *MASSES, "--verify")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("a.npy", [[5, 2]], "a.npy: masses are one for each row or column, got shape (1, 2)"),
        ("a.npy", [5, 3], "sum"),
        ("a.npy", [5, 2, 0], "a"),
        ("a.npy", [8, -1], "negative"),
        ("cost.npy", [[np.inf] * 3, [0, 0, 0]], "row 1 has 5, and no column may take from it"),
    ],
)
def test_bad_input(folder: Path, file: str, content: list[object], message: str) -> None:
    np.save(file, np.array(content))
    found = fail("transport", "cost.npy", *MASSES)
    assert message in found


def test_bad_files(folder: Path) -> None:
    Path("text.npy").write_text("1 two 3\n")
    assert "text.npy:1: 'two' in field 2 is not a number" in fail(
        "transport", "cost.npy", "--a", "text.npy", "--b", "b.npy"
    )
    assert "cannot be read" in fail("transport", "cost.npy", "--a", "none.npy", "--b", "b.npy")
    assert "would be overwritten" in fail("transport", "cost.npy", *MASSES, "--out", "a.npy")
    assert "unknown method" in fail("transport", "cost.npy", *MASSES, "--method", "simplex")
    assert "both write" in fail("transport", "cost.npy", *MASSES, "--json", "--out", "-")
    assert "Missing option '--a'" in run("transport", "cost.npy", "--b", "b.npy").stderr


def test_vertices_of_a_dimacs_file(folder: Path) -> None:
    Path("pairs.asn").write_text("p asn 5 5\nn 2\nn 4\na 2 1 4\na 2 3 1\na 2 5 3\na 4 1 2\na 4 3 0\n")
    lines = run("transport", "pairs.asn", *MASSES, "--out", "-").stdout.splitlines()
    assert sorted(lines) == ["2 1 1", "2 3 2", "2 5 2", "4 1 2"]


def test_stock_left_over(folder: Path) -> None:
    """Options say what stays, errors name them, and the report says how much it is."""
    np.save("b.npy", np.array([3, 1, 1]))
    found = fail("transport", "cost.npy", *MASSES)
    assert "different sums: 7 and 5; --partial leaves the rest where it is" in found
    text = succeed("transport", "cost.npy", *MASSES, "--partial", "--verify")
    assert "mass 5 over" in text
    assert "surplus   2" in text
    facts = json.loads(succeed("transport", "cost.npy", *MASSES, "--json", "--amount", "2"))
    assert [facts[name] for name in ("cost", "mass", "surplus", "shortage")] == [2, 2, 5, 3]
    priced = ("--unmatched-cost", "0,2", "--json")
    assert json.loads(succeed("transport", "cost.npy", *MASSES, *priced))["cost"] == 8
    np.save("cost.npy", np.array([[np.inf, 1, 3], [np.inf, 0, 5]]))
    assert "beyond the 4 that may stay" in fail("transport", "cost.npy", *MASSES, "--amount", "3")
