"""Maximum-cardinality matching in general graphs: Edmonds' blossom algorithm, trees from all free vertices.

Edmonds 1965; Gabow 1976 for the links that blossoms leave behind (:mod:`.links`). Departures:

- All trees grow at once, level by level. When two of them meet, the path between their roots is augmented,
  these two trees vanish, and the other trees go on at once with the vertices that are free to be reached.
- The matching of Karp and Sipser comes first (:mod:`.initial.karp_sipser`).

Definitions. Vertices of trees are *even* or *odd* by their distance from the root. A *blossom* is an odd
cycle that an edge between two even vertices of a tree closes; its odd vertices become even, too. Bases and
links are those of :mod:`.links`.

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

Time: O(n m) at worst, in practice a few times O(m). Memory beside the graph: 49 bytes a vertex.
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
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .initial import InitialOptions, first_matching
from .links import NONE, Links, common_base, link_root, new_links, rematch, top
from .solution import GeneralState

#: Labels of vertices. A vertex that waits in the queue has WAITS added.
OUTSIDE, EVEN, ODD, WAITS = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(4)
LABEL = np.uint8(3)
#: Positions in :attr:`Trees.sizes`: the first waiting vertex, and the number of these.
FIRST, WAITING = range(2)


@dataclass(frozen=True)
class BlossomOptions(InitialOptions):
    """Options of the blossom algorithm: see :class:`.initial.InitialOptions`."""


class Trees(NamedTuple):
    """The trees and the queue.

    Attributes
    ----------
    links : Links
    label : ndarray of uint8, shape (n,)
    root : ndarray of uint32, shape (n,)
    member : ndarray of uint32, shape (n,)
        The next vertex of the same tree; a list that begins with the root.
    last : ndarray of uint32, shape (n,)
        The last vertex in the list of the tree of a root.
    queue : ndarray of uint32, shape (n,)
        A ring.
    gone : ndarray of uint32, shape (n,)
        Vertices whose trees have vanished; scratch.
    sizes : ndarray of uint64, shape (2,)
    """

    links: Links
    label: NDArray[np.uint8]
    root: Indices
    member: Indices
    last: Indices
    queue: Indices
    gone: Indices
    sizes: NDArray[np.uint64]


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
    for v in range(len(trees.label)):
        if trees.links.mate[v] == NONE:
            trees.root[v] = v
            link_root(trees.links, np.uint64(v))
            trees.last[v] = v
            put(trees, np.uint64(v))


@kernel
def grow(trees: Trees, u: np.uint64, v: np.uint64) -> None:
    """Let the tree of the even vertex u reach v, whose partner becomes even."""
    partner = np.uint64(trees.links.mate[v])
    root = np.uint64(trees.root[u])
    trees.label[v] = (trees.label[v] & WAITS) | ODD
    trees.links.near[partner] = u
    trees.links.far[partner] = NONE
    trees.root[v] = root
    trees.root[partner] = root
    trees.member[trees.last[root]] = v
    trees.member[v] = partner
    trees.member[partner] = NONE
    trees.last[root] = partner
    put(trees, partner)


@kernel
def shrink(trees: Trees, u: np.uint64, v: np.uint64) -> None:
    """Make a blossom of the cycle that the edge between two even vertices closes in their tree."""
    links = trees.links
    base = common_base(links, u, v)
    for _ in range(2):
        x = top(links.group, u)
        while x != base:
            odd = np.uint64(links.mate[x])
            links.near[odd] = u
            links.far[odd] = v
            links.group[x] = base
            links.group[odd] = base
            put(trees, odd)
            x = top(links.group, np.uint64(links.near[x]))
        u, v = v, u


@kernel
def clear(trees: Trees, root: np.uint64, size: np.uint64) -> np.uint64:
    """Take a tree away, and add its vertices to the `size` ones in `gone`; return how many these are then."""
    v = root
    while v != NONE:
        trees.label[v] &= WAITS
        trees.links.group[v] = v
        trees.gone[size] = v
        size += ONE
        after = np.uint64(trees.member[v])
        trees.member[v] = NONE
        v = after
    return size


@kernel
def reach_again(trees: Trees, graph: Neighbours, size: np.uint64, counts: NDArray[np.uint64]) -> None:
    """Let trees reach those of the vertices in `gone` that are next to them."""
    for i in range(size):
        v = np.uint64(trees.gone[i])
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
                    rematch(trees.links, u, v, NONE)
                    rematch(trees.links, v, u, NONE)
                    counts[AUGMENTATIONS] += ONE
                    monitor.progress[0] -= 2.0
                    reach_again(trees, graph, clear(trees, other, clear(trees, mine, ZERO)), counts)
                    break
                if top(trees.links.group, u) != top(trees.links.group, v):
                    shrink(trees, u, v)
        counts[ARC_SCANS] += arc - begin
    counts[PHASES] += ONE


def new_trees(mate: Indices) -> Trees:
    """Return trees of no vertices for a matching with NONE for no partner."""
    n = len(mate)

    def filled(size: int, value: int = int(NONE)) -> Indices:
        return np.full(size, value, dtype=np.uint32)

    return Trees(
        links=new_links(mate),
        label=np.zeros(n, dtype=np.uint8),
        root=filled(n),
        member=filled(n),
        last=filled(n),
        queue=filled(n, 0),
        gone=filled(n, 0),
        sizes=np.zeros(2, dtype=np.uint64),
    )


def solve(
    graph: Neighbours, start: Indices | None, options: BlossomOptions, control: Control
) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    mate = first_matching(graph, start, options, control)
    trees = new_trees(mate)
    plant(trees)
    run(trees, graph, control.monitor())
    finished = not trees.sizes[WAITING]
    mate[mate == NONE] = len(mate)
    return GeneralState(mate, finished, barrier=trees.label & LABEL == ODD)


def check_invariants(trees: Trees, graph: Neighbours) -> None:
    """Raise AssertionError unless the invariants hold between two edges."""
    links = trees.links
    for v in range(len(trees.label)):
        label, partner = int(trees.label[v] & LABEL), int(links.mate[v])
        if partner == NONE:
            assert label == EVEN
            assert trees.root[v] == v
            continue
        assert links.mate[partner] == v
        if label == OUTSIDE:
            assert trees.label[partner] & LABEL == OUTSIDE
            continue
        assert trees.root[partner] == trees.root[v]
        assert EVEN in (label, trees.label[partner] & LABEL)
        if label == EVEN:
            near = int(links.near[v])
            end = partner if links.far[v] == NONE else int(links.far[v])
            assert near in graph.neighbour[graph.first[end] : graph.first[end + 1]]
            assert trees.label[near] & LABEL == EVEN
            assert trees.root[near] == trees.root[v]
