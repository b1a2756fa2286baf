"""The augmenting-path method of Boykov and Kolmogorov, on one thread.

:mod:`preflow.forests.boykov_kolmogorov` has the search, its definitions, invariants and pseudo-code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..forests.boykov_kolmogorov import grow, make_trees, plant
from ..graph.residual import ResidualArrays
from ..kernels.bfs import distances_to_sink
from ..kernels.constants import ZERO
from ..solving.options import UNLIMITED, NoOptions, check_positive_number, limit
from ..solving.run import Control
from . import serial_incremental_bfs


@dataclass(frozen=True)
class BoykovKolmogorovOptions:
    """Options of the method of Boykov and Kolmogorov.

    Attributes
    ----------
    incremental_after : float or None
        After ``incremental_after * (n + m)`` arc scans and pushes, `serial-incremental-bfs` goes on from the
        flow found so far; None: never.
    """

    incremental_after: float | None = None

    def __post_init__(self) -> None:
        if self.incremental_after is not None:
            check_positive_number("incremental_after", self.incremental_after)


def solve(net: ResidualArrays, options: BoykovKolmogorovOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    control.progress[:] = net.excess.sum(dtype=np.float64)
    trees = make_trees(net)
    monitor = control.monitor()
    plant(net, trees, monitor)
    share = options.incremental_after
    work_limit = UNLIMITED if share is None else limit(share * (len(net.excess) + len(net.head)))
    if not grow(net, trees, np.uint64(work_limit), monitor):
        control.remarks.append("paths are long, so serial-incremental-bfs went on")
        return serial_incremental_bfs.solve(net, NoOptions(), control)
    height = np.full(len(net.excess), len(net.excess) + 1, dtype=net.head.dtype)
    distances_to_sink(net, height, trees.queue, ZERO, ZERO, ZERO, False)
    return height
