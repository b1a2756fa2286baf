"""The commands that cut objects out of images and volumes, divide them among labels, and denoise images."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.exceptions import Exit

from ..errors import InvalidInputError
from .files import check_ending, check_outputs, is_same_file, write_array
from .session import TIME_LIMIT_REACHED, Command, Steps, exit_by_status

if TYPE_CHECKING:
    from ..arrays import Array
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
    with z after each y), or a range of values ">200", "<90" or
    "90:120". Both kinds of seeds are needed, written here or painted
    with --scribbles. Or a --box around the object is all that is known;
    seeds then correct the result where it is wrong.

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
        PNG, JPEG, TIFF ...; grey or colour. Or a volume: NIfTI, TIFF of several pages, or a folder of slices.
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
        Seeds painted on a copy of the image: red the object, blue the rest. For a volume: NIfTI or TIFF, 1
        the object, 2 the rest.
    box : X0,Y0,X1,Y1
        A box that the object lies in, corners included (GrabCut).
    brush : PIXELS
        Diameter of strokes.
    mask : FILE
        Also write the mask of the object: white on black in PNG or TIFF. Of a volume: NIfTI or TIFF, 1 on
        the object.
    cutout : PNG
        Also write the object alone, on a transparent background.
    spacing : X,Y[,Z]
        Sides of a pixel, of a volume in millimetres; default: those in its header. The mask has them, too.
    verify
        Prove the answer, independently of the solver.
    show
        Print the size of the network and the time of each step.
    """
    if volume is not None:
        learned = solving.pop("model"), solving.pop("components")
        others = (scribbles, box, mask, cutout, spacing)
        if image is not None or any(others) or learned != (None, 5):
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
    if box is not None and (solving.pop("model"), solving.pop("prior")) != (None, 0.5):
        raise InvalidInputError("--box always learns mixtures: leave --model and --prior out")
    _check_names(image, scribbles, out, mask, cutout)

    import numpy as np

    from ..vision import cutout as cut_out
    from ..vision import grabcut, overlay, volume_overlay, write_image, write_labels
    from ..vision import segment as segment_pixels

    steps = Steps()
    with steps.timed("read", f"reading {image}"):
        given = Pixels.read(image, spacing)
        painted = _seeds(given, (foreground, background), scribbles, box, brush)
    solving["spacing"] = given.spacing
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
            write_image(out, volume_overlay(given.placed, result.mask))
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
    spacing: tuple[float, ...] | None  #: lengths of a pixel along each axis; None where all are alike

    @property
    def placed(self) -> Array | Volume:
        """The values, with their place in space where they have one."""
        return self.values if self.volume is None else self.volume

    @classmethod
    def read(cls, image: str, spacing: str | None) -> Pixels:
        """Read an image or a volume, given the text of --spacing."""
        from ..vision import read_image, read_volume
        from ..vision.volumes import is_volume

        if is_volume(image):
            volume = read_volume(image)
            if spacing is not None:  # what is written has these sides, too
                volume = volume.with_spacing(_sides(spacing, 3))
            elif not all(0 < side < math.inf for side in volume.spacing):
                raise InvalidInputError(
                    f"the header of the volume has voxels of {volume.spacing[::-1]}: "
                    "--spacing 1,1,1 for cubes"
                )
            return cls(volume.values, volume.values.shape[:3], volume, volume.spacing)
        values = read_image(image)
        return cls(values, values.shape[:2], None, None if spacing is None else _sides(spacing, 2))


def _sides(text: str, ndim: int) -> tuple[float, ...]:
    """Return the lengths of a pixel along each axis; `text` has the last axis first."""
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
    from ..vision.volumes import STACKS, SUFFIXES, is_volume

    check_ending(out, "a picture", ".png")
    of_volume = is_volume(image)
    check_ending(mask, "the mask", *(SUFFIXES if of_volume else (".png",)), *STACKS)
    if cutout is not None and (of_volume or not cutout.lower().endswith(".png")):
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


@click.command(
    "segment-labels",
    cls=Command,
    like=["preflow.vision.segment_labels"],
    without=["max_sweeps", "spacing"],
    demos={
        "cat": "cat.jpg --seed 1=180,110,280,170 --seed 2=5,5,440,9 --seed 3=5,200,60,290 --out demo-cat.png",
    },
)
def segment_labels(
    image: str,
    *,
    out: str,
    seed: tuple[str, ...] = (),
    markers: str | None = None,
    brush: float = 3.0,
    spacing: str | None = None,
    labels: str | None = None,
    verify: bool = False,
    **solving: Any,
) -> None:
    """Divide an image or a volume among several labels.

    A few pixels of each label are given as seeds, 1=SEED, 2=SEED and
    so on. A seed is a box "x0,y0,x1,y1", a brush stroke through points
    "x,y x,y x,y", or a range of values ">200", "<90" or "90:120"; in a
    volume with z after each y. Or --markers has the label of each seed
    pixel.

    Each expansion of a label is a minimum cut (Boykov, Veksler and Zabih
    2001). The result of two labels is the best one.

    For example:

      preflow segment-labels cat.jpg --out parts.png
        --seed 1=180,110,280,170 --seed "2=5,5 440,5" --seed 3=5,200,60,290
      preflow segment-labels brain.nii.gz --out slices.png
        --labels tissues.nii.gz --seed "1=<20" --seed "2=50:80"
        --seed "3=130:150" --seed "4=>210"

    Parameters
    ----------
    image : IMAGE
        PNG, JPEG, TIFF ...; grey or colour. Or a volume: NIfTI, TIFF of several pages, or a folder of slices.
    out : PNG
        Picture to write: the labels in colours.
    seed : LABEL=SEED
        Pixels of a label; may be repeated.
    markers : FILE
        Label of each seed pixel, 0 elsewhere: a grey PNG or one with a palette, NIfTI, TIFF, or .npy.
    brush : PIXELS
        Diameter of strokes.
    spacing : X,Y[,Z]
        Sides of a pixel, of a volume in millimetres; default: those in its header. The labels have them, too.
    labels : FILE
        Also write the labels as numbers: .npy, TIFF, PNG; of a volume .npy, TIFF, NIfTI.
    verify
        Prove the answer, independently of the solver.
    """
    check_ending(out, "a picture", ".png")
    from ..vision.volumes import STACKS, SUFFIXES, compact, is_volume

    check_ending(labels, "labels", ".npy", *(SUFFIXES if is_volume(image) else (".png",)), *STACKS)
    if bool(seed) == (markers is not None):
        raise InvalidInputError("seeds are needed: either --seed 1=... --seed 2=..., or --markers FILE")
    check_outputs([out, labels], [image, markers])

    import numpy as np

    from ..vision import labels_picture, write_image, write_labels
    from ..vision import segment_labels as divide
    from .reports import aligned, proof

    steps = Steps()
    with steps.timed("read", f"reading {image}"):
        given = Pixels.read(image, spacing)
        marked = _marked(given, seed, brush) if markers is None else _markers(markers)
    if labels is not None and labels.lower().endswith((".png", *STACKS)):
        _check_numbers(labels, marked)
    solving["spacing"] = given.spacing
    result = steps.solve("segment", divide, given.values, marked, **solving)
    if verify:
        steps.verify(result)
    with steps.timed("write", f"writing {out}"):
        write_image(out, labels_picture(result.labels, given.placed))
        if labels is not None and labels.lower().endswith(".npy"):
            write_array(labels, result.labels)
        elif labels is not None and given.volume is not None:
            write_labels(labels, result.labels, given.volume)
        elif labels is not None:
            write_image(labels, compact(result.labels))
    sizes = [f"{name}: {np.count_nonzero(result.mask(name)):,}" for name in result.names.tolist()]
    complete = result.labelling.converged
    rows = [
        ("image", f"{' x '.join(map(str, result.labels.shape))} pixels, {result.num_seeds:,} of them seeds"),
        ("pixels", ", ".join(sizes)),
        ("energy", f"{result.energy:,.3f} nats" + ("" if complete else ", a limit ended the search")),
        ("time", f"{result.labelling.moves} cuts, {steps.seconds['segment']:.3g} s"),
        ("verified", proof(verify, complete, "no expansion lowers the energy")),
        ("wrote", ", ".join(filter(None, (out, labels)))),
    ]
    click.echo("\n".join(aligned(rows)))
    if result.labelling.stopped:
        raise Exit(TIME_LIMIT_REACHED)


def _marked(given: Pixels, texts: tuple[str, ...], brush: float) -> Array:
    """Return the markers of seeds written on the command line."""
    import numpy as np

    from ..vision import parse_seeds

    marked = np.zeros(given.shape, np.int64)
    for text in texts:
        name, equals, seed = text.partition("=")
        is_number = name.strip().isascii() and name.strip().isdigit()
        if not (equals and is_number and 0 < int(name) < 2**31):
            raise InvalidInputError(f"a seed of a label is 1=SEED, 2=SEED and so on, got {text!r}")
        where = parse_seeds(given.shape, [seed], brush=brush, values=given.values)
        other = marked[where & (marked > 0) & (marked != int(name))]
        if len(other):
            raise InvalidInputError(f"seed {text!r} overlaps with seeds of label {other[0]}")
        marked[where] = int(name)
    return marked


def _check_numbers(file: str, marked: Array) -> None:
    """Check before the solve that a picture can hold the labels."""
    if marked.size and not (marked.min() >= 0 and marked.max() < 2**16):
        ends = f"{marked.min():g} to {marked.max():g}"
        raise InvalidInputError(
            f"{file} holds labels from 0 to 65,535, and the markers are {ends}: write .npy"
        )


def _markers(file: str) -> Array:
    """Return the markers in an image, a volume or an array."""
    from ..vision.volumes import is_volume

    if is_volume(file):
        from ..vision import read_volume

        return read_volume(file).values
    if not file.lower().endswith(".npy"):
        from ..vision.pictures import read_numbers

        return read_numbers(file)
    from ..io.numpy_arrays import load_array

    return load_array(file, "markers")


@click.command(
    cls=Command,
    like=["preflow.vision.denoise"],
    without=["channel_axis"],
    demos={
        "night": "night.png --weight 20 --out demo-calm.png",
        "scan": "scan.png --weight 0.3 --data absolute --out demo-clean.png",
    },
)
def denoise(
    image: str, *, out: str, weight: float, verify: bool = False, show: bool = False, **solving: Any
) -> None:
    """Remove the noise from an image by total variation.

    The result balances total variation and distance from the image, exactly.
    Each bit of the grey values is a minimum cut of the image's grid
    (Darbon and Sigelle 2006); colours are three images.

    For example:

      preflow denoise night.png --out calm.png --weight 20
      preflow denoise scan.png --out clean.png --weight 0.3 --data absolute

    Parameters
    ----------
    image : IMAGE
        PNG, JPEG, TIFF ...; grey or colour.
    out : PNG
        Picture to write: the denoised image.
    weight
        A larger weight gives flatter images: about the noise's deviation, with absolute about 0.3.
    verify
        Prove the answer, independently of the solver.
    show
        Print the sizes of the networks and the time of each cut.
    """
    check_ending(out, "a picture", ".png")
    check_outputs([out], [image])

    from ..vision import denoise as denoise_pixels
    from ..vision import read_image, write_image
    from .reports import aligned, ended, method_and_reason, proof, shape_text, times

    steps = Steps()
    with steps.timed("read", f"reading {image}"):
        pixels = read_image(image)
        if pixels.dtype.itemsize > 1:
            raise InvalidInputError(f"{image}: expected 8 bits per channel, found {pixels.dtype}")
    channels = -1 if pixels.ndim == 3 else None
    result = steps.solve("denoise", denoise_pixels, pixels, weight, channel_axis=channels, **solving)
    if verify:
        steps.verify(result)
    with steps.timed("write", f"writing {out}"):
        write_image(out, 255 * result.image if pixels.dtype == bool else result.image)
    rows = [
        ("image", f"{shape_text(result.image.shape)} pixels"),
        ("energy", f"{result.energy:,.6g}{ended(result.status)}"),
    ]
    if result.cuts:
        solve = sum(cut.seconds["solve"] for cut in result.stats)
        rows.append(("method", method_and_reason(result.stats[0])))
        rows.append(("time", f"{len(result.cuts)} cuts, {solve:.3g} s"))
    rows.append(("verified", proof(verify, result.status == "optimal")))
    if show:
        rows += [
            ("network", repr(result.cuts[0].network) if result.cuts else ""),
            ("cuts", ", ".join(f"{cut.seconds['solve']:.3g} s" for cut in result.stats)),
            ("steps", times(steps.seconds)),
        ]
    click.echo("\n".join(aligned([*rows, ("wrote", out)])))
    exit_by_status(result.status)
