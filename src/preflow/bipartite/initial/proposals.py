"""A maximal matching on a GPU, the same in every run on the same arrays: rows propose, columns choose.

After Blelloch, Fineman and Shun, "Greedy sequential maximal independent set and matching are parallel on
average" (2012): a greedy matching in rounds, here with the order of the rows as priority and one proposal per
row and round.

In every round each free row proposes to the first free column among its edges, beginning at a pseudo-random
edge that changes from round to round. Each column takes the least row that proposed to it. Rows without a
free column are done. The order in which threads run changes nothing, unlike in the first phase of
`cuda-multi-source-bfs`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.launches import ARRIVAL_WORDS, launches
from ...graph.bipartite import DeviceBipartiteGraph
from ...solving.run import Control
from ..device_launches import require_room
from ..match_arrays import Matching

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's state, and of its counters.
STATE_WORDS, COUNTER_WORDS = 6, 3 * 32
DONE = 3
#: Bytes on the device: per edge, row and column.
BYTES = 0, 12, 4


class Arguments(NamedTuple):
    """The struct ``Arguments`` of the ``.cu`` file."""

    first: AnyArray
    neighbour: AnyArray
    row_mate: AnyArray
    column_mate: AnyArray
    choice: AnyArray
    proposer: AnyArray
    num_rows: int
    num_columns: int
    rows: AnyArray
    arrivals: AnyArray
    counters: AnyArray
    state: AnyArray
    stop: AnyArray


def start(graph: DeviceBipartiteGraph, matching: Matching, control: Control) -> None:
    """Add edges to an empty matching until none can be added.

    O(m) operations a round, about a dozen rounds; on the device, besides the graph and the matching, 12 bytes
    a row and 4 a column. DeviceMemoryError: it does not fit the GPU; nothing has been allocated yet.
    """
    device, xp, (num_rows, num_columns) = graph.device, graph.xp, graph.shape
    require_room(device, graph, BYTES)
    arguments = Arguments(
        *graph.rows,
        matching.row_match,
        matching.column_match,
        xp.empty(num_rows, dtype=np.uint32),
        xp.empty(num_columns, dtype=np.uint32),
        num_rows,
        num_columns,
        xp.empty(2 * num_rows, dtype=np.uint32),
        xp.zeros(ARRIVAL_WORDS, dtype=np.uint32),
        xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        xp.zeros(STATE_WORDS, dtype=np.uint64),
        device.stop_word(control),
    )
    for _ in launches(device, SOURCE, "proposals_slice", arguments, DONE):
        if control.stopped:
            break
