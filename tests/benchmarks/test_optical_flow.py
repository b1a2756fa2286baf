"""Optical flow by assignments of 30 to 30: the frames, the costs, and a measurement."""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reproduce import optical_flow as flow
from benchmarks.reproduce import optical_flow_pairs as pairs
from preflow.errors import InvalidInputError

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


def write_pair(folder: Path, shift: tuple[int, int]) -> None:
    imageio = pytest.importorskip("skimage.io")
    before, _ = next(flow.frames(1))
    frame = np.clip(before, 0, 255).astype(np.uint8)
    folder.mkdir()
    imageio.imsave(folder / "frame10.png", frame, check_contrast=False)
    imageio.imsave(folder / "frame11.png", np.roll(frame, shift, (0, 1)), check_contrast=False)
    motion = np.empty((*frame.shape, 2), "<f4")
    motion[:] = shift[::-1]
    motion[:10] = 1e10
    head = np.array([pairs.FLO_TAG], "<f4").tobytes() + np.array(frame.shape[::-1], "<i4").tobytes()
    (folder / "flow10.flo").write_bytes(head + motion.tobytes())


def test_corners_of_a_pair_move_as_the_pair_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pair(tmp_path / "moved", (2, -3))
    found = pairs.measure(pairs.read_pair(tmp_path / "moved"), 60)
    assert 0.7 * found["corners"] < found["right"] <= found["possible"] <= found["corners"]
    pairs.show(["--small", "--file", str(tmp_path / "moved")])
    assert "| moved | 48 |" in capsys.readouterr().out


def test_a_folder_without_a_pair_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"flow10\.flo"):
        pairs.show([])
    with pytest.raises(InvalidInputError, match=r"has no frame10\.png, frame11\.png, flow10\.flo"):
        pairs.show(["--file", str(tmp_path)])
    write_pair(tmp_path / "cut", (0, 0))
    flo = tmp_path / "cut" / "flow10.flo"
    flo.write_bytes(flo.read_bytes()[:-8])
    with pytest.raises(InvalidInputError, match="is no motion of frames of 160 x 120"):
        pairs.read_pair(tmp_path / "cut")
