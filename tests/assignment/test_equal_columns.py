"""Dense costs with many equal rows or columns: the same optimum, by paths between kinds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import preflow
from preflow.assignment.policy import choose
from preflow.assignment.serial_shortest_path.places import group_dense, solve_places
from preflow.assignment.solution import SOLVED
from preflow.graph.cost_input import as_costs
from preflow.graph.costs import DenseCosts
from preflow.solving.run import Control


def repeated(n: int, m: int, kinds: int, dtype: type, seed: int, of_rows: bool = False) -> np.ndarray:
    """Return costs whose columns, or rows, are `kinds` different ones in any order."""
    rng = np.random.default_rng(seed)
    if of_rows:
        n, m = m, n
    base = rng.integers(-50, 50, (n, kinds)).astype(dtype) if dtype is int else rng.random((n, kinds)) - 0.4
    costs = base[:, rng.integers(0, kinds, m)]
    return np.ascontiguousarray(costs.T) if of_rows else costs


@given(
    shape=st.tuples(st.integers(3, 9), st.integers(0, 4)),
    kinds=st.integers(1, 3),
    dtype=st.sampled_from([int, float]),
    of_rows=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_paths_between_kinds_find_the_optimum(
    shape: tuple[int, int], kinds: int, dtype: type, of_rows: bool, seed: int
) -> None:
    n, m = shape[0], sum(shape)
    values = repeated(n, m, kinds, dtype, seed, of_rows)
    costs = as_costs(values, False)
    assert isinstance(costs, DenseCosts)
    found = group_dense(costs)
    if found is None:  # no side has so few kinds
        return
    grouped, rows_alike = found
    side = values if rows_alike else values.T
    for kind in np.split(grouped.order, grouped.first[1:]):
        assert (side[kind] == side[kind[0]]).all()
    match, u, v, ending = solve_places(costs, grouped, rows_alike, Control())
    assert ending == SOLVED
    assert sorted(set(match.tolist())) == sorted(match.tolist())
    rows, columns = linear_sum_assignment(values)
    best = values[rows, columns].sum()
    assert values[np.arange(n), match].sum() == pytest.approx(best, abs=1e-9)
    # The prices prove it: no reduced cost is negative, and those of pairs are 0.
    reduced = values - u[:, None] - v
    assert reduced.min() >= -1e-9
    assert reduced[np.arange(n), match] == pytest.approx(0, abs=1e-9)
    assert v.max(initial=0) <= 1e-9 or n == m
    assert u.dtype == v.dtype == (np.int64 if dtype is int else np.float64)


@pytest.mark.parametrize("dtype", [int, float])
@pytest.mark.parametrize("shape", [(420, 420), (410, 440), (440, 410)])
@pytest.mark.parametrize("of_rows", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_auto_takes_paths_between_kinds(
    dtype: type, shape: tuple[int, int], of_rows: bool, maximize: bool
) -> None:
    values = repeated(*shape, 12, dtype, 3, of_rows)
    result = preflow.linear_assignment(values, maximize=maximize, threads=2)
    result.verify()
    assert result.stats.method == "serial-shortest-path"
    assert "12 kinds: paths between these" in result.stats.reason
    rows, columns = linear_sum_assignment(values, maximize)
    assert result.cost == pytest.approx(values[rows, columns].sum())


def test_columns_that_differ_in_one_row_are_no_kind() -> None:
    values = repeated(400, 400, 5, int, 1)
    values[37, np.arange(400)] = np.arange(400)
    assert group_dense(as_costs(values, False)) is None
    assert "kinds" not in choose(as_costs(values, False)).because
    preflow.linear_assignment(values).verify()


@pytest.mark.parametrize("of_rows", [False, True])
def test_one_other_cost_is_seen_wherever_it_is(of_rows: bool) -> None:
    """Columns are compared by parts of rows, rows as a whole."""
    rng = np.random.default_rng(4)
    for dtype in (int, float):
        given = repeated(270, 300, 6, dtype, 2, of_rows)
        for _ in range(30):
            values = given.copy()
            at = rng.integers(270), rng.integers(300)
            values[at] += 1
            found = group_dense(as_costs(values, False))
            if found is None:
                continue
            side = values if found[1] else values.T
            kinds = np.split(found[0].order, found[0].first[1:])
            assert len(kinds) == len(np.unique(side, axis=0)) == 7
            assert all((side[kind] == side[kind[0]]).all() for kind in kinds)


def test_costs_that_are_not_finite_or_too_large_are_no_kinds() -> None:
    values = repeated(400, 400, 5, float, 1)
    values[3] = np.where(np.arange(400) % 2 == 0, np.inf, values[3])
    assert group_dense(as_costs(values, False)) is None
    large = repeated(400, 400, 5, int, 1) * 2**40
    assert group_dense(as_costs(large, False)) is None
    preflow.linear_assignment(large).verify()
