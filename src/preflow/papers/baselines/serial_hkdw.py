"""HKDW: the phases of Hopcroft and Karp, each followed by searches of any length from the rows left free.

Duff and Wiberg, "Implementations of O(n^(1/2) τ) assignment algorithms", ACM TOMS 14 (1988). The second set
of searches is a phase of Pothen and Fan's algorithm. It saves phases where augmenting paths have many
different lengths; the bound O(m sqrt(n)) stays.

Departures:

- A search of the second set that fails and is clean closes its columns and drops its root
  (:mod:`.serial_pothen_fan`).
- Searches of the second set read edges backwards in every other phase, as Pothen and Fan's do with fairness.

Pseudo-code::

    while there are free rows:
        find layers; if no free column was reached: the matching is maximum
        augment along a maximal set of disjoint shortest paths
        for each row left free: search depth-first, at any length, and augment

The invariants are those of :mod:`preflow.bipartite.serial_hopcroft_karp` and :mod:`.serial_pothen_fan`.
"""

from __future__ import annotations

import numpy as np

from ...bipartite.layered_phases import Layers, augment_all, find_layers, make_layers
from ...bipartite.match_arrays import Matching, list_free_rows
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.options import NoOptions
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .depth_first import PothenFanSearch, make_search, search_from_all


@kernel
def run_phases(
    rows: Adjacency,
    matching: Matching,
    layers: Layers,
    search: PothenFanSearch,
    size: np.uint64,
    monitor: Monitor,
) -> bool:
    """Match the `size` free rows in the queue; return whether the matching is maximum (False: stopped)."""
    stop, counts = monitor.stop, monitor.counts
    number, backwards = ZERO, False
    while size > ZERO:
        # Layers; without a free column the matching is maximum.
        length, scans = find_layers(rows, matching, layers, size, monitor)
        counts[ARC_SCANS] += scans
        counts[PHASES] += ONE
        if length == ZERO:
            return bool(relaxed_load(stop, 0) == 0)
        # A maximal set of disjoint shortest paths.
        left, scans = augment_all(rows, matching, layers, size, length)
        counts[ARC_SCANS] += scans
        counts[AUGMENTATIONS] += size - left
        # Searches of any length from the rows left.
        go_on, size, number = search_from_all(
            rows, matching, search, layers.queue, left, number, backwards, monitor
        )
        if not go_on:
            return False
        backwards = not backwards
    return True


def solve(graph: BipartiteGraph, matching: Matching, options: NoOptions, control: Control) -> bool:
    """Make a matching maximum, in place; return False where the solve was asked to stop.

    O(m sqrt(n)) time, memory of six indices a row and three a column.
    """
    layers = make_layers(*graph.shape, graph.rows.first.dtype)
    search = make_search(graph.rows, graph.num_columns)
    size = list_free_rows(graph.rows, matching, layers.queue)
    control.progress[:] = size
    return run_phases(graph.rows, matching, layers, search, np.uint64(size), control.monitor())
