"""matching of small general graphs: every method, all kinds of weights, and corrupted results."""

from __future__ import annotations

import copy
import sys
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np

import preflow
from preflow.errors import (
    CostOverflowError,
    InfeasibleMatchingError,
    InvalidInputError,
    PreflowError,
    VerificationError,
)
from preflow.reductions import chinese_postman, general_b_matching, minimum_weight_edge_cover, t_join

from .corruption import AMOUNTS, mutated
from .harness import Case, Driver, Tally, WrongError, require
from .values import FRACTION_STYLES, INTEGER_STYLES, MODEST_STYLES, fraction, integer

FLOAT_MAX = Fraction(sys.float_info.max)
BUDGETS = [None, 1, 5, 64]
STARTS = ["greedy", "none", "locally-dominant", "two-thirds"]
#: Approximate methods, with the threads that they may use and the part of the best weight that they promise.
APPROXIMATE = [
    ("serial-greedy", 1, Fraction(1, 2)),
    ("multicore-locally-dominant", 3, Fraction(1, 2)),
    ("serial-two-thirds", 1, Fraction(2, 3)),
]


def make(random: Random, quick: bool = False) -> Case:
    n = random.randrange(1, 9)
    kind = random.choice(["none", "int", "int", "int", "float"])
    style = random.choice(FRACTION_STYLES if kind == "float" else INTEGER_STYLES)
    m = int(random.random() ** 1.5 * 3 * n)

    def number() -> Any:
        value = fraction(random, style) if kind == "float" else integer(random, style)
        return -value if random.random() < 0.2 else value

    edges = [[random.randrange(n), random.randrange(n)] for _ in range(m)]
    edges += [edge[::-1] for edge in edges if random.random() < 0.1]  # parallel
    return {
        "n": n,
        "edges": edges,
        "weights": None if kind == "none" else [number() for _ in edges],
        "float": kind == "float",
        "wanted": [
            {
                "maximize": random.random() < 0.6,
                "perfect": random.random() < 0.2,
                "maximum_cardinality": random.random() < 0.3,
                "budget": random.choice(BUDGETS),
                "initial": random.choice(STARTS),
                "threads": random.choice([1, 2, 3]),
                "tighten": random.random() < 0.7,
            }
            for _ in range(random.choice([1, 2, 3]))
        ],
        "corruptions": [
            [
                {
                    "field": random.choice(
                        ["mate", "vertex", "parent", "blossom", "barrier", "lower", "upper"]
                    ),
                    "how": random.choice(["add", "add", "set", "swap", "bit", "copy", "negate", "drop"]),
                    "at": random.randrange(64),
                    "other": random.randrange(64),
                    "amount": random.choice(AMOUNTS),
                }
                for _ in range(random.choice([1, 1, 2]))
            ]
            for _ in range(random.choice([0, 1, 3]))
        ],
    }


def graph_of(case: Case) -> preflow.UndirectedGraph:
    tail, head = (np.array([edge[i] for edge in case["edges"]], np.int64) for i in (0, 1))
    weights = case["weights"]
    if weights is not None:
        weights = np.array(weights, np.float64 if case["float"] else np.int64)
    return preflow.UndirectedGraph.from_arrays(tail, head, weights, num_vertices=case["n"])


def best_by_size(case: Case, sign: int) -> dict[int, Fraction]:
    """Return the best weight of the matchings with each number of pairs."""
    weights = case["weights"] or [1] * len(case["edges"])
    value: dict[tuple[int, int], Fraction] = {}
    for (u, v), weight in zip(case["edges"], weights, strict=True):
        if u != v:
            pair = min(u, v), max(u, v)
            value[pair] = max(value.get(pair, sign * Fraction(weight)), sign * Fraction(weight))

    @cache
    def rest(free: int) -> dict[int, Fraction]:
        if not free:
            return {0: Fraction(0)}
        u = free.bit_length() - 1
        free &= ~(1 << u)
        found = dict(rest(free))
        for v in range(u):
            if free >> v & 1 and (v, u) in value:
                for size, total in rest(free & ~(1 << v)).items():
                    total += value[v, u]
                    found[size + 1] = max(found.get(size + 1, total), total)
        return found

    return {size: sign * total for size, total in rest((1 << case["n"]) - 1).items()}


def expected(case: Case, wanted: Case) -> tuple[int | None, Fraction] | None:
    """Return the number of pairs, if certain, and the weight of the best matching; None if there is none."""
    if case["weights"] is None:
        most = max(best_by_size(case, 1))
        return None if wanted["perfect"] and 2 * most != case["n"] else (most, Fraction(most))
    sign = 1 if wanted["maximize"] else -1
    best = best_by_size(case, sign)
    if wanted["perfect"]:
        return (
            (case["n"] // 2, best[case["n"] // 2]) if case["n"] % 2 == 0 and case["n"] // 2 in best else None
        )
    if wanted["maximum_cardinality"]:
        return max(best), best[max(best)]
    return None, sign * max(sign * total for total in best.values())


def check(case: Case, tally: Tally) -> None:
    graph = graph_of(case)
    for wanted in case["wanted"]:
        tally["solves"] += 1
        right = expected(case, wanted)
        options, method = None, "auto"
        if case["weights"] is not None and wanted["budget"] is not None:
            options = {"budget": wanted["budget"], "initial": wanted.get("initial", "greedy")}
            method = "serial-weighted-blossom"
        threads = None
        if method != "auto" and case["n"] % 2 == 0:
            method, threads = "multicore-weighted-blossom", 2 + case["n"] % 3
        if case["weights"] is None and case["n"] % 2 == 0:
            method, threads = "multicore-blossom", 2 + case["n"] % 3
        flags = {name: wanted[name] for name in ("maximize", "perfect", "maximum_cardinality")}
        try:
            result = preflow.matching(graph, method=method, threads=threads, options=options, **flags)
        except InfeasibleMatchingError as error:
            require(right is None, "called infeasible")
            require(len(error.components) > len(error.barrier), "a barrier that proves nothing")
            continue
        except CostOverflowError:
            if case["float"]:
                require(right is not None and abs(right[1]) > 0.999 * FLOAT_MAX, "called too large")
                continue
            largest = max(map(abs, case["weights"]))
            require(largest * max(case["n"], 1) >= 2**58, "called too large", f"{largest}")
            continue
        require(right is not None, "a perfect matching that is none")
        assert right is not None
        pairs, weight = right
        require(result.status == "optimal", "not optimal without a time limit", result.status)
        check_gap(case, result)
        require(pairs is None or result.cardinality == pairs, "wrong number of pairs")
        found = sum(map(Fraction, taken(case, result)))
        slack = Fraction(result.gap) if case["float"] else 0
        require(abs(found - weight) <= slack, "wrong weight", f"{float(found)}, not {float(weight)}")
        require(abs(Fraction(result.weight) - weight) <= slack, "wrong sum", f"{result.weight}")
        require(
            case["float"] or result.weight == found, "weight is not that of the pairs", f"{result.weight}"
        )
        result.verify()
        for mutations in case["corruptions"]:
            check_corrupted(case, result, mutations, weight, tally)
        if not (wanted["perfect"] or wanted["maximum_cardinality"]):
            check_approximate(case, graph, wanted, weight, slack)


def check_gap(case: Case, result: Any) -> None:
    """Check that the gap of an optimal result is what the statement says, of the weights that it has."""
    weights = taken(case, result)
    allowed = (Fraction(1, 2**40) + len(weights) * Fraction(1, 2**53)) * sum(map(abs, map(Fraction, weights)))
    allowed = allowed * (1 + Fraction(1, 2**50)) if case["float"] else Fraction(0)
    require(result.gap <= allowed, "a gap beyond the statement", f"{result.gap}, not {float(allowed)}")


def check_approximate(case: Case, graph: Any, wanted: Case, best: Fraction, slack: Fraction | int) -> None:
    """Check what approximate methods promise, and that two of them find the same matching."""
    mates = {}
    for method, most_threads, part in APPROXIMATE:
        threads = min(most_threads, wanted.get("threads", 1))
        result = preflow.matching(
            graph,
            method=method,
            maximize=wanted["maximize"],
            threads=threads,
            options={"tighten": wanted.get("tighten", True)},
        )
        result.verify()
        require(result.status == "approximate", "an approximate method ended otherwise", result.status)
        found = abs(sum(map(Fraction, taken(case, result))))
        slack = max(slack, abs(best) / 2**40 if case["float"] else 0)
        require(found >= part * abs(best) - slack, "less than it promises", f"{method}: {float(found)}")
        bounds = result.lower_bound, result.upper_bound
        require(bounds[0] <= best + slack, "wrong lower bound", f"{method}: {bounds}")
        require(bounds[1] >= best - slack, "wrong upper bound", f"{method}: {bounds}")
        mates[method] = result.mate.tolist()
    if case["weights"] is not None:
        same = mates["serial-greedy"] == mates["multicore-locally-dominant"]
        require(same, "greedy and locally dominant differ")


def taken(case: Case, result: Any) -> list[Any]:
    """Return the weights of the matched edges."""
    weights = case["weights"] or [1] * len(case["edges"])
    return [weights[i] for i in result.edges.tolist()]


def check_corrupted(case: Case, result: Any, mutations: list[Case], weight: Fraction, tally: Tally) -> None:
    changed = copy.copy(result)
    vars(changed).pop("edges", None)
    for mutation in mutations:
        field = mutation["field"]
        if field in ("lower", "upper"):
            name = f"{field}_bound"
            object.__setattr__(changed, name, getattr(changed, name) + mutation["amount"])
        elif field in ("mate", "barrier"):
            values = getattr(changed, field)
            if values is not None:
                object.__setattr__(changed, field, mutated(values, mutation))
        elif changed.duals is not None:
            values = mutated(getattr(changed.duals, field), mutation)
            object.__setattr__(changed, "duals", changed.duals._replace(**{field: values}))
    tally["corrupted"] += 1
    try:
        with np.errstate(all="ignore"):
            changed.verify()
    except VerificationError:
        tally["refused"] += 1
        return
    except PreflowError as error:
        raise WrongError("verify raises another error", f"{type(error).__name__}: {error}") from error
    # What verify accepts is a best matching.
    vars(changed).pop("edges", None)
    mate = changed.mate.tolist()
    good = all(p < 0 or mate[p] == v for v, p in enumerate(mate))
    total = sum(map(Fraction, taken(case, changed)))
    slack = Fraction(result.gap) if case["float"] else 0
    if not good or abs(total - weight) > slack:
        raise WrongError("verify accepts a wrong matching", str(mutations))
    for bound in (changed.lower_bound, changed.upper_bound):
        error = abs(Fraction(bound) - weight)
        if error > slack + (abs(weight) / 2**40 if case["float"] else 0):
            raise WrongError("verify accepts a wrong bound", f"{bound}, not {float(weight)}: {mutations}")
    tally["accepted, and right"] += 1


def make_reductions(random: Random, quick: bool = False) -> Case:
    n = random.randrange(1, 6)
    kind = random.choice(["int", "float", "float"])
    style = random.choice(["outliers", *FRACTION_STYLES] if kind == "float" else MODEST_STYLES)

    def number() -> Any:
        value = fraction(random, style) if kind == "float" else integer(random, style)
        return -value if random.random() < 0.2 else value

    edges = [[random.randrange(n), random.randrange(n)] for _ in range(random.randrange(0, 9))]
    return {
        "n": n,
        "edges": edges,
        "weights": [number() for _ in edges],
        "float": kind == "float",
        "odd": [v for v in range(n) if random.random() < 0.5],
        "limit": [random.randrange(4) for _ in range(n)],
    }


def best_by_state(case: Case, start: Any, step: Any, sign: int) -> dict[Any, Fraction]:
    """Return the best weight of the sets of edges that lead to each state, edge by edge."""
    found = {start: Fraction(0)}
    for (u, v), weight in zip(case["edges"], case["weights"], strict=True):
        for state, total in list(found.items()):
            after, total = step(state, u, v), total + Fraction(weight)
            if after is not None and (after not in found or sign * total < sign * found[after]):
                found[after] = total
    return found


def check_reductions(case: Case, tally: Tally) -> None:
    graph, n = graph_of(case), case["n"]
    odd, limit = case["odd"], case["limit"]
    walkable = not any(weight < 0 for weight in case["weights"])

    def flip(state: int, u: int, v: int) -> int:
        return state ^ (1 << u) ^ (1 << v)

    def add(state: tuple[int, ...], u: int, v: int) -> tuple[int, ...] | None:
        more = tuple(left - (w in (u, v)) for w, left in enumerate(state))
        return None if u == v or min(more) < 0 else more

    joins = best_by_state(case, 0, flip, 1)
    covers = best_by_state(case, 0, lambda state, u, v: state | 1 << u | 1 << v, 1)
    most = max(best_by_state(case, tuple(limit), add, -1).values())
    everywhere = sum(map(Fraction, case["weights"]))
    uneven = 0
    for u, v in case["edges"]:
        uneven ^= (1 << u) ^ (1 << v)
    compare(case, tally, lambda: t_join(graph, odd), joins.get(sum(1 << v for v in odd)))
    compare(case, tally, lambda: minimum_weight_edge_cover(graph), covers.get((1 << n) - 1))
    compare(case, tally, lambda: general_b_matching(graph, limit), most)
    if walkable and _connected(case):
        compare(case, tally, lambda: chinese_postman(graph), joins[uneven] + everywhere)


def _connected(case: Case) -> bool:
    """Whether the edges are connected."""
    left = [set(edge) for edge in case["edges"]]
    seen = left.pop() if left else set()
    while near := [edge for edge in left if edge & seen]:
        left = [edge for edge in left if not edge & seen]
        seen = seen.union(*near)
    return not left


def compare(case: Case, tally: Tally, solve: Any, right: Fraction | None) -> None:
    """Check an answer beside the exact weight; None: there is none."""
    tally["solves"] += 1
    try:
        found = solve()
    except CostOverflowError:
        require(right is not None and abs(right) > Fraction(999, 1000) * FLOAT_MAX, "called too large")
        return
    except InvalidInputError as error:
        require(right is None, "called impossible", str(error))
        return
    require(right is not None, "an answer where there is none")
    assert right is not None
    found.verify()
    name = type(found).__name__
    weights = [Fraction(case["weights"][i]) for i in found.edges.tolist()]
    size = sum(map(abs, weights))
    allowed = size * (Fraction(1, 2**40) + Fraction(len(weights), 2**53)) if case["float"] else Fraction(0)
    require(Fraction(found.gap) <= allowed, f"{name}: a gap beyond the statement", f"{found.gap}")
    for total in (Fraction(found.weight), sum(weights, Fraction(0))):
        require(abs(total - right) <= Fraction(found.gap), f"{name}: wrong weight", f"{float(total)}")


DRIVERS = [
    Driver("general-matching", make, check, share=3.0),
    Driver("matching-reductions", make_reductions, check_reductions),
]
