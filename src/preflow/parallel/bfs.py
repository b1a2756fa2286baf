"""The backward breadth-first search of a global relabel, by a team of threads while nothing else moves.

Level by level, as in Cihan (2010), section 4.6.3: the order of discovery is one array, in which the
in-queue of a level is followed by its out-queue. Levels with few vertices go to one thread, without
barriers, until they grow: graphs with long distances have hundreds of thousands of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import compare_exchange, relaxed_load, relaxed_store
from ..kernels.kernel import kernel
from ..kernels.worklist import Worklist, append, appended, begin_phase, flush, make_worklist, take_chunk
from .barrier import make_barrier, wait

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Vertices a thread, below which a level goes to one thread.
SMALL_LEVEL = np.uint64(128)

#: Positions in Team.shared: where a level begins and ends after one thread worked alone, and how many
#: phases of the worklist there have been.
BEGIN, END, PHASE = 0, 1, 2


class Team(NamedTuple):
    """What the threads of a team share in kernels.

    Attributes
    ----------
    barrier : ndarray of int64
    worklist : Worklist
    shared : ndarray of uint64
        Numbers that one thread writes and all read after a barrier.
    num_threads : ndarray of uint64, shape (1,)
    """

    barrier: NDArray[Any]
    worklist: Worklist
    shared: NDArray[Any]
    num_threads: NDArray[Any]


def make_team(num_threads: int, dtype: Any) -> Team:
    """Return the shared state of a team whose worklists hold vertices of `dtype`."""
    return Team(
        make_barrier(num_threads),
        make_worklist(num_threads, dtype),
        np.zeros(16, dtype=np.uint64),
        np.array([num_threads], dtype=np.uint64),
    )


@kernel
def share_of(size: Any, thread: Any, num_threads: Any) -> tuple[Any, Any]:
    """Return the begin and end of a thread's contiguous share of ``0 .. size - 1``."""
    return size * thread // num_threads, size * (thread + ONE) // num_threads


@kernel
def search_alone(net: Any, height: Any, order: Any, begin: Any, end: Any, enough: Any) -> tuple[Any, Any]:
    """Search level after level in one thread while they have fewer than `enough` vertices.

    Returns the begin and end of the first level not searched; equal if all are.
    """
    dead = np.uint64(len(net.excess)) + ONE
    while begin < end and end - begin < enough:
        level_end = end
        next_height = np.uint64(height[order[begin]]) + ONE
        while begin < level_end:
            v = np.uint64(order[begin])
            begin += ONE
            a = np.uint64(net.first_out[v])
            last = np.uint64(net.first_out[v + ONE])
            while a < last:
                w = np.uint64(net.head[a])
                if np.uint64(height[w]) == dead and net.residual[net.reverse[a]] > 0:
                    height[w] = next_height
                    order[end] = w
                    end += ONE
                a += ONE
    return begin, end


@kernel
def search_level(
    team: Team, thread: Any, phase: Any, net: Any, height: Any, order: Any, begin: Any, end: Any
) -> None:
    """Search one level together: give the vertices it reaches their height and append them to `order`."""
    dead = np.uint64(len(net.excess)) + ONE
    next_height = np.uint64(relaxed_load(height, order[begin])) + ONE
    waiting = ZERO
    while True:
        k, chunk_end = take_chunk(team.worklist, phase, end - begin)
        if k == chunk_end:
            break
        while k < chunk_end:
            v = np.uint64(order[begin + k])
            k += ONE
            a = np.uint64(net.first_out[v])
            last = np.uint64(net.first_out[v + ONE])
            while a < last:
                w = np.uint64(net.head[a])
                if (
                    np.uint64(relaxed_load(height, w)) == dead
                    and net.residual[net.reverse[a]] > 0
                    and compare_exchange(height, w, dead, next_height)
                ):
                    waiting = append(team.worklist, phase, order, end, thread, waiting, w)
                a += ONE
    flush(team.worklist, phase, order, end, thread, waiting)


@kernel
def distances_to_sink_together(team: Team, thread: Any, net: Any, height: Any, order: Any) -> Any:
    """Make every height the exact residual distance to the sink, or ``n + 1`` (dead).

    All threads of the team call it at the same time, while nobody pushes; it ends with a barrier.

    Returns
    -------
    reached : number of vertices that can reach the sink, now in ``order[:reached]`` by distance

    Notes
    -----
    O(n + m) work; a barrier for each level of at least 128 vertices a thread, and two for each run of
    smaller ones.
    """
    num_threads = team.num_threads[0]
    n = np.uint64(len(net.excess))
    dead = n + ONE
    phase = np.uint64(team.shared[PHASE])
    if thread == ZERO:
        begin_phase(team.worklist, phase)
    v, last = share_of(n, thread, num_threads)
    waiting = ZERO
    while v < last:
        if net.sink_residual[v] > 0:
            height[v] = 1
            waiting = append(team.worklist, phase, order, ZERO, thread, waiting, v)
        else:
            height[v] = dead
        v += ONE
    flush(team.worklist, phase, order, ZERO, thread, waiting)
    if not wait(team.barrier, num_threads):
        return ZERO
    begin = ZERO
    end = appended(team.worklist, phase)
    small = SMALL_LEVEL * num_threads if num_threads > ONE else n + ONE
    while begin < end:
        phase += ONE
        if thread == ZERO:
            begin_phase(team.worklist, phase)
        if end - begin < small:
            if thread == ZERO:
                begin, end = search_alone(net, height, order, begin, end, small * np.uint64(2))
                relaxed_store(team.shared, BEGIN, begin)
                relaxed_store(team.shared, END, end)
            if not wait(team.barrier, num_threads):
                return ZERO
            begin = np.uint64(relaxed_load(team.shared, BEGIN))
            end = np.uint64(relaxed_load(team.shared, END))
            if not wait(team.barrier, num_threads):
                return ZERO
        else:
            search_level(team, thread, phase, net, height, order, begin, end)
            if not wait(team.barrier, num_threads):
                return ZERO
            begin, end = end, end + appended(team.worklist, phase)
    if thread == ZERO:
        relaxed_store(team.shared, PHASE, phase + ONE)
    wait(team.barrier, num_threads)
    return end
