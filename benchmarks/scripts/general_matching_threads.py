"""Measure multicore-blossom with 1 to 16 threads beside serial-blossom; contestants take turns.

With ``--weights``, both methods for graphs with weights; these are random integers up to a million.

python -m benchmarks.scripts.general_matching_threads [--weights] --out FILE
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import preflow
from benchmarks.instances.undirected import random_graph, triangulated_points, undirected
from preflow.generators.bipartite import rmat, road_like
from preflow.graph.undirected import UndirectedGraph

from ..records import write_rows

CASES: dict[str, Callable[[], UndirectedGraph]] = {
    "random 1000000 degree 6": lambda: random_graph(10**6),
    "random 1000000 degree 3": lambda: random_graph(10**6, 3),
    "rmat 2^20": lambda: undirected(rmat(20, 8)),
    "road 1000000": lambda: undirected(road_like(10**6)),
    "delaunay 1000000": lambda: triangulated_points(10**6),
    "random 100000 degree 6": lambda: random_graph(10**5),
    "random 100000 degree 3": lambda: random_graph(10**5, 3),
    "rmat 2^17": lambda: undirected(rmat(17, 8)),
    "road 100000": lambda: undirected(road_like(10**5)),
    "random 20000 degree 6": lambda: random_graph(20_000),
    "delaunay 100000": lambda: triangulated_points(10**5),
    "road 20000": lambda: undirected(road_like(20_000)),
}
THREADS = (1, 2, 4, 8, 16)


def with_weights(graph: UndirectedGraph) -> UndirectedGraph:
    """Return a graph with random weights."""
    weight = np.random.default_rng(1).integers(1, 10**6, graph.num_edges)
    return UndirectedGraph.from_arrays(graph.tail, graph.head, weight, num_vertices=graph.num_vertices)


def measure(name: str, graph: UndirectedGraph) -> list[dict[str, Any]]:
    """Return a row for each contestant."""
    kind = "blossom" if graph.weight is None else "weighted-blossom"
    contestants = [(f"serial-{kind}", 1), *((f"multicore-{kind}", threads) for threads in THREADS)]
    repeats = 12 if graph.num_vertices <= 500_000 else 6 if graph.weight is None else 4
    times: dict[tuple[str, int], list[float]] = {each: [] for each in contestants}
    results: dict[tuple[str, int], list[preflow.GeneralMatchingResult]] = {each: [] for each in contestants}
    for turn in range(repeats + 1):
        for method, threads in contestants:
            begin = time.perf_counter()
            result = preflow.matching(graph, method=method, threads=threads)
            if turn:
                times[method, threads].append(time.perf_counter() - begin)
                results[method, threads].append(result)
    rows = []
    for each in contestants:
        last = results[each][-1]
        last.verify()
        rows.append(
            {
                "graph": name,
                "vertices": graph.num_vertices,
                "edges": graph.num_edges,
                "pairs": last.cardinality,
                "method": each[0],
                "threads": each[1],
                "median": statistics.median(times[each]),
                "least": min(times[each]),
                "phases": {
                    phase: statistics.median(result.stats.seconds[phase] for result in results[each])
                    for phase in last.stats.seconds
                },
                "arc_scans": last.stats.arc_scans,
            }
        )
        print(name, *each, f"{rows[-1]['median']:.4f}", flush=True)
    return rows


def main() -> None:
    """Measure all cases and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--weights", action="store_true")
    given = parser.parse_args()
    prepare = with_weights if given.weights else UndirectedGraph.without_weights
    rows = [row for name, make in CASES.items() for row in measure(name, prepare(make()))]
    write_rows(given.out, rows, ["scipy"])


if __name__ == "__main__":
    main()
