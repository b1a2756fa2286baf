"""One matrix on many cores: an auction without locks finds prices, shortest augmenting paths finish.

Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of
Operations Research 14 (1988), with epsilon-scaling, over the lists of :mod:`.dense_rows`. Threads reduce the
columns and list the rows' cheapest columns, a share each. Then they take free rows, one at a time: a row bids
for the column that is best for it, so much that it would then rather have its second best, by epsilon. Who
is outbid is held by the thread that outbid it. In the end rows keep columns that are the best for them, by
exact comparison, and the others are assigned by row reduction and shortest augmenting paths on one thread
(:func:`.serial_shortest_path.assign_free_rows`), from these prices: few of them need a search.

Departures: epsilon is a multiple of the mean gap between the costs that a row lists, and it ends there: from
0.01 gaps on (measured on uniform, geometric, low-rank and Machol-Wien costs) almost no row needs a search.
Where there are more columns than rows, those left over must keep the price zero, so there is one phase, with
epsilon zero.

Why nothing goes wrong, whatever the interleaving:

- The owner of a column and how often it has changed are one word, which bids replace by compare-and-swap. The
  price of a column is what its owner bid, which stands with the row: it is written while one thread holds the
  row, before the row owns anything, and no more until it is outbid. So who reads a word, the bid and the same
  word again knows the price, and who replaces the word has outbid that price.
- Rows choose by hints, a price for each column that is written after the word. Within a phase prices only
  fall, so a hint that is stale is too high at worst. The second best column is then worse than it seems, the
  row bids less than it might, and epsilon-complementary slackness holds all the more. A row whose best column
  is too dear by its word corrects the hint and looks again.
- Phases, one for each epsilon, begin and end at barriers. What remains undone when the work gets too much, as
  where no assignment exists, is left to the searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.atomics import PADDING, compare_exchange, fetch_add, load, relaxed_load, relaxed_store
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..parallel.barrier import make_barrier, wait
from ..parallel.delays import delay
from ..parallel.thread_pool import run_solver, share_of
from ..solving.options import check_alpha, check_positive_number, limit
from ..solving.run import Control
from ..stats import ARC_SCANS, PUSHES
from .dense_rows import WANTED, column_minima, list_row, match_minima
from .row_reduction import two_best
from .search_state import INTEGER_LIMITS, NONE, Lists, State, clear, make_state
from .serial_shortest_path import (
    ShortestPathOptions,
    Start,
    assign_free_rows,
    make_start,
    number_dtype,
    reduce_listed_columns,
    solve_matrix,
    write_solution,
)
from .solution import INFEASIBLE, OVERFLOW, STOPPED, Solution, unsolved, with_violation

#: The row in a column's word, plus one; above it how often the word has changed.
HALF = np.uint64(32)
ROW = np.uint64(2**32 - 1)
FOUR = np.uint64(4)
#: Positions in Auction.signals: rows taken, rows listed, edges looked at; the phase is over.
TAKEN, LISTED, LOOKED, OVER = (np.uint64(k) * PADDING for k in range(4))
#: Edges that a thread looks at before it adds them to the total.
UNREPORTED = np.uint64(4096)
#: Parts of 0 to 1 that fractions of prices are counted in.
FRACTIONS = 64
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


class Auction(NamedTuple):
    """What the threads share beside the lists and the state.

    Attributes
    ----------
    word : ndarray of uint64, shape (m,)
        The owner of each column plus one, zero for none; above HALF bits how often it has changed.
    bid : ndarray of float64, shape (n,)
        What each row bid last: the price of its column.
    start : ndarray of float64, shape (m,)
        Prices of columns that nobody has owned in this phase.
    price : ndarray of float64, shape (m,)
        Hints.
    rows : ndarray of uint64, shape (n,)
        Rows that were free as the phase began.
    minima, rows_of_minima : ndarray, shape (threads, m)
        What each thread found in its share of the rows.
    gaps : ndarray of float64, shape (threads * PADDING,)
    fractions : ndarray of uint64
        How many prices have a fraction in each part of 0 to 1.
    signals : ndarray of uint64
    barrier, stop, counts, delays : ndarray
    budget : uint64
        Edges to look at, in all phases.
    epsilons : ndarray of float64
        Of the phases, in mean gaps. With one of zero, rows keep the columns that they get.
    reduce_columns : bool
        Whether prices begin at the minima of columns.
    whole : bool
        Whether prices are integers in the end.
    """

    word: NDArray[Any]
    bid: NDArray[Any]
    start: NDArray[Any]
    price: NDArray[Any]
    rows: NDArray[Any]
    minima: NDArray[Any]
    rows_of_minima: NDArray[Any]
    gaps: NDArray[Any]
    fractions: NDArray[Any]
    signals: NDArray[Any]
    barrier: NDArray[Any]
    stop: NDArray[Any]
    counts: NDArray[Any]
    budget: Any
    epsilons: NDArray[np.float64]
    reduce_columns: bool
    whole: bool
    delays: Any = None


@kernel
def two_best_now(lists: Lists, price: Any, row: Any) -> tuple[Any, Any, Any]:
    """Return the least reduced cost that a row's list has now, where its edge is, and the second least."""
    best = second = np.inf
    place: Any = NONE
    k = lists.first[row]
    last = k + lists.size[row]
    while k < last:
        value = np.float64(lists.cost[k]) - relaxed_load(price, lists.column[k])
        if value < second:
            if value < best:
                second = best
                best, place = value, k
            else:
                second = value
        k += ONE
    return best, place, second


@kernel
def list_again(cost: Any, lists: Lists, auction: Auction, own: State, row: Any) -> None:
    """List the columns that are good for `row` now, more of them where there is room."""
    k = ZERO
    while k < np.uint64(len(own.price)):
        price = relaxed_load(auction.price, k)
        own.price[k] = np.ceil(price) if auction.whole else price  # too high at worst
        k += ONE
    if FOUR * lists.wanted[row] <= lists.first[row + ONE] - lists.first[row]:
        lists.wanted[row] *= TWO
    list_row(cost, lists, own, row, ZERO)


@kernel
def owner_and_price(auction: Auction, column: Any) -> tuple[Any, Any]:
    """Return the word of a column, and its price while it had that word."""
    while True:
        word = np.uint64(load(auction.word, column))
        owner = word & ROW
        if owner == ZERO:
            return word, auction.start[column]
        price = load(auction.bid, owner - ONE)
        if np.uint64(load(auction.word, column)) == word:
            return word, price


@kernel
def auction_row(
    cost: Any, lists: Lists, auction: Auction, own: State, thread: Any, row: Any, epsilon: Any
) -> tuple[Any, Any]:
    """Bid for `row`, which the thread holds, until it has a column or must be left free.

    Returns
    -------
    displaced : uint64
        The row that had the column, which the thread holds now; NONE if nobody had.
    looked : uint64
        Edges looked at.
    """
    looked = ZERO
    while relaxed_load(auction.signals, OVER) == ZERO:
        looked += lists.size[row]
        best, place, second = two_best_now(lists, auction.price, row)
        if len(cost) > 0 and second > np.float64(lists.bound[row]):
            list_again(cost, lists, auction, own, row)
            looked += np.uint64(len(own.price)) + lists.size[row]
            best, place, second = two_best_now(lists, auction.price, row)
            second = min(second, np.float64(lists.bound[row]))
        if place == NONE:
            break
        column = np.uint64(lists.column[place])
        word, price = owner_and_price(auction, column)
        value = np.float64(lists.cost[place])
        owned = word & ROW != ZERO
        if value - price > best:  # mutant: believes-the-hint
            relaxed_store(auction.price, column, price)
            continue
        if owned and not (second < np.inf and best < second + epsilon):
            break
        mine = value - second - epsilon if second < np.inf else price
        delay(auction.delays, thread)
        relaxed_store(auction.bid, row, mine)  # mutant: is-not-written
        if compare_exchange(auction.word, column, word, ((word >> HALF) + ONE) << HALF | (row + ONE)):
            delay(auction.delays, thread)
            relaxed_store(auction.price, column, mine)
            auction.counts[thread, PUSHES] += ONE
            return (word & ROW) - ONE if owned else NONE, looked
    return NONE, looked


@kernel
def auction_rows(
    cost: Any, lists: Lists, auction: Auction, own: State, thread: Any, epsilon: Any, size: Any
) -> None:
    """Take rows that were free, and those that they displace, until none is left or it gets too much."""
    signals = auction.signals
    looked = ZERO
    while True:
        k = np.uint64(fetch_add(signals, TAKEN, ONE))
        if k >= size:
            break
        row = auction.rows[k]
        while row != NONE:
            row, more = auction_row(cost, lists, auction, own, thread, row, epsilon)
            looked += more
            if looked > UNREPORTED or relaxed_load(auction.stop, ZERO) != 0:
                auction.counts[thread, ARC_SCANS] += looked
                before = np.uint64(fetch_add(signals, LOOKED, looked))
                looked = ZERO
                if before > auction.budget or relaxed_load(auction.stop, ZERO) != 0:
                    relaxed_store(signals, OVER, ONE)
        if relaxed_load(signals, OVER) != ZERO:
            break
    auction.counts[thread, ARC_SCANS] += looked
    fetch_add(signals, LOOKED, looked)


@kernel
def free_dear_rows(
    lists: Lists, auction: Auction, state: State, thread: Any, num_threads: Any, epsilon: Any
) -> None:
    """List the free rows of the thread's share, and those, freed, that would rather have another column."""
    begin, end = share_of(np.uint64(len(state.row_match)), thread, num_threads)
    for i in range(begin, end):
        column = state.row_match[i]
        if column != NONE:
            best, _, _ = two_best_now(lists, auction.price, i)
            best = min(best, np.float64(lists.bound[i]))
            if np.float64(state.matched_cost[i]) - auction.price[column] > best + epsilon:
                state.row_match[i] = NONE
                state.column_match[column] = NONE
        if state.row_match[i] == NONE:
            auction.rows[np.uint64(fetch_add(auction.signals, LISTED, ONE))] = i


@kernel
def run_phase(
    cost: Any,
    lists: Lists,
    auction: Auction,
    state: State,
    own: State,
    thread: Any,
    num_threads: Any,
    epsilon: Any,
) -> bool:
    """Auction the rows without a column within `epsilon` of the best; False where the team is to return."""
    signals = auction.signals
    if thread == ZERO:
        relaxed_store(signals, TAKEN, ZERO)
        relaxed_store(signals, LISTED, ZERO)
    if not wait(auction.barrier, num_threads):
        return False
    free_dear_rows(lists, auction, state, thread, num_threads, epsilon)
    if not wait(auction.barrier, num_threads):
        return False
    begin, end = share_of(np.uint64(len(state.price)), thread, num_threads)
    for j in range(begin, end):
        row = state.column_match[j]
        auction.start[j] = auction.price[j]
        auction.word[j] = ZERO
        if row != NONE:
            auction.word[j] = row + ONE
            auction.bid[row] = auction.price[j]
            state.row_match[row] = NONE
    size = np.uint64(relaxed_load(signals, LISTED))
    if not wait(auction.barrier, num_threads):
        return False
    auction_rows(cost, lists, auction, own, thread, epsilon, size)
    if not wait(auction.barrier, num_threads):
        return False
    for j in range(begin, end):
        owner = auction.word[j] & ROW
        state.column_match[j] = NONE
        auction.price[j] = auction.start[j]
        if owner != ZERO:
            row = owner - ONE
            auction.price[j] = auction.bid[row]
            state.column_match[j] = row
            state.row_match[row] = j
            k = lists.first[row]
            while np.uint64(lists.column[k]) != j and k + ONE < lists.first[row] + lists.size[row]:
                k += ONE
            state.matched_cost[row] = lists.cost[k]
    over = relaxed_load(signals, OVER)
    return bool(wait(auction.barrier, num_threads)) and over == ZERO


@kernel
def reduce_columns_together(
    cost: Any, lists: Lists, auction: Auction, state: State, thread: Any, num_threads: Any
) -> bool:
    """Do what reduction of columns does on one thread; False where the team is to return."""
    num_rows = np.uint64(len(state.row_match))
    if len(cost) == 0:
        if thread == ZERO:
            reduce_listed_columns(lists, state)
        return wait(auction.barrier, num_threads)
    begin, end = share_of(num_rows, thread, num_threads)
    if begin < end:
        column_minima(
            cost, begin, end, auction.minima[thread], auction.rows_of_minima[thread], state.limits.zero
        )
    if not wait(auction.barrier, num_threads):
        return False
    begin, end = share_of(np.uint64(len(state.price)), thread, num_threads)
    for j in range(begin, end):
        state.price[j] = state.limits.beyond
        state.via[j] = 0
    for other in range(num_threads):
        first, last = share_of(num_rows, other, num_threads)
        for j in range(begin, end):
            if first < last and auction.minima[other, j] < state.price[j]:
                state.price[j] = auction.minima[other, j]
                state.via[j] = auction.rows_of_minima[other, j]
    if not wait(auction.barrier, num_threads):
        return False
    if thread == ZERO:
        match_minima(state)
    return wait(auction.barrier, num_threads)


@kernel
def list_share(
    cost: Any, lists: Lists, auction: Auction, state: State, own: State, thread: Any, num_threads: Any
) -> None:
    """List the rows of the thread's share; write the sum of the gaps between what they list."""
    begin, end = share_of(np.uint64(len(state.price)), thread, num_threads)
    for j in range(begin, end):
        auction.price[j] = state.price[j]
    for j in range(np.uint64(len(state.price))):
        own.price[j] = state.price[j]
    begin, end = share_of(np.uint64(len(state.row_match)), thread, num_threads)
    gaps = 0.0
    for i in range(begin, end):
        if relaxed_load(auction.stop, ZERO) != 0:
            break
        if len(cost) > 0:
            lists.wanted[i] = np.uint64(WANTED)
            list_row(cost, lists, own, i, ZERO)
        least, most = np.inf, -np.inf
        for k in range(lists.first[i], lists.first[i] + lists.size[i]):
            value = np.float64(lists.cost[k] - own.price[lists.column[k]])
            least, most = min(least, value), max(most, value)
        if lists.size[i] > ONE:
            gaps += (most - least) / np.float64(lists.size[i] - ONE)
    auction.gaps[thread * PADDING] = gaps


@kernel
def threshold(auction: Auction) -> Any:
    """Return the fraction from which on prices are rounded up: one that few have.

    Rows and columns that belong together have prices whose fractions differ by epsilon only.
    """
    bins = np.uint64(len(auction.fractions))
    for k in range(bins):
        auction.fractions[k] = ZERO
    for j in range(np.uint64(len(auction.price))):
        price = auction.price[j]
        place = min(np.uint64((price - np.floor(price)) * np.float64(bins)), bins - ONE)
        auction.fractions[place] += ONE
    least = ZERO
    for k in range(bins):
        if auction.fractions[k] < auction.fractions[least]:
            least = np.uint64(k)
    return (np.float64(least) + 0.5) / np.float64(bins)


@kernel
def take_prices(auction: Auction, state: State, thread: Any, num_threads: Any) -> bool:
    """Take the thread's share of the prices over, rounded where they are to be integers."""
    if auction.whole:
        if thread == ZERO:
            least_frequent = threshold(auction)
            auction.gaps[ZERO] = least_frequent
        if not wait(auction.barrier, num_threads):
            return False
    fraction = auction.gaps[ZERO]
    begin, end = share_of(np.uint64(len(state.price)), thread, num_threads)
    for j in range(begin, end):
        price = auction.price[j]
        if auction.whole:
            below = np.floor(price)
            price = (
                below + 1.0 if price - below >= fraction else below
            )  # both exact, unlike a sum of fractions
        state.price[j] = price
    return wait(auction.barrier, num_threads)


@kernel
def keep_best(lists: Lists, state: State, thread: Any, num_threads: Any) -> None:
    """Free the rows of the thread's share whose columns are not exactly the best for them."""
    begin, end = share_of(np.uint64(len(state.row_match)), thread, num_threads)
    for i in range(begin, end):
        column = state.row_match[i]
        if column != NONE:
            best, _, _, _ = two_best(lists, state.price, i, state.limits.beyond)
            if state.matched_cost[i] - state.price[column] > min(best, lists.bound[i]):
                state.row_match[i] = NONE
                state.column_match[column] = NONE


@kernel
def find_prices(
    cost: Any,
    lists: Lists,
    auction: Auction,
    state: State,
    own: State,
    thread: Any,
    num_threads: Any,
) -> None:
    """Reduce columns, list rows, auction: one thread's share."""
    epsilons = auction.epsilons
    if auction.reduce_columns and not reduce_columns_together(
        cost, lists, auction, state, thread, num_threads
    ):
        return
    list_share(cost, lists, auction, state, own, thread, num_threads)
    if not wait(auction.barrier, num_threads):
        return
    gap = 0.0
    for other in range(num_threads):
        gap += auction.gaps[other * PADDING] / np.float64(len(state.row_match))
    for k in range(np.uint64(len(epsilons))):
        if not run_phase(cost, lists, auction, state, own, thread, num_threads, epsilons[k] * gap):
            break
    square = len(epsilons) > 0 and epsilons[ZERO] > 0
    if take_prices(auction, state, thread, num_threads) and square:
        keep_best(lists, state, thread, num_threads)


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
            ending, root, done = run(values, start, control.monitor())
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
        epsilons=epsilons,
        reduce_columns=start.work.reduce_columns,
        whole=np.dtype(dtype).kind == "i",
        delays=control.delays,
    )
    own = [make_state(0, m, dtype) for _ in range(threads)]
    clear(start.state)

    def share(thread: int) -> None:
        find_prices(
            values, start.lists, auction, start.state, own[thread], np.uint64(thread), np.uint64(threads),
        )  # fmt: skip

    run_solver(share, control, auction.barrier)
    lowest = -EXACT if n < m else -float(INTEGER_LIMITS.far)
    return not auction.whole or m == 0 or float(auction.price.min()) >= lowest
