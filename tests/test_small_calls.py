"""Small flows and matchings take the short road of one kernel, with the answers and errors of the full one.

tests/assignment/test_small.py does the same for assignments.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import CostOverflowError, InfeasibleMatchingError, PreflowError

SEEDS = st.integers(0, 2**32 - 1)


def took_short_road(result: Any) -> bool:
    """Whether fields of the result are still to be made."""
    return "_later" in vars(result)


def network(seed: int) -> tuple[preflow.FlowNetwork, int, int]:
    """Return a random network with parallel arcs, loops, both directions, zeros, floats, infinite arcs."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 14)), int(rng.integers(1, 50))
    tail, head = rng.integers(0, n, (2, m))
    capacity: Any = rng.integers(0, rng.choice([2, 9, 10**6, 2**40]), m)
    kind = rng.integers(4)
    if kind == 1:
        capacity = rng.random(m) * 10.0 ** rng.integers(-3, 3, m)
    elif kind == 2:
        capacity = np.where((rng.random(m) < 0.2) & (tail < head) & (head < n - 1), np.inf, capacity)
    reverse = rng.permutation(np.where(np.isinf(capacity), 1, capacity)) if rng.random() < 0.4 else None
    made = preflow.FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=n)
    return made, *(int(v) for v in rng.choice(n, 2, replace=False))


def outcome(*given: Any, **named: Any) -> Any:
    """Return the result of max_flow, or its error."""
    try:
        return preflow.max_flow(*given, **named)
    except PreflowError as error:
        return type(error), str(error)


@given(seed=SEEDS)
@settings(max_examples=400, deadline=None)
def test_flows_have_one_answer(seed: int) -> None:
    given, source, sink = network(seed)
    full = outcome(given, source, sink, method="serial-dinic")
    if isinstance(full, tuple):
        assert outcome(given, source, sink) == full
        return
    flow, cut = preflow.max_flow(given, source, sink), preflow.min_cut(given, source, sink)
    for short in (flow, cut):
        assert (short.sink_side == full.sink_side).all()
        assert short.status == full.status == "optimal"
        assert type(short.value) is type(full.value)
        assert short.gap <= max(full.gap, 1e-11 * full.value)
        assert short.value == (full.value if isinstance(full.value, int) else pytest.approx(full.value))
        assert (short.source_side() == full.source_side()).all()
        short.verify()
    assert flow.flow.dtype == full.flow.dtype
    assert not flow.flow.flags.writeable
    assert {*flow.stats.seconds} - {"compile"} == {"build", "solve", "recover"}


@given(seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_bipartite_matchings_have_one_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(0, 12, 2))
    matrix = scipy.sparse.random_array(shape, density=rng.random(), format="csr", rng=rng)
    short = preflow.bipartite_matching(matrix)
    full = preflow.bipartite_matching(matrix, method="serial-push-relabel")
    assert short.value == full.value
    assert short.row_match.dtype == full.row_match.dtype
    assert not short.row_match.flags.writeable
    assert short.stats.initial == "cheap"
    short.verify()


WEIGHTS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "none": lambda rng, m: None,
    "few": lambda rng, m: rng.integers(-1, 4, m),
    "integers": lambda rng, m: rng.integers(-(10**6), 10**7, m),
    "large": lambda rng, m: rng.integers(-(2**58), 2**58, m),
    "whole floats": lambda rng, m: rng.integers(-9, 99, m) / 1.0,
    "floats": lambda rng, m: rng.random(m) - 0.1,
    "far apart": lambda rng, m: rng.random(m) * 10.0 ** rng.integers(-300, 300, m),
    "tiny": lambda rng, m: rng.integers(-3, 9, m) * 5e-324,
}
GOALS = ({}, {"maximize": False}, {"maximum_cardinality": True}, {"perfect": True, "maximize": False})


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("goal", GOALS, ids=str)
@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_matchings_have_one_answer(weights: str, goal: dict[str, bool], seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 16), rng.integers(0, 40)
    given_weights = WEIGHTS[weights](rng, m)
    weighted = given_weights is not None
    edges = *rng.integers(0, n, (2, m)), *([given_weights] if weighted else ())
    method = "serial-weighted-blossom" if weighted else "serial-gabow"
    try:
        full = preflow.matching(edges, method=method, **goal)
    except (InfeasibleMatchingError, CostOverflowError) as error:
        with pytest.raises(type(error)):
            preflow.matching(edges, **goal)
        return
    short = preflow.matching(edges, **goal)
    assert abs(short.value - full.value) <= short.gap + full.gap
    assert (type(short.value), type(short.gap)) == (type(full.value), type(full.gap))
    assert short.mate.dtype == full.mate.dtype
    short.verify()


ARCS = np.array([0, 0, 1, 2, 1]), np.array([1, 2, 3, 3, 2]), np.array([3, 2, 2, 4, 1])
MATRIX = scipy.sparse.csr_array([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
CALLS: dict[str, Callable[[], Any]] = {
    "max_flow": lambda: preflow.max_flow(ARCS, 0, 3),
    "max_flow of lists": lambda: preflow.max_flow(tuple(map(np.ndarray.tolist, ARCS)), 0, 3),
    "max_flow of floats": lambda: preflow.max_flow((*ARCS[:2], ARCS[2] / 3), 0, 3),
    "max_flow of labels": lambda: preflow.max_flow([("a", "b", 3), ("b", "c", 2)], "a", "c"),
    "min_cut": lambda: preflow.min_cut(ARCS, 0, 3),
    "bipartite_matching": lambda: preflow.bipartite_matching(MATRIX),
    "bipartite_matching of edges": lambda: preflow.bipartite_matching(ARCS[:2]),
    "matching": lambda: preflow.matching(ARCS[:2]),
    "matching with weights": lambda: preflow.matching(ARCS),
    "matching with floats": lambda: preflow.matching((*ARCS[:2], ARCS[2] / 3)),
    "matching of most edges": lambda: preflow.matching(ARCS, maximum_cardinality=True),
    "perfect matching": lambda: preflow.matching((*ARCS[:2], ARCS[2] / 3), perfect=True, maximize=False),
    "matching of labels": lambda: preflow.matching([("a", "b", 3), ("b", "c", 2)]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_usual_calls_take_the_short_road(call: Callable[[], Any]) -> None:
    result = call()
    assert took_short_road(result)
    for trip in (lambda made: pickle.loads(pickle.dumps(made)), copy.copy, copy.deepcopy):
        made = trip(call())
        made.verify()
        assert made.value == result.value
        assert made.stats.method == result.stats.method
    with pytest.raises(AttributeError, match="nothing"):
        _ = call().nothing


def test_arrays_of_the_caller_may_change_later() -> None:
    tail, head, capacity = (part.copy() for part in ARCS)
    flow, pairs = preflow.max_flow((tail, head, capacity), 0, 3), preflow.matching((tail, head, capacity))
    for part in (tail, head, capacity):
        part[:] = 0
    flow.verify()
    pairs.verify()
    assert (flow.value, pairs.value) == (5, 7)


@pytest.mark.parametrize(
    "network",
    [
        ([0, -1], [1, 2], [1, 1]),
        ([0, 1], [1, 2**47], [1, 1]),
        ([0, 1], [1, 2], [1, -1]),
        ([0, 1], [1, 2], [1.0, np.nan]),
        (np.array([0, 1]), np.array([1, 2]), np.array([1.0, np.nan])),
        (np.array([0, 1]), np.array([1, 2]), np.array([np.inf, np.inf])),
        ([0, 1], [1, 2], [1]),
        ([0, 1], [1, 2], [2**63, 2**64]),
        ([0, 1], [1, [2]], [1, 1]),
        ([0, 1], [1, 2], [2**62, 2**62]),
        (["a", "b"], ["b", "c"], [1, 2]),
    ],
)
@pytest.mark.parametrize("ends", [(0, 2), (0, 0), (0, 9), ("a", "c"), (True, 2), ([0], [2])])
def test_both_roads_have_one_error(network: Any, ends: Any) -> None:
    short, full = outcome(network, *ends), outcome(network, *ends, method="serial-dinic")
    assert (short if isinstance(short, tuple) else short.value) == (
        full if isinstance(full, tuple) else full.value
    )


def test_what_the_budget_does_not_suffice_for_takes_the_full_road() -> None:
    made = preflow.generators.family("dinic-bad").generate("1500")
    result = preflow.max_flow(made)
    assert not took_short_road(result)
    result.verify()


def test_threads_have_memory_of_their_own() -> None:
    made = [network(seed) for seed in range(0, 400) if network(seed)[0].capacity.dtype.kind == "i"]
    values = [preflow.max_flow(*each, method="serial-dinic").value for each in made]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(lambda each: preflow.max_flow(*each).value, made)) == values
