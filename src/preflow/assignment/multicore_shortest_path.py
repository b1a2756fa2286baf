"""Shortest augmenting paths for stacks of matrices, on many cores: each thread solves matrices by itself.

A matrix is solved by one thread, as :mod:`.serial_shortest_path` does, and to the same prices. Threads take
runs of matrices one after the other, since some take longer than others, within one kernel: Python's lock
between two runs costs 16 threads more than solving takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.atomics import fetch_add, relaxed_load
from ..kernels.kernel import kernel
from ..parallel.team import run_team
from ..solving.run import Control
from . import serial_shortest_path
from .serial_shortest_path import (
    ShortestPathOptions,
    Work,
    make_start,
    number_dtype,
    solve_items,
)
from .state import INFEASIBLE, ONE, OVERFLOW, ZERO, Lists, Solution, State, unsolved, with_violation

#: Runs of matrices for each thread.
RUNS = 16


@kernel
def solve_runs(
    cost: Any,
    lists: Lists,
    state: State,
    work: Work,
    match: Any,
    u: Any,
    v: Any,
    endings: Any,
    go_on: bool,
    stop: Any,
    counts: Any,
    progress: Any,
    turns: Any,
    num_runs: Any,
) -> None:
    """Solve runs of matrices while there are any that nobody has taken, and none was in vain."""
    items = np.uint64(len(endings))
    each = np.uint64(len(state.row_match)) * np.uint64(len(state.price))
    while relaxed_load(stop, 0) == 0:
        run = np.uint64(fetch_add(turns, ZERO, ONE))
        if run >= num_runs:
            break
        begin, end = items * run // num_runs, items * (run + ONE) // num_runs
        solve_items(
            cost[begin * each : end * each],
            lists,
            state,
            work,
            match[begin:end],
            u[begin:end],
            v[begin:end],
            endings[begin:end],
            go_on,
            stop,
            counts,
            progress,
        )
        for item in range(begin, end):
            if endings[item] == OVERFLOW or (endings[item] == INFEASIBLE and not go_on):
                return


def solve(
    costs: DenseCosts | SparseCosts, options: ShortestPathOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row of each matrix at the least cost.

    Parameters
    ----------
    costs : DenseCosts or SparseCosts
        To minimise, with at least as many columns as rows.
    options : ShortestPathOptions
    control : Control
    go_on : bool
        Whether to solve the items after one that is infeasible.

    Notes
    -----
    As :func:`.serial_shortest_path.solve`, and on each thread its memory beside the costs.
    """
    items, n, m = costs.shape
    threads = min(control.threads, items)
    if threads < 2 or not isinstance(costs, DenseCosts):
        return serial_shortest_path.solve(costs, options, control, go_on)
    solution = unsolved(items, n, m, number_dtype(costs))
    starts: dict[int, tuple[Lists, State, Work]] = {}
    control.excess[:] = items * n / threads  # of the first thread's share
    flat = costs.values.reshape(-1)
    turns = np.zeros(1, dtype=np.uint64)
    runs = np.uint64(min(items, RUNS * threads))

    def share(thread: int) -> None:
        progress = control.excess if thread == 0 else np.zeros(2)
        starts[thread] = make_start(costs, options)
        solve_runs(
            flat, *starts[thread], solution.match, solution.u, solution.v, solution.ending, go_on,
            control.stop, control.thread_counts[thread], progress, turns, runs,
        )  # fmt: skip

    def give_up() -> None:
        control.stop[0] = 1

    run_team(share, threads, give_up)
    infeasible = np.flatnonzero(solution.ending == INFEASIBLE)
    if go_on or len(infeasible) == 0:
        return solution
    # The first one: whatever comes before it was begun earlier, and solved.
    first = slice(int(infeasible[0]), int(infeasible[0]) + 1)
    lists, state, work = starts[0]
    root, done = solve_items(
        costs.values[first].reshape(-1), lists, state, work, solution.match[first], solution.u[first],
        solution.v[first], solution.ending[first], go_on, control.stop, control.counts, np.zeros(2),
    )  # fmt: skip
    return with_violation(solution, state, root, done)
