"""Measure whole calls of min_cut with method="auto" on the CPU, on 1, 4 and 16 threads.

Usage: python -m benchmarks.scripts.flow_threads FILE [SEED [SECONDS]]. It writes FILE. After SECONDS no
further network is measured. The numbers of threads take turns; the first round does not count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import preflow
from preflow.generators import family, grid_2d, grid_3d
from preflow.graph.network import MaxFlowProblem
from preflow.solving.dispatch import usable_cpus

from ..records import write_rows

THREADS = (1, 4, 16)
#: The most rounds and the fewest; after ENOUGH seconds there are no further ones.
MOST, LEAST, ENOUGH = 8, 4, 7.0
FAMILIES = (
    ("rlg-wide", "4096x64"),
    ("superpixels", "200000"),
    ("roads", "200000"),
    ("rlg-long", "64x8192"),
    ("rmf-wide", "64x16"),
    ("rmf-wide", "136x34"),
    ("rmf-long", "16x1024"),
    ("rmat-flow", "17"),
)
GRIDS = ((1000, 1000), (100, 100, 100), (2000, 2000), (160, 160, 160))
LAST = (("rmf-wide", "136x68"), ("rlg-wide", "32768x64"))


def networks(seed: int) -> dict[str, Callable[[], MaxFlowProblem]]:
    """Return the networks by name."""
    found: dict[str, Callable[[], MaxFlowProblem]] = {}
    for name, size in FAMILIES:
        found[f"{name} {size}"] = partial(family(name).generate, size, seed=seed)
    for shape in GRIDS:
        make = grid_2d if len(shape) == 2 else grid_3d
        found["x".join(map(str, shape))] = partial(make, *shape, seed=seed)
    for name, size in LAST:
        found[f"{name} {size}"] = partial(family(name).generate, size, seed=seed)
    return found


def measured(problem: MaxFlowProblem) -> dict[str, Any]:
    """Return medians of whole calls and of their solves, and the methods, by number of threads."""
    threads = [each for each in THREADS if each <= usable_cpus()]
    calls: dict[int, list[float]] = {each: [] for each in threads}
    solves: dict[int, list[float]] = {each: [] for each in threads}
    methods, values = {}, set()
    start = time.perf_counter()
    for round_ in range(MOST):
        for each in threads:
            begin = time.perf_counter()
            result = preflow.min_cut(problem, device="cpu", threads=each)
            taken = time.perf_counter() - begin
            values.add(result.value)
            methods[each] = result.stats.method
            if round_ > 0:
                calls[each].append(taken)
                solves[each].append(result.stats.seconds["solve"])
        if round_ + 1 >= LEAST and time.perf_counter() - start > ENOUGH:
            break
    assert len(values) == 1
    return {
        "methods": methods,
        "call": {each: median(taken) for each, taken in calls.items()},
        "solve": {each: median(taken) for each, taken in solves.items()},
    }


def main() -> None:
    """Measure all networks and write the file."""
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 21
    end = time.perf_counter() + (float(sys.argv[3]) if len(sys.argv) > 3 else 1e9)
    rows = []
    for name, make in networks(seed).items():
        if time.perf_counter() > end:
            break
        problem = make()
        rows.append({"instance": name, "seed": seed, "arcs": problem.network.num_arcs, **measured(problem)})
        shown = {each: round(1e3 * taken, 2) for each, taken in rows[-1]["call"].items()}
        print(name, shown, rows[-1]["methods"], flush=True)
        write_rows(sys.argv[1], rows, ("numpy",))


if __name__ == "__main__":
    main()
