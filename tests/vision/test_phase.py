"""unwrap_phase: smooth pictures come back, and corrections are the cheapest."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from preflow.errors import InvalidInputError
from preflow.vision import unwrap_phase

TURN = 2 * np.pi


def wrapped(phase: Any) -> Any:
    return phase - TURN * np.rint(phase / TURN)


def corrections(phase: Any, turns: Any, weights: Any) -> float:
    """Return what turns cost: for each two neighbours the turns by which their wrapped difference changes."""
    total = 0.0
    for axis in (0, 1):
        change = np.diff(phase + TURN * turns, axis=axis) - wrapped(np.diff(phase, axis=axis))
        pair = np.minimum(
            *(np.take(weights, np.arange(i, weights.shape[axis] - 1 + i), axis) for i in (0, 1))
        )
        total += float((pair * np.abs(np.rint(change / TURN))).sum())
    return total


def test_a_smooth_picture_comes_back() -> None:
    y, x = np.mgrid[:40, :60] / 60
    truth = 30 * np.exp(-8 * ((y - 0.3) ** 2 + (x - 0.5) ** 2)) + 12 * x
    result = unwrap_phase(wrapped(truth))
    np.testing.assert_allclose(result.phase - result.phase[0, 0], truth - truth[0, 0], atol=1e-9)
    assert result.corrections == 0
    result.flow.verify()


@pytest.mark.parametrize("seed", range(6))
def test_the_corrections_are_the_cheapest(seed: int) -> None:
    """No other turns of a small random picture cost less."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(-np.pi, np.pi, (3, 3))
    weights = rng.integers(0, 5, (3, 3)) if seed % 2 else rng.random((3, 3))
    result = unwrap_phase(phase, weights=weights)
    result.flow.verify()
    assert corrections(phase, result.turns, weights) == pytest.approx(result.corrections)
    best = min(
        corrections(phase, np.array([0, *others]).reshape(3, 3), weights)
        for others in itertools.product((-1, 0, 1), repeat=8)
    )
    assert result.corrections <= best + 1e-9


def test_noise_with_many_residues() -> None:
    rng = np.random.default_rng(1)
    phase = rng.uniform(-np.pi, np.pi, (60, 50))
    result = unwrap_phase(phase)
    result.flow.verify()
    np.testing.assert_allclose(wrapped(result.phase - phase), 0, atol=1e-9)
    assert corrections(phase, result.turns, np.ones((60, 50))) == result.corrections > 0
    assert result.turns[0, 0] == 0


@pytest.mark.parametrize(
    ("phase", "arguments", "message"),
    [
        (np.zeros(3), {}, "phase must be a picture"),
        (np.zeros((0, 5)), {}, "no pixels"),
        ([[0, 1e300], [0, 0]], {}, "more than"),
        (np.zeros((2, 2)), {"weights": np.full((2, 2), 2**63, dtype=np.uint64)}, "does not fit int64"),
        ([[0, np.inf], [np.nan, 0]], {}, r"phase has .* not finite: inf at \(0, 1\)"),
        (np.zeros((2, 2)), {"weights": np.ones(2)}, "weights must be numbers of shape"),
        (np.zeros((2, 2)), {"weights": -np.ones((2, 2))}, "a weight is negative"),
        (
            np.zeros((2, 2)),
            {"mask": np.ones((2, 3), bool)},
            r"mask must be bools of shape \(2, 2\), got bool of",
        ),
        (np.zeros((2, 2)), {"mask": np.ones((2, 2))}, "mask must be bools .* got float64"),
    ],
)
def test_bad_input(phase: Any, arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        unwrap_phase(phase, **arguments)


def test_one_row_or_column() -> None:
    """There are no squares, so all wrapped differences are right."""
    truth = np.arange(12) * 1.7
    phase = np.angle(np.exp(1j * truth))
    for shape in ((1, 12), (12, 1)):
        result = unwrap_phase(phase.reshape(shape), weights=np.full(shape, 3, dtype=np.uint8))
        result.flow.verify()
        np.testing.assert_allclose(result.phase.ravel(), truth, atol=1e-9)
    assert unwrap_phase([[4.0]]).turns.tolist() == [[0]]


def pieces_of(holes: Any) -> Any:
    """Return a number for each pixel: the first pixel of its piece; -1 in holes."""
    height, width = holes.shape
    number = np.where(holes, -1, np.arange(holes.size).reshape(holes.shape))
    for _ in range(holes.size):
        for y, x in itertools.product(range(height), range(width)):
            for v, u in ((y + 1, x), (y, x + 1)):
                if v < height and u < width and not holes[y, x] and not holes[v, u]:
                    number[y, x] = number[v, u] = min(number[y, x], number[v, u])
    return number


@pytest.mark.parametrize("seed", range(30))
def test_holes_take_no_part(seed: int) -> None:
    """No other turns cost less, and each piece begins at its own value."""
    rng = np.random.default_rng(seed)
    shape = [(3, 3), (2, 5), (4, 2)][seed % 3]
    phase = rng.uniform(-np.pi, np.pi, shape)
    weights = rng.integers(0, 5, shape) if seed % 2 else rng.random(shape)
    holes = rng.random(shape) < rng.choice([0.15, 0.3, 0.6])
    result = unwrap_phase(phase, weights=weights, mask=~holes)
    result.verify()
    within = np.where(holes, 0, weights)
    assert corrections(phase, result.turns, within) == pytest.approx(result.corrections)
    best = min(
        corrections(phase, np.array(turns).reshape(shape), within)
        for turns in itertools.product(*((0,) if hole else (-1, 0, 1) for hole in holes.flat))
    )
    assert result.corrections <= best + 1e-9
    number = pieces_of(holes)
    assert not result.turns.ravel()[number[number >= 0]].any()
    np.testing.assert_array_equal(result.phase, np.where(holes, np.nan, phase + TURN * result.turns))
    unknown = np.where(holes, np.nan, phase)
    for same in (
        unwrap_phase(unknown, weights=np.where(holes, np.nan, weights)),
        unwrap_phase(np.ma.masked_array(np.where(holes, np.inf, phase), holes), weights=weights),
    ):
        same.verify()
        np.testing.assert_array_equal(same.phase, result.phase)
        assert same.corrections == result.corrections


def test_pieces_are_unwrapped_one_by_one() -> None:
    truth = np.add.outer(np.arange(12) * 0.9, np.arange(14) * 0.7)
    holes = np.zeros(truth.shape, dtype=bool)
    holes[3:8, 4:9] = True
    holes[:, 10] = holes[5] = True
    result = unwrap_phase(wrapped(truth), mask=~holes)
    result.verify()
    assert result.corrections == 0
    number = pieces_of(holes)
    for first in np.unique(number[~holes]):
        missing = (truth - result.phase)[number == first] / TURN
        np.testing.assert_allclose(missing, np.rint(missing[0]), atol=1e-9)
        assert result.turns.flat[first] == 0


def test_a_picture_that_is_a_hole() -> None:
    for result in (
        unwrap_phase(np.full((3, 4), np.nan)),
        unwrap_phase(np.ones((3, 4)), mask=np.zeros((3, 4), bool)),
    ):
        result.verify()
        assert np.isnan(result.phase).all()
        assert not result.turns.any()
