"""A refine by double pushes, which are bids: a free row takes its best column and displaces the column's row.

Goldberg and Kennedy, "An efficient cost scaling algorithm for the assignment problem", Mathematical
Programming 71 (1995).

Definitions. A *double push* is a push from a row to a column, and at once a push from the column to the row
that had it. It needs prices of columns only, and is what auctions call a *bid*. If there are more columns
than rows, *idle rows* make up for the difference: they may have any column at cost 0. All idle rows are
alike, so they are stored as a number. A heap has the columns that they would take next, those with the
largest prices.

Prices are for costs times `scale`, so that integer prices can differ by less than integer costs do. The state
has them in units of costs, rounded up, for the lists of rows.

Invariants:

- The reduced cost of each row's column exceeds the row's least one by at most epsilon.
- Prices only fall, so the bounds of lists stay valid, and a key in the heap is at least the column's price.

::

    take all columns from all rows                                         free_all
    while a row is free:                                                   refine
        take the next free row, or an idle row if only these are left
        find its best and second best column                               two_best, bid_for_idle
            if the second best may not be listed: list the row again       list_and_choose
        take the column; its former row is free
        lower the column's price until the second best column is better by epsilon
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...arrays import AnyArray, Index, Indices, Int64, Number, Numbers
from ...kernels.atomics import prefetch, relaxed_load
from ...kernels.branch_free import choose
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.kernel import kernel
from ...kernels.overloads import numba_overloads
from ...solving.monitor import Monitor
from ...stats import ARC_SCANS, PUSHES
from ..dense_rows import list_row
from ..push_relabel import LATE, TOO_LOW
from ..search_state import Lists, SearchState
from ..solution import SOLVED, STOPPED

#: Owners of columns that no row of the matrix has: no row at all, or an idle row.
NOBODY = np.uint32(2**32 - 1)
IDLE = np.uint32(2**32 - 2)
#: Positions in `left`.
HEAD, WAITING, IDLE_LEFT, HEAP_SIZE = range(4)
#: The list of the row AHEAD places behind in the queue is prefetched; LINE entries fill a cache line. From
#: FAR columns on, the prices of the columns in the list of the row half as far behind are, too: prices of
#: fewer columns are in the second cache, and prefetches would take a third longer.
AHEAD = np.uint64(16)
LINE = np.uint64(8)
FAR = np.uint64(1 << 18)
#: Bids between two reads of the stop flag.
POLL = np.uint64(1023)


class Bidding(NamedTuple):
    """State of bidding, besides the lists."""

    price: Numbers  #: int64 or float64, shape (m,): the scaled prices of columns
    bound: Numbers  #: the same dtype, shape (n,): the scaled bound of each row's list
    owner: NDArray[np.uint32]  #: shape (m,): the row of each column, or IDLE, or NOBODY
    queue: NDArray[np.uint32]  #: shape (n,): a ring of free rows, first come first served
    #: shape (m,): a heap of columns that no idle row has, the largest key first
    heap: NDArray[np.uint32]
    #: the dtype of prices, shape (m,): their prices at an earlier time, in the order of the heap
    key: Numbers
    #: shape (4,): the start of the queue, its length, the number of idle rows without a column, and the
    #: heap's size
    left: NDArray[np.uint64]


class Prices(NamedTuple):
    """Parameters of a refine."""

    scale: Number  #: int64 or float64: the factor of costs; 1 for floats
    epsilon: Number  #: int64 or float64
    #: int64 or float64: the range of the costs: a bid lowers a price by at most this plus epsilon
    most: Number
    floor: Number  #: int64 or float64: in a feasible problem no price falls to this
    beyond: Number  #: int64 or float64: a number above all reduced costs


def make_bidding(num_rows: int, num_columns: int, dtype: DTypeLike) -> Bidding:
    """Return the state for a matrix of a shape, with prices 0 and without lists."""
    lowest = -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
    idle = num_columns if num_columns > num_rows else 0
    return Bidding(
        price=np.zeros(num_columns, dtype=dtype),
        bound=np.full(num_rows, lowest, dtype=dtype),
        owner=np.full(num_columns, NOBODY, dtype=np.uint32),
        queue=np.zeros(num_rows, dtype=np.uint32),
        heap=np.zeros(idle, dtype=np.uint32),
        key=np.zeros(idle, dtype=dtype),
        left=np.zeros(4, dtype=np.uint64),
    )


def unscaled(price: AnyArray, scale: Number) -> Number:
    """Return a price in units of costs: an integer rounded up, a float as it is."""
    return -((-price) // scale) if isinstance(price, int | np.integer) else price


numba_overloads(__name__)


@kernel
def free_all(bidding: Bidding) -> None:
    """Take all columns from all rows."""
    owner, queue, left = bidding.owner, bidding.queue, bidding.left
    num_rows, num_columns = np.uint64(len(queue)), np.uint64(len(owner))
    for j in range(num_columns):
        owner[j] = NOBODY
    for i in range(num_rows):
        queue[i] = i
    left[HEAD] = left[HEAP_SIZE] = ZERO
    left[WAITING] = num_rows
    left[IDLE_LEFT] = num_columns - num_rows
    if num_columns > num_rows:
        for j in range(num_columns):
            offer(bidding, j)


@kernel
def offer(bidding: Bidding, column: Index) -> None:
    """Put a column into the heap."""
    heap, key, left = bidding.heap, bidding.key, bidding.left
    price = bidding.price[column]
    hole = left[HEAP_SIZE]
    left[HEAP_SIZE] += ONE
    while hole > ZERO:
        above = (hole - ONE) // TWO
        if not key[above] < price:
            break
        key[hole], heap[hole] = key[above], heap[above]
        hole = above
    key[hole], heap[hole] = price, column


@kernel
def _sink(bidding: Bidding, price: Number, column: Number) -> None:
    """Replace the first column of the heap, and restore the heap."""
    heap, key = bidding.heap, bidding.key
    size = bidding.left[HEAP_SIZE]
    hole = ZERO
    while True:
        below = TWO * hole + ONE
        if below >= size:
            break
        if below + ONE < size and key[below + ONE] > key[below]:
            below += ONE
        if not key[below] > price:
            break
        key[hole], heap[hole] = key[below], heap[below]
        hole = below
    key[hole], heap[hole] = price, column


@kernel
def _highest(bidding: Bidding) -> np.uint64:
    """Bring the column of the highest price to the top of the heap and return it."""
    while True:
        column = np.uint64(bidding.heap[ZERO])
        price = bidding.price[column]
        if not price < bidding.key[ZERO]:
            return column
        _sink(bidding, price, column)


@kernel
def _take(bidding: Bidding) -> np.uint64:
    """Remove the column of the highest price from the heap and return it."""
    column = _highest(bidding)
    left = bidding.left
    left[HEAP_SIZE] -= ONE
    last = left[HEAP_SIZE]
    if last > ZERO:
        _sink(bidding, bidding.key[last], bidding.heap[last])
    return column


@kernel
def bid_for_idle(bidding: Bidding, prices: Prices) -> tuple[np.uint64, Number]:
    """Choose the column with the highest price for an idle row; return the column and its new price."""
    column = _take(bidding)
    price = bidding.price[column]
    if bidding.owner[column] == NOBODY:
        return column, price
    second = bidding.price[_highest(bidding)] if bidding.left[HEAP_SIZE] > ZERO else price
    return column, second - prices.epsilon


@kernel
def two_best(
    first: np.uint64,
    last: np.uint64,
    cost: Numbers,
    column: Indices,
    price: Numbers,
    scale: Number,
    beyond: Number,
) -> tuple[Number, Number, np.uint64]:
    """Return the least reduced cost of listed pairs, the second least, and the place of the least."""
    best, second = beyond, beyond
    place = first
    for k in range(first, last):
        value = cost[k] * scale - price[np.uint64(column[k])]
        less = value < best
        second = choose(value < second, choose(less, best, value), second)
        place = choose(less, k, place)
        best = choose(less, value, best)
    return best, second, place


@kernel
def best_of_row(
    cost: Numbers, bidding: Bidding, prices: Prices, row: np.uint64
) -> tuple[Number, Number, np.uint64]:
    """Return the least reduced cost of a whole row, the second least, and the column of the least."""
    best, second = prices.beyond, prices.beyond
    num_columns = np.uint64(len(bidding.price))
    column: Any = ZERO
    for j in range(num_columns):
        entry = cost[row * num_columns + j]
        if entry < prices.beyond:
            value = entry * prices.scale - bidding.price[j]
            if value < second:
                if value < best:
                    best, second = value, best
                    column = j
                else:
                    second = value
    return best, second, column


@kernel
def list_and_choose(
    cost: Numbers, lists: Lists, state: SearchState, bidding: Bidding, prices: Prices, row: np.uint64
) -> tuple[Number, Number, np.uint64]:
    """List a row again; return its least reduced cost, the second least, and the column of the least."""
    list_row(cost, lists, state, row, ZERO)
    listed = lists.bound[row] < state.limits.beyond
    bidding.bound[row] = lists.bound[row] * prices.scale if listed else prices.beyond
    first = lists.first[row]
    best, second, place = two_best(
        first, first + lists.size[row], lists.cost, lists.column, bidding.price, prices.scale, prices.beyond
    )
    if best > bidding.bound[row]:  # more columns cost the same, up to rounding, than the list holds
        return best_of_row(cost, bidding, prices, row)
    return best, min(second, bidding.bound[row]), np.uint64(lists.column[place])


@kernel
def refine(
    cost: Numbers,
    lists: Lists,
    state: SearchState,
    bidding: Bidding,
    prices: Prices,
    budget: np.uint64,
    monitor: Monitor,
) -> tuple[Int64, np.uint64]:
    """Match all rows within epsilon of their best columns, with at most `budget` bids.

    Return SOLVED, STOPPED, LATE or TOO_LOW, and the number of bids.
    """
    queue, left, owners, price, bound = (
        bidding.queue,
        bidding.left,
        bidding.owner,
        bidding.price,
        bidding.bound,
    )
    first, sizes, column, listed_cost = lists.first, lists.size, lists.column, lists.cost
    scale, epsilon, most, floor, beyond = prices
    dense = len(cost) > 0
    size, num_columns = np.uint64(len(queue)), np.uint64(len(price))
    head, waiting, idle = left[HEAD], left[WAITING], left[IDLE_LEFT]
    bids = scans = ZERO
    ending = LATE
    while bids < budget:
        if bids & POLL == ZERO and relaxed_load(monitor.stop, 0) != 0:
            ending = STOPPED
            break
        if waiting == ZERO and idle == ZERO:
            ending = SOLVED
            break
        bids += ONE
        if waiting == ZERO:
            # Let an idle row bid.
            idle -= ONE
            j, lowered_to = bid_for_idle(bidding, prices)
            owner = owners[j]
            owners[j] = IDLE
        else:
            # Take the next free row, and prefetch the list of a later one, and the prices of another.
            row = np.uint64(queue[head])
            ahead = head + AHEAD
            if ahead < size:
                place = first[np.uint64(queue[ahead])]
                prefetch(column, place)
                prefetch(column, place + TWO * LINE)
                prefetch(listed_cost, place)
                prefetch(listed_cost, place + LINE)
                prefetch(listed_cost, place + TWO * LINE)
                if num_columns >= FAR:
                    later = np.uint64(queue[ahead - AHEAD // TWO])
                    for k in range(first[later], first[later] + min(sizes[later], LINE)):
                        prefetch(price, np.uint64(column[k]))
            head = head + ONE if head + ONE < size else ZERO
            waiting -= ONE
            # Find its best and second best column.
            begin, end = first[row], first[row] + sizes[row]
            scans += end - begin
            best, second, place = two_best(begin, end, listed_cost, column, price, scale, beyond)
            if second > bound[row]:
                best, second, j = list_and_choose(cost, lists, state, bidding, prices, row)
                scans += num_columns
            elif best < beyond:
                j = np.uint64(column[place])
            if not best < beyond:
                ending = TOO_LOW
                break
            # Take the column.
            owner = owners[j]
            if owner == IDLE:
                idle += ONE
                offer(bidding, j)
            owners[j] = row
            lowered_to = price[j] - min(second - best, most) - epsilon
        # The former row is free now.
        if owner < IDLE:
            place = head + waiting
            queue[place - size if place >= size else place] = owner
            waiting += ONE
        elif owner == NOBODY and lowered_to == price[j]:
            continue
        # Lower the price.
        if not (lowered_to < price[j] and lowered_to > floor):
            ending = TOO_LOW
            break
        price[j] = lowered_to
        if dense:
            state.price[j] = unscaled(lowered_to, scale)
    left[HEAD], left[WAITING], left[IDLE_LEFT] = head, waiting, idle
    monitor.counts[PUSHES] += bids
    monitor.counts[ARC_SCANS] += scans
    return ending, bids
