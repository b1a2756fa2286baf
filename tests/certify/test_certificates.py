"""Results whose fields are corrupt: `verify` refuses every one, also where a sum would wrap in int64."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from preflow.certify.flow import WORD, check_flow, net_inflow
from preflow.certify.grid import check_grid_flow
from preflow.errors import VerificationError
from preflow.graph.integer_grid import integer_grid
from preflow.graph.network import FlowNetwork, exact_sum
from preflow.gridcut.solution import GridSolution
from tests.support.cuda_on_cpu.arrays import OnGpu

pytestmark = pytest.mark.usefixtures("cpu_device")

INT64_MAX = 2**63 - 1
#: What is added, modulo 2**64, to an entry of an array of int64; the last one flips its sign.
DELTAS = [1, -1, 2**32, -(2**32), 2**61, 2**62, 2**63]
NO_NUMBERS = [
    None,
    "5",
    math.nan,
    [5],
    True,
    np.array([5, 5]),
    2**70,
    -(2**63),
    5 + 2**64,
    math.inf,
    -math.inf,
]
NO_ARRAYS = [
    None,
    7,
    "flow",
    [1, 2],
    np.array(3),
    np.zeros(0, dtype=np.int64),
    np.array([None, None, None, None]),
]
#: Numbers from which the sums of a few pass int64 in all ways.
EXTREME = [0, 1, -1, 2**31, 2**32, -(2**32), 2**61, 2**62, -(2**62), INT64_MAX, -INT64_MAX]


def mutated(values: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
    """Yield arrays that differ from `values` in one entry, in the order of entries, or in shape or dtype."""
    for place in range(len(values)):
        for delta in DELTAS:
            changed = values.copy()
            changed.view(np.uint64)[place : place + 1] += np.uint64(delta % 2**64)
            yield changed
    for i in range(len(values)):
        for j in range(i):
            changed = values.copy()
            changed[[i, j]] = changed[[j, i]]
            if (changed != values).any():
                yield changed
    yield from (values[:-1], values[:, None], np.append(values, 0), -values)
    yield from (
        values.astype(dtype) for dtype in (bool, complex, object, "S8", np.float32, np.uint64, np.int16)
    )


def refuses(result: Any, **changes: Any) -> None:
    with pytest.raises(VerificationError):
        replace(result, **changes).verify()


def check_bounds_are_checked(result: Any) -> None:
    """Check that neither bound may be anything else, nor the status, nor both bounds together."""
    check_optimal_bounds_are_checked(result)
    for delta in DELTAS:
        refuses(result, status="time-limit", lower_bound=result.lower_bound + delta)
        refuses(result, status="time-limit", upper_bound=result.upper_bound + delta)


def check_optimal_bounds_are_checked(result: Any) -> None:
    """Check that of an optimal result neither bound may be anything else, nor the status."""
    for wrong in NO_NUMBERS:
        for changes in (
            {"lower_bound": wrong},
            {"upper_bound": wrong},
            {"lower_bound": wrong, "upper_bound": wrong},
        ):
            refuses(result, **changes)
    for delta in DELTAS:
        refuses(result, lower_bound=result.lower_bound + delta)
        refuses(result, upper_bound=result.upper_bound + delta)
    for status in (None, "best", 3, ["optimal"]):
        refuses(result, status=status)


def given(kind: str, values: Any) -> Any:
    return np.array(values) if kind == "host" else OnGpu(values)


def given_network(kind: str, tail: Any, head: Any, capacity: Any, reverse: Any = None) -> FlowNetwork:
    arrays = (given(kind, np.asarray(values)) for values in (tail, head, capacity))
    backward = None if reverse is None else given(kind, np.asarray(reverse))
    return FlowNetwork.from_arrays(*arrays, reverse_capacity=backward)


def test_a_cut_over_an_infinite_arc_is_refused() -> None:
    network = FlowNetwork.from_arrays([0, 0], [1, 2], [1.5, np.inf], num_vertices=3)
    for solve in (preflow.max_flow, preflow.min_cut):
        result = solve(network, 0, 1, method="serial-fifo")
        result.verify()
        assert result.sink_side.tolist() == [False, True, False]
        refuses(result, sink_side=np.array([False, True, True]))


@pytest.mark.parametrize("kind", ["host", "device"])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_corrupt_flows_and_cuts_are_refused(kind: str, dtype: Any) -> None:
    capacity = np.array([5, 3, 4, 9], dtype=dtype)
    network = given_network(kind, [0, 0, 1, 2], [1, 2, 3, 3], capacity)
    result = preflow.max_flow(network, 0, 3, method="serial-fifo")  # both flow and cut are the only ones
    cut = preflow.min_cut(network, 0, 3, method="serial-fifo")
    result.verify()
    cut.verify()
    assert np.asarray(network.to_host(result.flow)).tolist() == [4, 3, 4, 3]
    flow = network.to_host(result.flow).astype(np.int64)
    side = network.to_host(result.sink_side)
    for wrong in [*mutated(flow), *NO_ARRAYS]:
        if wrong is not None:  # None stands for a flow that nobody has read yet
            refuses(result, flow=wrong)
    for wrong in (math.nan, math.inf, -math.inf, 4.5, 2.0**63):
        changed = flow.astype(np.float64)
        changed[2] = wrong
        refuses(result, flow=changed)
    for number in range(1, 16):
        refuses(result, sink_side=side ^ (number >> np.arange(4) & 1).astype(bool))
        refuses(cut, sink_side=side ^ (number >> np.arange(4) & 1).astype(bool))
    for wrong in [*NO_ARRAYS, side[:-1], side[:, None], side.astype(np.int64), side.astype(np.uint8)]:
        refuses(result, sink_side=wrong)
        refuses(cut, sink_side=wrong)
    for wrong in ([], [4], [-1], [3], [2**62], [[0]], [0.0]):
        refuses(result, sources=np.array(wrong, dtype=None if wrong else np.int64))
    refuses(result, sinks=np.array([0]))
    check_bounds_are_checked(result)
    check_bounds_are_checked(cut)


@pytest.mark.parametrize("kind", ["host", "device"])
def test_a_vertex_that_gains_two_to_the_64_is_found(kind: str) -> None:
    network = given_network(kind, [0, 0, 0, 0, 1], [1, 1, 1, 1, 2], [2**62] * 4 + [0])
    ends = np.array([0]), np.array([2])
    check_flow(network, *ends, np.zeros(5, dtype=np.int64), 0)
    with pytest.raises(VerificationError, match=f"vertex 1 gains {2**64}"):
        check_flow(network, *ends, np.array([2**62] * 4 + [0]), 0)
    check_flow(network, *ends, np.array([2**62] * 4 + [0]), 0, preflow=True)
    into_sink = given_network(kind, [0] * 8, [1] * 8, [INT64_MAX] * 8)
    flow = np.full(8, INT64_MAX)
    check_flow(into_sink, np.array([0]), np.array([1]), flow, 8 * INT64_MAX)
    with pytest.raises(VerificationError, match=f"is {8 * INT64_MAX}, not {8 * INT64_MAX - 2**64}"):
        check_flow(into_sink, np.array([0]), np.array([1]), flow, 8 * INT64_MAX - 2**64)
    lost = given_network(kind, [1, 1, 1, 1, 0], [2, 2, 2, 2, 1], [2**62] * 5)
    with pytest.raises(VerificationError, match=f"gains -{2**64}"):
        check_flow(lost, np.array([0]), np.array([2]), np.array([2**62] * 4 + [0]), 2**64, preflow=True)


@pytest.mark.parametrize("kind", ["host", "device"])
def test_small_arcs_are_checked_beside_large_ones(kind: str) -> None:
    network = given_network(kind, [0, 0, 1, 0], [1, 0, 2, 2], [1e273, 0.0, 1.0, 5e-324])
    ends = np.array([0]), np.array([2])
    check_flow(network, *ends, np.array([1.0, 0.0, 1.0, 5e-324]), 1.0)
    for arc, amount in ((1, 1.0), (2, 1.001), (3, 1e-323), (0, -1e-300)):
        flow = np.array([1.0, 0.0, 1.0, 0.0])
        flow[arc] = amount
        with pytest.raises(VerificationError, match=f"arc {arc} "):
            check_flow(network, *ends, flow, 1.0)


@pytest.mark.parametrize("kind", ["host", "device"])
def test_flows_of_any_size_are_judged_as_by_python_integers(kind: str) -> None:
    rng = np.random.default_rng(3)
    tail, head = rng.integers(0, 4, (2, 12))
    head[:2] = 3, 0
    network = given_network(kind, tail, head, [INT64_MAX] * 12, [INT64_MAX] * 12)
    ends = np.array([0]), np.array([3])
    accepted = 0
    for trial in range(150):
        amounts = rng.choice(np.array(EXTREME, dtype=object), 12)
        gain: list[int] = [0] * 4
        if trial % 2:  # a circulation but for the last arcs, so that what is accepted is seen, too
            amounts[2:] = 0
        for u, v, amount in zip(tail.tolist(), head.tolist(), amounts, strict=True):
            gain[v] += amount
            gain[u] -= amount
        flow = amounts.astype(np.int64)
        words = net_inflow(network, flow)
        told = [sum(int(word[v]) * 2 ** (WORD * i) for i, word in enumerate(words)) for v in range(4)]
        assert told == gain
        for preflow_only in (False, True):
            right = all(g >= 0 if preflow_only else g == 0 for g in gain[1:3])
            accepted += right
            if right:
                check_flow(network, *ends, flow, gain[3], preflow=preflow_only)
            with pytest.raises(VerificationError):
                check_flow(network, *ends, flow, gain[3] + 2**64 if right else gain[3], preflow=preflow_only)
    assert accepted > 20


def test_sums_of_capacities_do_not_wrap() -> None:
    values = np.full(1000, INT64_MAX)
    assert exact_sum(values) == 1000 * INT64_MAX
    assert exact_sum(-values) == -1000 * INT64_MAX
    for most in (2**53, 2**53 + 1, 2**62):
        for sign in (1, -1):
            assert exact_sum(np.full(1024, sign * most)) == sign * 1024 * most
    assert exact_sum(np.array([2**64 - 1] * 3, dtype=np.uint64)) == 3 * (2**64 - 1)
    assert exact_sum(np.array([-(2**63), 2**63 - 1])) == -1
    assert exact_sum(values[:0]) == 0


@pytest.mark.parametrize("kind", ["host", "device"])
def test_corrupt_matchings_are_refused(kind: str) -> None:
    edges = np.array([0, 1, 1, 2, 3]), np.array([0, 0, 1, 2, 2])
    graph = preflow.BipartiteGraph.from_arrays(*(given(kind, ends) for ends in edges), shape=(4, 3))
    result = preflow.bipartite_matching(graph, method="serial-hopcroft-karp")
    result.verify()
    row_match = graph.to_host(result.row_match)
    column_match = graph.to_host(result.column_match)
    assert row_match.tolist() in ([0, 1, 2, -1], [0, 1, -1, 2])
    for name, right in (("row_match", row_match), ("column_match", column_match)):
        for wrong in [
            *mutated(right.astype(np.int64)),
            *NO_ARRAYS,
            right.astype(np.uint32),
            right.astype(float),
        ]:
            refuses(result, **{name: wrong})
    for one in range(4):
        for other in range(one):
            exchanged = row_match.copy()
            exchanged[[one, other]] = exchanged[[other, one]]
            back = np.full(3, -1, dtype=np.int32)
            back[exchanged[exchanged >= 0]] = np.flatnonzero(exchanged >= 0)
            if sorted((one, other)) != [2, 3]:
                refuses(result, row_match=exchanged, column_match=back)
    without = np.where(row_match == 0, -1, row_match), np.where(column_match == 0, -1, column_match)
    refuses(result, row_match=without[0], column_match=without[1])
    refuses(result, row_match=without[0], column_match=without[1], lower_bound=2)
    refuses(result, row_match=without[0], column_match=without[1], lower_bound=2, upper_bound=2)
    check_bounds_are_checked(result)


@pytest.mark.parametrize("kind", ["host", "device"])
def test_corrupt_cuts_of_grids_are_refused(kind: str) -> None:
    arrays = np.array([[9, 0, 0, 2]]), np.array([[0, 0, 0, 7]]), np.array([[[4, 3, 6, 0]], [[0, 0, 0, 0]]])
    network = preflow.GridNetwork.from_arrays(*(given(kind, values) for values in arrays))
    result = preflow.grid_cut(network, method="serial-incremental-bfs")
    result.verify()
    labels = network.to_host(result.labels)
    for number in range(1, 16):
        refuses(result, labels=labels ^ (number >> np.arange(4) & 1).astype(bool).reshape(1, 4))
    for wrong in [*NO_ARRAYS, labels[0], labels.astype(np.int64), labels.astype(np.float64)]:
        refuses(result, labels=wrong)
    check_bounds_are_checked(result)


def test_corrupt_flows_of_grids_are_refused() -> None:
    arrays = np.array([[9, 0, 0, 2]]), np.array([[0, 0, 0, 7]]), np.array([[[4, 3, 6, 0]], [[0, 0, 0, 0]]])
    network = preflow.GridNetwork.from_arrays(*arrays)
    result = preflow.grid_cut(network, method="serial-incremental-bfs")
    sink_side, finished, residual, terminal = result._solution
    residual, terminal = residual.astype(np.int64), terminal.astype(np.int64)

    def changed(values: Any, wrong: Any) -> Any:
        solution = {"residual": residual, "terminal": terminal} | {values: wrong}
        return GridSolution(sink_side, finished, **solution)

    inside = [(0, 0, x) for x in range(3)] + [(1, 0, x) for x in range(1, 4)]
    places = [("residual", residual, place) for place in inside]
    places += [("terminal", terminal, (0, x)) for x in range(4)]
    for name, right, place in places:
        for delta in DELTAS:
            wrong = right.copy()
            wrong.view(np.uint64)[place] = (int(right[place]) + delta) % 2**64
            refuses(result, _solution=changed(name, wrong))
    for name, right in (("residual", residual), ("terminal", terminal)):
        for other in [*NO_ARRAYS, right[:-1], right.astype(np.uint64), right.astype(np.float64)]:
            refuses(result, _solution=changed(name, other))


def test_a_grid_with_flow_that_sums_to_two_to_the_64_is_refused() -> None:
    network = preflow.GridNetwork.from_arrays(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((2, 3, 3)))
    grid = integer_grid(network)
    residual = np.zeros((4, 3, 3), dtype=np.int64)
    for direction in range(4):  # each neighbour sends 2**62 to the pixel in the middle
        i, j = 1 - grid.offsets[direction]
        residual[direction, i, j] = -(2**62)
        residual[direction ^ 1, 1, 1] = 2**62
    with pytest.raises(VerificationError, match="more than its capacity"):
        check_grid_flow(grid, residual, np.zeros((3, 3), dtype=np.int64))


@pytest.mark.parametrize("kind", ["host", "device"])
@pytest.mark.parametrize("leading", [(), (2,)])
def test_corrupt_assignments_are_refused(kind: str, leading: tuple[int, ...]) -> None:
    one = np.array([[7, 2, 9], [3, 8, 1], [5, 6, 2]])
    costs = np.broadcast_to(one, (*leading, 3, 3)).copy()
    result = preflow.linear_assignment(given(kind, costs), method="serial-shortest-path")
    result.verify()
    for name in ("row", "column", "u", "v"):
        right = result.costs.to_host(getattr(result, name))
        for wrong in mutated(right.reshape(-1)):
            if wrong.dtype == object and name in "uv":
                continue  # integers of Python's are right there
            fits = wrong.shape == (right.size,)
            refuses(result, **{name: wrong.reshape(right.shape) if fits else wrong})
        for wrong in NO_ARRAYS:
            refuses(result, **{name: wrong})
    refuses(result, row=np.full((*leading, 3), -1), column=np.full((*leading, 3), -1))
    refuses(result, row=np.zeros((*leading, 0), int), column=np.zeros((*leading, 0), int))
    if not leading:
        check_optimal_bounds_are_checked(result)
        refuses(result, status="time-limit", lower_bound=result.lower_bound + 1, upper_bound=math.inf)
        return
    for name in ("lower_bound", "upper_bound"):
        right = result.costs.to_host(getattr(result, name))
        for wrong in [*mutated(right), *NO_ARRAYS, np.array([math.nan, 3.0])]:
            if not isinstance(wrong, np.ndarray) or wrong.dtype != object or None in wrong.tolist():
                refuses(result, **{name: wrong})
    for wrong in (right ^ np.int64(-(2**63)), right + 1):
        refuses(result, lower_bound=wrong, upper_bound=wrong)
    refuses(result, status="best")


@pytest.mark.parametrize("degree", [10_000, 100_000])
def test_sums_of_many_floats(degree: int) -> None:
    """Where very many arcs meet, sums one after the other would be off by more than the amounts are."""
    rng = np.random.default_rng(degree)
    middle = np.arange(2, degree + 2)
    tail = np.concatenate([np.zeros(degree, dtype=int), middle])
    head = np.concatenate([middle, np.ones(degree, dtype=int)])
    network = preflow.FlowNetwork.from_arrays(tail, head, rng.integers(1, 60, 2 * degree) + 0.9)
    result = preflow.max_flow(network, 0, 1)
    result.verify()
    flow = result.flow.copy()
    flow[[0, degree]] -= 1e-6
    wrong = replace(result, flow=flow)
    with pytest.raises(VerificationError, match="the flow into the sink is"):
        wrong.verify()
