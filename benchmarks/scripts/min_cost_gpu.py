"""Measure minimum-cost flow and transport on a GPU, the former beside methods on one CPU thread.

Usage: python -m benchmarks.scripts.min_cost_gpu FILE [PROGRAM | transport]. It writes FILE and needs CuPy.
PROGRAM is ``benchmarks/lemon/min_cost.cpp``, compiled; with ``transport``, networks are left out. Costs of
transports lie in the memory of the GPU.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import cupy
import numpy as np

import preflow
from preflow.cuda import runtime
from preflow.generators.min_cost import goto, netgen
from preflow.graph.device.costs import DeviceCosts
from preflow.io.dimacs import write_dimacs
from preflow.solving.run import Control
from preflow.transportation.cuda_transport import CudaTransportOptions, solve
from preflow.transportation.solution import TransportFound

from ..lemon.program import run_program
from ..records import write_rows
from .gpu_time import median_seconds

REPEATS = 5
#: Most seconds of a run of LEMON.
PATIENCE = 60
NETWORKS: tuple[tuple[str, Callable[[], preflow.CostNetwork]], ...] = (
    ("NETGEN-8, 16,384 vertices", lambda: netgen(16_384)),
    ("GOTO-8, 16,384 vertices", lambda: goto(16_384)),
    ("NETGEN-8, 131,072 vertices", lambda: netgen(131_072)),
    ("GOTO-8, 131,072 vertices", lambda: goto(131_072)),
)


def lemon_seconds(program: str, network: preflow.CostNetwork, cost: int | float) -> dict[str, float]:
    """Return the time of each method of LEMON that ends in time."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "network.min")
        write_dimacs(file, network)
        for method in ("network-simplex", "cost-scaling"):
            with suppress(subprocess.TimeoutExpired):
                build, run, total = run_program(program, file, method, PATIENCE)
                assert total == cost
                found[f"lemon-{method}"] = build + run
    return found


def networks(program: str | None) -> Iterator[dict[str, Any]]:
    """Yield the times of networks, whose flows are verified."""
    for name, make in NETWORKS:
        network = make()
        result = preflow.min_cost_flow(network, method="cuda-cost-scaling")
        result.verify()
        solves: list[float] = []

        def again(network: preflow.CostNetwork = network, solves: list[float] = solves) -> None:
            solves.append(preflow.min_cost_flow(network, method="cuda-cost-scaling").stats.seconds["solve"])

        seconds = {"cuda-cost-scaling": median_seconds(again, REPEATS)}
        seconds["cuda-cost-scaling, solve only"] = float(np.median(solves[1:]))
        start = time.perf_counter()
        alone = preflow.min_cost_flow(network, method="serial-cost-scaling")
        seconds["serial-cost-scaling, one run"] = time.perf_counter() - start
        assert alone.cost == result.cost
        if program is not None:
            seconds |= lemon_seconds(program, network, result.cost)
        yield {"problem": name, "arcs": network.num_arcs, "cost": result.cost, "seconds": seconds}


def masses(rng: np.random.Generator, items: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return masses of rows from 1 to 100, and masses of columns with the same sums."""
    a = rng.integers(1, 101, (items, n))
    b = np.stack([rng.multinomial(each.sum() - n, np.full(n, 1 / n)) + 1 for each in a])
    return a, b


def squared(x: Any, y: Any, scale: float) -> Any:
    """Return squared distances as integers, on the GPU."""
    x, y = cupy.asarray(x), cupy.asarray(y)
    found = cupy.zeros((*x.shape[:2], y.shape[1]))
    for axis in range(x.shape[2]):
        found += (x[:, :, None, axis] - y[:, None, :, axis]) ** 2
    return cupy.rint(found * scale).astype(cupy.int64)


def check(cost: Any, a: np.ndarray, b: np.ndarray, found: TransportFound) -> None:
    """Check a plan and its prices on all pairs."""
    assert found.ending == "optimal"
    n, m = cost.shape
    assert (np.bincount(found.row, found.mass, n) == a).all()
    assert (np.bincount(found.column, found.mass, m) == b).all()
    assert len(found.mass) < n + m
    reduced = cost + cupy.asarray(found.u)[:, None] - cupy.asarray(found.v)
    tolerance = 4 * found.rounding
    assert float(reduced.min()) >= -tolerance
    assert float(abs(reduced[found.row, found.column]).max()) <= tolerance


def transports() -> Iterator[dict[str, Any]]:
    """Yield the times of transports, whose plans are checked."""
    rng = np.random.default_rng(0)

    def uniform(items: int, n: int) -> Any:
        return cupy.asarray(rng.integers(0, 10**6, (items, n, n)))

    def floats(items: int, n: int) -> Any:
        return cupy.asarray(rng.random((items, n, n), dtype=np.float32))

    def doubles(items: int, n: int) -> Any:
        return cupy.asarray(rng.random((items, n, n)))

    def points(items: int, n: int) -> Any:
        return squared(rng.random((items, n, 2)), rng.random((items, n, 2)), 1e5 if n <= 5000 else 3e4)

    def clouds(items: int, n: int) -> Any:
        x, y = rng.normal(size=(2, items, n, 2))
        return squared(x, 1.5 * y + 0.7, 1e5 if n <= 5000 else 3e4)

    for name, make, items, n in (
        ("uniform integers below 10**6", uniform, 64, 512),
        ("squared distances in a square", points, 64, 512),
        ("squared distances of normal clouds", clouds, 64, 512),
        ("uniform float32", floats, 64, 512),
        ("uniform float64", doubles, 64, 512),
        ("uniform integers below 10**6", uniform, 1, 5000),
        ("uniform float32", floats, 1, 5000),
        ("squared distances in a square", points, 1, 5000),
        ("squared distances of normal clouds", clouds, 1, 5000),
        ("uniform float32", floats, 1, 10_000),
        ("squared distances in a square", points, 1, 10_000),
        ("squared distances of normal clouds", clouds, 1, 10_000),
    ):
        values = make(items, n)
        a, b = masses(rng, items, n)
        device: Any = runtime.find_device()
        costs = DeviceCosts(values, device=device, restore=None)
        options = CudaTransportOptions()
        found = solve(costs, a, b, options, Control())
        for item in range(items):
            check(values[item], a[item], b[item], found[item])
        seconds = {
            "cuda-transport": median_seconds(partial(solve, costs, a, b, options, Control()), REPEATS),
            "whole call": median_seconds(
                partial(preflow.transport, values, a, b, method="cuda-transport"), REPEATS
            ),
        }
        yield {"problem": name, "items": items, "rows": n, "seconds": seconds}
        del values, costs


def main() -> None:
    """Measure all and write the rows."""
    rows = []
    program = sys.argv[2] if len(sys.argv) > 2 else None
    for row in chain(transports(), [] if program == "transport" else networks(program)):
        rows.append(row)
        print(row, flush=True)
    write_rows(sys.argv[1], rows, ["preflow", "numpy", "scipy"])


if __name__ == "__main__":
    main()
