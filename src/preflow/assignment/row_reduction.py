"""Augmenting row reduction: free rows take their best columns, and displace the rows that had them.

Jonker and Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
Computing 38 (1987).

Definitions. The *best* column of a row has its least reduced cost, the *second best* the next one. For
columns that a row does not list, the bound of the list counts instead.

Invariant. The column of each matched row has the row's least reduced cost.

::

    for each free row, within the budget:
        find its best and second best listed columns                       two_best
        if the second may not be listed: list the row again
        if the best is taken and the second costs the same: use the second
        if the column is taken and its price cannot fall: leave the row free
        lower the price of the column until the second best is as good
        match the row; the row that had the column comes next

Departures: rows read their lists only (:mod:`.dense_rows`). A row whose best two columns cost the same goes
on only if one of them is free. The work is limited: if rows outbid each other by small amounts, as with
distances of points, unlimited row reduction takes longer than the rest of the solve.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Index, Number, Numbers
from ..kernels.branch_free import smaller
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .dense_rows import list_row
from .search_state import NONE, Lists, SearchState


@kernel
def two_best(
    lists: Lists, price: Numbers, row: Index, beyond: Number
) -> tuple[Number, np.uint64, Number, np.uint64]:
    """Return the least two reduced costs of a row's list, each with its place in the list."""
    best, second = beyond, beyond
    j: Any = NONE
    other: Any = NONE
    first = lists.first[row]
    for k in range(first, first + lists.size[row]):
        column = np.uint64(lists.column[k])
        value = lists.cost[k] - price[column]
        if value < second:
            if value < best:
                second, other = best, j
                best, j = value, k
            else:
                second, other = value, k
    return best, j, second, other


@kernel
def reduce_rows(
    cost: Numbers, lists: Lists, state: SearchState, size: np.uint64, budget: np.uint64
) -> tuple[np.uint64, np.uint64, bool]:
    """Match free rows with their best columns, and lower the prices until the second best are as good.

    Return the number of rows left in `free`, the number of costs read, and whether all prices are within the
    limits of 64 bits.
    """
    price, free, beyond = state.price, state.free, state.limits.beyond
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
        # Find the best and the second best column.
        scans += lists.size[i]
        best, place, second, place_2 = two_best(lists, price, i, beyond)
        if second > lists.bound[i]:
            list_row(cost, lists, state, i, ZERO)
            scans += np.uint64(len(price))
            best, place, second, place_2 = two_best(lists, price, i, beyond)
            if second >= lists.bound[i]:
                second = lists.bound[i]
        bounded = second < beyond
        # If they cost the same and the best is taken, use the second.
        taken = place != NONE and state.column_match[lists.column[place]] != NONE
        if taken and best == second and place_2 != NONE:
            place = place_2
            taken = state.column_match[lists.column[place]] != NONE
        if place == NONE or (taken and not (bounded and best < second)):
            free[left] = i
            left += ONE
            continue
        # Lower the price and match; the displaced row comes next.
        j = np.uint64(lists.column[place])
        other = state.column_match[j]
        if bounded and best < second:
            price[j] -= second - best
            if price[j] < -2 * state.limits.far:
                return left, scans, False
        state.row_match[i] = j
        state.matched_cost[i] = lists.cost[place]
        state.column_match[j] = i
        if other != NONE:
            state.row_match[other] = NONE
            k -= ONE
            free[k] = other
    return left, scans, True


@kernel
def _two_best_of_all(cost: Numbers, base: np.uint64, state: SearchState) -> tuple[Number, np.uint64, Number]:
    """Return the least reduced cost of the row at `base`, its column, and the second least."""
    price, reduced, beyond = state.price, state.reduced, state.limits.beyond
    num_columns = np.uint64(len(price))
    best = beyond
    for j in range(num_columns):
        reduced[j] = cost[base + j] - price[j]
        best = smaller(reduced[j], best)
    place = ZERO
    while place + ONE < num_columns and reduced[place] != best:
        place += ONE
    reduced[place] = beyond
    second = beyond
    for j in range(num_columns):
        second = smaller(reduced[j], second)
    return best, place, second


@kernel
def reduce_whole_rows(
    cost: Numbers, state: SearchState, size: np.uint64, budget: np.uint64
) -> tuple[np.uint64, np.uint64, bool]:
    """Do as :func:`reduce_rows`, but read whole rows instead of lists."""
    price, free, beyond = state.price, state.free, state.limits.beyond
    num_columns = np.uint64(len(price))
    scans, left, k = ZERO, ZERO, ZERO
    while k < size:
        i = free[k]
        k += ONE
        if scans >= budget:
            free[left] = i
            left += ONE
            continue
        scans += num_columns
        base = i * num_columns
        best, j, second = _two_best_of_all(cost, base, state)
        other = state.column_match[j]
        lowers = second < beyond and best < second
        if not best < beyond or (other != NONE and not lowers):
            free[left] = i
            left += ONE
            continue
        if lowers:
            price[j] -= second - best
            if price[j] < -2 * state.limits.far:
                return left, scans, False
        state.row_match[i] = j
        state.matched_cost[i] = cost[base + j]
        state.column_match[j] = i
        if other != NONE:
            state.row_match[other] = NONE
            k -= ONE
            free[k] = other
    return left, scans, True
