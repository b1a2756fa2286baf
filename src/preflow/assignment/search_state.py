"""What the kernels of shortest augmenting paths work on: lists of candidates, prices, distances, a heap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.costs import SparseCosts
from ..kernels.kernel import kernel

#: No partner, and not in the heap.
NONE = np.uint64(2**64 - 1)
#: The place in the heap of what has left it for good.
DONE = np.uint64(2**64 - 2)
#: Columns whose smallest distance is kept: the nearest one is found by a look at all blocks and into some.
BLOCK = np.uint64(64)


class Limits(NamedTuple):
    """Numbers that depend on the kind of costs.

    Attributes
    ----------
    mask : int64 or float64
        A price of minus this keeps a column out of a search.
    beyond : int64 or float64
        The distance of such columns, and of those out of reach.
    far : int64 or float64
        No distance of a solvable problem is as large, and no price below minus twice this.
    zero : int64 or float64
    """

    mask: Any
    beyond: Any
    far: Any
    zero: Any


#: With costs up to 2**59, distances up to 2**59 and prices down to -2**60 no sum here passes 2**63, and none
#: with a masked price is below 2**61.
INTEGER_LIMITS = Limits(np.int64(2**62), np.int64(2**61), np.int64(2**59), np.int64(0))
FLOAT_LIMITS = Limits(*(np.float64(np.inf),) * 3, np.float64(0))


class Lists(NamedTuple):
    """The edges of each row that a search looks at: all of a sparse matrix, the cheapest of a dense one.

    Attributes
    ----------
    first : ndarray of uint64, shape (n + 1,)
        Row `i` has room at ``first[i] .. first[i + 1] - 1``.
    size : ndarray of uint64, shape (n,)
    column : ndarray of uint32
    cost : ndarray of int64 or float64
    bound : ndarray of the dtype of costs, shape (n,)
        No column that is not listed has a smaller reduced cost. Prices only fall, so it stays true.
    built : ndarray of uint64, shape (n,)
        The number of the search that listed the row last.
    wanted : ndarray of uint64, shape (n,)
        How many columns the row should list.
    """

    first: NDArray[Any]
    size: NDArray[Any]
    column: NDArray[Any]
    cost: NDArray[Any]
    bound: NDArray[Any]
    built: NDArray[Any]
    wanted: NDArray[Any]


class State(NamedTuple):
    """What a solve works on, for n rows and m >= n columns; numbers are int64 or float64.

    Attributes
    ----------
    price : ndarray, shape (m,)
    matched_cost : ndarray, shape (n,)
    row_match : ndarray of uint64, shape (n,)
    column_match : ndarray of uint64, shape (m,)
    free : ndarray of uint64, shape (n,)
        Rows without a column.
    distance : ndarray, shape (m + n,)
        Of columns from the root of the search in reduced costs; then, by row, from where on a column may be
        reached that the row's list does not have.
    parent : ndarray of uint64, shape (m,)
        The row before each column on a shortest path.
    parent_cost : ndarray, shape (m,)
    via : ndarray of float64, shape (m,)
        The same rows by number: 0 for the root, then -1, -2 and so on, as they were scanned.
    heap, place, touched : ndarray of uint64, shape (m + n,)
        Columns, and rows plus m, by distance; where in the heap each is; all that were ever in it.
    done : ndarray of uint64, shape (m,)
        Columns whose rows were scanned, ...
    done_distance, done_price : ndarray, shape (m,)
        ... and what was known of them.
    reduced : ndarray, shape (m,)
    least : ndarray, shape (blocks,)
        The smallest of each block.
    left : ndarray of uint64, shape (blocks,)
        How many columns of each block are not done.
    near : ndarray of uint64, shape (m,)
        Columns at one distance.
    limits : Limits
    """

    price: NDArray[Any]
    matched_cost: NDArray[Any]
    row_match: NDArray[Any]
    column_match: NDArray[Any]
    free: NDArray[Any]
    distance: NDArray[Any]
    parent: NDArray[Any]
    parent_cost: NDArray[Any]
    via: NDArray[np.float64]
    heap: NDArray[Any]
    place: NDArray[Any]
    touched: NDArray[Any]
    done: NDArray[Any]
    done_distance: NDArray[Any]
    done_price: NDArray[Any]
    reduced: NDArray[Any]
    least: NDArray[Any]
    left: NDArray[Any]
    near: NDArray[Any]
    limits: Limits


def make_state(num_rows: int, num_columns: int, dtype: Any) -> State:
    """Return the state for matrices of a shape, with numbers of a dtype (int64 or float64)."""
    n, m = num_rows, num_columns

    def numbers(size: int) -> NDArray[Any]:
        return np.zeros(size, dtype=dtype)

    def indices(size: int) -> NDArray[Any]:
        return np.zeros(size, dtype=np.uint64)

    return State(
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


def make_lists(num_rows: int, room: int, wanted: int, dtype: Any) -> Lists:
    """Return lists with room for some columns of every row of a dense matrix."""
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
    """Return all edges of a sparse matrix as lists of its rows."""
    n = costs.shape[1]
    limits = INTEGER_LIMITS if costs.values.dtype.kind == "i" else FLOAT_LIMITS
    return Lists(
        first=costs.first,
        size=np.diff(costs.first),
        column=costs.column,
        cost=costs.values,
        bound=np.full(n, limits.beyond, dtype=costs.values.dtype),
        built=np.zeros(n, dtype=np.uint64),
        wanted=np.zeros(n, dtype=np.uint64),
    )


@kernel
def clear(state: State) -> None:
    """Forget a matching, prices and distances."""
    for j in range(np.uint64(len(state.column_match))):
        state.column_match[j] = NONE
        state.price[j] = 0
    for i in range(np.uint64(len(state.row_match))):
        state.row_match[i] = NONE
    for item in range(np.uint64(len(state.distance))):
        state.distance[item] = state.limits.beyond
        state.place[item] = NONE
