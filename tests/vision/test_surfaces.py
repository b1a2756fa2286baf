"""layered_surfaces: no other surfaces within the limits cost less."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflow.errors import CapacityOverflowError, InvalidInputError, NotOptimalError, VerificationError
from preflow.gridcut import policy
from preflow.vision import layered_surfaces

INF = np.inf


def keeps(surfaces: Any, step: Any, least: Any, most: Any) -> Any:
    """Return whether surfaces, or each of many, keep all limits, which have the shapes of `Limits`."""
    axes = step.shape[1]
    spatial = tuple(range(-axes, 0))
    kept = np.ones(surfaces.shape[: -axes - 1], dtype=bool)
    for axis in spatial:
        bound = step[:, axis].reshape(-1, *(1,) * axes)
        kept &= (abs(np.diff(surfaces, axis=axis)) <= bound).all(axis=(-axes - 1, *spatial))
    apart = np.diff(surfaces, axis=-axes - 1)
    low, high = (each.reshape(-1, *(1,) * axes) for each in (least, most))
    return kept & ((low <= apart) & (apart <= high)).all(axis=(-axes - 1, *spatial))


def best_of_all(cost: Any, step: Any, least: Any, most: Any) -> Any:
    """Return the least cost of all surfaces and the highest ones that have it; None if there are none."""
    *shape, depth = cost.shape
    heights = np.indices((depth,) * int(np.prod(shape))).reshape(np.prod(shape), -1).T.reshape(-1, *shape)
    heights = heights[keeps(heights, step, least, most)]
    paid = np.take_along_axis(cost[None], heights[..., None], axis=-1)
    paid = paid.sum(axis=tuple(range(1, paid.ndim)), dtype=np.float64)
    best = paid.min(initial=INF)
    return None if best == INF else (best, heights[paid == best].max(axis=0))


def best_along_a_row(cost: Any, step: Any, least: Any, most: Any) -> Any:
    """Return the least cost of surfaces over a row of columns, by dynamic programming; infinite if none."""
    k, _, depth = cost.shape
    states = np.array(
        [
            heights
            for heights in itertools.product(range(depth), repeat=k)
            if ((least <= np.diff(heights)) & (np.diff(heights) <= most)).all()
        ]
    ).reshape(-1, k)
    near = (abs(states[:, None] - states[None]) <= step[:, 0]).all(axis=2)
    total = np.zeros(len(states))
    for number, column in enumerate(np.moveaxis(cost, 1, 0)):
        own = column[np.arange(k), states].sum(axis=1)
        total = own + (np.where(near, total, INF).min(axis=1) if number else 0)
    return total.min(initial=INF)


def limits_of(rng: np.random.Generator, k: int, axes: int, depth: int) -> dict[str, Any]:
    """Return random limits, mostly such that there are surfaces."""
    least = rng.integers(0, 3, k - 1)
    return {
        "step": rng.integers(0, depth + 1, (k, axes)) // rng.integers(1, 3),
        "least": least,
        "most": least + rng.integers(0, depth, k - 1),
    }


def solved(cost: Any, step: Any, least: Any, most: Any, **arguments: Any) -> Any:
    result = layered_surfaces(cost, max_step=step, min_gap=least, max_gap=most, **arguments)
    result.verify()
    assert keeps(result.surfaces, step, least, most)
    paid = np.take_along_axis(cost, result.surfaces[..., None], axis=-1).sum()
    assert paid == pytest.approx(result.cost, rel=1e-12, abs=1e-12)
    return result


SHAPES = [
    (1, 4, 4),
    (1, 2, 2, 4),
    (2, 3, 4),
    (3, 2, 4),
    (2, 2, 2, 3),
    (1, 2, 3, 3),
    (2, 1, 2, 5),
    (1, 5, 1),
    (1, 1, 7),
]


@given(seed=st.integers(0, 2**32), shape=st.sampled_from(SHAPES), share=st.sampled_from([0.0, 0.0, 0.2, 0.5]))
def test_no_other_surfaces_cost_less(seed: int, shape: tuple[int, ...], share: float) -> None:
    """The highest ones of least cost are found; there is one clear error where there are none."""
    rng = np.random.default_rng(seed)
    limits = limits_of(rng, shape[0], len(shape) - 2, shape[-1])
    cost = rng.integers(-5, 6, shape)
    if share:
        cost = np.where(rng.random(shape) < share, INF, cost)
    expected = best_of_all(cost, **limits)
    if expected is None:
        with pytest.raises(InvalidInputError, match=r"no surfaces keep|leaves no room|has no place"):
            solved(cost, **limits)
        return
    result = solved(cost, **limits)
    assert result.gap == 0
    assert result.cost == expected[0]
    np.testing.assert_array_equal(result.surfaces, expected[1])


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, depth = [(1, 30), (2, 9), (3, 6)][seed % 3]
    shape = k, int(rng.integers(5, 40)), depth
    limits = limits_of(rng, k, 1, depth // 3)
    cost = rng.standard_normal(shape) * 10.0 ** rng.integers(-30, 30)
    if seed % 2:
        cost[rng.random(shape) < 0.1] = INF
    expected = best_along_a_row(cost, **limits)
    if expected == INF:
        with pytest.raises(InvalidInputError, match=r"no surfaces keep|leaves no room"):
            solved(cost, **limits)
        return
    result = solved(cost, **limits)
    assert result.cost == pytest.approx(expected, rel=1e-12)
    assert 0 <= result.gap <= 1e-12 * np.abs(cost[cost < INF]).sum()


def test_limits_of_each_surface_and_axis() -> None:
    cost = np.random.default_rng(0).integers(0, 50, (2, 6, 7, 12))
    result = layered_surfaces(cost, max_step=[[0, 3], [2, 1]], min_gap=[2], max_gap=5)
    result.verify()
    step = np.array([[0, 3], [2, 1]])
    assert keeps(result.surfaces, step, np.array([2]), np.array([5]))
    assert (np.diff(result.surfaces[0], axis=0) == 0).all()
    same = layered_surfaces(cost, max_step=2, min_gap=0)
    assert same.cost == layered_surfaces(cost, max_step=[2, 2], min_gap=[0], max_gap=[99]).cost
    assert "2 surfaces, 6 x 7 columns" in repr(same)


@pytest.mark.parametrize("threads", [1, 2])
def test_methods_and_kinds_of_numbers_agree(threads: int) -> None:
    cost = np.random.default_rng(1).integers(0, 200, (3, 30, 31, 16)).astype(np.uint8)
    first = layered_surfaces(cost, max_step=2, threads=threads)
    first.verify()
    for other in (
        layered_surfaces(cost.astype(np.float32) / 256, max_step=2),
        layered_surfaces(cost, max_step=2, method="multicore-lockfree", threads=threads),
        layered_surfaces(cost.tolist(), max_step=2, method="serial-incremental-bfs"),
    ):
        other.verify()
        np.testing.assert_array_equal(other.surfaces, first.surfaces)
    assert layered_surfaces(cost / 256, max_step=2).cost == first.cost / 256
    assert layered_surfaces(cost / 256, max_step=2).gap == 0


def test_a_search_goes_on_where_arcs_lead_one_way() -> None:
    cost = np.random.default_rng(0).integers(0, 9, (2, 6, 7, 12))
    network = layered_surfaces(cost).cut.network
    assert len(network.offsets) > policy.FEW_NEIGHBOURS
    (first, *_) = policy.choose(network).attempts
    assert first.method == "serial-incremental-bfs"
    assert first.budget == policy.ORPHANS_PER_ARC


def test_a_band_of_allowed_places() -> None:
    rng = np.random.default_rng(2)
    cost = rng.random((1, 40, 30))
    middle = (15 + 8 * np.sin(np.arange(40) / 6)).astype(int)[:, None]
    cost[0][abs(np.arange(30) - middle) > 3] = INF
    result = layered_surfaces(cost, max_step=2)
    result.verify()
    assert (abs(result.surfaces[0] - middle[:, 0]) <= 3).all()
    assert result.cost == pytest.approx(
        best_along_a_row(cost, np.array([[2]]), np.zeros(0), np.zeros(0)), rel=1e-12
    )


@pytest.mark.parametrize(
    ("cost", "arguments", "message"),
    [
        (np.zeros((3, 4)), {}, r"cost must be numbers .* of one surface give cost\[None\]"),
        (np.zeros((1, 0, 4)), {}, "cost must be numbers"),
        (np.full((1, 2, 2), np.nan), {}, r"cost has values that are not finite: nan at \(0, 0, 0\)"),
        (np.full((1, 2, 2), -INF), {}, "not finite"),
        ([[[0, 1], [INF, INF]]], {}, r"surface 0 has no place in column \(1,\)"),
        (np.zeros((3, 2, 2)), {}, "min_gap leaves no room: 3 surfaces need 3 places, a column has 2"),
        (np.zeros((2, 2, 4)), {"min_gap": 2, "max_gap": 1}, "min_gap is 2 and max_gap 1 above surface 0"),
        (np.zeros((2, 2, 4)), {"max_step": -1}, "max_step must not be negative"),
        (np.zeros((2, 2, 4)), {"max_step": 0.5}, "max_step must be an integer, or integers of shape"),
        (np.zeros((2, 2, 4)), {"max_step": [1, 2]}, r"of shape \(1,\) or \(2, 1\), got int64"),
        (np.zeros((2, 2, 4)), {"min_gap": [1, 2]}, r"min_gap .* integers of shape \(1,\), got"),
        ([[[0, INF, INF], [INF, INF, 0]]], {}, "no surfaces keep all limits"),
    ],
)
def test_bad_input(cost: Any, arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        layered_surfaces(cost, **arguments)


def test_large_costs() -> None:
    with pytest.raises(CapacityOverflowError, match=r"cost has values of 2\*\*57"):
        layered_surfaces([[[2**60, 0]]])
    with pytest.raises(CapacityOverflowError, match=r"differences along columns sum to 2\*\*57"):
        layered_surfaces(np.full((1, 4, 2), [0, 2**56]))
    with pytest.raises(CapacityOverflowError, match="past float64"):
        layered_surfaces(np.full((1, 4, 2), 1e308))
    result = layered_surfaces(np.full((1, 4, 2), [1e300, -1e-300]))
    result.verify()
    assert result.surfaces.tolist() == [[1] * 4]


def test_a_time_limit() -> None:
    with pytest.raises(NotOptimalError, match="time limit"):
        layered_surfaces(np.random.default_rng(0).random((2, 60, 60, 40)), time_limit=1e-9)


def test_damage_is_found() -> None:
    cost = np.random.default_rng(0).integers(0, 9, (2, 5, 8))
    result = layered_surfaces(cost)
    other = layered_surfaces(cost[::-1])
    for field in ("surfaces", "cost", "cut", "_given"):
        with pytest.raises(VerificationError):
            replace(result, **{field: getattr(other, field)}).verify()
