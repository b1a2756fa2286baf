"""Price refinement: potentials for which no arc of the residual network has a length below minus epsilon.

The method is that of Goldberg and Radzik 1993 for shortest paths, which Goldberg 1997 (section 5) applies to
a flow that is optimal for a larger epsilon. It changes potentials only. They exist unless a cycle of residual
arcs costs less than minus epsilon times its number of arcs.

Definitions. The *length* of an arc is its cost times `2**shift`, plus epsilon, plus the potential of its
tail, minus that of its head. A residual arc is *admissible* if its length is not positive.

Pseudo-code::

    label all vertices
    until no vertex is labelled:
        search depth first, from labelled vertices that an arc of negative length leaves, by admissible arcs;
            a cycle that has an arc of negative length proves that there are no such potentials
        in topological order of the vertices found:
            take the label from the vertex; raise the length of each of its arcs to zero by lowering the
            potential of the head, and label the head

A pass takes O(m). There are at most n, unless there is a negative cycle; the search may overlook one that
leaves its path and comes back to it by an arc of length zero. Where few lengths are negative, few vertices
are labelled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Index, Int64
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..stats import ARC_SCANS
from .price_update import Ranks
from .residual import COST, FIELDS, LEFT, Residual

#: How a price refinement ends.
REFINED, CYCLE, GAVE_UP = range(3)
#: States of a vertex in a search.
UNSEEN, ON_PATH, FINISHED = np.uint8(0), np.uint8(1), np.uint8(2)
#: Labels in a pass: none, labelled again, or in the list although a scan took the label.
NO_LABEL, LABELLED, LISTED = np.uint8(0), np.uint8(1), np.uint8(2)


class Refinement(NamedTuple):
    """The state of a price refinement."""

    #: shape (n,): labelled vertices; vertices in the order in which the search finishes them; the path of the
    #: search
    labelled: NDArray[np.uint32]
    order: NDArray[np.uint32]
    path: NDArray[np.uint32]
    #: shape (n,)
    label: NDArray[np.uint8]
    seen: NDArray[np.uint8]
    #: shape (n,): the place of the arc of each vertex that the search looks at next
    next_arc: NDArray[np.uint64]
    #: shape (n,): the number of arcs of negative length on the path to a vertex
    negative: NDArray[np.uint32]


def new_refinement(
    ranks: Ranks, next_arc: NDArray[np.uint64], queue: NDArray[np.uint32], queued: NDArray[np.uint8]
) -> Refinement:
    """Return the state for a network, in arrays that price updates and refines use at other times.

    The ranks have any values after a price refinement.
    """
    n = len(next_arc)
    memory = ranks.rank.view(np.uint8)
    return Refinement(
        labelled=memory[: 4 * n].view(np.uint32),
        order=ranks.after[:n],
        path=ranks.before[:n],
        label=queued,
        seen=memory[4 * n : 5 * n],
        next_arc=next_arc,
        negative=queue,
    )


@kernel
def has_short_arc(
    net: Residual, potential: NDArray[np.int64], u: Index, shift: Int64, epsilon: Int64
) -> bool:
    """Return whether a live residual arc of negative length leaves a vertex."""
    arcs = net.arcs
    by = potential[u] + epsilon
    arc, end = net.first[u], net.live[u]
    while arc < end:
        if (
            arcs[arc + LEFT] > 0
            and (np.int64(arcs[arc + COST]) << shift) + by < potential[np.uint64(arcs[arc])]
        ):
            return True
        arc += FIELDS
    return False


@kernel
def order_by_search(
    net: Residual,
    potential: NDArray[np.int64],
    state: Refinement,
    num_labelled: np.uint64,
    shift: Int64,
    epsilon: Int64,
) -> tuple[np.uint64, bool]:
    """Search from the labelled vertices; return how many were found, and whether on no negative cycle."""
    arcs, seen, path, next_arc = net.arcs, state.seen, state.path, state.next_arc
    found = ZERO
    for i in range(num_labelled):
        root = np.uint64(state.labelled[i])
        if seen[root] != UNSEEN or not has_short_arc(net, potential, root, shift, epsilon):
            continue
        depth = ONE
        path[ZERO] = root
        seen[root], next_arc[root], state.negative[root] = ON_PATH, net.first[root], 0
        while depth > ZERO:
            u = np.uint64(path[depth - ONE])
            arc, end = next_arc[u], net.live[u]
            by = potential[u] + epsilon
            count = np.uint64(state.negative[u])
            deeper = False
            while arc < end:
                if arcs[arc + LEFT] > 0:
                    v = np.uint64(arcs[arc])
                    length = (np.int64(arcs[arc + COST]) << shift) + by - potential[v]
                    if length <= 0 and seen[v] != FINISHED:
                        below = count + ONE if length < 0 else count
                        if seen[v] == UNSEEN:
                            seen[v], next_arc[v], state.negative[v] = ON_PATH, net.first[v], below
                            path[depth] = v
                            depth += ONE
                            deeper = True
                            break
                        if below > np.uint64(state.negative[v]):
                            return found, False
                arc += FIELDS
            next_arc[u] = arc + FIELDS
            if not deeper:
                seen[u] = FINISHED
                state.order[found] = u
                found += ONE
                depth -= ONE
    return found, True


@kernel
def refine_prices(
    net: Residual,
    potential: NDArray[np.int64],
    state: Refinement,
    shift: Int64,
    epsilon: Int64,
    most_passes: np.uint64,
    monitor: Monitor,
) -> int:
    """Lower potentials until no live residual arc has a length below zero; return how it ended.

    Whatever the ending, no length becomes negative that was not before, unless that of an arc on which a
    pass has not ended; so the caller keeps a copy of the potentials.
    """
    arcs, labelled, label = net.arcs, state.labelled, state.label
    n = np.uint64(len(potential))
    for i in range(n):
        label[i] = NO_LABEL
        state.seen[i] = UNSEEN
    # Label the vertices that an arc of negative length leaves.
    count = ZERO
    for i in range(n):
        if has_short_arc(net, potential, i, shift, epsilon):
            labelled[count] = i
            count += ONE
    passes = ZERO
    while count > ZERO:
        if passes > n:
            return CYCLE
        if passes == most_passes or relaxed_load(monitor.stop, 0):
            return GAVE_UP
        passes += ONE
        found, acyclic = order_by_search(net, potential, state, count, shift, epsilon)
        if not acyclic:
            return CYCLE
        count = ZERO
        for j in range(found):
            u = np.uint64(state.order[found - ONE - j])
            state.seen[u] = UNSEEN
            if label[u] == LABELLED:
                label[u] = LISTED
            by = potential[u] + epsilon
            arc, end = net.first[u], net.live[u]
            monitor.counts[ARC_SCANS] += (end - arc) // FIELDS
            while arc < end:
                if arcs[arc + LEFT] > 0:
                    v = np.uint64(arcs[arc])
                    least = (np.int64(arcs[arc + COST]) << shift) + by
                    if least < potential[v]:
                        potential[v] = least
                        if label[v] == NO_LABEL:
                            labelled[count] = v
                            count += ONE
                        label[v] = LABELLED
                arc += FIELDS
        kept = ZERO
        for j in range(count):
            v = np.uint64(labelled[j])
            if label[v] == LABELLED:
                labelled[kept] = v
                kept += ONE
            label[v] = NO_LABEL
        count = kept
    return REFINED
