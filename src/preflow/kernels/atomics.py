"""Atomic operations on array entries, for kernels that run on several threads.

Every function works on one entry of a one-dimensional array of int32, int64, uint32, uint64 or float64:

===================  =======================================  ===================
function             effect                                   memory order
===================  =======================================  ===================
relaxed_load         read                                     relaxed
relaxed_store        write                                    relaxed
load                 read                                     acquire
store                write                                    release
fetch_add            add, return the old value                acquire and release
exchange             write, return the old value              acquire and release
compare_exchange     write if the old value is as expected    acquire and release
fetch_min            write if less, return the old value      acquire and release
===================  =======================================  ===================

A thread that reads by an acquire a value that another thread wrote by a release sees everything that the
other thread wrote before it. ``pause`` tells the CPU that a thread spins. ``prefetch`` and
``prefetch_to_write`` ask for a cache line; they change nothing and may be given an index past the end.

Without Numba (``NUMBA_DISABLE_JIT=1``) the same functions run in plain Python and call :data:`before_step`
first. The model checker of the tests uses that call to switch between simulated threads at every atomic
operation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import AnyArray, Int64, Integers, Number
from .kernel import kernel
from .overloads import numba_overloads

numba_overloads(__name__)

#: Stride, in entries of eight bytes, between numbers that different threads write: two cache lines, as CPUs
#: fetch lines in pairs.
PADDING = np.uint64(16)
#: The operand of AArch64's ``hint`` instruction that means "yield".
YIELD_HINT = 1

#: Called in plain Python before every atomic operation, with the operation's name.
before_step: Callable[[str], None] | None = None


def _step(name: str) -> None:
    if before_step is not None:
        before_step(name)


def relaxed_load(array: AnyArray, index: Number) -> Number:
    """Return ``array[index]``, which another thread may write.

    The compiler moves a plain read out of a loop, so that a loop would never see a stop flag change.
    """
    _step("relaxed_load")
    return array[index]


def relaxed_store(array: AnyArray, index: Number, value: Number) -> None:
    """Set ``array[index]``; other threads read the old or the new value, never a mixture."""
    _step("relaxed_store")
    array[index] = value


def load(array: AnyArray, index: Number) -> Number:
    """Return ``array[index]``; what was written before it was stored is then visible (acquire)."""
    _step("load")
    return array[index]


def store(array: AnyArray, index: Number, value: Number) -> None:
    """Set ``array[index]`` after everything this thread wrote before (release)."""
    _step("store")
    array[index] = value


def fetch_add(array: AnyArray, index: Number, amount: Number) -> Number:
    """Add `amount` to ``array[index]`` and return the old value."""
    _step("fetch_add")
    old = array[index]
    array[index] = old + array.dtype.type(amount)
    return old


def exchange(array: AnyArray, index: Number, value: Number) -> Number:
    """Set ``array[index]`` and return the old value (fetch-and-store)."""
    _step("exchange")
    old = array[index]
    array[index] = value
    return old


def compare_exchange(array: AnyArray, index: Number, expected: Number, value: Number) -> bool:
    """Set ``array[index]`` to `value` if it is `expected`; return whether it was."""
    _step("compare_exchange")
    if array[index] != array.dtype.type(expected):
        return False
    array[index] = value
    return True


def fetch_min(array: AnyArray, index: Number, value: Number) -> Number:
    """Lower the integer ``array[index]`` to `value` if that is less; return the old value."""
    _step("fetch_min")
    old = array[index]
    array[index] = min(old, array.dtype.type(value))
    return old


def pause() -> None:
    """Tell the CPU that this thread waits in a loop for another one."""
    _step("pause")


def prefetch(array: AnyArray, index: Number) -> None:
    """Start to load the cache line of ``array[index]``, which will be read soon."""


def prefetch_to_write(array: AnyArray, index: Number) -> None:
    """Start to load the cache line of ``array[index]`` for writing: it leaves the caches of other cores."""


@kernel
def add(alone: bool, array: Integers, index: Number, amount: Int64) -> Number:
    """Add to an entry, atomically unless this thread is `alone`; return the old value."""
    if alone:
        old = array[index]
        array[index] = old + amount
        return old
    return fetch_add(array, index, amount)
