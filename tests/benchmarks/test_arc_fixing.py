"""Arc fixing in the middle of a refine, as printed, loses optimal assignments."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.reproduce import arc_fixing
from preflow.generators.costs import uniform_integer_costs


def test_two_rows_that_want_the_same_column() -> None:
    """After one discharge both arcs to the second column look as if they would never carry flow."""
    alike = np.array([[0, 100], [0, 100]])
    assert arc_fixing.outcome(alike, 1) == "no assignment"
    # When the refine is over before the fixing, nothing is lost.
    assert arc_fixing.outcome(alike, 10_000) == "right"


def test_fixing_after_refines_keeps_the_optimum() -> None:
    for seed in range(20):
        assert arc_fixing.outcome(uniform_integer_costs(5, largest=100, seed=seed), 10**6) == "right"


def test_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arc_fixing, "STEPS", ((3, 3),))
    arc_fixing.show(["--small", "--seeds", "2"])
    row = capsys.readouterr().out.splitlines()[-1].strip("| ").split(" | ")
    assert row[:3] == ["3 to 3", "3", "100"]
    assert sum(map(int, row[3:])) == 100
    assert int(row[5]) > 0
