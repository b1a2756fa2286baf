"""The command that compiles kernels ahead of the first solve."""

from __future__ import annotations

import click

from .session import Command


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
