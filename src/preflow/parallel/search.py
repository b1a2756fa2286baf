"""The backward breadth-first search of a global relabel, by a team of threads, each with vertices of its own.

Vertices are dealt out to the threads in blocks; only its owner labels a vertex and searches from it. What a
thread finds among the others' vertices it mails to their owners, who look at it after a barrier. So the
memory that a thread writes is its own: with labels set by compare-and-exchange, vertices of one cache line
were found by different threads, and 16 of them searched rmf-wide 136x68 no faster than 4. There is one
barrier a level: after it a thread first labels what its mail says, which completes its vertices of the
level, and then searches from them and writes mail for the next level into other boxes. In a thread's order
of discovery the in-queue of a level is followed by its out-queue, so they flip without copying (Cihan 2010,
section 4.6.3). Levels with few arcs go to one thread, without barriers, until they grow: graphs with long
distances have hundreds of thousands of them. A search may resume above heights that are still exact, and
stop where no more excess lies ahead. Where few vertices are left, as in dense graphs after the first
level, these look for one of the level among their neighbours, and not the level for them: Beamer, Asanovic
and Patterson (2012).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, fetch_add, prefetch, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from .barrier import make_barrier, wait
from .totals import add_up, make_totals

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: A level with fewer arcs than this divided by the threads goes to one thread: the more threads, the
#: more there is to gain, and the more of what one thread would read alone was last written by others.
SMALL_LEVEL = 4096
#: Largest block of vertices that goes to one thread, and number of blocks a thread should get.
BLOCK, BLOCKS = 256, 16
#: Letters in all mailboxes of a thread, and in one, at least.
LETTERS, FEWEST_LETTERS = 16384, 64
#: More than all vertices: added to the size of a level where a thread has more of it to search from than its
#: mailboxes took, and a number of vertices that is never reached.
UNFINISHED = EVERYTHING = np.uint64(2**48)
#: How many vertices ahead prefetching begins, and how many behind that it goes on; see look_ahead.
FAR, MIDDLE, NEAR = np.uint64(9), np.uint64(3), np.uint64(6)
#: Arcs of a vertex whose ends are prefetched.
SOME_ARCS = np.uint64(16)
#: With at least so many arcs a vertex, a level at least half as large as what is left does not search, it is
#: searched for.
MANY_ARCS = 32
#: How much farther than to the last wanted vertex a search goes: its excess may have to go farther, too.
OVERSHOOT = (np.uint64(5), np.uint64(4))


class Search(NamedTuple):
    """What the threads of a team share in a search; the order of discovery is its result.

    Attributes
    ----------
    barrier : ndarray of int64
    num_threads, shift, room, letters, small : ndarray of uint64, shape (1,)
        Block ``v >> shift`` of vertices belongs to thread ``(v >> shift) % num_threads``, whose vertices fit
        `room` entries of `order`; `letters` fit a mailbox; a level of fewer than `small` vertices goes to one
        thread.
    order : ndarray of uint32 or uint64, shape (threads * room,)
        For each thread its vertices that reach the sink, by distance.
    begin, end : ndarray of uint64, shape (threads * PADDING,)
        Where a thread's vertices not yet searched from begin and end in its part of `order`.
    size : ndarray of uint64, shape (threads * PADDING,)
        How many vertices of a level each thread has, as one that searches alone has counted them.
    totals : ndarray of uint64, shape (threads * PADDING,)
        Where threads meet after a level and add up what they have found, see totals.py.
    kept : ndarray of uint64, shape (threads * PADDING,)
        How many of a thread's vertices stay as they are and are not searched from.
    wanted, found : ndarray of uint64, shape (threads * PADDING,)
        How many of a thread's vertices the search is to find before it may stop, and how many it has found.
    alone : ndarray of uint64, shape (4,)
        The level that one thread alone has come to, how many vertices it has, how many those before, and
        after which level the search ends.
    mail : ndarray of the dtype of `order`, shape (2 * threads * threads * letters * 2,)
        Letters from each thread to each thread: a vertex, and its arc towards the sink. Those in one half
        are read while the other is written.
    mailed : ndarray of uint64, shape (2 * threads * stride,)
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
    totals: NDArray[Any]
    kept: NDArray[Any]
    wanted: NDArray[Any]
    found: NDArray[Any]
    alone: NDArray[Any]
    mail: NDArray[Any]
    mailed: NDArray[Any]


def make_search(num_threads: int, num_vertices: int, num_arcs: int, dtype: Any) -> Search:
    """Return the shared state of searches by a team."""

    def number(value: int) -> NDArray[np.uint64]:
        return np.array([value], dtype=np.uint64)

    def padded(count: int, entries: int = 1) -> NDArray[np.uint64]:
        return np.zeros(count * num_threads * -(-entries // int(PADDING)) * int(PADDING), dtype=np.uint64)

    block = min(BLOCK, max(1, num_vertices // (BLOCKS * num_threads)))
    shift = block.bit_length() - 1
    blocks = -(-num_vertices // (1 << shift))
    room = -(-blocks // num_threads) << shift
    letters = max(FEWEST_LETTERS, LETTERS // (2 * num_threads)) if num_threads > 1 else 0
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
        totals=make_totals(num_threads),
        kept=padded(1),
        wanted=padded(1),
        found=padded(1),
        alone=np.zeros(4, dtype=np.uint64),
        mail=np.empty(2 * num_threads * num_threads * letters * 2, dtype=dtype),
        mailed=padded(2, num_threads),
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
def first_own(search: Search, thread: Any) -> Any:
    """Return the first vertex of a thread; it may be n or more."""
    return thread << search.shift[0]


@kernel
def next_own(search: Search, v: Any) -> Any:
    """Return the next vertex of the thread that owns `v`; it may be n or more."""
    v += ONE
    if v & ((ONE << search.shift[0]) - ONE) == ZERO:
        v += (search.num_threads[0] - ONE) << search.shift[0]
    return v


@kernel
def end_of_block(search: Search, v: Any, num_vertices: Any) -> Any:
    """Return the end of the block that begins with a vertex."""
    return min(v + (ONE << search.shift[0]), num_vertices)


@kernel
def next_block(search: Search, v: Any) -> Any:
    """Return where the thread that owns the block from `v` on has its next one; it may be n or more."""
    return v + (search.num_threads[0] << search.shift[0])


@kernel
def mail_slot(search: Search, half: Any, writer: Any, reader: Any) -> Any:
    """Return the place of a mailbox in ``search.mailed``."""
    stride = np.uint64(len(search.mailed)) // (search.num_threads[0] * TWO)
    return (half * search.num_threads[0] + writer) * stride + reader


@kernel
def mailbox(search: Search, half: Any, writer: Any, reader: Any) -> Any:
    """Return where a mailbox begins in ``search.mail``."""
    num_threads = search.num_threads[0]
    return ((half * num_threads + writer) * num_threads + reader) * search.letters[0] * TWO


@kernel
def throw_away(search: Search, half: Any, writer: Any) -> None:
    """Empty a thread's mailboxes to all."""
    for reader in range(search.num_threads[0]):
        search.mailed[mail_slot(search, half, writer, np.uint64(reader))] = ZERO


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
    excess = net.excess[w]
    wanted = excess > 0 and np.uint64(height[w]) > np.uint64(len(net.excess)) + ONE
    if drain and excess > 0:
        amount = min(excess, np.int64(net.residual[b]))
        excess -= amount
        net.excess[w] = excess
        fetch_add(net.excess, net.head[b], amount)
        net.residual[b] -= amount
        net.residual[net.reverse[b]] += amount
        pushes = ONE
        if net.residual[b] == 0:
            if wanted and excess == 0:
                search.found[slot(owner)] += ONE
            return pushes
    if wanted:
        search.found[slot(owner)] += ONE
    relaxed_store(height, w, next_height)
    end = search.end[slot(owner)]
    search.order[owner * search.room[0] + end] = w
    search.end[slot(owner)] = end + ONE
    return pushes


@kernel
def may_be_few_left(net: Any) -> bool:
    """Return whether the network is dense."""
    return len(net.residual) >= len(net.excess) * MANY_ARCS


@kernel
def few_left(net: Any, size: Any, reached: Any) -> Any:
    """Return whether those not yet reached find a level of `size` vertices sooner than it finds them."""
    return may_be_few_left(net) and np.uint64(len(net.excess)) - reached < size * TWO


@kernel
def search_back(search: Search, thread: Any, net: Any, height: Any, next_height: Any, drain: bool) -> Any:
    """Look from a thread's dead vertices for the level before `next_height`; return the pushes made."""
    n = np.uint64(len(net.excess))
    pushes = ZERO
    v = first_own(search, thread)
    while v < n:
        a = np.uint64(net.first_out[v]) if np.uint64(height[v]) > n else np.uint64(len(net.residual))
        last = np.uint64(net.first_out[v + ONE])
        while a < last:
            if net.residual[a] > 0 and np.uint64(relaxed_load(height, net.head[a])) + ONE == next_height:
                pushes += reach(search, thread, net, height, v, a, next_height, drain)
                if np.uint64(height[v]) <= n:
                    break
            a += ONE
        v = next_own(search, v)
    return pushes


@kernel
def look_ahead(search: Search, net: Any, height: Any, begin: Any, last: Any, k: Any) -> None:
    """Prefetch some of what the search from entries ``begin .. last - 1`` of the order reads.

    Called for each `k` from `begin` on, FAR ahead of the search: for where the arcs of vertex `k` are, for
    the arcs of the vertex MIDDLE before it, and for the ends of those of the vertex NEAR the search. Whether
    an arc is of use is hard to predict, so that without this only one miss is under way at a time.
    """
    order = search.order
    if k < last:
        prefetch(net.first_out, order[k])
    if begin + MIDDLE <= k < last + MIDDLE:
        a = np.uint64(net.first_out[order[k - MIDDLE]])
        prefetch(net.head, a)
        prefetch(net.reverse, a)
    if begin + NEAR <= k < last + NEAR:
        v = np.uint64(order[k - NEAR])
        a = np.uint64(net.first_out[v])
        end = min(np.uint64(net.first_out[v + ONE]), a + SOME_ARCS)
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
    half: Any,
    alone: bool,
    drain: bool,
) -> tuple[Any, Any, Any]:
    """Search from a thread's vertices ``k .. end - 1``, but for the first `done` arcs of the first one.

    What belongs to others is mailed to them, in a half of the mail, while it fits; or labelled too if all
    others wait (`alone`).
    Returns the vertex and the number of its arcs to go on after, `end` if there is none, and the pushes made.
    """
    n = np.uint64(len(net.excess))
    letters = search.letters[0]
    first = thread * search.room[0]
    pushes = ZERO
    begin_ahead = first + k
    last_ahead = first + end
    ahead = begin_ahead
    while ahead < begin_ahead + FAR:
        look_ahead(search, net, height, begin_ahead, last_ahead, ahead)
        ahead += ONE
    while k < end:
        look_ahead(search, net, height, begin_ahead, last_ahead, first + k + FAR)
        v = np.uint64(search.order[first + k])
        begin = np.uint64(net.first_out[v])
        last = np.uint64(net.first_out[v + ONE])
        a = begin + done
        while a < last:
            w = np.uint64(net.head[a])
            if np.uint64(relaxed_load(height, w)) > n:
                b = np.uint64(net.reverse[a])
                if net.residual[b] > 0:
                    owner = owner_of(search, w)
                    if alone or owner == thread:
                        pushes += reach(search, owner, net, height, w, b, next_height, drain)
                    else:
                        box = mail_slot(search, half, thread, owner)
                        count = search.mailed[box]
                        if count == letters:
                            return k, a - begin, pushes
                        place = mailbox(search, half, thread, owner) + count * TWO
                        search.mail[place] = w
                        search.mail[place + ONE] = b
                        search.mailed[box] = count + ONE
            a += ONE
        done = ZERO
        k += ONE
    return k, done, pushes


@kernel
def read_mail(search: Search, thread: Any, net: Any, height: Any, level: Any, half: Any, drain: bool) -> Any:
    """Label what others have found among a thread's vertices; return the pushes made."""
    n = np.uint64(len(net.excess))
    num_threads = search.num_threads[0]
    pushes = ZERO
    for step in range(num_threads):
        writer = (thread + np.uint64(step)) % num_threads
        place = mailbox(search, half, writer, thread)
        last = place + search.mailed[mail_slot(search, half, writer, thread)] * TWO
        while place < last:
            w = np.uint64(search.mail[place])
            if np.uint64(height[w]) > n:
                b = np.uint64(search.mail[place + ONE])
                pushes += reach(search, thread, net, height, w, b, level, drain)
            place += TWO
    return pushes


@kernel
def first_at(search: Search, thread: Any, height: Any, level: Any) -> Any:
    """Return how many of the vertices that a thread found last time come before those of a level."""
    first = thread * search.room[0]
    low = ZERO
    high = search.end[slot(thread)]
    while low < high:
        middle = (low + high) // TWO
        if np.uint64(height[search.order[first + middle]]) < level:
            low = middle + ONE
        else:
            high = middle
    return low


@kernel
def start_search(
    search: Search, thread: Any, net: Any, height: Any, exact_below: Any, trusted: Any, drain: bool
) -> Any:
    """Set up the search from the level below `exact_below` among a thread's vertices; return the pushes made.

    Vertices to be found get a label above n: their old height + n + 2 if that is at most `trusted`, else the
    dead one. Where the search is from the sink, those next to it are found here.
    """
    n = np.uint64(len(net.excess))
    dead = n + ONE
    resumes = exact_below > ONE
    own = slot(thread)
    begin = ZERO
    end = ZERO
    if resumes:
        begin = first_at(search, thread, height, exact_below - ONE)
        end = first_at(search, thread, height, exact_below)
    else:
        exact_below = ZERO
    first = thread * search.room[0]
    pushes = ZERO
    wanted = ZERO
    block = first_own(search, thread)
    while block < n:
        v = block
        last = end_of_block(search, block, n)
        while v < last:
            old = np.uint64(height[v])
            to_find = old >= exact_below
            believed = to_find and trusted > ZERO and old <= trusted
            label = dead + old + ONE if believed else dead
            height[v] = label if to_find else old
            v += ONE
        v = last if resumes else block
        while v < last:
            if net.sink_residual[v] > 0:
                if drain:
                    pushes += drain_to_sink(net, v)
                if net.sink_residual[v] > 0:
                    height[v] = ONE
                    search.order[first + end] = v
                    end += ONE
            v += ONE
        v = block
        while v < last:
            if np.uint64(height[v]) > dead and net.excess[v] > 0:
                wanted += ONE
            v += ONE
        block = next_block(search, block)
    search.begin[own] = begin
    search.end[own] = end
    search.kept[own] = begin
    search.wanted[own] = wanted
    search.found[own] = ZERO
    throw_away(search, ZERO, thread)
    return pushes


@kernel
def level_to_end_with(level: Any) -> Any:
    """Return the last level of a search that has found the last wanted vertex before the end of `level`."""
    return level * OVERSHOOT[0] // OVERSHOOT[1]


@kernel
def search_alone(
    search: Search,
    net: Any,
    height: Any,
    level: Any,
    before: Any,
    width: Any,
    enough: Any,
    wanted: Any,
    last_level: Any,
    drain: bool,
) -> tuple[Any, Any, Any, Any, Any]:
    """Search in one thread until a level has `width` vertices or none, or `enough` are reached in all.

    It also ends after `last_level`, which it sets where it finds the last of `wanted` vertices.

    On entry all vertices of `level` are found and `before` those of the levels before it.

    Returns
    -------
    level, size, before : the level come to, the number of its vertices, and of those before it
    last_level : where the search ends
    pushes : number of pushes made
    """
    num_threads = search.num_threads[0]
    pushes = ZERO
    while True:
        size = ZERO
        found = ZERO
        for thread in range(num_threads):
            own = search.end[slot(thread)] - search.begin[slot(thread)]
            search.size[slot(thread)] = own
            size += own
            found += search.found[slot(thread)]
        if last_level == EVERYTHING and found >= wanted:
            last_level = level_to_end_with(level)
        if size == ZERO or size >= width or before + size >= enough or level >= last_level:
            return level, size, before, last_level, pushes
        backwards = few_left(net, size, before + size)
        for thread in range(num_threads):
            begin = search.begin[slot(thread)]
            end = begin + search.size[slot(thread)]
            search.begin[slot(thread)] = end
            if backwards:
                pushes += search_back(search, np.uint64(thread), net, height, level + ONE, drain)
                continue
            _, _, made = search_part(
                search, np.uint64(thread), net, height, level + ONE, begin, end, ZERO, ZERO, True, drain
            )
            pushes += made
        before += size
        level += ONE


@kernel
def has_wide_level(search: Search, net: Any, height: Any, width: Any, enough: Any) -> bool:
    """Search in one thread until a level has `width` vertices, or `enough` are reached; whether one has."""
    for thread in range(search.num_threads[0]):
        start_search(search, np.uint64(thread), net, height, ZERO, ZERO, False)
    _, size, _, _, _ = search_alone(
        search, net, height, ONE, ZERO, width, enough, EVERYTHING, EVERYTHING, False
    )
    return bool(size >= width)


@kernel
def go_on_alone(
    search: Search,
    net: Any,
    height: Any,
    level: Any,
    before: Any,
    wanted: Any,
    last_level: Any,
    half: Any,
    drain: bool,
) -> Any:
    """Search in one thread, after its mail, while levels are small; return the pushes made."""
    pushes = ZERO
    for thread in range(search.num_threads[0]):
        pushes += read_mail(search, np.uint64(thread), net, height, level, half, drain)
    for thread in range(search.num_threads[0]):
        throw_away(search, half, np.uint64(thread))
    n = np.uint64(len(net.excess))
    search.alone[0], search.alone[1], search.alone[2], search.alone[3], made = search_alone(
        search, net, height, level, before, search.small[0] * TWO, n, wanted, last_level, drain
    )
    return pushes + made


@kernel
def search_again(
    search: Search, thread: Any, net: Any, height: Any, exact_below: Any, trusted: Any, drain: bool
) -> tuple[Any, Any, Any, Any]:
    """Make the heights exact that the last search left inexact, or that matter.

    All threads of the team call it at the same time, while nobody else pushes; it ends with a barrier. With
    `drain`, a vertex with excess pushes it along the arc over which the search reaches it, before that arc
    counts, as :func:`preflow.kernels.bfs.distances_to_sink` does.

    Parameters
    ----------
    exact_below : int
        All heights below it are those of the last search and still exact; the search goes on from there. 0
        or 1 searches from the sink.
    trusted : int
        If it is not 0, heights up to it are lower bounds of distances, and the search may stop some levels
        after that in which the last vertex with such a height and with excess was found.

    Returns
    -------
    begin, end : where this thread's vertices that were reached, by distance, stand in ``search.order``
    ceiling : the others are at least so far away; ``n + 1`` if they cannot reach the sink
    pushes : number of pushes that this thread made

    Notes
    -----
    With ``trusted > 0`` a vertex that was not reached still has the label by which it was told from those
    that were: its old height + n + 2, or the dead one. Who calls it makes a height of it, see
    :func:`height_not_reached`.

    O(n + m) work; one barrier for each large level, two in dense networks, and for each run of small ones.
    """
    n = np.uint64(len(net.excess))
    num_threads = search.num_threads[0]
    first = thread * search.room[0]
    own = slot(thread)
    pushes = start_search(search, thread, net, height, exact_below, trusted, drain)
    if not wait(search.barrier, num_threads):
        return ZERO, ZERO, ONE, pushes
    wanted = ZERO
    before = ZERO
    for other in range(num_threads):
        wanted += search.wanted[slot(other)]
        before += search.kept[slot(other)]
    if wanted == ZERO:
        wanted = EVERYTHING
    level = max(exact_below, TWO) - ONE
    last_level = EVERYTHING
    half = ZERO
    size = n
    while size > ZERO and before < n and level <= last_level:
        if size < search.small[0]:
            if thread == ZERO:
                pushes += go_on_alone(search, net, height, level, before, wanted, last_level, half, drain)
            if not wait(search.barrier, num_threads):
                return ZERO, ZERO, ONE, pushes
            level, size, before = search.alone[0], search.alone[1], search.alone[2]
            last_level = search.alone[3]
            if size == ZERO or before + size == n or level >= last_level:
                before += size
                level += ONE
                break
        pushes += read_mail(search, thread, net, height, level, half, drain)
        k = search.begin[own]
        end = search.end[own]
        found = end - k
        done = ZERO
        if may_be_few_left(net):
            holds, size, _ = add_up(search.barrier, search.totals, thread, num_threads, found, ZERO)
            if not holds:
                return ZERO, ZERO, ONE, pushes
            if few_left(net, size, before + size):
                pushes += search_back(search, thread, net, height, level + ONE, drain)
                k = end
        search.begin[own] = end
        size = ZERO
        more = True
        while more:
            half = ONE - half
            throw_away(search, half, thread)
            k, done, made = search_part(
                search, thread, net, height, level + ONE, k, end, done, half, False, drain
            )
            pushes += made
            if k < end:
                found += UNFINISHED
            holds, total, all_found = add_up(
                search.barrier, search.totals, thread, num_threads, found, search.found[own]
            )
            if not holds:
                return ZERO, ZERO, ONE, pushes
            size += total % UNFINISHED
            more = total >= UNFINISHED
            found = ZERO
            if more:
                pushes += read_mail(search, thread, net, height, level + ONE, half, drain)
        if last_level == EVERYTHING and all_found >= wanted:
            last_level = level_to_end_with(level)
        before += size
        level += ONE
    ceiling = n + ONE if size == ZERO or before == n else level
    return first, first + search.end[own], ceiling, pushes


@kernel
def height_not_reached(label: Any, ceiling: Any, num_vertices: Any) -> Any:
    """Return the height of a vertex that :func:`search_again` did not reach, given its label after it."""
    if ceiling > num_vertices or label == num_vertices + ONE:
        return num_vertices + ONE
    return max(label - (num_vertices + TWO), ceiling)


@kernel
def search_together(search: Search, thread: Any, net: Any, height: Any, drain: bool) -> tuple[Any, Any, Any]:
    """Make every height the exact residual distance to the sink, or ``n + 1`` (dead).

    Called as :func:`search_again` is.

    Returns
    -------
    begin, end : where this thread's vertices that reach the sink, by distance, stand in ``search.order``
    pushes : number of pushes that this thread made
    """
    begin, end, _, pushes = search_again(search, thread, net, height, ZERO, ZERO, drain)
    return begin, end, pushes
