"""Read graphs for cuts: edges with weights that are not negative, as integers, or arcs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, GraphInput, WeightInput
from ..certify.contraction import Contraction
from ..errors import InvalidInputError
from ..graph.edge_tables import ColumnNames
from ..graph.graph_edges import is_directed
from ..graph.network import EXACT_FLOAT, FlowNetwork, exact_sum
from ..graph.scaling import MARGIN, is_close, limit_above, scaled
from ..graph.undirected import UndirectedGraph, as_undirected_graph

#: Sums of weights, as integers, are below two to this power.
BITS_OF_SUM = 61


class WholeWeights(NamedTuple):
    """Weights as integers, cut off at a limit: unchanged, or multiplied by a power of two and rounded down.

    Whatever the limit, a cut of these integers is at most as heavy as that of the weights.
    """

    weight: NDArray[np.int64]
    exponent: int | None = None  #: the power; None where none was rounded

    def bound(self, amount: int) -> Fraction | int:
        """Return an amount of these integers in the unit of the weights."""
        return amount if self.exponent is None else Fraction(amount) / Fraction(2) ** self.exponent

    def gap(self, total: int | float, lower: Fraction | int) -> float:
        """Return how far a cut may be from the smallest one, which weighs `lower` at least; rounded up.

        `total` is the weight of the cut as :func:`weight_across` returns it.
        """
        if total == math.inf:
            return math.inf
        difference = (total if isinstance(total, int) else Fraction(total)) - lower
        if self.exponent is None or isinstance(total, int):
            return float(abs(difference))
        return math.nextafter(max(float(difference), 0.0) + math.ulp(total) / 2, math.inf)


class FoundCut(NamedTuple):
    """A cut that is the smallest one of the integers `whole`: see :class:`preflow.graph.scaling.Outcome`."""

    side: NDArray[np.bool_]
    whole: WholeWeights
    least: int  #: the weight of the cut in these
    upper: int | float  #: the weight of the cut
    limit: float = 0.0  #: weights were cut off there
    finished: bool = True
    #: rounds, order: the proof of a cut of an undirected graph
    rounds: tuple[Contraction, ...] = ()
    order: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def scale_exponent(self) -> int | None:
        """The power of two of the integers."""
        return self.whole.exponent

    @property
    def gap(self) -> float:
        """How far the weight may be from the minimum."""
        return self.whole.gap(self.upper, self.whole.bound(self.least))

    @property
    def lower(self) -> int | float:
        """The least weight of a cut."""
        return self.upper - (math.ceil(self.gap) if isinstance(self.upper, int) else self.gap)

    @property
    def size(self) -> int | float:
        """The sum of the terms of the weight."""
        return self.upper


def exact_weights(weight: Array) -> WholeWeights | None:
    """Return weights as the same integers; None where they are none, or sum past 2**61."""
    if weight.dtype.kind == "f" and not ((weight == np.rint(weight)) & (weight <= EXACT_FLOAT)).all():
        return None
    whole = weight.astype(np.int64, copy=False)
    return WholeWeights(whole) if exact_sum(whole) < 2**BITS_OF_SUM else None


def whole_weights(weight: Array, limit: float, largest_sum: Callable[[Array], float]) -> WholeWeights:
    """Return weights as integers, cut off above a limit; floats, and integers that do not fit, are scaled.

    The limit is the weight of a cut: no lighter cut contains an edge that was cut off. `largest_sum` returns
    the largest sum of weights that must be below 2**61.
    """
    exact = exact_weights(weight)
    if exact is not None:
        return exact
    limit = limit_above(limit)
    cut_off = np.minimum(weight, limit)
    # Sums of floats near the largest one would overflow.
    unit = int(np.frexp(cut_off.max())[1])
    bits = int(np.frexp(largest_sum(np.ldexp(cut_off, -unit)) * MARGIN)[1]) + unit
    exponent = BITS_OF_SUM - bits
    if weight.dtype.kind == "i" and exponent >= 0:
        return WholeWeights(scaled(weight, 0, limit, np))
    return WholeWeights(scaled(weight, exponent, limit, np).astype(np.int64), exponent)


def degrees(num_vertices: int, tail: Array, head: Array, weight: Array) -> NDArray[np.float64]:
    """Return the weight of the edges at each vertex but for loops, in float64."""
    proper = tail != head
    ends = np.concatenate([tail[proper], head[proper]])
    return np.bincount(ends, np.tile(weight[proper], 2), num_vertices).astype(np.float64)


def weight_across(weight: Array) -> int | float:
    """Return the sum of the weights of some edges, correctly rounded; infinite where it passes float64."""
    if weight.dtype.kind == "i":
        return exact_sum(weight)
    try:
        return math.fsum(weight.tolist())
    except OverflowError:
        return math.inf


def search_order(first: NDArray[np.int64], head: Array) -> NDArray[np.int64]:
    """Return the vertices that are connected with vertex 0, in the order of a breadth-first search.

    The neighbours of vertex `v` are those in `head` from ``first[v]`` up to ``first[v + 1]``.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = len(first) - 1
    graph = csr_array((np.ones(len(head)), head.astype(np.int64), first), shape=(n, n))
    order: NDArray[np.int64] = breadth_first_order(graph, 0, return_predecessors=False).astype(np.int64)
    return order


def is_optimal(gap: float, weight: int | float, num_edges: int) -> bool:
    """Return whether a gap is that of an optimal cut: 0 for integers; sums of floats are rounded."""
    if isinstance(weight, int):
        return gap == 0
    return is_close(gap, weight, num_edges, math.ulp(weight))


def read_weighted_graph(
    graph: GraphInput, weight: WeightInput, usual: Sequence[str], called: str, names: ColumnNames
) -> UndirectedGraph:
    """Return an undirected graph with weights that are not negative; without weights each edge counts 1.

    `usual` has the names of attributes of which the first one found is the weight if `weight` is None;
    `called` is the function that was called, for messages, and `names` has the columns of the ends of a
    table.
    """
    if isinstance(graph, FlowNetwork):
        graph = _undirected(graph)
    read = as_undirected_graph(graph, weight, usual, everywhere=True, called=called, names=names).plain()
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
    read: FlowNetwork | UndirectedGraph
    if is_directed(graph):
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
