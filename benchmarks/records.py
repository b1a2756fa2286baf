"""Records of measurements: the runs of contestants on instances, and the files that keep them."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from preflow.errors import InvalidInputError

from .machine import command, describe_machine, package_versions

#: The key of the sum of all phases.
TOTAL = "total"
#: The phases in the order of the reports. A contestant may lack some of them.
PHASES = ("build", "solve", "recover", "other")
#: The part of the phase "solve" that follows the initial matching.
SEARCH = "search"
#: The relative difference up to which two values count as equal, unless both are integers.
FLOAT_TOLERANCE = 1e-9

#: The reason of a method that the contestant's name has.
NAMED = "asked for"

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
        return total_of(self.seconds)


def total_of(seconds: Mapping[str, float]) -> float:
    """Return the sum of all phases."""
    return sum(time for phase, time in seconds.items() if phase != SEARCH)


def _rounded(seconds: float) -> float:
    """Return seconds with the digits that a clock has."""
    return float(f"{seconds:.6g}")


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
        """Add a run.

        Of its facts all are kept but the counts of single threads, and the method where the contestant's name
        has it.
        """
        self.values.append(outcome.value)
        known = {"per_thread", *(("method", "reason") if outcome.detail.get("reason") == NAMED else ())}
        self.detail = {
            name: _rounded(fact) if isinstance(fact, float) else fact
            for name, fact in outcome.detail.items()
            if name not in known and fact != []
        }
        if timed:
            times = {phase: _rounded(time) for phase, time in outcome.seconds.items()}
            self.seconds.append({**times, TOTAL: total_of(times)})

    def stop(self, status: Status, note: str) -> None:
        """Exclude the contestant from further runs on this instance."""
        self.status = status
        self.note = note

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults, for JSON.

        The total is left out, for it is the sum of the phases, and so are further values that agree.
        """
        times = {phase: self.all_seconds(phase) for phase in self.phases if phase != TOTAL}
        found = {
            "name": self.contestant,
            "status": None if self.status == "measured" else self.status,
            "note": self.note,
            "value": self.value,
            "values": self.values if len(set(self.values)) > 1 else None,
            "seconds": times,
            "peak_bytes": self.peak_bytes,
            "detail": dict(self.detail),
        }
        return {name: fact for name, fact in found.items() if fact not in (None, "", {})}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Measurement:
        """Return the measurement of which :meth:`to_dict` returned the data."""
        times = data.get("seconds", {})
        runs = [dict(zip(times, run, strict=True)) for run in zip(*times.values(), strict=True)]
        return cls(
            data["name"],
            data.get("status", "measured"),
            data.get("note", ""),
            data.get("values") or ([data["value"]] if "value" in data else []),
            [{**run, TOTAL: total_of(run)} for run in runs],
            data.get("peak_bytes"),
            data.get("detail", {}),
        )


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

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults, for JSON."""
        found = {
            "problem": self.problem,
            "suite": self.suite,
            "name": self.name,
            "group": self.group,
            "sizes": dict(self.sizes),
            "published": self.published,
            "contestants": [each.to_dict() for each in self.measurements],
        }
        return {name: fact for name, fact in found.items() if fact not in (None, "")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> InstanceRecord:
        """Return the record of which :meth:`to_dict` returned the data."""
        return cls(
            data["problem"],
            data["suite"],
            data["name"],
            data["sizes"],
            [Measurement.from_dict(each) for each in data["contestants"]],
            data.get("group", ""),
            data.get("published"),
        )


def same_value(first: int | float, second: int | float) -> bool:
    """Return whether two optima are the same: integers exactly, floats up to rounding errors."""
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    return math.isclose(first, second, rel_tol=FLOAT_TOLERANCE)


class Record(NamedTuple):
    """The content of a file of measurements: facts about the run, and a row for each instance."""

    header: dict[str, Any]
    rows: list[dict[str, Any]]


def write_record(path: str | Path, header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a record: a line of JSON for its header, then a line for each row."""
    lines = (json.dumps(line, separators=(",", ":")) for line in (header, *rows))
    Path(path).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def read_record(path: str | Path) -> Record:
    """Read a record.

    Raises
    ------
    InvalidInputError
        The file is none.
    """
    try:
        lines = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    except ValueError:
        lines = []
    if not lines or not all(isinstance(line, dict) for line in lines):
        raise InvalidInputError(f"{path} is no record: each of its lines must be an object of JSON")
    return Record(lines[0], lines[1:])


def kept_rows(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a record that an earlier run has begun, none if there is no file."""
    return read_record(path).rows if Path(path).exists() else []


def write_rows(
    path: str | Path, rows: Iterable[Mapping[str, Any]], packages: Sequence[str] = (), **facts: Any
) -> None:
    """Write rows as a record with the machine, versions of preflow and further packages, and facts."""
    header = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command(),
        "machine": describe_machine(),
        "versions": package_versions(packages),
        **facts,
    }
    write_record(path, header, rows)
