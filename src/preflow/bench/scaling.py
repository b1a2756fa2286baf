"""Speed-ups over one thread, and operation counts beside those that Cihan's thesis published.

As in the thesis, times and counts of a family are means over the instances of its seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from ..maxflow.methods import METHODS
from ..solving.dispatch import find_method
from .problem import method_and_threads
from .runner import InstanceRecord, Measurement
from .thesis import TABLES, Published

#: Speed-ups by group of instances, method and number of threads.
SpeedUps = dict[str, dict[str, dict[int, float]]]

#: What speed-ups are of, by phase. The global relabels are a part of the solve.
PARTS = {"total": "all phases", "solve": "solve only", "relabel": "global relabels only"}
COUNTS = ("pushes", "relabels", "global_relabels")
#: Families of fewer sizes are not drawn by size.
LEAST_SIZES = 3


class Operations(NamedTuple):
    """What a contestant did on a group of instances, on average, and what a code of its kind did then."""

    group: str
    contestant: str
    seconds: float
    counts: tuple[float, ...]
    table: str
    published: Published | None


def by_group(records: Sequence[InstanceRecord]) -> dict[str, list[InstanceRecord]]:
    """Return the records by their group, each that has none by itself."""
    groups: dict[str, list[InstanceRecord]] = {}
    for record in records:
        groups.setdefault(record.group or record.name, []).append(record)
    return groups


def part_seconds(measurement: Measurement | None, part: str) -> float | None:
    """Return the median time of a part; for the global relabels, that of the last run."""
    if measurement is None:
        return None
    if part != "relabel":
        return measurement.median(part)
    seconds: float = measurement.detail.get("global_relabel_seconds", 0.0)
    return seconds or None


def by_size(records: Sequence[InstanceRecord], part: str) -> dict[str, dict[str, dict[int, float]]]:
    """Return the seconds of a part by family, contestant and number of arcs, of families of several sizes.

    An instance's name ends in its size. Instances of several seeds are left out.
    """
    table: dict[str, dict[str, dict[int, float]]] = {}
    for record in records:
        family, _, _ = record.name.rpartition(" ")
        if record.group or not family or "arcs" not in record.sizes:
            continue
        curves = table.setdefault(family, {})
        for measurement in record.measurements:
            seconds = part_seconds(measurement, part)
            if seconds is not None:
                curves.setdefault(measurement.contestant, {})[record.sizes["arcs"]] = seconds
    return {
        family: curves
        for family, curves in table.items()
        if max(map(len, curves.values()), default=0) >= LEAST_SIZES
    }


def speed_ups(records: Sequence[InstanceRecord], part: str) -> SpeedUps:
    """Return the speed-ups of all methods that ran on one thread and on another number of them.

    Instances of a group on which either gave no time do not count.
    """
    table: SpeedUps = {}
    for group, members in by_group(records).items():
        for contestant in _own_contestants(members):
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
    """Return the numbers of threads that there are speed-ups for."""
    return sorted({count for curves in table.values() for curve in curves.values() for count in curve})


def operations(records: Sequence[InstanceRecord]) -> list[Operations]:
    """Return the operations of preflow's methods on all instances that belong to a group."""
    rows = []
    for group, members in by_group([record for record in records if record.group]).items():
        table = TABLES.get(group.removesuffix("-like"))
        for contestant in _own_contestants(members):
            measured = [each for record in members if (each := record.of(contestant)) and each.seconds]
            if measured:
                code = _thesis_code(contestant)
                counts = (statistics.fmean(each.detail[name] for each in measured) for name in COUNTS)
                rows.append(
                    Operations(
                        group,
                        contestant,
                        statistics.fmean(each.median("total") or 0.0 for each in measured),
                        tuple(counts),
                        table.number if table and code else "",
                        table.rows[code] if table and code else None,
                    )
                )
    return rows


def _own_contestants(records: Sequence[InstanceRecord]) -> list[str]:
    names = (each.contestant for record in records for each in record.measurements)
    return [name for name in dict.fromkeys(names) if name.startswith("preflow:")]


def _thesis_code(contestant: str) -> str | None:
    """Return what the thesis's tables call a method's code, None where they have none of that kind."""
    method, _ = method_and_threads(contestant)
    if method == "auto" or "[" in method:
        return None
    codes = next(iter(TABLES.values())).rows
    return next((alias for alias in find_method(METHODS, method).aliases if alias in codes), None)
