"""Measure "auto" beside every method on the suites "traps".

Usage: python -m benchmarks.scripts.traps FILE [PATTERN ...]. A pattern selects instances by "PROBLEM/NAME".

"auto" runs first. At the end it and the best method run again in turn: a process that has freed large arrays
gets memory faster, which is worth a factor of two on short solves, and other processes come and go. Each
method is stopped after three times the time of "auto", and after 2 seconds at the earliest, because a slower
method cannot be the best. The program records the least CPU seconds and the least wall-clock seconds of the
runs of each method. Ratios on one thread are of CPU seconds, which other processes hardly disturb. Ratios on
two threads are of wall-clock seconds.
"""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from preflow.errors import InvalidInputError

from ..problem import Contestant, Instance, Problem, SolverSettings, TimeLimitReached
from ..problems import PROBLEMS, takes_threads
from ..records import write_rows

SUITE = "traps"
#: The problems. min_cut has the same methods as max_flow.
NAMES = ("max_flow", "grid_cut", "bipartite_matching", "linear_assignment")
#: The least runs of a method, the seconds after which it has no further run, and the most runs. Short runs
#: are repeated until they take QUICK seconds together.
REPEATS, ENOUGH, MOST_REPEATS, QUICK = 3, 4.0, 15, 0.3
#: How often "auto" and the best method run again.
IN_TURN = 3
#: The wall-clock seconds after which "auto" is stopped, and the least such seconds for a method.
LIMIT, LEAST = 20.0, 2.0


class Times(NamedTuple):
    """The least CPU seconds, the least wall-clock seconds, and the method that ran."""

    cpu: float
    wall: float
    method: str

    def by(self, threads: int) -> float:
        """Return the seconds that are compared on a number of threads."""
        return self.cpu if threads == 1 else self.wall


def measured(contestant: Contestant, instance: Instance) -> Times | None:
    """Return the times of a contestant, None if it was stopped or cannot solve the instance."""
    cpu: list[float] = []
    wall: list[float] = []
    try:
        contestant.load(instance)
        prepared = contestant.prepare(instance)
        while len(wall) < REPEATS or (len(wall) < MOST_REPEATS and sum(wall) < QUICK):
            gc.collect()
            start = time.process_time(), time.perf_counter()
            outcome = contestant.run(prepared)
            cpu.append(time.process_time() - start[0])
            wall.append(time.perf_counter() - start[1])
            if sum(wall) > ENOUGH and len(wall) > 1:  # kernels may be compiled in the first run
                break
    except (TimeLimitReached, InvalidInputError):
        return None
    return Times(min(cpu), min(wall), str(outcome.detail.get("method", "")))


def least(first: Times | None, second: Times | None) -> Times | None:
    """Return the least seconds of two measurements of a method."""
    if first is None or second is None:
        return first or second
    return Times(min(first.cpu, second.cpu), min(first.wall, second.wall), second.method)


def best_of(everyone: Mapping[str, Times | None], threads: int) -> str:
    """Return the fastest method except "auto"; any of them if none solved the instance."""
    return min(
        everyone.keys() - {"auto"},
        key=lambda method: math.inf if (found := everyone[method]) is None else found.by(threads),
    )


def row(problem: Problem, name: str, instance: Instance, threads: int) -> dict[str, Any]:
    """Return the times of "auto" and of all methods on one instance with at most `threads` threads."""

    def times(method: str, limit: float) -> Times | None:
        parallel = takes_threads(problem.name, method)
        settings = SolverSettings(threads, limit / 2.0)  # a run is stopped after twice its limit
        name = f"preflow:{method}@{threads}" if parallel else f"preflow:{method}"
        contestant = problem.contestant(name, settings)
        return measured(contestant, instance)

    everyone = {"auto": times("auto", LIMIT)}
    auto = everyone["auto"]
    limit = LIMIT if auto is None else min(max(3.0 * auto.wall, LEAST), LIMIT)
    for method in problem.suites[SUITE].methods:
        if method != "auto":
            everyone[method] = times(method, limit)
    for method in IN_TURN * ("auto", best_of(everyone, threads)):
        everyone[method] = least(everyone[method], times(method, limit))
    auto, best = everyone["auto"], everyone[best_of(everyone, threads)]
    return {
        "problem": problem.name,
        "instance": name,
        "threads": threads,
        "auto chose": None if auto is None else auto.method,
        "best": None if best is None else best_of(everyone, threads),
        "ratio": None if auto is None or best is None else round(auto.by(threads) / best.by(threads), 2),
        "cpu, s": {method: each and round(each.cpu, 5) for method, each in everyone.items()},
        "wall, s": {method: each and round(each.wall, 5) for method, each in everyone.items()},
    }


def rows(patterns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the row of each instance that matches a pattern, or of all instances."""
    for problem in (PROBLEMS[name] for name in NAMES):
        for case in problem.suites[SUITE].cases(()):
            name = f"{problem.name}/{case.name}"
            if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
                continue
            instance = case.make()
            for threads in problem.suites[SUITE].threads:
                yield row(problem, case.name, instance, threads)


def main() -> None:
    """Print and write the table."""
    path, *patterns = sys.argv[1:]
    found = []
    for each in rows(patterns):
        found.append(each)
        seconds = each["cpu, s" if each["threads"] == 1 else "wall, s"]
        print(
            *(each[key] for key in ("problem", "instance", "threads", "auto chose", "best", "ratio")), seconds
        )
        write_rows(path, found, ("numpy", "numba", "scipy"))


if __name__ == "__main__":
    main()
