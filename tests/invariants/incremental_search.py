"""Invariants of :mod:`preflow.forests.incremental_search`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import ResidualNetwork
from preflow.forests.incremental_search import SINK, SOURCE, Forests
from preflow.kernels.two_queues import HEAD, LENGTH
from preflow.network.arcs import capacity, end, first, head, no_arc, terminal


@np.errstate(over="ignore")  # a step backwards on a grid is modulo 2**64
def check_invariants(net: ResidualNetwork, forests: Forests, begin: int, last: int) -> None:
    """Assert the invariants between two levels for a run of vertices, which the solver lists."""
    root = int(no_arc(net))
    for forest in (SOURCE, SINK):
        start, length = int(forests.cursor[HEAD + forest]), int(forests.cursor[LENGTH + forest])
        queue = sorted(
            int(forests.queue[forest, (start + k) % forests.queue.shape[1]]) for k in range(length)
        )
        queued = np.flatnonzero(forests.queued[begin:last] >> forest & 1) + begin
        assert queue == queued.tolist(), "others are queued than those marked"
    for v in map(np.uint64, range(begin, last)):
        label, code = int(forests.label[v]), int(forests.parent[v])
        source, sign = label > 0, np.sign(label)
        excess, demand = int(terminal(net, v, True)), int(terminal(net, v, False))
        assert not (excess > 0 and demand > 0), "a vertex has excess and capacity"
        if excess > 0 or demand > 0:
            assert code == root, "a vertex with a terminal amount is no root"
            assert sign == (1 if excess > 0 else -1), "a root is in the wrong forest"
        if label == 0:
            continue
        assert code <= root, "a vertex is an orphan"
        if code == root:
            assert excess > 0 or demand > 0, "a root has no terminal amount"
        else:
            a = np.uint64(code)
            w = head(net, v, a)
            assert capacity(net, v, w, a, source) > 0, "a tree arc is saturated"
            assert 0 < sign * int(forests.label[w]) < sign * label, "a label is not above that of the parent"
        if not int(forests.queued[v]) >> int(label < 0) & 1:
            for a in map(np.uint64, range(int(first(net, v)), int(end(net, v)))):
                w = head(net, v, a)
                if capacity(net, v, w, a, not source) > 0:
                    assert sign * int(forests.label[w]) > 0, "a forest can grow from a vertex off its queue"
