"""The matching of Karp and Sipser by several threads: vertices with one neighbour left first.

Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen, "Multithreaded algorithms for maximum matching in
bipartite graphs", IPDPS 2012, here without the two sides. :mod:`.karp_sipser` says what one thread does. The
threads share the numbers of neighbours left, which they lower by fetch-and-add; the one that lowers a number
to 1 puts the vertex on its own stack.

Invariants:

- A thread matches two vertices by two compare-and-swaps of their partners, the smaller vertex first. If the
  second fails, it frees the first. Between the two, others see a vertex as matched that may become free
  again, and may leave a vertex free for this reason: the matching is valid, but not always maximal.
- A number of neighbours left falls to 1 at most once, so a vertex is on one stack at most. The stacks are
  lists through one array.
- Each neighbour that is left counts, and perhaps others: a thread that sees a vertex as matched for a moment
  does not lower its number. So a vertex whose number is 1 or 0 has no more neighbours left.
- Vertices are decided (:mod:`.karp_sipser`) before the second barrier. The number of a decided even vertex
  was at most 1 when it was matched: its other neighbours had lowered it, so they had been matched before, and
  they are odd: an even one would have waited for this vertex to lower its own number.

Pseudo-code, of each thread::

    count the neighbours of its share of the vertices; barrier
    for each vertex of its share with one neighbour: match it, and those that then have one left; decide them
    barrier
    for each vertex that the thread takes: match it with the neighbour that has the fewest neighbours left,
        and then those that have one left
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import compare_exchange, fetch_add, relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.barrier import make_barrier, wait
from ...parallel.thread_pool import run_solver, share_of
from ...solving.run import Control
from ..links import EVEN, NONE, ODD, OUTSIDE
from . import karp_sipser

#: Vertices that a thread takes at once.
CHUNK = np.uint64(1024)


class Pairing(NamedTuple):
    """The state that all threads share."""

    mate: Indices  #: uint32, shape (n,): the partner of each vertex, NONE for none
    label: NDArray[np.uint8]  #: shape (n,): the labels of decided vertices, OUTSIDE for others
    left: NDArray[np.int32]  #: shape (n,): the number of neighbours left
    below: Indices  #: uint32, shape (n,): the next vertex on the stack of a thread
    taken: NDArray[np.int64]  #: shape (1,): the number of vertices that threads have taken
    barrier: NDArray[np.int64]
    stop: NDArray[np.int64]
    num_threads: np.uint64


@kernel
def match_both(mate: Indices, u: np.uint64, v: np.uint64) -> bool:
    """Match two vertices, unless another thread has matched one of them; return whether."""
    low, high = min(u, v), max(u, v)
    if not compare_exchange(mate, low, NONE, high):
        return False
    if not compare_exchange(mate, high, NONE, low):  # mutant: matches-the-second-vertex-unasked
        relaxed_store(mate, low, NONE)
        return False
    return True


@kernel
def take_out(graph: Neighbours, pairing: Pairing, v: np.uint64, stack: np.uint64, decides: bool) -> np.uint64:
    """Take a matched vertex out of the graph; return the stack with those that have one neighbour left.

    `decides` says whether the vertices that have none left are decided.
    """
    arc, end = np.uint64(graph.first[v]), np.uint64(graph.first[v + ONE])
    while arc < end:
        u = np.uint64(graph.neighbour[arc])
        arc += ONE
        if np.uint64(relaxed_load(pairing.mate, u)) != NONE:
            continue
        before = fetch_add(pairing.left, u, -1)
        if before == 2:
            pairing.below[u] = stack
            stack = u
        elif decides and before == 1:
            pairing.label[u] = EVEN
    return stack


@kernel
def match_vertex(
    graph: Neighbours, pairing: Pairing, v: np.uint64, stack: np.uint64, decides: bool
) -> np.uint64:
    """Match a free vertex with the free neighbour that has the fewest neighbours left; return the stack.

    `decides` says whether the pair is decided.
    """
    mate, left = pairing.mate, pairing.left
    while np.uint64(relaxed_load(mate, v)) == NONE:
        best, fewest = NONE, NONE
        arc, end = np.uint64(graph.first[v]), np.uint64(graph.first[v + ONE])
        while arc < end:
            u = np.uint64(graph.neighbour[arc])
            arc += ONE
            if np.uint64(relaxed_load(mate, u)) == NONE:
                number = np.uint64(relaxed_load(left, u))
                if number < fewest:
                    best, fewest = u, number
        if best == NONE:
            return stack
        if match_both(mate, v, best):
            if decides:
                pairing.label[v] = EVEN
                pairing.label[best] = ODD
            stack = take_out(graph, pairing, v, stack, decides)
            return take_out(graph, pairing, best, stack, decides)
    return stack


@kernel
def match_with_ones(graph: Neighbours, pairing: Pairing, v: np.uint64, decides: bool) -> None:
    """Match a vertex, and then those that have one neighbour left."""
    stack = match_vertex(graph, pairing, v, NONE, decides)
    while stack != NONE and relaxed_load(pairing.stop, 0) == 0:
        v = stack
        stack = match_vertex(graph, pairing, v, np.uint64(pairing.below[v]), decides)


@kernel
def match_share(graph: Neighbours, pairing: Pairing, thread: np.uint64) -> None:
    """Match vertices, one thread's share."""
    n = np.uint64(len(pairing.mate))
    begin, end = share_of(n, thread, pairing.num_threads)
    v = begin
    while v < end:
        degree = np.uint64(graph.first[v + ONE]) - np.uint64(graph.first[v])
        pairing.mate[v] = NONE
        pairing.left[v] = degree
        pairing.label[v] = EVEN if degree == ZERO else OUTSIDE
        v += ONE
    if not wait(pairing.barrier, pairing.num_threads):  # mutant: matches-before-all-have-counted
        return
    v = begin
    while v < end and relaxed_load(pairing.stop, 0) == 0:
        if np.uint64(graph.first[v + ONE]) - np.uint64(graph.first[v]) == ONE:
            match_with_ones(graph, pairing, v, True)
        v += ONE
    if not wait(pairing.barrier, pairing.num_threads):
        return
    v = end = ZERO
    while relaxed_load(pairing.stop, 0) == 0:
        if v == end:
            v = np.uint64(fetch_add(pairing.taken, ZERO, CHUNK))
            end = min(v + CHUNK, n)
            if v >= n:
                return
        if np.uint64(relaxed_load(pairing.mate, v)) == NONE:
            match_with_ones(graph, pairing, v, False)  # mutant: decides-pairs-by-choice
        v += ONE


def start(graph: Neighbours, mate: Indices, label: NDArray[np.uint8], control: Control) -> None:
    """Do as :func:`.karp_sipser.start` on ``control.threads`` threads."""
    if control.threads == 1:
        karp_sipser.start(graph, mate, label, control)
        return
    n = len(mate)
    pairing = Pairing(
        mate=mate,
        label=label,
        left=np.empty(n, dtype=np.int32),
        below=np.empty(n, dtype=np.uint32),
        taken=np.zeros(1, dtype=np.int64),
        barrier=make_barrier(control.threads),
        stop=control.stop,
        num_threads=np.uint64(control.threads),
    )

    def share(thread: int) -> None:
        match_share(graph, pairing, np.uint64(thread))

    run_solver(share, control, pairing.barrier)
