"""Costs of an assignment edge by edge: from arrays, or with labels from tuples, tables and graphs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array, EndsNames, Restorer, SideLabels
from ..errors import InvalidInputError
from .bipartite import BipartiteGraph, labelled_edges
from .bipartite_input import checked_ends
from .cost_network import CostNetwork, rows_of_assignment
from .edge_tables import (
    NOT_ALLOWED,
    Attribute,
    ColumnNames,
    EdgeColumns,
    check_attribute,
    edges_of_lists,
    find_columns,
    has_columns,
    in_known_form,
    is_edge_list,
    is_table,
    name_of_cost,
    number_apart,
    read_dict,
    read_table,
    read_tuples,
    says_ends,
)
from .graph_edges import is_graph
from .network import MaxFlowProblem
from .placement import exact_array, restorer_of
from .sparse_input import check_integers
from .vertex_names import VertexNames


@dataclass(frozen=True, eq=False)
class CostEdges:
    """Edges between rows and columns with their costs."""

    #: integers, shape (m,)
    row: Array
    column: Array
    cost: Array  #: shape (m,)
    shape: tuple[int, int]  #: numbers of rows and columns
    labels: SideLabels = None  #: the labels of rows and of columns, where they are no numbers
    #: converts NumPy arrays to the caller's kind of array; None where the caller uses NumPy
    restore: Restorer = None


def with_edges_read(
    cost: AnyArray,
    *,
    shape: tuple[int, int] | None = None,
    weight: str | None = None,
    rows: Iterable[Hashable] | None = None,
    ends: EndsNames = None,
    advise: bool = True,
) -> AnyArray:
    """Return costs that are edges as CostEdges, checked; other costs unchanged.

    Edges are an assignment as read_dimacs returns it, a tuple of arrays (row, column, cost), a list of tuples
    with labels, a dictionary ``{row: {column: cost}}``, a table with the columns "row", "column" and "cost",
    or a graph of a library. `shape` is that of a matrix of such a tuple, by default just large enough; `rows`
    are the vertices of such a graph that are rows. `weight` is the attribute or the column with the cost,
    `ends` are the columns of rows and of columns; `advise` says whether the caller can name these.
    InvalidInputError if the edges are malformed, or there is a `shape` or `rows` for other costs.
    """
    if type(cost) is np.ndarray and cost.dtype.names is shape is rows is ends is None:
        return cost
    if isinstance(cost, CostNetwork):
        return _from_network(cost)
    if isinstance(cost, VertexNames | MaxFlowProblem | BipartiteGraph):
        raise InvalidInputError(
            "costs are a matrix, dense or sparse, edges (row, column, cost), a table, a dictionary, a "
            f"graph of a library, or what read_dimacs returns for an .asn file, not {type(cost).__name__}"
        )
    cost = list(cost) if is_batch(cost) else in_known_form(cost, "cost", or_matrix=True)
    has_vertices, is_tuple = is_graph(cost), isinstance(cost, tuple)
    if shape is not None and not is_tuple:
        raise InvalidInputError("shape is for costs (row, column, cost); other costs have a shape")
    if rows is not None and not has_vertices:
        raise InvalidInputError("rows are for a graph of a library, such as NetworkX; other costs have rows")
    names, weight = ColumnNames(ends, weight=weight), weight or "weight"
    if ends is not None and not is_table(cost):
        ColumnNames(ends).check_unused(cost)
    if has_vertices:
        return _from_networkx(cost, weight, rows)
    if is_tuple:
        edges = edges_of_lists(cost, ["cost"]) if len(cost) == 3 else None
        return _from_arrays(cost, shape) if edges is None else _from_columns(edges)
    numbers = [Attribute("cost", weight, argument="weight")]
    if is_edge_list(cost) and all(len(edge) == 3 for edge in cost):
        _refuse_matrix(cost)
        return _from_columns(read_tuples(cost, ("row", "column"), numbers))
    if isinstance(cost, Mapping) and not hasattr(cost, "tocsr"):  # SciPy's DOK matrices are dictionaries
        return _from_columns(read_dict(cost, numbers))
    if is_pairs_table(cost, names):
        found = find_columns(
            cost, {"weight": ["cost"]}, names, needed=["weight"], ends=("row", "column"), advise=advise
        )
        pairs = read_table(
            cost, (found["row"], found["column"]), {"cost": found["weight"]}, NOT_ALLOWED, apart=True
        )
        return _from_columns(pairs)
    return cost


def is_batch(cost: AnyArray) -> bool:
    """Return whether a tuple has matrices, such as that of ``torch.split``, and not the arrays of edges."""
    return isinstance(cost, tuple) and all(getattr(part, "ndim", 0) == 2 for part in cost) and len(cost) > 0


def _from_network(network: CostNetwork) -> CostEdges:
    """Return the costs of an assignment; its vertices without labels are numbers."""
    is_row = rows_of_assignment(network)
    if is_row is None:
        raise InvalidInputError(
            "a network with costs is an assignment where each vertex has a supply of 1 or -1, and arcs of "
            "capacity 1 or more lead from the former to the latter; min_cost_flow takes any other"
        )
    number = np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)) - 1
    names = network.labels or range(network.num_vertices)
    rows, columns = (tuple(names[v] for v in np.flatnonzero(side).tolist()) for side in (is_row, ~is_row))
    shape = len(rows), len(columns)
    return CostEdges(number[network.tail], number[network.head], network.cost, shape, (rows, columns))


def is_pairs_table(cost: AnyArray, names: ColumnNames) -> bool:
    """Return whether costs are a table of pairs: it has a column of costs, or columns of both ends."""
    if not is_table(cost):
        return False
    named = names.weight is not None and has_columns(cost, [names.weight])
    return named or isinstance(cost, list) or has_columns(cost, ["cost"]) or says_ends(cost, names)


def _refuse_matrix(edges: list[tuple[Any, ...]]) -> None:
    """Raise InvalidInputError if all entries are numbers: then it could be a matrix of three columns."""
    number = int | float | np.integer | np.floating
    if all(isinstance(entry, number) for edge in edges for entry in edge):
        raise InvalidInputError(
            "cost is a list of tuples of three numbers, which could be edges (row, column, cost) or a matrix "
            "of three columns: give edges as three arrays, tuple(zip(*cost)), a matrix as np.array(cost)"
        )


def _from_columns(edges: EdgeColumns) -> CostEdges:
    if "cost" not in edges.values:
        raise InvalidInputError("edges with costs are (row, column, cost): the cost is missing")
    (rows, row, column), columns = number_apart(edges)
    values = edges.values["cost"]
    if not isinstance(values, np.ndarray) and None in values:
        raise InvalidInputError(f"edge {values.index(None)} has no cost")
    return CostEdges(row, column, _costs(values, "cost"), (len(rows), len(columns)), (rows, columns))


def _costs(values: AnyArray, name: str) -> Array:
    """Return the costs of edges, a list or an array, as an array."""
    cost = exact_array(list(values) if isinstance(values, tuple) else values, name)
    if cost.ndim != 1:
        raise InvalidInputError(f"the {name} of an edge is not a number")
    return cost if cost.size else cost.astype(np.int64)


def _from_arrays(edges: tuple[Any, ...], shape: tuple[int, int] | None) -> CostEdges:
    if len(edges) != 3:
        raise InvalidInputError(
            f"a tuple of costs must be the edges (row, column, cost), got {len(edges)} entries; a matrix is "
            "an array or a list of rows, and a batch a list of matrices"
        )
    arrays = []
    for values, name in zip(edges, ("row", "column", "cost"), strict=True):
        arrays.append(exact_array(values, name))
    row, column, cost = check_integers(arrays[0], "row"), check_integers(arrays[1], "column"), arrays[2]
    shape = checked_ends(row, column, shape)
    if cost.shape != row.shape:
        raise InvalidInputError(f"cost has shape {cost.shape}, expected {row.shape}: one for every edge")
    cost = cost if cost.size else cost.astype(np.int64)
    return CostEdges(row, column, cost, shape, restore=restorer_of(*edges))


def _from_networkx(graph: Any, weight: str, rows: Iterable[Hashable] | None) -> CostEdges:
    edges, read = labelled_edges(graph, rows, weight)
    weight = name_of_cost(read.data, weight)
    check_attribute(read.data, weight, "weight")
    costs = read.values(weight, None)
    if None in costs:
        u, v = (read.labels[int(ends[costs.index(None)])] for ends in (read.tail, read.head))
        raise InvalidInputError(f"the edge between {u!r} and {v!r} has no attribute {weight!r}")
    labels = edges.row_labels, edges.column_labels
    shape = (len(labels[0]), len(labels[1]))
    return CostEdges(edges.row, edges.column, _costs(costs, f"attribute {weight!r}"), shape, labels)
