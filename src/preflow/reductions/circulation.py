"""A maximum flow as a minimum-cost circulation: one arc of cost -1 leads from the sink back to the source.

All other arcs are free, so a circulation of minimum cost sends as much as possible over that arc. Its
potentials take two values that matter: the vertices whose potential is above that of the source are the sink
side of a minimum cut, because an arc from the source side to them has negative reduced cost and is full.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Self, Unpack

import numpy as np

from ..arrays import NetworkInput, Vertices
from ..certify.cut import cut_capacity
from ..errors import UnboundedFlowError
from ..graph.cost_network import CostNetwork
from ..graph.network import FlowNetwork, flow_bound
from ..graph.scaling import is_close, proved_gap
from ..mincost.api import min_cost_flow
from ..mincost.result import MinCostFlowResult
from ..solving.call import Keywords
from ..solving.run import Deadline
from .base import (
    CostReduction,
    FlowAndCut,
    check_fits,
    net_flow,
    one_way,
    only,
    read_flow_problem,
    sum_of,
)

#: Floats become integers of so few bits that float64 has all amounts.
FLOAT_BITS = 52


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxFlowAsCirculation(CostReduction[FlowAndCut]):
    """A maximum flow as a minimum-cost circulation.

    Attributes
    ----------
    network : CostNetwork
        The arcs as given, then those in the opposite direction if there are reverse capacities, then the arc
        from the sink to the source.
    source, sink : int
    given : FlowNetwork
        The network as it was given.
    exponent : int or None
        Capacities of `network` are integers: floats times two to this power, rounded down. None: they are
        those of `given`.

    Examples
    --------
    >>> import preflow
    >>> arcs = [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]
    >>> reduction = preflow.reductions.MaxFlowAsCirculation.of(arcs, 0, 3)
    >>> reduction.network.cost.tolist()
    [0, 0, 0, 0, -1]
    >>> found = reduction.solve()
    >>> found.value, found.flow.tolist(), found.sink_side.tolist()
    (4, [2, 2, 2, 2], [False, False, True, True])
    >>> found.verify()
    """

    source: int
    sink: int
    given: FlowNetwork
    exponent: int | None

    @classmethod
    def of(cls, network: NetworkInput, source: Vertices = None, sink: Vertices = None) -> Self:
        """Build the circulation; arguments as in :func:`preflow.max_flow`, one source and one sink."""
        given, sources, sinks = read_flow_problem(network, source, sink)
        start, end = only(sources, "source"), only(sinks, "sink")
        return cls._built(given, start, end, flow_bound(given, sources, sinks))

    @classmethod
    def _built(cls, given: FlowNetwork, start: int, end: int, bound: float) -> Self:
        """Build the circulation, where no flow of floats exceeds `bound`."""
        tail, head, capacity = one_way(given)
        # The arc is not full unless the flow is unbounded, so its reduced cost is not negative, and the sink
        # is on the sink side.
        exponent = None
        if capacity.dtype.kind == "i":
            limit = int(sum_of(capacity[tail == start])) + 1
        else:
            # No arc of a minimum cut has half of this capacity, so larger ones need not be told apart.
            bound = min(bound, sys.float_info.max)
            exponent = FLOAT_BITS - 1 - math.frexp(bound)[1]
            limit = 2 * int(np.ldexp(bound, exponent))
            with np.errstate(over="ignore"):
                capacity = np.minimum(np.floor(np.ldexp(capacity, exponent)), limit).astype(np.int64)
        built = CostNetwork.from_arrays(
            np.append(tail, end),
            np.append(head, start),
            capacity=np.append(capacity, limit),
            cost=np.append(np.zeros(len(tail), dtype=np.int64), -1),
            num_vertices=given.num_vertices,
        )
        return cls(network=built, source=start, sink=end, given=given, exponent=exponent)

    def solve(self, **arguments: Unpack[Keywords]) -> FlowAndCut:
        """Find a flow with these arguments of :func:`preflow.min_cost_flow`, and return the answer.

        Floats are solved again relative to the cut found, until flow and cut are as close as
        :func:`preflow.graph.scaling.is_close` asks.
        """
        deadline = Deadline(arguments.get("time_limit"))
        found, reduction = super().solve(**arguments), self
        while reduction.exponent is not None:
            cut = cut_capacity(self.given, found.sink_side)
            narrower = self._built(self.given, self.source, self.sink, cut) if cut > 0 else reduction
            close = is_close(found.gap, cut, self.given.num_arcs)
            if close or narrower.exponent is None or narrower.exponent <= reduction.exponent:
                break
            reduction = narrower
            arguments["time_limit"] = deadline.left()
            found = reduction.solution(min_cost_flow(reduction.network, **arguments))
        return found

    def solution(self, result: MinCostFlowResult) -> FlowAndCut:
        """Return the maximum flow, and the minimum cut that the potentials describe.

        Raises
        ------
        UnboundedFlowError
            Arcs of infinite capacity lead from the source to the sink.
        """
        check_fits(result, self.network)
        flow, value = net_flow(self.given, result.flow), result.flow[-1].item()
        side = result.potentials > result.potentials[self.source]
        gap: int | float = 0
        if self.exponent is not None:
            if value > 0.75 * self.network.capacity[-1]:
                raise UnboundedFlowError("arcs of infinite capacity lead from the source to the sink")
            flow, value = np.ldexp(flow, -self.exponent), math.ldexp(value, -self.exponent)
            cut = cut_capacity(self.given, side)
            gap = proved_gap(cut, value, cut)
        ends = np.array([self.source]), np.array([self.sink])
        return FlowAndCut(flow, side, value, gap, self.given, *ends)
