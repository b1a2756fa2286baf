"""The command that moves masses from rows to columns at the least total cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InfeasibleFlowError, InvalidInputError, ParseError
from .file_problem import FileProblem
from .files import ARCHIVE, write_arrays, write_lines, write_table
from .session import Command

if TYPE_CHECKING:
    from ..arrays import Array
    from ..io.costs import CostFile
    from ..transportation.result import TransportResult


@click.command(
    cls=Command,
    like=[FileProblem, "preflow.transport"],
    demos={"towns": "cost.csv --a stock.csv --b demand.csv --verify --out -"},
)
def transport(file: str, *, a: str, b: str, out: str | None = None, **options: Any) -> None:
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

    Parameters
    ----------
    file : COST
        Costs: .npy, sparse .npz, OR-Library .txt, DIMACS .asn or a table (.csv, .tsv, .parquet).
    a : A
        Masses of the rows: .npy, or a table of names and masses.
    b : B
        Masses of the columns.
    out : PLAN
        Write the plan: an .npz archive, a table, or lines "ROW COLUMN MASS"; - is standard output.
    """
    from ..io.costs import read_costs
    from ..transportation.api import transport as solve
    from .reports import amount, counted, total

    task = FileProblem(file, out, others=[a, b], **options)
    task.check_method("transport")

    def read() -> tuple[CostFile, Array, Array]:
        problem = read_costs(file, ends=task.ends)
        return problem, _read_masses(a, problem.rows), _read_masses(b, problem.columns)

    problem, *masses = task.read(read)
    task.columns = problem.read
    result = task.solve(solve, problem.costs, *masses, naming=_numbered_as_in_file(problem))
    task.write(_write_plan, problem, result, task.to_table)
    name, mass, pairs = Path(file).name, total(result.a), len(result.row)
    task.report(
        result,
        "transport",
        name,
        {"rows": len(result.a), "columns": len(result.b)},
        {
            "mass": mass,
            "pairs": pairs,
            "cost": result.cost if result.status == "optimal" else None,
            "gap": result.gap,
        },
        [
            ("costs", f"{name}: {len(result.a):,} x {len(result.b):,}"),
            ("plan", f"mass {mass:,} over {counted(pairs, 'pairs')}"),
            ("cost", amount(result, "cost", "least")),
        ],
        wrote="the plan to ",
    )


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
    from ..io.numpy_arrays import load_array

    masses = load_array(file, "masses")
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
