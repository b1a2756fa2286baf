"""Flow along the path between a vertex and the root of its tree, for methods that search from both sides.

Trees of the source have their roots at vertices with excess, and flow runs from the root down. Trees of the
sink have their roots at vertices with residual capacity to the sink, and flow runs up to the root. A vertex
stores the residual arc to its parent: m means that it is a root, m + 1 that it is an orphan, whose parent is
lost.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Indices, Int64
from ..graph.residual import ResidualArrays
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..stats import PUSHES


@kernel
def serve_at_vertices(net: ResidualArrays, monitor: Monitor) -> None:
    """Send excess to the sink where a vertex has both excess and residual capacity to the sink."""
    v = ZERO
    while v < np.uint64(len(net.excess)):
        amount = min(net.excess[v], net.sink_residual[v])
        if amount > 0:
            net.excess[v] -= amount
            net.sink_residual[v] -= amount
            monitor.counts[PUSHES] += ONE
            monitor.progress[0] -= amount
        v += ONE


@kernel
def path_capacity(net: ResidualArrays, parent: Indices, v: np.uint64, source: bool, amount: Int64) -> Int64:
    """Return the part of an amount that the path between a vertex and its root can carry."""
    root = np.uint64(len(net.head))
    a = np.uint64(parent[v])
    while a != root:
        amount = min(amount, np.int64(net.residual[np.uint64(net.reverse[a]) if source else a]))
        v = np.uint64(net.head[a])
        a = np.uint64(parent[v])
    return min(amount, net.excess[v] if source else net.sink_residual[v])


@kernel
def push_path(
    net: ResidualArrays, parent: Indices, next_orphan: Indices, v: np.uint64, source: bool, amount: Int64
) -> tuple[np.uint64, np.uint64]:
    """Push along the path between a vertex and its root; vertices whose tree arc is saturated become orphans.

    Return the orphan nearest to the root, first of a list linked by `next_orphan` that ends with n, and the
    number of arcs of the path, with that to the terminal.
    """
    root = np.uint64(len(net.head))
    first = np.uint64(len(net.excess))
    pushes = ONE
    a = np.uint64(parent[v])
    while a != root:
        w, b = np.uint64(net.head[a]), np.uint64(net.reverse[a])
        used, opposite = (b, a) if source else (a, b)
        net.residual[used] -= amount
        net.residual[opposite] += amount
        if net.residual[used] == 0:
            parent[v] = root + ONE
            next_orphan[v] = first
            first = v
        v = w
        a = np.uint64(parent[v])
        pushes += ONE
    if source:
        net.excess[v] -= amount
        left = net.excess[v]
    else:
        net.sink_residual[v] -= amount
        left = net.sink_residual[v]
    if left == 0:
        parent[v] = root + ONE
        next_orphan[v] = first
        first = v
    return first, pushes
