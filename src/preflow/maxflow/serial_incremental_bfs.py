"""Incremental breadth-first search: augmenting paths between two forests that are repaired, never rebuilt.

Goldberg, Hed, Kaplan, Tarjan and Werneck, "Maximum Flows by Incremental Breadth-First Search", ESA 2011, and
with Kohli, "Faster and More Dynamic Maximum Flow by Incremental Breadth-First Search", ESA 2015.
``gridcut/incremental_search.py`` is the same method on grids.

Two forests grow towards each other, level by level. Where they meet, flow is pushed along both paths.
Vertices that lose their parent by a push are repaired at once.

Definitions
-----------
- The source's forest has its roots at the vertices with excess, the sink's forest at those with residual
  capacity to the sink.
- The *label* of a vertex is its level: 1 for a root, larger than the parent's label otherwise. Labels are
  negative in the sink's forest, and 0 for vertices in no forest.
- A *tree arc* joins a vertex to its parent. Its residual capacity leads from parent to child in the source's
  forest, from child to parent in the sink's.
- An *orphan* is a vertex that has lost its parent: its tree arc was saturated, it was a root whose terminal
  is used up, or its parent moved to another level or left the forest.
- The *depth* of a forest is the largest label that its vertices may have now.
- A vertex is *queued* if its forest may still grow from it.

Invariants between two levels
-----------------------------
- No vertex has both excess and residual capacity to the sink. A vertex has one of them if and only if it is a
  root of the forest of that kind.
- Every other vertex of a forest has a parent in the same forest with a smaller label, and its tree arc has
  residual capacity. There are no orphans.
- A residual arc out of the source's forest starts at a queued vertex; one into the sink's forest ends at one.

Pseudo-code
-----------
::

    send excess to the sink where a vertex has both; make roots; queue them      plant
    while the sink's queue is not empty:                                         search
        take the shallower forest whose queue is not empty; deepen it by a level
        for each vertex v queued before that:                                    grow
            for each residual arc from v to a vertex w (reversed in the sink's forest):
                if w is in no forest: w becomes a child of v; queue w
                if w is in the other forest: push along root .. v, w .. root
                    for each orphan, the smallest label first:                   adopt
                        choose a parent at the same distance, or at most two levels farther away
                        if there is none: leave the forest; queue the neighbours that could reach it
                        if its label changed: its children become orphans

When the sink's queue is empty, no residual arc enters the sink's forest, so the flow is maximum.

Departures from the papers, as on grids:

- The shallower forest grows next. The papers grow the one with fewer queued vertices.
- There is no current arc. An orphan reads its arcs once, and looks for a parent at the old distance and for
  the nearest parent in the same pass.
- An orphan moves away by one or two levels, to a parent that is neither its child nor an orphan, or leaves
  its forest. In the papers it may take a child as parent.
- When a vertex leaves its forest, the neighbours that could reach it are queued, as Boykov and Kolmogorov do.
  So a label is at least the number of vertices on the path to the root, usually the least such number. If
  labels have drifted so far from distances that one would pass n, new forests are begun.

Time: O(n**2 m value) in the worst case. Memory beside the network: 6 indices and a byte a vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Int64, Integers
from ..graph.residual import ResidualArrays
from ..kernels.atomics import prefetch, relaxed_load
from ..kernels.bfs import distances_to_sink
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.two_queues import HEAD, LENGTH, dequeue, enqueue
from ..solving.monitor import Monitor
from ..solving.run import Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS
from .tree_paths import path_capacity, push_path, serve_at_vertices
from .work_limit import must_end

#: Numbers of the two forests.
SOURCE, SINK = 0, 1
#: Position in `Forests.cursor` behind those of the queues: the depth of the source's forest, and that of the
#: sink's.
DEPTH = 4
CURSORS = 6
#: Initial length of `Forests.first_orphan`; it doubles when the forests become deeper.
LEVELS = 1024
#: How many vertices ahead on the queue the first arc is looked up, the arcs are fetched, and the labels of
#: their heads. With all three, and the arcs of the next orphan, a solve takes 0.73 to 0.88 of the time
#: (grids, volumes, a surface of 200,000 triangles). In prototypes that took 0.82; without orphans 0.87,
#: without labels, too, 0.93.
LOOK_UP, FETCH_ARCS, FETCH_LABELS = 16, 8, 4
#: The number of arcs of a vertex whose heads' labels are fetched.
MOST_LABELS = 16


@dataclass(frozen=True)
class IncrementalBfsOptions:
    """Options of incremental breadth-first search: none."""


class Forests(NamedTuple):
    """The source's forest and the sink's. Arrays have shape (n,) and the dtype of indices unless stated."""

    #: int32 or int64: 1 for a root, otherwise larger than the parent's; negative in the sink's forest; 0 in
    #: none
    label: Integers
    #: the residual arc from a vertex to its parent; m for a root, m + 1 for an orphan
    parent: Indices
    #: bit 0: on the queue of the source's forest; bit 1: on that of the sink's
    queued: NDArray[np.uint8]
    next_orphan: Indices  #: the orphan after this one on its list
    queue: Indices  #: shape (2, n): for each forest the vertices to grow from, as a ring
    first_orphan: Indices  #: shape (levels,): first orphan of each level; n if there is none
    cursor: NDArray[np.uint64]  #: shape (6,): see HEAD, LENGTH and DEPTH


def make_forests(net: ResidualArrays) -> Forests:
    """Allocate empty forests."""
    n, index = len(net.excess), net.head.dtype
    cursor = np.zeros(CURSORS, dtype=np.uint64)
    cursor[DEPTH : DEPTH + 2] = 1
    return Forests(
        # A path of 2**31 vertices has more residual arcs than indices of 32 bits can count.
        label=np.zeros(n, dtype=np.int32 if index.itemsize == 4 else np.int64),
        parent=np.empty(n, dtype=index),
        queued=np.zeros(n, dtype=np.uint8),
        next_orphan=np.empty(n, dtype=index),
        queue=np.empty((2, n), dtype=index),
        first_orphan=np.full(LEVELS, n, dtype=index),
        cursor=cursor,
    )


def check_invariants(net: ResidualArrays, forests: Forests) -> None:
    """Assert the invariants between two levels: see the list above; O(m), called by tests."""
    n, m, label = len(net.excess), len(net.head), forests.label
    for forest in (SOURCE, SINK):
        head, length = int(forests.cursor[HEAD + forest]), int(forests.cursor[LENGTH + forest])
        queue = sorted(int(forests.queue[forest, (head + k) % n]) for k in range(length))
        assert queue == np.flatnonzero(forests.queued >> forest & 1).tolist(), "others are queued"
    assert not ((net.excess > 0) & (net.sink_residual > 0)).any(), "a vertex has excess and capacity"
    is_root = forests.parent == m
    assert ((net.excess > 0) == (is_root & (label > 0))).all(), "roots differ from vertices with excess"
    assert ((net.sink_residual > 0) == (is_root & (label < 0))).all(), "roots differ from those with capacity"
    for v in np.flatnonzero(label):
        a = int(forests.parent[v])
        assert a <= m, "a vertex is an orphan"
        if a == m:
            assert abs(label[v]) == 1, "a root has another label than 1"
            continue
        assert net.residual[a if label[v] < 0 else net.reverse[a]] > 0, "a tree arc is saturated"
        above = label[net.head[a]] * np.sign(label[v])
        assert 0 < above < abs(label[v]), "a label is not above that of the parent"
    degree: Array = net.first_out[1:] - net.first_out[:-1]
    tail = np.repeat(np.arange(n), degree)
    open_ = net.residual > 0
    leaving = open_ & (label[tail] > 0) & (label[net.head] <= 0) & (forests.queued[tail] & 1 == 0)
    entering = open_ & (label[net.head] < 0) & (label[tail] >= 0) & (forests.queued[net.head] & 2 == 0)
    assert not (leaving | entering).any(), "a forest can grow from a vertex off its queue"


@kernel
def plant(net: ResidualArrays, forests: Forests, monitor: Monitor) -> None:
    """Make roots of the vertices with excess or with capacity to the sink, and queue them."""
    serve_at_vertices(net, monitor)
    v = ZERO
    while v < np.uint64(len(net.excess)):
        if net.excess[v] > 0 or net.sink_residual[v] > 0:
            forest = SOURCE if net.excess[v] > 0 else SINK
            forests.parent[v] = len(net.head)
            forests.label[v] = 1 - 2 * forest
            enqueue(forests, v, forest)
        v += ONE


@kernel
def fetch_arcs(net: ResidualArrays, v: np.uint64) -> None:
    """Ask for the cache lines of the first arcs of a vertex."""
    a = np.uint64(net.first_out[v])
    prefetch(net.head, a)
    prefetch(net.reverse, a)
    prefetch(net.residual, a)


@kernel
def fetch_ahead(net: ResidualArrays, forests: Forests, forest: Int64, waiting: np.uint64) -> None:
    """Ask for the cache lines that the next vertices of a queue need, where the ring does not end before."""
    head = forests.cursor[HEAD + forest]
    if waiting <= np.uint64(LOOK_UP) or head + np.uint64(LOOK_UP) >= np.uint64(len(forests.label)):
        return
    prefetch(net.first_out, np.uint64(forests.queue[forest, head + np.uint64(LOOK_UP)]))
    fetch_arcs(net, np.uint64(forests.queue[forest, head + np.uint64(FETCH_ARCS)]))
    v = np.uint64(forests.queue[forest, head + np.uint64(FETCH_LABELS)])
    a = np.uint64(net.first_out[v])
    end = min(np.uint64(net.first_out[v + ONE]), a + np.uint64(MOST_LABELS))
    while a < end:
        prefetch(forests.label, np.uint64(net.head[a]))
        a += ONE


@kernel
def adopt(
    net: ResidualArrays, forests: Forests, source: bool, deepest: Int64, first: np.uint64, monitor: Monitor
) -> np.uint64:
    """Find a parent for each orphan of a list, the smallest label first, or remove it from its forest.

    Return the number of orphans processed. If the search is to stop, some orphans keep no parent, and the
    forests must not be used any more.
    """
    parent, label = forests.parent, forests.label
    forest = SOURCE if source else SINK
    sign = np.int64(1) if source else np.int64(-1)
    none = np.uint64(len(label))
    root = np.uint64(len(net.head))
    # Sort the list by labels: a list of orphans for each level.
    waiting = ZERO
    level = none
    v = first
    while v != none:
        following = np.uint64(forests.next_orphan[v])
        its_level = np.uint64(abs(label[v]))
        level = min(level, its_level)
        forests.next_orphan[v] = forests.first_orphan[its_level]
        forests.first_orphan[its_level] = v
        waiting += ONE
        v = following
    orphans = ZERO
    scans = ZERO
    while waiting > ZERO and relaxed_load(monitor.stop, 0) == 0:
        v = np.uint64(forests.first_orphan[level])
        if v == none:
            level += ONE
            continue
        forests.first_orphan[level] = forests.next_orphan[v]
        waiting -= ONE
        orphans += ONE
        following = np.uint64(forests.first_orphan[level])
        if following != none:
            fetch_arcs(net, following)
        # Choose a parent: the first one that keeps the label, else the nearest that is at most two levels
        # farther away and neither a child nor an orphan.
        least = np.int64(deepest)
        found = root
        begin, end = np.uint64(net.first_out[v]), np.uint64(net.first_out[v + ONE])
        a = begin
        while a < end:
            w = np.uint64(net.head[a])
            there = sign * np.int64(label[w])
            if 0 < there < least:
                b = np.uint64(net.reverse[a])
                if net.residual[b if source else a] > 0:
                    if there < np.int64(level):
                        least = there
                        found = a
                        break
                    up = np.uint64(parent[w])
                    if there <= np.int64(level) + 1 and up != b and up <= root:
                        least = there
                        found = a
            a += ONE
        scans += a - begin
        if found < root:
            parent[v] = found
            if least < np.int64(level):
                continue  # the label is unchanged, so the children stay
            label[v] = sign * (least + 1)
        else:
            label[v] = 0
        # The label has changed: children become orphans. If the vertex left the forest, neighbours that could
        # reach it are queued.
        scans += end - begin
        a = begin
        while a < end:
            w = np.uint64(net.head[a])
            there = sign * np.int64(label[w])
            if there > 0:
                b = np.uint64(net.reverse[a])
                if np.uint64(parent[w]) == b:
                    parent[w] = root + ONE
                    forests.next_orphan[w] = forests.first_orphan[there]
                    forests.first_orphan[there] = w
                    waiting += ONE
                if found == root and net.residual[b if source else a] > 0:
                    enqueue(forests, w, forest)
            a += ONE
    monitor.counts[ARC_SCANS] += scans
    return orphans


@kernel
def grow(net: ResidualArrays, forests: Forests, source: bool, monitor: Monitor) -> None:
    """Grow a forest by one level, and push flow wherever it meets the other one."""
    stop, parent, label = monitor.stop, forests.parent, forests.label
    forest = SOURCE if source else SINK
    sign = np.int64(1) if source else np.int64(-1)
    forests.cursor[DEPTH + forest] += ONE
    deepest = np.int64(forests.cursor[DEPTH + forest])
    deepest_other = np.int64(forests.cursor[DEPTH + 1 - forest])
    waiting = forests.cursor[LENGTH + forest]
    none = np.uint64(len(label))
    scans = ZERO
    pushes = ZERO
    orphans = ZERO
    while waiting > ZERO and relaxed_load(stop, 0) == 0:
        waiting -= ONE
        fetch_ahead(net, forests, forest, waiting)
        v = dequeue(forests, forest)
        here = sign * np.int64(label[v])
        if here <= 0:
            continue  # it has left this forest
        if here >= deepest:
            enqueue(forests, v, forest)  # its children belong to the next level
            continue
        a, end = np.uint64(net.first_out[v]), np.uint64(net.first_out[v + ONE])
        scans += end - a
        while a < end:
            w = np.uint64(net.head[a])
            there = sign * np.int64(label[w])
            if there > 0:
                a += ONE
                continue
            b = np.uint64(net.reverse[a])
            arc, opposite = (a, b) if source else (b, a)
            amount = np.int64(net.residual[arc])
            if amount == 0:
                a += ONE
                continue
            if there == 0:
                # A vertex of no forest becomes a child.
                label[w] = sign * (here + 1)
                parent[w] = b
                enqueue(forests, w, forest)
                a += ONE
                continue
            # The forests meet: push along both paths, as much as they take.
            amount = path_capacity(net, parent, v, source, amount)
            amount = path_capacity(net, parent, w, not source, amount)
            net.residual[arc] -= amount
            net.residual[opposite] += amount
            monitor.progress[0] -= amount
            # Repair the other forest, then this one.
            first, made = push_path(net, parent, forests.next_orphan, w, not source, amount)
            pushes += made
            if first != none:
                orphans += adopt(net, forests, not source, deepest_other, first, monitor)
            first, made = push_path(net, parent, forests.next_orphan, v, source, amount)
            pushes += made
            if first != none:
                orphans += adopt(net, forests, source, deepest, first, monitor)
                if sign * np.int64(label[v]) != here:
                    # The vertex has moved: it grows at its new level, if it is still in this forest.
                    if sign * np.int64(label[v]) > 0:
                        enqueue(forests, v, forest)
                    break
            if relaxed_load(stop, 0) != 0:
                break  # there may be orphans left, through which no path leads
    monitor.counts[ARC_SCANS] += scans
    monitor.counts[PUSHES] += pushes
    monitor.counts[RELABELS] += orphans


@kernel
def search(net: ResidualArrays, forests: Forests, monitor: Monitor) -> bool:
    """Grow both forests until the sink's cannot grow; return False if there is no room for more levels."""
    cursor = forests.cursor
    room = np.uint64(len(forests.first_orphan))
    while cursor[LENGTH + SINK] > ZERO and not must_end(monitor):
        source = cursor[LENGTH + SOURCE] > ZERO and cursor[DEPTH + SOURCE] <= cursor[DEPTH + SINK]
        if cursor[DEPTH + (SOURCE if source else SINK)] + ONE >= room:
            return False
        grow(net, forests, source, monitor)
    return True


def solve(net: ResidualArrays, options: IncrementalBfsOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    control.progress[:] = net.excess.sum(dtype=np.float64)
    n, dtype = len(net.excess), net.head.dtype
    monitor = control.monitor()
    forests = make_forests(net)
    plant(net, forests, monitor)
    while not search(net, forests, monitor):
        levels = len(forests.first_orphan)
        if levels > n + 2:
            # Labels have drifted from distances.
            monitor.counts[GLOBAL_RELABELS] += 1
            forests = make_forests(net)
            plant(net, forests, monitor)
        levels = min(2 * levels, n + 3)
        forests = forests._replace(first_orphan=np.full(levels, n, dtype=dtype))
    height = np.full(n, n + 1, dtype=dtype)
    distances_to_sink(net, height, forests.next_orphan, ZERO, ZERO, ZERO, False)
    return height
