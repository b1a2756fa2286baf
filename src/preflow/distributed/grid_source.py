"""Capacities of a grid in arrays that are read a box at a time, and the regions made from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from mmap import mmap
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Connectivity, DType, Periodic
from ..errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError
from ..graph.grid import GridNetwork
from ..graph.grid_input import neighbours_of
from ..graph.integer_grid import (
    MOST_FLOAT,
    _fraction_bits,
    _largest_finite,
    choose_scale,
    incident_capacity,
    integer_grid,
    net_capacity,
    net_sums,
)
from ..graph.neighbourhood import Box, both_ways, half_neighbourhood
from ..graph.network import EXACT_FLOAT, exact_sum
from ..graph.periodic import checked_periodic, unrolled_offsets
from ..graph.placement import check_not_masked
from ..graph.scaling import float_sum, scaled, total_of
from .checksum import checksum_of
from .cuda_region import CudaRegion
from .grid_region import GridRegion, Loaded
from .partition import Boxes, border_of, closed_axes, halo, read_around

#: Bytes of a mapped file of which parts are read at once.
PIECE = 1 << 22


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
    check_not_masked(values, "an array of a grid")
    return values if isinstance(values, Sliceable) and len(values.shape) else np.asarray(values)


@dataclass(frozen=True)
class Rounding:
    """Conversion of fractional capacities to integers: see :mod:`preflow.graph.scaling`."""

    exponent: int  #: capacities are multiplied by two to this power and rounded down
    limit: float  #: capacities between neighbours are cut off here; no flow is larger

    def applied(self, network: GridNetwork) -> GridNetwork:
        """Return the network with integers; the smaller terminal capacity of a pixel is removed from both."""
        with np.errstate(over="ignore"):
            # Entries of pixels at the edge, which stand for no arcs, may be larger than those of arcs.
            neighbor = scaled(network.neighbor_capacity, self.exponent, self.limit, np)
        neighbor = np.minimum(neighbor, MOST_FLOAT).astype(np.int64)
        net = net_capacity(network.source_capacity, network.sink_capacity)
        with np.errstate(over="ignore"):
            np.ldexp(net, self.exponent, out=net)
        whole = np.clip(net, -MOST_FLOAT, MOST_FLOAT).astype(np.int64)
        zero = np.int64(0)
        return GridNetwork(
            network.shape,
            network.offsets,
            np.maximum(whole, zero),
            np.maximum(-whole, zero),
            neighbor,
            _checked=True,
        )


@dataclass(frozen=True)
class GridSource:
    """The capacities of a grid, in memory or elsewhere."""

    shape: tuple[int, ...]
    offsets: NDArray[np.int64]  #: shape (2 K, ndim): those of the neighbourhood
    periodic: tuple[bool, ...]  #: which axes are rings
    #: array-likes of `shape`, or with no axis
    source: Sliceable
    sink: Sliceable
    #: array-like, shape (rows, ...) with the axes of the grid, each of full length or 1, or no axis
    neighbor: Sliceable
    rounding: Rounding | None = None  #: how capacities become integers, where they are fractions

    @classmethod
    def of(
        cls,
        source: AnyArray,
        sink: AnyArray,
        neighbor: AnyArray,
        connectivity: Connectivity,
        periodic: Periodic = False,
    ) -> GridSource:
        """Return the source of the first arguments of grid_cut; checks shapes."""
        if isinstance(source, GridNetwork):
            if not (sink is None and neighbor is None and connectivity is None and periodic is False):
                raise InvalidInputError(
                    "a GridNetwork has its capacities and its connectivity: give nothing else"
                )
            network = source.on_host()
            arrays = network.source_capacity, network.sink_capacity, network.neighbor_capacity
            return cls(network.shape, network.offsets, (False,) * len(network.shape), *arrays)
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
        rings = checked_periodic(periodic, len(shape))
        return cls(shape, both_ways(half), rings, first, second, around)

    @property
    def half(self) -> list[tuple[int, ...]]:
        """The forward offsets of the neighbourhood."""
        return [tuple(offset) for offset in self.offsets[::2].tolist()]

    def halo(self, box: Box) -> Box:
        """Return a box with its ghosts: see :func:`.partition.halo`."""
        return halo(box, self.shape, self.offsets, self.periodic)

    def offsets_within(self, around: Box) -> NDArray[np.int64]:
        """Return the offsets of the plain grid that has the arcs of a halo."""
        closed = closed_axes(around, self.shape, self.periodic)
        if not any(closed):
            return self.offsets
        lengths = [side.stop - side.start for side in around]
        return both_ways(unrolled_offsets(lengths, self.half, closed)[0])

    @cached_property
    def all_offsets(self) -> NDArray[np.int64]:
        """The offsets of the plain grid that has the arcs of the whole grid."""
        return self.offsets_within(tuple(slice(0, length) for length in self.shape))

    def directions_within(self, around: Box) -> NDArray[np.int64]:
        """Return, for each direction of `all_offsets`, the direction of the same arcs in a halo.

        A halo that does not close a ring is shorter than the ring. So all offsets are shorter than half of
        the ring, and arcs go the shorter way round.
        """
        lengths, offsets = np.array(self.shape), self.all_offsets
        opened = np.array(self.periodic) & ~np.array(closed_axes(around, self.shape, self.periodic))
        steps = np.where(opened, (offsets + lengths // 2) % lengths - lengths // 2, offsets)
        place = {tuple(step): d for d, step in enumerate(self.offsets_within(around).tolist())}
        return np.array([place[tuple(step)] for step in steps.tolist()], dtype=np.int64)

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The types of the three arrays; parallel arcs of floats are added up in double precision."""
        neighbor = self.neighbor.dtype
        if any(self.periodic) and neighbor.kind == "f":
            parallel = unrolled_offsets(self.shape, self.half, self.periodic)[1]
            neighbor = np.dtype(np.float64) if parallel else neighbor
        return self.source.dtype, self.sink.dtype, neighbor

    @property
    def fingerprint(self) -> list[object]:
        """Facts that tell this grid from another one; a few planes of capacities are read."""
        terminal, neighbor = self.plane()
        parts = (*terminal, *neighbor)
        checksum = checksum_of(parts)
        rounding = None if self.rounding is None else [self.rounding.exponent, self.rounding.limit]
        facts = [list(self.shape), self.offsets.tolist(), [str(d) for d in self.dtypes], rounding, checksum]
        return [*facts, list(self.periodic)] if any(self.periodic) else facts

    def plane(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Return the terminal capacities of the middle plane, and those between neighbours; none if empty."""
        if not self.size:
            return (), ()
        middle = self.shape[0] // 2
        plane = (slice(middle, middle + 1), *(slice(0, length) for length in self.shape[1:]))
        return (_part(self.source, plane), _part(self.sink, plane)), (self._neighbors(plane),)

    @property
    def size(self) -> int:
        """Number of pixels."""
        return math.prod(self.shape)

    def read(self, box: Box) -> GridNetwork:
        """Return the capacities of a box, or of a halo, as a grid of its own.

        InvalidInputError: a capacity is wrong; the pixel that the message names is counted from the corner of
        the box.
        """
        try:
            return GridNetwork.from_arrays(
                _part(self.source, box),
                _part(self.sink, box),
                self._neighbors(box),
                connectivity=self.half,
                periodic=closed_axes(box, self.shape, self.periodic),
            )
        except InvalidInputError as error:
            corner = tuple(side.start % length for side, length in zip(box, self.shape, strict=True))
            if len(corner) and any(corner):
                error.add_note(f"in the region whose first pixel is {corner}")
            raise

    def _neighbors(self, box: Box) -> Array:
        values = self.neighbor
        if len(values.shape) <= 1:
            return np.asarray(values)
        lengths = values.shape[1:]
        inside = tuple(slice(0, 1) if n == 1 else side for n, side in zip(lengths, box, strict=True))
        rows = slice(0, values.shape[0])
        return read_around(lambda part: read_part(values, (rows, *part)), inside, lengths)


def _part(values: Sliceable, box: Box) -> Array:
    if not values.shape:
        return np.asarray(values)
    return read_around(lambda part: read_part(values, part), box, values.shape)


def read_part(values: Sliceable, box: Box) -> Array:
    """Return a part of an array; that of a mapped file is copied a few planes at a time.

    The system maps whole pages and those around them: with one map for the whole part, most of the file may
    be in memory for as long as the part is used.
    """
    mapped = mapped_again(values)
    if mapped is values or not (isinstance(mapped, np.memmap) and mapped.flags.c_contiguous):
        return np.asarray(mapped[box])
    # Bytes from one index to the next along each axis; the first axes are read an index at a time.
    sizes = [math.prod(mapped.shape[axis + 1 :]) * mapped.itemsize for axis in range(mapped.ndim)]
    axis = next((axis for axis, size in enumerate(sizes) if size <= PIECE), mapped.ndim - 1)
    step = max(1, PIECE // sizes[axis])
    part = np.empty([side.stop - side.start for side in box], dtype=mapped.dtype)
    for index in np.ndindex(*part.shape[:axis]):
        place = tuple(i + side.start for i, side in zip(index, box[:axis], strict=True))
        for begin in range(0, part.shape[axis], step):
            planes = slice(begin, min(begin + step, part.shape[axis]))
            there = slice(planes.start + box[axis].start, planes.stop + box[axis].start)
            part[(*index, planes)] = mapped_again(values)[(*place, there, *box[axis + 1 :])]
    return part


def mapped_again(values: Sliceable) -> Sliceable:
    """Return a memory map of its own for a whole mapped file, so that no pages stay when it is forgotten."""
    base: object = getattr(values, "base", None)
    if isinstance(values, np.memmap) and isinstance(base, mmap) and values.filename and values.mode != "c":
        order: Literal["C", "F"] = "C" if values.flags.c_contiguous else "F"
        return np.memmap(values.filename, values.dtype, "r", values.offset, values.shape, order)
    return values


@dataclass(frozen=True)
class GridTask:
    """A box of a grid before it is loaded: a :class:`preflow.distributed.exchange.RegionTask`."""

    number: int
    source: GridSource
    boxes: Boxes
    #: if positive, `halo` reaches as far beyond the box along the first axis, and not only to its ghosts
    margin: int = 0
    on_gpu: bool = False  #: whether the region is on the GPU of the process that builds it

    @property
    def halo(self) -> Box:
        """The box with the ghosts around it."""
        box = self.boxes.boxes()[self.number]
        around = self.source.halo(box)
        if not self.margin:
            return around
        begin, end = max(0, box[0].start - self.margin), box[0].stop + self.margin
        return (slice(begin, min(self.source.shape[0], end)), *around[1:])

    @property
    def own(self) -> Box:
        """The box, counted from the corner of `halo`."""
        box = self.boxes.boxes()[self.number]
        return tuple(
            slice(side.start - wide.start, side.stop - wide.start)
            for side, wide in zip(box, self.halo, strict=True)
        )

    def read(self) -> GridNetwork:
        """Read the box and its ghosts."""
        return self.source.read(self.halo)

    def load(self) -> Loaded:
        """Read the box and its ghosts, as integers."""
        network = self.read()
        if self.source.rounding is not None:
            return Loaded(integer_grid(self.source.rounding.applied(network)), 0)
        grid = integer_grid(network)
        if not grid.reduced:
            return Loaded(grid, 0)
        lesser = np.minimum(network.source_capacity[self.own], network.sink_capacity[self.own])
        return Loaded(grid, int(exact_sum(lesser.astype(np.int64))))

    def empty(self) -> GridRegion:
        """Return the region without its capacities."""
        return self._empty(CudaRegion if self.on_gpu else GridRegion)

    def empty_on_host(self) -> GridRegion:
        """Return the region without its capacities, on the CPU."""
        return self._empty(GridRegion)

    def _empty(self, kind: type[GridRegion]) -> GridRegion:
        source, around = self.source, self.halo
        arcs = border_of(self.boxes, self.number, source.all_offsets).seen_from(around, source.shape)
        if any(source.periodic):
            arcs = arcs._replace(direction=source.directions_within(around)[arcs.direction])
        lengths = tuple(side.stop - side.start for side in around)
        return kind(self, lengths, self.own, arcs, source.offsets_within(around))

    def build(self) -> GridRegion:
        """Read the region's part of the problem."""
        return self.empty().build()


def grid_tasks(source: GridSource, boxes: Boxes) -> Sequence[GridTask]:
    """Return a task for each box."""
    return [GridTask(number, source, boxes) for number in range(len(boxes.boxes()))]


class Survey(NamedTuple):
    """Facts about all capacities of a grid of floats; None of them is needed for integers."""

    bits: int  #: binary digits after the point that represent all capacities exactly
    largest: float  #: the largest finite capacity
    #: the largest capacity between neighbours, and the largest finite difference of terminal capacities
    largest_neighbor: float
    largest_net: float
    constant: float  #: the sum of the smaller terminal capacities of all pixels
    #: the sums of what is left of the terminal capacities
    from_source: float
    to_sink: float


def survey(tasks: Sequence[GridTask]) -> Survey:
    """Read all capacities once, a region at a time."""
    rows: list[Survey] = []
    for task in tasks:
        network = task.read()
        floats = [part.values for part in network.parts() if part.values.dtype.kind == "f"]
        source, sink = network.source_capacity[task.own], network.sink_capacity[task.own]
        lesser = np.minimum(source, sink)
        if np.isinf(float(lesser.max(initial=0))):
            raise UnboundedFlowError("a pixel has infinite capacity from the source and to the sink")
        net = net_capacity(source, sink)
        rows.append(
            Survey(
                max(map(_fraction_bits, floats)),
                max(map(_largest_finite, floats)),
                float(max(largest for _, largest in network.limits[2:])),
                _largest_finite(abs(net)),
                float_sum(lesser.astype(np.float64)),
                *net_sums(net),
            )
        )
    return Survey(
        max(row.bits for row in rows),
        max(row.largest for row in rows),
        max(row.largest_neighbor for row in rows),
        max(row.largest_net for row in rows),
        *(total_of(sums) for sums in zip(*(row[-3:] for row in rows), strict=True)),
    )


def choose_rounding(
    tasks: Sequence[GridTask], found: Survey, bound: float | None
) -> tuple[Rounding, float] | None:
    """Return how to round, as :func:`preflow.graph.integer_grid.integer_grid` does; None where all are whole.

    `bound` is the capacity of a known cut. The second number is the limit to compare that cut with.
    CapacityOverflowError: the smaller terminal capacities of all pixels sum past float64.
    """
    if found.bits == 0 and bound is None and found.largest <= EXACT_FLOAT:
        return None
    if not abs(found.constant) < np.inf:
        raise CapacityOverflowError("the capacities of all pixels sum past float64")

    def incident(limit: float) -> float:
        around = (incident_capacity(task.read(), np.float64, limit)[task.own] for task in tasks)
        return max(float(values.max(initial=0)) for values in around)

    source = tasks[0].source
    scale = choose_scale(
        bound,
        bits=found.bits,
        constant=found.constant,
        largest=found.largest_neighbor,
        incident=incident,
        net=lambda: (found.from_source, found.to_sink),
        largest_net=lambda: found.largest_net,
        directions=len(source.all_offsets),
        single=all(dtype != np.float64 for dtype in source.dtypes),
    )
    return Rounding(scale.exponent, scale.limit), scale.matters
