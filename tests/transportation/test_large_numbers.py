"""transport of numbers of very different size, against exact plans; its status, bounds and fields."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import preflow
from preflow.arrays import Array
from preflow.certify.exact import exact_dot
from preflow.errors import CostOverflowError, InvalidInputError, NotOptimalError, VerificationError
from tests.fuzz.transports import check_floats, exact_plan

METHODS = [method.name for method in preflow.methods("transport") if method.device == "cpu"]
HUGE = [1e9, 1e15, 1e32, 1e200, 1e308, sys.float_info.max]
E = 1e32
#: Entries of 1e32 that no optimal plan uses.
UNUSED = [
    [250.3, 374.7, 2413.5, E, 0.0015],
    [213.1, 328.8, 2294.9, E, 0.137],
    [197.3, 309.2, 2242.5, E, 2.465],
    [E, E, E, 5.262, E / 4],
    [38.47, 80.95, 333.1, E / 4, 0],
]


def check(result: Any, costs: Any) -> None:
    """Check a result against the exact optimum for its masses."""
    result.verify()
    exact = exact_plan(costs, result.a.tolist(), result.b.tolist())
    assert exact.ending == "optimal"
    check_floats(result, exact)


def lists(costs: Array) -> Any:
    return [[None if math.isinf(each) else each for each in row] for row in costs.tolist()]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ["dense", "sparse", "transposed", "batch"])
def test_costs_that_no_plan_needs(method: str, form: str) -> None:
    costs, a, b = np.array(UNUSED), np.array([0.125] * 4 + [0.5]), np.array([0.25, 0.125, 0.125, 0.25, 0.25])
    if form == "transposed":
        costs, a, b = costs.T.copy(), b, a
    given: Any = sp.csr_array(costs + 1e-300) if form == "sparse" else costs
    if form == "batch":
        results = preflow.transport(np.stack([costs, costs / 3]), [a, a], [b, b], method=method)
        check(results[1], lists(costs / 3))
        result = results[0]
    else:
        result = preflow.transport(given, a, b, method=method)
    check(result, lists(given.toarray() if form == "sparse" else costs))
    assert result.status == "optimal"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("huge", HUGE)
def test_random_costs_with_huge_ones(method: str, huge: float) -> None:
    """The huge ones act like pairs that are not allowed, where a plan can do without them."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(2, 7, 2)
        costs = rng.random((n, m))
        costs[rng.random((n, m)) < 0.3] = huge * (1 if huge > 1e300 else 1 + seed % 3)
        a, b = rng.random(n), rng.random(m)
        result = preflow.transport(costs, a / a.sum(), b / b.sum(), method=method)
        check(result, costs.tolist())
        assert result.status == "optimal"


@pytest.mark.parametrize("method", METHODS)
def test_parts_that_only_huge_costs_join(method: str) -> None:
    """The pairs with mass leave several parts, and a price of one part may be as large as what joins them."""
    random = Random(61)
    cases: list[Any] = [
        (
            [[1e18, 0.25, 0.05, 2.4], [1e11, 1e16, 0.3, 0.2], [0.2, 0.9, 0.215366406949288, 0.0]],
            [4, 0, 6],
            [6, 0, 1, 3],
        ),
        ([[0.2, 0.38, 0.55], [3.4e38, 0.05, 99999997952.0], [1e-40, 0.85, 0.73]], [5, 1, 4], [7, 1, 2]),
        ([[2.4, 1e7, 0.9], [3.4e38, 0.44, 0.52], [1e-45, 0.25, 0.191]], [3, 3, 4], [7, 1, 2]),
    ]
    for _ in range(40):
        n, m = random.randint(2, 4), random.randint(2, 4)
        numbers = [random.random(), random.random(), *random.sample([1e7, 1e11, 1e18, 3.4e38, 1e150], 2)]
        masses: list[list[int]] = [[0] * n, [0] * m]
        for _ in range(6):
            for side in masses:
                side[random.randrange(len(side))] += 1
        cases.append(([[random.choice(numbers) for _ in range(m)] for _ in range(n)], *masses))
    for cost, a, b in cases:
        found = preflow.transport(np.array(cost), a, b, method=method)
        check(found, np.array(cost))
        assert found.status == "optimal"


@pytest.mark.parametrize("method", METHODS)
def test_used_costs_of_every_size(method: str) -> None:
    """The plan has to use all of them, and cheap pairs matter: masses are as small as costs are large."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 6))
        size = 10.0 ** rng.integers(-3, 18, n)
        costs = rng.random((n, n)) * size[:, None]
        a = 1 / size
        b = np.full(n, a.sum() / n)
        check(preflow.transport(costs, a, b, method=method), costs.tolist())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("large", [1e12, 1e20, 1e150, 1e300])
def test_masses_of_every_size(method: str, large: float) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(2, 6, 2)
        costs = rng.integers(0, 9, (n, m)).astype(rng.choice(["i8", "f8"]))
        costs[0, 0] = 0
        a, b = rng.random(n), rng.random(m)
        b *= a.sum() / b.sum()
        a[0] += large
        b[0] += large
        result = preflow.transport(costs, a, b, method=method)
        check(result, costs.tolist())
        assert result.status == "optimal"


def test_subnormal_numbers() -> None:
    result = preflow.transport([[5e-324, 1e-310], [3e-310, 5e-324]], [1, 2], [2, 1])
    result.verify()
    assert result.cost == 3e-310 + 2 * 5e-324
    result = preflow.transport([[3, 1], [1, 2]], [5e-324, 1e-310], [1e-310, 5e-324])
    result.verify()
    assert result.cost == 1e-310 + 5e-324


@pytest.mark.parametrize("method", METHODS)
def test_a_histogram_moved_to_itself(method: str) -> None:
    rng = np.random.default_rng(1)
    for n in (2, 30, 100):
        masses = rng.random(n) ** 9
        points = rng.random((n, 2))
        distances = np.abs(points[:, None] - points).sum(axis=2)
        for costs in (1 - np.eye(n), distances, preflow.PointCosts(points, points)):
            result = preflow.transport(costs, masses / masses.sum(), masses / masses.sum(), method=method)
            result.verify()
            assert (result.cost, result.gap, result.status) == (0, 0, "optimal")


def test_the_cost_is_the_rounded_sum_of_its_terms() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        costs, a = rng.normal(size=(6, 6)), rng.random(6)
        result = preflow.transport(costs, a, a[::-1])
        terms = zip(costs[result.row, result.column].tolist(), result.mass.tolist(), strict=True)
        assert result.cost == float(sum(Fraction(cost) * Fraction(mass) for cost, mass in terms))
        result.verify()


def test_sums_of_products() -> None:
    random = Random(3)
    pool = [1e-320, 1e-200, 0.1, 7.0, 1e16, 1e150, 1e300, -0.3, -1e16, 0.0]
    for _ in range(500):
        pairs = [
            (random.choice(pool) * random.random(), random.choice(pool)) for _ in range(random.randrange(7))
        ]
        first, second = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        exact = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
        if abs(exact) < sys.float_info.max:
            assert exact_dot(first, second) == float(exact)


@pytest.mark.parametrize("method", METHODS)
def test_integer_masses_near_the_limit(method: str) -> None:
    for off in (1, 2, 5):
        total = 2**62 - off
        a, b = [total - 7, 7], [total // 2, total - total // 2]
        result = preflow.transport([[1, 2], [3, 4]], a, b, method=method)
        result.verify()
        exact = exact_plan([[1, 2], [3, 4]], a, b)
        assert (result.cost, result.gap) == (exact.cost, 0)
        wrong = replace(result, mass=result.mass + np.int64(2**62))
        with pytest.raises(VerificationError):
            wrong.verify()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("off", [1e-15, 1e-12, 1e-9, 9e-7, -1e-9, -9e-7])
def test_sums_that_differ_a_little(method: str, off: float) -> None:
    rng = np.random.default_rng(4)
    costs, a, b = rng.random((5, 7)), rng.random(5), rng.random(7)
    a, b = a / a.sum(), b / b.sum() * (1 + off)
    result = preflow.transport(costs, a, b, method=method)
    check(result, costs.tolist())
    assert result.status == "optimal"
    np.testing.assert_array_equal(result.a, a)
    scaled = b * (a.sum() / b.sum()) if abs(off) > 1e-13 else b
    np.testing.assert_allclose(result.b, scaled, rtol=1e-15)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([3, 5], [4, 3], "8 and 7; partial=True leaves the rest where it is"),
        ([3, 5], [4, 14], "8 and 18; partial=True"),
        ([0.5, 0.5], [0.5, 0.25], r"1.0 and 0\.75; partial=True"),
    ],
)
def test_sums_that_differ(a: Any, b: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.transport([[1, 2], [3, 4]], a, b)


def test_an_approximate_result() -> None:
    """Where float64 does not prove a plan close, the bounds hold, and there is no value."""
    result = preflow.transport(UNUSED, [1] * 5, [1] * 5)
    loose = replace(
        result, status="approximate", lower_bound=result.cost * (1 - 1e-9), _gap=result.cost * 1e-9
    )
    loose.verify()
    assert "approximate" in repr(loose)
    with pytest.raises(NotOptimalError):
        _ = loose.cost
    for wrong in (
        replace(loose, lower_bound=result.cost * 1.5),
        replace(loose, upper_bound=result.cost * 1.5),
        replace(loose, _gap=-1.0),
        replace(loose, status="optimal"),
    ):
        with pytest.raises(VerificationError):
            wrong.verify()


@pytest.mark.parametrize("method", METHODS)
def test_terms_past_float64_are_refused_where_nothing_is_proved(method: str) -> None:
    """Terms of 1e400 may cancel in the cost, but rounded prices times masses prove nothing of it."""
    cost = [[-1e100, 1e-100, 1], [-1e100, 1e-100, 1e100], [0, -1, -1e100]]
    with pytest.raises(CostOverflowError, match="costs times masses"):
        preflow.transport(cost, [1e208, 2e300, 1e208], [1e300, 1e-300, 1e300], method=method)


def test_prices_past_float64_prove_nothing() -> None:
    """The price of a row would be 2e308: the integers of the solve are optimal, and no float says so."""
    inf = np.inf
    for size in (1e307, 8e307, 1e308):
        cost = [[inf, size, inf], [inf, -size, 0.0]]
        result = preflow.transport(cost, [5, 1], [5, 1, 7], partial=True)
        result.verify()
        assert result.status == ("optimal" if size < 9e307 else "approximate")
        assert result.upper_bound == size
