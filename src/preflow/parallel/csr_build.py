"""Build the residual network's arrays by a team of threads: the same arrays as kernels/csr_build.py.

The input arcs are sorted by the smaller end of their pair, stably. A thread merges the groups of a range of
smaller ends: the pairs of a group, in order of first appearance, are the last residual arcs of that vertex.
The first ones are the pairs in which it is the larger end, by smaller end: a second stable sort, of pairs by
larger end, tells where each comes. What a thread writes no other one does, so nothing depends on the number of
threads.

Beyond the input a sort of m arcs takes four indices an arc, two where vertices are few; later steps take less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.csr_build import InputArcs
from ..kernels.kernel import kernel
from .barrier import wait
from .bfs import share_of
from .scan import exclusive_scan_together
from .sort import Sorting, sort_by_key_together

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Arcs, at most, of a group whose pairs are looked through; those of larger ones are found by hashing.
SMALL_GROUP = 12
#: Two to the 64th over the golden ratio.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@kernel
def range_of(first: Any, thread: Any, num_threads: Any) -> tuple[Any, Any]:
    """Return the begin and end of a thread's range of groups: about its share of the items.

    ``first[v] .. first[v + 1] - 1`` are the items of group ``v``.
    """
    num_groups = np.uint64(len(first)) - ONE
    begin_item, end_item = share_of(np.uint64(first[num_groups]), thread, num_threads)
    begin = first_from(first, num_groups, begin_item) if thread > ZERO else ZERO
    end = first_from(first, num_groups, end_item) if thread + ONE < num_threads else num_groups
    return begin, end


@kernel
def first_from(first: Any, num_groups: Any, item: Any) -> Any:
    """Return the first group that begins at `item` or later."""
    low, high = ZERO, num_groups
    while low < high:
        middle = (low + high) // np.uint64(2)
        if np.uint64(first[middle]) < item:
            low = middle + ONE
        else:
            high = middle
    return low


@kernel
def sort_by_smaller_end_together(
    barrier: Any,
    sorting: Sorting,
    thread: Any,
    arcs: InputArcs,
    keys: Any,
    first: Any,
    order: Any,
) -> Any:
    """Sort the arcs between inner vertices by the smaller end of their pair.

    Sets ``first``, where the group of each vertex starts, and ``order``; `keys` is scratch. Returns the number
    of arcs in the largest group of the thread's range.
    """
    num_threads = np.uint64(sorting.counts.shape[0])
    n = np.uint64(len(first)) - ONE
    i, end = share_of(np.uint64(len(keys)), thread, num_threads)
    while i < end:
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        keys[i] = min(u, v) if u < n and v < n and u != v else n
        i += ONE
    sort_by_key_together(barrier, sorting, thread, keys, first, order, False)
    low, last = range_of(first, thread, num_threads)
    largest = ZERO
    while low < last:
        largest = max(largest, np.uint64(first[low + ONE]) - np.uint64(first[low]))
        low += ONE
    return largest


@kernel
def merge_groups_together(
    barrier: Any,
    sums: Any,
    num_threads: Any,
    thread: Any,
    arcs: InputArcs,
    first: Any,
    order: Any,
    larger_end: Any,
    directions: Any,
    table: Any,
    place: Any,
    pair_first: Any,
) -> bool:
    """Find the pairs of every group, and for every arc the place of its pair within the group.

    Parameters
    ----------
    larger_end : ndarray, one entry an arc
        Set from ``first[v]`` on: larger ends of the pairs in the group of ``v``, in order of first appearance.
    directions : ndarray of uint8, one entry an arc
        Scratch: in which directions of a pair arcs were seen.
    table : ndarray of the same dtype, all zero, of length a power of two
        The thread's own, at least twice as long as its largest group if that is not small.
    place : ndarray, one entry an input arc
        Set for arcs between inner vertices.
    pair_first : ndarray, shape (n + 1,)
        Set: where the pairs of a group start in a list of all.

    Returns
    -------
    distinct : whether no two arcs of the thread's groups add to the same residual arc
    """
    has_reverse = len(arcs.reverse_capacity) > 0
    mask = np.uint64(len(table)) - ONE
    distinct = True
    low, last = range_of(first, thread, num_threads)
    while low < last:
        begin, end = np.uint64(first[low]), np.uint64(first[low + ONE])
        free = begin
        k = begin
        while k < end:
            i = np.uint64(order[k])
            u = np.uint64(arcs.inner[arcs.tail[i]])
            high = max(u, np.uint64(arcs.inner[arcs.head[i]]))
            direction = np.uint8(3) if has_reverse else np.uint8(1) if u == low else np.uint8(2)
            if end - begin <= np.uint64(SMALL_GROUP):
                position = begin
                while position < free and np.uint64(larger_end[position]) != high:
                    position += ONE
            else:
                position = find_or_enter(table, mask, larger_end, begin, free, high)
            if position == free:
                larger_end[free] = high
                directions[free] = direction
                free += ONE
            else:
                distinct = distinct and directions[position] & direction == 0
                directions[position] |= direction
            place[i] = position - begin
            k += ONE
        pair_first[low] = free - begin
        low += ONE
    if thread + ONE == num_threads:
        pair_first[last] = ZERO
    wait(barrier, num_threads)
    exclusive_scan_together(barrier, sums, thread, pair_first)
    return distinct


@kernel
def find_or_enter(table: Any, mask: Any, larger_end: Any, begin: Any, free: Any, high: Any) -> Any:
    """Return where in ``larger_end[begin .. free - 1]`` a vertex is; enter it in the table for `free` if nowhere.

    An entry of the table is one more than such a position; those of earlier groups count as empty.
    """
    slot = ((high * SPREAD) >> np.uint64(32)) & mask
    while True:
        entry = np.uint64(table[slot])
        if entry <= begin:
            table[slot] = free + ONE
            return free
        if np.uint64(larger_end[entry - ONE]) == high:
            return entry - ONE
        slot = (slot + ONE) & mask


@kernel
def gather_pairs(
    num_threads: Any, thread: Any, first: Any, larger_end: Any, pair_first: Any, pair_high: Any
) -> None:
    """Put the larger ends of all pairs one after the other."""
    low, last = range_of(pair_first, thread, num_threads)
    while low < last:
        k = np.uint64(first[low])
        p, end = np.uint64(pair_first[low]), np.uint64(pair_first[low + ONE])
        while p < end:
            pair_high[p] = larger_end[k]
            k += ONE
            p += ONE
        low += ONE


@kernel
def place_pairs_of_share(
    num_threads: Any,
    thread: Any,
    pair_high: Any,
    position: Any,
    pair_first: Any,
    back_first: Any,
    first_out: Any,
    head: Any,
    reverse: Any,
) -> Any:
    """Give the pairs of a range of smaller ends their residual arcs; return the largest degree in the range.

    ``position[p]`` is where pair `p` comes in the order by larger end, and the pairs of larger end `v` start
    at ``back_first[v]`` there. Sets ``first_out`` of the range.
    """
    low, last = range_of(pair_first, thread, num_threads)
    if thread + ONE == num_threads:
        first_out[last] = len(head)
    largest = ZERO
    while low < last:
        p, end = np.uint64(pair_first[low]), np.uint64(pair_first[low + ONE])
        before = np.uint64(back_first[low + ONE])
        first_out[low] = np.uint64(back_first[low]) + p
        largest = max(largest, before - np.uint64(back_first[low]) + (end - p))
        while p < end:
            high = np.uint64(pair_high[p])
            forward = p + before
            backward = np.uint64(position[p]) + np.uint64(pair_first[high])
            head[forward] = high
            reverse[forward] = backward
            head[backward] = low
            reverse[backward] = forward
            p += ONE
        low += ONE
    return largest


@kernel
def rank_share(
    begin: Any,
    end: Any,
    arcs: InputArcs,
    place: Any,
    back_first: Any,
    first_out: Any,
    reverse: Any,
    rank: Any,
) -> None:
    """Give the input arcs of a share the rank of the residual arc that they lead along."""
    n = np.uint64(len(first_out)) - ONE
    for i in range(begin, end):
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        if u < n and v < n and u != v:
            low = min(u, v)
            among = np.uint64(back_first[low + ONE]) - np.uint64(back_first[low]) + np.uint64(place[i])
            if u == low:
                rank[i] = among
            else:
                rank[i] = np.uint64(reverse[np.uint64(first_out[low]) + among]) - np.uint64(first_out[u])
