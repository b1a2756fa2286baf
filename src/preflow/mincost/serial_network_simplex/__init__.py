"""Primal network simplex with strongly feasible trees and block pricing.

Dantzig 1951; Cunningham 1976 for strongly feasible trees; Grigoriadis 1986 for block pricing.

Definitions. The *tree* spans all vertices and an artificial root. Arcs outside the tree are empty or full.
An artificial arc of unlimited capacity joins each vertex to the root: it leads to the root at a vertex that
supplies, at cost zero, and from the root elsewhere, at a cost above that of all paths. An *eligible* arc is
an empty one of negative reduced cost, or a full one of positive reduced cost.

Invariants, between two pivots:

1. The flow sends all supplies, with the help of artificial arcs, and is between zero and the capacities.
2. Tree arcs have reduced cost zero.
3. The tree is *strongly feasible*: every vertex can send a unit to the root along tree arcs. Then no
   sequence of pivots that move no flow returns to an earlier tree.

Pseudo-code::

    tree = the artificial arcs, with the supplies as flow
    loop:
        look at blocks of arcs in turn, until one has eligible arcs
        if there is none: the flow is optimal; infeasible if an arc of the root carries flow to a demand
        take the eligible arc of the block with the largest reduced cost
        send as much flow as possible around the cycle that it closes in the tree
        exchange it with the last arc of the cycle, seen from its top, that is now full or empty
        add its reduced cost to the potentials of the subtree that moved

A block has a few times sqrt(m) arcs. The number of pivots is O(n m C U) at worst; on NETGEN-8 it was 3 to 5 a
vertex with 10,000 and with 50,000 vertices. A pivot takes the time of the cycle and of the subtree that
moves, 65 and 200 vertices on the mean with 10,000 vertices, 110 and 420 with 50,000.

`Simplex` keeps the tree between calls of `run`. Column generation calls `append` with new arcs and `run`
again; see :mod:`preflow.transportation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Integers
from ...checks import check_positive
from ...errors import CostOverflowError
from ...graph.standard_form import MOST, StandardForm
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import PIVOTS
from ..solution import Ending, FlowState
from .tree import COLUMNS, LAST, LINK, PARENT, SIZE, Tree, check_tree, hang, shift_potentials

#: Between two looks at the stop flag a pivot loop does this many pivots.
PIVOTS_BETWEEN_LOOKS = np.uint64(64)
#: With at least this number of arcs a vertex, pricing goes through arcs that are this number apart. Arcs are
#: mostly given by their tails; the arcs of a block then have different tails. On a Xeon this takes 0.72 of
#: the time on NETGEN-8 with 10,000 vertices, 1.00 on GRIDGEN-8 and GOTO; on a grid of degree 4 it takes 1.07.
LEAST_STRIDE = 6


@dataclass(frozen=True)
class SimplexOptions:
    """Options of network simplex.

    Attributes
    ----------
    block : float
        Arcs of a block, as a multiple of the root of the number of arcs. With 1, 2 and 4 an EPYC took 1.6,
        1.1 and 1.1 s on NETGEN-8 with 50,000 vertices, 0.076, 0.075 and 0.068 s on a 100 x 100 grid, and 1.1,
        0.9 and 1.1 s on GOTO with 24,000 vertices.
    """

    block: float = 3.0

    def __post_init__(self) -> None:
        check_positive("block", self.block)


class Arcs(NamedTuple):
    """The artificial arcs of all vertices, the other arcs in the order of pricing, and room for more.

    Attributes
    ----------
    tail, head : ndarray of uint32, shape (n + room,)
    cost, capacity, flow : ndarray of int64, shape (n + room,)
    state : ndarray of int8, shape (n + room,)
        1 for an empty arc outside the tree, -1 for a full one, 0 for an arc of the tree.
    """

    tail: Indices
    head: Indices
    cost: NDArray[np.int64]
    capacity: NDArray[np.int64]
    flow: NDArray[np.int64]
    state: NDArray[np.int8]


@kernel
def find_entering(
    arcs: Arcs, potential: NDArray[np.int64], end: np.uint64, first: np.uint64, block: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return an eligible arc before `end`, and where the next search begins; `end` if there is none.

    The arc is the best of the first block, counted from `first` on, that has an eligible arc.
    """
    begin = np.uint64(len(potential)) - ONE
    best, found = np.int64(0), end
    arc, left, waiting = first, block, end - begin
    while waiting > ZERO:
        stop = arc + min(min(left, waiting), end - arc)
        for i in range(arc, stop):
            reduced = arcs.state[i] * (arcs.cost[i] + potential[arcs.tail[i]] - potential[arcs.head[i]])
            if reduced < best:
                best = reduced
                found = np.uint64(i)
        waiting -= stop - arc
        left -= stop - arc
        arc = stop if stop < end else begin
        if left == ZERO:
            if found < end:
                break
            left = block
    return found, arc


@kernel
def pivot(tree: Tree, arcs: Arcs, entering: np.uint64) -> None:
    """Send flow around the cycle that an eligible arc closes, and exchange it with an arc of the cycle."""
    node = tree.node
    increases = arcs.state[entering] > 0
    # The flow goes from `start` over the entering arc to `goal`, and back over the tree.
    start = np.uint64(arcs.tail[entering] if increases else arcs.head[entering])
    goal = np.uint64(arcs.head[entering] if increases else arcs.tail[entering])
    # Walk from both ends to the top of the cycle, the smaller subtree first, and find the leaving arc: on the
    # side of `start` the first of those that carry least, on the side of `goal` the last.
    least = arcs.capacity[entering]
    cut, side = start, ZERO
    u, v = start, goal
    while u != v:
        if node[u, SIZE] < node[v, SIZE]:
            arc = node[u, LINK] >> ONE
            room = arcs.flow[arc] if node[u, LINK] & ONE else arcs.capacity[arc] - arcs.flow[arc]
            # An arc on the side of `goal` that carries as little comes later in the cycle.
            if room < least:
                least = room
                cut, side = u, ONE
            u = np.uint64(node[u, PARENT])
        else:
            arc = node[v, LINK] >> ONE
            room = arcs.capacity[arc] - arcs.flow[arc] if node[v, LINK] & ONE else arcs.flow[arc]
            if room <= least:
                least = room
                cut, side = v, TWO
            v = np.uint64(node[v, PARENT])
    top = u
    if least > 0:
        amount = least if increases else -least
        arcs.flow[entering] += amount
        u = start
        while u != top:
            arcs.flow[node[u, LINK] >> ONE] += -least if node[u, LINK] & ONE else least
            u = np.uint64(node[u, PARENT])
        v = goal
        while v != top:
            arcs.flow[node[v, LINK] >> ONE] += least if node[v, LINK] & ONE else -least
            v = np.uint64(node[v, PARENT])
    if side == ZERO:
        arcs.state[entering] = -arcs.state[entering]
        return
    leaving = node[cut, LINK] >> ONE
    arcs.state[leaving] = 1 if arcs.flow[leaving] == 0 else -1
    arcs.state[entering] = 0
    inner = start if side == ONE else goal
    outer = goal if side == ONE else start
    reduced = arcs.cost[entering] + tree.potential[arcs.tail[entering]] - tree.potential[arcs.head[entering]]
    inner_is_tail = inner == np.uint64(arcs.tail[entering])
    hang(tree, inner, outer, cut, top, entering * TWO + (ONE if inner_is_tail else ZERO))
    shift_potentials(tree, inner, -reduced if inner_is_tail else reduced)


@kernel
def run_pivots(
    tree: Tree, arcs: Arcs, end: np.uint64, first: np.uint64, block: np.uint64, monitor: Monitor
) -> tuple[bool, np.uint64]:
    """Pivot until no arc before `end` is eligible; return whether that is so, and where to search next."""
    pivots = ZERO
    while True:
        entering, first = find_entering(arcs, tree.potential, end, first, block)
        if entering == end:
            break
        pivot(tree, arcs, entering)
        pivots += ONE
        if pivots % PIVOTS_BETWEEN_LOOKS == ZERO and relaxed_load(monitor.stop, 0):
            break
    monitor.counts[PIVOTS] += pivots
    return entering == end, first


@kernel
def plant(
    tree: Tree,
    arcs: Arcs,
    parent: NDArray[np.int64],
    by: NDArray[np.int64],
    child: Indices,
    sibling: Indices,
) -> None:
    """Make the tree of the parent of each vertex and the arc that joins them, with its potentials.

    On entry the artificial root is the first child and the next sibling of all vertices: they have none.
    """
    node, following, previous, potential = tree
    root = np.uint64(len(node)) - ONE
    for v in range(root):
        above = parent[v]
        sibling[v] = child[above]
        child[above] = v
    node[root, SIZE] = 1
    potential[root] = 0
    u, tip = root, root
    while True:
        if np.uint64(child[u]) != root:
            u = np.uint64(child[u])
        else:
            # Leave the subtrees that are complete.
            while u != root:
                node[u, LAST] = tip
                node[parent[u], SIZE] += node[u, SIZE]
                if np.uint64(sibling[u]) != root:
                    break
                u = np.uint64(parent[u])
            if u == root:
                break
            u = np.uint64(sibling[u])
        # Enter the next vertex of the preorder.
        following[tip] = u
        previous[u] = tip
        tip = u
        arc = by[u]
        arcs.state[arc] = 0
        is_tail = np.uint64(arcs.tail[arc]) == u
        node[u, PARENT], node[u, SIZE] = parent[u], 1
        node[u, LINK] = 2 * arc + 1 if is_tail else 2 * arc
        potential[u] = potential[parent[u]] + (-arcs.cost[arc] if is_tail else arcs.cost[arc])
    node[root, LAST] = tip
    following[tip] = root
    previous[root] = tip


class Simplex:
    """A network simplex whose arcs may grow.

    Parameters
    ----------
    form : StandardForm
        Its arcs are the first ones.
    largest_cost : int
        No cost will be larger in size.
    block : float
        See :class:`SimplexOptions`.

    Attributes
    ----------
    tree : Tree
    arcs : Arcs
    end : int
        The arcs up to this one are in use.
    """

    def __init__(self, form: StandardForm, largest_cost: int, block: float) -> None:
        n = len(form.supply)
        most = (n + 1) * (largest_cost + 1)
        if most >= MOST // 2:
            raise CostOverflowError(f"costs of up to {largest_cost:,} are too large for {n:,} vertices")
        self.num_vertices, self.end, self.first, self.block = n, n, n, block
        sends = form.supply >= 0
        vertex = np.arange(n, dtype=np.uint32)
        self.arcs = Arcs(
            np.where(sends, vertex, np.uint32(n)),
            np.where(sends, np.uint32(n), vertex),
            np.where(sends, 0, most),
            np.full(n, MOST),
            np.abs(form.supply),
            np.zeros(n, dtype=np.int8),
        )
        ring = np.arange(n + 1)
        node = np.zeros((n + 1, COLUMNS), dtype=np.uint32)
        node[:, PARENT], node[:, SIZE], node[:, LAST] = n, 1, ring
        node[:n, LINK] = 2 * vertex + sends
        node[n, SIZE], node[n, LAST] = n + 1, (n - 1) % (n + 1)
        self.tree = Tree(
            node,
            ((ring + 1) % (n + 1)).astype(np.uint32),
            ((ring - 1) % (n + 1)).astype(np.uint32),
            np.append(np.where(sends, 0, most), 0),
        )
        self.append(form.tail, form.head, form.capacity, form.cost)

    def append(
        self, tail: Integers, head: Integers, capacity: NDArray[np.int64], cost: NDArray[np.int64]
    ) -> None:
        """Add empty arcs; the next search begins with them."""
        begin, end = self.end, self.end + len(tail)
        if end > len(self.arcs.tail):
            # The first arcs get no room: most networks do not grow.
            size = end if begin == self.num_vertices else max(end, 2 * begin)
            parts: list[Any] = list(self.arcs)
            grown = [np.concatenate([part[:begin], np.zeros(size - begin, part.dtype)]) for part in parts]
            self.arcs = Arcs(*grown)
        arcs = self.arcs
        arcs.tail[begin:end], arcs.head[begin:end] = tail, head
        arcs.cost[begin:end], arcs.capacity[begin:end] = cost, capacity
        arcs.state[begin:end] = 1
        self.end, self.first = end, begin if end > begin else self.num_vertices

    def start_from(
        self,
        parent: NDArray[np.int64],
        by: NDArray[np.int64],
        flow: NDArray[np.int64],
        potential: NDArray[np.int64],
    ) -> None:
        """Start from a flow that sends all supplies, is zero outside a forest, and fills no arc.

        Parameters
        ----------
        parent, by : ndarray of int64, shape (n,)
            The parent of each vertex and the arc that joins them, counted without artificial arcs; -1 for
            roots, which must not have a demand.
        flow : ndarray of int64
            The flow of the arcs, but not of the artificial ones.
        potential : ndarray of int64, shape (n,)
            The roots get these potentials.
        """
        n, arcs, roots = self.num_vertices, self.arcs, np.flatnonzero(parent < 0)
        arcs.flow[:n], arcs.flow[n : self.end], arcs.state[: self.end] = 0, flow, 1
        # An artificial arc carries nothing and is never priced again. So its cost may be any number.
        arcs.cost[roots] = -potential[roots]
        above, joined = parent.copy(), by + n
        above[roots], joined[roots] = n, roots
        ends = np.full((2, n + 1), n, dtype=np.uint32)
        plant(self.tree, arcs, above, joined, ends[0], ends[1])

    def run(self, monitor: Monitor) -> Ending:
        """Pivot until the flow is optimal for the arcs there are."""
        block = max(int(self.block * (self.end - self.num_vertices) ** 0.5), 10)
        done, first = run_pivots(
            self.tree, self.arcs, np.uint64(self.end), np.uint64(self.first), np.uint64(block), monitor
        )
        self.first = int(first)
        if not done:
            return "stopped"
        return "infeasible" if self.unsent else "optimal"

    @property
    def unsent(self) -> int:
        """The flow of artificial arcs to demands."""
        n = self.num_vertices
        return int(self.arcs.flow[:n][self.arcs.cost[:n] > 0].sum())

    @property
    def flow(self) -> NDArray[np.int64]:
        """The flow of the arcs, but not of the artificial ones."""
        return self.arcs.flow[self.num_vertices : self.end]

    @property
    def potential(self) -> NDArray[np.int64]:
        """The potentials of the vertices."""
        return self.tree.potential[:-1]


def solve(
    instance: StandardForm, start: FlowState | None, options: SimplexOptions, control: Control
) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    if start is not None:
        control.remarks.append("network simplex starts from nothing, not from the given flow")
    largest = int(np.abs(instance.cost).max(initial=0))
    order = _pricing_order(len(instance.tail), len(instance.supply))
    arcs = (instance.tail[order], instance.head[order], instance.capacity[order], instance.cost[order])
    simplex = Simplex(StandardForm(*arcs, instance.supply), largest, options.block)
    ending = simplex.run(control.monitor())
    flow = np.empty(len(instance.tail), dtype=np.int64)
    flow[order] = simplex.flow
    return FlowState(flow, simplex.potential.copy(), ending)


def _pricing_order(num_arcs: int, num_vertices: int) -> NDArray[np.int64] | slice:
    """Return the arcs in the order of pricing; as they are given where a vertex has few."""
    stride = num_arcs // max(num_vertices, 1)
    if stride < LEAST_STRIDE:
        return slice(None)
    rows = -(-num_arcs // stride)
    order = np.arange(rows * stride).reshape(rows, stride).T.reshape(-1)
    return order[order < num_arcs]


def check_invariants(simplex: Simplex) -> None:
    """Raise AssertionError unless the invariants hold between two pivots."""
    tree, arcs, n = simplex.tree, simplex.arcs, simplex.num_vertices
    check_tree(tree)
    tail, head, cost, capacity, flow, state = (array[: simplex.end].astype(np.int64) for array in arcs)
    assert (flow >= 0).all()
    assert (flow <= capacity).all()
    assert (flow[state == 1] == 0).all()
    assert (flow == capacity)[state == -1].all()
    reduced = cost + tree.potential[tail] - tree.potential[head]
    assert (reduced[state == 0] == 0).all()
    for v in range(n):
        link = int(tree.node[v, LINK])
        room = arcs.capacity[link >> 1] - arcs.flow[link >> 1] if link & 1 else arcs.flow[link >> 1]
        assert room > 0, "every vertex can send a unit to the root"
