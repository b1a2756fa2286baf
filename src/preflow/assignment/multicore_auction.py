"""One matrix on many cores: a lock-free auction finds prices, shortest augmenting paths finish.

Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of
Operations Research 14 (1988), with epsilon-scaling, over the lists of :mod:`.dense_rows`.

Definitions
-----------
- A row *bids* for its best column: it lowers the column's price until its second best column is better by
  epsilon. A row that had the column is *displaced*.
- A thread *owns* a row while it bids for it. A displaced row is owned by the thread that displaced it.
- The *word* of a column is its owner row and the number of changes of owner. Bids replace it by
  compare-and-swap.
- The *hint* of a column is a copy of its price that may be old.

Invariants
----------
- The price of a column is the bid of the row in its word. The bid is stored with the row: the thread that
  owns the row writes it, before the row owns a column, and never again until the row is displaced. So a
  thread that reads the word, the bid, and the same word again knows the price; and a thread that replaces the
  word has outbid that price.
- Within a phase prices only fall, so an old hint is too high at worst. The second best column then seems
  worse than it is, the row bids less than it could, and epsilon-complementary slackness still holds: no row
  has a column that is worse than its best by more than epsilon.
- Phases begin and end at barriers, and so does each use of arrays that all threads write.

Pseudo-code
-----------
::

    each thread:                                                           find_prices
        reduce its share of the columns                                    reduce_columns_together
        list its share of the rows, and measure the gaps of their costs    list_share
        for each epsilon, in mean gaps:                                    run_phase
            free and list the rows whose column is not their best by more than epsilon
            take listed rows, and for each:                                auction_rows
                bid until the row has a column                             auction_row
                if it displaced a row: bid for that row next
            store owners and prices
        round prices, if costs are integers                                copy_prices
        free the rows whose column is not exactly their best               release_rows
    one thread assigns the free rows by row reduction and shortest augmenting paths

The auction stops when it has read too many costs, for example because there is no assignment. The searches
then do the rest. They belong to this method, whose prices they start from, and are no attempt of a plan.

Departures: epsilon is a multiple of the mean gap between the costs that a row lists. It ends at 0.01 gaps:
from there on almost no row needs a search (measured on uniform, geometric, low-rank and Machol-Wien costs).
With more columns than rows, columns left over must keep the price 0, so there is one phase with epsilon 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Index, Int64, Numbers
from ..graph.costs import DenseCosts, SparseCosts
from ..kernels.atomics import PADDING, compare_exchange, fetch_add, load, relaxed_load, relaxed_store
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..parallel.barrier import make_barrier, wait
from ..parallel.delays import delay
from ..parallel.thread_pool import run_solver, share_of
from ..solving.monitor import Monitor
from ..solving.options import Alpha, CheckedOptions, PositiveNumber, limit
from ..solving.run import Control
from ..stats import ARC_SCANS, PUSHES
from .augmenting_paths import list_free_rows
from .dense_rows import WANTED, column_minima, list_row, match_minima
from .most_pairs import find_violation
from .row_reduction import two_best
from .scaling_finish import Repair, finish, make_repair
from .search_state import INTEGER_LIMITS, NONE, Lists, SearchState, clear, make_state
from .shortest_paths import (
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

#: Parts of a column's word: the lower half is its row plus one, the upper half counts changes.
HALF = np.uint64(32)
ROW = np.uint64(2**32 - 1)
FOUR = np.uint64(4)
#: Positions in Auction.signals: number of rows taken, of rows listed, of costs read; whether the auction is
#: over.
TAKEN, LISTED, LOOKED, OVER = (np.uint64(k) * PADDING for k in range(4))
#: Costs that a thread reads before it adds them to the total.
UNREPORTED = np.uint64(4096)
#: The most listed rows that a thread takes at a time.
CHUNK = np.uint64(64)
#: Number of intervals of the histogram of fractions of prices.
FRACTIONS = 64
#: For sparse costs, one unit of `effort` is this many reads of each pair.
SPARSE_LOOKS = 5.0
#: The epsilon of the first and of the last phase, in mean gaps between the costs that a row lists. For sparse
#: costs phases are cheap and searches long.
FIRST_EPSILON, LAST_EPSILON, LAST_SPARSE = 1.0, 0.01, 1e-7
#: Integers up to this are exact as float64.
EXACT = 2.0**52


@dataclass(frozen=True)
class AuctionOptions(CheckedOptions):
    """Options of the auction.

    Attributes
    ----------
    alpha : float
        The divisor of epsilon from phase to phase.
    effort : float
        The auction ends after this many reads of the whole matrix.
    """

    alpha: Alpha = 10.0
    effort: PositiveNumber = 20.0


class Auction(NamedTuple):
    """Arrays and numbers that the threads share, besides lists and state."""

    #: shape (m,): the row of each column plus one, or zero; the number of its changes in the upper half
    word: NDArray[np.uint64]
    #: shape (n,): the last bid of each row, which is the price of its column
    bid: NDArray[np.float64]
    #: shape (m,): the prices at the start of the phase, of columns without a row
    start: NDArray[np.float64]
    price: NDArray[np.float64]  #: shape (m,): the hints
    rows: NDArray[np.uint64]  #: shape (n,): the rows that are free when the phase begins
    #: shape (threads, m): the least cost of each column in the rows of each thread, and minus the row that
    #: has it
    minima: Numbers
    rows_of_minima: NDArray[np.float64]
    #: shape (threads * PADDING,): the sum of the gaps of each thread's rows
    gaps: NDArray[np.float64]
    fractions: NDArray[np.uint64]  #: a histogram of the fractions of prices
    #: counters and a flag at the positions TAKEN, LISTED, LOOKED and OVER
    signals: NDArray[np.uint64]
    barrier: NDArray[np.int64]
    stop: NDArray[np.int64]
    counts: NDArray[np.uint64]
    budget: np.uint64  #: the number of costs that all phases together may read
    #: the epsilons of the phases, in mean gaps. If the first one is zero, rows keep their columns.
    epsilons: NDArray[np.float64]
    reduce_columns: bool  #: whether prices start at the minima of columns
    whole: bool  #: whether prices are rounded to integers at the end
    delays: NDArray[np.uint64] | None = None


@kernel
def reduce_columns_together(
    cost: Numbers,
    lists: Lists,
    auction: Auction,
    state: SearchState,
    thread: np.uint64,
    num_threads: np.uint64,
) -> bool:
    """Reduce columns on all threads; return False if all threads are to return."""
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
    cost: Numbers,
    lists: Lists,
    auction: Auction,
    state: SearchState,
    own: SearchState,
    thread: np.uint64,
    num_threads: np.uint64,
) -> None:
    """List the thread's share of the rows; write the sum of their mean gaps between listed costs."""
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
def two_best_now(lists: Lists, price: NDArray[np.float64], row: Index) -> tuple[float, np.uint64, float]:
    """Return the least reduced cost of a row's list by hints, its place, and the second least."""
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
def release_and_list_rows(
    lists: Lists,
    auction: Auction,
    state: SearchState,
    thread: np.uint64,
    num_threads: np.uint64,
    epsilon: float,
) -> None:
    """Free rows whose column is not their best up to epsilon; list all free rows; one thread's share."""
    begin, end = share_of(np.uint64(len(state.row_match)), thread, num_threads)
    free = ZERO
    for i in range(begin, end):
        column = state.row_match[i]
        if column != NONE:
            best, _, _ = two_best_now(lists, auction.price, i)
            best = min(best, np.float64(lists.bound[i]))
            if np.float64(state.matched_cost[i]) - auction.price[column] > best + epsilon:
                state.row_match[i] = NONE
                state.column_match[column] = NONE
        if state.row_match[i] == NONE:
            free += ONE
    place = np.uint64(fetch_add(auction.signals, LISTED, free))
    for i in range(begin, end):
        if state.row_match[i] == NONE:
            auction.rows[place] = i
            place += ONE


@kernel
def list_row_again(cost: Numbers, lists: Lists, auction: Auction, own: SearchState, row: np.uint64) -> None:
    """List a row again at the current hints, with more columns if there is space."""
    k = ZERO
    while k < np.uint64(len(own.price)):
        price = relaxed_load(auction.price, k)
        own.price[k] = np.ceil(price) if auction.whole else price  # too high at worst, like an old hint
        k += ONE
    if FOUR * lists.wanted[row] <= lists.first[row + ONE] - lists.first[row]:
        lists.wanted[row] *= TWO
    list_row(cost, lists, own, row, ZERO)


@kernel
def owner_and_price(auction: Auction, column: np.uint64) -> tuple[np.uint64, float]:
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
    cost: Numbers,
    lists: Lists,
    auction: Auction,
    own: SearchState,
    thread: np.uint64,
    row: np.uint64,
    epsilon: float,
) -> tuple[np.uint64, np.uint64]:
    """Bid for `row`, which the thread owns, until it has a column or must stay free.

    Return the row that had the column, which the thread now owns, or NONE; and the number of costs read.
    """
    looked = ZERO
    while relaxed_load(auction.signals, OVER) == ZERO:
        # Find the best and the second best column by hints.
        looked += lists.size[row]
        best, place, second = two_best_now(lists, auction.price, row)
        if len(cost) > 0 and second > np.float64(lists.bound[row]):
            list_row_again(cost, lists, auction, own, row)
            looked += np.uint64(len(own.price)) + lists.size[row]
            best, place, second = two_best_now(lists, auction.price, row)
            second = min(second, np.float64(lists.bound[row]))
        if place == NONE:
            break
        # Read the true price; correct the hint if it is too high.
        column = np.uint64(lists.column[place])
        word, price = owner_and_price(auction, column)
        value = np.float64(lists.cost[place])
        owned = word & ROW != ZERO
        if value - price > best:  # mutant: believes-the-hint
            relaxed_store(auction.price, column, price)
            continue
        if owned and not (second < np.inf and best < second + epsilon):
            break
        # Bid.
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
    cost: Numbers,
    lists: Lists,
    auction: Auction,
    own: SearchState,
    thread: np.uint64,
    epsilon: float,
    size: np.uint64,
) -> None:
    """Bid for listed rows, and for those that they displace, until none is left or the budget is spent."""
    signals = auction.signals
    looked = k = last = ZERO
    chunk = max(ONE, min(CHUNK, size // (CHUNK * np.uint64(len(auction.counts)))))
    while True:
        if k == last:
            k = np.uint64(fetch_add(signals, TAKEN, chunk))
            last = min(k + chunk, size)
            if k >= size:
                break
        row = auction.rows[k]
        k += ONE
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
def run_phase(
    cost: Numbers,
    lists: Lists,
    auction: Auction,
    state: SearchState,
    own: SearchState,
    thread: np.uint64,
    num_threads: np.uint64,
    epsilon: float,
) -> bool:
    """Hold one phase of the auction; return False if all threads are to return."""
    signals = auction.signals
    if thread == ZERO:
        relaxed_store(signals, TAKEN, ZERO)
        relaxed_store(signals, LISTED, ZERO)
    if not wait(auction.barrier, num_threads):
        return False
    # Free and list rows.
    release_and_list_rows(lists, auction, state, thread, num_threads, epsilon)
    if not wait(auction.barrier, num_threads):
        return False
    # Write words and bids of the thread's share of the columns.
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
    # Bid.
    auction_rows(cost, lists, auction, own, thread, epsilon, size)
    if not wait(auction.barrier, num_threads):
        return False
    # Store owners and prices.
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
def threshold(auction: Auction) -> float:
    """Return a fraction that few prices have; prices with a larger one are rounded up.

    The prices of columns that compete for the same rows have fractions that differ by epsilon only, so they
    are rounded in the same direction.
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
def copy_prices(auction: Auction, state: SearchState, thread: np.uint64, num_threads: np.uint64) -> bool:
    """Copy the thread's share of the prices to the state, rounded if they are to be integers."""
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
def release_rows(lists: Lists, state: SearchState, thread: np.uint64, num_threads: np.uint64) -> None:
    """Free the rows of the thread's share whose column is not exactly their best."""
    begin, end = share_of(np.uint64(len(state.row_match)), thread, num_threads)
    for i in range(begin, end):
        column = state.row_match[i]
        if column != NONE:
            best, _, _, _ = two_best(lists, state.price, i, state.limits.beyond)
            if state.matched_cost[i] - state.price[column] > min(best, lists.bound[i]):
                state.row_match[i] = NONE
                state.column_match[column] = NONE


@kernel
def finish_sparse(
    cost: Numbers, start: Start, repair: Repair, monitor: Monitor
) -> tuple[Int64, np.uint64, np.uint64]:
    """Assign the free rows after an auction for sparse costs; return as :func:`..augment_rows`.

    If no row is free, lower prices make most rows content.
    """
    state = start.state
    if list_free_rows(state) == ZERO:
        return finish(cost, start.lists, state, repair, monitor)
    release_rows(start.lists, state, ZERO, ONE)
    return assign_free_rows(cost, start, monitor)


@kernel
def find_prices(
    cost: Numbers,
    lists: Lists,
    auction: Auction,
    state: SearchState,
    own: SearchState,
    thread: np.uint64,
    num_threads: np.uint64,
) -> None:
    """Reduce columns, list rows and hold the auction: one thread's share."""
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
    if copy_prices(auction, state, thread, num_threads) and square and len(cost) > 0:
        release_rows(lists, state, thread, num_threads)


def phases(costs: DenseCosts | SparseCosts, options: AuctionOptions) -> NDArray[np.float64]:
    """Return the epsilons of the phases, in mean gaps."""
    _, n, m = costs.shape
    if n < m:
        values = costs.values
        integer = values.dtype.kind == "i"
        largest = max(-float(values.min(initial=0)), float(values.max(initial=0))) if integer else 0.0
        return np.zeros(1 if 4 * largest <= EXACT else 0)
    epsilons, last = [FIRST_EPSILON], LAST_EPSILON if isinstance(costs, DenseCosts) else LAST_SPARSE
    while epsilons[-1] > last * 1.000001:
        epsilons.append(max(epsilons[-1] / options.alpha, last))
    return np.array(epsilons)


def auction_matrix(
    costs: DenseCosts | SparseCosts,
    values: Array,
    start: Start,
    epsilons: NDArray[np.float64],
    options: AuctionOptions,
    control: Control,
) -> bool:
    """Find prices of one matrix by an auction, and match rows with their best columns.

    Returns False if integer prices are too low to be of use: they must be exact as floats if rows keep their
    columns; otherwise they must leave the searches enough of the range of 64 bits.
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
    # Threads list rows of dense costs at prices of their own.
    own = [make_state(0, m, dtype) if len(values) else start.state for _ in range(threads)]
    clear(start.state)

    def share(thread: int) -> None:
        find_prices(
            values, start.lists, auction, start.state, own[thread], np.uint64(thread), np.uint64(threads),
        )  # fmt: skip

    run_solver(share, control, auction.barrier)
    lowest = -EXACT if n < m else -float(INTEGER_LIMITS.far)
    return not auction.whole or m == 0 or float(auction.price.min()) >= lowest


def solve(
    costs: DenseCosts | SparseCosts, options: AuctionOptions, control: Control, go_on: bool = False
) -> Solution:
    """Assign a column to every row at the least cost, one matrix after the other on all threads.

    Memory as of :func:`.serial_shortest_path.solve`, and 120 bytes per column for each thread.
    """
    items, n, m = costs.shape
    solution = unsolved(items, n, m, number_dtype(costs))
    start = make_start(costs, ShortestPathOptions())
    epsilons = phases(costs, options)
    repair = make_repair(n, number_dtype(costs))
    control.progress[:] = items * n
    root: Any = ZERO
    done: Any = ZERO
    for item in range(items):
        values = costs.values[item].reshape(-1) if isinstance(costs, DenseCosts) else costs.values[:0]
        use_auction = start.work.lists and auction_matrix(costs, values, start, epsilons, options, control)
        ending: Any = STOPPED
        if use_auction and isinstance(costs, SparseCosts) and NONE in start.state.row_match:
            violation = find_violation(costs, control)
            if violation is not None:
                solution.ending[item] = INFEASIBLE
                return solution._replace(violating_rows=violation[0], violating_columns=violation[1])
        sparse = isinstance(costs, SparseCosts) and n == m
        for after_auction in (True, False) if use_auction else (False,):
            if control.stopped:
                break
            if not after_auction:
                ending, root, done = solve_matrix(values, start, control.monitor())
            elif sparse:
                ending, root, done = finish_sparse(values, start, repair, control.monitor())
            else:
                ending, root, done = assign_free_rows(values, start, control.monitor())
            if ending != OVERFLOW:
                break  # otherwise prices got too low for 64 bits: solve again without the auction
        solution.ending[item] = ending
        write_solution(start.state, solution.match[item], solution.u[item], solution.v[item])
        if ending in (STOPPED, OVERFLOW) or (ending == INFEASIBLE and not go_on):
            break
    if INFEASIBLE not in solution.ending:
        return solution
    return with_violation(solution, start.state, root, done)
