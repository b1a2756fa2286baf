"""Run all contestants on one instance: a warm-up, then rounds in which the contestants take turns."""

from __future__ import annotations

import gc
import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from preflow.errors import UnsuitableMethodError

from .probe import Probe, forget_peak, probe, save_instance, touch_freed_memory
from .problem import Contestant, Instance, Problem, SolverSettings, TimeLimitReached, describe_error
from .records import InstanceRecord, Measurement, Outcome


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

    The first run has shown that a contestant ends in time, so the others have no time limit, like most calls
    of users. A run shorter than SHORTEST is repeated until SHORTEST has passed, and its median counts.
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
    unlimited = replace(settings, time_limit=math.inf)
    pairs = [
        (problem.contestant(each.name, unlimited) if each.name.startswith("preflow:") else each, measurement)
        for each, measurement in pairs
    ]
    for i in range(0 if warm_up else 1, repeats):
        racing = _in_race(pairs)
        first = i % max(len(racing), 1)
        for contestant, measurement in racing[first:] + racing[:first]:
            if measurement.total_seconds >= settings.time_limit:
                continue
            outcomes: list[Outcome] = []
            while sum(outcome.total for outcome in outcomes) < SHORTEST:
                outcome = _run(contestant, inputs[contestant.name], measurement, again=bool(outcomes))
                if outcome is None:
                    break
                outcomes.append(outcome)
            else:
                outcomes.sort(key=lambda outcome: outcome.total)
                measurement.add(outcomes[len(outcomes) // 2], timed=True)
    return record


#: Seconds: shorter runs of a contestant are repeated.
SHORTEST = 0.01

Pairs = Sequence[tuple[Contestant, Measurement]]


def _in_race(pairs: Pairs) -> list[tuple[Contestant, Measurement]]:
    return [pair for pair in pairs if pair[1].status == "measured"]


def _run(
    contestant: Contestant,
    prepared: Any,
    measurement: Measurement,
    *,
    first: Instance | None = None,
    again: bool = False,
) -> Outcome | None:
    """Run once. Return None if that fails, and note the reason.

    `first` is the instance, in the first run. `again`: nothing has run since the last run of the contestant.
    """
    try:
        if first is not None:
            contestant.load(first)
        if not again:
            gc.collect()
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
