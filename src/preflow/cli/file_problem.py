"""Problems in files: names are checked, a problem is read, solved, proved, written and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import click

from ..errors import InvalidInputError
from .files import STREAM, TableOptions, check_outputs, check_table_name, names_vertices
from .session import Steps, exit_by_status, working

T = TypeVar("T")
Facts = Mapping[str, Any]


class FileProblem:
    """A problem in a file.

    Parameters
    ----------
    option : NAME=VALUE
        An option of the method, A:B for a pair; may be repeated.
    verify
        Prove the answer, independently of the solver.
    json
        Print one JSON object and nothing else to stdout.
    """

    def __init__(
        self,
        file: str,
        output: str | None,
        *,
        others: Iterable[str | None] = (),
        written: Iterable[str | None] = (),
        has_names: bool | None = None,
        option: tuple[str, ...] = (),
        verify: bool = False,
        json: bool = False,
        **solving: Any,
    ) -> None:
        from ..solving.options import name_and_value

        if json and output == STREAM:
            raise InvalidInputError("--json and --output - would both write to standard output")
        self.file, self.output, self.verify, self.json = file, output, verify, json
        self.table = TableOptions.of(file, solving, has_names)
        self.is_table = names_vertices(file) if has_names is None else has_names
        self.written = [output, *written]
        check_outputs(self.written, [file, *others])
        self.to_table = check_table_name(output, self.is_table)
        #: further arguments of the solver
        self.solving = {**solving, "options": dict(name_and_value(text) for text in option)}
        #: the columns of a table that were read, by what they are
        self.columns: Mapping[str, str] | None = None
        self.steps = Steps()

    @property
    def of_table(self) -> dict[str, Any]:
        """The arguments with which costs are read from a table."""
        table = self.table
        return {
            "ends": table.names.ends,
            "cost": table.cost,
            "encoding": table.encoding,
            "decimal": table.decimal,
        }

    def check_method(self, problem: str) -> None:
        """Raise InvalidInputError for an unknown method or option, before a large file is read."""
        from ..registry import methods
        from ..solving.dispatch import find_method

        if self.solving["method"] != "auto":
            find_method(methods(problem), self.solving["method"]).make_options(self.solving["options"])

    def read(self, reader: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        """Read the file."""
        with self.steps.timed("read", f"reading {self.file}"):
            return reader(*arguments, **keywords)

    def solve(
        self,
        function: Callable[..., Any],
        *data: Any,
        naming: AbstractContextManager[None] | None = None,
        **options: Any,
    ) -> Any:
        """Solve it, and prove the answer if asked for; `naming` writes errors as the file numbers things."""
        with naming or nullcontext():
            result = self.steps.solve("solve", function, *data, **self.solving, **options)
        if self.verify:
            self.steps.verify(result)
        return result

    def write(self, writer: Callable[..., None], *arguments: Any) -> None:
        """Write the answer to the output, if there is one."""
        if self.output is not None:
            with working(f"writing {self.output}"):
                writer(self.output, *arguments)

    def report(
        self,
        result: Any,
        problem: str,
        name: str,
        size: Facts,
        answer: Facts,
        rows: list[tuple[str, str]],
        *,
        more: Facts | None = None,
        value: str = "cost",
        wrote: str = "",
        approximate: bool = False,
    ) -> None:
        """Print the report of a result, as JSON or as lines, and end with its exit code.

        `size`, `answer` and `more`, which follows the bounds, are facts for JSON; `rows` are lines of the
        same facts; the first one names the instance. `value` is what a proof covers, `wrote` what was
        written, as in "the flow to ", and `approximate` whether an approximate answer is as asked for.
        """
        from .reports import aligned, as_json, columns_text, how_solved, solver_rows

        facts = {
            "problem": problem,
            "instance": name,
            **size,
            **({} if self.columns is None else {"table_columns": dict(self.columns)}),
            "status": result.status,
            **answer,
            "lower_bound": result.lower_bound,
            "upper_bound": result.upper_bound,
            **(more or {}),
            **how_solved(result.stats, self.steps.seconds, self.verify),
        }
        if self.json:
            lines = [as_json(facts)]
        else:
            proved = f"the {value} is" if result.status == "optimal" else "both bounds are"
            read = [] if self.columns is None else [("columns", columns_text(self.columns))]
            lines = aligned([rows[0], *read, *rows[1:], *solver_rows(facts, proved)])
            files = [str(name) for name in self.written if name not in (None, STREAM)]
            lines += [f"wrote {wrote}{', '.join(files)}"] if files else []
        click.echo("\n".join(lines), err=self.output == STREAM)
        exit_by_status(result.status, approximate=approximate)
