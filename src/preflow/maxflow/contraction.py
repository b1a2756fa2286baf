"""Contract arcs that no minimum cut contains, and solve the network that is left.

Padberg and Rinaldi, "An efficient algorithm for the minimum capacity cut problem", Mathematical Programming
47 (1990), contract such edges for minimum cuts without terminals. Here arcs are directed, and the flow is
carried back.

Definitions
-----------
- A *bound* is a number that is at least the capacity of some cut between the terminals. So no minimum cut has
  a larger capacity.
- An arc is *strong* if its capacity is above the bound. No minimum cut contains it.
- A *block* is a strongly connected component of the strong arcs. A cut that separates two of its vertices
  contains a strong arc. So each minimum cut has all vertices of a block on one side, and the minimum cuts
  are those of the *contracted* network: its vertices are the blocks, its arcs those between two blocks.

The bound need not be tight. At first it is the capacity out of the sources, or into the sinks. Where
capacities are of two magnitudes, as in a network with a backbone, the bound that separates them is not yet
known. But a guess in the widest gap between capacities gives blocks, and the capacity around the block of a
source is a bound, too.

::

    bound = capacity out of the sources or into the sinks, the smaller one     sums_around
    threshold = bound if most arcs are above it, otherwise a guess              middle_of_widest_gap
    repeat
        blocks = strongly connected components of the arcs above threshold      find_components
        bound = capacity around the blocks of the terminals, if it is smaller
        stop if the arcs above threshold are those above bound, or fewer
        threshold = bound                                                        (at most once)
    solve the contracted network

The flow
--------
A flow of the contracted network leaves surplus and need at the vertices of a block, which add up to zero.
Strong arcs carry it: along a tree to the block's root, and from there along another one. Each arc of a tree
gets at most the flow that goes through the block::

    surplus of each vertex = flow in - flow out, over arcs between blocks       put_between
    send surplus up a tree to the root; fetch needs down another tree           route
    if that is more than a capacity: cancel all cycles of flow                  cancel_cycles

A flow without cycles sends at most its value through any vertex, so at most the bound through any arc, which
is less than the capacity of a strong arc. So the third step always mends the second.

All of this but the last step is O(n + m). That step takes O(m) time for each cycle.

Solving again
-------------
When capacities change, the blocks stay as long as trees prove them: all of their arcs must be above the value
of the new minimum cut. Trees with other arcs are mended::

    each arc of a tree that is not above the bound:                             find_weak
        take another arc between its child and an earlier vertex                replace_weak
    where there is none: plant the trees of the block again                      plant_trees
    if these do not span the block: contract the network again
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Indices, Int64, Number, Numbers
from ..graph.network import FlowNetwork
from ..graph.recognised_grid import Arcs
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.strong_components import find_components, new_components
from ..solving.deadline import Deadline
from ..stats import Phase, untimed
from .features import middle_of_widest_gap, most_are_above
from .recover_flow import BLACK, GREY, WHITE, Search, SecondStage
from .recover_flow.completed import CompletedFlow
from .recover_flow.known import KnownFlow
from .recover_flow.of_grid import GridSecondStage

#: The contracted network must have at most this share of the vertices.
MOST_LEFT = 0.5
#: Sums of capacities are rounded; a bound is raised by this share, which is far above the rounding.
RAISED = 1e-9
#: Where a vertex belongs: to neither kind of terminal, to the sources, or to the sinks.
NEITHER, AT_SOURCES, AT_SINKS = 0, 1, 2


class Around(NamedTuple):
    """Sums of capacities.

    Attributes
    ----------
    sources, sinks : float
        The capacity out of the blocks of the sources, and into those of the sinks.
    arcs : int
        The number of arcs between blocks.
    """

    sources: float
    sinks: float
    arcs: int


class SortedArcs(NamedTuple):
    """Arcs, those from each vertex together, or those into each vertex.

    Attributes
    ----------
    first : ndarray, shape (n + 1,)
        The arcs of vertex v are those from ``first[v]`` to ``first[v + 1] - 1``.
    other : ndarray, shape (k,)
        The other end of each arc.
    number : ndarray, shape (k,)
        The number i of the input arc, or ``i + num_arcs`` for its opposite direction.
    """

    first: Indices
    other: Indices
    number: Indices


class Trees(NamedTuple):
    """A tree in each block, its arcs directed away from its root or towards it.

    Attributes
    ----------
    order : ndarray, shape (n,)
        The vertices, each after its parent.
    parent : ndarray, shape (n,)
        A root is its own parent.
    number : ndarray, shape (n,)
        The arc between each vertex and its parent, as in :class:`SortedArcs`.
    """

    order: Indices
    parent: Indices
    number: Indices


# Blocks


@kernel
def sums_around(arcs: Arcs, block: Indices, role: NDArray[np.uint8]) -> tuple[float, float, Int64]:
    """Return the fields of :class:`Around` for the blocks with these roles."""
    sources, sinks, count = 0.0, 0.0, np.int64(0)
    has_reverse = len(arcs.reverse_capacity) > 0
    for i in range(len(arcs.tail)):
        u, v = block[arcs.tail[i]], block[arcs.head[i]]
        if u == v:
            continue
        count += 1
        capacity = np.float64(arcs.capacity[i])
        back = np.float64(arcs.reverse_capacity[i]) if has_reverse else 0.0
        at_tail, at_head = role[u], role[v]
        if at_tail != at_head:
            if at_tail == AT_SOURCES:
                sources += capacity
            if at_head == AT_SOURCES:
                sources += back
            if at_tail == AT_SINKS:
                sinks += back
            if at_head == AT_SINKS:
                sinks += capacity
    return sources, sinks, count


@kernel
def sort_arcs(arcs: Arcs, threshold: float, by_head: bool, sorted_arcs: SortedArcs) -> None:
    """Sort the arcs whose capacity is above `threshold`, and those of opposite directions, by one end.

    ``sorted_arcs.first`` is 0 everywhere on entry.
    """
    first, other, number = sorted_arcs
    m = np.uint64(len(arcs.tail))
    has_reverse = len(arcs.reverse_capacity) > 0
    for i in range(len(arcs.tail)):
        t, h = np.uint64(arcs.tail[i]), np.uint64(arcs.head[i])
        if arcs.capacity[i] > threshold:
            first[h if by_head else t] += ONE
        if has_reverse and arcs.reverse_capacity[i] > threshold:
            first[t if by_head else h] += ONE
    total = ZERO
    for vertex in range(len(first)):
        total += np.uint64(first[vertex])
        first[vertex] = total
    # Now first[v] is the end of the arcs of v. Filled from the end, it becomes their beginning.
    a = m
    while a > ZERO:
        a -= ONE
        t, h = np.uint64(arcs.tail[a]), np.uint64(arcs.head[a])
        if has_reverse and arcs.reverse_capacity[a] > threshold:
            v, w = (t, h) if by_head else (h, t)
            k = np.uint64(first[v]) - ONE
            first[v], other[k], number[k] = k, w, a + m
        if arcs.capacity[a] > threshold:
            v, w = (h, t) if by_head else (t, h)
            k = np.uint64(first[v]) - ONE
            first[v], other[k], number[k] = k, w, a


@kernel
def take_between(arcs: Arcs, block: Indices, taken: Indices, smaller: Arcs) -> None:
    """Write the arcs between two blocks, with blocks as their ends, and their numbers to `taken`."""
    has_reverse = len(arcs.reverse_capacity) > 0
    k = ZERO
    for i in range(len(arcs.tail)):
        u, v = block[arcs.tail[i]], block[arcs.head[i]]
        if u != v:
            taken[k] = i
            smaller.tail[k], smaller.head[k] = u, v
            smaller.capacity[k] = arcs.capacity[i]
            if has_reverse:
                smaller.reverse_capacity[k] = arcs.reverse_capacity[i]
            k += ONE


def arcs_of(network: FlowNetwork) -> Arcs:
    """Return the arcs of a network on the host."""
    reverse = network.reverse_capacity
    return Arcs(
        network.tail, network.head, network.capacity, network.capacity[:0] if reverse is None else reverse
    )


def sorted_above(arcs: Arcs, threshold: float, size: int, *, by_head: bool) -> SortedArcs:
    """Return the arcs above a threshold, sorted by tail or by head; `size` is the number of vertices."""
    count = count_above(arcs, threshold)
    dtype = arcs.tail.dtype if 2 * len(arcs.tail) <= np.iinfo(arcs.tail.dtype).max else np.dtype(np.uint64)
    found = SortedArcs(
        np.zeros(size + 1, dtype=dtype), np.empty(count, dtype=dtype), np.empty(count, dtype=dtype)
    )
    sort_arcs(arcs, threshold, by_head, found)
    return found


def blocks_of(strong: SortedArcs) -> tuple[Array, int]:
    """Return the block of each vertex for arcs sorted by their tails, and the number of blocks."""
    size = len(strong.first) - 1
    state = new_components(size, strong.first.dtype)
    empty, everywhere = strong.first[:0], np.ones(size, dtype=bool)
    count = int(find_components(strong.first, strong.other, empty, everywhere, state))
    return state.component - strong.first.dtype.type(1), count


def around(arcs: Arcs, block: Array, count: int, sources: Array, sinks: Array) -> Around | None:
    """Return the capacities around the blocks of the terminals; None if a block has both kinds."""
    role = np.full(count, NEITHER, dtype=np.uint8)
    role[block[sources]] = AT_SOURCES
    role[block[sinks]] = AT_SINKS
    if (role[block[sources]] != AT_SOURCES).any():
        return None
    return Around(*sums_around(arcs, block, role))


@dataclass(frozen=True, eq=False)
class BlockTrees:
    """Trees of strong arcs in all blocks.

    Attributes
    ----------
    up, down : Trees
        Towards the roots, and away from them.
    """

    up: Trees
    down: Trees


class StrongArcs:
    """The strong arcs of a contraction, sorted by tail and by head when they are first needed so."""

    def __init__(self, contraction: Contraction) -> None:
        self._contraction = contraction

    @cached_property
    def by_tail(self) -> SortedArcs:
        """The arcs from each vertex."""
        return self._contraction.strong_arcs()

    @cached_property
    def by_head(self) -> SortedArcs:
        """The arcs into each vertex."""
        return self._contraction.strong_arcs(by_head=True)


@dataclass(frozen=True, eq=False)
class Contraction:
    """A network and what is left of it after blocks are contracted.

    Attributes
    ----------
    network : FlowNetwork
    sources, sinks : ndarray of int64
        Of `network`.
    threshold : float
        Arcs are strong if their capacity is above it.
    block : ndarray of unsigned integers, shape (num_vertices,)
        The vertex of `smaller` that each vertex belongs to.
    taken : ndarray, shape (smaller.num_arcs,)
        The input arc that each arc of `smaller` is.
    smaller : FlowNetwork
    """

    network: FlowNetwork
    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    threshold: float
    block: Array
    taken: Array
    smaller: FlowNetwork

    def terminals(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the blocks of sources or of sinks."""
        return np.unique(self.block[vertices]).astype(np.int64)

    def strong_arcs(self, *, by_head: bool = False) -> SortedArcs:
        """Return the strong arcs, sorted by their tails or by their heads."""
        return sorted_above(arcs_of(self.network), self.threshold, len(self.block), by_head=by_head)

    @cached_property
    def root(self) -> Array:
        """The root of the trees in each block: a terminal if there is one."""
        size = len(self.block)
        root = np.empty(self.smaller.num_vertices, dtype=self.block.dtype)
        root[self.block] = np.arange(size, dtype=self.block.dtype)
        for terminals in (self.sources, self.sinks):
            root[self.block[terminals]] = terminals
        return root

    def planted(self, network: FlowNetwork, bound: float, strong: StrongArcs) -> BlockTrees | None:
        """Plant trees of the strong arcs that are above a bound; None if they do not span the blocks.

        Parameters
        ----------
        network : FlowNetwork
            With the current capacities.
        bound : float
        strong : StrongArcs
            Of this contraction.
        """
        size = len(self.block)

        def trees() -> Trees:
            return Trees(*(np.empty(size, dtype=strong.by_tail.first.dtype) for _ in range(3)))

        down, back = trees(), trees()
        up = back._replace(order=down.order)
        count, turned = self._search(network, bound, strong.by_tail, self.root, down, up)
        if count == size and turned < size:
            up = back
            count, _ = self._search(network, bound, strong.by_head, self.root, up, trees())
        return BlockTrees(up, down) if count == size else None

    def _search(
        self,
        network: FlowNetwork,
        bound: float,
        sorted_arcs: SortedArcs,
        root: Array,
        trees: Trees,
        back: Trees,
    ) -> tuple[int, int]:
        """Plant trees: see :func:`plant_trees`."""
        position = np.zeros(len(self.block), dtype=sorted_arcs.first.dtype)
        count, turned = plant_trees(
            arcs_of(network), bound, sorted_arcs, self.block, root, position, trees, back
        )
        return int(count), int(turned)

    def mended(
        self, network: FlowNetwork, bound: float, strong: StrongArcs, trees: BlockTrees
    ) -> BlockTrees | None:
        """Return trees of arcs with capacities above a bound: these, or copies with other arcs.

        An arc that is not above the bound is replaced by one between the same vertex and an earlier one.
        Where there is none, the trees of the whole block are planted again.

        Such trees prove that no cut up to the bound separates a block: an arc of a tree leads out of each set
        of some, but not all, of its vertices. A path from the root to a vertex outside of the set has such an
        arc, or a path from a vertex of the set to the root.

        Parameters
        ----------
        network, bound, strong
            As for :meth:`planted`.
        trees : BlockTrees
            Of this contraction.

        Returns
        -------
        BlockTrees or None
            None if there are no such trees.
        """
        up = self._mended(network, bound, trees.up, strong.by_tail, strong.by_head)
        down = self._mended(network, bound, trees.down, strong.by_head, strong.by_tail)
        if up is None or down is None:
            return None
        return trees if up is trees.up and down is trees.down else BlockTrees(up, down)

    def _mended(
        self, network: FlowNetwork, bound: float, trees: Trees, at_child: SortedArcs, at_parent: SortedArcs
    ) -> Trees | None:
        """Mend the trees of one direction, with arcs sorted by their ends at children and at parents."""
        arcs, size = arcs_of(network), len(self.block)
        weak = np.empty_like(trees.parent)
        count = find_weak(arcs, bound, trees, weak)
        if count == 0:
            return trees
        mended = Trees(trees.order, trees.parent.copy(), trees.number.copy())
        position = np.empty_like(trees.order)
        left = replace_weak(arcs, bound, at_child, self.block, position, weak[:count], mended)
        if left == 0:
            return mended
        failed = np.zeros(self.smaller.num_vertices, dtype=bool)
        failed[self.block[weak[:left]]] = True
        inside = failed[self.block]
        mended = mended._replace(order=np.empty_like(trees.order))
        back = Trees(mended.order, *(np.empty(size, dtype=position.dtype) for _ in range(2)))
        reached, _ = self._search(network, bound, at_parent, self.root[failed], mended, back)
        if reached < np.count_nonzero(inside):
            return None
        order = np.concatenate([trees.order[~inside[trees.order]], mended.order[:reached]])
        return mended._replace(order=order)

    def expanded(self, network: FlowNetwork, trees: BlockTrees, smaller_flow: Array) -> Array:
        """Return the flow of every input arc for a flow of the contracted network.

        Parameters
        ----------
        network : FlowNetwork
            With the current capacities.
        trees : BlockTrees
        smaller_flow : ndarray, shape (smaller.num_arcs,)
        """
        arcs = arcs_of(network)
        flow = np.zeros(network.num_arcs, dtype=smaller_flow.dtype)
        surplus = np.zeros(network.num_vertices, dtype=flow.dtype)
        put_between(arcs, self.taken, smaller_flow, flow, surplus)
        route(trees.up, trees.down, surplus, flow)
        if overfills(arcs, flow):
            without_cycles(arcs, flow, network.num_vertices)
        return flow


def contract(
    network: FlowNetwork, sources: NDArray[np.int64], sinks: NDArray[np.int64], deadline: Deadline
) -> Contraction | None:
    """Contract the blocks of a network on the host; None if too few vertices would vanish, or time is up."""
    if network.saturated:
        return None
    arcs, size = arcs_of(network), network.num_vertices
    alone = np.arange(size, dtype=arcs.tail.dtype)
    sums = around(arcs, alone, size, sources, sinks)
    assert sums is not None
    bound = raised(min(sums.sources, sums.sinks))
    guess = not most_are_above(network.capacity, bound)
    threshold = middle_of_widest_gap(network.capacity) if guess else bound
    for _ in range(2):
        if deadline.passed():
            return None
        strong = sorted_above(arcs, threshold, size, by_head=False)
        block, count = blocks_of(strong)
        found = around(arcs, block, count, sources, sinks)
        if found is not None:
            sums = found
            bound = min(bound, raised(min(sums.sources, sums.sinks)))
        if bound <= threshold or count_above(arcs, bound) == len(strong.number):
            break
        threshold = bound
    if found is None or count > MOST_LEFT * size or deadline.passed():
        return None
    taken = np.empty(sums.arcs, dtype=block.dtype)
    backward = sums.arcs if len(arcs.reverse_capacity) else 0
    smaller = Arcs(
        np.empty(sums.arcs, dtype=block.dtype),
        np.empty(sums.arcs, dtype=block.dtype),
        np.empty(sums.arcs, dtype=network.capacity.dtype),
        np.empty(backward, dtype=network.capacity.dtype),
    )
    take_between(arcs, block, taken, smaller)
    left = FlowNetwork(
        count,
        smaller.tail,
        smaller.head,
        smaller.capacity,
        reverse_capacity=None if network.reverse_capacity is None else smaller.reverse_capacity,
    )
    return Contraction(network, sources, sinks, threshold, block, taken, left)


def raised(capacity: int | float) -> float:
    """Return a bound that the capacity of a cut is below, also if it was rounded."""
    return float(capacity) * (1 + RAISED)


def count_above(arcs: Arcs, threshold: float) -> int:
    """Return the number of arcs, of either direction, above a threshold."""
    return sum(int(np.count_nonzero(values > threshold)) for values in (arcs.capacity, arcs.reverse_capacity))


# The flow


@kernel
def put_between(arcs: Arcs, taken: Indices, amount: Numbers, flow: Numbers, surplus: Numbers) -> None:
    """Write the flow of the arcs between blocks; add flow in minus flow out to `surplus`, of each vertex."""
    for k in range(len(taken)):
        i = np.uint64(taken[k])
        flow[i] = amount[k]
        surplus[arcs.head[i]] += amount[k]
        surplus[arcs.tail[i]] -= amount[k]


@kernel
def overfills(arcs: Arcs, flow: Numbers) -> bool:
    """Whether some arc has more flow than capacity, in either direction."""
    has_reverse = len(arcs.reverse_capacity) > 0
    for i in range(len(flow)):
        amount = flow[i]
        if amount > arcs.capacity[i] or (amount < 0 and not has_reverse):
            return True
        if has_reverse and -amount > arcs.reverse_capacity[i]:
            return True
    return False


@kernel
def plant_trees(
    arcs: Arcs,
    bound: float,
    strong: SortedArcs,
    block: Indices,
    root: Indices,
    position: Indices,
    trees: Trees,
    back: Trees,
) -> tuple[np.uint64, np.uint64]:
    """Search each block breadth-first from its root, over arcs with capacities above `bound`.

    The search also looks for an arc from each vertex to an earlier one. If there is one for each vertex,
    these arcs are trees that lead back to the roots.

    Parameters
    ----------
    position : ndarray, shape (n,)
        Where in the order each vertex is, from 1. All are 0 on entry, that is, not reached.
    trees, back : Trees
        The results. They share one order.

    Returns
    -------
    count : the number of vertices that were reached
    turned : the number of vertices with an arc to an earlier one; all roots count
    """
    order, parent, number = trees
    m = np.uint64(len(arcs.tail))
    end, turned = ZERO, np.uint64(len(root))
    for b in range(len(root)):
        r = np.uint64(root[b])
        order[end] = r
        end += ONE
        parent[r], number[r], position[r] = r, 0, end
        back.parent[r], back.number[r] = r, 0
    k = ZERO
    while k < end:
        v = np.uint64(order[k])
        k += ONE
        is_turned = parent[v] == v
        for e in range(np.uint64(strong.first[v]), np.uint64(strong.first[v + ONE])):
            w, i = np.uint64(strong.other[e]), np.uint64(strong.number[e])
            at = np.uint64(position[w])
            is_new = at == 0
            is_earlier = not is_new and at < k and not is_turned
            if not (is_new or is_earlier) or block[w] != block[v]:
                continue
            if (arcs.capacity[i] if i < m else arcs.reverse_capacity[i - m]) <= bound:
                continue
            if is_new:
                order[end] = w
                end += ONE
                parent[w], number[w], position[w] = v, i, end
            else:
                back.parent[v], back.number[v] = w, i
                is_turned = True
                turned += ONE
    return end, turned


@kernel
def find_weak(arcs: Arcs, bound: float, trees: Trees, weak: Indices) -> Int64:
    """Write the vertices whose arc to the parent, or from it, is not above `bound`; return their number."""
    m = np.uint64(len(arcs.tail))
    count = ZERO
    for v in range(len(trees.parent)):
        i = np.uint64(trees.number[v])
        if (arcs.capacity[i] if i < m else arcs.reverse_capacity[i - m]) <= bound and trees.parent[v] != v:
            weak[count] = v
            count += ONE
    return np.int64(count)


@kernel
def replace_weak(
    arcs: Arcs,
    bound: float,
    strong: SortedArcs,
    block: Indices,
    position: Indices,
    weak: Indices,
    trees: Trees,
) -> Int64:
    """Give weak vertices other arcs, to or from earlier vertices; return for how many there is none.

    Parameters
    ----------
    strong : SortedArcs
        Sorted by the ends that are children.
    position : ndarray, shape (n,)
        Gets the position of each vertex in the order.
    weak : ndarray
        The vertices. Those that are left are its first entries afterwards.
    """
    m = np.uint64(len(arcs.tail))
    for k in range(len(position)):
        position[trees.order[k]] = k
    left = ZERO
    for k in range(len(weak)):
        v = np.uint64(weak[k])
        found = False
        for e in range(np.uint64(strong.first[v]), np.uint64(strong.first[v + ONE])):
            w, i = np.uint64(strong.other[e]), np.uint64(strong.number[e])
            if position[w] >= position[v] or block[w] != block[v]:
                continue
            if (arcs.capacity[i] if i < m else arcs.reverse_capacity[i - m]) > bound:
                trees.parent[v], trees.number[v] = w, i
                found = True
                break
        if not found:
            weak[left] = v
            left += ONE
    return np.int64(left)


@kernel
def send(flow: Numbers, number: np.uint64, amount: Number) -> None:
    """Add to the flow of an arc, numbered as in :class:`SortedArcs`."""
    m = np.uint64(len(flow))
    if number < m:
        flow[number] += amount
    else:
        flow[number - m] -= amount


@kernel
def route(up: Trees, down: Trees, surplus: Numbers, flow: Numbers) -> None:
    """Send all surplus to the roots, and from there to where flow is needed.

    `up` has arcs from each vertex to its parent, `down` from each parent to the vertex.
    """
    k = np.uint64(len(up.order))
    while k > ZERO:
        k -= ONE
        v = np.uint64(up.order[k])
        p, amount = np.uint64(up.parent[v]), surplus[v]
        if p != v and amount > 0:
            send(flow, np.uint64(up.number[v]), amount)
            surplus[p] += amount
            surplus[v] = 0
    k = np.uint64(len(down.order))
    while k > ZERO:
        k -= ONE
        v = np.uint64(down.order[k])
        p, amount = np.uint64(down.parent[v]), surplus[v]
        if p != v and amount < 0:
            send(flow, np.uint64(down.number[v]), -amount)
            surplus[p] += amount
            surplus[v] = 0


@kernel
def cancel_cycles(graph: SortedArcs, amount: Numbers, search: Search) -> None:
    """Cancel all cycles of flow by depth-first searches.

    ``amount[k]`` is the flow of arc `k` of the sorted arcs. On entry all vertices are WHITE, and the current
    arc of each is its first. BLACK vertices are on no cycle any more.
    """
    first, head = graph.first, graph.other
    colour, current, stack, position = search
    for start in range(len(colour)):
        if colour[start] != WHITE:
            continue
        colour[start], stack[ZERO], position[start] = GREY, start, ZERO
        size = ONE
        while size > ZERO:
            v = np.uint64(stack[size - ONE])
            e, end = np.uint64(current[v]), np.uint64(first[v + ONE])
            while e < end and (amount[e] == 0 or colour[head[e]] == BLACK):
                e += ONE
            current[v] = e
            if e == end:
                colour[v] = BLACK
                size -= ONE
                continue
            w = np.uint64(head[e])
            if colour[w] == WHITE:
                colour[w], stack[size], position[w] = GREY, w, size
                size += ONE
                continue
            # The path from w, with this arc, is a cycle. Cancel it, and go back to its first emptied arc.
            bottom = np.uint64(position[w])
            least = amount[e]
            k = bottom
            while k < size:
                least = min(least, amount[current[stack[k]]])
                k += ONE
            lowest = size - ONE
            k = size
            while k > bottom:
                k -= ONE
                a = np.uint64(current[stack[k]])
                amount[a] -= least
                if amount[a] == 0:
                    lowest = k
            while size > lowest + ONE:
                size -= ONE
                colour[stack[size]] = WHITE


def without_cycles(arcs: Arcs, flow: Array, size: int) -> None:
    """Cancel all cycles of a flow, in place; `size` is the number of vertices."""
    used = Arcs(arcs.tail, arcs.head, np.maximum(flow, 0), np.maximum(-flow, 0))
    graph = sorted_above(used, 0.0, size, by_head=False)
    forward = graph.number < len(flow)
    numbers = np.where(forward, graph.number, graph.number - len(flow))
    amount = np.abs(flow[numbers])
    search = Search(
        np.full(size, WHITE, dtype=np.uint8),
        graph.first[:-1].copy(),
        *(np.empty(size, dtype=graph.first.dtype) for _ in range(2)),
    )
    cancel_cycles(graph, amount, search)
    flow[numbers] = np.where(forward, amount, -amount)


class ContractedFlow:
    """The second stage of a solve on a contracted network.

    Parameters
    ----------
    contraction : Contraction
    network : FlowNetwork
        With the capacities that were solved.
    stage : SecondStage, or what takes its place
        Of the contracted network.
    trees : BlockTrees or None
        Trees of arcs that are still strong; None for a new contraction.
    number : type or None
        The type of amounts, if it is not that of `stage`.
    """

    def __init__(
        self,
        contraction: Contraction,
        network: FlowNetwork,
        stage: SecondStage | GridSecondStage | CompletedFlow | KnownFlow | ContractedFlow,
        trees: BlockTrees | None,
        number: type[float] | None,
    ) -> None:
        self._contraction, self._network, self._stage = contraction, network, stage
        self._trees, self._number = trees, number
        self._flow: Array | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the lock, but with the flow."""
        self.flow()
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def flow(self, phase: Phase = untimed) -> AnyArray:
        """Return the flow of every input arc."""
        with self._lock:
            if self._flow is None:
                smaller = self._stage.flow(phase)
                if self._number is not None:
                    smaller = smaller.astype(self._number)
                with phase("recover"):
                    contraction, trees = self._contraction, self._trees
                    if trees is None:
                        strong = StrongArcs(contraction)
                        trees = contraction.planted(self._network, contraction.threshold, strong)
                        assert trees is not None
                    self._flow = contraction.expanded(self._network, trees, smaller)
            return self._flow

    def preflow(self) -> AnyArray:
        """Return the flow of every input arc."""
        return self.flow()

    def source_side(self) -> NDArray[np.bool_]:
        """Return which vertices the source reaches over residual arcs: whole blocks."""
        side: NDArray[np.bool_] = self._stage.source_side()[self._contraction.block]
        return side
