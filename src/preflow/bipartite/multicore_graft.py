"""Tree grafting on many cores: breadth-first search from all free rows that keeps trees of failed searches.

Azad, Buluç and Pothen, "Computing maximum cardinality matchings in parallel on bipartite graphs via
tree-grafting", IEEE TPDS 2016. :mod:`.serial_graft` has the definitions and the pseudo-code; here all threads
share the frontier of each level.

Invariants, besides those of :mod:`.serial_graft`:

- Top-down, a thread attaches a column by a compare-and-swap of the column's root, so only the first thread
  succeeds. Bottom-up, a single thread looks for the tree of a column. So the trees are disjoint. One thread
  augments along the path of a tree, and needs no lock.
- Several threads may find free columns for one tree. The column whose number is written last is the leaf; the
  others are dissolved with the tree.

Departures:

- If the frontier is small, one thread grows the trees alone, level by level without barriers, until the
  frontier is large.
- A bottom-up level passes over all columns and skips those in the forest; there is no list of the others.

A thread appends what it finds to the next list through a buffer (:mod:`preflow.parallel.rounds`). `waiting`
is the number of items in the buffer; functions that append take it and return its new value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Indices
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import compare_exchange, prefetch, relaxed_load, relaxed_store
from ..kernels.constants import ONE, THREE, TWO, ZERO
from ..kernels.kernel import kernel
from ..parallel.delays import delay
from ..parallel.rounds import (
    BROADCAST,
    Round,
    Rounds,
    append_item,
    counters_of,
    end_round,
    make_rounds,
    should_stop,
    start_round,
    take_items,
)
from ..parallel.thread_pool import run_solver, share_of
from ..parallel.worklist import appended, flush, forget
from ..solving.options import check_count
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .match_arrays import NONE, Matching
from .queue_prefetch import AHEAD_NEIGHBOURS, AHEAD_RANGE, AHEAD_VALUES, MOST_VALUES, prefetch_queued
from .serial_graft import GraftOptions, Rules


@dataclass(frozen=True)
class MulticoreGraftOptions(GraftOptions):
    """Options of tree grafting on many cores.

    Attributes
    ----------
    few_rows : int
        If the frontier has fewer rows per thread than this, one thread grows the trees alone, until the
        frontier has twice that number or is empty.
    """

    few_rows: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("few_rows", self.few_rows)


class Forest(NamedTuple):
    """The alternating trees.

    Attributes
    ----------
    row_root, column_root : ndarray
        The root of the tree that a vertex is in, or NONE.
    parent : ndarray, shape (num_columns,)
        The row through which a column was reached.
    leaf : ndarray, shape (num_rows,)
        A free column that the tree of a root found, or NONE.
    lists : ndarray, shape (4 * num_rows,)
        Four lists: the rows of this level and of the next, the roots of this phase and of the next.
    dissolved : ndarray, shape (num_columns,)
        The columns of the trees that were dissolved last.
    """

    row_root: Indices
    column_root: Indices
    parent: Indices
    leaf: Indices
    lists: Indices
    dissolved: Indices


@kernel
def clear(forest: Forest, rounds: Rounds, thread: np.uint64) -> None:
    """Empty the forest, one thread's share."""
    r, end = share_of(np.uint64(len(forest.row_root)), thread, rounds.num_threads)
    while r < end:
        forest.row_root[r] = NONE
        r += ONE
    c, end = share_of(np.uint64(len(forest.column_root)), thread, rounds.num_threads)
    while c < end:
        forest.column_root[c] = NONE
        c += ONE


@kernel
def start_trees(forest: Forest, rounds: Rounds, thread: np.uint64, roots: np.uint64, size: np.uint64) -> None:
    """Start a tree at each of the `size` roots, one thread's share."""
    k, end = share_of(size, thread, rounds.num_threads)
    while k < end:
        root = np.uint64(forest.lists[roots + k])
        forest.row_root[root] = root
        forest.leaf[root] = NONE
        k += ONE


@kernel
def list_roots(
    rows: Adjacency, matching: Matching, forest: Forest, rounds: Rounds, current: Round
) -> np.uint64:
    """List the free rows that have edges, in round 0. One thread's share; returns `waiting`."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    r, end = share_of(num_rows, current.thread, rounds.num_threads)
    waiting = ZERO
    while r < end:
        if np.uint64(matching.row_match[r]) >= num_columns and rows.first[r] < rows.first[r + ONE]:
            waiting = append_item(rounds, current, forest.lists, waiting, r)
        r += ONE
    return waiting


@kernel
def is_growing(forest: Forest, root: np.uint64) -> bool:
    """Whether `root` is the root of a tree, not NONE, and this tree has found no free column."""
    return bool(
        root < np.uint64(len(forest.row_root))
        and np.uint64(relaxed_load(forest.leaf, root)) >= np.uint64(len(forest.parent))
    )


@kernel
def attach(
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    current: Round,
    waiting: np.uint64,
    root: np.uint64,
    r: np.uint64,
    c: np.uint64,
) -> np.uint64:
    """Add a column whose root the thread has set, and the row matched with it, to the tree of `r`.

    If the column is free, it becomes the leaf of the tree. Returns `waiting`.
    """
    forest.parent[c] = r
    delay(rounds.delays, current.thread)
    mate = np.uint64(matching.column_match[c])
    if mate >= np.uint64(len(matching.row_match)):
        relaxed_store(forest.leaf, root, c)
        return waiting
    relaxed_store(forest.row_root, mate, root)
    return append_item(rounds, current, forest.lists, waiting, mate)


@kernel
def grow_from_row(
    rows: Adjacency,
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    current: Round,
    waiting: np.uint64,
    r: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Top-down: attach columns next to `r` that are in no tree; return `waiting` and their number."""
    num_rows = np.uint64(len(matching.row_match))
    root = np.uint64(forest.row_root[r])
    e, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
    columns = ZERO
    rounds.counts[current.thread, ARC_SCANS] -= e
    while e < end and is_growing(forest, root):
        c = np.uint64(rows.neighbour[e])
        e += ONE
        seen = np.uint64(relaxed_load(forest.column_root, c))
        if seen >= num_rows and compare_exchange(forest.column_root, c, seen, root):
            waiting = attach(matching, forest, rounds, current, waiting, root, r, c)
            columns += ONE
    rounds.counts[current.thread, ARC_SCANS] += e
    return waiting, columns


@kernel
def grow_to_column(
    columns: Adjacency,
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    current: Round,
    waiting: np.uint64,
    c: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Bottom-up: attach a column to a growing tree next to it, if any; return `waiting`, and 1 or 0."""
    e, end = np.uint64(columns.first[c]), np.uint64(columns.first[c + ONE])
    rounds.counts[current.thread, ARC_SCANS] -= e
    attached = ZERO
    while e < end and attached == ZERO:
        r = np.uint64(columns.neighbour[e])
        e += ONE
        root = np.uint64(relaxed_load(forest.row_root, r))
        if is_growing(forest, root):
            forest.column_root[c] = root
            waiting = attach(matching, forest, rounds, current, waiting, root, r, c)
            attached = ONE
    rounds.counts[current.thread, ARC_SCANS] += e
    return waiting, attached


@kernel
def prefetch_rows(rows: Adjacency, matching: Matching, forest: Forest, i: np.uint64, end: np.uint64) -> None:
    """Prefetch for the rows ahead of position `i` in a list: ranges, columns, their roots and partners."""
    if i + AHEAD_RANGE < end:
        ahead = np.uint64(forest.lists[i + AHEAD_RANGE])
        prefetch(rows.first, ahead)
        prefetch(forest.row_root, ahead)
        prefetch(rows.neighbour, np.uint64(rows.first[forest.lists[i + AHEAD_NEIGHBOURS]]))
        r = np.uint64(forest.lists[i + AHEAD_VALUES])
        prefetch(forest.leaf, np.uint64(forest.row_root[r]))
        first = np.uint64(rows.first[r])
        for e in range(first, min(np.uint64(rows.first[r + ONE]), first + MOST_VALUES)):
            c = np.uint64(rows.neighbour[e])
            prefetch(forest.column_root, c)
            prefetch(matching.column_match, c)


@kernel
def grow_top_down(
    rows: Adjacency,
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    current: Round,
    begin: np.uint64,
    size: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Grow from the `size` rows at `begin`, one thread's share; return as :func:`grow_from_row` does."""
    waiting, columns = ZERO, ZERO
    k, end = take_items(rounds, current, size)
    while k < end:
        prefetch_rows(rows, matching, forest, begin + k, begin + size)
        r = np.uint64(forest.lists[begin + k])
        waiting, more = grow_from_row(rows, matching, forest, rounds, current, waiting, r)
        columns += more
        k += ONE
        if k == end:
            k, end = take_items(rounds, current, size)
    return waiting, columns


@kernel
def grow_alone(
    rows: Adjacency,
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    current: Round,
    begin: np.uint64,
    size: np.uint64,
    many: np.uint64,
) -> np.uint64:
    """Grow from few rows, level by level, until a level has `many` rows, or none.

    Publishes to the other threads where the rows of the last level are listed. Returns the number of columns
    attached.
    """
    num_rows = np.uint64(len(matching.row_match))
    thread, number, base = current
    columns = ZERO
    while True:
        waiting, k = ZERO, ZERO
        while k < size:
            r = np.uint64(forest.lists[begin + k])
            waiting, more = grow_from_row(rows, matching, forest, rounds, current, waiting, r)
            columns += more
            k += ONE
        flush(rounds.worklist, number, forest.lists, base, thread, waiting)
        size = appended(rounds.worklist, number)
        if size == ZERO or size >= many or should_stop(rounds):
            break
        begin, base = base, num_rows - base
        current = Round(thread, number, base)
        forget(rounds.worklist, number)
    relaxed_store(rounds.shared, counters_of(number) + BROADCAST, base)
    return columns


@kernel
def grow_bottom_up(
    columns: Adjacency,
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    current: Round,
    size: np.uint64,
    dissolved: bool,
) -> tuple[np.uint64, np.uint64]:
    """Let columns outside of the forest look for a tree, one thread's share.

    If `dissolved`, they are the `size` columns in ``forest.dissolved`` (this is grafting); otherwise all
    columns, whose number is `size`. Returns `waiting` and the number of columns attached.
    """
    num_rows = np.uint64(len(matching.row_match))
    waiting, attached = ZERO, ZERO
    k, end = take_items(rounds, current, size)
    while k < end:
        c = k
        if dissolved:
            prefetch_queued(columns, forest.row_root, forest.dissolved, k, end)
            c = np.uint64(forest.dissolved[k])
        if np.uint64(forest.column_root[c]) >= num_rows:
            waiting, more = grow_to_column(columns, matching, forest, rounds, current, waiting, c)
            attached += more
        k += ONE
        if k == end:
            k, end = take_items(rounds, current, size)
    return waiting, attached


@kernel
def augment(
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    current: Round,
    roots: np.uint64,
    size: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Augment in the trees that found a free column, and list the roots of the others; one thread's share.

    Returns `waiting` and the number of paths.
    """
    num_columns = np.uint64(len(matching.column_match))
    waiting, augmented = ZERO, ZERO
    k, end = take_items(rounds, current, size)
    while k < end:
        root = np.uint64(forest.lists[roots + k])
        c = np.uint64(forest.leaf[root])
        if c >= num_columns:
            waiting = append_item(rounds, current, forest.lists, waiting, root)
        else:
            augmented += ONE
        while c < num_columns:
            r = np.uint64(forest.parent[c])
            previous = np.uint64(matching.row_match[r])
            matching.row_match[r] = c
            matching.column_match[c] = r
            c = previous
        k += ONE
        if k == end:
            k, end = take_items(rounds, current, size)
    rounds.counts[current.thread, AUGMENTATIONS] += augmented
    return waiting, augmented


@kernel
def dissolve(
    matching: Matching, forest: Forest, rounds: Rounds, current: Round
) -> tuple[np.uint64, np.uint64]:
    """Dissolve the trees that found a free column, and list their columns; one thread's share of the columns.

    Returns `waiting`, and the number of columns that are in growing trees.
    """
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    waiting, growing = ZERO, ZERO
    c, end = share_of(num_columns, current.thread, rounds.num_threads)
    while c < end:
        root = np.uint64(forest.column_root[c])
        if root < num_rows and is_growing(forest, root):
            growing += ONE
        elif root < num_rows:
            forest.column_root[c] = NONE
            mate = np.uint64(matching.column_match[c])
            if mate < num_rows:
                forest.row_root[mate] = NONE
            waiting = append_item(rounds, current, forest.dissolved, waiting, c)
        c += ONE
    return waiting, growing


@kernel
def run_phases(
    rows: Adjacency,
    columns: Adjacency,
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    thread: np.uint64,
    rules: Rules,
    few_rows: np.uint64,
) -> bool:
    """Match free rows until the matching is maximum; return False if stopped before. Collective."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    lists, alpha = forest.lists, rules.alpha
    few = few_rows * rounds.num_threads if rounds.num_threads > ONE else ZERO
    number, begin, frontier, outside = ZERO, ZERO, ZERO, ZERO
    roots = TWO * num_rows
    # List the roots.
    current = Round(thread, number, roots)
    waiting = list_roots(rows, matching, forest, rounds, current)
    go_on, size, _ = end_round(rounds, current, lists, waiting, ZERO)
    if thread == ZERO:
        rounds.progress[1] = size
    has_trees = False
    while go_on and size > ZERO:
        if thread == ZERO:
            rounds.counts[thread, PHASES] += ONE
            rounds.progress[0] = size
        # Start a tree at each free row.
        if not has_trees:
            number += ONE
            current = start_round(rounds, thread, number, ZERO)
            clear(forest, rounds, thread)
            go_on, _, _ = end_round(rounds, current, lists, ZERO, ZERO)
            number += ONE
            current = start_round(rounds, thread, number, ZERO)
            start_trees(forest, rounds, thread, roots, size)
            go_on, _, _ = end_round(rounds, current, lists, ZERO, ZERO)
            begin, frontier, outside = roots, size, num_columns
        # Grow all trees level by level: on one thread, or on all, bottom-up or top-down.
        while go_on and frontier > ZERO:
            number += ONE
            base = num_rows if begin == ZERO else ZERO
            current = start_round(rounds, thread, number, base)
            waiting, attached = ZERO, ZERO
            alone = frontier < few
            if alone:
                if thread == ZERO:
                    attached = grow_alone(rows, matching, forest, rounds, current, begin, frontier, TWO * few)
            elif rules.direction_switching and frontier * alpha >= outside:
                waiting, attached = grow_bottom_up(
                    columns, matching, forest, rounds, current, num_columns, False
                )
            else:
                waiting, attached = grow_top_down(rows, matching, forest, rounds, current, begin, frontier)
            go_on, frontier, attached = end_round(rounds, current, lists, waiting, attached)
            begin = np.uint64(relaxed_load(rounds.shared, counters_of(number) + BROADCAST)) if alone else base
            outside -= attached
        if not go_on:
            return False
        # Augment in the trees that found a free column; list the roots of the others.
        number += ONE
        base = THREE * num_rows if roots == TWO * num_rows else TWO * num_rows
        current = start_round(rounds, thread, number, base)
        waiting, augmented = augment(matching, forest, rounds, current, roots, size)
        go_on, size, augmented = end_round(rounds, current, lists, waiting, augmented)
        roots = base
        if not go_on or augmented == ZERO or size == ZERO:
            break
        # Dissolve the trees that found a free column.
        number += ONE
        current = start_round(rounds, thread, number, ZERO)
        waiting, growing = dissolve(matching, forest, rounds, current)
        go_on, dissolved, growing = end_round(rounds, current, forest.dissolved, waiting, growing)
        outside += dissolved
        has_trees = rules.graft and bool((growing + size) * alpha > dissolved)
        # Graft the columns of dissolved trees onto growing ones.
        if go_on and has_trees:
            number += ONE
            current = start_round(rounds, thread, number, ZERO)
            waiting, attached = grow_bottom_up(columns, matching, forest, rounds, current, dissolved, True)
            go_on, frontier, attached = end_round(rounds, current, lists, waiting, attached)
            begin = ZERO
            outside -= attached
    return go_on


def solve(
    graph: BipartiteGraph, matching: Matching, options: MulticoreGraftOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, on ``control.threads`` threads.

    Returns
    -------
    bool
        True if the matching is maximum, False if the solve was stopped before.

    Notes
    -----
    O(n m) work. Memory: six indices per row, three per column, and the transposed graph.
    """
    num_rows, num_columns = graph.shape
    dtype = graph.rows.first.dtype
    rounds = make_rounds(control, dtype)
    forest = Forest(
        row_root=np.empty(num_rows, dtype=dtype),
        column_root=np.empty(num_columns, dtype=dtype),
        parent=np.empty(num_columns, dtype=dtype),
        leaf=np.empty(num_rows, dtype=dtype),
        lists=np.empty(4 * num_rows, dtype=dtype),
        dissolved=np.empty(num_columns, dtype=dtype),
    )
    columns = graph.columns
    rules = Rules(options.graft, options.direction_switching, float(options.alpha))
    few_rows = np.uint64(options.few_rows)
    finished = [False] * control.threads

    def share(thread: int) -> None:
        finished[thread] = run_phases(
            graph.rows, columns, matching, forest, rounds, np.uint64(thread), rules, few_rows
        )

    run_solver(share, control, rounds.barrier)
    return all(finished)
