"""The matching of locally dominant edges, on one thread or several.

Preis, "Linear time 1/2-approximation algorithm for maximum weighted matching in general graphs" (1999);
Manne and Bisseling, "A parallel approximation algorithm for the weighted maximum matching problem" (2008).
Departures:

- Edges have the order of :mod:`.preference`, in which no two are equal. So there is one matching of locally
  dominant edges, the greedy one, and every number of threads finds it.
- Only vertices that point to a vertex that was matched with another look at their edges again.

Definitions. Each free vertex *points* to the free neighbour by its first edge in the order. An edge is
*locally dominant* if its ends point to each other. A vertex is *dirty* if it points to no free vertex, and
has not found out that it has no free neighbour.

Invariants, between two rounds:

1. A free vertex that is not dirty points to its first choice among free vertices, or has none.
2. No two free vertices that are not dirty point to each other.
3. Matched vertices point to each other.

At the end no vertex is dirty, and by the first two invariants no edge between free vertices is left: of
these, the first in the order would be locally dominant. Each matched edge was the first of all that had free
ends. So the duals of :mod:`.proof` prove that no matching weighs more than twice as much.

Pseudo-code, for one thread a queue of matched vertices::

    for each free vertex v: point; if v and the one that it points to point to each other: match them
    for each matched vertex v, each neighbour u that points to v but is not matched with it:
        point; if u and the one that it points to point to each other: match them

and for several::

    all vertices are dirty
    while there are dirty vertices:
        each dirty vertex points to its first choice                               point_share
        barrier
        for each dirty vertex v that is pointed to by its choice u:                match_share
            the thread that is first to exchange the mate of the lower one matches both
            and lists the others that point to u or v: they are dirty
        barrier

In the second half of a round no pointer changes, and each vertex points to one other; so each dirty vertex is
listed once. Time: O(m) where few vertices look again; at worst O(m d), with d the largest degree. Memory
beside the graph: 8 bytes a vertex on one thread, 12 on several.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import compare_exchange, relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.barrier import make_barrier, wait
from ...parallel.thread_pool import run_solver
from ...parallel.worklist import Worklist, append, appended, begin_phase, flush, make_worklist, take_chunk
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS, PHASES
from ..links import NONE
from ..solution import GeneralState, Partners
from .preference import first_choice
from .proof import ProofOptions, empty_mates, proved


@kernel
def point_and_match(
    graph: Neighbours, mate: Indices, pointer: Indices, queue: Indices, size: np.uint64, v: np.uint64
) -> np.uint64:
    """Let a free vertex point, and match it if its choice points back; return the size of the queue."""
    u = first_choice(graph, mate, v)
    pointer[v] = u
    if u != NONE and np.uint64(pointer[u]) == v:
        mate[v], mate[u] = u, v
        queue[size], queue[size + ONE] = v, u
        size += ONE + ONE
    return size


@kernel
def match_alone(graph: Neighbours, mate: Indices, pointer: Indices, queue: Indices, monitor: Monitor) -> None:
    """Match locally dominant edges until none is left, on one thread; all pointers are NONE at first."""
    size, first, scans = ZERO, ZERO, ZERO
    for vertex in range(len(mate)):
        if relaxed_load(monitor.stop, 0) != 0:
            return
        v = np.uint64(vertex)
        if np.uint64(mate[v]) == NONE:
            size = point_and_match(graph, mate, pointer, queue, size, v)
            scans += np.uint64(graph.first[v + ONE] - graph.first[v])
    while first < size and relaxed_load(monitor.stop, 0) == 0:
        v = np.uint64(queue[first])
        first += ONE
        scans += np.uint64(graph.first[v + ONE] - graph.first[v])
        for arc in range(graph.first[v], graph.first[v + ONE]):
            u = np.uint64(graph.neighbour[arc])
            if np.uint64(pointer[u]) == v and np.uint64(mate[v]) != u:
                size = point_and_match(graph, mate, pointer, queue, size, u)
                scans += np.uint64(graph.first[u + ONE] - graph.first[u])
    monitor.counts[ARC_SCANS] += scans
    monitor.counts[AUGMENTATIONS] += size // np.uint64(2)


class Rounds(NamedTuple):
    """The state that the threads share."""

    #: uint32, shape (n,)
    mate: Indices
    pointer: Indices
    #: uint32, shape (2 n,): two lists of dirty vertices, which take turns: a round reads one and fills the
    #: other
    dirty: Indices
    worklist: Worklist
    barrier: NDArray[np.int64]
    #: shape (1,): whether the first thread saw the stop flag in this round
    stopped: NDArray[np.int64]
    stop: NDArray[np.int64]  #: shape (1,)
    counts: NDArray[np.uint64]  #: shape (threads, counters)


class Round(NamedTuple):
    """One thread's part in a round."""

    thread: np.uint64
    #: the number of its first half: those of the two halves are an even number and the next one
    number: np.uint64
    #: where the dirty vertices begin in their array, and how many there are
    base: np.uint64
    size: np.uint64
    following: np.uint64  #: where the list of the next round begins


@kernel
def point_share(graph: Neighbours, rounds: Rounds, current: Round) -> None:
    """Let dirty vertices point, those that this thread takes."""
    scans = ZERO
    k, end = take_chunk(rounds.worklist, current.number, current.size)
    while k < end and relaxed_load(rounds.stop, 0) == 0:
        v = np.uint64(rounds.dirty[current.base + k])
        k += ONE
        choice = first_choice(graph, rounds.mate, v)
        rounds.pointer[v] = choice
        scans += np.uint64(graph.first[v + ONE] - graph.first[v])
        if k == end:
            k, end = take_chunk(rounds.worklist, current.number, current.size)
    rounds.counts[current.thread, ARC_SCANS] += scans


@kernel
def list_dirty(
    graph: Neighbours, rounds: Rounds, current: Round, waiting: np.uint64, v: np.uint64, partner: np.uint64
) -> np.uint64:
    """List the vertices that point to v, but for its partner; return how many are in the thread's buffer."""
    for arc in range(graph.first[v], graph.first[v + ONE]):
        u = np.uint64(graph.neighbour[arc])
        if np.uint64(rounds.pointer[u]) == v and u != partner:  # mutant: lists-the-partner
            waiting = append(
                rounds.worklist,
                current.number + ONE,
                rounds.dirty,
                current.following,
                current.thread,
                waiting,
                u,
            )
    rounds.counts[current.thread, ARC_SCANS] += np.uint64(graph.first[v + ONE] - graph.first[v])
    return waiting


@kernel
def match_share(graph: Neighbours, rounds: Rounds, current: Round) -> None:
    """Match dirty vertices that are pointed to by their choice, and list what becomes dirty."""
    waiting, pairs = ZERO, ZERO
    k, end = take_chunk(rounds.worklist, current.number + ONE, current.size)
    while k < end and relaxed_load(rounds.stop, 0) == 0:
        v = np.uint64(rounds.dirty[current.base + k])
        k += ONE
        u = np.uint64(rounds.pointer[v])
        if u != NONE and np.uint64(rounds.pointer[u]) == v:
            low, high = min(u, v), max(u, v)
            if compare_exchange(rounds.mate, low, NONE, high):
                relaxed_store(rounds.mate, high, low)
                pairs += ONE
                waiting = list_dirty(graph, rounds, current, waiting, u, v)
                waiting = list_dirty(graph, rounds, current, waiting, v, u)
        if k == end:
            k, end = take_chunk(rounds.worklist, current.number + ONE, current.size)
    flush(rounds.worklist, current.number + ONE, rounds.dirty, current.following, current.thread, waiting)
    rounds.counts[current.thread, AUGMENTATIONS] += pairs


@kernel
def match_together(graph: Neighbours, rounds: Rounds, num_threads: np.uint64, thread: np.uint64) -> None:
    """Match locally dominant edges until none is left, one thread's part; the first list has all vertices."""
    n = np.uint64(len(rounds.mate))
    number, base, size = ZERO, ZERO, n
    while size > ZERO:
        current = Round(thread, number, base, size, n - base)
        if thread == ZERO:
            begin_phase(rounds.worklist, number)
        point_share(graph, rounds, current)
        if not wait(rounds.barrier, num_threads):  # mutant: no-barrier-in-a-round
            return
        if thread == ZERO:
            begin_phase(rounds.worklist, number + ONE)
            relaxed_store(rounds.stopped, 0, relaxed_load(rounds.stop, 0))
            rounds.counts[thread, PHASES] += ONE
        match_share(graph, rounds, current)
        if not wait(rounds.barrier, num_threads):
            return
        if relaxed_load(rounds.stopped, 0) != 0:
            return
        size = appended(rounds.worklist, number + ONE)
        base = current.following
        number += ONE + ONE


def match(graph: Neighbours, mate: Indices, control: Control) -> None:
    """Add edges to an empty matching in place, with NONE for no partner; stop early if asked to."""
    n = len(mate)
    pointer = np.full(n, NONE, dtype=np.uint32)
    if control.threads == 1:
        match_alone(graph, mate, pointer, np.empty(n + 1, dtype=np.uint32), control.monitor())
        return
    dirty = np.empty(2 * n, dtype=np.uint32)
    dirty[:n] = np.arange(n, dtype=np.uint32)
    threads = control.threads
    rounds = Rounds(
        mate,
        pointer,
        dirty,
        make_worklist(threads, np.uint32),
        make_barrier(threads),
        np.zeros(1, dtype=np.int64),
        control.stop,
        control.thread_counts,
    )

    def share(thread: int) -> None:
        match_together(graph, rounds, np.uint64(threads), np.uint64(thread))

    run_solver(share, control, rounds.barrier)


def solve(graph: Neighbours, start: Partners | None, options: ProofOptions, control: Control) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    mate = empty_mates(graph, start, control)
    match(graph, mate, control)
    return proved(graph, mate, mate, options, control)
