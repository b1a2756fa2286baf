"""The augmenting-path method of Boykov and Kolmogorov, on networks and on grids.

Boykov and Kolmogorov, "An Experimental Comparison of Min-Cut/Max-Flow Algorithms for Energy Minimization in
Vision", IEEE PAMI 26 (2004).

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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, ResidualNetwork
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.work_limit import must_end
from ..network.arcs import (
    capacity,
    end,
    first,
    forest_dtypes,
    head,
    no_arc,
    num_vertices,
    opposite,
    place,
    terminal,
)
from ..solving.monitor import Monitor
from ..stats import ARC_SCANS, PUSHES, RELABELS
from .paths import path_capacity, push_path, serve_at_vertices

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


class Trees(NamedTuple):
    """The source's tree and the sink's. Arrays have shape (n,) and the dtype of indices unless stated."""

    side: NDArray[np.uint8]  #: FREE, SOURCE or SINK
    #: shape (n, 3): PARENT: name of the arc to the parent; ``no_arc`` for a root, the number after it for an
    #: orphan. DISTANCE: number of vertices on the path to the root as of TIME, which is the number of
    #: augmentations when the distance was computed.
    vertex: Indices
    active: NDArray[np.bool_]  #: whether the vertex is on the queue
    next_orphan: Indices  #: the orphan after this one on its list; n for none
    queue: Indices  #: vertices to grow from, as a ring
    cursor: NDArray[np.uint64]  #: shape (3,): see HEAD, LENGTH and NOW


def make_trees(net: ResidualNetwork) -> Trees:
    """Allocate empty trees."""
    n = int(num_vertices(net))
    _, _, index = forest_dtypes(net)
    return Trees(
        side=np.zeros(n, dtype=np.uint8),
        vertex=np.zeros((n, COLUMNS), dtype=index),
        active=np.zeros(n, dtype=np.bool_),
        next_orphan=np.empty(n, dtype=index),
        queue=np.empty(n, dtype=index),
        cursor=np.zeros(CURSORS, dtype=np.uint64),
    )


@kernel
def activate(trees: Trees, v: np.uint64) -> None:
    """Append a vertex to the queue unless it is queued."""
    if not trees.active[v]:
        trees.active[v] = True
        size = np.uint64(len(trees.queue))
        last = trees.cursor[HEAD] + trees.cursor[LENGTH]
        trees.queue[last if last < size else last - size] = v
        trees.cursor[LENGTH] += ONE


@kernel
def plant(net: ResidualNetwork, trees: Trees, monitor: Monitor) -> None:
    """Make roots of the vertices with excess or with capacity to the sink, and activate them."""
    side, vertex = trees.side, trees.vertex
    serve_at_vertices(net, monitor)
    v = ZERO
    while v < num_vertices(net):
        source = terminal(net, v, True) > 0
        if source or terminal(net, v, False) > 0:
            side[v] = SOURCE if source else SINK
            vertex[v, PARENT] = no_arc(net)
            vertex[v, DISTANCE] = 1
            activate(trees, v)
        v += ONE


@kernel
def distance_to_root(net: ResidualNetwork, trees: Trees, v: np.uint64) -> np.uint64:
    """Return the distance of a vertex, made exact along its path; 0 if the path ends at an orphan."""
    vertex = trees.vertex
    root = no_arc(net)
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
        w = head(net, w, a)
    else:
        length += np.uint64(vertex[w, DISTANCE])
    left = length
    w = v
    while vertex[w, TIME] != now:
        vertex[w, TIME] = now
        vertex[w, DISTANCE] = left
        left -= ONE
        w = head(net, w, np.uint64(vertex[w, PARENT]))
    return length


@kernel
def adopt(net: ResidualNetwork, trees: Trees, source: bool, listed: np.uint64, monitor: Monitor) -> np.uint64:
    """Find a parent for each orphan of a list, or remove it from its tree; children of such become orphans.

    Return the number of orphans processed. If the search is to stop, some orphans keep no parent, and the
    trees must not be used any more.
    """
    side, vertex, next_orphan = trees.side, trees.vertex, trees.next_orphan
    own = np.uint64(SOURCE if source else SINK)
    none, root = num_vertices(net), no_arc(net)
    last = listed
    while np.uint64(next_orphan[last]) != none:
        last = np.uint64(next_orphan[last])
    orphans = ZERO
    scans = ZERO
    v = listed
    while v != none and relaxed_load(monitor.stop, 0) == 0:
        orphans += ONE
        begin, stop = first(net, v), end(net, v)
        scans += stop - begin
        # Choose the parent with the shortest path to a root.
        nearest = ZERO
        found = root
        a = begin
        while a < stop:
            w = head(net, v, a)
            if side[w] == own and capacity(net, v, w, a, source) > 0:
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
            while a < stop:
                w = head(net, v, a)
                if side[w] == own:
                    if capacity(net, v, w, a, source) > 0:
                        activate(trees, w)
                    if np.uint64(vertex[w, PARENT]) == opposite(net, a):
                        vertex[w, PARENT] = root + ONE
                        next_orphan[w] = none
                        next_orphan[last] = w
                        last = w
                a += ONE
        v = np.uint64(next_orphan[v])
    monitor.counts[ARC_SCANS] += scans
    return orphans


@kernel
def restart_time(net: ResidualNetwork, trees: Trees) -> None:
    """Make all distances exact as of time 1, which is now; there must be no orphans."""
    trees.vertex[:, TIME] = 0
    trees.cursor[NOW] = ONE
    v = ZERO
    while v < np.uint64(len(trees.side)):
        if trees.side[v] != FREE:
            distance_to_root(net, trees, v)
        v += ONE


@kernel
def augment(
    net: ResidualNetwork, trees: Trees, v: np.uint64, w: np.uint64, a: np.uint64, monitor: Monitor
) -> None:
    """Push along arc `a` from `v`, in the source's tree, to `w`, in the sink's, and along both paths."""
    parent, next_orphan = trees.vertex[:, PARENT], trees.next_orphan
    used = place(net, v, a)
    amount = path_capacity(net, parent, v, True, np.int64(net.residual[used]))
    amount = path_capacity(net, parent, w, False, amount)
    net.residual[used] -= amount
    net.residual[place(net, w, opposite(net, a))] += amount
    monitor.progress[0] -= amount
    if trees.cursor[NOW] >= LAST_TIME:
        restart_time(net, trees)
    trees.cursor[NOW] += ONE
    none = num_vertices(net)
    listed, above = push_path(net, parent, next_orphan, v, True, amount)
    if listed != none:
        monitor.counts[RELABELS] += adopt(net, trees, True, listed, monitor)
    listed, below = push_path(net, parent, next_orphan, w, False, amount)
    if listed != none:
        monitor.counts[RELABELS] += adopt(net, trees, False, listed, monitor)
    # The arc to a source is not counted: the excess is there.
    monitor.counts[PUSHES] += above + below


@kernel
def grow(net: ResidualNetwork, trees: Trees, monitor: Monitor) -> None:
    """Grow both trees until neither can grow, and push flow wherever they meet."""
    side, vertex = trees.side, trees.vertex
    size = np.uint64(len(trees.queue))
    while trees.cursor[LENGTH] > ZERO and not must_end(monitor):
        begin = trees.cursor[HEAD]
        v = np.uint64(trees.queue[begin])
        trees.cursor[HEAD] = begin + ONE if begin + ONE < size else ZERO
        trees.cursor[LENGTH] -= ONE
        trees.active[v] = False
        own = np.uint64(side[v])
        a, last = first(net, v), end(net, v)
        monitor.counts[ARC_SCANS] += last - a
        while a < last and own != FREE:
            w = head(net, v, a)
            if side[w] == own and not (
                vertex[w, DISTANCE] > vertex[v, DISTANCE] and vertex[w, TIME] <= vertex[v, TIME]
            ):
                a += ONE
                continue
            b = opposite(net, a)
            if capacity(net, v, w, a, own != SOURCE) <= 0:
                a += ONE
            elif side[w] != FREE and side[w] != own:
                if own == SOURCE:
                    augment(net, trees, v, w, a, monitor)
                else:
                    augment(net, trees, w, v, b, monitor)
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
