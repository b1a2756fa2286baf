"""The command that assigns rows to columns at the least total cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InfeasibleError, InvalidInputError
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
from .files import STREAM, check_outputs, check_table_name, write_lines, write_table
from .session import Command, exit_by_status, solver_progress, timed

if TYPE_CHECKING:
    from ..assignment.result import AssignmentResult
    from ..io.costs import CostFile
    from ..method_names import DeviceName


@click.command(
    cls=Command,
    demos={
        "hours": "hours.csv --verify --output -",
        "costs": "costs.npy --verify",
    },
)
@click.argument(
    "file",
    metavar="FILE",
    help="DIMACS .asn, OR-Library .txt, both perhaps .gz, .npy, or a table .csv, .tsv or .parquet.",
)
@ends_option
@click.option("--maximize", is_flag=True, help="Find the largest total.")
@click.option("--partial", is_flag=True, help="If not all rows can be paired, pair as many as possible.")
@click.option(
    "--unmatched-cost",
    metavar="COST",
    help="What each row and each column without a partner costs; ROWS,COLUMNS where these differ. "
    "Pairs that cost more are not made.",
)
@method_option
@device_option
@threads_option
@method_options
@time_limit_option
@click.option("--output", "-o", metavar="FILE", help="Write the pairs to this file; - is standard output.")
@verify_option
@json_option
def assign(
    file: str,
    *,
    ends: tuple[str, str] | None,
    maximize: bool,
    partial: bool,
    unmatched_cost: str | None,
    method: str,
    device: DeviceName,
    threads: int | None,
    option: tuple[str, ...],
    time_limit: float | None,
    output: str | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Pair rows with columns at the least total cost.

    Pairs are written as lines "ROW COLUMN", by the vertices of a DIMACS
    file, else by numbers from 1.

    A table with columns named row, column and cost has a row for each pair
    that is allowed; --ends A,B names others in place of row and column. A
    table without a column cost is a matrix: its first column has the
    names of the rows, its first line those of the columns, and inf is a
    pair that is not allowed. Pairs then go to a table with these names and
    the costs.

    For example:

      preflow assign problem.asn.gz --verify
      preflow assign assign100.txt --output pairs.txt
      preflow assign costs.npy --maximize --json
      preflow assign hours.csv --output pairs.csv
      preflow assign hours.csv --unmatched-cost 3
    """
    from ..assignment.api import linear_assignment
    from ..io.costs import read_costs
    from ..io.tables import is_table
    from ..solving.options import name_and_value
    from .reports import as_json as json_text
    from .reports import assignment_facts, assignment_lines

    if as_json and output == STREAM:
        raise InvalidInputError("--json and --output - would both write to standard output")
    if ends is not None and not is_table(file):
        raise InvalidInputError(f"{file}: --ends is for tables")
    check_outputs([output], [file])
    to_table = check_table_name(output, is_table(file))
    options = dict(name_and_value(text) for text in option)
    singles = None if unmatched_cost is None else _costs_of_singles(unmatched_cost)
    seconds: dict[str, float] = {}
    with timed(seconds, "read", f"reading {file}"):
        problem = read_costs(file, ends=ends)
    with solver_progress() as progress, _named(problem):
        result = linear_assignment(
            problem.costs,
            maximize=maximize,
            method=method,
            device=device,
            threads=threads,
            partial=partial,
            unmatched_cost=singles,
            options=options,
            time_limit=time_limit,
            progress=progress,
        )
    if verify:
        with timed(seconds, "verify", "verifying"):
            result.verify()
    if output is not None and to_table:
        named = {"row": problem.rows[result.row], "column": problem.columns[result.column]}
        columns = {**result.to_columns(), **named}
        write_table(output, {name: part.tolist() for name, part in columns.items()})
    elif output is not None:
        _write_pairs(output, problem, result)
    facts = assignment_facts(Path(file).name, result, seconds, verify, problem.read)
    lines = [json_text(facts)] if as_json else assignment_lines(facts)
    if output not in (None, STREAM) and not as_json:
        lines.append(f"wrote {output}")
    click.echo("\n".join(lines), err=output == STREAM)
    exit_by_status(result.status)


def _costs_of_singles(text: str) -> float | tuple[float, float]:
    """Read the cost of a single row and that of a single column, or one number for both."""
    try:
        numbers = [
            int(part) if part.strip().lstrip("+-").isdigit() else float(part) for part in text.split(",")
        ]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise InvalidInputError(f"--unmatched-cost is COST or ROWS,COLUMNS, got {text!r}")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


@contextmanager
def _named(problem: CostFile) -> Iterator[None]:
    """Renumber rows and columns in an error as the file numbers them."""
    try:
        yield
    except InfeasibleError as error:
        names = {"rows": problem.rows, "columns": problem.columns}
        other = "columns" if error.side == "rows" else "rows"
        violating = names[error.side][list(error.violating)].tolist()
        allowed = names[other][list(error.allowed)].tolist()
        raise InfeasibleError(error.side, tuple(violating), tuple(allowed)) from None


def _write_pairs(file: str, problem: CostFile, result: AssignmentResult) -> None:
    pairs = zip(problem.rows[result.row].tolist(), problem.columns[result.column].tolist(), strict=True)
    write_lines(file, (f"{row} {column}" for row, column in pairs))
