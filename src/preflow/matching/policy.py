"""The choice that method="auto" and initial="auto" make, in rules that anyone can read.

Both start from a cheap matching: better ones cost more than they save, and what is wrong with a cheap one
lies nearby. What follows is told by degrees and symmetry; docs/performance.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..graph.bipartite import BipartiteGraph

#: Below so many edges any method takes less than a millisecond or two.
SMALL = 10_000
#: At most so many rows, evenly spread, have their degrees looked at, and so many edges their opposites.
SAMPLED_ROWS = 65_536
SAMPLED_EDGES = 64
#: In a mesh, degrees vary little: the variance is below this share of the mean (Delaunay 0.30, roads 0.22,
#: duals of triangulations 0.00; random graphs 1.0, power laws over 100), ...
EVEN = 0.5
#: ... and at most this share of the rows has one neighbour or none (Delaunay and duals 0, roads 0.036). Where
#: more have, rows that cannot be matched make each phase of Hopcroft and Karp search everything: 3.7 s on a
#: road-like graph of a million vertices, against 0.14 s of push-relabel.
FEW_ENDS = 0.01
#: From so many edges on several threads pay, from so many threads on: where one thread would push, and on
#: meshes, which one thread solves faster in another way. Two threads of an EPYC took, of one thread's time,
#: 0.59 to 0.62 on Erdos-Renyi and RMAT graphs of 2**20 rows (3 to 31 million edges), 1.04 on Delaunay.
MANY_EDGES = 2_000_000
THREADS_FOR_PUSHES = 2
THREADS_FOR_MESHES = 4


@dataclass(frozen=True)
class Choice:
    """What to solve a graph with.

    Attributes
    ----------
    method, initial, reason : str
    options : mapping
        Options of the method that differ from its defaults.
    """

    method: str
    initial: str
    reason: str
    options: Mapping[str, Any] = field(default_factory=dict)


#: With low labels rows push no further than they must, and most solves need no global relabel at all.
LOW_LABELS = {"initial_labels": "one", "relabel_period": 2.0, "relabel_stalled": True}


def choose(graph: BipartiteGraph, device: str = "auto", threads: int = 1) -> Choice:
    """Return the method and the initial matching for a graph, with up to `threads` CPU threads, and why."""
    if device == "cuda":
        return Choice("cuda-push-relabel", "cheap", "device='cuda': the method there")
    if graph.num_edges < SMALL:
        return _push("small graph: pushes from a cheap matching")
    step = -(-graph.num_rows // SAMPLED_ROWS)
    degree = np.diff(graph.rows.first)[::step].astype(np.float64)
    spread = float(degree.var() / max(degree.mean(), 1e-9))
    ends = float(np.mean(degree <= 1))
    many = threads if graph.num_edges >= MANY_EDGES else 1
    if spread >= EVEN:
        return _push(f"uneven degrees (variance {spread:.2g} of the mean): pushes stay near", many)
    if ends > FEW_ENDS:
        return _push(f"{ends:.1%} of the rows have one neighbour or none: gaps rule them out", many)
    if many >= THREADS_FOR_MESHES:
        return _push("even degrees, and many threads: they push at the same time", many)
    if not _looks_symmetric(graph):
        return _push("even degrees, not symmetric: pushes stay near", many)
    reason = "even degrees and symmetric, as meshes are: short paths mend a cheap matching"
    return Choice("serial-hybrid", "cheap", reason)


def _push(reason: str, threads: int = 1) -> Choice:
    if threads >= THREADS_FOR_PUSHES:
        return Choice("multicore-push-relabel", "cheap", f"{reason}; enough edges for {threads} threads")
    return Choice("serial-push-relabel", "cheap", reason, LOW_LABELS)


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
