"""Invariants of :mod:`preflow.papers.baselines.depth_first`."""

from __future__ import annotations

from preflow.bipartite.match_arrays import Matching
from preflow.graph.bipartite import Adjacency
from preflow.papers.baselines.depth_first import PothenFanSearch, closed
from tests.invariants.match_arrays import check_sides


def check_invariants(rows: Adjacency, matching: Matching, search: PothenFanSearch) -> None:
    """Assert the invariants of a solve; O(m)."""
    check_sides(matching)
    free = matching.column_match >= len(matching.row_match)
    is_closed = search.stamp == closed(search)
    assert not (free & is_closed).any(), "a free column is closed"
    for r, (first, end, look) in enumerate(zip(rows.first, rows.first[1:], search.look, strict=False)):
        assert not free[rows.neighbour[first:look]].any(), "lookahead has passed a free column"
        c = int(matching.row_match[r])
        if c < len(is_closed) and is_closed[c]:
            assert is_closed[rows.neighbour[first:end]].all(), "a search can leave the closed columns"
