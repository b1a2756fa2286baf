"""The active vertices that threads of multicore_paths.py hold: on stacks by height, and counted by height.

A thread gives half of its vertices to one without work, those that follow the highest. Below a floor, a
thread that has vertices waits for higher ones, too; whoever waits lowers the floor, step by step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.residual import ResidualArrays
from ..kernels.atomics import PADDING, fetch_add, fetch_min, relaxed_load, relaxed_store
from ..kernels.clock import now
from ..kernels.kernel import kernel
from ..parallel.barrier import rest
from ..parallel.delays import delay
from ..parallel.idle import (
    EMPTY,
    HOLDING,
    Idle,
    all_empty,
    become_idle,
    claim,
    claim_idle,
    say_given,
    was_given,
)
from ..parallel.queues import Queues, append, pop, size

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: Vertices that are given at once, at most.
GIFT = 16
#: A thread that waits lowers the floor after so many nanoseconds, by one and by this share of it.
FLOOR_WAIT, FLOOR_STEP = np.uint64(2000), np.uint64(64)
#: Positions in State.shared.
WORK, GAP, STOPPING, FLOOR = (np.uint64(k) * PADDING for k in range(4))


class State(NamedTuple):
    """What the threads share beside the residual network and their team.

    Attributes
    ----------
    height, current : ndarray, shape (n,)
        Distance labels and current arcs.
    active_first : ndarray, shape (threads, n + 2)
        For each thread the top of its stack of active vertices of a height; n where empty.
    active_next : ndarray, shape (n,)
    population : ndarray of int64, shape (threads * (n + 2),)
        How many vertices each thread has counted at a height, less those it has moved away from there.
    spare : ndarray of int64, shape (threads, n + 2)
        How many vertices a thread may move away from a height before the counts are added up.
    scarce : ndarray of uint32, shape (n + 2,)
        Whether the counts of a height are added up every time.
    path : ndarray, shape (threads, at least path_length)
    active : ndarray of float64, shape (threads * PADDING,)
        Excess that each thread found on active vertices after the last global relabel.
    highest : ndarray of uint64, shape (threads * PADDING,)
        The greatest height of an active vertex that each thread held then.
    searched : ndarray of uint64, shape (threads * PADDING,)
        How many vertices of each thread it found anew.
    exact_below : ndarray of uint64, shape (threads * PADDING,)
        The least height, of the last global relabel, at which a thread has since changed a distance.
    shared : ndarray of int64
        WORK since the last global relabel; GAP: the lowest height found empty; STOPPING: the solve ends;
        FLOOR: the height below which vertices wait while there are higher ones.
    over : ndarray of int64
        Whether the phase is over.
    delays : ndarray of uint64, or None
        For stress tests, see parallel/delays.py.
    """

    height: NDArray[Any]
    current: NDArray[Any]
    active_first: NDArray[Any]
    active_next: NDArray[Any]
    population: NDArray[Any]
    spare: NDArray[Any]
    scarce: NDArray[Any]
    path: NDArray[Any]
    active: NDArray[Any]
    highest: NDArray[Any]
    searched: NDArray[Any]
    exact_below: NDArray[Any]
    shared: NDArray[Any]
    over: NDArray[Any]
    delays: Any = None


class Stacks(NamedTuple):
    """Where a thread's stacks of active vertices stand.

    Attributes
    ----------
    opened : the greatest height whose stack is valid
    held : the number of vertices on the stacks
    top : the greatest height whose stack may hold a vertex
    """

    opened: Any
    held: Any
    top: Any


@kernel
def put_on_stack(state: State, thread: Any, v: Any, h: Any, stacks: Stacks) -> Stacks:
    """Put a vertex that the thread holds, of height `h`, on its stack."""
    first = state.active_first
    opened = stacks.opened
    while opened < h:
        opened += ONE
        first[thread, opened] = len(state.height)
    state.active_next[v] = first[thread, h]
    first[thread, h] = v
    return Stacks(opened, stacks.held + ONE, max(stacks.top, h))


@kernel
def release(net: ResidualArrays, state: State, thread: Any, v: Any, amount: Any, stacks: Stacks) -> Stacks:
    """Add to the excess of a vertex that the thread holds; keep it on a stack if it then has any."""
    delay(state.delays, thread)
    if fetch_add(net.excess, v, amount) + amount > 0:
        h = np.uint64(state.height[v])
        if h <= np.uint64(len(state.height)):
            return put_on_stack(state, thread, v, h, stacks)
    return stacks


@kernel
def change_level(state: State, thread: Any, num_threads: Any, previous: Any, h: Any) -> None:
    """Count a vertex at its new height; where it was the last one of the previous, lower the gap to there."""
    n = np.uint64(len(state.height))
    stride = n + TWO
    row = thread * stride
    if h <= n:
        relaxed_store(state.population, row + h, state.population[row + h] + 1)
    relaxed_store(state.population, row + previous, state.population[row + previous] - 1)
    state.spare[thread, previous] -= 1
    if previous >= np.uint64(relaxed_load(state.shared, GAP)):
        return
    scarce = relaxed_load(state.scarce, previous) != 0
    if scarce or state.spare[thread, previous] <= 0:
        left = np.int64(0)
        place = previous
        for _ in range(num_threads):
            left += relaxed_load(state.population, place)
            place += stride
        if left <= 0:
            fetch_min(state.shared, GAP, previous)
        few = left <= np.int64(num_threads)
        if scarce != few:
            relaxed_store(state.scarce, previous, few)
        state.spare[thread, previous] = left // np.int64(num_threads)


@kernel
def give_highest(state: State, queues: Queues, thread: Any, level: Any, stacks: Stacks) -> Stacks:
    """Hand active vertices to an idle thread: keep as many of the highest, up to half, and give what follows.

    Neighbours on a stack are often neighbours in the network, so they stay together. What is below the floor
    is not given.
    """
    n = np.uint64(len(state.height))
    floor = max(np.uint64(relaxed_load(state.shared, FLOOR)), ONE)
    other = thread
    most = min(stacks.held // TWO, np.uint64(GIFT))
    given = ZERO
    seen = ZERO
    while level >= floor and given < most:
        v = np.uint64(state.active_first[thread, level])
        kept = n
        while v != n and given < most:
            following = np.uint64(state.active_next[v])
            if seen < most:
                kept = v
            else:
                if other == thread:
                    other = claim_idle(queues.idle, thread)
                    if other == thread:
                        return stacks
                append(queues, other, v)
                given += ONE
                if kept == n:
                    state.active_first[thread, level] = following
                else:
                    state.active_next[kept] = following
            seen += ONE
            v = following
        level -= ONE
    if other != thread:
        say_given(queues.idle, other)
    return Stacks(stacks.opened, stacks.held - given, stacks.top)


@kernel
def wait_for_higher(state: State, idle: Idle, thread: Any, level: Any, stop: Any) -> bool:
    """Wait for a gift, or until the floor comes down to `level`.

    That is the height of the thread's highest vertex; 0 where it has none.

    Returns
    -------
    goes_on : bool
        False if no thread has anything left, or the phase is over or stopped.
    """
    become_idle(idle, thread, EMPTY if level == ZERO else HOLDING)
    looks = 0
    until = now() + FLOOR_WAIT
    while not was_given(idle, thread):
        if all_empty(idle) or relaxed_load(state.over, ZERO) != 0 or relaxed_load(stop, ZERO) != 0:
            return False
        floor = np.uint64(relaxed_load(state.shared, FLOOR))
        if level > ZERO and level >= floor:
            if claim(idle, thread):
                return True
        elif floor > ONE and (looks >= idle.patience[0] or now() >= until):
            fetch_min(state.shared, FLOOR, max(level, floor - floor // FLOOR_STEP - ONE, ONE))
            until = now() + FLOOR_WAIT
        looks = rest(looks, idle.patience[0])
    return True


@kernel
def take_gift(state: State, queues: Queues, thread: Any, stacks: Stacks) -> Stacks:
    """Put what was given to the thread on its stacks."""
    while size(queues, thread) > ZERO:
        v = pop(queues, thread)
        stacks = put_on_stack(state, thread, v, np.uint64(relaxed_load(state.height, v)), stacks)
    return stacks
