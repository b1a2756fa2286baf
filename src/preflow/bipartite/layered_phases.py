"""Phases of shortest augmenting paths, which several methods make: see :mod:`.serial_hopcroft_karp`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import Indices
from ..graph.bipartite import Adjacency
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from .match_arrays import NONE, Matching, asked_to_stop
from .queue_prefetch import prefetch_queued

#: The layer of a column that a search of this phase has taken.
TAKEN = ZERO


class Layers(NamedTuple):
    """The state of a phase."""

    #: shape (num_columns,): the layer of every column; TAKEN; ``unreached - 1`` for free columns;
    #: ``unreached`` for matched columns that were not reached
    layer: Indices
    #: shape (num_rows,): rows in the order in which they were reached, the free ones first
    queue: Indices
    #: shape (num_rows,): the rows on the stack of the depth-first search, and the next edge that each tries
    position: Indices
    path: Indices


def make_layers(num_rows: int, num_columns: int, dtype: DTypeLike) -> Layers:
    """Return room for the layers; the caller fills the beginning of `queue` with the free rows."""
    queue, position, path = (np.empty(num_rows, dtype=dtype) for _ in range(3))
    return Layers(np.empty(num_columns, dtype=dtype), queue, position, path)


@kernel
def unreached(layers: Layers) -> np.uint64:
    """Return the layer of matched columns that were not reached; free columns have one less."""
    return NONE >> np.uint64(64 - 8 * layers.layer.itemsize)


@kernel
def find_layers(
    rows: Adjacency, matching: Matching, layers: Layers, size: np.uint64, monitor: Monitor
) -> tuple[np.uint64, np.uint64]:
    """Compute layers from the `size` free rows that begin the queue, up to the first free columns.

    Returns the number of columns of a shortest augmenting path, 0 if there is none or the solve was asked to
    stop, and the number of edges that were read.
    """
    num_rows = np.uint64(len(matching.row_match))
    layer, queue = layers.layer, layers.queue
    new = unreached(layers)
    free = new - ONE
    # Mark matched columns as not reached.
    for i in range(np.uint64(len(layer))):
        layer[i] = new if np.uint64(matching.column_match[i]) < num_rows else free
    # Breadth-first search, one layer at a time.
    begin, end = ZERO, size
    depth, scans = ZERO, ZERO
    while begin < end:
        depth += ONE
        found = False
        last = end
        for k in range(begin, last):
            if asked_to_stop(monitor.stop, k):
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
    rows: Adjacency, matching: Matching, layers: Layers, root: np.uint64, length: np.uint64
) -> tuple[bool, np.uint64]:
    """Augment along a path of `length` columns from a free row, if one is left.

    Returns whether there was a path, and the number of edges that were read.
    """
    layer, position, path = layers.layer, layers.position, layers.path
    free = unreached(layers) - ONE
    path[ZERO] = root
    position[ZERO] = rows.first[root]
    depth, scans = ZERO, ZERO
    # Depth-first search: go down to an unused column of the next layer, or back up.
    while True:
        r = np.uint64(path[depth])
        e, end = np.uint64(position[depth]), np.uint64(rows.first[r + ONE])
        # The last column of a path is free; the others have one layer each.
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
    rows: Adjacency, matching: Matching, layers: Layers, size: np.uint64, length: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Augment along a maximal set of disjoint paths of `length` columns from the first rows of the queue.

    Returns the number of free rows that are left in the queue, and the number of edges that were read.
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
