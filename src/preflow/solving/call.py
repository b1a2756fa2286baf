"""One call of a public function: its arguments, its method, where it runs, its control, its times.

:class:`Request` has the arguments that the functions of all problems share. :class:`Call` is what a problem
makes of a request and an instance. Each problem's ``api.py`` has a subclass with two more methods:

- a class method ``prepare`` that reads the instance, lets :meth:`Request.choose` choose the method, and fills
  in the fields of the call;
- a method that solves and returns the result. Each phase runs in ``with self.timed(phase)``; the status comes
  from ``control.status``, the statistics from :meth:`Call.stats`.

The public function makes the request, prepares the call, and returns what :meth:`Call.run` returns for the
second method. :mod:`preflow.bipartite.api` is an example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError, VerificationError
from ..method_names import DeviceName
from ..progress import Reporter
from ..stats import RELABEL_NANOSECONDS, AttemptStats, SolveStats, added_up
from .dispatch import (
    check_method,
    check_name,
    check_no_options,
    check_placement,
    find_method,
    most_threads,
    thread_count,
)
from .method import Method, check_options
from .outside import OutsideMethod
from .plan import Plan
from .run import Control, GaveUp, check_time_limit, run_interruptibly
from .timing import timed

Outcome = TypeVar("Outcome")
Stats = TypeVar("Stats", bound=SolveStats)


class Gpu(Protocol):
    """The part of a GPU that a call uses: see :class:`preflow.cuda.runtime.Device`."""

    def current(self) -> AbstractContextManager[None]:
        """Make this the calling thread's GPU."""
        ...

    def synchronize(self) -> None:
        """Wait until all kernels that were launched are done."""
        ...

    def make_stop_word(self) -> NDArray[np.int64]:
        """Return a stop flag that kernels can read."""
        ...


class Placed(Protocol):
    """The part of an instance that a call uses: see :class:`preflow.graph.placement.HostArrays`."""

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU that stores the arrays, if one does, the calling thread's current device."""
        ...


Instance = TypeVar("Instance", bound=Placed)


class Keywords(TypedDict, total=False):
    """The arguments that the functions of all problems share, for overloads."""

    method: str
    device: DeviceName
    threads: int | None
    time_limit: float | None
    progress: bool | Reporter
    options: Mapping[str, Any] | None


AUTO = "auto"


def is_plain(
    method: str,
    device: str,
    threads: int | None,
    time_limit: float | None,
    progress: bool | Reporter,
    options: Mapping[str, Any] | None,
) -> bool:
    """Whether these arguments of a call are the defaults."""
    return (
        method is device is AUTO
        and threads is None
        and time_limit is None
        and progress is False
        and options is None
    )


@dataclass(frozen=True)
class Request:
    """The arguments that the functions of all problems share, checked.

    Raises
    ------
    InvalidInputError
        There is no such device, or `threads` or `time_limit` is not a positive number.
    DeviceUnavailableError
        A GPU is asked for and no method of the problem runs on one.
    """

    methods: Sequence[Method]  #: the methods of the problem
    #: as in :func:`preflow.max_flow`
    method: str = "auto"
    device: str = "auto"
    threads: int | None = None
    time_limit: float | None = None
    progress: bool | Reporter = False
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.is_plain:
            return
        check_name(self.method)
        check_options(self.options)
        object.__setattr__(self, "time_limit", check_time_limit(self.time_limit))
        name = check_placement(self.methods, self.device, self.threads)
        object.__setattr__(self, "device", name)
        if self.threads is not None:  # one kind of number for kernels
            object.__setattr__(self, "threads", int(self.threads))

    @property
    def most_threads(self) -> int:
        """The number of CPU threads that a solve may use."""
        return most_threads(self.threads)

    @property
    def is_plain(self) -> bool:
        """Whether these are the defaults, so that a small instance may take the road of small calls."""
        return is_plain(self.method, self.device, self.threads, self.time_limit, self.progress, self.options)

    @property
    def may_look_for_gpu(self) -> bool:
        """Whether the caller leaves it open where an instance in host memory is solved."""
        return self.device == "auto" and self.threads is None

    def choose(self, plan: Callable[[], Plan]) -> tuple[Method, Plan]:
        """Return the plan for the named method, or for "auto" that of `plan`; and its first method.

        InvalidInputError: there is no such method, it contradicts `device` or `threads`, or options are given
        without a method.
        """
        if self.method == "auto":
            check_no_options(self.options)
            chosen = plan()
            if chosen.threads is None:
                chosen = Plan(chosen.attempts, chosen.because, self.threads)
            return find_method(self.methods, chosen.method), chosen
        record = find_method(self.methods, self.method, self.threads)
        check_method(record, self.device, self.threads)
        threads = self.threads if record.parallel or record.device == "cuda" else 1
        return record, Plan(record.attempts(self.options), "asked for", threads)


@dataclass(kw_only=True)
class Call(Generic[Instance]):
    """One call, its arguments checked and its plan made."""

    instance: Instance  #: network, graph or costs: as the caller gave it
    plan: Plan
    method: Method  #: that of the attempt that runs
    options: Any = None  #: instance of the method's dataclass of options; by default as the plan says
    threads: int  #: CPU threads that the method gets
    device: Gpu | None  #: the GPU that the method runs on
    seconds: dict[str, float] = field(default_factory=dict)  #: time of each phase
    number: int = 0  #: which attempt of the plan runs
    ended: list[AttemptStats] = field(default_factory=list)  #: the attempts that gave up
    control: Control = field(init=False)  #: shared with the solver
    #: The outcome of a solver that does not keep its protocol, for messages.
    UNPROVED: ClassVar[str] = "a solution that proves nothing"
    #: The methods of the problem, where its plans have several attempts.
    METHODS: ClassVar[Sequence[Method]] = ()

    def __post_init__(self) -> None:
        if self.options is None:
            self.options = self.method.make_options(self.plan.attempts[self.number].options)
        stop = np.zeros(1, dtype=np.int64) if self.device is None else self.device.make_stop_word()
        self.control = Control(self.threads, stop)

    def part(self, **changes: Any) -> Self:
        """Return a call for a part of the same solve, which shares the control."""
        other = replace(self, **changes)
        other.control = self.control
        return other

    def count(self, seconds: Mapping[str, float]) -> None:
        """Add time that phases took before the call was made."""
        self.seconds = added_up(seconds, self.seconds)

    def is_quick(self, request: Request) -> bool:
        """Whether the solve ends so soon that nobody misses Ctrl-C."""
        return False

    @property
    def gpu_in_use(self) -> Gpu | None:
        """The GPU that a phase has to wait for."""
        return self.device

    def current_device(self) -> AbstractContextManager[None]:
        """Make the GPU of this call, if it uses one, the calling thread's current device."""
        return self.instance.current() if self.device is None else self.device.current()

    def timed(self, phase: str) -> AbstractContextManager[None]:
        """Return a context whose time counts as that of a phase; raise Abandoned if nobody waits any more."""
        self.control.check_wanted()
        gpu = self.gpu_in_use
        return timed(self.seconds, phase, None if gpu is None else gpu.synchronize)

    def run(self, work: Callable[[], Outcome], request: Request) -> Outcome:
        """Return what `work` returns; run it in a thread of its own unless it is quick and nobody watches.

        Results of a method from outside of the package are verified.
        """
        outcome = self._run(work, request)
        if isinstance(self.method, OutsideMethod):
            results: Any = outcome if isinstance(outcome, list) else [outcome]
            for result in results:
                try:
                    result.verify()
                except VerificationError as error:
                    raise SolverError(f"solver {self.method.name!r} left {self.UNPROVED}: {error}") from error
        return outcome

    def _run(self, work: Callable[[], Outcome], request: Request) -> Outcome:
        if self.is_quick(request) and request.time_limit is None and request.progress is False:
            return work()
        return run_interruptibly(work, self.control, request.time_limit, request.progress)

    @property
    def num_vertices(self) -> int:
        """No method gets more threads than this."""
        raise NotImplementedError

    def plan_on_cpu(self) -> Plan:
        """Return what "auto" does with the instance on the CPU."""
        raise NotImplementedError

    def begin_next(self) -> None:
        """Let the next attempt of the plan be the one that runs."""
        self.number += 1
        if self.plan.attempts[self.number].method == "auto":
            self.plan, self.number = self.plan_on_cpu()._replace(because=self.plan.because), 0
        attempt = self.plan.attempts[self.number]
        self.method = find_method(self.METHODS, attempt.method)
        self.options = self.method.make_options(attempt.options)
        self.device = self.device if self.method.device == "cuda" else None
        self.threads = thread_count(self.method, self.plan.threads, self.num_vertices)
        self.control.extend(self.threads)
        self.control.allow(attempt.budget)

    def by_plan(self, solve: Callable[[Any], Outcome]) -> Outcome:
        """Return what `solve` returns for the first attempt that does not give up.

        `solve` runs `self.method` from the state that the attempt before left; None for the first. An
        instance that is solved again, in finer units, begins with the attempt that solved it.
        """
        budget = self.plan.attempts[self.number].budget
        if budget is not None and self.control.budget is None:
            self.control.allow(budget)
        state: Any = None
        while True:
            with self.timed("solve"):
                try:
                    return solve(state)
                except GaveUp as end:
                    state, reason = end.state, str(end)
            self.ended.append(self._ended(self.control.operations, reason))
            self.begin_next()

    def _ended(self, operations: int, gave_up: str = "") -> AttemptStats:
        """Return the record of the attempt that runs; all together made this many operations."""
        seconds = self.seconds.get("solve", 0.0)
        for each in self.ended:
            operations, seconds = operations - each.operations, seconds - each.seconds
        return AttemptStats(self.method.name, operations, seconds, gave_up)

    def went_on(self) -> list[str]:
        """Return why methods gave up, and which one went on."""
        names = [*(each.method for each in self.ended[1:]), self.method.name]
        return [f"{each.gave_up}, so {name} went on" for each, name in zip(self.ended, names, strict=False)]

    def stats(self, kind: type[Stats], **more: Any) -> Stats:
        """Return the record of what the solve did; `more` has fields that only this kind of record has."""
        control, positions = self.control, kind.counted()
        rows = control.thread_counts.tolist()
        of_all = list(map(sum, zip(*rows, strict=True)))
        counts, *per_thread = (
            {name: row[position] for name, position in positions.items()} for row in (of_all, *rows)
        )
        last = self._ended(counts["pushes"] + counts["relabels"] + counts["arc_scans"])
        attempts = (*self.ended, last)
        return kind(
            method=self.method.name,
            reason="; ".join([self.plan.because, *self.went_on(), *control.remarks, *control.unproved]),
            device=self.method.device,
            threads=self.threads,
            global_relabel_seconds=rows[0][RELABEL_NANOSECONDS] * 1e-9,
            active=tuple(control.active),
            per_thread=tuple(per_thread) if self.method.parallel else (),
            seconds=self.seconds,  # not a copy: the phase that wraps the result is still being timed
            attempts=attempts,
            **counts,
            **more,
        )
