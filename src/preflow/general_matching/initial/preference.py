"""The order of edges that greedy methods share: heavier ones first, equal ones by a number of each edge.

The number is a pseudo-random one that a bijection makes of the two ends. So no two edges are equal, and all
methods that follow the order find the same matching. With the numbers of the vertices instead, a path of
equal edges would be matched one edge after the other; with pseudo-random ones all threads have work.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE
from ...kernels.kernel import kernel
from ..links import NONE

#: The bijection of 64 bits of Stafford, "Better bit mixing" (2011): shifts and odd factors.
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
#: Bits of the number of a vertex.
HALF = np.uint64(32)


@kernel
def edge_number(u: np.uint64, v: np.uint64) -> np.uint64:
    """Return the number of the edge between two vertices; of equal weights the least number is first."""
    low, high = min(u, v), max(u, v)
    bits = (low << HALF) | high
    bits = (bits ^ (bits >> SHIFTS[0])) * FACTORS[0]
    bits = (bits ^ (bits >> SHIFTS[1])) * FACTORS[1]
    return bits ^ (bits >> SHIFTS[2])


@kernel
def first_choice(graph: Neighbours, mate: Indices, v: np.uint64) -> np.uint64:
    """Return the free neighbour of a vertex by its first edge in the order, NONE if all are matched."""
    weighted = len(graph.weight) > 0
    best, number, most = NONE, NONE, np.int64(0)
    for arc in range(graph.first[v], graph.first[v + ONE]):
        weight = graph.weight[arc] if weighted else np.int64(1)
        if weight < most:
            continue
        u = np.uint64(graph.neighbour[arc])
        if np.uint64(relaxed_load(mate, u)) != NONE:
            continue
        own = edge_number(u, v)
        if weight > most or own < number:
            best, number, most = u, own, weight
    return best
