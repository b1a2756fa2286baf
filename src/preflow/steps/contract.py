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
- The *sources' block* is all that strong arcs reach from a source, the *sinks' block* all from which they
  reach a sink. Each minimum cut has the first on the source side, the second on the sink side. No arc into
  the first, or out of the second, counts in such a cut: it gets the capacity 0.

The bound need not be tight. At first it is the capacity out of the sources, or into the sinks. Where
capacities are of two magnitudes, as in a network with a backbone, the bound that separates them is not yet
known. But a guess in the widest gap between capacities gives blocks, and the capacity around the block of a
source is a bound, too.

::

    bound = capacity out of the sources or into the sinks, the smaller one     sums_around
    threshold = bound if most arcs are above it, otherwise a guess              middle_of_widest_gap
    repeat
        blocks = strongly connected components of the arcs above threshold      find_components
        join what strong arcs reach from the sources, or to the sinks            reach_terminals
        bound = capacity around the blocks of the terminals, if it is smaller
        stop if the arcs above threshold are those above bound, or fewer
        threshold = bound                                                        (at most once)
    join arcs with the same ends                                                take_between
    solve the contracted network

The flow
--------
The flow of a joined arc goes to the first of its parts. Flow between blocks leaves surplus and need at the
vertices of a block, which add up to zero. Strong arcs carry it: along a tree to the block's root, and from
there along another one. The sources' block has need only, and its sources are its roots; the sinks' block has
surplus only. Each arc of a tree gets at most the flow that goes through the block::

    surplus of each vertex = flow in - flow out, over arcs between blocks       put_between
    plant a tree to the root of each block, and one away from it                trees
    send surplus up one to the root; fetch needs down the other                 route
    if that is more than a capacity: cancel all cycles of flow                  overfills, cancel_cycles

A flow without cycles sends at most its value through any vertex, so at most the bound through any arc, which
is less than the capacity of a strong arc. So the third step always mends the second.

All of this but the last step is O(n + m). That step takes O(m) time for each cycle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Int64, Number, Numbers
from ..graph.network import FlowNetwork
from ..graph.recognised_grid import Arcs
from ..graph.solved_capacities import is_whole
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.strong_components import find_components, new_components
from ..solving.run import Deadline
from .second_stage import BLACK, GREY, WHITE, SecondStageSearch
from .step import Applied, Bounds, FlowProblem

#: The contracted network must have at most this share of the vertices.
MOST_LEFT = 0.5
#: Sums of capacities are rounded; a bound is raised by this share, which is far above the rounding.
MARGIN = 1e-9
#: Arcs with the same ends are joined if a table of all pairs of blocks has at most this many entries an arc,
MOST_PAIRS = 4
#: and if the capacities between blocks are integers with at most this sum.
MOST_JOINED = 2.0**61
#: How many capacities are looked at to find a gap between them.
CAPACITIES = 1024
#: From this share of the sampled capacities on, most are above a bound.
MOST_ABOVE = 0.5

#: Where a vertex belongs: to neither kind of terminal, to the sources, or to the sinks.
NEITHER, AT_SOURCES, AT_SINKS = 0, 1, 2


class TerminalSums(NamedTuple):
    """Sums of capacities."""

    #: the capacity out of the blocks of the sources, and into those of the sinks
    sources: float
    sinks: float
    arcs: Int64  #: the number of arcs between blocks
    total: float  #: the sum of their capacities, of both directions


class SortedArcs(NamedTuple):
    """Arcs, those from each vertex together, or those into each vertex."""

    #: shape (n + 1,): the arcs of vertex v are those from ``first[v]`` to ``first[v + 1] - 1``
    first: Indices
    other: Indices  #: shape (k,): the other end of each arc
    #: shape (k,): the number i of the input arc, or ``i + num_arcs`` for its opposite direction
    number: Indices


class Blocks(NamedTuple):
    """The blocks of a network."""

    block: Indices  #: shape (n,): the block of each vertex
    role: NDArray[np.uint8]  #: shape (number of blocks,)


class Between(NamedTuple):
    """The arcs between blocks."""

    number: Indices  #: shape (k,): of the input arcs
    #: shape (k,): their ends
    tail: Indices
    head: Indices
    place: Indices  #: shape (k,): the arc of the contracted network that each is part of


class Trees(NamedTuple):
    """A tree in each block, its arcs directed away from its root or towards it."""

    order: Indices  #: shape (n,): the vertices, block after block, each after its parent
    parent: Indices  #: shape (n,): a root is its own parent
    number: Indices  #: shape (n,): the arc between each vertex and its parent, as in :class:`SortedArcs`


# Blocks


@kernel
def reach_terminals(
    strong: SortedArcs, block: Indices, role: NDArray[np.uint8], first: Indices, member: Indices
) -> bool:
    """Extend the roles of blocks to all that sources reach, and that reach sinks; False if some do both.

    Blocks have smaller numbers than those from which strong arcs lead to them. `first`, one entry more than
    blocks, and `member`, one for each vertex, are room for the vertices of each block; `first` is 0.
    """
    n, count = np.uint64(len(block)), np.uint64(len(role))
    for i in range(n):
        first[block[i]] += ONE
    total = ZERO
    for i in range(len(first)):
        total += np.uint64(first[i])
        first[i] = total
    v = n
    while v > ZERO:
        v -= ONE
        first[block[v]] -= ONE
        member[first[block[v]]] = v
    # From the sources to what they reach, then from the sinks back.
    b = count
    while b > ZERO:
        b -= ONE
        if role[b] != AT_SOURCES:
            continue
        for k in range(np.uint64(first[b]), np.uint64(first[b + ONE])):
            v = np.uint64(member[k])
            for e in range(np.uint64(strong.first[v]), np.uint64(strong.first[v + ONE])):
                other = np.uint64(block[strong.other[e]])
                if role[other] == AT_SINKS:
                    return False
                role[other] = AT_SOURCES
    while b < count:
        for k in range(np.uint64(first[b]), np.uint64(first[b + ONE])):
            v = np.uint64(member[k])
            for e in range(np.uint64(strong.first[v]), np.uint64(strong.first[v + ONE])):
                if role[block[strong.other[e]]] == AT_SINKS:
                    role[b] = AT_SINKS
        b += ONE
    return True


@kernel
def sums_around(arcs: Arcs, block: Indices, role: NDArray[np.uint8]) -> tuple[float, float, Int64, float]:
    """Return the fields of :class:`TerminalSums` for the blocks with these roles."""
    sources, sinks, count, total = 0.0, 0.0, np.int64(0), 0.0
    has_reverse = len(arcs.reverse_capacity) > 0
    for i in range(len(arcs.tail)):
        u, v = block[arcs.tail[i]], block[arcs.head[i]]
        if u == v:
            continue
        count += 1
        capacity = np.float64(arcs.capacity[i])
        back = np.float64(arcs.reverse_capacity[i]) if has_reverse else 0.0
        total += capacity + back
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
    return sources, sinks, count, total


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
def take_between(
    arcs: Arcs, block: Indices, pair: Indices, between: Between, tail: Indices, head: Indices
) -> Int64:
    """Take the arcs between two blocks; join those with the same ends; return the number of joined arcs.

    `between`, `tail` and `head` are the results. The number of the joined arc from block u to block v, from
    1, belongs at ``u * number of blocks + v`` of `pair`. All are 0 on entry. If the array is empty, no arcs
    are joined.
    """
    blocks = np.uint64(np.sqrt(len(pair)))
    k, end = ZERO, ZERO
    for i in range(len(arcs.tail)):
        t, h = np.uint64(arcs.tail[i]), np.uint64(arcs.head[i])
        u, v = np.uint64(block[t]), np.uint64(block[h])
        if u == v:
            continue
        joined = np.uint64(pair[u * blocks + v]) if blocks > ZERO else ZERO
        if joined == ZERO:
            tail[end], head[end] = u, v
            end += ONE
            joined = end
            if blocks > ZERO:
                pair[u * blocks + v] = joined
        between.number[k], between.tail[k], between.head[k] = i, t, h
        between.place[k] = joined - ONE
        k += ONE
    return np.int64(end)


@kernel
def add_between(
    arcs: Arcs,
    between: Between,
    block: Indices,
    role: NDArray[np.uint8],
    capacity: Numbers,
    reverse_capacity: Numbers,
) -> None:
    """Add the capacities of the arcs between blocks to those of the joined arcs.

    But for arcs into the sources' block, and out of the sinks' block.
    """
    has_reverse = len(reverse_capacity) > 0
    for k in range(len(between.number)):
        i, p = np.uint64(between.number[k]), np.uint64(between.place[k])
        at_tail, at_head = role[block[between.tail[k]]], role[block[between.head[k]]]
        if at_head != AT_SOURCES and at_tail != AT_SINKS:
            capacity[p] += arcs.capacity[i]
        if has_reverse and at_tail != AT_SOURCES and at_head != AT_SINKS:
            reverse_capacity[p] += arcs.reverse_capacity[i]


@kernel
def by_vertex(values: NDArray[np.bool_], block: Indices, result: NDArray[np.bool_]) -> None:
    """Write the value of its block for each vertex."""
    for v in range(len(block)):
        result[v] = values[block[v]]


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


def blocks_of(strong: SortedArcs, sources: Array, sinks: Array) -> Blocks | None:
    """Return the components of arcs sorted by their tails; None if one has a source and a sink."""
    size = len(strong.first) - 1
    state = new_components(size, strong.first.dtype)
    empty, everywhere = strong.first[:0], np.ones(size, dtype=bool)
    count = int(find_components(strong.first, strong.other, empty, everywhere, state))
    block = state.component - strong.first.dtype.type(1)
    role = roles(block, count, sources, sinks)
    return None if (role[block[sources]] != AT_SOURCES).any() else Blocks(block, role)


def joined_to_terminals(strong: SortedArcs, blocks: Blocks) -> Blocks | None:
    """Join blocks that strong arcs reach from the sources, or to the sinks; None if some are both."""
    block, role = blocks
    room = np.zeros(len(role) + 1, dtype=block.dtype), np.empty_like(block)
    if not reach_terminals(strong, block, role, *room):
        return None
    number = np.cumsum(role == NEITHER, dtype=block.dtype) + block.dtype.type(1)
    number[role == AT_SOURCES], number[role == AT_SINKS] = 0, 1
    return Blocks(number[block], np.append(np.array([AT_SOURCES, AT_SINKS], np.uint8), role[role == NEITHER]))


def roles(block: Array, count: int, sources: Array, sinks: Array) -> NDArray[np.uint8]:
    """Return the role of each block that has a terminal, NEITHER for others."""
    role = np.full(count, NEITHER, dtype=np.uint8)
    role[block[sources]] = AT_SOURCES
    role[block[sinks]] = AT_SINKS
    return role


@dataclass(frozen=True, eq=False)
class Contraction(Applied[FlowProblem]):
    """A network and what is left of it after blocks are contracted."""

    problem: FlowProblem
    reduced: FlowProblem
    threshold: float  #: arcs above it are strong; the capacity of a minimum cut is not above it
    #: unsigned integers, shape (num_vertices,): the vertex of `reduced` that each vertex belongs to
    block: Array
    between: Between

    @property
    def note(self) -> str:
        """How many vertices are left."""
        size, left = len(self.block), self.reduced.network.num_vertices
        return f"no minimum cut separates the vertices of a block: {size:,} vertices become {left:,}"

    @cached_property
    def is_whole(self) -> bool:
        """Whether all capacities are integers. If only those between blocks are, answers become floats."""
        return is_whole(self.problem.network)

    def lift_bounds(self, bounds: Bounds) -> Bounds:
        """Return the same bounds, of the type of the capacities."""
        if not isinstance(bounds.lower, int) or self.is_whole:
            return bounds
        return Bounds(*map(float, bounds))

    def lift_cut(self, sink_side: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the side of its block for each vertex."""
        result = np.empty(len(self.block), dtype=bool)
        by_vertex(sink_side, self.block, result)
        return result

    def flow(self, reduced_flow: Array) -> Array:
        """Return the flow of every input arc for a flow of the contracted network."""
        network = self.problem.network
        arcs, dtype = arcs_of(network), reduced_flow.dtype if self.is_whole else np.dtype(np.float64)
        flow = np.zeros(network.num_arcs, dtype=dtype)
        surplus = np.zeros(network.num_vertices, dtype=dtype)
        put_between(arcs, self.between, reduced_flow.astype(dtype), flow, surplus)
        up, down = self.trees()
        if up.order is down.order:
            most = route(up, down, True, True, surplus, flow)
        else:
            most = route(up, down, True, False, surplus, flow) + route(up, down, False, True, surplus, flow)
        if strict_bound(most) > self.threshold and overfills(arcs, flow):
            without_cycles(arcs, flow, network.num_vertices)
        return flow

    def trees(self) -> tuple[Trees, Trees]:
        """Return trees of strong arcs, to the root of each block and away from it.

        They share their order if each vertex has a strong arc to an earlier one. All terminals are roots.
        """
        size = len(self.block)
        root = np.empty(self.reduced.network.num_vertices, dtype=self.block.dtype)
        root[self.block] = np.arange(size, dtype=self.block.dtype)
        terminals = np.unique(np.append(self.problem.sources, self.problem.sinks))
        terminals = terminals[np.argsort(self.block[terminals], kind="stable")]
        root[self.block[terminals]] = size
        root = np.append(root[root < size], terminals).astype(self.block.dtype)
        arcs = arcs_of(self.problem.network)
        strong = sorted_above(arcs, self.threshold, size, by_head=False)
        down, up = (Trees(*(np.empty_like(strong.first[1:]) for _ in range(3))) for _ in range(2))
        position = np.full(size, size, dtype=strong.first.dtype)
        if plant_trees(strong, self.block, root, position, down, up) == size:
            return up._replace(order=down.order), down
        strong = sorted_above(arcs, self.threshold, size, by_head=True)
        position[:] = size
        plant_trees(strong, self.block, root, position, up, Trees(*map(np.empty_like, up)))
        return up, down


def sampled_capacities(capacity: Array) -> Array:
    """Return a sample of the positive capacities, ascending."""
    sample = capacity[:: max(1, len(capacity) // CAPACITIES)]
    return np.sort(sample[sample > 0])


def middle_of_widest_gap(capacity: Array) -> float:
    """Return a number between the two neighbours in a sample, of those up to its median, that differ most.

    It is their geometric mean. The sample must not be empty.
    """
    sample = np.minimum(sampled_capacities(capacity), np.finfo(np.float64).max)
    low = np.log(sample[: len(sample) // 2 + 1])
    gap = int(np.argmax(np.diff(low))) if len(low) > 1 else 0
    return float(np.exp((low[gap] + low[min(gap + 1, len(low) - 1)]) / 2))


def most_are_above(capacity: Array, bound: float) -> bool:
    """Whether most capacities of a sample are above a bound."""
    sample = sampled_capacities(capacity)
    return bool((sample > bound).sum() >= MOST_ABOVE * len(sample))


def apply(problem: FlowProblem, deadline: Deadline) -> Contraction | None:
    """Contract the blocks of a network on the host; None if too few vertices would vanish, or time is up."""
    network, sources, sinks, seconds = problem
    if network.saturated:
        return None
    arcs, size = arcs_of(network), network.num_vertices
    alone = np.arange(size, dtype=arcs.tail.dtype)
    sums = TerminalSums(*sums_around(arcs, alone, roles(alone, size, sources, sinks)))
    bound = strict_bound(min(sums.sources, sums.sinks))
    guess = not most_are_above(network.capacity, bound)
    threshold = middle_of_widest_gap(network.capacity) if guess else bound
    for _ in range(2):
        if deadline.passed():
            return None
        strong = sorted_above(arcs, threshold, size, by_head=False)
        found = blocks_of(strong, sources, sinks)
        if found is not None:
            sums = TerminalSums(*sums_around(arcs, *found))
            if max(sums.sources, sums.sinks) > threshold:  # else no strong arc leads from or to the terminals
                found = joined_to_terminals(strong, found)
                sums = sums if found is None else TerminalSums(*sums_around(arcs, *found))
        if found is not None:
            bound = min(bound, strict_bound(min(sums.sources, sums.sinks)))
        if bound <= threshold or count_above(arcs, bound) == len(strong.number):
            break
        threshold = bound
    if found is None or len(found.role) > MOST_LEFT * size or math.isinf(bound) or deadline.passed():
        return None
    block, count = found.block, len(found.role)
    pairs = count * count
    if network.capacity.dtype.kind != "i" or sums.total > MOST_JOINED or pairs > MOST_PAIRS * len(arcs.tail):
        pairs = 0
    *parts, tail, head = (np.empty(sums.arcs, dtype=block.dtype) for _ in range(6))
    between = Between(*parts)
    number = take_between(arcs, block, np.zeros(pairs, dtype=block.dtype), between, tail, head)
    capacity = np.zeros(number, dtype=network.capacity.dtype)
    reverse = None if network.reverse_capacity is None else np.zeros_like(capacity)
    add_between(arcs, between, block, found.role, capacity, capacity[:0] if reverse is None else reverse)
    left = FlowNetwork(count, tail[:number], head[:number], capacity, reverse_capacity=reverse)
    sources, sinks = (np.unique(block[terminals]).astype(np.int64) for terminals in (sources, sinks))
    reduced = FlowProblem(left, sources, sinks, seconds)
    return Contraction(problem, reduced, max(threshold, bound), block, between)


def strict_bound(capacity: int | float) -> float:
    """Return a bound that the capacity of a cut is below, also if it was rounded."""
    return float(capacity) * (1 + MARGIN)


def count_above(arcs: Arcs, threshold: float) -> int:
    """Return the number of arcs, of either direction, above a threshold."""
    return sum(int(np.count_nonzero(values > threshold)) for values in (arcs.capacity, arcs.reverse_capacity))


# The flow


@kernel
def put_between(arcs: Arcs, between: Between, amount: Numbers, flow: Numbers, surplus: Numbers) -> None:
    """Write the flow of the arcs between blocks; add flow in minus flow out to `surplus`, of each vertex.

    `amount`, the flow of the joined arcs, goes to their first parts. It is 0 everywhere afterwards.
    """
    for k in range(len(between.number)):
        p = np.uint64(between.place[k])
        left = amount[p]
        if left == 0:
            continue
        i = np.uint64(between.number[k])
        # The minimum of a flow and a float capacity would be a float, which rounds integers past 2**53.
        flow[i] = left
        if left > 0 and left > arcs.capacity[i]:
            flow[i] = arcs.capacity[i]
        elif left < 0 and left < -arcs.reverse_capacity[i]:
            flow[i] = -arcs.reverse_capacity[i]
        part = flow[i]
        amount[p] = left - part
        surplus[between.head[k]] += part
        surplus[between.tail[k]] -= part


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
    strong: SortedArcs, block: Indices, root: Indices, position: Indices, trees: Trees, back: Trees
) -> Int64:
    """Search blocks breadth-first from their roots; return the number of vertices with an arc back.

    That is an arc to an earlier vertex. All roots count. If there is one for each vertex, these arcs are
    trees that lead back to the roots. Vertices that no search reaches become roots, the last ones; nothing
    is sent through these.

    Roots of a block follow each other. `strong` is sorted by the ends that are parents in `trees`. `position`
    gets the place of each vertex in the order; n everywhere on entry. `trees` and `back`, the results, share
    their order.
    """
    order, parent, number = trees
    n = np.uint64(len(order))
    turned, end = np.uint64(len(root)), ZERO
    k, b = ZERO, ZERO
    while b < len(root):
        here = block[root[b]]
        while b < len(root) and block[root[b]] == here:
            r = np.uint64(root[b])
            order[end], position[r] = r, end
            end += ONE
            parent[r], number[r] = r, 0
            back.parent[r], back.number[r] = r, 0
            b += ONE
        while k < end:
            v = np.uint64(order[k])
            is_turned = np.uint64(parent[v]) == v
            for e in range(np.uint64(strong.first[v]), np.uint64(strong.first[v + ONE])):
                w = np.uint64(strong.other[e])
                at = np.uint64(position[w])
                is_new = at == n
                is_earlier = at < k and not is_turned
                if not (is_new or is_earlier) or block[w] != block[v]:
                    continue
                if is_new:
                    order[end], position[w] = w, end
                    end += ONE
                    parent[w], number[w] = v, strong.number[e]
                else:
                    back.parent[v], back.number[v] = w, strong.number[e]
                    is_turned = True
                    turned += ONE
            k += ONE
    for i in range(n):
        if position[i] == n:
            order[end], position[i] = i, end
            end += ONE
            parent[i], number[i] = i, 0
            back.parent[i], back.number[i] = i, 0
    return np.int64(turned)


@kernel
def send(flow: Numbers, number: np.uint64, amount: Number) -> None:
    """Add to the flow of an arc, numbered as in :class:`SortedArcs`."""
    m = np.uint64(len(flow))
    if number < m:
        flow[number] += amount
    else:
        flow[number - m] -= amount


@kernel
def route(up: Trees, down: Trees, sends: bool, fetches: bool, surplus: Numbers, flow: Numbers) -> float:
    """Send all surplus to the roots, and from there to where flow is needed; return the most through an arc.

    `up` has arcs from each vertex to its parent, `down` from each parent to the vertex. Trees that share an
    order do both at once. Otherwise one call `sends` along `up`, and the next one `fetches` along `down`.
    """
    most = 0.0
    k = np.uint64(len(up.order))
    while k > ZERO:
        k -= ONE
        v = np.uint64(up.order[k] if sends else down.order[k])
        amount = surplus[v]
        is_sent = amount > 0
        if amount == 0 or not (sends if is_sent else fetches):
            continue
        # Both are read, since the sign of amounts cannot be predicted.
        up_parent, down_parent = np.uint64(up.parent[v]), np.uint64(down.parent[v])
        up_number, down_number = np.uint64(up.number[v]), np.uint64(down.number[v])
        p = up_parent if is_sent else down_parent
        if p != v:
            send(flow, up_number if is_sent else down_number, abs(amount))
            surplus[p] += amount
            surplus[v] = 0
            most = max(most, np.float64(abs(amount)))
    return most


@kernel
def cancel_cycles(graph: SortedArcs, amount: Numbers, search: SecondStageSearch) -> None:
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
    search = SecondStageSearch(
        np.full(size, WHITE, dtype=np.uint8),
        graph.first[:-1].copy(),
        *(np.empty(size, dtype=graph.first.dtype) for _ in range(2)),
    )
    cancel_cycles(graph, amount, search)
    flow[numbers] = np.where(forward, amount, -amount)
