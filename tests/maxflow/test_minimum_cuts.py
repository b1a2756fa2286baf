"""All minimum cuts: against the enumeration of all subsets of vertices."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError, NotOptimalError, VerificationError
from preflow.maxflow.minimum_cuts import _closed_sets
from tests.support.strategies import SmallProblem, small_problems


def all_cuts(problem: SmallProblem) -> tuple[float, set[tuple[bool, ...]]]:
    """Return the capacity of the minimum cuts and their sink sides: every partition is tried."""
    best, found = float("inf"), set()
    ends = {v: False for v in problem.sources} | {v: True for v in problem.sinks}
    choices = [[ends[v]] if v in ends else [False, True] for v in range(problem.num_vertices)]
    for side in product(*choices):
        capacity = sum(c for u, v, c in problem.directed_arcs if side[v] and not side[u])
        if capacity < best:
            best, found = capacity, set()
        if capacity == best:
            found.add(side)
    return best, found


@given(problem=small_problems(st.integers(0, 2)), as_cut=st.booleans())
@settings(max_examples=150)
def test_all_cuts_are_found(problem: SmallProblem, as_cut: bool) -> None:
    value, expected = all_cuts(problem)
    terminals = problem.sources, problem.sinks
    if as_cut:
        cuts = preflow.minimum_cuts(preflow.min_cut(problem.network, *terminals))
    else:
        cuts = preflow.minimum_cuts(problem.network, *terminals)
    cuts.verify()
    assert cuts.value == value
    sides = [tuple(side.tolist()) for side in cuts]
    assert len(sides) == len(set(sides)) == len(expected) == cuts.count()
    assert set(sides) == expected
    assert cuts.count(at_most=3) == min(3, len(expected))
    assert cuts.is_unique == cuts.result.is_unique() == (len(expected) == 1)
    arcs = {
        arc
        for side in expected
        for arc, (u, v) in enumerate(zip(problem.tail, problem.head, strict=True))
        if (side[v] and not side[u] and problem.capacity[arc])
        or (side[u] and not side[v] and problem.reverse_capacity and problem.reverse_capacity[arc])
    }
    assert set(cuts.arcs_in_some_cut().tolist()) == arcs
    assert np.array_equal(~next(iter(cuts)), cuts.result.source_side())


@given(problem=small_problems(st.sampled_from([0.0, 0.5, 0.1, 1 / 3]), max_vertices=6))
@settings(max_examples=60)
def test_floats(problem: SmallProblem) -> None:
    value, _ = all_cuts(problem)
    cuts = preflow.minimum_cuts(problem.network, problem.sources, problem.sinks)
    cuts.verify()
    for side in cuts:
        capacity = sum(c for u, v, c in problem.directed_arcs if side[v] and not side[u])
        assert capacity == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_chains_and_paths() -> None:
    """A chain of n equal arcs has n cuts, k chains side by side have n**k."""
    chain = preflow.minimum_cuts((np.arange(50), np.arange(1, 51), [1] * 50), 0, 50)
    assert (chain.num_free, chain.count()) == (49, 50)
    assert len(chain.arcs_in_some_cut()) == 50
    assert repr(chain) == "<MinimumCuts: at least 50 of value 1, 49 components>"
    graph = nx.DiGraph()
    for k in range(20):
        nx.add_path(graph, ["s", *((k, i) for i in range(9)), "t"], capacity=1)
    wide = preflow.minimum_cuts(graph, "s", "t")
    wide.verify()
    assert wide.count() == 10**20
    assert wide.count(at_most=1000) == 1000
    assert wide.cut_edges(next(iter(wide)))[0] == ("s", (0, 0))
    lone = preflow.minimum_cuts(([0], [1], [3]), 0, 1)
    assert lone.is_unique
    assert [side.tolist() for side in lone] == [[False, True]]
    assert repr(lone) == "<MinimumCuts: one of value 3>"


def test_deep_graphs_are_counted() -> None:
    """A grid of free components that need each other has as many cuts as monotone paths."""
    size = 6
    graph = nx.DiGraph()
    for i, j in np.ndindex(size, size):
        graph.add_edge("s", (i, j), capacity=1)
        graph.add_edge((i, j), "t", capacity=1)
        for step in ((i + 1, j), (i, j + 1)):
            if max(step) < size:
                graph.add_edge((i, j), step, capacity=9)
    cuts = preflow.minimum_cuts(graph, "s", "t")
    cuts.verify()
    assert cuts.count() == 924  # 12 choose 6


def test_wrong_claims_are_refused() -> None:
    cuts = preflow.minimum_cuts(([0, 1, 2, 0], [1, 2, 3, 4], [1, 1, 1, 0]), 0, 3)
    pickle.loads(pickle.dumps(cuts)).verify()
    component = cuts.component
    other = preflow.max_flow(([0, 1, 2, 0], [1, 2, 3, 4], [1, 2, 1, 0]), 0, 3)
    wrong: list[dict[str, Any]] = [
        {"component": component[:-1]},
        {"component": component.astype(np.int32)},
        {"component": np.where(component == 1, 2, component)},
        {"component": np.where(component == 1, 0, component)},
        {"component": component[::-1].copy()},
        {"component": np.array([0, 2, 1, 4, 3])},
        {"num_free": cuts.num_free + 1},
        {"needs": cuts.needs[:0]},
        {"needs": np.vstack([cuts.needs, [[3, 1]]])},
        {"result": other},
    ]
    for change in wrong:
        with pytest.raises(VerificationError):
            replace(cuts, **change).verify()


def test_bad_arguments() -> None:
    result = preflow.max_flow(([0], [1], [3]), 0, 1)
    with pytest.raises(InvalidInputError, match="nothing else"):
        preflow.minimum_cuts(result, 0, 1)
    with pytest.raises(NotOptimalError):
        preflow.minimum_cuts(preflow.max_flow(([0], [1], [3]), 0, 1, flow_limit=2))
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(InvalidInputError, match="at_most"):
            preflow.minimum_cuts(result).count(at_most=wrong)  # type: ignore[arg-type]


def closed_sets(size: int, needs: list[tuple[int, int]]) -> int:
    """Return the number of sets that have with each number those that it needs."""
    return sum(
        all(chosen[other - 1] or not chosen[one - 1] for one, other in needs)
        for chosen in product([False, True], repeat=size)
    )


def count(size: int, needs: list[tuple[int, int]], at_most: int | None = None) -> int:
    needed: list[list[int]] = [[] for _ in range(size + 2)]
    needing: list[list[int]] = [[] for _ in range(size + 2)]
    for one, other in needs:
        needed[one].append(other)
        needing[other].append(one)
    return _closed_sets(size, needed, needing, at_most)


@given(st.integers(0, 8), st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), max_size=14), st.data())
@settings(max_examples=200)
def test_closed_sets_are_counted(size: int, pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    needs = sorted({(max(pair), min(pair)) for pair in pairs if pair[0] != pair[1] and max(pair) <= size})
    right = closed_sets(size, needs)
    assert count(size, needs) == right
    most = data.draw(st.integers(1, 300))
    assert count(size, needs, most) == min(right, most)


def test_chains_and_forests_are_counted_soon() -> None:
    """A quadratic count of any of these takes minutes."""
    size = 20_000
    chain = preflow.minimum_cuts((np.arange(size), np.arange(1, size + 1), np.ones(size, dtype=int)), 0, size)
    assert chain.count() == size
    assert chain.count(at_most=7) == 7
    skipping = [(i + k, i) for i in range(1, 4_000) for k in (1, 2) if i + k <= 4_000]
    assert count(4_000, skipping) == 4_001
    star = [(i, 1) for i in range(2, 5_001)]
    assert count(5_000, star) == 1 + 2**4_999
    assert count(5_000, [(5_000, i) for i in range(1, 5_000)]) == 1 + 2**4_999
    binary = [(i, i // 2) for i in range(2, 2**12)]
    sets = 1
    for _ in range(12):
        sets = sets**2 + 1
    assert count(2**12 - 1, binary) == sets
    squares = [(4 * i + a, 4 * i + b) for i in range(1_000) for a, b in ((4, 3), (4, 2), (3, 1), (2, 1))]
    assert count(4_000, squares) == 6**1_000
    assert count(4_000, squares, 10**9) == 10**9
    joined = [*squares, *((4 * i + 5, 4 * i + 4) for i in range(999))]
    assert count(4_000, joined) == 5 * 1_000 + 1
