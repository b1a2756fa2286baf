"""A search near the changes, in forests that are kept between solves, with flow that was cut off.

:mod:`preflow.forests.repair` makes the forests fit the changed network, and
:mod:`preflow.forests.incremental_search` goes on with them. A push-relabel method searches the whole network
at least once in a solve. Here a solve looks only at vertices near a change and near the paths it augments.

Definitions
-----------
- The *supply* of a vertex is its excess together with the unused capacity from the source to it: both are
  ``excess``. Its *demand* is ``sink_residual``. A supply above the capacity from the source, or below 0 (a
  *deficit*), comes from flow that was cut off.
- A vertex is *touched* if its supply, its demand or one of its arcs may have changed since the forests were
  repaired.

Pseudo-code
-----------
::

    for each changed arc: touch its ends; queue those from which a forest can grow      touch
    every deficit becomes demand                                                        begin_deficits
    repair the forests at the touched vertices, and search
    demand that stands for a deficit becomes a deficit again                            end_deficits
    cancel flow from vertices with supply above the capacity of the source              return_flow
        upstream, and from vertices with a deficit downstream, path by path

What is cancelled last leaves the cut as it is (:mod:`preflow.maxflow.warm`). The next search repairs the
forests where it has saturated an arc.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Int64, Integers
from ...forests.incremental_search import SINK, Forests, make_forests, search, with_more_levels
from ...forests.repair import enqueue_over, for_next_search, repair
from ...graph.residual import ResidualArrays
from ...kernels.constants import ONE, ZERO
from ...kernels.csr_build import InputArcs
from ...kernels.kernel import kernel
from ...kernels.two_queues import LENGTH
from ...solving.run import Control


class FlowState(NamedTuple):
    """A flow in a residual network, whose vertices may have excess or, if it is negative, a deficit."""

    #: ``net.excess`` is the supply: what the flow leaves of the capacity from the source, and excess
    net: ResidualArrays
    #: shape (m,): residual capacities without flow, of the dtype of ``net.residual``
    initial: Integers
    #: shape (n,): capacity from the source to each vertex, and from each to the sink
    source_capacity: NDArray[np.int64]
    sink_capacity: NDArray[np.int64]


class Kept(NamedTuple):
    """Forests between two searches."""

    forests: Forests
    touched: NDArray[np.bool_]  #: shape (n + 2,): whether a vertex is touched; n, n + 1: source and sink
    #: shape (n,): one more than the position of a vertex on a path of flow, whose arcs are in the forests'
    #: `next_orphan`; 0 elsewhere
    position: Indices


@kernel
def _reduce_flow(net: ResidualArrays, kept: Kept, arc: np.uint64, amount: Int64) -> None:
    """Use residual capacity of an arc, against flow; touch the vertex whose tree arc that may saturate.

    Queue the ends from which a forest can grow over the opposite arc.
    """
    back = np.uint64(net.reverse[arc])
    net.residual[arc] -= amount
    net.residual[back] += amount
    if net.residual[arc] == 0:
        kept.touched[net.head[arc]] = kept.touched[net.head[back]] = True
    enqueue_over(kept.forests, np.uint64(net.head[arc]), np.uint64(net.head[back]))


@kernel
def cancel_flow_at(
    state: FlowState, kept: Kept, start: np.uint64, sign: Int64, most_steps: Int64
) -> tuple[Int64, bool]:
    """Cancel flow that reaches a vertex with too much supply (`sign` 1) or leaves one with a deficit (-1).

    The walk follows flow upstream to the source, or downstream to the sink, and cancels the cycles of flow
    that it meets. Return the number of arcs walked over, and False if there were more than `most_steps`.
    """
    net, initial, path, position = state.net, state.initial, kept.forests.next_orphan, kept.position
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
                _reduce_flow(net, kept, b if sign > 0 else np.uint64(net.reverse[b]), amount)
                if k > begin:
                    position[net.head[net.reverse[b]]] = 0
            depth = begin
        amount = min(wanted, room)
        for k in range(depth):
            amount = min(amount, np.int64(sign * (net.residual[path[k]] - initial[path[k]])))
        for k in range(depth):
            b = np.uint64(path[k])
            position[net.head[b]] = 0
            _reduce_flow(net, kept, b if sign > 0 else np.uint64(net.reverse[b]), amount)
        position[start] = 0
        net.excess[start] -= sign * amount
        if sign > 0:
            net.excess[v] += amount
        elif absorbs:
            net.excess[v] -= amount
        else:
            net.sink_residual[v] += amount
        kept.touched[v] = kept.touched[start] = True
        wanted -= amount
    return steps, wanted <= 0


@kernel
def cancel_flow(state: FlowState, kept: Kept, wrong: Integers, most_steps: Int64) -> bool:
    """Cancel flow at several vertices; return False if that takes more than `most_steps`."""
    for k in range(len(wrong)):
        v = np.uint64(wrong[k])
        sign = np.int64(1 if state.net.excess[v] > 0 else -1)
        steps, complete = cancel_flow_at(state, kept, v, sign, most_steps)
        most_steps -= steps
        if not complete:
            return False
    return True


@kernel
def touch(
    arcs: InputArcs, place: Indices, edited: NDArray[np.int64], net: ResidualArrays, kept: Kept
) -> None:
    """Touch the ends of changed input arcs, and queue those from which a forest can grow now.

    `place` has the residual arc of each input arc, and m or more where there is none.
    """
    for k in range(len(edited)):
        i = np.uint64(edited[k])
        u, v = np.uint64(arcs.inner[arcs.tail[i]]), np.uint64(arcs.inner[arcs.head[i]])
        kept.touched[u] = kept.touched[v] = True
        a = np.uint64(place[i])
        if a < np.uint64(len(net.head)):
            if net.residual[a] > 0:
                enqueue_over(kept.forests, u, v)
            if net.residual[net.reverse[a]] > 0:
                enqueue_over(kept.forests, v, u)


def begin_deficits(
    net: ResidualArrays, vertices: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Turn deficits into demand; return the vertices with one, and the demand that they had before."""
    deficient = vertices[net.excess[vertices] < 0]
    before = net.sink_residual[deficient]
    net.sink_residual[deficient] -= net.excess[deficient]
    net.excess[deficient] = 0
    return deficient, before


def end_deficits(net: ResidualArrays, deficient: NDArray[np.int64], before: NDArray[np.int64]) -> None:
    """Turn the demand that stands for deficits, as far as it was not met, into deficits again."""
    left = np.maximum(net.sink_residual[deficient] - before, 0)
    net.sink_residual[deficient] -= left
    net.excess[deficient] -= left


def return_flow(state: FlowState, kept: Kept, vertices: NDArray[np.int64], most_steps: int) -> bool:
    """Cancel the flow that vertices cannot pass on or do not get; return False if that took too long."""
    net = state.net
    excess = net.excess[vertices]
    wrong = vertices[(excess < 0) | (excess > state.source_capacity[vertices])]
    return not len(wrong) or cancel_flow(state, kept, wrong, np.int64(most_steps))


def search_near_changes(state: FlowState, kept: Kept | None, control: Control, most: int) -> Kept | None:
    """Find a maximum flow, in forests that were kept or in new ones; return the forests.

    Return None if the search is stopped, or makes more than `most` operations. Then vertices may still have
    supply above the capacity of the source, or deficits.
    """
    net, n = state.net, len(state.net.excess)
    monitor = control.monitor()
    forests = None if kept is None else for_next_search(kept.forests)
    if kept is None or forests is None:
        forests = make_forests(net, n)
        kept = Kept(forests, np.ones(n + 2, dtype=bool), np.zeros(n, dtype=net.head.dtype))
    touched = kept.touched
    changed = np.flatnonzero(touched[:n])
    touched[:] = False
    deficits = begin_deficits(net, changed)
    control.limit_work(most)
    repair(net, forests, changed, monitor)
    while not search(net, forests, monitor, True):
        forests = with_more_levels(forests)
    ended = forests.cursor[LENGTH + SINK] == 0 and not control.stopped
    control.limit_work(0)
    end_deficits(net, *deficits)
    touched[deficits[0]] = True
    kept = kept._replace(forests=forests)
    return kept if ended and return_flow(state, kept, changed, most) else None
