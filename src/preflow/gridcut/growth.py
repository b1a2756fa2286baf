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

Departures, measured in docs/performance.md:

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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..stats import ARC_SCANS, PUSHES, RELABELS
from .forests import (
    DEPTH,
    LENGTH,
    SINK,
    SOURCE,
    Forests,
    dequeue,
    enqueue,
    with_levels,
)
from .patience import give_up, orphans_left, spend_on_orphans, spend_on_path
from .state import GridState, interior
from .tree_paths import path_capacity, push_path

ZERO = np.uint64(0)
ONE = np.uint64(1)


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


def deficits_reach(grid: Any, state: GridState) -> NDArray[np.bool_]:
    """Return for every pixel whether one with a deficit can be reached from it."""
    first, last = interior(grid)
    reaches = np.zeros(len(state.terminal), dtype=np.uint8)
    search_from_deficits(state, first, last, reaches, np.empty(int(last - first), dtype=np.uint64))
    return reaches[first:last].view(np.bool_)


@kernel
def search_from_deficits(state: GridState, first: Any, last: Any, reaches: Any, found: Any) -> None:
    """Mark the pixels from which one with a deficit can be reached; `found` is room for all of them.

    The pixel found last is looked at next: its neighbours are mostly in the cache.
    """
    degree = np.uint64(len(state.step))
    p = first
    while p < last:
        if state.terminal[p] < 0 and reaches[p] == 0:
            reaches[p] = 1
            found[ZERO] = p
            size = ONE
            while size > ZERO:
                size -= ONE
                v = found[size]
                for direction in range(degree):
                    d = np.uint64(direction)
                    q = v + state.step[d]
                    if reaches[q] == 0 and state.residual[q * degree + (d ^ ONE)] > 0:
                        reaches[q] = 1
                        found[size] = q
                        size += ONE
        p += ONE
