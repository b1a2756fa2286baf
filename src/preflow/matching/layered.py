"""A phase of Hopcroft and Karp: layers by breadth-first search, then a maximal set of shortest paths.

Layers are kept for columns, not for the rows that these are matched with: what an edge leads to is then known
from one place in memory, which can be asked for ahead of time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency
from ..kernels.kernel import kernel
from .state import NONE, Matching, asked_to_stop, prefetch_queued

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Layer of columns that a search has taken in this phase.
TAKEN = ZERO


class Layers(NamedTuple):
    """The state of a phase.

    Attributes
    ----------
    layer : ndarray, shape (num_columns,)
        How many columns an alternating path from a free row has up to this one. TAKEN; `free` for free
        columns; the largest number for matched ones that were not reached.
    queue : ndarray, shape (num_rows,)
        Rows in the order in which they were reached, the free ones first.
    position, path : ndarray, shape (num_rows,)
        The rows on the stack of the depth-first search, and the next edge that each tries.
    """

    layer: NDArray[Any]
    queue: NDArray[Any]
    position: NDArray[Any]
    path: NDArray[Any]


def make_layers(num_rows: int, num_columns: int, dtype: Any) -> Layers:
    """Return room for the layers; `queue` is to begin with the free rows."""
    queue, position, path = (np.empty(num_rows, dtype=dtype) for _ in range(3))
    return Layers(np.empty(num_columns, dtype=dtype), queue, position, path)


@kernel
def unreached(layers: Layers) -> Any:
    """Return the layer of matched columns that were not reached; one less is that of free columns."""
    return NONE >> np.uint64(64 - 8 * layers.layer.itemsize)


@kernel
def find_layers(rows: Adjacency, matching: Matching, layers: Layers, size: Any, stop: Any) -> tuple[Any, Any]:
    """Layer the columns from the `size` free rows that begin the queue, up to the first free columns.

    Returns how many columns a shortest augmenting path has, 0 if there is none or the solve was asked to
    stop, and how many edges were looked at.
    """
    num_rows = np.uint64(len(matching.row_match))
    layer, queue = layers.layer, layers.queue
    new = unreached(layers)
    free = new - ONE
    for i in range(np.uint64(len(layer))):
        layer[i] = new if np.uint64(matching.column_match[i]) < num_rows else free
    begin, end = ZERO, size
    depth, scans = ZERO, ZERO
    while begin < end:
        depth += ONE
        found = False
        last = end
        for k in range(begin, last):
            if asked_to_stop(stop, k):
                return ZERO, scans
            prefetch_queued(rows, layer, queue, k, last)
            r = np.uint64(queue[k])
            e, edges_end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
            scans -= e
            while e < edges_end:
                c = np.uint64(rows.neighbour[e])
                e += ONE
                at = np.uint64(layer[c])
                if at == free:
                    found = True
                    break
                if at == new and not found:
                    layer[c] = depth
                    queue[end] = matching.column_match[c]
                    end += ONE
            scans += e
        if found:
            return depth, scans
        begin = last
    return ZERO, scans


@kernel
def augment_layered(
    rows: Adjacency, matching: Matching, layers: Layers, root: Any, length: Any
) -> tuple[bool, Any]:
    """Augment along a path of `length` columns from a free row, if one is left.

    No column is taken twice in a phase, be it that it leads nowhere or that it is on a path that augmented.
    Returns whether there was a path, and how many edges were looked at.
    """
    layer, position, path = layers.layer, layers.position, layers.path
    free = unreached(layers) - ONE
    path[ZERO] = root
    position[ZERO] = rows.first[root]
    depth, scans = ZERO, ZERO
    while True:
        r = np.uint64(path[depth])
        e, end = np.uint64(position[depth]), np.uint64(rows.first[r + ONE])
        # The last column of a path is free, the others are of one layer each.
        wanted = free if depth + ONE == length else depth + ONE
        scans -= e
        while e < end and np.uint64(layer[rows.neighbour[e]]) != wanted:
            e += ONE
        scans += e
        if e < end:
            c = np.uint64(rows.neighbour[e])
            layer[c] = TAKEN
            if wanted == free:
                break
            position[depth] = e + ONE
            depth += ONE
            r = np.uint64(matching.column_match[c])
            path[depth] = r
            position[depth] = rows.first[r]
        elif depth == ZERO:
            return False, scans
        else:
            depth -= ONE
    while True:
        r = np.uint64(path[depth])
        previous = np.uint64(matching.row_match[r])
        matching.row_match[r] = c
        matching.column_match[c] = r
        if depth == ZERO:
            return True, scans
        depth -= ONE
        c = previous


@kernel
def augment_all(
    rows: Adjacency, matching: Matching, layers: Layers, size: Any, length: Any
) -> tuple[Any, Any]:
    """Augment along a maximal set of disjoint paths of `length` columns from the first rows of the queue.

    Returns how many free rows are left there, and how many edges were looked at.
    """
    left, scans = ZERO, ZERO
    for k in range(size):
        prefetch_queued(rows, layers.layer, layers.queue, k, size)
        root = np.uint64(layers.queue[k])
        found, more = augment_layered(rows, matching, layers, root, length)
        scans += more
        if not found:
            layers.queue[left] = root
            left += ONE
    return left, scans
