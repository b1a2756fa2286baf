"""Run all contestants side by side on one instance: warm-up, then rounds in which each has its turn."""

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

#: Relative difference up to which two values that are not both integers count as equal.
FLOAT_TOLERANCE = 1e-9


@dataclass
class Measurement:
    """What a contestant did on an instance.

    Attributes
    ----------
    contestant : str
    status : str
        "measured"; "measured once" where a run took longer than the time limit; "left out" where the
        instance is beyond the contestant's limits; "over the time limit" where it was stopped; "failed".
    note : str
        Why, where it is not "measured".
    values : list
        The value that every run found, the warm-up's first.
    seconds : list of mapping
        Every timed run's phases, "total" among them.
    peak_bytes : int or None
        Most memory that a run took beyond its input.
    detail : mapping
        What the contestant told of its last run.
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
        """What was timed, the total last."""
        if not self.seconds:
            return []
        return [phase for phase in (*PHASES, SEARCH) if phase in self.seconds[0]] + [TOTAL]

    def all_seconds(self, phase: str) -> list[float]:
        """Return a phase's time in every run."""
        return [run[phase] for run in self.seconds if phase in run]

    @property
    def total_seconds(self) -> float:
        """The time of all timed runs together."""
        return sum(self.all_seconds(TOTAL))

    def median(self, phase: str) -> float | None:
        """Return a phase's median time, None where there is none."""
        times = self.all_seconds(phase)
        return statistics.median(times) if times else None

    def add(self, outcome: Outcome, timed: bool) -> None:
        """Take in one more run."""
        self.values.append(outcome.value)
        self.detail = outcome.detail
        if timed:
            self.seconds.append({**outcome.seconds, TOTAL: outcome.total})

    def stop(self, status: Status, note: str) -> None:
        """Take the contestant out of the race on this instance."""
        self.status = status
        self.note = note


@dataclass
class InstanceRecord:
    """All contestants on one instance.

    Attributes
    ----------
    problem, suite, name : str
    sizes : mapping
        Counts such as vertices and arcs.
    measurements : list of Measurement
        In the order of the contestants.
    group : str
        What instances that differ only in their seed have in common.
    published : int or None
        The optimum, where one is known.
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
        """Return who found which value where not all are the same, else None."""
        groups: list[tuple[int | float, list[str]]] = []
        if self.published is not None:
            groups.append((self.published, ["what is published"]))
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
    """Whether two optima are the same: integers exactly, floats up to rounding."""
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
    group: str = "",
    published: int | None = None,
) -> InstanceRecord:
    """Return the measurements of all contestants on one instance.

    Each contestant is first run by itself in another process, if `memory` is set: that yields its peak
    memory, and one that crashes or passes the time limit ends there. Then comes a warm-up in this process,
    and then `repeats` rounds, each of which runs every contestant once, starting with another one each
    time, so that a disturbance of the machine hits all alike. Whose timed runs have taken the time limit
    together sits out the rest. Before every run, freed memory is touched.
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
    inputs: dict[str, Any] = {}
    forget_peak()
    for contestant, measurement in _in_race(pairs):
        prepared = contestant.prepare(instance)
        outcome = _run(contestant, prepared, measurement, first=instance)
        if outcome is None:
            continue
        slow = outcome.total > settings.time_limit
        measurement.add(outcome, timed=slow)
        if slow:
            measurement.stop(
                "measured once", f"slower than {settings.time_limit:g} s: no warm-up, no repeats"
            )
        else:
            inputs[contestant.name] = prepared
    for i in range(repeats):
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
    """Run once; None where that failed, which the measurement then says. `first` is given the first time."""
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
