"""The one decorator of every CPU kernel: Numba without the GIL, cached on disk, never stale.

Numba's own cache watches the file of the decorated function only: after an edit of a callee, or of a
constant in another file, old machine code would run on. Here the cache key covers the sources of the
function's module and of every preflow module that it imports, directly or not.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

from ..solving.timing import begin_compiling, compilations, end_compiling

logger = logging.getLogger("preflow")

PACKAGE = Path(__file__).resolve().parents[1]
RELATIVE_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)

Function = TypeVar("Function", bound=Callable[..., Any])


def cache_directory() -> Path:
    """Return the folder of compiled kernels: ``$PREFLOW_CACHE_DIR``, else the user's cache folder."""
    chosen = os.environ.get("PREFLOW_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "preflow"


@cache
def source_hash(path: Path) -> str:
    """Return a hash over the source of `path` and of all preflow modules it imports, directly or not."""
    seen: set[Path] = set()
    waiting = [path.resolve()]
    digest = hashlib.sha256()
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        waiting.extend(_imported_files(file))
    for file in sorted(seen):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _imported_files(file: Path) -> list[Path]:
    found = []
    for dots, module, names in RELATIVE_IMPORT.findall(file.read_text()):
        base = file.parents[len(dots) - 1]
        target = base.joinpath(*module.split(".")) if module else base
        candidates = [target.with_suffix(".py")]
        candidates += [target / f"{name.strip()}.py" for name in names.strip("()").split(",")]
        found += [candidate for candidate in candidates if candidate.is_file()]
    return found


class _KernelCacheLocator(caching._CacheLocator):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._file = Path(file)
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _KernelCacheLocator:
        return cls(function, file)

    def get_cache_path(self) -> str:
        folder = hashlib.sha256(str(self._file.parent).encode()).hexdigest()[:12]
        return str(cache_directory() / f"{self._file.parent.name}-{folder}")

    def get_source_stamp(self) -> str:
        return source_hash(self._file)

    def get_disambiguator(self) -> str:
        """Tell apart what other sources were compiled to: its types may be gone, and its index unreadable."""
        return f"{self._line}-{self.get_source_stamp()[:12]}"


class _KernelCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_KernelCacheLocator,)


class _Messages:
    """What this process has said about compiling."""

    announced = False
    uncached = False


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _KernelCacheImpl

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load a compiled kernel.

        Unlike Numba's own this does not fill the target's registries first, 0.15 s at every start: only
        compiling needs them, and the compiler fills them itself.
        """
        try:
            compiled = self._load_overload(signature, target_context)
        except OSError:
            compiled = None  # an unreadable cache; saving will say so
        if compiled is None:
            if not _Messages.announced:
                _Messages.announced = True
                logger.warning("compiling kernels, once: 5 to 50 seconds; kept in %s", cache_directory())
            logger.info("compiling %s", self._py_func.__name__)
            begin_compiling()
        return compiled

    def save_overload(self, signature: Any, data: Any) -> None:
        end_compiling()
        try:
            super().save_overload(signature, data)
        except OSError as error:
            if not _Messages.uncached:
                _Messages.uncached = True
                logger.warning("compiled kernels cannot be cached in %s: %s", cache_directory(), error)


def kernel(function: Function) -> Function:
    """Compile `function` with Numba on first use.

    The result releases the GIL, is cached on disk and keeps the Python original as ``py_func``. Index
    arrays are uint32 or uint64 and index variables uint64, never signed: see docs/performance.md. A kernel
    allocates nothing (its caller does), so it is compiled without reference counting, which would go on at
    every call between kernels.
    """
    if numba.config.DISABLE_JIT:
        return function
    dispatcher = numba.njit(nogil=True, error_model="numpy", _nrt=False)(function)
    dispatcher._cache = _KernelCache(function)
    compile_or_load = dispatcher.compile

    def compile_counted(signature: Any) -> Any:
        depth = compilations()
        try:
            return compile_or_load(signature)
        except BaseException:
            end_compiling(depth)
            raise

    dispatcher.compile = compile_counted
    return dispatcher  # type: ignore[no-any-return]
