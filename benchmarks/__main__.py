"""The command ``python -m benchmarks``, which compares preflow with other packages."""

from __future__ import annotations

import math

import click
from click.exceptions import Exit

from preflow.cli.files import check_writable, make_folder
from preflow.cli.session import VERIFICATION_FAILED, Program, interrupts, say
from preflow.errors import InvalidInputError

from .report_files import RECORD
from .run import BenchmarkFailedError, run_bench


@click.command(cls=Program)
@click.argument(
    "suites",
    nargs=-1,
    metavar="SUITE",
    help="papers (the default), vision, real, tiny, grids, grids-large, grids-small, matching, "
    "matching-tiny, general, general-pairs, general-tiny, assignment, assignment-small, mincost, "
    "mincost-large, mincost-tiny, traps.",
)
@click.option(
    "--out", metavar="FOLDER", help="Write bench.jsonl, bench.md and pictures of the profiles to this folder."
)
@click.option(
    "--problem",
    multiple=True,
    metavar="NAME",
    help="max_flow, min_cut, grid_cut, bipartite_matching, matching, linear_assignment, min_cost_flow or "
    "transport; may be repeated. All if not given.",
)
@click.option(
    "--method",
    multiple=True,
    metavar="NAME",
    help="A method of preflow to measure; METHOD@THREADS sets its threads, METHOD[NAME=VALUE,...] "
    "with options, such as shrink=False,global_relabel=fixed:10; may be repeated.",
)
@click.option(
    "--peer",
    multiple=True,
    metavar="NAME",
    help="A package to compare with; may be repeated. Default: all installed ones.",
)
@click.option("--no-peers", is_flag=True, help="Measure preflow alone.")
@click.option(
    "--baseline",
    default="ortools",
    show_default=True,
    metavar="NAME",
    help="The contestant that ratios are relative to.",
)
@click.option(
    "--instance",
    multiple=True,
    metavar="PATTERN",
    help="Only instances whose name matches, as in 'rmf*'; may be repeated.",
)
@click.option(
    "--file",
    multiple=True,
    metavar="FILE",
    help="Measure these files instead of the suite's instances: a DIMACS file, folder or pattern for "
    "real, of Matrix Market for matching; a file of costs for assignment; a DIMACS .min for mincost.",
)
@click.option(
    "--repeats", default=5, show_default=True, help="Timed runs of each contestant on each instance."
)
@click.option(
    "--threads", metavar="NUMBERS", help="CPU threads for preflow, such as 4 or 1,2,4; the peers use one."
)
@click.option(
    "--time-limit",
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds for one run, and for all timed runs of a contestant on an instance; inf for no limit.",
)
@click.option(
    "--no-memory", is_flag=True, help="Do not measure memory, which takes one more run of each contestant."
)
@click.option("--no-plots", is_flag=True, help="Draw no profiles.")
@click.option(
    "--resume",
    is_flag=True,
    help="Keep the instances that bench.jsonl in the folder --out has, and measure the others.",
)
@click.option(
    "--one-by-one",
    is_flag=True,
    help="Contestants run one after the other without a warm-up run, and each is recorded at once: for runs "
    "of minutes.",
)
@click.option(
    "--budget",
    default=math.inf,
    metavar="SECONDS",
    help="Seconds after which no further measurement begins; --resume goes on.",
)
def bench(
    suites: tuple[str, ...],
    *,
    out: str | None,
    problem: tuple[str, ...],
    method: tuple[str, ...],
    peer: tuple[str, ...],
    no_peers: bool,
    baseline: str,
    instance: tuple[str, ...],
    file: tuple[str, ...],
    repeats: int,
    threads: str | None,
    time_limit: float,
    no_memory: bool,
    no_plots: bool,
    resume: bool,
    one_by_one: bool,
    budget: float,
) -> None:
    """Measure preflow beside the installed peers.

    All contestants solve the same instances. The command compares the
    values that they find, and ends with exit code 1 if these differ.
    Without --out it prints the report as Markdown. With --out, Ctrl-C
    ends the run when the current contestant returns, and the measurements
    so far are written; a second Ctrl-C ends the run at once.

    `python -m benchmarks.reproduce` measures the suites of the papers.

    For example:

      python -m benchmarks tiny
      python -m benchmarks papers --out bench-output
      python -m benchmarks papers --instance 'rmf*' --peer ortools --repeats 3
      python -m benchmarks real --file 'instances/*.max.gz' --out bench-output
      python -m benchmarks grids --baseline pymaxflow
      python -m benchmarks matching --baseline scipy --no-memory --out bench-output
      python -m benchmarks assignment --repeats 7 --out bench-output
      python -m benchmarks mincost --threads 1 --no-memory
    """
    if out is not None:
        check_writable(str(make_folder(out) / RECORD))
        interrupts.grace = None
    try:
        report = run_bench(
            suites or ("papers",),
            out=out,
            problems=problem or None,
            repeats=repeats,
            methods=method or None,
            peers=() if no_peers else peer or None,
            instances=instance,
            files=file,
            baseline=baseline,
            threads=None if threads is None else _thread_counts(threads),
            time_limit=time_limit,
            memory=not no_memory,
            plots=not no_plots,
            resume=resume,
            one_by_one=one_by_one,
            budget=budget,
        )
    except BenchmarkFailedError as error:
        say(f"error: {error}")
        raise Exit(VERIFICATION_FAILED) from error
    click.echo(report.to_markdown({}).rstrip() if out is None else f"wrote the report to {out}")


def _thread_counts(text: str) -> int | list[int]:
    numbers = text.split(",")
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise InvalidInputError(f"threads must be written 4 or 1,2,4, got {text!r}")
    counts = [int(number) for number in numbers]
    return counts[0] if len(counts) == 1 else counts


if __name__ == "__main__":
    bench.start("python -m benchmarks")
