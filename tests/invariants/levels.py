"""Invariants of :mod:`preflow.maxflow.levels`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import Array
from preflow.maxflow.levels import Levels


def check_population(levels: Levels, height: Array) -> None:
    """Assert that the number of vertices of each height is right and none is above a gap."""
    live = height[height <= len(height)]
    counts = np.bincount(live.astype(np.int64))[1:]
    assert (counts > 0).all(), "a vertex above a gap is not dead"
    kept = levels.population[1 : len(counts) + 1]
    assert kept.tolist() == counts.tolist(), "a level has another number of vertices"


def check_active(levels: Levels, height: Array, excess: Array) -> None:
    """Assert that each active vertex is on the list of its height, once, and no other vertex is."""
    none = len(height)
    listed: list[int] = []
    for h in range(1, int(height[height <= none].max(initial=0)) + 1):
        v = int(levels.active_first[h])
        while v != none:
            assert height[v] == h, f"vertex {v} is on the list of another height"
            listed.append(v)
            assert len(listed) <= none, "a list of active vertices has a cycle"
            v = int(levels.active_next[v])
    active = np.flatnonzero((excess > 0) & (height <= none)).tolist()
    assert sorted(listed) == active, "other vertices are listed than the active ones"
