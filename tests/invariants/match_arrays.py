"""Invariants of :mod:`preflow.bipartite.match_arrays`."""

from __future__ import annotations

import numpy as np

from preflow.bipartite.match_arrays import Matching


def check_sides(matching: Matching) -> None:
    """Assert that both match arrays hold the same edges; called by the checks of the solvers' invariants."""
    row_match, column_match = matching
    for mates, back in ((row_match, column_match), (column_match, row_match)):
        matched = np.flatnonzero(mates < len(back))
        assert (back[mates[matched]] == matched).all(), "the sides disagree"
