"""G-HK and G-HKDW: augmenting paths for bipartite matching on a GPU, without atomics on the matching.

Deveci, Kaya, Uçar and Çatalyürek, "GPU accelerated maximum cardinality matching algorithms for bipartite
graphs" (Euro-Par 2013), the baselines of their push-relabel paper.

Definitions. A *phase* searches breadth-first from all free columns, then *walks* back from every free row
that was reached, all at once. A column's *root* is the free column of its tree.

- G-HK ends a search with the first level that reaches a free row, as Hopcroft and Karp do (``shortest=True``,
  the method `cuda-hopcroft-karp`).
- G-HKDW searches to the end, so it also augments along longer paths, as Duff and Wiberg do (`cuda-hkdw`).

Invariants:

- Threads that reach a row at the same time write predecessors in the same level: either is right.
- A tree that has reached a free row grows no further.
- No column loses its row during walks, and of walks that meet one goes on. So the matching grows by at least
  one; *repair* frees the rows of walks that stopped.
- A phase whose search reaches no free row proves the matching maximum.

Departure: everything is one cooperative kernel with barriers where the paper has kernels.

Pseudo-code, of the kernel::

    repeat:
        begin: levels are 0 for free columns; no row has a predecessor
        search: level by level, reach the rows next to columns, and the columns matched with these
        if no free row was reached: the matching is maximum
        augment: from each free row reached, give rows to their predecessors, column by column
        repair: rows whose column has another row become free
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...bipartite.device_launches import require_room, run_phases
from ...bipartite.match_arrays import Matching
from ...cuda.launches import Loop, launches, make_loop
from ...cuda.structs import U32, ConstU32
from ...graph.bipartite import DeviceBipartiteGraph
from ...solving.options import CheckedOptions
from ...solving.run import Control

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's counters.
COUNTER_WORDS = 3 * 32
#: Bytes on the device besides the graph and the matching: per edge, row and column.
BYTES = 0, 4, 12


@dataclass(frozen=True)
class HopcroftKarpOptions(CheckedOptions):
    """Options of augmenting paths on a GPU.

    Attributes
    ----------
    shortest : bool
        End a search with the first level that reaches a free row; otherwise search to the end.
    """

    shortest: bool = True


Phase = IntEnum("Phase", "BEGIN SEARCH AUGMENT REPAIR DONE", start=0)


class HopcroftKarpState(NamedTuple):
    """The state of the kernel."""

    phase: int = 0
    rounds_left: int = 0  #: barriers left of this launch
    round: int = 0  #: barriers so far; selects one of the rotating counters
    level: int = 0  #: level of the columns to search from next
    has_found: int = 0  #: whether the search has reached a free row
    phases: int = 0
    next_look: int = 0  #: when to read the stop word again


class Arguments(NamedTuple):
    """Arguments of "hopcroft_karp_slice"."""

    first: ConstU32  #: the rows of every column
    neighbour: ConstU32
    row_mate: U32
    column_mate: U32
    predecessor: U32  #: of a row: the column from which the search reached it
    level: U32  #: of a column
    root: U32  #: of a column: the free column whose tree it is in
    has_path: U32  #: of a free column: whether its tree has reached a free row
    num_rows: int
    num_columns: int
    is_shortest: bool  #: a search ends with the first level that reaches a free row
    loop: Loop


def solve(
    graph: DeviceBipartiteGraph, matching: Matching, options: HopcroftKarpOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, where the graph is; return False where the solve was asked to stop.

    O(m) operations a phase; on the device, besides the graph and the matching, 4 bytes a row and 12 a column.
    DeviceMemoryError, before anything is allocated, if it does not fit the GPU.
    """
    device, xp, (num_rows, num_columns) = graph.device, graph.xp, graph.shape
    require_room(device, graph, BYTES, both_sides=True)
    first, neighbour = graph.columns
    arguments = Arguments(
        first=first,
        neighbour=neighbour,
        row_mate=matching.row_match,
        column_mate=matching.column_match,
        predecessor=xp.empty(num_rows, dtype=np.uint32),
        level=xp.empty(num_columns, dtype=np.uint32),
        root=xp.empty(num_columns, dtype=np.uint32),
        has_path=xp.empty(num_columns, dtype=np.uint32),
        num_rows=num_rows,
        num_columns=num_columns,
        is_shortest=options.shortest,
        loop=make_loop(device, HopcroftKarpState(), control, counters=COUNTER_WORDS),
    )
    states = launches(device, SOURCE, "hopcroft_karp_slice", arguments, HopcroftKarpState, Phase.DONE)
    return run_phases(states, Phase.DONE, arguments.loop, matching.column_match, num_rows, control)
