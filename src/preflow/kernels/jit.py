"""Kernels that Numba compiles on first use and keeps on disk, never stale.

A file has the machine code of one kernel for one signature. Its name has a hash of all that the code depends
on: see :mod:`preflow.kernels.fingerprint`. Where the folder is not trusted, see
:mod:`preflow.kernels.cache_folder`, kernels are compiled in memory. Only this module loads Numba, when it is
loaded, so that wheels do not.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ClassVar

import numba

from ..arrays import Untyped
from ..solving.method import LOADED
from ..solving.timing import begin_compiling, compilations, end_compiling
from .cache_folder import cache_directory, check_folder, distrust, make_private
from .fingerprint import fingerprint
from .numba_internals import dispatcher_with, loaded, machine_code, machine_of
from .overloads import load_overloads

logger = logging.getLogger("preflow")

#: Options of the compiler; the build of the library adds some.
OPTIONS: dict[str, Untyped] = {"nogil": True, "error_model": "numpy", "_nrt": False}


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


def _tuples(types: Iterable[Untyped]) -> Iterator[str]:
    """Yield the classes of the tuples among types as a kind names them."""
    for each in types:
        if isinstance(each, numba.types.BaseNamedTuple):
            yield f"<{each.instance_class.__module__}.{each.instance_class.__qualname__}>"
        if isinstance(each, numba.types.BaseTuple):
            yield from _tuples(each.types)


class KernelCache:
    """The files of one kernel, as Numba's dispatcher uses them.

    A file is a checksum and a pickle. The checksum detects damage; the owner and the permissions show that
    nobody else wrote the file. A file that is damaged or not trusted is removed, so that it is written
    again.
    """

    def __init__(self, function: Callable[..., Untyped]) -> None:
        self._function = function

    @property
    def cache_path(self) -> str:
        """The folder of the files; empty if there is none."""
        try:
            return str(cache_directory())
        except OSError:
            return ""

    def _file(self, signature: Untyped, context: Untyped) -> Path:
        """Return the file of a signature, in a folder that is trusted."""
        folder = cache_directory() / "kernels"
        check_folder(folder)
        depends = f"{fingerprint(self._function, _tuples(signature))} {signature} {machine_of(context)}"
        digest = hashlib.sha256(f"{depends} {numba.__version__} {OPTIONS}".encode()).hexdigest()
        return folder / f"{self._function.__name__.strip('<>')}-{digest[:32]}.nbc"

    def load_overload(self, signature: Untyped, context: Untyped) -> Untyped:
        """Load a compiled kernel; say what is compiled if there is none."""
        compiled = None
        try:
            compiled = self._load(self._file(signature, context), context)
        except OSError as error:
            _say_uncached(error)
        if compiled is None:
            begin_compiling(self._say_what_is_compiled(signature))
        return compiled

    def save_overload(self, signature: Untyped, compiled: Untyped) -> None:
        """Keep a compiled kernel."""
        end_compiling()
        content = machine_code(compiled)
        if content is None:
            logger.warning("%s is compiled in each process", self._function.__qualname__)
            return
        try:
            file = self._file(signature, compiled.target_context)
            make_private(file.parent)
            temporary = file.with_suffix(f".{secrets.token_hex(8)}.tmp")
            try:
                with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as new:
                    new.write(zlib.crc32(content).to_bytes(4, "little") + content)
                temporary.replace(file)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            _say_uncached(error)

    def _load(self, path: Path, context: Untyped) -> Untyped:
        """Return the content of a file; None if there is no file or it cannot be used."""
        try:
            with path.open("rb") as file:
                reason = distrust(os.fstat(file.fileno()))
                content = b"" if reason else file.read()
        except FileNotFoundError:
            return None
        if not reason and zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
            reason = "it is damaged"
        try:
            if not reason:
                return loaded(memoryview(content)[4:], context)
        except Exception as error:  # unpickling can raise any error
            reason = f"it cannot be unpickled ({type(error).__name__})"
        logger.warning("%s is not loaded, its kernel is compiled again: %s", path, reason)
        path.unlink(missing_ok=True)
        return None

    def _say_what_is_compiled(self, signature: Untyped) -> str:
        """Log once for which problem and dtype kernels are compiled; return that text."""
        problem, seconds = _problem()
        dtype = _values(signature)
        what = f"{problem} for {dtype}" if dtype else problem
        if what not in _Messages.compiling:
            _Messages.compiling.add(what)
            times = "in each process" if _Messages.uncached else f"once; kept in {self.cache_path}"
            logger.warning("compiling %s, about %d s, %s", what, seconds, times)
        logger.debug("compiling %s", self._function.__name__)
        return what


def _say_uncached(error: OSError) -> None:
    if not _Messages.uncached:
        _Messages.uncached = True
        logger.warning("compiled kernels cannot be cached, every process compiles them: %s", error)


def dispatcher_of(function: Callable[..., Untyped]) -> Untyped:
    """Return Numba's dispatcher of a function."""
    load_overloads()
    dispatcher = dispatcher_with(KernelCache(function), function, **OPTIONS)
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
