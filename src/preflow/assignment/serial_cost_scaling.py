"""Cost scaling: pairs within epsilon of the best, for ever smaller epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.kernel import kernel
from ..solving.run import Control
from ..stats import PHASES
from .bidding import IDLE, NOBODY, LATE, TOO_LOW, Bidding, Prices, free_all, make_bidding, refine
from .dense_rows import ROOM, WANTED
from .finish import finish, load, make_repair, rounded
from .serial_shortest_path import ShortestPathOptions
from .serial_shortest_path import solve as solve_by_paths
from .state import (
    INFEASIBLE,
    OVERFLOW,
    SOLVED,
    STOPPED,
    Lists,
    Solution,
    State,
    clear,
    lists_of,
    make_lists,
    make_state,
    unsolved,
    with_violation,
)
import os

VERBOSE = os.environ.get("CSV")


@dataclass(frozen=True)
class CostScalingOptions:
    alpha: float = 10.0
    start: float = 10.0
    jump: float = 2.5
    last: float = 1.5
    final: float = 1e-9


def solve(costs, options: CostScalingOptions, control: Control, go_on: bool = False) -> Solution:
    items, n, m = costs.shape
    dtype = np.int64 if costs.values.dtype.kind == "i" else np.float64
    state = make_state(n, m, dtype)
    solution = unsolved(items, n, m, dtype)
    for item in range(items):
        one = costs.one(item)
        flat = one.values.reshape(-1) if isinstance(costs, DenseCosts) else np.empty(0, dtype)
        lists = make_lists(n, min(ROOM, m), WANTED, dtype) if isinstance(costs, DenseCosts) else lists_of(costs)
        _solve_one(one, flat, lists, state, options, control, solution, item)
    return solution


def _solve_one(one, flat, lists, state, options, control, solution, item):
    import time
    items, n, m = one.shape
    clear(state)
    values = one.values
    least, most = values.min().item(), values.max().item()
    if not np.isfinite(most):
        most = values[np.isfinite(values)].max().item()
    spread = most - least
    integer = values.dtype.kind == "i"
    bidding = make_bidding(n, m, np.int64 if integer else np.float64)
    if integer:
        scale = max(1, min(m + 1, 2**61 // (2 * (spread + 1) * (m + 1))))
        number = np.int64
        floor = -min(2**62, (2 * spread + 2) * (m + 1) * scale)
        beyond = 2**62
    else:
        scale = 1.0
        number = np.float64
        floor = -(2 * spread + 1) * (m + 1)
        beyond = np.inf
    if isinstance(one, SparseCosts):
        bidding.bound[:] = beyond
    epsilon = spread * scale / options.start
    final = 1 if integer else spread * options.final
    while True:
        epsilon = max(epsilon, final)
        prices = Prices(*(number(x) for x in (scale, epsilon, spread * scale, floor, beyond)))
        free_all(bidding)
        t = time.thread_time()
        c0 = control.counts[4]
        ending, bids = refine(flat, lists, state, bidding, prices, np.uint64(2**62), control.stop, control.counts)
        if VERBOSE: print("eps", int(prices.epsilon)if integer else prices.epsilon, "bids/n", round(bids / n, 2), "scans/n",(control.counts[4]-c0)/n, "t", round(time.thread_time() - t,4), ending)
        if ending != SOLVED or epsilon <= final:
            break
        r = bids / n
        f = options.alpha
        if r < options.jump: f = f**2
        if r < options.last: f = 1e18
        epsilon = epsilon / f
    t = time.thread_time()
    owner = bidding.owner.astype(np.int64)
    owner[bidding.owner >= IDLE] = -1
    price = rounded(bidding.price, scale) if integer else bidding.price
    load(state, lists, price, owner)
    slack = np.int64(0) if integer else np.float64(4 * 2**-52 * max(abs(most), abs(least), abs(price).max()))
    a0 = int(control.counts[9])
    ending, root, done = finish(flat, lists, state, make_repair(n, slack), control.stop, control.counts, control.excess)
    if VERBOSE: print("finish", round(time.thread_time() - t,4), ending, int(control.counts[9]) - a0)
    solution.ending[item] = ending
    solution.match[item] = state.row_match.astype(np.int64)
    solution.u[item] = state.matched_cost - state.price[state.row_match.astype(np.int64)]
    solution.v[item] = state.price
