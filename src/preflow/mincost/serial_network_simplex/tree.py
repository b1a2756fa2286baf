"""The spanning tree of network simplex, and the exchange of one of its arcs.

Barr, Glover and Klingman, "Enhancements to spanning tree labelling procedures for network optimization",
INFOR 17 (1979): the tree is stored as its preorder, with the size and the last vertex of each subtree. The
sizes also tell which end of an arc to walk up from, where depths would change for all vertices that move.

What a walk to the root reads of a vertex lies together in 16 bytes. The preorder, which a change of
potentials walks along, has an array of its own: it fits the cache of a core more often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.constants import ONE
from ...kernels.kernel import kernel

#: Columns of the rows of :attr:`Tree.node`.
PARENT, LINK, SIZE, LAST = range(4)
COLUMNS = 4


class Tree(NamedTuple):
    """A spanning tree of the vertices and an artificial root, which is vertex n.

    Attributes
    ----------
    node : ndarray of uint32, shape (n + 1, COLUMNS)
        For each vertex: its parent; its link; the size of its subtree; the last vertex of its subtree in
        preorder. The *link* is twice the tree arc between the vertex and its parent, plus 1 if this arc leads
        to the parent.
    following, previous : ndarray of uint32, shape (n + 1,)
        The preorder, as a ring.
    potential : ndarray of int64, shape (n + 1,)
        Tree arcs have reduced cost zero.
    """

    node: NDArray[np.uint32]
    following: NDArray[np.uint32]
    previous: NDArray[np.uint32]
    potential: NDArray[np.int64]


@kernel
def hang(
    tree: Tree, inner: np.uint64, outer: np.uint64, cut: np.uint64, top: np.uint64, link: np.uint64
) -> None:
    """Move the subtree of `cut` below `outer`: its vertex `inner` becomes its root, joined by `link`.

    `top` is where the paths from both vertices to the root meet.
    """
    node, following, previous = tree.node, tree.following, tree.previous
    root = np.uint64(len(node)) - ONE
    moved = np.uint64(node[cut, SIZE])
    end = np.uint64(node[cut, LAST])
    # Take the subtree out of the preorder, and out of the sizes and the last vertices above it.
    before, after = np.uint64(previous[cut]), np.uint64(following[end])
    following[before] = after
    previous[after] = before
    x = np.uint64(node[cut, PARENT])
    while node[x, LAST] == end:
        node[x, LAST] = before
        if x == root:
            break
        x = np.uint64(node[x, PARENT])
    x = np.uint64(node[cut, PARENT])
    while x != top:
        node[x, SIZE] -= moved
        x = np.uint64(node[x, PARENT])
    # Turn the path from `inner` to `cut` around. Vertex by vertex, what its subtree has beside that of the
    # last one follows in the new preorder.
    below, size_below, last_below = inner, np.uint64(node[inner, SIZE]), np.uint64(node[inner, LAST])
    turned = node[inner, LINK]
    place = np.uint64(previous[inner])
    x = np.uint64(node[inner, PARENT])
    tip, follower = last_below, np.uint64(following[last_below])
    node[inner, SIZE] = moved
    while below != cut:
        size, last, above = np.uint64(node[x, SIZE]), np.uint64(node[x, LAST]), np.uint64(node[x, PARENT])
        next_link, next_place = node[x, LINK], np.uint64(previous[x])
        following[tip] = x
        previous[x] = tip
        tip = place
        if last != last_below:
            following[place] = follower
            previous[follower] = place
            tip = last
            follower = np.uint64(following[last])
        node[x, PARENT] = below
        node[x, LINK] = turned ^ np.uint32(1)
        node[x, SIZE] = moved - size_below
        below, size_below, last_below = x, size, last
        turned, place = next_link, next_place
        x = above
    x = cut
    while True:
        node[x, LAST] = tip
        if x == inner:
            break
        x = np.uint64(node[x, PARENT])
    node[inner, PARENT] = outer
    node[inner, LINK] = link
    # Put it into the preorder after `outer`.
    after = np.uint64(following[outer])
    following[outer] = inner
    previous[inner] = outer
    following[tip] = after
    previous[after] = tip
    x = outer
    while node[x, LAST] == outer:
        node[x, LAST] = tip
        if x == root:
            break
        x = np.uint64(node[x, PARENT])
    x = outer
    while x != top:
        node[x, SIZE] += moved
        x = np.uint64(node[x, PARENT])


@kernel
def shift_potentials(tree: Tree, top: np.uint64, amount: np.int64) -> None:
    """Add a number to the potentials of a subtree."""
    v = top
    for _ in range(tree.node[top, SIZE]):
        tree.potential[v] += amount
        v = np.uint64(tree.following[v])


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
