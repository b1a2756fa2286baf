"""Hopcroft and Karp's algorithm: phases of shortest augmenting paths, O(m sqrt(n)).

Hopcroft and Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs" (1973).

Definitions. The *layer* of a column is the number of columns on a shortest alternating path from a free row
up to it. A *phase* computes layers up to the first free columns, then augments along a maximal set of
disjoint shortest paths. Layers are stored for columns and not for the rows matched with them: an edge then
leads to its layer directly, and the value can be prefetched.

Invariants of a phase:

- Matched columns of layer d are reached through a row whose column has layer d - 1, or through a free row if
  d = 1.
- A search takes each column at most once, whether the column led nowhere or is on a path that augmented.
- After a phase the shortest augmenting path is longer than before.

With a budget, the method gives up after the first phase, but for the first one, that reads more than this
share of the edges, or when all phases have read eight times as many. From a cheap matching of a mesh, such as
a Delaunay graph, almost all augmenting paths are short. Each phase then reads fewer edges than the one
before, and this method is several times as fast as push-relabel. On grids with two colours and on random
graphs every phase reads most edges, and there are dozens of phases. The first phases show which case it is.
`serial-hybrid` is this method with a budget, followed by push-relabel.

Pseudo-code::

    queue = free rows
    while there are free rows:
        find_layers: breadth-first from the queue, up to the first free column
        if no free column was reached: the matching is maximum
        augment_all: for each free row r:
            depth-first, without recursion, from layer to layer to a free column
            if found: augment along the path; else keep r for the next phase
"""

from __future__ import annotations

import numpy as np

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.options import UNLIMITED, NoOptions, limit
from ..solving.run import Control, GaveUp
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .layered_phases import Layers, augment_all, find_layers, make_layers
from .match_arrays import Matching, list_free_rows

#: Phases end when all of them together have read this many times the edges that a single one may.
PHASES_WORTH = np.uint64(8)


@kernel
def run_phases(
    rows: Adjacency,
    matching: Matching,
    layers: Layers,
    size: np.uint64,
    scan_limit: np.uint64,
    monitor: Monitor,
) -> np.uint64:
    """Match the `size` free rows that begin the queue; return how many are left from which paths may exist.

    None are left unless the solve is to stop, a phase after the first reads more than `scan_limit` edges, or
    all phases so far have read more than PHASES_WORTH times `scan_limit`.
    """
    stop, counts = monitor.stop, monitor.counts
    phase, total = ZERO, ZERO
    while size > ZERO and relaxed_load(stop, 0) == 0:
        # Layers; without a free column the matching is maximum.
        length, scans = find_layers(rows, matching, layers, size, monitor)
        phase += ONE
        counts[PHASES] += ONE
        if length == ZERO:
            counts[ARC_SCANS] += scans
            return ZERO if relaxed_load(stop, 0) == 0 else size
        # A maximal set of disjoint shortest paths.
        left, more = augment_all(rows, matching, layers, size, length)
        scans += more
        counts[ARC_SCANS] += scans
        counts[AUGMENTATIONS] += size - left
        size = left
        monitor.progress[0] = size
        total += scans
        if phase > ONE and max(scans, total // PHASES_WORTH) > scan_limit:
            break
    return size


def solve(graph: BipartiteGraph, matching: Matching, options: NoOptions, control: Control) -> bool:
    """Make a matching maximum, in place; return False where the solve was asked to stop.

    O(m sqrt(n)) time, memory of three indices a row and one a column.
    """
    layers = make_layers(*graph.shape, graph.rows.first.dtype)
    size = list_free_rows(graph.rows, matching, layers.queue)
    control.progress[:] = size
    most = UNLIMITED if control.budget is None else limit(control.budget * graph.num_edges)
    left = int(run_phases(graph.rows, matching, layers, np.uint64(size), most, control.monitor()))
    if left and not control.stopped:
        raise GaveUp(f"phases became costly with {left:,} rows left")
    return left == 0
