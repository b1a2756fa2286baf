"""The tiles of a grid, and the memory that they take on a GPU.

A tile is 32 pixels wide. In an image it has 32 rows. In a volume it has 8 or 4 planes of 8 rows each. The
grid is padded to whole tiles. The package's ``__init__.py`` defines words, labels and faces. The kernels that
fill tiles and read the cut from them are in ``tiling.cu``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, ArrayModule, DType
from ...cuda.runtime import Device, Macros
from ...cuda.structs import I64, U8, U32, ConstU32, Signed
from ...errors import UnsuitableMethodError
from ...graph.integer_grid import IntegerGrid
from ..solution import GridFlow

SOURCE = Path(__file__).with_suffix(".cu")
#: Threads of a warp, and pixels of a row of a tile: one bit for each pixel makes a word of 32 bits.
WARP = WIDTH = 32
#: Planes of a tile, and rows of each plane. A volume is divided into large tiles if the shared memory of a
#: block has room for at least LEAST_LARGE_TILES of them, otherwise into small ones.
TILE_OF_IMAGE, LARGE_TILE, SMALL_TILE = (1, 32), (8, 8), (4, 8)
LEAST_LARGE_TILES = 4
#: Greatest number of warps of a block if a tile has 32 rows; half as many if it has 64. There are no
#: registers for more.
MOST_WARPS = 16
#: Largest offset of a neighbour along an axis: the kernels get it as a signed number of four bits. Greatest
#: number of pairs of opposite directions: all their offsets along an axis share a word of 64 bits.
MOST_REACH, MOST_PAIRS = 7, 15
#: Greatest number of pixels of a plane of a volume, if all neighbours are at offsets of -1 to 1, and if some
#: are farther. The kernels compute differences of pixel indices within a tile and to its neighbours in 31
#: bits.
MOST_PLANE, MOST_PLANE_FAR = 2**28, 2**26
#: Entries that a row takes in shared memory, by the bytes of an entry. More than 32, which avoids
#: most bank conflicts between rows.
LINE_OF_ROW = {2: 36, 4: 34, 8: 33}
#: Shared memory of a warp for a list, in bytes. During a search the list has the labels of the first levels;
#: after it, the arcs over which flow may have crossed the border.
LIST_BYTES = 512
#: Number of lists of tiles. Each of up to eight colors has three: one for this round, one for the next, and
#: one that is cleared for the round after that.
LISTS = 3 * 8
#: Words per tile: an entry in each list; a stamp, which tells the last list that the tile was appended to;
#: the number of notices, that is, of changes of labels next to the tile that no search has read; and two for
#: a slot of the search queue.
WORDS_LISTED = LISTS + 4
#: Words per row beside those of the directions: ROOT, ACTIVE and REACHED.
MORE_KINDS = 3


#: Arrays of residual capacities and of excess, with the types that the macros say.
Residual: TypeAlias = Annotated[AnyArray, "Residual*"]
Excess: TypeAlias = Annotated[AnyArray, "Excess*"]
ConstResidual: TypeAlias = Annotated[AnyArray, "const Residual*"]
ConstExcess: TypeAlias = Annotated[AnyArray, "const Excess*"]
#: A number for each axis: z, y and x.
Axes: TypeAlias = Annotated[tuple[int, ...], "i64[3]"]


@dataclass(frozen=True)
class Tiling:
    """The tiles of a grid."""

    grid_shape: tuple[int, ...]  #: shape of the grid, in two or three dimensions
    tile: tuple[int, int]  #: planes of a tile, and rows of a plane
    #: offsets (z, y, x) of the even directions; each odd direction is opposite to the one before it
    offsets: tuple[tuple[int, ...], ...]
    #: of residual capacities, and of excess, which is negative where a pixel has a deficit
    residual: DType
    excess: DType

    @property
    def shape(self) -> tuple[int, int, int]:
        """The grid's shape as a volume; an image has one plane."""
        return (1,) * (3 - len(self.grid_shape)) + self.grid_shape  # type: ignore[return-value]

    @cached_property
    def directions(self) -> int:
        """Number of directions."""
        return 2 * len(self.offsets)

    @cached_property
    def tiles(self) -> tuple[int, int, int]:
        """Number of tiles along each axis."""
        sizes = (*self.tile, WIDTH)
        z, y, x = (-(-length // size) for length, size in zip(self.shape, sizes, strict=True))
        return z, y, x

    @cached_property
    def num_tiles(self) -> int:
        """Number of tiles."""
        return math.prod(self.tiles)

    @cached_property
    def padded(self) -> tuple[int, int, int]:
        """Shape of the grid, padded to whole tiles."""
        (z, y, x), (planes, rows) = self.tiles, self.tile
        return z * planes, y * rows, x * WIDTH

    @cached_property
    def padded_size(self) -> int:
        """Number of pixels of the padded grid."""
        return math.prod(self.padded)

    @property
    def inside(self) -> tuple[slice, slice, slice]:
        """The part of the padded grid that is not padding."""
        z, y, x = (slice(0, length) for length in self.shape)
        return z, y, x

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return self.tile[0] * self.tile[1]

    @property
    def words_of_tile(self) -> int:
        """Number of words of a tile: one for each row and each kind of bit."""
        return (self.directions + MORE_KINDS) * self.rows

    @cached_property
    def labels_of_tile(self) -> tuple[int, int, int]:
        """Number of labels at the faces of a tile along each axis; see ``Face`` in tile_faces.cuh."""
        sizes = (*self.tile, WIDTH)
        pixels = self.rows * WIDTH
        z, y, x = (
            pixels // size * 2 * max(abs(offset[axis]) for offset in self.offsets)
            for axis, size in enumerate(sizes)
        )
        return z, y, x

    @cached_property
    def slot_bytes(self) -> int:
        """Bytes of shared memory that a warp needs to discharge a tile; tile_state.cuh checks the number."""
        residual, excess = self.residual.itemsize, self.excess.itemsize
        parts = (
            self.rows * LINE_OF_ROW[excess] * excess,
            self.directions * self.rows * LINE_OF_ROW[residual] * residual,
            LIST_BYTES,
        )
        return sum(-(-part // 16) * 16 for part in parts)

    @property
    def capacity_bytes(self) -> int:
        """Bytes per pixel for its capacities and its excess."""
        return self.directions * self.residual.itemsize + self.excess.itemsize

    @property
    def bytes_kept(self) -> int:
        """Bytes for labels, words and lists: the GPU keeps them even if the capacities stay on the host."""
        return self.num_tiles * 4 * (sum(self.labels_of_tile) + self.words_of_tile + WORDS_LISTED)

    @property
    def bytes_on_device(self) -> int:
        """Bytes on the GPU for a solve without slabs."""
        return self.padded_size * self.capacity_bytes + self.bytes_kept

    @property
    def layers(self) -> int:
        """Number of layers of tiles along the grid's first axis. A slab consists of consecutive layers."""
        return self.tiles[0] if len(self.grid_shape) == 3 else self.tiles[1]

    @cached_property
    def layer_size(self) -> int:
        """Number of pixels of a layer of the padded grid."""
        return self.padded_size // self.layers

    def tiles_of(self, begin: int, end: int) -> tuple[int, int]:
        """Return the first tile of some layers, and one past the last."""
        of_layer = self.num_tiles // self.layers
        return begin * of_layer, end * of_layer

    @property
    def thickness(self) -> int:
        """Planes of a layer, or rows of an image."""
        return self.tile[0] if len(self.grid_shape) == 3 else self.tile[1]

    def image(self, padded: AnyArray) -> AnyArray:
        """Return a padded array without its padding, in the shape of the grid after any leading axes."""
        missing = 3 - len(self.grid_shape)
        return padded[(..., *(0,) * missing, *self.inside[missing:])]

    @cached_property
    def constants(self) -> Macros:
        """Macros with which the kernels are compiled."""
        packed = [
            sum((offset[axis] & 15) << 4 * pair for pair, offset in enumerate(self.offsets))
            for axis in range(3)
        ]
        return (
            ("DIRECTIONS", self.directions),
            *zip(("OFFSETS_Z", "OFFSETS_Y", "OFFSETS_X"), packed, strict=True),
            ("TILE_Z", self.tile[0]),
            ("TILE_Y", self.tile[1]),
            ("RESIDUAL_BYTES", self.residual.itemsize),
            ("EXCESS_BYTES", self.excess.itemsize),
            ("MOST_WARPS", self.most_warps),
            ("SLOT_BYTES_GIVEN", self.slot_bytes),
        )

    @property
    def most_warps(self) -> int:
        """Most warps of a block."""
        return MOST_WARPS if self.rows == WARP else MOST_WARPS // 2

    def warps_of_block(self, device: Device) -> tuple[int, int]:
        """Return how many warps of a block search tiles, and how many of these also discharge tiles."""
        warps = min(self.most_warps, device.block_threads // WARP)
        return warps, min(warps, device.shared_bytes // self.slot_bytes)

    def shared_bytes(self, warps: int, dischargers: int) -> int:
        """Return the bytes of shared memory of a block: enough for its discharges and for its searches."""
        return max(dischargers * self.slot_bytes, warps * self.rows * WIDTH * 4)


def tiling_of(device: Device, grid: IntegerGrid) -> Tiling:
    """Return the tiles for a grid: see :func:`tiling_for`."""
    return tiling_for(device, grid.shape, grid.offsets, grid.residual_dtype, grid.excess_dtype)


def tiling_for(
    device: Device, shape: tuple[int, ...], all_offsets: NDArray[np.int64], residual: DType, excess: DType
) -> Tiling:
    """Return the tiles for a grid with these dtypes of residual capacities and of excess.

    UnsuitableMethodError: neighbours are too far apart for tiles, or there are too many directions.
    """
    half = all_offsets[::2]
    missing = 3 - half.shape[1]
    offsets = tuple((0,) * missing + tuple(int(entry) for entry in row) for row in half)
    # Kernels store capacities in variables of the dtype of excess, so it must be at least as wide.
    excess = np.dtype(np.int64) if residual.itemsize == 8 else excess
    is_volume = len(shape) == 3
    reach = [max(abs(offset[axis]) for offset in offsets) for axis in range(3)]
    most_plane = MOST_PLANE if max(reach) <= 1 else MOST_PLANE_FAR
    for tile in (LARGE_TILE, SMALL_TILE) if is_volume else (TILE_OF_IMAGE,):
        tiling = Tiling(shape, tile, offsets, residual, excess)
        within = reach[0] <= max(tile[0], 1) and reach[1] <= tile[1] and max(reach) <= MOST_REACH
        padded_plane = tiling.padded[1] * tiling.padded[2] if is_volume else 0
        if not within or len(offsets) > MOST_PAIRS or padded_plane > most_plane:
            break
        together = device.shared_bytes // tiling.slot_bytes
        if together >= (LEAST_LARGE_TILES if tile == LARGE_TILE else 1):
            return tiling
    raise UnsuitableMethodError(
        f"cuda-tiled has room for neighbours up to {MOST_REACH} apart, {SMALL_TILE[0]} from plane to plane, "
        f"in up to {2 * MOST_PAIRS} directions, if a tile's capacities fit {device.shared_bytes:,} bytes "
        f"and a plane has up to {most_plane:,} pixels; these are {len(offsets) * 2} directions up to "
        f"{max(reach)} apart, capacities of {residual} and planes of {padded_plane:,}"
    )


class MarkArguments(NamedTuple):
    """Arguments of "mark_tiles": tiles whose capacities and excess are on the GPU."""

    tiles: Axes
    first_tile: int
    end_tile: int
    first_pixel: int  #: of the padded grid: there `residual` and `terminal` begin
    direction_stride: int
    residual: Residual
    terminal: Excess
    words: U32


class FillArguments(NamedTuple):
    """Arguments of "fill_tiles"; steps are strides in entries."""

    tiles: MarkArguments
    shape: Axes  #: of the image, without padding
    source: Annotated[AnyArray, "const SignedOf<SOURCE_BYTES>::Type*"]
    source_steps: Axes
    sink: Annotated[AnyArray, "const SignedOf<SINK_BYTES>::Type*"]
    sink_steps: Axes
    neighbor: Annotated[AnyArray, "const SignedOf<NEIGHBOR_BYTES>::Type*"]
    direction_step: Signed
    neighbor_steps: Axes
    flow: ConstExcess  #: of the even directions, each of the shape of the image


class ReceiveArguments(NamedTuple):
    """Arguments of "receive_flow"."""

    tiles: MarkArguments
    first: int  #: of the pixels that flow arrives at: whole planes, or rows of an image
    size: int
    directions: int  #: bits of the directions whose residual capacities grow
    residual: ConstResidual  #: by how much, direction by direction
    excess: ConstExcess


class MeasureArguments(NamedTuple):
    """Arguments of "measure_layers"."""

    tiles: MarkArguments
    tiles_of_layer: int
    layers: int
    reached_only: bool  #: whether excess counts only where the last search was
    sums: I64  #: for each layer: of deficits and of excess, in units of 2**32, and what is left of each


class SidesArguments(NamedTuple):
    """Arguments of "write_sides"."""

    tiles: Axes
    shape: Axes
    words: ConstU32
    sink_side: U8


def some_tiles(
    tiling: Tiling,
    layers: tuple[int, int],
    residual: AnyArray,
    terminal: AnyArray,
    words: AnyArray,
    begin: int = 0,
) -> MarkArguments:
    """Return the arguments that name the tiles of some layers; the arrays begin with the layer `begin`."""
    first, end = tiling.tiles_of(*layers)
    return MarkArguments(
        tiles=tiling.tiles,
        first_tile=first,
        end_tile=end,
        first_pixel=begin * tiling.layer_size,
        direction_stride=terminal.size,
        residual=residual,
        terminal=terminal,
        words=words,
    )


def all_tiles(tiling: Tiling, residual: AnyArray, terminal: AnyArray, words: AnyArray) -> MarkArguments:
    """Return the arguments that name all tiles of a grid whose capacities are on the GPU."""
    return some_tiles(tiling, (0, tiling.layers), residual, terminal, words)


def fill_tiles(
    device: Device, tiling: Tiling, grid: IntegerGrid, start: GridFlow | None, words: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return the residual capacities and the excess before the solve, padded; write all words of tiles."""
    xp = device.xp
    residual = xp.empty((tiling.directions, *tiling.padded), dtype=tiling.residual)
    terminal = xp.empty(tiling.padded, dtype=tiling.excess)
    source, source_steps = _stored(grid.source, xp)
    sink, sink_steps = _stored(grid.sink, xp)
    neighbor, neighbor_steps = _stored(grid.neighbor, xp)
    flow: Any = neighbor
    if start is not None:
        most = np.iinfo(tiling.residual).max
        flow = xp.zeros((tiling.directions // 2, *grid.shape), dtype=tiling.excess)
        is_like = start.grid.xp is xp and start.residual.dtype == tiling.residual and not start.shift
        for pair, row in enumerate(flow):
            if is_like:
                start.flow(pair, row)
            else:
                row[...] = xp.clip(start.flow(pair), -most, most)
    arguments = FillArguments(
        tiles=all_tiles(tiling, residual, terminal, words),
        shape=tiling.shape,
        source=source,
        source_steps=_three(source_steps),
        sink=sink,
        sink_steps=_three(sink_steps),
        neighbor=neighbor,
        direction_step=neighbor_steps[0],
        neighbor_steps=_three(neighbor_steps[1:]),
        flow=flow,
    )
    constants = (
        *tiling.constants,
        ("NEIGHBOR_BYTES", neighbor.itemsize),
        ("SOURCE_BYTES", source.itemsize),
        ("SINK_BYTES", sink.itemsize),
        ("IS_SYMMETRIC", int(grid.symmetric)),
        ("HAS_FLOW", int(start is not None)),
    )
    device.share(SOURCE, "fill_tiles", tiling.padded_size, arguments, constants)
    return residual, terminal


def _stored(values: AnyArray, xp: ArrayModule) -> tuple[AnyArray, tuple[int, ...]]:
    """Return an array in C order, and its strides in entries.

    An axis along which `values` is broadcast (stride 0) gets length 1: its entry is stored once. The returned
    stride is 0 along every axis of length 1.
    """
    if 0 in values.strides:
        values = values[tuple(slice(None, None if stride else 1) for stride in values.strides)]
    values = xp.ascontiguousarray(values)
    axes = zip(values.strides, values.shape, strict=True)
    return values, tuple(stride // values.itemsize if length > 1 else 0 for stride, length in axes)


def _three(steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of an image or a volume as three strides, as for a volume."""
    return (0,) * (3 - len(steps)) + steps


def write_sides(device: Device, tiling: Tiling, words: AnyArray) -> AnyArray:
    """Return an array in the shape of the grid: True at the pixels that the last search reached."""
    sink_side = device.xp.empty(tiling.grid_shape, dtype=np.bool_)
    arguments = SidesArguments(
        tiles=tiling.tiles, shape=tiling.shape, words=words, sink_side=sink_side.view(np.uint8)
    )
    device.share(SOURCE, "write_sides", sink_side.size, arguments, tiling.constants)
    return sink_side


def mark_tiles(device: Device, tiling: Tiling, arguments: MarkArguments) -> None:
    """Write the words of tiles from their capacities and excess."""
    num_items = (arguments.end_tile - arguments.first_tile) * tiling.rows * WARP
    device.share(SOURCE, "mark_tiles", num_items, arguments, tiling.constants)


def receive_flow(
    device: Device,
    tiling: Tiling,
    tiles: MarkArguments,
    first: int,
    directions: Sequence[int],
    residual: AnyArray,
    excess: AnyArray,
) -> Callable[[], None]:
    """Return a function that adds flow that has arrived to pixels, and to the words of `tiles`.

    The pixels are consecutive from `first` on. The capacities of their arcs grow by the rows of `residual`,
    one for each of some directions in increasing order, and their excess grows by `excess`.
    """
    bits = sum(1 << d for d in directions)
    arguments = ReceiveArguments(
        tiles=tiles, first=first, size=excess.size, directions=bits, residual=residual, excess=excess
    )
    num_items = (tiles.end_tile - tiles.first_tile) * tiling.rows * WARP
    return device.bind_sharing(SOURCE, "receive_flow", num_items, arguments, tiling.constants)


def measure_layers(
    device: Device, tiling: Tiling, tiles: MarkArguments, reached_only: bool
) -> dict[int, tuple[int, int]]:
    """Return for layers of tiles the sum of deficits, which is not positive, and that of excess.

    With `reached_only` excess counts only on pixels that the last search reached.
    """
    of_layer = tiling.num_tiles // tiling.layers
    sums = device.xp.zeros((4, tiling.layers), dtype=np.int64)
    arguments = MeasureArguments(
        tiles=tiles, tiles_of_layer=of_layer, layers=tiling.layers, reached_only=reached_only, sums=sums
    )
    num_items = (tiles.end_tile - tiles.first_tile) * WARP
    device.share(SOURCE, "measure_layers", num_items, arguments, tiling.constants)
    high, low = np.split(device.to_host(sums), 2)
    return {
        layer: (
            (int(high[0, layer]) << 32) + int(low[0, layer]),
            (int(high[1, layer]) << 32) + int(low[1, layer]),
        )
        for layer in range(tiles.first_tile // of_layer, tiles.end_tile // of_layer)
    }
