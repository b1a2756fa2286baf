"""Signals and series of volumes: arrays of one and of four axes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError, UnsuitableMethodError
from preflow.vision import alpha_expansion, denoise, grabcut, potts, segment, segment_labels
from tests.support.cuda_on_cpu.arrays import OnGpu

SHAPES = [(40,), (3, 4, 6, 7)]
CPU = [method.name for method in preflow.methods("grid_cut") if method.device == "cpu"]


def object_in(shape: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    """Return an image with noise, the object, and seeds of both kinds."""
    truth = np.zeros(shape, dtype=bool)
    truth[tuple(slice(length // 4, length - length // 4) for length in shape)] = True
    image = truth + np.random.default_rng(0).normal(scale=0.1, size=shape)
    foreground, background = np.zeros((2, *shape), dtype=bool)
    foreground[tuple(length // 2 for length in shape)] = True
    background.reshape(-1)[[0, -1]] = True
    return image, truth, foreground, background


@pytest.mark.parametrize("shape", SHAPES)
def test_segmentation(shape: tuple[int, ...]) -> None:
    image, truth, foreground, background = object_in(shape)
    options = {"smoothness": 2.0, "model": "mixture", "components": 1}
    result = segment(image, foreground, background, **options)
    assert result.mask.shape == shape
    assert (result.mask == truth).mean() > 0.95
    result.cut.verify()
    spaced = segment(image, foreground, background, spacing=np.arange(1, len(shape) + 1), **options)
    spaced.cut.verify()
    channels = np.stack([image, image], axis=-1)
    assert segment(channels, foreground, background, **options).mask.shape == shape
    corners = [length // 8 for length in shape] + [length - length // 8 for length in shape]
    inside = np.zeros(shape, dtype=bool)
    inside[tuple(map(slice, corners[: len(shape)], corners[len(shape) :]))] = True
    if not inside.all():
        boxed = grabcut(image, corners, components=1, smoothness=2)
        boxed.cut.verify()
        assert (boxed.mask == grabcut(image, inside, components=1, smoothness=2).mask).all()
    labels = segment_labels(image, foreground + 2 * background, smoothness=2)
    labels.verify()
    assert labels.labels.shape == shape
    smooth = denoise(image, 0.2 / len(shape) ** 2, levels=16)
    smooth.verify()
    assert np.abs(smooth.image - truth).mean() < np.abs(image - truth).mean()
    pytest.importorskip("imageio")
    assert all(each._repr_png_() for each in (result, labels, smooth, labels.labelling))


def test_the_least_energy_of_a_signal() -> None:
    """Against all labellings."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        data = rng.integers(0, 9, (2, 6))
        result = alpha_expansion(data, potts(2), 3)
        result.verify()
        energies = [result.energy_terms.energy(np.array(f)) for f in itertools.product((0, 1), repeat=6)]
        assert result.energy == min(energies)
        chosen = np.array(result.labels)
        pairs = np.count_nonzero(chosen[1:] != chosen[:-1])
        assert result.energy == data[chosen, np.arange(6)].sum() + 3 * pairs


@pytest.mark.parametrize("method", CPU)
@pytest.mark.parametrize("shape", [(9,), (2, 3, 4, 3), (1, 2, 1, 2, 2)])
def test_cuts_of_all_methods(shape: tuple[int, ...], method: str) -> None:
    source, sink = np.random.default_rng(0).integers(0, 20, (2, *shape))
    grid = preflow.GridNetwork.from_arrays(source, sink, 3)
    result = preflow.grid_cut(grid, method=method)
    result.verify()
    problem = grid.to_flow_problem()
    assert result.value == preflow.min_cut(problem.network, problem.source, problem.sink).value


@pytest.mark.usefixtures("cpu_device")
def test_methods_on_a_gpu_take_three_axes() -> None:
    source, sink = np.random.default_rng(0).integers(0, 20, (2, 2, 3, 2, 3))
    expected = preflow.grid_cut(source, sink, 3, device="cpu").value
    with pytest.raises(UnsuitableMethodError, match="up to 3 axes, this one has 4: the methods on the CPU"):
        preflow.grid_cut(source, sink, 3, device="cuda")
    there = preflow.grid_cut(OnGpu(source), OnGpu(sink), 3)
    assert there.value == expected
    assert isinstance(there.labels, OnGpu)
    there.verify()


def test_five_axes_are_refused() -> None:
    mask = np.zeros((2, 2, 2, 2, 2), dtype=bool)
    with pytest.raises(InvalidInputError, match="1 to 4 axes"):
        segment(mask, mask, mask)
    with pytest.raises(InvalidInputError, match="1 to 4 axes"):
        segment_labels(mask, mask.astype(int))
    with pytest.raises(InvalidInputError, match="1 to 4 axes"):
        denoise(mask, 1)
    with pytest.raises(InvalidInputError, match="1 to 4 other axes"):
        alpha_expansion(np.zeros((2, 2, 2, 2, 2, 2)), potts(2))
