"""Build the compressed sparse rows of an undirected graph by several threads.

A counting sort in two steps, as in :mod:`preflow.parallel.sort`, whose buckets are ranges of vertices. First,
each thread counts and moves its share of the edges, from both ends, to buckets. Then one thread at a time
takes a bucket and sorts it by vertex; it sorts each row and leaves out parallel edges. At last the rows of
all buckets move together, unless no edge was left out.

Rows come out sorted, whatever the number of threads. Those of :func:`.undirected.neighbours_of` on one thread
have the same neighbours in another order.

Weights follow: each thread finds the places of its share of the edges in the sorted rows, from both ends, and
raises the weights there; of parallel edges the heaviest counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Indices
from ..kernels.atomics import compare_exchange, fetch_add, relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.barrier import break_barrier, make_barrier, wait
from ..parallel.sort import Sorting, find_places, make_sorting, sort_bucket, touch
from ..parallel.thread_pool import run_on_threads, share_of

#: A row of up to this many neighbours is sorted by insertion, a longer one by its digits.
SHORT_ROW = np.uint64(32)
#: Bits of a digit, and the number of digits.
DIGIT, DIGITS = np.uint64(8), 256


class Building(NamedTuple):
    """The state that the threads share."""

    #: uint32, shape (m,)
    tail: Indices
    head: Indices
    #: the scratch of a sort of the ends of edges: its words are (2 m,) ends with their vertex as key and its
    #: neighbour as value, later scratch
    sorting: Sorting
    #: uint32, shape (2 m,): the neighbours of each vertex, with gaps between buckets and without them.
    #: `packed` may be the words.
    neighbour: Indices
    packed: Indices
    #: shape (n + 1,): where the neighbours of each vertex begin in `packed`; before that, within its bucket
    first: Indices
    #: shape (buckets,): the number of neighbours of each bucket without parallel edges
    kept: NDArray[np.uint64]
    digits: NDArray[np.uint64]  #: shape (threads, DIGITS): counters for the sort of a row
    #: shape (2,): the number of buckets that threads have taken, to sort and to pack
    taken: NDArray[np.int64]
    barrier: NDArray[np.int64]


def make_building(num_threads: int, num_vertices: int, tail: Indices, head: Indices) -> Building:
    """Return the state before the first step."""
    ends = 2 * len(tail)
    base = np.zeros(num_threads, dtype=np.uint64)
    sorting = make_sorting(num_threads, ends, num_vertices, base=base, num_values=num_vertices)
    dtype: DTypeLike = np.uint32 if ends < 2**32 else np.uint64
    return Building(
        tail=tail,
        head=head,
        sorting=sorting,
        neighbour=np.empty(ends, dtype=np.uint32),
        packed=sorting.words if sorting.words.dtype == np.uint32 else np.empty(ends, dtype=np.uint32),
        first=np.empty(num_vertices + 1, dtype=dtype),
        kept=np.zeros(len(sorting.bucket_first) - 1, dtype=np.uint64),
        digits=np.empty((num_threads, DIGITS), dtype=np.uint64),
        taken=np.zeros(2, dtype=np.int64),
        barrier=make_barrier(num_threads),
    )


@kernel
def count_ends_by_bucket(building: Building, thread: np.uint64) -> None:
    """Count the ends of the edges in the thread's share by bucket; leave out loops."""
    tail, head = building.tail, building.head
    counts, shift = building.sorting.counts, building.sorting.shift
    for b in range(counts.shape[1]):
        counts[thread, b] = ZERO
    i, end = share_of(np.uint64(len(tail)), thread, np.uint64(counts.shape[0]))
    while i < end:
        u, v = np.uint64(tail[i]), np.uint64(head[i])
        i += ONE
        if u != v:
            counts[thread, u >> shift] += ONE
            counts[thread, v >> shift] += ONE


@kernel
def move_end(sorting: Sorting, thread: np.uint64, u: np.uint64, v: np.uint64) -> None:
    """Move the end u of an edge to its bucket, with its neighbour v."""
    shift = sorting.shift
    bucket = u >> shift
    place = sorting.place[thread, bucket]
    sorting.place[thread, bucket] = place + ONE
    sorting.words[place] = (v << shift) | (u & ((ONE << shift) - ONE))


@kernel
def move_ends(building: Building, thread: np.uint64) -> None:
    """Move both ends of the edges in the thread's share to their buckets."""
    tail, head, sorting = building.tail, building.head, building.sorting
    i, end = share_of(np.uint64(len(tail)), thread, np.uint64(sorting.counts.shape[0]))
    while i < end:
        u, v = np.uint64(tail[i]), np.uint64(head[i])
        i += ONE
        if u != v:
            move_end(sorting, thread, u, v)
            move_end(sorting, thread, v, u)


@kernel
def sort_short_row(row: Indices, begin: np.uint64, end: np.uint64) -> None:
    """Sort ``row[begin .. end - 1]`` by insertion."""
    k = begin
    while k < end:
        value = row[k]
        place = k
        while place > begin and row[place - ONE] > value:
            row[place] = row[place - ONE]
            place -= ONE
        row[place] = value
        k += ONE


@kernel
def sort_long_row(building: Building, thread: np.uint64, begin: np.uint64, end: np.uint64) -> None:
    """Sort ``neighbour[begin .. end - 1]`` by digits, the lowest one first; `words` is scratch."""
    neighbour, words, digits = building.neighbour, building.sorting.words, building.digits
    last_vertex = np.uint64(len(building.first)) - ONE
    shift = ZERO
    while last_vertex >> shift > ZERO:
        for digit in range(DIGITS):
            digits[thread, digit] = ZERO
        k = begin
        while k < end:
            value = np.uint64(neighbour[k])
            words[k] = value
            digits[thread, (value >> shift) & np.uint64(DIGITS - 1)] += ONE
            k += ONE
        place = begin
        for digit in range(DIGITS):
            count = digits[thread, digit]
            digits[thread, digit] = place
            place += count
        k = begin
        while k < end:
            value = np.uint64(words[k])
            place = digits[thread, (value >> shift) & np.uint64(DIGITS - 1)]
            digits[thread, (value >> shift) & np.uint64(DIGITS - 1)] = place + ONE
            neighbour[place] = value
            k += ONE
        shift += DIGIT


@kernel
def build_bucket(building: Building, thread: np.uint64, bucket: np.uint64) -> None:
    """Sort the ends of a bucket by vertex and neighbour, and leave out parallel edges."""
    first, neighbour, sorting = building.first, building.neighbour, building.sorting
    begin, end = sorting.bucket_first[bucket], sorting.bucket_first[bucket + ONE]
    low = bucket << sorting.shift
    high = min((bucket + ONE) << sorting.shift, np.uint64(len(first)) - ONE)
    sort_bucket(sorting, bucket, first, neighbour, False)
    kept, row = begin, begin
    v = low
    while v < high:
        row_end = np.uint64(first[v + ONE]) if v + ONE < high else end
        first[v] = kept - begin
        if row_end - row <= SHORT_ROW:
            sort_short_row(neighbour, row, row_end)
        else:
            sort_long_row(building, thread, row, row_end)
        before = row
        while row < row_end:
            if row == before or neighbour[row] != neighbour[kept - ONE]:
                neighbour[kept] = neighbour[row]
                kept += ONE
            row += ONE
        v += ONE
    building.kept[bucket] = kept - begin


@kernel
def pack_bucket(building: Building, bucket: np.uint64, offset: np.uint64, copies: bool) -> None:
    """Let `first` of a bucket's vertices begin at `offset`, and copy their neighbours there."""
    first, bucket_first, shift = building.first, building.sorting.bucket_first, building.sorting.shift
    v = bucket << shift
    high = min((bucket + ONE) << shift, np.uint64(len(first)) - ONE)
    while v < high:
        first[v] = np.uint64(first[v]) + offset
        v += ONE
    if copies:
        begin, k = bucket_first[bucket], ZERO
        while k < building.kept[bucket]:
            building.packed[offset + k] = building.neighbour[begin + k]
            k += ONE


@kernel
def build_share(building: Building, thread: np.uint64) -> None:
    """Build the rows, one thread's share."""
    barrier, sorting = building.barrier, building.sorting
    num_threads, buckets = np.uint64(sorting.counts.shape[0]), np.uint64(sorting.counts.shape[1])
    touch(sorting.words, thread, num_threads)
    touch(building.neighbour, thread, num_threads)
    count_ends_by_bucket(building, thread)
    if not wait(barrier, num_threads):
        return
    find_places(sorting, thread)
    move_ends(building, thread)
    if not wait(barrier, num_threads):
        return
    bucket = np.uint64(fetch_add(building.taken, 0, 1))
    while bucket < buckets:
        build_bucket(building, thread, bucket)
        bucket = np.uint64(fetch_add(building.taken, 0, 1))
    if not wait(barrier, num_threads):
        return
    total = ZERO
    for b in range(buckets):
        total += building.kept[b]
    copies = total < building.sorting.bucket_first[buckets]
    bucket, offset = np.uint64(fetch_add(building.taken, 1, 1)), ZERO
    for b in range(buckets):
        if b == bucket:
            pack_bucket(building, bucket, offset, copies)
            bucket = np.uint64(fetch_add(building.taken, 1, 1))
        offset += building.kept[b]
    if thread == ZERO:
        building.first[len(building.first) - 1] = total


class Weighting(NamedTuple):
    """Rows, and the edges whose weights they are to have."""

    #: shape (m,)
    tail: Indices
    head: Indices
    weight: NDArray[np.int64]
    first: Indices
    neighbour: Indices
    of_neighbour: NDArray[np.int64]
    barrier: NDArray[np.int64]


@kernel
def raise_weight(rows: Weighting, u: np.uint64, v: np.uint64, weight: np.int64) -> None:
    """Raise the weight of the neighbour v of u to that of an edge."""
    low, high = np.uint64(rows.first[u]), np.uint64(rows.first[u + ONE])
    while high - low > ONE:
        middle = (low + high) >> ONE
        if np.uint64(rows.neighbour[middle]) <= v:
            low = middle
        else:
            high = middle
    known = relaxed_load(rows.of_neighbour, low)
    while known < weight and not compare_exchange(rows.of_neighbour, low, known, weight):
        known = relaxed_load(rows.of_neighbour, low)


@kernel
def fill_weights(rows: Weighting, thread: np.uint64, num_threads: np.uint64) -> None:
    """Write the weights of neighbours, one thread's share."""
    k, end = share_of(np.uint64(len(rows.neighbour)), thread, num_threads)
    while k < end:
        rows.of_neighbour[k] = np.iinfo(np.int64).min
        k += ONE
    if not wait(rows.barrier, num_threads):
        return
    k, end = share_of(np.uint64(len(rows.tail)), thread, num_threads)
    while k < end:
        u, v = np.uint64(rows.tail[k]), np.uint64(rows.head[k])
        if u != v:
            raise_weight(rows, u, v, rows.weight[k])
            raise_weight(rows, v, u, rows.weight[k])
        k += ONE


def weights_of_neighbours(
    first: Indices, neighbour: Indices, tail: Indices, head: Indices, weight: NDArray[np.int64], threads: int
) -> NDArray[np.int64]:
    """Return `weight` of :class:`.undirected.Neighbours` for sorted rows, filled by `threads` threads."""
    of_neighbour = np.empty(len(neighbour), dtype=np.int64)
    rows = Weighting(tail, head, weight, first, neighbour, of_neighbour, make_barrier(threads))

    def share(thread: int) -> None:
        fill_weights(rows, np.uint64(thread), np.uint64(threads))

    run_on_threads(share, threads, lambda: break_barrier(rows.barrier))
    return of_neighbour


def build_neighbours(
    num_vertices: int, tail: Indices, head: Indices, threads: int
) -> tuple[Indices, Indices]:
    """Return `first` and `neighbour` of :class:`.undirected.Neighbours`, built by `threads` threads."""
    building = make_building(threads, num_vertices, tail, head)

    def share(thread: int) -> None:
        build_share(building, np.uint64(thread))

    run_on_threads(share, threads, lambda: break_barrier(building.barrier))
    total = int(building.first[-1])
    packed = building.packed if total < building.sorting.bucket_first[-1] else building.neighbour
    return building.first, packed[:total]
