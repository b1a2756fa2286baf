"""transport of small masses, and reductions of pairs, against a minimum-cost flow of exact integers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import preflow
from preflow import reductions
from preflow.errors import (
    CapacityOverflowError,
    CostOverflowError,
    InfeasibleError,
    InfeasibleFlowError,
    InvalidInputError,
    NotOptimalError,
)

from .costflows import AMOUNTS, COSTS, LARGEST, check_cost
from .harness import Case, Driver, Tally, require
from .oracles import INFINITE, cheapest_flow, scaled
from .values import FRACTION_STYLES, INTEGER_STYLES, MODEST_STYLES, OUTLIERS, fraction, integer, pick

LISTED = {"listed": [1, 2, 20], "added": [1, 8]}
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "serial-network-simplex": LISTED,
    "multicore-network-simplex": LISTED | {"temperatures": [1, 3, 12], "steps": [1, 3]},
}
#: Numbers that are drawn among others.
HUGE_NUMBERS = [*OUTLIERS, 1e-30, 2.0**53 + 2]
METRICS = ["euclidean", "sqeuclidean", "cityblock", "chebyshev"]


def make(random: Random, quick: bool = False, *, kind: str) -> Case:
    """Return costs of a kind, "dense", "sparse", "stack" or "points", and masses."""
    n, m = random.randrange(1, 7), random.randrange(1, 7)
    float_costs, float_masses = random.random() < 0.5, random.random() < 0.5
    cost_style = random.choice(FRACTION_STYLES if float_costs else INTEGER_STYLES)
    mass_style = random.choice(FRACTION_STYLES if float_masses else INTEGER_STYLES)
    negative = random.choice([0.0, 0.0, 0.3])
    allowed = random.choice([1.0, 1.0, 0.8, 0.4]) if float_costs or kind == "sparse" else 1.0
    items = random.randrange(4) if kind == "stack" else 1

    huge, huge_masses = random.choice([0.0, 0.0, 0.1, 0.3]), random.choice([0.0, 0.0, 0.0, 0.1])

    def number() -> Any:
        if random.random() >= allowed:
            return None
        value = fraction(random, cost_style) if float_costs else integer(random, cost_style)
        if float_costs and random.random() < huge:
            value = random.choice(HUGE_NUMBERS)
        return -value if random.random() < negative else value

    def amount() -> Any:
        if float_masses and random.random() < huge_masses:
            return random.choice(HUGE_NUMBERS) * random.choice([1.0, 0.3])
        return fraction(random, mass_style) if float_masses else integer(random, mass_style)

    def masses() -> tuple[list[Any], list[Any]]:
        """Return masses of rows and columns with equal sums, of floats up to rounding."""
        a: list[Any] = [0] * n
        b: list[Any] = [0] * m
        for _ in range(random.randrange(1, n + m + 1)):
            moved = amount()
            a[random.randrange(n)] += moved
            b[random.randrange(m)] += moved
        if float_masses and random.random() < 0.1:
            b = [mass * (1 + random.choice([1e-15, 1e-12, 1e-9, -9e-7, 1e-3])) for mass in b]
        if random.random() < 0.05:
            b[0] += 1
        return a, b

    if kind == "points":
        dimension = random.choice([1, 2, 3])
        style = random.choice(["few", "uniform", "whole", "sentinels"])
        costs: Any = [[fraction(random, style) for _ in range(dimension)] for _ in range(n + m)]
    else:
        costs = [[[number() for _ in range(m)] for _ in range(n)] for _ in range(items)]
    method = random.choice(["serial-network-simplex", "serial-network-simplex", *OPTIONS])
    return {
        "kind": kind,
        "shape": [n, m],
        "costs": costs,
        "metric": random.choice(METRICS),
        "cost_dtype": "float64" if float_costs else "int64",
        "mass_dtype": "float64" if float_masses else "int64",
        "masses": [masses() for _ in range(items)],
        "method": method,
        "threads": random.choice([1, 4]) if method.startswith("multicore") else 1,
        "options": pick(random, OPTIONS[method]),
        "reduction": random.random() < 0.2,
    }


def costs_of(case: Case) -> Any:
    """Return costs as transport takes them."""
    n, m = case["shape"]
    if case["kind"] == "points":
        points = np.array(case["costs"], dtype=np.float64)
        return preflow.PointCosts(points[:n], points[n:], metric=case["metric"])
    if case["kind"] == "sparse":
        entries = [
            (r, c, value)
            for r, row in enumerate(case["costs"][0])
            for c, value in enumerate(row)
            if value is not None
        ]
        row, column, value = ([entry[i] for entry in entries] for i in range(3))
        ends = (np.array(row, np.int64), np.array(column, np.int64))
        return sp.coo_array((np.array(value, case["cost_dtype"]), ends), shape=(n, m)).tocsr()
    filled = [[[np.inf if v is None else v for v in row] for row in item] for item in case["costs"]]
    stack = np.array(filled, case["cost_dtype"]).reshape(len(filled), n, m)
    return stack if case["kind"] == "stack" else stack[0]


def masses_of(case: Case) -> tuple[Any, Any] | None:
    """Return the masses of all items, None where they do not fit their dtype."""
    n, m = case["shape"]
    try:
        a, b = (np.array([side[i] for side in case["masses"]], case["mass_dtype"]) for i in range(2))
    except OverflowError:
        return None
    finite = all(np.isfinite(side).all() for side in (a, b))
    return (a.reshape(-1, n), b.reshape(-1, m)) if finite else None


def check(case: Case, tally: Tally) -> None:
    n, m = case["shape"]
    stack = case["kind"] == "stack"
    masses = masses_of(case)
    if masses is None:
        tally["too large"] += 1
        return
    a, b = masses
    costs = costs_of(case)
    arguments = (costs, a if stack else a[0], b if stack else b[0])
    if case["kind"] == "points":
        # The distances that solvers see are those of single pairs.
        place = np.indices((n, m)).reshape(2, -1)
        exact_costs: list[Any] = [costs.at(0, *place).reshape(n, m).tolist()]
    else:
        exact_costs = case["costs"]
    is_float = case["cost_dtype"] == "float64" or case["kind"] == "points"
    floats = case["mass_dtype"] == "float64" or is_float
    tally["solves"] += 1
    method = case.get("method", "serial-network-simplex")
    tally[f"method {method}"] += 1
    solve = partial(
        preflow.transport, method=method, threads=case.get("threads", 1), options=case["options"] or None
    )
    if case["reduction"] and case["kind"] in ("dense", "sparse"):
        tally["reductions"] += 1

        def solve(*given: Any) -> Any:
            return reductions.TransportAsMinCostFlow.of(*given).solve()

    largest = max((abs(v) for item in exact_costs for row in item for v in row if v is not None), default=0)
    sums = [
        (sum(map(Fraction, x)), sum(map(Fraction, y))) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    total = max((max(pair) for pair in sums), default=Fraction(0))
    try:
        results = solve(*arguments)
    except (CapacityOverflowError, CostOverflowError) as error:
        limit = LARGEST if case["mass_dtype"] == "float64" else AMOUNTS
        product = floats and total * Fraction(largest) * (n + m) >= LARGEST
        large = total >= limit or largest * (n + m + 4) >= (LARGEST if is_float else COSTS) or product
        # A minimum-cost flow has limits of its own.
        require(large or case["reduction"], "numbers that fit are refused", str(error))
        tally["overflow"] += 1
        return
    except InfeasibleError as error:
        if not floats:
            exact = [exact_plan(*item) for item in zip(exact_costs, a.tolist(), b.tolist(), strict=True)]
            require(any(e.ending == "infeasible" for e in exact), "called infeasible, and is not", str(error))
            check_cut(case, error, exact_costs, a.tolist(), b.tolist())
        tally["infeasible"] += 1
        return
    except NotOptimalError:
        require(case["reduction"], "a plan that is not proved raises")
        tally["approximate"] += 1
        return
    except InvalidInputError as error:
        message = str(error)
        whole = [all(float(mass).is_integer() for mass in (*x, *y)) for x, y in zip(a, b, strict=True)]
        off = any(
            abs(x - y) > max(x, y) * (0 if exact else Fraction(9, 10**7))
            for (x, y), exact in zip(sums, whole, strict=True)
        )
        fair = ("sum" in message and off) or ("nothing to move" in message and not a.size)
        fair |= case["reduction"] and "too large" in message
        fair |= "2**59" in message or (not is_float and largest * (n + m + 4) >= COSTS)
        require(fair, f"valid input is refused: {message}"[:60], message)
        tally["refused"] += 1
        return
    for item, result in enumerate(results if stack else [results]):
        result.verify()
        tally["verified"] += 1
        check_masses(result, a[item], b[item])
        exact = exact_plan(exact_costs[item], result.a.tolist(), result.b.tolist())
        if exact.ending != "optimal":
            require(floats, "infeasible, but solved")
            continue
        if not floats:
            right = int(result.value) == exact.cost and result.gap == 0
            require(right, "wrong cost", f"{result.value}, not {exact.cost}")
            continue
        tally[result.status] += 1
        # Prices past float64 prove nothing.
        if math.isfinite(result.gap) or not (case["reduction"] or largest > 1e300):
            check_floats(result, exact)


def check_masses(result: Any, a: Any, b: Any) -> None:
    """Check that a result has the masses as given, or those of columns scaled."""
    require(result.a.tolist() == a.tolist(), "other masses of rows")
    if result.b.tolist() == b.tolist():
        return
    sums = sum(map(Fraction, a.tolist())), sum(map(Fraction, b.tolist()))
    error = max(sums) * Fraction(len(a) + len(b) + 2, 2**50)
    require(abs(sums[0] - sums[1]) >= error / 2, "masses are scaled whose sums are equal")
    scaled = [Fraction(mass) * sums[0] / sums[1] for mass in b.tolist()]
    near = all(
        abs(Fraction(x) - y) <= abs(y) / 2**51 + Fraction(5e-324)
        for x, y in zip(result.b.tolist(), scaled, strict=True)
    )
    require(near, "masses of columns that are not scaled")


def check_floats(result: Any, exact: Exact, of_sums: Fraction = Fraction(0)) -> None:
    """Check the value, the bounds and the gap of a result of floats against the exact optimum.

    `of_sums`: what parts of sums may lack.
    """
    n, m = result.costs.shape[1:]
    share = Fraction(1, 2**40) + Fraction(n + m, 2**53)
    best = Fraction(exact.cost, exact.unit)
    upper, lower, gap = (result.upper_bound, result.lower_bound, result.gap)
    require(not (gap < 0 or gap == math.inf), "no gap", f"{gap}")
    off = abs(Fraction(upper) - best)
    rounding = Fraction(math.ulp(upper)) + of_sums
    text = f"{upper} with gap {gap}, not {float(best) if best < LARGEST else best}"
    require(off <= Fraction(gap) + (rounding if gap else of_sums), "a gap that does not hold", text)
    if result.status == "optimal":
        require(lower == upper, "bounds that do not meet", text)
        allowed = share * Fraction(exact.size, exact.unit) * (1 + share) + rounding
        require(off <= allowed, "an optimum that is not close", text)
        require(Fraction(gap) <= 2 * allowed, "an optimum with a gap", text)
    else:
        require(result.status == "approximate", "another status", result.status)
        require(Fraction(lower) <= best + of_sums, "a lower bound that does not hold", f"{lower}, {text}")


class Exact(NamedTuple):
    """The optimum: its cost, and the sum of the sizes of its terms, both over `unit`."""

    ending: str
    cost: int = 0
    size: int = 0
    unit: int = 1


def exact_plan(costs: Any, a: list[Any], b: list[Any]) -> Exact:
    """Return the least cost of a plan; the largest mass of the smaller side takes what sums differ by."""
    n, m = len(a), len(b)
    flat = [value for row in costs for value in row if value is not None]
    shift, (prices,) = scaled(flat)
    amounts, (first, second) = scaled(a, b)
    following = iter(prices)
    arcs = [
        (r, n + c, 0, INFINITE, next(following))
        for r, row in enumerate(costs)
        for c, value in enumerate(row)
        if value is not None
    ]
    surplus = sum(first) - sum(second)
    raised = second if surplus > 0 else first
    raised[raised.index(max(raised))] += abs(surplus)
    # INFINITE of the oracle is no larger than masses of floats may be.
    most = sum(first) + 1
    arcs = [(r, c, 0, most, price) for r, c, _, _, price in arcs]
    found = cheapest_flow(n + m, arcs, [*first, *(-s for s in second)])
    size = sum(abs(arc[4]) * carried for arc, carried in zip(arcs, found.flow, strict=False))
    return Exact(found.ending, found.cost, size, 1 << (shift + amounts))


def check_cut(case: Case, error: InfeasibleError, costs: Any, a: Any, b: Any) -> None:
    """Check that the rows that are named have more mass than the columns to which they may send."""
    if not isinstance(error, InfeasibleFlowError) or case["kind"] == "stack" or case["reduction"]:
        return
    rows = {i for side, i in error.vertices if side == "row"}
    columns = {j for side, j in error.vertices if side == "column"}
    reached = {c for r in rows for c, value in enumerate(costs[0][r]) if value is not None}
    excess = sum(a[0][i] for i in rows) - sum(b[0][j] for j in columns)
    require(reached <= columns and excess == error.excess > 0, "a wrong cut", str(error))


def make_pairs(random: Random, quick: bool = False) -> Case:
    n, m = random.randrange(1, 6), random.randrange(1, 6)
    floats = random.random() < 0.3
    style = random.choice([*FRACTION_STYLES, "outliers"] if floats else MODEST_STYLES)
    allowed = random.choice([1.0, 0.7, 0.4])

    def number() -> Any:
        if random.random() >= allowed:
            return None
        value = fraction(random, style) if floats else integer(random, style)
        return -value if random.random() < 0.1 else value

    case = {
        "costs": [[number() for _ in range(m)] for _ in range(n)],
        "columns": m,
        "limit": [random.choice([0, 1, 1, 2, 5]) for _ in range(n)],
        "needs": [random.choice([0, 1, 1, 1, 2, 3]) for _ in range(m)],
        "partial": random.random() < 0.6,
    }
    bounded = random.random() < 0.3
    case["least"] = [random.randint(0, min(most, 2)) * bounded for most in case["limit"]]
    case["maximize"] = random.random() < 0.3
    return case


def check_pairs(case: Case, tally: Tally) -> None:
    """Check assign_jobs, and b_matching of the allowed pairs."""
    costs, limit, needs, m = case["costs"], case["limit"], case["needs"], case["columns"]
    n = len(costs)
    least, maximize = case.get("least", [0] * n), case.get("maximize", False)
    if any(few > most for few, most in zip(least, limit, strict=False)) or len(least) != n:
        return  # a case that was made smaller
    if len(limit) != n or len(needs) != m or not n or any(len(row) != m for row in costs):
        return  # a case that was made smaller
    matrix = np.array([[np.inf if v is None else v for v in row] for row in costs], np.float64)
    shift, (prices,) = scaled([v for row in costs for v in row if v is not None])
    following = iter(prices)
    pairs = [
        (r, n + c, 0, 1, next(following))
        for r, row in enumerate(costs)
        for c, v in enumerate(row)
        if v is not None
    ]
    reward = 1 + sum(map(abs, prices))
    arcs = [(n + m, r, least[r], limit[r], 0) for r in range(n)] + pairs
    arcs += [(n + c, n + m, 0, needs[c], -reward) for c in range(m)]
    exact = cheapest_flow(n + m + 1, arcs, [0] * (n + m + 1))
    feasible = exact.ending == "optimal"
    size = sum(exact.flow[len(arcs) - m :])
    terms = Fraction(
        sum(abs(arc[4]) * f for arc, f in zip(arcs[n:], exact.flow[n:-m], strict=False)), 1 << shift
    )
    tally["solves"] += 1
    try:
        found = reductions.assign_jobs(
            -matrix if maximize else matrix,
            limit=limit,
            needs=needs,
            least=least,
            maximize=maximize,
            partial=case["partial"],
        )
    except CostOverflowError as error:
        require(terms >= LARGEST, "costs that fit are refused", str(error))
        tally["overflow"] += 1
        return
    except InfeasibleError:
        short = not case["partial"] and size < sum(needs)
        require(short or not feasible, "called infeasible, and is not")
        tally["infeasible"] += 1
        return
    found.verify()
    require(feasible, "an answer, and workers cannot do the least")
    require(len(found.job) == size, "wrong number of pairs", f"{len(found.job)}, not {size}")
    require(found.complete == (size == sum(needs)), "complete is wrong")
    worth = Fraction(exact.cost + reward * size, 1 << shift)
    check_cost(found, -worth if maximize else worth, terms, "wrong cost of jobs", n + m)
    if any(least):
        return
    row, column = np.nonzero(np.isfinite(matrix))
    graph = preflow.BipartiteGraph.from_arrays(row, column, shape=(n, m))
    matching = reductions.b_matching(graph, row_limit=limit, column_limit=needs)
    matching.verify()
    require(matching.size == size, "a b-matching of another size", f"{matching.size}, not {size}")
    tally["verified"] += 2


def make_some(random: Random, quick: bool = False) -> Case:
    """Return a problem where masses may stay, and the argument that says which."""
    case = make(random, quick, kind=random.choice(["dense", "dense", "sparse", "stack", "points"]))
    floats = case["mass_dtype"] == "float64"
    for a, b in case["masses"]:
        for side in (a, b):
            for _ in range(random.randrange(3)):
                other = random.choice([a, b])
                near = random.choice(other) * random.choice([1, 1, 2])
                side[random.randrange(len(side))] = near if random.random() < 0.7 else near + 1 + floats * 0.1
    n, m = case["shape"]
    style = random.choice(FRACTION_STYLES if case["cost_dtype"] == "float64" else INTEGER_STYLES)
    number = fraction if case["cost_dtype"] == "float64" else integer
    sign = random.choice([1, 1, 1, -1])
    case["asked"] = random.choice(["partial", "partial", "amount", "unmatched_cost"])
    case["share"] = random.choice([0.0, 0.25, 0.5, 0.7, 1.0])
    case["stay"] = [[sign * number(random, style) for _ in range(size)] for size in (n, m)]
    return case


def check_some(case: Case, tally: Tally) -> None:
    """Check a transport in which masses may stay."""
    n, m = case["shape"]
    stack, asked = case["kind"] == "stack", case["asked"]
    masses = masses_of(case)
    if masses is None or not len(masses[0]):
        tally["too large"] += 1
        return
    a, b = masses
    costs = costs_of(case)
    exact_costs: list[Any] = case["costs"]
    if case["kind"] == "points":
        exact_costs = [costs.at(0, *np.indices((n, m)).reshape(2, -1)).reshape(n, m).tolist()]
    floats = "float64" in (case["mass_dtype"], case["cost_dtype"]) or case["kind"] == "points"
    amounts = [
        min(sum(map(Fraction, x)), sum(map(Fraction, y))) * Fraction(case["share"])
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    amounts = [float(each) if case["mass_dtype"] == "float64" else int(each) for each in amounts]
    given: Any = {
        "partial": True,
        "amount": amounts if stack else amounts[0],
        "unmatched_cost": tuple(case["stay"]),
    }[asked]
    stay = [v for side in case["stay"] for v in side] if asked == "unmatched_cost" else []
    flat = [v for item in exact_costs for row in item for v in row if v is not None]
    largest = max(map(abs, [*flat, *stay]), default=0)
    total = sum(map(Fraction, [*a.ravel().tolist(), *b.ravel().tolist()]))
    is_float = case["cost_dtype"] == "float64" or case["kind"] == "points"
    method, threads, options = case["method"], case["threads"], case["options"] or None
    tally["solves"] += 1
    tally[asked] += 1
    try:
        results = preflow.transport(
            costs,
            a if stack else a[0],
            b if stack else b[0],
            **{asked: given},
            method=method,
            threads=threads,
            options=options,
        )
    except (CapacityOverflowError, CostOverflowError, InvalidInputError) as error:
        limit = LARGEST if case["mass_dtype"] == "float64" else AMOUNTS
        product = floats and total * Fraction(largest) * (n + m + 4) >= LARGEST
        large = total >= limit or largest * (n + m + 6) >= (LARGEST if is_float else COSTS) or product
        large = large or any(isinstance(price, int) and abs(price) > 2**59 for price in stay)
        require(large, f"valid input is refused: {error}"[:60], str(error))
        tally["overflow"] += 1
        return
    except InfeasibleError as error:
        require(asked == "amount", "nothing may stay", str(error))
        exact = [
            exact_some(*each, asked, case["stay"])
            for each in zip(exact_costs, a.tolist(), b.tolist(), amounts, strict=True)
        ]
        require(
            floats or any(each[0].ending == "infeasible" for each in exact), "called infeasible, and is not"
        )
        tally["infeasible"] += 1
        return
    for item, result in enumerate(results if stack else [results]):
        result.verify()
        tally["verified"] += 1
        require(
            (result.a.tolist(), result.b.tolist()) == (a[item].tolist(), b[item].tolist()), "other masses"
        )
        exact_one, sent = exact_some(
            exact_costs[item], a[item].tolist(), b[item].tolist(), amounts[item], asked, case["stay"]
        )
        if exact_one.ending != "optimal":
            require(floats, "infeasible, but solved")
            continue
        most = total * Fraction(n + m + 4, 2**50) if case["mass_dtype"] == "float64" else 0
        right = asked == "unmatched_cost" or abs(Fraction(result.amount) - sent) <= most
        require(right, "another amount", f"{result.amount}, not {sent}")
        check_sums(result, a[item], b[item], most)
        if not floats:
            right = int(result.value) == exact_one.cost and result.gap == 0
            require(right, "wrong cost", f"{result.value}, not {exact_one.cost}")
            continue
        tally[result.status] += 1
        tiny = min((mass for mass in (*a[item].tolist(), *b[item].tolist()) if mass), default=1)
        if math.isfinite(result.gap) or (largest <= 1e300 and tiny > total / 2**60):
            lost = total * Fraction(1, 2**100) + (
                Fraction(math.ulp(result.amount)) if asked == "partial" else 0
            )
            check_floats(result, exact_one, 2 * lost * Fraction(largest))


def check_sums(result: Any, a: Any, b: Any, allowed: Any) -> None:
    """Check that what is moved and what stays are the masses."""
    left, right = [list(map(Fraction, side.tolist())) for side in (a, b)]
    for mass, row, column in zip(
        *(part.tolist() for part in (result.mass, result.row, result.column)), strict=True
    ):
        left[row] -= Fraction(mass)
        right[column] -= Fraction(mass)
    for side, stays in ((left, result.surplus), (right, result.shortage)):
        require((stays >= 0).all(), "less than nothing stays", str(stays))
        off = max(abs(x - Fraction(y)) for x, y in zip(side, stays.tolist(), strict=True))
        require(off <= allowed, "masses are lost", f"{off}")


def exact_some(
    costs: Any, a: list[Any], b: list[Any], amount: Any, asked: str, stay: Any
) -> tuple[Exact, Fraction]:
    """Return the least cost where masses may stay, and the amount that is moved."""
    n, m = len(a), len(b)
    shift, (prices, rows, columns) = scaled(
        [v for row in costs for v in row if v is not None], *(stay if asked == "unmatched_cost" else ([], []))
    )
    amounts, (first, second, moved) = scaled(a, b, [amount])
    following = iter(prices)
    most = sum(first) + 1
    pairs = [
        (r, n + c, 0, most, next(following))
        for r, row in enumerate(costs)
        for c, value in enumerate(row)
        if value is not None
    ]
    rows, columns = rows or [0] * n, columns or [0] * m
    reward = 1 + sum(map(abs, prices)) if asked == "partial" else 0
    begin, end = n + m, n + m + 1
    arcs = [*pairs, *((begin, r, 0, first[r], -rows[r]) for r in range(n))]
    arcs += [(n + c, end, 0, second[c], -columns[c] - reward) for c in range(m)]
    supply = [0] * (n + m + 2)
    if asked == "amount":
        supply[begin], supply[end] = moved[0], -moved[0]
    else:
        arcs.append((end, begin, 0, most, 0))
    found = cheapest_flow(n + m + 2, arcs, supply)
    if found.ending != "optimal":
        return Exact(found.ending), Fraction(0)
    sent = sum(found.flow[len(pairs) : len(pairs) + n])
    cost = found.cost + reward * sent
    cost += sum(x * y for x, y in zip([*rows, *columns], [*first, *second], strict=True))
    stays = [x - f for x, f in zip([*first, *second], found.flow[len(pairs) :], strict=False)]
    size = sum(abs(arc[4]) * f for arc, f in zip(pairs, found.flow, strict=False))
    size += sum(abs(x) * f for x, f in zip([*rows, *columns], stays, strict=True))
    return Exact("optimal", cost, size, 1 << (shift + amounts)), Fraction(sent, 1 << amounts)


DRIVERS = [
    *(
        Driver(f"transport-{kind}", partial(make, kind=kind), check, share)
        for kind, share in (("dense", 3.0), ("sparse", 2.0), ("stack", 1.0), ("points", 1.0))
    ),
    Driver("transport-some", make_some, check_some, 3.0),
    Driver("jobs", make_pairs, check_pairs, 1.0),
]
