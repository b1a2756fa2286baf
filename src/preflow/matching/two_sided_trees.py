"""The trees that :mod:`.two_sided_search` grows: how they are kept, begun, and cut down to a matching."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import prefetch_to_write
from ..kernels.kernel import kernel
from ..parallel.team import share_of
from ..parallel.transpose import Transposing, make_transposing
from .packed import HALF, NOBODY, Packed, dead_label
from .rounds import Rounds, end_round, keep, start_round
from .state import NONE, Matching

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: The stamp of what no search has to look at: columns that reach no free one, and rows that were given up.
CLOSED = NOBODY
#: A tree that has met no other.
OPEN = np.uint64(2**64 - 1)
#: How many places ahead a thread asks for the words that it writes in no order.
AHEAD_WRITTEN = np.uint64(16)


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
            waiting = keep(rounds, thread, number, column_trees.roots, ZERO, waiting, c)
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
def plant(trees: Trees, rounds: Rounds, thread: Any, base: Any, size: Any) -> None:
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
            waiting = keep(rounds, thread, number, trees.roots, other, waiting, v)
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
