"""Lock-free assignment solvers in every state that two or three threads can reach in tiny cases."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import NamedTuple

import numpy as np

from preflow.assignment import multicore_auction as auction
from preflow.assignment.lockfree_scaling import Arcs, Flow, fixing_threshold, make_flow, reduced_costs
from preflow.assignment.search_state import Lists, SearchState, make_state
from preflow.kernels import atomics
from preflow.papers.lupinska import multicore_lockfree as lockfree
from preflow.parallel import inboxes
from preflow.solving.run import COUNTER_ROW
from tests.invariants.lockfree_scaling import check_invariants
from tests.invariants.multicore_auction import check_invariants as check_multicore_auction
from tests.support.exploration import (
    Cases,
    Mutants,
    add_in_two_steps,
    edit,
    exchange_for,
    exploration_tests,
    hold_constant,
    impatient_barrier,
    look_then_set,
    mutate,
    serve,
    uncounted,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values

ZERO, ONE = np.uint64(0), np.uint64(1)
Costs = list[list[int]]

#: All rows want the first column; so do both, by far; and rows that agree on all.
SAME = [[0, 4], [0, 4]]
FAR = [[0, 9], [0, 3]]
EQUAL = [[1, 1], [1, 1]]
CHAIN = [[0, 1, 9], [0, 9, 2], [9, 0, 9]]
THREE = [[0, 2, 4], [0, 1, 4], [0, 2, 3]]
#: Both rows want the first column, and one of them must take the second at a cost of ten epsilon.
ALIKE = [[0, 10], [0, 10]]


# Algorithm 5.4


class Refine(NamedTuple):
    """What the threads of a refine share."""

    arcs: Arcs
    flow: Flow
    state: lockfree.State


def arcs_of(costs: Costs, scale: int) -> Arcs:
    size = len(costs)
    first = np.arange(size + 1, dtype=np.uint64) * np.uint64(size)
    column = np.tile(np.arange(size, dtype=np.uint32), size)
    cost = np.array(costs, dtype=np.int64).reshape(-1) * scale
    return Arcs(first, np.full(size, size, dtype=np.uint64), column, cost)


def check_flow(arcs: Arcs, epsilon: int, shared: Refine, results: list[None]) -> None:
    """Every column has one unit, and every residual arc a reduced cost of at least minus epsilon."""
    check_invariants(arcs, shared.flow, epsilon)


def check_meeting(arcs: Arcs, epsilon: int, shared: Refine, results: list[None]) -> None:
    """The threads met, or the refine is over and they know it."""
    flow, over = shared.flow, shared.state.signals[lockfree.OVER]
    assert over in (ONE, np.uint64(2))
    if over == ONE:
        check_invariants(arcs, flow, epsilon)
    else:
        assert flow.excess.min() < 0, "the refine is over, and no thread knows it"
        for x, word in enumerate(flow.at):  # what PriceUpdate.saturate does
            if word != lockfree.NOWHERE:
                k, y = int(word >> lockfree.HALF), int(word & lockfree.COLUMN)
                if arcs.cost[k] + flow.row_price[x] - flow.column_price[y] > epsilon:
                    flow.at[x] = lockfree.NOWHERE
                    flow.excess[y] -= 1
                    assert flow.excess[y] >= 0
        assert reduced_costs(arcs, flow).min() >= -epsilon


def refine(costs: Costs, epsilon: int, num_threads: int = 2, cycles: int = 0) -> Outcome:
    """One refine, from prices of zero; the threads meet after a number of discharges of one, 0 for never."""
    arcs = arcs_of(costs, 1)
    size = len(costs)

    def member(thread: int) -> Thread:
        me, threads, step = np.uint64(thread), np.uint64(num_threads), np.int64(epsilon)
        return lambda shared: lockfree.push_and_relabel(
            shared.arcs, shared.flow, shared.state, me, threads, step
        )

    def make_case() -> tuple[Refine, list[Thread]]:
        flow = make_flow(size)
        lists = inboxes.make_inboxes(num_threads, 2 * size, np.uint32)
        lists.patience[0] = 0
        stop = np.zeros(1, np.int64)
        barrier = np.zeros(1, np.int64)
        hold_constant((lists.patience, stop, barrier, *arcs))
        state = lockfree.State(
            lists=lists,
            signals=np.zeros(2 * int(lockfree.PADDING), np.uint64),
            cycles=np.uint64(cycles),
            barrier=barrier,
            stop=stop,
            counts=uncounted(num_threads, COUNTER_ROW),
            block_bits=ZERO,
        )
        lockfree.start_refine(arcs, flow, np.int64(epsilon), ZERO, np.uint64(size))
        for thread in range(num_threads):
            lockfree.list_rows(flow, state, np.uint64(thread), np.uint64(num_threads))
        return Refine(arcs, flow, state), [member(thread) for thread in range(num_threads)]

    return explore(make_case, None, partial(check_meeting if cycles else check_flow, arcs, epsilon))


def check_kept(costs: Costs, epsilon: int, shared: Refine, results: list[None]) -> None:
    """Every optimal assignment has arcs that are not fixed; if the refine is over, so is the flow."""
    size = len(costs)
    arcs = shared.arcs
    kept = {
        (x, int(arcs.column[k]))
        for x in range(size)
        for k in range(int(arcs.first[x]), int(arcs.first[x] + arcs.size[x]))
    }
    totals = {order: sum(costs[x][y] for x, y in enumerate(order)) for order in permutations(range(size))}
    best = min(totals.values())
    for order in (order for order, total in totals.items() if total == best):
        assert set(enumerate(order)) <= kept, f"the optimal assignment {order} needs an arc that is fixed"
    if shared.state.signals[lockfree.OVER] == ONE:
        check_invariants(arcs, shared.flow, epsilon)


def refine_and_fix(costs: Costs, epsilon: int, cycles: int) -> Outcome:
    """A share of a refine by two threads, with arc fixing if it is over; they meet after some discharges."""
    size, num_threads = len(costs), 2
    threshold = np.int64(fixing_threshold(size, epsilon))

    def member(thread: int) -> Thread:
        me, threads, step = np.uint64(thread), np.uint64(num_threads), np.int64(epsilon)
        return lambda shared: lockfree.refine_share(
            shared.arcs, shared.flow, shared.state, me, threads, step, threshold, False
        )

    def make_case() -> tuple[Refine, list[Thread]]:
        arcs = arcs_of(costs, 1)
        lists = inboxes.make_inboxes(num_threads, 2 * size, np.uint32)
        lists.patience[0] = 0
        stop = np.zeros(1, np.int64)
        hold_constant((lists.patience, stop, arcs.first))
        state = lockfree.State(
            lists=lists,
            signals=np.zeros(2 * int(lockfree.PADDING), np.uint64),
            cycles=np.uint64(cycles),
            barrier=impatient_barrier(num_threads),
            stop=stop,
            counts=uncounted(num_threads, COUNTER_ROW),
            block_bits=ZERO,
        )
        return Refine(arcs, make_flow(size), state), [member(thread) for thread in range(num_threads)]

    return explore(make_case, None, partial(check_kept, costs, epsilon))


# The auction


class Sale(NamedTuple):
    """What the threads of a phase share."""

    lists: Lists
    auction: auction.Auction
    own: SearchState


def check_sale(costs: Costs, epsilon: float, shared: Sale, results: list[None]) -> None:
    """Every row has a column that is within epsilon of the best for it, by the prices bid."""
    check_multicore_auction(np.array(costs), shared.auction, epsilon)


def sale(costs: Costs, epsilon: float, num_threads: int = 2) -> Outcome:
    """One phase, from prices of zero."""
    size = len(costs)
    lists = Lists(
        first=np.arange(size + 1, dtype=np.uint64) * np.uint64(size),
        size=np.full(size, size, dtype=np.uint64),
        column=np.tile(np.arange(size, dtype=np.uint32), size),
        cost=np.array(costs, dtype=np.float64).reshape(-1),
        bound=np.full(size, np.inf),
        built=np.zeros(size, dtype=np.uint64),
        wanted=np.zeros(size, dtype=np.uint64),
    )
    (sparse,) = hold_constant((np.zeros(0),))

    def member(thread: int) -> Thread:
        me, step, rows = np.uint64(thread), np.float64(epsilon), np.uint64(size)
        return lambda shared: auction.auction_rows(
            sparse, shared.lists, shared.auction, shared.own, me, step, rows
        )

    def make_case() -> tuple[Sale, list[Thread]]:
        shared = auction.Auction(
            word=np.zeros(size, dtype=np.uint64),
            bid=np.zeros(size),
            start=np.zeros(size),
            price=np.zeros(size),
            rows=np.arange(size, dtype=np.uint64),
            minima=np.zeros((1, 1)),
            rows_of_minima=np.zeros((1, 1)),
            gaps=np.zeros(1),
            fractions=np.zeros(1, dtype=np.uint64),
            signals=np.zeros(4 * int(auction.PADDING), dtype=np.uint64),
            barrier=np.zeros(1, dtype=np.int64),
            stop=np.zeros(1, dtype=np.int64),
            counts=uncounted(num_threads, COUNTER_ROW),
            budget=np.uint64(2**62),
            epsilons=np.zeros(1),
            reduce_columns=False,
            whole=False,
        )
        own = make_state(0, size, np.float64)
        numbers = (own.limits.mask, own.limits.beyond)
        assert numbers == (np.inf, np.inf)
        constant = [part for part in own if isinstance(part, np.ndarray)]
        hold_constant((shared.start, shared.rows, shared.minima, shared.rows_of_minima, shared.gaps))
        hold_constant((shared.epsilons, shared.fractions, shared.barrier, shared.stop, *lists, *constant))
        return Sale(lists, shared, own), [member(thread) for thread in range(num_threads)]

    return explore(make_case, None, partial(check_sale, costs, epsilon))


CASES: Cases = {
    "refine-same": lambda: refine(SAME, 1),
    "refine-far": lambda: refine(FAR, 2),
    "refine-equal": lambda: refine(EQUAL, 1),
    "refine-chain": lambda: refine(CHAIN, 4),
    "refine-three": lambda: refine(THREE, 3),
    "refine-far-3": lambda: refine(FAR, 3, num_threads=3),
    "refine-meets": lambda: refine(EQUAL, 1, cycles=3),
    "refine-three-meets": lambda: refine(THREE, 3, cycles=3),
    "refine-alike-fixes": lambda: refine_and_fix(ALIKE, 1, cycles=0),
    "refine-alike-meets-and-fixes": lambda: refine_and_fix(ALIKE, 1, cycles=3),
    "sale-same": lambda: sale(SAME, 1.0),
    "sale-far": lambda: sale(FAR, 1.0),
    "sale-equal": lambda: sale(EQUAL, 0.5),
    "sale-chain": lambda: sale(CHAIN, 2.0),
    "sale-three": lambda: sale(THREE, 2.0),
    "sale-far-3": lambda: sale(FAR, 3.0, num_threads=3),
}

MUTANTS: Mutants = {
    "row: counts the unit before it is there": (
        "refine-three",
        edit(
            lockfree.discharge_row,
            "    store(flow.at, x, best << HALF | y)\n"
            "    delay(state.delays, thread)\n"
            "    before = fetch_add(flow.excess, y, 1)\n",
            "    before = fetch_add(flow.excess, y, 1)\n    store(flow.at, x, best << HALF | y)\n",
        ),
        "a residual arc has the reduced cost",
    ),
    "row: counts in two steps": (
        "refine-three",
        exchange_for(atomics.fetch_add, add_in_two_steps),
        "excess",
    ),
    "row: rises above the price that its arcs allow": (
        "refine-far",
        mutate(
            lockfree.discharge_row,
            "rises-above-the-price-that-its-arcs-allow",
            "relaxed_store(flow.row_price, x, -(least + epsilon + epsilon + epsilon))",
        ),
        "a residual arc has the reduced cost",
    ),
    "column: falls below the price that its arcs allow": (
        "refine-three",
        mutate(
            lockfree.discharge_column,
            "falls-below-the-price-that-its-arcs-allow",
            "relaxed_store(flow.column_price, y, -(least + 3 * epsilon))",
        ),
        "a residual arc has the reduced cost",
    ),
    "meeting: hides that the refine is over": (
        "refine-meets",
        mutate(
            lockfree.push_and_relabel,
            "hides-that-the-refine-is-over",
            "relaxed_store(state.signals, OVER, TWO)",
        ),
        "no thread knows it",
    ),
    "meeting: fixes arcs in the middle of a refine, as printed": (
        "refine-alike-meets-and-fixes",
        edit(
            lockfree.refine_share,
            "    if threshold > 0 and relaxed_load(state.signals, OVER) == ONE:\n",
            "    if threshold > 0:\n",
        ),
        "needs an arc that is fixed",
    ),
    "bid: looks, then sets": (
        "sale-three",
        exchange_for(atomics.compare_exchange, look_then_set),
        "owners",
    ),
    "bid: believes the hint": (
        "sale-far",
        mutate(auction.auction_row, "believes-the-hint", "if value - price > np.inf:"),
        "off",
    ),
    "bid: is not written": (
        "sale-same",
        mutate(auction.auction_row, "is-not-written", ""),
        "off",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    assert hidden_values((lockfree, auction), (inboxes,)) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
