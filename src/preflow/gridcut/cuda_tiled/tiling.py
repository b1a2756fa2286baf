"""The tiles of a grid, and the memory that they take on a GPU.

A tile is 32 pixels wide. It has 1 x 32 rows in an image, 8 x 8 or 4 x 8 rows (planes x rows) in a volume.
Pixels are padded to whole tiles. The kernels that fill tiles and read the cut from them are in ``tiling.cu``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...arrays import AnyArray, ArrayModule, DType
from ...cuda.runtime import Device
from ...errors import UnsuitableMethodError
from ...graph.integer_grid import IntegerGrid
from ..solution import GridFlow

SOURCE = Path(__file__).with_suffix(".cu")
#: Pixels of a row of a tile, which is a word, and threads of a warp.
WARP = WIDTH = 32
#: Planes and rows per plane of a tile: in an image, and in a volume, large and small. Large tiles are used if
#: shared memory has room for at least LEAST_LARGE_TILES of them.
TILE_OF_IMAGE, LARGE_TILE, SMALL_TILE = (1, 32), (8, 8), (4, 8)
LEAST_LARGE_TILES = 4
#: Most warps of a block: the kernels have no registers for more.
MOST_WARPS = 16
#: Largest offset of a neighbour, which is passed to the kernels in four bits, and most pairs of directions.
MOST_REACH, MOST_PAIRS = 7, 15
#: Most pixels of a plane of a volume, with neighbours 1 apart and farther: steps from a tile fit 31 bits.
MOST_PLANE, MOST_PLANE_FAR = 2**28, 2**26
#: Entries that a row takes in shared memory, by their bytes.
LINE_OF_ROW = {2: 36, 4: 34, 8: 33}
#: Bytes of a list of arcs, or of labels of levels, in shared memory.
LIST_BYTES = 512
#: Number of lists of tiles: three in turn for each of up to eight colors.
LISTS = 3 * 8
#: Words per tile for the lists, its stamp, its number of notices, and its slot of two words in the search
#: queue.
WORDS_LISTED = LISTS + 4
#: Bits per pixel beside those of the directions: ROOT, ACTIVE and REACHED.
MORE_KINDS = 3


@dataclass(frozen=True)
class Tiling:
    """The tiles of a grid.

    Attributes
    ----------
    grid_shape : tuple of int
        Shape of the grid, in two or three dimensions.
    tile : tuple of int
        Planes of a tile, and rows of a plane.
    offsets : tuple of tuples of int
        Offsets (z, y, x) of the even directions.
    residual, excess : dtype
    """

    grid_shape: tuple[int, ...]
    tile: tuple[int, int]
    offsets: tuple[tuple[int, ...], ...]
    residual: DType
    excess: DType

    @property
    def shape(self) -> tuple[int, int, int]:
        """The grid's shape as a volume."""
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
        """Shape of the padded grid: whole tiles."""
        (z, y, x), (planes, rows) = self.tiles, self.tile
        return z * planes, y * rows, x * WIDTH

    @cached_property
    def padded_size(self) -> int:
        """Number of pixels of the padded grid."""
        return math.prod(self.padded)

    @property
    def inside(self) -> tuple[slice, slice, slice]:
        """The grid's part of the padded grid."""
        z, y, x = (slice(0, length) for length in self.shape)
        return z, y, x

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return self.tile[0] * self.tile[1]

    @property
    def words_of_tile(self) -> int:
        """Number of words of a tile."""
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
        """Shared memory of a warp; ``SLOT_BYTES`` in tile_state.cuh, which checks it."""
        residual, excess = self.residual.itemsize, self.excess.itemsize
        parts = (
            self.rows * LINE_OF_ROW[excess] * excess,
            self.directions * self.rows * LINE_OF_ROW[residual] * residual,
            LIST_BYTES,
        )
        return sum(-(-part // 16) * 16 for part in parts)

    @property
    def capacity_bytes(self) -> int:
        """Bytes for the capacities and the excess of a pixel."""
        return self.directions * self.residual.itemsize + self.excess.itemsize

    @property
    def bytes_kept(self) -> int:
        """Bytes on the GPU for labels and words, which stay on it also when capacities do not."""
        return self.num_tiles * 4 * (sum(self.labels_of_tile) + self.words_of_tile + WORDS_LISTED)

    @property
    def bytes_on_device(self) -> int:
        """Bytes on the GPU for a solve without slabs."""
        return self.padded_size * self.capacity_bytes + self.bytes_kept

    @property
    def layers(self) -> int:
        """Number of layers of tiles along the grid's first axis, of which slabs consist."""
        return self.tiles[0] if len(self.grid_shape) == 3 else self.tiles[1]

    def image(self, padded: AnyArray) -> AnyArray:
        """Return the grid's part of a padded array."""
        missing = 3 - len(self.grid_shape)
        return padded[(..., *(0,) * missing, *self.inside[missing:])]

    @cached_property
    def constants(self) -> tuple[tuple[str, int], ...]:
        """Macros that the kernels are compiled with."""
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
        """Return the warps of a block that search tiles, and those that discharge tiles, one tile each."""
        warps = min(self.most_warps, device.block_threads // WARP)
        return warps, min(warps, device.shared_bytes // self.slot_bytes)

    def shared_bytes(self, warps: int, dischargers: int) -> int:
        """Return the shared memory of a block: for capacities in discharges, for labels in searches."""
        return max(dischargers * self.slot_bytes, warps * self.rows * WIDTH * 4)


def tiling_of(device: Device, grid: IntegerGrid) -> Tiling:
    """Return the tiles for a grid.

    Raises
    ------
    UnsuitableMethodError
        Neighbours are too far apart for tiles, or there are too many directions.
    """
    half = grid.offsets[::2]
    missing = 3 - half.shape[1]
    offsets = tuple((0,) * missing + tuple(int(entry) for entry in row) for row in half)
    # Amounts are converted between the dtypes of residual capacities and of excess.
    excess = np.dtype(np.int64) if grid.residual_dtype.itemsize == 8 else grid.excess_dtype
    is_volume = len(grid.shape) == 3
    reach = [max(abs(offset[axis]) for offset in offsets) for axis in range(3)]
    most_plane = MOST_PLANE if max(reach) <= 1 else MOST_PLANE_FAR
    for tile in (LARGE_TILE, SMALL_TILE) if is_volume else (TILE_OF_IMAGE,):
        tiling = Tiling(grid.shape, tile, offsets, grid.residual_dtype, excess)
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
        f"{max(reach)} apart, capacities of {grid.residual_dtype} and planes of {padded_plane:,}"
    )


class MarkArguments(NamedTuple):
    """``MarkArguments`` in the ``.cu`` file."""

    tiles: tuple[int, int, int]
    first_tile: int
    end_tile: int
    first_pixel: int
    direction_stride: int
    residual: AnyArray
    terminal: AnyArray
    words: AnyArray


class FillArguments(NamedTuple):
    """``FillArguments`` in the ``.cu`` file."""

    tiles: MarkArguments
    shape: tuple[int, int, int]
    source: AnyArray
    source_steps: tuple[int, ...]
    sink: AnyArray
    sink_steps: tuple[int, ...]
    neighbor: AnyArray
    direction_step: int
    neighbor_steps: tuple[int, ...]
    flow: AnyArray


class SidesArguments(NamedTuple):
    """``SidesArguments`` in the ``.cu`` file."""

    tiles: tuple[int, int, int]
    shape: tuple[int, int, int]
    words: AnyArray
    sink_side: AnyArray


def fill_tiles(
    device: Device, tiling: Tiling, grid: IntegerGrid, start: GridFlow | None, words: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return residual capacities and excess before the solve, padded, and write the words of all tiles."""
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
        MarkArguments(tiling.tiles, 0, tiling.num_tiles, 0, tiling.padded_size, residual, terminal, words),
        tiling.shape,
        source,
        _three(source_steps),
        sink,
        _three(sink_steps),
        neighbor,
        neighbor_steps[0],
        _three(neighbor_steps[1:]),
        flow,
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
    """Return an array in C order, and its strides in entries; the stride is 0 along an axis of equal values.

    Equal values along an axis with stride 0 are stored once.
    """
    if 0 in values.strides:
        values = values[tuple(slice(None, None if stride else 1) for stride in values.strides)]
    values = xp.ascontiguousarray(values)
    axes = zip(values.strides, values.shape, strict=True)
    return values, tuple(stride // values.itemsize if length > 1 else 0 for stride, length in axes)


def _three(steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return strides of an image or a volume as those of a volume."""
    return (0,) * (3 - len(steps)) + steps


def write_sides(device: Device, tiling: Tiling, words: AnyArray) -> AnyArray:
    """Return the pixels that the last search reached, in the shape of the grid."""
    sink_side = device.xp.empty(tiling.grid_shape, dtype=np.bool_)
    arguments = SidesArguments(tiling.tiles, tiling.shape, words, sink_side.view(np.uint8))
    device.share(SOURCE, "write_sides", sink_side.size, arguments, tiling.constants)
    return sink_side


def mark_tiles(
    device: Device,
    tiling: Tiling,
    tiles: tuple[int, int],
    first_pixel: int,
    residual: AnyArray,
    terminal: AnyArray,
    words: AnyArray,
) -> None:
    """Write the words of tiles whose capacities and excess are on the GPU from `first_pixel` on."""
    arguments = MarkArguments(tiling.tiles, *tiles, first_pixel, terminal.size, residual, terminal, words)
    num_items = (tiles[1] - tiles[0]) * tiling.rows * WARP
    device.share(SOURCE, "mark_tiles", num_items, arguments, tiling.constants)
