"""The command that lets a user paint seeds in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .images import Pixels
from .session import Command, interrupts, working


@click.command(
    cls=Command,
    like=["preflow.vision.paint", "preflow.vision.Painting"],
    without=["image", "spacing"],
    demos={"astronaut": "photo.jpg", "cat": "cat.jpg", "brain": "brain.nii.gz"},
)
def paint(image: str, *, spacing: str | None = None, port: int, browser: bool, **look: Any) -> None:
    """Paint seeds on an image or a volume in the browser, and see the cut.

    The page shows the cut of the seeds after each stroke, at first for
    the colours as they were last learned, then exactly, with its proof.
    It saves the mask and the object alone. Two tabs show the same.

    Only this machine can reach the page, and only by the address that
    is printed. Ctrl-C stops the server; what was not saved is lost.

    For example:

      preflow paint cat.jpg
      preflow paint brain.nii.gz --port 8800 --no-browser

    Parameters
    ----------
    image : IMAGE
        PNG, JPEG, TIFF ...; grey or colour. Or a volume: NIfTI, TIFF of several pages, or a folder of slices.
    spacing : X,Y[,Z]
        Sides of a pixel, of a volume in millimetres; default: those in its header. The mask has them, too.
    """
    from ..vision import Painting
    from ..vision.painter.server import check_installed, serve
    from ..vision.painter.session import Session

    check_installed()
    with working(f"reading {image}"):
        given = Pixels.read(image, spacing)
        painting = Painting(given.placed, spacing=given.spacing, **look)
    interrupts.grace = 5.0  # seconds for the last replies to the pages
    serve(Session(painting, name=Path(image).name), port=port, browser=browser, announce=click.echo)
