"""Supplies that stay where they are: a larger network whose flows send all of its supplies.

Arcs from the vertices that send lead to a new vertex, which takes what stays; arcs from another one, which
has what is lacking, lead to the vertices that receive. All of them cost nothing and carry as much as their
vertex sends or receives. Potentials of the larger network prove the flow cheapest for what it sends. Of
floats, an arc from the second to the first vertex carries what rounding leaves, and further vertices have
the parts of what is lacking that one float does not hold. Floats are cut off first beyond what the arcs of a
vertex carry, and what the other side has: what is sent would be rounded beside them.

Where the capacities do not let all of the smaller sum pass, the largest amount is found first: it leaves the
least where all arcs of the network cost nothing, each unit that stays costs 1, and all of it may.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from ..arrays import Array, Number
from ..certify.fields import check_kind, checked_array
from ..errors import InvalidInputError, VerificationError
from ..graph.cost_network import CostNetwork, is_integral, lower_of, supplies_or_own
from ..graph.network import join
from ..graph.sums import exact_total, parts_of_sum, within_reach
from .result import MinCostFlowResult

#: By so much, for each vertex and arc, rounding may change a sum of floats.
ROUNDING = 2.0**-50


def of_larger(network: CostNetwork, start: MinCostFlowResult) -> MinCostFlowResult:
    """Return an earlier result as one of a network with further arcs and vertices behind its own."""
    to_host = start.network.to_host
    flow, potentials = to_host(start.flow), to_host(start.potentials)
    return replace(
        MinCostFlowResult(**{each.name: getattr(start, each.name) for each in fields(MinCostFlowResult)}),
        network=network,
        flow=np.append(flow, np.zeros(network.num_arcs - len(flow), dtype=flow.dtype)),
        potentials=np.append(potentials, np.zeros(network.num_vertices - len(potentials))),
        _basis=None,
    )


@dataclass(frozen=True)
class LeftOver:
    """A network with supplies of any sum, and the larger one."""

    given: CostNetwork
    supply: Array
    within: Array  #: the supplies, cut off beyond what can be sent
    network: CostNetwork  #: the larger one, with its supplies

    @classmethod
    def of(
        cls, given: CostNetwork, supply: Array, stays: Number | None = None, *, free: bool = False
    ) -> LeftOver:
        """Build the larger network, where so much is left over; None: what one side has more.

        `free`: arcs cost nothing, and what stays costs 1.
        """
        n, own = given.num_vertices, supply
        exact = all(map(is_integral, (own, given.capacity, lower_of(given))))
        supply = _within_reach(given, own if exact else own.astype(np.float64))
        dtype = supply.dtype
        senders, receivers = np.flatnonzero(supply > 0), np.flatnonzero(supply < 0)
        all_that_is_sent = exact_total(supply[senders])
        slack = 0 if exact else (n + given.num_arcs) * ROUNDING * exact_total(np.abs(supply))
        corner = all_that_is_sent if free else 2 * slack
        if stays is None:
            stays = all_that_is_sent if free else max(exact_total(supply), 0)
        taken = np.array([stays + slack], dtype=dtype)
        parts = np.array(parts_of_sum(taken, supply) or [0], dtype=dtype)
        takes, gives = n, n + 1 + np.arange(len(parts))
        tail = np.concatenate([senders, np.full(len(receivers), n + 1), gives]).astype(given.tail.dtype)
        head = np.concatenate(
            [np.full(len(senders), takes), receivers, [takes], np.full(len(parts) - 1, n + 1)]
        )
        room = np.concatenate(
            [np.abs(supply[np.append(senders, receivers)]), np.array([corner], dtype), 2 * parts[1:]]
        )
        cost = np.zeros_like(given.cost, dtype=np.int64) if free else given.cost
        none = np.zeros(len(tail), dtype=np.int64)
        price = (np.arange(len(tail)) < len(senders)).astype(cost.dtype) if free else none.astype(cost.dtype)
        network = CostNetwork(
            n + 1 + len(parts),
            np.append(given.tail, tail),
            np.append(given.head, head.astype(given.head.dtype)),
            capacity=join(given.capacity, room),
            cost=np.append(cost, price),
            lower=None if given.lower is None else np.append(given.lower, none.astype(given.lower.dtype)),
            supply=np.concatenate([supply, -taken, parts]),
            undirected=None if given.undirected is None else np.append(given.undirected, none > 0),
        )
        return cls(given, own, supply, network)

    def start(self, start: MinCostFlowResult) -> MinCostFlowResult:
        """Return an earlier result of the network as one of the larger network."""
        return of_larger(self.network, start)

    def part(self, whole: MinCostFlowResult, most: MinCostFlowResult | None) -> PartialCostFlowResult:
        """Return the result from that of the larger network."""
        given, n, m = self.given, self.given.num_vertices, self.given.num_arcs
        tail, head, extra = whole.network.tail[m:], whole.network.head[m:], whole.flow[m:]
        sent = self.within.astype(np.result_type(self.within, extra))
        np.subtract.at(sent, tail[tail < n], extra[tail < n])
        np.add.at(sent, head[head < n], extra[head < n])
        arrays = {
            "flow": whole.flow[:m].copy(),
            "potentials": whole.potentials[:n] - whole.potentials[n],
            "supply": sent,
            "own_supply": self.supply.copy(),
        }
        kept = {each.name: getattr(whole, each.name) for each in fields(MinCostFlowResult)}
        if whole is most:  # time was up before the largest amount was known
            kept |= {"lower_bound": -math.inf, "upper_bound": math.inf, "_gap": math.inf}
        elif most is None and whole.upper_bound == math.inf:  # perhaps less can be sent, which costs less
            kept["lower_bound"] = -math.inf
        placed = {name: given.to_caller(part) for name, part in arrays.items()}
        own = {"network": given, "_basis": None, "_exact": None, "_most": most, "_whole": whole}
        return PartialCostFlowResult(**kept | placed | own)

    def check(self, whole: MinCostFlowResult) -> None:
        """Check that a result is proved, and is one of the larger network."""
        check_kind(whole, "the proof", MinCostFlowResult)
        whole.verify()
        for name in ("tail", "head", "capacity", "cost", "lower", "supply", "undirected"):
            mine, other = (np.array(getattr(each, name)) for each in (self.network, whole.network))
            if mine.dtype != other.dtype or not np.array_equal(mine, other):
                raise VerificationError(f"the proof has another {name}")
        if not np.array_equal(supplies_or_own(self.network, None), whole.supply):
            raise VerificationError("the proof has other supplies")


def _within_reach(network: CostNetwork, supply: Array) -> Array:
    """Return supplies of floats cut off beyond what their vertices can send or receive."""
    if supply.dtype.kind == "i":
        return supply
    n, capacity = network.num_vertices, network.capacity.astype(np.float64)
    against = np.maximum(-lower_of(network).astype(np.float64), 0)
    if network.undirected is not None:
        against = np.where(network.undirected, capacity, against)
    with np.errstate(over="ignore"):
        ends = ((network.tail, network.head), (network.head, network.tail))
        out, into = (np.bincount(a, capacity, n) + np.bincount(b, against, n) for a, b in ends)
        limit = np.where(supply > 0, out, into)
        least = np.minimum(np.abs(supply), limit)
        others = [least[side].sum() for side in (supply < 0, supply > 0)]
        limit = np.minimum(limit, np.where(supply > 0, *others))
        return np.copysign(within_reach(np.abs(supply), limit), supply)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PartialCostFlowResult(MinCostFlowResult):
    """A flow of minimum cost that sends as much as possible of the supplies.

    The fields are those of :class:`preflow.MinCostFlowResult`, with these differences.

    Attributes
    ----------
    supply : array of int64 or float64, shape (num_vertices,)
        What each vertex sends or receives.
    own_supply : array of int64 or float64, shape (num_vertices,)
        The supplies as given.
    potentials : array of int64 or float64, shape (num_vertices,)
        They prove that no other flow, and no other choice of supplies, sends as much at less cost. If supply
        is left over, they are at least 0 for vertices that send, and 0 where some stays.
    """

    own_supply: Array
    _most: MinCostFlowResult | None
    _whole: MinCostFlowResult

    @property
    def left_over(self) -> Array:
        """The amounts that vertices did not send (positive) or receive (negative)."""
        to_host = self.network.to_host
        found: Array = self.network.to_caller(to_host(self.own_supply) - to_host(self.supply))
        return found

    def verify(self) -> None:
        """Prove that no flow sends more, and that none that sends as much costs less, in linear time.

        A result that stopped early proves its bounds instead.
        """
        network, whole, most = self.network, self._whole, self._most
        check_kind(network, "network", CostNetwork)
        shape = (network.num_vertices,)
        own = network.to_host(
            checked_array(network, self.own_supply, "own_supply", shape, np.int64, np.float64)
        )
        stays = None
        try:
            problem = None
            if most is not None:
                free = LeftOver.of(network, own, free=True)
                free.check(most)
                if most.status == "optimal":
                    stays = most.value
                elif whole is most:
                    problem = free
                else:
                    raise VerificationError("no proof that no flow sends more")
            problem = problem or LeftOver.of(network, own, stays)
        except InvalidInputError as error:
            raise VerificationError(str(error)) from None
        problem.check(whole)
        expected = problem.part(whole, most)
        for name in ("flow", "potentials", "supply"):
            right = network.to_host(getattr(expected, name))
            found = network.to_host(
                checked_array(network, getattr(self, name), name, right.shape, right.dtype)
            )
            if not np.array_equal(found, right):
                raise VerificationError(f"{name} is not that of the flow that is proved")
        for name in ("status", "lower_bound", "upper_bound", "_gap"):
            mine, proved = getattr(self, name), getattr(expected, name)
            if type(mine) is not type(proved) or mine != proved:
                raise VerificationError(f"{name} is {mine!r}, and {proved!r} is proved")

    def __repr__(self) -> str:
        supply = self.network.to_host(self.own_supply)
        parts = (np.maximum(supply, 0), "supply"), (np.maximum(-supply, 0), "demand")
        sent = ", ".join(f"{self.amount:,} of {exact_total(part):,} {what}" for part, what in parts)
        return (
            super()
            .__repr__()
            .replace("MinCostFlowResult", type(self).__name__)
            .replace(", flow on", f", {sent}, flow on")
        )
