"""Small graphs, matched by one kernel: see :mod:`preflow.solving.quick`.

It builds the rows of the graph and searches as :mod:`.serial_blossom` does, with weights as
:mod:`.weighted_blossom` does. It takes matchings of the largest size, or of the largest sum of
positive integers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Int64
from ..graph.undirected import Neighbours, UndirectedGraph, count_ends, fill_neighbours, merge_parallel
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.call import Call
from ..solving.monitor import Monitor
from ..solving.options import UNLIMITED
from ..solving.quick import Memory, Watch, stats_of
from ..solving.read_only import make_read_only
from ..solving.run import COUNTER_ROW
from ..stats import GeneralMatchingStats
from .initial.karp_sipser import match_rest
from .initial.proof import halve
from .links import NONE, ODD, Links
from .result import GeneralMatchingResult, Wanted
from .serial_blossom import LABEL, Trees, plant, run
from .solution import BlossomDuals, duals_of
from .weighted_blossom.search import match_vertices, run_searches
from .weighted_blossom.start import match_free
from .weighted_blossom.state import (
    SPARE,
    WeightedForest,
    clear_forest,
    new_forest,
    nodes_of,
    part_of_forest,
)

#: Larger graphs take the full road: to search takes so long that the way there does not count.
MOST_VERTICES, MOST_EDGES = 1_000, 5_000
#: The sum of weights is below this.
MOST_WEIGHT = np.int64(2**59)


Prepare = Callable[[UndirectedGraph, Wanted], Call[UndirectedGraph]]


class Room(NamedTuple):
    """Memory for a graph: see :func:`make_room`."""

    rows: Neighbours
    place: NDArray[np.uint64]
    left: Indices
    ones: Indices
    trees: Trees
    forest: WeightedForest
    stop: NDArray[np.int64]
    progress: NDArray[np.float64]


class Answer(NamedTuple):
    """The arrays that the kernel writes; those of duals are empty without weights."""

    mate: NDArray[np.int64]  #: the partner of each vertex, -1 for none
    barrier: NDArray[np.bool_]  #: as in :class:`.solution.GeneralState`; empty with weights
    #: as in :class:`.weighted_blossom.state.WeightedForest`
    dual: NDArray[np.int64]
    parent: Indices
    blossom_dual: NDArray[np.int64]
    spare: Indices


_memory = Memory()
#: The goal of :func:`preflow.matching` by default: the largest matching.
LARGEST = Wanted(True, False, False)
NO_BARRIER = np.empty(0, bool)
_none, _no_words = np.empty(0, np.int64), np.empty(0, np.uint32)
NO_DUALS = Answer(_none, NO_BARRIER, _none, _no_words, _none, _no_words)
_INTEGER = np.dtype(np.int64)


def make_room(n: int = MOST_VERTICES, m: int = MOST_EDGES) -> Room:
    """Return memory for graphs of up to n vertices and m edges."""

    def words(count: int = n) -> Indices:
        return np.zeros(count, dtype=np.uint32)

    links = Links(
        mate=words(),
        near=words(),
        far=words(),
        group=words(),
        seen=words(),
        searches=np.zeros(1, dtype=np.uint64),
        stack=words(2 * n + 2),
    )
    trees = Trees(
        links=links,
        label=np.zeros(n, dtype=np.uint8),
        root=words(),
        member=words(),
        last=words(),
        queue=words(),
        gone=words(),
        sizes=np.zeros(3, dtype=np.uint64),
    )
    return Room(
        rows=Neighbours(words(n + 1), words(2 * m), np.zeros(2 * m, dtype=np.int64)),
        place=np.zeros(n, dtype=np.uint64),
        left=words(),
        ones=words(),
        trees=trees,
        forest=new_forest(n, m),
        stop=np.zeros(1, dtype=np.int64),
        progress=np.ones(2),
    )


@kernel
def build_rows(
    tail: Indices, head: Indices, weight: NDArray[np.int64], n: np.uint64, room: Room
) -> Neighbours:
    """Return the rows of a graph."""
    first, place = room.rows.first[: n + ONE], room.place[:n]
    first[:] = 0
    place[:] = ZERO
    count_ends(tail, head, first)
    entries = np.uint64(first[n])
    neighbour = room.rows.neighbour[:entries]
    of_neighbour = room.rows.weight[: entries if len(weight) > 0 else ZERO]
    fill_neighbours(tail, head, weight, first, neighbour, of_neighbour)
    kept = merge_parallel(first, neighbour, of_neighbour, place)
    return Neighbours(first, neighbour[:kept], of_neighbour[: kept if len(weight) > 0 else ZERO])


@kernel
def search_without_weights(
    graph: Neighbours, n: np.uint64, room: Room, monitor: Monitor, answer: Answer
) -> None:
    """Find a matching of the most edges."""
    given = room.trees
    links = Links(
        given.links.mate[:n],
        given.links.near[:n],
        given.links.far[:n],
        given.links.group[:n],
        given.links.seen[:n],
        given.links.searches,
        given.links.stack[: n + n + ONE + ONE],
    )
    trees = Trees(
        links,
        given.label[:n],
        given.root[:n],
        given.member[:n],
        given.last[:n],
        given.queue[:n],
        given.gone[:n],
        given.sizes,
    )
    match_rest(graph, links.mate, trees.label, room.left[:n], room.ones[:n], monitor)
    for v in range(n):
        links.near[v] = NONE
        links.far[v] = NONE
        links.group[v] = v
        links.seen[v] = 0
        trees.root[v] = NONE
        trees.member[v] = NONE
        trees.last[v] = NONE
    links.searches[0] = ZERO
    trees.sizes[0] = ZERO
    trees.sizes[1] = ZERO
    trees.sizes[2] = NONE
    plant(trees)
    run(trees, graph, monitor)
    for v in range(n):
        answer.mate[v] = -1 if np.uint64(links.mate[v]) == NONE else np.int64(links.mate[v])
        answer.barrier[v] = trees.label[v] & LABEL == ODD


@kernel
def search_with_weights(
    graph: Neighbours, n: np.uint64, room: Room, monitor: Monitor, answer: Answer
) -> None:
    """Find a matching of the largest weight."""
    nodes = np.uint64(len(answer.parent))
    forest = part_of_forest(room.forest, n, nodes, np.uint64(len(graph.neighbour)) // np.uint64(2))
    clear_forest(forest)
    mate, roots = room.left[:n], room.ones
    halve(graph, forest.dual)
    mate[:] = np.uint32(NONE)
    match_free(graph, forest.dual, mate, monitor)
    count = ZERO
    for v in range(n):
        forest.outer[v] = mate[v]
        if forest.dual[v] > 0 and np.uint64(mate[v]) == NONE:
            roots[count] = v
            count += ONE
    run_searches(forest, graph, roots[:count], UNLIMITED, monitor)
    match_vertices(forest, mate)
    for v in range(n):
        answer.mate[v] = -1 if np.uint64(mate[v]) == n else np.int64(mate[v])
        answer.dual[v] = forest.dual[v]
    for node in range(nodes):
        answer.parent[node] = forest.parent[node]
        answer.blossom_dual[node] = forest.blossom_dual[node]
    for k in range(nodes - n):
        answer.spare[k] = forest.spare[k]


@kernel
def match_small(
    tail: Indices,
    head: Indices,
    weight: NDArray[np.int64],
    room: Room,
    counts: NDArray[np.uint64],
    answer: Answer,
) -> tuple[Int64, np.uint64]:
    """Match a graph, by weights unless there are none.

    Return the number of pairs or the sum of their weights, -1 in case of doubt; and how many blossoms are not
    in use, which `spare` begins with.
    """
    most = MOST_WEIGHT
    for each in weight:
        if each <= 0 or each > most:
            return np.int64(-1), ZERO
        most -= each
    n = np.uint64(len(answer.mate))
    graph = build_rows(tail, head, weight, n, room)
    monitor = Monitor(room.stop, counts, room.progress)
    size, spare = np.int64(0), ZERO
    if len(weight) > 0:
        search_with_weights(graph, n, room, monitor, answer)
        spare = room.forest.sizes[SPARE]
    else:
        search_without_weights(graph, n, room, monitor, answer)
    for v in range(n):
        other = answer.mate[v]
        if other > np.int64(v):
            if len(weight) == 0:
                size += 1
                continue
            for arc in range(graph.first[v], graph.first[v + ONE]):
                if np.int64(graph.neighbour[arc]) == other:
                    size += graph.weight[arc]
    return size, spare


def match(
    graph: UndirectedGraph, wanted: Wanted, watch: Watch, prepare: Prepare
) -> GeneralMatchingResult | None:
    """Match a small graph as :func:`preflow.matching` does; None: take the full road.

    `prepare` makes the call of the full road.
    """
    n, m, weight = graph.num_vertices, len(graph.tail), graph.weight
    weighted = weight is not None
    if (
        n > MOST_VERTICES
        or not 0 < m <= MOST_EDGES
        or wanted.perfect
        or (weight is not None and weight.dtype != _INTEGER)
        or (weighted and (wanted.maximum_cardinality or not wanted.maximize))
        or graph.restore is not None
    ):
        return None
    room = _memory.kept.get(None)
    if room is None:
        room = _memory.kept[None] = make_room()
    counts = np.zeros(COUNTER_ROW, dtype=np.uint64)
    mate = np.empty(n, np.int64)
    if weighted:
        nodes = nodes_of(n)
        words, numbers = np.empty((2, nodes), np.uint32), np.empty((2, nodes), np.int64)
        answer = Answer(mate, NO_BARRIER, numbers[0, :n], words[0], numbers[1], words[1])
    else:
        answer = NO_DUALS._replace(mate=mate, barrier=np.empty(n, bool))
    given = NO_DUALS.dual if weight is None else weight
    size, spare = match_small(graph.tail, graph.head, given, room, counts, answer)
    if size < 0:
        return None
    mate.flags.writeable = False
    if not weighted:
        answer.barrier.flags.writeable = False
    watch.end()
    fields: dict[str, object] = {
        "status": "optimal",
        "lower_bound": int(size),
        "upper_bound": int(size),
        "mate": mate,
        "graph": graph,
        "maximize": wanted.maximize,
        "perfect": False,
        "maximum_cardinality": wanted.maximum_cardinality,
        "barrier": None if weighted else answer.barrier,
        "steps": (),
        "_gap": 0,
    }
    if not weighted:
        fields["duals"] = None
    return GeneralMatchingResult._made_later(
        fields, partial(_later, graph, wanted, prepare, counts, answer, int(spare), watch)
    )


def _later(
    graph: UndirectedGraph,
    wanted: Wanted,
    prepare: Prepare,
    counts: Array,
    answer: Answer,
    spare: int,
    watch: Watch,
) -> dict[str, object]:
    """Return the fields of a result that few callers read."""
    made: dict[str, object] = {"stats": stats_of(prepare(graph, wanted), GeneralMatchingStats, counts, watch)}
    if graph.weight is not None:
        duals: BlossomDuals = duals_of(answer.dual, answer.parent, answer.blossom_dual, answer.spare[:spare])
        make_read_only(duals)
        made["duals"] = duals
    return made
