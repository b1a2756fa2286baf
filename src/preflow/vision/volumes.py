"""Read and write volumes in files, and draw a segmentation of one.

NIfTI is read and written by NiBabel, TIFF by tifffile, folders of slices by Pillow; each is loaded when it is
first needed. NiBabel's axes are (x, y, z); here they are (z, y, x), as everywhere in preflow.
"""

from __future__ import annotations

import logging
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Spacing
from ..checks import needed_for
from ..errors import InvalidInputError, ParseError
from ..graph.contrast import finite_array
from ..graph.placement import host_array
from ..io.files import MOST_UNANNOUNCED, read_bytes, replacing
from .pictures import middle_slices, overlay, read_image, stretched
from .planes import Volume

#: Suffixes of the names of volumes: NIfTI, and TIFF.
SUFFIXES, STACKS = (".nii", ".nii.gz"), (".tif", ".tiff")
#: Suffixes of TIFF files that are read, BigTIFF among them.
READ_STACKS = (*STACKS, ".btf", ".tf8")
#: What to do with volumes in other files.
OTHER_FILES = (
    "MGH, Analyze and MINC become NIfTI by nibabel.save(nibabel.load(path), 'scan.nii.gz'), DICOM by "
    "dcm2niix, NRRD and MetaImage by SimpleITK.WriteImage(SimpleITK.ReadImage(path), 'scan.nii.gz')"
)
#: Millimetres of the units that ImageJ and OME-TIFF name; others count as millimetres.
MILLIMETRES = {
    "m": 1e3,
    "cm": 10.0,
    "inch": 25.4,
    **dict.fromkeys(("micron", "microns", "micrometer", "um", "\u00b5m", "\u03bcm", "\\u00B5m"), 1e-3),
    "nm": 1e-6,
    "pm": 1e-9,
}
#: Millimetres of the units of NIfTI that are others, by their codes: metres and micrometres.
NIFTI_MILLIMETRES = {1: 1e3, 3: 1e-3}
#: A TIFF may expand to this many times its size: deflate has no higher ratio.
MOST_EXPANSION = 1100
#: Longest voxels, in millimetres, that a TIFF gives in micrometres.
MICROSCOPIC = 0.1


def spacing_from(image: ArrayLike | Volume, spacing: Spacing) -> Spacing:
    """Return the lengths of a pixel that a caller gave, or else those of a volume."""
    return image.spacing if spacing is None and isinstance(image, Volume) else spacing


def is_volume(path: str | Path) -> bool:
    """Return whether a path is that of a volume: NIfTI, TIFF of several pages, or a folder.

    Examples
    --------
    >>> is_volume("brain.nii.gz"), is_volume("brain.png")
    (True, False)
    """
    name = str(path).lower()
    if not name.endswith(READ_STACKS):
        return name.endswith(SUFFIXES) or Path(path).is_dir()
    try:
        with _silent(), _tifffile("").TiffFile(path) as file:
            return len(file.pages) > 1 or len(file.series[0].axes.strip("YXS")) > 0
    except Exception:  # reading it reports the error
        return False


def read_volume(path: str | Path) -> Volume:
    """Return a volume from a NIfTI file, from a TIFF of several pages, or from a folder of slices.

    Parameters
    ----------
    path : path
        A name that ends in .nii, .nii.gz, .tif, .tiff, .btf or .tf8; or a folder of pictures of one kind and
        one shape.
        Numbers in their names count: slice 10 comes after slice 9. One slice is a volume, too.

    Returns
    -------
    Volume
        Its affine is that of NIfTI, in millimetres also where the file has metres or micrometres. Of a TIFF
        it has the spacing that ImageJ or OME-TIFF stored, z as long as x if only z is missing; without it,
        and for a folder, a voxel is a cube of 1 mm: :meth:`Volume.with_spacing` gives it other sides.

    Raises
    ------
    ParseError
        The file is missing, is damaged or does not have three dimensions; a slice has another shape.
    MissingDependencyError
        NiBabel, tifffile or ImageIO is not installed.
    """
    name = str(path).lower()
    if name.endswith(READ_STACKS):
        return _of_tiff(path)
    if Path(path).is_dir():
        return _placed(_slices(Path(path)), (1.0, 1.0, 1.0))
    nibabel = _nibabel("reading volumes")
    content = read_bytes(path, _announced_bytes)
    announced = _announced_bytes(content)
    if announced is not None and announced > len(content):
        message = "is not a NIfTI file, or a damaged one: its header announces"
        raise ParseError(path, None, f"{message} {announced:,} bytes, it has {len(content):,}")
    try:
        with _silent():
            image = _nifti_class(nibabel, content).from_bytes(content)
            values = np.asanyarray(image.dataobj)
    except Exception as error:  # a decoder raises whatever a damaged file leads it to
        hint = (
            ""
            if name.endswith(SUFFIXES)
            else f"; other volumes are TIFF and folders of slices. {OTHER_FILES}"
        )
        message = f"is not a NIfTI file, or a damaged one ({type(error).__name__}){hint}"
        raise ParseError(path, None, message) from error
    if values.ndim == 4 and values.shape[-1] == 1:
        values = values[..., 0]
    if values.ndim == 2:
        values = values[..., np.newaxis]
    if values.ndim != 3 or values.size == 0 or values.dtype.kind not in "biuf":
        hint = ""
        if values.ndim == 4:
            hint = ": save one of the series by nibabel.load(path).slicer[..., 0].to_filename(name)"
        raise ParseError(
            path, None, f"expected a volume of numbers, found {values.dtype} of shape {values.shape}{hint}"
        )
    affine = np.array(image.affine, dtype=np.float64)
    affine[:3] *= NIFTI_MILLIMETRES.get(int(image.header["xyzt_units"]) % 8, 1.0)
    return Volume(np.ascontiguousarray(values.T), affine)


def _of_tiff(path: str | Path) -> Volume:
    """Return the pages of a TIFF as a volume."""
    tifffile = _tifffile("reading TIFF stacks")
    content = read_bytes(path)
    try:
        with _silent(), tifffile.TiffFile(BytesIO(content)) as file:
            first, *others = file.series
            if first.nbytes > max(MOST_UNANNOUNCED, MOST_EXPANSION * len(content)):
                raise ParseError(path, None, f"is damaged: it announces {first.nbytes:,} bytes")
            shapes, is_imagej = {series.shape for series in file.series}, file.is_imagej
            values, axes, spacing = _decoded(first, content), first.axes, _spacing_in_tiff(tifffile, file)
    except ParseError:
        raise
    except Exception as error:  # a decoder raises whatever a damaged file leads it to
        if "imagecodecs" in str(error):
            raise ParseError(path, None, f"{error}: pip install imagecodecs") from error
        message = f"is not a TIFF, or a damaged one ({type(error).__name__})"
        raise ParseError(path, None, message) from error
    if others and values.ndim - axes.endswith("S") == 2:
        found = " and ".join(map(str, sorted(shapes)))
        raise ParseError(path, None, f"its pages have different shapes, {found}: save those of one shape")
    kept = [number for number, axis in enumerate(axes) if axis in "YXS" or values.shape[number] > 1]
    axes = "".join(axes[number] for number in kept)
    values = values.reshape([values.shape[number] for number in kept])
    if values.ndim - axes.endswith("S") == 2:
        axes, values = "Z" + axes, values[np.newaxis]
    if not re.fullmatch("[ZQIT]YXS?", axes) or not values.size or values.dtype.kind not in "biuf":
        message = f"expected a stack of pages, found {values.dtype} of shape {values.shape}, axes {axes}"
        hint = ": take one channel and time of tifffile.imread(path)" if {"C", "T"} & set(axes) else ""
        if axes == "CYX" and is_imagej:
            hint += (
                ", or if these are slices, write them again by tifffile.imwrite(path, slices, imagej=True, "
            )
            hint += "metadata={'axes': 'ZYX', 'spacing': side, 'unit': 'um'})"
        raise ParseError(path, None, f"{message}{hint}")
    return _placed(values[..., :3] if axes.endswith("S") else values, spacing)


def _decoded(series: Any, content: bytes) -> Array:
    """Return the pages of a TIFF; those that tifffile cannot decode without imagecodecs by Pillow."""
    try:
        return np.asarray(series.asarray())
    except ValueError as error:
        if "imagecodecs" not in str(error):
            raise
        from PIL import Image, ImageSequence

        with Image.open(BytesIO(content)) as image:
            pages = np.stack([np.array(page) for page in ImageSequence.Iterator(image)])
        if pages.dtype != series.dtype or pages.size != math.prod(series.shape):
            raise
        return pages.reshape(series.shape)


def _spacing_in_tiff(tifffile: ModuleType, file: Any) -> tuple[float, float, float]:
    """Return the lengths of a voxel along x, y and z in millimetres, as ImageJ or OME-TIFF stored them."""
    if file.is_ome:
        image = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]
        pixels = (image[0] if isinstance(image, list) else image)["Pixels"]
        units = [pixels.get(f"PhysicalSize{axis}Unit", "\u00b5m") for axis in "XYZ"]
        # What is not known is as long as a pixel is wide.
        sides = [pixels.get(f"PhysicalSize{axis}", pixels.get("PhysicalSizeX", 0.0)) for axis in "XYZ"]
    elif file.is_imagej:
        tags = file.pages[0].tags
        parts = [tags[name].value if name in tags else (1, 1) for name in ("XResolution", "YResolution")]
        sides = [below / above if above else 0.0 for above, below in parts]
        sides.append(file.imagej_metadata.get("spacing", 1.0))
        units = [file.imagej_metadata.get("unit", "")] * 3
    else:
        return 1.0, 1.0, 1.0
    x, y, z = (abs(float(side)) * MILLIMETRES.get(unit, 1.0) for side, unit in zip(sides, units, strict=True))
    return (x, y, z) if all(0 < side < math.inf for side in (x, y, z)) else (1.0, 1.0, 1.0)


def _slices(folder: Path) -> Array:
    """Return the pictures in a folder, in the order of the numbers in their names."""
    with needed_for("reading slices", "imageio", "vision"):
        from PIL import Image
    known = Image.registered_extensions()
    files = [file for file in folder.iterdir() if file.suffix.lower() in known and file.name[0] != "."]
    if not files:
        message = "has no pictures: a folder of slices has one for each slice"
        raise ParseError(folder, None, f"{message}. {OTHER_FILES}")
    kinds = sorted({file.suffix.lower() for file in files})
    if len(kinds) > 1:
        raise ParseError(folder, None, f"has pictures of several kinds, {', '.join(kinds)}: keep the slices")
    files.sort(key=lambda file: [int(part) if part.isdigit() else part for part in _parts(file.name)])
    slices = [read_image(file) for file in files]
    usual = Counter((each.shape, each.dtype) for each in slices).most_common(1)[0][0]
    for file, each in zip(files, slices, strict=True):
        if (each.shape, each.dtype) != usual:
            others = f"{usual[1]} of shape {usual[0]}"
            raise ParseError(
                file, None, f"is {each.dtype} of shape {each.shape}, the other slices are {others}"
            )
    return np.stack(slices)


def _parts(name: str) -> list[str]:
    """Return the text and the numbers of a name in turns, text first."""
    return re.split(r"([0-9]+)", name.lower())


def _placed(values: Array, spacing: tuple[float, float, float]) -> Volume:
    """Return a volume at the origin, given the lengths of a voxel along x, y and z."""
    return Volume(np.ascontiguousarray(values), np.diag([*spacing, 1.0]), of_body=False)


def write_volume(path: str | Path, values: ArrayLike | Volume, like: Volume | None = None) -> None:
    """Write values as a volume; a failure leaves an existing file unchanged.

    :func:`write_labels` writes masks and labels.

    Parameters
    ----------
    path : path
        Ends in .nii, .nii.gz, .tif or .tiff. A TIFF has the spacing, as ImageJ stores it, and no affine.
    values : array_like or Volume, shape (d, h, w)
        TIFF holds uint8, uint16 and float32.
    like : Volume, optional
        The volume whose affine is written; default: `values`.

    Raises
    ------
    InvalidInputError
        Another suffix or shape, numbers that the format does not hold, or the file cannot be written.
    MissingDependencyError
        NiBabel or tifffile is not installed.

    Examples
    --------
    >>> scan = read_volume("scan.nii.gz")  # doctest: +SKIP
    >>> write_volume("half.nii.gz", scan.values // 2, scan)  # doctest: +SKIP
    """
    if like is None and isinstance(values, Volume):
        like = values
    if like is None:
        raise InvalidInputError("like is needed, the Volume whose place the values have")
    given = host_array(values, "values")
    if given.dtype.kind not in "biuf":
        raise InvalidInputError(f"values must be an array of numbers, got {given.dtype}")
    _write(path, given, like, "values")


def write_labels(path: str | Path, labels: ArrayLike, like: Volume) -> None:
    """Write a label image with the affine of a volume; a failure leaves an existing file unchanged.

    A mask is written as 0 and 1. :func:`write_volume` writes values of a scan.

    Parameters
    ----------
    path : path
        Ends in .nii, .nii.gz, .tif or .tiff. A TIFF has the spacing, as ImageJ stores it, and no affine.
    labels : array_like of bool or of whole numbers, shape of the volume
        The file has the smallest type of integers that holds them; TIFF holds labels from 0 to 65,535.
    like : Volume

    Raises
    ------
    InvalidInputError
        Another suffix or shape, other labels, or the file cannot be written.
    MissingDependencyError
        NiBabel or tifffile is not installed.
    """
    _write(path, compact(labels), like, "labels")


def labels_as_bytes(labels: ArrayLike, like: Volume, suffix: str = ".nii") -> bytes:
    """Return the file of a label image, not compressed; see :func:`write_labels`."""
    return _encoded(suffix, compact(labels), like, "labels")


def compact(labels: ArrayLike) -> Array:
    """Return whole numbers in the smallest type of integers that holds them."""
    given = host_array(labels, "labels")
    if given.dtype.kind == "f":
        wrong = np.argwhere(given != np.rint(given))  # NaN is not equal to itself
        if len(wrong):
            place = tuple(wrong[0].tolist())
            raise InvalidInputError(f"labels are whole numbers, got {given[place]} at {place}: write_volume")
        if not np.isfinite(given).all() or (given.size and np.abs(given).max() >= 2**63):
            raise InvalidInputError("labels are whole numbers below 2**63")
        given = given.astype(np.int64)
    if given.dtype.kind not in "biu":
        raise InvalidInputError(f"labels are integers or bool, got {given.dtype}")
    if given.dtype == np.bool_ or not given.size:
        return given.astype(np.uint8)
    ends = map(np.min_scalar_type, (given.min(), given.max()))
    return given.astype(np.result_type(*ends))


def _write(path: str | Path, values: Array, like: Volume, name: str) -> None:
    suffix = next((each for each in SUFFIXES + STACKS if str(path).lower().endswith(each)), None)
    if suffix is None:
        raise InvalidInputError(f"{path}: the name of a volume ends in {', '.join(SUFFIXES + STACKS)}")
    content = _encoded(suffix, values, like, name)
    with replacing(path, compress=suffix == ".nii.gz") as file:
        file.write(content)


def _encoded(suffix: str, values: Array, like: Volume, name: str) -> bytes:
    """Return the file of a volume, not compressed."""
    if not isinstance(like, Volume):
        raise InvalidInputError(
            f"like must be a Volume, got {type(like).__name__}: that of read_volume(path), or "
            "Volume(values, numpy.diag([x, y, z, 1])) for the sides x, y and z of a voxel"
        )
    shape = like.values.shape[:3]
    if values.shape != shape:
        raise InvalidInputError(f"{name} have shape {values.shape}, the volume has shape {shape}")
    if values.dtype == np.bool_:
        values = values.astype(np.uint8)
    content = BytesIO()
    if suffix in STACKS:
        if values.dtype not in (np.uint8, np.uint16, np.float32):
            ends = f" from {values.min():g} to {values.max():g}" if values.size else ""
            raise InvalidInputError(
                f"{name} are {values.dtype}{ends}: a TIFF holds uint8, uint16 and float32 here, NIfTI more"
            )
        unit, factor = ("micron", 1e3) if max(like.spacing) < MICROSCOPIC else ("mm", 1.0)
        z, y, x = (factor * side for side in like.spacing)
        _tifffile("writing TIFF stacks").imwrite(
            content,
            values,
            imagej=True,
            resolution=(1 / x, 1 / y) if x and y else None,
            metadata={"axes": "ZYX", "spacing": z, "unit": unit},
        )
        return content.getvalue()
    nibabel = _nibabel("writing volumes")
    try:
        image = nibabel.Nifti1Image(values.T, like.affine, dtype=values.dtype)
        image.header.set_xyzt_units("mm")
        found: bytes = image.to_bytes()
    except Exception as error:  # NiBabel's errors are of several kinds
        raise InvalidInputError(f"{name} cannot be written, but .astype('float32') can: {error}") from error
    return found


def volume_overlay(
    volume: ArrayLike | Volume, mask: ArrayLike, *, seeds: tuple[ArrayLike, ArrayLike] | None = None
) -> NDArray[np.uint8]:
    """Return a picture of a segmented volume: overlays of the three slices through the object's middle.

    Parameters
    ----------
    volume : array_like, shape (d, h, w) or (d, h, w, 3); or Volume
    mask : array_like of bool, shape (d, h, w)
        True on the object.
    seeds : (foreground, background), optional
        Masks, shown in red and blue.

    Returns
    -------
    ndarray of uint8, shape (rows, columns, 3)
        Side by side the slices of constant z, y and x. The affine of a :class:`Volume` says how a body is
        upright, and gives the proportions. Of an array the vertical axes, upwards, are y, z and z: a body is
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
    return large_overlay(volume, mask, seeds, 1)


def large_overlay(
    volume: ArrayLike | Volume, mask: ArrayLike, seeds: tuple[ArrayLike, ArrayLike] | None, times: int
) -> NDArray[np.uint8]:
    """Return :func:`volume_overlay` with pixels that are repeated before outlines are drawn."""
    inside = np.asarray(mask, dtype=np.bool_)
    values = np.asarray(volume)
    if inside.ndim != 3 or values.shape not in (inside.shape, (*inside.shape, 3)):
        raise InvalidInputError(f"volume has shape {values.shape}, the mask has shape {inside.shape}")
    if values.dtype != np.uint8:  # one scale for all three slices
        values = stretched(finite_array("volume", values))
    arrays = [values, inside, *(np.asarray(painted, dtype=np.bool_) for painted in seeds or ())]

    def draw(each: list[Array]) -> NDArray[np.uint8]:
        image, cut, *painted = each
        return overlay(image, cut, seeds=(painted[0], painted[1]) if painted else None)

    return middle_slices(volume, arrays, inside, draw, times)


def _announced_bytes(head: bytes) -> int | None:
    """Return the least size of a NIfTI file by its header, or None if `head` has no valid header."""
    nibabel = _nibabel("reading volumes")
    damage = (nibabel.wrapstruct.WrapStructError, nibabel.spatialimages.HeaderDataError, KeyError, ValueError)
    try:
        with _silent():
            header = _nifti_class(nibabel, head).header_class.from_fileobj(BytesIO(head), check=False)
        offset, itemsize = int(header.get_data_offset()), int(header.get_data_dtype().itemsize)
        return offset + itemsize * math.prod(map(int, header.get_data_shape()))
    except (*damage, OverflowError):  # reading the whole file reports the error
        return None


def _nifti_class(nibabel: ModuleType, head: bytes) -> Any:
    """Return NiBabel's class for a file: the size of the header, its first number, tells NIfTI-2."""
    is_second = 540 in (int.from_bytes(head[:4], "little"), int.from_bytes(head[:4], "big"))
    return nibabel.Nifti2Image if is_second else nibabel.Nifti1Image


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress logs and warnings of NiBabel and tifffile about a damaged file, which becomes a ParseError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loggers = [logging.getLogger(name) for name in ("nibabel.global", "tifffile")]
        before = [each.disabled for each in loggers]
        for each in loggers:
            each.disabled = True
        try:
            yield
        finally:
            for each, disabled in zip(loggers, before, strict=True):
                each.disabled = disabled


def _nibabel(feature: str) -> ModuleType:
    with needed_for(feature, "nibabel", "vision"):
        import nibabel
    module: ModuleType = nibabel
    return module


def _tifffile(feature: str) -> ModuleType:
    with needed_for(feature, "tifffile", "vision"):
        import tifffile
    module: ModuleType = tifffile
    return module
