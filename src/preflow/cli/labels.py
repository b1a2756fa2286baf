"""The command that divides an image among several labels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from ..errors import InvalidInputError
from .arguments import device_option, method_option, threads_option, time_limit_option, verify_option
from .files import check_outputs
from .session import TIME_LIMIT_REACHED, Command, solver_progress, timed

if TYPE_CHECKING:
    from ..arrays import Array
    from ..method_names import DeviceName
    from ..vision.label_segmentation import LabelModel


@click.command(
    "segment-labels",
    cls=Command,
    demos={
        "cat": "cat.jpg --seed 1=180,110,280,170 --seed 2=5,5,440,9 --seed 3=5,200,60,290 --out demo-cat.png",
    },
)
@click.argument("image", metavar="IMAGE", help="PNG, JPEG, TIFF ...; grey or colour.")
@click.option("--out", "-o", required=True, metavar="PNG", help="Picture to write: the labels in colours.")
@click.option("--seed", multiple=True, metavar="LABEL=SEED", help="Pixels of a label; may be repeated.")
@click.option("--markers", metavar="FILE", help="Label of each seed pixel, 0 elsewhere: a grey PNG, or .npy.")
@click.option("--brush", default=3.0, show_default=True, metavar="PIXELS", help="Diameter of strokes.")
@click.option("--labels", metavar="NPY", help="Also write the labels as numbers.")
@click.option(
    "--smoothness", default=50.0, show_default=True, help="Weight of boundaries relative to the colours."
)
@click.option(
    "--model",
    type=click.Choice(["histogram", "mixture", "none"]),
    default="histogram",
    show_default=True,
    help="Model of the colours of each label.",
)
@method_option
@device_option
@threads_option
@time_limit_option
@verify_option
def segment_labels(
    image: str,
    *,
    out: str,
    seed: tuple[str, ...],
    markers: str | None,
    brush: float,
    labels: str | None,
    smoothness: float,
    model: LabelModel,
    method: str,
    device: DeviceName,
    threads: int | None,
    time_limit: float | None,
    verify: bool,
) -> None:
    """Divide an image among several labels.

    A few pixels of each label are given as seeds, 1=SEED, 2=SEED and
    so on. A seed is a box "x0,y0,x1,y1", a brush stroke through points
    "x,y x,y x,y", or a range of values ">200", as for segment. Or
    --markers has the label of each seed pixel.

    Each expansion of a label is a minimum cut (Boykov, Veksler and Zabih
    2001). The result of two labels is the best one.

    For example:

      preflow segment-labels cat.jpg --out parts.png
        --seed 1=180,110,280,170 --seed "2=5,5 440,5" --seed 3=5,200,60,290
    """
    if not out.lower().endswith(".png"):
        raise InvalidInputError(f"{out}: the name of a picture to write ends in .png")
    if labels is not None and not labels.lower().endswith(".npy"):
        raise InvalidInputError(f"{labels}: the name of an array to write ends in .npy")
    if bool(seed) == (markers is not None):
        raise InvalidInputError("seeds are needed: either --seed 1=... --seed 2=..., or --markers FILE")
    check_outputs([out, labels], [image, markers])

    import numpy as np

    from ..io.files import replacing
    from ..vision import labels_picture, read_image, write_image
    from ..vision import segment_labels as divide
    from .reports import aligned

    seconds: dict[str, float] = {}
    with timed(seconds, "read", f"reading {image}"):
        pixels = read_image(image)
        marked = _seeds(pixels, seed, brush) if markers is None else _markers(markers)
    start = time.perf_counter()
    with solver_progress() as progress:
        result = divide(
            pixels,
            marked,
            smoothness=smoothness,
            model=model,
            method=method,
            device=device,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    taken = time.perf_counter() - start
    if verify:
        with timed(seconds, "verify", "verifying"):
            result.verify()
    with timed(seconds, "write", f"writing {out}"):
        write_image(out, labels_picture(result.labels, pixels))
        if labels is not None:
            with replacing(labels) as file:
                np.save(file, result.labels)
    sizes = [f"{name}: {np.count_nonzero(result.mask(name)):,}" for name in result.names.tolist()]
    complete = result.labelling.converged
    rows = [
        ("image", f"{' x '.join(map(str, result.labels.shape))} pixels, {result.num_seeds:,} of them seeds"),
        ("pixels", ", ".join(sizes)),
        ("energy", f"{result.energy:,.3f} nats" + ("" if complete else ", a limit ended the search")),
        ("time", f"{result.labelling.moves} cuts, {taken:.3g} s"),
        (
            "verified",
            "yes, no expansion lowers the energy" if verify and complete else "yes" if verify else "",
        ),
        ("wrote", ", ".join(filter(None, (out, labels)))),
    ]
    click.echo("\n".join(aligned(rows)))
    if result.labelling.stopped:
        raise Exit(TIME_LIMIT_REACHED)


def _seeds(pixels: Array, texts: tuple[str, ...], brush: float) -> Array:
    """Return the markers of seeds written on the command line."""
    import numpy as np

    from ..vision import parse_seeds

    shape = pixels.shape[:2]
    marked = np.zeros(shape, np.int64)
    for text in texts:
        name, equals, seed = text.partition("=")
        if (
            not equals
            or not name.strip().isascii()
            or not name.strip().isdigit()
            or not 0 < int(name) < 2**31
        ):
            raise InvalidInputError(f"a seed of a label is 1=SEED, 2=SEED and so on, got {text!r}")
        where = parse_seeds(shape, [seed], brush=brush, values=pixels)
        other = marked[where & (marked > 0) & (marked != int(name))]
        if len(other):
            raise InvalidInputError(f"seed {text!r} overlaps with seeds of label {other[0]}")
        marked[where] = int(name)
    return marked


def _markers(file: str) -> Array:
    """Return the markers in a grey image or an array."""
    if not file.lower().endswith(".npy"):
        from ..vision import read_image

        return read_image(file)
    import numpy as np

    from ..errors import ParseError

    try:
        return np.asarray(np.load(file, allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise ParseError(file, None, "cannot be read as an array of numbers") from error
