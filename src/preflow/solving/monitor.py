"""Arrays that a running kernel shares with the caller that waits for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Monitor(NamedTuple):
    """Arrays that one thread of a solve shares with the waiting caller.

    Attributes
    ----------
    stop : ndarray of int64, shape (1,)
        Non-zero asks the kernel to return soon. Kernels read it by an atomic load.
    counts : ndarray of uint64, shape (at least the number of counters,)
        Operation counters of this thread; the positions are in :mod:`preflow.stats`.
    progress : ndarray of float64, shape (2,)
        What is left to do, and what there was to do at the start. All threads of a solve share it.
    """

    stop: NDArray[np.int64]
    counts: NDArray[np.uint64]
    progress: NDArray[np.float64]
