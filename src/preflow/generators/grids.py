"""Grids: noisy images and volumes, and long thin regions through which flow travels far.

Of grids with stored arcs, a vertex per pixel or voxel, n-links and t-links: Boykov and Jolly, "Interactive
graph cuts for optimal boundary and region segmentation of objects in N-D images", ICCV 2001. An n-link joins
two neighbouring pixels, a t-link a pixel and a terminal. Pixels are the vertices ``0 .. size - 1`` in C
order, so ``side[:size].reshape(shape)`` is the labelling of a cut; the source and the sink follow. Arcs from
the source come first, then those to the sink, then the n-links, direction by direction, each in C order of
the pixels.

On long thin regions the best published GPU method for grids was slower than one CPU thread (Peng, Chen, Yang
and Zhang, "JF-Cut", IEEE TIP 2015). The spiral and the tree of vessels are such regions.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from ..checks import check_integer, check_number
from ..errors import CapacityOverflowError, InvalidInputError
from ..graph.contrast import contrast_capacity, contrast_of_channels, finite_array
from ..graph.grid import GridNetwork
from ..graph.neighbourhood import half_neighbourhood, pair_boxes
from ..graph.network import EXACT_FLOAT, MaxFlowProblem
from .irregular import with_data_terms
from .parameters import instance_name, seeded

#: Numbers of neighbours with a name in the field: nearest ones, or all that share a corner.
CONNECTIVITIES = {2: (4, 8), 3: (6, 18, 26)}
#: Width of the spiral's corridor as a fraction of the distance between two turns; the wall takes the rest.
CORRIDOR = 0.75
#: Radius and length of a branch of a vessel relative to its parent's, and its angle to the parent in radians.
THINNER, SHORTER, BEND = 0.8, 0.8, 0.6
#: Capacity of seeds: more than any flow through them, and within 16 bits.
SEED_CAPACITY = 30_000


def grid_2d(
    height: int,
    width: int,
    *,
    connectivity: int = 4,
    contrast: bool = False,
    strength: int = 100,
    data_weight: int = 100,
    smoothing: float = 8.0,
    noise: float = 1.0,
    seed: int = 0,
) -> MaxFlowProblem:
    """Return the segmentation of a synthetic image: a smoothed Gaussian field seen through noise.

    Parameters
    ----------
    height, width : int
        Shape of the image.
    connectivity : int
        4 or 8 neighbours.
    contrast : bool
        Whether n-links fall with the contrast of the noisy image; otherwise they are constant.
    strength : int
        Capacity of an n-link of length 1 and no contrast.
    data_weight : int
        Capacity of the t-link of a pixel whose value is one standard deviation of the field.
    smoothing : float
        Standard deviation, in pixels, of the Gaussian that smooths the field.
    noise : float
        Standard deviation of the noise, that of the field being 1.

    Returns
    -------
    MaxFlowProblem
        ``height * width + 2`` vertices, about ``height * width * (1 + connectivity / 2)`` arcs: a t-link
        for every pixel whose value does not round to 0, an arc with a reverse capacity for every pair of
        neighbours.

    Examples
    --------
    >>> grid_2d(100, 80).network.num_vertices
    8002
    """
    return _synthetic_grid("grid-2d", grid_2d, locals())


def grid_3d(
    depth: int,
    height: int,
    width: int,
    *,
    connectivity: int = 6,
    contrast: bool = False,
    strength: int = 100,
    data_weight: int = 100,
    smoothing: float = 4.0,
    noise: float = 1.0,
    seed: int = 0,
) -> MaxFlowProblem:
    """Return the segmentation of a synthetic volume: as :func:`grid_2d`, with voxels.

    Parameters
    ----------
    depth, height, width : int
        Shape of the volume.
    connectivity : int
        6, 18 or 26 neighbours.
    contrast, strength, data_weight, smoothing, noise, seed
        As for :func:`grid_2d`.

    Returns
    -------
    MaxFlowProblem
        ``depth * height * width + 2`` vertices, about ``1 + connectivity / 2`` arcs a voxel.

    Examples
    --------
    >>> grid_3d(16, 12, 10).network.num_vertices
    1922
    """
    return _synthetic_grid("grid-3d", grid_3d, locals())


def grid_from_image(
    image: ArrayLike,
    data_term: ArrayLike,
    *,
    connectivity: int,
    strength: float = 100.0,
    sigma: float | None = None,
    name: str = "grid from image",
) -> MaxFlowProblem:
    """Return the minimum-cut problem that segments an image or a volume.

    Parameters
    ----------
    image : array_like, shape of ``data_term``, or that followed by the number of channels
        Values whose differences reduce n-links.
    data_term : array_like of 2 or 3 dimensions
        For every pixel, the cost of the sink's side minus the cost of the source's side, in units of
        capacity, rounded to integers. If it is positive there is an arc from the source to the pixel, if it
        is negative an arc from the pixel to the sink, if it is zero neither.
    connectivity : int
        4 or 8 for an image, 6, 18 or 26 for a volume.
    strength : float
        An n-link has the capacity ``strength * exp(-d**2 / (2 * sigma**2)) / length``, rounded, in both
        directions; d is the difference of the two pixels' values (Euclidean over channels), length the
        distance of their centres: 1, sqrt(2) or sqrt(3).
    sigma : float, optional
        Default: the root mean square of d over all neighbours. ``inf`` makes n-links constant.
    name : str

    Returns
    -------
    MaxFlowProblem
        One arc, with the same reverse capacity, for every pair of neighbours.

    Raises
    ------
    InvalidInputError
        Wrong shapes, values that are not finite, an unknown connectivity, a negative ``strength`` or a
        ``sigma`` that is not positive.
    CapacityOverflowError
        A capacity above 2**53.

    Examples
    --------
    >>> grid_from_image([[0, 0, 9], [0, 9, 9]], [[-5, -5, 5], [-5, 5, 5]], connectivity=4, sigma=3).network
    FlowNetwork(8 vertices, 13 arcs, int64)
    """
    data = np.rint(finite_array("data_term", data_term, largest=math.inf))
    values = finite_array("image", image)
    shape = data.shape
    if data.ndim not in CONNECTIVITIES or data.size == 0:
        raise InvalidInputError(
            f"data_term must be an image or a volume that is not empty, got shape {shape}"
        )
    if values.shape[: data.ndim] != shape or values.ndim > data.ndim + 1:
        raise InvalidInputError(f"image has shape {values.shape}, data_term has shape {shape}")
    half = half_neighbourhood(data.ndim, connectivity)
    if float(np.abs(data).max()) > EXACT_FLOAT:
        raise CapacityOverflowError("a capacity is above 2**53, where float64 skips integers")
    contrast = contrast_of_channels(values.reshape(*shape, -1), half, strength, sigma)

    pixel = np.arange(data.size, dtype=np.int64).reshape(shape)
    boxes = [pair_boxes(shape, offset) for offset in half]
    tail, head = (np.concatenate([pixel[end].ravel() for end in ends]) for ends in zip(*boxes, strict=True))
    links = [row[here].ravel().astype(np.int64) for row, (here, _) in zip(contrast, boxes, strict=True)]
    capacity = np.concatenate(links)
    return with_data_terms(data.ravel(), tail, head, capacity, capacity, name)


def noisy_field(shape: tuple[int, ...], smoothing: float, noise: float, seed: int) -> NDArray[np.float32]:
    """Return a smoothed Gaussian field of standard deviation 1 plus white noise."""
    from scipy.ndimage import gaussian_filter

    smoothing = check_number("smoothing", smoothing)
    noise = check_number("noise", noise)
    rng = seeded(seed)
    field: NDArray[np.float32] = gaussian_filter(
        rng.standard_normal(shape, dtype=np.float32), smoothing, mode="wrap"
    )
    deviation = field.std(dtype=np.float64)
    # A single pixel, or a filter much wider than the image, leaves a constant.
    if deviation > 0:
        field /= np.float32(deviation)
    field += np.float32(noise) * rng.standard_normal(shape, dtype=np.float32)
    return field


def _synthetic_grid(
    family: str, function: Callable[..., MaxFlowProblem], given: dict[str, Any]
) -> MaxFlowProblem:
    """Return the problem of a call of `function` with the arguments `given`; sides are positional."""
    signature = inspect.signature(function).parameters.values()
    sides = {each.name: given[each.name] for each in signature if each.kind is each.POSITIONAL_OR_KEYWORD}
    unusual = {each.name: (given[each.name], each.default) for each in signature if each.name not in sides}
    seed, _ = unusual.pop("seed")
    name = instance_name(family, "x".join(map(str, sides.values())), seed, **unusual)
    shape = tuple(check_integer(side, length) for side, length in sides.items())
    image = noisy_field(shape, given["smoothing"], given["noise"], seed)
    return grid_from_image(
        image,
        check_integer("data_weight", given["data_weight"], minimum=0) * image.astype(np.float64),
        connectivity=given["connectivity"],
        strength=check_integer("strength", given["strength"], minimum=0),
        sigma=None if given["contrast"] else math.inf,
        name=name,
    )


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
