"""Slow and obviously right: what the tests compare with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

import preflow
from preflow.gridcut.result import GridCutResult
from preflow.maxflow.result import MaxFlowResult
from tests.support.strategies import SmallGraph, SmallGrid, SmallProblem

INFINITY = float("inf")


def edmonds_karp(
    num_vertices: int,
    arcs: Iterable[tuple[int, int, float]],
    sources: Iterable[int],
    sinks: Iterable[int],
) -> tuple[float, set[int], set[int]]:
    """Return the maximum flow value, the smallest sink side and the smallest source side.

    Shortest augmenting paths on a dense matrix of residual capacities, with a super-source and a
    super-sink of infinite capacity.
    """
    n = num_vertices + 2
    source, sink = num_vertices, num_vertices + 1
    residual = [[0] * n for _ in range(n)]
    for tail, head, capacity in arcs:
        residual[tail][head] += capacity
    for vertex in sources:
        residual[source][vertex] = INFINITY
    for vertex in sinks:
        residual[vertex][sink] = INFINITY

    def search(start: int, forward: bool) -> dict[int, int]:
        parent = {start: start}
        queue = deque([start])
        while queue:
            v = queue.popleft()
            for w in range(n):
                if w not in parent and (residual[v][w] if forward else residual[w][v]) > 0:
                    parent[w] = v
                    queue.append(w)
        return parent

    value = 0
    while sink in (parent := search(source, forward=True)):
        path = [sink]
        while path[-1] != source:
            path.append(parent[path[-1]])
        path.reverse()
        amount = min(residual[u][v] for u, v in pairwise(path))
        for u, v in pairwise(path):
            residual[u][v] -= amount
            residual[v][u] += amount
        value += amount
    sink_side = set(search(sink, forward=False)) - {sink}
    source_side = set(search(source, forward=True)) - {source}
    return value, sink_side, source_side


def check_against_oracle(problem: SmallProblem, **arguments: Any) -> MaxFlowResult:
    """Solve `problem` with these arguments of ``max_flow``; value and both cuts are the oracle's."""
    value, sink_side, source_side = edmonds_karp(
        problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks
    )
    result = preflow.max_flow(problem.network, problem.sources, problem.sinks, **arguments)
    result.verify()
    assert result.value == value
    assert set(np.flatnonzero(result.sink_side)) == sink_side
    assert set(np.flatnonzero(result.source_side())) == source_side
    return result


def check_grid_against_oracle(grid: SmallGrid, **arguments: Any) -> GridCutResult:
    """Cut `grid` with these arguments; value and labels are those of the network of its arcs."""
    network = grid.network
    result = preflow.grid_cut(network, **arguments)
    result.verify()
    general = preflow.min_cut(network.to_flow_problem(), method="serial-hi-pr")
    assert result.value == general.value
    assert result.energy == general.value
    assert result.labels.shape == network.shape
    assert (result.labels.ravel() == ~general.sink_side[: network.size]).all()
    return result


def largest_matching(graph: SmallGraph) -> int:
    """Return the size of a maximum matching: one augmenting path after the other, by recursion."""
    neighbours = [sorted({c for r, c in graph.edges if r == row}) for row in range(graph.num_rows)]
    partner: dict[int, int] = {}

    def augment(row: int, seen: set[int]) -> bool:
        for column in neighbours[row]:
            if column not in seen:
                seen.add(column)
                if column not in partner or augment(partner[column], seen):
                    partner[column] = row
                    return True
        return False

    return sum(augment(row, set()) for row in range(graph.num_rows))


def exact_costs(costs: np.ndarray) -> list[list[Any]]:
    """Return float costs as exact numbers, infinite ones as they are."""
    return [[Fraction(cost) if np.isfinite(cost) else cost for cost in row] for row in costs.tolist()]


def cheapest_assignments(
    costs: list[list[Any]], num_rows: int, num_columns: int, maximize: bool
) -> tuple[int, Any]:
    """Return the most pairs there can be and the best cost of so many: every choice, row by row."""
    sign = -1 if maximize else 1
    found: dict[int, Any] = {}

    def choose(row: int, used: frozenset[int], total: Any) -> None:
        if row == num_rows:
            size = len(used)
            found[size] = min(found.get(size, total), total)
            return
        choose(row + 1, used, total)
        for column in range(num_columns):
            cost = sign * costs[row][column]
            if column not in used and cost < INFINITY:
                choose(row + 1, used | {column}, total + cost)

    choose(0, frozenset(), 0)
    size = max(found)
    return size, sign * found[size]
