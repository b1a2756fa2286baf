"""The row and the label of a column in one word, which a compare-and-swap changes together.

For :mod:`.multicore_push_relabel`, which says why, and :mod:`.multicore_multi_source_bfs`. Here is what its
threads do between pushes, each with columns and rows of its own: pack a matching, unpack it, and close gaps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsuitableMethodError
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.kernel import kernel
from ..parallel.barrier import wait
from ..parallel.team import share_of
from .match_arrays import NONE, Matching
from .thread_rounds import Rounds, keep

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: A label stands in the upper half of a word, a row or NOBODY in the lower one.
HALF = np.uint64(32)
NOBODY = np.uint64(2**32 - 1)
#: The numbers of this many rows or columns, and of NOBODY and one more mark, fit half a word.
MOST_PACKED = 2**32 - 3
#: Levels whose columns are counted, each by itself but the last, which stands for all above. From a cheap
#: matching labels end below 50, and where they climb on there is a gap among the first levels.
LEVELS = 256


class Packed(NamedTuple):
    """What the threads share beside the graph and the matching.

    Attributes
    ----------
    words : ndarray of uint64, shape (num_columns,)
        Label and row of every column. A label is a lower bound on how many columns are left on the way to a
        free one, 0 for a free one; dead, more than there are columns: none can be reached.
    population : ndarray of int64, shape (threads, LEVELS)
        By how much each thread has changed the number of columns of each level. Dead ones are of the last
        level, until a gap below is closed.
    active : ndarray, shape (2 * num_rows,)
        Active rows of this round in one half, of the next in the other.
    order : ndarray of uint64
        What a search has found, in this order: at most all rows, or all columns.
    leaf : ndarray of uint64
        A free column that the search from a row found, or NOBODY.
    """

    words: NDArray[Any]
    population: NDArray[Any]
    active: NDArray[Any]
    order: NDArray[Any]
    leaf: NDArray[Any]


def is_narrow(graph: BipartiteGraph) -> bool:
    """Whether the numbers of all rows and columns of a graph fit halves of words."""
    return max(graph.shape) <= MOST_PACKED


def check_packed(graph: BipartiteGraph, method: str) -> None:
    """Raise an UnsuitableMethodError where rows or columns have numbers that do not fit halves of words."""
    if not is_narrow(graph):
        raise UnsuitableMethodError(f"{method} takes up to {MOST_PACKED:,} rows and columns, got {graph}")


def make_packed(graph: BipartiteGraph, threads: int, method: str, trees: int, relabels: bool) -> Packed:
    """Return words for a graph, yet to be packed, and room for searches from so many rows at a time.

    Raises
    ------
    UnsuitableMethodError
        Rows or columns have numbers that do not fit halves of words.
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
def dead_label(packed: Packed) -> Any:
    """Return the label of columns from which no free one can be reached."""
    return np.uint64(len(packed.words)) + ONE


@kernel
def last_level(packed: Packed) -> Any:
    """Return the level that stands for itself and all above."""
    return np.uint64(packed.population.shape[1]) - ONE


@kernel
def level_of(packed: Packed, label: Any) -> Any:
    """Return where the columns of a label are counted."""
    return min(label, last_level(packed))


@kernel
def pack(rows: Adjacency, matching: Matching, packed: Packed, rounds: Rounds, thread: Any) -> Any:
    """Give free columns label 0 and matched ones label 1, list active rows in round 0; one thread's share.

    Returns how many rows wait to be listed.
    """
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
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
            waiting = keep(rounds, thread, ZERO, packed.active, ZERO, waiting, r)
        r += ONE
    return waiting


@kernel
def unpack(matching: Matching, packed: Packed, rounds: Rounds, thread: Any) -> None:
    """Write the matching that the words hold, one thread's share; ends with a barrier."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    r, end = share_of(num_rows, thread, rounds.num_threads)
    while r < end:
        matching.row_match[r] = NONE
        r += ONE
    wait(rounds.barrier, rounds.num_threads)
    c, end = share_of(num_columns, thread, rounds.num_threads)
    while c < end:
        mate = packed.words[c] & NOBODY
        matching.column_match[c] = NONE
        if mate != NOBODY:
            matching.column_match[c] = mate
            matching.row_match[mate] = c
        c += ONE
    wait(rounds.barrier, rounds.num_threads)
