"""Private copies of arrays for each thread of a kernel, in memory that the threads share.

Arrays that a thread writes often then lie in its own cache lines, and no thread needs Python to allocate
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray
from .overloads import numba_overloads

numba_overloads(__name__)

#: Every copy begins at a multiple of this many bytes: two cache lines.
ALIGNMENT = 128


def private_memory(values: tuple[Any, ...], num_threads: int) -> NDArray[np.uint8]:
    """Return memory in which each thread has room for copies of all arrays of a tuple, nested or not."""
    room = _room(values) + ALIGNMENT
    return np.empty((num_threads, room), dtype=np.uint8)


def _room(values: AnyArray) -> int:
    if isinstance(values, np.ndarray):
        return values.nbytes + ALIGNMENT
    return sum(map(_room, values)) if isinstance(values, tuple) else 0


def private(values: AnyArray, memory: Any) -> Any:
    """Return the tuple with its arrays, which are contiguous, copied into the memory of a thread."""
    copies = [
        value.copy()
        if isinstance(value, np.ndarray)
        else private(value, memory)
        if isinstance(value, tuple)
        else value
        for value in values
    ]
    return values._make(copies) if hasattr(values, "_make") else tuple(copies)
