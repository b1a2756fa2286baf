"""Find a method by name and check it against device and threads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..checks import unknown_name, warn_caller
from ..errors import DeviceUnavailableError, InvalidInputError
from ..method_names import DeviceName
from .method import Method, check_options
from .outside import load_entry_points, outside_methods

DEVICES = ("auto", "cpu", "cuda")
#: More threads than this are of no use anywhere; solvers may keep a thread's number in a byte.
MOST_THREADS = 255


def find_method(methods: Sequence[Method], name: str, threads: int | None = None) -> Method:
    """Return the method of that name or alias; an old name gives a DeprecationWarning.

    The name of a variant gives the method with the presets of the variant.

    A serial method and the same method on several threads may have the same alias, which is the name of a
    code in a paper. It then means the method on several threads if `threads` is more than one.
    InvalidInputError: there is none; the message lists the names and aliases, and suggests the near ones.
    """
    check_name(name)
    everything = (*methods, *outside_methods(methods))
    for method in everything:
        if name == method.name:
            return method
        if name in method.old_names:
            message = f"method {name!r} is now called {method.name!r}"
            warn_caller(message, DeprecationWarning)
            return method
    if named := [method for method in everything if name in method.aliases]:
        several = threads is not None and threads > 1
        return next((method for method in named if method.parallel == several), named[0])
    for method in everything:
        if name in method.variants:
            return method.variant(name)
    load_entry_points()
    if everything != (*methods, *outside_methods(methods)):  # they, or another thread, registered some
        return find_method(methods, name, threads)
    listed = ", ".join(["auto", *map(_with_aliases, everything)])
    known = [each for method in everything for each in (method.name, *method.other_names)]
    raise unknown_name("method", name, known, listed)


def check_name(name: object) -> None:
    """Raise InvalidInputError unless the name of a method is one."""
    if not isinstance(name, str):
        raise InvalidInputError(f"method must be the name of a method, or 'auto', got {name!r}")


def _with_aliases(method: Method) -> str:
    return f"{method.name} ({', '.join(method.other_names)})" if method.other_names else method.name


def renamed(old: str, value: Any, new: str, other: Any) -> Any:
    """Return the value of a parameter that was given by its former name, with a DeprecationWarning."""
    if other is not None:
        raise InvalidInputError(f"{old} is the former name of {new}: give one of them")
    warn_caller(f"{old} is now called {new}", DeprecationWarning)
    return value


def usable_cpus() -> int:
    """Return the number of CPUs this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_placement(methods: Sequence[Method], device: object, threads: int | None) -> DeviceName:
    """Check `device` and `threads` before a method is chosen; return the name of the device.

    A device of Torch counts by its text. InvalidInputError: not a device, not a number of threads.
    DeviceUnavailableError: a GPU is asked for and no method of this problem runs on one.
    """
    name: Any = str(device)
    if name not in DEVICES:
        which = "; 'cuda' is the GPU that has the arrays, otherwise the current one"
        hint = which if name.partition(":")[0] in ("cuda", "gpu") else ""
        raise InvalidInputError(f"device must be one of {', '.join(DEVICES)}, got {device!r}{hint}")
    check_threads(threads)
    if name == "cuda" and not any(method.device == "cuda" for method in methods):
        raise DeviceUnavailableError(
            "no method of this problem runs on a GPU in this version; use device='cpu'"
        )
    found: DeviceName = name
    return found


def check_threads(threads: int | None) -> None:
    """Raise InvalidInputError unless `threads` is None or a positive integer."""
    is_number = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    if threads is not None and not (is_number and threads >= 1):
        raise InvalidInputError(f"threads must be a positive integer or None, got {threads!r}")


def check_method(method: Method, device: str, threads: int | None) -> None:
    """Raise InvalidInputError where the named method contradicts `device` or `threads`."""
    if device != "auto" and method.device != device:
        raise InvalidInputError(f"method {method.name!r} runs on {method.device}, not on device {device!r}")
    if threads is not None and threads > 1 and not method.parallel:
        raise InvalidInputError(f"method {method.name!r} uses one thread, not threads={threads}")


def check_no_options(options: Mapping[str, Any] | None) -> None:
    """Raise InvalidInputError where there are options for "auto"."""
    check_options(options)
    if options:
        raise InvalidInputError("options belong to one method: name it, method='auto' takes none")


#: How many CPU threads calls may use that do not say how many; None for one for each usable CPU.
_default_threads: ContextVar[int | None] = ContextVar("preflow_default_threads", default=None)


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Let calls in this context, which do not say how many threads they want, use no more than `threads`."""
    token = _default_threads.set(threads)
    try:
        yield
    finally:
        _default_threads.reset(token)


def most_threads(threads: int | None) -> int:
    """Return how many CPU threads a call of a public function may use."""
    check_threads(threads)
    if threads is not None:
        return min(int(threads), MOST_THREADS)
    return min(_default_threads.get() or MOST_THREADS, usable_cpus(), MOST_THREADS)


def thread_count(method: Method, threads: int | None, size: int) -> int:
    """Return how many CPU threads `method` gets for a problem of `size` vertices: no more than these."""
    if not method.parallel:
        return 1
    return min(most_threads(threads), max(1, size))
