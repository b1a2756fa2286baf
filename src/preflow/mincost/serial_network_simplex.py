"""Primal network simplex with strongly feasible trees and block pricing.

Dantzig 1951; Cunningham 1976 for strongly feasible trees; Grigoriadis 1986 for block pricing.

Definitions. The *tree* spans all vertices and an artificial root. Arcs outside the tree are empty or full.
An artificial arc of unlimited capacity joins each vertex to the root: it leads to the root at a vertex that
supplies, at cost zero, and from the root elsewhere, at a cost above that of all paths. An *eligible* arc is
an empty one of negative reduced cost, or a full one of positive reduced cost.

Invariants, between two pivots:

1. The flow sends all supplies, with the help of artificial arcs, and is between zero and the capacities.
2. Tree arcs have reduced cost zero.
3. The tree is *strongly feasible*: every vertex can send a unit to the root along tree arcs. Then no
   sequence of pivots that move no flow returns to an earlier tree.

Pseudo-code::

    tree = the artificial arcs, with the supplies as flow
    loop:
        look at blocks of arcs in turn, until one has eligible arcs
        if there is none: the flow is optimal; infeasible if an arc of the root carries flow to a demand
        take the eligible arc of the block with the largest reduced cost
        send as much flow as possible around the cycle that it closes in the tree
        exchange it with the last arc of the cycle, seen from its top, that is now full or empty
        add its reduced cost to the potentials of the subtree that moved

A block has a few times sqrt(m) arcs. The number of pivots is O(n m C U) at worst; on NETGEN-8 it was 3 to 5 a
vertex with 10,000 and with 50,000 vertices. A pivot takes the time of the cycle and of the subtree that
moves, 65 and 200 vertices on the mean with 10,000 vertices, 110 and 420 with 50,000.

An earlier solve gives a tree to start from, and says which other arcs are full. The supplies then flow along
the tree from its leaves. A tree arc that cannot carry what it should, or that could not send one more unit to
the root, leaves the tree, and its lower vertex sends the rest to the artificial root. The artificial arc
costs what keeps the potential of the vertex. Without a tree, arcs between their bounds and those of reduced
cost zero are its arcs, as far as they close no cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import check_positive
from ..graph.standard_form import StandardForm
from ..solving.run import Control
from .network_simplex import Arcs, Simplex, forest_of, write_flow
from .network_simplex.tree import ARTIFICIAL, LINK
from .solution import FlowState

#: With at least this number of arcs a vertex, pricing goes through arcs that are this number apart. Arcs are
#: mostly given by their tails; the arcs of a block then have different tails. On a Xeon this takes 0.72 of
#: the time on NETGEN-8 with 10,000 vertices, 1.00 on GRIDGEN-8 and GOTO; on a grid of degree 4 it takes 1.07.
LEAST_STRIDE = 6
#: Reduced costs of an earlier flow that are in memory at a time.
PIECE = 1 << 16


@dataclass(frozen=True)
class SimplexOptions:
    """Options of network simplex.

    Attributes
    ----------
    block : float
        Arcs of a block, as a multiple of the root of the number of arcs. With 1, 2, 3 and 5 a Xeon took 0.73,
        0.68, 0.81 and 1.04 s on NETGEN-8 with 50,000 vertices, 0.069, 0.068, 0.068 and 0.070 s on a 100 x 100
        grid, and 2.02, 1.98, 1.81 and 1.91 s on a 256 x 256 grid of 256 sources.
    """

    block: float = 2.0

    def __post_init__(self) -> None:
        check_positive("block", self.block)


def solve(
    instance: StandardForm, start: FlowState | None, options: SimplexOptions, control: Control
) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    m, n = len(instance.tail), len(instance.supply)
    largest = max(int(instance.cost.max(initial=0)), -int(instance.cost.min(initial=0)))
    order = _pricing_order(m, n)
    form = instance
    if len(order):
        tail, head, capacity, cost, supply = instance.widened()
        form = StandardForm(tail[order], head[order], capacity[order], cost[order], supply)
        del capacity
    simplex = Simplex(form, largest, options.block)
    if start is not None:
        start_from_state(simplex, start, order)
    ending = simplex.run(control.monitor())
    flow = np.zeros(m, dtype=np.int64)
    write_flow(simplex.tree, simplex.arcs, flow, order)
    potential, by = simplex.potential, simplex.tree.node[:-1, LINK] >> np.uint32(1)
    del simplex, form
    if len(order):
        by[by != ARTIFICIAL] = order[by[by != ARTIFICIAL]]
    return FlowState(flow, potential, ending, by)


def start_from_state(simplex: Simplex, state: FlowState, order: NDArray[np.uint32]) -> None:
    """Start from the tree of an earlier solve, else from a forest of arcs between their bounds."""
    arcs, n = simplex.arcs, simplex.num_vertices
    flow = state.flow[order] if len(order) else state.flow
    signs = _signs_of_reduced(arcs, state.potential)
    arcs.full[:] = -((flow > 0) & ((flow == arcs.capacity) | (signs < 0))).astype(np.int8)
    hung = None if state.basis is None else _hung(arcs, state.basis, order, n)
    if hung is not None and simplex.start_from(*hung, state.potential):
        return
    free = (flow > 0) & (flow < arcs.capacity)
    chosen = np.concatenate([np.flatnonzero(free), np.flatnonzero(~free & (signs == 0))]).astype(np.uint32)
    simplex.start_from(*forest_of(arcs.tail, arcs.head, chosen, n), state.potential)


def _signs_of_reduced(arcs: Arcs, potential: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the signs of the reduced costs, piece by piece: all at once they would take 24 bytes an arc."""
    signs = np.empty(len(arcs.tail), dtype=np.int8)
    for begin in range(0, len(signs), PIECE):
        part = slice(begin, begin + PIECE)
        signs[part] = np.sign(arcs.cost[part] + potential[arcs.tail[part]] - potential[arcs.head[part]])
    return signs


def _hung(
    arcs: Arcs, basis: NDArray[np.uint32], order: NDArray[np.uint32], n: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]] | None:
    """Return the parents and arcs of a basis, None if it belongs to other arcs."""
    m, by = len(arcs.tail), basis.copy()
    real = np.flatnonzero(by != ARTIFICIAL)
    if len(by) != n or (by[real] >= m).any():
        return None
    if len(order):
        place = np.empty(m, dtype=np.uint32)
        place[order] = np.arange(m, dtype=np.uint32)
        by[real] = place[by[real]]
    tail, head = arcs.tail[by[real]], arcs.head[by[real]]
    if not ((tail == real) | (head == real)).all():
        return None
    parent = np.full(n, n, dtype=np.uint32)
    parent[real] = np.where(tail == real, head, tail)
    return parent, by


def _pricing_order(num_arcs: int, num_vertices: int) -> NDArray[np.uint32]:
    """Return the arcs in the order of pricing; an empty array if they stay as they are: a vertex has few."""
    stride = num_arcs // max(num_vertices, 1)
    if stride < LEAST_STRIDE:
        return np.zeros(0, dtype=np.uint32)
    rows = -(-num_arcs // stride)
    order = np.arange(rows * stride, dtype=np.uint32).reshape(rows, stride).T.reshape(-1)
    return order[order < num_arcs]
