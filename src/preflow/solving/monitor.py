"""Arrays that a running kernel shares with the caller that waits for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Monitor(NamedTuple):
    """Arrays that one thread of a solve shares with the waiting caller."""

    #: shape (1,): non-zero asks the kernel to return soon. Kernels read it by an atomic load.
    stop: NDArray[np.int64]
    #: shape (at least the number of counters,): operation counters of this thread; the positions are in
    #: :mod:`preflow.stats`
    counts: NDArray[np.uint64]
    #: shape (2,): what is left to do, and what there was to do at the start. All threads of a solve share it.
    progress: NDArray[np.float64]
