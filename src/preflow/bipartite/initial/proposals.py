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

from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...cuda.launches import Loop, launches, make_loop
from ...cuda.structs import U32, ConstU32
from ...graph.bipartite import DeviceBipartiteGraph
from ...solving.run import Control
from ..device_launches import require_room
from ..match_arrays import Matching

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's counters.
COUNTER_WORDS = 3 * 32
#: Bytes on the device: per edge, row and column.
BYTES = 0, 12, 4


Phase = IntEnum("Phase", "BEGIN PROPOSE TAKE DONE", start=0)


class ProposalState(NamedTuple):
    """The state of the kernel."""

    phase: int = 0
    rounds_left: int = 0  #: barriers left of this launch
    round: int = 0  #: barriers so far; selects one of the rotating counters
    size: int = 0  #: number of rows that propose
    turns: int = 0  #: rounds so far; selects the list of these rows
    next_look: int = 0  #: when to read the stop word again


class Arguments(NamedTuple):
    """Arguments of "proposals_slice"."""

    first: ConstU32  #: the columns of every row
    neighbour: ConstU32
    row_mate: U32
    column_mate: U32
    choice: U32  #: of a row: the column that it proposes to
    proposer: U32  #: of a column: the least row that proposes to it
    num_rows: int
    num_columns: int
    rows: U32  #: two lists of num_rows
    loop: Loop


def start(graph: DeviceBipartiteGraph, matching: Matching, control: Control) -> None:
    """Add edges to an empty matching until none can be added.

    O(m) operations a round, about a dozen rounds; on the device, besides the graph and the matching, 12 bytes
    a row and 4 a column. DeviceMemoryError: it does not fit the GPU; nothing has been allocated yet.
    """
    device, xp, (num_rows, num_columns) = graph.device, graph.xp, graph.shape
    require_room(device, graph, BYTES)
    first, neighbour = graph.rows
    arguments = Arguments(
        first=first,
        neighbour=neighbour,
        row_mate=matching.row_match,
        column_mate=matching.column_match,
        choice=xp.empty(num_rows, dtype=np.uint32),
        proposer=xp.empty(num_columns, dtype=np.uint32),
        num_rows=num_rows,
        num_columns=num_columns,
        rows=xp.empty(2 * num_rows, dtype=np.uint32),
        loop=make_loop(device, ProposalState(), control, counters=COUNTER_WORDS),
    )
    for _ in launches(device, SOURCE, "proposals_slice", arguments, ProposalState, Phase.DONE):
        if control.stopped:
            break
