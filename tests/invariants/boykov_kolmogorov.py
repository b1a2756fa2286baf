"""Invariants of :mod:`preflow.forests.boykov_kolmogorov`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preflow.arrays import ResidualNetwork
from preflow.forests.boykov_kolmogorov import FREE, HEAD, LENGTH, PARENT, SINK, SOURCE, TIME, Trees
from preflow.network.arcs import capacity, end, first, head, no_arc, terminal


@np.errstate(over="ignore")  # a step backwards on a grid is modulo 2**64
def check_invariants(net: ResidualNetwork, trees: Trees, taken: Sequence[int] = ()) -> None:
    """Assert the invariants, which the solver lists; O(m).

    While the trees grow from a vertex that is `taken` from the queue, it counts as active.
    """
    root, side = int(no_arc(net)), trees.side
    begin, length = int(trees.cursor[HEAD]), int(trees.cursor[LENGTH])
    queued = [int(trees.queue[(begin + k) % len(trees.queue)]) for k in range(length)]
    assert sorted(queued) == np.flatnonzero(trees.active).tolist(), "others are queued than the active"
    for v in map(np.uint64, range(len(side))):
        excess, demand = int(terminal(net, v, True)), int(terminal(net, v, False))
        assert not (excess > 0 and demand > 0), "a vertex has excess and capacity"
        assert not excess > 0 or side[v] == SOURCE, "a vertex with excess is not in the source's tree"
        assert not demand > 0 or side[v] == SINK, "one with capacity is not in the sink's tree"
        if side[v] == FREE:
            continue
        source, up = side[v] == SOURCE, int(trees.vertex[v, PARENT])
        assert up <= root, "a vertex is an orphan"
        if up == root:
            assert (excess if source else demand) > 0, "a root has no terminal amount"
        else:
            a = np.uint64(up)
            w = head(net, v, a)
            assert capacity(net, v, w, a, source) > 0, "a tree arc is saturated"
            assert side[w] == side[v], "a parent is in the other tree"
            assert trees.vertex[w, TIME] >= trees.vertex[v, TIME], "a parent has an earlier time"
        if not trees.active[v] and v not in taken:
            for a in map(np.uint64, range(int(first(net, v)), int(end(net, v)))):
                w = head(net, v, a)
                if capacity(net, v, w, a, not source) > 0:
                    assert side[w] == side[v], "a tree can grow from a passive vertex"
