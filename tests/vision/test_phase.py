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
    ("phase", "weights", "message"),
    [
        (np.zeros(3), None, "phase must be a picture"),
        (np.zeros((0, 5)), None, "no pixels"),
        ([[0, 1e300], [0, 0]], None, "more than"),
        (np.zeros((2, 2)), np.full((2, 2), 2**63, dtype=np.uint64), "does not fit int64"),
        ([[0, np.nan], [0, 0]], None, r"phase has .* not finite: nan at \(0, 1\)"),
        (np.zeros((2, 2)), np.ones(2), "weights must be numbers of shape"),
        (np.zeros((2, 2)), -np.ones((2, 2)), "a weight is negative"),
    ],
)
def test_bad_input(phase: Any, weights: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        unwrap_phase(phase, weights=weights)


def test_one_row_or_column() -> None:
    """There are no squares, so all wrapped differences are right."""
    truth = np.arange(12) * 1.7
    phase = np.angle(np.exp(1j * truth))
    for shape in ((1, 12), (12, 1)):
        result = unwrap_phase(phase.reshape(shape), weights=np.full(shape, 3, dtype=np.uint8))
        result.flow.verify()
        np.testing.assert_allclose(result.phase.ravel(), truth, atol=1e-9)
    assert unwrap_phase([[4.0]]).turns.tolist() == [[0]]


def test_a_masked_picture_says_how_to_leave_pixels_out() -> None:
    truth = np.add.outer(np.arange(12) * 0.9, np.arange(14) * 0.7)
    hole = np.zeros(truth.shape, dtype=bool)
    hole[3:8, 4:9] = True
    noise = np.angle(np.exp(1j * truth))
    noise[hole] = np.random.default_rng(0).uniform(-3, 3, hole.sum())
    masked = np.ma.masked_array(noise, hole)
    with pytest.raises(
        InvalidInputError, match=r"phase\.filled\(0\) and weights=~np\.ma\.getmaskarray\(phase\)"
    ):
        unwrap_phase(masked)
    result = unwrap_phase(masked.filled(0), weights=~np.ma.getmaskarray(masked))
    result.verify()
    assert np.allclose(result.phase[~hole], truth[~hole])
