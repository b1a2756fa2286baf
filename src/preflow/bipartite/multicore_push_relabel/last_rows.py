"""The last rows of push-relabel: searches from the free rows and the free columns at once, level by level.

Why: on random graphs, pushes halve the number of active rows in about the same time however few there are,
since these few raise the labels of everything around them; and a search from the rows alone reads most edges.
Trees from both sides meet long before: from 2,000 rows of an Erdos-Renyi graph of a million rows and mean
degree 5 after 16 levels and 7 % of the edges.

Definitions. In a *phase*, disjoint trees grow from all active rows (forwards) and from all free columns
(backwards). A tree takes a vertex of the other side together with its partner, and grows on from the partner.
Two trees *meet* at an edge that joins one of each side: the path through both is augmenting. A tree is *open*
until it has met another. The *stamp* of a vertex says which tree of which phase has taken it; stamps rise
from phase to phase, so nothing has to be cleared between phases. A *closed* vertex is one that no search has
to read: a column that reaches no free one, or a row that was given up.

Invariants:

- A vertex is taken by a compare-and-swap of its word, so every matched pair is in at most one tree: forwards
  it is taken by its column, backwards by its row.
- A tree meets at most one other, so the paths of a phase are disjoint.
- A phase in which no two trees meet proves the matching maximum: the trees of one side have reached
  everything that they can reach, and nothing of it belongs to a tree of the other side.

Pseudo-code, of all threads together::

    transpose the graph if its columns are not known
    turn labels into stamps: all columns open, but for the dead ones
    while there are active rows and free columns:
        start a tree at each of them
        while both sides can grow, and there are open trees:
            grow the side that has read fewer edges by one level
        augment along the path of every two trees that have met
        if there was none: the matching is maximum
        list the roots of open trees for the next phase
    write the matching of the words into the match arrays
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.atomics import compare_exchange, prefetch, prefetch_to_write, relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.barrier import wait
from ...parallel.delays import delay
from ...parallel.rounds import Round, Rounds, append_item, end_round, start_round
from ...parallel.sort import Sorting, make_transposing, sort_by_key_together
from ...parallel.thread_pool import share_of
from ...stats import ARC_SCANS, AUGMENTATIONS, PHASES
from ..match_arrays import NONE, Matching
from ..packed_columns import HALF, NOBODY, Packed, dead_label
from ..queue_prefetch import MOST_VALUES
from .pushes import PushState

#: The stamp of closed vertices.
CLOSED = NOBODY
#: The value of `met` of an open tree.
OPEN = np.uint64(2**64 - 1)
#: How many positions ahead a thread prefetches words that it writes in no order.
AHEAD_WRITTEN = np.uint64(16)
#: Assumed number of edges of a vertex, to compare what the next level of each side will read.
EDGES = np.uint64(3)
#: The counts of a level are one number: trees that met from bit COUNT_SHIFT on, edges that were read below.
COUNT_SHIFT = np.uint64(40)
#: How many positions ahead cache lines are prefetched: the vertex's range of neighbours, the neighbours,
#: their words, and the words of their partners.
AHEAD_RANGE, AHEAD_NEIGHBOURS, AHEAD_WORDS, AHEAD_PARTNERS = map(np.uint64, (10, 8, 5, 3))


class Trees(NamedTuple):
    """The trees that grow from the free vertices of one side, and the state of the vertices of that side."""

    #: in the lower half the partner of a vertex, or NOBODY. In the upper half the stamp of the tree of the
    #: other side that has taken it; a stamp below the first one of this phase is out of date.
    words: NDArray[np.uint64]
    #: the vertex through which a vertex was taken; for a free vertex the number of its own tree
    link: Indices
    #: the vertices of this side that the trees have reached, level by level, each once: tree and vertex
    order: NDArray[np.uint64]
    #: the free vertices of this phase in one half, those of the next phase in the other
    roots: Indices
    #: the edge, row and column, at which a tree has met one of the other side, or OPEN
    met: NDArray[np.uint64]


class LastRows(NamedTuple):
    """The state of the searches, besides a packed matching."""

    columns: Adjacency  #: the rows of every column, or room for them
    transposes: bool  #: whether the searches have to fill `columns` first
    transposing: Sorting  #: scratch memory for that
    #: `column_trees` has no words: its words are those of the packed columns
    row_trees: Trees
    column_trees: Trees
    last_stamp: np.uint64  #: stamps are cleared before they rise above this one
    #: the searches give up after this number of rounds: one for each level, two for each phase
    levels: np.uint64


class Side(NamedTuple):
    """The side of the graph that grows by a level."""

    adjacency: Adjacency  #: the neighbours of its vertices
    #: its trees, and those of the other side
    near: Trees
    far: Trees
    #: the stamps of the first trees of both in this phase
    near_stamp: np.uint64
    far_stamp: np.uint64
    is_rows: bool  #: whether it is the side of the rows


def make_search(graph: BipartiteGraph, columns: Adjacency | None, threads: int, levels: Any) -> LastRows:
    """Return room for searches by `threads` threads (0: for none); `columns` are None where not known.

    The arrays take memory only when searches write to them.
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
    return LastRows(
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
def close_rows(
    packed: Packed, row_trees: Trees, rounds: Rounds, thread: np.uint64, base: np.uint64, size: np.uint64
) -> None:
    """Make all rows free and closed, and list the active ones as roots; one thread's share."""
    r, end = share_of(np.uint64(len(row_trees.words)), thread, rounds.num_threads)
    while r < end:
        row_trees.words[r] = CLOSED << HALF | NOBODY
        r += ONE
    k, end = share_of(size, thread, rounds.num_threads)
    while k < end:
        row_trees.roots[k] = packed.active[base + k]
        k += ONE


@kernel
def forget_labels(
    columns: Adjacency,
    packed: Packed,
    row_trees: Trees,
    column_trees: Trees,
    rounds: Rounds,
    current: Round,
) -> np.uint64:
    """Turn labels into stamps and fill in the words of matched rows; one thread's share.

    Returns the number of free columns in the thread's buffer.
    """
    dead = dead_label(packed)
    waiting = ZERO
    c, end = share_of(np.uint64(len(packed.words)), current.thread, rounds.num_threads)
    while c < end:
        if c + AHEAD_WRITTEN < end:
            prefetch_to_write(row_trees.words, packed.words[c + AHEAD_WRITTEN] & NOBODY)
        word = packed.words[c]
        mate = word & NOBODY
        packed.words[c] = CLOSED << HALF | mate if word >> HALF == dead else mate
        if mate != NOBODY:
            row_trees.words[mate] = c
        elif columns.first[c] < columns.first[c + ONE]:
            waiting = append_item(rounds, current, column_trees.roots, waiting, c)
        c += ONE
    return waiting


@kernel
def start_trees(trees: Trees, rounds: Rounds, thread: np.uint64, base: np.uint64, size: np.uint64) -> None:
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
def clear_stamps(trees: Trees, rounds: Rounds, thread: np.uint64) -> None:
    """Reset all stamps but those of closed vertices, one thread's share."""
    v, end = share_of(np.uint64(len(trees.words)), thread, rounds.num_threads)
    while v < end:
        word = trees.words[v]
        if word >> HALF != CLOSED:
            trees.words[v] = word & NOBODY  # mutant: old-stamps-stay-when-numbers-restart
        v += ONE


@kernel
def prefetch_level(side: Side, i: np.uint64, end: np.uint64) -> None:
    """Prefetch for the items ahead of position `i` of a level that ends at `end`.

    Words and links are prefetched for writing: a compare-and-swap waits for the writes before it.
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
def meet(near: Trees, far: Trees, tree: np.uint64, other: np.uint64, edge: np.uint64) -> bool:
    """Record that two trees meet at an edge, unless either has met another; return whether they do.

    When this tree has met another, the other one may look as if it had met for a moment; then at least one
    pair has met.
    """
    if np.uint64(relaxed_load(far.met, other)) != OPEN or not compare_exchange(far.met, other, OPEN, edge):
        return False
    if compare_exchange(near.met, tree, OPEN, edge):  # mutant: both-trees-are-not-looked-at
        return True
    relaxed_store(far.met, other, OPEN)  # mutant: a-tree-that-another-one-could-not-meet-is-kept
    return False


@kernel
def grow_from(
    side: Side, rounds: Rounds, current: Round, waiting: np.uint64, item: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Grow a tree from one vertex until it meets another tree: take neighbours, list their partners.

    Returns the number of items in the buffer, and the counts: see COUNT_SHIFT.
    """
    adjacency, near, far, near_stamp = side.adjacency, side.near, side.far, side.near_stamp
    thread = current.thread
    tree, v = item >> HALF, item & NOBODY
    if np.uint64(relaxed_load(near.met, tree)) != OPEN:
        return waiting, ZERO
    e, end = np.uint64(adjacency.first[v]), np.uint64(adjacency.first[v + ONE])
    looked, met = ZERO, ZERO
    while e < end and met == ZERO:
        x = np.uint64(adjacency.neighbour[e])
        e += ONE
        looked += ONE
        # Skip what a tree of this side has taken.
        word = np.uint64(relaxed_load(far.words, x))
        if word >> HALF >= near_stamp:
            continue
        # A free vertex of the other side, or one in a tree of that side: try to meet that tree.
        partner = word & NOBODY
        if partner == NOBODY:
            other = np.uint64(far.link[x])
        else:
            stamp = near.words[partner] >> HALF
            # Taken by no tree: take it, and list its partner.
            if stamp < side.far_stamp:
                delay(rounds.delays, thread)
                if compare_exchange(far.words, x, word, near_stamp + tree << HALF | partner):
                    far.link[x] = v
                    waiting = append_item(rounds, current, near.order, waiting, tree << HALF | partner)
                continue
            other = stamp - side.far_stamp
        edge = v << HALF | x if side.is_rows else x << HALF | v
        delay(rounds.delays, thread)
        if meet(near, far, tree, other, edge):
            met = ONE
        elif np.uint64(relaxed_load(near.met, tree)) != OPEN:
            break
    rounds.counts[thread, ARC_SCANS] += looked
    return waiting, met << COUNT_SHIFT | looked


@kernel
def grow_level(
    side: Side, rounds: Rounds, thread: np.uint64, number: np.uint64, begin: np.uint64, size: np.uint64
) -> tuple[bool, np.uint64, np.uint64]:
    """Grow the trees of one side by a level, whose `size` items begin at `begin`. Collective.

    Return False if the solve is to stop, the number of items of the next level, and the counts.
    """
    current = start_round(rounds, thread, number, begin + size)
    waiting, counted = ZERO, ZERO
    k, end = share_of(size, thread, rounds.num_threads)
    k, end = begin + k, begin + end
    while k < end:
        prefetch_level(side, k, end)
        item = np.uint64(side.near.order[k])
        waiting, more = grow_from(side, rounds, current, waiting, item)
        counted += more
        k += ONE
    return end_round(rounds, current, side.near.order, waiting, counted)


@kernel
def grow(
    of_rows: Side,
    of_columns: Side,
    rounds: Rounds,
    thread: np.uint64,
    number: np.uint64,
    last: np.uint64,
    row_size: np.uint64,
    column_size: np.uint64,
) -> tuple[bool, np.uint64]:
    """Grow all trees until those of one side cannot grow, or round `last`. Collective.

    The sizes are the numbers of trees of rows and of columns. Return False if the solve is to stop, and the
    number of the last round.
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
            row_looked += counted & ((ONE << COUNT_SHIFT) - ONE)
        else:
            go_on, size, counted = grow_level(of_columns, rounds, thread, number, column_begin, column_size)
            column_begin += column_size
            column_size = size
            column_looked += counted & ((ONE << COUNT_SHIFT) - ONE)
        met += counted >> COUNT_SHIFT
    return go_on, number


@kernel
def augment(row_trees: Trees, column_trees: Trees, edge: np.uint64) -> None:
    """Augment along the path of the two trees that have met at an edge."""
    r, c = edge >> HALF, edge & NOBODY
    left = row_trees.words[r] & NOBODY
    displaced = column_trees.words[c] & NOBODY
    row_trees.words[r] = c
    column_trees.words[c] = r
    # Forwards: back along the tree of the row side, to its root.
    while displaced != NOBODY:
        r = displaced
        c = np.uint64(row_trees.link[r])
        displaced = column_trees.words[c] & NOBODY
        row_trees.words[r] = c
        column_trees.words[c] = r
    # Backwards: along the tree of the column side, to its free column.
    while left != NOBODY:
        c = left
        r = np.uint64(column_trees.link[c])
        left = row_trees.words[r] & NOBODY
        row_trees.words[r] = c
        column_trees.words[c] = r


@kernel
def keep_roots(
    trees: Trees, rounds: Rounds, current: Round, base: np.uint64, size: np.uint64, augmented: np.uint64
) -> tuple[bool, np.uint64, np.uint64]:
    """List those of the `size` roots from `base` on whose trees are open. Collective.

    Return False if the solve is to stop, the number of these roots, and the sum of the `augmented` of all
    threads.
    """
    waiting = ZERO
    k, end = share_of(size, current.thread, rounds.num_threads)
    while k < end:
        if trees.met[k] == OPEN:
            v = np.uint64(trees.roots[base + k])
            waiting = append_item(rounds, current, trees.roots, waiting, v)
        k += ONE
    return end_round(rounds, current, trees.roots, waiting, augmented)


@kernel
def write_matching(
    matching: Matching, row_trees: Trees, column_trees: Trees, rounds: Rounds, thread: np.uint64
) -> None:
    """Write the matching of the words into the match arrays, one thread's share."""
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


@kernel
def match_from_both_sides(
    rows: Adjacency,
    matching: Matching,
    state: PushState,
    search: LastRows,
    last_round: Round,
    row_size: np.uint64,
) -> tuple[bool, np.uint64]:
    """Match the `row_size` active rows that the last round of pushes has listed. Collective.

    Takes the matching of the packed words, and writes the match arrays at the end. Return False if the solve
    is to stop, and the number of rows left where the searches gave up.
    """
    packed, rounds = state.packed, state.rounds
    thread, number, base = last_round
    columns, row_trees, of_columns = search.columns, search.row_trees, search.column_trees
    column_trees = Trees(packed.words, of_columns.link, of_columns.order, of_columns.roots, of_columns.met)
    # Close all rows, transpose the graph, and turn labels into stamps.
    close_rows(packed, row_trees, rounds, thread, base, row_size)
    if search.transposes:
        go_on = sort_by_key_together(
            rounds.barrier,
            thread,
            search.transposing,
            rows.neighbour,
            rows.first,
            columns.first,
            columns.neighbour,
            False,
        )
    else:
        go_on = wait(rounds.barrier, rounds.num_threads)
    if not go_on:
        return False, ZERO
    last, left = number + search.levels, ZERO
    number += ONE
    current = start_round(rounds, thread, number, ZERO)
    waiting = forget_labels(columns, packed, row_trees, column_trees, rounds, current)
    go_on, column_size, _ = end_round(rounds, current, column_trees.roots, waiting, ZERO)
    row_base, column_base = ZERO, ZERO
    row_stamp, column_stamp, augmented = ONE, ONE, ONE
    while go_on and row_size > ZERO and column_size > ZERO and augmented > ZERO:
        if thread == ZERO:
            rounds.counts[thread, PHASES] += ONE
            rounds.progress[0] = row_size
        # Clear stamps before they run out.
        if max(row_stamp + row_size, column_stamp + column_size) > search.last_stamp:
            clear_stamps(row_trees, rounds, thread)
            clear_stamps(column_trees, rounds, thread)
            row_stamp, column_stamp = ONE, ONE
            go_on = wait(rounds.barrier, rounds.num_threads)
        # Start a tree at each free vertex, and grow all of them.
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
        # Augment along the paths of trees that have met.
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
        # List the roots of open trees.
        number += ONE
        current = start_round(rounds, thread, number, np.uint64(len(row_trees.words)) - row_base)
        go_on, row_size, augmented = keep_roots(row_trees, rounds, current, row_base, row_size, augmented)
        row_base = current.base
        if not go_on:
            break
        number += ONE
        current = start_round(rounds, thread, number, np.uint64(len(column_trees.words)) - column_base)
        go_on, column_size, _ = keep_roots(column_trees, rounds, current, column_base, column_size, ZERO)
        column_base = current.base
        if number >= last:
            left = row_size
            break
    if not wait(rounds.barrier, rounds.num_threads):
        return False, ZERO
    write_matching(matching, row_trees, column_trees, rounds, thread)
    return go_on, left
