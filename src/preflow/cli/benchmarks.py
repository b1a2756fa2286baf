"""The command that compared preflow with other packages, for one release: it names its successor."""

from __future__ import annotations

import click

from ..errors import InvalidInputError
from .session import Command


@click.command(
    cls=Command, hidden=True, add_help_option=False, context_settings={"ignore_unknown_options": True}
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def bench(words: tuple[str, ...]) -> None:
    """Name the command that measures preflow now."""
    raise InvalidInputError(
        "preflow bench has left the package: in a clone of the repository, "
        "python -m benchmarks measures preflow beside other packages"
    )
