"""Invariants of :mod:`preflow.bipartite.serial_push_relabel`."""

from __future__ import annotations

import numpy as np

from preflow.arrays import Array
from preflow.bipartite.match_arrays import Matching
from preflow.bipartite.serial_push_relabel import LabelState
from preflow.graph.bipartite import Adjacency


def check_labels(rows: Adjacency, column_match: Array, label: Array) -> None:
    """Assert the invariants of labels; O(m)."""
    num_rows, dead = len(rows.first) - 1, len(label) + 1
    free = column_match >= num_rows
    assert (label[free] == 0).all(), "a free column has a label above 0"
    assert (label <= dead).all(), "a label is above that of dead columns"
    for c in np.flatnonzero(~free).tolist():
        first, end = rows.first[column_match[c] : int(column_match[c]) + 2].tolist()
        columns = rows.neighbour[first:end]
        others = label[columns[columns != c]]
        assert int(label[c]) <= int(others.min(initial=dead)) + 1, "a label is too high"


def check_invariants(rows: Adjacency, matching: Matching, state: LabelState) -> None:
    """Assert the invariants of a solve; O(m)."""
    row_of, num_rows = matching.column_match, len(matching.row_match)
    rows_matched = row_of[row_of < num_rows]
    assert len(np.unique(rows_matched)) == len(rows_matched), "a row has two columns"
    check_labels(rows, row_of, state.label)
    dead = len(state.label) + 1
    counts = np.bincount(state.label[state.label < dead].astype(np.int64), minlength=dead)
    assert (state.population[:dead] == counts).all(), "a level has another number of columns"
