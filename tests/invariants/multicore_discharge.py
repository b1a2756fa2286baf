"""Invariants of :mod:`preflow.papers.cihan.multicore_discharge`."""

from __future__ import annotations

import numpy as np

from preflow.graph.residual import ResidualArrays
from preflow.papers.cihan.multicore_discharge import OVER, TOP, State
from preflow.parallel import queues as in_queues


def check_invariants(net: ResidualArrays, state: State) -> None:
    """Assert some of the invariants while no thread works, in O(n).

    A vertex has at most one owner, and has excess if it is owned. While no global relabel is due, every
    active vertex is owned; later a thread may leave excess on vertices that no thread owns. The counts of
    vertices are correct up to level TOP.
    """
    n = len(state.height)
    owned: list[int] = []
    if state.queues is not None:
        for items, ends in zip(state.queues.items, state.queues.ends.tolist(), strict=True):
            front, back = ends[in_queues.FRONT], ends[in_queues.BACK]
            owned += [int(items[k % len(items)]) for k in range(front, back)]
    if state.buckets is not None:
        for v in state.buckets.first[state.buckets.first != n].tolist():
            while v != n and len(owned) <= n:
                owned.append(v)
                v = int(state.buckets.below[v])
    assert len(set(owned)) == len(owned), "a vertex has two owners"
    assert (net.excess[owned] > 0).all(), "a vertex without excess is owned"
    if state.signals[OVER] == 0:
        active = np.flatnonzero((net.excess > 0) & (state.height <= n))
        assert set(active.tolist()) <= set(owned), "an active vertex is lost"
    if len(state.population) > 0:
        top = int(state.signals[TOP])
        counts = np.bincount(state.height.astype(np.int64), minlength=n + 2)
        kept = state.population[1 : top + 1].tolist()
        assert kept == counts[1 : top + 1].tolist(), "a level has another number of vertices"
