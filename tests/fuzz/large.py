"""Random instances of some hundred vertices: verify() proves each result, and two methods find one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import preflow

from . import assignments, flows, grids, matchings
from .flows import call
from .harness import Case, Driver, Tally, require

#: How calls of each problem are drawn.
CALLS: dict[str, Callable[..., Case]] = {
    "flow": partial(call, options=flows.OPTIONS),
    "grid": partial(call, options=grids.OPTIONS),
    "matching": partial(call, options=matchings.OPTIONS),
    "dense": assignments.call_of_costs,
    "sparse": assignments.call_of_costs,
}


def make(random: Random, quick: bool = False, *, problem: str) -> Case:
    return {
        "problem": problem,
        "size": int(10 ** random.uniform(0.8, 2.0 if quick else 2.5)),
        "density": random.choice([1.2, 2.0, 4.0, 8.0]),
        "largest": random.choice([1, 3, 100, 10**6, 2**40]),
        "floats": random.random() < 0.3,
        "seed": random.randrange(2**32),
        "calls": [CALLS[problem](random, many=0.3) for _ in range(2)],
    }


def instance(case: Case) -> Any:
    """Return what is solved."""
    rng = np.random.default_rng(case["seed"])
    n, problem, floats = case["size"], case["problem"], case["floats"]
    m = int(n * case["density"])

    def numbers(shape: Any) -> Any:
        values = rng.integers(0, case["largest"], shape, endpoint=True)
        return values / 7 if floats else values

    if problem == "flow":
        tail, head = rng.integers(0, n, m), rng.integers(0, n, m)
        if case["seed"] % 2:  # long ways
            head = (tail + rng.integers(1, 4, m)) % n
        network = preflow.FlowNetwork.from_arrays(tail, head, numbers(m), num_vertices=n)
        return preflow.MaxFlowProblem(network, 0, n - 1)
    if problem == "grid":
        side = max(1, int(n**0.7))
        shape = (side, max(1, 2 * n // side))
        return preflow.GridNetwork.from_arrays(
            *(numbers(shape) for _ in range(2)), numbers((2, *shape)), connectivity=4
        )
    if problem == "matching":
        return preflow.BipartiteGraph.from_arrays(rng.integers(0, n, m), rng.integers(0, n, m), shape=(n, n))
    if problem == "dense":
        return numbers((min(n, 120), min(n, 120) + case["seed"] % 3))
    ends = (rng.integers(0, n, m), rng.integers(0, n, m))
    return sp.coo_array((numbers(m), ends), shape=(n, n)).tocsr()


def check(case: Case, tally: Tally) -> None:
    problem, given = case["problem"], instance(case)
    values = []
    for each in case["calls"]:
        tally["solves"] += 1
        tally[f"method {each['method']}"] += 1
        arguments = {"method": each["method"], "threads": each["threads"], "options": each["options"] or None}
        if problem == "flow":
            result: Any = preflow.max_flow(given, **arguments)
        elif problem == "grid":
            result = preflow.grid_cut(given, **arguments)
        elif problem == "matching":
            result = preflow.bipartite_matching(given, **arguments)
        else:
            result = preflow.linear_assignment(given, partial=True, **arguments)
        result.verify()
        tally["verified"] += 1
        values.append((result.value, getattr(result, "gap", 0) or 0))
    (first, gap), (second, other_gap) = values
    room = gap + other_gap + (1e-12 * abs(first) if case["floats"] else 0)
    require(abs(first - second) <= room, "two methods, two values", f"{first} and {second}")


DRIVERS = [Driver(f"large-{problem}", partial(make, problem=problem), check, 0.8) for problem in CALLS]
