"""State of shortest augmenting paths: lists of cheap columns, prices, distances, a heap of columns and rows.

Definitions. The *reduced cost* of a pair is its cost minus the price of its column. The *height* of a row is
a number such that the distance of a column through this row is the reduced cost minus the height. A row
*lists* some of its columns; its *bound* is a lower bound on the reduced costs of the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Array, Indices, Number, Numbers
from ..graph.costs import SparseCosts
from ..kernels.kernel import kernel

#: No partner; or, as a place in the heap: never put into it.
NONE = np.uint64(2**64 - 1)
#: The place in the heap of an item that was taken out: its distance is final.
DONE = np.uint64(2**64 - 2)
#: Columns per block. The least distance of each block is stored, so that the nearest column is found by a
#: scan of the blocks and of the columns of a few blocks.
BLOCK = np.uint64(64)


class Limits(NamedTuple):
    """Limits of the numbers, for integers or for floats."""

    mask: Number  #: int64 or float64: a column with the price ``-mask`` takes no part in a search
    beyond: Number  #: int64 or float64: the distance of columns that a search does not reach
    #: int64 or float64: a distance of `far` or more, or a price below ``-2 * far``, means that 64 bits do not
    #: suffice
    far: Number
    zero: Number  #: int64 or float64


#: In a search, sums are cost - price - (cost - price - distance). With costs up to 2**59, distances up to
#: 2**59 and prices down to -2**60 they are at most 2.5 * 2**60, with a masked price from 3.5 to 7.5 * 2**60.
INTEGER_LIMITS = Limits(np.int64(6 * 2**60), np.int64(3 * 2**60), np.int64(2**59), np.int64(0))
FLOAT_LIMITS = Limits(*(np.float64(np.inf),) * 3, np.float64(0))


class Lists(NamedTuple):
    """The pairs that each row lists: all of a sparse matrix, the cheapest ones of a dense matrix."""

    #: shape (n + 1,): the list of row `i` may use the places ``first[i] .. first[i + 1] - 1``
    first: NDArray[np.uint64]
    size: NDArray[np.uint64]  #: shape (n,): the length of each list
    column: Indices  #: uint32
    cost: Numbers  #: int64 or float64
    #: the dtype of costs, shape (n,): no column outside the list has a smaller reduced cost. This stays true,
    #: since prices only fall.
    bound: Numbers
    #: shape (n,): the number of the search that made the list; 0 before all searches
    built: NDArray[np.uint64]
    wanted: NDArray[np.uint64]  #: shape (n,): the number of columns that the row should list


class SearchState(NamedTuple):
    """State of a solve for n rows and m >= n columns; numbers are int64 or float64."""

    price: Numbers  #: shape (m,): the prices of columns
    matched_cost: Numbers  #: shape (n,): the cost of each row's pair
    row_match: NDArray[np.uint64]  #: shape (n,): the column of each row, or NONE
    column_match: NDArray[np.uint64]  #: shape (m,): the row of each column, or NONE
    free: NDArray[np.uint64]  #: shape (n,): a list of rows without a column
    #: shape (m + n,): the distances of columns from the root of the search. Then, for each row, the least
    #: distance of a column that the row's list may lack.
    distance: Numbers
    parent: NDArray[np.uint64]  #: shape (m,): the row before each column on a shortest path
    parent_cost: Numbers  #: shape (m,): the cost of the pair of each column and its parent
    #: shape (m,): the parents in searches over whole rows, by the order of scanning: 0 is the root, -k the
    #: k-th row after it
    via: NDArray[np.float64]
    #: shape (m + n,): a binary heap, by distance, of columns and of rows plus m; the place of each item in
    #: the heap; the items that were put into it in this search
    heap: NDArray[np.uint64]
    place: NDArray[np.uint64]
    touched: NDArray[np.uint64]
    done: NDArray[np.uint64]  #: shape (m,): the columns whose distance is final
    #: shape (m,): their distances, and their prices before the search
    done_distance: Numbers
    done_price: Numbers
    reduced: Numbers  #: shape (m,): the reduced costs of one row
    least: Numbers  #: shape (blocks,): the least value of each block of columns
    #: shape (blocks,): the number of columns of each block that are not done
    left: NDArray[np.uint64]
    near: NDArray[np.uint64]  #: shape (m,): a list of columns at the same distance
    limits: Limits


def make_state(num_rows: int, num_columns: int, dtype: DTypeLike) -> SearchState:
    """Return the state for matrices of one shape, with numbers of dtype int64 or float64."""
    n, m = num_rows, num_columns

    def numbers(size: int) -> Array:
        return np.zeros(size, dtype=dtype)

    def indices(size: int) -> Array:
        return np.zeros(size, dtype=np.uint64)

    return SearchState(
        price=numbers(m),
        matched_cost=numbers(n),
        row_match=indices(n),
        column_match=indices(m),
        free=indices(n),
        distance=numbers(m + n),
        parent=indices(m),
        parent_cost=numbers(m),
        via=np.zeros(m),
        heap=indices(m + n),
        place=indices(m + n),
        touched=indices(m + n),
        done=indices(m),
        done_distance=numbers(m),
        done_price=numbers(m),
        reduced=numbers(m),
        least=numbers(-(-m // int(BLOCK))),
        left=indices(-(-m // int(BLOCK))),
        near=indices(m),
        limits=INTEGER_LIMITS if np.dtype(dtype).kind == "i" else FLOAT_LIMITS,
    )


def make_lists(num_rows: int, room: int, wanted: int, dtype: DTypeLike) -> Lists:
    """Return empty lists for a dense matrix, with space for `room` columns per row."""
    return Lists(
        first=np.arange(num_rows + 1, dtype=np.uint64) * np.uint64(room),
        size=np.zeros(num_rows, dtype=np.uint64),
        column=np.zeros(num_rows * room, dtype=np.uint32),
        cost=np.zeros(num_rows * room, dtype=dtype),
        bound=np.zeros(num_rows, dtype=dtype),
        built=np.zeros(num_rows, dtype=np.uint64),
        wanted=np.full(num_rows, wanted, dtype=np.uint64),
    )


def lists_of(costs: SparseCosts) -> Lists:
    """Return lists that hold all pairs of a sparse matrix."""
    n = costs.shape[1]
    limits = INTEGER_LIMITS if costs.values.dtype.kind == "i" else FLOAT_LIMITS
    return Lists(
        first=costs.first,
        size=costs.first[1:] - costs.first[:-1],
        column=costs.column,
        cost=costs.values,
        bound=np.full(n, limits.beyond, dtype=costs.values.dtype),
        built=np.zeros(n, dtype=np.uint64),
        wanted=np.zeros(n, dtype=np.uint64),
    )


@kernel
def clear(state: SearchState) -> None:
    """Reset matching, prices and distances."""
    for j in range(np.uint64(len(state.column_match))):
        state.column_match[j] = NONE
        state.price[j] = 0
    for i in range(np.uint64(len(state.row_match))):
        state.row_match[i] = NONE
    for item in range(np.uint64(len(state.distance))):
        state.distance[item] = state.limits.beyond
        state.place[item] = NONE
