"""Run all contestants on one instance: a warm-up, then rounds in which the contestants take turns."""

from __future__ import annotations

import gc
import math
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UnsuitableMethodError
from .probe import Probe, forget_peak, probe, save_instance, touch_freed_memory
from .problem import (
    PHASES,
    SEARCH,
    TOTAL,
    Contestant,
    Instance,
    Outcome,
    Problem,
    SolverSettings,
    Status,
    TimeLimitReached,
    describe_error,
)

#: The relative difference up to which two values count as equal, unless both are integers.
FLOAT_TOLERANCE = 1e-9


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


def measure(
    problem: Problem,
    suite: str,
    name: str,
    instance: Instance,
    contestants: Sequence[Contestant],
    settings: SolverSettings,
    *,
    repeats: int,
    memory: bool,
    warm_up: bool = True,
    group: str = "",
    published: int | None = None,
) -> InstanceRecord:
    """Return the measurements of all contestants on one instance.

    If `memory` is set, each contestant first runs in another process, which measures its peak memory. A
    contestant that crashes or exceeds the time limit there is excluded. Then each contestant makes a warm-up
    run in this process. Then follow `repeats` rounds, in each of which every contestant runs once. Each round
    starts with another contestant, so that disturbances of the machine affect all of them alike. A contestant
    makes no further runs when its timed runs have taken the time limit together. Without `warm_up` the first
    run is timed, too; its kernels have been loaded by a trivial instance.
    """
    record = InstanceRecord(
        problem.name,
        suite,
        name,
        instance.sizes,
        [Measurement(each.name) for each in contestants],
        group,
        published,
    )
    pairs = list(zip(contestants, record.measurements, strict=True))
    for contestant, measurement in pairs:
        if reason := contestant.unfit(instance):
            measurement.stop("left out", reason)
    if memory:
        _measure_memory(problem, instance, pairs, settings)
    inputs: dict[str, object] = {}
    forget_peak()
    for contestant, measurement in _in_race(pairs):
        prepared = contestant.prepare(instance)
        outcome = _run(contestant, prepared, measurement, first=instance)
        if outcome is None:
            continue
        slow = outcome.total > settings.time_limit
        measurement.add(outcome, timed=slow or not warm_up)
        if slow:
            measurement.stop(
                "measured once", f"slower than {settings.time_limit:g} s: no warm-up, no repeats"
            )
        else:
            inputs[contestant.name] = prepared
    for i in range(0 if warm_up else 1, repeats):
        racing = _in_race(pairs)
        first = i % max(len(racing), 1)
        for contestant, measurement in racing[first:] + racing[:first]:
            if measurement.total_seconds >= settings.time_limit:
                continue
            outcome = _run(contestant, inputs[contestant.name], measurement)
            if outcome is not None:
                measurement.add(outcome, timed=True)
    return record


Pairs = Sequence[tuple[Contestant, Measurement]]


def _in_race(pairs: Pairs) -> list[tuple[Contestant, Measurement]]:
    return [pair for pair in pairs if pair[1].status == "measured"]


def _run(
    contestant: Contestant, prepared: Any, measurement: Measurement, first: Instance | None = None
) -> Outcome | None:
    """Run once. Return None if that fails, and note the reason. `first` is the instance, in the first run."""
    gc.collect()
    try:
        if first is not None:
            contestant.load(first)
        touch_freed_memory()
        return contestant.run(prepared)
    except TimeLimitReached as bounds:
        measurement.stop("over the time limit", f"stopped: {bounds}")
    except UnsuitableMethodError as error:
        measurement.stop("left out", str(error))
    except Exception as error:
        measurement.stop("failed", describe_error(error))
    return None


def _measure_memory(problem: Problem, instance: Instance, pairs: Pairs, settings: SolverSettings) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance"
        save_instance(path, instance)
        for contestant, measurement in _in_race(pairs):
            answer: Probe = probe(path, problem.name, contestant.name, settings)
            measurement.peak_bytes = answer.peak_bytes
            if answer.status != "measured":
                measurement.stop(answer.status, answer.note)
