"""The standard heuristic: every row, one after the other, takes its first free column.

"Cheap" in Duff, Kaya and Uçar (2011), what Deveci et al. start from. At least half of a maximum
matching, O(m). Several threads take pieces of the rows; a column goes to the first row that claims it by a
compare-and-swap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import compare_exchange, relaxed_load
from ..kernels.kernel import kernel
from ..parallel.pieces import run_pieces
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


@kernel
def claim_first_free(rows: Adjacency, matching: Matching, begin: Any, end: Any) -> None:
    """Match rows ``begin .. end - 1``, each with the first free column that it can get before others do."""
    num_rows = np.uint64(len(matching.row_match))
    for r in range(begin, end):
        for e in range(np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])):
            c = np.uint64(rows.neighbour[e])
            mate = np.uint64(relaxed_load(matching.column_match, c))
            if mate >= num_rows and compare_exchange(matching.column_match, c, mate, r):
                matching.row_match[r] = c
                break


def start(graph: BipartiteGraph, matching: Matching, threads: int = 1) -> None:
    """Add edges to an empty matching, in place."""
    if threads == 1:
        take_first_free(graph.rows, matching)
        return

    def work(begin: int, end: int) -> None:
        claim_first_free(graph.rows, matching, np.uint64(begin), np.uint64(end))

    run_pieces(work, graph.num_rows, threads)
