"""Speed-ups over one thread, in means over instances that differ only in their seed."""

from __future__ import annotations

from collections.abc import Sequence

from .problem import method_and_threads
from .records import InstanceRecord, Measurement

#: Speed-ups by group of instances, method and number of threads.
SpeedUps = dict[str, dict[str, dict[int, float]]]

#: The parts of a run that have speed-ups, with their titles. Global relabels are a part of the solve.
PARTS = {"total": "all phases", "solve": "solve only", "relabel": "global relabels only"}


def by_group(records: Sequence[InstanceRecord]) -> dict[str, list[InstanceRecord]]:
    """Return the records by their group. A record without a group is a group of its own."""
    groups: dict[str, list[InstanceRecord]] = {}
    for record in records:
        groups.setdefault(record.group or record.name, []).append(record)
    return groups


def part_seconds(measurement: Measurement | None, part: str) -> float | None:
    """Return the median time of a part. For the global relabels it is the time of the last run."""
    if measurement is None:
        return None
    if part != "relabel":
        return measurement.median(part)
    seconds: float = measurement.detail.get("global_relabel_seconds", 0.0)
    return seconds or None


def speed_ups(records: Sequence[InstanceRecord], part: str) -> SpeedUps:
    """Return the speed-ups of all methods that ran on one thread and on another number of threads.

    An instance counts only if both runs have a time.
    """
    table: SpeedUps = {}
    for group, members in by_group(records).items():
        for contestant in own_contestants(members):
            method, threads = method_and_threads(contestant)
            pairs = [
                (alone, seconds)
                for record in members
                if (alone := part_seconds(record.of(f"preflow:{method}@1"), part)) is not None
                and (seconds := part_seconds(record.of(contestant), part)) is not None
            ]
            if threads is not None and pairs:
                alone, together = (sum(times) for times in zip(*pairs, strict=True))
                table.setdefault(group, {}).setdefault(method, {})[threads] = alone / together
    curves = {
        group: {method: curve for method, curve in methods.items() if len(curve) > 1}
        for group, methods in table.items()
    }
    return {group: methods for group, methods in curves.items() if methods}


def thread_counts(table: SpeedUps) -> list[int]:
    """Return the numbers of threads for which the table has speed-ups."""
    return sorted({count for curves in table.values() for curve in curves.values() for count in curve})


def own_contestants(records: Sequence[InstanceRecord]) -> list[str]:
    """Return the contestants that are methods of preflow."""
    names = (each.contestant for record in records for each in record.measurements)
    return [name for name in dict.fromkeys(names) if name.startswith("preflow:")]
