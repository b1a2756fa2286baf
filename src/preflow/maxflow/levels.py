"""Vertices by height: the active ones for highest-label selection, all of them for the gap heuristic.

The active vertices of one height form a list linked through ``active_next``. When a level runs empty, the
gap heuristic must find all vertices above it. Doubly linked lists of the vertices of a height would cost
random writes at every relabel. Instead the order of the last global relabel lists the vertices by height,
and a relabelled vertex is written at the end of a log whose entries are chained by height. An entry counts
only if its vertex still has that height.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Array, Indices, Number
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel


class Levels(NamedTuple):
    """Vertices by height."""

    #: shape (n + 2,): the first active vertex of each height; n where there is none
    active_first: Indices
    active_next: Indices  #: shape (n,): the next active vertex of the same height
    #: shape (n + 3,): number of vertices of each height; kept only for the gap heuristic
    population: Indices
    #: shape (n + 3,): where the vertices of each height start in the order of the last global relabel
    first: Indices
    #: shape (n + 2,): the latest log entry of each height; the size of the log where there is none
    log_first: Indices
    #: shape (log size,): the vertex of each log entry, and the entry before it of the same height
    log_vertex: Indices
    log_next: Indices


def make_levels(num_vertices: int, log_size: int, dtype: DTypeLike) -> Levels:
    """Allocate the levels of `num_vertices` vertices, with room for `log_size` relabels."""

    def empty(size: int) -> Array:
        return np.empty(size, dtype=dtype)

    return Levels(
        empty(num_vertices + 2),
        empty(num_vertices),
        empty(num_vertices + 3),
        empty(num_vertices + 3),
        empty(num_vertices + 2),
        empty(log_size),
        empty(log_size),
    )


@kernel
def open_level(levels: Levels, height: np.uint64) -> None:
    """Prepare an empty level."""
    levels.active_first[height] = len(levels.active_next)
    levels.population[height] = 0
    levels.log_first[height] = len(levels.log_vertex)


@kernel
def push_active(levels: Levels, vertex: np.uint64, height: np.uint64) -> None:
    """Add an active vertex to the list of its height."""
    levels.active_next[vertex] = levels.active_first[height]
    levels.active_first[height] = vertex


@kernel
def fill_levels(
    levels: Levels,
    height: Indices,
    order: Indices,
    begin: np.uint64,
    reached: np.uint64,
    excess: NDArray[np.int64],
) -> tuple[np.uint64, np.uint64]:
    """Sort vertices into levels after a global relabel; the levels below that of ``order[begin]`` stay.

    Return a height above which no vertex is active, and the largest height.
    """
    top = ZERO
    max_height = ZERO
    open_level(levels, ZERO)
    if begin > ZERO:
        top = np.uint64(height[order[begin]]) - ONE
        max_height = top
    k = begin
    while k < reached:
        v = np.uint64(order[k])
        h = np.uint64(height[v])
        while max_height < h:
            max_height += ONE
            open_level(levels, max_height)
            levels.first[max_height] = k
        levels.population[h] += 1
        if excess[v] > 0:
            push_active(levels, v, h)
            top = h
        k += ONE
    levels.first[max_height + ONE] = reached
    return top, max_height


@kernel
def active_excess(order: Indices, reached: Number, excess: NDArray[np.int64]) -> float:
    """Return the sum of the excess on vertices that can reach the sink."""
    total = 0.0
    for k in range(reached):
        total += excess[order[k]]
    return total


@kernel
def log_vertex(levels: Levels, vertex: np.uint64, height: np.uint64, position: np.uint64) -> None:
    """Record at `position` of the log that `vertex` was relabelled to `height`."""
    levels.log_vertex[position] = vertex
    levels.log_next[position] = levels.log_first[height]
    levels.log_first[height] = position


@kernel
def close_gap(
    levels: Levels,
    height: Indices,
    order: Indices,
    searched_height: np.uint64,
    gap: np.uint64,
    max_height: np.uint64,
) -> np.uint64:
    """Declare every vertex above the empty level `gap` dead; return their number.

    `searched_height` is the largest height after the last global relabel, `max_height` the largest now.
    """
    none = np.uint64(len(levels.log_vertex))
    dead = np.uint64(len(height)) + ONE
    closed = ZERO
    h = gap + ONE
    while h <= max_height:
        if h <= searched_height:
            k = np.uint64(levels.first[h])
            last = np.uint64(levels.first[h + ONE])
            while k < last:
                w = np.uint64(order[k])
                if np.uint64(height[w]) == h:
                    height[w] = dead
                    closed += ONE
                k += ONE
        entry = np.uint64(levels.log_first[h])
        while entry != none:
            w = np.uint64(levels.log_vertex[entry])
            if np.uint64(height[w]) == h:
                height[w] = dead
                closed += ONE
            entry = np.uint64(levels.log_next[entry])
        h += ONE
    return closed
