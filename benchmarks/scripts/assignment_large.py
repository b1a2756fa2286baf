"""Measure large assignments on a GPU and on one CPU thread.

Usage: python -m benchmarks.scripts.assignment_large FILE. It writes FILE and needs CuPy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import cupy
import numpy as np
from scipy.optimize import linear_sum_assignment

import preflow
from preflow.generators.costs import geometric_costs, low_rank_costs, machol_wien_costs

from ..records import write_rows
from .gpu_time import median_seconds

try:
    from lap import lapjv
except ImportError:
    lapjv = None

#: The most costs that the CPU solves.
MOST_ON_CPU = 25_000_000
REPEATS = 5
POINTS = (20_000, 100_000)


def matrices() -> list[tuple[str, Callable[[], np.ndarray]]]:
    """Return the names of the matrices, each with a function that generates it."""
    random = np.random.default_rng(0)

    def up_to_size(n: int) -> Callable[[], np.ndarray]:
        return lambda: random.integers(0, n + 1, (n, n), dtype=np.int32)

    return [
        ("uniform 1000, float64", lambda: random.random((1000, 1000))),
        ("uniform 2000, float64", lambda: random.random((2000, 2000))),
        ("uniform 5000, float64", lambda: random.random((5000, 5000))),
        ("uniform 10000, float32", lambda: random.random((10_000, 10_000), dtype=np.float32)),
        ("integers <= n, 5000, int32", up_to_size(5000)),
        ("integers <= n, 10000, int32", up_to_size(10_000)),
        ("integers <= n, 20000, int32", up_to_size(20_000)),
        ("geometric 5000, float64", lambda: geometric_costs(5000)),
        ("geometric 10000, float32", lambda: geometric_costs(10_000).astype(np.float32)),
        ("low rank 2000, float64", lambda: low_rank_costs(2000)),
        ("Machol-Wien 1000, int32", lambda: machol_wien_costs(1000).astype(np.int32)),
    ]


def measured(name: str, costs: np.ndarray) -> dict[str, Any]:
    """Return the times for a matrix, whose answer is verified."""
    on_device = cupy.asarray(costs)
    result = preflow.linear_assignment(on_device)
    result.verify()
    seconds = {result.stats.method: median_seconds(lambda: preflow.linear_assignment(on_device), REPEATS)}
    if costs.size <= MOST_ON_CPU:
        host = preflow.linear_assignment(costs, device="cpu", threads=1)
        assert np.isclose(host.cost, result.cost, rtol=1e-12)
        again = partial(preflow.linear_assignment, costs, device="cpu", threads=1)
        seconds[host.stats.method] = median_seconds(again, 1, warm_up=False)
        seconds["scipy"] = median_seconds(lambda: linear_sum_assignment(costs), 1, warm_up=False)
        if lapjv is not None:
            wide = costs.astype(np.float64)
            seconds["lapx lapjv"] = median_seconds(lambda: lapjv(wide), 1, warm_up=False)
    stats = result.stats
    return {
        "instance": name,
        "seconds": seconds,
        "rows_left_by_bids": stats.augmentations,
        "costs_looked_at": stats.arc_scans,
    }


def measured_points(n: int) -> dict[str, Any]:
    """Return the time for two sets of `n` points in a square."""
    points, others = np.random.default_rng(1).random((2, n, 2))
    costs = preflow.PointCosts(points, others)
    preflow.linear_assignment(preflow.PointCosts(points[:99], others[:99]), device="cuda")
    start = time.perf_counter()
    result = preflow.linear_assignment(costs, device="cuda")
    seconds = {result.stats.method: time.perf_counter() - start}
    return {
        "instance": f"Euclidean distances of {n} x {n} points of a square",
        "seconds": seconds,
        "rows_left_by_bids": result.stats.augmentations,
        "costs_looked_at": result.stats.arc_scans,
    }


def main() -> None:
    """Measure all instances and write the file."""
    rows = []
    for name, make in matrices():
        rows.append(measured(name, make()))
        print(rows[-1], flush=True)
    for n in POINTS:
        rows.append(measured_points(n))
        print(rows[-1], flush=True)
    write_rows(sys.argv[1], rows, ("numpy", "scipy", "numba", "lapx"))


if __name__ == "__main__":
    main()
