"""One matrix on many cores: an auction without locks finds prices, shortest augmenting paths finish.

Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of
Operations Research 14 (1988), with epsilon-scaling, over the lists of :mod:`.dense_rows`. Threads reduce the
columns and list the rows' cheapest columns, a share each. Then they take free rows, one at a time: a row bids
for the column that is best for it, so much that it would then rather have its second best, by epsilon. Who
is outbid is held by the thread that outbid it. In the end rows keep columns that are the best for them, by
exact comparison, and the others are assigned by row reduction and shortest augmenting paths on one thread
(:func:`.serial_shortest_path.assign_free_rows`), from these prices: few of them need a search.
:mod:`.auction` has the auction, and why nothing goes wrong whatever the interleaving.

Departures: epsilon is a multiple of the mean gap between the costs that a row lists, and it ends there: from
0.01 gaps on (measured on uniform, geometric, low-rank and Machol-Wien costs) almost no row needs a search.
Where there are more columns than rows, those left over must keep the price zero, so there is one phase, with
epsilon zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.atomics import PADDING
from ..kernels.constants import ZERO
from ..parallel.barrier import make_barrier
from ..parallel.thread_pool import run_solver
from ..solving.options import check_alpha, check_positive_number, limit
from ..solving.run import Control
from .auction import FRACTIONS, Auction, find_prices
from .serial_shortest_path import (
    ShortestPathOptions,
    Start,
    assign_free_rows,
    make_start,
    number_dtype,
    solve_matrix,
    write_solution,
)
from .state import (
    INFEASIBLE,
    INTEGER_LIMITS,
    OVERFLOW,
    STOPPED,
    Solution,
    clear,
    make_state,
    unsolved,
    with_violation,
)

#: For sparse costs, looks at each edge that make up one look at a dense matrix.
SPARSE_LOOKS = 5.0
#: Integers up to this are the same as float64.
EXACT = 2.0**52


@dataclass(frozen=True)
class AuctionOptions:
    """Options of the auction.

    Attributes
    ----------
    epsilon : float
        That of the last phase, in mean gaps between the costs that a row lists.
    first_epsilon : float
        That of the first one.
    alpha : float
        By what epsilon is divided from phase to phase.
    effort : float
        Looks at as many edges as the matrix has after which the auction ends in any case.
    """

    epsilon: float = 0.01
    first_epsilon: float = 1.0
    alpha: float = 10.0
    effort: float = 20.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "first_epsilon", "effort"):
            check_positive_number(name, getattr(self, name))
        check_alpha(self.alpha)


def phases(costs: DenseCosts | SparseCosts, options: AuctionOptions) -> NDArray[np.float64]:
    """Return the epsilons of the phases, in mean gaps."""
    _, n, m = costs.shape
    if n < m:
        values = costs.values
        integer = values.dtype.kind == "i"
        largest = max(-float(values.min(initial=0)), float(values.max(initial=0))) if integer else 0.0
        return np.zeros(1 if 4 * largest <= EXACT else 0)
    epsilons = [options.first_epsilon]
    while epsilons[-1] > options.epsilon * 1.000001:
        epsilons.append(max(epsilons[-1] / options.alpha, options.epsilon))
    return np.array(epsilons)


def solve(
    costs: DenseCosts | SparseCosts, options: AuctionOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost, one matrix after the other on all threads.

    Parameters
    ----------
    costs : DenseCosts or SparseCosts
        To minimise, with at least as many columns as rows.
    options : AuctionOptions
    control : Control
    go_on : bool
        Whether to solve the items after one that is infeasible.

    Notes
    -----
    Memory as :func:`.serial_shortest_path.solve`, and 120 bytes a column on each thread.
    """
    items, n, m = costs.shape
    solution = unsolved(items, n, m, number_dtype(costs))
    start = make_start(costs, ShortestPathOptions())
    epsilons = phases(costs, options)
    control.excess[:] = items * n
    root: Any = ZERO
    done: Any = ZERO
    for item in range(items):
        values = costs.values[item].reshape(-1) if isinstance(costs, DenseCosts) else costs.values[:0]
        use_auction = start.work.lists and auction_matrix(costs, values, start, epsilons, options, control)
        ending: Any = STOPPED
        for run in (assign_free_rows, solve_matrix) if use_auction else (solve_matrix,):
            if control.stopped:
                break
            ending, root, done = run(
                values, start.lists, start.state, start.work, control.stop, control.counts, control.excess
            )
            if ending != OVERFLOW:
                break  # else the searches had too little room below the prices of the auction
        solution.ending[item] = ending
        write_solution(start.state, solution.match[item], solution.u[item], solution.v[item])
        if ending in (STOPPED, OVERFLOW) or (ending == INFEASIBLE and not go_on):
            break
    if INFEASIBLE not in solution.ending:
        return solution
    return with_violation(solution, start.state, root, done)


def auction_matrix(
    costs: DenseCosts | SparseCosts,
    values: NDArray[Any],
    start: Start,
    epsilons: NDArray[np.float64],
    options: AuctionOptions,
    control: Control,
) -> bool:
    """Find prices of one matrix, and give rows columns that are the best for them.

    Returns False where integer prices fell so far that they are of no use: where rows keep the columns that
    they got, they must be exact as floats, else they must leave searches room.
    """
    _, n, m = costs.shape
    threads, dtype = control.threads, number_dtype(costs)
    looks = n * m if isinstance(costs, DenseCosts) else SPARSE_LOOKS * len(costs.values)
    auction = Auction(
        word=np.zeros(m, dtype=np.uint64),
        bid=np.zeros(n),
        start=np.zeros(m),
        price=np.zeros(m),
        rows=np.zeros(n, dtype=np.uint64),
        minima=np.empty((threads, m), dtype=dtype),
        rows_of_minima=np.empty((threads, m)),
        gaps=np.zeros(threads * int(PADDING)),
        fractions=np.zeros(FRACTIONS, dtype=np.uint64),
        signals=np.zeros(4 * int(PADDING), dtype=np.uint64),
        barrier=make_barrier(threads),
        stop=control.stop,
        counts=control.thread_counts,
        budget=limit(options.effort * looks),
        whole=np.dtype(dtype).kind == "i",
        delays=control.delays,
    )
    own = [make_state(0, m, dtype) for _ in range(threads)]
    clear(start.state)

    def share(thread: int) -> None:
        find_prices(
            values, start.lists, auction, start.state, own[thread], np.uint64(thread), np.uint64(threads),
            start.work.reduce_columns, epsilons,
        )  # fmt: skip

    run_solver(share, control, auction.barrier)
    lowest = -EXACT if n < m else -float(INTEGER_LIMITS.far)
    return not auction.whole or m == 0 or float(auction.price.min()) >= lowest
