"""The duals and the matching that the searches start from.

Whatever the start, no dual and no slack is negative, and matched edges are tight.

- *none*: each vertex has half of its largest weight as dual, and no vertex is matched.
- *greedy*: then each vertex that is free lowers its dual as far as its edges allow. If an edge to a free
  vertex is tight, it is matched.
- *locally-dominant*, *two-thirds*: before, the two ends of each edge of an approximate matching lower their
  duals, one after the other; if the edge is tight then, it is matched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...errors import InvalidInputError
from ...graph.undirected import Neighbours
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.options import CheckedOptions, PositiveInteger
from ...solving.run import Control
from ...stats import ARC_SCANS
from ..initial import STARTS
from ..initial.proof import halve, least_dual
from ..links import NONE
from ..solution import Partners
from .state import WeightedForest

#: The starts by name.
Initial = Literal["greedy", "none", "locally-dominant", "two-thirds"]


@dataclass(frozen=True)
class WeightedBlossomOptions(CheckedOptions):
    """Options of the weighted blossom algorithm.

    Attributes
    ----------
    budget : int
        The most edges that a search of the first round scans. With 16, 64, 256, 1,000 and without limit, a
        Xeon took 0.125, 0.138, 0.150, 0.175 and 1.02 s for a perfect matching of a Delaunay graph with 64,000
        vertices, and 0.0107, 0.0097, 0.0100, 0.0099 and 0.0111 s for a matching of a random graph with
        16,000.
    growth : int
        How many times as many edges a search of the next round scans.
    initial : {"greedy", "none", "locally-dominant", "two-thirds"}
        The duals and the matching that it starts from, see above. A Xeon took 0.034, 0.044, 0.049 and
        0.080 s with them for a random graph with 64,000 vertices of degree 6, and 0.121, 0.150, 0.134 and
        0.211 s for a perfect matching of a Delaunay graph with 100,000.
    """

    budget: PositiveInteger = 64
    growth: PositiveInteger = 4
    initial: Initial = "greedy"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.growth == 1:
            raise InvalidInputError("growth must be at least 2, or searches that were stopped never end")


@kernel
def match_tight(
    graph: Neighbours, dual: NDArray[np.int64], mate: Indices, v: np.uint64, wanted: np.uint64
) -> None:
    """Lower the dual of a free vertex, and match it with a free one by a tight edge.

    With `wanted` it may be matched with this vertex only; NONE allows all.
    """
    dual[v] = least_dual(graph, dual, v)
    for arc in range(graph.first[v], graph.first[v + ONE]):
        u = np.uint64(graph.neighbour[arc])
        tight = dual[v] + dual[u] == 2 * graph.weight[arc]
        if tight and np.uint64(mate[u]) == NONE and (wanted == NONE or u == wanted):
            mate[v], mate[u] = u, v
            break


@kernel
def match_wanted(
    graph: Neighbours, dual: NDArray[np.int64], wanted: Indices, mate: Indices, monitor: Monitor
) -> None:
    """Match those edges of a matching that can be made tight."""
    for vertex in range(len(mate)):
        if relaxed_load(monitor.stop, 0) != 0:
            break
        v = np.uint64(vertex)
        u = np.uint64(wanted[v])
        if u != NONE and v < u:
            match_tight(graph, dual, mate, u, v)
            if np.uint64(mate[v]) == NONE:
                match_tight(graph, dual, mate, v, u)


@kernel
def match_free(graph: Neighbours, dual: NDArray[np.int64], mate: Indices, monitor: Monitor) -> None:
    """Lower the duals of free vertices, and match tight edges."""
    for vertex in range(len(mate)):
        if relaxed_load(monitor.stop, 0) != 0:
            break
        v = np.uint64(vertex)
        if np.uint64(mate[v]) == NONE and dual[v] > 0:
            match_tight(graph, dual, mate, v, NONE)
            monitor.counts[ARC_SCANS] += np.uint64(graph.first[v + ONE] - graph.first[v])


def wanted_pairs(graph: Neighbours, initial: Initial, start: Partners | None, control: Control) -> Indices:
    """Return the approximate matching whose edges are made tight first, NONE for no partner.

    That is `start`, where another method has left one; without entries if there is none.
    """
    if start is not None:
        return start.astype(np.uint32)  # -1 becomes NONE
    wanted = np.full(0 if initial in ("greedy", "none") else len(graph.first) - 1, NONE, dtype=np.uint32)
    if len(wanted):
        STARTS[initial](graph, wanted, control)
    return wanted


def first_duals(
    graph: Neighbours, initial: Initial, start: Partners | None, dual: NDArray[np.int64], control: Control
) -> Indices:
    """Write the duals to start from, and return the partners, NONE for none."""
    mate = np.full(len(dual), NONE, dtype=np.uint32)
    halve(graph, dual)
    wanted = wanted_pairs(graph, initial, start, control)
    if len(wanted):
        match_wanted(graph, dual, wanted, mate, control.monitor())
    if initial != "none":
        match_free(graph, dual, mate, control.monitor())
    return mate


def free_vertices(forest: WeightedForest, control: Control) -> Indices:
    """Return the free vertices with duals above 0 before the searches, and set the progress."""
    free = (forest.dual > 0) & (forest.outer[: len(forest.dual)] == NONE)
    roots: Indices = np.flatnonzero(free).astype(np.uint32)
    control.progress[:] = max(len(roots), 1)
    return roots
