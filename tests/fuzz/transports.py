"""transport of small masses, and reductions of pairs, against a minimum-cost flow of exact integers."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

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
)

from .costflows import AMOUNTS, COSTS, HUGE, ROUNDING
from .harness import Case, Driver, Tally, require
from .oracles import INFINITE, cheapest_flow, scaled
from .values import FRACTION_STYLES, INTEGER_STYLES, fraction, integer, pick

LISTED = {"listed": [1, 2, 20], "added": [1, 8]}
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "serial-network-simplex": LISTED,
    "multicore-cost-scaling": LISTED | {"temperatures": [1, 3, 12], "steps": [1, 3]},
}
#: A gap of floats is at most this fraction of the largest cost times the mass.
SMALL_GAP = 1e-7
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

    def number() -> Any:
        if random.random() >= allowed:
            return None
        value = fraction(random, cost_style) if float_costs else integer(random, cost_style)
        return -value if random.random() < negative else value

    def masses() -> tuple[list[Any], list[Any]]:
        """Return masses of rows and columns with equal sums, of floats up to rounding."""
        a: list[Any] = [0] * n
        b: list[Any] = [0] * m
        for _ in range(random.randrange(1, n + m + 1)):
            amount = fraction(random, mass_style) if float_masses else integer(random, mass_style)
            a[random.randrange(n)] += amount
            b[random.randrange(m)] += amount
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


def check(case: Case, tally: Tally) -> None:
    n, m = case["shape"]
    stack = case["kind"] == "stack"
    try:
        a, b = (np.array([side[i] for side in case["masses"]], case["mass_dtype"]) for i in range(2))
    except OverflowError:
        tally["too large"] += 1
        return
    a, b = a.reshape(-1, n), b.reshape(-1, m)
    costs = costs_of(case)
    arguments = (costs, a if stack else a[0], b if stack else b[0])
    if case["kind"] == "points":
        block = costs.block(0, n)
        exact_costs: list[Any] = [block.tolist()]
    else:
        exact_costs = case["costs"]
    floats = case["mass_dtype"] == "float64" or case["cost_dtype"] == "float64" or case["kind"] == "points"
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

    exact = [
        exact_plan(item, *sides) for item, *sides in zip(exact_costs, a.tolist(), b.tolist(), strict=True)
    ]
    largest = max((abs(v) for item in exact_costs for row in item for v in row if v is not None), default=0)
    total = float(max(a.astype(float).sum(), b.astype(float).sum())) if a.size else 0.0
    try:
        results = solve(*arguments)
    except (CapacityOverflowError, CostOverflowError) as error:
        limits = (HUGE if floats else AMOUNTS, HUGE if case["cost_dtype"] == "float64" else COSTS)
        large = total >= min(limits[0], AMOUNTS) or largest * (n + m + 4) >= limits[1]
        require(large, "numbers that fit are refused", str(error))
        tally["overflow"] += 1
        return
    except InfeasibleError as error:
        if not floats:
            require(any(e[0] == "infeasible" for e in exact), "called infeasible, and is not", str(error))
            check_cut(case, error, exact_costs, a.tolist(), b.tolist())
        tally["infeasible"] += 1
        return
    except InvalidInputError as error:
        message = str(error)
        off = any(
            sum(map(Fraction, x)) != sum(map(Fraction, y))
            for x, y in zip(a.tolist(), b.tolist(), strict=True)
        )
        fair = ("sum" in message and off) or ("nothing to move" in message and not a.size)
        fair |= "2**59" in message or largest * (n + m + 4) >= COSTS
        require(fair, f"valid input is refused: {message}"[:60], message)
        tally["refused"] += 1
        return
    for result, (ending, cost, shift) in zip(results if stack else [results], exact, strict=True):
        result.verify()
        tally["verified"] += 1
        if ending != "optimal":
            require(floats, "infeasible, but solved")
            continue
        if not floats:
            require(
                int(result.value) == cost and result.gap == 0, "wrong cost", f"{result.value}, not {cost}"
            )
            continue
        value, gap = Fraction(result.value), Fraction(result.gap)
        off_by = abs(value - Fraction(cost, 1 << shift))
        require(
            off_by <= gap * (1 + Fraction(1, 1000)) + Fraction(1e-290),
            "wrong cost of floats",
            f"{result.value} within {result.gap}, of {case['mass_dtype']}",
        )
        # Prices of integer costs may be 1 where all costs are 0.
        size = max(largest, 1) if case["cost_dtype"] == "int64" else largest
        least = (
            Fraction(SMALL_GAP) * Fraction(size) * Fraction(total)
            + Fraction(1e-290)
            + Fraction(largest) / 10**310
        )
        require(gap <= least, "a gap that is not small", f"{result.value} within {result.gap}")


def exact_plan(costs: Any, a: list[Any], b: list[Any]) -> tuple[str, int, int]:
    """Return how a plan of exact integers ends, its cost, and the exponent of that."""
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
    supply = [*first, *(-s for s in second)]
    surplus = sum(supply)
    largest = max(range(n + m), key=lambda v: supply[v] if surplus > 0 else -supply[v])
    supply[largest] -= surplus
    found = cheapest_flow(n + m, arcs, supply)
    return found.ending, found.cost, shift + amounts


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
    style = random.choice(["few", "uniform", "whole"] if floats else ["tiny", "small", "middle"])
    allowed = random.choice([1.0, 0.7, 0.4])

    def number() -> Any:
        if random.random() >= allowed:
            return None
        value = fraction(random, style) if floats else integer(random, style)
        return -value if random.random() < 0.1 else value

    return {
        "costs": [[number() for _ in range(m)] for _ in range(n)],
        "columns": m,
        "limit": [random.choice([0, 1, 1, 2, 5]) for _ in range(n)],
        "needs": [random.choice([0, 1, 1, 1, 2, 3]) for _ in range(m)],
        "partial": random.random() < 0.6,
    }


def check_pairs(case: Case, tally: Tally) -> None:
    """Check assign_jobs, and b_matching of the allowed pairs."""
    costs, limit, needs, m = case["costs"], case["limit"], case["needs"], case["columns"]
    n = len(costs)
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
    arcs = [(n + m, r, 0, limit[r], 0) for r in range(n)] + pairs
    arcs += [(n + c, n + m, 0, needs[c], -reward) for c in range(m)]
    exact = cheapest_flow(n + m + 1, arcs, [0] * (n + m + 1))
    size = sum(exact.flow[len(arcs) - m :])
    tally["solves"] += 1
    try:
        found = reductions.assign_jobs(matrix, limit=limit, needs=needs, partial=case["partial"])
    except InfeasibleError:
        require(not case["partial"] and size < sum(needs), "called infeasible, and is not")
        tally["infeasible"] += 1
        return
    found.verify()
    require(len(found.job) == size, "wrong number of pairs", f"{len(found.job)}, not {size}")
    require(found.complete == (size == sum(needs)), "complete is wrong")
    off = abs(Fraction(found.cost) - Fraction(exact.cost + reward * size, 1 << shift))
    scale = Fraction(sum(map(abs, prices)), 1 << shift)
    require(off <= scale * Fraction(ROUNDING), "wrong cost of jobs", f"{found.cost}, off by {float(off):.3g}")
    row, column = np.nonzero(np.isfinite(matrix))
    graph = preflow.BipartiteGraph.from_arrays(row, column, shape=(n, m))
    matching = reductions.b_matching(graph, row_limit=limit, column_limit=needs)
    matching.verify()
    require(matching.size == size, "a b-matching of another size", f"{matching.size}, not {size}")
    tally["verified"] += 2


DRIVERS = [
    *(
        Driver(f"transport-{kind}", partial(make, kind=kind), check, share)
        for kind, share in (("dense", 3.0), ("sparse", 2.0), ("stack", 1.0), ("points", 1.0))
    ),
    Driver("jobs", make_pairs, check_pairs, 1.0),
]
