"""Packages whose names are loaded when they are first used, and are eager; a wrong name gets a hint."""

from __future__ import annotations

import sys
from types import FunctionType

import lazy_loader

from .eager import eager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def names_of_stub(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package with a file ``__init__.pyi``.

    The arguments are its ``__name__`` and ``__file__``.
    """
    load: Callable[[str], object]
    load, directory, names = lazy_loader.attach_stub(package, file)
    functions: dict[str, FunctionType] = {}

    def load_or_hint(name: str) -> object:
        if name in names or name.startswith("_"):
            found = eager(load(name))
            if isinstance(found, FunctionType):  # pickles find it here, the same one in all threads
                found = functions.setdefault(name, found)
                found.__module__ = package
                setattr(sys.modules[package], name, found)
            return found
        from difflib import get_close_matches

        close = get_close_matches(name, names, 1, 0.6)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise AttributeError(f"module {package!r} has no attribute {name}{hint}")

    return load_or_hint, directory, names
