"""Read the benchmark reports below ``benchmarks/results/``: one place for tables, charts and pictures."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"


def read(name: str) -> Any:
    """Return the content of a results file."""
    return json.loads((RESULTS / name).read_text())


def instances(name: str) -> list[dict[str, Any]]:
    """Return the instances of a report of ``python -m benchmarks``, those of all its parts together."""
    report = read(name)
    return [one for part in report.get("parts", [report]) for one in part["instances"]]


def seconds(instance: dict[str, Any], contestant: str, phase: str = "total") -> float | None:
    """Return the median seconds of a contestant, None where it took no part."""
    for one in instance["contestants"]:
        if one["name"] == contestant:
            phases = one.get("seconds") or {}
            chosen = phases.get(phase) or (phases.get("solve") if phase == "total" else None)
            return None if chosen is None else float(chosen["median"])
    return None


def peers(instance: dict[str, Any], phase: str = "total") -> dict[str, float]:
    """Return the median seconds of every other package that solved the instance."""
    found = {}
    for one in instance["contestants"]:
        if not one["name"].startswith("preflow"):
            measured = seconds(instance, one["name"], phase)
            if measured is not None:
                found[one["name"]] = measured
    return found


def speedups(chosen: Iterable[dict[str, Any]], peer: str | None) -> list[float]:
    """Return how many times as fast ``auto`` is as ``peer``, or as the fastest peer, on each instance."""
    ratios = []
    for instance in chosen:
        ours, theirs = seconds(instance, "preflow:auto"), peers(instance)
        if ours and theirs:
            reference = min(theirs.values()) if peer is None else theirs.get(peer)
            if reference is not None:
                ratios.append(reference / ours)
    return ratios


#: What the speed chart and the table of the README show: problem, results file, package compared with.
COMPARISONS = [
    ("max_flow", "2026-11-21-papers-ortools-epyc.json", "ortools", "OR-tools"),
    ("grid_cut", "2026-11-22-grids-epyc.json", "pymaxflow", "PyMaxflow"),
    ("bipartite_matching", "2026-11-22-matching-epyc.json", "scipy", "SciPy"),
    ("linear_assignment", "2026-11-22-assignment-epyc.json", None, "the fastest of SciPy, OR-tools, lapx"),
]


def comparison(problem: str, name: str, peer: str | None) -> list[float]:
    """Return the speed-ups of one row of ``COMPARISONS``."""
    return speedups((one for one in instances(name) if one["problem"] == problem), peer)


if __name__ == "__main__":
    for problem, name, peer, label in COMPARISONS:
        ratios = comparison(problem, name, peer)
        print(
            f"{problem:20} {len(ratios):3} instances: median {statistics.median(ratios):6.2f}, "
            f"from {min(ratios):.2f} to {max(ratios):.2f} times as fast as {label}"
        )
