"""Make the tables and charts of the performance pages from ``benchmarks/results/`` when the site is built."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import results

Table = tuple[list[str], list[list[str]]]


def number(value: float | None) -> str:
    """Return seconds or milliseconds with three digits."""
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def markdown(table: Table) -> str:
    """Return a table in Markdown, numbers to the right."""
    head, rows = table
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def peers_table(name: str, problem: str, contestants: dict[str, str], chosen: Sequence[str] = ()) -> Table:
    """Return seconds of each contestant on each instance, and preflow's share of the fastest other one's."""
    head = ["instance", *contestants.values(), "preflow / fastest other"]
    rows, ratios = [], []
    for one in results.instances(name):
        if one.problem != problem or (chosen and one.suite not in chosen):
            continue
        times = [results.seconds(one, contestant) for contestant in contestants]
        others = [t for c, t in zip(contestants, times, strict=True) if t and not c.startswith("preflow")]
        ours = results.seconds(one, "preflow:auto")
        ratio = ours / min(others) if ours and others else None
        if ratio:
            ratios.append(ratio)
        rows.append([one.name, *map(number, times), f"**{ratio:.2f}**" if ratio else ""])
    rows.append(["**median**", *[""] * len(contestants), f"**{statistics.median(ratios):.2f}**"])
    return head, rows


def max_flow_gpu() -> Table:
    """Return ``cuda-push-relabel`` on an H200 beside one CPU thread of its host."""
    rows = []
    for row in results.read("2026-11-24-cuda-pushrelabel-h200.jsonl").rows:
        serial = statistics.median(row["serial-hi-pr, s"])
        name = row["instance"].replace(":", " ").replace("ac-dense", "acyclic dense").replace("-2d", "")
        from_host = [
            number(statistics.median(row[f"{key} from host, ms"])) for key in ("min_cut", "max_flow")
        ]
        rows.append(
            [
                name,
                number(row["median"]),
                *from_host,
                number(serial),
                f"**{1000 * serial / row['median']:.3g}**",
            ]
        )
    head = ["network", "on the device, ms", "`min_cut` from the host, ms", "`max_flow` from the host, ms"]
    return [*head, "`serial-hi-pr`, s", "times as fast"], rows


def max_flow_threads() -> Table:
    """Return ``multicore-paths`` on 8 and 16 threads beside the best serial method."""
    rows = []
    for row in results.read("2026-11-24-paths-16-cores-xeon.jsonl").rows:
        cells = [
            f"{row['instance'].replace(':', ' ')}, seed {row['seed']}",
            number(row["serial-hi-pr"]["median, s"]),
        ]
        for threads in (8, 16):
            found = row.get(f"multicore-paths, {threads} threads", {})
            ratio = found.get("ratio of medians")
            cells += [number(found.get("median, s")), f"**{ratio:.3g}**" if ratio else ""]
        rows.append(cells)
    head = ["network", "`serial-hi-pr`, s", "8 threads, s", "times as fast", "16 threads, s", "times as fast"]
    return head, rows


def grid_gpu() -> Table:
    """Return ``cuda-tiled`` on an H200 beside one CPU thread of its host."""
    rows = []
    for row in results.read("2026-11-23-grid-gpu-h200.jsonl").rows:
        gpu, cpu = row["gpu milliseconds"], row["one thread seconds"]
        cells = [number(gpu["whole call"]), number(gpu["solve"]), number(1000 * min(cpu.values()))]
        ratio, size = row.get("ratio"), row.get("bytes a pixel on the GPU")
        rows.append([row["instance"], *cells, f"**{ratio:.3g}**" if ratio else "", number(size)])
    return [
        "grid",
        "whole call, ms",
        "solve, ms",
        "one CPU thread, ms",
        "times as fast",
        "bytes a pixel",
    ], rows


def assignment_batch_gpu() -> Table:
    """Return ``cuda-batch`` on an H200 beside the CPU of its host."""
    rows = []
    for row in results.read("2026-11-22-assignment-batch-h200.jsonl").rows:
        t = row["seconds"]
        keys = ("cuda-batch, costs on the GPU", "serial-shortest-path", "scipy")
        rows.append([row["instance"], *(number(1000 * t[key]) if key in t else "" for key in keys)])
    return ["batch", "`cuda-batch`, ms", "`serial-shortest-path`, ms", "SciPy, ms"], rows


def assignment_large_gpu() -> Table:
    """Return ``cuda-shortest-path`` on an H200 beside the CPU of its host."""
    rows = []
    for row in results.read("2026-11-22-assignment-large-h200.jsonl").rows:
        t = row["seconds"]
        keys = ("cuda-shortest-path", "serial-shortest-path", "scipy", "lapx lapjv")
        rows.append([row["instance"], *(number(1000 * t[key]) if t.get(key) else "" for key in keys)])
    return ["costs", "`cuda-shortest-path`, ms", "`serial-shortest-path`, ms", "SciPy, ms", "lapx, ms"], rows


def assignment_threads() -> Table:
    """Return whole calls on 1 to 16 threads."""
    threads = ["1", "4", "8", "16"]
    rows = []
    for row in results.read("2026-11-22-assignment-threads-h200.jsonl").rows:
        medians = row["medians"]
        method = next(key.split(",")[0] for key in medians if key.startswith("multicore"))
        times = [medians.get("auto, 1 thread"), *(medians.get(f"{method}, {n}") for n in threads[1:])]
        ratio = times[0] / times[-1]
        rows.append([row["instance"], f"`{method}`", *(number(1000 * t) for t in times), f"**{ratio:.3g}**"])
    return ["costs", "method", *(f"{n} threads, ms" for n in threads), "times as fast"], rows


TABLES: dict[str, Any] = {
    "max_flow_peers": lambda: peers_table(
        "2026-11-21-papers-ortools-epyc.jsonl",
        "max_flow",
        {"preflow:auto": "preflow, s", "ortools": "OR-tools, s"},
    ),
    "max_flow_whole": lambda: peers_table(
        "2026-11-21-whole-epyc.jsonl",
        "max_flow",
        {
            "preflow:auto": "preflow, s",
            "ortools": "OR-tools, s",
            "pymaxflow": "PyMaxflow, s",
            "thinhpf": "thinhpf, s",
            "igraph": "igraph, s",
        },
    ),
    "max_flow_threads": max_flow_threads,
    "max_flow_gpu": max_flow_gpu,
    "grid_cut_peers": lambda: peers_table(
        "2026-11-22-grids-epyc.jsonl",
        "grid_cut",
        {
            "preflow:auto": "preflow, s",
            "preflow:serial-boykov-kolmogorov": "`serial-boykov-kolmogorov`, s",
            "pymaxflow": "PyMaxflow, s",
        },
    ),
    "grid_cut_gpu": grid_gpu,
    "matching_peers": lambda: peers_table(
        "2026-11-22-matching-epyc.jsonl",
        "bipartite_matching",
        {"preflow:auto": "preflow, s", "scipy": "SciPy, s", "igraph": "igraph, s"},
    ),
    "assignment_peers": lambda: peers_table(
        "2026-11-22-assignment-epyc.jsonl",
        "linear_assignment",
        {
            "preflow:auto": "preflow, s",
            "ortools": "OR-tools, s",
            "scipy": "SciPy, s",
            "lapx-lapjvh": "lapx `lapjvh`, s",
            "lapx-lapjvr": "lapx `lapjvr`, s",
            "lapx-lapjvx": "lapx `lapjvx`, s",
        },
    ),
    "assignment_threads": assignment_threads,
    "assignment_batch_gpu": assignment_batch_gpu,
    "assignment_large_gpu": assignment_large_gpu,
}

#: Charts of seconds: file, results file, problem, contestants with their labels and colours.
CHARTS = {
    "max_flow": ("2026-11-21-papers-ortools-epyc.jsonl", "max_flow", ["ortools"]),
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

    chosen = [one for one in results.instances(name) if one.problem == problem]
    figure, axis = plt.subplots(figsize=(8, 0.9 + 0.3 * len(chosen)), layout="constrained")
    places = [len(chosen) - i for i in range(len(chosen))]
    for contestant, color in zip(["preflow:auto", *others], COLORS, strict=False):
        times = [results.seconds(one, contestant) for one in chosen]
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


def write(path: Path, text: str) -> None:
    """Write a file if its content has changed, so that Sphinx reads only what is new."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_all(folder: Path) -> None:
    """Write all tables and charts into a folder."""
    folder.mkdir(exist_ok=True)
    for name, make in TABLES.items():
        write(folder / f"{name}.md", markdown(make()))
    mpl.use("agg")
    with mpl.rc_context({"svg.hashsalt": "preflow", "font.size": 9}):
        for name, (file, problem, others) in CHARTS.items():
            draw(folder / f"chart_{name}.svg", file, problem, others)


if __name__ == "__main__":
    for name, make in TABLES.items():
        print(name, markdown(make()), sep="\n")
