"""Invariants of :mod:`preflow.assignment.lockfree_scaling`."""

from __future__ import annotations

import numpy as np

from preflow.assignment.lockfree_scaling import COLUMN, HALF, NOWHERE, Arcs, Flow, reduced_costs


def check_invariants(arcs: Arcs, flow: Flow, epsilon: int) -> None:
    """Assert that a flow is complete and epsilon-optimal; O(arcs)."""
    assert (flow.excess == 0).all(), f"excess {flow.excess}"
    assert (flow.at != NOWHERE).all(), "a row still has its unit"
    column, arc = (flow.at & COLUMN).astype(np.int64), (flow.at >> HALF).astype(np.int64)
    assert sorted(column.tolist()) == list(range(len(column))), f"columns {column}"
    first = arcs.first[: len(column)].astype(np.int64)
    last = first + arcs.size.astype(np.int64)
    assert ((first <= arc) & (arc < last)).all(), "a unit is on no arc of its row"
    assert (arcs.column[arc] == column).all(), "a unit is on an arc to another column"
    reduced = reduced_costs(arcs, flow)
    assert reduced.min() >= -epsilon, f"a residual arc has the reduced cost {reduced.min()}"
