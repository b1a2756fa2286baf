"""Times of the phases of a solve. Compiling is not part of a phase; its time is counted separately."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

#: When the compilations that are under way began, the outermost first, and how long earlier ones took.
_began: list[float] = []
_earlier = 0.0
#: Held while these change.
_counting = threading.Lock()
#: What is compiled, as in "max_flow for int32"; empty where nothing is.
_compiled = ""


def begin_compiling(what: str = "") -> None:
    """Count the time from now on, for `what`; compilations that begin before its end are part of it."""
    global _compiled
    with _counting:
        if not _began:
            _compiled = what
        _began.append(time.perf_counter())


def end_compiling(depth: int | None = None) -> None:
    """Stop counting for the compilation that began last, or for all but the first `depth`."""
    global _earlier
    with _counting:
        depth = len(_began) - 1 if depth is None else depth
        if depth == 0 and _began:
            _earlier += time.perf_counter() - _began[0]
        del _began[depth:]


def compilations() -> int:
    """Return how many are under way."""
    return len(_began)


def what_is_compiled() -> str:
    """Return what is being compiled, as in "max_flow for int32"; empty if nothing is."""
    return _compiled if _began else ""


def compile_seconds() -> float:
    """Return the time this process has spent compiling kernels so far."""
    if not _began:
        return _earlier
    with _counting:
        return _earlier + sum(time.perf_counter() - begin for begin in _began[:1])


@contextmanager
def counted_as_compiling(what: str = "") -> Iterator[None]:
    """Count the time of a compiler that runs within, for `what`."""
    begin_compiling(what)
    try:
        yield
    finally:
        end_compiling()


class timed:  # noqa: N801 (it reads as a word of the statement)
    """Add the time of the block to that of its phase, and the time of compiling to "compile".

    `finish` waits until work that the block only started is done, as on a GPU. A block that raises adds none.
    """

    __slots__ = ("_compiled", "_finish", "_phase", "_seconds", "_start")

    def __init__(
        self, seconds: dict[str, float], phase: str, finish: Callable[[], None] | None = None
    ) -> None:
        self._seconds, self._phase, self._finish = seconds, phase, finish

    def __enter__(self) -> None:
        self._start, self._compiled = time.perf_counter(), compile_seconds()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            return
        if self._finish is not None:
            self._finish()
        seconds, compiling = self._seconds, compile_seconds() - self._compiled
        taken = time.perf_counter() - self._start - compiling
        seconds[self._phase] = seconds.get(self._phase, 0.0) + taken
        if compiling:
            seconds["compile"] = seconds.get("compile", 0.0) + compiling


def solving_seconds(seconds: Mapping[str, float]) -> float:
    """Return the sum of the phases, without "compile"."""
    return sum(taken for phase, taken in seconds.items() if phase != "compile")
