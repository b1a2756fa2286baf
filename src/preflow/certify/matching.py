"""Check that two arrays are a matching, and prove it maximum by a vertex cover of the same size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import AnyArray
from ..errors import VerificationError
from ..graph.bipartite import BipartiteGraph, DeviceBipartiteGraph
from .device import matched_along_edges_on_device
from .fields import checked_array, checked_number


def check_matching(graph: BipartiteGraph, row_match: AnyArray, column_match: AnyArray, size: Any) -> None:
    """Check that two arrays are the same matching of `size` edges of the graph.

    They have the partner of every row and column, -1 for none, and are where the graph is, on the host or on
    a GPU. VerificationError names the first row or column at fault.
    """
    sides = [(row_match, "row", *graph.shape), (column_match, "column", *reversed(graph.shape))]
    checked = []
    for values, side, count, other in sides:
        match = checked_array(graph, values, f"{side}_match", (count,), np.int32, np.int64)
        _check_none((match < -1) | (match >= other), f"{side} {{}} is matched with no vertex of the graph")
        checked.append(match)
    row_match, column_match = checked
    xp = graph.xp
    rows = xp.flatnonzero(row_match >= 0)
    back = column_match[row_match[rows]]
    taken = (back >= 0) & (back != rows)
    taken &= row_match[xp.where(taken, back, 0)] == row_match[rows]
    _check_none(taken, "row {} is matched with a column that another row is matched with, too", rows)
    _check_none(back != rows, "row {} is matched with a column that is not matched with it", rows)
    size = checked_number(size, "the size")
    if len(rows) != size:
        raise VerificationError(f"{len(rows)} rows are matched, not {size}")
    if int(xp.count_nonzero(column_match >= 0)) != size:
        raise VerificationError(f"more than {size} columns are matched, and {size} rows")
    if graph.by_columns:
        has_edge = _matched_along_edges(graph.transposed, column_match)[row_match[rows]]
    else:
        has_edge = _matched_along_edges(graph, row_match)[rows]
    _check_none(~has_edge, "row {} is matched with a column that is not its neighbour", rows)


def _matched_along_edges(graph: BipartiteGraph, row_match: AnyArray) -> AnyArray:
    """Return which rows are matched with one of their neighbours."""
    if isinstance(graph, DeviceBipartiteGraph):
        return matched_along_edges_on_device(graph, row_match)
    first, neighbour = graph.rows
    found = np.flatnonzero(neighbour == np.repeat(row_match, np.diff(first).astype(np.int64)))
    has_edge = np.zeros(graph.num_rows, dtype=bool)
    has_edge[np.searchsorted(first, found, side="right") - 1] = True
    return has_edge


def check_cover(graph: BipartiteGraph, rows: AnyArray, columns: AnyArray, size: Any) -> None:
    """Check that every edge has one of `size` given vertices, so that no matching is larger; on the host.

    VerificationError names an edge that has none, or says that there are not `size` vertices.
    """
    rows = checked_array(graph, rows, "the cover of rows", (graph.num_rows,), np.bool_)
    columns = checked_array(graph, columns, "the cover of columns", (graph.num_columns,), np.bool_)
    first, neighbour = graph.rows
    bare = ~(np.repeat(rows, np.diff(first).astype(np.int64)) | columns[neighbour])
    if bare.any():
        edge = int(bare.argmax())
        row = int(np.searchsorted(first, edge, side="right")) - 1
        raise VerificationError(f"the edge of row {row} and column {int(neighbour[edge])} is not covered")
    count = int(np.count_nonzero(rows)) + int(np.count_nonzero(columns))
    if count != checked_number(size, "the size"):
        raise VerificationError(f"the cover has {count} vertices, not {size}")


def _check_none(faulty: Any, message: str, names: Any = None) -> None:
    if faulty.any():
        place = int(faulty.argmax())
        raise VerificationError(message.format(place if names is None else int(names[place])))
