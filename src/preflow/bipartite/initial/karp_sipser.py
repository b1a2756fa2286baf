"""The heuristic of Karp and Sipser (1981): vertices with one neighbour first.

While some vertex has a single neighbour left, the two are matched; some maximum matching of the remaining
graph has that edge. Otherwise the next row takes its neighbour with the fewest neighbours left, a choice that
may be wrong. On sparse random graphs almost no vertex stays free.

A matched vertex has degree 0 here, so one array per side holds all of the state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Index, Indices
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...graph.bipartite_input import MOST_NARROW
from ...kernels.atomics import prefetch
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ..match_arrays import NONE, Matching, asked_to_stop
from ..queue_prefetch import AHEAD_NEIGHBOURS, AHEAD_RANGE, AHEAD_VALUES


class Remainder(NamedTuple):
    """The remaining graph."""

    #: number of neighbours left; 0 for vertices that are matched or isolated
    row_degree: Indices
    column_degree: Indices
    #: shape (num_rows + num_columns,): queue of vertices with one neighbour left; column c has number
    #: ``num_rows + c``
    pending: Indices


@kernel
def count_degrees(rows: Adjacency, columns: Adjacency, left: Remainder) -> np.uint64:
    """Count all neighbours, queue the vertices that have one, return the number of these."""
    num_rows = np.uint64(len(left.row_degree))
    end = ZERO
    for r in range(num_rows):
        left.row_degree[r] = rows.first[r + ONE] - rows.first[r]
        if left.row_degree[r] == 1:
            left.pending[end] = r
            end += ONE
    for c in range(np.uint64(len(left.column_degree))):
        left.column_degree[c] = columns.first[c + ONE] - columns.first[c]
        if left.column_degree[c] == 1:
            left.pending[end] = num_rows + c
            end += ONE
    return end


@kernel
def forget(
    adjacency: Adjacency, degree: Indices, v: Index, offset: np.uint64, pending: Indices, end: np.uint64
) -> np.uint64:
    """Remove `v` from the neighbours of its neighbours; return the end of the queue."""
    for e in range(np.uint64(adjacency.first[v]), np.uint64(adjacency.first[v + ONE])):
        other = np.uint64(adjacency.neighbour[e])
        before = np.uint64(degree[other])
        if before > ZERO:
            degree[other] = before - ONE
            if before == np.uint64(2):
                pending[end] = other + offset
                end += ONE
    return end


@kernel
def take_edge(
    rows: Adjacency,
    columns: Adjacency,
    left: Remainder,
    matching: Matching,
    r: Index,
    c: np.uint64,
    end: np.uint64,
) -> np.uint64:
    """Match a row with a column and remove both; return the end of the queue."""
    matching.row_match[r] = c
    matching.column_match[c] = r
    others_of_row = np.uint64(left.row_degree[r]) > ONE
    others_of_column = np.uint64(left.column_degree[c]) > ONE
    left.row_degree[r] = 0
    left.column_degree[c] = 0
    if others_of_row:
        num_rows = np.uint64(len(left.row_degree))
        end = forget(rows, left.column_degree, r, num_rows, left.pending, end)
    if others_of_column:
        end = forget(columns, left.row_degree, c, ZERO, left.pending, end)
    return end


@kernel
def first_left(adjacency: Adjacency, degree: Indices, v: np.uint64) -> np.uint64:
    """Return the first remaining neighbour of `v`; there is one."""
    e = np.uint64(adjacency.first[v])
    while degree[adjacency.neighbour[e]] == 0:
        e += ONE
    return np.uint64(adjacency.neighbour[e])


@kernel
def prefetch_pending(
    rows: Adjacency, columns: Adjacency, left: Remainder, begin: np.uint64, end: np.uint64
) -> None:
    """Prefetch for the vertices ahead in the queue."""
    num_rows = np.uint64(len(left.row_degree))
    if begin + AHEAD_RANGE < end:
        v = np.uint64(left.pending[begin + AHEAD_RANGE])
        if v < num_rows:
            prefetch(rows.first, v)
        else:
            prefetch(columns.first, v - num_rows)
        v = np.uint64(left.pending[begin + AHEAD_NEIGHBOURS])
        if v < num_rows:
            prefetch(rows.neighbour, np.uint64(rows.first[v]))
        else:
            prefetch(columns.neighbour, np.uint64(columns.first[v - num_rows]))


@kernel
def take_single_neighbours(
    rows: Adjacency,
    columns: Adjacency,
    left: Remainder,
    matching: Matching,
    begin: np.uint64,
    end: np.uint64,
    monitor: Monitor,
) -> np.uint64:
    """Match the queued vertices and those that come down to one neighbour; return the end of the queue."""
    num_rows = np.uint64(len(left.row_degree))
    while begin < end and not asked_to_stop(monitor.stop, begin):
        prefetch_pending(rows, columns, left, begin, end)
        v = np.uint64(left.pending[begin])
        begin += ONE
        if v < num_rows:
            if left.row_degree[v] > 0:
                c = first_left(rows, left.column_degree, v)
                end = take_edge(rows, columns, left, matching, v, c, end)
        elif left.column_degree[v - num_rows] > 0:
            r = first_left(columns, left.row_degree, v - num_rows)
            end = take_edge(rows, columns, left, matching, r, v - num_rows, end)
    return end


@kernel
def take_all(
    rows: Adjacency, columns: Adjacency, left: Remainder, matching: Matching, monitor: Monitor
) -> None:
    """Match vertices with one neighbour first, then row by row, and these vertices again after each row."""
    num_rows = np.uint64(len(left.row_degree))
    end = count_degrees(rows, columns, left)
    end = take_single_neighbours(rows, columns, left, matching, ZERO, end, monitor)
    for r in range(num_rows):
        if asked_to_stop(monitor.stop, r):
            break
        # Prefetch the degrees of the columns of a row ahead.
        if r + AHEAD_VALUES < num_rows and left.row_degree[r + AHEAD_VALUES] > 0:
            for e in range(
                np.uint64(rows.first[r + AHEAD_VALUES]), np.uint64(rows.first[r + AHEAD_VALUES + ONE])
            ):
                prefetch(left.column_degree, np.uint64(rows.neighbour[e]))
        if left.row_degree[r] == 0:
            continue
        # Take the column with the fewest neighbours left.
        least, chosen = NONE, ZERO
        for e in range(np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])):
            c = np.uint64(rows.neighbour[e])
            degree = np.uint64(left.column_degree[c])
            if ZERO < degree < least:
                least = degree
                chosen = c
        # Match what has one neighbour now.
        begin = end
        end = take_edge(rows, columns, left, matching, r, chosen, end)
        end = take_single_neighbours(rows, columns, left, matching, begin, end, monitor)


def start(graph: BipartiteGraph, matching: Matching, control: Control) -> None:
    """Add edges to an empty matching, in place."""
    dtype = graph.rows.first.dtype
    num_rows, num_columns = graph.shape
    pending_dtype = np.uint32 if num_rows + num_columns <= MOST_NARROW else np.uint64
    left = Remainder(
        row_degree=np.empty(num_rows, dtype=dtype),
        column_degree=np.empty(num_columns, dtype=dtype),
        pending=np.empty(num_rows + num_columns, dtype=pending_dtype),
    )
    take_all(graph.rows, graph.columns, left, matching, control.monitor())
