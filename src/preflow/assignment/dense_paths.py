"""Kernels of shortest augmenting paths on a dense matrix: initial prices, and one search a row.

Every loop over a whole row of the matrix runs on vectors: a column that is done is not left out by a branch
or by an index list but by a price of -MASK, which keeps its distance large, and the column that is nearest is found
in minima of blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..kernels.smaller import smaller
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: No partner.
NONE = np.uint64(2**64 - 1)
#: Columns whose smallest distance is kept: finding the nearest column looks at all blocks and into one of them.
BLOCK = np.uint64(64)

#: How a solve of one matrix ended.
SOLVED, STOPPED, INFEASIBLE, OVERFLOW = range(4)


class Limits(NamedTuple):
    """Numbers that depend on the kind of costs.

    Attributes
    ----------
    mask : int64 or float64
        A price of minus this keeps a column out of a search.
    beyond : int64 or float64
        The distance of such columns, and of those out of reach.
    far : int64 or float64
        No distance or price of a solvable problem is as large.
    """

    mask: Any
    beyond: Any
    far: Any


#: With costs up to 2**59, distances up to 2**59 and prices down to -2**60 no sum here passes 2**63, and none with
#: a masked price is below 2**61.
INTEGER_LIMITS = Limits(np.int64(2**62), np.int64(2**61), np.int64(2**59))
FLOAT_LIMITS = Limits(np.float64(np.inf), np.float64(np.inf), np.float64(np.inf))


class DenseState(NamedTuple):
    """What the search works on, for a matrix of n rows and m >= n columns.

    Attributes
    ----------
    price : ndarray of int64 or float64, shape (m,)
    distance : ndarray of the same dtype, shape (m,)
        From the root of the search, in reduced costs.
    parent : ndarray of uint64, shape (m,)
        The row before each column on a shortest path.
    row_match : ndarray of uint64, shape (n,)
    column_match : ndarray of uint64, shape (m,)
    least : ndarray of the dtype of prices, shape (blocks,)
        The smallest distance of each block.
    near : ndarray of uint64, shape (m,)
        Columns at one distance.
    done : ndarray of uint64, shape (m,)
        Columns whose rows were scanned, ...
    done_distance, done_price : ndarray of the dtype of prices, shape (m,)
        ... and what was known of them.
    free : ndarray of uint64, shape (n,)
        Rows without a column.
    limits : Limits
    """

    price: NDArray[Any]
    distance: NDArray[Any]
    parent: NDArray[Any]
    row_match: NDArray[Any]
    column_match: NDArray[Any]
    least: NDArray[Any]
    near: NDArray[Any]
    done: NDArray[Any]
    done_distance: NDArray[Any]
    done_price: NDArray[Any]
    free: NDArray[Any]
    limits: Limits


def make_state(num_rows: int, num_columns: int, dtype: Any) -> DenseState:
    """Return the state for matrices of a shape, with prices of a dtype (int64 or float64)."""
    blocks = -(-num_columns // int(BLOCK))

    def numbers(size: int) -> NDArray[Any]:
        return np.zeros(size, dtype=dtype)

    def indices(size: int) -> NDArray[Any]:
        return np.zeros(size, dtype=np.uint64)

    m, n = num_columns, num_rows
    limits = INTEGER_LIMITS if np.dtype(dtype).kind == "i" else FLOAT_LIMITS
    return DenseState(
        numbers(m), numbers(m), indices(m), indices(n), indices(m), numbers(blocks), indices(m), indices(m),
        numbers(m), numbers(m), indices(n), limits,
    )  # fmt: skip


@kernel
def reduce_row(cost: Any, base: Any, price: Any, distance: Any) -> None:
    """Set the distances to the reduced costs of the row that begins at `base`."""
    for j in range(np.uint64(len(price))):
        distance[j] = cost[base + j] - price[j]


@kernel
def relax_row(cost: Any, base: Any, price: Any, height: Any, row: Any, distance: Any, parent: Any) -> None:
    """Shorten distances by paths that end with an edge of `row`, which is at the distance of `height`."""
    for j in range(np.uint64(len(price))):
        through = cost[base + j] - price[j] - height
        closer = through < distance[j]
        distance[j] = through if closer else distance[j]
        parent[j] = row if closer else parent[j]


@kernel
def block_minima(distance: Any, least: Any) -> Any:
    """Find the smallest distance of each block; return the smallest of all."""
    size = np.uint64(len(distance))
    smallest = distance[ZERO]
    for b in range(np.uint64(len(least))):
        first = b * BLOCK
        last = min(first + BLOCK, size)
        block = distance[first]
        for j in range(first, last):
            block = smaller(distance[j], block)
        least[b] = block
        smallest = smaller(block, smallest)
    return smallest


@kernel
def first_at(distance: Any, least: Any, value: Any) -> Any:
    """Return the first column at the distance `value`, which there is."""
    b = ZERO
    while least[b] != value:
        b += ONE
    j = b * BLOCK
    while distance[j] != value:
        j += ONE
    return j


@kernel
def reduce_columns(cost: Any, base: Any, state: DenseState) -> Any:
    """Set prices to the minima of columns; give each row the last column that has its minimum there."""
    price, parent = state.price, state.parent
    num_rows, num_columns = np.uint64(len(state.row_match)), np.uint64(len(price))
    for j in range(num_columns):
        price[j] = cost[base + j]
        parent[j] = ZERO
    for i in range(ONE, num_rows):
        first = base + i * num_columns
        for j in range(num_columns):
            value = cost[first + j]
            closer = value < price[j]
            price[j] = value if closer else price[j]
            parent[j] = i if closer else parent[j]
    for k in range(num_columns):
        j = num_columns - ONE - k
        i = parent[j]
        if not price[j] < state.limits.beyond:
            price[j] = 0
        elif state.row_match[i] == NONE:
            state.row_match[i] = j
            state.column_match[j] = i


@kernel
def reduce_rows(cost: Any, base: Any, state: DenseState, size: Any, budget: Any) -> Any:
    """Give free rows their best columns, also those of other rows, and lower the price to the second best.

    Returns
    -------
    size : uint64
        How many rows are left in `free`.
    scans : uint64
    fits : bool
        Whether all prices are within the limits.
    """
    price, distance, free = state.price, state.distance, state.free
    num_columns = np.uint64(len(price))
    scans = ZERO
    left = ZERO
    k = ZERO
    while k < size:
        i = free[k]
        k += ONE
        if scans >= budget:
            free[left] = i
            left += ONE
            continue
        scans += ONE
        reduce_row(cost, base + i * num_columns, price, distance)
        best = block_minima(distance, state.least)
        if not best < state.limits.beyond:
            free[left] = i
            left += ONE
            continue
        j = first_at(distance, state.least, best)
        distance[j] = state.limits.beyond
        second = block_minima(distance, state.least)
        other = state.column_match[j]
        bounded = second < state.limits.beyond
        if bounded and best < second:
            price[j] -= second - best
            if price[j] < -2 * state.limits.far:
                return left, scans, False
        elif bounded and other != NONE:
            j = first_at(distance, state.least, second)
            other = state.column_match[j]
        if other != NONE and not bounded:
            free[left] = i
            left += ONE
            continue
        state.row_match[i] = j
        state.column_match[j] = i
        if other != NONE:
            state.row_match[other] = NONE
            if best < second:
                k -= ONE
                free[k] = other
            else:
                free[left] = other
                left += ONE
    return left, scans, True


@kernel
def mask_near(state: DenseState, size: Any, done: Any, here: Any) -> None:
    """Take the `size` columns in `near`, at the distance `here`, out of the search."""
    for k in range(size):
        j = state.near[k]
        state.done[done + k] = j
        state.done_distance[done + k] = here
        state.done_price[done + k] = state.price[j]
        state.price[j] = -state.limits.mask
        state.distance[j] = state.limits.beyond


@kernel
def list_near(state: DenseState, here: Any) -> tuple[Any, Any]:
    """List the columns at the distance `here` in `near`; return how many, and a free one or NONE."""
    num_columns = np.uint64(len(state.price))
    size = ZERO
    for b in range(np.uint64(len(state.least))):
        if state.least[b] <= here:
            for j in range(b * BLOCK, min((b + ONE) * BLOCK, num_columns)):
                if state.distance[j] <= here:
                    if state.column_match[j] == NONE:
                        return size, j
                    state.near[size] = j
                    size += ONE
    return size, NONE


@kernel
def restore_prices(state: DenseState, done: Any, change: bool, here: Any) -> None:
    """Give the columns that are done their prices again, lowered where they are nearer than `here`."""
    for k in range(done):
        lowered = here - state.done_distance[k] if change else here - here
        state.price[state.done[k]] = state.done_price[k] - lowered


@kernel
def search(cost: Any, base: Any, state: DenseState, root: Any) -> tuple[Any, Any]:
    """Match the row `root` along a shortest path; return how it ended and how many rows were scanned.

    Where there is no path, the columns in `done` and their rows are all that can be reached.
    """
    price, distance, parent = state.price, state.distance, state.parent
    num_columns = np.uint64(len(price))
    reduce_row(cost, base + root * num_columns, price, distance)
    for j in range(num_columns):
        parent[j] = root
    here = block_minima(distance, state.least)
    offset = here
    done = ZERO
    sink = NONE
    while True:
        if not (here - offset < state.limits.far and here < state.limits.beyond):
            restore_prices(state, done, False, here - here)
            return (INFEASIBLE if not here < state.limits.beyond else OVERFLOW), done
        size, sink = list_near(state, here)
        if sink != NONE:
            break
        mask_near(state, size, done, here)
        for k in range(done, done + size):
            j = state.done[k]
            row = state.column_match[j]
            first = base + row * num_columns
            height = cost[first + j] - state.done_price[k] - here
            relax_row(cost, first, price, height, row, distance, parent)
        done += size
        here = max(here, block_minima(distance, state.least))
    restore_prices(state, done, True, here)
    while True:
        row = parent[sink]
        state.column_match[sink] = row
        following = state.row_match[row]
        state.row_match[row] = sink
        sink = following
        if row == root:
            return SOLVED, done + ONE
