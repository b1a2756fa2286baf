"""A table of a page, and what makes one: records, and numbers as text."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..records import TOTAL, InstanceRecord, Record, read_record

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


class Table(NamedTuple):
    """The head of a table and its rows. The first `words` columns are words, the others numbers."""

    head: list[str]
    rows: list[list[str]]
    words: int = 1


def read(name: str) -> Record:
    """Return a record."""
    return read_record(RESULTS / name)


def instances(name: str, problem: str) -> list[InstanceRecord]:
    """Return the instances of a problem in the record of a run."""
    found = [InstanceRecord.from_dict(row) for row in read(name).rows]
    return [record for record in found if record.problem == problem]


def seconds(record: InstanceRecord, contestant: str, phase: str = TOTAL) -> float | None:
    """Return the median seconds of a contestant, None where it took no part."""
    measured = record.of(contestant)
    return None if measured is None else measured.median(phase)


def number(value: float | None) -> str:
    """Return a number with three digits."""
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def ratio(value: float | None) -> str:
    """Return a ratio with two digits behind the point, in bold type."""
    return "" if value is None else f"**{value:.2f}**"


def times_as_fast(value: float | None) -> str:
    """Return a ratio with three digits, in bold type."""
    return "" if value is None else f"**{value:.3g}**"


def markdown(table: Table) -> str:
    """Return a table in Markdown, numbers to the right."""
    rules = ["---"] * table.words + ["---:"] * (len(table.head) - table.words)
    return "".join(f"| {' | '.join(line)} |\n" for line in (table.head, rules, *table.rows))
