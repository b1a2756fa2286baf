"""The matching of Karp and Sipser: vertices with one neighbour left first.

Karp and Sipser 1981: to match a vertex that has one neighbour left with this neighbour is never wrong. Where
no such vertex is left, a vertex takes the neighbour with the fewest neighbours left (Magun 1998), and the
next vertices with one neighbour follow. O(n + m).
"""

from __future__ import annotations

import numpy as np

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ..links import NONE


@kernel
def take_out(graph: Neighbours, v: np.uint64, left: Indices, ones: Indices, size: np.uint64) -> np.uint64:
    """Take a vertex out of the graph; return the number of `ones`, which have one neighbour left now."""
    for arc in range(graph.first[v], graph.first[v + ONE]):
        u = np.uint64(graph.neighbour[arc])
        left[u] -= ONE
        if left[u] == ONE:
            ones[size] = u
            size += ONE
    return size


@kernel
def match_rest(graph: Neighbours, mate: Indices, left: Indices, ones: Indices, monitor: Monitor) -> None:
    """Match vertices with one neighbour left, and another one where there is none, until no edge is left."""
    n = np.uint64(len(mate))
    size = ZERO
    for vertex in range(n):
        left[vertex] = graph.first[vertex + 1] - graph.first[vertex]
        if left[vertex] == ONE:
            ones[size] = vertex
            size += ONE
    next_vertex = ZERO
    while relaxed_load(monitor.stop, 0) == 0:
        if size > ZERO:
            size -= ONE
            v = np.uint64(ones[size])
        elif next_vertex < n:
            v = next_vertex
            next_vertex += ONE
        else:
            break
        if np.uint64(mate[v]) != NONE:
            continue
        best, fewest = NONE, NONE
        for arc in range(graph.first[v], graph.first[v + ONE]):
            u = np.uint64(graph.neighbour[arc])
            if np.uint64(mate[u]) == NONE and np.uint64(left[u]) < fewest:
                best, fewest = u, np.uint64(left[u])
        if best == NONE:
            continue
        mate[v] = best
        mate[best] = v
        size = take_out(graph, v, left, ones, size)
        size = take_out(graph, best, left, ones, size)


def start(graph: Neighbours, mate: Indices, control: Control) -> None:
    """Add edges to an empty matching in place, with NONE for no partner; stop early if asked to."""
    n = len(mate)
    match_rest(graph, mate, np.empty(n, np.uint32), np.empty(n, np.uint32), control.monitor())
