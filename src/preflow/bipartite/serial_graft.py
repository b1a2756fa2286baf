"""Tree grafting: breadth-first search from all free rows at once that keeps the trees of failed searches.

Azad, Buluç and Pothen, "Computing maximum cardinality matchings in parallel on bipartite graphs via
tree-grafting" (2016), on one thread.

Definitions. A *forest* of alternating trees grows from all free rows, its *roots*. A tree is *growing* until
it finds a free column, its *leaf*. To *dissolve* a tree is to take its rows and columns out of the forest. To
*graft* is to attach columns of dissolved trees to growing ones. The *frontier* holds the rows that the last
level added.

Invariants:

- The trees are vertex-disjoint: every row and column has at most one root.
- A matched column and its row are in the same tree.
- Between phases all trees in the forest are growing.

A level goes *top-down* from the rows of the frontier, or *bottom-up* from the columns outside of the forest
where the frontier is large.

Pseudo-code::

    start a tree at each free row
    while there are free rows:
        while the frontier is not empty:
            grow by a level, top-down or bottom-up
        augment along every tree that found a leaf; if there was none: the matching is maximum
        dissolve these trees
        if the growing trees are large compared with what was dissolved:
            graft: columns of dissolved trees look for a growing tree
        else: start again with a tree at each free row

The phase after a graft does not repeat the searches of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Indices
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.options import check_flag, check_positive_number
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .match_arrays import NONE, Matching, check_sides, list_free_rows
from .queue_prefetch import prefetch_queued


@dataclass(frozen=True)
class GraftOptions:
    """Options of tree grafting.

    Attributes
    ----------
    graft : bool
        Keep the trees that found no free column; otherwise every phase starts with new trees.
    direction_switching : bool
        Go bottom-up where that promises to be less work; otherwise always top-down.
    alpha : float
        A level goes bottom-up when the frontier has at least ``1 / alpha`` of the number of columns outside
        of the forest. Trees are grafted when those that grow have more than ``1 / alpha`` of the number of
        columns that were dissolved. The paper uses 5.
    """

    graft: bool = True
    direction_switching: bool = True
    alpha: float = 5.0

    def __post_init__(self) -> None:
        check_flag("graft", self.graft)
        check_flag("direction_switching", self.direction_switching)
        check_positive_number("alpha", self.alpha)


class Rules(NamedTuple):
    """The options that the kernels read: see :class:`GraftOptions`."""

    graft: bool
    direction_switching: bool
    alpha: float


class Forest(NamedTuple):
    """The alternating trees.

    Attributes
    ----------
    row_root, column_root : ndarray
        The root of the tree that a vertex is in, or NONE.
    parent : ndarray, shape (num_columns,)
        The row through which a column was reached.
    leaf : ndarray, shape (num_rows,)
        The free column that the tree of a root found, or NONE.
    frontier, reached : ndarray, shape (num_rows,)
        The rows of this level and of the next.
    outside : ndarray, shape (num_columns,)
        The columns that look for a tree in a bottom-up level.
    """

    row_root: Indices
    column_root: Indices
    parent: Indices
    leaf: Indices
    frontier: Indices
    reached: Indices
    outside: Indices


def check_invariants(rows: Adjacency, matching: Matching, forest: Forest) -> None:
    """Assert the invariants of a solve; O(m), called by tests between phases."""
    check_sides(matching)
    row_root, column_root, leaf = forest.row_root, forest.column_root, forest.leaf
    num_rows, num_columns = len(row_root), len(column_root)
    columns = np.flatnonzero(column_root < num_rows)
    assert (matching.column_match[columns] < num_rows).all(), "a tree has a free column"
    mates = matching.column_match[columns]
    assert (row_root[mates] == column_root[columns]).all(), "a column and its row are in two trees"
    inside = np.flatnonzero(row_root < num_rows)
    roots = np.unique(row_root[inside])
    assert (matching.row_match[roots] >= num_columns).all(), "a root is matched"
    assert (leaf[roots] >= num_columns).all(), "a tree is not growing"
    assert len(inside) == len(columns) + len(roots), "a row without its column is in a tree"
    for c in columns.tolist():
        r = int(forest.parent[c])
        assert c in rows.neighbour[rows.first[r] : rows.first[r + 1]], "a parent is no neighbour"
        assert row_root[r] == column_root[c], "a column and its parent are in two trees"


@kernel
def start_trees(matching: Matching, forest: Forest, free: Indices, size: np.uint64) -> None:
    """Start a tree at each of the free rows, which become the frontier."""
    forest.row_root[:] = NONE
    forest.column_root[:] = NONE
    for k in range(size):
        r = np.uint64(free[k])
        forest.row_root[r] = r
        forest.leaf[r] = NONE
        forest.frontier[k] = r


@kernel
def attach(matching: Matching, forest: Forest, r: np.uint64, c: np.uint64, end: np.uint64) -> np.uint64:
    """Add a column and the row matched with it to the tree of `r`; return the end of the next level."""
    root = np.uint64(forest.row_root[r])
    forest.column_root[c] = root
    forest.parent[c] = r
    other = np.uint64(matching.column_match[c])
    if other >= np.uint64(len(matching.row_match)):
        forest.leaf[root] = c
        return end
    forest.row_root[other] = root
    forest.reached[end] = other
    return end + ONE


@kernel
def is_growing(forest: Forest, r: np.uint64) -> bool:
    """Whether a row is in a tree that has found no free column."""
    num_rows = np.uint64(len(forest.row_root))
    root = np.uint64(forest.row_root[r])
    return bool(root < num_rows and np.uint64(forest.leaf[root]) >= np.uint64(len(forest.parent)))


@kernel
def grow_top_down(
    rows: Adjacency, matching: Matching, forest: Forest, size: np.uint64, monitor: Monitor
) -> tuple[np.uint64, np.uint64]:
    """Reach the columns next to the frontier; return the numbers of new rows and of new columns."""
    num_rows = np.uint64(len(matching.row_match))
    end, columns = ZERO, ZERO
    for k in range(size):
        prefetch_queued(rows, forest.column_root, forest.frontier, k, size)
        r = np.uint64(forest.frontier[k])
        if not is_growing(forest, r):
            continue
        first, last = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
        monitor.counts[ARC_SCANS] += last - first
        for e in range(first, last):
            c = np.uint64(rows.neighbour[e])
            if np.uint64(forest.column_root[c]) >= num_rows:
                end = attach(matching, forest, r, c, end)
                columns += ONE
                if not is_growing(forest, r):
                    break
    return end, columns


@kernel
def grow_bottom_up(
    columns: Adjacency, matching: Matching, forest: Forest, size: np.uint64, monitor: Monitor
) -> tuple[np.uint64, np.uint64]:
    """Let each of `size` columns look for a row in a growing tree; return the same two numbers."""
    end, attached = ZERO, ZERO
    for k in range(size):
        prefetch_queued(columns, forest.row_root, forest.outside, k, size)
        c = np.uint64(forest.outside[k])
        e, last = np.uint64(columns.first[c]), np.uint64(columns.first[c + ONE])
        while e < last:
            r = np.uint64(columns.neighbour[e])
            monitor.counts[ARC_SCANS] += ONE
            e += ONE
            if is_growing(forest, r):
                end = attach(matching, forest, r, c, end)
                attached += ONE
                break
    return end, attached


@kernel
def flip_frontier(forest: Forest, size: np.uint64) -> None:
    """Make the rows that were reached the frontier."""
    for k in range(size):
        forest.frontier[k] = forest.reached[k]


@kernel
def list_outside(forest: Forest) -> np.uint64:
    """List the columns outside of the forest and return their number."""
    num_rows = np.uint64(len(forest.row_root))
    size = ZERO
    for c in range(np.uint64(len(forest.parent))):
        if np.uint64(forest.column_root[c]) >= num_rows:
            forest.outside[size] = c
            size += ONE
    return size


@kernel
def augment(matching: Matching, forest: Forest, free: Indices, size: np.uint64) -> np.uint64:
    """Augment along the trees that found a free column; return the number of free rows that are left."""
    num_columns = np.uint64(len(matching.column_match))
    left = ZERO
    for k in range(size):
        root = np.uint64(free[k])
        c = np.uint64(forest.leaf[root])
        if c >= num_columns:
            free[left] = root
            left += ONE
            continue
        while c < num_columns:
            r = np.uint64(forest.parent[c])
            previous = np.uint64(matching.row_match[r])
            matching.row_match[r] = c
            matching.column_match[c] = r
            c = previous
    return left


@kernel
def dissolve(matching: Matching, forest: Forest) -> tuple[np.uint64, np.uint64]:
    """Dissolve trees that augmented and list their columns; return their number, and that of others."""
    num_rows, num_columns = np.uint64(len(forest.row_root)), np.uint64(len(forest.parent))
    dissolved, growing = ZERO, ZERO
    for c in range(num_columns):
        root = np.uint64(forest.column_root[c])
        if root >= num_rows:
            continue
        if np.uint64(forest.leaf[root]) < num_columns:
            forest.column_root[c] = NONE
            forest.row_root[matching.column_match[c]] = NONE
            forest.outside[dissolved] = c
            dissolved += ONE
        else:
            growing += ONE
    return dissolved, growing


@kernel
def run_phases(
    rows: Adjacency,
    columns: Adjacency,
    matching: Matching,
    forest: Forest,
    free: Indices,
    size: np.uint64,
    rules: Rules,
    monitor: Monitor,
) -> bool:
    """Match the `size` rows in `free`; return whether the matching is maximum (False: stopped before)."""
    counts, alpha = monitor.counts, rules.alpha
    start_trees(matching, forest, free, size)
    frontier = size
    outside = np.uint64(len(forest.parent))
    while size > ZERO:
        counts[PHASES] += ONE
        while frontier > ZERO:
            if relaxed_load(monitor.stop, 0) != 0:
                return False
            # Grow all trees by a level.
            if rules.direction_switching and frontier * alpha >= outside:
                outside = list_outside(forest)
                frontier, reached = grow_bottom_up(columns, matching, forest, outside, monitor)
            else:
                frontier, reached = grow_top_down(rows, matching, forest, frontier, monitor)
            outside -= reached
            flip_frontier(forest, frontier)
        # Augment along the trees that found a free column.
        left = augment(matching, forest, free, size)
        counts[AUGMENTATIONS] += size - left
        if left == size:
            break
        size = left
        monitor.progress[0] = size
        # Dissolve these trees, and graft their columns, or start again.
        dissolved, growing = dissolve(matching, forest)
        outside += dissolved
        if rules.graft and (growing + size) * alpha > dissolved:
            frontier, reached = grow_bottom_up(columns, matching, forest, dissolved, monitor)
            outside -= reached
            flip_frontier(forest, frontier)
        else:
            start_trees(matching, forest, free, size)
            frontier = size
            outside = np.uint64(len(forest.parent))
    return True


def solve(graph: BipartiteGraph, matching: Matching, options: GraftOptions, control: Control) -> bool:
    """Make a matching maximum, in place.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Notes
    -----
    O(n m) time; memory of five indices a row and three a column, and the transposed graph.
    """
    num_rows, num_columns = graph.shape
    dtype = graph.rows.first.dtype
    forest = Forest(
        row_root=np.empty(num_rows, dtype=dtype),
        column_root=np.empty(num_columns, dtype=dtype),
        parent=np.empty(num_columns, dtype=dtype),
        leaf=np.empty(num_rows, dtype=dtype),
        frontier=np.empty(num_rows, dtype=dtype),
        reached=np.empty(num_rows, dtype=dtype),
        outside=np.empty(num_columns, dtype=dtype),
    )
    free = np.empty(num_rows, dtype=dtype)
    size = list_free_rows(graph.rows, matching, free)
    control.excess[:] = size
    rules = Rules(options.graft, options.direction_switching, float(options.alpha))
    return run_phases(
        graph.rows, graph.columns, matching, forest, free, np.uint64(size), rules, control.monitor()
    )
