"""Small networks, built and solved by one kernel: see :mod:`preflow.solving.quick`.

It runs the functions that build a residual network, Dinic's algorithm, with the budget of the first attempt
of "auto", and the second stage, which is short: only the vertices beside the source have excess. It leaves to
the full road networks with several sources or sinks, capacities whose sums might not fit, floats whose gap is
not small enough at once, and what the budget does not suffice for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Int64, Numbers
from ..certify.cut import cut_capacity
from ..certify.flow import COARSE
from ..graph.network import FlowNetwork
from ..graph.residual import ResidualArrays
from ..graph.scaling import LEAST_LIMIT, is_close, proved_gap, unscaled
from ..graph.solved_capacities import solved_capacities
from ..kernels import csr_build
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..kernels.work_limit import must_end
from ..network import distances_to_sink
from ..solving.call import Call, Request
from ..solving.monitor import Monitor
from ..solving.plan import Attempt, Plan
from ..solving.quick import Memory, Watch, stats_of
from ..solving.run import COUNTER_ROW
from ..stats import WORK_LIMIT, SolveStats
from ..steps.second_stage import Unused, flow_of_arcs
from ..steps.step import FlowProblem, KnownFlow
from .policy import FEW_ARCS
from .result import Kind, MaxFlowResult
from .serial_dinic import DinicState, run

#: The sum of all capacities, of both directions, is below this.
MOST_CAPACITY = np.int64(2**61)


class Room(NamedTuple):
    """Memory for a network of FEW_ARCS arcs, and one vertex more."""

    inner: NDArray[np.uint32]
    order: NDArray[np.uint32]
    larger_end: NDArray[np.uint32]
    first: NDArray[np.uint32]
    latest: NDArray[np.uint32]
    free: NDArray[np.uint32]
    rank: NDArray[np.uint32]
    net: ResidualArrays
    state: DinicState
    stop: NDArray[np.int64]
    progress: NDArray[np.float64]


class Answer(NamedTuple):
    """The arrays that the kernel writes."""

    flow: NDArray[np.int64]  #: of every arc, in units of the solve
    sink_side: NDArray[np.bool_]  #: of every vertex


_memory = Memory()
_INTEGER = np.dtype(np.int64)
#: The operations that a solve may make for each residual arc and vertex, and as many more as take the time in
#: which the full road begins.
SHARE, OPERATIONS = np.uint64(2), np.uint64(40_000)
QUICK = Plan((Attempt("serial-dinic"),), "small network: few levels and paths")


def _make_room() -> Room:
    size = FEW_ARCS + 2

    def words(count: int = size) -> NDArray[np.uint32]:
        return np.zeros(count, dtype=np.uint32)

    def numbers(count: int = size) -> NDArray[np.int64]:
        return np.zeros(count, dtype=np.int64)

    lists: list[Indices] = [words() for _ in DinicState._fields]
    return Room(
        inner=words(),
        order=words(),
        larger_end=words(),
        first=words(),
        latest=words(),
        free=words(),
        rank=words(),
        net=ResidualArrays(
            words(), words(2 * size), words(2 * size), numbers(2 * size), numbers(), numbers()
        ),
        state=DinicState(*lists),
        stop=numbers(1),
        progress=np.ones(2),
    )


@kernel
def fit(capacity: Numbers, most: Int64) -> Int64:
    """Return what is left of `most` when capacities are subtracted, -1 if one of them is more."""
    for amount in capacity:
        if amount > most:
            return np.int64(-1)
        most -= np.int64(amount)
    return most


@kernel
def build_small(arcs: csr_build.InputArcs, n: np.uint64, room: Room) -> tuple[ResidualArrays, Int64]:
    """Build the residual network of `n` inner vertices, and ranks of arcs; return the constant flow too."""
    zero, m, lines = np.int64(0), np.int64(len(arcs.tail)), n + ONE
    order, larger_end, first = room.order, room.larger_end, room.first[:lines]
    first_out, excess, sink_residual = (
        room.net.first_out[:lines],
        room.net.excess[:n],
        room.net.sink_residual[:n],
    )
    latest, free = room.latest[:n], room.free[:n]
    first[:] = 0
    first_out[:] = 0
    latest[:] = 0
    excess[:] = 0
    sink_residual[:] = 0
    csr_build.count_by_smaller_end(arcs, first)
    for v in range(n):
        first[v + ONE] += first[v]
    csr_build.sort_by_smaller_end(arcs, first, order, larger_end, int(n))
    group_end, larger_end = first[:n], larger_end[: np.uint64(first[n])]
    csr_build.count_pairs(group_end, larger_end, latest, first_out)
    for v in range(n):
        free[v] = first_out[v]
    entries = np.uint64(first_out[n])
    head, reverse, residual = room.net.head[:entries], room.net.reverse[:entries], room.net.residual[:entries]
    pairs = csr_build.Pairs(first_out, head, reverse, room.rank)
    residual[:] = 0
    csr_build.place_pairs(
        arcs, csr_build.SortedArcs(group_end, order, larger_end), free, latest, pairs, residual, MOST_CAPACITY
    )
    direct, _, _, _, _ = csr_build.terminal_capacities(
        arcs, zero, m, True, excess, sink_residual, MOST_CAPACITY
    )
    through = csr_build.take_through_capacity(excess, sink_residual, zero, np.int64(n))
    return ResidualArrays(first_out, head, reverse, residual, excess, sink_residual), direct + through


@kernel
def solve_small(
    given: csr_build.InputArcs,
    source: Int64,
    sink: Int64,
    room: Room,
    counts: NDArray[np.uint64],
    answer: Answer,
) -> Int64:
    """Solve one network whose capacities are whole numbers; return its maximum flow, -1 in case of doubt.

    `inner` of the arcs is not used.
    """
    left = fit(given.capacity, MOST_CAPACITY)
    if left < 0 or fit(given.reverse_capacity, left) < 0:
        return np.int64(-1)
    size = np.uint64(len(answer.sink_side))
    n = size - np.uint64(2)
    inner = room.inner[:size]
    number = ZERO
    for v in range(size):
        if v == np.uint64(source):
            inner[v] = n
        elif v == np.uint64(sink):
            inner[v] = n + ONE
        else:
            inner[v] = number
            number += ONE
    arcs = csr_build.InputArcs(given.tail, given.head, given.capacity, given.reverse_capacity, inner)
    net, value = build_small(arcs, n, room)
    lists = room.state
    state = DinicState(
        lists.height[:n],
        lists.distance[:n],
        lists.current[:n],
        lists.from_source[:n],
        lists.from_sink[:n],
        lists.path[:n],
    )
    state.height[:] = 0
    state.distance[:] = 0
    before = np.int64(0)
    for capacity in net.sink_residual:
        before += capacity
    monitor = Monitor(room.stop, counts, room.progress)
    counts[WORK_LIMIT] = SHARE * (n + np.uint64(len(net.head))) + OPERATIONS
    run(net, state, True, monitor)
    if must_end(monitor):
        return np.int64(-1)
    for capacity in net.sink_residual:
        before -= capacity
    height = state.height
    height[:] = n + ONE
    distances_to_sink(net, height, state.from_sink, ZERO, ZERO, ZERO, False)
    for v in range(size):
        inside = np.uint64(inner[v])
        answer.sink_side[v] = inside == n + ONE or (inside < n and np.uint64(height[inside]) <= n)
    unused = Unused(net.residual, net.excess, net.sink_residual)
    flow_of_arcs(arcs, room.rank, net.first_out, net.reverse, unused, True, True, answer.flow)
    return value + before


def cut(
    kind: type[Kind],
    problem: FlowProblem,
    request: Request,
    prepare: Callable[[FlowProblem], Call[FlowNetwork]],
) -> Kind | None:
    """Find a minimum cut of a small network, as a result of a kind; None: take the full road.

    `prepare` makes the call of the full road that has the plan QUICK.
    """
    network, sources, sinks, seconds = problem
    size, arcs = network.num_vertices, len(network.tail)
    if (
        size > FEW_ARCS
        or arcs > FEW_ARCS
        or not len(sources) == len(sinks) == 1
        or not request.is_plain
        or type(network) is not FlowNetwork
        or network.restore is not None
        or network.saturated
    ):
        return None
    watch = Watch(seconds)
    capacity, reverse, exponent, largest = network.capacity, network.reverse_capacity, None, 0.0
    if capacity.dtype != _INTEGER:
        capacity, reverse, exponent, largest, _ = solved_capacities(network, sources, sinks, 1)
        if capacity.dtype != _INTEGER:
            capacity = capacity.astype(np.int64)
            reverse = None if reverse is None else reverse.astype(np.int64)
    room = _memory.kept.get(None)
    if room is None:
        room = _memory.kept[None] = _make_room()
    counts = np.zeros(COUNTER_ROW, dtype=np.uint64)
    flow, sink_side = np.empty(arcs, np.int64), np.empty(size, bool)
    reverse = room.net.residual[:0] if reverse is None else reverse
    given = csr_build.InputArcs(network.tail, network.head, capacity, reverse, room.inner)
    found = solve_small(given, int(sources[0]), int(sinks[0]), room, counts, Answer(flow, sink_side))
    if found < 0:
        return None
    value: int | float = int(found)
    gap: int | float = 0
    if exponent is not None:
        value, upper = unscaled(found, exponent, is_float=True), cut_capacity(network, sink_side)
        gap = proved_gap(upper, value, upper)
        if not is_close(gap, upper, arcs) or not (upper * COARSE >= largest or largest <= LEAST_LIMIT):
            return None
        flow = unscaled(flow, exponent, is_float=True)
    flow.flags.writeable = sink_side.flags.writeable = False
    sources.flags.writeable = sinks.flags.writeable = False
    watch.end()
    fields: dict[str, object] = {
        "status": "optimal",
        "lower_bound": value,
        "upper_bound": value,
        "sink_side": sink_side,
        "network": network,
        "sources": sources,
        "sinks": sinks,
        "_gap": gap,
    }
    if issubclass(kind, MaxFlowResult):
        fields["flow"] = flow
    slack = 0.0 if exponent is None else unscaled(1, exponent, is_float=True)
    return kind._made_later(fields, partial(_later, problem, prepare, flow, slack, counts, watch))


def _later(
    problem: FlowProblem,
    prepare: Callable[[FlowProblem], Call[FlowNetwork]],
    flow: Array,
    slack: float,
    counts: Array,
    watch: Watch,
) -> dict[str, object]:
    """Return the fields of a result that few callers read."""
    return {
        "stats": stats_of(prepare(problem), SolveStats, counts, watch),
        "_second_stage": KnownFlow(problem.network, problem.sources, flow, slack=slack),
    }
