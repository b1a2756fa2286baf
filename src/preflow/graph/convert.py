"""Convert everything that a public function accepts as a network or graph.

One rule holds for all problems: a tuple is edges, one array for each part; an array, a list of lists or a
sparse matrix is a matrix. A list that could be either is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import AnyArray, Array, NetworkInput, Vertices
from ..errors import InvalidInputError
from .bipartite import BipartiteGraph
from .grid import GridNetwork
from .grid_input import check_not_masked
from .network import FlowNetwork, MaxFlowProblem
from .networkx_edges import is_networkx
from .placement import host_array, is_tensor


def as_flow_problem(network: NetworkInput, source: Vertices, sink: Vertices) -> tuple[FlowNetwork, Any, Any]:
    """Return the network with its source and sink.

    Parameters
    ----------
    network : FlowNetwork, MaxFlowProblem, (tail, head, capacity), matrix, or NetworkX graph
        Or a GridNetwork, of which all arcs are created. See :func:`as_flow_network`.
    source, sink : vertex, collection of vertices, or None
        None takes those of a MaxFlowProblem.
    """
    if isinstance(network, GridNetwork):
        if source is not None or sink is not None:
            raise InvalidInputError("a grid has its source and its sink in its capacities: give none")
        network = network.to_flow_problem()
    if isinstance(network, MaxFlowProblem):
        return (
            as_flow_network(network.network),
            network.source if source is None else source,
            network.sink if sink is None else sink,
        )
    return as_flow_network(network), source, sink


def as_flow_network(network: NetworkInput) -> FlowNetwork:
    """Return a FlowNetwork.

    Parameters
    ----------
    network : FlowNetwork, (tail, head, capacity), matrix, or NetworkX graph
        A matrix is square, sparse or dense; its entry (u, v) is the capacity of an arc from u to v. Zeros of
        a dense matrix are not arcs.
    """
    if isinstance(network, FlowNetwork):
        return network
    if isinstance(network, tuple):
        if len(network) != 3:
            raise InvalidInputError(
                f"a network tuple must be (tail, head, capacity), got {len(network)} entries"
            )
        return FlowNetwork.from_arrays(*network)
    if hasattr(network, "tocsr"):
        return FlowNetwork.from_scipy(network)
    if is_networkx(network):
        return FlowNetwork.from_networkx(network)
    if _is_dense(network):
        matrix = _dense_matrix(network, "network", ("tail", "head", "capacity"))
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidInputError(f"a capacity matrix is square; this one has shape {matrix.shape}")
        tail, head = np.nonzero(matrix)
        return FlowNetwork.from_arrays(tail, head, matrix[tail, head], num_vertices=len(matrix))
    raise InvalidInputError(
        "a network is a FlowNetwork, what read_dimacs returns, a tuple (tail, head, capacity), a square "
        f"matrix of capacities, sparse or dense, or a NetworkX graph, not {type(network).__name__}"
    )


def as_bipartite_graph(graph: Any) -> BipartiteGraph:
    """Return a BipartiteGraph.

    Parameters
    ----------
    graph : BipartiteGraph, (row, column), matrix, or NetworkX graph
        Every stored entry of a sparse matrix is an edge, and every nonzero entry of a dense one.
    """
    if isinstance(graph, BipartiteGraph):
        return graph
    if isinstance(graph, tuple):
        if len(graph) != 2:
            raise InvalidInputError(
                f"a tuple of edges must be (row, column), got {len(graph)} entries; linear_assignment takes "
                "costs"
            )
        return BipartiteGraph.from_edges(*graph)
    if hasattr(graph, "tocsr"):
        return BipartiteGraph.from_scipy(graph)
    if is_networkx(graph):
        return BipartiteGraph.from_networkx(graph)
    if _is_dense(graph):
        matrix = _dense_matrix(graph, "graph", ("row", "column"))
        if matrix.dtype.kind not in "biuf":
            raise InvalidInputError(f"a matrix must hold numbers or bools, got dtype {matrix.dtype}")
        if matrix.dtype.kind == "f" and np.isnan(matrix).any():
            raise InvalidInputError("an entry of the matrix is NaN, which is an edge or none")
        return BipartiteGraph.from_edges(*np.nonzero(matrix), shape=matrix.shape)
    raise InvalidInputError(
        "a bipartite graph is a BipartiteGraph, a tuple (row, column), a matrix, sparse or dense, or a "
        f"NetworkX graph, not {type(graph).__name__}"
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
    check_not_masked(values, name)
    matrix = host_array(values, name)
    if matrix.ndim != 2:
        raise InvalidInputError(f"{name} must be a matrix of two dimensions, got shape {matrix.shape}")
    return matrix
