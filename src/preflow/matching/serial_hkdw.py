"""HKDW: Hopcroft and Karp's phases, each followed by searches of any length from the rows left free.

Duff and Wiberg, "Implementations of O(n^(1/2) τ) assignment algorithms", ACM TOMS 14 (1988). The second set
of searches, as in a phase of Pothen and Fan, saves phases where augmenting paths are of many lengths; the
bound O(m sqrt(n)) stays.

Departures: what a failed search of the second set proves to be out of reach is closed, and its root dropped
(:mod:`.depth_first`); and these searches try edges backwards in every other phase, as Pothen and Fan's with
fairness do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .match_arrays import Matching, list_free_rows
from .serial_hopcroft_karp import Layers, augment_all, find_layers, make_layers
from .serial_pothen_fan import Search, augment_from, closed, make_search, restart_stamps

ZERO = np.uint64(0)
ONE = np.uint64(1)


@dataclass(frozen=True)
class HkdwOptions:
    """HKDW has no options."""


@kernel
def run_phases(
    rows: Adjacency,
    matching: Matching,
    layers: Layers,
    search: Search,
    size: Any,
    stop: Any,
    counts: Any,
    progress: Any,
) -> bool:
    """Match the `size` free rows in the queue; return whether it was not stopped before that was done."""
    number = ZERO
    backwards = False
    while size > ZERO:
        length, scans = find_layers(rows, matching, layers, size, stop)
        counts[ARC_SCANS] += scans
        counts[PHASES] += ONE
        if length == ZERO:
            return bool(relaxed_load(stop, 0) == 0)
        left, scans = augment_all(rows, matching, layers, size, length)
        counts[ARC_SCANS] += scans
        counts[AUGMENTATIONS] += size - left
        size = left
        if number + size >= closed(search):
            restart_stamps(search)
            number = ZERO
        before = number
        left = ZERO
        for k in range(size):
            if relaxed_load(stop, 0) != 0:
                return False
            root = np.uint64(layers.queue[k])
            number += ONE
            found, clean, scans = augment_from(rows, matching, search, root, number, before, backwards)
            counts[ARC_SCANS] += scans
            if found:
                counts[AUGMENTATIONS] += ONE
            elif not clean:
                layers.queue[left] = root
                left += ONE
        size = left
        progress[0] = size
        backwards = not backwards
    return True


def solve(graph: BipartiteGraph, matching: Matching, options: HkdwOptions, control: Control) -> bool:
    """Make a matching maximum, in place.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Notes
    -----
    O(m sqrt(n)) time, memory of six indices a row and three a column.
    """
    layers = make_layers(*graph.shape, graph.rows.first.dtype)
    search = make_search(graph.rows, graph.num_columns)
    size = list_free_rows(graph.rows, matching, layers.queue)
    control.excess[:] = size
    return run_phases(
        graph.rows, matching, layers, search, np.uint64(size), control.stop, control.counts, control.excess
    )
