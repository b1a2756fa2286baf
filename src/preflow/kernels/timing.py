"""The time that the phases of a solve take, without what is compiled on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .kernel import compile_seconds


@contextmanager
def timed(seconds: dict[str, float], phase: str, finish: Callable[[], None] | None = None) -> Iterator[None]:
    """Add the time of what is done in there to that of its phase, of compiling to "compile".

    `finish` waits for what was only begun, as on a GPU.
    """
    start, compiled = time.perf_counter(), compile_seconds()
    yield
    if finish is not None:
        finish()
    compiling = compile_seconds() - compiled
    seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - start - compiling
    if compiling:
        seconds["compile"] = seconds.get("compile", 0.0) + compiling
