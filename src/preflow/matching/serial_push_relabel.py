"""Push-relabel for bipartite matching, first in first out.

Deveci, Kaya, Uçar and Çatalyürek, "A push-relabel-based maximum cardinality bipartite matching algorithm on
GPUs" (2013), Algorithms 1 and 2; Goldberg and Kennedy (1997); Kaya, Langguth, Manne and Uçar (2013). An
active (free) vertex takes the lowest of its neighbours from whoever has it. A global relabel is due after k
(m + n) pushes.

Departures:

- Rows are active here and push to columns, as matrices come by rows. A row's label is one more than that of
  its lowest column, so only columns have labels, and these count columns on the way to a free one.
- A column that was pushed to is raised above the *second* lowest column of its new row, the highest label
  that is still valid (Goldberg and Kennedy's double push), instead of by 2.
- ``initial_labels="one"`` starts without a global relabel. From a good initial matching labels then stay low
  (3.7 on average and 8 at most on a Delaunay graph of a million vertices), no row pushes far, and most solves
  need no transposed graph. A global relabel raises all labels to distances, and rows that compete for a free
  column then have to raise all that surround it.
- ``stalled="trees"`` hands the last rows over to trees (:mod:`.multicore_multi_source_bfs`) where they push
  for long, as on permuted tridiagonal matrices.
- The rows of columns are updated in the end only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import prefetch, prefetch_to_write, relaxed_load
from ..kernels.kernel import kernel
from ..solving.options import check_choice, check_flag, check_positive_number, limit
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

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO, THREE = np.uint64(2), np.uint64(3)
#: A gap is closed by a pass over all columns, at most once in a number of pushes of this share of them.
GAP_SHIFT = np.uint64(2)
#: Whether pushes have stalled is looked at after so many of this share of the columns, and so many for each
#: active row. They have if at this rate the active rows would take more pushes than this share of the edges:
#: on random graphs and meshes it is 0.03 to 0.06 m for m edges, on permuted tridiagonal matrices over 0.2 m.
STALL_SHIFT = np.uint64(1)
STALL_PUSHES = np.uint64(4)
STALLED_SHARE = np.uint64(8)
#: Rows of at most so many columns have all of them asked for to be written, where threads share them: one is,
#: and a compare-and-swap that waits for other caches to give up a line holds up all that follows. On 16 cores
#: pushes on Erdos-Renyi graphs take 0.6 of the time. Hubs would go from cache to cache.
MOST_WRITTEN = np.uint64(8)


@dataclass(frozen=True)
class PushRelabelOptions:
    """Options of push-relabel.

    Attributes
    ----------
    relabel_period : float
        A global relabel is due after ``relabel_period * (rows + columns)`` pushes: k of the papers.
    gap : bool
        Give up on all columns above an empty level.
    initial_labels : {"exact", "one"}
        Start with a global relabel, or with label 1 at every matched column.
    stalled : {"push", "relabel", "trees"}
        What follows where few rows got free columns in the last pushes: more of them, a global relabel, or
        the trees of `multicore-multi-source-bfs`, which then follow also where a global relabel falls due.
    """

    relabel_period: float = 0.5
    gap: bool = True
    initial_labels: Literal["exact", "one"] = "exact"
    stalled: Literal["push", "relabel", "trees"] = "push"

    def __post_init__(self) -> None:
        check_positive_number("relabel_period", self.relabel_period)
        check_flag("gap", self.gap)
        check_choice("initial_labels", self.initial_labels, ("exact", "one"))
        check_choice("stalled", self.stalled, ("push", "relabel", "trees"))


class State(NamedTuple):
    """What push-relabel keeps beside the matching.

    Attributes
    ----------
    label : ndarray, shape (num_columns,)
        A lower bound on how many columns are left on the way to a free one, 0 for a free one; more than
        there are columns: none can be reached.
    population : ndarray, shape (num_columns + 2,)
        Number of columns of each label.
    queue : ndarray, shape (num_rows,)
        Active rows, a ring.
    order : ndarray, shape (num_columns,)
        Columns in the order in which a global relabel finds them.
    """

    label: NDArray[Any]
    population: NDArray[Any]
    queue: NDArray[Any]
    order: NDArray[Any]


@kernel
def label_with_one(matching: Matching, state: State) -> None:
    """Give free columns label 0 and matched ones label 1."""
    num_rows = np.uint64(len(matching.row_match))
    state.population[:] = 0
    for c in range(np.uint64(len(state.label))):
        h = ONE if np.uint64(matching.column_match[c]) < num_rows else ZERO
        state.label[c] = h
        state.population[h] += 1


@kernel
def global_relabel(columns: Adjacency, matching: Matching, state: State) -> None:
    """Set all labels to exact distances by a search from the free columns, given all rows' columns."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(state.label))
    label, order, row_match = state.label, state.order, matching.row_match
    dead = num_columns + ONE
    state.population[:] = 0
    end = ZERO
    for v in range(num_columns):
        label[v] = dead
        if np.uint64(matching.column_match[v]) >= num_rows:
            label[v] = ZERO
            order[end] = v
            end += ONE
    state.population[ZERO] = end
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
def close_gap(state: State, level: Any) -> Any:
    """Declare all columns above an empty level dead; return how many that were."""
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
def place(position: Any, end: Any, capacity: Any) -> Any:
    """Return where in the ring that ends at `end` a position is that may be past that."""
    return position - capacity if position >= end else position


@kernel
def prefetch_active(
    rows: Adjacency, values: Any, queue: Any, begin: Any, size: Any, end: Any, capacity: Any, shared: bool
) -> None:
    """Ask for what the rows ahead in a ring of `size` rows will need, `values` of columns last.

    The fewer rows there are, the less far it looks ahead: the last few make a third of all pushes. Values
    that are `shared` with other threads are asked for to be written, of rows with few columns.
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
def pushes_until_look(num_columns: Any, size: Any) -> Any:
    """Return after how many more pushes to look whether they have stalled, from so many active rows on."""
    return max(num_columns >> STALL_SHIFT, STALL_PUSHES * size)


@kernel
def have_stalled(pushes: Any, size_then: Any, size: Any, num_edges: Any) -> bool:
    """Whether the active rows would take long, if so many pushes have left `size` of `size_then`."""
    to_come = float(pushes) * float(size)  # times what has become inactive; too large for integers
    return bool(to_come * float(STALLED_SHARE) > float(size_then - size) * float(num_edges))


@kernel
def push_until(
    rows: Adjacency,
    matching: Matching,
    state: State,
    begin: Any,
    size: Any,
    push_limit: Any,
    gap: bool,
    stalls: bool,
    stop: Any,
    counts: Any,
    progress: Any,
) -> tuple[Any, Any]:
    """Push until no row is active, a global relabel is due or `stop` is raised.

    Takes and returns where the queue begins and how many rows are in it. Without free columns none is active.
    """
    num_columns = np.uint64(len(state.label))
    label, queue, population = state.label, state.queue, state.population
    dead, capacity = num_columns + ONE, np.uint64(len(queue))
    pushes, scans = ZERO, ZERO
    next_gap = num_columns >> GAP_SHIFT
    looked, next_look = ZERO, pushes_until_look(num_columns, size)
    size_then = size
    if population[ZERO] == 0:
        size = ZERO
    while size > ZERO and pushes < push_limit and relaxed_load(stop, 0) == 0:
        if size > ONE:
            prefetch_active(rows, label, queue, begin, size, capacity, capacity, False)
        r = np.uint64(queue[begin])
        begin = place(begin + ONE, capacity, capacity)
        size -= ONE
        lowest, second, chosen = dead, dead, ZERO
        first, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
        e = first
        while e < end:
            c = np.uint64(rows.neighbour[e])
            h = np.uint64(label[c])
            e += ONE
            if h < lowest:
                second = lowest
                lowest = h
                chosen = c
                if h == ZERO:
                    break
            elif h < second:
                second = h
        scans += e - first
        if lowest == dead:
            continue
        pushes += ONE
        if lowest == ZERO:
            counts[AUGMENTATIONS] += ONE
            second = ZERO  # the others may not have been looked at
        else:
            queue[place(begin + size, capacity, capacity)] = matching.column_match[chosen]
            size += ONE
        matching.column_match[chosen] = r
        raised = min(second + ONE, dead)
        label[chosen] = raised
        population[raised] += 1
        left = np.uint64(population[lowest]) - ONE
        population[lowest] = left
        if left == ZERO:
            if lowest == ZERO:
                size = ZERO
            elif gap and pushes >= next_gap:
                next_gap = pushes + (num_columns >> GAP_SHIFT)
                counts[GAP_VERTICES] += close_gap(state, lowest)
        progress[0] = size
        if stalls and pushes >= next_look:
            if have_stalled(pushes - looked, size_then, size, len(rows.neighbour)):
                break
            looked = pushes
            next_look = pushes + pushes_until_look(num_columns, size)
            size_then = size
    counts[PUSHES] += pushes
    counts[ARC_SCANS] += scans
    return begin, size


def grow_trees(graph: BipartiteGraph, matching: Matching, left: int, control: Control) -> bool:
    """Match what can be of the `left` rows by trees; return whether the matching is maximum."""
    control.remarks.append(f"trees took the last {left:,} rows")
    options = multicore_multi_source_bfs.MulticoreMultiSourceBfsOptions()
    return multicore_multi_source_bfs.solve(graph, matching, options, control)


def solve(graph: BipartiteGraph, matching: Matching, options: PushRelabelOptions, control: Control) -> bool:
    """Make a matching maximum, in place.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Raises
    ------
    UnsuitableMethodError
        There are 2**32 - 2 rows or columns, or more, and trees were asked for.

    Notes
    -----
    O(n m) time, memory of one index a row and three a column, and the transposed graph where a global relabel
    falls due, or where trees follow two indices and 16 bytes a row and 8 a column.
    """
    num_rows, num_columns = graph.shape
    if options.stalled == "trees":
        check_packed(graph, "serial-push-relabel with trees")
    dtype = graph.rows.first.dtype
    state = State(
        label=np.empty(num_columns, dtype=dtype),
        population=np.zeros(num_columns + 2, dtype=dtype),
        queue=np.empty(num_rows, dtype=dtype),
        order=np.empty(num_columns, dtype=dtype),
    )
    push_limit = limit(options.relabel_period * (num_rows + num_columns))
    begin, size = 0, int(list_free_rows(graph.rows, matching, state.queue))
    control.excess[:] = size
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
        begin, size = push_until(
            graph.rows,
            matching,
            state,
            np.uint64(begin),
            np.uint64(size),
            push_limit,
            options.gap,
            options.stalled != "push",
            control.stop,
            control.counts,
            control.excess,
        )
        control.counts[PHASES] += 1
        pushed = True
        match_rows(matching)
    return size == 0
