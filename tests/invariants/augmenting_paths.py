"""Invariants of :mod:`preflow.assignment.augmenting_paths`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import Array
from preflow.assignment.search_state import NONE, SearchState


def check_invariants(cost: Array, state: SearchState, rounding: float = 0.0) -> None:
    """Assert the invariants between searches on a dense matrix; O(n m)."""
    row = np.flatnonzero(state.row_match != NONE)
    column = state.row_match[row].astype(np.int64)
    assert (state.column_match[column] == row).all(), "a pair is in one of the two arrays only"
    assert np.count_nonzero(state.column_match != NONE) == len(column), "a column has a row without a pair"
    assert (state.matched_cost[row] == cost[row, column]).all(), "the cost of a pair is wrong"
    reduced = cost[row] - state.price
    off = reduced[np.arange(len(row)), column] - reduced.min(axis=1)
    assert (off <= rounding).all(), f"a row is {off.max()} off its best column"
    assert (state.distance == state.limits.beyond).all(), "a distance is left from a search"
    assert (state.place == NONE).all(), "an item is left in the heap"
