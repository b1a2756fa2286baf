"""Buckets of vertices by height, a set for each thread: each thread takes the highest vertex that it owns.

After Bader and Sachdeva (2005): each thread selects the highest label among its own vertices. A vertex is
in at most one bucket of one thread, so one array links all buckets. A thread donates its highest vertices,
up to half of all it owns, to an idle thread, see parallel/idle.py.

Memory: one index a vertex for the links, and for the tops of the buckets of all threads together at most
``ROOM`` indices a vertex. With many threads a thread has fewer levels than there may be heights. Its last
level then has all vertices from there on, last in, first out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...arrays import Indices, Number
from ...kernels.atomics import PADDING
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.kernel import kernel
from ...parallel.idle import Idle, announce_donation, claim_idle, make_busy, make_idle

#: Greatest number of vertices that are donated at once.
MOST_DONATED = np.uint64(64)
#: Levels of all threads together, as a multiple of the number of vertices; each thread has FEW_LEVELS more.
ROOM = 4
FEW_LEVELS = 64

#: Positions in a thread's row of ``ends``.
TOP, SIZE = np.uint64(0), np.uint64(1)


class Buckets(NamedTuple):
    """The buckets of all threads."""

    #: shape (threads, levels): the vertex put last on each level of a thread; the number of vertices where
    #: the level is empty
    first: Indices
    #: shape (n,): the vertex put before this one on the same level of the same thread
    below: Indices
    #: shape (threads, PADDING): a level above which a thread has no vertices, and how many vertices it has
    ends: NDArray[np.uint64]
    idle: Idle


def make_buckets(num_threads: int, num_vertices: int, dtype: DTypeLike) -> Buckets:
    """Return empty buckets for vertices with heights up to ``num_vertices + 1``."""
    levels = min(num_vertices + 2, ROOM * num_vertices // num_threads + FEW_LEVELS)
    return Buckets(
        np.full((num_threads, levels), num_vertices, dtype=dtype),
        np.empty(num_vertices, dtype=dtype),
        np.zeros((num_threads, PADDING), dtype=np.uint64),
        make_idle(num_threads),
    )


@kernel
def clear(buckets: Buckets, thread: np.uint64) -> None:
    """Empty the thread's buckets and mark the thread as busy; all threads do so between two barriers."""
    none = len(buckets.below)
    level = buckets.ends[thread, TOP] + ONE
    while level > ZERO:
        level -= ONE
        buckets.first[thread, level] = none
    buckets.ends[thread, TOP] = ZERO
    buckets.ends[thread, SIZE] = ZERO
    make_busy(buckets.idle, thread)


@kernel
def size(buckets: Buckets, thread: np.uint64) -> Number:
    """Return how many vertices the thread has."""
    return buckets.ends[thread, SIZE]


@kernel
def put(buckets: Buckets, thread: np.uint64, vertex: np.uint64, height: np.uint64) -> None:
    """Put `vertex`, which no thread owns, into the buckets of the thread."""
    level = min(height, np.uint64(buckets.first.shape[1]) - ONE)
    buckets.below[vertex] = buckets.first[thread, level]
    buckets.first[thread, level] = vertex
    buckets.ends[thread, SIZE] += ONE
    if level > buckets.ends[thread, TOP]:
        buckets.ends[thread, TOP] = level


@kernel
def take_highest(buckets: Buckets, thread: np.uint64) -> np.uint64:
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
def donate(buckets: Buckets, thread: np.uint64) -> None:
    """Donate the highest vertices to an idle thread, if there is one and the thread has more than one."""
    count = min(buckets.ends[thread, SIZE] // TWO, MOST_DONATED)
    if count == ZERO:
        return
    other = claim_idle(buckets.idle, thread)
    if other == thread:
        return
    while count > ZERO:
        vertex = take_highest(buckets, thread)
        put(buckets, other, vertex, buckets.ends[thread, TOP])  # mutant: donated-work-is-lost
        count -= ONE
    announce_donation(buckets.idle, other)
