"""Measure minimum cuts on one thread beside the other packages, in CPU time.

Usage: python -m benchmarks.scripts.flow_peers FILE [ROUNDS [PATTERN ...]]. It writes FILE after each
instance, and keeps the instances that FILE has. The contestants take turns, the first run does not count, and
medians are compared. They are of CPU time, because other programs may share the cores; each contestant uses
one thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial

from preflow.generators import family, grid_2d, grid_3d
from preflow.graph.network import MaxFlowProblem

from ..instances.flow import FlowInstance
from ..problem import SolverSettings
from ..problems import PROBLEMS
from ..records import kept_rows, write_rows
from .own_process import OURS, compare, print_ratios

#: Seconds after which the first run is ended. It has a process of its own for that.
TIME_LIMIT = 30.0
#: A contestant whose first run took more CPU seconds takes part with that run only.
SLOW = 8.0
PEERS = ("ortools", "thinhpf", "pymaxflow", "igraph", "scipy")
FAMILIES = (
    ("rmf-wide", "64x16"),
    ("rmf-wide", "136x34"),
    ("rmf-long", "16x1024"),
    ("rlg-wide", "4096x64"),
    ("rlg-wide", "32768x64"),
    ("rlg-long", "64x8192"),
    ("line-moderate", "16384x4x128"),
    ("ac-dense", "2000"),
    ("roads", "200000"),
    ("rmat-flow", "17"),
    ("superpixels", "200000"),
    ("surface", "200000"),
    ("column-surface", "128x128x48"),
    ("ishikawa", "160x160x24"),
    ("deconvolution", "33x33x11"),
    ("expansion-move", "288x384x16"),
    ("tetrahedra", "40000"),
    ("barabasi-albert", "50000x5"),
)
#: A seed that no rule of `auto` was made with.
SEED = 35


def cases() -> dict[str, Callable[[], MaxFlowProblem]]:
    """Return the instances by name."""
    return {
        **{f"{name} {size}": partial(family(name).generate, size, seed=SEED) for name, size in FAMILIES},
        "grid 1000x1000": partial(grid_2d, 1000, 1000, seed=SEED),
        "grid 100^3": partial(grid_3d, 100, 100, 100, seed=SEED),
        "grid 2000x2000": partial(grid_2d, 2000, 2000, seed=SEED),
        "grid 160^3": partial(grid_3d, 160, 160, 160, seed=SEED),
    }


def main() -> None:
    """Measure all instances and write the file."""
    # Every phase, of preflow and of the peers, is timed by this clock.
    time.perf_counter = time.process_time
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    patterns = sys.argv[3:]
    settings = SolverSettings(1, float("inf"))
    contestants = [PROBLEMS["min_cut"].contestant(name, settings) for name in (OURS, *PEERS)]
    contestants = [each for each in contestants if each.missing() is None]
    rows = kept_rows(sys.argv[1])
    kept = {row["instance"] for row in rows}
    for name, make in cases().items():
        if name in kept or (patterns and not any(fnmatchcase(name, pattern) for pattern in patterns)):
            continue
        instance = FlowInstance.from_problem(make())
        runs = {}
        for each in contestants:
            if each.unfit(instance) is None:
                each.load(instance)
                runs[each.name] = partial(each.run, each.prepare(instance))
        found = compare(name, runs, rounds, (TIME_LIMIT, SLOW), 1e-9)
        rows.append({"instance": name, "seed": SEED, **instance.sizes, **found})
        write_rows(sys.argv[1], rows, [*PEERS[:2], "PyMaxflow", "igraph"])
    print_ratios(rows)


if __name__ == "__main__":
    main()
