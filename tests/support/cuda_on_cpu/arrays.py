"""Arrays on a GPU for tests: some that only say so, and how much memory real ones take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np


class OnGpu:
    """An array that says it is on a GPU, as a tensor of some library would."""

    def __init__(self, values: Any, number: int = 0) -> None:
        self.values = np.asarray(values)
        self.number = number

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.number)

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=OnGpu)


@contextmanager
def most_taken(cupy: Any) -> Iterator[Callable[[], int]]:
    """Give a function that returns how much memory of the GPU was in use at once, beyond what was before."""
    pool = cupy.get_default_memory_pool()
    before = most = pool.used_bytes()

    def allocate(size: int) -> Any:
        nonlocal most
        memory = pool.malloc(size)
        most = max(most, pool.used_bytes())
        return memory

    cupy.cuda.set_allocator(allocate)
    try:
        yield lambda: most - before
    finally:
        cupy.cuda.set_allocator(pool.malloc)
