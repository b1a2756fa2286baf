"""The transposed of an adjacency structure, by a team of threads: counting sort in two steps, as in sort.py.

First by bucket, a range of the other side's vertices: each thread counts its share of the edges, and moves
them. Then each bucket by vertex, within one thread, whose counters fit its cache. Vertices of an edge travel
as one word, so that a thread writes to as many places at a time as there are buckets, not twice as many. Both
steps are stable: neighbours come out sorted, whatever the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.kernel import kernel
from .barrier import wait
from .sort import find_places, shift_to_buckets
from .team import share_of

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Vertices a bucket, about: their counters fit a cache of the first level.
BUCKET_VERTICES = 1 << 13
#: Buckets a thread, at least, where there are as many vertices: that shares differ little.
BUCKETS_EACH = 8
#: Buckets, at most: a thread writes to all of them in turn.
MAX_BUCKETS = 512
#: An edge is the number of its other vertex in the upper half, that of this side's in the lower.
HALF = np.uint64(32)
LOWER = np.uint64(2**32 - 1)
#: Words of a page of memory.
PAGE = np.uint64(512)


class Transposing(NamedTuple):
    """The scratch of a team.

    Attributes
    ----------
    counts, place : ndarray of uint64, shape (threads, buckets)
        How many edges of a bucket a thread has in its share, and where it puts the next one.
    bucket_first : ndarray of uint64, shape (buckets + 1,)
        Where the edges of a bucket begin.
    edges : ndarray of uint64, shape (m,)
        The edges sorted by bucket.
    shift : uint64
        The bucket of a vertex is its number without so many lower bits.
    """

    counts: NDArray[Any]
    place: NDArray[Any]
    bucket_first: NDArray[Any]
    edges: NDArray[Any]
    shift: Any


def make_transposing(num_threads: int, num_edges: int, num_others: int) -> Transposing:
    """Return the scratch for so many edges to so many vertices of the other side."""
    wanted = min(MAX_BUCKETS, max(num_others // BUCKET_VERTICES, BUCKETS_EACH * num_threads))
    shift, buckets = shift_to_buckets(num_others, wanted)
    return Transposing(
        counts=np.zeros((num_threads, buckets), dtype=np.uint64),
        place=np.empty((num_threads, buckets), dtype=np.uint64),
        bucket_first=np.empty(buckets + 1, dtype=np.uint64),
        edges=np.empty(num_edges, dtype=np.uint64),
        shift=np.uint64(shift),
    )


@kernel
def vertex_of(first: Any, edge: Any) -> Any:
    """Return the vertex among whose edges one is, or the last one."""
    low, high = ZERO, np.uint64(len(first)) - ONE
    while high - low > ONE:
        middle = (low + high) // np.uint64(2)
        if np.uint64(first[middle]) <= edge:
            low = middle
        else:
            high = middle
    return low


@kernel
def move_edges(transposing: Transposing, thread: Any, first: Any, neighbour: Any) -> None:
    """Sort a thread's share of the edges by bucket."""
    place, edges, shift = transposing.place, transposing.edges, transposing.shift
    e, end = share_of(np.uint64(len(neighbour)), thread, np.uint64(transposing.counts.shape[0]))
    v = vertex_of(first, e)
    while e < end:
        last = min(np.uint64(first[v + ONE]), end)
        while e < last:
            other = np.uint64(neighbour[e])
            b = other >> shift
            position = place[thread, b]
            place[thread, b] = position + ONE
            edges[position] = other << HALF | v
            e += ONE
        v += ONE


@kernel
def sort_bucket(transposing: Transposing, bucket: Any, other_first: Any, other_neighbour: Any) -> None:
    """Sort the edges of a bucket by the other vertex, and set ``other_first`` for its vertices."""
    edges, shift = transposing.edges, transposing.shift
    begin, end = transposing.bucket_first[bucket], transposing.bucket_first[bucket + ONE]
    low = bucket << shift
    high = min((bucket + ONE) << shift, np.uint64(len(other_first)) - ONE)
    v = low
    while v < high:
        other_first[v] = 0
        v += ONE
    k = begin
    while k < end:
        other_first[edges[k] >> HALF] += 1
        k += ONE
    position = begin
    v = low
    while v < high:
        count = np.uint64(other_first[v])
        other_first[v] = position
        position += count
        v += ONE
    k = begin
    while k < end:
        other = edges[k] >> HALF
        other_neighbour[other_first[other]] = edges[k] & LOWER
        other_first[other] += 1
        k += ONE
    v = high
    while v > low + ONE:
        v -= ONE
        other_first[v] = other_first[v - ONE]
    if high > low:
        other_first[low] = begin


@kernel
def transpose_together(
    barrier: Any,
    transposing: Transposing,
    thread: Any,
    first: Any,
    neighbour: Any,
    other_first: Any,
    other_neighbour: Any,
) -> bool:
    """Write the transposed of an adjacency structure; False if the barrier is broken.

    All threads of the team call it at the same time, with scratch made for them that was not used yet; it
    ends with a barrier.

    Notes
    -----
    O((n + m) / threads + buckets * threads) time where no vertex has most edges; three barriers.
    """
    num_threads, buckets = np.uint64(transposing.counts.shape[0]), np.uint64(transposing.counts.shape[1])
    num_edges = np.uint64(len(neighbour))
    shift = transposing.shift
    e, end = share_of(num_edges, thread, num_threads)
    k = e
    while k < end:  # new pages: where threads come to one at a time, each of them makes it
        transposing.edges[k] = ZERO
        k += PAGE
    while e < end:
        transposing.counts[thread, np.uint64(neighbour[e]) >> shift] += ONE
        e += ONE
    if not wait(barrier, num_threads):
        return False
    find_places(transposing, thread)
    move_edges(transposing, thread, first, neighbour)
    if not wait(barrier, num_threads):
        return False
    begin, end = share_of(num_edges, thread, num_threads)
    if thread == num_threads - ONE:
        end = num_edges + ONE
        other_first[len(other_first) - 1] = num_edges
    b = ZERO
    while b < buckets:
        if begin <= transposing.bucket_first[b] < end:
            sort_bucket(transposing, b, other_first, other_neighbour)
        b += ONE
    return wait(barrier, num_threads)
