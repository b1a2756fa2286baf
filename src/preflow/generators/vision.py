"""Grids as they arise in image segmentation: one vertex a pixel or voxel, n-links and t-links.

Boykov and Jolly, "Interactive graph cuts for optimal boundary and region segmentation of objects in N-D
images", ICCV 2001. Pixels are the vertices ``0 .. size - 1`` in C order, so that the sides of a cut become a
labelling by ``side[:size].reshape(shape)``; then come the source and the sink. Arcs are ordered: from the
source, to the sink, then the n-links, direction after direction, each time in C order of the pixels.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CapacityOverflowError, InvalidInputError
from ..graph.network import EXACT_FLOAT, FlowNetwork, MaxFlowProblem
from .parameters import check_integer, check_number, instance_name, seeded

#: Neighbours of a pixel that have a name in the field: nearest ones, or all that share a corner.
CONNECTIVITIES = {2: (4, 8), 3: (6, 26)}


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
    seed : int

    Returns
    -------
    MaxFlowProblem
        ``height * width + 2`` vertices, about ``height * width * (1 + connectivity / 2)`` arcs: a t-link
        for every pixel whose value does not round to 0, an arc with a reverse capacity for every pair of
        neighbours.

    Raises
    ------
    InvalidInputError
        A parameter is out of its range.

    Notes
    -----
    Time and memory O(height * width), times ``smoothing`` for the filter.

    Examples
    --------
    >>> grid_2d(100, 80).network.num_vertices
    8002
    """
    name = instance_name(
        "grid-2d",
        f"{height}x{width}",
        seed,
        connectivity=(connectivity, 4),
        contrast=(contrast, False),
        strength=(strength, 100),
        data_weight=(data_weight, 100),
        smoothing=(smoothing, 8.0),
        noise=(noise, 1.0),
    )
    check_integer("height", height)
    check_integer("width", width)
    image = _noisy_field((height, width), smoothing, noise, seed)
    return _synthetic_grid(image, connectivity, contrast, strength, data_weight, name)


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
        6 or 26 neighbours.
    contrast, strength, data_weight, smoothing, noise, seed
        As for :func:`grid_2d`.

    Returns
    -------
    MaxFlowProblem
        ``depth * height * width + 2`` vertices, about ``1 + connectivity / 2`` arcs a voxel.

    Raises
    ------
    InvalidInputError
        A parameter is out of its range.

    Notes
    -----
    Time and memory O(depth * height * width), times ``smoothing`` for the filter.

    Examples
    --------
    >>> grid_3d(16, 12, 10).network.num_vertices
    1922
    """
    name = instance_name(
        "grid-3d",
        f"{depth}x{height}x{width}",
        seed,
        connectivity=(connectivity, 6),
        contrast=(contrast, False),
        strength=(strength, 100),
        data_weight=(data_weight, 100),
        smoothing=(smoothing, 4.0),
        noise=(noise, 1.0),
    )
    check_integer("depth", depth)
    check_integer("height", height)
    check_integer("width", width)
    image = _noisy_field((depth, height, width), smoothing, noise, seed)
    return _synthetic_grid(image, connectivity, contrast, strength, data_weight, name)


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
        Values whose differences make n-links fall.
    data_term : array_like of 2 or 3 dimensions
        For every pixel, the cost of the sink's side less the cost of the source's side, in units of
        capacity, rounded to integers. Where it is positive the source has an arc to the pixel, where it
        is negative the pixel has one to the sink, where it is zero there is none.
    connectivity : int
        4 or 8 for an image, 6 or 26 for a volume.
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

    Notes
    -----
    Time and memory O(pixels * connectivity).

    Examples
    --------
    >>> grid_from_image([[0, 0, 9], [0, 9, 9]], [[-5, -5, 5], [-5, 5, 5]], connectivity=4, sigma=3).network
    FlowNetwork(8 vertices, 13 arcs, int64)
    """
    data = np.rint(_finite("data_term", data_term))
    values = _finite("image", image)
    shape = data.shape
    if data.ndim not in CONNECTIVITIES or data.size == 0:
        raise InvalidInputError(f"data_term is an image or a volume that is not empty, got shape {shape}")
    if values.shape[: data.ndim] != shape or values.ndim > data.ndim + 1:
        raise InvalidInputError(f"image has shape {values.shape}, data_term has shape {shape}")
    offsets = _half_neighbourhood(data.ndim, connectivity)
    check_number("strength", strength)
    if sigma is not None and not sigma > 0:
        raise InvalidInputError(f"sigma is positive, got {sigma}")
    if max(float(np.abs(data).max()), strength) > EXACT_FLOAT:
        raise CapacityOverflowError("a capacity is above 2**53, where float64 skips integers")

    channels = values.reshape(*shape, -1)
    if sigma is None:
        sigma = _typical_difference(channels, offsets)
    data = data.astype(np.int64).ravel()
    pixel = np.arange(data.size, dtype=np.int64).reshape(shape)
    source, sink = data.size, data.size + 1
    of_source, of_sink = np.flatnonzero(data > 0), np.flatnonzero(data < 0)
    tails = [np.full(len(of_source), source), of_sink]
    heads = [of_source, np.full(len(of_sink), sink)]
    capacities = [data[of_source], -data[of_sink]]
    reverses = [np.zeros(len(of_source) + len(of_sink), dtype=np.int64)]
    for offset in offsets:
        here, there = _neighbours(offset)
        links = _n_links(channels[here], channels[there], strength / math.hypot(*offset), sigma)
        tails.append(pixel[here].ravel())
        heads.append(pixel[there].ravel())
        capacities.append(links)
        reverses.append(links)
    network = FlowNetwork.from_arrays(
        np.concatenate(tails),
        np.concatenate(heads),
        np.concatenate(capacities),
        np.concatenate(reverses),
        num_vertices=data.size + 2,
    )
    return MaxFlowProblem(network, source, sink, name)


def _noisy_field(shape: tuple[int, ...], smoothing: float, noise: float, seed: int) -> NDArray[np.float32]:
    """Return a smoothed Gaussian field of standard deviation 1 plus white noise."""
    from scipy.ndimage import gaussian_filter

    check_number("smoothing", smoothing)
    check_number("noise", noise)
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
    image: NDArray[np.float32],
    connectivity: int,
    contrast: bool,
    strength: int,
    data_weight: int,
    name: str,
) -> MaxFlowProblem:
    check_integer("data_weight", data_weight, minimum=0)
    check_integer("strength", strength, minimum=0)
    return grid_from_image(
        image,
        data_weight * image.astype(np.float64),
        connectivity=connectivity,
        strength=strength,
        sigma=None if contrast else math.inf,
        name=name,
    )


def _finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is not an array of numbers: {error}") from None
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name} has values that are not finite")
    return array


def _half_neighbourhood(ndim: int, connectivity: int) -> list[tuple[int, ...]]:
    """Return one of every two opposite directions to a neighbour."""
    nearest, all_around = CONNECTIVITIES[ndim]
    if connectivity not in (nearest, all_around):
        raise InvalidInputError(
            f"connectivity is {nearest} or {all_around} in {ndim} dimensions, got {connectivity}"
        )
    reach = ndim if connectivity == all_around else 1
    directions = itertools.product((-1, 0, 1), repeat=ndim)
    return [step for step in directions if step > (0,) * ndim and sum(map(abs, step)) <= reach]


def _neighbours(offset: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the slices of all pixels with a neighbour at ``offset``, and of these neighbours."""
    here = tuple(slice(max(0, -step), -step if step > 0 else None) for step in offset)
    there = tuple(slice(max(0, step), step if step < 0 else None) for step in offset)
    return here, there


def _squared_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return squared Euclidean distances over the last axis, flat."""
    difference = (first - second).reshape(-1, first.shape[-1])
    squared: NDArray[np.float64] = np.einsum("ij,ij->i", difference, difference)
    return squared


def _typical_difference(channels: NDArray[np.float64], offsets: list[tuple[int, ...]]) -> float:
    """Return the root mean square difference of neighbours; inf where all are equal."""
    total, count = 0.0, 0
    for here, there in map(_neighbours, offsets):
        squares = _squared_difference(channels[here], channels[there])
        total += float(squares.sum())
        count += squares.size
    return math.sqrt(total / count) if total > 0 else math.inf


def _n_links(
    here: NDArray[np.float64], there: NDArray[np.float64], strength: float, sigma: float
) -> NDArray[np.int64]:
    """Return the capacities between pixels and their neighbours in one direction."""
    if math.isinf(sigma):
        return np.full(here[..., 0].size, round(strength), dtype=np.int64)
    fall = np.exp(_squared_difference(here, there) / (-2.0 * sigma * sigma))
    return np.rint(strength * fall).astype(np.int64)
