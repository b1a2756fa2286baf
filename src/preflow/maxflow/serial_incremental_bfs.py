"""Incremental breadth-first search: augmenting paths between two forests that are repaired, never rebuilt.

Goldberg, Hed, Kaplan, Tarjan and Werneck 2011, and with Kohli 2015. :mod:`preflow.forests.incremental_search`
has the search, its definitions, invariants, pseudo-code and departures from the papers.

Pseudo-code::

    send excess to the sink where a vertex has both                                            begin
    make a root of each vertex with excess or with residual capacity to the sink; queue it
    search until the sink's forest cannot grow
    if labels have drifted so far from distances that one would pass n: begin new forests

Time: O(n**2 m value) in the worst case. Memory beside the network: 6 indices and a byte a vertex.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..forests.incremental_search import Forests, make_forests, plant, search, with_more_levels
from ..forests.paths import serve_at_vertices
from ..graph.residual import ResidualArrays
from ..kernels.constants import ZERO
from ..kernels.kernel import kernel
from ..network import distances_to_sink
from ..solving.monitor import Monitor
from ..solving.options import NoOptions
from ..solving.run import Control
from ..stats import GLOBAL_RELABELS
from .watch import run_watched


@kernel
def begin(net: ResidualArrays, forests: Forests, monitor: Monitor) -> None:
    """Send excess to the sink where a vertex has both; make roots of the vertices with one; queue them."""
    serve_at_vertices(net, monitor)
    plant(net, forests, ZERO, np.uint64(len(net.excess)))


def solve(net: ResidualArrays, options: NoOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    control.progress[:] = net.excess.sum(dtype=np.float64)
    n = len(net.excess)
    monitor = control.monitor()
    forests = make_forests(net, n)
    begin(net, forests, monitor)

    def go_on() -> None:
        nonlocal forests
        while not search(net, forests, monitor, True):
            if len(forests.first_orphan) > n + 2:
                monitor.counts[GLOBAL_RELABELS] += 1
                forests = make_forests(net, n)
                begin(net, forests, monitor)
            forests = with_more_levels(forests)

    run_watched(go_on, net, control, "forests were repaired often")
    height = np.full(n, n + 1, dtype=net.head.dtype)
    distances_to_sink(net, height, forests.next_orphan, ZERO, ZERO, ZERO, False)
    return height
