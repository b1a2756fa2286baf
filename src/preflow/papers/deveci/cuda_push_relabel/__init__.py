"""G-PR: push-relabel for bipartite matching on a GPU, without atomic operations on the matching.

Deveci, Kaya, Uçar and Çatalyürek, "A push-relabel-based maximum cardinality bipartite matching algorithm on
GPUs" (2013), Algorithms 3 to 9.

Definitions. Here columns are active and push to rows. A column is *active* unless it has its row or has been
given up. In a *round* every active column pushes to its lowest row, all at once. Where two push to one row,
the last write wins; the other column finds out in the next round. The three forms of the paper:

- G-PR-First reads all columns in every round (``active_list=False``);
- G-PR-NoShr keeps a list of active columns (``shrink=False``);
- G-PR-Shr also shortens that list after global relabels.

Invariants:

- A column is matched if its row names it as its column; a column whose row names another one is active,
  whatever it stores.
- Labels only rise between global relabels. They may be too high, since threads write them at the same time.
  So "no column is active" proves nothing until a global relabel has confirmed it.

Departures:

- The printed tests are corrected: a column is active unless it has its row or has been given up; a refused
  push leaves its column on the list; an adaptive interval is at least one round.
- Everything is one cooperative kernel with barriers where the paper has kernels, so a round costs no launch.
- Columns that the last global relabel cannot reach are not listed. When no column is active, the matching is
  repaired, and another global relabel either proves it maximum or finds the columns that go on: giving up a
  column is not undone otherwise.

Concurrent relabels (``relabel="concurrent"``) are the paper's future work (section V): some blocks search
while the others push. The search uses a copy of the matching as it was when the search began. When it is
over, labels are raised to what it found, except for rows that were pushed to since. Such labels are hints:
other rows may have come nearer, some columns are given up too early, and the global relabel at the end lets
those go on. Labels only rise until then, so this end comes. Where the pushes since the last relabel have
matched no more columns, relabels do not run concurrently.

Pseudo-code, of the kernel::

    repeat:
        global relabel: breadth-first from all free rows
        list the active columns with a path; if there are none and the matching was repaired: it is maximum
        rounds, until no column is active or a relabel is due:
            list: columns whose push was overwritten are active again
            push every listed column to its lowest row, and raise both labels
        if no column is active: repair (columns forget rows that name another column)

This solver has its own loop over launches, unlike the two other matchers: where the solve is to stop, the
kernel must repair the matching before it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ....arrays import AnyArray, ArrayModule
from ....bipartite.device_launches import count_free, require_room
from ....bipartite.match_arrays import Matching
from ....cuda.launches import Loop, launches, make_loop
from ....cuda.structs import U32, ConstU32
from ....errors import InvalidInputError
from ....graph.bipartite import DeviceBipartiteGraph
from ....solving.options import CheckedOptions, check_positive_number
from ....solving.run import Control
from ....stats import ARC_SCANS, AUGMENTATIONS, BARRIERS, GLOBAL_RELABELS, PHASES, PUSHES

SOURCE = Path(__file__).with_name("push_relabel_matching.cu")
#: Words of the kernel's counters and of its barriers.
COUNTER_WORDS, ARRIVAL_WORDS = 14 * 32, 3 * 32
#: Shorter lists are not shortened.
LEAST_TO_SHRINK = 512
#: A concurrent relabel gets one in SEARCH_SHARE multiprocessors, the pushes get the others.
SEARCH_SHARE = 8
#: Bytes on the device besides the graph and the matching: per edge, row and column.
BYTES = 0, 4, 20
#: Additional bytes per row and column for concurrent relabels.
CONCURRENT_BYTES = 8


@dataclass(frozen=True)
class PushRelabelOptions(CheckedOptions):
    """Options of push-relabel on a GPU.

    Attributes
    ----------
    active_list : bool
        Keep a list of active columns; otherwise read all of them in every round (G-PR-First).
    shrink : bool
        Shorten the list after global relabels; otherwise it keeps its first length (G-PR-NoShr).
    global_relabel : ("adaptive", k) or ("fixed", k)
        The number of rounds until the next global relabel: k times the levels of the last one, or k.
    relabel : {"synchronous", "concurrent"}
        Pushes wait for global relabels, or some blocks relabel while others push.
    initial_relabel : bool
        Start with a global relabel; otherwise with the label 0 on all rows and 1 on all columns. The first
        global relabel is then due after k rounds if `global_relabel` is fixed, after one round otherwise,
        because an adaptive interval needs the levels of a relabel.
    """

    active_list: bool = True
    shrink: bool = True
    global_relabel: tuple[str, float] = ("adaptive", 0.7)
    relabel: Literal["synchronous", "concurrent"] = "synchronous"
    initial_relabel: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.global_relabel
        if not isinstance(given, tuple | list) or len(given) != 2 or given[0] not in ("adaptive", "fixed"):
            raise InvalidInputError(
                f"option global_relabel must be ('adaptive', k) or ('fixed', k), got {given!r}"
            )
        check_positive_number("global_relabel", given[1])


Phase = IntEnum(
    "Phase", "BEGIN_RELABEL RELABEL RESUME LIST PUSH REPAIR BEGIN_CONCURRENT TAKE_OVER DONE", start=0
)
#: Positions in the counts.
Count = IntEnum("Count", "PUSHES EDGE_SCANS", start=0)


class MatchingState(NamedTuple):
    """The state of the kernel."""

    phase: int = 0
    rounds_left: int = 0  #: barriers left of this launch
    round: int = 0  #: barriers so far; selects one of the rotating counters
    loop: int = 0  #: rounds of pushes so far
    next_relabel: int = 0  #: value of `loop` at which the next global relabel is due
    level: int = 0
    shrinks: int = 0  #: whether to shorten the list of active columns
    proves: int = 0  #: whether no column was active and a global relabel is to confirm it
    listed: int = 0  #: length of both lists
    which: int = 0  #: index of the list that is A_c
    relabels: int = 0
    shortened: int = 0
    free: int = 0  #: columns without a row at the last repair
    goes_concurrent: int = (
        0  #: whether relabels run concurrently: not after pushes that matched no more columns
    )
    is_concurrent: int = 0  #: whether one does now
    splits: int = 0  #: how often the grid was split in two
    taken_over: int = 0  #: concurrent relabels whose labels were used
    next_look: int = 0  #: when to read the stop word again
    search_level: int = 0
    search_round: int = 0
    search_is_over: int = 0
    levels: int = 0


class Side(NamedTuple):
    """The vertices of one side."""

    first: ConstU32
    neighbour: ConstU32
    mate: U32
    label: U32
    size: int

    def apart(self, xp: ArrayModule) -> Side:
        """Return the side with separate arrays for matching and labels, not filled."""
        return self._replace(mate=xp.empty_like(self.mate), label=xp.empty_like(self.label))


class Arguments(NamedTuple):
    """Arguments of "push_relabel_matching_slice"."""

    rows: Side
    columns: Side
    searched_rows: Side  #: for a concurrent relabel: a copy of the matching, separate labels
    searched_columns: Side
    lists: Annotated[tuple[AnyArray, AnyArray], "u32*[2]"]  #: A_c and A_p, alternating
    shortened: U32
    stamp: U32  #: i_A: the last value of `loop` at which a column was active
    loop: Loop
    has_lists: bool  #: G-PR-NoShr and G-PR-Shr; otherwise G-PR-First
    shrinks: bool  #: G-PR-Shr
    least_to_shrink: int
    #: whether a relabel is due after `thousandths` / 1000 rounds per level of the last one,
    is_adaptive: bool
    thousandths: int
    interval: int  #: or after `interval` rounds of pushes
    search_blocks: int  #: number of blocks for concurrent relabels
    stops: ConstU32  #: not zero: repair the matching and end


def solve(
    graph: DeviceBipartiteGraph, matching: Matching, options: PushRelabelOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, where the graph is; return False where the solve was asked to stop.

    O((rows + columns) m) operations; on the device, besides the graph and the matching, 4 bytes a row and 20
    a column, with concurrent relabels 12 and 28. DeviceMemoryError, before anything is allocated, if it does
    not fit the GPU.
    """
    device, xp = graph.device, graph.xp
    is_concurrent = options.relabel == "concurrent" and device.num_multiprocessors > 1
    more = CONCURRENT_BYTES if is_concurrent else 0
    size = (BYTES[0], BYTES[1] + more, BYTES[2] + more)
    require_room(device, graph, size, both_sides=True)
    rows, columns = (
        Side(first=first, neighbour=neighbour, mate=mate, label=xp.empty_like(mate), size=len(mate))
        for (first, neighbour), mate in zip((graph.rows, graph.columns), matching, strict=True)
    )
    kind, amount = options.global_relabel
    interval = max(1, round(amount))
    state = MatchingState(proves=1, goes_concurrent=is_concurrent, free=columns.size + 1)
    if not options.initial_relabel:
        rows.label[:] = 0
        columns.label[:] = 1
        due = 1 if kind == "adaptive" else interval
        state = state._replace(phase=Phase.RESUME, proves=0, next_relabel=due)
    current, previous, shortened = (xp.empty(max(1, columns.size), dtype=np.uint32) for _ in range(3))
    arguments = Arguments(
        rows=rows,
        columns=columns,
        searched_rows=rows.apart(xp) if is_concurrent else rows,
        searched_columns=columns.apart(xp) if is_concurrent else columns,
        lists=(current, previous),
        shortened=shortened,
        stamp=xp.full(columns.size, 2**32 - 1, dtype=np.uint32),
        loop=make_loop(
            device, state, control, counters=COUNTER_WORDS, counts=len(Count), arrivals=ARRIVAL_WORDS
        ),
        has_lists=options.active_list,
        shrinks=options.active_list and options.shrink,
        least_to_shrink=LEAST_TO_SHRINK,
        is_adaptive=kind == "adaptive",
        thousandths=round(1000 * amount),
        interval=interval,
        search_blocks=max(1, device.num_multiprocessors // SEARCH_SHARE) if is_concurrent else 0,
        stops=xp.full(1, control.stopped, dtype=np.uint32),
    )
    free_at_first = count_free(matching.column_match, rows.size)
    control.progress[:] = free_at_first
    for state in launches(
        device, SOURCE, "push_relabel_matching_slice", arguments, MatchingState, Phase.DONE
    ):
        counts = device.to_host(arguments.loop.counts)
        control.counts[[PUSHES, ARC_SCANS]] = counts[[Count.PUSHES, Count.EDGE_SCANS]]
        control.counts[[PHASES, GLOBAL_RELABELS]] = state.relabels
        control.counts[BARRIERS] = state.round
        if control.stopped and state.phase != Phase.DONE:
            arguments.stops[0] = 1
    if is_concurrent:
        control.remarks.append(
            f"{state.taken_over:,} of {state.relabels:,} global relabels ran concurrently with pushes"
        )
    control.progress[0] = count_free(matching.column_match, rows.size)
    control.counts[AUGMENTATIONS] = free_at_first - int(control.progress[0])
    return not device.to_host(arguments.stops)[0]
