"""Prefetching for loops that take vertices from a queue and read a value of each neighbour."""

from __future__ import annotations

import numpy as np

from ..arrays import Index, Indices
from ..graph.bipartite import Adjacency
from ..kernels.atomics import prefetch
from ..kernels.constants import ONE
from ..kernels.kernel import kernel

#: How many positions ahead in the queue cache lines are prefetched: first the vertex's range of neighbours,
#: then the neighbours, then the values of these. A solve of a graph larger than the caches mostly waits for
#: memory; prefetching halves its time.
AHEAD_RANGE = np.uint64(8)
AHEAD_NEIGHBOURS = np.uint64(6)
AHEAD_VALUES = np.uint64(3)
#: Values of at most this many neighbours are prefetched: more would evict others from the cache.
MOST_VALUES = np.uint64(32)


@kernel
def prefetch_queued(adjacency: Adjacency, values: Indices, queue: Indices, i: Index, end: np.uint64) -> None:
    """Prefetch for the vertices ahead of position `i`: range, neighbours, `values` of these."""
    if i + AHEAD_RANGE < end:
        prefetch(adjacency.first, np.uint64(queue[i + AHEAD_RANGE]))
        prefetch(adjacency.neighbour, np.uint64(adjacency.first[queue[i + AHEAD_NEIGHBOURS]]))
        v = np.uint64(queue[i + AHEAD_VALUES])
        first = np.uint64(adjacency.first[v])
        for e in range(first, min(np.uint64(adjacency.first[v + ONE]), first + MOST_VALUES)):
            prefetch(values, np.uint64(adjacency.neighbour[e]))
