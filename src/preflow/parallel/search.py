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

from typing import Any

import numpy as np

from ..kernels.kernel import kernel
from .barrier import wait
from .search_level import drain_to_sink, few_left, may_be_few_left, read_mail, search_back, search_part
from .search_state import (
    EVERYTHING,
    UNFINISHED,
    Search,
    end_of_block,
    first_own,
    next_block,
    slot,
    throw_away,
)
from .totals import add_up

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: How much farther than to the last wanted vertex a search goes: its excess may have to go farther, too.
OVERSHOOT = (np.uint64(5), np.uint64(4))


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
