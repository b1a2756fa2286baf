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

With ``relabel="concurrent"`` global relabels run beside pushes, the paper's future work (section V): some
blocks search while the others push. The search goes through a copy of the matching as it was when it began,
and labels are raised to what it found once it is over, but for rows that were pushed to meanwhile. Such
labels are hints: other rows may have come nearer since, some columns are given up too early, and what the
relabel at rest at the end reaches goes on. Labels only rise until then, so that this end comes; where the
pushes since the last one have matched no more columns, relabels do not run beside those that follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInputError
from ...graph.bipartite import DeviceBipartiteGraph
from ...solving.options import check_choice, check_flag, check_positive_number
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS, GLOBAL_RELABELS, PHASES, PUSHES
from ..device_launches import PHASE, count_free, launches, require_room
from ..match_arrays import Matching

SOURCE = Path(__file__).with_name("push_relabel_matching.cu")
#: Words of the kernel's state, and the places of some of them; and its words of counters.
STATE_WORDS, COUNTER_WORDS, ARRIVAL_WORDS = 22, 14 * 32, 3 * 32
PROVES, RELABELS, FREE, GOES_BESIDE, TAKEN_OVER = 7, 10, 12, 13, 16
DONE = 8
#: A list of fewer columns is not shortened.
LEAST_TO_SHRINK = 512
#: A relabel beside pushes gets this share of the multiprocessors, one in so many, and the pushes the rest.
SEARCH_SHARE = 8
#: Bytes on the device beside the graph and the matching: of an edge, a row and a column.
BYTES = 0, 4, 20
#: And of a row and a column for relabels beside pushes.
BESIDE_BYTES = 8


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
    relabel : {"synchronous", "concurrent"}
        Whether pushes wait for global relabels, or some blocks relabel while others push.
    """

    active_list: bool = True
    shrink: bool = True
    global_relabel: tuple[str, float] = ("adaptive", 0.7)
    relabel: Literal["synchronous", "concurrent"] = "synchronous"

    def __post_init__(self) -> None:
        for name in ("active_list", "shrink"):
            check_flag(name, getattr(self, name))
        check_choice("relabel", self.relabel, ("synchronous", "concurrent"))
        given = self.global_relabel
        if not isinstance(given, tuple | list) or len(given) != 2 or given[0] not in ("adaptive", "fixed"):
            raise InvalidInputError(
                f"option global_relabel is ('adaptive', k) or ('fixed', k), got {given!r}"
            )
        check_positive_number("global_relabel", given[1])


class Side(NamedTuple):
    """``Sides`` in state.cuh: the vertices of one side."""

    first: Any
    neighbour: Any
    mate: Any
    label: Any
    size: int

    def apart(self, xp: Any) -> Side:
        """Return the side with arrays of its own for matching and labels; not set yet."""
        return self._replace(mate=xp.empty_like(self.mate), label=xp.empty_like(self.label))


class Arguments(NamedTuple):
    """``Arguments`` in state.cuh."""

    rows: Side
    columns: Side
    searched_rows: Side
    searched_columns: Side
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
    search_blocks: int
    stops: Any
    stop: Any


def solve(
    graph: DeviceBipartiteGraph, matching: Matching, options: PushRelabelOptions, control: Control
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
    O((rows + columns) m) operations; on the device, beside the graph and the matching, 4 bytes a row and 20
    a column, with concurrent relabels 12 and 28.
    """
    device, xp = graph.device, graph.xp
    is_concurrent = options.relabel == "concurrent" and device.num_multiprocessors > 1
    more = BESIDE_BYTES if is_concurrent else 0
    size = (BYTES[0], BYTES[1] + more, BYTES[2] + more)
    require_room(device, graph, size, both_sides=True)
    rows, columns = (
        Side(*adjacency, mate, xp.empty_like(mate), len(mate))
        for adjacency, mate in zip((graph.rows, graph.columns), matching, strict=True)
    )
    kind, amount = options.global_relabel
    current, previous, shortened = (xp.empty(max(1, columns.size), dtype=np.uint32) for _ in range(3))
    arguments = Arguments(
        rows,
        columns,
        rows.apart(xp) if is_concurrent else rows,
        columns.apart(xp) if is_concurrent else columns,
        current,
        previous,
        shortened,
        xp.full(columns.size, 2**32 - 1, dtype=np.uint32),
        xp.zeros(ARRIVAL_WORDS, dtype=np.uint32),
        xp.zeros(COUNTER_WORDS, dtype=np.uint32),
        xp.asarray(_first_state(columns.size, is_concurrent)),
        xp.zeros(2, dtype=np.uint64),
        options.active_list,
        options.active_list and options.shrink,
        LEAST_TO_SHRINK,
        kind == "adaptive",
        round(1000 * amount),
        max(1, round(amount)),
        max(1, device.num_multiprocessors // SEARCH_SHARE) if is_concurrent else 0,
        xp.full(1, control.stopped, dtype=np.uint32),
        device.stop_word(control),
    )
    free_at_first = count_free(matching.column_match, rows.size)
    control.excess[:] = free_at_first
    for state in launches(device, SOURCE, "push_relabel_matching_slice", arguments, DONE):
        control.counts[[PUSHES, ARC_SCANS]] = device.to_host(arguments.counts)
        control.counts[[PHASES, GLOBAL_RELABELS]] = state[RELABELS]
        if control.stopped and state[PHASE] != DONE:
            arguments.stops[0] = 1
    if is_concurrent:
        control.remarks.append(f"{state[TAKEN_OVER]:,} of {state[RELABELS]:,} global relabels beside pushes")
    control.excess[0] = count_free(matching.column_match, rows.size)
    control.counts[AUGMENTATIONS] = free_at_first - int(control.excess[0])
    return not device.to_host(arguments.stops)[0]


def _first_state(num_columns: int, is_concurrent: bool) -> NDArray[np.uint64]:
    state = np.zeros(STATE_WORDS, dtype=np.uint64)
    state[[PROVES, GOES_BESIDE]] = 1, is_concurrent
    state[FREE] = num_columns + 1
    return state
