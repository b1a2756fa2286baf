"""An auction without locks: rows bid for their best columns, many at a time; what its threads share and do.

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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.atomics import PADDING, compare_exchange, fetch_add, load, relaxed_load, relaxed_store
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..parallel.barrier import wait
from ..parallel.delays import delay
from ..parallel.thread_pool import share_of
from ..stats import ARC_SCANS, PUSHES
from .dense_rows import WANTED, column_minima, list_row, match_minima
from .row_reduction import two_best
from .serial_shortest_path import (
    reduce_listed_columns,
)
from .state import NONE, Lists, State

#: The row in a column's word, plus one; above it how often the word has changed.
HALF = np.uint64(32)
ROW = np.uint64(2**32 - 1)
FOUR, TWO = np.uint64(4), np.uint64(2)
#: Positions in Auction.signals: rows taken, rows listed, edges looked at; the phase is over.
TAKEN, LISTED, LOOKED, OVER = (np.uint64(k) * PADDING for k in range(4))
#: Edges that a thread looks at before it adds them to the total.
UNREPORTED = np.uint64(4096)
#: Parts of 0 to 1 that fractions of prices are counted in.
FRACTIONS = 64


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
    reduce_columns: bool,
    epsilons: Any,
) -> None:
    """Reduce columns, list rows, auction: one thread's share.

    `epsilons` are those of the phases, in mean gaps. With one of zero, rows keep the columns that they get.
    """
    if reduce_columns and not reduce_columns_together(cost, lists, auction, state, thread, num_threads):
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
