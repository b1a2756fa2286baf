"""The command ``samples``: small files for every example of the README and of the help pages."""

from __future__ import annotations

import os

import click

from .files import make_folder
from .sample_files import ALL, write_sample
from .session import Command


@click.command(cls=Command)
def samples(names: tuple[str, ...], *, folder: str = ".", list_: bool = False) -> None:
    """Write the files that the examples of other commands read.

    The photographs are those of scikit-image (the extra vision): an
    astronaut, a cat, a cameraman; both views and both frames are made from
    them. The brain is drawn, not scanned. Files that exist are left as they
    are.

    For example:

      preflow samples
      preflow samples photo.jpg roads.csv --folder try

    Parameters
    ----------
    names : NAME
        Files to write; default: all.
    folder : DIR
        Folder to write into.
    list_
        Print the names, write nothing.
    """
    from ..checks import unknown_name

    if list_:
        click.echo("\n".join(ALL))
        return
    for name in names:
        if name not in ALL:
            raise unknown_name("sample", name, ALL)
    make_folder(folder)
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
