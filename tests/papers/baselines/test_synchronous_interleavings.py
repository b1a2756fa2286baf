"""Synchronous push-relabel in every state that two or three threads can reach in tiny cases, and mutants.

See tests/parallel/test_toolbox_interleavings.py for how.
Vertices are numbers from 0, the last two of a network source and sink.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.graph.residual import ResidualArrays
from preflow.kernels import atomics
from preflow.kernels.atomics import fetch_add, load, pause
from preflow.papers.baselines import multicore_synchronous as synchronous
from preflow.papers.baselines.multicore_synchronous import Rules, State, may_push
from preflow.parallel import worklist
from preflow.parallel.barrier import ARRIVED
from preflow.parallel.worklist import make_worklist
from preflow.solving.monitor import Monitor
from preflow.solving.options import UNLIMITED
from tests.support.exploration import (
    Cases,
    Mutants,
    edit,
    exploration_tests,
    hold_constant,
    mutate,
    serve,
    uncounted_monitor,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values, replaced
from tests.support.tiny_networks import Arcs, Flow, distances, make_tiny_search, residual_of

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)


class Solve(NamedTuple):
    """The arrays that the threads of a case share."""

    net: ResidualArrays
    state: State
    monitor: Monitor


def make_solve(arcs: Arcs, num_threads: int, stoppable: bool) -> Solve:
    net = residual_of(arcs)
    n = len(net.excess)
    worklist.BUFFER, worklist.CHUNK = np.uint64(8), ONE
    search = make_tiny_search(num_threads, net, small=n + 1, box_size=0)
    lists = make_worklist(num_threads, np.uint32)
    lists.buffer[...] = 0
    state = State(
        search=search,
        height=np.zeros(n, np.uint32),
        next_height=np.zeros(n, np.uint32),
        gained=np.zeros(n, np.int64),
        round_listed=np.zeros(n, np.uint32),
        worklist=lists,
        active=np.zeros(2 * n, np.uint32),
        shared=np.zeros(64, np.int64),
    )
    stop = np.zeros(1, np.int64)
    if not stoppable:
        hold_constant((stop,))
    return Solve(net, state, uncounted_monitor(stop))


def bare(arrays: Any) -> Any:
    """Return a tuple of the arrays themselves, whose entries are read behind the explorer's back."""
    return type(arrays)(*map(bare, arrays)) if isinstance(arrays, tuple) else np.asarray(arrays)


def meet(barrier: NDArray[np.int64], num_threads: int) -> bool:
    """Wait as at a barrier, in few steps."""
    arrived = fetch_add(barrier, ARRIVED, 1)
    everybody = (arrived // int(num_threads) + 1) * int(num_threads)
    while load(barrier, ARRIVED) < everybody:
        pause()
    return True


def with_checks(commit: Callable[..., None], flow: Flow) -> Callable[..., None]:
    """Return `commit` with checks before it, when a round ends: they read behind the explorer's back.

    What nobody reads again is cleared, which makes for fewer states.
    """

    def check_round(net: ResidualArrays, state: State, begin: Any, size: Any) -> None:
        """Flow is conserved, the new labels are valid, and who is active or has changed is listed once.

        The next height of a vertex that was dead at the last search is left over from before.
        """
        net = with_gained(net, state)
        flow.check_end(net)
        listed = state.active[begin : begin + size].tolist()
        live = state.height <= len(net.excess)
        live[listed] = True
        height = np.where(live, state.next_height, state.height)
        flow.check_labels(net, height)
        assert (height >= state.height).all(), "a height fell"
        assert len(set(listed)) == len(listed), f"listed twice: {listed}"
        active = (net.excess > 0) & (height <= len(net.excess))
        changed = (state.gained != 0) | (height != state.height)
        missing = set(np.flatnonzero(active | changed).tolist()) - set(listed)
        assert not missing, f"not listed: {missing}"

    def checked(net: ResidualArrays, state: State, thread: Any, begin: Any, size: Any) -> None:
        check_round(bare(net), bare(state), begin, size)
        n = len(net.excess)
        np.asarray(state.worklist.buffer)[thread] = 0
        np.asarray(state.active)[begin : begin + size].sort()
        np.asarray(state.active)[n - begin : 2 * n - begin] = 0
        commit(net, state, thread, begin, size)

    return checked


def with_gained(net: ResidualArrays, state: State) -> ResidualArrays:
    """Return the network with what the round has added to the excess."""
    return net._replace(excess=net.excess + state.gained)


def solve(
    arcs: Arcs,
    num_threads: int = 2,
    few_active: int = 0,
    work_limit: int | None = None,
    stoppable: bool = False,
    pulses: bool = False,
) -> Outcome:
    """A whole first stage: every round ends as it should, and no excess that is left can reach the sink."""
    flow = Flow(arcs)
    rules = Rules(np.uint64(few_active), UNLIMITED if work_limit is None else np.uint64(work_limit), pulses)

    def member(thread: int) -> Thread:
        def run(shared: Solve) -> None:
            net, state, monitor = shared
            synchronous.first_stage(net, state, np.uint64(thread), rules, monitor)

        return run

    def stopper(shared: Solve) -> None:
        atomics.relaxed_store(shared.monitor.stop, 0, 1)

    def make_case() -> tuple[Solve, list[Thread]]:
        members = [member(thread) for thread in range(num_threads)]
        made = make_solve(arcs, num_threads, stoppable)
        return made, [*members, stopper] if stoppable else members

    def check_state(shared: Solve) -> None:
        net = with_gained(shared.net, shared.state)
        flow.check_state(net)
        flow.check_pairs(net)
        assert flow.missing(net) <= 0, "excess is lost: who pushes credits the receiver first"

    def check_end(shared: Solve, results: list[None]) -> None:
        net, state = shared.net, shared.state
        flow.check_end(net)
        height = distances(net)
        assert state.height.tolist() == height, f"heights {state.height.tolist()}"
        assert not state.gained.any(), "what was gained is left over"
        can_reach_sink = net.excess[state.height <= len(height)].any()
        assert not can_reach_sink or shared.monitor.stop[0] != 0, "excess can reach the sink"

    synchronous.MANY_AGAIN = ONE
    with (
        replaced(synchronous.wait, meet),
        replaced(synchronous.commit, with_checks(synchronous.commit, flow)),
    ):
        return explore(make_case, check_state, check_end)


#: Both push to vertex 0, which can send all on.
MEET = [(3, 1, 1), (3, 2, 1), (1, 0, 1), (2, 0, 1), (0, 4, 2)]
#: As above, but vertex 0 can send on only half, and the two can push to each other once one is relabelled.
SIDEWAYS = [*MEET[:-1], (0, 4, 1), (1, 2, 1), (2, 1, 1)]
#: Vertices 1 and 2 are active, at one height, and can send half to 0 and half to each other.
#: Vertex 3, here and below, is isolated: it makes room for one more height.
LEVEL = [(4, 1, 2), (4, 2, 2), (1, 0, 1), (2, 0, 1), (1, 2, 1), (2, 1, 1), (0, 5, 2)]
#: Vertex 2 pushes to 1, which would push back; both are active.
DOWN = [(4, 2, 1), (4, 1, 2), (2, 1, 1), (1, 2, 1), (1, 0, 1), (0, 5, 1)]
#: Vertex 1 climbs past 2, two levels above, and pushes to it while 2 pushes to 4.
PAST = [(5, 1, 2), (5, 2, 1), (1, 0, 1), (0, 6, 1), (1, 2, 1), (2, 4, 1), (4, 1, 1)]
#: One vertex is active at a time.
CHAIN = [(2, 1, 1), (1, 0, 1), (0, 3, 1)]
#: One thread relabels vertex 3 and makes two others active.
CLIMB = [(4, 3, 2), (3, 1, 1), (3, 2, 1), (2, 0, 1), (1, 5, 1), (0, 5, 1)]
CASES: Cases = {
    "meet": lambda: solve(MEET),
    "meet-periods": lambda: solve(MEET, work_limit=1),
    "meet-stop": lambda: solve(MEET, stoppable=True),
    "sideways": lambda: solve(SIDEWAYS),
    "level": lambda: solve(LEVEL),
    "down": lambda: solve(DOWN),
    "past": lambda: solve(PAST),
    "alone": lambda: solve(SIDEWAYS, few_active=2),
    "alone-at-first": lambda: solve(CLIMB, few_active=1),
    "chain-3": lambda: solve(CHAIN, num_threads=3),
    "pulses-meet": lambda: solve(MEET, pulses=True),
    "pulses-level": lambda: solve(LEVEL, pulses=True),
    "pulses-down": lambda: solve(DOWN, pulses=True),
}

CREDIT = "fetch_add(state.gained, w, amount)"
LIST = "if exchange(state.round_listed, v, this_round.number) != this_round.number:"
WAIT = "if not wait(search.barrier, num_threads):\n"


def without_barrier(before: str, after: str, indent: int) -> Any:
    """Leave out the barrier that is between two pieces of the first stage."""
    space = " " * indent
    barrier = f"{space}{WAIT}{space}    return\n"
    return edit(synchronous.first_stage, before + barrier + after, before + after)


MUTANTS: Mutants = {
    "push: credits plainly": (
        "meet",
        mutate(synchronous.push_over, "credits-plainly", "state.gained[w] += amount"),
        "data race on state.gained",
    ),
    "push: credits in two steps": (
        "meet",
        edit(
            synchronous.push_over,
            CREDIT,
            "before = relaxed_load(state.gained, w)\n    relaxed_store(state.gained, w, before + amount)",
        ),
        "excess is lost",
    ),
    "push: credits the excess of this round": (
        "level",
        mutate(synchronous.push_over, "credits-the-excess-of-this-round", "fetch_add(net.excess, w, amount)"),
        "data race on net.excess",
    ),
    "discharge: debits plainly": (
        "level",
        mutate(synchronous.end_visit, "debits-plainly", "state.gained[v] += left - net.excess[v]"),
        "data race on state.gained",
    ),
    "discharge: relabels at once": (
        "level",
        mutate(synchronous.discharge_frozen, "relabels-at-once", "state.height[v] = h"),
        "a height fell",
    ),
    "rule: none": (
        "level",
        mutate(synchronous.discharge_frozen, "none", "if False and height_w < dead and (excess[w] > 0):"),
        "data race on net.residual",
    ),
    "rule: both may push at one height": (
        "level",
        mutate(synchronous.may_push, "both-may-push-at-one-height", "return bool(True)"),
        "data race on net.residual",
    ),
    "rule: also who is two levels above may push": (
        "down",
        mutate(
            synchronous.may_push,
            "also-who-is-two-levels-above-may-push",
            "return bool(height_v == height_w + ONE or height_v != height_w)",
        ),
        "data race on net.residual",
    ),
    "rule: who is blocked is relabelled": (
        "level",
        mutate(synchronous.discharge_frozen, "who-is-blocked-is-relabelled", "if left == 0:"),
        "labels are not valid",
    ),
    "list: tests, then sets": (
        "level",
        edit(
            synchronous.list_once,
            LIST,
            "listed = relaxed_load(state.round_listed, v)\n"
            "    relaxed_store(state.round_listed, v, this_round.number)\n"
            "    if listed != this_round.number:",
        ),
        "listed twice",
    ),
    "list: everybody lists": (
        "level",
        mutate(synchronous.list_once, "everybody-lists", "if True:"),
        "IndexError",
    ),
    "list: the receiver is lost": (
        "meet",
        mutate(synchronous.push_over, "the-receiver-is-lost", ""),
        "not listed",
    ),
    "list: who was discharged is lost": (
        "meet",
        mutate(synchronous.end_visit, "who-was-discharged-is-lost", ""),
        "not listed",
    ),
    "list: what is in a buffer is lost": (
        "meet",
        mutate(synchronous.first_stage, "what-is-in-a-buffer-is-lost", ""),
        "not listed",
    ),
    "list: overwrites that of this round": (
        "level",
        mutate(synchronous.first_stage, "overwrites-that-of-this-round", "out = begin"),
        "data race on state.active",
    ),
    "list: rounds have one number": (
        "meet",
        mutate(synchronous.first_stage, "rounds-have-one-number", "current = ONE"),
        "not listed",
    ),
    "list: its counters are not reset": (
        "sideways",
        mutate(synchronous.first_stage, "its-counters-are-not-reset", ""),
        "IndexError",
    ),
    "list: that of a period has the number of the last round": (
        "meet-periods",
        mutate(synchronous.first_stage, "that-of-a-period-has-the-number-of-the-last-round", ""),
        "data race on state.active",
    ),
    "list: heights of the last period are kept": (
        "meet-periods",
        mutate(synchronous.list_active, "heights-of-the-last-period-are-kept", ""),
        "a height fell",
    ),
    "commit: keeps what was gained": (
        "meet",
        mutate(synchronous.commit, "keeps-what-was-gained", ""),
        "excess",
    ),
    "commit: forgets the last vertex of a share": (
        "meet",
        mutate(synchronous.commit, "forgets-the-last-vertex-of-a-share", "while k + ONE < end:"),
        "not listed",
    ),
    "round: no barrier after the search's list": (
        "meet",
        without_barrier("net, state, thread, begin, end, phase)\n", "        begin = ZERO\n", 8),
        "not listed",
    ),
    "round: no barrier before the commit": (
        "meet",
        without_barrier("fetch_add(shared, WORK, work)\n", "                if rules.pulses:\n", 16),
        "not listed",
    ),
    "pulse: reads capacities first": (
        "pulses-down",
        mutate(
            synchronous.push_frozen,
            "reads-capacities-first",
            "if residual[a] > 0 and np.uint64(height[w]) + ONE == h:",
        ),
        "data race on net.residual",
    ),
    "pulse: relabels before all have pushed": (
        "pulses-down",
        without_barrier("fetch_add(shared, WORK, work)\n", "                if rules.pulses:\n", 16),
        "data race on state.next_height",
    ),
    "pulse: heights change while others relabel": (
        "pulses-level",
        mutate(synchronous.first_stage, "heights-change-while-others-relabel", "if False:"),
        "labels are not valid",
    ),
    "round: no barrier after the commit": (
        "meet",
        without_barrier(
            "relaxed_load(shared, STOPPING_AFTER_ROUND) != 0\n",
            "        phase += ONE\n",
            12,
        ),
        "not listed",
    ),
    "round: who comes from a search is told to stop in the same place": (
        "meet-stop",
        mutate(
            synchronous.first_stage,
            "who-comes-from-a-search-is-told-to-stop-in-the-same-place",
            "stopping = relaxed_load(shared, STOPPING_AFTER_ROUND) != 0",
        ),
        "deadlock",
    ),
    "alone: no barrier after it": (
        "alone-at-first",
        without_barrier(
            "fetch_add(shared, WORK, work)\n",
            "                begin = np.uint64(relaxed_load(shared, WAITING))\n",
            16,
        ),
        "data race",
    ),
    "alone: the new height is forgotten": (
        "alone-at-first",
        mutate(synchronous.discharge_alone, "the-new-height-is-forgotten", ""),
        "a height fell",
    ),
    "alone: the list is not handed over": (
        "alone-at-first",
        mutate(synchronous.discharge_alone, "the-list-is-not-handed-over", "while False:"),
        "not listed",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_one_of_two_neighbours_may_push() -> None:
    heights = [np.uint64(height) for height in range(1, 7)]
    for v, w in product(heights, heights):
        assert may_push(ONE, v, TWO, w) != may_push(TWO, w, ONE, v)


def test_expressions_hide_no_value() -> None:
    steps = {"wait", "append", "flush", "appended", "begin_phase", "take_chunk", "push_over", "end_visit"}
    steps |= {"list_once", "discharge_frozen", "discharge_alone", "commit", "list_active", "search_together"}
    assert hidden_values((synchronous,), steps=steps) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
