"""Every CPU method on one thread does the same operations as recorded: a change of the code changes none.

    python tests/test_operation_counts.py serial-toy    # record a new method, or a changed algorithm
    python tests/test_operation_counts.py               # record all methods

The record also holds a hash of each answer.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.generators import BIPARTITE_FAMILIES, FAMILIES, noisy_grid, uniform_integer_costs
from preflow.generators.min_cost import squared_distances, transport_masses, transport_points
from preflow.registry import METHODS
from preflow.solving.dispatch import find_method
from preflow.stats import COUNTERS, MATCHING_COUNTERS

RECORD = Path(__file__).resolve().parent / "data" / "operation_counts.json"
FLOWS = {"rmf-wide": "8x6", "rmf-long": "4x16", "rlg-wide": "16x8", "ac-dense": "40", "dinic-bad": "60"}
GRAPHS = {"delaunay": "600", "power-law": "500x6", "erdos-renyi": "400x4"}


@cache
def instances(problem: str) -> dict[str, Any]:
    """Return the instances of a problem by name."""
    if problem in ("max_flow", "min_cut"):
        return {f"{name} {size}": FAMILIES[name].generate(size) for name, size in FLOWS.items()}
    if problem == "grid_cut":
        return {f"{shape}": noisy_grid(shape) for shape in ((20, 20), (60, 50), (9, 8, 7))}
    if problem == "bipartite_matching":
        return {f"{name} {size}": BIPARTITE_FAMILIES[name].generate(size) for name, size in GRAPHS.items()}
    if problem == "matching":
        return {f"random {n}": random_graph(n) for n in (40, 400)}
    if problem == "transport":
        problems = {"uniform 60": transport_masses(60), "points 90": squared_distances(transport_points(90))}
        return dict(problems)
    if problem == "min_cost_flow":
        return {f"random {n}": random_costs(n) for n in (30, 200)}
    costs: dict[str, Any] = {f"uniform {n}": uniform_integer_costs(n, largest=1000) for n in (20, 90)}
    return costs | {"rectangular": costs["uniform 90"][:40] * 0.1}


def random_graph(n: int) -> preflow.UndirectedGraph:
    """Return a graph of n vertices of degree 4 on the mean."""
    rng = np.random.default_rng(n)
    return preflow.UndirectedGraph.from_arrays(*rng.integers(0, n, (2, 2 * n)), rng.integers(1, 100, 2 * n))


def random_costs(n: int) -> preflow.CostNetwork:
    """Return a network of n vertices whose supplies are those of a random flow."""
    rng = np.random.default_rng(n)
    tail, head = rng.integers(0, n, (2, 6 * n))
    capacity, cost = rng.integers(0, 50, 6 * n), rng.integers(-100, 1000, 6 * n)
    flow = rng.integers(0, capacity + 1)
    supply = np.bincount(tail, flow, n) - np.bincount(head, flow, n)
    return preflow.CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, supply=supply)


def answer(problem: str, method: str, instance: Any) -> dict[str, Any]:
    """Solve an instance; return the counts and a hash of the answer."""
    function: Callable[..., Any] = getattr(preflow, problem)
    arguments = instance if problem == "transport" else (instance,)
    if problem == "matching":
        record = find_method(METHODS[problem], method)
        if not (record.weighted or record.approximate):
            arguments = (instance.without_weights(),)
    return digest(problem, function(*arguments, method=method, threads=1))


def digest(problem: str, result: Any) -> dict[str, Any]:
    """Return the counts of a result and a hash of its answer."""
    names = {
        "max_flow": ("flow",),
        "min_cut": ("sink_side",),
        "grid_cut": ("labels",),
        "bipartite_matching": ("row_match",),
        "linear_assignment": ("row", "column"),
        "matching": ("mate",),
        "min_cost_flow": ("flow", "potentials"),
        "transport": ("row", "column", "mass", "u", "v"),
    }
    seen = hashlib.sha256()
    for name in names[problem]:
        values = np.asarray(getattr(result, name))
        seen.update(values.astype(np.int64 if values.dtype.kind in "iu" else values.dtype).tobytes())
    counts = {name: int(getattr(result.stats, name, 0)) for name in (*COUNTERS, *MATCHING_COUNTERS, "pivots")}
    return {**{name: count for name, count in counts.items() if count}, "answer": seen.hexdigest()[:16]}


def stacks() -> dict[str, tuple[Any, ...]]:
    """Return the arguments of a call for many items, by the name of the function."""
    rng = np.random.default_rng(7)
    arcs = rng.integers(0, 30, (2, 150))
    networks = preflow.FlowNetworkBatch.from_arrays(arcs[0], arcs[1], rng.integers(0, 40, (6, 150)))
    source, sink = np.maximum(excess := rng.integers(-9, 10, (6, 14, 11)), 0), np.maximum(-excess, 0)
    masses = rng.integers(1, 9, (3, 12))
    return {
        "max_flow_batch": (networks, 0, 29),
        "grid_cut_batch": (source, sink, 3),
        "linear_assignment": (rng.integers(0, 100, (5, 14, 14)),),
        "transport": (rng.integers(0, 100, (3, 12, 12)), masses, masses[:, ::-1]),
    }


CASES = [
    (problem, method.name)
    for problem, found in METHODS.items()
    if problem != "min_cut"
    for method in found
    if method.device == "cpu"
]


@pytest.mark.parametrize(("problem", "method"), CASES)
def test_operations_are_the_recorded_ones(problem: str, method: str) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8")).get(f"{problem} {method}")
    assert recorded, f"no counts are recorded: python tests/test_operation_counts.py {method}"
    found = {name: answer(problem, method, instance) for name, instance in instances(problem).items()}
    assert found == recorded


def stacked(function: str) -> dict[str, Any]:
    """Solve the items of a stack; return the counts and a hash of the answers."""
    found = getattr(preflow, function)(*stacks()[function], threads=1)
    results = found if isinstance(found, list) else [found]
    return {f"{k}": digest(function.removesuffix("_batch"), result) for k, result in enumerate(results)}


@pytest.mark.parametrize("function", stacks())
def test_operations_on_items_are_the_recorded_ones(function: str) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    assert stacked(function) == recorded[f"items of {function}"]


def main(names: list[str]) -> None:
    """Record the counts of the methods with these names, or of all methods."""
    unknown = set(names) - {method for _, method in CASES}
    if unknown:
        sys.exit(f"no method on the CPU has the name {', '.join(sorted(unknown))}")
    old = json.loads(RECORD.read_text(encoding="utf-8"))
    record = {}
    for problem, method in CASES:
        key = f"{problem} {method}"
        if not names or method in names:
            found = {name: answer(problem, method, instance) for name, instance in instances(problem).items()}
            record[key] = found
        elif key in old:
            record[key] = old[key]
    for name in stacks():
        key = f"items of {name}"
        record[key] = old[key] if names and key in old else stacked(name)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
