"""Capacities of a grid in arrays that are read a box at a time, and the regions made from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Connectivity, DType
from ..errors import InvalidInputError
from ..graph.grid import GridNetwork
from ..graph.grid_input import neighbours_of
from ..graph.integer_grid import integer_grid
from ..graph.neighbourhood import Box, both_ways, half_neighbourhood
from ..graph.network import exact_sum
from .grid_region import GridRegion, Loaded
from .partition import Boxes, border_of, halo


@runtime_checkable
class Sliceable(Protocol):
    """An array that returns parts of itself: of NumPy, zarr, dask, h5py."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its length along each axis."""

    @property
    def dtype(self) -> DType:
        """The type of its entries."""

    def __getitem__(self, key: tuple[slice, ...], /) -> AnyArray:
        """Return a part."""


def as_sliceable(values: AnyArray) -> Sliceable:
    """Return an array that can be read in parts; what is none is converted to an array in memory."""
    values = getattr(values, "data", values) if type(values).__module__.startswith("xarray") else values
    return values if isinstance(values, Sliceable) and len(values.shape) else np.asarray(values)


@dataclass(frozen=True)
class GridSource:
    """The capacities of a grid, in memory or elsewhere.

    Attributes
    ----------
    shape : tuple of int
    offsets : ndarray of int64, shape (2 K, ndim)
    source, sink : array-likes of `shape`, or with no axis
    neighbor : array-like, shape (rows, ...) with the axes of the grid, each of full length or 1, or no axis
    """

    shape: tuple[int, ...]
    offsets: NDArray[np.int64]
    source: Sliceable
    sink: Sliceable
    neighbor: Sliceable

    @classmethod
    def of(
        cls, source: AnyArray, sink: AnyArray, neighbor: AnyArray, connectivity: Connectivity
    ) -> GridSource:
        """Return the source of the first arguments of grid_cut; checks shapes."""
        if isinstance(source, GridNetwork):
            if not (sink is None and neighbor is None and connectivity is None):
                raise InvalidInputError(
                    "a GridNetwork has its capacities and its connectivity: give nothing else"
                )
            network = source.on_host()
            arrays = network.source_capacity, network.sink_capacity, network.neighbor_capacity
            return cls(network.shape, network.offsets, *arrays)
        for values, name in ((sink, "sink_capacity"), (neighbor, "neighbor_capacity")):
            if values is None:
                raise InvalidInputError(f"{name} is missing")
        first, second, around = map(as_sliceable, (source, sink, neighbor))
        shapes = {values.shape for values in (first, second) if values.shape}
        if len(shapes) != 1:
            raise InvalidInputError(
                f"source_capacity has shape {first.shape}, sink_capacity has shape {second.shape}: one of "
                "them has the shape of the grid, and the other one the same or none"
            )
        shape = tuple(map(int, shapes.pop()))
        if len(around.shape) not in (0, 1, len(shape) + 1):
            raise InvalidInputError(
                f"neighbor_capacity has shape {around.shape}: expected a scalar, a number for every "
                f"direction, or (directions, {', '.join(map(str, shape))})"
            )
        rows = around.shape[0] if around.shape else None
        wanted = neighbours_of(len(shape), rows) if connectivity is None else connectivity
        half = half_neighbourhood(len(shape), wanted)
        lengths = around.shape[1:] or (1,) * len(shape)
        if rows not in (None, len(half), 2 * len(half)) or any(
            length not in (1, full) for length, full in zip(lengths, shape, strict=True)
        ):
            raise InvalidInputError(
                f"neighbor_capacity has shape {around.shape}: the grid has shape {shape} and {len(half)} "
                "pairs of opposite directions"
            )
        return cls(shape, both_ways(half), first, second, around)

    @property
    def size(self) -> int:
        """Number of pixels."""
        return math.prod(self.shape)

    def read(self, box: Box) -> GridNetwork:
        """Return the capacities of a box as a grid of its own.

        Raises
        ------
        InvalidInputError
            A capacity is wrong; the pixel that the message names is counted from the corner of the box.
        """
        try:
            return GridNetwork.from_arrays(
                _part(self.source, box),
                _part(self.sink, box),
                self._neighbors(box),
                connectivity=[tuple(offset) for offset in self.offsets[::2].tolist()],
            )
        except InvalidInputError as error:
            corner = tuple(side.start for side in box)
            if len(corner) and any(corner):
                error.add_note(f"in the region whose first pixel is {corner}")
            raise

    def _neighbors(self, box: Box) -> Array:
        values = self.neighbor
        if len(values.shape) <= 1:
            return np.asarray(values)
        lengths = values.shape[1:]
        inside = [slice(0, 1) if n == 1 else side for n, side in zip(lengths, box, strict=True)]
        part: Array = np.asarray(values[(slice(None), *inside)])
        return part


def _part(values: Sliceable, box: Box) -> Array:
    part: Array = np.asarray(values[box] if values.shape else values)
    return part


@dataclass(frozen=True)
class GridTask:
    """A box of a grid before it is loaded: a :class:`preflow.distributed.exchange.RegionTask`.

    Attributes
    ----------
    number : int
    source : GridSource
    boxes : Boxes
    """

    number: int
    source: GridSource
    boxes: Boxes

    @property
    def around(self) -> Box:
        """The box with the ghosts around it."""
        return halo(self.boxes.boxes()[self.number], self.source.shape, self.source.offsets)

    @property
    def own(self) -> Box:
        """The box, counted from the corner of `around`."""
        box = self.boxes.boxes()[self.number]
        return tuple(
            slice(side.start - wide.start, side.stop - wide.start)
            for side, wide in zip(box, self.around, strict=True)
        )

    def load(self) -> Loaded:
        """Read the box and its ghosts."""
        network = self.source.read(self.around)
        grid = integer_grid(network)
        if not grid.reduced:
            return Loaded(grid, 0)
        lesser = np.minimum(network.source_capacity[self.own], network.sink_capacity[self.own])
        return Loaded(grid, int(exact_sum(lesser.astype(np.int64))))

    def build(self) -> GridRegion:
        """Read the region's part of the problem."""
        arcs = border_of(self.boxes, self.number, self.source.offsets)
        return GridRegion(self.load, self.own, arcs, tuple(side.start for side in self.around))


def grid_tasks(source: GridSource, boxes: Boxes) -> Sequence[GridTask]:
    """Return a task for each box."""
    return [GridTask(number, source, boxes) for number in range(len(boxes.boxes()))]
