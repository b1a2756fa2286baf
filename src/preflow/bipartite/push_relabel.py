"""The ring of active rows, the test for a stall and the options, common to pushes on one thread and many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import Indices, Int64
from ..graph.bipartite import Adjacency
from ..kernels.atomics import prefetch, prefetch_to_write
from ..kernels.constants import ONE, THREE, TWO
from ..kernels.kernel import kernel
from ..solving.options import CheckedOptions, PositiveNumber
from .queue_prefetch import AHEAD_NEIGHBOURS, AHEAD_RANGE, AHEAD_VALUES, MOST_VALUES

#: Pushes have stalled if, at the rate since the last test, the active rows would take more than
#: m / STALLED_SHARE further pushes; m is the number of edges. Random graphs and meshes take 0.03 m to 0.06 m
#: pushes, permuted tridiagonal matrices more than 0.2 m. The kernel tests this after the number of columns
#: >> STALL_SHIFT, or after m / STALLED_SHARE pushes if these are fewer, but not before STALL_PUSHES for each
#: active row. On a board with holes, where most columns have no edges, the number of columns alone was m and
#: more: there pushes were 1.0 m instead of 0.15 m. With 2 STALL_PUSHES random graphs of degree 3 took 1.7
#: times as long.
STALL_SHIFT = np.uint64(1)
STALL_PUSHES = np.uint64(4)
STALLED_SHARE = np.uint64(8)
#: Where threads share labels, a row with at most this many columns has their labels prefetched for writing.
#: The push writes one of these labels by a compare-and-swap. If that has to wait until another core's cache
#: releases the line, everything after it waits, too. On 16 cores, pushes on Erdos-Renyi graphs then take 0.6
#: of the time. For a row with more columns, too many lines would move from cache to cache.
MOST_WRITTEN = np.uint64(8)


@dataclass(frozen=True)
class PushRelabelOptions(CheckedOptions):
    """Options of push-relabel.

    Attributes
    ----------
    relabel_period : float
        A global relabel runs after every ``relabel_period * (rows + columns)`` pushes: k in the papers.
    gap : bool
        Declare all columns above an empty level dead.
    initial_labels : {"exact", "one"}
        Start with a global relabel, or with label 1 for every matched column.
    stalled : {"push", "relabel", "trees"}
        What the method does when the last pushes matched few rows: it goes on pushing, makes a global
        relabel, or gives up, so that the alternating trees of `multicore-multi-source-bfs` match the rows
        that are left. With "trees", it also gives up where the global relabel is due after
        `relabel_period`.
    side : {"rows", "columns"}
        The side that pushes. Graphs that are stored by rows have to be transposed for "columns".
    double_push : bool
        Raise the label of a column above the second lowest label of its new row, instead of the lowest.
    """

    relabel_period: PositiveNumber = 0.5
    gap: bool = True
    initial_labels: Literal["exact", "one"] = "exact"
    stalled: Literal["push", "relabel", "trees"] = "push"
    side: Literal["rows", "columns"] = "rows"
    double_push: bool = True


@kernel
def place(position: np.uint64, end: np.uint64, capacity: np.uint64) -> np.uint64:
    """Return the index of a position, which may be past the end, in the ring buffer that ends at `end`."""
    return position - capacity if position >= end else position


@kernel
def prefetch_active(
    rows: Adjacency,
    values: Indices,
    queue: Indices,
    begin: np.uint64,
    size: np.uint64,
    end: np.uint64,
    capacity: np.uint64,
    shared: bool,
) -> None:
    """Prefetch data of the next rows in a ring buffer: their ranges, their columns, `values` of the columns.

    If the buffer has few rows (`size`), it prefetches less far ahead; a third of all pushes is made when only
    few rows are active. If other threads share the values (`shared`), those of rows with few columns are
    prefetched for writing, see MOST_WRITTEN.
    """
    last = size - ONE
    in_range, neighbours, in_values = AHEAD_RANGE, AHEAD_NEIGHBOURS, AHEAD_VALUES
    if last < AHEAD_RANGE:
        in_range, neighbours, in_values = last, (TWO * last + TWO) // THREE, (last + TWO) // THREE
    prefetch(rows.first, np.uint64(queue[place(begin + in_range, end, capacity)]))
    r = np.uint64(queue[place(begin + neighbours, end, capacity)])
    prefetch(rows.neighbour, np.uint64(rows.first[r]))
    r = np.uint64(queue[place(begin + in_values, end, capacity)])
    first, last = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
    if shared and last - first <= MOST_WRITTEN:
        for e in range(first, last):
            prefetch_to_write(values, np.uint64(rows.neighbour[e]))
    else:
        for e in range(first, min(last, first + MOST_VALUES)):
            prefetch(values, np.uint64(rows.neighbour[e]))


@kernel
def pushes_until_look(num_columns: np.uint64, num_edges: np.uint64, size: np.uint64) -> np.uint64:
    """Return the number of pushes until the next test for a stall, when `size` rows are active."""
    return max(min(num_columns >> STALL_SHIFT, num_edges // STALLED_SHARE), STALL_PUSHES * size)


@kernel
def have_stalled(pushes: np.uint64, size_then: np.uint64, size: np.uint64, num_edges: Int64) -> bool:
    """Whether pushes have stalled: the last `pushes` reduced the active rows from `size_then` to `size`."""
    to_come = float(pushes) * float(size)  # in floats: the product may not fit an integer
    return bool(to_come * float(STALLED_SHARE) > float(size_then - size) * float(num_edges))
