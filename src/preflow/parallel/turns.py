"""The threads of a batch take runs of consecutive items in turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import fetch_add
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.run import Control

#: Number of runs per thread.
RUNS = 64


class Turns(NamedTuple):
    """The runs that are left, and what the threads share with the waiting caller."""

    taken: NDArray[np.uint64]  #: shape (1,): the number of runs taken
    num_runs: np.uint64
    #: as in :class:`preflow.solving.monitor.Monitor`; `counts` has one row per thread
    stop: NDArray[np.int64]
    progress: NDArray[np.float64]
    counts: NDArray[np.uint64]


def make_turns(items: int, control: Control) -> tuple[Turns, int]:
    """Return the turns for a number of items, and for how many threads they are enough."""
    threads = max(1, min(control.threads, items))
    num_runs = np.uint64(min(items, RUNS * threads))
    return Turns(
        np.zeros(1, np.uint64), num_runs, control.stop, control.progress, control.thread_counts
    ), threads


@kernel
def take_run(turns: Turns, items: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Take the next run of `items` items; return its begin and end, which are equal if none is left."""
    run = np.uint64(fetch_add(turns.taken, ZERO, ONE))
    if run >= turns.num_runs:
        return items, items
    return items * run // turns.num_runs, items * (run + ONE) // turns.num_runs
