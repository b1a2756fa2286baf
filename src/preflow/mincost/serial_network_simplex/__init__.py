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
again; see :mod:`preflow.transport`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
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
PIVOTS_BETWEEN_LOOKS = np.uint64(256)


@dataclass(frozen=True)
class SimplexOptions:
    """Options of network simplex.

    Attributes
    ----------
    block : float
        Arcs of a block, as a multiple of the root of the number of arcs. With 1, 2 and 4 an EPYC took 1.6,
        1.1 and 1.1 s on NETGEN-8 with 50,000 vertices, 0.076, 0.075 and 0.068 s on a 100 x 100 grid, and 1.1,
        0.9 and 1.1 s on GOTO with 24,000 vertices. Random orders of the arcs save pivots of NETGEN but double
        those of grids.
    """

    block: float = 3.0

    def __post_init__(self) -> None:
        check_positive("block", self.block)


class Arcs(NamedTuple):
    """Arcs in the order in which they are priced, then room for more; the artificial arcs come last.

    Attributes
    ----------
    tail, head : ndarray of uint32, shape (room + n,)
    cost, capacity, flow : ndarray of int64, shape (room + n,)
    state : ndarray of int8, shape (room + n,)
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
    arcs: Arcs, potential: NDArray[np.int64], num_arcs: np.uint64, first: np.uint64, block: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return an eligible arc, and where the next search begins; `num_arcs` if there is none.

    The arc is the best of the first block, counted from `first` on, that has an eligible arc.
    """
    best, found = np.int64(0), num_arcs
    arc, left, scanned = first, block, ZERO
    while scanned < num_arcs:
        stop = min(min(arc + left, num_arcs), arc + num_arcs - scanned)
        for i in range(arc, stop):
            reduced = arcs.state[i] * (arcs.cost[i] + potential[arcs.tail[i]] - potential[arcs.head[i]])
            if reduced < best:
                best = reduced
                found = np.uint64(i)
        scanned += stop - arc
        left -= stop - arc
        arc = stop if stop < num_arcs else ZERO
        if left == ZERO:
            if found < num_arcs:
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
    tree: Tree, arcs: Arcs, num_arcs: np.uint64, first: np.uint64, block: np.uint64, monitor: Monitor
) -> tuple[bool, np.uint64]:
    """Pivot until no arc is eligible; return whether that is so, and where the next search begins."""
    pivots = ZERO
    while True:
        entering, first = find_entering(arcs, tree.potential, num_arcs, first, block)
        if entering == num_arcs:
            break
        pivot(tree, arcs, entering)
        pivots += ONE
        if pivots % PIVOTS_BETWEEN_LOOKS == ZERO and relaxed_load(monitor.stop, 0):
            break
    monitor.counts[PIVOTS] += pivots
    return entering == num_arcs, first


class Simplex:
    """A network simplex whose arcs may grow.

    Parameters
    ----------
    form : StandardForm
        Its arcs are the first ones.
    room : int
        The most arcs that there will be.
    largest_cost : int
        No cost will be larger in size.
    block : float
        See :class:`SimplexOptions`.
    """

    def __init__(self, form: StandardForm, room: int, largest_cost: int, block: float) -> None:
        n = len(form.supply)
        most = (n + 1) * (largest_cost + 1)
        if most >= MOST // 2:
            raise CostOverflowError(f"costs of up to {largest_cost:,} are too large for {n:,} vertices")
        self.num_vertices, self.room, self.num_arcs, self.first = n, room, 0, np.uint64(0)
        self.block = block
        self.arcs = Arcs(
            np.empty(room + n, dtype=np.uint32),
            np.empty(room + n, dtype=np.uint32),
            np.empty(room + n, dtype=np.int64),
            np.empty(room + n, dtype=np.int64),
            np.zeros(room + n, dtype=np.int64),
            np.ones(room + n, dtype=np.int8),
        )
        node = np.zeros((n + 1, COLUMNS), dtype=np.uint32)
        following, previous = np.zeros((2, n + 1), dtype=np.uint32)
        self.tree = Tree(node, following, previous, np.zeros(n + 1, dtype=np.int64))
        self._join_to_root(form.supply, most)
        self.append(form.tail, form.head, form.capacity, form.cost)

    def _join_to_root(self, supply: NDArray[np.int64], most: int) -> None:
        """Make the tree of artificial arcs."""
        n, room, node, arcs = self.num_vertices, self.room, self.tree.node, self.arcs
        vertex = np.arange(n, dtype=np.uint32)
        sends = supply >= 0
        node[:n, PARENT] = n
        node[:n, LINK] = 2 * (room + vertex) + sends
        self.tree.following[:] = (np.arange(n + 1) + 1) % (n + 1)
        self.tree.previous[:] = (np.arange(n + 1) - 1) % (n + 1)
        node[:n, SIZE], node[n, SIZE] = 1, n + 1
        node[:n, LAST], node[n, LAST] = vertex, (n - 1) % (n + 1)
        arcs.tail[room:], arcs.head[room:] = np.where(sends, vertex, n), np.where(sends, n, vertex)
        arcs.cost[room:] = np.where(sends, 0, most)
        arcs.capacity[room:] = MOST
        arcs.flow[room:] = np.abs(supply)
        arcs.state[room:] = 0
        self.tree.potential[:n] = np.where(sends, 0, most)

    def append(
        self, tail: Indices, head: Indices, capacity: NDArray[np.int64], cost: NDArray[np.int64]
    ) -> None:
        """Add empty arcs."""
        begin, end = self.num_arcs, self.num_arcs + len(tail)
        arcs = self.arcs
        arcs.tail[begin:end], arcs.head[begin:end] = tail, head
        arcs.cost[begin:end], arcs.capacity[begin:end] = cost, capacity
        self.num_arcs = end

    def run(self, monitor: Monitor) -> Ending:
        """Pivot until the flow is optimal for the arcs there are."""
        block = max(int(self.block * self.num_arcs**0.5), 10)
        done, self.first = run_pivots(
            self.tree, self.arcs, np.uint64(self.num_arcs), self.first, np.uint64(block), monitor
        )
        if not done:
            return "stopped"
        return "infeasible" if self.unsent else "optimal"

    @property
    def unsent(self) -> int:
        """The flow of artificial arcs to demands."""
        artificial = slice(self.room, None)
        return int(self.arcs.flow[artificial][self.arcs.cost[artificial] > 0].sum())


def solve(
    instance: StandardForm, start: FlowState | None, options: SimplexOptions, control: Control
) -> FlowState:
    """Solve: see :class:`preflow.solving.protocol.MinCostSolver`."""
    if start is not None:
        control.remarks.append("network simplex starts from nothing, not from the given flow")
    m = len(instance.tail)
    largest = int(np.abs(instance.cost).max(initial=0))
    simplex = Simplex(instance, m, largest, options.block)
    ending = simplex.run(control.monitor())
    return FlowState(simplex.arcs.flow[:m].copy(), simplex.tree.potential[:-1].copy(), ending)


def check_invariants(simplex: Simplex) -> None:
    """Raise AssertionError unless the invariants hold between two pivots."""
    tree, arcs, n = simplex.tree, simplex.arcs, simplex.num_vertices
    check_tree(tree)
    used = np.r_[: simplex.num_arcs, simplex.room : simplex.room + n]
    tail, head, cost, capacity, flow, state = (array[used].astype(np.int64) for array in arcs)
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
