"""Multicore push-relabel along paths in every state that two or three threads can reach.

See tests/parallel/test_toolbox_interleavings.py for how.
Vertices are numbers from 0, the last two of a network source and sink;
vertex v belongs to thread v modulo the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from preflow.graph.residual import ResidualArrays
from preflow.kernels import atomics
from preflow.kernels.atomics import PADDING, compare_exchange, relaxed_store
from preflow.maxflow import multicore_paths
from preflow.maxflow.multicore_paths import GAP, WORK_QUANTUM, Rules, State, start_phase
from preflow.parallel import idle, queues
from preflow.parallel import search as searching
from preflow.parallel.queues import make_queues
from preflow.solving.monitor import Monitor
from preflow.solving.options import UNLIMITED
from tests.invariants.multicore_paths import check_invariants as check_multicore_paths
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

ZERO, ONE, TWO, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4)


def add_plainly(array: Any, index: Any, amount: Any) -> Any:
    old = array[index]
    array[index] = old + amount
    return old


def claim_nothing(array: Any, index: Any, expected: Any, value: Any) -> bool:
    return bool(atomics.load(array, index) == expected)


class Phase(NamedTuple):
    """What the threads of a phase share."""

    net: ResidualArrays
    state: State
    monitor: Monitor


def make_phase(arcs: Arcs, num_threads: int, length: int, stoppable: bool) -> Phase:
    net = residual_of(arcs)
    n = len(net.excess)
    search = make_tiny_search(num_threads, net, 0, 1)
    donations = make_queues(num_threads, 4 * num_threads, np.uint32)
    donations.items[...] = 0
    donations.idle.patience[0] = 0
    hold_constant((donations.idle.num_threads, donations.idle.patience))
    state = State(
        search=search,
        queues=donations,
        height=np.zeros(n, np.uint32),
        current=np.zeros(n, np.uint32),
        active_first=np.zeros((num_threads, n + 2), np.uint32),
        active_next=np.zeros(n, np.uint32),
        population=np.zeros(num_threads * (n + 2), np.int64),
        until_recount=np.zeros((num_threads, n + 2), np.int64),
        is_scarce=np.zeros(n + 2, np.uint32),
        path=np.zeros((num_threads, length), np.uint32),
        active=np.zeros(num_threads * PADDING),
        highest=np.zeros(num_threads * PADDING, np.uint64),
        searched=np.zeros(num_threads * PADDING, np.uint64),
        made=np.zeros(num_threads * PADDING, np.uint64),
        exact_below=np.zeros(num_threads * PADDING, np.uint64),
        shared=np.zeros(4 * PADDING, np.int64),
        over=np.zeros(PADDING, np.int64),
    )
    stop = np.zeros(1, np.int64)
    if not stoppable:
        hold_constant((stop,))
    return Phase(net, state, uncounted_monitor(stop))


def stopper(shared: Phase) -> None:
    relaxed_store(shared.monitor.stop, 0, 1)


def phase(
    arcs: Arcs,
    length: int = 3,
    num_threads: int = 2,
    work_limit: int | None = None,
    stoppable: bool = False,
    climb: bool = False,
) -> Outcome:
    """Flow is conserved, no mark is left, and no vertex is lost unless the phase is cut off.

    With `climb` the first thread begins by lifting vertex 0, of height 2, to 4.
    """
    flow = Flow(arcs)
    n = len(flow.begin.excess)
    exact = distances(flow.begin)
    limit = UNLIMITED if work_limit is None else np.uint64(work_limit)
    rules = Rules(np.uint64(length), limit)

    def make_case() -> tuple[Phase, list[Thread]]:
        made = make_phase(arcs, num_threads, length, stoppable)
        made.state.height[:] = exact
        members = [member(made, np.uint64(thread)) for thread in range(num_threads)]
        hold_constant((*made.state.search, made.state.active, made.state.highest))
        return made, [*members, stopper] if stoppable else members

    def member(made: Phase, me: Any) -> Thread:
        lists, greatest_seen = start_phase(made.net, made.state, me, n + 1, ZERO, ZERO)

        def run(shared: Phase) -> Any:
            net, state, monitor = shared
            begin, seen = lists, greatest_seen
            if climb and me == ZERO and compare_exchange(net.excess, ZERO, 0, 1):
                relaxed_store(state.height, ZERO, 4)
                multicore_paths.change_level(state, me, num_threads, TWO, FOUR)
                begin, seen = multicore_paths.release(net, state, me, ZERO, np.int64(-1), begin), FOUR
            min_level = max(state.highest)
            return multicore_paths.run_phase(net, state, me, rules, begin, seen, min_level, monitor)

        return run

    def check_state(shared: Phase) -> None:
        flow.check_state(shared.net)
        assert flow.missing(shared.net) <= 0, "excess is lost: who pushes or marks adds first"

    def check_end(shared: Phase, results: list[Any]) -> None:
        net, state = shared.net, shared.state
        flow.check_end(net)
        height = state.height.tolist()
        population = state.population.reshape(num_threads, n + 2)
        for thread in range(num_threads):
            forgotten = population[thread, int(results[thread]) + 1 : n + 1]
            assert not forgotten.any(), "the next phase starts with wrong counts"
        check_multicore_paths(net, state)
        kept = min(2 if climb else n + 1, *state.exact_below[::PADDING])
        for v, (before, after) in enumerate(zip(exact, distances(net), strict=True)):
            assert before == after == height[v] or min(before, after, height[v]) >= kept, f"height of {v}"
        if state.shared[multicore_paths.WORK] < limit and shared.monitor.stop[0] == 0:
            for v in np.flatnonzero(net.excess > 0):
                lies_above = height[v] > min(n, state.shared[GAP])
                assert lies_above, f"vertex {v} is lost at height {height[v]}"

    multicore_paths.WORK_QUANTUM = WORK_QUANTUM if work_limit is None else ONE
    return explore(make_case, check_state, check_end)


#: Both push along a path over vertex 0, which can send all on.
MEET = [(3, 1, 1), (3, 2, 1), (1, 0, 1), (2, 0, 1), (0, 4, 2)]
#: As above, but vertex 0 can send on only half, and is relabelled.
RETURN = [*MEET[:-1], (0, 4, 1)]
#: Thread 0 has both vertices with excess and gives one away; vertex 1 can send on half.
GIVE = [(3, 0, 1), (3, 2, 1), (0, 1, 1), (2, 1, 1), (1, 4, 1)]
#: As above, but vertex 1 can send on all.
GIVE_ALL = [*GIVE[:-1], (1, 4, 2)]
#: As GIVE, but vertex 2, which is kept, has more, so that 0, donated away, can die at once.
GIVE_LESS = [(3, 0, 1), (3, 2, 2), (0, 1, 1), (2, 1, 2), (1, 4, 1)]
#: Thread 0 has two vertices with excess and thread 1 one, which lies below the min_level.
BELOW = [(4, 0, 1), (4, 2, 1), (4, 3, 1), (0, 3, 1), (2, 1, 1), (3, 1, 2), (1, 5, 3)]
#: As RETURN, and the two vertices can push to each other once one of them is relabelled.
SIDEWAYS = [*RETURN, (1, 2, 1), (2, 1, 1)]
#: A path of three arcs whose last inner vertex gets excess from another thread.
CROSS = [(4, 3, 1), (3, 2, 1), (2, 0, 1), (4, 1, 1), (1, 0, 1), (0, 5, 1)]
#: Vertex 0 climbs past 1, which is about to push to it; 3 keeps its height from being a gap.
PAST = [(4, 1, 1), (1, 0, 1), (0, 2, 1), (2, 5, 1), (3, 2, 1)]
#: Vertex 0 can send on half, and pushes the rest to 1, which may be about to push to 0; 3 as in PAST.
AGAINST = [(4, 0, 2), (4, 1, 1), (0, 1, 1), (1, 0, 1), (0, 2, 1), (2, 5, 1), (3, 2, 1)]
#: Vertex 0 can send on half, and dies.
KEEP = [(2, 0, 2), (0, 1, 1), (1, 3, 2)]


CASES: Cases = {
    "phase-meet": lambda: phase(MEET),
    "phase-meet-3": lambda: phase(MEET, num_threads=3),
    "phase-return": lambda: phase(RETURN),
    "phase-give": lambda: phase(GIVE),
    "phase-give-all": lambda: phase(GIVE_ALL),
    "phase-below": lambda: phase(BELOW, length=1),
    "phase-give-less": lambda: phase(GIVE_LESS),
    "phase-sideways": lambda: phase(SIDEWAYS),
    "phase-cross": lambda: phase(CROSS, length=4),
    "phase-past": lambda: phase(PAST, climb=True),
    "phase-against": lambda: phase(AGAINST),
    "phase-keep": lambda: phase(KEEP),
    "phase-cut-off": lambda: phase(RETURN, work_limit=1),
    "phase-stop": lambda: phase(MEET, stoppable=True),
}

RETREAT = "lists = release(net, state, thread, v, np.int64(-1), lists)\n"


MUTANTS: Mutants = {
    "push: adds in two steps": (
        "phase-meet",
        exchange_for(atomics.fetch_add, add_in_two_steps),
        "excess",
    ),
    "push: adds plainly": (
        "phase-meet",
        exchange_for(atomics.fetch_add, add_plainly),
        "data race",
    ),
    "path: claims in two steps": (
        "phase-meet",
        exchange_for(atomics.compare_exchange, look_then_set),
        "an excess is negative",
    ),
    "path: claims without a mark": (
        "phase-return",
        exchange_for(atomics.compare_exchange, claim_nothing),
        "an excess is negative",
    ),
    "path: the mark is not taken back on retreat": (
        "phase-return",
        mutate(multicore_paths.run_phase, "the-mark-is-not-taken-back-on-retreat", ""),
        "excess is not conserved",
    ),
    "path: the mark is not taken back after a push": (
        "phase-meet",
        mutate(
            multicore_paths.push_along_path,
            "the-mark-is-not-taken-back-after-a-push",
            "lists = release(net, state, thread, v, carried - amount, lists)",
        ),
        "excess is not conserved",
    ),
    "path: an inner vertex that others pushed to is not kept": (
        "phase-return",
        mutate(multicore_paths.release, "an-inner-vertex-that-others-pushed-to-is-not-kept", "return lists"),
        "is lost",
    ),
    "path: who pushes last holds the vertex too": (
        "phase-meet",
        mutate(
            multicore_paths.push_along_path,
            "who-pushes-last-holds-the-vertex-too",
            "if fetch_add(net.excess, w, carried) >= 0:",
        ),
        "data race on net",
    ),
    "path: pushes plainly over its last arc, too": (
        "phase-against",
        mutate(multicore_paths.push_along_path, "pushes-plainly-over-its-last-arc-too", "if True:"),
        "a residual is lost",
    ),
    "lists: their top does not rise": (
        "phase-past",
        mutate(
            multicore_paths.list_active,
            "their-top-does-not-rise",
            "return ActiveLists(opened, lists.count + ONE, lists.top if lists.top > ZERO else h)",
        ),
        "is lost",
    ),
    "gift: a vertex is donated and kept": (
        "phase-give-all",
        mutate(multicore_paths.donate_highest, "a-vertex-is-donated-and-kept", "pass"),
        "a residual is negative",
    ),
    "gift: is said before it is there": (
        "phase-give",
        edit(
            multicore_paths.donate_highest,
            "                append(queues, other, v)\n",
            "                announce_donation(queues.idle, other)\n"
            "                append(queues, other, v)\n",
        ),
        "data race on state.queues",
    ),
    "min_level: a waiting thread continues without its flag": (
        "phase-below",
        mutate(multicore_paths.wait_for_higher, "who-waits-goes-on-without-its-flag", "if True:"),
        "is lost",
    ),
    "min_level: a thread that waits below it counts as empty": (
        "phase-below",
        mutate(
            multicore_paths.wait_for_higher,
            "who-waits-below-it-counts-as-empty",
            "become_idle(idle, thread, EMPTY)",
        ),
        "is lost",
    ),
    "gift: is not taken": (
        "phase-give",
        mutate(multicore_paths.take_donation, "is-not-taken", "while False:"),
        "is lost",
    ),
    "exact heights: an arc saturated on the way is not seen": (
        "phase-meet",
        mutate(
            multicore_paths.push_along_path,
            "an-arc-saturated-on-the-way-is-not-seen",
            "if amount == capacity and i == ZERO and (amount == carried):",
        ),
        "height of",
    ),
    "exact heights: a relabel is not seen": (
        "phase-keep",
        mutate(multicore_paths.run_phase, "a-relabel-is-not-seen", "pass"),
        "height of",
    ),
    "counts: the height before is not remembered": (
        "phase-give-less",
        mutate(multicore_paths.run_phase, "the-height-before-is-not-remembered", "pass"),
        "wrong counts",
    ),
    "counts: a vertex is not counted at its new height": (
        "phase-return",
        mutate(multicore_paths.change_level, "a-vertex-is-not-counted-at-its-new-height", "if h < n:"),
        "wrong counts",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    assert (
        hidden_values((multicore_paths,), (idle, queues, searching), alone=("make", "slot", "owner_of")) == []
    )


if __name__ == "__main__":
    serve(CASES, MUTANTS)
