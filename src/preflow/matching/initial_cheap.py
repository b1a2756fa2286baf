"""The standard heuristic: every row, one after the other, takes its first free column.

"Cheap" in Duff, Kaya and Uçar (2011), what Deveci et al. start from. At least half of a maximum
matching, O(m).
"""

from __future__ import annotations

import numpy as np

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.kernel import kernel
from .state import Matching

ONE = np.uint64(1)


@kernel
def take_first_free(rows: Adjacency, matching: Matching) -> None:
    """Match every row with its first free column."""
    num_rows = np.uint64(len(matching.row_match))
    for r in range(num_rows):
        for e in range(np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])):
            c = np.uint64(rows.neighbour[e])
            if np.uint64(matching.column_match[c]) >= num_rows:
                matching.row_match[r] = c
                matching.column_match[c] = r
                break


def start(graph: BipartiteGraph, matching: Matching) -> None:
    """Add edges to an empty matching, in place."""
    take_first_free(graph.rows, matching)
