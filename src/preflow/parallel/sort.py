"""Group items by small integer keys, such as arcs by vertex, by several threads together: O(n + m).

A histogram of all keys for each thread would take threads times keys additions, and atomic counts would
leave the order of equal keys to chance. So this is a counting sort in two steps, both stable:

1. By bucket. A bucket is a range of keys; there are few buckets, and each thread counts and moves its share
  of items.
2. Each bucket by key, within one thread. The counters are the part of `first` for the keys of the bucket
   and fit the thread's cache.

The *value* of an item is sorted: its number, or its owner. Key and value travel as one word, so that a thread
writes to one place for each bucket and not to two. The word has 32 bits if the key within the bucket and the
value within the thread's share fit.

The result is the one stable order, whatever the number of threads, and no atomics are needed but those of
the barriers. If there are few keys beside the items, each key is a bucket and the first step is all. A
bucket is not split: if nearly all items have one key, the second step runs on one thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Array, Indices, Number
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .barrier import wait
from .thread_pool import share_of

#: Number of keys in a bucket, about: their counters fit a second-level cache, or a first-level cache.
BUCKET_KEYS, SMALL_BUCKET_KEYS = 1 << 14, 1 << 11
#: Least number of buckets for each thread, if there are as many keys, so that shares differ little.
BUCKETS_EACH = 8
#: Greatest number of buckets: a thread writes to all of them in turn.
MAX_BUCKETS = 512
#: Up to this many keys, if there are also fewer than items a thread, each key is a bucket.
FEW_KEYS = 1 << 14
#: Bytes of a page of memory.
PAGE = np.uint64(4096)


class Sorting(NamedTuple):
    """The scratch of a sort."""

    #: shape (threads, buckets): how many items of each bucket a thread has in its share, and where it puts
    #: the next one
    counts: NDArray[np.uint64]
    place: NDArray[np.uint64]
    bucket_first: NDArray[np.uint64]  #: shape (buckets + 1,): where the items of each bucket begin
    base: NDArray[np.uint64]  #: shape (threads,): the least value of each thread's share
    #: shape (m,); empty if keys are buckets: the items sorted by bucket. The low `shift` bits are the key
    #: within the bucket, the bits above them the value less that of `base`.
    words: Indices
    shift: np.uint64  #: the bucket of a key is ``key >> shift``


def shift_to_buckets(num_keys: int, wanted: int) -> tuple[int, int]:
    """Return the least shift by which keys fall into at most `wanted` buckets, and the number of buckets."""
    last_key = max(0, num_keys - 1)
    shift = 0
    while last_key >> shift >= wanted:
        shift += 1
    return shift, (last_key >> shift) + 1


def make_sorting(
    num_threads: int,
    num_items: int,
    num_keys: int,
    *,
    base: NDArray[np.uint64] | None = None,
    num_values: int = 0,
) -> Sorting:
    """Return the scratch for sorting items by their number, or values below `num_values` with this `base`."""
    wanted = num_keys // (BUCKET_KEYS if base is None else SMALL_BUCKET_KEYS)
    wanted = min(MAX_BUCKETS, max(wanted, BUCKETS_EACH * num_threads))
    by_number = base is None
    if base is None:
        base, num_values = share_bounds(num_items, num_threads, np.uint64), num_items
        if num_keys <= min(FEW_KEYS, num_items // num_threads):
            wanted = max(1, num_keys)
    shift, buckets = shift_to_buckets(num_keys, wanted)
    longest = int(np.diff(base, append=np.uint64(num_values)).max())
    return Sorting(
        counts=np.empty((num_threads, buckets), dtype=np.uint64),
        place=np.empty((num_threads, buckets), dtype=np.uint64),
        bucket_first=np.empty(buckets + 1, dtype=np.uint64),
        base=base,
        words=np.empty(
            0 if by_number and shift == 0 else num_items,
            dtype=np.uint32 if longest >> (32 - shift) == 0 else np.uint64,
        ),
        shift=np.uint64(shift),
    )


def share_bounds(size: int, num_threads: int, dtype: DTypeLike) -> Array:
    """Return where each thread's share of ``0 .. size - 1`` begins: see :func:`.thread_pool.share_of`."""
    return np.array([size * thread // num_threads for thread in range(num_threads)], dtype=dtype)


def make_transposing(num_threads: int, first: Array, num_others: int) -> Sorting:
    """Return the scratch for sorting the edges that `first` counts by their other end, of `num_others`."""
    num_edges = int(first[-1])
    bounds = share_bounds(num_edges, num_threads, first.dtype)
    begins = np.searchsorted(first[1:], bounds, side="right").astype(np.uint64)
    return make_sorting(num_threads, num_edges, num_others, base=begins, num_values=len(first) - 1)


@kernel
def touch(array: Indices, thread: np.uint64, num_threads: np.uint64) -> None:
    """Map the new pages of the thread's share, which otherwise several threads would map at once."""
    k, end = share_of(np.uint64(len(array)), thread, num_threads)
    while k < end:
        array[k] = 0
        k += PAGE // np.uint64(array.itemsize)


@kernel
def count_buckets(sorting: Sorting, thread: np.uint64, keys: Indices, num_keys: np.uint64) -> None:
    """Count the items of the thread's share by bucket."""
    counts, shift = sorting.counts, sorting.shift
    num_threads, buckets = np.uint64(counts.shape[0]), np.uint64(counts.shape[1])
    touch(sorting.words, thread, num_threads)
    b = ZERO
    while b < buckets:
        counts[thread, b] = ZERO
        b += ONE
    i, end = share_of(np.uint64(len(keys)), thread, num_threads)
    while i < end:
        key = np.uint64(keys[i])
        if key < num_keys:
            counts[thread, key >> shift] += ONE
        i += ONE


@kernel
def find_places(sorting: Sorting, thread: np.uint64) -> None:
    """Find where the thread's items of each bucket go: behind those of the threads before it."""
    num_threads, buckets = np.uint64(sorting.counts.shape[0]), np.uint64(sorting.counts.shape[1])
    position = ZERO
    b = ZERO
    while b < buckets:
        if thread == ZERO:
            sorting.bucket_first[b] = position
        other = ZERO
        while other < num_threads:
            if other == thread:  # mutant: all-threads-put-their-items-in-the-same-places
                sorting.place[thread, b] = position
            position += sorting.counts[other, b]
            other += ONE
        b += ONE
    if thread == ZERO:
        sorting.bucket_first[buckets] = position


@kernel
def put(order: Indices, inverse: bool, position: Number, value: Number) -> None:
    """Record that a value comes at a position."""
    if inverse:
        order[value] = position
    else:
        order[position] = value


@kernel
def move_to_buckets(
    sorting: Sorting,
    thread: np.uint64,
    keys: Indices,
    num_keys: np.uint64,
    owner_first: Indices,
    order: Indices,
    inverse: bool,
) -> None:
    """Sort the items of the thread's share by bucket; write their values to `order` if buckets are keys."""
    place, words, shift, base = sorting.place, sorting.words, sorting.shift, sorting.base[thread]
    within = (ONE << shift) - ONE
    by_owner = len(owner_first) > 0
    i, end = share_of(np.uint64(len(keys)), thread, np.uint64(sorting.counts.shape[0]))
    value = ZERO
    while i < end:
        last = min(np.uint64(owner_first[base + value + ONE]), end) if by_owner else end
        while i < last:
            key = np.uint64(keys[i])
            if key < num_keys:
                b = key >> shift
                position = place[thread, b]
                place[thread, b] = position + ONE
                if shift == ZERO:
                    put(order, inverse, position, base + value)
                else:
                    words[position] = value << shift | key & within
            i += ONE
            if not by_owner:
                value += ONE
        if by_owner:
            value += ONE


@kernel
def sort_bucket(sorting: Sorting, bucket: np.uint64, first: Indices, order: Indices, inverse: bool) -> None:
    """Sort the items of a bucket by key, and set ``first`` for its keys."""
    words, shift = sorting.words, sorting.shift
    within = (ONE << shift) - ONE
    begin, end = sorting.bucket_first[bucket], sorting.bucket_first[bucket + ONE]
    low = bucket << shift
    high = min((bucket + ONE) << shift, np.uint64(len(first)) - ONE)
    key = low
    while key < high:
        first[key] = 0
        key += ONE
    k = begin
    while k < end:
        key = low + (np.uint64(words[k]) & within)
        first[key] = np.uint64(first[key]) + ONE
        k += ONE
    position = begin
    key = low
    while key < high:
        count = np.uint64(first[key])
        first[key] = position
        position += count
        key += ONE
    k = begin
    thread = ZERO
    while k < end:
        base, end_of_share = sorting.base[thread], sorting.place[thread, bucket]
        while k < end_of_share:
            word = np.uint64(words[k])
            key = low + (word & within)
            position = np.uint64(first[key])
            first[key] = position + ONE
            put(order, inverse, position, base + (word >> shift))
            k += ONE
        thread += ONE
    key = high
    while key > low + ONE:
        key -= ONE
        first[key] = first[key - ONE]
    if high > low:
        first[low] = begin


@kernel
def sort_by_key_together(
    barrier: NDArray[np.int64],
    thread: np.uint64,
    sorting: Sorting,
    keys: Indices,
    owner_first: Indices,
    first: Indices,
    order: Indices,
    inverse: bool,
) -> bool:
    """Sort the numbers ``0 .. m - 1`` of items by their `keys`; equal keys keep their order.

    All threads call it at the same time; it ends with a barrier. Return False if that is broken. `sorting` is
    made for this number of threads, items and keys. Items whose key is not below the number of keys are left
    out. `first`, shape (number of keys + 1,), is set to where the items of a key begin in `order`, and
    `order` to the items, sorted; entries past the last are not written. If `inverse`, `order` is set to the
    position of every item instead; entries of items left out are not written.

    If `owner_first` is not empty, the owners of items are sorted in place of their numbers: those of owner
    ``v`` are ``owner_first[v] .. owner_first[v + 1] - 1``. So vertices with their neighbours become
    neighbours with their vertices: the transposed graph.

    O((n + m) / threads + buckets * threads) time if no key is far more frequent than others; three barriers.
    """
    num_threads, buckets = np.uint64(sorting.counts.shape[0]), np.uint64(sorting.counts.shape[1])
    num_keys = np.uint64(len(first)) - ONE
    count_buckets(sorting, thread, keys, num_keys)
    if not wait(barrier, num_threads):  # mutant: no-barrier-before-the-counts-are-read
        return False
    find_places(sorting, thread)
    move_to_buckets(sorting, thread, keys, num_keys, owner_first, order, inverse)
    if not wait(barrier, num_threads):  # mutant: no-barrier-before-the-buckets-are-sorted
        return False
    total = sorting.bucket_first[buckets]
    begin, end = share_of(total, thread, num_threads)
    if thread == num_threads - ONE:
        end = total + ONE
        first[num_keys] = total
    b = ZERO
    while b < buckets:
        if begin <= sorting.bucket_first[b] < end:  # mutant: two-threads-sort-one-bucket
            if sorting.shift == ZERO:
                first[b] = sorting.bucket_first[b]
            else:
                sort_bucket(sorting, b, first, order, inverse)
        b += ONE
    return wait(barrier, num_threads)  # mutant: no-barrier-at-the-end
