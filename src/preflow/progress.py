"""Progress of a running solve: what is reported, and a line on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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
    """

    elapsed: float
    settled: float
    relabels: int
    global_relabels: int
    compiling: str = ""


Reporter = Callable[[ProgressReport], None]


@contextmanager
def reporting(progress: bool | Reporter) -> Iterator[Reporter | None]:
    """Yield the function to call with each report; True draws a line on standard error with rich."""
    if callable(progress):
        yield progress
        return
    if not isinstance(progress, bool):
        raise InvalidInputError(f"progress is a bool or a function, got {progress!r}")
    if not progress:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:5.1f} %"),
        TextColumn("{task.fields[relabels]:,} relabels"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("settled", total=1.0, relabels=0)

        def draw(report: ProgressReport) -> None:
            doing = f"compiling {report.compiling}" if report.compiling else "settled"
            bar.update(task, description=doing, completed=report.settled, relabels=report.relabels)

        yield draw
