"""Run all contestants on one instance: a warm-up, then rounds in which the contestants take turns."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Sequence
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
