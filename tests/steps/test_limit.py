"""max_flow with a limit on the value of the flow."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import CapacityOverflowError, InvalidInputError, NotOptimalError, VerificationError
from preflow.generators import FAMILIES
from tests.support.oracles import check_against_oracle, edmonds_karp
from tests.support.strategies import SmallProblem, float_capacities, small_problems

SOLVERS = [method.name for method in preflow.methods("max_flow") if method.device == "cpu"]
DIAMOND = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])


def check_limited(problem: SmallProblem, limit: float, value: float, **arguments: Any) -> None:
    """Solve with a limit: the flow has the smaller of limit and maximum."""
    terminals = problem.sources, problem.sinks
    result = preflow.max_flow(problem.network, *terminals, flow_limit=limit, **arguments)
    result.verify()
    assert result.flow_limit == limit
    assert result.lower_bound == min(limit, value)
    assert not result.flow[np.isin(problem.head, problem.sources)].clip(0).any()
    if value > limit:
        assert result.status == "flow-limit"
        assert result.upper_bound >= value
        with pytest.raises(NotOptimalError, match="flow_limit"):
            _ = result.value
        return
    assert result.status == "optimal"
    free = preflow.max_flow(problem.network, *terminals, **arguments)
    assert np.array_equal(result.sink_side, free.sink_side)
    assert np.array_equal(result.source_side(), free.source_side())
    assert np.array_equal(result.bottleneck_arcs(), free.bottleneck_arcs())


@pytest.mark.parametrize("method", SOLVERS)
@given(problem=small_problems(), less=st.integers(-2, 3), share=st.sampled_from([0, 0.5, 1, 1, 1]))
@settings(max_examples=40)
def test_every_method_keeps_the_limit(method: str, problem: SmallProblem, less: int, share: float) -> None:
    value, _, _ = edmonds_karp(problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks)
    check_limited(problem, max(int(value * share) - less, 0), value, method=method)


@given(problem=small_problems(float_capacities), share=st.floats(0, 1.5))
@settings(max_examples=60)
def test_floats(problem: SmallProblem, share: float) -> None:
    value, _, _ = edmonds_karp(problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks)
    limit = value * share
    result = preflow.max_flow(problem.network, problem.sources, problem.sinks, flow_limit=limit)
    result.verify()
    assert result.lower_bound <= limit
    assert result.lower_bound == pytest.approx(min(limit, value), rel=1e-9)
    if result.status == "optimal":
        result.source_side()
        assert result.value == pytest.approx(value, rel=1e-9)


@given(problem=small_problems(st.sampled_from([0, 1, 5, 2**62, 2**63 - 1])), limit=st.integers(0, 2**64))
@settings(max_examples=60)
def test_integers_near_the_end(problem: SmallProblem, limit: int) -> None:
    """A limit also helps where the flow itself is past int64."""
    value, _, _ = edmonds_karp(problem.num_vertices, problem.directed_arcs, problem.sources, problem.sinks)
    if min(value, limit) >= 2**63:
        with pytest.raises(CapacityOverflowError):
            preflow.max_flow(problem.network, problem.sources, problem.sinks, flow_limit=limit)
        return
    if value > limit:
        check_limited(problem, limit, value)
    else:
        result = check_against_oracle(problem, flow_limit=limit)
        assert result.flow_limit in (limit, None)


@pytest.mark.parametrize("limit", [7, 7.5, 2.0**60])
def test_an_unbounded_flow_has_a_limit(limit: float) -> None:
    network = (*DIAMOND[:2], [math.inf] * 4)
    result = preflow.max_flow(network, 0, 3, flow_limit=limit)
    result.verify()
    assert (result.status, result.lower_bound, result.upper_bound) == ("flow-limit", limit, math.inf)


def test_no_limit() -> None:
    for limit in (None, math.inf, 2**63, 2**80):
        result = preflow.max_flow(DIAMOND, 0, 3, flow_limit=limit)
        assert (result.status, result.value, result.flow_limit) == ("optimal", 4, None)
    wide = (*DIAMOND[:2], [0.5] * 4)
    assert preflow.max_flow(wide, 0, 3, flow_limit=10**400).flow_limit is None
    assert preflow.max_flow(wide, 0, 3, flow_limit=2**60 + 1).flow_limit == 2.0**60


@pytest.mark.parametrize("limit", [-1, math.nan, 2.5, "3", True, [3], 3j])
def test_bad_limits(limit: Any) -> None:
    with pytest.raises(InvalidInputError, match="flow_limit"):
        preflow.max_flow(DIAMOND, 0, 3, flow_limit=limit)


def test_labels_and_repr() -> None:
    roads = [("depot", "north", 4), ("depot", "south", 3), ("north", "shop", 2), ("south", "shop", 5)]
    result = preflow.max_flow(roads, "depot", "shop", flow_limit=np.int64(4))
    result.verify()
    assert sum(result.flow_dict()["depot"].values()) == 4
    assert repr(result).startswith("<MaxFlowResult: at the flow limit, between 4 and ")
    copy = pickle.loads(pickle.dumps(result))
    copy.verify()
    assert copy.flow_limit == 4


def test_wrong_claims_are_refused() -> None:
    result = preflow.max_flow(DIAMOND, 0, 3, flow_limit=3)
    for wrong in (
        replace(result, flow_limit=None),
        replace(result, flow_limit=4),
        replace(result, flow_limit=2),
        replace(result, flow_limit="3"),
        replace(result, status="optimal"),
        replace(result, flow=np.array([2, 2, 2, 2])),
        replace(preflow.max_flow(DIAMOND, 0, 3, flow_limit=5), flow_limit=3),
    ):
        with pytest.raises(VerificationError):
            wrong.verify()


def test_time_limit() -> None:
    network = FAMILIES["rmf-wide"].generate("8x4", seed=1)
    result = preflow.max_flow(network, time_limit=1e-9, flow_limit=10)
    result.verify()
    assert result.lower_bound <= 10
    assert result.status in ("time-limit", "flow-limit")


@pytest.mark.parametrize("wrong", [None, "3", math.nan, -1, 2, -math.inf])
def test_a_flow_limit(wrong: Any) -> None:
    result = preflow.max_flow(([0, 1], [1, 2], [5, 4]), 0, 2, flow_limit=3)
    result.verify()
    with pytest.raises(VerificationError):
        replace(result, flow_limit=wrong).verify()
