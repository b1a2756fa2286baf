"""Kernels that Numba compiles on first use and keeps on disk, never stale.

Numba's own cache watches the file of the decorated function only: after an edit of a callee, or of a
constant in another file, old machine code would still be used. Here the cache key covers the sources of the
function's module and of every preflow module that it imports, directly or not.

Where the folder of the cache is not trusted, see :mod:`preflow.kernels.cache_folder`, kernels are compiled in
memory. This module is the only one that imports Numba when it is loaded, so that wheels do not.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import secrets
import sys
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numba
from numba.core import caching

from ..arrays import Untyped
from ..solving.method import LOADED
from ..solving.timing import begin_compiling, compilations, end_compiling
from .cache_folder import cache_directory, check_folder, distrust, make_private
from .kernel import load_overloads, source_hash

logger = logging.getLogger("preflow")

#: Further options of the compiler; the build of the library sets some.
OPTIONS: dict[str, Untyped] = {}
#: The hash of this file, which decides how kernels are compiled.
_OWN_HASH = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


class _KernelCacheLocator(caching._CacheLocator):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Untyped], file: str) -> None:
        self._file = Path(file)
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Untyped], file: str) -> _KernelCacheLocator:
        return cls(function, file)

    def get_cache_path(self) -> str:
        folder = hashlib.sha256(str(self._file.parent).encode()).hexdigest()[:12]
        return str(cache_directory() / f"{self._file.parent.name}-{folder}")

    def get_source_stamp(self) -> str:
        return hashlib.sha256(f"{source_hash(self._file)} {_OWN_HASH}".encode()).hexdigest()

    def get_disambiguator(self) -> str:
        """Name the sources and the version of Numba: pickles of others may not be readable."""
        return f"{self._line}-{self.get_source_stamp()[:12]}-numba{numba.__version__}"

    def ensure_cache_path(self) -> None:
        make_private(Path(self.get_cache_path()))


class _KernelCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_KernelCacheLocator,)


class _Messages:
    """The messages about compiling that this process has logged already."""

    compiling: ClassVar[set[str]] = set()
    uncached = False


def _problem() -> tuple[str, int]:
    """Return the problem that the calling thread solves, and how many seconds its kernels take to compile."""
    frame: Untyped = sys._getframe()
    while frame is not None:
        root, package = f"{frame.f_globals.get('__name__')}.".split(".")[:2]
        if root == "preflow" and package in LOADED:
            return LOADED[package].name, LOADED[package].compile_seconds
        frame = frame.f_back
    return "kernels", 5


def _values(types: Iterable[Untyped]) -> str:
    """Return the dtype of the first array of values, empty if there is none: indices are unsigned."""
    for each in types:
        if isinstance(each, numba.types.Array):
            found = str(each.dtype) if getattr(each.dtype, "signed", True) else ""
        else:
            found = _values(each.types) if isinstance(each, numba.types.BaseTuple) else ""
        if found:
            return found
    return ""


class _KernelCacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel: an index of signatures, and a file of machine code for each.

    A file is a checksum and a pickle. The checksum detects damage; the owner and the permissions show that
    nobody else wrote the file. A file that is damaged or not trusted is removed, so that it is written
    again.
    """

    @property
    def index_path(self) -> str:
        """The path of the index."""
        return str(self._index_path)

    def load(self, key: Untyped) -> Untyped:
        check_folder(Path(self._cache_path))
        return super().load(key)

    def save(self, key: Untyped, data: Untyped) -> None:
        check_folder(Path(self._cache_path))
        super().save(key, data)

    def _load_index(self) -> dict[Untyped, str]:
        stamp, overloads = self._read(self._index_path) or (None, {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Untyped, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Untyped:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Untyped) -> None:
        self._write(self._data_path(name), data)

    def _write(self, path: str, value: Untyped) -> None:
        content = self._dump(value)
        temporary = Path(f"{path}.{secrets.token_hex(8)}.tmp")
        try:
            with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(zlib.crc32(content).to_bytes(4, "little") + content)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _read(self, path: str) -> Untyped:
        """Return the content of a file; None if there is no file or it cannot be used."""
        try:
            with open(path, "rb") as file:
                reason = distrust(os.fstat(file.fileno()))
                content = b"" if reason else file.read()
        except FileNotFoundError:
            return None
        if not reason and zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
            reason = "it is damaged"
        try:
            if not reason:
                return pickle.loads(memoryview(content)[4:])
        except Exception as error:  # unpickling can raise any error
            reason = f"it cannot be unpickled ({type(error).__name__})"
        logger.warning("%s is not loaded, its kernel is compiled again: %s", path, reason)
        Path(path).unlink(missing_ok=True)
        return None


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Untyped]) -> None:
        """Postpone the search for a folder, which may find none, to the first use."""
        self._name, self._py_func = repr(function), function
        self._impl = self._impl_class(function)
        self.enable()

    @property
    def cache_path(self) -> str:
        """The folder of the kernel's files; empty if there is none."""
        try:
            return str(self._impl.locator.get_cache_path())
        except OSError:
            return ""

    @cached_property
    def _cache_file(self) -> _KernelCacheFile:
        locator, name = self._impl.locator, self._impl.filename_base
        return _KernelCacheFile(locator.get_cache_path(), name, locator.get_source_stamp())

    def load_overload(self, signature: Untyped, target_context: Untyped) -> Untyped:
        """Load a compiled kernel.

        Unlike Numba's own this does not fill the target's registries first, 0.15 s at every start: only
        compiling needs them, and the compiler fills them itself.
        """
        compiled = None
        try:
            compiled = self._load_overload(signature, target_context)
        except OSError as error:
            self._say_uncached(error)
        except Exception as error:  # an intact file of another version's format
            logger.warning("%s is not loaded: %s", self._cache_file.index_path, type(error).__name__)
            with suppress(OSError):
                self._cache_file.flush()
        if compiled is None:
            begin_compiling(self._say_what_is_compiled(signature))
        return compiled

    def _say_what_is_compiled(self, signature: Untyped) -> str:
        """Log once for which problem and dtype kernels are compiled; return that text."""
        problem, seconds = _problem()
        dtype = _values(signature)
        what = f"{problem} for {dtype}" if dtype else problem
        if what not in _Messages.compiling:
            _Messages.compiling.add(what)
            times = (
                "in each process" if _Messages.uncached else f"once; kept in {Path(self.cache_path).parent}"
            )
            logger.warning("compiling %s, about %d s, %s", what, seconds, times)
        logger.debug("compiling %s", self._py_func.__name__)
        return what

    def save_overload(self, signature: Untyped, data: Untyped) -> None:
        end_compiling()
        try:
            super().save_overload(signature, data)
        except OSError as error:
            self._say_uncached(error)

    def _say_uncached(self, error: OSError) -> None:
        if not _Messages.uncached:
            _Messages.uncached = True
            logger.warning("compiled kernels cannot be cached, every process compiles them: %s", error)


def dispatcher_of(function: Callable[..., Untyped]) -> Untyped:
    """Return Numba's dispatcher of a function."""
    load_overloads()
    dispatcher = numba.njit(nogil=True, error_model="numpy", _nrt=False, **OPTIONS)(function)
    dispatcher._cache = _KernelCache(function)
    compile_or_load = dispatcher.compile

    def compile_counted(signature: Untyped) -> Untyped:
        load_overloads()
        depth = compilations()
        try:
            return compile_or_load(signature)
        except BaseException:
            end_compiling(depth)
            raise

    dispatcher.compile = compile_counted
    return dispatcher
