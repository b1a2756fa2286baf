"""Batches of grids: against single cuts, with every kind of capacity, and input that is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.certify.grid_batch import sums_of_items
from preflow.errors import (
    InvalidInputError,
    NotOptimalError,
    UnboundedFlowError,
    VerificationError,
)
from preflow.gridcut.batch import api
from preflow.solving.call import Request
from tests.support.strategies import SmallGrid, small_grids

SHAPES = {2: (7, 6), 3: (3, 4, 5)}


def batch_of(rng: np.random.Generator, items: int, shape: tuple[int, ...], factor: float) -> tuple[Any, ...]:
    """Return capacities from the source, to the sink, and between neighbours both ways."""
    directions = 2 * len(shape)
    source, sink = (rng.integers(0, 40, (items, *shape)) * factor for _ in range(2))
    return source, sink, rng.integers(0, 15, (items, directions, *shape)) * factor


def check(result: preflow.GridCutBatchResult, alone: list[preflow.GridCutResult]) -> None:
    """Check a result against single cuts."""
    result.verify()
    assert result.status == "optimal"
    assert len(result) == len(alone)
    for item, (one, expected) in enumerate(zip(result, alone, strict=True)):
        one.verify()
        assert one.value == result.value[item]
        assert abs(one.value - expected.value) <= one.gap + expected.gap
        if one.gap == 0:
            np.testing.assert_array_equal(one.labels, expected.labels)
            assert one.energy == one.value
        np.testing.assert_array_equal(one.labels, result.labels[item])


@pytest.mark.parametrize("factor", [1, 2**40, 1.0, 0.37])
@pytest.mark.parametrize("ndim", SHAPES)
@pytest.mark.parametrize("group", [1, 100, 1 << 16])
def test_single_cuts(factor: float, ndim: int, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PIXELS_A_GROUP", group)
    rng = np.random.default_rng(ndim)
    source, sink, neighbor = batch_of(rng, 7, SHAPES[ndim], factor)
    for threads in (1, 3):
        given: dict[str, Any] = {"connectivity": 2 * ndim, "threads": threads}
        result = preflow.grid_cut_batch(source, sink, neighbor, **given)
        given["threads"] = 1
        check(
            result, [preflow.grid_cut(*parts, **given) for parts in zip(source, sink, neighbor, strict=True)]
        )
    assert (result.value.dtype.kind == "f") == (factor == 0.37)


@settings(max_examples=40)
@given(
    grid=small_grids(kinds=("few", "many", "one-way", "whole-floats", "fractional"), most=(9, 6, 3)),
    items=st.integers(1, 4),
)
def test_many_kinds_of_grids(grid: SmallGrid, items: int) -> None:
    rng = np.random.default_rng(items)
    source = np.stack([rng.permutation(grid.source.ravel()).reshape(grid.source.shape) for _ in range(items)])
    sink = np.stack([grid.sink] * items)
    source = np.where(np.isinf(sink) & np.isinf(source), 0, source)
    result = preflow.grid_cut_batch(source, sink, grid.neighbor, connectivity=grid.connectivity, threads=1)
    check(
        result,
        [preflow.grid_cut(each, grid.sink, grid.neighbor, connectivity=grid.connectivity) for each in source],
    )


def test_forms_of_neighbor_capacity() -> None:
    source, sink, _ = batch_of(np.random.default_rng(5), 3, (6, 5), 1)
    expected = [preflow.grid_cut(*parts, 4) for parts in zip(source, sink, strict=True)]
    for neighbor in (4, [4, 4], np.full((2, 6, 5), 4), np.full((3, 2, 6, 5), 4), np.full((3, 2, 1, 1), 4)):
        check(preflow.grid_cut_batch(source, sink, neighbor), expected)
    eight = preflow.grid_cut_batch(source, sink, 4, connectivity=8)
    check(eight, [preflow.grid_cut(*parts, 4, connectivity=8) for parts in zip(source, sink, strict=True)])
    lines = preflow.grid_cut_batch(source[:, 0], sink[:, 0], 4, connectivity=[(1,), (3,)])
    check(
        lines,
        [
            preflow.grid_cut(*p, 4, connectivity=[(1,), (3,)])
            for p in zip(source[:, 0], sink[:, 0], strict=True)
        ],
    )
    check(preflow.grid_cut_batch(source, 9, 4), [preflow.grid_cut(each, 9, 4) for each in source])


def test_items_of_very_different_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """An item whose capacities vanish beside those of its group is solved with a scale of its own."""
    source, sink, neighbor = batch_of(np.random.default_rng(6), 4, (5, 5), 0.37)
    factor = np.array([1, 1e-30, 1e25, 1e-250])
    source, sink = (values * factor[:, None, None] for values in (source, sink))
    neighbor = neighbor * factor[:, None, None, None]
    result = preflow.grid_cut_batch(source, sink, neighbor, connectivity=4)
    check(
        result,
        [preflow.grid_cut(*parts, connectivity=4) for parts in zip(source, sink, neighbor, strict=True)],
    )
    assert (result.gap <= 1e-11 * result.value).all()


def test_seeds_and_negative_capacities() -> None:
    source, sink, _ = batch_of(np.random.default_rng(7), 3, (5, 4), 1.0)
    source[:, 0, 0] = np.inf
    sink[:, 4, 3] = np.inf
    check(
        preflow.grid_cut_batch(source, sink, 5),
        [preflow.grid_cut(*parts, 5) for parts in zip(source, sink, strict=True)],
    )
    for factor in (1, 0.37):
        lower = (source[:, 1:4] - 20) * factor
        check(
            preflow.grid_cut_batch(lower, sink[:, 1:4], 5),
            [preflow.grid_cut(*parts, 5) for parts in zip(lower, sink[:, 1:4], strict=True)],
        )
    sink[1, 0, 0] = np.inf
    with pytest.raises(UnboundedFlowError, match="item 1: pixel"):
        preflow.grid_cut_batch(source, sink, 5)


def test_large_integers() -> None:
    source, sink = np.zeros((3, 2, 2), dtype=np.int64), np.zeros((3, 2, 2), dtype=np.int64)
    source[:, 0] = sink[:, 1] = [[2**61, 2**60], [3, 2**53 + 1], [2**62, 2**62]]
    result = preflow.grid_cut_batch(source, sink, 2**57)
    check(result, [preflow.grid_cut(*parts, 2**57) for parts in zip(source, sink, strict=True)])
    sink[2] = source[2] = 2**62
    result = preflow.grid_cut_batch(source, sink, 3)
    check(result, [preflow.grid_cut(*parts, 3) for parts in zip(source, sink, strict=True)])
    assert result.value[2] == 4 * 2**62
    assert result.value.dtype == object
    whole = preflow.grid_cut_batch(
        [[2.0**53, 2.0**53, 1], [0.5, 0.5, 0]], [[2.0**53, 2.0**53, 1], [1, 1, 0]], 1
    )
    whole.verify()
    np.testing.assert_allclose(whole.value.astype(float), [2.0**54 + 1, 1.0])


def test_nothing() -> None:
    for shape in ((0, 3, 4), (3, 0, 4)):
        result = preflow.grid_cut_batch(np.zeros(shape, int), np.zeros(shape, int), 1)
        result.verify()
        assert result.value.tolist() == [0] * shape[0]
        assert result.labels.shape == shape
        assert [one.value for one in result] == [0] * shape[0]


@pytest.mark.parametrize("factor", [1, 0.37])
def test_stopping(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PIXELS_A_GROUP", 50)
    arrays = batch_of(np.random.default_rng(8), 5, (6, 6), factor)
    network = api.read_grids(*arrays, 4)
    call = api.GridBatchCall.prepare(network, Request(api.METHODS, threads=2))
    call.control.stop[0] = 1
    result = call.find()
    assert result.status == "time-limit"
    assert not result.optimal.any()
    assert "5 grids of 6 x 6, stopped" in repr(result)
    assert (result.lower_bound <= result.upper_bound).all()
    result.verify()
    result[2].verify()
    with pytest.raises(NotOptimalError):
        _ = result.value


def test_a_failing_thread_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PIXELS_A_GROUP", 1)
    arrays = batch_of(np.random.default_rng(9), 30, (4, 4), 1.0)
    arrays[0][11, 2, 2] = arrays[1][11, 2, 2] = np.inf
    with pytest.raises(UnboundedFlowError, match="item 11: "):
        preflow.grid_cut_batch(*arrays, connectivity=4, threads=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2], 1), "at least two axes"),
        ((np.ones((2, 3, 3)), np.ones((2, 3, 4)), 1), "sink_capacity has shape"),
        ((np.ones((2, 3, 3)), 1, np.ones((3, 3))), "neighbor_capacity has shape"),
        ((np.ones((2, 3, 3)), 1, np.ones((3, 2, 3, 3))), "neighbor_capacity has shape"),
        ((np.ones((2, 3, 3)), 1, np.ones((3, 3, 3))), "fits no named neighbourhood"),
        ((np.ones((2, 3, 3)), [[[1, 2, 3]] * 3, [[1, np.nan, 3]] * 3], 1), r"NaN at \(1, 0, 1\)"),
        ((np.ones((2, 3, 3)), 1, -1), "negative"),
    ],
)
def test_input_that_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.grid_cut_batch(*arguments)


CORRUPTIONS: dict[str, Any] = {
    "labels": lambda values: ~values,
    "lower_bound": lambda values: values + 1,
    "optimal": lambda values: np.zeros_like(values),
    "status": lambda value: "done",
    "_gap": lambda values: values[1:],
}


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("factor", [1, 0.37])
def test_wrong_results_are_refused(name: str, factor: float) -> None:
    arrays = batch_of(np.random.default_rng(10), 4, (5, 5), factor)
    result = preflow.grid_cut_batch(*arrays, connectivity=4)
    result.verify()
    wrong = replace(result, **{name: CORRUPTIONS[name](getattr(result, name))})
    if name == "lower_bound":
        wrong = replace(wrong, upper_bound=wrong.lower_bound)
    with pytest.raises(VerificationError):
        wrong.verify()


def test_sums_of_items() -> None:
    rng = np.random.default_rng(11)
    for count in (0, 1, 255, 256, 257, 70_000):
        floats = rng.random((2, count))
        np.testing.assert_allclose(sums_of_items(floats), floats.sum(axis=1), rtol=1e-12)
        integers = rng.integers(2**62, 2**63 - 1, (2, count))
        assert sums_of_items(integers) == [sum(row) for row in integers.tolist()]
        assert sums_of_items(-integers) == [-sum(row) for row in integers.tolist()]
