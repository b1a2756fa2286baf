"""verify() of every result of `preflow.vision` refuses every field that is wrong, and raises nothing else."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import vision
from preflow.errors import VerificationError

RNG = np.random.default_rng(3)
IMAGE = np.clip(np.add.outer(np.arange(6), np.arange(7)) * 18 + RNG.integers(0, 20, (6, 7)), 0, 255)
BRIGHT = RNG.integers(0, 20, (8, 9)) + 100 * (
    np.add.outer(abs(np.arange(8) - 3.5), abs(np.arange(9) - 4)) < 3
)
SEEDS = np.zeros((2, 6, 7), bool)
SEEDS[0, 1, 1:3] = SEEDS[1, 4, 5] = True
MARKERS = SEEDS[0] + 2 * SEEDS[1]
MARKERS[0, 6], MARKERS[5, 0] = 5, -1
TEXTURE = RNG.random((16, 24))
PHASE = np.angle(np.exp(1j * np.add.outer(np.arange(6) ** 1.7, np.arange(5) * 1.3)))
DATA = RNG.random((3, 4, 5))


def _binary(scale: float = 1.0) -> Any:
    unary = np.random.default_rng(1).random((5, 2)) * scale
    return vision.BinaryEnergy(unary, [(0, 1), (1, 2), (3, 4)], np.array([[0, 0.3], [0.4, 0]]))


def _graph(seed: int = 0) -> Any:
    data = np.random.default_rng(seed).random((3, 5))
    return vision.GraphLabelEnergy(data, [0, 1, 2, 3], [1, 2, 3, 4], vision.potts(3), 0.2)


def _two(make: Callable[[int], Any]) -> tuple[Any, Any]:
    """Return a result, and that of another problem of the same shape."""
    return make(0), make(1)


#: For each type of result two of them, of problems that differ.
SAMPLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "EnergyMinimum": lambda: _two(lambda k: vision.minimize_energy(_binary(1 + k))),
    "EnergyMinimum of integers": lambda: _two(
        lambda k: vision.minimize_energy(
            vision.BinaryEnergy([[4 + k, 0], [0, 1]], [[0, 1]], [[0, 5], [5, 0]])
        )
    ),
    "Labelling": lambda: _two(lambda k: vision.alpha_expansion(DATA + k * DATA[::-1], vision.potts(3), 0.2)),
    "Labelling of integers": lambda: _two(
        lambda k: vision.alpha_beta_swap((900 * DATA).astype(int)[:, :, :: 1 - 2 * k], vision.potts(3), 170)
    ),
    "GraphLabelling": lambda: _two(lambda k: vision.label_graph(_graph(k))),
    "Denoised": lambda: _two(lambda k: vision.denoise(IMAGE[:, :: 1 - 2 * k], 12.0, levels=8)),
    "Denoised channels": lambda: _two(
        lambda k: vision.denoise(np.stack([DATA[k], DATA[1]]), 0.2, levels=4, channel_axis=0)
    ),
    "Segmentation": lambda: _two(lambda k: vision.segment(IMAGE + k * 40 * SEEDS[0], *SEEDS)),
    "GrabCut": lambda: _two(lambda k: vision.grabcut(BRIGHT, (1, 1 + k, 6, 7), smoothness=2.0, components=1)),
    "LabelSegmentation": lambda: _two(
        lambda k: vision.segment_labels(IMAGE + k * 40 * SEEDS[0], MARKERS, smoothness=1.0)
    ),
    "Stereo": lambda: _two(lambda k: vision.match_stereo(TEXTURE[:, k : 18 + k], TEXTURE[:, 2:20], 4)),
    "OpticalFlow": lambda: _two(
        lambda k: vision.find_optical_flow(TEXTURE[1:13, k : 14 + k], TEXTURE[:12, 2:16], max_displacement=3)
    ),
    "OpticalFlow by assignment": lambda: _two(
        lambda k: vision.find_optical_flow(
            TEXTURE[1:13, k : 14 + k],
            TEXTURE[:12, 2:16],
            max_displacement=2,
            method="assignment",
            patch=6,
            radius=2,
        )
    ),
    "UnwrappedPhase": lambda: _two(lambda k: vision.unwrap_phase(PHASE * (1 - 2 * k) + k)),
}

#: What a result tells and no proof covers, of each type: work that was done, seeds
#: that were left out, and a weaker claim than is true.
TOLD: dict[str, set[str]] = {
    "EnergyMinimum": {"stats"},
    "Labelling": {"moves", "sweeps", "seconds", "history", "converged", "stopped", "kind"},
    "GraphLabelling": {"moves", "sweeps", "seconds", "history", "converged"},
    "GrabCut": {"energies", "converged", "background"},
    "Stereo": {"seconds"},
    "OpticalFlow": {"seconds", "assignments"},
}
#: Terms that were given; other terms with the same answer are no error.
GIVEN = {"energy", "energy_terms", "cut", "flow", "labelling", "left", "right", "cuts"}


class _Other:
    """Something that is no field of any result."""


def _wrong(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield values that a field cannot have, or that differ from the right one."""
    yield from (("nothing", None), ("an object", _Other()), ("a word", "garbage"), ("a list", [[1], 2]))
    if isinstance(value, bool):
        yield "the opposite", not value
    elif isinstance(value, int | float):
        for other in (float("nan"), float("inf"), -float("inf"), -(2.0**62), 2**63 - 1, value + 1, value - 1):
            yield repr(other), other
    elif isinstance(value, np.ndarray):
        yield from _wrong_arrays(value)
    elif isinstance(value, tuple):
        yield from (("()", ()), ("one less", value[:-1]), ("one more", (*value, *value[-1:])))
        yield "other entries", tuple(_Other() for _ in value)
        yield "NaN", tuple(float("nan") for _ in value)
    elif isinstance(value, dict):
        yield from (("NaN", {"cuts": float("nan")}), ("no name", {1: 1.0}), ("none", {"cuts": None}))


def _wrong_arrays(array: np.ndarray[Any, Any]) -> Iterator[tuple[str, Any]]:
    yield from (("a row less", array[:-1]), ("an axis more", array[np.newaxis]), ("a number", array.flat[0]))
    yield "another dtype", array.astype(np.complex128)
    yield "objects", np.full(array.shape, _Other(), object)
    whole = array.dtype.kind in "iu"
    extremes = (np.iinfo(array.dtype).max, np.iinfo(array.dtype).min) if whole else (np.nan, np.inf)
    for place in {0, array.size // 2, array.size - 1}:
        changed = array.copy()
        if array.dtype == bool:
            changed.flat[place] ^= True
            yield f"entry {place}", changed
            continue
        for new in (array.flat[place] + 1, *extremes):
            changed = array.copy()
            changed.flat[place] = new
            yield f"entry {place} is {new}", changed


def _with(result: Any, name: str, value: Any) -> Any:
    changed = copy.copy(result)
    object.__setattr__(changed, name, value)
    return changed


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.filterwarnings("error")
def test_every_field_is_proved(kind: str) -> None:
    result, other = SAMPLES[kind]()
    result.verify()
    other.verify()
    told = TOLD.get(type(result).__name__, set())
    accepted = []
    for field in dataclasses.fields(result):
        if field.name.startswith("_"):
            continue
        right = getattr(result, field.name)
        wrong = list(_wrong(right))
        wrong.append(("that of another problem", getattr(other, field.name)))
        for what, value in wrong:
            if value is right or (isinstance(value, type(right)) and np.array_equal(value, right)):
                continue
            if field.name == "right" and value is None:
                continue
            try:
                _with(result, field.name, value).verify()
            except VerificationError:
                continue
            if field.name not in told and not (field.name in GIVEN and value is getattr(other, field.name)):
                accepted.append(f"{field.name}: {what}")
    assert not accepted


@pytest.mark.parametrize("kind", SAMPLES)
def test_arrays_cannot_be_written(kind: str) -> None:
    result, _ = SAMPLES[kind]()
    for each in (result, copy.deepcopy(result)):
        for field in dataclasses.fields(each):
            value = getattr(each, field.name)
            if isinstance(value, np.ndarray) and not field.name.startswith("_"):
                assert not value.flags.writeable, field.name


def test_samples_are_complete() -> None:
    results = {
        name
        for name in vision.__all__
        if inspect.isclass(found := getattr(vision, name)) and hasattr(found, "verify")
    }
    assert results == {kind.split()[0] for kind in SAMPLES}
    assert preflow.__all__


def test_results_with_coordinates_are_proved() -> None:
    image = pytest.importorskip("xarray").DataArray(IMAGE, dims=("y", "x"))
    for result in (
        vision.denoise(image, 12.0, levels=8),
        vision.segment(image, *SEEDS),
        vision.segment_labels(image, MARKERS),
        vision.grabcut(image, (1, 1, 5, 6), smoothness=2.0, components=1),
    ):
        for each in (result, copy.deepcopy(result)):
            each.verify()
