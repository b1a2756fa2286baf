"""Build the residual network's arrays from input arcs by counting sort, in O(n + m).

An input arc between two inner vertices belongs to the pair of its ends. The arcs are sorted by the smaller
end of their pair; the larger end is stored beside each, so that later steps read both in order. A walk over
each group then merges the arcs of one pair and gives the pair two residual arcs with their capacities. Beside
the arrays that are returned, this takes two indices for each input arc and two for each vertex.

Input arcs may come sorted by their pairs, each pair once, as in the rows of an upper triangular matrix. One
pass finds that out and counts the neighbours. Then the pairs are placed, and capacities filled in, in the
order of the input. The sort and the search for arcs of the same pair are left out.

The residual arc of an input arc is stored as its rank among the residual arcs of its tail, which is a byte
if degrees are small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Indices, Int64, Integers, Number, Numbers
from .atomics import add, prefetch, prefetch_to_write
from .constants import ONE, ZERO
from .kernel import kernel

#: How many input arcs ahead the places of residual arcs are prefetched. The step took 0.7 to 0.8 of the time
#: on dense networks, superpixels and RMAT graphs, where these places are scattered, and 1.2 on grids.
AHEAD = np.uint64(12)


class InputArcs(NamedTuple):
    """The arcs as the user gave them."""

    #: shape (m,)
    tail: Indices
    head: Indices
    capacity: Numbers  #: int64 or float64, shape (m,): whole numbers
    reverse_capacity: Numbers  #: the same dtype, shape (m,) or (0,): empty means zero everywhere
    inner: Indices  #: residual vertex of each input vertex; n for a source, n + 1 for a sink


class Pairs(NamedTuple):
    """The residual arcs without their capacities, and which of them each input arc belongs to."""

    #: shape (n + 1,): the residual arcs of vertex ``v`` are ``first_out[v] .. first_out[v + 1] - 1``
    first_out: Indices
    #: the same dtype: head of a residual arc, and the index of its opposite
    head: Indices
    reverse: Indices
    #: an unsigned dtype, shape (m,): rank of the residual arc of an input arc among the residual arcs of its
    #: tail
    rank: Indices


class SortedArcs(NamedTuple):
    """The input arcs between inner vertices, sorted by the smaller end of their pair."""

    group_end: Indices  #: shape (n,): the arcs of smaller end `v` end here
    #: twice the number of an arc, plus one if its tail is the larger end
    order: Indices
    larger_end: Indices


@kernel
def number_inner(
    terminals: NDArray[np.int64], before: Index | np.int64, inner: Indices, begin: Int64, end: Int64
) -> None:
    """Give the vertices ``begin .. end - 1`` their number among those that are not `terminals`.

    `terminals` is sorted, and `before` of them come before the first of these vertices. Entries of
    terminals are not written.
    """
    before = np.uint64(before)
    for v in range(np.uint64(begin), np.uint64(end)):
        if before < np.uint64(len(terminals)) and np.uint64(terminals[before]) == v:
            before += ONE
        else:
            inner[v] = v - before


@kernel
def count_by_smaller_end(arcs: InputArcs, first: Indices) -> None:
    """Set ``first[v + 1]`` to the number of arcs between inner vertices whose smaller end is `v`."""
    n = np.uint64(len(first)) - ONE
    for i in range(len(arcs.tail)):
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        if u < n and v < n and u != v:
            first[min(u, v) + ONE] += 1


@kernel
def terminal_capacities(
    arcs: InputArcs,
    begin: Int64,
    end: Int64,
    alone: bool,
    source_capacity: NDArray[np.int64],
    sink_capacity: NDArray[np.int64],
    limit: Int64,
) -> tuple[Int64, float, float, bool, bool]:
    """Add up, for each inner vertex, the capacities from the sources and to the sinks of some input arcs.

    Unless `alone`, other threads do so for other arcs at the same time. Return the capacity of arcs straight
    from a source to a sink; about the sums of the capacities from the sources and to the sinks; whether the
    sums of all vertices stay within `limit`; and whether any of these sums got capacity from two input arcs.
    """
    source = np.uint64(len(source_capacity))
    sink = source + ONE
    has_reverse = len(arcs.reverse_capacity) > 0
    direct = np.int64(0)
    from_sources, to_sinks = 0.0, 0.0
    shared = False
    for i in range(np.uint64(begin), np.uint64(end)):
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        if u < source and v < source:
            continue
        for direction in range(2 if has_reverse else 1):
            amount = np.int64(arcs.capacity[i] if direction == 0 else arcs.reverse_capacity[i])
            a = u if direction == 0 else v
            b = v if direction == 0 else u
            if a == source and b < source:
                before = np.int64(add(alone, source_capacity, b, amount))
                if amount > limit - before:
                    return direct, from_sources, to_sinks, False, shared
                shared = shared or bool(before > 0 and amount > 0)
                from_sources += amount
            elif a < source and b == sink:
                before = np.int64(add(alone, sink_capacity, a, amount))
                if amount > limit - before:
                    return direct, from_sources, to_sinks, False, shared
                shared = shared or bool(before > 0 and amount > 0)
                to_sinks += amount
            elif a == source and b == sink:
                if amount > limit - direct:
                    return direct, from_sources, to_sinks, False, shared
                direct += amount
    return direct, from_sources, to_sinks, True, shared


@kernel
def take_through_capacity(
    source_capacity: NDArray[np.int64], sink_capacity: NDArray[np.int64], begin: Int64, end: Int64
) -> Int64:
    """Subtract what each vertex of a range can pass from the source to the sink; return the sum."""
    total = np.int64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        through = min(source_capacity[v], sink_capacity[v])
        source_capacity[v] -= through
        sink_capacity[v] -= through
        total += through
    return total


@kernel
def sort_by_smaller_end(
    arcs: InputArcs, first: Indices, order: Indices, larger_end: Indices, num_inner: int
) -> None:
    """Sort the arcs between inner vertices by the smaller end of their pair.

    An entry of `order` is twice the number of the arc, plus one if its tail is the larger end. On entry
    ``first[v]`` is the start of the group of `v`, on return its end.
    """
    n = np.uint64(num_inner)
    for i in range(len(arcs.tail)):
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        if u < n and v < n and u != v:
            low = min(u, v)
            k = np.uint64(first[low])
            order[k] = 2 * np.uint64(i) + (ONE if u > v else ZERO)
            larger_end[k] = max(u, v)
            first[low] = k + ONE


@kernel
def count_pairs(group_end: Indices, larger_end: Indices, seen: Indices, first_out: Indices) -> None:
    """Set ``first_out[v + 1]`` to the number of neighbours of `v`; `seen` is scratch, zero on entry."""
    n = np.uint64(len(group_end))
    k = ZERO
    for low in range(len(group_end)):
        mark = np.uint64(low) + ONE
        end = np.uint64(group_end[low])
        while k < end:
            high = np.uint64(larger_end[k])
            if seen[high] != mark:
                seen[high] = mark
                first_out[mark] += 1
                first_out[high + ONE] += 1
            k += ONE
    for vertex in range(n):
        first_out[vertex + ONE] += first_out[vertex]


@kernel
def place_pairs(
    arcs: InputArcs,
    sorted_arcs: SortedArcs,
    free: Indices,
    latest: Indices,
    pairs: Pairs,
    residual: Integers,
    limit: Int64,
) -> tuple[Int64, bool, bool]:
    """Give every pair its two residual arcs with their capacities, and every input arc its rank.

    On entry `first_out` is set and ``free[v]`` is the first arc of `v`. `latest` is scratch of one entry a
    vertex, with any content; it is empty where no two arcs belong to the same pair. `residual` may have any
    content. Return what :func:`fill_residual` returns; all arcs are placed also where a capacity is above
    the limit.
    """
    first_out, head, reverse, rank = pairs.first_out, pairs.head, pairs.reverse, pairs.rank
    group_end, order, larger_end = sorted_arcs.group_end, sorted_arcs.order, sorted_arcs.larger_end
    merges = len(latest) > 0
    has_reverse = len(arcs.reverse_capacity) > 0
    last = np.uint64(len(larger_end)) - ONE
    largest = np.int64(0)
    within, shared = True, False
    k = ZERO
    for low in range(len(group_end)):
        lower = np.uint64(low)
        begin = new = np.uint64(free[lower])
        first = np.uint64(first_out[lower])
        end = np.uint64(group_end[low])
        while k < end:
            # The input arc, and about where the arc back from the larger end will be placed, of a later arc.
            ahead = min(k + AHEAD, last)
            i = np.uint64(order[ahead]) >> ONE
            prefetch(arcs.capacity, i)
            if has_reverse:
                prefetch(arcs.reverse_capacity, i)
            place = np.uint64(free[larger_end[ahead]])
            prefetch_to_write(head, place)
            prefetch_to_write(reverse, place)
            prefetch_to_write(residual, place)
            entry = np.uint64(order[k])
            high = np.uint64(larger_end[k])
            i = entry >> ONE
            turned = entry & ONE == ONE
            along = np.int64(arcs.capacity[i])
            back = np.int64(arcs.reverse_capacity[i]) if has_reverse else np.int64(0)
            up, down = (back, along) if turned else (along, back)
            forward = new
            if merges:
                known = np.uint64(latest[high])
                if begin <= known < new and np.uint64(head[known]) == high:
                    forward = known
                else:
                    latest[high] = new
            if forward == new:
                new += ONE
                backward = np.uint64(free[high])
                free[high] = backward + ONE
                head[forward] = high
                head[backward] = lower
                reverse[forward] = backward
                reverse[backward] = forward
                residual[forward] = up
                residual[backward] = down
                largest = max(largest, up, down)
            else:
                backward = np.uint64(reverse[forward])
                if up > 0:
                    before = np.int64(residual[forward])
                    within = within and bool(up <= limit - before)
                    shared = shared or bool(before > 0)
                    up += before
                    residual[forward] = up
                    largest = max(largest, up)
                if down > 0:
                    before = np.int64(residual[backward])
                    within = within and bool(down <= limit - before)
                    shared = shared or bool(before > 0)
                    down += before
                    residual[backward] = down
                    largest = max(largest, down)
            rank[i] = backward - np.uint64(first_out[high]) if turned else forward - first
            k += ONE
    return largest, within, shared


@kernel
def count_sorted_pairs(arcs: InputArcs, first_out: Indices) -> bool:
    """Do as :func:`count_pairs` if the arcs come sorted by their pairs, and return whether they do.

    Return False at the first arc between inner vertices whose pair, smaller end first, does not come after
    the pair before. On entry `first_out` is zero.
    """
    n = np.uint64(len(first_out)) - ONE
    last_low, last_high, run = ZERO, ZERO, ZERO
    for i in range(len(arcs.tail)):
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        if u < n and v < n and u != v:
            low, high = min(u, v), max(u, v)
            if low != last_low:
                if low < last_low:
                    return False
                first_out[last_low + ONE] += run
                run = ZERO
            elif high <= last_high:
                return False
            last_low, last_high = low, high
            run += ONE
            first_out[high + ONE] += 1
    if n > ZERO:
        first_out[last_low + ONE] += run
    for vertex in range(n):
        first_out[vertex + ONE] += first_out[vertex]
    return True


@kernel
def place_sorted_pairs(arcs: InputArcs, free: Indices, pairs: Pairs, residual: Integers) -> None:
    """Do as :func:`place_pairs` and :func:`fill_residual` where arcs come sorted by their pairs.

    There are no reverse capacities. On entry ``free[v]`` is the first arc of `v`, and `residual` is zero.
    """
    first_out, head, reverse, rank = pairs.first_out, pairs.head, pairs.reverse, pairs.rank
    n = np.uint64(len(first_out)) - ONE
    last = np.uint64(len(arcs.tail)) - ONE
    last_low, forward = n, ZERO
    for i in range(len(arcs.tail)):
        ahead = np.uint64(arcs.inner[arcs.head[min(np.uint64(i) + AHEAD, last)]])
        if ahead < n:
            prefetch_to_write(head, np.uint64(free[ahead]))
            prefetch_to_write(reverse, np.uint64(free[ahead]))
        u = np.uint64(arcs.inner[arcs.tail[i]])
        v = np.uint64(arcs.inner[arcs.head[i]])
        if u < n and v < n and u != v:
            low, high = min(u, v), max(u, v)
            if low != last_low:
                last_low, forward = low, np.uint64(free[low])
            backward = np.uint64(free[high])
            free[high] = backward + ONE
            head[forward] = high
            head[backward] = low
            reverse[forward] = backward
            reverse[backward] = forward
            if u == low:
                rank[i] = forward - np.uint64(first_out[low])
                residual[forward] = arcs.capacity[i]
            else:
                rank[i] = backward - np.uint64(first_out[high])
                residual[backward] = arcs.capacity[i]
            forward += ONE


@kernel
def residual_arc(arcs: InputArcs, rank: Indices, first_out: Indices, i: Number) -> tuple[np.uint64, bool]:
    """Return the residual arc of input arc `i`, and whether there is one."""
    n = np.uint64(len(first_out)) - ONE
    u = np.uint64(arcs.inner[arcs.tail[i]])
    v = np.uint64(arcs.inner[arcs.head[i]])
    if u < n and v < n and u != v:
        return np.uint64(first_out[u]) + np.uint64(rank[i]), True
    return ZERO, False


@kernel
def fill_residual(
    arcs: InputArcs,
    pairs: Pairs,
    begin: Int64,
    end: Int64,
    alone: bool,
    residual: Integers,
    limit: Int64,
    block: NDArray[np.uint64],
) -> tuple[Int64, bool, bool]:
    """Add the capacities of some input arcs to their residual arcs.

    Unless `alone`, other threads do so for other arcs at the same time, and may add to the same residual
    arcs. No capacity may be above the limit. `block` is scratch for arcs in random order, empty for others.
    Return the largest residual capacity, whether all stayed within `limit`, and whether any residual arc got
    capacity from two input arcs.
    """
    if len(block) > 0:
        return fill_scattered(arcs, pairs, begin, end, alone, residual, limit, block)
    has_reverse = len(arcs.reverse_capacity) > 0
    largest = np.int64(0)
    shared = False
    for i in range(np.uint64(begin), np.uint64(end)):
        a, inside = residual_arc(arcs, pairs.rank, pairs.first_out, i)
        if inside:
            for direction in range(2 if has_reverse else 1):
                amount = np.int64(arcs.capacity[i] if direction == 0 else arcs.reverse_capacity[i])
                if direction == 1:
                    a = np.uint64(pairs.reverse[a])
                if amount > 0:
                    before = np.int64(add(alone, residual, a, amount))
                    if amount > limit - before:
                        return largest, False, shared
                    shared = shared or bool(before > 0)
                    largest = max(largest, before + amount)
    return largest, True, shared


@kernel
def fill_scattered(
    arcs: InputArcs,
    pairs: Pairs,
    begin: Int64,
    end: Int64,
    alone: bool,
    residual: Integers,
    limit: Int64,
    block: NDArray[np.uint64],
) -> tuple[Int64, bool, bool]:
    """Do as :func:`fill_residual` for input arcs in random order, by blocks of ``len(block)`` arcs.

    The residual arcs of a block are found first and prefetched, so that the processor waits for many of them
    at the same time.
    """
    has_reverse = len(arcs.reverse_capacity) > 0
    none = np.uint64(len(residual))
    largest = np.int64(0)
    shared = False
    start, last = np.uint64(begin), np.uint64(end)
    while start < last:
        count = min(np.uint64(len(block)), last - start)
        for k in range(count):
            a, inside = residual_arc(arcs, pairs.rank, pairs.first_out, start + k)
            block[k] = a if inside else none
            prefetch_to_write(residual, a)
            if has_reverse:
                prefetch(pairs.reverse, a)
        for direction in range(2 if has_reverse else 1):
            if direction == 1:
                for k in range(count):
                    if block[k] < none:
                        block[k] = pairs.reverse[block[k]]
                        prefetch_to_write(residual, block[k])
            for k in range(count):
                a = block[k]
                if a < none:
                    i = start + k
                    amount = np.int64(arcs.capacity[i] if direction == 0 else arcs.reverse_capacity[i])
                    if amount > 0:
                        before = np.int64(add(alone, residual, a, amount))
                        if amount > limit - before:
                            return largest, False, shared
                        shared = shared or bool(before > 0)
                        largest = max(largest, before + amount)
        start += count
    return largest, True, shared


@kernel
def pairs_within(residual: Integers, reverse: Indices, limit: Int64, begin: Int64, end: Int64) -> bool:
    """Return whether the two capacities of each pair in a range of residual arcs sum to at most `limit`."""
    for a in range(np.uint64(begin), np.uint64(end)):
        if residual[a] > limit - residual[reverse[a]]:
            return False
    return True
