"""Repeat the experiments of publications.

In the root of the repository:

    python -m benchmarks.reproduce PAPER [TABLE | FIGURE ...] [--small] [--seeds N] [OPTION ...]

It prints the tables of a paper with the published numbers beside the measured ones; with --out it writes
them to FOLDER/bench.md and draws the figures. Without names of tables and figures it measures all of them.
The sizes are those of the paper, no run is stopped, and each method runs without a warm-up run; --small takes
smaller instances, stops a run after 20 seconds, and lets methods take turns.

    --small         Smaller instances of the same kinds: minutes instead of hours.
    --seeds N       Instances of each family of generated networks.
    --repeats N     Timed runs of each method on each instance.
    --out FOLDER    Write the report and the pictures there. After every measurement the record is written.
    --resume        Keep what FOLDER has, and measure the rest.
    --budget S      Begin no measurement after S seconds, and name those that are left for --resume.
    --file FILE     Matrices or volumes of the paper, instead of generated ones of the same kind.

All options of `python -m benchmarks` work as well; its --help lists them. Each paper has its methods and
numbers of threads unless --method and --threads are given. Other packages take part only if --peer names
them, and memory is not measured. `--problem min_cut` measures the first stage alone where a suite is one of
maximum flow. Parts that have instances of their own are measured in runs of their own, which write into
FOLDER/PART.

For example:

    python -m benchmarks.reproduce cihan C.4 --small
    python -m benchmarks.reproduce cihan --seeds 20 --repeats 3 --out cihan-output --resume
    python -m benchmarks.reproduce deveci28 table-1 --file matrices --out deveci-output
    python -m benchmarks.reproduce wu-he-hong rmf-long rmf-wide --small --threads 2

The papers, and their tables and figures:
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from preflow.cli.session import INTERRUPTED
from preflow.errors import InvalidInputError, PreflowError

from ..__main__ import bench
from ..problems import add_suite
from . import PAPERS
from .selection import Selection, runs_of, select

#: Problems with the same instances: a suite of one is a suite of the other, too.
SAME_INSTANCES = ("max_flow", "min_cut")


class Request(NamedTuple):
    """A request of the user: a paper, its parts by the names of their runs, and the other options."""

    paper: str
    runs: dict[str, Selection]
    options: list[str]


def usage() -> str:
    """Return the help: the text above, and the parts of each paper."""
    lines = [(__doc__ or "").strip()]
    for name, paper in PAPERS.items():
        lines += ["", f"    {name}: {paper.title}", f"        {paper.full}; --small: {paper.small}."]
        width = max(map(len, paper.all_parts))
        lines += [f"        {part:{width}}  {text}" for part, text in paper.all_parts.items()]
    return "\n".join(lines)


def read(arguments: Sequence[str]) -> Request:
    """Read the arguments of the command.

    Raises
    ------
    InvalidInputError
        A paper or a part is unknown, or a number is none.
    """
    name, *rest = arguments
    if name not in PAPERS:
        raise InvalidInputError(f"unknown paper {name!r}; there are: {', '.join(PAPERS)}")
    paper = PAPERS[name]
    count = next((i for i, text in enumerate(rest) if text.startswith("-")), len(rest))
    parts, options = rest[:count], rest[count:]
    seeds = None
    if "--seeds" in options:
        at = options.index("--seeds")
        number = options[at + 1] if at + 1 < len(options) else ""
        if not (number.isascii() and number.isdigit()):
            raise InvalidInputError(f"--seeds needs a number, got {number!r}")
        seeds = int(number)
        del options[at : at + 2]
    selection = select(paper, parts, "--small" in options, seeds)
    return Request(name, runs_of(paper, selection), [text for text in options if text != "--small"])


def given(options: Sequence[str]) -> dict[str, str]:
    """Return the options by name, each with the text behind its = or the next word."""
    found = {}
    for text, following in pairwise([*options, ""]):
        name, equals, value = text.partition("=")
        if name.startswith("--"):
            found[name] = value if equals else following
    return found


def with_folder(options: Sequence[str], part: str) -> list[str]:
    """Return the options with the folder of a part in place of that of the main run, which has no name."""
    changed = []
    for before, text in pairwise(["", *options]):
        name, equals, value = text.partition("=")
        if before == "--out":
            text = os.path.join(text, part) if part else text
        elif name == "--out" and equals:
            text = f"--out={os.path.join(value, part) if part else value}"
        changed.append(text)
    return changed


def with_budget(options: Sequence[str], left: float) -> list[str]:
    """Return the options with the seconds that are left in place of the budget."""
    changed = []
    for before, text in pairwise(["", *options]):
        if before == "--budget":
            text = f"{left:g}"
        elif text.startswith("--budget="):
            text = f"--budget={left:g}"
        changed.append(text)
    return changed


def budget_of(options: Sequence[str]) -> float:
    """Return the seconds of the budget, which is endless if there is none.

    Raises
    ------
    InvalidInputError
        The budget is no number.
    """
    if (text := given(options).get("--budget")) is None:
        return math.inf
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"--budget needs a number, got {text!r}") from None


def arguments_of_bench(request: Request, run: str) -> list[str]:
    """Register the suites of a run, and return the arguments of ``python -m benchmarks``."""
    paper, selection = PAPERS[request.paper], request.runs[run]
    options, names = with_folder(request.options, run), given(request.options)
    suites = paper.suites(selection)
    for problem, suite in suites.items():
        for each in SAME_INSTANCES if problem in SAME_INSTANCES else (problem,):
            add_suite(request.paper, suite, each)
    if "--problem" not in names:
        options += [text for problem in suites for text in ("--problem", problem)]
    if not selection.small:
        options += [] if "--time-limit" in names else ["--time-limit", "inf"]
        options += [] if "--one-by-one" in names else ["--one-by-one"]
    if "--peer" not in names and "--no-peers" not in names:
        options.append("--no-peers")
    if "--no-memory" not in names:
        options.append("--no-memory")
    return [request.paper, *options]


def arguments_of_program(request: Request, run: str) -> list[str]:
    """Return the arguments of a part that is a program."""
    selection = request.runs[run]
    return [
        *with_folder(request.options, run),
        *(["--small"] if selection.small else []),
        *([] if selection.seeds is None else ["--seeds", str(selection.seeds)]),
    ]


def main() -> None:
    """Run the command: one run after the other, and exit with the code of the first that fails."""
    if len(sys.argv) == 1 or "--help" in sys.argv:
        print(usage())
        return
    codes: list[str | int | None] = []
    try:
        request = read(sys.argv[1:])
        paper = PAPERS[request.paper]
        ends = time.monotonic() + budget_of(request.options)
        for place, run in enumerate(request.runs):
            left = ends - time.monotonic()
            if place and left <= 0:
                print(f"{run}: not begun, the budget was spent; --resume measures it")
                continue
            if place:
                request = request._replace(options=with_budget(request.options, left))
            if run in paper.programs:
                paper.programs[run].run(arguments_of_program(request, run))
                continue
            try:
                bench.start("python -m benchmarks.reproduce", arguments_of_bench(request, run))
            except SystemExit as ending:
                codes.append(ending.code)
                if ending.code == INTERRUPTED:
                    break
    except PreflowError as error:
        sys.exit(f"error: {error}")
    sys.exit(next((code for code in codes if code), None))


if __name__ == "__main__":
    main()
