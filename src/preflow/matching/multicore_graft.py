"""Tree grafting on many cores: breadth-first search from all free rows that keeps the trees of failed ones.

Azad, Buluç and Pothen, "Computing maximum cardinality matchings in parallel on bipartite graphs via
tree-grafting", IEEE TPDS 2016; see :mod:`.serial_graft`. Level by level, all threads share the frontier;
:mod:`.forest` has what keeps the trees apart.

Departures: a small frontier goes to one thread, which grows on without barriers until it is large; bottom-up
looks at all columns instead of listing those outside of the forest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph.bipartite import Adjacency, BipartiteGraph
from ..kernels.atomics import relaxed_load
from ..kernels.kernel import kernel
from ..parallel.team import run_solver
from ..solving.options import check_count
from ..solving.run import Control
from ..stats import PHASES
from .forest import (
    Forest,
    augment,
    clear,
    dissolve,
    graft_dissolved,
    grow_alone,
    grow_bottom_up,
    grow_top_down,
    list_roots,
    plant,
)
from .rounds import TOLD, Rounds, end_round, make_rounds, set_of, start_round
from .serial_graft import GraftOptions
from .state import Matching

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO, THREE = np.uint64(2), np.uint64(3)


@dataclass(frozen=True)
class MulticoreGraftOptions(GraftOptions):
    """Options of tree grafting on many cores.

    Attributes
    ----------
    few_rows : int
        A frontier of fewer rows for each thread is grown by one thread, until it has twice as many.
    """

    few_rows: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("few_rows", self.few_rows)


@kernel
def run_phases(
    rows: Adjacency,
    columns: Adjacency,
    matching: Matching,
    forest: Forest,
    rounds: Rounds,
    thread: Any,
    graft: bool,
    switching: bool,
    alpha: float,
    few_rows: Any,
) -> bool:
    """Match free rows until the matching is maximum, one thread's share; False if stopped before."""
    num_rows, num_columns = np.uint64(len(matching.row_match)), np.uint64(len(matching.column_match))
    lists = forest.lists
    few = few_rows * rounds.num_threads if rounds.num_threads > ONE else ZERO
    number, begin, frontier, outside = ZERO, ZERO, ZERO, ZERO
    roots = TWO * num_rows
    waiting = list_roots(rows, matching, forest, rounds, thread, roots)
    go_on, size, _ = end_round(rounds, thread, number, lists, roots, waiting, ZERO)
    if thread == ZERO:
        rounds.progress[1] = size
    planted = False
    while go_on and size > ZERO:
        if thread == ZERO:
            rounds.counts[thread, PHASES] += ONE
            rounds.progress[0] = size
        if not planted:
            number += ONE
            start_round(rounds, thread, number)
            clear(forest, rounds, thread)
            go_on, _, _ = end_round(rounds, thread, number, lists, ZERO, ZERO, ZERO)
            number += ONE
            start_round(rounds, thread, number)
            plant(forest, rounds, thread, roots, size)
            go_on, _, _ = end_round(rounds, thread, number, lists, ZERO, ZERO, ZERO)
            begin, frontier, outside = roots, size, num_columns
        while go_on and frontier > ZERO:
            number += ONE
            start_round(rounds, thread, number)
            base = num_rows if begin == ZERO else ZERO
            waiting, attached = ZERO, ZERO
            alone = frontier < few
            if alone:
                if thread == ZERO:
                    attached = grow_alone(
                        rows, matching, forest, rounds, thread, number, begin, frontier, base, TWO * few
                    )
            elif switching and frontier * alpha >= outside:
                waiting, attached = grow_bottom_up(columns, matching, forest, rounds, thread, number, base)
            else:
                waiting, attached = grow_top_down(
                    rows, matching, forest, rounds, thread, number, begin, frontier, base
                )
            go_on, frontier, attached = end_round(rounds, thread, number, lists, base, waiting, attached)
            begin = np.uint64(relaxed_load(rounds.shared, set_of(number) + TOLD)) if alone else base
            outside -= attached
        if not go_on:
            return False
        number += ONE
        start_round(rounds, thread, number)
        base = THREE * num_rows if roots == TWO * num_rows else TWO * num_rows
        waiting, augmented = augment(matching, forest, rounds, thread, number, roots, size, base)
        go_on, size, augmented = end_round(rounds, thread, number, lists, base, waiting, augmented)
        roots = base
        if not go_on or augmented == ZERO or size == ZERO:
            break
        number += ONE
        start_round(rounds, thread, number)
        waiting, growing = dissolve(matching, forest, rounds, thread, number)
        go_on, dissolved, growing = end_round(
            rounds, thread, number, forest.dissolved, ZERO, waiting, growing
        )
        outside += dissolved
        planted = graft and (growing + size) * alpha > dissolved
        if go_on and planted:
            number += ONE
            start_round(rounds, thread, number)
            waiting, attached = graft_dissolved(
                columns, matching, forest, rounds, thread, number, dissolved, ZERO
            )
            go_on, frontier, attached = end_round(rounds, thread, number, lists, ZERO, waiting, attached)
            begin = ZERO
            outside -= attached
    return go_on


def solve(
    graph: BipartiteGraph, matching: Matching, options: MulticoreGraftOptions, control: Control
) -> bool:
    """Make a matching maximum, in place, on ``control.threads`` threads.

    Returns
    -------
    bool
        Whether it is; False where the solve was asked to stop.

    Notes
    -----
    O(n m) work; memory of six indices a row and three a column, and the transposed graph.
    """
    num_rows, num_columns = graph.shape
    dtype = graph.rows.first.dtype
    rounds = make_rounds(control, dtype)
    forest = Forest(
        row_root=np.empty(num_rows, dtype=dtype),
        column_root=np.empty(num_columns, dtype=dtype),
        parent=np.empty(num_columns, dtype=dtype),
        leaf=np.empty(num_rows, dtype=dtype),
        lists=np.empty(4 * num_rows, dtype=dtype),
        dissolved=np.empty(num_columns, dtype=dtype),
    )
    columns = graph.columns
    finished = [False] * control.threads

    def share(thread: int) -> None:
        finished[thread] = run_phases(
            graph.rows,
            columns,
            matching,
            forest,
            rounds,
            np.uint64(thread),
            options.graft,
            options.direction_switching,
            float(options.alpha),
            np.uint64(options.few_rows),
        )

    run_solver(share, control, rounds.barrier)
    return all(finished)
