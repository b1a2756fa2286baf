"""Several sources and sinks as one of each: a new source with an arc to every source, likewise a new sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, NetworkInput, Vertices
from ..graph.network import FlowNetwork, join
from ..maxflow.result import MaxFlowResult
from .base import FlowAndCut, FlowReduction, check_fits, read_flow_problem, sum_of, vertex_numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class TerminalsMerged(FlowReduction[FlowAndCut]):
    """A maximum flow between several sources and sinks as one between two vertices.

    :func:`preflow.max_flow` takes several as they are; this is for solvers that do not, and a model of how
    to do the same with costs for :func:`preflow.max_flow_min_cost`.

    Attributes
    ----------
    network : FlowNetwork
        The arcs as given, then those from the new source and to the new sink. These can carry more than the
        arcs of a source, or a sink.
    source, sink : int
    given : FlowNetwork
        The network as it was given.
    sources, sinks : ndarray of int64

    Examples
    --------
    >>> import preflow
    >>> reduction = preflow.reductions.TerminalsMerged.of(([0, 1, 1], [2, 2, 3], [3, 2, 4]), [0, 1], [2, 3])
    >>> reduction.source, reduction.sink, reduction.network.num_arcs
    (4, 5, 7)
    >>> found = reduction.solve()
    >>> found.value, found.flow.tolist()
    (9, [3, 2, 4])
    >>> found.verify()
    """

    given: FlowNetwork
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]

    @classmethod
    def of(cls, network: NetworkInput, source: Vertices = None, sink: Vertices = None) -> Self:
        """Build the network with one source and one sink; arguments as in :func:`preflow.max_flow`."""
        given, sources, sinks = read_flow_problem(network, source, sink)
        n = given.num_vertices
        tail, head = vertex_numbers(given.tail), vertex_numbers(given.head)
        forward, back = given.capacity, given.reverse_capacity
        none = np.zeros(len(tail), dtype=np.int64)
        leaving = _amounts(sources, tail, head, forward, none if back is None else back)
        entering = _amounts(sinks, head, tail, forward, none if back is None else back)
        more = len(sources) + len(sinks)
        built = FlowNetwork.from_arrays(
            np.concatenate([tail, np.full(len(sources), n), sinks]),
            np.concatenate([head, sources, np.full(len(sinks), n + 1)]),
            join(forward, leaving, entering),
            reverse_capacity=None if back is None else np.append(back, np.zeros(more, dtype=back.dtype)),
            num_vertices=n + 2,
        )
        return cls(network=built, source=n, sink=n + 1, given=given, sources=sources, sinks=sinks)

    def solution(self, result: MaxFlowResult) -> FlowAndCut:
        """Return the flow between all sources and sinks, and the cut."""
        check_fits(result, self.network)
        return FlowAndCut(
            result.flow[: self.given.num_arcs].copy(),
            result.sink_side[: self.given.num_vertices].copy(),
            result.value,
            result.gap,
            self.given,
            self.sources,
            self.sinks,
        )


def _amounts(vertices: NDArray[np.int64], tail: Array, head: Array, forward: Array, back: Array) -> Array:
    """Return an amount for each of some vertices that is more than all arcs out of it can carry.

    Each gets one more than the capacities out of all of them; infinity for floats. The arcs of the new
    terminals are then never full, so that a cut has the old ones on the right side.
    """
    if forward.dtype.kind == "f":
        return np.full(len(vertices), np.inf)
    leaving, entering = np.isin(tail, vertices), np.isin(head, vertices)
    return np.full(len(vertices), int(sum_of(join(forward[leaving], back[entering]))) + 1)
