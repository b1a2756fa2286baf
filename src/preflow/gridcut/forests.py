"""Two forests of short paths, the source's and the sink's, and the pixels they grow from.

The state of a pixel is a signed label (its level, from 1 of a root on: positive in the source's forest,
negative in the sink's, 0 in none) and the direction of its parent. Nobody lists children: those of a pixel
are its neighbours whose parent it is. A root is a pixel with excess or with a deficit, whatever its
capacities were. growth.py has the search that grows the forests.

Parts of a grid
---------------
A search works on those pixels that it is given roots of (`plant`) and on what they reach. What is kept of
pixels (`label`, `parent`, `queued`, `next_orphan`) may be shared by searches of several threads on parts that
no residual arc joins: store the residual capacities over the border elsewhere, and 0 in their place, at both
ends. Neighbours over the border are read, but nothing follows from what is read as long as the arc between
has no residual capacity. To put two parts together: restore these capacities, make a :class:`Forests` for
both with `share`, take over both queues with `take_over`, put the pixels at the border on the queue of their
forest with `enqueue`, and search.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.kernel import kernel
from ..solving.options import UNLIMITED
from .state import GridState

ZERO = np.uint64(0)
ONE = np.uint64(1)
SOURCE, SINK = 0, 1
#: Places in `Forests.cursor`, of the source's forest and behind it of the sink's: where its queue starts, how
#: long that is, and the largest label; then what the search may still do before it gives up (patience.py).
HEAD, LENGTH, DEPTH, WORK_LEFT, ORPHANS_LEFT = 0, 2, 4, 6, 7
CURSORS = 8
#: Levels there is room for at first.
LEVELS = 1024


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
