"""Lock-free refines of cost scaling in every state that two threads can reach on tiny networks."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.graph.standard_form import StandardForm
from preflow.kernels import atomics
from preflow.mincost.cost_scaling import lockfree
from preflow.mincost.residual import Residual, build_residual
from preflow.parallel import inboxes
from preflow.parallel.totals import make_totals
from tests.support.exploration import (
    Cases,
    Mutants,
    add_in_two_steps,
    edit,
    exchange_for,
    exploration_tests,
    hold_constant,
    impatient_barrier,
    mutate,
    serve,
    uncounted_monitor,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values

ZERO, ONE = np.uint64(0), np.uint64(1)
NONE = np.int64(0)


class Case(NamedTuple):
    """Arcs (tail, head, capacity, cost), the excess of each vertex, and potentials, zero if not given."""

    arcs: list[tuple[int, int, int, int]]
    excess: list[int]
    potential: list[int] | None = None


class Shared(NamedTuple):
    """What the threads of a round share."""

    net: Residual
    state: lockfree.LockFreeScalingState


#: Two active vertices push to one; to each other; through a third that must send some of it back.
JOIN = Case([(0, 2, 2, -1), (1, 2, 2, -1)], [1, 2, -3])
CROSS = Case([(0, 1, 1, 0), (1, 0, 1, 0), (0, 2, 1, 1), (1, 2, 1, 1)], [1, 1, -2])
BACK = Case([(0, 2, 2, 0), (1, 2, 1, 0), (2, 3, 1, 0), (0, 3, 2, 2)], [1, 1, 0, -2])
#: Both push to one vertex that has excess of its own.
HEAP = Case([(0, 1, 2, -1), (1, 2, 3, -1)], [2, 1, -3])
#: Vertex 1 falls far while vertex 0 pushes to it, so that the opposite arc becomes too short.
STALE = Case([(0, 1, 1, 0), (1, 2, 1, 0), (1, 2, 5, 3)], [1, 2, -3])
#: For whole refines, which have many states.
SMALL = Case([(0, 1, 1, 0), (1, 0, 1, 0), (0, 1, 1, -2)], [1, -1])
#: Two ways to the deficit, the shorter of which is found second.
WAYS = Case([(0, 1, 1, 2), (0, 2, 1, 0), (2, 1, 1, 0), (3, 0, 1, 0)], [0, -1, 0, 1])
DEFICITS = Case([(0, 1, 1, 2), (0, 2, 1, 0), (3, 0, 1, 0)], [0, -1, -1, 1])


def start(case: Case, num_threads: int) -> Shared:
    """Return a network with empty lists; the arcs of negative length carry nothing yet."""
    tail, head, capacity, cost = (np.array(column) for column in zip(*case.arcs, strict=True))
    n = len(case.excess)
    supply = np.array(case.excess, dtype=np.int64)
    form = StandardForm(tail.astype(np.uint32), head.astype(np.uint32), capacity, cost, supply)
    net = build_residual(form, None)
    lists = inboxes.make_inboxes(num_threads, n, np.uint32)
    lists.patience[0] = 0
    state = lockfree.LockFreeScalingState(
        potential=np.array(case.potential or [0] * n, dtype=np.int64),
        excess=supply.copy(),
        rank=np.zeros(n, dtype=np.int64),
        next_arc=net.first[:-1].copy(),
        listed=np.zeros(n, dtype=np.uint32),
        lists=lists,
        signals=np.zeros(2 * int(lockfree.PADDING), dtype=np.uint64),
        found=np.zeros(num_threads * int(lockfree.PADDING), dtype=np.int64),
        barrier=np.zeros(1, dtype=np.int64),
        totals=np.zeros(1, dtype=np.uint64),
        num_threads=np.array([num_threads], dtype=np.uint64),
        block_bits=ZERO,
        period=np.uint64(2**40),
    )
    hold_constant((lists.patience, state.num_threads))
    hold_constant((net.first, net.live, net.origin))
    return Shared(net, state)


def rows(net: Residual) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the arcs as rows of head, mate, cost and residual capacity, and their tails."""
    arcs = net.arcs.astype(np.int64).reshape(-1, 4)
    return arcs, arcs[arcs[:, 1] // 4, 0]


def lengths(shared: Shared) -> NDArray[np.int64]:
    """Return the lengths of residual arcs, and 0 for the others."""
    arcs, tail = rows(shared.net)
    length = arcs[:, 2] + shared.state.potential[tail] - shared.state.potential[arcs[:, 0]]
    return np.where(arcs[:, 3] > 0, length, 0)


def check_flow(case: Case, exact: bool, shared: Shared, results: list[int]) -> None:
    """The flow conserves and no excess is left; it is optimal for epsilon, if it must be."""
    arcs, _ = rows(shared.net)
    m = len(case.arcs)
    capacity = np.array([arc[2] for arc in case.arcs])
    origin = shared.net.origin.astype(np.int64)
    left = np.zeros(2 * m, dtype=np.int64)
    left[origin] = arcs[:, 3]
    assert (left >= 0).all(), "a negative residual capacity"
    assert (left[:m] + left[m:] == capacity).all(), "residual capacities do not sum to the capacity"
    excess = np.array(case.excess)
    for (u, v, *_), amount in zip(case.arcs, left[m:], strict=True):
        excess[u] -= amount
        excess[v] += amount
    assert (excess == shared.state.excess).all(), "the excess is not that of the flow"
    assert not (excess > 0).any(), "excess is left"
    if exact:
        assert lengths(shared).min() >= -1, "a residual arc is shorter than minus epsilon"
    assert (shared.state.potential <= np.array(case.potential or 0)).all(), "a potential rose"


def round_of(case: Case, num_threads: int = 2) -> Outcome:
    """Explore pushes and relabels from the active vertices, for epsilon 1."""

    def member(thread: int) -> Thread:
        me, workers = np.uint64(thread), np.uint64(num_threads)
        monitor = uncounted_monitor()
        return lambda shared: lockfree.push_and_relabel(
            shared.net, shared.state, me, workers, (NONE, NONE), monitor
        )

    def make_case() -> tuple[Shared, list[Thread]]:
        shared = start(case, num_threads)
        for thread in range(num_threads):
            lockfree.fall_by_ranks(
                shared.net, shared.state, np.uint64(thread), np.uint64(num_threads), NONE, NONE
            )
        state = shared.state
        hold_constant((state.rank, state.listed, state.barrier, state.totals, state.found))
        return shared, [member(thread) for thread in range(num_threads)]

    return explore(make_case, None, partial(check_flow, case, num_threads == 1))


def refine_of(case: Case, num_threads: int = 2) -> Outcome:
    """Explore a whole refine for epsilon 1."""

    def member(thread: int) -> Thread:
        me, monitor = np.uint64(thread), uncounted_monitor()
        return lambda shared: lockfree.refine_share(shared.net, shared.state, me, NONE, NONE, monitor)

    def make_case() -> tuple[Shared, list[Thread]]:
        net, state = start(case, num_threads)
        state = state._replace(
            barrier=impatient_barrier(num_threads),
            totals=make_totals(num_threads),
            found=np.zeros(num_threads * int(lockfree.PADDING), dtype=np.int64),
        )
        return Shared(net, state), [member(thread) for thread in range(num_threads)]

    def check(shared: Shared, results: list[int]) -> None:
        assert results == [lockfree.COMPLETE] * num_threads
        check_flow(case, True, shared, results)

    return explore(make_case, None, check)


def least_ranks(shared: Shared) -> list[int]:
    """Return the ranks of all vertices, by the method of Bellman and Ford."""
    arcs, tail = rows(shared.net)
    rank = np.where(shared.state.excess < 0, 0, lockfree.FAR)
    length = arcs[:, 2] + shared.state.potential[tail] - shared.state.potential[arcs[:, 0]]
    for _ in rank:
        for u, v, more, left in zip(tail, arcs[:, 0], length + 1, arcs[:, 3], strict=True):
            if left > 0 and rank[v] < lockfree.FAR:
                rank[u] = min(rank[u], rank[v] + more)
    return rank.tolist()  # type: ignore[no-any-return]


def check_ranks(shared: Shared, results: list[None]) -> None:
    """The ranks of the window are the least, and each other rank is at least that."""
    expected = least_ranks(shared)
    for found, least in zip(shared.state.rank.tolist(), expected, strict=True):
        assert found == least or min(found, least) >= lockfree.WINDOW, f"ranks {found} and {least}"


def window_of(case: Case, num_threads: int = 2) -> Outcome:
    """Explore the first window of a price update."""

    def member(thread: int) -> Thread:
        me, monitor = np.uint64(thread), uncounted_monitor()
        return lambda shared: lockfree.lower_ranks(shared.net, shared.state, me, NONE, (NONE, NONE), monitor)

    def make_case() -> tuple[Shared, list[Thread]]:
        shared = start(case, num_threads)
        for thread in range(num_threads):
            lockfree.begin_update(shared.state, np.uint64(thread))
        for thread in range(num_threads):
            lockfree.list_window(shared.state, np.uint64(thread), NONE)
        state = shared.state
        hold_constant((shared.net.arcs, state.potential, state.excess, state.next_arc))
        hold_constant((state.barrier, state.totals, state.found))
        return shared, [member(thread) for thread in range(num_threads)]

    return explore(make_case, None, check_ranks)


CASES: Cases = {
    "round-alone": lambda: round_of(BACK, num_threads=1),
    "round-join": lambda: round_of(JOIN),
    "round-cross": lambda: round_of(CROSS),
    "round-back": lambda: round_of(BACK),
    "round-heap": lambda: round_of(HEAP),
    "refine-cross": lambda: refine_of(CROSS),
    "refine-stale": lambda: refine_of(STALE),
    "refine-small": lambda: refine_of(SMALL),
    "window-ways": lambda: window_of(WAYS),
    "window-deficits": lambda: window_of(DEFICITS),
}

MUTANTS: Mutants = {
    "push: adds in two steps": ("round-join", exchange_for(atomics.fetch_add, add_in_two_steps), ""),
    "push: does not list a vertex whose excess was negative": (
        "round-back",
        edit(lockfree.discharge, "if before <= 0 and before + moved > 0:", "if before < 0 and moved < 0:"),
        "excess is left",
    ),
    "push: forgets the opposite arc": (
        "round-back",
        edit(
            lockfree.discharge,
            "                    fetch_add(arcs, np.uint64(arcs[arc + MATE]) + LEFT, moved)\n",
            "",
        ),
        "residual capacities do not sum",
    ),
    "discharge: ends although more excess came": (
        "round-heap",
        edit(
            lockfree.discharge,
            "fetch_add(excess, u, left - amount) == amount - left:",
            "fetch_add(excess, u, left - amount) >= 0 and left == 0:",
        ),
        "excess is left",
    ),
    "relabel: falls too far": (
        "round-alone",
        mutate(lockfree.discharge, "falls-too-far", "by -= least + 3"),
        "a residual arc is shorter than minus epsilon",
    ),
    "refine: does not fill arcs after a round": (
        "refine-stale",
        edit(lockfree.refine_share, "bound = -(np.int64(1) << level)", "bound = np.int64(-1000)"),
        "a residual arc is shorter than minus epsilon",
    ),
    "rank: a vertex stays listed": (
        "window-ways",
        mutate(lockfree.lower_ranks, "is-listed-for-good", ""),
        "ranks",
    ),
    "rank: the label is taken after the rank is read": (
        "window-deficits",
        edit(
            lockfree.lower_ranks,
            "        exchange(state.listed, u, np.uint32(0))  # before the rank is read\n"
            "        delay(state.delays, thread)\n        own = load(rank, u)\n",
            "        own = load(rank, u)\n        exchange(state.listed, u, np.uint32(0))\n",
        ),
        "ranks",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    assert hidden_values((lockfree,), (inboxes,)) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
