"""Invariants of :mod:`preflow.bipartite.layered_phases`."""

from __future__ import annotations

import numpy as np

from preflow.bipartite.layered_phases import Layers, unreached
from preflow.bipartite.match_arrays import Matching
from preflow.graph.bipartite import Adjacency
from tests.invariants.match_arrays import check_sides


def check_invariants(rows: Adjacency, matching: Matching, layers: Layers) -> None:
    """Assert the invariants of a phase before its paths augment; O(m)."""
    check_sides(matching)
    layer, column_of = layers.layer, matching.row_match
    num_rows, num_columns, new = len(column_of), len(layer), int(unreached(layers))
    free = matching.column_match >= num_rows
    assert (layer[free] == new - 1).all(), "a free column has the layer of a matched one"
    row_layer = np.zeros(num_rows, dtype=np.int64)
    matched = column_of < num_columns
    row_layer[matched] = layer[column_of[matched]]
    # The lowest layer of a row next to each column.
    lowest = np.full(num_columns, new, dtype=np.int64)
    row_of_edge = np.repeat(np.arange(num_rows), np.diff(rows.first).astype(np.int64))
    np.minimum.at(lowest, rows.neighbour, row_layer[row_of_edge])
    reached = np.flatnonzero(layer < new - 1)
    assert (layer[reached] == lowest[reached] + 1).all(), "a column is not in the layer after that of a row"
