"""Read and write volumes in NIfTI files, and draw a segmentation of one.

NiBabel is loaded when the first file is read or written. Its axes are (x, y, z); here they are (z, y, x), as
everywhere in preflow.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import InvalidInputError, MissingDependencyError, ParseError
from ..graph.contrast import finite_array
from ..io.files import read_bytes, replacing
from .pictures import overlay, stretched

#: Suffixes of the names of volumes.
SUFFIXES = (".nii", ".nii.gz")


@dataclass(frozen=True, eq=False)
class Volume:
    """A volume with its place in space.

    Attributes
    ----------
    values : ndarray, shape (d, h, w)
        Stored values times the file's scale if it has one.
    affine : ndarray of float64, shape (4, 4)
        Maps (x, y, z, 1) in voxels to millimetres.
    """

    values: Array
    affine: NDArray[np.float64]

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Length of a voxel along each axis of `values`, (z, y, x), in millimetres.

        Examples
        --------
        >>> import numpy as np
        >>> Volume(np.zeros((2, 2, 2)), np.diag([1.0, 1.0, 3.0, 1.0])).spacing
        (3.0, 1.0, 1.0)
        """
        x, y, z = (math.hypot(*column) for column in self.affine[:3, :3].T.tolist())
        return z, y, x


def is_volume(path: str | Path) -> bool:
    """Return whether a path has the suffix of a volume.

    Examples
    --------
    >>> is_volume("brain.nii.gz"), is_volume("brain.png")
    (True, False)
    """
    return str(path).lower().endswith(SUFFIXES)


def read_volume(path: str | Path) -> Volume:
    """Return a volume from a NIfTI file (.nii, .nii.gz); one slice is a volume, too.

    Raises
    ------
    ParseError
        The file is missing, is not a NIfTI file or does not have three dimensions.
    MissingDependencyError
        NiBabel is not installed.
    """
    nibabel = _nibabel("reading volumes")
    content = read_bytes(path, _announced_bytes)
    announced = _announced_bytes(content)
    if announced is not None and announced > len(content):
        message = "is not a NIfTI file, or a damaged one: its header announces"
        raise ParseError(path, None, f"{message} {announced:,} bytes, it has {len(content):,}")
    try:
        with _silent(nibabel):
            image = nibabel.Nifti1Image.from_bytes(content)
            values = np.asanyarray(image.dataobj)
    except Exception as error:  # a decoder raises whatever a damaged file leads it to
        message = f"is not a NIfTI file, or a damaged one ({type(error).__name__})"
        raise ParseError(path, None, message) from error
    if values.ndim == 4 and values.shape[-1] == 1:
        values = values[..., 0]
    if values.ndim == 2:
        values = values[..., np.newaxis]
    if values.ndim != 3 or values.size == 0 or values.dtype.kind not in "biuf":
        raise ParseError(
            path, None, f"expected a volume of numbers, found {values.dtype} of shape {values.shape}"
        )
    return Volume(np.ascontiguousarray(values.T), np.asarray(image.affine, dtype=np.float64))


def write_labels(path: str | Path, labels: ArrayLike, like: Volume) -> None:
    """Write a label image with the affine of a volume; a failure leaves an existing file unchanged.

    A mask is written as 0 and 1.

    Parameters
    ----------
    path : path
        Ends in .nii or .nii.gz.
    labels : array_like of bool or of integers from 0 to 255, shape of the volume
    like : Volume

    Raises
    ------
    InvalidInputError
        Another suffix or shape, other labels, or the file cannot be written.
    MissingDependencyError
        NiBabel is not installed.
    """
    content = labels_as_bytes(labels, like)
    if not is_volume(path):
        raise InvalidInputError(f"{path}: the name of a volume ends in .nii or .nii.gz")
    with replacing(path, compress=str(path).lower().endswith(".gz")) as file:
        file.write(content)


def labels_as_bytes(labels: ArrayLike, like: Volume) -> bytes:
    """Return the NIfTI file of a label image, not compressed; see :func:`write_labels`."""
    nibabel = _nibabel("writing volumes")
    given = np.asarray(labels)
    if given.shape != like.values.shape:
        raise InvalidInputError(f"labels have shape {given.shape}, the volume has shape {like.values.shape}")
    if given.dtype.kind not in "biu" or not ((given >= 0) & (given <= 255)).all():
        raise InvalidInputError(f"labels must be integers from 0 to 255, got {given.dtype}")
    content: bytes = nibabel.Nifti1Image(given.astype(np.uint8).T, like.affine).to_bytes()
    return content


def volume_overlay(
    volume: ArrayLike, mask: ArrayLike, *, seeds: tuple[ArrayLike, ArrayLike] | None = None
) -> NDArray[np.uint8]:
    """Return a picture of a segmented volume: overlays of the three slices through the object's middle.

    Parameters
    ----------
    volume : array_like, shape (d, h, w) or (d, h, w, 3)
    mask : array_like of bool, shape (d, h, w)
        True on the object.
    seeds : (foreground, background), optional
        Masks, shown in red and blue.

    Returns
    -------
    ndarray of uint8, shape (rows, columns, 3)
        Side by side the slices of constant z, y and x. The vertical axes, upwards, are y, z and z: a body is
        upright in files whose axes point right, forward and up.

    Raises
    ------
    InvalidInputError
        Shapes that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> volume_overlay(np.zeros((2, 3, 4)), np.ones((2, 3, 4), dtype=bool)).shape
    (3, 11, 3)
    """
    inside = np.asarray(mask, dtype=np.bool_)
    values = np.asarray(volume)
    if inside.ndim != 3 or values.shape not in (inside.shape, (*inside.shape, 3)):
        raise InvalidInputError(f"volume has shape {values.shape}, the mask has shape {inside.shape}")
    if values.dtype != np.uint8:  # one scale for all three slices
        values = stretched(finite_array("volume", values))
    arrays = [values, inside, *(np.asarray(painted, dtype=np.bool_) for painted in seeds or ())]
    slices = []
    for axis in range(3):
        image, cut, *painted = (np.take(a, _middle(inside, axis), axis=axis)[::-1] for a in arrays)
        slices.append(overlay(image, cut, seeds=(painted[0], painted[1]) if painted else None))
    height = max(len(picture) for picture in slices)
    width = sum(picture.shape[1] for picture in slices)
    page = np.zeros((height, width, 3), dtype=np.uint8)
    column = 0
    for picture in slices:
        page[: len(picture), column : column + picture.shape[1]] = picture
        column += picture.shape[1]
    return page


def _middle(mask: NDArray[np.bool_], axis: int) -> int:
    """Return the slice that halves the object, or the volume if there is no object."""
    others = tuple(other for other in range(mask.ndim) if other != axis)
    counts = mask.sum(axis=others)
    if not counts.any():
        return int(mask.shape[axis]) // 2
    return int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))


def _announced_bytes(head: bytes) -> int | None:
    """Return the least size of a NIfTI file by its header, or None if `head` has no valid header."""
    nibabel = _nibabel("reading volumes")
    damage = (nibabel.wrapstruct.WrapStructError, nibabel.spatialimages.HeaderDataError, KeyError, ValueError)
    try:
        with _silent(nibabel):
            header = nibabel.Nifti1Header.from_fileobj(BytesIO(head), check=False)
        offset, itemsize = int(header.get_data_offset()), int(header.get_data_dtype().itemsize)
        return offset + itemsize * math.prod(map(int, header.get_data_shape()))
    except (*damage, OverflowError):  # reading the whole file reports the error
        return None


@contextmanager
def _silent(nibabel: ModuleType) -> Iterator[None]:
    """Suppress logs and warnings of NiBabel about a damaged header, which becomes a ParseError."""
    with nibabel.imageglobals.LoggingOutputSuppressor(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _nibabel(feature: str) -> ModuleType:
    try:
        import nibabel
    except ImportError:
        raise MissingDependencyError(feature, "nibabel", "vision") from None
    module: ModuleType = nibabel
    return module
