"""Optical flow by assignments of 30 to 30: the frames, the costs, and a measurement."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest

from benchmarks.reproduce import optical_flow as flow

pytestmark = pytest.mark.fast


def test_points_and_patches_find_the_motion() -> None:
    for (before, _), (after, step) in pairwise(islice(flow.frames(), 3)):
        old = flow.corners(before)
        assert old.shape == (30, 2)
        points = flow.of_points(before, after, step, old)
        assert points.argmin(axis=1).tolist() == list(range(30))[::-1]
        patches = flow.costs_of_patches(before, after, step)
        assert patches.shape == (24 * 27, 30, 30)
        assert min(points.min(), patches.min()) >= 0
        assert max(points.max(), patches.max()) <= flow.LARGEST
        assert (patches.argmin(axis=2) == np.arange(30)).mean() > 0.85


def test_measures_and_leaves_out_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "SMALL_SECONDS", 0.0)
    flow.show(["--small", "--method", "serial-shortest-path", "--method", "cuda-nothing", "--seeds", "2"])
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith(("| points", "| patches"))]
    assert [row[:3] for row in rows] == [
        ["| points", "serial-shortest-path", "2"],
        ["| patches", "serial-shortest-path", "2"],
    ]
    assert [row[-1] for row in rows] == ["about 20 |", "about 0.03 |"]
    assert float(rows[0][5].split()[0]) > 0.9
    assert lines[-1].startswith("cuda-nothing is left out: unknown method")
