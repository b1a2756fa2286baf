"""Functions that Numba compiles by code of their own: a module ``<module>_numba`` has it.

Plain Python never loads such a module. Numba does before it compiles a kernel.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

#: Modules that have overloads.
overloaded: set[str] = set()
#: Modules whose overloads Numba has not loaded yet.
_waiting: list[str] = []
#: Held while something is loaded or compiled that others wait for.
loading = threading.RLock()


def numba_overloads(module: str) -> None:
    """Let Numba load ``<module>_numba``, which implements plain functions for kernels, before it compiles."""
    overloaded.add(module)
    _waiting.append(f"{module}_numba")


def load_overloads() -> None:
    """Load the overloads of all modules imported so far."""
    with loading:
        while _waiting:
            module = _waiting[-1]
            import_module(module)  # it may add others, as may threads that import something
            _waiting.remove(module)  # not before: after Ctrl-C the next kernel loads them


class Intrinsic:
    """A function that only kernels call; its implementation is in ``<module>_numba``."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__, self.__name__ = module, name

    def __call__(self, *arguments: Any) -> Any:
        """Raise TypeError: Python cannot call an intrinsic."""
        raise TypeError(f"only a kernel calls {self.__name__}")

    @property
    def _numba_type_(self) -> Any:
        from .numba_internals import type_of

        return type_of(getattr(import_module(f"{self.__module__}_numba"), self.__name__))
