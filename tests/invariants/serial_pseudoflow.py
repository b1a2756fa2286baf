"""Invariants of :mod:`preflow.maxflow.serial_pseudoflow`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import Array
from preflow.graph.residual import ResidualArrays
from preflow.kernels.constants import ZERO
from preflow.maxflow.serial_pseudoflow import CHILD, FOLLOWING, PREVIOUS, UP, Forest
from preflow.network import distances_to_sink


def check_invariants(net: ResidualArrays, forest: Forest) -> None:
    """Assert the invariants between two mergers, which the solver lists; O(m)."""
    n, m, label = len(forest.label), len(net.head), forest.label
    # A dead vertex may have an arc to one above the same gap that keeps its label.
    degree: Array = net.first_out[1:] - net.first_out[:-1]
    tail = np.repeat(np.arange(n), degree)
    bound = (net.residual > 0) & (label[tail] <= n)
    assert (label[tail[bound]] <= label[net.head[bound]] + 1).all(), "labels are not valid"
    exact = np.full_like(label, n + 1)
    distances_to_sink(net, exact, np.empty_like(label), ZERO, ZERO, ZERO, False)
    assert (label <= exact).all(), "a label is larger than the distance to the sink"
    up = forest.vertex[:, UP]
    child = np.flatnonzero(up != m)
    parent = net.head[up[child]]
    assert (net.excess[child] == 0).all(), "a vertex below a root has excess"
    assert (net.sink_residual[child] == 0).all(), "a vertex below a root has capacity to the sink"
    assert (label[child] >= label[parent]).all(), "a vertex is below the level of its parent"
    assert not ((net.excess > 0) & (net.sink_residual > 0)).any(), "a strong root has capacity to the sink"
    assert forest.population.tolist() == np.bincount(label, minlength=n + 2).tolist(), "wrong counts"
    listed: list[int] = []
    for v in range(n):
        w, before = int(forest.vertex[v, CHILD]), n
        while w != n and len(listed) <= n:
            assert up[w] != m, "a root is a child"
            assert net.head[up[w]] == v, "a child of a vertex has another parent"
            assert before == n or forest.vertex[w, PREVIOUS] == before, "the links of children disagree"
            listed.append(w)
            before, w = w, int(forest.vertex[w, FOLLOWING])
    assert sorted(listed) == child.tolist(), "a child is not listed once"
