"""transport where masses may stay: against a linear program, in all forms of input, with its errors."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import preflow
from preflow.errors import InfeasibleError, InvalidInputError, UnequalSumsError, VerificationError

METHODS = [method.name for method in preflow.methods("transport") if method.device == "cpu"]


def least(cost: Any, a: Any, b: Any, amount: Any = None, singles: Any = None) -> tuple[float, float] | None:
    """Return the amount and the least cost by HiGHS; the largest amount if none is given, None: no plan."""
    n, m = cost.shape
    rows, columns = sp.kron(sp.eye_array(n), np.ones((1, m))), sp.kron(np.ones((1, n)), sp.eye_array(m))
    allowed = np.isfinite(cost).ravel()
    program: dict[str, Any] = {
        "A_ub": sp.vstack([rows, columns]),
        "b_ub": np.concatenate([a, b]),
        "bounds": [(0, None if each else 0) for each in allowed],
    }
    prices = np.where(allowed, cost.ravel(), 0)
    if singles is not None:
        found = linprog(prices - np.add.outer(*singles).ravel(), **program)
        return found.x.sum(), found.fun + a @ singles[0] + b @ singles[1]
    if amount is None:
        amount = round(-linprog(-allowed.astype(float), **program).fun)
    found = linprog(prices, A_eq=np.ones((1, n * m)), b_eq=[amount], **program)
    return (amount, found.fun) if found.status == 0 else None


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Draw integer costs, some of them infinite, and integer masses with any sums."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cost = rng.integers(draw(st.sampled_from([-5, 0])), draw(st.sampled_from([2, 40])), (n, m)).astype(float)
    cost[rng.random((n, m)) < draw(st.sampled_from([0, 0, 0.3, 0.7]))] = np.inf
    return cost, rng.integers(0, 9, n), rng.integers(0, 9, m)


def check(result: Any, a: Any, b: Any) -> None:
    """Check what a result says of what stays, and its prices."""
    result.verify()
    plan = result.matrix()
    np.testing.assert_allclose(plan.sum(axis=1) + result.surplus, a, atol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0) + result.shortage, b, atol=1e-12)
    assert min(result.surplus.min(), result.shortage.min()) >= 0
    assert result.amount == pytest.approx(plan.sum())
    singles = result.unmatched_cost
    if singles is not None:
        assert (result.u >= -singles[0] - 1e-9).all()
        assert (result.v <= singles[1] + 1e-9).all()
        np.testing.assert_allclose((result.u + singles[0])[result.surplus > 0], 0, atol=1e-9)
        np.testing.assert_allclose((result.v - singles[1])[result.shortage > 0], 0, atol=1e-9)
        return
    if result.surplus.any():
        assert (result.u >= -1e-9).all()
        np.testing.assert_allclose(result.u[result.surplus > 0], 0, atol=1e-9)
    if result.shortage.any():
        np.testing.assert_allclose(result.v[result.shortage > 0], result.v.max(), atol=1e-9)


def forms(cost: Any) -> list[Any]:
    """Return costs as a matrix, of integers if all are finite, and as the pairs that are allowed."""
    row, column = np.nonzero(np.isfinite(cost))
    stored = sp.coo_array((cost[row, column], (row, column)), shape=cost.shape).tocsr()
    return [cost.astype(int) if np.isfinite(cost).all() else cost, stored]


@pytest.mark.parametrize("method", METHODS)
@given(problem=problems(), unit=st.sampled_from([1, 0.1, 1e-5]), price=st.sampled_from([1, 0.3]))
@settings(max_examples=80, deadline=None)
def test_as_much_as_possible(method: str, problem: Any, unit: float, price: float) -> None:
    cost, a, b = problem
    expected = least(cost, a, b)
    assert expected is not None
    for costs in forms(cost):
        given_costs = costs * price if price != 1 else costs
        result = preflow.transport(given_costs, a * unit, b * unit, partial=True, method=method)
        check(result, a * unit, b * unit)
        assert result.amount == pytest.approx(expected[0] * unit, abs=1e-12)
        assert result.cost == pytest.approx(round(expected[1]) * unit * price, abs=1e-9)
        if unit == price == 1 and given_costs.dtype.kind == "i":
            assert isinstance(result.cost, int)
            assert result.gap == 0


@pytest.mark.parametrize("method", METHODS)
@given(problem=problems(), unit=st.sampled_from([1, 0.1]), share=st.sampled_from([0, 0.4, 1]))
@settings(max_examples=80, deadline=None)
def test_an_amount(method: str, problem: Any, unit: float, share: float) -> None:
    cost, a, b = problem
    amount = round(share * min(a.sum(), b.sum()))
    expected = least(cost, a, b, amount)
    for costs in forms(cost):
        if expected is None:
            with pytest.raises(InfeasibleError, match="no transport plan"):
                preflow.transport(costs, a * unit, b * unit, amount=amount * unit, method=method)
            continue
        result = preflow.transport(costs, a * unit, b * unit, amount=amount * unit, method=method)
        check(result, a * unit, b * unit)
        assert result.amount == pytest.approx(amount * unit, abs=1e-12)
        assert result.cost == pytest.approx(round(expected[1]) * unit, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@given(problem=problems(), seed=st.integers(0, 99), unit=st.sampled_from([1, 0.1]), whole=st.booleans())
@settings(max_examples=80, deadline=None)
def test_what_stays_has_a_price(method: str, problem: Any, seed: int, unit: float, whole: bool) -> None:
    cost, a, b = problem
    rng = np.random.default_rng(seed)
    singles = tuple(rng.integers(-3, 12, size) * (1 if whole else 0.7) for size in cost.shape)
    expected = least(cost, a, b, singles=singles)
    assert expected is not None
    for costs in forms(cost):
        result = preflow.transport(costs, a * unit, b * unit, unmatched_cost=singles, method=method)
        check(result, a * unit, b * unit)
        assert result.cost == pytest.approx(expected[1] * unit, abs=1e-8)
    number = preflow.transport(cost, a, b, unmatched_cost=3)
    check(number, a, b)
    assert number.cost == pytest.approx(least(cost, a, b, singles=[np.full(k, 3) for k in cost.shape])[1])


def test_a_batch_has_surplus_here_and_shortage_there() -> None:
    rng = np.random.default_rng(0)
    cost = rng.integers(-3, 30, (5, 6, 4))
    a, b = rng.integers(0, 9, (5, 6)), rng.integers(0, 14, (5, 4))
    assert 0 < (a.sum(axis=1) > b.sum(axis=1)).sum() < 5
    amounts = np.minimum(a.sum(axis=1), b.sum(axis=1)) // 2
    asked: list[tuple[dict[str, Any], Any]] = [
        ({"partial": True}, lambda _: {"partial": True}),
        ({"amount": amounts}, lambda i: {"amount": amounts[i]}),
        ({"amount": 3}, lambda _: {"amount": 3}),
        ({"unmatched_cost": (a, 2)}, lambda i: {"unmatched_cost": (a[i], 2)}),
    ]

    for together, of_item in asked:
        for scale in (1, 0.1):
            results = preflow.transport(cost * scale, a, b, **together)
            for item, result in enumerate(results):
                check(result, a[item], b[item])
                alone = preflow.transport(cost[item] * scale, a[item], b[item], **of_item(item))
                assert result.cost == pytest.approx(alone.cost)


def test_points_and_labels() -> None:
    rng = np.random.default_rng(1)
    points = preflow.PointCosts(rng.random((9, 2)), rng.random((5, 2)), metric="sqeuclidean")
    a, b = rng.random(9), rng.random(5)
    for asked in ({"partial": True}, {"amount": 1.5}, {"unmatched_cost": 0.2}):
        result = preflow.transport(points, a, b, **asked)
        check(result, a, b)
        dense = preflow.transport(points.block(0, 9), a, b, **asked)
        assert result.cost == pytest.approx(dense.cost)
    towns = {"north": {"shop": 4, "port": 1}, "south": {"shop": 2, "port": 3}}
    stock, demand = {"north": 6, "south": 5}, {"shop": 4, "port": 4}
    found = preflow.transport(towns, stock, demand, partial=True)
    found.verify()
    assert found.flow_dict() == {"north": {"port": 4}, "south": {"shop": 4}}
    assert (found.cost, found.surplus.tolist(), "3 left over" in repr(found)) == (12, [2, 1], True)
    named = preflow.transport(towns, stock, demand, unmatched_cost=({"north": 1, "south": 2}, 9))
    named.verify()
    assert named.unmatched_cost[0].tolist() == [1, 2]
    pairs = [("north", "port", 1), ("south", "shop", 2)]
    with pytest.raises(InfeasibleError, match="row north has 1 more than column port can take"):
        preflow.transport(pairs, stock, {"shop": 6, "port": 2}, amount=8)


def test_errors_name_the_way_out() -> None:
    cost = [[4, 1], [2, 3]]
    with pytest.raises(UnequalSumsError, match="11 and 8; partial=True leaves the rest where it is"):
        preflow.transport(cost, [6, 5], [4, 4])
    with pytest.raises(InvalidInputError, match="amount is 9, and the columns have 8 together; partial=True"):
        preflow.transport(cost, [6, 5], [4, 4], amount=9)
    with pytest.raises(InvalidInputError, match="give one of partial and unmatched_cost"):
        preflow.transport(cost, [6, 5], [4, 4], partial=True, unmatched_cost=1)
    forbidden = [[4, np.inf], [2, np.inf]]
    with pytest.raises(InfeasibleError, match="partial=True moves as much as possible"):
        preflow.transport(forbidden, [4, 4], [4, 4])
    with pytest.raises(InfeasibleError, match=r"1 more than column 0 can take, .*beyond the 6 that may stay"):
        preflow.transport(forbidden, [6, 5], [4, 4], amount=5)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"partial": 1}, "partial must be True or False"),
        ({"amount": -1}, "amount must be at least 0"),
        ({"amount": [1, 2]}, "amount must be a number"),
        ({"amount": np.nan}, "amount must be at least 0 and finite"),
        ({"unmatched_cost": np.inf}, "finite"),
    )
    for asked, message in wrong:
        with pytest.raises(InvalidInputError, match=message):
            preflow.transport(cost, [6, 5], [4, 4], **asked)


def test_a_mass_that_is_none_is_named() -> None:
    cost = np.zeros((2, 2, 3))
    a, b = np.ones((2, 2)), np.ones((2, 3))
    b[1, 2] = np.nan
    with pytest.raises(InvalidInputError, match=r"b\[1, 2\] is nan: a mass is not finite"):
        preflow.transport(cost, a, b)
    with pytest.raises(InvalidInputError, match=r"a\['north'\] is -1: a mass is negative"):
        preflow.transport({"north": {"shop": 4}}, {"north": -1}, {"shop": 1})
    with pytest.raises(InvalidInputError, match=r"a\[1\] is inf"):
        preflow.transport(cost[0], [1, np.inf], [1, 1, 1])


def test_the_largest_amount_is_proved() -> None:
    cost = np.array([[4.0, np.inf, 2], [2, np.inf, np.inf]])
    found = preflow.transport(cost, [1, 6], [4, 4, 3], partial=True)
    check(found, [1, 6], [4, 4, 3])
    assert found.amount == 5
    more = preflow.transport(cost, [1, 6], [4, 4, 3], amount=4)
    for wrong in (
        replace(found, _most=found._whole),
        replace(found, _amount=4),
        replace(more, _amount=None),
        replace(more, _most=found._most),
        replace(more, surplus=more.surplus + 1),
        replace(more, costs=preflow.transport(cost * 2, [1, 6], [4, 4, 3], amount=4).costs),
    ):
        with pytest.raises(VerificationError):
            wrong.verify()


@pytest.mark.parametrize("stack", [False, True])
def test_a_large_mass_that_cannot_be_moved_spoils_no_small_one(stack: bool) -> None:
    inf = np.inf
    cost = np.array([[inf, inf, 1.0, inf], [inf, 2.0, inf, inf]])
    a, b = [9e18, 1e30], [0.17, 3.5, 0.25, 1e30]
    costs = np.stack([cost, cost]) if stack else cost
    results = preflow.transport(costs, a, b, partial=True)
    for found in results if stack else [results]:
        found.verify()
        assert (found.amount, found.cost) == (3.75, 7.25)
    plain = preflow.transport([[1.0, 5.0]], [1e18], [0.25, 0.5], partial=True)
    plain.verify()
    assert (plain.amount, plain.cost) == (0.75, 2.75)
    some = preflow.transport([[1.0, 5.0]], [1e18], [0.25, 1e25], amount=0.5)
    some.verify()
    assert (some.amount, some.cost) == (0.5, 1.5)


@pytest.mark.parametrize("large", [1e30, 1e60, 2.0**300, 1e300])
@pytest.mark.parametrize("small", [1.0, 2.0**-900])
def test_what_stays_is_exact_beside_any_small_mass(large: float, small: float) -> None:
    """The sum of what stays has as many parts as it needs, else its rest would be moved at any cost."""
    cost = [[0.0, 9.0], [3.0, -1.0]]
    result = preflow.transport(cost, [large, large], [large, small], partial=True)
    result.verify()
    assert result.cost == -small
    assert result.mass.tolist() == [large, small]


def test_items_of_a_batch_have_sums_of_several_parts() -> None:
    inf = np.inf
    cost = [[[inf, inf, 0.0], [0.0, inf, inf]], [[0.0, inf, inf], [0.0, 0.0, inf]]]
    masses = (
        [[1e-25, 1e-16], [0.25, 1.2000000000000002]],
        [[1e-25, 5e-324, 1e-16], [0, 1.2000000000000002, 0]],
    )
    for found in preflow.transport(np.array(cost), *masses, partial=True):
        found.verify()


def test_a_mass_within_rounding_stays() -> None:
    inf = np.inf
    cost = [[inf, inf, inf], [inf, 0, inf], [0, 0, 0]]
    found = preflow.transport(cost, [1e-16, 1, 0], [1, 1, 1.1], partial=True)
    found.verify()
    assert (found.status, found.amount) == ("optimal", 1)
    assert found.surplus[0] == pytest.approx(1e-16, rel=0.1, abs=0)


def test_a_time_limit() -> None:
    """A stopped solve has bounds that hold, and a plan in the unit of the masses."""
    rng = np.random.default_rng(0)
    cost = rng.random((200, 200))
    cost[rng.random((200, 200)) < 0.97] = np.inf
    a, b = rng.random(200) * 10, rng.random(200) * 7
    best = preflow.transport(cost, a, b, partial=True).cost
    plain = preflow.transport(rng.random((200, 200)), a, a[::-1], time_limit=1e-9)
    for limit in (1e-9, 1e-3, 3e-3, 1e-2, 1):
        found = preflow.transport(cost, a, b, partial=True, time_limit=limit)
        found.verify()
        pickle.loads(pickle.dumps(found)).verify()
        assert found.lower_bound <= best * (1 + 1e-9)
        assert found.upper_bound >= best * (1 - 1e-9)
        assert found.mass.sum() <= a.sum() * (1 + 1e-9)
    assert plain.mass.sum() <= a.sum() * (1 + 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_cost_of_zero_is_proved_up_to_the_smallest_floats(method: str) -> None:
    inf = np.inf
    cost = np.array([[0, inf, inf, 1, inf], [inf] * 5, [1, inf, inf, 1, 0], [0, inf, inf, inf, 0]])
    a, b = np.array([3, 4, 2, 1]) * 0.1, np.array([3, 5, 4, 6, 3]) * 0.1
    result = preflow.transport(cost, a, b, partial=True, method=method)
    assert result.cost == 0
    result.verify()
