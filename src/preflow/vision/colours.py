"""Disparities and motions as colours, with a colour bar or the length that full colours have.

Numbers are written in a font of 3 x 5 dots, so that pictures need no other package.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import as_float, check_integer, check_number
from ..errors import InvalidInputError
from ..graph.placement import host_array

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
#: The dots of each character, row by row from the top; each row is an octal digit, left to right.
FONT = {
    "0": "75557",
    "1": "26227",
    "2": "71747",
    "3": "71717",
    "4": "55711",
    "5": "74717",
    "6": "74757",
    "7": "71122",
    "8": "75757",
    "9": "75717",
    ".": "00002",
    "-": "00700",
    "+": "02720",
    "e": "06743",
    "p": "06564",
    "x": "05225",
    " ": "00000",
}
#: A dot is one pixel, plus one for every this many pixels of the picture's shorter side.
PIXELS_PER_DOT = 160
#: Width of a colour bar in dots, and of the empty space around it.
BAR_WIDTH, SPACE = 6, 2


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


def with_colour_bar(
    picture: NDArray[np.uint8], colours: NDArray[np.uint8], low: float, high: float
) -> NDArray[np.uint8]:
    """Return a picture with a colour bar on its right, which has `low` at its bottom and `high` at its top.

    `colours`, shape (k, 3), are those from `low` to `high`.
    """
    height, width = picture.shape[:2]
    dot = 1 + min(height, width) // PIXELS_PER_DOT
    texts = [written(f"{value:.4g} px", dot) for value in (high, low)]
    space, bar = SPACE * dot, BAR_WIDTH * dot
    strip = np.full((height, 3 * space + bar + max(text.shape[1] for text in texts), 3), 255, np.uint8)
    places = np.linspace(len(colours) - 1, 0, height).round().astype(int)
    strip[:, space : space + bar] = colours[places][:, np.newaxis]
    left = 2 * space + bar
    for text, top in zip(texts, (0, height - texts[1].shape[0]), strict=True):
        if top >= 0 and height >= 3 * text.shape[0]:
            strip[top : top + text.shape[0], left : left + text.shape[1]][text] = 0
    return np.concatenate([picture, strip], axis=1)


def write_beside_wheel(picture: NDArray[np.uint8], wheel: int, largest: float) -> None:
    """Write the speed of full colours left of the wheel in the lower right corner, if there is room."""
    height, width = picture.shape[:2]
    dot = 1 + min(height, width) // PIXELS_PER_DOT
    text = np.pad(written(f"{largest:.3g} px", dot), dot)
    right, bottom = width - wheel - dot, height - dot
    top, left = bottom - text.shape[0], right - text.shape[1]
    if top >= 0 and left >= 0:
        picture[top:bottom, left:right] = np.where(text, 0, 255).astype(np.uint8)[..., np.newaxis]


def written(text: str, dot: int) -> NDArray[np.bool_]:
    """Return a text as a mask; each dot has `dot` x `dot` pixels."""
    columns = []
    for character in text:
        rows = [f"{int(row):03b}0" for row in FONT[character]]
        columns.append(np.array([[bit == "1" for bit in row] for row in rows]))
    mask: NDArray[np.bool_] = np.concatenate(columns, axis=1)[:, :-1].repeat(dot, axis=0).repeat(dot, axis=1)
    return mask
