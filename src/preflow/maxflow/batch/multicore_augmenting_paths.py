"""Shortest augmenting paths for many small networks: each thread solves whole networks.

Ahuja and Orlin, "Distance-Directed Augmenting Path Algorithms for Maximum Flow and Parametric Maximum Flow
Problems", Naval Research Logistics 38 (1991). A departure: after `RELABELS_A_VERTEX` relabels a vertex a
search makes labels exact. (A search wherever paths of one length end would be Dinic's algorithm.) One kernel
does everything for a network while the network is in the thread's cache: it scales the capacities, sorts the
arcs by their ends, solves, and writes flow and cuts.

Definitions
-----------
- A *run* is a series of consecutive items, the unit of work that a thread takes.
- The arcs of a vertex are its *slots*: one at the tail and one at the head of each input arc, each with the
  residual capacity out of its vertex. `partner` is the slot at the other end. Loops and arcs that can carry
  nothing have no slots.
- The *label* of a vertex is a lower bound on its residual distance to the sink; n where the sink is out of
  reach.
- A slot is *admissible* if it has residual capacity and leads down by one label.

Invariants
----------
- One thread takes a run, by an atomic addition, and only that thread writes its part of the solution.
- Paths lead from the source to the sink, so there is a flow at any time, also where a solve is stopped.
- No slot with residual capacity leads down by more than one label. Before its current slot, a vertex has no
  admissible one.

Pseudo-code
-----------
::

    each thread, while there are runs:                                     share
        for each item of the run:
            survey it: add up capacities                                   survey
            or add up its capacities, cut off at a limit                   clip
            or solve it:                                                   solve_item
                sort the arcs by their ends                                build
                repeat:
                    label all vertices by their distance to the sink       label_vertices
                    the source has label n: stop
                    repeat:                                                augment
                        walk down over admissible slots
                        at the sink: send what the path takes, and go      send_along
                            back to the first slot that this fills
                        no admissible slot: raise the label, go back       relabel
                    until the source has label n, or no vertex has the
                        label that was raised, or there were many relabels
                write the flow and the two cuts                            write

Time of an item: O(n**2 m). Memory of a thread: 44 bytes an arc and 24 a vertex of the largest item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Index, Indices, Number
from ...kernels.atomics import relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...kernels.private import private, private_memory
from ...parallel.thread_pool import in_pool, run_natively
from ...parallel.turns import Turns, make_turns, take_run
from ...solving.options import NoOptions  # noqa: F401  (methods.py names it)
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES, RELABELS
from .arrays import (
    DOWN,
    DOWN_TOO,
    ENTERING,
    FINITE,
    LARGEST,
    LEAVING,
    LIMIT,
    NUM_BROKEN,
    NUM_INFINITE,
    NUM_SCALES,
    NUM_SURVEYED,
    SOLVED,
    STOPPED,
    UP,
    UP_TOO,
    Found,
    Items,
)

#: Relabels between two searches, for each vertex. On hard networks of 5,600 arcs a solve took 4.1 ms with 0,
#: which is Dinic's algorithm, 2.2 with 1, 2.0 with 4, and 3.0 without searches; on random networks of 1,000
#: arcs 43, 31, 31 and 31 microseconds.
RELABELS_A_VERTEX = 4
#: What the threads do with each item.
SURVEY, CLIP, SOLVE = 0, 1, 2
#: Integers up to this one are exact in float64.
EXACT = 2.0**53


class Work(NamedTuple):
    """Memory of one thread, for the largest item."""

    #: uint32, shape (n + 1,): the slots of vertex ``v`` are ``first[v] .. first[v + 1] - 1``
    first: Indices
    #: uint32, shape (2 m,)
    head: Indices
    partner: Indices
    residual: NDArray[np.int64]  #: shape (2 m,)
    #: shape (m,): the scaled capacities of an input arc; both are 0 where it has no slots
    forward: NDArray[np.int64]
    backward: NDArray[np.int64]
    place: Indices  #: uint32, shape (m,): the slot of an input arc at its tail
    #: uint32, shape (n,)
    label: Indices
    current: Indices
    queue: Indices
    path: Indices
    num_labelled: Indices  #: uint32, shape (n,): how many vertices have each label below n


class Batch(NamedTuple):
    """The data that all threads share."""

    items: Items
    chosen: NDArray[np.int64]  #: the items to work on
    task: np.int64  #: SURVEY, CLIP or SOLVE
    is_float: bool  #: whether capacities are floats, to be scaled
    scale: NDArray[np.float64]  #: shape (items, NUM_SCALES)
    #: shape (items, NUM_SURVEYED): written by SURVEY. CLIP writes the column FINITE.
    survey: NDArray[np.float64]
    found: Found
    own: Work  #: each thread makes a copy
    memory: NDArray[np.uint8]  #: memory for these copies
    turns: Turns
    limit: np.uint64  #: RELABELS_A_VERTEX


def make_work(num_vertices: int, num_arcs: int) -> Work:
    """Return the memory of a thread for items of at most this size."""
    n, m = num_vertices, num_arcs
    return Work(
        first=np.zeros(n + 1, dtype=np.uint32),
        head=np.zeros(2 * m, dtype=np.uint32),
        partner=np.zeros(2 * m, dtype=np.uint32),
        residual=np.zeros(2 * m, dtype=np.int64),
        forward=np.zeros(m, dtype=np.int64),
        backward=np.zeros(m, dtype=np.int64),
        place=np.zeros(m, dtype=np.uint32),
        label=np.zeros(n, dtype=np.uint32),
        current=np.zeros(n, dtype=np.uint32),
        queue=np.zeros(n, dtype=np.uint32),
        path=np.zeros(n, dtype=np.uint32),
        num_labelled=np.zeros(n, dtype=np.uint32),
    )


@kernel
def survey(batch: Batch, item: Index) -> None:
    """Add up the capacities of an item."""
    items = batch.items
    two_way = len(items.reverse) > 0
    source, sink = np.uint64(items.source[item]), np.uint64(items.sink[item])
    leaving, entering, finite, largest, infinite, broken = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(np.uint64(items.first_arc[item]), np.uint64(items.first_arc[item + ONE])):
        u, v = np.uint64(items.tail[a]), np.uint64(items.head[a])
        if u == v:
            continue
        pair = 0.0
        for direction in range(2 if two_way else 1):
            amount = np.float64(items.capacity[a] if direction == 0 else items.reverse[a])
            if u == source:
                leaving += amount
            if v == sink:
                entering += amount
            if amount == np.inf:
                infinite += 1.0
            else:
                finite += amount
                pair += amount
                if amount > EXACT or amount != np.floor(amount):
                    broken += 1.0
            u, v = v, u
        largest = max(largest, pair)
    row = batch.survey[item]
    row[LEAVING], row[ENTERING], row[FINITE] = leaving, entering, finite
    row[LARGEST], row[NUM_INFINITE], row[NUM_BROKEN] = largest, infinite, broken


@kernel
def clip(batch: Batch, item: Index) -> None:
    """Add up the capacities of an item, cut off at its limit."""
    items = batch.items
    limit = batch.scale[item, LIMIT]
    total = 0.0
    for a in range(np.uint64(items.first_arc[item]), np.uint64(items.first_arc[item + ONE])):
        if items.tail[a] != items.head[a]:
            total += min(np.float64(items.capacity[a]), limit)
            if len(items.reverse) > 0:
                total += min(np.float64(items.reverse[a]), limit)
    batch.survey[item, FINITE] = total


@kernel
def scaled(batch: Batch, item: Index, capacity: Number) -> np.int64:
    """Return a capacity as the integer that is solved."""
    if batch.is_float:
        row = batch.scale[item]
        return np.int64(np.floor(min(np.float64(capacity), row[LIMIT]) * row[UP] * row[UP_TOO]))
    return np.int64(capacity)


@kernel
def build(batch: Batch, work: Work, item: Index, n: np.uint64, begin: np.uint64, m: np.uint64) -> None:
    """Sort the arcs of an item by their ends, and set the residual capacities without flow."""
    items, first, current = batch.items, work.first, work.current
    source, sink = np.uint64(items.source[item]), np.uint64(items.sink[item])
    for i in range(n + ONE):
        first[i] = 0
    for a in range(m):
        u, v = np.uint64(items.tail[begin + a]), np.uint64(items.head[begin + a])
        forward, backward = np.int64(0), np.int64(0)
        if u != v:
            # Nothing useful flows into the source or out of the sink.
            if v != source and u != sink:
                forward = scaled(batch, item, items.capacity[begin + a])
            if len(items.reverse) > 0 and u != source and v != sink:
                backward = scaled(batch, item, items.reverse[begin + a])
        work.forward[a], work.backward[a] = forward, backward
        if forward > 0 or backward > 0:
            first[u + ONE] += 1
            first[v + ONE] += 1
    for i in range(n):
        first[i + ONE] += first[i]
        current[i] = first[i]
    for a in range(m):
        forward, backward = work.forward[a], work.backward[a]
        if forward > 0 or backward > 0:
            u, v = np.uint64(items.tail[begin + a]), np.uint64(items.head[begin + a])
            p, q = np.uint64(current[u]), np.uint64(current[v])
            current[u] += 1
            current[v] += 1
            work.head[p], work.head[q] = v, u
            work.partner[p], work.partner[q] = q, p
            work.residual[p], work.residual[q] = forward, backward
            work.place[a] = p


@kernel
def label_vertices(work: Work, n: np.uint64, sink: np.uint64) -> np.uint64:
    """Label vertices by their distance to the sink, n where it cannot be reached; return the slots seen."""
    first, label, queue = work.first, work.label, work.queue
    for i in range(n):
        label[i] = n
        work.num_labelled[i] = 0
    label[sink] = 0
    work.num_labelled[ZERO] = 1
    queue[ZERO] = sink
    begin, end = ZERO, ONE
    scans = ZERO
    while begin < end:
        v = np.uint64(queue[begin])
        begin += ONE
        following = np.uint64(label[v]) + ONE
        scans += np.uint64(first[v + ONE]) - np.uint64(first[v])
        for p in range(np.uint64(first[v]), np.uint64(first[v + ONE])):
            w = np.uint64(work.head[p])
            if np.uint64(label[w]) == n and work.residual[work.partner[p]] > 0:
                label[w] = following
                work.current[w] = first[w]
                work.num_labelled[following] += 1
                queue[end] = w
                end += ONE
    return scans


@kernel
def relabel(work: Work, v: np.uint64, n: np.uint64) -> np.uint64:
    """Give a vertex the least label that one of its slots allows, n if there is none; return this label."""
    least, best = n, np.uint64(work.first[v])
    for p in range(np.uint64(work.first[v]), np.uint64(work.first[v + ONE])):
        if work.residual[p] > 0:
            following = np.uint64(work.label[work.head[p]]) + ONE
            if following < least:
                least, best = following, np.uint64(p)
    work.label[v] = least
    work.current[v] = best
    if least < n:
        work.num_labelled[least] += 1
    return least


@kernel
def send_along(work: Work, depth: np.uint64) -> tuple[np.int64, np.uint64]:
    """Send what the path takes; return the amount, and the place of the first slot that it fills."""
    path, residual, partner = work.path, work.residual, work.partner
    amount = residual[path[ZERO]]
    i = ONE
    while i < depth:
        amount = min(amount, residual[path[i]])
        i += ONE
    full = ZERO
    while i > ZERO:
        i -= ONE
        p = np.uint64(path[i])
        residual[p] -= amount
        residual[partner[p]] += amount
        if residual[p] == 0:
            full = i
    return amount, full


@kernel
def augment(
    batch: Batch, work: Work, n: np.uint64, source: np.uint64, sink: np.uint64, counts: NDArray[np.uint64]
) -> np.int64:
    """Augment along shortest paths, and relabel where they end, until labels are old; return the amount."""
    first, label, current, path = work.first, work.label, work.current, work.path
    total = np.int64(0)
    v = source
    depth = ZERO
    relabels = ZERO
    while relaxed_load(batch.turns.stop, 0) == 0:
        if v == sink:
            amount, full = send_along(work, depth)
            counts[PUSHES] += depth
            total += amount
            depth = full
            v = np.uint64(work.head[work.partner[path[depth]]])
            continue
        p, last = np.uint64(current[v]), np.uint64(first[v + ONE])
        lower = np.uint64(label[v]) - ONE
        begin = p
        while p < last:
            if np.uint64(label[work.head[p]]) == lower and work.residual[p] > 0:
                break
            p += ONE
        counts[ARC_SCANS] += p - begin
        if p < last:
            current[v] = p
            path[depth] = p
            depth += ONE
            v = np.uint64(work.head[p])
            continue
        # No path goes on from v: raise its label. If no other vertex had it, the sink is out of reach.
        work.num_labelled[label[v]] -= 1
        gap = work.num_labelled[label[v]] == 0
        counts[ARC_SCANS] += last - np.uint64(first[v])
        relabels += ONE
        least = relabel(work, v, n)
        if v == source:
            if least == n:
                break
        elif gap:
            break
        else:
            depth -= ONE
            v = np.uint64(work.head[work.partner[path[depth]]])
        if relabels >= batch.limit * n:
            break
    counts[RELABELS] += relabels
    return total


@kernel
def find_source_side(work: Work, source: np.uint64, side: NDArray[np.bool_]) -> None:
    """Write which vertices the source reaches over residual arcs."""
    queue = work.queue
    for i in range(np.uint64(len(side))):
        side[i] = False
    side[source] = True
    queue[ZERO] = source
    begin, end = ZERO, ONE
    while begin < end:
        v = np.uint64(queue[begin])
        begin += ONE
        for p in range(np.uint64(work.first[v]), np.uint64(work.first[v + ONE])):
            w = np.uint64(work.head[p])
            if not side[w] and work.residual[p] > 0:
                side[w] = True
                queue[end] = w
                end += ONE


@kernel
def capacity_of_cut(
    items: Items, begin: np.uint64, m: np.uint64, side: NDArray[np.bool_], is_sink_side: bool
) -> np.float64:
    """Return the given capacity of the arcs from the source side to the sink side, summed as by Kahan."""
    total, error = 0.0, 0.0
    for a in range(begin, begin + m):
        from_sink_side = side[items.tail[a]] == is_sink_side
        to_sink_side = side[items.head[a]] == is_sink_side
        if from_sink_side == to_sink_side:
            continue
        amount = 0.0
        if to_sink_side:
            amount = np.float64(items.capacity[a])
        elif len(items.reverse) > 0:
            amount = np.float64(items.reverse[a])
        if amount == np.inf:
            return np.float64(np.inf)
        amount -= error
        larger = total + amount
        error = (larger - total) - amount
        total = larger
    return np.float64(total)


@kernel
def write(batch: Batch, work: Work, item: Index, begin: np.uint64, m: np.uint64) -> None:
    """Write the flow of an item."""
    flow, row = batch.found.flow, batch.scale[item]
    for a in range(m):
        amount = np.int64(0)
        if work.forward[a] > 0 or work.backward[a] > 0:
            amount = work.forward[a] - work.residual[work.place[a]]
        if batch.is_float:
            flow[begin + a] = np.float64(amount) * row[DOWN] * row[DOWN_TOO]
        else:
            flow[begin + a] = amount


@kernel
def solve_item(batch: Batch, work: Work, item: Index, counts: NDArray[np.uint64]) -> None:
    """Find a maximum flow of an item and its cuts, or the flow so far if it is stopped."""
    items, found = batch.items, batch.found
    begin = np.uint64(items.first_arc[item])
    m = np.uint64(items.first_arc[item + ONE]) - begin
    first_vertex, last_vertex = items.first_vertex[item], items.first_vertex[item + ONE]
    n = np.uint64(last_vertex - first_vertex)
    source, sink = np.uint64(items.source[item]), np.uint64(items.sink[item])
    build(batch, work, item, n, begin, m)
    value = np.int64(0)
    ending = STOPPED
    while relaxed_load(batch.turns.stop, 0) == 0:
        counts[ARC_SCANS] += label_vertices(work, n, sink)
        counts[GLOBAL_RELABELS] += ONE
        if np.uint64(work.label[source]) == n:
            ending = SOLVED
            break
        value += augment(batch, work, n, source, sink, counts)
    write(batch, work, item, begin, m)
    found.value[item] = value
    found.ending[item] = ending
    if ending == SOLVED:
        side = found.sink_side[first_vertex:last_vertex]
        for v in range(n):
            side[v] = np.uint64(work.label[v]) < n
        other = found.source_side[first_vertex:last_vertex]
        find_source_side(work, source, other)
        if batch.is_float:
            upper = capacity_of_cut(items, begin, m, side, True)
            found.upper[item] = max(upper, capacity_of_cut(items, begin, m, other, False))


@kernel
def share(thread: np.uint64, batch: Batch) -> None:
    """Work on runs of items until none is left."""
    work = private(batch.own, batch.memory[thread])
    count = np.uint64(len(batch.chosen))
    while batch.task != SOLVE or relaxed_load(batch.turns.stop, 0) == 0:
        begin, end = take_run(batch.turns, count)
        if begin == end:
            break
        for k in range(begin, end):
            item = np.uint64(batch.chosen[k])
            if batch.task == SURVEY:
                survey(batch, item)
            elif batch.task == CLIP:
                clip(batch, item)
            else:
                if relaxed_load(batch.turns.stop, 0) != 0:
                    return
                solve_item(batch, work, item, batch.turns.counts[thread])
        if thread == ZERO and batch.task == SOLVE:
            relaxed_store(batch.turns.progress, 0, np.float64(count - end))


work_together = in_pool("work_together", share)


class Solver:
    """The method on one batch, which writes the solution to `found`."""

    def __init__(self, items: Items, found: Found, control: Control) -> None:
        count = len(items.source)
        largest = (int(np.diff(first).max(initial=0)) for first in (items.first_vertex, items.first_arc))
        own = make_work(*largest)
        self.control = control
        self.batch = Batch(
            items=items,
            chosen=np.arange(count),
            task=np.int64(SURVEY),
            is_float=bool(items.capacity.dtype.kind == "f"),
            scale=np.ones((count, NUM_SCALES)),
            survey=np.zeros((count, NUM_SURVEYED)),
            found=found,
            own=own,
            memory=private_memory(own, control.threads),
            turns=make_turns(0, control)[0],
            limit=np.uint64(RELABELS_A_VERTEX),
        )

    @property
    def scale(self) -> NDArray[np.float64]:
        """The scale of each item, to be set before :meth:`clip` and :meth:`solve`."""
        return self.batch.scale

    def _run(self, task: int, chosen: NDArray[np.int64]) -> None:
        turns, threads = make_turns(len(chosen), self.control)
        if task == SOLVE:
            self.control.progress[:] = len(chosen)
        batch = self.batch._replace(chosen=chosen, task=np.int64(task), turns=turns)
        run_natively(work_together, batch, threads)

    def survey(self) -> NDArray[np.float64]:
        """Return the survey of all items."""
        self._run(SURVEY, np.arange(len(self.batch.items.source)))
        return self.batch.survey

    def clip(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return, for all items, sums of capacities; those of the chosen ones are cut off at the limit."""
        self._run(CLIP, chosen)
        total: NDArray[np.float64] = self.batch.survey[:, FINITE]
        return total

    def solve(self, chosen: NDArray[np.int64]) -> None:
        """Solve the chosen items with their scales."""
        self._run(SOLVE, chosen)

    def finish(self) -> Found:
        """Return the solution."""
        found: Found = self.batch.found
        return found
