"""Capacity scaling: shortest paths that carry large amounts first (Edmonds and Karp 1972).

The form is that of Ahuja, Magnanti and Orlin 1993, section 10.2, without their artificial arcs of large cost:
a phase ends where no path can carry its amount.

Definitions. The *excess* of a vertex is its supply, plus the flow into it, minus the flow out of it. The
*length* of a residual arc is its reduced cost. *Delta* is a power of two.

Invariants, in a phase:

1. No residual arc that can carry `delta` has negative length.
2. The flow of every arc is between zero and its capacity.

Pseudo-code::

    delta = the largest power of two that is at most the largest capacity or supply
    until delta is 0:
        fill the residual arcs of negative length that can carry delta
        while a vertex with an excess of delta reaches, by arcs that carry delta, one that lacks delta:
            send flow along the shortest such path
        delta = delta // 2
    the instance is infeasible if excess is left

Each phase begins with at most ``n + m`` times `2 delta` that the last phase could not send or that the filled
arcs added, so it sends O(n + m) paths: O(m (m log n) log U) in all for largest amount U.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from ..graph.standard_form import StandardForm
from ..kernels.kernel import kernel
from ..solving.options import NoOptions
from ..solving.run import Control
from ..stats import PHASES
from .arc_lists import ArcLists, arc_lists, tight_flow
from .infeasible import excesses
from .shortest_paths import ENDINGS, new_search, send_along_paths
from .solution import FlowState


@kernel
def fill_short_arcs(
    net: ArcLists,
    tail: Indices,
    potential: NDArray[np.int64],
    excess: NDArray[np.int64],
    delta: np.int64,
) -> None:
    """Fill the residual arcs of negative length that can carry `delta`."""
    for arc in range(len(net.head)):
        u, v = tail[arc], net.head[arc]
        if net.residual[arc] >= delta and net.cost[arc] + potential[u] - potential[v] < 0:
            excess[u] -= net.residual[arc]
            excess[v] += net.residual[arc]
            net.residual[net.mate[arc]] += net.residual[arc]
            net.residual[arc] = 0


def solve(instance: StandardForm, start: FlowState | None, options: NoOptions, control: Control) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    n = len(instance.supply)
    potential = np.zeros(n, dtype=np.int64) if start is None else start.potential.copy()
    flow = (
        np.zeros(len(instance.tail), dtype=np.int64)
        if start is None
        else tight_flow(instance, start, potential)
    )
    net = arc_lists(instance, flow)
    tail = net.head[net.mate]
    excess = excesses(instance, flow)
    control.progress[:] = excess[excess > 0].sum(dtype=np.float64)
    search, monitor = new_search(n), control.monitor()
    largest = max(int(instance.capacity.max(initial=0)), int(np.abs(excess).max(initial=0)), 1)
    ending = 0
    for bit in reversed(range(largest.bit_length())):
        delta = np.int64(1 << bit)
        fill_short_arcs(net, tail, potential, excess, delta)
        sources = np.flatnonzero(excess >= delta).astype(np.uint64)
        ending = int(send_along_paths(net, tail, potential, excess, sources, delta, search, monitor))
        control.counts[PHASES] += np.uint64(1)
        if control.stopped and bit > 0:
            # A phase that ends without a path to its amount says nothing of smaller amounts.
            return FlowState(net.flow(instance.capacity), potential, "stopped")
    return FlowState(net.flow(instance.capacity), potential, ENDINGS[ending])
