"""Augmenting row reduction: free rows take the columns that are best for them, and push others out.

Jonker and Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
Computing 38 (1987). Departures: only listed columns are looked at (:mod:`.dense_rows`), a row whose best
columns cost the same goes on only where one of them is free, and there is a limit to the work: where rows
outbid each other by little, as with distances of points, row reduction by itself takes longer than the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.branch_free import smaller
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .dense_rows import list_row
from .search_state import NONE, Lists, State


@kernel
def two_best(lists: Lists, price: Any, row: Any, beyond: Any) -> tuple[Any, Any, Any, Any]:
    """Return the least two reduced costs that a row's list has, each with its column."""
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
def reduce_rows(cost: Any, lists: Lists, state: State, size: Any, budget: Any) -> tuple[Any, Any, bool]:
    """Give free rows their best columns, also those of other rows, and lower the price to the second best.

    Returns
    -------
    size : uint64
        How many rows are left in `free`.
    scans : uint64
        Edges looked at.
    fits : bool
        Whether all prices are within the limits.
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
        scans += lists.size[i]
        best, place, second, place_2 = two_best(lists, price, i, beyond)
        if second > lists.bound[i]:
            list_row(cost, lists, state, i, ZERO)
            scans += np.uint64(len(price))
            best, place, second, place_2 = two_best(lists, price, i, beyond)
            if second >= lists.bound[i]:
                second = lists.bound[i]
        bounded = second < beyond
        taken = place != NONE and state.column_match[lists.column[place]] != NONE
        if taken and best == second and place_2 != NONE:
            place = place_2
            taken = state.column_match[lists.column[place]] != NONE
        if place == NONE or (taken and not (bounded and best < second)):
            free[left] = i
            left += ONE
            continue
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
def _two_best_of_all(cost: Any, base: Any, state: State) -> tuple[Any, Any, Any]:
    """Return the least two reduced costs of the row at `base`, and the column that has the least."""
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
def reduce_whole_rows(cost: Any, state: State, size: Any, budget: Any) -> tuple[Any, Any, bool]:
    """Do what :func:`reduce_rows` does, looking at whole rows."""
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
