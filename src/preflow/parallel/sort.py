"""Stable counting sort of items by small integer keys, such as arcs by vertex, by several threads together.

A histogram of all keys for each thread would take threads times keys additions, and atomic counts would
leave the order of equal keys to chance. So the items are sorted in two steps, both stable:

1. By bucket. A bucket is a range of keys; there are few buckets, and each thread counts and moves its share
  of items.
2. Each bucket by key, within one thread. The counters are the part of `first` for the keys of the bucket
   and fit the thread's cache.

The result is the one stable order, whatever the number of threads, and no atomics are needed but those of
the barriers. If there are few keys beside the items, each key is a bucket and the first step is all. A
bucket is not split: if nearly all items have one key, the second step runs on one thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Indices, Number
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from .barrier import wait
from .thread_pool import share_of

#: Number of keys in a bucket, about: their counters fit a second-level cache.
BUCKET_KEYS = 1 << 14
#: Least number of buckets for each thread, if there are as many keys, so that shares differ little.
BUCKETS_EACH = 8
#: Greatest number of buckets: a thread writes to all of them in turn.
MAX_BUCKETS = 512
#: Up to this many keys, if there are also fewer than items a thread, each key is a bucket.
FEW_KEYS = 1 << 14


class Sorting(NamedTuple):
    """The scratch of a sort."""

    #: shape (threads, buckets): how many items of each bucket a thread has in its share, and where it puts
    #: the next one
    counts: NDArray[np.uint64]
    place: NDArray[np.uint64]
    bucket_first: NDArray[np.uint64]  #: shape (buckets + 1,): where the items of each bucket begin
    #: shape (m,); empty if keys are buckets: the items sorted by bucket, and their keys
    items: Indices
    keys: Indices
    shift: NDArray[np.uint64]  #: shape (1,): the bucket of a key is ``key >> shift``


def shift_to_buckets(num_keys: int, wanted: int) -> tuple[int, int]:
    """Return the least shift by which keys fall into at most `wanted` buckets, and the number of buckets."""
    last_key = max(0, num_keys - 1)
    shift = 0
    while last_key >> shift >= wanted:
        shift += 1
    return shift, (last_key >> shift) + 1


def make_sorting(num_threads: int, num_items: int, num_keys: int, dtype: DTypeLike) -> Sorting:
    """Return the scratch for sorting `num_items` items, whose numbers and keys fit `dtype`."""
    if num_keys <= min(FEW_KEYS, num_items // num_threads):
        wanted = max(1, num_keys)
    else:
        wanted = min(MAX_BUCKETS, max(num_keys // BUCKET_KEYS, BUCKETS_EACH * num_threads))
    shift, buckets = shift_to_buckets(num_keys, wanted)
    room = num_items if shift > 0 else 0
    return Sorting(
        np.empty((num_threads, buckets), dtype=np.uint64),
        np.empty((num_threads, buckets), dtype=np.uint64),
        np.empty(buckets + 1, dtype=np.uint64),
        np.empty(room, dtype=dtype),
        np.empty(room, dtype=dtype),
        np.array([shift], dtype=np.uint64),
    )


@kernel
def count_buckets(sorting: Sorting, thread: np.uint64, keys: Indices, num_keys: np.uint64) -> None:
    """Count the items of the thread's share by bucket."""
    num_threads, buckets = np.uint64(sorting.counts.shape[0]), np.uint64(sorting.counts.shape[1])
    shift = sorting.shift[0]
    b = ZERO
    while b < buckets:
        sorting.counts[thread, b] = ZERO
        b += ONE
    i, end = share_of(np.uint64(len(keys)), thread, num_threads)
    while i < end:
        key = np.uint64(keys[i])
        if key < num_keys:
            sorting.counts[thread, key >> shift] += ONE
        i += ONE


@kernel
def find_places(sorting: Any, thread: np.uint64) -> None:
    """Find where the thread's items of each bucket go: behind those of the threads before it.

    `sorting` has ``counts``, ``place`` and ``bucket_first``; transpose.py uses another class with them.
    """
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
def put(order: Indices, inverse: bool, position: Number, item: Number) -> None:
    """Record that an item comes at a position."""
    if inverse:
        order[item] = position
    else:
        order[position] = item


@kernel
def move_to_buckets(
    sorting: Sorting, thread: np.uint64, keys: Indices, num_keys: np.uint64, order: Indices, inverse: bool
) -> None:
    """Sort the items of the thread's share by bucket; write them to `order` if buckets are keys."""
    shift = sorting.shift[0]
    i, end = share_of(np.uint64(len(keys)), thread, np.uint64(sorting.counts.shape[0]))
    while i < end:
        key = np.uint64(keys[i])
        if key < num_keys:
            b = key >> shift
            position = sorting.place[thread, b]
            sorting.place[thread, b] = position + ONE
            if shift == ZERO:
                put(order, inverse, position, i)
            else:
                sorting.items[position] = i
                sorting.keys[position] = key
        i += ONE


@kernel
def sort_bucket(sorting: Sorting, bucket: np.uint64, first: Indices, order: Indices, inverse: bool) -> None:
    """Sort the items of a bucket by key, and set ``first`` for its keys."""
    shift = sorting.shift[0]
    begin, end = sorting.bucket_first[bucket], sorting.bucket_first[bucket + ONE]
    low = bucket << shift
    high = min((bucket + ONE) << shift, np.uint64(len(first)) - ONE)
    key = low
    while key < high:
        first[key] = 0
        key += ONE
    k = begin
    while k < end:
        first[sorting.keys[k]] += 1
        k += ONE
    position = begin
    key = low
    while key < high:
        count = np.uint64(first[key])
        first[key] = position
        position += count
        key += ONE
    k = begin
    while k < end:
        key = np.uint64(sorting.keys[k])
        put(order, inverse, first[key], sorting.items[k])
        first[key] += 1
        k += ONE
    key = high
    while key > low + ONE:
        key -= ONE
        first[key] = first[key - ONE]
    if high > low:
        first[low] = begin


@kernel
def sort_by_key_together(
    barrier: NDArray[np.int64],
    sorting: Sorting,
    thread: np.uint64,
    keys: Indices,
    first: Indices,
    order: Indices,
    inverse: bool,
) -> Number:
    """Sort the numbers ``0 .. m - 1`` of items by their `keys`; equal keys keep their order.

    All threads call it at the same time; it ends with a barrier. `sorting` is made for this number of
    threads, items and keys. Items whose key is not below the number of keys are left out; return how many are
    not. `first`, shape (number of keys + 1,), is set to where the items of a key begin in `order`, and
    `order` to the items, sorted; entries past the last are not written. If `inverse`, `order` is set to the
    position of every item instead; entries of items left out are not written.

    O((n + m) / threads + buckets * threads) time if no key is far more frequent than others; three barriers.
    """
    num_threads, buckets = np.uint64(sorting.counts.shape[0]), np.uint64(sorting.counts.shape[1])
    num_keys = np.uint64(len(first)) - ONE
    count_buckets(sorting, thread, keys, num_keys)
    if not wait(barrier, num_threads):  # mutant: no-barrier-before-the-counts-are-read
        return ZERO
    find_places(sorting, thread)
    move_to_buckets(sorting, thread, keys, num_keys, order, inverse)
    if not wait(barrier, num_threads):  # mutant: no-barrier-before-the-buckets-are-sorted
        return ZERO
    total = sorting.bucket_first[buckets]
    begin, end = share_of(total, thread, num_threads)
    if thread == num_threads - ONE:
        end = total + ONE
        first[num_keys] = total
    b = ZERO
    while b < buckets:
        if begin <= sorting.bucket_first[b] < end:  # mutant: two-threads-sort-one-bucket
            if sorting.shift[0] == ZERO:
                first[b] = sorting.bucket_first[b]
            else:
                sort_bucket(sorting, b, first, order, inverse)
        b += ONE
    wait(barrier, num_threads)  # mutant: no-barrier-at-the-end
    return total
