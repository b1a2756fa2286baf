"""The backward breadth-first search of a global relabel, by a team of threads, each with vertices of its own.

Vertices are dealt out to the threads in blocks; only its owner labels a vertex and searches from it. What a
thread finds among the others' vertices it mails to their owners, who look at it after a barrier. So the
memory that a thread writes is its own, and what it reads was last written before a barrier: with labels set
by compare-and-exchange, vertices of one cache line were found by different threads, and 16 of them searched
rmf-wide 136x68 no faster than 4. In a thread's order of discovery the in-queue of a level is followed by its
out-queue, so they flip without copying (Cihan 2010, section 4.6.3). Levels with few arcs go to one thread,
without barriers, until they grow: graphs with long distances have hundreds of thousands of them. Where few
vertices are left, as in dense graphs after the first level, these look for one of the level among their
neighbours, and not the level for them: Beamer, Asanovic and Patterson (2012).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, fetch_add, prefetch, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from .barrier import make_barrier, wait

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: A level with fewer arcs than this divided by the threads goes to one thread: the more threads, the
#: more there is to gain, and the more of what one thread would read alone was last written by others.
SMALL_LEVEL = 4096
#: Largest block of vertices that goes to one thread, and number of blocks a thread should get.
BLOCK, BLOCKS = 1024, 16
#: Letters in all mailboxes of a thread, and in one, at least.
LETTERS, FEWEST_LETTERS = 16384, 64
#: How many vertices ahead their arcs' ends, their arcs, and their place among the arcs are prefetched.
NEAR, MIDDLE, FAR = 3, 6, 9
#: Arcs of a vertex whose ends are prefetched.
SOME_ARCS = 16
#: With at least so many arcs a vertex, a level at least half as large as what is left does not search, it is
#: searched for.
MANY_ARCS = np.uint64(32)
#: More than all vertices, in Search.size.
UNFINISHED = np.uint64(2**48)


class Search(NamedTuple):
    """What the threads of a team share in a search; the order of discovery is its result.

    Attributes
    ----------
    barrier : ndarray of int64
    num_threads, shift, room, letters, small : ndarray of uint64, shape (1,)
        Block ``v >> shift`` of vertices belongs to thread ``(v >> shift) % num_threads``, whose vertices fit
        `room` entries of `order`; `letters` fit a mailbox; a level of `small` vertices goes to one thread.
    order : ndarray of uint32 or uint64, shape (threads * room,)
        For each thread its vertices that reach the sink, by distance.
    begin, end : ndarray of uint64, shape (threads * PADDING,)
        Where a thread's vertices not yet searched from begin and end in its part of `order`.
    size : ndarray of uint64, shape (threads * PADDING,)
        How many vertices of the current level a thread has; constant while threads may read it. UNFINISHED
        is added while it has more of the last level to search than its mailboxes took.
    alone : ndarray of uint64, shape (2,)
        The distance that one thread alone has come to, and how many vertices have been reached then.
    mail : ndarray of the dtype of `order`, shape (threads * threads * letters * 2,)
        Letters from each thread to each thread: a vertex, and its arc towards the sink.
    mailed : ndarray of uint64, shape (threads * stride,)
        How many letters each thread has written to each.
    """

    barrier: NDArray[Any]
    num_threads: NDArray[Any]
    shift: NDArray[Any]
    room: NDArray[Any]
    letters: NDArray[Any]
    small: NDArray[Any]
    order: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    size: NDArray[Any]
    alone: NDArray[Any]
    mail: NDArray[Any]
    mailed: NDArray[Any]


def make_search(num_threads: int, num_vertices: int, num_arcs: int, dtype: Any) -> Search:
    """Return the shared state of searches by a team."""

    def number(value: int) -> NDArray[np.uint64]:
        return np.array([value], dtype=np.uint64)

    def padded(count: int) -> NDArray[np.uint64]:
        return np.zeros(num_threads * -(-count // int(PADDING)) * int(PADDING), dtype=np.uint64)

    block = min(BLOCK, max(1, num_vertices // (BLOCKS * num_threads)))
    shift = block.bit_length() - 1
    blocks = -(-num_vertices // (1 << shift))
    room = -(-blocks // num_threads) << shift
    letters = max(FEWEST_LETTERS, LETTERS // num_threads) if num_threads > 1 else 0
    small = num_vertices + 1
    if num_threads > 1:
        small = SMALL_LEVEL * num_vertices // (num_threads * max(1, num_arcs))
    return Search(
        barrier=make_barrier(num_threads),
        num_threads=number(num_threads),
        shift=number(shift),
        room=number(room),
        letters=number(letters),
        small=number(small),
        order=np.empty(num_threads * room, dtype=dtype),
        begin=padded(1),
        end=padded(1),
        size=padded(1),
        alone=np.zeros(2, dtype=np.uint64),
        mail=np.empty(num_threads * num_threads * letters * 2, dtype=dtype),
        mailed=padded(num_threads),
    )


@kernel
def slot(thread: Any) -> Any:
    """Return the place of a thread's entry in a padded array."""
    return np.uint64(thread) * PADDING


@kernel
def owner_of(search: Search, v: Any) -> Any:
    """Return the thread that owns a vertex."""
    return (v >> search.shift[0]) % search.num_threads[0]


@kernel
def drain_to_sink(net: Any, v: Any) -> Any:
    """Push the excess of `v` to the sink as far as it goes; return the pushes made."""
    amount = min(net.excess[v], net.sink_residual[v])
    if amount <= 0:
        return ZERO
    net.excess[v] -= amount
    net.sink_residual[v] -= amount
    return ONE


@kernel
def reach(
    search: Search, owner: Any, net: Any, height: Any, w: Any, b: Any, next_height: Any, drain: bool
) -> Any:
    """Label a dead vertex that has residual capacity over `b`; return the pushes made.

    With `drain` its excess is pushed over `b` first; if that saturates the arc, the vertex stays dead.
    """
    pushes = ZERO
    if drain and net.excess[w] > 0:
        amount = min(net.excess[w], np.int64(net.residual[b]))
        net.excess[w] -= amount
        fetch_add(net.excess, net.head[b], amount)
        net.residual[b] -= amount
        net.residual[net.reverse[b]] += amount
        pushes = ONE
        if net.residual[b] == 0:
            return pushes
    relaxed_store(height, w, next_height)
    end = search.end[slot(owner)]
    search.order[owner * search.room[0] + end] = w
    search.end[slot(owner)] = end + ONE
    return pushes


@kernel
def size_of_level(search: Search) -> Any:
    """Return the number of vertices of the current level; UNFINISHED or more if the last is not searched."""
    size = ZERO
    for thread in range(search.num_threads[0]):
        size += search.size[slot(thread)]
    return size


@kernel
def start_search(search: Search, thread: Any, net: Any, height: Any, drain: bool) -> Any:
    """Give a thread's vertices height 1 if they have an arc to the sink, else the dead label."""
    n = np.uint64(len(net.excess))
    dead = n + ONE
    block = np.uint64(1) << search.shift[0]
    first = thread * search.room[0]
    pushes = ZERO
    end = ZERO
    v = thread * block
    while v < n:
        last = min(v + block, n)
        while v < last:
            height[v] = dead
            if net.sink_residual[v] > 0:
                if drain:
                    pushes += drain_to_sink(net, v)
                if net.sink_residual[v] > 0:
                    height[v] = ONE
                    search.order[first + end] = v
                    end += ONE
            v += ONE
        v += block * (search.num_threads[0] - ONE)
    search.begin[slot(thread)] = ZERO
    search.end[slot(thread)] = end
    search.size[slot(thread)] = end
    return pushes


@kernel
def few_left(net: Any, size: Any, reached: Any) -> Any:
    """Return whether those not yet reached find a level of `size` vertices sooner than it finds them."""
    n, m = np.uint64(len(net.excess)), np.uint64(len(net.head))
    return m >= n * MANY_ARCS and n - reached < size * TWO


@kernel
def search_back(search: Search, thread: Any, net: Any, height: Any, next_height: Any, drain: bool) -> Any:
    """Look from a thread's dead vertices for the level before `next_height`; return the pushes made."""
    n = np.uint64(len(net.excess))
    dead = n + ONE
    block = np.uint64(1) << search.shift[0]
    pushes = ZERO
    v = thread * block
    while v < n:
        last = min(v + block, n)
        while v < last:
            a = np.uint64(net.first_out[v]) if np.uint64(height[v]) == dead else np.uint64(len(net.head))
            last_arc = np.uint64(net.first_out[v + ONE])
            while a < last_arc:
                if net.residual[a] > 0 and np.uint64(relaxed_load(height, net.head[a])) + ONE == next_height:
                    pushes += reach(search, thread, net, height, v, a, next_height, drain)
                    if np.uint64(height[v]) != dead:
                        break
                a += ONE
            v += ONE
        v += block * (search.num_threads[0] - ONE)
    return pushes


@kernel
def look_ahead(search: Search, net: Any, height: Any, k: Any, last: Any) -> None:
    """Prefetch what the search reads of the vertices after entry `k` of the order; entries end at `last`.

    Whether an arc is of use is hard to predict, so that without this only one miss is under way at a time.
    """
    order = search.order
    if k + np.uint64(FAR) < last:
        prefetch(net.first_out, order[k + np.uint64(FAR)])
    if k + np.uint64(MIDDLE) < last:
        a = np.uint64(net.first_out[order[k + np.uint64(MIDDLE)]])
        prefetch(net.head, a)
        prefetch(net.reverse, a)
    if k + np.uint64(NEAR) < last:
        v = np.uint64(order[k + np.uint64(NEAR)])
        a = np.uint64(net.first_out[v])
        end = min(np.uint64(net.first_out[v + ONE]), a + np.uint64(SOME_ARCS))
        while a < end:
            prefetch(height, net.head[a])
            prefetch(net.residual, net.reverse[a])
            a += ONE


@kernel
def search_part(
    search: Search,
    thread: Any,
    net: Any,
    height: Any,
    next_height: Any,
    k: Any,
    end: Any,
    done: Any,
    alone: bool,
    drain: bool,
) -> tuple[Any, Any, Any]:
    """Search from a thread's vertices ``k .. end - 1``, but for the first `done` arcs of the first one.

    What belongs to others is mailed to them, while mail fits, or labelled too if all others wait (`alone`).
    Returns the vertex and the number of its arcs to go on after, `end` if there is none, and the pushes made.
    """
    dead = np.uint64(len(net.excess)) + ONE
    letters = search.letters[0]
    num_threads = search.num_threads[0]
    stride = np.uint64(len(search.mailed)) // num_threads
    first = thread * search.room[0]
    pushes = ZERO
    while k < end:
        look_ahead(search, net, height, first + k, first + end)
        v = np.uint64(search.order[first + k])
        begin = np.uint64(net.first_out[v])
        last = np.uint64(net.first_out[v + ONE])
        a = begin + done
        while a < last:
            w = np.uint64(net.head[a])
            if np.uint64(relaxed_load(height, w)) == dead:
                b = np.uint64(net.reverse[a])
                if net.residual[b] > 0:
                    owner = owner_of(search, w)
                    if alone or owner == thread:
                        pushes += reach(search, owner, net, height, w, b, next_height, drain)
                    else:
                        count = search.mailed[thread * stride + owner]
                        if count == letters:
                            return k, a - begin, pushes
                        place = ((thread * num_threads + owner) * letters + count) * TWO
                        search.mail[place] = w
                        search.mail[place + ONE] = b
                        search.mailed[thread * stride + owner] = count + ONE
            a += ONE
        done = ZERO
        k += ONE
    return k, done, pushes


@kernel
def search_alone(
    search: Search,
    net: Any,
    height: Any,
    next_height: Any,
    reached: Any,
    width: Any,
    enough: Any,
    drain: bool,
) -> tuple[Any, Any, Any]:
    """Search in one thread until a level has `width` vertices or none, or `enough` are reached in all.

    Returns the height that comes next, the number of vertices reached, and the pushes made.
    """
    num_threads = search.num_threads[0]
    first_height = next_height
    pushes = ZERO
    while True:
        size = ZERO
        for thread in range(num_threads):
            search.size[slot(thread)] = search.end[slot(thread)] - search.begin[slot(thread)]
            size += search.size[slot(thread)]
        if next_height > first_height:
            reached += size
        if size == ZERO or size >= width or reached >= enough:
            return next_height, reached, pushes
        backwards = few_left(net, size, reached)
        for thread in range(num_threads):
            begin = search.begin[slot(thread)]
            end = begin + search.size[slot(thread)]
            search.begin[slot(thread)] = end
            if backwards:
                pushes += search_back(search, np.uint64(thread), net, height, next_height, drain)
                continue
            _, _, made = search_part(
                search, np.uint64(thread), net, height, next_height, begin, end, ZERO, True, drain
            )
            pushes += made
        next_height += ONE


@kernel
def has_wide_level(search: Search, net: Any, height: Any, width: Any, enough: Any) -> bool:
    """Search in one thread until a level has `width` vertices, or `enough` are reached; whether one has."""
    for thread in range(search.num_threads[0]):
        start_search(search, np.uint64(thread), net, height, False)
    search_alone(search, net, height, TWO, size_of_level(search), width, enough, False)
    return bool(size_of_level(search) >= width)


@kernel
def read_mail(search: Search, thread: Any, net: Any, height: Any, next_height: Any, drain: bool) -> Any:
    """Label what others have found among a thread's vertices; return the pushes made."""
    dead = np.uint64(len(net.excess)) + ONE
    num_threads = search.num_threads[0]
    stride = np.uint64(len(search.mailed)) // num_threads
    pushes = ZERO
    for step in range(num_threads):
        writer = (thread + np.uint64(step)) % num_threads
        place = (writer * num_threads + thread) * search.letters[0] * TWO
        last = place + search.mailed[writer * stride + thread] * TWO
        while place < last:
            w = np.uint64(search.mail[place])
            if np.uint64(height[w]) == dead:
                b = np.uint64(search.mail[place + ONE])
                pushes += reach(search, thread, net, height, w, b, next_height, drain)
            place += TWO
    return pushes


@kernel
def search_together(search: Search, thread: Any, net: Any, height: Any, drain: bool) -> tuple[Any, Any, Any]:
    """Make every height the exact residual distance to the sink, or ``n + 1`` (dead).

    All threads of the team call it at the same time, while nobody else pushes; it ends with a barrier. With
    `drain`, a vertex with excess pushes it along the arc over which the search reaches it, before that arc
    counts, as :func:`preflow.kernels.bfs.distances_to_sink` does.

    Returns
    -------
    begin, end : where this thread's vertices that reach the sink, by distance, stand in ``search.order``
    pushes : number of pushes that this thread made

    Notes
    -----
    O(n + m) work; two barriers for each large level, and for each run of small ones.
    """
    n = np.uint64(len(net.excess))
    num_threads = search.num_threads[0]
    stride = np.uint64(len(search.mailed)) // num_threads
    first = thread * search.room[0]
    own = slot(thread)
    pushes = start_search(search, thread, net, height, drain)
    if not wait(search.barrier, num_threads):
        return ZERO, ZERO, pushes
    next_height = TWO
    size = size_of_level(search)
    reached = size
    while size > ZERO and reached < n:
        if size < search.small[0]:
            if not wait(search.barrier, num_threads):
                return ZERO, ZERO, pushes
            if thread == ZERO:
                search.alone[0], search.alone[1], made = search_alone(
                    search, net, height, next_height, reached, search.small[0] * TWO, n, drain
                )
                pushes += made
            if not wait(search.barrier, num_threads):
                return ZERO, ZERO, pushes
            next_height = search.alone[0]
            reached = search.alone[1]
            size = size_of_level(search)
            continue
        k = search.begin[own]
        end = search.end[own]
        done = ZERO
        if few_left(net, size, reached):
            pushes += search_back(search, thread, net, height, next_height, drain)
            k = end
        size = UNFINISHED
        while size >= UNFINISHED:
            for other in range(num_threads):
                search.mailed[thread * stride + np.uint64(other)] = ZERO
            k, done, made = search_part(search, thread, net, height, next_height, k, end, done, False, drain)
            pushes += made
            if not wait(search.barrier, num_threads):
                return ZERO, ZERO, pushes
            pushes += read_mail(search, thread, net, height, next_height, drain)
            search.begin[own] = end
            search.size[own] = search.end[own] - end + (UNFINISHED if k < end else ZERO)
            if not wait(search.barrier, num_threads):
                return ZERO, ZERO, pushes
            size = size_of_level(search)
        reached += size
        next_height += ONE
    wait(search.barrier, num_threads)
    return first, first + search.end[own], pushes
