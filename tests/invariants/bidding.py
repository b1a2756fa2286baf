"""Invariants of :mod:`preflow.assignment.serial_cost_scaling.bidding`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import Array
from preflow.assignment.serial_cost_scaling.bidding import Bidding, Prices


def check_invariants(cost: Array, bidding: Bidding, prices: Prices, rounding: float) -> None:
    """Assert that a refine on a dense matrix is complete; O(n m)."""
    num_rows = len(bidding.queue)
    reduced = cost * prices.scale - bidding.price
    column = np.flatnonzero(bidding.owner < num_rows)
    row = bidding.owner[column].astype(np.int64)
    assert sorted(row.tolist()) == list(range(num_rows)), f"rows of columns {row}"
    off = reduced[row, column] - reduced.min(axis=1)[row]
    assert (off <= prices.epsilon + rounding).all(), f"a row is {off.max()} off its best column"
    left = bidding.price[bidding.owner >= num_rows]
    least = bidding.price[column].max() - prices.epsilon - rounding
    assert (left >= least).all(), "a column that is left over has too low a price"
