"""The lock-free solver and its inboxes in every state that two or three threads can reach in tiny cases."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.graph.residual import ResidualArrays
from preflow.kernels import atomics
from preflow.network import distances_to_sink, lowest_neighbour_now
from preflow.parallel import inboxes, lockfree
from preflow.parallel.inboxes import Inboxes, append, is_empty, make_inboxes, pop, receive, send
from preflow.solving.monitor import Monitor
from preflow.solving.options import UNLIMITED
from tests.support.exploration import (
    Cases,
    Mutants,
    add_in_two_steps,
    edit,
    exchange_for,
    exploration_tests,
    hold_constant,
    look_then_set,
    mutate,
    serve,
    uncounted_monitor,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values
from tests.support.tiny_networks import Arcs, Flow, distances, make_tiny_search, residual_of

ZERO, ONE = np.uint64(0), np.uint64(1)


# Inboxes


class Round(NamedTuple):
    """What the threads that pass items round share; nobody writes the two last."""

    lists: Inboxes
    visits: NDArray[np.int64]
    over: NDArray[np.int64]
    stop: NDArray[np.int64]


def pass_round(own: list[list[int]], hops: int) -> Outcome:
    """Items go to the last thread and from there to the first; nobody leaves before the last visit."""
    num_threads = len(own)
    num_items = sum(map(len, own))

    def member(thread: int) -> Thread:
        me, mine = np.uint64(thread), own[thread]
        other = np.uint64(num_threads - 1 if thread < num_threads - 1 else 0)

        def run(shared: Round) -> None:
            for item in mine:
                append(shared.lists, me, np.uint64(item))
            while True:
                receive(shared.lists, me)
                if is_empty(shared.lists, me):
                    if not inboxes.wait_for_items(
                        shared.lists, me, np.uint64(num_threads), shared.over, shared.stop
                    ):
                        break
                    continue
                item = pop(shared.lists, me)
                shared.visits[item] += 1
                if shared.visits[item] < hops:
                    send(shared.lists, me, other, item)
            assert shared.visits.tolist() == [hops] * num_items, "left early"

        return run

    def make_case() -> tuple[Round, list[Thread]]:
        lists = make_inboxes(num_threads, num_items, np.uint32)
        lists.patience[0] = 0
        for thread in range(num_threads):
            inboxes.clear(lists, np.uint64(thread))
        hold_constant((lists.patience,))
        constants = hold_constant((np.zeros(1, np.int64), np.zeros(1, np.int64)))
        shared = Round(lists, np.zeros(num_items, np.int64), *constants)
        return shared, [member(thread) for thread in range(num_threads)]

    return explore(make_case)


# The solver


class Solve(NamedTuple):
    """What the threads of a solve share."""

    net: ResidualArrays
    state: lockfree.LockFreeState
    monitor: Monitor


#: Arcs with capacities; of the vertices the last but one is the source, the last the sink. Even and odd ones
#: have different owners, where there are two.
CHAIN = [(2, 1, 3), (1, 0, 3), (0, 3, 1)]
DETOUR = [(3, 2, 2), (2, 0, 1), (2, 1, 1), (1, 0, 1), (0, 4, 2)]
FORK = [(3, 2, 3), (2, 0, 2), (2, 1, 1), (0, 1, 1), (1, 0, 1), (0, 4, 1), (1, 4, 1)]
BACK = [(3, 2, 3), (2, 1, 3), (1, 0, 2), (2, 0, 1), (0, 2, 1), (0, 4, 1)]
SPILL = [(4, 1, 3), (4, 3, 1), (1, 0, 2), (3, 0, 1), (0, 5, 1)]
WIDE = [(4, 3, 2), (3, 2, 2), (2, 0, 1), (2, 1, 2), (1, 0, 1), (0, 5, 2)]
#: Vertex 0 climbs four levels, past 1, which may be about to push to it.
CLIMB = [(7, 0, 2), (7, 1, 1), (1, 0, 1), (0, 3, 1), (0, 2, 5), (2, 4, 5), (4, 6, 5), (6, 3, 5), (3, 8, 5)]
#: Nothing leaves the source.
STILL = [(1, 0, 1), (0, 3, 1)]
LONG = [(4, 3, 2), (3, 2, 2), (2, 1, 1), (1, 0, 1), (3, 1, 1), (0, 5, 1)]
ROADS = [(4, 3, 2), (3, 0, 2), (0, 5, 1), (0, 1, 1), (3, 2, 1), (2, 1, 1), (1, 5, 1)]


def make_solve(arcs: Arcs, num_threads: int, period: int | None, concurrent: bool, from_zero: bool) -> Solve:
    net = residual_of(arcs)
    n = len(net.excess)
    search = make_tiny_search(num_threads, net, small=n + 1, box_size=0)
    lists = make_inboxes(num_threads, n, np.uint32)
    lists.patience[0] = 0
    hold_constant((lists.patience,))
    state = lockfree.LockFreeState(
        search=search,
        lists=lists,
        relabel_limit=UNLIMITED if period is None else np.uint64(period),
        block_bits=ZERO,
        from_zero=from_zero,
        height=np.full(n, 0 if from_zero else n + 1, np.uint32),
        seen=np.zeros(n if concurrent else 0, np.uint8),
        found=np.zeros(num_threads * int(lockfree.PADDING), np.int64),
        signals=np.zeros(5 * int(lockfree.PADDING), np.uint64),
    )
    return Solve(net, state, uncounted_monitor())


def check_state(flow: Flow, shared: Solve) -> None:
    """While pushes are under way, excess may show twice, and residual capacity be missing; not more."""
    flow.check_state(shared.net)
    assert flow.missing(shared.net) <= 0, "excess is lost"
    assert (shared.state.height <= len(shared.state.height) + 1).all(), f"heights {shared.state.height}"


def epoch(
    arcs: Arcs,
    num_threads: int = 2,
    period: int | None = None,
    concurrent: bool = False,
    from_zero: bool = False,
) -> Outcome:
    """One epoch from first labels: it ends when nobody holds a live vertex, or for an exact search."""
    flow = Flow(arcs)

    def member(thread: int) -> Thread:
        me = np.uint64(thread)
        return lambda shared: lockfree.work_through_epoch(shared.net, shared.state, me, shared.monitor)

    def make_case() -> tuple[Solve, list[Thread]]:
        shared = make_solve(arcs, num_threads, period, concurrent, from_zero)
        net, state, monitor = shared
        if not from_zero:
            distances_to_sink(net, state.height, state.search.order, ZERO, ZERO, ZERO, False)
        for thread in range(num_threads):
            lockfree.begin_epoch(net, state, np.uint64(thread), np.uint64(num_threads), monitor)
        hold_constant((state.found,))
        return shared, [member(thread) for thread in range(num_threads)]

    def check_end(shared: Solve, results: list[None]) -> None:
        flow.check_end(shared.net)
        height, n = shared.state.height, len(shared.state.height)
        if period is None:
            assert (height[shared.net.excess > 0] > n).all(), "an active vertex was forgotten"
            flow.check_labels(shared.net, height)

    return explore(make_case, partial(check_state, flow), check_end)


def whole_solve(
    arcs: Arcs,
    num_threads: int = 2,
    period: int | None = None,
    concurrent: bool = False,
    fruitless: int = 8,
    from_zero: bool = False,
) -> Outcome:
    """All epochs: heights are exact in the end, and no excess can reach the sink."""
    flow = Flow(arcs)

    def member(thread: int) -> Thread:
        me = np.uint64(thread)
        return lambda shared: lockfree.first_stage(shared.net, shared.state, me, shared.monitor)

    def make_case() -> tuple[Solve, list[Thread]]:
        shared = make_solve(arcs, num_threads, period, concurrent, from_zero)
        return shared, [member(thread) for thread in range(num_threads)]

    def check_end(shared: Solve, results: list[None]) -> None:
        net, height = shared.net, shared.state.height
        flow.check_end(net)
        assert height.tolist() == distances(net), "heights are not exact"
        assert (height[net.excess > 0] > len(height)).all(), "excess can reach the sink"

    lockfree.FRUITLESS = fruitless
    return explore(make_case, partial(check_state, flow), check_end)


CASES: Cases = {
    "inboxes-2": lambda: pass_round([[0], [1]], hops=3),
    "inboxes-3": lambda: pass_round([[0], [1], []], hops=2),
    "epoch-chain": lambda: epoch(CHAIN),
    "epoch-detour": lambda: epoch(DETOUR),
    "epoch-fork": lambda: epoch(FORK),
    "epoch-back": lambda: epoch(BACK),
    "epoch-wide": lambda: epoch(WIDE),
    "epoch-climb": lambda: epoch(CLIMB),
    "epoch-long": lambda: epoch(LONG),
    "epoch-chain-3": lambda: epoch(CHAIN, num_threads=3),
    "search-chain": lambda: epoch(CHAIN, period=1, concurrent=True),
    "search-spill": lambda: epoch(SPILL, period=1, concurrent=True),
    "search-roads": lambda: epoch(ROADS, period=1, concurrent=True),
    "search-detour": lambda: epoch(DETOUR, period=1, concurrent=True),
    "solve-chain": lambda: whole_solve(CHAIN, period=1),
    "solve-roads": lambda: whole_solve(ROADS, period=1),
    "solve-roads-alone": lambda: whole_solve(ROADS, period=1, fruitless=0),
    "epoch-zero-chain": lambda: epoch(CHAIN, from_zero=True),
    "epoch-zero-back": lambda: epoch(BACK, from_zero=True),
    "search-zero-chain": lambda: epoch(CHAIN, period=1, concurrent=True, from_zero=True),
    "solve-zero-chain": lambda: whole_solve(CHAIN, period=1, from_zero=True),
    "solve-zero-still": lambda: whole_solve(STILL, from_zero=True),
    "solve-search-chain": lambda: whole_solve(CHAIN, period=1, concurrent=True),
    "solve-search-roads": lambda: whole_solve(ROADS, period=1, concurrent=True),
}


# Mutants


DEBIT = "left < excess and fetch_add(net.excess, v, left - excess) == excess - left"
CREDIT = "fetch_add(net.excess, w, amount) == 0"
RELABEL = "if h <= low and compare_exchange(height, v, h, low + ONE):\n"
SCAN = "low, a = lowest_neighbour_now(net, height, v, n)\n"
SETTLED_FIRST = """unsettled -= load(inboxes.tally, row + SETTLED)
        row += PADDING
    while row > ZERO:
        row -= PADDING
        unsettled += load(inboxes.tally, row + HANDED_OUT)
"""
COUNT = "    fetch_add(inboxes.tally, thread * PADDING + HANDED_OUT, 1)\n"

MUTANTS: Mutants = {
    "inboxes: adds to a chain in two steps": (
        "inboxes-3",
        exchange_for(atomics.compare_exchange, look_then_set),
        "left early",
    ),
    "inboxes: loses what comes while it takes": (
        "inboxes-2",
        edit(
            inboxes.receive,
            "entry = np.uint64(exchange(inboxes.boxes, row, ZERO))",
            "entry = np.uint64(relaxed_load(inboxes.boxes, row))\n"
            "    relaxed_store(inboxes.boxes, row, ZERO)",
        ),
        "deadlock",
    ),
    "inboxes: reads a link after the item is back in a list": (
        "inboxes-2",
        edit(
            inboxes.receive,
            "append(inboxes, thread, entry - ONE)\n",
            "append(inboxes, thread, entry - ONE)\n"
            "        following = np.uint64(inboxes.after[entry - ONE])\n",
        ),
        "deadlock",
    ),
    "inboxes: counts what others can see already": (
        "inboxes-2",
        mutate(inboxes.send, "counts-what-others-can-see-already", ""),
        "left early",
    ),
    "inboxes: reads what was handed out first": (
        "inboxes-2",
        edit(
            inboxes.all_settled,
            SETTLED_FIRST,
            SETTLED_FIRST.replace("SETTLED", "?").replace("HANDED_OUT", "SETTLED").replace("?", "HANDED_OUT"),
        ),
        "left early",
    ),
    "push: adds excess plainly": (
        "epoch-fork",
        edit(
            lockfree.discharge,
            f"if {CREDIT}:",
            "net.excess[w] += amount\n                        if net.excess[w] == amount:",
        ),
        "data race on net.excess",
    ),
    "push: adds in two steps": (
        "epoch-fork",
        exchange_for(atomics.fetch_add, add_in_two_steps),
        "excess",
    ),
    "push: lists a vertex that has excess already": (
        "epoch-fork",
        mutate(
            lockfree.discharge,
            "lists-a-vertex-that-has-excess-already",
            "if fetch_add(net.excess, w, amount) >= 0:",
        ),
        "an excess is negative",
    ),
    "relabel: one level too high": (
        "epoch-wide",
        mutate(
            lockfree.discharge,
            "one-level-too-high",
            "if h <= low and compare_exchange(height, v, h, low + ONE + ONE):",
        ),
        "labels are not valid",
    ),
    "relabel: above the first neighbour, not the lowest": (
        "epoch-climb",
        mutate(
            lowest_neighbour_now,
            "above-the-first-neighbour-not-the-lowest",
            "if neighbour < low and arc == last:",
        ),
        "labels are not valid",
    ),
    "first labels: no exact search follows zeros": (
        "solve-zero-still",
        edit(lockfree.first_stage, "if searches and (active == 0", "if (active == 0"),
        "heights are not exact",
    ),
    "search: two at a time": (
        "search-spill",
        mutate(
            lockfree.work_through_epoch,
            "two-at-a-time",
            "if due and relaxed_load(signals, SEARCHING) == ZERO:",
        ),
        "data race on state.seen",
    ),
    "discharge: debits the sender first": (
        "epoch-fork",
        edit(
            lockfree.discharge,
            f"                        if {CREDIT}:",
            "                        fetch_add(net.excess, v, -amount)\n"
            "                        excess -= amount\n"
            f"                        if {CREDIT}:",
        ),
        "excess is lost",
    ),
    "discharge: reads the excess after the arcs": (
        "epoch-climb",
        edit(
            lockfree.discharge,
            SCAN,
            SCAN + "            more = load(net.excess, v) - excess\n"
            "            excess, left = excess + more, left + more\n",
        ),
        "labels are not valid",
    ),
    "discharge: forgets what it pushed to the sink when its relabel fails": (
        "search-spill",
        edit(
            lockfree.discharge,
            RELABEL,
            "if h <= low:\n                if not compare_exchange(height, v, h, low + ONE):\n"
            "                    continue\n",
        ),
        "excess is not conserved",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    assert hidden_values((inboxes, lockfree)) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
