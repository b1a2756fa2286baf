"""Approximate matchings: their fraction of the best one, their bounds, and that all ways find the same."""

from __future__ import annotations

import math
from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError, NotOptimalError, VerificationError
from preflow.general_matching.initial.preference import edge_number
from preflow.general_matching.weighted_blossom.start import Initial
from preflow.graph.undirected import UndirectedGraph
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control

from .test_general_matching import FLOATS, INTEGERS, best_matchings, larger_graphs, small_graphs

APPROXIMATE = [
    method.name for method in preflow.methods("matching") if method.approximate and method.device == "cpu"
]
DOMINANT = "multicore-locally-dominant"

pytestmark = pytest.mark.fast


def fraction(method: str) -> tuple[int, int]:
    """Return the fraction of the best matching that a method promises."""
    return (2, 3) if method == "serial-two-thirds" else (1, 2)


def best_weight(graph: UndirectedGraph, maximize: bool) -> Any:
    weights = [weight for found in best_matchings(graph).values() for weight in found]
    return max(weights) if maximize else -min(weights)


def is_maximal(graph: UndirectedGraph, mate: np.ndarray, maximize: bool) -> bool:
    """Return whether no edge between free vertices is of use."""
    useful = graph.tail != graph.head
    if graph.weight is not None:
        useful &= (graph.weight > 0) if maximize else (graph.weight < 0)
    return not (useful & (mate[graph.tail] < 0) & (mate[graph.head] < 0)).any()


@pytest.mark.parametrize("method", APPROXIMATE)
@given(small_graphs(INTEGERS), st.booleans(), st.booleans())
def test_fraction_of_the_best_weight(
    method: str, graph: UndirectedGraph, maximize: bool, tighten: bool
) -> None:
    result = preflow.matching(graph, maximize=maximize, method=method, options={"tighten": tighten})
    result.verify()
    assert result.status == "approximate"
    sign = 1 if maximize else -1
    weight, best, (numerator, denominator) = (
        sign * result.weight,
        best_weight(graph, maximize),
        fraction(method),
    )
    assert weight <= best <= sign * (result.upper_bound if maximize else result.lower_bound)
    assert numerator * best <= denominator * weight
    assert result.upper_bound - result.lower_bound == result.gap <= weight
    assert is_maximal(graph, result.mate, maximize)


@pytest.mark.parametrize("method", APPROXIMATE)
@given(small_graphs(FLOATS), st.booleans())
def test_floats(method: str, graph: UndirectedGraph, maximize: bool) -> None:
    result = preflow.matching(graph, maximize=maximize, method=method)
    result.verify()
    best = best_weight(graph, maximize) * (1 if maximize else -1)
    rounding = preflow.matching(graph, maximize=maximize).gap
    slack = rounding + 1e-9 * abs(best)
    assert result.lower_bound - slack <= best <= result.upper_bound + slack
    assert abs(result.weight) >= abs(best) / 2 - slack


@pytest.mark.parametrize("method", APPROXIMATE)
@given(small_graphs(st.just(1)), st.booleans())
def test_fraction_of_most_pairs(method: str, graph: UndirectedGraph, tighten: bool) -> None:
    result = preflow.matching(graph, weight=False, method=method, options={"tighten": tighten})
    result.verify()
    best, (numerator, denominator) = max(best_matchings(graph)), fraction(method)
    assert result.lower_bound == result.cardinality <= best <= result.upper_bound <= 2 * result.cardinality
    assert numerator * best <= denominator * result.cardinality


@settings(max_examples=50)
@given(larger_graphs(), st.booleans())
def test_greedy_and_locally_dominant_are_the_same_matching(graph: UndirectedGraph, weighted: bool) -> None:
    weight = None if weighted else np.ones(graph.num_edges, dtype=np.int64)
    greedy = preflow.matching(graph, weight=weight, method="greedy")
    for threads in (1, 2, 3):
        result = preflow.matching(graph, weight=weight, method=DOMINANT, threads=threads)
        result.verify()
        assert result.mate.tolist() == greedy.mate.tolist()
        assert result.upper_bound == greedy.upper_bound
    plain = [preflow.matching(graph, weight=False, method=DOMINANT, threads=k).mate.tolist() for k in (1, 2)]
    assert plain[0] == plain[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_chain_of_edges_each_heavier_than_the_last(threads: int) -> None:
    """One edge is locally dominant at a time."""
    n = 400
    ends = np.arange(n - 1), np.arange(1, n)
    result = preflow.matching((*ends, np.arange(1, n)), method=DOMINANT, threads=threads)
    result.verify()
    assert result.mate.tolist() == [v ^ 1 for v in range(n)]


def test_equal_edges_of_a_path_are_matched_in_few_rounds() -> None:
    n = 2000
    graph = UndirectedGraph.from_arrays(np.arange(n - 1), np.arange(1, n))
    result = preflow.matching(graph, method=DOMINANT, threads=2)
    assert result.stats.phases < 40


@given(st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 2), min_size=2, max_size=2, unique=True))
def test_no_two_edges_have_the_same_number(edges: list[tuple[int, int]]) -> None:
    numbers = [edge_number(*map(np.uint64, edge)) for edge in edges]
    assert (numbers[0] == numbers[1]) == (sorted(edges[0]) == sorted(edges[1]))


@pytest.mark.parametrize("method", APPROXIMATE)
def test_large_weights(method: str) -> None:
    most = 2**60 - 1
    result = preflow.matching(([0, 1, 2], [1, 2, 3], [most - 1, most, most - 1]), method=method)
    result.verify()
    assert result.weight >= most
    assert result.upper_bound >= 2 * (most - 1)
    graph = UndirectedGraph.from_arrays([0, 0, 0], [1, 2, 3], [most] * 3)
    assert preflow.matching(graph, method=method).upper_bound == most


@pytest.mark.parametrize("method", APPROXIMATE)
def test_no_useful_edges(method: str) -> None:
    for graph in (([], []), ([0], [0]), ([0, 1], [1, 2], [0, -5])):
        result = preflow.matching(UndirectedGraph.from_arrays(*graph, num_vertices=3), method=method)
        result.verify()
        assert (result.cardinality, result.lower_bound, result.upper_bound) == (0, 0, 0)


@pytest.mark.parametrize("method", APPROXIMATE)
def test_an_approximate_result_has_no_value(method: str) -> None:
    result = preflow.matching(([0, 1, 2], [1, 2, 3], [3, 4, 3]), method=method)
    with pytest.raises(NotOptimalError, match="the method is approximate"):
        _ = result.value
    assert "approximate, between" in repr(result)
    for name in ("perfect", "maximum_cardinality"):
        with pytest.raises(InvalidInputError, match="need an exact one"):
            preflow.matching(([0], [1], [1]), method=method, **{name: True})
    assert result.duals is not None
    object.__setattr__(result, "upper_bound", result.upper_bound - 1)
    with pytest.raises(VerificationError):
        result.verify()


def test_auto_takes_no_approximate_method() -> None:
    for weight in (None, [1, 2]):
        method = preflow.matching(([0, 1], [1, 2]), weight=weight).stats.method
        assert not find_method(preflow.methods("matching"), method).approximate


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", APPROXIMATE)
def test_a_stopped_solve_proves_a_bound(method: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if threads > 1 and method != DOMINANT:
        pytest.skip("serial")
    rng = np.random.default_rng(3)
    graph = UndirectedGraph.from_arrays(*rng.integers(0, 60, (2, 200)), rng.integers(1, 50, 200))
    best = preflow.matching(graph).value
    most_pairs = preflow.matching(graph, weight=False).value
    make = Control.__post_init__

    def make_stopped(control: Control) -> None:
        make(control)
        control.stop[0] = 1

    monkeypatch.setattr(Control, "__post_init__", make_stopped)
    for weight, optimum in ((None, best), (False, most_pairs)):
        result = preflow.matching(graph, weight=weight, method=method, threads=threads)
        result.verify()
        assert result.status == "time-limit"
        assert result.lower_bound <= optimum <= result.upper_bound < math.inf


@pytest.mark.parametrize("initial", get_args(Initial))
@settings(max_examples=40)
@given(graph=larger_graphs(), wanted=st.sampled_from(["maximize", "minimize", "most pairs"]))
def test_starts_of_the_weighted_solver(initial: str, graph: UndirectedGraph, wanted: str) -> None:
    named = {"maximize": wanted != "minimize", "maximum_cardinality": wanted != "maximize"}
    result = preflow.matching(graph, method="serial-weighted-blossom", options={"initial": initial}, **named)
    result.verify()
    assert result.value == preflow.matching(graph, **named).value


@pytest.mark.parametrize("initial", ["karp-sipser", "greedy", "locally-dominant", "two-thirds", "none"])
@pytest.mark.parametrize("method", ["serial-blossom", "serial-gabow"])
def test_starts_of_cardinality_solvers(method: str, initial: str) -> None:
    for seed in range(20):
        plain = nx.gnm_random_graph(14, 22, seed=seed)
        result = preflow.matching(plain, method=method, options={"initial": initial})
        result.verify()
        assert result.cardinality == preflow.matching(plain).cardinality
