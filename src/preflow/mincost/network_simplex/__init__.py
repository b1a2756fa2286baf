"""The simplex method on a network whose arcs may grow, which keeps its tree between runs.

:mod:`..serial_network_simplex` has definitions, invariants and the pseudo-code. Column generation calls
`append` with new arcs and `run` again; see :mod:`preflow.transportation`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Indices, Int64, Integers
from ...errors import CostOverflowError
from ...graph.standard_form import MOST, StandardForm, read_only
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.kernel import kernel
from ...kernels.union_find import find_set
from ...solving.monitor import Monitor
from ...stats import PIVOTS
from ..solution import Ending
from .tree import (
    ARTIFICIAL,
    DOWN,
    LAST,
    LINK,
    PARENT,
    SIZE,
    UP,
    Tree,
    hang,
    new_tree,
    send,
    shift_potentials,
)

#: Between two looks at the stop flag a pivot loop does this many pivots.
PIVOTS_BETWEEN_LOOKS = np.uint64(64)


class Arcs(NamedTuple):
    """The arcs in the order of pricing, perhaps with room for more; artificial arcs have no entries."""

    #: uint32, shape (room,)
    tail: Indices
    head: Indices
    #: shape (room,): these four are read-only
    cost: NDArray[np.int64]
    capacity: Integers
    #: shape (room,): -1 for a full arc outside the tree, 0 for an empty one and for an arc of the tree
    full: NDArray[np.int8]


@kernel
def reduced_of(arcs: Arcs, potential: NDArray[np.int64], arc: np.uint64) -> np.int64:
    """Return the reduced cost of an empty arc, the opposite of that of a full one; 0 for a tree arc."""
    sign = np.int64(arcs.full[arc])
    return np.int64(((arcs.cost[arc] + potential[arcs.tail[arc]] - potential[arcs.head[arc]]) ^ sign) - sign)


@kernel
def find_entering(
    arcs: Arcs, potential: NDArray[np.int64], end: np.uint64, first: np.uint64, block: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return an eligible arc before `end`, and where the next search begins; `end` if there is none.

    The arc is the best of the first block, counted from `first` on, that has an eligible arc.
    """
    best, found = np.int64(0), np.uint64(end)
    arc, left, waiting = np.uint64(first), np.uint64(block), np.uint64(end)
    while waiting > ZERO:
        stop = arc + min(min(left, waiting), np.uint64(end) - arc)
        # The compiler makes vector instructions of a loop that looks for the value alone.
        least = best
        for i in range(arc, stop):
            least = min(least, reduced_of(arcs, potential, np.uint64(i)))
        if least < best:
            best, found = least, arc
            while reduced_of(arcs, potential, found) != least:
                found += ONE
        waiting -= stop - arc
        left -= stop - arc
        arc = stop if stop < end else ZERO
        if left == ZERO:
            if found < end:
                break
            left = block
    return found, arc


@kernel
def pivot(tree: Tree, arcs: Arcs, entering: np.uint64) -> None:
    """Send flow around the cycle that an eligible arc closes, and exchange it with an arc of the cycle."""
    node, room, potential = tree.node, tree.room, tree.potential
    tail, head = np.uint64(arcs.tail[entering]), np.uint64(arcs.head[entering])
    # The flow goes from `start` over the entering arc to `goal`, and back over the tree.
    is_full = arcs.full[entering] != 0
    start = head if is_full else tail
    goal = tail if is_full else head
    # Walk from both ends to the top of the cycle, the smaller subtree first, and find the leaving arc: on the
    # side of `start` the first of those that carry least, on the side of `goal` the last.
    capacity = arcs.capacity[entering]
    least = capacity
    cut, side = start, ZERO
    u, v = start, goal
    while u != v:
        if node[u, SIZE] < node[v, SIZE]:
            # An arc on the side of `goal` that carries as little comes later in the cycle.
            if room[u, DOWN] < least:
                least = room[u, DOWN]
                cut, side = u, ONE
            u = np.uint64(node[u, PARENT])
        else:
            if room[v, UP] <= least:
                least = room[v, UP]
                cut, side = v, TWO
            v = np.uint64(node[v, PARENT])
    top = u
    if side == ZERO:
        arcs.full[entering] = ~arcs.full[entering]
        send(tree, start, top, -least, ZERO)
        send(tree, goal, top, least, ZERO)
        return
    # Send the flow, and move the subtree of `cut` in the sizes above it.
    moved, above = np.uint64(node[cut, SIZE]), np.uint64(node[cut, PARENT])
    inner = start if side == ONE else goal
    outer = goal if side == ONE else start
    amount = -least if side == ONE else least
    send(tree, inner, above, amount, ZERO)
    send(tree, above, top, amount, ZERO - moved)
    send(tree, outer, top, -amount, moved)
    leaving = np.uint64(node[cut, LINK]) >> ONE
    if leaving != ARTIFICIAL:
        flow = room[cut, DOWN] if node[cut, LINK] & ONE else room[cut, UP]
        arcs.full[leaving] = 0 if flow == 0 else -1
    reduced = arcs.cost[entering] + potential[tail] - potential[head]
    hang(tree, inner, outer, cut)
    flow = capacity - least if is_full else least
    arcs.full[entering] = 0
    if inner == tail:
        node[inner, LINK] = entering * TWO + ONE
        room[inner, UP], room[inner, DOWN] = capacity - flow, flow
        shift_potentials(tree, inner, -reduced)
    else:
        node[inner, LINK] = entering * TWO
        room[inner, UP], room[inner, DOWN] = flow, capacity - flow
        shift_potentials(tree, inner, reduced)


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


class Start(NamedTuple):
    """The tree to start from, and room to build it."""

    parent: NDArray[np.uint32]  #: shape (n,): the parent of each vertex, n for the artificial root
    #: shape (n,): the arc that joins a vertex to its parent, ARTIFICIAL below the artificial root
    by: NDArray[np.uint32]
    #: shape (n + 1,): on entry the supplies. Then what a vertex below the artificial root sends there.
    balance: NDArray[np.int64]
    #: shape (n + 1,)
    child: NDArray[np.uint32]
    sibling: NDArray[np.uint32]


@kernel
def plant(tree: Tree, arcs: Arcs, start: Start) -> np.uint64:
    """Write the tree without rooms and potentials; return how many vertices the root reaches."""
    node, following, previous = tree.node, tree.following, tree.previous
    parent, by, child, sibling = start.parent, start.by, start.child, start.sibling
    root = np.uint64(len(parent))
    for i in range(root + ONE):
        child[i], sibling[i] = root, root
    for i in range(root):
        v = root - ONE - np.uint64(i)
        above = parent[v]
        sibling[v] = child[above]
        child[above] = v
    node[root, PARENT], node[root, LINK], node[root, SIZE] = root, ZERO, ONE
    u, tip, reached = root, root, ZERO
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
        reached += ONE
        following[tip] = u
        previous[u] = tip
        tip = u
        node[u, PARENT], node[u, SIZE] = parent[u], ONE
        arc = np.uint64(by[u])
        if arc == ARTIFICIAL:
            node[u, LINK] = arc * TWO + ONE
        else:
            arcs.full[arc] = 0
            node[u, LINK] = arc * TWO + (ONE if np.uint64(arcs.tail[arc]) == u else ZERO)
    node[root, LAST] = tip
    following[tip] = root
    previous[root] = tip
    return reached


@kernel
def balance_full(arcs: Arcs, end: np.uint64, balance: NDArray[np.int64]) -> None:
    """Take the flow of all full arcs from the supplies."""
    for i in range(end):
        if arcs.full[i] != 0:
            balance[arcs.tail[i]] -= arcs.capacity[i]
            balance[arcs.head[i]] += arcs.capacity[i]


@kernel
def send_supplies(tree: Tree, arcs: Arcs, start: Start) -> np.uint64:
    """Send the supplies along the tree, from the leaves to the root; return how many arcs leave the tree.

    An arc leaves if it cannot carry the flow, or could not send one more unit to the root. It becomes empty
    or full, and its lower end sends the rest to the artificial root.
    """
    room, balance = tree.room, start.balance
    root = np.uint64(len(start.parent))
    cuts = ZERO
    v = np.uint64(tree.previous[root])
    while v != root:
        above, arc, wanted = start.parent[v], start.by[v], balance[v]
        if above != root:
            capacity = arcs.capacity[arc]
            if tree.node[v, LINK] & ONE:
                flow = min(max(wanted, 0), capacity)
                balance[above] += flow
                fits = flow == wanted and flow < capacity
                room[v, UP], room[v, DOWN] = capacity - flow, flow
                wanted -= flow
            else:
                flow = min(max(-wanted, 0), capacity)
                balance[above] -= flow
                fits = flow == -wanted and flow > 0
                room[v, UP], room[v, DOWN] = flow, capacity - flow
                wanted += flow
            if not fits:
                arcs.full[arc] = 0 if flow == 0 else -1
                balance[v] = wanted
                start.parent[v], start.by[v] = root, ARTIFICIAL
                cuts += ONE
        v = np.uint64(tree.previous[v])
    return cuts


@kernel
def set_prices(
    tree: Tree, arcs: Arcs, balance: NDArray[np.int64], hint: NDArray[np.int64], most: Int64
) -> None:
    """Write the artificial arcs of the tree, and all potentials.

    An artificial arc that leads to the root costs what gives its tail the potential `hint`, which is not
    positive, or 0 if there are no hints; one from the root costs `most`. `balance` and the potentials may be
    one array.
    """
    node, room, potential = tree.node, tree.room, tree.potential
    root = np.uint64(len(node)) - ONE
    potential[root] = 0
    v = np.uint64(tree.following[root])
    while v != root:
        above = np.uint64(node[v, PARENT])
        if above != root:
            cost = arcs.cost[np.uint64(node[v, LINK]) >> ONE]
            potential[v] = potential[above] + (-cost if node[v, LINK] & ONE else cost)
        elif balance[v] >= 0:
            node[v, LINK] = np.uint64(ARTIFICIAL) * TWO + ONE
            room[v, UP], room[v, DOWN] = MOST, balance[v]
            potential[v] = hint[v] if len(hint) else 0
        else:
            node[v, LINK] = np.uint64(ARTIFICIAL) * TWO
            room[v, UP], room[v, DOWN] = -balance[v], MOST
            potential[v] = most
        v = np.uint64(tree.following[v])


@kernel
def join_chosen(
    tail: Indices,
    head: Indices,
    chosen: NDArray[np.uint32],
    start: Start,
    sets: NDArray[np.uint32],
    edges: NDArray[np.uint32],
) -> None:
    """Make a forest of the chosen arcs that close no cycle with earlier ones, and root its trees.

    `edges` has two entries for each chosen arc: the lists of arcs at its tail and at its head go on there.
    """
    root = np.uint64(len(start.parent))
    none = np.uint64(len(edges))
    first, stack = start.child, start.sibling
    for r in range(root):
        first[r], sets[r] = none, r
        start.parent[r], start.by[r] = root + ONE, ARTIFICIAL
    for k in range(len(chosen)):
        u, v = tail[chosen[k]], head[chosen[k]]
        a, b = find_set(sets, u), find_set(sets, v)
        if a != b:
            sets[a] = b
            edges[2 * k], first[u] = first[u], 2 * k
            edges[2 * k + 1], first[v] = first[v], 2 * k + 1
    for r in range(root):
        if start.parent[r] <= root:
            continue
        start.parent[r] = root
        stack[0], waiting = r, ONE
        while waiting > ZERO:
            waiting -= ONE
            u = np.uint64(stack[waiting])
            edge = np.uint64(first[u])
            while edge != none:
                arc = np.uint64(chosen[edge >> ONE])
                v = np.uint64(tail[arc]) if edge & ONE else np.uint64(head[arc])
                if start.parent[v] > root:
                    start.parent[v], start.by[v] = u, arc
                    stack[waiting] = v
                    waiting += ONE
                edge = np.uint64(edges[edge])


@kernel
def write_flow(tree: Tree, arcs: Arcs, flow: NDArray[np.int64], order: NDArray[np.uint32]) -> None:
    """Write the flow of arc ``i``, where it is not zero, to place ``order[i]``, or ``i`` without an order."""
    ordered = len(order) > 0
    for i in range(len(flow)):
        if arcs.full[i] != 0:
            flow[order[i] if ordered else i] = arcs.capacity[i]
    for v in range(len(tree.node) - 1):
        link = np.uint64(tree.node[v, LINK])
        arc = link >> ONE
        if arc != ARTIFICIAL:
            place = np.uint64(order[arc]) if ordered else arc
            flow[place] = tree.room[v, DOWN] if link & ONE else tree.room[v, UP]


def forest_of(
    tail: Indices, head: Indices, chosen: NDArray[np.uint32], n: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the parents and arcs of a forest of the chosen arcs: n and ARTIFICIAL for roots.

    It has those arcs that close no cycle with earlier ones.
    """
    ends = np.full((5, n + 1), n, dtype=np.uint32)
    begun = Start(ends[0, :-1], ends[1, :-1], np.zeros(0, dtype=np.int64), ends[2], ends[3])
    join_chosen(tail, head, chosen, begun, ends[4], np.zeros(2 * len(chosen), dtype=np.uint32))
    return begun.parent, begun.by


class Simplex:
    """A network simplex whose arcs may grow.

    The arcs of `form` are the first ones, and those up to `end` are in use. No cost will be larger in size
    than `largest_cost`. `block` is that of :class:`SimplexOptions`.
    """

    def __init__(self, form: StandardForm, largest_cost: int, block: float) -> None:
        n = len(form.supply)
        self.most = n * largest_cost + 1  # more than all paths cost
        if self.most >= MOST // 2:
            raise CostOverflowError(f"costs of up to {largest_cost:,} are too large for {n:,} vertices")
        self.num_vertices, self.block, self.supply = n, block, form.supply
        self.first, self.end = 0, len(form.tail)
        fixed = read_only(form.widened())
        full = np.zeros(self.end, dtype=np.int8)
        self.arcs = Arcs(fixed.tail, fixed.head, fixed.cost, fixed.capacity, full)
        self.tree = new_tree(n)
        none = np.full((2, n), n, dtype=np.uint32)
        none[1] = ARTIFICIAL
        self.start_from(none[0], none[1], None)

    def append(
        self, tail: Integers, head: Integers, capacity: NDArray[np.int64], cost: NDArray[np.int64]
    ) -> None:
        """Add empty arcs; the next search begins with them."""
        begin, end = self.end, self.end + len(tail)
        if begin == end:
            self.first = 0
            return
        size = len(self.arcs.tail)
        if end > size:
            # The first arcs get no room: most networks do not grow.
            size = end if begin == 0 else max(end, 2 * begin)
        parts: list[AnyArray] = list(self.arcs)
        new = (tail, head, cost, capacity, np.zeros(len(tail), dtype=np.int8))
        for i, values in enumerate(new):
            if size > len(parts[i]):
                whole = np.zeros(size, dtype=parts[i].dtype)
                whole[:begin] = parts[i][:begin]
                parts[i] = whole
            parts[i].flags.writeable = True
            parts[i][begin:end] = values
            parts[i].flags.writeable = i == len(new) - 1
        self.arcs = Arcs(*parts)
        self.end, self.first = end, begin

    def start_from(
        self, parent: NDArray[np.uint32], by: NDArray[np.uint32], potential: NDArray[np.int64] | None
    ) -> bool:
        """Start from a tree; return whether the artificial root reaches all vertices.

        `parent` is that of each vertex, n for the artificial root, and `by` the arc that joins them,
        ARTIFICIAL below the root. Both are changed. Arcs outside the tree are empty or full, as they are now.
        The flow on the tree follows from the supplies. An arc that cannot carry it leaves the tree. Vertices
        below the root get the potentials, up to a constant, unless they lack flow; None is 0.
        """
        n, arcs, tree = self.num_vertices, self.arcs, self.tree
        hint = np.zeros(0, dtype=np.int64)
        if potential is not None and n:
            highest = int(potential.max())
            if highest - int(potential.min()) < MOST // 4:
                hint = potential - highest
        ends = np.empty((2, n + 1), dtype=np.uint32)
        balance = tree.potential
        balance[:n], balance[n] = self.supply, 0
        start = Start(parent, by, balance, ends[0], ends[1])
        if plant(tree, arcs, start) < n:
            return False
        balance_full(arcs, np.uint64(self.end), balance)
        if send_supplies(tree, arcs, start):
            plant(tree, arcs, start)
        set_prices(tree, arcs, balance, hint, np.int64(self.most))
        return True

    def run(self, monitor: Monitor) -> Ending:
        """Pivot until the flow is optimal for the arcs there are."""
        block = max(int(self.block * self.end**0.5), 10)
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
        tree = self.tree
        return int(tree.room[:-1, UP][tree.node[:-1, LINK] == 2 * ARTIFICIAL].sum())

    @property
    def flow(self) -> NDArray[np.int64]:
        """The flow of the arcs."""
        flow = np.zeros(self.end, dtype=np.int64)
        write_flow(self.tree, self.arcs, flow, np.zeros(0, dtype=np.uint32))
        return flow

    @property
    def potential(self) -> NDArray[np.int64]:
        """The potentials of the vertices."""
        found: NDArray[np.int64] = self.tree.potential[:-1] - self.tree.potential[-1]
        return found
