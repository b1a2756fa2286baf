"""The spanning tree of network simplex, and the exchange of one of its arcs.

Barr, Glover and Klingman, "Enhancements to spanning tree labelling procedures for network optimization",
INFOR 17 (1979): the tree is stored as its preorder, with the size and the last vertex of each subtree. The
sizes also tell which end of an arc to walk up from, where depths would change for all vertices that move.

What a walk to the root reads of a vertex lies together in 32 bytes: also how much more flow the arc to its
parent can carry each way, so that no walk reads arrays of the arcs. The preorder, which a change of
potentials walks along, has an array of its own: it fits the cache of a core more often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel

#: Columns of the rows of :attr:`Tree.node`.
PARENT, LINK, SIZE, LAST = range(4)
#: Columns of the rows of :attr:`Tree.room`.
UP, DOWN = 2, 3
#: Columns of 32 bits of a row.
COLUMNS = 8
#: The number of artificial arcs in links: no other arc has it.
ARTIFICIAL = np.uint32(2**31 - 1)
#: The potential of the root stays below this, so that all potentials fit.
MOST_SHIFT = 2**60


class Tree(NamedTuple):
    """A spanning tree of the vertices and an artificial root, which is vertex n."""

    #: shape (n + 1, COLUMNS): for each vertex: its parent; its link; the size of its subtree; the last vertex
    #: of its subtree in preorder. The *link* is twice the tree arc between the vertex and its parent, plus 1
    #: if this arc leads to the parent.
    node: NDArray[np.uint32]
    #: shape (n + 1, COLUMNS / 2): the same memory. Its last two columns are the *rooms* of each vertex: how
    #: much more flow the tree arc can carry to the parent, and from it.
    room: NDArray[np.int64]
    #: shape (n + 1,): the preorder, as a ring
    following: NDArray[np.uint32]
    previous: NDArray[np.uint32]
    #: shape (n + 1,): tree arcs have reduced cost zero. The potential of the root is any number.
    potential: NDArray[np.int64]


def new_tree(num_vertices: int) -> Tree:
    """Return the arrays of a tree, each row within a cache line."""
    rows = num_vertices + 1
    memory = np.zeros((rows + 2) * COLUMNS, dtype=np.uint32)
    skip = -memory.__array_interface__["data"][0] % 64 // 4
    node = memory[skip : skip + rows * COLUMNS].reshape(rows, COLUMNS)
    ring = np.zeros((2, rows), dtype=np.uint32)
    return Tree(node, node.view(np.int64), ring[0], ring[1], np.zeros(rows, dtype=np.int64))


@kernel
def send(tree: Tree, begin: np.uint64, end: np.uint64, amount: Int64, vertices: np.uint64) -> None:
    """Send flow from `begin` up to its ancestor `end`; add `vertices` to the sizes in between."""
    node, room = tree.node, tree.room
    v = begin
    while v != end:
        room[v, UP] -= amount
        room[v, DOWN] += amount
        node[v, SIZE] += vertices
        v = np.uint64(node[v, PARENT])


@kernel
def hang(tree: Tree, inner: np.uint64, outer: np.uint64, cut: np.uint64) -> None:
    """Move the subtree of `cut` below `outer`: its vertex `inner` becomes its root.

    The caller changes the sizes above the subtree, and writes the link and the rooms of `inner`.
    """
    node, room, following, previous = tree.node, tree.room, tree.following, tree.previous
    root = np.uint64(len(node)) - ONE
    moved = np.uint64(node[cut, SIZE])
    end = np.uint64(node[cut, LAST])
    # Take the subtree out of the preorder, and out of the last vertices above it.
    before, after = np.uint64(previous[cut]), np.uint64(following[end])
    following[before] = after
    previous[after] = before
    x = np.uint64(node[cut, PARENT])
    while node[x, LAST] == end:
        node[x, LAST] = before
        if x == root:
            break
        x = np.uint64(node[x, PARENT])
    # Turn the path from `inner` to `cut` around. Vertex by vertex, what its subtree has beside that of the
    # last one follows in the new preorder.
    below, size_below, last_below = inner, np.uint64(node[inner, SIZE]), np.uint64(node[inner, LAST])
    turned, turned_up, turned_down = node[inner, LINK], room[inner, UP], room[inner, DOWN]
    place = np.uint64(previous[inner])
    x = np.uint64(node[inner, PARENT])
    tip, follower = last_below, np.uint64(following[last_below])
    node[inner, SIZE] = moved
    while below != cut:
        size, last, above = np.uint64(node[x, SIZE]), np.uint64(node[x, LAST]), np.uint64(node[x, PARENT])
        next_link, next_place = node[x, LINK], np.uint64(previous[x])
        next_up, next_down = room[x, UP], room[x, DOWN]
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
        room[x, UP], room[x, DOWN] = turned_down, turned_up
        node[x, SIZE] = moved - size_below
        below, size_below, last_below = x, size, last
        turned, turned_up, turned_down, place = next_link, next_up, next_down, next_place
        x = above
    x = cut
    while True:
        node[x, LAST] = tip
        if x == inner:
            break
        x = np.uint64(node[x, PARENT])
    node[inner, PARENT] = outer
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


@kernel
def shift_potentials(tree: Tree, top: np.uint64, amount: Int64) -> None:
    """Add a number to the potentials of a subtree, or subtract it from all others if these are fewer.

    The loop walks along the preorder from both ends: each step waits for memory, and two walks wait at once.
    """
    node, following, previous, potential = tree.node, tree.following, tree.previous, tree.potential
    rows = np.uint64(len(node))
    root = rows - ONE
    count, v, w = np.uint64(node[top, SIZE]), top, np.uint64(node[top, LAST])
    if count + count > rows and abs(potential[root] - amount) < MOST_SHIFT:
        count, v, w = rows - count, np.uint64(following[w]), np.uint64(previous[v])
        amount = -amount
    if count & ONE:
        potential[v] += amount
        v = np.uint64(following[v])
    for _ in range(ZERO, count >> ONE):
        potential[v] += amount
        potential[w] += amount
        v = np.uint64(following[v])
        w = np.uint64(previous[w])
