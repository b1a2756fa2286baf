"""What the runner knows of a problem: its contestants and its instances, by suite.

A new problem (matching, assignment ...) is one more :class:`Problem` in :mod:`preflow.bench.problems`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, Protocol

from ..cuda import runtime
from ..errors import DeviceUnavailableError, InvalidInputError, PreflowError
from ..solving.method import Method
from ..solving.options import name_and_value

#: Key of the sum of all phases.
TOTAL = "total"
#: A run is stopped after so many time limits: one that is a little slower than the limit is still measured,
#: once.
PATIENCE = 2.0
#: A failure's note is cut to so many characters: Numba's messages fill pages.
MESSAGE_LENGTH = 300
#: The phases in the order of the reports; a contestant may lack some.
PHASES = ("build", "solve", "recover", "other")
#: A part of the solve: what comes after the initial matching.
SEARCH = "search"


class Instance(Protocol):
    """What every instance offers, whatever its problem. Instances are pickled for the memory probe."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Counts that tell how large it is, such as vertices and arcs."""

    def miniature(self) -> Instance:
        """Return a trivial instance of the same types, on which a contestant loads what it needs."""


@dataclass(frozen=True)
class Case:
    """An instance under its name, made when its turn comes.

    Instances that differ only in their seed have the same `group`, over which tables and curves of several
    thread counts take means. `published` is the optimum where one is known: who finds another is wrong.
    """

    name: str
    make: Callable[[], Any]
    group: str = ""
    published: int | None = None


@dataclass(frozen=True)
class Suite:
    """Instances that are measured together, and how, where the user does not say.

    Attributes
    ----------
    cases : function
        Returns the cases; it is given the files that the user named.
    methods : tuple of str
        Methods of preflow that take part.
    threads : tuple of int
        Numbers of threads with which each parallel method takes part; none: once, with all.
    """

    cases: Callable[[Sequence[str]], Iterable[Case]]
    methods: tuple[str, ...] = ("auto",)
    threads: tuple[int, ...] = ()


#: Numbers of threads of the suites "traps".
TRAP_THREADS = (1, 2)


def methods_on_cpu(methods: Sequence[Method]) -> tuple[str, ...]:
    """Return the names of a problem's methods that run on the CPU, and "auto"."""
    return (*(method.name for method in methods if method.device == "cpu"), "auto")


class TimeLimitReached(PreflowError):  # noqa: N818 - an outcome, not a fault
    """A contestant stopped itself at the time limit."""


@dataclass(frozen=True)
class Outcome:
    """What one run of a contestant gave.

    Attributes
    ----------
    value : int or float
        The optimum; an int where the instance is integral, so that all can be compared exactly.
    seconds : mapping of str to float
        Wall-clock time of every phase, and of SEARCH where the solve has such a part.
    detail : mapping
        What else the contestant tells of the run: method, reason, counts.
    """

    value: int | float
    seconds: Mapping[str, float]
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """The sum of all phases."""
        return sum(time for phase, time in self.seconds.items() if phase != SEARCH)


def describe_error(error: Exception) -> str:
    """Return an error in one line, fit for a table."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message[:MESSAGE_LENGTH]}"


class Stopwatch:
    """Time the phases of a run, one after the other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Book the time since the last lap, or since the start, on `phase`."""
        now = time.perf_counter()
        self.seconds[phase] = now - self._last
        self._last = now


def always_fits(instance: Any) -> str | None:
    """Return None: the contestant takes every instance."""
    return None


@dataclass(frozen=True)
class Contestant:
    """A solver that takes part.

    Attributes
    ----------
    name : str
        The peer's name, or ``"preflow:METHOD"``, which options in brackets and a number of threads may
        follow: ``"preflow:METHOD[NAME=VALUE,NAME=VALUE]@THREADS"``.
    module : str
        What must be importable.
    distribution : str
        Package whose version is reported.
    run : function
        Solves what `prepare` returned and times its phases.
    prepare : function
        Brings an instance into the solver's own form of input: its dtypes, its order of arguments. Not
        timed, so that nobody pays for the form in which the runner holds instances.
    unfit : function
        Returns the reason why an instance is beyond the solver's limits, or None.
    remark : str
        What a reader of its times must know.
    device : str
        "cpu" or "cuda".
    """

    name: str
    module: str
    distribution: str
    run: Callable[[Any], Outcome]
    prepare: Callable[[Any], Any]
    unfit: Callable[[Any], str | None] = always_fits
    remark: str = ""
    device: str = "cpu"

    @property
    def is_peer(self) -> bool:
        """Whether it is another package."""
        return self.distribution != "preflow"

    def load(self, instance: Instance) -> None:
        """Solve a trivial instance, so that what is imported or compiled at first use is there."""
        # Compilation may well outlast the time limit.
        with suppress(TimeLimitReached):
            self.run(self.prepare(instance.miniature()))

    def missing(self) -> str | None:
        """Return why it cannot be loaded, or None."""
        try:
            import_module(self.module)
        except ImportError as error:
            return f"{self.distribution} is not installed ({error})"
        if self.device == "cuda":
            try:
                runtime.find_device()
            except DeviceUnavailableError as error:
                return str(error)
        return None


def method_and_threads(contestant: str) -> tuple[str, int | None]:
    """Split a contestant's name: a method with its options, and threads; None where it has no number of them.

    Raises
    ------
    InvalidInputError
        What follows the @ is no number.

    Examples
    --------
    >>> method_and_threads("preflow:multicore-fifo@4")
    ('multicore-fifo', 4)
    """
    method, at, count = contestant.removeprefix("preflow:").partition("@")
    if at and not (count.isascii() and count.isdigit()):
        raise InvalidInputError(f"a method on some threads is written METHOD@THREADS, got {contestant!r}")
    return method, int(count) if at else None


def method_and_options(name: str) -> tuple[str, dict[str, Any]]:
    """Split a method with options in brackets into its name and the options.

    Raises
    ------
    InvalidInputError
        It is written otherwise.

    Examples
    --------
    >>> method_and_options("cuda-push-relabel[shrink=False,global_relabel=fixed:10]")
    ('cuda-push-relabel', {'shrink': False, 'global_relabel': ('fixed', 10)})
    """
    method, bracket, rest = name.partition("[")
    if not bracket:
        return method, {}
    if not (method and rest.endswith("]")):
        raise InvalidInputError(f"a method with options is written METHOD[NAME=VALUE,...], got {name!r}")
    return method, dict(name_and_value(text) for text in rest[:-1].split(","))


@dataclass(frozen=True)
class SolverSettings:
    """How preflow's own methods are called."""

    threads: int | None
    time_limit: float

    @property
    def stop_after(self) -> float:
        """Seconds after which a run is stopped."""
        return PATIENCE * self.time_limit


@dataclass(frozen=True)
class Problem:
    """A problem that is benchmarked.

    Attributes
    ----------
    name : str
        Name of its public function.
    score : str
        The phase that profiles show and that leads the summary: "total" or "solve".
    score_text : str
        The same for humans.
    preflow : function
        Returns the contestant that a method's name stands for.
    peers : tuple of Contestant
    suites : mapping from name to Suite
    """

    name: str
    score: str
    score_text: str
    preflow: Callable[[str, SolverSettings], Contestant]
    peers: tuple[Contestant, ...]
    suites: Mapping[str, Suite]

    def contestant(self, name: str, settings: SolverSettings) -> Contestant:
        """Return the contestant of that name.

        Raises
        ------
        InvalidInputError
            There is none.
        """
        prefix, _, method = name.partition(":")
        if prefix == "preflow" and method:
            return self.preflow(method, settings)
        for peer in self.peers:
            if peer.name == name:
                return peer
        known = ", ".join(peer.name for peer in self.peers)
        raise InvalidInputError(
            f"unknown contestant {name!r} of {self.name}: there are preflow:METHOD, {known}"
        )


Status = Literal["measured", "measured once", "left out", "over the time limit", "failed"]
