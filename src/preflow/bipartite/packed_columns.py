"""The row and the label of every column in one 64-bit word, so that one compare-and-swap changes both.

A label is in the upper half of a word, a row or NOBODY in the lower half. :mod:`.multicore_push_relabel`
pushes on packed columns, and its docstring says why; :mod:`.multicore_multi_source_bfs` grows trees on them
and uses the upper half for the row through which a tree has reached the column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from ..errors import UnsuitableMethodError
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.barrier import wait
from ..parallel.rounds import Round, Rounds, append_item
from ..parallel.thread_pool import share_of
from .match_arrays import NONE, Matching

#: Bits of half a word, and the lower half of a column without a row.
HALF = np.uint64(32)
NOBODY = np.uint64(2**32 - 1)
#: Graphs with at most this many rows and columns can be packed: their numbers leave three values for NOBODY
#: and other marks.
MOST_PACKED = 2**32 - 3
#: Number of levels whose columns are counted. The last level counts all higher labels, too. From a cheap
#: matching labels stay below 50; where they climb on, there is a gap among the first levels.
LEVELS = 256


class Packed(NamedTuple):
    """The state that the threads share, besides the graph and the matching."""

    #: shape (num_columns,): label and row of every column. A label is a lower bound on the number of columns
    #: left on an alternating path to a free one: 0 for a free column, and more than there are columns for a
    #: *dead* column, from which no free one can be reached.
    words: NDArray[np.uint64]
    #: shape (threads, LEVELS): by how much each thread has changed the number of columns of each level. Dead
    #: columns count in the last level until a gap below it is closed.
    population: NDArray[np.int64]
    #: shape (2 * num_rows,): the active rows of this round in one half, those of the next round in the other
    active: Indices
    #: the vertices that a search has found, in this order: at most all rows, or all columns
    order: NDArray[np.uint64]
    leaf: NDArray[np.uint64]  #: the free column that the search from each root found, or NOBODY


def is_narrow(graph: BipartiteGraph) -> bool:
    """Whether the numbers of all rows and columns of a graph fit half a word."""
    return max(graph.shape) <= MOST_PACKED


def check_packed(graph: BipartiteGraph, method: str) -> None:
    """Raise UnsuitableMethodError where the numbers of rows or columns do not fit half a word."""
    if not is_narrow(graph):
        raise UnsuitableMethodError(f"{method} takes up to {MOST_PACKED:,} rows and columns, got {graph}")


def make_packed(graph: BipartiteGraph, threads: int, method: str, trees: int, relabels: bool) -> Packed:
    """Return words for a graph, not yet filled, and room for searches from `trees` rows at a time.

    UnsuitableMethodError: the numbers of rows or columns do not fit half a word.
    """
    check_packed(graph, method)
    num_rows, num_columns = graph.shape
    return Packed(
        words=np.empty(num_columns, dtype=np.uint64),
        population=np.zeros((threads, LEVELS), dtype=np.int64),
        active=np.empty(2 * num_rows, dtype=graph.dtype),
        order=np.empty(max(num_rows, num_columns) if relabels else num_rows, dtype=np.uint64),
        leaf=np.empty(trees, dtype=np.uint64),
    )


@kernel
def dead_label(packed: Packed) -> np.uint64:
    """Return the label of dead columns."""
    return np.uint64(len(packed.words)) + ONE


@kernel
def last_level(packed: Packed) -> np.uint64:
    """Return the last level, which counts all columns with its label or a higher one."""
    return np.uint64(packed.population.shape[1]) - ONE


@kernel
def level_of(packed: Packed, label: np.uint64) -> np.uint64:
    """Return the level in which the columns of a label are counted."""
    return min(label, last_level(packed))


@kernel
def pack(rows: Adjacency, matching: Matching, packed: Packed, rounds: Rounds, current: Round) -> np.uint64:
    """Give free columns label 0 and matched ones label 1, list active rows in round 0.

    One thread's share; returns the number of rows in its buffer.
    """
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    thread = current.thread
    begin, end = share_of(num_columns, thread, rounds.num_threads)
    c, free = begin, ZERO
    while c < end:
        mate = np.uint64(matching.column_match[c])
        if mate < num_rows:
            packed.words[c] = ONE << HALF | mate
        else:
            packed.words[c] = NOBODY
            free += ONE
        c += ONE
    packed.population[thread, ZERO] = free
    packed.population[thread, ONE] = end - begin - free
    waiting = ZERO
    r, end = share_of(num_rows, thread, rounds.num_threads)
    while r < end:
        if np.uint64(matching.row_match[r]) >= num_columns and rows.first[r] < rows.first[r + ONE]:
            waiting = append_item(rounds, current, packed.active, waiting, r)
        r += ONE
    return waiting


@kernel
def unpack(matching: Matching, packed: Packed, rounds: Rounds, thread: np.uint64) -> None:
    """Write the matching of the words into the match arrays. Collective; ends with a barrier."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    r, end = share_of(num_rows, thread, rounds.num_threads)
    while r < end:
        matching.row_match[r] = NONE
        r += ONE
    wait(rounds.barrier, rounds.num_threads)  # mutant: columns-are-written-before-all-rows-are-cleared
    c, end = share_of(num_columns, thread, rounds.num_threads)
    while c < end:
        mate = packed.words[c] & NOBODY
        matching.column_match[c] = NONE
        if mate != NOBODY:
            matching.column_match[c] = mate
            matching.row_match[mate] = c
        c += ONE
    wait(rounds.barrier, rounds.num_threads)
