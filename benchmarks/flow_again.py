"""Measure solves from the last flow against solves from scratch, on one thread, in CPU time.

Usage: python benchmarks/flow_again.py FILE [NAME ...]. It writes FILE. In every round the capacities of 1% of
the arcs are multiplied by factors in [0.5, 1.5]. Then `MaxFlow.solve` and `max_flow` take turns; the first
round, which plants the search forests or learns what a solve takes, is reported apart. Scratch includes
building the network's residual network, and both include the flow of all arcs.
"""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import Any

import numpy as np
from records import write_rows

import preflow
from preflow.generators import family, grid_2d
from preflow.graph.network import MaxFlowProblem

ROUNDS = 7
SHARE = 0.01
FAMILIES = {
    "rmf-wide": "64x16",
    "rmf-long": "16x1024",
    "exp-line": "4096x4x32",
    "rlg-wide": "1024x32",
    "roads": "200000",
    "superpixels": "200000",
    "rmat-flow": "17",
}


def instance(name: str) -> MaxFlowProblem:
    """Return the instance with this name."""
    if name == "grid":
        return grid_2d(1000, 1000, seed=1)
    return family(name).generate(FAMILIES[name], seed=1)


def measure(name: str) -> dict[str, Any]:
    """Return CPU seconds of both kinds of solves, and check that they agree."""
    problem = instance(name)
    solver = preflow.MaxFlow(problem.network, problem.source, problem.sink)
    solver.solve(threads=1)
    rng = np.random.default_rng(2)
    unmeasured = preflow.MaxFlow(problem.network, problem.source, problem.sink)  # loads kernels
    for _ in range(2):
        unmeasured.solve(threads=1)
        changed = np.arange(0, unmeasured.network.num_arcs, int(1 / SHARE))
        unmeasured.set_capacity(changed, problem.network.capacity[changed] // 2)
    unmeasured.solve(threads=1)
    again, scratch, methods = [], [], []
    for _ in range(ROUNDS + 1):
        network = solver.network
        arcs = rng.choice(network.num_arcs, max(1, int(SHARE * network.num_arcs)), replace=False)
        values = (network.capacity[arcs] * rng.uniform(0.5, 1.5, len(arcs))).astype(np.int64)
        begin = time.process_time()
        solver.set_capacity(arcs, values)
        warm = solver.solve(threads=1)
        warm.flow  # noqa: B018
        middle = time.process_time()
        cold = preflow.max_flow(solver.network, problem.source, problem.sink, device="cpu", threads=1)
        cold.flow  # noqa: B018
        end = time.process_time()
        assert warm.value == cold.value
        again.append(middle - begin)
        scratch.append(end - middle)
        methods.append(warm.stats.method)
    warm.verify()
    ratios = [a / s for a, s in zip(again[1:], scratch[1:], strict=True)]
    row: dict[str, Any] = {
        "name": f"{name} {FAMILIES.get(name, '1000x1000')}",
        "scratch": median(scratch[1:]),
        "again": median(again[1:]),
        "first_ratio": again[0] / scratch[0],
        "ratios": ratios,
        "methods": methods,
    }
    print(
        f"{row['name']:24} scratch {1e3 * median(scratch[1:]):6.0f} ms ({cold.stats.method})"
        f"  again {1e3 * median(again[1:]):6.0f} ms ({methods[-1]})"
        f"  again/scratch {median(ratios):.2f}, first {row['first_ratio']:.2f}",
        flush=True,
    )
    return row


if __name__ == "__main__":
    names = sys.argv[2:] or ["grid", *FAMILIES]
    write_rows(sys.argv[1], [measure(name) for name in names], ("numpy", "numba"))
