"""Transpose an adjacency structure by several threads together: counting sort in two steps, as in sort.py.

First by bucket, a range of vertices of the other side: each thread counts and moves its share of the edges.
Then each bucket by vertex, within one thread, whose counters fit its cache. The two vertices of an edge
travel as one word, so that a thread writes to one place for each bucket and not to two. The word has 32
bits if the position within the bucket and the vertex within the share fit. Both steps are stable:
neighbours come out sorted, whatever the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .barrier import wait
from .sort import find_places, shift_to_buckets
from .thread_pool import share_of

#: Vertices in a bucket, about: their counters fit a first-level cache, their edges a second-level one.
BUCKET_VERTICES = 1 << 11
#: Least number of buckets for each thread, if there are as many vertices, so that shares differ little.
BUCKETS_EACH = 8
#: Greatest number of buckets: a thread writes to all of them in turn.
MAX_BUCKETS = 512
#: Bytes of a page of memory.
PAGE = np.uint64(4096)


class Transposing(NamedTuple):
    """The scratch of all threads."""

    #: shape (threads, buckets): how many edges of each bucket a thread has in its share, and where it puts
    #: the next one
    counts: NDArray[np.uint64]
    place: NDArray[np.uint64]
    bucket_first: NDArray[np.uint64]  #: shape (buckets + 1,): where the edges of each bucket begin
    #: shape (threads,): the vertex with which each thread's share begins
    begins: NDArray[np.uint64]
    #: shape (m,): the edges sorted by bucket. The low `shift` bits are the other vertex within the bucket,
    #: the bits above them the vertex within the share.
    edges: Indices
    shift: np.uint64  #: the bucket of a vertex is ``vertex >> shift``


def make_transposing(num_threads: int, first: Array, num_others: int) -> Transposing:
    """Return the scratch for the edges that `first` counts, to `num_others` vertices of the other side."""
    num_vertices, num_edges = len(first) - 1, int(first[-1])
    wanted = min(MAX_BUCKETS, max(num_others // BUCKET_VERTICES, BUCKETS_EACH * num_threads))
    shift, buckets = shift_to_buckets(num_others, wanted)
    bounds = np.array([num_edges * thread // num_threads for thread in range(num_threads)], dtype=first.dtype)
    begins = np.searchsorted(first[1:], bounds, side="right").astype(np.uint64)
    longest = int(np.diff(begins, append=np.uint64(num_vertices)).max())
    dtype = np.uint32 if longest >> (32 - shift) == 0 else np.uint64
    return Transposing(
        counts=np.zeros((num_threads, buckets), dtype=np.uint64),
        place=np.empty((num_threads, buckets), dtype=np.uint64),
        bucket_first=np.empty(buckets + 1, dtype=np.uint64),
        begins=begins,
        edges=np.empty(num_edges, dtype=dtype),
        shift=np.uint64(shift),
    )


@kernel
def move_edges(transposing: Transposing, thread: np.uint64, first: Indices, neighbour: Indices) -> None:
    """Sort the thread's share of the edges by bucket."""
    place, edges, shift = transposing.place, transposing.edges, transposing.shift
    within = (ONE << shift) - ONE
    e, end = share_of(np.uint64(len(neighbour)), thread, np.uint64(transposing.counts.shape[0]))
    v = transposing.begins[thread]
    vertex_bits = ZERO
    while e < end:
        last = min(np.uint64(first[v + ONE]), end)
        while e < last:
            other = np.uint64(neighbour[e])
            b = other >> shift
            position = place[thread, b]
            place[thread, b] = position + ONE
            edges[position] = vertex_bits | other & within
            e += ONE
        v += ONE
        vertex_bits += ONE << shift


@kernel
def sort_bucket(
    transposing: Transposing, bucket: np.uint64, other_first: Indices, other_neighbour: Indices
) -> None:
    """Sort the edges of a bucket by the other vertex, and set ``other_first`` for its vertices."""
    edges, shift = transposing.edges, transposing.shift
    within = (ONE << shift) - ONE
    begin, end = transposing.bucket_first[bucket], transposing.bucket_first[bucket + ONE]
    low = bucket << shift
    high = min((bucket + ONE) << shift, np.uint64(len(other_first)) - ONE)
    v = low
    while v < high:
        other_first[v] = 0
        v += ONE
    k = begin
    while k < end:
        other = low + (np.uint64(edges[k]) & within)
        other_first[other] = np.uint64(other_first[other]) + ONE
        k += ONE
    position = begin
    v = low
    while v < high:
        count = np.uint64(other_first[v])
        other_first[v] = position
        position += count
        v += ONE
    k = begin
    thread = ZERO
    while k < end:
        first_vertex = transposing.begins[thread]
        end_of_share = transposing.place[thread, bucket]
        while k < end_of_share:
            edge = np.uint64(edges[k])
            other = low + (edge & within)
            position = np.uint64(other_first[other])
            other_first[other] = position + ONE
            other_neighbour[position] = first_vertex + (edge >> shift)
            k += ONE
        thread += ONE
    v = high
    while v > low + ONE:
        v -= ONE
        other_first[v] = other_first[v - ONE]
    if high > low:
        other_first[low] = begin


@kernel
def transpose_together(
    barrier: NDArray[np.int64],
    transposing: Transposing,
    thread: np.uint64,
    first: Indices,
    neighbour: Indices,
    other_first: Indices,
    other_neighbour: Indices,
) -> bool:
    """Write the transpose of an adjacency structure; return False if the barrier is broken.

    All threads call it at the same time, with new scratch made for them; it ends with a barrier.

    O((n + m) / threads + buckets * threads) time if no vertex has most of the edges; three barriers.
    """
    num_threads, buckets = np.uint64(transposing.counts.shape[0]), np.uint64(transposing.counts.shape[1])
    num_edges = np.uint64(len(neighbour))
    shift = transposing.shift
    e, end = share_of(num_edges, thread, num_threads)
    k = e
    while k < end:  # touch new pages now: in the next step several threads would map the same page
        transposing.edges[k] = 0
        k += PAGE // np.uint64(transposing.edges.itemsize)
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
