"""Volumes with their place in space, and how their slices are shown: upright, with directions at the edges.

A text such as "SAR" says in which direction of the body each axis of a volume, (z, y, x), grows: Superior,
Anterior, Right, or the opposite ones, Inferior, Posterior, Left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..arrays import Array
from ..errors import InvalidInputError

#: Opposite directions, from what is vertical in a picture to what is horizontal.
OPPOSITES = ("SI", "AP", "RL")
#: The directions of the axes of most NIfTI files.
USUAL = "SAR"
#: Slices are shown so that rows go in one of these directions, and columns in one of those.
DOWN, RIGHTWARDS = "IP", "RA"

Point = tuple[float, ...]


class Plane(NamedTuple):
    """How the slices along one axis are shown: rows and columns change places, then some go backwards."""

    #: the axis; -1 for an image, which is its only slice
    axis: int = -1
    transposed: bool = False
    flips: tuple[bool, bool] = (False, False)  #: whether rows, and columns, go backwards
    letters: str = ""  #: the directions at the top, on the right, below and on the left; empty if unknown

    def of(self, lengths: Iterable[float]) -> tuple[float, float]:
        """Return what belongs to the rows and to the columns of a picture, of a number for each axis."""
        first, second = (value for axis, value in enumerate(lengths) if axis != self.axis)
        return (second, first) if self.transposed else (first, second)

    def of_slice(self, corner: Point) -> Point:
        """Return the place (x, y) in a slice of a place (x, y, z) of the volume, or (x, y) of an image."""
        return tuple(value for axis, value in enumerate(corner[::-1]) if axis != self.axis)[::-1]

    def show(self, pixels: Array) -> Array:
        """Return a slice, which may have channels last, as it is shown; a view."""
        pixels = pixels.swapaxes(0, 1) if self.transposed else pixels
        return pixels[tuple(slice(None, None, -1 if flip else 1) for flip in self.flips)]

    def shown_at(self, points: Iterable[Point], shape: tuple[int, ...]) -> list[list[float]]:
        """Return the points (x, y) of the picture for those of a slice of an array of this shape."""
        return [self._flipped(p[::-1] if self.transposed else p, shape) for p in points]

    def stored_at(self, points: Iterable[Point], shape: tuple[int, ...]) -> list[Point]:
        """Return the points (x, y) of the slice for those of the picture."""
        flipped = (self._flipped(p, shape) for p in points)
        return [tuple(p[::-1] if self.transposed else p) for p in flipped]

    def _flipped(self, point: Point, shape: tuple[int, ...]) -> list[float]:
        places = zip(point, self.of(shape)[::-1], self.flips[::-1], strict=True)
        return [length - 1 - place if flip else place for place, length, flip in places]


def planes(directions: str | None) -> tuple[Plane, Plane, Plane]:
    """Return how slices along each axis of a volume are shown: head up, or else face up; None: as stored."""
    if directions is None:
        return Plane(0), Plane(1), Plane(2)
    return _plane(0, directions), _plane(1, directions), _plane(2, directions)


def _plane(axis: int, directions: str) -> Plane:
    rows, columns = (each for number, each in enumerate(directions) if number != axis)
    rank = [next(n for n, pair in enumerate(OPPOSITES) if each in pair) for each in (rows, columns)]
    transposed = rank[1] < rank[0]
    if transposed:
        rows, columns = columns, rows
    flips = rows not in DOWN, columns not in RIGHTWARDS
    below, right = (
        _opposite(each) if flip else each for each, flip in zip((rows, columns), flips, strict=True)
    )
    return Plane(axis, transposed, flips, _opposite(below) + right + below + _opposite(right))


def _opposite(direction: str) -> str:
    pair = next(pair for pair in OPPOSITES if direction in pair)
    return pair.replace(direction, "")


def directions_of(affine: NDArray[np.float64]) -> str:
    """Return the directions of the axes (z, y, x) of an array by the affine of (x, y, z).

    The axes of a space are those of NIfTI: to the right, forward, and up.

    Examples
    --------
    >>> directions_of(np.diag([-1.0, 1.0, 2.0, 1.0]))
    'SAL'
    """
    towards = affine[:3, :3] / np.maximum(np.abs(affine[:3, :3]).max(axis=0), np.finfo(np.float64).tiny)
    # An oblique volume has the directions that its axes are closest to together.
    axes = max(permutations(range(3)), key=lambda axes: sum(abs(towards[a, k]) for k, a in enumerate(axes)))
    pairs = OPPOSITES[::-1]
    return "".join(pairs[a][int(towards[a, k] < 0)] for k, a in enumerate(axes))[::-1]


@dataclass(frozen=True, eq=False, repr=False)
class Volume(np.lib.mixins.NDArrayOperatorsMixin):
    """A volume with its place in space. It is an array for NumPy: ``volume > 195`` is a mask.

    Attributes and methods of arrays, such as `shape` and `mean`, and ``volume[10]``, are those of `values`.

    Attributes
    ----------
    values : ndarray, shape (d, h, w), or (d, h, w, 3) of colours
        Stored values times the file's scale if it has one.
    affine : ndarray of float64, shape (4, 4)
        Maps (x, y, z, 1) in voxels to millimetres.
    of_body : bool
        Whether the millimetres are to the right, forward and up in a body, as in NIfTI. Otherwise slices are
        shown as they are stored: those of TIFF, and of folders.

    Examples
    --------
    >>> import numpy as np
    >>> volume = Volume(np.zeros((2, 4, 5), np.uint8), np.diag([1, 1, 3, 1.0]))
    >>> volume
    Volume(2 x 4 x 5 uint8, 3 x 1 x 1 mm)
    >>> int((volume < 7).sum())
    40
    """

    values: Array
    affine: NDArray[np.float64]
    of_body: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.asarray(self.values))
        object.__setattr__(self, "affine", np.asarray(self.affine, dtype=np.float64))
        if self.values.ndim != 3 and self.values.shape[3:] != (3,):
            expected = "(d, h, w) or (d, h, w, 3)"
            raise InvalidInputError(f"values has shape {self.values.shape}, expected {expected}")
        if self.affine.shape != (4, 4):
            raise InvalidInputError(
                f"affine has shape {self.affine.shape}, expected (4, 4): "
                "numpy.diag([x, y, z, 1]) for the sides x, y and z of a voxel"
            )

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Length of a voxel along each axis of `values`, (z, y, x), in millimetres.

        Examples
        --------
        >>> import numpy as np
        >>> Volume(np.zeros((2, 2, 2)), np.diag([1.0, 1.0, 3.0, 1.0])).spacing
        (3.0, 1.0, 1.0)
        """
        x, y, z = (math.hypot(*column) for column in self.affine[:3, :3].T.tolist())
        return z, y, x

    def with_spacing(self, spacing: ArrayLike) -> Volume:
        """Return the same values at the same place and in the same directions, with voxels of other sides.

        For files that do not know the sides, such as folders of slices.

        Parameters
        ----------
        spacing : sequence of 3 floats
            Length of a voxel along each axis of `values`, (z, y, x), in millimetres.

        Returns
        -------
        Volume

        Raises
        ------
        InvalidInputError
            `spacing` is not three positive numbers.

        Examples
        --------
        >>> import numpy as np
        >>> Volume(np.zeros((2, 2, 2)), np.eye(4)).with_spacing((0.5, 0.2, 0.2)).spacing
        (0.5, 0.2, 0.2)
        """
        sides = np.array(spacing, dtype=np.float64)
        if sides.shape != (3,) or not (np.isfinite(sides) & (sides > 0)).all():
            raise InvalidInputError(f"spacing must be 3 positive numbers (z, y, x), got {spacing!r}")
        affine, lengths = self.affine.copy(), np.array(self.spacing[::-1])
        # A header without sides has no directions either.
        affine[:3, :3] = np.where(lengths > 0, affine[:3, :3] / np.where(lengths > 0, lengths, 1), np.eye(3))
        affine[:3, :3] *= sides[::-1]
        return replace(self, affine=affine)

    @property
    def directions(self) -> str | None:
        """In which direction of the body each axis of `values` grows: "SAR" is up, forward, right."""
        return directions_of(self.affine) if self.of_body else None

    def __getattr__(self, name: str) -> Any:
        """Return an attribute or a method of the array, such as `shape` or `astype`."""
        if name.startswith("_") or name == "values":  # values: while a copy is being made
            raise AttributeError(f"a Volume has no attribute {name!r}")
        return getattr(self.values, name)

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        values = np.asarray(self.values, dtype)
        return values.copy() if copy and values is self.values else values

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Array:
        arrays = (each.values if isinstance(each, Volume) else each for each in inputs)
        found: Array = getattr(ufunc, method)(*arrays, **options)
        return found

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.values.shape))
        sides = " x ".join(f"{side:.3g}" for side in self.spacing)
        return f"Volume({shape} {self.values.dtype}, {sides} mm)"
