"""The tree of a plan: cancel the cycles of pairs with mass, and join the trees that are left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...kernels.kernel import kernel
from ...kernels.union_find import find_set
from ..forest import spanning_forest


@kernel
def turn(parent: NDArray[np.int64], flow: NDArray[np.int64], vertex: Int64) -> None:
    """Make a vertex the root of its tree, by turning its path around."""
    child, above, carried = vertex, parent[vertex], flow[vertex]
    parent[vertex], flow[vertex] = -1, 0
    while above >= 0:
        higher, next_flow = parent[above], flow[above]
        parent[above], flow[above] = child, carried
        child, above, carried = above, higher, next_flow


@kernel
def join_trees(
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    parent: NDArray[np.int64],
    flow: NDArray[np.int64],
    part: NDArray[np.int64],
    sets: NDArray[np.int64],
    root: Int64,
    num_rows: Int64,
) -> None:
    """Join the trees of a forest to one with the given root, by pairs without flow from rows up to columns.

    Each tree hangs on another one by the first pair, of those in `row` and `column`, that leads from one of
    its rows out of what hangs on it, or by its first row on a neighbour of `root`. `part` and `sets` are
    work space.
    """
    turn(parent, flow, root)
    for vertex in range(len(parent)):
        top = vertex
        while parent[top] >= 0 and part[top] < 0:
            top = parent[top]
        found = part[top] if part[top] >= 0 else top
        at = vertex
        while at != top and part[at] < 0:
            part[at] = found
            at = parent[at]
        part[top] = found
    for vertex in range(len(parent)):
        sets[vertex] = vertex
    for pair in range(len(row)):
        tree = part[row[pair]]
        # A tree that hangs on another one already, or the one of the root.
        if sets[tree] != tree or tree == root:
            continue
        other = find_set(sets, part[num_rows + column[pair]])
        if other == tree:
            continue
        turn(parent, flow, row[pair])
        parent[row[pair]], sets[tree] = num_rows + column[pair], other
    anchor = num_rows
    while part[anchor] != root:
        anchor += 1
    for vertex in range(num_rows):
        tree = part[vertex]
        if tree != root and sets[tree] == tree:
            turn(parent, flow, vertex)
            parent[vertex], sets[tree] = anchor, root


def spanning_tree(
    plan: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    links: tuple[NDArray[np.int64], NDArray[np.int64]],
    root: int,
    num_rows: int,
    num_columns: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parent of each vertex, -1 where there is none, and the flow between them.

    `plan` has the rows, columns and masses of pairs; of the pairs of a cycle the later ones lose mass.
    `links` are rows and columns by which trees of the forest hang on others, the best first. The row `root`
    has mass.
    """
    forest = spanning_forest(*plan, num_rows, num_columns)
    parent = forest.parent
    flow = np.where(parent >= 0, forest.mass[forest.by], 0)
    parent[flow == 0] = -1
    work = np.full_like(parent, -1), np.empty_like(parent)
    rows, columns = (np.ascontiguousarray(ends) for ends in links)
    join_trees(rows, columns, parent, flow, *work, np.int64(root), np.int64(num_rows))
    return parent, flow
