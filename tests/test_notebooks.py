"""Notebooks show results as tables, and results of preflow.vision as pictures."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import preflow
import preflow.vision
from preflow.progress import ProgressReport, part_of, reporting

PNG = b"\x89PNG\r\n"


def test_results_are_tables() -> None:
    result = preflow.max_flow([("a", "b", 3), ("b", "c", 2)], "a", "c")
    table = result._repr_html_()
    assert table.startswith("<table><caption>MaxFlowResult</caption>")
    assert "<tr><th>status</th><td>optimal</td></tr>" in table
    assert "<td>value 2, flow on 2 of 2 arcs</td>" in table
    assert f"<td>{result.stats.method} on cpu: {result.stats.reason}</td>" in table
    assert "solve " in table


@pytest.mark.parametrize(
    "result",
    [
        lambda: preflow.min_cut([("a", "b", 3)], "a", "b"),
        lambda: preflow.linear_assignment([[1, 2], [3, 1]]),
        lambda: preflow.bipartite_matching(np.eye(2)),
        lambda: preflow.matching([("a", "b", 3)]),
        lambda: preflow.grid_cut([[9, 0]], [[0, 9]], 1),
        lambda: preflow.grid_cut_batch([[[9, 0]]], [[[0, 9]]], 1),
        lambda: preflow.transport([[1, 2], [3, 1]], [1, 1], [1, 1]),
    ],
)
def test_every_problem(result) -> None:  # type: ignore[no-untyped-def]
    found = result()
    table = found._repr_html_()
    assert table.count("<tr>") == 4
    assert f"<caption>{type(found).__name__}</caption>" in table
    assert "<td></td>" not in table


def test_a_block_triangular_form_is_a_table() -> None:
    table = preflow.dulmage_mendelsohn(np.array([[1, 1, 0], [0, 0, 1]]))._repr_html_()
    assert table.startswith("<table><caption>DulmageMendelsohn</caption>")
    assert "<tr><th>horizontal</th><td>1 x 2</td></tr><tr><th>square</th><td>1 x 1</td></tr>" in table
    assert "<tr><th>blocks</th><td>2</td></tr><tr><th>matched</th><td>2</td></tr>" in table


def test_methods_and_statistics_are_tables() -> None:
    methods = preflow.methods("grid_cut")
    table = methods._repr_html_()
    assert table.count("<tr>") == len(methods) + 1
    for method in methods:
        assert f"<td>{method.name}</td>" in table
    lines = repr(methods).splitlines()
    assert [line.split()[0] for line in lines] == [method.name for method in methods]
    assert methods == tuple(methods)
    result = preflow.max_flow([("a", "b", 3), ("b", "c", 2)], "a", "c")
    table = result.stats._repr_html_()
    assert table.startswith("<table><caption>SolveStats</caption>")
    assert f"<tr><th>method</th><td>{result.stats.method}</td></tr>" in table
    assert "<th>steals</th>" not in table  # it is zero
    assert "<th>operations</th>" not in table


def test_progress_is_one_line_of_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is drawn over itself, says what is compiled, and needs no widgets."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # its import fails
    with reporting(True) as report:
        assert report is not None
        report(ProgressReport(1.0, 0.0, 0, 0, compiling="max_flow for int64"))
        report(ProgressReport(9.0, 0.5, 1000, 20))
    text = capsys.readouterr().err
    assert "\n" not in text
    lines = [line.rstrip() for line in text.split("\r")]
    assert any(line.startswith("compiling max_flow for int64 |") for line in lines)
    assert any(line.startswith("settled |") and " 50.0 %" in line for line in lines)


def test_a_bar_never_goes_back() -> None:
    """Also where what is left grows, and where one solve follows another."""
    shares: list[float] = []
    with reporting(lambda moment: shares.append(moment.settled)) as report:
        assert report is not None
        for first in (0.0, 0.5):
            inner = part_of(report, first, first + 0.5)
            assert inner
            for share in (0.2, 1.0, 0.1):
                inner(ProgressReport(1.0, share, 0, 0))
    assert shares == [0.1, 0.5, 0.5, 0.6, 1.0, 1.0]
    assert part_of(None, 0, 1) is False


def test_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("imageio")
    image = np.zeros((12, 14))
    image[3:8, 4:9] = 1.0
    seeds = np.zeros((2, 12, 14), dtype=bool)
    seeds[0, 5, 6] = seeds[1, 0, 0] = True
    segmentation = preflow.vision.segment(image, *seeds)
    volume = preflow.vision.segment(np.stack([image] * 3), *(np.stack([seed] * 3) for seed in seeds))
    denoised = preflow.vision.denoise((image * 255).astype(np.uint8), 3.0)
    labelling = preflow.vision.alpha_expansion(np.stack([image, 1 - image]), 1 - np.eye(2))
    stereo = preflow.vision.match_stereo(image, image, 2)
    flow = preflow.vision.find_optical_flow(image, image, max_displacement=1)
    for result in (segmentation, volume, denoised, labelling, stereo, flow):
        picture = result._repr_png_()
        assert picture is not None
        assert picture.startswith(PNG)
    decode = pytest.importorskip("imageio.v3").imread
    shapes = [decode(result._repr_png_()).shape[:2] for result in (segmentation, volume, denoised, labelling)]
    assert all(300 < max(shape) < 1500 for shape in shapes)
    many = preflow.vision.segment(image + np.eye(12, 14) / 2, image > 0.9, image < 0.1)
    shown = decode(many._repr_png_())
    assert (shown[200, 200] == 255).all(), "large seeds have outlines only"
    assert (shown[200, 220] == 170).all(), "the image is below them"
    labels = preflow.vision.segment_labels(image, seeds[0] + 2 * seeds[1])
    colours = {tuple(colour) for colour in decode(labels._repr_png_()).reshape(-1, 3).tolist()}
    assert colours == {(242, 207, 128), (43, 90, 116), (255, 255, 255)}, "colours lie over the image"
    monkeypatch.setitem(sys.modules, "imageio.v3", None)
    assert segmentation._repr_png_() is None
