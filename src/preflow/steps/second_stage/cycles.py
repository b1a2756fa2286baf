"""Cancel cycles of flow on dynamic trees.

Sleator and Tarjan, "A data structure for dynamic trees" (1983), section 6.
The second stage uses it when walking the cycles would take more than O(m log n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Int64, Integers
from ...graph.residual import ResidualArrays
from ...kernels.constants import ONE
from ...kernels.kernel import kernel
from ...network.arcs import end, first, head, opposite
from .link_cut import (
    LinkCutForest,
    add_to_root,
    cut,
    cut_below,
    find_root,
    least_to_root,
    link,
    make_forest,
)

#: States of a vertex: the root of a tree, linked to another vertex, or on no cycle.
ROOT, LINKED, FINISHED = 0, 1, 2


@kernel
def _set_inflow(net: ResidualArrays, initial: Integers, arc: np.uint64, amount: Int64) -> None:
    """Cancel all but `amount` of the flow into a vertex over one of its arcs."""
    cancelled = net.residual[arc] - initial[arc] - amount
    net.residual[arc] -= cancelled
    net.residual[opposite(net, arc)] += cancelled


@kernel
def cancel_cycles(
    net: ResidualArrays, initial: Integers, forest: LinkCutForest, current: Indices, state: NDArray[np.uint8]
) -> None:
    """Cancel all cycles of flow, in O(m log n).

    The edges of a tree are the current arcs of its vertices, which lead upstream; the value of an edge is
    the flow on its arc. An arc that leads from a root into its own tree closes a cycle. A root without
    further inflow is on no cycle, nor are the arcs to it: it is finished. On entry `current` has the first
    arcs and `state` is ROOT everywhere.
    """
    for start in range(len(net.excess)):
        while state[start] != FINISHED:
            v = find_root(forest, np.uint64(start))
            a = np.uint64(current[v])
            last = end(net, v)
            while a < last and (net.residual[a] <= initial[a] or state[head(net, v, a)] == FINISHED):
                a += ONE
            current[v] = a
            if a < last:
                w = head(net, v, a)
                inflow = np.int64(net.residual[a] - initial[a])
                if find_root(forest, w) != v:
                    link(forest, v, w, inflow)
                    state[v] = LINKED
                    continue
                amount = min(inflow, least_to_root(forest, w))
                _set_inflow(net, initial, a, inflow - amount)
                add_to_root(forest, w, -amount)
                u = cut_below(forest, w, 0)
                while u < np.uint64(len(state)):
                    _set_inflow(net, initial, np.uint64(current[u]), 0)
                    state[u] = ROOT
                    u = cut_below(forest, w, 0)
                continue
            b = first(net, v)
            while b < last:
                u = head(net, v, b)
                if state[u] == LINKED and current[u] == opposite(net, b):
                    _set_inflow(net, initial, np.uint64(current[u]), cut(forest, u))
                    state[u] = ROOT
                    current[u] += 1
                b += ONE
            state[v] = FINISHED


def cancel_all(net: ResidualArrays, initial: Array) -> None:
    """Cancel all cycles of flow in place; `initial` are the residual capacities before any push."""
    n = len(net.excess)
    state = np.full(n, ROOT, dtype=np.uint8)
    cancel_cycles(net, initial, make_forest(n, net.head.dtype), net.first_out[:-1].copy(), state)
