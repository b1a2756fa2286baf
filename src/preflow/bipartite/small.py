"""Small graphs, matched by one kernel: see :mod:`preflow.solving.quick`.

It begins with a cheap matching, and goes on with the phases of :mod:`.serial_hopcroft_karp`. Graphs whose
phases read many edges take the full road, on which push-relabel begins.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Int64
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.constants import ZERO
from ..kernels.kernel import kernel
from ..solving.call import Call, Request
from ..solving.monitor import Monitor
from ..solving.plan import Attempt, Plan
from ..solving.quick import Memory, Watch, stats_of
from ..solving.run import COUNTER_ROW
from ..stats import MatchingStats
from .initial.cheap import take_first_free
from .layered_phases import Layers, make_layers
from .match_arrays import NONE, Matching, list_free_rows
from .policy import SMALL
from .result import MatchingResult
from .serial_hopcroft_karp import run_phases


class Room(NamedTuple):
    """Memory for the phases of a graph with SMALL rows and columns."""

    layers: Layers
    stop: NDArray[np.int64]
    progress: NDArray[np.float64]


_memory = Memory()
#: The edges that one phase may read, and all together eight times: as many take the time in which the full
#: road begins.
MOST_SCANS = np.uint64(5_000)
_INDEX = np.dtype(np.uint32)
QUICK = Plan((Attempt("serial-hopcroft-karp"),), "small graph: few phases after a cheap matching")


@kernel
def match_small(
    rows: Adjacency, room: Room, counts: NDArray[np.uint64], matching: Matching
) -> tuple[Int64, Int64]:
    """Find a matching of the most edges; return its size, -1 in case of doubt, and that of the cheap one."""
    matching.row_match[:] = np.uint32(NONE)
    matching.column_match[:] = np.uint32(NONE)
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    given = room.layers
    layers = Layers(
        given.layer[:num_columns], given.queue[:num_rows], given.position[:num_rows], given.path[:num_rows]
    )
    monitor = Monitor(room.stop, counts, room.progress)
    take_first_free(rows, matching, monitor)
    size, first = np.int64(0), np.int64(0)
    for row in matching.column_match:
        first += np.int64(np.uint64(row) < num_rows)
    free = list_free_rows(rows, matching, layers.queue)
    if first == min(len(matching.row_match), len(matching.column_match)):
        free = ZERO
    if run_phases(rows, matching, layers, free, MOST_SCANS, monitor) > ZERO:
        return np.int64(-1), first
    for row in matching.column_match:
        size += np.int64(np.uint64(row) < num_rows)
    return size, first


def match(
    graph: BipartiteGraph,
    request: Request,
    seconds: dict[str, float],
    prepare: Callable[[BipartiteGraph], Call[BipartiteGraph]],
) -> MatchingResult | None:
    """Match a small graph as :func:`preflow.bipartite_matching` does; None: take the full road.

    `seconds` are those of reading; `prepare` makes the call of the full road that has the plan QUICK.
    """
    shape = graph.shape
    if (
        not request.is_plain
        or max(shape) > SMALL
        or type(graph) is not BipartiteGraph
        or graph.by_columns
        or graph.restore is not None
    ):
        return None
    rows = graph.rows
    if len(rows.neighbour) > SMALL or rows.first.dtype != _INDEX:
        return None
    watch = Watch(seconds)
    room = _memory.kept.get(None)
    if room is None:
        room = _memory.kept[None] = Room(
            make_layers(SMALL, SMALL, _INDEX), np.zeros(1, dtype=np.int64), np.ones(2)
        )
    counts = np.zeros(COUNTER_ROW, dtype=np.uint64)
    matching = Matching(np.empty(shape[0], _INDEX), np.empty(shape[1], _INDEX))
    size, first = match_small(rows, room, counts, matching)
    if size < 0:
        return None
    row_match, column_match = matching.row_match.view(np.int32), matching.column_match.view(np.int32)
    row_match.flags.writeable = column_match.flags.writeable = False
    watch.end()
    fields: dict[str, object] = {
        "status": "optimal",
        "lower_bound": int(size),
        "upper_bound": int(size),
        "row_match": row_match,
        "column_match": column_match,
        "graph": graph,
        "_matching": matching,
    }
    return MatchingResult._made_later(fields, partial(_later, graph, prepare, counts, int(first), watch))


def _later(
    graph: BipartiteGraph,
    prepare: Callable[[BipartiteGraph], Call[BipartiteGraph]],
    counts: Array,
    first: int,
    watch: Watch,
) -> dict[str, object]:
    """Return the fields of a result that few callers read."""
    stats = stats_of(prepare(graph), MatchingStats, counts, watch, initial="cheap", initial_cardinality=first)
    return {"stats": stats}
