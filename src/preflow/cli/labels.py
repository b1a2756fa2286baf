"""The command that divides an image among several labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from ..errors import InvalidInputError
from .files import check_ending, check_outputs, write_array
from .session import TIME_LIMIT_REACHED, Command, Steps

if TYPE_CHECKING:
    from ..arrays import Array


@click.command(
    "segment-labels",
    cls=Command,
    like=["preflow.vision.segment_labels"],
    without=["max_sweeps"],
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
    labels: str | None = None,
    verify: bool = False,
    **solving: Any,
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

    Parameters
    ----------
    image : IMAGE
        PNG, JPEG, TIFF ...; grey or colour.
    out : PNG
        Picture to write: the labels in colours.
    seed : LABEL=SEED
        Pixels of a label; may be repeated.
    markers : FILE
        Label of each seed pixel, 0 elsewhere: a grey PNG, or .npy.
    brush : PIXELS
        Diameter of strokes.
    labels : NPY
        Also write the labels as numbers.
    verify
        Prove the answer, independently of the solver.
    """
    check_ending(out, "a picture", ".png")
    check_ending(labels, "an array", ".npy")
    if bool(seed) == (markers is not None):
        raise InvalidInputError("seeds are needed: either --seed 1=... --seed 2=..., or --markers FILE")
    check_outputs([out, labels], [image, markers])

    import numpy as np

    from ..vision import labels_picture, read_image, write_image
    from ..vision import segment_labels as divide
    from .reports import aligned, proof

    steps = Steps()
    with steps.timed("read", f"reading {image}"):
        pixels = read_image(image)
        marked = _marked(pixels, seed, brush) if markers is None else _markers(markers)
    result = steps.solve("segment", divide, pixels, marked, **solving)
    if verify:
        steps.verify(result)
    with steps.timed("write", f"writing {out}"):
        write_image(out, labels_picture(result.labels, pixels))
        if labels is not None:
            write_array(labels, result.labels)
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


def _marked(pixels: Array, texts: tuple[str, ...], brush: float) -> Array:
    """Return the markers of seeds written on the command line."""
    import numpy as np

    from ..vision import parse_seeds

    shape = pixels.shape[:2]
    marked = np.zeros(shape, np.int64)
    for text in texts:
        name, equals, seed = text.partition("=")
        is_number = name.strip().isascii() and name.strip().isdigit()
        if not (equals and is_number and 0 < int(name) < 2**31):
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
    from ..io.numpy_arrays import load_array

    return load_array(file, "markers")
