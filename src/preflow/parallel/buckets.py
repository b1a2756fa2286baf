"""Stacks of vertices by height, a set of them a thread: each thread takes the highest vertex it has.

After Bader and Sachdeva (2005): highest-label selection by each thread among its own vertices. A vertex is in
at most one bucket of one thread, so one array links them all. Threads without vertices are given some, see
idle.py: the highest of the giver's, up to half of all it has.

Memory: one index a vertex, and all threads together at most ``ROOM`` a vertex for the tops of their stacks.
With more threads than that, a thread has fewer levels than there may be heights; its last one then holds all
vertices from there on, and they are taken in last-in-first-out order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING
from ..kernels.kernel import kernel
from .idle import Idle, claim_idle, make_busy, make_idle, say_given

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: Vertices that are given at once, at most.
GIFT = np.uint64(64)
#: Levels of all threads together, times the number of vertices; beside FEW_LEVELS each.
ROOM = 4
FEW_LEVELS = 64

#: Positions in a thread's row of ``ends``.
TOP, SIZE = np.uint64(0), np.uint64(1)


class Buckets(NamedTuple):
    """The buckets of a team.

    Attributes
    ----------
    first : ndarray, shape (threads, levels)
        The last vertex put on a level of a thread; the number of vertices where it is empty.
    below : ndarray, shape (n,)
        The vertex that was put on the same level of the same thread before.
    ends : ndarray of uint64, shape (threads, PADDING)
        A level above which a thread has no vertices, and how many it has.
    idle : Idle
    """

    first: NDArray[Any]
    below: NDArray[Any]
    ends: NDArray[Any]
    idle: Idle


def make_buckets(num_threads: int, num_vertices: int, dtype: Any) -> Buckets:
    """Return empty buckets for vertices with heights up to ``num_vertices + 1``."""
    levels = min(num_vertices + 2, ROOM * num_vertices // num_threads + FEW_LEVELS)
    return Buckets(
        np.full((num_threads, levels), num_vertices, dtype=dtype),
        np.empty(num_vertices, dtype=dtype),
        np.zeros((num_threads, PADDING), dtype=np.uint64),
        make_idle(num_threads),
    )


@kernel
def clear(buckets: Buckets, thread: Any) -> None:
    """Empty a thread's buckets and make the thread busy; all threads do so between two barriers."""
    none = len(buckets.below)
    level = buckets.ends[thread, TOP] + ONE
    while level > ZERO:
        level -= ONE
        buckets.first[thread, level] = none
    buckets.ends[thread, TOP] = ZERO
    buckets.ends[thread, SIZE] = ZERO
    make_busy(buckets.idle, thread)


@kernel
def size(buckets: Buckets, thread: Any) -> Any:
    """Return how many vertices the thread has."""
    return buckets.ends[thread, SIZE]


@kernel
def put(buckets: Buckets, thread: Any, vertex: Any, height: Any) -> None:
    """Give the thread `vertex`, which no thread has."""
    level = min(height, np.uint64(buckets.first.shape[1]) - ONE)
    buckets.below[vertex] = buckets.first[thread, level]
    buckets.first[thread, level] = vertex
    buckets.ends[thread, SIZE] += ONE
    if level > buckets.ends[thread, TOP]:
        buckets.ends[thread, TOP] = level


@kernel
def take_highest(buckets: Buckets, thread: Any) -> Any:
    """Take a highest vertex of the thread, which has one."""
    none = np.uint64(len(buckets.below))
    level = buckets.ends[thread, TOP]
    vertex = np.uint64(buckets.first[thread, level])
    while vertex == none:
        level -= ONE
        vertex = np.uint64(buckets.first[thread, level])
    buckets.first[thread, level] = buckets.below[vertex]
    buckets.ends[thread, TOP] = level
    buckets.ends[thread, SIZE] -= ONE
    return vertex


@kernel
def give(buckets: Buckets, thread: Any) -> None:
    """Hand the highest vertices to an idle thread, if there is one and the thread has more than one."""
    count = min(buckets.ends[thread, SIZE] // TWO, GIFT)
    if count == ZERO:
        return
    other = claim_idle(buckets.idle, thread)
    if other == thread:
        return
    while count > ZERO:
        vertex = take_highest(buckets, thread)
        put(buckets, other, vertex, buckets.ends[thread, TOP])
        count -= ONE
    say_given(buckets.idle, other)
