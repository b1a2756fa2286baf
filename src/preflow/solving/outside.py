"""Methods from outside of the package: a program registers them, or an entry point of another package does.

They are kept by the folder of their problem, in which max_flow and min_cut are one.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ..errors import InvalidInputError, SolverError
from .method import LOADED, Method, Problem

#: The group of entry points. Each is a function without arguments that registers methods.
GROUP = "preflow.methods"
#: The methods by folder, in the order in which they were registered.
REGISTERED: dict[str, list[OutsideMethod]] = {}
#: Whether entry points have been looked for: True once they have.
LOOKED_FOR: list[bool] = []
#: Held while a method is registered, and while entry points are loaded: they may ask for all methods.
_registering, _loading = threading.Lock(), threading.RLock()


@dataclass(frozen=True)
class OutsideMethod(Method):
    """The record of a solver from outside of the package.

    Attributes
    ----------
    function : function
        The solver.
    options_type : type
        The dataclass of its options.
    """

    function: Callable[..., Any] = field(kw_only=True)
    options_type: type = field(kw_only=True)

    def _module(self) -> SimpleNamespace:
        return SimpleNamespace(**{"solve": self._solve, self.options_class: self.options_type})

    def _solve(self, *arguments: object, **more: object) -> object:
        found = self.function(*arguments, **more)
        if found is None:
            raise SolverError(
                f"solver {self.name!r} returned None; preflow.solving.protocol says what to return"
            )
        return found


def outside_methods(methods: Sequence[Method]) -> tuple[OutsideMethod, ...]:
    """Return the methods from outside for the problem of these methods: a list that begins with its own.

    Other methods, such as those of a batch, are no problem's: their solvers have another signature.
    """
    folders = (each.folder for each in LOADED.values() if methods and each.methods[0] is methods[0])
    return tuple(REGISTERED.get(next(folders, ""), ()))


def register(problem: Problem, method: OutsideMethod, *, replace: bool) -> None:
    """Add a method to those of a problem, or `replace` one from outside of its name.

    InvalidInputError: another method has one of its names.
    """
    with _registering:
        _register(problem, method, replace)


def _register(problem: Problem, method: OutsideMethod, replace: bool) -> None:
    kept = REGISTERED.setdefault(problem.folder, [])
    others = [other for other in kept if other.name != method.name]
    if len(others) < len(kept) and not replace and method not in kept:
        error = InvalidInputError(f"{method.name!r} is registered already")
        raise error.advising("replace", True, "takes its place")
    for name in (method.name, *method.other_names):
        if name == "auto":
            raise InvalidInputError("'auto' lets preflow choose, so no method can have this name")
        for other in (*problem.methods, *others):
            if name in _names(other):
                raise InvalidInputError(f"{name!r} is a name of another method: {other.name}")
    kept[:] = [*others, method]


def _names(method: Method) -> Iterator[str]:
    yield from (method.name, *method.other_names, *method.old_names)


def load_entry_points() -> None:
    """Let other packages register their methods, once.

    A package that fails gives a warning, so that the methods of others remain usable.
    """
    with _loading:
        if not LOOKED_FOR:
            LOOKED_FOR.append(True)
            _load_entry_points()


def _load_entry_points() -> None:
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        try:
            entry.load()()
        except Exception as error:
            warnings.warn(
                f"the methods of {entry.value} could not be registered: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=3,
            )
