"""The choice that method="auto" and initial="auto" make, in rules that anyone can read.

Methods on the CPU start from a cheap matching: better ones cost more than they save, and what is wrong with
a cheap one lies nearby. Degrees and symmetry tell the method; docs/performance.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..cuda.runtime import Device
from ..graph.bipartite import BipartiteGraph, DeviceBipartiteGraph, fits_numbers
from ..kernels.kernel import kernel
from .packed_columns import is_narrow

#: Below so many edges any method takes less than a millisecond or two.
SMALL = 10_000
#: At most so many rows, evenly spread, have their degrees looked at, and so many edges their opposites.
SAMPLED_ROWS = 8192
SAMPLED_EDGES = 64
#: In a mesh, degrees vary little: the variance is below this share of the mean (Delaunay 0.30, roads 0.22,
#: duals of triangulations 0.00; random graphs 1.0, power laws over 100), ...
EVEN = 0.5
#: ... and at most this share of the rows has one neighbour or none (Delaunay and duals 0, roads 0.036). Where
#: more have, rows that cannot be matched make each phase of Hopcroft and Karp search everything: 3.7 s on a
#: road-like graph of a million vertices, against 0.14 s of push-relabel.
FEW_ENDS = 0.01
#: From so many edges on several threads pay. Two threads of an EPYC took, of one thread's time, 0.59 to 0.62
#: on Erdos-Renyi and RMAT graphs of 2**20 rows (3 to 31 million edges).
MANY_EDGES = 2_000_000

#: From so many edges a GPU pays for a graph on the host, the way there and back included. On an H200 graphs
#: of 2 to 31 million edges take 10 to 35 ms, 6 to 30 of these on the way; on one CPU thread 46 to 190 ms.
EDGES_FOR_GPU = 300_000
#: The first use of a GPU in a process takes about a second, or 10 once, to compile kernels.
EDGES_FOR_FIRST_USE = 50_000_000
#: What a graph, its matching and a solve take on a GPU: bytes of an edge, a row and a column.
BYTES_ON_GPU = 5, 56, 12

#: Methods whose first phase is a cheap matching, so that they start from nothing.
START_FROM_NOTHING = frozenset({"cuda-multi-source-bfs"})


@dataclass(frozen=True)
class Choice:
    """What to solve a graph with.

    Attributes
    ----------
    method, reason : str
    options : mapping
        Options of the method that differ from its defaults.
    threads : int or None
        At most so many; None: as the caller says.
    """

    method: str
    reason: str
    options: Mapping[str, Any] = field(default_factory=dict)
    threads: int | None = None


#: With low labels rows push no further than they must, and most solves need no global relabel at all.
LOW_LABELS = {"initial_labels": "one", "relabel_period": 2.0}


def initial_for(method: str, on_gpu: bool) -> str:
    """Return the initial matching that a method is fastest from, on a GPU or not."""
    if method in START_FROM_NOTHING:
        return "none"
    return "proposals" if on_gpu else "cheap"


def pays_to_look_for_gpu(graph: BipartiteGraph, in_use: bool) -> bool:
    """Whether a graph on the host has enough edges for a GPU that the process uses already, or not yet."""
    return graph.num_edges >= (EDGES_FOR_GPU if in_use else EDGES_FOR_FIRST_USE)


def choose(
    graph: BipartiteGraph, device: str = "auto", threads: int = 1, gpu: Device | None = None
) -> Choice:
    """Return the method for a graph, with up to `threads` CPU threads, and why.

    `gpu` is one that may be used for a graph on the host.
    """
    if device == "cuda":
        return Choice("cuda-multi-source-bfs", "device='cuda': the fastest there")
    if device == "auto" and isinstance(graph, DeviceBipartiteGraph):
        return Choice("cuda-multi-source-bfs", "the graph is on a GPU: the fastest there")
    if gpu is not None and _fits(graph, gpu):
        reason = f"{graph.num_edges:,} edges are enough work for the GPU, the way there and back included"
        return Choice("cuda-multi-source-bfs", reason)
    if graph.num_edges < SMALL:
        return _push(graph, "small graph: pushes from a cheap matching")
    step = -(-graph.num_rows // SAMPLED_ROWS)
    spread, ends = look_at_degrees(graph.rows.first, np.uint64(step))
    narrow = is_narrow(graph)
    many = threads if graph.num_edges >= MANY_EDGES and narrow else 1
    if spread >= EVEN:
        return _push(graph, f"uneven degrees (variance {spread:.2g} of the mean): pushes stay near", many)
    if ends > FEW_ENDS:
        return _push(graph, f"{ends:.1%} of the rows have one neighbour or none: gaps rule them out", many)
    if not _looks_symmetric(graph):
        return _push(graph, "even degrees, not symmetric: pushes stay near", many)
    reason = "even degrees and symmetric, as meshes are: short paths mend a cheap matching"
    if not narrow:
        return Choice("serial-hybrid", reason)
    if many > 1:
        reason = f"{reason}; enough edges for {threads} threads"
    return Choice("multicore-multi-source-bfs", reason, threads=many)


def _fits(graph: BipartiteGraph, gpu: Device) -> bool:
    of_edge, of_row, of_column = BYTES_ON_GPU
    needed = of_edge * graph.num_edges + of_row * graph.num_rows + of_column * graph.num_columns
    return fits_numbers(*graph.shape, graph.num_edges) and needed <= gpu.free_bytes


def _push(graph: BipartiteGraph, reason: str, threads: int = 1) -> Choice:
    if threads > 1:
        return Choice("multicore-push-relabel", f"{reason}; enough edges for {threads} threads")
    stalled = "trees" if is_narrow(graph) else "relabel"
    return Choice("serial-push-relabel", reason, {**LOW_LABELS, "stalled": stalled})


@kernel
def look_at_degrees(first: Any, step: Any) -> tuple[float, float]:
    """Return the variance of some rows' degrees over their mean, and the share of those with one or none."""
    count, ends, total, squares = 0, 0, 0.0, 0.0
    row, end = np.uint64(0), np.uint64(len(first) - 1)
    while row < end:
        degree = float(first[row + np.uint64(1)] - first[row])
        count += 1
        ends += degree <= 1.0
        total += degree
        squares += degree * degree
        row += step
    mean = total / max(count, 1)
    variance = squares / max(count, 1) - mean * mean
    return variance / max(mean, 1e-9), ends / max(count, 1)


def _looks_symmetric(graph: BipartiteGraph) -> bool:
    """Whether some edges, evenly spread, have their opposites."""
    if graph.num_rows != graph.num_columns:
        return False
    first, neighbour = graph.rows
    edges = np.linspace(0, graph.num_edges - 1, SAMPLED_EDGES).astype(np.int64)
    rows = np.searchsorted(first, edges.astype(first.dtype), side="right") - 1
    columns = neighbour[edges]
    return all(
        (neighbour[first[c] : first[c + 1]] == r).any()
        for r, c in zip(rows.tolist(), columns.tolist(), strict=True)
    )
