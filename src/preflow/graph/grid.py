"""Networks whose vertices are the pixels of an image or the voxels of a volume: arcs are never stored.

GridNetwork and DeviceGridNetwork are in one module because each of them creates the other:
:meth:`GridNetwork.from_arrays` decides where the arrays are, and :meth:`DeviceGridNetwork.on_host` copies
back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Connectivity, Number, Periodic, Restorer
from ..cuda import runtime
from ..cuda.runtime import Device, is_on_gpu
from ..errors import InvalidInputError
from ..parallel.pieces import run_pieces
from ..solving.read_only import ReadOnlyArrays
from .data_arrays import Argument, like_data_array
from .grid_input import as_capacities, check_numbers, compact, grid_arrays, grid_shape, stacked_by_axis
from .neighbourhood import Box, pair_boxes
from .network import FlowNetwork, MaxFlowProblem
from .placement import DeviceArrays, HostArrays, as_device_array, restorer, restorer_of

#: One thread is faster than several for fewer capacities than this.
PARALLEL_SIZE = 1 << 20

#: The smallest and the largest number of several arrays.
Limits = tuple[tuple[Number, Number], ...]


class Pair(NamedTuple):
    """The arcs of two opposite directions."""

    #: pixels at which the forward arcs begin, and at which they end
    here: Box
    there: Box
    #: capacities of the forward arcs, and of their opposites, which lead from `there` to `here`
    forward: AnyArray
    backward: AnyArray


class Part(NamedTuple):
    """Capacities of one kind."""

    name: str
    #: the capacities of arcs in the grid; a single one where all are the same number in memory
    values: AnyArray
    first: tuple[int, ...]  #: the pixel of the first one


@dataclass(frozen=True, eq=False)
class GridNetwork(HostArrays, ReadOnlyArrays):
    """A network whose vertices are the pixels of a grid, each with arcs to neighbours, source and sink.

    Build one with :meth:`from_arrays`; the constructor makes the same checks. Arrays are not copied where
    their dtype fits: leave them unchanged as long as the network or a result is used.

    Attributes
    ----------
    shape : tuple of int
        As NumPy has it: (height, width) or (depth, height, width).
    offsets : ndarray of int64, shape (2 K, ndim)
        An arc in direction d leads from a pixel p to ``p + offsets[d]``, if that is in the grid. Directions
        2 k and 2 k + 1 are opposite, the first of the two is the forward one.
    source_capacity, sink_capacity : array of `shape`
        Capacity from the source to each pixel, and from each pixel to the sink. Floats may be ``inf``.
    neighbor_capacity : array of shape (K, *shape) or (2 K, *shape)
        With K rows, ``[k][p]`` is the capacity of both arcs between p and ``p + offsets[2 * k]``. With 2 K
        rows, ``[d][p]`` is that of the arc from p to ``p + offsets[d]``. Entries of arcs that leave the grid
        are ignored. :doc:`/problems/grid_cut` has the order of `offsets` in words, a table and a picture.
    restore : function or None
        Makes arrays of the caller's kind of this kind; None where these are the same.
    """

    shape: tuple[int, ...]
    offsets: NDArray[np.int64]
    source_capacity: AnyArray
    sink_capacity: AnyArray
    neighbor_capacity: AnyArray
    restore: Restorer = field(default=None, kw_only=True)
    #: Whether shapes and dtypes are known to fit each other; the maker then checks the values.
    _checked: InitVar[bool] = field(default=False, kw_only=True)

    def __post_init__(self, _checked: bool) -> None:
        if not _checked:
            self._check_arrays()
            self.check()

    def _check_arrays(self) -> None:
        """Raise InvalidInputError unless shapes and dtypes fit each other; keep views of the arrays."""
        names = ("source_capacity", "sink_capacity", "neighbor_capacity")
        source, sink, neighbor = (as_capacities(getattr(self, name), name) for name in names)
        forward = np.asarray(self.offsets)[::2].tolist()
        shape, offsets, *arrays = grid_arrays(source, sink, neighbor, forward, np)
        if shape != self.shape or not np.array_equal(offsets, self.offsets):
            raise InvalidInputError(
                f"shape is that of the capacities, {shape}, and offsets are pairs of opposite ones, forward "
                f"ones first: got shape {self.shape} and offsets {self.offsets!r}"
            )
        for name, values in zip(("offsets", *names), (offsets, *arrays), strict=True):
            object.__setattr__(self, name, values)

    @classmethod
    def from_arrays(
        cls,
        source_capacity: AnyArray,
        sink_capacity: AnyArray,
        neighbor_capacity: AnyArray,
        *,
        connectivity: Connectivity = None,
        periodic: Periodic = False,
        threads: int = 1,
    ) -> GridNetwork:
        """Build a network from one entry per pixel.

        Parameters
        ----------
        source_capacity, sink_capacity : array_like of the grid's shape, or scalar
            Integers, bools (0 and 1), or floats that may be ``inf``: a pixel with an infinite capacity from
            the source is always on its side ("hard seed"). A negative capacity is a cost like any other: the
            minimum is the same as with the opposite number at the other terminal, but for a constant. One of
            the two has the grid's shape.
        neighbor_capacity : array_like, shape (K, *shape) or (2 K, *shape), or scalar
            As in :attr:`neighbor_capacity`; axes of the grid may have length 1, or be missing, where the
            capacity is the same along them.
        connectivity : int or list of offsets, optional
            4 or 8 neighbours in an image, 6, 18 or 26 in a volume; or any neighbourhood as a list of forward
            offsets, those whose first entry that is not 0 is positive. Opposites are added. Default: what
            `neighbor_capacity` has capacities for, 4 or 6 where it is a scalar.
        periodic : bool or sequence of bool
            Which axes are rings: the last pixel along such an axis is a neighbour of the first one, and
            entries of `neighbor_capacity` for arcs across the ends count. True: all axes.
        threads : int
            CPU threads that check the capacities.

        Returns
        -------
        GridNetwork
            Arrays may be NumPy's, CuPy's, xarray's or anything with ``__dlpack__``, such as Torch tensors:
            results are of that kind, those of xarray with dimensions and coordinates. Where they are on a
            GPU, this is a :class:`preflow.graph.grid.DeviceGridNetwork`.

        Raises
        ------
        InvalidInputError
            Wrong shapes or dtypes, NaN, negative or infinite capacities between neighbours, ``-inf``.
        CapacityOverflowError
            A capacity does not fit int64.

        Examples
        --------
        >>> GridNetwork.from_arrays([[3, 0, 0]], [[0, 0, 3]], 2)
        GridNetwork(1 x 3, 4 neighbours, int64)
        """
        given = source_capacity, sink_capacity, neighbor_capacity
        if any(map(is_on_gpu, given)):
            return grid_on_device(*given, connectivity, periodic)
        source = as_capacities(source_capacity, "source_capacity")
        sink = as_capacities(sink_capacity, "sink_capacity")
        rows = stacked_by_axis(neighbor_capacity, grid_shape(source, sink), "neighbor_capacity")
        neighbor = as_capacities(rows, "neighbor_capacity")
        arrays = grid_arrays(source, sink, neighbor, connectivity, np, periodic)
        named = zip(("source_capacity", "sink_capacity", "neighbor_capacity"), given, strict=True)
        labelled = like_data_array(len(arrays[0]), (Argument(*each) for each in named))
        network = cls(*arrays, restore=labelled or restorer_of(*given), _checked=True)
        network.check(threads=threads)
        return network

    @property
    def size(self) -> int:
        """Number of pixels."""
        return math.prod(self.shape)

    @property
    def symmetric(self) -> bool:
        """Whether every two opposite arcs have one capacity."""
        return 2 * len(self.neighbor_capacity) == len(self.offsets)

    def pairs(self) -> Iterator[Pair]:
        """Yield the arcs between neighbours, two opposite directions at a time."""
        return grid_pairs(self.shape, self.offsets, self.neighbor_capacity, self.symmetric)

    def parts(self) -> Iterator[Part]:
        """Yield the capacities from the source, to the sink, and of each row of `neighbor_capacity`."""
        corner = (0,) * len(self.shape)
        yield Part("source_capacity", compact(self.source_capacity), corner)
        yield Part("sink_capacity", compact(self.sink_capacity), corner)
        offsets = self.offsets[:: 2 if self.symmetric else 1].tolist()
        for row, (values, offset) in enumerate(zip(self.neighbor_capacity, offsets, strict=True)):
            box = pair_boxes(self.shape, offset)[0]
            first = tuple(side.start for side in box)
            yield Part(f"neighbor_capacity[{row}]", compact(values[box]), first)

    @cached_property
    def limits(self) -> Limits:
        """The smallest and the largest capacity of each of the :meth:`parts`, 0 where there is none."""
        return self._limits(self.parts(), 1)

    def _limits(self, parts: Iterable[Part], threads: int) -> Limits:
        xp, pairs = self.xp, []
        for part in parts:
            values = part.values if part.values.size else xp.zeros(1, dtype=np.int64)
            if xp is np and threads > 1 and values.size >= PARALLEL_SIZE:
                pieces = run_pieces(partial(_limits_of_rows, values), len(values), threads)
                values = np.array([limit for piece in pieces for limit in piece])
            ends = 2 * [values.reshape(())] if values.size == 1 else [values.min(), values.max()]
            pairs.append(ends)
        if xp is not np:
            pairs = self._fetched(pairs)
        return tuple((least.item(), largest.item()) for least, largest in pairs)

    def _fetched(self, pairs: list[Any]) -> list[Any]:
        """Return numbers on the host; one transfer from the GPU for all numbers of a kind."""
        found = list(pairs)
        for kind in "if":
            chosen = [i for i, pair in enumerate(pairs) if pair[0].dtype.kind == kind]
            if chosen:
                together = self.to_host(self.xp.stack([end for i in chosen for end in pairs[i]]))
                for i, pair in zip(chosen, together.reshape(-1, 2), strict=True):
                    found[i] = pair
        return found

    def check(self, *, threads: int = 1) -> None:
        """Check that no capacity is NaN, and that those between neighbours are finite and not negative.

        Raises
        ------
        InvalidInputError
            Names the first one that is not.
        """
        parts = list(self.parts())
        limits = self.__dict__["limits"] = self._limits(parts, threads)  # sets the cached property
        for number, (part, (least, largest)) in enumerate(zip(parts, limits, strict=True)):
            if math.isnan(least):
                raise InvalidInputError(f"{part.name} is NaN{_place(part, self.xp.isnan(part.values))}")
            if least < 0 and (number >= 2 or least == -np.inf):
                raise InvalidInputError(f"{part.name} is negative: {least}{_place(part, part.values < 0)}")
            if number >= 2 and largest == np.inf:
                raise InvalidInputError(
                    f"{part.name} is infinite{_place(part, self.xp.isinf(part.values))}: only those of the "
                    "source and the sink may be; give a large number"
                )

    def on_host(self) -> GridNetwork:
        """Return the network with its arrays in the host's memory: itself, or a copy from a GPU."""
        return self

    def to_flow_problem(self) -> MaxFlowProblem:
        """Return the same network with stored arcs, for the solvers of general networks.

        Pixels are the vertices ``0 .. size - 1`` in C order, followed by the source and the sink. Arcs are
        ordered: from the source, to the sink, then between neighbours, one pair of directions after the
        other, each in C order of the pixels.

        Examples
        --------
        >>> GridNetwork.from_arrays([[3, 0, 0]], [[0, 0, 3]], 2).to_flow_problem().network
        FlowNetwork(5 vertices, 8 arcs, int64)
        """
        network = self.on_host()
        if min(least for least, _ in self.limits[:2]) < 0:
            raise InvalidInputError(
                "terminal capacities of the grid are negative, which a network does not allow: use grid_cut"
            )
        pixel = np.arange(network.size, dtype=np.int64)
        source, sink = network.size, network.size + 1
        tails, heads = [np.full(network.size, source), pixel], [pixel, np.full(network.size, sink)]
        capacities = [network.source_capacity.ravel(), network.sink_capacity.ravel()]
        reverses = [np.zeros(2 * network.size, dtype=network.neighbor_capacity.dtype)]
        pixels = pixel.reshape(network.shape)
        for pair in network.pairs():
            tails.append(pixels[pair.here].ravel())
            heads.append(pixels[pair.there].ravel())
            capacities.append(pair.forward.ravel())
            reverses.append(pair.backward.ravel())
        general = FlowNetwork.from_arrays(
            np.concatenate(tails),
            np.concatenate(heads),
            np.concatenate(capacities),
            reverse_capacity=np.concatenate(reverses),
            num_vertices=network.size + 2,
        )
        return MaxFlowProblem(general, source, sink, name=f"grid {' x '.join(map(str, network.shape))}")

    def __repr__(self) -> str:
        shape = " x ".join(f"{length:,}" for length in self.shape)
        arrays = (self.source_capacity, self.sink_capacity, self.neighbor_capacity)
        dtypes = ", ".join(dict.fromkeys(str(values.dtype) for values in arrays))
        return f"GridNetwork({shape}, {len(self.offsets)} neighbours, {dtypes})"


@dataclass(frozen=True, eq=False, repr=False)
class DeviceGridNetwork(DeviceArrays, GridNetwork):
    """A grid on a GPU; :meth:`preflow.GridNetwork.from_arrays` makes one from arrays on a GPU.

    Methods that run on that GPU solve it in place, and results are arrays of the caller's kind. Everything
    that runs on the host, such as ``device="cpu"``, first copies it to the host, and returns results of the
    same kind.

    Attributes
    ----------
    device : Device
    restore : function or None
        Converts CuPy arrays to the caller's kind of array; None where the caller uses CuPy.
    """

    def _check_arrays(self) -> None:
        """Check nothing: the function that makes a grid on a GPU has checked its arrays."""

    def on_host(self) -> GridNetwork:
        """Return the network with its arrays in the host's memory; copied once."""
        return self._host_copy

    @cached_property
    def _host_copy(self) -> GridNetwork:
        arrays = self.source_capacity, self.sink_capacity, self.neighbor_capacity
        with self.current():
            return GridNetwork(self.shape, self.offsets, *map(self.device.to_host, arrays), _checked=True)


def grid_pairs(
    shape: tuple[int, ...], offsets: NDArray[np.int64], neighbor: AnyArray, symmetric: bool
) -> Iterator[Pair]:
    """Yield the arcs of a grid, two opposite directions at a time."""
    for pair in range(len(offsets) // 2):
        here, there = pair_boxes(shape, offsets[2 * pair])
        if symmetric:
            yield Pair(here, there, neighbor[pair][here], neighbor[pair][here])
        else:
            yield Pair(here, there, neighbor[2 * pair][here], neighbor[2 * pair + 1][there])


def _limits_of_rows(values: AnyArray, begin: int, end: int) -> list[Any]:
    """Return the smallest and the largest entry of some rows, nothing for no rows."""
    return [values[begin:end].min(), values[begin:end].max()] if end > begin else []


def _place(part: Part, wrong: Any) -> str:
    """Return the position of the first wrong capacity of a part, for messages."""
    index = np.unravel_index(int(wrong.argmax()), wrong.shape)
    pixel = tuple(int(i) + first for i, first in zip(index, part.first, strict=True))
    return f" at {pixel}"


def grid_on_device(
    source: AnyArray,
    sink: AnyArray,
    neighbor: AnyArray,
    connectivity: Connectivity,
    periodic: Periodic = False,
) -> DeviceGridNetwork:
    """Build a grid from arrays on a GPU: see :meth:`preflow.GridNetwork.from_arrays`.

    Scalars, and a number for every direction, may also be on the host.
    """
    device = runtime.find_device()
    named = ((source, "source_capacity"), (sink, "sink_capacity"), (neighbor, "neighbor_capacity"))
    source, sink, neighbor = (_on_device(device, values, name) for values, name in named)
    kind = next(values for values, _ in named if is_on_gpu(values))
    arrays = grid_arrays(source, sink, neighbor, connectivity, device.xp, periodic)
    network = DeviceGridNetwork(*arrays, device=device, restore=restorer(device, kind), _checked=True)
    network.check()
    return network


def _on_device(device: Device, values: AnyArray, name: str) -> AnyArray:
    if not is_on_gpu(values):
        on_host = as_capacities(values, name)
        if on_host.ndim > 1 or (on_host.ndim and name != "neighbor_capacity"):
            raise InvalidInputError(f"{name} is not on the GPU, where other arrays of the grid are")
        return device.xp.asarray(on_host)
    array = as_device_array(device, values, name, "grid")
    check_numbers(array, name)
    return array
