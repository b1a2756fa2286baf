"""Small assignments take the short road of one kernel, with the answers and errors of the full one."""

from __future__ import annotations

import copy
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InfeasibleError, PreflowError
from preflow.integrations.lap import lapjv

#: Asks for the method that "auto" takes, which the short road leaves to the full one.
FULL = {"method": "serial-shortest-path"}


def took_short_road(result: Any) -> bool:
    """Whether fields of the result are still to be made."""
    return "_later" in vars(result)


@st.composite
def calls(draw: Any) -> tuple[np.ndarray, dict[str, Any]]:
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, m = draw(st.sampled_from([(1, 1), (2, 2), (3, 5), (5, 3), (7, 7), (12, 9), (40, 66), (128, 128)]))
    numbers = draw(st.sampled_from(["integers", "bytes", "whole", "floats", "narrow", "wide"]))
    if numbers == "integers":
        cost = rng.integers(-9, 10, (n, m))
    elif numbers == "bytes":
        cost = rng.integers(0, 256, (n, m), dtype=np.uint8)
    elif numbers == "whole":
        cost = rng.integers(-9, 10, (n, m)).astype(np.float64)
    else:
        cost = rng.normal(size=(n, m)) * (10.0 ** rng.integers(-9, 9, (n, m)) if numbers == "wide" else 1)
    cost = cost.astype(np.float32) if numbers == "narrow" else cost
    named: dict[str, Any] = {"maximize": draw(st.booleans())}
    if cost.dtype.kind == "f":
        gated = rng.random((n, m)) < draw(st.sampled_from([0, 0.2, 0.6]))
        cost[gated] = -np.inf if named["maximize"] else np.inf
    alone = st.integers(-5, 5) if cost.dtype.kind in "iu" else st.floats(-2, 2)
    if draw(st.booleans()):
        named["unmatched_cost"] = draw(alone | st.tuples(alone, alone))
    return cost, named


@given(call=calls())
@settings(max_examples=300, deadline=None)
def test_both_roads_have_one_answer(call: tuple[np.ndarray, dict[str, Any]]) -> None:
    cost, named = call
    try:
        full = preflow.linear_assignment(cost, **named, **FULL)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            preflow.linear_assignment(cost, **named)
        return
    short = preflow.linear_assignment(cost, **named)
    alone = [result.unmatched_cost if "unmatched_cost" in named else () for result in (short, full)]
    for ours, theirs in zip(
        (short.row, short.column, short.u, short.v, *alone[0]),
        (full.row, full.column, full.u, full.v, *alone[1]),
        strict=True,
    ):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert (short.status, short.value, short.gap) == (full.status, full.value, full.gap)
    assert type(short.value) is type(full.value)
    assert short.stats.arc_scans == full.stats.arc_scans
    assert short.stats.method == full.stats.method
    assert {*short.stats.seconds} - {"compile"} == {*full.stats.seconds} - {"compile"}
    assert not short.row.flags.writeable
    short.verify()


def test_usual_calls_take_the_short_road() -> None:
    rng = np.random.default_rng(0)
    gated = np.where(rng.random((9, 20)) < 0.2, np.inf, rng.random((9, 20)))
    assert took_short_road(preflow.linear_assignment(gated))
    assert took_short_road(preflow.linear_assignment(gated.astype(np.float32), unmatched_cost=0.5))
    for cost in (rng.random((5, 5)), rng.integers(0, 9, (20, 30)), 1 + rng.random((50, 8))):
        assert took_short_road(preflow.linear_assignment(cost))
        assert took_short_road(preflow.linear_assignment(cost, maximize=True))
        assert took_short_road(preflow.linear_assignment(cost, unmatched_cost=(2, 1)))
        fixed = cost.copy()
        fixed.flags.writeable = False
        assert took_short_road(preflow.linear_assignment(fixed))
        for turned in (cost.T, cost[::-1, ::2]):
            result = preflow.linear_assignment(turned)
            assert took_short_road(result)
            result.verify()
    assert not took_short_road(preflow.linear_assignment(np.ma.array(cost)))
    assert not took_short_road(preflow.linear_assignment(cost, partial=True))


NAN, INFINITE = [[1.0, np.nan], [2.0, 3.0]], [[np.inf, np.inf], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("cost", "named"),
    [
        (NAN, {}),
        (INFINITE, {}),
        (np.array(INFINITE).T, {"maximize": True}),
        ([[1e308, 1e308], [1e308, 1e308]], {}),
        ([[2**62, -(2**62)], [2**62, 0]], {}),
        ([[1.0, 2.0]], {"unmatched_cost": np.nan}),
        ([[1.0, 2.0]], {"unmatched_cost": (1.0, np.nan)}),
        ([[1.0, 2.0]], {"unmatched_cost": (1.0, float("nan"))}),
        ([[1.0, 2.0]], {"unmatched_cost": (1, 2, 3)}),
        ([[1.0, 2.0]], {"unmatched_cost": "1"}),
        ([[1, 2]], {"unmatched_cost": 2**61}),
        ([[1.0, 2.0]], {"maximize": "yes"}),
        ([[1.0, 2.0]], {"maximize": 1}),
        ([1.0, 2.0], {}),
        (["a", "b"], {}),
        (np.zeros((2, 2), dtype=complex), {}),
        (np.zeros((2, 0)), {}),
    ],
)
def test_both_roads_have_one_error(cost: Any, named: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome() -> Any:
        try:
            return repr(preflow.linear_assignment(np.array(cost), **named).row)
        except PreflowError as error:
            return type(error), str(error)

    short = outcome()
    monkeypatch.setattr("preflow.assignment.api.is_plain", lambda *arguments: False)
    assert short == outcome()


def test_what_is_made_later_is_copied_and_replaced() -> None:
    cost = np.random.default_rng(1).random((6, 4))
    for named in ({}, {"unmatched_cost": 0.3}):
        for make in (lambda result: pickle.loads(pickle.dumps(result)), copy.copy, copy.deepcopy, replace):
            made = make(preflow.linear_assignment(cost, **named))
            made.verify()
            assert made.stats.method == "serial-shortest-path"
            assert not made.row.flags.writeable
    with pytest.raises(AttributeError, match="nothing"):
        _ = preflow.linear_assignment(cost).nothing


def test_threads_have_memory_of_their_own() -> None:
    rng = np.random.default_rng(2)
    costs = [rng.random(rng.integers(1, 40, 2)) for _ in range(200)]
    values = [preflow.linear_assignment(cost, **FULL).value for cost in costs]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(lambda cost: preflow.linear_assignment(cost).value, costs)) == values


@pytest.mark.skipif(sys.platform == "win32", reason="has no fork")
def test_a_fork_solves() -> None:
    cost = np.random.default_rng(3).random((9, 9))
    value = preflow.linear_assignment(cost).value
    child = os.fork()
    if child == 0:
        os._exit(preflow.linear_assignment(cost).value != value)
    assert os.waitpid(child, 0)[1] == 0


def test_the_door_of_lap_takes_it() -> None:
    cost = np.random.default_rng(4).random((10, 12))
    total, x, _ = lapjv(cost, cost_limit=0.5)
    full = preflow.linear_assignment(cost, unmatched_cost=(0.25, 0.25), **FULL)
    assert (np.flatnonzero(x >= 0) == full.row).all()
    assert total == pytest.approx(cost[full.row, full.column].sum())
