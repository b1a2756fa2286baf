"""A circulation with demands as a maximum flow: find a flow within all bounds, or the cut that forbids it.

Send the lower bound over each arc. What a vertex then has too much of comes from a new source, what it lacks
goes to a new sink, and arcs have the capacity that is left. A maximum flow that fills all arcs of the source
repairs the balance of every vertex. Else the source side of a minimum cut has more than can leave it
(Ahuja, Magnanti and Orlin 1993, section 6.7).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np

from ..arrays import Array, NetworkInput, SupplyInput
from ..certify.min_cost_flow import brought_back, check_flow_of_network, sends_all
from ..drawing.networks import Arcs, draw_flow, flow_texts, supply_colours
from ..errors import InfeasibleFlowError, InvalidInputError
from ..graph.cost_network import CostNetwork, as_cost_network, supplies_or_own
from ..graph.edge_tables import FlowByLabel, labels_of
from ..graph.network import FlowNetwork, exact_sum, join
from ..graph.scaling import size_of, total_of
from ..maxflow.api import max_flow
from ..maxflow.result import MaxFlowResult
from ..mincost.api import min_cost_flow
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from ..solving.run import Deadline
from .base import (
    FlowReduction,
    check_fits,
    difference,
    totals,
    vertex_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Supplies of floats, and what a flow of floats lacks, count as zero up to this fraction of the amounts.
ROUNDING = 2.0**-44


@dataclass(frozen=True, eq=False, repr=False)
class FeasibleFlow(FlowByLabel, DrawnResult):
    """A flow within the bounds of all arcs that sends all supplies.

    Attributes
    ----------
    flow : ndarray of int64 or float64, shape (num_arcs,)
        Flow of every input arc, in input order; integers where all amounts are integers. Negative where an
        undirected arc carries flow from its head to its tail.
    network : CostNetwork
    supply : ndarray of int64 or float64, shape (num_vertices,)
    """

    flow: Array
    network: CostNetwork
    supply: Array

    def verify(self) -> None:
        """Check the bounds of every arc and the balance of every vertex, in linear time."""
        check_flow_of_network(self.network, self.supply, self.flow)

    def _summary(self) -> str:
        return f"flow on {np.count_nonzero(self.flow):,} of {len(self.flow):,} arcs"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the network with flow and capacity of each arc; senders are blue, receivers orange."""
        network = self.network
        texts = flow_texts(self.flow, network.capacity)
        arcs = Arcs(network.tail, network.head, self.flow, texts, np.zeros(network.num_arcs, dtype=bool))
        ends = np.flatnonzero(self.supply > 0), np.flatnonzero(self.supply < 0)
        return draw_flow(ax, arcs, network.labels, supply_colours(self.supply), *ends)


@dataclass(frozen=True, eq=False, kw_only=True)
class CirculationAsMaxFlow(FlowReduction[FeasibleFlow]):
    """A circulation with demands and lower bounds as a maximum flow.

    Attributes
    ----------
    network : FlowNetwork
        The arcs with the capacity that their lower bounds leave, then the arcs of the source and the sink.
    source, sink : int
    given : CostNetwork
        The network as it was given; costs do not matter.
    supply : ndarray, shape (num_vertices,)
    needed : int or float
        The value that a maximum flow has if a feasible flow exists.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.CostNetwork.from_arrays([0, 1, 2], [1, 2, 0], capacity=3, lower=[0, 2, 0])
    >>> reduction = preflow.reductions.CirculationAsMaxFlow.of(network)
    >>> reduction.network.num_arcs, reduction.needed
    (5, 2)
    >>> reduction.solve().flow.tolist()
    [2, 2, 2]
    """

    given: CostNetwork
    supply: Array
    needed: int | float

    @classmethod
    def of(cls, network: NetworkInput, supply: SupplyInput = None) -> Self:
        """Build the maximum flow; arguments as in :func:`preflow.min_cost_flow`."""
        given = as_cost_network(network).plain()
        n = given.num_vertices
        supplies = supplies_or_own(given, supply)
        tail, head = vertex_numbers(given.tail), vertex_numbers(given.head)
        excess, capacity = supplies, given.capacity
        if given.lower is not None:
            lower = given.lower
            places = np.concatenate([head, tail, np.arange(n)])
            excess = totals(places, np.concatenate([lower, -lower, supplies]), n)
            capacity = difference(capacity, lower)
        amount = np.abs(excess)
        whole = supplies.dtype.kind != "f"
        balance = (exact_sum(supplies) if n else 0) if whole else total_of(supplies.tolist())
        slack = 0 if whole else ROUNDING * size_of(amount)
        if not abs(balance) <= slack:
            raise InvalidInputError(f"the supplies sum to {balance:,}, not to zero")
        more, less = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
        source, sink = n, n + 1
        reverse = None
        if given.undirected is not None:
            back = np.where(given.undirected, capacity, 0)
            reverse = np.append(back, np.zeros(len(more) + len(less), dtype=back.dtype))
        built = FlowNetwork.from_arrays(
            np.concatenate([tail, np.full(len(more), source), less]),
            np.concatenate([head, more, np.full(len(less), sink)]),
            join(capacity, amount[more], amount[less]),
            reverse_capacity=reverse,
            num_vertices=n + 2,
        )
        return cls(
            network=built,
            source=source,
            sink=sink,
            given=given,
            supply=supplies.copy(),
            needed=_needed(amount[more]),
        )

    def solve(self, **arguments: Unpack[Keywords]) -> FeasibleFlow:
        """Find a maximum flow with these arguments of :func:`preflow.max_flow`, and return the answer."""
        deadline = Deadline(arguments.get("time_limit"))
        result = max_flow(self.network, self.source, self.sink, **arguments)
        arguments["time_limit"] = deadline.left()
        return self.completed(result, **arguments)

    def completed(self, result: MaxFlowResult, **arguments: Unpack[Keywords]) -> FeasibleFlow:
        """Return the feasible flow.

        A maximum flow of floats is as precise as the sum of all supplies allows: whether a vertex can send
        what is far smaller is left to a minimum-cost flow.

        Raises
        ------
        InfeasibleFlowError
            There is none: the error has the violating cut.
        """
        try:
            found = self.solution(result)
        except InfeasibleFlowError:
            if isinstance(self.needed, int):
                raise
        else:
            if sends_all(self.given, self.supply, found.flow):
                return found
        free = replace(self.given, cost=np.zeros(self.given.num_arcs, dtype=np.int64))
        arguments.pop("method", None)
        arguments.pop("options", None)
        sent = min_cost_flow(free, self.supply, **arguments)
        _ = sent.value
        return FeasibleFlow(sent.flow, self.given, self.supply)

    def solution(self, result: MaxFlowResult) -> FeasibleFlow:
        """Return the feasible flow.

        Raises
        ------
        InfeasibleFlowError
            There is none: the error has the violating cut.
        """
        check_fits(result, self.network)
        given = self.given
        missing = self.needed - result.value
        exact = isinstance(result.value, int) and isinstance(self.needed, int)
        if missing > (0 if exact else result.gap + ROUNDING * abs(self.needed)):
            sink_side = result.sink_side[: given.num_vertices]
            vertices = labels_of(given.labels, np.flatnonzero(~sink_side)).tolist()
            raise InfeasibleFlowError(tuple(vertices), missing, brought=brought_back(given, sink_side))
        flow = result.flow[: given.num_arcs].copy()
        return FeasibleFlow(flow if given.lower is None else flow + given.lower, given, self.supply)


@np.errstate(over="ignore")
def _needed(amounts: Array) -> int | float:
    return exact_sum(amounts) if len(amounts) else 0


def feasible_flow(
    network: NetworkInput, supply: SupplyInput = None, **arguments: Unpack[Keywords]
) -> FeasibleFlow:
    """Find any flow that sends all supplies within the bounds of all arcs, by a maximum flow.

    Parameters
    ----------
    network : CostNetwork, or what :func:`preflow.min_cost_flow` takes
        Its arcs may have lower bounds; costs do not matter.
    supply : array of numbers, shape (num_vertices,), or mapping of vertices to numbers, optional
        Default: the supplies of the network, zero if it has none.
    **arguments
        ``method``, ``threads`` and the other arguments of :func:`preflow.max_flow`.

    Returns
    -------
    FeasibleFlow

    Raises
    ------
    InvalidInputError
        The network is malformed, or the supplies do not sum to zero.
    InfeasibleFlowError
        No flow is feasible: the error has a cut that proves it.

    Examples
    --------
    >>> import preflow
    >>> roads = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=[4, 3, 4], lower=[2, 0, 0])
    >>> preflow.reductions.feasible_flow(roads, [5, 0, -5]).flow.tolist()
    [2, 3, 2]
    >>> try:
    ...     preflow.reductions.feasible_flow(roads, [8, 0, -8])
    ... except preflow.errors.InfeasibleFlowError as error:
    ...     print(error.vertices, error.excess)
    (0, 1) 1
    """
    return CirculationAsMaxFlow.of(network, supply).solve(**arguments)
