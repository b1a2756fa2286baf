"""Invariants of :mod:`preflow.maxflow.serial_highest_label`."""

from __future__ import annotations

from preflow.graph.residual import ResidualArrays
from preflow.maxflow.serial_highest_label import HighestLabelState
from tests.invariants.levels import check_active, check_population
from tests.invariants.push_relabel import check_labels


def check_invariants(net: ResidualArrays, state: HighestLabelState, gap: bool) -> None:
    """Assert the invariants between two phases, which the solver lists; O(m)."""
    check_labels(net, state.height)
    check_active(state.levels, state.height, net.excess)
    if gap:
        check_population(state.levels, state.height)
