"""The types that describe a problem to the runner: instances, suites and contestants.

A *contestant* is a solver that takes part: a method of preflow, or a *peer*, which is another package. A
*case* is an instance with a name, and a *suite* is a set of cases that are measured together.
:mod:`benchmarks.problems` lists the problems.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from preflow.cuda import runtime
from preflow.errors import DeviceUnavailableError, InvalidInputError, PreflowError
from preflow.solving.method import Method
from preflow.solving.options import name_and_value

from .records import InstanceRecord, Outcome

#: The note about a failure has at most this number of characters, because messages of Numba fill pages.
MESSAGE_LENGTH = 300


class Instance(Protocol):
    """An instance of any problem. Instances are pickled, because the memory probe is another process."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The size of the instance as counts, such as vertices and arcs."""

    def miniature(self) -> Instance:
        """Return a trivial instance with arrays of the same types; solving it loads the same kernels."""


@dataclass(frozen=True)
class Case:
    """A named instance, which is made when the runner reaches it.

    Attributes
    ----------
    name : str
    make : function
        Returns the instance.
    group : str
        Instances that differ only in their seed have the same group. Speed-ups are means over a group.
    published : int or None
        The optimum if a publication gives it. A contestant that finds another value is wrong.
    """

    name: str
    make: Callable[[], Instance]
    group: str = ""
    published: int | None = None


class Table(NamedTuple):
    """A table of a report."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def no_tables(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return no table."""
    return []


def no_pictures(records: Sequence[InstanceRecord], folder: Path) -> list[Path]:
    """Draw nothing."""
    return []


@dataclass(frozen=True)
class Suite:
    """Cases that are measured together, with defaults for the measurement.

    Attributes
    ----------
    cases : function
        Returns the cases. Its argument is the files that the user named.
    methods : tuple of str
        The methods of preflow that take part by default.
    threads : tuple of int
        The default numbers of threads; each parallel method takes part once with each number. If empty, it
        takes part once, on all threads.
    tables : function
        Returns tables that the report shows for this suite only. Its argument is the records of the suite.
    draw : function
        Writes pictures for this suite only to a folder, and returns their paths.
    """

    cases: Callable[[Sequence[str]], Iterable[Case]]
    methods: tuple[str, ...] = ("auto",)
    threads: tuple[int, ...] = ()
    tables: Callable[[Sequence[InstanceRecord]], Sequence[Table]] = no_tables
    draw: Callable[[Sequence[InstanceRecord], Path], Sequence[Path]] = no_pictures


#: The numbers of threads of the suites "traps".
TRAP_THREADS = (1, 2)


def methods_on_cpu(methods: Sequence[Method]) -> tuple[str, ...]:
    """Return the names of the methods that run on the CPU, and "auto"."""
    return (*(method.name for method in methods if method.device == "cpu"), "auto")


class TimeLimitReached(PreflowError):  # noqa: N818 - an outcome, not a fault
    """A contestant stopped itself at the time limit."""


def describe_error(error: Exception) -> str:
    """Return an error as one short line for a table."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message[:MESSAGE_LENGTH]}"


class Stopwatch:
    """Measures the phases of a run, one after the other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Record the time since the last lap, or since the start, as the time of `phase`."""
        now = time.perf_counter()
        self.seconds[phase] = now - self._last
        self._last = now


def always_fits(instance: Any) -> str | None:
    """Return None: the contestant can solve every instance."""
    return None


#: Packages that have the functions of NetworkX: the name of the package, and of its module.
LIKE_NETWORKX = (("networkx", "networkx"), ("franken-networkx", "franken_networkx"))


@dataclass(frozen=True)
class Contestant:
    """A solver that takes part.

    Attributes
    ----------
    name : str
        The peer's name, or ``"preflow:METHOD"``, after which options in brackets and a number of threads may
        follow: ``"preflow:METHOD[NAME=VALUE,NAME=VALUE]@THREADS"``.
    module : str
        The module that must be importable.
    distribution : str
        The package whose version is reported.
    run : function
        Solves an input that `prepare` returned, and measures its phases.
    prepare : function
        Converts an instance to the solver's input: its dtypes, its order of arguments. The conversion is not
        timed, because it depends on how the runner stores instances.
    unfit : function
        Returns the reason why an instance exceeds the solver's limits, or None.
    remark : str
        A note for readers of its times.
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
        """Solve a trivial instance, so that imports and compilation at first use are done."""
        # Compilation may well outlast the time limit.
        with suppress(TimeLimitReached):
            self.run(self.prepare(instance.miniature()))

    def missing(self) -> str | None:
        """Return the reason why the solver cannot be loaded, or None."""
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
    """Split a contestant's name into the method with its options and the number of threads, None without one.

    Raises
    ------
    InvalidInputError
        The text after the @ is not a number.

    Examples
    --------
    >>> method_and_threads("preflow:multicore-fifo@4")
    ('multicore-fifo', 4)
    """
    method, at, count = contestant.removeprefix("preflow:").partition("@")
    if at and not (count.isascii() and count.isdigit()):
        raise InvalidInputError(
            f"a method on some threads must be written METHOD@THREADS, got {contestant!r}"
        )
    return method, int(count) if at else None


def method_and_options(name: str) -> tuple[str, dict[str, object]]:
    """Split a method with options in brackets into its name and the options.

    Raises
    ------
    InvalidInputError
        The text does not have this form.

    Examples
    --------
    >>> method_and_options("cuda-push-relabel[shrink=False,global_relabel=fixed:10]")
    ('cuda-push-relabel', {'shrink': False, 'global_relabel': ('fixed', 10)})
    """
    method, bracket, rest = name.partition("[")
    if not bracket:
        return method, {}
    if not (method and rest.endswith("]")):
        raise InvalidInputError(f"a method with options must be written METHOD[NAME=VALUE,...], got {name!r}")
    return method, dict(name_and_value(text) for text in rest[:-1].split(","))


@dataclass(frozen=True)
class SolverSettings:
    """The settings with which methods of preflow are called. The time limit may be infinite."""

    threads: int | None
    time_limit: float

    @property
    def stop_after(self) -> float | None:
        """Seconds after which a run is stopped, None without a limit."""
        return None if math.isinf(self.time_limit) else self.time_limit


@dataclass(frozen=True)
class Problem:
    """A problem that is benchmarked.

    Attributes
    ----------
    name : str
        The name of its public function.
    score : str
        The phase that is compared in profiles and in the first table: "total" or "solve".
    score_text : str
        A description of that phase for readers.
    preflow : function
        Returns the contestant for a method of preflow.
    peers : tuple of Contestant
    suites : dict
        The suites by name. :func:`benchmarks.problems.add_suite` adds further ones.
    """

    name: str
    score: str
    score_text: str
    preflow: Callable[[str, SolverSettings], Contestant]
    peers: tuple[Contestant, ...]
    suites: dict[str, Suite]

    def contestant(self, name: str, settings: SolverSettings) -> Contestant:
        """Return the contestant with a name.

        Raises
        ------
        InvalidInputError
            No contestant has that name.
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
