"""Breadth-first searches over a residual network."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernel import kernel

ZERO = np.uint64(0)
ONE = np.uint64(1)


@kernel
def distances_to_sink(
    net: Any, height: Any, order: Any, reached: Any, begin: Any, end: Any, drain: bool
) -> tuple[Any, Any]:
    """Make every height the exact residual distance to the sink, or ``n + 1`` (dead).

    The search goes backwards from the sink and resumes where it must: the first `end` vertices of
    `order` keep their heights, those from `begin` on are searched from. (A push leads downwards, so it
    shortens no distance; it lengthens one only where it saturates the last arc to a lower vertex. All
    vertices below the least height at which that may have happened keep exact heights.) The vertices
    found last time that are not kept are searched anew; dead vertices stay dead, since no push leads
    to them.

    With `drain`, a vertex with excess pushes it along the arc over which the search reaches it, before
    that arc counts: the arc leads towards the sink, so this is an admissible push, and a free one since
    all that it touches is in cache.

    Parameters
    ----------
    net : ResidualArrays
    height : ndarray, shape (n,)
        Before the first search ``n + 1`` everywhere.
    order : ndarray, shape (n,)
        Its first `reached` entries are what the last search found, by distance.
    reached : int
        0 for the first search.
    begin, end : int
        Where the highest level of those that stay starts and ends in `order`; both 0 searches all.
    drain : bool

    Returns
    -------
    reached : number of vertices that can reach the sink, now in ``order[:reached]`` by distance
    pushes : number of pushes made
    """
    n = np.uint64(len(net.excess))
    dead = n + ONE
    pushes = ZERO
    k = end
    while k < reached:
        height[order[k]] = dead
        k += ONE
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
    while begin < end and end < n:
        v = np.uint64(order[begin])
        begin += ONE
        next_height = np.uint64(height[v]) + ONE
        a = np.uint64(net.first_out[v])
        last = np.uint64(net.first_out[v + ONE])
        while a < last:
            w = np.uint64(net.head[a])
            if np.uint64(height[w]) == dead:
                b = np.uint64(net.reverse[a])
                if net.residual[b] > 0:
                    if drain and net.excess[w] > 0:
                        pushes += ONE
                        amount = min(net.excess[w], net.residual[b])
                        net.excess[w] -= amount
                        net.excess[v] += amount
                        net.residual[b] -= amount
                        net.residual[a] += amount
                        if net.residual[b] == 0:
                            a += ONE
                            continue
                    height[w] = next_height
                    order[end] = w
                    end += ONE
            a += ONE
    return end, pushes


@kernel
def reachable_from_source(net: Any, returned: Any, reached: Any, stack: Any) -> None:
    """Set ``reached[v]``, at first false, where the source reaches `v` over residual arcs.

    ``returned[v] > 0`` says that the arc from the source to `v` has residual capacity; `stack` is scratch.
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
        a = np.uint64(net.first_out[v])
        last = np.uint64(net.first_out[v + ONE])
        while a < last:
            w = np.uint64(net.head[a])
            if not reached[w] and net.residual[a] > 0:
                reached[w] = True
                stack[size] = w
                size += ONE
            a += ONE
