"""Residual networks: serial searches for labels, and the relabel step; :mod:`.arcs` reads and changes arcs.

The search of a global relabel by several threads together is :mod:`preflow.parallel.search`. This one stays
separate: it fills one list of vertices by distance, which the gap heuristic and the restart of the serial
methods rely on, and needs no owners, messages and barriers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Number, ResidualNetwork
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .arcs import arcs_of, head, opposite, place


@kernel
def distances_to_sink(
    net: ResidualNetwork,
    height: Indices,
    order: Indices,
    reached: Number,
    begin: np.uint64,
    end: np.uint64,
    drain: bool,
) -> tuple[np.uint64, np.uint64]:
    """Make every height the exact residual distance to the sink, or ``n + 1`` (dead).

    The search goes backwards from the sink, over `order`, which lists the `reached` vertices that the last
    search found, by distance. Before the first search all heights are ``n + 1``, and `reached` is 0. A search
    may resume: the first `end` vertices of `order` keep their heights, and it starts from those from `begin`
    on; both are 0 to search all. That is correct because a push leads downwards and so shortens no distance;
    it lengthens one only if it saturates the last arc to a lower vertex. All vertices below the least height
    at which that may have happened keep exact heights. The other vertices that the last search found lose
    their heights and are searched again. Dead vertices stay dead, since no push leads to them.

    With `drain`, a vertex with excess pushes it along the arc over which the search reaches it before that
    arc counts. The arc leads towards the sink, so this is an admissible push. It costs little, since all that
    it touches is in cache.

    Return the number of vertices that can reach the sink, which `order` now lists, and the number of pushes.
    """
    n = np.uint64(len(net.excess))
    dead = n + ONE
    pushes = ZERO
    # Forget the heights that are not kept.
    k = end
    while k < reached:
        height[order[k]] = dead
        k += ONE
    # A full search starts from the vertices with capacity to the sink.
    if end == ZERO:
        for vertex in range(len(net.excess)):
            if net.sink_residual[vertex] > 0:
                if drain and net.excess[vertex] > 0:
                    pushes += ONE
                    amount = min(net.excess[vertex], net.sink_residual[vertex])
                    net.excess[vertex] -= amount
                    net.sink_residual[vertex] -= amount
                    if net.sink_residual[vertex] == 0:
                        continue
                height[vertex] = 1
                order[end] = vertex
                end += ONE
    # Search, level by level.
    while begin < end and end < n:
        v = np.uint64(order[begin])
        begin += ONE
        next_height = np.uint64(height[v]) + ONE
        a, last = arcs_of(net, v)
        while a < last:
            w = head(net, v, a)
            if np.uint64(height[w]) == dead:
                back = place(net, w, opposite(net, a))
                if net.residual[back] > 0:
                    if drain and net.excess[w] > 0:
                        pushes += ONE
                        amount = min(net.excess[w], net.residual[back])
                        net.excess[w] -= amount
                        net.excess[v] += amount
                        net.residual[back] -= amount
                        net.residual[place(net, v, a)] += amount
                        if net.residual[back] == 0:
                            a += ONE
                            continue
                    height[w] = next_height
                    order[end] = w
                    end += ONE
            a += ONE
    return end, pushes


@kernel
def reachable_from_source(
    net: ResidualNetwork, returned: NDArray[np.int64], reached: NDArray[np.bool_], stack: Indices
) -> None:
    """Set ``reached[v]`` to True where the source reaches `v` over residual arcs; all are False on entry.

    The arc from the source to `v` has residual capacity if ``returned[v] > 0``. `stack` is scratch.
    """
    size = ZERO
    for vertex in range(len(reached)):
        if returned[vertex] > 0:
            reached[vertex] = True
            stack[size] = vertex
            size += ONE
    while size > ZERO:
        size -= ONE
        v = np.uint64(stack[size])
        a, last = arcs_of(net, v)
        while a < last:
            w = head(net, v, a)
            if not reached[w] and net.residual[place(net, v, a)] > 0:
                reached[w] = True
                stack[size] = w
                size += ONE
            a += ONE


@kernel
def lowest_neighbour(
    net: ResidualNetwork, height: Indices, v: np.uint64, ceiling: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return the least height below `ceiling` of a residual neighbour of `v`, and the first arc to it.

    If there is none, return `ceiling` and the end of the arcs.
    """
    low = ceiling
    a, last = arcs_of(net, v)
    arc = last
    while a < last:
        if net.residual[place(net, v, a)] > 0:
            neighbour = np.uint64(height[head(net, v, a)])
            if neighbour < low:
                low = neighbour
                arc = a
        a += ONE
    return low, arc


@kernel
def lowest_neighbour_now(
    net: ResidualNetwork, height: Indices, v: np.uint64, ceiling: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Like :func:`lowest_neighbour`, while other threads push and relabel."""
    low = ceiling
    a, last = arcs_of(net, v)
    arc = last
    while a < last:
        if relaxed_load(net.residual, place(net, v, a)) > 0:
            neighbour = np.uint64(relaxed_load(height, head(net, v, a)))
            if neighbour < low:  # mutant: above-the-first-neighbour-not-the-lowest
                low = neighbour
                arc = a
        a += ONE
    return low, arc
