"""Maximum-cardinality matching in general graphs: Gabow's O(sqrt(n) m) phases of shortest augmenting paths.

Gabow, "The Weighted Matching Approach to Maximum Cardinality Matching", Fundamenta Informaticae 154 (2017).
Departures:

- The matching of Karp and Sipser comes first (:mod:`.initial.karp_sipser`).
- The contracted graph of the second half of a phase is not built: union-find stands for it.
- Union-find halves paths instead of the linear-time structure of Gabow and Tarjan.

Definitions. Edges of the matching have weight 2, others 0. The dual of a vertex starts at 1. *Even* and
*odd* vertices and *blossoms* are those of :mod:`.serial_blossom`, *bases* and *links* those of :mod:`.links`.
While *delta* grows by 1, the dual of an even vertex falls by 1, and that of an odd vertex rises by 1. An edge
outside the matching is *tight* if the duals of its ends have the sum 0. The *offset* of an even vertex is its
dual plus delta; that of an odd vertex is its dual minus delta. A blossom is *settled* if delta has grown
since it was made. A *node* is a settled blossom that no other contains, or a vertex outside them; its name is
its base.

Invariants, between two phases: the matching is valid. In the first half of a phase:

1. No edge outside the matching has a negative sum of duals, unless a blossom has both ends.
2. Offsets of even vertices are odd numbers, so two even vertices meet at a whole delta.

In the second half, the search is depth first. A node is *outer* once an alternating path of tight edges of
even length leads to it. When a search ends, with a path or without, later ones do not enter its nodes.

Pseudo-code::

    start with the matching of Karp and Sipser
    repeat:
        every free vertex is even                                      begin
        for delta = 1, 2, ...:                                         shortest
            grow over tight edges, make blossoms of tight edges        grow, shrink, scan
            until a tight edge joins two trees; if none does: stop
        for each free node that no search has entered:                 disjoint
            search depth first over tight edges for a free node        search
            if there is one: exchange the edges of the path            augment, rematch

Time: O(sqrt(n) m) times the inverse of Ackermann's function. Memory beside the graph: 81 bytes a vertex and
12 bytes an edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from ..graph.undirected import Neighbours
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .initial import InitialOptions, first_matching
from .links import EVEN, NONE, ODD, OUTSIDE, Links, common_base, link_root, new_links, rematch, top
from .solution import GeneralState, Partners, partners

#: The arc of a member whose arcs have not been looked at.
BEFORE = np.uint64(2**64 - 1)
#: The label of an even vertex whose edges have been put into buckets.
SCANNED = np.uint8(3)
#: Positions in :attr:`Phase.sizes`: delta, the largest delta with something in its bucket, the vertices on
#: the stack, the records of edges, the members of new blossoms, and 1 if a path exists.
DELTA, LARGEST, STACK, RECORDS, MERGED, FOUND = range(6)


class Phase(NamedTuple):
    """The first half of a phase."""

    links: Links
    label: NDArray[np.uint8]  #: shape (n,)
    offset: NDArray[np.int64]  #: shape (n,)
    settled: Indices  #: uint32, shape (n,): union-find; leads to the base of the node
    merged: Indices  #: uint32, shape (n,): bases that went into new blossoms since delta grew
    root: Indices  #: uint32, shape (n,)
    stack: Indices  #: uint32, shape (n,): vertices that became even
    #: uint32, shapes (n + 3,) and (n,): for each delta, the list of vertices from which trees grow then
    growing: Indices
    next_growing: Indices
    #: uint32, shape (n + 3,): for each delta, the first record of an edge between even vertices that becomes
    #: tight then
    meeting: Indices
    record: Indices  #: uint32, shape (3 m,): of each record, the two ends and the next record
    sizes: NDArray[np.uint64]  #: shape (6,)


class Search(NamedTuple):
    """The second half of a phase."""

    time: Indices  #: uint32, shape (n,): when a node became outer; 0 before, NONE for an inner node
    #: uint32, shape (n,): the edge over which the search entered an inner node: its end in the node, and the
    #: other end
    entry: Indices
    above: Indices
    #: uint32, shape (n,): the edge that made a blossom with an inner node: its lower and its upper end; NONE
    #: for other nodes
    bridge: Indices
    other: Indices
    #: uint32, shape (n,): the list of the vertices of each node. `first_member` moves on with the search.
    first_member: Indices
    next_member: Indices
    #: shape (n,): the next arc of the first member; 2**64 - 1 before its first
    arc: NDArray[np.uint64]
    path: Indices  #: uint32, shape (2 n + 2,): edges of the path that are outside the matching
    frames: Indices  #: uint32, shape (n + 1,): nodes that the search is at, or will come to


@kernel
def put(phase: Phase, v: np.uint64, offset: np.int64) -> None:
    """Make a vertex even."""
    phase.label[v] = EVEN
    phase.offset[v] = offset
    phase.stack[phase.sizes[STACK]] = v
    phase.sizes[STACK] += ONE


@kernel
def begin(phase: Phase) -> None:
    """Start a phase: free vertices are even, others outside."""
    phase.sizes[:] = ZERO
    phase.growing[:] = NONE
    phase.meeting[:] = NONE
    for v in range(len(phase.label)):
        phase.label[v] = OUTSIDE
        phase.offset[v] = 1
        phase.links.group[v] = v
        phase.settled[v] = v
        if phase.links.mate[v] == NONE:
            phase.root[v] = v
            link_root(phase.links, np.uint64(v))
            put(phase, np.uint64(v), np.int64(1))


@kernel
def scan(phase: Phase, graph: Neighbours, u: np.uint64, counts: NDArray[np.uint64]) -> None:
    """Put the edges of a new even vertex into the buckets of the deltas at which they become tight."""
    phase.label[u] = SCANNED
    mine = phase.offset[u]
    delta = np.uint64(mine + 1)
    phase.next_growing[u] = phase.growing[delta]
    phase.growing[delta] = u
    largest = max(phase.sizes[LARGEST], delta)
    arc, end = np.uint64(graph.first[u]), np.uint64(graph.first[u + ONE])
    counts[ARC_SCANS] += end - arc
    while arc < end:
        v = np.uint64(graph.neighbour[arc])
        arc += ONE
        if phase.label[v] == SCANNED and top(phase.links.group, u) != top(phase.links.group, v):
            delta = np.uint64((mine + phase.offset[v]) // 2)
            record = phase.sizes[RECORDS]
            phase.sizes[RECORDS] += ONE
            phase.record[3 * record] = u
            phase.record[3 * record + ONE] = v
            phase.record[3 * record + np.uint64(2)] = phase.meeting[delta]
            phase.meeting[delta] = record
            largest = max(largest, delta)
    phase.sizes[LARGEST] = largest


@kernel
def grow(phase: Phase, graph: Neighbours, u: np.uint64, counts: NDArray[np.uint64]) -> None:
    """Let the tree of an even vertex reach its neighbours outside, and their partners become even."""
    delta = np.int64(phase.sizes[DELTA])
    arc, end = np.uint64(graph.first[u]), np.uint64(graph.first[u + ONE])
    counts[ARC_SCANS] += end - arc
    while arc < end:
        v = np.uint64(graph.neighbour[arc])
        arc += ONE
        if phase.label[v] == OUTSIDE:
            partner = np.uint64(phase.links.mate[v])
            phase.label[v] = ODD
            phase.offset[v] = 1 - delta
            phase.links.near[partner] = u
            phase.links.far[partner] = NONE
            phase.root[v] = phase.root[u]
            phase.root[partner] = phase.root[u]
            put(phase, partner, 1 + delta)


@kernel
def shrink(phase: Phase, u: np.uint64, v: np.uint64) -> None:
    """Make a blossom of the cycle that the edge between two even vertices closes in their tree."""
    delta = np.int64(phase.sizes[DELTA])
    links = phase.links
    base = common_base(links, u, v)
    for _ in range(2):
        x = top(links.group, u)
        while x != base:
            odd = np.uint64(links.mate[x])
            links.near[odd] = u
            links.far[odd] = v
            links.group[x] = base
            links.group[odd] = base
            phase.merged[phase.sizes[MERGED]] = x
            phase.merged[phase.sizes[MERGED] + ONE] = odd
            phase.sizes[MERGED] += np.uint64(2)
            put(phase, odd, phase.offset[odd] + 2 * delta)
            x = top(links.group, np.uint64(links.near[x]))
        u, v = v, u


@kernel
def shortest(phase: Phase, graph: Neighbours, monitor: Monitor) -> None:
    """Raise delta until a tight edge joins two trees, nothing is left, or the solve is stopped."""
    sizes, record = phase.sizes, phase.record
    begin(phase)
    while True:
        delta = sizes[DELTA]
        while relaxed_load(monitor.stop, 0) == 0:
            if sizes[STACK] > ZERO:
                sizes[STACK] -= ONE
                scan(phase, graph, np.uint64(phase.stack[sizes[STACK]]), monitor.counts)
            elif phase.meeting[delta] != NONE:
                edge = np.uint64(phase.meeting[delta])
                phase.meeting[delta] = record[3 * edge + np.uint64(2)]
                u, v = np.uint64(record[3 * edge]), np.uint64(record[3 * edge + ONE])
                if phase.root[u] != phase.root[v]:
                    sizes[FOUND] = ONE
                    return
                if top(phase.links.group, u) != top(phase.links.group, v):
                    shrink(phase, u, v)
            elif phase.growing[delta] != NONE:
                u = np.uint64(phase.growing[delta])
                phase.growing[delta] = phase.next_growing[u]
                grow(phase, graph, u, monitor.counts)
            else:
                break
        else:
            return
        for i in range(sizes[MERGED]):
            x = np.uint64(phase.merged[i])
            phase.settled[x] = phase.links.group[x]
        sizes[MERGED] = ZERO
        if delta >= sizes[LARGEST]:
            return
        sizes[DELTA] = delta + ONE


@kernel
def dual(phase: Phase, v: np.uint64) -> np.int64:
    """Return the dual of a vertex."""
    label = phase.label[v]
    if label == OUTSIDE:
        return np.int64(1)
    delta = np.int64(phase.sizes[DELTA])
    return np.int64(phase.offset[v] + (delta if label == ODD else -delta))


@kernel
def augment(phase: Phase, search: Search, u: np.uint64, v: np.uint64) -> None:
    """Exchange the edges of the path from the free node of v over (u, v) to the root of the search."""
    mate, path, tasks = phase.links.mate, search.path, phase.links.stack
    path[0], path[1] = u, v
    edges = ONE
    tasks[0], tasks[1] = top(phase.settled, u), NONE
    size = ONE
    while size > ZERO:
        size -= ONE
        x, stop = np.uint64(tasks[2 * size]), np.uint64(tasks[2 * size + ONE])
        while x != stop:
            partner = np.uint64(mate[x])
            if partner == NONE:
                break
            if search.bridge[x] == NONE:
                near, far = np.uint64(search.above[partner]), np.uint64(search.entry[partner])
            else:
                near, far = np.uint64(search.other[x]), np.uint64(search.bridge[x])
                tasks[2 * size], tasks[2 * size + ONE] = top(phase.settled, far), partner
                size += ONE
            path[2 * edges], path[2 * edges + ONE] = near, far
            edges += ONE
            x = top(phase.settled, near)
    for i in range(edges):
        u, v = np.uint64(path[2 * i]), np.uint64(path[2 * i + 1])
        rematch(phase.links, u, v, top(phase.settled, u))
        rematch(phase.links, v, u, top(phase.settled, v))


@kernel
def search_from(
    phase: Phase, search: Search, graph: Neighbours, source: np.uint64, clock: np.uint64, monitor: Monitor
) -> np.uint64:
    """Search depth first from a free node, and augment if there is a path; return the time after it."""
    group, settled, frames, time = phase.links.group, phase.settled, search.frames, search.time
    clock += ONE
    time[source] = clock
    frames[0] = source
    size = ONE
    while size > ZERO and relaxed_load(monitor.stop, 0) == 0:
        x = np.uint64(frames[size - ONE])
        u = np.uint64(search.first_member[x])
        if u == NONE:
            size -= ONE
            continue
        arc, end = search.arc[x], np.uint64(graph.first[u + ONE])
        if arc == BEFORE:
            arc = np.uint64(graph.first[u])
        if arc == end:
            search.first_member[x] = search.next_member[u]
            search.arc[x] = BEFORE
            continue
        search.arc[x] = arc + ONE
        monitor.counts[ARC_SCANS] += ONE
        v = np.uint64(graph.neighbour[arc])
        y = top(settled, v)
        if x == y or np.uint64(phase.links.mate[u]) == v or dual(phase, u) + dual(phase, v) != 0:
            continue
        if time[y] == ZERO:
            partner = np.uint64(phase.links.mate[y])
            if partner == NONE:
                time[y] = NONE
                augment(phase, search, u, v)
                monitor.counts[AUGMENTATIONS] += ONE
                monitor.progress[0] -= 2.0
                return clock
            time[y] = NONE
            search.entry[y] = v
            search.above[y] = u
            clock += ONE
            time[partner] = clock
            frames[size] = partner
            size += ONE
            continue
        base, low = top(group, x), top(group, y)
        if time[low] == NONE or time[low] <= time[base]:
            continue
        while low != base:
            inner = np.uint64(phase.links.mate[low])
            search.bridge[inner] = v
            search.other[inner] = u
            group[low] = base
            group[inner] = base
            frames[size] = inner
            size += ONE
            low = top(group, np.uint64(search.above[inner]))
    return clock


@kernel
def disjoint(phase: Phase, search: Search, graph: Neighbours, monitor: Monitor) -> None:
    """Augment along disjoint shortest paths until there are no more of them."""
    n = len(phase.links.mate)
    for v in range(n):
        search.time[v] = ZERO
        search.bridge[v] = NONE
        search.first_member[v] = NONE
        search.arc[v] = BEFORE
    for v in range(n):
        base = top(phase.settled, np.uint64(v))
        phase.links.group[v] = base
        search.next_member[v] = search.first_member[base]
        search.first_member[base] = v
    clock = ZERO
    for v in range(n):
        if phase.links.mate[v] == NONE and phase.settled[v] == v and search.time[v] == ZERO:
            clock = search_from(phase, search, graph, np.uint64(v), clock, monitor)


@kernel
def run(phase: Phase, search: Search, graph: Neighbours, monitor: Monitor) -> bool:
    """Run phases until the matching is maximum, or the solve is stopped; return whether it is maximum.

    A phase that finds a shortest path augments along one. Should that fail, the run ends without a proof
    instead of never.
    """
    while relaxed_load(monitor.stop, 0) == 0:
        shortest(phase, graph, monitor)
        monitor.counts[PHASES] += ONE
        if relaxed_load(monitor.stop, 0) != 0:
            break
        if phase.sizes[FOUND] == ZERO:
            return True
        before = monitor.counts[AUGMENTATIONS]
        disjoint(phase, search, graph, monitor)
        if monitor.counts[AUGMENTATIONS] == before:
            break
    return False


def new_phase(mate: Indices, edges: int) -> Phase:
    """Return the state of the first half for a matching with NONE for no partner."""
    n = len(mate)
    return Phase(
        links=new_links(mate),
        label=np.zeros(n, dtype=np.uint8),
        offset=np.zeros(n, dtype=np.int64),
        settled=np.empty(n, dtype=np.uint32),
        merged=np.empty(n, dtype=np.uint32),
        root=np.empty(n, dtype=np.uint32),
        stack=np.empty(n, dtype=np.uint32),
        growing=np.empty(n + 3, dtype=np.uint32),
        next_growing=np.empty(n, dtype=np.uint32),
        meeting=np.empty(n + 3, dtype=np.uint32),
        record=np.empty(3 * edges, dtype=np.uint32),
        sizes=np.zeros(6, dtype=np.uint64),
    )


def new_search(n: int) -> Search:
    """Return the state of the second half."""
    return Search(
        time=np.empty(n, dtype=np.uint32),
        entry=np.empty(n, dtype=np.uint32),
        above=np.empty(n, dtype=np.uint32),
        bridge=np.empty(n, dtype=np.uint32),
        other=np.empty(n, dtype=np.uint32),
        first_member=np.empty(n, dtype=np.uint32),
        next_member=np.empty(n, dtype=np.uint32),
        arc=np.empty(n, dtype=np.uint64),
        path=np.empty(2 * n + 2, dtype=np.uint32),
        frames=np.empty(n + 1, dtype=np.uint32),
    )


def solve(
    graph: Neighbours, start: Partners | None, options: InitialOptions, control: Control
) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    mate, _ = first_matching(graph, start, options, control)
    phase = new_phase(mate, len(graph.neighbour) // 2)
    finished = bool(run(phase, new_search(len(mate)), graph, control.monitor()))
    return GeneralState(partners(mate), finished, barrier=phase.label == ODD)
