"""The state of the weighted blossom algorithm, its union-find and its heaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Int64, Untyped
from ...kernels.atomics import compare_exchange, load, relaxed_load, relaxed_store, store
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.heap import move_down, move_up
from ...kernels.kernel import kernel
from ...parallel.delays import delay
from ..links import NONE

#: Labels of nodes: outside the tree, at even and at odd distance from the root.
OUTSIDE, EVEN, ODD = np.uint8(0), np.uint8(1), np.uint8(2)
#: Positions in :attr:`WeightedForest.sizes`: nodes and edges in the heaps, labelled nodes, even vertices that
#: are to be scanned, nodes that the search has claimed, blossoms that are not in use, expanded ones that lead
#: to their largest child, and the number of the last search for a common ancestor.
WAITING_NODES, WAITING_EDGES, LABELLED, TO_SCAN, CLAIMED, SPARE, LEADING, STAMP = range(8)
#: Positions in :attr:`WeightedForest.time`.
NOW, END = range(2)
#: The lowest bits of the word of a node in :attr:`Claims.owner`: one more than the number of the thread that
#: has claimed the node, 0 if none has. The other bits count the claims so far.
OWNER = np.uint64(0xFFFF)
#: Less than every dual.
LEAST_DUAL = np.int64(-(2**62))


class Claims(NamedTuple):
    """How searches on several threads keep out of each other's way; a search on one thread has none.

    A search claims every node of its tree and every node that its tree reaches. It reads and writes nothing
    of other nodes but `top` and `group`, to find them, and duals that are so large that an edge does not
    count; both it reads again where a claim may have come between. If another thread has claimed a node next
    to an even vertex, the search stops: both may rely on this edge.
    """

    thread: np.uint64  #: one more than the number of the thread
    num_threads: np.uint64
    owner: NDArray[np.uint64]  #: shape (nodes,): who has claimed a node
    claimed: Indices  #: uint32, shape (nodes,): the nodes that this thread has claimed
    #: random delays for stress tests, see parallel/delays.py
    delays: NDArray[np.uint64] | None = None


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
    sizes: NDArray[np.uint64]  #: shape (8,)
    claims: Claims | None = None


def nodes_of(num_vertices: int) -> int:
    """Return the number of nodes that a graph needs.

    Half as many blossoms as vertices are in use at most, a search makes half as many more at most, and the
    last part is for blossoms that lead to their largest child.
    """
    return 2 * num_vertices + num_vertices // 4


def new_forest(num_vertices: int, num_edges: int) -> WeightedForest:
    """Return the state without matching, blossoms and duals."""
    forest = unset_forest(num_vertices, num_edges)
    clear_forest(forest)
    return forest


def unset_lists(num_vertices: int, num_edges: int) -> dict[str, Untyped]:
    """Return the members of the state that only one thread uses, the heaps and lists of its search."""
    n, nodes = num_vertices, nodes_of(num_vertices)
    numbers, words = np.int64, np.uint32
    return {
        "heap": np.empty(nodes, words),
        "edge_key": np.empty(num_edges, numbers),
        "edge_from": np.empty(num_edges, words),
        "edge_to": np.empty(num_edges, words),
        "labelled": np.empty(2 * nodes, words),
        "to_scan": np.empty(n, words),
        "spare": np.empty(nodes - n, words),
        "leading": np.empty(nodes - n, words),
        "terminal": np.empty(2, np.uint64),
        "time": np.empty(2, numbers),
        "sizes": np.zeros(8, np.uint64),
    }


def unset_forest(num_vertices: int, num_edges: int) -> WeightedForest:
    """Return the arrays of the state."""
    n, nodes = num_vertices, nodes_of(num_vertices)
    numbers, words = np.int64, np.uint32
    return WeightedForest(
        dual=np.empty(n, numbers),
        added=np.empty(nodes, numbers),
        top=np.empty(n, words),
        size=np.empty(nodes, words),
        following=np.empty(n, words),
        first=np.empty(nodes, words),
        last=np.empty(nodes, words),
        group=np.empty(nodes, words),
        label=np.empty(nodes, np.uint8),
        since=np.empty(nodes, numbers),
        inner=np.empty(nodes, words),
        outer=np.empty(nodes, words),
        from_even=np.empty(nodes, words),
        to_odd=np.empty(nodes, words),
        blossom_dual=np.empty(nodes, numbers),
        parent=np.empty(nodes, words),
        child=np.empty(nodes, words),
        sibling=np.empty(nodes, words),
        link_from=np.empty(nodes, words),
        link_to=np.empty(nodes, words),
        seen=np.empty(nodes, words),
        key=np.empty(nodes, numbers),
        place=np.empty(nodes, words),
        **unset_lists(n, num_edges),
    )


@kernel
def part_of_forest(
    forest: WeightedForest, n: np.uint64, nodes: np.uint64, num_edges: np.uint64
) -> WeightedForest:
    """Return the part of a memory that a smaller graph needs."""
    return WeightedForest(
        forest.dual[:n],
        forest.added[:nodes],
        forest.top[:n],
        forest.size[:nodes],
        forest.following[:n],
        forest.first[:nodes],
        forest.last[:nodes],
        forest.group[:nodes],
        forest.label[:nodes],
        forest.since[:nodes],
        forest.inner[:nodes],
        forest.outer[:nodes],
        forest.from_even[:nodes],
        forest.to_odd[:nodes],
        forest.blossom_dual[:nodes],
        forest.parent[:nodes],
        forest.child[:nodes],
        forest.sibling[:nodes],
        forest.link_from[:nodes],
        forest.link_to[:nodes],
        forest.seen[:nodes],
        forest.key[:nodes],
        forest.place[:nodes],
        forest.heap[:nodes],
        forest.edge_key[:num_edges],
        forest.edge_from[:num_edges],
        forest.edge_to[:num_edges],
        forest.labelled[: nodes + nodes],
        forest.to_scan[:n],
        forest.spare[: nodes - n],
        forest.leading[: nodes - n],
        forest.terminal,
        forest.time,
        forest.sizes,
        None,
    )


@kernel
def clear_vertices(forest: WeightedForest, first: np.uint64, end: np.uint64) -> None:
    """Set vertices to the state without matching and duals; `make_blossom` sets that of a blossom."""
    for v in range(first, end):
        forest.dual[v] = 0
        forest.added[v] = 0
        forest.top[v] = v
        forest.size[v] = 1
        forest.following[v] = NONE
        forest.first[v] = v
        forest.last[v] = v
        forest.group[v] = v
        forest.label[v] = 0
        forest.inner[v] = v
        forest.outer[v] = NONE
        forest.blossom_dual[v] = 0
        forest.parent[v] = NONE
        forest.seen[v] = 0
        forest.place[v] = NONE


@kernel
def clear_forest(forest: WeightedForest) -> None:
    """Set the state without matching, blossoms and duals."""
    n, nodes = np.uint64(len(forest.dual)), np.uint64(len(forest.parent))
    clear_vertices(forest, ZERO, n)
    for k in range(nodes - n):
        forest.spare[k] = nodes - ONE - np.uint64(k)
    forest.sizes[:] = ZERO
    forest.sizes[SPARE] = nodes - n


@kernel
def top_node(forest: WeightedForest, vertex: np.uint64) -> np.uint64:
    """Return the outermost node of a vertex, whose node this thread has claimed; halve the way to it."""
    group = forest.group
    node = np.uint64(forest.top[vertex])
    above = np.uint64(group[node])
    while above != node:
        further = np.uint64(group[above])
        relaxed_store(group, node, further)
        node, above = further, np.uint64(group[further])
    return node


@kernel
def any_top_node(forest: WeightedForest, vertex: np.uint64) -> np.uint64:
    """Return the outermost node of a vertex, unless another thread changes it meanwhile."""
    node = np.uint64(relaxed_load(forest.top, vertex))
    above = np.uint64(relaxed_load(forest.group, node))
    while above != node:
        node, above = above, np.uint64(relaxed_load(forest.group, above))
    return node


@kernel
def claim_node(forest: WeightedForest, claims: Claims | None, node: np.uint64) -> bool:
    """Claim a node, unless another thread has claimed it; return whether it is this thread's."""
    if claims is None:
        return True
    word = np.uint64(load(claims.owner, node))
    if word & OWNER == claims.thread:
        return True
    if word & OWNER != ZERO or not compare_exchange(claims.owner, node, word, word | claims.thread):
        return False
    claims.claimed[forest.sizes[CLAIMED]] = node
    forest.sizes[CLAIMED] += ONE
    delay(claims.delays, claims.thread - ONE)
    return True


@kernel
def claim(forest: WeightedForest, claims: Claims | None, vertex: np.uint64) -> np.uint64:
    """Claim the outermost node of a vertex and return it, NONE if another thread has claimed it."""
    if claims is None:
        return top_node(forest, vertex)
    node = any_top_node(forest, vertex)
    if not claim_node(forest, claims, node):
        return NONE
    # Another thread may have shrunk or expanded the node before the claim.
    if any_top_node(forest, vertex) != node:  # mutant: claims-a-node-of-the-past
        return NONE
    return top_node(forest, vertex)


@kernel
def has_claimed(claims: Claims | None, node: np.uint64) -> bool:
    """Whether a node is this thread's."""
    return bool(claims is None or np.uint64(load(claims.owner, node)) & OWNER == claims.thread)


@kernel
def free_dual(forest: WeightedForest, claims: Claims | None, vertex: np.uint64) -> np.int64:
    """Return the dual of a vertex, but for `added`; LEAST_DUAL if a thread has claimed its node."""
    if claims is None:
        return np.int64(forest.dual[vertex])
    node = any_top_node(forest, vertex)
    word = np.uint64(load(claims.owner, node))
    if word & OWNER != ZERO:
        return LEAST_DUAL
    dual = np.int64(load(forest.dual, vertex))
    if any_top_node(forest, vertex) != node or np.uint64(load(claims.owner, node)) != word:
        return LEAST_DUAL  # mutant: believes-a-dual-that-changes
    return dual


@kernel
def release(forest: WeightedForest, claims: Claims | None) -> None:
    """Give up all claims of this thread."""
    if claims is not None:
        left = forest.sizes[CLAIMED]
        while left > ZERO:
            left -= ONE
            node = np.uint64(claims.claimed[left])
            word = np.uint64(relaxed_load(claims.owner, node))
            store(claims.owner, node, (word | OWNER) + ONE)
        forest.sizes[CLAIMED] = ZERO


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
