"""One level of a search: what the threads of :mod:`.search` do between two barriers.

A thread searches from its vertices of a level; what it finds among the others' vertices it mails to their
owners, who read it after the barrier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.atomics import fetch_add, prefetch, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from .search_state import Search, first_own, mail_slot, mailbox, next_own, owner_of, slot

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: How many vertices ahead prefetching begins, and how many behind that it goes on; see look_ahead.
FAR, MIDDLE, NEAR = np.uint64(9), np.uint64(3), np.uint64(6)
#: Arcs of a vertex whose ends are prefetched.
SOME_ARCS = np.uint64(16)
#: With at least so many arcs a vertex, a level at least half as large as what is left does not search, it is
#: searched for.
MANY_ARCS = 32


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
