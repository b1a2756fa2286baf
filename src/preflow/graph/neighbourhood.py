"""Neighbourhoods of the pixels of a grid, and the slices that pair pixels with their neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError

#: A box of pixels as slices along each axis.
Box = tuple[slice, ...]


@cache
def named_neighbourhoods(ndim: int) -> dict[int, list[tuple[int, ...]]]:
    """Return the forward halves of the neighbourhoods that are named by their number of neighbours.

    Examples
    --------
    >>> named_neighbourhoods(2)[4]
    [(0, 1), (1, 0)]
    >>> list(named_neighbourhoods(3))
    [6, 18, 26]
    """
    around = [step for step in itertools.product((-1, 0, 1), repeat=ndim) if step > (0,) * ndim]
    halves = [[step for step in around if sum(map(abs, step)) <= reach] for reach in range(1, ndim + 1)]
    return {2 * len(half): half for half in halves}


def half_neighbourhood(ndim: int, connectivity: Any) -> list[tuple[int, ...]]:
    """Return the forward offsets of a neighbourhood given by a number of neighbours or by a list.

    InvalidInputError: there is no neighbourhood of that size, or the list is not one of offsets.
    """
    if isinstance(connectivity, int | np.integer) and not isinstance(connectivity, bool):
        named = named_neighbourhoods(ndim)
        if connectivity not in named:
            *first, last = map(str, named)
            sizes = f"{', '.join(first)} or {last}" if first else last
            raise InvalidInputError(
                f"connectivity is {sizes} in {ndim} dimension{'s' if ndim > 1 else ''}, or a list of "
                f"offsets; got {connectivity}"
            )
        return named[int(connectivity)]
    try:
        if isinstance(connectivity, str | bytes | bool):
            raise TypeError
        listed = list(connectivity)
    except TypeError:
        raise InvalidInputError(
            f"connectivity must be a number of neighbours or a list of offsets, got {connectivity!r}"
        ) from None
    return _listed(ndim, [_offset(ndim, offset) for offset in listed])


def both_ways(half: Iterable[tuple[int, ...]]) -> NDArray[np.int64]:
    """Return the offsets of all directions: each forward one, followed by its opposite."""
    offsets = np.array([[sign * step for step in each] for each in half for sign in (1, -1)], np.int64)
    offsets.flags.writeable = False
    return offsets


def pair_boxes(shape: tuple[int, ...], offset: Iterable[int]) -> tuple[Box, Box]:
    """Return the box of all pixels that have a neighbour at `offset`, and the box of these neighbours.

    Examples
    --------
    >>> pair_boxes((4, 5), (1, -1))
    ((slice(0, 3, None), slice(1, 5, None)), (slice(1, 4, None), slice(0, 4, None)))
    """
    here, there = [], []
    for size, step in zip(shape, map(int, offset), strict=True):
        begin, end = max(0, -step), min(size, size - step)
        here.append(slice(begin, max(begin, end)))
        there.append(slice(begin + step, end + step) if end > begin else slice(0, 0))
    return tuple(here), tuple(there)


def _offset(ndim: int, given: Any) -> tuple[int, ...]:
    try:
        offset = tuple(given)
    except TypeError:
        offset = ()
    whole = all(isinstance(step, int | np.integer) and not isinstance(step, bool) for step in offset)
    if len(offset) != ndim or not whole:
        raise InvalidInputError(f"an offset in {ndim} dimensions must be {ndim} integers, got {given!r}")
    if not any(offset):
        raise InvalidInputError("an offset of all zeros makes a pixel its own neighbour")
    if max(map(abs, offset)) >= 2**31:
        raise InvalidInputError(f"offset {offset} reaches beyond any grid")
    return tuple(map(int, offset))


def _listed(ndim: int, offsets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the forward offsets of a list: it has only these, or each followed by its opposite."""
    if not offsets:
        raise InvalidInputError("connectivity is an empty list: at least one offset is needed")
    if len(set(offsets)) < len(offsets):
        raise InvalidInputError("connectivity names an offset twice")
    zero = (0,) * ndim
    half = offsets[0::2]
    opposite = [tuple(-step for step in offset) for offset in half]
    if offsets[1::2] != opposite:
        half = offsets
    backward = [offset for offset in half if offset < zero]
    if backward:
        raise InvalidInputError(
            f"offset {backward[0]} points backward: give forward ones, whose first entry that is not 0 is "
            "positive, each alone or each followed by its opposite, so that capacities have one order"
        )
    return half
