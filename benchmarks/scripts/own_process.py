"""Let preflow and its peers take turns, each after a first run in a process that is ended after a limit."""

from __future__ import annotations

import multiprocessing
import statistics
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ..records import Outcome

Run = Callable[[], Outcome]
#: The last phase belongs to the total only.
PHASES = ("build", "solve", "recover")
OURS = "preflow:auto"


def _send(run: Run, answer: Connection) -> None:
    answer.send(run())


def outcome_of(run: Run, limit: float) -> Outcome | None:
    """Return the outcome of a run, or None if it failed or took more than `limit` seconds."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(run, send))
    process.start()
    send.close()
    outcome: Outcome | None = None
    if receive.poll(limit):
        try:
            outcome = receive.recv()
        except EOFError:
            outcome = None
    process.terminate()
    process.join()
    return outcome


def compare(
    name: str, runs: Mapping[str, Run], rounds: int, limits: tuple[float, float], spread: float
) -> dict[str, Any]:
    """Return the medians of all entrants, and the ratios of preflow to the best peer.

    `limits` are the seconds after which the first run is ended, and those after which it is the only one.
    ArithmeticError: values differ, those of floats by more than the part `spread`.
    """
    limit, slow = limits
    first = {entrant: outcome_of(run, limit) for entrant, run in runs.items()}
    outcomes = {entrant: [one] for entrant, one in first.items() if one is not None and one.total > slow}
    quick = [entrant for entrant, one in first.items() if one is not None and one.total <= slow]
    outcomes |= {entrant: [] for entrant in quick}
    for entrant in quick * rounds:
        outcomes[entrant].append(runs[entrant]())
    values = {each.value for found in outcomes.values() for each in found}
    exact = all(isinstance(value, int) for value in values)
    if max(values) - min(values) > (0 if exact else spread * max(values)):
        raise ArithmeticError(f"{name}: the values differ, {values}")
    seconds = {
        entrant: {phase: statistics.median(run.seconds.get(phase, 0.0) for run in found) for phase in PHASES}
        | {"total": statistics.median(run.total for run in found)}
        for entrant, found in outcomes.items()
    }
    ratios = {}
    for score in ("solve", "total"):
        rivals = {entrant: times[score] for entrant, times in seconds.items() if entrant != OURS}
        best = min(rivals, key=rivals.__getitem__)
        ratios[score] = {"best": best, "ratio": seconds[OURS][score] / rivals[best]}
    method = outcomes[OURS][0].detail["method"]
    too_slow = [entrant for entrant, one in first.items() if one is None]
    shown = " ".join(f"{score} {found['ratio']:.2f} {found['best']}" for score, found in ratios.items())
    times = {each: f"{found['solve']:.4f}/{found['total']:.4f}" for each, found in seconds.items()}
    print(f"{name:28} {method:24} {shown} {times} {too_slow}", flush=True)
    row = {"method": method, "rounds": rounds, "seconds": seconds, "ratios": ratios}
    return {**row, "too_slow": too_slow}


def print_ratios(rows: list[dict[str, Any]]) -> None:
    """Print the median and the worst ratio of all instances."""
    for score in ("solve", "total"):
        ratios = np.array([row["ratios"][score]["ratio"] for row in rows])
        print(f"{score}: median {np.median(ratios):.2f}, worst {ratios.max():.2f}")
