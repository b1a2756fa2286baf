"""Searches of a team of threads over packed columns, level by level: global relabels, and for the last rows.

A global relabel goes backwards from all free columns and gives every column its distance for a label. Few
rows that are left grow trees instead, forwards: the upper half of a word, a label so far, is then the row
through which the column was reached. A tree ends with the first free column that it finds. No two have a
column in common, so their paths are augmented at the same time. A phase in which no tree finds one proves
the matching maximum: every column that can be reached was, and none was free.

Both take a column by a compare-and-swap of its word. A small level goes to one thread, which goes on without
barriers until one is large, as in :mod:`.forest`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.bipartite import Adjacency
from ..kernels.atomics import compare_exchange, prefetch, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from ..parallel.delays import delay
from ..parallel.team import share_of
from ..parallel.worklist import appended, flush, forget
from ..stats import ARC_SCANS
from .match_arrays import Matching
from .packed_columns import HALF, NOBODY, Packed, dead_label, level_of
from .queue_prefetch import AHEAD_NEIGHBOURS, AHEAD_RANGE, AHEAD_VALUES, MOST_VALUES
from .thread_rounds import TOLD, Rounds, end_round, keep, set_of, should_stop, start_round

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: In the upper half of a word, instead of a row: not reached, and dead.
UNSEEN, CLOSED = np.uint64(2**32 - 1), np.uint64(2**32 - 2)
#: A level of fewer columns or rows for each thread is small: one thread takes about as long for them as all
#: do to meet.
FEW = np.uint64(8)
#: A phase ends when all trees but one in so many have ended with a free column. The last ones wind their way
#: around all others: with them the phases on a Delaunay graph of a million vertices have 509 levels and look
#: at 7.8 million edges, without them 42 and 2.7. Ending a phase also where few trees find more looks at up to
#: twice as many edges from matchings that were not made in the order of the rows.
LAST_TREES = np.uint64(10)


@kernel
def prefetch_listed(adjacency: Adjacency, values: Any, packed: Packed, i: Any, end: Any) -> None:
    """Do as :func:`prefetch_queued`, for items that may have trees in their upper halves."""
    order = packed.order
    if i + AHEAD_RANGE < end:
        prefetch(adjacency.first, order[i + AHEAD_RANGE] & NOBODY)
        prefetch(adjacency.neighbour, np.uint64(adjacency.first[order[i + AHEAD_NEIGHBOURS] & NOBODY]))
        prefetch(packed.leaf, order[i + AHEAD_VALUES] >> HALF)
        v = order[i + AHEAD_VALUES] & NOBODY
        first = np.uint64(adjacency.first[v])
        for e in range(first, min(np.uint64(adjacency.first[v + ONE]), first + MOST_VALUES)):
            prefetch(values, np.uint64(adjacency.neighbour[e]))


@kernel
def label_before(
    columns: Adjacency,
    matching: Matching,
    packed: Packed,
    rounds: Rounds,
    thread: Any,
    number: Any,
    base: Any,
    waiting: Any,
    c: Any,
) -> Any:
    """Label the columns from which `c` is next on the way, and list them; return how many wait."""
    num_columns, dead = np.uint64(len(packed.words)), dead_label(packed)
    h = (np.uint64(relaxed_load(packed.words, c)) >> HALF) + ONE
    e, end = np.uint64(columns.first[c]), np.uint64(columns.first[c + ONE])
    while e < end:
        other = np.uint64(matching.row_match[columns.neighbour[e]])
        e += ONE
        if other < num_columns:
            word = np.uint64(relaxed_load(packed.words, other))
            delay(rounds.delays, thread)
            if word >> HALF == dead and compare_exchange(
                packed.words, other, word, h << HALF | word & NOBODY
            ):
                packed.population[thread, level_of(packed, h)] += 1
                waiting = keep(rounds, thread, number, packed.order, base, waiting, other)
    return waiting


@kernel
def grow_from(
    rows: Adjacency,
    packed: Packed,
    rounds: Rounds,
    thread: Any,
    number: Any,
    base: Any,
    waiting: Any,
    item: Any,
) -> tuple[Any, Any]:
    """Reach the columns next to a row, the lower half of an item, for the tree in the upper half.

    Lists their rows, or ends the tree with a free column; returns how many wait, and how many trees it ended.
    """
    tree, r = item >> HALF, item & NOBODY
    ended = ZERO
    if np.uint64(relaxed_load(packed.leaf, tree)) != NOBODY:
        return waiting, ended
    e, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
    rounds.counts[thread, ARC_SCANS] -= e
    while e < end:
        c = np.uint64(rows.neighbour[e])
        e += ONE
        word = np.uint64(relaxed_load(packed.words, c))
        delay(rounds.delays, thread)
        if word >> HALF == UNSEEN and compare_exchange(packed.words, c, word, r << HALF | word & NOBODY):
            mate = word & NOBODY
            if mate == NOBODY:
                relaxed_store(packed.leaf, tree, c)
                ended = ONE
                break
            waiting = keep(rounds, thread, number, packed.order, base, waiting, tree << HALF | mate)
    rounds.counts[thread, ARC_SCANS] += e
    return waiting, ended


@kernel
def enough_ended(trees: Any, ended: Any) -> bool:
    """Whether a phase of so many trees is over."""
    return bool(ended > ZERO and ended * LAST_TREES >= trees * (LAST_TREES - ONE))


@kernel
def visit(
    graph: Adjacency,
    matching: Matching,
    packed: Packed,
    rounds: Rounds,
    thread: Any,
    number: Any,
    base: Any,
    waiting: Any,
    k: Any,
    forwards: bool,
) -> tuple[Any, Any]:
    """Search on from what is listed at `k`; return how many wait, and how many trees ended."""
    item = np.uint64(packed.order[k])
    if forwards:
        return grow_from(graph, packed, rounds, thread, number, base, waiting, item)
    return label_before(graph, matching, packed, rounds, thread, number, base, waiting, item), ZERO


@kernel
def search_alone(
    graph: Adjacency,
    values: Any,
    matching: Matching,
    packed: Packed,
    rounds: Rounds,
    number: Any,
    k: Any,
    size: Any,
    many: Any,
    trees: Any,
    ended: Any,
    forwards: bool,
) -> Any:
    """Search in the first thread until a level has `many` items or none, or enough trees ended.

    Returns how many did since, `ended` before; tells the others where the last level is listed.
    """
    before = ended
    while True:
        waiting, base = ZERO, k + size
        while k < base:
            prefetch_listed(graph, values, packed, k, base)
            waiting, more = visit(graph, matching, packed, rounds, ZERO, number, base, waiting, k, forwards)
            ended += more
            k += ONE
        flush(rounds.worklist, number, packed.order, base, ZERO, waiting)
        size = appended(rounds.worklist, number)
        if size == ZERO or size >= many or enough_ended(trees, ended) or should_stop(rounds):
            break
        forget(rounds.worklist, number)
    relaxed_store(rounds.shared, set_of(number) + TOLD, base)
    return ended - before


@kernel
def search(
    graph: Adjacency,
    values: Any,
    matching: Matching,
    packed: Packed,
    rounds: Rounds,
    thread: Any,
    number: Any,
    size: Any,
    trees: Any,
    forwards: bool,
) -> tuple[bool, Any, Any]:
    """Search from the first `size` items of the order, together; `values` are those of neighbours.

    A level after which enough of so many `trees` have ended is the last one.

    Returns
    -------
    go_on, number, end
        False if the solve is to stop; the last round's number; the size of the order now.
    """
    few = FEW * rounds.num_threads if rounds.num_threads > ONE else ZERO
    go_on, begin, ended = True, ZERO, ZERO
    while go_on and size > ZERO and not enough_ended(trees, ended):
        number += ONE
        start_round(rounds, thread, number)
        waiting, more, base = ZERO, ZERO, begin + size
        alone = size < few
        if alone:
            if thread == ZERO:
                more = search_alone(
                    graph,
                    values,
                    matching,
                    packed,
                    rounds,
                    number,
                    begin,
                    size,
                    TWO * few,
                    trees,
                    ended,
                    forwards,
                )
        else:
            k, end = share_of(size, thread, rounds.num_threads)
            while k < end:
                prefetch_listed(graph, values, packed, begin + k, base)
                waiting, found = visit(
                    graph, matching, packed, rounds, thread, number, base, waiting, begin + k, forwards
                )
                more += found
                k += ONE
        go_on, size, more = end_round(rounds, thread, number, packed.order, base, waiting, more)
        begin = np.uint64(relaxed_load(rounds.shared, set_of(number) + TOLD)) if alone else base
        ended += more
    return go_on, number, begin + size
