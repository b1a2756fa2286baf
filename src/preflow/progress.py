"""Progress of a running solve: what is reported, and a line on the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from shutil import get_terminal_size
from typing import Literal

from .errors import InvalidInputError


@dataclass(frozen=True)
class ProgressReport:
    """A moment of a running solve.

    Attributes
    ----------
    elapsed : float
        Seconds since the start.
    settled : float
        Share of the source's excess that has reached the sink or is known never to, from 0 to 1, as of
        the last global relabel.
    relabels, global_relabels : int
        So far, as of the last global relabel.
    compiling : str
        What is being compiled, as in "max_flow for int32": the solve waits for it. Empty if nothing is.
    step : str
        Of a solve in steps, such as alpha-expansion, how many are done, as in "label 3 of 16, sweep 2". Then
        `settled` is their share, and no relabels are counted. Empty for other solves.
    """

    elapsed: float
    settled: float
    relabels: int
    global_relabels: int
    compiling: str = ""
    step: str = ""


Reporter = Callable[[ProgressReport], None]


class Steps:
    """Reports of a solve in steps.

    `part` is written before each step, as in "left view: ", and `span` is the part of the bar that it fills.
    """

    def __init__(self, report: Reporter | None) -> None:
        self.report = report
        self.part = ""
        self.span = (0.0, 1.0)
        self._start = time.perf_counter()

    def done(self, name: str, done: int, total: int, *, sweep: int = 0, sweeps: int = 1) -> None:
        """Report that `done` of `total` steps are done, in a sweep of at most `sweeps`, if there are sweeps.

        How many sweeps there will be is not known. So each fills half of what is left, and the bar never goes
        back.
        """
        if self.report is None:
            return
        left = 0.5 ** max(sweep - 1, 0)
        share = 1 - left + left * (done / total if total else 1.0) * (1.0 if sweep in (0, sweeps) else 0.5)
        share = self.span[0] + (self.span[1] - self.span[0]) * share
        text = f"{self.part}{name} {done:,} of {total:,}{f', sweep {sweep}' if sweep else ''}"
        self.report(ProgressReport(time.perf_counter() - self._start, share, 0, 0, step=text))


def part_of(report: Reporter | None, first: float, last: float) -> Reporter | Literal[False]:
    """Return the `progress` of a solve within another one: its reports fill a part of the bar."""
    if report is None:
        return False

    def within(moment: ProgressReport) -> None:
        report(replace(moment, settled=first + (last - first) * moment.settled))

    return within


def _growing(report: Reporter) -> Reporter:
    """Return a function that reports the largest share so far: what is left may grow in a solve."""
    shares = [0.0]

    def grown(moment: ProgressReport) -> None:
        shares[0] = max(shares[0], moment.settled)
        report(replace(moment, settled=shares[0]))

    return grown


@contextmanager
def reporting(progress: bool | Reporter) -> Iterator[Reporter | None]:
    """Yield the function to call with each report; True draws a line on standard error."""
    if callable(progress):
        yield _growing(progress)
        return
    if not isinstance(progress, bool):
        raise InvalidInputError(f"progress must be a bool or a function, got {progress!r}")
    if not progress:
        yield None
        return
    from tqdm import tqdm

    layout = "{desc} |{bar:20}| {percentage:5.1f} %{postfix}"
    columns, lines = get_terminal_size()  # of a terminal without a size, too: there tqdm prints nothing
    with tqdm(total=1.0, desc="settled", bar_format=layout, leave=False, ncols=columns, nrows=lines) as bar:

        def draw(report: ProgressReport) -> None:
            bar.n = report.settled
            doing = "done" if report.step else "settled"
            if report.compiling:
                doing = f"compiling {report.compiling}"
            bar.set_description_str(doing, refresh=False)
            counted = report.step or f"{report.relabels:,} relabels"
            bar.set_postfix_str(f"{counted}, {report.elapsed:.0f} s")

        yield _growing(draw)
