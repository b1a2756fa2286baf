"""Incremental breadth-first search on a grid: the search that several methods share.

Goldberg, Hed, Kaplan, Tarjan and Werneck, "Maximum Flows by Incremental Breadth-First Search", ESA 2011, and
with Kohli, "Faster and More Dynamic Maximum Flow by Incremental Breadth-First Search", ESA 2015.

Two forests grow towards each other, level by level. Where they meet, flow is pushed along both paths. Pixels
that lose their parent by a push are repaired at once, so that no forest is ever built a second time.

Definitions
-----------
- The source's forest has its roots at the pixels with excess, the sink's forest at those with a deficit. As
  in the second paper a root is any such pixel, whatever its capacities were, so a flow to start from needs no
  special case.
- The *label* of a pixel is its level: 1 for a root, larger than the parent's label otherwise. Labels are
  negative in the sink's forest, and 0 for pixels in no forest.
- A *tree arc* joins a pixel to its parent. Its residual capacity leads from parent to child in the source's
  forest, from child to parent in the sink's.
- An *orphan* is a pixel that has lost its parent: its tree arc was saturated, it was a root whose terminal is
  used up, or its parent moved to another level or left the forest.
- The *depth* of a forest is the largest label that its pixels may have now.
- A pixel is *queued* if its forest may still grow from it.

Invariants between two levels (tests call ``check_invariants``)
-------------------------------------------------------------
- A pixel has a terminal amount if and only if it is a root of the forest of that sign.
- Every other pixel of a forest has a parent in the same forest with a smaller label, and its tree arc has
  residual capacity. There are no orphans.
- A residual arc out of the source's forest starts at a queued pixel; one into the sink's forest ends at one.

Pseudo-code
-----------
::

    sweep: push excess to neighbours that have a deficit            (optional)
    make a root of each pixel with excess or deficit; queue it
    while the sink's queue is not empty:                            search
        take the shallower forest whose queue is not empty; deepen it by a level
        for each pixel v queued before that:                        grow
            for each residual arc from v to a pixel q (reversed in the sink's forest):
                if q is in no forest: q becomes a child of v; queue q
                if q is in the other forest: push along root .. v, q .. root
                    for each orphan, the smallest label first:      adopt
                        choose a parent at the same distance, or at most two levels farther away
                        if there is none: leave the forest; queue the neighbours that could reach it
                        if its label changed: its children become orphans

One copy of the code serves both forests: `sign` turns the labels of the sink's forest positive, and the
residual capacity of a tree arc is read at the end that the forest needs. A search allocates nothing and keeps
no state outside its arguments.

When the sink's queue is empty, no residual arc enters the sink's forest, so the flow is maximum and that
forest is the smallest sink side of a minimum cut.

Departures from the papers, measured in docs/notebook
------------------------------------------------------------
- The shallower forest grows next. The papers grow the one with fewer queued pixels. With that rule one of the
  two forests often never grows, which doubles the number of orphans.
- There is no current arc. An orphan reads its few neighbours once, and looks for a parent at the old distance
  and for the nearest parent in the same pass.
- An orphan moves away by one or two levels, to a parent that is neither its child nor an orphan, or leaves
  its forest. In the papers it may take a child as parent. Both then climb over each other: where few seeds
  have excess or deficits, that takes two to four times as many orphans.
- When a pixel leaves its forest, the neighbours that could reach it are queued, as Boykov and Kolmogorov do.
  So a label is at least the number of pixels on the path to the root; it is usually, but not always, the
  least such number. Only speed depends on it. Therefore forests may grow from some roots first, and the
  forests of parts of a grid may be joined.

Parts of a grid
---------------
Threads may search disjoint parts of a grid at the same time if no residual arc joins two parts. The arrays of
pixels (`label`, `parent`, `queued`, `next_orphan`) are shared; the queues belong to the part. To separate
parts, store the residual capacities of the arcs between them elsewhere and write 0 in their place, in both
directions. A search reads neighbours in other parts, but draws no conclusion while the arc has no residual
capacity.

To join two parts: restore these capacities, make one :class:`Forests` for both with `forests_of_part`, append
both queues with `append_queues`, queue the pixels at the border with `enqueue`, and search.

The work limit
--------------
Searches for short paths are the fastest method on images, but no bound on their work is independent of the
capacities: a long path that saturates one arc makes orphans of whole trees. Push-relabel has such a bound and
is a few times slower on images. So a search counts its work, in orphans and pixels of augmenting paths. When
the work reaches the limit, the search sets the stop flag to USE_PUSH_RELABEL, all threads of the solve
return, and push-relabel continues from the pseudoflow that they leave. The search has then spent about as
much time as push-relabel takes. Kernels poll the stop flag anyway, so the limit costs no further check. A
stop by the user overrides it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Int64
from ..graph.integer_grid import IntegerGrid
from ..kernels.atomics import compare_exchange, relaxed_load
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.two_queues import HEAD, LENGTH, dequeue, enqueue
from ..solving.monitor import Monitor
from ..solving.options import UNLIMITED, check_positive_number, limit
from ..solving.run import Control
from ..stats import ARC_SCANS, PUSHES, RELABELS
from .pixel_major import GridState
from .solution import GridSolution
from .tree_paths import path_capacity, push_path

#: Numbers of the two forests.
SOURCE, SINK = 0, 1
#: Positions in `Forests.cursor` behind those of the queues: depth of the source's forest, followed by that
#: of the sink's; the work that the search may still do, in pixels of paths; the orphans that it may process.
DEPTH, WORK_LEFT, ORPHANS_LEFT = 4, 6, 7
CURSORS = 8
#: Initial length of `Forests.first_orphan`; it doubles when the forests become deeper.
LEVELS = 1024

#: The value of the stop flag by which a search asks the solve to continue with push-relabel.
USE_PUSH_RELABEL = np.int64(2)
#: Orphans per arc of the grid that a search may process. Images and volumes with noise everywhere take 0.4 to
#: 1, with 26 neighbours 2.4; thin regions and seeds up to 16, which push-relabel does as fast; traps 80. With
#: 3.0 the solve of a trap took up to 2.3 times as long as push-relabel alone, with 2.0 at most 2.0 times.
ORPHANS_PER_ARC = 2.0
#: With more neighbours than this the limit grows in proportion. Noise with 26 neighbours took 2.1 orphans per
#: arc, and up to 3 with paths counted: 60^3 took 2.8 CPU seconds, 4.3 where push-relabel continued at 3.
FEW_NEIGHBOURS = 8
#: Fraction of the limit that each of several threads gets. One of two takes up to 1.2 orphans per arc on
#: vessels, 0.3 on noise; one source in 2 x 60,000 pixels took 0.112 CPU seconds with 1.0, 0.084 with 0.5.
THREAD_FRACTION = 0.5
#: Pixels of augmenting paths that count as one orphan, since they take as long.
PATH_PIXELS_PER_ORPHAN = np.uint64(4)
#: A search may process this many orphans per pixel of the grid, plus this many per pixel of an augmenting
#: path. With more orphans than that, each path destroys the trees that the last one built. Noise, spirals and
#: vessels need less than 0.1 per pixel of the grid.
ORPHANS_PER_PIXEL, ORPHANS_PER_PATH_PIXEL = 1.0, np.uint64(10)


class Forests(NamedTuple):
    """The source's and the sink's forest."""

    #: shape (size,): 1 for a root, otherwise larger than the parent's; negative in the sink's forest; 0 in
    #: none
    label: NDArray[np.int32]
    #: uint8 or uint16, shape (size,): direction of the parent; D for a root, D + 1 for an orphan
    parent: NDArray[np.uint8]
    #: shape (size,): bit 0: on the queue of the source's forest; bit 1: on that of the sink's
    queued: NDArray[np.uint8]
    next_orphan: Indices  #: shape (size,): the orphan after this one on its list
    queue: Indices  #: shape (2, pixels): for each forest the pixels to grow from, as a ring
    first_orphan: Indices  #: shape (levels,): first orphan of each level; `size` if there is none
    #: shape (CURSORS,): see HEAD, LENGTH, DEPTH, WORK_LEFT and ORPHANS_LEFT
    cursor: NDArray[np.uint64]


def make_forests(
    state: GridState,
    pixels: int,
    label: NDArray[np.int32] | None = None,
    parent: NDArray[np.uint8] | None = None,
) -> Forests:
    """Allocate forests for all pixels of a state, with empty queues of `pixels` entries.

    The forests are those of the given labels and parents, or empty.
    """
    size, degree = len(state.terminal), len(state.step)
    index = np.uint32 if size < 2**32 else np.uint64
    code = np.uint8 if degree + 1 < 2**8 else np.uint16
    return forests_of_part(
        Forests(
            label=np.zeros(size, dtype=np.int32) if label is None else label,
            parent=np.empty(size, dtype=code) if parent is None else parent,
            queued=np.zeros(size, dtype=np.uint8),
            next_orphan=np.empty(size, dtype=index),
            queue=np.empty((2, 0), dtype=index),
            first_orphan=np.empty(0, dtype=index),
            cursor=np.zeros(CURSORS, dtype=np.uint64),
        ),
        pixels,
    )


def forests_of_part(forests: Forests, pixels: int) -> Forests:
    """Return forests with empty queues for a part of the grid; they share the arrays of pixels."""
    size = len(forests.label)
    cursor = np.zeros(CURSORS, dtype=np.uint64)
    cursor[DEPTH : DEPTH + 2] = 1
    cursor[[WORK_LEFT, ORPHANS_LEFT]] = UNLIMITED
    return forests._replace(
        queue=np.empty((2, pixels), dtype=forests.next_orphan.dtype),
        first_orphan=np.full(LEVELS, size, dtype=forests.next_orphan.dtype),
        cursor=cursor,
    )


def with_more_levels(forests: Forests) -> Forests:
    """Return the same forests with room for twice as many levels; there must be no orphans."""
    levels = 2 * len(forests.first_orphan)
    none = len(forests.label)
    return forests._replace(first_orphan=np.full(levels, none, dtype=forests.first_orphan.dtype))


def check_invariants(state: GridState, forests: Forests, first: int, last: int) -> None:
    """Assert the invariants between two levels for a run of pixels: see the list above; called by tests."""
    degree = len(state.step)
    step = state.step.view(np.int64)
    residual = state.residual.reshape(-1, degree)
    for p in range(first, last):
        label, code = int(forests.label[p]), int(forests.parent[p])
        sign = np.sign(label)
        if state.terminal[p] != 0:
            assert code == degree, "a pixel with a terminal amount is no root"
            assert sign == np.sign(state.terminal[p]), "a root is in the wrong forest"
        if label == 0:
            continue
        assert code <= degree, "a pixel is an orphan"
        if code == degree:
            assert state.terminal[p] != 0, "a root has no terminal amount"
        else:
            q = p + step[code]
            tree_arc = residual[q, code ^ 1] if label > 0 else residual[p, code]
            assert tree_arc > 0, "a tree arc is saturated"
            assert 0 < sign * int(forests.label[q]) < sign * label, "a label is not above that of the parent"
        if not int(forests.queued[p]) >> int(label < 0) & 1:
            for d in range(degree):
                q = p + step[d]
                if (residual[p, d] if label > 0 else residual[q, d ^ 1]) > 0:
                    assert sign * int(forests.label[q]) > 0, "a forest can grow from a pixel off its queue"


# Queues


@kernel
def append_queues(forests: Forests, part: Forests) -> None:
    """Move the queues of `part` to the end of those of `forests`; the depths become the larger of the two."""
    size = np.uint64(part.queue.shape[1])
    room = np.uint64(forests.queue.shape[1])
    for forest in range(2):
        head = part.cursor[HEAD + forest]
        place = forests.cursor[HEAD + forest] + forests.cursor[LENGTH + forest]
        i = ZERO
        while i < part.cursor[LENGTH + forest]:
            forests.queue[forest, (place + i) % room] = part.queue[forest, (head + i) % size]
            i += ONE
        forests.cursor[LENGTH + forest] += part.cursor[LENGTH + forest]
        part.cursor[LENGTH + forest] = ZERO
        forests.cursor[DEPTH + forest] = max(forests.cursor[DEPTH + forest], part.cursor[DEPTH + forest])


# The work limit


def check_patience(patience: object) -> None:
    """Raise InvalidInputError unless the option `patience` is None or a positive number."""
    if patience is not None:
        check_positive_number("patience", patience)


def set_work_limit(
    forests: Forests, patience: float | None, pixels: int, degree: int, threads: int = 1
) -> None:
    """Set the work limit of a search, one of `threads`, in a grid of `pixels` with `degree` arcs each.

    `patience` is the number of orphans per arc; None sets no limit.
    """
    if patience is not None:
        patience *= max(1.0, degree / FEW_NEIGHBOURS) * (THREAD_FRACTION if threads > 1 else 1.0)
        forests.cursor[WORK_LEFT] = limit(patience * degree * pixels * float(PATH_PIXELS_PER_ORPHAN))
        forests.cursor[ORPHANS_LEFT] = limit(ORPHANS_PER_PIXEL * pixels)


@kernel
def orphans_left(forests: Forests) -> np.uint64:
    """Return how many orphans the search may still process."""
    return min(forests.cursor[WORK_LEFT] // PATH_PIXELS_PER_ORPHAN, forests.cursor[ORPHANS_LEFT])


@kernel
def request_push_relabel(monitor: Monitor) -> None:
    """Ask the solve to continue with push-relabel, unless it was asked to stop."""
    compare_exchange(monitor.stop, 0, 0, USE_PUSH_RELABEL)


@kernel
def charge(forests: Forests, place: int, work: np.uint64, monitor: Monitor) -> None:
    """Subtract work from the limit at `place`; at zero, ask for push-relabel."""
    left = forests.cursor[place]
    forests.cursor[place] = left - min(work, left)
    if work >= left:
        request_push_relabel(monitor)


@kernel
def charge_orphans(forests: Forests, orphans: np.uint64, monitor: Monitor) -> None:
    """Charge orphans to both limits."""
    charge(forests, WORK_LEFT, orphans * PATH_PIXELS_PER_ORPHAN, monitor)
    charge(forests, ORPHANS_LEFT, orphans, monitor)


@kernel
def charge_path(forests: Forests, pixels: np.uint64, monitor: Monitor) -> None:
    """Charge an augmenting path to the work limit, and raise the limit of orphans for it."""
    charge(forests, WORK_LEFT, pixels, monitor)
    forests.cursor[ORPHANS_LEFT] += pixels * ORPHANS_PER_PATH_PIXEL


@kernel
def clear_request(stop: NDArray[np.int64]) -> bool:
    """Clear the stop flag if it asks for push-relabel; return whether it did."""
    return bool(compare_exchange(stop, 0, USE_PUSH_RELABEL, 0))


def reached_work_limit(control: Control) -> bool:
    """Return whether a search of this solve has reached its work limit, and note it in the statistics."""
    if not clear_request(control.stop):
        return False
    pushes, orphans = control.thread_counts[:, [PUSHES, RELABELS]].sum(axis=0).tolist()
    control.remarks.append(
        f"after {pushes:,} paths and {orphans:,} orphans push-relabel continued with the flow found so far"
    )
    return True


def finish_by_push_relabel(grid: IntegerGrid, state: GridState, control: Control) -> GridSolution:
    """Solve a grid by push-relabel from the pseudoflow that a search left."""
    from .multicore_lockfree import GridLockFreeOptions, solve_from

    return solve_from(grid, state, GridLockFreeOptions(), control)


# The search


@kernel
def sweep(state: GridState, first: np.uint64, last: np.uint64) -> np.uint64:
    """Push excess of a run of pixels to neighbours that have a deficit; return the number of pushes."""
    residual, terminal, step = state.residual, state.terminal, state.step
    degree = np.uint64(len(state.step))
    pushes = ZERO
    p = first
    while p < last:
        excess = terminal[p]
        if excess > 0:
            for direction in range(degree):
                d = np.uint64(direction)
                q = p + step[d]
                if terminal[q] < 0:
                    capacity = residual[p * degree + d]
                    if capacity > 0:
                        amount = min(min(capacity, -terminal[q]), excess)
                        residual[p * degree + d] = capacity - amount
                        residual[q * degree + (d ^ ONE)] += amount
                        terminal[q] += amount
                        excess -= amount
                        pushes += ONE
                        if excess == 0:
                            break
            terminal[p] = excess
        p += ONE
    return pushes


@kernel
def make_roots(state: GridState, forests: Forests, first: np.uint64, last: np.uint64) -> None:
    """Make roots of the pixels of a run with excess or a deficit, without queueing them."""
    root = len(state.step)
    p = first
    while p < last:
        amount = state.terminal[p]
        if amount != 0:
            forests.parent[p] = root
            forests.label[p] = 1 if amount > 0 else -1
        p += ONE


@kernel
def enqueue_run(forests: Forests, first: np.uint64, last: np.uint64) -> None:
    """Queue all pixels of a run that are in a forest."""
    p = first
    while p < last:
        if forests.label[p] != 0:
            enqueue(forests, p, SOURCE if forests.label[p] > 0 else SINK)
        p += ONE


@kernel
def plant(state: GridState, forests: Forests, first: np.uint64, last: np.uint64) -> None:
    """Make roots of the pixels of a run with excess or a deficit, and queue them."""
    make_roots(state, forests, first, last)
    enqueue_run(forests, first, last)


@kernel
def adopt(
    state: GridState, forests: Forests, source: bool, deepest: Int64, first: np.uint64, monitor: Monitor
) -> np.uint64:
    """Find a parent for each orphan of a list, the smallest label first, or remove it from its forest.

    Return the number of orphans processed. If the search is to stop or its work limit is reached, some
    orphans keep no parent, and the forests must not be used any more.
    """
    residual, step, parent, label = state.residual, state.step, forests.parent, forests.label
    degree = np.uint64(len(step))
    forest = SOURCE if source else SINK
    sign = np.int64(1) if source else np.int64(-1)
    none = np.uint64(len(label))
    # Sort the list by labels: a list of orphans for each level.
    waiting = ZERO
    level = none
    v = first
    while v != none:
        following = np.uint64(forests.next_orphan[v])
        its_level = np.uint64(abs(label[v]))
        level = min(level, its_level)
        forests.next_orphan[v] = forests.first_orphan[its_level]
        forests.first_orphan[its_level] = v
        waiting += ONE
        v = following
    orphans = ZERO
    most = orphans_left(forests)
    while waiting > ZERO and orphans < most and relaxed_load(monitor.stop, 0) == 0:
        v = np.uint64(forests.first_orphan[level])
        if v == none:
            level += ONE
            continue
        forests.first_orphan[level] = forests.next_orphan[v]
        waiting -= ONE
        orphans += ONE
        # Choose a parent: the first one that keeps the label, else the nearest that is at most two levels
        # farther away and neither a child nor an orphan.
        least = np.int64(deepest)
        found = degree
        for direction in range(degree):
            d = np.uint64(direction)
            q = v + step[d]
            there = sign * np.int64(label[q])
            if 0 < there < least and residual[q * degree + (d ^ ONE) if source else v * degree + d] > 0:
                if there >= np.int64(level):
                    code = np.uint64(parent[q])
                    if there > np.int64(level) + 1 or code == d ^ ONE or code > degree:
                        continue
                least = there
                found = d
                if there < np.int64(level):
                    break
        if found < degree:
            parent[v] = found
            if least < np.int64(level):
                continue  # the label is unchanged, so the children stay
            label[v] = sign * (least + 1)
        else:
            label[v] = 0
        # The label has changed: children become orphans. If the pixel left the forest, neighbours that could
        # reach it are queued.
        for direction in range(degree):
            d = np.uint64(direction)
            q = v + step[d]
            there = sign * np.int64(label[q])
            if there <= 0:
                continue
            if np.uint64(parent[q]) == d ^ ONE:
                parent[q] = degree + ONE
                forests.next_orphan[q] = forests.first_orphan[there]
                forests.first_orphan[there] = q
                waiting += ONE
            if found == degree and residual[q * degree + (d ^ ONE) if source else v * degree + d] > 0:
                enqueue(forests, q, forest)
    charge_orphans(forests, orphans, monitor)
    if waiting > ZERO:
        request_push_relabel(monitor)
    return orphans


@kernel
def grow(state: GridState, forests: Forests, source: bool, monitor: Monitor) -> None:
    """Grow a forest by one level, and push flow wherever it meets the other one."""
    stop, counts = monitor.stop, monitor.counts
    residual, step, parent, label = state.residual, state.step, forests.parent, forests.label
    degree = np.uint64(len(state.step))
    forest = SOURCE if source else SINK
    sign = np.int64(1) if source else np.int64(-1)
    forests.cursor[DEPTH + forest] += ONE
    deepest = np.int64(forests.cursor[DEPTH + forest])
    deepest_other = np.int64(forests.cursor[DEPTH + 1 - forest])
    waiting = forests.cursor[LENGTH + forest]
    none = np.uint64(len(label))
    scans = ZERO
    pushes = ZERO
    orphans = ZERO
    while waiting > ZERO and relaxed_load(stop, 0) == 0:
        waiting -= ONE
        v = dequeue(forests, forest)
        here = sign * np.int64(label[v])
        if here <= 0:
            continue  # it has left this forest
        if here >= deepest:
            enqueue(forests, v, forest)  # its children belong to the next level
            continue
        scans += degree
        d = ZERO
        while d < degree:
            q = v + step[d]
            there = sign * np.int64(label[q])
            if there > 0:
                d += ONE
                continue
            arc, opposite = v * degree + d, q * degree + (d ^ ONE)
            if not source:
                arc, opposite = opposite, arc
            amount = np.int64(residual[arc])
            if amount == 0:
                d += ONE
                continue
            if there == 0:
                # A pixel of no forest becomes a child.
                label[q] = sign * (here + 1)
                parent[q] = d ^ ONE
                enqueue(forests, q, forest)
                d += ONE
                continue
            # The forests meet: push along both paths, as much as they take.
            amount = path_capacity(state, parent, v, source, amount)
            amount = path_capacity(state, parent, q, not source, amount)
            residual[arc] -= amount
            residual[opposite] += amount
            pushes += ONE
            # Labels are at least the numbers of pixels on the paths to the roots.
            charge_path(forests, np.uint64(here - there), monitor)
            # Repair the other forest, then this one.
            first = push_path(state, parent, forests.next_orphan, q, not source, amount)
            if first != none:
                orphans += adopt(state, forests, not source, deepest_other, first, monitor)
            first = push_path(state, parent, forests.next_orphan, v, source, amount)
            if first != none:
                orphans += adopt(state, forests, source, deepest, first, monitor)
                if sign * np.int64(label[v]) != here:
                    # The pixel has moved: it grows at its new level, if it is still in this forest.
                    if sign * np.int64(label[v]) > 0:
                        enqueue(forests, v, forest)
                    break
            if relaxed_load(stop, 0) != 0:
                break  # there may be orphans left, through which no path leads
    counts[ARC_SCANS] += scans
    counts[PUSHES] += pushes
    counts[RELABELS] += orphans


@kernel
def search(state: GridState, forests: Forests, monitor: Monitor) -> bool:
    """Grow both forests until the sink's cannot grow; return False if there is no room for more levels."""
    cursor = forests.cursor
    room = np.uint64(len(forests.first_orphan))
    while cursor[LENGTH + SINK] > ZERO and relaxed_load(monitor.stop, 0) == 0:
        source = cursor[LENGTH + SOURCE] > ZERO and cursor[DEPTH + SOURCE] <= cursor[DEPTH + SINK]
        if cursor[DEPTH + (SOURCE if source else SINK)] + ONE >= room:
            return False
        grow(state, forests, source, monitor)
    return True


def search_all(state: GridState, forests: Forests, monitor: Monitor) -> Forests:
    """Search to the end, with more room for levels whenever it is needed; return the forests."""
    while not search(state, forests, monitor):
        forests = with_more_levels(forests)
    return forests
