"""One huge float, wherever it is, changes nothing else: against all choices in exact arithmetic."""

from __future__ import annotations

import copy
import itertools
import pickle
import sys
import warnings
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import preflow
from preflow.errors import CostOverflowError
from preflow.integrations import lap, scipy_compat
from tests.support.cuda_on_cpu.arrays import OnGpu

MAX = sys.float_info.max
OUTLIERS = [1e7, 1e12, 1e16, 2.0**53 + 2, 1e32, 1e100, 1e300, 1e308, MAX, 5e-324, 1e-310]
METHODS = [
    "serial-shortest-path",
    "serial-cost-scaling",
    "multicore-shortest-path",
    "multicore-auction",
    "multicore-lockfree",
]


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def number(random: Random, one_in: float = 0.1) -> float:
    """Return a small float, or one in ten times a huge or a tiny one."""
    value = random.choice(OUTLIERS) if random.random() < one_in else round(random.uniform(0, 1), 3)
    return -value if random.random() < 0.1 else value


def choices(n: int, m: int) -> Iterator[list[tuple[int, int]]]:
    """Yield all sets of pairs."""
    for size in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), size):
            for columns in itertools.permutations(range(m), size):
                yield list(zip(rows, columns, strict=True))


def cost_of(cost: Any, pairs: Any, rows: Any = (), columns: Any = ()) -> Fraction:
    """Return the exact cost of pairs and of all singles."""
    of_pairs, sides = [cost[i][j] for i, j in pairs], [set(side) for side in zip(*pairs, strict=True)]
    for alone, used in zip((rows, columns), sides or (set(), set()), strict=True):
        of_pairs += [value for k, value in enumerate(alone) if k not in used]
    return sum(map(Fraction, map(float, of_pairs)), Fraction(0))


def close(cost: Any, pairs: Any, rows: Any = (), columns: Any = ()) -> Fraction:
    """Return the distance from the optimum that an optimal answer of these pairs may have."""
    sizes = [np.abs(part) for part in (cost, rows, columns)]
    return cost_of(sizes[0], pairs, *sizes[1:]) / 2**39 + Fraction(5e-324)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(12))
def test_pairs_and_singles(method: str, seed: int) -> None:
    random = Random(f"{method} {seed}")
    n, m = random.choice([(3, 3), (2, 4), (4, 2), (3, 2)])
    cost = np.array([[number(random) for _ in range(m)] for _ in range(n)])
    rows, columns = (np.array([number(random, 0.4) for _ in range(size)]) for size in (n, m))
    best = min(cost_of(cost, pairs, rows, columns) for pairs in choices(n, m))
    threads = 2 if method.startswith("multicore") else 1
    stored = scipy.sparse.coo_array((cost.ravel(), np.nonzero(np.ones((n, m)))), shape=(n, m))
    for given in (cost, stored, np.stack([cost, cost])):
        try:
            result = preflow.linear_assignment(
                given, unmatched_cost=(rows, columns), method=method, threads=threads
            )
        except CostOverflowError:
            assert abs(best) > Fraction(MAX) / 8
            continue
        result.verify()
        row, column = (np.atleast_2d(side)[-1].tolist() for side in (result.row, result.column))
        pairs = list(zip(row, column, strict=True))
        assert cost_of(cost, pairs, rows, columns) - best <= close(cost, pairs, rows, columns)
        value, gap = (np.ravel(part)[-1] for part in (result.cost, result.gap))
        assert abs(Fraction(float(value)) - best) <= Fraction(float(gap)) + Fraction(5e-324)
        assert Fraction(float(gap)) <= close(cost, pairs, rows, columns)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(12))
def test_pairs(method: str, seed: int) -> None:
    random = Random(f"{method} {seed}")
    n, m = random.choice([(3, 3), (2, 4), (4, 2), (4, 4)])
    cost = np.array([[number(random, 0.3) for _ in range(m)] for _ in range(n)])
    threads = 2 if method.startswith("multicore") else 1
    full = [pairs for pairs in choices(n, m) if len(pairs) == min(n, m)]
    for maximize in (False, True):
        sign = -1 if maximize else 1
        best = min(sign * cost_of(cost, pairs) for pairs in full)
        try:
            result = preflow.linear_assignment(cost, method=method, threads=threads, maximize=maximize)
        except CostOverflowError:
            assert abs(best) > Fraction(MAX) / 8
            continue
        result.verify()
        assert sign * cost_of(cost, result.pairs()) - best <= close(cost, result.pairs())
        assert abs(sign * Fraction(result.cost) - best) <= Fraction(result.gap) + Fraction(5e-324)
        assert Fraction(result.gap) <= close(cost, result.pairs())


@pytest.mark.parametrize("forbidden", [1e300, 1e308, MAX, float(np.finfo(np.float32).max), np.inf])
def test_forbidden_pairs_are_avoided(forbidden: float) -> None:
    cost = np.array([[0.3, forbidden, 0.2], [forbidden, 0.4, forbidden], [0.1, 0.6, 0.5]])
    results = [
        preflow.linear_assignment(cost),
        preflow.linear_assignment(cost, partial=True),
        preflow.linear_assignment(-cost, maximize=True),
        preflow.linear_assignment(np.vstack([cost, np.full(3, forbidden)])),
        preflow.linear_assignment(np.stack([cost, cost.T, cost]), threads=2),
        preflow.linear_assignment(np.stack([cost, cost]), sizes=[[3, 3], [3, 3]]),
    ]
    for result in results:
        result.verify()
        assert np.abs(result.cost) == pytest.approx(0.7)
    assert lap.lapjv(cost)[0] == pytest.approx(0.7)
    row, column = scipy_compat.linear_sum_assignment(cost)
    assert cost[row, column].sum() == pytest.approx(0.7)


def test_forbidden_pairs_that_cannot_be_avoided() -> None:
    result = preflow.linear_assignment([[MAX, 1.5e308], [0.1, 0.2]])
    result.verify()
    assert result.pairs() == [(0, 1), (1, 0)]
    assert result.cost == 1.5e308
    with pytest.raises(CostOverflowError, match="more than float64"):
        preflow.linear_assignment([[MAX, MAX], [MAX, MAX]])
    with pytest.raises(CostOverflowError, match=r"matrix \(1,\)"):
        preflow.linear_assignment(np.array([np.eye(2), np.full((2, 2), MAX)]))


@pytest.mark.usefixtures("cpu_device")
def test_costs_on_a_gpu() -> None:
    """Costs that a GPU cannot add up are solved on the host."""
    cost = np.array([[0.3, MAX, 0.2], [MAX, 0.4, MAX], [0.1, 0.6, 0.5]])
    result = preflow.linear_assignment(OnGpu(cost))
    result.verify()
    assert float(result.cost) == pytest.approx(0.7)


@pytest.mark.parametrize("limit", [1e13, 1e15, 1e16, 1e100, 1e307, MAX])
@pytest.mark.parametrize("shape", [(6, 6), (5, 7), (7, 5)])
def test_singles_only_where_they_must_be(limit: float, shape: tuple[int, int]) -> None:
    """However large the cost of singles is, the pairs are those of the cheapest assignment."""
    cost = np.random.default_rng(3).random(shape)
    expected = preflow.linear_assignment(cost)
    if limit == MAX and shape != (6, 6):
        with pytest.raises(CostOverflowError, match="singles add up to more than float64"):
            preflow.linear_assignment(cost, unmatched_cost=limit)
    else:
        result = preflow.linear_assignment(cost, unmatched_cost=limit)
        result.verify()
        assert result.pairs() == expected.pairs()
    total, row, column = lap.lapjvx(cost, cost_limit=limit)
    assert total == pytest.approx(expected.cost, rel=1e-15)
    assert sorted(zip(row.tolist(), column.tolist(), strict=True)) == expected.pairs()


def test_cost_is_that_of_what_is_left() -> None:
    result = preflow.linear_assignment([[1.25, 9], [9, 9]], unmatched_cost=([1e16, 0.3], [1e16, 0.4]))
    result.verify()
    assert result.pairs() == [(0, 0)]
    assert result.cost == 1.95
    points = preflow.PointCosts([[0.1], [0.9], [5.0]], [[0.3], [1.0]])
    result = preflow.linear_assignment(points, unmatched_cost=([1e17, 1e17, 0.25], 1e17))
    result.verify()
    assert result.cost == pytest.approx(0.2 + 0.1 + 0.25, rel=1e-15)


@pytest.mark.parametrize("method", METHODS[1:])
def test_prices_that_float64_cannot_hold(method: str) -> None:
    """A reward that one row would have and another takes: the proof is exact, and can be copied."""
    cost = np.array([[np.inf, np.inf, -1e15, 0, -0.69], [np.inf, np.inf, 0, np.inf, np.inf]])
    threads = 2 if method.startswith("multicore") else 1
    for given in (cost, cost.T, np.stack([cost, cost]), np.vstack([cost, cost[1]])):
        partial = given.ndim == 2 and len(given) == 3
        result = preflow.linear_assignment(given, method=method, threads=threads, partial=partial)
        for each in (result, pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            each.verify()
            assert np.all(each.cost == -0.69)
            assert np.all(each.gap <= 1e-15)


def test_singles_at_the_largest_float_and_pairs_that_are_not_allowed() -> None:
    """Sums of two prices pass float64 there, and no pair is compared with them."""
    only = preflow.linear_assignment([[np.inf, 0.05]], unmatched_cost=([MAX], [MAX, MAX]))
    only.verify()
    assert (only.pairs(), only.cost) == ([(0, 1)], MAX)
    random = Random(61)
    for _ in range(60):
        n, m = random.randint(1, 3), random.randint(1, 3)
        numbers = [random.random(), np.inf, 0.05, MAX]
        cost = np.array([[random.choice(numbers) for _ in range(m)] for _ in range(n)])
        rows, columns = (np.array([random.choice([0.5, MAX, MAX]) for _ in range(k)]) for k in (n, m))
        best = min(
            sum((Fraction(cost[pair]) for pair in pairs), Fraction(0))
            + sum(Fraction(rows[i]) for i in set(range(n)) - {i for i, _ in pairs})
            + sum(Fraction(columns[j]) for j in set(range(m)) - {j for _, j in pairs})
            for k in range(min(n, m) + 1)
            for chosen in itertools.combinations(range(n), k)
            for partners in itertools.permutations(range(m), k)
            for pairs in [list(zip(chosen, partners, strict=True))]
            if all(np.isfinite(cost[pair]) for pair in pairs)
        )
        if best > MAX * (1 + Fraction(1, 2**54)):
            continue
        found = preflow.linear_assignment(cost, unmatched_cost=(rows, columns))
        found.verify()
        assert abs(Fraction(found.cost) - best) <= best / 2**40
