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
from ..solving.options import UNLIMITED
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .layered import Layers, augment_all, find_layers, make_layers
from .state import Matching, list_free_rows

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Phases that look at few edges each end when they have looked at so many times as many as one may.
PHASES_WORTH = np.uint64(8)


@dataclass(frozen=True)
class HopcroftKarpOptions:
    """Hopcroft and Karp's algorithm has no options."""


@kernel
def run_phases(
    rows: Adjacency,
    matching: Matching,
    layers: Layers,
    size: Any,
    scan_limit: Any,
    stop: Any,
    counts: Any,
    progress: Any,
) -> Any:
    """Match the `size` free rows that begin the queue; return how many are left for which paths may exist.

    None are left unless `stop` is raised, or a phase after the first looks at more than `scan_limit` edges,
    or all phases so far at more than PHASES_WORTH times as many.
    """
    phase, total = ZERO, ZERO
    while size > ZERO and relaxed_load(stop, 0) == 0:
        length, scans = find_layers(rows, matching, layers, size, stop)
        phase += ONE
        counts[PHASES] += ONE
        if length == ZERO:
            counts[ARC_SCANS] += scans
            return ZERO if relaxed_load(stop, 0) == 0 else size
        left, more = augment_all(rows, matching, layers, size, length)
        scans += more
        counts[ARC_SCANS] += scans
        counts[AUGMENTATIONS] += size - left
        size = left
        progress[0] = size
        total += scans
        if phase > ONE and max(scans, total // PHASES_WORTH) > scan_limit:
            break
    return size


def solve(graph: BipartiteGraph, matching: Matching, options: HopcroftKarpOptions, control: Control) -> bool:
    """Make a matching maximum, in place.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Notes
    -----
    O(m sqrt(n)) time, memory of three indices a row and one a column.
    """
    return solve_within(graph, matching, UNLIMITED, control) == 0


def solve_within(graph: BipartiteGraph, matching: Matching, scan_limit: Any, control: Control) -> int:
    """Do the same until phases are not worth it: see :func:`run_phases`.

    Returns the number of free rows from which there may still be augmenting paths.
    """
    layers = make_layers(*graph.shape, graph.rows.first.dtype)
    size = list_free_rows(graph.rows, matching, layers.queue)
    control.excess[:] = size
    left = run_phases(
        graph.rows,
        matching,
        layers,
        np.uint64(size),
        scan_limit,
        control.stop,
        control.counts,
        control.excess,
    )
    return int(left)
