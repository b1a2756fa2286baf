"""The command ``samples``: small files for every example of the README and of the help pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches

import click

from ..errors import InvalidInputError
from .sample_files import ALL, write_sample
from .session import Command


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]...", help="Files to write; default: all.")
@click.option("--folder", default=".", show_default=True, metavar="DIR", help="Folder to write into.")
@click.option("--list", "only_list", is_flag=True, help="Print the names, write nothing.")
def samples(names: Sequence[str], *, folder: str, only_list: bool) -> None:
    """Write the files that the examples of other commands read.

    The photographs are those of scikit-image (the extra vision): an
    astronaut, a cat, a cameraman; both views and both frames are made from
    them. The brain is drawn, not scanned. Files that exist are left as they
    are.

    For example:

      preflow samples
      preflow samples photo.jpg roads.csv --folder try
    """
    if only_list:
        click.echo("\n".join(ALL))
        return
    for name in names:
        if name not in ALL:
            near = get_close_matches(name, ALL, 3)
            hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(ALL)}"
            raise InvalidInputError(f"there is no sample {name!r}: {hint}")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{folder}: {error.strerror}") from None
    written, kept = [], []
    for name in names or ALL:
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            kept.append(name)
            continue
        write_sample(name, path)
        written.append(name)
    if kept:
        click.echo(f"kept   {', '.join(kept)}")
    if written:
        click.echo(f"wrote  {', '.join(written)}")
