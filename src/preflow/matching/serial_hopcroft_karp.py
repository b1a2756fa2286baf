"""Hopcroft and Karp's algorithm (1973): phases of shortest augmenting paths, O(m sqrt(n)).

Each phase layers the rows by breadth-first search from all free ones, then augments along a maximal set of
disjoint shortest paths, found depth first without recursion.
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
from .layered import Layers, augment_layered, find_layers, keep_free, make_layers
from .state import NONE, Matching, list_free_rows

ZERO = np.uint64(0)
ONE = np.uint64(1)


@dataclass(frozen=True)
class HopcroftKarpOptions:
    """Hopcroft and Karp's algorithm has no options."""


@kernel
def run_phases(
    rows: Adjacency, matching: Matching, layers: Layers, size: Any, stop: Any, counts: Any, progress: Any
) -> bool:
    """Match the `size` free rows in the queue; return whether it was not stopped before that was done."""
    while size > ZERO:
        last, scans = find_layers(rows, matching, layers, size)
        counts[ARC_SCANS] += scans
        counts[PHASES] += ONE
        if last == NONE:
            break
        for k in range(size):
            if relaxed_load(stop, 0) != 0:
                return False
            found, scans = augment_layered(rows, matching, layers, layers.queue[k], last)
            counts[ARC_SCANS] += scans
            if found:
                counts[AUGMENTATIONS] += ONE
        size = keep_free(matching, layers.queue, size)
        progress[0] = size
    return True


def solve(graph: BipartiteGraph, matching: Matching, options: HopcroftKarpOptions, control: Control) -> bool:
    """Make a matching maximum, in place.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Notes
    -----
    O(m sqrt(n)) time, memory of four indices a row.
    """
    layers = make_layers(graph.num_rows, graph.rows.first.dtype)
    size = list_free_rows(graph.rows, matching, layers.queue)
    control.excess[:] = size
    return run_phases(
        graph.rows, matching, layers, np.uint64(size), control.stop, control.counts, control.excess
    )
