"""Small graphs, matched by one kernel: see :mod:`preflow.solving.quick`.

It builds the rows of the graph and searches as :mod:`.serial_blossom` does, with weights as
:mod:`.weighted_blossom` does. The weights that are solved are those of :mod:`.integer_weights`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Index, Indices, Int64, Number
from ..graph.scaling import is_close, size_of
from ..graph.undirected import Neighbours, UndirectedGraph, count_ends, fill_neighbours, merge_parallel
from ..kernels.constants import ONE, TWO, ZERO
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
from .integer_weights import BITS, weight_of_floats
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
MOST = 2.0**BITS
#: Integers up to this one are exact in float64.
EXACT = 2.0**53
#: Floats are scaled by less than this, so that none overflows.
MOST_SCALE = 2.0**800

Prepare = Callable[[UndirectedGraph, Wanted], Call[UndirectedGraph]]


class Goal(NamedTuple):
    """The goal of a matching, and the type of its weights."""

    sign: np.int64  #: -1 to minimise
    most_edges: bool  #: whether one edge more outweighs everything else
    perfect: bool
    is_float: bool


class Solved(NamedTuple):
    """The edges of use with the weights that are solved, and the weights of pairs."""

    tail: Indices
    head: Indices
    weight: NDArray[np.int64]
    chosen: NDArray[np.float64]  #: of floats: the weights of the pairs, by their lower vertices
    #: shape (2,): what floats were multiplied by, and how much that left at most when rounded
    scale: NDArray[np.float64]


class Room(NamedTuple):
    """Memory for a graph: see :func:`make_room`."""

    lists: Solved
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
NO_BARRIER = np.empty(0, bool)
_none, _no_words = np.empty(0, np.int64), np.empty(0, np.uint32)
NO_DUALS = Answer(_none, NO_BARRIER, _none, _no_words, _none, _no_words)
_SIGNS = (np.int64(-1), np.int64(1))  #: by whether to maximise


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
        lists=Solved(words(m), words(m), np.zeros(m, dtype=np.int64), np.zeros(n), np.zeros(2)),
        rows=Neighbours(words(n + 1), words(2 * m), np.zeros(2 * m, dtype=np.int64)),
        place=np.zeros(n, dtype=np.uint64),
        left=words(),
        ones=words(),
        trees=trees,
        forest=new_forest(n, m),
        stop=np.zeros(1, dtype=np.int64),
        progress=np.ones(2),
    )


def goal_of(wanted: Wanted, weight: Array) -> Goal:
    """Return the goal of a call."""
    sign = _SIGNS[wanted.maximize]
    return Goal(sign, wanted.most_edges, wanted.perfect, weight.dtype.kind == "f")


@kernel
def gain_of(weight: Number, goal: Goal) -> Number:
    """Return what an edge adds to the goal: 0 if it may be left out and should be."""
    gain = goal.sign * weight
    return 0 * gain if gain < 0 and not goal.most_edges else gain


@kernel
def is_broken(gain: Number, goal: Goal) -> bool:
    """Return whether a weight is no integer that float64 represents."""
    return bool(goal.is_float and (np.abs(gain) > EXACT or gain != np.floor(gain)))


@kernel
def list_edge(
    lists: Solved, count: np.uint64, u: Index, v: Index, weight: Number, goal: Goal, bonus: np.int64
) -> np.uint64:
    """List an edge, if it is of use, with the weight that is solved; return how many are listed then."""
    if goal.is_float:
        scaled = lists.scale[0] * weight
        value = np.int64(np.rint(scaled))
        if goal.most_edges or goal.sign * scaled > 0.0:
            lists.scale[1] = max(lists.scale[1], np.abs(scaled - np.rint(scaled)))
    else:
        value = np.int64(weight)
    value = goal.sign * value + bonus
    if value <= 0:
        return count
    lists.tail[count] = u
    lists.head[count] = v
    lists.weight[count] = value
    return count + ONE


@kernel
def list_edges(
    tail: Indices, head: Indices, weight: NDArray[Number], goal: Goal, n: np.uint64, lists: Solved
) -> tuple[Int64, Int64]:
    """List the edges of use with their weights; return how many they are, -1 in case of doubt, and the bonus.

    See :func:`.integer_weights.integer_weights`.
    """
    least, most = 0.0, 0.0
    is_whole, is_first = True, True
    for edge in range(len(tail)):
        if tail[edge] == head[edge]:
            continue
        gain = float(gain_of(weight[edge], goal))
        least = gain if is_first else min(least, gain)
        most = gain if is_first else max(most, gain)
        is_first = False
        is_whole &= not is_broken(gain, goal)
    size, up = max(-least, most), 1.0
    pairs = n // TWO if goal.most_edges else ZERO
    if is_whole:
        # The bonus is at most as large as n weights, and n / 2 edges have it.
        if size >= EXACT or (size + 1.0) * float(n + TWO) * float(TWO * pairs + TWO) >= MOST:
            return np.int64(-1), np.int64(0)
    else:
        limit, half = MOST / 4.0, pairs
        while half > ZERO:
            limit /= 2.0
            half //= TWO
        while size * up < limit / 2.0 and up < MOST_SCALE:
            up *= 2.0
        while size * up >= limit and up > 1.0 / MOST_SCALE:
            up /= 2.0
        if up >= MOST_SCALE or up <= 1.0 / MOST_SCALE:
            return np.int64(-1), np.int64(0)
    below, above = np.int64(np.rint(least * up)), np.int64(np.rint(most * up))
    spread = above - below if is_whole else above - below + np.int64(2)
    bonus = np.int64(pairs) * spread + np.int64(1) - below if goal.most_edges else np.int64(0)
    lists.scale[0] = up
    lists.scale[1] = 0.0
    count = ZERO
    for edge in range(len(tail)):
        if tail[edge] == head[edge]:
            continue
        count = list_edge(lists, count, tail[edge], head[edge], weight[edge], goal, bonus)
    return np.int64(count), bonus


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
def list_chosen(
    tail: Indices, head: Indices, weight: NDArray[Number], sign: np.int64, answer: Answer, lists: Solved
) -> None:
    """List the weights of the pairs, of parallel edges the best."""
    n = np.uint64(len(answer.mate))
    best = lists.chosen
    best[:n] = -np.inf
    for edge in range(len(tail)):
        u, v = np.uint64(tail[edge]), np.uint64(head[edge])
        if u != v and answer.mate[u] == np.int64(v):
            best[min(u, v)] = max(best[min(u, v)], float(sign * weight[edge]))
    count = ZERO
    for end in range(n):
        if answer.mate[end] > np.int64(end):
            best[count] = float(sign) * best[end]
            count += ONE


@kernel
def match_small(
    tail: Indices,
    head: Indices,
    weight: NDArray[Number],
    goal: Goal,
    room: Room,
    counts: NDArray[np.uint64],
    answer: Answer,
) -> tuple[Int64, np.uint64]:
    """Match a graph, by weights unless there are none.

    Return the sum of the weights of the pairs, but the number of pairs for floats and without weights, and -1
    in case of doubt; and how many blossoms are not in use, which `spare` begins with.
    """
    n, lists = np.uint64(len(answer.mate)), room.lists
    monitor = Monitor(room.stop, counts, room.progress)
    bonus: Int64 = np.int64(0)
    spare = ZERO
    if len(weight) == 0:
        graph = build_rows(tail, head, lists.weight[:ZERO], n, room)
        search_without_weights(graph, n, room, monitor, answer)
    else:
        listed, bonus = list_edges(tail, head, weight, goal, n, lists)
        if listed < 0:
            return np.int64(-1), ZERO
        m = np.uint64(listed)
        graph = build_rows(lists.tail[:m], lists.head[:m], lists.weight[:m], n, room)
        search_with_weights(graph, n, room, monitor, answer)
        spare = room.forest.sizes[SPARE]
    pairs, total = ZERO, np.int64(0)
    for v in range(n):
        other = answer.mate[v]
        if other <= np.int64(v):
            continue
        pairs += ONE
        if len(weight) > 0 and not goal.is_float:
            for arc in range(graph.first[v], graph.first[v + ONE]):
                if np.int64(graph.neighbour[arc]) == other:
                    total += goal.sign * (graph.weight[arc] - bonus)
    if goal.perfect and TWO * pairs != n:
        return np.int64(-1), ZERO
    if len(weight) > 0 and not goal.is_float:
        return total, spare
    if goal.is_float:
        list_chosen(tail, head, weight, goal.sign, answer, lists)
    return np.int64(pairs), spare


def match(
    graph: UndirectedGraph, wanted: Wanted, watch: Watch, prepare: Prepare
) -> GeneralMatchingResult | None:
    """Match a small graph as :func:`preflow.matching` does; None: take the full road.

    `prepare` makes the call of the full road.
    """
    n, m, weight = graph.num_vertices, len(graph.tail), graph.weight
    if n > MOST_VERTICES or not 0 < m <= MOST_EDGES or graph.restore is not None:
        return None
    room = _memory.kept.get(None)
    if room is None:
        room = _memory.kept[None] = make_room()
    counts = np.zeros(COUNTER_ROW, dtype=np.uint64)
    mate = np.empty(n, np.int64)
    weighted = weight is not None
    if weighted:
        nodes = nodes_of(n)
        words, numbers = np.empty((2, nodes), np.uint32), np.empty((2, nodes), np.int64)
        answer = Answer(mate, NO_BARRIER, numbers[0, :n], words[0], numbers[1], words[1])
    else:
        answer = NO_DUALS._replace(mate=mate, barrier=np.empty(n, bool))
    given = NO_DUALS.dual if weight is None else weight
    goal = goal_of(wanted, given)
    size, spare = match_small(graph.tail, graph.head, given, goal, room, counts, answer)
    if size < 0:
        return None
    value: int | float = int(size)
    gap: int | float = 0
    if goal.is_float:
        chosen, (up, rest) = room.lists.chosen[:size], room.lists.scale.tolist()
        value, gap = weight_of_floats(chosen.tolist(), n // 2, rest, up)
        if not is_close(gap, size_of(chosen), len(chosen)):
            return None
    mate.flags.writeable = False
    if not weighted:
        answer.barrier.flags.writeable = False
    watch.end()
    fields: dict[str, object] = {
        "status": "optimal",
        "lower_bound": value,
        "upper_bound": value,
        "mate": mate,
        "graph": graph,
        "maximize": wanted.maximize,
        "perfect": wanted.perfect,
        "maximum_cardinality": wanted.maximum_cardinality,
        "barrier": None if weighted else answer.barrier,
        "steps": (),
        "_gap": gap,
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
