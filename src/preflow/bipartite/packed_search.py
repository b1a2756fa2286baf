"""Breadth-first searches over packed columns by several threads, level by level.

A search goes one of two ways:

- *backwards* from all free columns: every column gets its distance to a free one as its label. This is the
  global relabel of :mod:`.multicore_push_relabel`;
- *forwards* from free rows: each root grows a tree, and the upper half of a column's word is the row through
  which the tree reached it. A tree ends with the first free column that it finds. This is a phase of
  :mod:`.multicore_multi_source_bfs`.

Both take a column by a compare-and-swap of its word, so that a column is in one tree only. One thread
processes a small level alone, and goes on without barriers until a level is large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Index, Indices
from ..graph.bipartite import Adjacency
from ..kernels.atomics import compare_exchange, prefetch, relaxed_load, relaxed_store
from ..kernels.branch_free import choose
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..parallel.delays import delay
from ..parallel.rounds import (
    BROADCAST,
    Round,
    Rounds,
    append_item,
    counters_of,
    end_round,
    should_stop,
    start_round,
)
from ..parallel.thread_pool import share_of
from ..parallel.worklist import BUFFER, appended, flush, forget
from ..stats import ARC_SCANS
from .match_arrays import Matching
from .packed_columns import HALF, NOBODY, Packed, dead_label, level_of
from .queue_prefetch import AHEAD_NEIGHBOURS, AHEAD_RANGE, AHEAD_VALUES, MOST_VALUES

#: In the upper half of a word, instead of a row: the column is not reached yet; no search enters it.
UNSEEN, CLOSED = np.uint64(2**32 - 1), np.uint64(2**32 - 2)
#: A level of fewer items per thread goes to one thread: it needs about as long for them as all threads need
#: to meet at a barrier.
FEW = np.uint64(8)
#: A phase ends when all trees but one in LAST_TREES have found a free column. The last trees wind around all
#: others: with them the phases on a Delaunay graph of a million vertices have 509 levels and read 7.8 million
#: edges, without them 42 levels and 2.7 million. Ending a phase also where few trees find more reads up to
#: twice as many edges when the initial matching was not made in the order of the rows.
LAST_TREES = np.uint64(10)


class Searching(NamedTuple):
    """The graph, the packed columns and the direction of a search."""

    adjacency: Adjacency  #: the columns of every row forwards, the rows of every column backwards
    values: Indices  #: prefetched for the neighbours: the words of columns, or the columns of rows
    matching: Matching
    packed: Packed
    rounds: Rounds
    forwards: bool


@kernel
def prefetch_listed(searching: Searching, i: np.uint64, end: np.uint64) -> None:
    """Prefetch like :func:`prefetch_queued`, masking off the tree in the upper half of each item."""
    adjacency, values, packed = searching.adjacency, searching.values, searching.packed
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
def label_before(searching: Searching, current: Round, waiting: np.uint64, c: np.uint64) -> np.uint64:
    """Label the columns whose row is next to `c`, and list them; return the number of items in the buffer."""
    columns, matching = searching.adjacency, searching.matching
    packed, rounds, thread = searching.packed, searching.rounds, current.thread
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
                waiting = append_item(rounds, current, packed.order, waiting, other)
    return waiting


@kernel
def grow_from(
    searching: Searching, current: Round, waiting: np.uint64, item: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Reach the columns next to a row, the lower half of an item, for the tree in the upper half.

    Lists the rows of these columns, or ends the tree with a free column. Returns the number of items in the
    buffer, and the number of trees that ended.
    """
    rows, packed, rounds = searching.adjacency, searching.packed, searching.rounds
    thread = current.thread
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
                relaxed_store(packed.leaf, tree, c)  # mutant: a-leaf-is-written-plainly
                ended = ONE
                break
            waiting = append_item(rounds, current, packed.order, waiting, tree << HALF | mate)
    rounds.counts[thread, ARC_SCANS] += e
    return waiting, ended


@kernel
def grow_alone(
    searching: Searching, current: Round, waiting: np.uint64, item: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Do what :func:`grow_from` does, on the first thread, while no other one is at work.

    No other thread can take a column, so no atomic operation is needed. And whether a column is reached for
    the first time is hard to predict, so nothing branches on it: the word and the buffer are written either
    way. That takes 0.7 to 0.9 of the time.
    """
    rows, packed, rounds = searching.adjacency, searching.packed, searching.rounds
    words, buffer = packed.words, rounds.worklist.buffer
    tree, r = item >> HALF, item & NOBODY
    if packed.leaf[tree] != NOBODY:
        return waiting, ZERO
    e, end = np.uint64(rows.first[r]), np.uint64(rows.first[r + ONE])
    rounds.counts[ZERO, ARC_SCANS] -= e
    while e < end:
        c = np.uint64(rows.neighbour[e])
        e += ONE
        word = np.uint64(words[c])
        is_new = word >> HALF == UNSEEN
        mate = word & NOBODY
        words[c] = choose(is_new, r << HALF | mate, word)
        if word == UNSEEN << HALF | NOBODY:
            packed.leaf[tree] = c
            rounds.counts[ZERO, ARC_SCANS] += e
            return waiting, ONE
        buffer[ZERO, waiting] = tree << HALF | mate
        waiting += choose(is_new, ONE, ZERO)
        if waiting == BUFFER:
            waiting = flush(rounds.worklist, current.number, packed.order, current.base, ZERO, waiting)
    rounds.counts[ZERO, ARC_SCANS] += e
    return waiting, ZERO


@kernel
def enough_ended(trees: np.uint64, ended: np.uint64) -> bool:
    """Whether a phase of `trees` trees is over, of which `ended` have found a free column."""
    return bool(ended > ZERO and ended * LAST_TREES >= trees * (LAST_TREES - ONE))


@kernel
def visit(
    searching: Searching, current: Round, waiting: np.uint64, k: np.uint64, alone: bool
) -> tuple[np.uint64, np.uint64]:
    """Search on from the item at position `k`; return the items in the buffer and the trees ended.

    `alone` says that no other thread is at work.
    """
    item = np.uint64(searching.packed.order[k])
    if searching.forwards:
        if alone:
            return grow_alone(searching, current, waiting, item)
        return grow_from(searching, current, waiting, item)
    return label_before(searching, current, waiting, item), ZERO


@kernel
def search_alone(
    searching: Searching,
    number: np.uint64,
    k: np.uint64,
    size: np.uint64,
    many: np.uint64,
    trees: np.uint64,
    ended: np.uint64,
) -> np.uint64:
    """Search on one thread until a level has `many` items or none, or enough trees have ended.

    Publishes the position of the last level to the other threads. `ended` trees had ended before; returns the
    number that have ended since.
    """
    packed, rounds = searching.packed, searching.rounds
    before = ended
    while True:
        waiting, base = ZERO, k + size
        current = Round(ZERO, number, base)
        while k < base:
            prefetch_listed(searching, k, base)
            waiting, more = visit(searching, current, waiting, k, True)
            ended += more
            k += ONE
        flush(rounds.worklist, number, packed.order, base, ZERO, waiting)
        size = appended(rounds.worklist, number)
        if size == ZERO or size >= many or enough_ended(trees, ended) or should_stop(rounds):
            break
        forget(rounds.worklist, number)
    relaxed_store(rounds.shared, counters_of(number) + BROADCAST, base)
    return ended - before


@kernel
def search(
    searching: Searching, thread: Index, number: np.uint64, size: np.uint64, trees: np.uint64
) -> tuple[bool, np.uint64, np.uint64]:
    """Search from the first `size` items of the order. Collective.

    The level after which enough of the `trees` trees have ended is the last one. Return False if the solve is
    to stop, the number of the last round, and the size of the order now.
    """
    packed, rounds = searching.packed, searching.rounds
    few = FEW * rounds.num_threads if rounds.num_threads > ONE else ZERO
    go_on, begin, ended = True, ZERO, ZERO
    while go_on and size > ZERO and not enough_ended(trees, ended):
        number += ONE
        waiting, more, base = ZERO, ZERO, begin + size
        current = start_round(rounds, thread, number, base)
        # A small level: the first thread processes it, and the levels after it while they are small.
        alone = size < few
        if alone:
            if thread == ZERO:
                more = search_alone(searching, number, begin, size, TWO * few, trees, ended)
        else:
            # A large level: every thread processes its share.
            k, end = share_of(size, thread, rounds.num_threads)
            while k < end:
                prefetch_listed(searching, begin + k, base)
                waiting, found = visit(searching, current, waiting, begin + k, rounds.num_threads == ONE)
                more += found
                k += ONE
        go_on, size, more = end_round(rounds, current, packed.order, waiting, more)
        begin = np.uint64(relaxed_load(rounds.shared, counters_of(number) + BROADCAST)) if alone else base
        ended += more
    return go_on, number, begin + size
