"""G-PR: push-relabel for bipartite matching on a GPU, without atomic operations on the matching.

Deveci, Kaya, Uçar and Çatalyürek, "A push-relabel-based maximum cardinality bipartite matching algorithm on
GPUs" (2013), Algorithms 3 to 9. Every active column pushes to its lowest row at once; where two push to one
row the last to write wins, and the other finds out in the next round. Its three forms are G-PR-First, which
looks at all columns in every round (``active_list=False``), G-PR-NoShr, which keeps a list of active ones
(``shrink=False``), and G-PR-Shr, which shortens that list after global relabels.

Departures:

- The printed tests are corrected: a column is active unless it has its row or has been given up; a refused
  push leaves its column listed; an adaptive interval is at least one round.
- All is one cooperative kernel with barriers where the paper has kernels: a round does not cost a launch.
- What the last global relabel cannot reach is not listed. When no column is active, the matching is repaired
  and another global relabel shows that it is maximum, or which columns go on: labels that threads write at
  the same time may be too high, and giving up a column is not undone otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..cuda import runtime
from ..cuda.runtime import Device
from ..errors import InvalidInputError
from ..graph.bipartite import Adjacency, BipartiteGraph
from ..solving.options import check_flag, check_positive_number
from ..solving.run import Control
from ..stats import ARC_SCANS, AUGMENTATIONS, GLOBAL_RELABELS, PHASES, PUSHES
from .on_device import PHASE, launches, require_room
from .state import Matching

SOURCE = Path(__file__).with_suffix(".cu")
#: Words of the kernel's state, and the places of some of them; and its words of counters.
STATE_WORDS, COUNTER_WORDS = 13, 3 * 32
PROVES, RELABELS = 7, 10
DONE = 6
#: A list of fewer columns is not shortened.
LEAST_TO_SHRINK = 512
#: Bytes on the device: of an edge, a row and a column.
BYTES = 8, 12, 28


@dataclass(frozen=True)
class PushRelabelOptions:
    """Options of push-relabel on a GPU.

    Attributes
    ----------
    active_list : bool
        Keep a list of active columns; else look at all of them in every round (G-PR-First).
    shrink : bool
        Shorten the list after global relabels; else it is as long as it was at first (G-PR-NoShr).
    global_relabel : ("adaptive", k) or ("fixed", k)
        A global relabel is due k times as many rounds after the last one as that had levels, or k rounds.
    """

    active_list: bool = True
    shrink: bool = True
    global_relabel: tuple[str, float] = ("adaptive", 0.7)

    def __post_init__(self) -> None:
        for name in ("active_list", "shrink"):
            check_flag(name, getattr(self, name))
        given = self.global_relabel
        if not isinstance(given, tuple | list) or len(given) != 2 or given[0] not in ("adaptive", "fixed"):
            raise InvalidInputError(
                f"option global_relabel is ('adaptive', k) or ('fixed', k), got {given!r}"
            )
        check_positive_number("global_relabel", given[1])


class Side(NamedTuple):
    """``Sides`` in the ``.cu`` file: the vertices of one side."""

    first: Any
    neighbour: Any
    mate: Any
    label: Any
    size: int


class Arguments(NamedTuple):
    """``Arguments`` in the ``.cu`` file."""

    rows: Side
    columns: Side
    current: Any
    previous: Any
    shortened: Any
    stamp: Any
    arrivals: Any
    counters: Any
    state: Any
    counts: Any
    has_lists: bool
    shrinks: bool
    least_to_shrink: int
    is_adaptive: bool
    thousandths: int
    interval: int
    stops: Any


def side_on_device(device: Device, adjacency: Adjacency, mate: Any) -> Side:
    """Copy one side of a graph, and whom its vertices are matched with, to the GPU."""
    xp, size = device.xp, len(mate)
    return Side(
        xp.asarray(adjacency.first),
        xp.asarray(adjacency.neighbour),
        xp.array(mate),
        xp.empty(size, dtype=np.uint32),
        size,
    )


def solve(graph: BipartiteGraph, matching: Matching, options: PushRelabelOptions, control: Control) -> bool:
    """Make a matching maximum, in place.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Raises
    ------
    InvalidInputError
        The graph has more edges or vertices than 32 bits number.
    DeviceMemoryError
        It does not fit the GPU; nothing has been allocated yet.

    Notes
    -----
    O((rows + columns) m) operations; on the device 8 bytes an edge, 12 a row and 28 a column.
    """
    device = runtime.find_device()
    require_room(device, graph, BYTES)
    xp, num_columns = device.xp, graph.num_columns
    kind, amount = options.global_relabel
    rows = side_on_device(device, graph.rows, matching.row_match)
    columns = side_on_device(device, graph.columns, matching.column_match)
    current, previous, shortened = (xp.empty(max(1, num_columns), dtype=np.uint32) for _ in range(3))
    arguments = Arguments(
        rows,
        columns,
        current,
        previous,
        shortened,
        xp.full(num_columns, 2**32 - 1, dtype=np.uint32),
        xp.zeros(1, dtype=np.uint32),
        xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        xp.zeros(STATE_WORDS, dtype=np.uint64),
        xp.zeros(2, dtype=np.uint64),
        options.active_list,
        options.active_list and options.shrink,
        LEAST_TO_SHRINK,
        kind == "adaptive",
        round(1000 * amount),
        max(1, round(amount)),
        xp.full(1, control.stopped, dtype=np.uint32),
    )
    arguments.state[PROVES] = 1
    free_at_first = np.count_nonzero(matching.column_match >= graph.num_rows)
    control.excess[:] = free_at_first
    for state in launches(device, SOURCE, "push_relabel_matching_slice", arguments, DONE):
        control.counts[[PUSHES, ARC_SCANS]] = device.to_host(arguments.counts)
        control.counts[[PHASES, GLOBAL_RELABELS]] = state[RELABELS]
        if control.stopped and state[PHASE] != DONE:
            arguments.stops[0] = 1
    matching.row_match[:] = device.to_host(rows.mate)
    matching.column_match[:] = device.to_host(columns.mate)
    control.excess[0] = np.count_nonzero(matching.column_match >= graph.num_rows)
    control.counts[AUGMENTATIONS] = free_at_first - int(control.excess[0])
    return not device.to_host(arguments.stops)[0]
