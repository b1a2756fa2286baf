"""Time calls whose work is on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np


def median_seconds(call: Callable[[], Any], repeats: int, *, warm_up: bool = True) -> float:
    """Return the median time of a call until the GPU is done, after one call that does not count."""
    seconds = []
    for _ in range(repeats + warm_up):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[warm_up:]))
