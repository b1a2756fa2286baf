"""Measure "auto" of minimum cuts beside every method that could win, on instances that no rule was made with.

Usage: python -m benchmarks.scripts.choice FILE [THREADS [PATTERN ...]]. It writes FILE after each instance,
and keeps the instances that FILE has. A pattern selects instances by name.

Rules of `auto` may be fitted to the families of FITTED, with other seeds than those here; those of HELD_OUT
are for the test alone. Each instance comes as generated, with its vertices shuffled, with terminals apart,
and with infinite capacities if it has arcs that no cut contains. After each method has run once, those near
the best one and "auto" take turns, and the least time of each counts: on one thread CPU seconds, else
wall-clock seconds. A method is stopped after PATIENCE times the first run of "auto". The first ratio is of
the time without the build of the residual network, which does not depend on the method, the second one of
the whole call.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from preflow.errors import InvalidInputError
from preflow.generators import family, shuffled, with_infinite_capacities, with_terminals_apart
from preflow.graph.network import MaxFlowProblem
from preflow.maxflow.problem import METHODS

from ..instances.flow import FlowInstance
from ..problem import Contestant, SolverSettings, TimeLimitReached
from ..problems import PROBLEMS
from ..records import Outcome, kept_rows, write_rows

#: Families by which rules were made, with sizes; all seeds but SEEDS are for that.
FITTED = {
    "rmf-wide": ("32x16", "96x12"),
    "rmf-long": ("8x512", "16x700"),
    "rlg-wide": ("1024x32", "4096x64"),
    "rlg-long": ("64x2048",),
    "line-moderate": ("4096x4x32",),
    "ac-dense": ("700", "1500"),
    "grid-2d": ("300x300", "700x700x8"),
    "grid-3d": ("48x48x48", "40x40x40x26"),
    "roads": ("100000", "150000x200"),
    "rmat-flow": ("15", "16x8x500"),
    "superpixels": ("50000", "250000"),
    "surface": ("50000", "250000"),
    "column-surface": ("64x64x32", "128x128x48"),
    "ishikawa": ("80x80x24", "60x60x16x3"),
    "deconvolution": ("70x70x5", "33x33x11"),
    "barabasi-albert": ("50000x5",),
}
#: Families that no rule was made with.
HELD_OUT = {
    "expansion-move": ("200x300x16", "288x384x24"),
    "open-pit": ("40x40x16", "80x60x24x9"),
    "tetrahedra": ("5000", "25000"),
    "power-law-flow": ("50000x10",),
    "mesh": ("256x256",),
    "two-level": ("256x128",),
    "square-mesh": ("300x6",),
    "exp-line": ("4096x4x10",),
    "dexp-line": ("4096x4x10",),
}
SEEDS = (35, 36)
FORMS: Mapping[str, Callable[[MaxFlowProblem], MaxFlowProblem]] = {
    "as generated": lambda problem: problem,
    "shuffled": shuffled,
    "apart": with_terminals_apart,
    "infinite": with_infinite_capacities,
}
#: Wall-clock seconds after which "auto" is stopped, the least such seconds for a method, and the most as a
#: multiple of those of "auto".
LIMIT, LEAST, PATIENCE = 60.0, 2.0, 4.0
#: Methods within this factor of the best one take this number of turns.
NEAR, TURNS = 1.5, 4
#: Facts about a run that are no operation counts.
NO_COUNTS = {"method", "reason", "device", "threads", "active", "per_thread", "attempts"}
AUTO = "auto"


def cases() -> Iterator[tuple[dict[str, Any], Callable[[], MaxFlowProblem]]]:
    """Yield what a row says of an instance, and a function that makes it."""
    for group, members in (("fitted", FITTED), ("held out", HELD_OUT)):
        for name, sizes in members.items():
            for size, seed in zip(sizes, SEEDS, strict=False):
                for form, change in FORMS.items():
                    row = {"instance": f"{name} {size} {form}", "family": name, "families": group}
                    yield (
                        row | {"form": form, "seed": seed},
                        lambda name=name, size=size, seed=seed, change=change: change(  # type: ignore[misc]
                            family(name).generate(size, seed=seed)
                        ),
                    )


def candidates(threads: int) -> list[str]:
    """Return the methods that could win: those of papers are for comparisons, but for those on threads."""
    return [
        method.name
        for method in METHODS
        if method.device == "cpu"
        and (not method.module.startswith("papers.") or (threads > 1 and method.parallel))
    ]


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Collect garbage once; collections inside look only at objects that were made there."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@frozen_objects()
def row_of(instance: FlowInstance, threads: int) -> dict[str, Any]:
    """Return the times of "auto" and of the methods, counts of "auto" and of the best one, and ratios."""

    def contestant(method: str, limit: float) -> Contestant:
        return PROBLEMS["min_cut"].contestant(f"preflow:{method}", SolverSettings(threads, limit))

    everyone = {AUTO: contestant(AUTO, LIMIT)}
    prepared = everyone[AUTO].prepare(instance)
    runs: dict[str, list[Outcome]] = {}

    def take_turn(method: str) -> None:
        gc.collect()
        with suppress(TimeLimitReached, InvalidInputError):  # it was stopped, or cannot solve the instance
            outcome = everyone[method].run(prepared)
            runs.setdefault(method, []).append(outcome)

    def least(method: str, *, build: bool) -> float:
        return min(each.total - (0.0 if build else each.seconds["build"]) for each in runs[method])

    everyone[AUTO].load(instance)
    begin = time.monotonic()
    take_turn(AUTO)
    limit = min(max(PATIENCE * (time.monotonic() - begin), LEAST), LIMIT)
    for method in candidates(threads):
        everyone[method] = contestant(method, limit)
        everyone[method].load(instance)
        take_turn(method)
    solving = {method: least(method, build=False) for method in runs}
    rivals = [method for method in runs if method != AUTO]
    most = NEAR * min(solving[method] for method in rivals or runs)
    for method in TURNS * [AUTO, *(method for method in rivals if solving[method] <= most)]:
        take_turn(method)
    values = {each.value for outcomes in runs.values() for each in outcomes}
    if max(values) - min(values) > 1e-9 * max(values):
        raise ArithmeticError(f"the values differ: {values}")
    found: dict[str, Any] = {"threads": threads, **instance.sizes}
    for title, build in (("", False), (" of the call", True)):
        seconds = {method: least(method, build=build) for method in runs}
        best = min(rivals, key=seconds.__getitem__, default=AUTO)
        ratio = round(seconds[AUTO] / seconds[best], 3) if AUTO in runs else None
        shown = {method: float(f"{each:.4g}") for method, each in seconds.items()}
        found |= {f"best{title}": best, f"ratio{title}": ratio, f"seconds{title}": shown}
    last = {method: outcomes[-1].detail for method, outcomes in runs.items()}
    counts = {
        method: {key: count for key, count in last[method].items() if key not in NO_COUNTS and count}
        for method in sorted({AUTO, found["best"]} & last.keys())
    }
    chosen = last.get(AUTO, {})
    attempts = [each["method"] for each in chosen.get("attempts", ())]
    return found | {"auto chose": chosen.get("method"), "attempts": attempts, "counts": counts}


def main() -> None:
    """Measure all instances and write the file."""
    path, *rest = sys.argv[1:]
    threads, patterns = int(rest[0]) if rest else 1, rest[1:] or ["*"]
    if threads == 1:
        time.perf_counter = time.process_time  # every phase is timed by this clock
    rows = kept_rows(path)
    kept = {(row["instance"], row["threads"]) for row in rows}
    for row, make in cases():
        name = row["instance"]
        if (name, threads) in kept or not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        instance = FlowInstance.from_problem(make())
        if row["form"] == "infinite" and not np.isinf(instance.one_way().capacity).any():
            continue
        rows.append(row | row_of(instance, threads))
        shown = ("instance", "families", "auto chose", "best", "ratio", "ratio of the call", "seconds")
        print(*(rows[-1][key] for key in shown), flush=True)
        write_rows(path, rows)
    for group in ("fitted", "held out"):
        ratios = [
            row["ratio"] or np.inf for row in rows if row["families"] == group and row["threads"] == threads
        ]
        if ratios:
            late = sum(ratio > 1.25 for ratio in ratios)
            print(f"{group}: median {np.median(ratios):.2f}, worst {max(ratios):.2f}, {late} above 1.25")


if __name__ == "__main__":
    main()
