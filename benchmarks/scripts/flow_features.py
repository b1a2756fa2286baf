"""Measure how long method="auto" of maximum flow takes to choose, beside the solve, on one thread.

Usage: python -m benchmarks.scripts.flow_features FILE [SEED [PATTERN ...]]. It writes FILE. Times are CPU
times, and those of the decisions are taken inside calls of max_flow. Shares are of the solve, and of the
whole call.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np

import preflow
from benchmarks.instances.traps import dead_end, leaking_path, long_path
from preflow.generators import family
from preflow.graph.network import MaxFlowProblem
from preflow.maxflow import policy

from ..records import write_rows
from ..suites.flow import PHOTOGRAPHS, photograph_cut
from .choice import FITTED, HELD_OUT

#: The functions of :mod:`preflow.maxflow.policy` that decide.
DECISIONS = ("choose", *(name for name in vars(policy) if name.startswith("worth_")))
#: Calls of which the median counts.
CALLS = 7


def cases(seed: int) -> dict[str, Callable[[], MaxFlowProblem]]:
    """Return the networks by name."""
    made: dict[str, Callable[[], MaxFlowProblem]] = {
        f"{name} {size}": partial(family(name).generate, size, seed=seed)
        for name, sizes in {**FITTED, **HELD_OUT}.items()
        for size in sizes
    }
    made |= {f"{name} {c}n": partial(photograph_cut, name, c) for name in PHOTOGRAPHS for c in (4, 8)}
    made |= {
        "long path 200000": partial(long_path, 200_000),
        "leaking path 20000": partial(leaking_path, 20_000),
        "dead end 20000": partial(dead_end, 20_000),
    }
    return made


@contextmanager
def timed_choices(spent: dict[str, float]) -> Iterator[None]:
    """Add up the time of the decisions of calls in this context."""

    def timed(name: str, decide: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            begin = time.process_time()
            decision = decide(*arguments, **keywords)
            spent[name] += time.process_time() - begin
            return decision

        return run

    decisions: dict[str, Callable[..., Any]] = {name: getattr(policy, name) for name in spent}
    for name, decide in decisions.items():
        setattr(policy, name, timed(name, decide))
    try:
        yield
    finally:
        for name, decide in decisions.items():
            setattr(policy, name, decide)


def main() -> None:
    """Measure all networks and write the file."""
    # The phases of a call are timed by this clock, too.
    time.perf_counter = time.process_time
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    patterns = sys.argv[3:] or ["*"]
    rows: list[dict[str, Any]] = []
    for name, make in cases(seed).items():
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        problem = make()
        rounds = []
        for _ in range(CALLS):
            spent = dict.fromkeys(DECISIONS, 0.0)
            with timed_choices(spent):
                begin = time.process_time()
                result = preflow.max_flow(problem, device="cpu", threads=1)
                whole = time.process_time() - begin
            rounds.append(spent | {"solve": result.stats.seconds["solve"], "call": whole})
        seconds = {phase: statistics.median(each[phase] for each in rounds) for phase in rounds[0]}
        share = sum(seconds[name] for name in DECISIONS) / seconds["solve"]
        rows.append(
            {
                "instance": name,
                "seed": seed,
                "vertices": problem.network.num_vertices,
                "arcs": problem.network.num_arcs,
                "method": result.stats.method,
                "seconds": seconds,
                "share": share,
            }
        )
        times = " ".join(f"{phase} {1e6 * spent:10.0f}" for phase, spent in seconds.items())
        of_call = share * seconds["solve"] / seconds["call"]
        print(f"{name:28} {result.stats.method:24} {times} µs {share:7.2%} {of_call:7.2%}", flush=True)
        write_rows(sys.argv[1], rows, ())
    shares = np.array([row["share"] for row in rows])
    late = [row["instance"] for row in rows if row["share"] > 0.02]
    print(f"share of a solve: median {np.median(shares):.2%}, worst {shares.max():.2%}; above 2%: {late}")


if __name__ == "__main__":
    main()
