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


def test_measures_and_leaves_out_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    flow.main(["--methods", "serial-shortest-path,cuda-nothing", "--seconds", "0"])
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines[1:]] == [
        ["points", "serial-shortest-path"],
        ["points", "cuda-nothing"],
        ["patches", "serial-shortest-path"],
        ["patches", "cuda-nothing"],
    ]
    assert lines[1][2] == lines[3][2] == "1"
    assert float(lines[1][5]) > 0.9
    assert lines[2][2].startswith("left out: unknown method")
