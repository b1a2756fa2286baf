"""Optical flow in Middlebury's .flo files.

Baker et al., "A database and evaluation methodology for optical flow", IJCV 2011: the number 202021.25, width
and height, then u (to the right) and v (down) of every pixel, all little-endian and of 32 bits. Unknown flow
is written as 1e10 and recognised by a component beyond 1e9, or NaN.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError, ParseError
from .files import parsing, read_bytes, replacing

TAG = np.float32(202021.25)
UNKNOWN, LARGEST_KNOWN = np.float32(1e10), np.float32(1e9)
#: Images are not wider or higher than this; a larger number means that the file is damaged.
LARGEST_SIDE = 99_999


def read_flo(path: str | Path) -> NDArray[np.float32]:
    """Read the optical flow in a .flo file, plain or gzip, as an array of shape (2, h, w).

    First the displacement along rows (v, down), then along columns (u, to the right), as scikit-image orders
    them; NaN where the flow is unknown. ParseError if the file is missing, is no .flo file or does not have
    the length that its header says.
    """
    with parsing(path, "flow"):
        content = read_bytes(path, _announced_bytes)
        if len(content) < 12 or np.frombuffer(content, "<f4", 1)[0] != TAG:
            raise ParseError(path, None, "is not a .flo file: it does not begin with the number 202021.25")
        width, height = np.frombuffer(content, "<i4", 2, 4).tolist()
        if not (0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE):
            raise ParseError(path, None, f"says that the flow is {width} x {height} pixels")
        if len(content) != 12 + 8 * width * height:
            raise ParseError(
                path,
                None,
                f"{width} x {height} pixels take {12 + 8 * width * height} bytes, it has {len(content)}",
            )
        pairs = np.frombuffer(content, "<f4", offset=12).reshape(height, width, 2)
        flow = np.stack([pairs[..., 1], pairs[..., 0]]).astype(np.float32)
        flow[:, ~(np.abs(flow) <= LARGEST_KNOWN).all(axis=0)] = np.nan
        return flow


def _announced_bytes(head: bytes) -> int | None:
    """Return the number of bytes of a file, by its header."""
    if len(head) < 12:
        return None
    width, height = np.frombuffer(head, "<i4", 2, 4).tolist()
    return 12 + 8 * int(width) * int(height)


def write_flo(path: str | Path, flow: ArrayLike) -> None:
    """Write an optical flow, as :func:`read_flo` returns it, as a .flo file; a failure leaves the old file.

    Values that are not finite are written as unknown. InvalidInputError for another shape, or where the file
    cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "right.flo"
    >>> write_flo(path, [[[0.0, 0.0]], [[1.0, 2.5]]])
    >>> read_flo(path)[1].tolist()
    [[1.0, 2.5]]
    """
    field = np.asarray(flow, np.float32)
    if field.ndim != 3 or field.shape[0] != 2 or field.size == 0:
        raise InvalidInputError(f"flow must have shape (2, height, width), got {field.shape}")
    pairs = np.stack([field[1], field[0]], axis=-1)
    pairs[~np.isfinite(pairs).all(axis=-1)] = UNKNOWN
    height, width = field.shape[1:]
    with replacing(path) as file:
        file.write(TAG.astype("<f4").tobytes() + np.array([width, height], "<i4").tobytes())
        file.write(pairs.astype("<f4").tobytes())
