"""The augmenting-path method of Boykov and Kolmogorov on a grid, on one thread.

Boykov and Kolmogorov, "An Experimental Comparison of Min-Cut/Max-Flow Algorithms for Energy Minimization in
Vision", IEEE PAMI 26 (2004).

One tree grows from the source and one from the sink; where they meet, flow is pushed along the path. Paths
need not be shortest, so no bound on their number is independent of the capacities.

Definitions
-----------
- A *root* is a pixel with excess (source's tree) or with a deficit (sink's tree).
- The *distance* of a pixel is the number of pixels on the path to its root as of its *time*; it is negative
  in the sink's tree and 0 in neither. The time counts augmentations. A distance is exact if its time is now.
- An *active* pixel is on the queue: its tree may still grow from it.
- An *orphan* is a pixel that has lost its parent.

Invariants before a pixel is taken from the queue
-------------------------------------------------
- There are no orphans. The tree arc between a pixel and its parent has residual capacity, from the parent in
  the source's tree and to the parent in the sink's.
- No ancestor of a pixel has an earlier time.
- A residual arc out of the source's tree starts at an active pixel; one into the sink's tree ends at one.

Pseudo-code::

    make a root of each pixel with excess or a deficit; activate it
    while there are active pixels: take the first one, v                        grow
        for each residual arc from v to a pixel q (reversed in the sink's tree):
            if q is in no tree: q becomes a child of v; activate q
            if q is in v's tree, farther away than v, and not known later: q becomes a child of v
            if q is in the other tree: push along root .. v, q .. root
                for each orphan, first in, first out:                           adopt
                    take the neighbour of its tree with the shortest path to a root as parent
                    if there is none: leave the tree; activate the neighbours that could reach it;
                        its children become orphans

To find the path length of a neighbour, `distance_to_root` follows parents until it meets a pixel whose
distance is exact, and stores what it learns on the way. Section 3.2 of the paper leaves this to
implementations; this is their usual rule.

Departures: roots are pixels with excess or with a deficit, whatever their capacities were; children are not
listed, they are the neighbours whose parent the pixel is; the sign of the distance says which tree it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Int64
from ...forests.paths import path_capacity, push_path
from ...graph.integer_grid import IntegerGrid
from ...gridcut.pixel_major import GridState, deficits_reach, grid_solution, grid_state, interior
from ...gridcut.solution import GridFlow, GridSolution
from ...kernels.atomics import relaxed_load
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import ARC_SCANS, PUSHES, RELABELS

#: Positions in `Trees.cursor`: first entry of the queue, its length, and the time.
HEAD, LENGTH, TIME = 0, 1, 2
CURSORS = 3


@dataclass(frozen=True)
class BoykovKolmogorovOptions:
    """Options of the method of Boykov and Kolmogorov: none."""


class Trees(NamedTuple):
    """The source's tree and the sink's."""

    #: shape (size,): number of pixels on the path to the root as of `time`; negative in the sink's tree; 0 in
    #: none
    distance: NDArray[np.int32]
    #: shape (size,): number of augmentations when the distance was computed
    time: NDArray[np.uint32]
    #: uint8 or uint16, shape (size,): direction of the parent; D for a root, D + 1 for an orphan
    parent: NDArray[np.uint8]
    active: NDArray[np.bool_]  #: shape (size,): whether the pixel is on the queue
    next_orphan: Indices  #: shape (size,): the orphan after this one on its list
    queue: Indices  #: shape (pixels,): pixels to grow from, as a ring
    cursor: NDArray[np.uint64]  #: shape (CURSORS,): see HEAD, LENGTH and TIME


def make_trees(state: GridState, pixels: int) -> Trees:
    """Allocate empty trees."""
    size, degree = len(state.terminal), len(state.step)
    index = np.uint32 if size < 2**32 else np.uint64
    return Trees(
        distance=np.zeros(size, dtype=np.int32),
        time=np.zeros(size, dtype=np.uint32),
        parent=np.full(size, degree + 1, dtype=np.uint8 if degree + 1 < 2**8 else np.uint16),
        active=np.zeros(size, dtype=np.bool_),
        next_orphan=np.empty(size, dtype=index),
        queue=np.empty(pixels, dtype=index),
        cursor=np.zeros(CURSORS, dtype=np.uint64),
    )


def check_invariants(state: GridState, trees: Trees, first: int, last: int, taken: int = -1) -> None:
    """Assert the invariants for the pixels of a run: see the list above; called by tests.

    While the trees grow from a pixel that is `taken` from the queue, it counts as active.
    """
    degree = len(state.step)
    step = state.step.view(np.int64)
    residual = state.residual.reshape(-1, degree)
    head, length = int(trees.cursor[HEAD]), int(trees.cursor[LENGTH])
    queued = [int(trees.queue[(head + k) % len(trees.queue)]) for k in range(length)]
    assert sorted(queued) == np.flatnonzero(trees.active).tolist(), "other pixels are queued than the active"
    for p in range(first, last):
        distance, code = int(trees.distance[p]), int(trees.parent[p])
        sign = np.sign(distance)
        if state.terminal[p] != 0:
            assert code == degree, "a pixel with a terminal amount is no root"
            assert sign == np.sign(state.terminal[p]), "a root is in the wrong tree"
        if distance == 0:
            continue
        assert code <= degree, "a pixel is an orphan"
        if code < degree:
            q = p + step[code]
            tree_arc = residual[q, code ^ 1] if distance > 0 else residual[p, code]
            assert tree_arc > 0, "a tree arc is saturated"
            assert sign * int(trees.distance[q]) > 0, "a parent is in the other tree"
            assert trees.time[q] >= trees.time[p], "a parent has an earlier time"
        if not trees.active[p] and p != taken:
            for d in range(degree):
                q = p + step[d]
                if (residual[p, d] if distance > 0 else residual[q, d ^ 1]) > 0:
                    assert sign * int(trees.distance[q]) > 0, "a tree can grow from a passive pixel"


@kernel
def activate(trees: Trees, v: np.uint64) -> None:
    """Append a pixel to the queue unless it is queued."""
    if not trees.active[v]:
        trees.active[v] = True
        size = np.uint64(len(trees.queue))
        place = trees.cursor[HEAD] + trees.cursor[LENGTH]
        trees.queue[place if place < size else place - size] = v
        trees.cursor[LENGTH] += ONE


@kernel
def plant(state: GridState, trees: Trees, first: np.uint64, last: np.uint64) -> None:
    """Make roots of the pixels of a run with excess or a deficit, and activate them."""
    p = first
    while p < last:
        amount = state.terminal[p]
        if amount != 0:
            trees.parent[p] = len(state.step)
            trees.distance[p] = 1 if amount > 0 else -1
            activate(trees, p)
        p += ONE


@kernel
def distance_to_root(state: GridState, trees: Trees, v: np.uint64) -> Int64:
    """Return the distance of a pixel, made exact along its path; 0 if the path ends at an orphan."""
    distance, time, parent, step = trees.distance, trees.time, trees.parent, state.step
    degree = np.uint64(len(step))
    now = np.uint32(trees.cursor[TIME])
    p = v
    length = np.int64(0)
    while time[p] != now:
        length += 1
        d = np.uint64(parent[p])
        if d >= degree:
            if d != degree:
                return np.int64(0)
            time[p] = now
            distance[p] = 1 if distance[p] > 0 else -1
            break
        p += step[d]
    else:
        length += abs(np.int64(distance[p]))
    left = length
    p = v
    while time[p] != now:
        time[p] = now
        distance[p] = left if distance[p] > 0 else -left
        left -= 1
        p += step[np.uint64(parent[p])]
    return length


@kernel
def adopt(state: GridState, trees: Trees, source: bool, first: np.uint64, monitor: Monitor) -> np.uint64:
    """Find a parent for each orphan of a list, or remove it from its tree; children of such become orphans.

    Return the number of orphans processed. If the search is to stop, some orphans keep no parent, and the
    trees must not be used any more.
    """
    residual, step, distance, parent = state.residual, state.step, trees.distance, trees.parent
    degree = np.uint64(len(step))
    sign = np.int64(1) if source else np.int64(-1)
    none = np.uint64(len(parent))
    last = first
    while np.uint64(trees.next_orphan[last]) != none:
        last = np.uint64(trees.next_orphan[last])
    orphans = ZERO
    v = first
    while v != none and relaxed_load(monitor.stop, 0) == 0:
        orphans += ONE
        # Choose the parent with the shortest path to a root.
        nearest = np.int64(0)
        found = degree
        d = ZERO
        while d < degree:
            q = v + step[d]
            if (
                sign * np.int64(distance[q]) > 0
                and residual[q * degree + (d ^ ONE) if source else v * degree + d] > 0
            ):
                there = distance_to_root(state, trees, q)
                if there > 0 and (nearest == 0 or there < nearest):
                    nearest = there
                    found = d
            d += ONE
        if found < degree:
            parent[v] = found
            distance[v] = sign * (nearest + 1)
            trees.time[v] = trees.cursor[TIME]
        else:
            # There is none: the pixel leaves its tree.
            d = ZERO
            while d < degree:
                q = v + step[d]
                if sign * np.int64(distance[q]) > 0:
                    if residual[q * degree + (d ^ ONE) if source else v * degree + d] > 0:
                        activate(trees, q)
                    if np.uint64(parent[q]) == d ^ ONE:
                        parent[q] = degree + ONE
                        trees.next_orphan[q] = none
                        trees.next_orphan[last] = q
                        last = q
                d += ONE
            distance[v] = 0
        v = np.uint64(trees.next_orphan[v])
    return orphans


@kernel
def grow(state: GridState, trees: Trees, monitor: Monitor) -> None:
    """Grow both trees until neither can grow, and push flow wherever they meet."""
    stop, counts = monitor.stop, monitor.counts
    residual, step, distance, parent = state.residual, state.step, trees.distance, trees.parent
    degree = np.uint64(len(step))
    size = np.uint64(len(trees.queue))
    none = np.uint64(len(parent))
    scans = ZERO
    pushes = ZERO
    orphans = ZERO
    while trees.cursor[LENGTH] > ZERO and relaxed_load(stop, 0) == 0:
        head = trees.cursor[HEAD]
        v = np.uint64(trees.queue[head])
        trees.cursor[HEAD] = head + ONE if head + ONE < size else ZERO
        trees.cursor[LENGTH] -= ONE
        trees.active[v] = False
        source = distance[v] > 0
        sign = np.int64(1) if source else np.int64(-1)
        d = ZERO
        scans += degree
        while d < degree and distance[v] != 0 and relaxed_load(stop, 0) == 0:
            q = v + step[d]
            arc, opposite = v * degree + d, q * degree + (d ^ ONE)
            if not source:
                arc, opposite = opposite, arc
            amount = np.int64(residual[arc])
            if amount == 0:
                d += ONE
                continue
            here = sign * np.int64(distance[v])
            there = sign * np.int64(distance[q])
            if there >= 0:
                # A pixel of no tree becomes a child, and one of the same tree that was known farther away.
                if there == 0 or (there > here and trees.time[q] <= trees.time[v]):
                    parent[q] = d ^ ONE
                    distance[q] = sign * (here + 1)
                    trees.time[q] = trees.time[v]
                    if there == 0:
                        activate(trees, q)
                d += ONE
                continue
            # The trees meet: push along both paths, as much as they carry.
            amount = path_capacity(state, parent, v, source, amount)
            amount = path_capacity(state, parent, q, not source, amount)
            residual[arc] -= amount
            residual[opposite] += amount
            pushes += ONE
            trees.cursor[TIME] += ONE
            # Repair this tree, then the other one.
            first, _ = push_path(state, parent, trees.next_orphan, v, source, amount)
            if first != none:
                orphans += adopt(state, trees, source, first, monitor)
            first, _ = push_path(state, parent, trees.next_orphan, q, not source, amount)
            if first != none:
                orphans += adopt(state, trees, not source, first, monitor)
    counts[ARC_SCANS] += scans
    counts[PUSHES] += pushes
    counts[RELABELS] += orphans


def solve(
    grid: IntegerGrid, start: GridFlow | None, options: BoykovKolmogorovOptions, control: Control
) -> GridSolution:
    """Find a minimum cut of a grid on one thread.

    O(pixels * arcs * value of the cut) time. There is no work limit: this is the method of the paper. Memory:
    for D neighbours D residual capacities and about 22 bytes per pixel. The `sink_side` is the set of pixels
    from which a deficit can be reached, also if the solve was stopped.
    """
    state = grid_state(grid, start)
    first, last = interior(grid)
    trees = make_trees(state, int(last - first))
    plant(state, trees, first, last)
    grow(state, trees, control.monitor())
    if control.stopped:
        control.check_wanted()
        return grid_solution(grid, state, deficits_reach(grid, state), False)
    return grid_solution(grid, state, trees.distance[first:last] < 0, True)
