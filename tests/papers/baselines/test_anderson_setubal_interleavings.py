"""Anderson and Setubal's kernels in every state that two threads can reach in tiny cases, and mutants.

See tests/parallel/test_toolbox_interleavings.py for how.
Vertices are numbers from 0, the last two of a network source and sink.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow import FlowNetwork
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.kernels import atomics
from preflow.papers.baselines import multicore_anderson_setubal as solver
from preflow.papers.baselines.multicore_anderson_setubal import (
    LOCKED,
    PADDING,
    TAIL,
    Rules,
    State,
    batches,
    discharge_batch,
    help_search,
    make_state,
    start_search,
    work,
)
from preflow.papers.baselines.multicore_anderson_setubal.batches import (
    Batches,
    append,
    fetch,
    make_batches,
    pop,
    put,
    waiting,
)
from preflow.solving.monitor import Monitor
from tests.support.exploration import (
    Cases,
    Mutants,
    edit,
    exchange_for,
    exploration_tests,
    hold_constant,
    look_then_set,
    mutate,
    serve,
    uncounted,
    uncounted_monitor,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values
from tests.support.tiny_networks import distances

ZERO, ONE = np.uint64(0), np.uint64(1)
IMPATIENT = np.int64(0)


# The queues


class Sharing(NamedTuple):
    """What the threads of a case of the queues share."""

    queues: Batches
    times_taken: NDArray[np.int64]
    monitor: Monitor


def share_items(first: int, more: int, batch: int) -> Outcome:
    """Two threads take the `first` items, and append another one for each of the first `more` of them."""

    def member(thread: int) -> Thread:
        me = np.uint64(thread)

        def run(shared: Sharing) -> int:
            taken = 0
            while fetch(shared.queues, me, IMPATIENT, shared.monitor):
                while waiting(shared.queues, me) > ZERO:
                    item = int(pop(shared.queues, me))
                    shared.times_taken[item] += 1
                    taken += 1
                    if item < more:
                        append(shared.queues, me, first + item, IMPATIENT, shared.monitor)
            return taken

        return run

    def make_case() -> tuple[Sharing, list[Thread]]:
        queues = make_batches(2, first + more, batch, np.uint32)
        for item in range(first):
            put(queues, item)
        shared = Sharing(queues, np.zeros(first + more, np.int64), uncounted_monitor())
        return shared, [member(0), member(1)]

    def check_end(shared: Sharing, results: list[int]) -> None:
        assert shared.times_taken.tolist() == [1] * (first + more), f"taken {shared.times_taken.tolist()}"
        assert sum(results) == first + more

    return explore(make_case, check_end=check_end)


# The solver


class Solve(NamedTuple):
    """What the threads of a case of the solver share."""

    net: ResidualArrays
    state: State
    monitor: Monitor


class Network(NamedTuple):
    """A state in the middle of a solve."""

    arcs: Sequence[tuple[int, int, int]]
    height: Sequence[int]

    @property
    def num_vertices(self) -> int:
        return len(self.height)

    def solve(self, batch: int) -> Solve:
        """Return arrays with these residual capacities and heights; what cannot change is read-only."""
        n = self.num_vertices
        tail, head, capacity = zip(*self.arcs, strict=True)
        network = FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n + 2)
        residual = build_residual(network, np.array([n]), np.array([n + 1]))
        assert residual.num_vertices == n
        state = make_state(2, residual.arrays, batch)._replace(pushes_while_searching=uncounted(2 * PADDING))
        state.height[:] = self.height
        state.current[:] = residual.arrays.first_out[:-1]
        hold_constant((residual.arrays.first_out, residual.arrays.head, residual.arrays.reverse))
        return Solve(residual.arrays, state, uncounted_monitor())

    @property
    def excess(self) -> int:
        return sum(capacity for tail, _, capacity in self.arcs if tail == self.num_vertices)

    @property
    def capacity_to_sink(self) -> int:
        return sum(capacity for _, head, capacity in self.arcs if head == self.num_vertices + 1)


def check_labels(shared: Solve) -> None:
    """No residual arc within a wave leads down by more than a level, unless its tail is locked."""
    net, state = shared.net, shared.state
    for v in range(len(state.height)):
        for a in range(int(net.first_out[v]), int(net.first_out[v + 1])):
            w = int(net.head[a])
            if net.residual[a] > 0 and state.wave[v] == state.wave[w] and not state.wave[v] & LOCKED:
                assert state.height[v] <= state.height[w] + 1, f"the arc from {v} to {w} is steep"


def explore_solve(
    network: Network, threads: list[Thread], start: Callable[[Solve], None], batch: int = 2
) -> Outcome:
    """Run threads on a network: flow is conserved, and who has excess is found again or rightly dead."""

    def make_case() -> tuple[Solve, list[Thread]]:
        shared = network.solve(batch)
        start(shared)
        return shared, threads

    def check_end(shared: Solve, results: list[Any]) -> None:
        net, state = shared.net, shared.state
        check_labels(shared)
        assert (state.wave & LOCKED == 0).all(), "a vertex is locked for ever"
        assert (net.excess >= 0).all()
        assert (net.residual >= 0).all()
        arrived = network.capacity_to_sink - int(net.sink_residual.sum())
        assert int(net.excess.sum()) + arrived == network.excess, "flow is lost"
        exact = distances(net)
        assert (state.height <= exact).all(), f"heights {state.height.tolist()}, distances {exact}"
        queued = [
            int(item)
            for thread, ends in enumerate(state.active.ends)
            for item in (
                *state.active.incoming[thread, int(ends[0]) : int(ends[1])],
                *state.active.outgoing[thread, : int(ends[2])],
            )
        ]
        front, size = (int(state.active.shared[k]) for k in (batches.FRONT, batches.SIZE))
        queued += [int(state.active.ring[(front + k) % len(state.active.ring)]) for k in range(size)]
        assert len(set(queued)) == len(queued), f"queued twice: {queued}"
        visited = state.search.order[: int(state.pieces[TAIL])].tolist()
        assert len(set(visited)) == len(visited), f"visited twice: {visited}"
        for v, height in enumerate(state.height):
            if net.excess[v] > 0 and height <= len(exact):
                assert v in queued, f"vertex {v} is lost"

    return explore(make_case, check_labels, check_end)


def rules_with(relabel_limit: np.uint64) -> Rules:
    return Rules(alone=False, patience=IMPATIENT, relabel_limit=relabel_limit, piece=ONE)


def discharging(thread: int) -> Thread:
    def run(shared: Solve) -> None:
        discharge_batch(shared.net, shared.state, np.uint64(thread), rules_with(ONE), shared.monitor)

    return run


def searching(shared: Solve) -> None:
    rules = rules_with(ONE)._replace(piece=np.uint64(64))
    start_search(shared.state, ONE)
    while help_search(shared.net, shared.state, ONE, rules, shared.monitor):
        pass


def helping(thread: int) -> Thread:
    """Return a thread that does pieces of a global relabel that has begun, until none is on offer."""

    def run(shared: Solve) -> None:
        while help_search(shared.net, shared.state, np.uint64(thread), rules_with(ONE), shared.monitor):
            pass

    return run


def begin_search(*vertices: int) -> Callable[[Solve], None]:
    """Return what begins a global relabel, and puts vertices into the in-queue of thread 0."""

    def start(shared: Solve) -> None:
        hand_out(list(vertices))(shared)
        start_search(shared.state, ONE)

    return start


def hand_out(*batches_of_vertices: list[int]) -> Callable[[Solve], None]:
    """Return what puts vertices into the in-queues of the threads."""

    def start(shared: Solve) -> None:
        for thread, vertices in enumerate(batches_of_vertices):
            shared.state.active.incoming[thread, : len(vertices)] = vertices
            shared.state.active.ends[thread, 1] = len(vertices)

    return start


def discharging_and_helping(shared: Solve) -> None:
    discharging(0)(shared)
    helping(0)(shared)


def working(thread: int, relabel_limit: int) -> Thread:
    def run(shared: Solve) -> None:
        rules = rules_with(np.uint64(relabel_limit))
        work(shared.net, shared.state, np.uint64(thread), rules, shared.monitor)

    return run


def queue_all(*vertices: int) -> Callable[[Solve], None]:
    def start(shared: Solve) -> None:
        for v in vertices:
            put(shared.state.active, v)

    return start


#: Vertex 1 can push to 0, whose way to the sink is saturated, or to 2. If it pushes to 0 after the search has
#: visited it, 0 is buried with excess that could come back.
DEAD_END = Network([(3, 1, 1), (1, 0, 1), (1, 2, 1), (2, 4, 1)], [1, 2, 1])
#: Vertices 0 and 1 push to 2, both at the same time.
MEETING = Network([(3, 0, 1), (3, 1, 1), (0, 2, 1), (1, 2, 1), (2, 4, 2)], [2, 2, 1])
#: Vertex 0 pushes to 1, which is relabelled past 0 and pushes back.
TURNING = Network([(3, 0, 1), (3, 1, 1), (0, 1, 2), (1, 0, 1), (2, 4, 1)], [2, 1, 1])
#: Vertex 0 pushes to 1, which is relabelled meanwhile and dies.
DYING = Network([(3, 0, 1), (3, 1, 1), (0, 1, 2), (2, 4, 1)], [2, 1, 1])
#: Vertex 0 has to wait until the search visits it after 1.
PATH = Network([(2, 0, 1), (0, 1, 1), (1, 3, 1)], [2, 1])
#: The arc from 1 to the sink is too narrow.
NARROW = Network([(2, 0, 2), (0, 1, 2), (1, 3, 1)], [2, 1])
#: Vertices 0 and 1 are found from the sink, 2 from both of them; it cannot be 3 levels away.
FORKED = Network([(3, 2, 1), (2, 0, 1), (2, 1, 1), (0, 4, 1), (1, 4, 1)], [1, 1, 1])
#: There are two ways to the sink, and arcs between them.
BRAIDED = Network(
    [(3, 0, 2), (0, 1, 1), (0, 2, 2), (1, 0, 1), (1, 2, 2), (2, 0, 2), (1, 4, 1), (2, 4, 1)], [2, 1, 1]
)


def search_random(num_networks: int) -> Outcome:
    """Search random networks of four vertices whose labels are stale, while a thread discharges.

    The labels were exact before arcs to the sink were saturated.
    """
    random = np.random.default_rng(3)
    states = ends = 0
    for _ in range(num_networks):
        arcs = [(u, v, int(random.integers(-1, 3))) for u in range(4) for v in range(4) if u != v]
        arcs = [arc for arc in [*arcs, (4, 0, 1), (4, 1, 1), (3, 5, 1)] if arc[2] > 0]
        saturated = [(v, 5, 1) for v in (1, 2) if random.random() < 0.5]
        network = Network([*arcs, *saturated], [5] * 4)
        network = Network(arcs, distances(network.solve(1).net))
        outcome = explore_solve(network, [discharging(0), searching], hand_out([0, 1]))
        states, ends = states + outcome.states, ends + outcome.ends
    return Outcome(states, ends)


CASES: Cases = {
    "queues": lambda: share_items(first=2, more=1, batch=1),
    "queues-batches": lambda: share_items(first=3, more=2, batch=2),
    "push-and-search": lambda: explore_solve(DEAD_END, [discharging(0), searching], hand_out([1])),
    "two-pushes": lambda: explore_solve(MEETING, [discharging(0), discharging(1)], hand_out([0], [1])),
    "to-and-fro": lambda: explore_solve(TURNING, [discharging(0), discharging(1)], hand_out([0], [1])),
    "push-too-late": lambda: explore_solve(DYING, [discharging(0), discharging(1)], hand_out([0], [1])),
    "push-too-early": lambda: explore_solve(PATH, [discharging(0), searching], hand_out([0])),
    "relabel-and-search": lambda: explore_solve(TURNING, [discharging(0), searching], hand_out([1, 0])),
    "search-random": lambda: search_random(8),
    "search-together": lambda: explore_solve(FORKED, [helping(0), helping(1)], begin_search(2)),
    "help-and-push": lambda: explore_solve(PATH, [discharging_and_helping, helping(1)], begin_search(0)),
    "work-narrow": lambda: explore_solve(NARROW, [working(0, 1), working(1, 1)], queue_all(0)),
    "work-braided": lambda: explore_solve(BRAIDED, [working(0, 2), working(1, 2)], queue_all(0), batch=1),
}

RECEIVE = """lock_below(
                        wave, height, w, h, entry, alone
                    ):"""
CREDIT = """                        before = net.excess[w]
                        net.excess[w] = before + amount
                        unlock(wave, w, entry, alone)
"""


def from_receive_to_unlock() -> str:
    """Return what the kernel does while it holds a receiver."""
    source = inspect.getsource(getattr(discharge_batch, "py_func", discharge_batch))
    return source[source.index(RECEIVE) : source.index(CREDIT) + len(CREDIT)]


def any_wave(source: str) -> str:
    """Return what locks, and later unlocks, a receiver of whatever wave."""
    return source.replace(" entry", " np.uint32(relaxed_load(wave, w)) & ~LOCKED")


MUTANTS: Mutants = {
    "queues: the lock is taken in two steps": (
        "queues",
        exchange_for(atomics.compare_exchange, look_then_set),
        "data race",
    ),
    "queues: the out-queue is not flushed when another batch is fetched": (
        "queues",
        mutate(batches.fetch, "the-out-queue-is-not-flushed-when-another-batch-is-fetched", ""),
        "taken",
    ),
    "queues: a kept batch loses its last item": (
        "queues",
        edit(
            batches.fetch,
            "        batches.ends[thread, END] = k\n",
            "        batches.ends[thread, END] = k - ONE\n",
        ),
        "taken",
    ),
    "queues: the lock is given back before the queue is shorter": (
        "queues",
        edit(
            batches.fetch,
            "            relaxed_store(shared, SIZE, size - amount)\n            release(batches)\n",
            "            release(batches)\n            relaxed_store(shared, SIZE, size - amount)\n",
        ),
        "data race",
    ),
    "push: the receiver is not locked": (
        "two-pushes",
        mutate(solver.lock_below, "the-receiver-is-not-locked", "if False:"),
        "data race",
    ),
    "push: the receiver is unlocked before it has its excess": (
        "two-pushes",
        edit(
            discharge_batch,
            CREDIT,
            "                        unlock(wave, w, entry, alone)\n"
            "                        before = net.excess[w]\n"
            "                        net.excess[w] = before + amount\n",
        ),
        "data race",
    ),
    "push: to any wave": (
        "push-and-search",
        edit(discharge_batch, from_receive_to_unlock(), any_wave(from_receive_to_unlock())),
        "distances",
    ),
    "push: the receiver's height is not looked at again": (
        "push-too-late",
        mutate(solver.lock_below, "the-receiver-s-height-is-not-looked-at-again", "if False:"),
        "is steep",
    ),
    "discharge: a refused vertex is forgotten": (
        "push-too-early",
        mutate(discharge_batch, "a-refused-vertex-is-forgotten", "if False:"),
        "is lost",
    ),
    "discharge: the receiver is always queued": (
        "two-pushes",
        mutate(discharge_batch, "the-receiver-is-always-queued", "if True:"),
        "queued twice",
    ),
    "search: opens a level too early": (
        "search-together",
        mutate(
            solver.help_search, "opens-a-level-too-early", "if begin + ONE == np.uint64(load(pieces, LIMIT)):"
        ),
        "data race",
    ),
    "search: visits a vertex twice": (
        "search-together",
        mutate(solver.visit, "visits-a-vertex-twice", "if False:"),
        "visited twice",
    ),
    "search: without locks": (
        "relabel-and-search",
        mutate(solver.visit, "without-locks", "seen = np.uint32(relaxed_load(state.wave, v)) & ~LOCKED"),
        "is steep",
    ),
}


# The tests


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    steps = {"put", "acquire", "release", "flush_locked", "flush", "append", "pop", "waiting", "fetch"}
    steps |= {"lock", "lock_below", "unlock", "lowest_neighbour_now", "discharge_batch", "visit"}
    steps |= {"find", "help_search", "open_level", "start_search"}
    assert hidden_values((batches, solver), steps=steps) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
