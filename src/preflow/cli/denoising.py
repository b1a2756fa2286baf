"""The command that denoises an image."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import click

from ..errors import InvalidInputError
from .arguments import device_option, method_option, threads_option, time_limit_option, verify_option
from .files import check_outputs
from .session import Command, exit_by_status, solver_progress, timed

if TYPE_CHECKING:
    from ..method_names import DeviceName
    from ..vision import Denoised


@click.command(
    cls=Command,
    demos={
        "night": "night.png --weight 20 --out demo-calm.png",
        "scan": "scan.png --weight 0.3 --data absolute --out demo-clean.png",
    },
)
@click.argument("image", metavar="IMAGE", help="PNG, JPEG, TIFF ...; grey or colour.")
@click.option("--out", "-o", required=True, metavar="PNG", help="Picture to write: the denoised image.")
@click.option(
    "--weight",
    type=float,
    required=True,
    help="A larger weight gives flatter images: about the noise's deviation, with absolute about 0.3.",
)
@click.option(
    "--data",
    default="squared",
    show_default=True,
    metavar="squared|absolute",
    help="Distance from the image: absolute for outliers.",
)
@click.option("--connectivity", default=8, show_default=True, metavar="4|8", help="Neighbours of a pixel.")
@method_option
@device_option
@threads_option
@time_limit_option
@verify_option
@click.option("--show", is_flag=True, help="Print the sizes of the networks and the time of each cut.")
def denoise(
    image: str,
    *,
    out: str,
    weight: float,
    data: str,
    connectivity: int,
    method: str,
    device: DeviceName,
    threads: int | None,
    time_limit: float | None,
    verify: bool,
    show: bool,
) -> None:
    """Remove the noise from an image by total variation.

    The result balances total variation and distance from the image, exactly.
    Each bit of the grey values is a minimum cut of the image's grid
    (Darbon and Sigelle 2006); colours are three images.

    For example:

      preflow denoise night.png --out calm.png --weight 20
      preflow denoise scan.png --out clean.png --weight 0.3 --data absolute
    """
    if not out.lower().endswith(".png"):
        raise InvalidInputError(f"{out}: the name of a picture to write ends in .png")
    check_outputs([out], [image])

    from ..vision import denoise as denoise_pixels
    from ..vision import read_image, write_image
    from ..vision.denoising import Data

    seconds: dict[str, float] = {}
    with timed(seconds, "read", f"reading {image}"):
        pixels = read_image(image)
        if pixels.dtype.itemsize > 1:
            raise InvalidInputError(f"{image}: expected 8 bits per channel, found {pixels.dtype}")
    start = time.perf_counter()
    with solver_progress() as progress:
        result = denoise_pixels(
            pixels,
            weight,
            data=cast(Data, data),
            connectivity=connectivity,
            channel_axis=-1 if pixels.ndim == 3 else None,
            method=method,
            device=device,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    seconds["denoise"] = time.perf_counter() - start
    if verify:
        with timed(seconds, "verify", "verifying"):
            result.verify()
    with timed(seconds, "write", f"writing {out}"):
        write_image(out, 255 * result.image if pixels.dtype == bool else result.image)
    click.echo("\n".join(_lines(result, verify, show, out, seconds)))
    exit_by_status(result.status)


def _lines(result: Denoised, verified: bool, show: bool, out: str, seconds: dict[str, float]) -> list[str]:
    from .reports import ENDED, aligned

    optimal = result.status == "optimal"
    rows: list[tuple[str, Any]] = [
        ("image", f"{' x '.join(f'{length:,}' for length in result.image.shape)} pixels"),
        ("energy", f"{result.energy:,.6g}" + ("" if optimal else f", not the least: {ENDED[result.status]}")),
        ("verified", "yes, the energy is the least" if verified and optimal else "yes" if verified else ""),
    ]
    if result.cuts:
        stats = result.stats[0]
        solve = sum(cut.seconds["solve"] for cut in result.stats)
        rows.insert(2, ("method", f"{stats.method} ({stats.device}): {stats.reason}"))
        rows.insert(3, ("time", f"{len(result.cuts)} cuts, {solve:.3g} s"))
    if show:
        rows += [
            ("network", repr(result.cuts[0].network) if result.cuts else ""),
            ("cuts", ", ".join(f"{cut.seconds['solve']:.3g} s" for cut in result.stats)),
            ("steps", ", ".join(f"{phase} {time:.3g} s" for phase, time in seconds.items())),
        ]
    return aligned([*rows, ("wrote", out)])
