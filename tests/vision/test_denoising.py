"""Denoising: every small image tried, what the energy means, and what must be refused."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow.errors import InvalidInputError, NotOptimalError, VerificationError
from preflow.vision import denoise

SERIAL = {"method": "serial-incremental-bfs"}


def energy_of(u, f, weight, data, connectivity):
    """Return the energy from its definition, of an image u or of each in a stack of them."""
    difference = np.abs(u - f).reshape(*u.shape[: -f.ndim], -1)
    total = (difference**2).sum(axis=-1) / 2 if data == "squared" else difference.sum(axis=-1)
    pixels = list(np.ndindex(f.shape))
    reach = 1 if connectivity in (4, 6) else f.ndim
    for p, q in itertools.combinations(pixels, 2):
        step = np.abs(np.subtract(p, q))
        if step.max() == 1 and step.sum() <= reach:
            total = total + weight * np.abs(u[..., *p] - u[..., *q]) / np.linalg.norm(step)
    return total


def all_images(grey, shape):
    return np.array(list(itertools.product(grey, repeat=np.prod(shape)))).reshape(-1, *shape)


@settings(max_examples=60)
@given(
    st.sampled_from([((1, 1), 4), ((2, 3), 4), ((2, 3), 8), ((5, 1), 4), ((1, 2, 2), 6), ((2, 1, 2), 26)]),
    st.integers(0, 2**32),
    st.sampled_from([2, 3, 5]),
    st.sampled_from([0, 0.25, 0.5, 0.7, 1.5, 40]),
    st.sampled_from(["squared", "absolute"]),
)
def test_energy_is_the_least_of_all_images(grid, seed, levels, weight, data):
    shape, connectivity = grid
    image = np.random.default_rng(seed).integers(0, levels, size=shape)
    result = denoise(image, weight, data=data, connectivity=connectivity, **SERIAL)
    result.verify()
    least = energy_of(
        all_images(range(image.min(), image.max() + 1), shape), image, weight, data, connectivity
    ).min()
    assert result.energy == pytest.approx(energy_of(result.image, image, weight, data, connectivity))
    assert result.energy == pytest.approx(least, rel=1e-5)
    assert result.image.dtype == image.dtype


def test_fewer_levels_and_floats_are_exact_among_their_values():
    image = np.random.default_rng(1).normal(size=(2, 3))
    result = denoise(image, 0.3, levels=4, connectivity=4, **SERIAL)
    grey = np.linspace(image.min(), image.max(), 4)
    assert np.isclose(result.image[..., np.newaxis], grey).any(axis=-1).all()
    least = energy_of(all_images(grey, (2, 3)), image, 0.3, "squared", 4).min()
    assert result.energy == pytest.approx(least, rel=1e-5)


def test_more_weight_gives_less_variation_down_to_a_constant():
    rng = np.random.default_rng(0)
    image = np.where(np.arange(40) < 20, 60, 160) + rng.normal(scale=15, size=(30, 40))
    image = np.clip(image, 0, 255).astype(np.uint8)
    variation = [
        np.abs(np.diff(denoise(image, weight, **SERIAL).image.astype(int), axis=1)).sum()
        for weight in (0, 5, 20, 1e12)
    ]
    assert variation == sorted(variation, reverse=True)
    assert variation[-1] == 0
    flat = denoise(image, 1e12, **SERIAL).image
    assert abs(float(flat[0, 0]) - image.mean()) <= 0.5
    assert abs(denoise(image, 1e12, data="absolute", **SERIAL).image[0, 0] - np.median(image)) <= 1
    assert (denoise(image, 0, **SERIAL).image == image).all()


def test_outliers_go_and_edges_stay():
    clean = np.where(np.arange(40) < 20, 60, 160).astype(np.uint8) + np.zeros((30, 1), np.uint8)
    image, rng = clean.copy(), np.random.default_rng(0)
    spoiled = rng.random(clean.shape)
    image[spoiled < 0.1], image[spoiled > 0.9] = 0, 255
    assert (denoise(image, 0.3, data="absolute", **SERIAL).image != clean).mean() < 0.01


def test_channels_are_images_of_their_own():
    image = np.random.default_rng(0).random((6, 7, 3)).astype(np.float32)
    result = denoise(image, 0.1, levels=16, channel_axis=-1, **SERIAL)
    one = denoise(image[..., 1], 0.1, levels=16, **SERIAL)
    assert result.image.dtype == np.float32
    assert (result.image[..., 1] == one.image).all()
    assert len(result.cuts) == len(result.stats) == 3 * len(one.cuts) == 12
    first = denoise(np.moveaxis(image, -1, 0), 0.1, levels=16, channel_axis=0, **SERIAL)
    assert (first.image == np.moveaxis(result.image, -1, 0)).all()


def test_constant_and_binary_images():
    assert denoise(np.full((3, 4), 7), 2).cuts == ()
    assert denoise(np.full((3, 4), 7), 2).image.tolist() == [[7] * 4] * 3
    image = np.zeros((5, 5), dtype=bool)
    image[2, 2] = True
    result = denoise(image, 0.2, connectivity=4, **SERIAL)
    assert result.image.dtype == bool
    assert not result.image.any()
    assert len(result.cuts) == 1


def test_result_is_frozen_and_proved():
    image = np.random.default_rng(0).integers(0, 9, size=(8, 8))
    result = denoise(image, 1, **SERIAL)
    with pytest.raises(ValueError, match="read-only"):
        result.image[0, 0] = 3
    labels = result.cuts[0].labels
    labels.flags.writeable = True
    labels[:] = ~labels
    with pytest.raises(VerificationError):
        result.verify()


def test_time_limit_is_said():
    image = np.random.default_rng(0).integers(0, 256, size=(400, 400))
    start = time.perf_counter()
    result = denoise(image, 30, time_limit=1e-6, **SERIAL)
    assert time.perf_counter() - start < 5  # for all cuts together
    assert result.status == "time-limit"
    assert result.image.shape == image.shape
    with pytest.raises(NotOptimalError):
        _ = result.cuts[-1].value


@pytest.mark.parametrize(
    ("image", "options", "message"),
    [
        (np.array(5.0), {}, "image must have 1 to 4 axes"),
        (np.zeros((0, 5)), {}, "must not be empty"),
        (np.zeros((4, 5, 2, 2, 2)), {}, "image must have 1 to 4 axes"),
        (np.full((4, 5), np.nan), {}, "not finite"),
        ([["a"]], {}, "not an array of numbers"),
        (np.full((4, 5), 1e200), {}, "squares overflow"),
        (np.eye(4) * 1e-310, {}, "has a range of 1e-310, the least is 1e-140"),
        (np.eye(4) * 1e-310, {"data": "absolute"}, "scale the image"),
        (np.array([[2**60, 2**60 + 1]]), {}, "past 2"),
        (np.zeros((4, 5)), {"levels": 10**12}, "levels must be at most 1,048,576"),
        (np.zeros((4, 5)), {"weight": -1}, "weight"),
        (np.zeros((4, 5)), {"weight": np.nan}, "weight"),
        (np.zeros((4, 5)), {"data": "cubed"}, "data must be 'squared' or 'absolute'"),
        (np.zeros((4, 5)), {"levels": 1}, "levels"),
        (np.zeros((4, 5)), {"time_limit": 0}, "time_limit"),
        (np.eye(4), {"connectivity": 6}, "connectivity"),
        (np.zeros((4, 5)), {"channel_axis": 2}, "channel_axis"),
        (np.zeros(4), {"channel_axis": 0}, "beside its channels"),
        (np.array([[0, 2**40]]), {}, "say how many levels"),
    ],
)
def test_wrong_arguments_are_named(image, options, message):
    with pytest.raises(InvalidInputError, match=message):
        denoise(image, **{"weight": 1, **options})
