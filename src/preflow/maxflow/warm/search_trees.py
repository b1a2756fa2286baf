"""Augmenting paths on two search forests that are kept between solves.

Boykov and Kolmogorov, "An Experimental Comparison of Min-Cut/Max-Flow Algorithms", PAMI 26 (2004), with the
reuse of trees by Kohli and Torr (PAMI 29, 2007) and the labels of IBFS (Goldberg, Hed, Kaplan, Tarjan and
Werneck, ESA 2011). A push-relabel method searches the whole network at least once in a solve. Here a solve
looks only at vertices near a change and near the paths it augments.

Definitions
-----------
- The *supply* of a vertex is its excess together with the unused capacity from the source to it: both are
  ``excess``. Its *demand* is ``sink_residual``. A supply above the capacity from the source, or below 0,
  comes from flow that was cut off.
- The *source forest* has roots with supply; each of its arcs has residual capacity from parent to child. The
  *sink forest* has roots with demand and residual capacity from child to parent. Other vertices are *free*.
- An *orphan* is a vertex whose arc to its parent was saturated, or a root without supply or demand.
- A vertex is *touched* if its supply, its demand or one of its arcs may have changed since the last search.
- An *active* vertex is one from which the search still has to look at all arcs.

Invariants
----------
- Labels strictly increase from parent to child; roots have label 1.
- No vertex has supply and demand.
- After a search no residual arc leads out of the source forest or into the sink forest. So the flow is
  maximum, and the sink forest has the vertices that reach the sink.

Pseudo-code
-----------
::

    for each changed arc: an end whose tree can grow over it becomes active     touch_ends
    for each touched vertex: cancel supply against demand; is it an orphan?     repair
    adopt orphans
    for each touched vertex with supply or demand:
        free: it becomes a root and active
        in the forest of its kind: it becomes a root
        in the other forest: augment along its tree
    while there is an active vertex v:                                          grow
        for each residual arc out of v (into v, in the sink forest):
            to a free vertex: it becomes a child of v
            to the other forest: augment along both trees                       augment
                                 adopt orphans                                  adopt

    demand that stands for a deficit becomes a deficit again                    end_deficits

    adopt, orphans with smaller labels first:
        find a parent with a smaller label, to which residual capacity leads
        none: the orphan becomes free, its children become orphans, and its neighbours active

    cancel flow from vertices with supply above the capacity of the source      return_flow
        upstream, and from vertices with a deficit downstream, path by path

An orphan takes no parent with an equal or larger label, because that may be its descendant. Boykov and
Kolmogorov walk to the root instead to see whether it is. IBFS raises the label of the orphan, but only up to
the height of the current search; trees that are kept have no such height. A vertex that becomes free here
returns with a new label when a neighbour grows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...arrays import Array, Indices, Int64, Integers
from ...forests.paths import path_capacity, push_path
from ...graph.residual import ResidualArrays
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.csr_build import InputArcs, Pairs, residual_arc
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...stats import ARC_SCANS, PUSHES, RELABELS

FREE, SOURCE, SINK = 0, 1, 2
#: How a search ended: no active vertex is left, it was stopped, a label passed the number of vertices, or it
#: looked at too many arcs.
DONE, STOPPED, TOO_HIGH, TOO_LONG = 0, 1, 2, 3
#: Positions of the numbers in ``KeptForest.counters``.
NUM_TOUCHED, FIRST_ACTIVE, NUM_ACTIVE, LOWEST_ORPHAN, NUM_ORPHANS = 0, 1, 2, 3, 4


class FlowState(NamedTuple):
    """A flow in a residual network, whose vertices may have excess or, if it is negative, a deficit."""

    #: ``net.excess`` is the supply: what the flow leaves of the capacity from the source, and excess
    net: ResidualArrays
    #: shape (m,): residual capacities without flow, of the dtype of ``net.residual``
    initial: Integers
    #: shape (n,): capacity from the source to each vertex, and from each to the sink
    source_capacity: NDArray[np.int64]
    sink_capacity: NDArray[np.int64]


class KeptForest(NamedTuple):
    """The two search forests. Arrays have shape (n,) unless stated, and the dtype of indices."""

    side: NDArray[np.uint8]  #: FREE, SOURCE or SINK
    #: the residual arc from a vertex to its parent; m for a root, m + 1 for an orphan
    parent: Indices
    label: Indices
    active: Indices  #: a ring buffer of active vertices
    is_active: NDArray[np.bool_]
    is_touched: NDArray[np.bool_]
    touched: Indices
    first_orphan: Indices  #: shape (n + 2,): the first orphan of each label, n for none
    next_orphan: Indices
    #: arcs of a path of flow, and one more than the position of a vertex on it, 0 elsewhere
    path: Indices
    position: Indices
    #: shape (5,): the number of touched vertices; the position of the first active vertex, and the number of
    #: active ones; the smallest label of an orphan, and the number of orphans
    counters: NDArray[np.uint64]


def make_forest(num_vertices: int, dtype: DTypeLike) -> KeptForest:
    """Return empty forests in which every vertex is touched."""
    n = num_vertices

    def empty() -> Array:
        return np.empty(n, dtype=dtype)

    counters = np.zeros(5, dtype=np.uint64)
    counters[NUM_TOUCHED] = n
    counters[LOWEST_ORPHAN] = n + 2
    return KeptForest(
        side=np.zeros(n, dtype=np.uint8),
        parent=empty(),
        label=empty(),
        active=empty(),
        is_active=np.zeros(n, dtype=bool),
        is_touched=np.ones(n, dtype=bool),
        touched=np.arange(n, dtype=dtype),
        first_orphan=np.full(n + 2, n, dtype=dtype),
        next_orphan=empty(),
        path=empty(),
        position=np.zeros(n, dtype=dtype),
        counters=counters,
    )


@kernel
def touch(forest: KeptForest, v: np.uint64) -> None:
    """Add a vertex to the touched ones."""
    if not forest.is_touched[v]:
        forest.is_touched[v] = True
        forest.touched[forest.counters[NUM_TOUCHED]] = v
        forest.counters[NUM_TOUCHED] += ONE


@kernel
def activate(forest: KeptForest, v: np.uint64) -> None:
    """Add a vertex at the end of the active ones."""
    if not forest.is_active[v]:
        forest.is_active[v] = True
        counters = forest.counters
        n = np.uint64(len(forest.active))
        end = counters[FIRST_ACTIVE] + counters[NUM_ACTIVE]
        forest.active[end if end < n else end - n] = v
        counters[NUM_ACTIVE] += ONE


@kernel
def list_orphan(forest: KeptForest, v: np.uint64) -> None:
    """Add an orphan to those of its label."""
    label = np.uint64(forest.label[v])
    forest.next_orphan[v] = forest.first_orphan[label]
    forest.first_orphan[label] = v
    forest.counters[LOWEST_ORPHAN] = min(forest.counters[LOWEST_ORPHAN], label)
    forest.counters[NUM_ORPHANS] += ONE


@kernel
def make_orphan(net: ResidualArrays, forest: KeptForest, v: np.uint64) -> None:
    """Cut a vertex off from its parent."""
    orphan = len(net.head) + 1
    if forest.parent[v] != orphan:
        forest.parent[v] = orphan
        list_orphan(forest, v)


@kernel
def make_root(net: ResidualArrays, forest: KeptForest, v: np.uint64, side: np.uint8) -> None:
    """Make a vertex that is free, or in this forest, a root."""
    forest.side[v] = side
    forest.parent[v] = len(net.head)
    forest.label[v] = 1


@kernel
def adopt(net: ResidualArrays, forest: KeptForest) -> tuple[np.uint64, np.uint64]:
    """Give orphans new parents, or make them free; return the number of arcs and vertices looked at."""
    n = np.uint64(len(net.excess))
    side, parent, label, counters = forest.side, forest.parent, forest.label, forest.counters
    scans, freed = ZERO, ZERO
    level = counters[LOWEST_ORPHAN]
    while counters[NUM_ORPHANS] > ZERO:
        v = np.uint64(forest.first_orphan[level])
        if v == n:
            level += ONE
            continue
        forest.first_orphan[level] = forest.next_orphan[v]
        counters[NUM_ORPHANS] -= ONE
        own = side[v]
        first = np.uint64(net.first_out[v])
        last = np.uint64(net.first_out[v + ONE])
        # Look for a parent with a smaller label.
        a = first
        while a < last:
            w = np.uint64(net.head[a])
            fits = side[w] == own and np.uint64(label[w]) < level
            if fits and net.residual[a if own == SINK else np.uint64(net.reverse[a])] > 0:
                break
            a += ONE
        scans += a - first
        if a < last:
            parent[v] = a
            label[v] = np.uint64(label[net.head[a]]) + ONE
            continue
        # There is none: the vertex becomes free.
        side[v] = FREE
        freed += ONE
        scans += last - first
        a = first
        while a < last:
            w = np.uint64(net.head[a])
            if side[w] == own:
                b = np.uint64(net.reverse[a])
                if net.residual[a if own == SINK else b] > 0:
                    activate(forest, w)
                if np.uint64(parent[w]) == b:
                    make_orphan(net, forest, w)
            a += ONE
    counters[LOWEST_ORPHAN] = n + ONE + ONE
    return scans, freed


@kernel
def push_to_root(
    net: ResidualArrays, forest: KeptForest, v: np.uint64, side: np.uint8, amount: Int64
) -> np.uint64:
    """Push along the path between a vertex and its root; return the number of arcs."""
    n = np.uint64(len(net.excess))
    v, pushes = push_path(net, forest.parent, forest.next_orphan, v, side == SOURCE, amount)
    while v != n:
        following = np.uint64(forest.next_orphan[v])
        list_orphan(forest, v)
        v = following
    return pushes


@kernel
def augment(net: ResidualArrays, forest: KeptForest, arc: np.uint64) -> tuple[np.uint64, Int64]:
    """Augment over an arc from the source forest to the sink forest.

    Return the number of arcs of the path, and the amount.
    """
    u, v = np.uint64(net.head[net.reverse[arc]]), np.uint64(net.head[arc])
    amount = path_capacity(net, forest.parent, u, True, np.int64(net.residual[arc]))
    amount = path_capacity(net, forest.parent, v, False, amount)
    net.residual[arc] -= amount
    net.residual[net.reverse[arc]] += amount
    pushes = push_to_root(net, forest, u, np.uint8(SOURCE), amount)
    return pushes + push_to_root(net, forest, v, np.uint8(SINK), amount), amount


@kernel
def repair(net: ResidualArrays, forest: KeptForest) -> np.uint64:
    """Make the forests fit what has changed at the touched vertices; return the number of pushes."""
    root = np.uint64(len(net.head))
    side, parent, counters = forest.side, forest.parent, forest.counters
    count = counters[NUM_TOUCHED]
    counters[NUM_TOUCHED] = ZERO
    pushes = ZERO
    for k in range(count):
        v = np.uint64(forest.touched[k])
        amount = min(net.excess[v], net.sink_residual[v])
        if amount > 0:
            net.excess[v] -= amount
            net.sink_residual[v] -= amount
        if side[v] == FREE:
            continue
        a = np.uint64(parent[v])
        if a == root:
            if (net.excess[v] if side[v] == SOURCE else net.sink_residual[v]) <= 0:
                make_orphan(net, forest, v)
        elif a < root and net.residual[a if side[v] == SINK else np.uint64(net.reverse[a])] == 0:
            make_orphan(net, forest, v)
    adopt(net, forest)
    for k in range(count):
        v = np.uint64(forest.touched[k])
        forest.is_touched[v] = False
        while net.excess[v] > 0 and side[v] == SINK:
            amount = path_capacity(net, parent, v, False, net.excess[v])
            net.excess[v] -= amount
            pushes += push_to_root(net, forest, v, np.uint8(SINK), amount)
            adopt(net, forest)
        while net.sink_residual[v] > 0 and side[v] == SOURCE:
            amount = path_capacity(net, parent, v, True, net.sink_residual[v])
            net.sink_residual[v] -= amount
            pushes += push_to_root(net, forest, v, np.uint8(SOURCE), amount)
            adopt(net, forest)
        before = side[v]
        if net.excess[v] > 0:
            make_root(net, forest, v, np.uint8(SOURCE))
        elif net.sink_residual[v] > 0:
            make_root(net, forest, v, np.uint8(SINK))
        if side[v] != before:
            activate(forest, v)
    return pushes


@kernel
def grow(net: ResidualArrays, forest: KeptForest, monitor: Monitor, most_scans: Int64) -> Int64:
    """Search from the active vertices and augment until none is left; return how it ended."""
    limit = np.uint64(most_scans)
    side, parent, label, counters = forest.side, forest.parent, forest.label, forest.counters
    n = np.uint64(len(net.excess))
    counts = monitor.counts
    scans, pushes, freed = ZERO, ZERO, ZERO
    ended = DONE
    while counters[NUM_ACTIVE] > ZERO and ended == DONE:
        if relaxed_load(monitor.stop, 0) != 0 or scans > limit:
            ended = TOO_LONG if scans > limit else STOPPED
            break
        v = np.uint64(forest.active[counters[FIRST_ACTIVE]])
        counters[FIRST_ACTIVE] = ZERO if counters[FIRST_ACTIVE] + ONE == n else counters[FIRST_ACTIVE] + ONE
        counters[NUM_ACTIVE] -= ONE
        forest.is_active[v] = False
        own = side[v]
        a = np.uint64(net.first_out[v])
        last = np.uint64(net.first_out[v + ONE])
        scans += last - a
        while a < last and own != FREE:
            w = np.uint64(net.head[a])
            if side[w] == own and np.uint64(label[w]) <= np.uint64(label[v]) + ONE:
                a += ONE
                continue
            b = np.uint64(net.reverse[a])
            out = a if own == SOURCE else b
            if net.residual[out] <= 0:
                a += ONE
                continue
            if side[w] == own:
                parent[w] = b
                label[w] = np.uint64(label[v]) + ONE
                a += ONE
            elif side[w] == FREE:
                if np.uint64(label[v]) >= n:
                    ended = TOO_HIGH
                    break
                side[w] = own
                parent[w] = b
                label[w] = np.uint64(label[v]) + ONE
                activate(forest, w)
                a += ONE
            else:
                made, amount = augment(net, forest, out)
                pushes += made
                monitor.progress[0] -= amount
                looked, made_free = adopt(net, forest)
                scans += made + looked
                freed += made_free
                if side[v] != own:  # v became free; if it is in a forest again, it is active
                    own = np.uint8(FREE)
    counts[ARC_SCANS] += scans
    counts[PUSHES] += pushes
    counts[RELABELS] += freed
    return np.int64(ended)


@kernel
def begin_deficits(net: ResidualArrays, forest: KeptForest, before: NDArray[np.int64]) -> None:
    """Turn deficits of touched vertices into demand; `before` gets the demand without, -1 for no deficit."""
    for k in range(len(before)):
        v = np.uint64(forest.touched[k])
        before[k] = -1
        if net.excess[v] < 0:
            before[k] = net.sink_residual[v]
            net.sink_residual[v] -= net.excess[v]
            net.excess[v] = 0


@kernel
def _reduce_flow(net: ResidualArrays, forest: KeptForest, arc: np.uint64, amount: Int64) -> None:
    """Use residual capacity of an arc, against flow; touch the vertex whose tree arc that may saturate."""
    back = np.uint64(net.reverse[arc])
    net.residual[arc] -= amount
    net.residual[back] += amount
    if net.residual[arc] == 0:
        touch(forest, np.uint64(net.head[arc]))
        touch(forest, np.uint64(net.head[back]))


@kernel
def cancel_flow_at(
    state: FlowState, forest: KeptForest, start: np.uint64, sign: Int64, most_steps: Int64
) -> tuple[Int64, bool]:
    """Cancel flow that reaches a vertex with too much supply (`sign` 1) or leaves one with a deficit (-1).

    The walk follows flow upstream to the source, or downstream to the sink, and cancels the cycles of flow
    that it meets. Return the number of arcs walked over, and False if there were more than `most_steps`.
    """
    net, initial, path, position = state.net, state.initial, forest.path, forest.position
    steps = np.int64(0)
    wanted = net.excess[start] - state.source_capacity[start] if sign > 0 else -net.excess[start]
    while wanted > 0 and steps <= most_steps:
        v = start
        depth = ZERO
        position[v] = ONE
        absorbs = False
        while True:
            # Does flow from the source enter here, or flow to the sink leave?
            if sign > 0:
                room = state.source_capacity[v] - net.excess[v]
            else:
                room = state.sink_capacity[v] - net.sink_residual[v]
                absorbs = room <= 0  # supply that was cut off fills a deficit, too
                if absorbs:
                    room = net.excess[v] - state.source_capacity[v]
            if room > 0:
                break
            a = np.uint64(net.first_out[v])
            while sign * (net.residual[a] - initial[a]) <= 0:
                a += ONE
            steps += 1
            path[depth] = a
            v = np.uint64(net.head[a])
            depth += ONE
            if position[v] == 0:
                position[v] = depth + ONE
                continue
            # Cancel a cycle, and go on from where the walk entered it.
            begin = np.uint64(position[v]) - ONE
            amount = np.int64(np.iinfo(np.int64).max)
            for k in range(begin, depth):
                amount = min(amount, np.int64(sign * (net.residual[path[k]] - initial[path[k]])))
            for k in range(begin, depth):
                b = np.uint64(path[k])
                _reduce_flow(net, forest, b if sign > 0 else np.uint64(net.reverse[b]), amount)
                if k > begin:
                    position[net.head[net.reverse[b]]] = 0
            depth = begin
        amount = min(wanted, room)
        for k in range(depth):
            amount = min(amount, np.int64(sign * (net.residual[path[k]] - initial[path[k]])))
        for k in range(depth):
            b = np.uint64(path[k])
            position[net.head[b]] = 0
            _reduce_flow(net, forest, b if sign > 0 else np.uint64(net.reverse[b]), amount)
        position[start] = 0
        net.excess[start] -= sign * amount
        if sign > 0:
            net.excess[v] += amount
        elif absorbs:
            net.excess[v] -= amount
        else:
            net.sink_residual[v] += amount
        touch(forest, v)
        touch(forest, start)
        wanted -= amount
    return steps, wanted <= 0


@kernel
def end_deficits(
    net: ResidualArrays, forest: KeptForest, changed: Indices, before: NDArray[np.int64]
) -> None:
    """Turn the demand that stands for a deficit, as far as it was not met, into a deficit again."""
    for k in range(len(changed)):
        v = np.uint64(changed[k])
        if before[k] >= 0 and net.sink_residual[v] > before[k]:
            net.excess[v] -= net.sink_residual[v] - before[k]
            net.sink_residual[v] = before[k]
            touch(forest, v)


@kernel
def return_flow(state: FlowState, forest: KeptForest, changed: Indices, most_steps: Int64) -> bool:
    """Cancel the flow that vertices cannot pass on or do not get; return False if that took too long.

    `changed` are the vertices where flow was cut off.
    """
    excess, capacity = state.net.excess, state.source_capacity
    for k in range(len(changed)):
        v = np.uint64(changed[k])
        if excess[v] < 0 or excess[v] > capacity[v]:
            sign = np.int64(1 if excess[v] > 0 else -1)
            steps, complete = cancel_flow_at(state, forest, v, sign, most_steps)
            most_steps -= steps
            if not complete:
                return False
    return True


def search(state: FlowState, forest: KeptForest, monitor: Monitor, most: int) -> bool:
    """Find a maximum flow from the touched vertices on; return whether that succeeded.

    It fails if it is stopped or looks at more than `most` arcs. Then vertices may still have supply above the
    capacity of the source, or deficits, and the forests can no longer be used.
    """
    net = state.net
    changed = forest.touched[: num_touched(forest)].copy()
    before = np.empty(len(changed), dtype=np.int64)
    begin_deficits(net, forest, before)
    monitor.counts[PUSHES] += repair(net, forest)
    ended = grow(net, forest, monitor, np.int64(most))
    end_deficits(net, forest, changed, before)
    if ended != DONE or not return_flow(state, forest, changed, np.int64(most)):
        return False
    repair(net, forest)
    return bool(grow(net, forest, monitor, np.int64(most)) == DONE)


def num_touched(forest: KeptForest) -> int:
    """Return the number of touched vertices."""
    return int(forest.counters[NUM_TOUCHED])


@kernel
def touch_ends(
    arcs: InputArcs, pairs: Pairs, changed: NDArray[np.int64], residual: Integers, forest: KeptForest
) -> None:
    """Touch the ends of input arcs, without terminals; make those active from which a tree can grow now."""
    n = np.uint64(len(forest.side))
    for k in range(len(changed)):
        i = np.uint64(changed[k])
        u, v = np.uint64(arcs.inner[arcs.tail[i]]), np.uint64(arcs.inner[arcs.head[i]])
        if u < n:
            touch(forest, u)
        if v < n:
            touch(forest, v)
        a, inside = residual_arc(arcs, pairs.rank, pairs.first_out, i)
        if inside:
            if residual[a] > 0:
                activate_over(forest, u, v)
            if residual[pairs.reverse[a]] > 0:
                activate_over(forest, v, u)


@kernel
def activate_over(forest: KeptForest, u: np.uint64, v: np.uint64) -> None:
    """Make an end of a residual arc (u, v) active if its tree can grow over it."""
    if forest.side[u] == SOURCE and forest.side[v] != SOURCE:
        activate(forest, u)
    if forest.side[v] == SINK and forest.side[u] != SINK:
        activate(forest, v)
