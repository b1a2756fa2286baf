"""Prefetching for loops that take vertices from a queue and look at all their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.bipartite import Adjacency
from ..kernels.atomics import prefetch
from ..kernels.kernel import kernel

ONE = np.uint64(1)
#: How many places ahead of the one that is taken from a queue cache lines are asked for: the vertex's range
#: of neighbours, then the neighbours, then what is known of these. On graphs past the caches a solve mostly
#: waits for memory: with these it takes about half the time.
AHEAD_RANGE = np.uint64(8)
AHEAD_NEIGHBOURS = np.uint64(6)
AHEAD_VALUES = np.uint64(3)
#: And of at most so many neighbours: more would push others out of the cache.
MOST_VALUES = np.uint64(32)


@kernel
def prefetch_queued(adjacency: Adjacency, values: Any, queue: Any, i: Any, end: Any) -> None:
    """Ask for what the vertices ahead of place `i` in a queue need, `values` of their neighbours last."""
    if i + AHEAD_RANGE < end:
        prefetch(adjacency.first, np.uint64(queue[i + AHEAD_RANGE]))
        prefetch(adjacency.neighbour, np.uint64(adjacency.first[queue[i + AHEAD_NEIGHBOURS]]))
        v = np.uint64(queue[i + AHEAD_VALUES])
        first = np.uint64(adjacency.first[v])
        for e in range(first, min(np.uint64(adjacency.first[v + ONE]), first + MOST_VALUES)):
            prefetch(values, np.uint64(adjacency.neighbour[e]))
