"""A tree over points with prices that finds those of least reduced cost: distance minus price.

Friedman, Bentley and Finkel, "An algorithm for finding best matches in logarithmic expected time", ACM
Transactions on Mathematical Software 3 (1977).

Departures: every node also stores the largest price of its points, so that its box and that price bound all
reduced costs below it; points are stored in the order of the leaves, and the points of a node follow from its
number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Int64, Number, Numbers
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from .point_costs import CHEBYSHEV, CITYBLOCK, EUCLIDEAN

NONE = np.uint64(2**64 - 1)
#: Largest number of points of a leaf.
LEAF_POINTS = 32
#: Largest number of nodes that a search postpones; trees are less deep.
STACK = 128


class KDTree(NamedTuple):
    """Points with prices, and boxes around halves of them, halves of these and so on.

    The root is node 1, the children of node k are 2 k and 2 k + 1, and the last half of all nodes are leaves.
    """

    point: NDArray[np.float64]  #: shape (d, m): coordinates in the order of the leaves
    #: shape (leaves + 1,): the points of leaf `k` are ``first[k] .. first[k + 1] - 1``
    first: NDArray[np.uint64]
    leaf: NDArray[np.uint32]  #: shape (m,): the leaf of every point, as a node
    #: shape (nodes, 2 d + 1): the smallest and the largest coordinates of each node's points, and the largest
    #: price
    box: NDArray[np.float64]
    query: NDArray[np.float64]  #: shape (d,): the point from which distances are measured
    found: NDArray[np.float64]  #: shape (LEAF_POINTS,)
    waiting: NDArray[np.uint64]  #: shape (STACK,)
    waiting_bound: NDArray[np.float64]  #: shape (STACK,)
    looked: NDArray[np.uint64]  #: shape (1,): number of points that were read so far
    kind: Int64  #: the kind of distance, see :mod:`.point_costs`
    #: costs are distances times this; if it is negative, the least costs are the largest distances
    factor: float


def tree_order(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the points in the order of the leaves of their tree."""
    order = np.arange(len(points))
    for level in range(_levels(len(points))):
        bounds = _bounds(len(points), level)
        sorted_points = points[order]
        extent = np.maximum.reduceat(sorted_points, bounds[:-1])
        extent -= np.minimum.reduceat(sorted_points, bounds[:-1])
        node = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        key = sorted_points[np.arange(len(order)), extent.argmax(axis=1)[node]]
        order = order[np.lexsort((key, node))]
    return order


def make_tree(points: NDArray[np.float64], kind: int, factor: float) -> KDTree:
    """Return the tree of points that are in its order; their prices are 0."""
    size, dimension = points.shape
    levels = _levels(size)
    first = _bounds(size, levels)
    leaves = len(first) - 1
    box = np.zeros((2 * leaves, 2 * dimension + 1))
    low, high = box[:, :dimension], box[:, dimension : 2 * dimension]
    low[leaves:] = np.minimum.reduceat(points, first[:-1])
    high[leaves:] = np.maximum.reduceat(points, first[:-1])
    for level in reversed(range(levels)):
        nodes, below = slice(2**level, 2 ** (level + 1)), slice(2 ** (level + 1), 2 ** (level + 2))
        low[nodes] = low[below].reshape(-1, 2, dimension).min(axis=1)
        high[nodes] = high[below].reshape(-1, 2, dimension).max(axis=1)
    return KDTree(
        point=np.ascontiguousarray(points.T),
        first=first.astype(np.uint64),
        leaf=np.repeat(np.arange(leaves, 2 * leaves, dtype=np.uint32), np.diff(first)),
        box=box,
        query=np.zeros(dimension),
        found=np.zeros(LEAF_POINTS),
        waiting=np.zeros(STACK, dtype=np.uint64),
        waiting_bound=np.zeros(STACK),
        looked=np.zeros(1, dtype=np.uint64),
        kind=np.int64(kind),
        factor=np.float64(factor),
    )


def _levels(size: int) -> int:
    """Return how often the points are halved."""
    levels = 0
    while -(-size // 2**levels) > LEAF_POINTS:
        levels += 1
    return levels


def _bounds(size: int, level: int) -> NDArray[np.int64]:
    """Return where the points of each node of a level begin, and the end of the last one."""
    return (np.arange(2**level + 1) * size) >> level


@kernel
def _node_bound(tree: KDTree, node: np.uint64) -> Number:
    """Return a lower bound on the reduced costs of the points of a node."""
    dimension = np.uint64(len(tree.query))
    total = 0.0
    for axis in range(dimension):
        x, low, high = tree.query[axis], tree.box[node, axis], tree.box[node, dimension + axis]
        gap = max(low - x, x - high, 0.0) if tree.factor > 0 else max(high - x, x - low)
        if tree.kind == CITYBLOCK:
            total += gap
        elif tree.kind == CHEBYSHEV:
            total = max(total, gap)
        else:
            total += gap * gap
    if tree.kind == EUCLIDEAN:
        total = np.sqrt(total)
    return tree.factor * total - tree.box[node, TWO * dimension]


@kernel
def leaf_costs(tree: KDTree, first: np.uint64, last: np.uint64) -> None:
    """Write the costs of a leaf's points."""
    found, size = tree.found, last - first
    for k in range(size):
        found[k] = 0.0
    for axis in range(np.uint64(len(tree.query))):
        x, point = tree.query[axis], tree.point[axis]
        if tree.kind == CITYBLOCK:
            for k in range(size):
                found[k] += abs(point[first + k] - x)
        elif tree.kind == CHEBYSHEV:
            for k in range(size):
                found[k] = max(found[k], abs(point[first + k] - x))
        else:
            for k in range(size):
                gap = point[first + k] - x
                found[k] += gap * gap
    if tree.kind == EUCLIDEAN:
        for k in range(size):
            found[k] = np.sqrt(found[k])
    for k in range(size):
        found[k] *= tree.factor


@kernel
def find_best(
    tree: KDTree,
    price: Numbers,
    room: np.uint64,
    column: Indices,
    cost: NDArray[np.float64],
    reduced: NDArray[np.float64],
    after: float,
    last: np.uint64,
) -> np.uint64:
    """List the points of least reduced cost from ``tree.query``, at most `room`; return their number.

    They are listed by reduced cost and, among equal ones, by number. Only points after `after` and `last`, a
    reduced cost and a number, count; if `last` is NONE, all points of that reduced cost do. If `after` is
    -inf, any of the points that tie for the last place may take it.
    """
    ties = after > -np.inf
    leaves = np.uint64(len(tree.first)) - ONE
    size = waiting = ZERO
    worst = np.inf
    node, bound = ONE, _node_bound(tree, ONE)
    while True:
        # Go down to the better child; postpone the other.
        while node < leaves and (bound < worst or (ties and bound == worst)):
            node *= TWO
            bound, other = _node_bound(tree, node), _node_bound(tree, node + ONE)
            behind = node + ONE
            if other < bound:
                bound, other = other, bound
                node, behind = behind, node
            if other < worst or (ties and other == worst):
                tree.waiting[waiting] = behind
                tree.waiting_bound[waiting] = other
                waiting += ONE
        if bound < worst or (ties and bound == worst):
            # Read the points of the leaf, and insert the good ones into the list.
            first, end = tree.first[node - leaves], tree.first[node - leaves + ONE]
            leaf_costs(tree, first, end)
            tree.looked[0] += end - first
            for j in range(first, end):
                value = tree.found[j - first] - price[j]
                if value > worst or value < after or (value == after and last != NONE and j <= last):
                    continue
                if size == room:
                    if value == worst and j > column[size - ONE]:
                        continue
                    size -= ONE
                k = size
                while k > ZERO and (
                    reduced[k - ONE] > value or (reduced[k - ONE] == value and column[k - ONE] > j)
                ):
                    column[k], cost[k], reduced[k] = column[k - ONE], cost[k - ONE], reduced[k - ONE]
                    k -= ONE
                column[k], cost[k], reduced[k] = j, tree.found[j - first], value
                size += ONE
                if size == room:
                    worst = reduced[size - ONE]
        if waiting == ZERO:
            return size
        # Go on with the last postponed node.
        waiting -= ONE
        node, bound = tree.waiting[waiting], tree.waiting_bound[waiting]


@kernel
def lower_price(tree: KDTree, price: Numbers, j: np.uint64, lowered: float) -> None:
    """Lower the price of a point, or leave it."""
    old = price[j]
    price[j] = lowered
    leaves = np.uint64(len(tree.first)) - ONE
    top = TWO * np.uint64(len(tree.query))
    node = np.uint64(tree.leaf[j])
    if old < tree.box[node, top]:
        return
    most = lowered
    for k in range(tree.first[node - leaves], tree.first[node - leaves + ONE]):
        most = max(most, price[k])
    while most < tree.box[node, top]:
        tree.box[node, top] = most
        if node == ONE:
            break
        node //= TWO
        most = max(tree.box[TWO * node, top], tree.box[TWO * node + ONE, top])


@kernel
def set_prices(tree: KDTree, price: Numbers) -> None:
    """Update the tree to the prices of all points."""
    leaves = np.uint64(len(tree.first)) - ONE
    top = TWO * np.uint64(len(tree.query))
    for k in range(leaves):
        most = price[tree.first[k]]
        for j in range(tree.first[k], tree.first[k + ONE]):
            most = max(most, price[j])
        tree.box[leaves + k, top] = most
    node = leaves - ONE
    while node > ZERO:
        tree.box[node, top] = max(tree.box[TWO * node, top], tree.box[TWO * node + ONE, top])
        node -= ONE
