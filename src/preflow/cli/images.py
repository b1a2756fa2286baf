"""The command that cuts an object out of an image or a volume."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..errors import InvalidInputError
from .files import check_ending, check_outputs, is_same_file
from .session import Command, Steps, exit_by_status

if TYPE_CHECKING:
    from ..vision import Segmentation, Volume


@click.command(
    cls=Command,
    like=["preflow.vision.segment"],
    without=["spacing"],
    demos={
        "astronaut": "photo.jpg --box 130,5,329,229 --out demo-astronaut.png",
        "cat": "cat.jpg --scribbles painted.png --out demo-cat.png",
        "brain": 'brain.nii.gz --foreground ">195" --background "<185" --model mixture --smoothness 0.7 '
        "--sigma inf --connectivity 6 --prior 0.2 --out demo-brain.png",
    },
)
def segment(
    image: str | None = None,
    *,
    out: str,
    volume: str | None = None,
    memory: str | None = None,
    folder: str | None = None,
    foreground: tuple[str, ...] = (),
    background: tuple[str, ...] = (),
    scribbles: str | None = None,
    box: str | None = None,
    brush: float = 3.0,
    mask: str | None = None,
    cutout: str | None = None,
    spacing: str | None = None,
    verify: bool = False,
    show: bool = False,
    **solving: Any,
) -> None:
    """Cut an object out of an image or a volume.

    A few pixels of the object and of the rest are given as seeds.
    A seed is a box "x0,y0,x1,y1", a brush stroke through points
    "x,y x,y x,y", in pixels from the upper left corner (in a volume
    with z after each y), or a range of values ">200". Both kinds of
    seeds are needed, written here or painted with --scribbles. Or a
    --box around the object is all that is known; seeds then correct the
    result where it is wrong.

    The outline is a minimum cut of the image's grid: seeds are certain,
    colours are compared with those of the seeds, and neighbours of like
    colour stay together (Boykov and Jolly 2001; with --box Rother,
    Kolmogorov and Blake 2004).

    For example:

      preflow segment cat.jpg --out cut.png --foreground 180,110,280,170
        --background "5,5 440,5" --background "5,5 5,280"
      preflow segment cat.jpg --out cut.png --scribbles painted.png
      preflow segment cat.jpg --out cut.png --box 90,20,370,290
        --foreground "210,90 260,95"
      preflow segment brain.nii.gz --out slices.png --mask white.nii.gz
        --foreground ">195" --background "<185" --model mixture
        --smoothness 0.7 --sigma inf --connectivity 6 --prior 0.2
      preflow segment --volume brain.zarr --out mask.zarr --memory 4GB
        --foreground ">195" --background "<100" --sigma inf

    Parameters
    ----------
    image : IMAGE
        PNG, JPEG, TIFF ...; grey or colour. Or a NIfTI volume.
    out : PNG
        Picture to write: the object with its outline. With --volume the mask to write.
    volume : ZARR
        Instead of an image, a volume that need not fit the memory: .zarr, or .npy. Seeds are ranges of
        values; --out is a mask of the same kind.
    memory : SIZE
        With --volume: memory to use, as "4GB".
    folder : FOLDER
        With --volume: for checkpoints; a run that was ended goes on.
    foreground : SEED
        Pixels of the object; may be repeated.
    background : SEED
        Pixels of the background; may be repeated.
    scribbles : IMAGE
        Seeds painted on a copy of the image: red the object, blue the rest. For a volume: NIfTI, 1 the
        object, 2 the rest.
    box : X0,Y0,X1,Y1
        A box that the object lies in, corners included (GrabCut).
    brush : PIXELS
        Diameter of strokes.
    mask : FILE
        Also write the mask of the object: white on black in PNG; 1 in NIfTI.
    cutout : PNG
        Also write the object alone, on a transparent background.
    spacing : X,Y[,Z]
        Sides of a pixel, in any unit; default: those in the header of a volume.
    verify
        Prove the answer, independently of the solver.
    show
        Print the size of the network and the time of each step.
    """
    if volume is not None:
        learned = solving.pop("model"), solving.pop("components")
        others = (scribbles, box, mask, cutout, spacing)
        if image is not None or any(others) or learned != ("histogram", 5):
            raise InvalidInputError(
                "--volume takes no image, --scribbles, --box, --mask, --cutout, --spacing or --model"
            )
        if solving.pop("method") != "auto" or solving.pop("device") == "cuda":
            raise InvalidInputError("--volume is solved by regions on files, on the CPU: give no method")
        from .volumes import segment_volume

        seeds = (foreground, background)
        exit_by_status(
            segment_volume(volume, out, seeds, memory=memory, folder=folder, verify=verify, **solving)
        )
        return
    if image is None:
        raise InvalidInputError(
            "an IMAGE is missing, or --volume; --demo astronaut shows what the command does"
        )
    if memory is not None or folder is not None:
        raise InvalidInputError("--memory and --folder belong to --volume")
    written = bool(foreground or background)
    if box is not None and scribbles is not None:
        raise InvalidInputError("--box takes no scribbles: write seeds as --foreground and --background")
    if box is None and written + (scribbles is not None) != 1:
        raise InvalidInputError("seeds are needed: --foreground and --background, or --scribbles, or --box")
    if box is not None and (solving.pop("model"), solving.pop("prior")) != ("histogram", 0.5):
        raise InvalidInputError("--box always learns mixtures: leave --model and --prior out")
    _check_names(image, scribbles, out, mask, cutout)

    import numpy as np

    from ..vision import cutout as cut_out
    from ..vision import grabcut, overlay, volume_overlay, write_image, write_labels
    from ..vision import segment as segment_pixels

    steps = Steps()
    with steps.timed("read", f"reading {image}"):
        given = Pixels.read(image)
        painted = _seeds(given, (foreground, background), scribbles, box, brush)
    solving["spacing"] = spacing_of(spacing, given)
    if box is None:
        result = steps.solve("segment", segment_pixels, given.values, *painted, **solving)
    else:
        inside, *corrections = painted
        named = dict(zip(("foreground", "background"), corrections, strict=True))
        result = steps.solve("segment", grabcut, given.values, inside, **named, **solving)
    if verify:
        steps.verify(result.cut)
    with steps.timed("write", f"writing {out}"):
        if given.volume is not None:
            write_image(out, volume_overlay(given.values, result.mask))
            if mask is not None:
                write_labels(mask, result.mask, given.volume)
        else:
            shown = (painted[-2], painted[-1]) if box is None or written else None
            write_image(out, overlay(given.values, result.mask, seeds=shown))
            if mask is not None:
                write_image(mask, np.where(result.mask, 255, 0).astype(np.uint8))
            if cutout is not None:
                write_image(cutout, cut_out(given.values, result.mask))
    lines = _lines(result, verify, ", ".join(filter(None, (out, mask, cutout))), steps if show else None)
    click.echo("\n".join(lines))
    exit_by_status(result.cut.status)


class Pixels(NamedTuple):
    """The input: values of pixels, the shape of a mask for them, and the volume that they are from."""

    values: Any
    shape: tuple[int, ...]
    volume: Volume | None

    @classmethod
    def read(cls, image: str) -> Pixels:
        """Read an image or a NIfTI volume."""
        from ..vision import read_image, read_volume
        from ..vision.volumes import is_volume

        if is_volume(image):
            volume = read_volume(image)
            return cls(volume.values, volume.values.shape, volume)
        values = read_image(image)
        return cls(values, values.shape[:2], None)


def spacing_of(text: str | None, given: Pixels) -> tuple[float, ...] | None:
    """Return the lengths of a pixel along each axis, last axis first in `text`; None where all are alike."""
    ndim = len(given.shape)
    if text is None:
        if given.volume is None:
            return None
        if not all(0 < side < math.inf for side in given.volume.spacing):
            raise InvalidInputError(
                f"the header of the volume has voxels of {given.volume.spacing[::-1]}: "
                "--spacing 1,1,1 for cubes"
            )
        return given.volume.spacing
    try:
        sides = tuple(float(side) for side in text.split(","))
    except ValueError:
        sides = ()
    if len(sides) != ndim or not all(0 < side < math.inf for side in sides):
        letters = ",".join("XYZ"[:ndim])
        raise InvalidInputError(f"--spacing is {letters}, {ndim} positive numbers, got {text!r}")
    return sides[::-1]


def _check_names(image: str, scribbles: str | None, out: str, mask: str | None, cutout: str | None) -> None:
    """Check the names of the files to read and to write."""
    from ..vision.volumes import SUFFIXES, is_volume

    check_ending(out, "a picture", ".png")
    check_ending(mask, "the mask", *(SUFFIXES if is_volume(image) else (".png",)))
    if cutout is not None and (is_volume(image) or not cutout.lower().endswith(".png")):
        raise InvalidInputError(f"{cutout}: a cut-out is of an image, and its name ends in .png")
    check_outputs([out, mask, cutout], [image, scribbles])
    if scribbles is not None and is_same_file(image, scribbles):
        raise InvalidInputError(f"{scribbles}: the scribbles are the image itself: paint them on a copy")


def _seeds(
    given: Pixels,
    written: tuple[tuple[str, ...], tuple[str, ...]],
    scribbles: str | None,
    box: str | None,
    brush: float,
) -> tuple[Any, ...]:
    """Return the masks of both kinds of seeds; with a box, its mask comes first."""
    from ..vision import parse_seeds, read_scribbles, read_volume, seeds_from_labels

    shape = given.shape
    if scribbles is None:
        seeds = (parse_seeds(shape, texts, brush=brush, values=given.values) for texts in written)
        if box is None:
            return tuple(seeds)
        corners = "x0,y0,z0,x1,y1,z1" if len(shape) == 3 else "x0,y0,x1,y1"
        if box.count(",") != corners.count(",") or len(box.split()) != 1:
            raise InvalidInputError(f'--box is "{corners}", got {box!r}')
        return parse_seeds(shape, [box]), *seeds
    if given.volume is None:
        return read_scribbles(scribbles, (shape[0], shape[1]))
    labels = read_volume(scribbles).values
    if labels.shape != shape:
        raise InvalidInputError(
            f"{scribbles} has shape {labels.shape}, the volume has shape {shape} (z, y, x)"
        )
    return seeds_from_labels(labels)


def _lines(result: Segmentation, verified: bool, written: str, steps: Steps | None) -> list[str]:
    """Return the lines of the report; with `steps` those of --show, too."""
    from .reports import aligned, ended, method_and_reason, proof, shape_text, times

    size = int(result.mask.sum())
    status, stats = result.cut.status, result.cut.stats
    rows = [
        ("image", f"{shape_text(result.mask.shape)} pixels, {result.num_seeds:,} of them seeds"),
        ("object", f"{size:,} pixels, {size / result.mask.size:.1%}"),
        ("energy", f"{result.energy:,.3f} nats{ended(status)}"),
        ("method", method_and_reason(stats)),
        ("time", times(stats.seconds)),
        ("verified", proof(verified, status == "optimal")),
        ("wrote", written),
    ]
    lines = aligned(rows)
    if steps is not None:
        cuts = [f"{len(result.energies)} cuts"] if hasattr(result, "energies") else []
        network = ", ".join([repr(result.cut.network), *cuts])
        lines += aligned([("network", network), ("steps", times(steps.seconds))])
    return lines
