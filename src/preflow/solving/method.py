"""The records of problems and of methods: what a folder's ``problem.py`` says, as plain data.

Reading a record imports no solver. Records name modules relative to the package ``preflow``.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

from ..checks import did_you_mean
from ..errors import InvalidInputError
from .options import check_budget
from .plan import Attempt


def check_options(options: object) -> None:
    """Raise InvalidInputError unless `options` is None or a mapping."""
    if options is not None and not isinstance(options, Mapping):
        raise InvalidInputError(f"options must be a mapping, got {options!r}")


@dataclass(frozen=True)
class Method:
    """The record of a solver; reading it imports no solver.

    Attributes
    ----------
    name : str
    module : str
        The module that has the function ``solve``. Its signature is that of the problem's protocol, see
        :mod:`preflow.solving.protocol`.
    options_class : str
        Name of the dataclass in that module which validates the options.
    summary : str
        What the method does, in one line.
    paper : str
        Where it is described.
    device : {"cpu", "cuda"}
        Where the method runs; methods for a GPU are :class:`preflow.cuda.CudaMethod`.
    parallel : bool
        Whether it can use more than one CPU thread.
    copies : bool
        Whether a method for a GPU takes arrays in host memory and copies them itself.
    streams : bool
        Whether a method for a GPU can also solve an instance that exceeds the GPU's memory: its module then
        has a function ``solve_streamed`` with the signature of ``solve``, which takes arrays in host memory.
    points : bool
        Whether it takes costs that are computed from points.
    weighted : bool
        Whether it takes the weights of the edges of a graph, and no graph without weights.
    approximate : bool
        Whether it promises a fraction of the optimum only, with proved bounds; it takes graphs with weights
        and without. Its results have the status "approximate".
    checks : bool
        Whether it checks the size of dense costs itself.
    preset : mapping
        Options that differ from the defaults of the dataclass.
    aliases : tuple of str
        Other names, as in the papers. A serial method and the same method on several threads may share one.
    variants : mapping of str to mapping
        Names of codes in papers which are the method with other presets: the options of each.
    old_names : tuple of str
        Names that earlier versions had; to use one gives a DeprecationWarning.
    then : tuple of Attempt
        What goes on where this method is named and gives up, from the state that it leaves. Methods with a
        successor have the option "budget": see :class:`preflow.solving.plan.Attempt`.
    budget : float or None
        The default of that option.
    gone : mapping of str to str
        Options that earlier versions had, each with what takes its place.
    """

    name: str
    module: str
    options_class: str
    summary: str
    paper: str
    device: Literal["cpu", "cuda"] = "cpu"
    parallel: bool = False
    copies: bool = False
    streams: bool = False
    points: bool = False
    checks: bool = False
    weighted: bool = False
    approximate: bool = False
    preset: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    old_names: tuple[str, ...] = ()
    then: tuple[Attempt, ...] = ()
    budget: float | None = None
    gone: Mapping[str, str] = field(default_factory=dict)

    def _module(self) -> Any:
        return import_module(f"preflow.{self.module}")

    @property
    def explanation(self) -> str:
        """The docstring of its module: the algorithm, its invariants and its pseudo-code."""
        return inspect.cleandoc(self._module().__doc__ or self.summary)

    @property
    def available(self) -> bool:
        """Whether it can run here: methods for a GPU need one, and the software to use it."""
        return True

    @property
    def memory(self) -> Literal["host", "device"]:
        """Where the arrays lie that ``solve`` takes: in host memory, or in the memory of a GPU."""
        return "device" if self.device == "cuda" and not self.copies else "host"

    @property
    def place(self) -> str:
        """The device and, on the CPU, whether it takes many threads, for tables."""
        threads = "many threads" if self.parallel else "one thread"
        return f"{self.device}, {threads}" if self.device == "cpu" else self.device

    @property
    def other_names(self) -> tuple[str, ...]:
        """The names in papers of the method, and of the method with other presets."""
        return (*self.aliases, *self.variants)

    def variant(self, name: str) -> Method:
        """Return the method with the presets that one of its variants has."""
        return dataclasses.replace(self, preset={**self.preset, **self.variants[name]})

    @property
    def options(self) -> dict[str, object]:
        """The options with their defaults."""
        return dataclasses.asdict(self.make_options(None)) | ({"budget": self.budget} if self.then else {})

    @property
    def options_text(self) -> str:
        """The options with their defaults, for tables."""
        return "  ".join(f"{name}={value}" for name, value in self.options.items())

    @property
    def solve(self) -> Callable[..., Any]:
        """The solver, of the type that the problem's ``problem.py`` declares."""
        return self._module().solve  # type: ignore[no-any-return]

    @property
    def solve_streamed(self) -> Callable[..., Any]:
        """The solver of a method that `streams`."""
        return self._module().solve_streamed  # type: ignore[no-any-return]

    def attempts(self, given: Mapping[str, Any] | None) -> tuple[Attempt, ...]:
        """Return what a call that names the method and gives these options tries."""
        options = dict(given or {})
        budget = options.pop("budget", self.budget) if self.then else None
        check_budget(budget)
        own = Attempt(self.name, options, budget)
        return (own,) if budget is None else (own, *self.then)

    def make_options(self, given: Mapping[str, Any] | None) -> Any:
        """Return the validated options, without the budget.

        Raises
        ------
        InvalidInputError
            An option is unknown or has an impossible value.
        """
        check_options(given)
        return self._made(given) if given else self._defaults

    @cached_property
    def _defaults(self) -> Any:
        return self._made({})

    def _made(self, given: Mapping[str, Any]) -> Any:
        options_class = getattr(self._module(), self.options_class)
        known = [option.name for option in dataclasses.fields(options_class)]
        known += ["budget"] if self.then else []
        for name in given:
            if name in self.gone:
                raise InvalidInputError(
                    f"method {self.name!r} has no option {name!r} any more: {self.gone[name]}"
                )
            if name not in known:
                hint = did_you_mean(name, known, "it has")
                raise InvalidInputError(
                    f"method {self.name!r} has no option {name!r}{hint}: {', '.join(known) or 'none'}"
                )
        values = {**self.preset, **given}
        if self.then:
            check_budget(values.pop("budget", None))
        return options_class(**values)


class MethodTable(tuple[Method, ...]):
    """The methods of a problem, shown as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        from ..notebook import text_table

        return text_table([(each.name, each.place, each.summary) for each in self]) if self else "()"

    def _repr_html_(self) -> str:
        from ..notebook import html_table

        titles = ("method", "runs on", "what it does", "also", "paper", "options")
        rows = (
            (each.name, each.place, each.summary, ", ".join(each.other_names), each.paper, each.options_text)
            for each in self
        )
        return html_table("", rows, titles=titles)


#: The records of problems that are loaded, by their folders.
LOADED: dict[str, Problem] = {}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The record of a problem: all that lists of problems hold."""

    #: The folder of its solvers.
    folder: str
    #: The module of each public function that takes its methods. The first one gives the problem its name.
    functions: Mapping[str, str]
    #: The classes of results, each with its module.
    results: tuple[str, ...]
    #: The classes of instances that belong to no other problem, each with its module.
    containers: tuple[str, ...]
    #: In the order in which they are listed, for example by `preflow methods`.
    methods: tuple[Method, ...]
    #: The type of their names in :mod:`preflow.method_names`.
    method_type: str
    #: The page in docs/problems.
    page: str
    #: How many seconds its kernels take to compile.
    compile_seconds: int
    #: Where its families of instances are, by their names in `preflow generate`; empty if it has none.
    families: str = ""
    #: Endings of the names of files that instances are written to, the usual one first.
    files: tuple[str, ...] = ()
    #: The folders of problems that it takes solvers of.
    uses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        LOADED[self.folder] = self

    @property
    def name(self) -> str:
        """The name of its first function, which is the name of the problem."""
        return next(iter(self.functions))


def load(path: str) -> Any:
    """Return what a record names by its module and its name, as in "maxflow.result.MaxFlowResult"."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"preflow.{module}"), name)
