"""Images with alpha and of 16 bits, and warnings about axes and views that were probably meant otherwise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from preflow import contrast_capacity
from preflow.vision import (
    Painting,
    cutout,
    denoise,
    find_optical_flow,
    grabcut,
    match_stereo,
    overlay,
    segment,
    segment_labels,
)

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 60, (20, 24, 3)).astype(np.uint8)
RGB[5:15, 6:18] += 150
MASK = np.zeros((20, 24), bool)
MASK[5:15, 6:18] = True
RGBA = np.concatenate([RGB, RNG.integers(0, 256, (20, 24, 1)).astype(np.uint8)], axis=-1)
SEEDS = np.zeros((2, 20, 24), bool)
SEEDS[0, 8:10, 8:12] = SEEDS[1, :2] = True


def test_alpha_is_left_out() -> None:
    markers = SEEDS[0] + 2 * SEEDS[1].astype(int)
    for solve in (
        lambda image: segment(image, *SEEDS).mask,
        lambda image: segment_labels(image, markers).labels,
        lambda image: grabcut(image, (4, 5, 16, 19)).mask,
        lambda image: overlay(image, MASK),
        lambda image: cutout(image, MASK),
        lambda image: match_stereo(image, image, 2).disparity,
        lambda image: find_optical_flow(image, image, max_displacement=2).flow,
    ):
        assert (solve(RGB) == solve(RGBA)).all()


def test_alpha_is_left_out_of_a_painting() -> None:
    """An array with three axes, of which the last has length 4, is an image with alpha and not a volume."""
    paintings = [Painting(image) for image in (RGB, RGBA)]
    for painting in paintings:
        painting.paint(SEEDS[0], 1)
        painting.paint(SEEDS[1], 2)
        assert painting.image.shape == RGB.shape
    first, second = (painting.solve().mask for painting in paintings)
    assert (first == second).all()
    assert Painting(np.zeros((5, 6, 7, 4), np.uint8)).shape == (5, 6, 7)
    assert Painting(np.zeros((5, 6, 4), np.uint8), spacing=(2, 1, 1)).shape == (5, 6, 4)
    assert Painting(np.zeros((5, 6, 4), np.uint8), spacing=(2, 1)).shape == (5, 6)


def test_grey_with_alpha_in_pictures() -> None:
    grey = RGB[..., 0]
    pair = np.stack([grey, RGBA[..., 3]], axis=-1)
    assert (overlay(pair, MASK) == overlay(grey, MASK)).all()
    assert (overlay(grey[..., None], MASK) == overlay(grey, MASK)).all()


def test_sixteen_bits_are_as_eight() -> None:
    wide = RGB.astype(np.uint16) * 257
    assert (segment(wide, *SEEDS).mask == segment(RGB, *SEEDS).mask).all()
    assert (denoise(wide[..., 0], weight=5 * 257.0, levels=256).image >= 0).all()
    assert (match_stereo(wide, wide, 2).disparity == match_stereo(RGB, RGB, 2).disparity).all()


def test_colours_denoised_as_a_volume() -> None:
    with pytest.warns(UserWarning, match="channel_axis=-1 takes its last axis as colours"):
        denoise(RGB, weight=1, levels=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        denoise(RGB, weight=1, levels=4, channel_axis=-1)
        denoise(RGB[:8], weight=1, levels=4)


def test_seeds_and_links_with_channels() -> None:
    """They make a volume of a photograph; its seeds have one value for each pixel."""
    three = np.repeat(SEEDS[..., np.newaxis], 3, axis=-1)
    markers = three[0] + 2 * three[1].astype(int)
    with pytest.warns(UserWarning, match=r"foreground has shape \(20, 24, 3\).*foreground.max\(axis=-1\)"):
        segment(RGB, *three)
    with pytest.warns(UserWarning, match=r"markers has shape \(20, 24, 3\).*markers.max\(axis=-1\)"):
        segment_labels(RGB, markers)
    with pytest.warns(UserWarning, match="channel_axis=-1 takes its last axis as colours"):
        contrast_capacity(RGB)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        segment(RGB, *three.max(axis=-1))
        segment_labels(RGB, markers.max(axis=-1))
        contrast_capacity(RGB, channel_axis=-1)
        segment(RGB[:8], three[0, :8] | (np.arange(8) == 7)[:, None, None], three[1, :8])


def test_exchanged_views() -> None:
    texture = RNG.random((24, 60))
    left, right = texture[:, :48], texture[:, 6:54]
    with pytest.warns(UserWarning, match="the views may be exchanged"):
        match_stereo(right, left, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        match_stereo(left, right, 8)
