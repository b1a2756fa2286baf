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
import re
import sys
import threading
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ..errors import MissingDependencyError
from ..solving.timing import counted_as_compiling
from .library_file import damage

logger = logging.getLogger("preflow")

#: Kernels stay plain Python if Numba is switched off by its own variable: tests step through them.
PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
THIS_FILE = Path(__file__).resolve()
PACKAGE = THIS_FILE.parents[1]
RELATIVE_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)

Function = TypeVar("Function", bound=Callable[..., Any])


def _library() -> Any:
    """Return the compiled library, None where there is none or ``PREFLOW_NATIVE=0`` switches it off."""
    if PLAIN or os.environ.get("PREFLOW_NATIVE", "1") == "0":
        return None
    try:
        for library in PACKAGE.glob("_kernels.*"):
            if library.suffix in (".so", ".pyd") and (problem := damage(library)) is not None:
                raise ImportError(f"{library.name}: {problem}")
        return import_module("preflow._kernels")
    except (ImportError, OSError) as error:
        if any(PACKAGE.glob("_kernels.*")):
            logger.warning("the compiled kernels cannot be loaded: %s", error)
        return None


native = _library()


@cache
def source_hash(path: Path) -> str:
    """Return a hash over the source of `path` and of all preflow modules it imports, directly or not."""
    import hashlib  # loads OpenSSL, which no wheel needs

    digest = hashlib.sha256()
    for file in sorted(sources_of(path)):
        digest.update(_source(file))
    return digest.hexdigest()


def sources_of(*paths: Path) -> set[Path]:
    """Return the files and those of all preflow modules that they import, directly or not.

    This file is left out: it decides how a kernel is compiled, not what the kernel does.
    """
    seen: set[Path] = set()
    waiting = [path.resolve() for path in paths]
    while waiting:
        file = waiting.pop()
        if file not in seen and file != THIS_FILE:
            seen.add(file)
            waiting.extend(_imported_files(file))
    return seen


@cache
def _source(file: Path) -> bytes:
    return file.read_bytes()


@cache
def _imported_files(file: Path) -> list[Path]:
    found = [file.with_name(f"{file.stem}_numba.py")]
    for dots, module, names in RELATIVE_IMPORT.findall(_source(file).decode()):
        base = file.parents[len(dots) - 1]
        target = base.joinpath(*module.split(".")) if module else base
        imported = [target, *(target / name.strip() for name in names.strip("()").split(","))]
        found += [path for each in imported for path in (each.with_suffix(".py"), each / "__init__.py")]
    return [candidate for candidate in found if candidate.is_file()]


@cache
def _is_current(module: str) -> bool:
    """Return whether the library was compiled from the current sources of a module.

    Only a library in a source tree is checked: the sources of an installed wheel do not change.
    """
    if not native.CHECK_SOURCES:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and native.hash(module) == source_hash(Path(file))


def _is_unchanged(kernel: Kernel, functions: Iterable[bytes]) -> bool:
    """Return whether the library has the current code of a kernel, although its module was edited."""
    from .fingerprint import fingerprint

    found: bool = native.hash(kernel.name) == fingerprint(kernel, [kind.decode() for kind in functions])
    return found


#: Modules whose overloads Numba has not loaded yet.
_overloads: list[str] = []
_loading = threading.RLock()


def numba_overloads(module: str) -> None:
    """Let Numba load ``<module>_numba``, which implements plain functions for kernels, before it compiles."""
    _overloads.append(f"{module}_numba")


def load_overloads() -> None:
    """Load the overloads of all modules imported so far."""
    with _loading:
        while _overloads:
            import_module(_overloads[-1])
            _overloads.pop()  # not before: after Ctrl-C the next kernel loads them


class Intrinsic:
    """A function that only kernels call; its implementation is in ``<module>_numba``."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *arguments: Any) -> Any:
        """Raise TypeError: Python cannot call an intrinsic."""
        raise TypeError(f"only a kernel calls {self.name}")

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        intrinsic = getattr(import_module(f"{self.module}_numba"), self.name)
        return cpu_target.typing_context.resolve_value_type(intrinsic)


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
        edited = bool(functions) and not _is_current(function.__module__)
        super().__init__({} if edited else functions)
        self._of_other_sources = functions if edited else {}
        functools.update_wrapper(self, function)
        self.py_func = function

    def compiled(self, *arguments: Any, **named: Any) -> Any:
        """Call the library's function if an edit has not changed the kernel, otherwise Numba's."""
        if self._of_other_sources:
            with _loading:  # other threads that make the first call wait for the answer, too
                if self._of_other_sources and _is_unchanged(self, self._of_other_sources):
                    self.functions.update(self._of_other_sources)
                self._of_other_sources = {}
            if self.functions:
                return self(*arguments, **named)
        if self._takes_as_read_only(arguments):
            return self(*arguments, **named)
        outcome = self.dispatcher(*arguments, **named)
        if native is not None and "PREFLOW_MISSES" in os.environ:
            self._record_miss(arguments, sys._getframe(1).f_globals.get("__name__", ""))
        return outcome

    def _takes_as_read_only(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the library has a function to which some of these arrays are read-only; note it."""
        if not self.functions:
            return False
        from .kinds import accepts

        kind = native.kind(arguments) or ""
        for known, place in self.functions.items():
            if known != kind.encode() and accepts(known.decode(), kind):
                self.functions[kind.encode()] = place
                return True
        return False

    def _record_miss(self, arguments: tuple[Any, ...], caller: str) -> None:
        """Write a kind of arguments that the library lacks to the file ``$PREFLOW_MISSES``.

        Only calls from the package and from ``native/calls.py`` count, not those of tests, and only kernels
        that have not been edited since the library was built.
        """
        module = self.py_func.__module__
        edited = native.hash(module) is not None and not _is_current(module)
        if module.startswith("preflow.") and caller.startswith(("preflow.", "calls")) and not edited:
            with open(os.environ["PREFLOW_MISSES"], "a", encoding="utf-8") as file:
                file.write(f"{self.name} {native.kind(arguments)}\n")

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function."""
        with counted_as_compiling(), _loading:
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
