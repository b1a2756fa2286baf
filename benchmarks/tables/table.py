"""A table of a page, and what makes one: records, and numbers as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..records import TOTAL, InstanceRecord, Record, read_record

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


class Table(NamedTuple):
    """The head of a table and its rows. The first `words` columns are words, the others numbers."""

    head: list[str]
    rows: list[list[str]]
    words: int = 1


class Shown(NamedTuple):
    """A table of a page: the function that makes it, and the names of the records that this reads."""

    make: Callable[..., Table]
    records: tuple[str, ...]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        return markdown(self.make(*self.records))

    def caption(self) -> str:
        """Return where the numbers come from."""
        return " ".join(dict.fromkeys(sentence for name in self.records for sentence in sources(name)))


def path_of(name: str) -> Path:
    """Return the file of a record."""
    return RESULTS / f"{name}.jsonl"


@cache
def read(name: str) -> Record:
    """Return a record."""
    return read_record(path_of(name))


def instances(name: str, problem: str) -> list[InstanceRecord]:
    """Return the instances of a problem in the record of a run."""
    found = [InstanceRecord.from_dict(row) for row in read(name).rows]
    return [record for record in found if record.problem == problem]


def parts_of(header: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the headers of the runs that a record joins, or its own."""
    return header.get("parts") or [header]


def machine(header: Mapping[str, Any]) -> str:
    """Return a machine in words: its processor, cores and GPUs."""
    found = header["machine"]
    family = re.search(r"EPYC|Xeon|Ryzen|Core", found["cpu"] or "")
    maker = {"EPYC": "AMD ", "Ryzen": "AMD "}.get(family[0], "Intel ") if family else ""
    gpus = [gpu["name"].split()[1] for gpu in found["gpus"]]
    count = f"{len(gpus)} " if len(gpus) > 1 else ""
    words = f"{maker}{family[0] if family else found['cpu']} with {found['cores']} cores"
    return f"{words} beside {count}{gpus[0]}" if gpus else words


def sources(name: str) -> list[str]:
    """Return what a caption says of a record: machine, day, commit and command of its runs, and a note."""
    header = read(name).header
    runs = []
    for part in parts_of(header):
        commit = part.get("commit") or part.get("versions", {}).get("commit")
        at = f"commit {commit}" if commit else f"recorded in commit {part.get('added', 'unknown')}"
        busy = ", which had other work" if part.get("busy") else ""
        command = f", `{part['command']}`" if part["command"] else ""
        runs.append(f"{machine(part)}{busy}, {part['date'][:10]}, {at}{command}")
    found = [f"Record `{name}`: {'; '.join(dict.fromkeys(runs))}."]
    return found + ([f"Measured: {header['note']}."] if "note" in header else [])


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
