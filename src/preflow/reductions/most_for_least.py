"""A maximum flow of least cost: maximum flows find the amount, a minimum-cost flow sends it.

The minimum cut of the last maximum flow proves the amount. Let S be its source side. What a flow sends over
the arcs out of S, less what it sends over the arcs into S, is the amount plus the supplies in S. So no
amount is larger than ``cut_bound``: the capacities out of S, less the lower bounds into S, less the supplies
in S.

Several sources get what they send from one new vertex, and several sinks pass what they receive on to
another. Their arcs cost nothing and are never full. The potentials of the new vertices are the largest of a
source and the smallest of a sink.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, ColumnName, EndsNames, NetworkInput, Vertices
from ..certify.exact import exact_dot
from ..certify.fields import checked_array, checked_number
from ..certify.min_cost_flow import amount_slack, cut_bound, dual_bound, is_near, total_amount
from ..errors import CapacityOverflowError, NotOptimalError, VerificationError
from ..graph.cost_network import CostNetwork, as_cost_network, lower_of, supplies_or_own
from ..graph.edge_tables import ColumnNames
from ..graph.network import INT64_MAX, FlowNetwork, exact_sum, join
from ..maxflow.api import max_flow
from ..method_names import CostFlowMethodName, DeviceName
from ..mincost.api import min_cost_flow
from ..mincost.problem import METHODS
from ..mincost.result import MinCostFlowResult
from ..progress import Reporter
from ..solving.call import Keywords, Request
from ..solving.run import Deadline
from ..solving.timing import timed
from ..stats import MinCostStats, SolveStats, added_up
from .base import difference, of_given, totals, vertex_numbers
from .feasible import CirculationAsMaxFlow


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MaxFlowMinCostResult(MinCostFlowResult):
    """A cheapest maximum flow, the potentials that prove it cheapest, and the cut that proves it largest.

    Attributes
    ----------
    flow, potentials, network, status, lower_bound, upper_bound, value, stats
        See :class:`preflow.MinCostFlowResult`. `supply` is what each vertex sends: its own supply, and of a
        source or a sink its part of the amount.
    sources, sinks : ndarray of int64
    sink_side : ndarray of bool, shape (num_vertices,), or None
        The side of the sinks of a minimum cut; None if the time was over before it was known.
    own_supply : ndarray, shape (num_vertices,)
        The supplies of the network.
    """

    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    sink_side: NDArray[np.bool_] | None
    own_supply: Array
    _amount: int | float
    _amount_gap: int | float

    @property
    def amount(self) -> int | float:
        """The amount that all sources send together; the largest that was found, if the time was over."""
        return self._amount

    @property
    def amount_gap(self) -> int | float:
        """A proved bound of how much more could be sent: 0 for integers, rounding for floats."""
        return self._amount_gap

    def verify(self) -> None:
        """Prove that no flow sends more, and that none that sends as much costs less, in linear time.

        The cut proves the amount; the flow and the potentials prove the cost, whatever the sources share.
        A result that stopped early proves its bounds instead.
        """
        self._check_shares()
        super().verify()
        if self.status == "optimal":
            self._check_equal_potentials()
        if self.sink_side is None:
            if self.status == "optimal":
                raise VerificationError("no cut proves that the amount is the largest")
            return
        checked_array(self.network, self.sink_side, "sink_side", (self.network.num_vertices,), np.bool_)
        if self.sink_side[self.sources].any() or not self.sink_side[self.sinks].all():
            raise VerificationError("sink_side has a source, or lacks a sink")
        bound = cut_bound(self.network, self.own_supply, self.sink_side)
        slack = self._amount_slack()
        gap = checked_number(self._amount_gap, "amount_gap")
        if gap < 0 or (isinstance(bound, int) and self.status == "optimal" and gap != 0):
            raise VerificationError(f"the gap of the amount is {gap}")
        allowed = gap + slack if slack else 0
        if not bound - self.amount <= allowed:
            raise VerificationError(f"the cut allows an amount of {bound}, more than {self.amount}")

    def _check_shares(self) -> None:
        """Check that sources and sinks together send and receive the amount beyond their own supplies."""
        shape = (self.network.num_vertices,)
        for name in ("supply", "own_supply"):
            checked_array(self.network, getattr(self, name), name, shape, np.int64, np.float64)
        for name in ("sources", "sinks"):
            ends = checked_array(self.network, getattr(self, name), name, (-1,), np.int64)
            if not len(ends) or ends.min() < 0 or ends.max() >= shape[0] or len(np.unique(ends)) < len(ends):
                raise VerificationError(f"{name} must be different vertices, at least one")
        if len(np.intersect1d(self.sources, self.sinks)):
            raise VerificationError("a vertex is both source and sink")
        amount, slack = checked_number(self.amount, "amount"), self._amount_slack()
        own = self.own_supply.tolist()
        left = [sent - given for sent, given in zip(self.supply.tolist(), own, strict=True)]
        for ends, sign in ((self.sources.tolist(), 1), (self.sinks.tolist(), -1)):
            shares = [sign * left[end] for end in ends]
            if not (min(shares) >= -slack and abs(sum(shares) - amount) <= slack):
                raise VerificationError(f"the terminals send or receive {sum(shares)}, not {amount}")
            for end in ends:
                left[end] = 0
        if not all(abs(part) <= slack for part in left):
            raise VerificationError("the supply of a vertex that is no terminal is not its own")

    def _rounding(self) -> NDArray[np.float64] | None:
        """Return what vertices may lack: the terminals may have supplies of their own that are larger."""
        return amount_slack(self.network, self.own_supply, self.flow)

    def _amount_slack(self) -> float:
        """Return by how much rounding may change an amount: 0 for integers."""
        slacks = amount_slack(self.network, self.supply, self.flow), self._rounding()
        return sum(float(slack.max(initial=0)) for slack in slacks if slack is not None)

    def _check_equal_potentials(self) -> None:
        """Check that no other source, or sink, could take a share at less cost."""
        loss = spread_of_potentials(self)
        near = isinstance(loss, float) and is_near(
            self.network, self.supply, self.flow, self.potentials, loss
        )
        if not (loss <= self.gap or near):
            raise VerificationError(f"other shares of sources and sinks may cost less, by {loss}")


def spread_of_potentials(result: MaxFlowMinCostResult) -> int | float:
    """Return by how much other shares of the amount might lower the cost, by the potentials.

    Sources send, and sinks receive, no less than nothing, but for rounding.
    """
    source, sink = result.potentials[result.sources], result.potentials[result.sinks]
    own, supply = result.own_supply, result.supply
    return _loss(source.max() - source, supply[result.sources], own[result.sources]) + _loss(
        sink - sink.min(), own[result.sinks], supply[result.sinks]
    )


def _loss(spread: Array, larger: Array, smaller: Array) -> int | float:
    """Return the sum of ``spread * (larger - smaller)``; differences of integers may not fit int64."""
    if larger.dtype.kind == smaller.dtype.kind == "i":
        return exact_dot(spread, larger) - exact_dot(spread, smaller)
    return exact_dot(spread, np.maximum(larger - smaller, 0))


def max_flow_min_cost(
    network: NetworkInput,
    source: Vertices,
    sink: Vertices,
    *,
    method: CostFlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
    ends: EndsNames = None,
    capacity: ColumnName = None,
    cost: ColumnName = None,
    lower: ColumnName = None,
) -> MaxFlowMinCostResult:
    """Find the cheapest of all maximum flows.

    :func:`preflow.max_flow` finds how much can be sent, :func:`preflow.min_cost_flow` sends it.

    Parameters
    ----------
    network : CostNetwork, or what :func:`preflow.min_cost_flow` takes
        If it has supplies, they are sent as well. Lower bounds are respected.
    source, sink : vertex, or a list, set, range or array of vertices
        No source and no sink sends less than nothing; how they share the amount is free, and as cheap as
        possible.
    method, options
        As in :func:`preflow.min_cost_flow`. "auto" chooses the method of the maximum flow.
    ends, capacity, cost, lower
        As in :func:`preflow.min_cost_flow`.
    device, threads, time_limit, progress
        As in :func:`preflow.max_flow`, for all solves together.

    Returns
    -------
    MaxFlowMinCostResult
        Its `amount` is the value of the maximum flow, and `sink_side` the cut that proves it. A maximum flow
        of floats is within `amount_gap` of the largest amount. If the time limit ends the search for the
        amount, `flow` is the largest flow that was found, and `upper_bound` is infinite.

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
    deadline = Deadline(Request(METHODS, method, device, threads, time_limit, progress, options).time_limit)
    reading: dict[str, float] = {}
    with timed(reading, "build"):
        read = as_cost_network(network, ColumnNames(ends, capacity, cost, lower)).plain()
    terminals = sources, sinks = read.terminals(source, sink)

    def shared() -> Keywords:
        """Return the arguments of the next solve, with the time that is left."""
        return {"device": device, "threads": threads, "time_limit": deadline.left(), "progress": progress}

    amount: int | float = 0
    base: Array | None = None
    seconds: dict[str, float] = {}
    if read.lower is not None or (read.supply is not None and read.supply.any()):
        circulation = CirculationAsMaxFlow.of(_with_return_arcs(read, *terminals))
        first = max_flow(circulation.network, circulation.source, circulation.sink, **shared())
        _count(seconds, first.stats)
        try:
            feasible = circulation.completed(first, **shared()).flow
        except NotOptimalError:
            stats = first.stats.including(reading)
            return _unfinished(read, terminals, 0, first.upper_bound, stats, _within_bounds(read))
        base, amount = feasible[: read.num_arcs], total_amount(feasible[read.num_arcs :][: len(sources)])
    rest = max_flow(_residual(read, base), sources, sinks, **shared())
    _count(seconds, rest.stats)
    if rest.status != "optimal":
        flow = rest.flow if base is None else base + rest.flow
        bounds = amount + rest.lower_bound, amount + rest.upper_bound
        return _unfinished(read, terminals, *bounds, rest.stats.including(reading), flow.copy())
    arguments: Keywords = {**shared(), "method": method, "options": options}
    found, sent = _sent_at_least_cost(read, terminals, amount + rest.value, arguments)
    taken = {"amount": sum(seconds.values()), **found.stats.seconds}
    own = supplies_or_own(read, None).copy()
    bound = cut_bound(read, own, rest.sink_side)
    result = MaxFlowMinCostResult(
        **{each.name: getattr(found, each.name) for each in fields(found)},
        sources=sources,
        sinks=sinks,
        sink_side=rest.sink_side.copy(),
        own_supply=own,
        _amount=sent,
        _amount_gap=max(0, bound - sent) if isinstance(bound, float) else 0,
    )
    return replace(result, stats=replace(found.stats, seconds=added_up(reading, taken)))


def _sent_at_least_cost(
    network: CostNetwork,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    amount: int | float,
    arguments: Keywords,
) -> tuple[MinCostFlowResult, int | float]:
    """Send an amount from the sources to the sinks; return the result for the network, and the amount."""
    sources, sinks = ends
    if len(sources) == len(sinks) == 1:
        names = network.labels or range(network.num_vertices)
        terminals = {"source": names[sources[0]], "sink": names[sinks[0]]}
        return min_cost_flow(network, **terminals, amount=amount, **arguments), amount
    n, m = network.num_vertices, network.num_arcs
    # Arcs of the new vertices are never full, unless one carries all that int64 can represent.
    room = np.array([min(amount + 1, INT64_MAX) if isinstance(amount, int) else math.inf])
    merged = _with_arcs(
        network,
        np.append(np.full(len(sources), n), sinks),
        np.append(sources, np.full(len(sinks), n + 1)),
        np.repeat(room, len(sources) + len(sinks)),
        2,
    )
    found = min_cost_flow(merged, source=n, sink=n + 1, amount=amount, **arguments)
    shares = found.flow[m:]
    own = supplies_or_own(network, None)
    moved = totals(np.append(sources, sinks), np.append(shares[: len(sources)], -shares[len(sources) :]), n)
    potentials = found.potentials[:n].copy()
    bounds = found.lower_bound, found.upper_bound
    if found.status != "optimal":
        # The worst shares give a bound that holds for all of them.
        worst = own.astype(np.result_type(own, np.array([amount])))
        worst[sources[potentials[sources].argmax()]] += amount
        worst[sinks[potentials[sinks].argmin()]] -= amount
        bounds = min(dual_bound(network, worst, potentials), found.upper_bound), found.upper_bound
        if math.isinf(found.upper_bound):
            moved = worst - own
    supply = own + moved
    if supply.dtype.kind == "i" and ((supply < own) != (moved < 0)).any():
        raise CapacityOverflowError("a terminal's own supply and its part of the amount sum past int64")
    result = replace(
        found,
        flow=found.flow[:m].copy(),
        potentials=potentials,
        supply=supply,
        network=network,
        lower_bound=bounds[0],
        upper_bound=bounds[1],
        _exact=None if found._exact is None else found._exact.of_first(n),
    )
    if found.status == "optimal":
        result = of_given(result, network, result.supply, result.flow)
    return result, amount


def _with_arcs(
    network: CostNetwork, tail: Array, head: Array, capacity: Array, new_vertices: int
) -> CostNetwork:
    """Return a network with more vertices and arcs, which cost nothing; labels are left out."""
    more, own, marks = len(tail), network.supply, network.undirected
    return CostNetwork(
        network.num_vertices + new_vertices,
        np.append(vertex_numbers(network.tail), tail),
        np.append(vertex_numbers(network.head), head),
        capacity=join(network.capacity, capacity),
        cost=np.append(network.cost, np.zeros(more, dtype=network.cost.dtype)),
        lower=None
        if network.lower is None
        else np.append(network.lower, np.zeros(more, network.lower.dtype)),
        supply=None if own is None else np.append(own, np.zeros(new_vertices, dtype=own.dtype)),
        undirected=None if marks is None else np.append(marks, np.zeros(more, dtype=bool)),
    )


def _with_return_arcs(
    network: CostNetwork, sources: NDArray[np.int64], sinks: NDArray[np.int64]
) -> CostNetwork:
    """Add a vertex with arcs to the sources, which carry what is sent, and arcs from the sinks.

    In a feasible flow without cycles they carry no more than the source of the maximum flow supplies, which
    is at most the sum of all lower bounds and supplies.
    """
    amounts = [part for part in (network.lower, network.supply) if part is not None]
    limit = sum(exact_sum(np.abs(part)) for part in amounts if len(part))
    if isinstance(limit, int) and limit > INT64_MAX:
        # Half of the supplies are positive, and only these are sent.
        own = 0 if network.supply is None else exact_sum(np.abs(network.supply)) // 2
        if limit - own > INT64_MAX:
            raise CapacityOverflowError("the lower bounds and the supplies sum past int64")
        limit = INT64_MAX
    n = network.num_vertices
    return _with_arcs(
        replace(network, cost=np.zeros(network.num_arcs, dtype=np.int64)),
        np.append(np.full(len(sources), n), sinks),
        np.append(sources, np.full(len(sinks), n)),
        np.full(len(sources) + len(sinks), limit),
        1,
    )


def _residual(network: CostNetwork, flow: Array | None) -> FlowNetwork:
    """Return the capacities that a flow leaves, both ways; all capacities if there is none yet."""
    capacity, two_way = network.capacity, network.undirected
    back: Array | None = None if two_way is None else np.where(two_way, capacity, 0)
    if flow is not None:
        least = lower_of(network)
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
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    amount: int | float,
    most: int | float,
    stats: SolveStats,
    flow: Array,
) -> MaxFlowMinCostResult:
    """Return the result of a call that ended before the largest amount was known.

    Potentials of zero bound the cost of every flow, whatever its amount and the shares of the terminals.
    """
    sources, sinks = ends
    own = supplies_or_own(network, None).copy()
    supply = own.astype(np.int64 if isinstance(amount, int) and own.dtype.kind == "i" else np.float64)
    supply[[sources[0], sinks[0]]] += np.array([amount, -amount], dtype=supply.dtype)
    potentials = np.zeros(network.num_vertices, dtype=np.int64)
    lower: int | float = -math.inf
    if math.isfinite(most):
        limit = supply.astype(np.float64)
        limit[[sources[0], sinks[0]]] += most - amount, amount - most
        lower = dual_bound(network, limit, potentials)
    return MaxFlowMinCostResult(
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
        sources=sources,
        sinks=sinks,
        sink_side=None,
        own_supply=own,
        _amount=amount,
        _amount_gap=most - amount,
    )
