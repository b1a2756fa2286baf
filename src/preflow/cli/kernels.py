"""The command that compiles kernels ahead of the first solve."""

from __future__ import annotations

from typing import Annotated

import typer


def warm_up(
    problems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROBLEM]...",
            help="max_flow, min_cut, grid_cut, bipartite_matching, linear_assignment; default: all.",
        ),
    ] = None,
) -> None:
    """Compile kernels now, in parallel, so that no later command waits for it.

    A wheel for a platform has its kernels compiled: then there is nothing to
    do. Otherwise Numba (the extra jit) compiles them into the user's cache.
    """
    from ..kernels.warm_up import warm_up as compile_kernels

    count = compile_kernels(*(problems or ()))
    typer.echo(f"{count} kernels were compiled or are in the cache" if count else "all kernels are compiled")
