"""Functions and classes that ``torch.compile`` leaves out of its graphs, and that explain unknown keywords.

The compiler of Torch traces what a compiled function calls, and fails inside of a solver. What is eager runs
as it is, between two graphs, as functions written in C do. Names of public packages and properties of results
are: see :mod:`preflow.lazy` and :class:`preflow.solving.read_only.ReadOnlyArrays`.
"""

from __future__ import annotations

import sys
import threading
from functools import cached_property, wraps
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    Thing = TypeVar("Thing")
    Result = TypeVar("Result")
    Arguments = ParamSpec("Arguments")

#: The methods of classes with a name of Python that read arrays.
SPECIAL = ("__init__", "__getattr__", "__getitem__")
#: What keywords of other packages are called here.
ELSEWHERE = {
    "cost_limit": "unmatched_cost=(cost_limit, 0)",
    "m": "amount",
    "n_jobs": "threads",
    "numItermax": "time_limit",
    "num_threads": "threads",
    "workers": "threads",
    "timeout": "time_limit",
    "verbose": "progress",
}
#: The classes whose members are eager.
_CLASSES: set[type] = set()
_changing = threading.Lock()


def eager(thing: Thing) -> Thing:
    """Return a function that runs outside of graphs, or a class with methods and properties that do.

    A class is changed in place, and so are its base classes. A call takes a fifth of a microsecond more.
    """
    if isinstance(thing, type):
        package = __name__.partition(".")[0]
        with _changing:
            for owner in thing.__mro__:
                if owner not in _CLASSES and owner.__module__.partition(".")[0] == package:
                    _CLASSES.add(owner)
                    _make_members_eager(owner)
    return _outside_of_graphs(thing) if isinstance(thing, FunctionType) else thing  # type: ignore[return-value]


def _make_members_eager(owner: type) -> None:
    for name, member in list(vars(owner).items()):
        if name[0] == "_" and name not in SPECIAL:
            continue
        if isinstance(member, FunctionType):
            setattr(owner, name, _outside_of_graphs(member))
        elif isinstance(member, classmethod | staticmethod):
            setattr(owner, name, type(member)(_outside_of_graphs(member.__func__)))
        elif isinstance(member, property) and member.fget is not None:
            setattr(owner, name, member.getter(_outside_of_graphs(member.fget)))
        elif isinstance(member, cached_property):
            member.func = _outside_of_graphs(member.func)


def _outside_of_graphs(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    outside: Callable[Arguments, Result] | None = None

    @wraps(function)
    def explained(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return function(*arguments, **named)
        except TypeError as error:
            _explain(error, function, named)
            raise

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        nonlocal outside
        if "torch._dynamo" not in sys.modules:  # the compiler, which Torch loads when it is first used
            return explained(*arguments, **named) if named else function(*arguments)  # type: ignore[call-arg]
        if outside is None:
            outside = sys.modules["torch"].compiler.disable(explained)
        return outside(*arguments, **named)

    return call


def _explain(error: TypeError, function: Callable[..., object], named: dict[str, object]) -> None:
    """Say in the error of a call what an unknown keyword may have meant."""
    from difflib import get_close_matches
    from inspect import signature

    known = signature(function).parameters
    unknown = [name for name in named if name not in known]
    if not unknown or "unexpected keyword" not in str(error):
        return
    meant = ELSEWHERE.get(unknown[0], "")
    if meant.partition("=")[0] not in known:
        meant = "".join(get_close_matches(unknown[0], known, 1))
    if meant:
        error.args = (f"{str(error).partition('. Did')[0]}; did you mean {meant}?",)
