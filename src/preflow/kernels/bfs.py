"""Breadth-first searches over a residual network."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernel import kernel

ZERO = np.uint64(0)
ONE = np.uint64(1)


@kernel
def distances_to_sink(net: Any, height: Any, queue: Any, drain: bool) -> tuple[Any, Any]:
    """Set every height to the exact residual distance to the sink, or to ``n + 1`` (dead).

    The search goes backwards from the sink. With `drain`, a vertex with excess pushes it along the arc
    over which the search reaches it, before that arc counts: the arc leads towards the sink, so this
    is an admissible push, and it is free since everything it touches is in cache.

    Returns
    -------
    reached : number of vertices that can reach the sink; they fill ``queue[:reached]`` by distance
    pushes : number of pushes made
    """
    n = np.uint64(len(net.excess))
    dead = n + ONE
    pushes = ZERO
    end = ZERO
    for v in range(len(net.excess)):
        height[v] = dead
        if net.sink_residual[v] > 0:
            if drain and net.excess[v] > 0:
                pushes += ONE
                amount = min(net.excess[v], net.sink_residual[v])
                net.excess[v] -= amount
                net.sink_residual[v] -= amount
                if net.sink_residual[v] == 0:
                    continue
            height[v] = 1
            queue[end] = v
            end += ONE
    begin = ZERO
    while begin < end:
        v = np.uint64(queue[begin])
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
                    queue[end] = w
                    end += ONE
            a += ONE
    return end, pushes
