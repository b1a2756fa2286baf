"""Measure how long method="auto" of maximum flow takes to choose, beside the solve, on one thread.

Usage: python benchmarks/flow_features.py FILE [SEED [PATTERN ...]]. It writes FILE. Times are CPU times, and
those of the decisions are taken inside calls of max_flow. Shares are of the solve, and of the whole call.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from flow_auto import cases
from records import write_rows

import preflow
from preflow.maxflow import policy

#: The functions of :mod:`preflow.maxflow.policy` that decide.
DECISIONS = ("choose", "worth_a_contraction", "worth_a_search_for_a_grid")
#: Calls of which the median counts.
CALLS = 7


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
