"""The shape that all reductions share: a built instance, `solve`, and `solution`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Array, NetworkInput, Vertices
from ..certify.cut import check_flow_and_cut, crossing_arcs
from ..certify.min_cost_flow import cost_and_gap, dual_bound, flow_cost, is_near, is_whole
from ..drawing.networks import Arcs, draw_flow, flow_texts, side_colours
from ..errors import CapacityOverflowError, InfeasibleFlowError, InvalidInputError, UnequalSumsError
from ..graph.convert import as_flow_problem
from ..graph.cost_input import as_costs
from ..graph.cost_network import CostNetwork
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.network import INT64_MAX, FlowNetwork, exact_sum, read_capacities
from ..maxflow.api import max_flow
from ..maxflow.result import MaxFlowResult, MinCutResult
from ..mincost.api import min_cost_flow
from ..mincost.result import MinCostFlowResult
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from ..solving.read_only import ReadOnlyArrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False, kw_only=True)
class FlowReduction(ReadOnlyArrays, ABC, Generic[Answer]):
    """A problem as a maximum flow.

    Attributes
    ----------
    network : FlowNetwork
    source, sink : int
    """

    network: FlowNetwork
    source: int
    sink: int

    @abstractmethod
    def solution(self, result: MaxFlowResult) -> Answer:
        """Return the answer that a maximum flow of `network` gives, with its proof."""

    def solve(self, **arguments: Unpack[Keywords]) -> Answer:
        """Find a maximum flow with these arguments of :func:`preflow.max_flow`, and return the answer."""
        return self.solution(max_flow(self.network, self.source, self.sink, **arguments))


@dataclass(frozen=True, eq=False, kw_only=True)
class CostReduction(ReadOnlyArrays, ABC, Generic[Answer]):
    """A problem as a minimum-cost flow.

    Attributes
    ----------
    network : CostNetwork
        It has its supplies.
    """

    network: CostNetwork

    @abstractmethod
    def solution(self, result: MinCostFlowResult) -> Answer:
        """Return the answer that a flow of minimum cost in `network` gives, with its proof."""

    def solve(self, **arguments: Unpack[Keywords]) -> Answer:
        """Find a flow with these arguments of :func:`preflow.min_cost_flow`, and return the answer."""
        try:
            return self.solution(min_cost_flow(self.network, **arguments))
        except (InfeasibleFlowError, UnequalSumsError) as error:
            error.advice = ()  # a reduction sends all
            raise


@dataclass(frozen=True, eq=False, repr=False)
class FlowAndCut(DrawnResult):
    """A maximum flow and a minimum cut that another problem led to.

    Attributes
    ----------
    flow : ndarray of int64 or float64, shape (num_arcs,)
        Net flow of every arc of `network`, in input order.
    sink_side : ndarray of bool, shape (num_vertices,)
    value : int or float
    gap : int or float
        How far rounding of floats may have led from the optimum; 0 for integers.
    network : FlowNetwork
        The network as it was given.
    sources, sinks : ndarray of int64
    """

    flow: Array
    sink_side: NDArray[np.bool_]
    value: int | float
    gap: int | float
    network: FlowNetwork
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]

    def verify(self) -> None:
        """Prove flow and cut optimal for the network as given, in linear time."""
        bounds = ("optimal", self.value, self.value, self.gap)
        check_flow_and_cut(self.network, self.sources, self.sinks, self.flow, self.sink_side, *bounds)

    def _summary(self) -> str:
        far = f"{int(self.sink_side.sum()):,} of {len(self.sink_side):,}"
        return f"value {self.value:,}, {far} vertices on the sink side"

    def _draw(self, ax: Axes | None) -> Axes:
        network = self.network
        in_cut = np.zeros(network.num_arcs, dtype=bool)
        forward, backward = crossing_arcs(network, self.sink_side)
        in_cut[forward] = True
        if network.reverse_capacity is not None:
            in_cut[backward] = True
        texts = flow_texts(self.flow, network.capacity)
        arcs = Arcs(network.tail, network.head, self.flow, texts, in_cut)
        return draw_flow(ax, arcs, network.labels, side_colours(self.sink_side), self.sources, self.sinks)


def check_fits(result: MaxFlowResult | MinCutResult | MinCostFlowResult, network: object) -> None:
    """Check that a result is optimal and belongs to the network of a reduction.

    InvalidInputError: it belongs to another network. NotOptimalError: the solve stopped early.
    """
    other = getattr(result, "network", None)
    if other is not network and not alike(other, network):
        raise InvalidInputError("the result does not belong to the network of this reduction")
    _ = result.value


def cost_of(costs: Array) -> int | float:
    """Return the sum of costs: exact for integers, rounded once for floats."""
    if not len(costs):
        return 0
    return math.fsum(costs.tolist()) if costs.dtype.kind == "f" else exact_sum(costs)


def of_given(
    result: MinCostFlowResult, network: CostNetwork, supply: Array, flow: Array
) -> MinCostFlowResult:
    """Return a result for the network as given, with the potentials of a result for another form of it."""
    cost, gap, status = flow_cost(network, flow), 0.0, result.status
    lower = cost
    if not is_whole(network, supply, result.potentials):
        gap = cost_and_gap(network, supply, flow, result.potentials, result._exact).gap
        if not is_near(network, supply, flow, result.potentials, gap):
            status, lower = "approximate", min(dual_bound(network, supply, result.potentials), cost)
            gap = cost - lower
    return replace(
        result,
        status=status,
        flow=flow,
        supply=supply,
        network=network,
        lower_bound=lower,
        upper_bound=cost,
        _gap=gap,
    )


def alike(one: object, other: object) -> bool:
    """Whether two networks have the same arcs, as a network and its copy do."""
    if type(one) is not type(other) or not isinstance(one, FlowNetwork | CostNetwork):
        return False
    assert isinstance(other, FlowNetwork | CostNetwork)
    return (
        one.num_vertices == other.num_vertices
        and np.array_equal(one.tail, other.tail)
        and np.array_equal(one.head, other.head)
        and np.array_equal(one.capacity, other.capacity)
    )


def vertex_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """Return vertices of a checked network as int64, so that they can be added to."""
    return np.asarray(values).astype(np.int64)


def difference(larger: Array, smaller: Array) -> Array:
    """Return ``larger - smaller``.

    CapacityOverflowError: a difference of integers does not fit int64.
    """
    if larger.dtype.kind == smaller.dtype.kind == "i" and len(larger):
        wrapped = larger - smaller
        if ((smaller < 0) & (wrapped < larger)).any() or ((smaller > 0) & (wrapped > larger)).any():
            raise CapacityOverflowError("a capacity less its lower bound does not fit int64")
        return wrapped
    return larger - smaller


def totals(vertices: NDArray[np.int64], amounts: Array, num_vertices: int) -> Array:
    """Return the sum of the amounts at each vertex.

    CapacityOverflowError: integers at a vertex sum to more than int64 can represent.
    """
    sums = np.zeros(num_vertices, dtype=amounts.dtype)
    if amounts.dtype.kind == "i" and float(np.abs(amounts.astype(np.float64)).sum()) >= 2.0**62:
        exact = np.zeros(num_vertices, dtype=object)
        np.add.at(exact, vertices, amounts.astype(object))
        if max(map(abs, exact.tolist())) > INT64_MAX:
            raise CapacityOverflowError("amounts at a vertex sum past int64")
        return exact.astype(np.int64)
    np.add.at(sums, vertices, amounts)
    return sums


def sum_of(amounts: Array) -> int | float:
    """Return the sum of non-negative amounts; of integers at most the largest int64 less one."""
    if amounts.dtype.kind == "f":
        return float(amounts.sum())
    return min(exact_sum(amounts), INT64_MAX - 1) if len(amounts) else 0


def read_flow_problem(
    network: NetworkInput, source: Vertices, sink: Vertices
) -> tuple[FlowNetwork, NDArray[np.int64], NDArray[np.int64]]:
    """Return a network, in host memory, with its sources and sinks: see :func:`preflow.max_flow`."""
    given, source, sink = as_flow_problem(network, source, sink)
    return given.on_host(), *given.terminals(source, sink)


def only(vertices: NDArray[np.int64], role: str) -> int:
    """Return the only one of some vertices."""
    if len(vertices) > 1:
        raise InvalidInputError(
            f"this needs one {role}, got {len(vertices)}: TerminalsMerged connects several"
        )
    return int(vertices[0])


def one_way(network: FlowNetwork) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return tail, head and capacity of all arcs, then of the opposites of those with a reverse capacity."""
    tail, head = vertex_numbers(network.tail), vertex_numbers(network.head)
    if network.reverse_capacity is None:
        return tail, head, network.capacity
    return (
        np.append(tail, head),
        np.append(head, tail),
        np.append(network.capacity, network.reverse_capacity),
    )


def net_flow(network: FlowNetwork, flow: Array) -> Array:
    """Return the flow of the arcs of a network from that of the arcs of :func:`one_way`."""
    m = network.num_arcs
    return flow[:m].copy() if network.reverse_capacity is None else flow[:m] - flow[m : 2 * m]


def read_limits(values: ArrayLike, count: int, name: str) -> NDArray[np.int64]:
    """Return limits of rows or columns as integers whose sum leaves room."""
    limits, larger = read_capacities(values, count, name)
    if limits.dtype.kind != "i":
        raise InvalidInputError(f"{name} must hold integers")
    if larger or float(limits.astype(np.float64).sum()) >= 2.0**62:
        raise CapacityOverflowError(f"{name} sums to 2**62 or more")
    whole: Array = limits.astype(np.int64)
    return whole


def one_matrix(cost: AnyArray, maximize: bool = False) -> DenseCosts | SparseCosts:
    """Return one matrix of costs in host memory."""
    costs: Any = as_costs(cost, maximize)
    if not isinstance(costs, DenseCosts | SparseCosts) or costs.leading:
        raise InvalidInputError("cost must be one matrix, dense or sparse, in host memory")
    if costs.base is not None:
        raise InvalidInputError("integer costs are at most 2**59 in size")
    return costs.plain()
