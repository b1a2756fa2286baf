"""Small calls: a road in front of :class:`.call.Call`, on which one kernel checks and solves.

The full road reads, plans and wraps for some tenths of a millisecond, many times what a small instance takes
to solve. So a public function first asks :func:`.call.is_plain` whether the caller leaves all to "auto". If
so, the module `small` of the problem takes the instance. Its one kernel solves it with the kernels of a
method, in memory that each thread keeps, and writes the answer. For larger instances, and for any doubt, it
returns None: then the full road solves the instance, or says what is wrong with it.

The result has the answer. The statistics and the instance as the package stores it are made when they are
first read, from the call that the full road prepares: see :meth:`.read_only.ReadOnlyArrays._made_later`.
"""

from __future__ import annotations

import threading
import time
from typing import TypeVar

from ..arrays import Array, Untyped
from ..stats import SolveStats
from .call import Call
from .timing import compile_seconds

Stats = TypeVar("Stats", bound=SolveStats)


class Memory(threading.local):
    """Memory that each thread keeps for its small solves, by the kind of the numbers."""

    def __init__(self) -> None:
        self.kept: dict[object, Untyped] = {}


class Watch:
    """The time from its creation to its end, how much of it the compiler took, and that of phases before."""

    __slots__ = ("before", "begin", "compiled", "taken")

    def __init__(self, before: dict[str, float] | None = None) -> None:
        self.before = before or {}
        self.compiled = compile_seconds()
        self.begin = time.perf_counter()

    def begin_solve(self) -> None:
        """Count the time so far as that of the phase "build"."""
        now = time.perf_counter()
        self.before = {"build": now - self.begin}
        self.begin = now

    def end(self) -> None:
        """Stop."""
        self.taken = time.perf_counter() - self.begin
        self.compiled = compile_seconds() - self.compiled


def stats_of(call: Call[Untyped], kind: type[Stats], counts: Array, watch: Watch, **more: Untyped) -> Stats:
    """Return the record of a small solve, for the call that the full road prepares."""
    call.control.thread_counts[0] = counts
    call.seconds = {"build": 0.0, "solve": watch.taken - watch.compiled, "recover": 0.0, **watch.before}
    if watch.compiled:
        call.seconds["compile"] = watch.compiled
    return call.stats(kind, **more)
