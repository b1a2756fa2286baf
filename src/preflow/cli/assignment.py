"""The command that assigns rows to columns at the least total cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InfeasibleError, InvalidInputError
from .file_problem import FileProblem
from .files import write_lines, write_table
from .options import number
from .session import Command

if TYPE_CHECKING:
    from ..assignment.result import AssignmentResult
    from ..io.costs import CostFile


@click.command(
    cls=Command,
    like=[FileProblem, "preflow.linear_assignment"],
    without=["weight"],
    demos={
        "hours": "hours.csv --verify --output -",
        "costs": "costs.npy --verify",
    },
)
def assign(
    file: str, *, output: str | None = None, maximize: bool, unmatched_cost: str | None = None, **options: Any
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

    Parameters
    ----------
    file : FILE
        DIMACS .asn, OR-Library .txt, both perhaps .gz, .npy, or a table .csv, .tsv or .parquet.
    output : FILE
        Write the pairs to this file; - is standard output.
    unmatched_cost : COST
        What each row and each column without a partner costs; ROWS,COLUMNS where these differ. Pairs that
        cost more are not made.
    """
    from ..assignment.api import linear_assignment
    from ..io.costs import read_costs
    from .reports import amount

    task = FileProblem(file, output, maximize=maximize, **options)
    singles = None if unmatched_cost is None else _costs_of_singles(unmatched_cost)
    problem = task.read(read_costs, file, ends=task.ends)
    task.columns = problem.read
    result = task.solve(linear_assignment, problem.costs, unmatched_cost=singles, naming=_named(problem))
    task.write(_write_pairs, problem, result, task.to_table)
    name, (rows, columns) = Path(file).name, result.costs.shape[1:]
    task.report(
        result,
        "linear_assignment",
        name,
        {"rows": rows, "columns": columns, "maximize": maximize},
        {
            "pairs": len(result.row),
            "cost": result.cost if result.status == "optimal" else None,
            "gap": result.gap,
        },
        [
            ("costs", f"{name}: {rows:,} x {columns:,}"),
            ("pairs", f"{len(result.row):,}"),
            ("cost", amount(result, "cost", "largest" if maximize else "least")),
        ],
    )


def _costs_of_singles(text: str) -> float | tuple[float, float]:
    """Read the cost of a single row and that of a single column, or one number for both."""
    try:
        costs = [number(part, "--unmatched-cost") for part in text.split(",")]
    except InvalidInputError:
        costs = []
    if len(costs) not in (1, 2):
        raise InvalidInputError(f"--unmatched-cost is COST or ROWS,COLUMNS, got {text!r}")
    return costs[0] if len(costs) == 1 else (costs[0], costs[1])


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


def _write_pairs(file: str, problem: CostFile, result: AssignmentResult, to_table: bool) -> None:
    rows, columns = problem.rows[result.row].tolist(), problem.columns[result.column].tolist()
    if to_table:
        parts = {name: part.tolist() for name, part in result.to_columns().items()}
        write_table(file, {**parts, "row": rows, "column": columns})
    else:
        write_lines(file, (f"{row} {column}" for row, column in zip(rows, columns, strict=True)))
