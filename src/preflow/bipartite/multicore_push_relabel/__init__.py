"""Push-relabel for bipartite matching on many cores, without locks.

Langguth, Azad, Halappanavar and Manne, "On parallel push-relabel based algorithms for bipartite graph
matching" (2014), with the pushes and labels of :mod:`.serial_push_relabel`, which defines active rows,
labels, dead columns and gaps. The modules of this folder: :mod:`.pushes` (a round of pushes), :mod:`.labels`
(global relabels and gaps), :mod:`.last_rows` (searches for the last rows), and here options, rounds and the
solver.

Definitions. In a *round*, all threads push, between two barriers. Each thread *owns* its share of the active
rows, and every row that one of its pushes displaces.

Invariants, whatever the interleaving:

- The row and the label of a column are one word (:mod:`.packed_columns`). A push replaces, by one
  compare-and-swap, the word that the thread has read by a word with the thread's row and a higher label. So a
  column has one row at a time. During a round, every row that has edges is matched with one column, or owned
  by one thread, or given up.
- Between global relabels, labels only rise, so an outdated label is too low. A push sets the label of its
  column to one more than the lowest label that the thread has read among the other columns of the row. By
  then the true lowest label is the same or higher. So at every moment each label is a lower bound on the
  number of further columns on an alternating path to a free column. If all columns of a row are dead, the
  thread gives the row up for good: no search has to prove at the end that it has no partner.
- Threads close gaps, relabel globally and search only between rounds, while no thread pushes.

Departures:

- Row and label change in one step, since the invariants need that.
- There are few rounds (25 to 40 on graphs of a million rows). Each thread pushes its share of the active rows
  first in, first out. The round ends after a fixed number of pushes by all threads, or when a quarter of the
  threads have no row left.
- Gaps are closed between rounds. To find them, each thread counts by how much it has changed the number of
  columns of each level.
- The last active rows take long, keep few threads busy, and compete for the same few columns: on Erdos-Renyi
  graphs of a million rows the last 2,000 take two fifths of all pushes. If they take too many, trees grow
  from these rows and from the free columns until they meet (:mod:`.last_rows`).

Pseudo-code, of all threads together::

    pack the matching into words; labels are 0 for free and 1 for matched columns
    if initial_labels is "exact": global relabel
    while there are active rows:
        close the lowest gap; stop if no column is free
        round: each thread pushes its share of the active rows
        if few rows were active during many pushes:
            search for the other rows from both sides; if the search gives up, give up or relabel
        if pushes have stalled, or a global relabel is due:
            global relabel, or give up
    unpack the words
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Int64
from ...graph.bipartite import Adjacency, BipartiteGraph
from ...kernels.clock import now
from ...kernels.constants import ONE, ZERO
from ...kernels.kernel import kernel
from ...parallel.rounds import Round, end_round, make_rounds, start_round
from ...parallel.thread_pool import in_pool, run_natively
from ...solving.options import UNLIMITED, PositiveNumber, between, limit
from ...solving.run import Control, GaveUp
from ...stats import (
    GLOBAL_RELABELS,
    PHASES,
    RELABEL_NANOSECONDS,
)
from ..match_arrays import Matching
from ..packed_columns import make_packed, pack, unpack
from ..push_relabel import (
    PushRelabelOptions,
    have_stalled,
    pushes_until_look,
)
from .labels import gap_closed, global_relabel
from .last_rows import LastRows, make_search, match_from_both_sides
from .pushes import SIGNALS, Limits, PushState, clear_signals, push_share

#: A round ends after num_columns >> ROUND_SHIFT pushes, or after LEAST_PUSHES per thread if these are more,
#: but at most after one relabel period. It ends earlier if a quarter of the threads have no row left, or if
#: searches are due. After it, the lowest gap is closed and the active rows are divided up again.
ROUND_SHIFT = 4
LEAST_PUSHES = 256
#: A thread takes at most this many rows before it adds its pushes to the total of the round.
UNREPORTED = 64
#: Searches replace pushes after num_edges / SEARCH_SHARE pushes with few active rows. That number of pushes
#: takes about as long as transposing the graph, which the searches need.
SEARCH_SHARE = 32
#: With ``stalled="trees"``, the searches leave the other rows to trees after this many rounds: one round for
#: each level of the trees, two for each phase. Every round has a barrier, and long thin graphs have millions
#: of levels; from the last 2,000 rows of random graphs with a million rows there are 16 to 184.
MOST_LEVELS = np.uint64(1000)
#: Fewer active rows per thread than this are always few, whatever share of all rows they are.
FEWEST_ROWS = 2
#: With fewer threads than this, active rows are few by FEWEST_ROWS alone, not by the option `search_share`:
#: two threads hardly slow each other down. On Erdos-Renyi graphs of a million rows, two threads took 0.95 to
#: 1.1 times as long with `search_share` as without.
CROWD = 4
#: How a stage ends. DONE: no row is active. RELABEL: a global relabel is due, pushes have stalled, or the
#: searches gave up. SEARCH: searches are to replace pushes. STOPPED: the solve was asked to stop.
DONE, RELABEL, SEARCH, STOPPED = range(4)


@dataclass(frozen=True)
class MulticorePushRelabelOptions(PushRelabelOptions):
    """Options of push-relabel on many cores.

    Attributes
    ----------
    search_share : float
        Searches replace pushes when many pushes were made while few rows were active. On four threads or
        more, few are fewer than this share of all rows; on two or more, fewer than two per thread are also
        few. 0: searches never replace pushes.
    """

    relabel_period: PositiveNumber = 2.0
    initial_labels: Literal["exact", "one"] = "one"
    stalled: Literal["push", "relabel", "trees"] = "trees"
    search_share: Annotated[float, between(0.0, 1.0)] = 1 / 1024


class Stage(NamedTuple):
    """The arguments and the result of a stage: the threads push until a global relabel is due, or to the end.

    Before the first global relabel, the calling thread transposes the graph, between two stages.
    """

    #: rows, columns: `columns`, the transposed graph, is read only if `relabels`
    rows: Adjacency
    columns: Adjacency
    matching: Matching
    state: PushState
    search: LastRows
    #: the number of the last round; the `size` active rows are in ``active[base : base + size]``. If `number`
    #: is 0, the stage first packs the matching and lists the active rows.
    number: np.uint64
    base: np.uint64
    size: np.uint64
    #: whether to begin with a global relabel; to close gaps; to test whether pushes have stalled
    relabels: bool
    gap: bool
    stalls: bool
    #: shape (5,): the result: how the stage ended (DONE, RELABEL or STOPPED); `number`, `base` and `size`
    #: then; the number of rows that searches took over
    end: NDArray[np.uint64]


@kernel
def run_rounds(thread: np.uint64, stage: Stage) -> tuple[Int64, np.uint64, np.uint64, np.uint64]:
    """Push in rounds until no row is active, or searches or a global relabel are due. Collective.

    Return DONE, RELABEL, SEARCH or STOPPED, the number of the last round, where the active rows are listed,
    and how many there are: the same for all threads.
    """
    rows, matching, state = stage.rows, stage.matching, stage.state
    packed, rounds, limits, signals = state.packed, state.rounds, state.limits, state.signals
    number, base, size = stage.number, stage.base, stage.size
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    num_edges, alive = np.uint64(len(rows.neighbour)), num_columns
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
            for k in range(3):  # the rounds of the relabel clear none
                clear_signals(signals, np.uint64(k))
        go_on, number, alive = global_relabel(stage.columns, matching, packed, rounds, thread, number)
        if thread == ZERO:
            rounds.counts[thread, GLOBAL_RELABELS] += ONE
            rounds.counts[thread, RELABEL_NANOSECONDS] += now() - started
    total, pushes, of_few = ZERO, ZERO, ZERO
    window, size_then, look = ZERO, size, pushes_until_look(num_columns, num_edges, size)
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
        # Few rows were active during many pushes: searches are to replace pushes.
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
            look = pushes_until_look(num_columns, num_edges, size)
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
    """Run rounds of pushes, then searches if these are due; store how the stage ended. Collective."""
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


stage_together = in_pool("stage_together", stage_share)


def solve(
    graph: BipartiteGraph, matching: Matching, options: MulticorePushRelabelOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, on all threads; return False where the solve was asked to stop.

    O(n m) work. Memory: two indices per row and 8 bytes per column. A global relabel adds the transposed
    graph and 8 bytes per column. Searches add the transposed graph, three indices and 24 bytes per row, and
    three indices and 16 bytes per column. UnsuitableMethodError from 2**32 - 2 rows or columns on.
    """
    num_rows, num_columns = graph.shape
    threads = control.threads
    few = max(options.search_share * num_rows if threads >= CROWD else 0, FEWEST_ROWS * threads)
    searches = threads > 1 and options.search_share > 0
    search_limit = limit(graph.num_edges / SEARCH_SHARE)
    relabel_limit = limit(options.relabel_period * (num_rows + num_columns))
    in_round = min(int(relabel_limit), max(num_columns >> ROUND_SHIFT, LEAST_PUSHES * threads))
    state = PushState(
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
        run_natively(stage_together, stage, threads)
        outcome, number, base, size, searched = stage.end
        if searched:
            control.remarks.append(f"searches from both sides took the last {searched:,} rows")
            graph.remember_columns(stage.search.columns)
        if outcome != RELABEL:
            return bool(outcome == DONE)
        if options.stalled == "trees" and control.budget is not None:
            raise GaveUp(f"{int(size):,} rows are left that take long")
        stage = stage._replace(number=number, base=base, size=size)
        relabels = True
