"""Measure the matching of locally dominant edges on a GPU, on one CPU thread and on all.

Usage: python -m benchmarks.scripts.locally_dominant_gpu FILE. It writes FILE and needs CuPy. Seconds are
medians. The graph is built before; the time on the GPU is given with the copies to it and back, and without.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cupy
import numpy as np

from benchmarks.instances.undirected import random_graph, undirected
from preflow.cuda import runtime
from preflow.general_matching import cuda_locally_dominant as on_gpu
from preflow.general_matching.initial import locally_dominant as on_cpu
from preflow.general_matching.links import NONE
from preflow.generators import rmat
from preflow.graph.undirected import Neighbours, UndirectedGraph, neighbours_of
from preflow.solving.dispatch import usable_cpus
from preflow.solving.run import Control
from preflow.stats import PHASES

from ..records import write_rows
from .gpu_time import median_seconds

REPEATS = 5
LANES = (4, 8, 32)
GRAPHS: tuple[tuple[str, Callable[[], UndirectedGraph]], ...] = (
    ("random, degree 6", lambda: random_graph(10**6, 6)),
    ("random, degree 16", lambda: random_graph(10**6, 16)),
    ("RMAT, scale 20, factor 8", lambda: undirected(rmat(20, 8))),
)


def on_threads(graph: Neighbours, threads: int) -> Any:
    """Return the partners that threads of the CPU find."""
    mate = np.full(len(graph.first) - 1, NONE, dtype=np.uint32)
    on_cpu.match(graph, mate, Control(threads))
    return mate


def measure(name: str, graph: Neighbours, threads: int) -> dict[str, Any]:
    """Return the times of a graph; all ways find the same matching."""
    device: Any = runtime.find_device()
    alone = on_threads(graph, 1)
    seconds = {f"{k} threads": median_seconds(partial(on_threads, graph, k), REPEATS) for k in (1, threads)}
    control = Control()

    def with_copies(lanes: int) -> Any:
        return on_gpu.match(on_gpu.copied(graph, device, control), lanes, device, control)

    def again(copied: on_gpu.Arguments, lanes: int) -> Any:
        n = copied.num_vertices
        copied.mate.fill(int(NONE))
        copied.pointer.fill(int(NONE))
        copied.dirty[:n] = cupy.arange(n, dtype=np.uint32)
        copied.loop.counters.fill(0)
        copied.loop.state.fill(0)
        return on_gpu.match(copied, lanes, device, control)

    for lanes in LANES:
        assert (with_copies(lanes) == alone).all()
        copied = on_gpu.copied(graph, device, control)
        seconds[f"GPU, {lanes} lanes, without copies of the graph"] = median_seconds(
            partial(again, copied, lanes), REPEATS
        )
        seconds[f"GPU, {lanes} lanes"] = median_seconds(partial(with_copies, lanes), REPEATS)
    return {
        "problem": name,
        "vertices": len(alone),
        "edges": len(graph.neighbour) // 2,
        "pairs": int(np.count_nonzero(alone != NONE)) // 2,
        "rounds": int(control.counts[PHASES]),
        "largest degree": int(np.diff(graph.first.astype(np.int64)).max()),
        "seconds": seconds,
    }


def rows() -> Iterator[dict[str, Any]]:
    """Yield the times of all graphs, with weights and without."""
    for name, make in GRAPHS:
        graph = make()
        assert graph.weight is not None
        for weight in (graph.weight, None):
            start = time.perf_counter()
            neighbours = neighbours_of(graph.num_vertices, graph.tail, graph.head, weight)
            built = time.perf_counter() - start
            kind = "weights" if weight is not None else "no weights"
            row = measure(f"{name}, {kind}", neighbours, min(usable_cpus(), 16))
            row["seconds"]["build, one thread"] = built
            yield row


def main() -> None:
    """Measure all and write the rows."""
    found = []
    for row in rows():
        found.append(row)
        print(row, flush=True)
    write_rows(sys.argv[1], found, ["preflow", "numpy", "scipy"])


if __name__ == "__main__":
    main()
