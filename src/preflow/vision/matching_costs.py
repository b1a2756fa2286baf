"""Costs of matching two pixels of two frames, as small integers, for stereo and optical flow.

Two measures are added, each saturating, as Mei, Sun, Zhou, Jiao, Wang and Zhang do in "On building an
accurate stereo matching system on graphics hardware", ICCV workshops 2011: the census of the neighbourhood
(Zabih and Woodfill, ECCV 1994), which is robust to changes of brightness, and the difference of colours after
Birchfield and Tomasi, "A pixel dissimilarity measure that is insensitive to image sampling", PAMI 1998, which
distinguishes pixels whose census is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import check_finite
from ..errors import CapacityOverflowError, InvalidInputError
from ..graph.neighbourhood import Box, half_neighbourhood, pair_boxes
from ..graph.placement import host_array

#: The largest cost of a pair of pixels: half from the census, half from colour.
LARGEST_COST = 100
#: Cost of a match outside of the frame, which is unknown.
OUTSIDE_COST = 40
#: Least value of sigma in use: below it every difference of colours is large.
LEAST_SIGMA = 1e-6
#: Fraction of the smoothness weight between pixels of very different colours.
WEIGHT_ACROSS_EDGES = 0.1
#: Floats range from 0 to 1, or slightly beyond after a filter; larger ones must be on another scale.
LARGEST_FLOAT = 2.0
#: Height and width of the window of the census: its 62 neighbours fit 64 bits.
CENSUS_WINDOW = (7, 9)
#: Differing bits, and a difference of colours on a scale of 255, at which a measure reaches 1 - 1/e of its
#: limit (Mei et al., table 1).
CENSUS_SCALE, COLOUR_SCALE = 30.0, 10.0
#: Cost by the number of differing bits of the census.
CENSUS_COSTS = np.rint(LARGEST_COST / 2 * -np.expm1(np.arange(65) / -CENSUS_SCALE)).astype(np.int16)


def checked_frame(name: str, image: ArrayLike) -> NDArray[np.float32]:
    """Return an image as float32 of shape (h, w, channels) on a scale of 255.

    Integers are taken on the scale of their type, floats on the scale from 0 to 1, as scikit-image does. A
    fourth channel, alpha, is left out.
    """
    pixels = host_array(image, name)
    if pixels.ndim == 3 and pixels.shape[2] == 4:
        pixels = pixels[..., :3]
    if pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (1,), (2,), (3,)) or pixels.size == 0:
        raise InvalidInputError(
            f"{name} must have shape (h, w) or (h, w, channels of 1 to 3), got {pixels.shape}"
        )
    if pixels.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold numbers, got dtype {pixels.dtype}")
    check_finite(name, pixels)
    scale = 255.0 / np.iinfo(pixels.dtype).max if pixels.dtype.kind in "iu" else 255.0
    if pixels.dtype.kind == "f" and np.abs(pixels).max() > LARGEST_FLOAT:
        most = np.abs(pixels).max()
        raise InvalidInputError(f"{name} has floats up to {most:g}: they go from 0 to 1, integers to 255")
    frame = pixels.astype(np.float32) * np.float32(scale)
    return frame[..., np.newaxis] if frame.ndim == 2 else frame


def check_same_shape(first: Array, second: Array, names: tuple[str, str]) -> None:
    """Raise InvalidInputError unless two frames have the same shape."""
    if first.shape != second.shape:
        shapes = [image.shape[:2] if image.shape[2] == 1 else image.shape for image in (first, second)]
        raise InvalidInputError(f"{names[0]} has shape {shapes[0]}, {names[1]} has shape {shapes[1]}")


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame with its census and the range of colours around every pixel."""

    #: shape (h, w, channels): colours, and the least and the largest colour up to half way to the neighbours
    pixels: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    census: NDArray[np.uint64]  #: shape (h, w)

    @classmethod
    def of(cls, pixels: NDArray[np.float32], axes: tuple[int, ...] = (0, 1)) -> Frame:
        """Return a frame. Matches may lie between pixels along `axes`; in stereo that is x alone."""
        return cls(pixels, *_range_around(pixels, axes), _census(pixels.mean(axis=-1)))

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.census.shape
        return height, width

    def costs(self, other: Frame, dy: int, dx: int, box: Box | None = None) -> NDArray[np.int16]:
        """Return the cost of matching each pixel in a box with that at offset (dy, dx) in another frame.

        The cost is OUTSIDE_COST if that pixel lies outside of the other frame.
        """
        own, top, left = self, 0, 0
        if box is not None:
            rows_of, columns_of = box
            own, top, left = self._part((rows_of, columns_of)), rows_of.start, columns_of.start
        (height, width), (rows, columns) = own.shape, other.shape
        y0, y1 = max(0, -dy - top), min(height, rows - dy - top)
        x0, x1 = max(0, -dx - left), min(width, columns - dx - left)
        costs = np.full(own.shape, OUTSIDE_COST, np.int16)
        if y0 < y1 and x0 < x1:
            y, x = top + dy, left + dx
            costs[y0:y1, x0:x1] = own._part((slice(y0, y1), slice(x0, x1))).unlike(
                other._part((slice(y0 + y, y1 + y), slice(x0 + x, x1 + x)))
            )
        return costs

    def costs_along(self, other: Frame, dy: Array, dx: Array) -> NDArray[np.int16]:
        """Return the costs as :meth:`costs` does, with an own displacement for every pixel."""
        height, width = other.shape
        row, column = np.indices(self.shape, sparse=True)
        y, x = row + dy, column + dx
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        costs = self.unlike(other._part((np.clip(y, 0, height - 1), np.clip(x, 0, width - 1))))
        costs[~inside] = OUTSIDE_COST
        return costs

    def half(self) -> Frame:
        """Return the frame at half its size: means of 2 x 2 pixels, the last one repeated where odd."""
        height, width = self.shape
        even = np.pad(self.pixels, [(0, height % 2), (0, width % 2), (0, 0)], mode="edge")
        return Frame.of(
            (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) * np.float32(0.25)
        )

    def framed(self, margin: int) -> Frame:
        """Return the frame with its border pixels repeated `margin` times on all sides."""
        row, column = (np.arange(-margin, size + margin).clip(0, size - 1) for size in self.shape)
        return self._part((row[:, np.newaxis], column))

    def unlike(self, other: Frame) -> NDArray[np.int16]:
        """Return the cost of matching each pixel with that at the same place of another frame."""
        apart = np.minimum(
            np.maximum(self.pixels - other.high, other.low - self.pixels),
            np.maximum(other.pixels - self.high, self.low - other.pixels),
        )
        colour = np.maximum(apart, 0).mean(axis=-1)
        colour_cost = np.rint(LARGEST_COST / 2 * -np.expm1(colour / -COLOUR_SCALE)).astype(np.int16)
        cost: NDArray[np.int16] = CENSUS_COSTS[np.bitwise_count(self.census ^ other.census)] + colour_cost
        return cost

    def _part(self, box: tuple[Any, Any]) -> Frame:
        return Frame(self.pixels[box], self.low[box], self.high[box], self.census[box])


def smoothness_weights(frame: Frame, strength: float, sigma: float, connectivity: int) -> NDArray[np.int32]:
    """Return integer weights of neighbours, shape (directions, h, w), that fall with their contrast.

    A weight is `strength`, which must fit int32, where colours are equal, and never less than the fraction
    WEIGHT_ACROSS_EDGES of it.
    """
    offsets = half_neighbourhood(2, connectivity)
    most = np.iinfo(np.int32).max
    if strength > most:
        raise CapacityOverflowError(f"smoothness must be at most {most:,}, an int32, got {strength:g}")
    weights = np.zeros((len(offsets), *frame.shape), np.int32)
    for weight, offset in zip(weights, offsets, strict=True):
        here, there = pair_boxes(frame.shape, offset)
        contrast = np.abs(frame.pixels[here] - frame.pixels[there]).mean(axis=-1)
        fall = np.exp(-(contrast / max(sigma, LEAST_SIGMA)))
        share = WEIGHT_ACROSS_EDGES + (1 - WEIGHT_ACROSS_EDGES) * fall
        weight[here] = np.rint(strength / math.hypot(*offset) * share)
    return weights


def parabola_vertex(before: Array, at: Array, after: Array) -> NDArray[np.float32]:
    """Return the position of the minimum of the parabola through costs at -1, 0 and 1, from -1/2 to 1/2.

    Return 0 where the middle cost is not the least.
    """
    slope = before.astype(np.float32) - after
    bend = 2 * (before.astype(np.float32) + after - 2 * at.astype(np.float32))
    valley = (before >= at) & (after >= at) & (bend > 0)
    return np.where(valley, np.clip(slope / np.where(valley, bend, 1), -0.5, 0.5), 0).astype(np.float32)


def _census(grey: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return for each pixel one bit per neighbour in the window: whether the neighbour is darker."""
    reach = CENSUS_WINDOW[0] // 2, CENSUS_WINDOW[1] // 2
    padded = np.pad(grey, [(reach[0],) * 2, (reach[1],) * 2], mode="edge")
    bits = np.zeros(grey.shape, np.uint64)
    height, width = grey.shape
    for y, x in np.ndindex(CENSUS_WINDOW):
        if (y, x) != reach:
            bits = (bits << np.uint64(1)) | (padded[y : y + height, x : x + width] < grey)
    return bits


def _range_around(
    pixels: NDArray[np.float32], axes: tuple[int, ...]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the least and the largest colour up to half way to the neighbours along some axes."""
    low, high = pixels.copy(), pixels.copy()
    for axis in axes:
        first = np.moveaxis(pixels, axis, 0)
        half = (first[1:] + first[:-1]) / 2
        for bound, extreme in ((low, np.minimum), (high, np.maximum)):
            along = np.moveaxis(bound, axis, 0)
            extreme(along[1:], half, out=along[1:])
            extreme(along[:-1], half, out=along[:-1])
    return low, high
