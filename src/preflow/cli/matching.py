"""The command that matches the rows of a sparse matrix with its columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidInputError
from .arguments import AsJson, Device, Method, MethodOptions, Threads, TimeLimit, Verify
from .files import STREAM, check_outputs, write_lines
from .session import TIME_LIMIT_REACHED, solver_progress, timed, working

if TYPE_CHECKING:
    from ..matching.decomposition import DulmageMendelsohn
    from ..matching.result import MatchingResult


def match(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Matrix Market (.mtx), numbered from 1, or lines FROM TO (.txt), numbered from 0; "
            "plain or .gz.",
        ),
    ],
    method: Method = "auto",
    initial: Annotated[
        str,
        typer.Option(
            help="auto, none, cheap, min-degree, karp-sipser, sinkhorn-knopp or, on a GPU, proposals."
        ),
    ] = "auto",
    device: Device = "auto",
    threads: Threads = None,
    option: MethodOptions = None,
    time_limit: TimeLimit = None,
    nonzeros_only: Annotated[
        bool, typer.Option("--nonzeros-only", help="Zeros that the file lists are no edges.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the matched pairs there; - is standard output."
        ),
    ] = None,
    permutation: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the orders of the block triangular form there."),
    ] = None,
    spy: Annotated[
        str | None,
        typer.Option(metavar="PNG", help="Draw the matrix as it is and in block triangular form."),
    ] = None,
    verify: Verify = False,
    as_json: AsJson = False,
) -> None:
    """Match the rows of a sparse matrix with its columns.

    As many pairs as possible, each an entry of the matrix: their number
    is the structural rank. Pairs are written as lines "ROW COLUMN";
    a permutation as two lines, the order of the rows and that of the
    columns in which the matrix is block upper triangular
    (Dulmage-Mendelsohn). Both are numbered as the file numbers them: from 1
    where it is a Matrix Market file, from 0 where it is a list of edges.

    For example:

      preflow match matrix.mtx.gz
      preflow match matrix.mtx --method serial-hopcroft-karp --verify --json
      preflow match matrix.mtx --permutation blocks.txt --spy blocks.png
    """
    from ..io.bipartite import read_bipartite_graph
    from ..matching.api import bipartite_matching
    from ..matching.decomposition import decompose
    from ..solving.options import name_and_value
    from .reports import as_json as json_text
    from .reports import matching_facts, matching_lines
    from .spy import draw_spy, require_matplotlib

    if as_json and output == STREAM:
        raise InvalidInputError("--json and --output - would both write to standard output")
    if spy is not None:
        require_matplotlib()
    check_outputs([output, permutation, spy], [file])
    options = dict(name_and_value(text) for text in option or ())
    seconds: dict[str, float] = {}
    with timed(seconds, "read", f"reading {file}"):
        graph, first = read_bipartite_graph(file, explicit_zeros=not nonzeros_only)
    with solver_progress() as progress:
        result = bipartite_matching(
            graph,
            method=method,
            device=device,
            threads=threads,
            initial=initial,
            options=options,
            time_limit=time_limit,
            progress=progress,
        )
    if verify:
        with timed(seconds, "verify", "verifying"):
            result.verify()
    blocks = None
    if result.status == "optimal":
        with working("decomposing"):
            blocks = decompose(result)
    elif permutation is not None or spy is not None:
        raise InvalidInputError("a block triangular form needs a maximum matching: give it more time")
    if output is not None:
        _write_pairs(output, result, first)
    if blocks is not None and permutation is not None:
        _write_permutation(permutation, blocks, first)
    if blocks is not None and spy is not None:
        with working(f"drawing {spy}"):
            draw_spy(graph, blocks, spy)
    facts = matching_facts(Path(file).name, result, blocks, seconds, verify)
    lines = [json_text(facts)] if as_json else matching_lines(facts)
    written = [name for name in (output, permutation, spy) if name not in (None, STREAM)]
    if written and not as_json:
        lines.append(f"wrote {', '.join(map(str, written))}")
    typer.echo("\n".join(lines), err=output == STREAM)
    if result.status != "optimal":
        raise typer.Exit(TIME_LIMIT_REACHED)


def _write_pairs(file: str, result: MatchingResult, first: int) -> None:
    import numpy as np

    rows = np.flatnonzero(result.row_match >= 0)
    pairs = zip((rows + first).tolist(), (result.row_match[rows] + first).tolist(), strict=True)
    write_lines(file, (f"{row} {column}" for row, column in pairs))


def _write_permutation(file: str, blocks: DulmageMendelsohn, first: int) -> None:
    orders = (blocks.row_order + first, blocks.column_order + first)
    write_lines(file, (" ".join(map(str, order.tolist())) for order in orders))
