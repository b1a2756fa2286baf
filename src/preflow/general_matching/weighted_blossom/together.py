"""Searches of several threads at the same time: the start and all rounds but the last ones.

:class:`.state.Claims` says how these searches keep out of each other's way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import fetch_add, load, relaxed_load, relaxed_store, store
from ...kernels.constants import ONE
from ...kernels.kernel import kernel
from ...parallel.barrier import make_barrier, wait
from ...parallel.thread_pool import run_solver, share_of
from ...solving.monitor import Monitor
from ...solving.run import Control
from ...stats import ARC_SCANS
from ..initial.proof import most_weight
from ..links import NONE
from .search import search_from
from .start import WeightedBlossomOptions, free_vertices
from .state import (
    LEADING,
    LEAST_DUAL,
    SPARE,
    STAMP,
    Claims,
    WeightedForest,
    claim_node,
    clear_vertices,
    free_dual,
    nodes_of,
    release,
    unset_lists,
)

#: A thread takes at most this number of roots at a time, and so few that it comes about TURNS times a round.
#: Roots that have numbers near each other are often near each other in the graph, so one thread takes them.
MOST_ROOTS, TURNS = np.uint64(64), np.uint64(16)
#: One thread goes on alone from fewer roots for each thread: most threads would wait for the largest tree.
FEWEST_ROOTS = 4


class Team(NamedTuple):
    """The words that the threads share beside the state."""

    num_threads: np.uint64
    taken: NDArray[np.int64]  #: shape (1,): the number of roots that threads have taken
    barrier: NDArray[np.int64]


@kernel
def match_claimed(graph: Neighbours, forest: WeightedForest, v: np.uint64) -> None:
    """Lower the dual of a free vertex and match it by a tight edge, as :func:`.start.match_tight` does.

    Nothing happens if another thread has claimed the vertex or a neighbour.
    """
    claims = forest.claims
    if not claim_node(forest, claims, v) or np.uint64(forest.outer[v]) != NONE:
        return
    least = np.int64(0)
    for arc in range(graph.first[v], graph.first[v + ONE]):
        dual = free_dual(forest, claims, np.uint64(graph.neighbour[arc]))
        if dual == LEAST_DUAL:
            return  # mutant: overlooks-a-claim
        least = max(least, 2 * graph.weight[arc] - dual)
    store(forest.dual, v, least)
    # While this thread has claimed v, no other one lowers the dual of a neighbour.
    for arc in range(graph.first[v], graph.first[v + ONE]):
        u = np.uint64(graph.neighbour[arc])
        tight = least + load(forest.dual, u) == 2 * graph.weight[arc]
        may_match = tight and np.uint64(relaxed_load(forest.outer, u)) == NONE
        if may_match and claim_node(forest, claims, u) and np.uint64(forest.outer[u]) == NONE:
            relaxed_store(forest.outer, v, u)
            relaxed_store(forest.outer, u, v)
            return


@kernel
def start_share(
    graph: Neighbours,
    forest: WeightedForest,
    team: Team,
    thread: np.uint64,
    wanted: Indices,
    greedy: bool,
    monitor: Monitor,
) -> None:
    """Set the state of vertices, match those of an approximate matching, then others; one thread's share."""
    begin, end = share_of(np.uint64(len(forest.dual)), thread, team.num_threads)
    clear_vertices(forest, begin, end)
    v = begin
    while v < end:
        forest.dual[v] = most_weight(graph, v)
        v += ONE
    if not wait(team.barrier, team.num_threads):
        return
    v = begin
    while len(wanted) > 0 and v < end and not relaxed_load(monitor.stop, 0):
        u = np.uint64(wanted[v])
        if u != NONE and v < u:
            match_claimed(graph, forest, u)
            release(forest, forest.claims)
            match_claimed(graph, forest, v)
            release(forest, forest.claims)
        v += ONE
    v = begin
    while greedy and v < end and not relaxed_load(monitor.stop, 0):
        if np.uint64(relaxed_load(forest.outer, v)) == NONE and load(forest.dual, v) > 0:
            match_claimed(graph, forest, v)
            release(forest, forest.claims)
            monitor.counts[ARC_SCANS] += np.uint64(graph.first[v + ONE] - graph.first[v])
        v += ONE


@kernel
def search_share(
    graph: Neighbours, forest: WeightedForest, team: Team, roots: Indices, most: np.uint64, monitor: Monitor
) -> None:
    """Search from the roots that this thread takes; NONE replaces those that need no further search."""
    size = np.uint64(len(roots))
    count = min(MOST_ROOTS, size // (TURNS * team.num_threads) + ONE)
    while True:
        k = np.uint64(fetch_add(team.taken, 0, count))
        end = min(k + count, size)
        if k >= end:
            break
        while k < end:
            if search_from(forest, graph, np.uint64(roots[k]), most, monitor):
                roots[k] = NONE
            k += ONE


def forests_of_threads(forest: WeightedForest, graph: Neighbours, control: Control) -> list[WeightedForest]:
    """Return the state for each thread, with lists of its own and its part of the blossoms."""
    n, m, nodes = len(graph.first) - 1, len(graph.neighbour) // 2, nodes_of(len(graph.first) - 1)
    owner = np.zeros(nodes, dtype=np.uint64)
    found = []
    for thread in range(control.threads):
        own = unset_lists(n, m)
        spare = np.arange(n + thread, nodes, control.threads, dtype=np.uint32)
        own["spare"][: len(spare)] = spare
        own["sizes"][[SPARE, STAMP]] = len(spare), thread + 1
        claims = Claims(
            thread=np.uint64(thread + 1),
            num_threads=np.uint64(control.threads),
            owner=owner,
            claimed=np.empty(nodes, dtype=np.uint32),
            delays=control.delays,
        )
        found.append(forest._replace(**own, claims=claims))
    return found


def joined(forests: list[WeightedForest]) -> WeightedForest:
    """Return the state for one thread that goes on alone."""
    forest = forests[0]._replace(claims=None)
    for size, name in ((SPARE, "spare"), (LEADING, "leading")):
        lists = [getattr(own, name)[: int(own.sizes[size])] for own in forests]
        whole = np.concatenate(lists)
        getattr(forest, name)[: len(whole)] = whole
        forest.sizes[size] = len(whole)
    forest.sizes[STAMP] = max(int(own.sizes[STAMP]) for own in forests)
    return forest


def search_together(
    forest: WeightedForest,
    graph: Neighbours,
    wanted: Indices,
    options: WeightedBlossomOptions,
    control: Control,
) -> tuple[WeightedForest, Indices, int]:
    """Search on all threads; return the state, the roots that are left, and their budget.

    The members of `forest` have not been set.
    """
    forests = forests_of_threads(forest, graph, control)
    team = Team(np.uint64(control.threads), np.zeros(1, dtype=np.int64), make_barrier(control.threads))
    greedy = options.initial != "none"

    def start(thread: int) -> None:
        number, monitor = np.uint64(thread), control.monitor(thread)
        start_share(graph, forests[thread], team, number, wanted, greedy, monitor)

    run_solver(start, control, team.barrier)
    budget = options.budget
    roots = free_vertices(forest, control)

    def share(thread: int) -> None:
        own = np.uint64(min(budget, 2**62))
        search_share(graph, forests[thread], team, roots, own, control.monitor(thread))

    while len(roots) >= FEWEST_ROOTS * control.threads and budget < 2 * len(graph.neighbour):
        team.taken[0] = 0
        run_solver(share, control, team.barrier)
        if control.stopped:
            break
        roots = roots[roots != NONE]
        control.progress[0] = len(roots)
        budget *= options.growth
    return joined(forests), roots[roots != NONE], budget
