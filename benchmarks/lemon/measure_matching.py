"""Measure LEMON, a C++ library, beside preflow on the suites of matching in general graphs.

    apt-get install liblemon-dev g++
    python -m benchmarks.lemon.measure_matching --suite general --out result.json [INSTANCE ...]

LEMON has no package for Python, so it is no contestant of ``python -m benchmarks general``. This script
compiles ``matching.cpp``, writes each instance to a file, and runs LEMON in a process of its own, in turns
with preflow on one thread. Reading files is not timed. It prints the seconds to solve, and the ratios of
preflow to LEMON for solving alone and for building and solving. The values that are found must agree.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import preflow

from ..instances.general import GeneralInstance
from ..records import write_rows
from ..suites.general import GENERAL_SUITES
from .program import compiled, run_program


def write_instance(file: Path, instance: GeneralInstance) -> str:
    """Write an instance for the program, to be maximised; return the name of its method."""
    weight = np.ones(len(instance.tail), dtype=np.int64) if instance.weight is None else instance.weight
    if instance.perfect:
        weight = int(weight.max()) - weight
    table = np.column_stack([instance.tail.astype(np.int64), instance.head.astype(np.int64), weight])
    np.savetxt(file, table, fmt="%d", header=f"{instance.num_vertices} {len(table)}", comments="")
    return "pairs" if instance.weight is None else "perfect" if instance.perfect else "weighted"


def run_preflow(instance: GeneralInstance) -> tuple[float, float, int]:
    """Return the seconds to build and recover, the seconds to solve, and the value."""
    graph = instance.graph()
    start = time.perf_counter()
    result = preflow.matching(graph, maximize=not instance.perfect, perfect=instance.perfect, threads=1)
    seconds = time.perf_counter() - start - result.stats.seconds.get("compile", 0.0)
    solve = result.stats.seconds["solve"]
    return seconds - solve, solve, int(result.weight)


def measure(program: Path, name: str, instance: GeneralInstance, rounds: int, limit: float) -> dict[str, Any]:
    """Return the median seconds of both on one instance; LEMON runs once where it is slow."""
    run_preflow(instance.miniature())
    times: dict[str, list[tuple[float, float]]] = {"lemon": [], "preflow": []}
    values = set()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "instance.txt"
        method = write_instance(file, instance)
        slow = False
        for _ in range(rounds):
            if not slow:
                slow = True
                with suppress(subprocess.TimeoutExpired):
                    found = run_program(program, file, method, limit)
                    slow = sum(found[:2]) * rounds > limit
                    times["lemon"].append(found[:2])
                    pairs = instance.num_vertices // 2
                    most = 0 if instance.weight is None else int(instance.weight.max())
                    values.add(pairs * most - found[2] if instance.perfect else found[2])
            mine = run_preflow(instance)
            times["preflow"].append(mine[:2])
            values.add(mine[2])
    if len(values) > 1:
        raise SystemExit(f"{name}: the values differ: {values}")
    return {
        "instance": name,
        **instance.sizes,
        "value": values.pop(),
        "solve": {each: statistics.median(s for _, s in runs) for each, runs in times.items() if runs},
        "total": {each: statistics.median(b + s for b, s in runs) for each, runs in times.items() if runs},
    }


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description="measure LEMON beside preflow")
    parser.add_argument(
        "patterns", nargs="*", metavar="INSTANCE", help="names, such as 'random*'; default: all"
    )
    parser.add_argument("--suite", action="append", choices=sorted(GENERAL_SUITES), help="may be repeated")
    parser.add_argument("--program", type=Path, help="matching.cpp, compiled; default: compile it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run of LEMON")
    parser.add_argument("--out", type=Path, help="file for the results as JSON")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = arguments.program or compiled("matching", Path(folder))
        suites = [GENERAL_SUITES[name] for name in arguments.suite or ("general",)]
        for case in chain.from_iterable(suite.cases(()) for suite in suites):
            if arguments.patterns and not any(fnmatchcase(case.name, each) for each in arguments.patterns):
                continue
            instance = case.make()
            assert isinstance(instance, GeneralInstance)
            row = measure(program, case.name, instance, arguments.rounds, arguments.limit)
            rows.append(row)
            solve, total = row["solve"], row["total"]
            if "lemon" in solve:
                ratio = f"{solve['preflow'] / solve['lemon']:.2f} {total['preflow'] / total['lemon']:.2f}"
            else:
                ratio = "LEMON took too long"
            print(
                f"{case.name:28} {solve['preflow']:.4f} {solve.get('lemon', float('nan')):.4f} {ratio}",
                flush=True,
            )
            if arguments.out:
                write_rows(arguments.out, rows, [])


if __name__ == "__main__":
    main()
