"""The decorator of every CPU kernel.

A kernel runs as machine code without the GIL. The code comes from the library ``preflow._kernels``, which
is compiled when the wheel is built. It has one function for each kernel and each kind of arguments that the
module ``kinds`` reads. For other kinds Numba compiles the kernel on first use, if it is installed (the extra
``jit``). Nothing here loads Numba before that.

The *kind* of an argument is a short text. "q", "Q", "d", "?" and "n" are int64, uint64, float64, bool and
None. "1CI" is a contiguous array of uint32 with one dimension ("c" if it is read-only). A tuple is its
class with the kinds of its members, "<preflow.graph.residual.ResidualArrays>(...)". ``native/dispatch.c``
writes the text.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ..arrays import Untyped
from ..errors import MissingDependencyError
from ..solving.timing import counted_as_compiling
from .library_file import damage
from .overloads import loading

logger = logging.getLogger("preflow")

#: Kernels stay plain Python if Numba is switched off by its own variable: tests step through them.
PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
PACKAGE = Path(__file__).resolve().parents[1]

Function = TypeVar("Function", bound=Callable[..., Any])


def _library() -> Any:
    """Return the compiled library, None where there is none or ``PREFLOW_NATIVE=0`` switches it off."""
    if PLAIN or os.environ.get("PREFLOW_NATIVE", "1") == "0":
        return None
    try:
        for library in PACKAGE.glob("_kernels.*"):
            if library.suffix in (".so", ".pyd") and (problem := damage(library)) is not None:
                raise ImportError(f"{library.name}: {problem}")
        found = import_module("preflow._kernels")
        python = sys.implementation.cache_tag
        if found.CHECK_SOURCES and found.hash("python") != python:
            raise ImportError(f"they are not of this version of Python ({python}): run make native")
        return found
    except (ImportError, OSError) as error:
        if any(PACKAGE.glob("_kernels.*")):
            logger.warning("the compiled kernels cannot be loaded: %s", error)
        return None


native = _library()


class _NoLibrary:
    """The base class of kernels if there is no library: every call goes to Numba."""

    def __init__(self, functions: dict[bytes, int]) -> None:
        self.functions = functions

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.compiled(*arguments, **named)  # type: ignore[attr-defined]


class Kernel(_NoLibrary if native is None else native.Entry):  # type: ignore[misc]
    """A function that runs as machine code without the GIL.

    ``__call__`` belongs to the base class. It finds the library's function for the kind of the arguments and
    calls :meth:`compiled` if there is none. `name` is ``module:function``, the key in the library's table,
    `py_func` the Python original.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = f"{function.__module__}:{function.__qualname__}"
        functions = {} if native is None else native.functions(self.name)
        # In a source tree they may be those of other sources.
        self._unchecked = functions if native is not None and native.CHECK_SOURCES else {}
        super().__init__({} if self._unchecked else functions)
        functools.update_wrapper(self, function)
        self.py_func = function
        self._is_edited = False

    def current_functions(self) -> dict[bytes, int]:
        """Return which functions the library has of this kernel as it is now, by the kinds of arguments."""
        with loading:  # other threads that make the first call wait for the answer
            if self._unchecked:
                from .fingerprint import fingerprint

                kinds = [kind.decode() for kind in self._unchecked]
                self._is_edited = native.hash(self.name) != fingerprint(self, kinds)
                if not self._is_edited:
                    self.functions.update(self._unchecked)
                self._unchecked = {}
        return self.functions  # type: ignore[no-any-return]

    def compiled(self, *arguments: Any, **named: Any) -> Any:
        """Call the library's function; Numba's if the library lacks it or the kernel was edited."""
        if self.current_functions() and not named and self._has_function_for(arguments):
            return self(*arguments)
        outcome = self.dispatcher(*arguments, **named)
        if native is not None and "PREFLOW_MISSES" in os.environ:
            self._record_miss(arguments, sys._getframe(1).f_globals.get("__name__", ""))
        return outcome

    def _has_function_for(self, arguments: tuple[Untyped, ...]) -> bool:
        """Whether the library has a function for these arguments, some arrays perhaps read-only; note it."""
        kind = (native.kind(arguments) or "").encode()
        if kind not in self.functions:
            from .kinds import accepts

            for known, place in list(self.functions.items()):
                if accepts(known.decode(), kind.decode()):
                    self.functions[kind] = place
        return kind in self.functions

    def _record_miss(self, arguments: tuple[Untyped, ...], caller: str) -> None:
        """Write a kind of arguments that the library lacks to the file ``$PREFLOW_MISSES``.

        Only calls from the package and from ``native/calls.py`` count, not those of tests, and only kernels
        that have not been edited since the library was built.
        """
        ours = self.name.startswith("preflow.") and caller.startswith(("preflow.", "calls"))
        if ours and not self._is_edited:
            with open(os.environ["PREFLOW_MISSES"], "a", encoding="utf-8") as file:
                file.write(f"{self.name} {native.kind(arguments)}\n")

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function."""
        with counted_as_compiling(), loading:
            try:
                from .jit import dispatcher_of
            except ImportError as error:
                missing = f"a kernel that is not compiled for these arguments ({self.name})"
                if native is not None:
                    missing += ", as for 2**31 or more vertices or arcs,"
                raise MissingDependencyError(missing, "numba", "jit") from error
            return self.__dict__.setdefault("dispatcher", dispatcher_of(self.py_func))

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    @property
    def signatures(self) -> Any:
        """The signatures that Numba has compiled or loaded in this process."""
        return self.dispatcher.signatures

    def __reduce__(self) -> Any:
        return _find, (self.py_func.__module__, self.py_func.__qualname__)


def _find(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def kernel(function: Function) -> Function:
    """Return a function that runs as machine code.

    The result releases the GIL and keeps the Python original as ``py_func``. Index arrays are uint32 or
    uint64 and index variables uint64, never signed: see docs/notebook. A kernel allocates nothing (its
    caller does), so it is compiled without reference counting.
    """
    return function if PLAIN else Kernel(function)


def kernel_around(inner: Callable[..., Any], name: str, function: Function) -> Function:
    """Return a function as the kernel `name` of the module of the kernel `inner`, which it calls.

    The function was made for `inner`: kernels take no functions as arguments.
    """
    function.__module__, function.__name__, function.__qualname__ = inner.__module__, name, name
    return kernel(function)
