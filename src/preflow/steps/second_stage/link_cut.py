"""Link-cut trees: rooted trees with links, cuts, and minima and additions over paths to the root.

Sleator and Tarjan, "Self-adjusting binary search trees" (1985), section 6. Every tree is split into paths.
A path is a splay tree ordered by depth, with the root's end to the left. Each operation takes O(log n)
amortized time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...arrays import Indices, Int64, Number
from ...kernels.kernel import kernel

#: Value of a tree's root, which has no edge.
NO_EDGE = np.int64(2**63 - 1)


class LinkCutForest(NamedTuple):
    """Trees on the vertices ``0 .. n - 1``; ``n`` stands for no vertex. All arrays have shape (n + 1,)."""

    #: children in the splay tree of the path, and the parent in it. For the top of a splay tree `above` is
    #: the vertex from which its path hangs.
    left: Indices
    right: Indices
    above: Indices
    #: value of the edge from a vertex to its parent, without the additions pending above
    value: NDArray[np.int64]
    #: least value in the splay subtree, without the additions pending above
    least: NDArray[np.int64]
    pending: NDArray[np.int64]  #: addition that the splay children have not received yet


def make_forest(num_vertices: int, dtype: DTypeLike) -> LinkCutForest:
    """Return a forest of single vertices."""
    nothing = np.full(num_vertices + 1, num_vertices, dtype=dtype)
    no_edges = np.full(num_vertices + 1, NO_EDGE)
    return LinkCutForest(
        left=nothing,
        right=nothing.copy(),
        above=nothing.copy(),
        value=no_edges,
        least=no_edges.copy(),
        pending=np.zeros_like(no_edges),
    )


@kernel
def _add_below(forest: LinkCutForest, v: np.uint64, amount: Int64) -> None:
    """Add to all values of a splay subtree."""
    if v < np.uint64(len(forest.left)) - np.uint64(1):
        forest.value[v] += amount
        forest.least[v] += amount
        forest.pending[v] += amount


@kernel
def _hand_down(forest: LinkCutForest, v: np.uint64) -> None:
    amount = forest.pending[v]
    if amount != 0:
        _add_below(forest, np.uint64(forest.left[v]), amount)
        _add_below(forest, np.uint64(forest.right[v]), amount)
        forest.pending[v] = 0


@kernel
def _update(forest: LinkCutForest, v: np.uint64) -> None:
    forest.least[v] = min(forest.value[v], forest.least[forest.left[v]], forest.least[forest.right[v]])


@kernel
def _is_top(forest: LinkCutForest, v: np.uint64) -> bool:
    """Return whether a vertex is the root of its splay tree."""
    up = forest.above[v]
    return bool(forest.left[up] != v and forest.right[up] != v)


@kernel
def _rotate(forest: LinkCutForest, v: np.uint64) -> None:
    """Rotate a vertex above its splay parent."""
    left, right, above = forest.left, forest.right, forest.above
    none = np.uint64(len(left)) - np.uint64(1)
    up = np.uint64(above[v])
    beyond = np.uint64(above[up])
    if not _is_top(forest, up):
        if left[beyond] == up:
            left[beyond] = v
        else:
            right[beyond] = v
    if left[up] == v:
        moved = np.uint64(right[v])
        left[up] = moved
        right[v] = up
    else:
        moved = np.uint64(left[v])
        right[up] = moved
        left[v] = up
    if moved != none:
        above[moved] = up
    above[up] = v
    above[v] = beyond
    _update(forest, up)
    _update(forest, v)


@kernel
def splay(forest: LinkCutForest, v: np.uint64) -> None:
    """Make a vertex the root of its splay tree: its own value is then exact."""
    while not _is_top(forest, v):
        up = np.uint64(forest.above[v])
        if not _is_top(forest, up):
            beyond = np.uint64(forest.above[up])
            _hand_down(forest, beyond)
            _hand_down(forest, up)
            _hand_down(forest, v)
            same_side = (forest.left[beyond] == up) == (forest.left[up] == v)
            _rotate(forest, up if same_side else v)
        else:
            _hand_down(forest, up)
            _hand_down(forest, v)
        _rotate(forest, v)
    _hand_down(forest, v)


@kernel
def expose(forest: LinkCutForest, v: np.uint64) -> None:
    """Make the path from a vertex to its root one splay tree with the vertex at the top."""
    none = np.uint64(len(forest.left)) - np.uint64(1)
    below = none
    x = np.uint64(v)
    while x != none:
        splay(forest, x)
        forest.right[x] = below
        _update(forest, x)
        below = x
        x = np.uint64(forest.above[x])
    splay(forest, v)


@kernel
def find_root(forest: LinkCutForest, v: np.uint64) -> np.uint64:
    """Return the root of a vertex's tree, with the path to it one splay tree and the root at the top."""
    none = np.uint64(len(forest.left)) - np.uint64(1)
    expose(forest, v)
    root = np.uint64(v)
    while forest.left[root] != none:
        root = np.uint64(forest.left[root])
        _hand_down(forest, root)
    splay(forest, root)
    return root


@kernel
def link(forest: LinkCutForest, root: np.uint64, parent: np.uint64, value: Int64) -> None:
    """Hang a root under a vertex of another tree by an edge of the given value."""
    expose(forest, root)
    forest.value[root] = value
    _update(forest, root)
    forest.above[root] = parent


@kernel
def cut(forest: LinkCutForest, v: np.uint64) -> Number:
    """Remove the edge from a vertex to its parent; return the edge's value."""
    none = np.uint64(len(forest.left)) - np.uint64(1)
    expose(forest, v)
    value = forest.value[v]
    forest.above[forest.left[v]] = none
    forest.left[v] = none
    forest.value[v] = NO_EDGE
    _update(forest, v)
    return value


@kernel
def least_to_root(forest: LinkCutForest, v: np.uint64) -> Number:
    """Return the least value of an edge between a vertex and its root."""
    root = find_root(forest, v)
    return forest.least[forest.right[root]]


@kernel
def add_to_root(forest: LinkCutForest, v: np.uint64, amount: Int64) -> None:
    """Add to the value of every edge between a vertex and its root."""
    root = find_root(forest, v)
    _add_below(forest, np.uint64(forest.right[root]), amount)
    _update(forest, root)


@kernel
def cut_below(forest: LinkCutForest, v: np.uint64, limit: Int64) -> np.uint64:
    """Cut one edge of value at most `limit` between a vertex and its root, if there is one.

    Returns the vertex whose edge to its parent was cut, `n` if there is none.
    """
    none = np.uint64(len(forest.left)) - np.uint64(1)
    root = find_root(forest, v)
    x = np.uint64(forest.right[root])
    if forest.least[x] > limit:
        return none
    while True:
        _hand_down(forest, x)
        if forest.value[x] <= limit:
            break
        left = np.uint64(forest.left[x])
        x = left if forest.least[left] <= limit else np.uint64(forest.right[x])
    cut(forest, x)
    return x
