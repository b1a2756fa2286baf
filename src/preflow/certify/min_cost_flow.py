"""The proof that a flow has minimum cost: a feasible flow and potentials whose bound equals its cost.

Let the reduced cost of an arc be its cost, plus the potential of its tail, minus that of its head. The cost
of a flow is the sum of reduced cost times flow over all arcs, minus the sum of potential times supply over
all vertices. So no flow costs less than :func:`dual_bound`, in which each arc carries what makes its term
least: its lower bound if its reduced cost is positive, its capacity if it is negative. The proof holds for
all potentials; a solver's potentials are those for which the bound is the cost of its flow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError, VerificationError
from ..graph.cost_network import CostNetwork, is_integral
from ..graph.negative_cycle import negative_cycle
from ..graph.network import INT64_MAX, exact_sum
from ..graph.standard_form import flow_limit, largest_amount
from .exact import WORD, exact_dot, exact_words
from .fields import check_bounds, checked_array, checked_number

#: Rounding of the smallest floats: a slack of floats is not 0, which means that all amounts are integers.
LEAST = 2.0**-1060


def flow_cost(network: CostNetwork, flow: Array) -> int | float:
    """Return the cost of a flow: exact for integers."""
    amount = flow if network.undirected is None else np.where(network.undirected, np.abs(flow), flow)
    return exact_dot(_whole(network.cost), _whole(amount))


def reduced_costs(network: CostNetwork, potentials: Array) -> Array:
    """Return, per arc, its cost plus the potential of its tail minus that of its head.

    Raises
    ------
    VerificationError
        An integer does not fit int64.
    """
    cost = _whole(network.cost)
    if cost.dtype.kind == potentials.dtype.kind == "i":
        largest = [max(abs(int(v.max())), abs(int(v.min()))) if len(v) else 0 for v in (cost, potentials)]
        if largest[0] + 2 * largest[1] > INT64_MAX:
            raise VerificationError(f"potentials of up to {largest[1]} are too large for int64")
    # The difference comes first: it is often small beside the potentials, which then round less away.
    reduced: Array = cost + (potentials[network.tail] - potentials[network.head])
    return reduced


def dual_bound(network: CostNetwork, supply: Array, potentials: Array) -> int | float:
    """Return the lower bound on the cost of all feasible flows that these potentials prove.

    Exact for integers. An arc of infinite capacity counts as carrying at most
    :func:`preflow.graph.standard_form.flow_limit` more than its lower bound.
    """
    reduced = reduced_costs(network, potentials)
    lower = np.zeros(network.num_arcs, dtype=np.int64) if network.lower is None else _whole(network.lower)
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
        bound += _sum(reduced[cheap]) * limit + exact_dot(reduced[cheap], lower[cheap])
    finite = negative & ~endless
    most = _whole(upper[finite])
    if most.dtype.kind == "f":
        most = np.minimum(most, lower[finite] + float(flow_limit(network, supply)))
    bound += exact_dot(reduced[finite], most)
    return bound + exact_dot(reduced[~negative], lower[~negative])


def amount_slack(network: CostNetwork, supply: Array) -> float:
    """Return by how much rounding may change an amount: 0 for integers."""
    amounts = [network.capacity, supply, *([] if network.lower is None else [network.lower])]
    if all(map(is_integral, amounts)):
        return 0
    largest = largest_amount(network, supply)
    return max((network.num_vertices + network.num_arcs + 2) * 2.0**-50 * largest, LEAST)


def cost_slack(
    network: CostNetwork, supply: Array, flow: Array, potentials: Array, rounding: float = 0
) -> float:
    """Return by how much rounding may change a cost or a bound: 0 for integers.

    `rounding` is as in :func:`check_min_cost_flow`. A bound has the rounding error of each reduced cost times
    what the arc carries in it. An arc whose reduced cost may be negative but for rounding counts with its
    capacity.
    """
    slack = amount_slack(network, supply) + rounding
    if not slack and is_integral(network.cost):
        return 0
    cost, prices, amounts = (values.astype(np.float64) for values in (network.cost, potentials, flow))
    difference = prices[network.tail] - prices[network.head]
    error = 2.0**-51 * (np.abs(cost) + np.abs(difference))
    carried = np.abs(amounts)
    if network.lower is not None:
        carried += np.abs(network.lower)
    if network.undirected is not None:
        difference = np.where(network.undirected, -np.abs(difference), difference)
    doubtful = cost + difference <= error
    room = np.minimum(network.capacity[doubtful], largest_amount(network, supply))
    carried[doubtful] += np.abs(room)
    terms = float(np.dot(np.abs(cost), np.abs(amounts)))
    terms += float(np.dot(np.abs(prices), np.abs(supply.astype(np.float64))))
    largest = float(np.abs(prices).max(initial=0)) + float(np.abs(cost).max(initial=0))
    sums = (network.num_vertices + network.num_arcs + 2) * 2.0**-52 * terms
    return float(np.dot(error, carried)) + sums + slack * largest * 4


def check_flow_of_network(network: CostNetwork, supply: Array, flow: Any, rounding: float = 0) -> Array:
    """Check bounds on every arc and conservation at every vertex; return the flow as an array.

    `rounding` is as in :func:`check_min_cost_flow`.

    Raises
    ------
    VerificationError
        Names the first arc or vertex at fault.
    """
    amounts: Array = checked_array(network, flow, "flow", (network.num_arcs,), np.int64, np.float64)
    if amounts.dtype.kind == "f" and not np.isfinite(amounts).all():
        raise VerificationError(f"arc {int((~np.isfinite(amounts)).argmax())} carries no finite amount")
    slack = amount_slack(network, supply) + rounding
    if not slack:
        amounts = _checked_whole(amounts)
    lower: Any = 0 if network.lower is None else _whole(network.lower)
    upper = network.capacity
    if network.undirected is not None:
        lower = np.where(network.undirected, -upper, lower)
    _check_arcs(
        network, amounts > upper + slack if slack else amounts > upper, amounts, "more than its capacity"
    )
    _check_arcs(
        network, amounts < lower - slack if slack else amounts < lower, amounts, "less than its lower bound"
    )
    words = _balances(network, _whole(supply), amounts)
    for word in words:
        broken = np.abs(word) > slack if slack else word != 0
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

    O(nm) where it is true of a hard instance, otherwise much less.

    Raises
    ------
    VerificationError
        Names the arcs of a cycle along which flow costs less.
    InvalidInputError
        Costs are not integers, or so large that their sums do not fit int64.
    """
    cost = _whole(network.cost)
    if cost.dtype.kind != "i" or not is_integral(network.cost):
        raise InvalidInputError("costs must be integers to prove a flow cheapest without potentials")
    largest = max(abs(int(cost.max())), abs(int(cost.min()))) if len(cost) else 0
    if (largest + 1) * (network.num_vertices + 1) > INT64_MAX // 2:
        raise InvalidInputError(f"sums of {network.num_vertices} costs of up to {largest} do not fit int64")
    lower: Any = np.zeros(network.num_arcs, dtype=np.int64) if network.lower is None else network.lower
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


def check_min_cost_flow(
    network: CostNetwork,
    supply: Array,
    flow: Any,
    potentials: Any,
    status: object,
    lower_bound: object,
    upper_bound: object,
    gap: object,
    rounding: float = 0,
) -> None:
    """Prove the bounds of a result, and if its status is optimal that they meet within the gap.

    Linear time. `rounding` is what amounts may lack beyond :func:`amount_slack`, where the supplies are sums
    of larger floats.

    Raises
    ------
    VerificationError
        The proof fails.
    """
    lower, upper = checked_number(lower_bound, "lower_bound"), checked_number(upper_bound, "upper_bound")
    margin = checked_number(gap, "gap")
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
    slack = cost_slack(network, supply, amounts, prices, rounding)
    check_bounds(status, lower, upper, slack)
    cost = flow_cost(network, amounts)
    if not math.isinf(upper) and not abs(cost - upper) <= slack:
        raise VerificationError(f"the flow costs {cost}, not {upper}")
    bound = dual_bound(network, supply, prices)
    if status == "optimal":
        if not slack:
            _check_endless(network, prices)
        if not cost - bound <= margin + slack:
            raise VerificationError(f"the potentials prove {bound}, more than the gap {margin} below {cost}")
    elif not lower <= bound + slack:
        raise VerificationError(f"the potentials prove {bound}, less than lower_bound, {lower}")


def _check_endless(network: CostNetwork, potentials: Array) -> None:
    """Check that no arc of infinite capacity has negative reduced cost: no flow fills it.

    Float costs are rounded to 48 bits, so what rounding may have changed is allowed.
    """
    if network.capacity.dtype.kind == "i":
        return
    exact = is_integral(network.cost) and potentials.dtype.kind == "i"
    sizes = [float(np.abs(values).max(initial=0)) for values in (network.cost, potentials)]
    allowed = 0.0 if exact else sum(sizes) * 2.0**-46
    reduced = reduced_costs(network, potentials)
    if network.undirected is not None:
        cost = _whole(network.cost)
        reduced = np.where(network.undirected, cost - np.abs(reduced - cost), reduced)
    broken = (reduced < -allowed) & np.isinf(network.capacity)
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


def _sum(values: Array) -> int | float:
    return exact_sum(values) if len(values) else 0


def _balances(network: CostNetwork, supply: Array, flow: Array) -> list[Array]:
    """Return supply minus outflow plus inflow of each vertex, in words whose sums cannot wrap."""
    if flow.dtype.kind == "f" or supply.dtype.kind == "f":
        left: Array = supply.astype(np.float64)
        np.subtract.at(left, network.tail, flow.astype(np.float64))
        np.add.at(left, network.head, flow.astype(np.float64))
        return [left]
    words = []
    carry: Array = np.zeros(network.num_vertices, dtype=np.int64)
    for i, (own, moved) in enumerate(zip(exact_words(supply), exact_words(flow), strict=True)):
        left = own + carry
        np.subtract.at(left, network.tail, moved)
        np.add.at(left, network.head, moved)
        carry = left >> WORD
        words.append(left & (2**WORD - 1) if i < 2 else left)
    return words


def _check_arcs(network: CostNetwork, broken: Array, flow: Array, fault: str) -> None:
    if broken.any():
        arc = int(broken.argmax())
        ends = f"{network.name(network.tail[arc])} -> {network.name(network.head[arc])}"
        raise VerificationError(f"arc {arc} ({ends}) carries {flow[arc]}, {fault}")
