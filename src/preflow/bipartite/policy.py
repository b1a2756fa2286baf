"""The rules of method="auto" and initial="auto": the first of these rows that holds counts.

Methods on the CPU start from a cheap matching: better ones cost more than they save, since the errors of a
cheap matching are local. The degrees and the symmetry of the graph decide on the method; the performance
pages of the documentation have the measurements.
"""

from __future__ import annotations

from functools import cached_property
from math import inf

import numpy as np

from ..arrays import Indices
from ..cuda.runtime import Device
from ..graph.bipartite import BipartiteGraph, DeviceBipartiteGraph, fits_numbers
from ..kernels.kernel import kernel
from ..solving.plan import Attempt, Plan, Rule, decide
from .attempts import CHEAP_PHASES, LOW_PUSHES, TREES
from .packed_columns import is_narrow

#: Graphs with fewer edges take a millisecond or two with any method.
SMALL = 10_000
#: At most this many rows, evenly spaced, have their degrees sampled, and this many edges are tested for an
#: opposite edge.
SAMPLED_ROWS = 8192
SAMPLED_EDGES = 64
#: Degrees are even where their variance is below this share of their mean, as in meshes (Delaunay 0.30, roads
#: 0.22, duals of triangulations 0.00; random graphs 1.0, power laws over 100), ...
EVEN = 0.5
#: ... and a mesh has at most this share of rows with one neighbour or none (Delaunay and duals 0, roads
#: 0.036). Where more have, rows that cannot be matched make each phase of Hopcroft and Karp search
#: everything: 3.7 s on a road-like graph of a million vertices, against 0.14 s of push-relabel.
FEW_ENDS = 0.01
#: Two or three threads pay from the first number of edges on, more from the second: on a Xeon two took 0.8 to
#: 1.05 of the time of one on graphs of 0.6 to 1.2 million edges, 0.9 to 1.2 on half of that; 4 and
#: 16 took 0.54 to 1.28 and 0.38 to 1.15 of the time of one on graphs of 80,000 to 200,000 edges, and up to
#: 1.5 and 1.6 on fewer.
MANY_EDGES, FEW_EDGES = 700_000, 80_000
FEW_THREADS = 3

#: A GPU pays from this number of edges for a graph on the host, transfer time included. On an H200 graphs of
#: 2 to 31 million edges take 10 to 35 ms, of which 6 to 30 are transfer; one CPU thread takes 46 to 190 ms.
EDGES_FOR_GPU = 300_000
#: The same where the process has not used the GPU yet: the first use takes about a second, or once 10, to
#: compile kernels.
EDGES_FOR_FIRST_USE = 50_000_000
#: Memory on a GPU for a graph, its matching and a solve: bytes per edge, row and column.
BYTES_ON_GPU = 5, 56, 12

#: Methods that begin with a cheap matching of their own, and start from the empty one.
START_FROM_NOTHING = frozenset({"cuda-multi-source-bfs"})


def initial_for(method: str, on_gpu: bool) -> str:
    """Return the initial matching from which a method is fastest, on a GPU or not."""
    if method in START_FROM_NOTHING:
        return "none"
    return "proposals" if on_gpu else "cheap"


def worth_a_gpu(graph: BipartiteGraph, threads: int, in_use: bool) -> bool:
    """Whether a graph on the host has enough edges for a GPU that the process uses already, or not yet."""
    return graph.num_edges >= (EDGES_FOR_GPU if in_use else EDGES_FOR_FIRST_USE)


class Features:
    """The features of a graph that rules ask for; a slow one is found when a rule asks for it, and once."""

    def __init__(self, graph: BipartiteGraph, device: str, threads: int, gpu: Device | None) -> None:
        self.graph, self.device, self.threads, self.gpu = graph, device, threads, gpu
        self.edges = graph.num_edges

    @property
    def fits_gpu(self) -> bool:
        """Whether there is a GPU that may solve it, and has the memory."""
        return self.gpu is not None and _fits(self.graph, self.gpu)

    @cached_property
    def _degrees(self) -> tuple[float, float]:
        step = -(-self.graph.num_rows // SAMPLED_ROWS)
        return look_at_degrees(self.graph.rows.first, np.uint64(step))

    @property
    def spread(self) -> float:
        """The variance of sampled degrees, over their mean."""
        return self._degrees[0]

    @property
    def ends(self) -> float:
        """The share of sampled rows with one neighbour or none."""
        return self._degrees[1]

    @cached_property
    def symmetric(self) -> bool:
        """Whether sampled edges have opposite edges."""
        return _looks_symmetric(self.graph)

    @property
    def narrow(self) -> bool:
        """Whether a row and a label, or a row and a column, fit a word."""
        return is_narrow(self.graph)

    @property
    def work_for_threads(self) -> bool:
        """Whether there are enough edges for several threads."""
        enough = self.edges >= (MANY_EDGES if self.threads <= FEW_THREADS else FEW_EDGES)
        return self.threads > 1 and enough and self.narrow


ON_GPU = (Attempt("cuda-multi-source-bfs"),)
MANY_PUSHES, ONE_PUSHES = (Attempt("multicore-push-relabel", budget=inf), TREES), (LOW_PUSHES, TREES)
UNEVEN = "uneven degrees (variance {it.spread:.2g} of the mean): pushes stay near"
ENDS = "{it.ends:.1%} of the rows have one neighbour or none: gaps rule them out"
SHIFTED = "even degrees, not symmetric: pushes stay near"
MESH = "even degrees and symmetric, as meshes are: short paths mend a cheap matching"
FOR_THREADS = "; enough edges for {it.threads} threads"


def alone(_: Features) -> int:
    """Return the number of threads of a plan for one."""
    return 1


RULES: tuple[Rule[Features], ...] = (
    Rule(
        lambda it: it.device == "cuda", ON_GPU, "device='cuda': the fastest method on a GPU", "matching-gpu"
    ),
    Rule(
        lambda it: it.device == "auto" and isinstance(it.graph, DeviceBipartiteGraph),
        ON_GPU,
        "the graph is on a GPU: the fastest method on a GPU",
        "matching-gpu",
    ),
    Rule(
        lambda it: it.fits_gpu,
        ON_GPU,
        "{it.edges:,} edges are enough work for the GPU, transfer included",
        "matching-gpu",
    ),
    Rule(
        lambda it: it.edges < SMALL,
        ONE_PUSHES,
        "small graph: pushes from a cheap matching",
        threads=alone,
    ),
    Rule(
        lambda it: it.spread >= EVEN and it.work_for_threads,
        MANY_PUSHES,
        UNEVEN + FOR_THREADS,
        "matching-threads",
    ),
    Rule(lambda it: it.spread >= EVEN, ONE_PUSHES, UNEVEN, "matching", alone),
    Rule(
        lambda it: it.ends > FEW_ENDS and it.work_for_threads,
        MANY_PUSHES,
        ENDS + FOR_THREADS,
        "matching-threads",
    ),
    Rule(lambda it: it.ends > FEW_ENDS, ONE_PUSHES, ENDS, "matching", alone),
    Rule(
        lambda it: not it.symmetric and it.work_for_threads,
        MANY_PUSHES,
        SHIFTED + FOR_THREADS,
        "matching-threads",
    ),
    Rule(lambda it: not it.symmetric, ONE_PUSHES, SHIFTED, "matching", alone),
    Rule(lambda it: it.work_for_threads, (TREES,), MESH + FOR_THREADS, "matching-threads"),
    Rule(lambda it: it.narrow, (TREES,), MESH, "matching", alone),
    Rule(
        lambda it: True,
        (CHEAP_PHASES, LOW_PUSHES, TREES),
        MESH,
        threads=alone,
    ),
)


def choose(graph: BipartiteGraph, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the plan for a graph: see :class:`preflow.solving.protocol.Chooser`."""
    return decide(RULES, Features(graph, device, threads, gpu))


def _fits(graph: BipartiteGraph, gpu: Device) -> bool:
    of_edge, of_row, of_column = BYTES_ON_GPU
    needed = of_edge * graph.num_edges + of_row * graph.num_rows + of_column * graph.num_columns
    return fits_numbers(*graph.shape, graph.num_edges) and needed <= gpu.free_bytes


@kernel
def look_at_degrees(first: Indices, step: np.uint64) -> tuple[float, float]:
    """Return the variance of sampled degrees over their mean, and the share of rows of degree 0 or 1."""
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
    """Whether sampled edges, evenly spaced, have opposite edges."""
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
