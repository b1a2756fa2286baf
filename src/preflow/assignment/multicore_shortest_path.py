"""Shortest augmenting paths for stacks of matrices, on many cores: each thread solves matrices by itself.

A matrix is solved by one thread, as :mod:`.serial_shortest_path` does, and to the same prices. Threads take
runs of matrices one after the other, since some take longer than others.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..graph.costs import DenseCosts, SparseCosts
from ..parallel.team import run_team
from ..solving.run import Control
from . import serial_shortest_path
from .serial_shortest_path import (
    ShortestPathOptions,
    make_start,
    number_dtype,
    solve_items,
)
from .state import INFEASIBLE, OVERFLOW, Solution, unsolved, with_violation

#: Runs of matrices for each thread.
RUNS = 16


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
    starts = [make_start(costs, options) for _ in range(threads)]
    control.excess[:] = items * n
    runs = min(items, RUNS * threads)
    bounds = [items * run // runs for run in range(runs + 1)]
    turns = itertools.count()
    failed = (OVERFLOW,) if go_on else (OVERFLOW, INFEASIBLE)

    def share(thread: int) -> None:
        lists, state, work = starts[thread]
        progress = np.zeros(1)
        while (run := next(turns)) < runs and not control.stopped:
            begin, end = bounds[run], bounds[run + 1]
            solve_items(
                costs.values[begin:end].reshape(-1), lists, state, work, solution.match[begin:end],
                solution.u[begin:end], solution.v[begin:end], solution.ending[begin:end], go_on,
                control.stop, control.thread_counts[thread], progress,
            )  # fmt: skip
            control.excess[0] -= (end - begin) * n
            if np.isin(solution.ending[begin:end], failed).any():
                return

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
        solution.v[first], solution.ending[first], go_on, control.stop, control.counts, np.zeros(1),
    )  # fmt: skip
    return with_violation(solution, state, root, done)
