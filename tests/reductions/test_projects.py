"""Projects with requirements, against all selections."""

from __future__ import annotations

import copy
import pickle
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow import reductions
from preflow.errors import CapacityOverflowError, InvalidInputError, VerificationError

pytestmark = pytest.mark.fast


@st.composite
def projects(draw: st.DrawFn) -> tuple[list[float], list[tuple[int, int]]]:
    """Draw a few projects and requirements, which may form cycles."""
    n = draw(st.integers(1, 7))
    profit = draw(
        st.lists(st.integers(-9, 9), min_size=n, max_size=n)
        | st.lists(st.sampled_from([-1.5, -0.1, 0.0, 0.3, 2.7]), min_size=n, max_size=n)
    )
    index = st.integers(0, n - 1)
    return profit, draw(st.lists(st.tuples(index, index), max_size=12))


def best(profit: list[float], requires: list[tuple[int, int]]) -> tuple[Fraction, int]:
    """Return the largest profit, and the size of the largest selection that has it."""
    return max(
        (sum((Fraction(p) for p, take in zip(profit, chosen, strict=True) if take), Fraction(0)), sum(chosen))
        for chosen in product([False, True], repeat=len(profit))
        if all(chosen[j] or not chosen[i] for i, j in requires)
    )


@settings(max_examples=150, deadline=None)
@given(projects())
def test_against_all_selections(case: tuple[list[float], list[tuple[int, int]]]) -> None:
    profit, requires = case
    found = reductions.select_projects(profit, requires)
    found.verify()
    value, size = best(profit, requires)
    assert found.profit == pytest.approx(float(value))
    if isinstance(profit[0], int):
        assert (found.profit, found.selected.sum()) == (value, size)
    pairs = ([i for i, _ in requires], [j for _, j in requires])
    again = reductions.ProjectsAsMinCut.of(profit, pairs).solve()
    np.testing.assert_array_equal(again.selected, found.selected)


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match="pairs"):
        reductions.select_projects([1, 2], [0, 1])
    with pytest.raises(InvalidInputError, match="out of range"):
        reductions.select_projects([1, 2], [(0, 2)])
    with pytest.raises(InvalidInputError, match="finite"):
        reductions.select_projects([np.inf, 2], [])
    found = reductions.select_projects([4, -1], [(0, 1)])
    wrong = reductions.ProjectSelection(
        np.array([True, False]), 4, found.profits, found.project, found.required, found.cut
    )
    with pytest.raises(VerificationError, match="project 0 lacks project 1"):
        wrong.verify()


@pytest.mark.parametrize(
    "requires",
    [
        [("order", "drill"), ("bulk", "lathe")],
        (["order", "bulk"], ["drill", "lathe"]),
        {"order": ["drill"], "bulk": ["lathe"]},
    ],
)
@pytest.mark.parametrize("series", [False, True])
def test_labels(requires: Any, series: bool) -> None:
    profit: Any = {"order": 6, "bulk": 2, "drill": -3, "lathe": -5}
    if series:
        profit = pytest.importorskip("pandas").Series(profit)
    found = reductions.select_projects(profit, requires)
    found.verify()
    assert (found.projects(), found.profit) == (["order", "drill"], 3)
    assert reductions.select_projects([6, -3], [(0, 1)]).projects() == [0, 1]
    with pytest.raises(InvalidInputError, match="'saw', which has no profit"):
        reductions.select_projects(profit, [("order", "saw")])
    with pytest.raises(InvalidInputError, match="must be pairs"):
        reductions.select_projects(profit, [("order",)])


def test_large_profits() -> None:
    large = [2**62, 2**61 + 1, -(2**61)]
    found = reductions.select_projects(large, [(0, 2), (1, 2)])
    found.verify()
    assert found.profit == sum(large)
    assert found.cut.network.capacity.dtype == np.int64
    with pytest.raises(CapacityOverflowError, match="sum past int64"):
        reductions.select_projects([2**62, 2**62], [])
    with pytest.raises(CapacityOverflowError, match="sign changed"):
        reductions.select_projects([-(2**63), 1], [])


def test_labels_of_several_types() -> None:
    found = reductions.select_projects({"order": 5, 1: -3, ("a", 2): 2}, (["order", ("a", 2)], [1, "order"]))
    found.verify()
    assert found.profit == 4
    with pytest.raises(InvalidInputError, match="2 projects and 1 required"):
        reductions.select_projects({"order": 5, 1: -3}, (["order", "order"], [1]))


@settings(max_examples=100, deadline=None)
@given(projects(), st.sampled_from(["largest", "smallest"]))
def test_which_of_several_selections(case: tuple[list[float], list[tuple[int, int]]], closure: Any) -> None:
    profit, requires = case
    found = reductions.select_projects(profit, requires, closure=closure)
    found.verify()
    assert found.closure == closure
    if not isinstance(profit[0], int):
        return
    value, _ = best(profit, requires)
    sizes = [
        sum(chosen)
        for chosen in product([False, True], repeat=len(profit))
        if all(chosen[j] or not chosen[i] for i, j in requires)
        and sum(p for p, take in zip(profit, chosen, strict=True) if take) == value
    ]
    assert found.selected.sum() == (max(sizes) if closure == "largest" else min(sizes))
    if min(sizes) < max(sizes):
        other = "largest" if closure == "smallest" else "smallest"
        with pytest.raises(VerificationError, match="is not the"):
            replace(found, closure=other).verify()


def test_a_cut_of_other_projects_is_refused() -> None:
    """Both cuts have the same terminals and arcs, and the profit is that of the other."""
    found = reductions.select_projects([3, -2], [(0, 1)])
    other = reductions.select_projects([2, -2], [(0, 1)])
    with pytest.raises(VerificationError, match="network of these projects"):
        replace(found, cut=other.cut, profit=0).verify()


HUGE = [1e7, 1e15, 1e17, 1e30, 1e200, 1e308, 5e-324, 1e-310]


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(["largest", "smallest"]))
def test_profits_that_are_far_apart(data: st.DataObject, closure: Any) -> None:
    n = data.draw(st.integers(1, 6))
    small = st.floats(0, 2, width=32) | st.sampled_from([0.1, 0.3, 1 / 3])
    one = st.tuples(small | small | st.sampled_from(HUGE), st.sampled_from([1, -1]))
    profit = [size * sign for size, sign in data.draw(st.lists(one, min_size=n, max_size=n))]
    index = st.integers(0, n - 1)
    requires = data.draw(st.lists(st.tuples(index, index), max_size=9))
    value, _ = best(profit, requires)
    if value > Fraction(sys.float_info.max):
        return
    found = reductions.select_projects(profit, requires, closure=closure)
    found.verify()
    total = sum((Fraction(p) for p, take in zip(profit, found.selected, strict=True) if take), Fraction(0))
    sizes = sum(abs(Fraction(p)) for p, take in zip(profit, found.selected, strict=True) if take)
    assert abs(total - value) <= found.gap
    assert abs(Fraction(found.profit) - value) <= found.gap <= sizes * Fraction(2.0**-40 + 2.0**-50)


def test_every_level_is_checked() -> None:
    found = reductions.select_projects([1e18, -1e200, -0.25, 1.0], [(0, 1), (0, 3), (0, 3)])
    found.verify()
    assert (found.profit, found.projects()) == (1.0, [3])
    step, *others = found.steps
    wrong: list[Any] = [(), None, "x", [step], (None,), (found.cut, *others)]
    wrong += [(replace(step, flow=-1 - step.flow), *others)]
    for steps in wrong:
        try:
            replace(found, steps=steps).verify()
        except VerificationError:
            continue
        pytest.fail(f"steps {steps!r} were verified")
    for each in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        each.verify()


def test_a_closure_that_there_is_not() -> None:
    with pytest.raises(InvalidInputError, match="closure"):
        reductions.select_projects([1], [], closure="any")  # type: ignore[arg-type]
