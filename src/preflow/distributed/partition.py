"""Boxes of a grid, and the arcs between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import check_integer
from ..errors import InvalidInputError
from ..graph.neighbourhood import Box

#: Up to as many boxes every number is tried where their number is chosen.
MOST_COUNTED = 64


class Boxes(NamedTuple):
    """A grid divided into boxes, numbered in C order."""

    shape: tuple[int, ...]
    #: for each axis, where boxes begin, followed by the length of the axis
    cuts: tuple[NDArray[np.int64], ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of boxes along each axis."""
        return tuple(len(cut) - 1 for cut in self.cuts)

    def boxes(self) -> list[Box]:
        """Return all boxes; none if there are no pixels."""
        if not math.prod(self.shape):
            return []
        sides = [[slice(*ends) for ends in itertools.pairwise(cut.tolist())] for cut in self.cuts]
        return list(itertools.product(*sides))

    @property
    def largest(self) -> Box:
        """The largest box; of several the first that is not at an end of an axis, if there is one."""
        sides = []
        for cut in self.cuts:
            lengths = np.diff(cut)
            middle = [
                i for i in np.flatnonzero(lengths == lengths.max()).tolist() if 0 < i < len(lengths) - 1
            ]
            first = middle[0] if middle else int(lengths.argmax())
            sides.append(slice(int(cut[first]), int(cut[first + 1])))
        return tuple(sides)

    def arcs_between(self, offsets: NDArray[np.int64], periodic: Sequence[bool]) -> int:
        """Return the number of arcs that lead from one box to another; around rings that are cut, too."""
        total = 0
        for steps in np.abs(offsets).tolist():
            everywhere = within = 1
            for cut, step, ring in zip(self.cuts, steps, periodic, strict=True):
                inside = int(np.maximum(np.diff(cut) - step, 0).sum())
                around = int(cut[-1]) if ring else max(0, int(cut[-1]) - step)
                everywhere *= around
                within *= around if len(cut) == 2 else inside
            total += everywhere - within
        return total

    def box_of(self, pixels: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
        """Return the number of the box of each pixel, given its coordinates."""
        number = np.zeros(len(pixels[0]), dtype=np.int64)
        for cut, count, place in zip(self.cuts, self.counts, pixels, strict=True):
            number = number * count + (np.searchsorted(cut, place, side="right") - 1)
        return number


def divide(shape: tuple[int, ...], regions: int | tuple[int, ...], periodic: Sequence[bool] = ()) -> Boxes:
    """Divide a grid into boxes of about one size.

    `regions` is the number of boxes, or that along each axis. A number is reached exactly if the grid has as
    many pixels along its axes, and with the smallest border between boxes. No axis is a ring if `periodic` is
    empty.
    """
    if isinstance(regions, tuple):
        if len(regions) != len(shape) or not all(isinstance(n, int) and n >= 1 for n in regions):
            raise InvalidInputError(
                f"regions must be a number, or one for each of {len(shape)} axes, got {regions}"
            )
        counts = regions
    else:
        counts = _best_counts(shape, check_integer("regions", regions), periodic)
    return Boxes(
        shape,
        tuple(
            np.linspace(0, length, min(count, max(1, length)) + 1).astype(np.int64)
            for length, count in zip(shape, counts, strict=True)
        ),
    )


def _best_counts(shape: tuple[int, ...], regions: int, periodic: Sequence[bool]) -> tuple[int, ...]:
    """Return how many boxes to make along each axis, so that the arcs between boxes are few."""
    while regions > 1:
        fitting = [
            counts
            for counts in _factorizations(regions, len(shape))
            if all(count <= length for count, length in zip(counts, shape, strict=True))
        ]
        if fitting:
            return min(fitting, key=lambda counts: _border(shape, counts, periodic))
        regions -= 1
    return (1,) * len(shape)


def fair_counts(shape: tuple[int, ...], least: int, periodic: Sequence[bool] = ()) -> tuple[int, ...]:
    """Return how many boxes to make along each axis: `least`, or up to a third more.

    They have the smallest border. Of several such divisions that with most boxes needs the least memory.
    """
    candidates = [_best_counts(shape, number, periodic) for number in range(least, least + least // 3 + 1)]
    enough = [counts for counts in candidates if math.prod(counts) >= least] or candidates
    return min(enough, key=lambda counts: (*_border(shape, counts, periodic), -math.prod(counts)))


def possible_counts(shape: tuple[int, ...], periodic: Sequence[bool] = ()) -> Iterator[tuple[int, ...]]:
    """Yield how many boxes to make along each axis, from one box in all to one for each pixel.

    Up to `MOST_COUNTED` boxes, these are the best ways to make each number; then boxes are cubes.
    """
    for number in range(1, min(MOST_COUNTED, math.prod(shape)) + 1):
        counts = _best_counts(shape, number, periodic)
        if math.prod(counts) == number:
            yield counts
    side = max(shape)
    while side > 1:
        side = side * 15 // 16
        counts = tuple(-(-length // side) for length in shape)
        if math.prod(counts) > MOST_COUNTED:
            yield counts


def _border(
    shape: tuple[int, ...], counts: tuple[int, ...], periodic: Sequence[bool]
) -> tuple[float, list[bool]]:
    """Return the number of pixels at borders, and which rings are not cut.

    A ring of one box counts as one of two boxes: the arcs across its ends have directions of their own, which
    take memory at all pixels. Those along the first axis take most.
    """
    size = math.prod(shape)
    rings = periodic or (False,) * len(shape)
    border = sum(
        (max(2, count) if ring else count - 1) * size / length
        for count, length, ring in zip(counts, shape, rings, strict=True)
    )
    return border, [ring and count == 1 for count, ring in zip(counts, rings, strict=True)]


def _factorizations(number: int, parts: int) -> list[tuple[int, ...]]:
    """Return all tuples of `parts` numbers with this product."""
    if parts == 1:
        return [(number,)]
    return [
        (first, *rest)
        for first in range(1, number + 1)
        if number % first == 0
        for rest in _factorizations(number // first, parts - 1)
    ]


class GridBorder(NamedTuple):
    """The border arcs of a box, in the order in which the neighbour lists them, too."""

    neighbours: tuple[int, ...]
    first: NDArray[np.int64]  #: shape (neighbours + 1,)
    direction: NDArray[np.int64]  #: direction of each arc
    #: coordinates of both ends in the grid
    tail: tuple[NDArray[np.int64], ...]
    head: tuple[NDArray[np.int64], ...]

    def seen_from(self, around: Box, shape: tuple[int, ...]) -> GridBorder:
        """Return the arcs with coordinates counted from the corner of a :func:`halo`."""

        def seen(places: tuple[NDArray[np.int64], ...]) -> tuple[NDArray[np.int64], ...]:
            return tuple(
                (place - side.start) % length if side.start < 0 or side.stop > length else place - side.start
                for place, side, length in zip(places, around, shape, strict=True)
            )

        return self._replace(tail=seen(self.tail), head=seen(self.head))


def border_of(boxes: Boxes, number: int, offsets: NDArray[np.int64]) -> GridBorder:
    """Return the arcs from a box to others.

    Arcs to a neighbour are ordered by the arc that leads from the box with the smaller number: by its
    direction, then its tail.
    """
    shape, box = boxes.shape, boxes.boxes()[number]
    tails, directions = [], []
    for d, offset in enumerate(offsets.tolist()):
        # The pixels of the box from which the arc stays in the grid, and those where it stays in the box.
        inside, staying = [], []
        for side, step, length in zip(box, offset, shape, strict=True):
            inside.append((max(side.start, -step), min(side.stop, length - step)))
            staying.append((max(side.start, side.start - step), min(side.stop, side.stop - step)))
        # Along each axis in turn those that leave the box along it, and along no axis before.
        for axis in range(len(shape)):
            (begin, end), (stays, ends) = inside[axis], staying[axis]
            for leaving in ((begin, min(end, stays)), (max(begin, ends, min(end, stays)), end)):
                ranges = [*map(_both, inside[:axis], staying[:axis]), leaving, *inside[axis + 1 :]]
                lengths = [max(0, last - first) for first, last in ranges]
                corner = np.array([[first] for first, _ in ranges], dtype=np.int64)
                found = np.indices(lengths).reshape(len(shape), -1) + corner
                tails.append(found.astype(np.int64, copy=False))
                directions.append(np.full(found.shape[1], d, dtype=np.int64))
    tail = np.concatenate(tails, axis=1)
    direction = np.concatenate(directions)
    head = tail + offsets[direction].T
    neighbour = boxes.box_of(tuple(head))
    forward = neighbour > number
    index = np.where(
        forward,
        np.ravel_multi_index(tuple(tail), shape),
        np.ravel_multi_index(tuple(head), shape),
    )
    order = np.lexsort((index, np.where(forward, direction, direction ^ 1), neighbour))
    neighbours, first = np.unique(neighbour[order], return_index=True)
    return GridBorder(
        tuple(neighbours.tolist()),
        np.append(first, len(order)).astype(np.int64),
        direction[order],
        tuple(tail[:, order]),
        tuple(head[:, order]),
    )


def _both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return the numbers that are in two ranges."""
    return max(one[0], other[0]), min(one[1], other[1])


def halo(box: Box, shape: tuple[int, ...], offsets: NDArray[np.int64], periodic: Sequence[bool] = ()) -> Box:
    """Return a box together with all neighbours of its pixels, as the smallest box with all of them.

    Along a ring it may begin before the first pixel or end after the last one: positions are modulo the
    length. If it would have all pixels of a ring, it is the whole axis.
    """
    reach = np.abs(offsets).max(axis=0).tolist()
    sides = []
    for side, step, length, ring in zip(box, reach, shape, periodic or (False,) * len(shape), strict=True):
        begin, end = side.start - step, side.stop + step
        if not ring:
            begin, end = max(0, begin), min(length, end)
        elif end - begin >= length:
            begin, end = 0, length
        sides.append(slice(begin, end))
    return tuple(sides)


def closed_axes(around: Box, shape: tuple[int, ...], periodic: Sequence[bool]) -> tuple[bool, ...]:
    """Return along which axes a :func:`halo` is a ring itself."""
    return tuple(
        ring and side.stop - side.start == length
        for side, length, ring in zip(around, shape, periodic, strict=True)
    )


def read_around(read: Callable[[Box], Array], box: Box, shape: tuple[int, ...]) -> Array:
    """Return the entries of a :func:`halo`; `read` returns those of a box within the grid.

    The last axes of what is read are those of the grid.
    """
    for axis, (side, length) in enumerate(zip(box, shape, strict=True)):
        if side.start < 0 or side.stop > length:
            first = slice(side.start % length, length)
            pieces = first, slice(0, side.stop - side.start - (first.stop - first.start))
            parts = [read_around(read, (*box[:axis], piece, *box[axis + 1 :]), shape) for piece in pieces]
            return np.concatenate(parts, axis=axis - len(shape))
    return read(box)


def steps_of(shape: tuple[int, ...], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the step of each direction in C order; 0 if it leaves the grid from every pixel."""
    strides = np.array([math.prod(shape[axis + 1 :]) for axis in range(len(shape))], dtype=np.int64)
    within = (np.abs(offsets) < np.array(shape)).all(axis=1, keepdims=True)
    steps: NDArray[np.int64] = np.where(within, offsets, 0) @ strides
    return steps
