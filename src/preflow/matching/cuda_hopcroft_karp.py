"""G-HK and G-HKDW: augmenting paths for bipartite matching on a GPU, without atomics on the matching.

Deveci, Kaya, Uçar and Çatalyürek, "GPU accelerated maximum cardinality matching algorithms for bipartite
graphs" (Euro-Par 2013), the baselines of their push-relabel paper. A phase searches breadth first from all
free columns and then walks back from all free rows that it came to, at once; where walks meet, one goes on,
and rows left over are free again. G-HK ends a search with the first level that comes to a free row, as
Hopcroft and Karp do (``shortest=True``, the method `cuda-hopcroft-karp`); G-HKDW searches to the end, so that
it also augments along longer paths, as Duff and Wiberg do (`cuda-hkdw`). Trees that have come to a free row
grow no further.

Departure: all is one cooperative kernel with barriers where the paper has kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..graph.bipartite import DeviceBipartiteGraph
from ..solving.options import check_flag
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .device_launches import ARRIVAL_WORDS, PHASE, count_free, launches, require_room
from .match_arrays import Matching

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's state, and the places of some of them; and its words of counters.
STATE_WORDS, COUNTER_WORDS = 8, 3 * 32
NUM_PHASES = 5
DONE = 4
#: Bytes on the device beside the graph and the matching: of an edge, a row and a column.
BYTES = 0, 4, 12


@dataclass(frozen=True)
class HopcroftKarpOptions:
    """Options of augmenting paths on a GPU.

    Attributes
    ----------
    shortest : bool
        End a search with the first level that comes to a free row, else search on.
    """

    shortest: bool = True

    def __post_init__(self) -> None:
        check_flag("shortest", self.shortest)


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` file."""

    first: Any
    neighbour: Any
    row_mate: Any
    column_mate: Any
    predecessor: Any
    level: Any
    root: Any
    has_path: Any
    num_rows: int
    num_columns: int
    arrivals: Any
    counters: Any
    state: Any
    counts: Any
    is_shortest: bool
    stop: Any


def solve(
    graph: DeviceBipartiteGraph, matching: Matching, options: HopcroftKarpOptions, control: Control
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
    O(m) operations a phase; on the device, beside the graph and the matching, 4 bytes a row and 12 a column.
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
    free_at_first = count_free(matching.column_match, num_rows)
    control.excess[:] = free_at_first
    states = launches(device, SOURCE, "hopcroft_karp_slice", arguments, DONE)
    finished = False
    while not (finished or control.stopped):
        state = next(states)
        finished = bool(state[PHASE] == DONE)
        control.excess[0] = count_free(matching.column_match, num_rows)
        control.counts[PHASES] = state[NUM_PHASES]
        control.counts[ARC_SCANS] = device.to_host(arguments.counts)[0]
        control.counts[AUGMENTATIONS] = free_at_first - int(control.excess[0])
    return finished
