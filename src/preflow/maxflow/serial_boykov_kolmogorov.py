"""The augmenting-path method of Boykov and Kolmogorov, on one thread.

Boykov and Kolmogorov, "An Experimental Comparison of Min-Cut/Max-Flow Algorithms for Energy Minimization in
Vision", IEEE PAMI 26 (2004). ``papers/baselines/serial_boykov_kolmogorov.py`` is the same method on grids.

One tree grows from the source and one from the sink; where they meet, flow is pushed along the path. Paths
need not be shortest, so no bound on their number is independent of the capacities.

Definitions
-----------
- A *root* is a vertex with excess (source's tree) or with residual capacity to the sink (sink's tree).
- The *distance* of a vertex is the number of vertices on the path to its root as of its *time*; it is 0 for
  a vertex in no tree. The time counts augmentations. A distance is exact if its time is now.
- An *active* vertex is on the queue: its tree may still grow from it.
- An *orphan* is a vertex that has lost its parent.

Invariants before a vertex is taken from the queue
--------------------------------------------------
- No vertex has both excess and residual capacity to the sink.
- There are no orphans. The tree arc between a vertex and its parent has residual capacity, from the parent in
  the source's tree and to the parent in the sink's.
- No ancestor of a vertex has an earlier time.
- A residual arc out of the source's tree starts at an active vertex; one into the sink's tree ends at one.

Pseudo-code
-----------
::

    send excess to the sink where a vertex has both; make roots; activate them    plant
    while there are active vertices: take the first one, v                        grow
        for each residual arc from v to a vertex w (reversed in the sink's tree):
            if w is in no tree: w becomes a child of v; activate w
            if w is in v's tree, farther away than v, and not known later: w becomes a child of v
            if w is in the other tree: push along root .. v, w .. root
                for each orphan, first in, first out:                             adopt
                    take the neighbour of its tree with the shortest path to a root as parent
                    if there is none: leave the tree; activate the neighbours that could reach it;
                        its children become orphans

To find the path length of a neighbour, `distance_to_root` follows parents until it meets a vertex whose
distance is exact, and stores what it learns on the way. Section 3.2 of the paper leaves this to
implementations; this is their usual rule.

Departures: terminals are not vertices, so a path begins at a vertex with excess and ends at one with capacity
to the sink; children are not listed, they are the neighbours whose parent the vertex is.

Time: O(n**2 m value). Memory beside the network: 5 indices and 2 bytes a vertex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices
from ..forests.paths import path_capacity, push_path, serve_at_vertices
from ..graph.residual import ResidualArrays
from ..kernels.atomics import relaxed_load
from ..kernels.bfs import distances_to_sink
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.work_limit import must_end
from ..solving.monitor import Monitor
from ..solving.options import UNLIMITED, check_positive_number, limit
from ..solving.run import Control
from ..stats import ARC_SCANS, PUSHES, RELABELS
from . import serial_incremental_bfs

FREE, SOURCE, SINK = 0, 1, 2
#: Columns of `Trees.vertex`. A walk to the root reads all of them, so they lie side by side. The tree of a
#: vertex is apart: a scan reads those of all neighbours, and often nothing else of them.
PARENT, DISTANCE, TIME = np.uint64(0), np.uint64(1), np.uint64(2)
COLUMNS = 3
#: Positions in `Trees.cursor`: first entry of the queue, its length, and the time.
HEAD, LENGTH, NOW = 0, 1, 2
CURSORS = 3
#: After this many augmentations the time begins again.
LAST_TIME = np.uint64(2**32 - 1)


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


class Trees(NamedTuple):
    """The source's tree and the sink's. Arrays have shape (n,) and the dtype of indices unless stated."""

    side: NDArray[np.uint8]  #: FREE, SOURCE or SINK
    #: shape (n, 3): PARENT: the residual arc from a vertex to its parent; m for a root, m + 1 for an orphan.
    #: DISTANCE: number of vertices on the path to the root as of TIME, which is the number of augmentations
    #: when the distance was computed.
    vertex: Indices
    active: NDArray[np.bool_]  #: whether the vertex is on the queue
    next_orphan: Indices  #: the orphan after this one on its list; n for none
    queue: Indices  #: vertices to grow from, as a ring
    cursor: NDArray[np.uint64]  #: shape (3,): see HEAD, LENGTH and NOW


def make_trees(net: ResidualArrays) -> Trees:
    """Allocate empty trees."""
    n, dtype = len(net.excess), net.head.dtype
    return Trees(
        side=np.zeros(n, dtype=np.uint8),
        vertex=np.zeros((n, COLUMNS), dtype=dtype),
        active=np.zeros(n, dtype=np.bool_),
        next_orphan=np.empty(n, dtype=dtype),
        queue=np.empty(n, dtype=dtype),
        cursor=np.zeros(CURSORS, dtype=np.uint64),
    )


def check_invariants(net: ResidualArrays, trees: Trees, taken: Sequence[int] = ()) -> None:
    """Assert the invariants: see the list above; O(m), called by tests.

    While the trees grow from a vertex that is `taken` from the queue, it counts as active.
    """
    n, m, side = len(net.excess), len(net.head), trees.side
    head, length = int(trees.cursor[HEAD]), int(trees.cursor[LENGTH])
    queued = [int(trees.queue[(head + k) % n]) for k in range(length)]
    assert sorted(queued) == np.flatnonzero(trees.active).tolist(), "others are queued than the active"
    assert not ((net.excess > 0) & (net.sink_residual > 0)).any(), "a vertex has excess and capacity"
    assert (side[net.excess > 0] == SOURCE).all(), "a vertex with excess is not in the source's tree"
    assert (side[net.sink_residual > 0] == SINK).all(), "one with capacity is not in the sink's tree"
    for v in np.flatnonzero(side != FREE):
        a = int(trees.vertex[v, PARENT])
        assert a <= m, "a vertex is an orphan"
        if a == m:
            amount = net.excess[v] if side[v] == SOURCE else net.sink_residual[v]
            assert amount > 0, "a root has no terminal amount"
            continue
        w = net.head[a]
        assert net.residual[a if side[v] == SINK else net.reverse[a]] > 0, "a tree arc is saturated"
        assert side[w] == side[v], "a parent is in the other tree"
        assert trees.vertex[w, TIME] >= trees.vertex[v, TIME], "a parent has an earlier time"
    degree: Array = net.first_out[1:] - net.first_out[:-1]
    tail = np.repeat(np.arange(n), degree)
    passive = ~trees.active
    passive[list(taken)] = False
    open_ = net.residual > 0
    leaving = open_ & (side[tail] == SOURCE) & passive[tail] & (side[net.head] != SOURCE)
    entering = open_ & (side[net.head] == SINK) & passive[net.head] & (side[tail] != SINK)
    assert not (leaving | entering).any(), "a tree can grow from a passive vertex"


@kernel
def activate(trees: Trees, v: np.uint64) -> None:
    """Append a vertex to the queue unless it is queued."""
    if not trees.active[v]:
        trees.active[v] = True
        size = np.uint64(len(trees.queue))
        place = trees.cursor[HEAD] + trees.cursor[LENGTH]
        trees.queue[place if place < size else place - size] = v
        trees.cursor[LENGTH] += ONE


@kernel
def plant(net: ResidualArrays, trees: Trees, monitor: Monitor) -> None:
    """Make roots of the vertices with excess or with capacity to the sink, and activate them."""
    side, vertex = trees.side, trees.vertex
    serve_at_vertices(net, monitor)
    v = ZERO
    while v < np.uint64(len(net.excess)):
        if net.excess[v] > 0 or net.sink_residual[v] > 0:
            side[v] = SOURCE if net.excess[v] > 0 else SINK
            vertex[v, PARENT] = len(net.head)
            vertex[v, DISTANCE] = 1
            activate(trees, v)
        v += ONE


@kernel
def distance_to_root(net: ResidualArrays, trees: Trees, v: np.uint64) -> np.uint64:
    """Return the distance of a vertex, made exact along its path; 0 if the path ends at an orphan."""
    vertex = trees.vertex
    root = np.uint64(len(net.head))
    now = trees.cursor[NOW]
    w = v
    length = ZERO
    while vertex[w, TIME] != now:
        length += ONE
        a = np.uint64(vertex[w, PARENT])
        if a >= root:
            if a != root:
                return ZERO
            vertex[w, TIME] = now
            vertex[w, DISTANCE] = ONE
            break
        w = np.uint64(net.head[a])
    else:
        length += np.uint64(vertex[w, DISTANCE])
    left = length
    w = v
    while vertex[w, TIME] != now:
        vertex[w, TIME] = now
        vertex[w, DISTANCE] = left
        left -= ONE
        w = np.uint64(net.head[vertex[w, PARENT]])
    return length


@kernel
def adopt(net: ResidualArrays, trees: Trees, source: bool, first: np.uint64, monitor: Monitor) -> np.uint64:
    """Find a parent for each orphan of a list, or remove it from its tree; children of such become orphans.

    Return the number of orphans processed. If the search is to stop, some orphans keep no parent, and the
    trees must not be used any more.
    """
    side, vertex, next_orphan = trees.side, trees.vertex, trees.next_orphan
    own = np.uint64(SOURCE if source else SINK)
    none = np.uint64(len(vertex))
    root = np.uint64(len(net.head))
    last = first
    while np.uint64(next_orphan[last]) != none:
        last = np.uint64(next_orphan[last])
    orphans = ZERO
    scans = ZERO
    v = first
    while v != none and relaxed_load(monitor.stop, 0) == 0:
        orphans += ONE
        begin, end = np.uint64(net.first_out[v]), np.uint64(net.first_out[v + ONE])
        scans += end - begin
        # Choose the parent with the shortest path to a root.
        nearest = ZERO
        found = root
        a = begin
        while a < end:
            w = np.uint64(net.head[a])
            if side[w] == own and net.residual[np.uint64(net.reverse[a]) if source else a] > 0:
                there = distance_to_root(net, trees, w)
                if there > ZERO and (nearest == ZERO or there < nearest):
                    nearest = there
                    found = a
            a += ONE
        if found < root:
            vertex[v, PARENT] = found
            vertex[v, DISTANCE] = nearest + ONE
            vertex[v, TIME] = trees.cursor[NOW]
        else:
            # There is none: the vertex leaves its tree.
            side[v] = FREE
            a = begin
            while a < end:
                w = np.uint64(net.head[a])
                if side[w] == own:
                    b = np.uint64(net.reverse[a])
                    if net.residual[b if source else a] > 0:
                        activate(trees, w)
                    if np.uint64(vertex[w, PARENT]) == b:
                        vertex[w, PARENT] = root + ONE
                        next_orphan[w] = none
                        next_orphan[last] = w
                        last = w
                a += ONE
        v = np.uint64(next_orphan[v])
    monitor.counts[ARC_SCANS] += scans
    return orphans


@kernel
def restart_time(net: ResidualArrays, trees: Trees) -> None:
    """Make all distances exact as of time 1, which is now; there must be no orphans."""
    trees.vertex[:, TIME] = 0
    trees.cursor[NOW] = ONE
    v = ZERO
    while v < np.uint64(len(trees.side)):
        if trees.side[v] != FREE:
            distance_to_root(net, trees, v)
        v += ONE


@kernel
def augment(net: ResidualArrays, trees: Trees, arc: np.uint64, monitor: Monitor) -> None:
    """Push along an arc from the source's tree to the sink's and along both paths; repair both trees."""
    parent, next_orphan = trees.vertex[:, PARENT], trees.next_orphan
    back = np.uint64(net.reverse[arc])
    v, w = np.uint64(net.head[back]), np.uint64(net.head[arc])
    amount = path_capacity(net, parent, v, True, np.int64(net.residual[arc]))
    amount = path_capacity(net, parent, w, False, amount)
    net.residual[arc] -= amount
    net.residual[back] += amount
    monitor.progress[0] -= amount
    if trees.cursor[NOW] >= LAST_TIME:
        restart_time(net, trees)
    trees.cursor[NOW] += ONE
    none = np.uint64(len(parent))
    first, above = push_path(net, parent, next_orphan, v, True, amount)
    if first != none:
        monitor.counts[RELABELS] += adopt(net, trees, True, first, monitor)
    first, below = push_path(net, parent, next_orphan, w, False, amount)
    if first != none:
        monitor.counts[RELABELS] += adopt(net, trees, False, first, monitor)
    # The arc to a source is not counted: the excess is there.
    monitor.counts[PUSHES] += above + below


@kernel
def grow(net: ResidualArrays, trees: Trees, work_limit: np.uint64, monitor: Monitor) -> bool:
    """Grow both trees until neither can grow, and push flow wherever they meet; return False at the limit.

    There are no orphans then, so that another method may go on.
    """
    side, vertex, counts = trees.side, trees.vertex, monitor.counts
    size = np.uint64(len(trees.queue))
    while trees.cursor[LENGTH] > ZERO and not must_end(monitor):
        if counts[ARC_SCANS] + counts[PUSHES] > work_limit:
            return False
        head = trees.cursor[HEAD]
        v = np.uint64(trees.queue[head])
        trees.cursor[HEAD] = head + ONE if head + ONE < size else ZERO
        trees.cursor[LENGTH] -= ONE
        trees.active[v] = False
        own = np.uint64(side[v])
        a, end = np.uint64(net.first_out[v]), np.uint64(net.first_out[v + ONE])
        monitor.counts[ARC_SCANS] += end - a
        while a < end and own != FREE:
            w = np.uint64(net.head[a])
            if side[w] == own and not (
                vertex[w, DISTANCE] > vertex[v, DISTANCE] and vertex[w, TIME] <= vertex[v, TIME]
            ):
                a += ONE
                continue
            b = np.uint64(net.reverse[a])
            arc = a if own == SOURCE else b
            if net.residual[arc] <= 0:
                a += ONE
            elif side[w] != FREE and side[w] != own:
                augment(net, trees, arc, monitor)
                if side[v] != own or relaxed_load(monitor.stop, 0) != 0:
                    break
            else:
                if side[w] == FREE:
                    side[w] = own
                    activate(trees, w)
                vertex[w, PARENT] = b
                vertex[w, DISTANCE] = vertex[v, DISTANCE] + ONE
                vertex[w, TIME] = vertex[v, TIME]
                a += ONE
    return True


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
        return serial_incremental_bfs.solve(net, serial_incremental_bfs.IncrementalBfsOptions(), control)
    height = np.full(len(net.excess), len(net.excess) + 1, dtype=net.head.dtype)
    distances_to_sink(net, height, trees.queue, ZERO, ZERO, ZERO, False)
    return height
