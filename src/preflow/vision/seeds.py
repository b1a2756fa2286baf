"""Seeds for :func:`preflow.vision.segment`, given as boxes and brush strokes.

Coordinates are pixels as every image viewer shows them: x to the right, y down, from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..generators.parameters import check_number

Point = tuple[float, float]


def box(shape: tuple[int, int], corner: Point, opposite: Point) -> NDArray[np.bool_]:
    """Return a mask that is True in a rectangle, its corners and edges included.

    Parameters
    ----------
    shape : (height, width)
        Shape of the image.
    corner, opposite : (x, y)
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
    corners = _checked_points(shape, [corner, opposite])
    left, top = np.rint(corners.min(axis=0)).astype(np.int64)
    right, bottom = np.rint(corners.max(axis=0)).astype(np.int64)
    mask = np.zeros(shape, dtype=np.bool_)
    mask[top : bottom + 1, left : right + 1] = True
    return mask


def stroke(shape: tuple[int, int], points: Sequence[Point], brush: float = 3.0) -> NDArray[np.bool_]:
    """Return a mask that is True along a line through points, as a round brush paints it.

    Parameters
    ----------
    shape : (height, width)
        Shape of the image.
    points : sequence of (x, y)
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
    check_number("brush", brush, minimum=1.0)
    radius = brush / 2
    mask = np.zeros(shape, dtype=np.bool_)
    for start, end in zip(path, path[1:] if len(path) > 1 else path, strict=False):
        # Only the pixels around this segment: a stroke is small, its image may be large.
        left, top = np.maximum(np.floor(np.minimum(start, end) - radius), 0).astype(np.int64)
        right, bottom = np.ceil(np.maximum(start, end) + radius).astype(np.int64) + 1
        around = mask[top:bottom, left:right]
        y, x = np.indices(around.shape)
        pixel = np.stack([x + left, y + top], axis=-1) - start
        along = end - start
        squared_length = np.dot(along, along)
        position = np.zeros(around.shape)
        if squared_length > 0:
            position = np.clip(pixel @ along / squared_length, 0, 1)
        distance = np.linalg.norm(pixel - position[..., np.newaxis] * along, axis=-1)
        around |= distance <= radius
    return mask


def parse_seeds(
    shape: tuple[int, int], specifications: Iterable[str], brush: float = 3.0
) -> NDArray[np.bool_]:
    """Return the union of seeds written as text, as they stand on the command line.

    Parameters
    ----------
    shape : (height, width)
        Shape of the image.
    specifications : iterable of str
        ``"x0,y0,x1,y1"`` is a box between two corners; ``"x,y x,y x,y"`` a brush stroke through points.
    brush : float
        Diameter of the strokes in pixels.

    Raises
    ------
    InvalidInputError
        A specification is neither, or leaves the image.

    Examples
    --------
    >>> int(parse_seeds((10, 10), ["0,0,1,1", "5,5 9,5"], brush=1).sum())
    9
    """
    mask = np.zeros(shape, dtype=np.bool_)
    for text in specifications:
        match _coordinates(text):
            case [[x0, y0, x1, y1]]:
                mask |= box(shape, (x0, y0), (x1, y1))
            case [[_, _], *_] as points if all(len(point) == 2 for point in points):
                mask |= stroke(shape, [(x, y) for x, y in points], brush)
            case _:
                raise InvalidInputError(
                    f'a seed is a box "x0,y0,x1,y1" or a stroke through points "x,y x,y ...", got {text!r}'
                )
    return mask


def _coordinates(text: str) -> list[list[float]]:
    """Return the numbers between commas in every word; an empty list where something is no number."""
    try:
        return [[float(number) for number in word.split(",")] for word in text.split()]
    except ValueError:
        return []


def _checked_points(shape: tuple[int, int], points: Sequence[Point]) -> NDArray[np.float64]:
    """Return points as an array with a row (x, y) for each."""
    height, width = shape
    path = np.array(points, dtype=np.float64).reshape(-1, 2)
    if not len(path):
        raise InvalidInputError("a stroke needs at least one point")
    for x, y in path.tolist():
        if not (0 <= x <= width - 1 and 0 <= y <= height - 1):
            raise InvalidInputError(
                f"point {x:g},{y:g} lies outside the image: x goes from 0 to {width - 1}, y to {height - 1}"
            )
    return path
