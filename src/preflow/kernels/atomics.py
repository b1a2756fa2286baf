"""Atomic operations on array entries, for kernels that run on several threads.

Every function works on one entry of a one-dimensional array of int32, int64, uint32, uint64 or float64, and
has its memory order in its name or its docstring:

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

"Acquire": what another thread wrote before the release whose value is read here is seen afterwards.
``pause`` tells the CPU that a thread spins.

Without Numba (``NUMBA_DISABLE_JIT=1``) the same functions run in plain Python, where :data:`before_step`
is called before each of them: a scheduler steps "threads" through a kernel by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .kernel import kernel, numba_overloads

numba_overloads(__name__)

#: Entries of eight bytes between what is written at different times: two cache lines.
PADDING = np.uint64(16)
#: The operand of AArch64's hint instruction that means yield.
YIELD_HINT = 1

#: Called in plain Python before every atomic operation, with its name; None for no call.
before_step: Callable[[str], None] | None = None


def _step(name: str) -> None:
    if before_step is not None:
        before_step(name)


def relaxed_load(array: Any, index: Any) -> Any:
    """Return ``array[index]``, read afresh each time although another thread may write it.

    A plain read in a loop is moved out of the loop by the compiler: a stop flag would never be seen.
    """
    _step("relaxed_load")
    return array[index]


def relaxed_store(array: Any, index: Any, value: Any) -> None:
    """Set ``array[index]``; other threads see the old or the new value, never a mixture."""
    _step("relaxed_store")
    array[index] = value


def load(array: Any, index: Any) -> Any:
    """Return ``array[index]`` and all that was written before it was stored (acquire)."""
    _step("load")
    return array[index]


def store(array: Any, index: Any, value: Any) -> None:
    """Set ``array[index]`` after all that this thread wrote before (release)."""
    _step("store")
    array[index] = value


def fetch_add(array: Any, index: Any, amount: Any) -> Any:
    """Add `amount` to ``array[index]`` and return what was there."""
    _step("fetch_add")
    old = array[index]
    array[index] = old + array.dtype.type(amount)
    return old


def exchange(array: Any, index: Any, value: Any) -> Any:
    """Set ``array[index]`` and return what was there (fetch-and-store)."""
    _step("exchange")
    old = array[index]
    array[index] = value
    return old


def compare_exchange(array: Any, index: Any, expected: Any, value: Any) -> bool:
    """Set ``array[index]`` to `value` if it is `expected`; return whether it was."""
    _step("compare_exchange")
    if array[index] != array.dtype.type(expected):
        return False
    array[index] = value
    return True


def fetch_min(array: Any, index: Any, value: Any) -> Any:
    """Lower the integer ``array[index]`` to `value` if that is less; return what was there."""
    _step("fetch_min")
    old = array[index]
    array[index] = min(old, array.dtype.type(value))
    return old


def pause() -> None:
    """Tell the CPU that this thread waits for another one in a loop."""
    _step("pause")


def prefetch(array: Any, index: Any) -> None:
    """Ask for the cache line of ``array[index]``, which is read soon."""


def prefetch_to_write(array: Any, index: Any) -> None:
    """Ask for the cache line of ``array[index]`` alone, which is written soon: other caches lose it."""


@kernel
def add(alone: bool, array: Any, index: Any, amount: Any) -> Any:
    """Add to an entry that other threads may change, unless this one is alone; return what was there."""
    if alone:
        old = array[index]
        array[index] = old + amount
        return old
    return fetch_add(array, index, amount)
