"""Measure what method="auto" loses to the best method of maximum flow, on 1, 2, 4 and all threads.

Usage: python benchmarks/flow_auto.py FILE [SEED [SECONDS]]. It writes FILE. After SECONDS no further network
is measured. The regret of auto is its time over that of the best method, on as many threads or on one.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from records import write_rows

import preflow
from preflow.bench.flow_suites import PHOTOGRAPHS, photograph_cut
from preflow.generators import family, grid_2d, grid_3d
from preflow.generators.bipartite import rmat, road_like
from preflow.generators.traps import dead_end, leaking_path, long_path
from preflow.graph.bipartite import BipartiteGraph
from preflow.graph.network import FlowNetwork, MaxFlowProblem
from preflow.solving.dispatch import usable_cpus

REPEATS, LONG, TIME_LIMIT = 4, 1.0, 5.0
SERIAL = ("serial-hi-pr", "serial-pseudoflow", "serial-fifo", "serial-dinic")
FAMILIES = {
    "rmf-wide": ("16x16", "32x16", "64x8", "64x16", "96x24"),
    "rmf-long": ("8x512", "16x1024"),
    "rlg-wide": ("256x32", "1024x32", "4096x64", "16384x64"),
    "rlg-long": ("64x1024", "64x8192"),
    "line-moderate": ("4096x4x32", "16384x4x128"),
    "exp-line": ("4096x4x32",),
    "ac-dense": ("800", "2000"),
    "mesh": ("256x256",),
    "two-level": ("256x128",),
    "square-mesh": ("300x6",),
    "cheriyan": ("40x40x40",),
    "goldberg-bad": ("20000",),
    "dinic-bad": ("2000",),
}


def symmetric(graph: BipartiteGraph, seed: int, terminals: int) -> MaxFlowProblem:
    """Return the network of an undirected graph, with random capacities and terminals of large degree."""
    rows = graph.rows
    n = len(rows.first) - 1
    tail = np.repeat(np.arange(n), np.diff(rows.first))
    once = tail < rows.neighbour
    tail, head = tail[once], rows.neighbour[once]
    rng = np.random.default_rng(seed)
    capacity = rng.integers(1, 101, len(tail))
    network = FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=capacity, num_vertices=n)
    degrees: NDArray[np.int64] = np.bincount(np.concatenate([tail, head]), minlength=n)
    chosen = rng.permutation(np.argsort(degrees)[-max(n // 5, 2 * terminals) :])[: 2 * terminals]
    return MaxFlowProblem(network, chosen[:terminals].tolist(), chosen[terminals:].tolist())


def cases(seed: int) -> dict[str, Callable[[], MaxFlowProblem]]:
    """Return the networks by name."""
    made: dict[str, Callable[[], MaxFlowProblem]] = {
        f"{name} {size}": partial(family(name).generate, size, seed=seed)
        for name, sizes in FAMILIES.items()
        for size in sizes
    }
    made |= {
        "grid 150x150": partial(grid_2d, 150, 150, seed=seed),
        "grid 300x300": partial(grid_2d, 300, 300, seed=seed),
        "grid 600x600 8n": partial(grid_2d, 600, 600, connectivity=8, contrast=True, seed=seed),
        "grid 1000x1000": partial(grid_2d, 1000, 1000, seed=seed),
        "grid 40^3": partial(grid_3d, 40, 40, 40, seed=seed),
        "grid 64^3 contrast": partial(grid_3d, 64, 64, 64, contrast=True, seed=seed),
        "grid 100^3": partial(grid_3d, 100, 100, 100, seed=seed),
    }
    made |= {f"{name} {c}n": partial(photograph_cut, name, c) for name in PHOTOGRAPHS for c in (4, 8)}
    for terminals in (1, 1000):
        ends = f"{terminals} terminals"
        made |= {
            f"RMAT 2^15, {ends}": lambda t=terminals: symmetric(rmat(15, 8, seed=seed), seed, t),  # type: ignore[misc]
            f"RMAT 2^17, {ends}": lambda t=terminals: symmetric(rmat(17, 8, seed=seed), seed, t),  # type: ignore[misc]
            f"roads 200000, {ends}": lambda t=terminals: symmetric(road_like(200_000, seed=seed), seed, t),  # type: ignore[misc]
        }
    made |= {
        "long path 200000": partial(long_path, 200_000),
        "leaking path 20000": partial(leaking_path, 20_000),
        "dead end 20000": partial(dead_end, 20_000),
    }
    return made


def solve_seconds(problem: MaxFlowProblem, method: str, threads: int) -> tuple[float, str]:
    """Return the least time of a solve without build and second stage, and the method."""
    several = method == "auto" or method.startswith("multicore")
    best, used, begin = math.inf, method, time.perf_counter()
    for repeat in range(REPEATS):
        result = preflow.max_flow(
            problem, method=method, device="cpu", threads=threads if several else None, time_limit=TIME_LIMIT
        )
        used = result.stats.method
        if result.status != "optimal":
            return math.inf, used
        best = min(best, result.stats.seconds["solve"])
        if repeat and time.perf_counter() - begin > LONG:
            break
    return best, used


def main() -> None:
    """Measure all networks and write the file."""
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    end = time.perf_counter() + (float(sys.argv[3]) if len(sys.argv) > 3 else math.inf)
    counts = [threads for threads in (1, 2, 4, usable_cpus()) if threads <= usable_cpus()]
    rows: list[dict[str, Any]] = []
    for name, make in cases(seed).items():
        if time.perf_counter() > end:
            break
        problem = make()
        network = problem.network
        serial = {method: solve_seconds(problem, method, 1)[0] for method in SERIAL}
        paths = {threads: solve_seconds(problem, "multicore-paths", threads)[0] for threads in counts}
        shown = [f"{name:26}"]
        for threads in counts:
            auto, used = solve_seconds(problem, "auto", threads)
            regret = auto / min(*serial.values(), paths[1], paths[threads])
            rows.append(
                {
                    "instance": name,
                    "seed": seed,
                    "vertices": network.num_vertices,
                    "arcs": network.num_arcs,
                    "threads": threads,
                    "method": used,
                    "seconds": {"auto": auto, "multicore-paths": paths[threads], **serial},
                    "regret": regret,
                }
            )
            shown.append(f"{threads:3} {used.split('-', 1)[1]:10} {auto * 1e3:8.2f} ms {regret:5.2f}")
        print(" | ".join(shown), flush=True)
    for threads in counts:
        regrets = np.array([row["regret"] for row in rows if row["threads"] == threads])
        late = [row["instance"] for row in rows if row["threads"] == threads and row["regret"] > 1.15]
        shares = f"median {np.median(regrets):.2f}, worst {regrets.max():.2f}"
        print(f"{threads} threads: regret {shares}, over 1.15: {late}")
    write_rows(sys.argv[1], rows, ())


if __name__ == "__main__":
    main()
