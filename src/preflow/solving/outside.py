"""Methods from outside of the package: a program registers them, or an entry point of another package does.

They are kept by the folder of their problem's own methods, in which max_flow and min_cut are one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ..errors import InvalidInputError, SolverError
from .method import Method

#: The group of entry points. Each is a function without arguments that registers methods.
GROUP = "preflow.methods"
#: The methods by folder, in the order in which they were registered.
REGISTERED: dict[str, list[OutsideMethod]] = {}
#: Whether entry points have been looked for: True once they have.
LOOKED_FOR: list[bool] = []


@dataclass(frozen=True)
class NoOptions:
    """The method has no options."""


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


def folder_of(methods: Sequence[Method]) -> str:
    """Return the folder of a problem: some of its own methods lie there, others in papers/."""
    folders = (method.module.partition(".")[0] for method in methods)
    return next(folder for folder in folders if folder != "papers")


def outside_methods(methods: Sequence[Method]) -> tuple[OutsideMethod, ...]:
    """Return the methods from outside for the problem of these own methods."""
    return tuple(REGISTERED.get(folder_of(methods), ()))


def register(methods: Sequence[Method], method: OutsideMethod) -> None:
    """Add a method to those of a problem, given by its own methods; replace one from outside of its name.

    InvalidInputError: another method has one of its names.
    """
    kept = REGISTERED.setdefault(folder_of(methods), [])
    others = [other for other in kept if other.name != method.name]
    for name in (method.name, *method.other_names):
        if name == "auto":
            raise InvalidInputError("'auto' lets preflow choose, so no method can have this name")
        for other in (*methods, *others):
            if name in _names(other):
                raise InvalidInputError(f"{name!r} is a name of another method: {other.name}")
    kept[:] = [*others, method]


def _names(method: Method) -> Iterator[str]:
    yield from (method.name, *method.other_names, *method.old_names)


def load_entry_points() -> bool:
    """Let other packages register their methods, once; return whether this was the first call.

    A package that fails gives a warning, so that the methods of others remain usable.
    """
    if LOOKED_FOR:
        return False
    LOOKED_FOR.append(True)
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        try:
            entry.load()()
        except Exception as error:
            warnings.warn(
                f"the methods of {entry.value} could not be registered: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
    return True
