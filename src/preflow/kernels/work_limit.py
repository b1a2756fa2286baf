"""A limit on the operations of a solve, after which the method gives up.

:meth:`preflow.solving.run.Control.limit_work` sets it. The methods that `auto` chooses for networks on the
CPU keep it: they look at their counts where they look at the stop flag.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import relaxed_load
from ..kernels.constants import ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.options import UNLIMITED
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABEL_OPERATIONS, RELABELS, WORK_LIMIT


@kernel
def operations_of(counts: NDArray[np.uint64]) -> np.uint64:
    """Return how many operations a thread has made, as :attr:`preflow.solving.run.Control.operations`."""
    searches = counts[GLOBAL_RELABELS] * counts[RELABEL_OPERATIONS]
    made: np.uint64 = counts[PUSHES] + counts[RELABELS] + counts[ARC_SCANS] + searches
    return made


@kernel
def operations_left(counts: NDArray[np.uint64], made: np.uint64) -> np.uint64:
    """Return how many operations a solve that has made some may still make; UNLIMITED without a limit."""
    most: np.uint64 = counts[WORK_LIMIT]
    if most == ZERO:
        return UNLIMITED
    return most - min(made, most)


@kernel
def must_end(monitor: Monitor) -> bool:
    """Whether a solve on one thread was asked to stop, or has made as many operations as it may."""
    counts = monitor.counts
    return bool(relaxed_load(monitor.stop, 0) != 0 or operations_left(counts, operations_of(counts)) == ZERO)
