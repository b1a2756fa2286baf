"""The search of Cihan's thesis in every state that two or three threads can reach.

See tests/parallel/test_toolbox_interleavings.py for how. The last two vertices of a network are source and
sink.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from preflow.graph.residual import ResidualArrays
from preflow.papers.cihan import jump_queues
from preflow.papers.cihan import multicore_discharge as discharge
from preflow.papers.cihan.multicore_discharge import Rules, State, make_state, search_by_levels
from preflow.parallel.queues import make_queues
from tests.invariants.multicore_discharge import check_invariants as check_multicore_discharge
from tests.support.exploration import (
    Cases,
    Mutants,
    exploration_tests,
    hold_constant,
    mutate,
    serve,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values
from tests.support.tiny_networks import Arcs, distances, make_tiny_search, residual_of

ONE = np.uint64(1)


class Searching(NamedTuple):
    """The arrays that the threads of a case share."""

    net: ResidualArrays
    state: State


def search_all(arcs: Arcs, num_threads: int = 2, gap: bool = False, searches: int = 1) -> Outcome:
    """Heights are exact at the end, and each active vertex that reaches the sink has one owner."""
    begin = residual_of(arcs)
    exact = distances(begin)
    n = len(exact)

    def member(thread: int) -> Thread:
        me, rules = np.uint64(thread), Rules(False, gap, ONE, ONE, True, ONE)

        def run(shared: Searching) -> None:
            for _ in range(searches):
                search_by_levels(shared.net, shared.state, me, rules)

        return run

    def make_case() -> tuple[Searching, list[Thread]]:
        net = residual_of(arcs)
        hold_constant(net)
        queues = make_queues(num_threads, n, np.uint32)
        queues.items[...] = 0
        hold_constant((queues.idle.num_threads,))
        search = make_tiny_search(num_threads, net, small=n + 1, box_size=0)
        state = make_state(search, queues, None, n, gap, None, True)
        state.current[...] = 0
        return Searching(net, state), [member(thread) for thread in range(num_threads)]

    def check_end(shared: Searching, results: list[Any]) -> None:
        state = shared.state
        assert state.height.tolist() == exact, f"heights {state.height.tolist()}"
        assert state.levels.total[0] == 0
        check_multicore_discharge(shared.net, state)
        active = sum(float(e) for e, h in zip(shared.net.excess, exact, strict=True) if e > 0 and h <= n)
        assert state.active.sum() == active, "excess is counted otherwise"

    return explore(make_case, lambda shared: None, check_end)


#: Two vertices of a level find one of the next.
DIAMOND = [(4, 3, 2), (3, 2, 1), (3, 1, 1), (2, 0, 2), (2, 1, 1), (0, 5, 1), (1, 5, 1)]
#: Two vertices of a level find a vertex with excess.
MEET = [(3, 2, 1), (2, 0, 1), (2, 1, 1), (0, 4, 1), (1, 4, 1)]
#: Each level is one vertex; the first lies in the chunk that is last in the sequence of the items.
CHAIN = [(4, 3, 1), (3, 0, 1), (0, 2, 1), (2, 1, 1), (1, 5, 1)]
#: As that, but the first level is the last vertex.
FAR = [(4, 3, 1), (3, 0, 1), (0, 1, 1), (1, 2, 1), (2, 5, 1)]
#: Levels of one, three and one vertices.
BULGE = [(5, 4, 1), (5, 2, 1), (4, 1, 1), (4, 2, 1), (4, 3, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1), (0, 6, 1)]
#: A vertex that cannot reach the sink.
DEAD_END = [(4, 2, 1), (2, 0, 1), (2, 1, 1), (2, 3, 1), (0, 5, 1), (1, 5, 1)]

CASES: Cases = {
    "meet": lambda: search_all(MEET),
    "diamond": lambda: search_all(DIAMOND),
    "diamond-gap": lambda: search_all(DIAMOND, gap=True),
    "chain": lambda: search_all(CHAIN),
    "far-gap": lambda: search_all(FAR, gap=True),
    "bulge": lambda: search_all(BULGE),
    "dead-end-twice": lambda: search_all(DEAD_END, searches=2),
    "diamond-3": lambda: search_all(DIAMOND[:4] + DIAMOND[5:], num_threads=3),
}


def no_barrier(mark: str) -> Any:
    return mutate(search_by_levels, mark, "if False:")


MUTANTS: Mutants = {
    "both finders append the vertex": (
        "meet",
        mutate(
            search_by_levels,
            "both-finders-append-the-vertex",
            "if is_new and exchange(height, w, level) >= 0:",
        ),
        "two owners",
    ),
    "no barrier before the first level": (
        "far-gap",
        no_barrier("no-barrier-before-the-first-level"),
        "data race",
    ),
    "no barrier before a level is distributed": (
        "diamond",
        no_barrier("no-barrier-before-a-level-is-distributed"),
        "data race",
    ),
    "no barrier after a level is distributed": (
        "diamond",
        no_barrier("no-barrier-after-a-level-is-distributed"),
        "data race",
    ),
    "no jump markers": ("chain", mutate(jump_queues.revert, "no-jump-markers", ""), "heights"),
    "jump markers are skipped": (
        "chain",
        mutate(jump_queues.pop, "jump-markers-are-skipped", "head += direction"),
        "heights",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    steps = {"add", "wait", "search_by_levels", "found", "own", "open_phase"}
    steps |= {"push", "pop", "revert", "reset", "disown_all"}
    assert hidden_values((discharge, jump_queues), steps=steps) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
