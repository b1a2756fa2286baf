"""Algorithms 1, 2 and 4 of Wu, He and Hong as printed: they need the gap and the upload to end always."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.records import read_record
from benchmarks.reproduce.printed_hybrid import RULES, Hybrid, Network, Rules, show, simulate_batch
from preflow.errors import InvalidInputError


def test_only_with_gap_and_upload_every_run_ends() -> None:
    for rules, counts in ((rules, simulate_batch(rules, range(700))) for rules in RULES):
        assert counts["wrong"] == 0
        assert counts["right"] + counts["no end"] == 700
        assert (counts["no end"] == 0) == (rules.gap and rules.upload)


def test_stale_heights_make_excess_negative() -> None:
    """With heights of the number of vertices, steep arcs never have more room than their tail has excess."""
    for rules, counts in ((rules, simulate_batch(rules, range(700))) for rules in RULES):
        assert counts["steep"] > 0
        assert (counts["too much"] > 0) == (counts["negative"] > 0) == (not rules.gap)


def test_the_part_goes_on_with_its_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--small", "--out", str(tmp_path)]
    show([*arguments, "--seeds", "1", "--threads", "2"])
    first = read_record(tmp_path / "rows.jsonl").rows
    assert [row["right"] + row["no end"] for row in first] == [250] * 4
    assert capsys.readouterr().out.startswith("algorithm-4 has no use for --threads 2\n")
    show([*arguments, "--seeds", "2", "--resume", "--budget", "1e-9"])
    assert read_record(tmp_path / "rows.jsonl").rows == first
    assert "The budget was spent; --resume measures: False False 250 1;" in capsys.readouterr().out
    show([*arguments, "--seeds", "2", "--resume"])
    both = read_record(tmp_path / "rows.jsonl").rows
    assert (both[:4], len(both)) == (first, 8)
    assert "| 500 |" in (tmp_path / "table.md").read_text()
    with pytest.raises(InvalidInputError, match=r"rows\.jsonl is one of --small"):
        show(["--out", str(tmp_path), "--resume"])


def test_steep_arc_that_the_gpu_never_hears_of() -> None:
    """Algorithm 4 moves the excess of 1 over a steep arc on the CPU, and the GPU keeps it out of reach."""
    network = Network(4, {(0, 2): 1, (2, 1): 1, (2, 3): 1})
    for upload, outcome, arrived in ((False, "no end", 0), (True, "right", 1)):
        hybrid = Hybrid(network, Rules(gap=True, upload=upload), 3, random.Random(0))
        # Vertex 2 has pushed a unit to 1, which a relabel had raised meanwhile; its way to the sink is free.
        hybrid.residual = {(0, 2): 0, (2, 0): 1, (2, 1): 0, (1, 2): 1, (2, 3): 1, (3, 2): 0}
        hybrid.excess, hybrid.height, hybrid.total = [0, 1, 0, 0], [4, 3, 1, 0], 1
        hybrid.relabel()
        assert hybrid.run() == outcome
        assert hybrid.excess[-1] == arrived
