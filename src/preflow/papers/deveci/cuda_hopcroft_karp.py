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
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...bipartite.device_launches import count_free, require_room, run_phases
from ...bipartite.match_arrays import Matching
from ...cuda.launches import ARRIVAL_WORDS, launches
from ...graph.bipartite import DeviceBipartiteGraph
from ...solving.options import check_flag
from ...solving.run import Control

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's state and of its counters, and the word of the state that counts phases.
STATE_WORDS, COUNTER_WORDS = 8, 3 * 32
NUM_PHASES = 5
DONE = 4
#: Bytes on the device besides the graph and the matching: per edge, row and column.
BYTES = 0, 4, 12


@dataclass(frozen=True)
class HopcroftKarpOptions:
    """Options of augmenting paths on a GPU.

    Attributes
    ----------
    shortest : bool
        End a search with the first level that reaches a free row; otherwise search to the end.
    """

    shortest: bool = True

    def __post_init__(self) -> None:
        check_flag("shortest", self.shortest)


class Arguments(NamedTuple):
    """The struct ``Arguments`` of the ``.cu`` file."""

    first: AnyArray
    neighbour: AnyArray
    row_mate: AnyArray
    column_mate: AnyArray
    predecessor: AnyArray
    level: AnyArray
    root: AnyArray
    has_path: AnyArray
    num_rows: int
    num_columns: int
    arrivals: AnyArray
    counters: AnyArray
    state: AnyArray
    counts: AnyArray
    is_shortest: bool
    stop: AnyArray


def solve(
    graph: DeviceBipartiteGraph, matching: Matching, options: HopcroftKarpOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, where the graph is; return False where the solve was asked to stop.

    O(m) operations a phase; on the device, besides the graph and the matching, 4 bytes a row and 12 a column.
    DeviceMemoryError, before anything is allocated, if it does not fit the GPU.
    """
    device, xp, (num_rows, num_columns) = graph.device, graph.xp, graph.shape
    require_room(device, graph, BYTES, both_sides=True)
    arguments = Arguments(
        *graph.columns,
        matching.row_match,
        matching.column_match,
        xp.empty(num_rows, dtype=np.uint32),
        xp.empty(num_columns, dtype=np.uint32),
        xp.empty(num_columns, dtype=np.uint32),
        xp.empty(num_columns, dtype=np.uint32),
        num_rows,
        num_columns,
        xp.zeros(ARRIVAL_WORDS, dtype=np.uint32),
        xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        xp.zeros(STATE_WORDS, dtype=np.uint64),
        xp.zeros(1, dtype=np.uint64),
        options.shortest,
        device.stop_word(control),
    )
    control.progress[:] = count_free(matching.column_match, num_rows)
    states = launches(device, SOURCE, "hopcroft_karp_slice", arguments, DONE)
    return run_phases(
        states,
        DONE,
        NUM_PHASES,
        lambda: int(device.to_host(arguments.counts)[0]),
        lambda: count_free(matching.column_match, num_rows),
        control,
    )
