"""Measure minimum-cost flow and transport on one CPU thread and on all.

Usage: python -m benchmarks.scripts.min_cost_threads FILE [networks | transport]. It writes FILE.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import preflow
from preflow.generators import cost_grid, goto, netgen, squared_distances, transport_masses, transport_points
from preflow.solving.dispatch import usable_cpus

from ..records import write_rows

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


def on_threads(serial: str) -> str:
    """Return the method on several threads that a serial method is compared with."""
    return serial.replace("serial-", "multicore-")


def measured(name: str, solve: Callable[..., Any], serial: str, threads: int) -> dict[str, Any]:
    """Return the times of the serial method and of the one on several threads."""
    alone, before, each_before = median_of(solve, serial, None)
    together, after, each_after = median_of(solve, on_threads(serial), threads)
    together.verify()
    if alone.cost != together.cost:
        raise AssertionError(f"{name}: costs {alone.cost} and {together.cost}")
    print(
        f"{name:40} {threads:3} threads {before:8.3f} {after:8.3f} s {before / after:6.1f} times as fast",
        flush=True,
    )
    return {
        "instance": name,
        "serial": serial,
        "threads": threads,
        "seconds": {"serial": each_before, "multicore": each_after},
        "speedup": before / after,
        "phases": together.stats.seconds,
    }


def networks() -> Iterator[dict[str, Any]]:
    """Yield the times of networks."""
    preflow.min_cost_flow(netgen(1000), method="multicore-cost-scaling")
    for name, network in (
        ("NETGEN-8, 1,000,000 arcs", partial(netgen, 125_000)),
        ("GOTO, 786,432 arcs", partial(goto, 131_072)),
        ("grid 512 x 512", partial(cost_grid, 512, 512)),
    ):
        solve = partial(preflow.min_cost_flow, network())
        yield measured(name, solve, "serial-cost-scaling", usable_cpus())


def transports() -> Iterator[dict[str, Any]]:
    """Yield the times of transports."""
    preflow.transport(*transport_masses(100), method="multicore-network-simplex")
    for size, threads in (
        (1000, 1),
        (1000, 4),
        (1000, usable_cpus()),
        (2000, 1),
        (2000, 4),
        (2000, usable_cpus()),
        (4000, 1),
        (4000, usable_cpus()),
        (10_000, usable_cpus()),
    ):
        for name, problem in (
            ("uniform", transport_masses(size)),
            ("squared", squared_distances(transport_points(size))),
        ):
            solve = partial(preflow.transport, *problem)
            solve(method="multicore-network-simplex", threads=threads)  # starts the threads
            yield measured(f"transport {size}, {name}", solve, "serial-network-simplex", threads)


def main() -> None:
    """Measure what is asked for and write the file."""
    parts = {"networks": networks, "transport": transports}
    rows = [row for name in sys.argv[2:] or parts for row in parts[name]()]
    write_rows(sys.argv[1], rows, ())


if __name__ == "__main__":
    main()
