"""A matching of at least two thirds of the best weight: augmentations with at most two new edges.

Drake and Hougardy, "Linear time local improvements for weighted matchings in graphs" (2003); Pettie and
Sanders, "A simpler linear time 2/3 - epsilon approximation for maximum weight matching" (2004), for the
augmentations and for the search of the best one at a centre. Departures:

- It starts with the matching of locally dominant edges, and from then on it looks only at vertices whose
  augmentations may have changed, in the order of a queue, instead of at random ones.
- It goes on until there is no augmentation of these kinds. So two thirds are certain, without an epsilon.

Definitions. An *arm* of a vertex v is an edge to another vertex u, to be matched, with the matched edge of u,
if it has one, to be given up; its *gain* is the difference of their weights. Each *augmentation* has a
*centre*:

- a free vertex with one arm;
- a matched edge, to be given up, with an arm at one end, or with arms at both ends that have no vertex in
  common;
- a matched edge, whose ends have edges to both ends of another matched edge: a cycle of four edges.

If no augmentation gains, the matching weighs at least two thirds of the best one: take each matched edge as a
centre, with the edges of the best matching at its ends as arms. These augmentations add each edge of the best
matching twice, and give up each matched edge three times at most. Without weights each edge counts 1, and an
augmenting path then has at least five edges.

Pseudo-code::

    start with the matching of locally dominant edges
    all vertices wait in a queue
    while a vertex v waits:                                                   improve
        the centre is v with its partner; it waits no more
        find the best arms of both ends, and the best cycle                   best_arms
        if the best augmentation gains: exchange the edges                    exchange
            neighbours of vertices that were matched or freed wait, and these, too

Time: O(degree) for each vertex that waited. Each augmentation gains at least 1; in practice each vertex waits
a few times. Memory beside the graph: 32 bytes a vertex.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS
from ..links import NONE
from ..solution import GeneralState, Partners
from . import locally_dominant
from .proof import ProofOptions, cover, empty_mates, proved

#: Less than every gain.
LEAST = np.int64(-(2**62))
#: Positions in :attr:`State.sizes`: the first waiting vertex, how many there are, and the number of searches.
FIRST, WAITING, SEARCHES = range(3)


class State(NamedTuple):
    """The matching and the queue."""

    mate: Indices  #: uint32, shape (n,)
    #: shape (n,): the weight of the matched edge of each vertex, 0 for a free one
    held: NDArray[np.int64]
    queue: Indices  #: uint32, shape (n,): a ring
    waits: NDArray[np.uint8]  #: shape (n,): whether a vertex is in the queue
    seen: Indices  #: uint32, shape (n,): the last search that came to a vertex
    reach: NDArray[np.int64]  #: shape (n,): the weight of the edge by which it came there
    #: uint32, shape (2, 2): of both ends of the centre: the vertices of the best arm, and of the best one
    #: that has no vertex in common with it
    arms: Indices
    gains: NDArray[np.int64]  #: shape (2, 2): what these arms gain
    sizes: NDArray[np.uint64]  #: shape (3,)


@kernel
def put(state: State, v: np.uint64) -> None:
    """Let a vertex wait, unless it does."""
    if state.waits[v] == ZERO:
        n = np.uint64(len(state.queue))
        place = state.sizes[FIRST] + state.sizes[WAITING]
        state.queue[place if place < n else place - n] = v
        state.sizes[WAITING] += ONE
        state.waits[v] = ONE


@kernel
def have_common_vertex(state: State, u: np.uint64, v: np.uint64) -> bool:
    """Whether the arms to two vertices have a vertex in common; NONE stands for no arm."""
    return bool(u == v or (v != NONE and np.uint64(state.mate[v]) == u))


@kernel
def best_arms(graph: Neighbours, state: State, v: np.uint64, partner: np.uint64, side: np.uint64) -> None:
    """Find the best arm of a vertex, and the best one that has no vertex in common with it."""
    weighted = len(graph.weight) > 0
    arms, gains = state.arms, state.gains
    arms[side, 0], arms[side, 1] = NONE, NONE
    gains[side, 0], gains[side, 1] = LEAST, LEAST
    for arc in range(graph.first[v], graph.first[v + ONE]):
        u = np.uint64(graph.neighbour[arc])
        if u == partner:
            continue
        weight = graph.weight[arc] if weighted else np.int64(1)
        if side == ZERO:
            state.seen[u] = state.sizes[SEARCHES]
            state.reach[u] = weight
        gain = weight - state.held[u]
        if gain > gains[side, 0]:
            if not have_common_vertex(state, u, np.uint64(arms[side, 0])):
                arms[side, 1], gains[side, 1] = arms[side, 0], gains[side, 0]
            arms[side, 0], gains[side, 0] = u, gain
        elif gain > gains[side, 1] and not have_common_vertex(state, u, np.uint64(arms[side, 0])):
            arms[side, 1], gains[side, 1] = u, gain


@kernel
def best_cycle(
    graph: Neighbours, state: State, v: np.uint64, partner: np.uint64
) -> tuple[np.uint64, np.int64]:
    """Return the vertex to match with `partner` in the best cycle of four edges, and the gain.

    The edges of v have been seen in this search.
    """
    weighted = len(graph.weight) > 0
    best, most = NONE, LEAST
    for arc in range(graph.first[partner], graph.first[partner + ONE]):
        u = np.uint64(graph.neighbour[arc])
        other = np.uint64(state.mate[u])
        if u != v and other != NONE and np.uint64(state.seen[other]) == state.sizes[SEARCHES]:
            weight = graph.weight[arc] if weighted else np.int64(1)
            gain = weight + state.reach[other] - state.held[u]
            if gain > most:
                best, most = u, gain
    return best, most


@kernel
def free(graph: Neighbours, state: State, v: np.uint64) -> None:
    """Give up the matched edge of a vertex, if it has one; vertices next to its partner wait."""
    partner = np.uint64(state.mate[v])
    if partner == NONE:
        return
    state.mate[v], state.mate[partner] = NONE, NONE
    state.held[v], state.held[partner] = 0, 0
    wake(graph, state, partner)


@kernel
def wake(graph: Neighbours, state: State, v: np.uint64) -> None:
    """Let a vertex and its neighbours wait."""
    put(state, v)
    for arc in range(graph.first[v], graph.first[v + ONE]):
        put(state, np.uint64(graph.neighbour[arc]))


@kernel
def exchange(graph: Neighbours, state: State, v: np.uint64, u: np.uint64) -> None:
    """Match two vertices; both give up their matched edges."""
    free(graph, state, v)
    free(graph, state, u)
    arc = np.uint64(graph.first[v])
    while np.uint64(graph.neighbour[arc]) != u:
        arc += ONE
    state.mate[v], state.mate[u] = u, v
    weight = graph.weight[arc] if len(graph.weight) > 0 else np.int64(1)
    state.held[v], state.held[u] = weight, weight
    wake(graph, state, v)
    wake(graph, state, u)


@kernel
def improve_at(graph: Neighbours, state: State, v: np.uint64) -> bool:
    """Make the best augmentation with a vertex and its partner as centre; return whether one gains."""
    partner = np.uint64(state.mate[v])
    arms, gains = state.arms, state.gains
    state.sizes[SEARCHES] += ONE
    best_arms(graph, state, v, partner, ZERO)
    if partner == NONE:
        if gains[0, 0] > 0:
            exchange(graph, state, v, np.uint64(arms[0, 0]))
            return True
        return False
    best_arms(graph, state, partner, v, ONE)
    u, most = best_cycle(graph, state, v, partner)
    # One new edge at most: where a is the one of v, b the one of the partner.
    a, b = NONE if u == NONE else np.uint64(state.mate[u]), u
    for side in range(2):
        if gains[side, 0] > most:
            most = gains[side, 0]
            a = np.uint64(arms[0, 0]) if side == 0 else NONE
            b = np.uint64(arms[1, 0]) if side == 1 else NONE
    for i in range(2):
        for j in range(2):
            x, y = np.uint64(arms[0, i]), np.uint64(arms[1, j])
            if x == NONE or y == NONE or have_common_vertex(state, x, y):
                continue
            if gains[0, i] + gains[1, j] > most:
                a, b, most = x, y, gains[0, i] + gains[1, j]
    if most <= state.held[v]:
        return False
    if a != NONE:
        exchange(graph, state, v, a)
    if b != NONE:
        exchange(graph, state, partner, b)
    return True


@kernel
def improve(graph: Neighbours, state: State, monitor: Monitor) -> None:
    """Make augmentations until no vertex waits."""
    n = np.uint64(len(state.queue))
    scans, made = ZERO, ZERO
    while state.sizes[WAITING] > ZERO and relaxed_load(monitor.stop, 0) == 0:
        v = np.uint64(state.queue[state.sizes[FIRST]])
        state.sizes[FIRST] = state.sizes[FIRST] + ONE if state.sizes[FIRST] + ONE < n else ZERO
        state.sizes[WAITING] -= ONE
        state.waits[v] = ZERO
        partner = np.uint64(state.mate[v])
        scans += np.uint64(graph.first[v + ONE] - graph.first[v])
        if partner != NONE:
            scans += np.uint64(graph.first[partner + ONE] - graph.first[partner])
        if improve_at(graph, state, v):
            made += ONE
    monitor.counts[ARC_SCANS] += scans
    monitor.counts[AUGMENTATIONS] += made


def improved(graph: Neighbours, mate: Indices, control: Control) -> None:
    """Improve a matching in place, with NONE for no partner; stop early if asked to."""
    n = len(mate)
    held = np.empty(n, dtype=np.int64)
    cover(graph, mate, held)
    held //= 2
    state = State(
        mate,
        held,
        np.arange(n, dtype=np.uint32),
        np.ones(n, dtype=np.uint8),
        np.zeros(n, dtype=np.uint32),
        np.zeros(n, dtype=np.int64),
        np.zeros((2, 2), dtype=np.uint32),
        np.zeros((2, 2), dtype=np.int64),
        np.array([0, n, 0], dtype=np.uint64),
    )
    improve(graph, state, control.monitor())


def match(graph: Neighbours, mate: Indices, control: Control) -> None:
    """Add edges to an empty matching in place, with NONE for no partner; stop early if asked to."""
    locally_dominant.match(graph, mate, control)
    improved(graph, mate, control)


def solve(graph: Neighbours, start: Partners | None, options: ProofOptions, control: Control) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    mate = empty_mates(graph, start, control)
    locally_dominant.match(graph, mate, control)
    greedy = mate.copy()
    if not control.stopped:
        improved(graph, mate, control)
    return proved(graph, mate, greedy, options, control)
