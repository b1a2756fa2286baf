"""Draw the charts of the performance pages from ``benchmarks/results/`` when the site is built."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.tables.performance import PAPERS
from benchmarks.tables.table import instances, seconds

#: Charts of seconds: file, results file, problem, contestants with their labels and colours.
CHARTS = {
    "max_flow": (PAPERS, "max_flow", ["ortools", "thinhpf"]),
    "grid_cut": ("2026-11-22-grids-epyc.jsonl", "grid_cut", ["pymaxflow"]),
    "matching": ("2026-11-22-matching-epyc.jsonl", "bipartite_matching", ["scipy", "igraph"]),
    "assignment": (
        "2026-11-22-assignment-epyc.jsonl",
        "linear_assignment",
        ["ortools", "scipy", "lapx-lapjvr"],
    ),
}
LABELS = {"ortools": "OR-tools", "scipy": "SciPy", "pymaxflow": "PyMaxflow", "lapx-lapjvr": "lapx"}
COLORS = ["#d62728", "#4c78a8", "#72b7b2", "#b279a2"]


def draw(path: Path, name: str, problem: str, others: list[str]) -> None:
    """Write a chart of seconds, one row for each instance."""
    import matplotlib.pyplot as plt

    chosen = instances(name, problem)
    figure, axis = plt.subplots(figsize=(8, 0.9 + 0.3 * len(chosen)), layout="constrained")
    places = [len(chosen) - i for i in range(len(chosen))]
    for contestant, color in zip(["preflow:auto", *others], COLORS, strict=False):
        times = [seconds(one, contestant) for one in chosen]
        known = [(t, y) for t, y in zip(times, places, strict=True) if t]
        marker = "D" if contestant.startswith("preflow") else "o"
        label = "preflow" if contestant.startswith("preflow") else LABELS.get(contestant, contestant)
        axis.plot(*zip(*known, strict=True), marker, color=color, label=label)
    axis.set_yticks(places, [one.name for one in chosen])
    axis.set_xscale("log")
    axis.set_xlabel("seconds (logarithmic)")
    axis.grid(axis="both", color="0.92")
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def write_all(folder: Path) -> None:
    """Write all charts into a folder."""
    folder.mkdir(exist_ok=True)
    mpl.use("agg")
    with mpl.rc_context({"svg.hashsalt": "preflow", "font.size": 9}):
        for name, (file, problem, others) in CHARTS.items():
            draw(folder / f"chart_{name}.svg", file, problem, others)
