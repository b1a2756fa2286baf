"""The augmenting-path method of Boykov and Kolmogorov, on one thread.

:mod:`preflow.forests.boykov_kolmogorov` has the search, its definitions, invariants and pseudo-code.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..forests.boykov_kolmogorov import grow, make_trees, plant
from ..graph.residual import ResidualArrays
from ..kernels.constants import ZERO
from ..network import distances_to_sink
from ..solving.options import NoOptions
from ..solving.run import Control
from .watch import run_watched


def solve(net: ResidualArrays, options: NoOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    control.progress[:] = net.excess.sum(dtype=np.float64)
    trees = make_trees(net)
    monitor = control.monitor()
    plant(net, trees, monitor)
    run_watched(lambda: grow(net, trees, monitor), net, control, "paths are long")
    height = np.full(len(net.excess), len(net.excess) + 1, dtype=net.head.dtype)
    distances_to_sink(net, height, trees.queue, ZERO, ZERO, ZERO, False)
    return height
