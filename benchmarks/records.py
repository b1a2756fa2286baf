"""Records of measurements: the runs of contestants on instances, and rows of scripts in files."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from .machine import describe_machine, package_versions

#: The key of the sum of all phases.
TOTAL = "total"
#: The phases in the order of the reports. A contestant may lack some of them.
PHASES = ("build", "solve", "recover", "other")
#: The part of the phase "solve" that follows the initial matching.
SEARCH = "search"
#: The relative difference up to which two values count as equal, unless both are integers.
FLOAT_TOLERANCE = 1e-9

Status = Literal["measured", "measured once", "left out", "over the time limit", "failed"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run of a contestant.

    Attributes
    ----------
    value : int or float
        The optimum. It is an int if the instance is integral, so that values can be compared exactly.
    seconds : mapping of str to float
        The wall-clock time of each phase, and of SEARCH if the solve has such a part.
    detail : mapping
        Other facts about the run: method, reason for the choice, operation counts.
    """

    value: int | float
    seconds: Mapping[str, float]
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """The sum of all phases."""
        return sum(time for phase, time in self.seconds.items() if phase != SEARCH)


@dataclass
class Measurement:
    """The measurements of a contestant on an instance.

    Attributes
    ----------
    contestant : str
    status : str
        "measured"; "measured once" if a run took longer than the time limit; "left out" if the instance
        exceeds the contestant's limits; "over the time limit" if a run was stopped; "failed".
    note : str
        The reason for a status other than "measured".
    values : list
        The value that each run found. The first run is the warm-up.
    seconds : list of mapping
        The seconds of each phase, and in "total", of each timed run.
    peak_bytes : int or None
        The peak memory of a run in addition to its input.
    detail : mapping
        Other facts about the last run.
    """

    contestant: str
    status: Status = "measured"
    note: str = ""
    values: list[int | float] = field(default_factory=list)
    seconds: list[Mapping[str, float]] = field(default_factory=list)
    peak_bytes: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> int | float | None:
        """The value of the first run."""
        return self.values[0] if self.values else None

    @property
    def phases(self) -> list[str]:
        """The phases that were timed, and the total."""
        if not self.seconds:
            return []
        return [phase for phase in (*PHASES, SEARCH) if phase in self.seconds[0]] + [TOTAL]

    def all_seconds(self, phase: str) -> list[float]:
        """Return the time of a phase in each run."""
        return [run[phase] for run in self.seconds if phase in run]

    @property
    def total_seconds(self) -> float:
        """The sum of the times of all timed runs."""
        return sum(self.all_seconds(TOTAL))

    def median(self, phase: str) -> float | None:
        """Return the median time of a phase, None without a time."""
        times = self.all_seconds(phase)
        return statistics.median(times) if times else None

    def add(self, outcome: Outcome, timed: bool) -> None:
        """Add a run."""
        self.values.append(outcome.value)
        self.detail = outcome.detail
        if timed:
            self.seconds.append({**outcome.seconds, TOTAL: outcome.total})

    def stop(self, status: Status, note: str) -> None:
        """Exclude the contestant from further runs on this instance."""
        self.status = status
        self.note = note


@dataclass
class InstanceRecord:
    """The measurements of all contestants on one instance.

    Attributes
    ----------
    problem, suite, name : str
    sizes : mapping
        Counts such as vertices and arcs.
    measurements : list of Measurement
        In the order of the contestants.
    group : str
        The group of instances that differ only in their seed.
    published : int or None
        The optimum, if a publication gives it.
    """

    problem: str
    suite: str
    name: str
    sizes: Mapping[str, int]
    measurements: list[Measurement]
    group: str = ""
    published: int | None = None

    def of(self, contestant: str) -> Measurement | None:
        """Return the measurement of a contestant."""
        return next((each for each in self.measurements if each.contestant == contestant), None)

    def disagreement(self) -> str | None:
        """Return the contestants by the value that they found if the values differ, else None."""
        groups: list[tuple[int | float, list[str]]] = []
        if self.published is not None:
            groups.append((self.published, ["the publication"]))
        for measurement in self.measurements:
            for value in measurement.values:
                names = next((names for known, names in groups if same_value(known, value)), None)
                if names is None:
                    groups.append((value, names := []))
                if measurement.contestant not in names:
                    names.append(measurement.contestant)
        if len(groups) < 2:
            return None
        found = "; ".join(f"{value} by {', '.join(names)}" for value, names in groups)
        return f"{self.problem} of {self.name}: {found}"


def same_value(first: int | float, second: int | float) -> bool:
    """Return whether two optima are the same: integers exactly, floats up to rounding errors."""
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    return math.isclose(first, second, rel_tol=FLOAT_TOLERANCE)


def write_rows(path: str, rows: Sequence[dict[str, Any]], packages: Sequence[str]) -> None:
    """Write rows to a JSON file, with the versions of preflow and of further packages."""
    record = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "versions": {
            **package_versions(packages),
            **_gpu_versions(),
        },
        "rows": rows,
    }
    Path(path).write_text(json.dumps(record, indent=1) + "\n")


def _gpu_versions() -> dict[str, Any]:
    """Return the versions of CuPy and CUDA if the process uses them."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return {}
    return {"cupy": cupy.__version__, "cuda": cupy.cuda.runtime.runtimeGetVersion()}
