"""Alternating trees from all free rows at once on a GPU, with one augmenting path a tree.

preflow's own, after Azad, Buluç and Pothen, "Computing maximum cardinality matchings in parallel on bipartite
graphs via tree-grafting" (2016), without its grafting.

Definitions. A *phase* grows a tree from each free row, its *root*, level by level, then augments along one
path a tree. A tree *ends* with the first free column that it reaches. A *piece* is up to 256 edges of a row
that was reached; the rows of hubs make several pieces.

Invariants of a phase:

- A column joins the tree whose compare-and-swap of its predecessor comes first, so the trees are
  vertex-disjoint and all paths can be augmented at once without repair.
- A tree that has ended grows no further, which leaves columns to other trees.
- A phase without a path proves the matching maximum.

From the empty matching the kernel begins with the cheap matching that one thread finds when it goes through
the rows in order: its errors are local. The kernel needs the edges of one side only.

Everything is one cooperative kernel. One block alone searches levels of few rows, since its own barrier costs
less than one of the grid.

Pseudo-code, of the kernel::

    if the matching is empty: match cheaply
    repeat:
        begin: list the edges of all free rows in pieces; no column has a predecessor
        search: level by level, until no tree grows or nearly all have ended
        if no tree has ended: the matching is maximum
        augment: each root walks back from its free column and matches along the way
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..cuda.launches import ARRIVAL_WORDS, PHASE, launches
from ..errors import InvalidInputError
from ..graph.bipartite import DeviceBipartiteGraph
from ..solving.options import check_positive_integer
from ..solving.run import Control
from .device_launches import count_free, require_room, run_phases
from .match_arrays import Matching

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's state and of its counters, and the word of the state that counts phases.
STATE_WORDS, COUNTER_WORDS = 9, 2 * 3 * 32
NUM_PHASES = 4
#: Phases of the kernel.
DONE, CHEAP = 3, 4
#: Edges of a piece, as in the ``.cu`` file, and words of a piece.
EDGES_A_PIECE, WORDS_A_PIECE = 256, 4
#: Bytes on the device besides the graph and the matching: per edge, row and column.
BYTES = 1, 36, 4
#: Numbers of threads that can read the edges of a row together.
LANES = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class MultiSourceBfsOptions:
    """Options of the searches from all free rows.

    Attributes
    ----------
    lanes : int
        Threads that read the edges of a row together: a power of two up to 32.
    few : int
        One block searches alone where a level has at most this many pieces of rows.
    """

    lanes: int = 8
    few: int = 256

    def __post_init__(self) -> None:
        if self.lanes not in LANES:
            raise InvalidInputError(f"option lanes must be a power of two up to 32, got {self.lanes!r}")
        check_positive_integer("few", self.few)


class Arguments(NamedTuple):
    """The struct ``Arguments`` of the ``.cu`` file."""

    first: AnyArray
    neighbour: AnyArray
    row_mate: AnyArray
    column_mate: AnyArray
    path_end: AnyArray
    predecessor: AnyArray
    num_rows: int
    num_columns: int
    pieces: AnyArray
    capacity: int
    few: int
    arrivals: AnyArray
    counters: AnyArray
    state: AnyArray
    edge_scans: AnyArray
    stop: AnyArray


def solve(
    graph: DeviceBipartiteGraph, matching: Matching, options: MultiSourceBfsOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, where the graph is; return False where the solve was asked to stop.

    O(m) operations a phase, at most one phase for each edge of the matching, a dozen in practice; on the
    device, besides the graph and the matching, up to one byte an edge, 36 a row and 4 a column.
    DeviceMemoryError, before anything is allocated, if it does not fit the GPU.
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
    control.progress[:] = count_free(matching.row_match, num_columns)
    if control.progress[1] == num_rows:
        arguments.state[PHASE] = CHEAP
    constants = (("LANES_A_ROW", options.lanes),)
    states = launches(device, SOURCE, "multi_source_bfs_slice", arguments, DONE, constants)
    return run_phases(
        states,
        DONE,
        NUM_PHASES,
        lambda: int(device.to_host(arguments.edge_scans)[0]),
        lambda: count_free(matching.row_match, num_columns),
        control,
    )
