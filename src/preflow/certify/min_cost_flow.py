"""The proof that a flow has minimum cost: a feasible flow and potentials whose bound equals its cost.

Let the reduced cost of an arc be its cost, plus the potential of its tail, minus that of its head. The cost
of a flow is the sum of reduced cost times flow over all arcs, minus the sum of potential times supply over
all vertices. So no flow costs less than :func:`dual_bound`, in which each arc carries what makes its term
least: its lower bound if its reduced cost is positive, its capacity if it is negative. The proof holds for
all potentials; a solver's potentials are those for which the bound is the cost of its flow.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidInputError, VerificationError
from ..graph.cost_network import CostNetwork, amounts_are_whole, is_integral, lower_of
from ..graph.negative_cycle import negative_cycle
from ..graph.network import EXACT_FLOAT, INT64_MAX, exact_sum, largest_size
from ..graph.scaling import is_close
from ..graph.standard_form import flow_limit
from .exact import (
    WORD,
    as_floats,
    as_integers,
    check_integers,
    exact_dot,
    exact_total,
    exact_words,
    float_near,
    rounded_dots,
    rounded_up,
    two_sum,
)
from .fields import check_arcs, check_bounds, check_kind, checked_array, checked_number

#: Relative error of a reduced cost that :func:`accurate_reduced_costs` returns, and of a bound.
ROUNDING = 2.0**-51
#: A share of flow and capacity that float64 may lose in a sum, for each of the numbers summed.
AMOUNT_ROUNDING = 2.0**-50
#: No more than this share of what passes a vertex may be lacking there, however large other amounts are.
MOST_LACKING = 2.0**-20


class CostAndGap(NamedTuple):
    """The cost of a flow, and how far that may be from the optimum."""

    cost: int | float
    gap: int | float
    #: the gap that the potentials prove if arcs count that carry the same in every feasible flow, too: if it
    #: is small, they are prices of all arcs
    slack: int | float


class OneWay(NamedTuple):
    """The arcs of a network, and after them the opposites of its undirected ones."""

    #: tail, head: integers
    tail: Array
    head: Array
    cost: Array
    #: bounds that some optimal flow keeps: an arc carries at most twice
    #: :func:`preflow.graph.standard_form.flow_limit` more than its lower bound. So none of unlimited capacity
    #: is full in this flow.
    lower: Array
    upper: Array
    flow: Array  #: an undirected arc has its flow in one of its two directions


def one_way(network: CostNetwork, supply: Array, flow: Array) -> OneWay:
    """Return the arcs of a network with a flow, each of which leads one way."""
    lower = lower_of(network)
    upper, limit = network.capacity, 2 * flow_limit(network, supply)
    with np.errstate(over="ignore"):
        if upper.dtype.kind == "f":
            exact = isinstance(limit, int) and limit < EXACT_FLOAT
            most = lower + float(limit) if exact else lower + float(limit) * (1 + ROUNDING)
            upper = np.minimum(upper, np.minimum(most, sys.float_info.max))
        elif limit < 2**61 and int(np.abs(_whole(lower)).max(initial=0)) < 2**61:
            upper = np.minimum(upper, _whole(lower) + math.ceil(limit))
    arcs = OneWay(network.tail, network.head, network.cost, lower, np.maximum(upper, lower), flow)
    if network.undirected is None:
        return arcs
    both = np.flatnonzero(network.undirected)
    ahead, back = flow.copy(), np.maximum(-flow[both], 0)
    ahead[both] = np.maximum(ahead[both], 0)
    return OneWay(
        np.append(arcs.tail, arcs.head[both]),
        np.append(arcs.head, arcs.tail[both]),
        np.append(arcs.cost, arcs.cost[both]),
        np.append(lower, lower[both]),
        np.append(arcs.upper, arcs.upper[both]),
        np.append(ahead, back),
    )


def fixed_arcs(arcs: OneWay, num_vertices: int) -> NDArray[np.bool_]:
    """Return which arcs carry the same in every feasible flow.

    Two feasible flows differ by cycles of residual arcs, so these are the arcs between strongly connected
    components of the residual network.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ahead, back = arcs.flow < arcs.upper, arcs.flow > arcs.lower
    tail = np.concatenate([arcs.tail[ahead], arcs.head[back]]).astype(np.int64)
    head = np.concatenate([arcs.head[ahead], arcs.tail[back]]).astype(np.int64)
    residual = coo_array((np.ones(len(tail), np.int8), (tail, head)), shape=(num_vertices, num_vertices))
    _, component = connected_components(residual.tocsr(), connection="strong")
    fixed: NDArray[np.bool_] = component[arcs.tail] != component[arcs.head]
    return fixed


def cost_of_lack(network: CostNetwork, supply: Array, flow: Array, potentials: Array, most: float) -> float:
    """Return about what it may cost to send what a flow of floats lacks, beside the gap of the flow.

    Arcs with room both ways send it for the difference of potentials, apart from what is in the gap; what
    they cannot send costs `most`.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left = float_balances(network, supply, flow)
    total = float(np.abs(left).sum())
    arcs = one_way(network, supply, flow)
    free = (arcs.flow - arcs.lower > total) & (arcs.upper - arcs.flow > total)
    n, ends = network.num_vertices, (arcs.tail[free], arcs.head[free])
    _, part = connected_components(coo_array((free[free], ends), shape=(n, n)), connection="weak")
    stranded = float(np.abs(np.bincount(part, left)).sum())
    sent = float(np.dot(potentials - potentials[int(np.abs(supply).argmax())], left))
    return 2 * abs(sent) + most * stranded


def accurate_reduced_costs(arcs: OneWay, potentials: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the reduced costs with a relative error of at most `ROUNDING`, and which have an error.

    Differences and sums are split into a float and what it lacks (Knuth, "The Art of Computer Programming",
    volume 2, 4.2.2). They are not finite where float64 cannot represent the reduced cost.
    """
    before, after = potentials[arcs.tail], potentials[arcs.head]
    if arcs.cost.dtype.kind == potentials.dtype.kind == "i":
        largest = [float(np.abs(values.astype(np.float64)).max(initial=0)) for values in (arcs.cost, before)]
        if largest[0] + 2 * largest[1] < 2.0**62:
            return arcs.cost + (before - after), np.zeros(len(before), dtype=bool)
    cost, before, after = (values.astype(np.float64) for values in (arcs.cost, before, after))
    with np.errstate(over="ignore", invalid="ignore"):
        difference, lost = two_sum(before, -after)
        found, more = two_sum(cost, difference)
        return np.where(np.isfinite(found), found + (more + lost), found), ~((lost == 0) & (more == 0))


def lower_reduced_costs(arcs: OneWay, potentials: Array) -> Array:
    """Return the reduced costs, rounded down where float64 has to round, and those past it as the largest."""
    reduced, rounded = accurate_reduced_costs(arcs, potentials)
    if not rounded.any():
        return reduced
    less: Array = np.where(rounded, reduced - ROUNDING * np.abs(reduced), reduced)
    return np.clip(less, -sys.float_info.max, sys.float_info.max)


def flow_cost(network: CostNetwork, flow: Array) -> int | float:
    """Return the cost of a flow: exact for integers, else correctly rounded."""
    return _cost_and_rest(network, flow)[0]


def _cost_and_rest(network: CostNetwork, flow: Array) -> tuple[int | float, float]:
    """Return the cost of a flow, and what rounding took from it."""
    amount = flow if network.undirected is None else np.where(network.undirected, np.abs(flow), flow)
    cost, amount = _whole(network.cost), _whole(amount)
    if cost.dtype.kind == amount.dtype.kind == "i":
        return exact_dot(cost, amount), 0.0
    return rounded_dots((cost, amount))


def reduced_costs(network: CostNetwork, potentials: Array) -> Array:
    """Return, per arc, its cost plus the potential of its tail minus that of its head.

    VerificationError: an integer does not fit int64.
    """
    cost = _whole(network.cost)
    if cost.dtype.kind == potentials.dtype.kind == "i":
        largest = [largest_size(v) for v in (cost, potentials)]
        if largest[0] + 2 * largest[1] > INT64_MAX:
            raise VerificationError(f"potentials of up to {largest[1]} are too large for int64")
    # The difference comes first: it is often small beside the potentials, which then round less away.
    with np.errstate(over="ignore", invalid="ignore"):
        reduced: Array = cost + (potentials[network.tail] - potentials[network.head])
    return reduced


def dual_bound(network: CostNetwork, supply: Array, potentials: Array) -> int | float:
    """Return the lower bound on the cost of all feasible flows that these potentials prove.

    Exact for integers; for floats less what rounding may have added. Supplies of floats whose sum differs
    from zero by rounding are balanced at the largest. An arc counts as carrying at most
    :func:`preflow.graph.standard_form.flow_limit` more than its lower bound, of floats twice that.
    """
    if not is_whole(network, supply, potentials):
        return _bound_of_floats(network, supply, potentials)
    reduced = reduced_costs(network, potentials)
    lower = _whole(lower_of(network))
    upper = network.capacity
    endless = np.isinf(upper) if upper.dtype.kind == "f" else np.zeros(len(upper), dtype=bool)
    bound: int | float = -exact_dot(_whole(potentials), _whole(supply))
    negative = reduced < 0
    if network.undirected is not None:
        # Flow in the direction of the smaller reduced cost: cost - difference or cost + difference.
        cost = _whole(network.cost)
        reduced = np.where(network.undirected, cost - np.abs(reduced - cost), reduced)
        negative = reduced < 0
    cheap = negative & endless
    if cheap.any():
        limit = flow_limit(network, supply)
        bound += exact_sum(reduced[cheap]) * limit + exact_dot(reduced[cheap], lower[cheap])
    finite = negative & ~endless
    bound += exact_dot(reduced[finite], _whole(upper[finite]))
    return bound + exact_dot(reduced[~negative], lower[~negative])


@np.errstate(over="ignore")
def _bound_of_floats(
    network: CostNetwork, supply: Array, potentials: Array, flow: Array | None = None
) -> float:
    """Return the bound of :func:`dual_bound`; fixed arcs carry what they do in a feasible flow, if given."""
    if not network.num_vertices:
        return 0.0
    arcs = one_way(network, supply, np.zeros(network.num_arcs) if flow is None else flow)
    reduced, rounded = accurate_reduced_costs(arcs, potentials)
    amount = np.where(reduced < 0, arcs.upper, arcs.lower)
    if flow is not None:
        amount = np.where(fixed_arcs(arcs, network.num_vertices), arcs.flow, amount)
    used = (amount != 0) & (reduced != 0)
    if not (np.isfinite(reduced[used]).all() and np.isfinite(amount[used]).all()):
        return -math.inf
    at, surplus = _surplus(supply)
    pairs = [(reduced[used], amount[used]), (potentials, -supply)]
    if surplus:
        pairs.append((potentials[at : at + 1], np.array([surplus])))
    bound, rest = rounded_dots(*pairs)
    used &= rounded
    error = float(np.dot(np.abs(reduced[used]), np.abs(amount[used])))
    return (math.nextafter(bound, -math.inf) if used.any() or rest < 0 else bound) - ROUNDING * error


def cut_bound(network: CostNetwork, supply: Array, sink_side: NDArray[np.bool_]) -> int | float:
    """Return the largest amount that a cut allows: exact for integers, infinite over an endless arc.

    What a flow sends over the arcs out of the source side, less what it sends back over the cut, is the
    amount plus the supplies of the source side.
    """
    out = ~sink_side[network.tail] & sink_side[network.head]
    back = sink_side[network.tail] & ~sink_side[network.head]
    bound = total_amount(network.capacity[out]) - total_amount(supply[~sink_side])
    bound -= brought_back(network, sink_side)
    if network.undirected is not None:
        bound += total_amount(network.capacity[back & network.undirected])
    return bound


def brought_back(network: CostNetwork, sink_side: NDArray[np.bool_]) -> int | float:
    """Return what lower bounds bring from the sink side of a cut to the other one."""
    if network.lower is None:
        return 0
    return total_amount(network.lower[sink_side[network.tail] & ~sink_side[network.head]])


def total_amount(amounts: Array) -> int | float:
    """Return a sum: of integers exactly, also where floats hold them."""
    return exact_sum(_whole(amounts)) if len(amounts) else 0


def _surplus(supply: Array) -> tuple[int, float]:
    """Return the vertex at which supplies are balanced, and what they sum to by rounding."""
    return int(np.abs(supply).argmax()), float_near(exact_total(supply))


def exact_bound(network: CostNetwork, supply: Array, potentials: Array, exponent: int) -> Fraction:
    """Return the bound of :func:`dual_bound` for potentials that are integers over ``2**exponent``."""
    if not network.num_vertices:
        return Fraction(0)
    arcs = one_way(network, supply, np.zeros(network.num_arcs))
    endless = np.isinf(arcs.upper) if arcs.upper.dtype.kind == "f" else np.zeros(len(arcs.upper), dtype=bool)
    (cost,), power = as_integers(arcs.cost)
    upper = np.where(endless, 0, arcs.upper)
    (least, most, sent), amounts = as_integers(arcs.lower, upper, supply)
    prices = potentials.astype(object) << max(power - exponent, 0)
    cost = cost << max(exponent - power, 0)
    sent[int(np.abs(sent).argmax())] -= sent.sum()
    reduced = cost + prices[arcs.tail.astype(np.int64)] - prices[arcs.head.astype(np.int64)]
    negative = reduced < 0
    if (negative & endless).any():
        raise VerificationError("the limit of the flow of an arc is more than float64 can represent")
    total = int((reduced * np.where(negative, most, least)).sum()) - int((prices * sent).sum())
    return Fraction(total, 1) / Fraction(2) ** (max(power, exponent) + amounts)


def terms_of(network: CostNetwork, flow: Array) -> float:
    """Return the sum of the absolute values of costs times flow."""
    with np.errstate(over="ignore"):
        return float(np.dot(np.abs(network.cost.astype(np.float64)), np.abs(flow.astype(np.float64))))


def cost_and_gap(
    network: CostNetwork, supply: Array, flow: Array, potentials: Array, exact: ExactPotentials | None = None
) -> CostAndGap:
    """Return the cost of a flow of floats, and by how much it may differ from the optimum.

    `exact` are the potentials that `potentials` round, where float64 is too coarse.
    """
    cost, rest = _cost_and_rest(network, flow)
    if not math.isfinite(cost):
        return CostAndGap(cost, math.inf, math.inf)
    if exact is not None:
        gap = rounded_up(abs(Fraction(cost) - exact_bound(network, supply, *exact)))
        return CostAndGap(cost, gap, gap)
    off = slack = abs(cost - _bound_of_floats(network, supply, potentials))
    if not is_close(off, abs(cost), network.num_vertices + network.num_arcs):
        off = min(off, abs(cost - _bound_of_floats(network, supply, potentials, flow)))
    return CostAndGap(cost, off + abs(rest), slack + abs(rest))


class ExactPotentials(NamedTuple):
    """Potentials that are integers over a power of two."""

    potentials: NDArray[np.object_]  #: Python integers, shape (n,)
    exponent: int

    def of_first(self, count: int) -> ExactPotentials:
        """Return those of the first vertices."""
        return ExactPotentials(self.potentials[:count].copy(), self.exponent)

    def rounded(self) -> NDArray[np.float64]:
        """Return the nearest finite floats."""
        most = sys.float_info.max
        nearest: NDArray[np.float64] = np.clip(as_floats(self.potentials, self.exponent), -most, most)
        return nearest


def rounding_of_amounts(network: CostNetwork, supply: Array, flow: Array, potentials: Array) -> float:
    """Return what rounding of the amounts at each vertex to float64 may change in the optimum."""
    if amounts_are_whole(network, supply) or not network.num_vertices:
        return 0.0
    moved, sent = (2.0**-52 * np.abs(values.astype(np.float64)) for values in (flow, supply))
    with np.errstate(over="ignore"):
        for end in (network.tail, network.head):
            sent = sent + np.bincount(end, moved, network.num_vertices)
        prices = np.abs(potentials.astype(np.float64) - float(potentials[int(np.abs(supply).argmax())]))
        used = (sent != 0) & (prices != 0)
        return float(np.dot(prices[used], sent[used]))


def is_near(network: CostNetwork, supply: Array, flow: Array, potentials: Array, gap: float) -> bool:
    """Return whether a flow of floats with a proved gap may be called optimal."""
    # Its cost and the bound are each rounded to a float.
    rounding = rounding_of_amounts(network, supply, flow, potentials) + 2 * math.ulp(0.0)
    return is_close(gap, terms_of(network, flow), network.num_vertices + network.num_arcs, rounding)


def amount_slack(network: CostNetwork, supply: Array, flow: Array) -> NDArray[np.float64] | None:
    """Return by how much rounding may change what each vertex sends: None for integers.

    It is relative to the largest amount, as long as it is a small part of what passes the vertex.
    """
    if amounts_are_whole(network, supply):
        return None
    share = (network.num_vertices + network.num_arcs + 2) * AMOUNT_ROUNDING
    moved = np.where(network.tail == network.head, 0.0, np.abs(flow.astype(np.float64)))
    sent = np.abs(supply.astype(np.float64))
    largest = max(float(moved.max(initial=0)), float(sent.max(initial=0)))
    passing: NDArray[np.float64] = MOST_LACKING * sent
    for end in (network.tail, network.head):
        passing += np.bincount(end, MOST_LACKING * moved, network.num_vertices)
    return np.maximum(np.minimum(share * largest, passing), share / AMOUNT_ROUNDING * math.ulp(0.0))


def sends_all(network: CostNetwork, supply: Array, flow: Array) -> bool:
    """Return whether a flow sends all supplies: integers exactly, floats up to rounding."""
    slack = amount_slack(network, supply, flow)
    if slack is None:
        return not lacking_at(network, supply, flow).any()
    return bool((np.abs(float_balances(network, supply, flow)) <= slack).all())


def lacking_at(network: CostNetwork, supply: Array, flow: Array) -> Array:
    """Return what each vertex still has to send: exact for integers, sums of floats to less than rounding."""
    if supply.dtype.kind == flow.dtype.kind == "i":
        left = supply.copy()
        np.subtract.at(left, network.tail, flow)
        np.add.at(left, network.head, flow)
        return left
    (amounts, sent), exponent = as_integers(flow, supply)
    sent = sent.copy()
    sent[busiest_vertex(supply, network.tail, network.head, flow)] -= sent.sum()
    np.subtract.at(sent, network.tail, amounts)
    np.add.at(sent, network.head, amounts)
    return as_floats(sent, exponent)


@np.errstate(over="ignore", invalid="ignore")
def busiest_vertex(supply: Array, tail: Array, head: Array, flow: Array) -> int:
    """Return the vertex that most passes, without self loops: what supplies sum to counts there.

    What passes is the smaller of what comes and what goes, since a flow to start from need not be conserved;
    where that is equal, as without any flow, their sum decides.
    """
    sent = supply.astype(np.float64)
    moved = np.where(tail == head, 0.0, flow.astype(np.float64))
    forth, back = np.maximum(moved, 0), np.maximum(-moved, 0)
    comes, goes = (
        np.maximum(own, 0) + np.bincount(first, forth, len(sent)) + np.bincount(second, back, len(sent))
        for own, first, second in ((sent, head, tail), (-sent, tail, head))
    )
    passing = np.minimum(comes, goes)
    return int(np.where(passing == passing.max(initial=0), comes + goes, -1).argmax())


@np.errstate(over="ignore", invalid="ignore")
def float_balances(network: CostNetwork, supply: Array, flow: Array) -> Array:
    """Return supply minus outflow plus inflow of each vertex, without self loops.

    What supplies sum to, by rounding, counts at the vertex that most passes.
    """
    left: Array = supply.astype(np.float64)
    amounts = np.where(network.tail == network.head, 0.0, flow)
    _, surplus = _surplus(supply) if len(left) else (0, 0.0)
    if surplus:
        left[busiest_vertex(supply, network.tail, network.head, flow)] -= surplus
    left -= np.bincount(network.tail, amounts, len(left))
    left += np.bincount(network.head, amounts, len(left))
    return left


@np.errstate(over="ignore")
def check_flow_of_network(
    network: CostNetwork, supply: Array, flow: Any, rounding: NDArray[np.float64] | None = None
) -> Array:
    """Check bounds on every arc and conservation at every vertex; return the flow as an array.

    `rounding` is as in :func:`check_min_cost_flow`. VerificationError: names the first arc or vertex at
    fault.
    """
    amounts: Array = checked_array(network, flow, "flow", (network.num_arcs,), np.int64, np.float64)
    if amounts.dtype.kind == "f" and not np.isfinite(amounts).all():
        raise VerificationError(f"arc {int((~np.isfinite(amounts)).argmax())} carries no finite amount")
    slack = amount_slack(network, supply, amounts)
    if rounding is not None:
        slack = rounding if slack is None else slack + rounding
    past: Any = 0
    if slack is None:
        amounts = _checked_whole(amounts)
    else:
        past = (network.num_vertices + network.num_arcs + 2) * np.maximum(
            AMOUNT_ROUNDING * np.abs(amounts), math.ulp(0.0)
        )
    lower: Any = 0 if network.lower is None else _whole(network.lower)
    upper = network.capacity
    if network.undirected is not None:
        lower = np.where(network.undirected, -upper, lower)
    check_arcs(network, amounts - past > upper, amounts, "more than its capacity")
    check_arcs(network, amounts + past < lower, amounts, "less than its lower bound")
    words = _balances(network, _whole(supply), amounts)
    for word in words:
        broken = ~(np.abs(word) <= slack) if slack is not None else word != 0
        if broken.any():
            vertex = int(broken.argmax())
            parts = [each[vertex].item() for each in words]
            left = parts[0] if len(parts) == 1 else sum(part << WORD * i for i, part in enumerate(parts))
            raise VerificationError(
                f"flow is not conserved at vertex {network.name(vertex)}: it differs by {left}"
            )
    return amounts


def check_cheapest_flow(network: CostNetwork, flow: Array) -> None:
    """Prove without potentials that a feasible flow has minimum cost: no residual cycle has negative cost.

    O(nm) where it is true of a hard instance, otherwise much less. VerificationError: names the arcs of a
    cycle along which flow costs less. InvalidInputError: costs are not integers, or so large that their sums
    do not fit int64.
    """
    cost = _whole(network.cost)
    if cost.dtype.kind != "i" or not is_integral(network.cost):
        raise InvalidInputError("costs must be integers to prove a flow cheapest without potentials")
    largest = largest_size(cost)
    if (largest + 1) * (network.num_vertices + 1) > INT64_MAX // 2:
        raise InvalidInputError(f"sums of {network.num_vertices} costs of up to {largest} do not fit int64")
    lower: Any = lower_of(network)
    both = np.zeros(network.num_arcs, dtype=bool) if network.undirected is None else network.undirected
    lower = np.where(both, -network.capacity, lower)
    forward, backward = np.flatnonzero(flow < network.capacity), np.flatnonzero(flow > lower)
    # Flow over an undirected arc costs; to send it back saves, until there is none.
    ahead = np.where(both & (flow < 0), -cost, cost)[forward]
    back = np.where(both & (flow <= 0), cost, -cost)[backward]
    tail = np.concatenate([network.tail[forward], network.head[backward]])
    head = np.concatenate([network.head[forward], network.tail[backward]])
    cycle = negative_cycle(tail, head, np.concatenate([ahead, back]), network.num_vertices)
    if cycle:
        arcs = np.concatenate([forward, backward])[cycle].tolist()
        shown = f"{', '.join(map(str, arcs[:10]))}{', ...' if len(arcs) > 10 else ''}"
        raise VerificationError(f"flow around a cycle of {len(arcs)} residual arcs costs less: arcs {shown}")


@np.errstate(over="ignore", invalid="ignore")
def check_min_cost_flow(
    network: CostNetwork,
    supply: Array,
    flow: Any,
    potentials: Any,
    status: object,
    lower_bound: object,
    upper_bound: object,
    gap: object,
    rounding: NDArray[np.float64] | None = None,
    exact: ExactPotentials | None = None,
) -> None:
    """Prove the bounds of a result, and if its status is optimal that they meet within the gap.

    Linear time. `rounding` is what vertices may lack beyond :func:`amount_slack`, where their supplies are
    sums of larger floats. `exact` are the potentials that `potentials` round, where float64 is too coarse.
    VerificationError: the proof fails.
    """
    lower, upper = checked_number(lower_bound, "lower_bound"), checked_number(upper_bound, "upper_bound")
    margin = checked_number(gap, "gap")
    if not margin >= 0:
        raise VerificationError(f"gap is {margin}, below zero")
    if math.isinf(upper) and status != "optimal":
        amounts = checked_array(network, flow, "flow", (network.num_arcs,), np.int64, np.float64)
    else:
        amounts = check_flow_of_network(network, supply, flow, rounding)
    prices: Array = checked_array(
        network, potentials, "potentials", (network.num_vertices,), np.int64, np.float64
    )
    if prices.dtype.kind == "f" and not np.isfinite(prices).all():
        raise VerificationError(
            f"the potential of vertex {int((~np.isfinite(prices)).argmax())} is not finite"
        )
    if exact is not None:
        _check_exact(exact, prices)
    check_bounds(status, lower, upper)
    if not math.isinf(upper) and (cost := flow_cost(network, amounts)) != upper:
        raise VerificationError(f"the flow costs {cost}, not {upper}")
    if status != "optimal":
        bound = dual_bound(network, supply, prices)
        if not lower <= bound:
            raise VerificationError(f"the potentials prove {bound}, less than lower_bound, {lower}")
        if not upper - lower <= margin:
            raise VerificationError(f"gap is {margin}, less than the distance of the bounds")
        return
    if rounding is None and is_whole(network, supply, prices):
        _check_endless(network, prices)
        off: int | float = upper - dual_bound(network, supply, prices)
        near = margin == 0
    else:
        off = cost_and_gap(network, supply, amounts, prices, exact).gap
        near = is_near(network, supply, amounts, prices, margin)
    if not off <= margin:
        raise VerificationError(f"the potentials prove {upper} within {off}, more than the gap {margin}")
    if not near:
        raise VerificationError(f"the gap {margin} is too large for an optimal result")


def is_whole(network: CostNetwork, supply: Array, potentials: Array) -> bool:
    """Whether all numbers are integers, and so is the proof."""
    return potentials.dtype.kind == "i" and is_integral(network.cost) and amounts_are_whole(network, supply)


def _check_exact(exact: ExactPotentials, prices: Array) -> None:
    """Check that exact potentials are integers that the potentials round."""
    check_kind(exact, "the exact potentials", ExactPotentials)
    check_integers("the exact potentials", exact.exponent, (exact.potentials, len(prices)))
    if not np.array_equal(exact.rounded(), prices):
        raise VerificationError("the potentials are not those that the exact ones round to")


def _check_endless(network: CostNetwork, potentials: Array) -> None:
    """Check that no arc of infinite capacity has negative reduced cost: no flow fills it."""
    if network.capacity.dtype.kind == "i":
        return
    reduced = reduced_costs(network, potentials)
    if network.undirected is not None:
        cost = _whole(network.cost)
        reduced = np.where(network.undirected, cost - np.abs(reduced - cost), reduced)
    broken = (reduced < 0) & np.isinf(network.capacity)
    if broken.any():
        arc = int(broken.argmax())
        raise VerificationError(f"arc {arc} of infinite capacity has the reduced cost {reduced[arc]}")


def _whole(values: Array) -> Array:
    """Return floats that are all integers as int64; others as they are."""
    if values.dtype.kind == "f" and len(values) and is_integral(values) and np.isfinite(values).all():
        return values.astype(np.int64)
    return values if values.dtype.kind == "f" and len(values) else values.astype(np.int64)


def _checked_whole(amounts: Array) -> Array:
    if amounts.dtype.kind == "i":
        return amounts
    if not is_integral(amounts):
        bad = int((amounts != np.rint(amounts)).argmax())
        raise VerificationError(f"arc {bad} carries {amounts[bad]}, and all supplies and bounds are integers")
    return amounts.astype(np.int64)


def _balances(network: CostNetwork, supply: Array, flow: Array) -> list[Array]:
    """Return supply minus outflow plus inflow of each vertex, in words whose sums cannot wrap."""
    if flow.dtype.kind == "f" or supply.dtype.kind == "f":
        return [float_balances(network, supply, flow)]
    words = []
    carry: Array = np.zeros(network.num_vertices, dtype=np.int64)
    for i, (own, moved) in enumerate(zip(exact_words(supply), exact_words(flow), strict=True)):
        left = own + carry
        np.subtract.at(left, network.tail, moved)
        np.add.at(left, network.head, moved)
        carry = left >> WORD
        words.append(left & (2**WORD - 1) if i < 2 else left)
    return words
