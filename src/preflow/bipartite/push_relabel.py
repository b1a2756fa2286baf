"""Pushes of active rows, which several methods make: see :mod:`.serial_push_relabel`."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from ..arrays import Indices, Int64
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import prefetch, prefetch_to_write, relaxed_load
from ..kernels.branch_free import choose
from ..kernels.constants import ONE, THREE, TWO, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.options import NoOptions, check_choice, check_flag, check_positive_number, limit
from ..solving.run import Control
from ..stats import (
    ARC_SCANS,
    AUGMENTATIONS,
    GAP_VERTICES,
    GLOBAL_RELABELS,
    PHASES,
    PUSHES,
    RELABEL_NANOSECONDS,
)
from . import multicore_multi_source_bfs
from .match_arrays import Matching, list_free_rows, match_rows
from .packed_columns import check_packed
from .queue_prefetch import AHEAD_NEIGHBOURS, AHEAD_RANGE, AHEAD_VALUES, MOST_VALUES, prefetch_queued

#: To close a gap, the kernel passes over all columns, at most once in num_columns >> GAP_SHIFT pushes.
GAP_SHIFT = np.uint64(2)
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
class PushRelabelOptions:
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
        relabel, or matches the remaining rows by the alternating trees of `multicore-multi-source-bfs`. With
        "trees", these also replace the global relabel that is due after `relabel_period`.
    side : {"rows", "columns"}
        The side that pushes. Graphs that are stored by rows have to be transposed for "columns".
    double_push : bool
        Raise the label of a column above the second lowest label of its new row, instead of the lowest.
    """

    relabel_period: float = 0.5
    gap: bool = True
    initial_labels: Literal["exact", "one"] = "exact"
    stalled: Literal["push", "relabel", "trees"] = "push"
    side: Literal["rows", "columns"] = "rows"
    double_push: bool = True

    def __post_init__(self) -> None:
        check_positive_number("relabel_period", self.relabel_period)
        check_flag("gap", self.gap)
        check_choice("initial_labels", self.initial_labels, ("exact", "one"))
        check_choice("stalled", self.stalled, ("push", "relabel", "trees"))
        check_choice("side", self.side, ("rows", "columns"))
        check_flag("double_push", self.double_push)


class Rules(NamedTuple):
    """The options that the kernels read: see :class:`PushRelabelOptions`."""

    push_limit: np.uint64  #: pushes until a global relabel
    gap: bool  #: whether to declare all columns above an empty level dead
    stalls: bool  #: whether to test if pushes have stalled
    double_push: bool  #: whether to raise labels above the second lowest


class LabelState(NamedTuple):
    """The state besides the matching."""

    #: shape (num_columns,): a lower bound on the number of further columns on an alternating path to a free
    #: column: 0 for a free column, num_columns + 1 for a dead one
    label: Indices
    #: shape (num_columns + 2,): number of columns with each label below that of dead columns
    population: Indices
    queue: Indices  #: shape (num_rows,): active rows, a ring buffer
    #: shape (num_columns,): columns in the order in which a global relabel finds them
    order: Indices


@kernel
def label_with_one(matching: Matching, state: LabelState) -> None:
    """Give free columns label 0 and matched ones label 1."""
    num_rows = np.uint64(len(matching.row_match))
    state.population[:] = 0
    for c in range(np.uint64(len(state.label))):
        h = ONE if np.uint64(matching.column_match[c]) < num_rows else ZERO
        state.label[c] = h
        state.population[h] += 1


@kernel
def global_relabel(columns: Adjacency, matching: Matching, state: LabelState) -> None:
    """Set all labels to exact distances by a breadth-first search from the free columns."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(state.label))
    label, order, row_match = state.label, state.order, matching.row_match
    dead = num_columns + ONE
    state.population[:] = 0
    end = ZERO
    # Free columns get label 0 and start the search; all others are dead until they are reached.
    for v in range(num_columns):
        label[v] = dead
        if np.uint64(matching.column_match[v]) >= num_rows:
            label[v] = ZERO
            order[end] = v
            end += ONE
    state.population[ZERO] = end
    # Breadth-first search backwards: column, its rows, their columns.
    k = ZERO
    while k < end:
        prefetch_queued(columns, row_match, order, k, end)
        c = np.uint64(order[k])
        k += ONE
        h = np.uint64(label[c]) + ONE
        for e in range(np.uint64(columns.first[c]), np.uint64(columns.first[c + ONE])):
            other = np.uint64(row_match[columns.neighbour[e]])
            if other < num_columns and np.uint64(label[other]) == dead:
                label[other] = h
                state.population[h] += 1
                order[end] = other
                end += ONE


@kernel
def close_gap(state: LabelState, level: np.uint64) -> np.uint64:
    """Declare all columns with labels above `level` dead, since no column has this label; return how many."""
    dead = np.uint64(len(state.label)) + ONE
    closed = ZERO
    for c in range(np.uint64(len(state.label))):
        h = np.uint64(state.label[c])
        if level < h < dead:
            state.label[c] = dead
            state.population[h] -= 1
            closed += ONE
    return closed


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


@kernel
def push_until(
    rows: Adjacency,
    matching: Matching,
    state: LabelState,
    begin: np.uint64,
    size: np.uint64,
    rules: Rules,
    monitor: Monitor,
) -> tuple[np.uint64, np.uint64]:
    """Push until no row is active, a global relabel is due, pushes have stalled, or the solve is to stop.

    Takes and returns the beginning of the queue and the number of rows in it. Once no column is free, the
    matching is maximum, and the function returns an empty queue.
    """
    stop, counts, progress = monitor
    num_columns, num_edges = np.uint64(len(state.label)), np.uint64(len(rows.neighbour))
    label, queue, population = state.label, state.queue, state.population
    dead, capacity = num_columns + ONE, np.uint64(len(queue))
    pushes, scans = ZERO, ZERO
    next_gap = num_columns >> GAP_SHIFT
    looked, next_look = ZERO, pushes_until_look(num_columns, num_edges, size)
    size_then = size
    if population[ZERO] == 0:
        size = ZERO
    while size > ZERO and pushes < rules.push_limit and relaxed_load(stop, 0) == 0:
        # Take the first row of the queue.
        if size > ONE:
            prefetch_active(rows, label, queue, begin, size, capacity, capacity, False)
        r = np.uint64(queue[begin])
        begin = place(begin + ONE, capacity, capacity)
        size -= ONE
        # Find its columns with the lowest and the second lowest label.
        lowest, second, chosen = dead, dead, ZERO
        first, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
        e = first
        while e < end:
            c = np.uint64(rows.neighbour[e])
            h = np.uint64(label[c])
            e += ONE
            is_lower = h < lowest
            second = choose(is_lower, lowest, min(h, second))
            chosen = choose(is_lower, c, chosen)
            lowest = min(h, lowest)
            if h == ZERO:
                break
        # If all of its columns are dead, give the row up.
        scans += e - first
        if lowest == dead:
            continue
        # Push; the row that had the column becomes active.
        pushes += ONE
        if lowest == ZERO:
            counts[AUGMENTATIONS] += ONE
            second = ZERO  # the other columns may not have been read
        else:
            queue[place(begin + size, capacity, capacity)] = matching.column_match[chosen]
            size += ONE
        matching.column_match[chosen] = r
        # Relabel the column, and close the gap that this may have left.
        if not rules.double_push:
            second = lowest
        raised = min(second + ONE, dead)
        label[chosen] = raised
        population[raised] += 1
        left = np.uint64(population[lowest]) - ONE
        population[lowest] = left
        if left == ZERO:
            if lowest == ZERO:
                size = ZERO
            elif rules.gap and pushes >= next_gap:
                next_gap = pushes + (num_columns >> GAP_SHIFT)
                counts[GAP_VERTICES] += close_gap(state, lowest)
        progress[0] = size
        # Test whether pushes have stalled.
        if rules.stalls and pushes >= next_look:
            if have_stalled(pushes - looked, size_then, size, len(rows.neighbour)):
                break
            looked = pushes
            next_look = pushes + pushes_until_look(num_columns, num_edges, size)
            size_then = size
    counts[PUSHES] += pushes
    counts[ARC_SCANS] += scans
    return begin, size


def grow_trees(graph: BipartiteGraph, matching: Matching, left: int, control: Control) -> bool:
    """Match the `left` active rows by alternating trees; return whether the matching is then maximum."""
    control.remarks.append(f"trees took the last {left:,} rows")
    options = NoOptions()
    return multicore_multi_source_bfs.solve(graph, matching, options, control)


def push_rows(
    graph: BipartiteGraph, matching: Matching, options: PushRelabelOptions, control: Control
) -> bool:
    """Make a matching maximum, in place; return False where the solve was asked to stop.

    O(n m) time. Memory: one index per row and three per column. A global relabel also needs the transposed
    graph; trees need two indices and 16 bytes per row and 8 bytes per column, and raise UnsuitableMethodError
    from 2**32 - 2 rows or columns on.
    """
    if options.side == "columns":
        return push_rows(graph.transposed, matching.transposed, replace(options, side="rows"), control)
    num_rows, num_columns = graph.shape
    if options.stalled == "trees":
        check_packed(graph, "serial-push-relabel with trees")
    dtype = graph.rows.first.dtype
    state = LabelState(
        label=np.empty(num_columns, dtype=dtype),
        population=np.zeros(num_columns + 2, dtype=dtype),
        queue=np.empty(num_rows, dtype=dtype),
        order=np.empty(num_columns, dtype=dtype),
    )
    rules = Rules(
        push_limit=limit(options.relabel_period * (num_rows + num_columns)),
        gap=options.gap,
        stalls=options.stalled != "push",
        double_push=options.double_push,
    )
    begin, size = 0, int(list_free_rows(graph.rows, matching, state.queue))
    control.progress[:] = size
    if options.initial_labels == "one":
        label_with_one(matching, state)
    pushed = False
    while size and not control.stopped:
        if pushed and options.stalled == "trees":
            return grow_trees(graph, matching, size, control)
        if pushed or options.initial_labels == "exact":
            started = time.perf_counter_ns()
            global_relabel(graph.columns, matching, state)
            control.counts[GLOBAL_RELABELS] += 1
            control.counts[RELABEL_NANOSECONDS] += time.perf_counter_ns() - started
        left = push_until(
            graph.rows, matching, state, np.uint64(begin), np.uint64(size), rules, control.monitor()
        )
        begin, size = map(int, left)
        control.counts[PHASES] += 1
        pushed = True
        match_rows(matching)
    return size == 0
