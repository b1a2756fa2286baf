"""Maximum-cardinality matching in general graphs: Edmonds' blossom algorithm, trees from all free vertices.

Edmonds 1965; Gabow 1976 for the links that blossoms leave behind (:mod:`.links`). Departures:

- All trees grow at once, level by level. When two of them meet, the path between their roots is augmented,
  these two trees vanish, and the other trees go on at once with the vertices that are free to be reached.
- The matching of Karp and Sipser comes first. The vertices that it decides have their labels, and are in no
  tree (:mod:`.initial.karp_sipser`).
- One tree need not grow. When all vertices that wait are of one tree, it is *held*: all of it vanishes but
  the root, and other trees reach its vertices. Only the last tree can cover most of a graph without a gain.

Definitions. Vertices of trees are *even* or *odd* by their distance from the root. A *blossom* is an odd
cycle that an edge between two even vertices of a tree closes; its odd vertices become even, too. Bases and
links are those of :mod:`.links`.

Invariants, between two edges:

1. The matching is valid, and free vertices are roots.
2. The partner of a vertex of a tree is in the same tree, and one of them is even. An odd vertex has an even
   neighbour that is nearer to the root.
3. From each even vertex, links lead along an alternating path to the root.

At the end no edge joins an even vertex, other than the held root, to another tree or to a vertex outside. So
each group of even vertices is an odd component of the graph without the odd vertices. The vertices outside
and the held root are not next to these groups, and all but the root are matched with each other: one more
component is odd. There are as many odd components beyond the odd vertices as free vertices, and no matching
is larger.

Pseudo-code::

    start with the matching of Karp and Sipser, which decides vertices
    every other free vertex is the root of a tree, and waits in a queue          plant
    while the queue has a vertex u, for each neighbour v:                  run
        v is in no tree: v becomes odd, its partner even and waits         grow
        v is even, in another group of the same tree: make a blossom       shrink
        v is even, in another tree: augment, both trees vanish,            rematch, clear
            and other trees reach their vertices               reach_again
        after each level: all that wait are of one tree, none is held: hold

Time: O(n m) at worst, in practice a few times O(m). Memory beside the graph: 49 bytes a vertex.
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
from .initial import FirstMatching, InitialOptions, first_matching
from .links import EVEN, NONE, ODD, OUTSIDE, Links, common_base, link_root, new_links, rematch, top
from .solution import GeneralState, Partners, partners

#: Added to the label of a vertex that waits in the queue.
WAITS = np.uint8(4)
LABEL = np.uint8(3)
#: Positions in :attr:`Trees.sizes`: the first waiting vertex, the number of these, and the root that is held,
#: NONE for none.
FIRST, WAITING, HELD = range(3)
#: More than one root.
SEVERAL = NONE - ONE


class Trees(NamedTuple):
    """The trees and the queue."""

    links: Links
    label: NDArray[np.uint8]  #: shape (n,)
    root: Indices  #: uint32, shape (n,)
    #: uint32, shape (n,): the next vertex of the same tree; a list that begins with the root
    member: Indices
    last: Indices  #: uint32, shape (n,): the last vertex in the list of the tree of a root
    queue: Indices  #: uint32, shape (n,): a ring
    gone: Indices  #: uint32, shape (n,): vertices whose trees have vanished; scratch
    sizes: NDArray[np.uint64]  #: shape (3,)


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
    """Make each free vertex outside the root of a tree."""
    for v in range(len(trees.label)):
        if trees.links.mate[v] == NONE and trees.label[v] == OUTSIDE:
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
            if trees.label[u] & LABEL == EVEN and u != trees.sizes[HELD]:
                grow(trees, u, v)
                break
        counts[ARC_SCANS] += arc - begin


@kernel
def hold(trees: Trees, graph: Neighbours, root: np.uint64, counts: NDArray[np.uint64]) -> None:
    """Let all of a tree vanish but its root, and let the other trees grow first."""
    size = clear(trees, root, ZERO)
    trees.label[root] = EVEN
    trees.last[root] = root
    trees.sizes[HELD] = root
    reach_again(trees, graph, size, counts)


@kernel
def run(trees: Trees, graph: Neighbours, monitor: Monitor) -> None:
    """Search until no vertex waits, or the solve is stopped."""
    counts = monitor.counts
    n = np.uint64(len(trees.queue))
    # The vertices of this level that wait, and the only root of those that did.
    level, only = trees.sizes[WAITING], NONE
    while trees.sizes[WAITING] > ZERO and relaxed_load(monitor.stop, 0) == 0:
        if level == ZERO:
            if only < SEVERAL and trees.sizes[HELD] == NONE:
                hold(trees, graph, only, counts)
            level, only = trees.sizes[WAITING], NONE
        level -= ONE
        u = np.uint64(trees.queue[trees.sizes[FIRST]])
        trees.sizes[FIRST] = trees.sizes[FIRST] + ONE if trees.sizes[FIRST] + ONE < n else ZERO
        trees.sizes[WAITING] -= ONE
        label = trees.label[u] & LABEL
        trees.label[u] = label
        if label != EVEN:
            continue
        if only != np.uint64(trees.root[u]):
            only = np.uint64(trees.root[u]) if only == NONE else SEVERAL
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
                    only = SEVERAL
                    if other == trees.sizes[HELD]:
                        trees.sizes[HELD] = NONE
                    reach_again(trees, graph, clear(trees, other, clear(trees, mine, ZERO)), counts)
                    break
                if top(trees.links.group, u) != top(trees.links.group, v):
                    shrink(trees, u, v)
        counts[ARC_SCANS] += arc - begin
    counts[PHASES] += ONE


def new_trees(first: FirstMatching) -> Trees:
    """Return trees of no vertices."""
    n = len(first.mate)

    def filled(size: int, value: int = int(NONE)) -> Indices:
        return np.full(size, value, dtype=np.uint32)

    return Trees(
        links=new_links(first.mate),
        label=first.label,
        root=filled(n),
        member=filled(n),
        last=filled(n),
        queue=filled(n, 0),
        gone=filled(n, 0),
        sizes=np.array([0, 0, NONE], dtype=np.uint64),
    )


def solve(
    graph: Neighbours, start: Partners | None, options: InitialOptions, control: Control
) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    first = first_matching(graph, start, options, control)
    mate, trees = first.mate, new_trees(first)
    plant(trees)
    run(trees, graph, control.monitor())
    finished = not trees.sizes[WAITING]
    return GeneralState(partners(mate), finished, barrier=trees.label & LABEL == ODD)
