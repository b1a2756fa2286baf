"""Weights that are far apart: what one huge or tiny float does to the others, against exact sums."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InfeasibleMatchingError, NotOptimalError, VerificationError
from preflow.general_matching import weighted_blossom
from preflow.general_matching.solution import DualStep
from preflow.graph.undirected import UndirectedGraph

pytestmark = pytest.mark.fast

HUGE = [1e7, 1e13, 1e17, 2.0**53 + 2, 1e32, 1e200, 1e308, sys.float_info.max, 5e-324, 1e-310]


def best_weights(graph: UndirectedGraph, maximize: bool) -> dict[int, Fraction]:
    """Return the best weight of the matchings with each number of pairs, exactly."""
    assert graph.weight is not None
    ends = list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    weights = list(map(Fraction, graph.weight.tolist()))
    found: dict[int, Fraction] = {}

    def extend(first: int, used: frozenset[int], pairs: int, total: Fraction) -> None:
        best = found.get(pairs)
        if best is None or (total > best if maximize else total < best):
            found[pairs] = total
        for i in range(first, len(ends)):
            u, v = ends[i]
            if u != v and u not in used and v not in used:
                extend(i + 1, used | {u, v}, pairs + 1, total + weights[i])

    extend(0, frozenset(), 0, Fraction(0))
    return found


def check(result: Any, best: Fraction) -> None:
    """Check that a result is optimal within what the documentation states."""
    result.verify()
    assert result.status == "optimal"
    terms = [Fraction(weight) for weight in result.graph.weight[result.edges].tolist()]
    size = sum(map(abs, terms))
    assert abs(Fraction(result.weight) - best) <= result.gap
    assert Fraction(result.gap) <= size * (Fraction(1, 2**40) + Fraction(len(terms), 2**53))


@st.composite
def graphs(draw: st.DrawFn) -> UndirectedGraph:
    """Draw a graph with up to 6 vertices, and weights of which some are huge or tiny, or of any sign."""
    n = draw(st.integers(2, 6))
    ends = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1, max_size=11))
    small = st.floats(0, 2, width=32) | st.sampled_from([0.1, 0.3, 1 / 3])
    one = st.tuples(small | small | st.sampled_from(HUGE), st.sampled_from([1, 1, 1, -1]))
    weights = [size * sign for size, sign in draw(st.lists(one, min_size=len(ends), max_size=len(ends)))]
    tail, head = zip(*ends, strict=True)
    return UndirectedGraph.from_arrays(tail, head, np.array(weights), num_vertices=n)


@settings(max_examples=150)
@given(graphs(), st.booleans())
def test_against_exact_sums(graph: UndirectedGraph, maximize: bool) -> None:
    exact = best_weights(graph, maximize)
    limit = Fraction(sys.float_info.max)
    best = max(exact.values()) if maximize else min(exact.values())
    if abs(best) < limit:
        check(preflow.matching(graph, maximize=maximize), best)
    most = max(exact)
    if abs(exact[most]) < limit:
        result = preflow.matching(graph, maximize=maximize, maximum_cardinality=True)
        check(result, exact[most])
        assert result.cardinality == most
    if 2 * most < graph.num_vertices:
        with pytest.raises(InfeasibleMatchingError):
            preflow.matching(graph, maximize=maximize, perfect=True)
    elif abs(exact[most]) < limit:
        check(preflow.matching(graph, maximize=maximize, perfect=True), exact[most])


@pytest.mark.parametrize("huge", HUGE)
def test_edges_that_no_best_matching_has(huge: float) -> None:
    square = [(0, 1, 0.5), (1, 2, 0.9), (2, 3, 0.5), (0, 3, 0.3)]
    forbidden = preflow.matching([*square, (0, 2, huge), (1, 3, huge)], maximize=False, perfect=True)
    check(forbidden, min(Fraction(1), 2 * Fraction(huge)))
    # No perfect matching has an edge from a to d: b or c would have no partner, as f has none but e.
    path = [("a", "b", 0.25), ("b", "c", 0.7), ("c", "d", 0.125), ("a", "d", 0.5), ("e", "f", 0.1)]
    wanted = [*path, ("d", "e", huge)]
    check(preflow.matching(wanted, perfect=True), Fraction(0.7) + Fraction(0.5) + Fraction(0.1))
    wanted = [*path, ("d", "e", -huge)]
    check(preflow.matching(wanted, maximize=False, perfect=True), Fraction(0.25 + 0.125) + Fraction(0.1))


def test_a_loop_has_no_say() -> None:
    for method in ("auto", "serial-greedy", "multicore-locally-dominant", "serial-two-thirds"):
        result = preflow.matching(([0, 0], [0, 1], [1e300, 0.3]), method=method)
        result.verify()
        assert result.weight == 0.3


def test_whole_floats_are_rounded_where_integers_are_refused() -> None:
    weights = [float(2**53), 1.0, 2.0, 3.0] * 100
    tail = np.arange(400)
    result = preflow.matching((tail, tail + 1, weights), maximum_cardinality=True, maximize=False)
    check(result, Fraction(100 + 300))


def test_large_graphs_with_forbidden_edges() -> None:
    rng = np.random.default_rng(3)
    n = 40
    tail, head = np.triu_indices(n, 1)
    weight = rng.random(len(tail))
    weight[rng.random(len(tail)) < 0.3] = sys.float_info.max
    result = preflow.matching((tail, head, weight), maximize=False, perfect=True)
    result.verify()
    kept = weight < 1
    right = preflow.matching((tail[kept], head[kept], weight[kept]), maximize=False, perfect=True)
    assert result.weight == pytest.approx(right.weight, rel=1e-12)
    assert result.gap <= 2.0**-39 * result.weight


def example() -> Any:
    """Return a result whose weights were solved twice."""
    edges = [(0, 1, 0.5), (1, 2, 0.9), (2, 3, 0.5), (0, 3, 0.3), (0, 2, 1e30), (1, 3, 1e30)]
    return preflow.matching(edges, maximize=False, perfect=True)


def test_every_part_of_the_proof_counts() -> None:
    result = example()
    assert len(result.steps) == 1
    step = result.steps[0]
    duals = step.duals
    wrong: list[Any] = [
        (),
        None,
        "steps",
        (None,),
        (DualStep(None, 0),),  # type: ignore[arg-type]
        (step, step),
        *((step._replace(limit=limit),) for limit in (None, "1", 10**30, -(10**9), 1, -3, 4000, 0.5)),
        *((step._replace(duals=duals._replace(vertex=duals.vertex + d)),) for d in (-1, -(2**60), 2**62)),
        (step._replace(duals=duals._replace(vertex=duals.vertex[:-1])),),
        (step._replace(duals=duals._replace(vertex=None)),),
    ]
    for steps in wrong:
        corrupt = copy.copy(result)
        object.__setattr__(corrupt, "steps", steps)
        with pytest.raises(VerificationError):
            corrupt.verify()
    for name, value in [
        ("_gap", 0.0),
        ("_gap", math.nan),
        ("_gap", -1.0),
        ("_gap", 0.001),
        ("_gap", None),
        ("lower_bound", 0.999),
        ("upper_bound", 10**400),
        ("duals", None),
        ("duals", (1, 2)),
        ("status", None),
        ("status", "approximate"),
        ("graph", None),
        ("perfect", 7),
        ("maximize", True),
    ]:
        corrupt = copy.copy(result)
        object.__setattr__(corrupt, name, value)
        with pytest.raises(VerificationError):
            corrupt.verify()


def test_copies_keep_their_arrays_read_only() -> None:
    for each in (example(), pickle.loads(pickle.dumps(example())), copy.deepcopy(example())):
        each.verify()
        for duals in (each.duals, each.steps[0].duals):
            for array in duals:
                with pytest.raises(ValueError, match="read-only"):
                    array[:] = 1


def test_a_second_solve_that_is_stopped_leaves_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    solve = weighted_blossom.solve

    def stopped(graph: Any, start: Any, options: Any, control: Any) -> Any:
        calls.append(graph)
        if len(calls) == 2:
            control.stop[0] = 1
        return solve(graph, start, options, control)

    monkeypatch.setattr(weighted_blossom, "solve", stopped)
    result = example()
    assert (len(calls), result.status) == (2, "time-limit")
    result.verify()
    assert result.lower_bound <= 1.0 <= result.upper_bound
    with pytest.raises(NotOptimalError):
        _ = result.value
