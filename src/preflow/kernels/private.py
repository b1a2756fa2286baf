"""Copies of arrays that a thread keeps to itself, in memory that the threads of a kernel share.

What a thread writes often lies in cache lines of its own, and no thread needs Python to allocate it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernel import numba_overloads

numba_overloads(__name__)

#: Every copy begins at a multiple of so many bytes: two cache lines.
ALIGNMENT = 128


def private_memory(values: tuple[Any, ...], num_threads: int) -> NDArray[np.uint8]:
    """Return memory in which each thread has room for copies of all arrays of a tuple, nested or not."""
    room = _room(values) + ALIGNMENT
    return np.empty((num_threads, room), dtype=np.uint8)


def _room(values: Any) -> int:
    if isinstance(values, np.ndarray):
        return values.nbytes + ALIGNMENT
    return sum(map(_room, values)) if isinstance(values, tuple) else 0


def private(values: Any, memory: Any) -> Any:
    """Return a tuple with copies of its arrays, which are contiguous, in the memory of a thread."""
    copies = [
        value.copy()
        if isinstance(value, np.ndarray)
        else private(value, memory)
        if isinstance(value, tuple)
        else value
        for value in values
    ]
    return values._make(copies) if hasattr(values, "_make") else tuple(copies)
