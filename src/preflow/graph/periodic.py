"""Grids whose axes are closed to rings: arcs that leave such a grid at one end come in at the other.

An arc between two ends of an axis is an arc of a plain grid with a far offset. Along an axis of length n, the
arc from pixel n - 1 to pixel 0 is the backward arc of offset n - 1, which only pixel 0 has. So the offsets of
a periodic grid are those of the neighbourhood, and for each of them those that take its arcs across the ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ..arrays import AnyArray, ArrayModule, Periodic
from ..errors import CapacityOverflowError, InvalidInputError
from .neighbourhood import Box

#: Parallel arcs between two pixels are added up if no capacity is larger: at most 2**(ndim + 1) of them.
LARGEST_ADDED = 2**54


def checked_periodic(periodic: Periodic, ndim: int) -> tuple[bool, ...]:
    """Return for each axis whether it is a ring.

    InvalidInputError: `periodic` is neither a bool nor one bool for each axis.
    """
    if isinstance(periodic, bool | np.bool_):
        return (bool(periodic),) * ndim
    try:
        axes = tuple(periodic)
    except TypeError:
        axes = ()
    if len(axes) != ndim or not all(isinstance(axis, bool | np.bool_) for axis in axes):
        raise InvalidInputError(f"periodic is a bool, or {ndim} of them, one for each axis; got {periodic!r}")
    return tuple(map(bool, axes))


def ring_boxes(
    shape: Sequence[int], offset: Sequence[int], periodic: Sequence[bool]
) -> list[tuple[Box, Box, tuple[int, ...]]]:
    """Return the arcs of one offset in a periodic grid, apart by which ends they cross.

    Each entry has the boxes of the pixels where arcs begin and where they end, and the difference of their
    positions. Arcs from a pixel to itself are left out.

    Examples
    --------
    >>> for here, there, step in ring_boxes((4,), (1,), (True,)):
    ...     print(here[0].start, here[0].stop, there[0].start, there[0].stop, step)
    0 3 1 4 (1,)
    3 4 0 1 (-3,)
    """
    sides = []
    for size, step, ring in zip(shape, offset, periodic, strict=True):
        if ring:
            forward = step % size if size else 0
            parts = [(0, size - forward, forward), (size - forward, size, forward - size)]
        else:
            parts = [(max(0, -step), min(size, size - step), step)]
        sides.append([part for part in parts if part[0] < part[1]])
    found = []
    for chosen in itertools.product(*sides):
        way = tuple(part[2] for part in chosen)
        if any(way):
            here = tuple(slice(begin, end) for begin, end, _ in chosen)
            there = tuple(slice(begin + length, end + length) for begin, end, length in chosen)
            found.append((here, there, way))
    return found


def unrolled_offsets(
    shape: Sequence[int], half: Sequence[tuple[int, ...]], periodic: Sequence[bool]
) -> tuple[list[tuple[int, ...]], bool]:
    """Return the forward offsets of the plain grid that has the arcs of a periodic one.

    Those of the neighbourhood come first, in their order. Return also whether some arcs of the periodic grid
    are parallel: they are one arc of the plain grid.

    Examples
    --------
    >>> unrolled_offsets((4, 5), [(0, 1), (1, 0)], (True, False))
    ([(0, 1), (1, 0), (3, 0)], False)
    >>> unrolled_offsets((2,), [(1,)], (True,))
    ([(1,)], True)
    """
    steps = [
        max(step, tuple(-length for length in step))
        for offset in half
        for *_, step in ring_boxes(shape, offset, periodic)
    ]
    return list(dict.fromkeys([*half, *steps])), len(steps) > len(set(steps))


def unroll(
    shape: tuple[int, ...],
    neighbor: AnyArray,
    half: list[tuple[int, ...]],
    periodic: tuple[bool, ...],
    xp: ArrayModule,
) -> tuple[AnyArray, list[tuple[int, ...]]]:
    """Return the capacities and forward offsets of a plain grid that has the arcs of a periodic one.

    `neighbor` is as in :meth:`preflow.GridNetwork.from_arrays`; entries of arcs across the ends of rings
    count. InvalidInputError if a capacity is negative or not finite; CapacityOverflowError if capacities
    above 2**54 belong to parallel arcs, as along a ring of two pixels.
    """
    both = len(neighbor) == 2 * len(half)
    arcs = []
    for k, offset in enumerate(half):
        there_and_back = (neighbor[2 * k], neighbor[2 * k + 1]) if both else (neighbor[k], None)
        for here, there, step in ring_boxes(shape, offset, periodic):
            ahead, back = there_and_back
            onward = ahead[here]
            _check(onward, 2 * k if both else k, here)
            backward = onward if back is None else back[there]
            if back is not None:
                _check(backward, 2 * k + 1, there)
            if step > (0,) * len(shape):
                arcs.append((step, here, onward, backward))
            else:
                arcs.append((tuple(-length for length in step), there, backward, onward))
    offsets, parallel = unrolled_offsets(shape, half, periodic)
    row_of = {step: row for row, step in enumerate(offsets)}
    rows = (2 if both else 1) * len(offsets)
    dtype = neighbor.dtype
    if parallel:
        dtype = np.dtype(np.float64 if dtype.kind == "f" else np.int64)
        if dtype.kind == "i" and neighbor.size and int(neighbor.max()) > LARGEST_ADDED:
            raise CapacityOverflowError("parallel arcs of a periodic grid have capacities above 2**54")
    capacity = xp.zeros((rows, *shape), dtype=dtype)
    for step, begin, onward, backward in arcs:
        row = row_of[step]
        if both:
            end = tuple(
                slice(side.start + length, side.stop + length)
                for side, length in zip(begin, step, strict=True)
            )
            capacity[2 * row][begin] += onward
            capacity[2 * row + 1][end] += backward
        else:
            capacity[row][begin] += onward
    return capacity, offsets


def _check(values: AnyArray, row: int, box: Box) -> None:
    """Raise InvalidInputError if a capacity between neighbours is negative or not finite; name its place."""
    good = values >= 0 if values.dtype.kind == "i" else (values >= 0) & (values < np.inf)
    if not bool(good.all()):
        index = np.unravel_index(int((~good).argmax()), values.shape)
        place = tuple(int(i) + side.start for i, side in zip(index, box, strict=True))
        raise InvalidInputError(
            f"neighbor_capacity[{row}] is {values[index].item()} at {place}: capacities between neighbours "
            "are finite and not negative"
        )
