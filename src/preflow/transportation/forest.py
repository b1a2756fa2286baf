"""Cancel the cycles of pairs with mass: an optimal plan then has at most n + m - 1 pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Int64
from ..kernels.kernel import kernel


class Forest(NamedTuple):
    """A plan whose pairs with mass are a forest of rows and columns; vertex `n + j` is column `j`."""

    mass: NDArray[np.int64]  #: the mass of each pair
    #: shape (n + m,): the parent of each vertex, -1 for roots, and the pair that joins them
    parent: NDArray[np.int64]
    by: NDArray[np.int64]


@kernel
def add_pairs(
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    mass: NDArray[np.int64],
    parent: NDArray[np.int64],
    by: NDArray[np.int64],
    num_rows: Int64,
) -> None:
    """Add pairs to a forest of rows and columns; cancel the cycle of each pair that closes one.

    `parent` has the parent of each vertex, -1 for roots, and `by` the pair that joins them. The reduced costs
    of all pairs are zero, so the direction in which a cycle is cancelled does not matter.
    """
    for pair in range(len(row)):
        x, y = row[pair], num_rows + column[pair]
        while mass[pair] > 0:
            # Make x the root of its tree, by turning its path around.
            child, above, through = x, parent[x], by[x]
            parent[x], by[x] = -1, -1
            while above >= 0:
                higher, next_pair = parent[above], by[above]
                parent[above], by[above] = child, through
                child, above, through = above, higher, next_pair
            # The new pair loses mass; those on the path from y gain and lose in turn.
            least, weakest, vertex, loses = mass[pair], y, y, False
            while parent[vertex] >= 0:
                if loses and mass[by[vertex]] < least:
                    least, weakest = mass[by[vertex]], vertex
                vertex, loses = parent[vertex], not loses
            if vertex != x:
                parent[x], by[x] = y, pair
                break
            is_new = least == mass[pair]
            vertex, loses = y, False
            while parent[vertex] >= 0:
                mass[by[vertex]] += -least if loses else least
                vertex, loses = parent[vertex], not loses
            mass[pair] -= least
            if is_new:
                break
            # The pair that has lost its mass leaves the forest, and the new one joins its two parts.
            parent[weakest], by[weakest] = -1, -1


def spanning_forest(
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    mass: NDArray[np.int64],
    num_rows: int,
    num_columns: int,
) -> Forest:
    """Return masses that are positive on a forest only, with the same sums for each row and column."""
    left = mass.copy()
    # Places in a table that NumPy finds are strided; one kind of kernel serves all.
    row, column = np.ascontiguousarray(row), np.ascontiguousarray(column)
    parent = np.full(num_rows + num_columns, -1, dtype=np.int64)
    by = parent.copy()
    add_pairs(row, column, left, parent, by, np.int64(num_rows))
    return Forest(left, parent, by)
