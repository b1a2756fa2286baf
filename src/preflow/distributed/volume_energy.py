"""The energy of :func:`preflow.vision.segment` for a volume that is read a box at a time.

The capacities are never stored: each box of them is computed when it is read. The volume is read twice
before, for its range of values and for the histograms of both kinds of seeds, and once more for the typical
difference of neighbours where `sigma` is not given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Connectivity, DType
from ..checks import check_number, check_positive
from ..errors import InvalidInputError
from ..graph.contrast import contrast_of_channels
from ..graph.neighbourhood import Box, half_neighbourhood
from ..graph.placement import host_array
from ..vision.colour_models import BINS, CELLS, _log_histogram
from ..vision.seeds import value_range
from ..vision.segmentation import (
    CAPACITY_PER_NAT,
    NEIGHBOURS,
    SMOOTHNESS,
    check_prior,
    more_than_n_links,
    usual_smoothness,
)
from .files import return_freed_memory
from .grid_source import Sliceable
from .partition import divide, halo

#: Most voxels that are read at once to survey a volume, and the bytes that each takes. Measured: 84.
PIECE, BYTES_SURVEYED = 1 << 20, 100


@dataclass(frozen=True)
class LazyCapacities:
    """Capacities that are computed when they are read: a :class:`.grid_source.Sliceable`."""

    shape: tuple[int, ...]
    dtype: DType
    compute: Callable[[tuple[slice, ...]], Array]  #: returns the capacities of a box

    def __getitem__(self, key: tuple[slice, ...]) -> Array:
        """Return the capacities of a box."""
        return self.compute(key)


class VolumeEnergy:
    """Capacities of the segmentation of a volume of grey values, for :func:`preflow.distributed.grid_cut`.

    `volume` is an array of zarr, or any that returns parts of itself; `foreground` and `background` are
    ranges of values of seeds: ``">200"``, ``"<90"``, ``"90:120"``. Smoothness, sigma, connectivity and prior
    are as in :func:`preflow.vision.segment` with the model "histogram". `memory` bytes may be used to read
    the volume. InvalidInputError if a range is malformed or has no voxel, ranges of both kinds overlap, or a
    value is not finite.
    """

    def __init__(
        self,
        volume: Sliceable,
        foreground: Sequence[str],
        background: Sequence[str],
        *,
        smoothness: float | None = None,
        sigma: float | None = None,
        connectivity: Connectivity = None,
        prior: float = 0.5,
        memory: int | None = None,
    ) -> None:
        check_prior(prior)
        if sigma is not None:
            sigma = check_positive("sigma", sigma)
        self._piece = PIECE if memory is None else max(1, min(PIECE, memory // BYTES_SURVEYED))
        self._volume, self.shape = volume, tuple(map(int, volume.shape))
        ndim = len(self.shape)
        named = NEIGHBOURS.get(ndim, 2 * ndim) if connectivity is None else connectivity
        self.connectivity = half_neighbourhood(ndim, named)
        self._seeds = [[value_range(text) for text in texts] for texts in (foreground, background)]
        self._low, self._high = self._limits()
        self._sigma = self._typical_difference() if sigma is None else sigma
        self._strength = float(CAPACITY_PER_NAT)
        if smoothness is None:
            unit = map(self._links, self._pieces())
            smoothness = SMOOTHNESS if ndim < 3 else usual_smoothness(unit, math.prod(self.shape))
        smoothness = check_number("smoothness", smoothness)
        self._strength *= smoothness
        self._more = more_than_n_links(smoothness, len(self.connectivity))
        ratio = self._histogram_ratio() + math.log(prior / (1 - prior))
        self._gains = np.rint(CAPACITY_PER_NAT * ratio).astype(np.int64)
        return_freed_memory()
        wide = max(self._more, int(abs(self._gains).max())) > np.iinfo(np.int32).max
        kind = np.dtype(np.int64 if wide else np.int32)
        links = next(t for t in (np.int16, np.int32, np.int64) if self._strength <= np.iinfo(t).max)
        self.source = LazyCapacities(
            self.shape, kind, lambda box: np.maximum(self._data(box), 0).astype(kind)
        )
        self.sink = LazyCapacities(self.shape, kind, lambda box: np.maximum(-self._data(box), 0).astype(kind))
        self.neighbor = LazyCapacities(
            (len(self.connectivity), *self.shape), np.dtype(links), lambda key: self._links(key[1:])
        )

    def _read(self, box: Box) -> NDArray[np.float64]:
        values = host_array(np.asanyarray(self._volume[box]), "volume").astype(np.float64)
        if not np.isfinite(values).all():
            raise InvalidInputError("the volume has values that are not finite")
        return values

    def _pieces(self) -> Iterator[Box]:
        if not math.prod(self.shape):
            raise InvalidInputError(f"the volume has no voxels: its shape is {self.shape}")
        yield from divide(self.shape, max(1, math.prod(self.shape) // self._piece)).boxes()

    def _limits(self) -> tuple[float, float]:
        ends = [(float(part.min()), float(part.max())) for part in map(self._read, self._pieces())]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def _is_seed(self, kind: int, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        found = np.zeros(values.shape, dtype=bool)
        for is_in in self._seeds[kind]:
            found |= is_in(values)
        return found

    def _bins(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        cells = CELLS[1]
        scaled = (values - self._low) / (self._high - self._low or 1)
        return np.minimum(scaled * cells, cells - 1).astype(np.intp) // (cells // BINS)

    def _histogram_ratio(self) -> NDArray[np.float64]:
        """Return the log-likelihood ratio of each bin."""
        counts = np.zeros((2, BINS))
        for box in self._pieces():
            values = self._read(box)
            masks = [self._is_seed(kind, values) for kind in range(2)]
            if (masks[0] & masks[1]).any():
                raise InvalidInputError("a voxel is a foreground and a background seed at once")
            bins = self._bins(values)
            for kind, mask in enumerate(masks):
                counts[kind] += np.bincount(bins[mask], minlength=BINS)
        for name, row in zip(("foreground", "background"), counts, strict=True):
            if not row.any():
                raise InvalidInputError(f"there are no {name} seeds: both kinds are needed")
        return _log_histogram(counts[0], 1) - _log_histogram(counts[1], 1)

    def _typical_difference(self) -> float:
        """Return the root mean square difference of neighbours; inf where all are equal."""
        total, count = 0.0, 0
        for box in self._pieces():
            around = halo(box, self.shape, np.array(self.connectivity))
            values = self._read(around)
            inner = [slice(s.start - w.start, s.stop - w.start) for s, w in zip(box, around, strict=True)]
            for offset in self.connectivity:
                pairs = [
                    (max(side.start, -step), min(side.stop, length - step))
                    for side, step, length in zip(inner, offset, values.shape, strict=True)
                ]
                here = tuple(slice(low, max(low, high)) for low, high in pairs)
                there = tuple(
                    slice(side.start + step, side.stop + step)
                    for side, step in zip(here, offset, strict=True)
                )
                squares = (values[here] - values[there]) ** 2
                total += float(squares.sum())
                count += squares.size
        return math.sqrt(total / count) if total > 0 else math.inf

    def _data(self, box: Box) -> NDArray[np.int64]:
        """Return what each voxel of a box gains on the object's side."""
        values = self._read(box)
        data: NDArray[np.int64] = self._gains[self._bins(values)]
        data[self._is_seed(0, values)] = self._more
        data[self._is_seed(1, values)] = -self._more
        return data

    def _links(self, box: Box) -> Array:
        """Return the capacities between neighbours in a box."""
        around = halo(box, self.shape, np.array(self.connectivity))
        channels = self._read(around)[..., np.newaxis]
        links = contrast_of_channels(channels, self.connectivity, self._strength, self._sigma)
        own = tuple(slice(s.start - w.start, s.stop - w.start) for s, w in zip(box, around, strict=True))
        part: Array = links[(slice(None), *own)]
        return part
