"""The greedy matching: the edges one after the other, heavier ones first, each if both of its ends are free.

An edge of another matching shares an end with a greedy edge that is no lighter, and a greedy edge has two
ends. So the greedy matching weighs at least half as much as any other (Avis 1983), and the duals of
:mod:`.proof` prove it. Edges of equal weight are in the order of :mod:`.preference`; so the matching is that
of :mod:`.locally_dominant`. Without weights each vertex takes its first free neighbour instead, and the
matching has at least half as many pairs as any other.

Pseudo-code::

    with weights: for each edge, heavier ones first:                match_in_order
        if both ends are free: match them
    without: for each vertex that is free:                          match_first
        match it with its first free neighbour, if there is one

Time: O(m log m) with weights, O(n + m) without. Memory beside the graph: 24 bytes an edge with weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS
from ..links import NONE
from ..solution import GeneralState, Partners
from .preference import edge_number
from .proof import ProofOptions, empty_mates, proved


@kernel
def list_edges(
    graph: Neighbours,
    tail: Indices,
    head: Indices,
    key: Indices,
    number: Indices,
    stop: NDArray[np.int64],
) -> None:
    """Write the ends, the weight and the number of each edge, unless the solve is stopped."""
    k = np.uint64(0)
    for vertex in range(len(graph.first) - 1):
        if relaxed_load(stop, 0) != 0:
            break
        v = np.uint64(vertex)
        for arc in range(graph.first[v], graph.first[v + ONE]):
            u = np.uint64(graph.neighbour[arc])
            if v < u:
                tail[k], head[k] = v, u
                key[k] = np.uint64(graph.weight[arc])
                number[k] = edge_number(u, v)
                k += ONE


@kernel
def match_in_order(tail: Indices, head: Indices, order: Indices, mate: Indices, monitor: Monitor) -> None:
    """Match the ends of each edge, in an order, if both are free."""
    k = np.uint64(0)
    while k < np.uint64(len(order)):
        if relaxed_load(monitor.stop, 0) != 0:
            break
        edge = order[k]
        k += ONE
        u, v = np.uint64(tail[edge]), np.uint64(head[edge])
        if np.uint64(mate[u]) == NONE and np.uint64(mate[v]) == NONE:
            mate[u], mate[v] = v, u
            monitor.counts[AUGMENTATIONS] += ONE
    monitor.counts[ARC_SCANS] += k


@kernel
def match_first(graph: Neighbours, mate: Indices, monitor: Monitor) -> None:
    """Match each free vertex with its first free neighbour."""
    scans = np.uint64(0)
    for vertex in range(len(mate)):
        if relaxed_load(monitor.stop, 0) != 0:
            break
        v = np.uint64(vertex)
        arc, end = np.uint64(graph.first[v]), np.uint64(graph.first[v + ONE])
        while arc < end and np.uint64(mate[v]) == NONE:
            u = np.uint64(graph.neighbour[arc])
            arc += ONE
            scans += ONE
            if np.uint64(mate[u]) == NONE:
                mate[u], mate[v] = v, u
                monitor.counts[AUGMENTATIONS] += ONE
    monitor.counts[ARC_SCANS] += scans


def match(graph: Neighbours, mate: Indices, control: Control) -> None:
    """Add edges to an empty matching in place, with NONE for no partner; stop early if asked to."""
    if not len(graph.weight):
        match_first(graph, mate, control.monitor())
        return
    m = len(graph.neighbour) // 2
    tail, head = np.empty(m, dtype=np.uint32), np.empty(m, dtype=np.uint32)
    key, number = np.empty(m, dtype=np.uint64), np.empty(m, dtype=np.uint64)
    list_edges(graph, tail, head, key, number, control.stop)
    if control.stopped:
        return
    order = np.lexsort((number, ~key)).astype(np.uint64)
    match_in_order(tail, head, order, mate, control.monitor())


def solve(graph: Neighbours, start: Partners | None, options: ProofOptions, control: Control) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    mate = empty_mates(graph, start, control)
    match(graph, mate, control)
    return proved(graph, mate, mate, options, control)
