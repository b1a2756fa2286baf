"""Minimum degree: rows by their degree, each with the free column that has the fewest rows to come.

After the minimum-degree heuristics of Magun, "Greedy matching algorithms, an experimental study" (1998).

Departure: degrees of rows do not fall as columns are taken. So one pass over the rows is enough, and no
transposed graph is needed.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Indices
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.constants import ONE
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ..match_arrays import NONE, Matching, asked_to_stop
from ..queue_prefetch import prefetch_queued

#: Rows with at least this many edges are not ordered among themselves.
HIGH_DEGREE = 256


@kernel
def count_columns(rows: Adjacency, degree: Indices) -> None:
    """Count the rows of every column in `degree`, which is all zero."""
    for c in rows.neighbour:
        degree[np.uint64(c)] += 1


@kernel
def order_by_degree(rows: Adjacency, begin: Indices, order: Indices) -> None:
    """Write the rows by ascending degree into `order`.

    `begin` is all zero and has an entry a degree, and one more; rows of the last degree or a higher one count
    as equal.
    """
    highest = np.uint64(len(begin)) - ONE - ONE
    for r in range(np.uint64(len(order))):
        degree = np.uint64(rows.first[r + ONE]) - np.uint64(rows.first[r])
        begin[min(degree, highest) + ONE] += 1
    for d in range(highest):
        begin[d + ONE] += begin[d]
    for r in range(np.uint64(len(order))):
        degree = min(np.uint64(rows.first[r + ONE]) - np.uint64(rows.first[r]), highest)
        order[begin[degree]] = r
        begin[degree] += 1


@kernel
def take_rarest(
    rows: Adjacency, order: Indices, degree: Indices, matching: Matching, monitor: Monitor
) -> None:
    """Match the rows in `order`; `degree` is the number of rows to come of every column."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    for k in range(num_rows):
        if asked_to_stop(monitor.stop, k):
            break
        prefetch_queued(rows, degree, order, k, num_rows)
        r = np.uint64(order[k])
        least, chosen = NONE, num_columns
        for e in range(np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])):
            c = np.uint64(rows.neighbour[e])
            left = np.uint64(degree[c]) - ONE
            degree[c] = left
            if left < least and np.uint64(matching.column_match[c]) >= num_rows:
                least = left
                chosen = c
        if chosen < num_columns:
            matching.row_match[r] = chosen
            matching.column_match[chosen] = r


def start(graph: BipartiteGraph, matching: Matching, control: Control) -> None:
    """Add edges to an empty matching, in place."""
    dtype = graph.rows.first.dtype
    degree, order = np.zeros(graph.num_columns, dtype=dtype), np.empty(graph.num_rows, dtype=dtype)
    count_columns(graph.rows, degree)
    order_by_degree(graph.rows, np.zeros(HIGH_DEGREE + 2, dtype=dtype), order)
    take_rarest(graph.rows, order, degree, matching, control.monitor())
