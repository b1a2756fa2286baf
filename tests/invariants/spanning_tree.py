"""Invariants of :mod:`preflow.mincost.network_simplex.tree`."""

from __future__ import annotations

import numpy as np

from preflow.mincost.network_simplex.tree import LAST, PARENT, SIZE, Tree


def check_tree(tree: Tree) -> None:
    """Raise AssertionError unless the rows describe one spanning tree in preorder."""
    node = tree.node.astype(np.int64)
    root = len(node) - 1
    order = [root]
    while len(order) <= root:
        order.append(int(tree.following[order[-1]]))
        assert tree.previous[order[-1]] == order[-2]
    assert tree.following[order[-1]] == root
    assert sorted(order) == list(range(root + 1)), "the preorder has every vertex once"
    place = {v: i for i, v in enumerate(order)}
    size = np.ones(root + 1, dtype=np.int64)
    for v in reversed(order[1:]):
        assert place[int(node[v, PARENT])] < place[v]
        size[node[v, PARENT]] += size[v]
    assert (size == node[:, SIZE]).all()
    for v in order:
        assert node[v, LAST] == order[place[v] + size[v] - 1]
        if v != root:
            parent = int(node[v, PARENT])
            assert place[parent] < place[v] < place[parent] + size[parent]
