"""The commands on costs of rows and columns: pair them, or move masses, at the least total cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from ..errors import InfeasibleError, InfeasibleFlowError, InvalidInputError
from .file_problem import FileProblem
from .files import ARCHIVE, TableOptions, is_table, write_arrays, write_lines, write_table
from .options import number
from .session import Command

if TYPE_CHECKING:
    from ..arrays import Array
    from ..assignment.result import AssignmentResult
    from ..io.costs import CostFile
    from ..io.tables import TextFormat
    from ..transportation.result import TransportResult


@click.command(
    cls=Command,
    like=[TableOptions, FileProblem, "preflow.linear_assignment"],
    without=["weight", "capacity", "lower"],
    demos={
        "hours": "hours.csv --verify --output -",
        "costs": "costs.npy --verify",
    },
)
def assign(
    file: str,
    *,
    output: str | None = None,
    maximize: bool,
    unmatched_cost: str | None = None,
    limit: str | None = None,
    least: str | None = None,
    needs: str | None = None,
    **options: Any,
) -> None:
    """Pair rows with columns at the least total cost.

    Pairs are written as lines "ROW COLUMN", by the vertices of a DIMACS
    file, else by numbers from 1.

    A table with columns named row, column and cost has a row for each pair
    that is allowed; --ends A,B names others in place of row and column. A
    table without a column cost is a matrix: its first column has the
    names of the rows, its first line those of the columns, and inf is a
    pair that is not allowed. Pairs then go to a table with these names and
    the costs. A table of numbers alone, as numpy.savetxt writes it, is a
    matrix without names.

    In a roster a row takes several columns, or a column needs several
    rows: --limit, --least and --needs say how many. Each is a number, or a
    file with a number for each row or column, in a table by name.

    For example:

      preflow assign problem.asn.gz --verify
      preflow assign assign100.txt --output pairs.txt
      preflow assign costs.npy --maximize --json
      preflow assign hours.csv --output pairs.csv
      preflow assign hours.csv --unmatched-cost 3
      preflow assign hours.csv --limit 2 --output roster.csv

    Parameters
    ----------
    file : FILE
        DIMACS .asn, Matrix Market .mtx, OR-Library or a matrix of numbers .txt, .npy, sparse .npz, or a table
        .csv, .tsv, .xlsx or .parquet; text perhaps .gz.
    output : FILE
        Write the pairs to this file; - is standard output.
    unmatched_cost : COST
        What each row and each column without a partner costs; ROWS,COLUMNS where these differ. Pairs that
        cost more are not made.
    limit : NUMBER|FILE
        The most columns that a row takes.
    least : NUMBER|FILE
        The fewest columns that a row takes.
    needs : NUMBER|FILE
        How many rows a column needs.
    """
    from ..assignment.api import linear_assignment
    from ..io.costs import read_costs
    from .reports import amount, counted

    roster = {"limit": limit, "least": least, "needs": needs}
    files = [text for text in roster.values() if text is not None and not text.isdecimal()]
    task = FileProblem(file, output, others=files, has_names=_has_names(file), maximize=maximize, **options)
    is_roster = any(text is not None for text in roster.values())
    if is_roster and unmatched_cost is not None:
        raise InvalidInputError("--unmatched-cost does not go with --limit, --least and --needs")
    singles = None if unmatched_cost is None else _costs_of_singles(unmatched_cost)
    problem = task.read(read_costs, file, **task.of_table)
    task.columns = problem.read
    if is_roster:
        _assign_jobs(task, problem, roster, maximize)
        return
    result = task.solve(linear_assignment, problem.costs, unmatched_cost=singles, naming=_named(problem))
    task.write(_write_pairs, problem, result, task.to_table)
    name, (rows, columns) = Path(file).name, result.costs.shape[1:]
    left = columns - len(result.row) if singles is None and columns > rows else 0
    over = f", {counted(left, 'columns')} left over: --limit lets rows take several" if left else ""
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
            ("pairs", f"{len(result.row):,}{over}"),
            ("cost", amount(result, "cost", "largest" if maximize else "least")),
        ],
    )


def _assign_jobs(task: FileProblem, problem: CostFile, roster: dict[str, str | None], maximize: bool) -> None:
    """Let rows take several columns, as the numbers or files of a roster say, and report it."""
    from ..reductions.jobs import assign_jobs

    sides = {"limit": problem.rows, "least": problem.rows, "needs": problem.columns}
    numbers = {
        name: int(text) if text.isdecimal() else _read_masses(text, sides[name], task.table.text, None)
        for name, text in roster.items()
        if text is not None
    }
    found = task.solve(assign_jobs, problem.costs, **numbers, naming=_named(problem))
    rows, columns = problem.rows[found.worker].tolist(), problem.columns[found.job].tolist()
    if task.to_table:
        cost = found.to_columns()["cost"].tolist()
        task.write(write_table, {"row": rows, "column": columns, "cost": cost})
    else:
        task.write(write_lines, [f"{row} {column}" for row, column in zip(rows, columns, strict=True)])
    name, pairs, left = Path(task.file).name, len(rows), int(found.needs.sum()) - len(rows)
    shape = f"{len(found.limit):,} x {len(found.needs):,}"
    below, above = (0, found.gap) if maximize else (found.gap, 0)
    task.report(
        SimpleNamespace(
            status=found.result.status,
            stats=found.result.stats,
            lower_bound=found.cost - below,
            upper_bound=found.cost + above,
        ),
        "assign_jobs",
        name,
        {"rows": len(found.limit), "columns": len(found.needs), "maximize": maximize},
        {"pairs": pairs, "left_over": left, "cost": found.cost, "gap": found.gap},
        [
            ("costs", f"{name}: {shape}"),
            (
                "pairs",
                f"{pairs:,}, at most {int(found.load.max(initial=0)):,} in a row"
                + f"; {left:,} left over" * (left > 0),
            ),
            ("cost", f"{found.cost:,} ({'largest' if maximize else 'least'})"),
        ],
    )


def _has_names(file: str) -> bool:
    """Return whether the rows and columns of costs have names: in a table, unless it has numbers alone."""
    from ..io.costs import is_matrix

    return is_table(file) and not is_matrix(file)


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
    except InfeasibleFlowError as error:  # an InfeasibleError, too
        sides = {"row": problem.rows, "column": problem.columns}
        vertices = tuple((side, sides[side].tolist()[i]) for side, i in error.vertices)
        renamed = InfeasibleFlowError.of_plan(vertices, error.excess, error.stays)
        renamed.advice = error.advice
        raise renamed from None
    except InfeasibleError as error:
        names = {"rows": problem.rows, "columns": problem.columns}
        other = "columns" if error.side == "rows" else "rows"
        violating = names[error.side][list(error.violating)].tolist()
        allowed = names[other][list(error.allowed)].tolist()
        raise InfeasibleError(error.side, tuple(violating), tuple(allowed), None, error.numbers) from None


def _write_pairs(file: str, problem: CostFile, result: AssignmentResult, to_table: bool) -> None:
    rows, columns = problem.rows[result.row].tolist(), problem.columns[result.column].tolist()
    if to_table:
        parts = {name: part.tolist() for name, part in result.to_columns().items()}
        write_table(file, {**parts, "row": rows, "column": columns})
    else:
        write_lines(file, (f"{row} {column}" for row, column in zip(rows, columns, strict=True)))


@click.command(
    cls=Command,
    like=[TableOptions, FileProblem, "preflow.transport"],
    without=["weight", "capacity", "lower"],
    demos={"towns": "cost.csv --a stock.csv --b demand.csv --verify --out -"},
)
def transport(
    file: str, *, a: str, b: str, out: str | None = None, unmatched_cost: str | None = None, **options: Any
) -> None:
    """Move masses from rows to columns at the least cost.

    This is optimal transport, also called the earth mover's distance.
    Each unit of mass that goes from row i to column j costs COST[i, j].
    The masses of the rows and those of the columns have the same sum,
    unless --partial, --amount or --unmatched-cost says what stays.

    An archive gets the arrays row, column and mass of the pairs that
    carry mass, numbered from 0, and the prices u and v that prove the
    plan. Lines have the vertices of a DIMACS file, else numbers from 1.

    Costs in a table have names, as those of `preflow assign`. Masses are
    then tables of names and masses, and the plan is a table, too. Where
    costs have no names, masses are numbers alone, in .npy or text.

    For example:

      preflow transport cost.npy --a rows.npy --b columns.npy --verify
      preflow transport cost.npy --a a.npy --b b.npy --out plan.npz
      preflow transport cost.csv --a stock.csv --b demand.csv --out plan.csv
      preflow transport cost.csv --a stock.csv --b demand.csv --partial

    Parameters
    ----------
    file : COST
        Costs: .npy, sparse .npz, numbers in .txt or .csv, DIMACS .asn, Matrix Market .mtx or a table (.csv,
        .tsv, .xlsx, .parquet).
    a : A
        Masses of the rows: .npy, numbers in .txt or .csv, or a table of names and masses.
    b : B
        Masses of the columns.
    out : PLAN
        Write the plan: an .npz archive, a table, or lines "ROW COLUMN MASS"; - is standard output.
    unmatched_cost : COST
        What each unit costs that stays in its row, and each that a column lacks; ROWS,COLUMNS where these
        differ.
    """
    from ..io.costs import read_costs
    from ..transportation.api import transport as solve
    from .reports import amount, counted, total

    task = FileProblem(file, out, others=[a, b], has_names=_has_names(file), **options)
    task.check_method("transport")

    def read() -> tuple[CostFile, Array, Array]:
        problem, text = read_costs(file, **task.of_table), task.table.text
        return problem, _read_masses(a, problem.rows, text), _read_masses(b, problem.columns, text)

    problem, *masses = task.read(read)
    task.columns = problem.read
    singles = None if unmatched_cost is None else _costs_of_singles(unmatched_cost)
    result = task.solve(solve, problem.costs, *masses, unmatched_cost=singles, naming=_named(problem))
    task.write(_write_plan, problem, result, task.to_table)
    name, mass, pairs = Path(file).name, result.amount, len(result.row)
    stay = [(part, total(getattr(result, part))) for part in ("surplus", "shortage") if hasattr(result, part)]
    task.report(
        result,
        "transport",
        name,
        {"rows": len(result.a), "columns": len(result.b)},
        {
            "mass": mass,
            **dict(stay),
            "pairs": pairs,
            "cost": result.cost if result.status == "optimal" else None,
            "gap": result.gap,
        },
        [
            ("costs", f"{name}: {len(result.a):,} x {len(result.b):,}"),
            ("plan", f"mass {mass:,} over {counted(pairs, 'pairs')}"),
            *((part, f"{amount:,}") for part, amount in stay),
            ("cost", amount(result, "cost", "least")),
        ],
        wrote="the plan to ",
    )


def _read_masses(file: str, names: Array, text: TextFormat, rest: int | None = 0) -> Array:
    """Return the masses of rows or columns with these names: an array, or a table by name.

    Those that a table leaves out have the `rest`; None: it leaves out none.
    """
    import numpy as np

    from ..graph.edge_tables import in_order_of
    from ..graph.placement import exact_array
    from ..io.costs import read_masses
    from ..io.tables import read_amounts

    if _has_names(file):
        amounts = {str(name): amount for name, amount in read_amounts(file, text=text).items()}
        by_name = in_order_of([str(name) for name in names.tolist()], amounts, file, rest=rest)
        return exact_array(by_name, "masses") if by_name else np.zeros(0, dtype=np.int64)
    return read_masses(file)


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
