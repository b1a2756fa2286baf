"""Repeat the experiments of publications.

In the root of the repository:

    python -m benchmarks.reproduce PAPER [TABLE | FIGURE ...] [--small] [--seeds N] [OPTION ...]

It prints the tables of a paper with the published numbers beside the measured ones, and with --out also
draws its figures. Without names of tables and figures it measures all of them. The sizes are those of the
paper, and no run is stopped; --small takes smaller instances and stops a run after 20 seconds.

    --small         Smaller instances of the same kinds: minutes instead of hours.
    --seeds N       Instances of each family of generated networks.
    --repeats N     Timed runs of each method on each instance.
    --out FOLDER    Write the report and the pictures there. After every instance the record is written.
    --resume        Keep what FOLDER has, and measure the rest.
    --file FILE     Matrices or volumes of the paper, instead of generated ones of the same kind.

All options of `preflow bench` work as well; `preflow bench --help` lists them. Each paper has its methods and
numbers of threads unless --method and --threads are given. Other packages take part only if --peer names
them, and memory is not measured.

For example:

    python -m benchmarks.reproduce cihan C.4 --small
    python -m benchmarks.reproduce cihan --seeds 20 --repeats 3 --out cihan-output --resume
    python -m benchmarks.reproduce deveci28 table-1 --file matrices --out deveci-output
    python -m benchmarks.reproduce wu-he-hong rmf-long rmf-wide --small --threads 2

The papers, and their tables and figures:
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from preflow.bench.problems import add_suite
from preflow.cli import main as run_command
from preflow.errors import InvalidInputError

from . import PAPERS
from .selection import Paper, select


def usage() -> str:
    """Return the help: the text above, and the parts of each paper."""
    lines = [(__doc__ or "").strip()]
    for name, paper in PAPERS.items():
        lines += ["", f"    {name}: {paper.title}", f"        {paper.full}; --small: {paper.small}."]
        width = max(map(len, paper.parts))
        lines += [f"        {part:{width}}  {text}" for part, text in paper.parts.items()]
    return "\n".join(lines)


def arguments_of_bench(arguments: Sequence[str]) -> list[str]:
    """Register the suites of what is asked for, and return the arguments of ``preflow bench``.

    Raises
    ------
    InvalidInputError
        A paper or a part is unknown, or a number is none.
    """
    name, *rest = arguments
    if name not in PAPERS:
        raise InvalidInputError(f"unknown paper {name!r}; there are: {', '.join(PAPERS)}")
    paper: Paper = PAPERS[name]
    count = next((i for i, text in enumerate(rest) if text.startswith("-")), len(rest))
    parts, options = rest[:count], rest[count:]
    small = "--small" in options
    options = [text for text in options if text != "--small"]
    seeds = None
    if "--seeds" in options:
        at = options.index("--seeds")
        number = options[at + 1] if at + 1 < len(options) else ""
        if not (number.isascii() and number.isdigit()):
            raise InvalidInputError(f"--seeds needs a number, got {number!r}")
        seeds = int(number)
        del options[at : at + 2]
    for problem, suite in paper.suites(select(paper, parts, small, seeds)).items():
        add_suite(name, suite, problem)
    given = {text.partition("=")[0] for text in options}
    if "--time-limit" not in given and not small:
        options += ["--time-limit", "inf"]
    if "--peer" not in given and "--no-peers" not in given:
        options.append("--no-peers")
    if "--no-memory" not in given:
        options.append("--no-memory")
    return ["bench", name, *options]


def main() -> None:
    """Run the command."""
    if len(sys.argv) == 1 or "--help" in sys.argv:
        print(usage())
        return
    try:
        sys.argv[1:] = arguments_of_bench(sys.argv[1:])
    except InvalidInputError as error:
        sys.exit(f"error: {error}")
    run_command()


if __name__ == "__main__":
    main()
