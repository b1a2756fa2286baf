"""Scales in pictures of disparities and motions, and the progress of labellings."""

from __future__ import annotations

import numpy as np
import pytest

from preflow.progress import ProgressReport, Steps
from preflow.vision import (
    alpha_beta_swap,
    alpha_expansion,
    disparity_picture,
    find_optical_flow,
    flow_picture,
    match_stereo,
    segment_labels,
)
from preflow.vision.colours import FONT, written

TEXTURE = np.random.default_rng(0).random((16, 40))


def test_colour_bar() -> None:
    disparity = np.linspace(3, 17, 40 * 60).reshape(40, 60)
    plain, wide = disparity_picture(disparity), disparity_picture(disparity, bar=True)
    assert (wide[:, :60] == plain).all()
    bar = wide[:, 63]
    assert bar[-1].tolist() == plain[0, 0].tolist()
    assert bar[0].tolist() == plain[-1, -1].tolist()
    text = written("17 px", 1)
    found = (wide[: text.shape[0], -2 - text.shape[1] : -2] == 0).all(axis=-1)
    assert (found == text).all()


def test_a_bar_of_small_or_unknown_pictures() -> None:
    assert disparity_picture([[1.0, 2.0]], bar=True).shape[0] == 1
    assert disparity_picture([[np.nan]], bar=True).shape == (1, 1, 3)
    assert disparity_picture([[-1e-7, 1e22]] * 30, bar=True).shape[0] == 30


def test_speed_beside_the_wheel() -> None:
    flow = np.zeros((2, 60, 90))
    flow[1] = 2.5
    plain = flow_picture(flow, wheel=20)
    scaled = flow_picture(flow, wheel=20, scale=True)
    changed = (plain != scaled).any(axis=-1)
    rows, columns = np.nonzero(changed)
    assert rows.min() >= 45
    assert columns.max() < 70
    dark = (scaled == 0).all(axis=-1)[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    assert (dark == np.pad(written("2.5 px", 1), 1)).all()
    assert (flow_picture(np.zeros((2, 3, 3)), wheel=2, scale=True) >= 0).all()


def test_font_has_what_numbers_need() -> None:
    for value in (0, -1.5, 1234567, 1e-9, 1e22, 2.5e-7):
        assert written(f"{value:.4g} px", 2).shape[0] == 10
    assert len({tuple(rows) for rows in FONT.values()}) == len(FONT)


def reports_of(solve: object, *arguments: object, **options: object) -> list[ProgressReport]:
    reports: list[ProgressReport] = []
    solve(*arguments, progress=reports.append, **options)  # type: ignore[operator]
    shares = [report.settled for report in reports]
    assert shares == sorted(shares), "the bar goes back"
    assert shares[0] >= 0
    assert shares[-1] <= 1
    return reports


def test_progress_of_labellings() -> None:
    data = np.random.default_rng(1).integers(0, 9, (4, 6, 7))
    distance = 1 - np.eye(4, dtype=int)
    reports = reports_of(alpha_expansion, data, distance, 2, max_sweeps=1)
    assert [report.step for report in reports] == [f"label {k} of 4, sweep 1" for k in range(1, 5)]
    assert [report.settled for report in reports] == [0.25, 0.5, 0.75, 1.0]
    reports = reports_of(alpha_expansion, data, distance, 2)
    assert [report.settled for report in reports][:5] == [0.125, 0.25, 0.375, 0.5, 0.5625]
    reports = reports_of(alpha_beta_swap, data, distance, 2, max_sweeps=1)
    assert reports[-1].step == "pair 6 of 6, sweep 1"
    image = np.array([[1, 1, 5, 5, 9, 9]] * 3)
    markers = np.zeros((3, 6), int)
    markers[1, 0], markers[1, 2], markers[1, 5] = 1, 2, 7
    assert reports_of(segment_labels, image, markers)[0].step == "label 1 of 3, sweep 1"


def test_progress_of_stereo_and_flow() -> None:
    steps = [r.step for r in reports_of(match_stereo, TEXTURE[:, :30], TEXTURE[:, 2:32], 3, max_sweeps=1)]
    assert steps[0] == "left view: label 1 of 4, sweep 1"
    assert steps[-1] == "right view: label 4 of 4, sweep 1"
    reports_of(match_stereo, TEXTURE[:, :30], TEXTURE[:, 2:32], 3)
    frames = TEXTURE[:, :30], TEXTURE[:, 1:31]
    assert reports_of(find_optical_flow, *frames, max_displacement=2, max_sweeps=1)[0].step.startswith(
        "label 1"
    )
    steps = [r.step for r in reports_of(find_optical_flow, *frames, max_displacement=2, method="assignment")]
    assert steps[-1] == "30 x 16 pixels, round 3 of 3: patch 8 of 8"


def test_progress_line(capsys: pytest.CaptureFixture[str]) -> None:
    alpha_expansion([[[0, 9]], [[9, 0]]], [[0, 1], [1, 0]], 1, progress=True)
    capsys.readouterr()
    Steps(None).done("label", 1, 2)
    with pytest.raises(ValueError, match="progress must be a bool or a function"):
        alpha_expansion([[[0, 9]], [[9, 0]]], [[0, 1], [1, 0]], 1, progress="yes")  # type: ignore[arg-type]
