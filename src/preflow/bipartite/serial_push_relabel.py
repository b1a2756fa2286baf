"""Push-relabel for bipartite matching, with a first-in-first-out queue of active rows.

Deveci, Kaya, Uçar and Çatalyürek, "A push-relabel-based maximum cardinality bipartite matching algorithm on
GPUs" (2013), Algorithms 1 and 2; Goldberg and Kennedy (1997); Kaya, Langguth, Manne and Uçar (2013).

Definitions. A row is *active* if it is free and has edges, unless it was given up. The *label* of a column is
a lower bound on the number of further columns on every alternating path from it to a free column; a free
column has label 0. A *push* matches an active row with its column of lowest label, and makes the row that had
this column active. A column is *dead* if its label, num_columns + 1, says that no alternating path leads to a
free column. A *gap* is a label that no column has, although some columns have larger ones; these are dead.

Invariants:

- Labels never fall, free columns have label 0.
- The label of a matched column is at most one more than the label of any other column of its row.
- A row is active, matched, or given up because all of its columns are dead.

Departures:

- Rows are active and push to columns, since matrices are stored by rows. The label of a row would be one more
  than the lowest label among its columns, so only columns have labels.
- A push sets the label of the column to one more than the *second* lowest label among the columns of its new
  row. This is the largest valid label (the double push of Goldberg and Kennedy). The paper raises the label
  by 2, which is one more than the lowest label here, since only columns have labels.
- The name `PR` is Algorithm 1 as printed: active columns push to rows (``side="columns"``), labels rise by 2
  in the paper's count (``double_push=False``), there are no gaps (``gap=False``). The text adds that columns
  are taken first in, first out, and that Algorithm 2 runs every k (m + n) pushes, with k = 0.5. Here it also
  runs first; the print starts with the labels 0 and 1.
- A solve ends once no column is free. In print the rows that are left go on until all of them are given up.
  A column is dead at the label num_columns + 1, in print at half of rows + columns.
- ``initial_labels="one"`` starts without a global relabel. After a good initial matching, labels then stay
  low (3.7 on average and 8 at most on a Delaunay graph of a million vertices), chains of pushes stay short,
  and most solves need no transposed graph. A global relabel makes all labels exact distances. Rows that
  compete for the same free column then have to raise the labels of all columns around it.
- ``stalled="trees"`` leaves the last rows to the alternating trees of :mod:`.multicore_multi_source_bfs`,
  another attempt. They are faster where pushes take long, as on permuted tridiagonal matrices.
- Pushes write the row of each column only. The column of each row is filled in when a phase of pushes ends.

Pseudo-code::

    queue = active rows
    labels: exact distances (global relabel), or 0 for free and 1 for matched columns
    while there are active rows:
        repeat until no row is active, or k (rows + columns) pushes are made, or pushes have stalled:
            take the first row r of the queue
            find its columns with the lowest and the second lowest label
            if the lowest is dead: give r up
            push r to the lowest column c; queue the row that had c
            label of c = label of the second lowest + 1, or 1 if c was free
            if no column has the old label of c now: columns with larger labels are dead
        global relabel, or match the last rows by trees

k is the option `relabel_period`. Without `double_push` the label of c is the lowest label + 1. With
``side="columns"`` the roles of rows and columns are exchanged.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import Indices
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import relaxed_load
from ..kernels.branch_free import choose
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.options import limit
from ..solving.run import Control, GaveUp
from ..stats import (
    ARC_SCANS,
    AUGMENTATIONS,
    GAP_VERTICES,
    GLOBAL_RELABELS,
    PHASES,
    PUSHES,
    RELABEL_NANOSECONDS,
)
from .match_arrays import Matching, list_free_rows, match_rows
from .packed_columns import is_narrow
from .push_relabel import PushRelabelOptions, have_stalled, place, prefetch_active, pushes_until_look
from .queue_prefetch import prefetch_queued

#: To close a gap, the kernel passes over all columns, at most once in num_columns >> GAP_SHIFT pushes.
GAP_SHIFT = np.uint64(2)


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


def solve(graph: BipartiteGraph, matching: Matching, options: PushRelabelOptions, control: Control) -> bool:
    """Make a matching maximum, in place; return False where the solve was asked to stop.

    O(n m) time. Memory: one index per row and three per column. A global relabel also needs the transposed
    graph.
    """
    if options.side == "columns":
        return solve(graph.transposed, matching.transposed, replace(options, side="rows"), control)
    num_rows, num_columns = graph.shape
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
        if pushed and options.stalled == "trees" and control.budget is not None and is_narrow(graph):
            raise GaveUp(f"pushes stalled with {size:,} rows left")
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
