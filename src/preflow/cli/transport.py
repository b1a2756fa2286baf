"""The command that moves masses from rows to columns at the least total cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InfeasibleFlowError, InvalidInputError, ParseError
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
from .files import ARCHIVE, STREAM, check_outputs, check_table_name, write_arrays, write_lines, write_table
from .session import Command, exit_by_status, solver_progress, timed, working

if TYPE_CHECKING:
    from ..arrays import Array
    from ..io.costs import CostFile
    from ..method_names import DeviceName
    from ..transportation.result import TransportResult


@click.command(
    cls=Command,
    demos={
        "towns": "cost.csv --a stock.csv --b demand.csv --verify --out -",
    },
)
@click.argument(
    "file",
    metavar="COST",
    help="Costs: .npy, sparse .npz, OR-Library .txt, DIMACS .asn or a table (.csv, .tsv, .parquet).",
)
@ends_option
@click.option(
    "--a",
    "a_file",
    metavar="A",
    required=True,
    help="Masses of the rows: .npy, or a table of names and masses.",
)
@click.option("--b", "b_file", metavar="B", required=True, help="Masses of the columns.")
@method_option
@device_option
@threads_option
@method_options
@time_limit_option
@click.option(
    "--out",
    "-o",
    "output",
    metavar="PLAN",
    help='Write the plan: an .npz archive, a table, or lines "ROW COLUMN MASS"; - is standard output.',
)
@verify_option
@json_option
def transport(
    file: str,
    *,
    ends: tuple[str, str] | None,
    a_file: str,
    b_file: str,
    method: str,
    device: DeviceName,
    threads: int | None,
    option: tuple[str, ...],
    time_limit: float | None,
    output: str | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Move masses from rows to columns at the least cost.

    This is optimal transport, also called the earth mover's distance.
    Each unit of mass that goes from row i to column j costs COST[i, j].
    The masses of the rows and those of the columns have the same sum.

    An archive gets the arrays row, column and mass of the pairs that
    carry mass, numbered from 0, and the prices u and v that prove the
    plan. Lines have the vertices of a DIMACS file, else numbers from 1.

    Costs in a table have names, as those of `preflow assign`. Masses are
    then tables of names and masses, and the plan is a table, too.

    For example:

      preflow transport cost.npy --a rows.npy --b columns.npy --verify
      preflow transport cost.npy --a a.npy --b b.npy --out plan.npz
      preflow transport cost.csv --a stock.csv --b demand.csv --out plan.csv
    """
    from ..io.costs import read_costs
    from ..io.tables import is_table
    from ..registry import methods
    from ..solving.dispatch import find_method
    from ..solving.options import name_and_value
    from ..transportation.api import transport as solve
    from .reports import as_json as json_text
    from .reports import transport_facts, transport_lines

    if as_json and output == STREAM:
        raise InvalidInputError("--json and --out - would both write to standard output")
    if ends is not None and not is_table(file):
        raise InvalidInputError(f"{file}: --ends is for tables")
    check_outputs([output], [file, a_file, b_file])
    to_table = check_table_name(output, is_table(file))
    options = dict(name_and_value(text) for text in option)
    if method != "auto":
        find_method(methods("transport"), method).make_options(options)
    seconds: dict[str, float] = {}
    with timed(seconds, "read", f"reading {file}"):
        problem = read_costs(file, ends=ends)
        a, b = _read_masses(a_file, problem.rows), _read_masses(b_file, problem.columns)
    with solver_progress() as progress, _numbered_as_in_file(problem):
        result: TransportResult = solve(
            problem.costs,
            a,
            b,
            method=method,
            device=device,
            threads=threads,
            options=options,
            time_limit=time_limit,
            progress=progress,
        )
    if verify:
        with timed(seconds, "verify", "verifying"):
            result.verify()
    if output is not None:
        with working(f"writing {output}"):
            _write_plan(output, problem, result, to_table)
    facts = transport_facts(Path(file).name, result, seconds, verify, problem.read)
    lines = [json_text(facts)] if as_json else transport_lines(facts)
    if output not in (None, STREAM) and not as_json:
        lines.append(f"wrote the plan to {output}")
    click.echo("\n".join(lines), err=output == STREAM)
    exit_by_status(result.status)


def _read_masses(file: str, names: Array) -> Array:
    """Return the masses of rows or columns with these names: an array, or a table by name."""
    import numpy as np

    from ..graph.placement import exact_array
    from ..io.tables import is_table, read_amounts

    if is_table(file):
        amounts = {str(name): amount for name, amount in read_amounts(file).items()}
        by_name = [amounts.pop(str(name), 0) for name in names.tolist()]
        if amounts:
            raise ParseError(file, None, f"{next(iter(amounts))!r} has a mass, and the costs do not have it")
        return exact_array(by_name, "masses") if by_name else np.zeros(0, dtype=np.int64)
    from ..io.files import parsing, read_bytes
    from ..io.numpy_arrays import NUMPY_MAGIC, announced_array_bytes, read_array

    with parsing(file, "NumPy array"):
        data = read_bytes(file, announced_array_bytes)
        if not data.startswith(NUMPY_MAGIC):
            raise ParseError(file, None, "masses are a NumPy array, as numpy.save writes it")
        masses = read_array(file, data)
    if masses.ndim != 1:
        raise ParseError(file, None, f"masses are one for each row or column, got shape {masses.shape}")
    return masses


@contextmanager
def _numbered_as_in_file(problem: CostFile) -> Iterator[None]:
    """Renumber rows and columns in an error as the file numbers them."""
    try:
        yield
    except InfeasibleFlowError as error:
        names = {"row": problem.rows, "column": problem.columns}
        vertices = tuple((side, names[side].tolist()[i]) for side, i in error.vertices)
        raise InfeasibleFlowError.of_plan(vertices, error.excess) from None


def _write_plan(file: str, problem: CostFile, result: TransportResult, to_table: bool) -> None:
    if result.upper_bound == float("inf"):
        raise InvalidInputError("no plan was found within the time limit, so none is written")
    if file.endswith(ARCHIVE):
        write_arrays(file, row=result.row, column=result.column, mass=result.mass, u=result.u, v=result.v)
        return
    rows, columns = problem.rows[result.row].tolist(), problem.columns[result.column].tolist()
    if to_table:
        write_table(file, {"row": rows, "column": columns, "mass": result.mass.tolist()})
        return
    plan = zip(rows, columns, result.mass.tolist(), strict=True)
    write_lines(file, (f"{row} {column} {mass!r}" for row, column, mass in plan))
