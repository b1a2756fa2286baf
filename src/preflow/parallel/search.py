"""The breadth-first search of a global relabel, backwards from the sink, by several threads together.

The serial search is :func:`preflow.network.distances_to_sink`. It stays a separate kernel: it needs
neither owners nor messages, and it fills one list of vertices, which the gap heuristic of the serial methods
reads.

Definitions
-----------
- A *level* is the set of vertices at one distance from the sink.
- Blocks of consecutive vertices are dealt out to the threads in turn. A thread is the *owner* of the vertices
  in its blocks. Only the owner labels them and searches from them, unless it waits while another thread
  searches alone.
- A *message* tells the owner of a vertex that another thread has found the vertex. It consists of the vertex
  and its residual arc towards the sink. A *box* has the messages from one thread to another.
- A *round* is the work between two barriers: the threads search from a level until it is complete or a box
  is full.
- A vertex is *dead* if it cannot reach the sink; its height is n + 1.
- A vertex is *wanted* if it has excess and its old height is trusted, see :func:`search_again`.

Invariants
----------
- A thread writes only the labels of its own vertices, its own part of ``order`` and its own boxes. Only a
  push with ``drain`` also changes the excess of another vertex, and the opposite arc. (In an earlier design
  the thread that found a vertex labelled it, by compare-and-exchange. Then several threads wrote to the same
  cache lines, and 16 threads searched rmf-wide 136x68 no faster than 4.)
- There are two sets of boxes, the *halves*. The messages of one round are in one half, those of the next
  round in the other half, so one barrier per round suffices.
- A thread's part of ``order`` has its vertices by distance. The vertices of a level directly follow those of
  the level before. So the input queue and the output queue of a level are two ranges of one array, and
  exchanging them copies nothing (Cihan 2010, section 4.6.3).

Pseudo-code
-----------
::

    start: keep heights below exact_below, forget the others             start_search
        the vertices with capacity to the sink are the first level
    repeat for each level:                                               search_again
        if it has few vertices: one thread searches alone until          search_alone
            a level is large again; the others wait at one barrier
        label the vertices named in messages: the level is complete      receive_messages
        if the network is dense and few vertices are unreached:
            each of these looks for a neighbour in the level             search_back
        else: search from the vertices of the level:                     search_part
            label own vertices, send messages about vertices of others
            if a box is full: barrier, receive messages, continue
        barrier; add up how many vertices the threads have found         totals.add_up
        stop some levels after the last wanted vertex

A search may keep the heights that are still exact and resume above them. It may stop early when no vertex
with excess lies farther away.

In a dense network, few vertices are unreached after the first level. The search then goes *bottom-up*: each
unreached vertex looks for a neighbour in the level (Beamer, Asanovic and Patterson, "Direction-optimizing
breadth-first search", SC 2012).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Index, Indices, Number, ResidualNetwork
from ..kernels.atomics import PADDING, fetch_add, prefetch, relaxed_load, relaxed_store
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..network.arcs import arcs_of, fetch_ends, fetch_first, head, opposite, place, push_along
from .barrier import make_barrier, wait
from .totals import add_up, make_totals

#: One thread searches a level alone if the level has fewer arcs than this divided by the number of threads;
#: its arcs are estimated from the average degree. Graphs with long distances have hundreds of thousands of
#: small levels. The limit falls with the number of threads for two reasons: sharing a level gains more, and
#: a thread that searches alone reads more data that other cores wrote last.
SMALL_LEVEL = 4096
#: A block has at most BLOCK vertices, and fewer where a thread would otherwise own fewer than BLOCKS blocks.
BLOCK, BLOCKS = 256, 16
#: All boxes to which a thread writes have room for MESSAGES messages together, each of them for at least
#: FEWEST_MESSAGES.
MESSAGES, FEWEST_MESSAGES = 16384, 64
#: A number above every number of vertices, with two uses. A thread that stops at a full box adds UNFINISHED
#: to the number of vertices that it reports. As the number of wanted vertices or as the last level,
#: EVERYTHING means that the search does not stop early.
UNFINISHED = EVERYTHING = np.uint64(2**48)
#: The search prefetches in three steps. The first step is FAR vertices ahead of the search, the second and
#: the third are MIDDLE and NEAR vertices behind the first.
FAR, MIDDLE, NEAR = np.uint64(9), np.uint64(3), np.uint64(6)
#: The search prefetches the heads of at most this many arcs of a vertex.
SOME_ARCS = np.uint64(16)
#: A network is dense if it has at least this many arcs per vertex. A search of a dense network goes bottom-up
#: from a level that has more than half as many vertices as are unreached.
MANY_ARCS = 32
#: A search ends at 5/4 of the distance at which it found the last wanted vertex, because excess may have to
#: take a longer path than the shortest.
OVERSHOOT = (np.uint64(5), np.uint64(4))


class ParallelSearch(NamedTuple):
    """The state that the threads of a search share; `order` is the result."""

    barrier: NDArray[np.int64]
    #: shape (1,): the vertex v is in block ``v >> shift``; thread ``(v >> shift) % num_threads`` owns it.
    #: Each thread has a part of `order` with `room` entries. A box has room for `box_size` messages. One
    #: thread searches a level of fewer than `small` vertices alone.
    num_threads: NDArray[np.uint64]
    shift: NDArray[np.uint64]
    room: NDArray[np.uint64]
    box_size: NDArray[np.uint64]
    small: NDArray[np.uint64]
    #: shape (threads * room,): the vertices of each thread that reach the sink, by distance
    order: Indices
    #: shape (threads * PADDING,): the range of each thread's part of `order` from which the thread has yet to
    #: search
    begin: NDArray[np.uint64]
    end: NDArray[np.uint64]
    #: shape (threads * PADDING,): number of vertices of each thread in a level; the thread that searches
    #: alone counts them
    size: NDArray[np.uint64]
    #: shape (threads * PADDING,): memory of the barrier after each level, which adds up how many vertices
    #: were found: see totals.py
    totals: NDArray[np.uint64]
    #: shape (threads * PADDING,): number of vertices of each thread that keep their heights and are not
    #: searched from
    kept: NDArray[np.uint64]
    #: shape (threads * PADDING,): number of wanted vertices of each thread, and how many of them it has found
    wanted: NDArray[np.uint64]
    found: NDArray[np.uint64]
    #: shape (4,): results of the thread that searched alone: the level that it has reached, the number of
    #: vertices in this level and in all levels before it, and the level after which the search ends
    alone: NDArray[np.uint64]
    #: the dtype of order, shape (2 * threads * threads * box_size * 2,): the boxes from each thread to each
    #: thread, in two halves
    messages: Indices
    #: shape (2 * threads * stride,): number of messages in each box. `stride` is the number of threads,
    #: rounded up to a multiple of PADDING.
    num_messages: NDArray[np.uint64]


class Front(NamedTuple):
    """The progress of a search, which all threads know between two levels."""

    level: np.uint64  #: the level to search from; all its vertices are found
    before: np.uint64  #: number of vertices in the levels before it
    wanted: np.uint64  #: number of wanted vertices, EVERYTHING if there are none
    #: the level after which the search ends, EVERYTHING before the last wanted vertex is found
    last_level: np.uint64


class Part(NamedTuple):
    """The vertices of a level from which a thread has yet to search."""

    #: their range in the thread's part of ``order``
    begin: np.uint64
    end: np.uint64
    done: np.uint64  #: number of arcs of the first vertex that the thread has already read


class Round(NamedTuple):
    """The settings of one round of a thread."""

    next_height: np.uint64  #: the height of the vertices that the thread finds
    half: np.uint64  #: the half of the boxes to which the thread writes its messages
    #: whether all other threads wait. Then the thread labels their vertices itself and sends no messages.
    alone: bool
    #: whether vertices push their excess along the arcs over which the search finds them
    drain: bool


def make_search(num_threads: int, num_vertices: int, num_arcs: int, dtype: DTypeLike) -> ParallelSearch:
    """Return the shared state of searches by `num_threads` threads."""

    def number(value: int) -> NDArray[np.uint64]:
        return np.array([value], dtype=np.uint64)

    def padded(count: int, entries: int = 1) -> NDArray[np.uint64]:
        return np.zeros(count * num_threads * -(-entries // int(PADDING)) * int(PADDING), dtype=np.uint64)

    block = min(BLOCK, max(1, num_vertices // (BLOCKS * num_threads)))
    shift = block.bit_length() - 1
    blocks = -(-num_vertices // (1 << shift))
    room = -(-blocks // num_threads) << shift
    box_size = max(FEWEST_MESSAGES, MESSAGES // (2 * num_threads)) if num_threads > 1 else 0
    small = num_vertices + 1
    if num_threads > 1:
        small = SMALL_LEVEL * num_vertices // (num_threads * max(1, num_arcs))
    return ParallelSearch(
        barrier=make_barrier(num_threads),
        num_threads=number(num_threads),
        shift=number(shift),
        room=number(room),
        box_size=number(box_size),
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
        messages=np.empty(2 * num_threads * num_threads * box_size * 2, dtype=dtype),
        num_messages=padded(2, num_threads),
    )


@kernel
def slot(thread: Index) -> np.uint64:
    """Return the index of a thread's entry in a padded array."""
    return np.uint64(thread) * PADDING


@kernel
def owner_of(search: ParallelSearch, v: np.uint64) -> Number:
    """Return the thread that owns a vertex."""
    return (v >> search.shift[0]) % search.num_threads[0]


@kernel
def first_own(search: ParallelSearch, thread: np.uint64) -> Number:
    """Return the first vertex that a thread owns; it may be n or more."""
    return thread << search.shift[0]


@kernel
def next_own(search: ParallelSearch, v: np.uint64) -> np.uint64:
    """Return the next vertex of the thread that owns `v`; it may be n or more."""
    v += ONE
    if v & ((ONE << search.shift[0]) - ONE) == ZERO:
        v += (search.num_threads[0] - ONE) << search.shift[0]
    return v


@kernel
def end_of_block(search: ParallelSearch, v: np.uint64, num_vertices: np.uint64) -> np.uint64:
    """Return the end of the block that begins with a vertex."""
    return min(v + (ONE << search.shift[0]), num_vertices)


@kernel
def next_block(search: ParallelSearch, v: np.uint64) -> Number:
    """Return where the next block of the thread that owns the block at `v` begins; it may be n or more."""
    return v + (search.num_threads[0] << search.shift[0])


@kernel
def message_count_at(search: ParallelSearch, half: np.uint64, writer: np.uint64, reader: np.uint64) -> Number:
    """Return the index of a box in ``search.num_messages``."""
    stride = np.uint64(len(search.num_messages)) // (search.num_threads[0] * TWO)
    return (half * search.num_threads[0] + writer) * stride + reader


@kernel
def first_message(search: ParallelSearch, half: np.uint64, writer: np.uint64, reader: np.uint64) -> Number:
    """Return where a box begins in ``search.messages``."""
    num_threads = search.num_threads[0]
    return ((half * num_threads + writer) * num_threads + reader) * search.box_size[0] * TWO


@kernel
def discard_messages(search: ParallelSearch, half: np.uint64, writer: np.uint64) -> None:
    """Empty a thread's boxes to all others in one half."""
    for reader in range(search.num_threads[0]):
        search.num_messages[message_count_at(search, half, writer, np.uint64(reader))] = ZERO


@kernel
def drain_to_sink(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    """Push as much excess of `v` to the sink as the capacity allows; return the number of pushes."""
    amount = min(net.excess[v], net.sink_residual[v])
    if amount <= 0:
        return ZERO
    net.excess[v] -= amount
    net.sink_residual[v] -= amount
    return ONE


@kernel
def reach(
    search: ParallelSearch,
    owner: np.uint64,
    net: ResidualNetwork,
    height: Indices,
    w: np.uint64,
    b: np.uint64,
    next_height: np.uint64,
    drain: bool,
) -> np.uint64:
    """Label the vertex `w`, which the search found over its residual arc `b`; return the number of pushes.

    With `drain` the vertex first pushes its excess over `b`. If this saturates `b`, it stays unreached.
    """
    pushes = ZERO
    excess = net.excess[w]
    wanted = excess > 0 and np.uint64(height[w]) > np.uint64(len(net.excess)) + ONE
    if drain and excess > 0:
        v, used = head(net, w, b), place(net, w, b)
        amount = min(excess, np.int64(net.residual[used]))
        excess -= amount
        net.excess[w] = excess
        fetch_add(net.excess, v, amount)  # mutant: adds-plainly-what-others-vertices-get
        push_along(net, w, v, b, amount)
        pushes = ONE
        if net.residual[used] == 0:  # mutant: a-saturated-arc-counts
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
def may_be_few_left(net: ResidualNetwork) -> bool:
    """Return whether the network is dense, so that the search may go bottom-up."""
    return len(net.residual) >= len(net.excess) * MANY_ARCS


@kernel
def few_left(net: ResidualNetwork, size: np.uint64, reached: np.uint64) -> bool:
    """Return whether to go bottom-up from a level of `size` vertices; `reached` includes this level."""
    return may_be_few_left(net) and bool(np.uint64(len(net.excess)) - reached < size * TWO)


@kernel
def search_back(
    search: ParallelSearch,
    thread: np.uint64,
    net: ResidualNetwork,
    height: Indices,
    next_height: np.uint64,
    drain: bool,
) -> np.uint64:
    """Label a thread's unreached vertices with a neighbour below `next_height`, and return the pushes made.

    The neighbour must be in the level just below. This is the bottom-up step.
    """
    n, level = np.uint64(len(net.excess)), next_height - ONE
    pushes = ZERO
    v = first_own(search, thread)
    while v < n:
        a, last = arcs_of(net, v)
        if np.uint64(height[v]) <= n:
            a = last
        while a < last:
            if net.residual[place(net, v, a)] > 0 and relaxed_load(height, head(net, v, a)) == level:
                pushes += reach(search, thread, net, height, v, a, next_height, drain)
                if np.uint64(height[v]) <= n:
                    break
            a += ONE
        v = next_own(search, v)
    return pushes


@kernel
def look_ahead(
    search: ParallelSearch,
    net: ResidualNetwork,
    height: Indices,
    begin: np.uint64,
    last: np.uint64,
    k: np.uint64,
) -> None:
    """Prefetch in three steps the data that the search from ``order[begin : last]`` will read.

    The search calls this for each `k` from `begin` on, when it is FAR entries behind. The first step
    prefetches the entry of ``first_out`` of vertex ``order[k]``; the second the arcs of the vertex MIDDLE
    entries before it; the third the heights and residual capacities of the neighbours of the vertex NEAR
    entries before it. The search branches on these heights. The processor cannot predict such branches, so
    without prefetching it waits for one cache miss at a time.
    """
    order = search.order
    if k < last:
        fetch_first(net, np.uint64(order[k]))
    if begin + MIDDLE <= k < last + MIDDLE:
        fetch_ends(net, np.uint64(order[k - MIDDLE]))
    if begin + NEAR <= k < last + NEAR:
        v = np.uint64(order[k - NEAR])
        a, end = arcs_of(net, v)
        end = min(end, a + SOME_ARCS)
        while a < end:
            w = head(net, v, a)
            prefetch(height, w)
            prefetch(net.residual, place(net, w, opposite(net, a)))
            a += ONE


@kernel
def search_part(
    search: ParallelSearch,
    thread: np.uint64,
    net: ResidualNetwork,
    height: Indices,
    part: Part,
    this_round: Round,
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Search from a thread's part of a level, until the part is complete or a box is full.

    Return where to continue, as in :class:`Part`, which is ``part.end`` if the part is complete, and the
    number of pushes made.
    """
    next_height, half, drain = this_round.next_height, this_round.half, this_round.drain
    k, end, done = part.begin, part.end, part.done
    n = np.uint64(len(net.excess))
    box_size = search.box_size[0]
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
        begin, last = arcs_of(net, v)
        a = begin + done
        while a < last:
            w = head(net, v, a)
            if np.uint64(relaxed_load(height, w)) > n:
                b = opposite(net, a)
                if net.residual[place(net, w, b)] > 0:
                    owner = owner_of(search, w)
                    if this_round.alone or owner == thread:
                        pushes += reach(search, owner, net, height, w, b, next_height, drain)
                    else:
                        box = message_count_at(search, half, thread, owner)
                        count = search.num_messages[box]
                        if count == box_size:
                            return k, a - begin, pushes  # mutant: the-arc-that-did-not-fit-is-skipped
                        entry = first_message(search, half, thread, owner) + count * TWO
                        search.messages[entry] = w
                        search.messages[entry + ONE] = b
                        search.num_messages[box] = count + ONE
            a += ONE
        done = ZERO
        k += ONE
    return k, done, pushes


@kernel
def receive_messages(
    search: ParallelSearch,
    thread: np.uint64,
    net: ResidualNetwork,
    height: Indices,
    level: np.uint64,
    half: np.uint64,
    drain: bool,
) -> np.uint64:
    """Label the thread's vertices that other threads have found; return the number of pushes."""
    n = np.uint64(len(net.excess))
    num_threads = search.num_threads[0]
    pushes = ZERO
    for step in range(num_threads):
        writer = (thread + np.uint64(step)) % num_threads
        entry = first_message(search, half, writer, thread)
        last = entry + search.num_messages[message_count_at(search, half, writer, thread)] * TWO
        while entry < last:
            w = np.uint64(search.messages[entry])
            if np.uint64(height[w]) > n:  # mutant: messages-is-labelled-twice
                b = np.uint64(search.messages[entry + ONE])
                pushes += reach(search, thread, net, height, w, b, level, drain)
            entry += TWO
    return pushes


@kernel
def first_at(search: ParallelSearch, thread: np.uint64, height: Indices, level: np.uint64) -> np.uint64:
    """Return how many of the vertices that a thread found in the last search have heights below `level`."""
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
    search: ParallelSearch,
    thread: np.uint64,
    net: ResidualNetwork,
    height: Indices,
    exact_below: np.uint64,
    trusted: np.uint64,
    drain: bool,
) -> np.uint64:
    """Prepare a thread's vertices for a search that resumes at `exact_below`; return the pushes made.

    Vertices with heights below `exact_below` keep them, and the search starts from the highest level of
    these. Every other vertex gets a label above n, which marks it as unreached: its old height + n + 2 if the
    old height is at most `trusted`, otherwise the dead label. A search from the sink labels the first level
    here.
    """
    n = np.uint64(len(net.excess))
    dead = n + ONE
    resumes = exact_below > ONE
    own = slot(thread)
    begin = ZERO
    end = ZERO
    if resumes:
        # mutant: the-least-level-searched-from-is-not-counted-again
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
    discard_messages(search, ZERO, thread)
    return pushes


@kernel
def level_to_end_with(level: np.uint64) -> np.uint64:
    """Return the last level of a search that has found all wanted vertices when it ends `level`."""
    return level * OVERSHOOT[0] // OVERSHOOT[1]


@kernel
def search_alone(
    search: ParallelSearch,
    net: ResidualNetwork,
    height: Indices,
    front: Front,
    width: np.uint64,
    enough: np.uint64,
    drain: bool,
) -> tuple[Front, np.uint64, np.uint64]:
    """Search with one thread, until a level has at least `width` vertices or none.

    The search also stops at the last level, or when it has reached `enough` vertices in all. Return its
    progress, the number of vertices of the level reached, and the number of pushes made.
    """
    level, before, wanted, last_level = front.level, front.before, front.wanted, front.last_level
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
            return Front(level, before, wanted, last_level), size, pushes
        backwards = few_left(net, size, before + size)
        for thread in range(num_threads):
            begin = search.begin[slot(thread)]
            end = begin + search.size[slot(thread)]
            search.begin[slot(thread)] = end
            if backwards:
                pushes += search_back(search, np.uint64(thread), net, height, level + ONE, drain)
                continue
            part, this_round = Part(begin, end, ZERO), Round(level + ONE, ZERO, True, drain)
            _, _, made = search_part(search, np.uint64(thread), net, height, part, this_round)
            pushes += made
        before += size
        level += ONE


@kernel
def has_wide_level(
    search: ParallelSearch, net: ResidualNetwork, height: Indices, width: np.uint64, enough: np.uint64
) -> bool:
    """Return whether a level has at least `width` vertices; look at the `enough` nearest to the sink only."""
    for thread in range(search.num_threads[0]):
        start_search(search, np.uint64(thread), net, height, ZERO, ZERO, False)
    front = Front(ONE, ZERO, EVERYTHING, EVERYTHING)
    _, size, _ = search_alone(search, net, height, front, width, enough, False)
    return bool(size >= width)


@kernel
def go_on_alone(
    search: ParallelSearch, net: ResidualNetwork, height: Indices, front: Front, half: np.uint64, drain: bool
) -> np.uint64:
    """Receive all messages, then search with one thread while levels are small; return the pushes made."""
    pushes = ZERO
    for thread in range(search.num_threads[0]):
        pushes += receive_messages(search, np.uint64(thread), net, height, front.level, half, drain)
    for thread in range(search.num_threads[0]):
        discard_messages(search, half, np.uint64(thread))
    n = np.uint64(len(net.excess))
    front, size, made = search_alone(search, net, height, front, search.small[0] * TWO, n, drain)
    search.alone[0], search.alone[1] = front.level, size
    search.alone[2], search.alone[3] = front.before, front.last_level
    return pushes + made


@kernel
def search_again(
    search: ParallelSearch,
    thread: np.uint64,
    net: ResidualNetwork,
    height: Indices,
    exact_below: np.uint64,
    trusted: np.uint64,
    drain: bool,
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Make heights exact again: all of them, or those from `exact_below` up to a ceiling.

    All threads call this at the same time, and nothing else pushes meanwhile. It ends with a barrier. With
    `drain`, a vertex with excess first pushes it along the arc over which the search finds the vertex. If
    this saturates the arc, the arc does not count, as in :func:`preflow.network.distances_to_sink`.

    All heights below `exact_below` are those of the last search and still exact; the search resumes from
    there. 0 or 1 searches from the sink. If `trusted` is not 0, old heights up to it are lower bounds of
    distances. A vertex with such a height and with excess is *wanted*. The search may stop some levels after
    it has found all wanted vertices. A vertex that was not reached then keeps the label above n that
    :func:`start_search` gave it. The caller turns it into a height by :func:`height_not_reached`.

    Return the range of this thread's vertices that were reached in ``search.order``, by distance; a lower
    bound of the distances of the others, ``n + 1`` if they cannot reach the sink; and the number of pushes of
    this thread. O(n + m) work. One barrier for each large level (two in a dense network), and one for each
    run of small levels.
    """
    n = np.uint64(len(net.excess))
    num_threads = search.num_threads[0]
    first = thread * search.room[0]
    own = slot(thread)
    # Start; after the barrier all vertices of the first level are labelled.
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
        # A run of small levels: one thread searches, the others wait.
        if size < search.small[0]:
            if thread == ZERO:
                front = Front(level, before, wanted, last_level)
                pushes += go_on_alone(search, net, height, front, half, drain)
            if not wait(search.barrier, num_threads):
                return ZERO, ZERO, ONE, pushes
            level, size, before = search.alone[0], search.alone[1], search.alone[2]
            last_level = search.alone[3]
            if size == ZERO or before + size == n or level >= last_level:
                before += size
                level += ONE
                break
        # Complete the thread's part of the level from the messages of the last round.
        pushes += receive_messages(search, thread, net, height, level, half, drain)
        k = search.begin[own]
        end = search.end[own]
        found = end - k
        done = ZERO
        # In a dense network the search may go bottom-up.
        if may_be_few_left(net):
            # mutant: no-barrier-before-the-sizes-of-a-dense-network-s-level-are-added
            holds, size, _ = add_up(search.barrier, search.totals, thread, num_threads, found, ZERO)
            if not holds:
                return ZERO, ZERO, ONE, pushes
            if few_left(net, size, before + size):
                pushes += search_back(search, thread, net, height, level + ONE, drain)
                k = end
        search.begin[own] = end
        size = ZERO
        more = True
        # Search from the level, in several rounds if boxes fill up.
        while more:
            half = ONE - half  # mutant: one-half-of-the-messages
            discard_messages(search, half, thread)
            part, this_round = Part(k, end, done), Round(level + ONE, half, False, drain)
            k, done, made = search_part(search, thread, net, height, part, this_round)
            pushes += made
            if k < end:
                found += UNFINISHED
            holds, total, all_found = add_up(  # mutant: no-barrier-between-levels
                search.barrier, search.totals, thread, num_threads, found, search.found[own]
            )
            if not holds:
                return ZERO, ZERO, ONE, pushes
            size += total % UNFINISHED
            more = bool(total >= UNFINISHED)  # mutant: who-has-read-its-own-messages-goes-on
            found = ZERO
            if more:  # mutant: messages-of-the-last-round-is-not-read
                pushes += receive_messages(search, thread, net, height, level + ONE, half, drain)
        # mutant: those-found-are-counted-while-they-are-looked-for, stops-at-the-first-wanted-vertex
        if last_level == EVERYTHING and all_found >= wanted:
            last_level = level_to_end_with(level)
        before += size
        level += ONE
    ceiling = n + ONE if size == ZERO or before == n else level
    return first, first + search.end[own], ceiling, pushes


@kernel
def height_not_reached(label: np.uint64, ceiling: np.uint64, num_vertices: np.uint64) -> np.uint64:
    """Return the height of a vertex that :func:`search_again` did not reach, given the label it left."""
    if ceiling > num_vertices or label == num_vertices + ONE:
        return num_vertices + ONE
    return max(label - (num_vertices + TWO), ceiling)


@kernel
def search_together(
    search: ParallelSearch, thread: np.uint64, net: ResidualNetwork, height: Indices, drain: bool
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Make every height the exact residual distance to the sink, or ``n + 1`` (dead).

    All threads call it, like :func:`search_again`. Return the range of this thread's vertices that reach the
    sink in ``search.order``, by distance, and the number of pushes of this thread.
    """
    begin, end, _, pushes = search_again(search, thread, net, height, ZERO, ZERO, drain)
    return begin, end, pushes
