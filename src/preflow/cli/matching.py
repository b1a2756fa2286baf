"""The command that matches the rows of a sparse matrix with its columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from ..errors import InvalidInputError
from .arguments import (
    device_option,
    json_option,
    method_option,
    method_options,
    threads_option,
    time_limit_option,
    verify_option,
)
from .files import STREAM, check_outputs, write_lines
from .session import TIME_LIMIT_REACHED, Command, solver_progress, timed, working

if TYPE_CHECKING:
    from ..matching.decomposition import DulmageMendelsohn
    from ..matching.result import MatchingResult


@click.command(cls=Command)
@click.argument(
    "file",
    metavar="FILE",
    help="Matrix Market (.mtx), numbered from 1, or lines FROM TO (.txt), numbered from 0; plain or .gz.",
)
@method_option
@click.option(
    "--initial",
    default="auto",
    show_default=True,
    help="auto, none, cheap, min-degree, karp-sipser, sinkhorn-knopp or, on a GPU, proposals.",
)
@device_option
@threads_option
@method_options
@time_limit_option
@click.option("--nonzeros-only", is_flag=True, help="Zeros that the file lists are no edges.")
@click.option("--output", "-o", metavar="FILE", help="Write the matched pairs there; - is standard output.")
@click.option("--permutation", metavar="FILE", help="Write the orders of the block triangular form there.")
@click.option("--spy", metavar="PNG", help="Draw the matrix as it is and in block triangular form.")
@verify_option
@json_option
def match(
    file: str,
    *,
    method: str,
    initial: str,
    device: str,
    threads: int | None,
    option: tuple[str, ...],
    time_limit: float | None,
    nonzeros_only: bool,
    output: str | None,
    permutation: str | None,
    spy: str | None,
    verify: bool,
    as_json: bool,
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
    options = dict(name_and_value(text) for text in option)
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
    click.echo("\n".join(lines), err=output == STREAM)
    if result.status != "optimal":
        raise Exit(TIME_LIMIT_REACHED)


def _write_pairs(file: str, result: MatchingResult, first: int) -> None:
    import numpy as np

    rows = np.flatnonzero(result.row_match >= 0)
    pairs = zip((rows + first).tolist(), (result.row_match[rows] + first).tolist(), strict=True)
    write_lines(file, (f"{row} {column}" for row, column in pairs))


def _write_permutation(file: str, blocks: DulmageMendelsohn, first: int) -> None:
    orders = (blocks.row_order + first, blocks.column_order + first)
    write_lines(file, (" ".join(map(str, order.tolist())) for order in orders))
