"""Disparities and motions as colours."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import as_float, check_integer, check_number
from ..errors import InvalidInputError
from ..graph.placement import host_array
from .scales import with_colour_bar, write_beside_wheel

#: The colour wheel of Baker et al., IJCV 2011: number of hues from each of red, yellow, green, cyan, blue and
#: magenta to the next. The numbers differ because eyes distinguish some hues better than others.
WHEEL_STEPS = (15, 6, 4, 11, 13, 6)
WHEEL_CORNERS = ((1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 0, 1), (1, 0, 0))
#: Brightness of motions beyond the largest that the wheel shows.
BEYOND = 0.75
#: Motions beyond this many times the largest have the same colour.
FASTEST = 2.0**500
#: Colours from far to near, dark blue to green to yellow: a perceptually uniform map.
NEARNESS = (
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
)


def float_array(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return numbers, which may be NaN or infinite, as float64."""
    array = host_array(values, name)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must be an array of numbers, got {array.dtype}")
    return array.astype(np.float64)


def disparity_picture(
    disparity: ArrayLike, *, low: float | None = None, high: float | None = None, bar: bool = False
) -> NDArray[np.uint8]:
    """Return a disparity map as a picture: near pixels are yellow, far ones blue, unknown ones black.

    Parameters
    ----------
    disparity : array_like, shape (h, w)
    low, high : float, optional
        Disparities that get the first and the last colour; default: the least and the largest.
    bar : bool
        Add a colour bar on the right, with the two disparities in pixels. The picture is wider then.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3), or wider with a bar

    Examples
    --------
    >>> disparity_picture([[0, 8, float("nan")]]).tolist()
    [[[68, 1, 84], [253, 231, 37], [0, 0, 0]]]
    """
    values = float_array("disparity", disparity)
    if values.ndim != 2 or values.size == 0:
        raise InvalidInputError(f"disparity must have shape (height, width), got {values.shape}")
    known = np.isfinite(values)
    if not known.any():
        return np.zeros((*values.shape, 3), np.uint8)
    first = float(values[known].min()) if low is None else as_float("low", low)
    last = float(values[known].max()) if high is None else as_float("high", high)
    if not (math.isfinite(first) and math.isfinite(last)):
        raise InvalidInputError(f"low and high must be finite, got {first} and {last}")
    # Of halves, because the range of floats may be past float64; what is far outside is clipped below.
    width = last / 2 - first / 2
    with np.errstate(over="ignore"):
        place = np.where(known, (values / 2 - first / 2) / (width if width > 0 else 0.5), 0.0)
    picture = _nearness(place)
    picture[~known] = 0
    if bar:
        return with_colour_bar(picture, _nearness(np.linspace(0, 1, 256)), float(first), float(last))
    return picture


def flow_picture(
    flow: ArrayLike, *, largest: float | None = None, wheel: int = 0, scale: bool = False
) -> NDArray[np.uint8]:
    """Return an optical flow as a picture: hue is the direction, saturation the speed, unknown is black.

    Parameters
    ----------
    flow : array_like, shape (2, h, w)
        Motion down and to the right, as in :class:`OpticalFlow`.
    largest : float, optional
        Speed in pixels that gets full colour; default: the largest known speed.
    wheel : int
        Diameter in pixels of a colour wheel drawn into the lower right corner. The colour of a motion to the
        right is on the right.
    scale : bool
        Write the speed of full colours beside the wheel, in pixels, if there is room.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)

    Examples
    --------
    >>> flow_picture([[[0.0, 0.0]], [[0.0, 3.0]]]).tolist()
    [[[255, 255, 255], [255, 0, 0]]]
    """
    field = float_array("flow", flow)
    if field.ndim != 3 or len(field) != 2 or field.size == 0:
        raise InvalidInputError(f"flow must have shape (2, height, width), got {field.shape}")
    speed = np.hypot(*field)
    known = np.isfinite(speed)
    if largest is None:
        largest = float(speed[known].max(initial=0.0))
    largest = check_number("largest", largest)
    # Speeds beyond the largest have one colour.
    with np.errstate(over="ignore"):
        unit = np.clip(np.where(known, field, 0.0) / (largest or 1.0), -FASTEST, FASTEST)
    picture = _colours(unit)
    picture[~known] = 0
    size = min(check_integer("wheel", wheel, minimum=0), *picture.shape[:2])
    if size > 0:
        axis = np.linspace(-1, 1, size)
        disc = np.stack(np.meshgrid(axis, axis, indexing="ij"))
        inside = np.hypot(*disc) <= 1
        picture[-size:, -size:][inside] = _colours(disc)[inside]
    if scale:
        write_beside_wheel(picture, size, largest)
    return picture


def _nearness(place: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return the colours of numbers from 0 (far) to 1 (near)."""
    anchors = np.linspace(0, 1, len(NEARNESS))
    channels = [np.interp(place, anchors, channel) for channel in np.array(NEARNESS).T]
    colours: NDArray[np.uint8] = np.rint(np.stack(channels, axis=-1)).astype(np.uint8)
    return colours


def _colours(unit: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return the colours of motions (down, right), those of length 1 in full colour."""
    corners = np.array(WHEEL_CORNERS, np.float64)
    ends = np.concatenate([[0], np.cumsum(WHEEL_STEPS)])
    speed = np.hypot(*unit)
    turn = np.mod(np.arctan2(unit[0], unit[1]) / (2 * np.pi), 1.0) * ends[-1]
    hue = np.stack([np.interp(turn, ends, channel) for channel in corners.T], axis=-1)
    slow = speed[..., np.newaxis] <= 1
    colour = np.where(slow, 1 - speed[..., np.newaxis] * (1 - hue), BEYOND * hue)
    picture: NDArray[np.uint8] = np.rint(255 * colour).astype(np.uint8)
    return picture
