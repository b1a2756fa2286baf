"""The command that cuts an object out of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidInputError
from .arguments import Device, Method, Threads, TimeLimit, Verify
from .files import check_writable
from .session import TIME_LIMIT_REACHED, solver_progress, working

if TYPE_CHECKING:
    from ..vision import Segmentation

Seeds = list[str] | None


def segment(
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="PNG, JPEG, TIFF ...; grey or colour.")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="PNG", help="Picture of the object, its outline drawn.")
    ],
    foreground: Annotated[
        Seeds, typer.Option(metavar="SEED", help="Pixels of the object; may be repeated.")
    ] = None,
    background: Annotated[
        Seeds, typer.Option(metavar="SEED", help="Pixels that are not of the object; may be repeated.")
    ] = None,
    scribbles: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE", help="Seeds painted on a copy of the image: red the object, blue the rest."
        ),
    ] = None,
    brush: Annotated[float, typer.Option(metavar="PIXELS", help="Diameter of strokes.")] = 3.0,
    mask: Annotated[
        str | None, typer.Option(metavar="PNG", help="Write the object in white on black, too.")
    ] = None,
    smoothness: Annotated[
        float, typer.Option(help="Weight of the outline against the colours; more gives fewer islands.")
    ] = 50.0,
    connectivity: Annotated[int, typer.Option(metavar="4|8", help="Neighbours of a pixel.")] = 8,
    method: Method = "auto",
    device: Device = "auto",
    threads: Threads = None,
    time_limit: TimeLimit = None,
    verify: Verify = False,
) -> None:
    """Cut an object out of an image, from a few pixels of it and of the rest.

    A seed is a box "x0,y0,x1,y1" or a brush stroke through points
    "x,y x,y ...", in pixels from the upper left corner. Both kinds of
    seeds are needed, written here or painted with --scribbles.

    The outline is a minimum cut of the image's grid: seeds are certain,
    colours are compared with those of the seeds, and neighbours of like
    colour stay together (Boykov and Jolly 2001).

    For example:

      preflow segment cat.jpg --out cut.png --foreground 200,150,320,260
        --background "5,5 600,5" --background "5,400 600,400"
      preflow segment cat.jpg --out cut.png --scribbles painted.png
    """
    for picture in filter(None, (out, mask)):
        if not picture.lower().endswith(".png"):
            raise InvalidInputError(f"{picture}: the name of a picture to write ends in .png")
        check_writable(picture)
    written = bool(foreground or background)
    if written == (scribbles is not None):
        raise InvalidInputError("seeds are needed: --foreground and --background, or else --scribbles")

    import numpy as np

    from ..vision import overlay, parse_seeds, read_image, read_scribbles, write_image
    from ..vision import segment as segment_pixels

    with working(f"reading {image}"):
        pixels = read_image(image)
        shape = pixels.shape[0], pixels.shape[1]
        if scribbles is not None:
            seeds = read_scribbles(scribbles, shape)
        else:
            seeds = parse_seeds(shape, foreground or (), brush), parse_seeds(shape, background or (), brush)
    with solver_progress() as progress:
        result = segment_pixels(
            pixels,
            *seeds,
            smoothness=smoothness,
            connectivity=connectivity,
            method=method,
            device=device,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    if verify:
        with working("verifying"):
            result.cut.verify()
    with working(f"writing {out}"):
        write_image(out, overlay(pixels, result.mask, seeds))
        if mask is not None:
            write_image(mask, np.where(result.mask, 255, 0).astype(np.uint8))
    typer.echo("\n".join(_lines(result, verify, out, mask)))
    if result.cut.status != "optimal":
        raise typer.Exit(TIME_LIMIT_REACHED)


def _lines(result: Segmentation, verified: bool, out: str, mask: str | None) -> list[str]:
    from .reports import aligned

    height, width = result.mask.shape
    size = int(result.mask.sum())
    stats: Any = result.cut.stats
    optimal = result.cut.status == "optimal"
    rows = [
        ("image", f"{width:,} x {height:,} pixels, {result.num_seeds:,} of them seeds"),
        ("object", f"{size:,} pixels, {size / result.mask.size:.1%}"),
        ("energy", f"{result.energy:,.3f} nats" + ("" if optimal else ", not the least: time limit reached")),
        ("method", f"{stats.method} ({stats.device}): {stats.reason}"),
        ("time", ", ".join(f"{phase} {time:.3g} s" for phase, time in stats.seconds.items())),
        ("verified", "yes, the energy is the least" if verified and optimal else "yes" if verified else ""),
        ("wrote", ", ".join(filter(None, (out, mask)))),
    ]
    return aligned(rows)
