"""Results of batches by item, and batches given as lists of matrices of different sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.cuda import runtime
from preflow.errors import InvalidInputError, InvalidTypeError, NotOptimalError
from tests.support.tensors import Tensor

SIZES = [(4, 6), (1, 2), (0, 3), (4, 1), (5, 2)]
KEYWORDS: list[dict[str, Any]] = [
    {},
    {"maximize": True},
    {"partial": True},
    {"unmatched_cost": 30},
    {"unmatched_cost": (20, 3), "maximize": True},
]


def matrices(dtype: Any, seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)
    return [(random.random(size) * 100).astype(dtype) for size in SIZES]


def check_items(result: Any, costs: Any, keywords: dict[str, Any]) -> None:
    """Each item is the result of its matrix alone."""
    result.verify()
    assert len(result) == len(costs) == len(list(result))
    assert result.pairs() == [one.pairs() for one in result]
    for one, cost in zip(result, costs, strict=True):
        alone = preflow.linear_assignment(cost, **keywords)
        one.verify()
        assert one.pairs() == alone.pairs()
        assert repr(one).split(",")[0] == repr(alone).split(",")[0]
        assert type(one.cost) is type(alone.cost)
        assert one.cost == pytest.approx(alone.cost)
        assert one.gap == pytest.approx(alone.gap)
        for name in ("row", "column", "u", "v"):
            found, expected = (getattr(each, name) for each in (one, alone))
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert not found.flags.writeable
        assert one.to_columns()["cost"].sum() == pytest.approx(alone.to_columns()["cost"].sum())
        if "unmatched_cost" in keywords:
            assert one.singles() == alone.singles()


@pytest.mark.parametrize("keywords", KEYWORDS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_lists_of_matrices_are_batches(dtype: Any, keywords: dict[str, Any]) -> None:
    costs = matrices(dtype)
    check_items(preflow.linear_assignment(costs, **keywords), costs, keywords)


@pytest.mark.parametrize("keywords", KEYWORDS, ids=str)
def test_items_of_an_array(keywords: dict[str, Any]) -> None:
    costs = np.random.default_rng(1).random((3, 4, 4))
    check_items(preflow.linear_assignment(costs, **keywords), costs, keywords)
    sizes = [(2, 3), (4, 4), (1, 1)]
    parts = [cost[:n, :m] for cost, (n, m) in zip(costs, sizes, strict=True)]
    check_items(preflow.linear_assignment(costs, sizes=sizes, **keywords), parts, keywords)


def test_parts_of_a_batch_of_batches() -> None:
    costs = np.random.default_rng(2).integers(0, 100, (2, 3, 4, 5))
    result = preflow.linear_assignment(costs)
    assert [len(result), len(result[0]), len(result[:, 1:])] == [2, 3, 2]
    assert np.array(result.pairs()).shape == (2, 3, 4, 2)
    for part in (result[1], result[:, 2], result[1:, ::2]):
        part.verify()
        assert part.cost.shape == part.costs.leading
    assert result[-1, 2].pairs() == result[1][2].pairs() == preflow.linear_assignment(costs[1, 2]).pairs()
    for wrong in (2, (0, 3), "a"):
        with pytest.raises(IndexError):
            result[wrong]


def test_one_matrix_is_no_batch() -> None:
    result = preflow.linear_assignment(np.ones((2, 2)))
    assert result
    for call in (lambda: result[0], lambda: len(result), lambda: list(result)):
        with pytest.raises(InvalidTypeError, match="of one matrix of costs, not of a batch"):
            call()
    batch = preflow.linear_assignment(np.ones((2, 2, 2)), unmatched_cost=3)
    for name in ("plot", "to_columns", "to_pandas", "singles"):
        with pytest.raises(InvalidInputError, match=r"for one matrix of a batch: result\[0\]\."):
            getattr(batch, name)()
    batch[0].plot()


def test_large_integers_with_sizes() -> None:
    """Entries that do not count, here 0, may be as far as they like from those that do."""
    costs = [[[2**70, 2**70 + 5], [2**70 + 3, 2**70]], [[2**70 + 1]], [[7, 2]]]
    result = preflow.linear_assignment(costs)
    result.verify()
    for one, cost in zip(result, costs, strict=True):
        one.verify()
        assert one.cost == preflow.linear_assignment(cost).cost


def test_numbers_of_different_kinds() -> None:
    unsigned = np.array([[2**63 + 2, 2**63 + 1]], dtype=np.uint64)
    assert preflow.linear_assignment([np.array([[1, 2]]), unsigned]).cost.tolist() == [1, 2**63 + 1]
    assert preflow.linear_assignment([np.array([[1, 2]]), np.array([[0.5]])]).cost.tolist() == [1, 0.5]
    with pytest.raises(InvalidInputError, match=r"mixes floats with integers past 2\*\*53"):
        preflow.linear_assignment([np.array([[2**53 + 2]]), np.array([[0.5, 1]])])


def test_lists_that_are_no_batches() -> None:
    one = np.ones((2, 2))
    with pytest.raises(InvalidInputError, match=r"a list of matrices, and cost\[1\] has shape \(3,\)"):
        preflow.linear_assignment([one, np.ones(3)])
    with pytest.raises(InvalidInputError, match="and these have their own"):
        preflow.linear_assignment([one, np.ones((1, 2))], sizes=[(1, 1), (1, 1)])
    with pytest.raises(InvalidInputError, match=r"column 1 of matrix \(1,\) is NaN"):
        preflow.linear_assignment([one, np.array([[1, np.nan]])])
    with pytest.raises(InvalidInputError, match=r"cost is not an array: parts of it have different lengths"):
        preflow.linear_assignment([[1, 2], [3]])
    with pytest.raises(InvalidInputError, match=r"must have one shape here: .* fill them up with .* mass 0"):
        preflow.transport([one, np.ones((1, 2))], [1, 1], [1, 1])


def test_a_tuple_of_matrices_is_a_batch() -> None:
    """``torch.split`` gives one; the arrays of edges have one dimension."""
    costs = matrices(np.float64)
    for some in (costs, costs[:3]):
        expected, found = preflow.linear_assignment(some), preflow.linear_assignment(tuple(some))
        assert found.pairs() == expected.pairs()
    plans = preflow.transport((np.eye(2), 1 - np.eye(2), np.eye(2)), [1, 1], [1, 1])
    assert [plan.cost for plan in plans] == [0, 0, 0]
    assert preflow.linear_assignment(([0, 1], [1, 0], [5, 6])).cost == 11


def test_tensors_in_a_list() -> None:
    costs = matrices(np.float64)
    tensors = [Tensor(cost) for cost in costs]
    expected, found = preflow.linear_assignment(costs), preflow.linear_assignment(tensors)
    found.verify()
    for result, other in ((found, expected), (found[0], expected[0]), (found[1:3], expected[1:3])):
        for name in ("row", "column", "u", "v"):
            values = getattr(result, name)
            assert isinstance(values, Tensor)
            assert values.values.tolist() == getattr(other, name).tolist()
    assert found.pairs() == expected.pairs()


def test_nan_in_a_tensor_has_a_place() -> None:
    costs = np.ones((2, 3, 3))
    costs[1, 2, 0] = np.nan
    with pytest.raises(InvalidInputError, match=r"row 2 and column 0 of matrix \(1,\) is NaN"):
        preflow.linear_assignment(Tensor(costs))


def test_items_of_a_batch_that_stopped() -> None:
    """Bounds that do not meet are those of the item."""
    batch = preflow.linear_assignment(np.random.default_rng(3).random((2, 3, 3)))
    lower, upper = batch.lower_bound.copy(), batch.upper_bound.copy()
    lower[1] -= 1
    stopped = replace(batch, status="approximate", lower_bound=lower, upper_bound=upper)
    assert [one.status for one in stopped] == ["optimal", "approximate"]
    assert stopped[1].gap == pytest.approx(1)
    with pytest.raises(NotOptimalError):
        _ = stopped[1].cost


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_lists_and_items_on_a_gpu(gpu: runtime.Device, library: str) -> None:
    module = pytest.importorskip(library)
    costs = matrices(np.float32)
    there = [gpu.xp.asarray(each) if library == "cupy" else module.from_numpy(each).cuda() for each in costs]
    expected, found = preflow.linear_assignment(costs), preflow.linear_assignment(there)
    found.verify()
    assert found.pairs() == expected.pairs() == [one.pairs() for one in found]
    for one, cost in zip(found, costs, strict=True):
        one.verify()
        assert type(one.row) is type(one.u) is type(there[0])
        assert one.u.shape == cost.shape[:1]
        assert one.cost == pytest.approx(preflow.linear_assignment(cost).cost)
    found[1:3].verify()
