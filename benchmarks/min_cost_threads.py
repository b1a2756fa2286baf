"""Measure minimum-cost flow and transport on one CPU thread and on all.

Usage: python benchmarks/min_cost_threads.py FILE. It writes FILE.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from records import write_rows

import preflow
from preflow.generators import cost_grid, goto, netgen, squared_distances, transport_masses, transport_points
from preflow.solving.dispatch import usable_cpus

REPEATS = 3
#: A solve that takes longer is not repeated.
LONG = 10.0


def median_of(solve: Callable[..., Any], method: str, threads: int | None) -> tuple[Any, float, list[float]]:
    """Return the last result, the median and all times of a method."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = solve(method=method, threads=threads)
        seconds.append(time.perf_counter() - start)
        if seconds[-1] > LONG:
            break
    return result, float(np.median(seconds)), sorted(seconds)


def measured(name: str, solve: Callable[..., Any], serial: str) -> dict[str, Any]:
    """Return the times of the serial method and of the one on all threads."""
    threads = usable_cpus()
    alone, before, each_before = median_of(solve, serial, None)
    together, after, each_after = median_of(solve, "multicore-cost-scaling", threads)
    together.verify()
    if alone.cost != together.cost:
        raise AssertionError(f"{name}: costs {alone.cost} and {together.cost}")
    print(f"{name:40} {before:8.3f} {after:8.3f} s {before / after:6.1f} times as fast", flush=True)
    return {
        "instance": name,
        "serial": serial,
        "threads": threads,
        "seconds": {"serial": each_before, "multicore": each_after},
        "speedup": before / after,
        "phases": together.stats.seconds,
    }


def main() -> None:
    """Measure all instances and write the file."""
    scaling, simplex = "serial-cost-scaling", "serial-network-simplex"
    small = netgen(1000)
    preflow.min_cost_flow(small, method="multicore-cost-scaling")
    rows = []
    for name, network in (
        ("NETGEN-8, 1,000,000 arcs", partial(netgen, 125_000)),
        ("GOTO, 786,432 arcs", partial(goto, 131_072)),
        ("grid 512 x 512", partial(cost_grid, 512, 512)),
    ):
        rows.append(measured(name, partial(preflow.min_cost_flow, network()), scaling))
    for size in (4000, 10_000):
        random, points = transport_masses(size), squared_distances(transport_points(size))
        rows.append(measured(f"transport {size}, uniform", partial(preflow.transport, *random), simplex))
        rows.append(measured(f"transport {size}, squared", partial(preflow.transport, *points), simplex))
    write_rows(sys.argv[1], rows, ())


if __name__ == "__main__":
    main()
