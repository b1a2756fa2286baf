"""The state of the weighted blossom algorithm, its union-find and its heaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Int64
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.heap import move_down, move_up
from ...kernels.kernel import kernel
from ...kernels.union_find import find_set
from ..links import NONE

#: Labels of nodes: outside the tree, at even and at odd distance from the root.
OUTSIDE, EVEN, ODD = np.uint8(0), np.uint8(1), np.uint8(2)
#: Positions in :attr:`WeightedForest.sizes`: nodes and edges in the heaps, labelled nodes, even vertices that
#: are to be scanned, blossoms that are not in use, expanded ones that lead to their largest child, and the
#: number of the last search for a common ancestor.
WAITING_NODES, WAITING_EDGES, LABELLED, TO_SCAN, SPARE, LEADING, STAMP = range(7)
#: Positions in :attr:`WeightedForest.time`.
NOW, END = range(2)


class WeightedForest(NamedTuple):
    """The matching, the blossoms and the tree of the search.

    A *node* is a vertex, 0 to n - 1, or a blossom, n and above.
    """

    #: shape (n,): twice the dual of each vertex as of when it was last written, but for `added`. For an even
    #: vertex the time is added: its dual now is this minus the time.
    dual: NDArray[np.int64]
    #: shape (nodes,): what is to be added to the duals of the vertices of an outermost node; 0 for an even
    #: one
    added: NDArray[np.int64]
    #: uint32, shape (n,): the outermost node of each vertex when it was last written; `group` leads from it
    #: to the one now
    top: Indices
    size: Indices  #: uint32, shape (nodes,): how many vertices a node has
    following: Indices  #: uint32, shape (n,): the next vertex in the list of the vertices of a node
    #: uint32, shape (nodes,): where the list of the vertices of a node begins and ends
    first: Indices
    last: Indices
    #: uint32, shape (nodes,): union-find: leads from a node that was outermost to the node that is now. From
    #: a node to the blossom that it became a part of in this search, and from an expanded blossom to its
    #: largest child.
    group: Indices
    label: NDArray[np.uint8]  #: shape (nodes,)
    since: NDArray[np.int64]  #: shape (nodes,): the time when the node got its label
    #: uint32, shape (nodes,): the matched edge that leaves an outermost node, from its vertex inside, its
    #: *base*, to the one outside; `outer` is NONE where the node is free
    inner: Indices
    outer: Indices
    #: uint32, shape (nodes,): the edge by which the tree reaches an odd node. In the heap: by which it would
    #: reach the node.
    from_even: Indices
    to_odd: Indices
    #: shape (nodes,): twice the dual of each blossom as of when it got its label
    blossom_dual: NDArray[np.int64]
    parent: Indices  #: uint32, shape (nodes,): the blossom that a node is a child of, or NONE
    child: Indices  #: uint32, shape (nodes,): one child of a blossom
    sibling: Indices  #: uint32, shape (nodes,): the next child around the cycle of the blossom
    #: uint32, shape (nodes,): the edge from a child to its sibling
    link_from: Indices
    link_to: Indices
    #: uint32, shape (nodes,): the last search for a common ancestor that came to the node
    seen: Indices
    #: shape (nodes,): in the heap: the time when the tree reaches the node, or when an odd blossom has dual 0
    key: NDArray[np.int64]
    place: Indices  #: uint32, shape (nodes,): the place of a node in the heap
    heap: Indices  #: uint32, shape (nodes,)
    #: shape (m,): a heap of the edges between even nodes, by the time when they become tight
    edge_key: NDArray[np.int64]
    #: uint32, shape (m,)
    edge_from: Indices
    edge_to: Indices
    labelled: Indices  #: uint32, shape (2 nodes,)
    to_scan: Indices  #: uint32, shape (n,)
    #: uint32, shape (nodes - n,)
    spare: Indices
    leading: Indices
    #: shape (2,): the edge to a free node by which the search ends, or an even vertex whose dual becomes 0
    #: and NONE
    terminal: NDArray[np.uint64]
    #: shape (2,): the time, and the time when the search ends as far as is known
    time: NDArray[np.int64]
    sizes: NDArray[np.uint64]  #: shape (7,)


def new_forest(num_vertices: int, num_edges: int) -> WeightedForest:
    """Return the state without matching, blossoms and duals."""
    # Half as many blossoms as vertices are in use at most, a search makes half as many more at most, and the
    # last part is for blossoms that lead to their largest child.
    n, nodes = num_vertices, 2 * num_vertices + num_vertices // 4
    vertices, all_nodes = np.arange(n, dtype=np.uint32), np.arange(nodes, dtype=np.uint32)

    def filled(size: int, value: int = int(NONE)) -> Indices:
        return np.full(size, value, dtype=np.uint32)

    spare = all_nodes[n:][::-1].copy()
    sizes = np.zeros(7, dtype=np.uint64)
    sizes[SPARE] = len(spare)
    return WeightedForest(
        dual=np.zeros(n, dtype=np.int64),
        added=np.zeros(nodes, dtype=np.int64),
        top=vertices.copy(),
        size=filled(nodes, 1),
        following=filled(n),
        first=all_nodes.copy(),
        last=all_nodes.copy(),
        group=all_nodes.copy(),
        label=np.zeros(nodes, dtype=np.uint8),
        since=np.zeros(nodes, dtype=np.int64),
        inner=all_nodes.copy(),
        outer=filled(nodes),
        from_even=filled(nodes),
        to_odd=filled(nodes),
        blossom_dual=np.zeros(nodes, dtype=np.int64),
        parent=filled(nodes),
        child=filled(nodes),
        sibling=filled(nodes),
        link_from=filled(nodes),
        link_to=filled(nodes),
        seen=filled(nodes, 0),
        key=np.zeros(nodes, dtype=np.int64),
        place=filled(nodes),
        heap=filled(nodes, 0),
        edge_key=np.zeros(num_edges, dtype=np.int64),
        edge_from=filled(num_edges, 0),
        edge_to=filled(num_edges, 0),
        labelled=filled(2 * nodes, 0),
        to_scan=filled(n, 0),
        spare=spare,
        leading=filled(len(spare), 0),
        terminal=np.zeros(2, dtype=np.uint64),
        time=np.zeros(2, dtype=np.int64),
        sizes=sizes,
    )


@kernel
def top_node(forest: WeightedForest, vertex: np.uint64) -> np.uint64:
    """Return the outermost node of a vertex."""
    return np.uint64(find_set(forest.group, np.uint64(forest.top[vertex])))


@kernel
def put_node(forest: WeightedForest, node: np.uint64, key: Int64) -> None:
    """Put a node into the heap, or lower its key."""
    place = np.uint64(forest.place[node])
    forest.key[node] = key
    if place == NONE:
        place = forest.sizes[WAITING_NODES]
        forest.sizes[WAITING_NODES] = place + ONE
    move_up(forest.heap, forest.place, forest.key, place, node)


@kernel
def take_node(forest: WeightedForest, node: np.uint64) -> None:
    """Take a node out of the heap, if it is there."""
    hole = np.uint64(forest.place[node])
    if hole == NONE:
        return
    forest.place[node] = NONE
    size = forest.sizes[WAITING_NODES] - ONE
    forest.sizes[WAITING_NODES] = size
    if hole == size:
        return
    moved = np.uint64(forest.heap[size])
    if forest.key[moved] <= forest.key[node]:
        move_up(forest.heap, forest.place, forest.key, hole, moved)
    else:
        move_down(forest.heap, forest.place, forest.key, hole, moved, size)


@kernel
def put_edge(forest: WeightedForest, u: np.uint64, v: np.uint64, key: Int64) -> None:
    """Put an edge between two even nodes into the heap."""
    keys, from_, to = forest.edge_key, forest.edge_from, forest.edge_to
    hole = forest.sizes[WAITING_EDGES]
    forest.sizes[WAITING_EDGES] = hole + ONE
    while hole > ZERO:
        above = (hole - ONE) // TWO
        if keys[above] <= key:
            break
        keys[hole], from_[hole], to[hole] = keys[above], from_[above], to[above]
        hole = above
    keys[hole], from_[hole], to[hole] = key, u, v


@kernel
def take_first_edge(forest: WeightedForest) -> None:
    """Take the first edge out of the heap."""
    keys, from_, to = forest.edge_key, forest.edge_from, forest.edge_to
    size = forest.sizes[WAITING_EDGES] - ONE
    forest.sizes[WAITING_EDGES] = size
    key, u, v = keys[size], from_[size], to[size]
    hole = ZERO
    while True:
        below = hole * TWO + ONE
        if below >= size:
            break
        if below + ONE < size and keys[below + ONE] < keys[below]:
            below += ONE
        if key <= keys[below]:
            break
        keys[hole], from_[hole], to[hole] = keys[below], from_[below], to[below]
        hole = below
    keys[hole], from_[hole], to[hole] = key, u, v
