"""Kernels over whole rows of a dense matrix, and the lists of a row's cheapest columns that they make.

The loops have no branches and use the functions of kernels/branch_free, so that LLVM turns them into vector
instructions.

To list a row: compute its reduced costs and the least of each block; estimate the threshold below which the
wanted number of columns lie, from the mean of the block minima; list the columns up to it. If they are too
few, raise the threshold and repeat; if they do not fit, halve the distance of the threshold to the least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Number, Numbers
from ..kernels.branch_free import choose, lowered, smaller
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from .search_state import BLOCK, NONE, Lists, SearchState

#: Columns that a row's list has space for.
ROOM = 256
#: Columns that a row should list at first.
WANTED = 24
#: A list is long enough with this many columns; otherwise up to TRIES thresholds are tried.
ENOUGH = np.uint64(8)
TRIES = 8
#: Factor by which each try raises the distance of the threshold from the least reduced cost.
WIDEN = 4.0
#: After this many halvings of that distance, only the columns with the least reduced cost are listed.
MOST_HALVINGS = 30


@kernel
def reduce_row(cost: Numbers, base: np.uint64, price: Numbers, reduced: Numbers) -> None:
    """Write the reduced costs of the row that begins at `base`."""
    for j in range(np.uint64(len(price))):
        reduced[j] = cost[base + j] - price[j]


@kernel
def relax_columns(
    cost: Numbers,
    base: np.uint64,
    height: Number,
    number: float,
    state: SearchState,
    first: np.uint64,
    last: np.uint64,
) -> None:
    """Shorten distances by paths through the row at `base`: its reduced costs minus `height`.

    Where that is shorter, `via` gets ``-number``. Numbers of rows grow, so the minimum of the old and the new
    value is the right one; a conditional store would be a masked store, which is slower.
    """
    price, distance, via = state.price, state.distance, state.via
    for j in range(first, last):
        through = cost[base + j] - price[j] - height
        closer = through < distance[j]
        distance[j] = lowered(distance[j], through)
        via[j] = lowered(via[j], choose(closer, -number, 0.0))


@kernel
def block_minimum(values: Numbers, size: np.uint64, block: Index) -> Number:
    """Return the smallest value of a block; there are `size` values in all."""
    first = block * BLOCK
    smallest = values[first]
    for j in range(first, min(first + BLOCK, size)):
        smallest = smaller(values[j], smallest)
    return smallest


@kernel
def block_minima(values: Numbers, least: Numbers) -> Number:
    """Find the smallest value of each block; return the smallest of all."""
    smallest = values[ZERO]
    for b in range(np.uint64(len(least))):
        least[b] = block_minimum(values, np.uint64(len(values)), b)
        smallest = smaller(least[b], smallest)
    return smallest


@kernel
def column_minima(
    cost: Numbers,
    first_row: np.uint64,
    last_row: np.uint64,
    price: Numbers,
    via: NDArray[np.float64],
    zero: Number,
) -> None:
    """Write the minimum of each column over some rows, and minus the number of the row that has it."""
    num_columns = np.uint64(len(price))
    base = first_row * num_columns
    for j in range(num_columns):
        price[j] = cost[base + j]
        via[j] = -np.float64(first_row)
    for i in range(first_row + ONE, last_row):
        base = i * num_columns
        for j in range(num_columns):
            value = cost[base + j] + zero
            closer = value < price[j]
            price[j] = lowered(price[j], value)
            via[j] = lowered(via[j], choose(closer, -np.float64(i), 0.0))


@kernel
def match_minima(state: SearchState) -> None:
    """Match columns with the rows of their minima, after :func:`column_minima` over all rows."""
    price = state.price
    for j in range(np.uint64(len(price))):
        row = np.uint64(-state.via[j])
        if not price[j] < state.limits.beyond:
            price[j] = 0
        elif state.row_match[row] == NONE:
            state.row_match[row] = j
            state.matched_cost[row] = price[j]
            state.column_match[j] = row


@kernel
def reduce_columns(cost: Numbers, state: SearchState) -> None:
    """Column reduction: set prices to the minima of columns, and match columns with the rows of these."""
    num_rows = np.uint64(len(state.row_match))
    column_minima(cost, ZERO, num_rows, state.price, state.via, state.limits.zero)
    match_minima(state)


@kernel
def list_row(cost: Numbers, lists: Lists, state: SearchState, row: Index, number: np.uint64) -> None:
    """List the columns of `row` with small reduced costs at the current prices."""
    reduced, least, beyond = state.reduced, state.least, state.limits.beyond
    num_columns = np.uint64(len(reduced))
    base = row * num_columns
    reduce_row(cost, base, state.price, reduced)
    smallest = block_minima(reduced, least)
    lists.built[row] = number
    lists.size[row] = ZERO
    lists.bound[row] = beyond
    if not smallest < beyond:
        return
    # Estimate how far the threshold is above the least reduced cost, from the mean over all blocks.
    above = 0.0
    finite = 0
    for b in range(np.uint64(len(least))):
        if least[b] < beyond:
            above += np.float64(least[b] - smallest)
            finite += 1
    above *= np.float64(lists.wanted[row]) * np.float64(BLOCK) / (np.float64(num_columns) * finite)
    # List the columns up to the threshold; try a higher one if they are too few.
    for _ in range(TRIES):
        lists.bound[row] = above  # this rounds if costs are integers
        threshold = smallest + lists.bound[row]
        size, threshold = _list_below(cost, base, lists, reduced, least, row, smallest, threshold)
        lists.size[row] = size
        lists.bound[row] = threshold
        if size >= ENOUGH:
            break
        above *= WIDEN


@kernel
def _list_below(
    cost: Numbers,
    base: np.uint64,
    lists: Lists,
    reduced: Numbers,
    least: Numbers,
    row: Index,
    smallest: Number,
    threshold: Number,
) -> tuple[np.uint64, Number]:
    """List the columns up to a threshold, lowered if they do not fit; return number and threshold."""
    first = lists.first[row]
    room = min(lists.first[row + ONE] - first, TWO * lists.wanted[row])
    num_columns = np.uint64(len(reduced))
    size = ZERO
    halvings = 0
    for b in range(np.uint64(len(least))):
        if least[b] <= threshold:
            for j in range(b * BLOCK, min((b + ONE) * BLOCK, num_columns)):
                if reduced[j] <= threshold:
                    while size == room and smallest < threshold:
                        halvings += 1
                        lists.bound[row] = 0.5 * np.float64(threshold - smallest)
                        threshold = smallest + lists.bound[row] if halvings < MOST_HALVINGS else smallest
                        size = _keep_below(lists, reduced, first, size, threshold)
                    if size == room:
                        return size, threshold
                    if reduced[j] <= threshold:
                        lists.column[first + size] = j
                        lists.cost[first + size] = cost[base + j]
                        size += ONE
    return size, threshold


@kernel
def _keep_below(
    lists: Lists, reduced: Numbers, first: np.uint64, size: np.uint64, threshold: Number
) -> np.uint64:
    """Drop the columns above a threshold from a list; return the number of columns kept."""
    kept = first
    for k in range(first, first + size):
        if reduced[lists.column[k]] <= threshold:
            lists.column[kept] = lists.column[k]
            lists.cost[kept] = lists.cost[k]
            kept += ONE
    return kept - first
