"""The comparison of "auto" with the best method of preflow on each instance of the suites "traps"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .problem import method_and_threads
from .records import TOTAL, InstanceRecord

#: The suites with this comparison in their report.
SUITES = ("traps",)
AUTO = "auto"


class Choice(NamedTuple):
    """The time of "auto" on an instance beside that of the best method.

    Attributes
    ----------
    problem, instance : str
    threads : int or None
        The most threads that a contestant of the comparison may use. None if the user gave no number.
    method : str
        The method that "auto" chose.
    seconds : float
        The median time of "auto".
    best : str
        The contestant with the least median time, except "auto".
    ratio : float
        The time of "auto" divided by that of the best.
    """

    problem: str
    instance: str
    threads: int | None
    method: str
    seconds: float
    best: str
    ratio: float


def choices(records: Sequence[InstanceRecord]) -> list[Choice]:
    """Return the comparison for each instance of these suites and each number of threads of "auto"."""
    found = []
    for record in records:
        if record.suite not in SUITES:
            continue
        times = {
            each.contestant.removeprefix("preflow:"): each.median(TOTAL)
            for each in record.measurements
            if each.contestant.startswith("preflow:")
        }
        for name, seconds in times.items():
            method, threads = method_and_threads(name)
            if method != AUTO or seconds is None:
                continue
            others = {
                other: time
                for other, time in times.items()
                if time is not None and _takes_part(other, threads)
            }
            if others:
                best = min(others, key=others.__getitem__)
                measured = record.of(f"preflow:{name}")
                chosen = "" if measured is None else measured.detail.get("method", "")
                ratio = seconds / others[best]
                found.append(Choice(record.problem, record.name, threads, chosen, seconds, best, ratio))
    return found


def _takes_part(contestant: str, most_threads: int | None) -> bool:
    """Return whether a contestant is not "auto" and uses at most this number of threads."""
    method, threads = method_and_threads(contestant)
    return method != AUTO and (most_threads is None or threads is None or threads <= most_threads)
