"""The queues of two forests of vertices, each a ring in one row of an array.

Incremental breadth-first search keeps them, on grids and on networks. A vertex may be on both queues, once on
each.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices, Int64
from .constants import ONE, ZERO
from .kernel import kernel

#: Positions in `cursor` for the first queue; the second follows by one: the first entry, and the length.
HEAD, LENGTH = 0, 2


class TwoQueues(Protocol):
    """Two queues in the arrays of a search; see HEAD and LENGTH for the cursor."""

    @property
    def queue(self) -> Indices:
        """The entries, shape (2, room)."""

    @property
    def queued(self) -> NDArray[np.uint8]:
        """Bit 0: the vertex is on the first queue; bit 1: on the second; shape (n,)."""

    @property
    def cursor(self) -> NDArray[np.uint64]:
        """First entries and lengths."""


@kernel
def enqueue(queues: TwoQueues, v: np.uint64, which: Int64) -> None:
    """Append a vertex to a queue unless it is there."""
    bit = np.uint8(1 << which)
    if queues.queued[v] & bit == 0:
        queues.queued[v] |= bit
        size = np.uint64(queues.queue.shape[1])
        place = queues.cursor[HEAD + which] + queues.cursor[LENGTH + which]
        if place >= size:
            place -= size
        queues.queue[which, place] = v
        queues.cursor[LENGTH + which] += ONE


@kernel
def dequeue(queues: TwoQueues, which: Int64) -> np.uint64:
    """Take the first vertex from a queue."""
    size = np.uint64(queues.queue.shape[1])
    head = queues.cursor[HEAD + which]
    v = np.uint64(queues.queue[which, head])
    head += ONE
    queues.cursor[HEAD + which] = head if head < size else ZERO
    queues.cursor[LENGTH + which] -= ONE
    queues.queued[v] &= np.uint8(2 >> which)
    return v
