"""The search of a team in every state that two or three threads can reach.

See tests/parallel/test_toolbox_interleavings.py for how.
Vertices are numbers from 0, the last two of a network source and sink;
vertex v belongs to thread v modulo the number of threads.
"""

from __future__ import annotations

import textwrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.graph.residual import ResidualArrays
from preflow.parallel import search as searching
from preflow.parallel.search import ParallelSearch
from tests.support.exploration import (
    Cases,
    Mutants,
    edit,
    exploration_tests,
    hold_constant,
    mutate,
    replaced,
    serve,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values
from tests.support.tiny_networks import Arcs, Flow, distances, make_tiny_search, residual_of

ZERO = np.uint64(0)


class Searching(NamedTuple):
    """What the threads of a search's case share."""

    search: ParallelSearch
    net: ResidualArrays
    height: NDArray[np.uint32]


def search_all(
    arcs: Arcs,
    drain: bool,
    small: int = 0,
    box_size: int = 1,
    num_threads: int = 2,
    searches: int = 1,
    exact_below: int = 0,
    trusted: int = 0,
) -> Outcome:
    """Heights are exact at the end, for what a search with draining has left.

    Where they may stop sooner, later searches leave lower bounds, and reach all that has excess.
    """
    flow = Flow(arcs)
    n = len(flow.begin.excess)

    def member(thread: int) -> Thread:
        me = np.uint64(thread)

        def run(shared: Searching) -> tuple[int, int]:
            begin, end = ZERO, ZERO
            low, high = ZERO, ZERO
            for _ in range(searches):
                begin, end, ceiling, _ = searching.search_again(
                    shared.search, me, shared.net, shared.height, low, high, drain
                )
                low, high = np.uint64(exact_below), np.uint64(trusted)
                if trusted:
                    for v in range(thread, n, num_threads):
                        if shared.height[v] > n:
                            shared.height[v] = searching.height_not_reached(
                                np.uint64(shared.height[v]), ceiling, np.uint64(n)
                            )
            return int(begin), int(end)

        return run

    def make_case() -> tuple[Searching, list[Thread]]:
        net = residual_of(arcs)
        if not drain:
            hold_constant(net)
        search = make_tiny_search(num_threads, net, small, box_size)
        return Searching(search, net, np.zeros(n, np.uint32)), [member(t) for t in range(num_threads)]

    def check_state(shared: Searching) -> None:
        flow.check_state(shared.net)
        assert flow.missing(shared.net) >= 0, "there is more excess than before"

    def check_end(shared: Searching, results: list[tuple[int, int]]) -> None:
        flow.check_end(shared.net)
        height = shared.height.tolist()
        exact = distances(shared.net)
        if trusted:
            reached = [v for begin, end in results for v in shared.search.order[begin:end].tolist()]
            assert all(height[v] == exact[v] for v in reached), f"heights {height}"
            assert all(h <= d for h, d in zip(height, exact, strict=True)), f"heights {height}"
            assert all(v in reached or exact[v] > n for v in np.flatnonzero(shared.net.excess)), "not found"
            return
        assert height == exact, f"heights {height}"
        for thread, (begin, end) in enumerate(results):
            own = [v for v in range(thread, n, num_threads) if height[v] <= n]
            order = shared.search.order[begin:end].tolist()
            assert sorted(order) == own, f"thread {thread} found {order}"
            assert sorted(order, key=height.__getitem__) == order, f"thread {thread} found {order}"

    return explore(make_case, check_state, check_end)


def search_dense(arcs: Arcs, drain: bool) -> Outcome:
    """As in a dense network: a level is searched for where few vertices are left."""
    with replaced(searching.may_be_few_left, lambda net: True):
        return search_all(arcs, drain)


DIAMOND = [(4, 3, 2), (3, 2, 1), (3, 1, 1), (2, 0, 2), (2, 1, 1), (0, 5, 1), (1, 5, 1)]
#: Vertex 0 reaches the sink; the three others are found from it at once, two by messages.
FAN = [(4, 1, 1), (4, 2, 1), (4, 3, 1), (1, 0, 1), (2, 0, 2), (3, 0, 2), (0, 5, 1)]
#: Draining saturates an arc, and the vertex is found over another one.
WAYS = [(4, 2, 3), (4, 3, 1), (2, 0, 1), (2, 1, 3), (3, 2, 1), (0, 5, 2), (1, 5, 1)]
DEAD_END = [(4, 2, 1), (2, 0, 1), (2, 1, 1), (2, 3, 1), (0, 5, 1), (1, 5, 1)]
#: Levels of one, three and one vertices.
BULGE = [(5, 4, 1), (5, 2, 1), (4, 1, 1), (4, 2, 1), (4, 3, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1), (0, 6, 1)]
#: Excess at the distances 2 and 5.
CHAIN = [(5, 1, 1), (5, 4, 1), (4, 3, 1), (3, 2, 1), (2, 1, 1), (1, 0, 1), (0, 6, 1)]


CASES: Cases = {
    "search-diamond": lambda: search_all(DIAMOND, drain=False),
    "search-fan": lambda: search_all(FAN, drain=False),
    "search-dead-end-twice": lambda: search_all(DEAD_END, drain=False, searches=2),
    "search-alone": lambda: search_all(DIAMOND, drain=False, small=10),
    "search-bulge": lambda: search_all(BULGE, drain=False, small=2),
    "search-dense": lambda: search_dense(DIAMOND, drain=False),
    "drain-dense": lambda: search_dense(WAYS, drain=True),
    "drain-diamond": lambda: search_all(DIAMOND, drain=True),
    "drain-fan": lambda: search_all(FAN, drain=True),
    "drain-ways": lambda: search_all(WAYS, drain=True),
    "drain-ways-twice": lambda: search_all(WAYS, drain=True, box_size=2, searches=2),
    "drain-3": lambda: search_all(FAN, drain=True, num_threads=3),
    "search-again-from-2": lambda: search_all(DIAMOND, drain=False, searches=2, exact_below=2),
    "search-again-from-3": lambda: search_all(BULGE, drain=False, searches=2, exact_below=3),
    "search-again-at-most-4": lambda: search_all(DIAMOND, drain=False, searches=2, trusted=4),
    "search-again-to-the-end": lambda: search_all(CHAIN, drain=False, searches=2, trusted=5),
    "search-again-alone": lambda: search_all(BULGE, drain=False, small=9, searches=2, trusted=5),
    "drain-again": lambda: search_all(WAYS, drain=True, box_size=2, searches=2, trusted=4),
    "drain-bulge": lambda: search_all(BULGE, drain=True, small=2),
}

BARRIER = """
            if not wait(search.barrier, num_threads):
                return ZERO, ZERO, ONE, pushes"""


def without_barrier(before: str, after: str, barrier: str = BARRIER) -> Any:
    """Leave out the barrier that is between two lines of the search."""
    return edit(searching.search_again, before + barrier + after, before + after)


MUTANTS: Mutants = {
    "search: no barrier before the first level": (
        "search-diamond",
        without_barrier(
            "trusted, drain)", "\n    wanted = ZERO", textwrap.dedent(BARRIER).replace("\n", "\n    ")
        ),
        "data race",
    ),
    "search: no barrier between levels": (
        "search-diamond",
        mutate(
            searching.search_again,
            "no-barrier-between-levels",
            "holds, total, all_found = (True, found, search.found[own])",
        ),
        "data race",
    ),
    "search: no barrier after one thread went on alone": (
        "search-bulge",
        without_barrier("height, front, half, drain)", "\n            level, size"),
        "found",
    ),
    "search: no barrier before the sizes of a dense network's level are added": (
        "search-dense",
        mutate(
            searching.search_again,
            "no-barrier-before-the-sizes-of-a-dense-network-s-level-are-added",
            "holds, size, _ = (True, search.end[slot(0)] + search.end[slot(1)] - sum(search.begin), ZERO)",
        ),
        "data race",
    ),
    "search: the least level searched from is not counted again": (
        "search-again-from-3",
        mutate(
            searching.start_search,
            "the-least-level-searched-from-is-not-counted-again",
            "begin = first_at(search, thread, height, exact_below)",
        ),
        "heights",
    ),
    "search: those found are counted while they are looked for": (
        "search-again-at-most-4",
        mutate(
            searching.search_again,
            "those-found-are-counted-while-they-are-looked-for",
            "if last_level == EVERYTHING and search.found[slot(0)] + search.found[slot(1)] >= wanted:",
        ),
        "data race",
    ),
    "search: stops at the first wanted vertex": (
        "search-again-to-the-end",
        mutate(
            searching.search_again,
            "stops-at-the-first-wanted-vertex",
            "if last_level == EVERYTHING and all_found > ZERO:",
        ),
        "not found",
    ),
    "search: one half of the messages": (
        "search-fan",
        mutate(searching.search_again, "one-half-of-the-messages", "half = ZERO"),
        "data race",
    ),
    "search: messages of the last round is not read": (
        "search-fan",
        mutate(searching.search_again, "messages-of-the-last-round-is-not-read", "if more and k < end:"),
        "heights",
    ),
    "search: messages is thrown away before all of it is read": (
        "search-bulge",
        edit(
            searching.go_on_alone,
            """front.level, half, drain)
    for thread in range(search.num_threads[0]):
""",
            "front.level, half, drain)\n",
        ),
        "heights",
    ),
    "search: the arc that did not fit is skipped": (
        "search-fan",
        mutate(
            searching.search_part,
            "the-arc-that-did-not-fit-is-skipped",
            "return (k, a - begin + ONE, pushes)",
        ),
        "heights",
    ),
    "search: who has read its own messages goes on": (
        "search-fan",
        mutate(searching.search_again, "who-has-read-its-own-messages-goes-on", "more = k < end"),
        "heights",
    ),
    "search: messages is labelled twice": (
        "search-diamond",
        mutate(searching.receive_messages, "messages-is-labelled-twice", "if True:"),
        "found",
    ),
    "drain: a saturated arc counts": (
        "drain-ways",
        mutate(searching.reach, "a-saturated-arc-counts", "if False:"),
        "heights",
    ),
    "drain: adds plainly what others' vertices get": (
        "drain-3",
        mutate(searching.reach, "adds-plainly-what-others-vertices-get", "net.excess[v] += amount"),
        "data race on net.excess",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    assert hidden_values((searching,), alone=("make", "slot", "owner_of")) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
