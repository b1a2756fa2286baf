"""The function of a batch as workers call it: chunk in, outcomes out, an error in the place of a result."""

from __future__ import annotations

import math
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from ...solving.dispatch import limited_threads


class Failure(NamedTuple):
    """The error that an item raised, in the place of its result."""

    error: Exception


class Done(NamedTuple):
    """A chunk that is done."""

    outcomes: list[object]  #: for each item its result, or a Failure
    seconds: float  #: time that the worker took


@dataclass(frozen=True)
class Task:
    """The function of a batch; it can be sent to workers."""

    function: Callable[..., object] | str  #: a name is that of a function of preflow
    keywords: Mapping[str, object]  #: keyword arguments of every call
    threads: int  #: CPU threads that an item may use where it does not say how many

    def __call__(self, items: Iterable[object]) -> Done:
        """Return the outcomes of a chunk."""
        start = time.perf_counter()
        with limited_threads(self.threads):
            outcomes = [self._outcome(item) for item in items]
        return Done(outcomes, time.perf_counter() - start)

    def _outcome(self, item: object) -> object:
        try:
            if not isinstance(self.function, str):
                return self.function(item, **self.keywords)
            solve: Callable[..., object] = getattr(import_module("preflow"), self.function)
            if isinstance(item, tuple):
                return solve(*item, **self.keywords)
            if isinstance(item, dict):
                return solve(**{**self.keywords, **item})
            return solve(item, **self.keywords)
        except Exception as error:
            return Failure(_portable(error))


def solve_chunk(task: Task, items: Iterable[object]) -> Done:
    """Return the outcomes of a chunk: the function of workers of a cluster."""
    return task(items)


def _portable(error: Exception) -> Exception:
    """Return an error that can be sent, with the text of its traceback as a note."""
    error.add_note("In the worker:\n" + "".join(traceback.format_exception(error)).rstrip())
    try:
        pickle.loads(dumps(error))
    except Exception:
        notes = error.__notes__
        error = RuntimeError(f"{type(error).__name__}: {error}")
        error.__notes__ = notes
    return error


def dumps(value: object) -> bytes:
    """Return a value as bytes; functions and classes of scripts and notebooks need cloudpickle."""
    return dumps_apart(value, math.inf)[0]


def dumps_apart(value: object, least: float) -> tuple[bytes, list[memoryview]]:
    """Return the pickle of a value, and the memory of its arrays of `least` bytes or more, apart from it.

    cloudpickle takes twice as long for arrays. It is used only where `pickle` fails or may have written the
    name of something that a worker cannot import: something in `__main__` (`__mp_main__` in processes that
    multiprocessing starts), or in a module that is registered to be sent itself.
    """

    def dumped(dump: Callable[..., bytes]) -> tuple[bytes, list[memoryview]]:
        arrays: list[memoryview] = []

        def keep(buffer: pickle.PickleBuffer) -> bool:
            memory = buffer.raw()
            if memory.nbytes < least:
                return True
            arrays.append(memory)
            return False

        apart = keep if least < math.inf else None
        return dump(value, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=apart), arrays

    try:
        found = dumped(pickle.dumps)
        if b"_main__" not in found[0] and not _sends_modules():
            return found
        problem = None
    except Exception as error:
        problem = error
    try:
        import cloudpickle
    except ImportError:
        if problem is not None:
            raise problem from None
        return found
    return dumped(cloudpickle.dumps)


def _sends_modules() -> bool:
    """Whether some modules are registered with cloudpickle, to be sent themselves."""
    cloudpickle = sys.modules.get("cloudpickle")
    return cloudpickle is not None and bool(cloudpickle.list_registry_pickle_by_value())
