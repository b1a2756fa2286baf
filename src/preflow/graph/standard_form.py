"""The form in which solvers get a minimum-cost flow problem, and the way back to the caller's arcs and units.

In standard form every arc leads one way, has lower bound zero and a finite capacity, and all numbers are
integers. The reductions are the textbook ones (Ahuja, Magnanti and Orlin 1993, section 2.4):

- a lower bound is sent first, and only what an arc carries beyond it is left to the solver;
- an undirected arc becomes two opposite ones, and its flow is their difference;
- a capacity above `flow_limit` becomes ``flow_limit + 1``. Some optimal flow has at most `flow_limit` on
  every arc. So no arc of negative reduced cost is filled up to the new capacity, and the potentials that
  prove the flow optimal also prove it for the old capacities;
- float amounts and costs that are not all integers, and integer amounts whose sums do not fit int64, are
  multiplied by a power of two and rounded. Costs are
  first cut off at a limit, see :func:`preflow.graph.scaling.solve_costs`, and rounded toward zero. So an open
  arc of positive cost has no negative reduced cost for the costs as given either, however large its capacity.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Integers
from ..errors import CostOverflowError, UnequalSumsError
from ..solving.read_only import read_only_view
from .cost_network import CostNetwork, amounts_are_whole, is_integral, undirected_arcs
from .network import INT64_MAX, exact_sum, largest_size
from .scaling import float_sum, total_of

#: Sums of amounts at a vertex, and of costs along a path, stay below this number.
MOST = 2**62
#: Float amounts are rounded to integers of which `flow_limit` has this many bits: float64 represents them. It
#: has fewer where the capacities of the arcs at a vertex would else sum to more than ROOM_BITS bits.
AMOUNT_BITS, ROOM_BITS = 52, 61
#: The largest float cost is rounded to an integer of at most this many bits, less in large networks.
COST_BITS = 48
#: Arcs whose capacities are summed together.
CHUNK = 1 << 20
#: Costs of float data stay below this number.
MOST_FLOAT = 2.0**1000


class StandardForm(NamedTuple):
    """A minimum-cost flow problem without lower bounds: minimise the sum of cost times flow."""

    #: uint32, shape (m,): parallel arcs, antiparallel arcs and self loops may occur
    tail: Indices
    head: Indices
    #: int64 or int32, shape (m,): non-negative. The capacities at each vertex and its supply sum to less than
    #: 2**62. They have 32 bits if they are not the array of the caller's network, and fit.
    capacity: Integers
    cost: NDArray[np.int64]  #: shape (m,): ``(n + 1) * max(abs(cost))`` is below 2**61
    supply: NDArray[np.int64]  #: shape (n,): sums to zero

    def widened(self) -> StandardForm:
        """Return the form with capacities of 64 bits."""
        wide = self.capacity.dtype == np.int64
        return self if wide else self._replace(capacity=self.capacity.astype(np.int64))


def read_only(form: StandardForm) -> StandardForm:
    """Return views that kernels may not write to.

    Some arrays of a form are those of the caller's network, and read-only. Numba compiles a kernel for each
    combination; this leaves one.
    """
    return StandardForm._make(map(read_only_view, form))


@dataclass(frozen=True, eq=False)
class Standardised:
    """A network in standard form, with what leads back."""

    form: StandardForm  #: the arcs of the network, then the opposite ones of its undirected arcs
    num_arcs: int
    lower: NDArray[np.int64] | None  #: shape (num_arcs,): the flow that is sent first
    undirected: NDArray[np.int64]  #: the undirected arcs
    #: amounts, or costs, of the form are those of the network times two to this power. None: they are the
    #: same integers.
    amount_exponent: int | None
    cost_exponent: int | None
    whole: bool  #: whether the amounts of the network are integers

    def flow(self, found: NDArray[np.int64]) -> Array:
        """Return the flow of the input arcs in the caller's units; the array of the form may be changed."""
        flow = self._of_arcs(found)
        if self.amount_exponent is None:
            return flow
        if self.whole:
            shift = -self.amount_exponent
            return np.clip(flow, -(INT64_MAX >> shift), INT64_MAX >> shift) << shift
        with np.errstate(over="ignore"):  # of an amount that its capacity limits
            return np.ldexp(flow.astype(np.float64), -self.amount_exponent)

    def _of_arcs(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the flow of the input arcs in the form's units, in this array unless it has more arcs."""
        flow = found
        if len(self.undirected):
            flow = found[: self.num_arcs].copy()
            flow[self.undirected] -= found[self.num_arcs :]
        if self.lower is not None:
            flow += self.lower
        return flow

    def lack(self, network: CostNetwork, supply: Array, found: NDArray[np.int64]) -> float:
        """Return by how much what vertices send differs from given supplies, in all, and arcs pass bounds.

        That is what rounding of amounts has changed, in the caller's units; 0 for integers.
        """
        exponent = self.amount_exponent
        if exponent is None:
            return 0.0
        sent = self._of_arcs(found.copy())
        out = np.zeros(network.num_vertices, dtype=np.int64)
        np.add.at(out, network.tail, sent)
        np.subtract.at(out, network.head, sent)
        with np.errstate(over="ignore", invalid="ignore"):
            flow = np.ldexp(sent.astype(np.float64), -exponent)
            wrong = np.abs(supply - np.ldexp(out.astype(np.float64), -exponent))
            past = np.maximum(np.abs(flow) if len(self.undirected) else flow, 0) - network.capacity
            if network.lower is not None:
                past = np.maximum(past, network.lower - flow)
            return float(wrong.sum() + 2 * np.maximum(past, 0).sum())

    def form_flow(self, flow: Array) -> NDArray[np.int64]:
        """Return the flow of the form, cut to its capacities, from that of the input arcs.

        It is the same array where nothing changes.
        """
        exponent, capacity = self.amount_exponent, self.form.capacity
        exact = flow.dtype.kind == "i" and exponent is None
        amounts = flow.astype(np.int64, copy=False) if exact else _rounded(flow, exponent or 0)
        if self.lower is not None:
            amounts = amounts - self.lower
        if len(self.undirected):
            amounts = np.append(amounts, -amounts[self.undirected])
        if int(amounts.min(initial=0)) < 0 or (amounts > capacity).any():
            amounts = np.clip(amounts, 0, capacity)
        return amounts

    def form_potentials(self, potentials: Array) -> NDArray[np.int64]:
        """Return potentials in the form's units from those in the caller's, perhaps in the same array."""
        if self.cost_exponent is None and potentials.dtype.kind == "i":
            return potentials.astype(np.int64, copy=False)
        return _rounded(potentials, self.cost_exponent or 0, 2.0**60)

    def potentials(self, found: NDArray[np.int64], zero: int) -> Array:
        """Return the potentials in the caller's units: floats are those above that of a vertex."""
        if self.cost_exponent is None:
            return found
        above = found - found[zero] if len(found) else found
        with np.errstate(over="ignore"):
            prices = np.ldexp(above.astype(np.float64), -self.cost_exponent)
        most = sys.float_info.max
        bounded: Array = np.clip(prices, -most, most)
        return bounded


@np.errstate(over="ignore")
def flow_limit(network: CostNetwork, supply: Array) -> int | float:
    """Return an amount that some optimal flow, less its lower bounds, does not exceed on any arc.

    A flow is a sum of paths from supplies to demands and of cycles. The paths carry at most the supplies in
    all. In some optimal flow each cycle has negative cost, so it uses an arc of negative cost; and an arc of
    finite capacity, since else the problem is unbounded.
    """
    lower = network.lower
    if is_integral(supply) and (lower is None or is_integral(lower)):
        supply = supply.astype(np.int64, copy=False)
        lower = None if lower is None else lower.astype(np.int64, copy=False)
    shifted = supply if lower is None else _without_lower(network, supply, lower)
    room = network.capacity if lower is None else difference(network.capacity, lower)
    negative = network.cost < 0
    endless = room.dtype.kind == "f" and bool((negative & np.isinf(room)).any())
    counted = np.isfinite(room) if endless else negative
    finite = room[counted]
    if shifted.dtype.kind == "i" and is_integral(finite):
        finite = finite.astype(np.int64, copy=False)  # a sum with floats would be rounded past 2**53
    total = _sum(np.maximum(shifted, 0)) + _sum(finite)
    if isinstance(total, int):
        return total
    # Differences of supplies and lower bounds have lost this at most.
    lost = 0.0 if lower is None else network.num_arcs * 2.0**-52 * float_sum(np.abs(lower))
    return min((total + lost) * (1 + 2.0**-50), sys.float_info.max)


def difference(larger: Array, smaller: Array) -> Array:
    """Return ``larger - smaller``; of integers at most the largest int64."""
    apart = larger - smaller
    if apart.dtype.kind == "i":
        apart[(smaller < 0) & (larger >= 0) & (apart < 0)] = INT64_MAX
    return apart


def largest_amount(network: CostNetwork, supply: Array) -> float:
    """Return an amount to which rounding errors are relative: the flow of no arc need be larger."""
    lower = 0.0 if network.lower is None else float_sum(np.abs(network.lower))
    return min(float(flow_limit(network, supply)) + lower, sys.float_info.max)


class CostRule(NamedTuple):
    """How float costs become integers."""

    limit: float = math.inf  #: costs above it in size are cut off at it
    bits: int = COST_BITS  #: of the largest integer, at most
    down: bool = False  #: whether costs are rounded down, not toward zero


#: Nothing is cut off.
PLAIN = CostRule()


def most_cost(num_vertices: int, *, on_gpu: bool = False) -> int:
    """Return the largest integer cost that the methods of a network take.

    Costs along a path and those of one more arc sum to less than 2**61. The method on a GPU multiplies costs
    by n + 1, and prices may be seven times the sum of n + 1 of them: they stay below 2**62.
    """
    n = num_vertices + 1
    return (MOST - 1) // (7 * n * n) if on_gpu else (MOST // 2 - 1) // n


def check_largest_cost(largest: int, most: int, num_vertices: int) -> None:
    """Raise CostOverflowError if a cost is larger than `most`, the largest that there is room for."""
    if largest > most:
        raise CostOverflowError(
            f"a cost is {largest:,} in size; integer costs of a network of {num_vertices:,} vertices may "
            f"be at most {most:,} here: divide them, or give them as floats"
        )


class _Amounts(NamedTuple):
    """Amounts as integers: those given, or times two to `exponent`; no arc need carry more than `limit`."""

    capacity: NDArray[np.int64]
    endless: NDArray[np.bool_]
    lower: NDArray[np.int64] | None
    supply: NDArray[np.int64]
    limit: int
    exponent: int | None = None
    whole: bool = True


def standardise(network: CostNetwork, supply: Array, rule: CostRule = PLAIN) -> Standardised:
    """Return a network with its supplies in standard form, float costs by a rule.

    Integer amounts whose sums pass 2**62 are rounded like floats. InvalidInputError: the supplies do not sum
    to zero. CostOverflowError: integer costs along a path may sum to 2**61 or more.
    """
    whole = amounts_are_whole(network, supply)
    if whole:
        _check_sum(supply, 0)
        exact = _whole_amounts(network, supply)
        standard = None if exact is None else _standardised(network, exact, rule)
        if standard is not None and _vertex_sums_fit(standard.form):
            return standard
    return _standardised(network, _rounded_amounts(network, supply, whole), rule)


def _whole_amounts(network: CostNetwork, supply: Array) -> _Amounts | None:
    """Return integer amounts as they are; None if they are too large."""
    capacity, endless = _as_integers(network.capacity)
    lower = None if network.lower is None else network.lower.astype(np.int64, copy=False)
    supplies = supply.astype(np.int64, copy=False)
    if lower is not None and len(lower):
        apart = int(capacity.max()) - int(lower.min())
        if max(apart, _sum(np.abs(lower)), int(supplies.max()), -int(supplies.min())) >= MOST:
            return None
    limit = flow_limit(_with_integers(network, capacity, endless, lower), supplies)
    return None if limit >= MOST else _Amounts(capacity, endless, lower, supplies, int(limit))


def _rounded_amounts(network: CostNetwork, supply: Array, whole: bool) -> _Amounts:
    limit, most = float(flow_limit(network, supply)), largest_amount(network, supply)
    if not whole:
        _check_sum(supply, (network.num_vertices + network.num_arcs + 2) * 2.0**-50 * most)
    exponent = _amount_bits(network) - math.frexp(most)[1]
    if whole:
        exponent = min(exponent, 0)
    endless = np.isinf(network.capacity)
    lower = None if network.lower is None else _rounded(network.lower, exponent)
    roof = 2 * math.ldexp(most, exponent) + 2
    with np.errstate(over="ignore"):  # what overflows is above the roof
        scaled = np.ceil(np.ldexp(np.where(endless, 0, network.capacity), exponent))
    capacity = np.minimum(scaled, roof).astype(np.int64)
    supplies = _balanced(_rounded_together(supply, exponent))
    units = math.ceil(math.ldexp(limit, exponent)) + network.num_vertices + 2 * network.num_arcs
    return _Amounts(capacity, endless, lower, supplies, units, exponent, whole)


def _standardised(network: CostNetwork, amounts: _Amounts, rule: CostRule) -> Standardised:
    capacity, endless, lower, supplies, limit, exponent, whole = amounts
    cost, cost_exponent = _integer_costs(network, rule)
    if lower is not None:
        capacity = np.where(endless, 0, capacity - lower) if endless.any() else capacity - lower
        supplies = _without_lower(network, supplies, lower)
    bounds = _cut(capacity, endless, limit + 1, capacity is network.capacity)
    undirected = undirected_arcs(network)
    tail, head = network.tail.astype(np.uint32, copy=False), network.head.astype(np.uint32, copy=False)
    if len(undirected):
        tail, head = np.append(tail, head[undirected]), np.append(head, tail[undirected])
        bounds, cost = np.append(bounds, bounds[undirected]), np.append(cost, cost[undirected])
    form = StandardForm(tail, head, np.ascontiguousarray(bounds), np.ascontiguousarray(cost), supplies)
    return Standardised(form, network.num_arcs, lower, undirected, exponent, cost_exponent, whole)


def _cut(capacity: NDArray[np.int64], endless: NDArray[np.bool_], most: int, shared: bool) -> Integers:
    """Return the capacities with `most` in place of larger and endless ones, of 32 bits if they fit.

    `shared`: `capacity` is the array of the network. It is returned as it is if nothing is to be replaced.
    """
    largest, any_endless = int(capacity.max(initial=0)), bool(endless.any())
    if largest <= most and shared and not any_endless:
        return capacity
    if any_endless or largest > most:
        largest = most
    cut: Integers = np.empty(len(capacity), dtype=np.int32 if largest < 2**31 else np.int64)
    np.minimum(capacity, most, out=cut, casting="unsafe")
    if any_endless:  # an int32 array refuses a larger number, even at no place
        cut[endless] = most
    return cut


def _sum(values: Array) -> int | float:
    return exact_sum(values) if len(values) else 0


def _check_sum(supply: Array, slack: float) -> None:
    total = total_of(supply.tolist()) if supply.dtype.kind == "f" else _sum(supply)
    if not abs(total) <= slack:
        raise UnequalSumsError(f"the supplies sum to {total:,}, not to zero")


def _as_integers(capacity: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return capacities as integers, 0 where they are infinite, and where they are."""
    if capacity.dtype.kind == "i":
        return capacity, np.zeros(len(capacity), dtype=bool)
    endless = np.isinf(capacity)
    return np.where(endless, 0, capacity).astype(np.int64), endless


def _with_integers(
    network: CostNetwork,
    capacity: NDArray[np.int64],
    endless: NDArray[np.bool_],
    lower: NDArray[np.int64] | None,
) -> CostNetwork:
    """Return the network with integer capacities if all are finite; otherwise the network itself."""
    if network.capacity.dtype.kind == "i" or endless.any():
        return network
    return CostNetwork(
        network.num_vertices, network.tail, network.head, capacity=capacity, cost=network.cost, lower=lower
    )


def _without_lower(network: CostNetwork, supply: Array, lower: Array) -> Array:
    """Return what each vertex still sends once the lower bounds are sent."""
    whole = supply.dtype.kind == lower.dtype.kind == "i"
    if whole and len(supply):
        # Where sums of integers could wrap: such amounts are refused, or rounded like floats.
        least = -(2**63 - 1)  # its absolute value fits int64
        sizes = (np.abs(np.maximum(values, least)) for values in (supply, lower))
        whole = int(next(sizes).max()) + _sum(next(sizes)) <= -least
    kind = np.int64 if whole else np.float64
    left = supply.astype(kind)
    np.subtract.at(left, network.tail, lower.astype(kind, copy=False))
    np.add.at(left, network.head, lower.astype(kind, copy=False))
    return left


def _rounded(values: Array, exponent: int, most: float = float(MOST)) -> NDArray[np.int64]:
    """Return values times two to `exponent` as integers of at most this size."""
    with np.errstate(over="ignore"):  # an earlier answer may be far larger than those of today
        scaled = np.ldexp(values.astype(np.float64), exponent)
    whole: NDArray[np.int64] = np.rint(np.clip(scaled, -most, most)).astype(np.int64)
    return whole


def _amount_bits(network: CostNetwork) -> int:
    """Return the bits of the largest float amount as an integer."""
    ends = [network.tail, network.head] * (1 if network.undirected is None else 2)
    degrees = sum(np.bincount(end, minlength=network.num_vertices) for end in ends)
    return min(AMOUNT_BITS, ROOM_BITS - int(np.max(degrees, initial=0)).bit_length())


def _rounded_together(values: Array, exponent: int) -> NDArray[np.int64]:
    """Return values times two to `exponent` as integers: each off by less than one, their sum by a half."""
    scaled = np.ldexp(values.astype(np.float64), exponent)
    below = np.floor(scaled)
    carried = np.floor(np.cumsum(scaled - below) + 0.5)
    whole: NDArray[np.int64] = (below + np.diff(carried, prepend=0.0)).astype(np.int64)
    return whole


def _balanced(supply: NDArray[np.int64]) -> NDArray[np.int64]:
    """Take what rounded supplies sum to from the largest of them."""
    surplus = int(supply.sum())
    if surplus:
        signed = supply if surplus > 0 else -supply
        supply[int(signed.argmax())] -= surplus
    return supply


def _integer_costs(network: CostNetwork, rule: CostRule) -> tuple[NDArray[np.int64], int | None]:
    """Return the costs as integers, and the exponent of the power of two that they were multiplied by."""
    cost, most = network.cost, most_cost(network.num_vertices)
    if is_integral(cost):
        whole = cost.astype(np.int64, copy=False)
        largest = largest_size(whole)
        if cost.dtype.kind == "i":
            check_largest_cost(largest, most, network.num_vertices)
        if largest <= most:
            return whole, None
    limit = min(rule.limit, float(np.abs(cost).max()))
    bits = min(rule.bits, most.bit_length() - 1)
    exponent = bits - math.frexp(limit)[1]
    # Costs far below the largest one may underflow.
    scaled = np.ldexp(np.clip(cost, -limit, limit), exponent)
    return (np.floor(scaled) if rule.down else np.trunc(scaled)).astype(np.int64), exponent


def _check_costs(cost: Array, num_vertices: int) -> None:
    check_largest_cost(largest_size(cost), most_cost(num_vertices), num_vertices)


def lower_costs(cost: Array, num_vertices: int) -> NDArray[np.int64]:
    """Return integers of which paths have sums that fit int64: those of integers, floats rounded down."""
    if cost.dtype.kind == "i" or not len(cost):
        _check_costs(cost, num_vertices)
        return cost
    bits = min(COST_BITS, most_cost(num_vertices).bit_length() - 1)
    exponent = bits - math.frexp(float(np.abs(cost).max()))[1]
    whole = np.floor(np.ldexp(cost, exponent))
    whole[(cost < 0) & (whole == 0)] = -1  # it was below the smallest float
    return whole.astype(np.int64)


def _vertex_sums_fit(form: StandardForm) -> bool:
    """Return whether amounts at each vertex sum to less than 2**62."""
    n = len(form.supply)
    if not n:
        return True
    # Mostly not even the sum over all vertices is that large; it takes a tenth of the time.
    largest = float(np.abs(form.supply).max())
    if (2.0 * float(form.capacity.sum(dtype=np.float64)) + largest) * (1 + 1e-9) < MOST:
        return True
    sums = np.abs(form.supply.astype(np.float64))
    for ends in (form.tail, form.head):
        for begin in range(0, len(ends), CHUNK):  # bincount copies what it gets
            part = slice(begin, begin + CHUNK)
            sums += np.bincount(ends[part], weights=form.capacity[part], minlength=n)
    return float(sums.max()) * (1 + 1e-9) < MOST
