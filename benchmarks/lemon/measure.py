"""Measure LEMON, a C++ library, beside preflow on the suites of minimum-cost flow.

    apt-get install liblemon-dev g++
    python -m benchmarks.lemon.measure --suite mincost --out result.json [INSTANCE ...]

LEMON has no package for Python, so it is no contestant of ``python -m benchmarks mincost``. This script
compiles ``min_cost.cpp``, writes each instance to a file, and runs each method of LEMON in a process of its
own, in turns with methods of preflow on one thread. Reading files is not timed, building a solver is. The
costs that are found must agree.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import preflow
from preflow.io.dimacs import write_dimacs

from ..instances.min_cost import MinCostInstance
from ..records import write_rows
from ..suites.min_cost import MIN_COST_SUITES
from .program import compiled, run_program

METHODS = ("network-simplex", "cost-scaling", "capacity-scaling", "cycle-canceling")


def run_lemon(program: Path, file: Path, method: str, limit: float) -> tuple[float, int] | None:
    """Return the seconds and the cost of one run, None if it takes too long."""
    with suppress(subprocess.TimeoutExpired):
        build, solve, cost = run_program(program, file, method, limit)
        return build + solve, cost
    return None


def run_preflow(instance: MinCostInstance, method: str, limit: float) -> tuple[float, int] | None:
    """Return the seconds and the cost of one solve on one thread, None if it takes too long."""
    start = time.perf_counter()
    result = preflow.min_cost_flow(
        instance.network(),
        method=method,
        threads=1 if method == "auto" or method.startswith("multicore") else None,
        time_limit=limit,
    )
    seconds = time.perf_counter() - start - result.stats.seconds.get("compile", 0.0)
    return (seconds, int(result.cost)) if result.status == "optimal" else None


def measure(
    program: Path,
    name: str,
    instance: MinCostInstance,
    methods: tuple[Sequence[str], Sequence[str]],
    rounds: int,
    limit: float,
) -> dict[str, Any]:
    """Return the median seconds of all contestants on one instance; a slow one runs once.

    `methods` are those of LEMON and those of preflow.
    """
    seconds: dict[str, list[float]] = {}
    costs: dict[str, int] = {}
    racing = [*(f"lemon:{method}" for method in methods[0]), *(f"preflow:{method}" for method in methods[1])]
    for method in methods[1]:  # loads and compiles
        preflow.min_cost_flow(instance.miniature().network(), method=method)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "instance.min"
        write_dimacs(file, instance.network())
        for _ in range(rounds):
            for contestant in list(racing):
                package, _, method = contestant.partition(":")
                if package == "lemon":
                    found = run_lemon(program, file, method, limit)
                else:
                    found = run_preflow(instance, method, limit)
                if found is None:
                    racing.remove(contestant)
                    continue
                seconds.setdefault(contestant, []).append(found[0])
                costs[contestant] = found[1]
                if found[0] * rounds > limit:
                    racing.remove(contestant)
    if len(set(costs.values())) > 1:
        raise SystemExit(f"{name}: the costs differ: {costs}")
    return {
        "instance": name,
        **instance.sizes,
        "cost": next(iter(costs.values()), None),
        "seconds": {each: statistics.median(times) for each, times in seconds.items()},
    }


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description="measure LEMON beside preflow")
    parser.add_argument(
        "patterns", nargs="*", metavar="INSTANCE", help="names, such as 'grid*'; default: all"
    )
    parser.add_argument("--suite", default="mincost", choices=sorted(MIN_COST_SUITES))
    parser.add_argument("--file", action="append", default=[], help="a further DIMACS file")
    parser.add_argument("--method", action="append", default=[], help="of preflow; default: auto")
    parser.add_argument("--lemon", action="append", default=[], choices=METHODS, help="default: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run")
    parser.add_argument("--out", help="write a JSON file")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled("min_cost", Path(folder))
        for case in MIN_COST_SUITES[given.suite].cases(given.file):
            if given.patterns and not any(fnmatchcase(case.name, pattern) for pattern in given.patterns):
                continue
            instance = case.make()
            assert isinstance(instance, MinCostInstance)
            methods = given.lemon or METHODS, given.method or ["auto"]
            row = measure(program, case.name, instance, methods, given.rounds, given.limit)
            rows.append(row)
            times = ", ".join(f"{each} {time:.4g} s" for each, time in row["seconds"].items())
            print(f"{case.name}: {times}", flush=True)
    if given.out:
        write_rows(given.out, rows, ["ortools", "pylmcf"])


if __name__ == "__main__":
    main()
