"""Convert everything that a public function accepts as a network or graph.

One rule holds for all problems: a tuple is edges, one array for each part; a list of tuples is edges, one
tuple for each; an array, a list of lists or a sparse matrix is a matrix. A list that could be either is
refused. Vertices are numbers in arrays and matrices. They are labels in lists of tuples, dictionaries, tables
and graphs of NetworkX, igraph and rustworkx.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ..arrays import AnyArray, Array, NetworkInput, TableInput, Vertices
from ..checks import first_of, wrong_entry
from ..errors import InvalidInputError
from .edge_tables import (
    CAPACITY,
    USUAL_NAMES,
    ColumnNames,
    edges_of_lists,
    find_columns,
    has_columns,
    has_text,
    in_known_form,
    is_frame,
    kind_of,
    matrix_labels,
    read_by_form,
    refuse_lower_bounds,
    says_ends,
)
from .network import FlowNetwork, MaxFlowProblem, plain_arcs
from .placement import host_array, is_tensor, restorer_of

if TYPE_CHECKING:
    from .bipartite import BipartiteGraph
    from .grid import GridNetwork


#: The forms in which networks are mostly given.
USUAL = (FlowNetwork, MaxFlowProblem, tuple, list)


def as_flow_problem(
    network: NetworkInput, source: Vertices, sink: Vertices, names: ColumnNames | None = None
) -> tuple[FlowNetwork, Any, Any]:
    """Return the network with its source and sink; where they are None, those of a MaxFlowProblem.

    The network may be anything that `as_flow_network` takes, or a GridNetwork, of which all arcs are created.
    """
    if type(network) is tuple and len(network) == 3:
        plain = plain_arcs(*network)
        if plain is not None:
            (names or USUAL_NAMES).check_unused(network)
            return FlowNetwork._of_plain(plain), source, sink
    if is_grid(network):
        (names or USUAL_NAMES).check_unused(network)
        if source is not None or sink is not None:
            raise InvalidInputError("a grid has its source and its sink in its capacities: give none")
        network = network.to_flow_problem()
    if isinstance(network, MaxFlowProblem):
        return (
            as_flow_network(network.network, names),
            network.source if source is None else source,
            network.sink if sink is None else sink,
        )
    return as_flow_network(network, names), source, sink


def is_grid(network: object) -> TypeGuard[GridNetwork]:
    """Whether a network is a GridNetwork, whose module the usual forms of a network do without."""
    if isinstance(network, USUAL):
        return False
    from .grid import GridNetwork

    return isinstance(network, GridNetwork)


def as_flow_network(network: NetworkInput, names: ColumnNames | None = None) -> FlowNetwork:
    """Return anything that :func:`preflow.max_flow` takes as a FlowNetwork.

    Edges are a list of tuples (tail, head, capacity), a dictionary is ``{tail: {head: capacity}}``, and a
    table has the columns "source", "target" and "capacity". A matrix is square, sparse or dense; its entry
    (u, v) is the capacity of an arc from u to v. Zeros of a dense matrix are not arcs. Of a DataFrame without
    these columns, rows and columns have the same labels, those of the vertices. `names` are those that the
    caller gives to columns or attributes; None if it cannot name any.
    """
    if isinstance(network, FlowNetwork | tuple):
        (names or USUAL_NAMES).check_unused(network)
    if isinstance(network, FlowNetwork):
        return network
    if isinstance(network, tuple):
        if len(network) != 3:
            raise InvalidInputError(
                f"a network tuple must be (tail, head, capacity), got {len(network)} entries"
            )
        edges = edges_of_lists(network, ["capacity"])
        return FlowNetwork.from_arrays(*network) if edges is None else FlowNetwork._from_columns(edges, False)
    network = in_known_form(network, "capacity")
    if not _is_labelled_square(network, names):
        made: FlowNetwork | None = read_by_form(
            FlowNetwork, network, names, lambda: flow_columns(network, names), capacity="capacity"
        )
        if made is not None:
            return made
    (names or USUAL_NAMES).check_unused(network)
    if _is_dense(network):
        matrix = _dense_matrix(network, "network", ("tail", "head", "capacity"))
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidInputError(
                f"a capacity matrix is square; this one has shape {matrix.shape}. Edges are a list of "
                "tuples: [tuple(edge) for edge in edges]"
            )
        tail, head = np.nonzero(matrix)
        labels = matrix_labels(network)[1] if is_frame(network) else None
        read = FlowNetwork._of_matrix(tail, head, matrix[tail, head], labels or range(len(matrix)))
        return replace(read, labels=labels, restore=restorer_of(network))
    raise InvalidInputError(
        "a network is a FlowNetwork, what read_dimacs returns for a .max file, a tuple (tail, head, "
        "capacity) of arrays, a list of such tuples, a table, a dictionary {tail: {head: capacity}}, a "
        f"square matrix of capacities, sparse or dense, or a graph of NetworkX, igraph or rustworkx, not "
        f"{kind_of(network)}"
    )


def _is_labelled_square(table: TableInput, names: ColumnNames | None) -> bool:
    """Return whether a table is a matrix: a DataFrame whose rows and columns have the same labels."""
    if not is_frame(table) or not table.index.equals(table.columns):
        return False
    return not (says_ends(table, names) and has_columns(table, ["capacity"]))


def flow_columns(table: TableInput, names: ColumnNames | None) -> dict[str, Hashable]:
    """Return the columns of a table that a maximum flow reads; refuse lower bounds."""
    found = find_columns(table, {"capacity": CAPACITY}, names, needed=["capacity"])
    refuse_lower_bounds(table)
    return found


def as_bipartite_graph(graph: Any, names: ColumnNames | None = None) -> BipartiteGraph:
    """Return anything that :func:`preflow.bipartite_matching` takes as a BipartiteGraph.

    Edges are a list of tuples (row, column), a dictionary ``{row: [column, ...]}``, or a table with the
    columns "row" and "column". Every stored entry of a sparse matrix is an edge, and every nonzero entry of a
    dense one. A DataFrame without these columns is a matrix with its labels.
    """
    from .bipartite import BipartiteGraph, of_plain_rows  # here, since networks do without

    plain = graph if isinstance(graph, BipartiteGraph) else of_plain_rows(graph)
    if plain is not None or isinstance(graph, tuple):
        (names or USUAL_NAMES).check_unused(graph)
    if plain is not None:
        return plain
    if isinstance(graph, tuple):
        if len(graph) != 2:
            raise InvalidInputError(
                f"a tuple of edges must be (row, column), got {len(graph)} entries; linear_assignment takes "
                "costs"
            )
        edges = edges_of_lists(graph, [])
        return BipartiteGraph.from_arrays(*graph) if edges is None else BipartiteGraph._from_columns(edges)
    graph = in_known_form(graph, "weight", or_matrix=True)
    if not is_frame(graph) or says_ends(graph, names) or has_text(graph):
        made: BipartiteGraph | None = read_by_form(
            BipartiteGraph, graph, names, lambda: find_columns(graph, {}, names, ends=("row", "column"))
        )
        if made is not None:
            return made
    (names or USUAL_NAMES).check_unused(graph)
    if _is_dense(graph):
        matrix = _dense_matrix(graph, "graph", ("row", "column"))
        if matrix.dtype.kind not in "biuf":
            raise InvalidInputError(f"a matrix must hold numbers or bools, got dtype {matrix.dtype}")
        if matrix.dtype.kind == "f" and np.isnan(matrix).any():
            where = first_of(np.isnan(matrix))
            raise wrong_entry("the matrix has NaN, which is an edge or none,", where)
        read = BipartiteGraph.from_arrays(*np.nonzero(matrix), shape=matrix.shape)
        if not is_frame(graph):
            return replace(read, restore=restorer_of(graph), _checked=True)
        labels = matrix_labels(graph)
        return replace(read, row_labels=labels[0], column_labels=labels[1], _checked=True)
    raise InvalidInputError(
        "a bipartite graph is a BipartiteGraph, a tuple (row, column) of arrays, a list of such tuples, a "
        "table, a dictionary {row: [column, ...]}, a matrix, sparse or dense, or a graph of "
        f"NetworkX, igraph or rustworkx, not {kind_of(graph)}"
    )


def _is_dense(values: AnyArray) -> bool:
    return isinstance(values, list) or hasattr(values, "__array__") or is_tensor(values)


def _dense_matrix(values: AnyArray, name: str, parts: tuple[str, ...]) -> Array:
    """Return a matrix; refuse a list that could be the `parts` of edges instead."""
    if isinstance(values, list) and len(values) == len(parts):
        raise InvalidInputError(
            f"{name} is a list of {len(parts)}, which could be edges or a matrix of {len(parts)} rows: give "
            f"edges as a tuple ({', '.join(parts)}), a matrix as an array, np.array(...)"
        )
    matrix = host_array(values, name)
    if matrix.ndim != 2:
        raise InvalidInputError(f"{name} must be a matrix of two dimensions, got shape {matrix.shape}")
    return matrix
