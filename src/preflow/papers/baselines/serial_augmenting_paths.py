"""Augmenting paths, one search each: Edmonds and Karp's two algorithms.

Edmonds and Karp, "Theoretical Improvements in Algorithmic Efficiency for Network Flow Problems", Journal of
the ACM 19 (1972): shortest paths, and capacity scaling. Both are baselines of the papers, not fast methods.

Departure: terminals are not vertices. A path begins at any vertex with excess and ends at any that can send
to the sink. At the end the excess that no path takes is left: the result is a preflow.

Definition: an arc, the excess of a vertex, or its capacity to the sink is *wide* if it is at least `width`.

Invariants: no excess and no residual capacity is negative; vertices other than the first of a path never get
excess; where the width is halved, no path is wide.

::

    width = 1, or with scaling the largest power of two up to the largest excess
    while width is at least 1:
        while there is a wide path: find a shortest by breadth-first search   find_path
            send what it takes                                                send_along
        halve the width

Time: O(n m**2) with shortest paths; O(m**2 log U) with scaling, where U is the largest capacity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices
from ...graph.residual import ResidualArrays
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...network import distances_to_sink
from ...network.arcs import arcs_of, head, opposite, push_along
from ...solving.monitor import Monitor
from ...solving.options import CheckedOptions
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES


@dataclass(frozen=True)
class AugmentingPathsOptions(CheckedOptions):
    """Options of augmenting paths.

    Attributes
    ----------
    scaling : bool
        Find wide paths first.
    """

    scaling: bool = False


class Search(NamedTuple):
    """A breadth-first search from the vertices with excess."""

    #: shape (n,): the arc over which a vertex was found; the number of arcs at a source, and one more at
    #: vertices that are not found
    found_by: Indices
    queue: Indices  #: shape (n,): the vertices found, by distance; first the sources


@kernel
def find_sources(net: ResidualArrays, search: Search, width: np.int64) -> np.uint64:
    """List the vertices with wide excess; return how many there are."""
    sources = ZERO
    v = ZERO
    while v < np.uint64(len(net.excess)):
        if net.excess[v] >= width:
            search.queue[sources] = v
            sources += ONE
        v += ONE
    return sources


@kernel
def find_path(
    net: ResidualArrays, search: Search, sources: np.uint64, width: np.int64, monitor: Monitor
) -> tuple[np.uint64, np.uint64]:
    """Search for a shortest wide path; return its last vertex, n if there is none, and the queue's end."""
    none, no_arc = np.uint64(len(net.excess)), np.uint64(len(net.head))
    end = sources
    i = ZERO
    while i < sources:
        search.found_by[search.queue[i]] = no_arc
        i += ONE
    begin = ZERO
    while begin < end and relaxed_load(monitor.stop, 0) == 0:
        v = np.uint64(search.queue[begin])
        begin += ONE
        if net.sink_residual[v] >= width:
            return v, end
        a, last = arcs_of(net, v)
        monitor.counts[ARC_SCANS] += last - a
        while a < last:
            w = head(net, v, a)
            if np.uint64(search.found_by[w]) > no_arc and net.residual[a] >= width:
                search.found_by[w] = a
                search.queue[end] = w
                end += ONE
            a += ONE
    return none, end


@kernel
def send_along(net: ResidualArrays, search: Search, last: np.uint64, monitor: Monitor) -> None:
    """Send excess along the path that the search has found to `last`, and on to the sink."""
    no_arc = np.uint64(len(net.head))
    amount = net.sink_residual[last]
    v = last
    a = np.uint64(search.found_by[v])
    while a != no_arc:
        amount = min(amount, np.int64(net.residual[a]))
        v = head(net, v, opposite(net, a))
        a = np.uint64(search.found_by[v])
    amount = min(amount, net.excess[v])
    net.excess[v] -= amount
    net.sink_residual[last] -= amount
    monitor.progress[0] -= amount
    monitor.counts[PUSHES] += ONE
    v = last
    a = np.uint64(search.found_by[v])
    while a != no_arc:
        w, v = v, head(net, v, opposite(net, a))
        push_along(net, v, w, a, amount)
        monitor.counts[PUSHES] += ONE
        a = np.uint64(search.found_by[v])


@kernel
def forget(net: ResidualArrays, search: Search, end: np.uint64) -> None:
    """Mark all vertices of the queue as not found."""
    i = ZERO
    while i < end:
        search.found_by[search.queue[i]] = np.uint64(len(net.head)) + ONE
        i += ONE


@kernel
def keep_sources(net: ResidualArrays, search: Search, sources: np.uint64, width: np.int64) -> np.uint64:
    """Drop sources whose excess is not wide any more; return how many are left."""
    kept = ZERO
    i = ZERO
    while i < sources:
        v = np.uint64(search.queue[i])
        if net.excess[v] >= width:
            search.queue[kept] = v
            kept += ONE
        i += ONE
    return kept


@kernel
def run(net: ResidualArrays, search: Search, width: np.int64, monitor: Monitor) -> None:
    """Send along shortest wide paths, for each width down to 1, unless the solve is stopped."""
    none = np.uint64(len(net.excess))
    while width > 0:
        sources = find_sources(net, search, width)
        while relaxed_load(monitor.stop, 0) == 0:
            last, end = find_path(net, search, sources, width, monitor)
            monitor.counts[GLOBAL_RELABELS] += ONE
            if last == none:
                forget(net, search, end)
                break
            send_along(net, search, last, monitor)
            forget(net, search, end)
            sources = keep_sources(net, search, sources, width)
        width //= 2


def solve(net: ResidualArrays, options: AugmentingPathsOptions, control: Control) -> Array:
    """Run the first stage in place and return exact heights; see the module's docstring."""
    control.progress[:] = net.excess.sum(dtype=np.float64)
    n, dtype = len(net.excess), net.head.dtype
    search = Search(np.full(n, len(net.head) + 1, dtype=dtype), np.empty(n, dtype=dtype))
    largest = int(net.excess.max(initial=1)) if options.scaling else 1
    run(net, search, np.int64(1 << (largest.bit_length() - 1)), control.monitor())
    height = search.found_by
    height[:] = n + 1
    distances_to_sink(net, height, search.queue, ZERO, ZERO, ZERO, False)
    return height
