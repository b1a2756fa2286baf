"""The command that matches the rows of a sparse matrix with its columns, or the vertices of a graph."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInputError
from .file_problem import FileProblem
from .files import TableOptions, is_table, write_lines, write_pair_table
from .session import Command, working

if TYPE_CHECKING:
    from ..bipartite.decomposition import DulmageMendelsohn
    from ..bipartite.result import MatchingResult
    from ..general_matching.result import GeneralMatchingResult
    from ..graph.bipartite import BipartiteGraph


@click.command(
    cls=Command,
    like=[TableOptions, FileProblem, "preflow.bipartite_matching", "preflow.matching"],
    without=["maximize", "capacity", "cost", "lower"],
    demos={
        "skills": "skills.csv --verify --output -",
        "matrix": "matrix.mtx --verify",
        "graph": "graph.txt --general --verify",
    },
)
def match(
    file: str,
    *,
    nonzeros_only: bool = False,
    output: str | None = None,
    permutation: str | None = None,
    spy: str | None = None,
    general: bool = False,
    unweighted: bool = False,
    minimize: bool = False,
    initial: str,
    perfect: bool,
    maximum_cardinality: bool,
    **options: Any,
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
    most, or without weights as many as possible. --perfect and
    --maximum-cardinality go with it:

      preflow match graph.txt --general --verify
      preflow match distances.mtx --general --minimize --perfect -o pairs.txt

    Parameters
    ----------
    file : FILE
        Matrix Market (.mtx), numbered from 1, or lines FROM TO (.txt), numbered from 0; plain or .gz; or with
        names a table (.csv, .tsv, .xlsx, .parquet) or a graph (.graphml, .gml, .gexf, .net); with --general
        also METIS .graph and DIMACS .col.
    nonzeros_only
        Ignore entries that are explicit zeros.
    output : FILE
        Write the matched pairs to this file; - is standard output.
    permutation : FILE
        Write the orders of the block triangular form to this file.
    spy : PNG
        Draw the matrix as given and in block triangular form.
    general
        Match the vertices of an undirected graph with each other; the values of the file are weights.
    unweighted
        With --general: ignore weights; as many pairs as possible.
    minimize
        With --general: the least weight instead of the largest.
    """
    if general:
        if initial != "auto" or permutation is not None or spy is not None or nonzeros_only:
            raise InvalidInputError(
                "--initial, --permutation, --spy and --nonzeros-only do not go with --general"
            )
        options |= {"perfect": perfect, "maximum_cardinality": maximum_cardinality, "maximize": not minimize}
        task = FileProblem(file, output, has_names=_has_names(file), **options)
        _match_general(task, weighted=not unweighted)
        return
    if unweighted or minimize or perfect or maximum_cardinality:
        raise InvalidInputError(
            "--unweighted, --minimize, --perfect and --maximum-cardinality need --general"
        )
    from ..bipartite.api import bipartite_matching
    from ..bipartite.decomposition import decompose
    from ..io.bipartite import read_bipartite_graph
    from ..io.tables import read_bipartite_table

    if spy is not None:
        from ..checks import needed_for

        with needed_for("a picture of a matrix", "Matplotlib", "plot"):
            import matplotlib  # noqa: F401
    written = [permutation, spy]
    task = FileProblem(file, output, written=written, has_names=_has_names(file), initial=initial, **options)
    if task.is_table and permutation is not None:
        raise InvalidInputError("--permutation writes numbers, and the rows of a table have names")
    first = 0
    if task.is_table:
        graph, task.columns = task.read(
            read_bipartite_table, file, names=task.table.names, text=task.table.text
        )
    else:
        graph, first = task.read(read_bipartite_graph, file, explicit_zeros=not nonzeros_only)
    result: MatchingResult = task.solve(bipartite_matching, graph)
    blocks = None
    if result.status == "optimal":
        with working("decomposing"):
            blocks = decompose(result)
    elif permutation is not None or spy is not None:
        raise InvalidInputError("a block triangular form needs a maximum matching: give it more time")
    task.write(_write_pairs, result, result.row_match, first, task.to_table)
    if blocks is not None and permutation is not None:
        _write_permutation(permutation, blocks, first)
    if blocks is not None and spy is not None:
        with working(f"drawing {spy}"):
            _draw_spy(graph, blocks, spy)
    _report(task, result, blocks)


def _has_names(file: str) -> bool:
    """Return whether the vertices of a graph have names: not those of lists of edges, but for PrefLib's."""
    from ..io.graphs import PREFLIB, is_graph

    return is_table(file) or is_graph(file) or file.endswith(PREFLIB)


def _report(task: FileProblem, result: MatchingResult, blocks: DulmageMendelsohn | None) -> None:
    """Report a matching of rows and columns, and the blocks of the matrix."""
    from .reports import amount, counted

    name, graph = Path(task.file).name, result.graph
    rows = [
        (
            "matrix",
            f"{name}: {graph.num_rows:,} x {graph.num_columns:,}, {counted(graph.num_edges, 'edges')}",
        ),
        ("matched", amount(result, "cardinality", "structural rank")),
    ]
    parts: dict[str, Any] | None = None
    if blocks is not None:
        limits = (blocks.coarse_rows.tolist(), blocks.coarse_columns.tolist())
        sizes = [[end[i + 1] - end[i] for end in limits] for i in range(3)]
        shapes = dict(zip(("horizontal", "square", "vertical"), sizes, strict=True))
        parts = {"diagonal_blocks": blocks.num_blocks, **shapes}
        text = ", ".join(f"{part} {height:,} x {width:,}" for part, (height, width) in shapes.items())
        rows.append(("blocks", f"{counted(blocks.num_blocks, 'blocks')}: {text}"))
    task.report(
        result,
        "bipartite_matching",
        name,
        {"rows": graph.num_rows, "columns": graph.num_columns, "edges": graph.num_edges},
        {
            "cardinality": result.cardinality,
            "structural_rank": result.cardinality if result.status == "optimal" else None,
        },
        rows,
        more={"blocks": parts},
        value="cardinality",
    )


def _match_general(task: FileProblem, *, weighted: bool) -> None:
    """Match the vertices of an undirected graph: the command with --general."""
    import numpy as np

    from ..general_matching.api import matching
    from ..io.tables import read_undirected_table
    from ..io.undirected import read_undirected_graph
    from ..registry import methods
    from .reports import bounds, counted

    first = 0
    if task.is_table:
        names, text = task.table.names, task.table.text
        graph, task.columns = task.read(
            read_undirected_table, task.file, weights=weighted, names=names, text=text
        )
    else:
        graph, first = task.read(read_undirected_graph, task.file, weights=weighted)
    result: GeneralMatchingResult = task.solve(matching, graph)
    lower = np.where(result.mate > np.arange(len(result.mate)), result.mate, -1)
    task.write(_write_pairs, result, lower, first, task.to_table)
    name, has_weight = Path(task.file).name, result.graph.weight is not None
    size = f"{counted(graph.num_vertices, 'vertices')}, {counted(graph.num_edges, 'edges')}"
    rows = [("graph", f"{name}: {size}"), ("matched", counted(result.cardinality, "pairs"))]
    if has_weight:
        rows.append(("weight", f"{result.weight:,}" if result.status == "optimal" else bounds(result)))
    elif result.status != "optimal":
        rows.append(("bounds", bounds(result)))
    task.report(
        result,
        "matching",
        name,
        {"vertices": graph.num_vertices, "edges": graph.num_edges},
        {
            "cardinality": result.cardinality,
            "weight": result.weight if has_weight else None,
            "gap": result.gap,
        },
        rows,
        value="value",
        approximate=any(
            record.approximate for record in methods("matching") if record.name == result.stats.method
        ),
    )


def _write_pairs(file: str, result: Any, partner: Any, first: int, to_table: bool) -> None:
    """Write the pairs of a result as a table, or as lines of two numbers from `first`."""
    import numpy as np

    if to_table:
        write_pair_table(file, result.to_columns(), first)
        return
    one = np.flatnonzero(partner >= 0)
    pairs = zip((one + first).tolist(), (partner[one] + first).tolist(), strict=True)
    write_lines(file, (f"{left} {right}" for left, right in pairs))


def _write_permutation(file: str, blocks: DulmageMendelsohn, first: int) -> None:
    orders = (blocks.row_order + first, blocks.column_order + first)
    write_lines(file, (" ".join(map(str, order.tolist())) for order in orders))


def _draw_spy(graph: BipartiteGraph, blocks: DulmageMendelsohn, file: str) -> None:
    """Draw a matrix as given, and in block triangular form with its blocks outlined."""
    import numpy as np
    from matplotlib.figure import Figure

    from ..drawing.pairs import draw_blocks
    from ..io.files import replacing

    row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(np.int64))
    as_given = np.arange(graph.num_rows), np.arange(graph.num_columns)
    none = np.zeros(1), np.zeros(1)
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    before, after = figure.subplots(1, 2)
    draw_blocks(before, (row, graph.rows.neighbour), as_given, none, none)
    before.set_title(f"{graph.num_rows:,} x {graph.num_columns:,}, {graph.num_edges:,} entries")
    blocks.plot(ax=after)
    after.set_title(f"structural rank {blocks.matching.cardinality:,}, {blocks.num_blocks:,} diagonal blocks")
    picture = io.BytesIO()
    figure.savefig(picture, dpi=130, format="png")
    with replacing(file) as output:
        output.write(picture.getvalue())
