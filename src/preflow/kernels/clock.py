"""A clock that kernels can read."""

from __future__ import annotations

import time

import numpy as np

from .overloads import numba_overloads

numba_overloads(__name__)

#: Fields of C's ``struct timespec``.
SECONDS, NANOSECONDS = 0, 1


def now() -> np.uint64:
    """Return a time in nanoseconds since some fixed point in the past."""
    return np.uint64(time.monotonic_ns())
