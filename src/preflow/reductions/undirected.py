"""Undirected arcs as two directed ones, one in each direction with the same capacity and cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..arrays import Array, NetworkInput, SupplyInput, Vertices
from ..graph.cost_network import (
    CostNetwork,
    as_cost_network,
    net_of_one_way,
    supplies_or_own,
    undirected_arcs,
)
from ..graph.network import FlowNetwork
from ..maxflow.result import MaxFlowResult
from ..mincost.result import MinCostFlowResult
from .base import (
    CostReduction,
    FlowAndCut,
    FlowReduction,
    check_fits,
    net_flow,
    of_given,
    one_way,
    only,
    read_flow_problem,
    vertex_numbers,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class UndirectedAsDirected(FlowReduction[FlowAndCut]):
    """A maximum flow in a network with arcs that work both ways as one in a directed network.

    :func:`preflow.max_flow` takes reverse capacities as they are; this is for solvers that do not.

    Attributes
    ----------
    network : FlowNetwork
        The arcs as given, then those in the opposite direction.
    source, sink : int
    given : FlowNetwork
        The network as it was given.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.FlowNetwork.from_arrays([0, 2], [1, 1], [3, 2], reverse_capacity=[3, 2])
    >>> reduction = preflow.reductions.UndirectedAsDirected.of(network, 0, 2)
    >>> reduction.network.tail.tolist(), reduction.network.head.tolist()
    ([0, 2, 1, 1], [1, 1, 0, 2])
    >>> found = reduction.solve()
    >>> found.value, found.flow.tolist()
    (2, [2, -2])
    >>> found.verify()
    """

    given: FlowNetwork

    @classmethod
    def of(cls, network: NetworkInput, source: Vertices = None, sink: Vertices = None) -> Self:
        """Build the directed network; arguments as in :func:`preflow.max_flow`, one source and one sink."""
        given, sources, sinks = read_flow_problem(network, source, sink)
        built = FlowNetwork.from_arrays(*one_way(given), num_vertices=given.num_vertices)
        return cls(network=built, source=only(sources, "source"), sink=only(sinks, "sink"), given=given)

    def solution(self, result: MaxFlowResult) -> FlowAndCut:
        """Return net flows of the arcs as given, and the cut, which is the same."""
        check_fits(result, self.network)
        return FlowAndCut(
            net_flow(self.given, result.flow),
            result.sink_side.copy(),
            result.value,
            result.gap,
            self.given,
            np.array([self.source]),
            np.array([self.sink]),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class UndirectedCostsAsDirected(CostReduction[MinCostFlowResult]):
    """A minimum-cost flow in a network with undirected arcs as one in a directed network.

    :func:`preflow.min_cost_flow` takes undirected arcs as they are; this is for solvers that do not.

    Attributes
    ----------
    network : CostNetwork
        The arcs as given, then the opposites of the undirected ones; it has its supplies.
    given : CostNetwork
        The network as it was given.
    supply : ndarray, shape (num_vertices,)
        What vertices send.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.CostNetwork.from_arrays([0, 2], [1, 1], capacity=3, cost=[1, 4], undirected=True)
    >>> reduction = preflow.reductions.UndirectedCostsAsDirected.of(network, [2, 0, -2])
    >>> reduction.network.num_arcs
    4
    >>> result = reduction.solve()
    >>> result.flow.tolist(), result.cost
    ([2, -2], 10)
    >>> result.verify()
    """

    given: CostNetwork
    supply: Array

    @classmethod
    def of(cls, network: NetworkInput, supply: SupplyInput = None) -> Self:
        """Build the directed network; arguments as in :func:`preflow.min_cost_flow`."""
        given = as_cost_network(network).plain()
        supplies = supplies_or_own(given, supply)
        both = undirected_arcs(given)
        tail, head = vertex_numbers(given.tail), vertex_numbers(given.head)
        lower = given.lower
        built = replace(
            given,
            tail=np.append(tail, head[both]),
            head=np.append(head, tail[both]),
            capacity=np.append(given.capacity, given.capacity[both]),
            cost=np.append(given.cost, given.cost[both]),
            lower=None if lower is None else np.append(lower, np.zeros(len(both), dtype=lower.dtype)),
            supply=supplies,
            undirected=None,
        )
        return cls(network=built, given=given, supply=supplies.copy())

    def solution(self, result: MinCostFlowResult) -> MinCostFlowResult:
        """Return net flows of the arcs as given; the potentials are those of `result`."""
        check_fits(result, self.network)
        return of_given(result, self.given, self.supply, net_of_one_way(self.given, result.flow))
