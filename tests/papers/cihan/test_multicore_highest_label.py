"""Highest label with gaps on many cores: its buckets, and every state of discharges by two threads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import FlowNetwork
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualArrays
from preflow.kernels import atomics
from preflow.papers.cihan import buckets as in_buckets
from preflow.papers.cihan import multicore_discharge as discharge
from preflow.papers.cihan import multicore_highest_label_gap as highest_label
from preflow.papers.cihan.buckets import clear, donate, make_buckets, put, size, take_highest
from preflow.papers.cihan.multicore_discharge import Rules, State, make_state, work_until_relabel
from preflow.parallel import idle, queues
from preflow.parallel.queues import make_queues
from preflow.solving.monitor import Monitor
from tests.invariants.multicore_discharge import check_invariants as check_multicore_discharge
from tests.support.exploration import (
    Cases,
    Mutants,
    add_in_two_steps,
    add_plainly,
    edit,
    exchange_for,
    exploration_tests,
    hold_constant,
    mutate,
    serve,
    uncounted_monitor,
)
from tests.support.oracles import check_against_oracle
from tests.support.scheduler import Outcome, Thread, explore, hidden_values
from tests.support.strategies import SmallProblem, small_problems
from tests.support.tiny_networks import Arcs, Flow, distances, make_tiny_search, residual_of

METHOD = "multicore-highest-label-gap"
THREADS = [1, 2, 3, 8]
ZERO, ONE = np.uint64(0), np.uint64(1)


@given(
    problem=small_problems(max_vertices=14),
    threads=st.sampled_from(THREADS),
    gap=st.booleans(),
    period=st.sampled_from([0.01, 1.0, 1e300]),
    order=st.sampled_from(["given", "search"]),
)
@settings(max_examples=100)
def test_agrees_with_oracle(
    problem: SmallProblem, threads: int, gap: bool, period: float, order: str
) -> None:
    options = {"gap": gap, "relabel_period": period, "order": order}
    check_against_oracle(problem, method=METHOD, threads=threads, options=options)


def test_order_of_the_search() -> None:
    """Vertices are numbered by their distance to the sink, and the network is the same."""
    read_only = residual_of([(5, 0, 3), (0, 3, 2), (3, 1, 2), (1, 6, 2), (2, 4, 1), (0, 1, 1)])
    net = type(read_only)(*(each.copy() for each in read_only))
    order = highest_label.search_order(net)
    distance = np.array(distances(net))[order]
    assert sorted(order.tolist()) == list(range(5))
    assert (np.diff(distance) >= 0).all()
    assert order[0] == 1
    copy, arc = highest_label.reordered(net, order)
    tail = np.repeat(np.arange(5), np.diff(copy.first_out).astype(int))
    tail_before = np.repeat(np.arange(5), np.diff(net.first_out).astype(int))
    assert np.array_equal(order[tail], tail_before[arc])
    assert np.array_equal(order[copy.head], net.head[arc])
    assert np.array_equal(copy.residual, net.residual[arc])
    assert np.array_equal(arc[copy.reverse], net.reverse[arc])
    assert np.array_equal(copy.excess, net.excess[order])
    assert np.array_equal(copy.sink_residual, net.sink_residual[order])


@pytest.mark.parametrize("threads", [1, 3])
def test_without_gaps(threads: int) -> None:
    """The cut is the same; only global relabels take vertices out."""
    problem = FAMILIES["rmf-long"].generate("6x50", seed=1)
    with_gaps = preflow.max_flow(problem, method=METHOD, threads=threads)
    without = preflow.max_flow(problem, method=METHOD, threads=threads, options={"gap": False})
    without.verify()
    assert np.array_equal(without.sink_side, with_gaps.sink_side)
    assert without.stats.gap_vertices == 0 < with_gaps.stats.gap_vertices


def test_random_networks() -> None:
    random = np.random.default_rng(11)
    for _ in range(300):
        n, m = int(random.integers(3, 14)), int(random.integers(0, 60))
        arcs = random.integers(0, n, m), random.integers(0, n, m), random.integers(0, 9, m)
        network = FlowNetwork.from_arrays(*arcs, num_vertices=n)
        expected = preflow.max_flow(network, 0, 1, method="serial-fifo").value
        options = {"relabel_period": float(random.choice([0.01, 1.0, 1e300]))}
        for threads in {2, int(random.integers(3, 9))}:
            result = preflow.max_flow(network, 0, 1, method=METHOD, threads=threads, options=options)
            result.verify()
            assert result.value == expected


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize(
    ("family", "size"),
    [("rmf-wide", "12x8"), ("rmf-long", "6x50"), ("rlg-long", "16x64"), ("grid-2d", "12x40")],
)
def test_families(family: str, size: str, threads: int) -> None:
    for seed in range(5):
        problem = FAMILIES[family].generate(size, seed=seed)
        expected = preflow.max_flow(problem, method="serial-highest-label-gap")
        result = preflow.max_flow(problem, method=METHOD, threads=threads, options={"relabel_period": 0.5})
        result.verify()
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)


@pytest.mark.parametrize(("family", "size"), [("rmf-long", "8x64"), ("rlg-long", "16x128")])
def test_one_thread_works_little_more_than_the_serial_method(family: str, size: str) -> None:
    problem = FAMILIES[family].generate(size, seed=0)
    serial = preflow.min_cut(problem, method="serial-highest-label-gap").stats
    fifo = preflow.min_cut(problem, method="multicore-fifo", threads=1).stats
    alone = preflow.min_cut(problem, method=METHOD, threads=1).stats
    assert alone.gap_vertices > 0
    for name in ("pushes", "relabels", "arc_scans"):
        assert getattr(alone, name) <= 1.5 * getattr(serial, name), name
    assert alone.pushes < fifo.pushes


def test_threads_share_the_work() -> None:
    """All excess starts on one vertex, so the other threads live on gifts."""
    problem = FAMILIES["rlg-wide"].generate("64x64", seed=2)
    extra = problem.network.num_vertices
    network = FlowNetwork.from_arrays(
        np.append(problem.network.tail, extra),
        np.append(problem.network.head, problem.source),
        np.append(problem.network.capacity, 2**40),
    )
    result = preflow.max_flow(network, extra, problem.sink, method=METHOD, threads=3)
    result.verify()
    assert result.value == preflow.max_flow(problem).value
    assert result.stats.waits >= result.stats.steals > 0


@pytest.mark.parametrize("options", [{"gap": 0}, {"relabel_period": 0}, {"relabel_rule": "work"}])
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.max_flow(([0, 1], [1, 2], [1, 1]), 0, 2, method=METHOD, options=options)


class TestBuckets:
    @given(
        heights=st.lists(st.integers(1, 40), min_size=1, max_size=40),
        moves=st.lists(st.booleans(), max_size=80),
    )
    def test_highest_first(self, heights: list[int], moves: list[bool]) -> None:
        made = make_buckets(1, len(heights) + 38, np.uint32)
        outside, inside = list(range(len(heights))), []
        for into in moves:
            if into and outside:
                inside.append(outside.pop())
                put(made, ZERO, np.uint64(inside[-1]), np.uint64(heights[inside[-1]]))
            elif inside:
                vertex = int(take_highest(made, ZERO))
                assert heights[vertex] == max(heights[v] for v in inside)
                inside.remove(vertex)
            assert size(made, ZERO) == len(inside)

    def test_last_level_holds_all_from_there_on(self) -> None:
        made = make_buckets(64, 4096, np.uint32)
        levels = made.first.shape[1]
        assert levels < 4096
        heights = [levels - 2, 4000, levels - 1, 10]
        for vertex, height in enumerate(heights):
            put(made, ONE, np.uint64(vertex), np.uint64(height))
        assert [int(take_highest(made, ONE)) for _ in heights] == [2, 1, 0, 3]

    @pytest.mark.parametrize("threads", [1, 4, 64])
    def test_memory_does_not_grow_with_the_threads(self, threads: int) -> None:
        made = make_buckets(threads, 10**5, np.uint32)
        assert made.first.size + made.below.size <= 5.1 * 10**5

    def test_cleared_buckets_are_empty(self) -> None:
        made = make_buckets(2, 100, np.uint32)
        for vertex in range(100):
            put(made, ONE, np.uint64(vertex), np.uint64(vertex + 1))
        clear(made, ONE)
        assert size(made, ONE) == 0
        assert (made.first == 100).all()

    def test_gift_is_the_higher_half(self) -> None:
        made = make_buckets(2, 8, np.uint32)
        for vertex, height in enumerate([5, 1, 4, 2, 3]):
            put(made, ZERO, np.uint64(vertex), np.uint64(height))
        donate(made, ZERO)
        assert size(made, ZERO) == 5, "nobody is idle"
        made.idle.flags[int(idle.PADDING)] = made.idle.num_idle[:2] = 1
        donate(made, ZERO)
        assert [int(take_highest(made, ONE)) for _ in range(2)] == [0, 2]
        assert [int(take_highest(made, ZERO)) for _ in range(3)] == [4, 3, 1]
        assert made.idle.flags.tolist()[int(idle.PADDING) :][:2] == [0, 1]
        assert made.idle.num_idle[0] == 0


# Every state of discharges by two threads; the network's two last vertices are source and sink.


class Discharges(NamedTuple):
    """The arrays that the threads of a case share."""

    net: ResidualArrays
    state: State
    monitor: Monitor


#: Arcs (tail, head, capacity) and the vertices that each thread holds at the start.
Case = tuple[Arcs, list[list[int]]]
#: Both push to vertex 0, which can send all on.
MEET: Case = ([(3, 1, 1), (3, 2, 1), (1, 0, 1), (2, 0, 1), (0, 4, 2)], [[1], [2]])
#: As above, but vertex 0 can send on only half, and is relabelled.
MEET_AND_RETURN: Case = ([(3, 1, 1), (3, 2, 1), (1, 0, 1), (2, 0, 1), (0, 4, 1)], [[1], [2]])
#: One thread has both vertices and gives one away; vertex 0 can send on half.
GIVE: Case = ([(3, 1, 1), (3, 2, 1), (1, 0, 1), (2, 0, 1), (0, 4, 1)], [[1, 2], []])
#: As that, and the two vertices can push to each other once one of them is relabelled.
SIDEWAYS: Case = ([*MEET_AND_RETURN[0], (1, 2, 1), (2, 1, 1)], [[1], [2]])


def discharge_all(case: Case, highest: bool = True, gap: bool = True, relabel_limit: int = 100) -> Outcome:
    """No flow and no vertex is lost: excess that is left is held, or on a vertex that is dead."""
    arcs, held = case
    num_threads = len(held)
    flow = Flow(arcs)
    exact = distances(flow.begin)
    n = len(exact)

    def member(thread: int) -> Thread:
        me, rules = (
            np.uint64(thread),
            Rules(False, gap, np.uint64(relabel_limit), ONE, False, queues.MOST_DONATED),
        )

        def run(shared: Discharges) -> None:
            net, state, monitor = shared
            work_until_relabel(net, state, me, rules, monitor)

        return run

    def make_case() -> tuple[Discharges, list[Thread]]:
        net = residual_of(arcs)
        in_queues = None if highest else make_queues(num_threads, n, np.uint32)
        in_buckets = make_buckets(num_threads, n, np.uint32) if highest else None
        for container in (in_queues, in_buckets):
            if container is not None:
                hold_constant((container.idle.num_threads,))
                container.idle.patience[0] = 0
        if in_queues is not None:
            in_queues.items[...] = 0
        if in_buckets is not None:
            in_buckets.below[...] = 0
        search = make_tiny_search(num_threads, net, small=n + 1, box_size=0)
        state = make_state(search, in_queues, in_buckets, n, gap)
        state.height[:] = exact
        state.current[:] = net.first_out[:-1]
        state.signals[discharge.TOP] = n
        if gap:
            np.add.at(state.population, exact, 1)
        for thread, vertices in enumerate(held):
            for v in vertices:
                discharge.own(in_queues, in_buckets, np.uint64(thread), np.uint64(v), np.uint64(exact[v]))
        hold_constant((*search, state.active))
        return Discharges(net, state, uncounted_monitor()), [member(t) for t in range(num_threads)]

    def check_state(shared: Discharges) -> None:
        flow.check_state(shared.net)
        assert flow.missing(shared.net) <= 0, "excess is lost: who pushes credits the receiver first"
        assert (shared.state.height >= exact).all(), "a height fell"

    def check_end(shared: Discharges, results: list[Any]) -> None:
        net, state = shared.net, shared.state
        flow.check_end(net)
        check_multicore_discharge(net, state)
        if state.signals[discharge.OVER] == 0:
            for v in np.flatnonzero(net.excess > 0):
                assert state.height[v] == n + 1, f"vertex {v} is lost"

    return explore(make_case, check_state, check_end)


CASES: Cases = {
    "meet": lambda: discharge_all(MEET),
    "meet-fifo": lambda: discharge_all(MEET, highest=False, gap=False),
    "meet-and-return": lambda: discharge_all(MEET_AND_RETURN),
    "meet-and-return-without-gap": lambda: discharge_all(MEET_AND_RETURN, gap=False),
    "meet-and-return-fifo": lambda: discharge_all(MEET_AND_RETURN, highest=False, gap=True),
    "give": lambda: discharge_all(GIVE),
    "give-fifo": lambda: discharge_all(GIVE, highest=False, gap=False),
    "relabel-due": lambda: discharge_all(MEET_AND_RETURN, relabel_limit=1),
    "sideways": lambda: discharge_all(SIDEWAYS),
}

CREDIT = "if add(alone, net.excess, w, amount) == 0:"
DEBIT = "excess = add(alone, net.excess, v, -pushed) - pushed\n"


MUTANTS: Mutants = {
    "adds in two steps": ("meet", exchange_for(atomics.fetch_add, add_in_two_steps), "not conserved"),
    "takes itself to be alone": (
        "meet",
        exchange_for(atomics.add, add_plainly),
        "data race on net.excess",
    ),
    "both pushers hold the vertex": (
        "meet",
        mutate(
            discharge.work_until_relabel,
            "both-pushers-hold-the-vertex",
            "if add(alone, net.excess, w, amount) >= 0:",
        ),
        "data race",
    ),
    "no pusher holds the vertex": (
        "meet",
        mutate(
            discharge.work_until_relabel,
            "no-pusher-holds-the-vertex",
            "if add(alone, net.excess, w, amount) < 0:",
        ),
        "is lost",
    ),
    "reads again whether the vertex is finished": (
        "meet-and-return",
        edit(
            discharge.work_until_relabel,
            DEBIT,
            "add(alone, net.excess, v, -pushed)\n                excess = load(net.excess, v)\n",
        ),
        "another number of vertices",
    ),
    "does not debit what it pushed before the relabel was due": (
        "relabel-due",
        mutate(discharge.work_until_relabel, "does-not-debit-what-it-pushed-before-the-relabel-was-due", ""),
        "excess is not conserved",
    ),
    "the gift is lost": (
        "give",
        mutate(in_buckets.donate, "donated-work-is-lost", "pass"),
        "is lost",
    ),
    "says that it gave before it does": (
        "give",
        edit(
            in_buckets.donate,
            "    while count > ZERO:",
            "    announce_donation(buckets.idle, other)\n    while count > ZERO:",
        ),
        "data race",
    ),
    "the idle thread is not uncounted": (
        "give",
        mutate(idle.claim, "the-idle-thread-is-not-uncounted", "pass"),
        "is lost",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    steps = {"add", "lowest_neighbour_now", "num_owned", "next_owned", "wait_for_vertices"}
    steps |= {"append", "pop", "size", "take_highest", "wait_for_donation"}
    steps |= {"claim_idle", "claim", "become_idle", "has_donation", "all_empty"}
    assert hidden_values((discharge, in_buckets, queues, idle), steps=steps) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
