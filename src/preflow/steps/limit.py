"""Maximum flows of a limited value: one arc in front of the sources, whose capacity is the limit.

The network with this arc is a flow problem as any other, so that every method solves it. A method pushes no
more than the limit into the network. If the minimum cut of this network leaves all sources on the source
side, it is one of the network as given, and the flow is maximum. Otherwise the new arc is the cut, and the
flow has the value of the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import AnyArray
from ..certify.flow import tolerance
from ..errors import InvalidInputError
from ..graph.network import INT64_MAX, FlowNetwork, vertex_mask
from ..solving.result import Status
from ..solving.timing import timed
from .step import Applied, FlowProblem, KnownFlow, LiftedFlow, SecondStage


def read_flow_limit(flow_limit: object, network: FlowNetwork) -> int | float | None:
    """Return the limit in the type of the capacities; None where no flow of int64 or float64 exceeds it.

    InvalidInputError: it is no number or negative, or it is a fraction and the capacities are integers.
    """
    if flow_limit is None:
        return None
    if isinstance(flow_limit, np.integer | np.floating):
        flow_limit = flow_limit.item()
    if isinstance(flow_limit, bool) or not isinstance(flow_limit, int | float) or not flow_limit >= 0:
        raise InvalidInputError(f"flow_limit must be a number that is not negative, got {flow_limit!r}")
    if flow_limit == math.inf:
        return None
    if network.capacity.dtype.kind == "i":
        if flow_limit != int(flow_limit):
            raise InvalidInputError(
                f"flow_limit is {flow_limit}, and the capacities are integers: so is every flow"
            )
        return None if flow_limit > INT64_MAX else int(flow_limit)
    try:
        nearest = float(flow_limit)
    except OverflowError:
        return None
    return nearest if nearest <= flow_limit else math.nextafter(nearest, 0)


@dataclass(frozen=True, eq=False)
class Limited(Applied[FlowProblem]):
    """A problem behind an arc of limited capacity."""

    problem: FlowProblem
    reduced: FlowProblem

    def lift_status(self, status: Status, sink_side: AnyArray) -> Status:
        """Say if the new arc is the cut."""
        network, sources, *_ = self.problem
        is_cut = (sink_side[: network.num_vertices] & vertex_mask(network, sources)).any()
        return "flow-limit" if status == "optimal" and is_cut else status

    def lift_cut(self, sink_side: AnyArray) -> AnyArray:
        """Return the sink's side without what is new, and without sources."""
        network, sources, *_ = self.problem
        return sink_side[: network.num_vertices] & ~vertex_mask(network, sources)

    def lift_flow(self, found: SecondStage) -> SecondStage:
        """Return what computes the flow of the arcs as given."""
        return LimitedFlow(self.problem, self, found)

    def flow(self, reduced_flow: AnyArray) -> AnyArray:
        """Return the flow of the arcs as given."""
        return reduced_flow[: self.problem.network.num_arcs]


class LimitedFlow(LiftedFlow):
    """The second stage of a problem with a limit."""

    def __init__(self, problem: FlowProblem, applied: Limited, reduced: SecondStage) -> None:
        super().__init__(applied, reduced)
        self._problem = problem

    def source_side(self) -> AnyArray:
        """Return which vertices the source reaches over residual arcs, also where the new arc is full."""
        network, sources, sinks, _ = self._problem
        flow, slack = self.flow(), 0.0
        if flow.dtype.kind == "f":
            value = float(self._reduced.flow()[network.num_arcs])  # that of the new arc
            slack = tolerance(network, sources, sinks, value)
        return KnownFlow(network, sources, flow, slack=slack).source_side()


def apply(problem: FlowProblem, limit: int | float) -> Limited:
    """Return the problem with one arc of capacity `limit` in front of the sources.

    The given arcs come first, and those into sources have no capacity, as they can carry no useful flow.
    """
    network, sources, sinks, seconds = problem
    with network.current(), timed(seconds, "build"):
        xp, n = network.xp, network.num_vertices
        tails, heads, source = [n], [int(sources[0])], n
        if len(sources) > 1:
            tails, heads, source = [n + 1] + [n] * len(sources), [n, *sources.tolist()], n + 1
        is_source = vertex_mask(network, sources)
        reverse: AnyArray = network.reverse_capacity
        capacity = xp.where(is_source[network.head], 0, network.capacity)
        if reverse is not None:
            reverse = _with(network, xp.where(is_source[network.tail], 0, reverse), [0] * len(tails))
        behind = replace(
            network,
            num_vertices=source + 1,
            tail=_with(network, network.tail, tails),
            head=_with(network, network.head, heads),
            capacity=_with(network, capacity, [limit] * len(tails)),
            reverse_capacity=reverse,
            labels=None,
        )
    return Limited(problem, FlowProblem(behind, np.array([source]), sinks, seconds))


def _with(network: FlowNetwork, values: AnyArray, more: list[int] | list[int | float]) -> AnyArray:
    """Return an array of the network with some more values of its dtype."""
    return network.xp.concatenate([values, network.xp.asarray(more, dtype=values.dtype)])
