"""Grids of image segmentation as general networks: a vertex per pixel or voxel, n-links and t-links.

Boykov and Jolly, "Interactive graph cuts for optimal boundary and region segmentation of objects in N-D
images", ICCV 2001. An n-link joins two neighbouring pixels, a t-link a pixel and a terminal. Pixels are the
vertices ``0 .. size - 1`` in C order, so ``side[:size].reshape(shape)`` is the labelling of a cut; the source
and the sink follow. Arcs from the source come first, then those to the sink, then the n-links, direction by
direction, each in C order of the pixels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_integer, check_number
from ..errors import CapacityOverflowError, InvalidInputError
from ..graph.contrast import contrast_of_channels, finite_array
from ..graph.neighbourhood import half_neighbourhood, pair_boxes
from ..graph.network import EXACT_FLOAT, FlowNetwork, MaxFlowProblem
from .parameters import instance_name, seeded

#: Numbers of neighbours with a name in the field: nearest ones, or all that share a corner.
CONNECTIVITIES = {2: (4, 8), 3: (6, 18, 26)}


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
    height = check_integer("height", height)
    width = check_integer("width", width)
    image = noisy_field((height, width), smoothing, noise, seed)
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
        6, 18 or 26 neighbours.
    contrast, strength, data_weight, smoothing, noise, seed
        As for :func:`grid_2d`.

    Returns
    -------
    MaxFlowProblem
        ``depth * height * width + 2`` vertices, about ``1 + connectivity / 2`` arcs a voxel.

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
    depth = check_integer("depth", depth)
    height = check_integer("height", height)
    width = check_integer("width", width)
    image = noisy_field((depth, height, width), smoothing, noise, seed)
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

    Notes
    -----
    Time and memory O(pixels * connectivity).

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

    data = data.astype(np.int64).ravel()
    pixel = np.arange(data.size, dtype=np.int64).reshape(shape)
    source, sink = data.size, data.size + 1
    of_source, of_sink = np.flatnonzero(data > 0), np.flatnonzero(data < 0)
    tails = [np.full(len(of_source), source), of_sink]
    heads = [of_source, np.full(len(of_sink), sink)]
    capacities = [data[of_source], -data[of_sink]]
    reverses = [np.zeros(len(of_source) + len(of_sink), dtype=np.int64)]
    for row, offset in zip(contrast, half, strict=True):
        here, there = pair_boxes(shape, offset)
        links = row[here].ravel().astype(np.int64)
        tails.append(pixel[here].ravel())
        heads.append(pixel[there].ravel())
        capacities.append(links)
        reverses.append(links)
    network = FlowNetwork.from_arrays(
        np.concatenate(tails),
        np.concatenate(heads),
        np.concatenate(capacities),
        reverse_capacity=np.concatenate(reverses),
        num_vertices=data.size + 2,
    )
    return MaxFlowProblem(network, source, sink, name=name)


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
    image: NDArray[np.float32],
    connectivity: int,
    contrast: bool,
    strength: int,
    data_weight: int,
    name: str,
) -> MaxFlowProblem:
    data_weight = check_integer("data_weight", data_weight, minimum=0)
    strength = check_integer("strength", strength, minimum=0)
    return grid_from_image(
        image,
        data_weight * image.astype(np.float64),
        connectivity=connectivity,
        strength=strength,
        sigma=None if contrast else math.inf,
        name=name,
    )
