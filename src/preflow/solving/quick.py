"""Small calls: a road in front of :class:`.call.Call`, on which one kernel checks and solves.

The full road reads, plans and wraps for some tenths of a millisecond, many times what a small instance takes
to solve. So a public function first asks :func:`is_plain` whether the caller leaves all to "auto". If so, a
function of the problem takes an instance that is an array of a usual dtype. Its one kernel checks the
instance, solves it with the kernels of the method that "auto" takes, in memory that each thread keeps, and
writes the answer. For anything else, and for any doubt, it returns None: then the full road solves the
instance, or says what is wrong with it.

The result has the answer. The statistics and the instance as the package stores it are made when they are
first read, from the call that the full road prepares: see :meth:`.read_only.ReadOnlyArrays._made_later`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TypeVar

from ..arrays import Array, Untyped
from ..progress import Reporter
from ..stats import SolveStats
from .call import Call
from .timing import compile_seconds

Stats = TypeVar("Stats", bound=SolveStats)

AUTO = "auto"


def is_plain(
    method: str,
    device: str,
    threads: int | None,
    time_limit: float | None,
    progress: bool | Reporter,
    options: Mapping[str, Untyped] | None,
) -> bool:
    """Whether these arguments of a call are the defaults."""
    return (
        method is device is AUTO
        and threads is None
        and time_limit is None
        and progress is False
        and options is None
    )


class Memory(threading.local):
    """Memory that each thread keeps for its small solves, by the kind of the numbers."""

    def __init__(self) -> None:
        self.kept: dict[object, Untyped] = {}


class Watch:
    """The time from its creation to its end, and how much of it the compiler took."""

    __slots__ = ("begin", "compiled", "taken")

    def __init__(self) -> None:
        self.compiled = compile_seconds()
        self.begin = time.perf_counter()

    def end(self) -> None:
        """Stop."""
        self.taken = time.perf_counter() - self.begin
        self.compiled = compile_seconds() - self.compiled


def stats_of(call: Call[Untyped], kind: type[Stats], counts: Array, watch: Watch) -> Stats:
    """Return the record of a small solve, for the call that the full road prepares."""
    call.control.thread_counts[0] = counts
    call.seconds = {"build": 0.0, "solve": watch.taken - watch.compiled, "recover": 0.0}
    if watch.compiled:
        call.seconds["compile"] = watch.compiled
    return call.stats(kind)
