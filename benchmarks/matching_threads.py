"""Measure bipartite matching on several threads beside `method="auto"` on one, on many graphs.

Usage: python benchmarks/matching_threads.py FILE [SECONDS]. It writes FILE. After SECONDS no further graph is
measured. Graphs that push-relabel solves on one thread are solved by `multicore-push-relabel`, the others by
`multicore-multi-source-bfs`. The numbers of threads take turns; the first round does not count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from records import write_rows

import preflow
from preflow import BipartiteGraph
from preflow.generators import bipartite, traps, triangulations

THREADS = (1, 2, 4, 16)
ROUNDS = 4


def graphs() -> Iterator[tuple[str, BipartiteGraph]]:
    """Yield the graphs with their names."""
    for n in (10_000, 20_000, 40_000, 80_000, 160_000):
        for degree in (3, 5):
            yield f"Erdos-Renyi {n} x {degree}", bipartite.erdos_renyi(n, degree, seed=n)
        yield f"power law {n}", bipartite.power_law(n, 5, seed=n)
        yield f"road {n}", bipartite.road_like(n, seed=n)
        yield f"hidden diagonal {n}", bipartite.hidden_diagonal(n, 2, seed=n)
        if n <= 80_000:
            yield f"dual {n}", triangulations.triangulation_dual(n, seed=n)
            yield f"Delaunay {n}", triangulations.delaunay(n, seed=n)
    for side in (200, 300, 500, 800):
        for share in (0.05, 0.1, 0.3):
            board = traps.board_with_holes(side, share, seed=side)
            yield f"board {side} without {share:.0%}", board
    for scale in (13, 15):
        yield f"RMAT {scale}", bipartite.rmat(scale, 16, seed=1)


def seconds_by_threads(graph: BipartiteGraph) -> tuple[str, dict[int, float]]:
    """Return the method on several threads, and the least seconds of a call for each number of threads."""
    method, taken = "", {each: float("inf") for each in THREADS}
    for round_ in range(ROUNDS):
        for threads in THREADS:
            begin = time.perf_counter()
            result = preflow.bipartite_matching(
                graph, device="cpu", threads=threads, method="auto" if threads == 1 else method
            )
            if round_ > 0:
                taken[threads] = min(taken[threads], time.perf_counter() - begin)
            if threads == 1:
                pushes = "push" in result.stats.method
                method = "multicore-push-relabel" if pushes else "multicore-multi-source-bfs"
    return method, taken


def main() -> None:
    """Measure all graphs and write the file."""
    end = time.perf_counter() + (float(sys.argv[2]) if len(sys.argv) > 2 else 1e9)
    rows = []
    for name, graph in graphs():
        if time.perf_counter() > end:
            break
        method, taken = seconds_by_threads(graph)
        rows.append({"graph": name, "edges": graph.num_edges, "method": method, "seconds": taken})
        shares = {threads: round(each / taken[1], 2) for threads, each in taken.items()}
        print(f"{name:26} {graph.num_edges:9,} {1e3 * taken[1]:7.2f} ms", shares, flush=True)
        write_rows(sys.argv[1], rows, ("numpy",))


if __name__ == "__main__":
    main()
