"""A refine by partial augment-relabel (Goldberg 2008): excess moves along short paths of admissible arcs.

Definitions. The *length* of a residual arc is its cost times `2**shift`, plus the potential of its tail,
minus that of its head. Epsilon is `2**level`. A residual arc is *admissible* if its length is negative. A
vertex is *active* if its excess is positive.

Invariants:

1. No live residual arc has a length below minus epsilon, once the short arcs are full.
2. Admissible arcs form no cycle.
3. Every active vertex is in the queue.

Pseudo-code::

    fill all arcs of negative length
    while a vertex is active:
        update prices, if there were `period` relabels since the last update
        the path is the first active vertex of the queue
        until the path has MOST arcs, or ends at a deficit, or a price update is due:
            extend it by an admissible arc that leaves its end
            if there is none: relabel its end, and take it off the path unless it is the only vertex
        push the excess of each vertex of the path, or what the arc can carry, to the next one
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...stats import ARC_SCANS, AUGMENTATIONS, PUSHES, RELABELS
from ..price_update import Ranks, update_prices
from ..residual import COST, FIELDS, LEFT, MATE, Residual

#: How a refine ends: complete; some active vertex reaches no deficit by live arcs; stopped.
COMPLETE, BLOCKED, STOPPED = range(3)
#: Arcs of a path: Goldberg 2008 found 4 best.
MOST = np.uint64(4)
#: More than any length.
ENDLESS = np.int64(2**63 - 1)


class Work(NamedTuple):
    """The state of a solve besides the residual network."""

    #: shape (n,)
    potential: NDArray[np.int64]
    excess: NDArray[np.int64]
    #: shape (n,): the place of the arc at which the next search of a vertex begins
    next_arc: NDArray[np.uint64]
    queue: NDArray[np.uint32]  #: shape (n,): a ring
    queued: NDArray[np.uint8]  #: shape (n,)
    #: path, on_path: shape (5,): the arcs of the path, and its vertices
    path: NDArray[np.uint64]
    on_path: NDArray[np.uint64]
    ranks: Ranks


@kernel
def fill_short_arcs(net: Residual, work: Work, shift: Int64) -> None:
    """Fill the live arcs of negative length."""
    arcs, potential, excess = net.arcs, work.potential, work.excess
    for u in range(np.uint64(len(potential))):
        arc, end = net.first[u], net.live[u]
        work.next_arc[u] = arc
        while arc < end:
            amount = arcs[arc + LEFT]
            if amount > 0:
                v = np.uint64(arcs[arc])
                if (np.int64(arcs[arc + COST]) << shift) + potential[u] < potential[v]:
                    excess[u] -= amount
                    excess[v] += amount
                    arcs[np.uint64(arcs[arc + MATE]) + LEFT] += amount
                    arcs[arc + LEFT] = 0
            arc += FIELDS


@kernel
def admissible_arc(
    net: Residual, potential: NDArray[np.int64], u: np.uint64, begin: np.uint64, shift: Int64
) -> tuple[np.uint64, bool, Int64]:
    """Search the live arcs of a vertex once around from place `begin`.

    Return the first admissible arc, or the residual arc of least length; whether it is admissible; if not,
    its length.
    """
    arcs = net.arcs
    first, end = net.first[u], net.live[u]
    by = potential[u]
    least, best = ENDLESS, first
    if begin >= end:
        begin = first
    arc = begin
    while arc < end:
        if arcs[arc + LEFT] > 0:
            length = (np.int64(arcs[arc + COST]) << shift) + by - potential[np.uint64(arcs[arc])]
            if length < 0:
                return arc, True, length
            if length < least:
                least, best = length, arc
        arc += FIELDS
    arc = first
    while arc < begin:
        if arcs[arc + LEFT] > 0:
            length = (np.int64(arcs[arc + COST]) << shift) + by - potential[np.uint64(arcs[arc])]
            if length < 0:
                return arc, True, length
            if length < least:
                least, best = length, arc
        arc += FIELDS
    return best, False, least


@kernel
def push_along(
    net: Residual, work: Work, length: np.uint64, waiting: np.uint64, head: np.uint64
) -> np.uint64:
    """Push along the path; return the length of the queue."""
    arcs, excess, queue = net.arcs, work.excess, work.queue
    size = np.uint64(len(queue))
    for i in range(length):
        arc = work.path[i]
        u, v = work.on_path[i], work.on_path[i + ONE]
        amount = min(excess[u], np.int64(arcs[arc + LEFT]))
        arcs[arc + LEFT] -= amount
        arcs[np.uint64(arcs[arc + MATE]) + LEFT] += amount
        excess[u] -= amount
        excess[v] += amount
    for i in range(length):
        v = work.on_path[i + ONE]
        if excess[v] > 0 and work.queued[v] == 0:
            work.queued[v] = 1
            slot = head + waiting
            queue[slot if slot < size else slot - size] = v
            waiting += ONE
    return waiting


@kernel
def refine(net: Residual, work: Work, shift: Int64, level: Int64, period: np.uint64, monitor: Monitor) -> int:
    """Move all excess to deficits; return how it ended."""
    potential, excess, queue, next_arc = work.potential, work.excess, work.queue, work.next_arc
    n = np.uint64(len(potential))
    head, waiting = ZERO, ZERO
    for v in range(n):
        work.queued[v] = 0
        if excess[v] > 0:
            queue[waiting] = v
            work.queued[v] = 1
            waiting += ONE
    epsilon = np.int64(1) << level
    relabels = ZERO
    while waiting > ZERO:
        start = np.uint64(queue[head])
        if excess[start] <= 0:
            work.queued[start] = 0
            head += ONE
            if head == n:
                head = ZERO
            waiting -= ONE
            continue
        if relaxed_load(monitor.stop, 0):
            return STOPPED
        if relabels >= period:
            relabels = ZERO
            if update_prices(net, potential, excess, work.ranks, shift, level, monitor) > ZERO:
                return BLOCKED
        # Find a path of admissible arcs.
        length = ZERO
        u = start
        work.on_path[ZERO] = u
        while True:
            begin = next_arc[u]
            arc, found, least = admissible_arc(net, potential, u, begin, shift)
            next_arc[u] = arc
            if found:
                monitor.counts[ARC_SCANS] += (arc - begin) // FIELDS if arc >= begin else ZERO
                work.path[length] = arc
                length += ONE
                u = np.uint64(net.arcs[arc])
                work.on_path[length] = u
                if length == MOST or excess[u] < 0:
                    break
                continue
            monitor.counts[ARC_SCANS] += (net.live[u] - net.first[u]) // FIELDS
            # Relabel. The path will make the opposite of its last arc residual.
            if length > ZERO:
                length -= ONE
                last = work.path[length]
                above = work.on_path[length]
                back = potential[u] - potential[above] - (np.int64(net.arcs[last + COST]) << shift)
                if back < least:
                    least = back
                    next_arc[u] = np.uint64(net.arcs[last + MATE])
                potential[u] -= least + epsilon
                u = above
            elif least == ENDLESS:
                return BLOCKED
            else:
                potential[u] -= least + epsilon
            relabels += ONE
            monitor.counts[RELABELS] += ONE
            if relabels >= period:
                break
        waiting = push_along(net, work, length, waiting, head)
        monitor.counts[PUSHES] += length
        monitor.counts[AUGMENTATIONS] += ONE
    return COMPLETE
