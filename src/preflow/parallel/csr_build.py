"""Build the residual network's arrays by several threads: the same arrays as kernels/csr_build.py builds.

1. Sort the input arcs stably by the smaller end of their pair. The arcs with one smaller end are a group.
2. Each thread merges the arcs of a range of groups into pairs. The pairs of a group, in order of first
   appearance, are the last residual arcs of its vertex.
3. The first residual arcs of a vertex are the pairs of which it is the larger end, by smaller end. A second
   stable sort, of pairs by larger end, gives the place of each.

No two threads write the same entry, so the result does not depend on their number. Beyond the input,
sorting takes two indices an arc, or four if there are many vertices; later steps take less. On one thread
these steps take 1.2 to 1.8 times as long as those of kernels/csr_build.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Indices, Int64
from ..kernels.atomics import PADDING, prefetch
from ..kernels.constants import ONE, ZERO
from ..kernels.csr_build import InputArcs, Pairs
from ..kernels.kernel import kernel
from .barrier import break_barrier, make_barrier, wait
from .pieces import run_pieces
from .sort import Sorting, make_sorting, sort_by_key_together
from .thread_pool import map_threads, share_of

#: In a group of up to this many arcs a pair is found by looking through the group, in a larger one by
#: hashing.
SMALL_GROUP = 12
#: 2**64 divided by the golden ratio: multiplying by it spreads numbers over the upper bits.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
UPPER = np.uint64(32)
#: Distance, in pairs, at which cache lines are prefetched.
AHEAD = np.uint64(16)
FORWARD, BACKWARD, BOTH = np.uint8(1), np.uint8(2), np.uint8(3)


class Builders(NamedTuple):
    """The state that the threads share: a barrier, and how many pairs each thread has found."""

    barrier: NDArray[np.int64]
    pairs: NDArray[np.uint64]  #: shape (threads * PADDING,)


class Tables(NamedTuple):
    """A hash table for each thread."""

    #: the table of thread ``t`` is ``entries[first[t] .. first[t + 1] - 1]``; its size is a power of two
    entries: Indices
    first: NDArray[np.uint64]  #: shape (threads + 1,)


class Merging(NamedTuple):
    """The pairs as the groups are merged."""

    #: one entry an arc between inner vertices: set from ``first[v]`` on: larger ends of the pairs of group
    #: ``v``, in order of first appearance
    larger_end: Indices
    #: shape of `larger_end`: scratch: in which directions of a pair arcs were seen
    directions: NDArray[np.uint8]
    #: one entry an input arc: set for arcs between inner vertices: the place of its pair within the group
    place: Indices
    pair_first: Indices  #: shape (n + 1,): set: where the pairs of a group start in a list of all


class SortedPairs(NamedTuple):
    """All pairs by smaller end, and their order by larger end."""

    larger_end: Indices  #: the larger end of every pair
    first: Indices  #: shape (n + 1,): where the pairs of each smaller end start
    position: Indices  #: the position of every pair in the order by larger end
    back_first: Indices  #: shape (n + 1,): where the pairs of each larger end start in that order


def make_tables(largest_groups: Sequence[int], num_inner: int, dtype: DTypeLike) -> Tables:
    """Return an empty table for each thread, given its largest group; no table for a small group."""
    sizes = [
        1 << (2 * min(size, num_inner) - 1).bit_length() if size > SMALL_GROUP else 0
        for size in map(int, largest_groups)
    ]
    first = np.cumsum([0, *sizes], dtype=np.uint64)
    return Tables(np.zeros(sum(sizes), dtype=dtype), first)


@kernel
def size_of(builders: Builders) -> np.uint64:
    """Return the number of threads."""
    return np.uint64(len(builders.pairs)) // PADDING


@kernel
def range_of(first: Indices, thread: np.uint64, num_threads: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the begin and end of a thread's range of groups, which has about its share of the items.

    The items of group ``v`` are ``first[v] .. first[v + 1] - 1``.
    """
    num_groups = np.uint64(len(first)) - ONE
    begin_item, end_item = share_of(np.uint64(first[num_groups]), thread, num_threads)
    begin = first_from(first, begin_item) if thread > ZERO else ZERO
    # mutant: two-threads-merge-the-last-group
    end = first_from(first, end_item) if thread + ONE < num_threads else num_groups
    return begin, end


@kernel
def first_from(first: Indices, item: np.uint64) -> np.uint64:
    """Return the first group that begins at `item` or later."""
    low, high = ZERO, np.uint64(len(first)) - ONE
    while low < high:
        middle = (low + high) // np.uint64(2)
        if np.uint64(first[middle]) < item:
            low = middle + ONE
        else:
            high = middle
    return low


@kernel
def sort_arcs_together(
    builders: Builders,
    thread: np.uint64,
    sorting: Sorting,
    arcs: InputArcs,
    keys: Indices,
    first: Indices,
    order: Indices,
) -> np.uint64:
    """Sort the arcs between inner vertices into groups, by the smaller end of their pair.

    Sets ``first``, where the group of each vertex starts, and ``order``; `keys` is scratch. Returns the
    number of arcs in the largest group of the thread's range.
    """
    num_threads = size_of(builders)
    n = np.uint64(len(first)) - ONE
    i, end = share_of(np.uint64(len(keys)), thread, num_threads)
    while i < end:
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        keys[i] = min(u, v) if u < n and v < n and u != v else n
        i += ONE
    sort_by_key_together(builders.barrier, thread, sorting, keys, keys[:0], first, order, False)
    low, last = range_of(first, thread, num_threads)
    largest = ZERO
    while low < last:
        largest = max(largest, np.uint64(first[low + ONE]) - np.uint64(first[low]))
        low += ONE
    return largest


@kernel
def merge_groups_together(
    builders: Builders,
    thread: np.uint64,
    tables: Tables,
    arcs: InputArcs,
    first: Indices,
    order: Indices,
    merging: Merging,
) -> bool:
    """Find the pairs of every group, and for every arc the place of its pair within the group.

    Returns whether no two arcs of the thread's groups add to the same residual arc.
    """
    larger_end, directions = merging.larger_end, merging.directions
    place, pair_first = merging.place, merging.pair_first
    num_threads = size_of(builders)
    has_reverse = len(arcs.reverse_capacity) > 0
    table_begin = tables.first[thread]
    table_size = tables.first[thread + ONE] - table_begin
    distinct, pairs = True, ZERO
    low, last = range_of(first, thread, num_threads)
    while low < last:
        begin, end = np.uint64(first[low]), np.uint64(first[low + ONE])
        is_small = end - begin <= np.uint64(SMALL_GROUP)
        free = begin
        k = begin
        while k < end:
            i = np.uint64(order[k])
            u = np.uint64(arcs.inner[arcs.tail[i]])
            high = max(u, np.uint64(arcs.inner[arcs.head[i]]))
            direction = BOTH if has_reverse else FORWARD if u == low else BACKWARD
            if is_small:
                position = begin
                while position < free and np.uint64(larger_end[position]) != high:
                    position += ONE
            else:
                position = find_or_enter(
                    tables.entries, table_begin, table_size, larger_end, begin, free, high
                )
            if position == free:
                larger_end[free] = high
                directions[free] = direction
                free += ONE
            else:
                if directions[position] & direction != 0:
                    distinct = False
                directions[position] |= direction
            place[i] = position - begin
            k += ONE
        pair_first[low] = free - begin
        pairs += free - begin
        low += ONE
    # Replace the number of pairs of each group by that of all groups before it.
    builders.pairs[thread * PADDING] = pairs
    wait(builders.barrier, num_threads)  # mutant: no-barrier-before-the-sum
    before = ZERO
    for other in range(thread):
        before += builders.pairs[np.uint64(other) * PADDING]
    low, last = range_of(first, thread, num_threads)
    while low < last:
        count = np.uint64(pair_first[low])
        pair_first[low] = before
        before += count
        low += ONE
    if thread + ONE == num_threads:
        pair_first[last] = before
    return distinct


@kernel
def find_or_enter(
    entries: Indices,
    table_begin: np.uint64,
    table_size: np.uint64,
    larger_end: Indices,
    begin: np.uint64,
    free: np.uint64,
    high: np.uint64,
) -> np.uint64:
    """Return the position of a vertex in ``larger_end[begin .. free - 1]``; enter a new vertex at `free`.

    An entry of the table is a position plus one. Entries of earlier groups count as empty.
    """
    mask = table_size - ONE
    slot = ((high * GOLDEN) >> UPPER) & mask
    while True:
        entry = np.uint64(entries[table_begin + slot])
        if entry <= begin:
            entries[table_begin + slot] = free + ONE
            return free
        if np.uint64(larger_end[entry - ONE]) == high:
            return entry - ONE
        slot = (slot + ONE) & mask


@kernel
def gather_pairs(
    builders: Builders,
    thread: np.uint64,
    first: Indices,
    sparse: Indices,
    pair_first: Indices,
    larger_end: Indices,
) -> None:
    """Move the larger ends of all pairs together: those of group ``v`` start at ``first[v]``."""
    low, last = range_of(pair_first, thread, size_of(builders))
    while low < last:
        k = np.uint64(first[low])
        p, end = np.uint64(pair_first[low]), np.uint64(pair_first[low + ONE])
        while p < end:
            larger_end[p] = sparse[k]
            k += ONE
            p += ONE
        low += ONE


@kernel
def place_pairs(
    builders: Builders,
    thread: np.uint64,
    pairs: SortedPairs,
    first_out: Indices,
    head: Indices,
    reverse: Indices,
) -> np.uint64:
    """Give the pairs of a range of groups their residual arcs; return the largest degree in the range."""
    larger_end, pair_first, position, back_first = pairs
    num_threads = size_of(builders)
    low, last = range_of(pair_first, thread, num_threads)
    if thread + ONE == num_threads:
        first_out[last] = len(head)
    num_pairs = np.uint64(len(larger_end))
    largest = ZERO
    while low < last:
        p, end = np.uint64(pair_first[low]), np.uint64(pair_first[low + ONE])
        before = np.uint64(back_first[low + ONE])
        first_out[low] = np.uint64(back_first[low]) + p
        largest = max(largest, before - np.uint64(back_first[low]) + (end - p))
        while p < end:
            if p + AHEAD < num_pairs:
                ahead = np.uint64(position[p + AHEAD]) + np.uint64(pair_first[larger_end[p + AHEAD]])
                prefetch(head, ahead)
                prefetch(reverse, ahead)
            high = np.uint64(larger_end[p])
            forward = before + p
            backward = np.uint64(position[p]) + np.uint64(pair_first[high])
            head[forward] = high
            reverse[forward] = backward
            head[backward] = low
            reverse[backward] = forward
            p += ONE
        low += ONE
    return largest


@kernel
def rank_arcs(arcs: InputArcs, begin: Int64, end: Int64, back_first: Indices, pairs: Pairs) -> None:
    """Give the input arcs ``begin .. end - 1`` their rank among the residual arcs of their tail.

    Before, ``pairs.rank`` has the place of the pair of each arc in its group.
    """
    first_out, reverse, rank = pairs.first_out, pairs.reverse, pairs.rank
    n = np.uint64(len(first_out)) - ONE
    for i in range(np.uint64(begin), np.uint64(end)):
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        if u < n and v < n and u != v:
            low = min(u, v)
            among = np.uint64(back_first[low + ONE]) - np.uint64(back_first[low]) + np.uint64(rank[i])
            if u == low:
                rank[i] = among
            else:
                rank[i] = np.uint64(reverse[np.uint64(first_out[low]) + among]) - np.uint64(first_out[u])


def build_pairs(
    arcs: InputArcs, num_inner: int, threads: int, check_wanted: Callable[[], None]
) -> tuple[Pairs, bool]:
    """Return the residual arcs without capacities, and whether no two input arcs add to one of them.

    Each step frees what later steps do not need before the next one allocates. `check_wanted` is called
    between steps.
    """
    builders = Builders(make_barrier(threads), np.zeros(threads * int(PADDING), dtype=np.uint64))

    def run(step: Callable[..., Any], shared: Any, *arguments: Any) -> list[Any]:
        check_wanted()
        return map_threads(
            lambda thread: step(shared, np.uint64(thread), *arguments),
            threads,
            lambda: break_barrier(builders.barrier),
        )

    dtype = arcs.inner.dtype
    first = np.empty(num_inner + 1, dtype=dtype)
    keys, order = np.empty(len(arcs.tail), dtype=dtype), np.empty(len(arcs.tail), dtype=dtype)
    sorting = make_sorting(threads, len(keys), num_inner)
    largest_groups = run(sort_arcs_together, builders, sorting, arcs, keys, first, order)
    del sorting

    count = int(first[-1])
    larger_end = keys
    tables = make_tables(largest_groups, num_inner, dtype)
    directions = np.empty(count, dtype=np.uint8)
    place = np.empty(len(arcs.tail), dtype=np.min_scalar_type(max(largest_groups)))
    pair_first = np.empty_like(first)
    merging = Merging(larger_end, directions, place, pair_first)
    distinct = run(merge_groups_together, builders, tables, arcs, first, order, merging)
    del tables, directions, merging

    num_pairs = int(pair_first[-1])
    if num_pairs < count:
        larger_end = np.empty(num_pairs, dtype=dtype)
        run(gather_pairs, builders, first, keys, pair_first, larger_end)
    else:
        larger_end = keys[:count]
    del keys
    back_first, position = first, order[:num_pairs]
    sorting = make_sorting(threads, num_pairs, num_inner)
    run(sort_by_key_together, builders.barrier, sorting, larger_end, first[:0], back_first, position, True)
    del sorting

    first_out = np.empty_like(first)
    head = np.empty(2 * num_pairs, dtype=dtype)
    reverse = np.empty_like(head)
    sorted_pairs = SortedPairs(larger_end, pair_first, position, back_first)
    most_arcs = run(place_pairs, builders, sorted_pairs, first_out, head, reverse)
    del larger_end, position, order, pair_first, sorted_pairs
    check_wanted()

    rank = place.astype(np.min_scalar_type(max(most_arcs)), copy=False)
    del place
    pairs = Pairs(first_out, head, reverse, rank)
    run_pieces(lambda begin, end: rank_arcs(arcs, begin, end, back_first, pairs), len(rank), threads)
    return pairs, all(distinct)
