"""Invariants of :mod:`preflow.assignment.push_relabel`."""

from __future__ import annotations

import numpy as np

from preflow.assignment.push_relabel import Network, Step, _degrees


def check_invariants(network: Network, step: Step, rounding: float) -> None:
    """Assert that a refine is complete and its reduced costs hold; O(arcs)."""
    assert (network.excess == 0).all(), f"excess {network.excess}"
    tail = np.repeat(np.arange(len(network.supply)), _degrees(network))
    reduced = network.cost + (network.price[tail] - network.price[network.head])
    is_column = (tail >= step.rows) & (tail < step.rows + step.columns)
    offset = np.where(is_column, -step.offset, step.offset)
    residual = (network.residual == 1) & (np.arange(len(tail)) < network.last[tail])
    low = (reduced - (offset - step.delta))[residual]
    assert (low >= -rounding).all(), f"a residual arc has a reduced cost that is {-low.min()} too low"
