"""Measure minimum-cost flow and transport on one thread beside the other packages.

Usage: python -m benchmarks.scripts.min_cost_peers FILE [--lemon PROGRAM] [--rounds N] [PATTERN ...]. It
writes FILE after each instance, and keeps the instances that FILE has. PROGRAM is
``benchmarks/lemon/min_cost.cpp``, compiled; without it LEMON is left out, but pylmcf contains its network
simplex. The contestants take turns; the first run of each does not count, has a process of its own, and is
ended after a limit. Medians of wall-clock time are compared, so the machine has to be quiet.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from preflow.generators import netgen, squared_distances, transport_masses, transport_points
from preflow.io.dimacs import write_dimacs

from ..instances.min_cost import MinCostInstance
from ..instances.transport import TransportInstance
from ..lemon.program import run_program
from ..problem import SolverSettings
from ..problems import PROBLEMS
from ..records import Outcome, kept_rows, write_rows
from ..suites.min_cost import MIN_COST_SUITES
from ..suites.transport import TRANSPORT_SUITES
from .own_process import OURS, Run, compare, print_ratios

#: Seconds after which the first run is ended.
TIME_LIMIT = 25.0
#: A contestant whose first run took longer takes part with that run only.
SLOW = 4.0
PEERS = {
    "min_cost_flow": ("ortools", "pylmcf", "networkx"),
    "transport": ("ortools", "pylmcf", "pot", "pot-lazy"),
}
LEMON = ("network-simplex", "cost-scaling")
#: A cost of floats may differ by this part between two packages; POT's simplex has a tolerance of its own.
SPREAD = 1e-3


def cases() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield the problem, the name and the maker of each instance: one for NetworkX, then the suites."""
    yield "min_cost_flow", "netgen-8 1000", lambda: MinCostInstance.from_network(netgen(1000))
    for case in MIN_COST_SUITES["mincost"].cases(()):
        yield "min_cost_flow", case.name, case.make
    for case in TRANSPORT_SUITES["mincost"].cases(()):
        yield "transport", case.name, case.make
    for size in (2000, 4000):
        yield "transport", f"squared distances {size}", partial(_squares, size)
        yield "transport", f"uniform {size}", partial(_uniform, size)


def _squares(size: int) -> TransportInstance:
    return TransportInstance(*squared_distances(transport_points(size)))


def _uniform(size: int) -> TransportInstance:
    return TransportInstance(*transport_masses(size))


def run_lemon(program: str, file: Path, method: str) -> Outcome:
    """Return the outcome of one run of LEMON, whose reading of the file does not count."""
    build, solve, cost = run_program(program, file, method, TIME_LIMIT)
    return Outcome(cost, {"build": build, "solve": solve})


def entrants(problem: str, instance: Any, program: str | None, folder: Path) -> dict[str, Run]:
    """Return what runs each contestant that is installed and fits the instance."""
    found: dict[str, Run] = {}
    for name in (OURS, *PEERS[problem]):
        contestant = PROBLEMS[problem].contestant(name, SolverSettings(1, float("inf")))
        if contestant.missing() is None and contestant.unfit(instance) is None:
            contestant.load(instance)
            found[name] = partial(contestant.run, contestant.prepare(instance))
    if problem == "min_cost_flow" and program is not None:
        file = folder / "network.min"
        write_dimacs(file, instance.network())
        found |= {f"lemon:{method}": partial(run_lemon, program, file, method) for method in LEMON}
    return found


def main() -> None:
    """Measure what is asked for and write the file."""
    parser = argparse.ArgumentParser(description="measure minimum-cost flow and transport beside peers")
    parser.add_argument("file")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--lemon", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_intermixed_args()
    rows = kept_rows(given.file)
    kept = {(row["problem"], row["instance"]) for row in rows}
    chosen = [
        case
        for case in cases()
        if not given.patterns or any(fnmatchcase(f"{case[0]} {case[1]}", each) for each in given.patterns)
    ]
    if not chosen:
        parser.error("no instance has such a name: a PATTERN is like 'transport points*'")
    for problem, name, make in chosen:
        if (problem, name) in kept:
            continue
        instance = make()
        with tempfile.TemporaryDirectory() as folder:
            runs = entrants(problem, instance, given.lemon, Path(folder))
            found = compare(name, runs, given.rounds, (TIME_LIMIT, SLOW), SPREAD)
        rows.append({"problem": problem, "instance": name, **instance.sizes, **found})
        write_rows(given.file, rows, ["ortools", "pylmcf", "POT", "networkx"])
    print_ratios(rows)


if __name__ == "__main__":
    main()
