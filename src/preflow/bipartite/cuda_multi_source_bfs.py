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
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..cuda.launches import Loop, launches, make_loop
from ..cuda.structs import U32, ConstU32
from ..graph.bipartite import DeviceBipartiteGraph
from ..solving.options import CheckedOptions, Lanes, PositiveInteger
from ..solving.run import Control
from .device_launches import count_free, require_room, run_phases
from .match_arrays import Matching

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's counters.
COUNTER_WORDS = 2 * 3 * 32
#: Edges of a piece, and words of a piece.
EDGES_A_PIECE, WORDS_A_PIECE = 256, 4
#: Bytes on the device besides the graph and the matching: per edge, row and column.
BYTES = 1, 36, 4


@dataclass(frozen=True)
class MultiSourceBfsOptions(CheckedOptions):
    """Options of the searches from all free rows.

    Attributes
    ----------
    lanes : int
        Threads that read the edges of a row together: a power of two up to 32.
    few : int
        One block searches alone where a level has at most this many pieces of rows.
    """

    lanes: Lanes = 8
    few: PositiveInteger = 256


Phase = IntEnum("Phase", "BEGIN SEARCH AUGMENT DONE CHEAP", start=0)


class MultiSourceState(NamedTuple):
    """The state of the kernel."""

    phase: int = 0
    rounds_left: int = 0  #: barriers left of this launch
    round: int = 0  #: barriers so far; selects one of the rotating counters and of the two lists
    size: int = 0  #: pieces of the next level to search from
    phases: int = 0
    trees: int = 0  #: of this phase: pieces of its first level, and trees that have found a free column
    ended: int = 0  #: of this phase: pieces of its first level, and trees that have found a free column
    next_look: int = 0  #: when to read the stop word again


class Arguments(NamedTuple):
    """Arguments of "multi_source_bfs_slice"."""

    first: ConstU32  #: the columns of every row
    neighbour: ConstU32
    row_mate: U32
    column_mate: U32
    path_end: U32  #: of a free row: the free column that its tree reached
    predecessor: U32  #: of a column: the row from which the search reached it
    num_rows: int
    num_columns: int
    pieces: Annotated[AnyArray, "Piece*"]  #: two lists of `capacity`
    capacity: int
    few: int  #: one block searches alone from at most this many pieces
    loop: Loop


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
    num_free = count_free(matching.row_match, num_columns)
    start = MultiSourceState(phase=Phase.CHEAP if num_free == num_rows else Phase.BEGIN)
    first, neighbour = graph.rows
    arguments = Arguments(
        first=first,
        neighbour=neighbour,
        row_mate=matching.row_match,
        column_mate=matching.column_match,
        path_end=xp.empty(num_rows, dtype=np.uint32),
        predecessor=xp.empty(num_columns, dtype=np.uint32),
        num_rows=num_rows,
        num_columns=num_columns,
        pieces=xp.empty(2 * capacity * WORDS_A_PIECE, dtype=np.uint32),
        capacity=capacity,
        few=options.few,
        loop=make_loop(device, start, control, counters=COUNTER_WORDS),
    )
    constants = (("LANES_A_ROW", options.lanes),)
    kernel = "multi_source_bfs_slice"
    states = launches(device, SOURCE, kernel, arguments, MultiSourceState, Phase.DONE, constants)
    return run_phases(states, Phase.DONE, arguments.loop, matching.row_match, num_columns, control)
