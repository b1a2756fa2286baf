"""Weighted matchings of many small graphs: each thread matches whole graphs.

The search is that of :mod:`preflow.general_matching.weighted_blossom`, which has definitions and
invariants. One kernel does everything for a graph while the graph is in the thread's cache: it reads the
weights that are solved, sorts the edges by their ends, searches from each free vertex without a budget, and
writes the matching with its duals and blossoms.

Pseudo-code
-----------
::

    each thread, while there are runs of items:                            share
        for each item of the run:
            survey it: extremes of the weights, and what is wrong          survey
            or match it:                                                   solve_item
                list the useful edges with the weights that are solved     read_edges
                sort them by their ends, without parallel ones             build_rows
                search from each free vertex                               search_with_weights
                number the blossoms in use, write everything               write

Time of an item: O(n m log n). Memory of a thread: 300 bytes a vertex and 56 an edge of the largest item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Index, Int64, Number
from ...graph.undirected import MOST_VERTICES
from ...kernels.atomics import relaxed_load, relaxed_store
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...kernels.private import private, private_memory
from ...parallel.thread_pool import in_pool, run_natively
from ...parallel.turns import Turns, make_turns, take_run
from ...solving.monitor import Monitor
from ...solving.options import NoOptions  # noqa: F401  (methods.py names it)
from ...solving.run import Control
from ..links import NONE
from ..result import Wanted
from ..small import (
    NO_DUALS,
    Answer,
    Goal,
    Room,
    build_rows,
    gain_of,
    goal_of,
    is_broken,
    list_edge,
    make_room,
    search_with_weights,
)
from ..weighted_blossom.state import SPARE, nodes_of
from .arrays import (
    ASYMMETRIC,
    BROKEN,
    INFINITE,
    OUTSIDE,
    SOLVED,
    STOPPED,
    Found,
    Items,
    Scales,
    Survey,
    items_of,
    nothing_found,
)
from .graphs import GraphBatch
from .result import DualsOfBatch

#: Floats above the diagonal and below may differ by this fraction, by rounding.
SYMMETRIC = 2.0**-48


class Work(NamedTuple):
    """Memory of one thread, for the largest item."""

    room: Room
    answer: Answer
    number: NDArray[np.int64]  #: shape (nodes,): the number of a blossom among those in use


class Batch(NamedTuple):
    """The data that all threads share."""

    items: Items
    chosen: NDArray[np.int64]  #: the items to work on
    solves: bool  #: whether to solve them; otherwise survey them
    is_stack: bool
    goal: Goal
    scales: Scales
    survey: Survey
    found: Found
    own: Work  #: each thread makes a copy
    memory: NDArray[np.uint8]  #: memory for these copies
    turns: Turns


def make_work(num_vertices: int, num_edges: int) -> Work:
    """Return the memory of a thread for items of at most this size."""
    n, m, nodes = num_vertices, num_edges, nodes_of(num_vertices)
    return Work(
        make_room(n, m),
        NO_DUALS._replace(
            mate=np.zeros(n, dtype=np.int64),
            dual=np.zeros(n, dtype=np.int64),
            parent=np.zeros(nodes, dtype=np.uint32),
            blossom_dual=np.zeros(nodes, dtype=np.int64),
            spare=np.zeros(nodes - n, dtype=np.uint32),
        ),
        np.zeros(nodes, dtype=np.int64),
    )


@kernel
def is_edge(items: Items, weight: Number) -> bool:
    """Return whether an entry of a matrix is an edge."""
    return bool(np.isfinite(weight)) and not (len(items.no_edge) > 0 and weight == items.no_edge[0])


@kernel
def note_weight(batch: Batch, item: Index, weight: Number, is_first: bool) -> None:
    """Let the survey of an item count the weight of an edge."""
    least, most, flaws = batch.survey
    gain = gain_of(weight, batch.goal)
    least[item] = gain if is_first else min(least[item], gain)
    most[item] = gain if is_first else max(most[item], gain)
    if is_broken(gain, batch.goal):
        flaws[item] |= BROKEN


@kernel
def survey(batch: Batch, item: Index) -> None:
    """Survey the weights of an item."""
    items, flaws = batch.items, batch.survey.flaws
    begin, end = np.uint64(items.first_edge[item]), np.uint64(items.first_edge[item + ONE])
    n = np.uint64(items.first_vertex[item + ONE] - items.first_vertex[item])
    is_first = True
    if batch.is_stack:
        for row in range(n):
            for column in range(row + ONE, n):
                weight = items.weight[begin + row * n + column]
                other = items.weight[begin + column * n + row]
                known = is_edge(items, weight)
                if weight != other or not known:
                    near = SYMMETRIC * max(np.abs(weight), np.abs(other))
                    if known != is_edge(items, other) or (
                        known and not (batch.goal.is_float and np.abs(weight - other) <= near)
                    ):
                        flaws[item] |= ASYMMETRIC
                if known:
                    note_weight(batch, item, weight, is_first)
                    is_first = False
        return
    for edge in range(begin, end):
        u, v, weight = np.uint64(items.ends[edge, 0]), np.uint64(items.ends[edge, 1]), items.weight[edge]
        if not np.isfinite(weight):
            flaws[item] |= INFINITE
        if u >= n or v >= n:
            flaws[item] |= OUTSIDE
        if u != v:
            note_weight(batch, item, weight, is_first)
            is_first = False


@kernel
def read_edges(batch: Batch, work: Work, item: Index, n: np.uint64) -> np.uint64:
    """List the useful edges of an item; return how many there are."""
    items = batch.items
    begin, end = np.uint64(items.first_edge[item]), np.uint64(items.first_edge[item + ONE])
    lists, goal, bonus, count = work.room.lists, batch.goal, batch.scales.bonus[item], ZERO
    lists.scale[0] = batch.scales.up[item]
    lists.scale[1] = 0.0
    if batch.is_stack:
        for row in range(n):
            for column in range(row + ONE, n):
                weight = items.weight[begin + row * n + column]
                if is_edge(items, weight):
                    count = list_edge(lists, count, row, column, weight, goal, bonus)
    else:
        for edge in range(begin, end):
            u, v = np.uint64(items.ends[edge, 0]), np.uint64(items.ends[edge, 1])
            if u != v:
                count = list_edge(lists, count, u, v, items.weight[edge], goal, bonus)
    batch.found.rest[item] = lists.scale[1]
    return count


@kernel
def write(batch: Batch, item: Index, answer: Answer, spare: np.uint64, number: NDArray[np.int64]) -> None:
    """Write the duals and the blossoms of an item."""
    items, found = batch.items, batch.found
    n, nodes = np.uint64(len(answer.mate)), np.uint64(len(answer.parent))
    begin, first = np.uint64(items.first_vertex[item]), np.uint64(items.first_blossom[item])
    number[:nodes] = 0
    for k in range(spare):
        number[answer.spare[k]] = -1
    count: Int64 = np.int64(0)
    for node in range(n, nodes):
        if number[node] >= 0:
            number[node] = np.int64(n) + count
            found.blossom[first + np.uint64(count)] = answer.blossom_dual[node]
            count += 1
    for node in range(nodes):
        if node < n or number[node] >= 0:
            place = node if node < n else np.uint64(number[node])
            parent = np.uint64(answer.parent[node])
            found.parent[begin + first + place] = -1 if parent == NONE else number[parent]
    for v in range(n):
        found.mate[begin + v] = answer.mate[v]
        found.vertex[begin + v] = answer.dual[v]
    found.num_blossoms[item] = count


@kernel
def solve_item(batch: Batch, work: Work, item: Index, counts: NDArray[np.uint64]) -> None:
    """Find a matching of the largest weight of an item, with its duals."""
    items, found = batch.items, batch.found
    n = np.uint64(items.first_vertex[item + ONE] - items.first_vertex[item])
    nodes = n + n + n // np.uint64(4)
    count = read_edges(batch, work, item, n)
    lists = work.room.lists
    graph = build_rows(lists.tail[:count], lists.head[:count], lists.weight[:count], n, work.room)
    answer = Answer(
        work.answer.mate[:n],
        work.answer.barrier,
        work.answer.dual[:n],
        work.answer.parent[:nodes],
        work.answer.blossom_dual[:nodes],
        work.answer.spare[: nodes - n],
    )
    search_with_weights(graph, n, work.room, Monitor(batch.turns.stop, counts, work.room.progress), answer)
    if relaxed_load(batch.turns.stop, 0) != 0:
        found.ending[item] = STOPPED
        return
    write(batch, item, answer, work.room.forest.sizes[SPARE], work.number)
    total = np.int64(0)
    for v in range(n):
        other = answer.mate[v]
        if other > np.int64(v):
            for arc in range(graph.first[v], graph.first[v + ONE]):
                if np.int64(graph.neighbour[arc]) == other:
                    total += graph.weight[arc]
    found.total[item] = total
    found.ending[item] = SOLVED


@kernel
def share(thread: np.uint64, batch: Batch) -> None:
    """Work on runs of items until none is left."""
    work = private(batch.own, batch.memory[thread])
    count = np.uint64(len(batch.chosen))
    while not batch.solves or relaxed_load(batch.turns.stop, 0) == 0:
        begin, end = take_run(batch.turns, count)
        if begin == end:
            break
        for k in range(begin, end):
            item = np.uint64(batch.chosen[k])
            if not batch.solves:
                survey(batch, item)
            elif relaxed_load(batch.turns.stop, 0) == 0:
                solve_item(batch, work, item, batch.turns.counts[thread])
        if thread == ZERO and batch.solves:
            relaxed_store(batch.turns.progress, 0, np.float64(count - end))


match_together = in_pool("match_together", share)


class Solver:
    """The method on one batch."""

    most_vertices = MOST_VERTICES  #: of an item

    def __init__(self, graphs: GraphBatch, wanted: Wanted, control: Control) -> None:
        items = items_of(graphs)
        count, n = len(graphs), int(graphs.sizes.max(initial=0))
        edges = n * (n - 1) // 2 if graphs.is_stack else int(np.diff(graphs.first_edge).max(initial=0))
        own = make_work(n, edges)
        least, most = np.zeros((2, count), items.weight.dtype)
        self.control = control
        self.batch = Batch(
            items=items,
            chosen=np.arange(count),
            solves=False,
            is_stack=graphs.is_stack,
            goal=goal_of(wanted, items.weight),
            scales=Scales(np.ones(count), np.zeros(count, dtype=np.int64)),
            survey=Survey(least, most, np.zeros(count, dtype=np.int64)),
            found=nothing_found(items),
            own=own,
            memory=private_memory(own, control.threads),
            turns=make_turns(0, control)[0],
        )

    def _run(self, chosen: NDArray[np.int64], scales: Scales, *, solves: bool) -> None:
        turns, threads = make_turns(len(chosen), self.control)
        if solves:
            self.control.progress[:] = max(len(chosen), 1)
        batch = self.batch._replace(chosen=chosen, scales=scales, solves=solves, turns=turns)
        run_natively(match_together, batch, threads)

    def survey(self) -> Survey:
        """Return the survey of all items."""
        self._run(self.batch.chosen, self.batch.scales, solves=False)
        return self.batch.survey

    def solve(self, chosen: NDArray[np.int64], scales: Scales) -> Found:
        """Solve the chosen items; return the solution of the batch."""
        self._run(chosen, scales, solves=True)
        found: Found = self.batch.found
        return found

    def duals(self) -> DualsOfBatch:
        """Return the duals of the solution."""
        return DualsOfBatch(*(getattr(self.batch.found, name) for name in DualsOfBatch._fields))
