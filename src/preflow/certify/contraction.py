"""The proof that no cut of an undirected graph is smaller than a value: a series of contractions.

Nagamochi and Ibaraki 1992; Stoer and Wagner 1997. Scan the vertices of a graph one by one. The *attachment*
of a vertex is the weight of its edges to scanned vertices. An order is *legal* for a value if each vertex,
when it is scanned, has the largest attachment of those that are left, or an attachment of at least the
value. If the attachment of `u` reaches the value when `v` is scanned, over an edge between the two, then
every cut between `u` and `v` weighs at least the value. So they may become one vertex: cuts below the value
stay. If all vertices become one in this way, there is no such cut.

Where few vertices become one in a round, flows prove the rest. The vertices have an order. If `value` units
of flow lead from the earlier vertices to each other one, no smaller cut separates it from them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Int64, Integers
from ..errors import VerificationError
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.union_find import find_set
from .fields import check_array


class Rows(NamedTuple):
    """A graph with weights as compressed sparse rows, each edge at both of its ends."""

    first: NDArray[np.int64]  #: shape (n + 1,)
    neighbour: NDArray[np.int64]  #: shape (2m,)
    weight: NDArray[np.int64]  #: shape (2m,)


class Contraction(NamedTuple):
    """One round: an order of scanning, and the vertices that become one."""

    order: NDArray[np.int64]  #: shape (n,): all vertices of the graph of this round
    label: NDArray[np.int64]  #: shape (n,): the vertex of the next round that each becomes


class Memory(NamedTuple):
    """Memory of :func:`check_flows`."""

    left: NDArray[np.int64]  #: shape (2m,): what the flow leaves of the weight of each entry
    changed: NDArray[np.int64]  #: shape (2m,): entries over which flow was sent
    #: shape (n,): the number of the last search that found a vertex, the entry by which it did, and a queue
    seen: NDArray[np.int64]
    came_over: NDArray[np.int64]
    queue: NDArray[np.int64]
    done: NDArray[np.bool_]  #: shape (n,)


def rows_of(num_vertices: int, tail: NDArray[np.int64], head: NDArray[np.int64], weight: Integers) -> Rows:
    """Return the rows of a graph; the weights of parallel edges add up, loops and zeros are left out."""
    n = num_vertices
    proper = (tail != head) & (weight > 0)
    tails = np.concatenate([tail[proper], head[proper]])
    heads = np.concatenate([head[proper], tail[proper]])
    weights = np.concatenate([weight[proper], weight[proper]])
    key = tails * n + heads
    order = np.argsort(key, kind="stable")
    key, weights = key[order], weights[order]
    if len(key):
        begins = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        key, weights = key[begins], np.add.reduceat(weights, begins)
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(key // n, minlength=n), out=first[1:])
    return Rows(first, key % n, weights)


def contracted(rows: Rows, label: NDArray[np.int64]) -> Rows:
    """Return the graph in which vertices with the same label are one."""
    tail = np.repeat(label, np.diff(rows.first))
    head = label[rows.neighbour]
    once = tail < head
    return rows_of(int(label.max()) + 1, tail[once], head[once], rows.weight[once])


@kernel
def set_leaf(tree: NDArray[np.int64], leaf: Int64, value: Int64) -> None:
    """Change a leaf of a tree of maxima: entry `i` is the larger one of the entries `2i` and `2i + 1`."""
    i = np.uint64(leaf) + np.uint64(len(tree) // 2)
    tree[i] = value
    i >>= ONE
    while i > ZERO:
        larger = max(tree[i + i], tree[i + i + ONE])
        if tree[i] == larger:
            return
        tree[i] = larger
        i >>= ONE


@kernel
def check_order(
    rows: Rows,
    order: NDArray[np.int64],
    value: Int64,
    tree: NDArray[np.int64],
    attachment: NDArray[np.int64],
    parent: NDArray[np.int64],
) -> bool:
    """Return whether an order is legal; join in `parent` the vertices that may become one.

    On entry `tree` has 0 in the leaves of vertices and -1 in the others, `attachment` is 0, and each vertex
    is its own parent. The order has each vertex once.
    """
    for k in range(len(order)):
        v = order[k]
        if attachment[v] < value and attachment[v] < tree[1]:
            return False
        set_leaf(tree, v, np.int64(-1))
        attachment[v] = -1
        for i in range(rows.first[v], rows.first[v + 1]):
            u = rows.neighbour[i]
            if attachment[u] < 0:
                continue
            attachment[u] += rows.weight[i]
            set_leaf(tree, u, attachment[u])
            if attachment[u] >= value:
                parent[find_set(parent, u)] = find_set(parent, v)
    return True


@kernel
def find_path(
    rows: Rows, reverse: NDArray[np.int64], start: Int64, search: Int64, memory: Memory
) -> np.int64:
    """Search backwards from a vertex for a path from a vertex that is done; return that one, -1 for none."""
    seen, queue = memory.seen, memory.queue
    seen[start] = search
    queue[0] = start
    begin, end = np.int64(0), np.int64(1)
    while begin < end:
        u = queue[begin]
        begin += 1
        for i in range(rows.first[u], rows.first[u + 1]):
            w = rows.neighbour[i]
            if seen[w] != search and memory.left[reverse[i]] > 0:
                seen[w] = search
                memory.came_over[w] = reverse[i]
                if memory.done[w]:
                    return np.int64(w)
                queue[end] = w
                end += 1
    return np.int64(-1)


@kernel
def check_flows(
    rows: Rows, reverse: NDArray[np.int64], order: NDArray[np.int64], value: Int64, memory: Memory
) -> bool:
    """Return whether `value` units of flow lead from the earlier vertices of an order to each other one."""
    left, came_over, changed = memory.left, memory.came_over, memory.changed
    search = np.int64(0)
    memory.done[order[0]] = True
    for k in range(1, len(order)):
        v = order[k]
        flow, count = np.int64(0), np.int64(0)
        while flow < value:
            search += 1
            found = find_path(rows, reverse, v, search, memory)
            if found < 0:
                return False
            # Send as much as the path allows.
            amount = value - flow
            u = found
            while u != v:
                amount = min(amount, left[came_over[u]])
                u = rows.neighbour[came_over[u]]
            u = found
            while u != v:
                i = came_over[u]
                left[i] -= amount
                left[reverse[i]] += amount
                if count < len(changed):
                    changed[count] = i
                count += 1
                u = rows.neighbour[i]
            flow += amount
        # Take the flow away.
        if count > len(changed):
            for i in range(len(left)):
                left[i] = rows.weight[i]
        else:
            for c in range(count):
                i = changed[c]
                left[i] = rows.weight[i]
                left[reverse[i]] = rows.weight[reverse[i]]
        memory.done[v] = True
    return True


def tree_of_maxima(num_vertices: int) -> NDArray[np.int64]:
    """Return a tree of maxima whose first leaves are 0, the others -1."""
    leaves = 1 << max(num_vertices - 1, 1).bit_length()
    tree = np.full(2 * leaves, -1, dtype=np.int64)
    tree[leaves : leaves + num_vertices] = 0
    while leaves > 1:
        leaves //= 2
        tree[leaves : 2 * leaves] = np.maximum(
            tree[2 * leaves : 4 * leaves : 2], tree[2 * leaves + 1 : 4 * leaves : 2]
        )
    return tree


def check_contractions(
    rows: Rows, value: int, rounds: tuple[Contraction, ...], order: NDArray[np.int64]
) -> None:
    """Check that no cut of a graph is smaller than a value.

    `order` has the vertices that are left after the last round. VerificationError: the contractions and flows
    do not prove it.
    """
    for number, (scanned, label) in enumerate(rounds):
        n = len(rows.first) - 1
        _check_vertices(scanned, n, number)
        check_array(np, label, f"the label of round {number}", (n,), np.int64)
        parent = np.arange(n)
        tree, attachment = tree_of_maxima(n), np.zeros(n, dtype=np.int64)
        if not check_order(rows, scanned, np.int64(value), tree, attachment, parent):
            raise VerificationError(f"the order of round {number} of the proof is not legal")
        while not np.array_equal(parent, parent[parent]):
            parent = parent[parent]
        if label.min() < 0 or label.max() >= n:
            raise VerificationError(f"round {number} of the proof has a label that is no vertex")
        some = np.zeros(n, dtype=np.int64)
        some[label] = parent
        if (some[label] != parent).any():
            raise VerificationError(
                f"round {number} of the proof joins vertices that a smaller cut may separate"
            )
        rows = contracted(rows, label)
    n = len(rows.first) - 1
    _check_vertices(order, n, len(rounds))
    tails = np.repeat(np.arange(n), np.diff(rows.first))
    reverse = np.searchsorted(tails * n + rows.neighbour, rows.neighbour * n + tails)
    left = rows.weight.copy()
    seen, came_over, queue = np.zeros((3, n), dtype=np.int64)
    memory = Memory(left, np.zeros_like(left), seen, came_over, queue, np.zeros(n, dtype=np.bool_))
    if not check_flows(rows, reverse, order, np.int64(value), memory):
        raise VerificationError("a flow of the proof is smaller than the cut")


def _check_vertices(order: NDArray[np.int64], num_vertices: int, number: int) -> None:
    check_array(np, order, f"the order of round {number}", (num_vertices,), np.int64)
    if not np.array_equal(np.sort(order), np.arange(num_vertices)):
        raise VerificationError(f"round {number} of the proof does not have the vertices of its graph")
