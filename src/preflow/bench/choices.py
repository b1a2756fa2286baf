"""How far "auto" is from the best method of preflow on each instance: what the suites "traps" are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .problem import TOTAL, method_and_threads
from .runner import InstanceRecord

#: Suites whose report has the comparison.
SUITES = ("traps",)
AUTO = "auto"


class Choice(NamedTuple):
    """The time of "auto" on an instance beside that of the best method.

    Attributes
    ----------
    problem, instance : str
    threads : int or None
        What every contestant of the comparison may use at most; None where no number was given.
    method : str
        What "auto" chose.
    seconds : float
        Median time of "auto".
    best : str
        The contestant with the least median time, "auto" left out.
    ratio : float
        The time of "auto" over that of the best.
    """

    problem: str
    instance: str
    threads: int | None
    method: str
    seconds: float
    best: str
    ratio: float


def choices(records: Sequence[InstanceRecord]) -> list[Choice]:
    """Return the comparison for every instance of the suites and every number of threads of "auto"."""
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
    """Return whether a contestant other than "auto" uses no more threads than "auto" may."""
    method, threads = method_and_threads(contestant)
    return method != AUTO and (most_threads is None or threads is None or threads <= most_threads)
