"""Run a solver in a worker thread so that Ctrl-C, the time limit and progress work during any solve."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from operator import length_hint
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..checks import as_float, shown
from ..errors import InvalidInputError, SolverError
from ..progress import ProgressReport, Reporter, reporting
from ..stats import (
    ARC_SCANS,
    GLOBAL_RELABELS,
    PUSHES,
    RELABEL_OPERATIONS,
    RELABELS,
    WORK_LIMIT,
)
from .method import Method
from .monitor import Monitor
from .options import limit
from .outside import OutsideMethod
from .result import Status
from .threads import begin_tasks
from .timing import compile_seconds, what_is_compiled

Outcome = TypeVar("Outcome")

#: Seconds between two looks at the clock while a solver runs.
POLL_INTERVAL = 0.05
#: The same at least, where the time limit is near.
LEAST_PAUSE = 1e-3
#: Least time limit of a solve in seconds: it must be positive. The solve then reports that it was stopped.
LEAST_LIMIT = 1e-3
#: Counters a thread has room for: two cache lines.
COUNTER_ROW = 16


class Abandoned(BaseException):
    """Ends a solve whose caller was interrupted: nobody gets its answer."""


class GaveUp(BaseException):
    """Ends an attempt whose budget is spent, or that does not suit the instance; the text says why."""

    def __init__(self, reason: str, state: Any = None) -> None:
        super().__init__(reason)
        #: from which the next attempt goes on, where that is not the instance itself
        self.state = state


@dataclass
class Control:
    """State that a running solver shares with the thread that waits for it."""

    threads: int = 1  #: how many threads the solver runs on
    #: shape (1,): non-zero asks the kernels to return soon; they read it by an atomic load. Kernels on a GPU
    #: look every few milliseconds where :meth:`preflow.cuda.runtime.Device.make_stop_word` made it. Two
    #: things there run to their end: the search that proves the bounds of a stopped solve, and a walk along
    #: augmenting paths.
    stop: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    #: shape (threads, at least the number of counters): operation counters of each thread, see
    #: :mod:`preflow.stats`; a row fills cache lines of its own
    thread_counts: NDArray[np.uint64] = field(init=False)
    #: shape (2,): the work that is left, and the work at the start: ``Monitor.progress`` of all threads.
    #: Max-flow methods take the excess on active vertices as of the last global relabel, and all that the
    #: source can send.
    progress: NDArray[np.float64] = field(default_factory=lambda: np.ones(2))
    #: for stress tests of solvers on many cores, see :mod:`preflow.parallel.delays`
    delays: NDArray[np.uint64] | None = None
    #: of the attempt that runs, see :class:`preflow.solving.plan.Attempt`; None: it must not give up
    budget: float | None = None
    #: what the solver adds to the reason for its choice
    remarks: list[str] = field(default_factory=list)
    #: rules of the method that ended the solve without a proof
    unproved: list[str] = field(default_factory=list)
    #: the numbers of active vertices that a solver recorded: `active` of :class:`preflow.stats.SolveStats`
    active: list[int] = field(default_factory=list)
    #: has an entry once Ctrl-C has interrupted the caller
    interrupted: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.thread_counts = np.zeros((self.threads, COUNTER_ROW), dtype=np.uint64)

    def part(self, threads: int) -> Control:
        """Return the control of a part of the solve that runs on fewer threads; they share all else."""
        found = replace(self, threads=threads)
        found.thread_counts = self.thread_counts[:threads]
        return found

    def extend(self, threads: int) -> None:
        """Let a second solver go on, which runs on `threads` threads and adds to the counts of the first."""
        rows = np.zeros((threads, COUNTER_ROW), dtype=np.uint64)
        rows[0] = self.thread_counts.sum(axis=0)
        rows[:, [WORK_LIMIT, RELABEL_OPERATIONS]] = self.counts[[WORK_LIMIT, RELABEL_OPERATIONS]]
        self.threads, self.thread_counts = threads, rows

    @property
    def excess(self) -> NDArray[np.float64]:
        """The former name of `progress`, for methods from outside."""
        warnings.warn("control.excess is control.progress now", DeprecationWarning, stacklevel=2)
        return self.progress

    @property
    def operations(self) -> int:
        """The pushes, relabels and arc scans of all threads so far, and those that global relabels stand for.

        See :meth:`weigh_relabels`.
        """
        return self._made(self.thread_counts)

    def _made(self, rows: NDArray[np.uint64]) -> int:
        made = int(rows[:, [PUSHES, RELABELS, ARC_SCANS]].sum())
        relabels = int(rows[:, GLOBAL_RELABELS].sum())
        return made + relabels * int(self.counts[RELABEL_OPERATIONS])

    def allow(self, budget: float | None) -> None:
        """Give the attempt that begins its budget."""
        self.budget = budget

    def weigh_relabels(self, operations: int) -> None:
        """Let a global relabel count for this many operations."""
        self.thread_counts[:, RELABEL_OPERATIONS] = operations

    def limit_work(self, operations: int) -> None:
        """Let the method give up after this many operations more of all threads; 0: never.

        What a method that gives up returns means nothing.
        """
        self.thread_counts[:, WORK_LIMIT] = operations and self.operations + operations

    def limit_work_of(self, thread: int, operations: int) -> None:
        """Let one of several threads make this many operations more."""
        made = self._made(self.thread_counts[thread : thread + 1])
        self.thread_counts[thread, WORK_LIMIT] = made + operations

    def limit_by_budget(self, size: int, share: float = 1.0) -> None:
        """Allow the operations of a share of the budget from now on, for `size` arcs and vertices."""
        budget = inf if self.budget is None else self.budget
        self.limit_work(0 if budget == inf else max(1, int(limit(budget * share * size))))

    def check_budget(self, reason: str) -> None:
        """Raise GaveUp for a reason if the operations of the budget are made."""
        if self.budget is not None and self.gave_up:
            raise GaveUp(reason)

    @property
    def gave_up(self) -> bool:
        """Whether the method has made all operations that it may, and was not asked to stop."""
        return 0 < int(self.counts[WORK_LIMIT]) <= self.operations and not self.stopped

    @property
    def counts(self) -> NDArray[np.uint64]:
        """The counters of a serial solver."""
        row: NDArray[np.uint64] = self.thread_counts[0]
        return row

    def monitor(self, thread: int = 0) -> Monitor:
        """Return what the kernel of a thread shares with the caller."""
        return Monitor(self.stop, self.thread_counts[thread], self.progress)

    @property
    def stopped(self) -> bool:
        """Whether the solver was asked to stop."""
        return bool(self.stop[0])

    def check_wanted(self) -> None:
        """Raise Abandoned where the caller was interrupted; called before each phase of a solve."""
        if self.interrupted:
            raise Abandoned

    def status(
        self, method: Method, finished: bool, left: str = "no optimal solution", *, close: bool = True
    ) -> Status:
        """Return the status of a solve by `method` that did or did not finish; `left` is for the message.

        `close`: whether the gap of a finished solve is that of an optimal answer, see
        :func:`preflow.graph.scaling.is_close`. SolverError: the solve did not finish, although neither the
        stop flag nor a rule of the method ended it.
        """
        if finished:
            return "approximate" if method.approximate or not close else "optimal"
        if self.stopped:
            return "time-limit"
        if self.unproved:
            return "unproved"
        report = "" if isinstance(method, OutsideMethod) else ": please report this bug"
        raise SolverError(f"solver {method.name!r} left {left}, and nothing stopped it{report}")

    def report(self, elapsed: float) -> ProgressReport:
        """Return the progress as of now."""
        left, total = self.progress.tolist()
        settled = 1.0 - left / total if total > 0 else 1.0
        counts = self.thread_counts.sum(axis=0).tolist()
        return ProgressReport(elapsed, settled, counts[RELABELS], counts[GLOBAL_RELABELS], what_is_compiled())


def check_time_limit(time_limit: float | None) -> float | None:
    """Return `time_limit` as a float or None.

    InvalidInputError: it is neither None nor a positive number of seconds.
    """
    if time_limit is None:
        return None
    seconds = as_float("time_limit", time_limit, "a positive number of seconds")
    if not seconds > 0:
        raise InvalidInputError(f"time_limit must be a positive number of seconds, got {shown(time_limit)}")
    return seconds


class Deadline:
    """A time limit for several solves that starts now, or none.

    Raises
    ------
    InvalidInputError
        `time_limit` is not a positive number.
    """

    def __init__(self, time_limit: float | None) -> None:
        seconds = check_time_limit(time_limit)
        self._end = None if seconds is None else time.monotonic() + seconds

    def passed(self) -> bool:
        """Return whether time is up."""
        return self._end is not None and time.monotonic() >= self._end

    def left(self) -> float | None:
        """Return the rest of the time limit, for the next solve."""
        return None if self._end is None else max(self._end - time.monotonic(), LEAST_LIMIT)


def _pause(left: float | None, most: float) -> float:
    """Return how long to wait for a solver that has `left` seconds, at most `most`."""
    return most if left is None or left <= 0 else min(most, max(left, LEAST_PAUSE))


def run_interruptibly(
    work: Callable[[], Outcome],
    control: Control,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    interval: float = POLL_INTERVAL,
) -> Outcome:
    """Run `work` in a thread of its own and return what it returns; report every `interval` seconds.

    After `time_limit` seconds, without those for compiling, the stop flag is raised and `work` returns what
    it has. On Ctrl-C (or an error in the progress function) the flag is raised, `work` ends before its next
    phase, the thread is waited for, and the exception goes on: nothing is left running.
    """
    outcome: list[Any] = []
    failure: list[BaseException] = []
    ended: list[bool] = []
    finished = threading.Lock()
    finished.acquire()

    def target() -> None:
        if control.interrupted:
            return
        thread = threading.current_thread()
        name, thread.name = thread.name, "preflow-solver"
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            thread.name = name

    def finish() -> None:
        ended.append(True)
        finished.release()

    tasks = iter([(target, finish)])
    with reporting(progress) as report:
        start, compiled = time.monotonic(), compile_seconds()
        pause = _pause(time_limit, interval)
        try:
            begin_tasks(tasks)
            while not finished.acquire(timeout=pause):
                elapsed = time.monotonic() - start
                solving = elapsed - (compile_seconds() - compiled)
                left = None if time_limit is None else time_limit - solving
                if left is not None and left <= 0:
                    control.stop[0] = 1
                pause = _pause(left, interval)
                if report is not None:
                    report(control.report(elapsed))
        except BaseException:
            control.interrupted.append(True)
            control.stop[0] = 1
            while length_hint(tasks) == 0 and not ended:
                with suppress(KeyboardInterrupt):  # a second Ctrl-C: the first is under way
                    finished.acquire(timeout=POLL_INTERVAL)
            raise
    if failure:
        raise failure[0]
    return outcome[0]  # type: ignore[no-any-return]
