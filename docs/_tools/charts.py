"""Draw the charts of the site from ``benchmarks/results/`` when the site is built."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.profiles import draw_speed_ups
from benchmarks.reproduce import deveci, wu_he_hong
from benchmarks.scaling import speed_ups
from benchmarks.tables.performance import OURS, measured, package, strongest_first
from benchmarks.tables.reproducing import MEASURED, UNDRAWN, compared, joined

#: Charts of seconds: the record and the problem by the name of the file.
CHARTS = {
    "max_flow": ("flow", "max_flow"),
    "grid_cut": ("grids", "grid_cut"),
    "matching": ("matching", "bipartite_matching"),
    "assignment": ("assignment", "linear_assignment"),
}
#: The most packages beside preflow, the strongest first.
MOST = 3
COLORS = ["#d62728", "#4c78a8", "#72b7b2", "#b279a2"]


def draw(path: Path, name: str, problem: str) -> None:
    """Write a chart of seconds, one row for each instance."""
    import matplotlib.pyplot as plt

    chosen = measured(name, problem)
    figure, axis = plt.subplots(figsize=(8, 0.9 + 0.3 * len(chosen)), layout="constrained")
    places = [len(chosen) - i for i in range(len(chosen))]
    for contestant, color in zip([OURS, *strongest_first(chosen)[:MOST]], COLORS, strict=False):
        times = [row.seconds.get(contestant) for row in chosen]
        known = [(t, y) for t, y in zip(times, places, strict=True) if t]
        ours = contestant == OURS
        label = "preflow" if ours else package(contestant).replace("`", "")
        axis.plot(*zip(*known, strict=True), "D" if ours else "o", color=color, label=label)
    axis.set_yticks(places, [row.instance for row in chosen])
    axis.set_xscale("log")
    axis.set_xlabel("seconds (logarithmic)")
    axis.grid(axis="both", color="0.92")
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_papers(folder: Path) -> None:
    """Write the figures of the pages about published methods."""
    for part, title in (("solve", "first stage"), ("relabel", "global relabels")):
        table = speed_ups(joined("cihan-threads"), part)
        draw_speed_ups(table, title, folder / f"cihan-{part}.png")
    deveci.draw(joined("deveci"), folder)
    wu_he_hong.draw(compared(*MEASURED, without=UNDRAWN), folder)


def write_all(folder: Path) -> None:
    """Write all charts into a folder."""
    folder.mkdir(exist_ok=True)
    mpl.use("agg")
    with mpl.rc_context({"svg.hashsalt": "preflow", "font.size": 9}):
        for name, (record, problem) in CHARTS.items():
            draw(folder / f"chart_{name}.svg", record, problem)
    draw_papers(folder)
