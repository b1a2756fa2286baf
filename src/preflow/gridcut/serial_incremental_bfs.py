"""Incremental breadth-first search on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..stats import ARC_SCANS, PUSHES, RELABELS
from .state import GridState, grid_state, padding

ZERO = np.uint64(0)
ONE = np.uint64(1)
SOURCE, SINK = 0, 1
#: Places in `Trees.cursor`: of each tree the head and the length of its queue and its depth; orphans waiting.
HEAD, LENGTH, DEPTH, ORPHANS, LOWEST = 0, 2, 4, 6, 7
CURSORS = 8


class Trees(NamedTuple):
    label: NDArray[np.int32]
    parent: NDArray[np.uint8]
    queued: NDArray[np.uint8]
    queue: NDArray[Any]
    next_orphan: NDArray[Any]
    first_orphan: NDArray[Any]
    cursor: NDArray[np.uint64]


@kernel
def enqueue(trees: Trees, v: Any, tree: Any) -> None:
    """Append a pixel to the queue of a tree unless it is there."""
    bit = np.uint8(1 << tree)
    if trees.queued[v] & bit == 0:
        trees.queued[v] |= bit
        size = np.uint64(trees.queue.shape[1])
        place = trees.cursor[HEAD + tree] + trees.cursor[LENGTH + tree]
        if place >= size:
            place -= size
        trees.queue[tree, place] = v
        trees.cursor[LENGTH + tree] += ONE


@kernel
def dequeue(trees: Trees, tree: Any) -> Any:
    """Take the first pixel from the queue of a tree."""
    size = np.uint64(trees.queue.shape[1])
    head = trees.cursor[HEAD + tree]
    v = np.uint64(trees.queue[tree, head])
    head += ONE
    trees.cursor[HEAD + tree] = head if head < size else ZERO
    trees.cursor[LENGTH + tree] -= ONE
    trees.queued[v] &= np.uint8(~(1 << tree) & 3)
    return v


@kernel
def orphan(trees: Trees, v: Any, level: Any, orphan_code: Any) -> None:
    """Put a pixel that has lost its parent on the list of its level."""
    trees.parent[v] = orphan_code
    trees.next_orphan[v] = trees.first_orphan[level]
    trees.first_orphan[level] = v
    trees.cursor[ORPHANS] += ONE
    trees.cursor[LOWEST] = min(trees.cursor[LOWEST], level)


@kernel
def plant(state: GridState, trees: Trees, first: Any, last: Any) -> None:
    """Make every pixel with excess a root of the source's tree, every one with a deficit one of the sink's."""
    root = len(state.directions)
    p = first
    while p < last:
        amount = state.terminal[p]
        if amount != 0:
            trees.parent[p] = root
            if amount > 0:
                trees.label[p] = 1
                enqueue(trees, p, SOURCE)
            else:
                trees.label[p] = -1
                enqueue(trees, p, SINK)
        p += ONE
    trees.cursor[DEPTH + SOURCE] = ONE
    trees.cursor[DEPTH + SINK] = ONE


@kernel
def push_direct(state: GridState, first: Any, last: Any) -> None:
    """Push excess to neighbours that have a deficit."""
    residual, terminal, step = state.residual, state.terminal, state.step
    degree = np.uint64(len(state.directions))
    p = first
    while p < last:
        excess = terminal[p]
        if excess > 0:
            base = p * degree
            for direction in range(len(state.directions)):
                d = np.uint64(direction)
                q = p + step[d]
                if terminal[q] < 0:
                    r = residual[base + d]
                    if r > 0:
                        amount = min(min(r, -terminal[q]), excess)
                        residual[base + d] = r - amount
                        residual[q * degree + (d ^ ONE)] += amount
                        terminal[q] += amount
                        excess -= amount
                        if excess == 0:
                            break
            terminal[p] = excess
        p += ONE


@kernel
def path_capacity(state: GridState, trees: Trees, v: Any, source: bool, amount: Any) -> Any:
    """Return how much of an amount the tree path between a pixel and its root takes."""
    residual, step, parent = state.residual, state.step, trees.parent
    degree = np.uint64(len(state.directions))
    p = v
    c = np.uint64(parent[p])
    while c != degree:
        q = p + step[c]
        arc = q * degree + (c ^ ONE) if source else p * degree + c
        amount = min(amount, np.int64(residual[arc]))
        p = q
        c = np.uint64(parent[p])
    t = np.int64(state.terminal[p])
    return min(amount, t if source else -t)


@kernel
def push_path(state: GridState, trees: Trees, v: Any, source: bool, amount: Any) -> None:
    """Push along the tree path between a pixel and its root; who loses its parent by that is an orphan."""
    residual, step, parent, terminal = state.residual, state.step, trees.parent, state.terminal
    degree = np.uint64(len(state.directions))
    p = v
    c = np.uint64(parent[p])
    while c != degree:
        q = p + step[c]
        down = p * degree + c
        up = q * degree + (c ^ ONE)
        if not source:
            down, up = up, down
        left = residual[up] - amount
        residual[up] = left
        residual[down] += amount
        if left == 0:
            orphan(trees, p, np.uint64(abs(trees.label[p])), degree + ONE)
        p = q
        c = np.uint64(parent[p])
    terminal[p] -= amount if source else -amount
    if terminal[p] == 0:
        orphan(trees, p, np.uint64(abs(trees.label[p])), degree + ONE)


@kernel
def adopt(state: GridState, trees: Trees, source: bool, deepest: Any) -> Any:
    """Find new parents for all orphans, nearest to the roots first; return how many there were."""
    residual, step, parent, label = state.residual, state.step, trees.parent, trees.label
    degree = np.uint64(len(state.directions))
    tree = SOURCE if source else SINK
    sign = np.int64(1) if source else np.int64(-1)
    none = np.uint64(len(label))
    level = trees.cursor[LOWEST]
    waiting = trees.cursor[ORPHANS]
    adopted = ZERO
    while waiting > ZERO:
        v = np.uint64(trees.first_orphan[level])
        if v == none:
            level += ONE
            continue
        trees.first_orphan[level] = trees.next_orphan[v]
        waiting -= ONE
        adopted += ONE
        base = v * degree
        old = np.int64(level)
        least = np.int64(deepest)
        found = degree
        for direction in range(len(state.directions)):
            d = np.uint64(direction)
            q = v + step[d]
            h = sign * np.int64(label[q])
            if h > 0 and h < least and residual[q * degree + (d ^ ONE) if source else base + d] > 0:
                least = h
                found = d
                if h < old:
                    break
        if found < degree:
            parent[v] = found
            if least < old:
                continue
            label[v] = sign * (least + 1)
        else:
            label[v] = 0
        for direction in range(len(state.directions)):
            d = np.uint64(direction)
            q = v + step[d]
            h = sign * np.int64(label[q])
            if h <= 0:
                continue
            if np.uint64(parent[q]) == d ^ ONE:
                parent[q] = degree + ONE
                h = np.uint64(h)
                trees.next_orphan[q] = trees.first_orphan[h]
                trees.first_orphan[h] = q
                waiting += ONE
            if found == degree and residual[q * degree + (d ^ ONE) if source else base + d] > 0:
                enqueue(trees, q, tree)
    trees.cursor[ORPHANS] = ZERO
    trees.cursor[LOWEST] = none
    return adopted


@kernel
def grow(state: GridState, trees: Trees, source: bool, stop: Any, counts: Any) -> None:
    """Grow a tree by one level, pushing wherever it meets the other."""
    residual, step, parent, label = state.residual, state.step, trees.parent, trees.label
    degree = np.uint64(len(state.directions))
    tree = SOURCE if source else SINK
    other = SINK if source else SOURCE
    sign = np.int64(1) if source else np.int64(-1)
    trees.cursor[DEPTH + tree] += ONE
    deepest = np.int64(trees.cursor[DEPTH + tree])
    deepest_other = np.int64(trees.cursor[DEPTH + other])
    waiting = trees.cursor[LENGTH + tree]
    scans = ZERO
    pushes = ZERO
    adoptions = ZERO
    while waiting > ZERO and relaxed_load(stop, 0) == 0:
        waiting -= ONE
        v = dequeue(trees, tree)
        here = sign * np.int64(label[v])
        if here <= 0:
            continue
        if here >= deepest:
            enqueue(trees, v, tree)
            continue
        base = v * degree
        d = ZERO
        scans += degree
        while d < degree:
            q = v + step[d]
            h = sign * np.int64(label[q])
            if h > 0:
                d += ONE
                continue
            r = np.int64(residual[base + d if source else q * degree + (d ^ ONE)])
            if r == 0:
                d += ONE
                continue
            if h == 0:
                label[q] = sign * (here + 1)
                parent[q] = d ^ ONE
                enqueue(trees, q, tree)
                d += ONE
                continue
            amount = path_capacity(state, trees, v, source, r)
            amount = path_capacity(state, trees, q, not source, amount)
            residual[base + d] -= sign * amount
            residual[q * degree + (d ^ ONE)] += sign * amount
            pushes += ONE
            push_path(state, trees, q, not source, amount)
            if trees.cursor[ORPHANS] > ZERO:
                adoptions += adopt(state, trees, not source, deepest_other)
            push_path(state, trees, v, source, amount)
            if trees.cursor[ORPHANS] > ZERO:
                adoptions += adopt(state, trees, source, deepest)
                if sign * np.int64(label[v]) != here:
                    if sign * np.int64(label[v]) > 0:
                        enqueue(trees, v, tree)
                    break
    counts[ARC_SCANS] += scans
    counts[PUSHES] += pushes
    counts[RELABELS] += adoptions


@kernel
def search(state: GridState, trees: Trees, stop: Any, counts: Any) -> None:
    """Grow both trees until one cannot grow, then that of the sink until it cannot either."""
    cursor = trees.cursor
    while cursor[LENGTH + SINK] > ZERO and relaxed_load(stop, 0) == 0:
        if ZERO < cursor[LENGTH + SOURCE] <= cursor[LENGTH + SINK]:
            grow(state, trees, True, stop, counts)
        else:
            grow(state, trees, False, stop, counts)


def make_trees(size: int, pixels: int, degree: int) -> Trees:
    index = np.uint32 if size < 2**32 else np.uint64
    code = np.uint8 if degree < 254 else np.uint16
    first_orphan = np.empty(pixels + 3, dtype=index)
    first_orphan[:] = size
    trees = Trees(
        np.zeros(size, dtype=np.int32),
        np.zeros(size, dtype=code),
        np.zeros(size, dtype=np.uint8),
        np.empty((2, pixels), dtype=index),
        np.empty(size, dtype=index),
        first_orphan,
        np.zeros(CURSORS, dtype=np.uint64),
    )
    trees.cursor[LOWEST] = size
    return trees
