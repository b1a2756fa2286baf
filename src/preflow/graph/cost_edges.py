"""Costs of an assignment edge by edge: from arrays, or from a NetworkX graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array
from ..errors import InvalidInputError
from .bipartite import labelled_edges
from .bipartite_input import checked_ends
from .grid_input import check_not_masked
from .networkx_edges import is_networkx
from .placement import exact_array
from .sparse_input import check_integers


@dataclass(frozen=True, eq=False)
class CostEdges:
    """Edges between rows and columns with their costs.

    Attributes
    ----------
    row, column : ndarray of integers, shape (m,)
    cost : ndarray, shape (m,)
    shape : (int, int)
        Numbers of rows and columns.
    labels : (tuple, tuple) or None
        The labels of rows and of columns, where the edges came from NetworkX.
    """

    row: Array
    column: Array
    cost: Array
    shape: tuple[int, int]
    labels: tuple[tuple[Hashable, ...], tuple[Hashable, ...]] | None = None


def with_edges_read(
    cost: AnyArray,
    *,
    shape: tuple[int, int] | None = None,
    weight: str = "weight",
    rows: Iterable[Hashable] | None = None,
) -> AnyArray:
    """Return costs that are edges as CostEdges, checked; other costs unchanged.

    Parameters
    ----------
    cost
        Anything that :func:`preflow.linear_assignment` accepts: a tuple is (row, column, cost).
    shape : (int, int), optional
        Numbers of rows and columns of such a tuple; default: just enough.
    weight : str
        The edge attribute of a NetworkX graph that is the cost.
    rows : iterable of vertices, optional
        The vertices of a NetworkX graph that are rows.

    Raises
    ------
    InvalidInputError
        The edges are malformed, or there is a `shape` or `rows` for other costs.
    """
    is_graph, is_tuple = is_networkx(cost), isinstance(cost, tuple)
    if shape is not None and not is_tuple:
        raise InvalidInputError("shape is for costs (row, column, cost); other costs have a shape")
    if rows is not None and not is_graph:
        raise InvalidInputError("rows are for a NetworkX graph; other costs have rows")
    if is_graph:
        return _from_networkx(cost, weight, rows)
    return _from_arrays(cost, shape) if is_tuple else cost


def _from_arrays(edges: tuple[Any, ...], shape: tuple[int, int] | None) -> CostEdges:
    if len(edges) != 3:
        raise InvalidInputError(
            f"a tuple of costs must be the edges (row, column, cost), got {len(edges)} entries; a matrix is "
            "an array or a list of rows"
        )
    arrays = []
    for values, name in zip(edges, ("row", "column", "cost"), strict=True):
        check_not_masked(values, name)
        arrays.append(exact_array(values, name))
    row, column, cost = check_integers(arrays[0], "row"), check_integers(arrays[1], "column"), arrays[2]
    shape = checked_ends(row, column, shape)
    if cost.shape != row.shape:
        raise InvalidInputError(f"cost has shape {cost.shape}, expected {row.shape}: one for every edge")
    return CostEdges(row, column, cost if cost.size else cost.astype(np.int64), shape)


def _from_networkx(graph: Any, weight: str, rows: Iterable[Hashable] | None) -> CostEdges:
    edges, read = labelled_edges(graph, rows)
    costs = read.values(weight, None)
    if None in costs:
        u, v = (read.labels[int(ends[costs.index(None)])] for ends in (read.tail, read.head))
        raise InvalidInputError(f"the edge between {u!r} and {v!r} has no attribute {weight!r}")
    labels = edges.row_labels, edges.column_labels
    cost = exact_array(costs, weight) if costs else np.zeros(0, dtype=np.int64)
    if cost.ndim != 1:
        raise InvalidInputError(f"the attribute {weight!r} of an edge is not a number")
    return CostEdges(edges.row, edges.column, cost, (len(labels[0]), len(labels[1])), labels)
