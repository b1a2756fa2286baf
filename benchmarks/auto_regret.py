"""Measure what method="auto" loses to the best exact method, in every problem but maximum flow.

Usage: python benchmarks/auto_regret.py FILE [SEED [SECONDS [PROBLEM ...]]]. It writes FILE. A problem
whose instances took SECONDS gets no further one. ``flow_auto.py`` does the same for maximum flow.

The regret of auto is its time over that of the best method, with as many threads or with one. Times are those
of whole calls, without reading or generating the instance. A method may take at most SLOWEST times as long as
auto: a slower one cannot change the regret. On a GPU the arrays are there already, and all methods take part.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from records import write_rows

import preflow
from preflow.bench.assignment_instance import AssignmentInstance
from preflow.bench.general_instance import GeneralInstance
from preflow.bench.grid_instance import GridInstance
from preflow.bench.matching_instance import MatchingInstance
from preflow.bench.min_cost_instance import MinCostInstance
from preflow.bench.problems import DOORS
from preflow.bench.transport_instance import TransportInstance
from preflow.cuda.runtime import device_if_any
from preflow.errors import PreflowError
from preflow.generators import noisy_grid, spiral, vessel_tree
from preflow.generators.bipartite import erdos_renyi, hidden_diagonal, power_law, rmat, road_like
from preflow.generators.costs import (
    geometric_costs,
    low_rank_costs,
    nearest_costs,
    neighbor_costs,
    uniform_costs,
    uniform_integer_costs,
)
from preflow.generators.min_cost import (
    cost_grid,
    goto,
    gridgen,
    netgen,
    phase_grid,
    squared_distances,
    transport_masses,
    transport_points,
)
from preflow.generators.triangulations import delaunay, hugetrace_like, triangulation_dual
from preflow.generators.undirected import (
    complete_points,
    line_graph,
    odd_cycle_chain,
    random_graph,
    triangulated_points,
    undirected,
)
from preflow.graph.bipartite import BipartiteGraph
from preflow.graph.grid import GridNetwork
from preflow.graph.point_costs import PointCosts
from preflow.solving.dispatch import usable_cpus

#: A method that takes this many times as long as auto is stopped.
SLOWEST = 2.0
#: Runs of a call, of which the fastest counts; one run where calls take longer than LONG seconds.
REPEATS, LONG = 4, 1.5
#: The least time limit in seconds: shorter ones would stop methods that are as fast as auto.
LEAST_LIMIT = 0.1

#: The regret that is accepted.
ACCEPTED = 1.15

Make = Callable[[], Any]
Row = dict[str, Any]


def each(wrap: Callable[[Any], Any], made: Mapping[str, Make]) -> dict[str, Make]:
    """Return functions that make the same instances in another form."""

    def wrapped(make: Make) -> Any:
        return wrap(make())

    return {name: partial(wrapped, make) for name, make in made.items()}


class Rival(NamedTuple):
    """How a call chooses its method."""

    method: str
    device: str
    threads: int | None


class Measured(NamedTuple):
    """The seconds of a call, and the method that ran."""

    seconds: float
    method: str


def grids(seed: int) -> dict[str, Make]:
    """Return grids by name."""
    made: dict[str, Callable[[], GridNetwork]] = {
        f"image {side}x{side} {neighbours}n": partial(
            noisy_grid, (side, side), connectivity=neighbours, seed=seed
        )
        for side in (150, 300, 700, 1400)
        for neighbours in (4, 8)
    }
    made |= {
        f"volume {side}^3 {neighbours}n": partial(
            noisy_grid, (side,) * 3, connectivity=neighbours, smoothing=4.0, seed=seed
        )
        for side, neighbours in ((40, 6), (80, 6), (130, 6), (60, 18), (50, 26))
    }
    made |= {
        f"rough volume 40^3 {neighbours}n": partial(
            noisy_grid, (40,) * 3, connectivity=neighbours, smoothing=1.0, seed=seed
        )
        for neighbours in (6, 18, 26)
    }
    made |= {
        "spiral 350x350": partial(spiral, 350),
        "vessel tree 80^3": partial(vessel_tree, 80, seed=seed),
    }
    return each(GridInstance.from_network, made)


def bipartite_graphs(seed: int) -> dict[str, Make]:
    """Return sparse matrices by name."""
    made: dict[str, Callable[[], BipartiteGraph]] = {
        "erdos-renyi 2^14 degree 3": partial(erdos_renyi, 1 << 14, 3, seed=seed),
        "erdos-renyi 2^18 degree 3": partial(erdos_renyi, 1 << 18, 3, seed=seed),
        "erdos-renyi 2^19 degree 6": partial(erdos_renyi, 1 << 19, 6, seed=seed),
        "delaunay 2^14": partial(delaunay, 1 << 14, seed=seed),
        "delaunay 2^19": partial(delaunay, 1 << 19, seed=seed),
        "rmat 15": partial(rmat, 15, 16, seed=seed),
        "rmat 18": partial(rmat, 18, 16, seed=seed),
        "rmat 18 directed": partial(rmat, 18, 8, symmetric=False, seed=seed),
        "power-law 200000": partial(power_law, 200_000, 5, seed=seed),
        "road-like 400000": partial(road_like, 400_000, seed=seed),
        "triangulation-dual 400000": partial(triangulation_dual, 400_000, seed=seed),
        "hugetrace-like 400000": partial(hugetrace_like, 400_000, seed=seed),
        "hidden-diagonal 100000x3": partial(hidden_diagonal, 100_000, 3, seed=seed),
    }
    return each(lambda graph: MatchingInstance.from_graph(graph).matrix(), made)


def costs(seed: int) -> dict[str, Make]:
    """Return costs of assignments by name."""
    rng = np.random.default_rng(seed)
    made: dict[str, Make] = {}
    for n in (150, 600, 1500, 3000):
        made |= {
            f"integer {n}": partial(uniform_integer_costs, n, seed=seed),
            f"integer to 100 {n}": partial(uniform_integer_costs, n, largest=100, seed=seed),
            f"uniform {n}": partial(uniform_costs, n, seed=seed),
            f"geometric {n}": partial(geometric_costs, n, seed=seed),
            f"low-rank {n}": partial(low_rank_costs, n, seed=seed),
        }
    for n in (3000, 40_000):
        made |= {
            f"neighbors to 100 {n}": partial(neighbor_costs, n, largest=100, seed=seed),
            f"neighbors to 499999 {n}": partial(neighbor_costs, n, largest=499_999, seed=seed),
            f"nearest {n}": partial(nearest_costs, n, seed=seed),
        }
    made |= {
        "wide 800x3000": lambda: rng.random((800, 3000)),
        "3000 x 40x40": lambda: rng.integers(0, 101, (3000, 40, 40)),
        "points 2500": lambda: PointCosts(*rng.random((2, 2500, 2))),
    }
    return each(AssignmentInstance, made)


def graphs(seed: int) -> dict[str, Make]:
    """Return general graphs by name, with weights and without."""
    weighted: dict[str, Callable[[], Any]] = {
        "random 2000": partial(random_graph, 2000, seed=seed),
        "random 30000": partial(random_graph, 30_000, seed=seed),
        "complete 700": partial(complete_points, 700, seed=seed),
        "delaunay 50000": partial(triangulated_points, 50_000, seed=seed),
        "roads 300000": lambda: undirected(road_like(300_000, seed=seed), seed=seed),
        "rmat 2^16": lambda: undirected(rmat(16, 8, seed=seed), seed=seed),
        "odd cycles 10000": partial(odd_cycle_chain, 10_000, seed=seed),
        "line graph 10000": partial(line_graph, 10_000, seed=seed),
    }
    pairs = {
        f"{name} pairs": make for name, make in each(lambda graph: graph.without_weights(), weighted).items()
    }
    pairs["random 500000 pairs"] = lambda: random_graph(500_000, seed=seed).without_weights()
    return each(GeneralInstance.from_graph, {**weighted, **pairs})


def cost_networks(seed: int) -> dict[str, Make]:
    """Return networks with costs by name."""
    made: dict[str, Make] = {
        "netgen-8 2000": partial(netgen, 2000, seed=seed),
        "netgen-8 25000": partial(netgen, 25_000, seed=seed),
        "goto 1500x10000": partial(goto, 1500, 10_000, seed=seed),
        "goto 12000x80000": partial(goto, 12_000, 80_000, seed=seed),
        "gridgen-8 5000": partial(gridgen, 5000, seed=seed),
        "grid 60x60": partial(cost_grid, 60, 60, seed=seed),
        "grid 180x180": partial(cost_grid, 180, 180, seed=seed),
        "grid 180x180 of 180 sources": partial(cost_grid, 180, 180, terminals=180, seed=seed),
        "grid 16x2000": partial(cost_grid, 16, 2000, seed=seed),
        "phase 400x400": partial(phase_grid, 400, 400, seed=seed),
        "phase 400x400 weighted": partial(phase_grid, 400, 400, weighted=True, seed=seed),
    }
    return each(MinCostInstance.from_network, made)


def transports(seed: int) -> dict[str, Make]:
    """Return costs and masses by name."""

    def squares(n: int) -> Any:
        return squared_distances(transport_points(n, seed=seed))

    made: dict[str, Make] = {}
    for n in (200, 700, 2000):
        made |= {
            f"uniform {n}": partial(transport_masses, n, seed=seed),
            f"uniform floats {n}": partial(transport_masses, n, floats=True, seed=seed),
            f"squared distances {n}": partial(squares, n),
        }
    return each(lambda problem: TransportInstance(*problem), made)


CASES: Mapping[str, Callable[[int], dict[str, Make]]] = {
    "grid_cut": grids,
    "bipartite_matching": bipartite_graphs,
    "linear_assignment": costs,
    "matching": graphs,
    "min_cost_flow": cost_networks,
    "transport": transports,
}


def on_gpu(problem: str, instance: Any) -> Any:
    """Return an instance with its arrays on a GPU, or None where the problem takes none there."""
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    if problem == "grid_cut":
        arrays = {name: cupy.asarray(getattr(instance, name)) for name in ("source", "sink", "neighbor")}
        return replace(instance, **arrays)
    if problem == "bipartite_matching":
        return csr_matrix(instance.astype(np.float32))
    if problem == "linear_assignment" and instance.kind in ("dense", "batch"):
        return AssignmentInstance(cupy.asarray(instance.costs))
    return None


def measure(problem: str, instance: Any, rival: Rival, limit: float = math.inf) -> Measured:
    """Return the least time of a call; infinite where it fails or takes longer than `limit` seconds."""
    best, used, begin = math.inf, rival.method, time.perf_counter()
    for repeat in range(REPEATS):
        start = time.perf_counter()
        try:
            result = DOORS[problem].solve(
                instance,
                method=rival.method,
                device=rival.device,
                threads=rival.threads,
                time_limit=limit if limit < math.inf else None,
            )
        except PreflowError:  # the method does not take such input
            return Measured(math.inf, used)
        seconds = time.perf_counter() - start
        used = result.stats.method
        if result.status != "optimal":
            return Measured(math.inf, used)
        best = min(best, seconds)
        if repeat and time.perf_counter() - begin > LONG:
            break
    return Measured(best, used)


def rivals(problem: str, threads: int, devices: Sequence[str]) -> Iterator[Rival]:
    """Yield the exact methods of some devices, those of the CPU with as many threads and with one."""
    for method in preflow.methods(problem):
        if method.device not in devices or method.approximate or not method.available:
            continue
        yield from (
            Rival(method.name, "auto", count) for count in ({1, threads} if method.parallel else {None})
        )


def compare(problem: str, instance: Any, threads: int, on_device: bool, known: dict[Rival, float]) -> Row:
    """Measure auto and its rivals; `known` has the times of rivals with fewer threads, and gets these."""
    auto = Rival("auto", "auto" if on_device else "cpu", None if on_device else threads)
    before, used = measure(problem, instance, auto)
    for rival in rivals(problem, threads, ("cpu", "cuda") if on_device else ("cpu",)):
        if known.get(rival, math.inf) == math.inf:
            known[rival] = measure(problem, instance, rival, max(LEAST_LIMIT, SLOWEST * before)).seconds
    after, _ = measure(problem, instance, auto)
    fastest = min(known, key=lambda rival: known[rival])
    seconds = min(before, after)
    return {
        "problem": problem,
        "threads": "gpu" if on_device else threads,
        "method": used,
        "seconds": seconds,
        "best": f"{fastest.method}@{fastest.threads or 1}",
        "best_seconds": known[fastest],
        "regret": seconds / known[fastest],
        "rivals": {
            f"{rival.method}@{rival.threads or 1}": taken
            for rival, taken in known.items()
            if taken < math.inf
        },
    }


def main() -> None:
    """Measure all instances and write the file."""
    path, *rest = sys.argv[1:]
    seed = int(rest[0]) if rest else 21
    limit = float(rest[1]) if len(rest) > 1 else math.inf
    counts = sorted({1, min(2, usable_cpus()), usable_cpus()})
    has_gpu = device_if_any() is not None
    rows: list[Row] = []

    def add(name: str, row: Row) -> None:
        rows.append({"instance": name, "seed": seed, **row})
        mark = "  <--" if row["regret"] > ACCEPTED else ""
        print(
            f"{row['problem']:18} {name:28} {row['threads']:>3} {row['seconds'] * 1e3:9.2f} ms "
            f"{row['regret']:5.2f} {row['method']:28} {row['best']}{mark}",
            flush=True,
        )

    for problem in rest[2:] or CASES:
        end = time.perf_counter() + limit
        for name, make in CASES[problem](seed).items():
            if time.perf_counter() > end:
                break
            instance = make()
            known: dict[Rival, float] = {}
            for threads in counts:
                add(name, compare(problem, instance, threads, False, known))
            there = on_gpu(problem, instance) if has_gpu else None
            if there is not None:
                add(name, compare(problem, there, counts[-1], True, {}))
    for problem in dict.fromkeys(row["problem"] for row in rows):
        for threads in dict.fromkeys(row["threads"] for row in rows if row["problem"] == problem):
            chosen = [row for row in rows if row["problem"] == problem and row["threads"] == threads]
            regrets = np.array([row["regret"] for row in chosen])
            shown = f"median {np.median(regrets):.2f}, worst {regrets.max():.2f}"
            over = f"over {ACCEPTED}: {(regrets > ACCEPTED).sum()} of {len(regrets)}"
            print(f"{problem:18} {threads:>3}: regret {shown}, {over}")
    write_rows(path, rows, ())


if __name__ == "__main__":
    main()
