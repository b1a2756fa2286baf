"""Write a report as a record, Markdown and pictures, and join reports that were written before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from preflow.errors import InvalidInputError

from .profiles import draw_performance_profile, draw_speed_up_profile, draw_speed_ups
from .records import InstanceRecord, Record, read_record, write_record
from .report import FORMAT, BenchReport, Heading, suites_of
from .scaling import PARTS, speed_ups

#: The name of the record in the folder of a run.
RECORD = "bench.jsonl"


def write_report(report: BenchReport, folder: Path, *, plots: bool) -> list[Path]:
    """Write the record, bench.md and the pictures, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / RECORD, folder / "bench.md"]
    write_record(written[0], report.header(), [record.to_dict() for record in report.records])
    pictures: dict[str, list[str]] = {}
    for heading in report.problems if plots else []:
        drawn = _draw(report, heading, folder)
        pictures[heading.problem] = [path.name for path in drawn]
        written += drawn
    written[1].write_text(report.to_markdown(pictures))
    return written


def _draw(report: BenchReport, heading: Heading, folder: Path) -> list[Path]:
    """Write the pictures of a problem and return their paths."""
    problem, records = heading.problem, report.of_problem(heading.problem)
    drawn: list[Path] = []

    def new(name: str) -> Path:
        drawn.append(folder / f"{name}-{problem}.png")
        return drawn[-1]

    if times := report.times(problem, heading.score):
        count = len(records)
        title = f"{problem}, {heading.score_text}, {count} instance{'s' if count > 1 else ''}"
        draw_performance_profile(times, title, new("performance-profile"))
        if report.baseline is not None and report.baseline in times and len(times) > 1:
            draw_speed_up_profile(times, report.baseline, title, new("speed-up-profile"))
    for part, text in PARTS.items():
        if curves := speed_ups(records, part):
            draw_speed_ups(curves, f"{problem}, {text}", new(f"speed-up-by-threads-{part}"))
    for suite, members in suites_of(problem, records):
        drawn += suite.draw(members, folder)
    return drawn


def join_reports(files: Sequence[str | Path], out: str | Path, *, plots: bool = True) -> BenchReport:
    """Join the reports of several runs on one machine into one report.

    Parameters
    ----------
    files : sequence of str or Path
        The records of the runs. The report has the date, machine, settings and baseline of the
        first. If two runs measured the same contestant on the same instance, the first counts.
    out : str or Path
        The folder for the report.
    plots : bool

    Returns
    -------
    BenchReport
    """
    report = read_reports(files)
    write_report(report, Path(out), plots=plots)
    return report


def read_reports(files: Sequence[str | Path]) -> BenchReport:
    """Return the reports of several runs as one, as :func:`join_reports` does, and write nothing."""
    runs = [_read(file) for file in files]
    headings: dict[str, Heading] = {}
    records: dict[tuple[str, str], InstanceRecord] = {}
    left_out: list[dict[str, str]] = []
    for header, rows in runs:
        left_out += [entry for entry in header["left_out"] if entry not in left_out]
        for heading in (Heading(**entry) for entry in header["problems"]):
            headings.setdefault(heading.problem, heading).remarks.update(heading.remarks)
        for new in map(InstanceRecord.from_dict, rows):
            record = records.setdefault((new.problem, new.name), new)
            record.measurements += [each for each in new.measurements if record.of(each.contestant) is None]
    first = runs[0].header
    return BenchReport(
        first["date"],
        first["machine"],
        first["versions"],
        first["settings"],
        first["baseline"],
        list(headings.values()),
        left_out,
        list(records.values()),
        first.get("command", ""),
    )


def _read(file: str | Path) -> Record:
    """Return the record of a run, if it has this format."""
    record = read_record(file)
    if record.header.get("format") != FORMAT:
        raise InvalidInputError(f"{file} has another format than records of runs have now")
    return record
