"""Invariants of :mod:`preflow.maxflow.warm.search_trees`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import Array
from preflow.maxflow.warm.search_trees import FREE, SINK, SOURCE, FlowState, KeptForest


def check_invariants(state: FlowState, forest: KeptForest) -> None:
    """Assert the invariants between two searches, which the solver lists; O(m)."""
    net, side = state.net, forest.side
    n, m = len(net.excess), len(net.head)
    assert not ((net.excess > 0) & (net.sink_residual > 0)).any(), "a vertex has supply and demand"
    assert (side[net.excess > 0] == SOURCE).all()
    assert (side[net.sink_residual > 0] == SINK).all()
    degree: Array = net.first_out[1:] - net.first_out[:-1]
    tail = np.repeat(np.arange(n), degree)
    open_ = net.residual > 0
    leaving = open_ & (side[tail] == SOURCE) & (side[net.head] != SOURCE)
    entering = open_ & (side[net.head] == SINK) & (side[tail] != SINK)
    assert not leaving.any(), "a residual arc leads out of the source forest"
    assert not entering.any(), "a residual arc leads into the sink forest"
    for v in np.flatnonzero(side != FREE):
        a = int(forest.parent[v])
        assert a <= m, "there is an orphan"
        if a == m:
            assert (net.excess[v] > 0) if side[v] == SOURCE else (net.sink_residual[v] > 0)
            continue
        w = net.head[a]
        assert net.first_out[v] <= a < net.first_out[v + 1]
        assert side[w] == side[v]
        assert forest.label[w] < forest.label[v], "labels do not increase"
        assert net.residual[a if side[v] == SINK else net.reverse[a]] > 0, "an arc of a tree is saturated"
