"""Push-relabel for bipartite matching on many cores, without locks.

Langguth, Azad, Halappanavar and Manne, "On parallel push-relabel based algorithms for bipartite graph
matching" (2014), with the pushes and labels of :mod:`.serial_push_relabel`, which defines active rows,
labels, dead columns and gaps. The modules of this folder: :mod:`.pushes` (a round of pushes), :mod:`.labels`
(global relabels and gaps), :mod:`.last_rows` (searches for the last rows), and here options, rounds and the
solver.

Definitions. A thread *owns* the active rows of its share, and every row that one of its pushes displaces. A
*round* is a number of pushes that all threads make together, between two barriers.

Invariants, whatever the interleaving:

- The row and the label of a column are one word (:mod:`.packed_columns`). A push is one compare-and-swap,
  from the word that the thread has read to its own row and a higher label. So a column has one row at a time,
  and every row is either matched with one column, or owned by one thread, or given up.
- Labels only rise, so a label that is out of date is too low. The new label is one more than the lowest label
  that was read at the other columns of the row, which is at most one more than the lowest now. So at every
  moment all labels are lower bounds on the number of columns left to a free one. A row of which all columns
  are dead is given up for good; no search has to prove it at the end.
- Gaps, global relabels and searches come between two barriers, while no thread pushes.

Departures:

- Row and label change together, for the reasons above.
- Threads work in few rounds (25 to 40 on graphs of a million rows): they share the active rows, and push
  first in, first out, until together they have made a number of pushes, or some have no row left.
- Gaps are closed between rounds. Each thread counts by how much it has changed the number of columns of each
  level.
- The last rows keep few threads busy, for long, and compete for the same few columns: on Erdos-Renyi graphs
  of a million rows the last 2,000 make two fifths of all pushes. Where that takes too long, trees grow from
  them and from the free columns until they meet (:mod:`.last_rows`).

Pseudo-code, of all threads together::

    pack the matching into words; labels are 0 for free and 1 for matched columns
    while there are active rows:
        close the lowest gap; without a free column stop
        round: each thread pushes its share of the active rows
        if few rows were active for many pushes: search from both sides for the rest; stop
        if pushes have stalled, or a global relabel is due:
            global relabel, or leave the rest to trees
    unpack the words
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.clock import now
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.thread_pool import NativePool, address_of, entry_of, run_in_pool, run_natively
from ...solving.options import UNLIMITED, check_number_between, limit
from ...solving.run import Control
from ...stats import (
    GLOBAL_RELABELS,
    PHASES,
    RELABEL_NANOSECONDS,
)
from ..match_arrays import Matching
from ..packed_columns import make_packed, pack, unpack
from ..serial_push_relabel import (
    PushRelabelOptions,
    grow_trees,
    have_stalled,
    pushes_until_look,
)
from ..thread_rounds import Round, end_round, make_rounds, start_round
from .labels import gap_closed, global_relabel
from .last_rows import Search, make_search, match_from_both_sides
from .pushes import SIGNALS, Limits, State, clear_signals, push_share

#: A round ends after num_columns >> ROUND_SHIFT pushes, and at least LEAST_PUSHES for each thread; then the
#: active rows are shared out again, and gaps closed.
ROUND_SHIFT = 4
LEAST_PUSHES = 256
#: A thread takes at most this many rows before it adds its pushes to the total of the round.
UNREPORTED = 64
#: With few rows, searches replace pushes after num_edges / SEARCH_SHARE pushes: they cost about as much as
#: transposing the graph for the searches.
SEARCH_SHARE = 32
#: After this many levels the searches leave the rest to trees, where these are allowed: long thin graphs have
#: millions of levels, each with a barrier. From 2,000 rows of random graphs of a million there are 16 to 184.
MOST_LEVELS = np.uint64(1000)
#: Searches also replace pushes with fewer active rows per thread than this, however few there are in all.
FEWEST_ROWS = 2
#: Fewer threads than this do not slow each other down: for two threads more rows are not few (on Erdos-Renyi
#: graphs of a million rows searches took 0.95 to 1.1 of the time).
CROWD = 4
#: Why a thread returns: no row is active, a global relabel is due, searches replace pushes, stopped.
DONE, RELABEL, SEARCH, STOPPED = range(4)


@dataclass(frozen=True)
class MulticorePushRelabelOptions(PushRelabelOptions):
    """Options of push-relabel on many cores.

    Attributes
    ----------
    search_share : float
        Searches replace pushes that go on for long with fewer active rows than this share of all rows, on
        four threads or more; 0: never.
    """

    relabel_period: float = 2.0
    initial_labels: Literal["exact", "one"] = "one"
    stalled: Literal["push", "relabel", "trees"] = "trees"
    search_share: float = 1 / 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number_between("search_share", self.search_share, 0.0, 1.0)


class Stage(NamedTuple):
    """The state that the threads share until a global relabel needs the transposed graph, or until the end.

    Attributes
    ----------
    rows, columns : Adjacency
        The columns are read only if `relabels`.
    matching : Matching
    state : State
    search : Search
    number, base, size : uint64
        The last round; the `size` active rows are listed from `base` on. If `number` is 0 they are listed
        first.
    relabels, gap, stalls : bool
        Whether to begin with a global relabel; to close gaps; to test whether pushes have stalled.
    end : ndarray of uint64, shape (5,)
        The outcome, number, base and size that :func:`run_rounds` returned; the number of rows that searches
        took.
    """

    rows: Adjacency
    columns: Adjacency
    matching: Matching
    state: State
    search: Search
    number: np.uint64
    base: np.uint64
    size: np.uint64
    relabels: bool
    gap: bool
    stalls: bool
    end: NDArray[np.uint64]


@kernel
def run_rounds(thread: np.uint64, stage: Stage) -> tuple[Int64, np.uint64, np.uint64, np.uint64]:
    """Push until no row is active or something else is due. Collective.

    Returns
    -------
    outcome, number, base, size
        The outcome, the last round, and the active rows. The same for all threads.
    """
    rows, matching, state = stage.rows, stage.matching, stage.state
    packed, rounds, limits, signals = state.packed, state.rounds, state.limits, state.signals
    number, base, size = stage.number, stage.base, stage.size
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    alive = num_columns
    go_on, outcome = True, DONE
    # Pack the matching and list the active rows.
    if number == ZERO:
        current = Round(thread, ZERO, ZERO)
        waiting = pack(rows, matching, packed, rounds, current)
        go_on, size, _ = end_round(rounds, current, packed.active, waiting, ZERO)
        if thread == ZERO:
            rounds.progress[1] = size
    # Global relabel.
    if stage.relabels and go_on:
        started = now()
        if thread == ZERO:
            for k in range(3):  # the rounds of the search reset none
                clear_signals(signals, np.uint64(k))
        go_on, number, alive = global_relabel(stage.columns, matching, packed, rounds, thread, number)
        if thread == ZERO:
            rounds.counts[thread, GLOBAL_RELABELS] += ONE
            rounds.counts[thread, RELABEL_NANOSECONDS] += now() - started
    total, pushes, of_few = ZERO, ZERO, ZERO
    window, size_then, look = ZERO, size, pushes_until_look(num_columns, size)
    if thread == ZERO:
        rounds.counts[thread, PHASES] += ONE
    while go_on and size > ZERO:
        if thread == ZERO:
            rounds.progress[0] = size
        # Close the lowest gap.
        if stage.gap:
            go_on, alive, free = gap_closed(packed, rounds, thread, alive)
            if not go_on or not free:
                size = ZERO
                break
        # A round of pushes.
        number += ONE
        current = start_round(rounds, thread, number, num_rows - base)
        if thread == ZERO:
            clear_signals(signals, number + ONE)
        few = size < limits.few
        most = min(limits.round, limits.search - of_few) if few else limits.round
        waiting, made = push_share(rows, state, current, base, size, most)
        base = current.base
        go_on, size, total = end_round(rounds, current, packed.active, waiting, made)
        if size == ZERO:
            break
        # Few rows were active for many pushes: searches replace them.
        if few:
            of_few += total
            if of_few >= limits.search:
                outcome = SEARCH
                break
        # Test whether pushes have stalled, or a global relabel is due.
        pushes += total
        window += total
        if window >= look:
            if stage.stalls and have_stalled(window, size_then, size, len(rows.neighbour)):
                outcome = RELABEL
                break
            look = pushes_until_look(num_columns, size)
            window, size_then = ZERO, size
        if pushes >= limits.relabel:
            outcome = RELABEL
            break
    if outcome != SEARCH:
        unpack(matching, packed, rounds, thread)
    if thread == ZERO:
        rounds.progress[0] = size
    return outcome if go_on else STOPPED, number, base, size


@kernel
def stage_share(thread: np.uint64, stage: Stage) -> None:
    """Run rounds of pushes, and the searches that replace them where due; one thread's share."""
    searched = ZERO
    outcome, number, base, size = run_rounds(thread, stage)
    if outcome == SEARCH:
        searched, size = size, ZERO
        go_on, size = match_from_both_sides(
            stage.rows, stage.matching, stage.state, stage.search, Round(thread, number, base), searched
        )
        outcome = STOPPED if not go_on else RELABEL if size > ZERO else DONE
    if thread == ZERO:
        stage.end[0] = outcome
        stage.end[1] = number
        stage.end[2] = base
        stage.end[3] = size
        stage.end[4] = searched


@kernel
def stage_together(pool: NativePool, num_threads: np.uint64, stage: Stage) -> None:
    """Run :func:`stage_share` on `num_threads` threads."""
    run_in_pool(pool, num_threads, entry_of(stage_share, stage), address_of(stage))


def solve(
    graph: BipartiteGraph, matching: Matching, options: MulticorePushRelabelOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, on ``control.threads`` threads.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Raises
    ------
    UnsuitableMethodError
        There are 2**32 - 2 rows or columns, or more.

    Notes
    -----
    O(n m) work; memory of two indices a row and eight bytes a column, and 8 more a row or column and the
    transposed graph where a global relabel falls due or searches take over: for these three indices and 24
    bytes more a row and 16 a column.
    """
    num_rows, num_columns = graph.shape
    threads = control.threads
    few = max(options.search_share * num_rows if threads >= CROWD else 0, FEWEST_ROWS * threads)
    searches = threads > 1 and options.search_share > 0
    search_limit = limit(graph.num_edges / SEARCH_SHARE)
    relabel_limit = limit(options.relabel_period * (num_rows + num_columns))
    in_round = min(int(relabel_limit), max(num_columns >> ROUND_SHIFT, LEAST_PUSHES * threads))
    state = State(
        packed=make_packed(graph, threads, "multicore-push-relabel", 0, True),
        rounds=make_rounds(control, np.uint64),
        signals=np.zeros(SIGNALS, dtype=np.uint64),
        limits=Limits(
            relabel=relabel_limit,
            round=limit(in_round),
            report=limit(min(UNREPORTED, min(in_round, int(search_limit)) // (4 * threads))),
            search=search_limit,
            few=limit(few) if searches else ZERO,
        ),
    )
    levels = MOST_LEVELS if options.stalled == "trees" else UNLIMITED
    columns = graph.known_columns
    stage = Stage(
        rows=graph.rows,
        columns=columns or graph.rows,
        matching=matching,
        state=state,
        search=make_search(graph, columns, threads if searches else 0, levels),
        number=ZERO,
        base=ZERO,
        size=ZERO,
        relabels=False,
        gap=options.gap,
        stalls=options.stalled != "push",
        end=np.zeros(5, dtype=np.uint64),
    )
    relabels = options.initial_labels == "exact"
    while True:
        if relabels:
            columns = graph.columns
            search = stage.search._replace(columns=columns, transposes=False)
            stage = stage._replace(columns=columns, search=search, relabels=True)
        run_natively(stage_together, stage_share, stage, threads)
        outcome, number, base, size, searched = stage.end
        if searched:
            control.remarks.append(f"searches from both sides took the last {searched:,} rows")
            graph.remember_columns(stage.search.columns)
        if outcome != RELABEL:
            return bool(outcome == DONE)
        if options.stalled == "trees":
            return grow_trees(graph, matching, int(size), control)
        stage = stage._replace(number=number, base=base, size=size)
        relabels = True
