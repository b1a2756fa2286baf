"""Two forests of short paths that grow towards each other: incremental breadth-first search.

Goldberg, Hed, Kaplan, Tarjan and Werneck, "Maximum Flows by Incremental Breadth-First Search", ESA 2011, and
with Kohli, "Faster and More Dynamic Maximum Flow by Incremental Breadth-First Search", ESA 2015. The source's
forest grows from all pixels with excess, over arcs with residual capacity, the sink's from all pixels with a
deficit, against such arcs. Where they meet, flow is pushed along both paths. A pixel that loses its parent by
that is an orphan and takes another one at the same distance, or moves away from its root until one is found,
or leaves the forest. As in the second paper a root is a pixel with excess or with a deficit, whatever its
capacities were: a flow to start from needs nothing else.

A forest is the source's or the sink's by an argument, not by a copy of the code: `sign` turns labels, and a
residual capacity is looked up at the end where it is. A search allocates nothing and has no state beside its
arguments, which forests.py describes.

Departures, measured in docs/notebook:

- The two forests grow by levels in turn, the shallower one first. By the smaller number of pixels to grow
  from, as in the papers, one forest often never grows: twice the orphans.
- There is no current arc: an orphan looks at its few neighbours once, for a parent at the old distance and
  for the nearest one together.
- An orphan moves away by one level or two, to a parent that is no child of it and no orphan, or leaves the
  forest. In the papers it may take a child, and both then climb over each other: where only a few seeds have
  excess or deficits, that makes two to four times the orphans.
- When a pixel leaves its forest, that is grown from again wherever it could be reached from, as with Boykov
  and Kolmogorov. So a label is at least the number of pixels on the path to the root, and mostly but not
  always the least such number; nothing but speed depends on it. That is why forests may grow from some roots
  first, and forests of parts of a grid may be put together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.integer_grid import IntegerGrid
from ..kernels.atomics import compare_exchange, relaxed_load
from ..kernels.kernel import kernel
from ..solving.options import UNLIMITED, check_positive_number, limit
from ..solving.run import Control
from ..stats import ARC_SCANS, PUSHES, RELABELS
from .pixel_major import GridState
from .solution import GridSolution
from .tree_paths import path_capacity, push_path

ZERO = np.uint64(0)
ONE = np.uint64(1)
SOURCE, SINK = 0, 1
#: Places in `Forests.cursor`, of the source's forest and behind it of the sink's: where its queue starts, how
#: long that is, and the largest label; then what the search may still do before it gives up (patience.py).
HEAD, LENGTH, DEPTH, WORK_LEFT, ORPHANS_LEFT = 0, 2, 4, 6, 7
CURSORS = 8
#: Levels there is room for at first.
LEVELS = 1024
#: The value of the stop flag by which a search asks the solve to go on with push-relabel.
HAND_OVER = np.int64(2)
#: Orphans for each arc of the grid that a search may take. Images and volumes with noise everywhere take 0.4
#: to 1, with 26 neighbours 2.4; thin regions and seeds up to 16, which push-relabel does as fast; traps 80.
ORPHANS_AN_ARC = 3.0
#: With more neighbours than this the number grows in proportion. Noise with 26 neighbours took 2.1 orphans an
#: arc, and up to 3 with paths counted: 60^3 took 2.8 CPU seconds, 4.3 where push-relabel took over at 3.
FEW_NEIGHBOURS = 8
#: Each of several threads may take this share of it. One of two takes up to 1.2 orphans an arc on vessels,
#: 0.3 on noise; one source in 2 x 60,000 pixels took 0.112 CPU seconds with all of it, 0.084 with half.
SHARE_OF_A_THREAD = 0.5
#: Pixels of paths that count as one orphan: that many take as long.
PATH_PIXELS_AN_ORPHAN = np.uint64(4)
#: Orphans that a search may take for each pixel of the grid, and for each pixel of a path. Where there are
#: more, the trees that one path destroys are those that the last one made.
#: Noise, spirals and vessels need less than 0.1 for each pixel of the grid.
ORPHANS_A_PIXEL, ORPHANS_A_PATH_PIXEL = 1.0, np.uint64(10)


class Forests(NamedTuple):
    """The source's and the sink's forest.

    Attributes
    ----------
    label : ndarray of int32, shape (size,)
        Level: larger than that of the parent, 1 of a root; negative in the sink's forest; 0 in none.
    parent : ndarray of uint8 or uint16, shape (size,)
        Direction of the parent; D of a root, D + 1 of an orphan.
    queued : ndarray of uint8, shape (size,)
        Bit 0: on the queue of the source's forest; bit 1: on that of the sink's.
    next_orphan : ndarray of uint32 or uint64, shape (size,)
        The orphan behind one on a list.
    queue : ndarray of uint32 or uint64, shape (2, pixels)
        Of each forest the pixels to grow from; rings.
    first_orphan : ndarray of uint32 or uint64, shape (levels,)
        Of each level the first orphan; the number of all pixels where there is none.
    cursor : ndarray of uint64, shape (CURSORS,)
    """

    label: NDArray[np.int32]
    parent: NDArray[Any]
    queued: NDArray[np.uint8]
    next_orphan: NDArray[Any]
    queue: NDArray[Any]
    first_orphan: NDArray[Any]
    cursor: NDArray[np.uint64]


def make_forests(state: GridState, pixels: int) -> Forests:
    """Allocate empty forests of all pixels of a state, with queues for so many of them."""
    size, degree = len(state.terminal), len(state.step)
    index = np.uint32 if size < 2**32 else np.uint64
    code = np.uint8 if degree + 1 < 2**8 else np.uint16
    return share(
        Forests(
            label=np.zeros(size, dtype=np.int32),
            parent=np.empty(size, dtype=code),
            queued=np.zeros(size, dtype=np.uint8),
            next_orphan=np.empty(size, dtype=index),
            queue=np.empty((2, 0), dtype=index),
            first_orphan=np.empty(0, dtype=index),
            cursor=np.zeros(CURSORS, dtype=np.uint64),
        ),
        pixels,
    )


def share(forests: Forests, pixels: int) -> Forests:
    """Return empty forests for a part of the pixels; what is kept of pixels is in the same arrays."""
    size = len(forests.label)
    cursor = np.zeros(CURSORS, dtype=np.uint64)
    cursor[DEPTH : DEPTH + 2] = 1
    cursor[[WORK_LEFT, ORPHANS_LEFT]] = UNLIMITED
    return forests._replace(
        queue=np.empty((2, pixels), dtype=forests.next_orphan.dtype),
        first_orphan=np.full(LEVELS, size, dtype=forests.next_orphan.dtype),
        cursor=cursor,
    )


def with_levels(forests: Forests) -> Forests:
    """Return the same forests with room for twice as many levels; no orphan waits."""
    levels = 2 * len(forests.first_orphan)
    none = len(forests.label)
    return forests._replace(first_orphan=np.full(levels, none, dtype=forests.first_orphan.dtype))


@kernel
def enqueue(forests: Forests, v: Any, forest: Any) -> None:
    """Append a pixel to the queue of a forest unless it is there."""
    bit = np.uint8(1 << forest)
    if forests.queued[v] & bit == 0:
        forests.queued[v] |= bit
        size = np.uint64(forests.queue.shape[1])
        place = forests.cursor[HEAD + forest] + forests.cursor[LENGTH + forest]
        if place >= size:
            place -= size
        forests.queue[forest, place] = v
        forests.cursor[LENGTH + forest] += ONE


@kernel
def dequeue(forests: Forests, forest: Any) -> Any:
    """Take the first pixel from the queue of a forest."""
    size = np.uint64(forests.queue.shape[1])
    head = forests.cursor[HEAD + forest]
    v = np.uint64(forests.queue[forest, head])
    head += ONE
    forests.cursor[HEAD + forest] = head if head < size else ZERO
    forests.cursor[LENGTH + forest] -= ONE
    forests.queued[v] &= np.uint8(2 >> forest)
    return v


@kernel
def take_over(forests: Forests, part: Forests) -> None:
    """Append the queues of forests that share the arrays of pixels, and be at least as deep as they are."""
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


@kernel
def make_roots(state: GridState, forests: Forests, first: Any, last: Any) -> None:
    """Make the pixels of a run with excess roots of the source's forest, those with a deficit of the sink's.

    They stand in no queue yet.
    """
    root = len(state.step)
    p = first
    while p < last:
        amount = state.terminal[p]
        if amount != 0:
            forests.parent[p] = root
            forests.label[p] = 1 if amount > 0 else -1
        p += ONE


@kernel
def enqueue_run(forests: Forests, first: Any, last: Any) -> None:
    """Put all pixels of a run that are in a forest into its queue."""
    p = first
    while p < last:
        if forests.label[p] != 0:
            enqueue(forests, p, SOURCE if forests.label[p] > 0 else SINK)
        p += ONE


@kernel
def plant(state: GridState, forests: Forests, first: Any, last: Any) -> None:
    """Make roots of a run of pixels, to grow from."""
    make_roots(state, forests, first, last)
    enqueue_run(forests, first, last)


@kernel
def orphans_left(forests: Forests) -> Any:
    """Return how many orphans the search may still take."""
    return min(forests.cursor[WORK_LEFT] // PATH_PIXELS_AN_ORPHAN, forests.cursor[ORPHANS_LEFT])


@kernel
def give_up(stop: Any) -> None:
    """Ask the solve to go on with push-relabel, unless it is to stop."""
    compare_exchange(stop, 0, 0, HAND_OVER)


@kernel
def spend(forests: Forests, place: Any, work: Any, stop: Any) -> None:
    """Take work off what is left; where nothing is left, ask the solve to stop."""
    left = forests.cursor[place]
    forests.cursor[place] = left - min(work, left)
    if work >= left:
        give_up(stop)


@kernel
def spend_on_orphans(forests: Forests, orphans: Any, stop: Any) -> None:
    """Account for orphans."""
    spend(forests, WORK_LEFT, orphans * PATH_PIXELS_AN_ORPHAN, stop)
    spend(forests, ORPHANS_LEFT, orphans, stop)


@kernel
def spend_on_path(forests: Forests, pixels: Any, stop: Any) -> None:
    """Account for an augmenting path, which earns orphans."""
    spend(forests, WORK_LEFT, pixels, stop)
    forests.cursor[ORPHANS_LEFT] += pixels * ORPHANS_A_PATH_PIXEL


@kernel
def clear_request(stop: Any) -> bool:
    """Clear the stop flag if a search has ended for lack of patience; return whether it had."""
    return bool(compare_exchange(stop, 0, HAND_OVER, 0))


def check_patience(patience: object) -> None:
    """Raise InvalidInputError unless `patience` is None or a positive number."""
    if patience is not None:
        check_positive_number("patience", patience)


def be_patient(forests: Forests, patience: float | None, pixels: int, degree: int, threads: int = 1) -> None:
    """Set what a search, one of `threads`, may do in a grid of so many pixels, each with `degree` arcs."""
    if patience is not None:
        patience *= max(1.0, degree / FEW_NEIGHBOURS) * (SHARE_OF_A_THREAD if threads > 1 else 1.0)
        forests.cursor[WORK_LEFT] = limit(patience * degree * pixels * float(PATH_PIXELS_AN_ORPHAN))
        forests.cursor[ORPHANS_LEFT] = limit(ORPHANS_A_PIXEL * pixels)


def hands_over(control: Control) -> bool:
    """Return whether a search of this solve has used up its patience, and say so in the statistics."""
    if not clear_request(control.stop):
        return False
    pushes, orphans = control.thread_counts[:, [PUSHES, RELABELS]].sum(axis=0).tolist()
    control.remarks.append(
        f"after {pushes:,} paths and {orphans:,} orphans push-relabel went on with the flow found so far"
    )
    return True


def push_on(grid: IntegerGrid, state: GridState, control: Control) -> GridSolution:
    """Solve a grid by push-relabel from the pseudoflow that a search left."""
    from .multicore_lockfree import GridLockFreeOptions, solve_from

    return solve_from(grid, state, GridLockFreeOptions(), control)


@kernel
def sweep(state: GridState, first: Any, last: Any) -> Any:
    """Push excess of a run of pixels to neighbours that have a deficit; return the pushes made."""
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
def adopt(state: GridState, forests: Forests, source: bool, deepest: Any, first: Any, stop: Any) -> Any:
    """Find a parent for the orphans of a list, nearest to the roots first, or take them out; return how many.

    The children of one that moves away from its root become orphans, too. When the search is to stop, or has
    no patience left, some orphans stay without a parent: the forests are of no further use.
    """
    residual, step, parent, label = state.residual, state.step, forests.parent, forests.label
    degree = np.uint64(len(step))
    forest = SOURCE if source else SINK
    sign = np.int64(1) if source else np.int64(-1)
    none = np.uint64(len(label))
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
    while waiting > ZERO and orphans < most and relaxed_load(stop, 0) == 0:
        v = np.uint64(forests.first_orphan[level])
        if v == none:
            level += ONE
            continue
        forests.first_orphan[level] = forests.next_orphan[v]
        waiting -= ONE
        orphans += ONE
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
                continue
            label[v] = sign * (least + 1)
        else:
            label[v] = 0
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
    spend_on_orphans(forests, orphans, stop)
    if waiting > ZERO:
        give_up(stop)
    return orphans


@kernel
def grow(state: GridState, forests: Forests, source: bool, stop: Any, counts: Any) -> None:
    """Grow a forest by one level, and push wherever it meets the other one."""
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
            continue
        if here >= deepest:
            enqueue(forests, v, forest)
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
                label[q] = sign * (here + 1)
                parent[q] = d ^ ONE
                enqueue(forests, q, forest)
                d += ONE
                continue
            amount = path_capacity(state, parent, v, source, amount)
            amount = path_capacity(state, parent, q, not source, amount)
            residual[arc] -= amount
            residual[opposite] += amount
            pushes += ONE
            # Labels are at least the numbers of pixels on the paths to the roots.
            spend_on_path(forests, np.uint64(here - there), stop)
            first = push_path(state, parent, forests.next_orphan, q, not source, amount)
            if first != none:
                orphans += adopt(state, forests, not source, deepest_other, first, stop)
            first = push_path(state, parent, forests.next_orphan, v, source, amount)
            if first != none:
                orphans += adopt(state, forests, source, deepest, first, stop)
                if sign * np.int64(label[v]) != here:
                    if sign * np.int64(label[v]) > 0:
                        enqueue(forests, v, forest)
                    break
            if relaxed_load(stop, 0) != 0:
                break  # there may be orphans left, through which no path leads
    counts[ARC_SCANS] += scans
    counts[PUSHES] += pushes
    counts[RELABELS] += orphans


@kernel
def search(state: GridState, forests: Forests, stop: Any, counts: Any) -> bool:
    """Grow both forests until that of the sink cannot grow; return whether there was room for the levels."""
    cursor = forests.cursor
    room = np.uint64(len(forests.first_orphan))
    while cursor[LENGTH + SINK] > ZERO and relaxed_load(stop, 0) == 0:
        source = cursor[LENGTH + SOURCE] > ZERO and cursor[DEPTH + SOURCE] <= cursor[DEPTH + SINK]
        if cursor[DEPTH + (SOURCE if source else SINK)] + ONE >= room:
            return False
        grow(state, forests, source, stop, counts)
    return True


def search_all(state: GridState, forests: Forests, stop: Any, counts: Any) -> Forests:
    """Search with as much room for levels as it takes; return the forests."""
    while not search(state, forests, stop, counts):
        forests = with_levels(forests)
    return forests
