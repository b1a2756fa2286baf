"""The vertices that alternating paths reach, and the vertex cover that follows by König's theorem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from ..certify.fields import check_array
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .match_arrays import Matching
from .queue_prefetch import prefetch_queued


class VertexCover(NamedTuple):
    """Rows and columns such that every edge has one of them."""

    rows: NDArray[np.bool_]  #: shape (num_rows,)
    columns: NDArray[np.bool_]  #: shape (num_columns,)

    @property
    def size(self) -> int:
        """Number of vertices in the cover."""
        return int(np.count_nonzero(self.rows)) + int(np.count_nonzero(self.columns))


@kernel
def reach_from_free(
    adjacency: Adjacency,
    match: Indices,
    other_match: Indices,
    near: NDArray[np.bool_],
    far: NDArray[np.bool_],
    queue: Indices,
) -> None:
    """Mark the vertices of both sides that alternating paths from the free vertices of one side reach.

    `adjacency` and `match` are those of the side to start from; `near` and `far`, the marks of that side and
    of the other, are all False.
    """
    size, other_size = np.uint64(len(match)), np.uint64(len(other_match))
    end = ZERO
    for free in range(size):
        if np.uint64(match[free]) >= other_size:
            near[free] = True
            queue[end] = free
            end += ONE
    k = ZERO
    while k < end:
        prefetch_queued(adjacency, other_match, queue, k, end)
        v = np.uint64(queue[k])
        k += ONE
        for e in range(np.uint64(adjacency.first[v]), np.uint64(adjacency.first[v + ONE])):
            w = np.uint64(adjacency.neighbour[e])
            if not far[w]:
                far[w] = True
                mate = np.uint64(other_match[w])
                if mate < size and not near[mate]:
                    near[mate] = True
                    queue[end] = mate
                    end += ONE


def reachable_from_rows(
    graph: BipartiteGraph, matching: Matching
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows and columns alternating paths from the free rows reach. O(n + m).

    VerificationError: the arrays of the matching do not fit the graph, as in a damaged file.
    """
    for side, match, count in zip(("row", "column"), matching, graph.shape, strict=True):
        check_array(np, match, f"the matches of each {side}", (count,), graph.dtype)
    rows, columns = (np.zeros(size, dtype=bool) for size in graph.shape)
    queue = np.empty(graph.num_rows, dtype=graph.rows.first.dtype)
    reach_from_free(graph.rows, matching.row_match, matching.column_match, rows, columns, queue)
    return rows, columns


def koenig_cover(graph: BipartiteGraph, matching: Matching) -> VertexCover:
    """Return the cover of a maximum matching: as many vertices as the matching has edges."""
    rows, columns = reachable_from_rows(graph, matching)
    return VertexCover(~rows, columns)


def trivial_cover(graph: BipartiteGraph) -> VertexCover:
    """Return all rows that have edges, or all columns if these are fewer, on the device of the graph.

    For a graph given by columns the two sides are exchanged, so that nothing has to be transposed.
    """
    if graph.by_columns:
        return VertexCover(*reversed(trivial_cover(graph.transposed)))
    xp = graph.xp
    rows = graph.rows.first[1:] > graph.rows.first[:-1]
    if xp.count_nonzero(rows) <= graph.num_columns:
        return VertexCover(rows, xp.zeros(graph.num_columns, dtype=bool))
    return VertexCover(xp.zeros(graph.num_rows, dtype=bool), xp.ones(graph.num_columns, dtype=bool))
