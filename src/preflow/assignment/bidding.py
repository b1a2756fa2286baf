"""Double pushes: a free row takes its best column, whose row is then free and lowers its price.

Goldberg and Kennedy, "An efficient cost scaling algorithm for the assignment problem", Mathematical
Programming 71 (1995): a push from a row to a column and at once one from the column to the row it had, which
needs prices of columns alone. It is what auctions call a bid. Where there are more columns than rows, as many
idle rows as are missing to a square would take any column for nothing; they are alike, so they are kept as a
number, and a heap has the columns that they would take next.

Prices are of costs times `scale`, so that integer prices can differ by less than integer costs do; the state
has them in units of costs, rounded up, for lists of rows. All prices fall only, so no bound of a list fails.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from ..kernels.atomics import relaxed_load
from ..kernels.branch_free import choose
from ..kernels.kernel import kernel
from ..kernels.prefetch import prefetch
from ..stats import ARC_SCANS, PUSHES
from .dense_rows import list_row
from .state import ONE, SOLVED, STOPPED, ZERO, Lists, State

#: How a refine may end beside the endings of :mod:`.state`: after too much work, or with too low a price.
LATE, TOO_LOW = 5, 6
#: Owners of columns that no row has.
NOBODY = np.uint32(2**32 - 1)
IDLE = np.uint32(2**32 - 2)
#: Places of numbers in `left`.
HEAD, WAITING, IDLE_LEFT, HEAP_SIZE = range(4)
#: So many rows ahead in the queue memory is fetched, this many entries in one cache line.
AHEAD = np.uint64(6)
LINE = np.uint64(8)
TWO = np.uint64(2)
#: Bids between two looks at the stop flag.
POLL = np.uint64(1023)


class Bidding(NamedTuple):
    """What bids work on beside lists and prices.

    Attributes
    ----------
    price : ndarray of int64 or float64, shape (m,)
        Of columns, scaled.
    bound : ndarray of the same dtype, shape (n,)
        That of each row's list, scaled.
    owner : ndarray of uint32, shape (m,)
        The row of each column, IDLE or NOBODY.
    queue : ndarray of uint32, shape (n,)
        Free rows, first come first served, in a ring.
    heap : ndarray of uint32, shape (m,)
        Columns that no idle row has, by prices as they were once: the largest first.
    key : ndarray of the dtype of prices, shape (m,)
        These prices, in the order of the heap.
    left : ndarray of uint64, shape (4,)
        Where the queue begins, its length, the number of idle rows without a column, and the heap's size.
    """

    price: NDArray[Any]
    bound: NDArray[Any]
    owner: NDArray[np.uint32]
    queue: NDArray[np.uint32]
    heap: NDArray[np.uint32]
    key: NDArray[Any]
    left: NDArray[np.uint64]


class Prices(NamedTuple):
    """Numbers that bids depend on.

    Attributes
    ----------
    scale : int64 or float64
        Prices are of costs times this; 1 for floats.
    epsilon : int64 or float64
    most : int64 or float64
        No bid lowers a price by more than this, epsilon aside: the range of the costs.
    floor : int64 or float64
        No price of a problem that has a solution is as low.
    beyond : int64 or float64
        More than any reduced cost.
    """

    scale: Any
    epsilon: Any
    most: Any
    floor: Any
    beyond: Any


def make_bidding(num_rows: int, num_columns: int, dtype: Any) -> Bidding:
    """Return zero prices for a matrix of a shape, its rows not yet listed."""
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


def unscaled(price: Any, scale: Any) -> Any:
    """Return a price in units of costs: an integer rounded up, a float as it is."""
    return -((-price) // scale) if isinstance(price, int | np.integer) else price


# Numba compares the signatures of these with that above, annotations aside.
@overload(unscaled)
def _unscaled(price, scale):  # type: ignore[no-untyped-def]
    if isinstance(price, types.Integer):
        return lambda price, scale: -((-price) // scale)
    return lambda price, scale: price


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
            _offer(bidding, j)


@kernel
def _offer(bidding: Bidding, column: Any) -> None:
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
def _sink(bidding: Bidding, price: Any, column: Any) -> None:
    """Put a column in place of the heap's first."""
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
def _highest(bidding: Bidding) -> Any:
    """Bring the column of the highest price to the top of the heap and return it."""
    while True:
        column = np.uint64(bidding.heap[ZERO])
        price = bidding.price[column]
        if not price < bidding.key[ZERO]:
            return column
        _sink(bidding, price, column)


@kernel
def _take(bidding: Bidding) -> Any:
    """Remove the column of the highest price from the heap and return it."""
    column = _highest(bidding)
    left = bidding.left
    left[HEAP_SIZE] -= ONE
    last = left[HEAP_SIZE]
    if last > ZERO:
        _sink(bidding, bidding.key[last], bidding.heap[last])
    return column


@kernel
def _wait(bidding: Bidding, row: Any) -> None:
    """Put a row at the end of the queue."""
    place = bidding.left[HEAD] + bidding.left[WAITING]
    size = np.uint64(len(bidding.queue))
    bidding.queue[place - size if place >= size else place] = row
    bidding.left[WAITING] += ONE


@kernel
def lower(state: State, bidding: Bidding, prices: Prices, column: Any, price: Any) -> bool:
    """Set the price of a column; return whether it is one that a solution can have."""
    fits = price < bidding.price[column] and price > prices.floor
    bidding.price[column] = price
    state.price[column] = unscaled(price, prices.scale)
    return fits


@kernel
def bid_for_idle(state: State, bidding: Bidding, prices: Prices) -> bool:
    """Give an idle row the column of the highest price; return whether the price is one that can be."""
    column = _take(bidding)
    owner = bidding.owner[column]
    bidding.owner[column] = IDLE
    bidding.left[IDLE_LEFT] -= ONE
    if owner == NOBODY:
        return True
    _wait(bidding, owner)
    second = bidding.price[_highest(bidding)] if bidding.left[HEAP_SIZE] > ZERO else bidding.price[column]
    return lower(state, bidding, prices, column, second - prices.epsilon)


@kernel
def best_listed(lists: Lists, bidding: Bidding, prices: Prices, row: Any) -> tuple[Any, Any, Any]:
    """Return the least reduced cost that a row's list has, the second, and the place of the first."""
    best, second = prices.beyond, prices.beyond
    first = lists.first[row]
    place = first
    for k in range(first, first + lists.size[row]):
        value = lists.cost[k] * prices.scale - bidding.price[np.uint64(lists.column[k])]
        less = value < best
        second = choose(value < second, choose(less, best, value), second)
        place = choose(less, k, place)
        best = choose(less, value, best)
    return best, second, place


@kernel
def best_of_row(cost: Any, bidding: Bidding, prices: Prices, row: Any) -> tuple[Any, Any, Any]:
    """Return the least reduced cost of a row of a matrix, the second, and the column of the first."""
    best, second = prices.beyond, prices.beyond
    num_columns = np.uint64(len(bidding.price))
    column = ZERO
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
def bid(cost: Any, lists: Lists, state: State, bidding: Bidding, prices: Prices, row: Any) -> tuple[Any, bool]:
    """Give a row its best column; return the edges looked at, and whether the price is one that can be."""
    best, second, place = best_listed(lists, bidding, prices, row)
    scans = lists.size[row]
    if second > bidding.bound[row]:
        list_row(cost, lists, state, row, ZERO)
        listed = lists.bound[row] < state.limits.beyond
        bidding.bound[row] = lists.bound[row] * prices.scale if listed else prices.beyond
        best, second, place = best_listed(lists, bidding, prices, row)
        scans += lists.size[row] + np.uint64(len(bidding.price))
        second = min(second, bidding.bound[row])
    if not best < prices.beyond:
        return scans, False
    column = np.uint64(lists.column[place])
    if best > bidding.bound[row]:  # more columns cost the same, but for the rounding, than the list holds
        best, second, column = best_of_row(cost, bidding, prices, row)
        scans += np.uint64(len(bidding.price))
    owner = bidding.owner[column]
    if owner == IDLE:
        bidding.left[IDLE_LEFT] += ONE
        _offer(bidding, column)
    elif owner != NOBODY:
        _wait(bidding, owner)
    bidding.owner[column] = row
    price = bidding.price[column] - min(second - best, prices.most) - prices.epsilon
    return scans, lower(state, bidding, prices, column, price)


@kernel
def refine(
    cost: Any,
    lists: Lists,
    state: State,
    bidding: Bidding,
    prices: Prices,
    budget: Any,
    stop: Any,
    counts: Any,
) -> tuple[Any, Any]:
    """Match all rows within epsilon of the best, unless `budget` bids do not suffice.

    Returns
    -------
    ending : int
        SOLVED, STOPPED, LATE or TOO_LOW.
    bids : uint64
    """
    queue, left = bidding.queue, bidding.left
    size = np.uint64(len(queue))
    bids = ZERO
    while True:
        if bids & POLL == ZERO and relaxed_load(stop, 0) != 0:
            return STOPPED, bids
        if bids >= budget:
            return LATE, bids
        bids += ONE
        counts[PUSHES] += ONE
        if left[WAITING] == ZERO:
            if left[IDLE_LEFT] == ZERO:
                return SOLVED, bids
            if not bid_for_idle(state, bidding, prices):
                return TOO_LOW, bids
            continue
        row = np.uint64(queue[left[HEAD]])
        ahead = left[HEAD] + AHEAD
        if ahead < size:
            next_row = np.uint64(queue[ahead])
            place = lists.first[next_row]
            prefetch(lists.column, place)
            prefetch(lists.column, place + TWO * LINE)
            prefetch(lists.cost, place)
            prefetch(lists.cost, place + LINE)
            prefetch(lists.cost, place + TWO * LINE)
        left[HEAD] += ONE
        if left[HEAD] == size:
            left[HEAD] = ZERO
        left[WAITING] -= ONE
        scans, fits = bid(cost, lists, state, bidding, prices, row)
        counts[ARC_SCANS] += scans
        if not fits:
            return TOO_LOW, bids
