"""The command that measures preflow beside other packages."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InvalidInputError
from .files import check_writable, make_folder
from .session import VERIFICATION_FAILED, interrupts, say


def bench(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE",
            help="papers (the default), vision, real, cihan, cihan-small, wu-he-hong, tiny, "
            "grids, grids-large, grids-small, matching, matching-tiny, deveci28, deveci28-small, assignment, "
            "assignment-small, traps.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Gets bench.json, bench.md and the profiles as pictures."),
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="max_flow, min_cut, grid_cut, bipartite_matching or linear_assignment; may be repeated. "
            "All if not given.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A method of preflow that takes part, METHOD@THREADS on so many, METHOD[NAME=VALUE,...] "
            "with options, such as shrink=False,global_relabel=fixed:10; may be repeated.",
        ),
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A package to compare with; may be repeated. All installed if not given."
        ),
    ] = None,
    no_peers: Annotated[bool, typer.Option("--no-peers", help="Measure preflow alone.")] = False,
    baseline: Annotated[
        str, typer.Option(metavar="NAME", help="The contestant that the ratios are to.")
    ] = "ortools",
    instance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Only instances with such names, as in 'rmf*'; may be repeated."
        ),
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A DIMACS file, folder or pattern for real and cihan, of Matrix Market for matching "
            "and deveci28; a file of costs for assignment.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Timed runs of everybody on each instance.")] = 5,
    threads: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="CPU threads for preflow, as in 4 or 1,2,4; the peers use one."),
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="For one run, and for all timed runs of one on an instance."),
    ] = 20.0,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Do not measure memory: one run of everybody less.")
    ] = False,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Draw no profiles.")] = False,
) -> None:
    """Measure preflow beside the peers that are installed.

    Everybody solves the same instances, and all values are compared:
    exit code 1 if they differ. Without --out the report is printed as
    Markdown. With --out, Ctrl-C ends the run once the contestant that
    runs returns, and what was measured is kept; a second one ends it now.

    The suite cihan has the instances of Cihan's thesis, at its sizes, and
    its methods on 1 to 16 threads: hours. cihan-small takes minutes.
    wu-he-hong needs a GPU: the families of Wu, He and Hong, and what they compare.
    So does deveci28, but for the methods on the CPU: graphs like the 28
    matrices of Deveci et al., or the matrices themselves where --file has
    them, whose maximum matchings must be the published ones; pictures
    like theirs. deveci28-small takes a 64th of the rows.

    For example:

      preflow bench tiny
      preflow bench papers --out bench-output
      preflow bench papers --instance 'rmf*' --peer ortools --repeats 3
      preflow bench real --file 'instances/*.max.gz' --out bench-output
      preflow bench grids --baseline pymaxflow
      preflow bench matching --baseline scipy --no-memory --out bench-output
      preflow bench assignment --repeats 7 --out bench-output
      preflow bench cihan --instance '* seed 0' --threads 1,8 --out bench-output
      preflow bench deveci28 --file matrices --no-peers --out bench-output
    """
    from ..bench import BenchmarkFailedError, run_bench

    if out is not None:
        check_writable(str(make_folder(out) / "bench.json"))
        interrupts.grace = None
    try:
        report = run_bench(
            suites or ("papers",),
            out=out,
            problems=problem,
            repeats=repeats,
            methods=method,
            peers=() if no_peers else peer,
            instances=instance or (),
            files=file or (),
            baseline=baseline,
            threads=None if threads is None else _thread_counts(threads),
            time_limit=time_limit,
            memory=not no_memory,
            plots=not no_plots,
        )
    except BenchmarkFailedError as error:
        say(f"error: {error}")
        raise typer.Exit(VERIFICATION_FAILED) from error
    typer.echo(report.to_markdown({}).rstrip() if out is None else f"wrote the report to {out}")


def _thread_counts(text: str) -> int | list[int]:
    numbers = text.split(",")
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise InvalidInputError(f"threads are written 4 or 1,2,4, got {text!r}")
    counts = [int(number) for number in numbers]
    return counts[0] if len(counts) == 1 else counts
