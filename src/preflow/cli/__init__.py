"""The command ``preflow``. Each command loads what it needs itself, so that ``preflow --help`` is quick."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import click

from .. import __version__
from ..errors import InvalidInputError
from .correspondence import optical_flow, stereo
from .costs import assign, transport
from .fetching import fetch
from .images import denoise, segment, segment_labels
from .instances import generate
from .matching import match
from .painting import paint
from .problem_files import info, methods, solve, verify
from .samples import samples
from .session import Command, ProgramGroup


@click.command(cls=Command)
def warm_up(problems: tuple[str, ...]) -> None:
    """Compile kernels now, so that later calls need not wait.

    A wheel of a release has all kernels: then there is nothing to do. Numba
    compiles those that an installation has not into the user's cache.

    Parameters
    ----------
    problems : PROBLEM
        A name from `preflow methods`, such as max_flow; default: all.
    """
    from ..registry import warm_up as compile_kernels

    count = compile_kernels(*problems)
    click.echo(f"{count} kernels were compiled or are in the cache" if count else "all kernels are compiled")


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


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Print the version, and whether the kernels are compiled."""
    if not wanted:
        return
    from ..kernels.kernel import native

    try:
        number = version("preflow")
    except PackageNotFoundError:  # a source tree on the path
        number = __version__
    click.echo(f"preflow {number}")
    if native is None:
        click.echo("The kernels are not compiled: Numba compiles each at its first use.")
    context.exit()


@click.group(cls=ProgramGroup)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def app() -> None:
    """Flows, cuts, matching, assignment and transport, fast and proved.

    A first walk:

      preflow generate rmf-wide 64x16 -o wide.max.gz
      preflow info wide.max.gz
      preflow solve wide.max.gz --verify --output wide.sol
      preflow verify wide.max.gz wide.sol
      preflow generate delaunay 1000 -o mesh.mtx
      preflow match mesh.mtx --verify

    `preflow samples` writes small files and photographs for the examples
    of all commands, and --demo runs a command on them:

      preflow segment --demo astronaut
      preflow solve --demo roads

    Where the kernels did not come with the package, the first run
    compiles them and says so; `preflow warm-up` does so beforehand.

    Exit codes:

        0  done
        1  verification failed, or answers disagree
        2  wrong usage, bad input, or a file that cannot be written
        3  time limit reached: the report gives bounds
        4  an extra of the package, or a device, is missing
        5  the answer is not proved optimal: the report gives bounds
      130  interrupted (Ctrl-C)
      141  whatever read the output went away
    """


for command in (
    solve,
    info,
    verify,
    generate,
    match,
    assign,
    transport,
    segment,
    segment_labels,
    paint,
    denoise,
    stereo,
    optical_flow,
    methods,
    samples,
    fetch,
    warm_up,
    bench,
):
    app.add_command(command)


def main() -> None:
    """Run the command line."""
    app.start("preflow")
