"""The measurement of "auto" beside every method that could win."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

import pytest

from benchmarks.records import read_record
from benchmarks.scripts import choice
from benchmarks.suites.flow import motorcycle_move
from preflow import min_cut
from preflow.generators import FAMILIES


def test_a_row_for_each_form_of_an_instance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "choice.jsonl"
    monkeypatch.setattr(time, "perf_counter", time.perf_counter)  # the program replaces it
    monkeypatch.setattr(choice, "FITTED", {"rmf-wide": ("4x3",)})
    monkeypatch.setattr(choice, "HELD_OUT", {"ishikawa": ("4x4x3",)})
    monkeypatch.setattr(sys, "argv", ["choice", str(path), "1", "*4x*"])
    choice.main()
    rows = read_record(path).rows
    forms = ["as generated", "shuffled", "apart", "infinite"]
    assert [row["form"] for row in rows] == 2 * forms
    assert [row["families"] for row in rows] == 4 * ["fitted"] + 4 * ["held out"]
    for row in rows:
        seconds = row["seconds"]
        assert set(seconds) == {"auto", *choice.candidates(1)}
        assert row["best"] == min(seconds.keys() - {"auto"}, key=lambda method: seconds[method])
        assert row["ratio"] == pytest.approx(seconds["auto"] / seconds[row["best"]], rel=0.01)
        assert row["counts"][row["best"]]
        assert row["auto chose"]
    assert "held out: median" in capsys.readouterr().out
    assert gc.get_freeze_count() == 0  # garbage of rows is collected again
    choice.main()
    assert read_record(path).rows == rows


def test_families_are_fitted_or_held_out() -> None:
    assert not set(choice.FITTED) & set(choice.HELD_OUT)
    assert set(choice.FITTED) | set(choice.HELD_OUT) <= set(FAMILIES)
    assert set(choice.candidates(1)) < set(choice.candidates(2))


def test_moves_of_photographs_have_pixels_without_arcs_at_terminals() -> None:
    pytest.importorskip("skimage")
    problem = motorcycle_move(1)
    network, pixels = problem.network, problem.network.num_vertices - 2
    ends = (network.tail == problem.source).sum() + (network.head == problem.sink).sum()
    assert 0.1 < 1 - ends / pixels < 0.5
    min_cut(problem).verify()
