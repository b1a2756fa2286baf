"""The command that cuts an object out of an image or a volume."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..errors import InvalidInputError
from .arguments import (
    connectivity_option,
    device_option,
    method_option,
    model_option,
    prior_option,
    sigma_option,
    spacing_option,
    threads_option,
    time_limit_option,
    verify_option,
)
from .files import check_outputs, is_same_file
from .session import Command, exit_by_status, solver_progress, timed

if TYPE_CHECKING:
    from ..method_names import DeviceName
    from ..vision import Segmentation, Volume


@click.command(
    cls=Command,
    demos={
        "astronaut": "photo.jpg --box 130,5,329,229 --out demo-astronaut.png",
        "cat": "cat.jpg --scribbles painted.png --out demo-cat.png",
        "brain": 'brain.nii.gz --foreground ">195" --background "<185" --model mixture --smoothness 0.7 '
        "--sigma inf --connectivity 6 --prior 0.2 --out demo-brain.png",
    },
)
@click.argument(
    "image",
    metavar="[IMAGE]",
    required=False,
    help="PNG, JPEG, TIFF ...; grey or colour. Or a NIfTI volume.",
)
@click.option(
    "--out",
    "-o",
    required=True,
    metavar="PNG",
    help="Picture to write: the object with its outline. With --volume the mask to write.",
)
@click.option(
    "--volume",
    metavar="ZARR",
    help="Instead of an image, a volume that need not fit the memory: .zarr, or .npy. Seeds are ranges of "
    "values; --out is a mask of the same kind.",
)
@click.option("--memory", metavar="SIZE", help='With --volume: memory to use, as "4GB".')
@click.option(
    "--folder", metavar="FOLDER", help="With --volume: for checkpoints; a run that was ended goes on."
)
@click.option("--foreground", multiple=True, metavar="SEED", help="Pixels of the object; may be repeated.")
@click.option(
    "--background", multiple=True, metavar="SEED", help="Pixels of the background; may be repeated."
)
@click.option(
    "--scribbles",
    metavar="IMAGE",
    help="Seeds painted on a copy of the image: red the object, blue the rest. For a volume: "
    "NIfTI, 1 the object, 2 the rest.",
)
@click.option(
    "--box", metavar="X0,Y0,X1,Y1", help="A box that the object lies in, corners included (GrabCut)."
)
@click.option("--brush", default=3.0, show_default=True, metavar="PIXELS", help="Diameter of strokes.")
@click.option(
    "--mask", metavar="FILE", help="Also write the mask of the object: white on black in PNG; 1 in NIfTI."
)
@click.option("--cutout", metavar="PNG", help="Also write the object alone, on a transparent background.")
@click.option(
    "--smoothness",
    default=50.0,
    show_default=True,
    help="Weight of the outline relative to the colours; a larger one gives fewer islands.",
)
@sigma_option
@connectivity_option
@spacing_option
@model_option
@prior_option
@method_option
@device_option
@threads_option
@time_limit_option
@verify_option
@click.option("--show", is_flag=True, help="Print the size of the network and the time of each step.")
def segment(
    image: str | None,
    *,
    out: str,
    volume: str | None,
    memory: str | None,
    folder: str | None,
    foreground: tuple[str, ...],
    background: tuple[str, ...],
    scribbles: str | None,
    box: str | None,
    brush: float,
    mask: str | None,
    cutout: str | None,
    smoothness: float,
    sigma: float | None,
    connectivity: int | None,
    spacing: str | None,
    model: str,
    prior: float,
    method: str,
    device: DeviceName,
    threads: int | None,
    time_limit: float | None,
    verify: bool,
    show: bool,
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
    """
    if volume is not None:
        if image is not None or any((scribbles, box, mask, cutout, spacing)) or model != "histogram":
            raise InvalidInputError(
                "--volume takes no image, --scribbles, --box, --mask, --cutout, --spacing or --model"
            )
        if method != "auto" or device == "cuda":
            raise InvalidInputError("--volume is solved by regions on files, on the CPU: give no method")
        from .volumes import segment_volume

        status = segment_volume(
            volume,
            out,
            (foreground, background),
            memory=memory,
            folder=folder,
            threads=threads,
            time_limit=time_limit,
            verify=verify,
            smoothness=smoothness,
            sigma=sigma,
            connectivity=connectivity,
            prior=prior,
        )
        exit_by_status(status)
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
    options: dict[str, object] = {"smoothness": smoothness, "sigma": sigma, "connectivity": connectivity}
    if box is None:
        options |= {"model": model, "prior": prior}
    elif (model, prior) != ("histogram", 0.5):
        raise InvalidInputError("--box always learns mixtures: leave --model and --prior out")
    _check_names(image, scribbles, out, mask, cutout)
    seconds: dict[str, float] = {}
    with timed(seconds, "read", f"reading {image}"):
        given = _read(image)
        seeds = _Seeds(foreground, background, scribbles, box, brush).read(given)
    options["spacing"] = spacing_of(spacing, given.volume, len(given.shape))
    start = time.perf_counter()
    with solver_progress() as progress:
        result = _segment(
            given.pixels,
            seeds,
            **options,
            method=method,
            device=device,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    seconds["segment"] = time.perf_counter() - start
    if verify:
        with timed(seconds, "verify", "verifying"):
            result.cut.verify()
    with timed(seconds, "write", f"writing {out}"):
        _write(
            given, result, seeds[-2:] if box is None or foreground or background else None, out, mask, cutout
        )
    lines = _lines(result, verify, out, mask, cutout)
    click.echo("\n".join(lines + (_details(result, seconds) if show else [])))
    exit_by_status(result.cut.status)


def spacing_of(text: str | None, volume: Volume | None, ndim: int) -> tuple[float, ...] | None:
    """Return the lengths of a pixel along each axis, last axis first in `text`; None where all are alike."""
    if text is None:
        if volume is None:
            return None
        if not all(0 < side < math.inf for side in volume.spacing):
            raise InvalidInputError(
                f"the header of the volume has voxels of {volume.spacing[::-1]}: --spacing 1,1,1 for cubes"
            )
        return volume.spacing
    try:
        sides = tuple(float(side) for side in text.split(","))
    except ValueError:
        sides = ()
    if len(sides) != ndim or not all(0 < side < math.inf for side in sides):
        letters = ",".join("XYZ"[:ndim])
        raise InvalidInputError(f"--spacing is {letters}, {ndim} positive numbers, got {text!r}")
    return sides[::-1]


class _Given(NamedTuple):
    """The input: pixels, the shape of a mask for them, and the affine of a volume."""

    pixels: Any
    shape: tuple[int, ...]
    volume: Volume | None


def _check_names(image: str, scribbles: str | None, out: str, mask: str | None, cutout: str | None) -> None:
    """Check the names of the files to read and to write."""
    from ..vision.volumes import SUFFIXES, is_volume

    if not out.lower().endswith(".png"):
        raise InvalidInputError(f"{out}: the name of a picture to write ends in .png")
    if mask is not None:
        endings = SUFFIXES if is_volume(image) else (".png",)
        if not mask.lower().endswith(endings):
            raise InvalidInputError(f"{mask}: the name of the mask to write ends in {' or '.join(endings)}")
    if cutout is not None and (is_volume(image) or not cutout.lower().endswith(".png")):
        raise InvalidInputError(f"{cutout}: a cut-out is of an image, and its name ends in .png")
    check_outputs([out, mask, cutout], [image, scribbles])
    if scribbles is not None and is_same_file(image, scribbles):
        raise InvalidInputError(f"{scribbles}: the scribbles are the image itself: paint them on a copy")


def _read(image: str) -> _Given:
    from ..vision import read_image, read_volume
    from ..vision.volumes import is_volume

    if is_volume(image):
        volume = read_volume(image)
        return _Given(volume.values, volume.values.shape, volume)
    pixels = read_image(image)
    return _Given(pixels, pixels.shape[:2], None)


class _Seeds(NamedTuple):
    """Seeds as written on the command line."""

    foreground: tuple[str, ...]
    background: tuple[str, ...]
    scribbles: str | None
    box: str | None
    brush: float

    def read(self, given: _Given) -> tuple[Any, ...]:
        """Return the masks of both kinds of seeds; with a box, its mask comes first."""
        from ..vision import parse_seeds, read_scribbles, read_volume, seeds_from_labels

        if self.box is not None:
            corners = "x0,y0,z0,x1,y1,z1" if len(given.shape) == 3 else "x0,y0,x1,y1"
            if self.box.count(",") != corners.count(",") or len(self.box.split()) != 1:
                raise InvalidInputError(f'--box is "{corners}", got {self.box!r}')
            inside = parse_seeds(given.shape, [self.box])
            object_seeds, other_seeds = (
                parse_seeds(given.shape, texts, brush=self.brush, values=given.pixels)
                for texts in (self.foreground, self.background)
            )
            return inside, object_seeds, other_seeds
        if self.scribbles is None:
            return tuple(
                parse_seeds(given.shape, texts, brush=self.brush, values=given.pixels)
                for texts in (self.foreground, self.background)
            )
        if given.volume is None:
            return read_scribbles(self.scribbles, (given.shape[0], given.shape[1]))
        labels = read_volume(self.scribbles).values
        if labels.shape != given.shape:
            raise InvalidInputError(
                f"{self.scribbles} has shape {labels.shape}, the volume has shape {given.shape} (z, y, x)"
            )
        return seeds_from_labels(labels)


def _segment(pixels: Any, seeds: tuple[Any, ...], **options: Any) -> Segmentation:
    from ..vision import grabcut
    from ..vision import segment as segment_pixels

    if len(seeds) == 3:
        inside, foreground, background = seeds
        return grabcut(pixels, inside, foreground=foreground, background=background, **options)
    return segment_pixels(pixels, *seeds, **options)


def _write(
    given: _Given,
    result: Segmentation,
    seeds: tuple[Any, ...] | None,
    out: str,
    mask: str | None,
    cutout: str | None,
) -> None:
    import numpy as np

    from ..vision import cutout as cut_out
    from ..vision import overlay, volume_overlay, write_image, write_labels

    shown = None if seeds is None else (seeds[0], seeds[1])
    if given.volume is None:
        write_image(out, overlay(given.pixels, result.mask, seeds=shown))
        if mask is not None:
            write_image(mask, np.where(result.mask, 255, 0).astype(np.uint8))
        if cutout is not None:
            write_image(cutout, cut_out(given.pixels, result.mask))
    else:
        write_image(out, volume_overlay(given.pixels, result.mask))
        if mask is not None:
            write_labels(mask, result.mask, given.volume)


def _lines(result: Segmentation, verified: bool, out: str, mask: str | None, cutout: str | None) -> list[str]:
    from .reports import ENDED, aligned

    shape = " x ".join(f"{length:,}" for length in result.mask.shape)
    size = int(result.mask.sum())
    stats: Any = result.cut.stats
    optimal = result.cut.status == "optimal"
    ended = "" if optimal else f", not the least: {ENDED[result.cut.status]}"
    rows = [
        ("image", f"{shape} pixels, {result.num_seeds:,} of them seeds"),
        ("object", f"{size:,} pixels, {size / result.mask.size:.1%}"),
        ("energy", f"{result.energy:,.3f} nats{ended}"),
        ("method", f"{stats.method} ({stats.device}): {stats.reason}"),
        ("time", ", ".join(f"{phase} {time:.3g} s" for phase, time in stats.seconds.items())),
        ("verified", "yes, the energy is the least" if verified and optimal else "yes" if verified else ""),
        ("wrote", ", ".join(filter(None, (out, mask, cutout)))),
    ]
    return aligned(rows)


def _details(result: Segmentation, seconds: dict[str, float]) -> list[str]:
    """Return the lines of --show."""
    from .reports import aligned

    cuts = [f"{len(result.energies)} cuts"] if hasattr(result, "energies") else []
    steps = ", ".join(f"{phase} {time:.3g} s" for phase, time in seconds.items())
    return aligned([("network", ", ".join([repr(result.cut.network), *cuts])), ("steps", steps)])
