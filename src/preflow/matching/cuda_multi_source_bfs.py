"""Alternating trees from all free rows at once on a GPU, with one augmenting path a tree.

preflow's own, after Azad, Buluç and Pothen, "Computing maximum cardinality matchings in parallel on bipartite
graphs via tree-grafting" (2016), without its grafting. A phase grows vertex-disjoint trees, level by level,
from all free rows. A column joins the tree whose compare-and-swap of its predecessor comes first; a tree that
has come to a free column stops growing, which leaves the rest to others. When few are left that have not, or
none grows, all paths are walked back at once: trees are disjoint, so nothing is to be repaired. A phase that
finds no path has proved the matching maximum.

From the empty matching it begins with a cheap matching, as one thread finds it that goes through the rows:
what is wrong with it lies nearby. It needs the edges of one side only.

All is one cooperative kernel. Lists hold the ranges of edges of the rows that were reached, those of hubs in
pieces; levels of few rows are searched by one block alone, since its barrier takes less than the grid's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidInputError
from ..graph.bipartite import DeviceBipartiteGraph
from ..solving.options import check_positive_integer
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .device_launches import ARRIVAL_WORDS, PHASE, count_free, launches, require_room
from .match_arrays import Matching

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's state, and the place of one of them; and its words of counters.
STATE_WORDS, COUNTER_WORDS = 9, 2 * 3 * 32
NUM_PHASES = 4
DONE, CHEAP = 3, 4
#: Of a hub's edges so many are one entry of a list, as in the ``.cu`` file; and the words of an entry.
EDGES_A_PIECE, WORDS_A_PIECE = 256, 4
#: Bytes on the device beside the graph and the matching: of an edge, a row and a column.
BYTES = 1, 36, 4
#: Threads that look at the edges of one row.
LANES = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class MultiSourceBfsOptions:
    """Options of the searches from all free rows.

    Attributes
    ----------
    lanes : int
        Threads that look at the edges of a row together: a power of two up to 32.
    few : int
        One block searches alone from so many rows, or pieces of 256 of their edges.
    """

    lanes: int = 8
    few: int = 256

    def __post_init__(self) -> None:
        if self.lanes not in LANES:
            raise InvalidInputError(f"option lanes is a power of two up to 32, got {self.lanes!r}")
        check_positive_integer("few", self.few)


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` file."""

    first: Any
    neighbour: Any
    row_mate: Any
    column_mate: Any
    path_end: Any
    predecessor: Any
    num_rows: int
    num_columns: int
    pieces: Any
    capacity: int
    few: int
    arrivals: Any
    counters: Any
    state: Any
    edge_scans: Any
    stop: Any


def solve(
    graph: DeviceBipartiteGraph, matching: Matching, options: MultiSourceBfsOptions, control: Control
) -> bool:
    """Make a matching maximum, in place; it is where the graph is.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Raises
    ------
    DeviceMemoryError
        It does not fit the GPU; nothing has been allocated yet.

    Notes
    -----
    O(m) operations a phase, at most one phase for each edge of the matching, a dozen in practice; on the
    device, beside the graph and the matching, up to one byte an edge, 36 a row and 4 a column.
    """
    device, xp, (num_rows, num_columns) = graph.device, graph.xp, graph.shape
    require_room(device, graph, BYTES)
    capacity = num_rows + graph.num_edges // EDGES_A_PIECE
    arguments = Arguments(
        *graph.rows,
        matching.row_match,
        matching.column_match,
        xp.empty(num_rows, dtype=np.uint32),
        xp.empty(num_columns, dtype=np.uint32),
        num_rows,
        num_columns,
        xp.empty(2 * capacity * WORDS_A_PIECE, dtype=np.uint32),
        capacity,
        options.few,
        xp.zeros(ARRIVAL_WORDS, dtype=np.uint32),
        xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        xp.zeros(STATE_WORDS, dtype=np.uint64),
        xp.zeros(1, dtype=np.uint64),
        device.stop_word(control),
    )
    free_at_first = count_free(matching.row_match, num_columns)
    control.excess[:] = free_at_first
    if free_at_first == num_rows:
        arguments.state[PHASE] = CHEAP
    constants = (("LANES_A_ROW", options.lanes),)
    states = launches(device, SOURCE, "multi_source_bfs_slice", arguments, DONE, constants)
    finished = False
    while not (finished or control.stopped):
        state = next(states)
        finished = bool(state[PHASE] == DONE)
        control.excess[0] = count_free(matching.row_match, num_columns)
        control.counts[PHASES] = state[NUM_PHASES]
        control.counts[ARC_SCANS] = device.to_host(arguments.edge_scans)[0]
        control.counts[AUGMENTATIONS] = free_at_first - int(control.excess[0])
    return finished
