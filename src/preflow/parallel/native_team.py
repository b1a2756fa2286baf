"""A team of threads that run one kernel together, woken and awaited without Python's lock.

Where a share takes a few milliseconds, :func:`.team.run_team` takes too long to start it: one thread after
the other must get Python's lock to prepare its arguments and to call the kernel. Here the threads wait within
a kernel. The calling thread, number 0, leaves its arguments on its stack and wakes some of the others, which
wake more, and all call the same compiled function with their number and these arguments: 16 threads of a Xeon
begin and end within 0.03 ms, where :func:`.team.run_team` takes 0.24.

A kernel that leads a team is written so, and run by :func:`run_natively`::

    @kernel
    def solve_together(crew, num_threads, arguments):
        lead(crew, num_threads, entry_of(solve_share, arguments), address_of(arguments))
"""

from __future__ import annotations

import ctypes
import os
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from functools import partial
from operator import methodcaller, setitem
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, fetch_add, load, pause
from ..kernels.kernel import PLAIN, Intrinsic, kernel, numba_overloads
from ..solving.dispatch import MOST_THREADS
from .team import run_team

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: How many others each thread wakes.
FAN = np.uint64(3)
#: Looks at whether all are done before the calling thread sleeps.
SPINS = 2000
#: Times that a thread of a crew waits for work.
FOREVER = 2**62

#: Positions in ``post``: the function, its arguments, for how many threads; how many are not done yet.
ENTRY, ARGUMENTS, MEMBERS, LEFT = 0, 1, 2, PADDING


class Crew(NamedTuple):
    """Threads that wait for work, and what they are told.

    Attributes
    ----------
    post : ndarray of uint64
    locks : ndarray of uint64
        The address of the lock that each thread waits for; the first is for the end of the work.
    """

    post: NDArray[np.uint64]
    locks: NDArray[np.uint64]


numba_overloads(__name__)
# Python's own locks: threads release and wait for them without holding the interpreter's.
_acquire = Intrinsic(__name__, "acquire_lock")
_release = Intrinsic(__name__, "release_lock")
#: Return the address of a copy of `values`; it lives as long as the kernel that asks for it runs.
address_of = Intrinsic(__name__, "address_of")
#: Return the address of a function of a thread's number and the address of `values`; it calls `share`.
entry_of = Intrinsic(__name__, "entry_of")
#: Call the function at an address that :func:`entry_of` returned.
call_entry = Intrinsic(__name__, "call_entry")


@kernel
def wake(crew: Crew, number: Any) -> None:
    """Wake the threads that a thread has to wake."""
    first = number * FAN + ONE
    for other in range(first, min(first + FAN, crew.post[MEMBERS])):
        _release(crew.locks[other])


@kernel
def serve(crew: Crew, number: Any, lock: Any, times: Any) -> None:
    """Wait for a lock and do what the crew is told, so many times."""
    for _ in range(times):
        _acquire(lock, -1, 0)
        wake(crew, number)
        call_entry(crew.post[ENTRY], number, crew.post[ARGUMENTS])
        if fetch_add(crew.post, LEFT, -1) == ONE:
            _release(crew.locks[ZERO])


@kernel
def lead(crew: Crew, num_threads: Any, entry: Any, arguments: Any) -> None:
    """Run a function on so many threads, this one and others of the crew, and wait for all."""
    crew.post[ENTRY] = entry
    crew.post[ARGUMENTS] = arguments
    crew.post[MEMBERS] = num_threads
    crew.post[LEFT] = num_threads - ONE
    wake(crew, ZERO)
    call_entry(entry, ZERO, arguments)
    if num_threads > ONE:
        for _ in range(SPINS):
            if load(crew.post, LEFT) == ZERO:
                break
            pause()
        _acquire(crew.locks[ZERO], -1, 0)


def _new_lock() -> int:
    """Return the address of a lock that is taken."""
    python = ctypes.pythonapi
    python.PyThread_allocate_lock.restype = ctypes.c_void_p
    python.PyThread_acquire_lock.argtypes = [ctypes.c_void_p, ctypes.c_int]
    address = python.PyThread_allocate_lock()
    if address is None:
        raise MemoryError("no memory for a lock")
    python.PyThread_acquire_lock(address, 1)
    return int(address)


class _Crews:
    """Crews without work; each grows as needed, and there are as many as callers at one time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Crew] = []

    def take(self, num_threads: int) -> Crew:
        with self._lock:
            crew = self._idle.pop() if self._idle else None
        if crew is None:
            crew = Crew(np.zeros(2 * PADDING, np.uint64), np.zeros(MOST_THREADS, np.uint64))
            crew.locks[0] = _new_lock()
            serve(crew, ZERO, ZERO, 0)  # compiled before there are threads that would all compile it
        try:
            for number in range(np.count_nonzero(crew.locks), num_threads):
                _add_thread(crew, number)
        except BaseException:
            self.put_back(crew)
            raise
        return crew

    def put_back(self, crew: Crew) -> None:
        with self._lock:
            self._idle.append(crew)


def _add_thread(crew: Crew, number: int) -> None:
    """Start the thread of the crew with the next number."""
    lock = np.uint64(_new_lock())
    start = partial(start_new_thread, _serve_named, (crew, number, lock))
    note = partial(setitem, crew.locks, number, lock)
    # One call of a C function: Ctrl-C comes before both steps or after both.
    deque(map(methodcaller("__call__"), (start, note)), 0)


def _serve_named(crew: Crew, number: int, lock: np.uint64) -> None:
    """Serve the crew until the process ends."""
    threading.current_thread().name = f"preflow-native-{number}"
    serve(crew, np.uint64(number), lock, FOREVER)


_crews = _Crews()


def _forget_threads() -> None:
    global _crews
    _crews = _Crews()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def run_natively(
    together: Callable[[Crew, np.uint64, Any], None],
    share: Callable[[np.uint64, Any], None],
    arguments: tuple[Any, ...],
    num_threads: int,
) -> None:
    """Run ``share(0, arguments) .. share(num_threads - 1, arguments)`` at the same time until all are done.

    Parameters
    ----------
    together : kernel
        Leads a team that runs `share`, as the module's docstring shows.
    share : kernel
        Of the thread's number and the arguments; returns nothing and does not fail.
    arguments : NamedTuple of arrays and numbers, nested or not
    num_threads : int
        At least 1; ``share(0, arguments)`` runs in the calling thread.
    """
    if PLAIN:
        run_team(lambda thread: share(np.uint64(thread), arguments), num_threads, lambda: None)
        return
    crew = _crews.take(num_threads)
    try:
        together(crew, np.uint64(num_threads), arguments)
    finally:
        _crews.put_back(crew)
