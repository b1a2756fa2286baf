"""Read and write images, and draw a segmentation.

ImageIO and Pillow, which it brings, are loaded when the first file is read or written; :func:`overlay` needs
NumPy and SciPy only.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Array
from ..checks import check_number, needed_for
from ..drawing.axes import label_colours
from ..drawing.images import plane_of
from ..errors import InvalidInputError, ParseError
from ..graph.contrast import finite_array
from ..io.files import VOLUME_AT, read_bytes, replacing
from .planes import USUAL, Volume, planes

logger = logging.getLogger("preflow")
#: The first bytes of files.
JPEG = b"\xff\xd8"
PNG = b"\x89PNG"
#: In a NIfTI volume, at `VOLUME_AT`.
NIFTI = b"n+1\0"
TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
#: Pillow's modes of pixels that are read as they are. Others, such as CMYK and palettes, become RGB.
KEPT = ("1", "L", "LA", "I", "I;16", "I;16L", "I;16B", "I;16N", "F", "RGB", "RGBA")
#: Tags of TIFF: bits of each channel; whether numbers are unsigned (1), signed (2) or floats (3).
BITS, NUMBERS = 258, 339
#: Colours of an overlay, red, green and blue.
OUTLINE = (0, 255, 80)
FOREGROUND_SEED = (255, 0, 0)
BACKGROUND_SEED = (0, 0, 255)
#: Share of the colour of seeds over the photograph; their outlines are opaque.
SEED_OPACITY = 0.35
#: Seeds that cover a larger share of a picture have outlines only.
MOST_FILLED = 0.03
#: Outlines of large seeds that cover a larger share, as those of thresholds do, are not drawn.
MOST_OUTLINED = 0.1
#: A voxel of a slice is at most this many times as long as it is wide.
MOST_STRETCHED = 10
#: Pixels, about, of the longer side of a picture in a notebook; larger pictures stay as they are.
NOTEBOOK_SIDE = 400
#: Share of a label's colour over the photograph.
LABEL_OPACITY = 0.5
#: Brightness of the background in an overlay.
DIMMED = 0.35
#: An outline is one pixel wide, plus one for every this many pixels of the image's shorter side.
PIXELS_PER_LINE_WIDTH = 300
#: Largest difference of a channel of a scribble from pure red or blue. Smooth brushes and resizing cause such
#: differences inside a stroke; those at its edge are larger.
SCRIBBLE_TOLERANCE = 40


def read_image(path: str | Path) -> Array:
    """Return an image from any file that Pillow reads, turned as its EXIF orientation says.

    :func:`read_volume` reads files of several pages.

    Parameters
    ----------
    path : path

    Returns
    -------
    ndarray, shape (h, w) or (h, w, 3)
        Grey or RGB, as stored (mostly uint8). CMYK, Lab and palettes become RGB, transparency is dropped. Of
        colours with 16 bits the upper 8 are read, which the log says.

    Raises
    ------
    ParseError
        The file is missing, is not an image, or has several pages or frames.
    MissingDependencyError
        ImageIO is not installed.
    """
    _imageio("reading images")
    return decode_image(read_bytes(path), path)


def read_numbers(path: str | Path) -> Array:
    """Return an image of labels: pixels with a palette are their numbers in it."""
    _imageio("reading images")
    return _decoded(read_bytes(path), path, palette=False)


def decode_image(content: bytes, path: str | Path) -> Array:
    """Return the image in the bytes of a file, as :func:`read_image` does; `path` is for error messages."""
    pixels = _decoded(content, path)
    if pixels.ndim == 3 and pixels.shape[-1] in (2, 4):
        pixels = pixels[..., :-1]
    if pixels.ndim == 3 and pixels.shape[-1] == 1:
        pixels = pixels[..., 0]
    return pixels


def read_scribbles(path: str | Path, shape: tuple[int, int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the seeds painted in an image file: red ones on the object, blue ones on the background.

    Paint with any program on a copy of the photograph, or on an empty layer of its size, with a hard brush
    in pure red (255, 0, 0) and pure blue (0, 0, 255); everything else is ignored. Save it as PNG: JPEG
    smears colours.

    Parameters
    ----------
    path : path
    shape : (height, width)
        Shape of the image to segment; the file must have the same.

    Returns
    -------
    foreground, background : ndarray of bool, shape (height, width)

    Raises
    ------
    ParseError
        The file is missing, is not a colour image, has another size or lacks one of the two colours.
    MissingDependencyError
        ImageIO is not installed.
    """
    pixels = _decoded(read_bytes(path), path)
    if pixels.ndim != 3 or pixels.shape[-1] not in (3, 4) or pixels.dtype != np.uint8:
        raise ParseError(path, None, "expected an 8-bit colour image with red and blue scribbles")
    if pixels.shape[:2] != shape:
        raise ParseError(
            path,
            None,
            f"the scribbles have shape {pixels.shape[:2]}, the image has shape {shape} (height, width)",
        )
    opaque = pixels[..., 3] > 127 if pixels.shape[-1] == 4 else np.ones(shape, dtype=np.bool_)
    seeds = []
    for name, colour in (("red (object)", FOREGROUND_SEED), ("blue (background)", BACKGROUND_SEED)):
        difference = np.abs(pixels[..., :3].astype(np.int16) - np.array(colour, dtype=np.int16))
        painted = opaque & (difference.max(axis=-1) <= SCRIBBLE_TOLERANCE)
        if not painted.any():
            raise ParseError(path, None, f"there are no {name} scribbles")
        seeds.append(painted)
    foreground, background = seeds
    return foreground, background


def write_image(path: str | Path, pixels: NDArray[np.uint8]) -> None:
    """Write an image in the format that the path's suffix names; a failure leaves an existing file unchanged.

    Parameters
    ----------
    path : path
    pixels : ndarray of uint8, shape (h, w), (h, w, 3) or (h, w, 4)
        Without channels also of bool or uint16, where the format has them.

    Raises
    ------
    InvalidInputError
        The suffix names no image format, or the format does not have such pixels.
    MissingDependencyError
        ImageIO is not installed.
    """
    imageio = _imageio("writing images")
    suffix = Path(path).suffix.lower()
    pixels = np.asarray(pixels)
    is_grey = pixels.ndim == 2
    if not is_grey and not (pixels.ndim == 3 and pixels.shape[-1] in (3, 4)):
        raise InvalidInputError(
            f"pixels has shape {pixels.shape}, expected (height, width), or with 3 or 4 channels behind these"
        )
    if pixels.dtype not in ((np.uint8, np.uint16, np.bool_) if is_grey else (np.uint8,)):
        hint = ", such as (255 * pixels).round().astype('uint8')" if pixels.dtype.kind == "f" else ""
        raise InvalidInputError(f"pixels has dtype {pixels.dtype}: an image file holds uint8{hint}")
    try:
        encoded = imageio.imwrite("<bytes>", pixels, plugin="pillow", extension=suffix)
    except (OSError, IndexError, TypeError) as error:
        raise InvalidInputError(
            f"{path}: cannot be written as an image of type {suffix!r} ({error})"
        ) from error
    with replacing(path) as file:
        file.write(encoded)


def overlay(
    image: ArrayLike,
    mask: ArrayLike,
    *,
    seeds: tuple[ArrayLike, ArrayLike] | None = None,
) -> NDArray[np.uint8]:
    """Return a picture of a segmentation: outline of the object, background dimmed, seeds in their colours.

    Parameters
    ----------
    image : array_like, shape (h, w) or (h, w, 3), with alpha (h, w, 2) or (h, w, 4)
        Any numeric dtype; alpha is left out. Values of other dtypes than uint8 are scaled to the range from 0
        to 255.
    mask : array_like of bool, shape (h, w)
        True on the object.
    seeds : (foreground, background), optional
        Masks, shown in translucent red and blue with opaque outlines; large ones have outlines only, and
        pixels scattered over the picture have none, so that the photograph below them stays visible.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)
        The outline lies just outside the object.

    Raises
    ------
    InvalidInputError
        Shapes that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> overlay(np.zeros((4, 5)), np.eye(4, 5, dtype=bool)).shape
    (4, 5, 3)
    """
    from scipy.ndimage import binary_dilation, binary_erosion

    inside = np.asarray(mask, dtype=np.bool_)
    if inside.ndim != 2:
        hint = ": volume_overlay shows a volume" if inside.ndim == 3 else ""
        raise InvalidInputError(f"an overlay shows an image, the mask has shape {inside.shape}{hint}")
    picture = _as_rgb(image, inside.shape)
    picture[~inside] = (DIMMED * picture[~inside]).astype(np.uint8)
    width = 1 + min(inside.shape) // PIXELS_PER_LINE_WIDTH
    for painted, colour in zip(seeds or (), (FOREGROUND_SEED, BACKGROUND_SEED), strict=False):
        where = np.asarray(painted, dtype=np.bool_)
        if where.shape != inside.shape:
            raise InvalidInputError(f"seeds have shape {where.shape}, the mask has shape {inside.shape}")
        border = where & ~binary_erosion(where, iterations=width, border_value=1)
        if where.mean() <= MOST_FILLED:
            mixed = (1 - SEED_OPACITY) * picture[where] + SEED_OPACITY * np.array(colour)
            picture[where] = np.rint(mixed).astype(np.uint8)
        elif border.mean() > MOST_OUTLINED:
            continue
        picture[border] = colour
    picture[binary_dilation(inside, iterations=width) & ~inside] = OUTLINE
    return picture


def cutout(image: ArrayLike, mask: ArrayLike) -> NDArray[np.uint8]:
    """Return the object alone, on a transparent background: an image with an alpha channel.

    Parameters
    ----------
    image : array_like, shape (h, w) or (h, w, 3), with alpha (h, w, 2) or (h, w, 4)
        Any numeric dtype; alpha is left out. Values of other dtypes than uint8 are scaled to the range from 0
        to 255.
    mask : array_like of bool, shape (h, w)
        True on the object.

    Returns
    -------
    ndarray of uint8, shape (h, w, 4)
        Red, green, blue and alpha: 255 on the object, elsewhere all four are 0.

    Raises
    ------
    InvalidInputError
        Shapes that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> cutout(np.array([[7, 9]], np.uint8), [[True, False]]).tolist()
    [[[7, 7, 7, 255], [0, 0, 0, 0]]]
    """
    inside = np.asarray(mask, dtype=np.bool_)
    if inside.ndim != 2:
        raise InvalidInputError(f"a cut-out is of an image, the mask has shape {inside.shape}")
    picture = np.zeros((*inside.shape, 4), np.uint8)
    picture[inside, :3] = _as_rgb(image, inside.shape)[inside]
    picture[inside, 3] = 255
    return picture


def labels_picture(
    labels: ArrayLike, image: ArrayLike | None = None, *, opacity: float = LABEL_OPACITY
) -> NDArray[np.uint8]:
    """Return a picture of a label image: every label in its colour, with white lines between labels.

    Parameters
    ----------
    labels : array_like of int, shape (h, w); or (d, h, w): three slices as :func:`volume_overlay` shows them
        Labels above 0 are shown in colours: Okabe and Ito's seven, which colour-blind people tell apart, then
        two paler versions of them, then these again. Other pixels stay as they are; without an image they are
        black.
    image : array_like, shape of the labels, or with 3 channels, optional
        The photograph below the colours.
    opacity : float
        Share of the colours over the photograph, from 0 to 1.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)

    Raises
    ------
    InvalidInputError
        Labels that are not integers, or neither an image nor a volume; or an image of another shape.

    Examples
    --------
    >>> labels_picture([[1, 1, 0]]).tolist()
    [[[230, 159, 0], [255, 255, 255], [0, 0, 0]]]
    """
    found = np.asarray(labels)
    if found.ndim not in (2, 3) or found.dtype.kind not in "iu":
        raise InvalidInputError(
            f"labels are integers of shape (h, w) or (d, h, w), got {found.dtype} of {found.shape}"
        )
    if found.ndim == 3:
        arrays = [found] if image is None else [found, _as_bytes("image", image, found.shape)]
        return middle_slices(image, arrays, found > 0, lambda each: labels_picture(*each, opacity=opacity))
    opacity = check_number("opacity", opacity)
    if opacity > 1:
        raise InvalidInputError(f"opacity must be at most 1, got {opacity}")
    shown = found > 0
    if image is None:
        picture, opacity = np.zeros((*found.shape, 3), np.uint8), 1.0
    else:
        picture = _as_rgb(image, found.shape)
    colours = label_colours(found[shown].astype(np.int64))
    picture[shown] = np.rint(opacity * colours + (1 - opacity) * picture[shown]).astype(np.uint8)
    border = np.zeros(found.shape, np.bool_)
    for axis in range(2):
        first = np.moveaxis(found, axis, 0)
        np.moveaxis(border, axis, 0)[:-1] |= first[:-1] != first[1:]
    picture[_thicker(border, found.shape) & shown] = 255
    return picture


def _thicker(lines: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return lines one pixel wide as wide as :data:`PIXELS_PER_LINE_WIDTH` says."""
    from scipy.ndimage import binary_dilation

    width = min(shape) // PIXELS_PER_LINE_WIDTH
    return np.asarray(binary_dilation(lines, iterations=width)) if width else lines


def magnification(shape: tuple[int, ...]) -> int:
    """Return how often a notebook repeats each pixel of a picture, so that it is large enough to be seen."""
    return max(1, round(NOTEBOOK_SIDE / max(*shape, 1)))


def enlarged(pixels: Array, times: int, sides: Sequence[float] = (1.0, 1.0)) -> Array:
    """Return a picture with its pixels repeated, in the proportions of their sides along rows and columns."""
    for axis, side in enumerate(sides):
        length = pixels.shape[axis]
        count = max(1, round(length * times * side))
        pixels = pixels.take(np.arange(count) * length // count, axis=axis)
    return pixels


def large_labels(labels: Array, image: AnyArray = None) -> NDArray[np.uint8]:
    """Return :func:`labels_picture` for a notebook: of a volume three slices, of a series its middle."""
    times = magnification(labels.shape)
    if labels.ndim not in (2, 3) or np.shape(image) not in (labels.shape, (*labels.shape, 3)):
        image = None
    if labels.ndim == 3:
        return enlarged(labels_picture(labels, image), times)
    below = None if image is None else enlarged(np.asarray(image), times)
    return labels_picture(enlarged(plane_of(labels), times), below)


def png(pixels: NDArray[np.uint8]) -> bytes | None:
    """Return an image as a PNG file for notebooks; None without imageio, so that they show the repr."""
    try:
        import imageio.v3
    except ImportError:
        return None
    encoded: bytes = imageio.v3.imwrite("<bytes>", pixels, extension=".png")
    return encoded


def middle_slices(
    image: ArrayLike | Volume | None,
    arrays: Sequence[Array],
    where: NDArray[np.bool_],
    draw: Callable[[list[Array]], NDArray[np.uint8]],
    times: int = 1,
) -> NDArray[np.uint8]:
    """Return pictures of the slices of constant z, y and x through the middle of an object, side by side.

    `draw` gets such a slice of each array, upright and enlarged, in the proportions of the voxels. An `image`
    without directions has the usual ones.
    """
    slices = []
    spacing = np.array(image.spacing if isinstance(image, Volume) else (1.0, 1.0, 1.0))
    shortest = spacing.min()
    sides = np.minimum(spacing / shortest, MOST_STRETCHED) if 0 < shortest < math.inf else np.ones(3)
    for plane in planes(image.directions if isinstance(image, Volume) else USUAL):
        index = _middle(where, plane.axis)
        taken = (plane.show(np.take(array, index, axis=plane.axis)) for array in arrays)
        slices.append(draw([enlarged(each, times, plane.of(sides.tolist())) for each in taken]))
    page = np.zeros((max(map(len, slices)), sum(part.shape[1] for part in slices), 3), dtype=np.uint8)
    column = 0
    for part in slices:
        page[: len(part), column : column + part.shape[1]] = part
        column += part.shape[1]
    return page


def _middle(mask: NDArray[np.bool_], axis: int) -> int:
    """Return the slice that halves the object, or the volume if there is no object."""
    others = tuple(other for other in range(mask.ndim) if other != axis)
    counts = mask.sum(axis=others)
    if not counts.any():
        return int(mask.shape[axis]) // 2
    return int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))


def stretched(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return values scaled linearly to grey values from 0 to 255."""
    low, high = float(values.min()), float(values.max())
    shares: NDArray[np.float64] = (values - low) / (high - low if high > low else 1.0)
    return np.rint(255 * shares).astype(np.uint8)


def _as_rgb(image: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return a copy of a grey or RGB image as 8-bit RGB."""
    pixels = _as_bytes("image", image, shape)
    if pixels.ndim == len(shape):
        pixels = pixels[..., np.newaxis]
    return np.array(np.broadcast_to(pixels, (*shape, 3)))


def _as_bytes(name: str, image: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return an image or a volume as uint8, without alpha."""
    pixels = np.asarray(image)
    if pixels.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must be an array of numbers, got {pixels.dtype}")
    if not pixels.size:
        raise InvalidInputError(f"the picture has no pixels: its shape is {pixels.shape}")
    if pixels.shape in ((*shape, 2), (*shape, 4)):
        pixels = pixels[..., :-1]
    if pixels.shape not in (shape, (*shape, 1), (*shape, 3)):
        raise InvalidInputError(f"{name} has shape {pixels.shape}, the mask has shape {shape}")
    return pixels if pixels.dtype == np.uint8 else stretched(finite_array(name, pixels))


def _decoded(content: bytes, path: str | Path, palette: bool = True) -> Array:
    _imageio("reading images")
    from PIL import Image, ImageOps

    try:
        with Image.open(BytesIO(content)) as image:
            # Photographs have their preview as a second picture.
            count = 1 if content.startswith(JPEG) else getattr(image, "n_frames", 1)
            kept = KEPT if palette else (*KEPT, "P")
            turned = ImageOps.exif_transpose(image)
            if turned.mode not in kept:
                turned = turned.convert("RGBA" if turned.has_transparency_data else "RGB")
            pixels = np.asarray(turned)
            tags = getattr(image, "tag_v2", {})
    except Image.DecompressionBombError as error:
        message = f"has more pixels than Pillow reads: set PIL.Image.MAX_IMAGE_PIXELS = None first ({error})"
        raise ParseError(path, None, message) from error
    except Exception as error:  # a decoder raises whatever a damaged file leads it to
        hint = "; tifffile.imread(path) reads more kinds of TIFF" if content.startswith(TIFF) else ""
        if content[VOLUME_AT : VOLUME_AT + 4] == NIFTI:
            hint = "; read_volume(path) reads NIfTI"
        message = f"is not an image, or a damaged one ({type(error).__name__}){hint}"
        raise ParseError(path, None, message) from error
    if count > 1:
        message = f"has {count} pages or frames, and one picture is read here"
        hint = "read_volume(path) reads all" if content.startswith(TIFF) else "save one of them"
        raise ParseError(path, None, f"{message}: {hint}")
    if tags and pixels.dtype == np.int32 and tags.get(NUMBERS, (1,))[0] == 1:
        pixels = pixels.view(np.uint32)
    # Byte 24 of a PNG has its depth.
    bits = content[24] if content.startswith(PNG) else max(tags.get(BITS, (0,)))
    if bits > 8 and pixels.dtype == np.uint8:
        logger.warning("%s: has 16 bits for each colour, and the upper 8 are read", path)
    return pixels.astype(pixels.dtype.newbyteorder("="), copy=False)


def _imageio(feature: str) -> ModuleType:
    with needed_for(feature, "imageio", "vision"):
        import imageio.v3
    module: ModuleType = imageio.v3
    return module
