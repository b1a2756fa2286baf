"""The report of a benchmark run: ratios to a baseline, as Markdown and as plain values."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .choices import choices
from .problem import Suite, Table
from .problems import PROBLEMS
from .profiles import Times
from .records import PHASES, TOTAL, InstanceRecord, Measurement
from .scaling import PARTS, SpeedUps, speed_ups, thread_counts

#: The version of the format. It increases when programs that read records must change.
FORMAT = 2
#: The key of the peak memory, beside the phases.
MEMORY = "peak memory"


@dataclass(frozen=True)
class Heading:
    """A problem in the report.

    Attributes
    ----------
    problem : str
    score : str
        The phase that the profiles compare.
    score_text : str
        A description of that phase for readers.
    remarks : dict
        Notes for readers, by contestant.
    """

    problem: str
    score: str
    score_text: str
    remarks: dict[str, str]


@dataclass
class BenchReport:
    """The results of a benchmark run.

    Attributes
    ----------
    date : str
        The time of the begin, UTC.
    machine, versions, settings : dict
    baseline : str or None
        The contestant that the ratios are relative to. None if no contestant took part.
    problems : list of Heading
    left_out : list of dict
        Contestants and instances that could not take part: "what" and "why".
    records : list of InstanceRecord
    command : str
        The command that made the report, empty if none did.
    """

    date: str
    machine: dict[str, Any]
    versions: dict[str, str]
    settings: dict[str, Any]
    baseline: str | None
    problems: list[Heading]
    left_out: list[dict[str, str]] = field(default_factory=list)
    records: list[InstanceRecord] = field(default_factory=list)
    command: str = ""

    @property
    def faults(self) -> list[str]:
        """Disagreements about values, and failures of methods of preflow."""
        found = [text for record in self.records if (text := record.disagreement()) is not None]
        for record in self.records:
            for each in record.measurements:
                if each.status == "failed" and each.contestant.startswith("preflow:"):
                    found.append(f"{record.problem} of {record.name}: {each.contestant} failed: {each.note}")
        return found

    def of_problem(self, problem: str) -> list[InstanceRecord]:
        """Return the records of a problem."""
        return [record for record in self.records if record.problem == problem]

    def contestants(self, problem: str) -> list[str]:
        """Return the contestants of a problem, in order."""
        names = (each.contestant for record in self.of_problem(problem) for each in record.measurements)
        return list(dict.fromkeys(names))

    def times(self, problem: str, phase: str) -> Times:
        """Return the median times on each instance, of each contestant that has a time."""
        records = self.of_problem(problem)
        rows = {
            name: [_median(record, name, phase) for record in records] for name in self.contestants(problem)
        }
        return {name: row for name, row in rows.items() if any(t is not None for t in row)}

    def ratios(self, problem: str, contestant: str, phase: str) -> list[float]:
        """Return a contestant's median times, or peak memory, divided by the baseline's.

        An instance counts only if both have a value.
        """
        ratios = (_ratio(record, contestant, self.baseline, phase) for record in self.of_problem(problem))
        return [ratio for ratio in ratios if ratio is not None]

    def header(self) -> dict[str, Any]:
        """Return all but the records as plain values for JSON."""
        return {
            "format": FORMAT,
            "date": self.date,
            "command": self.command,
            "machine": self.machine,
            "versions": self.versions,
            "settings": self.settings,
            "baseline": self.baseline,
            "left_out": self.left_out,
            "problems": [asdict(heading) for heading in self.problems],
        }

    def summary(self, problem: str) -> dict[str, dict[str, Any]]:
        """Return the statistics of the ratios to the baseline, by contestant and phase."""
        summaries: dict[str, dict[str, Any]] = {}
        for name in self.contestants(problem):
            for phase in (TOTAL, "solve", MEMORY):
                if name != self.baseline and (ratios := self.ratios(problem, name, phase)):
                    summaries.setdefault(name, {})[phase] = {
                        "instances": len(ratios),
                        "median": statistics.median(ratios),
                        "geometric_mean": math.exp(statistics.fmean(map(math.log, ratios))),
                        "best": min(ratios),
                        "worst": max(ratios),
                    }
        return summaries

    def to_markdown(self, pictures: dict[str, list[str]]) -> str:
        """Return the report as Markdown; `pictures` are file names by problem."""
        about = _machine_text(self.machine, self.versions, self.settings)
        parts = [f"# Benchmark of preflow, {self.date}", about]
        if self.faults:
            parts.append("**The run failed:**\n\n" + _bullets(self.faults))
        if self.left_out:
            parts.append("Left out:\n\n" + _bullets(_reasons(self.left_out)))
        for heading in self.problems:
            if self.of_problem(heading.problem):
                parts += self._problem_parts(heading, pictures.get(heading.problem, []))
        return "\n\n".join(parts) + "\n"

    def _problem_parts(self, heading: Heading, pictures: Sequence[str]) -> list[str]:
        records = self.of_problem(heading.problem)
        parts = [f"## {heading.problem}"]
        parts += [f"![{Path(name).stem.replace('-', ' ')}]({name})" for name in pictures]
        if rows := self._summary_rows(heading.problem):
            header = ["contestant", "phase", "instances", "median", "geometric mean", "best", "worst"]
            parts.append(
                f"Times and memory over those of {self.baseline}, below 1 is less:\n\n{_table(header, rows)}"
            )
        names = self.contestants(heading.problem)
        rows = [
            [record.name, *(self._cell(record, name, heading.score) for name in names)] for record in records
        ]
        over = f", and over {self.baseline}'s" if self.baseline else ""
        parts.append(f"Median seconds, {heading.score_text}{over}:\n\n{_table(['instance', *names], rows)}")
        if remarks := [f"{name}: {text}" for name, text in heading.remarks.items() if name in names and text]:
            parts.append(_bullets(remarks))
        tables = speed_up_tables(records)
        for suite, members in suites_of(heading.problem, records):
            tables += suite.tables(members)
        tables += choice_tables(records)
        parts += [f"{each.title}:\n\n{_table(each.header, each.rows)}" for each in tables]
        header = ["instance", "contestant", *PHASES, TOTAL, "fastest", "peak MiB", "value", "note"]
        details = [_detail_row(record, each) for record in records for each in record.measurements]
        parts.append(f"Median seconds of every phase:\n\n{_table(header, details)}")
        if chosen := _choices(records):
            parts.append("What auto chose:\n\n" + _bullets(chosen))
        return parts

    def _summary_rows(self, problem: str) -> list[list[str]]:
        columns = ("median", "geometric_mean", "best", "worst")
        return [
            [name, phase, str(numbers["instances"]), *(f"{numbers[column]:.2f}" for column in columns)]
            for name, phases in self.summary(problem).items()
            for phase, numbers in phases.items()
        ]

    def _cell(self, record: InstanceRecord, contestant: str, phase: str) -> str:
        time = _median(record, contestant, phase)
        if time is None:
            measurement = record.of(contestant)
            return "-" if measurement is None else measurement.status
        ratio = _ratio(record, contestant, self.baseline, phase)
        return (
            seconds_text(time)
            if ratio is None or contestant == self.baseline
            else f"{seconds_text(time)} ({ratio:.2f})"
        )


def _median(record: InstanceRecord, contestant: str, phase: str) -> float | None:
    measurement = record.of(contestant)
    if measurement is None:
        return None
    return measurement.peak_bytes if phase == MEMORY else measurement.median(phase)


def _ratio(record: InstanceRecord, contestant: str, baseline: str | None, phase: str) -> float | None:
    time = _median(record, contestant, phase)
    base = None if baseline is None else _median(record, baseline, phase)
    return None if not time or not base else time / base


def _detail_row(record: InstanceRecord, measurement: Measurement) -> list[str]:
    peak = measurement.peak_bytes
    fastest = min(measurement.all_seconds(TOTAL), default=None)
    note = "" if measurement.status == "measured" else f"{measurement.status}: {measurement.note}"
    return [
        record.name,
        measurement.contestant,
        *(seconds_text(measurement.median(phase)) for phase in (*PHASES, TOTAL)),
        seconds_text(fastest),
        "" if peak is None else f"{peak / 2**20:,.0f}",
        "" if measurement.value is None else f"{measurement.value:,}",
        note,
    ]


def suites_of(problem: str, records: Sequence[InstanceRecord]) -> list[tuple[Suite, list[InstanceRecord]]]:
    """Return the suites of the records that this process knows, each with its records."""
    groups: dict[str, list[InstanceRecord]] = {}
    for record in records:
        groups.setdefault(record.suite, []).append(record)
    known = PROBLEMS[problem].suites
    return [(known[name], members) for name, members in groups.items() if name in known]


def speed_up_tables(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return a table of the speed-ups over one thread for each part that has any."""
    tables = []
    for part, text in PARTS.items():
        if table := speed_ups(records, part):
            threads = thread_counts(table)
            header = ["instances", "method, by number of threads", *map(str, threads)]
            tables.append(Table(f"Speed-up over one thread, {text}", header, _speed_up_rows(table, threads)))
    return tables


def choice_tables(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return the table of the times of "auto" over those of the best method, if a suite compares them."""
    rows = [
        [
            row.instance,
            "all" if row.threads is None else str(row.threads),
            row.method,
            seconds_text(row.seconds),
            row.best,
            f"{row.ratio:.2f}",
        ]
        for row in choices(records)
    ]
    if not rows:
        return []
    header = ["instance", "threads", "auto chose", "its seconds", "best method", "ratio"]
    return [Table("auto beside the best method on as many threads or fewer", header, rows)]


def _speed_up_rows(table: SpeedUps, threads: Sequence[int]) -> list[list[str]]:
    return [
        [group, method, *(f"{curve[count]:.2f}" if count in curve else "" for count in threads)]
        for group, curves in table.items()
        for method, curve in curves.items()
    ]


def _choices(records: Sequence[InstanceRecord]) -> list[str]:
    chosen: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for each in record.measurements:
            if each.contestant.partition("@")[0] == "preflow:auto" and "method" in each.detail:
                key = (each.detail["method"], each.detail["reason"])
                chosen.setdefault(key, []).append(
                    f"{record.name}{each.contestant.removeprefix('preflow:auto')}"
                )
    return [f"{method} on {', '.join(names)}: {reason}" for (method, reason), names in chosen.items()]


def _machine_text(machine: dict[str, Any], versions: dict[str, str], settings: dict[str, Any]) -> str:
    memory = machine["memory_bytes"]
    gpus = [
        f"{gpu['name']} ({gpu['memory.total']}, driver {gpu['driver_version']})" for gpu in machine["gpus"]
    ]
    cores = f"{machine['usable_cores']} of {machine['cores']} cores usable"
    size = "memory unknown" if memory is None else f"{memory / 2**30:.0f} GiB"
    load = machine["load_average"]
    return _bullets(
        [
            f"{machine['cpu'] or 'processor unknown'}, {cores}, {size}",
            f"GPU: {', '.join(gpus) or 'none'}",
            f"{machine['system']}, {machine['python']}, "
            f"transparent huge pages: {machine['transparent_huge_pages'] or 'unknown'}",
            "load average at the start "
            + ("unknown" if load is None else " ".join(f"{x:.2f}" for x in load)),
            ", ".join(f"{name} {version}" for name, version in versions.items()),
            ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items()),
        ]
    )


def seconds_text(time: float | None) -> str:
    """Return a time for a table."""
    return "" if time is None else f"{time:.3g}"


def _reasons(left_out: Sequence[dict[str, str]]) -> list[str]:
    """Return the reasons for leaving something out, with one line for each reason.

    Instances that lack the same contestants share the names of these.
    """
    lacking: dict[str, dict[str, list[str]]] = {}
    for each in left_out:
        contestant, _, instance = each["what"].partition(" on ")
        lacking.setdefault(each["why"], {}).setdefault(instance, []).append(contestant)
    lines = []
    for why, by_instance in lacking.items():
        together: dict[tuple[str, ...], list[str]] = {}
        for instance, names in by_instance.items():
            together.setdefault(tuple(names), []).append(instance)
        parts = [
            ", ".join(names) + (f" on {', '.join(instances)}" if instances != [""] else "")
            for names, instances in together.items()
        ]
        lines.append(f"{'; '.join(parts)}: {why}")
    return lines


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
