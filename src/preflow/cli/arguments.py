"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

ProblemFile = Annotated[
    str, typer.Argument(metavar="FILE", help="DIMACS .max or .max.gz, or .npz; - reads DIMACS from stdin.")
]
Method = Annotated[str, typer.Option(help="A name from `preflow methods`, or auto.")]
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where to solve.")]
Threads = Annotated[
    int | None, typer.Option(help="CPU threads at most; all that the method can use if not given.")
]
MethodOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="An option of the method, A:B for a pair; may be repeated."
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Stop then with the best found, exit code 3.")
]
Verify = Annotated[bool, typer.Option("--verify", help="Prove the answer, independently of the solver.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else to stdout.")]
