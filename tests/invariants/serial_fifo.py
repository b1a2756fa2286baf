"""Invariants of :mod:`preflow.maxflow.serial_fifo`."""

from __future__ import annotations

import numpy as np

from preflow.graph.residual import ResidualArrays
from preflow.maxflow.serial_fifo import State
from tests.invariants.levels import check_population
from tests.invariants.push_relabel import check_labels


def check_invariants(net: ResidualArrays, state: State, gap: bool, num_queued: int | None = None) -> None:
    """Assert the invariants between two phases, which the solver lists; O(m).

    When a phase begins, `num_queued` vertices are in the queue, which is then checked, too.
    """
    check_labels(net, state.height)
    if gap:
        check_population(state.levels, state.height)
    if num_queued is not None:
        active = np.flatnonzero((net.excess > 0) & (state.height <= len(state.height)))
        queued = np.sort(state.queue[:num_queued])
        assert queued.tolist() == active.tolist(), "other vertices are queued than the active ones"
