"""The drop-ins for lap and lapx: the same totals and kinds of results as the packages themselves."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from preflow.errors import InfeasibleError, InvalidInputError, InvalidTypeError
from preflow.integrations import lap

SMALL = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-9, 9))
)


def best_with_limit(cost: Any, limit: float) -> float:
    """Return the least of pairs plus `limit` / 2 for each single, by trying all."""
    n, m = cost.shape
    best = np.inf
    for size in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), size):
            for columns in itertools.permutations(range(m), size):
                pairs = sum(cost[i, j] for i, j in zip(rows, columns, strict=True))
                best = min(best, pairs + limit / 2 * (n + m - 2 * size))
    return best


@given(SMALL, st.sampled_from([0.0, 3.0, 5.5, -4.0]))
def test_limit_against_all_choices(cost: Any, limit: float) -> None:
    total, x, y = lap.lapjv(cost, cost_limit=limit)
    made = np.flatnonzero(x >= 0)
    assert (y[x[made]] == made).all()
    assert (y >= 0).sum() == len(made)
    assert total == cost[made, x[made]].sum()
    singles = (x < 0).sum() + (y < 0).sum()
    assert total + limit / 2 * singles == best_with_limit(cost, limit)


@given(SMALL)
def test_all_forms_agree(cost: Any) -> None:
    total, x, y = lap.lapjv(cost, extend_cost=True)
    assert x.dtype == y.dtype == np.int32
    assert isinstance(total, float)
    other, row, column = lap.lapjvx(cost)
    assert other == total
    assert (x[row] == column).all()
    same, pairs = lap.lapjvxa(cost)
    assert same == total
    assert pairs.tolist() == np.stack([row, column], axis=1).tolist()
    if cost.shape[0] == cost.shape[1]:
        n = len(cost)
        sparse, *_ = lap.lapmod(n, cost.ravel(), np.arange(n + 1) * n, np.tile(np.arange(n), n))
        assert sparse == total


@pytest.mark.parametrize("limit", [np.inf, 0.6])
@pytest.mark.parametrize("shape", [(30, 30), (20, 35), (35, 20), (0, 3), (3, 0)])
def test_same_as_lapx(shape: tuple[int, int], limit: float) -> None:
    peer = pytest.importorskip("lap", reason="lapx is not installed")
    cost = np.random.default_rng(7).random(shape)
    ours, theirs = (f(cost, True, limit) for f in (lap.lapjv, peer.lapjv))
    assert ours[0] == pytest.approx(theirs[0])
    for mine, other in zip(ours[1:], theirs[1:], strict=True):
        assert mine.dtype == other.dtype
        assert mine.tolist() == other.tolist()


def test_without_costs() -> None:
    x, y = lap.lapjv([[1, 9], [9, 8]], cost_limit=5, return_cost=False)
    assert x.tolist() == y.tolist() == [0, -1]
    assert lap.lapjvxa(np.zeros((0, 4)), return_cost=False).shape == (0, 2)
    assert len(lap.lapmod(0, [], [0], [], return_cost=False)[0]) == 0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lap.lapjv([[np.nan]]), InvalidInputError, "NaN"),
        (lambda: lap.lapjv([1, 2]), InvalidInputError, "2 dimensions"),
        (lambda: lap.lapjv([["a"]]), InvalidTypeError, "real numbers"),
        (lambda: lap.lapjv([[1]], cost_limit=np.nan), InvalidInputError, "cost_limit"),
        (lambda: lap.lapjv([[np.inf, 1], [np.inf, 2]]), InfeasibleError, "row"),
        (lambda: lap.lapmod(2, [1], [0, 1], [0]), InvalidInputError, "ii"),
        (lambda: lap.lapmod(2, [1, 2], [0, 2, 2], [1, 1]), InvalidInputError, "ascend"),
        (lambda: lap.lapmod(2, [1, 2], [0, 1, 2], [0, 2]), InvalidInputError, "kk"),
        (lambda: lap.lapmod(2, [1, 2], [0, 1, 2], [0, 0]), InfeasibleError, "row"),
        (lambda: lap.lapmod(-1, [], [0], []), InvalidInputError, "n must"),
    ],
)
def test_errors(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (0, 3), (3, 0)])
@pytest.mark.parametrize("limit", [np.inf, 0.4])
def test_order_and_dtypes_of_lapx(shape: tuple[int, int], limit: float) -> None:
    """Pairs are in the order of the rows, or of the columns if these are fewer."""
    cost = np.random.default_rng(1).random(shape)
    n, m = shape
    _, row, column = lap.lapjvx(cost, True, limit)
    own, other = (row, column) if n <= m else (column, row)
    assert own.dtype == np.int64
    assert other.dtype == np.int32
    assert (np.diff(own) > 0).all()
    assert lap.lapjvxa(cost, True, limit)[1].tolist() == np.stack([row, column], axis=1).tolist()
    _, x, y = lap.lapjv(cost, True, limit)
    assert x.dtype == y.dtype == np.int32


def test_errors_advise_nothing_that_lap_lacks() -> None:
    for call in (
        lambda: lap.lapjv([[1, np.inf], [2, np.inf]]),
        lambda: lap.lapmod(2, [1, 2], [0, 1, 2], [0, 0]),
    ):
        with pytest.raises(InfeasibleError) as caught:
            call()
        assert "partial" not in str(caught.value)
        assert caught.value.advice == ()
