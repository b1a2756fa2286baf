"""The matching of Karp and Sipser: vertices with one neighbour left first.

Karp and Sipser 1981: to match a vertex that has one neighbour left with this neighbour is never wrong. Where
no such vertex is left, a vertex takes the neighbour with the fewest neighbours left (Magun 1998), and the
next vertices with one neighbour follow. O(n + m).

What happens before a vertex takes a neighbour by choice is *decided*: each pair has a vertex that had one
neighbour left, which is labelled even, and this neighbour, which is odd. A vertex that has no neighbour left
and is free is even. All neighbours of even vertices are odd. So without the odd vertices each even vertex is
a component, and no matching has fewer free vertices among the decided ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ..links import EVEN, NONE, ODD, OUTSIDE


@kernel
def take_out(
    graph: Neighbours,
    v: np.uint64,
    mate: Indices,
    label: NDArray[np.uint8],
    left: Indices,
    ones: Indices,
    size: np.uint64,
    decides: bool,
) -> np.uint64:
    """Take a vertex out of the graph; return the number of `ones`, which have one neighbour left now.

    `decides` says whether the vertices that have none left now are decided.
    """
    for arc in range(graph.first[v], graph.first[v + ONE]):
        u = np.uint64(graph.neighbour[arc])
        left[u] -= ONE
        if left[u] == ONE:
            ones[size] = u
            size += ONE
        elif decides and left[u] == ZERO and np.uint64(mate[u]) == NONE:
            label[u] = EVEN
    return size


@kernel
def match_rest(
    graph: Neighbours,
    mate: Indices,
    label: NDArray[np.uint8],
    left: Indices,
    ones: Indices,
    monitor: Monitor,
) -> None:
    """Match vertices with one neighbour left, and another one where there is none, until no edge is left.

    `mate` and `label` need not be set before.
    """
    n = np.uint64(len(mate))
    size = ZERO
    for vertex in range(n):
        left[vertex] = graph.first[vertex + 1] - graph.first[vertex]
        if left[vertex] == ONE:
            ones[size] = vertex
            size += ONE
        mate[vertex] = NONE
        label[vertex] = EVEN if left[vertex] == ZERO else OUTSIDE
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
        decides = next_vertex == ZERO
        if decides:
            label[v] = EVEN
            label[best] = ODD
        size = take_out(graph, v, mate, label, left, ones, size, decides)
        size = take_out(graph, best, mate, label, left, ones, size, decides)


def start(graph: Neighbours, mate: Indices, label: NDArray[np.uint8], control: Control) -> None:
    """Write a matching, with NONE for no partner, and the labels of decided vertices, OUTSIDE for others.

    It stops early if asked to.
    """
    n = len(mate)
    left, ones = np.empty(n, np.uint32), np.empty(n, np.uint32)
    match_rest(graph, mate, label, left, ones, control.monitor())
