"""Arc fixing in the middle of a refine, as Łupińska's implementation does it: how often it loses the optimum.

In the root of the repository:

    python -m benchmarks.reproduce lupinska arc-fixing [--small] [--seeds N]

Her implementation interrupts the first kernel of a refine after CYCLE steps, fixes arcs, updates prices, and
goes on. Fixing leaves out the arcs whose reduced cost is above 2 |V| epsilon. That such an arc never carries
flow again is proved for a complete flow. In the middle of a refine the flow is not complete: vertices that
still have excess may have to lower their prices until the arc is cheap.

The program runs one thread of `multicore-lockfree`. In each refine it fixes arcs once after some discharges,
and solves what is left exactly. It stops at the first refine whose fixing has lost every optimal assignment.
A seed is a batch of 300 matrices, of 50 with --small. There are no times, and --repeats changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from preflow.arrays import Array
from preflow.assignment.lockfree_scaling import (
    epsilons,
    fix_arcs,
    fixing_threshold,
    make_flow,
    scaled,
    start_refine,
)
from preflow.generators.costs import uniform_integer_costs
from preflow.graph.costs import SparseCosts
from preflow.kernels.constants import ONE, TWO, ZERO
from preflow.papers.lupinska import multicore_lockfree as lockfree
from preflow.solving.run import Control

from ..problem import Table
from .programs import Record, read_settings

#: Rows of the matrices, and the discharges after which arcs are fixed.
STEPS = ((2, 1), (2, 3), (3, 3), (5, 5), (10, 10), (30, 30), (30, 300))
#: Matrices of a batch.
BATCH, SMALL_BATCH = 300, 50
#: The largest cost, and the divisor of epsilon, of the paper.
LARGEST, ALPHA = 100, 10.0
#: The outcomes of a solve. "no assignment": the arcs that are left have none, and the refine never ends.
OUTCOMES = ("right", "dearer", "no assignment")


def outcome(costs: Array, discharges: int) -> str:
    """Solve a matrix with arc fixing in the middle of each refine; return one of OUTCOMES."""
    size = len(costs)
    first = np.arange(size + 1, dtype=np.uint64) * np.uint64(size)
    column = np.tile(np.arange(size, dtype=np.uint32), size)
    problem = scaled(SparseCosts(first, column, costs.reshape(-1), size))
    arcs, flow, rows = problem.arcs, make_flow(size), np.uint64(size)
    state = lockfree.make_state(size, Control(threads=1))
    best = cheapest(costs, costs >= 0)
    for epsilon in map(np.int64, epsilons(problem.largest, ALPHA)):
        threshold = np.int64(fixing_threshold(size, int(epsilon)))
        start_refine(arcs, flow, epsilon, ZERO, rows)
        lockfree.list_rows(flow, state, ZERO, ONE)
        interrupted = state._replace(cycles=np.uint64(discharges))
        lockfree.push_and_relabel(arcs, flow, interrupted, ZERO, ONE, epsilon)
        if state.signals[lockfree.OVER] == TWO:
            fix_arcs(arcs, flow, threshold, ZERO, rows)
            allowed = np.zeros(costs.shape, dtype=bool)
            for x, (begin, length) in enumerate(zip(arcs.first[:-1], arcs.size, strict=True)):
                allowed[x, arcs.column[int(begin) : int(begin + length)]] = True
            left = cheapest(costs, allowed)
            if left != best:
                return "no assignment" if left is None else "dearer"
            lockfree.list_active(flow, state, ZERO, ONE)
            lockfree.push_and_relabel(arcs, flow, state, ZERO, ONE, epsilon)
        fix_arcs(arcs, flow, threshold, ZERO, rows)
    return "right"


def cheapest(costs: Array, allowed: Array) -> int | None:
    """Return the cost of an optimal assignment of allowed pairs, None if there is none."""
    from scipy.optimize import linear_sum_assignment

    forbidden = len(costs) * (int(costs.max()) + 1)
    masked = np.where(allowed, costs, forbidden)
    total = int(masked[linear_sum_assignment(masked)].sum())
    return None if total >= forbidden else total


def show(arguments: Sequence[str]) -> None:
    """Solve batches of matrices of each size, and show the outcomes: a part of the paper."""
    settings = read_settings("arc-fixing", arguments, seeds=1, repeats=1)
    batch = SMALL_BATCH if settings.small else BATCH
    record = Record(settings, ("rows", "discharges", "matrices", "seed"))
    for rows, discharges in STEPS:
        for seed in range(settings.seeds):
            if record.lacks(rows, discharges, batch, seed):
                found = Counter(
                    outcome(uniform_integer_costs(rows, largest=LARGEST, seed=each), discharges)
                    for each in range(seed * batch, (seed + 1) * batch)
                )
                step = {"rows": rows, "discharges": discharges, "matrices": batch, "seed": seed}
                record.add({**step, **{name: found[name] for name in OUTCOMES}})
    lines = []
    for rows, discharges in STEPS:
        batches = [
            row
            for row in record.rows
            if (row["rows"], row["discharges"], row["matrices"]) == (rows, discharges, batch)
        ]
        sums = [sum(int(row[name]) for row in batches) for name in OUTCOMES]
        lines.append([f"{rows} to {rows}", *map(str, (discharges, sum(sums), *sums))])
    title = (
        "Assignments by cost scaling that fixes arcs after some discharges of each refine, by what is left "
        "of the optimum. The paper has no such numbers"
    )
    record.show(Table(title, ["size", "discharges", "matrices", *OUTCOMES], lines))
