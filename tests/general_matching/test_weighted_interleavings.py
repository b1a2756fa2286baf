"""Weighted matching on two threads in every state that these can reach in tiny graphs, and mutants.

See tests/parallel/test_toolbox_interleavings.py for how.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.general_matching.links import NONE
from preflow.general_matching.weighted_blossom import search, state, together
from preflow.general_matching.weighted_blossom.start import first_duals
from preflow.general_matching.weighted_blossom.state import WeightedForest
from preflow.graph.undirected import Neighbours, neighbours_of
from preflow.solving.monitor import Monitor
from preflow.solving.run import Control
from tests.invariants.weighted_blossom import check_invariants
from tests.support.exploration import (
    Cases,
    Mutants,
    edit,
    exploration_tests,
    hold_constant,
    impatient_barrier,
    mutate,
    serve,
    uncounted_monitor,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values

#: The members of a state that each thread has of its own.
LISTS = tuple(state.unset_lists(0, 0))
#: Ends and weight of each edge.
Edges = list[tuple[int, int, int]]
UNLIMITED = np.uint64(2**62)


class Solve(NamedTuple):
    """The words that all threads share, and the lists of each thread."""

    forest: WeightedForest  #: without lists
    owner: NDArray[np.uint64]
    lists: tuple[tuple[NDArray[Any], ...], ...]
    claimed: tuple[NDArray[np.uint32], ...]
    graph: Neighbours
    team: together.Team

    def of_thread(self, thread: int) -> WeightedForest:
        """Return the state as a thread has it."""
        claims = state.Claims(np.uint64(thread + 1), np.uint64(2), self.owner, self.claimed[thread])
        return self.forest._replace(**dict(zip(LISTS, self.lists[thread], strict=True)), claims=claims)


def graph_of(edges: Edges) -> Neighbours:
    tail, head = (np.array([edge[i] for edge in edges], np.uint32) for i in (0, 1))
    n = int(max(tail.max(), head.max())) + 1
    graph = neighbours_of(n, tail, head, np.array([edge[2] for edge in edges]))
    hold_constant(graph)
    return graph


def prepared(edges: Edges, first: list[int] | None) -> Solve:
    """Return the state after searches from vertices, one after the other; `first` None: before the start."""
    graph = graph_of(edges)
    n, m = len(graph.first) - 1, len(edges)
    forest = state.unset_forest(n, m)
    for array in forest[:-1]:
        array[...] = 0
    own = together.forests_of_threads(forest, graph, Control(threads=2))
    lists = [{name: getattr(each, name) for name in LISTS} for each in own]
    for each in lists:
        # A search reads nothing else that it has not written.
        for name in set(LISTS) - {"spare", "sizes"}:
            each[name][...] = 0
        each["spare"][int(each["sizes"][state.SPARE]) :] = 0
    if first is not None:
        state.clear_vertices(own[0], np.uint64(0), np.uint64(n))
        first_duals(graph, "none", None, own[0].dual, Control())
        for v in first:
            assert search.search_from(own[0], graph, np.uint64(v), UNLIMITED, Control().monitor())
    team = together.Team(np.uint64(2), *hold_constant((np.zeros(1, np.int64),)), impatient_barrier(2))
    unused = dict(zip(LISTS, hold_constant(np.zeros((len(LISTS), 1))), strict=True))
    claims = own[0].claims
    assert claims is not None
    claimed = tuple(np.zeros(state.nodes_of(n), np.uint32) for _ in own)
    values = tuple(tuple(each.values()) for each in lists)
    return Solve(forest._replace(**unused), claims.owner, values, claimed, graph, team)


def check(solve: Solve) -> None:
    assert (solve.owner & state.OWNER == 0).all(), "a claim is left"
    check_invariants(solve.forest, solve.graph)


def searches(
    edges: Edges, roots: tuple[tuple[int, ...], tuple[int, ...]], first: tuple[int, ...] = ()
) -> Outcome:
    """After the searches of both threads the invariants hold."""

    def member(thread: int) -> Thread:
        monitor = uncounted_monitor()

        def run(solve: Solve) -> bool:
            forest, ended = solve.of_thread(thread), True
            for root in roots[thread]:
                own = search.search_from(forest, solve.graph, np.uint64(root), UNLIMITED, monitor)
                ended = ended and own
            return ended

        return run

    def check_end(solve: Solve, _: list[bool]) -> None:
        check(solve)

    return explore(lambda: (prepared(edges, list(first)), [member(0), member(1)]), None, check_end)


def start(edges: Edges, pairs: tuple[tuple[int, int], ...] = ()) -> Outcome:
    """After the start on two threads, from a matching with some pairs, the invariants hold."""
    wanted = np.full(1 + max(v for _, v, _ in edges) if pairs else 0, NONE, np.uint32)
    for u, v in pairs:
        wanted[[u, v]] = v, u
    hold_constant((wanted,))

    def member(thread: int) -> Thread:
        monitor: Monitor = uncounted_monitor()

        def run(solve: Solve) -> None:
            forest, me = solve.of_thread(thread), np.uint64(thread)
            together.start_share(solve.graph, forest, solve.team, me, wanted, True, monitor)

        return run

    def check_end(solve: Solve, _: list[None]) -> None:
        check(solve)

    return explore(lambda: (prepared(edges, None), [member(0), member(1)]), None, check_end)


PATH: Edges = [(0, 1, 2), (1, 2, 3), (2, 3, 2)]
#: Both trees reach the triangle; one makes a blossom of it.
TRIANGLE: Edges = [(0, 1, 4), (1, 2, 4), (0, 2, 4), (2, 3, 3)]
#: The tree of 3 takes 1, whose dual, as it is stored, rises above the slack at which 0 is matched with 4.
HIGH: Edges = [(0, 1, 99), (1, 2, 100), (2, 3, 97), (0, 4, 97)]
#: 1, 2 and 3 become a blossom, which the tree of 0 knew as vertices, and which that of 4 reaches later.
AGAIN: Edges = [(0, 1, 5), (1, 2, 8), (2, 3, 6), (1, 3, 7), (2, 4, 5)]
#: One of the trees expands a blossom that the other one reaches.
EXPANDED: Edges = [(1, 4, 5), (3, 4, 5), (2, 4, 8), (0, 2, 8), (2, 3, 5), (1, 2, 6)]

CASES: Cases = {
    "start on a path": partial(start, PATH),
    "start from a matching": partial(start, PATH, ((1, 2),)),
    "path": partial(searches, PATH, ((0,), (3,))),
    "both ends of an edge": partial(searches, PATH, ((1,), (2,))),
    "triangle": partial(searches, TRIANGLE, ((0,), (3,))),
    "high": partial(searches, HIGH, ((0,), (3,)), (1,)),
    "again": partial(searches, AGAIN, ((0,), (3, 4)), (1,)),
    "expanded": partial(searches, EXPANDED, ((2,), (3,)), (1, 4, 0)),
}
MUTANTS: Mutants = {
    "claims-a-node-of-the-past": (
        "again",
        mutate(state.claim, "claims-a-node-of-the-past", "if False:"),
        "data race",
    ),
    "believes-a-dual-that-changes": (
        "high",
        mutate(state.free_dual, "believes-a-dual-that-changes", ""),
        "check failed",
    ),
    "passes-over-a-claim": (
        "triangle",
        mutate(search.scan, "passes-over-a-claim", "continue"),
        "check failed",
    ),
    "expands-unasked": ("expanded", mutate(search.expand, "expands-unasked", "if False:"), "data race"),
    "overlooks-a-claim": (
        "start on a path",
        mutate(together.match_claimed, "overlooks-a-claim", "continue"),
        "check failed",
    ),
    "gives-up-claims-too-early": (
        "triangle",
        edit(
            search.settle, "now = forest.time[NOW]", "now = forest.time[NOW]; release(forest, forest.claims)"
        ),
        "data race",
    ),
}

test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    alone = ("run", "kernel", "forests_of", "joined", "match_vertices", "clear_forest", "search_together")
    alone += ("most_weight", "first_duals")
    assert hidden_values((search, state, together), alone=alone) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
