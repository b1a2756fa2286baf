"""Capacities between neighbouring pixels that decrease with contrast.

Boykov and Jolly, "Interactive graph cuts for optimal boundary and region segmentation of objects in N-D
images", ICCV 2001.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import AnyArray, ArrayModule, Connectivity, Periodic, Spacing
from ..checks import check_finite, check_integer, check_number, check_positive, warn_caller
from ..cuda import runtime
from ..cuda.runtime import is_on_gpu
from ..errors import CapacityOverflowError, InvalidInputError
from .data_arrays import LikeDataArray, is_data_array
from .grid_input import looks_like_channels
from .neighbourhood import Box, half_neighbourhood, named_neighbourhoods
from .network import EXACT_FLOAT
from .periodic import checked_periodic, ring_boxes
from .placement import host_array, restorer, restorer_of, without_gradient

#: Squares of differences of larger values, or sums of them, may be beyond float64.
LARGEST_VALUE = 1e140
#: Lengths of pixels along two axes may differ by this factor.
LARGEST_RATIO = 1e100
#: Smaller numbers are not used as divisors.
LEAST_FLOAT = float(np.finfo(np.float64).tiny)


def contrast_capacity(
    image: AnyArray,
    *,
    strength: float = 100.0,
    sigma: float | None = None,
    connectivity: Connectivity = None,
    channel_axis: int | None = None,
    spacing: Spacing = None,
    periodic: Periodic = False,
) -> AnyArray:
    """Return capacities between neighbours in an image or a volume: high within regions, low across edges.

    Parameters
    ----------
    image : array_like
        Values whose differences decrease capacities: a NumPy array, a CuPy array or another with
        ``__dlpack__``, also on a GPU. The result is of the same kind, in the same place. That of an array of
        xarray has the dimension "direction", then those of the grid.
    strength : float
        A capacity is ``strength * exp(-d**2 / (2 * sigma**2)) / length``, rounded; d is the difference of the
        two pixels' values (Euclidean over channels), length the distance of their centres, see `spacing`.
    sigma : float, optional
        Default: the root mean square of d over all neighbours. ``inf`` leaves only the length.
    connectivity : int or list of offsets, optional
        As for :func:`preflow.grid_cut`. Default: 4 in an image, 6 in a volume.
    channel_axis : int, optional
        The axis of the channels of `image`; None where it has none.
    spacing : sequence of float, optional
        Length of a pixel along each axis of the grid, in any unit, as of voxels in a scan with thick slices.
        Distances are measured in units of the shortest one. Default: all alike.
    periodic : bool or sequence of bool
        Which axes are rings, as for :func:`preflow.grid_cut`.

    Returns
    -------
    array of int16, int32 or int64, shape (K, *shape)
        What :func:`preflow.grid_cut` takes as `neighbor_capacity`: ``[k][p]`` is the capacity both ways
        between p and p plus the k-th forward offset, 0 where that is outside.

    Raises
    ------
    InvalidInputError
        Wrong shapes, values that are not finite, an unknown connectivity, a negative ``strength`` or a
        ``sigma`` that is not positive.
    CapacityOverflowError
        A strength above 2**53.

    Notes
    -----
    Time and memory O(pixels * K).

    Examples
    --------
    >>> import preflow
    >>> preflow.contrast_capacity([[0, 0, 9]], sigma=3)[0].tolist()
    [[100, 1, 0]]
    """
    xp, restore, labelled = np, None, None
    if is_on_gpu(image):
        device = runtime.find_device()
        xp, restore = device.xp, restorer(device, image)
        image = device.from_dlpack(without_gradient(image))
    else:
        restore = restorer_of(image)
        image, labelled = host_array(image, "image"), image
    values = finite_array("image", image, xp)
    if channel_axis is None:
        if looks_like_channels(values.shape):
            warn_caller(
                f"image has shape {values.shape} and is a volume here; channel_axis=-1 takes its last axis "
                "as colours"
            )
        channels = values[..., np.newaxis]
    else:
        channel_axis = check_integer("channel_axis", channel_axis, minimum=-values.ndim)
        if channel_axis >= values.ndim:
            raise InvalidInputError(f"image has no axis {channel_axis}, its shape is {values.shape}")
        channels = xp.moveaxis(values, channel_axis, -1)
    shape = channels.shape[:-1]
    if not shape or 0 in channels.shape:
        raise InvalidInputError(f"image has no pixels: its shape is {values.shape}")
    named = named_neighbourhoods(len(shape))
    half = half_neighbourhood(len(shape), next(iter(named)) if connectivity is None else connectivity)
    lengths = relative_spacing(spacing, len(shape))
    rings = checked_periodic(periodic, len(shape))
    capacities = contrast_of_channels(channels, half, strength, sigma, xp, lengths, rings)
    if is_data_array(labelled):
        return _with_directions(capacities, labelled, channel_axis)
    return capacities if restore is None else restore(capacities)


def _with_directions(capacities: AnyArray, image: AnyArray, channel_axis: int | None) -> AnyArray:
    """Return capacities as an array of xarray, whose first dimension is that of directions."""
    grid = image if channel_axis is None else image.isel({image.dims[channel_axis]: 0}, drop=True)
    name = "direction" if "direction" not in grid.dims else "neighbour"
    shape = capacities.shape
    return LikeDataArray(shape, (name, *grid.dims), dict(grid.coords))(capacities)


def contrast_of_channels(
    channels: AnyArray,
    half: list[tuple[int, ...]],
    strength: float,
    sigma: float | None,
    xp: ArrayModule = np,
    lengths: tuple[float, ...] | None = None,
    rings: tuple[bool, ...] | None = None,
) -> AnyArray:
    """Return the capacities of :func:`contrast_capacity` for an image whose last axis is that of channels.

    `lengths` are those of a pixel along each axis, 1 or more; default: 1. `rings` says which axes are
    periodic; default: none.
    """
    shape = channels.shape[:-1]
    closed = (False,) * len(shape) if rings is None else rings
    strength = check_number("strength", strength)
    if sigma is not None:
        sigma = check_positive("sigma", sigma)
    if strength > EXACT_FLOAT:
        raise CapacityOverflowError("a capacity is above 2**53, where float64 skips integers")
    if sigma is None:
        sigma = _typical_difference(channels, half, closed, xp)
    dtype = next(dtype for dtype in (np.int16, np.int32, np.int64) if strength <= np.iinfo(dtype).max)
    capacities = xp.zeros((len(half), *shape), dtype=dtype)
    sides = (1.0,) * len(shape) if lengths is None else lengths
    for row, offset in zip(capacities, half, strict=True):
        longest = strength / math.hypot(*(step * length for step, length in zip(offset, sides, strict=True)))
        for here, there, _ in ring_boxes(shape, offset, closed):
            if math.isinf(sigma):
                row[here] = round(longest)
                continue
            with np.errstate(over="ignore"):
                ratio = _squared_difference(channels, here, there, xp) / max(2.0 * sigma * sigma, LEAST_FLOAT)
            row[here] = xp.rint(longest * xp.exp(-ratio))
    return capacities


def relative_spacing(spacing: Spacing, ndim: int) -> tuple[float, ...] | None:
    """Return the length of a pixel along each axis in units of the shortest one; None where all are alike.

    InvalidInputError: `spacing` is not one positive number for each axis, or the lengths are too different.
    """
    if spacing is None:
        return None
    given = host_array(spacing, "spacing")
    if given.shape != (ndim,) or given.dtype.kind not in "iuf":
        raise InvalidInputError(f"spacing is {ndim} numbers, one for each axis of the grid; got {spacing!r}")
    lengths = given.astype(np.float64)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise InvalidInputError(f"spacing must be positive and finite, got {spacing!r}")
    shortest, longest = float(lengths.min()), float(lengths.max())
    if longest > LARGEST_RATIO * shortest:
        raise InvalidInputError(f"spacing has lengths {shortest:g} and {longest:g}, which are too different")
    return None if shortest == longest else tuple((lengths / shortest).tolist())


def finite_array(
    name: str, values: AnyArray, xp: ArrayModule = np, largest: float = LARGEST_VALUE
) -> AnyArray:
    """Return an array-like as float64.

    InvalidInputError: it is no array of numbers, some are masked out, not finite, or so large that squares
    overflow: above `largest`.
    """
    array = host_array(values, name) if xp is np else values
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} is not an array of numbers: its dtype is {array.dtype}")
    array = array.astype(np.float64, copy=False)
    check_finite(name, array)
    if array.size and float(abs(array).max()) > largest:
        raise InvalidInputError(f"{name} has values above {largest:g}, whose squares overflow")
    return array


def _squared_difference(channels: AnyArray, here: Box, there: Box, xp: ArrayModule) -> AnyArray:
    """Return squared Euclidean distances over the last axis between the pixels of two boxes."""
    difference = channels[here] - channels[there]
    return xp.einsum("...j,...j->...", difference, difference)


def _typical_difference(
    channels: AnyArray, half: list[tuple[int, ...]], rings: tuple[bool, ...], xp: ArrayModule
) -> float:
    """Return the root mean square difference of neighbours; inf where all are equal."""
    total, count = 0.0, 0
    for offset in half:
        for here, there, _ in ring_boxes(channels.shape[:-1], offset, rings):
            squares = _squared_difference(channels, here, there, xp)
            total += float(squares.sum())
            count += squares.size
    return math.sqrt(total / count) if total > 0 else math.inf
