"""Invariants of :mod:`preflow.assignment.multicore_auction`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import Array
from preflow.assignment.multicore_auction import ROW, Auction


def check_invariants(cost: Array, auction: Auction, epsilon: float, rounding: float = 1e-9) -> None:
    """Assert that a phase on a square matrix is complete; O(n**2)."""
    owner = (auction.word & ROW).astype(np.int64) - 1
    assert sorted(owner.tolist()) == list(range(len(owner))), f"owners {owner}"
    reduced = cost[owner] - auction.bid[owner]
    off = np.diagonal(reduced) - reduced.min(axis=1)
    assert off.max() <= epsilon + rounding, f"row {owner[off.argmax()]} is {off.max()} off its best column"
