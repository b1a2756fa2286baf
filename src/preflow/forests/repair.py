"""Repair of forests that are kept between searches, after terminal amounts or residual capacities changed.

Kohli and Torr, "Dynamic Graph Cuts for Efficient Inference in Markov Random Fields", PAMI 29, 2007, keep the
flow and the search trees between solves. Goldberg, Hed, Kaplan, Tarjan and Werneck, "Faster and More Dynamic
Maximum Flow by Incremental Breadth-First Search", ESA 2015, do so for the forests of
:mod:`.incremental_search`.

Pseudo-code
-----------
::

    for each vertex whose terminal amounts, or an arc of which, may have changed:      repair
        send its excess to the sink as far as it has residual capacity to the sink
        if it has a terminal amount of its forest's sign: it becomes a root
        otherwise, if it was a root or its tree arc is saturated: it becomes an orphan,
            or changes the forest if it has an amount of the other sign                 cut_off
    adopt the orphans of both forests
    for each of them with an amount of the other forest's sign:
        push along its tree, as long as the path takes a good part of the amount; adopt orphans
    for each of them with an amount of the other forest's sign, or in no forest:
        it changes the forest                                                           change_forest
    adopt the orphans of both forests

    to change the forest: children become orphans; the neighbours that could reach the vertex are queued;
        it becomes a root of the other forest and is queued

An arc that has got residual capacity is no matter of `repair`: queue its end if a forest can grow over it
(`enqueue_over`). Then all invariants of the search hold again, so its work depends on what the changes alter,
not on the size of the network. A search ends when the queue of the sink is empty. So an end in the source's
forest need not be queued, and a search may begin with an empty queue of the source: that queue only saves
time.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Integers, ResidualNetwork
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..kernels.two_queues import enqueue
from ..network.arcs import capacity, end, first, head, no_arc, opposite, take, terminal
from ..solving.monitor import Monitor
from ..stats import PUSHES, RELABELS
from .incremental_search import DEPTH, SINK, SOURCE, Forests, adopt, with_more_levels
from .paths import path_capacity, push_path

#: A vertex changes the forest if the path to its root takes less than one part in this many of its amount.
#: Where few arcs of rmf-wide change, a push along a path saves the search 7,000 orphans; a stroke of a brush
#: gives pixels amounts that no number of paths takes.
PARTS = 8


def with_depths(forests: Forests) -> Forests:
    """Return forests whose depths are the largest labels, with room for orphans of all labels."""
    depths = max(1, int(forests.label.max(initial=0))), max(1, -int(forests.label.min(initial=0)))
    forests.cursor[[DEPTH + SOURCE, DEPTH + SINK]] = depths
    while len(forests.first_orphan) <= max(depths) + 1:
        forests = with_more_levels(forests)
    return forests


def for_next_search(forests: Forests | None) -> Forests | None:
    """Return forests that were kept; None if labels have drifted past n, so that new ones are due.

    The depths grow by every level of every search, but the labels seldom. So the depths are read again from
    the labels before they need more room.
    """
    if forests is not None and 2 * forests.cursor[DEPTH : DEPTH + 2].max() > len(forests.first_orphan):
        forests = with_depths(forests)
        if forests.cursor[DEPTH : DEPTH + 2].max() > len(forests.label):
            return None
    return forests


@kernel
def list_orphan(net: ResidualNetwork, forests: Forests, v: np.uint64, listed: np.uint64) -> np.uint64:
    """Make a vertex an orphan; return the list with it in front."""
    forests.parent[v] = no_arc(net) + ONE
    forests.next_orphan[v] = listed
    return v


@kernel
def change_forest(
    net: ResidualNetwork, forests: Forests, v: np.uint64, source: bool, listed: np.uint64
) -> np.uint64:
    """Make a vertex a root of the source's or the sink's forest; return the list with its children in front.

    It is in the other forest or in none.
    """
    parent, label = forests.parent, forests.label
    old, new = (SINK, SOURCE) if source else (SOURCE, SINK)
    sign = np.int64(1) if source else np.int64(-1)
    if label[v] != 0:
        a, last = first(net, v), end(net, v)
        while a < last:
            w = head(net, v, a)
            if sign * np.int64(label[w]) < 0:
                if np.uint64(parent[w]) == opposite(net, a):
                    listed = list_orphan(net, forests, w, listed)
                if capacity(net, v, w, a, not source) > 0:
                    enqueue(forests, w, old)
            a += ONE
    parent[v] = no_arc(net)
    label[v] = sign
    enqueue(forests, v, new)
    return listed


@kernel
def cut_off(
    net: ResidualNetwork, forests: Forests, v: np.uint64, source: bool, listed: np.uint64
) -> np.uint64:
    """Take a vertex of a forest away from its parent; return the list with all new orphans in front."""
    if terminal(net, v, not source) > 0:
        return change_forest(net, forests, v, not source, listed)
    return list_orphan(net, forests, v, listed)


@kernel
def adopt_listed(
    net: ResidualNetwork, forests: Forests, source: bool, listed: np.uint64, monitor: Monitor
) -> None:
    """Adopt the vertices of a list that are still orphans, since some have become roots."""
    none, orphan = np.uint64(len(forests.label)), no_arc(net) + ONE
    kept = none
    v = listed
    while v != none:
        following = np.uint64(forests.next_orphan[v])
        if np.uint64(forests.parent[v]) == orphan:
            forests.next_orphan[v] = kept
            kept = v
        v = following
    if kept != none:
        deepest = np.int64(forests.cursor[DEPTH + (SOURCE if source else SINK)])
        monitor.counts[RELABELS] += adopt(net, forests, source, deepest, kept, monitor)


@kernel
def push_from_root(net: ResidualNetwork, forests: Forests, v: np.uint64, monitor: Monitor) -> None:
    """Serve an amount of the other forest's sign by the vertex's tree, as long as the path takes much."""
    source = forests.label[v] > 0
    amount = terminal(net, v, not source)
    while amount > 0 and forests.label[v] != 0 and relaxed_load(monitor.stop, 0) == 0:
        pushed = path_capacity(net, forests.parent, v, source, amount)
        if pushed < amount // PARTS:
            break
        amount = take(net, v, not source, pushed)
        listed, pushes = push_path(net, forests.parent, forests.next_orphan, v, source, pushed)
        monitor.counts[PUSHES] += pushes
        monitor.progress[0] -= pushed
        adopt_listed(net, forests, source, listed, monitor)


@kernel
def repair(net: ResidualNetwork, forests: Forests, changed: Integers, monitor: Monitor) -> None:
    """Restore the invariants of forests that changes have broken at these vertices: see the pseudo-code."""
    parent, label = forests.parent, forests.label
    root = no_arc(net)
    none = np.uint64(len(label))
    of_source, of_sink = none, none
    for k in range(len(changed)):
        v = np.uint64(changed[k])
        amount = min(terminal(net, v, True), terminal(net, v, False))
        if amount > 0:
            take(net, v, True, amount)
            take(net, v, False, amount)
            monitor.counts[PUSHES] += ONE
            monitor.progress[0] -= amount
        source = label[v] > 0
        if label[v] == 0:
            continue
        if terminal(net, v, source) > 0:
            parent[v] = root
            label[v] = 1 if source else -1
            continue
        a = np.uint64(parent[v])
        if a > root:
            continue
        room = np.int64(0) if a == root else capacity(net, v, head(net, v, a), a, source)
        if room == 0 or room < terminal(net, v, not source) // PARTS:
            if source:
                of_source = cut_off(net, forests, v, source, of_source)
            else:
                of_sink = cut_off(net, forests, v, source, of_sink)
    adopt_listed(net, forests, True, of_source, monitor)
    adopt_listed(net, forests, False, of_sink, monitor)
    for k in range(len(changed)):
        v = np.uint64(changed[k])
        if label[v] != 0 and np.uint64(parent[v]) != root:
            push_from_root(net, forests, v, monitor)
    of_source, of_sink = none, none
    for k in range(len(changed)):
        v = np.uint64(changed[k])
        if label[v] >= 0 and terminal(net, v, False) > 0:
            of_source = change_forest(net, forests, v, False, of_source)
        elif label[v] <= 0 and terminal(net, v, True) > 0:
            of_sink = change_forest(net, forests, v, True, of_sink)
    adopt_listed(net, forests, True, of_source, monitor)
    adopt_listed(net, forests, False, of_sink, monitor)


@kernel
def enqueue_over(forests: Forests, u: np.uint64, v: np.uint64) -> None:
    """Queue the ends of a residual arc (u, v) from which a forest can grow over it."""
    if forests.label[u] > 0 and forests.label[v] <= 0:
        enqueue(forests, u, SOURCE)
    if forests.label[v] < 0 and forests.label[u] >= 0:
        enqueue(forests, v, SINK)
