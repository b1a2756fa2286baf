"""The command that lets a user paint seeds in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .arguments import (
    connectivity_option,
    device_option,
    model_option,
    prior_option,
    sigma_option,
    spacing_option,
    threads_option,
)
from .images import spacing_of
from .session import Command, interrupts, working

if TYPE_CHECKING:
    from ..method_names import DeviceName
    from ..vision import Volume
    from ..vision.segmentation import Model


@click.command(
    cls=Command,
    demos={
        "astronaut": "photo.jpg",
        "cat": "cat.jpg",
        "brain": "brain.nii.gz",
    },
)
@click.argument("image", metavar="IMAGE", help="PNG, JPEG, TIFF ...; grey or colour. Or a NIfTI volume.")
@click.option("--port", default=0, show_default=True, help="Port on this machine; 0 takes a free one.")
@click.option("--browser/--no-browser", default=True, help="Open the page, or only print its address.")
@click.option(
    "--smoothness",
    default=50.0,
    show_default=True,
    help="Weight of the outline at the start; the page has a slider.",
)
@sigma_option
@connectivity_option
@spacing_option
@model_option
@prior_option
@device_option
@threads_option
def paint(
    image: str,
    *,
    port: int,
    browser: bool,
    smoothness: float,
    sigma: float | None,
    connectivity: int | None,
    spacing: str | None,
    model: Model,
    prior: float,
    device: DeviceName,
    threads: int | None,
) -> None:
    """Paint seeds on an image or a volume in the browser, and see the cut.

    The page shows the cut of the seeds after each stroke, at first for
    the colours as they were last learned, then exactly, with its proof.
    It saves the mask and the object alone. Two tabs show the same.

    Only this machine can reach the page, and only by the address that
    is printed. Ctrl-C stops the server; what was not saved is lost.

    For example:

      preflow paint cat.jpg
      preflow paint brain.nii.gz --port 8800 --no-browser
    """
    from ..vision import Painting, read_image, read_volume
    from ..vision.painter.server import check_installed, serve
    from ..vision.painter.session import Session
    from ..vision.volumes import is_volume

    check_installed()
    volume: Volume | None = None
    with working(f"reading {image}"):
        if is_volume(image):
            volume = read_volume(image)
            pixels = volume.values
        else:
            pixels = read_image(image)
        painting = Painting(
            pixels,
            smoothness=smoothness,
            sigma=sigma,
            connectivity=connectivity,
            spacing=spacing_of(spacing, volume, 2 if volume is None else 3),
            model=model,
            prior=prior,
            device=device,
            threads=threads,
        )
    interrupts.grace = 5.0  # seconds for the last replies to the pages
    serve(
        Session(painting, name=Path(image).name, volume=volume),
        port=port,
        browser=browser,
        announce=click.echo,
    )
