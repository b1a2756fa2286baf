"""The options, the record and the printed table of parts that are programs.

A program measures *steps*, each of which is one row of its record. The record is written after every step, so
that a run that was ended at any time can go on with --resume.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from preflow.errors import InvalidInputError

from ..machine import describe_machine
from ..problem import Table
from ..records import read_record, write_rows

#: A row of a record.
Row = Mapping[str, str | int | float | bool]


class Settings(NamedTuple):
    """The options of a program.

    Attributes
    ----------
    small : bool
        Whether to take minutes at most.
    seeds, repeats : int
    methods : tuple of str
        Empty for those of the program.
    files : tuple of Path
        Files or folders to read.
    out : Path or None
        The folder for the record and the table.
    resume : bool
        Whether to keep the steps that the record has.
    budget : float
        Seconds after which no further step begins.
    """

    small: bool = False
    seeds: int = 1
    repeats: int = 1
    methods: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    out: Path | None = None
    resume: bool = False
    budget: float = math.inf


def read_settings(part: str, arguments: Sequence[str], seeds: int, repeats: int) -> Settings:
    """Return the settings of a program, and name the options of benchmarks that do not concern it.

    Raises
    ------
    InvalidInputError
        A number is not positive.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.reproduce PAPER {part}", add_help=False)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--method", action="append", default=[])
    parser.add_argument("--file", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--budget", type=float, default=math.inf)
    found, others = parser.parse_known_args(arguments)
    for name, number in (("seeds", found.seeds), ("repeats", found.repeats), ("budget", found.budget)):
        if not number > 0:
            raise InvalidInputError(f"{name} must be positive, got {number}")
    if found.resume and found.out is None:
        raise InvalidInputError("resume needs out, the folder of the earlier run")
    if others:
        print(f"{part} has no use for {' '.join(others)}")
    return Settings(
        found.small,
        found.seeds,
        found.repeats,
        tuple(found.method),
        tuple(found.file),
        found.out,
        found.resume,
        found.budget,
    )


class Record:
    """The rows of a program, in a file if there is a folder for it.

    Parameters
    ----------
    settings : Settings
    keys : sequence of str
        The fields that name a step.

    Raises
    ------
    InvalidInputError
        The record to resume is of another machine, or one of them is of small instances.
    """

    def __init__(self, settings: Settings, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        self.rows: list[Row] = []
        self.left: list[str] = []
        self.path = None if settings.out is None else settings.out / "rows.jsonl"
        self.machine, self.small = describe_machine(), settings.small
        self._ends = time.monotonic() + settings.budget
        if settings.resume and self.path is not None and self.path.exists():
            earlier, rows = read_record(self.path)
            if earlier["machine"]["cpu"] != self.machine["cpu"]:
                raise InvalidInputError(f"{self.path} is of another machine: {earlier['machine']['cpu']}")
            if earlier["small"] != self.small:
                raise InvalidInputError(f"{self.path} is {'' if earlier['small'] else 'not '}one of --small")
            self.rows = list(rows)

    def lacks(self, *step: str | int | bool) -> bool:
        """Return whether a step is to be measured now: it has no row, and the budget is not spent."""
        if any(tuple(row[key] for key in self.keys) == step for row in self.rows):
            return False
        if time.monotonic() >= self._ends:
            self.left.append(" ".join(map(str, step)))
            return False
        return True

    def add(self, row: Row) -> None:
        """Add a row and write the record."""
        self.rows.append(row)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_rows(self.path, self.rows, small=self.small)

    def show(self, table: Table, further: Sequence[str] = ()) -> None:
        """Print the table, further lines, and the steps that are left; write them beside the record."""
        lines = [f"{table.title}:", "", *markdown(table), *(["", *further] if further else [])]
        if self.left:
            lines += ["", f"The budget was spent; --resume measures: {'; '.join(self.left)}."]
        text = "\n".join(lines)
        print(text)
        if self.path is not None:
            self.path.with_name("table.md").write_text(text + "\n")


def markdown(table: Table) -> list[str]:
    """Return the lines of a table."""
    rows = [table.header, ["---"] * len(table.header), *table.rows]
    return [f"| {' | '.join(cells)} |" for cells in rows]
