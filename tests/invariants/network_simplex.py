"""Invariants of :mod:`preflow.mincost.network_simplex`."""

from __future__ import annotations

import numpy as np

from preflow.mincost.network_simplex import Simplex
from preflow.mincost.network_simplex.tree import ARTIFICIAL, DOWN, LINK, PARENT, UP
from tests.invariants.spanning_tree import check_tree


def check_invariants(simplex: Simplex) -> None:
    """Raise AssertionError unless the invariants hold between two pivots."""
    tree, arcs, n, end = simplex.tree, simplex.arcs, simplex.num_vertices, simplex.end
    check_tree(tree)
    flow = simplex.flow
    assert (flow >= 0).all()
    assert (flow <= arcs.capacity[:end]).all()
    left = simplex.supply.copy()
    np.subtract.at(left, arcs.tail[:end], flow)
    np.add.at(left, arcs.head[:end], flow)
    potential = tree.potential
    for v in range(n):
        link, parent = int(tree.node[v, LINK]), int(tree.node[v, PARENT])
        up, down = int(tree.room[v, UP]), int(tree.room[v, DOWN])
        assert up > 0, "every vertex can send a unit to the root"
        arc = link >> 1
        if arc == ARTIFICIAL:
            assert parent == n
            left[v] -= down if link & 1 else -up
            continue
        assert arcs.full[arc] == 0
        assert up + down == arcs.capacity[arc]
        ends = int(arcs.tail[arc]), int(arcs.head[arc])
        assert ends == ((v, parent) if link & 1 else (parent, v))
        assert arcs.cost[arc] + potential[ends[0]] - potential[ends[1]] == 0
    assert not left.any(), "the flow sends all supplies"
