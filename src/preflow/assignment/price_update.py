"""The price update of cost scaling: prices fall by epsilon times the distance to a column without a unit.

Łupińska, Algorithm 5.3, with Dial's buckets: the length of a residual arc is the floor of its reduced cost
over epsilon, plus one. Corrected where it is in print: a vertex before one at distance i is at i and the
length, not at the length; division rounds down. It ends when a bucket is empty and every active vertex has
its distance, or there are no further buckets; vertices without a distance are as far as the next bucket,
which keeps the flow epsilon-optimal.

It needs an epsilon-optimal flow. Where pushes and relabels were interrupted, some arcs on which units came to
columns just relabelled are not; these units are sent back first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.kernel import kernel
from .flow_scaling import COLUMN, HALF, NOWHERE, ONE, Arcs, Flow
from .state import NONE, ZERO

#: Buckets for each vertex.
BUCKETS = 8


class ArcsInto(NamedTuple):
    """The arcs of every column, by columns.

    Attributes
    ----------
    first : ndarray of uint64, shape (n + 1,)
    row : ndarray of uint32
    arc : ndarray of uint64
        Where the arc is in :class:`.flow_scaling.Arcs`.
    """

    first: NDArray[Any]
    row: NDArray[Any]
    arc: NDArray[Any]


class Buckets(NamedTuple):
    """Vertices, rows before columns, by distance.

    Attributes
    ----------
    head : ndarray of uint64, shape (buckets,)
    after, before : ndarray of uint64, shape (vertices,)
        The next and the previous vertex in a bucket.
    label : ndarray of uint64, shape (vertices,)
        The bucket that a vertex is in, or was scanned from; NONE for none.
    scanned : ndarray of uint8, shape (vertices,)
    """

    head: NDArray[Any]
    after: NDArray[Any]
    before: NDArray[Any]
    label: NDArray[Any]
    scanned: NDArray[Any]


def arcs_into(arcs: Arcs) -> ArcsInto:
    """Return the arcs of every column."""
    size = len(arcs.size)
    row = np.repeat(np.arange(size), np.diff(arcs.first).astype(np.int64))
    arc = np.arange(len(row))
    arc = arc[arc - arcs.first[row].astype(np.int64) < arcs.size[row].astype(np.int64)]
    arc = arc[np.argsort(arcs.column[arc], kind="stable")]
    first = np.zeros(size + 1, dtype=np.uint64)
    np.cumsum(np.bincount(arcs.column[arc], minlength=size), out=first[1:])
    return ArcsInto(first, row[arc].astype(np.uint32), arc.astype(np.uint64))


def make_buckets(size: int) -> Buckets:
    """Return empty buckets for so many rows and as many columns."""
    vertices = 2 * size
    after, before, label = np.zeros((3, vertices), dtype=np.uint64)
    head = np.zeros(BUCKETS * vertices, dtype=np.uint64)
    return Buckets(head, after, before, label, np.zeros(vertices, dtype=np.uint8))


@kernel
def saturate(arcs: Arcs, flow: Flow, epsilon: Any) -> Any:
    """Send units back whose arcs spoil epsilon-optimality; return how many."""
    sent = ZERO
    for x in range(np.uint64(len(flow.at))):
        word = flow.at[x]
        if word == NOWHERE:
            continue
        y = word & COLUMN
        if flow.column_price[y] - flow.row_price[x] - arcs.cost[word >> HALF] < -epsilon:
            flow.at[x] = NOWHERE
            flow.excess[y] -= 1
            sent += ONE
    return sent


@kernel
def _move(buckets: Buckets, vertex: Any, label: Any) -> None:
    """Put a vertex into a nearer bucket."""
    head, after, before = buckets.head, buckets.after, buckets.before
    old = buckets.label[vertex]
    if old != NONE:
        _take_out(buckets, vertex, old)
    following = head[label]
    after[vertex] = following
    before[vertex] = NONE
    if following != NONE:
        before[following] = vertex
    head[label] = vertex
    buckets.label[vertex] = label


@kernel
def _take_out(buckets: Buckets, vertex: Any, label: Any) -> None:
    following, previous = buckets.after[vertex], buckets.before[vertex]
    if previous == NONE:
        buckets.head[label] = following
    else:
        buckets.after[previous] = following
    if following != NONE:
        buckets.before[following] = previous


@kernel
def _reach(buckets: Buckets, vertex: Any, here: Any, reduced: Any, epsilon: Any) -> None:
    """Note a way from a vertex to one at the distance `here`, over an arc of this reduced cost."""
    if buckets.scanned[vertex] == 0:
        label = here + np.uint64(max(reduced // epsilon + 1, 0))
        if label < buckets.label[vertex] and label < np.uint64(len(buckets.head)):
            _move(buckets, vertex, label)


@kernel
def update_prices(arcs: Arcs, into: ArcsInto, flow: Flow, buckets: Buckets, epsilon: Any) -> Any:
    """Lower the prices of an epsilon-optimal flow; return how many vertices were scanned."""
    size = np.uint64(len(flow.at))
    active = ZERO
    for bucket in range(np.uint64(len(buckets.head))):
        buckets.head[bucket] = NONE
    for v in range(size + size):
        buckets.label[v] = NONE
        buckets.scanned[v] = 0
    for v in range(size):
        if flow.at[v] == NOWHERE:
            active += ONE
        if flow.excess[v] < 0:
            _move(buckets, size + v, ZERO)
        elif flow.excess[v] > 0:
            active += ONE
    here, scanned = ZERO, ZERO
    while here < np.uint64(len(buckets.head)):
        v = buckets.head[here]
        if v == NONE:
            if active == ZERO:
                break
            here += ONE
            continue
        _take_out(buckets, v, here)
        buckets.scanned[v] = 1
        scanned += ONE
        if v < size:
            if flow.at[v] == NOWHERE:
                active -= ONE
            else:
                y = flow.at[v] & COLUMN
                reduced = flow.column_price[y] - flow.row_price[v] - arcs.cost[flow.at[v] >> HALF]
                _reach(buckets, size + y, here, reduced, epsilon)
        else:
            y = v - size
            if flow.excess[y] > 0:
                active -= ONE
            for k in range(into.first[y], into.first[y + ONE]):
                x = np.uint64(into.row[k])
                a = into.arc[k]
                if flow.at[x] >> HALF != a:
                    reduced = arcs.cost[a] + flow.row_price[x] - flow.column_price[y]
                    _reach(buckets, x, here, reduced, epsilon)
    beyond = min(here + ONE, np.uint64(len(buckets.head)))
    for v in range(size):
        flow.row_price[v] -= epsilon * np.int64(min(buckets.label[v], beyond))
        flow.column_price[v] -= epsilon * np.int64(min(buckets.label[size + v], beyond))
    return scanned
