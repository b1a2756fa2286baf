"""The command that denoises an image."""

from __future__ import annotations

from typing import Any

import click

from ..errors import InvalidInputError
from .files import check_ending, check_outputs
from .session import Command, Steps, exit_by_status


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
