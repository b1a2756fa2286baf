"""Incremental breadth-first search: the search that several methods share, on networks and on grids.

Goldberg, Hed, Kaplan, Tarjan and Werneck, "Maximum Flows by Incremental Breadth-First Search", ESA 2011, and
with Kohli, "Faster and More Dynamic Maximum Flow by Incremental Breadth-First Search", ESA 2015.

Two forests grow towards each other, level by level. Where they meet, flow is pushed along both paths.
Vertices that lose their parent by a push are repaired at once, so that no forest is built a second time.

Definitions
-----------
- The source's forest has its roots at the vertices with excess, the sink's forest at those with residual
  capacity to the sink: the *terminal amounts* of :mod:`preflow.network.arcs`. As in the second paper a root
  is any such vertex, whatever its capacities were, so a flow to start from needs no special case.
- The *label* of a vertex is its level: 1 for a root, larger than the parent's label otherwise. Labels are
  negative in the sink's forest, and 0 for vertices in no forest.
- A *tree arc* joins a vertex to its parent. Its residual capacity leads from parent to child in the source's
  forest, from child to parent in the sink's.
- An *orphan* is a vertex that has lost its parent: its tree arc was saturated, it was a root whose terminal
  amount is used up, or its parent moved to another level or left the forest.
- The *depth* of a forest is the largest label that its vertices may have now.
- A vertex is *queued* if its forest may still grow from it.

Invariants between two levels
-----------------------------
- A vertex has a terminal amount if and only if it is a root of the forest of that sign.
- Every other vertex of a forest has a parent in the same forest with a smaller label, and its tree arc has
  residual capacity. There are no orphans.
- A residual arc out of the source's forest starts at a queued vertex; one into the sink's forest ends at one.

Pseudo-code
-----------
::

    make a root of each vertex with excess or deficit; queue it
    while the sink's queue is not empty:                            search
        take the shallower forest whose queue is not empty; deepen it by a level
        for each vertex v queued before that:                        grow
            for each residual arc from v to a vertex w (reversed in the sink's forest):
                if w is in no forest: w becomes a child of v; queue w
                if w is in the other forest: push along root .. v, w .. root
                    for each orphan, the smallest label first:      adopt
                        choose a parent at the same distance, or at most two levels farther away
                        if there is none: leave the forest; queue the neighbours that could reach it
                        if its label changed: its children become orphans

One copy of the code serves both forests: `sign` turns the labels of the sink's forest positive, and the
residual capacity of a tree arc is read at the end that the forest needs. A search allocates nothing and keeps
no state outside its arguments.

When the sink's queue is empty, no residual arc enters the sink's forest, so the flow is maximum and that
forest is the smallest sink side of a minimum cut.

Departures from the papers, measured in docs/notebook
------------------------------------------------------------
- The shallower forest grows next. The papers grow the one with fewer queued vertices. With that rule one of
  the two forests often never grows, which doubles the number of orphans.
- There is no current arc. An orphan reads its few neighbours once, and looks for a parent at the old distance
  and for the nearest parent in the same pass.
- An orphan moves away by one or two levels, to a parent that is neither its child nor an orphan, or leaves
  its forest. In the papers it may take a child as parent. Both then climb over each other: where few seeds
  have excess or deficits, that takes two to four times as many orphans.
- When a vertex leaves its forest, the neighbours that could reach it are queued, as Boykov and Kolmogorov do.
  So a label is at least the number of vertices on the path to the root; it is usually, but not always, the
  least such number. Only speed depends on it. Therefore forests may grow from some roots first, and the
  forests of parts of a grid may be joined.

Parts of a grid
---------------
Threads may search disjoint parts of a grid at the same time if no residual arc joins two parts. The arrays of
pixels (`label`, `parent`, `queued`, `next_orphan`) are shared; the queues belong to the part. To separate
parts, store the residual capacities of the arcs between them elsewhere and write 0 in their place, in both
directions. A search reads neighbours in other parts, but draws no conclusion while the arc has no residual
capacity.

To join two parts: restore these capacities, make one :class:`Forests` for both with `forests_of_part`, append
both queues with `append_queues`, queue the pixels at the border with `enqueue`, and search.

The work limit
--------------
Searches for short paths are the fastest method on images, but no bound on their work is independent of the
capacities: a long path that saturates one arc makes orphans of whole trees. Push-relabel has such a bound and
is a few times slower on images. So a search counts its work, in orphans and pixels of augmenting paths. When
the work reaches the limit, the search sets the stop flag to USE_PUSH_RELABEL, all threads of the solve
return, and push-relabel goes on from the pseudoflow that they leave. The search has then spent about as
much time as push-relabel takes. Kernels poll the stop flag anyway, so the limit costs no further check. A
stop by the user overrides it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Int64, Integers, ResidualNetwork
from ..kernels.atomics import compare_exchange, prefetch, relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.two_queues import HEAD, LENGTH, dequeue, enqueue
from ..kernels.work_limit import must_end
from ..network.arcs import (
    capacity,
    end,
    fetch_arcs,
    fetch_first,
    first,
    forest_dtypes,
    head,
    is_scattered,
    no_arc,
    num_vertices,
    opposite,
    place,
    terminal,
)
from ..solving.monitor import Monitor
from ..solving.options import UNLIMITED, limit
from ..solving.run import Control, GaveUp
from ..stats import ARC_SCANS, AUGMENTATIONS, PUSHES, RELABELS
from .paths import path_capacity, push_path

#: Numbers of the two forests.
SOURCE, SINK = 0, 1
#: Positions in `Forests.cursor` behind those of the queues: depth of the source's forest, followed by that
#: of the sink's; the work that the search may still do, in pixels of paths; the orphans that it may process.
DEPTH, WORK_LEFT, ORPHANS_LEFT = 4, 6, 7
CURSORS = 8
#: Initial length of `Forests.first_orphan`; it doubles when the forests become deeper.
LEVELS = 1024

#: How many vertices ahead on the queue the first arc is looked up, the arcs are fetched, and the labels of
#: their heads, where arcs are listed. With all three, and the arcs of the next orphan, a solve takes 0.73 to
#: 0.88 of the time (grids, volumes, a surface of 200,000 triangles). In prototypes that took 0.82; without
#: orphans 0.87, without labels, too, 0.93.
LOOK_UP, FETCH_ARCS, FETCH_LABELS = 16, 8, 4
#: The number of arcs of a vertex whose heads' labels are fetched.
MOST_LABELS = 16

#: The value of the stop flag by which a search asks the solve to continue with push-relabel.
USE_PUSH_RELABEL = np.int64(2)
#: Fraction of the limit that each of several threads gets. One of two takes up to 1.2 orphans per arc on
#: vessels, 0.3 on noise; one source in 2 x 60,000 pixels took 0.112 CPU seconds with 1.0, 0.084 with 0.5.
THREAD_FRACTION = 0.5
#: Pixels of augmenting paths that count as one orphan, since they take as long.
PATH_PIXELS_PER_ORPHAN = np.uint64(4)
#: A search may process this many orphans per pixel of the grid, plus this many per pixel of an augmenting
#: path. With more orphans than that, each path destroys the trees that the last one built. Noise, spirals and
#: vessels need less than 0.1 per pixel of the grid.
ORPHANS_PER_PIXEL, ORPHANS_PER_PATH_PIXEL = 1.0, np.uint64(10)


class Forests(NamedTuple):
    """The source's and the sink's forest."""

    #: int32 or int64, shape (n,): 1 for a root, otherwise larger than the parent's; negative in the sink's
    #: forest; 0 in none
    label: Integers
    #: shape (n,): name of the arc to the parent; ``no_arc`` for a root, the number after it for an orphan
    parent: Indices
    #: shape (n,): bit 0: on the queue of the source's forest; bit 1: on that of the sink's
    queued: NDArray[np.uint8]
    next_orphan: Indices  #: shape (n,): the orphan after this one on its list
    queue: Indices  #: shape (2, room): for each forest the vertices to grow from, as a ring
    first_orphan: Indices  #: shape (levels,): first orphan of each level; n if there is none
    #: shape (CURSORS,): see HEAD, LENGTH, DEPTH, WORK_LEFT and ORPHANS_LEFT
    cursor: NDArray[np.uint64]


def make_forests(
    net: ResidualNetwork, room: int, label: Integers | None = None, parent: Indices | None = None
) -> Forests:
    """Allocate forests for all vertices of a network, with empty queues of `room` entries.

    The forests are those of the given labels and parents, or empty.
    """
    n = int(num_vertices(net))
    level, arc, index = forest_dtypes(net)
    return forests_of_part(
        Forests(
            label=np.zeros(n, dtype=level) if label is None else label,
            parent=np.empty(n, dtype=arc) if parent is None else parent,
            queued=np.zeros(n, dtype=np.uint8),
            next_orphan=np.empty(n, dtype=index),
            queue=np.empty((2, 0), dtype=index),
            first_orphan=np.empty(0, dtype=index),
            cursor=np.zeros(CURSORS, dtype=np.uint64),
        ),
        room,
    )


def forests_of_part(forests: Forests, room: int) -> Forests:
    """Return forests with empty queues of `room` entries; they share the arrays of vertices."""
    n = len(forests.label)
    cursor = np.zeros(CURSORS, dtype=np.uint64)
    cursor[DEPTH : DEPTH + 2] = 1
    cursor[[WORK_LEFT, ORPHANS_LEFT]] = UNLIMITED
    return forests._replace(
        queue=np.empty((2, room), dtype=forests.next_orphan.dtype),
        first_orphan=np.full(LEVELS, n, dtype=forests.next_orphan.dtype),
        cursor=cursor,
    )


def with_more_levels(forests: Forests) -> Forests:
    """Return the same forests with room for twice as many levels; there must be no orphans."""
    levels = 2 * len(forests.first_orphan)
    none = len(forests.label)
    return forests._replace(first_orphan=np.full(levels, none, dtype=forests.first_orphan.dtype))


# Queues


@kernel
def append_queues(forests: Forests, part: Forests) -> None:
    """Move the queues of `part` to the end of those of `forests`; the depths become the larger of the two."""
    size = np.uint64(part.queue.shape[1])
    room = np.uint64(forests.queue.shape[1])
    for forest in range(2):
        head = part.cursor[HEAD + forest]
        place = forests.cursor[HEAD + forest] + forests.cursor[LENGTH + forest]
        i = ZERO
        while i < part.cursor[LENGTH + forest]:
            forests.queue[forest, (place + i) % room] = part.queue[forest, (head + i) % size]
            i += ONE
        forests.cursor[LENGTH + forest] += part.cursor[LENGTH + forest]
        part.cursor[LENGTH + forest] = ZERO
        forests.cursor[DEPTH + forest] = max(forests.cursor[DEPTH + forest], part.cursor[DEPTH + forest])


# The work limit


def set_work_limit(
    forests: Forests, budget: float | None, pixels: int, degree: int, threads: int = 1
) -> None:
    """Set the work limit of a search, one of `threads`, in a grid of `pixels` with `degree` arcs each.

    `budget` is the number of orphans per arc; None sets no limit.
    """
    if budget is not None:
        budget *= THREAD_FRACTION if threads > 1 else 1.0
        forests.cursor[WORK_LEFT] = limit(budget * degree * pixels * float(PATH_PIXELS_PER_ORPHAN))
        forests.cursor[ORPHANS_LEFT] = limit(ORPHANS_PER_PIXEL * pixels)


@kernel
def orphans_left(forests: Forests) -> np.uint64:
    """Return how many orphans the search may still process."""
    return min(forests.cursor[WORK_LEFT] // PATH_PIXELS_PER_ORPHAN, forests.cursor[ORPHANS_LEFT])


@kernel
def request_push_relabel(monitor: Monitor) -> None:
    """Ask the solve to continue with push-relabel, unless it was asked to stop."""
    compare_exchange(monitor.stop, 0, 0, USE_PUSH_RELABEL)


@kernel
def charge(forests: Forests, place: int, work: np.uint64, monitor: Monitor) -> None:
    """Subtract work from the limit at `place`; at zero, ask for push-relabel."""
    left = forests.cursor[place]
    forests.cursor[place] = left - min(work, left)
    if work >= left:
        request_push_relabel(monitor)


@kernel
def charge_orphans(forests: Forests, orphans: np.uint64, monitor: Monitor) -> None:
    """Charge orphans to both limits."""
    charge(forests, WORK_LEFT, orphans * PATH_PIXELS_PER_ORPHAN, monitor)
    charge(forests, ORPHANS_LEFT, orphans, monitor)


@kernel
def charge_path(forests: Forests, pixels: np.uint64, monitor: Monitor) -> None:
    """Charge an augmenting path to the work limit, and raise the limit of orphans for it."""
    charge(forests, WORK_LEFT, pixels, monitor)
    forests.cursor[ORPHANS_LEFT] += pixels * ORPHANS_PER_PATH_PIXEL


@kernel
def clear_request(stop: NDArray[np.int64]) -> bool:
    """Clear the stop flag if it asks for push-relabel; return whether it did."""
    return bool(compare_exchange(stop, 0, USE_PUSH_RELABEL, 0))


def check_work_limit(control: Control, state: Any) -> None:
    """Raise GaveUp with the state of the grid if a search of this solve has reached its work limit."""
    if clear_request(control.stop):
        paths, orphans = control.thread_counts[:, [AUGMENTATIONS, RELABELS]].sum(axis=0).tolist()
        raise GaveUp(f"the search gave up after {paths:,} paths and {orphans:,} orphans", state)


# The search


@kernel
def make_roots(net: ResidualNetwork, forests: Forests, begin: np.uint64, last: np.uint64) -> None:
    """Make roots of the vertices of a run with a terminal amount, without queueing them."""
    root = no_arc(net)
    v = begin
    while v < last:
        source = terminal(net, v, True) > 0
        if source or terminal(net, v, False) > 0:
            forests.parent[v] = root
            forests.label[v] = 1 if source else -1
        v += ONE


@kernel
def enqueue_run(forests: Forests, begin: np.uint64, last: np.uint64) -> None:
    """Queue all vertices of a run that are in a forest."""
    v = begin
    while v < last:
        if forests.label[v] != 0:
            enqueue(forests, v, SOURCE if forests.label[v] > 0 else SINK)
        v += ONE


@kernel
def plant(net: ResidualNetwork, forests: Forests, begin: np.uint64, last: np.uint64) -> None:
    """Make roots of the vertices of a run with a terminal amount, and queue them."""
    make_roots(net, forests, begin, last)
    enqueue_run(forests, begin, last)


@kernel
def fetch_ahead(net: ResidualNetwork, forests: Forests, forest: Int64, waiting: np.uint64) -> None:
    """Ask for the cache lines that the next vertices of a queue need, where the ring does not end before."""
    start = forests.cursor[HEAD + forest]
    room = np.uint64(forests.queue.shape[1])
    if not is_scattered(net) or waiting <= np.uint64(LOOK_UP) or start + np.uint64(LOOK_UP) >= room:
        return
    fetch_first(net, np.uint64(forests.queue[forest, start + np.uint64(LOOK_UP)]))
    fetch_arcs(net, np.uint64(forests.queue[forest, start + np.uint64(FETCH_ARCS)]))
    v = np.uint64(forests.queue[forest, start + np.uint64(FETCH_LABELS)])
    a = first(net, v)
    last = min(end(net, v), a + np.uint64(MOST_LABELS))
    while a < last:
        prefetch(forests.label, head(net, v, a))
        a += ONE


@kernel
def adopt(
    net: ResidualNetwork, forests: Forests, source: bool, deepest: Int64, listed: np.uint64, monitor: Monitor
) -> np.uint64:
    """Find a parent for each orphan of a list, the smallest label first, or remove it from its forest.

    Return the number of orphans processed. If the search is to stop or its work limit is reached, some
    orphans keep no parent, and the forests must not be used any more.
    """
    parent, label = forests.parent, forests.label
    forest = SOURCE if source else SINK
    sign = np.int64(1) if source else np.int64(-1)
    none, root = num_vertices(net), no_arc(net)
    # Sort the list by labels: a list of orphans for each level.
    waiting = ZERO
    level = none
    v = listed
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
    most = orphans_left(forests)
    while waiting > ZERO and orphans < most and relaxed_load(monitor.stop, 0) == 0:
        v = np.uint64(forests.first_orphan[level])
        if v == none:
            level += ONE
            continue
        following = np.uint64(forests.next_orphan[v])
        forests.first_orphan[level] = following
        waiting -= ONE
        orphans += ONE
        if is_scattered(net) and following != none:
            fetch_arcs(net, following)
        # Choose a parent: the first one that keeps the label, else the nearest that is at most two levels
        # farther away and neither a child nor an orphan.
        least = np.int64(deepest)
        found = root
        begin, last = first(net, v), end(net, v)
        a = begin
        while a < last:
            w = head(net, v, a)
            there = sign * np.int64(label[w])
            if 0 < there < least and capacity(net, v, w, a, source) > 0:
                if there < np.int64(level):
                    least = there
                    found = a
                    break
                up = np.uint64(parent[w])
                if there <= np.int64(level) + 1 and up != opposite(net, a) and up <= root:
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
        scans += last - begin
        a = begin
        while a < last:
            w = head(net, v, a)
            there = sign * np.int64(label[w])
            if there > 0:
                if np.uint64(parent[w]) == opposite(net, a):
                    parent[w] = root + ONE
                    forests.next_orphan[w] = forests.first_orphan[there]
                    forests.first_orphan[there] = w
                    waiting += ONE
                if found == root and capacity(net, v, w, a, source) > 0:
                    enqueue(forests, w, forest)
            a += ONE
    charge_orphans(forests, orphans, monitor)
    if waiting > ZERO:
        request_push_relabel(monitor)
    monitor.counts[ARC_SCANS] += scans
    return orphans


@kernel
def grow(net: ResidualNetwork, forests: Forests, source: bool, monitor: Monitor) -> Int64:
    """Grow a forest by one level, and push flow wherever it meets the other one; return the flow."""
    stop, parent, label = monitor.stop, forests.parent, forests.label
    forest = SOURCE if source else SINK
    sign = np.int64(1) if source else np.int64(-1)
    forests.cursor[DEPTH + forest] += ONE
    deepest = np.int64(forests.cursor[DEPTH + forest])
    deepest_other = np.int64(forests.cursor[DEPTH + 1 - forest])
    waiting = forests.cursor[LENGTH + forest]
    none = num_vertices(net)
    flow = np.int64(0)
    counts = monitor.counts
    scans = ZERO
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
        a, last = first(net, v), end(net, v)
        scans += last - a
        while a < last:
            w = head(net, v, a)
            there = sign * np.int64(label[w])
            if there > 0:
                a += ONE
                continue
            b = opposite(net, a)
            used, back = place(net, v, a), place(net, w, b)
            if not source:
                used, back = back, used
            amount: Int64 = np.int64(net.residual[used])
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
            net.residual[used] -= amount
            net.residual[back] += amount
            flow += amount
            counts[AUGMENTATIONS] += ONE
            counts[ARC_SCANS] += scans
            scans = ZERO
            # Labels are at least the numbers of vertices on the paths to the roots.
            charge_path(forests, np.uint64(here - there), monitor)
            # Repair the other forest, then this one.
            listed, made = push_path(net, parent, forests.next_orphan, w, not source, amount)
            counts[PUSHES] += made
            if listed != none:
                counts[RELABELS] += adopt(net, forests, not source, deepest_other, listed, monitor)
            listed, made = push_path(net, parent, forests.next_orphan, v, source, amount)
            counts[PUSHES] += made
            if listed != none:
                counts[RELABELS] += adopt(net, forests, source, deepest, listed, monitor)
                if sign * np.int64(label[v]) != here:
                    # The vertex has moved: it grows at its new level, if it is still in this forest.
                    if sign * np.int64(label[v]) > 0:
                        enqueue(forests, v, forest)
                    break
            if must_end(monitor):
                # If the solve is stopped, there may be orphans left, through which no path leads. At a work
                # limit there are none, and the search may go on.
                if sign * np.int64(label[v]) > 0:
                    enqueue(forests, v, forest)
                waiting = ZERO
                break
    counts[ARC_SCANS] += scans
    return flow


@kernel
def search(net: ResidualNetwork, forests: Forests, monitor: Monitor, reports: bool) -> bool:
    """Grow both forests until the sink's cannot grow; return False if there is no room for more levels.

    A search `reports` its progress if it is the only one of the solve.
    """
    cursor = forests.cursor
    room = np.uint64(len(forests.first_orphan))
    while cursor[LENGTH + SINK] > ZERO and not must_end(monitor):
        source = cursor[LENGTH + SOURCE] > ZERO and cursor[DEPTH + SOURCE] <= cursor[DEPTH + SINK]
        if cursor[DEPTH + (SOURCE if source else SINK)] + ONE >= room:
            return False
        flow = grow(net, forests, source, monitor)
        if reports:
            monitor.progress[0] -= flow
    return True


def search_all(net: ResidualNetwork, forests: Forests, monitor: Monitor) -> Forests:
    """Search to the end, with more room for levels whenever it is needed; return the forests."""
    while not search(net, forests, monitor, False):
        forests = with_more_levels(forests)
    return forests
