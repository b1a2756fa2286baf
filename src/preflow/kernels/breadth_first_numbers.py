"""Number the vertices of a residual network in breadth-first order (Cuthill and McKee, 1969).

Solvers follow arcs from vertex to vertex. If the numbers of neighbours are scattered, every step waits for
memory. In breadth-first order the neighbours of successive vertices have successive numbers, on meshes and
roads, but not where a search reaches most vertices within few steps: :func:`number_breadth_first` gives up
there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Indices, Integers
from .atomics import prefetch
from .constants import ONE, TWO, ZERO
from .kernel import kernel

#: What is measured: `WINDOWS` times the arcs of `WINDOW` successive vertices.
WINDOWS, WINDOW = np.uint64(32), np.uint64(64)
#: Two to the power of this many entries of an array of indices fill a cache line.
LOG_OF_LINE = np.uint64(4)
#: From this many reached vertices on, more than half of them waiting for their turn mean that distances are
#: short. On meshes a quarter or less wait by then, on RMAT graphs and networks by power laws nearly all.
FEWEST_REACHED = np.uint64(4096)
#: How many vertices ahead are prefetched: the numbers of neighbours, the rows of arcs, and where these begin.
AHEAD_NUMBERS, AHEAD_ROW, AHEAD_FIRST = np.uint64(4), np.uint64(8), np.uint64(16)


@kernel
def lines_of_heads(first_out: Indices, head: Indices, seen: Indices) -> tuple[np.uint64, np.uint64]:
    """Return how many cache lines hold one number for each head in the windows, and the number of heads.

    Lines that successive windows share count in each. `seen` is scratch, zero on entry, with an entry for
    each line.
    """
    n = np.uint64(len(first_out)) - ONE
    lines, arcs = ZERO, ZERO
    for i in range(WINDOWS):
        mark = np.uint64(i) + ONE
        begin = (n - min(n, WINDOW)) * np.uint64(i) // WINDOWS
        first, last = np.uint64(first_out[begin]), np.uint64(first_out[min(n, begin + WINDOW)])
        for a in range(first, last):
            line = np.uint64(head[a]) >> LOG_OF_LINE
            if seen[line] != mark:
                seen[line] = mark
                lines += ONE
        arcs += last - first
    return lines, arcs


class Rows(NamedTuple):
    """The residual arcs, as in :class:`preflow.graph.residual.ResidualArrays`."""

    first_out: Indices
    head: Indices
    reverse: Indices
    residual: Integers


@kernel
def number_breadth_first(rows: Rows, number: Indices, queue: Indices, new: Rows) -> bool:
    """Give every vertex its `number` and write the residual arcs in the new order; return whether it is done.

    The arcs of a vertex keep their order. A search that reaches many vertices within few steps is given up.
    On entry every ``number`` is n; `queue` is scratch of one entry a vertex.
    """
    first_out, head, reverse, residual = rows.first_out, rows.head, rows.reverse, rows.residual
    new_first_out, new_head, new_reverse, new_residual = (
        new.first_out,
        new.head,
        new.reverse,
        new.residual,
    )
    n = np.uint64(len(first_out)) - ONE
    reached, root, free = ZERO, ZERO, ZERO
    for k in range(n):
        if k == reached:
            while np.uint64(number[root]) < n:
                root += ONE
            number[root] = k
            queue[k] = root
            reached += ONE
        if k + AHEAD_FIRST < reached:
            prefetch(first_out, queue[k + AHEAD_FIRST])
        if k + AHEAD_ROW < reached:
            ahead = np.uint64(first_out[queue[k + AHEAD_ROW]])
            prefetch(head, ahead)
            prefetch(reverse, ahead)
            prefetch(residual, ahead)
        if k + AHEAD_NUMBERS < reached:
            v = np.uint64(queue[k + AHEAD_NUMBERS])
            for a in range(np.uint64(first_out[v]), np.uint64(first_out[v + ONE])):
                prefetch(number, head[a])
        v = np.uint64(queue[k])
        begin = np.uint64(first_out[v])
        new_first_out[k] = free
        for a in range(begin, np.uint64(first_out[v + ONE])):
            w = np.uint64(head[a])
            other = np.uint64(number[w])
            if other == n:
                other = reached
                number[w] = other
                queue[other] = w
                reached += ONE
            new_head[free] = other
            new_residual[free] = residual[a]
            new_reverse[free] = reverse[a]
            free += ONE
        queue[k] = begin
        if reached >= FEWEST_REACHED and TWO * (reached - k) > reached:
            return False
    new_first_out[n] = free
    # Now the queue has the first arcs before, so an arc is known by its rank among those of its vertex.
    for a in range(free):
        other = np.uint64(new_head[a])
        new_reverse[a] = np.uint64(new_first_out[other]) + np.uint64(new_reverse[a]) - np.uint64(queue[other])
    return True
