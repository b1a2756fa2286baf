"""Invariants of :mod:`preflow.maxflow.multicore_paths`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preflow.graph.residual import ResidualArrays
from preflow.maxflow.multicore_paths import ActiveLists, State


def check_invariants(net: ResidualArrays, state: State, lists: Sequence[ActiveLists] = ()) -> None:
    """Assert the invariants while no thread moves, which the solver lists; O(n).

    When a phase begins, `lists` says which lists each thread has in use. They are then checked, too. They
    lack only active vertices beyond the end of the last search.
    """
    n = len(state.height)
    population = state.population.reshape(-1, n + 2).sum(axis=0)[: n + 1]
    counts = np.bincount(state.height.astype(np.int64), minlength=n + 2)[: n + 1]
    assert population.tolist() == counts.tolist(), "wrong counts"
    listed: list[int] = []
    for thread, own in enumerate(lists):
        before = len(listed)
        for h in range(1, int(own.opened) + 1):
            v = int(state.active_first[thread, h])
            while v != n and len(listed) <= n:
                assert state.height[v] == h, f"vertex {v} is on the list of another height"
                listed.append(v)
                v = int(state.active_next[v])
        assert len(listed) - before == own.count, "a thread has another number of active vertices"
    if lists:
        active = set(np.flatnonzero((net.excess > 0) & (state.height <= n)).tolist())
        assert len(set(listed)) == len(listed), "a vertex is listed twice"
        assert set(listed) <= active, "a vertex that is not active is listed"
        unlisted = state.height[list(active - set(listed))]
        assert (unlisted > state.height[listed].max(initial=0)).all(), "an active vertex is lost"
