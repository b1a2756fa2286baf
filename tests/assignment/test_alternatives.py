"""How much dearer other assignments are: against all assignments, one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import CostOverflowError, InvalidInputError, NotOptimalError, VerificationError

Ranked = list[tuple[Any, frozenset[tuple[int, int]]]]


def all_assignments(cost: Any, singles: Any = None) -> Ranked:
    """Return total and pairs of all assignments with the most pairs, or of all with the costs of singles."""
    n, m = cost.shape
    found: Ranked = []

    def extend(row: int, pairs: tuple[tuple[int, int], ...], total: Any) -> None:
        used = {column for _, column in pairs}
        if row == n:
            alone = 0 if singles is None else sum(singles[1][j] for j in range(m) if j not in used)
            found.append((total + alone, frozenset(pairs)))
            return
        extend(row + 1, pairs, total if singles is None else total + singles[0][row])
        for column in range(m):
            if column not in used and abs(cost[row, column]) < math.inf:
                extend(row + 1, (*pairs, (row, column)), total + cost[row, column])

    extend(0, (), 0)
    most = max(len(pairs) for _, pairs in found)
    return [each for each in found if singles is not None or len(each[1]) == most]


def exactly(cost: Any) -> Any:
    """Return costs as fractions, which sums do not round; infinite ones stay."""
    return np.array([[Fraction(c) if abs(c) < math.inf else c for c in row] for row in cost.tolist()])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    """Draw costs, some of them not allowed, and arguments of linear_assignment."""
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    largest, maximize = draw(st.sampled_from([2, 4, 30])), draw(st.booleans())
    cost = rng.integers(-largest, largest, shape).astype(float)
    cost[rng.random(shape) < draw(st.sampled_from([0, 0, 0.35]))] = -math.inf if maximize else math.inf
    arguments: dict[str, Any] = {"maximize": maximize, "partial": True}
    if draw(st.booleans()):
        alone = tuple(rng.integers(-3, largest, size) for size in shape)
        arguments = {"maximize": maximize, "unmatched_cost": alone}
    if draw(st.booleans()) and np.isfinite(cost).all():
        return cost.astype(int), arguments
    return cost / draw(st.sampled_from([1, 3])), arguments


def forms(cost: Any) -> list[Any]:
    """Return the same costs in all forms."""
    row, column = np.nonzero(np.abs(cost) < math.inf)
    sparse = scipy.sparse.coo_array((cost[row, column], (row, column)), shape=cost.shape)
    return [cost, sparse]


@given(problem=problems())
@settings(max_examples=200, deadline=None)
def test_regrets(problem: Any) -> None:
    cost, arguments = problem
    ranked = all_assignments(exactly(cost), arguments.get("unmatched_cost"))
    sign = -1 if arguments["maximize"] else 1
    best = min(sign * total for total, _ in ranked)
    for costs in forms(cost):
        result = preflow.linear_assignment(costs, **arguments)
        margins = result.regret()
        assert margins.dtype == result.u.dtype
        assert not margins.flags.writeable
        for pair, margin in zip(result.pairs(), margins.tolist(), strict=True):
            others = [sign * total - best for total, pairs in ranked if pair not in pairs]
            if others:
                assert margin == pytest.approx(float(min(others)), abs=1e-12)
            else:
                assert margin in (math.inf, 2**63 - 1)
        near, equal = (sum(sign * total <= best + some for total, _ in ranked) for some in (1e-9, 0))
        assert near == 1 or not result.is_unique() or equal == 1
        assert near > 1 or result.is_unique()


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("shape", [(30, 30), (20, 40), (40, 20)])
@pytest.mark.parametrize("maximize", [False, True])
def test_points_have_the_regrets_of_their_distances(
    metric: str, shape: tuple[int, int], maximize: bool
) -> None:
    rng = np.random.default_rng(1)
    points = preflow.PointCosts(*(rng.random((size, 2)) for size in shape), metric=metric)
    dense = points.block(0, shape[0])
    lazy, stored = (preflow.linear_assignment(each, maximize=maximize) for each in (points, dense))
    assert lazy.pairs() == stored.pairs()
    np.testing.assert_allclose(lazy.regret(), stored.regret(), atol=1e-12)
    assert lazy.is_unique()
    assert stored.is_unique()


@pytest.mark.parametrize("shape", [(60, 60), (30, 70), (70, 30)])
@pytest.mark.parametrize("largest", [3, 1000])
def test_regrets_are_those_of_solves_without_the_pair(shape: tuple[int, int], largest: int) -> None:
    cost = np.random.default_rng(2).integers(0, largest, shape).astype(float)
    result = preflow.linear_assignment(cost)
    for i, j, margin in zip(result.row, result.column, result.regret().tolist(), strict=True):
        without = cost.copy()
        without[i, j] = math.inf
        assert preflow.linear_assignment(without).cost - result.cost == margin


def test_integers_past_float64_are_exact() -> None:
    shift = 10**25
    cost = [[shift + 4, shift + 1], [shift + 2**58, shift + 1]]
    result = preflow.linear_assignment(cost)
    assert result.regret().tolist() == [2**58 - 4] * 2
    assert result.is_unique()


@pytest.mark.parametrize("scale", [1.0, 2.0**960])
@pytest.mark.parametrize("alone", [None, 2.0**56])
def test_floats_of_very_different_sizes(scale: float, alone: float | None) -> None:
    """Prices of floats may not prove these, but exact ones do. Errors are those of the largest costs."""
    cost = np.array([[1e-17, 1.0, 3.0], [1.0, 1e17, 2e17], [2.0, 1e17, 1.5e17]])
    result = preflow.linear_assignment(cost * scale, unmatched_cost=None if alone is None else alone * scale)
    exact = exactly(cost)
    singles = None if alone is None else [[Fraction(alone)] * 3] * 2
    ranked = all_assignments(exact, singles)
    best = min(total for total, _ in ranked)
    for pair, margin in zip(result.pairs(), result.regret().tolist(), strict=True):
        other = min(total for total, pairs in ranked if pair not in pairs)
        assert margin == pytest.approx(float(other - best) * scale, abs=1e-15 * result.cost)
    assert not result.is_unique() or sum(total == best for total, _ in ranked) == 1


def test_true_is_proved_in_spite_of_rounding() -> None:
    """All assignments of such a matrix cost the same, but for the rounding of its entries."""
    rng = np.random.default_rng(3)
    proved = 0
    for _ in range(200):
        u, v = rng.random((2, 4)) * 10.0 ** rng.integers(-3, 9)
        cost = u[:, None] + v
        result = preflow.linear_assignment(cost)
        if result.is_unique():
            ranked = sorted(all_assignments(exactly(cost)), key=lambda each: each[0])
            assert ranked[0][0] < ranked[1][0]
            assert ranked[0][1] == frozenset(result.pairs())
            proved += 1
    assert 0 < proved < 200


def test_results_without_an_answer_are_refused() -> None:
    batch = preflow.linear_assignment(np.ones((2, 3, 3)))
    stopped = replace(preflow.linear_assignment(np.random.default_rng(4).random((9, 9))), status="time-limit")
    alone = preflow.linear_assignment(np.ones((2, 3, 3)), unmatched_cost=1)
    for call, *k in (("regret",), ("is_unique",), ("k_best", 2)):
        for several in (batch, alone):
            with pytest.raises(InvalidInputError, match=rf"result\[0\]\.{call}\(\)"):
                getattr(several, call)(*k)
            assert getattr(several[0], call)(*k) is not None
        with pytest.raises(NotOptimalError):
            getattr(stopped, call)(*k)


def test_integers_that_cannot_be_added_up_are_refused() -> None:
    """In a ring there is one other assignment, which has no pair of the best one."""
    for size in (7, 9):
        number = np.arange(size)
        cost = np.repeat([-(2**58), 2**58], size)
        ring = np.tile(number, 2), np.append(number, (number + 1) % size), cost
        result = preflow.linear_assignment(ring)
        assert result.is_unique()
        if size * 2**59 < 2**62:
            assert result.regret().tolist() == [size * 2**59] * size
        else:
            with pytest.raises(CostOverflowError, match="divide"):
                result.regret()


@given(problem=problems(), k=st.sampled_from([1, 2, 3, 7, 10**6]))
@settings(max_examples=150, deadline=None)
def test_the_best_assignments(problem: Any, k: int) -> None:
    cost, arguments = problem
    sign = -1 if arguments["maximize"] else 1
    totals = sorted(sign * total for total, _ in all_assignments(cost, arguments.get("unmatched_cost")))
    for costs in forms(cost):
        ranked = preflow.linear_assignment(costs, **arguments).k_best(k)
        ranked.verify()
        assert len(ranked) == min(k, len(totals))
        assert (sign * ranked.cost).tolist() == pytest.approx(totals[:k], abs=1e-12)
        assert ranked.cost.dtype.kind == cost.dtype.kind
        assert len({frozenset(pairs) for pairs in ranked.pairs()}) == len(ranked)
        assert ranked.complete == (k > len(totals))
        assert ranked.status == "optimal"


@pytest.mark.parametrize(
    "kind", ["integers", "ties", "floats", "points", "wide", "high", "sparse", "singles"]
)
def test_more_of_the_best_assignments(kind: str) -> None:
    """The proof, which knows nothing of the search, says that none is missing."""
    rng = np.random.default_rng(5)
    shape = {"wide": (15, 40), "high": (40, 15)}.get(kind, (25, 25))
    cost: Any = rng.random(shape)
    if kind in ("integers", "ties"):
        cost = rng.integers(0, 1000 if kind == "integers" else 3, shape)
    elif kind == "points":
        cost = preflow.PointCosts(*rng.random((2, 25, 3)))
    elif kind == "sparse":
        cost = scipy.sparse.csr_array(np.where(rng.random(shape) < 0.2, cost, 0) + np.eye(25))
    alone = (0.1, 0.05) if kind == "singles" else None
    result = preflow.linear_assignment(cost, unmatched_cost=alone)
    ranked = result.k_best(60)
    assert len(ranked) == 60
    ranked.verify()
    fewer = result.k_best(20)
    assert fewer.cost.tolist() == ranked.cost[:20].tolist()


def test_proofs_of_rankings_see_what_is_missing() -> None:
    cost = np.random.default_rng(6).integers(0, 50, (6, 6))
    ranked = preflow.linear_assignment(cost).k_best(12)
    for k in range(1, 11):
        if ranked.cost[k] == ranked.cost[-1]:
            continue
        left = np.delete(np.arange(12), k)
        fewer = replace(ranked, row=ranked.row[left], column=ranked.column[left], cost=ranked.cost[left])
        with pytest.raises(VerificationError, match="missing"):
            fewer.verify()
    with pytest.raises(VerificationError, match="missing"):
        replace(ranked, complete=True).verify()
    twice = np.append(np.arange(12), 11)
    again = replace(ranked, row=ranked.row[twice], column=ranked.column[twice], cost=ranked.cost[twice])
    with pytest.raises(VerificationError, match="twice"):
        again.verify()
    with pytest.raises(VerificationError, match=r"order|total"):
        replace(ranked, row=ranked.row[::-1], column=ranked.column[::-1], cost=ranked.cost[::-1]).verify()


def test_rankings_have_labels_and_large_integers() -> None:
    shift = 10**25
    ranked = preflow.linear_assignment({"ada": {"sew": 4, "cook": 1}, "bob": {"sew": 2, "cook": 3}}).k_best(5)
    assert ranked.pairs() == [[("ada", "cook"), ("bob", "sew")], [("ada", "sew"), ("bob", "cook")]]
    assert repr(ranked) == "<RankedAssignments: all 2 assignments, cost 3 to 7>"
    large = preflow.linear_assignment([[shift + 4, shift + 1], [shift + 2, shift + 3]]).k_best(5)
    assert large.cost.tolist() == [2 * shift + 3, 2 * shift + 7]
    large.verify()
    apart = preflow.linear_assignment(np.array([[1e-17, 1.0, 3.0], [1.0, 1e17, 2e17], [2.0, 1e17, 1.5e17]]))
    apart.k_best(6).verify()
    huge = preflow.linear_assignment(np.array([[1.0, 2.0], [3.0, 5.0]]) * 2.0**1020).k_best(2)
    huge.verify()
    assert huge.cost.tolist() == [5 * 2.0**1020, 6 * 2.0**1020]


def test_a_time_limit_returns_the_best_until_then() -> None:
    result = preflow.linear_assignment(np.random.default_rng(7).random((20, 20)))
    ranked = result.k_best(10**7, time_limit=0.05)
    assert ranked.status == "time-limit"
    assert not ranked.complete
    few = min(len(ranked), 30)
    assert ranked.cost[:few].tolist() == result.k_best(few).cost.tolist()


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3", None])
def test_numbers_of_assignments_are_checked(k: Any) -> None:
    with pytest.raises(InvalidInputError, match="k must be a positive integer"):
        preflow.linear_assignment([[1, 2], [3, 4]]).k_best(k)


def test_nothing_to_exchange() -> None:
    empty = preflow.linear_assignment(np.zeros((0, 3)))
    assert empty.regret().tolist() == []
    assert empty.is_unique()
    assert empty.k_best(3).complete
    empty.k_best(3).verify()
    one = preflow.linear_assignment([[3]])
    assert one.regret().tolist() == [2**63 - 1]
    assert one.is_unique()
    assert preflow.linear_assignment([[3.0]]).regret().tolist() == [math.inf]
