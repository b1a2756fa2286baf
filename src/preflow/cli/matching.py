"""The command that matches the rows of a sparse matrix with its columns, or the vertices of a graph."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInputError, MissingDependencyError
from .arguments import (
    device_option,
    ends_option,
    json_option,
    method_option,
    method_options,
    threads_option,
    time_limit_option,
    verify_option,
)
from .files import STREAM, check_outputs, check_table_name, write_lines, write_pair_table
from .session import Command, exit_by_status, solver_progress, timed, working

if TYPE_CHECKING:
    from ..bipartite.decomposition import DulmageMendelsohn
    from ..bipartite.result import MatchingResult
    from ..graph.bipartite import BipartiteGraph
    from ..method_names import DeviceName

#: Pixels of a picture along the longer side; larger matrices are drawn by the number of entries per pixel.
PIXELS = 600
#: Most outlined blocks: the outlines of more would hide the entries.
MOST_OUTLINES = 200


@click.command(
    cls=Command,
    demos={
        "skills": "skills.csv --verify --output -",
        "matrix": "matrix.mtx --verify",
        "graph": "graph.txt --general --verify",
    },
)
@click.argument(
    "file",
    metavar="FILE",
    help="Matrix Market (.mtx), numbered from 1, or lines FROM TO (.txt), numbered from 0; plain or .gz; or "
    "a table with names (.csv, .tsv, .parquet).",
)
@ends_option
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
@click.option("--nonzeros-only", is_flag=True, help="Ignore entries that are explicit zeros.")
@click.option(
    "--output", "-o", metavar="FILE", help="Write the matched pairs to this file; - is standard output."
)
@click.option(
    "--permutation", metavar="FILE", help="Write the orders of the block triangular form to this file."
)
@click.option("--spy", metavar="PNG", help="Draw the matrix as given and in block triangular form.")
@click.option(
    "--general",
    is_flag=True,
    help="Match the vertices of an undirected graph with each other; the values of the file are weights.",
)
@click.option("--unweighted", is_flag=True, help="With --general: ignore weights; as many pairs as possible.")
@click.option("--minimize", is_flag=True, help="With --general: the least weight instead of the largest.")
@click.option("--perfect", is_flag=True, help="With --general: all vertices must be matched.")
@click.option(
    "--maximum-cardinality", is_flag=True, help="With --general: as many pairs as possible come first."
)
@verify_option
@json_option
def match(
    file: str,
    *,
    ends: tuple[str, str] | None,
    method: str,
    initial: str,
    device: DeviceName,
    threads: int | None,
    option: tuple[str, ...],
    time_limit: float | None,
    nonzeros_only: bool,
    output: str | None,
    permutation: str | None,
    spy: str | None,
    general: bool,
    unweighted: bool,
    minimize: bool,
    perfect: bool,
    maximum_cardinality: bool,
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

    A table has a row for each pair that is allowed, and two columns, or
    columns named row and column, or those that --ends names. Pairs go to a
    table, too.

    For example:

      preflow match matrix.mtx.gz
      preflow match matrix.mtx --method serial-hopcroft-karp --verify --json
      preflow match matrix.mtx --permutation blocks.txt --spy blocks.png
      preflow match skills.csv --output pairs.csv

    With --general the file is an undirected graph, a square Matrix Market
    matrix or lines "FROM TO" or "FROM TO WEIGHT", and its vertices are
    matched with each other so that the weights of the pairs sum to the
    most, or without weights as many as possible:

      preflow match graph.txt --general --verify
      preflow match distances.mtx --general --minimize --perfect -o pairs.txt
    """
    from ..io.tables import is_table

    if ends is not None and not is_table(file):
        raise InvalidInputError(f"{file}: --ends is for tables")
    wanted = {
        "weight": False if unweighted else None,
        "maximize": not minimize,
        "perfect": perfect,
        "maximum_cardinality": maximum_cardinality,
    }
    if general:
        if initial != "auto" or permutation is not None or spy is not None or nonzeros_only:
            raise InvalidInputError(
                "--initial, --permutation, --spy and --nonzeros-only do not go with --general"
            )
        solving = {"method": method, "device": device, "threads": threads, "time_limit": time_limit}
        _match_general(file, ends, wanted, {**solving, "options": option}, output, verify, as_json)
        return
    if unweighted or minimize or perfect or maximum_cardinality:
        raise InvalidInputError(
            "--unweighted, --minimize, --perfect and --maximum-cardinality need --general"
        )
    from ..bipartite.api import bipartite_matching
    from ..bipartite.decomposition import decompose
    from ..io.bipartite import read_bipartite_graph
    from ..io.tables import read_bipartite_table
    from ..solving.options import name_and_value
    from .reports import as_json as json_text
    from .reports import matching_facts, matching_lines

    if as_json and output == STREAM:
        raise InvalidInputError("--json and --output - would both write to standard output")
    if spy is not None:
        _require_matplotlib()
    check_outputs([output, permutation, spy], [file])
    to_table = check_table_name(output, is_table(file))
    if is_table(file) and permutation is not None:
        raise InvalidInputError("--permutation writes numbers, and the rows of a table have names")
    options = dict(name_and_value(text) for text in option)
    seconds: dict[str, float] = {}
    columns: dict[str, str] | None = None
    with timed(seconds, "read", f"reading {file}"):
        if is_table(file):
            (graph, columns), first = read_bipartite_table(file, ends=ends), 0
        else:
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
    if output is not None and to_table:
        write_pair_table(output, result.to_columns(), first)
    elif output is not None:
        _write_pairs(output, result, first)
    if blocks is not None and permutation is not None:
        _write_permutation(permutation, blocks, first)
    if blocks is not None and spy is not None:
        with working(f"drawing {spy}"):
            _draw_spy(graph, blocks, spy)
    facts = matching_facts(Path(file).name, result, blocks, seconds, verify, columns)
    lines = [json_text(facts)] if as_json else matching_lines(facts)
    written = [name for name in (output, permutation, spy) if name not in (None, STREAM)]
    if written and not as_json:
        lines.append(f"wrote {', '.join(map(str, written))}")
    click.echo("\n".join(lines), err=output == STREAM)
    exit_by_status(result.status)


def _match_general(
    file: str,
    ends: tuple[str, str] | None,
    wanted: Mapping[str, bool | None],
    solving: dict[str, Any],
    output: str | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Match the vertices of an undirected graph: the command with --general."""
    import numpy as np

    from ..general_matching.api import matching
    from ..io.tables import is_table, read_undirected_table
    from ..io.undirected import read_undirected_graph
    from ..registry import methods
    from ..solving.options import name_and_value
    from .reports import as_json as json_text
    from .reports import general_matching_facts, general_matching_lines

    if as_json and output == STREAM:
        raise InvalidInputError("--json and --output - would both write to standard output")
    check_outputs([output], [file])
    to_table = check_table_name(output, is_table(file))
    solving["options"] = dict(name_and_value(text) for text in solving["options"])
    seconds: dict[str, float] = {}
    columns: dict[str, str] | None = None
    with timed(seconds, "read", f"reading {file}"):
        if is_table(file):
            table = read_undirected_table(file, weights=wanted["weight"] is not False, ends=ends)
            (graph, columns), first = table, 0
        else:
            graph, first = read_undirected_graph(file, weights=wanted["weight"] is not False)
    with solver_progress() as progress:
        result = matching(
            graph,
            maximize=bool(wanted["maximize"]),
            perfect=bool(wanted["perfect"]),
            maximum_cardinality=bool(wanted["maximum_cardinality"]),
            progress=progress,
            **solving,
        )
    if verify:
        with timed(seconds, "verify", "verifying"):
            result.verify()
    if output is not None and to_table:
        write_pair_table(output, result.to_columns(), first)
    elif output is not None:
        lower = np.flatnonzero(result.mate > np.arange(len(result.mate)))
        pairs = zip((lower + first).tolist(), (result.mate[lower] + first).tolist(), strict=True)
        write_lines(output, (f"{u} {v}" for u, v in pairs))
    facts = general_matching_facts(Path(file).name, result, seconds, verify, columns)
    lines = [json_text(facts)] if as_json else general_matching_lines(facts)
    if output not in (None, STREAM) and not as_json:
        lines.append(f"wrote {output}")
    click.echo("\n".join(lines), err=output == STREAM)
    asked_for = any(
        record.approximate for record in methods("matching") if record.name == result.stats.method
    )
    exit_by_status(result.status, approximate=asked_for)


def _write_pairs(file: str, result: MatchingResult, first: int) -> None:
    import numpy as np

    rows = np.flatnonzero(result.row_match >= 0)
    pairs = zip((rows + first).tolist(), (result.row_match[rows] + first).tolist(), strict=True)
    write_lines(file, (f"{row} {column}" for row, column in pairs))


def _write_permutation(file: str, blocks: DulmageMendelsohn, first: int) -> None:
    orders = (blocks.row_order + first, blocks.column_order + first)
    write_lines(file, (" ".join(map(str, order.tolist())) for order in orders))


def _require_matplotlib() -> None:
    """Raise MissingDependencyError unless Matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingDependencyError("a picture of a matrix", "Matplotlib", "plot") from None


def _draw_spy(graph: BipartiteGraph, blocks: DulmageMendelsohn, file: str) -> None:
    """Draw a matrix as given, and in block triangular form with its blocks outlined."""
    import numpy as np
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    from ..io.files import replacing

    row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(np.int64))
    column = graph.rows.neighbour.astype(np.int64)
    places = []
    for order in (blocks.row_order, blocks.column_order):
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        places.append(place)
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    before, after = figure.subplots(1, 2)
    _draw_entries(before, graph.shape, row, column)
    before.set_title(f"{graph.num_rows:,} x {graph.num_columns:,}, {graph.num_edges:,} entries")
    _draw_entries(after, graph.shape, places[0][row], places[1][column])
    after.set_title(f"structural rank {blocks.matching.cardinality:,}, {blocks.num_blocks:,} diagonal blocks")
    limits = (blocks.row_blocks, blocks.column_blocks)
    if blocks.num_blocks > MOST_OUTLINES:
        limits = (blocks.coarse_rows, blocks.coarse_columns)
    rows, columns = (each.tolist() for each in limits)
    for i in range(len(rows) - 1):
        corner = (columns[i] - 0.5, rows[i] - 0.5)
        size = (columns[i + 1] - columns[i], rows[i + 1] - rows[i])
        after.add_patch(Rectangle(corner, *size, fill=False, edgecolor="tab:red", linewidth=0.8))
    picture = io.BytesIO()
    figure.savefig(picture, dpi=130, format="png")
    with replacing(file) as output:
        output.write(picture.getvalue())


def _draw_entries(axes: Any, shape: tuple[int, int], row: Any, column: Any) -> None:
    import numpy as np

    scale = max(*shape, 1) / PIXELS
    bins = [max(1, round(size / max(scale, 1.0))) for size in shape]
    extent = ((0, max(shape[0], 1)), (0, max(shape[1], 1)))
    counts, _, _ = np.histogram2d(row + 0.5, column + 0.5, bins=bins, range=extent)
    axes.imshow(
        np.where(counts > 0, np.log1p(counts), np.nan),
        cmap="Blues",
        # So that even a single entry is visible.
        vmin=-np.log1p(counts.max(initial=0)),
        interpolation="nearest",
        extent=(-0.5, extent[1][1] - 0.5, extent[0][1] - 0.5, -0.5),
    )
    axes.set_xlabel("column")
    axes.set_ylabel("row")
