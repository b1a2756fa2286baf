"""Read graphs for cuts: edges with weights that are not negative, as integers, or arcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, GraphInput, WeightInput
from ..errors import CapacityOverflowError, InvalidInputError
from ..graph.network import EXACT_FLOAT, FlowNetwork
from ..graph.undirected import UndirectedGraph, as_undirected_graph

#: The sum of all weights, as integers, is below two to this power.
BITS_OF_SUM = 61
LEAST_FLOAT = float(np.nextafter(0.0, 1.0))


class WholeWeights(NamedTuple):
    """Weights as integers.

    Attributes
    ----------
    weight : ndarray of int64
    error : float
        By how much the sum of all weights may have changed; 0 where they are exact.
    """

    weight: NDArray[np.int64]
    error: float


def whole_weights(weight: Array) -> WholeWeights:
    """Return weights as integers: unchanged, or scaled and rounded down.

    Raises
    ------
    CapacityOverflowError
        The sum of integers passes 2**61.
    """
    total = float(weight.sum(dtype=np.float64))
    if weight.dtype.kind == "i":
        if total >= 2.0**BITS_OF_SUM:
            raise CapacityOverflowError("the weights sum past 2**61")
        return WholeWeights(weight, 0.0)
    if np.all((weight == np.rint(weight)) & (weight <= EXACT_FLOAT)) and total < 2.0**BITS_OF_SUM:
        return WholeWeights(weight.astype(np.int64), 0.0)
    if not np.isfinite(total):
        raise CapacityOverflowError("the weights sum past float64")
    exponent = BITS_OF_SUM - 1 - int(np.frexp(total)[1])
    # Of the smallest floats, no error is below the smallest one.
    error = len(weight) * max(2.0**-exponent, LEAST_FLOAT)
    return WholeWeights(np.floor(np.ldexp(weight, exponent)).astype(np.int64), error)


def read_weighted_graph(
    graph: GraphInput, weight: WeightInput, usual: Sequence[str], called: str
) -> UndirectedGraph:
    """Return an undirected graph with weights that are not negative; without weights each edge counts 1.

    `usual` has the names of attributes of which the first one found is the weight if `weight` is None;
    `called` is the function that was called, for messages.
    """
    if isinstance(graph, FlowNetwork):
        graph = _undirected(graph)
    read = as_undirected_graph(graph, weight, usual, everywhere=True, called=called).plain()
    if read.weight is None:
        read = read.with_weights(np.ones(read.num_edges, dtype=np.int64))
    assert read.weight is not None
    if len(read.weight) and read.weight.min() < 0:
        edge = int(read.weight.argmin())
        raise InvalidInputError(f"weight is negative: {read.weight[edge]} at {edge}")
    if read.num_vertices < 2:
        raise InvalidInputError(f"a cut needs two vertices, and the graph has {read.num_vertices}")
    return read


def _undirected(network: FlowNetwork) -> UndirectedGraph:
    network = network.on_host()
    reverse = network.reverse_capacity
    if reverse is None or not np.array_equal(reverse, network.capacity):
        raise InvalidInputError(
            "the network is directed: for an undirected graph the reverse capacities equal the capacities"
        )
    return UndirectedGraph(
        network.num_vertices, network.tail, network.head, network.capacity, labels=network.labels
    )


def read_graph(graph: GraphInput, called: str) -> FlowNetwork | UndirectedGraph:
    """Return a directed network, or an undirected graph; weights and capacities do not matter."""
    is_directed = getattr(graph, "is_directed", None)
    read: FlowNetwork | UndirectedGraph
    if callable(is_directed) and is_directed():
        read = FlowNetwork.from_networkx(graph, capacity=None)
    elif isinstance(graph, FlowNetwork) and graph.reverse_capacity is None:
        read = graph.on_host()
    elif isinstance(graph, FlowNetwork):
        read = _undirected(graph)
    else:
        read = as_undirected_graph(graph, False, called=called).plain()
    if read.num_vertices < 2:
        raise InvalidInputError(f"connectivity needs two vertices, and the graph has {read.num_vertices}")
    return read
