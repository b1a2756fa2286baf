"""General matching on many threads in every state that two threads can reach in tiny cases, and mutants.

See tests/parallel/test_toolbox_interleavings.py for how.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.general_matching import multicore_blossom as blossom
from preflow.general_matching.initial import multicore_karp_sipser as karp_sipser
from preflow.general_matching.links import EVEN, NONE, ODD, Links
from preflow.graph.undirected import Neighbours
from preflow.parallel import rounds, worklist
from preflow.solving.run import COUNTER_ROW
from tests.support.exploration import (
    Cases,
    Mutants,
    exploration_tests,
    hold_constant,
    impatient_barrier,
    mutate,
    serve,
    uncounted,
)
from tests.support.scheduler import Outcome, Thread, explore

Pairs = list[tuple[int, int]]


class Solve(NamedTuple):
    """The arrays of a solve."""

    graph: Neighbours
    links: Links
    label: NDArray[np.uint8]
    searches: tuple[NDArray[np.uint64], ...]
    stacks: tuple[NDArray[np.uint32], ...]
    forest: blossom.Forest


def numbers(size: int, value: int = 0) -> NDArray[np.uint32]:
    return np.full(size, value, np.uint32)


def graph_of(n: int, edges: Pairs) -> Neighbours:
    """Return the rows of a graph, in the order of its edges."""
    rows = [[a + b - v for a, b in edges if v in (a, b)] for v in range(n)]
    first = np.cumsum([0, *map(len, rows)], dtype=np.uint32)
    neighbour = np.array([u for row in rows for u in row], np.uint32)
    graph = Neighbours(first, neighbour, np.zeros(0, np.int64))
    hold_constant(graph)
    return graph


def check_matching(mate: list[int], edges: Pairs, pairs: int) -> None:
    found = {(min(v, m), max(v, m)) for v, m in enumerate(mate) if m != NONE}
    assert all(m == NONE or mate[m] == v for v, m in enumerate(mate)), f"partners disagree: {mate}"
    assert found <= {(min(edge), max(edge)) for edge in edges}, f"no edges: {found}"
    assert len(found) == pairs, f"{len(found)} pairs, not {pairs}"


def make_rounds(threads: int) -> rounds.Rounds:
    worklist.BUFFER = np.uint64(4)
    lists = worklist.make_worklist(threads, np.uint32)
    lists.buffer[...] = 0
    stop = np.zeros(1, np.int64)
    hold_constant((stop,))
    return rounds.Rounds(
        num_threads=np.uint64(threads),
        worklist=lists,
        shared=np.zeros(int(rounds.THREE * rounds.SET), np.int64),
        barrier=impatient_barrier(threads),
        stop=stop,
        counts=uncounted(threads, COUNTER_ROW),
        progress=uncounted(2, dtype=np.float64),
    )


def whole_solve(
    n: int, edges: Pairs, matched: Pairs, most: int, *, fewest: int = 64, threads: int = 2
) -> Outcome:
    """At the end the matching is a largest one, and the check of even vertices says so."""
    blossom.FEWEST = np.uint64(fewest)

    def member(thread: int) -> Thread:
        me = np.uint64(thread)

        def run(shared: Solve) -> bool:
            links = shared.links._replace(searches=shared.searches[thread], stack=shared.stacks[thread])
            ended, held = blossom.run_rounds(shared.graph, links, shared.label, shared.forest, me)
            return ended and blossom.check_even(shared.graph, shared.forest, me, held)

        return run

    def make_case() -> tuple[Solve, list[Thread]]:
        mate = numbers(n, int(NONE))
        for u, v in matched:
            mate[u], mate[v] = v, u
        unused = hold_constant((np.zeros(1, np.uint64), numbers(1)))
        links = Links(mate, numbers(n), numbers(n), numbers(n), np.zeros(n, np.uint64), *unused)
        searches = tuple(np.array([t << 48], np.uint64) for t in range(threads))
        stacks = tuple(numbers(2 * n + 2) for _ in range(threads))
        lists = [numbers(n) for _ in range(11)]
        forest = blossom.Forest(make_rounds(threads), *lists, numbers(2 * n))
        label = np.zeros(n, np.uint8)
        hold_constant((label,))
        solve = Solve(graph_of(n, edges), links, label, searches, stacks, forest)
        return solve, [member(t) for t in range(threads)]

    def check_end(shared: Solve, results: list[Any]) -> None:
        check_matching(shared.links.mate.tolist(), edges, most)
        assert all(results), "the check of even vertices fails"

    return explore(make_case, None, check_end)


def start(n: int, edges: Pairs, most: tuple[int, ...], threads: int = 2) -> Outcome:
    """The matching of Karp and Sipser is one, has one of these numbers of pairs, and decides as it says."""
    karp_sipser.CHUNK = np.uint64(1)

    def member(thread: int) -> Thread:
        return lambda shared: karp_sipser.match_share(*shared, np.uint64(thread))

    def make_case() -> tuple[Any, list[Thread]]:
        stop = np.zeros(1, np.int64)
        hold_constant((stop,))
        pairing = karp_sipser.Pairing(
            mate=numbers(n, int(NONE)),
            label=np.zeros(n, np.uint8),
            left=np.zeros(n, np.int32),
            below=numbers(n),
            taken=np.zeros(1, np.int64),
            barrier=impatient_barrier(threads),
            stop=stop,
            num_threads=np.uint64(threads),
        )
        return (graph_of(n, edges), pairing), [member(t) for t in range(threads)]

    def check_end(shared: Any, results: list[Any]) -> None:
        mate = shared[1].mate.tolist()
        pairs = sum(m != NONE for m in mate) // 2
        assert pairs in most, f"{pairs} pairs"
        check_matching(mate, edges, pairs)
        label = shared[1].label.tolist()
        for ends in ({label[u], label[v]} for u, v in edges):
            assert EVEN not in ends or ODD in ends, f"even neighbours: {label}"
        for v, own in enumerate(label):
            assert own != ODD or (mate[v] != NONE and label[mate[v]] == EVEN), f"odd and free: {label}"

    return explore(make_case, None, check_end)


#: Two roots with a matched edge between them.
PATH = (4, [(0, 1), (1, 2), (2, 3)], [(1, 2)], 2)
#: Both roots may take both ends of the edge between them.
SQUARE = (4, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], [(1, 2)], 2)
#: Three roots next to each other: two of them meet the third.
TRIO = (3, [(0, 1), (1, 2), (2, 0)], [], 1)
#: Roots 0 and 1 meet; what they let go is next to root 2.
AGAIN = (5, [(0, 3), (3, 4), (4, 1), (2, 3)], [(3, 4)], 2)
#: The root 0 has a blossom with 1 and 2, of which 2 leads to the root 3 only through 1.
FLOWER = (4, [(0, 1), (0, 2), (1, 2), (1, 3)], [(1, 2)], 2)
#: Roots 0 and 1 are next to 2. If 1 takes it, 0 has no work left, and 1 is held until 0 meets it.
HELD = (4, [(0, 2), (1, 2), (3, 1)], [(2, 3)], 2)

CASES: Cases = {
    "path": partial(whole_solve, *PATH),
    "square": partial(whole_solve, *SQUARE),
    "trio": partial(whole_solve, *TRIO),
    "again": partial(whole_solve, *AGAIN),
    "flower": partial(whole_solve, *FLOWER),
    "held": partial(whole_solve, *HELD, fewest=1),
    "start on a path": partial(start, 4, [(0, 1), (1, 2), (2, 3)], (1, 2)),
    "start on a star": partial(start, 4, [(0, 1), (0, 2), (0, 3)], (0, 1)),
    "start on a triangle": partial(start, 3, [(0, 1), (1, 2), (2, 0)], (0, 1)),
}

MUTANTS: Mutants = {
    "each-vertex-guards-itself": (
        "square",
        mutate(blossom.take, "each-vertex-guards-itself", "guard = v"),
        "IndexError",
    ),
    "takes-the-second-tree-unasked": (
        "trio",
        mutate(blossom.take_both, "takes-the-second-tree-unasked", ""),
        "data race on forest.",
    ),
    "augments-while-trees-grow": (
        "path",
        mutate(blossom.run_rounds, "augments-while-trees-grow", ""),
        "data race on forest.",
    ),
    "grows-the-tree-that-is-held": (
        "held",
        mutate(blossom.run_rounds, "grows-the-tree-that-is-held", ""),
        "IndexError",
    ),
    "decides-pairs-by-choice": (
        "start on a triangle",
        mutate(
            karp_sipser.match_share,
            "decides-pairs-by-choice",
            "match_with_ones(graph, pairing, v, True)",
        ),
        "even neighbours",
    ),
    "matches-the-second-vertex-unasked": (
        "start on a triangle",
        mutate(karp_sipser.match_both, "matches-the-second-vertex-unasked", ""),
        "partners disagree",
    ),
    "matches-before-all-have-counted": (
        "start on a path",
        mutate(karp_sipser.match_share, "matches-before-all-have-counted", ""),
        "data race on",
    ),
}

test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)

if __name__ == "__main__":
    serve(CASES, MUTANTS)
