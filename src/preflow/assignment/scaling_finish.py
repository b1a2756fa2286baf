"""The end of every cost scaling: turn prices near the optimum into an assignment that its prices prove.

Definitions. A row is *content* if its column has the row's least reduced cost.

Invariant. Prices only fall, so the bounds of lists stay valid.

::

    set prices and pairs                                                   load
    lower the prices of better columns until all rows are content          lower_prices
        (the method of Bellman and Ford), within a budget
    free the rows that are not content                                     release_rows
    match free rows along shortest augmenting paths                        augment_rows

If the pairs are optimal, lowering prices suffices. If there are more columns than rows and a row was freed,
or integers do not have enough bits, the item is solved from scratch by shortest paths (:func:`from_scratch`).
That is no attempt of a plan: the other items of the batch keep their answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Index, Int64, Number, Numbers
from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.run import Control
from ..stats import ARC_SCANS
from .augmenting_paths import augment_rows, list_free_rows
from .dense_rows import list_row
from .row_reduction import two_best
from .search_state import NONE, Lists, SearchState
from .shortest_paths import ShortestPathOptions, solve_costs
from .solution import OVERFLOW, STOPPED, Solution

#: The budget of lowering prices: rows read, per row.
LOOKS = np.uint64(16)
#: Rounding error of reduced costs of floats, in units of machine epsilon.
ROUNDINGS = 4.0
#: Reading this many prices costs as much as reading one row.
SHARE = np.uint64(32)
#: The remark on a solve from scratch.
FROM_SCRATCH = "prices proved too little: shortest paths from scratch"
#: Rows between two reads of the stop flag.
POLL = np.uint64(1023)


class Repair(NamedTuple):
    """State of lowering prices."""

    queue: NDArray[np.uint32]  #: shape (n,): a ring of rows that may not be content
    queued: NDArray[np.uint8]  #: shape (n,): whether a row is in the queue
    #: int64 or float64: the largest rounding error of reduced costs, relative to costs and prices
    rounding: Number


def make_repair(num_rows: int, dtype: Any) -> Repair:
    """Return an empty queue for `num_rows` rows, and the rounding error of a dtype (int64 or float64)."""
    rounding = dtype(0) if dtype is np.int64 else dtype(ROUNDINGS * np.finfo(dtype).eps)
    return Repair(np.zeros(num_rows, dtype=np.uint32), np.zeros(num_rows, dtype=np.uint8), rounding)


def rounded(price: Array, scale: int) -> Array:
    """Return integer prices in units of costs, given prices for costs times `scale`.

    Prices are rounded so that the cut between rounding down and up lies at the least frequent remainder. If
    there are fewer columns than `scale`, no price has that remainder. Then, if the flow is 1-optimal, every
    pair of the flow stays the best of its row.
    """
    remainders = np.bincount(price % scale, minlength=scale)
    least = int(remainders.argmin())
    found: Array = (price + (scale - 1 - least)) // scale
    return found


def load(state: SearchState, lists: Lists, price: Array, owner: NDArray[np.int64]) -> None:
    """Set prices, and the row of each column, -1 for none. No price may exceed that of the row lists.

    Prices are shifted so that the largest is 0. With more columns than rows, prices are first cut off at the
    least price of a column without a row, since such a column must have the largest price.
    """
    state.price[:] = price
    if len(state.row_match) < len(state.column_match):
        np.minimum(state.price, price[owner < 0].min(), out=state.price)
    top = state.price.max()
    np.subtract(state.price, top, out=state.price)
    np.add(lists.bound, top, out=lists.bound, where=lists.bound < state.limits.beyond)
    taken = np.flatnonzero(owner >= 0)
    state.column_match[:] = NONE
    state.row_match[:] = NONE
    state.column_match[taken] = owner[taken]
    state.row_match[owner[taken]] = taken


@kernel
def _cost_of_pair(cost: Numbers, lists: Lists, state: SearchState, row: Index, column: np.uint64) -> Number:
    """Return the cost of a pair."""
    if len(cost) > 0:
        return cost[row * np.uint64(len(state.price)) + column] + state.limits.zero
    found = state.limits.beyond
    for k in range(lists.first[row], lists.first[row] + lists.size[row]):
        if np.uint64(lists.column[k]) == column:
            found = lists.cost[k]
    return found


@kernel
def _enqueue(repair: Repair, row: np.uint64, head: np.uint64, size: np.uint64) -> np.uint64:
    """Put a row into the queue, unless it is queued; return the queue's length."""
    if repair.queued[row] != 0:
        return size
    repair.queued[row] = 1
    place, num_rows = head + size, np.uint64(len(repair.queue))
    repair.queue[place - num_rows if place >= num_rows else place] = row
    return size + ONE


@kernel
def _lower_all(
    state: SearchState, repair: Repair, most: Number, head: np.uint64, size: np.uint64
) -> np.uint64:
    """Cut prices off at `most`, the new price of columns without a row; return the queue's length."""
    for j in range(np.uint64(len(state.price))):
        if state.price[j] > most:
            state.price[j] = most
            if state.column_match[j] != NONE:
                size = _enqueue(repair, state.column_match[j], head, size)
    return size


@kernel
def _make_best(
    lists: Lists,
    state: SearchState,
    repair: Repair,
    slack: Number,
    row: np.uint64,
    head: np.uint64,
    size: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Make a row content: lower the prices of its better listed columns, and enqueue their rows.

    Returns the new length of the queue and the number of other prices that were read.
    """
    price = state.price
    own = state.matched_cost[row] - price[state.row_match[row]]
    looked = ZERO
    for k in range(lists.first[row], lists.first[row] + lists.size[row]):
        j = np.uint64(lists.column[k])
        if lists.cost[k] - price[j] < own - slack:
            other = state.column_match[j]
            if other == NONE:
                size = _lower_all(state, repair, lists.cost[k] - own, head, size)
                looked += np.uint64(len(price))
            else:
                price[j] = lists.cost[k] - own
                size = _enqueue(repair, other, head, size)
    return size, looked


@kernel
def _ensure_listed(cost: Numbers, lists: Lists, state: SearchState, row: Index, own: Number) -> Number:
    """List a row again if its list may lack columns better than `own`; return the number of costs read."""
    if not own > lists.bound[row]:
        return lists.size[row]
    list_row(cost, lists, state, row, ZERO)
    return lists.size[row] + np.uint64(len(state.price))


@kernel
def lower_prices(cost: Numbers, lists: Lists, state: SearchState, repair: Repair, monitor: Monitor) -> Number:
    """Make rows content by lower prices alone, within a budget; return the rounding error allowed.

    It also ends if a price is too low for 64 bits.
    """
    queue = repair.queue
    num_rows = np.uint64(len(queue))
    head = size = ZERO
    largest = state.limits.zero
    for i in range(num_rows):
        repair.queued[i] = 0
        if state.row_match[i] != NONE:
            state.matched_cost[i] = _cost_of_pair(cost, lists, state, i, state.row_match[i])
            largest = max(largest, abs(state.matched_cost[i]), abs(state.price[state.row_match[i]]))
            queue[size] = i
            repair.queued[i] = 1
            size += ONE
    slack = repair.rounding * largest
    looks = LOOKS * num_rows
    while size > ZERO and looks > ZERO:
        looks -= ONE
        if looks & POLL == ZERO and relaxed_load(monitor.stop, 0) != 0:
            break
        row = np.uint64(queue[head])
        head = head + ONE if head + ONE < num_rows else ZERO
        size -= ONE
        repair.queued[row] = 0
        if state.row_match[row] == NONE:
            continue
        own_price = state.price[state.row_match[row]]
        if own_price < -state.limits.far:
            break
        own = state.matched_cost[row] - own_price
        monitor.counts[ARC_SCANS] += _ensure_listed(cost, lists, state, row, own)
        size, looked = _make_best(lists, state, repair, slack, row, head, size)
        looks -= min(looks, looked // SHARE)
    return slack


@kernel
def release_rows(cost: Numbers, lists: Lists, state: SearchState, slack: Number) -> np.uint64:
    """Free the rows that are not content; return their number."""
    freed = ZERO
    for i in range(np.uint64(len(state.row_match))):
        j = state.row_match[i]
        if j == NONE:
            continue
        own = state.matched_cost[i] - state.price[j]
        _ensure_listed(cost, lists, state, i, own)
        best = two_best(lists, state.price, i, state.limits.beyond)[0]
        if own - slack > best or own - slack > lists.bound[i]:
            state.row_match[i] = state.column_match[j] = NONE
            freed += ONE
    return freed


@kernel
def finish(
    cost: Numbers, lists: Lists, state: SearchState, repair: Repair, monitor: Monitor
) -> tuple[Int64, np.uint64, np.uint64]:
    """Make all rows content by lower prices, then by shortest augmenting paths.

    Return as :func:`.augmenting_paths.augment_rows`. The ending is OVERFLOW if prices are too low for
    integers, or if a row was freed and there are more columns than rows: its column may be left over and
    would need the largest price, but no step raises a price.
    """
    slack = lower_prices(cost, lists, state, repair, monitor)
    if relaxed_load(monitor.stop, 0) != 0:
        return STOPPED, ZERO, ZERO
    for j in range(np.uint64(len(state.price))):
        if state.price[j] < -state.limits.far:
            return OVERFLOW, ZERO, ZERO
    freed = release_rows(cost, lists, state, slack)
    if freed > ZERO and len(state.row_match) < len(state.column_match):
        return OVERFLOW, ZERO, ZERO
    size = list_free_rows(state)
    monitor.progress[0] = np.float64(size)
    return augment_rows(cost, lists, state, True, size, monitor)


def largest_sizes(costs: DenseCosts | SparseCosts) -> NDArray[np.float64] | None:
    """Return the largest finite absolute cost of each item, 0 if it has none; None for integers."""
    if costs.dtype.kind == "i":
        return None
    values = costs.values.reshape(costs.shape[0], -1)
    least, most = values.min(axis=1, initial=np.inf), values.max(axis=1, initial=-np.inf)
    if np.inf in most:
        most = values.max(axis=1, initial=-np.inf, where=np.isfinite(values))
    size: NDArray[np.float64] = np.maximum(-least, most).astype(np.float64)
    return np.where(np.isfinite(size), size, 0.0)


def note_largest(solution: Solution, item: int, state: SearchState) -> None:
    """Raise `Solution.largest` of an item to the largest absolute price that its finish starts from."""
    if solution.largest is not None:
        size = float(np.abs(state.price).max(initial=0.0))
        solution.largest[item] = max(solution.largest[item], size)


def from_scratch(costs: DenseCosts | SparseCosts, solution: Solution, item: int, control: Control) -> int:
    """Solve an item again by shortest paths from prices 0, and add a remark; return the ending."""
    if FROM_SCRATCH not in control.remarks:
        control.remarks.append(FROM_SCRATCH)
    found = solve_costs(costs, ShortestPathOptions(), control)
    solution.match[item], solution.u[item], solution.v[item] = found.match[0], found.u[0], found.v[0]
    return int(found.ending[0])
