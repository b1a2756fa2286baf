"""Block models of mines: which blocks must be taken before a block, by a pattern, and numbers of blocks.

The *cone* of a block has all blocks above it whose centres lie within the slope. A *pattern* is a set of
offsets in the cone, of which chains lead to all of it (Caccetta and Giannini, "The generation of minimum
search patterns in the optimum design of open pit mines", 1988). The least one has the offsets that are no sum
of two others. Here both must also point to the sides that the sum points to. So no chain has to leave a box
that has both of its ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import as_float, check_positive, shown
from ..errors import InvalidInputError

#: Heights in benches may be rounded by this much: blocks exactly on the cone belong to it.
ROUNDING = 1e-9


def precedence_pattern(
    slope: float | Mapping[float, float], block_size: ArrayLike, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return the least pattern for a model of this shape, as offsets by height: shape (k, 3).

    Arguments are those of :func:`preflow.reductions.ultimate_pit`, which are checked here.

    Examples
    --------
    >>> precedence_pattern(45, (1, 1, 1), (9, 9, 2)).tolist()
    [[-1, 0, 1], [0, -1, 1], [0, 0, 1], [0, 1, 1], [1, 0, 1]]
    """
    walls = slope if isinstance(slope, Mapping) else {0.0: slope}
    bearings = [as_float("a bearing of slope", bearing) % 360.0 for bearing in walls]
    angles = [as_float("slope", angle) for angle in walls.values()]
    if not (all(0 < angle <= 90 for angle in angles) and len(set(bearings)) == len(walls) > 0):
        raise InvalidInputError(
            "slope must be an angle above 0 and at most 90 degrees from the horizontal, or a mapping of "
            f"different bearings to such angles, got {shown(slope)}"
        )
    sides = [check_positive("block_size", side) for side in np.ravel(block_size).tolist()]
    if len(sides) != 3 or math.inf in sides:
        raise InvalidInputError(f"block_size must be three numbers (dx, dy, dz), got {shown(block_size)}")
    top = shape[2] - 1
    rise = math.tan(math.radians(min(angles)))  # 0 for the least floats
    reach = top * sides[2] / rise if rise > 0 else math.inf
    most = [int(min(count - 1, reach / side + 1)) for count, side in zip(shape[:2], sides, strict=False)]
    across, along = np.mgrid[-most[0] : most[0] + 1, -most[1] : most[1] + 1]
    east, north = across * sides[0], along * sides[1]
    angle = np.interp(np.degrees(np.arctan2(east, north)), bearings, angles, period=360.0)
    higher = np.hypot(east, north) * np.tan(np.radians(angle)) / sides[2]
    # How many benches higher a column begins to be in the cone.
    first = np.ceil(np.clip(higher - ROUNDING, 1, top + 1)).astype(np.int64)
    pattern = np.zeros((0, 3), dtype=np.int64)
    for bench in range(1, top + 1):
        cells = np.argwhere(first == bench) - most
        # A cell is a sum if an offset leads from it down to a cell of the cone.
        below = cells[:, None] - pattern[:, :2]
        fits = (below * np.sign(cells)[:, None] >= 0) & (abs(below) <= abs(cells)[:, None])
        in_cone = first[tuple(np.moveaxis(np.where(fits, below, 0) + most, -1, 0))] <= bench - pattern[:, 2]
        new = cells[~(fits.all(axis=-1) & in_cone).any(axis=1)]
        pattern = np.concatenate([pattern, np.insert(new, 2, bench, axis=1)])
    return pattern


class BlockLayout(NamedTuple):
    """The numbers of blocks: benches one after the other from below, rows of a bench from south to north.

    Rows and benches are longer than the model, so that no arc of the pattern leads from one side of it to
    the other: the numbers between are *outside*.
    """

    shape: tuple[int, int, int]
    pattern: NDArray[np.int64]

    @property
    def padded(self) -> tuple[int, int, int]:
        """The numbers of benches, of rows of one, and of places in a row."""
        nx, ny, nz = self.shape
        across, along, _ = abs(self.pattern).max(axis=0, initial=0).tolist()
        return nz, ny + along, nx + across

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.padded)

    @property
    def step(self) -> NDArray[np.int64]:
        """The number of the head of each arc of the pattern, less that of its tail."""
        _, rows, places = self.padded
        step: NDArray[np.int64] = self.pattern @ np.array([1, places, rows * places])
        return step

    @property
    def arcs_at_level(self) -> NDArray[np.uint64]:
        """How many arcs of the pattern stay below the top, for the blocks of each bench."""
        above = np.arange(self.shape[2])[::-1]
        return np.searchsorted(self.pattern[:, 2], above, side="right").astype(np.uint64)

    def inside(self, numbers: Array) -> Array:
        """Return the part of an array, shape (size,), that belongs to blocks; its axes are the model's."""
        nx, ny, _ = self.shape
        return numbers.reshape(self.padded)[:, :ny, :nx].T

    def spread(self, blocks: Array, outside: int = 0) -> Array:
        """Return an array of shape (size,) with the entries of blocks, and `outside` between them."""
        numbers = np.full(self.size, outside, dtype=blocks.dtype)
        self.inside(numbers)[...] = blocks
        return numbers

    def pairs(self, numbers: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the entries at tails and heads, of one arc of the pattern after the other.

        Where an arc leaves the model, the head is outside, or the tail is.
        """
        for step in self.step.tolist():
            yield numbers[: len(numbers) - step], numbers[step:]
