"""Maximum-cardinality matching in general graphs: Edmonds' blossom algorithm, trees from all free vertices.

Edmonds 1965; Gabow, "An Efficient Implementation of Edmonds' Algorithm for Maximum Matching on Graphs", JACM
23 (1976), for the labels that blossoms leave behind and for `rematch`. Departures:

- All trees grow at once, level by level. When two of them meet, the path between their roots is augmented,
  these two trees vanish, and the other trees go on at once with the vertices that are free to be reached.
- The matching of Karp and Sipser comes first (:mod:`.initial.karp_sipser`).

Definitions. Vertices of trees are *even* or *odd* by their distance from the root. A *blossom* is an odd
cycle that an edge between two even vertices of a tree closes; its odd vertices become even, too, and all of
them form a group with the vertex nearest to the root as *base*. The *link* of an even vertex says how an
alternating path leads to the root: over its partner to the vertex `near`, or, for a vertex that a blossom
made even, over the edge (`near`, `far`) that closed the blossom.

Invariants, between two edges:

1. The matching is valid, and free vertices are roots.
2. The partner of a vertex of a tree is in the same tree, and one of them is even. An odd vertex has an even
   neighbour that is nearer to the root.
3. From each even vertex, links lead along an alternating path to the root.

At the end no edge joins an even vertex to another tree or to a vertex outside. So each group of even vertices
is an odd component of the graph without the odd vertices, and no matching is larger.

Pseudo-code::

    start with the matching of Karp and Sipser
    every free vertex is the root of a tree, and waits in a queue          plant
    while the queue has a vertex u, for each neighbour v:                  run
        v is in no tree: v becomes odd, its partner even and waits         grow
        v is even, in another group of the same tree: make a blossom       shrink
        v is even, in another tree: augment, both trees vanish,            rematch, clear
            and other trees reach their vertices               reach_again

Time: O(n m) at worst, in practice a few times O(m). Memory beside the graph: 38 bytes a vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from ..graph.undirected import Neighbours
from ..kernels.atomics import relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.monitor import Monitor
from ..solving.options import check_choice
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .initial import karp_sipser
from .solution import GeneralState

#: No vertex.
NONE = np.uint64(2**32 - 1)
#: Labels of vertices. A vertex that waits in the queue has WAITS added.
OUTSIDE, EVEN, ODD, WAITS = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(4)
LABEL = np.uint8(3)
#: Positions in :attr:`Trees.sizes`: first and number of the waiting vertices, and the last search for a base.
FIRST, WAITING, STAMP = range(3)


@dataclass(frozen=True)
class BlossomOptions:
    """Options of the blossom algorithm.

    Attributes
    ----------
    initial : {"karp-sipser", "none"}
        The matching that it starts from, if the caller gives none.
    """

    initial: str = "karp-sipser"

    def __post_init__(self) -> None:
        check_choice("initial", self.initial, ("karp-sipser", "none"))


class Trees(NamedTuple):
    """The trees and the queue.

    Attributes
    ----------
    mate : ndarray of uint32, shape (n,)
        The partner of each vertex, NONE for none.
    label : ndarray of uint8, shape (n,)
    near, far : ndarray of uint32, shape (n,)
        The link of an even vertex; `far` is NONE where the path leads over the partner to `near`.
    group : ndarray of uint32, shape (n,)
        Union-find; leads to the base of the blossom.
    root : ndarray of uint32, shape (n,)
    member : ndarray of uint32, shape (n,)
        The next vertex of the same tree; a list that begins with the root.
    last : ndarray of uint32, shape (n,)
        The last vertex in the list of the tree of a root.
    seen : ndarray of uint32, shape (n,)
        The last search for a base that came to a vertex.
    queue : ndarray of uint32, shape (n,)
        A ring.
    stack : ndarray of uint32, shape (2 n + 2,)
        Pairs of vertices that are to be matched, or vertices whose trees have vanished.
    sizes : ndarray of uint64, shape (3,)
    """

    mate: Indices
    label: NDArray[np.uint8]
    near: Indices
    far: Indices
    group: Indices
    root: Indices
    member: Indices
    last: Indices
    seen: Indices
    queue: Indices
    stack: Indices
    sizes: NDArray[np.uint64]


@kernel
def base_of(trees: Trees, v: np.uint64) -> np.uint64:
    """Return the base of the blossom of a vertex."""
    group = trees.group
    while group[v] != v:
        group[v] = group[group[v]]
        v = np.uint64(group[v])
    return v


@kernel
def put(trees: Trees, v: np.uint64) -> None:
    """Make a vertex even, and let it wait in the queue if it does not."""
    waits = trees.label[v] & WAITS
    trees.label[v] = EVEN | WAITS
    if waits == ZERO:
        n = np.uint64(len(trees.queue))
        place = trees.sizes[FIRST] + trees.sizes[WAITING]
        trees.queue[place if place < n else place - n] = v
        trees.sizes[WAITING] += ONE


@kernel
def plant(trees: Trees) -> None:
    """Make each free vertex the root of a tree."""
    for v in range(len(trees.mate)):
        if trees.mate[v] == NONE:
            trees.root[v] = v
            trees.near[v] = NONE
            trees.far[v] = NONE
            trees.last[v] = v
            put(trees, np.uint64(v))


@kernel
def grow(trees: Trees, u: np.uint64, v: np.uint64) -> None:
    """Let the tree of the even vertex u reach v, whose partner becomes even."""
    partner = np.uint64(trees.mate[v])
    root = np.uint64(trees.root[u])
    trees.label[v] = (trees.label[v] & WAITS) | ODD
    trees.near[partner] = u
    trees.far[partner] = NONE
    trees.root[v] = root
    trees.root[partner] = root
    trees.member[trees.last[root]] = v
    trees.member[v] = partner
    trees.member[partner] = NONE
    trees.last[root] = partner
    put(trees, partner)


@kernel
def common_base(trees: Trees, a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the lowest base above two bases of a tree, in the time of the shorter way."""
    stamp = trees.sizes[STAMP] + ONE
    trees.sizes[STAMP] = stamp
    while True:
        if a != NONE:
            if np.uint64(trees.seen[a]) == stamp:
                return a
            trees.seen[a] = stamp
            above = np.uint64(trees.near[a])
            a = NONE if above == NONE else base_of(trees, above)
        a, b = b, a


@kernel
def shrink(trees: Trees, u: np.uint64, v: np.uint64) -> None:
    """Make a blossom of the cycle that the edge between two even vertices closes in their tree."""
    base = common_base(trees, base_of(trees, u), base_of(trees, v))
    for _ in range(2):
        x = base_of(trees, u)
        while x != base:
            odd = np.uint64(trees.mate[x])
            trees.near[odd] = u
            trees.far[odd] = v
            trees.group[x] = base
            trees.group[odd] = base
            put(trees, odd)
            x = base_of(trees, np.uint64(trees.near[x]))
        u, v = v, u


@kernel
def rematch(trees: Trees, u: np.uint64, v: np.uint64) -> None:
    """Match the even vertex u with v, and exchange the edges of its path to the root."""
    mate, stack = trees.mate, trees.stack
    stack[0], stack[1] = u, v
    size = ONE
    while size > ZERO:
        size -= ONE
        u, v = np.uint64(stack[2 * size]), np.uint64(stack[2 * size + ONE])
        partner = np.uint64(mate[u])
        mate[u] = v
        if partner == NONE or np.uint64(mate[partner]) != u:
            continue
        near, far = np.uint64(trees.near[u]), np.uint64(trees.far[u])
        if far == NONE:
            mate[partner] = near
            stack[2 * size], stack[2 * size + ONE] = near, partner
            size += ONE
        else:
            stack[2 * size], stack[2 * size + ONE] = far, near
            size += ONE
            stack[2 * size], stack[2 * size + ONE] = near, far
            size += ONE


@kernel
def clear(trees: Trees, root: np.uint64, size: np.uint64) -> np.uint64:
    """Take a tree away, and put its vertices on the stack of `size` entries; return how many it has then."""
    v = root
    while v != NONE:
        trees.label[v] &= WAITS
        trees.group[v] = v
        trees.stack[size] = v
        size += ONE
        after = np.uint64(trees.member[v])
        trees.member[v] = NONE
        v = after
    return size


@kernel
def reach_again(trees: Trees, graph: Neighbours, size: np.uint64, counts: NDArray[np.uint64]) -> None:
    """Let trees reach those of the vertices on the stack that are next to them."""
    for i in range(size):
        v = np.uint64(trees.stack[i])
        if trees.label[v] & LABEL != OUTSIDE:
            continue
        begin, end = np.uint64(graph.first[v]), np.uint64(graph.first[v + ONE])
        arc = begin
        while arc < end:
            u = np.uint64(graph.neighbour[arc])
            arc += ONE
            if trees.label[u] & LABEL == EVEN:
                grow(trees, u, v)
                break
        counts[ARC_SCANS] += arc - begin


@kernel
def run(trees: Trees, graph: Neighbours, monitor: Monitor) -> None:
    """Search until no vertex waits, or the solve is stopped."""
    counts = monitor.counts
    n = np.uint64(len(trees.queue))
    while trees.sizes[WAITING] > ZERO and relaxed_load(monitor.stop, 0) == 0:
        u = np.uint64(trees.queue[trees.sizes[FIRST]])
        trees.sizes[FIRST] = trees.sizes[FIRST] + ONE if trees.sizes[FIRST] + ONE < n else ZERO
        trees.sizes[WAITING] -= ONE
        label = trees.label[u] & LABEL
        trees.label[u] = label
        if label != EVEN:
            continue
        begin, end = np.uint64(graph.first[u]), np.uint64(graph.first[u + ONE])
        arc = begin
        while arc < end:
            v = np.uint64(graph.neighbour[arc])
            arc += ONE
            label = trees.label[v] & LABEL
            if label == OUTSIDE:
                grow(trees, u, v)
            elif label == EVEN:
                mine, other = np.uint64(trees.root[u]), np.uint64(trees.root[v])
                if mine != other:
                    rematch(trees, u, v)
                    rematch(trees, v, u)
                    counts[AUGMENTATIONS] += ONE
                    monitor.progress[0] -= 2.0
                    reach_again(trees, graph, clear(trees, other, clear(trees, mine, ZERO)), counts)
                    break
                if base_of(trees, u) != base_of(trees, v):
                    shrink(trees, u, v)
        counts[ARC_SCANS] += arc - begin
    counts[PHASES] += ONE


def new_trees(mate: Indices) -> Trees:
    """Return trees of no vertices for a matching with NONE for no partner."""
    n = len(mate)

    def filled(size: int, value: int = int(NONE)) -> Indices:
        return np.full(size, value, dtype=np.uint32)

    return Trees(
        mate=mate,
        label=np.zeros(n, dtype=np.uint8),
        near=filled(n),
        far=filled(n),
        group=np.arange(n, dtype=np.uint32),
        root=filled(n),
        member=filled(n),
        last=filled(n),
        seen=filled(n, 0),
        queue=filled(n, 0),
        stack=filled(2 * n + 2, 0),
        sizes=np.zeros(3, dtype=np.uint64),
    )


def solve(
    graph: Neighbours, start: Indices | None, options: BlossomOptions, control: Control
) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    n = len(graph.first) - 1
    mate = np.full(n, NONE, dtype=np.uint32)
    if start is not None:
        matched = np.flatnonzero(start < n)
        mate[matched] = start[matched].astype(np.uint32)
    elif options.initial == "karp-sipser":
        karp_sipser.start(graph, mate, control)
    trees = new_trees(mate)
    control.excess[:] = max(int(np.count_nonzero(mate == NONE)), 1)
    plant(trees)
    run(trees, graph, control.monitor())
    finished = not trees.sizes[WAITING]
    mate[mate == NONE] = n
    return GeneralState(mate, finished, barrier=trees.label & LABEL == ODD)


def check_invariants(trees: Trees, graph: Neighbours) -> None:
    """Raise AssertionError unless the invariants hold between two edges."""
    n = len(trees.mate)
    for v in range(n):
        label, partner = int(trees.label[v] & LABEL), int(trees.mate[v])
        if partner == NONE:
            assert label == EVEN
            assert trees.root[v] == v
            continue
        assert trees.mate[partner] == v
        if label == OUTSIDE:
            assert trees.label[partner] & LABEL == OUTSIDE
            continue
        assert trees.root[partner] == trees.root[v]
        assert EVEN in (label, trees.label[partner] & LABEL)
        if label == EVEN:
            near = int(trees.near[v])
            end = partner if trees.far[v] == NONE else int(trees.far[v])
            assert near in graph.neighbour[graph.first[end] : graph.first[end + 1]]
            assert trees.label[near] & LABEL == EVEN
            assert trees.root[near] == trees.root[v]
