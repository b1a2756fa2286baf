"""Run a driver's cases, count what they did, and keep what fails.

A case is plain JSON: what a driver makes of one random source, and all that its check needs. Case `i` of a
seed is the same in every run, so a seed and a number name a case also where the process died of it.
"""

from __future__ import annotations

import json
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preflow.solving.timing import compile_seconds

from .shrink import shrink

Case = dict[str, Any]
Tally = Counter[str]

CORPUS = Path(__file__).parent / "corpus"
#: Seconds that making one failing case smaller may take, and failures of a run that are made smaller.
SHRINK_SECONDS, MOST_SHRUNK = 5.0, 12
#: A driver is warm once it compiled nothing in this number of cases; it stops warming after these seconds.
WARM_CASES, WARM_SECONDS = 600, 240.0


class WrongError(Exception):
    """preflow broke a promise; `kind` is the same for every case of one fault."""

    def __init__(self, kind: str, message: str = "") -> None:
        self.kind = kind
        super().__init__(f"{kind}: {message}" if message else kind)


@dataclass
class Failure:
    """One kind of failure, with its first case."""

    driver: str
    kind: str
    message: str
    seed: int
    index: int
    case: Case
    count: int = 1


@dataclass
class Report:
    """What a run did.

    Attributes
    ----------
    driver : str
    seed : int
    seconds : float
        What it took, without compiling.
    tally : Counter
        How often each thing happened: "cases", "solves", "method NAME", "refused", "files" and so on.
    failures : dict of Failure, by kind
    """

    driver: str
    seed: int
    seconds: float = 0.0
    tally: Tally = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {count:,}" for name, count in sorted(self.tally.items()))
        lines = [f"{self.driver}, seed {self.seed}, {self.seconds:.1f} s: {counts}"]
        for failure in self.failures.values():
            lines.append(f"  FAILED {failure.count} times, first in case {failure.index}: {failure.message}")
            lines.append(f"  {json.dumps(failure.case)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Driver:
    """A source of cases and their check.

    Attributes
    ----------
    name : str
    make : function of a random source
        Returns a case. With ``quick=True`` one that needs few kernels.
    check : function of a case and a tally
        Raises WrongError where preflow breaks a promise; any other exception is a failure, too.
    share : float
        How much of a campaign's time it gets, relative to the others.
    reductions : function of a case
        Yields smaller cases where deleting parts of lists does not give any.
    """

    name: str
    make: Callable[..., Case]
    check: Callable[[Case, Tally], None]
    share: float = 1.0
    reductions: Callable[[Case], Iterator[Case]] = lambda case: iter(())

    def case(self, seed: int, index: int, *, quick: bool = False) -> Case:
        """Return one case of a seed."""
        return self.make(random.Random(seed * 1_000_003 + index), quick=quick)

    def run(
        self,
        seed: int,
        seconds: float,
        *,
        first: int = 0,
        most: int = 10**12,
        quick: bool = False,
        started: Callable[[int], None] = lambda index: None,
    ) -> Report:
        """Check case after case for some seconds, `most` at most; `started` is told the number of each."""
        report = Report(self.name, seed)
        begin, compiled = time.monotonic(), compile_seconds()
        index = first
        while report.seconds < seconds and index < first + most:
            started(index)
            case = self.case(seed, index, quick=quick)
            report.tally["cases"] += 1
            found = self.failure(case, report.tally)
            if found is not None:
                self._record(report, found, index, case)
            index += 1
            report.seconds = time.monotonic() - begin - (compile_seconds() - compiled)
        return report

    def warm(self, *, quick: bool = False, started: Callable[[int], None] = lambda index: None) -> None:
        """Check cases until they compile nothing more."""
        begin, compiled, idle, index = time.monotonic(), compile_seconds(), 0, 0
        while idle < WARM_CASES and time.monotonic() - begin < WARM_SECONDS:
            started(index)
            self.failure(self.case(1, index, quick=quick), Counter())
            index, idle = index + 1, idle + 1
            if compile_seconds() > compiled:
                compiled, idle = compile_seconds(), 0

    def failure(self, case: Case, tally: Tally) -> tuple[str, str] | None:
        """Check a case and return the kind of its failure and a message, None where all is well."""
        try:
            self.check(case, tally)
        except WrongError as error:
            return error.kind, str(error)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            last = next((frame for frame in reversed(frames) if "preflow" in frame.filename), frames[-1])
            place = f"{Path(last.filename).name}, {last.name}"
            return f"{type(error).__name__} in {place}", f"{type(error).__name__} in {place}: {error}"[:600]
        return None

    def _record(self, report: Report, found: tuple[str, str], index: int, case: Case) -> None:
        kind, message = found
        known = report.failures.get(kind)
        if known is not None:
            known.count += 1
            return
        if len(report.failures) < MOST_SHRUNK:
            case = shrink(case, lambda smaller: self._kind(smaller) == kind, SHRINK_SECONDS, self.reductions)
            message = (self.failure(case, Counter()) or found)[1]
        report.failures[kind] = Failure(self.name, kind, message, report.seed, index, case)

    def _kind(self, case: Case) -> str | None:
        found = self.failure(case, Counter())
        return None if found is None else found[0]


def require(condition: Any, kind: str, message: str = "") -> None:
    """Raise a WrongError unless a condition holds."""
    if not condition:
        raise WrongError(kind, message)


def corpus_entries() -> list[tuple[str, dict[str, Any]]]:
    """Return the names and contents of the cases that once failed."""
    return [(path.stem, json.loads(path.read_text())) for path in sorted(CORPUS.glob("*.json"))]


def corpus_text(failure: Failure) -> str:
    """Return a failure as an entry of the corpus."""
    return json.dumps({"driver": failure.driver, "why": failure.message[:200], "case": failure.case}) + "\n"
