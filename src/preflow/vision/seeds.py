"""Seeds for :func:`preflow.vision.segment`: boxes, brush strokes, ranges of values and label images.

Coordinates are in pixels from 0, as image viewers show them: x to the right, y down, and in a volume z.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import check_integer, check_number
from ..errors import InvalidInputError
from ..graph.placement import host_array

#: (x, y), or (x, y, z) in a volume.
Point = tuple[float, ...]
#: Strokes are painted in pieces of this length in pixels and the diameter of the brush.
LEAST_PIECE = 16


def box(shape: tuple[int, ...], corner: Point, opposite: Point) -> NDArray[np.bool_]:
    """Return a mask that is True in a rectangle or a cuboid, its corners and edges included.

    Parameters
    ----------
    shape : (height, width) or (depth, height, width)
        Shape of the image.
    corner, opposite : (x, y) or (x, y, z)
        Any two opposite corners.

    Raises
    ------
    InvalidInputError
        A corner lies outside the image.

    Examples
    --------
    >>> int(box((10, 10), (2, 3), (4, 4)).sum())
    6
    """
    corners = np.rint(_checked_points(shape, [corner, opposite])).astype(np.int64)
    mask = np.zeros(shape, dtype=np.bool_)
    mask[tuple(map(slice, corners.min(axis=0), corners.max(axis=0) + 1))] = True
    return mask


def bounding_box(mask: NDArray[np.bool_]) -> tuple[slice, ...]:
    """Return the smallest box around all True entries of a mask; an empty one where there are none."""
    box = []
    for axis in range(mask.ndim):
        along = np.flatnonzero(mask.any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
        box.append(slice(int(along[0]), int(along[-1]) + 1) if len(along) else slice(0, 0))
    return tuple(box)


def stroke(shape: tuple[int, ...], points: Sequence[Point], *, brush: float = 3.0) -> NDArray[np.bool_]:
    """Return a mask that is True along a line through points, as a round brush paints it.

    Parameters
    ----------
    shape : (height, width) or (depth, height, width)
        Shape of the image.
    points : sequence of (x, y) or (x, y, z)
        One point is a dot, two a line, more a polyline.
    brush : float
        Diameter of the brush in pixels, at least 1.

    Raises
    ------
    InvalidInputError
        There is no point, one lies outside the image, or `brush` is out of its range.

    Examples
    --------
    >>> stroke((4, 6), [(1, 1), (4, 1)], brush=1).astype(int)
    array([[0, 0, 0, 0, 0, 0],
           [0, 1, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0]])
    """
    path = _checked_points(shape, points)
    brush = check_number("brush", brush, minimum=1.0)
    radius = min(brush / 2, sum(shape))  # covers the image, and fits int64
    mask = np.zeros(shape, dtype=np.bool_)
    for start, end in zip(path, path[1:] if len(path) > 1 else path, strict=False):
        along = end - start
        squared_length = np.dot(along, along)
        for first, last in _boxes_around(start, end, radius):
            around = mask[tuple(map(slice, first, last))]
            pixel = np.moveaxis(np.indices(around.shape), 0, -1) + first - start
            position = np.zeros(around.shape)
            if squared_length > 0:
                position = np.clip(pixel @ along / squared_length, 0, 1)
            distance = np.linalg.norm(pixel - position[..., np.newaxis] * along, axis=-1)
            around |= distance <= radius
    return mask


def _boxes_around(
    start: NDArray[np.float64], end: NDArray[np.float64], radius: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the first and the last corner plus one of boxes that cover all pixels near a segment.

    A box about as long as it is wide has few others: one box around a long diagonal would be the whole image.
    """
    pieces = math.ceil(max(1.0, np.abs(end - start).max() / (2 * radius + LEAST_PIECE)))
    ends = start + np.linspace(0, 1, pieces + 1)[:, np.newaxis] * (end - start)
    for here, there in pairwise(ends):
        first = np.maximum(np.floor(np.minimum(here, there) - radius), 0).astype(np.int64)
        yield first, np.ceil(np.maximum(here, there) + radius).astype(np.int64) + 1


def parse_seeds(
    shape: tuple[int, ...],
    specifications: Iterable[str],
    *,
    brush: float = 3.0,
    values: ArrayLike | None = None,
) -> NDArray[np.bool_]:
    """Return the union of seeds written as text, in the notation of the command line.

    Parameters
    ----------
    shape : (height, width) or (depth, height, width)
        Shape of the image.
    specifications : iterable of str
        ``"x0,y0,x1,y1"`` is a box between two corners; ``"x,y x,y x,y"`` a brush stroke through points; in a
        volume a z follows each y. ``">200"``, ``"<90"`` and ``"90:120"``, with both ends, are all pixels with
        such values.
    brush : float
        Diameter of the strokes in pixels.
    values : array_like of `shape`, optional
        A grey image; needed for seeds by value.

    Raises
    ------
    InvalidInputError
        A specification is none of these, or leaves the image.

    Examples
    --------
    >>> int(parse_seeds((10, 10), ["0,0,1,1", "5,5 9,5"], brush=1).sum())
    9
    >>> int(parse_seeds((2, 2), [">3"], values=[[1, 5], [4, 3]]).sum())
    2
    """
    ndim = len(shape)
    mask = np.zeros(shape, dtype=np.bool_)
    for text in specifications:
        if text.strip().startswith(("<", ">")) or ":" in text:
            mask |= _by_value(shape, text, values)
            continue
        match _coordinates(text):
            case [both] if len(both) == 2 * ndim:
                mask |= box(shape, tuple(both[:ndim]), tuple(both[ndim:]))
            case [_, *_] as points if all(len(point) == ndim for point in points):
                mask |= stroke(shape, [tuple(point) for point in points], brush=brush)
            case _:
                point, opposite = "x,y,z"[: 2 * ndim - 1], "x0,y0,z0,x1,y1,z1"
                corners = opposite if ndim == 3 else "x0,y0,x1,y1"
                raise InvalidInputError(
                    f'a seed is a box "{corners}", a stroke through points "{point} {point} ..." or a range '
                    f'of values ">200", "<90" or "90:120", got {text!r}'
                )
    return mask


def seeds_from_labels(labels: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the seeds of a label image: 1 marks the object, 2 the background, 0 unknown pixels.

    This is the convention of scikit-image's ``random_walker`` and of programs that paint on volumes.

    Parameters
    ----------
    labels : array_like of int

    Returns
    -------
    foreground, background : ndarray of bool, shape of the labels

    Raises
    ------
    InvalidInputError
        Other labels.

    Examples
    --------
    >>> foreground, background = seeds_from_labels([[1, 0, 2]])
    >>> foreground.tolist(), background.tolist()
    ([[True, False, False]], [[False, False, True]])
    """
    given = host_array(labels, "labels")
    if given.dtype.kind not in "iuf" or not np.isin(given, (0, 1, 2)).all():
        raise InvalidInputError("labels of seeds are 1 (object), 2 (background) and 0 (unknown)")
    return given == 1, given == 2


def _by_value(shape: tuple[int, ...], text: str, values: ArrayLike | None) -> NDArray[np.bool_]:
    """Return the pixels in a range of values."""
    grey = None if values is None else host_array(values, "values")
    if grey is None or grey.shape != shape:
        raise InvalidInputError(f"seed {text!r} is a range of values: that needs a grey image")
    return value_range(text)(grey)


def value_range(text: str) -> Callable[[Array], NDArray[np.bool_]]:
    """Return a function that says which values are in a range: ``>200``, ``<90`` or, with ends, ``90:120``.

    Examples
    --------
    >>> value_range("2:4")(np.arange(6)).tolist()
    [False, False, True, True, True, False]
    """
    sign, (*lows, limit) = text.strip()[:1], text.strip().removeprefix(">").removeprefix("<").split(":")
    try:
        end, low = float(limit), float(lows[0]) if lows else -math.inf
        if len(lows) != (sign not in ("<", ">")) or not low <= end:
            raise ValueError
    except ValueError:
        raise InvalidInputError(
            f'seed {text!r} is no range of values, which are ">200", "<90" or "90:120"'
        ) from None
    if lows:
        return lambda values: (low <= values) & (values <= end)
    return (lambda values: values > end) if sign == ">" else (lambda values: values < end)


def _coordinates(text: str) -> list[list[float]]:
    """Return the numbers between commas in every word, or an empty list if something is not a number."""
    try:
        return [[float(number) for number in word.split(",")] for word in text.split()]
    except ValueError:
        return []


def _checked_points(shape: tuple[int, ...], points: Sequence[Point]) -> NDArray[np.float64]:
    """Check points (x, y) or (x, y, z), and return them as rows in the order of the image's axes."""
    if not isinstance(shape, tuple | list):
        raise InvalidInputError(f"shape must be that of an image, such as (height, width), got {shape!r}")
    for length in shape:
        check_integer("a length of shape", length, minimum=0)
    try:
        path = np.array(points, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        path = np.empty(1)
    if not path.size and path.ndim:
        raise InvalidInputError("a stroke needs at least one point")
    if path.ndim != 2 or path.shape[1] != len(shape):
        raise InvalidInputError(
            f"a point must be {len(shape)} numbers ({', '.join('xyz'[: len(shape)])}), got {points!r}"
        )
    most = np.array(shape[::-1]) - 1
    outside = np.flatnonzero(~((path >= 0) & (path <= most)).all(axis=1))
    if len(outside):
        point = ",".join(f"{coordinate:g}" for coordinate in path[outside[0]])
        ranges = ", ".join(f"{axis} to {last}" for axis, last in zip("xyz", most.tolist(), strict=False))
        raise InvalidInputError(f"point {point} lies outside the image, which goes from 0: {ranges}")
    return path[:, ::-1]
