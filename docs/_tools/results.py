"""Read the records below ``benchmarks/results/``: one place for tables, charts and pictures."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks.records import TOTAL, InstanceRecord, Record, read_record

RESULTS = ROOT / "benchmarks" / "results"


def read(name: str) -> Record:
    """Return a record."""
    return read_record(RESULTS / name)


def instances(name: str) -> list[InstanceRecord]:
    """Return the instances of a run of ``python -m benchmarks``."""
    return [InstanceRecord.from_dict(row) for row in read(name).rows]


def seconds(instance: InstanceRecord, contestant: str, phase: str = TOTAL) -> float | None:
    """Return the median seconds of a contestant, None where it took no part."""
    measured = instance.of(contestant)
    return None if measured is None else measured.median(phase)


def peers(instance: InstanceRecord, phase: str = TOTAL) -> dict[str, float]:
    """Return the median seconds of every other package that solved the instance."""
    found = {each.contestant: each.median(phase) for each in instance.measurements}
    return {name: time for name, time in found.items() if time and not name.startswith("preflow")}


def speedups(chosen: Iterable[InstanceRecord], peer: str | None) -> list[float]:
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
    ("max_flow", "2026-11-21-papers-ortools-epyc.jsonl", "ortools", "OR-tools"),
    ("grid_cut", "2026-11-22-grids-epyc.jsonl", "pymaxflow", "PyMaxflow"),
    ("bipartite_matching", "2026-11-22-matching-epyc.jsonl", "scipy", "SciPy"),
    ("linear_assignment", "2026-11-22-assignment-epyc.jsonl", None, "the fastest of SciPy, OR-tools, lapx"),
]


def comparison(problem: str, name: str, peer: str | None) -> list[float]:
    """Return the speed-ups of one row of ``COMPARISONS``."""
    return speedups((one for one in instances(name) if one.problem == problem), peer)


if __name__ == "__main__":
    for problem, name, peer, label in COMPARISONS:
        ratios = comparison(problem, name, peer)
        print(
            f"{problem:20} {len(ratios):3} instances: median {statistics.median(ratios):6.2f}, "
            f"from {min(ratios):.2f} to {max(ratios):.2f} times as fast as {label}"
        )
