"""Dinic's algorithm: blocking flows in layered networks, with a search from both ends.

Dinic, "Algorithm for Solution of a Problem of Maximum Flow in Networks with Power Estimation", Soviet
Mathematics Doklady 11 (1970). Departures:

- The search for levels goes on from the end that has fewer vertices in its last level, and stops where both
  searches meet. On graphs of small diameter it sees a small part of the graph, while a search from one end
  sees almost all of it.
- Terminals are not vertices. Paths begin at vertices with excess and end at vertices that can send to the
  sink. At the end the excess that no path takes is left: the result is a preflow.

Definitions
-----------
- L is the number of arcs of a shortest residual path, with the arc to the sink.
- The *height* of a vertex found from the sink is its distance to the sink. The height of a vertex found from
  the sources is L minus its distance from them. Other vertices have height 0.
- An arc is *admissible* if it has residual capacity and leads down by one level.

Invariants
----------
In a phase:

- Every shortest path has admissible arcs only.
- Before its current arc, a vertex has no admissible arc to a vertex from which a path goes on.
- The sources are the vertices with excess; no other vertex gets any.

Pseudo-code
-----------
::

    repeat:                                                                   run
        search from both ends, level by level, until they meet                find_levels
        if one search ends before: stop
        for each source:                                                      block
            walk down over admissible arcs; where there are none,
                set the height to 0 and go back over one arc
            at a vertex with capacity to the sink: send what the path takes,  send_along
                go back to the tail of the first saturated arc,
                and go on with the next source if the budget is spent

Time: O(n**2 m); O(m min(n**(2/3), m**(1/2))) where all capacities are 1. Memory beside the network: 6 indices
a vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Array, Indices
from ..graph.residual import ResidualArrays
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.work_limit import must_end
from ..network import distances_to_sink
from ..network.arcs import arcs_of, end, first, head, opposite
from ..solving.monitor import Monitor
from ..solving.options import CheckedOptions
from ..solving.run import Control
from ..stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES
from .watch import run_watched


@dataclass(frozen=True)
class DinicOptions(CheckedOptions):
    """Options of Dinic's algorithm.

    Attributes
    ----------
    both_ends : bool
        Search for levels from the sources and the sink; otherwise from the sink only.
    """

    both_ends: bool = True


class DinicState(NamedTuple):
    """The state of the solver beside the residual network."""

    height: Indices  #: shape (n,)
    #: shape (n,): one more than the distance from the sources; 0 where the search has not come
    distance: Indices
    current: Indices  #: shape (n,): current arcs
    #: shape (n,): the vertices found from each end, by level
    from_source: Indices
    from_sink: Indices
    path: Indices  #: shape (n,): the arcs of the path that is being walked


@kernel
def find_ends(net: ResidualArrays, state: DinicState) -> tuple[np.uint64, np.uint64]:
    """List the vertices with excess and those with capacity to the sink; return how many there are.

    A vertex that has both sends to the sink before.
    """
    sources, sinks = ZERO, ZERO
    v = ZERO
    while v < np.uint64(len(net.excess)):
        amount = min(net.excess[v], net.sink_residual[v])
        if amount > 0:
            net.excess[v] -= amount
            net.sink_residual[v] -= amount
        if net.excess[v] > 0:
            state.from_source[sources] = v
            sources += ONE
        if net.sink_residual[v] > 0:
            state.from_sink[sinks] = v
            sinks += ONE
        v += ONE
    return sources, sinks


@kernel
def begin_search(
    net: ResidualArrays, state: DinicState, sources: np.uint64, sinks: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Keep the ends that still have excess or capacity, and label them; return how many there are."""
    kept_sources, kept_sinks = ZERO, ZERO
    i = ZERO
    while i < sources:
        v = np.uint64(state.from_source[i])
        if net.excess[v] > 0:
            state.distance[v] = ONE
            state.from_source[kept_sources] = v
            kept_sources += ONE
        i += ONE
    i = ZERO
    while i < sinks:
        v = np.uint64(state.from_sink[i])
        if net.sink_residual[v] > 0:
            state.height[v] = ONE
            state.from_sink[kept_sinks] = v
            kept_sinks += ONE
        i += ONE
    return kept_sources, kept_sinks


@kernel
def next_level(
    net: ResidualArrays,
    listed: Indices,
    labels: tuple[Indices, Indices],
    begin: np.uint64,
    end: np.uint64,
    backwards: bool,
    monitor: Monitor,
) -> tuple[np.uint64, bool]:
    """Search over the arcs out of the vertices ``listed[begin:end]``, or into them.

    `labels` are those of this search and of the other one. Return the end of the list, and whether the other
    search has been there.
    """
    own, other = labels
    met = False
    last = end
    while begin < end and relaxed_load(monitor.stop, 0) == 0:
        v = np.uint64(listed[begin])
        begin += ONE
        a, stop = arcs_of(net, v)
        monitor.counts[ARC_SCANS] += stop - a
        while a < stop:
            w = head(net, v, a)
            if own[w] == ZERO and net.residual[opposite(net, a) if backwards else a] > 0:
                own[w] = np.uint64(own[v]) + ONE
                listed[last] = w
                last += ONE
                met = met or other[w] > ZERO
            a += ONE
    return last, met


@kernel
def find_levels(
    net: ResidualArrays, state: DinicState, sources: np.uint64, sinks: np.uint64, both: bool, monitor: Monitor
) -> tuple[np.uint64, np.uint64, bool]:
    """Search from both ends until the searches meet, and set the heights.

    Return the ends of both lists, and whether the searches met.
    """
    source_begin, source_end = ZERO, sources
    sink_begin, sink_end = ZERO, sinks
    met = False
    # The level of the sources' search is complete up to `ahead`, that of the sink's up to `behind`.
    ahead, behind = ZERO, ONE
    while not met and source_begin < source_end and sink_begin < sink_end:
        if relaxed_load(monitor.stop, 0) != 0:
            break
        if both and source_end - source_begin < sink_end - sink_begin:
            labels = state.distance, state.height
            end, met = next_level(net, state.from_source, labels, source_begin, source_end, False, monitor)
            source_begin, source_end = source_end, end
            ahead += ONE
        else:
            labels = state.height, state.distance
            end, met = next_level(net, state.from_sink, labels, sink_begin, sink_end, True, monitor)
            sink_begin, sink_end = sink_end, end
            behind += ONE
    if met:
        # Vertices of the last level of the sources' search have a height only where both searches met.
        i = ZERO
        while i < sink_end:
            v = np.uint64(state.from_sink[i])
            state.current[v] = first(net, v)
            i += ONE
        i = ZERO
        while i < source_begin:
            v = np.uint64(state.from_source[i])
            if state.height[v] == ZERO:
                state.height[v] = ahead + behind + ONE - np.uint64(state.distance[v])
                state.current[v] = first(net, v)
            i += ONE
    return source_end, sink_end, met


@kernel
def forget_levels(state: DinicState, source_end: np.uint64, sink_end: np.uint64) -> None:
    """Clear the heights and distances of all vertices in both lists."""
    i = ZERO
    while i < source_end:
        v = np.uint64(state.from_source[i])
        state.height[v] = ZERO
        state.distance[v] = ZERO
        i += ONE
    i = ZERO
    while i < sink_end:
        v = np.uint64(state.from_sink[i])
        state.height[v] = ZERO
        state.distance[v] = ZERO
        i += ONE


@kernel
def send_along(
    net: ResidualArrays, state: DinicState, source: np.uint64, depth: np.uint64, last: np.uint64
) -> tuple[np.uint64, np.int64]:
    """Send excess of `source` along the first `depth` arcs of the path to `last`, and on to the sink.

    Return the place of the first arc that it saturates, `depth` if there is none, and the amount.
    """
    amount = min(net.excess[source], net.sink_residual[last])
    i = ZERO
    while i < depth:
        amount = min(amount, np.int64(net.residual[state.path[i]]))
        i += ONE
    first = depth
    while i > ZERO:
        i -= ONE
        a = np.uint64(state.path[i])
        net.residual[a] -= amount
        net.residual[opposite(net, a)] += amount
        if net.residual[a] == 0:
            first = i
    net.excess[source] -= amount
    net.sink_residual[last] -= amount
    return first, amount


@kernel
def block(net: ResidualArrays, state: DinicState, source: np.uint64, monitor: Monitor) -> None:
    """Send excess of a source along shortest paths until there is no further one.

    It ends before that if the work reaches the limit after a path.
    """
    counts = monitor.counts
    v = source
    depth = ZERO
    while net.excess[source] > 0 and relaxed_load(monitor.stop, 0) == 0:
        h = np.uint64(state.height[v])
        if h == ONE and net.sink_residual[v] > 0:
            first, amount = send_along(net, state, source, depth, v)
            counts[PUSHES] += depth + ONE
            monitor.progress[0] -= amount
            if first < depth:
                depth = first
                v = np.uint64(net.head[net.reverse[state.path[first]]])
            if must_end(monitor):
                break  # one phase may send many long paths
            continue
        # Go down over the next admissible arc.
        a, last = np.uint64(state.current[v]), end(net, v)
        begin = a
        while h > ONE and a < last:
            if np.uint64(state.height[head(net, v, a)]) + ONE == h and net.residual[a] > 0:
                break
            a += ONE
        counts[ARC_SCANS] += a - begin
        state.current[v] = a
        if h > ONE and a < last:
            state.path[depth] = a
            depth += ONE
            v = head(net, v, a)
            continue
        # There is none: no path goes on from v.
        state.height[v] = ZERO
        if depth == ZERO:
            break
        depth -= ONE
        v = head(net, v, opposite(net, np.uint64(state.path[depth])))


@kernel
def run(net: ResidualArrays, state: DinicState, both: bool, monitor: Monitor) -> None:
    """Find levels and block them until no source reaches the sink, or the solve ends before that."""
    counts = monitor.counts
    sources, sinks = find_ends(net, state)
    while not must_end(monitor):
        sources, sinks = begin_search(net, state, sources, sinks)
        source_end, sink_end, met = find_levels(net, state, sources, sinks, both, monitor)
        counts[GLOBAL_RELABELS] += ONE
        if not met:
            break
        i = ZERO
        while i < sources:
            if state.height[state.from_source[i]] > ZERO:
                block(net, state, np.uint64(state.from_source[i]), monitor)
            i += ONE
        forget_levels(state, source_end, sink_end)


def solve(net: ResidualArrays, options: DinicOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    control.progress[:] = net.excess.sum(dtype=np.float64)
    n, dtype = len(net.excess), net.head.dtype
    lists = (np.zeros(n, dtype=dtype) for _ in range(2))
    state = DinicState(*lists, *(np.empty(n, dtype=dtype) for _ in range(4)))
    monitor = control.monitor()
    run_watched(lambda: run(net, state, options.both_ends, monitor), net, control, "paths are many or long")
    height = state.height
    height[:] = n + 1
    distances_to_sink(net, height, state.from_sink, ZERO, ZERO, ZERO, False)
    return height
