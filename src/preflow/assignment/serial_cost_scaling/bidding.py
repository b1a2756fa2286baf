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
from numpy.typing import NDArray

from ...kernels.atomics import prefetch, relaxed_load
from ...kernels.branch_free import choose
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.kernel import kernel, numba_overloads
from ...solving.monitor import Monitor
from ...stats import ARC_SCANS, PUSHES
from ..dense_rows import list_row
from ..push_relabel import LATE, TOO_LOW
from ..search_state import Lists, State
from ..solution import SOLVED, STOPPED

#: Owners of columns that no row has.
NOBODY = np.uint32(2**32 - 1)
IDLE = np.uint32(2**32 - 2)
#: Places of numbers in `left`.
HEAD, WAITING, IDLE_LEFT, HEAP_SIZE = range(4)
#: So many rows ahead in the queue memory is fetched, this many entries in one cache line.
AHEAD = np.uint64(6)
LINE = np.uint64(8)
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
def offer(bidding: Bidding, column: Any) -> None:
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
def bid_for_idle(bidding: Bidding, prices: Prices) -> tuple[Any, Any]:
    """Choose the column of the highest price for an idle row; return it and its new price."""
    column = _take(bidding)
    price = bidding.price[column]
    if bidding.owner[column] == NOBODY:
        return column, price
    second = bidding.price[_highest(bidding)] if bidding.left[HEAP_SIZE] > ZERO else price
    return column, second - prices.epsilon


@kernel
def two_best(first: Any, last: Any, cost: Any, column: Any, price: Any, scale: Any, beyond: Any) -> Any:
    """Return the least reduced cost of some edges, the second, and the place of the first."""
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
def best_of_row(cost: Any, bidding: Bidding, prices: Prices, row: Any) -> tuple[Any, Any, Any]:
    """Return the least reduced cost of a row of a matrix, the second, and the column of the first."""
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
    cost: Any, lists: Lists, state: State, bidding: Bidding, prices: Prices, row: Any
) -> tuple[Any, Any, Any]:
    """List a row again; return its least reduced cost, the second and the column of the first."""
    list_row(cost, lists, state, row, ZERO)
    listed = lists.bound[row] < state.limits.beyond
    bidding.bound[row] = lists.bound[row] * prices.scale if listed else prices.beyond
    first = lists.first[row]
    best, second, place = two_best(
        first, first + lists.size[row], lists.cost, lists.column, bidding.price, prices.scale, prices.beyond
    )
    if best > bidding.bound[row]:  # more columns cost the same, but for the rounding, than the list holds
        return best_of_row(cost, bidding, prices, row)
    return best, min(second, bidding.bound[row]), np.uint64(lists.column[place])


@kernel
def refine(
    cost: Any,
    lists: Lists,
    state: State,
    bidding: Bidding,
    prices: Prices,
    budget: Any,
    monitor: Monitor,
) -> tuple[Any, Any]:
    """Match all rows within epsilon of the best, unless `budget` bids do not suffice.

    Returns
    -------
    ending : int
        SOLVED, STOPPED, LATE or TOO_LOW.
    bids : uint64
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
            idle -= ONE
            j, lowered_to = bid_for_idle(bidding, prices)
            owner = owners[j]
            owners[j] = IDLE
        else:
            row = np.uint64(queue[head])
            ahead = head + AHEAD
            if ahead < size:
                place = first[np.uint64(queue[ahead])]
                prefetch(column, place)
                prefetch(column, place + TWO * LINE)
                prefetch(listed_cost, place)
                prefetch(listed_cost, place + LINE)
                prefetch(listed_cost, place + TWO * LINE)
            head = head + ONE if head + ONE < size else ZERO
            waiting -= ONE
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
            owner = owners[j]
            if owner == IDLE:
                idle += ONE
                offer(bidding, j)
            owners[j] = row
            lowered_to = price[j] - min(second - best, most) - epsilon
        if owner < IDLE:
            place = head + waiting
            queue[place - size if place >= size else place] = owner
            waiting += ONE
        elif owner == NOBODY and lowered_to == price[j]:
            continue
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
