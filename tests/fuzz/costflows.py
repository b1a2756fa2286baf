"""min_cost_flow, MinCostFlow and max_flow_min_cost of small networks, by every method."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import numpy as np

import preflow
from preflow.certify.min_cost_flow import flow_cost, rounding_of_amounts
from preflow.errors import (
    CapacityOverflowError,
    CostOverflowError,
    InfeasibleFlowError,
    InvalidInputError,
    UnboundedCostError,
    UnboundedFlowError,
)
from preflow.graph.cost_network import is_integral

from .flows import call
from .harness import Case, Driver, Tally, WrongError, require
from .oracles import INFINITE, CheapestFlow, cheapest_flow, scaled
from .values import FRACTION_STYLES, INTEGER_STYLES, fraction, integer

SCALING = {"alpha": [2, 10.0, 64], "arc_fixing": [True, False]}
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "serial-shortest-path": {},
    "serial-network-simplex": {"block": [0.1, 1.0, 100.0]},
    "serial-capacity-scaling": {},
    "serial-cost-scaling": SCALING,
    "multicore-cost-scaling": SCALING,
}
#: What no integer case may be refused for: sums of amounts beside arcs of infinite capacity, and costs times
#: vertices, below these numbers.
AMOUNTS, COSTS = 2**62, 2**59
#: Floats that one number in ten is drawn from, in cases that have any.
WILD = [
    1e7,
    1e9,
    1e12,
    1e15,
    1e18,
    1e32,
    1e100,
    1e200,
    1e308,
    sys.float_info.max,
    5e-324,
    1e-310,
    2.0**53 + 2,
]
#: Relative gap of an answer of floats that is called optimal.
SMALL_GAP = Fraction(1, 2**40)
#: Floats past this size may have products and sums that float64 does not represent.
HUGE = 1e300
#: Sums of the sizes of terms below this are represented.
LARGEST = Fraction(2) ** 1023
#: No answer is nearer than rounding to the least float, for each term.
LEAST = Fraction(5e-324)
#: A problem of floats may be infeasible, or have negative cycles, by rounding: this fraction of its numbers.
ROUNDING = 2.0**-40


def numbers(random: Random, style: str, floats: bool, infinite: float = 0.0, wild: float = 0.0) -> Any:
    """Return a number that is not negative."""
    if random.random() < infinite:
        return float("inf")
    if floats and random.random() < wild:
        return random.choice(WILD)
    return fraction(random, style) if floats else integer(random, style)


def make(random: Random, quick: bool = False, *, kind: str) -> Case:
    """Return a network: of integers, of float costs, of float amounts ("amounts"), or of both ("floats")."""
    n = random.choice([1, 2, 3, 4, 4, 5, 5, 6, 7, 8])
    m = int(random.random() * 3 * n)
    float_amounts, float_costs = kind in ("amounts", "floats"), kind in ("costs", "floats")
    amount_style = random.choice(FRACTION_STYLES if float_amounts else INTEGER_STYLES)
    cost_style = random.choice(FRACTION_STYLES if float_costs else INTEGER_STYLES)
    infinite = random.choice([0.0, 0.0, 0.1, 0.4, 1.0])
    negative = random.choice([0.0, 0.0, 0.1, 0.5])
    lowers = random.choice([0.0, 0.0, 0.3])
    two_way = random.choice([0.0, 0.0, 0.2])
    supplied = random.choice([0.0, 0.3, 1.0])
    wild_amounts, wild_costs = random.choice([0.0, 0.0, 0.1]), random.choice([0.0, 0.1])
    arcs = []
    for _ in range(m):
        capacity = numbers(random, amount_style, float_amounts, infinite, wild_amounts)
        cost = numbers(random, cost_style, float_costs, 0.0, wild_costs)
        lower: Any = 0
        both = random.random() < two_way
        if not both:
            if random.random() < negative:
                cost = -cost
            if random.random() < lowers:
                lower = min(capacity, numbers(random, amount_style, float_amounts, 0.0, wild_amounts))
                if random.random() < 0.3:
                    lower = -lower
        arcs.append([int(random.random() * n), int(random.random() * n), lower, capacity, cost, both])
    supply: list[Any] = [0] * n
    if supplied and n > 1:
        for _ in range(random.randrange(n)):
            amount = numbers(random, amount_style, float_amounts, 0.0, wild_amounts)
            u, v = random.sample(range(n), 2)
            supply[u] += amount
            supply[v] -= amount
            if not all(-(2**63) < s < 2**63 for s in supply):
                supply[u] -= amount
                supply[v] += amount
    case: Case = {
        "n": n,
        "arcs": arcs,
        "supply": supply,
        "verify": random.random() < 0.3,
        "calls": [call(random, OPTIONS) for _ in range(random.choice([1, 2, 2, 3]))],
        "edits": [],
        "ends": None,
        "hostile": None,
    }
    what = random.random()
    if what < 0.25 and m:
        case["edits"] = [
            [
                random.choice(["cost", "capacity", "supply"]),
                random.randrange(m),
                random.randrange(n),
                numbers(random, random.choice([cost_style, "few" if float_costs else "tiny"]), float_costs),
                numbers(
                    random, random.choice([amount_style, "few" if float_amounts else "tiny"]), float_amounts
                ),
            ]
            for _ in range(random.randrange(1, 5))
        ]
    elif what < 0.5 and n > 1:
        terminals = random.sample(range(n), n)
        sources = 2 if n > 3 and random.random() < 0.3 else 1
        sinks = 2 if n > 4 and random.random() < 0.3 else 1
        case["ends"] = [terminals[:sources], terminals[sources : sources + sinks]]
    elif what < 0.53 and m:
        case["hostile"] = [
            random.choice(["lower", "capacity", "cost", "supply"]),
            random.randrange(m),
            random.choice(["nan", "inf", "-inf"]),
        ]
    case["partial"] = random.random() < 0.2
    if case["partial"] and n > 1 and case["ends"] is case["hostile"] is None:
        for _ in range(random.randrange(3)):
            amount = numbers(random, amount_style, float_amounts, 0.0, wild_amounts)
            supply[random.randrange(n)] = random.choice([-1, 1]) * amount
    return case


def network_of(case: Case) -> preflow.CostNetwork:
    """Return the network of a case, with its supplies."""
    tail, head, lower, capacity, cost, both = ([arc[i] for arc in case["arcs"]] for i in range(6))
    return preflow.CostNetwork.from_arrays(
        np.array(tail, np.int64),
        np.array(head, np.int64),
        capacity=_array(capacity),
        cost=_array(cost),
        lower=_array(lower),
        supply=_array(case["supply"]),
        undirected=np.array(both, bool),
        num_vertices=case["n"],
    )


def _array(values: list[Any]) -> Any:
    """Return integers as int64, others as float64."""
    return np.array(values, np.int64 if all(isinstance(value, int) for value in values) else np.float64)


def exact_problem(
    network: preflow.CostNetwork, *, balanced: bool = True
) -> tuple[int, int, list[tuple[int, int, int, int, int]], list[int]]:
    """Return the exponents of amounts and of costs, and arcs and supplies of exact integers.

    Undirected arcs come twice. Supplies whose sum is not zero by rounding are `balanced` at the largest.
    """
    m, n = network.num_arcs, network.num_vertices
    assert network.supply is not None
    lower = [0] * m if network.lower is None else network.lower.tolist()
    amounts, (lowers, capacities, supply) = scaled(lower, network.capacity.tolist(), network.supply.tolist())
    shift, (costs,) = scaled(network.cost.tolist())
    arcs = list(zip(network.tail.tolist(), network.head.tolist(), lowers, capacities, costs, strict=True))
    if network.undirected is not None:
        arcs += [
            (head, tail, 0, capacity, cost)
            for (tail, head, _, capacity, cost), both in zip(arcs, network.undirected.tolist(), strict=True)
            if both
        ]
    if n and balanced:
        largest = max(range(n), key=lambda v: abs(supply[v]))
        supply[largest] -= sum(supply)
    return amounts, shift, arcs, supply


def check(case: Case, tally: Tally) -> None:
    if case["hostile"] is not None:
        check_refused(case, tally)
        return
    network = network_of(case)
    if case["edits"]:
        check_edits(case, network, tally)
        return
    for each in case["calls"]:
        tally["solves"] += 1
        tally[f"method {each['method']}"] += 1
        arguments = {"method": each["method"], "threads": each["threads"], "options": each["options"] or None}
        if case["ends"] is not None:
            check_most(case, network, arguments, tally)
        else:
            some = case.get("partial", False)
            solve = partial(preflow.min_cost_flow, network, partial=some, **arguments)
            check_solve(network, solve, tally, verify=case["verify"], some=some)


def check_refused(case: Case, tally: Tally) -> None:
    """Check that a number that is none is refused."""
    field, at, value = case["hostile"]
    place = {"lower": 2, "capacity": 3, "cost": 4}.get(field)
    arcs, supply = [list(arc) for arc in case["arcs"]], list(case["supply"])
    if place is None:
        supply[at % len(supply)] = float(value)
    else:
        arcs[at][place] = float(value)
    changed = {**case, "arcs": arcs, "supply": supply}
    legal = field == "capacity" and value == "inf"
    try:
        network = network_of(changed)
        require(legal, f"{field} {value} is accepted")
    except InvalidInputError:
        require(not legal, f"{field} {value} is refused")
        tally["refused"] += 1
        return
    check_solve(network, partial(preflow.min_cost_flow, network), tally)


def check_edits(case: Case, network: preflow.CostNetwork, tally: Tally) -> None:
    """Check a series of solves with changes between them."""
    each = case["calls"][0]
    arguments = {"method": each["method"], "threads": each["threads"], "options": each["options"] or None}
    solver = preflow.MinCostFlow(network, **arguments)
    some = case.get("partial", False)
    solve = partial(solver.solve, partial=some)
    check_solve(solver.network, solve, tally, verify=case["verify"], some=some)
    for field, arc, vertex, cost, amount in case["edits"]:
        tally["edits"] += 1
        network = solver.network
        try:
            if field == "cost":
                solver.set_cost(arc, cost)
            elif field == "capacity":
                solver.set_capacity(arc, amount)
            elif case["n"] > 1:
                other = (vertex + 1) % case["n"]
                assert network.supply is not None
                supply = network.supply.tolist()
                if some:
                    solver.set_supply(vertex, -supply[vertex] if arc % 2 else amount)
                    continue
                solver.set_supply([vertex, other], [amount, supply[vertex] + supply[other] - amount])
        except InvalidInputError:
            require(solver.network is network, "an edit that is refused changes the network")
            tally["edits refused"] += 1
            continue
        except OverflowError:
            tally["edits too large"] += 1
            continue
        check_solve(solver.network, solve, tally, verify=case["verify"], some=some)


def most_for_least(
    n: int, arcs: list[tuple[int, int, int, int, int]], supply: list[int]
) -> tuple[CheapestFlow, int]:
    """Return a cheapest flow that sends as much of the supplies as can be, and how much that is."""
    reward = 1 + sum(abs(arc[4]) for arc in arcs)
    # A new vertex has all supplies, and pays for what comes back to it.
    ends = [(n, v, 0, s, 0) if s > 0 else (v, n, 0, -s, -reward) for v, s in enumerate(supply) if s]
    exact = cheapest_flow(n + 1, [*arcs, *ends], [0] * (n + 1))
    if exact.ending != "optimal":
        return exact, 0
    carried = zip(ends, exact.flow[len(arcs) :], strict=True)
    sent = sum(flow for (_, head, *_), flow in carried if head == n)
    return CheapestFlow("optimal", exact.cost + reward * sent, exact.flow[: len(arcs)]), sent


def check_solve(
    network: preflow.CostNetwork, solve: Any, tally: Tally, *, verify: bool = True, some: bool = False
) -> None:
    """Solve and compare the ending with that of the oracle; `some`: not all supplies need be sent."""
    amounts, shift, arcs, supply = exact_problem(network, balanced=not some)
    if some:
        tally["partial"] += 1
        exact, sent = most_for_least(network.num_vertices, arcs, supply)
    else:
        exact, sent = cheapest_flow(network.num_vertices, arcs, supply), 0
    try:
        result = solve()
    except (CapacityOverflowError, CostOverflowError) as error:
        large = some and (sum(map(abs, supply)) >= AMOUNTS << amounts or "mix" in str(error))
        require(large or may_overflow(network), "numbers that fit are refused", str(error))
        tally["overflow"] += 1
        return
    except InvalidInputError as error:
        check_unbalanced(network, error)
        tally["unbalanced"] += 1
        return
    except UnboundedCostError as error:
        check_cycle(network, error)
        so = exact.ending == "unbounded" or (exact.ending == "infeasible" and is_rounded(network))
        require(so, "called unbounded, and is not", str(error))
        tally["unbounded"] += 1
        return
    except InfeasibleFlowError as error:
        if some:
            require(exact.ending == "infeasible" or is_rounded(network), "called infeasible, and is not")
        else:
            check_infeasible(network, error, exact, amounts, arcs, supply)
        tally["infeasible"] += 1
        return
    unsent = Fraction(0)
    if some and exact.ending == "optimal":
        unsent = check_sent(network, result, sent, amounts) * max(
            [0, *(abs(Fraction(c)) for c in network.cost.tolist())]
        )
    check_result(network, result, exact, arcs, amounts + shift, tally, unsent)
    if verify or is_rounded(network):
        result.verify()
        tally["verified"] += 1


def check_sent(network: preflow.CostNetwork, result: Any, sent: int, amounts: int) -> Fraction:
    """Check how much a flow sends that sends as much as possible; return by how much it may be off."""
    supply, own = result.supply.tolist(), result.own_supply.tolist()
    require(own == network.supply.tolist(), "other supplies")
    inside = all(min(0, y) <= x <= max(0, y) for x, y in zip(supply, own, strict=True))
    require(inside, "a vertex sends more than it has", f"{supply} of {own}")
    found = sum(Fraction(s) for s in supply if s > 0)
    off = abs(found - Fraction(sent, 1 << amounts))
    sizes = Fraction(sum(abs(Fraction(s)) for s in own))
    finite = network.capacity[np.isfinite(network.capacity)].tolist()
    sizes += sum(map(Fraction, finite)) if is_rounded(network) else 0
    allowed = (
        sizes * Fraction(2 * network.num_vertices + network.num_arcs, 2**50)
        if is_rounded(network)
        else Fraction(0)
    )
    require(off <= allowed, "another amount is sent", f"{float(found)}, off by {float(off):.3g}")
    return off * network.num_vertices


def is_rounded(network: preflow.CostNetwork) -> bool:
    """Whether the network has floats that are no integers, or integers of which floats skip some."""
    parts = (network.capacity, network.cost, network.lower, network.supply)
    return not all(part is None or is_integral(part) for part in parts)


def check_unbalanced(network: preflow.CostNetwork, error: InvalidInputError) -> None:
    """Check that supplies of a refused network do not sum to zero."""
    right = "sum to" in str(error) and sum_is_off(network)
    require(right, f"a valid network is refused: {error}"[:40], str(error))


def may_overflow(network: preflow.CostNetwork) -> bool:
    """Whether amounts or costs may be refused because of their size."""
    finite = network.capacity.astype(float)
    endless = int(np.isinf(finite).sum())
    total = float(finite[np.isfinite(finite)].sum())
    for part in (network.supply, network.lower):
        total += 0.0 if part is None else float(np.abs(part.astype(float)).sum())
    costs = (network.num_vertices + 4) * float(np.abs(network.cost.astype(float)).max(initial=0))
    amounts = [part for part in (network.capacity, network.supply, network.lower) if part is not None]
    whole = all(map(is_integral, amounts))
    if is_rounded(network) and max(total, 1.0) * max(costs, 1.0) >= HUGE:
        return True
    # What an arc of finite capacity carries fits int64.
    large = endless > 0 and total >= AMOUNTS if whole else total * (1 + endless) >= HUGE
    return large or costs >= (COSTS if is_integral(network.cost) else HUGE)


def sum_is_off(network: preflow.CostNetwork) -> bool:
    """Whether supplies of floats have a sum that is not zero by rounding."""
    assert network.supply is not None
    return network.supply.dtype.kind == "f" and sum(map(Fraction, network.supply.tolist())) != 0


def check_cycle(network: preflow.CostNetwork, error: UnboundedCostError) -> None:
    """Check that a cycle is one, has infinite capacity and a negative cost."""
    arcs = list(error.arcs)
    require(np.isinf(network.capacity[arcs]).all(), "a cycle of finite capacity", str(error))
    total = sum(map(Fraction, network.cost[arcs].tolist()))
    require(total < 0 and error.cost < 0, "a cycle whose cost is not negative", f"{float(total)}, {error}")
    two_way = network.undirected
    ends = [
        (int(network.tail[a]), int(network.head[a]), two_way is not None and bool(two_way[a])) for a in arcs
    ]
    for begin in {ends[0][0], ends[0][1] if ends[0][2] else ends[0][0]}:
        at: int | None = begin
        for tail, head, both in ends:
            at = head if at == tail else tail if both and at == head else None
        if at == begin:
            return
    raise WrongError("arcs that are no cycle", str(error))


def check_infeasible(
    network: preflow.CostNetwork,
    error: InfeasibleFlowError,
    exact: CheapestFlow,
    amounts: int,
    arcs: list[tuple[int, int, int, int, int]],
    supply: list[int],
) -> None:
    """Check that more is supplied in a set than can leave it."""
    inside = set(error.vertices)
    excess = sum(supply[v] for v in inside)
    for tail, head, lower, capacity, _ in arcs:
        if tail in inside and head not in inside:
            excess -= capacity
        elif head in inside and tail not in inside:
            excess += lower
    if is_rounded(network):
        largest = max(
            [abs(s) for s in supply] + [c for arc in arcs for c in (abs(arc[2]), arc[3]) if c < INFINITE]
        )
        require(excess > -largest * Fraction(ROUNDING), "a wrong cut of floats", str(error))
        return
    require(exact.ending == "infeasible", "called infeasible, and is not", str(error))
    require(excess > 0 and excess == error.excess * (1 << amounts), "a wrong cut", f"{error}, not {excess}")


def check_result(
    network: preflow.CostNetwork,
    result: Any,
    exact: CheapestFlow,
    arcs: list[tuple[int, int, int, int, int]],
    shift: int,
    tally: Tally,
    unsent: Fraction = Fraction(0),
) -> None:
    """Compare with the oracle; `unsent`: what costs may lack that were not sent but for rounding."""
    if result.status == "approximate" and is_rounded(network):
        tally["approximate"] += 1
        if exact.ending != "optimal":
            return
        size = sum(abs(arc[4] * f) for arc, f in zip(arcs, exact.flow, strict=True))
        low = Fraction(result.lower_bound) if result.lower_bound > -math.inf else None
        above = low is not None and low > (exact.cost + Fraction(size, 2**50)) / Fraction(2) ** shift + LEAST
        require(not above, "a lower bound of floats that is none")
        return
    require(result.status == "optimal", "not optimal without a time limit", result.status)
    if not is_rounded(network):
        require(exact.ending == "optimal", f"{exact.ending}, but solved", str(result.value))
        require(
            int(result.cost) == exact.cost >> shift and result.gap == 0,
            "wrong cost",
            f"{result.cost}, not {exact.cost}",
        )
        require(flow_cost(network, result.flow) == result.cost, "the flow has another cost")
        return
    cost, gap = result.cost, result.gap
    require(cost == cost and gap == gap, "a number that is none", f"{cost} within {gap}")
    if exact.ending != "optimal":
        tally[f"{exact.ending} but for rounding"] += 1
        return
    require(np.isfinite([float(cost), float(gap)]).all(), "an infinite cost", f"{cost} within {gap}")
    # The statement of is_close: 2**-40 of the terms of the optimum, and float64's share.
    terms = Fraction(sum(abs(arc[4] * f) for arc, f in zip(arcs, exact.flow, strict=True))) / 2**shift
    near = SMALL_GAP + Fraction(network.num_vertices + network.num_arcs, 2**53)
    share = rounding_of_amounts(network, result.supply, result.flow, result.potentials)
    allowed = 2 * near * terms + (Fraction(4 * share) if math.isfinite(share) else terms)
    allowed += LEAST * (1 + network.num_arcs) + 2 * unsent
    off = abs(Fraction(cost) - Fraction(exact.cost) / 2**shift)
    require(off <= allowed, "wrong cost of floats", f"{cost} within {gap}, off by {float(off):.3g}")
    require(
        off <= Fraction(gap) + allowed / 2, "a gap that does not hold", f"{cost}, {gap}, {float(off):.3g}"
    )


def check_cost(found: Any, right: Fraction, terms: Fraction, fault: str, count: int) -> None:
    """Check a cost by the statement of is_close."""
    near = 2 * (SMALL_GAP + Fraction(count, 2**53)) * terms + LEAST * count
    near = near if isinstance(found.cost, float) else Fraction(0)
    off = abs(Fraction(found.cost) - right)
    require(off <= near, fault, f"{found.cost}, off by {float(off):.3g}, gap {found.gap}")
    require(
        off <= Fraction(found.gap) + near / 2**11, "a gap that does not hold", f"{found.cost}, {found.gap}"
    )


def check_most(case: Case, network: preflow.CostNetwork, arguments: dict[str, Any], tally: Tally) -> None:
    """Check a cheapest maximum flow."""
    sources, sinks = case["ends"]
    amounts, shift, arcs, supply = exact_problem(network)
    n = network.num_vertices
    reward = 1 + sum(abs(arc[4]) for arc in arcs)
    # Arcs from a new vertex to the sources and from the sinks to it; the latter pay for each unit.
    supply = [*supply, 0]
    back = [(n, source, 0, INFINITE, 0) for source in sources]
    back += [(sink, n, 0, INFINITE, -reward) for sink in sinks]
    free = [(*arc[:4], 0) for arc in (*arcs, *back)]
    feasible = cheapest_flow(n + 1, free, supply).ending == "optimal"
    endless = [(*arc[:2], 0, arc[3], 0) for arc in arcs if arc[3] >= INFINITE]
    unbounded = cheapest_flow(n + 1, [*endless, *back], [0] * (n + 1)).ending == "unbounded"
    try:
        result = preflow.max_flow_min_cost(network, sources, sinks, **arguments)
    except (CapacityOverflowError, CostOverflowError) as error:
        require(
            may_overflow(network) or any(word in str(error) for word in ("mix", "past", "does not fit")),
            "numbers that fit are refused",
            str(error),
        )
        tally["overflow"] += 1
        return
    except InvalidInputError as error:
        check_unbalanced(network, error)
        return
    except InfeasibleFlowError as error:
        require(not feasible or is_rounded(network), "called infeasible, and is not", str(error))
        tally["infeasible"] += 1
        return
    except UnboundedFlowError as error:
        require(
            (feasible or is_rounded(network)) and unbounded,
            "the amount is called unbounded, and is not",
            str(error),
        )
        tally["unbounded"] += 1
        return
    except UnboundedCostError as error:
        check_cycle(network, error)
        tally["unbounded cost"] += 1
        return
    result.verify()
    tally["verified"] += 1
    parts = [network.capacity, network.supply, *([] if network.lower is None else [network.lower])]
    whole = all(part is None or is_integral(part) for part in parts)
    if not whole or result.status == "approximate":
        tally[result.status] += 1
        return
    require(feasible and not unbounded, "no largest flow, but solved")
    exact = cheapest_flow(n + 1, [*arcs, *back], supply)
    require(exact.ending == "optimal", f"{exact.ending}, but solved")
    sent = sum(exact.flow[len(arcs) + len(sources) :])
    require(int(result.amount) << amounts == sent, "wrong amount", f"{result.amount}, not {sent}")
    require(result.amount_gap == 0, "a gap of integers")
    unit = Fraction(1, 1 << amounts + shift)
    terms = sum(abs(arc[4]) * abs(f) for arc, f in zip(arcs, exact.flow, strict=False)) * unit
    right = (exact.cost + reward * sent) * unit
    check_cost(result, right, terms, "wrong cost of the largest flow", len(exact.flow) + n)


DRIVERS = [
    Driver("cost-flow", partial(make, kind="integers"), check, share=5.0),
    Driver("cost-flow-costs", partial(make, kind="costs"), check, share=2.0),
    Driver("cost-flow-amounts", partial(make, kind="amounts"), check, share=2.0),
    Driver("cost-flow-floats", partial(make, kind="floats"), check, share=2.0),
]
