"""Locally dominant edges on several threads, in every state that these can reach in tiny graphs, and mutants.

See tests/parallel/test_toolbox_interleavings.py for how.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preflow.general_matching.initial import locally_dominant, preference
from preflow.general_matching.initial.locally_dominant import Rounds
from preflow.graph.undirected import Neighbours, neighbours_of
from preflow.kernels import atomics
from preflow.parallel import worklist
from preflow.solving.run import COUNTER_ROW
from tests.support.exploration import (
    Cases,
    Mutants,
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

#: No partner.
FREE = 2**32 - 1
#: Ends and weight of each edge.
Edges = list[tuple[int, int, int]]

PAIR: Edges = [(0, 1, 1)]
#: The middle edge is dominant, then none is left.
PATH: Edges = [(0, 1, 2), (1, 2, 3), (2, 3, 2)]
#: After the first pair, a vertex that pointed to it looks again.
CHAIN: Edges = [(0, 1, 3), (1, 2, 2), (2, 3, 1)]
TRIANGLE: Edges = [(0, 1, 2), (1, 2, 3), (0, 2, 2)]


class Case(NamedTuple):
    """What the threads share."""

    graph: Neighbours
    rounds: Rounds


def whole(edges: Edges, threads: int = 2) -> Outcome:
    """At the end the matching is that of one thread, and matched vertices point to each other."""
    tail, head = (np.array([edge[i] for edge in edges], np.uint32) for i in (0, 1))
    n = int(max(tail.max(), head.max())) + 1
    graph = neighbours_of(n, tail, head, np.array([edge[2] for edge in edges]))
    expected: dict[int, int] = {}
    for u, v, _ in sorted(edges, key=lambda edge: -edge[2]):
        if u not in expected and v not in expected:
            expected |= {u: v, v: u}

    def member(thread: int) -> Thread:
        me = np.uint64(thread)

        def run(case: Case) -> None:
            locally_dominant.match_together(case.graph, case.rounds, np.uint64(threads), me)

        return run

    def make_case() -> tuple[Case, list[Thread]]:
        worklist.BUFFER, worklist.CHUNK = np.uint64(4), np.uint64(1)
        lists = worklist.make_worklist(threads, np.uint32)
        lists.buffer[...] = 0
        stop = np.zeros(1, np.int64)
        hold_constant((stop, *graph))
        dirty = np.zeros(2 * n, np.uint32)
        dirty[:n] = np.arange(n)
        rounds = Rounds(
            np.full(n, FREE, np.uint32),
            np.full(n, FREE, np.uint32),
            dirty,
            lists,
            impatient_barrier(threads),
            np.zeros(1, np.int64),
            stop,
            uncounted(threads, COUNTER_ROW),
        )
        return Case(graph, rounds), [member(thread) for thread in range(threads)]

    def check_state(case: Case) -> None:
        del case

    def check_end(case: Case, _: list[None]) -> None:
        mate = case.rounds.mate.tolist()
        found = {v: u for v, u in enumerate(mate) if u != FREE}
        assert found == expected, f"not what one thread finds: {found}"
        pointer = case.rounds.pointer.tolist()
        assert all(pointer[v] == u for v, u in found.items()), "a matched vertex points elsewhere"

    return explore(make_case, check_state, check_end)


CASES: Cases = {
    "pair": lambda: whole(PAIR),
    "path": lambda: whole(PATH),
    "chain": lambda: whole(CHAIN),
    "triangle": lambda: whole(TRIANGLE),
}
MUTANTS: Mutants = {
    "no barrier in a round": (
        "path",
        mutate(locally_dominant.match_together, "no-barrier-in-a-round", "if False:"),
        "data race",
    ),
    "two threads match a pair": (
        "chain",
        exchange_for(atomics.compare_exchange, look_then_set),
        "data race",
    ),
    "a matched vertex is dirty": (
        "pair",
        mutate(locally_dominant.list_dirty, "lists-the-partner", "if np.uint64(rounds.pointer[u]) == v:"),
        "a matched vertex points elsewhere",
    ),
}
test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    alone = ("make", "run", "kernel", "dataclass", "solve", "proved", "empty", "edge")
    assert hidden_values((locally_dominant, preference), alone=alone) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
