"""Draw the pictures of the README: a segmentation and the speed chart.

Run ``python docs/_tools/draw_pictures.py`` after a change of the code, and with ``speed`` after a change of
the records, for the chart alone; the files are committed, and a test compares the chart with the records.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

import imageio.v3 as imageio
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator, ScalarFormatter

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.tables.performance import COMPARISONS, peers_of, shares

HERE = Path(__file__).resolve().parents[1]
PICTURES = HERE / "pictures"


def draw_segmentation() -> None:
    """Write the photograph with its strokes beside the object that the cut finds."""
    from preflow.vision import overlay, stroke

    example = HERE.parent / "examples" / "segment_photograph.py"
    spec = importlib.util.spec_from_file_location("segment_photograph", example)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    image, result = module.segment_astronaut()
    result.cut.verify()
    seeds = tuple(
        np.any([stroke(image.shape[:2], points, brush=5) for points in strokes], axis=0)
        for strokes in (module.OBJECT_STROKES, module.BACKGROUND_STROKES)
    )
    before = image.copy()
    before[seeds[0]] = (230, 40, 40)
    before[seeds[1]] = (40, 90, 230)
    outlined = overlay(image, result.mask)
    cut_out = np.where(result.mask[..., None], image, 255).astype(np.uint8)
    gap = np.full((512, 12, 3), 255, np.uint8)
    strip = np.concatenate([before, gap, outlined[..., :3], gap, cut_out], axis=1)
    from PIL import Image

    picture = Image.fromarray(strip).resize((strip.shape[1] * 300 // 512, 300), Image.Resampling.LANCZOS)
    picture = picture.quantize(128, dither=Image.Dither.FLOYDSTEINBERG)
    picture.save(PICTURES / "segmentation.png", optimize=True)
    assert imageio.imread(PICTURES / "segmentation.png").shape[0] == 300


def draw_speed() -> None:
    """Write how many times as fast ``auto`` is, one point for each recorded instance."""
    figure, axes = plt.subplots(figsize=(8.4, 4.6), layout="constrained")
    rows = list(reversed(COMPARISONS))
    for place, each in enumerate(rows):
        ratios = [1 / share for share in shares(each)]
        axes.plot(ratios, [place] * len(ratios), "o", color="#4c78a8", alpha=0.45, markersize=6)
        median = statistics.median(ratios)
        axes.plot([median], [place], "D", color="#d62728", markersize=7)
        axes.annotate(
            f"{median:.1f}", (median, place), (0, 8), textcoords="offset points", ha="center", fontsize=9
        )
    labels = [f"{each.problem}\nbeside {peers_of(each)}" for each in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=9)
    axes.set_ylim(-0.5, len(rows) - 0.4)
    axes.set_xscale("log")
    axes.set_xticks([0.5, 1, 2, 5, 10, 20, 50, 100])
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(0.5, 110)
    axes.axvline(1, color="0.4", linewidth=1)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        'times as fast, one thread, method="auto" (points: instances; diamonds: medians)', fontsize=9
    )
    figure.savefig(PICTURES / "speed.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "preflow"
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["font.family"] = "sans-serif"
    PICTURES.mkdir(exist_ok=True)
    if "speed" not in sys.argv:
        draw_segmentation()
    draw_speed()
