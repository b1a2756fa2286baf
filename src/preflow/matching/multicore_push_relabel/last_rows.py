"""Searches of a team of threads from the free rows and from the free columns at once, level by level.

For the last rows of :mod:`.multicore_push_relabel`. On random graphs pushes halve the number of active rows
in about the same time however few there are, since those few raise the labels of all that surrounds them,
and a search from the rows alone looks at most edges. Trees from both sides meet long before: from 2,000 rows
of an Erdos-Renyi graph of a million, of mean degree 5, after 16 levels and 7 % of the edges.

In a phase, disjoint trees grow from all active rows, forwards, and from all free columns, backwards. In a
level, all threads work on one side: the one that has looked at fewer edges so far. A tree takes a vertex of
the other side by a compare-and-swap of its word, and with it that vertex's partner, from which it grows on.
So every matched pair is taken once: forwards by the column, backwards by the row. Where a tree reaches what
one of the other side has, the two have met: a path of both, along which the matching is augmented after the
search. A tree meets one other at most. Its words are stamped with numbers that rise from phase to phase, so
nothing has to be cleared between phases.

A phase in which no two trees meet proves the matching maximum: the trees of one side have reached all that
they can, and nothing of it belongs to the other side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.atomics import compare_exchange, prefetch, prefetch_to_write, relaxed_load, relaxed_store
from ...kernels.kernel import kernel
from ...parallel.barrier import wait
from ...parallel.delays import delay
from ...parallel.team import share_of
from ...parallel.transpose import Transposing, make_transposing, transpose_together
from ...stats import ARC_SCANS, AUGMENTATIONS, PHASES
from ..match_arrays import NONE, Matching
from ..packed_columns import HALF, NOBODY, Packed, dead_label
from ..queue_prefetch import MOST_VALUES
from ..thread_rounds import Rounds, append_item, end_round, start_round

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: The stamp of what no search has to look at: columns that reach no free one, and rows that were given up.
CLOSED = NOBODY
#: A tree that has met no other.
OPEN = np.uint64(2**64 - 1)
#: How many places ahead a thread asks for the words that it writes in no order.
AHEAD_WRITTEN = np.uint64(16)
#: How many edges a vertex has, about: what the next level will look at.
EDGES = np.uint64(3)
#: What a level counts, in one number: trees that met in the upper bits, edges that it looked at in the lower.
MET = np.uint64(40)
#: How many places ahead cache lines are asked for: the vertex's range of neighbours, the neighbours, their
#: words, and the words of their partners.
AHEAD_RANGE, AHEAD_NEIGHBOURS, AHEAD_WORDS, AHEAD_PARTNERS = map(np.uint64, (10, 8, 5, 3))


class Trees(NamedTuple):
    """The trees that grow from the free vertices of one side, and what is known of the vertices of that side.

    Attributes
    ----------
    words : ndarray of uint64
        The partner of a vertex, or NOBODY, in the lower half; in the upper one the stamp of the tree of the
        other side that has taken it: current if it is not below the first of this phase.
    link : ndarray
        The vertex through which it was taken; of a free one its own tree.
    order : ndarray of uint64
        What the trees have reached, level by level: tree and vertex of this side. Each vertex once at most.
    roots : ndarray
        The free vertices of this phase in one half, those of the next in the other.
    met : ndarray of uint64
        The edge, row and column, where a tree has met one of the other side, or OPEN.
    """

    words: NDArray[Any]
    link: NDArray[Any]
    order: NDArray[Any]
    roots: NDArray[Any]
    met: NDArray[Any]


class Search(NamedTuple):
    """What searches share beside a packed matching.

    Attributes
    ----------
    columns : Adjacency
        The rows of every column, or room for them.
    transposes : bool
        Whether they are to be found first.
    transposing : Transposing
        Scratch for that.
    row_trees, column_trees : Trees
        Those of the columns without words, which are the packed ones.
    last_stamp : uint64
        Stamps are cleared when they would rise above it.
    levels : uint64
        Searches are given up after so many.
    """

    columns: Adjacency
    transposes: bool
    transposing: Transposing
    row_trees: Trees
    column_trees: Trees
    last_stamp: Any
    levels: Any


def make_search(graph: BipartiteGraph, columns: Adjacency | None, threads: int, levels: Any) -> Search:
    """Return room for searches by so many threads, 0 for none, where `columns` are found already or not.

    It is written to, and so takes memory, only where there are any.
    """
    num_rows, num_columns = graph.shape
    num_edges, first = graph.num_edges, graph.rows.first
    if threads == 0:
        num_rows = num_columns = num_edges = 0
        first = first[:1]
    row_trees, column_trees = (
        Trees(
            words=np.empty(words, dtype=np.uint64),
            link=np.empty(size, dtype=graph.dtype),
            order=np.empty(size, dtype=np.uint64),
            roots=np.empty(2 * size, dtype=graph.dtype),
            met=np.empty(size, dtype=np.uint64),
        )
        for words, size in ((num_rows, num_rows), (0, num_columns))
    )
    transposes = columns is None
    return Search(
        columns=columns
        or Adjacency(np.empty(num_columns + 1, dtype=graph.dtype), np.empty(num_edges, dtype=graph.dtype)),
        transposes=transposes,
        transposing=make_transposing(max(threads, 1), first if transposes else first[:1], num_columns),
        row_trees=row_trees,
        column_trees=column_trees,
        last_stamp=CLOSED - ONE,
        levels=levels,
    )


@kernel
def forget_labels(
    columns: Adjacency,
    packed: Packed,
    row_trees: Trees,
    rounds: Rounds,
    thread: Any,
    number: Any,
    column_trees: Trees,
) -> Any:
    """Turn labels into stamps, and write rows' words, all of which are closed; one thread's share.

    Returns how many free columns wait to be listed.
    """
    dead = dead_label(packed)
    waiting = ZERO
    c, end = share_of(np.uint64(len(packed.words)), thread, rounds.num_threads)
    while c < end:
        if c + AHEAD_WRITTEN < end:
            prefetch_to_write(row_trees.words, packed.words[c + AHEAD_WRITTEN] & NOBODY)
        word = packed.words[c]
        mate = word & NOBODY
        packed.words[c] = CLOSED << HALF | mate if word >> HALF == dead else mate
        if mate != NOBODY:
            row_trees.words[mate] = c
        elif columns.first[c] < columns.first[c + ONE]:
            waiting = append_item(rounds, thread, number, column_trees.roots, ZERO, waiting, c)
        c += ONE
    return waiting


@kernel
def close_rows(packed: Packed, row_trees: Trees, rounds: Rounds, thread: Any, base: Any, size: Any) -> None:
    """Take all rows for free and given up, and the active ones for roots; one thread's share."""
    r, end = share_of(np.uint64(len(row_trees.words)), thread, rounds.num_threads)
    while r < end:
        row_trees.words[r] = CLOSED << HALF | NOBODY
        r += ONE
    k, end = share_of(size, thread, rounds.num_threads)
    while k < end:
        row_trees.roots[k] = packed.active[base + k]
        k += ONE


@kernel
def start_trees(trees: Trees, rounds: Rounds, thread: Any, base: Any, size: Any) -> None:
    """Start a tree at each of `size` free vertices, one thread's share."""
    k, end = share_of(size, thread, rounds.num_threads)
    while k < end:
        v = np.uint64(trees.roots[base + k])
        trees.words[v] = NOBODY
        trees.link[v] = k
        trees.order[k] = k << HALF | v
        trees.met[k] = OPEN
        k += ONE


@kernel
def clear_stamps(trees: Trees, rounds: Rounds, thread: Any) -> None:
    """Make all stamps old but those of what is closed, one thread's share."""
    v, end = share_of(np.uint64(len(trees.words)), thread, rounds.num_threads)
    while v < end:
        word = trees.words[v]
        if word >> HALF != CLOSED:
            trees.words[v] = word & NOBODY
        v += ONE


@kernel
def augment(row_trees: Trees, column_trees: Trees, edge: Any) -> None:
    """Match along the path of the two trees that have met at an edge."""
    r, c = edge >> HALF, edge & NOBODY
    left = row_trees.words[r] & NOBODY
    displaced = column_trees.words[c] & NOBODY
    row_trees.words[r] = c
    column_trees.words[c] = r
    while displaced != NOBODY:
        r = displaced
        c = np.uint64(row_trees.link[r])
        displaced = column_trees.words[c] & NOBODY
        row_trees.words[r] = c
        column_trees.words[c] = r
    while left != NOBODY:
        c = left
        r = np.uint64(column_trees.link[c])
        left = row_trees.words[r] & NOBODY
        row_trees.words[r] = c
        column_trees.words[c] = r


@kernel
def keep_roots(
    trees: Trees, rounds: Rounds, thread: Any, number: Any, base: Any, other: Any, size: Any, augmented: Any
) -> tuple[bool, Any, Any]:
    """List the roots of the trees that have met none, from `other` on, together.

    Returns
    -------
    go_on, size, augmented
        False if the solve is to stop; how many those are, and the sum of what each thread says.
    """
    start_round(rounds, thread, number)
    waiting = ZERO
    k, end = share_of(size, thread, rounds.num_threads)
    while k < end:
        if trees.met[k] == OPEN:
            v = np.uint64(trees.roots[base + k])
            waiting = append_item(rounds, thread, number, trees.roots, other, waiting, v)
        k += ONE
    return end_round(rounds, thread, number, trees.roots, other, waiting, augmented)


@kernel
def write_matching(
    matching: Matching, row_trees: Trees, column_trees: Trees, rounds: Rounds, thread: Any
) -> None:
    """Write the matching that the words hold, one thread's share."""
    r, end = share_of(np.uint64(len(matching.row_match)), thread, rounds.num_threads)
    while r < end:
        c = row_trees.words[r] & NOBODY
        matching.row_match[r] = c if c != NOBODY else NONE
        r += ONE
    c, end = share_of(np.uint64(len(matching.column_match)), thread, rounds.num_threads)
    while c < end:
        r = column_trees.words[c] & NOBODY
        matching.column_match[c] = r if r != NOBODY else NONE
        c += ONE


class Side(NamedTuple):
    """The side of the graph that grows, in a phase.

    Attributes
    ----------
    adjacency : Adjacency
        The neighbours of its vertices.
    near, far : Trees
        Its trees, and those of the other side.
    near_stamp, far_stamp : uint64
        The stamps of the first trees of both.
    is_rows : bool
        Whether it is that of the rows.
    """

    adjacency: Adjacency
    near: Trees
    far: Trees
    near_stamp: Any
    far_stamp: Any
    is_rows: bool


@kernel
def prefetch_level(side: Side, i: Any, end: Any) -> None:
    """Ask for what the items ahead of place `i` of a level that ends at `end` need.

    Words and links to be written: a compare-and-swap waits for what was written before it.
    """
    adjacency, near, far, near_stamp = side.adjacency, side.near, side.far, side.near_stamp
    order = near.order
    if i + AHEAD_RANGE < end:
        prefetch(adjacency.first, order[i + AHEAD_RANGE] & NOBODY)
    if i + AHEAD_NEIGHBOURS < end:
        prefetch(adjacency.neighbour, np.uint64(adjacency.first[order[i + AHEAD_NEIGHBOURS] & NOBODY]))
    if i + AHEAD_WORDS < end:
        v = order[i + AHEAD_WORDS] & NOBODY
        e = np.uint64(adjacency.first[v])
        last = min(np.uint64(adjacency.first[v + ONE]), e + MOST_VALUES)
        while e < last:
            prefetch_to_write(far.words, np.uint64(adjacency.neighbour[e]))
            e += ONE
    if i + AHEAD_PARTNERS < end:
        v = order[i + AHEAD_PARTNERS] & NOBODY
        e = np.uint64(adjacency.first[v])
        last = min(np.uint64(adjacency.first[v + ONE]), e + MOST_VALUES)
        while e < last:
            x = np.uint64(adjacency.neighbour[e])
            word = np.uint64(relaxed_load(far.words, x))
            if word >> HALF < near_stamp:
                prefetch(near.words, word & NOBODY)
                prefetch_to_write(far.link, x)
            e += ONE


@kernel
def meet(near: Trees, far: Trees, tree: Any, other: Any, edge: Any) -> bool:
    """Join a tree with one of the other side, unless either has met another; return whether it did.

    The other one may seem to have met for a moment, where this one has: at least one pair meets then.
    """
    if np.uint64(relaxed_load(far.met, other)) != OPEN or not compare_exchange(far.met, other, OPEN, edge):
        return False
    if compare_exchange(near.met, tree, OPEN, edge):
        return True
    relaxed_store(far.met, other, OPEN)
    return False


@kernel
def grow_from(
    side: Side, rounds: Rounds, thread: Any, number: Any, base: Any, waiting: Any, item: Any
) -> tuple[Any, Any]:
    """Grow a tree from one vertex until it meets another tree: take its neighbours, list their partners.

    Returns how many items wait, and what to count.
    """
    adjacency, near, far, near_stamp = side.adjacency, side.near, side.far, side.near_stamp
    tree, v = item >> HALF, item & NOBODY
    if np.uint64(relaxed_load(near.met, tree)) != OPEN:
        return waiting, ZERO
    e, end = np.uint64(adjacency.first[v]), np.uint64(adjacency.first[v + ONE])
    looked, met = ZERO, ZERO
    while e < end and met == ZERO:
        x = np.uint64(adjacency.neighbour[e])
        e += ONE
        looked += ONE
        word = np.uint64(relaxed_load(far.words, x))
        if word >> HALF >= near_stamp:
            continue
        partner = word & NOBODY
        if partner == NOBODY:
            other = np.uint64(far.link[x])
        else:
            stamp = near.words[partner] >> HALF
            if stamp < side.far_stamp:
                delay(rounds.delays, thread)
                if compare_exchange(far.words, x, word, near_stamp + tree << HALF | partner):
                    far.link[x] = v
                    waiting = append_item(
                        rounds, thread, number, near.order, base, waiting, tree << HALF | partner
                    )
                continue
            other = stamp - side.far_stamp
        edge = v << HALF | x if side.is_rows else x << HALF | v
        delay(rounds.delays, thread)
        if meet(near, far, tree, other, edge):
            met = ONE
        elif np.uint64(relaxed_load(near.met, tree)) != OPEN:
            break
    rounds.counts[thread, ARC_SCANS] += looked
    return waiting, met << MET | looked


@kernel
def grow_level(
    side: Side, rounds: Rounds, thread: Any, number: Any, begin: Any, size: Any
) -> tuple[bool, Any, Any]:
    """Grow the trees of one side by a level, whose `size` items begin at `begin`, together.

    Returns
    -------
    go_on, size, counted
        False if the solve is to stop; the items of the next level; what was counted.
    """
    start_round(rounds, thread, number)
    base = begin + size
    waiting, counted = ZERO, ZERO
    k, end = share_of(size, thread, rounds.num_threads)
    k, end = begin + k, begin + end
    while k < end:
        prefetch_level(side, k, end)
        item = np.uint64(side.near.order[k])
        waiting, more = grow_from(side, rounds, thread, number, base, waiting, item)
        counted += more
        k += ONE
    return end_round(rounds, thread, number, side.near.order, base, waiting, counted)


@kernel
def grow(
    of_rows: Side,
    of_columns: Side,
    rounds: Rounds,
    thread: Any,
    number: Any,
    last: Any,
    row_size: Any,
    column_size: Any,
) -> tuple[bool, Any]:
    """Grow all trees, as many of rows and columns as the sizes say, until those of one side cannot; together.

    After round `last` they do not grow any more.

    Returns
    -------
    go_on, number
        False if the solve is to stop; the last round's number.
    """
    trees = min(row_size, column_size)
    row_begin, column_begin, row_looked, column_looked, met = ZERO, ZERO, ZERO, ZERO, ZERO
    go_on = True
    while go_on and row_size > ZERO and column_size > ZERO and met < trees and number < last:
        number += ONE
        if row_looked + EDGES * row_size <= column_looked + EDGES * column_size:
            go_on, size, counted = grow_level(of_rows, rounds, thread, number, row_begin, row_size)
            row_begin += row_size
            row_size = size
            row_looked += counted & ((ONE << MET) - ONE)
        else:
            go_on, size, counted = grow_level(of_columns, rounds, thread, number, column_begin, column_size)
            column_begin += column_size
            column_size = size
            column_looked += counted & ((ONE << MET) - ONE)
        met += counted >> MET
    return go_on, number


@kernel
def match_from_both_sides(
    rows: Adjacency,
    matching: Matching,
    packed: Packed,
    search: Search,
    rounds: Rounds,
    thread: Any,
    number: Any,
    base: Any,
    row_size: Any,
) -> tuple[bool, Any]:
    """Match what can be of the `row_size` active rows from `base` on, together.

    The matching is that of the packed words, and written in the end.

    Returns
    -------
    go_on, left
        False if the solve is to stop; for how many rows searches were given up.
    """
    columns, row_trees, of_columns = search.columns, search.row_trees, search.column_trees
    column_trees = Trees(packed.words, of_columns.link, of_columns.order, of_columns.roots, of_columns.met)
    close_rows(packed, row_trees, rounds, thread, base, row_size)
    if search.transposes:
        go_on = transpose_together(
            rounds.barrier,
            search.transposing,
            thread,
            rows.first,
            rows.neighbour,
            columns.first,
            columns.neighbour,
        )
    else:
        go_on = wait(rounds.barrier, rounds.num_threads)
    if not go_on:
        return False, ZERO
    last, left = number + search.levels, ZERO
    number += ONE
    start_round(rounds, thread, number)
    waiting = forget_labels(columns, packed, row_trees, rounds, thread, number, column_trees)
    go_on, column_size, _ = end_round(rounds, thread, number, column_trees.roots, ZERO, waiting, ZERO)
    row_base, column_base = ZERO, ZERO
    row_stamp, column_stamp, augmented = ONE, ONE, ONE
    while go_on and row_size > ZERO and column_size > ZERO and augmented > ZERO:
        if thread == ZERO:
            rounds.counts[thread, PHASES] += ONE
            rounds.progress[0] = row_size
        if max(row_stamp + row_size, column_stamp + column_size) > search.last_stamp:
            clear_stamps(row_trees, rounds, thread)
            clear_stamps(column_trees, rounds, thread)
            row_stamp, column_stamp = ONE, ONE
            go_on = wait(rounds.barrier, rounds.num_threads)
        start_trees(row_trees, rounds, thread, row_base, row_size)
        start_trees(column_trees, rounds, thread, column_base, column_size)
        if not go_on or not wait(rounds.barrier, rounds.num_threads):
            return False, ZERO
        go_on, number = grow(
            Side(rows, row_trees, column_trees, row_stamp, column_stamp, True),
            Side(columns, column_trees, row_trees, column_stamp, row_stamp, False),
            rounds,
            thread,
            number,
            last,
            row_size,
            column_size,
        )
        if not go_on:
            break
        row_stamp += row_size
        column_stamp += column_size
        augmented = ZERO
        k, end = share_of(row_size, thread, rounds.num_threads)
        while k < end:
            if row_trees.met[k] != OPEN:
                augment(row_trees, column_trees, np.uint64(row_trees.met[k]))
                augmented += ONE
            k += ONE
        rounds.counts[thread, AUGMENTATIONS] += augmented
        other = np.uint64(len(row_trees.words)) - row_base
        number += ONE
        go_on, row_size, augmented = keep_roots(
            row_trees, rounds, thread, number, row_base, other, row_size, augmented
        )
        row_base = other
        if not go_on:
            break
        other = np.uint64(len(column_trees.words)) - column_base
        number += ONE
        go_on, column_size, _ = keep_roots(
            column_trees, rounds, thread, number, column_base, other, column_size, ZERO
        )
        column_base = other
        if number >= last:
            left = row_size
            break
    if not wait(rounds.barrier, rounds.num_threads):
        return False, ZERO
    write_matching(matching, row_trees, column_trees, rounds, thread)
    return go_on, left
