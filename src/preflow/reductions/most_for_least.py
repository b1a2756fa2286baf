"""A maximum flow of least cost: maximum flows find the amount, a minimum-cost flow sends it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..arrays import Array
from ..certify.min_cost_flow import dual_bound
from ..errors import InvalidInputError, NotOptimalError
from ..graph.cost_network import CostNetwork, as_cost_network
from ..graph.network import FlowNetwork
from ..maxflow.api import max_flow
from ..mincost.api import min_cost_flow
from ..mincost.methods import METHODS
from ..mincost.result import MinCostFlowResult
from ..progress import Reporter
from ..solving.call import Arguments, Request
from ..stats import MinCostStats, SolveStats
from .base import difference, joined, sum_of, vertex_numbers
from .feasible import CirculationAsMaxFlow

#: Seconds that are left to a solve whose time is over: time limits are positive.
NO_TIME = 1e-6


def max_flow_min_cost(
    network: Any,
    source: Any,
    sink: Any,
    *,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
) -> MinCostFlowResult:
    """Find the cheapest of all maximum flows.

    :func:`preflow.max_flow` finds how much can be sent, :func:`preflow.min_cost_flow` sends it.

    Parameters
    ----------
    network : CostNetwork, or what :func:`preflow.min_cost_flow` takes
        If it has supplies, they are sent as well. Lower bounds are respected.
    source, sink : vertex
        For several sources or sinks, connect them to one of each first: see
        :class:`preflow.reductions.TerminalsMerged`.
    method, options
        As in :func:`preflow.min_cost_flow`. "auto" chooses the method of the maximum flow.
    device, threads, time_limit, progress
        As in :func:`preflow.max_flow`, for all solves together.

    Returns
    -------
    MinCostFlowResult
        Its `amount` is the value of the maximum flow. A maximum flow of floats is within its own gap of the
        largest amount. If the time limit ends the search for the amount, `flow` is the largest flow that was
        found, and `upper_bound` is infinite.

    Raises
    ------
    InvalidInputError
        The network or an argument is malformed.
    UnboundedFlowError
        Arcs of infinite capacity lead from the source to the sink.
    InfeasibleFlowError
        Lower bounds or supplies allow no flow that sends an amount of at least zero.
    UnboundedCostError
        A cycle of infinite capacity has negative cost.
    CapacityOverflowError, CostOverflowError
        As in :func:`preflow.min_cost_flow`.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.CostNetwork.from_arrays(
    ...     [0, 0, 1, 1, 2], [1, 2, 2, 3, 3], capacity=[3, 2, 2, 2, 3], cost=[1, 4, 1, 6, 1]
    ... )
    >>> result = preflow.max_flow_min_cost(network, 0, 3)
    >>> result.amount, result.cost, result.flow.tolist()
    (5, 27, [3, 2, 1, 2, 3])
    >>> result.verify()
    """
    started = time.perf_counter()
    Request(METHODS, method, device, threads, time_limit, progress, options)
    read = as_cost_network(network)
    ends = read.vertex(source), read.vertex(sink)
    if ends[0] == ends[1]:
        raise InvalidInputError(f"vertex {read.name(ends[0])} is both source and sink")

    def shared() -> Arguments:
        """Return the arguments of the next solve, with the time that is left."""
        left = None if time_limit is None else max(NO_TIME, time_limit - (time.perf_counter() - started))
        return {"device": device, "threads": threads, "time_limit": left, "progress": progress}

    amount: int | float = 0
    base: Array | None = None
    seconds: dict[str, float] = {}
    if read.lower is not None or (read.supply is not None and read.supply.any()):
        circulation = CirculationAsMaxFlow.of(_with_return_arc(read, *ends))
        first = max_flow(circulation.network, circulation.source, circulation.sink, **shared())
        _count(seconds, first.stats)
        try:
            feasible = circulation.solution(first).flow
        except NotOptimalError:
            return _unfinished(read, ends, 0, first.upper_bound, first.stats, _within_bounds(read))
        base, amount = feasible[:-1], feasible[-1].item()
    rest = max_flow(_residual(read, base), *ends, **shared())
    _count(seconds, rest.stats)
    if rest.status != "optimal":
        flow = rest.flow if base is None else base + rest.flow
        return _unfinished(
            read, ends, amount + rest.lower_bound, amount + rest.upper_bound, rest.stats, flow.copy()
        )
    arguments: Arguments = {**shared(), "method": method, "options": options}
    found = min_cost_flow(read, source=source, sink=sink, amount=amount + rest.value, **arguments)
    taken = {"amount": sum(seconds.values()), **found.stats.seconds}
    return replace(found, stats=replace(found.stats, seconds=taken))


def _with_return_arc(network: CostNetwork, source: int, sink: int) -> CostNetwork:
    """Add an arc from the sink to the source that carries what is sent.

    In a feasible flow without cycles it carries no more than the source of the maximum flow supplies, which
    is at most the sum of all lower bounds and supplies.
    """
    amounts = [part for part in (network.lower, network.supply) if part is not None]
    limit = sum(sum_of(np.abs(part)) for part in amounts)
    if isinstance(limit, int):
        limit = min(limit, 2**62)
    end = np.zeros(1, dtype=np.int64)
    marks = network.undirected
    return CostNetwork(
        network.num_vertices,
        np.append(vertex_numbers(network.tail), end + sink),
        np.append(vertex_numbers(network.head), end + source),
        capacity=joined(network.capacity, np.array([limit])),
        cost=np.zeros(network.num_arcs + 1, dtype=np.int64),
        lower=None if network.lower is None else np.append(network.lower, 0),
        supply=network.supply,
        undirected=None if marks is None else np.append(marks, False),
        labels=network.labels,
    )


def _residual(network: CostNetwork, flow: Array | None) -> FlowNetwork:
    """Return the capacities that a flow leaves, both ways; all capacities if there is none yet."""
    capacity, two_way = network.capacity, network.undirected
    back: Array | None = None if two_way is None else np.where(two_way, capacity, 0)
    if flow is not None:
        least = np.zeros(network.num_arcs, dtype=np.int64) if network.lower is None else network.lower
        if two_way is not None:
            least = np.where(two_way, -capacity, least)
        back, capacity = np.maximum(difference(flow, least), 0), np.maximum(difference(capacity, flow), 0)
    return FlowNetwork.from_arrays(
        network.tail, network.head, capacity, reverse_capacity=back, num_vertices=network.num_vertices
    )


def _count(seconds: dict[str, float], stats: SolveStats) -> None:
    """Add the time of a solve, apart from compiling."""
    for phase, taken in stats.seconds.items():
        if phase != "compile":
            seconds[phase] = seconds.get(phase, 0.0) + taken


def _within_bounds(network: CostNetwork) -> Array:
    """Return the amounts nearest to zero within the bounds of each arc."""
    lower: Array | Literal[0] = 0 if network.lower is None else network.lower
    return np.clip(np.zeros(network.num_arcs, dtype=np.int64), lower, network.capacity)


def _unfinished(
    network: CostNetwork,
    ends: tuple[int, int],
    amount: int | float,
    most: int | float,
    stats: SolveStats,
    flow: Array,
) -> MinCostFlowResult:
    """Return the result of a call that ended before the largest amount was known.

    Potentials of zero bound the cost of every flow, whatever its amount.
    """
    supply = np.zeros(network.num_vertices, dtype=np.int64 if isinstance(amount, int) else np.float64)
    supply[list(ends)] = amount, -amount
    if network.supply is not None:
        supply = supply + network.supply
    potentials = np.zeros(network.num_vertices, dtype=np.int64)
    lower: int | float = -math.inf
    if math.isfinite(most):
        limit = supply.astype(np.float64)
        limit[list(ends)] += most - amount, amount - most
        lower = dual_bound(network, limit, potentials)
    return MinCostFlowResult(
        status="time-limit",
        lower_bound=lower,
        upper_bound=math.inf,
        stats=MinCostStats(
            method=stats.method,
            reason="the time was over before the largest amount was known",
            device=stats.device,
            threads=stats.threads,
            seconds=stats.seconds,
        ),
        flow=flow,
        potentials=potentials,
        supply=supply,
        network=network,
        _gap=math.inf,
    )
