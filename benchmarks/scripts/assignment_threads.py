"""Measure batches and large matrices of assignments on one CPU thread and on more.

Usage: python -m benchmarks.scripts.assignment_threads FILE. It writes FILE.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import preflow
from preflow.assignment.result import AssignmentResult
from preflow.solving.dispatch import usable_cpus

from ..records import write_rows

REPEATS, REPEATS_OF_LARGE = 31, 3
LARGE = 10_000


def thread_counts() -> list[int]:
    """Return the numbers of threads that are measured."""
    return [threads for threads in (1, 2, 4, 8, 12, 16) if threads <= usable_cpus()]


def seconds_in_turn(calls: dict[str, Callable[[], AssignmentResult]], repeats: int) -> dict[str, list[float]]:
    """Return the sorted times of each call. The calls take turns, and the first round does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for repeat in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            result = call()
            end = time.perf_counter()
            if repeat:
                seconds[name].append(end - start)
            else:
                result.verify()
    return {name: sorted(each) for name, each in seconds.items()}


def measured(name: str, costs: np.ndarray, method: str, repeats: int) -> dict[str, Any]:
    """Return the times of "auto" on one thread, and of a method on one and on more threads."""
    calls: dict[str, Callable[[], AssignmentResult]] = {
        "auto, 1 thread": lambda: preflow.linear_assignment(costs, threads=1)
    }
    for threads in thread_counts():
        if costs.ndim > 2 or threads >= 4:
            calls[f"{method}, {threads}"] = functools.partial(
                preflow.linear_assignment, costs, method=method, threads=threads
            )
    seconds = seconds_in_turn(calls, repeats)
    medians = {call: float(np.median(each)) for call, each in seconds.items()}
    alone = medians["auto, 1 thread"]
    for call, median in medians.items():
        print(f"{name:45} {call:30} {1e3 * median:9.2f} ms {alone / median:6.2f}", flush=True)
    least = {call: each[0] for call, each in seconds.items()}
    return {"instance": name, "repeats": repeats, "medians": medians, "least": least}


def main() -> None:
    """Measure all instances and write the file."""
    random = np.random.default_rng(0)
    batch = (10_000, 30, 30)
    method = "multicore-shortest-path"
    rows = [
        measured("10,000 of 30 x 30, integers <= 100", random.integers(0, 101, batch), method, REPEATS),
        measured("10,000 of 30 x 30, uniform", random.random(batch), method, REPEATS),
    ]
    large, auction = (LARGE, LARGE), "multicore-auction"
    integers = random.integers(0, LARGE + 1, large).astype(np.int32)
    rows.append(measured("10,000 rows, integers <= 10,000, int32", integers, auction, REPEATS_OF_LARGE))
    rows.append(measured("10,000 rows, uniform", random.random(large), auction, REPEATS_OF_LARGE))
    write_rows(sys.argv[1], rows, ())


if __name__ == "__main__":
    main()
