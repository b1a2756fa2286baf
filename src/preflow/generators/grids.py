"""Grids without stored arcs: noisy images and volumes, and long thin regions through which flow travels far.

On long thin regions the best published GPU method for grids was slower than one CPU thread (Peng, Chen, Yang
and Zhang, "JF-Cut", IEEE TIP 2015). The spiral and the tree of vessels are such regions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..checks import check_integer
from ..errors import InvalidInputError
from ..graph.contrast import contrast_capacity
from ..graph.grid import GridNetwork
from ..graph.neighbourhood import half_neighbourhood
from .parameters import seeded
from .vision import noisy_field

#: Width of the spiral's corridor as a fraction of the distance between two turns; the wall takes the rest.
CORRIDOR = 0.75
#: Radius and length of a branch of a vessel relative to its parent's, and its angle to the parent in radians.
THINNER, SHORTER, BEND = 0.8, 0.8, 0.6
#: Capacity of seeds: more than any flow through them, and within 16 bits.
SEED_CAPACITY = 30_000


def noisy_grid(
    shape: tuple[int, ...],
    *,
    connectivity: int | None = None,
    contrast: bool = False,
    strength: int = 100,
    data_weight: int = 100,
    smoothing: float = 8.0,
    noise: float = 1.0,
    seed: int = 0,
) -> GridNetwork:
    """Return the segmentation of a smoothed Gaussian field seen through noise, of any number of dimensions.

    Parameters
    ----------
    shape : tuple of int
    connectivity : int, optional
        Default: 4 in an image, 6 in a volume.
    contrast, strength, data_weight, smoothing, noise, seed
        As for :func:`preflow.generators.grid_2d`, which returns the same network with stored arcs.

    Returns
    -------
    GridNetwork

    Examples
    --------
    >>> noisy_grid((100, 80), connectivity=8)
    GridNetwork(100 x 80, 8 neighbours, int32, int16)
    """
    for side in shape:
        check_integer("a side of the grid", side)
    data_weight = check_integer("data_weight", data_weight, minimum=0)
    strength = check_integer("strength", strength, minimum=0)
    image = noisy_field(shape, smoothing, noise, seed)
    data = np.rint(data_weight * image.astype(np.float64)).astype(np.int32)
    half = half_neighbourhood(len(shape), 2 * len(shape) if connectivity is None else connectivity)
    neighbor: Any = [round(strength / math.hypot(*offset)) for offset in half]
    if contrast:
        neighbor = contrast_capacity(
            image[..., np.newaxis], strength=strength, connectivity=half, channel_axis=-1
        )
    else:
        neighbor = np.array(neighbor, dtype=np.int16 if strength < 2**15 else np.int64)
    return GridNetwork.from_arrays(np.maximum(data, 0), np.maximum(-data, 0), neighbor, connectivity=half)


def spiral(
    side: int, *, turns: int = 10, strength: int = 100, data_weight: int = 5, seed: int = 0
) -> GridNetwork:
    """Return an image of a spiral corridor: flow enters at its outer end and leaves in the middle.

    Parameters
    ----------
    side : int
        Height and width; at least 8 pixels per turn.
    turns : int
        The corridor is about ``2.4 * turns * side`` pixels long.
    strength : int
        Largest capacity between neighbours in the corridor, the least being half of that; 0 to the wall.
    data_weight : int
        Largest terminal capacity of other pixels; these are random.
    seed : int

    Returns
    -------
    GridNetwork
        With 4 neighbours.

    Examples
    --------
    >>> spiral(64, turns=3)
    GridNetwork(64 x 64, 4 neighbours, int16)
    """
    turns = check_integer("turns", turns)
    side = check_integer("side", side, minimum=8 * turns)
    _check_weights(strength, data_weight)
    rng = seeded(seed)
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    radius, angle = np.hypot(y, x), np.arctan2(y, x)
    period = side / 2 / (turns + 1)
    winding = radius / period - angle / (2 * math.pi)
    inside = ((winding % 1.0) < CORRIDOR) & (winding < turns)
    outer_end = inside & (winding > turns - 1) & (np.abs(angle - math.pi / 2) < 0.1)
    middle = inside & (radius < period)
    return _seeded_region(inside, outer_end, middle, strength, data_weight, rng)


def vessel_tree(
    side: int, *, branchings: int = 6, strength: int = 100, data_weight: int = 5, seed: int = 0
) -> GridNetwork:
    """Return a volume with a tree of vessels: flow enters at the root and leaves at the tips.

    Parameters
    ----------
    side : int
        Depth, height and width, at least 16.
    branchings : int
        Number of branchings on the way from the root to a tip.
    strength, data_weight, seed
        As for :func:`spiral`.

    Returns
    -------
    GridNetwork
        With 6 neighbours.

    Examples
    --------
    >>> vessel_tree(24, branchings=3)
    GridNetwork(24 x 24 x 24, 6 neighbours, int16)
    """
    side = check_integer("side", side, minimum=16)
    branchings = check_integer("branchings", branchings, minimum=0)
    _check_weights(strength, data_weight)
    rng = seeded(seed)
    inside = np.zeros((side, side, side), dtype=np.bool_)
    tips = np.zeros_like(inside)
    vessels = [(np.array([0.0, side / 2, side / 2]), np.array([1.0, 0.0, 0.0]), side / 4, side / 20, 0)]
    while vessels:
        begin, direction, length, radius, depth = vessels.pop()
        end = np.clip(begin + length * direction, radius, side - 1 - radius)
        for t in np.linspace(0.0, 1.0, max(2, math.ceil(2 * length))):
            _fill_ball(inside, begin + t * (end - begin), radius)
        if depth == branchings:
            _fill_ball(tips, end, radius)
            continue
        across = np.cross(direction, _unit(rng))
        for bend in (BEND, -BEND):
            way = math.cos(bend) * direction + math.sin(bend) * across / max(math.hypot(*across), 1e-9)
            vessels.append((end, way, SHORTER * length, max(1.0, THINNER * radius), depth + 1))
    root = np.zeros_like(inside)
    root[: max(1, side // 16)] = inside[: max(1, side // 16)]
    return _seeded_region(inside, root, tips & ~root, strength, data_weight, rng)


def _seeded_region(
    inside: NDArray[np.bool_],
    source_seeds: NDArray[np.bool_],
    sink_seeds: NDArray[np.bool_],
    strength: int,
    data_weight: int,
    rng: Generator,
) -> GridNetwork:
    """Return a grid in whose region flow passes easily, with seeds at its ends and noise elsewhere."""
    terminals = rng.integers(-data_weight, data_weight, inside.shape, dtype=np.int16, endpoint=True)
    source, sink = np.maximum(terminals, 0), np.maximum(-terminals, 0)
    for capacity, other, seeds in ((source, sink, source_seeds), (sink, source, sink_seeds)):
        capacity[seeds] = SEED_CAPACITY
        other[seeds] = 0
    shape = (inside.ndim, *inside.shape)
    neighbor = rng.integers(strength // 2, strength, shape, dtype=np.int16, endpoint=True)
    for row, axis in zip(neighbor, reversed(range(inside.ndim)), strict=True):
        row[inside != np.roll(inside, -1, axis=axis)] = 0
    return GridNetwork.from_arrays(source, sink, neighbor)


def _check_weights(strength: int, data_weight: int) -> None:
    strength = check_integer("strength", strength, minimum=2)
    data_weight = check_integer("data_weight", data_weight, minimum=0)
    if max(strength, data_weight) > SEED_CAPACITY:
        raise InvalidInputError(f"strength and data_weight are at most {SEED_CAPACITY}")


def _fill_ball(mask: NDArray[np.bool_], centre: NDArray[np.float64], radius: float) -> None:
    """Set the voxels of a volume that lie in a ball."""
    low = np.maximum(np.floor(centre - radius).astype(int), 0)
    high = np.minimum(np.ceil(centre + radius).astype(int) + 1, mask.shape)
    box = tuple(slice(begin, end) for begin, end in zip(low, high, strict=True))
    axes = np.ogrid[box]
    distance: NDArray[np.float64] = np.zeros((1, 1, 1))
    for axis, middle in zip(axes, centre, strict=True):
        distance = distance + (axis - middle) ** 2
    mask[box] |= distance <= radius * radius


def _unit(rng: Generator) -> NDArray[np.float64]:
    """Return a random direction."""
    vector = rng.standard_normal(3)
    direction: NDArray[np.float64] = vector / math.hypot(*vector)
    return direction
