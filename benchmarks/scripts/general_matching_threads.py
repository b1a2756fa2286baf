"""Measure multicore-blossom with 1 to 16 threads beside serial-blossom; contestants take turns.

python -m benchmarks.scripts.general_matching_threads --out FILE
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

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
CONTESTANTS = [("serial-blossom", 1), *(("multicore-blossom", threads) for threads in (1, 2, 4, 8, 16))]


def measure(name: str, graph: UndirectedGraph) -> list[dict[str, Any]]:
    """Return a row for each contestant."""
    repeats = 6 if graph.num_vertices > 500_000 else 12
    times: dict[tuple[str, int], list[float]] = {each: [] for each in CONTESTANTS}
    results: dict[tuple[str, int], list[preflow.GeneralMatchingResult]] = {each: [] for each in CONTESTANTS}
    for turn in range(repeats + 1):
        for method, threads in CONTESTANTS:
            begin = time.perf_counter()
            result = preflow.matching(graph, method=method, threads=threads)
            if turn:
                times[method, threads].append(time.perf_counter() - begin)
                results[method, threads].append(result)
    rows = []
    for each in CONTESTANTS:
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
    out = parser.parse_args().out
    rows = [row for name, make in CASES.items() for row in measure(name, make().without_weights())]
    write_rows(out, rows, ["scipy"])


if __name__ == "__main__":
    main()
